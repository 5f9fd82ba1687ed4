/* Forms in which the lanes of a warp or the threads of a block meet; and control flow. */
#include "cases.h"

#include <stdio.h>
#include <string.h>

static void shuffles(case_list *list) {
  static const char *const modes[] = {"up", "down", "bfly", "idx"};
  static const char *const bounds[] = {"0x1f", "0", "0x181f", "0x1800", "0x1e07", "%c"};
  EACH(mode, modes)
  EACH(bound, bounds) {
    case_add(list, "b32 place b32 > b32 pred",
             "shfl.sync.%s.b32 %%r0|%%r1, %%a, %%b, %s, 0xffffffff;", mode, bound);
    case_add(list, "b32 count b32 > b32 pred", "shfl.sync.%s.b32 %%r0|%%r1, %%a, %%b, %s, -1;",
             mode, bound);
  }
  EACH(mode, modes)
  case_add(list, "b32 > b32", "shfl.sync.%s.b32 %%r0, %%a, 1, 0x1f, 0xffffffff;", mode);
}

/* Predicates that hold in no, some and all lanes of a warp. */
static void votes(case_list *list) {
  static const char *const modes[] = {"all", "any", "uni"};
  EACH(mode, modes) {
    case_add(list, "> pred",
             "setp.ge.u32 %%p0, %%lane, 48;\nvote.sync.%s.pred %%r0, %%p0, 0xffffffff;", mode);
    case_add(list, "> pred",
             "setp.ge.u32 %%p0, %%lane, 48;\nvote.sync.%s.pred %%r0, !%%p0, 0xffffffff;", mode);
    case_add(list, "pred pred > pred", "vote.sync.%s.pred %%r0, %%b, -1;", mode);
  }
  case_add(list, "b32 > b32",
           "setp.lt.s32 %%p0, %%a, 3;\nvote.sync.ballot.b32 %%r0, %%p0, 0xffffffff;");
  case_add(list, "b32 > b32",
           "setp.lt.s32 %%p0, %%a, 3;\nvote.sync.ballot.b32 %%r0, !%%p0, 0xffffffff;");
}

/* Lanes that hold the same value, with values that repeat. */
static void matches(case_list *list) {
  case_add(list, "few > b32", "match.any.sync.b32 %%r0, %%a, 0xffffffff;");
  case_add(list, "b32 > b32", "match.any.sync.b32 %%r0, %%a, -1;");
  case_add(list, "few > b32",
           "cvt.u64.u32 %%l0, %%a;\nshl.b64 %%l0, %%l0, 40;\n"
           "match.any.sync.b64 %%r0, %%l0, 0xffffffff;");
  case_add(list, "few > b32 pred", "match.all.sync.b32 %%r0|%%r1, %%a, 0xffffffff;");
  case_add(list, "few > b32 pred", "match.all.sync.b32 %%r0|%%r1, 7, 0xffffffff;");
  case_add(list, "few > b32 pred",
           "shr.u32 %%t0, %%lane, 5;\ncvt.u64.u32 %%l0, %%t0;\n"
           "match.all.sync.b64 %%r0|%%r1, %%l0, 0xffffffff;");
}

static void reductions(case_list *list) {
  static const char *const operations[] = {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32",
                                           "max.s32", "and.b32", "or.b32",  "xor.b32"};
  EACH(operation, operations)
  case_add(list, "b32 > b32", "redux.sync.%s %%r0, %%a, 0xffffffff;", operation);
  case_add(list, "> b32 pred", "elect.sync %%r0|%%r1, 0xffffffff;");
  case_add(list, "> b32", "activemask.b32 %%r0;");
}

/* Both sides of a branch meet by themselves, each with its own mask. */
static void halves(case_list *list) {
  static const char *const bodies[] = {
      "shfl.sync.bfly.b32 %r0, %a, 2, 0x1f, MASK;",
      "xor.b32 %t3, %t1, 1;\nshfl.sync.idx.b32 %r0, %a, %t3, 0x1f, MASK;",
      "setp.gt.s32 %p1, %a, 1;\nvote.sync.ballot.b32 %r0, %p1, MASK;",
      "setp.gt.u32 %p1, %a, 1;\nvote.sync.any.pred %p2, %p1, MASK;\nselp.u32 %r0, 1, 0, %p2;",
      "match.any.sync.b32 %r0, %b, MASK;",
      "redux.sync.add.u32 %r0, %a, MASK;",
      "redux.sync.max.s32 %r0, %a, MASK;",
      "elect.sync %r0|%p1, MASK;",
      "bar.warp.sync MASK;\nmov.u32 %r0, %a;",
  };
  EACH(body, bodies) {
    char text[2][512];
    for (unsigned side = 0; side < 2; side++) {
      const char *cut = strstr(body, "MASK");
      snprintf(text[side], sizeof text[side], "%.*s%s%s", (int)(cut - body), body,
               side ? "0xfff0ff0f" : "0x000f00f0", cut + 4);
    }
    case_add(list, "b32 few > b32",
             "{\nand.b32 %%t1, %%lane, 31;\nmov.u32 %%t2, 1;\nshl.b32 %%t2, %%t2, %%t1;\n"
             "and.b32 %%t2, %%t2, 0x000f00f0;\nsetp.eq.u32 %%p0, %%t2, 0;\n@%%p0 bra most;\n%s\n"
             "bra.uni together;\nmost:\n%s\ntogether:\n}",
             text[0], text[1]);
  }
}

static void barriers(case_list *list) {
  case_add(list, "b32 > b32",
           "st.shared.u32 [%%s], %%a;\nbar.sync 0;\nsub.u32 %%t1, %u, %%lane;\n"
           "mov.u32 %%t0, sh;\nmad.lo.u32 %%t1, %%t1, 16, %%t0;\nld.shared.u32 %%r0, [%%t1];",
           CASE_LANES - 1);
  case_add(list, "b32 > b32",
           "st.shared.u32 [%%s], %%a;\nbarrier.sync 3, %u;\nxor.b32 %%t1, %%lane, 64;\n"
           "mov.u32 %%t2, sh;\nmad.lo.u32 %%t1, %%t1, 16, %%t2;\nld.shared.u32 %%r0, [%%t1];",
           CASE_LANES);
  case_add(list, "b32 > b32 pred pred",
           "setp.gt.s32 %%p0, %%a, 0;\nbar.red.popc.u32 %%r0, 0, %%p0;\n"
           "bar.red.and.pred %%r1, 0, %%p0;\nbar.red.or.pred %%r2, 0, !%%p0;");
  case_add(list, "b32 > b32", "setp.gt.s32 %%p0, %%a, 0;\nbarrier.red.popc.u32 %%r0, 2, %u, !%%p0;",
           CASE_LANES);
  /* The first half of the warps writes and goes on; the second waits and reads. */
  case_add(list, "b32 > b32",
           "{\nmov.u32 %%r0, %%a;\nsetp.ge.u32 %%p0, %%lane, %u;\n@%%p0 bra second;\n"
           "st.shared.u32 [%%s], %%a;\nbar.arrive 1, %u;\nbra done;\nsecond:\nbar.sync 1, %u;\n"
           "ld.shared.u32 %%r0, [%%s+-%u];\ndone:\n}",
           CASE_LANES / 2, CASE_LANES, CASE_LANES, CASE_LANES / 2 * CASE_PLACE_BYTES);
  /* Two groups of warps at barriers of their own. */
  case_add(list, "b32 > b32",
           "{\nst.shared.u32 [%%s], %%a;\nsetp.ge.u32 %%p0, %%lane, 128;\n@%%p0 bra second;\n"
           "bar.sync 1, 128;\nxor.b32 %%t1, %%lane, 64;\nbra done;\nsecond:\nbar.sync 2, 256;\n"
           "xor.b32 %%t1, %%lane, 1;\ndone:\nmov.u32 %%t2, sh;\nmad.lo.u32 %%t1, %%t1, 16, %%t2;\n"
           "ld.shared.u32 %%r0, [%%t1];\n}");
}

void case_warp_forms(case_list *list) {
  shuffles(list);
  votes(list);
  matches(list);
  reductions(list);
  halves(list);
  barriers(list);
}

/* ---- Control flow ---- */

static void branches(case_list *list) {
  case_add(
      list, "b32 b32 > b32",
      "{\nsetp.lt.s32 %%p0, %%a, %%b;\n@%%p0 bra less;\nsub.s32 %%r0, %%a, %%b;\nbra.uni done;\n"
      "less:\nadd.s32 %%r0, %%a, %%b;\ndone:\n}");
  case_add(list, "place > b32",
           "{\nmov.u32 %%r0, 1;\nmov.u32 %%t1, %%a;\nagain:\nsetp.eq.u32 %%p0, %%t1, 0;\n"
           "@%%p0 bra done;\nmad.lo.u32 %%r0, %%r0, 31, %%t1;\nsub.u32 %%t1, %%t1, 1;\nbra again;\n"
           "done:\n}");
  case_add(list, "place b32 > b32",
           "{\nmov.u32 %%r0, 0;\nmov.u32 %%t1, %%a;\nouter:\nsetp.eq.u32 %%p0, %%t1, 0;\n"
           "@%%p0 bra done;\nsub.u32 %%t1, %%t1, 1;\nand.b32 %%t2, %%t1, 3;\ninner:\n"
           "setp.eq.u32 %%p1, %%t2, 0;\n@%%p1 bra outer;\nsub.u32 %%t2, %%t2, 1;\n"
           "add.u32 %%r0, %%r0, %%b;\nxor.b32 %%r0, %%r0, %%t1;\n"
           "setp.gt.u32 %%p2, %%r0, 0xf0000000;\n@%%p2 bra done;\nbra inner;\ndone:\n}");
  case_add(list, "b32 b32 > b32",
           "mov.u32 %%r0, 7;\nsetp.eq.u32 %%p0, %%a, %%b;\n@%%p0 add.u32 %%r0, %%a, 1;\n"
           "@!%%p0 sub.u32 %%r0, %%r0, %%b;");
  case_add(list, "few b32 > b32",
           "{\nmov.u32 %%r0, 0;\ntable_of_labels: .branchtargets first, second, third, fourth;\n"
           "brx.idx %%a, table_of_labels;\nfirst:\nadd.u32 %%r0, %%b, 1;\nbra.uni done;\nsecond:\n"
           "mul.lo.u32 %%r0, %%b, 3;\nthird:\nxor.b32 %%r0, %%r0, %%b;\nbra.uni done;\nfourth:\n"
           "not.b32 %%r0, %%b;\ndone:\n}");
  /* Threads that end early leave their output as it was. */
  case_add(list, "b32 b32 > b32",
           "setp.lt.s32 %%p0, %%a, %%b;\n@%%p0 exit;\nadd.u32 %%r0, %%a, %%b;");
  case_add(list, "b32 b32 > b32",
           "setp.lt.s32 %%p0, %%a, %%b;\n@%%p0 ret;\nadd.u32 %%r0, %%a, %%b;");
}

static void calls(case_list *list) {
  case_add(list, "b32 b32 > b32", "call.uni (%%r0), add_registers, (%%a, %%b);");
  case_add(list, "b32 > b32",
           "{\n.param .align 4 .b8 bytes[4];\n.param .b64 scale;\n.param .b32 value;\n"
           "st.param.b32 [bytes], %%a;\nst.param.b64 [scale], 3;\n"
           "call.uni (value), sum_of_bytes, (bytes, scale);\nld.param.b32 %%r0, [value];\n}");
  case_add(list, "few place > b32",
           "{\n.param .b32 argument;\n.param .b32 value;\nadd.u32 %%t1, %%a, 2;\n"
           "st.param.b32 [argument], %%t1;\ncall (value), factorial, (argument);\n"
           "ld.param.b32 %%r0, [value];\n}");
  case_add(list, "few b32 > b32",
           "{\n.param .b32 argument;\n.param .b32 value;\nsetp.gt.u32 %%p0, %%a, 1;\n"
           "mov.u64 %%l0, twice;\nmov.u64 %%l1, square;\nselp.b64 %%l2, %%l0, %%l1, %%p0;\n"
           "st.param.b32 [argument], %%b;\n"
           "unary: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
           "call (value), %%l2, (argument), unary;\nld.param.b32 %%r0, [value];\n}");
  case_add(list, "few b32 > b32",
           "{\nmov.u32 %%r0, %%b;\nsetp.eq.u32 %%p0, %%a, 1;\n@%%p0 bra skip;\n{\n"
           ".param .b32 argument;\n.param .b32 value;\nst.param.b32 [argument], %%b;\n"
           "call (value), square, (argument);\nld.param.b32 %%r0, [value];\n}\nskip:\n}");
}

static void stack(case_list *list) {
  case_add(list, "b32 > b32",
           "stacksave.u64 %%l0;\nalloca.u64 %%l1, 32, 16;\nst.local.u32 [%%l1+4], %%a;\n"
           "ld.local.u32 %%r0, [%%l1+4];\nstackrestore.u64 %%l0;");
}

void case_control_forms(case_list *list) {
  branches(list);
  calls(list);
  stack(list);
}

/* Only one lane holds the lock at a time; the others wait for it inside the same warp. */
void case_lock_forms(case_list *list) {
  case_add(
      list, "b32 > b32",
      "{\nsetp.eq.u32 %%p0, %%lane, 0;\n@%%p0 st.shared.v2.b32 [sh], {0, 0};\nbar.sync 0;\ntry:\n"
      "atom.shared.cas.b32 %%t1, [sh], 0, 1;\nsetp.ne.u32 %%p1, %%t1, 0;\n@%%p1 bra try;\n"
      "ld.volatile.shared.u32 %%t2, [sh+4];\nadd.u32 %%t2, %%t2, %%a;\n"
      "st.volatile.shared.u32 [sh+4], %%t2;\nmembar.cta;\natom.shared.exch.b32 %%t1, [sh], 0;\n"
      "bar.sync 0;\nld.shared.u32 %%r0, [sh+4];\n}");
}
