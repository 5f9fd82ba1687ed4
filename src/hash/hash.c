/* Building, evaluating and inverting hashes. */
#include "hash/hash.h"
#include "hash/parse.h"

#include <stdlib.h>
#include <string.h>

int bf_hash_check_geometry(const bf_geometry *geometry, bf_diagnostic *diagnostic) {
  unsigned word = geometry->word_bytes;
  if (geometry->bank_bits > BF_HASH_MAX_BANK_BITS)
    return bf_fail(diagnostic, BF_BAD_INPUT, "more than %u banks", 1u << BF_HASH_MAX_BANK_BITS);
  if (geometry->address_bits > BF_HASH_MAX_ADDRESS_BITS)
    return bf_fail(diagnostic, BF_BAD_INPUT, "more than %d address bits", BF_HASH_MAX_ADDRESS_BITS);
  if (geometry->address_bits < geometry->bank_bits)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%u address bits cannot select among %u banks",
                   geometry->address_bits, 1u << geometry->bank_bits);
  if (word == 0 || word > 16 || (word & (word - 1)))
    return bf_fail(diagnostic, BF_BAD_INPUT, "a word has 1, 2, 4, 8 or 16 bytes, not %u", word);
  return BF_OK;
}

/* bank = XOR over the bytes of the word address of a table entry each. */
static void fill_bank_tables(bf_hash *hash) {
  bf_gf2_matrix banks = hash->forward;
  banks.rows = hash->geometry.bank_bits;
  for (unsigned chunk = 0; chunk < BF_HASH_CHUNKS; chunk++)
    for (unsigned byte = 0; byte < 256; byte++)
      hash->bank_of_byte[chunk][byte] =
          (uint32_t)bf_gf2_apply(&banks, (uint64_t)byte << (8 * chunk));
}

/* Completes the work on a hash whose bank bits, rows of forward, depend on each other. */
void bf_hash_finish_shared(bf_hash *hash) {
  hash->kind = BF_HASH_SHARED;
  fill_bank_tables(hash);
}

/* Completes the work on a hash whose forward matrix is set. */
int bf_hash_finish_linear(bf_hash *hash, bf_diagnostic *diagnostic) {
  hash->kind = BF_HASH_LINEAR;
  if (!bf_gf2_invert(&hash->forward, &hash->inverse))
    return bf_fail(diagnostic, BF_BAD_INPUT, "the map is not a bijection");
  fill_bank_tables(hash);
  return BF_OK;
}

void bf_hash_print_rows(const uint64_t *rows, unsigned count, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "rows:");
  for (unsigned i = 0; i < count && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s0x%llx", i ? "," : "",
                             (unsigned long long)rows[i]);
}

int bf_hash_from_rows(const uint64_t *row, const bf_geometry *geometry, bf_hash **out,
                      bf_diagnostic *diagnostic) {
  *out = NULL;
  int error = bf_hash_check_geometry(geometry, diagnostic);
  if (error)
    return error;
  bf_gf2_matrix banks = {.rows = geometry->bank_bits, .columns = geometry->address_bits};
  for (unsigned i = 0; i < geometry->bank_bits; i++) {
    if (row[i] & ~bf_gf2_low_bits(geometry->address_bits))
      return bf_fail(diagnostic, BF_BAD_INPUT, "mask 0x%llx uses bits past the %u address bits",
                     (unsigned long long)row[i], geometry->address_bits);
    banks.row[i] = row[i];
  }
  bf_hash *hash = calloc(1, sizeof *hash);
  if (!hash)
    return bf_no_memory(diagnostic);
  hash->geometry = *geometry;
  if (!bf_gf2_complete(&banks, &hash->forward)) {
    unsigned rank = bf_gf2_rank(banks.row, banks.rows);
    bf_hash_free(hash);
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "bank bits depend on each other: rank %u, but %u banks need rank %u", rank,
                   1u << geometry->bank_bits, geometry->bank_bits);
  }
  error = bf_hash_finish_linear(hash, diagnostic);
  if (error) {
    bf_hash_free(hash);
    return error;
  }
  bf_hash_print_rows(hash->forward.row, geometry->bank_bits, hash->text, sizeof hash->text);
  *out = hash;
  return BF_OK;
}

void bf_hash_free(bf_hash *hash) { free(hash); }

const char *bf_hash_text(const bf_hash *hash) { return hash->text; }

static uint64_t bank_mask(const bf_hash *hash) { return bf_gf2_low_bits(hash->geometry.bank_bits); }

uint32_t bf_hash_bank(const bf_hash *hash, uint64_t word) {
  unsigned bits = hash->geometry.bank_bits;
  switch (hash->kind) {
  case BF_HASH_LINEAR:
  case BF_HASH_SHARED: {
    uint32_t bank = hash->bank_of_byte[0][word & 255];
    for (unsigned chunk = 1; chunk < BF_HASH_CHUNKS && word >> (8 * chunk); chunk++)
      bank ^= hash->bank_of_byte[chunk][word >> (8 * chunk) & 255];
    return bank;
  }
  case BF_HASH_PAD:
  case BF_HASH_MOD:
    return (uint32_t)((word + word / hash->row_words * hash->pad_words) & bank_mask(hash));
  case BF_HASH_ADD:
    return (uint32_t)((word + (word >> bits)) & bank_mask(hash));
  }
  return 0;
}

uint64_t bf_hash_place(const bf_hash *hash, uint64_t word) {
  switch (hash->kind) {
  case BF_HASH_LINEAR: {
    uint64_t outside = word & ~bf_gf2_low_bits(hash->geometry.address_bits);
    return outside | bf_gf2_apply(&hash->forward, word);
  }
  case BF_HASH_PAD:
  case BF_HASH_MOD:
    return word + word / hash->row_words * hash->pad_words;
  case BF_HASH_ADD:
  case BF_HASH_SHARED: /* in its row of banks, as hardware does it */
    return (word & ~bank_mask(hash)) | bf_hash_bank(hash, word);
  }
  return 0;
}

int bf_hash_unplace(const bf_hash *hash, uint64_t place, uint64_t *word) {
  unsigned bits = hash->geometry.bank_bits;
  uint64_t row = place >> bits, bank = place & bank_mask(hash);
  switch (hash->kind) {
  case BF_HASH_LINEAR: {
    uint64_t outside = place & ~bf_gf2_low_bits(hash->geometry.address_bits);
    *word = outside | bf_gf2_apply(&hash->inverse, place);
    return BF_OK;
  }
  case BF_HASH_PAD:
  case BF_HASH_MOD: {
    uint64_t pitch = hash->row_words + hash->pad_words;
    *word = place / pitch * hash->row_words + place % pitch;
    return place % pitch < hash->row_words ? BF_OK : BF_BAD_INPUT;
  }
  case BF_HASH_ADD:
    *word = (row << bits) | ((bank - row) & bank_mask(hash));
    return BF_OK;
  case BF_HASH_SHARED: /* several words, or none */
    break;
  }
  return BF_BAD_INPUT;
}

/* The lowest change of the bank bits of a word that leaves its bank. One exists wherever the rows
 * depend on each other: restricted to the m bank bits they have rank below m. */
static uint64_t silent_change(const bf_hash *hash) {
  uint64_t change = 1;
  while (change <= bank_mask(hash) && bf_hash_bank(hash, change) != 0)
    change++;
  return change;
}

bool bf_hash_find_sharing(const bf_hash *hash, bf_hash_sharing *sharing) {
  unsigned bits = hash->geometry.bank_bits;
  if (hash->kind != BF_HASH_SHARED)
    return false;
  if (sharing) {
    unsigned rank = bf_gf2_rank(hash->forward.row, bits);
    *sharing = (bf_hash_sharing){.rank = rank,
                                 .banks_used = (uint64_t)1 << rank,
                                 .word = {0, silent_change(hash)},
                                 .words_each = (uint64_t)1 << (bits - rank)};
  }
  return true;
}

bool bf_hash_is_row_preserving(const bf_hash *hash) {
  unsigned bits = hash->geometry.bank_bits;
  if (hash->kind != BF_HASH_LINEAR)
    return false;
  for (unsigned i = 0; i < hash->geometry.address_bits; i++) {
    uint64_t kept = (uint64_t)1 << i;
    uint64_t own = i < bits ? hash->forward.row[i] & bf_gf2_low_bits(bits) : hash->forward.row[i];
    if (own != kept)
      return false;
  }
  return true;
}

uint64_t bf_hash_block_words(const bf_hash *hash) {
  if (hash->kind == BF_HASH_ADD || hash->kind == BF_HASH_SHARED)
    return (uint64_t)1 << hash->geometry.bank_bits;
  if (hash->kind != BF_HASH_LINEAR)
    return 0;
  unsigned bits = hash->geometry.address_bits;
  while (bits && hash->forward.row[bits - 1] == (uint64_t)1 << (bits - 1))
    bits--;
  return (uint64_t)1 << bits;
}

/* Address bits that are placed as they are and move no other bit: a run from bit 0 up. */
static unsigned untouched_bits(const bf_hash *hash) {
  unsigned n = hash->geometry.address_bits, bits = 0;
  for (; bits < n; bits++)
    for (unsigned i = 0; i < n; i++)
      if ((hash->forward.row[i] >> bits & 1) != (i == bits) ||
          (i == bits && hash->forward.row[i] != (uint64_t)1 << i))
        return bits;
  return bits;
}

uint64_t bf_hash_granule_words(const bf_hash *hash) {
  uint64_t words = (uint64_t)1 << hash->geometry.address_bits;
  switch (hash->kind) {
  case BF_HASH_LINEAR:
    return (uint64_t)1 << untouched_bits(hash);
  case BF_HASH_PAD:
  case BF_HASH_MOD:
    if (hash->pad_words) { /* the largest power of two that divides row and padding */
      uint64_t both = hash->row_words | hash->pad_words;
      return both & -both;
    }
    return words;
  case BF_HASH_ADD:
    return hash->geometry.bank_bits == 0 ? words : 1;
  case BF_HASH_SHARED:
    break;
  }
  return 1;
}

uint64_t bf_hash_capacity_words(const bf_hash *hash, uint64_t words) {
  uint64_t block = bf_hash_block_words(hash);
  if (words == 0)
    return 0;
  return block ? (words + block - 1) & ~(block - 1) : bf_hash_place(hash, words - 1) + 1;
}
