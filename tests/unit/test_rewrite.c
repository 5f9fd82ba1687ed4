/* The rewriter: golden texts of small kernels, what is refused and where, and what is told of
 * kernels. That rewritten kernels do what they did is for check_rewrite. */
#include "refusals.h"

#include "rewrite/rewrite.h"
#include "verify/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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

/* The same hash for every kernel. */
static const bf_hash *same(void *context, const bf_ptx_function *kernel,
                           const bf_ptx_variable *array) {
  (void)array;
  (void)kernel;
  return context;
}

static void rewrite(const bf_ptx_module *module, const bf_hash *hash, bf_rewrite_result *result) {
  bf_diagnostic diagnostic;
  bf_rewrite_options options = {
      .context = (void *)(uintptr_t)hash, .hash_of = same, .padding_has_room = true};
  if (bf_rewrite(module, &options, result, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
}

/* ---- Golden texts ---- */

/* Where expected first differs, both are shown. */
static void check_golden(const char *hash_text, const char *text, const char *expected) {
  bf_hash *hash = hash_of(hash_text);
  bf_ptx_module *module = parse(text);
  bf_rewrite_result result;
  rewrite(module, hash, &result);
  if (strcmp(result.text.data, expected) != 0)
    fail_msg("%s gives\n%s\nnot\n%s", hash_text, result.text.data, expected);
  bf_ptx_free(parse(result.text.data));
  bf_rewrite_free(&result);
  bf_ptx_free(module);
  bf_hash_free(hash);
}

/* [register+number] of 32 and 64 bits, guards, reuse until the register is written. */
static void golden_registers(void **state) {
  (void)state;
  check_golden("fixed",
               HEAD
               ".entry k(.param .u64 x)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<2>;\n.reg .pred %p;\n"
               ".shared .b32 a[33];\nmov.u32 %r0, %tid.x;\nld.param.u64 %rd1, [x];\n"
               "ld.shared.u32 %r1, [%r0+4];\n@%p st.volatile.shared.u32 [%rd1+-8], %r1;\n"
               "atom.shared.add.u32 %r2, [%r0+4], %r1;\nadd.u32 %r0, %r0, 4;\n"
               "red.shared.add.u32 [%r0], %r1;\nret;\n}\n",
               HEAD ".entry k(\n\t.param .u64 x\n)\n{\n"
                    "\t.reg .b32 \t%bf_term;\n"
                    "\t.reg .b32 \t%bf_place<3>;\n\t.reg .b64 \t%bf_logical_wide;\n"
                    "\t.reg .b64 \t%bf_term_wide;\n\t.reg .b64 \t%bf_place_wide<1>;\n"
                    "\t.reg .b32 \t%r<4>;\n\t.reg .b64 \t%rd<2>;\n\t.reg .pred \t%p;\n"
                    "\t.shared .align 256 .b32 a[64];\n\tmov.u32 \t%r0, %tid.x;\n"
                    "\tld.param.u64 \t%rd1, [x];\n\tadd.s32 \t%bf_place0, %r0, 4;\n"
                    "\tshr.u32 \t%bf_term, %bf_place0, 5;\n"
                    "\tand.b32 \t%bf_term, %bf_term, 124;\n"
                    "\txor.b32 \t%bf_place1, %bf_place0, %bf_term;\n"
                    "\tld.shared.u32 \t%r1, [%bf_place1];\n"
                    "\tadd.s64 \t%bf_logical_wide, %rd1, -8;\n"
                    "\tshr.u64 \t%bf_term_wide, %bf_logical_wide, 5;\n"
                    "\tand.b64 \t%bf_term_wide, %bf_term_wide, 124;\n"
                    "\txor.b64 \t%bf_place_wide0, %bf_logical_wide, %bf_term_wide;\n"
                    "\t@%p st.volatile.shared.u32 \t[%bf_place_wide0], %r1;\n"
                    "\tatom.shared.add.u32 \t%r2, [%bf_place1], %r1;\n"
                    "\tadd.u32 \t%r0, %r0, 4;\n\tshr.u32 \t%bf_term, %r0, 5;\n"
                    "\tand.b32 \t%bf_term, %bf_term, 124;\n"
                    "\txor.b32 \t%bf_place2, %r0, %bf_term;\n"
                    "\tred.shared.add.u32 \t[%bf_place2], %r1;\n\tret;\n}\n");
}

/* Names of variables start rows: one hash serves the row, and XOR reaches its words. Two terms.
 * What does not change in a loop is computed before it. */
static void golden_names(void **state) {
  (void)state;
  check_golden("bits:0,1,2^5,3^6,4^7^9",
               HEAD ".extern .shared .align 16 .b8 open[];\n.entry k()\n{\n.reg .b32 %r<4>;\n"
                    ".reg .b32 %bf_x;\nld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [open+32];\n"
                    "st.shared.u8 [open+37], %r0;\nagain:\nst.shared.u32 [open+128], %r0;\n"
                    "bra again;\n}\n",
               HEAD ".extern .shared .align 1024 .b8 open[];\n.entry k()\n{\n"
                    "\t.reg .b32 \t%bf1_logical;\n\t.reg .b32 \t%bf1_term;\n"
                    "\t.reg .b32 \t%bf1_place<3>;\n\t.reg .b32 \t%r<4>;\n\t.reg .b32 \t%bf_x;\n"
                    "\tmov.u32 \t%bf1_logical, open;\n\tshr.u32 \t%bf1_term, %bf1_logical, 3;\n"
                    "\tand.b32 \t%bf1_term, %bf1_term, 112;\n"
                    "\txor.b32 \t%bf1_place0, %bf1_logical, %bf1_term;\n"
                    "\tshr.u32 \t%bf1_term, %bf1_logical, 5;\n"
                    "\tand.b32 \t%bf1_term, %bf1_term, 64;\n"
                    "\txor.b32 \t%bf1_place0, %bf1_place0, %bf1_term;\n"
                    "\txor.b32 \t%bf1_place1, %bf1_place0, 32;\n"
                    "\tld.shared.v4.b32 \t{%r0, %r1, %r2, %r3}, [%bf1_place1];\n"
                    "\tst.shared.u8 \t[%bf1_place1+5], %r0;\nagain:\n"
                    "\txor.b32 \t%bf1_place2, %bf1_place0, 16;\n"
                    "\tst.shared.u32 \t[%bf1_place2+128], %r0;\n\tbra \tagain;\n}\n");
}

/* Generic addresses are hashed where they lead to shared memory. */
static void golden_generic(void **state) {
  (void)state;
  check_golden("fixed",
               HEAD
               ".entry k()\n{\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\n.shared .b32 a[32];\n"
               "mov.u64 %rd0, a;\ncvta.shared.u64 %rd1, %rd0;\nld.u32 %r1, [%rd1+4];\nret;\n}\n",
               HEAD ".entry k()\n{\n\t.reg .pred \t%bf_is_shared;\n"
                    "\t.reg .b64 \t%bf_logical_wide;\n\t.reg .b64 \t%bf_inside_wide;\n"
                    "\t.reg .b64 \t%bf_term_wide;\n\t.reg .b64 \t%bf_place_wide<1>;\n"
                    "\t.reg .b32 \t%r<2>;\n\t.reg .b64 \t%rd<2>;\n"
                    "\t.shared .align 128 .b32 a[32];\n\tmov.u64 \t%rd0, a;\n"
                    "\tcvta.shared.u64 \t%rd1, %rd0;\n\tadd.s64 \t%bf_logical_wide, %rd1, 4;\n"
                    "\tisspacep.shared \t%bf_is_shared, %bf_logical_wide;\n"
                    "\tcvta.to.shared.u64 \t%bf_inside_wide, %bf_logical_wide;\n"
                    "\tshr.u64 \t%bf_term_wide, %bf_inside_wide, 5;\n"
                    "\tand.b64 \t%bf_term_wide, %bf_term_wide, 124;\n"
                    "\txor.b64 \t%bf_place_wide0, %bf_inside_wide, %bf_term_wide;\n"
                    "\tcvta.shared.u64 \t%bf_place_wide0, %bf_place_wide0;\n"
                    "\tselp.b64 \t%bf_place_wide0, %bf_place_wide0, %bf_logical_wide, "
                    "%bf_is_shared;\n"
                    "\tld.u32 \t%r1, [%bf_place_wide0];\n\tret;\n}\n");
}

/* Accesses without a state space are to shared memory where they name a shared variable, as ptxas
 * has it: they are hashed, and gain .shared in the place where it belongs. */
static void implied_space(void **state) {
  static const struct {
    const char *access, *hashed;
  } rows[] = {
      {"ld.u32 %r1, [a+128];", "ld.shared.u32 \t%r1, [%bf_place0];"},
      {"ld.weak.u32 %r1, [a+128];", "ld.weak.shared.u32 \t%r1, [%bf_place0];"},
      {"ld.volatile.u32 %r1, [a+128];", "ld.volatile.shared.u32 \t%r1, [%bf_place0];"},
      {"ld.relaxed.cta.u32 %r1, [a+128];", "ld.relaxed.cta.shared.u32 \t%r1, [%bf_place0];"},
      {"ld.acquire.gpu.b8 %r1, [a+128];", "ld.acquire.gpu.shared.b8 \t%r1, [%bf_place0];"},
      {"ld.v2.u32 {%r1, %r2}, [a+128];", "ld.shared.v2.u32 \t{%r1, %r2}, [%bf_place0];"},
      {"ld.v4.u32 {%r1, %r2, %r3, %r4}, [a+128];",
       "ld.shared.v4.u32 \t{%r1, %r2, %r3, %r4}, [%bf_place0];"},
      {"st.u32 [a+128], %r1;", "st.shared.u32 \t[%bf_place0], %r1;"},
      {"st.volatile.v2.u32 [a+128], {%r1, %r2};",
       "st.volatile.shared.v2.u32 \t[%bf_place0], {%r1, %r2};"},
      {"st.release.cta.u32 [a+128], %r1;", "st.release.cta.shared.u32 \t[%bf_place0], %r1;"},
      {"@%p st.u32 [a+128], %r1;", "@%p st.shared.u32 \t[%bf_place0], %r1;"},
      {"atom.add.u32 %r1, [a+128], 1;", "atom.shared.add.u32 \t%r1, [%bf_place0], 1;"},
      {"atom.acq_rel.gpu.cas.b32 %r1, [a+128], 1, 2;",
       "atom.acq_rel.gpu.shared.cas.b32 \t%r1, [%bf_place0], 1, 2;"},
      {"atom.exch.b32 %r1, [a+128], %r2;", "atom.shared.exch.b32 \t%r1, [%bf_place0], %r2;"},
      {"red.relaxed.cta.add.u32 [a+128], 1;", "red.relaxed.cta.shared.add.u32 \t[%bf_place0], 1;"},
      {"ldmatrix.sync.aligned.m8n8.x1.trans.b16 {%r1}, [a+128];",
       "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 \t{%r1}, [%bf_place0];"},
      {"stmatrix.sync.aligned.m8n8.x2.b16 [a+128], {%r1, %r2};",
       "stmatrix.sync.aligned.m8n8.x2.shared.b16 \t[%bf_place0], {%r1, %r2};"},
  };
  static const char *const where[] = {".shared .b32 a[256];", ".extern .shared .b32 a[];"};
  bf_hash *hash = hash_of("cute:3,4,3");
  (void)state;
  for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
    char text[1024];
    bf_rewrite_result result;
    snprintf(text, sizeof text,
             HEAD "%s\n.entry k()\n{\n.reg .b32 %%r<5>;\n.reg .pred %%p;\n%s\n}\n", where[i % 2],
             rows[i / 2].access);
    bf_ptx_module *module = parse(text);
    rewrite(module, hash, &result);
    if (!result.is_changed || !strstr(result.text.data, rows[i / 2].hashed))
      fail_msg("%s becomes\n%s", rows[i / 2].access, result.text.data);
    bf_rewrite_free(&result);
    bf_ptx_free(module);
  }
  bf_hash_free(hash);
}

/* ---- Refusals ---- */

/* Every refused construct, with its line; the module stays as it was. */
static void refused(void **state) {
  (void)state;
  bf_hash *hash = hash_of("fixed");
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    const refusal *row = &refusals[i];
    char text[2048];
    bf_text plain = {0};
    bf_rewrite_result result;
    snprintf(text, sizeof text, "%s%s", HEAD, row->text);
    bf_ptx_module *module = parse(text);
    rewrite(module, hash, &result);
    assert_true(result.kernels > 0);
    const bf_rewrite_kernel *kernel = &result.kernel[result.kernels - 1]; /* k is the last */
    if (kernel->obstacles == 0)
      fail_msg("nothing in the way of\n%s", text);
    bf_rewrite_obstacle found = kernel->obstacle[0];
    if (strcmp(found.text, row->obstacle) != 0 || found.line != (row->line ? row->line + 3 : 0))
      fail_msg("line %llu: %s in\n%s", (unsigned long long)found.line, found.text, text);
    assert_false(kernel->is_rewritten || result.is_changed);
    bf_ptx_print(module, &plain);
    assert_string_equal(result.text.data, plain.data);
    bf_text_free(&plain);
    bf_rewrite_free(&result);
    bf_ptx_free(module);
  }
  bf_hash_free(hash);
}

/* ---- What is told of kernels ---- */

/* Barriers with variables of their own stay where they are. */
static void barriers(void **state) {
  (void)state;
  static const char text[] =
      HEAD ".entry k()\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n.reg .pred %p;\n"
           ".shared .align 8 .b64 bar[2];\n.shared .b32 a[40];\n"
           "mov.u32 %r0, bar;\nmbarrier.init.shared.b64 [%r0+8], 1;\nld.shared.u32 %r1, [a+4];\n"
           "mbarrier.arrive.shared::cta.b64 %rd1, [bar];\n"
           "cp.async.mbarrier.arrive.noinc.shared.b64 [%r0];\n%s\nret;\n}\n";
  static const char *const more[] = {"", "ld.shared.u64 %rd2, [bar];",
                                     "st.shared.u32 [a], %r0;\nld.shared.u32 %r2, [a];\n"
                                     "ld.shared.u32 %r3, [%r2];",
                                     "cvta.shared.u64 %rd2, %rd3;\nld.u32 %r1, [%rd2];",
                                     "mov.u64 %rd2, bar;\ncvta.shared.u64 %rd2, %rd2;\n"
                                     "ld.u32 %r1, [%rd2];"};
  static const bool known[] = {true, false, false, true, false};
  bf_hash *hash = hash_of("cute:3,4,3");
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
    char full[2048];
    bf_rewrite_result result;
    const char *hole = strstr(text, "%s");
    snprintf(full, sizeof full, "%.*s%s%s", (int)(hole - text), text, more[i], hole + 2);
    bf_ptx_module *module = parse(full);
    rewrite(module, hash, &result);
    if (result.kernel[0].is_rewritten != known[i])
      fail_msg("%s", result.text.data);
    assert_int_equal(result.kernel[0].exempt, 3);
    if (known[i]) {
      assert_non_null(strstr(result.text.data, ".shared .align 128 .b64 bar[16];"));
      assert_non_null(strstr(result.text.data, "mbarrier.init.shared.b64 \t[%r0+8], 1;"));
    }
    bf_rewrite_free(&result);
    bf_ptx_free(module);
  }
  bf_hash_free(hash);
}

/* Hashes for kernels by name. */
typedef struct chosen {
  const bf_hash *first, *second;
} chosen;

static const bf_hash *choose(void *context, const bf_ptx_function *kernel,
                             const bf_ptx_variable *array) {
  (void)array;
  const chosen *hashes = context;
  return strcmp(kernel->name, "first") == 0 ? hashes->first : hashes->second;
}

/* How often a text occurs in another. */
static unsigned count(const char *in, const char *what) {
  unsigned times = 0;
  for (const char *at = in; (at = strstr(at, what)); at++)
    times++;
  return times;
}

/* Asks the verifier about a result. */
static void verify(const bf_ptx_module *module, const bf_rewrite_result *result,
                   const bf_rewrite_options *options) {
  bf_verify_result verdict;
  bf_diagnostic diagnostic;
  bf_ptx_module *after = parse(result->text.data);
  assert_int_equal(
      bf_verify(module, after, options->context, options->hash_of, &verdict, &diagnostic), BF_OK);
  if (!verdict.is_accepted)
    fail_msg("%s in\n%s", verdict.finding[0].text, result->text.data);
  bf_verify_free(&verdict);
  bf_ptx_free(after);
}

/* A function that two kernels call is rewritten in its place only if both have its hash; else there
 * is a copy for each hash, also of functions between. */
static void shared_functions(void **state) {
  (void)state;
  bf_ptx_module *module =
      parse(HEAD ".func f();\n.func f()\n{\n.reg .b32 %r;\nmov.u32 %r, 0;\n"
                 "ld.shared.u32 %r, [%r];\nret;\n}\n.func f__bankfold_1()\n{\nret;\n}\n"
                 ".func g()\n{\ncall f, ();\nret;\n}\n.func pure()\n{\nret;\n}\n"
                 ".entry first()\n{\n.shared .b32 a[32];\ncall g, ();\ncall pure, ();\nret;\n}\n"
                 ".entry second()\n{\ncall f, ();\ncall pure, ();\nret;\n}\n");
  bf_hash *fixed = hash_of("fixed"), *other = hash_of("bits:0,1^5,2,3,4");
  const chosen cases[] = {{fixed, fixed}, {fixed, other}, {fixed, NULL}};
  static const unsigned copies[] = {0, 2, 1};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_rewrite_result result;
    bf_diagnostic diagnostic;
    bf_rewrite_options options = {
        .context = (void *)(uintptr_t)&cases[i], .hash_of = choose, .padding_has_room = true};
    assert_int_equal(bf_rewrite(module, &options, &result, &diagnostic), BF_OK);
    assert_int_equal(result.kernels, 2);
    assert_true(result.kernel[0].is_rewritten && result.is_changed);
    assert_int_equal(result.kernel[1].is_rewritten, cases[i].second != NULL);
    assert_int_equal(result.kernel[0].accesses, 1);
    assert_int_equal(result.kernel[0].hashed, 1);
    assert_int_equal(result.kernel[0].added_instructions, 3);
    assert_int_equal(result.kernel[0].shared_bytes, 128);
    assert_int_equal(count(result.text.data, ".func f__bankfold_1()"), 1);
    assert_int_equal(count(result.text.data, ".func f__bankfold_2()"), copies[i] > 0 ? 2 : 0);
    assert_int_equal(count(result.text.data, ".func f__bankfold_3()"), copies[i] > 1 ? 2 : 0);
    assert_int_equal(count(result.text.data, "call \tf__bankfold_2, ();"), copies[i] > 0);
    assert_int_equal(count(result.text.data, "call \tf__bankfold_3, ();"), copies[i] > 1);
    assert_int_equal(count(result.text.data, "g__bankfold"), 0);
    assert_int_equal(count(result.text.data, "pure__bankfold"), 0);
    verify(module, &result, &options);
    bf_rewrite_free(&result);
  }
  bf_hash_free(fixed);
  bf_hash_free(other);
  bf_ptx_free(module);
}

/* Functions that others may call stay, and a copy is called. */
static void open_functions(void **state) {
  (void)state;
  static const char *const texts[] = {
      HEAD
      ".visible .func f()\n{\n.reg .b32 %r;\nmov.u32 %r, 0;\nld.shared.u32 %r, [%r];\nret;\n}\n"
      ".entry k()\n{\n.reg .b64 %rd;\ncall f, ();\nret;\n}\n",
      HEAD ".func f()\n{\n.reg .b32 %r;\nmov.u32 %r, 0;\nld.shared.u32 %r, [%r];\nret;\n}\n"
           ".entry k()\n{\n.reg .b64 %rd;\ncall f, ();\nret;\n}\n"
           ".entry other()\n{\n.reg .b64 %rd;\nmov.u64 %rd, f;\nret;\n}\n"};
  bf_hash *hash = hash_of("fixed");
  for (size_t i = 0; i < 2; i++) {
    bf_ptx_module *module = parse(texts[i]);
    bf_rewrite_options options = {.context = hash, .hash_of = same, .padding_has_room = true};
    bf_rewrite_result result;
    rewrite(module, hash, &result);
    assert_true(result.kernel[0].is_rewritten);
    assert_int_equal(count(result.text.data, "\tld.shared.u32 \t%r, [%r];"), 1);
    assert_int_equal(count(result.text.data, "\n.func f__bankfold_1()"), 1);
    assert_int_equal(count(result.text.data, "call \tf__bankfold_1, ();"), 1);
    verify(module, &result, &options);
    bf_rewrite_free(&result);
    bf_ptx_free(module);
  }
  bf_hash_free(hash);
}

/* A kernel whose address another one takes is only launched by it: it is rewritten in place. */
static void launched_kernels(void **state) {
  (void)state;
  bf_ptx_module *module =
      parse(HEAD ".visible .entry k()\n{\n.reg .b32 %r;\n.reg .b64 %rd;\nmov.u32 %r, 0;\n"
                 "ld.shared.u32 %r, [%r];\nret;\n}\n"
                 ".global .align 8 .u64 kernels[1] = {k};\n"
                 ".visible .entry parent()\n{\n.reg .b64 %rd;\nmov.u64 %rd, k;\nret;\n}\n");
  bf_hash *hash = hash_of("fixed");
  bf_rewrite_options options = {.context = hash, .hash_of = same, .padding_has_room = true};
  bf_rewrite_result result;
  rewrite(module, hash, &result);
  assert_true(result.kernel[0].is_rewritten);
  verify(module, &result, &options);
  bf_rewrite_free(&result);
  bf_ptx_free(module);
  bf_hash_free(hash);
}

/* An array inside a function that stays keeps its size and alignment; that of the copy does not. */
static void open_function_with_array(void **state) {
  (void)state;
  bf_ptx_module *module =
      parse(HEAD ".visible .func f()\n{\n.reg .b32 %r;\n{\n.shared .align 4 .b8 a[100];\n"
                 "mov.u32 %r, a;\nld.shared.u32 %r, [%r];\n}\nret;\n}\n"
                 ".entry k()\n{\n.reg .b64 %rd;\ncall f, ();\nret;\n}\n");
  bf_hash *hash = hash_of("fixed");
  bf_rewrite_options options = {.context = hash, .hash_of = same, .padding_has_room = true};
  bf_rewrite_result result;
  rewrite(module, hash, &result);
  assert_true(result.kernel[0].is_rewritten);
  assert_int_equal(count(result.text.data, ".shared .align 4 .b8 a[100];"), 1);
  assert_int_equal(count(result.text.data, ".shared .align 128 .b8 a[128];"), 1);
  verify(module, &result, &options);
  bf_rewrite_free(&result);
  bf_ptx_free(module);
  bf_hash_free(hash);
}

/* ---- Arrays ---- */

/* Hashes of arrays by the first letter of their name: a and b have one, others none. */
typedef struct array_hashes {
  const bf_hash *a, *b;
} array_hashes;

static const bf_hash *by_letter(void *context, const bf_ptx_function *kernel,
                                const bf_ptx_variable *array) {
  (void)kernel;
  const array_hashes *hashes = context;
  if (!array)
    return NULL;
  return array->name[0] == 'a' ? hashes->a : array->name[0] == 'b' ? hashes->b : NULL;
}

/* Every array its own hash; those without one are neither hashed nor padded. */
static void arrays(void **state) {
  (void)state;
  bf_ptx_module *module = parse(
      HEAD ".entry k()\n{\n.reg .b32 %r<8>;\n.shared .b32 a[40];\n.shared .b32 b[40];\n"
           ".shared .b32 c[40];\nmov.u32 %r0, %tid.x;\nshl.b32 %r0, %r0, 2;\nmov.u32 %r1, a;\n"
           "add.u32 %r1, %r1, %r0;\nmov.u32 %r2, b;\nadd.u32 %r2, %r2, %r0;\nmov.u32 %r3, c;\n"
           "add.u32 %r3, %r3, %r0;\nld.shared.u32 %r4, [%r1];\nst.shared.u32 [%r2], %r4;\n"
           "ld.shared.u32 %r5, [%r3];\nst.shared.v2.u32 [c+8], {%r4, %r5};\nret;\n}\n");
  bf_hash *fixed = hash_of("fixed"), *other = hash_of("bits:0,1^5,2,3,4");
  array_hashes hashes = {fixed, other};
  bf_rewrite_options options = {.context = &hashes, .hash_of = by_letter, .padding_has_room = true};
  bf_rewrite_result result;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_rewrite(module, &options, &result, &diagnostic), BF_OK);
  const bf_rewrite_kernel *kernel = &result.kernel[0];
  assert_true(kernel->is_rewritten && kernel->knows_arrays);
  assert_string_equal(kernel->hash, "a=fixed, b=bits:0,1^5,2,3,4, c=none");
  assert_int_equal(kernel->arrays, 3);
  assert_string_equal(kernel->array[1].name, "b");
  assert_string_equal(kernel->array[1].hash, "bits:0,1^5,2,3,4");
  assert_null(kernel->array[2].hash);
  assert_int_equal(kernel->array[2].accesses, 2);
  assert_int_equal(kernel->array[2].granule_bytes, 8);
  assert_int_equal(kernel->hashed, 2);
  assert_int_equal(kernel->exempt, 2);
  assert_int_equal(kernel->added_instructions, 6);
  assert_int_equal(kernel->padded_bytes, 256 + 256 + 160);
  assert_non_null(strstr(result.text.data, ".shared .align 256 .b32 b[64];"));
  assert_non_null(strstr(result.text.data, ".shared .b32 c[40];"));
  verify(module, &result, &options);
  bf_rewrite_free(&result);
  bf_hash_free(fixed);
  bf_hash_free(other);
  bf_ptx_free(module);
}

/* Accesses that are not known to be to one array. */
static void unknown_arrays(void **state) {
  (void)state;
  static const struct {
    const char *text, *obstacle;
    unsigned line;
  } cases[] = {
      {"selp.u32 %r1, a, b, %p;\nld.shared.u32 %r2, [%r1];\n",
       "an access to a or to b, which have hashes of their own", 8},
      {"mov.u32 %r1, a;\n@%p mov.u32 %r1, c;\nld.shared.u32 %r2, [%r1];\n",
       "an access to a or to c, which have hashes of their own", 9},
      {"ld.param.u32 %r1, [x];\nld.shared.u32 %r2, [%r1];\nld.shared.u32 %r2, [a];\n",
       "an access to an array that is not known, where arrays have hashes of their own", 8},
      {"mov.u64 %rd, a;\ncvta.shared.u64 %rd, %rd;\nld.u32 %r2, [%rd];\n",
       "a generic access, where arrays have hashes of their own", 9},
      {"mov.u32 %r1, a;\nst.shared.u32 [b], %r1;\nld.shared.u32 %r1, [b];\nadd.u32 %r1, %r1, b;\n"
       "ld.shared.u32 %r2, [%r1];\n",
       "an access to an array that is not known, where arrays have hashes of their own", 11},
      {"ld.shared.v2.u32 {%r1, %r2}, [a];\n",
       "an access of 8 bytes, of which the hash keeps 4 together", 7},
  };
  bf_hash *fixed = hash_of("fixed"), *other = hash_of("bits:0,1^5,2,3,4");
  array_hashes hashes = {fixed, other};
  bf_rewrite_options options = {.context = &hashes, .hash_of = by_letter, .padding_has_room = true};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1024];
    bf_rewrite_result result;
    bf_diagnostic diagnostic;
    snprintf(text, sizeof text,
             HEAD ".entry k(.param .u32 x)\n{\n.reg .b32 %%r<8>; .reg .b64 %%rd; .reg .pred %%p; "
                  ".shared .b32 a[32]; .shared .b32 b[32]; .shared .b32 c[32];\n%s"
                  "ld.shared.u32 %%r3, [a]; ld.shared.u32 %%r3, [b]; ld.shared.u32 %%r3, [c];\n"
                  "ret;\n}\n",
             cases[i].text);
    bf_ptx_module *module = parse(text);
    assert_int_equal(bf_rewrite(module, &options, &result, &diagnostic), BF_OK);
    assert_false(result.is_changed);
    if (result.kernel[0].obstacles == 0 ||
        strcmp(result.kernel[0].obstacle[0].text, cases[i].obstacle) != 0 ||
        result.kernel[0].obstacle[0].line != cases[i].line)
      fail_msg("%s: %s", text,
               result.kernel[0].obstacles ? result.kernel[0].obstacle[0].text : "rewritten");
    bf_rewrite_free(&result);
    bf_ptx_free(module);
  }
  bf_hash_free(fixed);
  bf_hash_free(other);
}

/* Dynamic shared memory must not start later than it did without a promise that there is room; all
 * open arrays start at the same place and are one. */
static void dynamic_memory(void **state) {
  (void)state;
  static const char text[] =
      HEAD ".extern .shared .b32 %s[];\n.extern .shared .b8 %s[];\n.entry k()\n{\n.reg .b32 %%r;\n"
           ".shared .b32 a[%u];\nld.shared.u32 %%r, [a];\nld.shared.u32 %%r, [%s+4];\n"
           "ld.shared.u8 %%r, [%s];\nret;\n}\n";
  static const struct {
    const char *first, *second;
    unsigned static_words;
    bool has_room;
    const char *obstacle; /* NULL: rewritten */
  } cases[] = {
      {"a1", "a2", 32, false, NULL},
      {"c1", "c2", 32, false, NULL},
      {"a1", "a2", 33, true, NULL},
      {"a1", "a2", 33, false,
       "padding moves dynamic shared memory by 112 bytes, for which a launch may have no room"},
      {"c1", "c2", 29, false, NULL},
      {"c1", "c2", 28, false,
       "padding moves dynamic shared memory by 16 bytes, for which a launch may have no room"},
      {"a1", "c2", 32, true,
       "shared variables a1 and c2 start at the same place and need one hash"},
  };
  bf_hash *fixed = hash_of("fixed");
  array_hashes hashes = {fixed, NULL};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char full[1024];
    bf_rewrite_result result;
    bf_diagnostic diagnostic;
    bf_rewrite_options options = {
        .context = &hashes, .hash_of = by_letter, .padding_has_room = cases[i].has_room};
    snprintf(full, sizeof full, text, cases[i].first, cases[i].second, cases[i].static_words,
             cases[i].first, cases[i].second);
    bf_ptx_module *module = parse(full);
    assert_int_equal(bf_rewrite(module, &options, &result, &diagnostic), BF_OK);
    assert_int_equal(result.kernel[0].is_rewritten, !cases[i].obstacle);
    assert_int_equal(result.kernel[0].arrays, 2);
    assert_true(result.kernel[0].has_dynamic_shared);
    if (cases[i].obstacle)
      assert_string_equal(result.kernel[0].obstacle[0].text, cases[i].obstacle);
    else
      verify(module, &result, &options);
    bf_rewrite_free(&result);
    bf_ptx_free(module);
  }
  bf_hash_free(fixed);
}

/* ---- Cheap code ---- */

/* An access that not all threads come to. */
#define BRANCH(label) "@%p bra " label ";\nld.shared.u32 %r1, [%r0];\n" label ":\n"

/* What accesses of a base cost: lines of code and instructions added. */
static void costs(void **state) {
  (void)state;
  static const struct {
    const char *what, *hash, *text;
    unsigned added;
  } cases[] = {
      {"one hash serves both sides of a branch and what follows", "fixed",
       "ld.shared.u32 %r1, [%r0];\n@%p bra other;\nld.shared.u32 %r1, [%r0];\nbra join;\nother:\n"
       "st.shared.u32 [%r0], %r1;\njoin:\nld.shared.u32 %r1, [%r0];\n",
       3},
      {"what only one side computed is not used behind both", "fixed",
       "@%p bra join;\nld.shared.u32 %r1, [%r0];\njoin:\nld.shared.u32 %r1, [%r0];\n", 6},
      {"a base that changes in the loop is hashed there", "fixed",
       "loop:\nld.shared.u32 %r1, [%r0];\nadd.u32 %r0, %r0, 4;\n@%p bra loop;\n"
       "ld.shared.u32 %r1, [%r0];\n",
       6},
      {"offsets beyond what the hash reads cost nothing", "fixed",
       "ld.shared.u32 %r1, [%r0];\nld.shared.u32 %r1, [%r0+4096];\nld.shared.u32 %r1, "
       "[%r0+-8192];\n",
       3},
      {"offsets in bits that the hash leaves alone cost nothing", "bits:0,1,2,3,4^7",
       "shl.b32 %r2, %r0, 7;\nld.shared.u32 %r1, [%r2];\nld.shared.u32 %r1, [%r2+4];\n"
       "ld.shared.u32 %r1, [%r2+32];\nld.shared.u32 %r1, [%r2+60];\n",
       3},
      {"other offsets cost a XOR", "fixed",
       "shl.b32 %r2, %r0, 7;\nld.shared.u32 %r1, [%r2];\nld.shared.u32 %r1, [%r2+4];\n", 4},
      {"names that the hash leaves alone are left", "bits:0,1,2,3,4^7",
       "ld.shared.u32 %r1, [big];\nld.shared.u32 %r1, [big+60];\nld.shared.u32 %r1, [big+2048];\n",
       0},
      {"whole rows share the shifted base", "fixed",
       "ld.shared.u32 %r1, [%r0+128];\nld.shared.u32 %r1, [%r0+384];\n"
       "ld.shared.u32 %r1, [%r0+4224];\n",
       1 + 3 + 3},
      {"also before and in a loop", "fixed",
       "ld.shared.u32 %r1, [%r0+128];\nouter:\nld.shared.u32 %r1, [%r0+384];\n"
       "ld.shared.u32 %r1, [%r0+512];\n@%p bra outer;\n",
       1 + 3 + 3 + 3},
      {"not when the base changes", "fixed",
       "ld.shared.u32 %r1, [%r0+128];\nadd.u32 %r0, %r0, 4;\nld.shared.u32 %r1, [%r0+384];\n",
       1 + 3 + 1 + 3},
      {"sums that are whole rows apart share the shift", "fixed",
       "add.u32 %r0, %r0, 4;\nld.shared.u32 %r1, [%r0+4];\nld.shared.u32 %r1, [%r0+132];\n"
       "ld.shared.u32 %r1, [%r0+-124];\nld.shared.u32 %r1, [%r0+4228];\n",
       4 + 4 + 3},
      {"not behind another write of the base", "fixed",
       "add.u32 %r0, %r0, 4;\nld.shared.u32 %r1, [%r0+4];\nadd.u32 %r0, %r0, 4;\n"
       "ld.shared.u32 %r1, [%r0+132];\n",
       4 + 4},
      {"bits that are only read go into the access", "fixed",
       "and.b32 %r3, %r0, 31;\nmul.lo.u32 %r2, %r3, 4;\nld.shared.u32 %r1, [%r2+128];\n"
       "ld.shared.u32 %r1, [%r2+4224];\nld.shared.u32 %r1, [%r2];\n",
       1},
      {"bits between others", "fixed",
       "bfe.u32 %r1, %r0, 2, 3;\nmin.u32 %r2, %r0, 7;\nshl.b32 %r3, %r2, 9;\n"
       "mad.lo.u32 %r4, %r1, 16, %r3;\nld.shared.u32 %r5, [%r4];\nld.shared.u32 %r5, [%r4+384];\n",
       4},
      {"stores of all threads bound their indices", "fixed",
       "shl.b32 %r2, %r0, 2;\nmov.u32 %r4, big;\nadd.u32 %r3, %r4, %r2;\n"
       "st.shared.u32 [%r3+3968], %r0;\nld.shared.u32 %r1, [%r3];\n"
       "ld.shared.u32 %r1, [%r3+128];\nld.shared.u32 %r1, [%r3+256];\n",
       4 + 1 + 3 + 1 + 1},
      {"loads do not", "fixed",
       "shl.b32 %r2, %r0, 2;\nmov.u32 %r4, big;\nadd.u32 %r3, %r4, %r2;\n"
       "ld.shared.u32 %r1, [%r3+3968];\nld.shared.u32 %r1, [%r3];\n"
       "ld.shared.u32 %r1, [%r3+128];\n",
       1 + 3 + 3 + 3},
      {"the highest bit that is read costs a XOR, added or taken away", "fixed",
       "ld.shared.u32 %r1, [%r0+4];\nld.shared.u32 %r1, [%r0+2052];\nld.shared.u32 %r1, "
       "[%r0+6148];\nld.shared.u32 %r1, [%r0+-2044];\nld.shared.u32 %r1, [%r0];\n"
       "ld.shared.u32 %r1, [%r0+2048];\nld.shared.u32 %r1, [%r0+-2048];\n",
       4 + 1 + 3 + 1},
      {"also of whole rows, and of one side of a branch for what follows there", "fixed",
       "ld.shared.u32 %r1, [%r0+2176];\nld.shared.u32 %r1, [%r0+128];\n@%p bra other;\n"
       "ld.shared.u32 %r1, [%r0+132];\nld.shared.u32 %r1, [%r0+2180];\nother:\n",
       4 + 1 + 4 + 1},
      {"what many branches need is computed before they part", "fixed",
       BRANCH("a") BRANCH("b") BRANCH("c") BRANCH("d"), 3},
      {"what some need is not", "fixed", BRANCH("a") BRANCH("b") BRANCH("c"), 3 + 3 + 3},
      {"what two branches of a loop need is computed before the loop", "fixed",
       "again:\n" BRANCH("a") BRANCH("b") "@%p bra again;\n", 3},
      {"nor what changes in it", "fixed",
       "again:\n" BRANCH("a") BRANCH("b") "add.u32 %r0, %r0, 4;\n@%p bra again;\n", 3 + 3},
      {"two copies of the same bits take a product", "bits:0,1^5,2^5,3,4",
       "ld.shared.u32 %r1, [%r0];\n", 4},
      {"bits that meet do not", "bits:0,1,2^6,3^7,4^5^8", "ld.shared.u32 %r1, [%r0];\n", 6},
      {"not when the base changes in between", "fixed",
       "ld.shared.u32 %r1, [%r0];\nadd.u32 %r0, %r0, 4;\nld.shared.u32 %r1, [%r0+2048];\n", 3 + 4},
      {"remainders that are taken away leave zeros", "fixed",
       "and.b32 %r2, %r0, 31;\nsub.u32 %r3, %r0, %r2;\nshl.b32 %r3, %r3, 2;\n"
       "ld.shared.u32 %r1, [%r3];\nld.shared.u32 %r1, [%r3+4];\n",
       3 + 1},
      {"twice an index less its lowest bits has a 0", "fixed",
       "shl.b32 %r2, %r0, 1;\nand.b32 %r3, %r0, 3;\nsub.u32 %r4, %r2, %r3;\nshl.b32 %r5, %r4, 2;\n"
       "ld.shared.u32 %r1, [%r5];\nld.shared.u32 %r1, [%r5+16];\n",
       3 + 1},
      {"bits that are put in leave zeros beside them", "fixed",
       "and.b32 %r2, %r0, 1;\nbfi.b32 %r3, %r0, %r2, 3, 29;\nshl.b32 %r5, %r3, 2;\n"
       "ld.shared.u32 %r1, [%r5];\nld.shared.u32 %r1, [%r5+16];\n",
       3 + 1},
      {"where the index is one", "fixed",
       "and.b32 %r3, %r1, 3;\nshl.b32 %r2, %r0, 1;\nsub.u32 %r4, %r2, %r3;\nshl.b32 %r5, %r4, 2;\n"
       "ld.shared.u32 %r1, [%r5];\nld.shared.u32 %r1, [%r5+16];\n",
       3 + 4},
      {"offsets to the lowest bits cost an XOR where these are known", "fixed",
       "mad.lo.u32 %r2, %r0, 16, 8;\nld.shared.u32 %r1, [%r2];\nld.shared.u32 %r1, [%r2+-4];\n"
       "ld.shared.u32 %r1, [%r2+4];\n",
       3 + 1 + 1},
      {"multiples of an index add up", "fixed",
       "mad.lo.u32 %r2, %r0, 16, 8;\nmad.lo.u32 %r3, %r0, 16, %r2;\nld.shared.u32 %r1, [%r3];\n"
       "ld.shared.u32 %r1, [%r3+16];\n",
       3 + 1},
      {"and nothing inside a granule", "xor:0,3,28",
       "mad.lo.u32 %r2, %r0, 16, 12;\nld.shared.u32 %r1, [%r2];\nld.shared.u32 %r1, [%r2+-4];\n"
       "ld.shared.u32 %r1, [%r2+-12];\nld.shared.u32 %r1, [%r2+116];\n",
       3 + 4},
      {"names that it moves by a constant cost one instruction", "bits:0,1,2,3,4^7",
       "ld.shared.u32 %r1, [big+512];\nld.shared.u32 %r1, [big+2560];\n", 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[2048];
    bf_hash *hash = hash_of(cases[i].hash);
    bf_rewrite_options options = {.context = hash, .hash_of = same, .padding_has_room = true};
    bf_rewrite_result result;
    snprintf(text, sizeof text,
             HEAD ".shared .align 1024 .b32 big[1024];\n.entry k()\n{\n.reg .b32 %%r<6>;\n"
                  ".reg .pred %%p;\nmov.u32 %%r0, %%tid.x;\nsetp.eq.u32 %%p, %%r0, 0;\n%sret;\n}\n",
             cases[i].text);
    bf_ptx_module *module = parse(text);
    rewrite(module, hash, &result);
    if (result.kernel[0].added_instructions != cases[i].added || result.kernel[0].obstacles)
      fail_msg("%s: %u instructions added in\n%s", cases[i].what,
               result.kernel[0].added_instructions, result.text.data);
    verify(module, &result, &options);
    bf_rewrite_free(&result);
    bf_ptx_free(module);
    bf_hash_free(hash);
  }
}

/* Where in the text a hash is computed: before or behind a label. */
static void loops(void **state) {
  (void)state;
  static const struct {
    const char *what, *text, *label;
    bool is_before;
  } cases[] = {
      {"a base of before the loop", "outer:\nld.shared.u32 %r1, [%r0];\n@%p bra outer;\n",
       "outer:", true},
      {"two loops", "outer:\ninner:\nld.shared.u32 %r1, [%r0];\n@%p bra inner;\n@%p bra outer;\n",
       "outer:", true},
      {"a base of the outer loop",
       "outer:\nmov.u32 %r2, %r1;\nadd.u32 %r3, %r2, 4;\ninner:\nld.shared.u32 %r1, [%r2];\n"
       "@%p bra inner;\n@%p bra outer;\n",
       "inner:", true},
      {"an access that not every round makes",
       "outer:\n@%p bra over;\nld.shared.u32 %r1, [%r0];\nover:\n@%p bra outer;\n",
       "outer:", false},
      {"a base that is written last before the loop",
       "add.u32 %r2, %r0, 4;\nouter:\nld.shared.u32 %r1, [%r2];\n@%p bra outer;\n",
       "outer:", false},
      {"a base inside braces",
       "{\n.reg .b32 %t;\nmov.u32 %t, %tid.x;\nadd.u32 %r3, %t, 4;\nouter:\nld.shared.u32 %r1, "
       "[%t];\n"
       "@%p bra outer;\n}\n",
       "outer:", false},
  };
  bf_hash *hash = hash_of("fixed");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[2048];
    bf_rewrite_options options = {.context = hash, .hash_of = same, .padding_has_room = true};
    bf_rewrite_result result;
    snprintf(text, sizeof text,
             HEAD ".entry k()\n{\n.reg .b32 %%r<4>;\n.reg .pred %%p;\nmov.u32 %%r0, %%tid.x;\n"
                  "setp.eq.u32 %%p, %%r0, 0;\n%sret;\n}\n",
             cases[i].text);
    bf_ptx_module *module = parse(text);
    rewrite(module, hash, &result);
    const char *label = strstr(result.text.data, cases[i].label);
    const char *hashed = strstr(result.text.data, "\tshr.u32");
    assert_true(label && hashed);
    if ((hashed < label) != cases[i].is_before)
      fail_msg("%s:\n%s", cases[i].what, result.text.data);
    verify(module, &result, &options);
    bf_rewrite_free(&result);
    bf_ptx_free(module);
  }
  bf_hash_free(hash);
}

/* A kernel that is left alone must still fit when a variable of both is padded. */
static void shared_variables(void **state) {
  (void)state;
  bf_ptx_module *module =
      parse(HEAD ".shared .b8 both[130];\n.shared .b8 large[49000];\n"
                 ".entry first()\n{\n.reg .b32 %r;\nld.shared.u8 %r, [both];\nret;\n}\n"
                 ".entry second()\n{\n.reg .b32 %r;\nld.shared.u8 %r, [both];\n"
                 "ld.shared.u8 %r, [large];\nret;\n}\n");
  bf_hash *hash = hash_of("fixed");
  chosen hashes = {hash, NULL};
  bf_rewrite_options options = {.context = &hashes, .hash_of = choose, .padding_has_room = true};
  bf_rewrite_result result;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_rewrite(module, &options, &result, &diagnostic), BF_OK);
  assert_false(result.is_changed);
  assert_string_equal(result.kernel[0].obstacle[0].text,
                      "shared variable both, padded, makes kernel second too large");
  assert_int_equal(result.kernel[0].obstacle[0].line, 4);
  bf_rewrite_free(&result);
  bf_hash_free(hash);
  bf_ptx_free(module);
}

/* Sizes, widths and counts; bf_rewrite_examine finds the same without a hash. */
static void numbers(void **state) {
  (void)state;
  bf_ptx_module *module =
      parse(HEAD ".extern .shared .b8 open[];\n.shared .b16 pair[3][5];\n.shared .f64 one;\n"
                 ".entry k()\n{\n.reg .b32 %r<4>;\n.shared .b8 unused[4];\n"
                 "ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [open];\nld.shared.u16 %r1, [pair+4];\n"
                 "ld.shared.u32 %r1, [one];\nret;\n}\n.entry bare()\n{\nret;\n}\n");
  bf_hash *hash = hash_of("cute:3,4,3");
  bf_rewrite_result result;
  bf_diagnostic diagnostic;
  rewrite(module, hash, &result);
  const bf_rewrite_kernel *kernel = &result.kernel[0];
  assert_true(kernel->is_rewritten && kernel->has_dynamic_shared);
  assert_int_equal(kernel->granule_bytes, 16);
  assert_int_equal(kernel->accesses, 3);
  assert_int_equal(kernel->hashed, 3);
  assert_int_equal(kernel->shared_bytes, 44); /* 30, 8 at 32, 4 */
  assert_int_equal(kernel->padded_bytes, 384);
  assert_string_equal(kernel->hash, bf_hash_text(hash));
  assert_non_null(strstr(result.text.data, ".shared .align 128 .b16 pair[64];"));
  assert_non_null(strstr(result.text.data, ".shared .align 128 .f64 one[16];"));
  assert_false(result.kernel[1].is_rewritten || result.kernel[1].obstacles);
  bf_rewrite_free(&result);
  assert_int_equal(bf_rewrite_examine(module, &result, &diagnostic), BF_OK);
  assert_int_equal(result.kernel[0].granule_bytes, 16);
  assert_int_equal(result.kernel[0].obstacles, 0);
  assert_int_equal(result.text.size, 0);
  bf_rewrite_free(&result);
  bf_hash_free(hash);
  bf_ptx_free(module);
}

/* Hashes that move words out of their row, or are made for other memories. */
static void bad_hashes(void **state) {
  (void)state;
  static const bf_geometry other = {4, 16, 4}, doubles = {5, 16, 8};
  bf_ptx_module *module = parse(HEAD ".entry k()\n{\nret;\n}\n");
  static const struct {
    const char *text;
    const bf_geometry *geometry;
    const char *message;
  } cases[] = {
      {"perm:2", &geometry,
       "perm:2 does not keep words in their rows; kernel k can only be rewritten with a "
       "row-preserving hash or with padding"},
      {"mod:31", &geometry,
       "mod:31 does not keep words in their rows; kernel k can only be rewritten with a "
       "row-preserving hash or with padding"},
      {"fixed", &other,
       "the hash of kernel k is for 16 banks of 4 bytes; code is written for 32 banks of 4"},
      {"fixed", &doubles,
       "the hash of kernel k is for 32 banks of 8 bytes; code is written for 32 banks of 4"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_hash *hash;
    bf_rewrite_result result;
    bf_diagnostic diagnostic;
    assert_int_equal(bf_hash_parse(cases[i].text, cases[i].geometry, &hash, &diagnostic), BF_OK);
    bf_rewrite_options options = {.context = hash, .hash_of = same, .padding_has_room = true};
    assert_int_equal(bf_rewrite(module, &options, &result, &diagnostic), BF_BAD_INPUT);
    assert_string_equal(diagnostic.message, cases[i].message);
    bf_hash_free(hash);
  }
  bf_ptx_free(module);
}

/* none moves nothing: the module is printed as it is. */
static void nothing_to_do(void **state) {
  (void)state;
  bf_ptx_module *module = parse(HEAD ".entry k()\n{\n.shared .b32 a;\n.reg .b32 %r;\n"
                                     "ld.shared.u32 %r, [a];\nret;\n}\n");
  bf_hash *none = hash_of("none");
  const bf_hash *const hashes[] = {none, NULL};
  bf_text plain = {0};
  bf_ptx_print(module, &plain);
  for (size_t i = 0; i < 2; i++) {
    bf_rewrite_result result;
    rewrite(module, hashes[i], &result);
    assert_false(result.is_changed || result.kernel[0].is_rewritten);
    assert_string_equal(result.text.data, plain.data);
    bf_rewrite_free(&result);
  }
  bf_text_free(&plain);
  bf_hash_free(none);
  bf_ptx_free(module);
}

/* For counting, and and xor are one instruction. */
static void joined_logic(void **state) {
  (void)state;
  bf_hash *hash = hash_of("fixed");
  bf_rewrite_options options = {.context = hash, .hash_of = same, .joins_logic = true};
  bf_rewrite_result result;
  bf_ptx_module *module = parse(HEAD ".entry k()\n{\n.reg .b32 %r<2>;\n.shared .b32 a[1024];\n"
                                     "mov.u32 %r0, a;\nld.shared.u32 %r1, [%r0];\nret;\n}\n");
  bf_diagnostic diagnostic;
  assert_int_equal(bf_rewrite(module, &options, &result, &diagnostic), BF_OK);
  assert_non_null(strstr(result.text.data, "lop3.b32 \t%bf_place0, %bf_term, 124, %r0, 0x6a;"));
  assert_int_equal(result.kernel[0].added_instructions, 2);
  verify(module, &result, &options);
  bf_rewrite_free(&result);
  bf_ptx_free(module);
  bf_hash_free(hash);
}

/* Two arrays at one subscript share a hash where they are aligned to what it reads, and where the
 * subscript is written once. */
static void siblings(void **state) {
  (void)state;
  static const struct {
    const char *hash, *words, *between;
    bool is_shared;
  } cases[] = {{"xor:0,5,15", "512", "", true},
               {"fixed", "1024", "", true},
               {"fixed", "512", "", false},
               {"xor:0,5,15", "300", "", false},
               {"xor:0,5,15", "512", "add.u32 %r1, %r1, 128;\n", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1024];
    bf_rewrite_result result;
    snprintf(text, sizeof text,
             HEAD ".entry k()\n{\n.reg .b32 %%r<8>;\n.shared .b32 a[%s];\n.shared .b32 b[%s];\n"
                  "mov.u32 %%r0, %%tid.x;\nshl.b32 %%r1, %%r0, 2;\nmov.u32 %%r2, a;\n"
                  "mov.u32 %%r3, b;\nadd.u32 %%r4, %%r2, %%r1;\n%sadd.u32 %%r5, %%r1, %%r3;\n"
                  "st.shared.u32 [%%r4], %%r0;\nst.shared.u32 [%%r5], %%r0;\n"
                  "ld.shared.u32 %%r6, [%%r4+12];\nld.shared.u32 %%r7, [%%r5+12];\nret;\n}\n",
             cases[i].words, cases[i].words, cases[i].between);
    bf_ptx_module *module = parse(text);
    bf_hash *hash = hash_of(cases[i].hash);
    bf_rewrite_options options = {.context = hash, .hash_of = same};
    rewrite(module, hash, &result);
    assert_true(result.kernel[0].is_rewritten);
    assert_int_equal(strstr(result.text.data, "_distance0") != NULL, cases[i].is_shared);
    verify(module, &result, &options);
    bf_rewrite_free(&result);
    bf_hash_free(hash);
    bf_ptx_free(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden_registers),
      cmocka_unit_test(golden_names),
      cmocka_unit_test(golden_generic),
      cmocka_unit_test(implied_space),
      cmocka_unit_test(refused),
      cmocka_unit_test(barriers),
      cmocka_unit_test(shared_functions),
      cmocka_unit_test(shared_variables),
      cmocka_unit_test(numbers),
      cmocka_unit_test(bad_hashes),
      cmocka_unit_test(nothing_to_do),
      cmocka_unit_test(open_functions),
      cmocka_unit_test(launched_kernels),
      cmocka_unit_test(open_function_with_array),
      cmocka_unit_test(arrays),
      cmocka_unit_test(unknown_arrays),
      cmocka_unit_test(dynamic_memory),
      cmocka_unit_test(costs),
      cmocka_unit_test(joined_logic),
      cmocka_unit_test(siblings),
      cmocka_unit_test(loops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
