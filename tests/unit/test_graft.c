/* Programs with other device code: what is put into them is found through their records, and
 * damaged programs are refused or changed, and never read beyond their end. */
#include "ptx/bytes.h"
#include "ptx/graft.h"
#include "random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char program_path[] = "tests/data/programs/transpose";
static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n// grafted\n";

/* Puts text into all PTX images of a fat binary. */
static int graft_all(const bf_fatbin *fatbin, bf_text *out, bf_diagnostic *diagnostic) {
  bf_text ptx = {0};
  bf_graft grafts[16];
  size_t count = 0;
  bf_text_puts(&ptx, text);
  for (size_t i = 0; i < fatbin->image_count && count < 16; i++)
    if (fatbin->images[i].kind == BF_IMAGE_PTX)
      grafts[count++] = (bf_graft){&fatbin->images[i], &ptx};
  int error = bf_graft_program(fatbin, grafts, count, out, diagnostic);
  bf_text_free(&ptx);
  return error;
}

static void the_new_code_is_in_the_program(void **state) {
  (void)state;
  bf_fatbin *fatbin, *grafted;
  bf_text out = {0}, found = {0};
  bf_diagnostic diagnostic;
  assert_int_equal(bf_fatbin_open(program_path, &fatbin, &diagnostic), BF_OK);
  assert_int_equal(graft_all(fatbin, &out, &diagnostic), BF_OK);
  assert_int_equal(bf_fatbin_read("grafted", out.data, out.size, &grafted, &diagnostic), BF_OK);
  const bf_image *last = &grafted->images[grafted->image_count - 1];
  assert_true(grafted->module_count > fatbin->module_count);
  assert_int_equal(last->kind, BF_IMAGE_PTX);
  assert_int_equal(bf_fatbin_text(grafted, last, &found, &diagnostic), BF_OK);
  assert_string_equal(found.data, text);
  /* Up to the records and headers, the program is as it was. */
  unsigned changed = 0;
  for (uint64_t i = 0; i < fatbin->size; i++)
    changed += fatbin->bytes[i] != (unsigned char)out.data[i];
  assert_in_range(changed, 8, 512);
  bf_text_free(&found);
  bf_text_free(&out);
  bf_fatbin_close(grafted);
  bf_fatbin_close(fatbin);
}

/* Changes numbers of the headers of a program, which is read as it was: each result is an error or
 * a program. */
static void damaged_headers_are_survived(void **state) {
  (void)state;
  bf_fatbin *fatbin;
  bf_diagnostic diagnostic;
  test_random random = {7};
  unsigned refused = 0;
  assert_int_equal(bf_fatbin_open(program_path, &fatbin, &diagnostic), BF_OK);
  unsigned char *bytes = malloc(fatbin->size);
  const unsigned char *whole = fatbin->bytes;
  assert_non_null(bytes);
  for (unsigned i = 0; i < 2000; i++) {
    bf_text out = {0};
    memcpy(bytes, whole, fatbin->size);
    for (unsigned k = 0; k < 4; k++)
      bytes[random_below(&random, 1024)] = (unsigned char)random_below(&random, 256);
    fatbin->bytes = bytes;
    refused += graft_all(fatbin, &out, &diagnostic) != BF_OK;
    bf_text_free(&out);
  }
  assert_in_range(refused, 100, 1999);
  fatbin->bytes = whole;
  free(bytes);
  bf_fatbin_close(fatbin);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_new_code_is_in_the_program),
      cmocka_unit_test(damaged_headers_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
