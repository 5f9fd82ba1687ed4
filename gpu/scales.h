/* gpu/scales: how large the benchmarks are when they are measured on a GPU, from a file of lines
 * BENCHMARK SCALE. */
#ifndef BF_GPU_SCALES_H
#define BF_GPU_SCALES_H

#include "base/base.h"

enum { GPU_MOST_SCALES = 200, GPU_MOST_SCALE = 1024 };

typedef struct gpu_scales {
  unsigned count;
  char name[GPU_MOST_SCALES][64];
  unsigned scale[GPU_MOST_SCALES];
} gpu_scales;

int gpu_scales_read(const char *path, gpu_scales *scales, bf_diagnostic *diagnostic);
/* The scale of a benchmark, or 0. */
unsigned gpu_scale_of(const gpu_scales *scales, const char *benchmark);

#endif
