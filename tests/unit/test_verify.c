/* The verifier of rewritten PTX: pairs that it must accept, and one fault of every kind that it
 * must reject with its line and reason. */
#include "verify.h"

/* Fails unless the result is acceptance. */
static void expect_accepted(bf_verify_result *result) {
  if (!result->is_accepted)
    fail_msg("%llu: %s", (unsigned long long)result->finding[0].line, result->finding[0].text);
  assert_int_equal(result->findings, 0);
}

/* ---- Accepted ---- */

/* What is counted in each pair. */
static const struct {
  unsigned kernels_hashed, kernels_unchanged, hashed, exempt;
} counts[PAIRS] = {{1, 0, 14, 2}, {1, 0, 4, 0}, {1, 0, 12, 0}, {1, 0, 7, 2},
                   {1, 0, 7, 3},  {2, 1, 5, 0}, {1, 0, 7, 0},  {1, 0, 2, 7}};

static void test_pairs_are_accepted(void **state) {
  char original[MOST_TEXT], rewritten[MOST_TEXT];
  (void)state;
  for (unsigned i = 0; i < PAIRS; i++) {
    pick_side(pairs[i].path, '-', original);
    pick_side(pairs[i].path, '+', rewritten);
    bf_verify_result result = judge(original, rewritten, pairs[i].hashes);
    if (!result.is_accepted)
      print_error("%s\n", pairs[i].path);
    expect_accepted(&result);
    assert_int_equal(result.kernels_hashed, counts[i].kernels_hashed);
    assert_int_equal(result.kernels_unchanged, counts[i].kernels_unchanged);
    assert_int_equal(result.accesses_hashed, counts[i].hashed);
    assert_int_equal(result.accesses_exempt, counts[i].exempt);
    bf_verify_free(&result);
  }
}

/* A kernel that was refused stays as it is, with a hash or without. */
static void test_unchanged_is_accepted(void **state) {
  char original[MOST_TEXT];
  (void)state;
  pick_side(pairs[NARROW].path, '-', original);
  for (unsigned i = 0; i < 2; i++) {
    bf_verify_result result = judge(original, original, i ? "narrow=fixed" : "narrow=none");
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
  unsigned pair;
  const char *behind, *from, *to;
  const char *message, *at;
} seeded_fault;

static const seeded_fault faults[] = {
    {"a distance the other way round", SIBLINGS, "", "sub.s32 %d0, %d0, %d1",
     "sub.s32 %d0, %d1, %d0", "the hash of an address in another array", "[%h2], %r20"},
    {"a distance to another array", SIBLINGS, "", "add.s32 %h2, %h1, %d0",
     "mov.u32 %d2, small;\nsub.s32 %d2, %d2, %d1;\nadd.s32 %h2, %h1, %d2",
     "whose carries are not known", "[%h2], %r20"},
    {"a distance twice", SIBLINGS, "", "xor.b32 %h5, %h2, 4",
     "add.s32 %h5, %h2, %d0;\nxor.b32 %h5, %h5, 4", "whose carries are not known", "[%h5], %r1"},
    {"no distance", SIBLINGS, "", "add.s32 %h2, %h1, %d0", "mov.u32 %h2, %h1",
     "the hash of another address", "[%h2], %r20"},
    {"no distance of variables", SIBLINGS, "", "sub.s32 %d0, %d0, %d1", "sub.s32 %d0, %d0, %h1",
     "not every path has written", "[%h2], %r20"},
    {"an array that is aligned to less", SIBLINGS, "", ".align 2048 .b8 right",
     ".align 1024 .b8 right", "whose carries are not known", "[%h2], %r20"},
    {"another subscript", SIBLINGS, "LOOP:", "add.s32 %h4, %h6, %d0", "add.s32 %h4, %h1, %d0",
     "the hash of an address in another array", "[%h4]"},
    {"wrong shift", NARROW, "add.s32 %h2", "%h2, 5;", "%h2, 6;", "not the hash of the address",
     "[%h3]"},
    {"wrong mask", NARROW, "add.s32 %h2", "%t1, 124", "%t1, 120", "not the hash of the address",
     "[%h3]"},
    {"mask over a part of the word", NARROW, "add.s32 %h2", "%t1, 124", "%t1, 127",
     "not the hash of the address", "[%h3]"},
    {"one store is missed", NARROW, "", "st.shared.u32 [%h3]", "st.shared.u32 [%r8+16]",
     "access to shared memory without the hash", "[%r8+16], %r1"},
    {"a constant address is missed", NARROW, "", "st.shared.u32 [%h4]", "st.shared.u32 [tile+8192]",
     "access to shared memory without the hash", "st.shared.u32 [tile+8192]"},
    {"an atomic is missed", NARROW, "", "atom.shared.add.u32 %r12, [%h5]",
     "atom.shared.add.u32 %r12, [%r8]", "access to shared memory without the hash", "atom"},
    {"a reduction is missed", NARROW, "", "[%h5+4096]", "[%r8+4096]",
     "access to shared memory without the hash", "red.shared"},
    {"a copy is missed", NARROW, "", "cp.async.ca.shared.global [%h6]",
     "cp.async.ca.shared.global [%r8+32]", "access to shared memory without the hash", "cp.async"},
    {"a matrix is missed", WIDE, "", "b16 {%r4}, [%near2]", "b16 {%r4}, [%r3]",
     "access to shared memory without the hash", "ldmatrix"},
    {"a vector is missed", WIDE, "", "v4.u32 [%far2]", "v4.u32 [%rd5]",
     "access to shared memory without the hash", "v4.u32"},
    {"a generic load is missed", NARROW, "", "ld.u32 %r14, [%wide2]", "ld.u32 %r14, [%rd5]",
     "generic access without the hash", "ld.u32 %r14"},
    {"a generic load is hashed always", NARROW, "", "selp.b64 %wide1, %wide1, 0, %q;\n", "",
     "without asking whether it is shared", "ld.u32 %r14"},
    {"a generic load is hashed elsewhere", NARROW, "", "%wide1, 0, %q", "0, %wide1, %q",
     "hashed twice or not at all", "ld.u32 %r14"},
    {"isspacep asks about another register", NARROW, "", "isspacep.shared %q, %rd5",
     "isspacep.shared %q, %rd2", "isspacep asks about another address", "ld.u32 %r14"},
    {"isspacep asks about another space", NARROW, "", "isspacep.shared %q, %rd5",
     "isspacep.global %q, %rd5", "isspacep.shared did not write", "ld.u32 %r14"},
    {"a generic store is hashed always", NARROW, "", "@%q xor.b64", "xor.b64",
     "without asking whether it is shared", "st.u32"},
    {"a generic store is hashed elsewhere", NARROW, "", "@%q xor.b64", "@!%q xor.b64",
     "hashed twice or not at all", "st.u32"},
    {"hash of another register", NARROW, "mbarrier.init", "%r8, 5", "%r7, 5",
     "a mixture of two addresses", "@%p1 st.shared"},
    {"hash of another address", NARROW, "add.s32 %h2", "%h2, %r8, 16", "%h2, %r7, 16",
     "the hash of another address", "[%h3]"},
    {"hash at another offset", NARROW, "add.s32 %h2", "%h2, %r8, 16", "%h2, %r8, 20",
     "the hash at another offset", "[%h3]"},
    {"a label between", NARROW, "", "AGAIN:\nadd.s32 %h2, %r8, 16;\n",
     "add.s32 %h2, %r8, 16;\nAGAIN:\n", "different values on two paths", "ld.shared.u32 %r11"},
    {"guard dropped", NARROW, "", "@%p1 st.shared.u32 [%h1]", "st.shared.u32 [%h1]",
     "another guard than in the original", "st.shared.u32 [%h1]"},
    {"guard negated", NARROW, "", "@%p1 st.shared.u32 [%h1]", "@!%p1 st.shared.u32 [%h1]",
     "another guard than in the original", "st.shared.u32 [%h1]"},
    {"hash under another guard", NARROW, "mbarrier.init", "xor.b32 %h1", "@%p2 xor.b32 %h1",
     "under another guard", "@%p1 st.shared.u32 [%h1]"},
    {"an extra store", NARROW, "", "bar.sync 0;\n", "st.shared.u32 [%h3], %r9;\nbar.sync 0;\n",
     "an instruction that is not in the original", "st.shared.u32 [%h3], %r9"},
    {"an extra load into a new register", NARROW, "", "bar.sync 0;\n",
     "ld.shared.u32 %h1, [%r8];\nbar.sync 0;\n", "no plain arithmetic on registers",
     "ld.shared.u32 %h1"},
    {"an added carry", NARROW, "", "add.s32 %h6, %r8, 32", "add.cc.s32 %h6, %r8, 32",
     "no plain arithmetic on registers", "add.cc"},
    {"a changed constant", NARROW, "", "mul.lo.s32 %r9, %r1, 3", "mul.lo.s32 %r9, %r1, 5",
     "an instruction differs from the original", "mul.lo"},
    {"a changed immediate of an address", NARROW, "", "[%h5+4096]", "[%h5+8192]",
     "the hash at another offset", "red.shared"},
    {"an immediate that carries", WIDE, "", "[%far2+4]", "[%far2+32]", "carries are not known",
     "ld.shared.u32"},
    {"an immediate that the hash reads", WIDE, "", "[%far2+1032]", "[%far2+512]",
     "the hash at another offset", "v2"},
    {"a changed value", NARROW, "", "[%h3], %r1;", "[%h3], %r2;",
     "an instruction differs from the original", "[%h3]"},
    {"swapped operands", NARROW, "", "sub.s32 %r17, %r15, %r11", "sub.s32 %r17, %r11, %r15",
     "an instruction differs from the original", "sub.s32"},
    {"a changed comparison", NARROW, "", "setp.lt.u32 %p1, %r10, 2", "setp.le.u32 %p1, %r10, 2",
     "an instruction differs from the original", "setp.le"},
    {"a changed predicate", NARROW, "", "@%p1 bra", "@%p2 bra", "another guard", "bra AGAIN"},
    {"hashed twice", NARROW, "add.s32 %h2", "st.shared.u32 [%h3]",
     "shr.u32 %t1, %h3, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h3, %h3, %t1;\nst.shared.u32 [%h3]",
     "hashed twice or not at all", "[%h3], %r1"},
    {"not hashed but copied", NARROW, "add.s32 %h2", "xor.b32 %h3, %h2, %t1", "mov.b32 %h3, %h2",
     "hashed twice or not at all", "[%h3], %r1"},
    {"a deleted instruction", NARROW, "", "add.s32 %r16, %r12, %r13;\n", "",
     "an instruction of the original is missing", "sub.s32"},
    {"a deleted barrier", NARROW, "", "bar.sync 0;\n", "",
     "an instruction of the original is missing", "mbarrier.arrive"},
    {"an added label", NARROW, "", "shl.b32 %r5, %r3, 2;\n", "HERE:\nshl.b32 %r5, %r3, 2;\n",
     "statements differ", "HERE"},
    {"reordered instructions", NARROW, "", "add.s32 %r16, %r12, %r13;\nsub.s32 %r17, %r15, %r11;\n",
     "sub.s32 %r17, %r15, %r11;\nadd.s32 %r16, %r12, %r13;\n", "in another order", "sub.s32"},
    {"a changed .loc", NARROW, "", ".loc 1 6 0", ".loc 1 7 0", "statements differ", NULL},
    {"a new register hides one", NARROW, "narrow_out", ".reg .b32 %t<2>;",
     ".reg .b32 %t<2>;\n.reg .b32 %r2<3>;", "hide names of the original", "%r2<3>"},
    {"a new register hides a variable", NARROW, "narrow_out", ".reg .b32 %t<2>;",
     ".reg .b32 %t<2>;\n.reg .b32 gate;", "hide names of the original", ".reg .b32 gate"},
    {"an added write to an old register", NARROW, "", "bar.sync 0;\n",
     "mov.u32 %r9, 4;\nbar.sync 0;\n", "an instruction that is not in the original",
     "mov.u32 %r9, 4"},
    {"an address of 32 bits", WIDE, "", "v4.u32 [%far2]", "v4.u32 [%near2]",
     "an address of another width", "v4.u32"},
    {"a hash of 32 bits in 64", WIDE, "", "shr.u64 %far1", "shr.u32 %far1", "width", "v4.u32"},
    {"a table that is no XOR", WIDE, "", "112, 0x78", "112, 0x7e", "no XOR of its bits",
     "ldmatrix"},
    {"a shift of the sign", NARROW, "add.s32 %h2", "shr.u32 %t1, %h2", "shr.s32 %t1, %h2",
     "copies the sign", "[%h3]"},
    {"a sum in place of an XOR", NARROW, "add.s32 %h2", "xor.b32 %h3, %h2, %t1",
     "add.s32 %h3, %h2, %t1", "a sum of two registers", "[%h3]"},
    {"a wider access", NARROW, "add.s32 %h2", "st.shared.u32 [%h3], %r1",
     "st.shared.v2.u32 [%h3], {%r1, %r1}", "an instruction differs", "v2.u32"},
    {"an array that is not padded", NARROW, "", "tile[8320]", "tile[8196]", "padded to whole rows",
     "tile[8196]"},
    {"an array that is not aligned", NARROW, "", ".align 128 .b8 tile", ".align 64 .b8 tile",
     "not aligned to rows", "tile[8320]"},
    {"an array that shrinks", NARROW, "", "tile[8320]", "tile[8192]",
     "smaller than in the original", "tile[8192]"},
    {"a dynamic array that is not aligned", WIDE, "", ".align 128 .b8 pool", ".align 16 .b8 pool",
     "not aligned to rows", "pool[]"},
    {"a hashed barrier object", NARROW, "", "mbarrier.arrive.shared.b64 %rd3, [gate]",
     "mov.u32 %h0, gate;\nmbarrier.arrive.shared.b64 %rd3, [%h0]",
     "a barrier object at another address", "mbarrier.arrive"},
    {"another hash in a function", NARROW, "place", "%r1, 5", "%r1, 4",
     "not the hash of the address", "ld.shared.u32 %r2"},
    {"a function without hash", NARROW, "place", "ld.shared.u32 %r2, [%h1]",
     "ld.shared.u32 %r2, [%r1]", "access to shared memory without the hash", "ld.shared.u32 %r2"},
    {"another parameter", NARROW, "", "narrow(.param .u64", "narrow(.param .u32",
     "declarations differ", "narrow(.param"},
    {"another target", NARROW, "", "sm_90", "sm_80", "version, targets", NULL},
    {"more at the end", NARROW, "%rd8+12", "ret;\n", "ret;\nret;\n", "behind the end", NULL},
    {"less at the end", NARROW, "%rd8+12", "ret;\n", "", "missing at the end", NULL},
    /* Hashes that are used in other blocks and in loops. */
    {"a temporary redefined on one path", LOOPS, "EVEN:", "mov.u32 %r6, 4;",
     "mov.b32 %h1, %r1;\nmov.u32 %r6, 4;", "different values on two paths", "ld.shared.u32 %r7"},
    {"a temporary redefined on one path by the same hash", LOOPS, "EVEN:", "mov.u32 %r6, 4;",
     "shr.u32 %t, %r1, 5;\nand.b32 %t, %t, 124;\nxor.b32 %h1, %r1, %t;\nmov.u32 %r6, 4;",
     "different values on two paths", "ld.shared.u32 %r7"},
    {"an address that moves in the loop", LOOPS, "",
     "MOVE:\nshr.u32 %t, %r11, 5;\nand.b32 %t, %t, 124;\nxor.b32 %h3, %r11, %t;\n",
     "shr.u32 %t, %r11, 5;\nand.b32 %t, %t, 124;\nxor.b32 %h3, %r11, %t;\nMOVE:\n", "written since",
     "[%h3], %r12"},
    {"a hash on one branch only", LOOPS, "",
     "OTHER:\nshr.u32 %h4, %r14, 7;\nand.b32 %h4, %h4, 31;\nshl.b32 %h4, %h4, 2;\n"
     "xor.b32 %h4, %h4, %r14;\n",
     "OTHER:\n", "not every path has written", "[%h4]"},
    {"half a hash on one branch", LOOPS, "OTHER:", "xor.b32 %h4, %h4, %r14;\n", "",
     "different values on two paths", "[%h4]"},
    {"a hash of another branch", LOOPS, "EVEN:", "st.shared.u32 [%h1], %r3",
     "st.shared.u32 [%h4], %r3", "not every path has written", "[%h4], %r3"},
    {"a hash under a guard for another block", LOOPS, "", "xor.b32 %h4, %r14, %t",
     "@%p2 xor.b32 %h4, %r14, %t", "under another guard", "[%h4]"},
    {"a hash under a guard before a branch", LOOPS, "", "xor.b32 %h1, %r4, %t;",
     "@%p1 xor.b32 %h1, %r4, %t;", "under another guard", "st.shared.u32 [%h1], %r1"},
    {"a hash under the opposite guard", LOOPS, "", "@%p1 xor.b32 %h5", "@!%p1 xor.b32 %h5",
     "under another guard", "[%h5]"},
    {"a hash under a guard for an access without", LOOPS, "", "ld.shared.u32 %r17, [%h6]",
     "ld.shared.u32 %r17, [%h5]", "under another guard", "[%h5];"},
    {"a temporary redefined behind its use in a loop", LOOPS, "COUNT:", "add.s32 %r9, %r9, 1;",
     "xor.b32 %h2, %h2, 4;\nadd.s32 %r9, %r9, 1;", "different values on two paths", "atom.shared"},
    {"a temporary redefined where branches meet", LOOPS, "NEXT:", "red.shared",
     "mov.b32 %h3, %r11;\nred.shared", "hashed twice or not at all", "red.shared"},
    {"a part of a hash from another block", LOOPS,
     "BOTH:", "shr.u32 %t, %r16, 5;\nand.b32 %t, %t, 124;\n@%p1", "@%p1", "written since", "[%h5]"},
    {"a hash before the definition of its address", LOOPS, "",
     "add.s32 %r8, %r4, 64;\nshr.u32 %t, %r8, 5;\n", "shr.u32 %t, %r8, 5;\nadd.s32 %r8, %r4, 64;\n",
     "written since", "[%h2], %r7"},
    /* Hashes made of other hashes. */
    {"a constant that is not hashed", LINEAR, "", "xor.b32 %h2, %h1, 148", "xor.b32 %h2, %h1, 132",
     "not the hash of the address", "[%h2], %r1"},
    {"another constant", LINEAR, "", "xor.b32 %h2, %h1, 4;", "xor.b32 %h2, %h1, 8;",
     "not the hash of the address", "[%h2], %r3"},
    {"a sum that carries", LINEAR, "", "xor.b32 %h4, %h3, 28;", "add.s32 %h4, %h3, 28;",
     "carries are not known", "[%h4], %r5"},
    {"a hash of another round", LINEAR, "LOOP:", "add.s32 %r6, %r4, %r5;\nshr.u32 %t, %r6, 3;\n",
     "shr.u32 %t, %r6, 3;\nadd.s32 %r6, %r4, %r5;\n", "written since", "[%h4], %r5"},
    {"an address that is not left alone", LINEAR, "", "ld.shared.u32 %r14, [%h5]",
     "ld.shared.u32 %r14, [%r4+4]", "access to shared memory without the hash", "[%r4+4]"},
    {"an alignment that is needed", LINEAR, "", ".align 1024 .b8 small", ".align 128 .b8 small",
     "less aligned", "small"},
    /* Arrays with hashes of their own. */
    {"the hash of another array", ARRAYS, "", "xor.b32 %h2, %r8, %t",
     "shr.u32 %t, %r8, 3;\nand.b32 %t, %t, 112;\nxor.b32 %h2, %r8, %t",
     "not the hash of the address", "[%h2]"},
    {"the hash of the kernel for an array with its own", ARRAYS, "",
     "shr.u64 %w1, %rd5, 3;\nand.b64 %w1, %w1, 112;",
     "shr.u64 %w1, %rd5, 5;\nand.b64 %w1, %w1, 124;", "not the hash of the address", "v2.u32"},
    {"a hash in an array that is left alone", ARRAYS, "", "st.shared.u32 [%r6], %r5",
     "shr.u32 %t, %r6, 3;\nand.b32 %t, %t, 124;\nxor.b32 %h5, %r6, %t;\nst.shared.u32 [%h5], %r5",
     "an array that is left alone", "[%h5]"},
    {"an array without its hash", ARRAYS, "", "st.shared.u32 [%h2], %r5",
     "st.shared.u32 [%r8], %r5", "access to shared memory without the hash", "[%r8]"},
    {"dynamic memory by another name without the hash", ARRAYS, "", "ld.shared.u32 %r18, [%h4]",
     "ld.shared.u32 %r18, [%r22]", "access to shared memory without the hash", "[%r22]"},
    {"a hashed array that shares its last row", ARRAYS, "", "second[4224]", "second[4100]",
     "not padded to whole rows", "second"},
    {"a hashed array that shares its first row", ARRAYS, "", ".align 128 .b8 first",
     ".align 64 .b8 first", "not aligned to rows", "first[8192]"},
    {"dynamic memory that shares its first row", ARRAYS, "", ".align 128 .b8 pond",
     ".align 16 .b8 pond", "not aligned to rows", "pond"},
    {"an array left alone that grows by half a row", ARRAYS, "", "plain[260]", "plain[320]",
     "not padded to whole rows", "plain[320]"},
    /* Bulk copies beside arrays with hashes. */
    {"a copy to a hashed array", COPIES, "cp.async", "[%r2], [%rd1]", "[%r4], [%rd1]",
     "differs from the original", "[%r4], [%rd1]"},
    {"a copy to a hashed address", COPIES, "", "[%r2], [%rd1]", "[%h1], [%rd1]",
     "differs from the original", "[%h1], [%rd1]"},
    {"a copy that signals elsewhere", COPIES, "", "1024, [%r3]", "1024, [%r2]",
     "differs from the original", "1024, [%r2]"},
    {"a copy of other bytes", COPIES, "bulk.global", "[%r2], 1024", "[%r2], 512",
     "differs from the original", "[%r2], 512"},
    /* Functions under several hashes. */
    {"a function under another hash", CLONES, "entry two", "outer__bankfold_1", "outer",
     "not the hash of the address", NULL},
    {"a clone under two hashes", CLONES, "entry one", "call (back), outer,",
     "call (back), outer__bankfold_1,", "not the hash of the address", NULL},
    {"a function of a clone under another hash", CLONES, "outer__bankfold_1", "inner__bankfold_1",
     "inner", "not the hash of the address", NULL},
    {"a clone of another function", CLONES, "entry plain", "inner__bankfold_2", "inner__bankfold_1",
     "must not change", NULL},
    {"a hashed function for a kernel without hash", CLONES, "entry plain", "inner__bankfold_2",
     "inner", "must not change", NULL},
    {"a function without hash for a hashed kernel", CLONES, "outer__bankfold_1",
     "inner__bankfold_1", "inner__bankfold_2", "access to shared memory without the hash", NULL},
    {"a clone with a changed instruction", CLONES, "inner__bankfold_1", "[got], %r2", "[got], %r1",
     "an instruction differs from the original", "[got], %r1"},
    {"a clone with an instruction more", CLONES, "inner__bankfold_2", "st.param.b32 [got], %r2;",
     "bar.sync 0;\nst.param.b32 [got], %r2;", "an instruction that is not in the original",
     "bar.sync 0"},
    {"a clone without its hash", CLONES, "inner__bankfold_1", "ld.shared.u32 %r2, [%h1]",
     "ld.shared.u32 %r2, [%r1]", "access to shared memory without the hash",
     "ld.shared.u32 %r2, [%r1]"},
    {"a clone with other parameters", CLONES, "", "inner__bankfold_2(.param .b32 place)",
     "inner__bankfold_2(.param .u32 place)", "other parameters than its original",
     "inner__bankfold_2("},
    {"a clone for other modules", CLONES, "", ".func (.param .b32 got) inner__bankfold_2",
     ".visible .func (.param .b32 got) inner__bankfold_2", "that other modules can see",
     "inner__bankfold_2("},
    {"a clone without a body", CLONES, "",
     "inner__bankfold_2(.param .b32 place)\n{\n.reg .b32 %r<4>;\nld.param.u32 %r1, [place];\n"
     "ld.shared.u32 %r2, [%r1];\nst.param.b32 [got], %r2;\nret;\n}\n",
     "inner__bankfold_2(.param .b32 place);\n", "another function in place of inner", NULL},
    {"a clone that nothing calls", CLONES, "", ".visible .entry one",
     ".func (.param .b32 got) inner__bankfold_3(.param .b32 place)\n{\nret;\n}\n"
     ".visible .entry one",
     "a clone that nothing calls", "inner__bankfold_3"},
    {"a clone of a kernel", CLONES, "", ".visible .entry two",
     ".entry one__bankfold_1(.param .u64 one_out)\n{\nret;\n}\n.visible .entry two",
     "a clone of a kernel", "one__bankfold_1"},
    {"a clone of nothing", CLONES, "", ".visible .entry two",
     ".func (.param .b32 got) third__bankfold_1(.param .b32 place)\n{\nret;\n}\n"
     ".visible .entry two",
     "declarations differ", "third__bankfold_1"},
    {"a clone by a name without number", CLONES, "", ".visible .entry two",
     ".func (.param .b32 got) inner__bankfold_x(.param .b32 place)\n{\nret;\n}\n"
     ".visible .entry two",
     "declarations differ", "inner__bankfold_x"},
    {"a call of another function", CLONES, "entry two",
     "call (back), outer__bankfold_1, (at, what)", "call (back), inner__bankfold_1, (at)",
     "an instruction differs from the original", "inner__bankfold_1, (at)"},
};

/* The text with the fault in it. */
static void seed(const seeded_fault *fault, const char *text, char *faulty) {
  const char *start = strstr(text, fault->behind);
  assert_non_null(start);
  const char *at = strstr(start, fault->from);
  if (!at)
    fail_msg("%s: nothing to replace", fault->name);
  assert_true(strlen(text) + strlen(fault->to) < MOST_TEXT);
  snprintf(faulty, MOST_TEXT, "%.*s%s%s", (int)(at - text), text, fault->to,
           at + strlen(fault->from));
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
    pick_side(pairs[fault->pair].path, '-', original);
    pick_side(pairs[fault->pair].path, '+', rewritten);
    seed(fault, rewritten, faulty);
    bf_verify_result result = judge(original, faulty, pairs[fault->pair].hashes);
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
static void expect_hash_rejected(unsigned pair, const char *hash, const char *message) {
  char original[MOST_TEXT], rewritten[MOST_TEXT];
  pick_side(pairs[pair].path, '-', original);
  pick_side(pairs[pair].path, '+', rewritten);
  bf_verify_result result = judge(original, rewritten, hash);
  assert_false(result.is_accepted);
  assert_true(result.findings > 0);
  if (!strstr(result.finding[0].text, message))
    fail_msg("%s", result.finding[0].text);
  bf_verify_free(&result);
}

static void test_hashes_are_judged(void **state) {
  (void)state;
  expect_hash_rejected(NARROW, "narrow=none", "must not change");
  expect_hash_rejected(NARROW, "narrow=cute:3,4,3", "not the hash of the address");
  expect_hash_rejected(WIDE, "wide=fixed", "not the hash of the address");
  expect_hash_rejected(NARROW, "narrow=pad:32+1", "not proven to be to one array");
  expect_hash_rejected(NARROW, "narrow=perm:5", "moves words to other rows");
  /* Bulk copies, and their mbarriers, are of arrays without a hash. */
  expect_hash_rejected(COPIES, "copies=fixed", "not padded to whole rows");
  expect_hash_rejected(COPIES, "copies=none copies/other=fixed copies/tile=fixed",
                       "not proven to be of an array without a hash");
  expect_hash_rejected(COPIES, "copies=none copies/other=fixed copies/barrier=fixed",
                       "not padded to whole rows");
}

/* A body of one kernel around instructions, with registers of both sides. */
static void make_kernel(const char *shared, const char *registers, const char *body, char *text) {
  snprintf(text, MOST_TEXT,
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
    {"an offset to bits that are known", "fixed",
     "mad.lo.u32 %r3, %r1, 16, 8;\nst.shared.u32 [%r3+-4], %r2;",
     "mad.lo.u32 %r3, %r1, 16, 8;\nshr.u32 %t1, %r3, 5;\nand.b32 %t1, %t1, 124;\n"
     "xor.b32 %h1, %r3, %t1;\nxor.b32 %h1, %h1, 12;\nst.shared.u32 [%h1], %r2;",
     NULL},
    {"an offset that carries out of them", "fixed",
     "mad.lo.u32 %r3, %r1, 16, 8;\nst.shared.u32 [%r3+8], %r2;",
     "mad.lo.u32 %r3, %r1, 16, 8;\nshr.u32 %t1, %r3, 5;\nand.b32 %t1, %t1, 124;\n"
     "xor.b32 %h1, %r3, %t1;\nxor.b32 %h1, %h1, 24;\nst.shared.u32 [%h1], %r2;",
     "the hash at another offset"},
    {"bits that are known on one path", "fixed",
     "mad.lo.u32 %r3, %r1, 16, 8;\n@%p1 mov.u32 %r3, %r1;\nst.shared.u32 [%r3+-4], %r2;",
     "mad.lo.u32 %r3, %r1, 16, 8;\n@%p1 mov.u32 %r3, %r1;\nshr.u32 %t1, %r3, 5;\n"
     "and.b32 %t1, %t1, 124;\nxor.b32 %h1, %r3, %t1;\nxor.b32 %h1, %h1, 12;\n"
     "st.shared.u32 [%h1], %r2;",
     "the hash at another offset"},
    {"a sum in which multiples of an index add up", "fixed",
     "mov.u32 %r3, %tid.x;\nmad.lo.u32 %r4, %r3, 16, 8;\nmad.lo.u32 %r5, %r3, 16, "
     "%r4;\nst.shared.u32 [%r5+16], %r2;",
     "mov.u32 %r3, %tid.x;\nmad.lo.u32 %r4, %r3, 16, 8;\nmad.lo.u32 %r5, %r3, 16, %r4;\nshr.u32 "
     "%t1, %r5, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r5, %t1;\nxor.b32 %h1, %h1, "
     "16;\nst.shared.u32 [%h1], %r2;",
     NULL},
    {"an index that is written again", "fixed",
     "mov.u32 %r3, %tid.x;\nmad.lo.u32 %r4, %r3, 16, 8;\nmov.u32 %r3, 1;\nmad.lo.u32 %r5, %r3, 16, "
     "%r4;\nst.shared.u32 [%r5+16], %r2;",
     "mov.u32 %r3, %tid.x;\nmad.lo.u32 %r4, %r3, 16, 8;\nmov.u32 %r3, 1;\nmad.lo.u32 %r5, %r3, 16, "
     "%r4;\nshr.u32 %t1, %r5, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r5, %t1;\nxor.b32 %h1, "
     "%h1, 16;\nst.shared.u32 [%h1], %r2;",
     "the hash at another offset"},
    {"a part of the sum under a guard", "fixed",
     "mov.u32 %r3, %tid.x;\n@%p1 mad.lo.u32 %r4, %r3, 16, 8;\nmad.lo.u32 %r5, %r3, 16, "
     "%r4;\nst.shared.u32 [%r5+16], %r2;",
     "mov.u32 %r3, %tid.x;\n@%p1 mad.lo.u32 %r4, %r3, 16, 8;\nmad.lo.u32 %r5, %r3, 16, "
     "%r4;\nshr.u32 %t1, %r5, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r5, %t1;\nxor.b32 %h1, "
     "%h1, 16;\nst.shared.u32 [%h1], %r2;",
     "the hash at another offset"},
    {"a sum behind a label", "fixed",
     "mov.u32 %r3, %tid.x;\nagain:\nmad.lo.u32 %r4, %r3, 16, 8;\nmad.lo.u32 %r5, %r3, 16, "
     "%r4;\nst.shared.u32 [%r5+16], %r2;",
     "mov.u32 %r3, %tid.x;\nagain:\nmad.lo.u32 %r4, %r3, 16, 8;\nmad.lo.u32 %r5, %r3, 16, "
     "%r4;\nshr.u32 %t1, %r5, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r5, %t1;\nxor.b32 %h1, "
     "%h1, 16;\nst.shared.u32 [%h1], %r2;",
     "the hash at another offset"},
    {"the highest bit that is read, by XOR", "fixed", "st.shared.u32 [%r1+2048], %r2;",
     "shr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\n"
     "xor.b32 %h1, %h1, 64;\nst.shared.u32 [%h1+2048], %r2;",
     NULL},
    {"that bit taken away", "fixed", "st.shared.u32 [%r1+-2048], %r2;",
     "shr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\n"
     "xor.b32 %h1, %h1, 64;\nst.shared.u32 [%h1+-2048], %r2;",
     NULL},
    {"that bit, and what is not read", "fixed", "st.shared.u32 [%r1+6144], %r2;",
     "shr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\n"
     "xor.b32 %h1, %h1, 64;\nst.shared.u32 [%h1+6144], %r2;",
     NULL},
    {"that bit without what the hash makes of it", "fixed", "st.shared.u32 [%r1+2048], %r2;",
     "shr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\n"
     "xor.b32 %h1, %h1, 0;\nst.shared.u32 [%h1+2048], %r2;",
     "not the hash of the address"},
    {"that bit with what the hash makes of another", "fixed", "st.shared.u32 [%r1+2048], %r2;",
     "shr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\n"
     "xor.b32 %h1, %h1, 32;\nst.shared.u32 [%h1+2048], %r2;",
     "not the hash of the address"},
    {"that bit where it is not added", "fixed", "st.shared.u32 [%r1+4096], %r2;",
     "shr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\n"
     "xor.b32 %h1, %h1, 64;\nst.shared.u32 [%h1+4096], %r2;",
     "not the hash of the address"},
    {"another bit that is read, by XOR", "fixed", "st.shared.u32 [%r1+1024], %r2;",
     "shr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\n"
     "xor.b32 %h1, %h1, 32;\nst.shared.u32 [%h1+1024], %r2;",
     "carries are not known"},
    {"that bit and a lower one", "fixed", "st.shared.u32 [%r1+3072], %r2;",
     "shr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\n"
     "xor.b32 %h1, %h1, 96;\nst.shared.u32 [%h1+3072], %r2;",
     "carries are not known"},
    {"that bit at another offset", "fixed", "st.shared.u32 [%r1+2048], %r2;",
     "shr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\n"
     "xor.b32 %h1, %h1, 64;\nst.shared.u32 [%h1+-2048], %r2;",
     "the hash at another offset"},
    {"a 0 that a difference puts in", "fixed",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nand.b32 %r4, %r1, 3;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n"
     "st.shared.u32 [%r6+16], %r2;",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nand.b32 %r4, %r1, 3;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n"
     "shr.u32 %t1, %r6, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r6, %t1;\nxor.b32 %h1, %h1, 16;\n"
     "st.shared.u32 [%h1], %r2;",
     NULL},
    {"the same with parts behind a label", "fixed",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nagain:\nand.b32 %r4, %r1, 3;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n@%p1 bra again;\n"
     "st.shared.u32 [%r6+16], %r2;",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nagain:\nand.b32 %r4, %r1, 3;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n@%p1 bra again;\n"
     "shr.u32 %t1, %r6, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r6, %t1;\nxor.b32 %h1, %h1, 16;\n"
     "st.shared.u32 [%h1], %r2;",
     NULL},
    {"another mask", "fixed",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nand.b32 %r4, %r1, 6;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n"
     "st.shared.u32 [%r6+16], %r2;",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nand.b32 %r4, %r1, 6;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n"
     "shr.u32 %t1, %r6, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r6, %t1;\nxor.b32 %h1, %h1, 16;\n"
     "st.shared.u32 [%h1], %r2;",
     "the hash at another offset"},
    {"a smaller mask", "fixed",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nand.b32 %r4, %r1, 1;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n"
     "st.shared.u32 [%r6+16], %r2;",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nand.b32 %r4, %r1, 1;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n"
     "shr.u32 %t1, %r6, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r6, %t1;\nxor.b32 %h1, %h1, 16;\n"
     "st.shared.u32 [%h1], %r2;",
     "the hash at another offset"},
    {"four times the number", "fixed",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 2;\nand.b32 %r4, %r1, 3;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n"
     "st.shared.u32 [%r6+16], %r2;",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 2;\nand.b32 %r4, %r1, 3;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n"
     "shr.u32 %t1, %r6, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r6, %t1;\nxor.b32 %h1, %h1, 16;\n"
     "st.shared.u32 [%h1], %r2;",
     "the hash at another offset"},
    {"the remainder of another number", "fixed",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nmov.u32 %r7, %tid.y;\nand.b32 %r4, %r7, "
     "3;\nsub.s32 %r5, %r3, %r4;\nshl.b32 %r6, %r5, 2;\n"
     "st.shared.u32 [%r6+16], %r2;",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nmov.u32 %r7, %tid.y;\nand.b32 %r4, %r7, "
     "3;\nsub.s32 %r5, %r3, %r4;\nshl.b32 %r6, %r5, 2;\n"
     "shr.u32 %t1, %r6, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r6, %t1;\nxor.b32 %h1, %h1, 16;\n"
     "st.shared.u32 [%h1], %r2;",
     "the hash at another offset"},
    {"a number that is written twice", "fixed",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nmov.u32 %r1, %tid.y;\nand.b32 %r4, %r1, "
     "3;\nsub.s32 %r5, %r3, %r4;\nshl.b32 %r6, %r5, 2;\n"
     "st.shared.u32 [%r6+16], %r2;",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nmov.u32 %r1, %tid.y;\nand.b32 %r4, %r1, "
     "3;\nsub.s32 %r5, %r3, %r4;\nshl.b32 %r6, %r5, 2;\n"
     "shr.u32 %t1, %r6, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r6, %t1;\nxor.b32 %h1, %h1, 16;\n"
     "st.shared.u32 [%h1], %r2;",
     "the hash at another offset"},
    {"a number that changes in a loop", "fixed",
     "again:\nmov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nand.b32 %r4, %r1, 3;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n@%p1 bra again;\n"
     "st.shared.u32 [%r6+16], %r2;",
     "again:\nmov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nand.b32 %r4, %r1, 3;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n@%p1 bra again;\n"
     "shr.u32 %t1, %r6, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r6, %t1;\nxor.b32 %h1, %h1, 16;\n"
     "st.shared.u32 [%h1], %r2;",
     "the hash at another offset"},
    {"a number that is jumped over", "fixed",
     "@%p1 bra behind;\nmov.u32 %r1, %tid.x;\nbehind:\nshl.b32 %r3, %r1, 1;\nand.b32 %r4, %r1, "
     "3;\nsub.s32 %r5, %r3, %r4;\nshl.b32 %r6, %r5, 2;\n"
     "st.shared.u32 [%r6+16], %r2;",
     "@%p1 bra behind;\nmov.u32 %r1, %tid.x;\nbehind:\nshl.b32 %r3, %r1, 1;\nand.b32 %r4, %r1, "
     "3;\nsub.s32 %r5, %r3, %r4;\nshl.b32 %r6, %r5, 2;\n"
     "shr.u32 %t1, %r6, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r6, %t1;\nxor.b32 %h1, %h1, 16;\n"
     "st.shared.u32 [%h1], %r2;",
     "the hash at another offset"},
    {"a number under a guard", "fixed",
     "@%p1 mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nand.b32 %r4, %r1, 3;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n"
     "st.shared.u32 [%r6+16], %r2;",
     "@%p1 mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nand.b32 %r4, %r1, 3;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n"
     "shr.u32 %t1, %r6, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r6, %t1;\nxor.b32 %h1, %h1, 16;\n"
     "st.shared.u32 [%h1], %r2;",
     "the hash at another offset"},
    {"a part under a guard", "fixed",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\n@%p1 and.b32 %r4, %r1, 3;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n"
     "st.shared.u32 [%r6+16], %r2;",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\n@%p1 and.b32 %r4, %r1, 3;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n"
     "shr.u32 %t1, %r6, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r6, %t1;\nxor.b32 %h1, %h1, 16;\n"
     "st.shared.u32 [%h1], %r2;",
     "the hash at another offset"},
    {"a part that is written twice", "fixed",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nand.b32 %r4, %r1, 3;\n@%p1 mov.u32 %r4, "
     "4;\nsub.s32 %r5, %r3, %r4;\nshl.b32 %r6, %r5, 2;\n"
     "st.shared.u32 [%r6+16], %r2;",
     "mov.u32 %r1, %tid.x;\nshl.b32 %r3, %r1, 1;\nand.b32 %r4, %r1, 3;\n@%p1 mov.u32 %r4, "
     "4;\nsub.s32 %r5, %r3, %r4;\nshl.b32 %r6, %r5, 2;\n"
     "shr.u32 %t1, %r6, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r6, %t1;\nxor.b32 %h1, %h1, 16;\n"
     "st.shared.u32 [%h1], %r2;",
     "the hash at another offset"},
    {"a part before the number", "fixed",
     "shl.b32 %r3, %r1, 1;\nmov.u32 %r1, %tid.x;\nand.b32 %r4, %r1, 3;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n"
     "st.shared.u32 [%r6+16], %r2;",
     "shl.b32 %r3, %r1, 1;\nmov.u32 %r1, %tid.x;\nand.b32 %r4, %r1, 3;\nsub.s32 %r5, %r3, "
     "%r4;\nshl.b32 %r6, %r5, 2;\n"
     "shr.u32 %t1, %r6, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r6, %t1;\nxor.b32 %h1, %h1, 16;\n"
     "st.shared.u32 [%h1], %r2;",
     "the hash at another offset"},
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
    {"an offset asked about with the offset", "fixed", "atom.add.u32 %r2, [%rd1+8], 1;",
     "add.s64 %w1, %rd1, 8;\nisspacep.shared::cta %q1, %w1;\nshr.u64 %w2, %w1, 5;\n"
     "and.b64 %w2, %w2, 124;\nselp.b64 %w2, %w2, 0, %q1;\nxor.b64 %w1, %w1, %w2;\n"
     "atom.add.u32 %r2, [%w1], 1;",
     NULL},
    {"a generic address that cannot be shared", "fixed",
     "ld.u32 %r2, [%rd1];\nst.shared.u32 [%r1], %r2;",
     "ld.u32 %r2, [%rd1];\nshr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\n"
     "xor.b32 %h1, %r1, %t1;\nst.shared.u32 [%h1], %r2;",
     NULL},
    {"a generic address that can be shared", "fixed",
     "cvta.shared.u64 %rd2, %rd3;\nld.u32 %r2, [%rd1];\nst.shared.u32 [%r1], %r2;",
     "cvta.shared.u64 %rd2, %rd3;\nld.u32 %r2, [%rd1];\nshr.u32 %t1, %r1, 5;\n"
     "and.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\nst.shared.u32 [%h1], %r2;",
     "generic access without the hash"},
    {"a matrix by a generic address without the hash", "cute:3,4,3",
     "ldmatrix.sync.aligned.m8n8.x1.b16 {%r2}, [%rd1];\nst.shared.u32 [%r1], %r2;",
     "ldmatrix.sync.aligned.m8n8.x1.b16 {%r2}, [%rd1];\nshr.u32 %t1, %r1, 3;\n"
     "and.b32 %t1, %t1, 112;\nxor.b32 %h1, %r1, %t1;\nst.shared.u32 [%h1], %r2;",
     "generic access without the hash"},
    {"isspacep about a cluster", "fixed", "ld.u32 %r2, [%rd1];",
     "isspacep.shared::cluster %q1, %rd1;\nshr.u64 %w2, %rd1, 5;\n"
     "and.b64 %w2, %w2, 124;\nselp.b64 %w2, %w2, 0, %q1;\nxor.b64 %w1, %rd1, %w2;\n"
     "ld.u32 %r2, [%w1];",
     "isspacep.shared did not write"},
    {"shared::cta", "fixed", "st.shared::cta.u32 [%r1], %r2;",
     "shr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\n"
     "st.shared::cta.u32 [%h1], %r2;",
     NULL},
    {"shared::cta without the hash", "fixed",
     "st.shared.u32 [%r1], %r2;\nst.shared::cta.u32 [%r1], %r2;",
     "shr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\n"
     "st.shared.u32 [%h1], %r2;\nst.shared::cta.u32 [%r1], %r2;",
     "access to shared memory without the hash"},
    {"a matrix by a generic address", "cute:3,4,3",
     "ldmatrix.sync.aligned.m8n8.x1.b16 {%r2}, [%rd1];",
     "shr.u64 %w1, %rd1, 3;\nand.b64 %w1, %w1, 112;\nxor.b64 %w1, %rd1, %w1;\n"
     "ldmatrix.sync.aligned.m8n8.x1.b16 {%r2}, [%w1];",
     NULL},
    {"a bulk copy", "fixed",
     "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;\nst.shared.u32 [%r1], %r2;",
     "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;\nshr.u32 %t1, %r1, 5;\n"
     "and.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\nst.shared.u32 [%h1], %r2;",
     "a bulk copy"},
    {"bulk copies that touch no shared memory", "fixed",
     "cp.async.bulk.prefetch.L2.global [%rd1], 16;\ncp.async.bulk.commit_group;\n"
     "st.shared.u32 [%r1], %r2;",
     "cp.async.bulk.prefetch.L2.global [%rd1], 16;\ncp.async.bulk.commit_group;\n"
     "shr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r1, %t1;\n"
     "st.shared.u32 [%h1], %r2;",
     NULL},
    {"a register chosen in place of a barrier object", "fixed",
     "mov.u32 %r1, data;\nselp.b32 %r3, %r1, %r2, %p1;\nmbarrier.init.shared.b64 [%r3], 1;\n"
     "st.shared.u32 [%r2], %r2;",
     "mov.u32 %r1, data;\nselp.b32 %r3, %r1, %r2, %p1;\nmbarrier.init.shared.b64 [%r3], 1;\n"
     "shr.u32 %t1, %r2, 5;\nand.b32 %t1, %t1, 124;\nxor.b32 %h1, %r2, %t1;\n"
     "st.shared.u32 [%h1], %r2;",
     "not in a variable of its own"},
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
    {"the size of shared memory in a vector", "fixed",
     "mov.b64 %rd2, {%r2, %dynamic_smem_size};\nst.shared.u32 [%r1], %r2;",
     "mov.b64 %rd2, {%r2, %dynamic_smem_size};\nshr.u32 %t1, %r1, 5;\nand.b32 %t1, %t1, 124;\n"
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
  char original[MOST_TEXT], rewritten[MOST_TEXT], hash[64];
  unsigned wrong = 0;
  (void)state;
  for (size_t i = 0; i < sizeof small_pairs / sizeof *small_pairs; i++) {
    const small_pair *pair = &small_pairs[i];
    make_kernel(shared, "", pair->original, original);
    make_kernel(shared, ".reg .pred %q<2>;\n.reg .b32 %t<2>;\n.reg .b32 %h<2>;\n.reg .b64 %w<3>;",
                pair->rewritten, rewritten);
    snprintf(hash, sizeof hash, "k=%s", pair->hash);
    bf_verify_result result = judge(original, rewritten, hash);
    const char *said = result.findings ? result.finding[0].text : "accepted";
    if (pair->message ? !strstr(said, pair->message) : !result.is_accepted) {
      wrong++;
      print_error("%s: %s\n", pair->name, said);
    }
    bf_verify_free(&result);
  }
  assert_int_equal(wrong, 0);
}

/* ---- Several kernels ---- */

#define PLAIN_LOAD "ld.shared.u32 %r2, [%r1];\n"
#define HASHED_LOAD                                                                                \
  ".reg .b32 %h<2>;\nshr.u32 %h1, %r1, 5;\nand.b32 %h1, %h1, 124;\nxor.b32 %h1, %h1, %r1;\n"       \
  "ld.shared.u32 %r2, [%h1];\n"

/* Kernels a and b, each with its own load, which both call f. */
static void make_kernels(const char *in_f, const char *in_a, const char *in_b, char *text) {
  snprintf(text, MOST_TEXT,
           ".version 8.0\n.target sm_90\n.address_size 64\n"
           ".func f()\n{\n.reg .b32 %%r<3>;\nmov.u32 %%r1, %%tid.x;\n%sret;\n}\n"
           ".entry a()\n{\n.reg .b32 %%r<3>;\nmov.u32 %%r1, %%tid.x;\n%scall f;\nret;\n}\n"
           ".entry b()\n{\n.reg .b32 %%r<3>;\nmov.u32 %%r1, %%tid.x;\n%scall f;\nret;\n}\n",
           in_f, in_a, in_b);
}

/* hash[0] for kernel a, hash[1] for b. */
static const bf_hash *one_for_each(void *context, const bf_ptx_function *kernel,
                                   const bf_ptx_variable *array) {
  (void)array;
  bf_hash *const *hash = context;
  return hash[kernel->name[0] == 'b'];
}

/* Judges the three bodies; fails unless the first finding holds message (NULL: accepted). */
static void expect_kernels(const char *in_f, const char *in_a, const char *in_b,
                           bf_hash *const hash[2], const char *message) {
  char original[MOST_TEXT], rewritten[MOST_TEXT];
  bf_hash *copy[2] = {hash[0], hash[1]};
  bf_verify_result result;
  make_kernels(PLAIN_LOAD, PLAIN_LOAD, PLAIN_LOAD, original);
  make_kernels(in_f, in_a, in_b, rewritten);
  bf_ptx_module *a = parse(original), *b = parse(rewritten);
  assert_int_equal(bf_verify(a, b, copy, one_for_each, &result, NULL), BF_OK);
  if (!message)
    expect_accepted(&result);
  else if (!result.findings || !strstr(result.finding[0].text, message))
    fail_msg("%s", result.findings ? result.finding[0].text : "accepted");
  bf_verify_free(&result);
  bf_ptx_free(a);
  bf_ptx_free(b);
}

static void test_kernels_share_functions(void **state) {
  bf_hash *fixed = hash_from("fixed"), *other = hash_from("cute:3,4,3");
  (void)state;
  expect_kernels(HASHED_LOAD, HASHED_LOAD, HASHED_LOAD, (bf_hash *[]){fixed, fixed}, NULL);
  expect_kernels(PLAIN_LOAD, PLAIN_LOAD, PLAIN_LOAD, (bf_hash *[]){fixed, other}, NULL);
  expect_kernels(HASHED_LOAD, HASHED_LOAD, PLAIN_LOAD, (bf_hash *[]){fixed, NULL},
                 "in a function that must not change");
  expect_kernels(HASHED_LOAD, HASHED_LOAD, PLAIN_LOAD, (bf_hash *[]){fixed, fixed},
                 "access to shared memory without the hash");
  expect_kernels(HASHED_LOAD, HASHED_LOAD, HASHED_LOAD, (bf_hash *[]){fixed, other},
                 "not the hash of the address");
  expect_kernels(PLAIN_LOAD, HASHED_LOAD, PLAIN_LOAD, (bf_hash *[]){fixed, NULL},
                 "access to shared memory without the hash");
  bf_hash_free(fixed);
  bf_hash_free(other);
}

/* Whole modules around what a function gets and what a module holds: lines that start with '-'
 * belong to the original only, with '+' to the rewritten form only. */
static const struct {
  const char *name, *hashes, *text, *message;
} modules[] = {
    {"an offset in a register of a function", "k=fixed k/b=none",
     ".shared .align 128 .b8 a[128];\n.shared .align 128 .b8 b[128];\n"
     ".func f(.reg .b32 %x)\n{\n.reg .b32 %r<4>;\n+.reg .b32 %h;\nmov.u32 %r1, a;\n"
     "add.s32 %r2, %r1, %x;\n+shr.u32 %h, %r2, 5;\n+lop3.b32 %h, %h, 124, %r2, 0x6a;\n"
     "-st.shared.u32 [%r2], 1;\n+st.shared.u32 [%h], 1;\nret;\n}\n"
     ".entry k()\n{\n.reg .b32 %r<3>;\nmov.u32 %r1, b;\ncall f, (%r1);\nret;\n}\n",
     "not proven"},
    {"bits of a register of a function", "k=fixed",
     ".func f(.reg .b32 %x)\n{\n.reg .b32 %r<4>;\n+.reg .b32 %h;\n+mov.b32 %h, 0;\n"
     "st.shared.u8 [%x], 1;\nand.b32 %x, %x, 31;\nret;\n}\n"
     ".entry k()\n{\n.reg .b32 %r<3>;\ncall f, (%r1);\nret;\n}\n",
     "without the hash"},
    {"a generic access in a function of two kernels", "k=fixed m=fixed",
     ".func f()\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<3>;\n+.reg .b32 %h;\n+mov.b32 %h, 0;\n"
     "ld.u32 %r1, [%rd1];\nret;\n}\n.entry k()\n{\ncall f;\nret;\n}\n"
     ".entry m()\n{\n.reg .b64 %rd<3>;\ncvta.shared.u64 %rd1, %rd2;\ncall f;\nret;\n}\n",
     "generic access without the hash"},
    {"a generic access in a function of one kernel", "k=fixed",
     ".func f()\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<3>;\n+.reg .b32 %h;\n+mov.b32 %h, 0;\n"
     "ld.u32 %r1, [%rd1];\nret;\n}\n.entry k()\n{\ncall f;\nret;\n}\n",
     NULL},
    {"a shared address in an initial value", "k=fixed",
     ".shared .align 128 .b8 a[128];\n.global .align 8 .u64 p[1] = {generic(a)};\n"
     ".entry k()\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<3>;\n+.reg .b32 %h;\n+mov.b32 %h, 0;\n"
     "ld.global.u64 %rd1, [p];\nld.u32 %r1, [%rd1];\nret;\n}\n",
     "generic access without the hash"},
};

/* One side of such a module. */
static void make_module(const char *lines, char mark, char *text) {
  size_t size =
      (size_t)snprintf(text, MOST_TEXT, ".version 8.0\n.target sm_90\n.address_size 64\n");
  for (const char *line = lines; *line; line = strchr(line, '\n') + 1) {
    bool is_marked = *line == '-' || *line == '+';
    int length = (int)(strchr(line, '\n') - line) + 1;
    if (!is_marked || *line == mark)
      size += (size_t)snprintf(text + size, MOST_TEXT - size, "%.*s", length - is_marked,
                               line + is_marked);
    assert_true(size < MOST_TEXT);
  }
}

static void test_modules(void **state) {
  char original[MOST_TEXT], rewritten[MOST_TEXT];
  unsigned wrong = 0;
  (void)state;
  for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
    make_module(modules[i].text, '-', original);
    make_module(modules[i].text, '+', rewritten);
    bf_verify_result result = judge(original, rewritten, modules[i].hashes);
    const char *said = result.findings ? result.finding[0].text : "accepted";
    if (modules[i].message ? !strstr(said, modules[i].message) : !result.is_accepted) {
      wrong++;
      print_error("%s: %s\n", modules[i].name, said);
    }
    bf_verify_free(&result);
  }
  assert_int_equal(wrong, 0);
}

/* A hash that reads bits above the surely known ones of a window is for shared addresses only. */
static void test_windows(void **state) {
  static const bf_geometry geometry = {.bank_bits = 5, .address_bits = 30, .word_bytes = 4};
  static const char *const generic[] = {"-ld.u32 %r1, [%rd1];\n+ld.u32 %r1, [%w];\n",
                                        "ld.u32 %r1, [%rd1];\n"};
  static const char *const message[] = {"more address bits than a window",
                                        "generic access without the hash"};
  char lines[1024], original[MOST_TEXT], rewritten[MOST_TEXT];
  bf_hash *hash = NULL;
  (void)state;
  assert_int_equal(bf_hash_parse("bits:0,1,2,3,4^25", &geometry, &hash, NULL), BF_OK);
  for (unsigned i = 0; i < 2; i++) {
    bf_verify_result result;
    snprintf(lines, sizeof lines,
             ".entry k()\n{\n.reg .b32 %%r<4>;\n.reg .b64 %%rd<4>;\n+.reg .b64 %%w;\n"
             "cvta.shared.u64 %%rd2, %%rd3;\nand.b64 %%rd1, %%rd2, 4095;\n+mov.b64 %%w, %%rd1;\n%s"
             "ret;\n}\n",
             generic[i]);
    make_module(lines, '-', original);
    make_module(lines, '+', rewritten);
    bf_ptx_module *a = parse(original), *b = parse(rewritten);
    assert_int_equal(bf_verify(a, b, hash, same_for_all, &result, NULL), BF_OK);
    assert_true(result.findings > 0);
    if (!strstr(result.finding[0].text, message[i]))
      fail_msg("%s", result.finding[0].text);
    bf_verify_free(&result);
    bf_ptx_free(a);
    bf_ptx_free(b);
  }
  bf_hash_free(hash);
}

/* Kernel a is hashed and names a variable; kernel b, which is not, holds the line in_b. */
static void expect_layout(const char *variable, const char *padded, const char *in_b,
                          const char *message) {
  static const char form[] = ".version 8.0\n.target sm_90\n.address_size 64\n%s\n"
                             ".entry a()\n{\n.reg .b32 %%r<3>;\n%smov.u32 %%r1, tile;\n%sret;\n}\n"
                             ".entry b()\n{\n.reg .b32 %%r<3>;\n%sret;\n}\n";
  char original[MOST_TEXT], rewritten[MOST_TEXT];
  snprintf(original, sizeof original, form, variable, "", "st.shared.u32 [%r1], 1;\n", in_b);
  snprintf(rewritten, sizeof rewritten, form, padded, ".reg .b32 %h;\n",
           "shr.u32 %h, %r1, 5;\nlop3.b32 %h, %h, 124, %r1, 0x6a;\nst.shared.u32 [%h], 1;\n", in_b);
  bf_verify_result result = judge(original, rewritten, "a=fixed b=none");
  if (!message)
    expect_accepted(&result);
  else if (!result.findings || !strstr(result.finding[0].text, message))
    fail_msg("%s", result.findings ? result.finding[0].text : "accepted");
  bf_verify_free(&result);
}

/* What a kernel without hash sees of shared memory must not change either, and variables of other
 * modules cannot be padded. */
static void test_layout_is_judged(void **state) {
  static const char row[] = ".shared .align 128 .b8 tile[128];";
  static const char small[] = ".shared .align 4 .b8 tile[100];";
  static const char reads[] = "mov.u32 %r1, %total_smem_size;\n";
  (void)state;
  expect_layout(small, row, "mov.u32 %r1, %tid.x;\n", NULL);
  expect_layout(small, row, reads, NULL); /* tile is none of b's */
  expect_layout(small, row, "mov.u32 %r2, tile;\nmov.u32 %r1, %total_smem_size;\n",
                "the size of shared memory");
  expect_layout(row, row, reads, NULL);
  expect_layout(".extern .shared .align 128 .b8 tile[128];",
                ".extern .shared .align 128 .b8 tile[128];", "",
                "a shared variable of another module");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pairs_are_accepted),
      cmocka_unit_test(test_unchanged_is_accepted),
      cmocka_unit_test(test_faults_are_rejected),
      cmocka_unit_test(test_hashes_are_judged),
      cmocka_unit_test(test_small_pairs),
      cmocka_unit_test(test_kernels_share_functions),
      cmocka_unit_test(test_layout_is_judged),
      cmocka_unit_test(test_modules),
      cmocka_unit_test(test_windows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
