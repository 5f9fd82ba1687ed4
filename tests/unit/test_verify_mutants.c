/* The verifier on what a random change makes of rewritten PTX: it may accept that only where the
 * emulator sees no difference. And on the corpus, as the rewriter rewrites it. */
#include "random.h"
#include "sanitized.h"
#include "verify.h"

#include "rewrite/rewrite.h"

#include <ctype.h>
#include <glob.h>

/* ---- Mutants ---- */

/* Global memory of a pair: a part for each kernel. */
enum { KERNEL_BYTES = 4096, BUFFER_BYTES = MOST_KERNELS * KERNEL_BYTES };

/* Runs a kernel; false where the module has none of that name or it faults. */
static bool execute_kernel(bed *at, const char *name, uint64_t buffer) {
  bf_diagnostic diagnostic = {0};
  const bf_emu_kernel *kernel = NULL;
  bf_emu_result result = {0};
  const uint64_t parameters[2] = {buffer, 4};
  if (bf_emu_kernel_get(at->module, name, &kernel, &diagnostic))
    return false;
  bf_emu_launch launch = {.kernel = kernel,
                          .grid = {1, 1, 1},
                          .block = {64, 1, 1},
                          .dynamic_shared_bytes = 4096,
                          .parameters = parameters,
                          .parameter_bytes = strcmp(name, "arrays") ? 8 : 12,
                          .workers = 1};
  bool is_good = !bf_emu_run(at->emu, &launch, &result, &diagnostic) && !result.fault.kind;
  if (result.fault.kind)
    print_error("%s at %llu\n", bf_emu_fault_name(result.fault.kind),
                (unsigned long long)result.fault.line);
  return is_good;
}

/* Runs the kernels of a pair and copies what they leave in global memory; false where one does not
 * run. */
static bool execute(const char *text, const test_pair *pair, unsigned char *memory) {
  bed at;
  bool is_good = true;
  bed_open_text(&at, "mutant", text, strlen(text), NULL);
  uint64_t buffer = bed_alloc(&at, BUFFER_BYTES, 0x5a);
  for (unsigned i = 0; i < MOST_KERNELS && pair->kernel[i]; i++)
    is_good &= execute_kernel(&at, pair->kernel[i], buffer + i * KERNEL_BYTES);
  memcpy(memory, (void *)(uintptr_t)buffer, BUFFER_BYTES);
  bed_close(&at);
  return is_good;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || strchr("%_.+", c); }

/* Start and size of a random token. */
static const char *random_token(test_random *random, const char *text, size_t *size) {
  const char *at = text + random_below(random, strlen(text));
  while (at > text && is_word(at[-1]) && is_word(*at))
    at--;
  *size = 1;
  while (is_word(*at) && is_word(at[*size]))
    ++*size;
  return at;
}

/* Another token in place of one; where alike is set they start with the same character. */
static void replace_token(test_random *random, const char *text, bool alike, char *mutant) {
  size_t size, other_size;
  const char *at = random_token(random, text, &size);
  const char *other = random_token(random, text, &other_size);
  for (unsigned i = 0; alike && *other != *at && i < 100; i++)
    other = random_token(random, text, &other_size);
  snprintf(mutant, MOST_TEXT, "%.*s%.*s%s", (int)(at - text), text, (int)other_size, other,
           at + size);
}

/* Another digit at the end of a token. */
static void replace_digit(test_random *random, const char *text, char *mutant) {
  size_t size;
  const char *at = random_token(random, text, &size);
  strcpy(mutant, text);
  char *digit = mutant + (at - text) + size - 1;
  if (isdigit((unsigned char)*digit))
    *digit = (char)('0' + random_below(random, 10));
}

/* The start of a random line, and its size. */
static const char *random_line(test_random *random, const char *text, size_t *size) {
  const char *at = text + random_below(random, strlen(text));
  while (at > text && at[-1] != '\n')
    at--;
  *size = (size_t)(strchr(at, '\n') - at) + 1;
  return at;
}

/* Leaves out a line. */
static void delete_line(test_random *random, const char *text, char *mutant) {
  size_t size;
  const char *at = random_line(random, text, &size);
  snprintf(mutant, MOST_TEXT, "%.*s%s", (int)(at - text), text, at + size);
}

/* Puts a copy of a line elsewhere. */
static void copy_line(test_random *random, const char *text, char *mutant) {
  size_t size, other_size;
  const char *at = random_line(random, text, &size);
  const char *other = random_line(random, text, &other_size);
  snprintf(mutant, MOST_TEXT, "%.*s%.*s%s", (int)(at - text), text, (int)other_size, other, at);
}

/* Swaps a line with the next. */
static void swap_lines(test_random *random, const char *text, char *mutant) {
  size_t size;
  const char *at = random_line(random, text, &size), *next = at + size;
  size_t next_size = *next ? (size_t)(strchr(next, '\n') - next) + 1 : 0;
  snprintf(mutant, MOST_TEXT, "%.*s%.*s%.*s%s", (int)(at - text), text, (int)next_size, next,
           (int)size, at, next + next_size);
}

/* Text with one random change. */
static void mutate(test_random *random, const char *text, char *mutant) {
  switch (random_below(random, 8)) {
  case 0:
    delete_line(random, text, mutant);
    break;
  case 1:
    copy_line(random, text, mutant);
    break;
  case 2:
    swap_lines(random, text, mutant);
    break;
  case 3:
  case 4:
    replace_digit(random, text, mutant);
    break;
  default:
    replace_token(random, text, random_below(random, 4) > 0, mutant);
  }
}

/* Whether a mutant is a module at all and the verifier accepts it. */
static bool is_accepted(const bf_ptx_module *original, test_hashes *hashes, const char *mutant) {
  bf_ptx_module *module = NULL;
  bf_verify_result result;
  if (bf_ptx_parse("mutant", mutant, strlen(mutant), &module, NULL))
    return false;
  assert_int_equal(bf_verify(original, module, hashes, by_name, &result, NULL), BF_OK);
  bool accepted = result.is_accepted;
  bf_verify_free(&result);
  bf_ptx_free(module);
  return accepted;
}

/* Mutants of the rewritten text, which must itself be accepted. */
static void try_mutants(const char *original, const char *rewritten, const test_pair *pair,
                        const char *hash_text, unsigned mutants) {
  static unsigned char wanted[BUFFER_BYTES], memory[BUFFER_BYTES];
  char mutant[MOST_TEXT];
  test_random random = {77};
  unsigned accepted = 0;
  test_hashes hashes = hashes_from(hash_text);
  bf_ptx_module *module = parse(original);
  assert_true(execute(original, pair, wanted));
  assert_true(execute(rewritten, pair, memory));
  assert_memory_equal(memory, wanted, BUFFER_BYTES);
  assert_true(is_accepted(module, &hashes, rewritten));
  for (unsigned i = 0; i < mutants; i++) {
    mutate(&random, rewritten, mutant);
    if (!strcmp(mutant, rewritten) || !is_accepted(module, &hashes, mutant))
      continue;
    accepted++;
    if (!execute(mutant, pair, memory) || memcmp(memory, wanted, BUFFER_BYTES))
      fail_msg("accepted mutant %u differs:\n%s", i, mutant);
  }
  print_message("%s: %u of %u mutants accepted\n", pair->path, accepted, mutants);
  free_hashes(&hashes);
  bf_ptx_free(module);
}

static void test_mutants(void **state) {
  char original[MOST_TEXT], rewritten[MOST_TEXT];
  (void)state;
  for (unsigned i = 0; i < PAIRS; i++) {
    pick_side(pairs[i].path, '-', original);
    pick_side(pairs[i].path, '+', rewritten);
    try_mutants(original, rewritten, &pairs[i], pairs[i].hashes, IS_SANITIZED ? 1000 : 6000);
  }
}

/* ---- What the rewriter makes ---- */

/* The text as the rewriter rewrites it. */
static void rewrite(const char *original, const char *hash_text, char *rewritten) {
  bf_diagnostic diagnostic = {0};
  bf_ptx_module *module = parse(original);
  test_hashes hashes = hashes_from(hash_text);
  bf_rewrite_result result;
  const bf_rewrite_options options = {
      .context = &hashes, .hash_of = by_name, .padding_has_room = true};
  if (bf_rewrite(module, &options, &result, &diagnostic))
    fail_msg("%s", diagnostic.message);
  assert_true(result.is_changed);
  assert_true(result.text.size < MOST_TEXT);
  strcpy(rewritten, result.text.data);
  bf_rewrite_free(&result);
  free_hashes(&hashes);
  bf_ptx_free(module);
}

/* Takes out the lines that hold part. */
static void drop_lines(char *text, const char *part) {
  for (char *at = strstr(text, part); at; at = strstr(text, part)) {
    while (at > text && at[-1] != '\n')
      at--;
    char *next = strchr(at, '\n') + 1;
    memmove(at, next, strlen(next) + 1);
  }
}

static void test_mutants_of_the_rewriter(void **state) {
  static const struct {
    unsigned pair;
    const char *hashes;
  } rows[] = {
      {NARROW, "narrow=fixed"},
      {NARROW, "narrow=cute:3,4,3"},
      {WIDE, "wide=cute:3,4,3"},
      {LOOPS, "loops=fixed"},
      {LINEAR, "linear=cute:3,4,3"},
      {ARRAYS, "arrays=fixed arrays/second=cute:3,4,3 arrays/plain=none"},
      {CLONES, "one=fixed two=cute:3,4,3 plain=none"},
  };
  char original[MOST_TEXT], rewritten[MOST_TEXT];
  (void)state;
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    pick_side(pairs[rows[i].pair].path, '-', original);
    drop_lines(original, "mbarrier");
    rewrite(original, rows[i].hashes, rewritten);
    try_mutants(original, rewritten, &pairs[rows[i].pair], rows[i].hashes,
                IS_SANITIZED ? 500 : 3000);
  }
}

/* The module in a file. */
static bf_ptx_module *read_module(const char *path) {
  bf_diagnostic diagnostic = {0};
  bf_ptx_module *module = NULL;
  bf_text text = {0};
  char part[4096];
  size_t got;
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  while ((got = fread(part, 1, sizeof part, file)) > 0)
    bf_text_add(&text, part, got);
  fclose(file);
  if (bf_ptx_parse(path, text.data, text.size, &module, &diagnostic))
    fail_msg("%s: %s", path, diagnostic.message);
  bf_text_free(&text);
  return module;
}

/* Rewrites the module in a file and expects it to be accepted; the number of hashed kernels. */
static unsigned judge_rewritten(const char *path, const char *hash_text) {
  bf_diagnostic diagnostic = {0};
  bf_ptx_module *module = read_module(path), *again = NULL;
  bf_hash *hash = hash_from(hash_text);
  bf_rewrite_result rewritten;
  bf_verify_result result;
  const bf_rewrite_options options = {
      .context = hash, .hash_of = same_for_all, .padding_has_room = true};
  if (bf_rewrite(module, &options, &rewritten, &diagnostic) ||
      bf_ptx_parse(path, rewritten.text.data, rewritten.text.size, &again, &diagnostic))
    fail_msg("%s: %s", path, diagnostic.message);
  assert_int_equal(bf_verify(module, again, hash, same_for_all, &result, NULL), BF_OK);
  if (!result.is_accepted)
    fail_msg("%s by %s: %llu: %s", path, hash_text, (unsigned long long)result.finding[0].line,
             result.finding[0].text);
  unsigned hashed = result.kernels_hashed;
  bf_verify_free(&result);
  bf_rewrite_free(&rewritten);
  bf_hash_free(hash);
  bf_ptx_free(again);
  bf_ptx_free(module);
  return hashed;
}

/* Every kernel of the corpus, rewritten by hashes with granules of 4 and 16 bytes, is accepted;
 * those whose accesses are wider than the granule are left as they were. */
static void test_corpus_is_accepted(void **state) {
  static const char *const hash_text[] = {"fixed", "cute:3,4,3", "rows:421,842,1084,2108,4210"};
  glob_t files;
  unsigned hashed = 0;
  (void)state;
  assert_int_equal(glob("kernels/*/*.ptx", 0, NULL, &files), 0);
  for (size_t i = 0; i < files.gl_pathc; i++)
    for (unsigned j = 0; j < (IS_SANITIZED ? 1 : sizeof hash_text / sizeof *hash_text); j++)
      hashed += judge_rewritten(files.gl_pathv[i], hash_text[j]);
  globfree(&files);
  assert_true(hashed > (IS_SANITIZED ? 30 : 100));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mutants),
      cmocka_unit_test(test_mutants_of_the_rewriter),
      cmocka_unit_test(test_corpus_is_accepted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
