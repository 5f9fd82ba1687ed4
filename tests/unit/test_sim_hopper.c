/* Time of what Hopper has: bulk copies and the mbarriers that they are waited for with, products of
 * warp groups, and clusters. */
#include "sim_bed.h"

/* Lines for thread 0 that copy `bytes` of memory to shared memory and wait for them; all threads
 * then store a word of them. */
static void put_copy(bf_text *text, unsigned bytes, unsigned expected) {
  bf_text_addf(text,
               "mov.u32 %%r50, words;\nmov.u32 %%r0, %%tid.x;\nsetp.ne.u32 %%p0, %%r0, 0;\n@%%p0 "
               "bra LATER;\n"
               "mbarrier.init.shared.b64 [16000], 1;\n"
               "mbarrier.arrive.expect_tx.shared.b64 %%d1, [16000], %u;\n"
               "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [0], [%%d0], %u, "
               "[16000];\nLATER:\nbar.sync 0;\n"
               "AGAIN:\nmbarrier.try_wait.parity.shared.b64 %%p1, [16000], 0;\n"
               "@!%%p1 bra AGAIN;\n"
               "shl.b32 %%r1, %%r0, 2;\nld.shared.u32 %%r2, [%%r1];\ncvt.u64.u32 %%d2, %%r1;\n"
               "add.u64 %%d3, %%d0, %%d2;\nst.global.u32 [%%d3+32768], %%r2;\nret;\n",
               expected, bytes);
}

/* Cycles of that copy, whose data must be right. */
static uint64_t cycles_of_copy(unsigned bytes, const char *changes) {
  bf_text text = {0};
  sim_bed own;
  put_copy(&text, bytes, bytes);
  sim_bed_make(&own, text.data, changes);
  uint32_t *memory = (uint32_t *)(uintptr_t)own.memory;
  for (unsigned i = 0; i < 2048; i++)
    memory[i] = i * 3 + 1;
  bf_sim_result result = sim_bed_run(&own, "made", 1, 64);
  for (unsigned i = 0; i < 64; i++)
    assert_int_equal(memory[8192 + i], i * 3 + 1);
  sim_bed_close(&own);
  bf_text_free(&text);
  return result.cycles;
}

static void copies_take_time(void **state) {
  (void)state;
  uint64_t least = cycles_of_copy(256, "");
  assert_int_equal(cycles_of_copy(256, "copy_start_cycles=150"), least + 100);
  assert_int_equal(cycles_of_copy(256, "copy_land_cycles=70"), least + 50);
  assert_int_equal(cycles_of_copy(256, "mbarrier_cycles=120"), least + 100);
  /* 62 lines more, ten cycles apart; of the last one the row is open. */
  uint64_t slow = cycles_of_copy(8192, "copy_line_cycles=10");
  assert_true(slow >= cycles_of_copy(256, "") + 500);
  /* They do not come as slowly as what goes to the first-level cache. */
  assert_int_equal(cycles_of_copy(8192, "return_bytes_per_cycle=8"), cycles_of_copy(8192, ""));
}

/* A phase that nobody completes is told, with who waits. */
static void missing_bytes_are_told(void **state) {
  (void)state;
  bf_text text = {0};
  sim_bed own;
  put_copy(&text, 256, 512);
  sim_bed_make(&own, text.data, "");
  bf_emu_launch launch = bed_launch(&own.at, "made", 1, 64, &own.memory, sizeof own.memory);
  bf_sim_result result = sim_bed_simulate(&own, &launch);
  assert_int_equal(result.emu.fault.kind, BF_EMU_DEADLOCK);
  assert_int_equal(sim_bed_wait(&result, 0, 1)->kind, BF_SIM_WAIT_MBARRIER);
  bf_arena_free(&result.arena);
  sim_bed_close(&own);
  bf_text_free(&text);
}

/* Cycles of a warp group that multiplies `count` times with eight columns. */
static uint64_t cycles_of_products(unsigned count, const char *changes) {
  bf_text text = {0};
  sim_bed own;
  bf_text_puts(
      &text, "mov.u32 %r50, words;\nmov.u64 %d1, 0x4000004000010000;\nwgmma.fence.sync.aligned;\n");
  for (unsigned i = 0; i < count; i++)
    bf_text_puts(&text, "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, "
                        "%d1, %d1, 1, 1, 1, 0, 0;\n");
  bf_text_puts(&text, "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
                      "st.global.f32 [%d0], %f0;\nret;\n");
  sim_bed_make(&own, text.data, changes);
  bf_sim_result result = sim_bed_run(&own, "made", 1, 128);
  sim_bed_close(&own);
  bf_text_free(&text);
  return result.cycles;
}

static void products_take_the_matrix_units(void **state) {
  (void)state;
  /* Operands of 72 rows of 32 bytes: 18 wavefronts. */
  static const char four[] = "schedulers=4 product_least_cycles=4";
  static const char slow[] = "schedulers=4 product_least_cycles=40";
  assert_int_equal(cycles_of_products(12, four) - cycles_of_products(2, four), 10 * 18);
  assert_int_equal(cycles_of_products(12, slow) - cycles_of_products(2, slow), 10 * 40);
}

/* Two blocks of a cluster: each stores its number to the other, which reads it behind the barrier,
 * and the first waits for an arrival of the second. */
static const char cluster_lines[] =
    "mov.u32 %r50, words;\nmov.u32 %r0, %cluster_ctarank;\nmov.u32 %r1, %tid.x;\nsetp.ne.u32 %p0, "
    "%r1, 0;\n"
    "@%p0 bra MADE;\nmbarrier.init.shared.b64 [words+16000], 1;\nMADE:\n"
    "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
    "xor.b32 %r2, %r0, 1;\nmov.u32 %r3, 64;\nmapa.shared::cluster.u32 %r4, %r3, %r2;\n"
    "mov.u32 %r9, 16000;\nmapa.shared::cluster.u32 %r5, %r9, %r2;\n"
    "@%p0 bra STORED;\nmov.u32 %r6, %ctaid.x;\nadd.u32 %r6, %r6, 7;\n"
    "st.shared::cluster.u32 [%r4], %r6;\n"
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];\n"
    "AGAIN:\nmbarrier.try_wait.parity.shared.b64 %p1, [words+16000], 0;\n@!%p1 bra AGAIN;\n"
    "STORED:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
    "ld.shared.u32 %r7, [words+64];\nmov.u32 %r8, %ctaid.x;\nmul.wide.u32 %d1, %r8, 4;\n"
    "add.u64 %d2, %d0, %d1;\nst.global.u32 [%d2], %r7;\nret;\n";

static uint64_t cycles_of_clusters(unsigned blocks, unsigned workers, const char *changes) {
  sim_bed own;
  sim_bed_make(&own, cluster_lines, changes);
  own.settings.workers = workers;
  bf_emu_launch launch = bed_launch(&own.at, "made", blocks, 64, &own.memory, sizeof own.memory);
  launch.cluster[0] = 2;
  launch.cluster[1] = launch.cluster[2] = 1;
  bf_sim_result result = sim_bed_simulate(&own, &launch);
  if (result.emu.fault.kind)
    fail_msg("%s", result.emu.fault.text);
  for (unsigned i = 0; i < blocks; i++)
    assert_int_equal(((const uint32_t *)(uintptr_t)own.memory)[i], (i ^ 1) + 7);
  uint64_t cycles = result.cycles;
  bf_arena_free(&result.arena);
  sim_bed_close(&own);
  return cycles;
}

/* What block 0 of a cluster does to the memory of block 1, which has ended by then, ends with. */
static bf_emu_fault fault_of_late(const char *line) {
  bf_text text = {0};
  sim_bed own;
  bf_text_addf(&text,
               "mov.u32 %%r50, words;\nmov.u32 %%r0, %%cluster_ctarank;\n"
               "mbarrier.init.shared.b64 [words+16000], 100;\n"
               "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
               "setp.eq.u32 %%p0, %%r0, 1;\n@%%p0 ret;\nmov.u32 %%r1, 0;\n"
               "AGAIN:\nadd.u32 %%r1, %%r1, 1;\nsetp.lt.u32 %%p1, %%r1, 1000;\n@%%p1 bra AGAIN;\n"
               "mov.u32 %%r2, 16000;\nmapa.shared::cluster.u32 %%r3, %%r2, 1;\n%s\nret;\n",
               line);
  sim_bed_make(&own, text.data, "sms=4");
  bf_emu_launch launch = bed_launch(&own.at, "made", 2, 32, &own.memory, sizeof own.memory);
  launch.cluster[0] = 2;
  launch.cluster[1] = launch.cluster[2] = 1;
  bf_sim_result result = sim_bed_simulate(&own, &launch);
  bf_emu_fault fault = result.emu.fault;
  bf_arena_free(&result.arena);
  sim_bed_close(&own);
  bf_text_free(&text);
  return fault;
}

/* An arrival that nobody can see is none; everything else is told with the block. */
static void blocks_that_have_ended_are_told(void **state) {
  (void)state;
  bf_emu_fault fault = fault_of_late("mbarrier.arrive.shared::cluster.b64 _, [%r3];");
  assert_int_equal(fault.kind, BF_EMU_NO_FAULT);
  fault = fault_of_late("ld.shared::cluster.u32 %r4, [%r3];");
  assert_int_equal(fault.kind, BF_EMU_OUT_OF_BOUNDS);
  assert_int_equal(fault.address, 16000);
  assert_string_equal(fault.text, "block 1 of the cluster has ended");
}

static void clusters_meet(void **state) {
  (void)state;
  static const char few[] = "sms=4 blocks_per_sm=1 gpc_sms=2";
  uint64_t two = cycles_of_clusters(2, 1, few);
  assert_int_equal(cycles_of_clusters(8, 1, few), cycles_of_clusters(8, 4, few));
  /* Two clusters run side by side, four one after the other. */
  assert_true(cycles_of_clusters(4, 1, few) < two + two / 2);
  assert_true(cycles_of_clusters(8, 1, few) > two + two / 2);
  /* Two barriers; what one block tells the other comes at ends of spans of 32 cycles. */
  assert_int_equal(cycles_of_clusters(2, 1, "sms=4 cluster_barrier_cycles=660"),
                   cycles_of_clusters(2, 1, "sms=4 cluster_barrier_cycles=340") + 2 * 320);
  /* All blocks of a cluster on one multiprocessor. */
  cycles_of_clusters(4, 1, "sms=1 blocks_per_sm=2");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies_take_time),
      cmocka_unit_test(missing_bytes_are_told),
      cmocka_unit_test(products_take_the_matrix_units),
      cmocka_unit_test(clusters_meet),
      cmocka_unit_test(blocks_that_have_ended_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
