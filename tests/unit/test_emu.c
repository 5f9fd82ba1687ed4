/* The emulator: control flow, barriers, calls, memory and faults, on kernels compiled from
 * tests/data/emu/core.cu and bench/emu.cu. Results are compared with plain C. */
#include "emu.h"

static const char core[] = "tests/data/emu/core.ptx";

/* Runs a kernel that takes a buffer of count ints and a number. */
static int32_t *run_ints(bed *at, const char *name, unsigned grid, unsigned block, unsigned count,
                         int32_t number) {
  struct {
    uint64_t out;
    int32_t number;
  } parameters = {bed_alloc(at, count * sizeof(int32_t), 0), number};
  bf_emu_launch launch = bed_launch(at, name, grid, block, &parameters, sizeof parameters);
  bed_run_well(at, &launch);
  return (int32_t *)(uintptr_t)parameters.out;
}

static void ways_meet_again(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  int32_t *out = run_ints(&at, "ways", 3, 48, 3 * 48, 0);
  for (int b = 0; b < 3; b++)
    for (int t = 0; t < 48; t++) {
      int r;
      if (t & 1) {
        r = 10;
        if (t & 2)
          r += 100;
        else
          r += t * (t - 1) / 2;
      } else {
        int turns = t & 7;
        r = 20 + 3 * (turns > 5 ? 5 : turns);
      }
      assert_int_equal(out[b * 48 + t], r * 1000 + (t < 32 ? 32 : 16));
    }
  bed_close(&at);
}

static void halves_of_a_condition_meet(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  int32_t *out = run_ints(&at, "either", 1, 32, 64, 0);
  for (int t = 0; t < 32; t++)
    assert_int_equal(out[t], t % 4 == 1 || t % 4 == 2 ? 16 : 0);
  bed_close(&at);
}

static void a_lock_inside_a_warp_is_released(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  uint64_t parameters[2] = {bed_alloc(&at, 4, 0), bed_alloc(&at, 4, 0)};
  for (unsigned workers = 1; workers <= 2; workers++) {
    bf_emu_launch launch = bed_launch(&at, "spin_lock", 4, 96, parameters, sizeof parameters);
    launch.workers = workers;
    bed_run_well(&at, &launch);
    assert_int_equal(*(int32_t *)(uintptr_t)parameters[1], (int)workers * 4 * 96);
  }
  bed_close(&at);
}

static void warps_and_blocks_wait_for_each_other(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  assert_int_equal(run_ints(&at, "ping_pong", 1, 64, 1, 50)[0], 100);
  uint64_t parameters[2] = {bed_alloc(&at, 400, 0), bed_alloc(&at, 400, 0)};
  for (unsigned workers = 1; workers <= 2; workers++) {
    memset((void *)(uintptr_t)parameters[0], 0, 400);
    bf_emu_launch launch = bed_launch(&at, "chain", 100, 32, parameters, sizeof parameters);
    launch.workers = workers;
    bed_run_well(&at, &launch);
    for (int i = 0; i < 100; i++)
      assert_int_equal(((int32_t *)(uintptr_t)parameters[1])[i], i + 1);
  }
  /* More blocks than are otherwise begun ahead of those that wait. */
  enum { MANY = 5000 };
  parameters[0] = bed_alloc(&at, 4, 0);
  parameters[1] = bed_alloc(&at, MANY * 4, 0);
  bf_emu_launch launch = bed_launch(&at, "everybody", MANY, 32, parameters, sizeof parameters);
  launch.workers = 1;
  launch.cooperative = true;
  bed_run_well(&at, &launch);
  for (int i = 0; i < MANY; i++)
    assert_int_equal(((int32_t *)(uintptr_t)parameters[1])[i], 1);
  bed_close(&at);
}

static void calls_and_pointers(void **state) {
  (void)state;
  static const int fibonacci[13] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144};
  bed at;
  bed_open(&at, core, NULL);
  int32_t *out = run_ints(&at, "recursion", 1, 70, 70, 0);
  for (int t = 0; t < 70; t++)
    assert_int_equal(out[t], fibonacci[t % 13]);
  out = run_ints(&at, "pointers", 1, 40, 40, 0);
  for (int t = 0; t < 40; t++)
    assert_int_equal(out[t], (t % 3 == 0 ? 2 * t : t % 3 == 1 ? t * t : -t) + 1);
  bed_close(&at);
}

static void barriers_count(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  int32_t *out = run_ints(&at, "named_barriers", 1, 128, 64, 0);
  for (int t = 0; t < 64; t++)
    assert_int_equal(out[t], (63 - t) * (63 - t));
  out = run_ints(&at, "counted", 1, 100, 100, 0);
  for (int t = 0; t < 100; t++)
    assert_int_equal(out[t], 34 * 100 + 10 + 1);
  out = run_ints(&at, "early_exit", 1, 96, 96, 0);
  for (int t = 0; t < 96; t++)
    assert_int_equal(out[t], t % 3 == 1 ? 0 : 64);
  bed_close(&at);
}

static void local_constant_and_dynamic_memory(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  int32_t *out = run_ints(&at, "local_array", 2, 40, 40, 25);
  for (int t = 0; t < 40; t++) {
    int sum = 0;
    for (int i = 0; i < 25; i++)
      sum += (i * 7 + t) % 16 * t;
    assert_int_equal(out[t], sum);
  }
  struct {
    uint64_t out;
    int32_t a, unused;
    double b;
  } parameters = {bed_alloc(&at, 64, 0), 3, 0, 1.5};
  bf_emu_launch launch = bed_launch(&at, "constants", 1, 8, &parameters, sizeof parameters);
  bed_run_well(&at, &launch);
  for (int t = 0; t < 8; t++) {
    static const int weight[4] = {1, 20, 300, 4000};
    double value = ((double *)(uintptr_t)parameters.out)[t];
    assert_true(value == weight[t % 4] + 3.25 + 4.5);
  }
  uint64_t buffer = bed_alloc(&at, 400, 0);
  launch = bed_launch(&at, "dynamic", 1, 100, &buffer, sizeof buffer);
  launch.dynamic_shared_bytes = 400;
  bed_run_well(&at, &launch);
  for (int t = 0; t < 100; t++)
    assert_int_equal(((int32_t *)(uintptr_t)buffer)[t], 99 - t + 400);
  launch = bed_launch(&at, "heap", 1, 50, &buffer, sizeof buffer);
  uint64_t before = bf_emu_used_bytes(at.emu);
  bed_run_well(&at, &launch);
  assert_true(bf_emu_used_bytes(at.emu) == before);
  for (int t = 0; t < 50; t++)
    assert_int_equal(((int32_t *)(uintptr_t)buffer)[t], t * (t + 1) / 2);
  bed_close(&at);
}

/* What the system reserves of shared memory lies behind the block's own, and no access reaches
 * beyond it. */
static void reserved_shared_memory(void **state) {
  (void)state;
  static const char text[] =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param "
      ".u32 behind)\n{\n"
      ".shared .align 4 .b8 own[12];\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n.reg .pred %p;\n"
      "mov.u32 %r0, %reserved_smem_offset_begin;\nmov.u32 %r1, %reserved_smem_offset_end;\n"
      "mov.u32 %r2, %reserved_smem_offset_cap;\nmov.u32 %r3, %reserved_smem_offset_1;\nmov.u32 "
      "%r4, %total_smem_size;\n"
      "mov.u32 %r5, 7;\nst.shared.u32 [own+8], %r5;\nst.shared.u32 [%r0], %r0;\nst.shared.u32 "
      "[%r3+284], %r3;\n"
      "ld.shared.u32 %r6, [own+8];\nld.param.u32 %r7, [behind];\nadd.u32 %r7, %r1, "
      "%r7;\nst.shared.u32 [%r7+-4], %r0;\n"
      "ld.param.u64 %rd0, [out];\nst.global.v4.u32 [%rd0], {%r0, %r1, %r2, %r3};\nst.global.v2.u32 "
      "[%rd0+16], {%r4, %r6};\n"
      "ret;\n}\n";
  bed at;
  bed_open_text(&at, "reserved", text, sizeof text - 1, NULL);
  struct {
    uint64_t out;
    uint32_t behind;
  } parameters = {bed_alloc(&at, 24, 0), 0};
  bf_emu_launch launch = bed_launch(&at, "k", 2, 32, &parameters, sizeof parameters);
  bed_run_well(&at, &launch);
  const uint32_t *out = (const uint32_t *)(uintptr_t)parameters.out;
  assert_true(out[0] >= 12 && out[0] % 128 == 0);
  assert_int_equal(out[1] - out[0], 1024);
  assert_int_equal(out[2], 1024);
  assert_true(out[3] >= out[0] && out[3] + 288 <= out[1]);
  assert_true(out[4] >= 12 && out[4] <= out[0]);
  assert_int_equal(out[5], 7);
  parameters.behind = 4;
  bf_emu_fault fault = bed_run(&at, &launch).fault;
  assert_int_equal(fault.kind, BF_EMU_OUT_OF_BOUNDS);
  assert_int_equal(fault.address, out[1]);
  bed_close(&at);
}

static void kernels_print(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  int32_t n = 2;
  bf_emu_launch launch = bed_launch(&at, "prints", 1, 32, &n, sizeof n);
  bf_emu_touched touched = {0};
  launch.touched = &touched;
  bed_run_well(&at, &launch);
  assert_true(touched.is_open); /* what it prints is in no memory */
  assert_string_equal(at.printed.data, "thread 0:  0.00|ab    |1099511627776|z|ff|%\n"
                                       "thread 1:  0.50|ab    |1099511627776|z|ff|%\n");
  bed_close(&at);
}

static void shuffles_of_lanes_apart(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  int32_t *out = run_ints(&at, "diverged_shuffle", 1, 32, 32, 0);
  for (int t = 0; t < 32; t++)
    assert_int_equal(out[t], t % 2 ? t ^ 2 : t ^ 4);
  bed_close(&at);
}

static void a_million_blocks(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  uint64_t out = bed_alloc(&at, 8, 0);
  bf_emu_launch launch = bed_launch(&at, "many_blocks", 1000000, 32, &out, sizeof out);
  bed_run_well(&at, &launch);
  assert_true(*(uint64_t *)(uintptr_t)out == UINT64_C(999999) * 1000000 / 2);
  bed_close(&at);
}

/* ---- Faults ---- */

static bf_emu_result run_fault(bed *at, const char *name, unsigned block, int32_t number,
                               bool check) {
  struct {
    uint64_t out;
    int32_t number;
  } parameters = {bed_alloc(at, 256, 0), number};
  bf_emu_launch launch = bed_launch(at, name, 1, block, &parameters, sizeof parameters);
  launch.check_races = launch.check_uninitialised = check;
  return bed_run(at, &launch);
}

static void faults_are_found(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  bf_emu_fault fault = run_fault(&at, "out_of_bounds", 64, 40, false).fault;
  assert_int_equal(fault.kind, BF_EMU_OUT_OF_BOUNDS);
  assert_int_equal(fault.thread[0], 24);
  assert_int_equal(fault.width_bytes, 4);
  assert_true(fault.is_write && fault.line > 0 && fault.source_line > 0);
  assert_string_equal(fault.source_file, "core.cu");
  fault = run_fault(&at, "misaligned", 32, 0, false).fault;
  assert_int_equal(fault.kind, BF_EMU_MISALIGNED);
  assert_int_equal(fault.thread[0], 1);
  fault = run_fault(&at, "shared_bounds", 32, 1, false).fault;
  assert_int_equal(fault.kind, BF_EMU_OUT_OF_BOUNDS);
  assert_int_equal(fault.space, BF_PTX_SPACE_SHARED);
  assert_int_equal(fault.thread[0], 31);
  assert_int_equal(fault.address, 128);
  assert_int_equal(run_fault(&at, "shared_bounds", 32, 0, true).fault.kind, BF_EMU_NO_FAULT);
  assert_int_equal(run_fault(&at, "race", 64, 0, false).fault.kind, BF_EMU_NO_FAULT);
  fault = run_fault(&at, "uninitialised", 64, 0, true).fault;
  assert_int_equal(fault.kind, BF_EMU_UNINITIALISED);
  assert_int_equal(fault.thread[0], 58);
  fault = run_fault(&at, "deadlock", 64, 0, false).fault;
  assert_int_equal(fault.kind, BF_EMU_DEADLOCK);
  assert_non_null(strstr(fault.text, "of 64 have come"));
  int32_t n = 5;
  bf_emu_launch launch = bed_launch(&at, "asserts", 1, 32, &n, sizeof n);
  fault = bed_run(&at, &launch).fault;
  assert_int_equal(fault.kind, BF_EMU_ASSERT);
  assert_int_equal(fault.thread[0], 5);
  assert_non_null(strstr(fault.text, "threadIdx.x < n"));
  bed_close(&at);
}

static void races_are_found(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  struct {
    uint64_t out;
  } parameters = {bed_alloc(&at, 256, 0)};
  bf_emu_launch launch = bed_launch(&at, "race", 1, 64, &parameters, sizeof parameters);
  launch.check_races = true;
  bf_emu_fault fault = bed_run(&at, &launch).fault;
  assert_int_equal(fault.kind, BF_EMU_RACE);
  launch = bed_launch(&at, "shared_bounds", 1, 32, &(struct {
    uint64_t out;
    int32_t n;
  }){parameters.out, 0},
                      12);
  launch.check_races = true;
  assert_int_equal(bed_run(&at, &launch).fault.kind, BF_EMU_NO_FAULT);
  bed_close(&at);
}

static void freed_memory_is_known(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  struct {
    uint64_t out;
    int32_t number;
  } parameters = {bed_alloc(&at, 256, 0), 0};
  assert_int_equal(bf_emu_release(at.emu, parameters.out, NULL), BF_OK);
  bf_emu_launch launch = bed_launch(&at, "out_of_bounds", 1, 32, &parameters, sizeof parameters);
  assert_int_equal(bed_run(&at, &launch).fault.kind, BF_EMU_USE_AFTER_FREE);
  assert_int_equal(bf_emu_release(at.emu, parameters.out, NULL), BF_BAD_INPUT);
  bed_close(&at);
}

static void bad_launches_are_refused(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  bf_diagnostic diagnostic;
  bf_emu_result result;
  uint64_t out = 0;
  bf_emu_launch launch = bed_launch(&at, "ways", 1, 32, &out, sizeof out);
  launch.block[1] = 64;
  assert_int_equal(bf_emu_run(at.emu, &launch, &result, &diagnostic), BF_BAD_INPUT);
  launch = bed_launch(&at, "ways", 0, 32, &out, sizeof out);
  assert_int_equal(bf_emu_run(at.emu, &launch, &result, &diagnostic), BF_BAD_INPUT);
  launch = bed_launch(&at, "ways", 1, 32, &out, 4);
  assert_int_equal(bf_emu_run(at.emu, &launch, &result, &diagnostic), BF_BAD_INPUT);
  const bf_emu_kernel *kernel;
  assert_int_equal(bf_emu_kernel_get(at.module, "nothing", &kernel, &diagnostic), BF_BAD_INPUT);
  bed_close(&at);
}

static bool stop_at_once(void *context, uint64_t done, uint64_t blocks) {
  (void)context, (void)blocks;
  return done < 3;
}

static bool stop_after_some(void *context, uint64_t done, uint64_t blocks) {
  (void)done, (void)blocks;
  return ++*(unsigned *)context < 10;
}

static void a_launch_can_be_stopped(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  uint64_t out = bed_alloc(&at, 8, 0);
  bf_emu_launch launch = bed_launch(&at, "many_blocks", 100000000, 32, &out, sizeof out);
  launch.progress = stop_at_once;
  assert_int_equal(bed_run(&at, &launch).fault.kind, BF_EMU_INTERRUPTED);
  /* Kernels that never end: one polls memory, in blocks of several warps, on several threads. */
  unsigned calls = 0;
  launch = bed_launch(&at, "forever", 3, 64, &out, sizeof out);
  *(uint64_t *)(uintptr_t)out = 0;
  launch.progress = stop_after_some;
  launch.progress_context = &calls;
  assert_int_equal(bed_run(&at, &launch).fault.kind, BF_EMU_INTERRUPTED);
  calls = 0;
  launch = bed_launch(&at, "barriers_forever", 2, 64, &out, sizeof out);
  launch.progress = stop_after_some;
  launch.progress_context = &calls;
  assert_int_equal(bed_run(&at, &launch).fault.kind, BF_EMU_INTERRUPTED);
  calls = 0;
  launch = bed_launch(&at, "endless_recursion", 1, 32, &out, sizeof out);
  launch.progress = stop_after_some;
  launch.progress_context = &calls;
  assert_int_equal(bed_run(&at, &launch).fault.kind, BF_EMU_INTERRUPTED);
  bed_close(&at);
}

/* ---- What is not run ---- */

static void unknown_instructions_are_refused_together(void **state) {
  (void)state;
  static const char text[] = ".version 8.6\n.target sm_100a\n.address_size 64\n"
                             ".visible .entry k() {\n"
                             "  .reg .b32 %r<4>; .reg .pred %p; .reg .b64 %q;\n"
                             "  istypep.texref %p, %q;\n"
                             "  add.u32 %r1, %r2, %r3;\n"
                             "  istypep.surfref %p, %q;\n"
                             "  ret;\n}\n";
  bed at;
  bed_open_text(&at, "k.ptx", text, sizeof text - 1, NULL);
  bf_diagnostic diagnostic;
  const bf_emu_kernel *kernel;
  assert_int_equal(bf_emu_kernel_get(at.module, "k", &kernel, &diagnostic), BF_UNSUPPORTED);
  assert_non_null(strstr(diagnostic.message, "istypep (line 6), istypep (line 8)"));
  bed_close(&at);
}

static void guarded_calls(void **state) {
  (void)state;
  static const char text[] =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".func (.param .b32 r) f(.param .b32 x) {\n"
      "  .reg .b32 %a; ld.param.b32 %a, [x]; add.u32 %a, %a, 100; st.param.b32 [r], %a; ret;\n}\n"
      ".visible .entry k(.param .u64 out) {\n"
      "  .reg .b32 %r<6>; .reg .b64 %d<4>; .reg .pred %p;\n"
      "  mov.u32 %r1, %tid.x; mov.u32 %r2, 7; setp.lt.u32 %p, %r1, 10;\n"
      "  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; st.param.b32 [b], %r2;\n"
      "    @%p call (b), f, (a); ld.param.b32 %r2, [b]; }\n"
      "  activemask.b32 %r3; popc.b32 %r3, %r3; shl.b32 %r3, %r3, 16; or.b32 %r2, %r2, %r3;\n"
      "  ld.param.u64 %d1, [out]; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;\n"
      "  st.global.u32 [%d1], %r2; ret;\n}\n";
  bed at;
  bed_open_text(&at, "k.ptx", text, sizeof text - 1, NULL);
  uint64_t out = bed_alloc(&at, 128, 0);
  bf_emu_launch launch = bed_launch(&at, "k", 1, 32, &out, sizeof out);
  bed_run_well(&at, &launch);
  for (uint32_t t = 0; t < 32; t++)
    assert_int_equal(((uint32_t *)(uintptr_t)out)[t], (32u << 16 | (t < 10 ? t + 100 : 7)));
  bed_close(&at);
}

/* ---- Events, profile, instruction sets ---- */

/* A tile transpose reads columns: 32 wavefronts instead of 1 for each of its loads. */
/* The accesses that a profile has kept, each as often as it was made. */
static uint64_t accesses_of(const bf_profile *profile) {
  const bf_workload *workload = bf_profile_accesses(profile);
  uint64_t sum = 0;
  assert_non_null(workload);
  for (size_t i = 0; i < bf_workload_size(workload); i++)
    sum += bf_workload_get(workload, i)->count;
  return sum;
}

static void transpose_has_a_profile(void **state) {
  (void)state;
  for (unsigned workers = 1; workers <= 2; workers++) {
    bed at;
    bed_open(&at, "bench/emu.ptx", NULL);
    bf_machine *machine;
    assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
    enum { SIDE = 128 };
    struct {
      uint64_t in, out;
      int32_t n;
    } parameters = {bed_alloc(&at, SIDE * SIDE * 4, 1), bed_alloc(&at, SIDE * SIDE * 4, 0), SIDE};
    float *in = (float *)(uintptr_t)parameters.in, *out = (float *)(uintptr_t)parameters.out;
    for (int i = 0; i < SIDE * SIDE; i++)
      in[i] = (float)i;
    bf_emu_launch launch =
        bed_launch(&at, "transpose", SIDE / 32, 32, &parameters, sizeof parameters);
    launch.grid[1] = SIDE / 32;
    launch.block[1] = 8;
    launch.workers = workers;
    bf_profile *profile;
    assert_int_equal(bf_profile_create(machine, NULL, launch.kernel, workers, &profile, NULL),
                     BF_OK);
    bf_emu_observer observer = bf_profile_observer(profile);
    launch.observer = &observer;
    size_t budget = 1000;
    assert_int_equal(bf_profile_keep(profile, &budget, NULL), BF_OK);
    bed_run_well(&at, &launch);
    uint64_t kept = accesses_of(profile);
    for (int y = 0; y < SIDE; y++)
      for (int x = 0; x < SIDE; x++)
        assert_true(out[y * SIDE + x] == in[x * SIDE + y]);
    uint64_t loads = 0, stores = 0, conflicts = 0, executions = 0;
    for (unsigned i = 0; i < bf_emu_kernel_sites(launch.kernel); i++) {
      bf_profile_row row = bf_profile_get(profile, i);
      loads += row.wavefronts_load;
      stores += row.wavefronts_store;
      conflicts += row.conflicts;
      executions += row.executions;
    }
    assert_int_equal(executions, 16 * 8 * 4 * 2);
    assert_int_equal(stores, 16 * 8 * 4);
    assert_int_equal(loads, 16 * 8 * 4 * 32);
    assert_int_equal(conflicts, 16 * 8 * 4 * 31);
    /* A launch more, and the same as a repetition of it; the two arrays are all it touches. */
    bf_emu_touched touched = {0};
    launch.touched = &touched;
    bf_profile_part *part = bf_profile_start(profile);
    assert_non_null(part);
    bed_run_well(&at, &launch);
    assert_true(bf_profile_since(profile, part));
    bf_profile_repeat(profile, part);
    bf_profile_part_free(part);
    assert_int_equal(touched.ranges, 2);
    assert_false(touched.is_open);
    uint64_t sum = 0;
    for (unsigned i = 0; i < bf_emu_kernel_sites(launch.kernel); i++)
      sum += bf_profile_get(profile, i).conflicts;
    assert_int_equal(sum, 3 * conflicts);
    assert_int_equal(accesses_of(profile), 3 * kept);
    bf_profile_free(profile);
    bf_machine_free(machine);
    bed_close(&at);
  }
}

/* Loads that an observer was told of, as merged and as written. */
typedef struct told {
  unsigned merged, written, merged_bytes, written_bytes;
} told;

static void tell_merged(void *context, const bf_emu_event *event) {
  told *seen = context;
  seen->merged += event->op == BF_OP_LD;
  seen->merged_bytes += event->op == BF_OP_LD ? event->width_bytes : 0;
}

static void tell_written(void *context, const bf_emu_event *event) {
  told *seen = context;
  seen->written += event->op == BF_OP_LD;
  seen->written_bytes += event->op == BF_OP_LD ? event->width_bytes : 0;
}

/* The table is named second but declared first: there two loads of 4 bytes become one of 8. */
static void merged_loads_are_aligned(void **state) {
  (void)state;
  static const char text[] =
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".shared .align 4 .b8 table[512];\n.shared .align 4 .b8 word[4];\n"
      ".visible .entry k(.param .u64 p) {\n"
      "  .reg .b32 %r<8>;\n  .reg .b64 %d<2>;\n"
      "  ld.param.u64 %d1, [p];\n  mov.u32 %r1, %tid.x;\n  st.shared.u32 [word], %r1;\n"
      "  shl.b32 %r2, %r1, 3;\n  mov.u32 %r3, table;\n  add.s32 %r4, %r3, %r2;\n"
      "  ld.shared.u32 %r5, [%r4];\n  ld.shared.u32 %r6, [%r4+4];\n  add.s32 %r5, %r5, %r6;\n"
      "  st.global.u32 [%d1], %r5;\n  ret;\n}\n";
  bed at;
  bed_open_text(&at, "k.ptx", text, sizeof text - 1, NULL);
  bf_machine *machine;
  bf_profile *profile;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  uint64_t parameter = bed_alloc(&at, 4, 0);
  bf_emu_launch launch = bed_launch(&at, "k", 1, 32, &parameter, sizeof parameter);
  assert_int_equal(bf_profile_create(machine, NULL, launch.kernel, 1, &profile, NULL), BF_OK);
  bf_emu_observer observer = bf_profile_observer(profile);
  launch.observer = &observer;
  launch.workers = 1;
  bed_run_well(&at, &launch);
  uint64_t loads = 0, executions = 0;
  for (unsigned i = 0; i < bf_emu_kernel_sites(launch.kernel); i++) {
    bf_profile_row row = bf_profile_get(profile, i);
    assert_int_equal(row.failed, 0);
    loads += row.wavefronts_load;
    executions += row.executions;
  }
  told seen = {0};
  launch.observer = &(bf_emu_observer){
      .access = tell_merged, .written = tell_written, .context = &seen, .as_merged = true};
  bed_run_well(&at, &launch);
  assert_int_equal(seen.merged, 1);
  assert_int_equal(seen.merged_bytes, 8);
  assert_int_equal(seen.written, 2);
  assert_int_equal(seen.written_bytes, 8);
  assert_int_equal(loads, 2);
  assert_int_equal(executions, 2);
  bf_profile_free(profile);
  bf_machine_free(machine);
  bed_close(&at);
}

/* All kernels of the benchmark, on every instruction set and on one and two threads. */
static void sets_agree(void **state) {
  (void)state;
  static const char *const sets[] = {"plain", "avx2", "avx512"};
  enum { COUNT = 5000 };
  for (unsigned s = 0; s < 3; s++) {
    if (!bf_emu_isa_find(sets[s]))
      continue;
    bed at;
    bed_open(&at, "bench/emu.ptx", sets[s]);
    struct {
      uint64_t a, b, c;
      int32_t n;
    } add = {bed_alloc(&at, COUNT * 4, 0), bed_alloc(&at, COUNT * 4, 0),
             bed_alloc(&at, COUNT * 4, 0), COUNT};
    float *a = (float *)(uintptr_t)add.a, *b = (float *)(uintptr_t)add.b,
          *c = (float *)(uintptr_t)add.c;
    uint8_t *bytes = (uint8_t *)(uintptr_t)add.a;
    for (int i = 0; i < COUNT; i++)
      a[i] = (float)(i % 97) * 0.25f, b[i] = (float)i;
    bf_emu_launch launch = bed_launch(&at, "vector_add", 20, 256, &add, sizeof add);
    bf_emu_result result = bed_run_well(&at, &launch);
    assert_true(result.thread_instructions > 20u * 256 * 8);
    for (int i = 0; i < COUNT; i++)
      assert_true(c[i] == a[i] + b[i]);
    struct {
      uint64_t in, out;
      int32_t n;
    } two = {add.a, add.c, COUNT};
    launch = bed_launch(&at, "reduce", 1, 256, &two, sizeof two);
    bed_run_well(&at, &launch);
    float part[256] = {0};
    for (int i = 0; i < COUNT; i++)
      part[i % 256] += a[i];
    for (int half = 128; half; half /= 2)
      for (int i = 0; i < half; i++)
        part[i] += part[i + half];
    assert_true(c[0] == part[0]);
    uint32_t count[256] = {0}, *out = (uint32_t *)(uintptr_t)add.c;
    memset(out, 0, 1024);
    for (int i = 0; i < COUNT * 4; i++)
      count[bytes[i]]++;
    two.n = COUNT * 4;
    launch = bed_launch(&at, "histogram", 7, 256, &two, sizeof two);
    bed_run_well(&at, &launch);
    assert_memory_equal(out, count, sizeof count);
    bed_close(&at);
  }
}

/* Lane t of the first `lanes` reads a table, shared and local memory at where[t] bytes, writes
 * there and reads again, and asks lane where[t] / 4 for its number. */
static const char places_ptx[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".visible .entry places(.param .u64 where, .param .u64 out, .param .u32 lanes) {\n"
    ".reg .u64 %w, %o, %a, %b, %l;\n.reg .u32 %t, %n, %i, %x, %y, %s;\n.reg .pred %p, %q;\n"
    ".shared .align 8 .b8 row[1024];\n.local .align 8 .b8 own[1024];\n"
    "ld.param.u64 %w, [where];\nld.param.u64 %o, [out];\nld.param.u32 %n, [lanes];\n"
    "mov.u32 %t, %tid.x;\nmov.u64 %l, own;\nmov.u32 %i, 0;\n"
    "fill:\nmul.lo.u32 %x, %i, %i;\nmov.u32 %s, row;\nmad.lo.u32 %s, %i, 4, %s;\n"
    "st.shared.u32 [%s], %x;\nadd.u32 %x, %x, %t;\nmad.wide.u32 %a, %i, 4, %l;\n"
    "st.local.u32 [%a], %x;\nadd.u32 %i, %i, 1;\nsetp.lt.u32 %q, %i, 256;\n@%q bra fill;\n"
    "bar.sync 0;\nsetp.lt.u32 %p, %t, %n;\nmad.wide.u32 %a, %t, 4, %w;\nld.global.u32 %i, [%a];\n"
    "mad.wide.u32 %o, %t, 24, %o;\nmov.u32 %s, row;\nadd.u32 %s, %s, %i;\ncvt.u64.u32 %b, %i;\n"
    "mov.u32 %x, 7;\n@%p ld.shared.u32 %x, [%s];\nst.global.u32 [%o], %x;\n"
    "add.u64 %a, %w, %b;\n@%p ld.global.u32 %x, [%a];\nst.global.u32 [%o+4], %x;\n"
    "add.u64 %a, %l, %b;\n@%p ld.local.u32 %x, [%a];\nst.global.u32 [%o+8], %x;\n"
    "mul.lo.u32 %y, %i, 5;\nbar.sync 0;\n@%p st.shared.u32 [%s], %y;\n@%p st.local.u32 [%a], %y;\n"
    "bar.sync 0;\nld.shared.u32 %x, [%s];\nst.global.u32 [%o+12], %x;\n"
    "ld.local.u32 %x, [%a];\nst.global.u32 [%o+16], %x;\n"
    "shr.u32 %i, %i, 2;\nshfl.sync.idx.b32 %x, %t, %i, 31, -1;\nst.global.u32 [%o+20], %x;\n"
    "ret;\n}\n";

/* What lane t of places should have stored as its value k. */
static uint32_t place_value(const uint32_t *where, unsigned lanes, unsigned t, unsigned k) {
  uint32_t i = where[t] / 4, written = i * i;
  for (unsigned other = 0; other < lanes; other++)
    written = where[other] == where[t] ? where[t] * 5 : written;
  uint32_t own = t < lanes ? where[t] * 5 : i * i + t;
  uint32_t value[6] = {i * i, where[i], i * i + t, written, own, i & 31};
  return k < 3 && t >= lanes ? 7 : value[k];
}

/* Rows of eight lanes, the same place for eight or all, some lanes only: what is moved at once is
 * what would be moved lane by lane. */
static void lanes_at_neighbouring_places(void **state) {
  (void)state;
  static const char *const sets[] = {"plain", "avx2", "avx512"};
  static const unsigned lanes[] = {32, 31, 17, 1};
  for (unsigned s = 0; s < 3; s++) {
    if (!bf_emu_isa_find(sets[s]))
      continue;
    bed at;
    bed_open_text(&at, "places.ptx", places_ptx, sizeof places_ptx - 1, sets[s]);
    struct {
      uint64_t where, out;
      uint32_t lanes;
    } parameters = {bed_alloc(&at, 1024, 0), bed_alloc(&at, 32 * 24, 0), 0};
    uint32_t *where = (void *)(uintptr_t)parameters.where;
    const uint32_t *out = (void *)(uintptr_t)parameters.out;
    for (unsigned pattern = 0; pattern < 256; pattern++) { /* two bits for each eight lanes */
      for (unsigned t = 0; t < 256; t++) {
        unsigned kind = pattern >> t / 8 % 4 * 2 & 3, first = pattern * 7 % 128 + (kind & 1) * 64;
        where[t] = 4 * (kind == 3 ? t * 37 % 256 : first + (kind == 2 ? 0 : t % 8));
      }
      parameters.lanes = lanes[pattern % 4];
      bf_emu_launch launch = bed_launch(&at, "places", 1, 32, &parameters, sizeof parameters);
      bed_run_well(&at, &launch);
      for (unsigned i = 0; i < 32 * 6; i++)
        assert_int_equal(out[i], place_value(where, parameters.lanes, i / 6, i % 6));
    }
    bed_close(&at);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ways_meet_again),
      cmocka_unit_test(halves_of_a_condition_meet),
      cmocka_unit_test(a_lock_inside_a_warp_is_released),
      cmocka_unit_test(warps_and_blocks_wait_for_each_other),
      cmocka_unit_test(calls_and_pointers),
      cmocka_unit_test(barriers_count),
      cmocka_unit_test(local_constant_and_dynamic_memory),
      cmocka_unit_test(reserved_shared_memory),
      cmocka_unit_test(kernels_print),
      cmocka_unit_test(shuffles_of_lanes_apart),
      cmocka_unit_test(a_million_blocks),
      cmocka_unit_test(faults_are_found),
      cmocka_unit_test(races_are_found),
      cmocka_unit_test(freed_memory_is_known),
      cmocka_unit_test(bad_launches_are_refused),
      cmocka_unit_test(a_launch_can_be_stopped),
      cmocka_unit_test(unknown_instructions_are_refused_together),
      cmocka_unit_test(guarded_calls),
      cmocka_unit_test(transpose_has_a_profile),
      cmocka_unit_test(merged_loads_are_aligned),
      cmocka_unit_test(sets_agree),
      cmocka_unit_test(lanes_at_neighbouring_places),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
