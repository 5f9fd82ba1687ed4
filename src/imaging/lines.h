/* Lines in images: finding them, and pictures of them. */
#ifndef BF_IMAGING_LINES_H
#define BF_IMAGING_LINES_H

#include "image/image.h"
#include "imaging/voter.h"

typedef struct bf_imaging_lines {
  bf_image_format format;
  void *pixels;          /* the image as it was read */
  uint8_t *edges;        /* given ones; NULL where they were found, and are in found */
  bool is_given;         /* the image holds edges: what is not black */
  const bf_voter *voter; /* votes; NULL: the CPU */
  bf_hough_result found;
} bf_imaging_lines;

/* Finds lines in the image that was read. With weights, given edges are as heavy as their
 * brightness from 0 to 255. Clear also after an error. */
int bf_imaging_find_lines(bf_imaging_lines *hough, const bf_hough_options *options,
                          const bf_peak_options *peaks, bf_diagnostic *diagnostic);
/* Frees the image and all that was found. */
void bf_imaging_lines_clear(bf_imaging_lines *hough);

/* The Hough space as a picture: angles across, distances down, the square root of the votes as
 * brightness. Free pixels with free(). */
int bf_imaging_space_picture(const bf_hough_space *space, bf_image_format *format, uint8_t **pixels,
                             bf_diagnostic *diagnostic);
/* An SVG document: the image with the lines drawn over it, and the Hough space with the places of
 * the lines. */
int bf_imaging_lines_svg(const bf_imaging_lines *hough, const char *name, bf_text *text,
                         bf_diagnostic *diagnostic);

#endif
