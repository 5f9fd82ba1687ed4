/* Matrix operations: products against plain loops over whole matrices. The layouts of fragments are
 * written out here register by register as the PTX ISA does, not by the formula of the emulator.
 * Values are small integers, so that sums are exact in every type and order. */
#include "emu_lanes.h"
#include "random.h"

enum { LANES = 32, MOST = 256 };

/* ---- Values as bits of a type, and back ---- */

static uint32_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}

/* The bits of a small integer (|value| <= 16) as f16, e4m3 or e5m2: a sign, an exponent and
 * mantissa bits taken from the float. */
static uint32_t shrink(int value, int mantissa_bits, int bias, int bits) {
  uint32_t single = bits_of_float((float)value), sign = single >> 31;
  if (!value)
    return 0;
  uint32_t exponent = (single >> 23 & 255) - 127 + (uint32_t)bias;
  uint32_t mantissa = (single & 0x7fffff) >> (23 - mantissa_bits);
  return sign << (bits - 1) | exponent << mantissa_bits | mantissa;
}

static uint64_t encode(const char *type, int value) {
  if (!strcmp(type, "f16"))
    return shrink(value, 10, 15, 16);
  if (!strcmp(type, "bf16"))
    return bits_of_float((float)value) >> 16;
  if (!strcmp(type, "tf32") || !strcmp(type, "f32"))
    return bits_of_float((float)value);
  if (!strcmp(type, "e4m3"))
    return shrink(value, 3, 7, 8);
  if (!strcmp(type, "e5m2"))
    return shrink(value, 2, 15, 8);
  if (!strcmp(type, "f64")) {
    double wide = value;
    uint64_t bits;
    memcpy(&bits, &wide, 8);
    return bits;
  }
  return (uint64_t)(int64_t)value;
}

static double decode(const char *type, uint64_t bits) {
  if (!strcmp(type, "f16")) {
    int exponent = (int)(bits >> 10 & 31), mantissa = (int)(bits & 1023);
    double value = exponent ? 1024 + mantissa : mantissa;
    for (int i = exponent ? exponent : 1; i < 25; i++)
      value /= 2;
    for (int i = 25; i < exponent; i++)
      value *= 2;
    return bits >> 15 & 1 ? -value : value;
  }
  if (!strcmp(type, "f32")) {
    float value;
    uint32_t low = (uint32_t)bits;
    memcpy(&value, &low, 4);
    return value;
  }
  if (!strcmp(type, "f64")) {
    double value;
    memcpy(&value, &bits, 8);
    return value;
  }
  return (int32_t)bits;
}

/* ---- mma ---- */

typedef struct mma_case {
  const char *shape, *a, *b, *c, *d, *extra;
  int m, k;
  int bits; /* of an element of a and b */
  int low;  /* values are low to high */
  int high;
  int a_words, b_words, c_words; /* 32-bit words per lane */
} mma_case;

static const mma_case mma_cases[] = {
    {"m16n8k8", "f16", "f16", "f32", "f32", "", 16, 8, 16, -8, 8, 2, 1, 4},
    {"m16n8k8", "f16", "f16", "f16", "f16", "", 16, 8, 16, -8, 8, 2, 1, 2},
    {"m16n8k16", "f16", "f16", "f32", "f32", "", 16, 16, 16, -8, 8, 4, 2, 4},
    {"m16n8k16", "f16", "f16", "f16", "f16", "", 16, 16, 16, -8, 8, 4, 2, 2},
    {"m16n8k8", "bf16", "bf16", "f32", "f32", "", 16, 8, 16, -8, 8, 2, 1, 4},
    {"m16n8k16", "bf16", "bf16", "f32", "f32", "", 16, 16, 16, -8, 8, 4, 2, 4},
    {"m16n8k4", "tf32", "tf32", "f32", "f32", "", 16, 4, 32, -8, 8, 2, 1, 4},
    {"m16n8k8", "tf32", "tf32", "f32", "f32", "", 16, 8, 32, -8, 8, 4, 2, 4},
    {"m8n8k4", "f64", "f64", "f64", "f64", "", 8, 4, 64, -8, 8, 2, 2, 4},
    {"m16n8k4", "f64", "f64", "f64", "f64", "", 16, 4, 64, -8, 8, 4, 2, 8},
    {"m16n8k8", "f64", "f64", "f64", "f64", "", 16, 8, 64, -8, 8, 8, 4, 8},
    {"m16n8k16", "f64", "f64", "f64", "f64", "", 16, 16, 64, -8, 8, 16, 8, 8},
    {"m8n8k16", "s8", "s8", "s32", "s32", "", 8, 16, 8, -128, 127, 1, 1, 2},
    {"m8n8k16", "u8", "s8", "s32", "s32", ".satfinite", 8, 16, 8, 0, 127, 1, 1, 2},
    {"m16n8k16", "s8", "u8", "s32", "s32", "", 16, 16, 8, 0, 127, 2, 1, 4},
    {"m16n8k32", "u8", "u8", "s32", "s32", "", 16, 32, 8, 0, 255, 4, 2, 4},
    {"m16n8k32", "e4m3", "e4m3", "f32", "f32", "", 16, 32, 8, -8, 8, 4, 2, 4},
    {"m16n8k32", "e5m2", "e4m3", "f32", "f32", "", 16, 32, 8, -4, 4, 4, 2, 4},
    {"m8n8k32", "s4", "s4", "s32", "s32", "", 8, 32, 4, -8, 7, 1, 1, 2},
    {"m16n8k32", "u4", "u4", "s32", "s32", "", 16, 32, 4, 0, 15, 2, 1, 4},
    {"m16n8k64", "s4", "u4", "s32", "s32", "", 16, 64, 4, 0, 7, 4, 2, 4},
    {"m8n8k128", "b1", "b1", "s32", "s32", ".xor.popc", 8, 128, 1, 0, 1, 1, 1, 2},
    {"m16n8k128", "b1", "b1", "s32", "s32", ".and.popc", 16, 128, 1, 0, 1, 2, 1, 4},
    {"m16n8k256", "b1", "b1", "s32", "s32", ".xor.popc", 16, 256, 1, 0, 1, 4, 2, 4},
};

/* Row and column of element i of lane's fragment of A, as the PTX ISA's chapters on mma list them
 * for each width of the elements; i counts elements, not registers. */
static void place_a(const mma_case *t, int lane, int i, int *row, int *column) {
  int group = lane >> 2, thread = lane % 4;
  if (t->m == 8) {
    int per_word = t->bits >= 32 ? 1 : 32 / t->bits;
    *row = group;
    *column = thread * per_word + i;
    return;
  }
  switch (t->bits) {
  case 64:
  case 32:
    *row = i % 2 == 0 ? group : group + 8;
    *column = thread + 4 * (i / 2);
    break;
  case 16:
    *row = i % 4 < 2 ? group : group + 8;
    *column = thread * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    break;
  case 8:
    *row = i < 4 || (i >= 8 && i < 12) ? group : group + 8;
    *column = thread * 4 + (i & 3) + (i >= 8 ? 16 : 0);
    break;
  case 4:
    *row = i < 8 || (i >= 16 && i < 24) ? group : group + 8;
    *column = thread * 8 + (i & 7) + (i >= 16 ? 32 : 0);
    break;
  default:
    *row = i < 32 || (i >= 64 && i < 96) ? group : group + 8;
    *column = thread * 32 + (i & 31) + (i >= 64 ? 128 : 0);
    break;
  }
}

/* Row (k) and column (n) of element i of lane's fragment of B. */
static void place_b(const mma_case *t, int lane, int i, int *row, int *column) {
  int thread = lane % 4;
  *column = lane >> 2;
  switch (t->bits) {
  case 64:
  case 32:
    *row = thread + 4 * i;
    break;
  case 16:
    *row = thread * 2 + (i & 1) + (i >= 2 ? 8 : 0);
    break;
  case 8:
    *row = thread * 4 + (i & 3) + (i >= 4 ? 16 : 0);
    break;
  case 4:
    *row = thread * 8 + (i & 7) + (i >= 8 ? 32 : 0);
    break;
  default:
    *row = thread * 32 + (i & 31) + (i >= 32 ? 128 : 0);
    break;
  }
}

static void place_c(int lane, int i, int *row, int *column) {
  *row = (lane >> 2) + (i >= 2 ? 8 : 0);
  *column = lane % 4 * 2 + (i & 1);
}

/* Puts the bits of element i into words of 32 bits. */
static void put(uint32_t *word, int bits, int i, uint64_t value) {
  if (bits == 64) {
    memcpy(word + 2 * i, &value, 8);
    return;
  }
  uint32_t kept = bits == 32 ? UINT32_MAX : (UINT32_C(1) << bits) - 1;
  word[i * bits / 32] |= ((uint32_t)value & kept) << i * bits % 32;
}

static uint64_t take(const uint32_t *word, int bits, int i) {
  uint64_t value = 0;
  if (bits == 64)
    memcpy(&value, word + 2 * i, 8);
  else
    value = word[i * bits / 32] >> i * bits % 32 & (bits == 32 ? UINT32_MAX : (1u << bits) - 1);
  return value;
}

/* "{%a0, %a1}" for words of a fragment, in registers of 32 or 64 bits. */
static void list(char *text, size_t size, const char *name, int words, int bits) {
  int count = bits == 64 ? words / 2 : words;
  size_t used = (size_t)snprintf(text, size, "{");
  for (int i = 0; i < count; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%%%s%d", i ? ", " : "", name, i);
  snprintf(text + used, size - used, "}");
}

/* Loads or stores the words of a fragment, one register at a time. */
static size_t transfer(char *text, size_t size, bool is_store, const char *name, int words,
                       int bits, int offset) {
  int bytes = bits == 64 ? 8 : 4, count = bits == 64 ? words / 2 : words;
  size_t used = 0;
  for (int i = 0; i < count; i++) {
    int at = offset + i * bytes;
    char *end = text + used;
    size_t left = size - used;
    if (is_store)
      used += (size_t)snprintf(end, left, "st.global.b%d [%%out+%d], %%%s%d;\n", bytes * 8, at,
                               name, i);
    else
      used +=
          (size_t)snprintf(end, left, "ld.global.b%d %%%s%d, [%%in+%d];\n", bytes * 8, name, i, at);
  }
  return used;
}

enum { WORDS = 48 };

static void mma_body(const mma_case *t, char *body, size_t size) {
  char a[128], b[128], c[128], d[128];
  int c_bits = !strcmp(t->c, "f64") ? 64 : 32, ab_bits = t->bits == 64 ? 64 : 32;
  list(a, sizeof a, "a", t->a_words, ab_bits);
  list(b, sizeof b, "b", t->b_words, ab_bits);
  list(c, sizeof c, "c", t->c_words, c_bits);
  list(d, sizeof d, "d", t->c_words, c_bits);
  size_t used = (size_t)snprintf(body, size,
                                 ".reg .b%d %%a<8>; .reg .b%d %%b<8>; .reg .b%d %%c<8>; "
                                 ".reg .b%d %%d<8>;\n",
                                 ab_bits, ab_bits, c_bits, c_bits);
  used += transfer(body + used, size - used, false, "a", t->a_words, ab_bits, 0);
  used += transfer(body + used, size - used, false, "b", t->b_words, ab_bits, 64);
  used += transfer(body + used, size - used, false, "c", t->c_words, c_bits, 128);
  used += (size_t)snprintf(body + used, size - used,
                           "mma.sync.aligned.%s.row.col%s.%s.%s.%s.%s%s %s, %s, %s, %s;\n",
                           t->shape, t->bits > 1 ? t->extra : "", t->d, t->a, t->b, t->c,
                           t->bits > 1 ? "" : t->extra, d, a, b, c);
  transfer(body + used, size - used, true, "d", t->c_words, c_bits, 0);
}

static void check_mma(const mma_case *t, const char *set, test_random *random) {
  static int a[16][MOST], b[MOST][8];
  int c[16][8], c_bits = !strcmp(t->c, "f16") ? 16 : !strcmp(t->c, "f64") ? 64 : 32;
  uint32_t in[LANES][WORDS] = {{0}}, out[LANES][WORDS];
  int range = t->high - t->low + 1;
  for (int m = 0; m < t->m; m++)
    for (int k = 0; k < t->k; k++)
      a[m][k] = t->low + (int)random_below(random, (uint64_t)range);
  for (int k = 0; k < t->k; k++)
    for (int n = 0; n < 8; n++)
      b[k][n] = t->low + (int)random_below(random, (uint64_t)range);
  for (int m = 0; m < t->m; m++)
    for (int n = 0; n < 8; n++)
      c[m][n] = (int)random_below(random, 17) - 8;
  for (int lane = 0; lane < LANES; lane++) {
    int row, column;
    for (int i = 0; i < t->a_words * 32 / t->bits; i++) {
      place_a(t, lane, i, &row, &column);
      put(in[lane], t->bits, i, encode(t->a, a[row][column]));
    }
    for (int i = 0; i < t->b_words * 32 / t->bits; i++) {
      place_b(t, lane, i, &row, &column);
      put(in[lane] + 16, t->bits, i, encode(t->b, b[row][column]));
    }
    for (int i = 0; i < t->c_words * 32 / c_bits; i++) {
      place_c(lane, i, &row, &column);
      put(in[lane] + 32, c_bits, i, encode(t->c, c[row][column]));
    }
  }
  char body[8192];
  mma_body(t, body, sizeof body);
  lanes_run(set, "", body, LANES, in, sizeof in[0], out, sizeof out[0]);
  for (int lane = 0; lane < LANES; lane++)
    for (int i = 0; i < t->c_words * 32 / c_bits; i++) {
      int row, column;
      place_c(lane, i, &row, &column);
      double expected = c[row][column];
      for (int k = 0; k < t->k; k++) {
        int x = a[row][k], y = b[k][column];
        expected += t->bits > 1 ? x * y : strstr(t->extra, "and") ? x & y : x ^ y;
      }
      assert_true(decode(t->d, take(out[lane], c_bits, i)) == expected);
    }
}

static void mma_of_all_shapes(void **state) {
  (void)state;
  test_random random = {5};
  for (unsigned s = 0; s < LANES_SETS; s++)
    for (unsigned i = 0; i < sizeof mma_cases / sizeof *mma_cases && lanes_has(lanes_sets[s]); i++)
      check_mma(&mma_cases[i], lanes_sets[s], &random);
}

/* One element each: a sum that float could not hold on the way, NaN, overflow, saturation. */
static void mma_rounds_once(void **state) {
  (void)state;
  /* Lane 0 holds row 0, columns 0 and 1 of A and rows 0 and 1 of column 0 of B. */
  static const struct {
    uint32_t a, b, c, d;
  } rows[] = {
      /* 65504 * 65504 - 65504 * 65504 + 1 */
      {0xfbff7bff, 0x7bff7bff, 0x3f800000, 0x3f800000},
      /* infinity - infinity */
      {0xfc007c00, 0x3c003c00, 0, 0x7fffffff},
      /* 2^-24 * 2^-24, the product of the smallest f16 */
      {0x00000001, 0x00000001, 0, 0x27800000},
      /* 1 + 2^-24: a tie, to even */
      {0x00000001, 0x00003c00, 0x3f800000, 0x3f800000},
      /* 1 + 2^-24 + 2^-48: above the tie */
      {0x00010001, 0x00013c00, 0x3f800000, 0x3f800001},
  };
  static const char body[] =
      ".reg .b32 %x<6>; .reg .b32 %d<4>; .reg .b32 %z; mov.u32 %z, 0;\n"
      "ld.global.v4.b32 {%x0, %x1, %x2, %x3}, [%in];\n"
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%x0, %z}, {%x1}, "
      "{%x2, %z, %z, %z};\n"
      "st.global.b32 [%out], %d0;";
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint32_t in[LANES][4] = {{rows[i].a, rows[i].b, rows[i].c, 0}}, out[LANES];
    lanes_run(NULL, "", body, LANES, in, 16, out, 4);
    assert_int_equal(out[0], rows[i].d);
  }
}

/* ---- ldmatrix, stmatrix, movmatrix ---- */

/* Rows of 8 halves in shared memory with a pitch of 80 bytes; halves are numbered. */
static void rows_of_matrices(void **state) {
  (void)state;
  static const char *const counts[] = {"x1", "x2", "x4"};
  static const char *const lists[] = {"{%d0}", "{%d0, %d1}", "{%d0, %d1, %d2, %d3}"};
  for (unsigned n = 0; n < 3; n++)
    for (unsigned transposed = 0; transposed < 2; transposed++) {
      char body[2048];
      unsigned matrices = 1u << n;
      snprintf(body, sizeof body,
               ".reg .b32 %%d<4>; .reg .b32 %%s, %%l, %%t; .reg .b64 %%q<2>; .reg .pred %%p;\n"
               "mov.u32 %%d0, 0; mov.u32 %%d1, 0; mov.u32 %%d2, 0; mov.u32 %%d3, 0;\n"
               "mov.u32 %%s, tile; mov.u32 %%l, %%laneid; mad.lo.u32 %%s, %%l, 80, %%s;\n"
               "ld.global.v2.b64 {%%q0, %%q1}, [%%in]; st.shared.v2.b64 [%%s], {%%q0, %%q1};\n"
               "bar.sync 0;\n"
               "ldmatrix.sync.aligned.m8n8.%s%s.shared.b16 %s, [%%s];\n"
               "st.global.v4.b32 [%%out], {%%d0, %%d1, %%d2, %%d3};\n"
               "bar.sync 0;\n"
               "stmatrix.sync.aligned.m8n8.%s%s.shared.b16 [%%s], %s;\n"
               "bar.sync 0;\n"
               "ld.shared.v2.b64 {%%q0, %%q1}, [%%s]; st.global.v2.b64 [%%out+16], {%%q0, %%q1};\n"
               "movmatrix.sync.aligned.m8n8.trans.b16 %%d1, %%d0; st.global.b32 [%%out+32], %%d1;",
               counts[n], transposed ? ".trans" : "", lists[n], counts[n], "", lists[n]);
      uint16_t in[LANES][8], out[LANES][24];
      for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < 8; i++)
          in[lane][i] = (uint16_t)(lane * 8 + i);
      lanes_run(NULL, ".shared .align 16 .b8 tile[2560];", body, LANES, in, 16, out, 48);
      for (unsigned lane = 0; lane < LANES; lane++) {
        for (unsigned r = 0; r < 4; r++)
          for (unsigned i = 0; i < 2; i++) {
            unsigned row = lane / 4, column = lane % 4 * 2 + i;
            unsigned expected = transposed ? in[r * 8 + column][row] : in[r * 8 + row][column];
            assert_int_equal(out[lane][r * 2 + i], r < matrices ? expected : 0);
            if (r == 0) /* movmatrix */
              assert_int_equal(out[lane][16 + i], transposed ? in[row][column] : in[column][row]);
          }
        /* stmatrix without .trans writes back what ldmatrix read, transposed or not. */
        for (unsigned i = 0; i < 8 && lane < 8 * matrices; i++) {
          unsigned matrix = lane / 8 * 8;
          assert_int_equal(out[lane][8 + i], transposed ? in[matrix + i][lane % 8] : in[lane][i]);
        }
      }
    }
}

/* The event that an access makes: op, width and mask. */
typedef struct events {
  unsigned count;
  bf_op op[8];
  unsigned width[8];
  uint32_t mask[8];
} events;

static void note(void *context, const bf_emu_event *event) {
  events *seen = context;
  if (seen->count < 8) {
    seen->op[seen->count] = event->op;
    seen->width[seen->count] = event->width_bytes;
    seen->mask[seen->count] = event->mask;
  }
  seen->count++;
}

static void accesses_are_told(void **state) {
  (void)state;
  static const char body[] =
      ".reg .b32 %d<4>; .reg .b32 %s, %l;\n"
      "mov.u32 %s, tile; mov.u32 %l, %laneid; mad.lo.u32 %s, %l, 16, %s;\n"
      "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d0}, [%s];\n"
      "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%d0, %d1}, [%s];\n"
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%d0, %d1, %d2, %d3}, [%s];\n"
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%d0, %d1, %d2, %d3}, [%s];\n"
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%s], {%d0, %d1, %d2, %d3};\n"
      "cp.async.cg.shared.global [%s], [%in], 16; cp.async.ca.shared.global [%s], [%in], 4;\n"
      "cp.async.wait_all;";
  static const bf_op op[] = {BF_OP_LDMATRIX1, BF_OP_LDMATRIX2, BF_OP_LDMATRIX4, BF_OP_LDMATRIXT4,
                             BF_OP_STMATRIX4, BF_OP_CP16,      BF_OP_CP4};
  static const uint32_t mask[] = {0xff,       0xffff,     UINT32_MAX, UINT32_MAX,
                                  UINT32_MAX, UINT32_MAX, UINT32_MAX};
  bed at;
  events seen = {0};
  char *text = lanes_text(".shared .align 16 .b8 tile[512];", body, 16, 16);
  bed_open_text(&at, "lanes.ptx", text, strlen(text), NULL);
  uint64_t parameters[2] = {bed_alloc(&at, 512, 0), bed_alloc(&at, 512, 0)};
  bf_emu_launch launch = bed_launch(&at, "lanes", 1, LANES, parameters, sizeof parameters);
  bf_emu_observer observer = {.access = note, .context = &seen};
  launch.observer = &observer;
  bed_run_well(&at, &launch);
  assert_int_equal(seen.count, 7);
  for (unsigned i = 0; i < 7; i++) {
    assert_int_equal(seen.op[i], op[i]);
    assert_int_equal(seen.width[i], i == 6 ? 4 : 16);
    assert_int_equal(seen.mask[i], mask[i]);
  }
  bed_close(&at);
  free(text);
}

/* ---- wmma ---- */

typedef struct wmma_case {
  const char *shape, *type, *c; /* of a and b, of c and d */
  int m, n, k, bits;
  int a_registers, b_registers, c_registers; /* as the PTX ISA says */
} wmma_case;

static const wmma_case wmma_cases[] = {
    {"m16n16k16", "f16", "f32", 16, 16, 16, 16, 8, 8, 8},
    {"m16n16k16", "f16", "f16", 16, 16, 16, 16, 8, 8, 4},
    {"m32n8k16", "f16", "f32", 32, 8, 16, 16, 8, 8, 8},
    {"m8n32k16", "f16", "f32", 8, 32, 16, 16, 8, 8, 8},
    {"m16n16k16", "bf16", "f32", 16, 16, 16, 16, 4, 4, 8},
    {"m32n8k16", "bf16", "f32", 32, 8, 16, 16, 8, 2, 8},
    {"m8n32k16", "bf16", "f32", 8, 32, 16, 16, 2, 8, 8},
    {"m16n16k8", "tf32", "f32", 16, 16, 8, 32, 4, 4, 8},
    {"m16n16k16", "s8", "s32", 16, 16, 16, 8, 2, 2, 8},
    {"m32n8k16", "u8", "s32", 32, 8, 16, 8, 4, 1, 8},
    {"m8n32k16", "s8", "s32", 8, 32, 16, 8, 1, 4, 8},
    {"m8n8k4", "f64", "f64", 8, 8, 4, 64, 1, 1, 2},
};

/* Stride of every matrix, in elements. */
enum { STRIDE = 40 };

/* a from global memory, b from shared memory, c from global memory with the layout of b. */
static void wmma_body(const wmma_case *t, bool a_rows, bool b_rows, char *body, size_t size) {
  char a[128], b[128], c[128], d[128], types[64];
  int bits = t->bits == 64 ? 64 : 32, words = bits / 32;
  list(a, sizeof a, "a", t->a_registers * words, bits);
  list(b, sizeof b, "b", t->b_registers * words, bits);
  list(c, sizeof c, "c", t->c_registers * words, bits);
  list(d, sizeof d, "d", t->c_registers * words, bits);
  if (!strcmp(t->type, "f16"))
    snprintf(types, sizeof types, "%s.%s", t->c, t->c);
  else
    snprintf(types, sizeof types, "%s.%s.%s.%s", t->c, t->type, t->type, t->c);
  const char *al = a_rows ? "row" : "col", *bl = b_rows ? "row" : "col";
  size_t used = (size_t)snprintf(
      body, size,
      ".reg .b%d %%a<8>; .reg .b%d %%b<8>; .reg .b%d %%c<8>; .reg .b%d %%d<8>;\n"
      ".reg .b64 %%base, %%to, %%v, %%w; .reg .b32 %%s, %%i; .reg .pred %%p;\n"
      "ld.param.u64 %%base, [from]; ld.param.u64 %%to, [to];\n"
      /* The second matrix goes to shared memory, 8 bytes at a time. */
      "mov.u32 %%i, 0;\n"
      "FILL: mov.u32 %%s, tile; add.u32 %%s, %%s, %%i; cvt.u64.u32 %%w, %%i;\n"
      "add.u64 %%w, %%w, %%base; ld.global.b64 %%v, [%%w+16384]; st.shared.b64 [%%s], %%v;\n"
      "add.u32 %%i, %%i, 8; setp.lt.u32 %%p, %%i, 16384; @%%p bra FILL;\n"
      "bar.sync 0; mov.u32 %%i, %d;\n",
      bits, bits, bits, bits, STRIDE);
  used += (size_t)snprintf(body + used, size - used,
                           "wmma.load.a.sync.aligned.%s.%s.global.%s %s, [%%base], %%i;\n"
                           "wmma.load.b.sync.aligned.%s.%s.shared.%s %s, [tile], %%i;\n"
                           "wmma.load.c.sync.aligned.%s.%s.%s %s, [%%base+32768], %d;\n",
                           al, t->shape, t->type, a, bl, t->shape, t->type, b, bl, t->shape, t->c,
                           c, STRIDE);
  snprintf(body + used, size - used,
           "wmma.mma.sync.aligned.%s.%s.%s%s.%s %s, %s, %s, %s;\n"
           "wmma.store.d.sync.aligned.%s.%s.global.%s [%%to], %s, %%i;",
           al, bl, t->shape, bits == 64 ? ".rn" : "", types, d, a, b, c, al, t->shape, t->c, d);
}

static void set_element(uint8_t *memory, const char *type, int bits, bool by_rows, int row,
                        int column, int value) {
  uint64_t encoded = encode(type, value);
  memcpy(memory + (by_rows ? row * STRIDE + column : column * STRIDE + row) * bits / 8, &encoded,
         (size_t)bits / 8);
}

static void check_wmma(const wmma_case *t, bool a_rows, bool b_rows, test_random *random) {
  enum { BYTES = 49152 };
  static uint8_t in[BYTES], out[BYTES];
  static int a[32][16], b[16][32], c[32][32];
  int c_bits = !strcmp(t->c, "f16") ? 16 : !strcmp(t->c, "f64") ? 64 : 32;
  int low = t->type[0] == 'u' ? 0 : -8;
  for (int m = 0; m < t->m; m++)
    for (int k = 0; k < t->k; k++) {
      a[m][k] = (int)random_below(random, 17) + low;
      set_element(in, t->type, t->bits, a_rows, m, k, a[m][k]);
    }
  for (int k = 0; k < t->k; k++)
    for (int n = 0; n < t->n; n++) {
      b[k][n] = (int)random_below(random, 17) + low;
      set_element(in + 16384, t->type, t->bits, b_rows, k, n, b[k][n]);
    }
  for (int m = 0; m < t->m; m++)
    for (int n = 0; n < t->n; n++) {
      c[m][n] = (int)random_below(random, 17) - 8;
      set_element(in + 32768, t->c, c_bits, b_rows, m, n, c[m][n]);
    }
  char body[4096];
  wmma_body(t, a_rows, b_rows, body, sizeof body);
  lanes_run(NULL, ".shared .align 32 .b8 tile[16384];", body, LANES, in, BYTES / LANES, out,
            BYTES / LANES);
  for (int m = 0; m < t->m; m++)
    for (int n = 0; n < t->n; n++) {
      uint64_t bits = 0;
      memcpy(&bits, out + (a_rows ? m * STRIDE + n : n * STRIDE + m) * c_bits / 8,
             (size_t)c_bits / 8);
      double expected = c[m][n];
      for (int k = 0; k < t->k; k++)
        expected += a[m][k] * b[k][n];
      assert_true(decode(t->c, bits) == expected);
    }
}

static void wmma_of_all_shapes(void **state) {
  (void)state;
  test_random random = {6};
  for (unsigned i = 0; i < sizeof wmma_cases / sizeof *wmma_cases; i++)
    for (unsigned layouts = 0; layouts < 4; layouts++)
      check_wmma(&wmma_cases[i], layouts & 1, layouts & 2, &random);
}

static void other_forms_are_refused(void **state) {
  (void)state;
  lanes_refused("",
                ".reg .b32 %a<4>; .reg .f32 %d<8>;\n"
                "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3, %d4, %d5, "
                "%d6, %d7}, {%a0, %a1}, {%a2, %a3}, {%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7};",
                "mma");
  lanes_refused(".shared .align 128 .b8 tile[512];",
                ".reg .b32 %a<4>;\n"
                "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%a0, %a1}, [tile];",
                "ldmatrix");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mma_of_all_shapes),  cmocka_unit_test(mma_rounds_once),
      cmocka_unit_test(rows_of_matrices),   cmocka_unit_test(accesses_are_told),
      cmocka_unit_test(wmma_of_all_shapes), cmocka_unit_test(other_forms_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
