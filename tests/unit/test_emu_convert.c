/* Conversions. References: the values of a small format as a sorted table, in which the neighbours
 * of a number are looked up; long double for integers of 64 bits. */
#include "emu_lanes.h"
#include "random.h"

#include <math.h>

/* ---- Small formats as tables ---- */

typedef struct table {
  int mantissa_bits, exponent_bits;
  bool has_infinity;
  unsigned finite;      /* numbers that are not negative; bits 0 to finite - 1 */
  double value[0x8000]; /* by bits; [finite] is what would come next */
} table;

static table *make_table(int mantissa_bits, int exponent_bits, bool has_infinity) {
  table *t = calloc(1, sizeof *t);
  assert_non_null(t);
  int bias = (1 << (exponent_bits - 1)) - 1;
  unsigned all = 1u << (mantissa_bits + exponent_bits);
  t->mantissa_bits = mantissa_bits;
  t->exponent_bits = exponent_bits;
  t->has_infinity = has_infinity;
  t->finite = has_infinity ? all - (1u << mantissa_bits) : all - 1;
  for (unsigned bits = 0; bits <= t->finite; bits++) {
    int exponent = (int)(bits >> mantissa_bits);
    int mantissa = (int)(bits & ((1u << mantissa_bits) - 1));
    t->value[bits] = exponent
                         ? ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits)
                         : ldexp(mantissa, 1 - bias - mantissa_bits);
  }
  return t;
}

/* The bits of x in the format: rounding is n, z, m or p. With finite, what is too large becomes the
 * largest number; else infinity where the rounding leads there. */
static unsigned look_up(const table *t, double x, char rounding, bool finite) {
  unsigned bits = (unsigned)t->mantissa_bits + (unsigned)t->exponent_bits;
  unsigned sign = signbit(x) ? 1u << bits : 0, low = 0, high = t->finite;
  double size = fabs(x);
  if (isnan(x))
    return (1u << bits) - 1;
  if (isinf(x))
    return sign | (finite ? t->finite - 1 : t->finite);
  while (high - low > 1) {
    unsigned middle = (low + high) / 2;
    if (t->value[middle] <= size)
      low = middle;
    else
      high = middle;
  }
  /* value[low] <= size < value[low + 1], or size lies beyond the table. */
  double below = size - t->value[low], above = t->value[low + 1] - size;
  bool up = false;
  if (rounding == 'n')
    up = below > above || (below == above && low % 2);
  else if (below > 0)
    up = rounding == (sign ? 'm' : 'p');
  low += up;
  if (low >= t->finite && (finite || !t->has_infinity))
    low = t->finite - 1;
  return sign | low;
}

static uint64_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}
static uint64_t bits_of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, 8);
  return bits;
}
static float float_of(uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  float value;
  memcpy(&value, &low, 4);
  return value;
}
static double double_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, 8);
  return value;
}

/* Every value of a table, the middles between them, the doubles around all of these, and specials;
 * with both signs. */
static size_t interesting(const table *t, double *x) {
  size_t n = 0;
  for (unsigned i = 0; i < t->finite; i++) {
    double middle = (t->value[i] + t->value[i + 1]) / 2;
    double near[6] = {
        t->value[i],          nextafter(t->value[i], INFINITY), middle,
        nextafter(middle, 0), nextafter(middle, INFINITY),      nextafter(t->value[i + 1], 0)};
    for (unsigned j = 0; j < 6; j++) {
      x[n++] = near[j];
      x[n++] = -near[j];
    }
  }
  static const double special[] = {INFINITY, NAN, 1e300, 1e-300, 1e38, 1e-42};
  for (unsigned i = 0; i < 6; i++) {
    x[n++] = special[i];
    x[n++] = -special[i];
  }
  return n;
}

enum { MOST = 0x8000 * 12 + 64 };

typedef struct buffers {
  double x[MOST];
  uint64_t in[MOST], out[MOST];
} buffers;

/* f64 and f32 to a 16-bit type in all rounding modes. */
static void check_narrowing(buffers *b, const table *t, const char *type) {
  size_t n = interesting(t, b->x);
  for (unsigned s = 0; s < LANES_SETS; s++)
    for (const char *mode = "nzmp"; *mode && lanes_has(lanes_sets[s]); mode++) {
      char text[64];
      for (size_t i = 0; i < n; i++)
        b->in[i] = bits_of_double(b->x[i]);
      snprintf(text, sizeof text, "cvt.r%c.%s.f64 %%d, %%a;", *mode, type);
      lanes_map(lanes_sets[s], text, "b16", "b64", b->in, b->out, n);
      for (size_t i = 0; i < n; i++) {
        /* A NaN keeps its sign and, here, nothing else. */
        unsigned quiet = t->mantissa_bits == 10 ? 0x7e00 : 0x7fc0;
        unsigned nan = signbit(b->x[i]) ? quiet | 0x8000 : quiet;
        assert_int_equal(b->out[i], isnan(b->x[i]) ? nan : look_up(t, b->x[i], *mode, false));
      }
      for (size_t i = 0; i < n; i++)
        b->in[i] = bits_of_float((float)b->x[i]);
      snprintf(text, sizeof text, "cvt.r%c.%s.f32 %%d, %%a;", *mode, type);
      lanes_map(lanes_sets[s], text, "b16", "b32", b->in, b->out, n);
      for (size_t i = 0; i < n; i++)
        assert_int_equal(b->out[i], look_up(t, (float)b->x[i], *mode, false));
    }
}

/* All 65536 values of a 16-bit type to f32 and f64. */
static void check_widening(buffers *b, const table *t, const char *type) {
  char text[64];
  for (unsigned i = 0; i < 0x10000; i++)
    b->in[i] = i;
  for (unsigned s = 0; s < LANES_SETS; s++)
    for (unsigned wide = 0; wide < 2 && lanes_has(lanes_sets[s]); wide++) {
      snprintf(text, sizeof text, "cvt.f%d.%s %%d, %%a;", wide ? 64 : 32, type);
      lanes_map(lanes_sets[s], text, wide ? "b64" : "b32", "b16", b->in, b->out, 0x10000);
      for (unsigned i = 0; i < 0x10000; i++) {
        double value = wide ? double_of(b->out[i]) : (double)float_of(b->out[i]);
        unsigned bits = i & 0x7fff;
        if (bits > t->finite)
          assert_true(isnan(value));
        else if (bits == t->finite)
          assert_true(isinf(value) && !signbit(value) == !(i & 0x8000));
        else
          assert_true(value == (i & 0x8000 ? -t->value[bits] : t->value[bits]));
      }
    }
}

static void sixteen_bits(void **state) {
  (void)state;
  buffers *b = malloc(sizeof *b);
  assert_non_null(b);
  table *f16 = make_table(10, 5, true), *bf16 = make_table(7, 8, true);
  check_widening(b, f16, "f16");
  check_widening(b, bf16, "bf16");
  check_narrowing(b, f16, "f16");
  check_narrowing(b, bf16, "bf16");
  free(f16);
  free(bf16);
  free(b);
}

/* Pairs: a is the high half. relu clears negative numbers, satfinite keeps to the largest. */
static void pairs(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int mantissa_bits, exponent_bits;
    bool relu, finite;
    char rounding;
  } rows[] = {
      {"cvt.rn.f16x2.f32", 10, 5, false, false, 'n'},
      {"cvt.rz.f16x2.f32", 10, 5, false, false, 'z'},
      {"cvt.rn.relu.f16x2.f32", 10, 5, true, false, 'n'},
      {"cvt.rn.satfinite.f16x2.f32", 10, 5, false, true, 'n'},
      {"cvt.rn.bf16x2.f32", 7, 8, false, false, 'n'},
      {"cvt.rz.relu.bf16x2.f32", 7, 8, true, false, 'z'},
      {"cvt.rn.satfinite.e4m3x2.f32", 3, 4, false, true, 'n'},
      {"cvt.rn.satfinite.relu.e4m3x2.f32", 3, 4, true, true, 'n'},
      {"cvt.rn.satfinite.e5m2x2.f32", 2, 5, false, true, 'n'},
  };
  buffers *b = malloc(sizeof *b);
  assert_non_null(b);
  for (unsigned r = 0; r < sizeof rows / sizeof *rows; r++) {
    bool small = rows[r].mantissa_bits < 7;
    unsigned bits = small ? 8 : 16, sign = 1u << (bits - 1);
    table *t = make_table(rows[r].mantissa_bits, rows[r].exponent_bits, rows[r].mantissa_bits != 3);
    size_t n = interesting(t, b->x);
    for (size_t i = 0; i < n; i++)
      b->in[i] = bits_of_float((float)b->x[i]) << 32 | bits_of_float((float)b->x[n - 1 - i]);
    char text[256];
    snprintf(text, sizeof text, ".reg .b32 %%h, %%l; mov.b64 {%%l, %%h}, %%a; %s %%d, %%h, %%l;",
             rows[r].text);
    lanes_map(NULL, text, small ? "b16" : "b32", "b64", b->in, b->out, n);
    for (size_t i = 0; i < n; i++) {
      unsigned expected = 0;
      for (unsigned half = 0; half < 2; half++) {
        float x = (float)b->x[half ? i : n - 1 - i];
        unsigned one = look_up(t, x, rows[r].rounding, rows[r].finite);
        if (rows[r].relu && one & sign)
          one = 0;
        expected |= one << half * bits;
      }
      assert_int_equal(b->out[i], expected);
    }
    free(t);
  }
  free(b);
}

/* All pairs of bytes to f16x2 and, from there, back. */
static void bytes(void **state) {
  (void)state;
  static const char *const types[] = {"e4m3x2", "e5m2x2"};
  table *f16 = make_table(10, 5, true);
  uint64_t *in = calloc(0x10000, 8), *out = calloc(0x10000, 8), *back = calloc(0x10000, 8);
  assert_true(in && out && back);
  for (unsigned i = 0; i < 0x10000; i++)
    in[i] = i;
  for (unsigned k = 0; k < 2; k++) {
    char text[64];
    table *t = make_table(k ? 2 : 3, k ? 5 : 4, k);
    snprintf(text, sizeof text, "cvt.rn.f16x2.%s %%d, %%a;", types[k]);
    lanes_map(NULL, text, "b32", "b16", in, out, 0x10000);
    snprintf(text, sizeof text, "cvt.rn.satfinite.%s.f16x2 %%d, %%a;", types[k]);
    lanes_map(NULL, text, "b16", "b32", out, back, 0x10000);
    for (unsigned i = 0; i < 0x10000; i++)
      for (unsigned half = 0; half < 2; half++) {
        unsigned byte = i >> 8 * half & 255, bits = byte & 127;
        unsigned got = (unsigned)(out[i] >> 16 * half & 0xffff);
        unsigned again = (unsigned)(back[i] >> 8 * half & 255);
        if (bits < t->finite) {
          assert_int_equal(got, look_up(f16, t->value[bits], 'n', false) | (byte & 128) << 8);
          assert_int_equal(again, byte);
        } else if (bits == t->finite && k) {
          assert_int_equal(got, 0x7c00 | (byte & 128) << 8);
          assert_int_equal(again, 0x7b | (byte & 128));
        } else {
          assert_int_equal(got, 0x7fff);
          assert_int_equal(again, 0x7f);
        }
      }
    free(t);
  }
  free(f16);
  free(in);
  free(out);
  free(back);
}

/* ---- Integers ---- */

__extension__ typedef __int128 wide_integer;

typedef struct integer {
  const char *name;
  int bits;
  bool is_signed;
} integer;

static const integer integers[] = {{"u8", 8, false},   {"s8", 8, true},    {"u16", 16, false},
                                   {"s16", 16, true},  {"u32", 32, false}, {"s32", 32, true},
                                   {"u64", 64, false}, {"s64", 64, true}};

static const char *register_of(int bits) { return bits <= 16 ? "b16" : bits == 32 ? "b32" : "b64"; }

/* The low bits of a register as a number. */
static wide_integer number_of(const integer *type, uint64_t bits) {
  uint64_t kept = type->bits == 64 ? bits : bits & ((UINT64_C(1) << type->bits) - 1);
  if (type->is_signed && kept >> (type->bits - 1))
    return (wide_integer)kept - ((wide_integer)1 << type->bits);
  return (wide_integer)kept;
}

/* A number as it lies in a register of so many bits: cut to the type, then extended. */
static uint64_t place(const integer *type, wide_integer number, int register_bits) {
  wide_integer value = number_of(type, (uint64_t)number);
  uint64_t mask = register_bits == 64 ? UINT64_MAX : (UINT64_C(1) << register_bits) - 1;
  return (uint64_t)value & mask;
}

static wide_integer least(const integer *type) {
  return type->is_signed ? -((wide_integer)1 << (type->bits - 1)) : 0;
}
static wide_integer most(const integer *type) {
  return ((wide_integer)1 << (type->bits - type->is_signed)) - 1;
}
static wide_integer clamp(const integer *type, wide_integer number) {
  return number < least(type) ? least(type) : number > most(type) ? most(type) : number;
}

/* Every type to every type, with and without sat, in registers as wide as the type and wider. */
static void between_integers(void **state) {
  (void)state;
  enum { N = 224 };
  uint64_t in[N], out[N];
  test_random random = {3};
  for (unsigned i = 0; i < N; i++) {
    in[i] = random_bits(&random);
    if (i % 7 == 0)
      in[i] = (uint64_t)(int64_t)((int)(i / 7) - 16) << (i % 4 * 8);
    else
      in[i] >>= i % 64;
  }
  static const int widths[] = {16, 32, 64};
  for (unsigned f = 0; f < 8; f++)
    for (unsigned t = 0; t < 8; t++)
      for (unsigned sat = 0; sat < 2; sat++)
        for (unsigned w = 0; w < 9; w++) {
          const integer *from = &integers[f], *to = &integers[t];
          int from_bits = widths[w / 3], to_bits = widths[w % 3];
          char text[64];
          if (from_bits < from->bits || to_bits < to->bits)
            continue;
          snprintf(text, sizeof text, "cvt%s.%s.%s %%d, %%a;", sat ? ".sat" : "", to->name,
                   from->name);
          lanes_map(NULL, text, register_of(to_bits), register_of(from_bits), in, out, N);
          for (unsigned i = 0; i < N; i++) {
            wide_integer number = number_of(from, in[i]);
            assert_int_equal(out[i], place(to, sat ? clamp(to, number) : number, to_bits));
          }
        }
}

/* x rounded to an integral value: i nearest even, z, m, p. */
static long double integral(long double x, char rounding) {
  long double down = floorl(x), part = x - down;
  switch (rounding) {
  case 'n':
    if (part > 0.5L || (part == 0.5L && fmodl(down, 2) != 0))
      return down + 1;
    return down;
  case 'z':
    return x < 0 && part > 0 ? down + 1 : down;
  case 'm':
    return down;
  default:
    return part > 0 ? down + 1 : down;
  }
}

/* Numbers around the limits of all integer types, halves, specials. */
static size_t limits(double *x) {
  size_t n = 0;
  for (int e = -2; e <= 65; e++)
    for (int part = -3; part <= 3; part++) {
      double base = ldexp(1, e);
      double near[] = {base + part * 0.5, base + part * 0.25, nextafter(base, part)};
      for (unsigned i = 0; i < 3; i++) {
        x[n++] = near[i];
        x[n++] = -near[i];
      }
    }
  static const double special[] = {0, INFINITY, NAN, 1e30, 1e-40, 1e300, 0.49999999999999994};
  for (unsigned i = 0; i < 7; i++) {
    x[n++] = special[i];
    x[n++] = -special[i];
  }
  return n;
}

/* The PTX ISA's result for NaN: 0, or the highest bit where either side has 64. */
static uint64_t nan_result(const integer *to, bool from_double) {
  return from_double || to->bits == 64
             ? place(to, (wide_integer)1 << (to->bits - 1), to->bits < 16 ? 16 : to->bits)
             : 0;
}

static void to_integers(void **state) {
  (void)state;
  static double x[4096];
  static uint64_t in[4096], out[4096];
  size_t n = limits(x);
  for (unsigned s = 0; s < LANES_SETS; s++)
    for (unsigned wide = 0; wide < 2 && lanes_has(lanes_sets[s]); wide++)
      for (unsigned t = 0; t < 8; t++)
        for (const char *mode = "nzmp"; *mode; mode++) {
          const integer *to = &integers[t];
          char text[64];
          for (size_t i = 0; i < n; i++)
            in[i] = wide ? bits_of_double(x[i]) : bits_of_float((float)x[i]);
          snprintf(text, sizeof text, "cvt.r%ci.%s.f%d %%d, %%a;", *mode, to->name, wide ? 64 : 32);
          lanes_map(lanes_sets[s], text, register_of(to->bits), wide ? "b64" : "b32", in, out, n);
          for (size_t i = 0; i < n; i++) {
            long double exact = wide ? x[i] : (long double)(float)x[i];
            long double low = (long double)least(to), high = (long double)most(to);
            uint64_t expected;
            if (isnan(x[i])) {
              expected = nan_result(to, wide);
            } else {
              long double value = isinf(exact) ? exact : integral(exact, *mode);
              value = value < low ? low : value > high ? high : value;
              expected = place(to, (wide_integer)value, to->bits < 16 ? 16 : to->bits);
            }
            assert_int_equal(out[i], expected);
          }
        }
}

/* An integer next to a float or double, by comparing with the neighbours of the nearest. */
static long double rounded(long double exact, char rounding, bool wide) {
  long double near = wide ? (double)exact : (float)exact;
  long double up = wide ? nextafter((double)near, INFINITY) : nextafterf((float)near, INFINITY);
  long double down = wide ? nextafter((double)near, -INFINITY) : nextafterf((float)near, -INFINITY);
  if (rounding == 'n' || near == exact)
    return near;
  bool upwards = rounding == 'p' || (rounding == 'z' && exact < 0);
  if (upwards)
    return near > exact ? near : up;
  return near < exact ? near : down;
}

static void from_integers(void **state) {
  (void)state;
  enum { N = 1024 };
  static uint64_t in[N], out[N];
  test_random random = {8};
  for (unsigned i = 0; i < N; i++) {
    in[i] = random_bits(&random) >> i % 64;
    if (i % 3 == 0) /* ties and their neighbours for 24 and 53 bits */
      in[i] = ((in[i] | 1) << (i % 2 ? 39 : 10)) + (UINT64_C(1) << (i % 2 ? 38 : 9)) + i % 5 - 2;
  }
  for (unsigned wide = 0; wide < 2; wide++)
    for (unsigned f = 0; f < 8; f++)
      for (const char *mode = "nzmp"; *mode; mode++) {
        const integer *from = &integers[f];
        char text[64];
        snprintf(text, sizeof text, "cvt.r%c.f%d.%s %%d, %%a;", *mode, wide ? 64 : 32, from->name);
        lanes_map(NULL, text, wide ? "b64" : "b32", register_of(from->bits), in, out, N);
        for (unsigned i = 0; i < N; i++) {
          long double exact = (long double)number_of(from, in[i]);
          long double got = wide ? double_of(out[i]) : (long double)float_of(out[i]);
          assert_true(got == rounded(exact, *mode, wide));
        }
      }
  /* To f16: integers of 64 bits are rounded once. */
  table *f16 = make_table(10, 5, true);
  lanes_map(NULL, "cvt.rn.f16.s32 %d, %a;", "b16", "b32", in, out, N);
  for (unsigned i = 0; i < N; i++)
    assert_int_equal(out[i], look_up(f16, (int32_t)in[i], 'n', false));
  for (unsigned i = 0; i < N; i++)
    in[i] = 2048 + i % 64 * 2 + i / 512;
  lanes_map(NULL, "cvt.rp.f16.u64 %d, %a;", "b16", "b64", in, out, N);
  for (unsigned i = 0; i < N; i++)
    assert_int_equal(out[i], look_up(f16, (double)in[i], 'p', false));
  free(f16);
}

/* ---- One by one ---- */

typedef struct one {
  const char *text, *to, *from;
  uint64_t in, out;
} one;

static const one ones[] = {
    /* Rounding to integral values keeps the sign of 0 and the type. */
    {"cvt.rni.f32.f32", "b32", "b32", 0x40200000, 0x40000000},
    {"cvt.rni.f32.f32", "b32", "b32", 0xbe800000, 0x80000000},
    {"cvt.rzi.f32.f32", "b32", "b32", 0xc02ccccd, 0xc0000000},
    {"cvt.rmi.f32.f32", "b32", "b32", 0xc02ccccd, 0xc0400000},
    {"cvt.rpi.f64.f64", "b64", "b64", 0x4005999999999999, 0x4008000000000000},
    {"cvt.rni.f64.f64", "b64", "b64", 0x4004000000000000, 0x4000000000000000},
    {"cvt.rni.f16.f16", "b16", "b16", 0x4100, 0x4000},
    {"cvt.rpi.ftz.f32.f32", "b32", "b32", 0x00000001, 0},
    {"cvt.rpi.f32.f32", "b32", "b32", 0x00000001, 0x3f800000},
    {"cvt.rpi.ftz.s32.f32", "b32", "b32", 0x00000001, 0},
    {"cvt.rpi.s32.f32", "b32", "b32", 0x00000001, 1},
    {"cvt.rni.s32.f16", "b32", "b16", 0xfc00, 0x80000000},
    {"cvt.rzi.u32.bf16", "b32", "b16", 0x4049, 3},
    /* Saturation to [0, 1]. */
    {"cvt.sat.f32.f32", "b32", "b32", 0x40000000, 0x3f800000},
    {"cvt.sat.f32.f32", "b32", "b32", 0xc0000000, 0},
    {"cvt.sat.f32.f32", "b32", "b32", 0x7fc00000, 0},
    {"cvt.rn.sat.f16.f32", "b16", "b32", 0x40000000, 0x3c00},
    {"cvt.rn.sat.f32.s32", "b32", "b32", 7, 0x3f800000},
    /* f64 to f32. */
    {"cvt.rn.f32.f64", "b32", "b64", 0x3ff0000010000000, 0x3f800000},
    {"cvt.rp.f32.f64", "b32", "b64", 0x3ff0000010000000, 0x3f800001},
    {"cvt.rn.f32.f64", "b32", "b64", 0x7ff8000000000001, 0x7fc00000},
    {"cvt.rz.f32.f64", "b32", "b64", 0xfff8000020000000, 0xffc00001},
    {"cvt.ftz.f32.f32", "b32", "b32", 0xffc00001, 0x7fffffff},
    {"cvt.f64.f16", "b64", "b16", 0x7c01, 0x7ff8040000000000},
    {"cvt.f32.bf16", "b32", "b16", 0xff81, 0xff810000},
    {"cvt.f32.f16", "b32", "b16", 0x7c01, 0x7fffffff},
    {"cvt.rn.f32.f64", "b32", "b64", 0x36a0000000000000, 0x00000001},
    {"cvt.rn.ftz.f32.f64", "b32", "b64", 0x36a0000000000000, 0},
    {"cvt.rz.f32.f64", "b32", "b64", 0x7fefffffffffffff, 0x7f7fffff},
    {"cvt.ftz.f64.f32", "b64", "b32", 0x80000001, 0x8000000000000000},
    {"cvt.f64.f32", "b64", "b32", 0x00000001, 0x36a0000000000000},
    /* tf32: ties away from zero, or to even. */
    {"cvt.rna.tf32.f32", "b32", "b32", 0x3f801000, 0x3f802000},
    {"cvt.rna.tf32.f32", "b32", "b32", 0x3f800fff, 0x3f800000},
    {"cvt.rn.tf32.f32", "b32", "b32", 0x3f801000, 0x3f800000},
    {"cvt.rz.tf32.f32", "b32", "b32", 0x3f803fff, 0x3f802000},
    {"cvt.rn.relu.tf32.f32", "b32", "b32", 0xbf800000, 0},
    {"cvt.rna.tf32.f32", "b32", "b32", 0x7f800001, 0x7f800000},
    {"cvt.rn.tf32.f32", "b32", "b32", 0x7fc00000, 0x7fffe000},
    {"cvt.rna.satfinite.tf32.f32", "b32", "b32", 0x7f7fffff, 0x7f7fe000},
    /* bf16 and f16. */
    {"cvt.rn.bf16.f16", "b16", "b16", 0x3c01, 0x3f80},
    {"cvt.rn.relu.f16.f32", "b16", "b32", 0xbf800000, 0},
    {"cvt.rn.satfinite.bf16.f32", "b16", "b32", 0x7f800000, 0x7f7f},
};

static void one_by_one(void **state) {
  (void)state;
  for (unsigned i = 0; i < sizeof ones / sizeof *ones; i++) {
    char text[128];
    uint64_t out;
    snprintf(text, sizeof text, "%s %%d, %%a;", ones[i].text);
    lanes_map(NULL, text, ones[i].to, ones[i].from, &ones[i].in, &out, 1);
    if (out != ones[i].out)
      fail_msg("%s of 0x%llx: 0x%llx, not 0x%llx", ones[i].text, (unsigned long long)ones[i].in,
               (unsigned long long)out, (unsigned long long)ones[i].out);
  }
}

static void packs(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint32_t out;
  } rows[] = {
      {"cvt.pack.sat.s16.s32 %d, 70000, -70000;", 0x7fff8000},
      {"cvt.pack.sat.u16.s32 %d, 70000, -1;", 0xffff0000},
      {"cvt.pack.sat.u8.s32.b32 %d, 300, 17, %a;", 0x5678ff11},
      {"cvt.pack.sat.s8.s32.b32 %d, -300, 17, %a;", 0x56788011},
  };
  for (unsigned i = 0; i < 4; i++) {
    uint64_t in = 0x12345678, out;
    lanes_map(NULL, rows[i].text, "b32", "b32", &in, &out, 1);
    assert_int_equal(out, rows[i].out);
  }
}

static void other_forms_are_refused(void **state) {
  (void)state;
  lanes_refused("", ".reg .b16 %h; .reg .b32 %a; cvt.rn.satfinite.e2m3x2.f32 %h, %a, %a;", "cvt");
  lanes_refused("", ".reg .b32 %a; .reg .f32 %f; cvt.s32.f32 %a, %f;", "rounding mode");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sixteen_bits),
      cmocka_unit_test(pairs),
      cmocka_unit_test(bytes),
      cmocka_unit_test(between_integers),
      cmocka_unit_test(to_integers),
      cmocka_unit_test(from_integers),
      cmocka_unit_test(one_by_one),
      cmocka_unit_test(packs),
      cmocka_unit_test(other_forms_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
