/* The verifier of rewritten PTX: pairs that it must accept, one fault of every kind that it must
 * reject, and random mutants, which it may accept only where the emulator sees no difference.
 *
 * A pair is one file in tests/data/verify: lines that start with '-' belong to the original only,
 * with '+' to the rewritten form only. */
#include "emu.h"
#include "random.h"

#include "apply/verify.h"

#include <ctype.h>
#include <string.h>

/* Four-byte accesses of many kinds, a call, a barrier object, generic accesses. */
static const char narrow_pair[] = "tests/data/verify/narrow.txt";
/* Granules of 16 bytes: vectors, matrices, 64-bit addresses, one hash for several offsets. */
static const char wide_pair[] = "tests/data/verify/wide.txt";

enum { MOST_TEXT = 16384, BUFFER_BYTES = 4096 };

/* One side of a pair: lines without a mark and those with mark. */
static void pick_side(const char *pair, char mark, char *text) {
  char line[256];
  size_t size = 0;
  FILE *file = fopen(pair, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    bool is_marked = *line == '-' || *line == '+';
    if (!is_marked || *line == mark)
      size += (size_t)snprintf(text + size, MOST_TEXT - size, "%s", line + is_marked);
    assert_true(size < MOST_TEXT);
  }
  fclose(file);
}

static bf_ptx_module *parse(const char *text) {
  bf_diagnostic diagnostic = {0};
  bf_ptx_module *module = NULL;
  if (bf_ptx_parse("test", text, strlen(text), &module, &diagnostic))
    fail_msg("%llu: %s\n%s", (unsigned long long)diagnostic.line, diagnostic.message, text);
  return module;
}

static bf_hash *hash_from(const char *text) {
  bf_diagnostic diagnostic = {0};
  bf_hash *hash = NULL;
  const bf_geometry geometry = {.bank_bits = 5, .address_bits = 16, .word_bytes = 4};
  if (bf_hash_parse(text, &geometry, &hash, &diagnostic))
    fail_msg("%s", diagnostic.message);
  return hash;
}

static const bf_hash *same_for_all(void *context, const bf_ptx_function *kernel) {
  (void)kernel;
  return context;
}

/* Judges two texts; the result is to be freed. */
static bf_verify_result judge(const char *original, const char *rewritten, const char *hash_text) {
  bf_ptx_module *a = parse(original), *b = parse(rewritten);
  bf_hash *hash = hash_text ? hash_from(hash_text) : NULL;
  bf_verify_result result;
  assert_int_equal(bf_verify(a, b, hash, same_for_all, &result, NULL), BF_OK);
  bf_hash_free(hash);
  bf_ptx_free(a);
  bf_ptx_free(b);
  return result;
}

/* Fails unless the result is acceptance. */
static void expect_accepted(bf_verify_result *result) {
  if (!result->is_accepted)
    fail_msg("%llu: %s", (unsigned long long)result->finding[0].line, result->finding[0].text);
  assert_int_equal(result->findings, 0);
}

/* ---- Accepted ---- */

static void test_narrow_is_accepted(void **state) {
  char original[MOST_TEXT], rewritten[MOST_TEXT];
  (void)state;
  pick_side(narrow_pair, '-', original);
  pick_side(narrow_pair, '+', rewritten);
  bf_verify_result result = judge(original, rewritten, "fixed");
  expect_accepted(&result);
  assert_int_equal(result.kernels_hashed, 1);
  assert_int_equal(result.kernels_unchanged, 0);
  assert_int_equal(result.accesses_hashed, 14);
  assert_int_equal(result.accesses_exempt, 2);
  bf_verify_free(&result);
}

static void test_wide_is_accepted(void **state) {
  char original[MOST_TEXT], rewritten[MOST_TEXT];
  (void)state;
  pick_side(wide_pair, '-', original);
  pick_side(wide_pair, '+', rewritten);
  bf_verify_result result = judge(original, rewritten, "cute:3,4,3");
  expect_accepted(&result);
  assert_int_equal(result.accesses_hashed, 4);
  bf_verify_free(&result);
}

/* A kernel that was refused stays as it is, with a hash or without. */
static void test_unchanged_is_accepted(void **state) {
  char original[MOST_TEXT];
  (void)state;
  pick_side(narrow_pair, '-', original);
  for (unsigned i = 0; i < 2; i++) {
    bf_verify_result result = judge(original, original, i ? "fixed" : NULL);
    expect_accepted(&result);
    assert_int_equal(result.kernels_unchanged, 1);
    assert_int_equal(result.kernels_hashed, 0);
    bf_verify_free(&result);
  }
}

/* ---- Seeded faults ---- */

/* Replaces the occurrence of `from` that starts at or behind `behind` ("" for the start) by `to`;
 * the finding must contain `message` and stand at the line that holds `at` (NULL: any line). */
typedef struct seeded_fault {
  const char *name;
  bool is_wide;
  const char *behind, *from, *to;
  const char *message, *at;
} seeded_fault;

static const seeded_fault faults[] = {
    {"wrong shift", false, "add.s32 %h2", "%h2, 5;", "%h2, 6;", "not the hash of the address",
     "[%h3]"},
    {"wrong mask", false, "add.s32 %h2", "%t1, 124", "%t1, 120", "not the hash of the address",
     "[%h3]"},
    {"mask over a part of the word", false, "add.s32 %h2", "%t1, 124", "%t1, 127",
     "not the hash of the address", "[%h3]"},
    {"one store is missed", false, "", "st.shared.u32 [%h3]", "st.shared.u32 [%r8+16]",
     "access to shared memory without the hash", "[%r8+16], %r1"},
    {"a constant address is missed", false, "", "st.shared.u32 [%h4]", "st.shared.u32 [tile+8192]",
     "access to shared memory without the hash", "st.shared.u32 [tile+8192]"},
    {"an atomic is missed", false, "", "atom.shared.add.u32 %r12, [%h5]",
     "atom.shared.add.u32 %r12, [%r8]", "access to shared memory without the hash", "atom"},
    {"a reduction is missed", false, "", "[%h5+4096]", "[%r8+4096]",
     "access to shared memory without the hash", "red.shared"},
    {"a copy is missed", false, "", "cp.async.ca.shared.global [%h6]",
     "cp.async.ca.shared.global [%r8+32]", "access to shared memory without the hash", "cp.async"},
    {"a matrix is missed", true, "", "b16 {%r4}, [%near2]", "b16 {%r4}, [%r3]",
     "access to shared memory without the hash", "ldmatrix"},
    {"a vector is missed", true, "", "v4.u32 [%far2]", "v4.u32 [%rd5]",
     "access to shared memory without the hash", "v4.u32"},
    {"a generic load is missed", false, "", "ld.u32 %r14, [%wide2]", "ld.u32 %r14, [%rd5]",
     "generic access without the hash", "ld.u32 %r14"},
    {"a generic load is hashed always", false, "", "selp.b64 %wide1, %wide1, 0, %q;\n", "",
     "without asking whether it is shared", "ld.u32 %r14"},
    {"a generic load is hashed elsewhere", false, "", "%wide1, 0, %q", "0, %wide1, %q",
     "hashed twice or not at all", "ld.u32 %r14"},
    {"isspacep asks about another register", false, "", "isspacep.shared %q, %rd5",
     "isspacep.shared %q, %rd2", "isspacep asks about another address", "ld.u32 %r14"},
    {"isspacep asks about another space", false, "", "isspacep.shared %q, %rd5",
     "isspacep.global %q, %rd5", "isspacep.shared did not write", "ld.u32 %r14"},
    {"a generic store is hashed always", false, "", "@%q xor.b64", "xor.b64",
     "without asking whether it is shared", "st.u32"},
    {"a generic store is hashed elsewhere", false, "", "@%q xor.b64", "@!%q xor.b64",
     "hashed twice or not at all", "st.u32"},
    {"hash of another register", false, "mbarrier.init", "%r8, 5", "%r7, 5",
     "a mixture of two addresses", "@%p1 st.shared"},
    {"hash of another address", false, "add.s32 %h2", "%h2, %r8, 16", "%h2, %r7, 16",
     "the hash of another address", "[%h3]"},
    {"hash at another offset", false, "add.s32 %h2", "%h2, %r8, 16", "%h2, %r8, 20",
     "the hash at another offset", "[%h3]"},
    {"hash before its register is written", false, "", "add.s32 %r8, %r7, %r5;\n",
     "shr.u32 %t1, %r8, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h6, %r8, %t1;\nadd.s32 %r8, %r7, "
     "%r5;\n@%p1 st.shared.u32 [%h6], %r9;\n",
     "an instruction that is not in the original", NULL},
    {"a label between", false, "", "AGAIN:\nadd.s32 %h2, %r8, 16;\n",
     "add.s32 %h2, %r8, 16;\nAGAIN:\n", "before a label", "ld.shared.u32 %r11"},
    {"guard dropped", false, "", "@%p1 st.shared.u32 [%h1]", "st.shared.u32 [%h1]",
     "another guard than in the original", "st.shared.u32 [%h1]"},
    {"guard negated", false, "", "@%p1 st.shared.u32 [%h1]", "@!%p1 st.shared.u32 [%h1]",
     "another guard than in the original", "st.shared.u32 [%h1]"},
    {"hash under another guard", false, "mbarrier.init", "xor.b32 %h1", "@%p2 xor.b32 %h1",
     "under another guard", "@%p1 st.shared.u32 [%h1]"},
    {"an extra store", false, "", "bar.sync 0;\n", "st.shared.u32 [%h3], %r9;\nbar.sync 0;\n",
     "an instruction that is not in the original", "st.shared.u32 [%h3], %r9"},
    {"an extra load into a new register", false, "", "bar.sync 0;\n",
     "ld.shared.u32 %h1, [%r8];\nbar.sync 0;\n", "no plain arithmetic on registers",
     "ld.shared.u32 %h1"},
    {"an added carry", false, "", "add.s32 %h6, %r8, 32", "add.cc.s32 %h6, %r8, 32",
     "no plain arithmetic on registers", "add.cc"},
    {"a changed constant", false, "", "mul.lo.s32 %r9, %r1, 3", "mul.lo.s32 %r9, %r1, 5",
     "an instruction differs from the original", "mul.lo"},
    {"a changed immediate of an address", false, "", "[%h5+4096]", "[%h5+8192]",
     "the hash at another offset", "red.shared"},
    {"an immediate that carries", true, "", "[%far2+4]", "[%far2+32]", "carries are not known",
     "ld.shared.u32"},
    {"an immediate that the hash reads", true, "", "[%far2+1032]", "[%far2+512]",
     "carries are not known", "v2"},
    {"a changed value", false, "", "[%h3], %r1;", "[%h3], %r2;",
     "an instruction differs from the original", "[%h3]"},
    {"swapped operands", false, "", "sub.s32 %r17, %r15, %r11", "sub.s32 %r17, %r11, %r15",
     "an instruction differs from the original", "sub.s32"},
    {"a changed comparison", false, "", "setp.lt.u32 %p1, %r10, 2", "setp.le.u32 %p1, %r10, 2",
     "an instruction differs from the original", "setp.le"},
    {"a changed predicate", false, "", "@%p1 bra", "@%p2 bra", "another guard", "bra AGAIN"},
    {"hashed twice", false, "add.s32 %h2", "st.shared.u32 [%h3]",
     "shr.u32 %t1, %h3, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h3, %h3, %t1;\nst.shared.u32 [%h3]",
     "hashed twice or not at all", "[%h3], %r1"},
    {"not hashed but copied", false, "add.s32 %h2", "xor.b32 %h3, %h2, %t1", "mov.b32 %h3, %h2",
     "hashed twice or not at all", "[%h3], %r1"},
    {"a deleted instruction", false, "", "add.s32 %r16, %r12, %r13;\n", "",
     "an instruction of the original is missing", "sub.s32"},
    {"a deleted barrier", false, "", "bar.sync 0;\n", "",
     "an instruction of the original is missing", "mbarrier.arrive"},
    {"a deleted label", false, "", "shl.b32 %r5, %r3, 2;\n", "HERE:\nshl.b32 %r5, %r3, 2;\n",
     "statements differ", "HERE"},
    {"reordered instructions", false, "", "add.s32 %r16, %r12, %r13;\nsub.s32 %r17, %r15, %r11;\n",
     "sub.s32 %r17, %r15, %r11;\nadd.s32 %r16, %r12, %r13;\n", "in another order", "sub.s32"},
    {"a changed .loc", false, "", ".loc 1 6 0", ".loc 1 7 0", "statements differ", NULL},
    {"a new register hides one", false, "narrow_out", ".reg .b32 %t<2>;",
     ".reg .b32 %t<2>;\n.reg .b32 %r2<3>;", "hide names of the original", "%r2<3>"},
    {"a new register hides a variable", false, "narrow_out", ".reg .b32 %t<2>;",
     ".reg .b32 %t<2>;\n.reg .b32 gate;", "hide names of the original", ".reg .b32 gate"},
    {"an added write to an old register", false, "", "bar.sync 0;\n",
     "mov.u32 %r9, 4;\nbar.sync 0;\n", "an instruction that is not in the original",
     "mov.u32 %r9, 4"},
    {"an address of 32 bits", true, "", "v4.u32 [%far2]", "v4.u32 [%near2]",
     "an address of another width", "v4.u32"},
    {"a hash of 32 bits in 64", true, "", "shr.u64 %far1", "shr.u32 %far1", "width", "v4.u32"},
    {"a table that is no XOR", true, "", "112, 0x78", "112, 0x7e", "no XOR of its bits",
     "ldmatrix"},
    {"a shift of the sign", false, "add.s32 %h2", "shr.u32 %t1, %h2", "shr.s32 %t1, %h2",
     "copies the sign", "[%h3]"},
    {"a sum in place of an XOR", false, "add.s32 %h2", "xor.b32 %h3, %h2, %t1",
     "add.s32 %h3, %h2, %t1", "a sum of two registers", "[%h3]"},
    {"a wider access", false, "add.s32 %h2", "st.shared.u32 [%h3], %r1",
     "st.shared.v2.u32 [%h3], {%r1, %r1}", "an instruction differs", "v2.u32"},
    {"an array that is not padded", false, "", "tile[8320]", "tile[8196]", "padded to whole rows",
     "tile[8196]"},
    {"an array that is not aligned", false, "", ".align 128 .b8 tile", ".align 64 .b8 tile",
     "not aligned to rows", "tile[8320]"},
    {"an array that shrinks", false, "", "tile[8320]", "tile[8192]", "smaller than in the original",
     "tile[8192]"},
    {"a dynamic array that is not aligned", true, "", ".align 128 .b8 pool", ".align 16 .b8 pool",
     "not aligned to rows", "pool[]"},
    {"a hashed barrier object", false, "", "mbarrier.arrive.shared.b64 %rd3, [gate]",
     "mov.u32 %h0, gate;\nmbarrier.arrive.shared.b64 %rd3, [%h0]",
     "a barrier object at another address", "mbarrier.arrive"},
    {"another hash in a function", false, "place", "%r1, 5", "%r1, 4",
     "not the hash of the address", "ld.shared.u32 %r2"},
    {"a function without hash", false, "place", "ld.shared.u32 %r2, [%h1]",
     "ld.shared.u32 %r2, [%r1]", "access to shared memory without the hash", "ld.shared.u32 %r2"},
    {"another parameter", false, "", "narrow(.param .u64", "narrow(.param .u32",
     "declarations differ", "narrow(.param"},
    {"another target", false, "", "sm_90", "sm_80", "version, targets", NULL},
    {"more at the end", false, "%rd8+12", "ret;\n", "ret;\nret;\n", "behind the end", NULL},
    {"less at the end", false, "%rd8+12", "ret;\n", "", "missing at the end", NULL},
};

/* The text with the fault in it. */
static void seed(const seeded_fault *fault, const char *text, char *faulty) {
  const char *start = strstr(text, fault->behind);
  assert_non_null(start);
  const char *at = strstr(start, fault->from);
  if (!at)
    fail_msg("%s: nothing to replace", fault->name);
  assert_true(strlen(text) + strlen(fault->to) < MOST_TEXT);
  sprintf(faulty, "%.*s%s%s", (int)(at - text), text, fault->to, at + strlen(fault->from));
}

/* The line that holds part, which must be at or behind the change. */
static unsigned line_of(const seeded_fault *fault, const char *text) {
  const char *start = strstr(text, fault->behind), *at = strstr(start, fault->at);
  unsigned line = 1;
  if (!at)
    at = strstr(text, fault->at);
  assert_non_null(at);
  for (const char *c = text; c < at; c++)
    line += *c == '\n';
  return line;
}

/* Whether one of the findings is the expected one. */
static bool is_found(const seeded_fault *fault, const char *text, const bf_verify_result *result) {
  for (unsigned i = 0; i < result->findings; i++)
    if (strstr(result->finding[i].text, fault->message) &&
        (!fault->at || result->finding[i].line == line_of(fault, text)))
      return true;
  return false;
}

static void test_faults_are_rejected(void **state) {
  char original[MOST_TEXT], rewritten[MOST_TEXT], faulty[MOST_TEXT];
  unsigned wrong = 0;
  (void)state;
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    const seeded_fault *fault = &faults[i];
    pick_side(fault->is_wide ? wide_pair : narrow_pair, '-', original);
    pick_side(fault->is_wide ? wide_pair : narrow_pair, '+', rewritten);
    seed(fault, rewritten, faulty);
    bf_verify_result result = judge(original, faulty, fault->is_wide ? "cute:3,4,3" : "fixed");
    if (result.is_accepted || !is_found(fault, faulty, &result)) {
      wrong++;
      print_error("%s: %u findings, first at %llu: %s\n", fault->name, result.findings,
                  result.findings ? (unsigned long long)result.finding[0].line : 0,
                  result.findings ? result.finding[0].text : "accepted");
    }
    bf_verify_free(&result);
  }
  assert_int_equal(wrong, 0);
}

/* ---- The hash itself ---- */

/* Judges a pair by a hash that it was not made for. */
static void expect_hash_rejected(const char *pair, const char *hash, const char *message) {
  char original[MOST_TEXT], rewritten[MOST_TEXT];
  pick_side(pair, '-', original);
  pick_side(pair, '+', rewritten);
  bf_verify_result result = judge(original, rewritten, hash);
  assert_false(result.is_accepted);
  assert_true(result.findings > 0);
  if (!strstr(result.finding[0].text, message))
    fail_msg("%s", result.finding[0].text);
  bf_verify_free(&result);
}

static void test_hashes_are_judged(void **state) {
  (void)state;
  expect_hash_rejected(narrow_pair, NULL, "must not change");
  expect_hash_rejected(narrow_pair, "cute:3,4,3", "not the hash of the address");
  expect_hash_rejected(wide_pair, "fixed", "not the hash of the address");
  expect_hash_rejected(narrow_pair, "pad:32+1", "no XOR hash");
  expect_hash_rejected(narrow_pair, "perm:5", "moves words to other rows");
}

/* A body of one kernel around instructions, with registers of both sides. */
static void make_kernel(const char *shared, const char *registers, const char *body, char *text) {
  sprintf(text,
          ".version 8.0\n.target sm_90\n.address_size 64\n%s\n"
          ".visible .entry k(.param .u64 k_a)\n{\n.reg .pred %%p<3>;\n.reg .b32 %%r<9>;\n"
          ".reg .b64 %%rd<9>;\n%s\n%s\nret;\n}\n",
          shared, registers, body);
}

/* One pair of kernels around instructions. */
typedef struct small_pair {
  const char *name, *hash;
  const char *original, *rewritten;
  const char *message; /* NULL: accepted */
} small_pair;

static const small_pair small_pairs[] = {
    {"a granule too small", "cute:2,3,4", "st.shared.v4.u32 [%r1], {%r2, %r2, %r2, %r2};",
     "shr.u32 %t1, %r1, 4;\nand.b32 %t1, %t1, 24;\nxor.b32 %h1, %r1, %t1;\n"
     "st.shared.v4.u32 [%h1], {%r2, %r2, %r2, %r2};",
     "wider than the granule"},
    {"a register written between", "fixed", "add.u32 %r1, %r1, 4;\nst.shared.u32 [%r1], %r2;",
     "shr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\n"
     "add.u32 %r1, %r1, 4;\nst.shared.u32 [%h1], %r2;",
     "written since"},
    {"a register loaded between", "fixed",
     "ld.global.v2.u32 {%r3, %r1}, [%rd1];\nst.shared.u32 [%r1], %r2;",
     "shr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\n"
     "ld.global.v2.u32 {%r3, %r1}, [%rd1];\nst.shared.u32 [%h1], %r2;",
     "written since"},
    {"a guard written between", "fixed", "setp.eq.u32 %p1, %r2, 3;\n@%p1 st.shared.u32 [%r1], %r2;",
     "shr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\n@%p1 xor.b32 %h1, %r1, %t1;\n"
     "setp.eq.u32 %p1, %r2, 3;\n@%p1 st.shared.u32 [%h1], %r2;",
     "under another guard"},
    {"a guarded hash", "fixed", "@%p1 st.shared.u32 [%r1], %r2;",
     "shr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\n@%p1 xor.b32 %h1, %r1, %t1;\n"
     "@%p1 st.shared.u32 [%h1], %r2;",
     NULL},
    {"an offset below the alignment", "fixed",
     "and.b32 %r1, %r1, -8;\nst.shared.u8 [%r1+1], %r2;\nst.shared.u8 [%r1+3], %r2;",
     "and.b32 %r1, %r1, -8;\nshr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\n"
     "xor.b32 %h1, %r1, %t1;\nst.shared.u8 [%h1+1], %r2;\nst.shared.u8 [%h1+3], %r2;",
     NULL},
    {"an offset that the alignment does not cover", "fixed", "st.shared.u8 [%r1+1], %r2;",
     "shr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\n"
     "st.shared.u8 [%h1+1], %r2;",
     "carries are not known"},
    {"an offset put in by XOR", "fixed", "and.b32 %r1, %r1, -8;\nst.shared.u32 [%r1+4], %r2;",
     "and.b32 %r1, %r1, -8;\nshr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\n"
     "xor.b32 %h1, %r1, %t1;\nxor.b32 %h1, %h1, 4;\nst.shared.u32 [%h1], %r2;",
     NULL},
    {"a negative offset", "fixed", "st.shared.u32 [%r1+-4], %r2;",
     "add.s32 %h1, %r1, -4;\nshr.u32 %t1, %h1, 5;\nand.b32 %t1, %t1, 124;\n"
     "xor.b32 %h1, %h1, %t1;\nst.shared.u32 [%h1], %r2;",
     NULL},
    {"masks before shifts", "fixed", "st.shared.u32 [%r1], %r2;",
     "and.b32 %t1, %r1, 3968;\nshr.u32 %t1, %t1, 5;\nxor.b32 %h1, %t1, %r1;\n"
     "st.shared.u32 [%h1], %r2;",
     NULL},
    {"a shift to the left of a field", "fixed", "st.shared.u32 [%r1], %r2;",
     "shr.u32 %t1, %r1, 7;\nand.b32 %t1, %t1, 31;\nshl.b32 %t1, %t1, 2;\n"
     "xor.b32 %h1, %t1, %r1;\nst.shared.u32 [%h1], %r2;",
     NULL},
    {"lop3 of three registers", "fixed", "st.shared.u32 [%r1], %r2;",
     "shr.u32 %t1, %r1, 5;\nmov.b32 %h1, 124;\nlop3.b32 %h1, %t1, %h1, %r1, 0x6a;\n"
     "st.shared.u32 [%h1], %r2;",
     NULL},
    {"a generic address by way of the window", "fixed", "ld.u32 %r2, [%rd1];",
     "isspacep.shared %q1, %rd1;\ncvta.to.shared.u64 %w1, %rd1;\ncvt.u32.u64 %h1, %w1;\n"
     "shr.u32 %t1, %h1, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %h1, %t1;\n"
     "cvt.u64.u32 %w1, %h1;\ncvta.shared.u64 %w1, %w1;\nselp.b64 %w1, %w1, %rd1, %q1;\n"
     "ld.u32 %r2, [%w1];",
     NULL},
    {"a window that is left out", "fixed", "ld.u32 %r2, [%rd1];",
     "isspacep.shared %q1, %rd1;\ncvta.to.shared.u64 %w1, %rd1;\nshr.u64 %w2, %w1, 5;\n"
     "and.b64 %w2, %w2, 124;\nxor.b64 %w1, %w1, %w2;\nselp.b64 %w1, %w1, %rd1, %q1;\n"
     "ld.u32 %r2, [%w1];",
     "not the hash of the address"},
    {"a generic offset asked about without it", "fixed", "ld.u32 %r2, [%rd1+8];",
     "isspacep.shared %q1, %rd1;\nadd.s64 %w1, %rd1, 8;\nshr.u64 %w2, %w1, 5;\n"
     "and.b64 %w2, %w2, 124;\nselp.b64 %w2, %w2, 0, %q1;\nxor.b64 %w1, %w1, %w2;\n"
     "ld.u32 %r2, [%w1];",
     "isspacep asks about another address"},
    {"a barrier object amid data", "fixed",
     "mov.u32 %r1, data;\nmbarrier.init.shared.b64 [%r1], 1;\nst.shared.u32 [%r1], %r2;",
     "mov.u32 %r1, data;\nmbarrier.init.shared.b64 [%r1], 1;\nshr.u32 %t1, %r1, 5;\n"
     "and.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\nst.shared.u32 [%h1], %r2;",
     "not in a variable of its own"},
    {"a barrier object of a register", "fixed",
     "mov.u32 %r1, data;\nadd.u32 %r3, %r1, 8;\nmbarrier.init.shared.b64 [%r3], 1;\n"
     "st.shared.u32 [%r2], %r2;",
     "mov.u32 %r1, data;\nadd.u32 %r3, %r1, 8;\nmbarrier.init.shared.b64 [%r3], 1;\n"
     "shr.u32 %t1, %r2, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r2, %t1;\n"
     "st.shared.u32 [%h1], %r2;",
     NULL},
    {"a barrier object whose address escapes", "fixed",
     "mov.u32 %r1, data;\nmbarrier.init.shared.b64 [%r1], 1;\nst.global.u32 [%rd1], %r1;\n"
     "st.shared.u32 [%r2], %r2;",
     "mov.u32 %r1, data;\nmbarrier.init.shared.b64 [%r1], 1;\nst.global.u32 [%rd1], %r1;\n"
     "shr.u32 %t1, %r2, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r2, %t1;\n"
     "st.shared.u32 [%h1], %r2;",
     "not in a variable of its own"},
    {"shared memory of a cluster", "fixed",
     "mapa.shared::cluster.u32 %r3, %r1, 0;\nst.shared.u32 [%r1], %r2;",
     "mapa.shared::cluster.u32 %r3, %r1, 0;\nshr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\n"
     "xor.b32 %h1, %r1, %t1;\nst.shared.u32 [%h1], %r2;",
     "cluster"},
    {"the size of shared memory", "fixed",
     "mov.u32 %r2, %total_smem_size;\nst.shared.u32 [%r1], %r2;",
     "mov.u32 %r2, %total_smem_size;\nshr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\n"
     "xor.b32 %h1, %r1, %t1;\nst.shared.u32 [%h1], %r2;",
     "the size of shared memory"},
    {"a constant that the hash leaves alone", "fixed",
     "st.shared.u32 [64], %r2;\nst.shared.u32 [%r1], %r2;",
     "st.shared.u32 [64], %r2;\nshr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\n"
     "xor.b32 %h1, %r1, %t1;\nst.shared.u32 [%h1], %r2;",
     NULL},
    {"a constant that the hash moves", "fixed",
     "st.shared.u32 [128], %r2;\nst.shared.u32 [%r1], %r2;",
     "st.shared.u32 [128], %r2;\nshr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\n"
     "xor.b32 %h1, %r1, %t1;\nst.shared.u32 [%h1], %r2;",
     "access to shared memory without the hash"},
};

static void test_small_pairs(void **state) {
  static const char shared[] = ".shared .align 128 .b8 data[1024];";
  char original[MOST_TEXT], rewritten[MOST_TEXT];
  unsigned wrong = 0;
  (void)state;
  for (size_t i = 0; i < sizeof small_pairs / sizeof *small_pairs; i++) {
    const small_pair *pair = &small_pairs[i];
    make_kernel(shared, "", pair->original, original);
    make_kernel(shared, ".reg .pred %q<2>;\n.reg .b32 %t<2>;\n.reg .b32 %h<2>;\n.reg .b64 %w<3>;",
                pair->rewritten, rewritten);
    bf_verify_result result = judge(original, rewritten, pair->hash);
    const char *said = result.findings ? result.finding[0].text : "accepted";
    if (pair->message ? !strstr(said, pair->message) : !result.is_accepted) {
      wrong++;
      print_error("%s: %s\n", pair->name, said);
    }
    bf_verify_free(&result);
  }
  assert_int_equal(wrong, 0);
}

/* ---- Mutants ---- */

/* Runs the kernel of a pair and copies what it leaves in global memory; false where it has none or
 * faults. */
static bool execute(const char *text, bool is_wide, unsigned char *memory) {
  bed at;
  bf_diagnostic diagnostic = {0};
  const bf_emu_kernel *kernel = NULL;
  bf_emu_result result = {0};
  bed_open_text(&at, "mutant", text, strlen(text), NULL);
  uint64_t buffer = bed_alloc(&at, BUFFER_BYTES, 0x5a);
  bool is_good = !bf_emu_kernel_get(at.module, is_wide ? "wide" : "narrow", &kernel, &diagnostic);
  if (is_good) {
    bf_emu_launch launch = {.kernel = kernel,
                            .grid = {1, 1, 1},
                            .block = {64, 1, 1},
                            .dynamic_shared_bytes = is_wide ? 4096 : 0,
                            .parameters = &buffer,
                            .parameter_bytes = sizeof buffer,
                            .workers = 1};
    is_good = !bf_emu_run(at.emu, &launch, &result, &diagnostic) && !result.fault.kind;
    if (result.fault.kind)
      print_error("%s at %llu\n", bf_emu_fault_name(result.fault.kind),
                  (unsigned long long)result.fault.line);
  }
  memcpy(memory, (void *)(uintptr_t)buffer, BUFFER_BYTES);
  bed_close(&at);
  return is_good;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || strchr("%_.+", c); }

/* Start and size of a random token. */
static const char *random_token(test_random *random, const char *text, size_t *size) {
  const char *at = text + random_below(random, strlen(text));
  while (at > text && is_word(at[-1]) && is_word(*at))
    at--;
  *size = 1;
  while (is_word(*at) && is_word(at[*size]))
    ++*size;
  return at;
}

/* Another token in place of one; where alike is set they start with the same character. */
static void replace_token(test_random *random, const char *text, bool alike, char *mutant) {
  size_t size, other_size;
  const char *at = random_token(random, text, &size);
  const char *other = random_token(random, text, &other_size);
  for (unsigned i = 0; alike && *other != *at && i < 100; i++)
    other = random_token(random, text, &other_size);
  sprintf(mutant, "%.*s%.*s%s", (int)(at - text), text, (int)other_size, other, at + size);
}

/* Another digit at the end of a token. */
static void replace_digit(test_random *random, const char *text, char *mutant) {
  size_t size;
  const char *at = random_token(random, text, &size);
  strcpy(mutant, text);
  char *digit = mutant + (at - text) + size - 1;
  if (isdigit((unsigned char)*digit))
    *digit = (char)('0' + random_below(random, 10));
}

/* The start of a random line, and its size. */
static const char *random_line(test_random *random, const char *text, size_t *size) {
  const char *at = text + random_below(random, strlen(text));
  while (at > text && at[-1] != '\n')
    at--;
  *size = (size_t)(strchr(at, '\n') - at) + 1;
  return at;
}

/* Leaves out a line. */
static void delete_line(test_random *random, const char *text, char *mutant) {
  size_t size;
  const char *at = random_line(random, text, &size);
  sprintf(mutant, "%.*s%s", (int)(at - text), text, at + size);
}

/* Puts a copy of a line elsewhere. */
static void copy_line(test_random *random, const char *text, char *mutant) {
  size_t size, other_size;
  const char *at = random_line(random, text, &size);
  const char *other = random_line(random, text, &other_size);
  sprintf(mutant, "%.*s%.*s%s", (int)(at - text), text, (int)other_size, other, at);
}

/* Swaps a line with the next. */
static void swap_lines(test_random *random, const char *text, char *mutant) {
  size_t size;
  const char *at = random_line(random, text, &size), *next = at + size;
  size_t next_size = *next ? (size_t)(strchr(next, '\n') - next) + 1 : 0;
  sprintf(mutant, "%.*s%.*s%.*s%s", (int)(at - text), text, (int)next_size, next, (int)size, at,
          next + next_size);
}

/* Text with one random change. */
static void mutate(test_random *random, const char *text, char *mutant) {
  switch (random_below(random, 8)) {
  case 0:
    delete_line(random, text, mutant);
    break;
  case 1:
    copy_line(random, text, mutant);
    break;
  case 2:
    swap_lines(random, text, mutant);
    break;
  case 3:
  case 4:
    replace_digit(random, text, mutant);
    break;
  default:
    replace_token(random, text, random_below(random, 4) > 0, mutant);
  }
}

/* Whether a mutant is a module at all and the verifier accepts it. */
static bool is_accepted(const bf_ptx_module *original, const bf_hash *hash, const char *mutant) {
  bf_ptx_module *module = NULL;
  bf_verify_result result;
  if (bf_ptx_parse("mutant", mutant, strlen(mutant), &module, NULL))
    return false;
  union {
    const bf_hash *borrowed;
    void *context;
  } of = {hash};
  assert_int_equal(bf_verify(original, module, of.context, same_for_all, &result, NULL), BF_OK);
  bool accepted = result.is_accepted;
  bf_verify_free(&result);
  bf_ptx_free(module);
  return accepted;
}

static void mutate_pair(const char *pair, bool is_wide, const char *hash_text, unsigned mutants) {
  static unsigned char wanted[BUFFER_BYTES], memory[BUFFER_BYTES];
  char original[MOST_TEXT], rewritten[MOST_TEXT], mutant[MOST_TEXT];
  test_random random = {is_wide ? 77 : 99};
  unsigned accepted = 0;
  pick_side(pair, '-', original);
  pick_side(pair, '+', rewritten);
  bf_hash *hash = hash_from(hash_text);
  bf_ptx_module *module = parse(original);
  assert_true(execute(original, is_wide, wanted));
  assert_true(execute(rewritten, is_wide, memory));
  assert_memory_equal(memory, wanted, BUFFER_BYTES);
  for (unsigned i = 0; i < mutants; i++) {
    mutate(&random, rewritten, mutant);
    if (!strcmp(mutant, rewritten) || !is_accepted(module, hash, mutant))
      continue;
    accepted++;
    if (!execute(mutant, is_wide, memory) || memcmp(memory, wanted, BUFFER_BYTES))
      fail_msg("accepted mutant %u differs:\n%s", i, mutant);
  }
  print_message("%u of %u mutants accepted\n", accepted, mutants);
  bf_hash_free(hash);
  bf_ptx_free(module);
}

static void test_mutants(void **state) {
  (void)state;
  mutate_pair(narrow_pair, false, "fixed", 6000);
  mutate_pair(wide_pair, true, "cute:3,4,3", 6000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_narrow_is_accepted),
      cmocka_unit_test(test_wide_is_accepted),
      cmocka_unit_test(test_unchanged_is_accepted),
      cmocka_unit_test(test_faults_are_rejected),
      cmocka_unit_test(test_hashes_are_judged),
      cmocka_unit_test(test_small_pairs),
      cmocka_unit_test(test_mutants),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
