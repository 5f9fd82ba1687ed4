/* Inside room hash: what parsing and converting share. */
#ifndef BF_HASH_PARSE_H
#define BF_HASH_PARSE_H

#include "hash/hash.h"

/* Sets kind, inverse and tables of a hash whose forward matrix is set. */
int bf_hash_finish_linear(bf_hash *hash, bf_diagnostic *diagnostic);
/* Sets kind and tables of a hash whose bank bits depend on each other. */
void bf_hash_finish_shared(bf_hash *hash);
/* "bits:..." and "rows:..." for count rows. */
void bf_hash_print_bits(const uint64_t *rows, unsigned count, char *text, size_t size);
void bf_hash_print_rows(const uint64_t *rows, unsigned count, char *text, size_t size);
/* Rows of xor:k1,k2,mask: bank bit i = a[i + k1] ^ (mask bit i & a[i + k2]); address bits past the
 * top are 0. */
void bf_hash_bit_vector_rows(const bf_geometry *geometry, unsigned k1, unsigned k2, uint64_t mask,
                             uint64_t *rows);
/* Swizzle<bits, base, shift> on word offsets; address bits past the top are 0. */
bf_gf2_matrix bf_hash_swizzle_matrix(const bf_geometry *geometry, unsigned bits, int base,
                                     int shift);

#endif
