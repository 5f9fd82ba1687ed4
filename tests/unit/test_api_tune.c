/* Tuning through the public header: what room tune finds by itself, buffers, and what is refused.
 */
#include "tune/tune.h"
#include "unit/api.h"

/* The launches of tests/golden/rewrite.launch. */
enum { LAUNCHES = 5 };
typedef struct golden {
  bf_argument argument[LAUNCHES];
  bf_launch launch[LAUNCHES];
  bf_tune_launch list[LAUNCHES];
  uint32_t out[LAUNCHES][1024];
} golden;

static bf_module *module;
static golden all;

static bf_launch launch_of(const bf_argument *arguments, size_t count, uint32_t threads) {
  bf_launch launch;
  bf_default_launch(&launch);
  launch.block[0] = threads;
  launch.argument = arguments;
  launch.arguments = count;
  return launch;
}

static int set_up(void **state) {
  (void)state;
  static const char *const names[] = {"tile", "row_sums", "straight", "elsewhere", "dynamic"};
  module = parse_file("tests/golden/rewrite.ptx");
  for (unsigned i = 0; i < LAUNCHES; i++) {
    all.argument[i] = bf_argument_buffer(NULL, all.out[i], i < 4 ? 4096 : 128);
    all.launch[i] = launch_of(&all.argument[i], 1, i < 3 ? 1024 : 32);
    all.launch[i].grid[0] = i < 3 ? 4 : 1;
    all.list[i] = (bf_tune_launch){names[i], &all.launch[i]};
  }
  all.launch[4].dynamic_shared_bytes = 3972;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bf_module_free(module);
  return 0;
}

static bf_tune_module_options defaults(void) {
  bf_tune_module_options options;
  bf_tune_module_default_options(&options);
  return options;
}

static bf_tuning *tune(const bf_module *from, const bf_tune_launch *launch, size_t launches,
                       const bf_tune_module_options *options) {
  bf_tuning *tuning;
  bf_diagnostic diagnostic;
  if (bf_tune_module(from, launch, launches, options, &tuning, &diagnostic) != BF_OK)
    fail_msg("%s:%u: %s", diagnostic.file, (unsigned)diagnostic.line, diagnostic.message);
  return tuning;
}

/* ---- Beside room tune ---- */

/* The same launches from their description, by the room itself. */
typedef struct direct {
  bf_ptx_module *ptx;
  bf_machine *machine;
  bf_plans plans;
  bf_tune_options options;
  bf_tune tune;
  bf_rewrite_result result;
} direct;

static void tune_directly(const bf_sim_gpu *gpu, direct *d) {
  bf_diagnostic why;
  size_t size;
  char *text = read_bytes("tests/golden/rewrite.ptx", &size);
  d->machine = load_machine("hopper");
  assert_int_equal(bf_ptx_parse("rewrite.ptx", text, size, &d->ptx, &why), BF_OK);
  assert_int_equal(bf_plans_make(d->ptx, "rewrite.ptx", NULL, &d->plans, &why), BF_OK);
  d->plans.padding_has_room = true;
  d->options = (bf_tune_options){.file = "rewrite.ptx",
                                 .description = "tests/golden/rewrite.launch",
                                 .machine = d->machine,
                                 .gpu = gpu,
                                 .workers = 1,
                                 .keeps_accesses = true,
                                 .keeps_memory = true};
  bf_plans_search search = {.machine = d->machine, .time_limit_seconds = 10};
  assert_int_equal(bf_tune_begin(&d->options, &d->plans, &d->tune, &why), BF_OK);
  assert_int_equal(bf_tune_choose(&d->tune, &search, &why), BF_OK);
  assert_int_equal(bf_plans_rewrite(&d->plans, false, &d->result, &why), BF_OK);
  assert_int_equal(bf_tune_check(&d->tune, &d->result, &why), BF_OK);
  free(text);
}

static void free_direct(direct *d) {
  bf_tune_free(&d->tune);
  bf_rewrite_free(&d->result);
  bf_plans_free(&d->plans);
  bf_ptx_free(d->ptx);
  bf_machine_free(d->machine);
}

static void expect_same(const bf_tuning *tuning, const direct *d, bool is_simulated) {
  assert_string_equal(bf_rewriting_text(bf_tuning_rewriting(tuning)), d->result.text.data);
  for (unsigned i = 0; i < d->plans.count; i++) {
    const bf_tuned_kernel *kernel = bf_tuning_get(tuning, i);
    const bf_comparison *c = &d->plans.plan[i].comparison;
    assert_string_equal(kernel->name, d->plans.plan[i].name);
    assert_int_equal(kernel->hash != NULL, d->result.kernel[i].is_rewritten);
    assert_int_equal(kernel->reason != NULL, !d->result.kernel[i].is_rewritten);
    if (!kernel->hash)
      continue;
    assert_string_equal(kernel->hash, d->result.kernel[i].hash);
    assert_int_equal(kernel->before.wavefronts, c->before.wavefronts);
    assert_int_equal(kernel->before.warp_instructions, c->before.instructions);
    assert_int_equal(kernel->before.cycles, c->before.cycles);
    assert_int_equal(kernel->after.wavefronts, c->after.wavefronts);
    assert_int_equal(kernel->after.warp_instructions, c->after.instructions);
    assert_int_equal(kernel->after.cycles, c->after.cycles);
    assert_int_equal(kernel->before.cycles > 0, is_simulated);
  }
  assert_null(bf_tuning_get(tuning, d->plans.count));
}

static void counts_decide(void **state) {
  (void)state;
  direct d = {0};
  tune_directly(NULL, &d);
  bf_tuning *tuning = tune(module, all.list, LAUNCHES, NULL);
  expect_same(tuning, &d, false);
  const bf_tuned_kernel *tile = bf_tuning_get(tuning, 0), *straight = bf_tuning_get(tuning, 2);
  assert_int_equal(tile->launches, 1);
  assert_int_equal(tile->before.wavefronts, 4224);
  assert_int_equal(tile->after.wavefronts, 256);
  assert_string_equal(straight->reason, "there are no conflicts to remove");
  assert_int_equal(straight->before.wavefronts, straight->after.wavefronts);
  assert_string_equal(bf_tuning_get(tuning, 3)->reason, "it is not launched");
  assert_int_equal(bf_tuning_get(tuning, 3)->launches, 0);
  for (unsigned i = 0; i < 1024; i++) /* the caller's memory is as it was */
    assert_int_equal(all.out[0][i], 0);
  bf_tuning_free(tuning);
  free_direct(&d);
}

static void simulated_time_decides(void **state) {
  (void)state;
  direct d = {0};
  bf_sim_gpu *gpu;
  bf_tune_module_options options = defaults();
  options.gpu = "h200";
  assert_int_equal(bf_sim_gpu_load(options.gpu, &gpu, NULL), BF_OK);
  assert_int_equal(bf_sim_gpu_set(gpu, "launch_cycles=0", NULL), BF_OK);
  tune_directly(gpu, &d);
  bf_tuning *tuning = tune(module, all.list, LAUNCHES, &options);
  expect_same(tuning, &d, true);
  assert_true(bf_tuning_get(tuning, 2)->before.cycles > 0);
  bf_tuning_free(tuning);
  free_direct(&d);
  bf_sim_gpu_free(gpu);
}

static void one_kernel_is_asked_for(void **state) {
  (void)state;
  bf_tune_module_options options = defaults();
  options.kernel = "row_sums";
  options.launch_threads = 2;
  bf_tuning *tuning = tune(module, all.list, LAUNCHES, &options);
  assert_string_equal(bf_tuning_get(tuning, 0)->reason, "not asked for");
  assert_non_null(bf_tuning_get(tuning, 1)->hash);
  const char *text = bf_rewriting_text(bf_tuning_rewriting(tuning));
  bf_module *once = parse_bytes(text, strlen(text), "once.ptx");
  bf_tuning *twice = tune(once, all.list, LAUNCHES, NULL);
  assert_true(bf_rewriting_is_repeated(bf_tuning_rewriting(twice)));
  assert_false(bf_rewriting_is_changed(bf_tuning_rewriting(twice)));
  assert_non_null(strstr(bf_tuning_get(twice, 1)->reason, "it was rewritten before"));
  bf_tuning_free(twice);
  bf_module_free(once);
  bf_tuning_free(tuning);
}

/* Nothing is launched, and nothing found. */
static void no_launch_is_no_hash(void **state) {
  (void)state;
  bf_tuning *tuning = tune(module, NULL, 0, NULL);
  assert_false(bf_rewriting_is_changed(bf_tuning_rewriting(tuning)));
  assert_string_equal(bf_tuning_get(tuning, 0)->reason, "it is not launched");
  bf_tuning_free(tuning);
  bf_tuning_free(NULL);
}

/* ---- Buffers ---- */

/* step reads columns of a tile and adds 1 to its number in counts, which traps where it is not
 * `from`; tells reads columns as well, and hands out where another array lies; forever never ends.
 */
static const char kernels[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry step(.param .u64 counts, .param .u32 from)\n{\n.reg .b32 %r<12>;\n"
    ".reg .b64 %d<6>;\n.reg .pred %p<3>;\n.shared .align 4 .b8 tile[4096];\n"
    "ld.param.u64 %d1, [counts];\ncvta.to.global.u64 %d1, %d1;\nld.param.u32 %r9, [from];\n"
    "mov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.u64 %d1, %d1, %d2;\n"
    "ld.global.u32 %r2, [%d1];\nsetp.ne.u32 %p1, %r2, %r9;\n@%p1 trap;\n"
    "shl.b32 %r3, %r1, 7;\nmov.u32 %r4, tile;\nadd.u32 %r3, %r3, %r4;\n"
    "st.shared.u32 [%r3], %r2;\nbar.sync 0;\nld.shared.u32 %r5, [%r3];\nadd.u32 %r5, %r5, 1;\n"
    "st.global.u32 [%d1], %r5;\nret;\n}\n"
    ".visible .entry tells(.param .u64 out)\n{\n.reg .b32 %r<12>;\n.reg .b64 %d<6>;\n"
    ".shared .align 4 .b8 tile[4100];\n.shared .align 4 .b8 other[128];\n"
    "ld.param.u64 %d1, [out];\ncvta.to.global.u64 %d1, %d1;\nmov.u32 %r1, %tid.x;\n"
    "shl.b32 %r3, %r1, 7;\nmov.u32 %r4, tile;\nadd.u32 %r3, %r3, %r4;\n"
    "st.shared.u32 [%r3], %r1;\nmov.u32 %r5, other;\nshl.b32 %r6, %r1, 2;\nadd.u32 %r6, %r6, %r5;\n"
    "st.shared.u32 [%r6], %r1;\nst.global.u32 [%d1], %r5;\nret;\n}\n"
    ".visible .entry forever()\n{\nAGAIN:\nbra.uni AGAIN;\n}\n";

/* Launches find what those before left, and every run starts from what the caller has. */
static void buffers_last_for_a_run(void **state) {
  (void)state;
  uint32_t counts[32], from[2] = {7, 8};
  bf_module *steps = parse_bytes(kernels, sizeof kernels - 1, "steps.ptx");
  for (unsigned i = 0; i < 32; i++)
    counts[i] = 7;
  bf_argument arguments[2][2];
  bf_launch launches[2];
  bf_tune_launch list[2];
  for (unsigned i = 0; i < 2; i++) {
    arguments[i][0] = bf_argument_buffer(counts, counts, sizeof counts);
    arguments[i][1] = bf_argument_value(&from[i], sizeof from[i]);
    launches[i] = launch_of(arguments[i], 2, 32);
    list[i] = (bf_tune_launch){"step", &launches[i]};
  }
  bf_tuning *tuning = tune(steps, list, 2, NULL);
  const bf_tuned_kernel *step = bf_tuning_get(tuning, 0);
  assert_int_equal(step->launches, 2);
  assert_int_equal(step->before.wavefronts, 2 * 64);
  assert_int_equal(step->after.wavefronts, 2 * 2);
  assert_int_equal(counts[0], 7);
  bf_tuning_free(tuning);

  bf_diagnostic diagnostic;
  from[1] = 9;
  assert_int_equal(bf_tune_module(steps, list, 2, NULL, &tuning, &diagnostic), BF_FAULT);
  assert_null(tuning);
  assert_string_equal(diagnostic.file, "steps.ptx");
  assert_true(diagnostic.line > 0);
  assert_non_null(strstr(diagnostic.message, "trap"));
  bf_module_free(steps);
}

/* A kernel that sees where its arrays lie: the result differs, and is not handed out. */
static void differences_are_errors(void **state) {
  (void)state;
  uint32_t out = 5;
  bf_module *steps = parse_bytes(kernels, sizeof kernels - 1, "steps.ptx");
  bf_argument argument = bf_argument_buffer(NULL, &out, sizeof out);
  bf_launch launch = launch_of(&argument, 1, 32);
  bf_tune_launch list = {"tells", &launch};
  bf_tuning *tuning;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_tune_module(steps, &list, 1, NULL, &tuning, &diagnostic), BF_BAD_INPUT);
  assert_null(tuning);
  assert_string_equal(diagnostic.message,
                      "parameter 0 of kernel 'tells' differs at byte 0: 0x00001004 originally, "
                      "0x00001080 rewritten");
  assert_int_equal(out, 5);
  assert_int_equal(bf_tune_module(steps, &list, 1, NULL, &tuning, NULL), BF_BAD_INPUT);
  bf_module_free(steps);
}

/* ---- Proposals ---- */

static bf_workload *make_accesses(unsigned stride_bytes) {
  bf_workload *workload;
  bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = UINT32_MAX, .count = 100};
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  for (unsigned lane = 0; lane < 32; lane++)
    access.address[lane] = stride_bytes * lane;
  assert_int_equal(bf_workload_add(workload, &access), BF_OK);
  return workload;
}

static void proposals_are_those_of_the_room(void **state) {
  (void)state;
  bf_machine *machine = load_machine("hopper"), *amd = load_machine("cdna3");
  bf_workload *column = make_accesses(128), *row = make_accesses(4), *far = make_accesses(1 << 24);
  bf_proposal own;
  bf_hash_proposals *proposals;
  bf_diagnostic why;
  bf_propose_options options = {.machine = machine, .written = column, .time_limit_seconds = 10};
  assert_int_equal(bf_propose(&options, &own, &why), BF_OK);
  assert_int_equal(bf_propose_hashes(NULL, column, NULL, &proposals, &why), BF_OK);
  assert_true(own.candidates > 0);
  for (unsigned i = 0; i < own.candidates; i++) {
    const bf_proposed_hash *hash = bf_hash_proposals_get(proposals, i);
    const bf_comparison *c = &own.candidate[i].predicted;
    assert_string_equal(hash->hash, bf_hash_text(own.candidate[i].hash));
    assert_int_equal(hash->wavefronts_before, 3200);
    assert_int_equal(hash->wavefronts_after, c->after.wavefronts);
    assert_int_equal(hash->added_instructions, c->after.instructions - c->before.instructions);
    assert_int_equal(hash->is_proven, own.candidate[i].is_proven);
    assert_int_equal(hash->is_worth, bf_judge_is_worth(c));
  }
  assert_null(bf_hash_proposals_get(proposals, own.candidates));
  assert_null(bf_hash_proposals_reason(proposals));
  bf_proposal_clear(&own);
  bf_hash_proposals_free(proposals);
  assert_int_equal(bf_propose_hashes(machine, row, NULL, &proposals, NULL), BF_OK);
  assert_null(bf_hash_proposals_get(proposals, 0));
  assert_string_equal(bf_hash_proposals_reason(proposals), "there are no conflicts to remove");
  bf_hash_proposals_free(proposals);
  assert_int_equal(bf_propose_hashes(machine, far, NULL, &proposals, &why), BF_BAD_INPUT);
  assert_null(proposals);
  assert_int_equal(bf_propose_hashes(amd, row, NULL, &proposals, &why), BF_UNSUPPORTED);
  assert_null(proposals);
  bf_hash_proposals_free(NULL);
  bf_workload_free(column);
  bf_workload_free(row);
  bf_workload_free(far);
  bf_machine_free(machine);
  bf_machine_free(amd);
}

/* ---- Refusals ---- */

static bool stop(void *context, uint64_t done, uint64_t blocks) {
  (void)context;
  (void)done;
  (void)blocks;
  return false;
}

static void wrong_launches_are_refused(void **state) {
  (void)state;
  bf_machine *amd = load_machine("cdna3"), *hopper = load_machine("hopper");
  bf_hash *hash = parse_hash("fixed", hopper);
  bf_launch few = all.launch[0], unfilled = {0}, hashed = few, large = few;
  few.arguments = 0;
  hashed.hash = hash;
  large.block[0] = 2000;
  bf_tune_module_options fine = defaults(), wide = fine, crowded = fine, unknown = fine,
                         other = fine, empty = {0};
  wide.machine = amd;
  crowded.launch_threads = 2000;
  unknown.gpu = "voodoo";
  other.kernel = "two";
  const struct {
    bf_tune_launch launch;
    const bf_tune_module_options *options;
    int error;
    const char *message;
  } rows[] = {
      {{"two", &all.launch[0]}, NULL, BF_BAD_INPUT, "no kernel 'two'; there are tile"},
      {{"tile", NULL}, NULL, BF_BAD_INPUT, "0 arguments for kernel 'tile' with 1"},
      {{"tile", &few}, NULL, BF_BAD_INPUT, "0 arguments for kernel 'tile' with 1"},
      {{"tile", &unfilled}, NULL, BF_BAD_INPUT, "bf_launch: struct_bytes is 0"},
      {{"tile", &hashed}, NULL, BF_UNSUPPORTED, "'tile' has a hash of the banks"},
      {{"tile", &large}, NULL, BF_BAD_INPUT, "a block has at most 1024 threads"},
      {all.list[0], &wide, BF_UNSUPPORTED, "machine 'cdna3' has 64"},
      {all.list[0], &crowded, BF_BAD_INPUT, "2000 threads: at most 1024"},
      {all.list[0], &unknown, BF_BAD_INPUT, "voodoo"},
      {all.list[0], &other, BF_BAD_INPUT, "no kernel 'two'"},
      {all.list[0], &empty, BF_BAD_INPUT, "bf_tune_module_options: struct_bytes is 0"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_tuning *tuning;
    bf_diagnostic diagnostic;
    int error = bf_tune_module(module, &rows[i].launch, 1, rows[i].options, &tuning, &diagnostic);
    if (error != rows[i].error || !strstr(diagnostic.message, rows[i].message))
      fail_msg("row %zu: %s: %s", i, bf_error_name(error), diagnostic.message);
    assert_null(tuning);
    assert_int_equal(bf_tune_module(module, &rows[i].launch, 1, rows[i].options, &tuning, NULL),
                     error);
  }
  bf_hash_free(hash);
  bf_machine_free(amd);
  bf_machine_free(hopper);
}

static void tuning_can_be_stopped(void **state) {
  (void)state;
  bf_module *endless = parse_bytes(kernels, sizeof kernels - 1, "steps.ptx");
  bf_tuning *tuning;
  bf_launch launch = launch_of(NULL, 0, 1);
  bf_tune_launch list = {"forever", &launch};
  launch.progress = stop;
  assert_int_equal(bf_tune_module(endless, &list, 1, NULL, &tuning, NULL), BF_STOPPED);
  assert_null(tuning);
  bf_module_free(endless);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_decide),
      cmocka_unit_test(simulated_time_decides),
      cmocka_unit_test(one_kernel_is_asked_for),
      cmocka_unit_test(no_launch_is_no_hash),
      cmocka_unit_test(buffers_last_for_a_run),
      cmocka_unit_test(differences_are_errors),
      cmocka_unit_test(proposals_are_those_of_the_room),
      cmocka_unit_test(wrong_launches_are_refused),
      cmocka_unit_test(tuning_can_be_stopped),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
