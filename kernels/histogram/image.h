/* Grey images for the benchmarks, the same on every machine: smooth areas and gradients with the
 * noise of a camera. Seed 0 is the image that hashes are trained on, seeds 1 to 10 those that judge
 * them.
 *
 * Of 1024 x 1024 pixels with seeds 0 to 10: the mean is 111 to 123 and the standard deviation 21 to
 * 31 grey levels; horizontal neighbours differ by 2.6 to 2.7 on average (test_corpus_references
 * checks this). */
#ifndef BF_KERNELS_IMAGE_H
#define BF_KERNELS_IMAGE_H

#include <stdint.h>

void bf_image_make(unsigned seed, uint32_t width, uint32_t height, uint8_t *pixels);

#endif
