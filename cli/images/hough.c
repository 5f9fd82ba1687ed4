/* bankfold hough: the lines in an image. */
#include "cli/images/gpu_vote.h"
#include "cli/images/vote_kernels.h"
#include "imaging/lines.h"
#include "vote/vote.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
  cli_common common;
  double theta_step, rho_step, theta_apart, rho_apart;
  uint64_t threshold, lines, threads;
  bool weighted;
  const char *form, *theta, *edges, *svg, *space, *device;
} settings;

enum { MOST_LINES = 10 };
static const double apart_degrees = 5, apart_pixels = 5;

static double radians(double degrees) { return degrees * acos(-1) / 180; }
static double degrees(double radian) { return radian * 180 / acos(-1); }

/* ---- Options ---- */

/* Options for the library; -1 to go on or an exit status. */
static int read_options(const settings *own, bf_hough_options *options) {
  *options = (bf_hough_options){.struct_bytes = sizeof(bf_hough_options),
                                .theta_step = radians(own->theta_step),
                                .rho_step = own->rho_step,
                                .weighted = own->weighted,
                                .threads = (unsigned)own->threads};
  if (own->threads > 1024)
    return cli_usage_error(&cli_hough, "--threads takes at most 1024");
  if (own->threshold > UINT32_MAX)
    return cli_usage_error(&cli_hough, "--threshold takes at most %u", UINT32_MAX);
  if (own->form && strcmp(own->form, "cartesian") == 0)
    options->form = BF_HOUGH_CARTESIAN;
  if (!own->theta)
    return -1;
  int status =
      cli_range(&cli_hough, "theta", own->theta, &options->theta_low, &options->theta_high);
  options->theta_low = radians(options->theta_low);
  options->theta_high = radians(options->theta_high);
  return status;
}

/* As many bins as lines must be apart, at least one. */
static unsigned radius(double apart, double otherwise, double step) {
  const double bins = round((apart > 0 ? apart : otherwise) / (step > 0 ? step : 1));
  return bins < 1 ? 1 : bins > 65536 ? 65536 : (unsigned)bins;
}

/* Lines are those with votes of a third of the shorter side, unless a threshold is given. */
static bf_peak_options peak_options(const settings *own, const bf_image_format *format) {
  const uint32_t shorter = format->width < format->height ? format->width : format->height;
  const uint32_t usual = own->weighted || shorter < 6 ? 2 : shorter / 3;
  return (bf_peak_options){
      .struct_bytes = sizeof(bf_peak_options),
      .min_votes = own->threshold ? (uint32_t)own->threshold : usual,
      .theta_radius = radius(own->theta_apart, apart_degrees, own->theta_step),
      .rho_radius = radius(own->rho_apart, apart_pixels, own->rho_step),
      .max_lines = own->lines ? (size_t)own->lines : MOST_LINES,
  };
}

/* Whether --device names this one. */
static bool runs_on(const settings *own, const char *device) {
  return own->device && strcmp(own->device, device) == 0;
}

/* ---- Output ---- */

/* Where it ran: the GPU, where one is open, and what kernels did on the emulator; no machine: none
 * ran. */
typedef struct emulation {
  cli_gpu gpu;
  bf_machine *machine;
  bf_corpus_vote kernels[BF_CORPUS_VOTES];
} emulation;

static int print_text(const char *image, const bf_imaging_lines *hough, const emulation *emulated) {
  const bf_hough_space *space = &hough->found.space;
  const bf_peaks *lines = &hough->found.lines;
  bf_text text = {0};
  bf_text_addf(&text, "%s: %u x %u pixels, ", bf_input_name(image), hough->format.width,
               hough->format.height);
  bf_text_addf(&text, "%llu of them edges", (unsigned long long)space->points);
  if (!hough->is_given)
    bf_text_addf(&text, " (above %u of 255)", hough->found.threshold);
  bf_text_addf(&text, "; votes for %zu angles and %zu distances%s%s\n\n", space->angles,
               space->rhos, emulated->gpu.name ? "; on " : "",
               emulated->gpu.name ? emulated->gpu.name : "");
  if (lines->count == 0)
    bf_text_puts(&text, "no lines: none has as many votes as --threshold asks for\n");
  else
    bf_text_addf(&text, "%4s %9s %9s %9s   %-18s %s\n", "line", "votes", "theta", "rho", "from",
                 "to");
  for (size_t i = 0; i < lines->count; i++) {
    const bf_peak *peak = &lines->peak[i];
    double end[4];
    bf_text_addf(&text, "%4zu %9u %9.2f %9.1f", i + 1, peak->votes, degrees(peak->theta),
                 peak->rho);
    if (bf_peak_clip(peak, hough->format.width, hough->format.height, end)) {
      char from[48];
      snprintf(from, sizeof from, "%.1f, %.1f", end[0], end[1]);
      bf_text_addf(&text, "   %-18s %.1f, %.1f", from, end[2], end[3]);
    }
    bf_text_puts(&text, "\n");
  }
  if (emulated->machine)
    cli_vote_draw(emulated->kernels, "8 copies of a line of votes", emulated->machine, &text);
  return cli_print(&text);
}

static void write_space(const bf_hough_space *space, bf_json *json) {
  bf_json_begin(json, "space", '{', false);
  bf_json_string(json, "form", space->form == BF_HOUGH_POLAR ? "polar" : "cartesian");
  bf_json_number(json, "angles", space->angles);
  bf_json_number(json, "rhos", space->rhos);
  bf_json_real(json, "theta_low_degrees", degrees(space->theta_low));
  bf_json_real(json, "theta_step_degrees", degrees(space->theta_step));
  bf_json_real(json, "rho_step", space->rho_step);
  bf_json_end(json, '}');
}

static void write_line(const bf_imaging_lines *hough, const bf_peak *peak, bf_json *json) {
  double end[4];
  bf_json_begin(json, NULL, '{', false);
  bf_json_number(json, "votes", peak->votes);
  bf_json_real(json, "theta_degrees", degrees(peak->theta));
  bf_json_real(json, "rho", peak->rho);
  if (bf_peak_clip(peak, hough->format.width, hough->format.height, end)) {
    bf_json_begin(json, "ends", '[', true);
    for (unsigned i = 0; i < 4; i++)
      bf_json_real(json, NULL, end[i]);
    bf_json_end(json, ']');
  } else {
    bf_json_string(json, "ends", NULL);
  }
  bf_json_end(json, '}');
}

static int print_json(const char *image, const bf_imaging_lines *hough, const emulation *emulated) {
  bf_text text = {0};
  bf_json json = {.text = &text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "file", image);
  bf_json_string(&json, "device", emulated->machine ? "emu" : emulated->gpu.name ? "gpu" : "cpu");
  if (emulated->gpu.name)
    bf_json_string(&json, "gpu", emulated->gpu.name);
  bf_json_number(&json, "width", hough->format.width);
  bf_json_number(&json, "height", hough->format.height);
  bf_json_number(&json, "edges", hough->found.space.points);
  if (hough->is_given)
    bf_json_string(&json, "edge_threshold", NULL);
  else
    bf_json_number(&json, "edge_threshold", hough->found.threshold);
  write_space(&hough->found.space, &json);
  bf_json_begin(&json, "lines", '[', false);
  for (size_t i = 0; i < hough->found.lines.count; i++)
    write_line(hough, &hough->found.lines.peak[i], &json);
  bf_json_end(&json, ']');
  if (emulated->machine)
    cli_vote_json(emulated->kernels, emulated->machine, &json);
  bf_json_end(&json, '}');
  return cli_print(&text);
}

/* Writes the pictures that are asked for. */
static int write_pictures(const settings *own, const char *image, const bf_imaging_lines *hough) {
  bf_diagnostic diagnostic;
  if (own->space) {
    bf_image_format format;
    uint8_t *pixels;
    int error = bf_imaging_space_picture(&hough->found.space, &format, &pixels, &diagnostic);
    if (!error)
      error = bf_image_write(own->space, &format, pixels, &diagnostic);
    free(pixels);
    if (error)
      return cli_complain(&diagnostic);
  }
  if (!own->svg)
    return CLI_OK;
  bf_text text = {0};
  if (bf_imaging_lines_svg(hough, bf_input_name(image), &text, &diagnostic) != BF_OK) {
    bf_text_free(&text);
    return cli_complain(&diagnostic);
  }
  return cli_write(own->svg, &text);
}

/* Whether standard output is taken by a file. */
static bool takes_output(const char *path) { return path && strcmp(path, "-") == 0; }

/* Votes with the kernels too, on the machine. */
static int emulate(const settings *own, const bf_imaging_lines *hough, emulation *emulated,
                   bf_diagnostic *diagnostic) {
  const bf_corpus_settings with = {
      .machine = emulated->machine, .scale = 1, .workers = (unsigned)own->threads};
  if (hough->found.space.form != BF_HOUGH_POLAR || own->weighted)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "kernels on the emulator vote for lines in polar form, without --weighted");
  return bf_corpus_vote_hough(&hough->found.space, hough->edges ? hough->edges : hough->found.edges,
                              hough->format.width, hough->format.height, &with, emulated->kernels,
                              diagnostic);
}

/* Reads the image and finds its lines, where --device says. */
static int find_lines_of(const settings *own, const char *image, const bf_hough_options *options,
                         bf_imaging_lines *hough, emulation *emulated, bf_diagnostic *diagnostic) {
  if (runs_on(own, "gpu"))
    BF_TRY(cli_gpu_open(&emulated->gpu, diagnostic));
  hough->voter = runs_on(own, "gpu") ? &emulated->gpu.voter : NULL;
  if (runs_on(own, "emu"))
    BF_TRY(cli_load_machine(&own->common, &emulated->machine, diagnostic));
  BF_TRY(bf_image_load(image, &hough->format, &hough->pixels, diagnostic));
  const bf_peak_options peaks = peak_options(own, &hough->format);
  BF_TRY(bf_imaging_find_lines(hough, options, &peaks, diagnostic));
  return emulated->machine ? emulate(own, hough, emulated, diagnostic) : BF_OK;
}

static int run(const void *given, int count, char **arguments) {
  (void)count;
  const settings *own = given;
  const char *image = arguments[0];
  bf_imaging_lines hough = {.is_given = own->edges && strcmp(own->edges, "given") == 0};
  emulation emulated = {0};
  bf_hough_options options;
  bf_diagnostic diagnostic;
  int status = read_options(own, &options);
  if (status >= 0)
    return status;
  int error = find_lines_of(own, image, &options, &hough, &emulated, &diagnostic);
  status = !error ? write_pictures(own, image, &hough) : cli_complain(&diagnostic);
  if (status == CLI_OK && !takes_output(own->svg) && !takes_output(own->space))
    status = own->common.json ? print_json(image, &hough, &emulated)
                              : print_text(image, &hough, &emulated);
  bf_imaging_lines_clear(&hough);
  bf_machine_free(emulated.machine);
  cli_gpu_close(&emulated.gpu);
  return status;
}

static const cli_option options_table[] = {
    {"theta-step", CLI_REAL, offsetof(settings, theta_step), "DEGREES", NULL,
     "between angles (default 1)"},
    {"rho-step", CLI_REAL, offsetof(settings, rho_step), "PIXELS", NULL,
     "between distances (default 1)"},
    {"theta", CLI_TEXT, offsetof(settings, theta), "LOW:HIGH", NULL,
     "angles in degrees, HIGH not included (default all)"},
    {"form", CLI_TEXT, offsetof(settings, form), "FORM", "polar cartesian",
     "how lines are described (default polar: x cos(theta) + y sin(theta) = rho)"},
    {"threshold", CLI_NUMBER, offsetof(settings, threshold), "N", NULL,
     "votes that a line needs (default a third of the shorter side)"},
    {"lines", CLI_NUMBER, offsetof(settings, lines), "N", NULL, "lines at most (default 10)"},
    {"theta-apart", CLI_REAL, offsetof(settings, theta_apart), "DEGREES", NULL,
     "lines closer than this in both are one (default 5)"},
    {"rho-apart", CLI_REAL, offsetof(settings, rho_apart), "PIXELS", NULL,
     "lines closer than this in both are one (default 5)"},
    {"edges", CLI_TEXT, offsetof(settings, edges), "HOW", "sobel given",
     "sobel (default) finds them; given: all pixels that are not black are edges"},
    {"weighted", CLI_FLAG, offsetof(settings, weighted), NULL, NULL,
     "an edge votes with its strength instead of 1"},
    {"svg", CLI_TEXT, offsetof(settings, svg), "[FILE]", NULL,
     "write the image with its lines and the Hough space (to standard output without FILE)"},
    {"space", CLI_TEXT, offsetof(settings, space), "FILE", NULL,
     "write the Hough space as PNG or, by its name, PGM (- for standard output)"},
    {"threads", CLI_NUMBER, offsetof(settings, threads), "N", NULL,
     "threads to use (default one per core)"},
    {"device", CLI_TEXT, offsetof(settings, device), "WHERE", "cpu gpu emu",
     "cpu (default); gpu: votes there; emu: the bundled kernels on the emulator too, with "
     "their wavefronts"},
    CLI_COMMON(settings),
};

const cli_command cli_hough = {
    .name = "hough",
    .summary = "the lines in an image, by the Hough transform",
    .arguments = "IMAGE",
    .details =
        "Finds edges of a PNG, PGM or PPM image (- reads standard input) with Sobel's operator\n"
        "and Otsu's threshold, lets every edge pixel vote for the lines through it, and prints\n"
        "those with most votes: theta in degrees, rho in pixels, and where the line enters and\n"
        "leaves the image. A line has more votes than all others close to it.\n"
        "--device gpu votes on the GPU (edges and peaks are found on the CPU). It loads\n"
        "libbankfold-vote-cuda.so, which gpu/build.sh makes: the file that BANKFOLD_VOTE_CUDA\n"
        "names, or one beside the program or installed with it.",
    .examples = "bankfold hough photo.png --svg lines.svg         # lines drawn over the image\n"
                "bankfold hough edges.pgm --edges given --lines 3 # edges found elsewhere\n"
                "bankfold hough photo.png --theta 80:100 --theta-step 0.25 --threshold 200\n"
                "bankfold hough photo.png --space space.png --json\n"
                "bankfold hough photo.png --device gpu            # votes on the GPU\n"
                "bankfold hough photo.png --device emu            # bank conflicts of these votes",
    CLI_OPTIONS(options_table, settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run,
};
