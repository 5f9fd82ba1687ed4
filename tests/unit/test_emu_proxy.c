/* What is looked for together with races: copies and wgmma that read what a thread wrote without a
 * fence, and threads that come too near to copies that nobody has waited for. */
#include "emu/tensor_map.h"
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
#define MULTIPLY                                                                                   \
  "shr.u32 %x, %s, 4; cvt.u64.u32 %d, %x; or.b64 %d, %d, 0x0000001000080000;\n" MULTIPLY_WITH
#define MULTIPLY_WITH                                                                              \
  "mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n"               \
  "setp.eq.u32 %p, 0, 1; wgmma.fence.sync.aligned;\n"                                              \
  "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d, %d, %p, 1, 1, 0, "  \
  "0;\n"
#define COMMIT "wgmma.commit_group.sync.aligned;\n"
#define MULTIPLIED(but) "wgmma.wait_group.sync.aligned " but ";\n"
#define PRODUCT MULTIPLY COMMIT MULTIPLIED("0")
/* Gives the other warps time, and the rest of a kernel to the first thread alone. */
#define LATER(label)                                                                               \
  "mov.u32 %x, 0;\n" label ": add.u32 %x, %x, 1; setp.lt.u32 %p, %x, 1000000; @%p bra " label ";"  \
  "\n"
#define FIRST_WARP "setp.lt.u32 %p, %t, 32;\n@!%p bra past;\n"
#define OTHER_WARPS "bra over;\npast: "
/* A sparse product of zeros by metadata. */
#define SPARSE(form, metadata)                                                                     \
  "mov.u32 %x, 0; mov.u32 %b, " metadata "; mov.f32 %f0, 0f00000000;\n"                            \
  "mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n"                                        \
  "mma." form ".sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%x, %x}, "    \
  "{%x, %x}, {%f0, %f1, %f2, %f3}, %b, 0x0;\n"
/* Lanes 0 to 15 of each warp alone. */
#define HALF "and.b32 %x, %t, 16; setp.eq.u32 %p, %x, 0;\n@!%p bra over;\n"

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
    /* A warp waits, and others read what it has waited for: without a barrier, with one, and with a
     * wait of their own. */
    {START LOAD SYNC FIRST_WARP WAIT OTHER_WARPS LATER("spin") "over: " READ END,
     "and thread (0,0,0) has waited for it, behind which nothing orders this one"},
    {START LOAD SYNC FIRST_WARP WAIT OTHER_WARPS LATER("spin") "over: " SYNC READ END, NULL},
    {START LOAD SYNC FIRST_WARP WAIT OTHER_WARPS LATER("spin") "more: mbarrier.try_wait.parity"
                                                               ".shared.b64 %p, [%b], 0; @!%p bra "
                                                               "more;\nover: " READ END,
     NULL},
    {START LOAD SYNC FIRST_WARP WAIT OTHER_WARPS LATER("spin") "over: " PRODUCT END,
     "and thread (0,0,0) has waited for it, behind which nothing orders this one"},
    /* A copy begins where others have read before, with and without a barrier. */
    {START READ FIRST_WARP LATER("spin") LOAD "past: " WAIT END,
     "read it at PTX line 10, and nothing orders the two"},
    {START READ SYNC FIRST_WARP LATER("spin") LOAD "past: " WAIT END, NULL},
    {START WRITE FIRST_WARP LATER("spin") LOAD "past: " WAIT END, "wrote it at PTX line 10, and"},
    {START LOAD "@%one mbarrier.init.shared.b64 [%b], 1;\n" WAIT END,
     "mbarrier initialised while copies are on their way to it"},
    {START LOAD WAIT SYNC "@%one mbarrier.inval.shared.b64 [%b];\n" END, NULL},
    {START "mov.u32 %x, 100; bar.sync 1, %x;\n" END, "barrier 1 for 100 threads, which is no"},
    {START FIRST_WARP "bar.sync 1, 128;\n" OTHER_WARPS "bar.sync 1, 96;\nover: " END,
     "at which others have come for"},
    {START SPARSE("sp", "0x4e4e9c9c") END, NULL},
    {START SPARSE("sp", "0x1") END, "chunk 1 of row 0 names place 0 and then 0: it must be two"},
    {START SPARSE("sp", "0x11111111") END, NULL},
    {START SPARSE("sp::ordered_metadata", "0x4e4e9c9c") END, NULL},
    {START SPARSE("sp::ordered_metadata", "0x44414444") END,
     "chunk 0 of row 8 names place 1 and then 0: the lower one comes first"},
    {START WRITE FENCE SYNC PRODUCT END, NULL},
    {START WRITE SYNC PRODUCT END, "without a fence.proxy.async"},
    {START LOAD SYNC PRODUCT WAIT END, "copies in bulk to"},
    /* Operands are read until wgmma.wait_group says so. */
    {START WRITE FENCE SYNC PRODUCT SYNC WRITE END, NULL},
    {START WRITE FENCE SYNC MULTIPLY COMMIT SYNC WRITE MULTIPLIED("0") END, "multiplies with"},
    {START WRITE FENCE SYNC MULTIPLY COMMIT MULTIPLIED("1") SYNC LOAD WAIT END, "multiplies with"},
    {START WRITE FENCE SYNC MULTIPLY COMMIT MULTIPLY COMMIT MULTIPLIED("1") SYNC READ END, NULL},
    {START WRITE FENCE SYNC PRODUCT SYNC LOAD WAIT END, NULL},
    {START WRITE FENCE SYNC MULTIPLY MULTIPLIED("0") END, "commit_group is missing"},
    /* Whoever ends has waited for what it has copied out of shared memory. */
    {START WRITE FENCE SYNC STORE END, "ends without cp.async.bulk.wait_group"},
    {START WRITE FENCE SYNC
     "@%one cp.async.bulk.global.shared::cta.bulk_group [%g], [%s], 512;\n" STORED END,
     "no cp.async.bulk.commit_group"},
    /* Instructions of a whole warp that half of it executes. */
    {START HALF "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%x}, [%s];\nover: " SYNC END,
     "16 threads of the warp never come"},
    {START HALF "elect.sync %x|%p, 0xffffffff;\nover: " SYNC END, "lane 16 first"},
    {START HALF "elect.sync %x|%p, 0xffff;\nover: " SYNC END, NULL},
    {START HALF "shfl.sync.bfly.b32 %x, %t, 1, 0x1f, 0x1ffff;\nover: " SYNC END,
     "its mask names them"},
    /* The other half executes the same elsewhere, or something else. */
    {START HALF "vote.sync.any.pred %p, %one, -1;\nbra past;\n"
                "over: vote.sync.any.pred %p, %one, -1;\npast: " SYNC END,
     NULL},
    {START HALF "bar.warp.sync -1;\nbra past;\nover: bar.warp.sync -1;\npast: " SYNC END, NULL},
    {START HALF "vote.sync.any.pred %p, %one, -1;\nbra past;\n"
                "over: vote.sync.all.pred %p, %one, -1;\npast: " SYNC END,
     "all must execute it together"},
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
    bool is_told = result.fault.kind != BF_EMU_NO_FAULT;
    if (is_told != (cases[i].part != NULL) ||
        (cases[i].part && !strstr(result.fault.text, cases[i].part)))
      fail_msg("case %u: %s: %s", i, bf_emu_fault_name(result.fault.kind), result.fault.text);
    bed_close(&at);
  }
}

/* What the hardware reads and nobody has written. */
static void what_nobody_wrote_is_told(void **state) {
  (void)state;
  static const struct {
    const char *text, *part;
  } rows[] = {
      {START WRITE FENCE SYNC STORE STORED END, NULL},
      {START FENCE SYNC STORE STORED END, "cp.async.bulk.global"},
      {START LOAD WAIT STORE STORED END, NULL},
      {START WRITE FENCE SYNC PRODUCT END, "wgmma.mma_async"},
      {START "mov.u32 %x, 0; st.shared.v4.b32 [%s], {%x, %x, %x, %x};\n" PRODUCT END,
       "wgmma.mma_async"},
      {START "shl.b32 %b, %t, 5; add.u32 %b, %b, %s; mov.u32 %x, 0;\n"
             "st.shared.v4.b32 [%b], {%x, %x, %x, %x}; st.shared.v4.b32 [%b+16], {%x, %x, %x, "
             "%x};\n" SYNC PRODUCT END,
       NULL},
  };
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    bed at;
    bed_open_text(&at, "proxy.ptx", rows[i].text, strlen(rows[i].text), NULL);
    uint64_t to = bed_alloc(&at, 4096, 0);
    bf_emu_launch launch = bed_launch(&at, "k", 1, 128, &to, sizeof to);
    launch.check_uninitialised = true;
    bf_emu_fault fault = bed_run(&at, &launch).fault;
    assert_int_equal(fault.kind, rows[i].part ? BF_EMU_UNINITIALISED : BF_EMU_NO_FAULT);
    const char *line = rows[i].text;
    for (uint64_t k = 1; k < fault.line; k++)
      line = strchr(line, '\n') + 1;
    if (rows[i].part && !strstr(line, rows[i].part))
      fail_msg("row %u: line %llu: %.60s", i, (unsigned long long)fault.line, line);
    bed_close(&at);
  }
}

#define RESIZED(first, second)                                                                     \
  ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 to)\n"            \
  ".maxntid 384, 1, 1\n{\n.reg .pred %p; .reg .b32 %t;\n"                                          \
  "mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 128; @!%p bra past;\n" first "ret;\npast:\n" second     \
  "ret;\n}\n"
#define RESIZE(to) "setmaxnreg." to ";\n"

/* 384 threads begin with 168 registers each at most: 64512. */
static void registers_are_counted(void **state) {
  (void)state;
  static const struct {
    const char *text, *part;
  } rows[] = {
      {RESIZED(RESIZE("dec.sync.aligned.u32 40"), RESIZE("inc.sync.aligned.u32 232")), NULL},
      {RESIZED(RESIZE("inc.sync.aligned.u32 240"), RESIZE("dec.sync.aligned.u32 128")), NULL},
      {RESIZED(RESIZE("inc.sync.aligned.u32 240"), RESIZE("dec.sync.aligned.u32 136")),
       "setmaxnreg.inc to 240 registers never ends: the block has 64512 at most, of which the "
       "other "
       "warps keep 34816 and this group of warps wants 30720"},
      {RESIZED(RESIZE("inc.sync.aligned.u32 176"), ""), "never ends"},
      {RESIZED(RESIZE("dec.sync.aligned.u32 176"), ""), "to 176 registers by a warp that has 168"},
      {RESIZED(RESIZE("dec.sync.aligned.u32 96") RESIZE("inc.sync.aligned.u32 88"), ""),
       "setmaxnreg.inc to 88 registers by a warp that has 96"},
      {RESIZED(RESIZE("dec.sync.aligned.u32 96") RESIZE("inc.sync.aligned.u32 168"), ""), NULL},
      {RESIZED("and.b32 %t, %t, 1; setp.eq.u32 %p, %t, 0;\n@%p " RESIZE("dec.sync.aligned.u32 96"),
               ""),
       "16 threads of the warp never come"},
  };
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    bed at;
    bed_open_text(&at, "registers.ptx", rows[i].text, strlen(rows[i].text), NULL);
    uint64_t to = 0;
    bf_emu_launch launch = bed_launch(&at, "k", 2, 384, &to, sizeof to);
    launch.check_races = true;
    bf_emu_fault fault = bed_run(&at, &launch).fault;
    if ((fault.kind != BF_EMU_NO_FAULT) != (rows[i].part != NULL) ||
        (rows[i].part && !strstr(fault.text, rows[i].part)))
      fail_msg("row %u: %s: %s", i, bf_emu_fault_name(fault.kind), fault.text);
    assert_true(!rows[i].part || fault.line > 0);
    bed_close(&at);
  }
}

#define BOX_BEHIND(first)                                                                          \
  START first                                                                                      \
      "mov.u32 %x, 0;\n@%one mbarrier.arrive.expect_tx.shared.b64 %q, [%b], 4096;\n"               \
      "@%one cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "    \
      "[%s], [%g, {%x, %x}], [%b];\n" WAIT
#define BOX BOX_BEHIND("")
/* The fill of the map in global memory becomes what it is. */
#define CHANGE                                                                                     \
  "mov.u32 %x, 0; @%one tensormap.replace.tile.fill_mode.global.b1024.b32 [%g], %x;\n" SYNC
#define ACQUIRE "fence.proxy.tensormap::generic.acquire.gpu [%g], 128;\n"
/* The product above by a descriptor with other offsets and another layout. */
#define PRODUCT_BY(bits) "mov.b64 %d, 0x" bits ";\n" MULTIPLY_WITH COMMIT MULTIPLIED("0")

/* 64 rows of 64 bytes, copied with a swizzle of 64 bytes or none. */
static void swizzles_are_compared(void **state) {
  (void)state;
  static const struct {
    uint8_t swizzle;
    const char *text, *part;
  } rows[] = {
      {BF_TENSOR_SWIZZLE_64, BOX PRODUCT_BY("8000002000010000") END, NULL},
      {BF_TENSOR_SWIZZLE_64, BOX PRODUCT_BY("4000002000010000") END,
       "with a swizzle of 64, and the descriptor says one of 128"},
      {BF_TENSOR_SWIZZLE_64, BOX PRODUCT_BY("0000001000080000") END,
       "with a swizzle of 64, and the descriptor says none"},
      {BF_TENSOR_SWIZZLE_NONE, BOX PRODUCT_BY("8000002000010000") END,
       "with no swizzle, and the descriptor says one of 64"},
      /* Who writes there afterwards may have put it in order. */
      {BF_TENSOR_SWIZZLE_64,
       BOX SYNC "mov.u32 %x, 0;\nnext: st.shared.b32 [%s], %x; add.u32 %s, %s, 4;\n"
                "add.u32 %x, %x, 1; setp.lt.u32 %p, %x, 1024;\n@%p bra next;\n" FENCE SYNC
                    PRODUCT_BY("0000001000080000") END,
       NULL},
      /* A map that was changed is acquired before it is used. */
      {BF_TENSOR_SWIZZLE_64, BOX_BEHIND(CHANGE ACQUIRE) END, NULL},
      {BF_TENSOR_SWIZZLE_64, BOX_BEHIND(CHANGE) END,
       "thread (0,0,0) changed the tensor map at PTX line"},
      {BF_TENSOR_SWIZZLE_64, BOX_BEHIND(CHANGE ACQUIRE SYNC CHANGE) END,
       "no fence.proxy.tensormap"},
      {BF_TENSOR_SWIZZLE_64, BOX_BEHIND(CHANGE "@%one " ACQUIRE) END, NULL},
  };
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    bed at;
    bed_open_text(&at, "swizzles.ptx", rows[i].text, strlen(rows[i].text), NULL);
    uint64_t to = bed_alloc(&at, 8192, 0);
    bf_tensor_map map = {.address = to + 1024,
                         .size = {31, 63},
                         .box = {32, 64},
                         .step = {1, 1},
                         .rank = 2,
                         .type = BF_TENSOR_F16,
                         .swizzle = rows[i].swizzle,
                         .stride = {64}};
    memcpy(map.magic, BF_TENSOR_MAGIC, sizeof map.magic);
    memcpy((void *)(uintptr_t)to, &map, sizeof map);
    bf_emu_launch launch = bed_launch(&at, "k", 1, 128, &to, sizeof to);
    launch.check_races = true;
    bf_emu_result result = bed_run(&at, &launch);
    const char *part = rows[i].part;
    if ((result.fault.kind != BF_EMU_NO_FAULT) != (part != NULL) ||
        (part && !strstr(result.fault.text, part)))
      fail_msg("row %u: %s: %s", i, bf_emu_fault_name(result.fault.kind), result.fault.text);
    bed_close(&at);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cases_are_told_apart), cmocka_unit_test(what_nobody_wrote_is_told),
      cmocka_unit_test(registers_are_counted), cmocka_unit_test(swizzles_are_compared)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
