/* Launches of which a part is simulated, against the same launches simulated whole: the interval
 * holds, the time is within 3%, and memory holds what it would hold. */
#include "sim_bed.h"

#include "sim/sample.h"

#include <math.h>

enum { BLOCKS = 603, THREADS = 64, LAUNCHES = 40, BYTES = BLOCKS * THREADS * 4 };

/* The place of a thread in memory is %d3. */
#define PLACE                                                                                      \
  "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmad.lo.u32 %r2, %r1, 64, %r0;\n"                  \
  "mul.wide.u32 %d2, %r2, 4;\nadd.u64 %d3, %d0, %d2;\n"
/* A loop of %r4 rounds. */
#define LOOP(body)                                                                                 \
  "mov.u32 %r5, 0;\nagain:\n" body "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p0, %r5, %r4;\n"            \
  "@%p0 bra again;\n"

static const struct {
  const char *name, *lines;
} kernels[] = {
    {"arithmetic", PLACE "mov.u32 %r4, 20;\n" LOOP(
                       "mad.lo.u32 %r2, %r2, %r2, %r5;\n") "st.global.u32 [%d3], %r2;\nret;"},
    {"uneven", PLACE "rem.u32 %r4, %r1, 7;\nadd.u32 %r4, %r4, 10;\n" LOOP(
                   "mad.lo.u32 %r2, %r2, %r2, %r5;\n") "st.global.u32 [%d3], %r2;\nret;"},
    {"growing", PLACE "shr.u32 %r4, %r1, 5;\nadd.u32 %r4, %r4, 10;\n" LOOP(
                    "mad.lo.u32 %r2, %r2, %r2, %r5;\n") "st.global.u32 [%d3], %r2;\nret;"},
    {"loads",
     PLACE "mov.u32 %r4, 6;\n" LOOP(
         "ld.global.u32 %r6, [%d3];\nadd.u32 %r2, %r2, %r6;\n") "st.global.u32 [%d3], %r2;\nret;"},
    {"conflicts",
     PLACE "mov.u32 %r4, 8;\nmov.u32 %r7, words;\nmad.lo.u32 %r7, %r0, 128, %r7;\n" LOOP(
         "st.shared.u32 [%r7], %r2;\nbar.sync 0;\nld.shared.u32 %r6, [%r7];\n"
         "add.u32 %r2, %r2, %r6;\n") "st.global.u32 [%d3], %r2;\nret;"},
    {"atomics", PLACE "mov.u32 %r4, 4;\n" LOOP("red.global.add.u32 [%d3], 1;\n") "ret;"},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* A bed on two small multiprocessors, whose memory is zeros. */
static void open_bed(sim_bed *own, unsigned kernel) {
  sim_bed_make(own, kernels[kernel].lines, "sms=2 blocks_per_sm=3");
  own->memory = bed_alloc(&own->at, BYTES, 0);
  memset((void *)(uintptr_t)own->memory, 0, BYTES);
}

/* Simulates a launch with a sampler. */
static bf_sim_result run_sampled(sim_bed *own, bf_sim_sampler *sampler) {
  bf_diagnostic diagnostic = {0};
  bf_sim_result result;
  bf_emu_launch launch =
      bed_launch(&own->at, "made", BLOCKS, THREADS, &own->memory, sizeof own->memory);
  if (bf_sim_sampler_run(sampler, &own->settings, own->at.emu, &launch, &result, &diagnostic))
    fail_msg("%s", diagnostic.message);
  assert_int_equal(result.emu.fault.kind, BF_EMU_NO_FAULT);
  bf_arena_free(&result.arena);
  return result;
}

static bf_sim_result run_whole(sim_bed *own) {
  bf_emu_launch launch =
      bed_launch(&own->at, "made", BLOCKS, THREADS, &own->memory, sizeof own->memory);
  bf_sim_result result = sim_bed_simulate(own, &launch);
  bf_arena_free(&result.arena);
  return result;
}

static void intervals_hold(void **state) {
  (void)state;
  static sim_bed whole, part;
  unsigned sampled = 0;
  for (unsigned i = 0; i < KERNELS; i++) {
    bf_sim_sampler *sampler = bf_sim_sampler_create(0);
    open_bed(&whole, i);
    open_bed(&part, i);
    bf_sim_result all = run_whole(&whole), some = run_sampled(&part, sampler);
    double off = fabs((double)some.cycles / (double)all.cycles - 1);
    if (off > 0.03)
      fail_msg("%s: %g off", kernels[i].name, off);
    assert_int_equal(some.emu.warp_instructions, all.emu.warp_instructions);
    assert_int_equal(some.blocks, all.blocks);
    assert_memory_equal((void *)(uintptr_t)part.memory, (void *)(uintptr_t)whole.memory, BYTES);
    if (some.cycles_high) {
      sampled++;
      assert_true(some.simulated_blocks < all.blocks);
      if (all.cycles < some.cycles_low || all.cycles > some.cycles_high)
        fail_msg("%s: %llu is outside", kernels[i].name, (unsigned long long)all.cycles);
      assert_true(llabs((int64_t)(some.shared_conflicts - all.shared_conflicts)) * 50 <=
                  (int64_t)all.shared_conflicts);
    } else
      assert_int_equal(some.cycles, all.cycles);
    bf_sim_sampler_free(sampler);
    sim_bed_close(&whole);
    sim_bed_close(&part);
  }
  assert_true(sampled >= 4);
}

/* Of many launches alike few are simulated. */
static void launches_are_inferred(void **state) {
  (void)state;
  static sim_bed own;
  bf_sim_sampler *sampler = bf_sim_sampler_create(1);
  open_bed(&own, 3);
  uint64_t whole = run_whole(&own).cycles;
  unsigned inferred = 0;
  for (unsigned i = 0; i < LAUNCHES; i++) {
    bf_sim_result result = run_sampled(&own, sampler);
    inferred += result.is_inferred;
    if (result.is_inferred)
      assert_true(result.cycles_low <= whole && whole <= result.cycles_high);
    else
      assert_int_equal(result.cycles, whole);
  }
  assert_true(inferred > LAUNCHES / 2 && inferred < LAUNCHES - 5);
  bf_sim_sampler_free(sampler);
  sim_bed_close(&own);
}

/* Waves take longer once the second-level cache is full and lines have to go: a part that ends
 * before says nothing of that. */
static void caches_fill(void **state) {
  (void)state;
  static const char copy[] = PLACE "ld.global.u32 %r6, [%d3];\nst.global.u32 [%d3], %r6;\nret;";
  static const char small[] = "sms=2 blocks_per_sm=3 l2_bytes=61440 l2_ways=16 dram_channels=1 "
                              "dram_sector_cycles=20 dram_queue=4";
  static sim_bed own;
  bf_sim_sampler *sampler = bf_sim_sampler_create(0);
  uint64_t cycles = 0;
  for (unsigned is_part = 0; is_part < 2; is_part++) {
    sim_bed_make(&own, copy, small);
    own.memory = bed_alloc(&own.at, BYTES, 0);
    memset((void *)(uintptr_t)own.memory, 0, BYTES);
    bf_sim_result result = is_part ? run_sampled(&own, sampler) : run_whole(&own);
    cycles = is_part ? cycles : result.cycles;
    if (is_part && fabs((double)result.cycles / (double)cycles - 1) > 0.03)
      fail_msg("%g off", (double)result.cycles / (double)cycles - 1);
    assert_true(!is_part || result.simulated_blocks < BLOCKS);
    assert_true(!is_part || (result.cycles_low <= cycles && cycles <= result.cycles_high));
    sim_bed_close(&own);
  }
  bf_sim_sampler_free(sampler);
}

/* Blocks that wait for the one before them end: none is simulated before those that come before it.
 */
static void chains_end(void **state) {
  (void)state;
  static const char chained[] =
      PLACE "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra first;\nwait:\n"
            "ld.volatile.global.u32 %r6, [%d3-256];\nsetp.eq.u32 %p0, %r6, 0;\n"
            "@%p0 bra wait;\nfirst:\nmov.u32 %r7, 1;\nst.volatile.global.u32 [%d3], %r7;\nret;";
  static sim_bed own;
  bf_sim_sampler *sampler = bf_sim_sampler_create(0);
  sim_bed_make(&own, chained, "sms=2 blocks_per_sm=3");
  own.memory = bed_alloc(&own.at, BYTES, 0);
  memset((void *)(uintptr_t)own.memory, 0, BYTES);
  assert_true(run_sampled(&own, sampler).simulated_blocks < BLOCKS);
  for (unsigned i = 0; i < BYTES / 4; i++)
    assert_int_equal(((const uint32_t *)(uintptr_t)own.memory)[i], 1);
  bf_sim_sampler_free(sampler);
  sim_bed_close(&own);
}

/* Any number of threads gives the same. */
static void threads_do_not_matter(void **state) {
  (void)state;
  static sim_bed own;
  uint64_t cycles = 0;
  for (unsigned workers = 1; workers <= 2; workers++) {
    bf_sim_sampler *sampler = bf_sim_sampler_create(0.1);
    open_bed(&own, 4);
    own.settings.workers = workers;
    bf_sim_result result = run_sampled(&own, sampler);
    assert_true(result.cycles_high > 0);
    assert_true(workers == 1 || result.cycles == cycles);
    cycles = result.cycles;
    bf_sim_sampler_free(sampler);
    sim_bed_close(&own);
  }
}

static void shares_are_read(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool is_good;
    double share;
  } rows[] = {{"auto", true, 0}, {"0.25", true, 0.25}, {"10%", true, 0.1}, {"100%", true, 1},
              {"", false, 0},    {"0", false, 0},      {"-1", false, 0},   {"2", false, 0},
              {"nan", false, 0}, {"1x", false, 0},     {"%", false, 0}};
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    double share;
    assert_int_equal(bf_sim_sample_share(rows[i].text, &share), rows[i].is_good);
    if (rows[i].is_good)
      assert_true(fabs(share - rows[i].share) < 1e-12);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(intervals_hold),        cmocka_unit_test(launches_are_inferred),
      cmocka_unit_test(caches_fill),           cmocka_unit_test(chains_end),
      cmocka_unit_test(threads_do_not_matter), cmocka_unit_test(shares_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
