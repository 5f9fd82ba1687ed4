/* What is looked for together with races: copies and wgmma that read what a thread wrote without a
 * fence, and threads that come too near to copies that nobody has waited for. */
#include "emu_lanes.h"

#define START                                                                                      \
  ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 to) {\n"          \
  ".shared .align 128 .b8 tile[4096]; .shared .align 8 .b64 barrier;\n"                            \
  ".reg .b32 %s, %b, %x, %t; .reg .pred %p, %one; .reg .b64 %g, %q, %d; .reg .f32 %f<4>;\n"        \
  "mov.u32 %s, tile; mov.u32 %b, barrier; ld.param.u64 %g, [to]; mov.u32 %t, %tid.x;\n"            \
  "setp.eq.u32 %one, %t, 0;\n"                                                                     \
  "@%one mbarrier.init.shared.b64 [%b], 1; bar.sync 0;\n"
#define END "ret;\n}\n"
#define WRITE "shl.b32 %x, %t, 2; add.u32 %x, %x, %s; st.shared.b32 [%x], %t;\n"
#define FENCE "fence.proxy.async.shared::cta;\n"
#define SYNC "bar.sync 0;\n"
#define STORE                                                                                      \
  "@%one cp.async.bulk.global.shared::cta.bulk_group [%g], [%s], 512;\n"                           \
  "@%one cp.async.bulk.commit_group;\n"
#define STORED "@%one cp.async.bulk.wait_group.read 0;\n"
#define LOAD                                                                                       \
  "@%one mbarrier.arrive.expect_tx.shared.b64 %q, [%b], 512;\n"                                    \
  "@%one cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%g], 512, "      \
  "[%b];\n"
#define WAIT "wait: mbarrier.try_wait.parity.shared.b64 %p, [%b], 0; @!%p bra wait;\n"
#define READ "ld.shared.b32 %x, [%s+16];\n"
/* A and B from the same 4096 bytes. */
#define PRODUCT                                                                                    \
  "shr.u32 %x, %s, 4; cvt.u64.u32 %d, %x; or.b64 %d, %d, 0x0000001000080000;\n"                    \
  "mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n"               \
  "setp.eq.u32 %p, 0, 1; wgmma.fence.sync.aligned;\n"                                              \
  "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d, %d, %p, 1, 1, 0, "  \
  "0;\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"

static const struct {
  const char *text, *part; /* of the message; NULL: there is none */
} cases[] = {
    {START WRITE FENCE SYNC STORE STORED END, NULL},
    {START WRITE SYNC STORE STORED END, "without a fence.proxy.async"},
    /* A fence of another thread is none. */
    {START WRITE SYNC "@%one " FENCE STORE STORED END, "thread (1,0,0) wrote"},
    {START WRITE FENCE WRITE SYNC STORE STORED END, "without a fence.proxy.async"},
    {START WRITE FENCE SYNC STORE STORED SYNC WRITE END, NULL},
    {START WRITE FENCE SYNC STORE SYNC WRITE STORED END, "copies in bulk from"},
    {START WRITE FENCE SYNC STORE SYNC READ STORED END, NULL},
    {START LOAD WAIT READ SYNC WRITE END, NULL},
    {START LOAD SYNC READ WAIT END, "copies in bulk to"},
    {START LOAD "@%one st.shared.b32 [%s+16], %t;\n" WAIT END, "copies in bulk to"},
    {START LOAD WAIT STORE STORED END, NULL},
    {START LOAD STORE STORED WAIT END, "copies in bulk to"},
    {START WRITE FENCE SYNC PRODUCT END, NULL},
    {START WRITE SYNC PRODUCT END, "without a fence.proxy.async"},
    {START LOAD SYNC PRODUCT WAIT END, "copies in bulk to"},
};

static void cases_are_told_apart(void **state) {
  (void)state;
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    bed at;
    bed_open_text(&at, "proxy.ptx", cases[i].text, strlen(cases[i].text), NULL);
    uint64_t to = bed_alloc(&at, 4096, 0);
    bf_emu_launch launch = bed_launch(&at, "k", 1, 128, &to, sizeof to);
    launch.check_races = true;
    bf_emu_result result = bed_run(&at, &launch);
    bf_emu_fault_kind kind = cases[i].part ? BF_EMU_RACE : BF_EMU_NO_FAULT;
    if (result.fault.kind != kind || (cases[i].part && !strstr(result.fault.text, cases[i].part)))
      fail_msg("case %u: %s: %s", i, bf_emu_fault_name(result.fault.kind), result.fault.text);
    bed_close(&at);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cases_are_told_apart)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
