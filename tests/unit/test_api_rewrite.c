/* Rewriting through the public header: hashes, what is said of each kernel, and what is refused. */
#include "tune/plans.h"
#include "unit/api.h"

/* turn reads columns; both has two arrays, of which the second is read by rows; open has dynamic
 * shared memory; closed has an instruction that cannot be rewritten; idle has no accesses. */
static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".extern .shared .align 4 .b8 more[];\n"
    ".visible .entry turn()\n{\n.reg .b32 %r<9>;\n.shared .align 4 .b8 tile[4100];\n"
    "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 7;\nmov.u32 %r3, tile;\nadd.u32 %r4, %r3, %r2;\n"
    "ld.shared.u32 %r5, [%r4];\nst.shared.u32 [%r4], %r5;\nret;\n}\n"
    ".visible .entry both()\n{\n.reg .b32 %r<9>;\n.shared .align 4 .b8 column[4096];\n"
    ".shared .align 4 .b8 row[128];\n"
    "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 7;\nmov.u32 %r3, column;\nadd.u32 %r4, %r3, %r2;\n"
    "ld.shared.u32 %r5, [%r4];\nmov.u32 %r6, row;\nshl.b32 %r7, %r1, 2;\nadd.u32 %r8, %r6, %r7;\n"
    "st.shared.u32 [%r8], %r5;\nret;\n}\n"
    ".visible .entry _Z4openILi8EEvv()\n{\n.reg .b32 %r<9>;\n"
    "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 7;\nmov.u32 %r3, more;\nadd.u32 %r4, %r3, %r2;\n"
    "st.shared.u32 [%r4], %r1;\nret;\n}\n"
    ".visible .entry closed()\n{\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n"
    ".shared .align 32 .b8 tile[4096];\nmov.u32 %r1, tile;\n"
    "st.shared.u32 [%r1], %r1;\nmov.u32 %r2, %dynamic_smem_size;\nret;\n}\n"
    ".visible .entry idle()\n{\nret;\n}\n";
enum { KERNELS = 5 };

static bf_module *module;

static int set_up(void **state) {
  (void)state;
  module = parse_bytes(ptx, sizeof ptx - 1, "kernels.ptx");
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bf_module_free(module);
  return 0;
}

static bf_rewrite_module_options defaults(void) {
  bf_rewrite_module_options options;
  bf_rewrite_module_default_options(&options);
  return options;
}

static bf_rewriting *rewrite(const bf_module *from, const bf_rewrite_module_options *options) {
  bf_rewriting *rewriting;
  bf_diagnostic diagnostic;
  if (bf_rewrite_module(from, options, &rewriting, &diagnostic) != BF_OK)
    fail_msg("%s:%u: %s", diagnostic.file, (unsigned)diagnostic.line, diagnostic.message);
  return rewriting;
}

/* Hash and reason of each kernel, as one text. */
static void expect(const bf_rewriting *rewriting, const char *expected) {
  char text[2000] = "";
  const bf_rewritten_kernel *kernel;
  for (size_t i = 0; (kernel = bf_rewriting_get(rewriting, i)); i++) {
    assert_int_equal(kernel->is_rewritten, !kernel->reason);
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s: %s\n", kernel->name,
             kernel->reason ? kernel->reason : kernel->hash);
  }
  assert_string_equal(text, expected);
}

#define CLOSED                                                                                     \
  "closed: line 50: the size of shared memory, which padding changes\n"                            \
  "idle: no accesses to shared memory\n"

/* One hash for all. */
static void kernels_are_described(void **state) {
  (void)state;
  bf_rewrite_module_options options = defaults();
  options.hash = "fixed";
  bf_rewriting *rewriting = rewrite(module, &options);
  expect(rewriting, "turn: fixed\nboth: column=fixed, row=none\n_Z4openILi8EEvv: fixed\n" CLOSED);
  assert_true(bf_rewriting_is_changed(rewriting));
  assert_false(bf_rewriting_is_repeated(rewriting));
  const bf_rewritten_kernel *turn = bf_rewriting_get(rewriting, 0);
  assert_int_equal(turn->accesses, 2);
  assert_int_equal(turn->hashed, 2);
  assert_true(turn->added_instructions >= 2);
  assert_int_equal(turn->shared_bytes, 4100);
  assert_int_equal(turn->padded_shared_bytes, 4224);
  assert_null(bf_rewriting_get(rewriting, KERNELS));
  bf_rewriting_free(rewriting);
}

/* Lists name kernels and arrays; what they do not name has the one hash; another kernel than the
 * only one is not asked for. */
static void lists_name_kernels_and_arrays(void **state) {
  (void)state;
  bf_rewrite_module_options options = defaults();
  options.hash = "fixed";
  options.hashes = "# hashes\nopen<8> xor:0,6,31\nturn none\nboth[row] none\n";
  bf_rewriting *rewriting = rewrite(module, &options);
  expect(rewriting, "turn: no hash is asked for\nboth: column=fixed, row=none\n"
                    "_Z4openILi8EEvv: xor:0,6,31\n" CLOSED);
  assert_string_equal(bf_rewriting_hashes(rewriting),
                      "turn none\nboth none\nboth[column] fixed\nboth[row] none\n"
                      "_Z4openILi8EEvv xor:0,6,31\nclosed none\nidle none\n");
  bf_rewrite_module_options again = defaults();
  again.hashes = bf_rewriting_hashes(rewriting);
  bf_rewriting *same = rewrite(module, &again);
  assert_string_equal(bf_rewriting_text(same), bf_rewriting_text(rewriting));
  bf_rewriting_free(same);
  bf_rewriting_free(rewriting);

  options.kernel = "open<8>";
  rewriting = rewrite(module, &options);
  expect(rewriting, "turn: not asked for\nboth: not asked for\n_Z4openILi8EEvv: xor:0,6,31\n"
                    "closed: not asked for\nidle: not asked for\n");
  bf_rewriting_free(rewriting);
}

/* Without options nothing is rewritten, but it is known what could be. */
static void nothing_is_asked_for(void **state) {
  (void)state;
  bf_rewriting *rewriting = rewrite(module, NULL);
  char *text;
  expect(rewriting, "turn: no hash is asked for\nboth: no hash is asked for\n"
                    "_Z4openILi8EEvv: no hash is asked for\n" CLOSED);
  assert_false(bf_rewriting_is_changed(rewriting));
  assert_int_equal(bf_module_text(module, &text, NULL), BF_OK);
  assert_string_equal(bf_rewriting_text(rewriting), text);
  bf_free(text);
  bf_rewriting_free(rewriting);
}

/* The text is that of the rewriter itself, and rewriting it again is refused. */
static void the_rewriter_is_asked(void **state) {
  (void)state;
  bf_ptx_module *parsed;
  bf_plans plans;
  bf_rewrite_result direct;
  bf_geometry geometry = {.bank_bits = 5, .address_bits = 16, .word_bytes = 4};
  assert_int_equal(bf_ptx_parse("test", ptx, sizeof ptx - 1, &parsed, NULL), BF_OK);
  assert_int_equal(bf_plans_make(parsed, "test", NULL, &plans, NULL), BF_OK);
  assert_int_equal(bf_plans_set_hash(&plans, "xor:0,5,31", &geometry, NULL), BF_OK);
  assert_int_equal(bf_plans_rewrite(&plans, false, &direct, NULL), BF_OK);
  bf_rewrite_module_options options = defaults();
  options.hash = "xor:0,5,31";
  bf_rewriting *rewriting = rewrite(module, &options);
  const char *text = bf_rewriting_text(rewriting);
  assert_string_equal(text, direct.text.data);
  for (unsigned i = 0; i < KERNELS; i++)
    assert_int_equal(bf_rewriting_get(rewriting, i)->added_instructions,
                     direct.kernel[i].added_instructions);

  bf_module *once = parse_bytes(text, strlen(text), "once.ptx");
  bf_rewriting *twice = rewrite(once, &options);
  assert_true(bf_rewriting_is_repeated(twice));
  assert_false(bf_rewriting_is_changed(twice));
  for (unsigned i = 0; i < KERNELS; i++)
    assert_non_null(strstr(bf_rewriting_get(twice, i)->reason, "it was rewritten before"));
  bf_rewriting_free(twice);
  bf_module_free(once);
  bf_rewriting_free(rewriting);
  bf_rewrite_free(&direct);
  bf_plans_free(&plans);
  bf_ptx_free(parsed);
}

static void wrong_hashes_are_refused(void **state) {
  (void)state;
  const struct {
    const char *hash, *hashes, *name, *kernel;
    const char *file;
    unsigned line, column;
    const char *message;
  } rows[] = {
      {"purple", NULL, NULL, NULL, "hash", 1, 1, "purple"},
      {"add", NULL, NULL, NULL, "", 0, 0, "does not keep words in their rows of 128 bytes"},
      {NULL, "turn fixed\nboth xor:0,x,31\n", NULL, NULL, "hashes", 2, 12, "number"},
      {NULL, "turn\n", "my.hashes", NULL, "my.hashes", 1, 5, "the hash of 'turn' is missing"},
      {NULL, "turn mod:31\n", "my.hashes", NULL, "my.hashes", 0, 0, "does not keep words"},
      {"fixed", NULL, NULL, "two", "kernels.ptx", 0, 0, "no kernel 'two'; there are turn both"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_rewrite_module_options options = defaults();
    bf_rewriting *rewriting;
    bf_diagnostic diagnostic;
    options.hash = rows[i].hash;
    options.hashes = rows[i].hashes;
    options.name = rows[i].name;
    options.kernel = rows[i].kernel;
    assert_int_equal(bf_rewrite_module(module, &options, &rewriting, &diagnostic), BF_BAD_INPUT);
    assert_null(rewriting);
    assert_string_equal(diagnostic.file, rows[i].file);
    assert_int_equal(diagnostic.line, rows[i].line);
    assert_int_equal(diagnostic.column, rows[i].column);
    if (!strstr(diagnostic.message, rows[i].message))
      fail_msg("%s", diagnostic.message);
    assert_int_equal(bf_rewrite_module(module, &options, &rewriting, NULL), BF_BAD_INPUT);
  }
  bf_rewrite_module_options unfilled = {0};
  bf_rewriting *rewriting;
  assert_int_equal(bf_rewrite_module(module, &unfilled, &rewriting, NULL), BF_BAD_INPUT);
  bf_rewriting_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_are_described),    cmocka_unit_test(lists_name_kernels_and_arrays),
      cmocka_unit_test(nothing_is_asked_for),     cmocka_unit_test(the_rewriter_is_asked),
      cmocka_unit_test(wrong_hashes_are_refused),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
