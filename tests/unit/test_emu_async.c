/* Asynchronous copies and barrier objects. */
#include "emu_lanes.h"

enum { LANES = 32 };

static const char tile[] = ".shared .align 16 .b8 tile[4096]; .shared .align 8 .b64 barrier;";

/* Copies appear when they are waited for, group by group, and not before. */
static void copies_wait_for_their_group(void **state) {
  (void)state;
  static const char body[] =
      ".reg .b32 %s, %x; mov.u32 %s, tile; mad.lo.u32 %s, %index, 64, %s;\n"
      "cp.async.ca.shared.global [%s], [%in], 4; cp.async.commit_group;\n"
      "cp.async.ca.shared.global [%s+8], [%in+8], 8; cp.async.commit_group;\n"
      "cp.async.cg.shared.global [%s+16], [%in+16], 16;\n"
      "ld.shared.b32 %x, [%s]; st.global.b32 [%out], %x;\n" /* nothing is there yet */
      "cp.async.wait_group 1;\n"
      "ld.shared.b32 %x, [%s]; st.global.b32 [%out+4], %x;\n"
      "ld.shared.b32 %x, [%s+8]; st.global.b32 [%out+8], %x;\n" /* still in flight */
      "cp.async.wait_group 0;\n"
      "ld.shared.b32 %x, [%s+12]; st.global.b32 [%out+12], %x;\n"
      "ld.shared.b32 %x, [%s+28]; st.global.b32 [%out+16], %x;\n" /* not committed */
      "cp.async.wait_all;\n"
      "ld.shared.b32 %x, [%s+28]; st.global.b32 [%out+20], %x;";
  uint32_t in[LANES * 2][8], out[LANES * 2][8];
  for (unsigned lane = 0; lane < 2 * LANES; lane++)
    for (unsigned i = 0; i < 8; i++)
      in[lane][i] = 1000 * lane + i + 1;
  for (unsigned s = 0; s < LANES_SETS; s++) {
    if (!lanes_has(lanes_sets[s]))
      continue;
    lanes_run(lanes_sets[s], tile, body, 2 * LANES, in, 32, out, 32);
    for (unsigned lane = 0; lane < 2 * LANES; lane++) {
      const uint32_t expected[] = {0, in[lane][0], 0, in[lane][3], 0, in[lane][7]};
      assert_memory_equal(out[lane], expected, sizeof expected);
    }
  }
}

/* Bytes behind the source size are zero; with size 0, or an ignored source, nothing is read. */
static void copies_fill_with_zeros(void **state) {
  (void)state;
  static const char body[] =
      ".reg .b32 %s, %n, %x, %y, %z, %w; .reg .b64 %from, %zero; .reg .pred %p, %q;\n"
      "mov.u32 %s, tile; mad.lo.u32 %s, %index, 64, %s; and.b32 %n, %index, 15;\n"
      "mov.u32 %x, -1; st.shared.v4.b32 [%s], {%x, %x, %x, %x};\n"
      "st.shared.v4.b32 [%s+16], {%x, %x, %x, %x};\n"
      "setp.eq.u32 %p, %n, 0; mov.u64 %zero, 0; selp.b64 %from, %zero, %in, %p;\n"
      "cp.async.cg.shared.global [%s], [%from], 16, %n;\n"
      "cp.async.cg.shared.global [%s+16], [%from], 16, %p;\n"
      "cp.async.wait_all;\n"
      "ld.shared.v4.b32 {%x, %y, %z, %w}, [%s]; st.global.v4.b32 [%out], {%x, %y, %z, %w};\n"
      "ld.shared.v4.b32 {%x, %y, %z, %w}, [%s+16]; st.global.v4.b32 [%out+16], {%x, %y, %z, %w};";
  uint8_t in[LANES][16], out[LANES][32];
  for (unsigned lane = 0; lane < LANES; lane++)
    for (unsigned i = 0; i < 16; i++)
      in[lane][i] = (uint8_t)(lane + i + 1);
  lanes_run(NULL, tile, body, LANES, in, 16, out, 32);
  for (unsigned lane = 0; lane < LANES; lane++)
    for (unsigned i = 0; i < 16; i++) {
      assert_int_equal(out[lane][i], i < lane % 16 ? in[lane][i] : 0);
      assert_int_equal(out[lane][16 + i], lane % 16 ? in[lane][i] : 0);
    }
}

/* Lanes that go different ways have groups of their own. */
static void lanes_have_own_groups(void **state) {
  (void)state;
  static const char body[] =
      ".reg .b32 %s, %x, %o; .reg .pred %p;\n"
      "mov.u32 %s, tile; mad.lo.u32 %s, %index, 64, %s;\n"
      "and.b32 %o, %index, 1; setp.eq.u32 %p, %o, 0;\n"
      "cp.async.ca.shared.global [%s], [%in], 4; cp.async.commit_group;\n"
      "@%p bra LAST; cp.async.commit_group;\n" /* odd lanes: one more, empty group */
      "LAST: cp.async.wait_group 1;\n"
      "ld.shared.b32 %x, [%s]; st.global.b32 [%out], %x;";
  uint32_t in[LANES], out[LANES];
  for (unsigned lane = 0; lane < LANES; lane++)
    in[lane] = lane + 1;
  lanes_run(NULL, tile, body, LANES, in, 4, out, 4);
  for (unsigned lane = 0; lane < LANES; lane++)
    assert_int_equal(out[lane], lane % 2 ? lane + 1 : 0);
}

/* What a block leaves behind does not reach the next one. */
static void blocks_start_without_copies(void **state) {
  (void)state;
  static const char body[] =
      ".reg .b32 %s, %x; .reg .pred %p; mov.u32 %s, tile; setp.ge.u32 %p, %index, 256;\n"
      "@%p bra SECOND; cp.async.ca.shared.global [%s], [%in], 4; cp.async.commit_group; ret;\n"
      "SECOND: cp.async.wait_group 0; cp.async.wait_all; bar.sync 0;\n"
      "ld.shared.b32 %x, [%s]; st.global.b32 [%out], %x;";
  static uint32_t in[2 * LANES_BLOCK], out[2 * LANES_BLOCK];
  memset(in, 1, sizeof in);
  lanes_run(NULL, tile, body, 2 * LANES_BLOCK, in, 4, out, 4);
  for (unsigned i = 0; i < 2 * LANES_BLOCK; i++)
    assert_int_equal(out[i], 0);
}

/* More copies than the list of a warp holds. */
static void many_copies(void **state) {
  (void)state;
  static const char body[] = ".reg .b32 %s, %x, %i; .reg .pred %p;\n"
                             "mov.u32 %s, tile; mad.lo.u32 %s, %index, 4, %s; mov.u32 %i, 0;\n"
                             "LOOP: cp.async.ca.shared.global [%s], [%in], 4;\n"
                             "add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 5000; @%p bra LOOP;\n"
                             "cp.async.wait_all; ld.shared.b32 %x, [%s]; st.global.b32 [%out], %x;";
  uint32_t in[LANES], out[LANES];
  for (unsigned lane = 0; lane < LANES; lane++)
    in[lane] = lane + 1;
  lanes_run(NULL, tile, body, LANES, in, 4, out, 4);
  assert_memory_equal(in, out, sizeof in);
}

static void bad_addresses_are_faults(void **state) {
  (void)state;
  static const char body[] = ".reg .b32 %s; mov.u32 %s, tile;\n"
                             "cp.async.cg.shared.global [%s+8], [%in], 16; cp.async.wait_all;";
  uint32_t in[LANES] = {0}, out[LANES];
  bf_emu_result result = lanes_try(NULL, tile, body, 1, in, 4, out, 4);
  assert_int_equal(result.fault.kind, BF_EMU_MISALIGNED);
}

/* Two warps hand values to each other by parity, phase after phase. */
static void barriers_have_phases(void **state) {
  (void)state;
  static const char body[] =
      ".reg .b32 %s, %b, %o, %x, %i, %h, %t; .reg .pred %p; .reg .b64 %state;\n"
      "mov.u32 %s, tile; mov.u32 %b, barrier; mov.u32 %i, 0; mov.u32 %t, 0;\n"
      "setp.ne.u32 %p, %index, 0; @%p bra READY; mbarrier.init.shared.b64 [%b], 64;\n"
      "READY: bar.sync 0;\n"
      "PHASE: mad.lo.u32 %x, %index, 4, %s; mad.lo.u32 %o, %i, 100, %index;\n"
      "st.shared.b32 [%x], %o;\n"
      "mbarrier.arrive.shared.b64 %state, [%b];\n"
      "and.b32 %h, %i, 1;\n"
      "WAIT: mbarrier.try_wait.parity.shared.b64 %p, [%b], %h; @!%p bra WAIT;\n"
      "xor.b32 %o, %index, 32; mad.lo.u32 %x, %o, 4, %s; ld.shared.b32 %o, [%x];\n"
      "add.u32 %t, %t, %o;\n"
      "mbarrier.arrive.shared.b64 %state, [%b];\n"
      "AGAIN: mbarrier.test_wait.shared.b64 %p, [%b], %state; @!%p bra AGAIN;\n"
      "add.u32 %i, %i, 2; setp.lt.u32 %p, %i, 20; @%p bra PHASE;\n"
      "st.global.b32 [%out], %t;\n"
      "mbarrier.pending_count.b64 %x, %state; st.global.b32 [%out+4], %x;";
  uint32_t in[64] = {0}, out[64][2];
  unsigned pending = 0;
  lanes_run(NULL, tile, body, 64, in, 4, out, 8);
  for (unsigned lane = 0; lane < 64; lane++) {
    assert_int_equal(out[lane][0], 9000 + 10 * (lane ^ 32));
    pending += out[lane][1];
  }
  assert_int_equal(pending, 64 * 65 / 2); /* each arrival found one less */
}

/* Transactions, arrivals of several, dropping out, and arrivals after copies. */
static void barriers_count(void **state) {
  (void)state;
  static const char body[] =
      ".reg .b32 %s, %b, %x; .reg .pred %p; .reg .b64 %q;\n"
      "mov.u32 %s, tile; mov.u32 %b, barrier;\n"
      "mbarrier.init.shared.b64 [%b], 3;\n"
      "mbarrier.arrive.shared.b64 %q, [%b], 2;\n"
      "mbarrier.arrive.expect_tx.shared.b64 %q, [%b], 512;\n"
      "mbarrier.test_wait.parity.shared.b64 %p, [%b], 0; selp.b32 %x, 1, 0, %p;\n"
      "st.global.b32 [%out], %x;\n" /* 512 bytes are missing */
      "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%b], 512;\n"
      "mbarrier.test_wait.parity.shared.b64 %p, [%b], 0; selp.b32 %x, 1, 0, %p;\n"
      "st.global.b32 [%out+4], %x;\n"
      "mbarrier.arrive_drop.shared.b64 %q, [%b]; mbarrier.arrive.shared.b64 %q, [%b], 2;\n"
      "mbarrier.test_wait.parity.shared.b64 %p, [%b], 1; selp.b32 %x, 1, 0, %p;\n"
      "st.global.b32 [%out+8], %x;\n"
      "cp.async.ca.shared.global [%s], [%in], 4;\n"
      "cp.async.mbarrier.arrive.noinc.shared.b64 [%b];\n"
      "mbarrier.arrive.shared.b64 _, [%b];\n" /* the phase expects two now */
      "mbarrier.test_wait.parity.shared.b64 %p, [%b], 0; selp.b32 %x, 1, 0, %p;\n"
      "st.global.b32 [%out+12], %x;\n"
      "ld.shared.b32 %x, [%s]; st.global.b32 [%out+16], %x;\n"
      "mbarrier.inval.shared.b64 [%b];";
  static const uint32_t expected[] = {0, 1, 1, 1, 77};
  uint32_t in[1] = {77}, out[8];
  lanes_run(NULL, tile, body, 1, in, 4, out, 32);
  assert_memory_equal(out, expected, sizeof expected);
  bf_emu_result result =
      lanes_try(NULL, tile,
                ".reg .b32 %b; .reg .b64 %q; mov.u32 %b, barrier;\n"
                "mbarrier.init.shared.b64 [%b], 3; mbarrier.arrive.shared.b64 %q, [%b], 4;",
                1, in, 4, out, 4);
  assert_int_equal(result.fault.kind, BF_EMU_BAD_BARRIER);
}

static void other_forms_are_refused(void **state) {
  (void)state;
  lanes_refused(
      tile,
      ".reg .b32 %s; mov.u32 %s, tile;\n"
      "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes "
      "[%s], [%in, {%s, %s}], [barrier];",
      "a column and four rows");
  lanes_refused(
      tile,
      ".reg .b32 %s; mov.u32 %s, tile;\n"
      "cp.async.bulk.tensor.3d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes "
      "[%s], [%in, {%s, %s, %s, %s, %s}], [barrier];",
      "gathered or scattered in this form");
  lanes_refused(tile,
                ".reg .b32 %s; .reg .b16 %h; mov.u32 %s, tile;\n"
                "cp.async.bulk.tensor.3d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes "
                "[%s], [%in, {%s, %s, %s}], [barrier], {%h};",
                "im2col::w without a number of halo pixels");
}

/* Store wavefronts of one cp.async of a warp whose lane l copies from chunk l & mask, as an H200
 * counts them (tests/data/h200/atomics_copies.csv). */
static uint64_t count_copies(const char *cache, unsigned mask) {
  char text[1024];
  snprintf(text, sizeof text,
           ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 128 .b8 tile[512];\n"
           ".visible .entry k(.param .u64 p) {\n.reg .b32 %%r<4>; .reg .b64 %%d<3>;\n"
           "ld.param.u64 %%d1, [p]; mov.u32 %%r1, %%tid.x; and.b32 %%r2, %%r1, %u;\n"
           "mul.wide.u32 %%d2, %%r2, 16; add.u64 %%d1, %%d1, %%d2;\n"
           "mov.u32 %%r3, tile; mad.lo.u32 %%r3, %%r1, 16, %%r3;\n"
           "cp.async.%s.shared.global [%%r3], [%%d1], 16; cp.async.wait_all;\nret;\n}\n",
           mask, cache);
  bed at;
  bf_machine *machine;
  bf_profile *profile;
  bed_open_text(&at, "copy.ptx", text, strlen(text), NULL);
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  uint64_t parameter = bed_alloc(&at, 512, 0), wavefronts = 0;
  bf_emu_launch launch = bed_launch(&at, "k", 1, 32, &parameter, sizeof parameter);
  assert_int_equal(bf_profile_create(machine, NULL, launch.kernel, 1, &profile, NULL), BF_OK);
  bf_emu_observer observer = bf_profile_observer(profile);
  launch.observer = &observer;
  launch.workers = 1;
  bed_run_well(&at, &launch);
  for (unsigned i = 0; i < bf_emu_kernel_sites(launch.kernel); i++)
    wavefronts += bf_profile_get(profile, i).wavefronts_store;
  bf_profile_free(profile);
  bf_machine_free(machine);
  bed_close(&at);
  return wavefronts;
}

static void copies_count_by_where_they_come_from(void **state) {
  (void)state;
  assert_int_equal(count_copies("cg", 31), 4); /* lane by lane */
  assert_int_equal(count_copies("cg", 3), 8);  /* two sectors, again and again */
  assert_int_equal(count_copies("ca", 31), 4);
  assert_int_equal(count_copies("ca", 0), 32); /* one bank of the cache */
}

/* st.bulk: zeros for as many bytes as a register says, at addresses of the space and generic ones.
 */
static void bulk_stores_write_zeros(void **state) {
  (void)state;
  static const char body[] =
      ".reg .b32 %s, %x, %y, %z, %w; .reg .b64 %n, %g; mov.u32 %s, tile;\n"
      "mad.lo.u32 %s, %index, 64, %s; mov.u32 %x, 7; mov.u64 %n, 16;\n"
      "st.shared.v4.b32 [%s], {%x, %x, %x, %x}; st.shared.v4.b32 [%s+16], {%x, %x, %x, %x};\n"
      "st.bulk.weak.shared::cta [%s+8], 8, 0;\n"
      "cvt.u64.u32 %g, %s; cvta.shared.u64 %g, %g; st.bulk [%g+16], %n, 0;\n"
      "ld.shared.v4.b32 {%x, %y, %z, %w}, [%s]; st.global.v4.b32 [%out], {%x, %y, %z, %w};\n"
      "ld.shared.v4.b32 {%x, %y, %z, %w}, [%s+16]; st.global.v4.b32 [%out+16], {%x, %y, %z, %w};";
  static const uint32_t expected[8] = {7, 7};
  uint32_t in[LANES] = {0}, out[LANES][8];
  lanes_run(NULL, tile, body, LANES, in, 4, out, 32);
  for (unsigned lane = 0; lane < LANES; lane++)
    assert_memory_equal(out[lane], expected, sizeof expected);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies_count_by_where_they_come_from),
      cmocka_unit_test(copies_wait_for_their_group),
      cmocka_unit_test(copies_fill_with_zeros),
      cmocka_unit_test(lanes_have_own_groups),
      cmocka_unit_test(many_copies),
      cmocka_unit_test(blocks_start_without_copies),
      cmocka_unit_test(bad_addresses_are_faults),
      cmocka_unit_test(barriers_have_phases),
      cmocka_unit_test(barriers_count),
      cmocka_unit_test(other_forms_are_refused),
      cmocka_unit_test(bulk_stores_write_zeros),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
