/* Machine code: read from a cubin and from text, and what it changes in a simulation. */
#include "sim_bed.h"

#include "sim/machine.h"

/* ---- Reading ---- */

static void cubin_has_lines(void **state) {
  (void)state;
  bf_diagnostic diagnostic = {0};
  bf_text bytes = {0}, listing = {0};
  bf_machine_code code;
  assert_int_equal(bf_read_file("tests/data/sim/small.cubin", 1 << 20, &bytes, &diagnostic), BF_OK);
  assert_int_equal(bf_machine_code_read("small", bytes.data, bytes.size, &code, &diagnostic),
                   BF_OK);
  bf_machine_code_write(&code, &listing);
  /* The product of line 11 is folded into the sum of line 12; the last branch leads to itself. */
  assert_non_null(strstr(listing.data, "kernel small 8\n5 b82 8\n10 b82 1\n5 ab9 2\n10 981 1\n"
                                       "12 435 10\n12 424 5\n13 986 1\n14 94d 5\n14 947 0 8\n"));
  bf_machine_code_free(&code);
  for (size_t size = 0; size < bytes.size; size += size < 2048 ? 1 : 37) { /* cut anywhere */
    int error = bf_machine_code_read("small", bytes.data, size, &code, &diagnostic);
    assert_true(error == BF_OK || error == BF_BAD_INPUT);
    bf_machine_code_free(&code);
  }
  for (size_t at = 0; at < bytes.size; at++) { /* wrong anywhere */
    bytes.data[at] = (char)~bytes.data[at];
    int error = bf_machine_code_read("small", bytes.data, bytes.size, &code, &diagnostic);
    assert_true(error == BF_OK || error == BF_BAD_INPUT);
    bf_machine_code_free(&code);
    bytes.data[at] = (char)~bytes.data[at];
  }
  bf_text_free(&bytes);
  bf_text_free(&listing);
}

static void text_is_read_back(void **state) {
  (void)state;
  static const char listing[] = "kernel a 8\n5 b82 8\n0 947 5 0\nkernel b 255\n7 94d 15\n";
  bf_diagnostic diagnostic = {0};
  bf_machine_code code;
  bf_text text = {0};
  assert_int_equal(bf_machine_code_parse("x", listing, &code, &diagnostic), BF_OK);
  bf_machine_code_write(&code, &text);
  assert_string_equal(text.data, listing);
  assert_int_equal(bf_machine_code_find(&code, "b")->registers, 255);
  assert_null(bf_machine_code_find(&code, "c"));
  bf_text_free(&text);
  bf_machine_code_free(&code);
}

static void bad_text_is_refused(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"5 b82 8\n", "x:1: expected 'kernel NAME REGISTERS'"},
      {"kernel a\n", "x:1: expected 'kernel NAME REGISTERS'"},
      {"kernel a 8\n5 b82\n", "x:2: expected 'LINE OPCODE STALL [TARGET]'"},
      {"kernel a 8\n5 b82 1\n5 1000 1\n", "x:3: expected 'LINE OPCODE STALL [TARGET]'"},
      {"kernel a 8\n5 b82 16\n", "x:2: expected 'LINE OPCODE STALL [TARGET]'"},
      {"kernel a 8\n5 947 1 1\n", "x:2: expected 'LINE OPCODE STALL [TARGET]'"},
      {"kernel a 8\n5 947 1 0 0\n", "x:2: expected 'LINE OPCODE STALL [TARGET]'"},
      {"kernel a 8\n5 947 1", "x:2: expected 'LINE OPCODE STALL [TARGET]'"},
  };
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_diagnostic diagnostic = {0};
    bf_machine_code code;
    assert_int_equal(bf_machine_code_parse("x", rows[i][0], &code, &diagnostic), BF_BAD_INPUT);
    assert_string_equal(diagnostic.message, rows[i][1]);
    bf_machine_code_free(&code);
  }
}

/* ---- Simulating ---- */

/* Runs lines of a kernel; machine: NULL for the estimate. Cycles from the issue of the first
 * instruction to that of each other, by number; UINT64_MAX: it takes no turn. */
enum { MOST_ISSUES = 8 };

static void run_lines(const char *lines, const char *machine, uint64_t issued[MOST_ISSUES]) {
  bf_diagnostic diagnostic = {0};
  bf_machine_code code = {0};
  sim_bed own;
  sim_bed_make(&own, lines, "moves=free lookahead=32 int_cycles=4");
  if (machine && bf_machine_code_parse("x", machine, &code, &diagnostic))
    fail_msg("%s", diagnostic.message);
  own.settings.machine = machine ? &code : NULL;
  sim_bed_run(&own, "made", 1, 32);
  memset(issued, 0xff, MOST_ISSUES * sizeof *issued);
  for (unsigned i = 0; i < own.events; i++) /* instruction 0 loads the parameter */
    issued[own.event[i].instruction - 1] = own.event[i].issued;
  for (unsigned i = MOST_ISSUES; i-- > 0;)
    issued[i] -= issued[i] == UINT64_MAX ? 0 : issued[0];
  sim_bed_close(&own);
  bf_machine_code_free(&code);
}

static void check_issues(const char *lines, const char *machine, const char *expected) {
  bf_text text = {0};
  uint64_t issued[MOST_ISSUES];
  run_lines(lines, machine, issued);
  for (unsigned i = 0; i < MOST_ISSUES; i++)
    if (issued[i] != UINT64_MAX)
      bf_text_addf(&text, "%s%llu", i ? " " : "", (unsigned long long)issued[i]);
  assert_string_equal(text.data, expected);
  bf_text_free(&text);
}

#define CHAIN "add.s32 %r1, %r0, 1;\nadd.s32 %r2, %r1, 1;\nadd.s32 %r3, %r2, 1;\nret;"

/* Stall counts say when the next instruction of a warp issues; what has no instruction of the
 * machine takes no turn; what has two takes both. */
static void stalls_decide(void **state) {
  (void)state;
  check_issues(CHAIN, NULL, "0 1 2 8");
  check_issues(CHAIN, "kernel made 9\n13 810 5\n14 810 7\n15 810 6\n16 94d 5\n", "0 5 12 18");
  check_issues(CHAIN, "kernel made 9\n13 810 5\n15 810 6\n16 94d 5\n", "0 5 11");
  check_issues(CHAIN, "kernel made 9\n13 810 5\n14 810 7\n14 810 4\n15 810 6\n16 94d 5\n",
               "0 5 16 22");
  check_issues(CHAIN, "kernel other 9\n13 810 5\n", "0 1 2 8"); /* another kernel's */
}

/* What waits for a load is passed by what ptxas has put before it, and by nothing else. */
static void order_decides(void **state) {
  (void)state;
  static const char lines[] = "ld.global.u32 %r1, [%d0];\nadd.s32 %r2, %r1, 1;\n"
                              "add.s32 %r3, %r0, 1;\nret;";
  uint64_t before[MOST_ISSUES], behind[MOST_ISSUES];
  run_lines(lines, "kernel made 9\n13 981 2\n15 810 2\n14 810 2\n16 94d 5\n", before);
  run_lines(lines, "kernel made 9\n13 981 2\n14 810 2\n15 810 2\n16 94d 5\n", behind);
  assert_true(before[2] < 10); /* the load takes hundreds of cycles */
  assert_true(behind[2] > 50 && behind[2] > behind[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cubin_has_lines),     cmocka_unit_test(text_is_read_back),
      cmocka_unit_test(bad_text_is_refused), cmocka_unit_test(stalls_decide),
      cmocka_unit_test(order_decides),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
