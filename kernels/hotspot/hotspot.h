/* Reference of the temperatures. */
#ifndef BF_KERNELS_HOTSPOT_H
#define BF_KERNELS_HOTSPOT_H

#include <stdint.h>

typedef struct bf_hotspot_chip {
  int32_t side; /* cells in each direction */
  float sideways, to_air, air, heating;
} bf_hotspot_chip;

/* One step: temperatures to result. */
void bf_hotspot_step(const bf_hotspot_chip *chip, const float *powers, const double *temperatures,
                     double *result);

#endif
