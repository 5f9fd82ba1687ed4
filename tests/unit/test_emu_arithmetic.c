/* Operations of the emulator on edge values, for every instruction set of the host.
 *
 * A row is one or more instructions on registers of fixed names and what they give: %h, %r and %d
 * are 16, 32 and 64 bits wide, %p predicates; 1 to 4 hold the operands, 0 takes the result, %p5 a
 * second one. Rows with the same instructions are run together, one per lane; then again with a
 * guard that holds in odd lanes only, and the even ones must keep what they had. */
#include "emu.h"

enum { SLOTS = 16, SENTINEL_SLOT = 4, GUARD_SLOT = 5, RESULT_SLOT = 8 };

static const uint64_t sentinel = UINT64_C(0xa5a5a5a5a5a5a5a5);

typedef struct row {
  const char *text;
  char result; /* h, r, d: the register; p: %p0; b: %p0 and %p5 as bits 0 and 1 */
  uint64_t operand[4];
  uint64_t expected;
} row;

#include "emu_arithmetic_rows.h"

/* Puts guard before each instruction of text. */
static void add_guarded(bf_text *ptx, const char *text, const char *guard) {
  while (*text) {
    size_t size = strcspn(text, ";");
    bf_text_addf(ptx, "  %s %.*s;\n", guard, (int)size, text);
    text += size + (text[size] == ';');
  }
}

static void write_kernel(bf_text *ptx, const char *text, bool guarded) {
  bf_text_addf(ptx, ".version 8.7\n.target sm_90a\n.address_size 64\n"
                    ".visible .entry k(.param .u64 memory)\n{\n"
                    "  .reg .pred %%p<8>;\n  .reg .b16 %%h<8>;\n  .reg .b32 %%r<12>;\n"
                    "  .reg .b64 %%d<12>;\n  .reg .b128 %%w<4>;\n"
                    "  ld.param.u64 %%d9, [memory];\n  mov.u32 %%r9, %%tid.x;\n"
                    "  mul.wide.u32 %%d10, %%r9, 128;\n  add.u64 %%d9, %%d9, %%d10;\n");
  for (unsigned i = 0; i <= 4; i++) {
    unsigned at = 8 * (i ? i - 1 : SENTINEL_SLOT);
    bf_text_addf(ptx,
                 "  ld.u16 %%h%u, [%%d9+%u];\n  ld.u32 %%r%u, [%%d9+%u];\n"
                 "  ld.u64 %%d%u, [%%d9+%u];\n  setp.ne.u64 %%p%u, %%d%u, 0;\n",
                 i, at, i, at, i, at, i, i);
  }
  bf_text_addf(ptx,
               "  mov.pred %%p5, %%p0;\n  ld.u32 %%r10, [%%d9+%u];\n"
               "  setp.ne.u32 %%p6, %%r10, 0;\n",
               8 * GUARD_SLOT);
  add_guarded(ptx, text, guarded ? "@%p6" : "");
  bf_text_addf(ptx,
               "  st.u16 [%%d9+%u], %%h0;\n  st.u32 [%%d9+%u], %%r0;\n  st.u64 [%%d9+%u], %%d0;\n"
               "  selp.u32 %%r9, 1, 0, %%p0;\n  selp.u32 %%r10, 2, 0, %%p5;\n"
               "  st.u32 [%%d9+%u], %%r9;\n  or.b32 %%r9, %%r9, %%r10;\n  st.u32 [%%d9+%u], %%r9;\n"
               "  ret;\n}\n",
               8 * RESULT_SLOT, 8 * RESULT_SLOT + 8, 8 * RESULT_SLOT + 16, 8 * RESULT_SLOT + 24,
               8 * RESULT_SLOT + 32);
}

/* Runs text on 32 lanes of slots. */
static void run_lanes(const char *isa, const char *text, bool guarded,
                      uint64_t lanes[BF_EMU_LANES][SLOTS]) {
  bf_text ptx = {0};
  bed at;
  uint64_t address = (uintptr_t)lanes;
  write_kernel(&ptx, text, guarded);
  bed_open_text(&at, text, ptx.data, ptx.size, isa);
  assert_int_equal(bf_emu_register(at.emu, lanes, sizeof(uint64_t[BF_EMU_LANES][SLOTS]), 0, NULL),
                   BF_OK);
  bf_emu_launch launch = bed_launch(&at, "k", 1, BF_EMU_LANES, &address, sizeof address);
  launch.workers = 1;
  bed_run_well(&at, &launch);
  bed_close(&at);
  bf_text_free(&ptx);
}

/* The result of a row in the slots of a lane. */
static uint64_t result_of(const row *r, const uint64_t *slots) {
  switch (r->result) {
  case 'h':
    return slots[RESULT_SLOT] & 0xffff;
  case 'r':
    return slots[RESULT_SLOT + 1] & UINT32_MAX;
  case 'd':
    return slots[RESULT_SLOT + 2];
  case 'p':
    return slots[RESULT_SLOT + 3];
  default:
    return slots[RESULT_SLOT + 4];
  }
}

/* What a result is where nothing was written. */
static uint64_t untouched(char result) {
  switch (result) {
  case 'h':
    return sentinel & 0xffff;
  case 'r':
    return sentinel & UINT32_MAX;
  case 'd':
    return sentinel;
  case 'p':
    return 1;
  default:
    return 3;
  }
}

/* Runs count rows of the same text; returns how many are wrong. */
static unsigned check_rows(const char *isa, const row *r, unsigned count, bool guarded) {
  static uint64_t lanes[BF_EMU_LANES][SLOTS];
  unsigned wrong = 0;
  memset(lanes, 0, sizeof lanes);
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    memcpy(lanes[lane], r[lane % count].operand, sizeof r->operand);
    lanes[lane][SENTINEL_SLOT] = sentinel;
    lanes[lane][GUARD_SLOT] = lane & 1;
  }
  run_lanes(isa, r->text, guarded, lanes);
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    const row *of = &r[lane % count];
    bool written = !guarded || lane & 1;
    uint64_t got = result_of(of, lanes[lane]);
    uint64_t expected = written ? of->expected : untouched(of->result);
    if (got == expected)
      continue;
    wrong++;
    print_error("%s lane %u%s: %s of %llx, %llx, %llx, %llx gives %llx, not %llx\n", isa, lane,
                guarded ? " guarded" : "", of->text, (unsigned long long)of->operand[0],
                (unsigned long long)of->operand[1], (unsigned long long)of->operand[2],
                (unsigned long long)of->operand[3], (unsigned long long)got,
                (unsigned long long)expected);
  }
  return wrong;
}

static void check_isa(const char *isa) {
  unsigned wrong = 0, total = sizeof rows / sizeof *rows;
  if (!bf_emu_isa_find(isa)) {
    printf("skipped: no %s in this processor or build\n", isa);
    skip();
  }
  for (unsigned i = 0, count; i < total; i += count) {
    for (count = 1; i + count < total && count < BF_EMU_LANES; count++)
      if (strcmp(rows[i].text, rows[i + count].text) != 0)
        break;
    wrong += check_rows(isa, &rows[i], count, false);
    wrong += check_rows(isa, &rows[i], count, true);
  }
  assert_int_equal(wrong, 0);
}

static void test_plain(void **state) {
  (void)state;
  check_isa("plain");
}

static void test_avx2(void **state) {
  (void)state;
  check_isa("avx2");
}

static void test_avx512(void **state) {
  (void)state;
  check_isa("avx512");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_avx2),
                                     cmocka_unit_test(test_avx512)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
