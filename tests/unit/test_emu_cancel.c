/* clusterlaunchcontrol: blocks that take over the work of clusters which have not begun. Whoever
 * runs what, every block's work is done once. */
#include "emu.h"

#include <stdio.h>

/* Thread 0 of a block (of the first of a cluster, which asks for all) counts its own number, and
 * then asks for another until there is none. out[0] counts blocks that began. */
static const char text[] =
    ".version 8.6\n.target sm_100a\n.address_size 64\n"
    ".visible .entry works(.param .u64 to) {\n"
    ".reg .b64 %%out, %%at; .reg .b32 %%t, %%rank, %%x, %%y, %%z, %%width, %%high, %%n, %%parity;\n"
    ".reg .pred %%p, %%first; .reg .b128 %%w; .reg .b64 %%low, %%top;\n"
    ".shared .align 16 .b8 answer[16]; .shared .align 8 .b64 barrier;\n"
    "ld.param.u64 %%out, [to]; cvta.to.global.u64 %%out, %%out;\n"
    "mov.u32 %%t, %%tid.x; setp.ne.u32 %%p, %%t, 0; @%%p bra over;\n"
    "red.global.add.u32 [%%out], 1;\n"
    "mov.u32 %%x, %%ctaid.x; mov.u32 %%y, %%ctaid.y; mov.u32 %%z, %%ctaid.z; mov.u32 %%parity, 0;\n"
    "mov.u32 %%rank, %%cluster_ctarank; setp.eq.u32 %%first, %%rank, 0;\n"
    "mbarrier.init.shared.b64 [barrier], 1; fence.mbarrier_init.release.cluster;\n"
    "barrier.cluster.arrive; barrier.cluster.wait;\n"
    "again:\n"
    "mov.u32 %%width, %%nctaid.x; mov.u32 %%high, %%nctaid.y; mad.lo.u32 %%n, %%z, %%high, %%y;\n"
    "mad.lo.u32 %%n, %%n, %%width, %%x; mul.wide.u32 %%at, %%n, 4; add.u64 %%at, %%at, %%out;\n"
    "red.global.add.u32 [%%at+4], 1;\n"
    "mbarrier.arrive.expect_tx.shared.b64 _, [barrier], 16;\n"
    "barrier.cluster.arrive; barrier.cluster.wait;\n"
    "%s clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes%s.b128 "
    "[answer], [barrier];\n"
    "WAIT: mbarrier.try_wait.parity.shared.b64 %%p, [barrier], %%parity; @!%%p bra WAIT;\n"
    "xor.b32 %%parity, %%parity, 1;\n"
    "ld.shared.v2.u64 {%%low, %%top}, [answer]; mov.b128 %%w, {%%low, %%top};\n"
    "barrier.cluster.arrive; barrier.cluster.wait;\n"
    "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %%p, %%w; @!%%p bra over;\n"
    "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%%x, %%y, _, _}, %%w;\n"
    "clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %%z, %%w;\n"
    "add.u32 %%x, %%x, %%rank; bra again;\n"
    "over: ret;\n}\n";

/* Runs a grid of 12 x 3 x 2 blocks of which those of a cluster lie along x. Returns how many
 * blocks began. */
static uint32_t run(unsigned cluster, unsigned workers) {
  enum { BLOCKS = 12 * 3 * 2 };
  char ptx[4096];
  bed at;
  snprintf(ptx, sizeof ptx, text, cluster > 1 ? "@%first" : "",
           cluster > 1 ? ".multicast::cluster::all" : "");
  bed_open_text(&at, "works.ptx", ptx, strlen(ptx), NULL);
  uint64_t out = bed_alloc(&at, 4 * (1 + BLOCKS), 0);
  bf_emu_launch launch = bed_launch(&at, "works", 12, 32, &out, sizeof out);
  launch.grid[1] = 3;
  launch.grid[2] = 2;
  launch.workers = workers;
  if (cluster > 1) {
    launch.cluster[0] = cluster;
    launch.cluster[1] = launch.cluster[2] = 1;
  }
  bed_run_well(&at, &launch);
  const uint32_t *count = (const uint32_t *)(uintptr_t)out;
  uint32_t began = count[0];
  for (unsigned i = 0; i < BLOCKS; i++)
    assert_int_equal(count[1 + i], 1);
  bed_close(&at);
  return began;
}

static void work_is_done_once(void **state) {
  (void)state;
  assert_int_equal(run(1, 1), 1);
  assert_int_equal(run(4, 1), 4);
  for (unsigned i = 0; i < 8; i++) {
    assert_in_range(run(1, 3), 1, 72);
    assert_in_range(run(2, 3), 2, 72);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(work_is_done_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
