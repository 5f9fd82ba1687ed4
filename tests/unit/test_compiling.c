/* PTX on its way through a compiler: what is chosen, what ptxas may refuse, and what is said. ptxas
 * is a script here that says what it is told to. */
#include "tune/compiling.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A column of 32 words a row for each thread of a warp, written by rows and read by columns. */
static const char column[] =
    ".version 8.5\n.target sm_90\n.address_size 64\n"
    ".visible .entry column(.param .u64 out)\n.reqntid 32\n{\n"
    ".shared .align 4 .b8 tile[4096];\n.reg .b32 %r<9>;\n.reg .b64 %d<4>;\n"
    "ld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 7;\n"
    "mov.u32 %r3, tile;\nadd.u32 %r4, %r3, %r2;\n"
    "st.shared.u32 [%r4], %r1;\nst.shared.u32 [%r4+4], %r1;\n"
    "st.shared.u32 [%r4+8], %r1;\nst.shared.u32 [%r4+12], %r1;\n"
    "bar.sync 0;\nld.shared.u32 %r5, [%r4+8];\n"
    "st.global.u32 [%d1], %r5;\nret;\n}\n";

/* Rewrites PTX by a list of hashes (NULL: none). */
static bf_compiled compile(const char *ptx, const char *list, bool is_auto, const char *ptxas) {
  bf_hash_list *hashes = NULL;
  bf_diagnostic diagnostic;
  bf_compiled compiled;
  if (list && bf_hash_list_parse("list", list, bf_listed_geometry, &hashes, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  const bf_listed listed = {.hashes = hashes};
  const bf_compiling how = {.listed = &listed, .is_auto = is_auto, .ptxas = ptxas, .arch = "sm_90"};
  bf_text text = {0};
  bf_text_puts(&text, ptx);
  if (bf_compiling_rewrite(&how, "column.ptx", &text, &compiled, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  bf_text_free(&text);
  if (hashes)
    bf_hash_list_free(hashes);
  return compiled;
}

/* A kernel gets what the list says; without auto one that is not listed is left alone. */
static void test_listed(void **state) {
  (void)state;
  bf_compiled compiled = compile(column, "column fixed\n", false, NULL);
  assert_non_null(compiled.ptx.data);
  assert_non_null(strstr(compiled.remarks.data, "column.ptx: 1 of 1 kernels rewritten\n"));
  bf_compiled again = compile(compiled.ptx.data, "column fixed\n", false, NULL);
  assert_true(again.was_rewritten);
  assert_null(again.ptx.data);
  bf_compiled_free(&again);
  bf_compiled_free(&compiled);
  compiled = compile(column, "other fixed\n", false, NULL);
  assert_null(compiled.ptx.data);
  assert_non_null(strstr(compiled.remarks.data, "0 of 1 kernels"));
  bf_compiled_free(&compiled);
}

/* auto chooses for what is not listed, and leaves "none" alone. */
static void test_auto(void **state) {
  (void)state;
  bf_compiled compiled = compile(column, NULL, true, NULL);
  assert_non_null(compiled.ptx.data);
  assert_non_null(strstr(compiled.remarks.data, "rewritten, it would take"));
  bf_compiled_free(&compiled);
  compiled = compile(column, "column none\n", true, NULL);
  assert_null(compiled.ptx.data);
  bf_compiled_free(&compiled);
}

/* A ptxas that gives a kernel 32 registers, and one that was rewritten as many as told. */
static void write_ptxas(const char *path, const char *registers) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file,
          "#!/bin/sh\nfor at; do case $at in /proc/*) file=$at ;; esac; done\nused=32\n"
          "grep -q xor.b32 \"$file\" && used=%s\n"
          "echo \"ptxas info : Compiling entry function 'column' for 'sm_90'\" >&2\n"
          "echo \"ptxas info : Used $used registers, 4096 bytes smem\" >&2\n",
          registers);
  fclose(file);
  assert_int_equal(chmod(path, 0700), 0);
}

/* A kernel that could not be launched any more with as many threads stays as it is. */
static void test_ptxas(void **state) {
  (void)state;
  char folder[] = "/tmp/bankfold-compiling-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/ptxas", folder);
  write_ptxas(path, "34");
  bf_compiled compiled = compile(column, "column fixed\n", false, path);
  assert_non_null(compiled.ptx.data);
  bf_compiled_free(&compiled);
  /* Blocks of 32 threads have room for anything: without that, 1024 threads must fit. */
  char free_size[sizeof column];
  snprintf(free_size, sizeof free_size, "%s", column);
  memset(strstr(free_size, ".reqntid 32"), ' ', strlen(".reqntid 32"));
  write_ptxas(path, "80");
  compiled = compile(free_size, "column fixed\n", false, path);
  assert_null(compiled.ptx.data);
  assert_non_null(strstr(compiled.remarks.data, "left alone: it would need 80 registers, not 32"));
  bf_compiled_free(&compiled);
  unlink(path);
  rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_listed),
      cmocka_unit_test(test_auto),
      cmocka_unit_test(test_ptxas),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
