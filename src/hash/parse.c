/* The text forms of hashes. Each form is parsed by the function named after it, which fills the
 * forward matrix (or the parameters of an arithmetic hash) and the canonical text. */
#include "hash/parse.h"

#include "base/guess.h"
#include "hash/hash.h"

#include <stdlib.h>
#include <string.h>

typedef struct parser {
  const char *text;                         /* the whole form, for diagnostics */
  const char *cursor;                       /* what is left */
  const char *entry[BF_HASH_MAX_BANK_BITS]; /* bits, rows: where each bank bit is written */
  bool may_share;                           /* bank bits may depend on each other */
  bf_hash *hash;
  bf_diagnostic *diagnostic;
} parser;

#define FAIL_AT(at, ...) bf_fail_at(p->diagnostic, "hash", 1, p->text, at, __VA_ARGS__)

static int number(parser *p, const char *what, uint64_t limit, uint64_t *value) {
  const char *start = p->cursor;
  if (!bf_parse_number(&p->cursor, value))
    return FAIL_AT(start, "expected %s: a number", what);
  if (*value > limit)
    return FAIL_AT(start, "%s is %llu, but may be at most %llu", what, (unsigned long long)*value,
                   (unsigned long long)limit);
  return BF_OK;
}

static int expect(parser *p, char c) {
  if (*p->cursor != c)
    return FAIL_AT(p->cursor, "expected '%c'", c);
  p->cursor++;
  return BF_OK;
}

/* The first row that the rows before it add up to. */
static unsigned first_dependent(const bf_gf2_matrix *matrix) {
  bf_gf2_basis basis = {0};
  unsigned i = 0;
  while (i < matrix->rows && bf_gf2_insert(&basis, matrix->row[i]))
    i++;
  return i;
}

/* Completes forward from its first bank_bits rows. */
static int complete(parser *p) {
  bf_hash *hash = p->hash;
  bf_gf2_matrix banks = hash->forward;
  banks.rows = hash->geometry.bank_bits;
  banks.columns = hash->geometry.address_bits;
  bool is_complete = bf_gf2_complete(&banks, &hash->forward);
  if (!is_complete && p->may_share) {
    hash->forward = banks;
    bf_hash_finish_shared(hash);
    return BF_OK;
  }
  if (!is_complete)
    return FAIL_AT(p->entry[first_dependent(&banks)],
                   "bank bits depend on each other: rank %u, but %u banks need rank %u",
                   bf_gf2_rank(banks.row, banks.rows), 1u << banks.rows, banks.rows);
  return bf_hash_finish_linear(hash, p->diagnostic);
}

static int form_none(parser *p) {
  p->hash->forward = bf_gf2_identity(p->hash->geometry.address_bits);
  strcpy(p->hash->text, "none");
  return bf_hash_finish_linear(p->hash, p->diagnostic);
}

void bf_hash_bit_vector_rows(const bf_geometry *geometry, unsigned k1, unsigned k2, uint64_t mask,
                             uint64_t *rows) {
  unsigned n = geometry->address_bits;
  for (unsigned i = 0; i < geometry->bank_bits; i++) {
    rows[i] = i + k1 < n ? (uint64_t)1 << (i + k1) : 0;
    if ((mask >> i & 1) && i + k2 < n)
      rows[i] ^= (uint64_t)1 << (i + k2);
  }
}

/* Completes the bit-vector hash; its rows have different top or bottom bits, so they never depend
 * on each other. */
static int bit_vector(parser *p, uint64_t k1, uint64_t k2, uint64_t mask) {
  bf_hash *hash = p->hash;
  bf_hash_bit_vector_rows(&hash->geometry, (unsigned)k1, (unsigned)k2, mask, hash->forward.row);
  return complete(p);
}

static int first_shift(parser *p, const char *what, uint64_t *k) {
  const bf_geometry *g = &p->hash->geometry;
  return number(p, what, g->address_bits - g->bank_bits, k);
}

static int form_perm(parser *p) {
  uint64_t k;
  BF_TRY(first_shift(p, "K", &k));
  snprintf(p->hash->text, sizeof p->hash->text, "perm:%u", (unsigned)k);
  return bit_vector(p, k, 0, 0);
}

static int form_xor(parser *p) {
  const bf_geometry *g = &p->hash->geometry;
  uint64_t k1, k2, mask;
  BF_TRY(first_shift(p, "K1", &k1));
  BF_TRY(expect(p, ','));
  const char *second = p->cursor;
  BF_TRY(number(p, "K2", g->address_bits ? g->address_bits - 1 : 0, &k2));
  BF_TRY(expect(p, ','));
  BF_TRY(number(p, "MASK", bf_gf2_low_bits(g->bank_bits), &mask));
  if (k1 == k2)
    return FAIL_AT(second, "K2 equals K1: those bits cancel each other");
  snprintf(p->hash->text, sizeof p->hash->text, "xor:%u,%u,%llu", (unsigned)k1, (unsigned)k2,
           (unsigned long long)mask);
  return bit_vector(p, k1, k2, mask);
}

static int form_fixed(parser *p) {
  unsigned m = p->hash->geometry.bank_bits;
  strcpy(p->hash->text, "fixed");
  return bit_vector(p, 0, m, bf_gf2_low_bits(m));
}

/* One bank bit: address bits joined by '^'. */
static int bit_term(parser *p, uint64_t *row) {
  *row = 0;
  do {
    const char *start = p->cursor;
    uint64_t bit;
    BF_TRY(number(p, "an address bit", p->hash->geometry.address_bits - 1, &bit));
    if (*row >> bit & 1)
      return FAIL_AT(start, "address bit %u occurs twice and cancels", (unsigned)bit);
    *row |= (uint64_t)1 << bit;
  } while (*p->cursor == '^' && p->cursor++);
  return BF_OK;
}

void bf_hash_print_bits(const uint64_t *rows, unsigned count, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "bits:");
  for (unsigned i = 0; i < count; i++) {
    const char *separator = i ? "," : "";
    for (uint64_t left = rows[i]; left && used < size; left &= left - 1, separator = "^")
      used += (size_t)snprintf(text + used, size - used, "%s%d", separator, __builtin_ctzll(left));
  }
}

static int row_list(parser *p, int (*entry)(parser *, uint64_t *)) {
  unsigned m = p->hash->geometry.bank_bits;
  for (unsigned i = 0; i < m; i++) {
    if (i > 0 && *p->cursor != ',')
      return FAIL_AT(p->cursor, "%u entries given, but %u banks need %u", i, 1u << m, m);
    p->cursor += i > 0;
    p->entry[i] = p->cursor;
    BF_TRY(entry(p, &p->hash->forward.row[i]));
  }
  if (*p->cursor == ',')
    return FAIL_AT(p->cursor, "more than %u entries, but %u banks need %u", m, 1u << m, m);
  return BF_OK;
}

static int form_bits(parser *p) {
  BF_TRY(row_list(p, bit_term));
  bf_hash_print_bits(p->hash->forward.row, p->hash->geometry.bank_bits, p->hash->text,
                     sizeof p->hash->text);
  return complete(p);
}

static int hex_row(parser *p, uint64_t *row) {
  const char *start = p->cursor;
  if (!bf_parse_hex(&p->cursor, row))
    return FAIL_AT(start, "expected a hexadecimal mask of address bits");
  if (*row & ~bf_gf2_low_bits(p->hash->geometry.address_bits))
    return FAIL_AT(start, "mask 0x%llx uses bits past the %u address bits",
                   (unsigned long long)*row, p->hash->geometry.address_bits);
  return BF_OK;
}

static int form_rows(parser *p) {
  BF_TRY(row_list(p, hex_row));
  bf_hash_print_rows(p->hash->forward.row, p->hash->geometry.bank_bits, p->hash->text,
                     sizeof p->hash->text);
  return complete(p);
}

bf_gf2_matrix bf_hash_swizzle_matrix(const bf_geometry *geometry, unsigned bits, int base,
                                     int shift) {
  unsigned n = geometry->address_bits;
  int distance = shift < 0 ? -shift : shift;
  bf_gf2_matrix matrix = bf_gf2_identity(n);
  for (unsigned i = 0; i < bits; i++) {
    int low = base + (int)i, high = low + distance;
    int target = shift >= 0 ? low : high, source = shift >= 0 ? high : low;
    if (target < (int)n && source < (int)n)
      matrix.row[target] |= (uint64_t)1 << source;
  }
  return matrix;
}

static unsigned log2_exact(uint64_t x) { return (unsigned)__builtin_ctzll(x); }

/* Swizzle<B,M,S>: of the offset, bits [M+S, M+S+B) are XORed onto bits [M, M+B) (S < 0: the other
 * way). Offsets count bytes, or elements of E bytes after "/E". */
static int form_cute(parser *p) {
  bf_geometry *g = &p->hash->geometry;
  uint64_t bits, base, shift, element = 1;
  BF_TRY(number(p, "B", 32, &bits));
  BF_TRY(expect(p, ','));
  const char *base_at = p->cursor;
  BF_TRY(number(p, "M", 32, &base));
  BF_TRY(expect(p, ','));
  const char *shift_at = p->cursor;
  bool negative = *p->cursor == '-';
  p->cursor += negative;
  BF_TRY(number(p, "S", 32, &shift));
  if (*p->cursor == '/') {
    const char *start = ++p->cursor;
    BF_TRY(number(p, "the element size", 16, &element));
    if (element == 0 || (element & (element - 1)))
      return FAIL_AT(start, "an element has 1, 2, 4, 8 or 16 bytes");
  }
  if (shift < bits)
    return FAIL_AT(shift_at, "|S| must be at least B, or the swizzle is not a bijection");
  int signed_shift = negative ? -(int)shift : (int)shift;
  int word_base = (int)base + (int)log2_exact(element) - (int)log2_exact(g->word_bytes);
  if (bits && word_base < 0)
    return FAIL_AT(base_at,
                   "M = %llu on offsets of %llu byte%s moves bytes inside a %u-byte word; "
                   "append /%u to swizzle %u-byte elements",
                   (unsigned long long)base, (unsigned long long)element, element == 1 ? "" : "s",
                   g->word_bytes, g->word_bytes, g->word_bytes);
  p->hash->forward = bf_hash_swizzle_matrix(g, (unsigned)bits, word_base, signed_shift);
  int printed = snprintf(p->hash->text, sizeof p->hash->text, "cute:%u,%u,%d", (unsigned)bits,
                         (unsigned)base, signed_shift);
  if (element > 1)
    snprintf(p->hash->text + printed, sizeof p->hash->text - (size_t)printed, "/%u",
             (unsigned)element);
  return bf_hash_finish_linear(p->hash, p->diagnostic);
}

static int form_tma(parser *p) {
  const char *start = p->cursor;
  uint64_t bytes;
  BF_TRY(number(p, "the swizzle span", 128, &bytes));
  if (bytes != 32 && bytes != 64 && bytes != 128)
    return FAIL_AT(start, "a TMA swizzle spans 32, 64 or 128 bytes");
  const bf_geometry *g = &p->hash->geometry;
  p->hash->forward =
      bf_hash_swizzle_matrix(g, log2_exact(bytes) - 4, 4 - (int)log2_exact(g->word_bytes), 3);
  snprintf(p->hash->text, sizeof p->hash->text, "tma:%u", (unsigned)bytes);
  return bf_hash_finish_linear(p->hash, p->diagnostic);
}

/* Largest padded allocation, so that byte offsets still fit 64 bits with room to spare. */
static const uint64_t most_padded_words = (uint64_t)1 << 56;

/* @X, @XxY or @XxYxZ: threads of a block, at most. Text is added to that of the hash. */
static int form_blocks(parser *p) {
  bf_hash *hash = p->hash;
  static const char *const axes[] = {"X", "Y", "Z"};
  static const uint64_t most[] = {1024, 1024, 64}; /* CUDA C++ Programming Guide */
  if (*p->cursor != '@')
    return BF_OK;
  for (unsigned i = 0; i < 3 && *p->cursor == (i ? 'x' : '@'); i++) {
    const char *start = ++p->cursor;
    uint64_t threads;
    BF_TRY(number(p, axes[i], most[i], &threads));
    if (threads == 0)
      return FAIL_AT(start, "a block has at least 1 thread in each direction");
    hash->most_block[i] = (uint32_t)threads;
    size_t length = strlen(hash->text);
    snprintf(hash->text + length, sizeof hash->text - length, "%c%u", i ? 'x' : '@',
             hash->most_block[i]);
  }
  return BF_OK;
}

static int form_pad(parser *p) {
  bf_hash *hash = p->hash;
  uint64_t words = (uint64_t)1 << hash->geometry.address_bits, padding;
  const char *start = p->cursor;
  BF_TRY(number(p, "ROW", words, &hash->row_words));
  if (hash->row_words == 0)
    return FAIL_AT(start, "ROW must be at least 1 word");
  BF_TRY(expect(p, '+'));
  start = p->cursor;
  BF_TRY(number(p, "P", words, &hash->pad_words));
  if (__builtin_mul_overflow((words - 1) / hash->row_words, hash->pad_words, &padding) ||
      padding > most_padded_words)
    return FAIL_AT(start, "P makes the allocation larger than 2^56 words");
  hash->kind = BF_HASH_PAD;
  snprintf(hash->text, sizeof hash->text, "pad:%llu+%llu", (unsigned long long)hash->row_words,
           (unsigned long long)hash->pad_words);
  return form_blocks(p);
}

static int form_add(parser *p) {
  p->hash->kind = BF_HASH_ADD;
  strcpy(p->hash->text, "add");
  return BF_OK;
}

/* bank = word mod N: banks N and above stay empty, as if each row of N words were padded. */
static int form_mod(parser *p) {
  bf_hash *hash = p->hash;
  const char *start = p->cursor;
  uint64_t banks = (uint64_t)1 << hash->geometry.bank_bits;
  BF_TRY(number(p, "N", banks, &hash->row_words));
  if (hash->row_words == 0)
    return FAIL_AT(start, "N must be at least 1");
  hash->pad_words = banks - hash->row_words;
  hash->kind = BF_HASH_MOD;
  snprintf(hash->text, sizeof hash->text, "mod:%u", (unsigned)hash->row_words);
  return BF_OK;
}

static const struct form {
  const char *prefix; /* with ':' when arguments follow */
  int (*parse)(parser *p);
} forms[] = {
    {"none", form_none},  {"pad:", form_pad},    {"perm:", form_perm}, {"xor:", form_xor},
    {"bits:", form_bits}, {"fixed", form_fixed}, {"add", form_add},    {"mod:", form_mod},
    {"cute:", form_cute}, {"tma:", form_tma},    {"rows:", form_rows},
};

static int parse_any(parser *p) {
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    size_t length = strlen(forms[i].prefix);
    bool takes_arguments = forms[i].prefix[length - 1] == ':';
    if (strncmp(p->text, forms[i].prefix, length) != 0)
      continue;
    if (!takes_arguments && p->text[length] != 0)
      continue;
    p->cursor = p->text + length;
    BF_TRY(forms[i].parse(p));
    if (*p->cursor != 0)
      return FAIL_AT(p->cursor, "unexpected text after the hash");
    return BF_OK;
  }
  char likely[BF_GUESS_BYTES], head[16] = "";
  snprintf(head, sizeof head, "%.*s", (int)strcspn(p->text, ":") + 1, p->text);
  bf_guess guess = bf_guess_begin(head);
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    bf_guess_offer(&guess, forms[i].prefix, strlen(forms[i].prefix));
  int printable = 0;
  while (printable < 40 && p->text[printable] > 31 && p->text[printable] < 127)
    printable++;
  return FAIL_AT(p->text,
                 "unknown hash '%.*s'%s; known: none, pad:ROW+P, perm:K, xor:K1,K2,MASK, "
                 "bits:B0,B1^C1,..., fixed, add, mod:N, cute:B,M,S[/BYTES], "
                 "tma:32|64|128, rows:HEX,...",
                 printable, p->text, bf_guess_text(&guess, likely));
}

static int parse_text(const char *text, const bf_geometry *geometry, bool may_share, bf_hash **out,
                      bf_diagnostic *diagnostic) {
  *out = NULL;
  int error = bf_hash_check_geometry(geometry, diagnostic);
  if (error)
    return error;
  bf_hash *hash = calloc(1, sizeof *hash);
  if (!hash)
    return bf_no_memory(diagnostic);
  hash->geometry = *geometry;
  parser p = {
      .text = text, .cursor = text, .may_share = may_share, .hash = hash, .diagnostic = diagnostic};
  error = parse_any(&p);
  if (error) {
    bf_hash_free(hash);
    return error;
  }
  *out = hash;
  return BF_OK;
}

int bf_hash_parse(const char *text, const bf_geometry *geometry, bf_hash **hash,
                  bf_diagnostic *diagnostic) {
  return parse_text(text, geometry, false, hash, diagnostic);
}

int bf_hash_parse_banks(const char *text, const bf_geometry *geometry, bf_hash **hash,
                        bf_diagnostic *diagnostic) {
  return parse_text(text, geometry, true, hash, diagnostic);
}
