/* Traces of other tools: what becomes of their lines, and what is said of bad ones. */
#include "access/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const bf_trace_limits limits = {.lanes = 32, .allocation_bytes = 65536};

static int parse(bf_foreign *state, const char *text, bf_access *access,
                 bf_diagnostic *diagnostic) {
  const char *site;
  size_t length;
  bf_line line = {"trace", 7, text};
  return bf_foreign_parse(&line, state, &limits, access, &site, &length, diagnostic);
}

/* An NVBit line with addresses i * stride. */
static void nvbit_line(char *line, size_t size, const char *opcode, unsigned stride) {
  size_t used = (size_t)snprintf(
      line, size, "MEMTRACE: CTX 0x55 - grid_launch_id 0 - CTA 0,0,0 - warp 0 - %s - ", opcode);
  for (unsigned lane = 0; lane < 32; lane++)
    used += (size_t)snprintf(line + used, size - used, "0x%016x ", lane * stride);
}

static void nvbit_opcodes(void **state) {
  (void)state;
  static const struct {
    const char *opcode;
    bf_op op;
    unsigned width;
  } expected[] = {
      {"LDS", BF_OP_LD, 4},
      {"LDS.U.64", BF_OP_LD, 8},
      {"LDS.128", BF_OP_LD, 16},
      {"LDS.U8", BF_OP_LD, 1},
      {"LDS.S16", BF_OP_LD, 2},
      {"STS", BF_OP_ST, 4},
      {"STS.128", BF_OP_ST, 16},
      {"ATOMS.ADD", BF_OP_ATOM, 4},
      {"ATOMS.CAS", BF_OP_CAS, 4},
      {"ATOMS.CAST.SPIN", BF_OP_FATOM, 4},
      {"ATOMS.EXCH", BF_OP_EXCH, 4},
      {"ATOMS.POPC.INC.32", BF_OP_RED, 4},
      {"ATOMS.MIN", BF_OP_MAX, 4},
      {"LDSM.16.M88", BF_OP_LDMATRIX1, 16},
      {"LDSM.16.M88.2", BF_OP_LDMATRIX2, 16},
      {"LDSM.16.M88.4", BF_OP_LDMATRIX4, 16},
      {"LDSM.16.MT88.4", BF_OP_LDMATRIXT4, 16},
      {"STSM.16.M88.4", BF_OP_STMATRIX4, 16},
  };
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    bf_foreign foreign = {.form = BF_TRACE_NVBIT};
    bf_access access;
    bf_diagnostic diagnostic;
    char line[2048];
    nvbit_line(line, sizeof line, expected[i].opcode, 16);
    assert_int_equal(parse(&foreign, line, &access, &diagnostic), 1);
    assert_int_equal(access.op, expected[i].op);
    assert_int_equal(access.width_bytes, expected[i].width);
    assert_int_equal(access.mask, 0xffffffff);
    assert_int_equal(access.address[31], 31 * 16);
    assert_string_equal(foreign.site, expected[i].opcode);
  }
}

static void other_lines_are_passed_over(void **state) {
  (void)state;
  static const char *const nvbit[] = {"", "hello",
                                      "MEMTRACE: CTX 0 - g 0 - CTA 0 - warp 0 - LDG.E - 0x7f00"};
  static const char *const accelsim[] = {"",
                                         "#BEGIN_TB",
                                         "warp = 3",
                                         "insts = 12",
                                         "-nregs = 16",
                                         "thread block = 0,0,0",
                                         "0010 ffffffff 1 R2 LDG.E 1 R4 4 1 0x7efe7b60c300 4 ",
                                         "0010 00000000 1 R2 LDS 1 R4 0 "};
  bf_access access;
  bf_diagnostic diagnostic;
  bf_foreign foreign = {.form = BF_TRACE_NVBIT};
  for (size_t i = 0; i < sizeof nvbit / sizeof *nvbit; i++)
    assert_int_equal(parse(&foreign, nvbit[i], &access, &diagnostic), 0);
  foreign.form = BF_TRACE_ACCELSIM;
  for (size_t i = 0; i < sizeof accelsim / sizeof *accelsim; i++)
    assert_int_equal(parse(&foreign, accelsim[i], &access, &diagnostic), 0);
}

static void accelsim_addresses(void **state) {
  (void)state;
  bf_foreign foreign = {.form = BF_TRACE_ACCELSIM};
  bf_access access;
  bf_diagnostic diagnostic;
  assert_int_equal(parse(&foreign, "-kernel name = k", &access, &diagnostic), 0);
  assert_int_equal(parse(&foreign, "-shmem base_addr = 0x7f0000000000", &access, &diagnostic), 0);
  assert_int_equal(
      parse(&foreign, "0030 fffffff0 1 R3 LDS.64 1 R6 8 1 0x7f0000000010 -8", &access, &diagnostic),
      BF_BAD_INPUT); /* runs below 0 */
  assert_int_equal(
      parse(&foreign, "0030 000000f0 1 R3 LDS.64 1 R6 8 1 0x7f0000000100 -8", &access, &diagnostic),
      1);
  assert_int_equal(access.mask, 0xf0);
  assert_int_equal(access.address[4], 256);
  assert_int_equal(access.address[7], 232);
  assert_string_equal(foreign.site, "k:0x30:LDS.64");
  assert_int_equal(parse(&foreign, "0040 5 0 STS 2 R1 R2 4 0 0x8 0x20", &access, &diagnostic), 1);
  assert_int_equal(access.address[0], 8);
  assert_int_equal(access.address[2], 32);
  assert_int_equal(parse(&foreign, "0050 7 1 R3 LDS 1 R6 4 2 0x200 -4 8 ", &access, &diagnostic),
                   1);
  assert_int_equal(access.address[1], 508);
  assert_int_equal(access.address[2], 516);
}

static void faults_are_located(void **state) {
  (void)state;
  static const struct {
    bf_trace_form form;
    const char *line;
    unsigned column;
    const char *message;
  } expected[] = {
      {BF_TRACE_NVBIT, "MEMTRACE: CTX 0 - grid", 23, "the line ends before its opcode"},
      {BF_TRACE_NVBIT, "MEMTRACE: a - b - c - d - LDS - 0x0 0x4", 40, "expected an address"},
      {BF_TRACE_NVBIT, "MEMTRACE: a - b - c - d - LDS - 0x1", 33,
       "address 1 is not aligned to 4 bytes"},
      {BF_TRACE_ACCELSIM, "zz", 1, "expected a program counter"},
      {BF_TRACE_ACCELSIM, "0 1 2 R1", 9, "expected a register, R0 to R255"},
      {BF_TRACE_ACCELSIM, "0 1 0", 6, "expected an opcode"},
      {BF_TRACE_ACCELSIM, "0 1 0 STS 0 4 3 0x0", 15, "addresses are listed as 0, 1 or 2"},
      {BF_TRACE_ACCELSIM, "0 1 0 STS 0 4 0 0x20000", 17,
       "address 131072 is past the allocation of 65536 bytes"},
      {BF_TRACE_ACCELSIM, "0 fffffffff 0 STS 0 4 0 0x0", 3, "the mask has more than 32 lanes"},
  };
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    bf_foreign foreign = {.form = expected[i].form};
    bf_access access;
    bf_diagnostic diagnostic;
    assert_int_equal(parse(&foreign, expected[i].line, &access, &diagnostic), BF_BAD_INPUT);
    assert_string_equal(diagnostic.message, expected[i].message);
    assert_int_equal(diagnostic.line, 7);
    assert_int_equal(diagnostic.column, expected[i].column);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nvbit_opcodes),
      cmocka_unit_test(other_lines_are_passed_over),
      cmocka_unit_test(accelsim_addresses),
      cmocka_unit_test(faults_are_located),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
