/* Which shared variables an access can address: by hand where the answer is known, and on compiled
 * kernels. */
#include "ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bf_ptx_module *parse(const char *text) {
  bf_ptx_module *module;
  bf_diagnostic diagnostic;
  if (bf_ptx_parse("test", text, strlen(text), &module, &diagnostic) != BF_OK)
    fail_msg("%llu:%u: %s", (unsigned long long)diagnostic.line, diagnostic.column,
             diagnostic.message);
  return module;
}

/* The names behind each shared access of a function: "a b; ?; c" with ? where nothing is proven. */
static void describe(const bf_ptx_module *module, const char *name, char *text, size_t size) {
  const bf_ptx_function *function = bf_ptx_find(module, name);
  bf_ptx_origins *origins;
  bf_diagnostic diagnostic;
  size_t used = 0;
  assert_non_null(function);
  assert_int_equal(bf_ptx_origins_create(module, function, &origins, &diagnostic), BF_OK);
  text[0] = 0;
  for (uint32_t i = 0; i < origins->accesses; i++) {
    uint64_t left = origins->access[i].variables;
    if (i)
      used += (size_t)snprintf(text + used, size - used, "; ");
    if (!left)
      used += (size_t)snprintf(text + used, size - used, "?");
    for (const char *gap = ""; left; left &= left - 1, gap = " ")
      used += (size_t)snprintf(text + used, size - used, "%s%s", gap,
                               origins->variable[__builtin_ctzll(left)]->name);
  }
  bf_ptx_origins_free(origins);
}

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

static void known_answers(void **state) {
  (void)state;
  static const struct {
    const char *name, *text, *expected;
  } cases[] = {
      {"direct",
       ".shared .b8 a[64];\n.entry k() { .reg .b32 %r<2>; ld.shared.u32 %r1, [a+4]; ret; }", "a"},
      {"index from memory",
       ".shared .b8 a[64];\n.shared .b8 b[64];\n"
       ".entry k(.param .u64 p) { .reg .b32 %r<4>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p];\n"
       "ld.global.u32 %r1, [%rd1]; mov.u32 %r2, a; mad.lo.s32 %r3, %r1, 4, %r2;\n"
       "st.shared.u32 [%r3], %r1; mov.u32 %r2, b; ret; }",
       "a b"},
      {"one variable each",
       ".shared .b8 a[64];\n.shared .b8 b[64];\n"
       ".entry k() { .reg .b32 %r<6>; mov.u32 %r1, a; mov.u32 %r2, b; mov.u32 %r3, %tid.x;\n"
       "add.s32 %r4, %r1, %r3; add.s32 %r5, %r2, %r3;\n"
       "st.shared.u32 [%r4], %r3; st.shared.u32 [%r5], %r3; ret; }",
       "a; b"},
      {"either of two",
       ".shared .b8 a[64];\n.shared .b8 b[64];\n"
       ".entry k() { .reg .b32 %r<6>; .reg .pred %p<2>; mov.u32 %r1, a; mov.u32 %r2, b;\n"
       "setp.eq.u32 %p1, %r1, 0; selp.b32 %r4, %r1, %r2, %p1; ld.shared.u32 %r5, [%r4]; ret; }",
       "a b"},
      {"through a loop",
       ".shared .b8 a[64];\n"
       ".entry k() { .reg .b32 %r<6>; .reg .pred %p<2>; mov.u32 %r2, a;\n"
       "L: mov.u32 %r1, %r2; ld.shared.u32 %r3, [%r1]; add.s32 %r2, %r1, 4;\n"
       "setp.lt.u32 %p1, %r3, 9; @%p1 bra L; ret; }",
       "a"},
      {"a stored address comes back",
       ".shared .b8 a[64];\n.shared .b8 b[64];\n"
       ".entry k() { .reg .b32 %r<6>; mov.u32 %r1, a; st.shared.u32 [b], %r1;\n"
       "ld.shared.u32 %r2, [b]; ld.shared.u32 %r3, [%r2]; ret; }",
       "b; b; a"},
      {"a number that is no address",
       ".shared .b8 a[64];\n"
       ".entry k() { .reg .b32 %r<6>; mov.u32 %r1, 16; ld.shared.u32 %r2, [%r1]; ret; }",
       "?"},
      {"the parameter of a function",
       ".shared .b8 a[64];\n"
       ".func k(.param .b32 p) { .reg .b32 %r<6>; ld.param.u32 %r1, [p];\n"
       "ld.shared.u32 %r2, [%r1]; st.shared.u32 [a], %r2; ret; }",
       "?; a"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1024], found[256];
    snprintf(text, sizeof text, HEAD "%s\n", cases[i].text);
    bf_ptx_module *module = parse(text);
    describe(module, "k", found, sizeof found);
    if (strcmp(found, cases[i].expected) != 0)
      fail_msg("%s: %s, not %s", cases[i].name, found, cases[i].expected);
    bf_ptx_free(module);
  }
}

static char *read_all(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = calloc(1, 1 << 20);
  assert_non_null(file);
  assert_non_null(text);
  assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
  fclose(file);
  return text;
}

/* Kernels that use tiles: every access names its one variable. */
static void compiled_tiles(void **state) {
  (void)state;
  char *text = read_all("tests/data/ptx/tile.sm_90.ptx");
  bf_ptx_module *module = parse(text);
  unsigned accesses = 0;
  for (const bf_ptx_item *item = module->first; item; item = item->next) {
    if (item->kind != BF_PTX_ITEM_FUNCTION || !item->function->has_body)
      continue;
    bf_ptx_origins *origins;
    bf_diagnostic diagnostic;
    bf_ptx_summary sum = bf_ptx_summarise(module, item->function);
    assert_int_equal(bf_ptx_origins_create(module, item->function, &origins, &diagnostic), BF_OK);
    assert_int_equal(origins->accesses, sum.shared_accesses);
    for (uint32_t i = 0; i < origins->accesses; i++)
      assert_int_equal(__builtin_popcountll(origins->access[i].variables), 1);
    accesses += origins->accesses;
    bf_ptx_origins_free(origins);
  }
  assert_true(accesses >= 6);
  bf_ptx_free(module);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_answers),
      cmocka_unit_test(compiled_tiles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
