/* Histograms as CSV and JSON. */
#include "cli/images/hist.h"

#include <math.h>

void cli_hist_csv(const bf_imaging_histogram *hist, const bf_imaging_bins *bins, bf_text *text) {
  const double step = (bins->high - bins->low) / (double)bins->count;
  bf_text_puts(text, "low,high");
  for (unsigned c = 0; c < hist->channels; c++)
    bf_text_addf(text, ",%s", hist->channel[c].name);
  bf_text_puts(text, "\n");
  for (size_t i = 0; i < bins->count; i++) {
    bf_text_addf(text, "%.10g,%.10g", bins->low + (double)i * step,
                 bins->low + (double)(i + 1) * step);
    for (unsigned c = 0; c < hist->channels; c++)
      bf_text_addf(text, ",%.17g", bins->of_channel[c][i]);
    bf_text_puts(text, "\n");
  }
}

/* A sum: of pixels as a whole number, of weights as it is. */
static void sum_json(const bf_imaging_histogram *hist, const char *key, double sum, bf_json *json) {
  if (hist->is_weighted)
    bf_json_real(json, key, sum);
  else
    bf_json_number(json, key, (uint64_t)sum);
}

/* A value, or null where there is none. */
static void value_json(const char *key, bool exists, size_t value, bf_json *json) {
  if (exists)
    bf_json_number(json, key, value);
  else
    bf_json_string(json, key, NULL);
}

static void channel_json(const bf_imaging_histogram *hist, const bf_imaging_bins *bins, unsigned c,
                         bf_json *json) {
  const bf_imaging_channel *channel = &hist->channel[c];
  double inside = 0;
  for (size_t i = 0; i < bins->count; i++)
    inside += bins->of_channel[c][i];
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "name", channel->name);
  sum_json(hist, "total", channel->total, json);
  sum_json(hist, "outside", channel->total - inside, json);
  value_json("min", !channel->is_empty, channel->least, json);
  value_json("max", !channel->is_empty, channel->most, json);
  bf_json_real(json, "mean", channel->is_empty ? NAN : channel->mean);
  bf_json_real(json, "deviation", channel->is_empty ? NAN : channel->deviation);
  value_json("otsu", !channel->is_empty && !hist->is_weighted, channel->otsu, json);
  bf_json_begin(json, "counts", '[', true);
  for (size_t i = 0; i < bins->count; i++)
    sum_json(hist, NULL, bins->of_channel[c][i], json);
  bf_json_end(json, ']');
  bf_json_end(json, '}');
}

void cli_hist_json(const bf_imaging_histogram *hist, const bf_imaging_bins *bins, bf_json *json) {
  bf_json_number(json, "width", hist->format.width);
  bf_json_number(json, "height", hist->format.height);
  bf_json_number(json, "bits", hist->format.sample_bytes * 8);
  bf_json_bool(json, "weighted", hist->is_weighted);
  bf_json_number(json, "bins", bins->count);
  bf_json_real(json, "low", bins->low);
  bf_json_real(json, "high", bins->high);
  bf_json_begin(json, "channels", '[', false);
  for (unsigned c = 0; c < hist->channels; c++)
    channel_json(hist, bins, c, json);
  bf_json_end(json, ']');
}
