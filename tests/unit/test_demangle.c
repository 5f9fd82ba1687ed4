/* Names of C++ kernels for people. */
#include "ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *mangled, const char *wanted) {
  bf_text text = {0};
  bf_ptx_readable_name(mangled, &text);
  assert_string_equal(text.data, wanted);
  bf_text_free(&text);
}

static void expect_unchanged(const char *name) { expect(name, name); }

static void test_names(void **state) {
  (void)state;
  expect_unchanged("plain_c_name");
  expect_unchanged("i"); /* a type in mangled names */
  expect("_Z9transposePfPKfi", "transpose");
  expect("_ZN5space6kernelEPi", "space::kernel");
  expect("_ZN67_GLOBAL__N__00000000_4_x_cu_00000000_00000000_0000000000000000000016kernelEv",
         "(anonymous namespace)::kernel");
  expect("_ZL6hiddenv", "hidden");
  expect("_ZN2ns4tileE", "ns::tile");
  expect("_ZTV6square", "vtable for square");
}

static void test_template_arguments(void **state) {
  (void)state;
  expect("_Z5hgemmILi64ELi128ELb1EEvPK6__halfS2_Pf", "hgemm<64, 128, true>");
  expect("_Z6reduceIiLi64EEvPKT_PS0_", "reduce<int, 64>");
  expect("__nv_static_29__02b01b5d_9_linked_cu_counter__Z3usePi", "use");
  expect("__nv_static_9__short_x", "__nv_static_9__short_x");
  expect("_Z6reduceIi3SumLi64EEvPKT_PS1_iS1_", "reduce<int, Sum, 64>");
  expect("_Z4eachIPKfRdLb1ELin5EEvv", "each<float const*, double&, true, -5>");
  expect("_Z3useIN2ns4PairIijEEEvT_", "use<ns::Pair<int, unsigned int> >");
  expect("_Z3useISt4pairIiiEEvT_", "use<std::pair<int, int> >");
  expect("_Z1kIL4Mode1ELc65ELj4ELm8EEvv", "k<(Mode)1, (char)65, 4u, 8ul>");
  expect("_Z1kIJidfEEvDpT_", "k<int, double, float>");
  expect("_Z1kIA4_iEvT_", "k<int [4]>");
  expect("_Z1kIPFvifEEvT_", "k<void (*)(int, float)>");
  expect("_Z1kIXadL_Z1fiEEEvv", "k<&(f(int))>");
  expect("_Z1kIXadL_Z1gIiEvT_EEEvv", "k<&(void g<int>(int))>");
  expect("_Z3runIZ4mainEUliE_EvT_", "run<main::{lambda(int)#1}>");
  expect("_ZN1SIiE1kEv", "S<int>::k");
}

/* What must not be taken for return type or parameters, or the other way round. */
static void test_cutting(void **state) {
  (void)state;
  expect("_Z1kPFviE", "k");                  /* k(void (*)(int)) */
  expect("_Z3fooPFPFviEvE", "foo");          /* foo(void (*(*)())(int)) */
  expect("_Z3fooIiEPFPFviEvEv", "foo<int>"); /* void (*(*foo<int>())())(int) */
  expect("_Z3fooIiERA4_iv", "foo<int>");     /* int (&foo<int>()) [4] */
  expect("_Z1fIiEDTplfp_fp_ET_", "f<int>");  /* decltype ({parm#1}+{parm#1}) ... */
  expect("_Z3runIZ4mainEUliE0_EPFvT_iEv", "run<main::{lambda(int)#2}>");
  expect("_ZNK3$_0clEv", "$_0::operator()");
  expect("_ZN3fooclEv", "foo::operator()");
  expect("_ZN3foolsEi", "foo::operator<<");
  expect("_ZN3foorsEi", "foo::operator>>");
  expect("_ZN3fooltIiEEvi", "foo::operator< <int>");
  expect("_ZN3foogtEi", "foo::operator>");
  expect("_ZN3foocviEv", "foo::operator int");
  expect("_ZN3foocvPFviEEv", "foo::operator void (*)(int)");
  expect("_ZNO1S1kEv", "S::k");  /* S::k() && */
  expect("_ZNVK1S1kEv", "S::k"); /* S::k() const volatile */
  expect("_ZN1SIiEC1IfEET_", "S<int>::S<float>");
  expect("_Z1kB5cxx11v", "k"); /* k[abi:cxx11]() */
  expect("_ZN6cudapy8__main__1kB2v1B6cw51cXE5ArrayIfLi2EE", "cudapy::__main__::k");
  expect("_ZZN1SIiE3runEvENKUlvE_clEv", "S<int>::run()::{lambda()#1}::operator()");
  expect("_ZZ1fvEN5Local4callEv", "f()::Local::call");
  expect("_Z6kernelv.constprop.0", "kernel() [clone .constprop.0]");
  expect("_ZGVZ1fvE1x", "guard variable for f()::x");
}

/* A variable, and the function that it is inside of. */
static void expect_inside(const char *mangled, const char *variable, const char *function) {
  bf_text text = {0};
  expect(mangled, variable);
  bf_ptx_enclosing_name(mangled, &text);
  assert_string_equal(text.size ? text.data : "", function);
  bf_text_free(&text);
}

static void test_variables(void **state) {
  (void)state;
  expect_inside("_ZZ9transposePfPKfiE4tile", "tile", "transpose");
  expect_inside("_ZZ6cipherILi1EEvPKjPKhS1_S1_PjE5table", "table", "cipher<1>");
  expect_inside("_ZZN2ns6kernelEvE4tile_0", "tile", "ns::kernel");
  expect_inside("_ZZ9transposeE4tile", "tile", "transpose");
  expect_inside("_ZZZN1SIiE3runEvENKUlvE_clEvE4tile", "tile",
                "S<int>::run()::{lambda()#1}::operator()");
  expect_inside("_ZN2ns4tileE", "ns::tile", "");
  expect_inside("tile", "tile", "");
}

/* Whatever is no mangled name comes back without harm. */
static void test_damaged_names(void **state) {
  (void)state;
  expect_unchanged("");
  expect_unchanged("_Z");
  expect_unchanged("_ZN");
  expect_unchanged("_ZT");
  expect_unchanged("_ZZ");
  expect_unchanged("_ZZ1kE9tile");
  expect_unchanged("_Z99short");
  expect_unchanged("_Z1kI");
  expect_unchanged("_Z1kILi");
  expect_unchanged("_Z1kIPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPE");
}

/* Each parameter is made of two of the one before, so that the plain name doubles with each. */
static void test_names_that_grow(void **state) {
  (void)state;
  static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  bf_text mangled = {0};
  bf_text_puts(&mangled, "_Z1f1AIiiE");
  for (unsigned i = 0; i < 36; i++)
    bf_text_addf(&mangled, "S_IS%c_S%c_E", digits[i], digits[i]);
  expect_unchanged(mangled.data);
  mangled.size = 0;
  bf_text_puts(&mangled, "_Z1fI");
  for (unsigned i = 0; i < 1000; i++)
    bf_text_puts(&mangled, "Li1E");
  bf_text_puts(&mangled, "Evv");
  expect_unchanged(mangled.data);
  bf_text_free(&mangled);
}

/* Names are added to what the text holds. */
static void test_appending(void **state) {
  (void)state;
  bf_text text = {0};
  bf_text_puts(&text, "f() of ");
  bf_ptx_readable_name("_Z1kILi4EEvv", &text);
  bf_ptx_readable_name(" and ", &text);
  bf_ptx_enclosing_name("_ZZ1mvE4tile", &text);
  assert_string_equal(text.data, "f() of k<4> and m");
  bf_text_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),         cmocka_unit_test(test_template_arguments),
      cmocka_unit_test(test_cutting),       cmocka_unit_test(test_variables),
      cmocka_unit_test(test_damaged_names), cmocka_unit_test(test_names_that_grow),
      cmocka_unit_test(test_appending),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
