/* Random PTX programs that do little but access shared memory, in every way that the rewriter
 * handles: static, dynamic and 64-bit addresses, names, generic addresses, functions, all widths,
 * guards, atomics, asynchronous copies, matrices. Each thread has bytes of its own in four arrays,
 * and all meet only in counters, so that what is stored depends on nothing but the program. Entry
 * "program" takes the addresses of input and output. */
#ifndef ACCESS_PROGRAMS_H
#define ACCESS_PROGRAMS_H

#include "../unit/random.h"
#include "base/base.h"

enum { ACCESS_ARRAYS = 4 };

typedef struct access_maker {
  bf_text *out;
  test_random random;
  unsigned labels;
  unsigned widest_bytes;
  bool knows_arrays; /* every access is to an array that can be told: nothing generic, no calls */
} access_maker;

/* Bytes of a thread: pieces of `piece` bytes, `step` apart; the next thread's are `pitch` on. */
static const struct {
  unsigned pitch, piece, pieces, step;
} access_array[ACCESS_ARRAYS] = {
    {64, 64, 1, 0}, {48, 48, 1, 0}, {128, 128, 1, 0}, {16, 16, 4, 1024}};

static const char access_head[] =
    ".version 8.5\n.target sm_90\n.address_size 64\n"
    ".extern .shared .align 16 .b8 open[];\n.shared .align 512 .b8 counters[604];\n"
    ".func (.param .b32 result) load_shared(.param .b32 at)\n{\n.reg .b32 %r<3>;\n"
    "ld.param.b32 %r0, [at];\nld.shared.b32 %r1, [%r0];\nadd.u32 %r1, %r1, 1;\n"
    "st.shared.b32 [%r0], %r1;\nst.param.b32 [result], %r1;\nret;\n}\n"
    ".func (.param .b32 result) load_generic(.param .b64 at)\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd;\n"
    "ld.param.b64 %rd, [at];\nld.b32 %r1, [%rd+4];\natom.add.u32 %r2, [%rd+4], 3;\n"
    "st.param.b32 [result], %r1;\nret;\n}\n"
    ".visible .entry program(.param .u64 in, .param .u64 out)\n{\n"
    ".shared .align 16 .b8 first[4100];\n.shared .align 16 .b8 second[3072];\n"
    ".shared .align 16 .b8 fourth[4096];\n"
    ".reg .b32 %a<5>, %b<4>, %e<4>, %m<4>, %t<4>, %v<4>, %sum, %lane, %turn;\n.reg .b64 %w<4>, "
    "%g<5>, "
    "%x<4>, %d<3>, "
    "%in, "
    "%out;\n"
    ".reg .pred %p<4>, %again;\n"
    "mov.u32 %lane, %tid.x;\nmov.u32 %t1, %ctaid.x;\nmad.lo.u32 %t2, %t1, 64, %lane;\n"
    "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmad.wide.u32 %in, %t2, 64, %in;\n"
    "mad.wide.u32 %out, %t2, 128, %out;\nmov.u64 %g4, %out;\n"
    "ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%in];\n"
    "mov.u32 %a0, first;\nmad.lo.u32 %b0, %lane, 64, %a0;\nmov.u32 %a1, second;\n"
    "mad.lo.u32 %b1, %lane, 48, %a1;\nmov.u32 %a2, open;\nshl.b32 %t1, %lane, 7;\n"
    "add.u32 %b2, %a2, %t1;\nmov.u32 %a3, fourth;\nmad.lo.u32 %b3, %lane, 16, %a3;\n"
    "mov.b64 %d0, {%v0, %v1};\nmov.b64 %d1, {%v2, %v3};\nmov.b64 %d2, {%v1, %v2};\nmov.b32 %sum, "
    "0;\nand.b32 %t1, %v0, 4;\nsetp.eq.u32 %p0, %t1, 0;\nand.b32 %t1, %v1, 4;\n"
    "setp.eq.u32 %p1, %t1, 0;\nsetp.gt.u32 %p2, %lane, 20;\nsetp.lt.u32 %p3, %v2, %v3;\n";

static inline unsigned access_below(access_maker *m, unsigned limit) {
  return (unsigned)random_below(&m->random, limit);
}

/* An aligned offset of width bytes in what a thread has of an array. */
static inline unsigned access_offset(access_maker *m, unsigned array, unsigned width) {
  unsigned piece = access_below(m, access_array[array].pieces);
  unsigned inside = access_below(m, access_array[array].piece / width) * width;
  return piece * access_array[array].step + inside;
}

/* Zeros everywhere, and addresses of all kinds. */
static inline void access_begin(access_maker *m) {
  bf_text_puts(m->out, access_head);
  for (unsigned a = 0; a < ACCESS_ARRAYS; a++) {
    bf_text_addf(m->out, "cvt.u64.u32 %%w%u, %%b%u;\n", a, a);
    if (!m->knows_arrays)
      bf_text_addf(m->out, "cvta.shared.u64 %%g%u, %%w%u;\n", a, a);
    for (unsigned p = 0; p < access_array[a].pieces; p++)
      for (unsigned i = 0; i < access_array[a].piece; i += 4)
        bf_text_addf(m->out, "st.shared.b32 [%%b%u+%u], 0;\n", a, p * access_array[a].step + i);
  }
  bf_text_puts(m->out, "setp.lt.u32 %p0, %lane, 25;\nmov.u32 %a4, counters;\n"
                       "mad.lo.u32 %a4, %lane, 24, %a4;\n@%p0 st.shared.b32 [%a4], 0;\n"
                       "bar.sync 0;\n");
}

static inline void access_guard(access_maker *m) {
  if (access_below(m, 4) == 0)
    bf_text_addf(m->out, "@%s%%p%u ", access_below(m, 2) ? "!" : "", access_below(m, 4));
}

/* A base with the space to name: 32-bit, 64-bit or generic. Sometimes it is moved on first. */
static inline void access_address(access_maker *m, unsigned width, char *address, size_t size,
                                  const char **space) {
  static const char kinds[] = "bwg";
  unsigned array = access_below(m, ACCESS_ARRAYS), kind = access_below(m, 5);
  kind = kind > (m->knows_arrays ? 1 : 2) ? 0 : kind;
  int offset = (int)access_offset(m, array, width);
  *space = kind == 2 ? "" : ".shared";
  if (access_below(m, 6) == 0) { /* through a register that holds something else each time */
    int moved = (int)access_below(m, 200) - 100;
    bf_text_addf(m->out, "add.s%u %%%c%u, %%%c%u, %d;\n", kind ? 64 : 32, kind ? 'x' : 'm', array,
                 kinds[kind], array, moved);
    snprintf(address, size, "%%%c%u+%d", kind ? 'x' : 'm', array, offset - moved);
  } else {
    snprintf(address, size, "%%%c%u+%d", kinds[kind], array, offset);
  }
}

/* ld or st of 1 to 16 bytes. */
static inline void access_load_or_store(access_maker *m) {
  static const struct {
    unsigned width;
    const char *type, *registers;
  } forms[] = {
      {1, "u8", "%v0"},
      {2, "u16", "%v1"},
      {4, "b32", "%v2"},
      {4, "f32", "%v3"},
      {8, "b64", "%d0"},
      {8, "v2.b32", "{%v0, %v1}"},
      {2, "v2.u8", "{%v2, %v0}"},
      {16, "v4.b32", "{%v0, %v1, %v2, %v3}"},
      {16, "v2.b64", "{%d1, %d2}"},
  };
  unsigned form = access_below(m, sizeof forms / sizeof *forms);
  if (forms[form].width > m->widest_bytes)
    form = 2;
  char address[40];
  const char *space, *order = access_below(m, 8) ? "" : ".volatile", *type = forms[form].type;
  access_address(m, forms[form].width, address, sizeof address, &space);
  access_guard(m);
  if (access_below(m, 2))
    bf_text_addf(m->out, "ld%s%s.%s %s, [%s];\n", order, space, type, forms[form].registers,
                 address);
  else
    bf_text_addf(m->out, "st%s%s.%s [%s], %s;\n", order, space, type, address,
                 forms[form].registers);
}

/* Atomics on bytes of the thread, and on counters of all. */
static inline void access_atomic(access_maker *m) {
  static const char *const forms[] = {"atom%s.add.u32 %%v0, [%s], %%v1;\n",
                                      "atom%s.exch.b32 %%v1, [%s], %%v2;\n",
                                      "atom%s.cas.b32 %%v2, [%s], %%v0, %%v3;\n",
                                      "red%s.xor.b32 [%s], %%v3;\n",
                                      "red%s.max.s32 [%s], %%v1;\n",
                                      "atom%s.add.noftz.f16x2 %%v3, [%s], %%v1;\n",
                                      "atom%s.add.u64 %%d0, [%s], %%d1;\n",
                                      "atom%s.cas.b64 %%d2, [%s], %%d0, %%d1;\n"};
  unsigned form = access_below(m, m->widest_bytes < 8 ? 6 : 8);
  char address[40];
  const char *space;
  access_address(m, form < 6 ? 4 : 8, address, sizeof address, &space);
  access_guard(m);
  bf_text_addf(m->out, forms[form], space, address);
  bf_text_addf(m->out, "red.shared.add.u32 [counters+%u], %%v%u;\n", access_below(m, 25) * 24,
               access_below(m, 4));
}

/* cp.async of input to the thread's bytes. */
static inline void access_copy(access_maker *m) {
  unsigned width = 4U << access_below(m, 3), array = access_below(m, ACCESS_ARRAYS);
  width = width > m->widest_bytes ? 4 : width;
  access_guard(m);
  bf_text_addf(m->out, "cp.async.%s.shared.global [%%b%u+%u], [%%in+%u], %u;\n",
               width == 16 ? "cg" : "ca", array, access_offset(m, array, width), 16 * (width / 8),
               width);
  bf_text_puts(m->out, "cp.async.wait_all;\n");
}

/* Matrices whose rows are bytes of the lanes; all lanes must be together. */
static inline void access_matrix(access_maker *m) {
  unsigned array = access_below(m, ACCESS_ARRAYS);
  if (m->widest_bytes < 16)
    return;
  unsigned offset = access_offset(m, array, 16);
  bf_text_puts(m->out, "bar.sync 0;\n");
  if (access_below(m, 2))
    bf_text_addf(m->out,
                 "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%%v0, %%v1, %%v2, %%v3}, "
                 "[%%b%u+%u];\n",
                 array, offset);
  else
    bf_text_addf(m->out, "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%%b%u+%u], {%%v0, %%v1};\n",
                 array, offset);
  bf_text_puts(m->out, "bar.sync 0;\n");
}

static inline void access_call(access_maker *m) {
  unsigned array = access_below(m, ACCESS_ARRAYS);
  if (access_below(m, 2))
    bf_text_addf(m->out,
                 "{\n.param .b32 at;\n.param .b32 value;\nst.param.b32 [at], %%b%u;\n"
                 "call (value), load_shared, (at);\nld.param.b32 %%v%u, [value];\n}\n",
                 array, access_below(m, 4));
  else
    bf_text_addf(m->out,
                 "{\n.param .b64 at;\n.param .b32 value;\nst.param.b64 [at], %%g%u;\n"
                 "call (value), load_generic, (at);\nld.param.b32 %%v%u, [value];\n}\n",
                 access_below(m, ACCESS_ARRAYS + 1), access_below(m, 4));
}

/* What is not a matrix, perhaps behind a branch or several times. */
static inline void access_statement(access_maker *m) {
  unsigned kind = access_below(m, 16), label = m->labels++;
  bool branches = access_below(m, 8) == 0, loops = access_below(m, 8) == 0;
  if (loops)
    bf_text_addf(m->out, "mov.u32 %%turn, %u;\nadd.u32 %%turn, %%turn, 1;\nturn_%u:\n",
                 access_below(m, 3), label);
  if (branches)
    bf_text_addf(m->out, "@%%p%u bra over_%u;\n", access_below(m, 4), label);
  if (kind < 10)
    access_load_or_store(m);
  else if (kind < 13)
    access_atomic(m);
  else if (kind == 13)
    access_copy(m);
  else if (kind == 14 && !m->knows_arrays)
    access_call(m);
  else
    bf_text_addf(m->out, "xor.b32 %%sum, %%sum, %%v%u;\nadd.u32 %%v%u, %%sum, %u;\n",
                 access_below(m, 4), access_below(m, 4), access_below(m, 1000));
  if (branches)
    bf_text_addf(m->out, "over_%u:\n", label);
  if (loops)
    bf_text_addf(m->out,
                 "sub.u32 %%turn, %%turn, 1;\nsetp.gt.u32 %%again, %%turn, 0;\n"
                 "@%%again bra turn_%u;\n",
                 label);
}

/* Every thread hashes up what another one has, and the counters. */
static inline void access_end(access_maker *m) {
  bf_text_puts(m->out, "bar.sync 0;\nxor.b32 %lane, %lane, 37;\n");
  static const char *const names[] = {"first", "second", "open", "fourth"};
  for (unsigned a = 0; a < ACCESS_ARRAYS; a++) {
    bf_text_addf(m->out, "mov.u32 %%a%u, %s;\nmad.lo.u32 %%e%u, %%lane, %u, %%a%u;\n", a, names[a],
                 a, access_array[a].pitch, a);
    for (unsigned p = 0; p < access_array[a].pieces; p++)
      for (unsigned i = 0; i < access_array[a].piece; i += 4)
        bf_text_addf(m->out,
                     "ld.shared.b32 %%t2, [%%e%u+%u];\nmad.lo.u32 %%sum, %%sum, 31, %%t2;\n", a,
                     p * access_array[a].step + i);
  }
  for (unsigned i = 0; i < 25; i++)
    bf_text_addf(m->out, "ld.shared.b32 %%t2, [counters+%u];\nmad.lo.u32 %%sum, %%sum, 31, %%t2;\n",
                 24 * i);
  bf_text_puts(m->out, "st.global.v4.b32 [%out+16], {%v0, %v1, %v2, %v3};\n"
                       "st.global.b32 [%out+32], %sum;\nret;\n}\n");
}

/* Appends the program of a seed, with accesses of up to widest_bytes. */
static inline void access_program(uint64_t seed, unsigned widest_bytes, bool knows_arrays,
                                  bf_text *out) {
  access_maker m = {.out = out,
                    .random = {seed * 2 + 1},
                    .widest_bytes = widest_bytes,
                    .knows_arrays = knows_arrays};
  access_begin(&m);
  unsigned statements = 5 + access_below(&m, 60);
  for (unsigned i = 0; i < statements; i++)
    if (access_below(&m, 12) == 0)
      access_matrix(&m);
    else
      access_statement(&m);
  access_end(&m);
}

#endif
