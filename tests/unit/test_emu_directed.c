/* Arithmetic rounded without the rounding mode of the host, against the host itself. */
#include "emu/directed.h"
#include "emu/rounding.h"

#include "random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const bf_emu_rounding roundings[] = {BF_EMU_RN, BF_EMU_RZ, BF_EMU_RM, BF_EMU_RP};

/* A double of any kind: any bits, near 1, few bits, denormal, a special value. */
static double random_double(test_random *state) {
  static const double special[] = {0.0,
                                   -0.0,
                                   1.0,
                                   -1.0,
                                   0x1p-1074,
                                   -0x1p-1022,
                                   0x1.fffffffffffffp1023,
                                   3.0,
                                   0x1p-537,
                                   -0x1.fffffffffffffp1023,
                                   INFINITY,
                                   -INFINITY};
  uint64_t bits = random_bits(state), kind = random_bits(state) % 6;
  switch (kind) {
  case 0:
    return special[bits % (sizeof special / sizeof *special)];
  case 1:
    return bf_emu_bits_double(bits & UINT64_C(0x800fffffffffffff));
  case 2:
    return bf_emu_bits_double((bits & UINT64_C(0x803fffffffffffff)) | UINT64_C(0x3fc0000000000000));
  case 3:
    return (double)((int64_t)bits >> (bits & 63)) * 0x1p-20;
  default:
    return bf_emu_bits_double(bits);
  }
}

static float random_float(test_random *state) {
  uint64_t bits = random_bits(state);
  uint32_t low = (uint32_t)bits;
  switch (bits >> 32 & 3) {
  case 0:
    return bf_emu_bits_float(low & 0x807fffff);
  case 1:
    return bf_emu_bits_float((low & 0x81ffffff) | 0x3e000000);
  case 2:
    return (float)random_double(state);
  default:
    return bf_emu_bits_float(low);
  }
}

/* What the host makes of two or three numbers. */
#define HOST(type, name, expression)                                                               \
  static type name(type a, type b, type c, bf_emu_rounding rounding) {                             \
    volatile type x = a, y = b, z = c, result;                                                     \
    bf_emu_saved_rounding saved = bf_emu_rounding_set(rounding);                                   \
    result = expression;                                                                           \
    bf_emu_rounding_restore(saved);                                                                \
    (void)y, (void)z;                                                                              \
    return result;                                                                                 \
  }
HOST(double, host_sum, x + y)
HOST(double, host_product, x *y)
HOST(double, host_quotient, x / y)
HOST(double, host_fma, fma(x, y, z))
HOST(double, host_root, sqrt(x))
HOST(float, host_sum_f, x + y)
HOST(float, host_product_f, x *y)
HOST(float, host_quotient_f, x / y)
HOST(float, host_fma_f, fmaf(x, y, z))
HOST(float, host_root_f, sqrtf(x))

static void assert_same(double host, double own) {
  if (host != host)
    assert_true(own != own);
  else
    assert_int_equal(bf_emu_double_bits(host), bf_emu_double_bits(own));
}

/* All operations on numbers that make makes, of a format. */
#define COMPARE(type, f, make, wanted)                                                             \
  static void test_##type(void **state) {                                                          \
    (void)state;                                                                                   \
    test_random seed = {88172645463325252u};                                                       \
    for (unsigned i = 0; i < 200000; i++) {                                                        \
      type x = make(&seed), y = make(&seed), z = make(&seed);                                      \
      if (i % 5 == 0)                                                                              \
        z = -(type)(x * y);                                                                        \
      bf_emu_target target = {&bf_emu_format_##wanted, roundings[i % 4]};                          \
      bf_emu_rounding how = target.rounding;                                                       \
      assert_same(host_sum##f(x, y, z, how), bf_emu_directed_fma(x, 1, y, target));                \
      assert_same(host_product##f(x, y, z, how), bf_emu_directed_product(x, y, target));           \
      assert_same(host_quotient##f(x, y, z, how), bf_emu_directed_quotient(x, y, target));         \
      assert_same(host_fma##f(x, y, z, how), bf_emu_directed_fma(x, y, z, target));                \
      assert_same(host_root##f(x, y, z, how), bf_emu_directed_root(x, target));                    \
    }                                                                                              \
  }
COMPARE(double, , random_double, f64)
COMPARE(float, _f, random_float, f32)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_double),
      cmocka_unit_test(test_float),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
