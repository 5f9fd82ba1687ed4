/* Histograms of image files, for the command hist: how they are printed. */
#ifndef BF_CLI_HIST_H
#define BF_CLI_HIST_H

#include "imaging/histogram.h"

/* A line for each bin: its ends, and a number for each channel. */
void cli_hist_csv(const bf_imaging_histogram *hist, const bf_imaging_bins *bins, bf_text *text);
/* Members of a JSON object. */
void cli_hist_json(const bf_imaging_histogram *hist, const bf_imaging_bins *bins, bf_json *json);

#endif
