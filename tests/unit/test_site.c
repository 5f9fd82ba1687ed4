/* Sites: how they are written, and which kernel of a module they belong to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ptx/site.h"
#include "random.h"

static void assert_site(const char *kernel, const char *file, const char *expected) {
  bf_text text = {0};
  bf_text_puts(&text, "a b ");
  bf_site_write(kernel, file, 12, 34, &text);
  assert_string_equal(text.data, expected);
  bf_text_free(&text);
}

static void test_writing(void **state) {
  (void)state;
  assert_site("plain", "dir/file.cu", "a b plain:file.cu:12");
  assert_site("plain", "file.cu", "a b plain:file.cu:12");
  assert_site("plain", NULL, "a b plain:ptx:34");
  assert_site("_Z6reduceIiLi64EEvPi", "dir.x/my file.cu", "a b reduce<int,_64>:my_file.cu:12");
  assert_site("_ZN2ns1kEv", "\xc3\xa4.cu", "a b ns::k:__.cu:12");
}

/* A module with empty kernels of these names, ending with NULL; prototypes and functions are no
 * kernels. */
static bf_ptx_module *make_module(const char *const *kernel) {
  bf_diagnostic diagnostic;
  bf_ptx_module *module;
  bf_text text = {0};
  bf_text_puts(&text, ".version 8.0\n.target sm_90\n.address_size 64\n"
                      ".entry only_declared();\n.func helper()\n{\nret;\n}\n");
  for (; *kernel; kernel++)
    bf_text_addf(&text, ".entry %s()\n{\nret;\n}\n", *kernel);
  if (bf_ptx_parse("a.ptx", text.data, text.size, &module, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  bf_text_free(&text);
  return module;
}

static void test_kernels(void **state) {
  (void)state;
  static const char *const kernel[] = {"a", "_Z1aIiEvv", "_ZN2ns1aEv", "_Z3fooi", "_Z3foof", NULL};
  static const struct {
    const char *site;
    size_t kernel;
    const char *place;
  } rows[] = {
      {"a:b.cu:1", 0, "b.cu:1"},
      {"a<int>:b.cu:1", 1, "b.cu:1"},
      {"_Z1aIiEvv:b.cu:1", 1, "b.cu:1"},
      {"ns::a:b.cu:1", 2, "b.cu:1"},
      {"ns:b.cu:1", 5, "ns:b.cu:1"},
      {"foo:b.cu:1", 3, "b.cu:1"}, /* which foo it is, nobody knows */
      {"_Z3foof:b.cu:1", 4, "b.cu:1"},
      {"ab:b.cu:1", 5, "ab:b.cu:1"},
      {"a", 5, "a"},
      {"a:", 0, ""},
      {":a:b.cu:1", 5, ":a:b.cu:1"},
      {"", 5, ""},
      {"only_declared:b.cu:1", 5, "only_declared:b.cu:1"},
      {"helper:b.cu:1", 5, "helper:b.cu:1"},
  };
  bf_ptx_module *module = make_module(kernel);
  bf_site_names names;
  assert_int_equal(bf_site_names_make(module, &names, NULL), BF_OK);
  assert_int_equal(names.kernels, 5);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    assert_int_equal(bf_site_kernel(&names, rows[i].site), rows[i].kernel);
    assert_string_equal(bf_site_place(&names, rows[i].site), rows[i].place);
  }
  assert_int_equal(bf_site_kernel(&names, NULL), 5);
  assert_null(bf_site_place(&names, NULL));
  bf_site_names_free(&names);
  bf_ptx_free(module);
}

/* A module with one kernel owns all, one without owns nothing. */
static void test_few(void **state) {
  (void)state;
  static const char *const kernel[] = {"a", NULL};
  bf_ptx_module *one = make_module(kernel), *none = make_module(kernel + 1);
  bf_site_names names;
  assert_int_equal(bf_site_names_make(one, &names, NULL), BF_OK);
  assert_int_equal(bf_site_kernel(&names, "b:c.cu:1"), 0);
  assert_int_equal(bf_site_kernel(&names, NULL), 0);
  assert_string_equal(bf_site_place(&names, "b:c.cu:1"), "b:c.cu:1");
  bf_site_names_free(&names);
  assert_int_equal(bf_site_names_make(none, &names, NULL), BF_OK);
  assert_int_equal(bf_site_kernel(&names, "a:c.cu:1"), 0);
  assert_int_equal(names.kernels, 0);
  bf_site_names_free(&names);
  bf_ptx_free(one);
  bf_ptx_free(none);
}

/* The kernel of a site by trying every name. */
static size_t slow_kernel(const char *const *kernel, size_t count, const char *site) {
  size_t best = count, longest = 0;
  for (size_t i = 0; i < count; i++) {
    bf_text readable = {0};
    bf_ptx_readable_name(kernel[i], &readable);
    const char *const names[] = {kernel[i], readable.data};
    for (unsigned k = 0; k < 2; k++) {
      size_t length = strlen(names[k]);
      if (strncmp(site, names[k], length) == 0 && site[length] == ':' && length > longest) {
        longest = length;
        best = i;
      }
    }
    bf_text_free(&readable);
  }
  return best;
}

/* Random sites of names that begin alike go where trying every name puts them. */
static void test_every_name(void **state) {
  (void)state;
  static const char *const kernel[] = {"a",           "aa",        "b",         "_ZN1a1bEv",
                                       "_ZN1a1bEi",   "_ZN1b1aEv", "_Z1bIiEvv", "_ZN1aIiE1bEv",
                                       "_ZN1a1b1aEv", NULL};
  static const char *const part[] = {"a", "b", ":", "::", "<int>", "_ZN1a1bEi", "1"};
  bf_ptx_module *module = make_module(kernel);
  bf_site_names names;
  test_random random = {1};
  assert_int_equal(bf_site_names_make(module, &names, NULL), BF_OK);
  for (unsigned i = 0; i < 20000; i++) {
    char site[128] = "";
    for (unsigned k = 0; k < 6; k++)
      strcat(site, part[random_below(&random, sizeof part / sizeof *part)]);
    assert_int_equal(bf_site_kernel(&names, site), slow_kernel(kernel, 9, site));
  }
  bf_site_names_free(&names);
  bf_ptx_free(module);
}

/* Lines of a file, by the name that sites have for it. */
static void test_lines(void **state) {
  (void)state;
  assert_int_equal(bf_site_line("a.cu:12", "a.cu"), 12);
  assert_int_equal(bf_site_line("a.cu:12", "dir.x/a.cu"), 12);
  assert_int_equal(bf_site_line("my_a.cu:12", "/dir/my a.cu"), 12);
  assert_int_equal(bf_site_line("a.cu:12", "b.cu"), 0);
  assert_int_equal(bf_site_line("a.cu:12", "a.c"), 0);
  assert_int_equal(bf_site_line("a.cu:12", "a.cuh"), 0);
  assert_int_equal(bf_site_line("a.cu", "a.cu"), 0);
  assert_int_equal(bf_site_line("a.cu:", "a.cu"), 0);
  assert_int_equal(bf_site_line("a.cu:x", "a.cu"), 0);
  assert_int_equal(bf_site_line("a.cu:1:2", "a.cu"), 0);
  assert_int_equal(bf_site_line("a.cu:1:2", "a.cu:1"), 2);
  assert_int_equal(bf_site_line("", "a.cu"), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_writing),    cmocka_unit_test(test_kernels), cmocka_unit_test(test_few),
      cmocka_unit_test(test_every_name), cmocka_unit_test(test_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
