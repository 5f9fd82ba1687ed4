/* bankfold hist: the histogram of an image. */
#include "cli/images/hist.h"

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
static int read_region(const char *value, cli_region *region) {
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
static int read_request(const settings *own, const char *image, cli_hist_request *request) {
  if (own->threads > 1024)
    return cli_usage_error(&cli_hist, "--threads takes at most 1024");
  const char *const files[] = {image, own->mask ? own->mask : "", own->weights ? own->weights : ""};
  unsigned inputs = 0;
  for (unsigned i = 0; i < 3; i++)
    inputs += strcmp(files[i], "-") == 0;
  if (inputs > 1)
    return cli_usage_error(&cli_hist, "only one of the images can come from standard input");
  *request = (cli_hist_request){.image = image,
                                .mask = own->mask,
                                .weights = own->weights,
                                .channel = own->channel ? own->channel : "all",
                                .has_region = own->roi != NULL,
                                .threads = (unsigned)own->threads};
  return own->roi ? read_region(own->roi, &request->region) : -1;
}

/* Bins as asked for; what is not given stays 0. -1 to go on or an exit status. */
static int read_bins(const settings *own, cli_bins *bins) {
  if (own->bins > BF_MAX_BINS)
    return cli_usage_error(&cli_hist, "--bins takes at most %d", BF_MAX_BINS);
  bins->count = (size_t)own->bins;
  return own->range ? cli_range(&cli_hist, "range", own->range, &bins->low, &bins->high) : -1;
}

/* Sets what was not given by the values that the file can have. */
static void complete_bins(const settings *own, const bf_image_format *format, cli_bins *bins) {
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
  const cli_hist_request *request;
  const cli_histogram *hist;
  const cli_bins *bins;
  const cli_vote_kernel *kernels;
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
  const cli_histogram *hist = found->hist;
  const cli_bins *bins = found->bins;
  const cli_gpu *gpu = found->request->gpu;
  bf_text text = {0};
  const cli_hist_style style = {.columns = cli_columns(own->width),
                                .has_blocks = wants_blocks(own)};
  bf_text_addf(
      &text, "%s: %u x %u pixels, %u channel%s of %u bits; %zu bins from %.10g to %.10g%s%s\n",
      cli_input_name(found->request->image), hist->format.width, hist->format.height,
      hist->format.channels, hist->format.channels > 1 ? "s" : "", hist->format.sample_bytes * 8,
      bins->count, bins->low, bins->high, gpu ? "; on " : "", gpu ? gpu->name : "");
  cli_hist_draw(hist, bins, &style, &text);
  if (found->machine)
    cli_vote_draw(found->kernels, "32 copies of the bins", found->machine, &text);
  return cli_print(&text);
}

static int print_json(const outcome *found) {
  const cli_gpu *gpu = found->request->gpu;
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
    snprintf(title, sizeof title, "Histogram of %s", cli_input_name(found->request->image));
    if (cli_hist_svg(found->hist, found->bins, title, &text, &diagnostic) != BF_OK) {
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

/* Counts, on the emulator too if asked for, and shows. */
static int count_and_show(const settings *own, const cli_hist_request *request, cli_histogram *hist,
                          cli_bins *bins) {
  bf_diagnostic diagnostic;
  bf_machine *machine = NULL;
  cli_vote_kernel kernels[CLI_VOTE_KERNELS];
  if (cli_hist_count(request, hist, &diagnostic) != BF_OK)
    return cli_complain(&diagnostic);
  complete_bins(own, &hist->format, bins);
  int error = cli_bins_fill(hist, bins, &diagnostic);
  if (!error && runs_on(own, "emu")) {
    error = cli_load_machine(&own->common, &machine, &diagnostic);
    if (!error)
      error = cli_hist_emulate(request, hist, bins, machine, kernels, &diagnostic);
  }
  const outcome found = {request, hist, bins, kernels, machine};
  int status = !error ? show(own, &found) : cli_complain(&diagnostic);
  bf_machine_free(machine);
  return status;
}

/* Opens the GPU if it is asked for. -1 to go on or an exit status. */
static int open_gpu(const settings *own, cli_gpu *gpu, cli_hist_request *request) {
  bf_diagnostic diagnostic;
  if (!runs_on(own, "gpu"))
    return -1;
  if (cli_gpu_open(gpu, &diagnostic) != BF_OK)
    return cli_complain(&diagnostic);
  request->gpu = gpu;
  return -1;
}

static int run(const void *given, int count, char **arguments) {
  (void)count;
  const settings *own = given;
  cli_hist_request request;
  cli_histogram hist = {0};
  cli_bins bins = {0};
  cli_gpu gpu = {0};
  int status = read_request(own, arguments[0], &request);
  if (status < 0)
    status = read_bins(own, &bins);
  if (status < 0)
    status = open_gpu(own, &gpu, &request);
  if (status < 0)
    status = count_and_show(own, &request, &hist, &bins);
  cli_bins_free(&bins);
  cli_hist_free(&hist);
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
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .settings_size = sizeof(settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run,
};
