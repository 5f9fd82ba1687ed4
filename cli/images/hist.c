/* bankfold hist: the histogram of an image. */
#include "cli/images/hist.h"
#include "cli/images/gpu_vote.h"
#include "cli/images/vote_kernels.h"
#include "cli/progress.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
  cli_common common;
  uint64_t bins, threads, width;
  const char *range, *channel, *mask, *roi, *weights, *svg, *csv, *device, *bars;
} settings;

/* ---- Options ---- */

/* Reads X,Y,W,H. Returns -1 to go on or an exit status. */
static int read_region(const char *value, bf_imaging_region *region) {
  uint64_t *const numbers[] = {&region->x, &region->y, &region->width, &region->height};
  const char *cursor = value;
  for (unsigned i = 0; i < 4; i++) {
    const bool is_good = bf_parse_number(&cursor, numbers[i]) && *numbers[i] <= UINT32_MAX &&
                         *cursor == (i < 3 ? ',' : 0);
    if (!is_good)
      return cli_usage_error(&cli_hist, "--roi takes X,Y,WIDTH,HEIGHT in pixels, not '%s'", value);
    cursor++;
  }
  return -1;
}

/* What is asked for; -1 to go on or an exit status. */
static int read_request(const settings *own, const char *image, bf_imaging_request *request) {
  if (own->threads > 1024)
    return cli_usage_error(&cli_hist, "--threads takes at most 1024");
  const char *const files[] = {image, own->mask ? own->mask : "", own->weights ? own->weights : ""};
  unsigned inputs = 0;
  for (unsigned i = 0; i < 3; i++)
    inputs += strcmp(files[i], "-") == 0;
  if (inputs > 1)
    return cli_usage_error(&cli_hist, "only one of the images can come from standard input");
  *request = (bf_imaging_request){.image = image,
                                  .mask = own->mask,
                                  .weights = own->weights,
                                  .channel = own->channel ? own->channel : "all",
                                  .has_region = own->roi != NULL,
                                  .threads = (unsigned)own->threads};
  return own->roi ? read_region(own->roi, &request->region) : -1;
}

/* Bins as asked for; what is not given stays 0. -1 to go on or an exit status. */
static int read_bins(const settings *own, bf_imaging_bins *bins) {
  if (own->bins > BF_MAX_BINS)
    return cli_usage_error(&cli_hist, "--bins takes at most %d", BF_MAX_BINS);
  bins->count = (size_t)own->bins;
  return own->range ? cli_range(&cli_hist, "range", own->range, &bins->low, &bins->high) : -1;
}

/* Sets what was not given by the values that the file can have. */
static void complete_bins(const settings *own, const bf_image_format *format,
                          bf_imaging_bins *bins) {
  const size_t values = (size_t)format->most + 1;
  if (!own->range)
    bins->high = (double)values;
  if (!own->bins)
    bins->count = values < 256 ? values : 256;
}

/* Whether --device names this one. */
static bool runs_on(const settings *own, const char *device) {
  return own->device && strcmp(own->device, device) == 0;
}

/* ---- Output ---- */

/* What was found, and where. */
typedef struct outcome {
  const bf_imaging_request *request;
  const cli_gpu *gpu; /* that counted; NULL: the CPU did */
  const bf_imaging_histogram *hist;
  const bf_imaging_bins *bins;
  const bf_corpus_vote *kernels;
  const bf_machine *machine; /* of the kernels; NULL: none ran */
} outcome;

/* Blocks where a terminal shows them. */
static bool wants_blocks(const settings *own) {
  if (own->bars && strcmp(own->bars, "auto") != 0)
    return strcmp(own->bars, "blocks") == 0;
  setlocale(LC_CTYPE, "");
  const bool is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  setlocale(LC_CTYPE, "C");
  return isatty(1) && is_utf8;
}

static int print_text(const settings *own, const outcome *found) {
  const bf_imaging_histogram *hist = found->hist;
  const bf_imaging_bins *bins = found->bins;
  const cli_gpu *gpu = found->gpu;
  bf_text text = {0};
  const bf_imaging_style style = {.columns = cli_columns(own->width),
                                  .has_blocks = wants_blocks(own)};
  bf_text_addf(
      &text, "%s: %u x %u pixels, %u channel%s of %u bits; %zu bins from %.10g to %.10g%s%s\n",
      bf_input_name(found->request->image), hist->format.width, hist->format.height,
      hist->format.channels, hist->format.channels > 1 ? "s" : "", hist->format.sample_bytes * 8,
      bins->count, bins->low, bins->high, gpu ? "; on " : "", gpu ? gpu->name : "");
  bf_imaging_draw(hist, bins, &style, &text);
  if (found->machine)
    cli_vote_draw(found->kernels, "32 copies of the bins", found->machine, &text);
  return cli_print(&text);
}

static int print_json(const outcome *found) {
  const cli_gpu *gpu = found->gpu;
  bf_text text = {0};
  bf_json json = {.text = &text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "file", found->request->image);
  bf_json_string(&json, "device", found->machine ? "emu" : gpu ? "gpu" : "cpu");
  if (gpu)
    bf_json_string(&json, "gpu", gpu->name);
  cli_hist_json(found->hist, found->bins, &json);
  if (found->machine)
    cli_vote_json(found->kernels, found->machine, &json);
  bf_json_end(&json, '}');
  return cli_print(&text);
}

/* Writes the files that are asked for. */
static int write_files(const settings *own, const outcome *found) {
  int status = CLI_OK;
  bf_text text = {0};
  bf_diagnostic diagnostic;
  if (own->svg) {
    char title[300];
    snprintf(title, sizeof title, "Histogram of %s", bf_input_name(found->request->image));
    if (bf_imaging_svg(found->hist, found->bins, title, &text, &diagnostic) != BF_OK) {
      bf_text_free(&text);
      return cli_complain(&diagnostic);
    }
    status = cli_write(own->svg, &text);
  }
  if (own->csv && status == CLI_OK) {
    cli_hist_csv(found->hist, found->bins, &text);
    status = cli_write(own->csv, &text);
  }
  return status;
}

/* Whether standard output is taken by a file. */
static bool takes_output(const char *path) { return path && strcmp(path, "-") == 0; }

static int show(const settings *own, const outcome *found) {
  int status = write_files(own, found);
  if (status != CLI_OK || takes_output(own->svg) || takes_output(own->csv))
    return status;
  return own->common.json ? print_json(found) : print_text(own, found);
}

/* ---- Running ---- */

#define MOST_EMULATED_PIXELS ((uint64_t)1 << 28)

/* Fails unless the kernels can count this. */
static int check_request(const bf_imaging_request *request, const bf_imaging_histogram *hist,
                         const bf_imaging_bins *bins, bf_diagnostic *diagnostic) {
  const bf_image_format *format = &hist->format;
  if (format->channels != 1 || format->sample_bytes != 1 ||
      bf_image_bytes(format) > MOST_EMULATED_PIXELS)
    return bf_fail_file(diagnostic, BF_UNSUPPORTED, request->image,
                        "kernels on the emulator count images of one channel of 8 bits with at "
                        "most %llu pixels",
                        (unsigned long long)MOST_EMULATED_PIXELS);
  if (request->mask || request->weights || request->has_region)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "kernels on the emulator count whole images: no --mask, --weights or --roi");
  if ((bins->count != 64 && bins->count != 256) || bins->low != 0 || bins->high != 256)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "kernels on the emulator count 64 or 256 bins from 0 to 256");
  if (strcmp(request->image, "-") == 0)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "for the emulator the image is read twice; standard input cannot be");
  return BF_OK;
}

/* Counts with the kernels, on the machine of the options, and compares. */
static int emulate(const settings *own, const bf_imaging_request *request,
                   const bf_imaging_histogram *hist, const bf_imaging_bins *bins,
                   bf_machine **machine, bf_corpus_vote kernels[BF_CORPUS_VOTES],
                   bf_diagnostic *diagnostic) {
  bf_image_format format;
  void *pixels;
  BF_TRY(cli_load_machine(&own->common, machine, diagnostic));
  BF_TRY(check_request(request, hist, bins, diagnostic));
  BF_TRY(bf_image_load(request->image, &format, &pixels, diagnostic));
  const bf_corpus_settings with = {.machine = *machine, .scale = 1, .workers = request->threads};
  int error =
      bf_corpus_vote_histogram(pixels, (uint32_t)bf_image_bytes(&format), bins->of_channel[0],
                               (unsigned)bins->count, &with, kernels, diagnostic);
  free(pixels);
  return error;
}

/* Counts, with a bar in a terminal. */
static int count_rows(bf_imaging_request *request, bf_imaging_histogram *hist,
                      bf_diagnostic *diagnostic) {
  cli_block_bar bar = cli_block_bar_begin(bf_input_name(request->image));
  bar.unit = "rows";
  cli_watch_interrupt();
  request->progress = cli_block_bar_step;
  request->context = &bar;
  int error = bf_imaging_count(request, hist, diagnostic);
  cli_block_bar_end(&bar);
  return error;
}

/* Counts, on the emulator too if asked for, and shows. */
static int count_and_show(const settings *own, const cli_gpu *gpu, bf_imaging_request *request,
                          bf_imaging_histogram *hist, bf_imaging_bins *bins) {
  bf_diagnostic diagnostic;
  bf_machine *machine = NULL;
  bf_corpus_vote kernels[BF_CORPUS_VOTES];
  if (count_rows(request, hist, &diagnostic) != BF_OK)
    return cli_complain(&diagnostic);
  complete_bins(own, &hist->format, bins);
  int error = bf_imaging_bins_fill(hist, bins, &diagnostic);
  if (!error && runs_on(own, "emu"))
    error = emulate(own, request, hist, bins, &machine, kernels, &diagnostic);
  const outcome found = {request, gpu->voter.gpu ? gpu : NULL, hist, bins, kernels, machine};
  int status = !error ? show(own, &found) : cli_complain(&diagnostic);
  bf_machine_free(machine);
  return status;
}

/* Opens the GPU if it is asked for. -1 to go on or an exit status. */
static int open_gpu(const settings *own, cli_gpu *gpu, bf_imaging_request *request) {
  bf_diagnostic diagnostic;
  if (!runs_on(own, "gpu"))
    return -1;
  if (cli_gpu_open(gpu, &diagnostic) != BF_OK)
    return cli_complain(&diagnostic);
  request->voter = &gpu->voter;
  return -1;
}

static int run(const void *given, int count, char **arguments) {
  (void)count;
  const settings *own = given;
  bf_imaging_request request;
  bf_imaging_histogram hist = {0};
  bf_imaging_bins bins = {0};
  cli_gpu gpu = {0};
  int status = read_request(own, arguments[0], &request);
  if (status < 0)
    status = read_bins(own, &bins);
  if (status < 0)
    status = open_gpu(own, &gpu, &request);
  if (status < 0)
    status = count_and_show(own, &gpu, &request, &hist, &bins);
  bf_imaging_bins_free(&bins);
  bf_imaging_histogram_free(&hist);
  cli_gpu_close(&gpu);
  return status;
}

static const cli_option options[] = {
    {"bins", CLI_NUMBER, offsetof(settings, bins), "N", NULL,
     "bins, 1 to 65536 (default 256, or as many as there are values)"},
    {"range", CLI_TEXT, offsetof(settings, range), "LOW:HIGH", NULL,
     "values from LOW to below HIGH (default all values that the file can have)"},
    {"channel", CLI_TEXT, offsetof(settings, channel), "WHICH", NULL,
     "a number from 1 on, grey, red, green, blue, alpha, or all (default)"},
    {"mask", CLI_TEXT, offsetof(settings, mask), "FILE", NULL,
     "count only where this image of the same size is not black"},
    {"roi", CLI_TEXT, offsetof(settings, roi), "X,Y,W,H", NULL,
     "count only this rectangle of W x H pixels"},
    {"weights", CLI_TEXT, offsetof(settings, weights), "FILE", NULL,
     "sum the values of this image of the same size instead of counting"},
    {"svg", CLI_TEXT, offsetof(settings, svg), "[FILE]", NULL,
     "write a picture as SVG (to standard output without FILE)"},
    {"csv", CLI_TEXT, offsetof(settings, csv), "FILE", NULL,
     "write the bins as CSV (- for standard output)"},
    {"bars", CLI_TEXT, offsetof(settings, bars), "HOW", "auto blocks plain",
     "draw with Unicode blocks (default auto: in a terminal that has them)"},
    {"width", CLI_NUMBER, offsetof(settings, width), "N", NULL,
     "characters in a line (default: the terminal's, 120 in a pipe)"},
    {"threads", CLI_NUMBER, offsetof(settings, threads), "N", NULL,
     "threads to use (default one per core)"},
    {"device", CLI_TEXT, offsetof(settings, device), "WHERE", "cpu gpu emu",
     "cpu (default); gpu: counted there; emu: the bundled kernels on the emulator too, with "
     "their wavefronts"},
    CLI_COMMON(settings),
};

const cli_command cli_hist = {
    .name = "hist",
    .summary = "the histogram of an image, with a picture",
    .arguments = "IMAGE",
    .details =
        "Counts how often values occur in a PNG, PGM or PPM image of 8 or 16 bits (- reads "
        "standard\n"
        "input), and prints a picture and the exact least, largest and mean value, the standard\n"
        "deviation and Otsu's threshold: values up to it on one side, those above on the other.\n"
        "Images are read in strips and may be larger than memory. Bins are half open; values\n"
        "outside of --range are dropped from bins, but not from the numbers.\n"
        "--device gpu loads libbankfold-vote-cuda.so, which gpu/build.sh makes: the file that\n"
        "BANKFOLD_VOTE_CUDA names, or one beside the program or installed with it.",
    .examples = "bankfold hist photo.png --svg photo.svg           # a picture of all channels\n"
                "bankfold hist scan.pgm --bins 4096 --csv scan.csv # 12-bit data, every value\n"
                "bankfold hist photo.png --channel grey --roi 100,50,640,480\n"
                "bankfold hist photo.png --mask sky.png --range 128:256 --bins 16\n"
                "bankfold hist grey.png --device emu               # bank conflicts on this image\n"
                "bankfold hist photo.png --device gpu              # counted by the GPU\n"
                "zstd -dc huge.pgm.zst | bankfold hist - --json",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run,
};
