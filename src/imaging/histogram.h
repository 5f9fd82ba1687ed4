/* Histograms of image files: counting, and pictures of them. */
#ifndef BF_IMAGING_HISTOGRAM_H
#define BF_IMAGING_HISTOGRAM_H

#include "image/image.h"
#include "imaging/voter.h"

/* Says that `done` of `all` rows are counted; false: stop. */
typedef bool bf_imaging_progress(void *context, uint64_t done, uint64_t all);

/* A rectangle of pixels. */
typedef struct bf_imaging_region {
  uint64_t x, y, width, height;
} bf_imaging_region;

typedef struct bf_imaging_request {
  const char *image;
  const char *mask, *weights; /* files, or NULL */
  const char *channel;        /* "all", a name, or a number from 1 on */
  bool has_region;
  bf_imaging_region region;
  unsigned threads;              /* 0: one per core */
  const bf_voter *voter;         /* counts; NULL: the CPU */
  bf_imaging_progress *progress; /* NULL: none */
  void *context;                 /* for progress */
} bf_imaging_request;

/* How often every value of a channel occurs, and what follows from that. */
typedef struct bf_imaging_channel {
  const char *name;
  bool is_brightness; /* of colours, computed */
  unsigned number;    /* of the channel in the file, from 0 on */
  uint64_t *counts;   /* of each value; NULL with weights */
  double *sums;       /* the same, or sums of weights */
  double total, mean, deviation;
  bool is_empty; /* no pixel was counted; all other numbers are 0 then */
  size_t least, most, otsu;
} bf_imaging_channel;

enum { BF_IMAGING_CHANNELS = 4 };

typedef struct bf_imaging_histogram {
  bf_image_format format;
  bool is_weighted;
  size_t values; /* that a sample can have: 256 or 65536 */
  unsigned channels;
  bf_imaging_channel channel[BF_IMAGING_CHANNELS];
} bf_imaging_histogram;

/* Reads the image in strips and counts. Free hist in any case. */
int bf_imaging_count(const bf_imaging_request *request, bf_imaging_histogram *hist,
                     bf_diagnostic *diagnostic);
void bf_imaging_histogram_free(bf_imaging_histogram *hist);

/* Even bins from low to high of each channel. */
typedef struct bf_imaging_bins {
  size_t count;
  double low, high;
  double *of_channel[BF_IMAGING_CHANNELS];
} bf_imaging_bins;

/* Puts values into bins, of which count, low and high are given. Free bins in any case. */
int bf_imaging_bins_fill(const bf_imaging_histogram *hist, bf_imaging_bins *bins,
                         bf_diagnostic *diagnostic);
void bf_imaging_bins_free(bf_imaging_bins *bins);

/* ---- Showing ---- */

typedef struct bf_imaging_style {
  unsigned columns; /* characters in a line */
  bool has_blocks;  /* Unicode blocks; otherwise plain characters */
} bf_imaging_style;

/* A picture of every channel, with its numbers. */
void bf_imaging_draw(const bf_imaging_histogram *hist, const bf_imaging_bins *bins,
                     const bf_imaging_style *style, bf_text *text);
/* The same as an SVG document. */
int bf_imaging_svg(const bf_imaging_histogram *hist, const bf_imaging_bins *bins, const char *title,
                   bf_text *text, bf_diagnostic *diagnostic);

#endif
