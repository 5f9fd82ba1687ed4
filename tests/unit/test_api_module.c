/* Programs and PTX from memory: modules, images and kernels. */
#include "api.h"

#include <zstd.h>

#define FATBIN "tests/data/fatbin/"

static bf_binary *open_binary(const char *path) {
  size_t size;
  char *bytes = read_bytes(path, &size);
  bf_binary *binary;
  bf_diagnostic diagnostic;
  if (bf_binary_parse(bytes, size, path, &binary, &diagnostic) != BF_OK)
    fail_msg("%s: %s", path, diagnostic.message);
  free(bytes);
  return binary;
}

static void kernels_are_listed(void **state) {
  (void)state;
  bf_module *module = parse_file(FATBIN "twice.ptx");
  const bf_kernel_info *twice = bf_module_get(module, 0), *thrice = bf_module_get(module, 1);
  assert_string_equal(twice->name, "twice");
  assert_string_equal(twice->readable_name, "twice");
  assert_int_equal(twice->line, 15);
  assert_false(twice->has_lines);
  assert_int_equal(twice->parameters, 1);
  assert_int_equal(twice->parameter_bytes, 8);
  assert_string_equal(thrice->name, "thrice");
  assert_null(bf_module_get(module, 2));
  assert_ptr_equal(bf_module_find(module, "thrice"), thrice);
  assert_null(bf_module_find(module, "four"));
  bf_module_free(module);
}

static void kernels_are_described(void **state) {
  (void)state;
  static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                             ".extern .shared .align 4 .b8 more[];\n"
                             ".visible .entry k(.param .u64 a, .param .u32 b) .reqntid 16, 4\n{\n"
                             ".shared .align 4 .b8 tile[512];\n.reg .b32 %r<3>;\n"
                             "mov.u32 %r1, tile;\nst.shared.b32 [%r1], %r2;\n"
                             "mov.u32 %r2, more;\nld.shared.b32 %r1, [%r2];\nret;\n}\n"
                             ".visible .entry plain()\n{\nret;\n}\n";
  bf_module *module = parse_bytes(text, sizeof text - 1, "mine");
  const bf_kernel_info *kernel = bf_module_get(module, 0);
  assert_int_equal(kernel->shared_bytes, 512);
  assert_true(kernel->has_dynamic_shared);
  assert_int_equal(kernel->block[0] * 10000 + kernel->block[1] * 100 + kernel->block[2], 160401);
  assert_int_equal(kernel->parameters, 2);
  assert_int_equal(kernel->parameter_bytes, 12);
  assert_int_equal(kernel->shared_accesses, 2);
  assert_int_equal(kernel->instructions, 5);
  assert_int_equal(bf_module_get(module, 1)->block[0], 0);
  bf_module_free(module);
}

static void readable_names_are_found(void **state) {
  (void)state;
  bf_module *module = parse_file("tests/data/ptx/tile.sm_90.ptx");
  assert_string_equal(bf_module_get(module, 0)->name, "_Z9transposeILi16EEvPfPKf");
  assert_string_equal(bf_module_get(module, 0)->readable_name, "transpose<16>");
  assert_ptr_equal(bf_module_find(module, "transpose<32>"), bf_module_get(module, 1));
  assert_null(bf_module_find(module, "transpose"));
  bf_module_free(module);
  module = parse_file("tests/data/ptx/debug.lineinfo.ptx");
  assert_true(bf_module_get(module, 0)->has_lines);
  bf_module_free(module);
}

/* Of two kernels with the same readable name neither is found by it. */
static void ambiguous_names_are_not_found(void **state) {
  (void)state;
  static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                             ".visible .entry _Z1fi(.param .u32 a)\n{\nret;\n}\n"
                             ".visible .entry _Z1fj(.param .u32 a)\n{\nret;\n}\n";
  bf_module *module = parse_bytes(text, sizeof text - 1, "mine");
  assert_string_equal(bf_module_get(module, 0)->readable_name, "f");
  assert_string_equal(bf_module_get(module, 1)->readable_name, "f");
  assert_null(bf_module_find(module, "f"));
  assert_non_null(bf_module_find(module, "_Z1fj"));
  bf_module_free(module);
}

/* A library of two translation units. */
static void modules_are_picked(void **state) {
  (void)state;
  size_t size;
  char *bytes = read_bytes(FATBIN "library.so", &size);
  bf_module *module;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_module_parse(bytes, size, "lib", &module, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "2 modules, of which bf_binary_get_module picks one");
  assert_string_equal(diagnostic.file, "lib");
  assert_null(module);
  free(bytes);
  bf_binary *binary = open_binary(FATBIN "library.so");
  assert_int_equal(bf_binary_module_count(binary), 2);
  const char *kernels[] = {"twice", "negate"};
  for (unsigned i = 1; i <= 2; i++) {
    assert_int_equal(bf_binary_get_module(binary, i, NULL, &module, NULL), BF_OK);
    assert_non_null(bf_module_find(module, kernels[i - 1]));
    bf_module_free(module);
  }
  assert_int_equal(bf_binary_get_module(binary, 3, NULL, &module, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "no module 3: there are 1 to 2");
  assert_int_equal(bf_binary_get_module(binary, 0, NULL, &module, NULL), BF_BAD_INPUT);
  bf_binary_free(binary);
}

/* One module for several architectures; the module outlives the binary. */
static void architectures_are_picked(void **state) {
  (void)state;
  bf_binary *binary = open_binary(FATBIN "many.fatbin");
  unsigned ptx = 0, cubins = 0;
  const bf_binary_image *image;
  for (size_t i = 0; (image = bf_binary_get(binary, i)); i++) {
    ptx += strcmp(image->kind, "ptx") == 0;
    cubins += strcmp(image->kind, "cubin") == 0;
    assert_int_equal(image->module, 1);
    assert_int_equal(strncmp(image->architecture, "sm_", 3), 0);
    assert_true(image->bytes > 0);
  }
  assert_int_equal(ptx, 4);
  assert_int_equal(cubins, 1);
  bf_module *module;
  bf_diagnostic diagnostic;
  char *text;
  assert_int_equal(bf_binary_get_module(binary, 1, "sm_70", &module, &diagnostic), BF_UNSUPPORTED);
  assert_null(module);
  assert_int_equal(bf_binary_get_module(binary, 1, "x", &module, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "'x' is no architecture, as sm_90 is");
  assert_int_equal(bf_binary_get_module(binary, 1, "sm_80", &module, NULL), BF_OK);
  bf_binary_free(binary);
  assert_int_equal(bf_module_text(module, &text, NULL), BF_OK);
  assert_non_null(strstr(text, ".target sm_75"));
  bf_free(text);
  bf_module_free(module);
}

/* What is printed parses to the same kernels. */
static void text_is_printed(void **state) {
  (void)state;
  bf_module *module = parse_file("tests/data/analyze/patterns.ptx");
  char *text;
  assert_int_equal(bf_module_text(module, &text, NULL), BF_OK);
  bf_module *again = parse_bytes(text, strlen(text), "again");
  for (size_t i = 0; bf_module_get(module, i) || bf_module_get(again, i); i++) {
    assert_string_equal(bf_module_get(module, i)->name, bf_module_get(again, i)->name);
    assert_int_equal(bf_module_get(module, i)->instructions, bf_module_get(again, i)->instructions);
  }
  bf_free(text);
  bf_module_free(module);
  bf_module_free(again);
}

/* Everything may be compressed. */
static void compressed_programs_are_read(void **state) {
  (void)state;
  size_t size;
  char *bytes = read_bytes(FATBIN "lineinfo.fatbin", &size);
  size_t room = ZSTD_compressBound(size);
  char *packed = malloc(room);
  assert_non_null(packed);
  size_t packed_size = ZSTD_compress(packed, room, bytes, size, 3);
  bf_module *module = parse_bytes(packed, packed_size, "packed");
  assert_true(bf_module_find(module, "thrice")->has_lines);
  bf_module_free(module);
  free(packed);
  free(bytes);
}

/* Programs that end anywhere, and bytes that are none: refused with a message, or read. */
static void damaged_programs_are_refused(void **state) {
  (void)state;
  static const char *const paths[] = {FATBIN "library.so", FATBIN "plain.fatbin",
                                      FATBIN "twice.ptx", FATBIN "machine_code.fatbin"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    size_t size;
    char *bytes = read_bytes(paths[i], &size);
    for (size_t cut = 0; cut < size; cut += 1 + cut / 16) {
      char *part = malloc(cut ? cut : 1);
      bf_module *module;
      bf_diagnostic diagnostic = {0};
      assert_non_null(part);
      memcpy(part, bytes, cut);
      int error = bf_module_parse(part, cut, NULL, &module, &diagnostic);
      assert_true(error ? !module && diagnostic.message[0] : module != NULL);
      bf_module_free(module);
      free(part);
    }
    free(bytes);
  }
  bf_module *module;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_module_parse(NULL, 0, NULL, &module, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.file, "program");
  assert_int_equal(
      bf_module_parse(".version 8.0\n.target sm_90\nfrob", 32, "mine", &module, &diagnostic),
      BF_BAD_INPUT);
  assert_string_equal(diagnostic.file, "mine");
  assert_int_equal(diagnostic.line, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_are_listed),
      cmocka_unit_test(kernels_are_described),
      cmocka_unit_test(readable_names_are_found),
      cmocka_unit_test(ambiguous_names_are_not_found),
      cmocka_unit_test(modules_are_picked),
      cmocka_unit_test(architectures_are_picked),
      cmocka_unit_test(text_is_printed),
      cmocka_unit_test(compressed_programs_are_read),
      cmocka_unit_test(damaged_programs_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
