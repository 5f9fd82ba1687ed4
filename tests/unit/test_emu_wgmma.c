/* wgmma: what it costs, against what an H200 counted (tests/data/h200/hopper.csv), and what it
 * refuses; bulk copies and barriers that nobody can complete. */
#include "emu_lanes.h"

#include <stdio.h>

/* ---- Wavefronts ---- */

/* What a line of the table says: the kernel and its ten numbers, the wavefronts and bytes of wgmma.
 */
typedef struct row {
  char kernel[64];
  unsigned long long number[10], wavefronts, bytes;
} row;

static bool read_row(const char *line, row *to) {
  unsigned long long cycles, *n = to->number;
  return sscanf(line, "%63[^,],%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu",
                to->kernel, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7], &n[8], &n[9],
                &cycles, &to->wavefronts, &to->bytes) == 14;
}

static uint64_t descriptor_of(const unsigned long long *n) {
  return (n[3] >> 4 & 0x3fff) | (n[0] >> 4 & 0x3fff) << 16 | (n[1] >> 4 & 0x3fff) << 32 |
         (n[4] & 7) << 49 | n[2] << 62;
}

/* The PTX of a kernel of the table: wgmma_TYPE_N_AB_R. */
static char *text_of(const char *kernel) {
  enum { MOST = 1 << 14 };
  char type[16], *text = malloc(MOST), list[2048] = "";
  unsigned n, ab, in_registers;
  assert_non_null(text);
  assert_int_equal(sscanf(kernel, "wgmma_%15[^_]_%u_%u_%u", type, &n, &ab, &in_registers), 4);
  bool is_half = !strcmp(type, "f16") || !strcmp(type, "bf16"), is_integer = !strcmp(type, "s8");
  unsigned k = is_half ? 16 : !strcmp(type, "tf32") ? 8 : 32;
  for (unsigned i = 0; i < n / 2; i++)
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s%%f%u", i ? ", " : "", i);
  char tail[32] = "";
  if (!is_integer)
    snprintf(tail, sizeof tail, ", 1, 1");
  if (is_half && !in_registers)
    snprintf(tail, sizeof tail, ", 1, 1, %u, %u", ab / 10, ab % 10);
  if (is_half && in_registers)
    snprintf(tail, sizeof tail, ", 1, 1, %u", ab % 10);
  snprintf(
      text, MOST,
      ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 room[];\n"
      ".visible .entry k(.param .u64 a, .param .u64 b) {\n"
      ".reg .b32 %%f<%u>, %%r; .reg .b64 %%a, %%b; .reg .pred %%p;\n"
      "ld.param.u64 %%a, [a]; ld.param.u64 %%b, [b]; mov.b32 %%r, 0; setp.eq.u32 %%p, 0, 1;\n"
      "wgmma.mma_async.sync.aligned.m64n%uk%u.%s.%s.%s {%s}, %s, %%b, %%p%s;\n"
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\nret;\n}\n",
      n / 2, n, k, is_integer ? "s32" : "f32", type, type, list,
      in_registers ? "{%r, %r, %r, %r}" : "%a", tail);
  return text;
}

/* The wavefronts of one wgmma of a row on the emulator, whose launch must not fail. */
static uint64_t count_row(const row *from) {
  bed at;
  bf_diagnostic diagnostic;
  bf_machine *machine;
  bf_profile *profile;
  char *text = text_of(from->kernel);
  bed_open_text(&at, "wgmma.ptx", text, strlen(text), NULL);
  uint64_t parameters[2] = {descriptor_of(from->number), descriptor_of(from->number + 5)};
  bf_emu_launch launch = bed_launch(&at, "k", 1, 128, parameters, sizeof parameters);
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, &diagnostic), BF_OK);
  assert_int_equal(bf_profile_create(machine, NULL, launch.kernel, 1, &profile, &diagnostic),
                   BF_OK);
  bf_emu_observer observer = bf_profile_observer(profile);
  launch.observer = &observer;
  launch.workers = 1;
  launch.dynamic_shared_bytes = 1 << 20; /* more than a GPU has: some offsets lead far away */
  bf_emu_result result = bed_run(&at, &launch);
  if (result.fault.kind)
    fail_msg("%s: %s", from->kernel, result.fault.text);
  bf_profile_row counted = bf_profile_get(profile, 0);
  for (unsigned i = 0; i < bf_emu_kernel_sites(launch.kernel) && !counted.executions; i++)
    counted = bf_profile_get(profile, i);
  assert_int_equal(counted.executions, 1);
  assert_int_equal(counted.conflicts, 0);
  const bf_operand_sum *a = &counted.operand[BF_OPERAND_A], *b = &counted.operand[BF_OPERAND_B];
  assert_int_equal(a->wavefronts + b->wavefronts, counted.wavefronts);
  assert_int_equal(b->times, 1);
  assert_int_equal(a->bytes, a->times * 64 * 32);
  assert_int_equal(b->bytes, b->what.rows * 32);
  bf_profile_free(profile);
  bf_machine_free(machine);
  bed_close(&at);
  free(text);
  return counted.wavefronts;
}

/* The table has 16 products in each launch. Each pass of the loop around them, and two things
 * beside it, count one wavefront more: 18, which are not of the product. */
static void wavefronts_are_those_of_an_h200(void **state) {
  (void)state;
  char line[1024];
  unsigned rows = 0;
  row from;
  FILE *file = fopen("../tests/data/h200/hopper.csv", "r");
  if (!file)
    file = fopen("tests/data/h200/hopper.csv", "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, "wgmma_", 6) != 0 || !read_row(line, &from))
      continue;
    uint64_t own = count_row(&from);
    if (16 * own + 18 != from.wavefronts || 128 * from.wavefronts != from.bytes)
      fail_msg("%s: %llu wavefronts, the H200 %llu", from.kernel, (unsigned long long)own,
               from.wavefronts);
    rows++;
  }
  fclose(file);
  assert_in_range(rows, 600, 1000);
}

/* ---- What goes wrong ---- */

static const char tile[] = ".shared .align 128 .b8 tile[4096]; .shared .align 8 .b64 barrier;\n";
#define START                                                                                      \
  ".reg .b32 %s, %b, %x; .reg .pred %p; .reg .b64 %q; mov.u32 %s, tile; mov.u32 %b, barrier;\n"    \
  "mbarrier.init.shared.b64 [%b], 1;\n"
#define COPY(to, from, bytes)                                                                      \
  "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [" to "], [" from "], " bytes \
  ", [%b];\n"
#define WAIT "WAIT: mbarrier.try_wait.parity.shared.b64 %p, [%b], 0; @!%p bra WAIT;\n"

static bf_emu_fault fault_of(const char *body) {
  uint32_t in[32] = {0}, out[32];
  return lanes_try(NULL, tile, body, 1, in, 128, out, 128).fault;
}

static void check_fault(const char *body, bf_emu_fault_kind kind, const char *part) {
  bf_emu_fault fault = fault_of(body);
  if (fault.kind != kind || !strstr(fault.text, part))
    fail_msg("%s: %s", bf_emu_fault_name(fault.kind), fault.text);
  assert_true(fault.line > 0);
}

static void bulk_copies_are_checked(void **state) {
  (void)state;
  check_fault(START COPY("%s", "%in", "24"), BF_EMU_MISALIGNED, "no multiple of 16");
  check_fault(START COPY("%s+8", "%in", "16"), BF_EMU_MISALIGNED, "");
  check_fault(START COPY("%s", "%in+4", "16"), BF_EMU_MISALIGNED, "multiple of 16");
  check_fault(START COPY("%s", "%in", "8192"), BF_EMU_OUT_OF_BOUNDS, "");
  check_fault(START "mapa.shared::cluster.u32 %x, %s, 1;", BF_EMU_BAD_INSTRUCTION, "cluster of 1");
}

/* Data arrive when they are waited for, and not before. */
static void copies_arrive_when_waited_for(void **state) {
  (void)state;
  static const char body[] =
      START "st.shared.u32 [%s], 5;\n"
            "mbarrier.arrive.expect_tx.shared.b64 %q, [%b], 16;\n" COPY(
                "%s", "%in", "16") "ld.shared.u32 %x, [%s]; st.global.u32 [%out], %x;\n" WAIT
                                   "ld.shared.u32 %x, [%s]; st.global.u32 [%out+4], %x;";
  uint32_t in[32] = {77}, out[32];
  lanes_run(NULL, tile, body, 1, in, 128, out, 128);
  assert_int_equal(out[0], 5);
  assert_int_equal(out[1], 77);
}

/* Barriers that nobody can complete are reported with what they lack. */
static void hopeless_waits_are_reported(void **state) {
  (void)state;
  check_fault(START WAIT, BF_EMU_DEADLOCK, "1 of 1 arrivals and 0 bytes");
  check_fault(START COPY("%s", "%in", "16") "mbarrier.inval.shared.b64 [%b];\n" WAIT,
              BF_EMU_DEADLOCK, "has been invalidated");
  check_fault(START "mbarrier.arrive.expect_tx.shared.b64 %q, [%b], 32;\n" COPY("%s", "%in", "16")
                  WAIT,
              BF_EMU_DEADLOCK, "0 of 1 arrivals and 16 bytes (no copy");
  check_fault(START "mbarrier.arrive.expect_tx.shared.b64 %q, [%b], 16;\n" COPY("%s", "%in", "32")
                  WAIT,
              BF_EMU_DEADLOCK, "-16 bytes (more bytes came");
  /* The first copy ends the phase, and the second is still on its way. */
  check_fault(START "mbarrier.arrive.expect_tx.shared.b64 %q, [%b], 16;\n" COPY("%s", "%in", "16")
                  COPY("%s+16", "%in", "32") WAIT,
              BF_EMU_BAD_BARRIER, "while 32 bytes were on their way");
  check_fault(START "mbarrier.arrive.expect_tx.shared.b64 %q, [%b], 1048576;\n" WAIT,
              BF_EMU_BAD_BARRIER, "2^20 - 1 bytes");
  /* Without expect_tx the phase ends at once. */
  check_fault(START COPY("%s", "%in", "16") "mbarrier.arrive.shared.b64 %q, [%b];\n" WAIT,
              BF_EMU_BAD_BARRIER, "no expect_tx has announced them");
}

/* What a whole warp must do, or a whole group. */
static void parts_of_warps_are_told(void **state) {
  (void)state;
  static const char half[] =
      ".reg .b32 %t; .reg .pred %p; mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 16;\n@%p bra first;\n"
      "add.u32 %t, %t, 1; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
      "st.global.u32 [%out], %t; bra over;\n"
      "first: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\nover:\n";
  static const char registers[] =
      ".reg .b32 %t; .reg .pred %p; mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 32;\n"
      "@%p setmaxnreg.dec.sync.aligned.u32 40;\n";
  uint32_t in[128] = {0}, out[128];
  bf_emu_fault fault = lanes_try(NULL, tile, half, 32, in, 4, out, 4).fault;
  assert_int_equal(fault.kind, BF_EMU_DEADLOCK);
  assert_non_null(strstr(fault.text, "16 threads of the warp never come"));
  assert_true(fault.line > 0);
  fault = lanes_try(NULL, tile, registers, 128, in, 4, out, 4).fault;
  assert_int_equal(fault.kind, BF_EMU_BAD_INSTRUCTION);
  assert_non_null(strstr(fault.text, "setmaxnreg by some warps"));
  assert_int_equal(lanes_try(NULL, tile, registers, 32, in, 4, out, 4).fault.kind, BF_EMU_NO_FAULT);
}

/* Descriptors that no hardware takes, and too few warps. */
static void bad_products_are_faults(void **state) {
  (void)state;
  static const char product[] =
      ".reg .f32 %f<4>; .reg .b64 %d; .reg .pred %p; setp.eq.u32 %p, 0, 0; mov.u64 %d, 0x%s;\n"
      "mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d, %d, %p, 1, 1, "
      "0, 0;\n";
  uint32_t in[128] = {0}, out[128];
  const struct {
    const char *bits;
    unsigned threads;
    bf_emu_fault_kind kind;
    const char *part;
  } cases[] = {{"0000400000000000", 128, BF_EMU_BAD_INSTRUCTION, "must be 0"},
               {"0000000000003fff", 128, BF_EMU_OUT_OF_BOUNDS, "behind the"},
               {"0000000000000000", 64, BF_EMU_BAD_INSTRUCTION, "four warps"}};
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    char body[1024];
    char *at = strstr(strcpy(body, product), "%s");
    memmove(at + 16, at + 2, strlen(at + 2) + 1);
    memcpy(at, cases[i].bits, 16);
    bf_emu_result result = lanes_try(NULL, tile, body, cases[i].threads, in, 4, out, 4);
    if (result.fault.kind != cases[i].kind || !strstr(result.fault.text, cases[i].part))
      fail_msg("%s: %s", bf_emu_fault_name(result.fault.kind), result.fault.text);
  }
}

/* A product by 128 threads, of descriptors that a and b are added to; what: PTX before it. */
static bf_emu_fault product_fault(const char *what, const char *guard) {
  char body[2048];
  uint32_t in[128] = {0}, out[128];
  snprintf(body, sizeof body,
           ".reg .f32 %%f<4>; .reg .b64 %%a, %%b; .reg .pred %%p, %%first; .reg .b32 %%t;\n"
           "mov.u32 %%t, tile; setp.eq.u32 %%p, 0, 0; mov.u64 %%a, 0; mov.u64 %%b, 0; mov.u32 %%t, "
           "%%tid.x;\n"
           "mov.f32 %%f0, 0f00000000; mov.f32 %%f1, %%f0; mov.f32 %%f2, %%f0; mov.f32 %%f3, %%f0;\n"
           "setp.lt.u32 %%first, %%t, 32;\n%s\n"
           "%s wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%%f0, %%f1, %%f2, %%f3}, %%a, "
           "%%b, %%p, 1, 1, 0, 0;\n"
           "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n",
           what, guard);
  return lanes_try(NULL, tile, body, 128, in, 4, out, 4).fault;
}

/* The four warps of a group execute the same products with the same descriptors. */
static void groups_that_disagree_are_told(void **state) {
  (void)state;
  assert_int_equal(product_fault("", "").kind, BF_EMU_NO_FAULT);
  const struct {
    const char *what, *guard, *part;
    unsigned thread;
  } cases[] = {{"@%first mov.u64 %a, 8;", "", "descriptor of A is 0x0; in warp 0", 32},
               {"@%first mov.u64 %b, 8;", "", "descriptor of B is 0x0; in warp 0", 32},
               {"", "@%first", "warp 0 of the group has executed 1 products by wgmma", 96},
               {"", "@!%first", "warp 0 of the group has executed 0 products by wgmma", 96}};
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_emu_fault fault = product_fault(cases[i].what, cases[i].guard);
    if (fault.kind != BF_EMU_BAD_INSTRUCTION || !strstr(fault.text, cases[i].part) ||
        fault.thread[0] != cases[i].thread)
      fail_msg("%s: %s, thread %u", bf_emu_fault_name(fault.kind), fault.text, fault.thread[0]);
  }
}

/* A fault in what was inlined names the calls, so that whoever uses a header finds the line. */
static void faults_name_the_calls(void **state) {
  (void)state;
  static const char before[] = ".shared .align 128 .b8 tile[4096]; .shared .align 8 .b64 barrier;\n"
                               ".file 1 \"copies.cuh\"\n.file 2 \"stages.cuh\"\n"
                               ".file 3 \"main.cu\"\n";
  static const char body[] =
      ".loc 3 40 1\n.loc 2 21 3, function_name $L_load, inlined_at 3 40 1\n"
      ".loc 1 7 5, function_name $L_copy, inlined_at 2 21 3\n" START COPY("%s", "%in", "24");
  uint32_t in[32] = {0}, out[32];
  bf_emu_fault fault = lanes_try(NULL, before, body, 1, in, 128, out, 128).fault;
  assert_int_equal(fault.source_line, 7);
  assert_string_equal(fault.calls, "stages.cuh:21, inlined at main.cu:40");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wavefronts_are_those_of_an_h200),
      cmocka_unit_test(bulk_copies_are_checked),
      cmocka_unit_test(copies_arrive_when_waited_for),
      cmocka_unit_test(hopeless_waits_are_reported),
      cmocka_unit_test(parts_of_warps_are_told),
      cmocka_unit_test(bad_products_are_faults),
      cmocka_unit_test(groups_that_disagree_are_told),
      cmocka_unit_test(faults_name_the_calls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
