/* The verifier against a rewriter that refuses nothing: it rejects every construction that the
 * rewriter refuses, and what it accepts is what the rewriter would have made of it. And the other
 * way round: what the rewriter makes of random modules, some of whose kernels must be left alone,
 * is accepted, and the other kernels are rewritten. */
#include "careless.h"
#include "random.h"
#include "refusals.h"
#include "verify.h"

#include "rewrite/rewrite.h"

/* What the verifier says to a module that was rewritten without scruples: the first finding, in
 * reason, or that it accepts. Kernels but k have no hash where only_k is set. */
static bool is_accepted(const char *body, bool only_k, char reason[256]) {
  char text[MOST_TEXT];
  snprintf(text, sizeof text, "%s%s", HEAD, body);
  bf_ptx_module *original = parse(text);
  bf_text rewritten = careless_rewrite(original);
  bf_ptx_module *module = parse(rewritten.data);
  test_hashes hashes = hashes_from("k=fixed");
  bf_hash *fixed = hash_from("fixed");
  bf_verify_result result;
  assert_int_equal(only_k ? bf_verify(original, module, &hashes, by_name, &result, NULL)
                          : bf_verify(original, module, fixed, same_for_all, &result, NULL),
                   BF_OK);
  snprintf(reason, 256, "%s", result.findings ? result.finding[0].text : "accepted");
  bool accepted = result.is_accepted;
  bf_verify_free(&result);
  free_hashes(&hashes);
  bf_hash_free(fixed);
  bf_text_free(&rewritten);
  bf_ptx_free(module);
  bf_ptx_free(original);
  return accepted;
}

/* ---- What is refused ---- */

static void test_refused_is_rejected(void **state) {
  unsigned wrong = 0;
  char reason[256];
  (void)state;
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
    if (is_accepted(refusals[i].text, false, reason)) {
      wrong++;
      print_error("accepted although %s:\n%s", refusals[i].obstacle, refusals[i].text);
    }
  print_message("%zu constructions\n", sizeof refusals / sizeof *refusals);
  assert_int_equal(wrong, 0);
}

/* The scruples are what is missed: without the construction the same modules are accepted. */
static void test_the_rest_is_accepted(void **state) {
  static const char *const rows[] = {
      KERNEL(""),
      KERNEL("ld.shared.u32 %r1, [%r2+4];\nst.shared.u32 [a+8], %r1;"),
      ".func f()\n{\n.reg .b32 %r;\nld.shared.u32 %r, [%r];\nret;\n}\n" KERNEL("call f, ();"),
      ".shared .align 8 .b8 e[64];\n" KERNEL("mbarrier.init.shared.b64 [e], 1;"),
      ".shared .b32 e[33];\n" KERNEL("ld.shared.u32 %r1, [e];"),
      ".weak .shared .b32 e[33];\n" KERNEL("ld.shared.u32 %r1, [e];"),
      ".extern .shared .b32 e[];\n" KERNEL("ld.shared.u32 %r1, [e];"),
      ".extern .func free();\n" KERNEL("call free, ();"),
      KERNEL("tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;"),
      KERNEL("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, "
             "[%rd1], %r0;"),
      KERNEL("cp.async.bulk.prefetch.L2.global [%rd1], 16;"),
      KERNEL("ld.u32 %r1, [%rd1];\nldu.u32 %r1, [%rd1];"),
  };
  char reason[256];
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!is_accepted(rows[i], false, reason))
      fail_msg("%s:\n%s", reason, rows[i]);
}

/* ---- What is rewritten with care alone ---- */

#define FUNCTION(head) head " f()\n{\n.reg .b32 %r;\nld.shared.u32 %r, [%r];\nret;\n}\n"
/* A kernel without a hash, which calls f by the address at which table points. */
#define CALLER                                                                                     \
  ".entry other()\n{\n.reg .b64 %rd<2>;\nmov.u64 %rd0, table;\nld.global.u64 %rd1, [%rd0];\n"      \
  "p: .callprototype _ ();\ncall %rd1, (), p;\nret;\n}\n"

/* Functions that code without a hash may execute are none to rewrite in place, and accesses by the
 * name of a variable go to shared memory whether they say so or not. */
static void test_carelessness_is_rejected(void **state) {
  static const char *const rows[] = {
      FUNCTION(".visible .func") KERNEL("call f, ();"),
      FUNCTION(".func") ".global .u64 table[1] = {f};\n" CALLER KERNEL("call f, ();"),
      FUNCTION(".func") ".entry other()\n{\n.reg .b64 %rd;\nmov.u64 %rd, f;\nret;\n}\n" KERNEL(
          "call f, ();"),
      FUNCTION(".func") ".visible .func g()\n{\ncall f, ();\nret;\n}\n" KERNEL("call f, ();"),
      FUNCTION(".func") ".func g()\n{\ncall f, ();\nret;\n}\n" KERNEL("call f, ();"),
      KERNEL("ld.u32 %r1, [a];"),
      KERNEL("ld.u32 %r1, [a+128];"),
      KERNEL("ld.volatile.u32 %r1, [a+128];"),
      KERNEL("ld.relaxed.cta.u32 %r1, [a+128];"),
      KERNEL("ld.acquire.gpu.u32 %r1, [a+128];"),
      KERNEL("ldu.u32 %r1, [a+128];"),
      KERNEL("st.u32 [a+128], %r1;"),
      KERNEL("st.volatile.u32 [a+128], %r1;"),
      KERNEL("st.release.cta.u32 [a+128], %r1;"),
      KERNEL("st.u8 [a+128], %r1;"),
      KERNEL("atom.add.u32 %r1, [a+128], 1;"),
      KERNEL("atom.cas.b32 %r1, [a+128], 1, 2;"),
      KERNEL("atom.exch.b32 %r1, [a+128], 1;"),
      KERNEL("red.add.u32 [a+128], 1;"),
      KERNEL("ld.v2.u32 {%r1, %r2}, [a+128];"),
      KERNEL("st.v4.u32 [a+128], {%r1, %r2, %r3, %r4};"),
      KERNEL("ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [a];"),
      KERNEL("stmatrix.sync.aligned.m8n8.x1.b16 [a], {%r1};"),
      ".shared .b32 e[64];\n" KERNEL("ld.u32 %r1, [e+128];"),
      ".extern .shared .b32 e[];\n" KERNEL("ld.u32 %r1, [e+128];"),
  };
  unsigned wrong = 0;
  char reason[256];
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (is_accepted(rows[i], true, reason)) {
      wrong++;
      print_error("accepted:\n%s", rows[i]);
    }
  assert_int_equal(wrong, 0);
}

/* ---- What the rewriter accepts ---- */

/* Pieces of modules, with # in place of a number that is another in each. */
static const char *const kernels[] = {
    "ld.shared.u32 %r1, [%r2+4];\nst.shared.u32 [a+8], %r1;",
    "ld.u32 %r1, [a+128];\nst.volatile.u32 [a+4], %r1;\natom.add.u32 %r2, [a+132], 1;",
    "mov.u32 %r3, weak;\nst.shared.u32 [%r3+64], %r1;",
    "mov.u32 %r3, common;\nst.shared.u32 [%r3+64], %r1;\nld.shared.u32 %r4, [a];",
    "call open_function, ();\nld.shared.u32 %r1, [a];",
    "call table_function, ();",
    "call private_function, ();\nst.shared.u32 [%r1], %r2;",
    "call deep_function, ();",
    "mov.u64 %rd1, private_function;\nst.global.u64 [%rd2], %rd1;\nst.shared.u32 [a], %r1;",
    "cvta.shared.u64 %rd1, %rd2;\nld.u32 %r1, [%rd1];\nldu.u32 %r2, [%rd1+4];",
    "ld.shared.u32 %r1, [dynamic+4];\nst.shared.u32 [dynamic], %r2;",
    "mbarrier.init.shared.b64 [barrier], 1;\nld.shared.u32 %r1, [a];",
    "mov.u32 %r1, common;",
};

/* What a module has besides kernels. */
static const char around[] =
    ".weak .shared .align 4 .b8 weak[100];\n.shared .align 4 .b8 common[200];\n"
    ".extern .shared .align 4 .b8 dynamic[];\n.shared .align 8 .b8 barrier[8];\n"
    ".func private_function()\n{\n.reg .b32 %r;\nst.shared.u32 [%r+12], %r;\nret;\n}\n"
    ".visible .func open_function()\n{\n.reg .b32 %r;\nst.shared.u32 [%r+12], %r;\n"
    "call private_function, ();\nret;\n}\n"
    ".func table_function()\n{\n.reg .b32 %r;\nst.shared.u32 [%r+12], %r;\nret;\n}\n"
    ".func deep_function()\n{\n.reg .b32 %r;\nld.shared.u32 %r, [%r];\ncall open_function, ();\n"
    "ret;\n}\n"
    ".global .u64 table[1] = {table_function};\n";

/* Kernels that are refused whatever stands beside them. */
static const char *const lonely[] = {
    "mov.u32 %r1, %total_smem_size;\nld.shared.u32 %r1, [a];",
    "mov.u32 %r1, %reserved_smem_offset_begin;\nld.shared.u32 %r1, [a];",
    "mov.u32 %r1, %dynamic_smem_size;\nld.shared.u32 %r1, [common];",
    "ldu.u32 %r1, [a+128];",
    "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, "
    "[%rd1], %r0;",
    "mov.u64 %rd1, table_function;\nld.shared.u32 %r1, [a];\np: .callprototype _ ();\n"
    "call %rd1, (), p;",
    "st.shared.u32 [weak], %r1;\nmapa.shared::cluster.u64 %rd1, %rd2, %r1;",
    "ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%rd1];\nst.shared.u32 [a], %r1;",
};

/* Hashes that differ by kernel and array, and leave some alone. */
static const bf_hash *by_hazard(void *context, const bf_ptx_function *kernel,
                                const bf_ptx_variable *array) {
  bf_hash *const *hash = context;
  unsigned sum = 7;
  for (const char *at = kernel->name; *at; at++)
    sum = sum * 31 + (unsigned char)*at;
  if (array && sum % 3 == 0)
    for (const char *at = array->name; *at; at++)
      sum = sum * 31 + (unsigned char)*at;
  return hash[sum / 3 % 3];
}

/* A random module of several kernels. */
static void make_module(test_random *random, char *text) {
  size_t size = (size_t)snprintf(text, MOST_TEXT, "%s%s", HEAD, around);
  uint64_t all = 2 + random_below(random, 6);
  for (uint64_t k = 0; k < all; k++) {
    bool is_lonely = random_below(random, 4) == 0;
    const char *piece = is_lonely ? lonely[random_below(random, sizeof lonely / sizeof *lonely)]
                                  : kernels[random_below(random, sizeof kernels / sizeof *kernels)];
    size += (size_t)snprintf(text + size, MOST_TEXT - size,
                             ".visible .entry %s%u()\n{\n.reg .b32 %%r<9>; .reg .b64 %%rd<9>;\n"
                             ".shared .b32 a[%u];\n%s\nret;\n}\n",
                             is_lonely ? "lonely" : "k", (unsigned)random_below(random, 1000000),
                             33 + (unsigned)random_below(random, 100), piece);
  }
}

/* Whether the verifier rejected what the rewriter made of a kernel at first. */
static bool was_rejected(const bf_rewrite_kernel *kernel) {
  for (unsigned i = 0; i < kernel->obstacles; i++)
    if (strstr(kernel->obstacle[i].text, "the verifier rejects"))
      return true;
  return false;
}

static void test_what_is_rewritten_is_accepted(void **state) {
  enum { MODULES = 2000 };
  bf_hash *hash[3] = {hash_from("fixed"), hash_from("bits:0,1^5,2^6,3,4"), NULL};
  const bf_rewrite_options options = {
      .context = hash, .hash_of = by_hazard, .padding_has_room = true};
  test_random random = {4711};
  unsigned rewritten = 0, left = 0, of_lonely = 0;
  (void)state;
  for (unsigned i = 0; i < MODULES; i++) {
    char text[MOST_TEXT];
    bf_rewrite_result result;
    bf_diagnostic diagnostic = {0};
    make_module(&random, text);
    bf_ptx_module *module = parse(text);
    if (bf_rewrite(module, &options, &result, &diagnostic))
      fail_msg("%s:\n%s", diagnostic.message, text);
    for (unsigned k = 0; k < result.kernels; k++) {
      const bf_rewrite_kernel *kernel = &result.kernel[k];
      if (was_rejected(kernel))
        fail_msg("%s: %s:\n%s", kernel->name, kernel->obstacle[0].text, text);
      rewritten += kernel->is_rewritten;
      left += !kernel->is_rewritten;
      of_lonely += kernel->is_rewritten && !strncmp(kernel->name, "lonely", 6);
    }
    bf_rewrite_free(&result);
    bf_ptx_free(module);
  }
  print_message("%u modules: %u kernels rewritten, %u left alone\n", MODULES, rewritten, left);
  assert_int_equal(of_lonely, 0);
  assert_true(rewritten > MODULES && left > MODULES);
  bf_hash_free(hash[0]);
  bf_hash_free(hash[1]);
}

/* ---- What the verifier rejects nevertheless ---- */

/* Hashes of which the verifier is told others than the rewriter, for kernels called bad: the
 * rewriter asks once for a kernel and its arrays, then the verifier does. */
typedef struct two_faced {
  bf_hash *told[2];
  unsigned asked[2]; /* for the kernels called good and bad */
  bool for_all;
} two_faced;

static const bf_hash *by_turns(void *context, const bf_ptx_function *kernel,
                               const bf_ptx_variable *array) {
  two_faced *own = context;
  bool is_bad = !strcmp(kernel->name, "bad");
  own->asked[is_bad] += !array;
  return own->told[(is_bad || own->for_all) && own->asked[is_bad] % 2 == 0];
}

static void test_the_rejected_is_left_alone(void **state) {
  static const char text[] = HEAD
      ".entry good()\n{\n.reg .b32 %r;\n.shared .b32 a[64];\nld.shared.u32 %r, [%r];\nret;\n}\n"
      ".entry bad()\n{\n.reg .b32 %r;\n.shared .b32 a[64];\nld.shared.u32 %r, [%r];\nret;\n}\n";
  two_faced hashes = {{hash_from("fixed"), hash_from("bits:0,1^5,2,3,4")}, {0, 0}, false};
  const bf_rewrite_options options = {.context = &hashes, .hash_of = by_turns};
  bf_ptx_module *module = parse(text);
  bf_rewrite_result result;
  bf_text plain = {0};
  (void)state;
  assert_int_equal(bf_rewrite(module, &options, &result, NULL), BF_OK);
  assert_true(result.kernel[0].is_rewritten && !result.kernel[1].is_rewritten);
  assert_true(was_rejected(&result.kernel[1]) && !result.kernel[0].obstacles);
  assert_true(result.is_changed && result.module);
  bf_rewrite_free(&result);
  hashes.for_all = true;
  hashes.asked[0] = hashes.asked[1] = 0;
  assert_int_equal(bf_rewrite(module, &options, &result, NULL), BF_OK);
  assert_false(result.kernel[0].is_rewritten || result.kernel[1].is_rewritten);
  assert_false(result.is_changed);
  bf_ptx_print(module, &plain);
  assert_string_equal(result.text.data, plain.data);
  bf_text_free(&plain);
  bf_rewrite_free(&result);
  bf_ptx_free(module);
  bf_hash_free(hashes.told[0]);
  bf_hash_free(hashes.told[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused_is_rejected),
      cmocka_unit_test(test_the_rest_is_accepted),
      cmocka_unit_test(test_carelessness_is_rejected),
      cmocka_unit_test(test_what_is_rewritten_is_accepted),
      cmocka_unit_test(test_the_rejected_is_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
