/* Random PTX programs. A program is a list of statements; some hold statements themselves. Each
 * draws its random numbers whether or not it is written, so that leaving one out changes no other.
 *
 * Registers: %i0-7 (32-bit integers), %w0-3 (64), %h0-3 (16 bits), %f0-5 (binary32), %d0-2
 * (binary64), %p0-3. At depth n of branches and loops %m<n> holds the lanes that are together,
 * %c<n> counts the turns of a loop, and %g<n> holds the lanes that are still in it.
 *
 * Seeds below PROGRAM_RECORDED make the programs that a GPU has run; the others have, besides,
 * switches, and loops that lanes leave or start anew from within. */
#include "programs.h"
#include "cases.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 3 };

typedef struct maker {
  case_text out;
  uint64_t state;
  const bool *skip;
  unsigned muted; /* statements around this one that are left out */
  unsigned statements, labels, depth;
  bool jumps; /* switches, breaks and continues too */
} maker;

static uint64_t draw(maker *m) { return m->state = case_mix(m->state); }
static unsigned below(maker *m, unsigned limit) { return (unsigned)((draw(m) >> 20) % limit); }

__attribute__((format(printf, 2, 3))) static void emit(maker *m, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (!m->muted)
    case_put(&m->out, "%s", text);
}

/* ---- Templates ----
 * $ and a letter stands for a random choice: I W H F D P a register of a pool (written), i w h f d
 * p the same (read), n an integer constant, s a shift count, r a rounding, z .ftz or nothing, c a
 * comparison of integers, u one of floating point, b and, or or xor, m the mask of the lanes that
 * are together, l a table of lop3. */
static const char *const plain[] = {
    "add.s32 $I, $i, $i;",
    "add.u32 $I, $i, $n;",
    "sub.s32 $I, $i, $i;",
    "mul.lo.s32 $I, $i, $i;",
    "mul.hi.u32 $I, $i, $i;",
    "mul.hi.s32 $I, $i, $i;",
    "mul.wide.s32 $W, $i, $i;",
    "mul.wide.u32 $W, $i, $n;",
    "mad.lo.u32 $I, $i, $i, $i;",
    "mad.wide.u32 $W, $i, $i, $w;",
    "mad.hi.s32 $I, $i, $i, $i;",
    "add.sat.s32 $I, $i, $i;",
    "sub.sat.s32 $I, $i, $i;",
    "mul24.lo.s32 $I, $i, $i;",
    "mad24.lo.u32 $I, $i, $i, $i;",
    "sad.s32 $I, $i, $i, $i;",
    "or.b32 %t0, $i, 1;\ndiv.u32 $I, $i, %t0;",
    "or.b32 %t0, $i, 1;\ndiv.s32 $I, $i, %t0;",
    "or.b32 %t0, $i, 1;\nrem.u32 $I, $i, %t0;",
    "or.b32 %t0, $i, 1;\nrem.s32 $I, $i, %t0;",
    "or.b64 %x0, $w, 1;\ndiv.s64 $W, $w, %x0;",
    "or.b64 %x0, $w, 1;\nrem.u64 $W, $w, %x0;",
    "abs.s32 $I, $i;",
    "neg.s32 $I, $i;",
    "min.s32 $I, $i, $i;",
    "max.u32 $I, $i, $i;",
    "min.u64 $W, $w, $w;",
    "max.s64 $W, $w, $w;",
    "min.s16x2 $I, $i, $i;",
    "max.u16x2 $I, $i, $i;",
    "add.u16x2 $I, $i, $i;",
    "max.relu.s32 $I, $i, $i;",
    "popc.b32 $I, $i;",
    "popc.b64 $I, $w;",
    "clz.b32 $I, $i;",
    "clz.b64 $I, $w;",
    "bfind.s32 $I, $i;",
    "bfind.shiftamt.u64 $I, $w;",
    "brev.b32 $I, $i;",
    "brev.b64 $W, $w;",
    "bfe.u32 $I, $i, $s, $s;",
    "bfe.s32 $I, $i, $s, $s;",
    "bfe.s64 $W, $w, $s, $s;",
    "bfi.b32 $I, $i, $i, $s, $s;",
    "bmsk.wrap.b32 $I, $i, $s;",
    "szext.clamp.s32 $I, $i, $s;",
    "dp4a.s32.u32 $I, $i, $i, $i;",
    "dp2a.hi.u32.s32 $I, $i, $i, $i;",
    "add.cc.u32 $I, $i, $i;\naddc.cc.u32 $I, $i, $i;\naddc.u32 $I, $i, $i;",
    "sub.cc.u32 $I, $i, $i;\nsubc.cc.u32 $I, $i, $i;\nsubc.u32 $I, $i, $i;",
    "mad.lo.cc.u32 $I, $i, $i, $i;\nmadc.hi.u32 $I, $i, $i, $i;",
    "add.cc.u64 $W, $w, $w;\naddc.u64 $W, $w, $w;",
    "shl.b32 $I, $i, $s;",
    "shr.u32 $I, $i, $s;",
    "shr.s32 $I, $i, $s;",
    "shl.b64 $W, $w, $s;",
    "shr.s64 $W, $w, $s;",
    "shl.b16 $H, $h, $s;",
    "shr.s16 $H, $h, $s;",
    "shf.l.wrap.b32 $I, $i, $i, $s;",
    "shf.r.clamp.b32 $I, $i, $i, $s;",
    "lop3.b32 $I, $i, $i, $i, $l;",
    "prmt.b32 $I, $i, $i, $i;",
    "prmt.b32.b4e $I, $i, $i, $i;",
    "cnot.b32 $I, $i;",
    "not.b64 $W, $w;",
    "$b.b32 $I, $i, $i;",
    "$b.b64 $W, $w, $w;",
    "$b.b16 $H, $h, $h;",
    "$b.pred $P, $p, $p;",
    "not.pred $P, $p;",
    "add.s64 $W, $w, $w;",
    "sub.u64 $W, $w, $w;",
    "mul.lo.s64 $W, $w, $w;",
    "mul.hi.u64 $W, $w, $w;",
    "mad.lo.u64 $W, $w, $w, $w;",
    "add.s16 $H, $h, $h;",
    "sub.u16 $H, $h, $h;",
    "mul.lo.u16 $H, $h, $h;",
    "mul.wide.s16 $I, $h, $h;",
    "mad.lo.s16 $H, $h, $h, $h;",
    "max.s16 $H, $h, $h;",
    "setp.$c.s32 $P, $i, $i;",
    "setp.$c.u32 $P, $i, $n;",
    "setp.$c.$b.u64 $P, $w, $w, $p;",
    "setp.$c.s16 $P, $h, $h;",
    "setp.$u.f32 $P, $f, $f;",
    "setp.$u.$b$z.f32 $P, $f, $f, !$p;",
    "setp.$u.f64 $P, $d, $d;",
    "set.$c.u32.s32 $I, $i, $i;",
    "set.$u.f32.f32 $F, $f, $f;",
    "selp.b32 $I, $i, $i, $p;",
    "selp.b64 $W, $w, $w, $p;",
    "selp.f32 $F, $f, $f, $p;",
    "slct.s32.s32 $I, $i, $i, $i;",
    "add.$r$z.f32 $F, $f, $f;",
    "sub.$r$z.f32 $F, $f, $f;",
    "mul.$r$z.f32 $F, $f, $f;",
    "fma.$r$z.f32 $F, $f, $f, $f;",
    "fma.rn.sat.f32 $F, $f, $f, $f;",
    "div.rn$z.f32 $F, $f, $f;",
    "sqrt.$r.f32 $F, $f;",
    "rcp.$r.f32 $F, $f;",
    "min$z.f32 $F, $f, $f;",
    "max.NaN.f32 $F, $f, $f;",
    "testp.subnormal.f32 $P, $f;",
    "add.$r.f64 $D, $d, $d;",
    "mul.$r.f64 $D, $d, $d;",
    "fma.$r.f64 $D, $d, $d, $d;",
    "div.rn.f64 $D, $d, $d;",
    "sqrt.rn.f64 $D, $d;",
    "min.f64 $D, $d, $d;",
    "fma.rn.f16 $H, $h, $h, $h;",
    "add.rn.ftz.f16 $H, $h, $h;",
    "fma.rn.relu.bf16 $H, $h, $h, $h;",
    "fma.rn.f16x2 $I, $i, $i, $i;",
    "mul.rn.f16x2 $I, $i, $i;",
    "fma.rn.bf16x2 $I, $i, $i, $i;",
    "cvt.rni.s32.f32 $I, $f;",
    "cvt.rzi.u32.f32 $I, $f;",
    "cvt.rmi.s64.f32 $W, $f;",
    "cvt.rpi.s32.f64 $I, $d;",
    "cvt.rzi.u64.f64 $W, $d;",
    "cvt.rni.s16.f32 $H, $f;",
    "cvt.$r.f32.s32 $F, $i;",
    "cvt.$r.f32.u64 $F, $w;",
    "cvt.$r.f64.s64 $D, $w;",
    "cvt.rn.f64.u32 $D, $i;",
    "cvt.f64.f32 $D, $f;",
    "cvt.$r.f32.f64 %t0, $d;\nadd.rn.f32 $F, %t0, 0f80000000;", /* no NaN of binary64 leaks */
    "cvt.rn.f16.f32 $H, $f;",
    "cvt.f32.f16 $F, $h;",
    "cvt.rn.bf16x2.f32 $I, $f, $f;",
    "cvt.rzi.f32.f32 $F, $f;",
    "cvt.u32.u16 $I, $h;",
    "cvt.s32.s16 $I, $h;",
    "cvt.u16.u32 $H, $i;",
    "cvt.s64.s32 $W, $i;",
    "cvt.u32.u64 $I, $w;",
    "cvt.s32.s8 $I, $i;",
    "cvt.sat.u8.s32 $I, $i;",
    "cvt.pack.sat.s16.s32 $I, $i, $i;",
    "mov.b32 $I, $n;",
    "mov.b32 $I, {$h, $h};",
    "mov.b32 {$H, %h4}, $i;",
    "mov.b64 $W, {$i, $i};",
    "mov.b64 {$I, %t0}, $w;",
    "mov.b32 $F, $i;",
    "mov.b32 $I, $f;",
    "vadd.s32.u32.s32.sat $I, $i, $i;",
    "vabsdiff4.u32.u32.u32.add $I, $i, $i, $i;",
    "and.b32 %t0, $i, 12;\nadd.u32 %t0, %t0, %own;\nst.local.b32 [%t0], $i;",
    "and.b32 %t0, $i, 12;\nadd.u32 %t0, %t0, %own;\nld.local.b32 $I, [%t0];",
    "and.b32 %t0, $i, 15;\nadd.u32 %t0, %t0, %own;\nst.local.u8 [%t0], $i;",
    "and.b32 %t0, $i, 14;\nadd.u32 %t0, %t0, %own;\nld.local.s16 $I, [%t0];",
    "and.b32 %t0, $i, 8;\nadd.u32 %t0, %t0, %own;\nst.local.v2.b32 [%t0], {$i, $f};",
    "and.b32 %t0, $i, 12;\nadd.u32 %t0, %t0, %counters;\nred.shared.add.u32 [%t0], $i;",
    "and.b32 %t0, $i, 12;\nadd.u32 %t0, %t0, %counters;\nred.shared.xor.b32 [%t0+16], $i;",
    "and.b32 %t0, $i, 12;\nadd.u32 %t0, %t0, %counters;\nred.shared.max.s32 [%t0+32], $i;",
    "and.b32 %t0, $i, 12;\nadd.u32 %t0, %t0, %counters;\natom.shared.or.b32 %t1, [%t0+48], $i;",
    "and.b32 %t0, $i, 8;\nadd.u32 %t0, %t0, %counters;\nred.shared.add.u64 [%t0+64], $w;",
    "and.b32 %t0, $i, 8;\nadd.u32 %t0, %t0, %counters;\nred.shared.min.u64 [%t0+80], $w;",
    "{\n.param .b32 first;\n.param .b32 second;\n.param .b32 value;\nst.param.b32 [first], $i;\n"
    "st.param.b32 [second], $i;\ncall (value), mixed, (first, second);\nld.param.b32 $I, "
    "[value];\n}",
};

/* Where the lanes of $m are together. */
static const char *const together[] = {
    "vote.sync.ballot.b32 $I, $p, $m;",
    "vote.sync.any.pred $P, $p, $m;",
    "vote.sync.all.pred $P, !$p, $m;",
    "and.b32 %t0, $i, 3;\nmatch.any.sync.b32 $I, %t0, $m;",
    "and.b32 %t0, $i, 1;\nmatch.all.sync.b32 $I|$P, %t0, $m;",
    "redux.sync.add.s32 $I, $i, $m;",
    "redux.sync.min.u32 $I, $i, $m;",
    "redux.sync.xor.b32 $I, $i, $m;",
    "bar.warp.sync $m;",
};

/* Where all threads of the block are together. */
static const char *const everywhere[] = {
    "shfl.sync.bfly.b32 $I, $i, 7, 0x1f, -1;",
    "shfl.sync.up.b32 $I|$P, $i, 3, 0, -1;",
    "shfl.sync.down.b32 $F|$P, $f, $s, 0x1f, -1;",
    "shfl.sync.idx.b32 $I|$P, $i, $i, 0x181f, -1;",
    "st.shared.b32 [%place], $i;\nbar.sync 0;\nxor.b32 %t0, %place, 0xfc;\n"
    "ld.shared.b32 $I, [%t0];\nbar.sync 0;",
    "st.shared.b32 [%place], $i;\nbar.sync 0;\nand.b32 %t0, $i, 0xfc;\nadd.u32 %t0, %t0, "
    "%exchange;\n"
    "ld.shared.u16 $I, [%t0+2];\nbar.sync 0;",
    "bar.red.popc.u32 $I, 0, $p;",
    "bar.red.or.pred $P, 0, $p;",
    "activemask.b32 $I;",
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* One of the texts. */
static const char *pick(maker *m, const char *const *list, size_t count) {
  return list[below(m, (unsigned)count)];
}

/* Writes an integer constant: small ones, edges, and anything. */
static void put_constant(maker *m, char *text, size_t size) {
  static const unsigned edges[] = {0,          1,          2,      31,     32,         255,
                                   0x7fffffff, 0x80000000, 0xffff, 0x8000, 0xffffffff, 0x55555555};
  uint64_t bits = draw(m);
  unsigned value =
      bits & 1 ? edges[bits / 2 % COUNT(edges)] : (unsigned)(bits >> 8) >> (bits >> 40) % 32;
  snprintf(text, size, "0x%x", value);
}

/* What stands for $letter. */
static void choose(maker *m, char letter, char *text, size_t size) {
  static const char *const roundings[] = {"rn", "rz", "rm", "rp"}, *const flushes[] = {"", ".ftz"},
                           *const comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"},
                           *const float_comparisons[] = {"eq",  "ne",  "lt",  "ge",  "equ", "neu",
                                                         "ltu", "leu", "gtu", "geu", "num", "nan"},
                           *const logic[] = {"and", "or", "xor"};
  static const char pools[] = "iwhfdp", sizes[] = {8, 4, 4, 6, 3, 4};
  char lower = (char)(letter | 0x20);
  const char *pool = strchr(pools, lower);
  if (pool)
    snprintf(text, size, "%%%c%u", lower, below(m, (unsigned)sizes[pool - pools]));
  else if (letter == 'n')
    put_constant(m, text, size);
  else if (letter == 's' && below(m, 3))
    snprintf(text, size, "%u", below(m, 70));
  else if (letter == 's')
    snprintf(text, size, "%%i%u", below(m, 8));
  else if (letter == 'm')
    snprintf(text, size, "%%m%u", m->depth);
  else if (letter == 'l')
    snprintf(text, size, "0x%02x", below(m, 256));
  else if (letter == 'r')
    snprintf(text, size, "%s", pick(m, roundings, COUNT(roundings)));
  else if (letter == 'z')
    snprintf(text, size, "%s", pick(m, flushes, COUNT(flushes)));
  else if (letter == 'c')
    snprintf(text, size, "%s", pick(m, comparisons, COUNT(comparisons)));
  else if (letter == 'u')
    snprintf(text, size, "%s", pick(m, float_comparisons, COUNT(float_comparisons)));
  else
    snprintf(text, size, "%s", pick(m, logic, COUNT(logic)));
}

/* Writes a template with its choices made. */
static void fill(maker *m, const char *form, char *text, size_t size) {
  size_t used = 0;
  for (; *form && used + 20 < size; form++)
    if (*form == '$') {
      choose(m, *++form, text + used, size - used);
      used += strlen(text + used);
    } else {
      text[used++] = *form;
    }
  text[used] = 0;
}

/* A statement without others inside. */
static void put_leaf(maker *m) {
  char text[512];
  unsigned kind = below(m, 10);
  const char *form;
  if (kind == 0 && m->depth == 0)
    form = pick(m, everywhere, COUNT(everywhere));
  else if (kind <= 1)
    form = pick(m, together, COUNT(together));
  else
    form = pick(m, plain, COUNT(plain));
  fill(m, form, text, sizeof text);
  bool guarded = kind > 2 && below(m, 6) == 0;
  unsigned guard = below(m, 4), negated = below(m, 2);
  if (guarded && !strchr(text, '\n'))
    emit(m, "@%s%%p%u ", negated ? "!" : "", guard);
  emit(m, "%s\n", text);
}

static void put_statements(maker *m, unsigned count);

/* Both sides know which lanes are with them. */
static void put_branch(maker *m) {
  unsigned label = m->labels++, predicate = below(m, 4), depth = m->depth;
  bool has_else = below(m, 2);
  emit(m, "vote.sync.ballot.b32 %%m%u, %%p%u, %%m%u;\n", depth + 1, predicate, depth);
  if (has_else)
    emit(m, "not.b32 %%e%u, %%m%u;\nand.b32 %%e%u, %%e%u, %%m%u;\n", depth + 1, depth + 1,
         depth + 1, depth + 1, depth);
  emit(m, "@!%%p%u bra else_%u;\n", predicate, label);
  m->depth++;
  put_statements(m, 1 + below(m, 5));
  if (has_else)
    emit(m, "bra join_%u;\n", label);
  emit(m, "else_%u:\n", label);
  if (has_else) {
    emit(m, "mov.b32 %%m%u, %%e%u;\n", depth + 1, depth + 1);
    put_statements(m, 1 + below(m, 5));
    emit(m, "join_%u:\n", label);
  }
  m->depth--;
  emit(m, "bar.warp.sync %%m%u;\n", depth);
}

/* As many turns as two bits of a register say; lanes leave at different times. */
static void put_loop(maker *m) {
  unsigned label = m->labels++, depth = m->depth + 1;
  emit(m, "and.b32 %%c%u, %%i%u, 3;\nmov.b32 %%m%u, %%m%u;\nagain_%u:\n", depth, below(m, 8), depth,
       depth - 1, label);
  emit(m, "setp.ne.u32 %%q%u, %%c%u, 0;\nvote.sync.ballot.b32 %%m%u, %%q%u, %%m%u;\n", depth, depth,
       depth, depth, depth);
  emit(m, "@!%%q%u bra done_%u;\nsub.u32 %%c%u, %%c%u, 1;\n", depth, label, depth, depth);
  m->depth++;
  put_statements(m, 1 + below(m, 4));
  m->depth--;
  emit(m, "bra again_%u;\ndone_%u:\nbar.warp.sync %%m%u;\n", label, label, depth - 1);
}

/* In the middle of a loop: some lanes leave it, or start their next turn. Those that stay behind
 * know who is left. */
static void put_jump(maker *m, unsigned label, unsigned depth) {
  bool leaves = below(m, 2);
  unsigned predicate = below(m, 4);
  emit(m,
       "vote.sync.ballot.b32 %%t3, %%p%u, %%m%u;\nnot.b32 %%t3, %%t3;\nand.b32 %%m%u, %%m%u, "
       "%%t3;\n",
       predicate, depth, depth, depth);
  if (leaves)
    emit(m, "and.b32 %%g%u, %%g%u, %%t3;\n@%%p%u bra done_%u;\n", depth, depth, predicate, label);
  else
    emit(m, "@%%p%u bra again_%u;\n", predicate, label);
}

/* A loop with jumps in it. Lanes that start their next turn early wait at its head for the others;
 * those that have left are not waited for. */
static void put_loop_with_jumps(maker *m) {
  unsigned label = m->labels++, depth = m->depth + 1;
  emit(m, "and.b32 %%c%u, %%i%u, 7;\nmov.b32 %%g%u, %%m%u;\nagain_%u:\n", depth, below(m, 8), depth,
       depth - 1, label);
  emit(m, "setp.ne.u32 %%q%u, %%c%u, 0;\nvote.sync.ballot.b32 %%g%u, %%q%u, %%g%u;\n", depth, depth,
       depth, depth, depth);
  emit(m, "@!%%q%u bra done_%u;\nsub.u32 %%c%u, %%c%u, 1;\nmov.b32 %%m%u, %%g%u;\n", depth, label,
       depth, depth, depth, depth);
  m->depth++;
  put_statements(m, 1 + below(m, 3));
  put_jump(m, label, depth);
  put_statements(m, 1 + below(m, 3));
  m->depth--;
  emit(m, "bra again_%u;\ndone_%u:\nbar.warp.sync %%m%u;\n", label, label, depth - 1);
}

/* brx.idx to one of four places, of which one runs into the next. */
static void put_switch(maker *m) {
  unsigned label = m->labels++, depth = m->depth + 1, through = below(m, 3);
  emit(m, "and.b32 %%k%u, %%i%u, 3;\nmatch.any.sync.b32 %%m%u, %%k%u, %%m%u;\n", depth, below(m, 8),
       depth, depth, depth - 1);
  emit(m, "places_%u: .branchtargets place_%u_0, place_%u_1, place_%u_2, place_%u_3;\n", label,
       label, label, label, label);
  emit(m, "brx.idx %%k%u, places_%u;\n", depth, label);
  m->depth++;
  for (unsigned i = 0; i < 4; i++) {
    emit(m, "place_%u_%u:\n", label, i);
    put_statements(m, 1 + below(m, 2));
    if (i != through)
      emit(m, "bra join_%u;\n", label);
  }
  m->depth--;
  emit(m, "join_%u:\nbar.warp.sync %%m%u;\n", label, depth - 1);
}

static void put_statement(maker *m) {
  bool left_out = m->skip && m->statements < PROGRAM_MOST_STATEMENTS && m->skip[m->statements];
  unsigned kind = below(m, 12);
  m->statements++;
  m->muted += left_out;
  if (kind == 3 && m->jumps && m->depth < MOST_DEPTH)
    put_switch(m);
  else if (kind <= 1 && m->jumps && m->depth < MOST_DEPTH)
    put_loop_with_jumps(m);
  else if (kind == 0 && m->depth < MOST_DEPTH)
    put_loop(m);
  else if (kind <= 2 && m->depth < MOST_DEPTH)
    put_branch(m);
  else
    put_leaf(m);
  m->muted -= left_out;
}

static void put_statements(maker *m, unsigned count) {
  for (unsigned i = 0; i < count; i++)
    put_statement(m);
}

/* ---- Whole programs ---- */

static const char head[] =
    ".version 8.5\n.target sm_90\n.address_size 64\n"
    ".func (.param .b32 result) mixed(.param .b32 first, .param .b32 second)\n{\n.reg .pred %q;\n"
    ".reg .b32 %t, %x, %y;\nld.param.b32 %x, [first];\nld.param.b32 %y, [second];\n"
    "shf.l.wrap.b32 %t, %x, %x, 13;\nsetp.lt.s32 %q, %t, %y;\n@%q bra less;\n"
    "sub.u32 %t, %t, %y;\nst.param.b32 [result], %t;\nret;\nless:\nmad.lo.u32 %t, %t, 5, %y;\n"
    "st.param.b32 [result], %t;\nret;\n}\n"
    ".visible .entry program(.param .u64 in, .param .u64 out)\n{\n"
    ".reg .b32 %i<8>, %f<6>, %t<4>, %m<8>, %e<8>, %c<8>;\n.reg .b64 %w<4>, %d<3>, %x<4>;\n"
    ".reg .b16 %h<5>;\n.reg .pred %p<4>, %q<8>;\n.reg .b32 %own, %counters, %exchange, %place;\n"
    ".reg .b64 %in, %out;\n.local .align 16 .b8 own[16];\n.shared .align 16 .b8 counters[96];\n"
    ".shared .align 256 .b8 exchange[256];\n"
    "mov.u32 %t0, %tid.x;\nmov.u32 %t1, %ctaid.x;\nmov.u32 %t2, %ntid.x;\n"
    "mad.lo.u32 %t3, %t1, %t2, %t0;\nld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n"
    "mad.wide.u32 %in, %t3, 64, %in;\nmad.wide.u32 %out, %t3, 128, %out;\nmov.u32 %own, own;\n"
    "mov.u32 %counters, counters;\nmov.u32 %exchange, exchange;\nmad.lo.u32 %place, %t0, 4, "
    "%exchange;\n"
    "st.shared.b32 [%place], 0;\nst.local.v4.b32 [%own], {0, 0, 0, 0};\n"
    "setp.lt.u32 %p0, %t0, 24;\nmad.lo.u32 %t2, %t0, 4, %counters;\n@%p0 st.shared.b32 [%t2], 0;\n"
    "ld.global.v4.b32 {%i0, %i1, %i2, %i3}, [%in];\nld.global.v4.b32 {%i4, %i5, %i6, %i7}, "
    "[%in+16];\n"
    "ld.global.v4.b32 {%f0, %f1, %f2, %f3}, [%in+32];\nld.global.v2.b32 {%f4, %f5}, [%in+48];\n"
    "ld.global.v4.b16 {%h0, %h1, %h2, %h3}, [%in+56];\nmov.b16 %h4, 0;\n"
    "mov.b64 %w0, {%i0, %i1};\nmov.b64 %w1, {%i2, %i3};\ncvt.s64.s32 %w2, %i4;\ncvt.u64.u32 %w3, "
    "%i5;\n"
    "cvt.f64.f32 %d0, %f0;\ncvt.f64.f32 %d1, %f1;\ncvt.rn.f64.s64 %d2, %w0;\n"
    "setp.gt.s32 %p0, %i0, %i1;\nsetp.lt.u32 %p1, %i2, %i3;\nand.b32 %t1, %t0, 4;\n"
    "setp.eq.u32 %p2, %t1, 0;\nsetp.eq.f32 %p3, %f2, %f3;\nmov.b32 %m0, 0xffffffff;\nbar.sync 0;\n";

/* The counters of a block are stored by its first threads, one word each. */
static const char tail[] =
    "bar.sync 0;\nmov.u32 %t0, %tid.x;\nmov.u32 %t1, 0;\nsetp.lt.u32 %q0, %t0, 24;\n"
    "mad.lo.u32 %t2, %t0, 4, %counters;\n@%q0 ld.shared.b32 %t1, [%t2];\n"
    "st.global.b64 [%out], %d0;\nst.global.b64 [%out+8], %d1;\nst.global.b64 [%out+16], %d2;\n"
    "st.global.b64 [%out+24], %w0;\nst.global.b64 [%out+32], %w1;\nst.global.b64 [%out+40], %w2;\n"
    "st.global.b64 [%out+48], %w3;\nst.global.b32 [%out+56], %i0;\nst.global.b32 [%out+60], %i1;\n"
    "st.global.b32 [%out+64], %i2;\nst.global.b32 [%out+68], %i3;\nst.global.b32 [%out+72], %i4;\n"
    "st.global.b32 [%out+76], %i5;\nst.global.b32 [%out+80], %i6;\nst.global.b32 [%out+84], %i7;\n"
    "st.global.b32 [%out+88], %f0;\nst.global.b32 [%out+92], %f1;\nst.global.b32 [%out+96], %f2;\n"
    "st.global.b32 [%out+100], %f3;\nst.global.b32 [%out+104], %f4;\nst.global.b32 [%out+108], "
    "%f5;\n"
    "st.global.b32 [%out+112], %t1;\nselp.u32 %t0, 1, 0, %p0;\nselp.u32 %t1, 2, 0, %p1;\n"
    "selp.u32 %t2, 4, 0, %p2;\nselp.u32 %t3, 8, 0, %p3;\nor.b32 %t0, %t0, %t1;\n"
    "or.b32 %t2, %t2, %t3;\nor.b32 %t0, %t0, %t2;\nst.global.b32 [%out+116], %t0;\n"
    "st.global.v4.b16 [%out+120], {%h0, %h1, %h2, %h3};\nret;\n}\n";

char *program_make(uint64_t seed, const bool *skip, unsigned *statements) {
  maker m = {.out = {malloc(8192), 0, 8192}, .state = case_mix(seed + 1), .skip = skip};
  m.jumps = seed >= PROGRAM_RECORDED;
  case_put(&m.out, "%s%s", head, m.jumps ? ".reg .b32 %g<8>, %k<8>;\n" : "");
  put_statements(&m, 6 + below(&m, 20));
  case_put(&m.out, "%s", tail);
  *statements = m.statements;
  return m.out.data;
}

void program_fill_input(uint64_t seed, uint8_t *input) {
  static const uint32_t edges[] = {0,          1,          0xffffffff, 0x7fffffff, 0x80000000,
                                   0x3f800000, 0xbf800000, 0x7f800000, 0x7fc00000, 0x00000001,
                                   0x00800000, 0x7f7fffff, 31,         0xffff,     0x3c003c00};
  uint64_t state = case_mix(seed ^ 0x5eed);
  for (unsigned i = 0; i < PROGRAM_INPUT_BYTES / 4; i++) {
    state = case_mix(state);
    bool is_float = i % PROGRAM_INPUT_WORDS >= 8 && i % PROGRAM_INPUT_WORDS < 14;
    uint32_t value = (uint32_t)(state >> 32);
    if (state % 4 == 0)
      value = edges[state / 4 % COUNT(edges)];
    else if (state % 4 == 1 && is_float)
      value = (value & 0x807fffff) | (120 + (value >> 8) % 15) << 23;
    else if (state % 4 == 1)
      value >>= state / 4 % 32;
    memcpy(input + i * 4, &value, 4);
  }
}

void program_same_nan(uint8_t *output) {
  for (unsigned i = 0; i < PROGRAM_THREADS * PROGRAM_DOUBLES; i++) {
    uint8_t *place =
        output + i / PROGRAM_DOUBLES * PROGRAM_OUTPUT_THREAD_BYTES + i % PROGRAM_DOUBLES * 8;
    double value;
    memcpy(&value, place, 8);
    if (isnan(value))
      memcpy(place, &(uint64_t){0x7fffffffffffffff}, 8);
  }
}
