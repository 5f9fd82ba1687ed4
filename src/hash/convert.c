/* From one text form to another. Two hashes are equal when they give every word of the allocation
 * the same bank; where words lie inside their banks may differ. Two normal forms decide equality:
 * the rows of an XOR hash, and the row and padding of an arithmetic one. */
#include "hash/hash.h"
#include "hash/parse.h"

#include <string.h>

const char *const bf_hash_forms[] = {"none", "fixed", "perm", "xor", "tma", "cute",
                                     "bits", "rows",  "add",  "mod", "pad", NULL};

/* ---- Normal forms ---- */

static uint64_t bank_count(const bf_hash *hash) { return (uint64_t)1 << hash->geometry.bank_bits; }

/* Whether r -> (factor * r) mod banks is an XOR map for r < 2^bits, and one that can be added to
 * any word of fewer than 2^k words without a carry between bank bits. */
static bool multiplies_by_xor(uint64_t factor, unsigned bits, unsigned k, unsigned bank_bits) {
  uint64_t bank_mask = bf_gf2_low_bits(bank_bits);
  uint64_t carries = bf_gf2_low_bits(k < bank_bits ? k : bank_bits - 1);
  for (uint64_t r = 1; r < (uint64_t)1 << bits; r++) {
    uint64_t lowest = r & -r, product = factor * r & bank_mask;
    uint64_t parts = (factor * (r ^ lowest) ^ factor * lowest) & bank_mask;
    if (product != parts || (product & carries))
      return false;
  }
  return true;
}

/* The XOR rows of pad:2^k+P, for k < address_bits and P not a multiple of the banks:
 * bank = (low k bits of the word) + (2^k + P) * (the bits above), mod banks. */
static bool padding_rows(const bf_geometry *g, unsigned k, uint64_t pad_words, uint64_t *row) {
  unsigned m = g->bank_bits, above = g->address_bits - k;
  uint64_t factor = ((uint64_t)1 << k) + pad_words;
  if (!multiplies_by_xor(factor, above < m ? above : m, k, m))
    return false;
  for (unsigned i = 0; i < m; i++) {
    row[i] = i < k ? (uint64_t)1 << i : 0;
    for (unsigned j = 0; j < above && j <= i; j++)
      row[i] |= (factor << j >> i & 1) << (k + j);
  }
  return bf_gf2_rank(row, m) == m; /* padding can leave banks empty, an XOR hash cannot */
}

/* Row and padding, reduced mod banks, of an arithmetic hash. */
static void arithmetic_padding(const bf_hash *hash, uint64_t *row_words, uint64_t *pad_words) {
  uint64_t banks = bank_count(hash), words = (uint64_t)1 << hash->geometry.address_bits;
  bool adds = hash->kind == BF_HASH_ADD;
  *row_words = adds ? banks : hash->row_words;
  *pad_words = (adds ? 1 : hash->pad_words) % banks;
  if (*pad_words == 0 || *row_words >= words) {
    *row_words = banks;
    *pad_words = 0;
  }
}

bool bf_hash_bank_rows(const bf_hash *hash, uint64_t row[BF_HASH_MAX_BANK_BITS]) {
  const bf_geometry *g = &hash->geometry;
  if (hash->kind == BF_HASH_SHARED)
    return false; /* no bijection has these banks */
  if (hash->kind == BF_HASH_LINEAR) {
    memcpy(row, hash->forward.row, g->bank_bits * sizeof *row);
    return true;
  }
  uint64_t row_words, pad_words;
  arithmetic_padding(hash, &row_words, &pad_words);
  if (pad_words)
    return (row_words & (row_words - 1)) == 0 &&
           padding_rows(g, (unsigned)__builtin_ctzll(row_words), pad_words, row);
  for (unsigned i = 0; i < g->bank_bits; i++)
    row[i] = (uint64_t)1 << i;
  return true;
}

/* The bank of address bit k alone. */
static uint64_t column(const uint64_t *row, unsigned bank_bits, unsigned k) {
  uint64_t bank = 0;
  for (unsigned i = 0; i < bank_bits; i++)
    bank |= (row[i] >> k & 1) << i;
  return bank;
}

/* Padding leaves the words of the first row where they are, so the first word that moves tells the
 * row and its bank the padding; the rows of that padding decide. */
bool bf_hash_find_padding(const bf_hash *hash, uint64_t *row_words, uint64_t *pad_words) {
  if (hash->kind == BF_HASH_SHARED)
    return false;
  if (hash->kind != BF_HASH_LINEAR) {
    arithmetic_padding(hash, row_words, pad_words);
    return true;
  }
  const bf_geometry *g = &hash->geometry;
  uint64_t mask = bank_count(hash) - 1, row[BF_HASH_MAX_BANK_BITS];
  *row_words = bank_count(hash);
  *pad_words = 0;
  for (unsigned k = 0; k < g->address_bits && *pad_words == 0; k++) {
    *pad_words = (column(hash->forward.row, g->bank_bits, k) - ((uint64_t)1 << k)) & mask;
    if (*pad_words)
      *row_words = (uint64_t)1 << k;
  }
  return *pad_words == 0 ||
         (padding_rows(g, (unsigned)__builtin_ctzll(*row_words), *pad_words, row) &&
          memcmp(row, hash->forward.row, g->bank_bits * sizeof *row) == 0);
}

/* ---- Small families ---- */

/* Swizzle<bits, base, shift> whose first `rows` rows are these: every row that is not its own
 * address bit alone is that and the one `shift` further, and such rows are neighbours. */
static bool rows_to_swizzle(const uint64_t *row, unsigned rows, unsigned *bits, int *base,
                            int *shift) {
  int first = 0;
  *bits = 0;
  *shift = 0;
  for (int i = 0; i < (int)rows; i++) {
    uint64_t other = row[i] ^ (uint64_t)1 << i;
    if (other == 0)
      continue;
    int distance = __builtin_ctzll(other) - i;
    if (other & (other - 1))
      return false;
    if (*bits == 0) {
      first = i;
      *shift = distance;
    }
    if (distance != *shift || i != first + (int)*bits)
      return false;
    ++*bits;
  }
  *base = *shift < 0 ? first + *shift : first;
  return (unsigned)(*shift < 0 ? -*shift : *shift) >= *bits;
}

/* From words to bytes. The identity is written Swizzle<0,4,3>, as CuTe does. */
static bool byte_swizzle(const bf_geometry *g, const uint64_t *row, unsigned rows, unsigned *bits,
                         unsigned *base, int *shift) {
  int word_base;
  if (!rows_to_swizzle(row, rows, bits, &word_base, shift))
    return false;
  *base = (unsigned)word_base + (unsigned)__builtin_ctz(g->word_bytes);
  if (*bits == 0) {
    *base = 4;
    *shift = 3;
  }
  return true;
}

bool bf_hash_find_bank_swizzle(const bf_hash *hash, unsigned *bits, unsigned *base, int *shift) {
  uint64_t row[BF_HASH_MAX_BANK_BITS];
  return bf_hash_bank_rows(hash, row) &&
         byte_swizzle(&hash->geometry, row, hash->geometry.bank_bits, bits, base, shift);
}

bool bf_hash_find_swizzle(const bf_hash *hash, unsigned *bits, unsigned *base, int *shift) {
  const bf_geometry *g = &hash->geometry;
  return (hash->kind == BF_HASH_LINEAR &&
          byte_swizzle(g, hash->forward.row, g->address_bits, bits, base, shift)) ||
         bf_hash_find_bank_swizzle(hash, bits, base, shift);
}

/* The mask with which k1 and k2 give these rows; false if there is none. */
static bool find_mask(const bf_geometry *g, const uint64_t *row, unsigned k1, unsigned k2,
                      uint64_t *mask) {
  uint64_t own[BF_HASH_MAX_BANK_BITS];
  bf_hash_bit_vector_rows(g, k1, k2, 0, own);
  *mask = 0;
  for (unsigned i = 0; i < g->bank_bits; i++)
    *mask |= (uint64_t)(row[i] != own[i]) << i;
  bf_hash_bit_vector_rows(g, k1, k2, *mask, own);
  return memcmp(own, row, g->bank_bits * sizeof *row) == 0;
}

bool bf_hash_find_bit_vector(const bf_hash *hash, unsigned *k1, unsigned *k2, uint64_t *mask) {
  const bf_geometry *g = &hash->geometry;
  uint64_t row[BF_HASH_MAX_BANK_BITS];
  if (!bf_hash_bank_rows(hash, row))
    return false;
  for (*k1 = 0; *k1 + g->bank_bits <= g->address_bits; ++*k1)
    for (*k2 = 0; *k2 < g->address_bits; ++*k2)
      if (*k1 != *k2 && find_mask(g, row, *k1, *k2, mask))
        return true;
  return false;
}

/* ---- Writing a form ---- */

/* Each writes hash in its form; false when no hash of the form is equal. */

static bool is_bit_vector(const bf_hash *hash, unsigned k1, unsigned k2, uint64_t mask) {
  uint64_t row[BF_HASH_MAX_BANK_BITS], wanted[BF_HASH_MAX_BANK_BITS];
  bf_hash_bit_vector_rows(&hash->geometry, k1, k2, mask, wanted);
  return bf_hash_bank_rows(hash, row) &&
         memcmp(row, wanted, hash->geometry.bank_bits * sizeof *row) == 0;
}

static bool write_none(const bf_hash *hash, bf_text *text) {
  if (!is_bit_vector(hash, 0, 0, 0))
    return false;
  bf_text_puts(text, "none");
  return true;
}

static bool write_fixed(const bf_hash *hash, bf_text *text) {
  unsigned m = hash->geometry.bank_bits;
  if (!is_bit_vector(hash, 0, m, bf_gf2_low_bits(m)))
    return false;
  bf_text_puts(text, "fixed");
  return true;
}

static bool write_perm(const bf_hash *hash, bf_text *text) {
  const bf_geometry *g = &hash->geometry;
  unsigned k = 0;
  while (k + g->bank_bits < g->address_bits && !is_bit_vector(hash, k, 0, 0))
    k++;
  if (!is_bit_vector(hash, k, 0, 0))
    return false;
  bf_text_addf(text, "perm:%u", k);
  return true;
}

static bool write_xor(const bf_hash *hash, bf_text *text) {
  unsigned k1, k2;
  uint64_t mask;
  if (!bf_hash_find_bit_vector(hash, &k1, &k2, &mask))
    return false;
  bf_text_addf(text, "xor:%u,%u,%llu", k1, k2, (unsigned long long)mask);
  return true;
}

/* Preferred is the mode that also puts every word where hash puts it. */
static bool write_tma(const bf_hash *hash, bf_text *text) {
  const bf_geometry *g = &hash->geometry;
  int base = 4 - __builtin_ctz(g->word_bytes);
  uint64_t row[BF_HASH_MAX_BANK_BITS];
  unsigned found = 0;
  if (!bf_hash_bank_rows(hash, row))
    return false;
  for (unsigned bits = 3; bits > 0; bits--) {
    bf_gf2_matrix matrix = bf_hash_swizzle_matrix(g, bits, base, 3);
    bool whole = hash->kind == BF_HASH_LINEAR &&
                 memcmp(matrix.row, hash->forward.row, sizeof matrix.row) == 0;
    if (whole || (!found && memcmp(matrix.row, row, g->bank_bits * sizeof *row) == 0))
      found = bits;
  }
  if (found)
    bf_text_addf(text, "tma:%u", 16u << found);
  return found != 0;
}

static bool write_cute(const bf_hash *hash, bf_text *text) {
  unsigned bits, base;
  int shift;
  if (!bf_hash_find_swizzle(hash, &bits, &base, &shift))
    return false;
  bf_text_addf(text, "cute:%u,%u,%d", bits, base, shift);
  return true;
}

static bool write_bits(const bf_hash *hash, bf_text *text) {
  uint64_t row[BF_HASH_MAX_BANK_BITS];
  char line[sizeof hash->text];
  if (!bf_hash_bank_rows(hash, row))
    return false;
  bf_hash_print_bits(row, hash->geometry.bank_bits, line, sizeof line);
  bf_text_puts(text, line);
  return true;
}

static bool write_rows(const bf_hash *hash, bf_text *text) {
  uint64_t row[BF_HASH_MAX_BANK_BITS];
  char line[sizeof hash->text];
  if (!bf_hash_bank_rows(hash, row))
    return false;
  bf_hash_print_rows(row, hash->geometry.bank_bits, line, sizeof line);
  bf_text_puts(text, line);
  return true;
}

/* word + word / banks is pad:BANKS+1; both are `none` where there is one row or one bank only. */
static bool write_add(const bf_hash *hash, bf_text *text) {
  const bf_geometry *g = &hash->geometry;
  bool adds_nothing = g->bank_bits == g->address_bits || g->bank_bits == 0;
  uint64_t row_words, pad_words;
  if (!bf_hash_find_padding(hash, &row_words, &pad_words) || row_words != bank_count(hash) ||
      pad_words != !adds_nothing)
    return false;
  bf_text_puts(text, "add");
  return true;
}

/* word mod N is pad:N+(BANKS-N). */
static bool write_mod(const bf_hash *hash, bf_text *text) {
  uint64_t row_words, pad_words;
  if (!bf_hash_find_padding(hash, &row_words, &pad_words) ||
      row_words + pad_words != bank_count(hash))
    return false;
  bf_text_addf(text, "mod:%llu", (unsigned long long)row_words);
  return true;
}

static bool write_pad(const bf_hash *hash, bf_text *text) {
  uint64_t row_words, pad_words;
  if (!bf_hash_find_padding(hash, &row_words, &pad_words))
    return false;
  bf_text_addf(text, "pad:%llu+%llu", (unsigned long long)row_words, (unsigned long long)pad_words);
  return true;
}

/* In the order of bf_hash_forms. */
static bool (*const writers[])(const bf_hash *hash, bf_text *text) = {
    write_none, write_fixed, write_perm, write_xor, write_tma, write_cute,
    write_bits, write_rows,  write_add,  write_mod, write_pad};

/* A hash that was written in the form keeps its own text. */
static bool is_written_as(const bf_hash *hash, const char *form) {
  size_t length = strlen(form);
  return strncmp(hash->text, form, length) == 0 &&
         (hash->text[length] == ':' || hash->text[length] == 0);
}

int bf_hash_convert(const bf_hash *hash, const char *form, bf_text *text,
                    bf_diagnostic *diagnostic) {
  unsigned index = 0;
  while (bf_hash_forms[index] && strcmp(form, bf_hash_forms[index]) != 0)
    index++;
  if (!bf_hash_forms[index])
    return bf_fail(diagnostic, BF_BAD_INPUT, "unknown hash form '%.40s'", form);
  if (is_written_as(hash, form)) {
    bf_text_puts(text, hash->text);
    return BF_OK;
  }
  if (writers[index](hash, text))
    return text->failed ? bf_no_memory(diagnostic) : BF_OK;
  return bf_fail(diagnostic, BF_UNSUPPORTED,
                 "no such form: no '%s' hash gives the same banks as %.200s", form, hash->text);
}
