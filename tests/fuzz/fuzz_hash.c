/* Hash texts: whatever parses maps every word to a bank that exists, is printed as text that parses
 * again to the same banks, and finds back each word it placed. */
#include "hash/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_word(const bf_hash *hash, const bf_hash *again, uint64_t word) {
  uint64_t back;
  unsigned banks = 1u << hash->geometry.bank_bits;
  assert(bf_hash_bank(hash, word) < banks);
  assert(bf_hash_bank(hash, word) == bf_hash_bank(again, word));
  assert(bf_hash_unplace(hash, bf_hash_place(hash, word), &back) == BF_OK);
  assert(back == word);
}

/* The first byte chooses the geometry, the rest is the text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const bf_geometry geometries[] = {
      {5, 14, 4}, {4, 12, 4}, {6, 16, 4}, {5, 13, 8}, {1, 1, 4}};
  if (size == 0)
    return 0;
  const bf_geometry *geometry = &geometries[data[0] % (sizeof geometries / sizeof *geometries)];
  char *text = malloc(size);
  if (!text)
    return 0;
  memcpy(text, data + 1, size - 1);
  text[size - 1] = 0;
  bf_hash *hash, *again;
  bf_diagnostic diagnostic;
  if (bf_hash_parse(text, geometry, &hash, &diagnostic) == BF_OK) {
    assert(bf_hash_parse(bf_hash_text(hash), geometry, &again, &diagnostic) == BF_OK);
    for (uint64_t word = 0; word < (uint64_t)1 << geometry->address_bits; word += 1 + word / 8)
      check_word(hash, again, word);
    bf_hash_free(again);
    bf_hash_free(hash);
  } else {
    assert(diagnostic.message[0]);
  }
  free(text);
  return 0;
}
