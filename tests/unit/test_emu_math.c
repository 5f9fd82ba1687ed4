/* The approximations of the emulator against the host's library in double precision, for every
 * instruction set: the errors in units in the last place stay below what docs/emulator.md says. */
#include "emu.h"
#include "emu/half.h"

#include <math.h>

enum { VALUES = 1 << 16 };

static double reciprocal(double x) { return 1 / x; }
static double reciprocal_root(double x) { return 1 / sqrt(x); }

/* Functions, and the range in which they are compared. */
static const struct function {
  const char *name;
  double (*reference)(double);
  float from, to;
} functions[] = {
    {"rcp.approx.f32", reciprocal, 0x1p-149f, 0x1.fffffep127f},
    {"sqrt.approx.f32", sqrt, 0x1p-149f, 0x1.fffffep127f},
    {"rsqrt.approx.f32", reciprocal_root, 0x1p-149f, 0x1.fffffep127f},
    {"sin.approx.f32", sin, -4, 4},
    {"sin.approx.f32", sin, 0x1p-149f, 0x1.fffffep127f},
    {"cos.approx.f32", cos, -4, 4},
    {"cos.approx.f32", cos, 0x1p-149f, 0x1.fffffep127f},
    {"ex2.approx.f32", exp2, -150, 129},
    {"ex2.approx.f32", exp2, 0x1p-149f, 1},
    {"lg2.approx.f32", log2, 0x1p-149f, 0x1.fffffep127f},
    {"lg2.approx.f32", log2, 0.5f, 2},
    {"tanh.approx.f32", tanh, 0x1p-149f, 20},
    {"tanh.approx.f32", tanh, -2, 2},
};

static const double most_units = 0.501;

/* Replaces values by what the function called name makes of them. */
static void run(const char *isa, const char *name, float *values) {
  bf_text ptx = {0};
  bed at;
  uint64_t address = (uintptr_t)values;
  bf_text_addf(&ptx,
               ".version 8.0\n.target sm_90\n.address_size 64\n"
               ".visible .entry k(.param .u64 values)\n{\n"
               "  .reg .b32 %%r<4>;\n  .reg .f32 %%f<2>;\n  .reg .b64 %%d<3>;\n"
               "  ld.param.u64 %%d0, [values];\n  mov.u32 %%r0, %%ctaid.x;\n"
               "  mov.u32 %%r1, %%ntid.x;\n  mov.u32 %%r2, %%tid.x;\n"
               "  mad.lo.s32 %%r3, %%r0, %%r1, %%r2;\n  mad.wide.u32 %%d1, %%r3, 4, %%d0;\n"
               "  ld.global.f32 %%f0, [%%d1];\n  %s %%f1, %%f0;\n  st.global.f32 [%%d1], %%f1;\n"
               "  ret;\n}\n",
               name);
  bed_open_text(&at, name, ptx.data, ptx.size, isa);
  assert_int_equal(bf_emu_register(at.emu, values, VALUES * sizeof *values, 0, NULL), BF_OK);
  bf_emu_launch launch = bed_launch(&at, "k", VALUES / 256, 256, &address, sizeof address);
  bed_run_well(&at, &launch);
  bed_close(&at);
  bf_text_free(&ptx);
}

/* The distance between got and exact in units in the last place of exact as a float. */
static double units_between(float got, double exact) {
  if (fabs(exact) >= 0x1.ffffffp127)
    return isinf(got) && signbit(got) == signbit(exact) ? 0 : INFINITY;
  int exponent;
  frexp(exact, &exponent);
  double unit = ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
  return fabs(got - exact) / unit;
}

/* Values from one end of the range to the other: evenly by their bits where both have the same
 * sign, else evenly by value. */
static float value_at(const struct function *f, unsigned index) {
  if (f->from < 0)
    return f->from + (f->to - f->from) * ((float)index / VALUES);
  uint64_t from = bf_emu_float_bits(f->from), to = bf_emu_float_bits(f->to);
  return bf_emu_bits_float((uint32_t)(from + (to - from) * index / VALUES));
}

static void check_isa(const char *isa) {
  static float operand[VALUES], value[VALUES];
  if (!bf_emu_isa_find(isa)) {
    printf("skipped: no %s in this processor or build\n", isa);
    skip();
  }
  for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++) {
    double worst = 0, at = 0;
    for (unsigned k = 0; k < VALUES; k++)
      operand[k] = value[k] = value_at(&functions[i], k);
    run(isa, functions[i].name, value);
    for (unsigned k = 0; k < VALUES; k++) {
      double units = units_between(value[k], functions[i].reference(operand[k]));
      if (!(units <= worst)) {
        worst = units;
        at = operand[k];
      }
    }
    print_message("%-6s %-17s %g to %g: worst error %.4f units, at %a\n", isa, functions[i].name,
                  functions[i].from, functions[i].to, worst, at);
    assert_true(worst <= most_units);
  }
}

static void test_plain(void **state) {
  (void)state;
  check_isa("plain");
}

static void test_avx2(void **state) {
  (void)state;
  check_isa("avx2");
}

static void test_avx512(void **state) {
  (void)state;
  check_isa("avx512");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_avx2),
                                     cmocka_unit_test(test_avx512)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
