/* Inside room hash: what parsing and converting share. */
#ifndef BF_HASH_PARSE_H
#define BF_HASH_PARSE_H

#include "hash/hash.h"

/* Sets kind, inverse and tables of a hash whose forward matrix is set. */
int bf_hash_finish_linear(bf_hash *hash, bf_diagnostic *diagnostic);
/* "bits:..." for count rows. */
void bf_hash_print_bits(const uint64_t *rows, unsigned count, char *text, size_t size);
/* Matrix of Swizzle<bits, base, shift> on word offsets; false where it is not a bijection. */
bool bf_hash_swizzle_matrix(const bf_geometry *geometry, unsigned bits, int base, int shift,
                            bf_gf2_matrix *matrix);

#endif
