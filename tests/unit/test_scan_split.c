/* Modules of many kernels: what is found in their parts is what is found in the whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scan/inner.h"

enum { KERNELS = 120 };

/* A module whose kernels access columns of arrays of their own; every so many bytes a comment, and
 * all that could be taken for the end of a kernel. One in `calls` (0: none) calls a function, which
 * accesses what it is given. */
static void write_module(unsigned calls, bf_text *text) {
  bf_text_puts(text, ".version 8.0\n.target sm_90\n.address_size 64\n"
                     ".file 1 \"a { .entry no() { \\\" .cu\"\n"
                     ".visible .entry declared(.param .u64 p);\n"
                     ".global .align 4 .b8 values[4] = {1, 2, 3, 4};\n");
  bf_text_puts(text, ".func turn(.param .b32 at)\n{\n.reg .b32 %r<4>;\nld.param.u32 %r1, [at];\n"
                     "ld.shared.u32 %r2, [%r1];\nret;\n}\n");
  for (unsigned i = 0; i < KERNELS; i++) {
    bf_text_addf(text, ".shared .align 4 .b8 tile%u[4096];\n%s.entry k%u(\n.param .u64 k%u_p\n)\n",
                 i,
                 i % 3 == 0   ? ".visible "
                 : i % 3 == 1 ? ".weak\n"
                              : "",
                 i, i);
    bf_text_puts(text, i % 4 ? "" : ".reqntid 32, 2, 1\n");
    bf_text_puts(text, "{\n// } .entry\n/* } */.reg .b32 %r<9>;\n");
    for (unsigned k = 0; k < 40; k++)
      bf_text_puts(text, "// what follows does nothing but be long, as kernels are\n");
    bf_text_addf(text, "mov.u32 %%r1, %%tid.x;\nshl.b32 %%r2, %%r1, %u;\nmov.u32 %%r3, tile%u;\n",
                 2 + i % 6, i);
    bf_text_puts(text, "add.s32 %r4, %r3, %r2;\nst.shared.u32 [%r4], %r1;\n");
    if (calls && i % calls == 0)
      bf_text_puts(text, "{ .param .b32 a;\nst.param.b32 [a], %r4;\ncall turn, (a);\n}\n");
    bf_text_puts(text, "ret;\n}\n");
  }
  assert_false(text->failed);
}

static void assert_same(const scan_kernels *whole, const scan_kernels *parts) {
  assert_int_equal(whole->count, parts->count);
  for (size_t i = 0; i < whole->count; i++) {
    const bf_scan_kernel *a = &whole->kernel[i], *b = &parts->kernel[i];
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->block, b->block);
    assert_string_equal(a->reason, b->reason);
    assert_int_equal(a->change != NULL, b->change != NULL);
    if (a->change)
      assert_string_equal(a->change, b->change);
    assert_int_equal(a->conflicts, b->conflicts);
    assert_int_equal(a->lines, b->lines);
    for (uint64_t k = 0; k < a->lines; k++)
      assert_int_equal(a->line[k].line, b->line[k].line);
  }
}

/* Looks at a module as a whole and in parts. Returns how many parts it has. */
static unsigned look_both_ways(const bf_text *ptx) {
  bf_diagnostic diagnostic;
  bf_machine *machine;
  bf_source_launches *launches;
  scan_kernels whole = {0};
  scan_module_work module = {.ptx = {0}};
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, &diagnostic), BF_OK);
  assert_int_equal(bf_source_launches_read(NULL, 0, &launches, &diagnostic), BF_OK);
  bf_scan_options options = {.machine = machine};
  if (scan_module("a.ptx", ptx, SIZE_MAX, &options, launches, &whole, &diagnostic) != BF_OK)
    fail_msg("line %llu: %s", (unsigned long long)diagnostic.line, diagnostic.message);
  bf_text_add(&module.ptx, ptx->data, ptx->size);
  assert_true(scan_split_make(&module.ptx, &module.split));
  module.parts = module.split.parts;
  module.part = calloc(module.parts + 1, sizeof *module.part);
  for (unsigned i = module.parts; i-- > 0;)
    assert_true(scan_module_look(&module, i, "a.ptx", &options, launches, &module.part[i]));
  assert_int_equal(scan_module_finish(&module, "a.ptx", &options, launches, &diagnostic), BF_OK);
  assert_same(&whole, &module.found);
  unsigned parts = module.parts;
  scan_module_free(&module);
  scan_kernels_free(&whole);
  bf_source_launches_free(launches);
  bf_machine_free(machine);
  return parts;
}

static void test_same(void **state) {
  (void)state;
  bf_text ptx = {0};
  write_module(0, &ptx);
  assert_in_range(look_both_ways(&ptx), 4, 8);
  bf_text_free(&ptx);
}

/* Kernels that call functions stay together: here one of the last third and the first one do. */
static void test_calls(void **state) {
  (void)state;
  bf_text ptx = {0};
  write_module(80, &ptx);
  scan_split split;
  assert_true(scan_split_make(&ptx, &split));
  assert_int_equal(split.kernels, KERNELS);
  assert_int_equal(split.part[0].first, 0);
  assert_true(split.part[0].end > 80);
  assert_int_equal(split.part[split.parts - 1].end, KERNELS);
  scan_split_free(&split);
  assert_in_range(look_both_ways(&ptx), 2, 3);
  bf_text_free(&ptx);
}

/* A part has the lines of the whole, all that is no kernel, and its own kernels. */
static void test_text(void **state) {
  (void)state;
  bf_text ptx = {0};
  write_module(0, &ptx);
  scan_split split;
  assert_true(scan_split_make(&ptx, &split));
  for (unsigned i = 0; i < split.parts; i++) {
    bf_text part = {0};
    unsigned kernels = 0;
    scan_split_text(&split, i, &part);
    size_t line = 1, other = 1;
    for (const char *at = part.data; (at = strstr(at, "st.shared")); at++)
      kernels++;
    assert_int_equal(kernels, split.part[i].end - split.part[i].first);
    for (size_t k = 0; k < ptx.size; k++)
      line += ptx.data[k] == '\n';
    for (size_t k = 0; k < part.size; k++)
      other += part.data[k] == '\n';
    assert_int_equal(line, other);
    assert_non_null(strstr(part.data, "tile119[4096]"));
    bf_text_free(&part);
  }
  scan_split_free(&split);
  bf_text_free(&ptx);
}

/* What is cut off, or no PTX at all, has no kernels, or others than there seem to be, and is looked
 * at as a whole. */
static void test_broken(void **state) {
  (void)state;
  bf_text ptx = {0};
  write_module(0, &ptx);
  for (size_t size = 0; size <= ptx.size; size += size < 400 ? 1 : 997) {
    bf_text cut = {0};
    scan_split split;
    bf_text_add(&cut, ptx.data, size);
    assert_true(scan_split_make(&cut, &split));
    assert_true(split.parts <= split.kernels);
    for (unsigned i = 0; i < split.parts; i++) {
      bf_text part = {0};
      scan_split_text(&split, i, &part);
      assert_true(part.size <= size);
      bf_text_free(&part);
    }
    scan_split_free(&split);
    bf_text_free(&cut);
  }
  bf_text_free(&ptx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_same), cmocka_unit_test(test_calls),
                                     cmocka_unit_test(test_text), cmocka_unit_test(test_broken)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
