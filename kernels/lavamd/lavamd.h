/* Reference of the particle boxes. */
#ifndef BF_KERNELS_LAVAMD_H
#define BF_KERNELS_LAVAMD_H

#include <stdint.h>

enum { BF_LAVAMD_PARTICLES = 100 };

/* What the particles of box `other` do to a particle: *energy and force[3] grow, and magnitude[4]
 * by the absolute values of all that is added to energy and force. Particles are v = |position|^2 /
 * 2, x, y, z. */
void bf_lavamd_reference(const float *particle, const float *other, const float *charges,
                         double alpha, double *energy, double *force, double *magnitude);

#endif
