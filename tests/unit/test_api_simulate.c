/* Simulation, pictures and patterns, and parameters of kernels through the public header. */
#include "api.h"

enum { SIDE = 32 };

/* Writes rows of a tile and reads its columns; a block of 32 x 32 threads. */
static const char transpose[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"transpose.cu\"\n"
    ".visible .entry transpose(.param .u64 in, .param .u64 out)\n{\n"
    ".reg .b32 %r<10>;\n.reg .b64 %d<10>;\n.shared .align 4 .b8 tile[4096];\n"
    "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, tile;\n"
    "mad.lo.u32 %r4, %r2, 32, %r1;\nmul.wide.u32 %d1, %r4, 4;\nld.param.u64 %d2, [in];\n"
    "add.u64 %d3, %d2, %d1;\nld.global.b32 %r5, [%d3];\nshl.b32 %r6, %r4, 2;\n"
    "add.u32 %r7, %r3, %r6;\n.loc 1 5 3\nst.shared.b32 [%r7], %r5;\nbar.sync 0;\n"
    "mad.lo.u32 %r4, %r1, 32, %r2;\nshl.b32 %r6, %r4, 2;\nadd.u32 %r8, %r3, %r6;\n"
    ".loc 1 7 3\nld.shared.b32 %r9, [%r8];\nld.param.u64 %d4, [out];\nadd.u64 %d5, %d4, %d1;\n"
    "st.global.b32 [%d5], %r9;\nret;\n}\n"
    ".visible .entry given(.param .u16 a, .param .f64 b, .param .align 16 .b8 c[24], .param .u8 "
    "d)\n"
    "{\nret;\n}\n"
    ".visible .entry forever()\n{\nAGAIN:\nbra.uni AGAIN;\n}\n";

static bf_module *module;

static int set_up(void **state) {
  (void)state;
  module = parse_bytes(transpose, sizeof transpose - 1, "transpose.ptx");
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bf_module_free(module);
  return 0;
}

/* ---- Parameters ---- */

static void expect_parameter(size_t index, const char *name, const char *type, uint64_t offset,
                             uint64_t bytes, bool is_array) {
  const bf_parameter_info *parameter = bf_module_parameter(module, "given", index);
  assert_non_null(parameter);
  assert_string_equal(parameter->name, name);
  assert_string_equal(parameter->type, type);
  assert_int_equal(parameter->offset_bytes, offset);
  assert_int_equal(parameter->bytes, bytes);
  assert_int_equal(parameter->is_array, is_array);
}

static void test_parameters(void **state) {
  (void)state;
  expect_parameter(0, "a", "u16", 0, 2, false);
  expect_parameter(1, "b", "f64", 8, 8, false);
  expect_parameter(2, "c", "b8", 16, 24, true);
  expect_parameter(3, "d", "u8", 40, 1, false);
  assert_null(bf_module_parameter(module, "given", 4));
  assert_null(bf_module_parameter(module, "nobody", 0));
}

/* ---- Simulation ---- */

static uint32_t in[SIDE][SIDE], out[SIDE][SIDE];

static int simulate(const char *kernel, const bf_hash *hash, const bf_simulate_options *options,
                    bf_simulation **simulation, bf_diagnostic *why) {
  bf_argument arguments[] = {bf_argument_buffer(in, NULL, sizeof in),
                             bf_argument_buffer(NULL, out, sizeof out)};
  bf_launch launch;
  bf_default_launch(&launch);
  launch.block[0] = launch.block[1] = SIDE;
  if (strcmp(kernel, "transpose") == 0) {
    launch.argument = arguments;
    launch.arguments = 2;
  }
  launch.hash = hash;
  return bf_simulate_launch(module, kernel, &launch, options, simulation, why);
}

/* Cycles of a launch with so many conflicts; what it computes is right. */
static uint64_t expect_conflicts(const bf_hash *hash, uint64_t conflicts) {
  bf_simulation *simulation;
  bf_diagnostic why;
  memset(out, 0, sizeof out);
  if (simulate("transpose", hash, NULL, &simulation, &why) != BF_OK)
    fail_msg("%s", why.message);
  const bf_simulation_totals *totals = bf_simulation_get_totals(simulation);
  const bf_simulation_line *line = bf_simulation_get_line(simulation, 0);
  uint64_t stalled = 0, cycles = totals->cycles;
  const bf_simulation_stall *stall;
  for (size_t i = 0; (stall = bf_simulation_get_stall(simulation, i)); i++)
    stalled += stall->turns;
  assert_int_equal(totals->shared_conflicts, conflicts);
  assert_int_equal(totals->shared_wavefronts, conflicts + 64);
  assert_int_equal(stalled + totals->instructions, totals->turns);
  assert_int_equal(totals->blocks, 1);
  if (conflicts) {
    assert_string_equal(line->file, "transpose.cu");
    assert_int_equal(line->line, 7);
    assert_int_equal(line->conflicts, conflicts);
  }
  assert_non_null(bf_simulation_get_line(simulation, 1));
  assert_null(bf_simulation_get_line(simulation, 2));
  bf_simulation_free(simulation);
  for (unsigned y = 0; y < SIDE; y++)
    for (unsigned x = 0; x < SIDE; x++)
      assert_int_equal(out[y][x], in[x][y]);
  return cycles;
}

static void test_simulation(void **state) {
  (void)state;
  for (unsigned i = 0; i < SIDE * SIDE; i++)
    in[i / SIDE][i % SIDE] = i;
  bf_machine *machine = load_machine("hopper");
  bf_hash *hash = parse_hash("xor:0,5,31", machine);
  assert_true(expect_conflicts(NULL, 992) > expect_conflicts(hash, 0));
  bf_hash_free(hash);
  bf_machine_free(machine);
}

/* A launch with these options fails and says a part of text. */
static void refuse(const char *kernel, const char *gpu, const char *set, uint64_t most_cycles,
                   const char *text) {
  bf_simulation *simulation;
  bf_simulate_options options;
  bf_diagnostic why;
  bf_simulate_default_options(&options);
  options.gpu = gpu;
  options.set = set;
  options.most_cycles = most_cycles;
  assert_int_equal(simulate(kernel, NULL, &options, &simulation, &why), BF_BAD_INPUT);
  assert_null(simulation);
  if (!strstr(why.message, text))
    fail_msg("'%s' instead of '%s'", why.message, text);
}

static void test_refusals(void **state) {
  (void)state;
  char long_name[300];
  memset(long_name, 'x', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = 0;
  refuse("transpose", "h3000", NULL, 0, "h3000");
  refuse("transpose", NULL, "sms=1 wheels=4", 0, "wheels");
  refuse("transpose", NULL, "sms", 0, "sms");
  refuse("transpose", NULL, long_name, 0, "a parameter of a GPU has over");
  refuse("nobody", NULL, NULL, 0, "no kernel 'nobody'");
  refuse("forever", NULL, " sms=1\n", 1000, "is not done after 1000 cycles");
}

static void test_gpus(void **state) {
  (void)state;
  unsigned count = 0, found = 0;
  for (const char *name; (name = bf_gpu_builtin(count)); count++)
    found += strcmp(name, "h200") == 0;
  assert_int_equal(found, 1);
  assert_null(bf_gpu_builtin(count + 7));
}

/* ---- Patterns and pictures ---- */

static bf_access stride(uint32_t words) {
  bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = 0xffffffff, .count = 1};
  for (unsigned lane = 0; lane < 32; lane++)
    access.address[lane] = 4 * words * lane;
  return access;
}

static void test_patterns(void **state) {
  (void)state;
  bf_machine *machine = load_machine("hopper");
  bf_access access = stride(32), wrong = {.op = BF_OP_LD, .width_bytes = 3, .mask = 1, .count = 1};
  bf_classification found;
  bf_classify_options options;
  bf_classify_default_options(&options);
  assert_int_equal(bf_access_get_class(machine, &access, NULL, &found, NULL), BF_OK);
  assert_string_equal(found.pattern, "stride");
  assert_int_equal(found.stride_x, 32);
  assert_string_equal(found.explanation,
                      "stride 32: lane i accesses element 32*i; 32 is a multiple of 2^5");
  options.columns = 32;
  assert_int_equal(bf_access_get_class(machine, &access, &options, &found, NULL), BF_OK);
  assert_int_equal(found.matrix[0][1], 1); /* a lane further is a row further */
  options.block_x = 64;
  assert_int_equal(bf_access_get_class(machine, &access, &options, &found, NULL), BF_BAD_INPUT);
  options.block_x = 0;
  options.columns = UINT64_MAX;
  assert_int_equal(bf_access_get_class(machine, &access, &options, &found, NULL), BF_BAD_INPUT);
  assert_int_equal(bf_access_get_class(machine, &wrong, NULL, &found, NULL), BF_BAD_INPUT);
  assert_null(found.pattern);
  bf_machine_free(machine);
}

/* The drawing of a form has a text in it. */
static void expect_drawing(bf_drawing_form form, const char *expected) {
  bf_machine *machine = load_machine("hopper");
  bf_hash *hash = parse_hash("xor:0,5,31", machine);
  bf_access access = stride(32);
  bf_drawing_options options;
  char *text;
  bf_drawing_default_options(&options);
  options.form = form;
  assert_int_equal(bf_access_draw(machine, hash, &access, &options, &text, NULL), BF_OK);
  if (!strstr(text, expected))
    fail_msg("no '%s' in %s", expected, text);
  bf_free(text);
  bf_hash_free(hash);
  bf_machine_free(machine);
}

static void test_drawings(void **state) {
  (void)state;
  expect_drawing(BF_DRAWING_TEXT, "hash none: 32 wavefronts, ideal 1, conflicts 31");
  expect_drawing(BF_DRAWING_TEXT, "hash xor:0,5,31: 1 wavefront, ideal 1, conflicts 0");
  expect_drawing(BF_DRAWING_SVG, "</svg>");
  expect_drawing(BF_DRAWING_JSON, "\"conflicts\": 31");
  bf_machine *machine = load_machine("hopper"), *other = load_machine("tesla");
  bf_hash *hash = parse_hash("fixed", other);
  bf_access access = stride(1);
  bf_drawing_options options;
  char *text;
  bf_drawing_default_options(&options);
  options.form = (bf_drawing_form)7;
  assert_int_equal(bf_access_draw(machine, NULL, &access, &options, &text, NULL), BF_BAD_INPUT);
  assert_int_not_equal(bf_access_draw(machine, hash, &access, NULL, &text, NULL), BF_OK);
  assert_null(text);
  bf_hash_free(hash);
  bf_machine_free(machine);
  bf_machine_free(other);
}

/* ---- Threads ---- */

static void test_too_many_threads(void **state) {
  (void)state;
  static const char trace[] = "ld 4 ffffffff stride:32";
  bf_machine *machine = load_machine("hopper");
  bf_workload *workload;
  bf_solve_options options;
  bf_solution solution;
  bf_ladder *ladder;
  bf_solve_default_options(&options);
  options.threads = UINT32_MAX;
  assert_int_equal(bf_workload_parse(trace, sizeof trace - 1, machine, NULL, &workload, NULL),
                   BF_OK);
  assert_int_equal(bf_solve(machine, workload, &options, &solution, NULL), BF_BAD_INPUT);
  assert_int_equal(bf_ladder_create(machine, workload, &options, &ladder, NULL), BF_BAD_INPUT);
  assert_null(ladder);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

/* ---- Predicted hashes ---- */

static void test_predicted(void **state) {
  (void)state;
  bf_rewriting *rewriting;
  bf_rewrite_module_options options;
  bf_rewrite_module_default_options(&options);
  options.predict = true;
  options.block[0] = options.block[1] = SIDE;
  assert_int_equal(bf_rewrite_module(module, &options, &rewriting, NULL), BF_OK);
  const bf_rewritten_kernel *kernel = bf_rewriting_get(rewriting, 0);
  assert_true(kernel->is_rewritten);
  assert_true(kernel->share_left > 0 && kernel->share_left < 1);
  kernel = bf_rewriting_get(rewriting, 1);
  assert_false(kernel->is_rewritten);
  assert_non_null(kernel->reason);
  bf_rewriting_free(rewriting);
  options.hash = "fixed";
  assert_int_equal(bf_rewrite_module(module, &options, &rewriting, NULL), BF_BAD_INPUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parameters), cmocka_unit_test(test_simulation),
      cmocka_unit_test(test_refusals),   cmocka_unit_test(test_gpus),
      cmocka_unit_test(test_patterns),   cmocka_unit_test(test_drawings),
      cmocka_unit_test(test_predicted),  cmocka_unit_test(test_too_many_threads),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
