/* References of the diffusion. */
#ifndef BF_KERNELS_SRAD_H
#define BF_KERNELS_SRAD_H

#include <stdint.h>

/* The coefficient of each pixel. */
void bf_srad_coefficients(const float *image, uint32_t width, uint32_t height, double speckle,
                          double *coefficients);
/* One step of diffusion with them. */
void bf_srad_update(const float *image, const double *coefficients, uint32_t width, uint32_t height,
                    double step, double *result);

#endif
