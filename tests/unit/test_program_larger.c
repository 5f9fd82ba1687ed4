/* Hashes of a program that are tried on small launches only (exec --try): what is left alone there
 * is predicted for larger ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tune/program.h"

/* A transpose of tiles, which a hash makes faster where blocks fill the GPU; a sum of neighbours,
 * which has no conflicts. */
static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry turn(.param .u64 out)\n.reqntid 32, 32, 1\n{\n"
    ".reg .b64 %a<3>; .reg .b32 %r<12>; .reg .f32 %f;\n.shared .align 4 .b8 tile[4096];\n"
    "ld.param.u64 %a0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, tile;\n"
    "shl.b32 %r3, %r1, 7; shl.b32 %r4, %r0, 2; add.s32 %r5, %r2, %r3; add.s32 %r5, %r5, %r4;\n"
    "mul.wide.u32 %a1, %r0, 4; add.s64 %a1, %a0, %a1; ld.global.f32 %f, [%a1];\n"
    "st.shared.f32 [%r5], %f; bar.sync 0;\n"
    "shl.b32 %r6, %r0, 7; shl.b32 %r7, %r1, 2; add.s32 %r8, %r2, %r6; add.s32 %r8, %r8, %r7;\n"
    "ld.shared.f32 %f, [%r8]; st.global.f32 [%a1], %f; ret;\n}\n"
    ".visible .entry sum(.param .u64 out)\n.reqntid 32, 1, 1\n{\n"
    ".reg .b64 %a; .reg .b32 %r<4>; .shared .align 4 .b8 row[132];\n"
    "ld.param.u64 %a, [out]; mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2; mov.u32 %r2, row;\n"
    "add.s32 %r2, %r2, %r1; st.shared.u32 [%r2], %r0; bar.sync 0;\n"
    "ld.shared.u32 %r3, [%r2+4]; st.global.u32 [%a], %r3; ret;\n}\n";

/* A kernel of which a bulk copy fills one array, and another is read by columns. */
static const char with_copy[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry copied(.param .u64 out)\n.reqntid 32, 1, 1\n{\n"
    ".reg .b64 %a; .reg .b32 %r<8>; .shared .align 128 .b8 box[128]; .shared .align 8 .b64 bar;\n"
    ".shared .align 4 .b8 tile[4096];\n"
    "ld.param.u64 %a, [out]; mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 7; mov.u32 %r2, tile;\n"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [box], [%a], 128, [bar];\n"
    "add.s32 %r2, %r2, %r1; st.shared.u32 [%r2], %r0; bar.sync 0;\n"
    "ld.shared.u32 %r3, [%r2]; st.global.u32 [%a], %r3; ret;\n}\n";

enum { LANES = 32 };

/* One access of a warp: lane i goes to i * stride. */
static bf_workload *strided(uint32_t stride_bytes, const char *array) {
  bf_workload *made;
  bf_access access = {
      .op = BF_OP_LD, .width_bytes = 4, .mask = UINT32_MAX, .count = 32, .site = array};
  assert_int_equal(bf_workload_create(&made), BF_OK);
  for (unsigned lane = 0; lane < LANES; lane++)
    access.address[lane] = lane * stride_bytes;
  assert_int_equal(bf_workload_add(made, &access), BF_OK);
  return made;
}

static void add_kernel(bf_accesses *accesses, bf_accesses_module *module, const char *name,
                       uint32_t stride_bytes, const char *array) {
  bf_accesses_kernel *kernel = bf_accesses_add_kernel(accesses, module, name);
  assert_non_null(kernel);
  kernel->launches = 1;
  kernel->written = strided(stride_bytes, array);
  kernel->merged = strided(stride_bytes, array);
}

/* Runs end well; with a hash they take that many cycles of 1000. */
static int run(void *context, const bf_text *hashes, bool *is_good, bf_diagnostic *diagnostic) {
  (void)context, (void)hashes, (void)diagnostic;
  *is_good = true;
  return BF_OK;
}

static bool compare(void *context, const char *kernel, bf_comparison *comparison) {
  uint64_t cycles = *(const uint64_t *)context;
  (void)kernel;
  *comparison = (bf_comparison){{.wavefronts = 1056, .cycles = 1000, .work_cycles = 900},
                                {.wavefronts = 64, .cycles = cycles, .work_cycles = 100}};
  return true;
}

/* The file of hashes where launches with a hash take that many cycles of 1000. */
static bf_text tried(uint64_t cycles) {
  bf_accesses accesses = {0};
  bf_program program = {0};
  bf_machine *machine;
  bf_text text = {0};
  bf_diagnostic diagnostic = {.caret = -1};
  bf_accesses_module *module = bf_accesses_add_module(&accesses, ptx);
  assert_non_null(module);
  add_kernel(&accesses, module, "turn", 128, "tile");
  add_kernel(&accesses, module, "sum", 4, "row");
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, &diagnostic), BF_OK);
  bf_plans_search search = {.machine = machine};
  bf_program_runner runner = {.run = run, .compare = compare, .context = &cycles};
  if (bf_program_make(&accesses, &program, &diagnostic) != BF_OK ||
      bf_program_propose(&program, &search, &diagnostic) != BF_OK ||
      bf_program_try(&program, &runner, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  bf_program_write(&program, "title", &text);
  bf_program_free(&program);
  bf_accesses_free(&accesses);
  bf_machine_free(machine);
  return text;
}

/* Left alone in the launch that was tried: no line, and what is expected of larger ones. */
static void larger_launches_are_predicted(void **state) {
  (void)state;
  bf_text text = tried(1000);
  if (!strstr(text.data, "# turn: 1 launch, left alone: ") ||
      !strstr(text.data, "\n# not so in larger launches: ") ||
      !strstr(text.data, " is predicted to take ") ||
      !strstr(text.data, " any size; run --hash auto") || strstr(text.data, "\nturn "))
    fail_msg("%s", text.data);
  if (!strstr(text.data, "\nsum none\n"))
    fail_msg("%s", text.data);
  bf_text_free(&text);
}

/* What wins in it keeps its hash, and nothing is said of others. */
static void winners_keep_their_hash(void **state) {
  (void)state;
  bf_text text = tried(500);
  if (strstr(text.data, "larger launches") || strstr(text.data, "turn none") ||
      !strstr(text.data, "\nturn "))
    fail_msg("%s", text.data);
  bf_text_free(&text);
}

/* Without tries no hash of a kernel fits a tile that a copy fills; what fits other arrays is told.
 */
static void arrays_beside_a_copy_are_named(void **state) {
  (void)state;
  bf_accesses accesses = {0};
  bf_program program = {0};
  bf_machine *machine;
  bf_text text = {0};
  bf_diagnostic diagnostic = {.caret = -1};
  bf_accesses_module *module = bf_accesses_add_module(&accesses, with_copy);
  assert_non_null(module);
  add_kernel(&accesses, module, "copied", 128, "tile");
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, &diagnostic), BF_OK);
  bf_plans_search search = {.machine = machine};
  if (bf_program_make(&accesses, &program, &diagnostic) != BF_OK ||
      bf_program_propose(&program, &search, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  bf_program_write(&program, "title", &text);
  if (!strstr(text.data, "which no hash of the kernel keeps; arrays that they leave alone have "
                         "candidates, which --try tries"))
    fail_msg("%s", text.data);
  bf_text_free(&text);
  bf_program_free(&program);
  bf_accesses_free(&accesses);
  bf_machine_free(machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(larger_launches_are_predicted),
      cmocka_unit_test(winners_keep_their_hash),
      cmocka_unit_test(arrays_beside_a_copy_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
