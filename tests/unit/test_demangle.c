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

static void test_names(void **state) {
  (void)state;
  expect("plain_c_name", "plain_c_name");
  expect("_Z9transposePfPKfi", "transpose");
  expect("_ZN5space6kernelEPi", "space::kernel");
  expect("_ZN67_GLOBAL__N__00000000_4_x_cu_00000000_00000000_0000000000000000000016kernelEv",
         "(anonymous namespace)::kernel");
  expect("_ZL6hiddenv", "hidden");
  expect("_Z6reduceIi3SumLi64EEvPKT_PS1_iS1_", "reduce<int, Sum, 64>");
  expect("_Z4eachIPKfRdLb1ELin5EEvv", "each<const float *, double &, true, -5>");
  expect("_Z3useIN2ns4PairIijEEEvT_", "use<ns::Pair<int, unsigned>>");
  expect("_Z3useISt4pairIiiEEvT_", "use<...>");
}

static void test_variables(void **state) {
  (void)state;
  expect("_ZZ9transposePfPKfiE4tile", "tile");
  expect("_ZZ6cipherILi1EEvPKjPKhS1_S1_PjE5table", "table");
  expect("_ZZN2ns6kernelEvE4tile_0", "tile");
  expect("_ZZ9transposeE4tile", "tile");
  expect("_ZN2ns4tileE", "ns::tile");
}

/* Whatever is no mangled name comes back without harm. */
static void test_damaged_names(void **state) {
  (void)state;
  expect("_Z", "_Z");
  expect("_ZN", "_ZN");
  expect("_ZZ", "_ZZ");
  expect("_ZZ1kE9tile", "_ZZ1kE9tile");
  expect("_Z99short", "_Z99short");
  expect("_Z1kI", "k<...>");
  expect("_Z1kILi", "k<...>");
  expect("_Z1kIPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPiE", "k<...>");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_variables),
      cmocka_unit_test(test_damaged_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
