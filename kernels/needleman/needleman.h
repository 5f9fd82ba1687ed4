/* Reference of the alignment. */
#ifndef BF_KERNELS_NEEDLEMAN_H
#define BF_KERNELS_NEEDLEMAN_H

#include <stdint.h>

/* Scores of aligning the beginnings of two sequences of `width` letters: (width + 1)^2 of them, row
 * by row. similarities: width^2, of each pair of letters. */
void bf_needleman_reference(const int32_t *similarities, uint32_t width, int32_t penalty,
                            int32_t *scores);

#endif
