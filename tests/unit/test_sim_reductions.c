/* Reductions that are put off (emu/put_off.h): whatever a program may know of them it sees, and
 * results are those of any number of threads. */
#include "sim_bed.h"

enum { BINS = 64, ROUNDS = 6, OWN = 4096, OUT = 16384, LAST = 57344 };

/* "seen": each thread counts in bins that all share, and adds to a word of its own, which it loads
 * and stores in between; it loads its neighbour's behind a barrier, and its own by a copy. The last
 * block to come to a counter loads the bins. "sums": floats are added to few words, nothing else.
 * "relax": words become the least of what others say, and are loaded meanwhile. "mixed": floats are
 * added beside atomics whose results are read. */
static const char program[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry seen(.param .u64 memory)\n{\n"
    "  .reg .b32 %r<30>;\n  .reg .b64 %d<12>;\n  .reg .pred %p<5>;\n"
    "  .shared .align 4 .b8 words[1028];\n"
    "  ld.param.u64 %d0, [memory];\n"
    "  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n"
    "  mad.lo.s32 %r3, %r1, %r2, %r0;\n"
    "  mul.wide.u32 %d1, %r3, 4;\n  add.s64 %d2, %d0, %d1;\n"
    "  mov.u32 %r4, 0;\n  mov.u32 %r5, 0;\n"
    "again:\n"
    "  mad.lo.u32 %r6, %r4, 13, %r3;\n  and.b32 %r6, %r6, 63;\n"
    "  mul.wide.u32 %d3, %r6, 4;\n  add.s64 %d4, %d0, %d3;\n"
    "  red.global.add.u32 [%d4], 1;\n"
    "  add.s32 %r4, %r4, 1;\n"
    "  atom.global.add.u32 %r7, [%d2+4096], %r4;\n" /* nobody reads %r7 */
    "  ld.global.u32 %r8, [%d2+4096];\n"
    "  mad.lo.u32 %r5, %r5, 3, %r8;\n"
    "  red.global.max.u32 [%d2+4096], 1;\n"
    "  add.u32 %r8, %r8, 1000;\n"
    "  st.global.u32 [%d2+4096], %r8;\n"
    "  red.global.and.b32 [%d2+4096], 65535;\n"
    "  setp.lt.u32 %p0, %r4, 6;\n  @%p0 bra again;\n"
    "  shl.b32 %r20, %r3, 4;\n  cvt.u64.u32 %d5, %r20;\n  add.s64 %d6, %d0, %d5;\n"
    "  st.global.u32 [%d6+16384], %r5;\n"
    "  bar.sync 0;\n"
    "  xor.b32 %r9, %r3, 1;\n  mul.wide.u32 %d7, %r9, 4;\n  add.s64 %d8, %d0, %d7;\n"
    "  ld.global.u32 %r10, [%d8+4096];\n"
    "  st.global.u32 [%d6+16388], %r10;\n"
    "  bar.sync 0;\n"
    "  red.global.add.u32 [%d2+4096], 7;\n"
    "  shl.b32 %r11, %r0, 2;\n  mov.u32 %r12, words;\n  add.u32 %r11, %r11, %r12;\n"
    "  cp.async.ca.shared.global [%r11], [%d2+4096], 4;\n"
    "  cp.async.wait_all;\n"
    "  ld.shared.u32 %r13, [%r11];\n"
    "  st.global.u32 [%d6+16392], %r13;\n"
    "  membar.gl;\n  bar.sync 0;\n"
    "  setp.ne.u32 %p1, %r0, 0;\n  @%p1 bra came;\n"
    "  atom.global.add.u32 %r14, [%d0+1024], 1;\n"
    "  st.shared.u32 [words+1024], %r14;\n"
    "came:\n  bar.sync 0;\n"
    "  ld.shared.u32 %r15, [words+1024];\n"
    "  mov.u32 %r16, %nctaid.x;\n  sub.u32 %r16, %r16, 1;\n"
    "  setp.ne.u32 %p2, %r15, %r16;\n  @%p2 bra end;\n"
    "  setp.gt.u32 %p3, %r0, 63;\n  @%p3 bra end;\n"
    "  mul.wide.u32 %d9, %r0, 4;\n  add.s64 %d10, %d0, %d9;\n"
    "  ld.global.u32 %r17, [%d10];\n"
    "  st.global.u32 [%d10+57344], %r17;\n"
    "end:\n  ret;\n}\n"
    ".visible .entry sums(.param .u64 memory)\n{\n"
    "  .reg .b32 %r<20>;\n  .reg .b64 %d<9>;\n  .reg .f32 %f<9>;\n  .reg .pred %p<3>;\n"
    "  ld.param.u64 %d0, [memory];\n"
    "  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n"
    "  mad.lo.s32 %r3, %r1, %r2, %r0;\n  mov.u32 %r4, 0;\n"
    "  cvt.rn.f32.u32 %f1, %r3;\n  mul.f32 %f1, %f1, 0f3DCCCCCD;\n"
    "again:\n"
    "  mad.lo.u32 %r5, %r3, 7, %r4;\n  and.b32 %r5, %r5, 12;\n"
    "  cvt.u64.u32 %d1, %r5;\n  add.s64 %d2, %d0, %d1;\n"
    "  red.global.add.f32 [%d2], %f1;\n"
    "  ld.global.f32 %f2, [%d2+4096];\n  add.f32 %f1, %f1, %f2;\n"
    "  add.u32 %r4, %r4, 1;\n"
    "  setp.lt.u32 %p1, %r4, 9;\n  @%p1 bra again;\n  ret;\n}\n"
    ".visible .entry relax(.param .u64 memory)\n{\n"
    "  .reg .b32 %r<20>;\n  .reg .b64 %d<9>;\n  .reg .pred %p<3>;\n"
    "  ld.param.u64 %d0, [memory];\n"
    "  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n"
    "  mad.lo.s32 %r3, %r1, %r2, %r0;\n  mov.u32 %r4, 0;\n  mov.u32 %r9, 0;\n"
    "again:\n"
    "  mad.lo.u32 %r5, %r3, 1237, %r4;\n  and.b32 %r5, %r5, 8191;\n"
    "  mad.lo.u32 %r6, %r5, 3571, 77;\n  and.b32 %r6, %r6, 8191;\n"
    "  mul.wide.u32 %d1, %r5, 4;\n  add.s64 %d2, %d0, %d1;\n"
    "  mul.wide.u32 %d3, %r6, 4;\n  add.s64 %d4, %d0, %d3;\n"
    "  ld.global.u32 %r7, [%d2];\n  ld.global.u32 %r8, [%d4];\n"
    "  add.u32 %r7, %r7, 5;\n"
    "  red.global.min.u32 [%d4], %r7;\n"
    "  mad.lo.u32 %r9, %r9, 3, %r8;\n"
    "  add.u32 %r4, %r4, 1;\n"
    "  setp.lt.u32 %p1, %r4, 16;\n  @%p1 bra again;\n"
    "  mul.wide.u32 %d5, %r3, 4;\n  add.s64 %d6, %d0, %d5;\n"
    "  st.global.u32 [%d6+32768], %r9;\n  ret;\n}\n"
    ".visible .entry mixed(.param .u64 memory)\n{\n"
    "  .reg .b32 %r<20>;\n  .reg .b64 %d<9>;\n  .reg .f32 %f<9>;\n  .reg .pred %p<3>;\n"
    "  ld.param.u64 %d0, [memory];\n"
    "  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n"
    "  mad.lo.s32 %r3, %r1, %r2, %r0;\n  mov.u32 %r4, 0;\n"
    "  cvt.rn.f32.u32 %f1, %r3;\n  mul.f32 %f1, %f1, 0f3DCCCCCD;\n"
    "again:\n"
    "  and.b32 %r6, %r0, 63;\n  mul.wide.u32 %d1, %r6, 4;\n  add.s64 %d2, %d0, %d1;\n"
    "  red.global.add.f32 [%d2+256], %f1;\n"
    "  red.global.add.f32 [%d2+512], %f1;\n"
    "  setp.eq.u32 %p0, %r1, 3;\n  @%p0 bra next;\n" /* others only add */
    "  atom.global.add.u32 %r5, [%d0+128], 1;\n"
    "  and.b32 %r5, %r5, 7;\n  cvt.rn.f32.u32 %f2, %r5;\n  add.f32 %f1, %f1, %f2;\n"
    "next:\n  add.u32 %r4, %r4, 1;\n"
    "  setp.lt.u32 %p1, %r4, 9;\n  @%p1 bra again;\n  ret;\n}\n";

typedef struct row {
  const char *kernel, *gpu, *changes;
  unsigned grid, block;
} row;

static const uint32_t *words_of(const sim_bed *own, size_t byte) {
  return (const uint32_t *)(const void *)((const uint8_t *)(uintptr_t)own->memory + byte);
}

/* What "seen" leaves, thread by thread as the program says it. */
static void check_seen(const sim_bed *own, const row *which) {
  uint32_t bins[BINS] = {0}, threads = which->grid * which->block;
  for (uint32_t thread = 0; thread < threads; thread++)
    for (uint32_t i = 0; i < ROUNDS; i++)
      bins[(i * 13 + thread) % BINS]++;
  uint32_t word = 0, seen = 0;
  for (uint32_t i = 1; i <= ROUNDS; i++) {
    word += i;
    seen = seen * 3 + word;
    word += 1000;
  }
  assert_memory_equal(words_of(own, 0), bins, sizeof bins);
  assert_memory_equal(words_of(own, LAST), bins, sizeof bins);
  for (uint32_t thread = 0; thread < threads; thread++) {
    const uint32_t *out = words_of(own, OUT + 16 * (size_t)thread);
    assert_int_equal(words_of(own, OWN)[thread], word + 7);
    assert_int_equal(out[0], seen);
    assert_int_equal(out[1], word);
    assert_int_equal(out[2], word + 7);
  }
}

static void reductions_are_seen(void **state) {
  (void)state;
  static const row rows[] = {
      {"seen", "h200", "sms=8", 16, 64},
      {"seen", "h200", "sms=1", 4, 64},
      {"seen", "h200", "sms=5 lookahead=0", 11, 128},
      {"seen", "machine hopper", "sms=5 blocks_per_sm=2", 12, 96},
      {"seen", "machine hopper", "sms=7 schedulers=4 dispatch=2 return_cycles=30", 9, 64},
      {"seen", "h200", "sms=3 scheduler=two-level schedulers=2 l1_misses=4", 8, 128},
      {"seen", "gtx580", "sms=6", 12, 64},
      {"sums", "h200", "sms=8", 16, 256},
      {"sums", "h200", "sms=7 request_cycles=100 return_cycles=60 blocks_per_sm=1", 32, 64},
      {"sums", "h200", "sms=5 request_cycles=20 return_cycles=20", 16, 64},
      {"sums", "machine hopper", "sms=3 dispatch=2", 16, 64},
      {"relax", "h200", "sms=12", 24, 256},
      {"relax", "h200", "sms=9 request_cycles=100 return_cycles=60", 32, 128},
      {"mixed", "h200", "sms=8", 16, 256},
      {"mixed", "h200", "sms=7 request_cycles=100 return_cycles=60 blocks_per_sm=1", 32, 64},
  };
  static const unsigned workers[] = {1, 2, 3, 7};
  static uint8_t first[SIM_BED_BYTES];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint64_t cycles = 0;
    for (unsigned k = 0; k < 4; k++) {
      sim_bed own;
      sim_bed_open(&own, program, rows[i].gpu, rows[i].changes);
      for (unsigned word = 0; strcmp(rows[i].kernel, "relax") == 0 && word < 8192; word++)
        ((uint32_t *)(uintptr_t)own.memory)[word] = word * 2654435761u >> 12;
      own.settings.workers = workers[k];
      bf_emu_launch launch = bed_launch(&own.at, rows[i].kernel, rows[i].grid, rows[i].block,
                                        &own.memory, sizeof own.memory);
      bf_sim_result result = sim_bed_simulate(&own, &launch);
      assert_int_equal(result.emu.fault.kind, BF_EMU_NO_FAULT);
      if (strcmp(rows[i].kernel, "seen") == 0)
        check_seen(&own, &rows[i]);
      if (k == 0)
        memcpy(first, words_of(&own, 0), SIM_BED_BYTES);
      cycles = k ? cycles : result.cycles;
      assert_int_equal(result.cycles, cycles);
      assert_memory_equal(first, words_of(&own, 0), SIM_BED_BYTES);
      bf_arena_free(&result.arena);
      sim_bed_close(&own);
    }
  }
}

/* Sums of floats are those of additions in the order of time and multiprocessor, whether they are
 * put off or, because others may look at memory meanwhile, not. */
static void order_is_that_of_time(void **state) {
  (void)state;
  static uint8_t first[SIM_BED_BYTES];
  static const char *const kernels[] = {"sums", "mixed"};
  for (unsigned k = 0; k < 4; k++) {
    sim_bed own;
    sim_bed_open(&own, program, "h200", "sms=8");
    bf_emu_launch launch =
        bed_launch(&own.at, kernels[k / 2], 8, 512, &own.memory, sizeof own.memory);
    launch.is_beside = k % 2;
    bf_sim_result result = sim_bed_simulate(&own, &launch);
    assert_int_equal(result.emu.fault.kind, BF_EMU_NO_FAULT);
    if (k % 2 == 0)
      memcpy(first, words_of(&own, 0), SIM_BED_BYTES);
    assert_memory_equal(first, words_of(&own, 0), SIM_BED_BYTES);
    bf_arena_free(&result.arena);
    sim_bed_close(&own);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reductions_are_seen),
      cmocka_unit_test(order_is_that_of_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
