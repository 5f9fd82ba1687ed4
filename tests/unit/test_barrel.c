/* Multiprocessors with in-order pipelines: exact cycles of single warps, what each cycle of the
 * front was used for, conflict-aware scheduling, and everything that can be full. */
#include "emu.h"

#include "kernels/devices.h"
#include "sim/sim.h"

#include <string.h>

/* Kernels write results + 4 * thread of the grid. "chain": eight instructions that need each other;
 * "row": eight that do not. "stride": every lane stores to word thread * %1, then loads it back.
 */
static const char program[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry chain()\n{\n"
    "  .reg .b32 %r<9>;\n"
    "  add.s32 %r0, 1, 2;\n  add.s32 %r1, %r0, 2;\n  add.s32 %r2, %r1, 2;\n"
    "  add.s32 %r3, %r2, 2;\n  add.s32 %r4, %r3, 2;\n  add.s32 %r5, %r4, 2;\n"
    "  add.s32 %r6, %r5, 2;\n  add.s32 %r7, %r6, 2;\n"
    "  ret;\n}\n"
    ".visible .entry row()\n{\n"
    "  .reg .b32 %r<9>;\n"
    "  add.s32 %r0, 1, 2;\n  add.s32 %r1, 2, 2;\n  add.s32 %r2, 3, 2;\n"
    "  add.s32 %r3, 4, 2;\n  add.s32 %r4, 5, 2;\n  add.s32 %r5, 6, 2;\n"
    "  add.s32 %r6, 7, 2;\n  add.s32 %r7, 8, 2;\n"
    "  ret;\n}\n"
    /* Every lane stores to word thread * stride; then 64 additions. */
    ".visible .entry stride(.param .u32 stride)\n{\n"
    "  .reg .b32 %r<9>;\n  .shared .align 4 .b8 words[8192];\n"
    "  ld.param.u32 %r1, [stride];\n"
    "  mov.u32 %r2, %tid.x;\n"
    "  mul.lo.s32 %r3, %r1, %r2;\n"
    "  and.b32 %r3, %r3, 2047;\n"
    "  shl.b32 %r3, %r3, 2;\n"
    "  mov.u32 %r4, words;\n"
    "  add.s32 %r4, %r4, %r3;\n"
    "  st.shared.u32 [%r4], %r2;\n"
    "  ret;\n}\n"
    /* Loops over a store with conflicts, one without, and some arithmetic. */
    ".visible .entry loop(.param .u32 rounds)\n{\n"
    "  .reg .b32 %r<12>;\n  .reg .pred %p<2>;\n  .shared .align 4 .b8 words[8192];\n"
    "  ld.param.u32 %r1, [rounds];\n"
    "  mov.u32 %r2, %tid.x;\n"
    "  shl.b32 %r3, %r2, 5;\n"
    "  and.b32 %r3, %r3, 8191;\n"
    "  shl.b32 %r4, %r2, 2;\n"
    "  mov.u32 %r5, words;\n"
    "  add.s32 %r3, %r5, %r3;\n"
    "  add.s32 %r4, %r5, %r4;\n"
    "again:\n"
    "  st.shared.u32 [%r3], %r1;\n"
    "  add.s32 %r6, %r1, 1;\n"
    "  add.s32 %r7, %r6, 1;\n"
    "  st.shared.u32 [%r4], %r7;\n"
    "  add.s32 %r8, %r7, 1;\n"
    "  add.s32 %r9, %r8, 1;\n"
    "  sub.s32 %r1, %r1, 1;\n"
    "  setp.ne.s32 %p1, %r1, 0;\n"
    "  @%p1 bra again;\n"
    "  ret;\n}\n"
    ".visible .entry forever()\n{\n  bar.sync 0, 64;\n  ret;\n}\n"
    /* Loads one word per thread and adds 1 to it. */
    ".visible .entry increment(.param .u64 at)\n{\n"
    "  .reg .b32 %r<9>;\n  .reg .b64 %d<4>;\n"
    "  ld.param.u64 %d0, [at];\n"
    "  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n"
    "  mad.lo.s32 %r3, %r1, %r2, %r0;\n"
    "  mul.wide.u32 %d1, %r3, 4;\n"
    "  add.s64 %d2, %d0, %d1;\n"
    "  ld.global.u32 %r4, [%d2];\n"
    "  add.s32 %r5, %r4, 1;\n"
    "  st.global.u32 [%d2], %r5;\n"
    "  ret;\n}\n"
    /* Every thread takes a number and stores 1 behind the counter, at its place. */
    ".visible .entry number(.param .u64 at)\n{\n"
    "  .reg .b32 %r<9>;\n  .reg .b64 %d<4>;\n"
    "  ld.param.u64 %d0, [at];\n"
    "  atom.global.add.u32 %r1, [%d0], 1;\n"
    "  mul.wide.u32 %d1, %r1, 4;\n"
    "  add.s64 %d2, %d0, %d1;\n"
    "  st.global.u32 [%d2+4], 1;\n"
    "  ret;\n}\n";

typedef struct setup {
  bed at;
  bf_sim_gpu *gpu;
  bf_sim_settings settings;
} setup;

/* The GPU of gou13 with one multiprocessor and the given changes, separated by spaces. */
static void open_setup(setup *own, const char *changes) {
  bf_diagnostic diagnostic = {0};
  char copy[300], *rest = NULL;
  snprintf(copy, sizeof copy, "sms=1 %s", changes);
  bed_open_text(&own->at, "barrel.ptx", program, strlen(program), NULL);
  assert_int_equal(bf_sim_gpu_load("elastic", &own->gpu, &diagnostic), BF_OK);
  for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
    if (bf_sim_gpu_set(own->gpu, word, &diagnostic))
      fail_msg("%s", diagnostic.message);
  own->settings = (bf_sim_settings){.gpu = own->gpu, .workers = 1};
}

static void close_setup(setup *own) {
  bf_sim_gpu_free(own->gpu);
  bed_close(&own->at);
}

static bf_sim_result simulate(setup *own, const bf_emu_launch *launch) {
  bf_diagnostic diagnostic = {0};
  bf_sim_result result;
  if (bf_sim_run(&own->settings, own->at.emu, launch, &result, &diagnostic))
    fail_msg("%s", diagnostic.message);
  return result;
}

static uint64_t all_stalls(const bf_sim_result *result) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < BF_SIM_STALLS; i++)
    sum += result->stalls[i];
  return sum;
}

/* Runs a kernel with one parameter of 32 bits. */
static bf_sim_result run_kernel(const char *changes, const char *name, unsigned threads,
                                uint32_t parameter) {
  setup own;
  open_setup(&own, changes);
  bf_emu_launch launch = bed_launch(&own.at, name, 1, threads, &parameter, sizeof parameter);
  if (strcmp(name, "chain") == 0 || strcmp(name, "row") == 0)
    launch.parameter_bytes = 0;
  bf_sim_result result = simulate(&own, &launch);
  assert_int_equal(result.emu.fault.kind, BF_EMU_NO_FAULT);
  assert_int_equal(result.turns, result.cycles);
  bf_arena_free(&result.arena);
  close_setup(&own);
  return result;
}

/* ---- Single warps, to the cycle ---- */

/* 24 stages and three more parts: an instruction every 27 cycles. Past the four memory stages of
 * the elastic pipeline: every 23. */
static void test_strict(void **state) {
  (void)state;
  bf_sim_result unified = run_kernel("pipeline=unified scheduler=lrr", "chain", 32, 0);
  bf_sim_result split = run_kernel("pipeline=split scheduler=lrr", "chain", 32, 0);
  bf_sim_result elastic = run_kernel("scheduler=lrr", "chain", 32, 0);
  assert_int_equal(unified.issued, 9);
  assert_int_equal(unified.cycles, 9 * 27 - 1);
  assert_int_equal(split.cycles, 9 * 27 - 1);
  assert_int_equal(elastic.cycles, 9 * 23 - 1);
  assert_int_equal(unified.stalls[BF_SIM_DEPENDENCY], 9 * 23 - 1);
  /* A whole warp at once. */
  bf_sim_result wide = run_kernel("pipeline=unified scheduler=lrr simd_width=32", "chain", 32, 0);
  assert_int_equal(wide.cycles, 9 * 24 - 1);
}

/* Instructions that do not need each other follow each other; the last one, which ends the warp,
 * too. */
static void test_relaxed(void **state) {
  (void)state;
  const char *relaxed = "pipeline=unified scheduler=lrr barrel=relaxed";
  assert_int_equal(run_kernel(relaxed, "row", 32, 0).cycles, 9 * 4 + 22);
  assert_int_equal(run_kernel(relaxed, "chain", 32, 0).cycles, 7 * 27 + 2 * 4 + 22);
}

/* A shared access takes MEM0 for the conflict degree of each of its four parts. */
static void test_conflicts(void **state) {
  (void)state;
  const char *kinds[] = {"pipeline=unified scheduler=lrr", "pipeline=split scheduler=lrr",
                         "scheduler=lrr", "scheduler=conflict-aware"};
  for (unsigned i = 0; i < 4; i++) {
    uint64_t none = run_kernel(kinds[i], "stride", 32, 1).cycles;
    for (uint32_t degree = 2; degree <= 8; degree *= 2) {
      bf_sim_result result = run_kernel(kinds[i], "stride", 32, degree);
      assert_int_equal(result.cycles, none + 4 * (degree - 1));
      assert_int_equal(result.shared_wavefronts, 4 * degree);
      assert_int_equal(result.shared_parts, 4);
      assert_int_equal(result.shared_lanes, 32);
    }
  }
}

/* Two words of a bank at a time. */
static void test_ports(void **state) {
  (void)state;
  uint64_t none = run_kernel("shared_ports=2", "stride", 32, 1).cycles;
  assert_int_equal(run_kernel("shared_ports=2", "stride", 32, 2).cycles, none);
  assert_int_equal(run_kernel("shared_ports=2", "stride", 32, 8).cycles, none + 4 * 3);
}

/* Hashed banks: one memory stage more, which other instructions of the elastic pipeline pass. */
static void test_hashed(void **state) {
  (void)state;
  uint32_t stride = 1;
  uint64_t cycles[2];
  for (unsigned i = 0; i < 2; i++) {
    setup own;
    bf_hash *hash = NULL;
    open_setup(&own, "scheduler=lrr");
    bf_geometry geometry = bf_machine_geometry(own.gpu->machine);
    assert_int_equal(bf_hash_parse("fixed", &geometry, &hash, NULL), BF_OK);
    own.settings.hash = i ? hash : NULL;
    bf_emu_launch launch = bed_launch(&own.at, "stride", 1, 32, &stride, sizeof stride);
    bf_sim_result result = simulate(&own, &launch);
    cycles[i] = result.cycles;
    bf_arena_free(&result.arena);
    bf_hash_free(hash);
    close_setup(&own);
  }
  assert_int_equal(cycles[1], cycles[0] + 1);
}

/* ---- Many warps ---- */

/* The unified pipeline stands still for every cycle that MEM0 is held too long, the elastic one
 * not where memory instructions keep the distance. */
static void test_many_warps(void **state) {
  (void)state;
  bf_sim_result unified = run_kernel("pipeline=unified scheduler=lrr", "loop", 512, 20);
  bf_sim_result elastic = run_kernel("scheduler=lrr", "loop", 512, 20);
  bf_sim_result aware = run_kernel("scheduler=conflict-aware", "loop", 512, 20);
  assert_int_equal(unified.issued, elastic.issued);
  assert_int_equal(unified.issued, aware.issued);
  assert_int_equal(unified.turns - all_stalls(&unified), 4 * unified.issued);
  assert_true(elastic.cycles < unified.cycles);
  assert_true(unified.stalls[BF_SIM_CONFLICT] > 3000);
  assert_int_equal(unified.history_right, 0);
  /* 16 warps, 20 rounds, two shared accesses each; the first time nothing is known. */
  assert_int_equal(aware.history_right + aware.history_wrong + aware.history_unknown, 640);
  assert_int_equal(aware.history_wrong, 0);
  assert_true(aware.history_unknown <= 32);
  assert_true(aware.stalls[BF_SIM_CONFLICT] < elastic.stalls[BF_SIM_CONFLICT] / 4);
  assert_true(aware.stalls[BF_SIM_MASKED] > 0);
  bf_sim_result through = run_kernel("let_through=yes", "loop", 512, 20);
  assert_int_equal(through.stalls[BF_SIM_MASKED], 0);
}

/* A history with one entry forgets each of two accesses before it comes again; what is foretold
 * then is the default. */
static void test_small_history(void **state) {
  (void)state;
  bf_sim_result result = run_kernel("history_sets=1 history_ways=1", "loop", 32, 20);
  assert_int_equal(result.history_unknown, 40);
  result = run_kernel("history_sets=1 history_ways=2", "loop", 32, 20);
  assert_int_equal(result.history_unknown, 2);
  assert_int_equal(result.history_right, 38);
}

/* Every pipeline, scheduler and way of execution computes the same and accounts for every cycle. */
static void test_all_kinds(void **state) {
  (void)state;
  const char *pipelines[] = {"unified", "split", "elastic"};
  const char *schedulers[] = {"lrr", "gto", "oldest", "conflict-aware"};
  const char *barrels[] = {"strict", "relaxed", "ordered"};
  for (unsigned p = 0; p < 3; p++)
    for (unsigned s = 0; s < 4; s++) {
      uint64_t cycles[3];
      for (unsigned b = 0; b < 3; b++) {
        char changes[200];
        snprintf(changes, sizeof changes, "pipeline=%s scheduler=%s barrel=%s", pipelines[p],
                 schedulers[s], barrels[b]);
        bf_sim_result result = run_kernel(changes, "loop", 64, 10);
        assert_int_equal(result.turns - all_stalls(&result), 4 * result.issued);
        cycles[b] = result.cycles;
      }
      assert_true(cycles[1] < cycles[0]); /* relaxed is faster than strict with two warps */
      assert_true(cycles[2] <= cycles[0]);
    }
}

/* ---- Watchers ---- */

enum { LAST = 3000, MOST_STAGES = 40 };

typedef struct seen {
  uint64_t cycle;
  unsigned stages;
  const char *stage[MOST_STAGES]; /* in this cycle */
  uint64_t parts, written;
  uint64_t entered[LAST]; /* cycle of the first part of each instruction */
  uint64_t done[64];      /* per slot: when its last instruction ended */
  unsigned events;
} seen;

static void see_stage(void *context, const bf_sim_stage *stage) {
  seen *own = context;
  if (stage->cycle != own->cycle)
    own->stages = 0;
  assert_true(stage->cycle >= own->cycle);
  own->cycle = stage->cycle;
  for (unsigned i = 0; i < own->stages; i++)
    assert_string_not_equal(own->stage[i], stage->stage);
  assert_true(own->stages < MOST_STAGES);
  own->stage[own->stages++] = stage->stage;
  bool enters = strcmp(stage->stage, "IF") == 0 && !stage->is_stalled;
  bool is_written = strcmp(stage->stage, "WB") == 0;
  assert_true(stage->number < LAST);
  if (enters && stage->part == 0)
    own->entered[stage->number] = stage->cycle;
  if (is_written) /* past the front at least */
    assert_true(stage->cycle >= own->entered[stage->number] + stage->part + 19);
  own->parts += enters;
  own->written += is_written;
}

static void see_event(void *context, const bf_sim_event *event) {
  seen *own = context;
  assert_true(event->done > event->issued);
  assert_true(event->done > own->done[event->slot]);
  own->done[event->slot] = event->done;
  own->events++;
}

/* No stage ever holds two parts, every part is written once, and watching changes nothing. With
 * ordered execution the instructions of a warp end in their order. */
static void test_watch(void **state) {
  (void)state;
  const char *kinds[] = {"pipeline=unified scheduler=lrr", "pipeline=split scheduler=lrr",
                         "scheduler=lrr", "scheduler=conflict-aware",
                         "scheduler=lrr barrel=ordered"};
  for (unsigned i = 0; i < 5; i++) {
    setup own;
    seen found = {0};
    uint32_t rounds = 3;
    open_setup(&own, kinds[i]);
    bf_emu_launch launch = bed_launch(&own.at, "loop", 1, 128, &rounds, sizeof rounds);
    bf_sim_result plain = simulate(&own, &launch);
    bf_sim_watch watch = {
        .context = &found, .last_cycle = LAST, .event = see_event, .stage = see_stage};
    own.settings.watch = &watch;
    bf_sim_result result = simulate(&own, &launch);
    assert_true(result.cycles < LAST);
    assert_int_equal(result.cycles, plain.cycles);
    assert_memory_equal(result.stalls, plain.stalls, sizeof result.stalls);
    assert_int_equal(found.parts, 4 * result.issued);
    assert_int_equal(found.written, 4 * result.issued);
    assert_int_equal(found.events, result.issued);
    bf_arena_free(&result.arena);
    bf_arena_free(&plain.arena);
    close_setup(&own);
  }
}

/* ---- Global memory ---- */

/* Runs "increment" on many blocks. */
static bf_sim_result run_increment(const char *changes) {
  enum { BLOCKS = 24, THREADS = 256 };
  setup own;
  open_setup(&own, changes);
  uint64_t at = bed_alloc(&own.at, BLOCKS * THREADS * 4, 0);
  uint32_t *words = (uint32_t *)(uintptr_t)at;
  for (uint32_t i = 0; i < BLOCKS * THREADS; i++)
    words[i] = 7 * i;
  bf_emu_launch launch = bed_launch(&own.at, "increment", BLOCKS, THREADS, &at, sizeof at);
  bf_sim_result result = simulate(&own, &launch);
  for (uint32_t i = 0; i < BLOCKS * THREADS; i++)
    assert_int_equal(words[i], 7 * i + 1);
  assert_int_equal(result.blocks, BLOCKS);
  assert_int_equal(result.dram_read_bytes, BLOCKS * THREADS * 4);
  bf_arena_free(&result.arena);
  close_setup(&own);
  return result;
}

/* Loaded data competes for the writeback stage; a table of one load makes the pipeline wait. */
static void test_global(void **state) {
  (void)state;
  const char *kinds[] = {"unified", "split", "elastic"};
  for (unsigned i = 0; i < 3; i++) {
    char changes[100];
    snprintf(changes, sizeof changes, "pipeline=%s scheduler=lrr", kinds[i]);
    bf_sim_result plain = run_increment(changes);
    assert_true(plain.stalls[BF_SIM_GLOBAL] + plain.stalls[BF_SIM_DEPENDENCY] > 0);
    assert_int_equal(plain.stalls[BF_SIM_OTHER], 0);
    snprintf(changes, sizeof changes, "pipeline=%s scheduler=lrr global_queue=1", kinds[i]);
    bf_sim_result narrow = run_increment(changes);
    assert_true(narrow.stalls[BF_SIM_OTHER] > 0);
    assert_true(narrow.cycles > plain.cycles);
  }
}

/* What the first-level cache has passes the memory stages like a shared access. */
static void test_cached(void **state) {
  (void)state;
  bf_sim_result cached = run_increment("l1_bytes=16384 scheduler=lrr");
  assert_int_equal(cached.stalls[BF_SIM_OTHER], 0);
}

/* Runs "number" on several multiprocessors with that many threads of the host. */
static bf_sim_result run_number(const char *changes, unsigned workers) {
  enum { BLOCKS = 12, THREADS = 64 };
  setup own;
  open_setup(&own, changes);
  own.settings.workers = workers;
  uint64_t at = bed_alloc(&own.at, (BLOCKS * THREADS + 1) * 4, 0);
  const uint32_t *words = (const uint32_t *)(uintptr_t)at;
  bf_emu_launch launch = bed_launch(&own.at, "number", BLOCKS, THREADS, &at, sizeof at);
  bf_sim_result result = simulate(&own, &launch);
  assert_int_equal(words[0], BLOCKS * THREADS);
  for (unsigned i = 1; i <= BLOCKS * THREADS; i++)
    assert_int_equal(words[i], 1);
  bf_arena_free(&result.arena);
  close_setup(&own);
  return result;
}

/* Global atomics make multiprocessors wait for each other's time; the result does not depend on
 * threads of the host. */
static void test_atomics(void **state) {
  (void)state;
  const char *kinds[] = {"sms=3 pipeline=unified scheduler=lrr", "sms=3 scheduler=lrr",
                         "sms=3 scheduler=conflict-aware barrel=relaxed"};
  for (unsigned i = 0; i < 3; i++) {
    bf_sim_result one = run_number(kinds[i], 1), three = run_number(kinds[i], 3);
    assert_int_equal(one.cycles, three.cycles);
    assert_memory_equal(one.stalls, three.stalls, sizeof one.stalls);
    assert_int_equal(one.turns - all_stalls(&one), 4 * one.issued);
  }
}

/* Several multiprocessors give the same with any number of threads. */
static void test_threads(void **state) {
  (void)state;
  bf_sim_result one = run_increment("sms=3");
  setup own;
  open_setup(&own, "sms=3");
  own.settings.workers = 3;
  uint64_t at = bed_alloc(&own.at, 24 * 256 * 4, 1);
  bf_emu_launch launch = bed_launch(&own.at, "increment", 24, 256, &at, sizeof at);
  bf_sim_result three = simulate(&own, &launch);
  assert_int_equal(one.cycles, three.cycles);
  assert_memory_equal(one.stalls, three.stalls, sizeof one.stalls);
  bf_arena_free(&three.arena);
  close_setup(&own);
}

/* ---- What goes wrong ---- */

static void test_deadlock(void **state) {
  (void)state;
  setup own;
  open_setup(&own, "");
  bf_emu_launch launch = bed_launch(&own.at, "forever", 1, 32, NULL, 0);
  bf_sim_result result = simulate(&own, &launch);
  assert_int_equal(result.emu.fault.kind, BF_EMU_DEADLOCK);
  assert_int_equal(result.waits, 1);
  assert_int_equal(result.wait[0].kind, BF_SIM_WAIT_OTHERS);
  assert_int_equal(result.wait[0].others.kind, BF_EMU_WAIT_BARRIER);
  assert_non_null(strstr(result.emu.fault.text, "block 0, warp 0 waits at barrier 0 (line "));
  bf_arena_free(&result.arena);
  close_setup(&own);
}

static void test_fault(void **state) {
  (void)state;
  setup own;
  open_setup(&own, "");
  uint64_t nowhere = 64;
  bf_emu_launch launch = bed_launch(&own.at, "increment", 4, 64, &nowhere, sizeof nowhere);
  bf_sim_result result = simulate(&own, &launch);
  assert_int_equal(result.emu.fault.kind, BF_EMU_OUT_OF_BOUNDS);
  bf_arena_free(&result.arena);
  close_setup(&own);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_strict),        cmocka_unit_test(test_relaxed),
      cmocka_unit_test(test_conflicts),     cmocka_unit_test(test_ports),
      cmocka_unit_test(test_hashed),        cmocka_unit_test(test_many_warps),
      cmocka_unit_test(test_small_history), cmocka_unit_test(test_all_kinds),
      cmocka_unit_test(test_watch),         cmocka_unit_test(test_global),
      cmocka_unit_test(test_threads),       cmocka_unit_test(test_cached),
      cmocka_unit_test(test_atomics),       cmocka_unit_test(test_deadlock),
      cmocka_unit_test(test_fault),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
