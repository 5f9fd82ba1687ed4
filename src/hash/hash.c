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

/* Completes the work on a hash whose forward matrix is set. */
int bf_hash_finish_linear(bf_hash *hash, bf_diagnostic *diagnostic) {
  hash->kind = BF_HASH_LINEAR;
  if (!bf_gf2_invert(&hash->forward, &hash->inverse))
    return bf_fail(diagnostic, BF_BAD_INPUT, "the map is not a bijection");
  fill_bank_tables(hash);
  return BF_OK;
}

static void print_rows(const bf_hash *hash, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "rows:");
  for (unsigned i = 0; i < hash->geometry.bank_bits && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s0x%llx", i ? "," : "",
                             (unsigned long long)hash->forward.row[i]);
}

int bf_hash_from_rows(const uint64_t *row, const bf_geometry *geometry, bf_hash **out,
                      bf_diagnostic *diagnostic) {
  *out = NULL;
  int error = bf_hash_check_geometry(geometry, diagnostic);
  if (error != BF_OK)
    return error;
  bf_hash *hash = calloc(1, sizeof *hash);
  if (!hash)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  hash->geometry = *geometry;
  bf_gf2_matrix banks = {.rows = geometry->bank_bits, .columns = geometry->address_bits};
  for (unsigned i = 0; i < geometry->bank_bits; i++)
    banks.row[i] = row[i] & bf_gf2_low_bits(geometry->address_bits);
  if (!bf_gf2_complete(&banks, &hash->forward)) {
    unsigned rank = bf_gf2_rank(banks.row, banks.rows);
    bf_hash_free(hash);
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "bank bits depend on each other: rank %u, but %u banks need rank %u", rank,
                   1u << geometry->bank_bits, geometry->bank_bits);
  }
  error = bf_hash_finish_linear(hash, diagnostic);
  if (error != BF_OK) {
    bf_hash_free(hash);
    return error;
  }
  print_rows(hash, hash->text, sizeof hash->text);
  *out = hash;
  return BF_OK;
}

void bf_hash_free(bf_hash *hash) { free(hash); }

const char *bf_hash_text(const bf_hash *hash) { return hash->text; }

static uint64_t bank_mask(const bf_hash *hash) {
  return bf_gf2_low_bits(hash->geometry.bank_bits);
}

uint32_t bf_hash_bank(const bf_hash *hash, uint64_t word) {
  unsigned bits = hash->geometry.bank_bits;
  switch (hash->kind) {
  case BF_HASH_LINEAR: {
    uint32_t bank = hash->bank_of_byte[0][word & 255];
    for (unsigned chunk = 1; chunk < BF_HASH_CHUNKS && word >> (8 * chunk); chunk++)
      bank ^= hash->bank_of_byte[chunk][word >> (8 * chunk) & 255];
    return bank;
  }
  case BF_HASH_PAD:
    return (uint32_t)((word + word / hash->row_words * hash->pad_words) & bank_mask(hash));
  case BF_HASH_ADD:
    return (uint32_t)((word + (word >> bits)) & bank_mask(hash));
  case BF_HASH_MOD:
    return (uint32_t)(word % hash->modulus);
  }
  return 0;
}

uint64_t bf_hash_place(const bf_hash *hash, uint64_t word) {
  unsigned bits = hash->geometry.bank_bits;
  switch (hash->kind) {
  case BF_HASH_LINEAR: {
    uint64_t outside = word & ~bf_gf2_low_bits(hash->geometry.address_bits);
    return outside | bf_gf2_apply(&hash->forward, word);
  }
  case BF_HASH_PAD:
    return word + word / hash->row_words * hash->pad_words;
  case BF_HASH_ADD:
    return (word & ~bank_mask(hash)) | bf_hash_bank(hash, word);
  case BF_HASH_MOD:
    return (word / hash->modulus << bits) | word % hash->modulus;
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
  case BF_HASH_PAD: {
    uint64_t pitch = hash->row_words + hash->pad_words;
    *word = place / pitch * hash->row_words + place % pitch;
    return place % pitch < hash->row_words ? BF_OK : BF_BAD_INPUT;
  }
  case BF_HASH_ADD:
    *word = (row << bits) | ((bank - row) & bank_mask(hash));
    return BF_OK;
  case BF_HASH_MOD:
    *word = row * hash->modulus + bank;
    return bank < hash->modulus ? BF_OK : BF_BAD_INPUT;
  }
  return BF_BAD_INPUT;
}

bool bf_hash_is_row_preserving(const bf_hash *hash) {
  unsigned bits = hash->geometry.bank_bits;
  if (hash->kind == BF_HASH_ADD)
    return true;
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

/* ---- Cost ---- */

unsigned bf_hash_terms(const bf_gf2_matrix *matrix, bf_hash_term *terms) {
  unsigned count = 0;
  int size = (int)matrix->columns;
  for (int step = 0; step < 2 * size - 1; step++) {
    int shift = step == 0 ? 0 : step % 2 ? (step + 1) / 2 : -step / 2; /* 0, 1, -1, 2, -2, ... */
    uint64_t mask = 0;
    for (int i = 0; i < size; i++)
      if (i + shift >= 0 && i + shift < size && (matrix->row[i] >> (i + shift) & 1))
        mask |= (uint64_t)1 << i;
    if (mask)
      terms[count++] = (bf_hash_term){shift, mask};
  }
  return count;
}

/* Instructions with a three-input logic instruction: a shifted term is a shift and (x & m) ^ y.
 * Dropping bits of the word itself costs one more unless the first term fills just those bits. */
static unsigned count_instructions(const bf_gf2_matrix *matrix) {
  bf_hash_term terms[2 * BF_GF2_MAX];
  unsigned count = bf_hash_terms(matrix, terms);
  uint64_t all = bf_gf2_low_bits(matrix->columns);
  bool keeps = count && terms[0].shift == 0;
  unsigned shifted = count - keeps;
  uint64_t own = keeps ? terms[0].mask : 0;
  bool selects = shifted && own && own != all && terms[1].mask == (all & ~own);
  return 2 * shifted + (own != 0 && own != all && !selects);
}

static unsigned ceil_log2(unsigned x) {
  unsigned result = 0;
  while ((1u << result) < x)
    result++;
  return result;
}

bf_hash_cost bf_hash_get_cost(const bf_hash *hash) {
  bf_hash_cost cost = {0};
  unsigned bits = hash->geometry.bank_bits;
  switch (hash->kind) {
  case BF_HASH_LINEAR:
    for (unsigned i = 0; i < bits; i++) {
      unsigned terms = (unsigned)__builtin_popcountll(hash->forward.row[i]);
      cost.xor_inputs += terms - 1;
      if (ceil_log2(terms) > cost.gate_depth)
        cost.gate_depth = ceil_log2(terms);
    }
    cost.instructions = count_instructions(&hash->forward);
    break;
  case BF_HASH_PAD: /* a longer declared row: the address arithmetic stays as it was */
    break;
  case BF_HASH_ADD: /* shift, add, insert; a ripple-carry adder of two XORs per bit */
    cost = (bf_hash_cost){.xor_inputs = 2 * bits, .instructions = 3, .gate_depth = bits};
    break;
  case BF_HASH_MOD: /* multiply-high, shift, multiply-subtract, insert; hardware: not XOR gates */
    cost.instructions = (hash->modulus & (hash->modulus - 1)) ? 4 : 0;
    break;
  }
  return cost;
}
