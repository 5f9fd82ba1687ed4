/* Histograms of image files, for the command hist: counting, and how they are shown. */
#ifndef BF_CLI_HIST_H
#define BF_CLI_HIST_H

#include "cli/cli.h"
#include "cli/images/gpu_vote.h"
#include "cli/images/vote_kernels.h"
#include "image/image.h"

/* A rectangle of pixels. */
typedef struct cli_region {
  uint64_t x, y, width, height;
} cli_region;

typedef struct cli_hist_request {
  const char *image;
  const char *mask, *weights; /* files, or NULL */
  const char *channel;        /* "all", a name, or a number from 1 on */
  bool has_region;
  cli_region region;
  unsigned threads;   /* 0: one per core */
  const cli_gpu *gpu; /* counts there; NULL: on the CPU */
} cli_hist_request;

/* How often every value of a channel occurs, and what follows from that. */
typedef struct cli_hist_channel {
  const char *name;
  bool is_brightness; /* of colours, computed */
  unsigned number;    /* of the channel in the file, from 0 on */
  uint64_t *counts;   /* of each value; NULL with weights */
  double *sums;       /* the same, or sums of weights */
  double total, mean, deviation;
  bool is_empty; /* no pixel was counted; all other numbers are 0 then */
  size_t least, most, otsu;
} cli_hist_channel;

enum { CLI_HIST_CHANNELS = 4 };

typedef struct cli_histogram {
  bf_image_format format;
  bool is_weighted;
  size_t values; /* that a sample can have: 256 or 65536 */
  unsigned channels;
  cli_hist_channel channel[CLI_HIST_CHANNELS];
} cli_histogram;

/* Reads the image in strips and counts. Free hist in any case. */
int cli_hist_count(const cli_hist_request *request, cli_histogram *hist, bf_diagnostic *diagnostic);
void cli_hist_free(cli_histogram *hist);

/* Even bins from low to high of each channel. */
typedef struct cli_bins {
  size_t count;
  double low, high;
  double *of_channel[CLI_HIST_CHANNELS];
} cli_bins;

/* Puts values into bins, of which count, low and high are given. Free bins in any case. */
int cli_bins_fill(const cli_histogram *hist, cli_bins *bins, bf_diagnostic *diagnostic);
void cli_bins_free(cli_bins *bins);

/* ---- Showing ---- */

typedef struct cli_hist_style {
  unsigned columns; /* characters in a line */
  bool has_blocks;  /* Unicode blocks; otherwise plain characters */
} cli_hist_style;

/* A picture of every channel, with its numbers. */
void cli_hist_draw(const cli_histogram *hist, const cli_bins *bins, const cli_hist_style *style,
                   bf_text *text);
/* The same as an SVG document. */
int cli_hist_svg(const cli_histogram *hist, const cli_bins *bins, const char *title, bf_text *text,
                 bf_diagnostic *diagnostic);
/* A line for each bin: its ends, and a number for each channel. */
void cli_hist_csv(const cli_histogram *hist, const cli_bins *bins, bf_text *text);
/* Members of a JSON object. */
void cli_hist_json(const cli_histogram *hist, const cli_bins *bins, bf_json *json);

/* ---- On the emulator ---- */

/* Counts an image of 8 bits and one channel with the kernels of 64 or 256 bins on the emulator, and
 * compares with hist, which was counted before. */
int cli_hist_emulate(const cli_hist_request *request, const cli_histogram *hist,
                     const cli_bins *bins, const bf_machine *machine,
                     cli_vote_kernel kernels[CLI_VOTE_KERNELS], bf_diagnostic *diagnostic);

#endif
