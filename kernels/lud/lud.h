/* Reference of the LU decomposition. */
#ifndef BF_KERNELS_LUD_H
#define BF_KERNELS_LUD_H

#include <stdint.h>

/* Eliminates the first `steps` columns of a matrix of width x width, without pivoting; after width
 * steps it holds L below the diagonal and U on and above it. */
void bf_lud_reference(double *matrix, uint32_t width, uint32_t steps);

#endif
