/* Several warps, blocks and multiprocessors: which warp a scheduler chooses, barriers, what fits,
 * what follows what, and what schedulers did with their turns. */
#include "sim_bed.h"

/* Warps that issued, in the order of cycles, as text: "0 1 2". */
static void order_of_warps(const sim_bed *own, unsigned most, bf_text *text) {
  for (unsigned i = 0; i < own->events && i < most; i++)
    bf_text_addf(text, "%s%u", text->size ? " " : "", own->event[i].slot);
}

static void check_order(const sim_bed *own, unsigned most, const char *expected) {
  bf_text text = {0};
  order_of_warps(own, most, &text);
  assert_string_equal(text.data, expected);
  bf_text_free(&text);
}

static uint64_t all_stalls(const bf_sim_result *result) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < BF_SIM_STALLS; i++)
    sum += result->stalls[i];
  return sum;
}

#define THREE_ADDS "add.s32 %r1, %r0, 1;\nadd.s32 %r2, %r0, 1;\nadd.s32 %r3, %r0, 1;\nret;"

/* ---- Schedulers ---- */

/* Four warps that are always ready. */
static void schedulers_choose(void **state) {
  (void)state;
  static const struct {
    const char *changes, *order;
  } rows[] = {
      {"scheduler=lrr", "0 1 2 3 0 1 2 3 0 1 2 3"},
      {"scheduler=gto", "0 0 0 0 1 1 1 1 2 2 2 2"},
      {"scheduler=oldest", "0 0 0 0 1 1 1 1 2 2 2 2"},
      /* Two at a time, in turn; the next ones when they have ended. */
      {"scheduler=two-level active_warps=2", "0 1 0 1 0 1 0 1 2 3 2 3"},
      {"scheduler=two-level active_warps=3", "0 1 2 0 1 2 0 1 2 0 1 2"},
      {"scheduler=conflict-aware", "0 1 2 3 0 1 2 3 0 1 2 3"},
      /* Warps 0 and 2 belong to scheduler 0. */
      {"scheduler=gto schedulers=2", "0 1 0 1 0 1 0 1 2 3 2 3"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    sim_bed own;
    sim_bed_make(&own, THREE_ADDS, rows[i].changes);
    sim_bed_run(&own, "made", 1, 128);
    check_order(&own, 12, rows[i].order);
    sim_bed_close(&own);
  }
}

/* Greedy: the same warp while it can, then the oldest; "oldest" goes back to warp 0 as soon as it
 * can go on. */
static void greedy_is_not_oldest(void **state) {
  (void)state;
  static const char lines[] = "add.s32 %r1, %r0, 1;\nadd.s32 %r2, %r1, 1;\nadd.s32 %r3, %r0, 1;\n"
                              "add.s32 %r4, %r0, 1;\nadd.s32 %r5, %r0, 1;\nret;";
  static const struct {
    const char *changes, *order;
  } rows[] = {
      /* Warp 1 issues at 1 and waits; warp 0 is ready again at 3. */
      {"int_cycles=3 scheduler=gto", "0 1 0 0 0 0 0 1 1 1 1 1"},
      {"int_cycles=3 scheduler=oldest", "0 1 0 0 0 0 0 1 1 1 1 1"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    sim_bed own;
    sim_bed_make(&own, lines, rows[i].changes);
    sim_bed_run(&own, "made", 1, 64);
    check_order(&own, 12, rows[i].order);
    sim_bed_close(&own);
  }
  /* Warp 0 comes back while warp 1 runs on: only greedy stays with warp 1. */
  static const char apart[] = "mov.u32 %r0, %tid.x;\nsetp.lt.u32 %p1, %r0, 32;\n"
                              "@%p1 bra long;\nadd.s32 %r1, %r0, 1;\nadd.s32 %r2, %r0, 1;\n"
                              "add.s32 %r3, %r0, 1;\nadd.s32 %r4, %r0, 1;\nadd.s32 %r5, %r0, 1;\n"
                              "ret;\nlong:\nadd.s32 %r6, %r0, 1;\nret;";
  sim_bed own;
  sim_bed_make(&own, apart, "int_cycles=1 branch_cycles=4 scheduler=gto");
  sim_bed_run(&own, "made", 1, 64);
  /* setp, bra of warp 0 (cycles 0, 1); of warp 1 (2, 3); warp 0 at 5, 6; then warp 1. */
  check_order(&own, 8, "0 0 1 1 0 0 1 1");
  sim_bed_close(&own);
}

/* While shared memory is busy, others go first. */
static void conflict_aware_keeps_accesses_back(void **state) {
  (void)state;
  static const char lines[] =
      "mov.u32 %r9, words;\nmov.u32 %r0, %tid.x;\nand.b32 %r1, %r0, 31;\nshl.b32 %r1, %r1, 7;\n"
      "setp.lt.u32 %p1, %r0, 64;\n@%p1 bra access;\n"
      "add.s32 %r2, %r0, 1;\nadd.s32 %r3, %r0, 1;\nadd.s32 %r4, %r0, 1;\nret;\n"
      "access:\nst.shared.u32 [%r1], %r0;\nret;";
  sim_bed own;
  sim_bed_make(&own, lines,
               "int_cycles=1 branch_cycles=0 scheduler=conflict-aware shared_store_most_cycles=1");
  sim_bed_run(&own, "made", 1, 96);
  /* Four instructions in turn, then: the store of warp 0, the arithmetic of warp 2, and only then
   * the store of warp 1, whose turn it was. */
  check_order(&own, 18, "0 1 2 0 1 2 0 1 2 0 1 2 0 2 0 2 2 2");
  sim_bed_set(&own, "scheduler=lrr");
  sim_bed_run(&own, "made", 1, 96);
  check_order(&own, 18, "0 1 2 0 1 2 0 1 2 0 1 2 0 1 2 0 1 2");
  sim_bed_close(&own);
}

/* ---- Barriers ---- */

/* The last of the warps to arrive lets all go, barrier_cycles later. */
static void barriers_wait_for_the_last(void **state) {
  (void)state;
  sim_bed own;
  sim_bed_make(&own, "bar.sync 0;\nadd.s32 %r1, %r0, 1;\nret;", "barrier_cycles=20");
  bf_sim_result result = sim_bed_run(&own, "made", 1, 96);
  for (unsigned i = 0; i < 3; i++) {
    assert_int_equal(own.event[i].issued, i);
    assert_int_equal(own.event[3 + i].issued, 22 + i); /* the last one came at 2 */
  }
  assert_int_equal(result.stalls[BF_SIM_DEPENDENCY], 19);
  sim_bed_close(&own);
}

/* Warps that end, with or without an instruction for it, let go those who wait for all. */
static void ends_free_those_who_wait(void **state) {
  (void)state;
  static const char *const ends[] = {
      "setp.ge.u32 %p1, %r0, 32;\n@%p1 exit;\nbar.sync 0;\nst.global.u32 [%d0], %r0;\nret;",
      "setp.ge.u32 %p1, %r0, 32;\n@%p1 bra end;\nbar.sync 0;\nst.global.u32 [%d0], %r0;\nend:",
      /* Some lanes of a warp fall off the end while others go on. */
      "and.b32 %r1, %r0, 31;\nsetp.ge.u32 %p1, %r1, 16;\n@%p1 bra end;\nbar.sync 0;\nend:",
      /* The barrier is the last thing of all. */
      "setp.ge.u32 %p1, %r0, 32;\n@%p1 bra end;\nst.global.u32 [%d0], %r0;\nbar.sync 0;\nend:",
  };
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    static const char *const gpus[] = {"machine hopper", "elastic"};
    for (unsigned k = 0; k < 2; k++) {
      bf_text lines = {0}, text = {0};
      bf_text_addf(&lines, "mov.u32 %%r0, %%tid.x;\n%s", ends[i]);
      sim_bed_kernel(&text, lines.data);
      sim_bed own;
      sim_bed_open(&own, text.data, gpus[k], "sms=1");
      bf_sim_result result = sim_bed_run(&own, "made", 3, 96);
      assert_int_equal(result.blocks, 3);
      sim_bed_close(&own);
      bf_text_free(&lines);
      bf_text_free(&text);
    }
  }
}

/* A warp that comes out of a barrier, or is in a loop with locks, does not go on before that only
 * because a load that it needs has come. */
static void loads_do_not_shorten_barriers(void **state) {
  (void)state;
  sim_bed own;
  sim_bed_make(&own, "ld.global.u32 %r1, [%d0];\nbar.sync 0;\nadd.s32 %r2, %r1, 1;\nret;",
               "barrier_cycles=1000");
  sim_bed_run(&own, "made", 1, 32);
  assert_int_equal(own.event[own.events - 2].issued, 1 + 1000);
  sim_bed_close(&own);
}

/* Asynchronous copies are there when wait_all, or wait_group 0, lets the warp go on. */
static void copies_are_waited_for(void **state) {
  (void)state;
  static const char *const waits[] = {"cp.async.wait_all;", "cp.async.wait_group 0;",
                                      "cp.async.wait_group 1;"};
  uint64_t issued[3];
  for (unsigned i = 0; i < 3; i++) {
    bf_text lines = {0};
    bf_text_addf(&lines,
                 "cp.async.ca.shared.global [words], [%%d0], 4;\ncp.async.commit_group;\n%s\n"
                 "add.s32 %%r1, %%r0, 1;\nret;",
                 waits[i]);
    sim_bed own;
    sim_bed_make(&own, lines.data, "request_cycles=300 return_cycles=300");
    sim_bed_run(&own, "made", 1, 32);
    issued[i] = own.event[own.events - 2].issued; /* before ret */
    sim_bed_close(&own);
    bf_text_free(&lines);
  }
  assert_true(issued[0] > 600 && issued[1] == issued[0]);
  assert_true(issued[2] < 100);
}

/* ---- What fits ---- */

static void occupancy(void **state) {
  (void)state;
  static const struct {
    const char *changes;
    unsigned threads, blocks;
    const char *limit;
  } rows[] = {
      {"blocks_per_sm=3", 32, 3, "blocks"},
      {"warps_per_sm=64 blocks_per_sm=64", 128, 16, "warps"},
      {"warps_per_sm=64 blocks_per_sm=64", 100, 16, "warps"},
      {"warps_per_sm=9 blocks_per_sm=64", 128, 2, "warps"},
      /* 16384 bytes of shared memory for each block. */
      {"shared_bytes_per_sm=49152 blocks_per_sm=64", 32, 3, "shared memory"},
      {"shared_bytes_per_sm=49151 blocks_per_sm=64", 32, 2, "shared memory"},
      {"shared_bytes_per_sm=49152 shared_granule=3072", 32, 2, "shared memory"},
      {"shared_bytes_per_sm=49152 shared_block_bytes=16 blocks_per_sm=64", 32, 2, "shared memory"},
      /* A granule of registers for each warp. */
      {"registers_per_thread=16 registers_per_sm=2048 register_granule=512", 64, 2, "registers"},
      {"registers_per_thread=16 registers_per_sm=2048 register_granule=1024", 64, 1, "registers"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    sim_bed own;
    bool has_shared = strcmp(rows[i].limit, "shared memory") == 0;
    sim_bed_make(&own, has_shared ? "st.shared.u32 [words], %r0;\nret;" : "ret;", rows[i].changes);
    bf_sim_result result = sim_bed_run(&own, "made", 40, rows[i].threads);
    assert_int_equal(result.blocks_per_sm, rows[i].blocks);
    assert_string_equal(result.occupancy_limit, rows[i].limit);
    assert_int_equal(result.blocks, 40);
    sim_bed_close(&own);
  }
}

/* A block takes the place of one that has ended after block_launch_cycles. */
static void blocks_follow_each_other(void **state) {
  (void)state;
  static const unsigned launch_cycles[] = {1, 37, 200, 100000};
  for (unsigned k = 0; k < 4; k++) {
    sim_bed own;
    char changes[80];
    snprintf(changes, sizeof changes, "blocks_per_sm=1 block_launch_cycles=%u", launch_cycles[k]);
    sim_bed_make(&own, "add.s32 %r1, %r0, 1;\nret;", changes);
    bf_sim_result result = sim_bed_run(&own, "made", 5, 32);
    for (unsigned i = 0; i < 5; i++) {
      assert_int_equal(own.event[2 * i].block, i);
      assert_int_equal(own.event[2 * i].issued, i * (1 + launch_cycles[k]));
      assert_int_equal(own.event[2 * i + 1].issued, i * (1 + launch_cycles[k]) + 1);
    }
    assert_int_equal(result.cycles, 4 * (1 + launch_cycles[k]) + 1);
    sim_bed_close(&own);
  }
}

/* Blocks are dealt to multiprocessors in turn, and then to whoever is done first. */
static void blocks_go_to_who_is_free(void **state) {
  (void)state;
  sim_bed own;
  sim_bed_make(&own,
               "mov.u32 %r0, %ctaid.x;\nsetp.ne.u32 %p1, %r0, 1;\n@%p1 bra end;\n"
               "div.u32 %r1, %r0, 3;\ndiv.u32 %r2, %r1, 3;\ndiv.u32 %r3, %r2, 3;\nend:\nret;",
               "sms=3 blocks_per_sm=1 division_instructions=100 block_launch_cycles=10");
  bf_sim_result result = sim_bed_run(&own, "made", 7, 32);
  assert_int_equal(result.sms, 3);
  unsigned sm_of[7] = {0};
  for (unsigned i = 0; i < own.events; i++)
    sm_of[own.event[i].block] = own.event[i].sm;
  static const unsigned expected[7] = {0, 1, 2, 0, 2, 0, 2};
  for (unsigned i = 0; i < 7; i++)
    assert_int_equal(sm_of[i], expected[i]);
  sim_bed_close(&own);
}

/* ---- Turns ---- */

/* Every turn of every scheduler is an issue or has a reason, and turns are cycles; the last
 * instruction's turn reaches past the last cycle. */
static void turns_are_accounted_for(void **state) {
  (void)state;
  static const char *const changes[] = {"schedulers=1",       "schedulers=4",
                                        "schedulers=3 sms=2", "schedulers=2 issue_cycles=2",
                                        "l1_bytes=16384",     "dispatch=2 schedulers=2",
                                        "return_cycles=1000"};
  static const char lines[] =
      "mov.u32 %r9, words;\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\n"
      "add.s64 %d2, %d0, %d1;\nld.global.u32 %r1, [%d2];\nshl.b32 %r2, %r0, 5;\n"
      "and.b32 %r2, %r2, 8191;\nst.shared.u32 [%r2], %r1;\nbar.sync 0;\nld.shared.u32 %r3, [%r2];\n"
      "div.u32 %r4, %r3, 7;\nadd.f32 %f1, %f0, %f0;\nst.global.u32 [%d2], %r4;\nret;";
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    sim_bed own;
    sim_bed_make(&own, lines, changes[i]);
    bf_sim_result result = sim_bed_run(&own, "made", 5, 128);
    uint64_t least = result.cycles * own.gpu->schedulers * result.sms;
    uint64_t issues = result.turns - all_stalls(&result);
    assert_true(result.turns >= least);
    assert_true(result.turns <= least + own.gpu->schedulers * result.sms * own.gpu->issue_cycles);
    /* Division takes division_instructions turns; two may share one. */
    uint64_t slots = result.issued + 20 * (own.gpu->division_instructions - 1);
    if (own.gpu->dispatch == 1)
      assert_int_equal(issues, slots * own.gpu->issue_cycles);
    else
      assert_true(issues < slots);
    sim_bed_close(&own);
  }
}

static void stalls_have_reasons(void **state) {
  (void)state;
  static const struct {
    const char *changes, *lines;
    unsigned threads;
    bf_sim_stall reason;
  } rows[] = {
      {"int_cycles=100", "add.s32 %r1, %r0, 1;\nadd.s32 %r2, %r1, 1;\nret;", 32, BF_SIM_DEPENDENCY},
      {"int_lanes=1", "add.s32 %r1, %r0, 1;\nadd.s32 %r2, %r0, 1;\nret;", 32, BF_SIM_UNIT},
      {"return_cycles=100", "ld.global.u32 %r1, [%d0];\nadd.s32 %r2, %r1, 1;\nret;", 32,
       BF_SIM_GLOBAL},
      {"shared_queue=1",
       "mov.u32 %r9, words;\nmov.u32 %r0, %tid.x;\nshl.b32 %r1, %r0, 7;\n"
       "st.shared.u32 [%r1], %r0;\nst.shared.u32 [%r1], %r0;\nst.shared.u32 [%r1], %r0;\nret;",
       32, BF_SIM_CONFLICT},
      {"global_queue=1", "ld.global.u32 %r1, [%d0];\nld.global.u32 %r2, [%d0+128];\nret;", 32,
       BF_SIM_OTHER},
      {"schedulers=4 launch_cycles=1000", "add.s32 %r1, %r0, 1;\nadd.s32 %r2, %r1, 1;\nret;", 32,
       BF_SIM_EMPTY},
      /* Scheduler 0 waits for its one warp's load, and at the barrier is scheduler 1's. */
      {"schedulers=2",
       "mov.u32 %r0, %tid.x;\nsetp.ge.u32 %p1, %r0, 32;\n@%p1 bra on;\n"
       "ld.global.u32 %r1, [%d0];\nadd.s32 %r2, %r1, 1;\non: bar.sync 0;\nret;",
       64, BF_SIM_BARRIER},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    sim_bed own;
    sim_bed_make(&own, rows[i].lines, rows[i].changes);
    bf_sim_result result = sim_bed_run(&own, "made", 1, rows[i].threads);
    uint64_t own_share = result.stalls[rows[i].reason];
    if (own_share == 0 || 3 * own_share < all_stalls(&result))
      fail_msg("row %d: %d of %d stalls", (int)i, (int)own_share, (int)all_stalls(&result));
    sim_bed_close(&own);
  }
}

/* Nobody could issue before the first block has begun: that is not counted. */
static void launching_is_no_stall(void **state) {
  (void)state;
  uint64_t stalls[2];
  for (unsigned i = 0; i < 2; i++) {
    sim_bed own;
    sim_bed_make(&own, "add.s32 %r1, %r0, 1;\nadd.s32 %r2, %r1, 1;\nret;",
                 i ? "launch_cycles=1000" : "launch_cycles=0");
    bf_sim_result result = sim_bed_run(&own, "made", 1, 32);
    stalls[i] = all_stalls(&result);
    sim_bed_close(&own);
  }
  assert_int_equal(stalls[0], stalls[1]);
}

/* ---- Lookahead ---- */

/* Instructions that need loads do not keep back those behind them; what is computed is the same. */
static void lookahead(void **state) {
  (void)state;
  bf_text lines = {0};
  bf_text_puts(&lines, "mov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\nadd.s64 %d2, %d0, %d1;\n");
  for (unsigned i = 0; i < 8; i++)
    bf_text_addf(&lines,
                 "ld.global.u32 %%r%u, [%%d2+%u];\nadd.s32 %%r%u, %%r%u, %u;\n"
                 "st.global.u32 [%%d2+%u], %%r%u;\n",
                 10 + i, 512 * i, 20 + i, 10 + i, i, 4096 + 512 * i, 20 + i);
  bf_text_puts(&lines, "bar.sync 0;\nret;");
  uint64_t cycles[3];
  static const char *const changes[3] = {"lookahead=0", "lookahead=4", "lookahead=64"};
  uint8_t *first = malloc(SIM_BED_BYTES);
  assert_non_null(first);
  for (unsigned k = 0; k < 3; k++) {
    sim_bed own;
    sim_bed_make(&own, lines.data, changes[k]);
    for (unsigned i = 0; i < 1024; i++)
      ((uint32_t *)(uintptr_t)own.memory)[i] = 7 * i;
    bf_sim_result result = sim_bed_run(&own, "made", 1, 128);
    cycles[k] = result.cycles;
    if (k == 0)
      memcpy(first, (void *)(uintptr_t)own.memory, SIM_BED_BYTES);
    assert_memory_equal(first, (void *)(uintptr_t)own.memory, SIM_BED_BYTES);
    assert_int_equal(((uint32_t *)(uintptr_t)own.memory)[1024 + 128 * 3 + 5],
                     7 * (128 * 3 + 5) + 3);
    sim_bed_close(&own);
  }
  assert_true(cycles[1] <= cycles[0] && cycles[2] <= cycles[1]);
  assert_true(3 * cycles[2] < cycles[0]);
  free(first);
  bf_text_free(&lines);
}

/* ---- Order between multiprocessors ---- */

/* Each block of one warp takes a number from a counter; later blocks come to it earlier. */
static void ordered_by_cycles_then_numbers(void **state) {
  (void)state;
  static const char lines[] =
      "mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %nctaid.x;\nsub.s32 %r2, %r1, %r0;\n"
      "shr.u32 %r2, %r2, 1;\nagain: sub.s32 %r2, %r2, 1;\nsetp.ge.s32 %p1, %r2, 0;\n"
      "@%p1 bra again;\nmov.u32 %r5, %tid.x;\nsetp.ne.u32 %p2, %r5, 0;\n@%p2 bra end;\n"
      "atom.global.add.u32 %r3, [%d0], 1;\nmul.wide.u32 %d1, %r0, 4;\nadd.s64 %d2, %d0, %d1;\n"
      "st.global.u32 [%d2+4], %r3;\nend:\nret;";
  sim_bed own;
  sim_bed_make(&own, lines, "sms=8 blocks_per_sm=1");
  bf_sim_result result = sim_bed_run(&own, "made", 8, 32);
  assert_int_equal(result.sms, 8);
  const uint32_t *number = (const uint32_t *)(uintptr_t)own.memory + 1;
  /* Blocks 7 (one round less); then 5 and 6, 3 and 4, 1 and 2 together; then 0. */
  static const uint32_t expected[8] = {7, 5, 6, 3, 4, 1, 2, 0};
  for (unsigned i = 0; i < 8; i++)
    assert_int_equal(number[i], expected[i]);
  sim_bed_close(&own);
}

/* Cycles of a load that waits for the one before it: of 48 and of 16 in a row. */
static double chain_cycles(const char *gpu, const char *load) {
  static sim_bed own;
  uint64_t cycles[2];
  for (unsigned i = 0; i < 2; i++) {
    bf_text lines = {0}, text = {0};
    bf_text_puts(&lines, "mov.u64 %d1, %d0;\nmov.u32 %r1, words;\nst.shared.u32 [%r1], %r1;\n");
    for (unsigned k = 0; k < (i ? 48U : 16U); k++)
      bf_text_puts(&lines, load);
    bf_text_puts(&lines, "st.global.u64 [%d1+8], %d1;\nst.global.u32 [%d0+16], %r1;\nret;");
    sim_bed_kernel(&text, lines.data);
    sim_bed_open(&own, text.data, gpu, "");
    memcpy((void *)(uintptr_t)own.memory, &own.memory, sizeof own.memory);
    cycles[i] = sim_bed_run(&own, "made", 1, 1).cycles;
    sim_bed_close(&own);
    bf_text_free(&lines);
    bf_text_free(&text);
  }
  return (double)(cycles[1] - cycles[0]) / 32;
}

/* What was published of a GPU's latencies is what chains of loads take. */
static void latencies_are_those_published(void **state) {
  (void)state;
  static const struct {
    const char *gpu, *load;
    double cycles;
  } rows[] = {{"v100", "ld.shared.u32 %r1, [%r1];\n", 19},
              {"v100", "ld.global.u64 %d1, [%d1];\n", 28},
              {"v100", "ld.global.cg.u64 %d1, [%d1];\n", 193},
              {"h200", "ld.global.u64 %d1, [%d1];\n", 40}};
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    double found = chain_cycles(rows[i].gpu, rows[i].load);
    if (found < rows[i].cycles - 2 || found > rows[i].cycles + 2)
      fail_msg("%s, %s%g", rows[i].gpu, rows[i].load, found);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(schedulers_choose),
      cmocka_unit_test(greedy_is_not_oldest),
      cmocka_unit_test(conflict_aware_keeps_accesses_back),
      cmocka_unit_test(barriers_wait_for_the_last),
      cmocka_unit_test(ends_free_those_who_wait),
      cmocka_unit_test(loads_do_not_shorten_barriers),
      cmocka_unit_test(copies_are_waited_for),
      cmocka_unit_test(occupancy),
      cmocka_unit_test(blocks_follow_each_other),
      cmocka_unit_test(blocks_go_to_who_is_free),
      cmocka_unit_test(turns_are_accounted_for),
      cmocka_unit_test(stalls_have_reasons),
      cmocka_unit_test(launching_is_no_stall),
      cmocka_unit_test(lookahead),
      cmocka_unit_test(ordered_by_cycles_then_numbers),
      cmocka_unit_test(latencies_are_those_published),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
