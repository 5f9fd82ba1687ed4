/* The steps of gridding on the CPU: input and reference of each kernel. */
#ifndef BF_KERNELS_MRI_GRIDDING_H
#define BF_KERNELS_MRI_GRIDDING_H

#include <stdint.h>

/* The plane is 64 x 64 cells in tiles of 8 x 8; a block sorts 512 samples. */
enum { BF_MRI_SIDE = 64, BF_MRI_TILE = 8, BF_MRI_TILES = 64, BF_MRI_ITEMS = 512 };

/* The tile of a sample. */
uint32_t bf_mri_tile(const float *coordinate);
/* Sorts each block of BF_MRI_ITEMS tile numbers, keeping the order of equals. source: where each
 * was; counts[tile * blocks + block]. */
void bf_mri_sort(const uint32_t *tiles, uint32_t blocks, uint32_t *sorted, uint32_t *source,
                 uint32_t *counts);
/* Replaces each word by the sum of those before it. */
void bf_mri_scan(uint32_t *words, uint32_t count);
/* Moves pairs of floats to where the scanned counts say. */
void bf_mri_reorder(const uint32_t *sorted, const uint32_t *source, uint32_t blocks,
                    const uint32_t *first_place, const float *from, float *to);
/* Adds one sample to a cell: sums[0] and [1] grow by the weighted value, magnitude[0] and [1] by
 * the absolute value. */
void bf_mri_add(const float *coordinate, const float *value, uint32_t x, uint32_t y, double *sums,
                double *magnitude);

#endif
