/* Lines in an image: edges, votes, peaks. */
#include "imaging/lines.h"
#include "vote/vote.h"

#include <stdlib.h>

/* Votes and peaks of edges, by the voter where there is one. */
static int find_lines(bf_imaging_lines *hough, const uint8_t *pixels,
                      const bf_hough_options *options, const bf_peak_options *peaks,
                      bf_diagnostic *diagnostic) {
  const bf_pixels edges = {
      .data = pixels, .width = hough->format.width, .height = hough->format.height};
  bf_hough_space *space = &hough->found.space;
  if (hough->voter)
    BF_TRY(hough->voter->hough_vote(hough->voter->gpu, &edges, options, space, diagnostic));
  else
    BF_TRY(bf_hough_vote(&edges, options, space, diagnostic));
  return bf_hough_peaks(space, peaks, &hough->found.lines, diagnostic);
}

/* Edges are what is not black; with weights, the brightness of pixels from 0 to 255. */
static int find_in_edges(bf_imaging_lines *hough, const void *grey, const bf_hough_options *options,
                         const bf_peak_options *peaks, bf_diagnostic *diagnostic) {
  const bf_image_format *format = &hough->format;
  const size_t pixels = (size_t)format->width * format->height;
  hough->edges = malloc(pixels);
  if (!hough->edges)
    return bf_no_memory(diagnostic);
  if (options->weighted)
    bf_image_to_bytes(format, grey, pixels, hough->edges);
  else
    bf_image_to_mask(format, hough->pixels, pixels, hough->edges);
  return find_lines(hough, hough->edges, options, peaks, diagnostic);
}

/* Edges of a picture of one channel, and lines. */
static int find_in_picture(bf_imaging_lines *hough, const bf_pixels *picture,
                           const bf_hough_options *options, const bf_peak_options *peaks,
                           bf_diagnostic *diagnostic) {
  BF_TRY(bf_hough_edges(picture, 0, options->threads, &hough->found, diagnostic));
  return find_lines(hough, hough->found.edges, options, peaks, diagnostic);
}

int bf_imaging_find_lines(bf_imaging_lines *hough, const bf_hough_options *options,
                          const bf_peak_options *peaks, bf_diagnostic *diagnostic) {
  const bf_image_format *format = &hough->format;
  const size_t pixels = (size_t)format->width * format->height;
  void *grey = malloc(pixels * format->sample_bytes);
  if (!grey)
    return bf_no_memory(diagnostic);
  bf_image_to_grey(format, hough->pixels, pixels, grey);
  const bf_pixels picture = {.data = grey,
                             .type = format->sample_bytes == 1 ? BF_PIXEL_U8 : BF_PIXEL_U16,
                             .channels = 1,
                             .width = format->width,
                             .height = format->height,
                             .stride_bytes = (size_t)format->width * format->sample_bytes};
  int error = hough->is_given ? find_in_edges(hough, grey, options, peaks, diagnostic)
                              : find_in_picture(hough, &picture, options, peaks, diagnostic);
  free(grey);
  return error;
}

void bf_imaging_lines_clear(bf_imaging_lines *hough) {
  bf_hough_result_clear(&hough->found);
  free(hough->edges);
  free(hough->pixels);
  hough->edges = NULL;
  hough->pixels = NULL;
}
