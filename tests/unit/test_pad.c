/* Longer rows: which kernels can have them, which forms of addresses the verifier accepts and which
 * it rejects, and that benchmarks of the corpus give the same results with them, with the
 * wavefronts of those that were padded by hand. */
#include "verify.h"

#include "kernels/corpus.h"
#include "kernels/devices.h"
#include "memory/memory.h"
#include "rewrite/rewrite.h"

/* ---- Small kernels ---- */

/* Lines of a body that start with '-' belong to the original only, with '+' to the rewritten form
 * only. Array a has 32 rows of 128 bytes, b has 4. */
typedef struct form {
  const char *name, *directive, *body;
  const char *message; /* why it is rejected; NULL: accepted */
} form;

static const char head[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                           ".visible .entry k(.param .u64 k_out, .param .u32 k_n)%s\n{\n"
                           "-.shared .align 16 .b8 a[4096];\n+.shared .align 16 .b8 a[4224];\n"
                           ".shared .align 16 .b8 b[512];\n"
                           ".reg .pred %%p<4>;\n.reg .b32 %%r<20>;\n.reg .b64 %%rd<4>;\n"
                           "+.reg .b32 %%n<12>;\nld.param.u32 %%r19, [k_n];\n"
                           "mov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, %%tid.y;\nmov.u32 %%r3, a;\n";

#define ACCESS(was, is) "-st.shared.u32 [" was "], 1;\n+st.shared.u32 [" is "], 1;\n"
/* %r5 = a + 128 * %r2, and in longer rows %n5. */
#define ROW                                                                                        \
  "shl.b32 %r4, %r2, 7;\nadd.s32 %r5, %r3, %r4;\n+mul.lo.s32 %n4, %r2, 132;\n"                     \
  "+add.s32 %n5, %r3, %n4;\n"
/* %r8 = %r5 + 4 * %r1. */
#define PLACE ROW "shl.b32 %r7, %r1, 2;\nadd.s32 %r8, %r5, %r7;\n+add.s32 %n8, %n5, %r7;\n"
#define NOT_PROVEN "not proven to be the one in the longer row"

/* The address of word tid.x, and its place: from a, rows of 2^bits bytes, so many more in each. */
#define FLAT "shl.b32 %r7, %r1, 2;\nadd.s32 %r8, %r3, %r7;\n"
#define FLOOR(address, bits, unused)                                                               \
  "+mov.u32 %n7, a;\n+sub.s32 %n7, " address ", %n7;\n+shr.s32 %n7, %n7, " bits                    \
  ";\n+mad.lo.s32 %n8, %n7, " unused ", " address ";\n"

/* 0, or a number with as many low bits of 0, in %r9. */
#define ONE_OF(bits)                                                                               \
  "shl.b32 %r9, %r19, " bits ";\nsetp.eq.u32 %p1, %r19, 0;\n@%p1 bra one;\nmov.u32 %r9, "          \
  "0;\none:\n"
/* A branch past another one past a move, and ten of these. */
#define SIDE(n)                                                                                    \
  "setp.eq.u32 %p1, %r19, " n ";\n@%p1 bra s" n ";\n@%p2 bra t" n ";\nmov.u32 %r11, " n ";\nt" n   \
  ":\nadd.u32 %r12, %r12, 1;\ns" n ":\n"
#define SIDES(n)                                                                                   \
  SIDE(n "0")                                                                                      \
  SIDE(n "1")                                                                                      \
  SIDE(n "2") SIDE(n "3") SIDE(n "4") SIDE(n "5") SIDE(n "6") SIDE(n "7") SIDE(n "8") SIDE(n "9")

static const form forms[] = {
    {"a column for each thread", ".reqntid 32, 8", PLACE ACCESS("%r8", "%n8"), NULL},
    {"rows further on", ".reqntid 32, 8", PLACE ACCESS("%r8+3072", "%n8+3168"), NULL},
    {"an access that is left where it was", ".reqntid 32, 8", PLACE ACCESS("%r8", "%r8"),
     NOT_PROVEN},
    {"a step too far", ".reqntid 32, 8", PLACE ACCESS("%r8+3072", "%n8+3172"), NOT_PROVEN},
    {"rows that are not longer", ".reqntid 32, 8", PLACE ACCESS("%r8+3072", "%n8+3072"),
     NOT_PROVEN},
    {"more threads than columns", ".reqntid 64, 8", PLACE ACCESS("%r8", "%n8"), NOT_PROVEN},
    {"any number of threads", "", PLACE ACCESS("%r8", "%n8"), NOT_PROVEN},
    {"as many threads as the array has room for", "",
     "shl.b32 %r7, %r1, 2;\nadd.s32 %r8, %r3, %r7;\n" ACCESS("%r8+3968", "%r8+4092"), NULL},
    {"one thread more", "",
     "shl.b32 %r7, %r1, 2;\nadd.s32 %r8, %r3, %r7;\n" ACCESS("%r8+3840", "%r8+3960"), NOT_PROVEN},
    {"the same under a guard, where not all threads go there", "",
     "setp.lt.u32 %p1, %r1, 99;\nshl.b32 %r7, %r1, 2;\nadd.s32 %r8, %r3, %r7;\n"
     "-@%p1 st.shared.u32 [%r8+3968], 1;\n+@%p1 st.shared.u32 [%r8+4092], 1;\n",
     NOT_PROVEN},
    {"a branch that leaves few threads", "",
     "setp.gt.u32 %p1, %r1, 31;\n@%p1 bra end;\n" PLACE ACCESS("%r8", "%n8"), NULL},
    {"a branch that leaves too many", "",
     "setp.gt.u32 %p1, %r1, 32;\n@%p1 bra end;\n" PLACE ACCESS("%r8", "%n8"), NOT_PROVEN},
    {"a branch the other way", "",
     "setp.lt.u32 %p1, %r1, 31;\n@%p1 bra end;\n" PLACE ACCESS("%r8", "%n8"), NOT_PROVEN},
    {"columns of a mask", "", "and.b32 %r1, %r1, 31;\n" PLACE ACCESS("%r8", "%n8"), NULL},
    {"columns of a mask that is too large", "",
     "and.b32 %r1, %r1, 63;\n" PLACE ACCESS("%r8", "%n8"), NOT_PROVEN},
    {"a remainder", "", "rem.u32 %r1, %r19, 32;\n" PLACE ACCESS("%r8", "%n8"), NULL},
    {"what is left of a multiple", "",
     "and.b32 %r9, %r1, 992;\nsub.s32 %r1, %r1, %r9;\n" PLACE ACCESS("%r8", "%n8"), NULL},
    {"what is left of something else", "",
     "and.b32 %r9, %r2, 992;\nsub.s32 %r1, %r1, %r9;\n" PLACE ACCESS("%r8", "%n8"), NOT_PROVEN},
    {"rows that are counted backwards", ".reqntid 32, 8",
     "neg.s32 %r2, %r2;\n" PLACE ACCESS("%r8+896", "%n8+924"), NULL},
    {"the same by a complement", ".reqntid 32, 8",
     "not.b32 %r2, %r2;\n" PLACE ACCESS("%r8+1024", "%n8+1056"), NULL},
    {"a row made of two fields", ".reqntid 32, 8",
     "and.b32 %r9, %r19, 3;\nbfi.b32 %r2, %r2, %r9, 2, 3;\n" PLACE ACCESS("%r8", "%n8"), NULL},
    {"fields that fill a register", ".reqntid 32, 8",
     "and.b32 %r9, %r19, 3;\nbfi.b32 %r2, %r2, %r9, 2, 30;\n" PLACE ACCESS("%r8", "%n8"), NULL},
    {"a field in the place of bits", ".reqntid 32, 8",
     "and.b32 %r9, %r1, 7;\nbfi.b32 %r2, %r2, %r9, 2, 3;\n" PLACE ACCESS("%r8+128", "%n8+132"),
     NOT_PROVEN},
    {"columns of two fields", "",
     "and.b32 %r9, %r1, 3;\nbfi.b32 %r1, %r19, %r9, 2, 3;\n" PLACE ACCESS("%r8", "%n8"), NULL},
    {"columns of two fields that are too many", "",
     "and.b32 %r9, %r1, 3;\nbfi.b32 %r1, %r19, %r9, 2, 4;\n" PLACE ACCESS("%r8", "%n8"),
     NOT_PROVEN},
    {"columns of a field in the place of bits", "",
     "and.b32 %r9, %r1, 255;\nbfi.b32 %r1, %r19, %r9, 2, 3;\n" PLACE ACCESS("%r8", "%n8"),
     NOT_PROVEN},
    {"backwards from another row", ".reqntid 32, 8",
     "neg.s32 %r2, %r2;\n" PLACE ACCESS("%r8+896", "%n8+920"), NOT_PROVEN},
    {"a number from memory", "", "mov.u32 %r1, %r19;\n" PLACE ACCESS("%r8", "%n8"), NOT_PROVEN},
    {"a row from memory, which may wrap around", ".reqntid 32, 8",
     "mov.u32 %r2, %r19;\n" PLACE ACCESS("%r8", "%n8"), NOT_PROVEN},
    {"a row under a mask", ".reqntid 32, 8", "and.b32 %r2, %r19, 31;\n" PLACE ACCESS("%r8", "%n8"),
     NULL},
    {"a sum as OR", ".reqntid 32, 8",
     ROW "shl.b32 %r7, %r1, 2;\nor.b32 %r9, %r4, %r7;\nadd.s32 %r8, %r3, %r9;\n"
         "+add.s32 %n9, %n4, %r7;\n+add.s32 %n8, %r3, %n9;\n" ACCESS("%r8", "%n8"),
     NULL},
    {"an OR of bits that meet", ".reqntid 64, 8",
     ROW "shl.b32 %r7, %r1, 2;\nor.b32 %r9, %r4, %r7;\nadd.s32 %r8, %r3, %r9;\n"
         "+add.s32 %n9, %n4, %r7;\n+add.s32 %n8, %r3, %n9;\n" ACCESS("%r8", "%n8"),
     NOT_PROVEN},
    {"a shadow of another row", ".reqntid 32, 8",
     PLACE "+mul.lo.s32 %n4, %r1, 132;\n+add.s32 %n5, %r3, %n4;\n+add.s32 %n8, %n5, %r7;\n" ACCESS(
         "%r8", "%n8"),
     NOT_PROVEN},
    {"an address that changes meanwhile", ".reqntid 32, 8",
     PLACE "add.s32 %r8, %r8, 128;\n" ACCESS("%r8", "%n8"), NOT_PROVEN},
    {"rows one after the other", ".reqntid 32, 8",
     PLACE "mov.u32 %r9, 0;\nagain:\n" ACCESS(
         "%r8", "%n8") "add.s32 %r8, %r8, 128;\n+add.s32 %n8, %n8, 132;\nadd.s32 %r9, %r9, 1;\n"
                       "setp.lt.u32 %p1, %r9, 4;\n@%p1 bra again;\n",
     NULL},
    {"rows until the array ends", ".reqntid 32, 8",
     PLACE "mov.u32 %r9, 0;\nagain:\n" ACCESS(
         "%r8", "%n8") "add.s32 %r8, %r8, 128;\n+add.s32 %n8, %n8, 132;\nadd.s32 %r9, %r9, 1;\n"
                       "setp.lt.u32 %p1, %r9, %r19;\n@%p1 bra again;\n",
     NULL},
    {"rows that are passed in steps of their old length", ".reqntid 32, 8",
     PLACE "mov.u32 %r9, 0;\nagain:\n" ACCESS(
         "%r8", "%n8") "add.s32 %r8, %r8, 128;\n+add.s32 %n8, %n8, 128;\nadd.s32 %r9, %r9, 1;\n"
                       "setp.lt.u32 %p1, %r9, 4;\n@%p1 bra again;\n",
     NOT_PROVEN},
    {"columns one after the other", ".reqntid 32, 8",
     ROW "mov.u32 %r9, 0;\nagain:\n" ACCESS(
         "%r5", "%n5") "add.s32 %r5, %r5, 4;\n+add.s32 %n5, %n5, 4;\nadd.s32 %r9, %r9, 1;\n"
                       "setp.ne.s32 %p1, %r9, 32;\n@%p1 bra again;\n",
     NULL},
    {"one column more than there is", ".reqntid 32, 8",
     ROW "mov.u32 %r9, 0;\nagain:\n" ACCESS(
         "%r5", "%n5") "add.s32 %r5, %r5, 4;\n+add.s32 %n5, %n5, 4;\nadd.s32 %r9, %r9, 1;\n"
                       "setp.ne.s32 %p1, %r9, 33;\n@%p1 bra again;\n",
     NOT_PROVEN},
    {"a loop that may pass its end", ".reqntid 32, 8",
     ROW "mov.u32 %r9, 0;\nagain:\n" ACCESS(
         "%r5", "%n5") "add.s32 %r5, %r5, 4;\n+add.s32 %n5, %n5, 4;\nadd.s32 %r9, %r9, 3;\n"
                       "setp.ne.s32 %p1, %r9, 32;\n@%p1 bra again;\n",
     NOT_PROVEN},
    {"columns as far as another access goes in rows", "",
     "and.b32 %r6, %r19, 255;\nshl.b32 %r7, %r6, 7;\nadd.s32 %r8, %r3, %r7;\n"
     "+mul.lo.s32 %n7, %r6, 132;\n+add.s32 %n8, %r3, %n7;\n" ACCESS(
         "%r8", "%n8") "shl.b32 %r9, %r6, 2;\nadd.s32 %r10, %r3, %r9;\n" ACCESS("%r10", "%r10"),
     NULL},
    {"the same where the other access is not made", "",
     "and.b32 %r6, %r19, 255;\nshl.b32 %r9, %r6, 2;\nadd.s32 %r10, %r3, %r9;\n" ACCESS("%r10",
                                                                                       "%r10"),
     NOT_PROVEN},
    {"columns as far as an access to another array goes", "",
     "mov.u32 %r9, b;\nshl.b32 %r7, %r1, 2;\nadd.s32 %r10, %r9, %r7;\nadd.s32 %r8, %r3, %r7;\n"
     "ld.shared.u32 %r11, [%r10+384];\n" ACCESS("%r8", "%r8"),
     NULL},
    {"a matrix, of which not all threads give addresses", "",
     "mov.u32 %r9, b;\nshl.b32 %r7, %r1, 2;\nadd.s32 %r10, %r9, %r7;\nadd.s32 %r8, %r3, %r7;\n"
     "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r11}, [%r10+384];\n" ACCESS("%r8", "%r8"),
     NOT_PROVEN},
    {"two ways to an address", ".reqntid 32, 8",
     ROW "shl.b32 %r7, %r1, 2;\nsetp.eq.u32 %p1, %r19, 0;\n@%p1 bra one;\n"
         "add.s32 %r8, %r5, %r7;\n+add.s32 %n8, %n5, %r7;\nbra.uni both;\n"
         "one:\nmov.u32 %r8, %r5;\n+mov.u32 %n8, %n5;\nboth:\n" ACCESS("%r8", "%n8"),
     NULL},
    {"two ways, one of which is not followed", ".reqntid 32, 8",
     ROW "shl.b32 %r7, %r1, 2;\n+mov.u32 %n8, %n5;\nsetp.eq.u32 %p1, %r19, 0;\n@%p1 bra one;\n"
         "add.s32 %r8, %r5, %r7;\nbra.uni both;\n"
         "one:\nmov.u32 %r8, %r5;\nboth:\n" ACCESS("%r8", "%n8"),
     NOT_PROVEN},
    {"wide accesses", ".reqntid 32, 8",
     PLACE "-st.shared.v2.u32 [%r8], {%r1, %r1};\n"
           "+st.shared.v2.u32 [%n8], {%r1, %r1};\n",
     "wider than the padding"},
    {"an access to a or to b", ".reqntid 32, 8",
     "mov.u32 %r9, b;\nselp.b32 %r8, %r3, %r9, %p1;\nst.shared.u32 [%r8], 1;\n",
     "not proven to be to one array"},
    {"a generic address", ".reqntid 32, 8",
     "cvt.u64.u32 %rd1, %r3;\ncvta.shared.u64 %rd2, %rd1;\nst.u32 [%rd2], 1;\n" PLACE ACCESS("%r8",
                                                                                             "%n8"),
     "not proven to be to one array"},
    {"an address in 64 bits", ".reqntid 32, 8",
     "cvt.u64.u32 %rd1, %r3;\nst.shared.u32 [%rd1], 1;\n" PLACE ACCESS("%r8", "%n8"), NULL},
    {"rows in 64 bits", ".reqntid 32, 8",
     "cvt.u64.u32 %rd1, %r3;\nmul.wide.u32 %rd2, %r2, 128;\nadd.s64 %rd3, %rd1, %rd2;\n" PLACE
     "-st.shared.u32 [%rd3+4], 1;\n+st.shared.u32 [%n5+4], 1;\n",
     NULL},
    {"a place computed at the access", "", FLAT FLOOR("%r8", "7", "4") ACCESS("%r8", "%n8"), NULL},
    {"whole rows behind it", "", FLAT FLOOR("%r8", "7", "4") ACCESS("%r8+3072", "%n8+3168"), NULL},
    {"whole rows before it", "", FLAT FLOOR("%r8", "7", "4") ACCESS("%r8+-256", "%n8+-264"), NULL},
    {"a row too far", "", FLAT FLOOR("%r8", "7", "4") ACCESS("%r8+3072", "%n8+3172"), NOT_PROVEN},
    {"part of a row behind it", "", FLAT FLOOR("%r8", "7", "4") ACCESS("%r8+4", "%n8+4"),
     NOT_PROVEN},
    {"part of a row that is added before the shift", "",
     FLAT "add.s32 %r9, %r8, 4;\n" FLOOR("%r9", "7", "4") ACCESS("%r8+4", "%n8"), NULL},
    {"low bits that are known", "",
     "shl.b32 %r7, %r1, 5;\nadd.s32 %r8, %r3, %r7;\n" FLOOR("%r8", "7", "4")
         ACCESS("%r8+28", "%n8+28"),
     NULL},
    {"low bits that are not enough", "",
     "shl.b32 %r7, %r1, 4;\nadd.s32 %r8, %r3, %r7;\n" FLOOR("%r8", "7", "4")
         ACCESS("%r8+28", "%n8+28"),
     NOT_PROVEN},
    {"low bits of a number that is one of two", "",
     ONE_OF("3") "shl.b32 %r7, %r9, 2;\nadd.s32 %r8, %r3, %r7;\n" FLOOR("%r8", "7", "4")
         ACCESS("%r8+28", "%n8+28"),
     NULL},
    {"two numbers with fewer low bits alike", "",
     ONE_OF("2") "shl.b32 %r7, %r9, 2;\nadd.s32 %r8, %r3, %r7;\n" FLOOR("%r8", "7", "4")
         ACCESS("%r8+28", "%n8+28"),
     NOT_PROVEN},
    {"an address that is as aligned as its array", "",
     "mov.u32 %r8, %r3;\n@%p1 add.s32 %r8, %r8, 16;\n" FLOOR("%r8", "7", "4")
         ACCESS("%r8+12", "%n8+12"),
     NULL},
    {"an address that is less aligned", "",
     "mov.u32 %r8, %r3;\n@%p1 add.s32 %r8, %r8, 8;\n" FLOOR("%r8", "7", "4")
         ACCESS("%r8+12", "%n8+12"),
     NOT_PROVEN},
    {"a place from before a loop with many branches", "",
     FLAT FLOOR("%r8", "7", "4") "again:\n" SIDES("1") SIDES("2") SIDES("3")
         ACCESS("%r8", "%n8") "setp.lt.u32 %p1, %r11, %r19;\n@%p1 bra again;\n",
     NULL},
    {"a place that is lost in a loop with many branches", "",
     FLAT FLOOR("%r8", "7", "4") "again:\n" SIDES("1") SIDES("2") SIDES("3")
         ACCESS("%r8", "%n8") "+add.s32 %n8, %n8, 4;\n"
                              "setp.lt.u32 %p1, %r11, %r19;\n@%p1 bra again;\n",
     NOT_PROVEN},
    {"a shift for other rows", "", FLAT FLOOR("%r8", "6", "4") ACCESS("%r8", "%n8"), NOT_PROVEN},
    {"another padding", "", FLAT FLOOR("%r8", "7", "8") ACCESS("%r8", "%n8"), NOT_PROVEN},
    {"the place of another address", "",
     FLAT "add.s32 %r9, %r8, %r2;\n" FLOOR("%r9", "7", "4") ACCESS("%r8", "%n8"), NOT_PROVEN},
    {"counted from another array", "",
     FLAT "+mov.u32 %n7, b;\n+sub.s32 %n7, %r8, %n7;\n+shr.s32 %n7, %n7, 7;\n"
          "+mad.lo.s32 %n8, %n7, 4, %r8;\n" ACCESS("%r8", "%n8"),
     NOT_PROVEN},
    {"a place from before the address changed", "",
     FLAT FLOOR("%r8", "7", "4") "add.s32 %r8, %r8, 128;\n" ACCESS("%r8", "%n8"), NOT_PROVEN},
    {"rows in 64 bits that stay as they were", ".reqntid 32, 8",
     "cvt.u64.u32 %rd1, %r3;\nmul.wide.u32 %rd2, %r2, 128;\nadd.s64 %rd3, %rd1, %rd2;\n" PLACE
     "st.shared.u32 [%rd3+4], 1;\n",
     NOT_PROVEN},
};

/* One side of a form. */
static void pick(const form *f, char mark, char *text) {
  char whole[MOST_TEXT];
  size_t size = (size_t)snprintf(whole, sizeof whole, head, f->directive);
  snprintf(whole + size, sizeof whole - size, "%send:\nret;\n}\n", f->body);
  pick_lines(whole, mark, text);
}

static void forms_are_judged(void **state) {
  char original[MOST_TEXT], rewritten[MOST_TEXT];
  unsigned wrong = 0;
  (void)state;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    pick(&forms[i], '-', original);
    pick(&forms[i], '+', rewritten);
    bf_verify_result result = judge(original, rewritten, "k=none k/a=pad:32+1");
    const char *found = result.findings ? result.finding[0].text : NULL;
    if (!found != !forms[i].message || (found && !strstr(found, forms[i].message))) {
      wrong++;
      print_error("%s: %s\n", forms[i].name, found ? found : "accepted");
    }
    bf_verify_free(&result);
  }
  assert_int_equal(wrong, 0);
}

/* ---- Declarations ---- */

static void sizes_are_judged(void **state) {
  static const struct {
    const char *is, *message;
  } cases[] = {{".align 16 .b8 a[4224]", NULL},
               {".align 16 .b8 a[4240]", NULL},
               {".align 128 .b8 a[4224]", NULL},
               {".align 16 .b8 a[4208]", "no room"},
               {".align 16 .b8 a[4220]", "multiple of the widest access"},
               {".align 8 .b8 a[4224]", "less aligned"},
               {".align 16 .b8 a[4096]", "no room"},
               {".align 16 .b32 a[1056]", "differs"}};
  char original[MOST_TEXT], rewritten[MOST_TEXT], changed[MOST_TEXT];
  (void)state;
  pick(&forms[0], '-', original);
  pick(&forms[0], '+', rewritten);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *at = strstr(rewritten, ".align 16 .b8 a[4224]");
    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - rewritten), rewritten, cases[i].is,
             at + strlen(".align 16 .b8 a[4224]"));
    bf_verify_result result = judge(original, changed, "k=none k/a=pad:32+1");
    const char *found = result.findings ? result.finding[0].text : NULL;
    if (!found != !cases[i].message || (found && !strstr(found, cases[i].message)))
      fail_msg("%s: %s", cases[i].is, found ? found : "accepted");
    bf_verify_free(&result);
  }
}

/* ---- The corpus ---- */

typedef struct sample {
  const char *benchmark, *by_hand, *hashes;
} sample;

#define LEFT "_ZZ8multiplyILi0EEvPK6__halfS2_PfiiE9left_tile"
#define RIGHT "_ZZ8multiplyILi0EEvPK6__halfS2_PfiiE10right_tile"
#define MINE "_ZZ10box_forcesILi4EEvPK3BoxPKjPKfS6_fPfE4mine"
#define OTHER "_ZZ10box_forcesILi4EEvPK3BoxPKjPKfS6_fPfE5other"

static const sample samples[] = {
    {"softmax", "softmax-padded", "softmax=pad:64+1"},
    {"gemm-mma", "gemm-mma-padded",
     "gemm_mma=none gemm_mma/" LEFT "=pad:16+4 gemm_mma/" RIGHT "=pad:32+4"},
    {"lavamd", "lavamd-padded", "lavamd=none lavamd/" MINE "=pad:4+1 lavamd/" OTHER "=pad:4+1"},
    {"lud-diagonal", "lud-diagonal-padded", "lud_diagonal=pad:16+1"},
    {"lud-perimeter", "lud-perimeter-padded", "lud_perimeter=pad:16+1"},
};

/* Counts wavefronts of all launches. */
typedef struct counted {
  bf_machine *machine;
  bf_profile *profile;
  bf_emu_observer observer;
  uint64_t wavefronts;
} counted;

static int before(void *context, bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  counted *c = context;
  BF_TRY(bf_profile_create(c->machine, NULL, launch->kernel, 1, &c->profile, diagnostic));
  c->observer = bf_profile_observer(c->profile);
  c->observer.as_merged = true;
  launch->observer = &c->observer;
  return BF_OK;
}

static int after(void *context, const bf_emu_launch *launch, const bf_emu_result *result,
                 bf_diagnostic *diagnostic) {
  counted *c = context;
  (void)result;
  (void)diagnostic;
  for (unsigned i = 0; i < bf_emu_kernel_sites(launch->kernel); i++)
    c->wavefronts += bf_profile_get(c->profile, i).wavefronts;
  bf_profile_free(c->profile);
  return BF_OK;
}

/* Runs a benchmark with its PTX or another text; whether its results are right, and wavefronts. */
static bool run(const char *name, const char *text, uint64_t *wavefronts) {
  const bf_corpus_benchmark *benchmark = bf_corpus_find(name);
  bf_diagnostic diagnostic = {0};
  counted c = {0};
  bf_device device;
  bf_corpus_outcome outcome = {0};
  assert_non_null(benchmark);
  assert_int_equal(bf_machine_load("hopper", NULL, &c.machine, &diagnostic), BF_OK);
  bf_emu_device_options options = {.workers = 1, .before = before, .after = after, .context = &c};
  int error = bf_emu_device_create(name, text ? text : bf_corpus_ptx(benchmark->folder),
                                   wavefronts ? &options : &(bf_emu_device_options){.workers = 1},
                                   &device, &diagnostic);
  if (error)
    fail_msg("%s: %s", name, diagnostic.message);
  error = bf_corpus_execute(benchmark, &device, 1, 0, &outcome, &diagnostic);
  bf_emu_device_free(&device);
  bf_machine_free(c.machine);
  if (wavefronts)
    *wavefronts = c.wavefronts;
  return !error && outcome.elements && !outcome.wrong;
}

/* The PTX of a sample with longer rows; the result is to be freed. */
static bf_rewrite_result lengthen(const sample *s, const char **original) {
  bf_rewrite_result result;
  bf_diagnostic diagnostic = {0};
  test_hashes hashes = hashes_from(s->hashes);
  *original = bf_corpus_ptx(bf_corpus_find(s->benchmark)->folder);
  bf_ptx_module *module = parse(*original);
  bf_rewrite_options options = {.context = &hashes, .hash_of = by_name};
  assert_int_equal(bf_rewrite(module, &options, &result, &diagnostic), BF_OK);
  if (!result.is_changed)
    for (unsigned i = 0; i < result.kernels; i++)
      if (result.kernel[i].obstacles)
        fail_msg("%s: %s", s->benchmark, result.kernel[i].obstacle[0].text);
  assert_true(result.is_changed);
  free_hashes(&hashes);
  bf_ptx_free(module);
  return result;
}

static void the_corpus_is_padded_as_by_hand(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    uint64_t was = 0, is = 0, by_hand = 0;
    const char *original;
    bf_rewrite_result result = lengthen(&samples[i], &original);
    assert_true(run(samples[i].benchmark, NULL, &was));
    assert_true(run(samples[i].by_hand, NULL, &by_hand));
    assert_true(run(samples[i].benchmark, result.text.data, &is));
    if (is != by_hand || is >= was)
      fail_msg("%s: %llu wavefronts, %llu by hand, %llu before", samples[i].benchmark,
               (unsigned long long)is, (unsigned long long)by_hand, (unsigned long long)was);
    bf_rewrite_free(&result);
  }
}

/* Both versions stand in one module, each with an array of its own. */
static void originals_stay_beside(void **state) {
  bf_rewrite_result result;
  bf_diagnostic diagnostic = {0};
  bf_ptx_module *module = parse(bf_corpus_ptx("softmax"));
  bf_hash *hash = hash_from("pad:64+1");
  bf_rewrite_options options = {.context = hash, .hash_of = same_for_all, .is_beside = true};
  (void)state;
  assert_int_equal(bf_rewrite(module, &options, &result, &diagnostic), BF_OK);
  assert_true(result.is_changed && result.kernel[0].is_rewritten);
  assert_string_equal(result.kernel[0].beside, "softmax__bankfold_1");
  assert_non_null(strstr(result.text.data, "[16384]"));
  assert_non_null(strstr(result.text.data, "[16640]"));
  bf_rewrite_free(&result);
  bf_hash_free(hash);
  bf_ptx_free(module);
}

/* ---- Seeded faults ---- */

/* A copy of text in which the number at `at` is another. */
static char *with_number(const char *text, const char *at, long long number) {
  char *end;
  size_t size = strlen(text) + 32;
  char *copy = malloc(size);
  assert_non_null(copy);
  strtoll(at, &end, 10);
  snprintf(copy, size, "%.*s%lld%s", (int)(at - text), text, number, end);
  return copy;
}

/* The next number behind a comma, plus or minus in a line that shadows stand in; NULL: none. */
static const char *next_number(const char *at) {
  for (; *at; at++) {
    const char *line = at;
    while (line[-1] != '\n')
      line--;
    const char *mark = strstr(line, "%bf_place_row"), *end = strchr(line, '\n');
    bool is_marked = mark && mark < end && strncmp(line, ".reg", 4) != 0;
    bool starts = (at[-1] == ' ' || at[-1] == '+') && *at >= '0' && *at <= '9';
    if (is_marked && starts)
      return at;
  }
  return NULL;
}

/* What was made of faults. */
typedef struct tally {
  unsigned rejected, harmless, wrong;
} tally;

static void judge_fault(const sample *s, const char *original, const char *faulty, tally *t) {
  bf_diagnostic diagnostic = {0};
  bf_ptx_module *module = NULL;
  if (bf_ptx_parse("fault", faulty, strlen(faulty), &module, &diagnostic)) {
    t->rejected++;
    return;
  }
  bf_ptx_free(module);
  bf_verify_result result = judge(original, faulty, s->hashes);
  if (!result.is_accepted)
    t->rejected++;
  else if (run(s->benchmark, faulty, NULL))
    t->harmless++;
  else {
    t->wrong++;
    print_error("accepted, and wrong: %s\n", s->benchmark);
  }
  bf_verify_free(&result);
}

/* Every number that longer rows bring is changed, up and down, by a word, by a row. */
static void faults_are_rejected_or_harmless(void **state) {
  static const int steps[] = {1, -1, 4, -4, 64, 128};
  tally t = {0};
  (void)state;
  for (size_t i = 1; i < sizeof samples / sizeof *samples; i++) {
    const char *original;
    bf_rewrite_result result = lengthen(&samples[i], &original);
    const char *start = strstr(result.text.data, ".entry");
    for (const char *at = next_number(start); at; at = next_number(at + 1)) {
      int step = steps[(at - start) % (sizeof steps / sizeof *steps)];
      char *faulty = with_number(result.text.data, at, strtoll(at, NULL, 10) + step);
      judge_fault(&samples[i], original, faulty, &t);
      free(faulty);
    }
    bf_rewrite_free(&result);
  }
  print_message("%u faults rejected, %u harmless, %u accepted and wrong\n", t.rejected, t.harmless,
                t.wrong);
  assert_int_equal(t.wrong, 0);
  assert_true(t.rejected > 100);
}

/* ---- What is accepted ---- */

/* A hash for kernel k and its arrays; none for others. */
static const bf_hash *for_k(void *context, const bf_ptx_function *kernel,
                            const bf_ptx_variable *array) {
  (void)array;
  return strcmp(kernel->name, "k") == 0 ? context : NULL;
}

static void more_is_padded(void **state) {
  static const struct {
    const char *text, *holds; /* what the rewritten module holds */
    bool is_for_all;
  } cases[] = {
      /* other kernels use the array: alike, or not rewritten */
      {".shared .align 16 .b8 a[4096];\n.visible .entry k()\n{\nst.shared.u32 [a+128], "
       "1;\nret;\n}\n"
       ".visible .entry l()\n{\nst.shared.u32 [a+256], 1;\nret;\n}\n",
       "[a+264]", true},
      {".shared .align 16 .b8 a[4096];\n.visible .entry k()\n{\nst.shared.u32 [a+128], "
       "1;\nret;\n}\n"
       ".visible .entry l()\n{\nst.shared.u32 [a+256], 1;\nret;\n}\n",
       "[a+256]", false},
      /* low bits that the rewriter knows, counted from the array, and the verifier does not */
      {".visible .entry k(.param .u32 n)\n{\n.shared .align 4 .b8 a[4096];\n.reg .b32 %r<5>;\n"
       ".reg .pred %p;\nld.param.u32 %r1, [n];\nsetp.eq.u32 %p, %r1, 0;\nmov.u32 %r2, a;\n"
       "@%p add.s32 %r2, %r2, 8;\nst.shared.u32 [%r2+4], 1;\nret;\n}\n",
       "add.s32 \t%bf_place_row0, %bf_place_row0, 4;", false},
      /* the end of the row before: 128 * (y + 1) - 8 */
      {".visible .entry k()\n.reqntid 8, 1, 1\n{\n.shared .align 16 .b8 a[4096];\n.reg .b32 "
       "%r<5>;\n"
       "mov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, 1;\nmov.u32 %r3, a;\nmad.lo.s32 %r4, %r2, 128, "
       "%r3;\n"
       "st.shared.u32 [%r4+-8], 1;\nret;\n}\n",
       "+-12]", false},
  };
  bf_hash *hash = hash_from("pad:32+1");
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[MOST_TEXT];
    bf_rewrite_result result;
    bf_diagnostic diagnostic = {0};
    snprintf(text, sizeof text, ".version 8.0\n.target sm_90\n.address_size 64\n%s", cases[i].text);
    bf_ptx_module *module = parse(text);
    bf_rewrite_options options = {.context = hash,
                                  .hash_of = cases[i].is_for_all ? same_for_all : for_k};
    assert_int_equal(bf_rewrite(module, &options, &result, &diagnostic), BF_OK);
    if (!result.is_changed || !strstr(result.text.data, cases[i].holds))
      fail_msg("%zu: %s\n%s", i,
               result.kernel[0].obstacles ? result.kernel[0].obstacle[0].text : "rewritten",
               result.text.data ? result.text.data : "");
    bf_rewrite_free(&result);
    bf_ptx_free(module);
  }
  bf_hash_free(hash);
}

/* A padding for some blocks: it is proven for these, and taken where launches are checked. */
static void blocks_are_limited(void **state) {
  static const struct {
    const char *hash, *kernel;
    bool is_checked, is_good;
    const char *reason;
  } cases[] = {
      {"pad:32+1", "", true, false, NOT_PROVEN},
      {"pad:32+1@32", "", true, true, NULL},
      {"pad:32+1@32", "", false, false, "for some blocks only (pad:32+1@32), and nobody looks"},
      {"pad:32+1@33", "", true, false, NOT_PROVEN},
      {"pad:32+1@1024x32", "", true, false, NOT_PROVEN},
      {"pad:32+1@32x8x4", "", true, true, NULL},
      {"pad:32+1@64", ".reqntid 32, 8, 1\n", true, true, NULL},
      {"pad:32+1@64", ".maxntid 64, 1, 1\n", true, false, NOT_PROVEN},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[MOST_TEXT];
    bf_rewrite_result result;
    bf_diagnostic diagnostic = {0};
    bf_hash *hash = hash_from(cases[i].hash);
    assert_string_equal(bf_hash_text(hash), cases[i].hash);
    snprintf(text, sizeof text,
             ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n%s{\n"
             ".shared .align 16 .b8 a[4096];\n.reg .b32 %%r<8>;\nmov.u32 %%r1, %%tid.x;\n"
             "mov.u32 %%r2, %%tid.y;\nshl.b32 %%r3, %%r2, 7;\nshl.b32 %%r4, %%r1, 2;\n"
             "add.s32 %%r5, %%r3, %%r4;\nmov.u32 %%r6, a;\nadd.s32 %%r7, %%r5, %%r6;\n"
             "st.shared.u32 [%%r7], 1;\nret;\n}\n",
             cases[i].kernel);
    bf_ptx_module *module = parse(text);
    for (unsigned beside = 0; beside < 2; beside++) {
      bf_rewrite_options options = {.context = hash,
                                    .hash_of = same_for_all,
                                    .blocks_are_checked = cases[i].is_checked,
                                    .keeps_accesses = true,
                                    .is_beside = beside};
      assert_int_equal(bf_rewrite(module, &options, &result, &diagnostic), BF_OK);
      assert_int_equal(result.is_changed, cases[i].is_good);
      if (cases[i].is_good)
        assert_int_equal(result.kernel[0].most_block[0], hash->most_block[0]);
      else
        assert_non_null(strstr(result.kernel[0].obstacle[0].text, cases[i].reason));
      bf_rewrite_free(&result);
    }
    bf_ptx_free(module);
    bf_hash_free(hash);
  }
}

/* ---- Dynamic shared memory ---- */

static void launches_give_room(void **state) {
  static const struct {
    const char *names, *place;
    bool is_good;
  } cases[] = {
      {".extern .shared .align 16 .b8 d[];\n", "d", true},
      {".extern .shared .align 16 .b8 d[];\n.extern .shared .align 16 .b8 e[];\n", "e", true},
      {".extern .shared .align 16 .b8 d[];\n", "d+4", false}};
  bf_hash *hash = hash_from("pad:32+1");
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (unsigned beside = 0; beside < 2; beside++) {
      char text[MOST_TEXT];
      bf_rewrite_result result;
      bf_diagnostic diagnostic = {0};
      snprintf(
          text, sizeof text,
          ".version 8.0\n.target sm_90\n.address_size 64\n%s.visible .entry k().reqntid 32, 8\n{\n"
          ".reg .b32 %%r<8>;\nmov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, %%tid.y;\n"
          "shl.b32 %%r3, %%r2, 7;\nshl.b32 %%r4, %%r1, 2;\nadd.s32 %%r5, %%r3, %%r4;\n"
          "mov.u32 %%r6, %s;\nadd.s32 %%r7, %%r5, %%r6;\nst.shared.u32 [%%r7+1024], 1;\nret;\n}\n",
          cases[i].names, cases[i].place);
      bf_ptx_module *module = parse(text);
      bf_rewrite_options options = {.context = hash,
                                    .hash_of = same_for_all,
                                    .resizes_dynamic = true,
                                    .is_beside = beside,
                                    .keeps_accesses = true};
      assert_int_equal(bf_rewrite(module, &options, &result, &diagnostic), BF_OK);
      if (result.is_changed != cases[i].is_good)
        fail_msg("%s: %s", cases[i].place,
                 result.kernel[0].obstacles ? result.kernel[0].obstacle[0].text : "rewritten");
      if (result.is_changed) {
        assert_int_equal(result.kernel[0].dynamic_row_bytes, 128);
        assert_int_equal(result.kernel[0].dynamic_unused_bytes, 4);
        assert_non_null(strstr(result.text.data, "+1056]")); /* eight rows on */
      }
      bf_rewrite_free(&result);
      bf_ptx_free(module);
    }
  bf_hash_free(hash);
  assert_int_equal(bf_rewrite_dynamic_bytes(0, 128, 4), 0);
  assert_int_equal(bf_rewrite_dynamic_bytes(128, 128, 4), 128);
  assert_int_equal(bf_rewrite_dynamic_bytes(129, 128, 4), 144);
  assert_int_equal(bf_rewrite_dynamic_bytes(4096, 128, 16), 4096 + 31 * 16);
  assert_int_equal(bf_rewrite_dynamic_bytes(4096, 0, 0), 4096);
}

/* Places in dynamic shared memory are counted by a name that the kernel itself has for it, whatever
 * else the module calls it, and the proof takes all names of a kernel for one. */
static void dynamic_rows_have_places(void **state) {
  static const struct {
    const char *store, *load; /* what they count from */
    const char *names;        /* what the rewritten module counts from */
  } cases[] = {{"e", "e", "row0, e;"}, {"e", "f", "row0, e;"}};
  bf_hash *hash = hash_from("pad:32+1");
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (unsigned beside = 0; beside < 2; beside++) {
      char text[MOST_TEXT];
      bf_rewrite_result result;
      bf_diagnostic diagnostic = {0};
      snprintf(text, sizeof text,
               ".version 8.0\n.target sm_90\n.address_size 64\n"
               ".extern .shared .align 16 .b8 d[];\n.extern .shared .align 8 .b8 e[];\n"
               ".extern .shared .align 4 .b8 f[];\n"
               ".visible .entry other()\n{\nst.shared.u32 [d], 1;\nret;\n}\n"
               ".visible .entry k()\n{\n.reg .b32 %%r<8>;\nmov.u32 %%r1, %%tid.x;\n"
               "shl.b32 %%r2, %%r1, 2;\nmov.u32 %%r3, %s;\nadd.s32 %%r4, %%r3, %%r2;\n"
               "st.shared.u32 [%%r4+1024], 1;\nmov.u32 %%r5, %s;\nadd.s32 %%r6, %%r5, %%r2;\n"
               "ld.shared.u32 %%r7, [%%r6+1024];\nret;\n}\n",
               cases[i].store, cases[i].load);
      bf_ptx_module *module = parse(text);
      bf_rewrite_options options = {
          .context = hash, .hash_of = for_k, .resizes_dynamic = true, .is_beside = beside};
      assert_int_equal(bf_rewrite(module, &options, &result, &diagnostic), BF_OK);
      if (!result.is_changed)
        fail_msg("%zu: %s", i, result.kernel[1].obstacle[0].text);
      assert_non_null(strstr(result.text.data, "+1056]"));
      assert_true(beside || strstr(result.text.data, cases[i].names));
      assert_null(strstr(result.text.data, ", d;\n"));
      bf_rewrite_free(&result);
      bf_ptx_free(module);
    }
  bf_hash_free(hash);
}

/* ---- What is refused ---- */

static void what_cannot_be_padded_is_refused(void **state) {
  static const struct {
    const char *text, *reason;
  } cases[] = {
      {".extern .shared .align 16 .b8 d[];\n.visible .entry k()\n{\n.reg .b32 %r<4>;\n"
       "mov.u32 %r1, d;\nst.shared.u32 [%r1], 1;\nret;\n}\n",
       "rows of dynamic shared memory (d), of which only who launches the kernel can give it more"},
      {".shared .align 16 .b8 a[4096];\n.visible .entry k()\n{\nst.shared.u32 [a+128], "
       "1;\nret;\n}\n"
       ".visible .entry l()\n{\n.reg .b32 %r<4>;\nmov.u32 %r1, %total_smem_size;\n"
       "st.shared.u32 [a+128], %r1;\nret;\n}\n",
       "rows of shared variable a, which other code uses too"},
      {".visible .entry k()\n{\n.shared .align 16 .b8 a[4096];\n.reg .b32 %r<4>;\n"
       "mov.u32 %r1, %tid.x;\nshl.b32 %r1, %r1, 7;\nmov.u32 %r2, a;\nadd.s32 %r2, %r2, %r1;\n"
       "st.shared.v4.u32 [%r2], {%r1, %r1, %r1, %r1};\nret;\n}\n",
       "an access of 16 bytes, and a padding of 4"},
      {".func use()\n{\nret;\n}\n.visible .entry k()\n{\n.shared .align 16 .b8 a[49100];\n"
       ".reg .b32 %r<4>;\nmov.u32 %r1, %tid.x;\nst.shared.u32 [a+128], 1;\nret;\n}\n",
       "bytes of shared memory, padded to rows, are more than 49152"},
      {".visible .entry k()\n{\n.shared .align 16 .b8 a[4096];\n.reg .b32 %r<4>;\n.reg .pred %p;\n"
       "mov.u32 %r2, a;\nmov.u32 %r1, %tid.x;\nsetp.eq.u32 %p, %r1, 0;\n"
       "@%p add.s32 %r2, %r2, 128;\nadd.s32 %r2, %r2, 256;\nst.shared.u32 [%r2], 1;\nret;\n}\n",
       "rows that cannot be made longer"},
      {".visible .entry k()\n{\n.shared .align 16 .b8 a[4096];\n.reg .b32 %r<4>;\n"
       "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, a;\nadd.s32 %r3, %r3, %r2;\n"
       "st.shared.u32 [%r3], 1;\nret;\n}\n",
       NOT_PROVEN},
  };
  bf_hash *hash = hash_from("pad:32+1");
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[MOST_TEXT];
    bf_rewrite_result result;
    bf_diagnostic diagnostic = {0};
    bool is_found = false;
    snprintf(text, sizeof text, ".version 8.0\n.target sm_90\n.address_size 64\n%s", cases[i].text);
    bf_ptx_module *module = parse(text);
    bf_rewrite_options options = {.context = hash, .hash_of = same_for_all, .keeps_accesses = true};
    assert_int_equal(bf_rewrite(module, &options, &result, &diagnostic), BF_OK);
    for (unsigned k = 0; k < result.kernels; k++)
      for (unsigned n = 0; n < result.kernel[k].obstacles; n++)
        is_found |= strstr(result.kernel[k].obstacle[n].text, cases[i].reason) != NULL;
    if (!is_found || result.is_changed)
      fail_msg("%s: %s", cases[i].reason,
               result.kernel[0].obstacles ? result.kernel[0].obstacle[0].text : "rewritten");
    bf_rewrite_free(&result);
    bf_ptx_free(module);
  }
  bf_hash_free(hash);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forms_are_judged),
      cmocka_unit_test(sizes_are_judged),
      cmocka_unit_test(what_cannot_be_padded_is_refused),
      cmocka_unit_test(more_is_padded),
      cmocka_unit_test(blocks_are_limited),
      cmocka_unit_test(launches_give_room),
      cmocka_unit_test(dynamic_rows_have_places),
      cmocka_unit_test(the_corpus_is_padded_as_by_hand),
      cmocka_unit_test(originals_stay_beside),
      cmocka_unit_test(faults_are_rejected_or_harmless),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
