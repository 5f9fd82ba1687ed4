/* Shared accesses that ptxas merges: who leads, from where on, how wide. What ptxas itself does is
 * the subject of tests/check/merge.sh. */
#include "ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD                                                                                       \
  ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 4 .b8 word[4];\n"                 \
  ".shared .align 4 .b8 table[4096];\n.entry k(.param .u64 p) {\n"                                 \
  ".reg .b32 %r<40>; .reg .f32 %f<40>; .reg .b64 %d<4>; .reg .pred %p<4>;\n"                       \
  "ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 4; mov.u32 %r3, table;\n"         \
  "add.s32 %r4, %r3, %r2;\n"
enum { HEAD_INSTRUCTIONS = 5 };
#define KEEP(n) "st.global.f32 [%d1], %f" #n ";\n"
#define TAIL "ret; }\n"

static bf_ptx_module *parse(const char *text) {
  bf_ptx_module *module;
  bf_diagnostic diagnostic;
  if (bf_ptx_parse("test", text, strlen(text), &module, &diagnostic) != BF_OK)
    fail_msg("%llu:%u: %s", (unsigned long long)diagnostic.line, diagnostic.column,
             diagnostic.message);
  return module;
}

/* What becomes of each shared load and store behind HEAD, one word each: "0@-4:16" leads an access
 * of 16 bytes that starts 4 bytes before its own address, "=0" happens at access 0, "-" nowhere. */
static void describe(const char *body, unsigned architecture, char *text, size_t size) {
  bf_ptx_module *module = parse(body);
  const bf_ptx_function *function = bf_ptx_find(module, "k");
  bf_ptx_merges *merges;
  bf_diagnostic diagnostic;
  unsigned number[256] = {0}, accesses = 0;
  size_t used = 0;
  assert_int_equal(bf_ptx_merges_create(module, function, architecture, &merges, &diagnostic),
                   BF_OK);
  assert_int_equal(merges->instructions, function->instructions);
  text[0] = 0;
  for (uint32_t i = HEAD_INSTRUCTIONS; i < merges->instructions; i++) {
    const bf_ptx_merged *merged = &merges->instruction[i];
    const char *gap = accesses ? " " : "";
    if (!merged->width_bytes)
      continue;
    number[i] = accesses++;
    if (merged->dropped)
      used += (size_t)snprintf(text + used, size - used, "%s-", gap);
    else if (merged->leader == i)
      used += (size_t)snprintf(text + used, size - used, "%s%u@%lld:%u", gap, number[i],
                               (long long)merged->offset_bytes, merged->width_bytes);
    else
      used += (size_t)snprintf(text + used, size - used, "%s=%u", gap, number[merged->leader]);
  }
  bf_ptx_merges_free(merges);
  bf_ptx_free(module);
}

typedef struct known {
  const char *name, *text, *expected;
} known;

static const known cases[] = {
    {"four loads, last first",
     HEAD "ld.shared.f32 %f4, [%r4+12]; ld.shared.f32 %f1, [%r4]; ld.shared.f32 %f2, [%r4+4];\n"
          "ld.shared.f32 %f3, [%r4+8];\n" KEEP(1) KEEP(2) KEEP(3) KEEP(4) TAIL,
     "0@-12:16 =0 =0 =0"},
    {"another variable before takes the alignment away",
     HEAD "st.shared.f32 [word], %f0; ld.shared.f32 %f1, [%r4]; ld.shared.f32 %f2, [%r4+4];\n" KEEP(
         1) KEEP(2) TAIL,
     "0@0:4 1@0:4 2@0:4"},
    {"pair and single",
     HEAD "ld.shared.f32 %f1, [%r4+4]; ld.shared.f32 %f2, [%r4+8]; ld.shared.f32 %f3, "
          "[%r4+16];\n"
          "ld.shared.f32 %f4, [%r4+20];\n" KEEP(1) KEEP(2) KEEP(3) KEEP(4) TAIL,
     "0@0:4 1@0:4 2@0:8 =2"},
    {"a store between",
     HEAD "ld.shared.f32 %f1, [%r4]; st.shared.f32 [%r3], %f0; ld.shared.f32 %f2, [%r4+4];\n" KEEP(
         1) KEEP(2) TAIL,
     "0@0:4 1@0:4 2@0:4"},
    {"repeated", HEAD "ld.shared.f32 %f1, [%r4]; ld.shared.f32 %f2, [%r4];\n" KEEP(1) KEEP(2) TAIL,
     "0@0:4 =0"},
    {"just stored", HEAD "st.shared.f32 [%r4], %f0; ld.shared.f32 %f2, [%r4];\n" KEEP(2) TAIL,
     "0@0:4 -"},
    {"not used", HEAD "ld.shared.f32 %f1, [%r4];\n" TAIL, "-"},
    {"part of a vector", HEAD "ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r4];\n" KEEP(3) TAIL,
     "0@8:4"},
    {"a vector whose alignment is not known",
     HEAD "ld.global.u32 %r5, [%d1]; ld.shared.v2.f32 {%f1, %f2}, [%r5+4];\n" KEEP(1) KEEP(2) TAIL,
     "0@0:8"},
    {"stores of vectors whose alignment is not known",
     HEAD "ld.global.u32 %r5, [%d1]; st.shared.v2.f32 [%r5+4], {%f1, %f2};\n"
          "st.shared.v2.f32 [%r5+12], {%f1, %f2};\n" TAIL,
     "0@0:8 1@0:8"},
    {"three stores",
     HEAD "st.shared.f32 [%r4+4], %f1; st.shared.f32 [%r4+8], %f2; st.shared.f32 [%r4+12], "
          "%f3;\n" TAIL,
     "0@0:4 1@0:8 =1"},
    {"overwritten", HEAD "st.shared.f32 [%r4], %f1; st.shared.f32 [%r4], %f2;\n" TAIL, "- 1@0:4"},
    {"other registers",
     HEAD "add.s32 %r5, %r1, 1; mad.lo.s32 %r6, %r5, 16, %r3; ld.shared.f32 %f1, [%r4+16];\n"
          "ld.shared.f32 %f2, [%r6+4];\n" KEEP(1) KEEP(2) TAIL,
     "0@0:8 =0"},
    {"behind a branch",
     HEAD "setp.eq.u32 %p1, %r1, 0; ld.shared.f32 %f1, [%r4]; mov.f32 %f2, %f1; @%p1 bra L;\n"
          "ld.shared.f32 %f2, [%r4+4]; L:\n" KEEP(1) KEEP(2) TAIL,
     "0@0:8 =0"},
    {"a loop hands alignment on",
     HEAD "mov.u32 %r5, %r4; mov.f32 %f3, 0f00000000;\n"
          "L: ld.shared.f32 %f1, [%r5]; ld.shared.f32 %f2, [%r5+4]; add.f32 %f3, %f1, %f2;\n"
          "add.s32 %r5, %r5, 8; setp.lt.u32 %p1, %r5, %r1; @%p1 bra L;\n" KEEP(3) TAIL,
     "0@0:8 =0"},
    {"a loop takes alignment away",
     HEAD "mov.u32 %r5, %r4; mov.f32 %f3, 0f00000000;\n"
          "L: ld.shared.f32 %f1, [%r5]; ld.shared.f32 %f2, [%r5+4]; add.f32 %f3, %f1, %f2;\n"
          "add.s32 %r5, %r5, 4; setp.lt.u32 %p1, %r5, %r1; @%p1 bra L;\n" KEEP(3) TAIL,
     "0@0:4 1@0:4"},
};

static void known_answers(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    describe(cases[i].text, 90, text, sizeof text);
    if (strcmp(text, cases[i].expected) != 0)
      fail_msg("%s: %s, not %s", cases[i].name, text, cases[i].expected);
  }
}

/* Architecture 0 asks for the PTX as written. */
static void as_written(void **state) {
  char text[512];
  (void)state;
  describe(cases[0].text, 0, text, sizeof text);
  assert_string_equal(text, "0@0:4 1@0:4 2@0:4 3@0:4");
}

/* Before sm_90 the place of a variable is a number like any other. */
static void earlier_architectures(void **state) {
  char text[512];
  (void)state;
  describe(HEAD "st.shared.f32 [word], %f0; ld.shared.f32 %f1, [%r4+4]; ld.shared.f32 %f2, "
                "[%r4+8];\n" KEEP(1) KEEP(2) TAIL,
           80, text, sizeof text);
  assert_string_equal(text, "0@0:4 1@0:8 =1");
}

/* A vector of which two separate elements are used falls apart. */
static void falls_apart(void **state) {
  bf_ptx_module *module =
      parse(HEAD "ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r4];\n" KEEP(2) KEEP(3) TAIL);
  bf_ptx_merges *merges;
  bf_diagnostic diagnostic;
  (void)state;
  assert_int_equal(bf_ptx_merges_create(module, bf_ptx_find(module, "k"), 90, &merges, &diagnostic),
                   BF_OK);
  const bf_ptx_merged *merged = &merges->instruction[HEAD_INSTRUCTIONS];
  assert_int_equal(merged->width_bytes, 4);
  assert_int_equal(merged->offset_bytes, 4);
  assert_int_equal(merged->times, 2);
  bf_ptx_merges_free(merges);
  bf_ptx_free(module);
}

/* Functions without accesses, without instructions, and with dead code. */
static void odd_functions(void **state) {
  static const char *const bodies[] = {"", "ret;", "L: bra L; ld.shared.u32 %r1, [%r2];",
                                       "ld.shared.u32 %r1, [%r1];",
                                       "@%p1 ld.shared.u32 %r1, [%r1+4]; bra L; L:"};
  (void)state;
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    char text[512];
    snprintf(text, sizeof text,
             ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n"
             ".reg .b32 %%r<4>; .reg .pred %%p<2>; %s }\n",
             bodies[i]);
    bf_ptx_module *module = parse(text);
    bf_ptx_merges *merges;
    bf_diagnostic diagnostic;
    assert_int_equal(
        bf_ptx_merges_create(module, bf_ptx_find(module, "k"), 90, &merges, &diagnostic), BF_OK);
    bf_ptx_merges_free(merges);
    bf_ptx_free(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(known_answers), cmocka_unit_test(as_written),
                                     cmocka_unit_test(earlier_architectures),
                                     cmocka_unit_test(falls_apart),
                                     cmocka_unit_test(odd_functions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
