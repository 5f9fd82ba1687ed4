/* Time, threads and ends: results do not depend on threads of the host, the least queues and tables
 * still give right results, and launches that cannot end are explained. */
#include "sim/feed.h"
#include "sim_bed.h"

/* "tickets": threads take numbers from a counter, add floats, and leave what they got. "relay":
 * block i waits for the flag of block i - 1, reads what that block has written, and passes it on.
 * "stream": every thread reads words apart, goes through shared memory, and writes. "plain": every
 * thread reads words whose places depend on those before, and writes one. "stuck": odd
 * warps wait at a barrier that even ones never reach. "spin": waits for a flag nobody sets. */
static const char program[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry tickets(.param .u64 memory)\n{\n"
    "  .reg .b32 %r<20>;\n  .reg .b64 %d<9>;\n  .reg .f32 %f<9>;\n  .reg .pred %p<3>;\n"
    "  ld.param.u64 %d0, [memory];\n"
    "  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n"
    "  mad.lo.s32 %r3, %r1, %r2, %r0;\n"
    "  mul.wide.u32 %d1, %r3, 4;\n  add.s64 %d2, %d0, %d1;\n"
    "  mov.u32 %r9, 0;\n"
    "again:\n"
    "  atom.global.add.u32 %r4, [%d0], 1;\n"
    "  cvt.rn.f32.u32 %f1, %r3;\n"
    "  add.f32 %f1, %f1, 0f3DCCCCCD;\n"
    "  atom.global.add.f32 %f2, [%d0+4], %f1;\n"
    "  and.b32 %r5, %r4, 3;\n  add.s32 %r9, %r9, 1;\n  add.s32 %r9, %r9, %r5;\n"
    "  setp.lt.s32 %p1, %r9, 6;\n"
    "  @%p1 bra again;\n"
    "  st.global.u32 [%d2+64], %r4;\n"
    "  st.global.f32 [%d2+16384], %f2;\n"
    "  ret;\n}\n"
    ".visible .entry relay(.param .u64 memory)\n{\n"
    "  .reg .b32 %r<20>;\n  .reg .b64 %d<9>;\n  .reg .pred %p<4>;\n"
    "  ld.param.u64 %d0, [memory];\n"
    "  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %ctaid.x;\n"
    "  shl.b32 %r2, %r1, 5;\n  add.s32 %r2, %r2, %r0;\n"
    "  mul.wide.u32 %d1, %r2, 4;\n  add.s64 %d2, %d0, %d1;\n"
    "  mul.wide.u32 %d3, %r1, 4;\n  add.s64 %d4, %d0, %d3;\n"
    "  mov.u32 %r5, 0;\n"
    "  setp.eq.u32 %p1, %r1, 0;\n  @%p1 bra write;\n"
    "wait:\n"
    "  ld.volatile.global.u32 %r4, [%d4+32764];\n" /* the flag of the block before */
    "  setp.eq.u32 %p2, %r4, 0;\n  @%p2 bra wait;\n"
    "  ld.global.u32 %r5, [%d2+-128];\n"
    "write:\n"
    "  add.s32 %r5, %r5, %r0;\n  add.s32 %r5, %r5, 1;\n"
    "  st.global.u32 [%d2], %r5;\n"
    "  membar.gl;\n  bar.sync 0;\n"
    "  setp.ne.u32 %p3, %r0, 0;\n  @%p3 bra end;\n"
    "  mov.u32 %r6, 1;\n  st.volatile.global.u32 [%d4+32768], %r6;\n"
    "end:\n  ret;\n}\n"
    ".visible .entry stream(.param .u64 memory)\n{\n"
    "  .reg .b32 %r<20>;\n  .reg .b64 %d<9>;\n  .shared .align 4 .b8 words[8192];\n"
    "  ld.param.u64 %d0, [memory];\n"
    "  mov.u32 %r9, words;\n"
    "  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n"
    "  mad.lo.s32 %r3, %r1, %r2, %r0;\n"
    "  mul.wide.u32 %d1, %r3, 64;\n  add.s64 %d2, %d0, %d1;\n"
    "  ld.global.u32 %r4, [%d2];\n  ld.global.v2.u32 {%r5, %r6}, [%d2+8];\n"
    "  shl.b32 %r7, %r0, 5;\n  and.b32 %r7, %r7, 8191;\n"
    "  atom.shared.add.u32 %r8, [%r7], %r4;\n"
    "  bar.sync 0;\n"
    "  ld.shared.u32 %r10, [%r7];\n"
    "  add.s32 %r10, %r10, %r5;\n  mad.lo.s32 %r10, %r10, 3, %r6;\n"
    "  bar.sync 0;\n"
    "  st.global.u32 [%d2], %r10;\n"
    "  red.global.add.u32 [%d2+16], %r10;\n"
    "  ret;\n}\n"
    ".visible .entry plain(.param .u64 memory)\n{\n"
    "  .reg .b32 %r<9>;\n  .reg .b64 %d<9>;\n  .reg .pred %p<2>;\n"
    "  ld.param.u64 %d0, [memory];\n"
    "  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n"
    "  mad.lo.u32 %r0, %r1, %r2, %r0;\n  mul.lo.u32 %r3, %r0, 97;\n  mov.u32 %r4, 0;\n"
    "  mov.u32 %r5, 0;\n"
    "again:\n  and.b32 %r6, %r3, 8188;\n  cvt.u64.u32 %d1, %r6;\n  add.s64 %d2, %d0, %d1;\n"
    "  ld.global.u32 %r7, [%d2];\n  add.u32 %r5, %r5, %r7;\n"
    "  mad.lo.u32 %r3, %r7, 131, %r3;\n  add.u32 %r4, %r4, 1;\n"
    "  setp.lt.u32 %p1, %r4, 9;\n  @%p1 bra again;\n"
    "  mul.wide.u32 %d3, %r0, 4;\n  add.s64 %d4, %d0, %d3;\n"
    "  st.global.u32 [%d4+8192], %r5;\n  ret;\n}\n"
    ".visible .entry stuck(.param .u64 memory)\n{\n"
    "  .reg .b32 %r<9>;\n  .reg .pred %p<2>;\n"
    "  mov.u32 %r0, %tid.x;\n  shr.u32 %r1, %r0, 5;\n  and.b32 %r1, %r1, 1;\n"
    "  setp.eq.u32 %p1, %r1, 0;\n"
    "  @%p1 bra end;\n"
    "  bar.sync 2, 256;\n"
    "end:\n  bar.sync 0, 256;\n  ret;\n}\n"
    ".visible .entry spin(.param .u64 memory)\n{\n"
    "  .reg .b32 %r<9>;\n  .reg .b64 %d<9>;\n  .reg .pred %p<2>;\n"
    "  ld.param.u64 %d0, [memory];\n"
    "wait:\n  ld.volatile.global.u32 %r1, [%d0];\n  setp.eq.u32 %p1, %r1, 0;\n"
    "  @%p1 bra wait;\n  ret;\n}\n"
    ".visible .entry wild(.param .u64 memory)\n{\n"
    "  .reg .b32 %r<9>;\n  .reg .b64 %d<9>;\n"
    "  ld.param.u64 %d0, [memory];\n  mov.u32 %r0, %tid.x;\n"
    "  mul.wide.u32 %d1, %r0, 65536;\n  add.s64 %d2, %d0, %d1;\n"
    "  st.global.u32 [%d2], %r0;\n  ret;\n}\n";

static bf_emu_launch launch_of(sim_bed *own, const char *name, unsigned grid, unsigned block) {
  return bed_launch(&own->at, name, grid, block, &own->memory, sizeof own->memory);
}

static uint8_t *memory_of(const sim_bed *own) { return (uint8_t *)(uintptr_t)own->memory; }

static void fill_memory(const sim_bed *own) {
  for (unsigned i = 0; i < SIM_BED_BYTES; i++)
    memory_of(own)[i] = (uint8_t)(i * 37 >> 3);
}

/* ---- Threads of the host ---- */

/* Everything in a result but the host's time and memory addresses must be equal. */
static void check_same(bf_sim_result *a, bf_sim_result *b) {
  assert_int_equal(a->sites, b->sites);
  assert_memory_equal(a->site, b->site, a->sites * sizeof *a->site);
  assert_string_equal(a->occupancy_limit, b->occupancy_limit);
  assert_int_equal(a->emu.warp_instructions, b->emu.warp_instructions);
  assert_int_equal(a->emu.thread_instructions, b->emu.thread_instructions);
  assert_memory_equal(&a->seconds, &b->seconds, sizeof a->seconds);
  size_t first = offsetof(bf_sim_result, issued), end = offsetof(bf_sim_result, occupancy_limit);
  assert_int_equal(a->cycles, b->cycles);
  assert_memory_equal((char *)a + first, (char *)b + first, end - first);
  first = offsetof(bf_sim_result, resident_warp_cycles);
  end = offsetof(bf_sim_result, host_seconds);
  assert_memory_equal((char *)a + first, (char *)b + first, end - first);
}

static void any_number_of_threads(void **state) {
  (void)state;
  static const struct {
    const char *kernel, *gpu, *changes;
    unsigned grid, block;
  } rows[] = {
      {"tickets", "machine hopper", "sms=5 blocks_per_sm=2", 12, 96},
      {"tickets", "machine hopper", "sms=7 schedulers=4 dispatch=2 return_cycles=30", 9, 64},
      {"tickets", "gtx580", "sms=6", 12, 64},
      {"tickets", "elastic", "sms=4 blocks_per_sm=1", 8, 64},
      {"tickets", "machine hopper", "sms=3 scheduler=two-level schedulers=2", 8, 128},
      {"relay", "machine hopper", "sms=4 blocks_per_sm=1 block_launch_cycles=20", 16, 32},
      {"relay", "h200", "", 16, 32},
      {"relay", "k20", "sms=3", 16, 32},
      {"stream", "h200", "sms=8", 16, 64},
      {"stream", "machine hopper", "sms=7 blocks_per_sm=2 l1_bytes=16384", 16, 64},
      /* Without atomics memory works ahead, in spans of different lengths. */
      {"plain", "h200", "sms=8", 16, 64},
      {"plain", "h200", "sms=7 request_cycles=100 return_cycles=60 blocks_per_sm=1", 32, 64},
      {"plain", "h200", "sms=5 request_cycles=40 return_cycles=300 l1_misses=4", 32, 64},
      {"plain", "gtx580", "sms=7 request_cycles=33 return_cycles=33 l2_bytes=0", 32, 32},
      {"plain", "elastic", "sms=4", 32, 32},
  };
  static const unsigned workers[] = {1, 2, 3, 7};
  uint8_t *first = malloc(SIM_BED_BYTES);
  assert_non_null(first);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_sim_result results[4];
    for (unsigned k = 0; k < 4; k++) {
      sim_bed own; /* addresses of the host differ from run to run */
      sim_bed_open(&own, program, rows[i].gpu, rows[i].changes);
      uint64_t unused = bed_alloc(&own.at, 1000 + 777 * k, 0);
      assert_int_equal(bf_emu_release(own.at.emu, unused, NULL), BF_OK);
      if (strcmp(rows[i].kernel, "stream") == 0 || strcmp(rows[i].kernel, "plain") == 0)
        fill_memory(&own);
      own.settings.workers = workers[k];
      bf_emu_launch launch = launch_of(&own, rows[i].kernel, rows[i].grid, rows[i].block);
      results[k] = sim_bed_simulate(&own, &launch);
      assert_int_equal(results[k].emu.fault.kind, BF_EMU_NO_FAULT);
      if (k == 0)
        memcpy(first, memory_of(&own), SIM_BED_BYTES);
      assert_memory_equal(first, memory_of(&own), SIM_BED_BYTES);
      check_same(&results[0], &results[k]);
      sim_bed_close(&own);
    }
    for (unsigned k = 0; k < 4; k++)
      bf_arena_free(&results[k].arena);
  }
  free(first);
}

/* What a block gets from the one before it is what that one has written. */
static void blocks_hand_over(void **state) {
  (void)state;
  sim_bed own;
  sim_bed_open(&own, program, "machine hopper", "sms=2 blocks_per_sm=1");
  own.settings.workers = 2;
  bf_emu_launch launch = launch_of(&own, "relay", 2, 32);
  bf_sim_result result = sim_bed_simulate(&own, &launch);
  assert_int_equal(result.emu.fault.kind, BF_EMU_NO_FAULT);
  const uint32_t *out = (const uint32_t *)(const void *)memory_of(&own);
  for (uint32_t i = 0; i < 32; i++) {
    assert_int_equal(out[i], i + 1);
    assert_int_equal(out[32 + i], 2 * (i + 1));
  }
  bf_arena_free(&result.arena);
  sim_bed_close(&own);
}

/* ---- Queues and tables at their least ---- */

/* The memory that the emulator leaves. */
static void emulate(const char *kernel, unsigned grid, unsigned block, uint8_t *memory) {
  sim_bed own;
  sim_bed_open(&own, program, "machine hopper", "");
  fill_memory(&own);
  bf_emu_launch launch = launch_of(&own, kernel, grid, block);
  bed_run_well(&own.at, &launch);
  memcpy(memory, memory_of(&own), SIM_BED_BYTES);
  sim_bed_close(&own);
}

static void least_sizes(void **state) {
  (void)state;
  static const char *const changes[] = {
      "global_queue=1",
      "l1_misses=1",
      "l1_misses=1 l1_bytes=1024 l1_ways=1",
      "shared_queue=1",
      "dram_queue=1",
      "l2_bytes=0 dram_channels=1 dram_banks=1",
      "l2_slices=1 l2_bytes=4096 l2_ways=1",
      "return_bytes_per_cycle=1",
      "warps_per_sm=2",
      "blocks_per_sm=1 block_launch_cycles=1",
      "return_cycles=1 request_cycles=1",
      "active_warps=1 scheduler=two-level",
      "schedulers=8 warps_per_sm=64 blocks_per_sm=64",
      "lookahead=1",
      "global_queue=1 l1_misses=1 shared_queue=1 dram_queue=1 lookahead=64 schedulers=4",
      "global_queue=1 l1_misses=1 shared_queue=1 dram_queue=1 dispatch=2 return_cycles=1",
  };
  static const char *const gpus[] = {"machine hopper", "machine fermi", "elastic"};
  uint8_t *expected = malloc(SIM_BED_BYTES);
  assert_non_null(expected);
  emulate("stream", 16, 64, expected);
  for (unsigned g = 0; g < 3; g++)
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
      sim_bed own;
      bool is_in_order = strcmp(gpus[g], "elastic") == 0;
      if (is_in_order && (strstr(changes[i], "schedule") || strstr(changes[i], "dispatch") ||
                          strstr(changes[i], "lookahead")))
        continue; /* has no such thing */
      sim_bed_open(&own, program, gpus[g], "sms=2");
      sim_bed_set(&own, changes[i]);
      fill_memory(&own);
      own.settings.most_cycles = 10000000;
      bf_emu_launch launch = launch_of(&own, "stream", 16, 64);
      bf_sim_result result = sim_bed_simulate(&own, &launch);
      if (result.emu.fault.kind)
        fail_msg("%s, %s: %s", gpus[g], changes[i], result.emu.fault.text);
      assert_int_equal(result.blocks, 16);
      assert_memory_equal(expected, memory_of(&own), SIM_BED_BYTES);
      bf_arena_free(&result.arena);
      sim_bed_close(&own);
    }
  free(expected);
}

/* 64 warps on one multiprocessor, in blocks of one and of 32. */
static void full_multiprocessors(void **state) {
  (void)state;
  static const unsigned blocks[] = {1, 2, 64};
  for (unsigned k = 0; k < 3; k++) {
    sim_bed own;
    sim_bed_open(&own, program, "machine hopper",
                 "sms=1 blocks_per_sm=64 schedulers=4 registers_per_sm=1048576");
    unsigned threads = k == 0 ? 1024 : k == 1 ? 1024 : 32;
    bf_emu_launch launch = launch_of(&own, "tickets", blocks[k], threads);
    bf_sim_result result = sim_bed_simulate(&own, &launch);
    assert_int_equal(result.emu.fault.kind, BF_EMU_NO_FAULT);
    assert_int_equal(result.blocks_per_sm, k == 2 ? 64 : 2);
    assert_int_equal(result.emu.warp_instructions > 0, true);
    bf_arena_free(&result.arena);
    sim_bed_close(&own);
  }
}

/* ---- Launches that do not end well ---- */

static void assert_waits_at(const bf_sim_wait *wait, unsigned barrier) {
  assert_int_equal(wait->kind, BF_SIM_WAIT_OTHERS);
  assert_int_equal(wait->others.kind, BF_EMU_WAIT_BARRIER);
  assert_int_equal(wait->others.barrier, barrier);
  assert_true(wait->others.line > 0);
}

static void deadlocks_are_found(void **state) {
  (void)state;
  static const char *const gpus[] = {"machine hopper", "gtx580", "elastic", "8800gt"};
  for (unsigned g = 0; g < 4; g++) {
    sim_bed own;
    sim_bed_open(&own, program, gpus[g], "sms=2");
    bf_emu_launch launch = launch_of(&own, "stuck", 2, 128);
    bf_sim_result result = sim_bed_simulate(&own, &launch);
    assert_int_equal(result.emu.fault.kind, BF_EMU_DEADLOCK);
    assert_false(result.timed_out);
    assert_int_equal(result.waits, 8);
    assert_int_equal(result.warps_left, 8);
    assert_waits_at(sim_bed_wait(&result, 0, 0), 0);
    assert_waits_at(sim_bed_wait(&result, 0, 1), 2);
    assert_waits_at(sim_bed_wait(&result, 1, 3), 2);
    assert_non_null(strstr(result.emu.fault.text, "block 0, warp 0 waits at barrier 0 (line "));
    assert_non_null(strstr(result.emu.fault.text, "; block 0, warp 1 waits at barrier 2 (line "));
    assert_string_equal(result.emu.fault.kernel, "stuck");
    bf_arena_free(&result.arena);
    /* More warps than are named one by one. */
    launch = launch_of(&own, "stuck", 3, 160);
    result = sim_bed_simulate(&own, &launch);
    assert_int_equal(result.waits, 8);
    assert_int_equal(result.warps_left, 15);
    bf_arena_free(&result.arena);
    sim_bed_close(&own);
  }
}

static void waits_are_explained(void **state) {
  (void)state;
  static const struct {
    bf_sim_wait wait;
    const char *text;
  } rows[] = {
      {{.kind = BF_SIM_WAIT_NOTHING}, "is ready"},
      {{.kind = BF_SIM_WAIT_READY, .cycle = 5104}, "is ready in cycle 5104"},
      {{.kind = BF_SIM_WAIT_ASLEEP, .cycle = 7}, "goes on in cycle 7"},
      {{.kind = BF_SIM_WAIT_GLOBAL}, "waits for global memory"},
      {{.kind = BF_SIM_WAIT_PIPELINE}, "waits for its instructions in the pipeline"},
      {{.kind = BF_SIM_WAIT_OTHERS, .others = {BF_EMU_WAIT_BARRIER, 2, 13}},
       "waits at barrier 2 (line 13)"},
      {{.kind = BF_SIM_WAIT_OTHERS, .others = {BF_EMU_WAIT_LANES, 0, 4}},
       "waits for other lanes (line 4)"},
      {{.kind = BF_SIM_WAIT_OTHERS, .others = {BF_EMU_WAIT_NOTHING, 0, 9}}, "is ready (line 9)"},
      {{.kind = BF_SIM_WAIT_OTHERS, .others = {BF_EMU_WAIT_ENDED, 0, 0}}, "has ended"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_sim_wait wait = rows[i].wait;
    bf_text text = {0}, wanted = {0};
    wait.block = UINT64_C(1) << 40;
    wait.warp = 3;
    bf_sim_wait_explain(&wait, &text);
    bf_text_addf(&wanted, "block 1099511627776, warp 3 %s", rows[i].text);
    assert_string_equal(text.data, wanted.data);
    bf_text_free(&text);
    bf_text_free(&wanted);
  }
}

static void the_most_cycles(void **state) {
  (void)state;
  for (unsigned workers = 1; workers <= 2; workers++) {
    sim_bed own;
    sim_bed_open(&own, program, "machine hopper", "sms=2");
    own.settings.most_cycles = 20000;
    own.settings.workers = workers;
    bf_emu_launch launch = launch_of(&own, "spin", 2, 64);
    bf_sim_result result = sim_bed_simulate(&own, &launch);
    assert_true(result.timed_out);
    assert_int_equal(result.emu.fault.kind, BF_EMU_DEADLOCK);
    assert_non_null(strstr(result.emu.fault.text, "not done after the most cycles allowed"));
    sim_bed_wait(&result, 1, 1);
    bf_arena_free(&result.arena);
    sim_bed_close(&own);
  }
}

typedef struct stopping {
  unsigned calls;
  uint64_t most_done;
} stopping;

static bool stop_after_some(void *context, uint64_t done, uint64_t blocks) {
  stopping *own = context;
  assert_true(done <= blocks);
  own->most_done = done;
  return ++own->calls < 5;
}

static void launches_can_be_stopped(void **state) {
  (void)state;
  static const char *const changes[] = {"sms=2", "sms=2 return_cycles=1000 request_cycles=2000",
                                        "sms=2 pipeline=elastic"};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    sim_bed own;
    stopping stop = {0};
    sim_bed_open(&own, program, "machine simd8", changes[i]);
    bf_emu_launch launch = launch_of(&own, "spin", 3, 64);
    launch.progress = stop_after_some;
    launch.progress_context = &stop;
    bf_sim_result result = sim_bed_simulate(&own, &launch);
    assert_int_equal(result.emu.fault.kind, BF_EMU_INTERRUPTED);
    assert_int_equal(stop.calls, 5);
    assert_int_equal(stop.most_done, 0);
    bf_arena_free(&result.arena);
    sim_bed_close(&own);
  }
}

static void faults_end_the_launch(void **state) {
  (void)state;
  for (unsigned workers = 1; workers <= 3; workers++) {
    sim_bed own;
    sim_bed_open(&own, program, "machine hopper", "sms=3");
    own.settings.workers = workers;
    bf_emu_launch launch = launch_of(&own, "wild", 3, 64);
    bf_sim_result result = sim_bed_simulate(&own, &launch);
    assert_int_equal(result.emu.fault.kind, BF_EMU_OUT_OF_BOUNDS);
    assert_true(result.emu.fault.line > 0 && result.emu.fault.thread[0] > 0);
    assert_int_equal(result.waits + result.warps_left, 0);
    bf_arena_free(&result.arena);
    sim_bed_close(&own);
  }
}

/* Runs a launch that is refused and compares the reason. */
static void check_refused(sim_bed *own, const bf_emu_launch *launch, const char *reason) {
  bf_diagnostic diagnostic = {0};
  bf_sim_result result;
  assert_int_equal(bf_sim_run(&own->settings, own->at.emu, launch, &result, &diagnostic),
                   BF_BAD_INPUT);
  if (!strstr(diagnostic.message, reason))
    fail_msg("%s", diagnostic.message);
}

/* Registers are an estimate: a block that would fit but for these gets a multiprocessor to itself,
 * unless machine code says how many there are. */
static void estimates_refuse_nothing(void **state) {
  (void)state;
  sim_bed own;
  sim_bed_open(&own, program, "machine hopper",
               "sms=2 warps_per_sm=64 registers_per_thread=255 registers_per_sm=8192");
  bf_emu_launch launch = launch_of(&own, "stream", 3, 1024);
  bf_emu_needs needs = *bf_emu_kernel_needs(launch.kernel);
  const char *limit = "";
  assert_true(needs.registers * 1024 > 8192 && !needs.has_registers);
  assert_int_equal(bf_sim_fit(own.settings.gpu, &needs, &launch, &limit), 1);
  assert_string_equal(limit, "registers");
  bf_sim_result result = sim_bed_simulate(&own, &launch);
  assert_int_equal(result.blocks_per_sm, 1);
  bf_arena_free(&result.arena);
  needs.has_registers = true;
  assert_int_equal(bf_sim_fit(own.settings.gpu, &needs, &launch, &limit), 0);
  assert_string_equal(limit, "registers");
  sim_bed_close(&own);
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  sim_bed own;
  sim_bed_open(&own, program, "machine hopper", "sms=2 warps_per_sm=4 shared_bytes_per_sm=8192");
  bf_emu_launch launch = launch_of(&own, "stream", 1, 160);
  check_refused(&own, &launch, "cannot hold one of its blocks: too little room for warps");
  launch = launch_of(&own, "stream", 1, 64);
  launch.dynamic_shared_bytes = 16;
  check_refused(&own, &launch, "too little room for shared memory");
  launch = launch_of(&own, "tickets", 5, 64);
  launch.cooperative = true;
  check_refused(&own, &launch, "a cooperative launch of 5 blocks does not fit on test at once");
  launch = launch_of(&own, "tickets", 4, 64);
  launch.cooperative = true;
  bf_sim_result result = sim_bed_simulate(&own, &launch);
  assert_int_equal(result.emu.fault.kind, BF_EMU_NO_FAULT);
  bf_arena_free(&result.arena);
  launch = launch_of(&own, "tickets", 0, 64);
  check_refused(&own, &launch, "must be positive");
  launch = launch_of(&own, "tickets", 1, 0);
  check_refused(&own, &launch, "must be positive");
  launch = launch_of(&own, "tickets", 1, 32);
  launch.parameter_bytes = 4;
  check_refused(&own, &launch, "4 bytes of parameters");
  sim_bed_close(&own);
}

/* Blocks of a cooperative launch wait for each other: all are there at once. */
static void cooperative_launches(void **state) {
  (void)state;
  sim_bed own;
  sim_bed_open(&own, program, "machine hopper", "sms=4 blocks_per_sm=4");
  bf_emu_launch launch = launch_of(&own, "relay", 16, 32);
  launch.cooperative = true;
  bf_sim_result result = sim_bed_simulate(&own, &launch);
  assert_int_equal(result.emu.fault.kind, BF_EMU_NO_FAULT);
  const uint32_t *out = (const uint32_t *)(const void *)memory_of(&own);
  for (uint32_t i = 0; i < 512; i++)
    assert_int_equal(out[i], (i / 32 + 1) * (i % 32 + 1));
  bf_arena_free(&result.arena);
  sim_bed_close(&own);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_number_of_threads),
      cmocka_unit_test(blocks_hand_over),
      cmocka_unit_test(least_sizes),
      cmocka_unit_test(full_multiprocessors),
      cmocka_unit_test(deadlocks_are_found),
      cmocka_unit_test(waits_are_explained),
      cmocka_unit_test(the_most_cycles),
      cmocka_unit_test(launches_can_be_stopped),
      cmocka_unit_test(faults_end_the_launch),
      cmocka_unit_test(estimates_refuse_nothing),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(cooperative_launches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
