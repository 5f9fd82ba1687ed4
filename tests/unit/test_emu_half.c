/* Arithmetic of f16 and bf16. The reference adds and multiplies exactly, in integers (f16) or in
 * 113 bits (bf16), and looks for the nearest value among all values of the type. */
#include "emu_lanes.h"
#include "random.h"

#include <math.h>

__extension__ typedef __int128 wide_integer;
__extension__ typedef __float128 wide_float;

/* ---- Exact values of f16 in units of 2^-48 ---- */

static wide_integer units(unsigned bits) {
  int exponent = (int)(bits >> 10 & 31);
  wide_integer mantissa = (wide_integer)(bits & 1023) + (exponent ? 1024 : 0);
  wide_integer size = mantissa << ((exponent ? exponent : 1) - 1 + 24);
  return bits & 0x8000 ? -size : size;
}

/* The f16 nearest to a number of units, ties to even; zero is positive. */
static unsigned nearest_f16(wide_integer number) {
  wide_integer size = number < 0 ? -number : number;
  unsigned low = 0, high = 0x7c00, sign = number < 0 ? 0x8000 : 0;
  while (high - low > 1) {
    unsigned middle = (low + high) / 2;
    if (units(middle) <= size)
      low = middle;
    else
      high = middle;
  }
  wide_integer next = low + 1 == 0x7c00 ? (wide_integer)65536 << 48 : units(low + 1);
  wide_integer below = size - units(low), above = next - size;
  return sign | (low + (below > above || (below == above && low % 2)));
}

static bool is_special_f16(unsigned bits) { return (bits & 0x7c00) == 0x7c00; }

/* Random halves; every other triple has a product and a sum of similar size. */
static void random_halves(test_random *random, uint64_t *in, unsigned n, unsigned exponent_bits) {
  unsigned mantissa_bits = 15 - exponent_bits;
  for (unsigned i = 0; i < n; i++) {
    unsigned a = (unsigned)random_bits(random) & 0xffff, b = (unsigned)random_bits(random) & 0xffff;
    unsigned c = (unsigned)random_bits(random) & 0xffff;
    if (i % 2) {
      int bias = (1 << (exponent_bits - 1)) - 1, all = (1 << exponent_bits) - 1;
      int exponent = (int)(a >> mantissa_bits & (unsigned)all) +
                     (int)(b >> mantissa_bits & (unsigned)all) - bias +
                     (int)random_below(random, 5) - 2;
      if (exponent >= 0 && exponent < all)
        c = (c & (0x8000 | ((1u << mantissa_bits) - 1))) | (unsigned)exponent << mantissa_bits;
    }
    in[i] = a | (uint64_t)b << 16 | (uint64_t)c << 32;
  }
}

enum { N = 1 << 15 };

static const char unpack[] = ".reg .b16 %x, %y, %z, %n; mov.b64 {%x, %y, %z, %n}, %a; ";

static void exact_f16(void **state) {
  (void)state;
  static const char *const text[] = {"add.f16 %d, %x, %y;", "sub.f16 %d, %x, %y;",
                                     "mul.f16 %d, %x, %y;", "fma.rn.f16 %d, %x, %y, %z;"};
  static uint64_t in[N], out[N];
  test_random random = {77};
  random_halves(&random, in, N, 5);
  for (unsigned s = 0; s < LANES_SETS; s++)
    for (unsigned k = 0; k < 4 && lanes_has(lanes_sets[s]); k++) {
      char body[256];
      snprintf(body, sizeof body, "%s%s", unpack, text[k]);
      lanes_map(lanes_sets[s], body, "b16", "b64", in, out, N);
      for (unsigned i = 0; i < N; i++) {
        unsigned a = in[i] & 0xffff, b = in[i] >> 16 & 0xffff, c = in[i] >> 32 & 0xffff;
        if (is_special_f16(a) || is_special_f16(b) || is_special_f16(c))
          continue;
        wide_integer product = (units(a) >> 24) * (units(b) >> 24);
        wide_integer exact = k == 0   ? units(a) + units(b)
                             : k == 1 ? units(a) - units(b)
                             : k == 2 ? product
                                      : product + units(c);
        unsigned expected = nearest_f16(exact);
        if (exact == 0) /* the sign of a zero is that of the host's arithmetic: tested below */
          assert_int_equal(out[i] & 0x7fff, 0);
        else
          assert_int_equal(out[i], expected);
      }
    }
}

/* ---- bf16 ---- */

static wide_float value_bf16(unsigned bits) {
  uint32_t wide = bits << 16;
  float value;
  memcpy(&value, &wide, 4);
  return value;
}

/* The bf16 nearest to x. */
static unsigned nearest_bf16(wide_float x) {
  unsigned sign = x < 0 ? 0x8000 : 0, low = 0, high = 0x7f80;
  wide_float size = x < 0 ? -x : x;
  while (high - low > 1) {
    unsigned middle = (low + high) / 2;
    if (value_bf16(middle) <= size)
      low = middle;
    else
      high = middle;
  }
  wide_float next = low + 1 == 0x7f80 ? (wide_float)0x1p128 : value_bf16(low + 1);
  wide_float below = size - value_bf16(low), above = next - size;
  return sign | (low + (below > above || (below == above && low % 2)));
}

static void exact_bf16(void **state) {
  (void)state;
  static const char *const text[] = {"add.rn.bf16 %d, %x, %y;", "sub.rn.bf16 %d, %x, %y;",
                                     "mul.rn.bf16 %d, %x, %y;", "fma.rn.bf16 %d, %x, %y, %z;"};
  static uint64_t in[N], out[N];
  test_random random = {78};
  random_halves(&random, in, N, 8);
  for (unsigned s = 0; s < LANES_SETS; s++)
    for (unsigned k = 0; k < 4 && lanes_has(lanes_sets[s]); k++) {
      char body[256];
      snprintf(body, sizeof body, "%s%s", unpack, text[k]);
      lanes_map(lanes_sets[s], body, "b16", "b64", in, out, N);
      for (unsigned i = 0; i < N; i++) {
        wide_float a = value_bf16(in[i] & 0xffff), b = value_bf16(in[i] >> 16 & 0xffff);
        wide_float c = value_bf16(in[i] >> 32 & 0xffff);
        if (a - a != 0 || b - b != 0 || c - c != 0)
          continue;
        wide_float p = a * b, x = k == 0 ? a : k == 1 ? a : p, y = k == 0 ? b : k == 1 ? -b : c;
        wide_float exact = k == 2 ? p : x + y;
        /* 113 bits may be too few for very different sizes: these are tested below. */
        if (k != 2 && (exact - x != y || exact - y != x))
          continue;
        assert_int_equal(out[i] & (exact == 0 ? 0x7fff : 0xffff), nearest_bf16(exact));
      }
    }
}

/* ---- One by one: a, b, c and the result ---- */

typedef struct one {
  const char *text;
  unsigned a, b, c, d;
} one;

static const one ones[] = {
    /* Ties that an addend far below decides: 1.5 * 1.421875 and 1.5 * 1.390625. */
    {"fma.rn.bf16 %d, %x, %y, %z;", 0x3fc0, 0x3fb6, 0x0000, 0x4008},
    {"fma.rn.bf16 %d, %x, %y, %z;", 0x3fc0, 0x3fb6, 0x0001, 0x4009},
    {"fma.rn.bf16 %d, %x, %y, %z;", 0x3fc0, 0x3fb2, 0x0000, 0x4006},
    {"fma.rn.bf16 %d, %x, %y, %z;", 0x3fc0, 0x3fb2, 0x8001, 0x4005},
    {"fma.rn.f16 %d, %x, %y, %z;", 0x7c00, 0x0000, 0x3c00, 0x7fff},
    {"fma.rn.f16 %d, %x, %y, %z;", 0x7bff, 0x7bff, 0xfc00, 0xfc00},
    {"fma.rn.relu.f16 %d, %x, %y, %z;", 0x3c00, 0xbc00, 0x0000, 0x0000},
    {"fma.rn.relu.f16 %d, %x, %y, %z;", 0x7e00, 0xbc00, 0x0000, 0x7fff},
    {"fma.rn.sat.f16 %d, %x, %y, %z;", 0x4000, 0x4000, 0x0000, 0x3c00},
    {"fma.rn.sat.f16 %d, %x, %y, %z;", 0x7e00, 0x4000, 0x0000, 0x0000},
    {"fma.rn.ftz.f16 %d, %x, %y, %z;", 0x0001, 0x7bff, 0x0000, 0x0000},
    {"add.f16 %d, %x, %y;", 0x8000, 0x8000, 0, 0x8000},
    {"add.f16 %d, %x, %y;", 0x3c00, 0xbc00, 0, 0x0000},
    {"add.f16 %d, %x, %y;", 0x7c00, 0xfc00, 0, 0x7fff},
    {"add.f16 %d, %x, %y;", 0x7bff, 0x4c00, 0, 0x7c00},
    {"add.ftz.f16 %d, %x, %y;", 0x0001, 0x0001, 0, 0x0000},
    {"add.sat.f16 %d, %x, %y;", 0x3c00, 0x3c00, 0, 0x3c00},
    {"mul.f16 %d, %x, %y;", 0xfc00, 0x3c00, 0, 0xfc00},
    {"neg.f16 %d, %x;", 0x3c00, 0, 0, 0xbc00},
    {"abs.bf16 %d, %x;", 0xbf80, 0, 0, 0x3f80},
    {"min.f16 %d, %x, %y;", 0x7e00, 0x3c00, 0, 0x3c00},
    {"min.f16 %d, %x, %y;", 0x0000, 0x8000, 0, 0x8000},
    {"max.f16 %d, %x, %y;", 0x8000, 0x0000, 0, 0x0000},
    {"max.f16 %d, %x, %y;", 0x7e00, 0xfe00, 0, 0x7fff},
    {"max.NaN.f16 %d, %x, %y;", 0x7e00, 0x3c00, 0, 0x7fff},
    {"max.bf16 %d, %x, %y;", 0xc000, 0xbf80, 0, 0xbf80},
    {"min.NaN.bf16 %d, %x, %y;", 0xc000, 0xbf80, 0, 0xc000},
    {"min.xorsign.abs.f16 %d, %x, %y;", 0xc000, 0x3c00, 0, 0xbc00},
    {"max.NaN.xorsign.abs.f16 %d, %x, %y;", 0xc000, 0xbc00, 0, 0x4000},
    {"ex2.approx.f16 %d, %x;", 0x4200, 0, 0, 0x4800},
    {"ex2.approx.f16 %d, %x;", 0xfc00, 0, 0, 0x0000},
    {"ex2.approx.ftz.bf16 %d, %x;", 0xc000, 0, 0, 0x3e80},
    {"tanh.approx.f16 %d, %x;", 0x7c00, 0, 0, 0x3c00},
    {"tanh.approx.f16 %d, %x;", 0x3c00, 0, 0, 0x3a18},
    {"tanh.approx.bf16 %d, %x;", 0x8000, 0, 0, 0x8000},
};

static void one_by_one(void **state) {
  (void)state;
  for (unsigned i = 0; i < sizeof ones / sizeof *ones; i++) {
    char body[256];
    uint64_t in = ones[i].a | (uint64_t)ones[i].b << 16 | (uint64_t)ones[i].c << 32, out;
    snprintf(body, sizeof body, "%s%s", unpack, ones[i].text);
    lanes_map(NULL, body, "b16", "b64", &in, &out, 1);
    if (out != ones[i].d)
      fail_msg("%s of %04x %04x %04x: %04llx", ones[i].text, ones[i].a, ones[i].b, ones[i].c,
               (unsigned long long)out);
  }
}

/* Pairs give what their halves give. */
static void pairs(void **state) {
  (void)state;
  static const char *const text[] = {
      "add%s.%s", "sub%s.%s", "mul%s.%s", "fma.rn%s.%s", "min%s.%s", "max%s.%s", "neg%s.%s",
  };
  static const char *const types[] = {"f16", "bf16"};
  static uint64_t in[1024], low[1024], high[1024], both[1024];
  test_random random = {79};
  for (unsigned i = 0; i < 1024; i++)
    in[i] = random_bits(&random);
  for (unsigned flag = 0; flag < 2; flag++)
    for (unsigned type = 0; type < 2; type++)
      for (unsigned k = 0; k < 7; k++) {
        char name[64], body[512];
        if (flag && type)
          continue;
        snprintf(name, sizeof name, text[k], flag ? ".ftz" : "", types[type]);
        const char *operands = k == 3 ? "%x, %y, %x" : k == 6 ? "%x" : "%x, %y";
        /* x is the low word of the input, y the high one. */
        snprintf(body, sizeof body,
                 ".reg .b16 %%l, %%x, %%m, %%y; mov.b64 {%%l, %%x, %%m, %%y}, "
                 "%%a; %s %%d, %s;",
                 name, operands);
        lanes_map(NULL, body, "b16", "b64", in, high, 1024);
        snprintf(body, sizeof body,
                 ".reg .b16 %%x, %%h, %%y, %%i; mov.b64 {%%x, %%h, %%y, %%i}, "
                 "%%a; %s %%d, %s;",
                 name, operands);
        lanes_map(NULL, body, "b16", "b64", in, low, 1024);
        snprintf(body, sizeof body, ".reg .b32 %%x, %%y; mov.b64 {%%x, %%y}, %%a; %sx2 %%d, %s;",
                 name, operands);
        lanes_map(NULL, body, "b32", "b64", in, both, 1024);
        for (unsigned i = 0; i < 1024; i++)
          assert_int_equal(both[i], low[i] | high[i] << 16);
      }
}

/* Pairs of f32 are two f32, by every rounding, flushed or not. */
static void pairs_of_singles(void **state) {
  (void)state;
  static const char *const operations[] = {"add", "sub", "mul", "fma"};
  static const char *const modifiers[] = {".rn", ".rz", ".rm", ".rp", ".rn.ftz", ".rz.ftz"};
  enum { COUNT = 256 };
  static uint64_t in[COUNT], pair[COUNT], single[COUNT];
  uint64_t random = 1;
  for (unsigned i = 0; i < COUNT; i++) { /* many of them denormal, infinite, or not a number */
    random = random * 6364136223846793005u + 1442695040888963407u;
    in[i] = i % 4 ? random : random & UINT64_C(0x807fffffff8fffff);
  }
  for (unsigned i = 0; i < 4 * 6; i++) {
    const char *name = operations[i / 6], *modifier = modifiers[i % 6];
    const char *third = i / 6 == 3 ? ", %x" : "", *lower = i / 6 == 3 ? ", %u" : "";
    const char *upper = i / 6 == 3 ? ", %v" : "";
    char body[600];
    snprintf(
        body, sizeof body,
        ".reg .b64 %%x; .reg .b32 %%u, %%v; mov.b64 {%%u, %%v}, %%a; mov.b64 %%x, {%%v, %%u};\n"
        "%s%s.f32x2 %%d, %%a, %%x%s;",
        name, modifier, third);
    lanes_map(NULL, body, "b64", "b64", in, pair, COUNT);
    snprintf(body, sizeof body,
             ".reg .f32 %%u, %%v, %%p, %%q; mov.b64 {%%u, %%v}, %%a;\n"
             "%s%s.f32 %%p, %%u, %%v%s; %s%s.f32 %%q, %%v, %%u%s; mov.b64 %%d, {%%p, %%q};",
             name, modifier, upper, name, modifier, lower);
    lanes_map(NULL, body, "b64", "b64", in, single, COUNT);
    for (unsigned j = 0; j < COUNT; j++)
      assert_int_equal(pair[j], single[j]);
  }
}

static void other_forms_are_refused(void **state) {
  (void)state;
  lanes_refused("", ".reg .b16 %a; fma.rn.oob.f16 %a, %a, %a, %a;", "16-bit");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_f16),        cmocka_unit_test(exact_bf16),
      cmocka_unit_test(one_by_one),       cmocka_unit_test(pairs),
      cmocka_unit_test(pairs_of_singles), cmocka_unit_test(other_forms_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
