/* What tests of the verifier share: pairs of original and rewritten PTX, and judging them.
 *
 * A pair is one file in tests/data/verify: lines that start with '-' belong to the original only,
 * with '+' to the rewritten form only. */
#ifndef TEST_VERIFY_H
#define TEST_VERIFY_H

#include "emu.h"

#include "verify/verify.h"

#include <string.h>

enum { MOST_TEXT = 16384, MOST_KERNELS = 3, MOST_HASHES = 8 };

/* A pair, its kernels and their hashes: KERNEL=HASH for a kernel, KERNEL/ARRAY=HASH for one of its
 * arrays; none: it is left alone. */
typedef struct test_pair {
  const char *path;
  const char *kernel[MOST_KERNELS];
  const char *hashes;
} test_pair;

/* Four-byte accesses of many kinds, a call, a barrier object, generic accesses; granules of 16
 * bytes: vectors, matrices, 64-bit addresses, one hash for several offsets; hashes that are used in
 * other blocks and in loops; hashes of sums made of that of a summand, and addresses that the hash
 * leaves alone; arrays with hashes of their own; functions under several hashes; the hash of one
 * array for another at the same subscript. */
enum { NARROW, WIDE, LOOPS, LINEAR, ARRAYS, CLONES, SIBLINGS, COPIES, PAIRS };
static const test_pair pairs[PAIRS] = {
    {"tests/data/verify/narrow.txt", {"narrow"}, "narrow=fixed"},
    {"tests/data/verify/wide.txt", {"wide"}, "wide=cute:3,4,3"},
    {"tests/data/verify/loops.txt", {"loops"}, "loops=fixed"},
    {"tests/data/verify/linear.txt", {"linear"}, "linear=cute:3,4,3"},
    {"tests/data/verify/arrays.txt",
     {"arrays"},
     "arrays=fixed arrays/second=cute:3,4,3 arrays/plain=none"},
    {"tests/data/verify/clones.txt",
     {"one", "two", "plain"},
     "one=fixed two=cute:3,4,3 plain=none"},
    {"tests/data/verify/siblings.txt", {"siblings"}, "siblings=xor:0,5,15"},
    {"tests/data/verify/copies.txt", {"copies"}, "copies=none copies/other=fixed"},
};

/* One side of a text: lines without a mark and those with mark. */
static inline void pick_lines(const char *both, char mark, char *text) {
  size_t size = 0;
  for (const char *line = both; *line;) {
    size_t length = strcspn(line, "\n") + 1;
    bool is_marked = *line == '-' || *line == '+';
    if (!is_marked || *line == mark)
      size += (size_t)snprintf(text + size, MOST_TEXT - size, "%.*s", (int)(length - is_marked),
                               line + is_marked);
    assert_true(size < MOST_TEXT);
    line += length;
  }
}

/* One side of a pair: lines without a mark and those with mark. */
static inline void pick_side(const char *pair, char mark, char *text) {
  char line[256];
  size_t size = 0;
  FILE *file = fopen(pair, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    bool is_marked = *line == '-' || *line == '+';
    if (!is_marked || *line == mark)
      size += (size_t)snprintf(text + size, MOST_TEXT - size, "%s", line + is_marked);
    assert_true(size < MOST_TEXT);
  }
  fclose(file);
}

/* Parses text that must be right. */
static inline bf_ptx_module *parse(const char *text) {
  bf_diagnostic diagnostic = {0};
  bf_ptx_module *module = NULL;
  if (bf_ptx_parse("test", text, strlen(text), &module, &diagnostic))
    fail_msg("%llu: %s\n%s", (unsigned long long)diagnostic.line, diagnostic.message, text);
  return module;
}

/* A hash for 32 banks of 4 bytes. */
static inline bf_hash *hash_from(const char *text) {
  bf_diagnostic diagnostic = {0};
  bf_hash *hash = NULL;
  const bf_geometry geometry = {.bank_bits = 5, .address_bits = 16, .word_bytes = 4};
  if (bf_hash_parse(text, &geometry, &hash, &diagnostic))
    fail_msg("%s", diagnostic.message);
  return hash;
}

/* The hash of every kernel is the context. */
static inline const bf_hash *same_for_all(void *context, const bf_ptx_function *kernel,
                                          const bf_ptx_variable *array) {
  (void)array;
  (void)kernel;
  return context;
}

/* Hashes by the names of kernels and arrays. */
typedef struct test_hashes {
  unsigned count;
  char name[MOST_HASHES][96];
  bf_hash *hash[MOST_HASHES];
} test_hashes;

static inline test_hashes hashes_from(const char *text) {
  test_hashes hashes = {0};
  while (*text) {
    char hash[64];
    int size = 0;
    assert_true(hashes.count < MOST_HASHES);
    assert_int_equal(sscanf(text, " %95[^=]=%63s%n", hashes.name[hashes.count], hash, &size), 2);
    hashes.hash[hashes.count++] = strcmp(hash, "none") ? hash_from(hash) : NULL;
    text += size;
  }
  return hashes;
}

static inline void free_hashes(test_hashes *hashes) {
  for (unsigned i = 0; i < hashes->count; i++)
    bf_hash_free(hashes->hash[i]);
}

/* The hash of an array where it has its own, else that of the kernel. */
static inline const bf_hash *by_name(void *context, const bf_ptx_function *kernel,
                                     const bf_ptx_variable *array) {
  const test_hashes *hashes = context;
  const bf_hash *found = NULL;
  char name[256];
  snprintf(name, sizeof name, "%s/%s", kernel->name, array ? array->name : "");
  for (unsigned i = 0; i < hashes->count; i++)
    if (!strcmp(hashes->name[i], kernel->name))
      found = hashes->hash[i];
  for (unsigned i = 0; i < hashes->count; i++)
    if (!strcmp(hashes->name[i], name))
      return hashes->hash[i];
  return found;
}

/* Judges two texts by hashes of names; the result is to be freed. */
static inline bf_verify_result judge(const char *original, const char *rewritten,
                                     const char *hash_text) {
  bf_ptx_module *a = parse(original), *b = parse(rewritten);
  test_hashes hashes = hashes_from(hash_text);
  bf_verify_result result;
  assert_int_equal(bf_verify(a, b, &hashes, by_name, &result, NULL), BF_OK);
  free_hashes(&hashes);
  bf_ptx_free(a);
  bf_ptx_free(b);
  return result;
}

#endif
