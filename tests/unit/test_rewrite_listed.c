/* Rewriting by a list of hashes: which hash a kernel gets, what is left alone, and what is said. */
#include "rewrite/listed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Kernels called turn<8> in C++, and other; one with dynamic shared memory, one with accesses of 16
 * bytes, and one with none. */
#define KERNEL(name, array, access)                                                                \
  ".visible .entry " name "(.param .u32 " name "_a)\n{\n" array                                    \
  ".reg .b32 %r<9>;\nld.param.u32 %r1, [" name "_a];\nmov.u32 %r2, tile;\n"                        \
  "add.u32 %r2, %r2, %r1;\n" access "\nret;\n}\n"
#define TILE ".shared .align 16 .b8 tile[4096];\n"
#define HEAD                                                                                       \
  ".version 8.5\n.target sm_90\n.address_size 64\n.extern .shared .align 16 .b8 open[];\n"
#define TURN KERNEL("_Z4turnILi8EEvi", TILE, "st.shared.u32 [%r2], %r1;")
#define OTHER KERNEL("other", TILE, "st.shared.u32 [%r2], %r1;")
#define WIDE KERNEL("wide", TILE, "st.shared.v4.u32 [%r2], {%r1, %r1, %r1, %r1};")
#define IDLE KERNEL("idle", TILE, "")
#define DYNAMIC KERNEL("dynamic", TILE, "mov.u32 %r3, open;\nst.shared.u32 [%r3], %r1;")
static const char text[] = HEAD TURN OTHER WIDE IDLE DYNAMIC;

static bf_hash *hash_of(const char *form) {
  bf_hash *hash;
  bf_diagnostic diagnostic;
  if (bf_hash_parse(form, &bf_listed_geometry, &hash, &diagnostic) != BF_OK)
    fail_msg("%s: %s", form, diagnostic.message);
  return hash;
}

static bf_hash_list *list_of(const char *lines) {
  bf_hash_list *list;
  bf_diagnostic diagnostic;
  if (bf_hash_list_parse("list", lines, bf_listed_geometry, &list, &diagnostic) != BF_OK)
    fail_msg("%s: %s", lines, diagnostic.message);
  return list;
}

static bf_ptx_module *parse(const char *ptx) {
  bf_ptx_module *module;
  bf_diagnostic diagnostic;
  if (bf_ptx_parse("test", ptx, strlen(ptx), &module, &diagnostic) != BF_OK)
    fail_msg("%llu: %s", (unsigned long long)diagnostic.line, diagnostic.message);
  return module;
}

/* Rewrites PTX and compares the remarks on its kernels. */
static void check(const char *ptx, const bf_listed *listed, const char *expected,
                  bf_rewrite_result *result) {
  bf_ptx_module *module = parse(ptx);
  bf_diagnostic diagnostic;
  bf_text remarks = {0};
  if (bf_rewrite_listed(module, listed, result, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  for (unsigned i = 0; i < result->kernels; i++) {
    bf_listed_remark(&result->kernel[i], &remarks);
    bf_text_puts(&remarks, "\n");
  }
  assert_string_equal(remarks.data, expected);
  bf_text_free(&remarks);
  bf_ptx_free(module);
}

/* Arrays of a row at most are left where they are, as no hash changes their conflicts - unless an
 * access may be to any array. */
static void test_narrow_arrays(void **state) {
  (void)state;
  static const char row[] = ".shared .align 4 .b8 flag[4];\n.shared .align 4 .b8 row[132];\n";
  char ptx[2048];
  bf_hash *fixed = hash_of("fixed");
  bf_rewrite_result result;
  bf_listed listed = {.otherwise = fixed};
  snprintf(ptx, sizeof ptx,
           HEAD ".visible .entry known(.param .u32 a)\n{\n%s" TILE
                ".reg .b32 %%r<9>;\nld.param.u32 %%r1, [a];\nmov.u32 %%r2, tile;\n"
                "add.u32 %%r2, %%r2, %%r1;\nst.shared.u32 [%%r2], 1;\nst.shared.u32 [flag], 1;\n"
                "st.shared.u32 [row+128], 1;\nret;\n}\n"
                ".visible .entry unknown(.param .u32 b)\n{\n.shared .align 4 .b8 word[4];\n"
                ".reg .b32 %%r<9>;\nld.param.u32 %%r1, [b];\nst.shared.u32 [word], 1;\n"
                "st.shared.u32 [%%r1], 1;\nret;\n}\n"
                ".visible .entry only(.param .u32 c)\n{\n.shared .align 4 .b8 word[128];\n"
                "st.shared.u32 [word], 1;\nret;\n}\n",
           row);
  check(ptx, &listed,
        "known: flag=none, row=fixed, tile=fixed\nunknown: fixed\n"
        "only: left alone: no access needs the hash\n",
        &result);
  assert_int_equal(result.kernel[0].exempt, 1);
  assert_non_null(strstr(result.text.data, "st.shared.u32 \t[flag], 1;"));
  assert_non_null(strstr(result.text.data, ".shared .align 4 .b8 flag[4];"));
  assert_non_null(strstr(result.text.data, ".shared .align 128 .b8 row[256];"));
  bf_rewrite_free(&result);
  bf_hash_free(fixed);
}

static void test_one_hash(void **state) {
  (void)state;
  bf_hash *fixed = hash_of("fixed");
  bf_rewrite_result result;
  bf_listed listed = {.otherwise = fixed};
  check(text, &listed,
        "_Z4turnILi8EEvi: fixed\nother: fixed\n"
        "wide: left alone: line 32: an access of 16 bytes, of which the hash keeps 4 together\n"
        "idle: left alone: no accesses to shared memory\ndynamic: fixed\n",
        &result);
  assert_true(result.is_changed);
  bf_rewrite_free(&result);
  bf_hash_free(fixed);
}

static void test_list(void **state) {
  (void)state;
  bf_hash *fixed = hash_of("fixed");
  bf_hash_list *list = list_of("turn<8> xor:0,6,31\nother none\nwide cute:3,4,3\n");
  bf_listed listed = {.hashes = list};
  bf_rewrite_result result;
  assert_string_equal(bf_hash_text(bf_listed_hash(&listed, "_Z4turnILi8EEvi", NULL)), "xor:0,6,31");
  assert_null(bf_listed_hash(&listed, "idle", NULL));
  listed.otherwise = fixed;
  assert_string_equal(bf_hash_text(bf_listed_hash(&listed, "idle", NULL)), "fixed");
  check(text, &listed,
        "_Z4turnILi8EEvi: xor:0,6,31\nother: left alone: no hash\nwide: cute:3,4,3\n"
        "idle: left alone: no accesses to shared memory\ndynamic: fixed\n",
        &result);
  bf_rewrite_free(&result);
  bf_hash_list_free(list);
  bf_hash_free(fixed);
}

/* The name of the PTX goes before the readable one, and "*" behind both. */
static void test_names(void **state) {
  (void)state;
  bf_hash_list *list = list_of("turn<8> xor:0,6,31\n_Z4turnILi8EEvi xor:0,7,31\n* fixed\n");
  bf_listed listed = {.hashes = list};
  assert_string_equal(bf_hash_text(bf_listed_hash(&listed, "_Z4turnILi8EEvi", NULL)), "xor:0,7,31");
  assert_string_equal(bf_hash_text(bf_listed_hash(&listed, "_Z4turnILi9EEvi", NULL)), "fixed");
  bf_hash_list_free(list);
}

static void test_twice(void **state) {
  (void)state;
  bf_hash *fixed = hash_of("fixed");
  bf_listed listed = {.otherwise = fixed, .padding_has_room = true};
  bf_rewrite_result first, second;
  bf_ptx_module *module = parse(text);
  bf_diagnostic diagnostic;
  assert_int_equal(bf_rewrite_listed(module, &listed, &first, &diagnostic), BF_OK);
  check(first.text.data, &listed,
        "_Z4turnILi8EEvi: left alone: it was rewritten before\n"
        "other: left alone: it was rewritten before\nwide: left alone: it was rewritten before\n"
        "idle: left alone: it was rewritten before\n"
        "dynamic: left alone: it was rewritten before\n",
        &second);
  assert_false(second.is_changed);
  bf_rewrite_free(&second);
  bf_rewrite_free(&first);
  bf_ptx_free(module);
  bf_hash_free(fixed);
}

static void test_bad_hash(void **state) {
  (void)state;
  bf_hash *folded = hash_of("mod:31");
  bf_listed listed = {.otherwise = folded};
  bf_ptx_module *module = parse(text);
  bf_rewrite_result result;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_rewrite_listed(module, &listed, &result, &diagnostic), BF_BAD_INPUT);
  assert_non_null(strstr(diagnostic.message, "mod:31"));
  bf_ptx_free(module);
  bf_hash_free(folded);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_narrow_arrays), cmocka_unit_test(test_one_hash),
      cmocka_unit_test(test_list),          cmocka_unit_test(test_names),
      cmocka_unit_test(test_twice),         cmocka_unit_test(test_bad_hash),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
