/* Random loops in PTX: what the emulator stores is what the graph stores that was taken out of
 * them. */
#include "emu.h"
#include "random.h"
#include "rgpu/extract.h"
#include "rgpu_interpreter.h"

#include <math.h>

enum { LOOPS = 300, ITERATIONS = 9, INTEGERS = 6, FLOATS = 5, PREDICATES = 3, STORES = 4 };
enum { INPUT = 8192, OUTPUT = 12288, INPUT_BYTES = 1024, ITERATION_BYTES = 64 };

/* A random register: %r1 to %r6, %f1 to %f5, %p1 to %p3. */
static unsigned integer(test_random *r) { return 1 + (unsigned)random_below(r, INTEGERS); }
static unsigned real(test_random *r) { return 1 + (unsigned)random_below(r, FLOATS); }
static unsigned predicate(test_random *r) { return 1 + (unsigned)random_below(r, PREDICATES); }

static const char *pick(test_random *r, const char *const *words, unsigned count) {
  return words[random_below(r, count)];
}

#define PICK(r, ...)                                                                               \
  pick(r, (const char *const[]){__VA_ARGS__},                                                      \
       sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* One instruction that computes, perhaps guarded. */
static void add_instruction(test_random *r, bf_text *text) {
  unsigned kind = (unsigned)random_below(r, 12);
  if (random_below(r, 4) == 0 && kind != 9)
    bf_text_addf(text, "@%s%%p%u ", random_below(r, 2) ? "!" : "", predicate(r));
  if (kind < 3)
    bf_text_addf(text, "%s %%r%u, %%r%u, %%r%u;\n",
                 PICK(r, "add.s32", "sub.s32", "mul.lo.s32", "and.b32", "or.b32", "xor.b32",
                      "min.s32", "max.u32", "shl.b32", "shr.s32", "shr.u32"),
                 integer(r), integer(r), integer(r));
  else if (kind == 3)
    bf_text_addf(text, "mad.lo.s32 %%r%u, %%r%u, %d, %%r%u;\n", integer(r), integer(r),
                 (int)random_below(r, 9) - 4, integer(r));
  else if (kind < 6)
    bf_text_addf(text, "%s %%f%u, %%f%u, %%f%u;\n",
                 PICK(r, "add.rn.f32", "sub.f32", "mul.rn.f32", "min.f32", "max.f32"), real(r),
                 real(r), real(r));
  else if (kind == 6)
    bf_text_addf(text, "fma.rn.f32 %%f%u, %%f%u, 0f3F000000, %%f%u;\n", real(r), real(r), real(r));
  else if (kind == 7)
    bf_text_addf(text, "setp.%s %%p%u, %%r%u, %%r%u;\n",
                 PICK(r, "lt.s32", "gt.u32", "eq.s32", "hs.u32"), predicate(r), integer(r),
                 integer(r));
  else if (kind == 8)
    bf_text_addf(text, "setp.%s %%p%u, %%f%u, 0f3F800000;\n", PICK(r, "lt.f32", "ge.f32"),
                 predicate(r), real(r));
  else if (kind == 9)
    bf_text_addf(text, "selp.b32 %%r%u, %%r%u, 17, %%p%u;\n", integer(r), integer(r), predicate(r));
  else if (kind == 10)
    bf_text_addf(text, "%s;\n",
                 PICK(r, "mov.u32 %r1, %r2", "mov.u32 %r2, %r3", "mov.f32 %f1, %f2",
                      "cvt.rn.f32.s32 %f3, %r4", "mov.u32 %r5, 3"));
  else
    bf_text_addf(text, "ld.global.%s%u, [%%d1+%u];\n", PICK(r, "u32 %r", "f32 %f", "s8 %r"),
                 1 + (unsigned)random_below(r, FLOATS), 4 * (unsigned)random_below(r, 16));
}

/* A kernel of one loop; some of its values are stored in every iteration. */
static void write_loop(test_random *r, bf_text *text) {
  bf_text_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(\n"
                     ".param .u64 k_param_0, .param .u64 k_param_1, .param .u32 k_param_2)\n{\n"
                     ".reg .pred %p<8>;\n.reg .b32 %r<9>;\n.reg .f32 %f<8>;\n.reg .b64 %d<4>;\n"
                     "ld.param.u64 %d1, [k_param_0];\nld.param.u64 %d2, [k_param_1];\n"
                     "ld.param.u32 %r7, [k_param_2];\nmov.u32 %r8, 0;\n");
  for (unsigned i = 1; i <= INTEGERS; i++)
    bf_text_addf(text, "mov.u32 %%r%u, %d;\n", i, (int)random_below(r, 100) - 40);
  for (unsigned i = 1; i <= FLOATS; i++)
    bf_text_addf(text, "mov.f32 %%f%u, 0f%08X;\n", i,
                 0x3f800000u + (unsigned)random_below(r, 0x1000000));
  for (unsigned i = 1; i <= PREDICATES; i++)
    bf_text_addf(text, "setp.lt.u32 %%p%u, %%r7, %u;\n", i, i == PREDICATES ? 1 : 1000);
  bf_text_puts(text, "L:\n");
  unsigned count = 4 + (unsigned)random_below(r, 14), moved = (unsigned)random_below(r, count);
  for (unsigned i = 0; i < count; i++) {
    add_instruction(r, text);
    if (i == moved)
      bf_text_puts(text, "add.s64 %d1, %d1, 4;\n");
  }
  for (unsigned i = 0; i < STORES; i++)
    if (i % 2)
      bf_text_addf(text, "st.global.u32 [%%d2+%u], %%r%u;\n", 4 * i, integer(r));
    else
      bf_text_addf(text, "st.global.f32 [%%d2+%u], %%f%u;\n", 4 * i, real(r));
  bf_text_puts(text, "add.s64 %d2, %d2, 64;\nadd.s32 %r8, %r8, 1;\n"
                     "setp.lt.s32 %p7, %r8, %r7;\n@%p7 bra L;\nret;\n}\n");
}

/* What the kernel stores on the emulator. */
static void emulate(const char *ptx, const unsigned char *input, unsigned char *output) {
  bed at;
  bed_open_text(&at, "loop", ptx, strlen(ptx), NULL);
  uint64_t from = bed_alloc(&at, INPUT_BYTES, 0);
  uint64_t to = bed_alloc(&at, ITERATIONS * ITERATION_BYTES, 0);
  memcpy((void *)(uintptr_t)from, input, INPUT_BYTES);
  struct {
    uint64_t from, to;
    uint32_t count;
  } parameters = {from, to, ITERATIONS};
  bf_emu_launch launch = bed_launch(&at, "k", 1, 1, &parameters, 20);
  bed_run_well(&at, &launch);
  memcpy(output, (void *)(uintptr_t)to, ITERATIONS * ITERATION_BYTES);
  bed_close(&at);
}

/* Equal words, or two floats that are no numbers. */
static bool are_equal(const unsigned char *a, const unsigned char *b, bool is_float) {
  float x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return memcmp(a, b, 4) == 0 || (is_float && isnan(x) && isnan(y));
}

static void compare(const char *ptx, const char *graph, const unsigned char *expected,
                    const unsigned char *found) {
  for (unsigned i = 0; i < ITERATIONS; i++)
    for (unsigned k = 0; k < STORES; k++) {
      size_t place = i * ITERATION_BYTES + 4 * k;
      if (!are_equal(expected + place, found + place, k % 2 == 0))
        fail_msg("iteration %u, store %u\n%s\n%s", i, k, ptx, graph);
    }
}

/* Runs the graph with parameters that say what holds before the loop, of those that it has. */
static void run_graph(machine *m, const char *graph) {
  static const char *const all[] = {"param_0=12288", "param_1=16384", "loop_count=9", "p1=1",
                                    "p2=1",          "p1_before=1",   "p2_before=1"};
  const char *override[sizeof all / sizeof *all];
  unsigned count = 0;
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
    char wanted[40];
    snprintf(wanted, sizeof wanted, "parameter %.*s ", (int)strcspn(all[i], "="), all[i]);
    if (strstr(graph, wanted))
      override[count++] = all[i];
  }
  execute(m, graph, count, override);
}

static void graphs_store_what_loops_do(void **state) {
  (void)state;
  test_random random = {11};
  unsigned extracted = 0;
  static machine m;
  for (unsigned turn = 0; turn < LOOPS; turn++) {
    bf_text ptx = {0}, graph = {0};
    bf_ptx_module *module;
    bf_diagnostic diagnostic;
    unsigned char output[ITERATIONS * ITERATION_BYTES];
    write_loop(&random, &ptx);
    if (bf_ptx_parse("loop", ptx.data, ptx.size, &module, &diagnostic) != BF_OK)
      fail_msg("%llu: %s\n%s", (unsigned long long)diagnostic.line, diagnostic.message, ptx.data);
    if (bf_rgpu_extract(module, NULL, 0, &graph, &diagnostic) == BF_OK) {
      memset(&m, 0, sizeof m);
      for (unsigned i = 0; i < INPUT_BYTES; i++)
        m.global[INPUT + i] = (unsigned char)(random_bits(&random) >> 30 & (i % 4 == 3 ? 63 : 255));
      emulate(ptx.data, m.global + INPUT, output);
      run_graph(&m, graph.data);
      compare(ptx.data, graph.data, output, m.global + OUTPUT);
      extracted++;
    }
    bf_ptx_free(module);
    bf_text_free(&ptx);
    bf_text_free(&graph);
  }
  assert_int_equal(extracted, LOOPS);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(graphs_store_what_loops_do)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
