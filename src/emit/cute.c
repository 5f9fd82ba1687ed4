/* The CuTe type cute::Swizzle<B,M,S> (include/cute/swizzle.hpp of NVIDIA CUTLASS): of an offset,
 * the B bits from M + max(S, 0) are XORed onto the B bits from M - min(S, 0). */
#include "emit/forms.h"

/* CuTe keeps its masks in an int. */
enum { MASK_BITS = 31 };

/* Name of the TMA tensor map mode that swizzles alike, or NULL. */
static const char *tma_mode(unsigned bits, unsigned base, int shift) {
  static const char *const modes[] = {"CU_TENSOR_MAP_SWIZZLE_NONE", "CU_TENSOR_MAP_SWIZZLE_32B",
                                      "CU_TENSOR_MAP_SWIZZLE_64B", "CU_TENSOR_MAP_SWIZZLE_128B"};
  return base == 4 && shift == 3 && bits <= 3 ? modes[bits] : NULL;
}

/* One type per element size that the swizzle does not split. */
static void write_types(bf_text *text, const char *name, unsigned bits, unsigned base, int shift) {
  for (unsigned log = 0; log <= 4; log++) {
    if (base < log) {
      bf_text_addf(text,
                   "// No type for elements of %u bytes: the swizzle moves parts of them apart.\n",
                   1u << log);
      continue;
    }
    bf_text_addf(text, "using %s_swizzle_%ub = cute::Swizzle<%u, %u, %d>; // offsets in %s\n", name,
                 1u << log, bits, base - log, shift,
                 log == 0 ? "bytes" : "elements of that many bytes");
  }
}

int bf_emit_cute(const bf_hash *hash, const bf_emit_options *options, bf_text *text,
                 bf_diagnostic *diagnostic) {
  unsigned bits, base;
  int shift;
  if (!bf_hash_find_swizzle(hash, &bits, &base, &shift))
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "no such form: no cute::Swizzle<B,M,S> gives the same banks as %.200s",
                   hash->text);
  unsigned top = bits + base + (unsigned)(shift < 0 ? -shift : shift);
  if (bits && top > MASK_BITS)
    return bf_fail(
        diagnostic, BF_UNSUPPORTED,
        "no such form: cute::Swizzle<%u,%u,%d> uses offset bit %u, but CuTe's masks have "
        "%d bits",
        bits, base, shift, top - 1, MASK_BITS);
  const char *name = options->name, *mode = tma_mode(bits, base, shift);
  char upper[BF_EMIT_NAME_MAX + 1];
  bf_emit_upper(name, upper);
  unsigned word = hash->geometry.word_bytes;
  unsigned long alignment = bits ? 1ul << top : word;
  bf_text_addf(text,
               "// %s: hash %s\n// for %u banks of %u-byte words, as CuTe types.\n//\n"
               "// Swizzled offsets count from a base at a multiple of %s_alignment bytes; then\n"
               "// swizzling addresses and swizzling offsets is the same.\n//\n"
               "// Use it in a layout, for example 8 rows of 64 elements of %u bytes:\n"
               "//   auto layout = cute::composition(%s_swizzle_%ub{},\n"
               "//       cute::Layout<cute::Shape<cute::_8, cute::_64>,\n"
               "//                    cute::Stride<cute::_64, cute::_1>>{});\n"
               "#ifndef %s_CUTE_HPP\n#define %s_CUTE_HPP\n\n#include <cute/swizzle.hpp>\n\n",
               name, hash->text, 1u << hash->geometry.bank_bits, word, name, word, name, word,
               upper, upper);
  write_types(text, name, bits, base, shift);
  bf_text_addf(text, "constexpr unsigned %s_alignment = %lu; // bytes\n", name, alignment);
  if (mode)
    bf_text_addf(text, "// TMA swizzles alike in mode %s.\n", mode);
  bf_text_puts(text, "\n#endif\n");
  return BF_OK;
}
