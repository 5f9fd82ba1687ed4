/* Tables of Nsight Compute: what an H200 measured is read, lines add up to their kernels, and
 * damaged tables are survived. */
#include "ncu/ncu.h"
#include "random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DATA "tests/data/ncu/"

static void load(const char *path, bf_text *text) {
  bf_diagnostic diagnostic;
  assert_int_equal(bf_read_file(path, SIZE_MAX, text, &diagnostic), BF_OK);
}

static void lines_add_up_to_what_was_counted(void **state) {
  (void)state;
  bf_text text = {0};
  bf_ncu ncu;
  bf_diagnostic diagnostic;
  load(DATA "full.raw.csv", &text);
  bf_text_puts(&text, "\n");
  load(DATA "lines.source.csv", &text);
  assert_int_equal(bf_ncu_read("both", text.data, text.size, &ncu, &diagnostic), BF_OK);
  assert_int_equal(ncu.kernels, 10);
  bf_ncu_merge(&ncu);
  assert_int_equal(ncu.kernels, 5);
  for (size_t i = 0; i < ncu.kernels; i++) {
    const bf_ncu_kernel *kernel = &ncu.kernel[i];
    uint64_t wavefronts = 0, ideal = 0;
    for (size_t k = 0; k < kernel->lines; k++) {
      wavefronts += kernel->line[k].wavefronts;
      ideal += kernel->line[k].ideal;
    }
    assert_in_range(kernel->lines, 2, 3);
    assert_int_equal(wavefronts, kernel->metric[BF_NCU_WAVEFRONTS].value);
    assert_int_equal(ideal, kernel->metric[BF_NCU_IDEAL].value);
    assert_int_equal(wavefronts - ideal, kernel->metric[BF_NCU_CONFLICTS].value);
    assert_int_equal(kernel->block[0], 32);
    assert_int_equal(kernel->block[1], 8);
    assert_int_equal(kernel->grid[0], 64);
  }
  assert_string_equal(ncu.kernel[0].short_name, "column");
  bf_ncu_free(&ncu);
  bf_text_free(&text);
}

/* Parts of a metric are added where the whole was not measured. */
static void parts_are_added(void **state) {
  (void)state;
  bf_text text = {0};
  bf_ncu ncu;
  bf_diagnostic diagnostic;
  load(DATA "live.raw.csv", &text);
  assert_int_equal(bf_ncu_read("live", text.data, text.size, &ncu, &diagnostic), BF_OK);
  static const uint64_t wavefronts[] = {67584, 4096, 4096, 16640, 32768};
  assert_int_equal(ncu.kernels, 5);
  for (size_t i = 0; i < 5; i++) {
    assert_int_equal(ncu.kernel[i].metric[BF_NCU_WAVEFRONTS].value, wavefronts[i]);
    assert_false(ncu.kernel[i].metric[BF_NCU_IDEAL].is_there);
  }
  bf_ncu_free(&ncu);
  bf_text_free(&text);
}

static void names_are_shortened(void **state) {
  (void)state;
  static const char *const names[][2] = {
      {"f(int)", "f"},
      {"void ns::reduce<int, (int)64>(const int *, int)", "ns::reduce<int, 64>"},
      {"void f<(bool)1, (bool)0, (unsigned int)7, (long)-3>()", "f<true, false, 7u, -3l>"},
      {"void g<void (*)(int), (unsigned char)9>(int)", "g<void (*)(int), (unsigned char)9>"},
      {"void h<x<(int)2>>(int)", "h<x<2>>"},
      {"triton_poi_fused_add_0", "triton_poi_fused_add_0"},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char text[256];
    bf_ncu ncu;
    bf_diagnostic diagnostic;
    snprintf(text, sizeof text, "\"Kernel Name\",\"%s\"\n", names[i][0]);
    assert_int_equal(bf_ncu_read("name", text, strlen(text), &ncu, &diagnostic), BF_OK);
    assert_string_equal(ncu.kernel[0].short_name, names[i][1]);
    bf_ncu_free(&ncu);
  }
}

static void damaged_tables_are_survived(void **state) {
  (void)state;
  static const char *const files[] = {DATA "full.raw.csv", DATA "details.csv",
                                      DATA "lines.source.csv"};
  test_random random = {5};
  unsigned read = 0, refused = 0;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    bf_text text = {0};
    load(files[i], &text);
    for (unsigned k = 0; k < 60; k++) {
      size_t size = text.size < 9000 ? text.size : 9000;
      char *copy = malloc(size);
      bf_ncu ncu;
      bf_diagnostic diagnostic = {0};
      bf_text said = {0};
      assert_non_null(copy);
      memcpy(copy, text.data, size);
      for (unsigned n = 0; n < 12; n++)
        copy[random_below(&random, size)] = "\",\n0a("[random_below(&random, 6)];
      size_t cut = random_below(&random, size);
      if (bf_ncu_read("damaged", copy, cut, &ncu, &diagnostic) == BF_OK) {
        bf_ncu_merge(&ncu);
        for (size_t n = 0; n < ncu.kernels; n++)
          bf_ncu_judge(&ncu.kernel[n], &said);
        read++;
      } else {
        assert_true(diagnostic.message[0] != 0);
        refused++;
      }
      bf_text_free(&said);
      bf_ncu_free(&ncu);
      free(copy);
    }
    bf_text_free(&text);
  }
  assert_in_range(read, 10, 179);
  assert_in_range(refused, 1, 170);
}

/* Bank conflicts that the PTX predicts are those that were measured, for kernels that have no other
 * cause of them. */
static void predictions_stand_beside(void **state) {
  (void)state;
  bf_text text = {0};
  bf_ncu ncu;
  bf_machine *machine;
  bf_diagnostic diagnostic;
  load(DATA "full.raw.csv", &text);
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, &diagnostic), BF_OK);
  assert_int_equal(bf_ncu_read("raw", text.data, text.size, &ncu, &diagnostic), BF_OK);
  assert_int_equal(bf_ncu_predict_program(&ncu, DATA "causes.ptx", machine, &diagnostic), BF_OK);
  assert_string_equal(ncu.kernel[0].short_name, "column");
  assert_null(ncu.kernel[0].not_predicted);
  assert_true(ncu.kernel[0].predicted.is_there);
  assert_int_equal(ncu.kernel[0].predicted.value, ncu.kernel[0].metric[BF_NCU_WAVEFRONTS].value);
  assert_int_equal(bf_ncu_predict_program(&ncu, "kernels/fft/fft.ptx", machine, &diagnostic),
                   BF_OK);
  assert_string_equal(ncu.kernel[0].not_predicted, "there is no PTX of a kernel of that name");
  assert_int_equal(bf_ncu_predict_program(&ncu, "none.ptx", machine, &diagnostic), BF_IO);
  bf_machine_free(machine);
  bf_ncu_free(&ncu);
  bf_text_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_add_up_to_what_was_counted),
      cmocka_unit_test(parts_are_added),
      cmocka_unit_test(names_are_shortened),
      cmocka_unit_test(damaged_tables_are_survived),
      cmocka_unit_test(predictions_stand_beside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
