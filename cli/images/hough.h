/* Lines in images, for the command hough: what was found, and pictures of it. */
#ifndef BF_CLI_HOUGH_H
#define BF_CLI_HOUGH_H

#include "cli/cli.h"
#include "cli/images/gpu_vote.h"
#include "cli/images/vote_kernels.h"
#include "image/image.h"

typedef struct cli_lines {
  bf_image_format format;
  void *pixels;   /* the image as it was read */
  uint8_t *edges; /* given ones; NULL where they were found, and are in found */
  bool is_given;  /* the image holds edges */
  bf_hough_result found;
  cli_gpu gpu; /* that votes, where one is open */
} cli_lines;

/* The Hough space as a picture: angles across, distances down, the square root of the votes as
 * brightness. Free pixels with free(). */
int cli_hough_picture(const bf_hough_space *space, bf_image_format *format, uint8_t **pixels,
                      bf_diagnostic *diagnostic);
/* An SVG document: the image with the lines drawn over it, and the Hough space with the places of
 * the lines. */
int cli_hough_svg(const cli_lines *hough, const char *name, bf_text *text,
                  bf_diagnostic *diagnostic);

/* Votes with the kernels of kernels/hough on the emulator for the edges that were found, in tiles,
 * and compares every tile with a reference. */
int cli_hough_emulate(const cli_lines *hough, bool weighted, unsigned threads,
                      const bf_machine *machine, cli_vote_kernel kernels[CLI_VOTE_KERNELS],
                      bf_diagnostic *diagnostic);

#endif
