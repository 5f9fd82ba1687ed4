/* Bits that the verifier takes for 0, and residues that it takes for known, are so when random
 * programs run on the emulator. */
#include "random.h"
#include "verify.h"

#include "verify/inner.h"

enum {
  NARROW_REGISTERS = 32,
  WIDE_REGISTERS = 14,
  GIVEN = 6,   /* narrow registers that the program starts with */
  WIDENED = 6, /* wide registers that are made of narrow ones */
  THREADS = 64,
  THREAD_BYTES = 8 * (NARROW_REGISTERS + WIDE_REGISTERS),
  PROGRAMS = 1500,
};

/* Instructions on narrow registers; %d is the register written, then those read, with the places of
 * small numbers marked by #. */
static const char *const narrow_forms[] = {
    "add.s32 %%r%d, %%r%d, %%r%d",
    "sub.s32 %%r%d, %%r%d, %%r%d",
    "and.b32 %%r%d, %%r%d, %%r%d",
    "or.b32 %%r%d, %%r%d, %%r%d",
    "xor.b32 %%r%d, %%r%d, %%r%d",
    "mul.lo.s32 %%r%d, %%r%d, %%r%d",
    "mul.hi.u32 %%r%d, %%r%d, %%r%d",
    "mad.lo.u32 %%r%d, %%r%d, %%r%d, %%r%d",
    "min.u32 %%r%d, %%r%d, %%r%d",
    "selp.b32 %%r%d, %%r%d, %%r%d, %%p1",
    "shl.b32 %%r%d, %%r%d, %%r%d",
    "shr.u32 %%r%d, %%r%d, %%r%d",
    "shr.s32 %%r%d, %%r%d, %%r%d",
    "lop3.b32 %%r%d, %%r%d, %%r%d, %%r%d, #",
    "shl.b32 %%r%d, %%r%d, #",
    "shr.u32 %%r%d, %%r%d, #",
    "shr.s32 %%r%d, %%r%d, #",
    "and.b32 %%r%d, %%r%d, #",
    "add.s32 %%r%d, %%r%d, #",
    "add.s32 %%r%d, %%r%d, -#",
    "mul.lo.s32 %%r%d, %%r%d, #",
    "rem.u32 %%r%d, %%r%d, #",
    "rem.s32 %%r%d, %%r%d, #",
    "div.u32 %%r%d, %%r%d, #",
    "bfe.u32 %%r%d, %%r%d, #, #",
    "bfe.s32 %%r%d, %%r%d, #, #",
    "bfi.b32 %%r%d, %%r%d, %%r%d, #, #",
    "bfi.b32 %%r%d, %%r%d, %%r%d, %%r%d, #",
    "cvt.u32.u8 %%r%d, %%r%d",
    "cvt.s32.s8 %%r%d, %%r%d",
    "cvt.u32.s16 %%r%d, %%r%d",
    "not.b32 %%r%d, %%r%d",
    "neg.s32 %%r%d, %%r%d",
    "add.sat.s32 %%r%d, %%r%d, %%r%d",
    "and.b32 %%r%d, %%r%d, -#",
    "shl.b32 %%r%d, %%r%d, #",
    "min.s32 %%r%d, %%r%d, %%r%d",
    "max.s32 %%r%d, %%r%d, %%r%d",
    "max.u32 %%r%d, %%r%d, %%r%d",
    "min.s32 %%r%d, %%r%d, #",
    "div.s32 %%r%d, %%r%d, #",
    "popc.b32 %%r%d, %%r%d",
    "rem.s32 %%r%d, %%r%d, -#",
    "mul.lo.u32 %%r%d, %%r%d, #",
    "and.b32 %%part, %%r%2$d, #;\nsub.s32 %%r%1$d, %%r%2$d, %%part",
    ("add.s32 %%part, %%r%2$d, %%r%3$d;\nand.b32 %%part, %%part, #;\n"
     "sub.s32 %%r%1$d, %%r%2$d, %%part"),
};

/* The same with a wide register written. */
static const char *const widening_forms[] = {
    "cvt.u64.u32 %%rd%d, %%r%d",         "cvt.s64.s32 %%rd%d, %%r%d",
    "mul.wide.u32 %%rd%d, %%r%d, %%r%d", "mul.wide.s32 %%rd%d, %%r%d, %%r%d",
    "mul.wide.u32 %%rd%d, %%r%d, #",
};

/* The same on wide registers. */
static const char *const wide_forms[] = {
    "add.s64 %%rd%d, %%rd%d, %%rd%d",
    "sub.s64 %%rd%d, %%rd%d, %%rd%d",
    "xor.b64 %%rd%d, %%rd%d, %%rd%d",
    "mul.lo.s64 %%rd%d, %%rd%d, %%rd%d",
    "shr.s64 %%rd%d, %%rd%d, #",
    "shr.u64 %%rd%d, %%rd%d, #",
    "shl.b64 %%rd%d, %%rd%d, #",
    "and.b64 %%rd%d, %%rd%d, -#",
    "bfi.b64 %%rd%d, %%rd%d, %%rd%d, #, #",
};

/* A random entry of a list. */
#define ONE_OF(random, list) (list)[random_below(random, sizeof(list) / sizeof *(list))]

/* Writes an instruction with registers below known, and numbers in the places of #. */
static size_t add_instruction(test_random *random, const char *form, int to, int known, char *text,
                              size_t size) {
  char line[128];
  int from[3];
  for (unsigned i = 0; i < 3; i++)
    from[i] = (int)random_below(random, (uint64_t)known);
  snprintf(line, sizeof line, form, to, from[0], from[1], from[2]);
  for (const char *c = line; *c; c++) {
    if (*c == '#')
      size += (size_t)snprintf(text + size, MOST_TEXT - size, "%d",
                               1 + (int)random_below(random, random_below(random, 2) ? 31 : 255));
    else
      text[size++] = *c;
    assert_true(size < MOST_TEXT);
  }
  return size + (size_t)snprintf(text + size, MOST_TEXT - size, ";\n");
}

/* A program that computes in a loop of two rounds, and then stores all registers. */
static void make_program(test_random *random, char *text) {
  size_t size = (size_t)snprintf(
      text, MOST_TEXT,
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n"
      ".maxntid %d, 1, 1\n{\n.reg .b32 %%r<%d>;\n.reg .b64 %%rd<%d>;\n.reg .pred %%p<3>;\n"
      ".reg .b32 %%round, %%part;\n.reg .b64 %%at<4>;\nmov.u32 %%round, 0;\nmov.u32 %%r0, "
      "%%tid.x;\n"
      "mov.u32 %%r1, %%laneid;\nmov.u32 %%r2, %%ntid.x;\nmov.u32 %%r3, %d;\nmov.u32 %%r4, %d;\n"
      "ld.param.u64 %%at1, [out];\ncvt.u64.u32 %%at2, %%r0;\nmad.lo.s64 %%at1, %%at2, %d, %%at1;\n"
      "ld.global.u8 %%r5, [%%at1];\nsetp.lt.u32 %%p1, %%r0, 20;\nLOOP:\n",
      THREADS, NARROW_REGISTERS, WIDE_REGISTERS, (int)random_below(random, 4096),
      -(int)random_below(random, 4096), THREAD_BYTES);
  for (int i = GIVEN; i < NARROW_REGISTERS; i++)
    size = add_instruction(random, ONE_OF(random, narrow_forms), i, i, text, size);
  for (int i = 0; i < WIDENED; i++)
    size = add_instruction(random, ONE_OF(random, widening_forms), i, NARROW_REGISTERS, text, size);
  for (int i = WIDENED; i < WIDE_REGISTERS; i++)
    size = add_instruction(random, ONE_OF(random, wide_forms), i, i, text, size);
  /* Some registers get another value for the second round. */
  for (unsigned i = 0; i < 3; i++)
    size =
        add_instruction(random, ONE_OF(random, narrow_forms),
                        (int)random_below(random, NARROW_REGISTERS), NARROW_REGISTERS, text, size);
  size += (size_t)snprintf(
      text + size, MOST_TEXT - size,
      "add.s32 %%round, %%round, 1;\nsetp.lt.u32 %%p2, %%round, 2;\n@%%p2 bra LOOP;\n");
  for (int i = 0; i < NARROW_REGISTERS; i++)
    size += (size_t)snprintf(text + size, MOST_TEXT - size, "st.global.u32 [%%at1+%d], %%r%d;\n",
                             8 * i, i);
  for (int i = 0; i < WIDE_REGISTERS; i++)
    size += (size_t)snprintf(text + size, MOST_TEXT - size, "st.global.u64 [%%at1+%d], %%rd%d;\n",
                             8 * (NARROW_REGISTERS + i), i);
  snprintf(text + size, MOST_TEXT - size, "ret;\n}\n");
}

/* Runs the program; memory gets what all threads have stored. */
static void execute(const char *text, unsigned char *memory) {
  bed at;
  bf_diagnostic diagnostic = {0};
  const bf_emu_kernel *kernel = NULL;
  bf_emu_result result = {0};
  bed_open_text(&at, "known", text, strlen(text), NULL);
  uint64_t buffer = bed_alloc(&at, THREADS * THREAD_BYTES, 0);
  for (unsigned i = 0; i < THREADS; i++)
    ((unsigned char *)(uintptr_t)buffer)[i * THREAD_BYTES] = (unsigned char)(i * 37);
  assert_int_equal(bf_emu_kernel_get(at.module, "k", &kernel, &diagnostic), BF_OK);
  bf_emu_launch launch = {.kernel = kernel,
                          .grid = {1, 1, 1},
                          .block = {THREADS, 1, 1},
                          .parameters = &buffer,
                          .parameter_bytes = sizeof buffer,
                          .workers = 1};
  assert_int_equal(bf_emu_run(at.emu, &launch, &result, &diagnostic), BF_OK);
  assert_int_equal(result.fault.kind, 0);
  memcpy(memory, (void *)(uintptr_t)buffer, THREADS * THREAD_BYTES);
  bed_close(&at);
}

/* The number of bits that are known, after they were found to be 0. */
static unsigned check_bits(const char *text, const uint64_t *zeros, const unsigned char *memory) {
  unsigned known = 0;
  for (unsigned i = 0; i < NARROW_REGISTERS + WIDE_REGISTERS; i++) {
    known +=
        (unsigned)__builtin_popcountll(i < NARROW_REGISTERS ? zeros[i] & UINT32_MAX : zeros[i]);
    for (unsigned thread = 0; thread < THREADS; thread++) {
      uint64_t value;
      memcpy(&value, memory + thread * THREAD_BYTES + 8 * i, sizeof value);
      if (value & zeros[i])
        fail_msg("register %u holds %llx where %llx is known to be 0:\n%s", i,
                 (unsigned long long)value, (unsigned long long)zeros[i], text);
    }
  }
  return known;
}

/* The number of bits of residues that are not 0, after they were found to be as they are said to
 * be.
 */
static unsigned check_residues(const char *text, const bf_verify_residue *residue,
                               const unsigned char *memory) {
  unsigned known = 0;
  for (unsigned i = 0; i < NARROW_REGISTERS + WIDE_REGISTERS; i++) {
    known += residue[i].value ? residue[i].bits : 0;
    for (unsigned thread = 0; thread < THREADS; thread++) {
      uint64_t value;
      memcpy(&value, memory + thread * THREAD_BYTES + 8 * i, sizeof value);
      if ((value ^ residue[i].value) & bf_gf2_low_bits(residue[i].bits))
        fail_msg("register %u holds %llx, not %llx in its lowest %u bits:\n%s", i,
                 (unsigned long long)value, (unsigned long long)residue[i].value, residue[i].bits,
                 text);
    }
  }
  return known;
}

static void test_known_bits_are_zero(void **state) {
  static unsigned char memory[THREADS * THREAD_BYTES];
  char text[MOST_TEXT];
  test_random random = {5};
  unsigned known = 0, ending = 0;
  (void)state;
  for (unsigned i = 0; i < PROGRAMS; i++) {
    bf_arena arena = {0};
    make_program(&random, text);
    bf_ptx_module *module = parse(text);
    bf_verify_threads threads;
    assert_int_equal(bf_verify_threads_find(bf_ptx_find(module, "k"), &arena, &threads), BF_OK);
    const uint64_t *zeros = bf_verify_known_zeros(bf_ptx_find(module, "k"), &threads, &arena);
    assert_non_null(zeros);
    execute(text, memory);
    known += check_bits(text, zeros, memory);
    ending += check_residues(text, bf_verify_residues(bf_ptx_find(module, "k"), &arena), memory);
    bf_arena_free(&arena);
    bf_ptx_free(module);
  }
  print_message("%u bits in a program known to be 0\n", known / PROGRAMS);
  assert_true(known / PROGRAMS > 300);
  print_message("%u bits of residues that are not 0\n", ending / PROGRAMS);
  assert_true(ending / PROGRAMS > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_bits_are_zero)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
