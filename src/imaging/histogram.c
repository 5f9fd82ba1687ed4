/* Counting: image, mask and weights are read in strips of the same rows, each strip is counted, and
 * in the end every value has its count. Bins are filled from these, so that one pass over the image
 * gives the exact numbers too. */
#include "imaging/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A file that is read, and the rows of it in memory. */
typedef struct strip_file {
  bf_image_reader *reader;
  bf_image_format format;
  void *rows;
} strip_file;

typedef struct counting {
  const bf_imaging_request *request;
  bf_imaging_histogram *hist;
  strip_file image, mask, weights;
  bf_imaging_region region;
  uint32_t strip_rows;
  void *grey;          /* brightness of a strip, or of its weights */
  void *mask_bytes;    /* uint8_t: of a strip */
  void *weight_floats; /* float: of a strip */
} counting;

/* ---- Opening ---- */

static int open_file(const char *path, strip_file *file, bf_diagnostic *diagnostic) {
  BF_TRY(bf_image_open(path, &file->reader, diagnostic));
  file->format = *bf_image_get_format(file->reader);
  return BF_OK;
}

/* Opens a mask or weights (NULL: none), which must be as large as the image. */
static int open_beside(const char *path, const bf_image_format *image, strip_file *file,
                       bf_diagnostic *diagnostic) {
  if (!path)
    return BF_OK;
  BF_TRY(open_file(path, file, diagnostic));
  if (file->format.width != image->width || file->format.height != image->height)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, bf_input_name(path),
                        "is %u x %u pixels large; the image is %u x %u", file->format.width,
                        file->format.height, image->width, image->height);
  return BF_OK;
}

/* The region asked for, or the whole image. */
static int set_region(counting *work, bf_diagnostic *diagnostic) {
  const bf_image_format *format = &work->image.format;
  const bf_imaging_region *asked = &work->request->region;
  work->region = (bf_imaging_region){0, 0, format->width, format->height};
  if (!work->request->has_region)
    return BF_OK;
  if (asked->x > format->width || asked->width > format->width - asked->x ||
      asked->y > format->height || asked->height > format->height - asked->y)
    return bf_fail(diagnostic, BF_BAD_INPUT, "the region is not inside the image of %u x %u pixels",
                   format->width, format->height);
  work->region = *asked;
  return BF_OK;
}

static int open_all(counting *work, bf_diagnostic *diagnostic) {
  const bf_imaging_request *request = work->request;
  BF_TRY(open_file(request->image, &work->image, diagnostic));
  work->strip_rows = bf_image_strip_rows(&work->image.format);
  work->hist->format = work->image.format;
  BF_TRY(set_region(work, diagnostic));
  BF_TRY(open_beside(request->mask, &work->image.format, &work->mask, diagnostic));
  return open_beside(request->weights, &work->image.format, &work->weights, diagnostic);
}

/* Room for `size` bytes at *memory if they are wanted. */
static int make_room(bool is_wanted, uint64_t size, void **memory, bf_diagnostic *diagnostic) {
  *memory = is_wanted ? malloc((size_t)size) : NULL;
  return *memory || !is_wanted ? BF_OK : bf_no_memory(diagnostic);
}

/* Room for a strip of every file, and for what its pixels are converted to. */
static int make_strips(counting *work, bf_diagnostic *diagnostic) {
  strip_file *files[] = {&work->image, &work->mask, &work->weights};
  const uint64_t pixels = (uint64_t)work->strip_rows * work->image.format.width;
  const bool has_mask = work->mask.reader != NULL, has_weights = work->weights.reader != NULL;
  const bool has_grey = has_weights || work->hist->channel[0].is_brightness;
  for (size_t i = 0; i < 3; i++)
    BF_TRY(make_room(files[i]->reader != NULL,
                     bf_image_row_bytes(&files[i]->format) * work->strip_rows, &files[i]->rows,
                     diagnostic));
  BF_TRY(make_room(has_grey, pixels * sizeof(uint16_t), &work->grey, diagnostic));
  BF_TRY(make_room(has_mask, pixels, &work->mask_bytes, diagnostic));
  return make_room(has_weights, pixels * sizeof(float), &work->weight_floats, diagnostic);
}

static void close_all(counting *work) {
  strip_file *files[] = {&work->image, &work->mask, &work->weights};
  for (size_t i = 0; i < 3; i++) {
    bf_image_close(files[i]->reader);
    free(files[i]->rows);
  }
  free(work->grey);
  free(work->mask_bytes);
  free(work->weight_floats);
}

/* ---- Channels ---- */

/* Adds a channel, with room for its counts. */
static int add_channel(bf_imaging_histogram *hist, const char *name, unsigned number,
                       bool is_brightness, bf_diagnostic *diagnostic) {
  bf_imaging_channel *channel = &hist->channel[hist->channels++];
  channel->name = name;
  channel->number = number;
  channel->is_brightness = is_brightness;
  channel->sums = calloc(hist->values, sizeof *channel->sums);
  channel->counts = hist->is_weighted ? NULL : calloc(hist->values, sizeof *channel->counts);
  return channel->sums && (channel->counts || hist->is_weighted) ? BF_OK : bf_no_memory(diagnostic);
}

/* Says which channels there are. */
static int refuse_channel(const bf_imaging_request *request, const bf_image_format *format,
                          bf_diagnostic *diagnostic) {
  char names[64] = "";
  for (unsigned c = 0; c < format->channels; c++) {
    const size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", c ? ", " : "",
             bf_image_channel_name(format, c));
  }
  return bf_fail_file(diagnostic, BF_BAD_INPUT, bf_input_name(request->image),
                      "the image has no channel '%s', only %s", request->channel, names);
}

/* Adds the channels that are asked for. */
static int choose_channels(const bf_imaging_request *request, bf_imaging_histogram *hist,
                           bf_diagnostic *diagnostic) {
  const bf_image_format *format = &hist->format;
  const char *asked = request->channel;
  char number[2];
  for (unsigned c = 0; c < format->channels; c++) {
    const char *name = bf_image_channel_name(format, c);
    snprintf(number, sizeof number, "%u", c + 1);
    if (strcmp(asked, "all") == 0 || strcmp(asked, name) == 0 || strcmp(asked, number) == 0)
      BF_TRY(add_channel(hist, name, c, false, diagnostic));
  }
  if (hist->channels == 0 && strcmp(asked, "grey") == 0)
    return add_channel(hist, "grey", 0, true, diagnostic);
  return hist->channels ? BF_OK : refuse_channel(request, format, diagnostic);
}

/* ---- Strips ---- */

/* The next rows of all files; mask and weights as the library takes them. */
static int read_strip(counting *work, uint32_t rows, bf_diagnostic *diagnostic) {
  const size_t pixels = (size_t)rows * work->image.format.width;
  BF_TRY(bf_image_read(work->image.reader, rows, work->image.rows, diagnostic));
  if (work->mask.reader) {
    BF_TRY(bf_image_read(work->mask.reader, rows, work->mask.rows, diagnostic));
    bf_image_to_mask(&work->mask.format, work->mask.rows, pixels, work->mask_bytes);
  }
  if (work->weights.reader) {
    BF_TRY(bf_image_read(work->weights.reader, rows, work->weights.rows, diagnostic));
    bf_image_to_grey(&work->weights.format, work->weights.rows, pixels, work->grey);
    bf_image_to_floats(&work->weights.format, work->grey, pixels, work->weight_floats);
  }
  return BF_OK;
}

/* Counts rows `first` to `last` (not included) of the strip for one channel. */
static int count_channel(counting *work, bf_imaging_channel *channel, uint32_t first, uint32_t last,
                         bf_diagnostic *diagnostic) {
  const bf_image_format *format = &work->image.format;
  bf_pixels strip = {.data = work->image.rows,
                     .type = format->sample_bytes == 1 ? BF_PIXEL_U8 : BF_PIXEL_U16,
                     .channels = format->channels,
                     .width = format->width,
                     .height = last,
                     .mask = work->mask.reader ? work->mask_bytes : NULL};
  if (channel->is_brightness) {
    bf_image_to_grey(format, work->image.rows, (size_t)last * format->width, work->grey);
    strip.data = work->grey;
    strip.channels = 1;
  }
  bf_pixels part;
  BF_TRY(bf_pixels_crop(&strip, (size_t)work->region.x, first, (size_t)work->region.width,
                        last - first, &part, diagnostic));
  bf_histogram_options options = {.struct_bytes = sizeof options,
                                  .bins = work->hist->values,
                                  .channel = channel->number,
                                  .accumulate = true,
                                  .threads = work->request->threads};
  const bf_voter *voter = work->request->voter;
  if (!work->hist->is_weighted)
    return voter ? voter->histogram_u64(voter->gpu, &part, &options, channel->counts, diagnostic)
                 : bf_histogram_u64(&part, &options, channel->counts, diagnostic);
  options.weights =
      (const float *)work->weight_floats + (size_t)first * format->width + work->region.x;
  options.weight_type = BF_WEIGHT_F32;
  options.weights_stride_bytes = format->width * sizeof(float);
  return voter ? voter->histogram_f64(voter->gpu, &part, &options, channel->sums, diagnostic)
               : bf_histogram_f64(&part, &options, channel->sums, diagnostic);
}

/* Counts the rows of a strip, which begins at row y, that are inside the region. */
static int count_strip(counting *work, uint64_t y, uint32_t rows, bf_diagnostic *diagnostic) {
  const uint64_t top = work->region.y, end = top + work->region.height;
  const uint32_t first = top > y ? (uint32_t)(top - y) : 0;
  const uint32_t last = end < y + rows ? (uint32_t)(end - y) : rows;
  for (unsigned c = 0; first < last && c < work->hist->channels; c++)
    BF_TRY(count_channel(work, &work->hist->channel[c], first, last, diagnostic));
  return BF_OK;
}

/* Counts strip by strip; what lies below the region is not read. */
static int count_rows(counting *work, bf_diagnostic *diagnostic) {
  const uint64_t end = work->region.y + work->region.height;
  const bf_imaging_request *request = work->request;
  int error = BF_OK;
  for (uint64_t y = 0; y < end && !error; y += work->strip_rows) {
    const uint64_t left = work->image.format.height - y;
    const uint32_t rows = left < work->strip_rows ? (uint32_t)left : work->strip_rows;
    if (request->progress && !request->progress(request->context, y, end))
      error = bf_fail(diagnostic, BF_UNSUPPORTED, "interrupted");
    if (!error)
      error = read_strip(work, rows, diagnostic);
    if (!error)
      error = count_strip(work, y, rows, diagnostic);
  }
  return error;
}

/* ---- Numbers ---- */

/* What follows from the counts of a channel. */
static void summarise(bf_imaging_channel *channel, size_t values) {
  double weighted = 0, squared = 0;
  for (size_t v = 0; v < values; v++) {
    if (channel->counts)
      channel->sums[v] = (double)channel->counts[v];
    if (channel->sums[v] == 0)
      continue;
    channel->least = channel->total == 0 ? v : channel->least;
    channel->most = v;
    channel->total += channel->sums[v];
    weighted += channel->sums[v] * (double)v;
  }
  channel->is_empty = channel->total == 0;
  if (channel->is_empty)
    return;
  channel->mean = weighted / channel->total;
  for (size_t v = channel->least; v <= channel->most; v++)
    squared += channel->sums[v] * ((double)v - channel->mean) * ((double)v - channel->mean);
  channel->deviation = sqrt(squared / channel->total);
  channel->otsu = channel->counts ? bf_otsu(channel->counts, values) : 0;
}

int bf_imaging_count(const bf_imaging_request *request, bf_imaging_histogram *hist,
                     bf_diagnostic *diagnostic) {
  counting work = {.request = request, .hist = hist};
  memset(hist, 0, sizeof *hist);
  hist->is_weighted = request->weights != NULL;
  int error = open_all(&work, diagnostic);
  hist->values = hist->format.sample_bytes == 2 ? 65536 : 256;
  if (!error)
    error = choose_channels(request, hist, diagnostic);
  if (!error)
    error = make_strips(&work, diagnostic);
  if (!error)
    error = count_rows(&work, diagnostic);
  close_all(&work);
  for (unsigned c = 0; !error && c < hist->channels; c++)
    summarise(&hist->channel[c], hist->values);
  return error;
}

void bf_imaging_histogram_free(bf_imaging_histogram *hist) {
  for (unsigned c = 0; c < hist->channels; c++) {
    free(hist->channel[c].counts);
    free(hist->channel[c].sums);
  }
}

/* ---- Bins ---- */

int bf_imaging_bins_fill(const bf_imaging_histogram *hist, bf_imaging_bins *bins,
                         bf_diagnostic *diagnostic) {
  /* A picture of one row that holds every value once, each as heavy as its count. */
  uint16_t *every = malloc(hist->values * sizeof *every);
  int error = every ? BF_OK : bf_no_memory(diagnostic);
  for (size_t v = 0; every && v < hist->values; v++)
    every[v] = (uint16_t)v;
  const bf_pixels picture = {
      .data = every, .type = BF_PIXEL_U16, .width = hist->values, .height = 1};
  bf_histogram_options options = {.struct_bytes = sizeof options,
                                  .bins = bins->count,
                                  .low = bins->low,
                                  .high = bins->high,
                                  .weight_type = BF_WEIGHT_F64,
                                  .threads = 1};
  for (unsigned c = 0; !error && c < hist->channels; c++) {
    options.weights = hist->channel[c].sums;
    bins->of_channel[c] = calloc(bins->count, sizeof(double));
    error = bins->of_channel[c]
                ? bf_histogram_f64(&picture, &options, bins->of_channel[c], diagnostic)
                : bf_no_memory(diagnostic);
  }
  free(every);
  return error;
}

void bf_imaging_bins_free(bf_imaging_bins *bins) {
  for (unsigned c = 0; c < BF_IMAGING_CHANNELS; c++)
    free(bins->of_channel[c]);
}
