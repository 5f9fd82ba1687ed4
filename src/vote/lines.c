/* From picture to lines: edges, threshold, vote, peaks. */
#include "vote/vote.h"

#include <stdlib.h>
#include <string.h>

int bf_hough_edges(const bf_pixels *image, unsigned channel, unsigned threads,
                   bf_hough_result *result, bf_diagnostic *diagnostic) {
  uint64_t counts[256] = {0};
  size_t pixels = image->width * image->height;
  result->edges = malloc(pixels ? pixels : 1);
  if (!result->edges)
    return bf_no_memory(diagnostic);
  result->width = image->width;
  result->height = image->height;
  BF_TRY(bf_sobel(image, channel, threads, result->edges, 0, diagnostic));
  bf_pixels edges = {.data = result->edges,
                     .width = image->width,
                     .height = image->height,
                     .mask = image->mask,
                     .mask_stride_bytes = image->mask_stride_bytes};
  bf_histogram_options options = {.struct_bytes = sizeof options, .bins = 256, .threads = threads};
  BF_TRY(bf_histogram_u64(&edges, &options, counts, diagnostic));
  result->threshold = (unsigned)bf_otsu(counts, 256);
  for (size_t i = 0; i < pixels; i++)
    if (result->edges[i] <= result->threshold)
      result->edges[i] = 0;
  return BF_OK;
}

/* bf_hough_lines into a result that is cleared after an error. */
static int find_lines(const bf_pixels *image, unsigned channel, const bf_hough_options *given,
                      const bf_peak_options *peaks, bf_hough_result *result,
                      bf_diagnostic *diagnostic) {
  bf_pixels checked;
  bf_hough_options options;
  BF_TRY(bf_pixels_check(image, &checked, diagnostic));
  BF_TRY(bf_take_options(given, &options, sizeof options, "bf_hough_options", diagnostic));
  BF_TRY(bf_hough_edges(&checked, channel, options.threads, result, diagnostic));
  bf_pixels edges = {.data = result->edges, .width = checked.width, .height = checked.height};
  BF_TRY(bf_hough_vote(&edges, &options, &result->space, diagnostic));
  return bf_hough_peaks(&result->space, peaks, &result->lines, diagnostic);
}

int bf_hough_lines(const bf_pixels *image, unsigned channel, const bf_hough_options *options,
                   const bf_peak_options *peaks, bf_hough_result *result,
                   bf_diagnostic *diagnostic) {
  if (!result)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no place for the result");
  memset(result, 0, sizeof *result);
  int error = find_lines(image, channel, options, peaks, result, diagnostic);
  if (error)
    bf_hough_result_clear(result);
  return error;
}

void bf_hough_result_clear(bf_hough_result *result) {
  if (!result)
    return;
  free(result->edges);
  bf_hough_space_clear(&result->space);
  bf_peaks_clear(&result->lines);
  memset(result, 0, sizeof *result);
}
