/* Hashes as what to write in CUDA source. */
#include "hash/hash.h"

bool bf_hash_write_code(const bf_hash *hash, bf_text *text) {
  unsigned first, second, bits, base;
  int shift;
  uint64_t mask;
  if (hash->kind == BF_HASH_PAD) {
    bf_text_addf(text, "tile[i + i / %llu", (unsigned long long)hash->row_words);
    if (hash->pad_words > 1)
      bf_text_addf(text, " * %llu", (unsigned long long)hash->pad_words);
    bf_text_addf(text, "] in place of tile[i], for words of %u bytes", hash->geometry.word_bytes);
    return true;
  }
  if (bf_hash_is_row_preserving(hash) && bf_hash_find_bit_vector(hash, &first, &second, &mask) &&
      first == 0) {
    bf_text_addf(text, "tile[i ^ (i >> %u & %llu)] in place of tile[i], for words of %u bytes",
                 second, (unsigned long long)mask, hash->geometry.word_bytes);
    return true;
  }
  if (bf_hash_find_swizzle(hash, &bits, &base, &shift)) {
    bf_text_addf(text, "Swizzle<%u, %u, %d> of CuTe, on byte offsets", bits, base, shift);
    return true;
  }
  return false;
}
