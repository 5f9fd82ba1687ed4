/* Triton's swizzled shared layout (SwizzledSharedEncodingAttr, swizzledSharedToLinearLayout in
 * lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp of Triton): element (row, column) of a
 * row-major tile lies at row * columns + (column ^ vec * ((row / perPhase) % maxPhase)).
 *
 * In bits of the byte offset that is Swizzle<B,M,S>: with maxPhase = 2^B, vec * element_bytes = 2^M
 * and a row of 2^R bytes, row bits from R + log2(perPhase) are XORed onto column bits from M. So a
 * swizzle has the form when S > 0, it splits no element (M >= log2 element_bytes), it stays inside
 * the row (M + B <= R), and it takes row bits only (M + S >= R). */
#include "emit/forms.h"

static bool is_power_of_two(uint64_t x) { return x && (x & (x - 1)) == 0; }

static unsigned log2_exact(uint64_t x) { return (unsigned)__builtin_ctzll(x); }

/* A row-major tile of 2^row_bits bytes per row, and vec, perPhase, maxPhase on it. */
typedef struct layout {
  unsigned element_bits, row_bits;
  unsigned long long vec, per_phase, max_phase;
} layout;

/* Elements of one word and rows as long as one row of banks, where nothing else is asked for. */
static int read_tile(const bf_hash *hash, const bf_emit_options *options, layout *found,
                     bf_diagnostic *diagnostic) {
  const bf_geometry *g = &hash->geometry;
  uint64_t bytes = options->element_bytes ? options->element_bytes : g->word_bytes;
  uint64_t bank_row = (uint64_t)g->word_bytes << g->bank_bits;
  uint64_t most = (uint64_t)g->word_bytes << g->address_bits;
  uint64_t columns = options->columns ? options->columns : bytes < bank_row ? bank_row / bytes : 1;
  if (!is_power_of_two(bytes) || bytes > 16)
    return bf_fail(diagnostic, BF_BAD_INPUT, "an element has 1, 2, 4, 8 or 16 bytes, not %llu",
                   (unsigned long long)bytes);
  if (!is_power_of_two(columns))
    return bf_fail(diagnostic, BF_BAD_INPUT, "Triton tiles have a power of two columns, not %llu",
                   (unsigned long long)columns);
  if (columns > most / bytes)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "a row of %llu elements of %llu bytes does not fit the allocation of %llu bytes",
                   (unsigned long long)columns, (unsigned long long)bytes,
                   (unsigned long long)most);
  found->element_bits = log2_exact(bytes);
  found->row_bits = found->element_bits + log2_exact(columns);
  return BF_OK;
}

/* Why Swizzle<bits, base, shift> is no Triton layout of the tile, or NULL if it is. */
static const char *objection(const layout *tile, unsigned bits, unsigned base, int shift) {
  if (bits == 0)
    return NULL;
  if (shift < 0)
    return "it moves rows by their columns, not columns by their rows";
  if (base < tile->element_bits)
    return "it splits elements";
  if (base + bits > tile->row_bits)
    return "it moves elements out of their row";
  if (base + (unsigned)shift < tile->row_bits)
    return "it takes bits of the column, not of the row";
  return NULL;
}

/* Makes rows as long as the swizzle needs them, or as short. */
static void fit_rows(layout *tile, unsigned bits, unsigned base, int shift) {
  if (bits == 0 || shift < 0 || base < tile->element_bits)
    return;
  if (tile->row_bits < base + bits)
    tile->row_bits = base + bits;
  if (tile->row_bits > base + (unsigned)shift)
    tile->row_bits = base + (unsigned)shift;
}

static unsigned long long columns_of(const layout *tile) {
  return 1ull << (tile->row_bits - tile->element_bits);
}

static int find_layout(const bf_hash *hash, bool choose_rows, layout *found,
                       bf_diagnostic *diagnostic) {
  unsigned bits, base;
  int shift;
  if (!bf_hash_find_swizzle(hash, &bits, &base, &shift))
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "no such form: no (vec, perPhase, maxPhase) gives the same banks as %.200s",
                   hash->text);
  if (choose_rows)
    fit_rows(found, bits, base, shift);
  const char *why = objection(found, bits, base, shift);
  if (why) { /* a swizzle that does not touch what lies above the banks may still do */
    bf_hash_find_bank_swizzle(hash, &bits, &base, &shift);
    why = objection(found, bits, base, shift);
  }
  if (why)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "no such form: on rows of %llu elements of %u bytes, %.200s has no (vec, "
                   "perPhase, maxPhase): %s",
                   columns_of(found), 1u << found->element_bits, hash->text, why);
  found->vec = found->per_phase = found->max_phase = 1;
  if (bits) {
    found->vec = 1ull << (base - found->element_bits);
    found->per_phase = 1ull << (base + (unsigned)shift - found->row_bits);
    found->max_phase = 1ull << bits;
  }
  return BF_OK;
}

int bf_emit_triton(const bf_hash *hash, const bf_emit_options *options, bf_text *text,
                   bf_diagnostic *diagnostic) {
  layout l = {0};
  int error = read_tile(hash, options, &l, diagnostic);
  if (!error)
    error = find_layout(hash, options->columns == 0, &l, diagnostic);
  if (error)
    return error;
  bf_text_addf(text,
               "# %s: hash %s\n# for %u banks of %u-byte words, as a Triton layout.\n#\n"
               "# For a row-major tile of any number of rows (a power of two) of exactly %llu\n"
               "# elements of %u bytes, that starts at a multiple of %llu bytes.\n#\n"
               "# TritonGPU dialect:\n"
               "#   #ttg.swizzled_shared<{vec = %llu, perPhase = %llu, maxPhase = %llu, "
               "order = [1, 0]}>\n",
               options->name, hash->text, 1u << hash->geometry.bank_bits, hash->geometry.word_bytes,
               columns_of(&l), 1u << l.element_bits, (l.per_phase * l.max_phase) << l.row_bits,
               l.vec, l.per_phase, l.max_phase);
  bf_text_addf(text,
               "from triton.experimental.gluon import language as gl\n\n"
               "%s_layout = gl.SwizzledSharedLayout(vec=%llu, per_phase=%llu, max_phase=%llu, "
               "order=[1, 0])\n",
               options->name, l.vec, l.per_phase, l.max_phase);
  return BF_OK;
}
