/* Rewritten kernels beside their originals: what stands in the module, that nothing else changed,
 * what is refused, and what the verifier rejects. That both do the same is for check_rewrite. */
#include "rewrite/rewrite.h"
#include "verify/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD ".version 8.5\n.target sm_90\n.address_size 64\n"

static const bf_geometry geometry = {5, 16, 4};

static bf_hash *hash_of(const char *text) {
  bf_hash *hash;
  bf_diagnostic diagnostic;
  if (bf_hash_parse(text, &geometry, &hash, &diagnostic) != BF_OK)
    fail_msg("%s: %s", text, diagnostic.message);
  return hash;
}

static bf_ptx_module *parse(const char *text) {
  bf_ptx_module *module;
  bf_diagnostic diagnostic;
  if (bf_ptx_parse("test", text, strlen(text), &module, &diagnostic) != BF_OK)
    fail_msg("%llu:%u: %s in\n%s", (unsigned long long)diagnostic.line, diagnostic.column,
             diagnostic.message, text);
  return module;
}

static const bf_hash *same(void *context, const bf_ptx_function *kernel,
                           const bf_ptx_variable *array) {
  (void)kernel, (void)array;
  return context;
}

/* Only arrays whose name starts with "h", and kernels for the rest. */
static const bf_hash *some(void *context, const bf_ptx_function *kernel,
                           const bf_ptx_variable *array) {
  (void)kernel;
  assert_true(!array || !strstr(array->name, "__bankfold_"));
  assert_null(strstr(kernel->name, "__bankfold_"));
  return array && *array->name == 'h' ? context : NULL;
}

/* A module rewritten with copies; the result is the caller's. */
static bf_rewrite_result rewrite(const char *text,
                                 const bf_hash *(*chosen)(void *, const bf_ptx_function *,
                                                          const bf_ptx_variable *)) {
  bf_hash *hash = hash_of("fixed");
  bf_ptx_module *module = parse(text);
  bf_rewrite_result result;
  bf_diagnostic diagnostic;
  bf_rewrite_options options = {
      .context = hash, .hash_of = chosen, .padding_has_room = true, .is_beside = true};
  if (bf_rewrite(module, &options, &result, &diagnostic) != BF_OK)
    fail_msg("%s in\n%s", diagnostic.message, text);
  bf_ptx_free(module);
  bf_hash_free(hash);
  return result;
}

/* What must be in the text, and what must not. */
static void check_has(const bf_rewrite_result *result, const char *part, bool has) {
  if ((strstr(result->text.data, part) != NULL) != has)
    fail_msg("%s%s in\n%s", has ? "no " : "", part, result->text.data);
}

/* ---- What stands there ---- */

/* A variable of the module and one of the kernel: the original keeps its own. */
static void originals(void **state) {
  (void)state;
  bf_rewrite_result result =
      rewrite(HEAD ".shared .align 4 .b32 a[33];\n.visible .entry k()\n{\n.reg .b32 %r;\n"
                   ".shared .b32 b[2];\nld.shared.u32 %r, [a+132];\nst.shared.u32 [b], %r;\n"
                   "ret;\n}\n",
              same);
  static const char start[] =
      HEAD ".shared .align 4 .b32 a[33];\n.shared .align 256 .b32 a__bankfold_1[64];\n"
           ".visible .entry k()\n{\n\t.reg .b32 \t%r;\n\t.shared .b32 b[2];\n"
           "\tld.shared.u32 \t%r, [a+132];\n\tst.shared.u32 \t[b], %r;\n\tret;\n}\n"
           ".visible .entry k__bankfold_1()\n{\n";
  if (strncmp(result.text.data, start, sizeof start - 1) != 0)
    fail_msg("gives\n%s", result.text.data);
  check_has(&result, "\t.shared .align 128 .b32 b__bankfold_1[32];\n", true);
  check_has(&result, ", a__bankfold_1", true);
  assert_int_equal(result.kernel[0].hashed, 2);
  bf_rewrite_free(&result);
}

/* Names of copies are free; the result says them; it counts as rewritten before. */
static void names(void **state) {
  (void)state;
  const char *text = HEAD ".global .u32 x__bankfold_1;\n.extern .shared .align 16 .b8 open[];\n"
                          ".entry k()\n{\n.reg .b32 %r;\nld.shared.u32 %r, [open+4];\n"
                          "st.global.u32 [x__bankfold_1], %r;\nret;\n}\n"
                          ".entry plain()\n{\n.reg .b32 %r;\n"
                          "ld.global.u32 %r, [x__bankfold_1];\nret;\n}\n";
  bf_rewrite_result result = rewrite(text, same);
  assert_int_equal(result.kernels, 2);
  assert_true(result.is_changed && result.kernel[0].is_rewritten);
  assert_string_equal(result.kernel[0].beside, "k__bankfold_2");
  assert_string_equal(result.kernel[0].hash, "fixed");
  assert_int_equal(result.kernel[0].hashed, 1);
  assert_true(result.kernel[0].has_dynamic_shared);
  assert_false(result.kernel[1].is_rewritten);
  assert_null(result.kernel[1].beside);
  check_has(&result, ".extern .shared .align 16 .b8 open[];\n", true);
  check_has(&result, ".extern .shared .align 1024 .b8 open__bankfold_2[];\n", true);
  check_has(&result, "plain__", false);
  check_has(&result, "st.global.u32 \t[x__bankfold_1], %r;\n", true);
  bf_rewrite_result again = rewrite(result.text.data, same);
  assert_true(again.was_rewritten);
  assert_false(again.is_changed);
  bf_rewrite_free(&again);
  bf_rewrite_free(&result);
}

/* Functions are copied where they have to do with variables of the copy; others serve both, or get
 * the clones that hashes need. */
static void functions(void **state) {
  (void)state;
  const char *plain =
      HEAD ".visible .shared .align 4 .b32 a[32];\n.func inner;\n"
           ".func free(.reg .u32 x)\n{\n.reg .b32 %r;\nadd.u32 %r, x, 1;\nret;\n}\n"
           ".func through(.reg .u32 x)\n{\n.reg .b32 %r;\nld.shared.u32 %r, [x];\nret;\n}\n"
           ".visible .func inner()\n{\n.shared .b32 c[3];\n.reg .b32 %r;\n"
           "st.shared.u32 [a+4], 1;\nld.shared.u32 %r, [c];\nret;\n}\n"
           ".visible .func outer()\n{\ncall inner;\nret;\n}\n"
           ".weak .entry k()\n{\n.reg .b32 %r;\nmov.u32 %r, a;\ncall free, (%r);\n"
           "call through, (%r);\ncall outer;\nret;\n}\n"
           ".entry other()\n{\n.reg .b64 %rd;\ncall outer;\nld.shared.u64 %rd, [a];\n"
           "ret;\n}\n";
  bf_rewrite_result result = rewrite(plain, same);
  assert_string_equal(result.kernel[0].beside, "k__bankfold_1");
  assert_null(result.kernel[1].beside);
  check_has(&result, ".visible .shared .align 4 .b32 a[32];\n", true);
  check_has(&result, "\n.shared .align 128 .b32 a__bankfold_1[32];\n", true);
  check_has(&result, "\n.func inner__bankfold_1();\n", true);
  check_has(&result, "\n.func inner__bankfold_1()\n{", true);
  check_has(&result, "\n.func outer__bankfold_1()\n{", true);
  check_has(&result, "\n.weak .entry k__bankfold_1()\n{", true);
  check_has(&result, "\tcall \tinner__bankfold_1;\n", true);
  check_has(&result, "\tcall \touter__bankfold_1;\n", true);
  check_has(&result, "\tcall \tthrough__bankfold_1, (%r);\n", true);
  check_has(&result, "free__", false);
  check_has(&result, "\t.shared .b32 c[3];\n", true);
  check_has(&result, "\t.shared .align 128 .b32 c__bankfold_1[32];\n", true);
  bf_rewrite_free(&result);
}

/* Hashes of arrays are asked for under their own names. */
static void arrays(void **state) {
  (void)state;
  bf_rewrite_result result =
      rewrite(HEAD ".shared .b32 h[40];\n.shared .b32 x[40];\n.entry k()\n{\n.reg .b32 %r;\n"
                   ".shared .b32 hidden[5];\nld.shared.u32 %r, [h];\nst.shared.u32 [x], %r;\n"
                   "st.shared.u32 [hidden], %r;\nret;\n}\n",
              some);
  assert_string_equal(result.kernel[0].beside, "k__bankfold_1");
  check_has(&result, ".shared .align 256 .b32 h__bankfold_1[64];\n", true);
  check_has(&result, ".shared .b32 x__bankfold_1[40];\n", true);
  check_has(&result, "st.shared.u32 \t[x__bankfold_1], %r;\n", true);
  check_has(&result, ".shared .align 128 .b32 hidden__bankfold_1[32];\n", true);
  bf_rewrite_free(&result);
}

/* A kernel that is left alone does not mind that another's variables grow. */
static void growth(void **state) {
  (void)state;
  bf_rewrite_result result =
      rewrite(HEAD ".shared .align 4 .b8 big[49148];\n.shared .b32 small;\n"
                   ".entry k()\n{\n.reg .b32 %r;\nld.shared.u32 %r, [small];\nret;\n}\n"
                   ".entry other()\n{\n.reg .b32 %r;\n.reg .b64 %rd;\n"
                   "ld.shared.u64 %rd, [big];\nld.shared.u32 %r, [small];\nret;\n}\n",
              same);
  assert_string_equal(result.kernel[0].beside, "k__bankfold_1");
  assert_false(result.kernel[1].is_rewritten);
  bf_rewrite_free(&result);
}

/* ---- What is refused ---- */

static void refusals(void **state) {
  (void)state;
  static const struct {
    const char *text, *why;
  } cases[] = {
      {HEAD ".shared .b32 a;\n.global .u64 p;\n.func f()\n{\n.reg .b32 %r;\n"
            "ld.shared.u32 %r, [a];\nret;\n}\n.entry k()\n{\n.reg .b64 %rd;\n.reg .b32 %r;\n"
            "mov.u64 %rd, f;\nst.global.u64 [p], %rd;\nld.shared.u32 %r, [a];\nret;\n}\n",
       "the address of function f, which uses shared memory"},
      {HEAD ".shared .b32 a;\n.entry k()\n{\n.reg .b32 %r;\nld.shared.u32 %r, [a];\nret;\n}\n"
            ".section .debug_info\n{\n.b32 7\n}\n",
       "debug information, which describes one version only"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_rewrite_result result = rewrite(cases[i].text, same);
    assert_false(result.is_changed);
    assert_false(result.kernel[0].is_rewritten);
    assert_int_equal(result.kernel[0].obstacles, 1);
    assert_string_equal(result.kernel[0].obstacle[0].text, cases[i].why);
    check_has(&result, "__bankfold", false);
    bf_rewrite_free(&result);
  }
}

/* ---- What the verifier says of copies ---- */

#define MODULE                                                                                     \
  HEAD ".global .u32 g;\n.shared .b32 a[8];\n.shared .b32 b[8];\n.extern .shared .b32 o[];\n"      \
       ".func f()\n{\n.reg .b32 %r;\nld.shared.u32 %r, [a];\nret;\n}\n"                            \
       ".func n()\n{\nret;\n}\n.entry k()\n{\n.reg .b32 %r;\nld.shared.u32 %r, [a+4];\n"           \
       "st.shared.u32 [b], %r;\nst.shared.u32 [o], %r;\nst.global.u32 [g], %r;\ncall f;\n"         \
       "{\n.shared .b32 l;\nst.shared.u32 [l], 1;\n}\ncall n;\nret;\n}\n"
#define COPY_VARIABLES                                                                             \
  ".shared .b32 a__bankfold_1[8];\n.shared .b32 b__bankfold_1[8];\n"                               \
  ".extern .shared .b32 o__bankfold_1[];\n"
#define COPY_FUNCTION                                                                              \
  ".func f__bankfold_1()\n{\n.reg .b32 %r;\nld.shared.u32 %r, [a__bankfold_1];\nret;\n}\n"
#define COPY_KERNEL                                                                                \
  ".entry k__bankfold_1()\n{\n.reg .b32 %r;\nld.shared.u32 %r, [a__bankfold_1+4];\n"               \
  "st.shared.u32 [b__bankfold_1], %r;\nst.shared.u32 [o__bankfold_1], %r;\n"                       \
  "st.global.u32 [g], %r;\ncall f__bankfold_1;\n{\n.shared .b32 l__bankfold_1;\n"                  \
  "st.shared.u32 [l__bankfold_1], 1;\n}\ncall n;\nret;\n}\n"
#define DOUBLED MODULE COPY_VARIABLES COPY_FUNCTION COPY_KERNEL

/* What the verifier finds in a doubled module; NULL: it accepts it. The text is the caller's. */
static char *judge(const char *original, const char *doubled) {
  bf_ptx_module *a = parse(original), *b = parse(doubled);
  bf_verify_result verdict;
  bf_diagnostic diagnostic;
  if (bf_verify_doubled(a, b, &verdict, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  assert_true(verdict.is_accepted == !verdict.findings);
  char *found = verdict.findings ? strdup(verdict.finding[0].text) : NULL;
  bf_verify_free(&verdict);
  bf_ptx_free(a);
  bf_ptx_free(b);
  return found;
}

static void accepted(void **state) {
  (void)state;
  static const char *const good[] = {MODULE, DOUBLED, MODULE COPY_VARIABLES};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    char *found = judge(MODULE, good[i]);
    if (found)
      fail_msg("%s in\n%s", found, good[i]);
  }
}

/* Each is the doubled module with the last occurrence of a text replaced. */
static void rejected(void **state) {
  (void)state;
  static const struct {
    const char *old, *new, *why;
  } cases[] = {
      {"[a__bankfold_1+4]", "[a+4]", "an instruction of a copy"},
      {"[a__bankfold_1+4]", "[a__bankfold_1+8]", "an instruction of a copy"},
      {"[a__bankfold_1+4]", "[b__bankfold_1+4]", "an instruction of a copy"},
      {"[a__bankfold_1];", "[a];", "an instruction of a copy"},
      {"[o__bankfold_1]", "[o]", "an instruction of a copy"},
      {".shared .b32 l__bankfold_1", ".shared .b64 l__bankfold_1", "a copy of a variable differs"},
      {"[l__bankfold_1]", "[a__bankfold_1]", "an instruction of a copy"},
      {".shared .b32 l__bankfold_1;\nst.shared.u32 [l__bankfold_1]",
       ".shared .b32 l;\nst.shared.u32 [l]", "a copy of a variable differs"},
      {"call f__bankfold_1", "call f", "an instruction of a copy"},
      {"call n", "call f__bankfold_1", "an instruction of a copy"},
      {"call n;\n", "", "an instruction of a copy"},
      {"call n;\nret;", "call n;\nbar.sync 0;\nret;", "an instruction of a copy"},
      {"call n;\nret;", "call n;\nret;\nret;", "statements differ"},
      {"[g]", "[g+4]", "an instruction of a copy"},
      {".entry k__bankfold_1()", ".entry k__bankfold_1(.param .u32 x)", "a function differs"},
      {".entry k__bankfold_1()", ".visible .entry k__bankfold_1()", "a function differs"},
      {".entry k__bankfold_1()", ".entry k__bankfold_2()", "declarations differ"},
      {".entry k__bankfold_1()", ".entry k__bankfold_()", "declarations differ"},
      {".entry k__bankfold_1()", ".entry j()", "declarations differ"},
      {".func f__bankfold_1()", ".visible .func f__bankfold_1()", "a function differs"},
      {"a__bankfold_1[8]", "a__bankfold_1[16]", "a copy of a variable differs"},
      {".shared .b32 a__bankfold_1[8]", ".global .b32 a__bankfold_1[8]", "a copy of"},
      {".shared .b32 b__bankfold_1[8]", ".extern .shared .b32 b__bankfold_1[8]", "a copy of"},
      {".extern .shared .b32 o__bankfold_1[]", ".shared .b32 o__bankfold_1[8]", "a copy of"},
      {".shared .b32 a__bankfold_1", ".global .u32 g__bankfold_1;\n.shared .b32 a__bankfold_1",
       "a copy of a variable differs"},
      {".entry k()\n{\n.reg .b32 %r;\nld.shared.u32 %r, [a+4];",
       ".entry k()\n{\n.reg .b32 %r;\nld.shared.u32 %r, [a__bankfold_1+4];", "an instruction"},
      {".shared .b32 a[8]", ".shared .b32 a[16]", "declarations differ"},
      {".version 8.5", ".version 8.4", "version"},
      {".entry k__bankfold_1()\n{\n", ".entry k__bankfold_1()\n{\n.shared .b32 a__bankfold_1[8];\n",
       "statements differ"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *all = COPY_VARIABLES MODULE COPY_FUNCTION COPY_KERNEL, *at = NULL;
    char text[4096], moved[4096];
    snprintf(moved, sizeof moved, "%s%s%s", HEAD, COPY_VARIABLES,
             all + strlen(COPY_VARIABLES HEAD));
    for (const char *next = moved; (next = strstr(next, cases[i].old)); next++)
      at = next;
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - moved), moved, cases[i].new,
             at + strlen(cases[i].old));
    char *found = judge(MODULE, text);
    if (!found || strncmp(found, cases[i].why, strlen(cases[i].why)) != 0)
      fail_msg("%s -> %s: %s", cases[i].old, cases[i].new, found ? found : "accepted");
    free(found);
  }
}

/* Copies of kernels in which names alone do not make two of the same. */
static void unsound(void **state) {
  (void)state;
  static const struct {
    const char *body, *why;
  } cases[] = {
      {"mov.u32 %r, %total_smem_size;", "the size of shared memory in a register"},
      {"mov.u64 %rd, f;", "an instruction of a copy differs"},
      {"call %rd, proto;", "a call through a register"},
      {"call elsewhere;", "a call of a function that is not in the module"},
  };
  static const char declarations[] =
      HEAD ".shared .b32 a;\n.extern .func elsewhere;\n.func f()\n{\n.reg .b32 %r;\n"
           "ld.shared.u32 %r, [a];\nret;\n}\n";
  static const char kernel[] = ".entry k%s()\n{\n.reg .b32 %%r;\n.reg .b64 %%rd;\n"
                               "proto: .callprototype () _ ();\n%s\nret;\n}\n";
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char original[2048], doubled[4096];
    int length = snprintf(original, sizeof original, "%s", declarations);
    snprintf(original + length, sizeof original - (size_t)length, kernel, "", cases[i].body);
    length = snprintf(doubled, sizeof doubled, "%s", original);
    snprintf(doubled + length, sizeof doubled - (size_t)length, kernel, "__bankfold_1",
             cases[i].body);
    char *found = judge(original, doubled);
    if (!found || strncmp(found, cases[i].why, strlen(cases[i].why)) != 0)
      fail_msg("%s: %s", cases[i].body, found ? found : "accepted");
    free(found);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(originals), cmocka_unit_test(names),    cmocka_unit_test(functions),
      cmocka_unit_test(arrays),    cmocka_unit_test(growth),   cmocka_unit_test(refusals),
      cmocka_unit_test(accepted),  cmocka_unit_test(rejected), cmocka_unit_test(unsound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
