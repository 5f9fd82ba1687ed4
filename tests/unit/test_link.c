/* Linking parts (src/ptx/link.h): which definition counts, what is told apart, what linked modules
 * compute, and what is said of parts that do not fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/emu.h"
#include "ptx/link.h"

#define HEAD ".version 8.5\n.target sm_90\n.address_size 64\n"

enum { MOST_PARTS = 4 };

/* Links texts, each behind HEAD, as files "part1", "part2" ...; an error of bf_ptx_link. */
static int link_texts(const char *const *text, bf_ptx_module **linked, bf_diagnostic *diagnostic) {
  bf_ptx_module *part[MOST_PARTS] = {0};
  unsigned parts = 0;
  for (; parts < MOST_PARTS && text[parts]; parts++) {
    char whole[4000], name[16];
    snprintf(whole, sizeof whole, "%s%s", HEAD, text[parts]);
    snprintf(name, sizeof name, "part%u", parts + 1);
    if (bf_ptx_parse(name, whole, strlen(whole), &part[parts], diagnostic) != BF_OK)
      fail_msg("%s:%llu: %s", name, (unsigned long long)diagnostic->line, diagnostic->message);
  }
  int error = bf_ptx_link("linked", part, parts, bf_emu_provides, linked, diagnostic);
  for (unsigned i = 0; i < parts; i++)
    bf_ptx_free(part[i]);
  return error;
}

#define LINK(...) link_all((const char *const[]){__VA_ARGS__, NULL})

static bf_ptx_module *link_all(const char *const *text) {
  bf_ptx_module *linked;
  bf_diagnostic diagnostic = {0};
  if (link_texts(text, &linked, &diagnostic) != BF_OK)
    fail_msg("%s:%llu: %s", diagnostic.file, (unsigned long long)diagnostic.line,
             diagnostic.message);
  return linked;
}

/* Runs kernel k(.param .u64 out) of one thread and returns what it leaves in out. */
static uint64_t run(const bf_ptx_module *module) {
  bf_emu *emu;
  bf_emu_module *loaded;
  bf_emu_result result;
  bf_emu_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .workers = 1};
  bf_diagnostic diagnostic = {0};
  uint64_t out;
  assert_int_equal(bf_emu_create(&emu, &diagnostic), BF_OK);
  if (bf_emu_load(emu, module, &loaded, &diagnostic) != BF_OK ||
      bf_emu_kernel_get(loaded, "k", &launch.kernel, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  assert_int_equal(bf_emu_alloc(emu, 8, 0, &out, &diagnostic), BF_OK);
  uint64_t parameter = out;
  launch.parameters = &parameter;
  launch.parameter_bytes = sizeof parameter;
  assert_int_equal(bf_emu_run(emu, &launch, &result, &diagnostic), BF_OK);
  assert_int_equal(result.fault.kind, BF_EMU_NO_FAULT);
  uint64_t value = *(uint64_t *)(uintptr_t)out;
  bf_emu_free(emu);
  return value;
}

static uint64_t run_and_free(bf_ptx_module *module) {
  uint64_t value = run(module);
  bf_ptx_free(module);
  return value;
}

/* A kernel that stores what a list of instructions leaves in %rd1. */
#define KERNEL(instructions)                                                                       \
  ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %rd<9>;\n.reg .b32 %r<9>;\n" instructions      \
  "ld.param.u64 %rd0, [out];\nst.global.u64 [%rd0], %rd1;\nret;\n}\n"

#define CALL(name)                                                                                 \
  "{\n.param .b64 result;\ncall (result), " name ", ();\nld.param.b64 %rd1, [result];\n}\n"
#define GIVES(linkage, name, value)                                                                \
  linkage " .func (.param .b64 result) " name "()\n{\nst.param.b64 [result], " value ";\nret;\n}"  \
          "\n"
#define WANTS(name) ".extern .func (.param .b64 result) " name "();\n"

/* ---- What counts ---- */

static void test_functions_of_other_parts(void **state) {
  (void)state;
  assert_int_equal(run_and_free(LINK(WANTS("f") KERNEL(CALL("f")), GIVES(".visible", "f", "7"))),
                   7);
  assert_int_equal(run_and_free(LINK(GIVES(".visible", "f", "7"), WANTS("f") KERNEL(CALL("f")))),
                   7);
}

/* A strong definition goes before weak ones, whatever the order; of weak ones the first counts. */
static void test_weak_functions(void **state) {
  (void)state;
  static const char *const use = WANTS("f") KERNEL(CALL("f"));
  static const char *const weak = GIVES(".weak", "f", "1"), *other = GIVES(".weak", "f", "2");
  static const char *const strong = GIVES(".visible", "f", "3");
  assert_int_equal(run_and_free(LINK(use, weak, other)), 1);
  assert_int_equal(run_and_free(LINK(use, weak, strong, other)), 3);
  assert_int_equal(run_and_free(LINK(strong, weak, use)), 3);
}

static void test_weak_and_common_variables(void **state) {
  (void)state;
  static const char *const use = ".extern .global .u64 x;\n" KERNEL("ld.global.u64 %rd1, [x];\n");
  assert_int_equal(
      run_and_free(LINK(use, ".weak .global .u64 x = 1;\n", ".weak .global .u64 x = 2;\n")), 1);
  assert_int_equal(
      run_and_free(LINK(".weak .global .u64 x = 1;\n", ".visible .global .u64 x = 2;\n", use)), 2);
  assert_int_equal(
      run_and_free(LINK(".common .global .u64 x;\n", ".visible .global .u64 x = 2;\n", use)), 2);
  /* Of common ones the largest. */
  assert_int_equal(run_and_free(LINK(".common .global .u64 y[2];\n", ".common .global .u64 y[4];\n",
                                     ".extern .global .u64 y[];\n" KERNEL(
                                         "mov.u64 %rd2, 5;\nst.global.u64 [y+24], %rd2;\n"
                                         "ld.global.u64 %rd1, [y+24];\n"))),
                   5);
}

static void test_constants(void **state) {
  (void)state;
  assert_int_equal(
      run_and_free(LINK(".extern .const .u64 c[2];\n" KERNEL("ld.const.u64 %rd1, [c+8];\n"),
                        ".visible .const .u64 c[2] = {3, 4};\n")),
      4);
}

/* ---- Names that parts keep for themselves ---- */

static void test_private_names(void **state) {
  (void)state;
  /* Both parts have a private f and x; the name add is an opcode as well. */
  static const char *const first = WANTS("g") ".global .u64 x = 1;\n" GIVES("", "add", "10")
      KERNEL(CALL("add") "mov.u64 %rd2, %rd1;\n" CALL("g") "add.u64 %rd1, %rd1, %rd2;\n"
                                                           "ld.global.u64 %rd3, [x];\n"
                                                           "add.u64 %rd1, %rd1, %rd3;\n");
  static const char *const second = ".global .u64 x = 100;\n" GIVES(
      "", "add",
      "1000") ".visible .func (.param .b64 result) g()\n"
              "{\n.reg .b64 %rd<9>;\n" CALL(
                  "add") "ld.global.u64 %rd2, [x];\n"
                         "add.u64 %rd1, %rd1, %rd2;\nst.param.b64 [result], %rd1;\nret;\n}\n";
  bf_ptx_module *linked = LINK(first, second);
  assert_non_null(bf_ptx_find(linked, "add"));
  assert_non_null(bf_ptx_find(linked, "add$part2"));
  assert_int_equal(run_and_free(linked), 1111);
}

/* A private name that another part shares makes way for it. */
static void test_private_and_shared(void **state) {
  (void)state;
  bf_ptx_module *linked = LINK(".global .u64 x = 1;\n" KERNEL("ld.global.u64 %rd1, [x];\n"),
                               ".visible .global .u64 x = 2;\n");
  bf_ptx_module *other = LINK(".visible .global .u64 x = 2;\n",
                              ".global .u64 x = 1;\n" KERNEL("ld.global.u64 %rd1, [x];\n"));
  assert_int_equal(run_and_free(linked), 1);
  assert_int_equal(run_and_free(other), 1);
}

/* Local names stay what they are where they hide a name that changes. */
static void test_hidden_names(void **state) {
  (void)state;
  assert_int_equal(
      run_and_free(LINK(".global .u64 x = 1;\n",
                        ".global .u64 x = 2;\n" KERNEL(
                            "{\n.local .u64 x;\nmov.u64 %rd2, 40;\nst.local.u64 [x], %rd2;\n"
                            "ld.local.u64 %rd3, [x];\n}\nld.global.u64 %rd1, [x];\n"
                            "add.u64 %rd1, %rd1, %rd3;\n"))),
      42);
}

/* ---- Initialisers with addresses ---- */

static void test_addresses_across_parts(void **state) {
  (void)state;
  /* p leads to q of a later part, q to p; f to a private function of the last. */
  bf_ptx_module *linked =
      LINK(".extern .global .u64 q[2];\n.visible .global .u64 p = generic(q)+8;\n"
           ".extern .global .u64 f;\n" KERNEL(
               "ld.global.u64 %rd2, [p];\nld.u64 %rd3, [%rd2];\n" /* q[1]: 30 */
               "ld.global.u64 %rd4, [f];\n{\n.param .b64 result;\n"
               "shape: .callprototype (.param .b64 _) _ ();\ncall (result), %rd4, (), shape;\n"
               "ld.param.b64 %rd1, [result];\n}\nadd.u64 %rd1, %rd1, %rd3;\n"),
           ".extern .global .u64 p;\n.visible .global .u64 q[2] = {generic(p), 30};\n",
           ".func (.param .b64 result) h();\n.visible .global .u64 f = h;\n" GIVES("", "h", "4"));
  assert_int_equal(run_and_free(linked), 34);
}

/* ---- Lines ---- */

/* The source file that the first instruction of a function belongs to, by its .loc. */
static const char *source_of(const bf_ptx_module *module, const char *function) {
  const bf_ptx_location *location = bf_ptx_find(module, function)->instruction[0]->location;
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FILE && item->file->number == location->file)
      return item->file->name;
  return "";
}

#define LOCATED(name, file)                                                                        \
  ".visible .func " name "()\n{\n.loc 1 5 3, function_name $L0, inlined_at " file " 6 "            \
  "0\nret;\n}\n"

static void test_source_files(void **state) {
  (void)state;
  static const char *const texts = ".section .debug_str\n{\n$L0:\n.b8 97,0\n}\n";
  char first[400], second[400];
  snprintf(first, sizeof first, "%s.file 1 \"a.cu\"\n.file 2 \"both.h\"\n%s", LOCATED("f", "2"),
           texts);
  snprintf(second, sizeof second, "%s.file 1 \"b.cu\"\n.file 2 \"both.h\"\n%s", LOCATED("g", "2"),
           texts);
  bf_ptx_module *linked = LINK(first, second);
  assert_string_equal(source_of(linked, "f"), "a.cu");
  assert_string_equal(source_of(linked, "g"), "b.cu");
  const bf_ptx_location *f = bf_ptx_find(linked, "f")->instruction[0]->location;
  const bf_ptx_location *g = bf_ptx_find(linked, "g")->instruction[0]->location;
  assert_int_equal(f->inlined_file, g->inlined_file);
  assert_string_equal(f->function_name, "$L0$part1");
  assert_string_equal(g->function_name, "$L0$part2");
  bf_ptx_free(linked);
}

/* ---- Dynamic shared memory ---- */

static void test_dynamic_shared(void **state) {
  (void)state;
  bf_ptx_module *linked = LINK(".extern .shared .align 4 .b8 s[];\n" KERNEL("mov.u64 %rd1, s;\n"),
                               ".extern .shared .align 16 .b8 s[];\n");
  unsigned found = 0;
  for (const bf_ptx_item *item = linked->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_VARIABLE) {
      found++;
      assert_int_equal(item->variable->alignment_bytes, 16);
    }
  assert_int_equal(found, 1);
  bf_ptx_free(linked);
}

/* ---- What does not fit ---- */

static void test_faults(void **state) {
  (void)state;
  static const struct {
    const char *part[MOST_PARTS];
    const char *said; /* FILE:LINE: MESSAGE */
  } row[] = {
      {{".visible .global .u32 x = 1;\n", "\n.visible .global .u32 x = 2;\n"},
       "part2:5: 'x' is defined a second time; first at part1:4"},
      {{GIVES(".visible", "f", "1"), GIVES(".visible", "f", "2")},
       "part2:4: 'f' is defined a second time; first at part1:4"},
      {{".extern .global .u32 x;\n", ".visible .global .u32 y;\n"},
       "part1:4: variable 'x' is declared here and defined nowhere"},
      {{".visible .global .u32 y;\n", WANTS("f")},
       "part2:4: function 'f' is declared here and defined nowhere"},
      {{".extern .global .u32 x[4];\n", ".visible .global .u32 x[8];\n"},
       "part2:4: 'x' has another size than at part1:4"},
      {{".extern .const .u32 x;\n", ".visible .global .u32 x;\n"},
       "part2:4: 'x' is in another memory than at part1:4"},
      {{WANTS("f"), ".visible .func (.param .b32 result) f()\n{\nret;\n}\n"},
       "part2:4: 'f' returns something else than at part1:4"},
      {{".extern .func f(.param .b32 a);\n", ".visible .func f(.param .b64 a)\n{\nret;\n}\n"},
       "part2:4: 'f' has other parameters than at part1:4"},
      {{".weak .entry f(.param .b32 a)\n{\nret;\n}\n", ".weak .entry f()\n{\nret;\n}\n"},
       "part2:4: 'f' has other parameters than at part1:4"},
      {{".extern .func f();\n", ".visible .entry f()\n{\nret;\n}\n"},
       "part2:4: 'f' is something else than at part1:4"},
      {{".extern .func x();\n", ".visible .global .u32 x;\n"},
       "part2:4: 'x' is something else than at part1:4"},
      {{".func f();\n.visible .func f()\n{\nret;\n}\n"},
       "part1:4: 'f' is private here, and not where line 5 declares it"},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    bf_ptx_module *linked;
    bf_diagnostic diagnostic = {0};
    char said[800];
    assert_int_equal(link_texts(row[i].part, &linked, &diagnostic), BF_BAD_INPUT);
    assert_null(linked);
    snprintf(said, sizeof said, "%s:%llu: %s", diagnostic.file, (unsigned long long)diagnostic.line,
             diagnostic.message);
    assert_string_equal(said, row[i].said);
  }
}

/* What the device's library has need not be defined. */
static void test_provided(void **state) {
  (void)state;
  bf_ptx_free(LINK(".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_functions_of_other_parts),
      cmocka_unit_test(test_weak_functions),
      cmocka_unit_test(test_weak_and_common_variables),
      cmocka_unit_test(test_constants),
      cmocka_unit_test(test_private_names),
      cmocka_unit_test(test_private_and_shared),
      cmocka_unit_test(test_hidden_names),
      cmocka_unit_test(test_addresses_across_parts),
      cmocka_unit_test(test_source_files),
      cmocka_unit_test(test_dynamic_shared),
      cmocka_unit_test(test_faults),
      cmocka_unit_test(test_provided),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
