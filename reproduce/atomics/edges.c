/* Sobel's gradient, and a threshold that leaves a given share of the pixels. */
#include "reproduce/atomics/edges.h"

#include <stdlib.h>

enum { STRENGTHS = 1 << 16 };

/* |horizontal| + |vertical| gradient; 0 at the border. */
static uint32_t strength(const uint16_t *pixels, uint32_t width, uint32_t height, uint32_t x,
                         uint32_t y) {
  if (x == 0 || y == 0 || x + 1 == width || y + 1 == height)
    return 0;
  const uint16_t *above = pixels + (size_t)(y - 1) * width + x, *here = above + width;
  const uint16_t *beneath = here + width;
  const int across = above[1] + 2 * here[1] + beneath[1] - above[-1] - 2 * here[-1] - beneath[-1];
  const int down = beneath[-1] + 2 * beneath[0] + beneath[1] - above[-1] - 2 * above[0] - above[1];
  const uint32_t sum = (uint32_t)(abs(across) + abs(down));
  return sum < STRENGTHS ? sum : STRENGTHS - 1;
}

/* The least strength that no more than most pixels have. */
static uint32_t find_threshold(const uint32_t *pixels_of_strength, uint64_t most) {
  uint64_t stronger = 0;
  uint32_t threshold = STRENGTHS;
  while (threshold > 1 && stronger + pixels_of_strength[threshold - 1] <= most)
    stronger += pixels_of_strength[--threshold];
  return threshold;
}

int bf_edges_find(const uint16_t *pixels, uint32_t width, uint32_t height, double share,
                  uint32_t *points, uint32_t *point_count, bf_diagnostic *diagnostic) {
  uint32_t *pixels_of_strength = calloc(STRENGTHS, sizeof *pixels_of_strength);
  if (!pixels_of_strength)
    return bf_no_memory(diagnostic);
  for (uint32_t y = 0; y < height; y++)
    for (uint32_t x = 0; x < width; x++)
      pixels_of_strength[strength(pixels, width, height, x, y)]++;
  const uint32_t threshold = find_threshold(pixels_of_strength, (uint64_t)(share * width * height));
  free(pixels_of_strength);
  *point_count = 0;
  for (uint32_t y = 0; y < height; y++)
    for (uint32_t x = 0; x < width; x++)
      if (strength(pixels, width, height, x, y) >= threshold)
        points[(*point_count)++] = x | y << 16;
  return BF_OK;
}
