/* From one text form to another where both give every word the same bank. Small families are
 * searched; the rows of the matrix decide equality. */
#include "hash/hash.h"
#include "hash/parse.h"

#include <string.h>

const char *const bf_hash_forms[] = {"none", "fixed", "perm", "xor", "tma", "cute",
                                     "bits", "rows",  "add",  "mod", "pad", NULL};

/* The same bank for every word: equal first rows. */
static bool same_banks(const bf_hash *hash, const bf_gf2_matrix *matrix) {
  return memcmp(hash->forward.row, matrix->row,
                hash->geometry.bank_bits * sizeof *matrix->row) == 0;
}

/* Swizzles that touch only address bits at or above the banks leave every bank as it was; they are
 * not searched, so "none" is Swizzle<0,M,S>. */
bool bf_hash_find_swizzle(const bf_hash *hash, unsigned *bits, unsigned *base, int *shift) {
  if (hash->kind != BF_HASH_LINEAR)
    return false;
  const bf_geometry *g = &hash->geometry;
  unsigned word_bits = (unsigned)__builtin_ctz(g->word_bytes);
  int n = (int)g->address_bits;
  for (int b = 0; b <= (int)g->bank_bits; b++)
    for (int m = 0; m + b <= (int)g->bank_bits; m++)
      for (int step = 0; step <= 2 * n; step++) {
        int s = step % 2 ? -(step + 1) / 2 : step / 2; /* 0, -1, 1, -2, 2, ... */
        bf_gf2_matrix matrix;
        if ((s < 0 ? -s : s) < b || !bf_hash_swizzle_matrix(g, (unsigned)b, m, s, &matrix))
          continue;
        if (b == 0 && s != 3)
          continue;
        if (same_banks(hash, &matrix)) {
          *bits = (unsigned)b;
          *base = (unsigned)m + (b == 0 ? 4 : word_bits);
          *shift = s;
          return true;
        }
      }
  return false;
}

bool bf_hash_find_bit_vector(const bf_hash *hash, unsigned *k1, unsigned *k2, uint64_t *mask) {
  const bf_geometry *g = &hash->geometry;
  if (hash->kind != BF_HASH_LINEAR)
    return false;
  for (*k1 = 0; *k1 + g->bank_bits <= g->address_bits; ++*k1)
    for (*k2 = 0; *k2 < g->address_bits; ++*k2) {
      *mask = 0;
      bool same = true;
      for (unsigned i = 0; i < g->bank_bits && same; i++) {
        uint64_t extra = hash->forward.row[i] ^ (uint64_t)1 << (i + *k1);
        same = extra == 0 || (i + *k2 < g->address_bits && extra == (uint64_t)1 << (i + *k2));
        *mask |= (uint64_t)(extra != 0) << i;
      }
      if (same && (*mask == 0 || *k1 != *k2))
        return true;
    }
  return false;
}

static bool is_identity(const bf_hash *hash) {
  if (hash->kind == BF_HASH_MOD)
    return hash->modulus == (uint64_t)1 << hash->geometry.bank_bits;
  if (hash->kind == BF_HASH_PAD)
    return hash->pad_words == 0;
  bf_gf2_matrix identity = bf_gf2_identity(hash->geometry.address_bits);
  return hash->kind == BF_HASH_LINEAR && same_banks(hash, &identity);
}

/* Writes the named parameterless or searched form; false when none equals hash. */
static bool write_linear_form(const bf_hash *hash, const char *form, bf_text *text) {
  const bf_geometry *g = &hash->geometry;
  unsigned bits, base, k1, k2;
  int shift;
  uint64_t mask;
  if (strcmp(form, "cute") == 0) {
    if (!bf_hash_find_swizzle(hash, &bits, &base, &shift))
      return false;
    bf_text_addf(text, "cute:%u,%u,%d", bits, base, shift);
  } else if (strcmp(form, "tma") == 0) {
    if (!bf_hash_find_swizzle(hash, &bits, &base, &shift) || bits < 1 || bits > 3 || base != 4 ||
        shift != 3)
      return false;
    bf_text_addf(text, "tma:%u", 16u << bits);
  } else if (strcmp(form, "perm") == 0 || strcmp(form, "xor") == 0) {
    bool permutation = form[0] == 'p';
    if (!bf_hash_find_bit_vector(hash, &k1, &k2, &mask) || (permutation && mask))
      return false;
    if (permutation)
      bf_text_addf(text, "perm:%u", k1);
    else
      bf_text_addf(text, "xor:%u,%u,%llu", k1, k2, (unsigned long long)mask);
  } else if (strcmp(form, "fixed") == 0) {
    bf_hash *fixed;
    if (bf_hash_parse("fixed", g, &fixed, NULL) != BF_OK)
      return false;
    bool same = same_banks(hash, &fixed->forward);
    bf_hash_free(fixed);
    if (!same)
      return false;
    bf_text_puts(text, "fixed");
  } else if (strcmp(form, "bits") == 0) {
    char line[2048];
    bf_hash_print_bits(hash->forward.row, g->bank_bits, line, sizeof line);
    bf_text_puts(text, line);
  } else if (strcmp(form, "rows") == 0) {
    for (unsigned i = 0; i < g->bank_bits; i++)
      bf_text_addf(text, "%s0x%llx", i ? "," : "rows:",
                   (unsigned long long)hash->forward.row[i]);
  } else {
    return false;
  }
  return true;
}

int bf_hash_convert(const bf_hash *hash, const char *form, bf_text *text,
                    bf_diagnostic *diagnostic) {
  bool known = false;
  for (unsigned i = 0; bf_hash_forms[i]; i++)
    known = known || strcmp(form, bf_hash_forms[i]) == 0;
  if (!known)
    return bf_fail(diagnostic, BF_BAD_INPUT, "unknown hash form '%.40s'", form);
  const bf_hash *source = hash;
  bf_hash *identity = NULL;
  if (is_identity(hash)) {
    if (strcmp(form, "none") == 0) {
      bf_text_puts(text, "none");
      return BF_OK;
    }
    int error = bf_hash_parse("none", &hash->geometry, &identity, diagnostic);
    if (error != BF_OK)
      return error;
    source = identity;
  }
  bool own_form = strncmp(hash->text, form, strlen(form)) == 0;
  bool written = false;
  if (own_form) {
    bf_text_puts(text, hash->text);
    written = true;
  } else if (source->kind == BF_HASH_LINEAR) {
    written = write_linear_form(source, form, text);
  }
  bf_hash_free(identity);
  if (written)
    return BF_OK;
  return bf_fail(diagnostic, BF_UNSUPPORTED, "no such form: no '%s' hash gives the same banks as %s",
                 form, hash->text);
}
