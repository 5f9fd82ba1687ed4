/* Edge points of a picture, as the first steps of a Hough transform leave them. */
#ifndef BF_EDGES_H
#define BF_EDGES_H

#include "base/base.h"

/* Finds the pixels whose gradient (Sobel) is among the largest, about share of all; they are listed
 * row by row, x in the low and y in the high 16 bits. points has room for width * height. */
int bf_edges_find(const uint16_t *pixels, uint32_t width, uint32_t height, double share,
                  uint32_t *points, uint32_t *point_count, bf_diagnostic *diagnostic);

#endif
