/* Files that give kernels their hashes. */
#include "hash/hash.h"

#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

static bf_machine *machine;

static int load_machine(void **state) {
  (void)state;
  return bf_machine_load("hopper", NULL, &machine, NULL);
}

static int free_machine(void **state) {
  (void)state;
  bf_machine_free(machine);
  return 0;
}

static const char *text_of(const bf_hash_list *hashes, const char *kernel) {
  const bf_hash *hash = bf_hash_list_find(hashes, kernel);
  return hash ? bf_hash_text(hash) : NULL;
}

static void kernels_have_their_own_hash(void **state) {
  (void)state;
  bf_hash_list *hashes;
  assert_int_equal(bf_hash_list_parse("a.hashes",
                                      "# hashes\n\n  transpose32\txor:0,5,31 # a column\r\n"
                                      "histogram none",
                                      bf_machine_geometry(machine), &hashes, NULL),
                   BF_OK);
  assert_string_equal(text_of(hashes, "transpose32"), "xor:0,5,31");
  assert_string_equal(text_of(hashes, "histogram"), "none");
  assert_null(text_of(hashes, "transpose"));
  assert_null(text_of(hashes, "*"));
  assert_true(bf_hash_list_has(hashes, "histogram"));
  assert_false(bf_hash_list_has(hashes, "hist"));
  bf_hash_list_free(hashes);
}

static void a_star_is_all_others(void **state) {
  (void)state;
  bf_hash_list *hashes;
  assert_int_equal(bf_hash_list_parse("a.hashes", "* fixed\nhistogram add\n",
                                      bf_machine_geometry(machine), &hashes, NULL),
                   BF_OK);
  assert_string_equal(text_of(hashes, "transpose32"), "fixed");
  assert_string_equal(text_of(hashes, "histogram"), "add");
  bf_hash_list_free(hashes);
}

static void arrays_have_their_own_hash(void **state) {
  (void)state;
  bf_hash_list *hashes;
  assert_int_equal(bf_hash_list_parse("a.hashes",
                                      "k fixed\nk[tile] none\n*[other] xor:0,5,31\nm[tile] fixed\n",
                                      bf_machine_geometry(machine), &hashes, NULL),
                   BF_OK);
  assert_string_equal(text_of(hashes, "k"), "fixed");
  assert_null(text_of(hashes, "m"));
  assert_false(bf_hash_list_has(hashes, "m"));
  assert_string_equal(bf_hash_text(bf_hash_list_find_array(hashes, "k", "tile")), "none");
  assert_string_equal(bf_hash_text(bf_hash_list_find_array(hashes, "*", "other")), "xor:0,5,31");
  assert_string_equal(bf_hash_text(bf_hash_list_find_array(hashes, "m", "tile")), "fixed");
  assert_null(bf_hash_list_find_array(hashes, "k", "other"));
  bf_hash_list_free(hashes);
}

static void names_hold_blanks_inside_brackets(void **state) {
  (void)state;
  bf_hash_list *hashes;
  assert_int_equal(bf_hash_list_parse("a.hashes",
                                      "reduce<int, 64> fixed\n"
                                      " (anonymous namespace)::k \t add # rest\n"
                                      "run<main::{lambda(int)#1}> none#rest\n"
                                      "k<int [4], (Mode)1>[tile] xor:0,5,31\n"
                                      "k<&(operator<(int, int))> fixed\n",
                                      bf_machine_geometry(machine), &hashes, NULL),
                   BF_OK);
  assert_string_equal(text_of(hashes, "reduce<int, 64>"), "fixed");
  assert_string_equal(text_of(hashes, "(anonymous namespace)::k"), "add");
  assert_string_equal(text_of(hashes, "run<main::{lambda(int)#1}>"), "none");
  assert_string_equal(text_of(hashes, "k<&(operator<(int, int))>"), "fixed");
  assert_string_equal(bf_hash_text(bf_hash_list_find_array(hashes, "k<int [4], (Mode)1>", "tile")),
                      "xor:0,5,31");
  bf_hash_list_free(hashes);
}

static void faults_are_located(void **state) {
  (void)state;
  static const struct {
    const char *text;
    unsigned line, column;
    const char *message;
  } row[] = {
      {"a fixed\nb\n", 2, 2, "the hash of 'b' is missing"},
      {"a # fixed\n", 1, 3, "the hash of 'a' is missing"},
      {"a fixed b\n", 1, 9, "a line is a kernel and its hash, and nothing more"},
      {"a fixed\n\n a none\n", 3, 2, "'a' has a hash already"},
      {"* fixed\n* none\n", 2, 1, "'*' has a hash already"},
      {"a  xor:0,0,31\n", 1, 10, "K2 equals K1: those bits cancel each other"},
      {"a nonsense\n", 1, 3, ""},
      {"a[b] fixed\n a[b] none\n", 2, 2, "'a[b]' has a hash already"},
      {"a[] fixed\n", 1, 1, "a hash is for a KERNEL or for an array, KERNEL[ARRAY]"},
      {"[b] fixed\n", 1, 1, "a hash is for a KERNEL or for an array, KERNEL[ARRAY]"},
      {"a[b fixed\n", 1, 1, "a hash is for a KERNEL or for an array, KERNEL[ARRAY]"},
      {"a[b]c fixed\n", 1, 1, "a hash is for a KERNEL or for an array, KERNEL[ARRAY]"},
      {"a[b]] fixed\n", 1, 1, "a hash is for a KERNEL or for an array, KERNEL[ARRAY]"},
      {"k<int, 64>\n", 1, 8, ""},
      {"k<int, 64> fixed add\n", 1, 18, "a line is a kernel and its hash, and nothing more"},
      {"k[a b] fixed\n", 1, 8, "a line is a kernel and its hash, and nothing more"},
      {"k<4>[a]b fixed\n", 1, 1, "a hash is for a KERNEL or for an array, KERNEL[ARRAY]"},
      {"# nothing\n", 0, 0, "no kernel has a hash"},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    bf_hash_list *hashes;
    bf_diagnostic diagnostic;
    assert_int_equal(bf_hash_list_parse("a.hashes", row[i].text, bf_machine_geometry(machine),
                                        &hashes, &diagnostic),
                     BF_BAD_INPUT);
    assert_string_equal(diagnostic.file, "a.hashes");
    assert_int_equal(diagnostic.line, row[i].line);
    assert_int_equal(diagnostic.column, row[i].column);
    if (*row[i].message)
      assert_string_equal(diagnostic.message, row[i].message);
  }
}

static void all_are_found(void **state) {
  (void)state;
  bf_hash_list *hashes;
  const char *kernel = NULL;
  unsigned seen = 0;
  assert_int_equal(bf_hash_list_parse("a.hashes", "a fixed\nb none\n* add\n",
                                      bf_machine_geometry(machine), &hashes, NULL),
                   BF_OK);
  for (size_t i = 0; i < 3; i++) {
    const bf_hash *hash = bf_hash_list_get(hashes, i, &kernel);
    assert_ptr_equal(hash, bf_hash_list_find(hashes, kernel));
    seen |= *kernel == 'a' ? 1 : *kernel == 'b' ? 2 : 4;
  }
  assert_int_equal(seen, 7);
  assert_null(bf_hash_list_get(hashes, 3, &kernel));
  bf_hash_list_free(hashes);
}

static void files_that_are_none(void **state) {
  (void)state;
  bf_hash_list *hashes;
  bf_diagnostic diagnostic;
  assert_int_equal(
      bf_hash_list_read("no/such/file", bf_machine_geometry(machine), &hashes, &diagnostic), BF_IO);
  assert_int_equal(bf_hash_list_read("tests/data/fatbin/lz4.fatbin", bf_machine_geometry(machine),
                                     &hashes, &diagnostic),
                   BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "a file of hashes is text");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_have_their_own_hash),
      cmocka_unit_test(a_star_is_all_others),
      cmocka_unit_test(arrays_have_their_own_hash),
      cmocka_unit_test(names_hold_blanks_inside_brackets),
      cmocka_unit_test(faults_are_located),
      cmocka_unit_test(all_are_found),
      cmocka_unit_test(files_that_are_none),
  };
  return cmocka_run_group_tests(tests, load_machine, free_machine);
}
