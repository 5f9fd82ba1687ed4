/* tcgen05: products of every kind against sums computed here, with A in shared and in tensor
 * memory, both orders, swizzled or not, by one block and by pairs; shapes of ld and st; what is a
 * fault. There is no hardware that this was compared with. */
#include "emu/half.h"
#include "emu_lanes.h"

#include <math.h>
#include <stdio.h>

/* ---- Numbers ---- */

typedef struct format {
  const char *name;
  unsigned bits, exponent, mantissa; /* exponent 0: an integer */
  int bias;
  unsigned number; /* in the instruction descriptor */
} format;

static const format f16 = {"f16", 16, 5, 10, 15, 0}, bf16 = {"bf16", 16, 8, 7, 127, 1},
                    tf32 = {"tf32", 32, 8, 23, 127, 2}, e4m3 = {"e4m3", 8, 4, 3, 7, 0},
                    e5m2 = {"e5m2", 8, 5, 2, 15, 1}, e2m3 = {"e2m3", 6, 2, 3, 1, 3},
                    e3m2 = {"e3m2", 6, 3, 2, 3, 4}, e2m1 = {"e2m1", 4, 2, 1, 1, 5},
                    packed = {"e2m1, packed", 4, 2, 1, 1, 1}, u8 = {"u8", 8, 0, 0, 0, 0},
                    s8 = {"s8", 8, 0, 1, 0, 1};

/* The number that bits mean. */
static double decode(const format *f, uint32_t bits) {
  if (!f->exponent)
    return f->mantissa ? (double)(int8_t)bits : (double)bits;
  int exponent = (int)(bits >> f->mantissa & ((1u << f->exponent) - 1));
  double fraction = (double)(bits & ((1u << f->mantissa) - 1)) / (double)(1u << f->mantissa);
  double value = exponent ? ldexp(1 + fraction, exponent - f->bias) : ldexp(fraction, 1 - f->bias);
  return bits >> (f->bits - 1) ? -value : value;
}

/* Bits at random whose number is finite and not far from 1, so that sums are exact. */
static uint32_t random_bits(const format *f, uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  uint32_t bits = *state >> 8;
  if (f->bits >= 16) {
    uint32_t near = (uint32_t)f->bias - 2 + (bits >> 4 & 3);
    return (bits & 1) << (f->bits - 1) | near << f->mantissa | (bits >> 8 & 7) << (f->mantissa - 3);
  }
  bits &= (1u << f->bits) - 1;
  if (f == &e4m3 || f == &e5m2) /* without NaN and infinity */
    bits &= ~(1u << f->mantissa);
  return bits;
}

/* ---- Matrices in shared memory ---- */

enum { MOST_LINES = 256, MOST_K = 64, ROOM = 32768, START_OF_B = 16384 };

typedef struct matrix {
  const format *f;
  unsigned lines; /* M or N, in a block */
  bool transposed, swizzled;
  uint32_t bits[MOST_LINES][MOST_K];
} matrix;

/* Elements of 16 bytes: 16 of those with less than 8 bits, 32 of packed ones. */
static unsigned per_piece(const format *f) {
  return f == &packed ? 32 : f->bits < 8 ? 16 : 128 / f->bits;
}

static unsigned depth_of(const format *f) { return 2 * per_piece(f); }

/* Where the 16 bytes with element i of line l begin: rows of 128 bytes where they are swizzled, of
 * which 8 follow each other; else 8 rows of 16 bytes. */
static unsigned piece_place(const matrix *m, unsigned line, unsigned i) {
  unsigned per = per_piece(m->f), row = m->transposed ? i : line;
  unsigned piece = (m->transposed ? line : i) / per;
  unsigned pieces = m->transposed ? m->lines / per : 2;
  if (!m->swizzled)
    return m->transposed ? row / 8 * pieces * 128 + piece * 128 + row % 8 * 16
                         : row / 8 * 256 + piece * 128 + row % 8 * 16;
  unsigned at = row / 8 * 1024 + row % 8 * 128 + piece * 16;
  return at ^ (at >> 3 & 0x70);
}

static uint64_t descriptor_of(const matrix *m, unsigned start) {
  unsigned per = per_piece(m->f);
  uint64_t leading = m->transposed ? m->lines / per * 128 : 128;
  uint64_t stride = m->swizzled ? 1024 : m->transposed ? 128 : 256;
  return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | UINT64_C(1) << 46 |
         (uint64_t)(m->swizzled ? 2 : 0) << 61;
}

/* Lines first on, as many as a block has. */
static void put_matrix(const matrix *m, unsigned first, uint8_t *room) {
  unsigned per = per_piece(m->f);
  for (unsigned line = 0; line < m->lines; line++)
    for (unsigned i = 0; i < depth_of(m->f); i++) {
      uint8_t *piece = room + piece_place(m, line, i);
      unsigned in = (m->transposed ? line : i) % per;
      for (unsigned b = 0; b < m->f->bits; b++) {
        unsigned at = in * m->f->bits + b;
        piece[at / 8] |= (uint8_t)((m->bits[first + line][i] >> b & 1) << at % 8);
      }
    }
}

/* ---- The kernel ---- */

/* How a product is made. PAIR: cta_group::2; STATIONARY: mma.ws. */
enum {
  A_TURNED = 1,
  B_TURNED = 2,
  SWIZZLED = 4,
  NEGATED = 8,
  FROM_TENSOR = 16,
  SCALED = 32,
  PAIR = 64,
  STATIONARY = 128
};

typedef struct product {
  const char *kind;
  const format *a, *b;
  unsigned rows, columns, d_type; /* 0 f16, 1 f32, 2 s32 */
  unsigned how;
  unsigned parts; /* scales along K of 4-bit kinds; 0: one */
} product;

static const product products[] = {
    {"f16", &f16, &f16, 128, 32, 1, 0, 0},
    {"f16", &f16, &f16, 128, 32, 1, SWIZZLED, 0},
    {"f16", &bf16, &bf16, 128, 16, 1, SWIZZLED | NEGATED, 0},
    {"f16", &f16, &f16, 64, 16, 1, 0, 0},
    {"f16", &f16, &f16, 128, 32, 1, B_TURNED, 0},
    {"f16", &f16, &f16, 64, 32, 1, A_TURNED | B_TURNED | SWIZZLED, 0},
    {"f16", &f16, &f16, 128, 32, 0, SWIZZLED, 0},
    {"f16", &bf16, &bf16, 128, 32, 1, SWIZZLED | FROM_TENSOR, 0},
    {"tf32", &tf32, &tf32, 128, 32, 1, SWIZZLED, 0},
    {"tf32", &tf32, &tf32, 128, 32, 1, FROM_TENSOR, 0},
    {"f8f6f4", &e4m3, &e5m2, 128, 32, 1, SWIZZLED, 0},
    {"f8f6f4", &e2m3, &e3m2, 128, 32, 1, SWIZZLED, 0},
    {"f8f6f4", &e2m1, &e4m3, 128, 16, 1, 0, 0},
    {"f8f6f4", &e5m2, &e2m1, 128, 16, 1, FROM_TENSOR, 0},
    {"i8", &s8, &u8, 128, 32, 2, SWIZZLED, 0},
    {"i8", &u8, &s8, 64, 8, 2, 0, 0},
    {"mxf8f6f4.block_scale.scale_vec::1X", &e4m3, &e4m3, 128, 32, 1, SWIZZLED | SCALED, 0},
    {"mxf8f6f4.block_scale.scale_vec::1X", &e2m1, &e5m2, 128, 32, 1, SWIZZLED | SCALED, 0},
    {"mxf4.block_scale.scale_vec::2X", &packed, &packed, 128, 32, 1, SCALED, 2},
    {"mxf4nvf4.block_scale.scale_vec::4X", &packed, &packed, 128, 32, 1, SWIZZLED | SCALED, 4},
    {"f16", &f16, &f16, 256, 32, 1, SWIZZLED | PAIR, 0},
    {"f16", &f16, &f16, 128, 32, 1, PAIR, 0},
    {"f16", &bf16, &bf16, 256, 32, 1, SWIZZLED | NEGATED | FROM_TENSOR | PAIR, 0},
    {"i8", &s8, &s8, 256, 32, 2, SWIZZLED | PAIR, 0},
    {"f16", &f16, &f16, 64, 64, 1, STATIONARY | SWIZZLED, 0},
    {"tf32", &tf32, &tf32, 32, 128, 1, STATIONARY, 0},
};

static uint32_t instruction_of(const product *p) {
  uint32_t common = p->a->number << 7 | p->b->number << 10 |
                    (uint32_t)((p->how & NEGATED) != 0) << 13 |
                    (uint32_t)((p->how & A_TURNED) != 0) << 15 |
                    (uint32_t)((p->how & B_TURNED) != 0) << 16 | p->columns / 8 << 17;
  if (p->parts) /* from byte 0 on, or byte 2 of A */
    return common | 1u << 23 | p->rows / 128 << 27 | (p->parts == 2 ? 2u << 29 : 0);
  if (p->how & SCALED) /* scales of A in byte 2, of B in byte 1 */
    return common | 1u << 4 | 1u << 23 | p->rows / 128 << 27 | 2u << 29;
  return common | p->d_type << 4 | p->rows / 16 << 24;
}

/* Shared memory is filled from global memory; two products, the second added; all columns of all
 * lanes go to out, block after block. Tensor memory: D from column 0 on, A from 64, scales from 96.
 * GROUP is the number of blocks. */
static const char head[] =
    ".version 8.7\n.target sm_100a\n.address_size 64\n"
    ".visible .entry k(.param .u64 from, .param .u64 out, .param .u64 a, .param .u64 b,\n"
    "                  .param .u32 descriptor) .reqnctapercluster GROUP, 1, 1 {\n"
    ".reg .b32 %r<16>, %v<32>; .reg .b64 %q<8>; .reg .pred %p, %one, %add, %none; .reg .b16 %h;\n"
    ".shared .align 1024 .b8 room[32768]; .shared .align 8 .b64 bar; .shared .align 4 .b32 slot;\n"
    "mov.u32 %r0, %tid.x; ld.param.u64 %q0, [from]; mov.u32 %r1, room; mov.u32 %r2, %r0;\n"
    "mov.u32 %r12, %cluster_ctarank; mul.wide.u32 %q1, %r12, 32768; add.u64 %q0, %q0, %q1;\n"
    "fill: mul.lo.u32 %r3, %r2, 4; cvt.u64.u32 %q1, %r3; add.u64 %q1, %q1, %q0;\n"
    "ld.global.b32 %r4, [%q1]; add.u32 %r3, %r3, %r1; st.shared.b32 [%r3], %r4;\n"
    "add.u32 %r2, %r2, 128; setp.lt.u32 %p, %r2, 8192; @%p bra fill;\n"
    "mov.u32 %r5, slot; mov.u32 %r6, bar; setp.eq.u32 %one, %r0, 0;\n"
    "@%one mbarrier.init.shared.b64 [%r6], 1;\n"
    "setp.lt.u32 %p, %r0, 32;\n"
    "@%p tcgen05.alloc.cta_group::GROUP.sync.aligned.shared::cta.b32 [%r5], 128;\n"
    "@%p tcgen05.relinquish_alloc_permit.cta_group::GROUP.sync.aligned;\n"
    "fence.proxy.async.shared::cta; bar.sync 0; tcgen05.fence::after_thread_sync;\n"
    "barrier.cluster.arrive; barrier.cluster.wait; setp.eq.and.u32 %one, %r12, 0, %one;\n"
    "ld.shared.b32 %r7, [%r5]; add.u32 %r8, %r7, 64; add.u32 %r9, %r7, 96; add.u32 %r10, %r7, "
    "100;\n"
    "ld.param.u64 %q2, [a]; ld.param.u64 %q3, [b]; ld.param.u32 %r11, [descriptor];\n"
    "setp.eq.u32 %add, 0, 0; setp.eq.u32 %none, 0, 1;\n";

/* Scales: those of row 32 c + lane are words 32 c + lane behind the 32768 bytes. */
static const char scales[] =
    "@!%p bra scaled;\nmul.lo.u32 %r3, %r0, 4; cvt.u64.u32 %q1, %r3; add.u64 %q1, %q1, %q0;\n"
    "ld.global.b32 %v0, [%q1+32768]; ld.global.b32 %v1, [%q1+32896]; ld.global.b32 %v2, "
    "[%q1+33024];\n"
    "ld.global.b32 %v3, [%q1+33152]; ld.global.b32 %v4, [%q1+33280];\n"
    "tcgen05.st.sync.aligned.32x32b.x4.b32 [%r9], {%v0, %v1, %v2, %v3};\n"
    "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r10], {%v4};\n"
    "tcgen05.wait::st.sync.aligned;\nscaled: tcgen05.fence::before_thread_sync; bar.sync 0;\n";

static const char tail[] =
    "mov.u16 %h, GROUP; add.u16 %h, %h, %h; sub.u16 %h, %h, 1; @%one "
    "tcgen05.commit.cta_group::GROUP"
    ".mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r6], %h;\n"
    "wait: mbarrier.try_wait.parity.shared.b64 %p, [%r6], 0; @!%p bra wait;\n"
    "tcgen05.fence::after_thread_sync;\n"
    "shr.u32 %r2, %r0, 5; shl.b32 %r2, %r2, 21; add.u32 %r2, %r2, %r7;\n"
    "tcgen05.ld.sync.aligned.32x32b.x32.b32 {%v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7, %v8, %v9, "
    "%v10,"
    " %v11, %v12, %v13, %v14, %v15, %v16, %v17, %v18, %v19, %v20, %v21, %v22, %v23, %v24, %v25,"
    " %v26, %v27, %v28, %v29, %v30, %v31}, [%r2];\n"
    "tcgen05.wait::ld.sync.aligned;\n"
    "ld.param.u64 %q4, [out]; mad.lo.u32 %r3, %r12, 128, %r0; mul.wide.u32 %q1, %r3, 128;\n"
    "add.u64 %q4, %q4, %q1;\n";

/* Puts a digit in the place of every GROUP. */
static void set_group(char *text, unsigned blocks) {
  for (char *at; (at = strstr(text, "GROUP")) != NULL;) {
    *at = (char)('0' + blocks);
    memmove(at + 1, at + 5, strlen(at + 5) + 1);
  }
}

static char *text_of(const product *p) {
  enum { MOST = 1 << 14 };
  char *text = malloc(MOST);
  size_t size;
  assert_non_null(text);
  snprintf(text, MOST, "%s%s", head, p->how & SCALED ? scales : "");
  for (unsigned i = 0; i < 2; i++) {
    size = strlen(text);
    if (i == 0 && p->how & FROM_TENSOR)
      size += (size_t)snprintf(text + size, MOST - size,
                               "@%%one tcgen05.cp.cta_group::GROUP.128x256b [%%r8], %%q2;\n");
    snprintf(text + size, MOST - size,
             "@%%one tcgen05.mma%s.cta_group::GROUP.kind::%s [%%r7], %s, %%q3, %%r11, %s%%%s;\n",
             p->how & STATIONARY ? ".ws" : "", p->kind, p->how & FROM_TENSOR ? "[%r8]" : "%q2",
             p->how & SCALED ? "[%r9], [%r10], " : "", i ? "add" : "none");
  }
  size = strlen(text);
  size += (size_t)snprintf(text + size, MOST - size, "%s", tail);
  for (unsigned i = 0; i < 32; i++)
    size +=
        (size_t)snprintf(text + size, MOST - size, "st.global.b32 [%%q4+%u], %%v%u;\n", 4 * i, i);
  snprintf(text + size, MOST - size,
           "bar.sync 0; barrier.cluster.arrive; barrier.cluster.wait; setp.lt.u32 %%p, %%r0, 32;\n"
           "@%%p tcgen05.dealloc.cta_group::GROUP.sync.aligned.b32 %%r7, 128;\nret;\n}\n");
  set_group(text, p->how & PAIR ? 2 : 1);
  return text;
}

/* A sum as D holds it. */
static double rounded(unsigned d_type, double sum) {
  return d_type == 2   ? sum
         : d_type == 1 ? (double)(float)sum
                       : decode(&f16, bf_emu_float_to_half((float)sum, BF_EMU_RN));
}

/* The sum of a row and a column, each part along K with its scales. */
static double sum_of(const product *p, const uint32_t *a, const uint32_t *b, uint32_t a_scale,
                     uint32_t b_scale) {
  unsigned k = depth_of(p->a), parts = p->parts ? p->parts : 1;
  unsigned a_byte = p->parts == 4 ? 0 : 2, b_byte = p->parts ? 0 : 1;
  double sum = 0;
  for (unsigned i = 0; i < k; i++) {
    unsigned part = i / (k / parts);
    int exponent = (int)(a_scale >> 8 * (a_byte + part) & 255) +
                   (int)(b_scale >> 8 * (b_byte + part) & 255) - 254;
    sum += ldexp(decode(p->a, a[i]) * decode(p->b, b[i]), p->how & SCALED ? exponent : 0);
  }
  return (p->how & NEGATED) != 0 ? -sum : sum;
}

/* Where D has an element: its word in out. */
static unsigned word_of(const product *p, unsigned row, unsigned column) {
  unsigned rows = p->how & PAIR ? p->rows / 2 : p->rows, block = row / rows, lane = row % rows;
  if (p->how & (PAIR | STATIONARY)) { /* parts of the columns are below each other */
    unsigned part = p->columns / (128 / rows);
    lane += column / part * rows;
    column %= part;
  } else if (rows == 64) {
    lane = lane / 16 * 32 + lane % 16;
  }
  return (block * 128 + lane) * 32 + column;
}

/* The product was added to itself. */
static void check_results(const product *p, const matrix *a, const matrix *b, const uint32_t *scale,
                          const uint32_t *out) {
  for (unsigned row = 0; row < p->rows; row++)
    for (unsigned column = 0; column < p->columns; column++) {
      double sum =
          sum_of(p, a->bits[row], b->bits[column], scale[row % 128], scale[128 + column % 32]);
      uint32_t bits = out[word_of(p, row, column)];
      double got = p->d_type == 2   ? (double)(int32_t)bits
                   : p->d_type == 1 ? (double)bf_emu_bits_float(bits)
                                    : decode(&f16, bits & 0xffff);
      double expected = rounded(p->d_type, rounded(p->d_type, sum) + sum);
      if (got != expected)
        fail_msg("%s of %s and %s: row %u, column %u is %g, not %g", p->kind, p->a->name,
                 p->b->name, row, column, got, expected);
    }
}

static void products_are_right(void **state) {
  (void)state;
  for (unsigned i = 0; i < sizeof products / sizeof *products; i++) {
    const product *p = &products[i];
    static matrix a, b;
    uint32_t seed = i + 1, scale[5 * 32];
    unsigned blocks = p->how & PAIR ? 2 : 1;
    a = (matrix){.f = p->a,
                 .lines = p->rows / blocks,
                 .transposed = (p->how & A_TURNED) != 0,
                 .swizzled = (p->how & SWIZZLED) != 0};
    b = (matrix){.f = p->b,
                 .lines = p->columns / blocks,
                 .transposed = (p->how & B_TURNED) != 0,
                 .swizzled = (p->how & SWIZZLED) != 0};
    if ((p->how & SWIZZLED) != 0 &&
        (p->how & A_TURNED) != 0) /* a row of 128 bytes holds 64 elements */
      assert_int_equal(p->rows, 64);
    for (unsigned line = 0; line < MOST_LINES; line++)
      for (unsigned k = 0; k < MOST_K; k++) {
        a.bits[line][k] = random_bits(p->a, &seed);
        b.bits[line][k] = random_bits(p->b, &seed);
      }
    for (unsigned k = 0; k < 5 * 32; k++) /* of 4-bit kinds near 1, so that sums are exact */
      scale[k] = p->parts ? 0x7f7f7f7fu - (k * 0x01020103u & 0x03030303u)
                          : (k * 0x01010101u + 0x7c7c7c7cu) & 0x7f7f7f7fu;
    char *text = text_of(p);
    bed at;
    bed_open_text(&at, "tcgen05.ptx", text, strlen(text), NULL);
    struct {
      uint64_t from, out, a, b;
      uint32_t descriptor;
    } parameters = {bed_alloc(&at, 2 * ROOM + sizeof scale, 0),
                    bed_alloc(&at, 2 * 128 * 32 * 4, 0xff), descriptor_of(&a, 0),
                    descriptor_of(&b, START_OF_B), instruction_of(p)};
    uint8_t *room = (uint8_t *)(uintptr_t)parameters.from;
    for (unsigned block = 0; block < blocks; block++) {
      put_matrix(&a, block * a.lines, room + block * ROOM);
      put_matrix(&b, block * b.lines, room + block * ROOM + START_OF_B);
    }
    if (p->how & SCALED)
      memcpy(room + ROOM, scale, sizeof scale);
    bf_emu_launch launch = bed_launch(&at, "k", blocks, 128, &parameters, sizeof parameters);
    bf_emu_result result = bed_run(&at, &launch);
    if (result.fault.kind)
      fail_msg("%s of %s and %s: %s", p->kind, p->a->name, p->b->name, result.fault.text);
    check_results(p, &a, &b, scale, (const uint32_t *)(uintptr_t)parameters.out);
    bed_close(&at);
    free(text);
  }
}

/* ---- Shapes of ld and st ---- */

/* Columns 0 to 7 of all lanes get lane * 8 + column; out has what each thread loads in a shape. */
static const char shapes_text[] =
    ".version 8.7\n.target sm_100a\n.address_size 64\n"
    ".visible .entry k(.param .u64 out) {\n"
    ".reg .b32 %r<16>, %v<8>; .reg .b64 %q<4>; .shared .align 4 .b32 slot;\n"
    "mov.u32 %r0, %tid.x; mov.u32 %r1, slot; ld.param.u64 %q0, [out];\n"
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;\n"
    "ld.shared.b32 %r2, [%r1]; mul.lo.u32 %v0, %r0, 8;\n"
    "add.u32 %v1, %v0, 1; add.u32 %v2, %v0, 2; add.u32 %v3, %v0, 3; add.u32 %v4, %v0, 4;\n"
    "add.u32 %v5, %v0, 5; add.u32 %v6, %v0, 6; add.u32 %v7, %v0, 7;\n"
    "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r2], {%v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7};\n"
    "tcgen05.wait::st.sync.aligned;\n"
    "tcgen05.ld.sync.aligned.16x64b.x2.b32 {%r3, %r4}, [%r2];\n"
    "tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {%r5, %r6}, [%r2], 4;\n"
    "tcgen05.wait::ld.sync.aligned; add.u32 %r7, %r2, 0x100000;\n"
    "tcgen05.st.sync.aligned.16x64b.x2.b32 [%r7], {%r3, %r4};\n"
    "tcgen05.st.sync.aligned.16x32bx2.x2.b32 [%r7], 6, {%r5, %r6};\n"
    "tcgen05.ld.sync.aligned.16x64b.x2.b32 {%r8, %r9}, [%r7];\n"
    "tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {%r10, %r11}, [%r7], 6;\n"
    "mul.wide.u32 %q1, %r0, 32; add.u64 %q0, %q0, %q1;\n"
    "st.global.v4.b32 [%q0], {%r3, %r4, %r5, %r6};\n"
    "st.global.v4.b32 [%q0+16], {%r8, %r9, %r10, %r11};\n"
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 32; ret;\n}\n";

static void shapes_are_right(void **state) {
  (void)state;
  bed at;
  bed_open_text(&at, "shapes.ptx", shapes_text, strlen(shapes_text), NULL);
  uint64_t out = bed_alloc(&at, 32 * 32, 0xff);
  bf_emu_launch launch = bed_launch(&at, "k", 1, 32, &out, sizeof out);
  bf_emu_result result = bed_run(&at, &launch);
  if (result.fault.kind)
    fail_msg("%s", result.fault.text);
  const uint32_t *got = (const uint32_t *)(uintptr_t)out;
  for (unsigned t = 0; t < 32; t++)
    for (unsigned r = 0; r < 2; r++) {
      assert_int_equal(got[8 * t + r], (t % 2 * 8 + t / 4) * 8 + 2 * r + t / 2 % 2);
      assert_int_equal(got[8 * t + 2 + r], t % 16 * 8 + t / 16 * 4 + r);
      /* The second store overwrote columns 0 and 1 of the first. */
      assert_int_equal(got[8 * t + 6 + r], got[8 * t + 2 + r]);
      if (r == 1)
        assert_int_equal(got[8 * t + 4 + r], got[8 * t + r]);
    }
  bed_close(&at);
}

/* Columns 0 to 15 of all lanes get lane * 16 + column; then lanes from 32 on move down in columns 4
 * to 11.
 */
static const char shift_text[] =
    ".version 8.7\n.target sm_100a\n.address_size 64\n"
    ".visible .entry k(.param .u64 out) {\n"
    ".reg .b32 %r<8>, %v<16>; .reg .b64 %q<4>; .reg .pred %p<4>;\n"
    ".shared .align 4 .b32 slot; .shared .align 8 .b64 barrier;\n"
    "mov.u32 %r0, %tid.x; mov.u32 %r1, slot; mov.u32 %r6, barrier; ld.param.u64 %q0, [out];\n"
    "setp.eq.u32 %p0, %r0, 0; @%p0 mbarrier.init.shared.b64 [%r6], 1;\n"
    "setp.lt.u32 %p1, %r0, 32; @!%p1 bra made;\n"
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;\nmade: bar.sync 0;\n"
    "ld.shared.b32 %r2, [%r1]; shr.u32 %r3, %r0, 5; shl.b32 %r3, %r3, 21; add.u32 %r3, %r3, %r2;\n"
    "mul.lo.u32 %v0, %r0, 16; mov.u32 %r5, 0;\n"
    "next: add.u32 %v1, %v0, %r5; add.u32 %r4, %r3, %r5;\n"
    "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r4], {%v1};\n"
    "add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 16; @%p2 bra next;\n"
    "tcgen05.wait::st.sync.aligned; bar.sync 0; add.u32 %r4, %r2, 0x200004;\n"
    "@%p0 tcgen05.shift.cta_group::1.down [%r4];\n"
    "@%p0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r6];\n"
    "wait: mbarrier.try_wait.parity.shared.b64 %p3, [%r6], 0; @!%p3 bra wait;\n"
    "mul.wide.u32 %q1, %r0, 64; add.u64 %q0, %q0, %q1; mov.u32 %r5, 0;\n"
    "show: add.u32 %r4, %r3, %r5; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%v1}, [%r4];\n"
    "tcgen05.wait::ld.sync.aligned; st.global.b32 [%q0], %v1; add.u64 %q0, %q0, 4;\n"
    "add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 16; @%p2 bra show;\n"
    "bar.sync 0; @!%p1 bra over;\n"
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 32;\nover: ret;\n}\n";

static void lanes_are_shifted(void **state) {
  (void)state;
  bed at;
  bed_open_text(&at, "shift.ptx", shift_text, strlen(shift_text), NULL);
  uint64_t out = bed_alloc(&at, 128 * 64, 0xff);
  bf_emu_launch launch = bed_launch(&at, "k", 1, 128, &out, sizeof out);
  bf_emu_result result = bed_run(&at, &launch);
  if (result.fault.kind)
    fail_msg("%s", result.fault.text);
  const uint32_t *got = (const uint32_t *)(uintptr_t)out;
  for (unsigned lane = 0; lane < 128; lane++)
    for (unsigned column = 0; column < 16; column++) {
      bool moves = lane >= 32 && lane < 127 && column >= 4 && column < 12;
      assert_int_equal(got[16 * lane + column], 16 * (lane + moves) + column);
    }
  bed_close(&at);
}

/* A kernel of one block, and what is wrong with it; NULL: nothing. */
static void check_text(const char *body, bool check_races, const char *expected) {
  char text[2048];
  snprintf(text, sizeof text,
           ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry k() {\n"
           ".reg .b32 %%r<8>; .reg .b64 %%q<4>; .reg .pred %%p;\n"
           ".shared .align 128 .b8 room[1024];\n"
           "mov.u32 %%r0, room; mov.u64 %%q0, 0x4000000000000000; setp.eq.u32 %%p, 0, 0;\n"
           "mov.u32 %%r1, 0;\n%s\nret;\n}\n",
           body);
  bed at;
  bed_open_text(&at, "fault.ptx", text, strlen(text), NULL);
  bf_emu_launch launch = bed_launch(&at, "k", 1, 32, NULL, 0);
  launch.check_races = check_races;
  bf_emu_result result = bed_run(&at, &launch);
  bool is_told =
      result.fault.kind && expected && strstr(result.fault.text, expected) && result.fault.line;
  if (expected ? !is_told : result.fault.kind)
    fail_msg("%s: '%s', not '%s'", body, result.fault.text, expected ? expected : "");
  bed_close(&at);
}

static void check_fault(const char *body, const char *expected) {
  check_text(body, false, expected);
}

#define ALLOC "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 64;\n"
#define DEALLOC "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 64;\n"
#define SHIFT "tcgen05.shift.cta_group::1.down [%r1];\n"
#define LOAD(at) "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1+" at "];\n"
#define COMMIT                                                                                     \
  "mov.u32 %r3, %laneid; setp.eq.u32 %p, %r3, 0; add.u32 %r4, %r0, 8;\n"                           \
  "@%p mbarrier.init.shared.b64 [%r4], 1; bar.sync 0;\n"                                           \
  "@%p tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];\n"             \
  "wait: mbarrier.try_wait.parity.shared.b64 %p, [%r4], 0; @!%p bra wait;\n"

/* All that was allocated is given back, and what is on its way to columns is waited for. */
static void ends_are_told(void **state) {
  (void)state;
  check_text(ALLOC, false, "64 columns of tensor memory are allocated");
  check_text(ALLOC DEALLOC, false, NULL);
  check_text(ALLOC SHIFT LOAD("0") COMMIT DEALLOC, true,
             "column 0 of tensor memory: thread (0,0,0) has issued what writes there");
  check_text(ALLOC SHIFT LOAD("0") COMMIT DEALLOC, false, NULL);
  check_text(ALLOC SHIFT LOAD("8") COMMIT LOAD("0") DEALLOC, true, NULL);
}

static void mistakes_are_told(void **state) {
  (void)state;
  check_fault("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r0], 32;",
              "the other block of the pair does not exist");
  check_fault("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 48;", "48 columns");
  check_fault("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1];", "not allocated");
  check_fault("tcgen05.mma.cta_group::1.kind::f16 [%r1], %q0, %q0, %r1, %p;", "none of this kind");
  check_fault("mov.u32 %r1, 0x8040010; mov.u64 %q0, 0;\n"
              "tcgen05.mma.cta_group::1.kind::f16 [%r1], %q0, %q0, %r1, %p;",
              "bits 46 to 48 must be 001");
  check_fault(ALLOC "mov.u32 %r3, 0x8100290; mov.u64 %q0, 0x4000400000000000;\n"
                    "tcgen05.mma.cta_group::1.kind::f8f6f4 [%r1], [%r1], %q0, %r3, %p;",
              "elements of 4 or 6 bits");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_right), cmocka_unit_test(shapes_are_right),
      cmocka_unit_test(lanes_are_shifted), cmocka_unit_test(mistakes_are_told),
      cmocka_unit_test(ends_are_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
