/* What tests of the verifier share: pairs of original and rewritten PTX, and judging them.
 *
 * A pair is one file in tests/data/verify: lines that start with '-' belong to the original only,
 * with '+' to the rewritten form only. */
#ifndef TEST_VERIFY_H
#define TEST_VERIFY_H

#include "emu.h"

#include "apply/verify.h"

#include <string.h>

/* Four-byte accesses of many kinds, a call, a barrier object, generic accesses. */
#define NARROW_PAIR "tests/data/verify/narrow.txt"
/* Granules of 16 bytes: vectors, matrices, 64-bit addresses, one hash for several offsets. */
#define WIDE_PAIR "tests/data/verify/wide.txt"

enum { MOST_TEXT = 16384, BUFFER_BYTES = 4096 };

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

#endif
