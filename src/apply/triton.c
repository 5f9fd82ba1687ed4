/* Triton's swizzled shared layout (SwizzledSharedEncodingAttr, swizzledSharedToLinearLayout in
 * lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp of Triton): element (row, column) of a
 * row-major tile lies at row * columns + (column ^ vec * ((row / perPhase) % maxPhase)).
 *
 * In bits of the byte offset that is Swizzle<B,M,S>: with maxPhase = 2^B, vec * element_bytes = 2^M
 * and a row of 2^R bytes, row bits from R + log2(perPhase) are XORed onto column bits from M. So a
 * swizzle has the form when S > 0, it splits no element (M >= log2 element_bytes), it stays inside
 * the row (M + B <= R), and it takes row bits only (M + S >= R). */
#include "apply/emit.h"

static bool is_power_of_two(uint64_t x) { return x && (x & (x - 1)) == 0; }

static unsigned log2_exact(uint64_t x) { return (unsigned)__builtin_ctzll(x); }

/* vec, perPhase, maxPhase. */
typedef struct triple {
  unsigned long long vec, per_phase, max_phase;
} triple;

static int check_tile(const bf_hash *hash, const bf_emit_options *options,
                      bf_diagnostic *diagnostic) {
  uint64_t bytes = options->element_bytes, columns = options->columns;
  uint64_t most = ((uint64_t)1 << hash->geometry.address_bits) * hash->geometry.word_bytes;
  if (bytes == 0 || columns == 0)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "a Triton layout needs the tile: --element-bytes and --columns");
  if (!is_power_of_two(bytes) || bytes > 16)
    return bf_fail(diagnostic, BF_BAD_INPUT, "an element has 1, 2, 4, 8 or 16 bytes, not %llu",
                   (unsigned long long)bytes);
  if (!is_power_of_two(columns))
    return bf_fail(diagnostic, BF_BAD_INPUT, "Triton tiles have a power of two columns, not %llu",
                   (unsigned long long)columns);
  if (columns > most / bytes)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "a row of %llu bytes does not fit the allocation of %llu",
                   (unsigned long long)(columns * bytes), (unsigned long long)most);
  return BF_OK;
}

/* Why Swizzle<bits, base, shift> is no Triton layout of the tile, or NULL if it is. */
static const char *objection(unsigned bits, unsigned base, int shift, unsigned element_bits,
                             unsigned row_bits) {
  if (bits == 0)
    return NULL;
  if (shift < 0)
    return "it moves rows by their columns, not columns by their rows";
  if (base < element_bits)
    return "it splits elements";
  if (base + bits > row_bits)
    return "it moves elements out of their row";
  if (base + (unsigned)shift < row_bits)
    return "it takes bits of the column, not of the row";
  return NULL;
}

static int find_triple(const bf_hash *hash, const bf_emit_options *options, triple *found,
                       bf_diagnostic *diagnostic) {
  unsigned bits, base, element_bits = log2_exact(options->element_bytes);
  unsigned row_bits = element_bits + log2_exact(options->columns);
  int shift;
  if (!bf_hash_find_swizzle(hash, &bits, &base, &shift))
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "no such form: no (vec, perPhase, maxPhase) gives the same banks as %.200s",
                   hash->text);
  const char *why = objection(bits, base, shift, element_bits, row_bits);
  if (why) { /* a swizzle that does not touch what lies above the banks may still do */
    bf_hash_find_bank_swizzle(hash, &bits, &base, &shift);
    why = objection(bits, base, shift, element_bits, row_bits);
  }
  if (why)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "no such form: on rows of %llu elements of %llu bytes, %.200s has no (vec, "
                   "perPhase, maxPhase): %s",
                   (unsigned long long)options->columns, (unsigned long long)options->element_bytes,
                   hash->text, why);
  if (bits)
    *found = (triple){1ull << (base - element_bits), 1ull << (base + (unsigned)shift - row_bits),
                      1ull << bits};
  return BF_OK;
}

int bf_emit_triton(const bf_hash *hash, const bf_emit_options *options, bf_text *text,
                   bf_diagnostic *diagnostic) {
  triple t = {1, 1, 1}; /* no swizzle */
  int error = check_tile(hash, options, diagnostic);
  if (error == BF_OK)
    error = find_triple(hash, options, &t, diagnostic);
  if (error != BF_OK)
    return error;
  unsigned long long columns = options->columns, bytes = options->element_bytes;
  unsigned long long period = t.per_phase * t.max_phase * columns * bytes;
  bf_text_addf(text,
               "# %s: hash %s\n# for %u banks of %u-byte words, as a Triton layout.\n#\n"
               "# For a row-major tile of any number of rows (a power of two) of exactly %llu\n"
               "# elements of %llu bytes, that starts at a multiple of %llu bytes.\n#\n"
               "# TritonGPU dialect:\n"
               "#   #ttg.swizzled_shared<{vec = %llu, perPhase = %llu, maxPhase = %llu, "
               "order = [1, 0]}>\n"
               "from triton.experimental.gluon import language as gl\n\n"
               "%s_layout = gl.SwizzledSharedLayout(vec=%llu, per_phase=%llu, max_phase=%llu, "
               "order=[1, 0])\n",
               options->name, hash->text, 1u << hash->geometry.bank_bits, hash->geometry.word_bytes,
               columns, bytes, period, t.vec, t.per_phase, t.max_phase, options->name, t.vec,
               t.per_phase, t.max_phase);
  return BF_OK;
}
