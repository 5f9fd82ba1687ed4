/* What ELF files say about CUDA, and that files cut off or damaged anywhere are read without harm.
 */
#include "exchange/cuda_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The bytes of a file of tests/data; free. */
static unsigned char *load(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  *size = (size_t)ftell(file);
  rewind(file);
  unsigned char *bytes = malloc(*size);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

static void shared_runtime(void **state) {
  (void)state;
  size_t size;
  unsigned char *bytes = load("tests/data/programs/transpose", &size);
  bf_elf elf;
  bf_cuda_file file;
  assert_true(bf_elf_open(bytes, size, &elf));
  bf_cuda_file_read(&elf, &file);
  assert_true(file.has_device_code && file.is_dynamic && file.asks_for_runtime);
  assert_false(file.is_linked);
  assert_int_equal(file.runtime, 0);
  free(bytes);
}

static void damaged(void **state) {
  (void)state;
  size_t size;
  unsigned char *bytes = load("tests/data/programs/transpose", &size);
  bf_elf elf;
  bf_cuda_file file;
  for (size_t i = 0; i < 300; i++) { /* cut off: copies, so that what lies behind is not theirs */
    size_t length = i < 100 ? i : size * (i - 100) / 200;
    unsigned char *cut = malloc(length ? length : 1);
    assert_non_null(cut);
    memcpy(cut, bytes, length);
    if (bf_elf_open(cut, length, &elf))
      bf_cuda_file_read(&elf, &file);
    free(cut);
  }
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
  size_t tables = header->e_shoff; /* the sections stand at the end */
  for (size_t at = 0; at < size; at += at < 64 || at >= tables ? 1 : 997) {
    unsigned char was = bytes[at];
    bytes[at] = (unsigned char)(was ^ 0xff);
    if (bf_elf_open(bytes, size, &elf))
      bf_cuda_file_read(&elf, &file);
    bytes[at] = was;
  }
  free(bytes);
}

static void names(void **state) {
  (void)state;
  assert_string_equal(bf_cuda_library(11), "libcudart.so.11.0");
  assert_string_equal(bf_cuda_library(12), "libcudart.so.12");
  assert_string_equal(bf_cuda_library(13), "libcudart.so.13");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shared_runtime),
      cmocka_unit_test(damaged),
      cmocka_unit_test(names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
