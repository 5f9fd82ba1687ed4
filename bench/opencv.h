/* What benchmarks of room vote ask of OpenCV, where that is installed. */
#ifndef BF_BENCH_OPENCV_H
#define BF_BENCH_OPENCV_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One thread, or as many as given. */
void opencv_threads(int threads);
/* calcHist of one channel: 256 bins from 0 to below high; bytes is 1 or 2 per pixel. */
void opencv_histogram(const void *data, int bytes, int width, int height, float high,
                      uint64_t counts[256]);
/* calcHist of one channel of several, with a mask and by edges where these are not NULL; bytes is 1
 * or 2 per sample, or 4 for floats. */
typedef struct opencv_picture {
  const void *data;
  int bytes, channels, channel, width, height;
  const uint8_t *mask;
} opencv_picture;
void opencv_count(const opencv_picture *picture, size_t bins, float high, const double *edges,
                  double *counts);
/* HoughLines with bins of one pixel and pi / angles; votes of the best line, or 0 where none has
 * more than threshold. */
int opencv_hough(const uint8_t *edges, int width, int height, int angles, int threshold);

#ifdef __cplusplus
}
#endif
#endif
