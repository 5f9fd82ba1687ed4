/* Pictures of lines and of Hough spaces. Bitmaps go into the SVG document as PNG in base64. */
#include "imaging/lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lengths in user units (pixels at natural size). */
enum {
  MARGIN = 20,
  HEAD = 40,
  SIDE = 480,        /* the longer side of the image */
  LEAST_WIDTH = 360, /* beside the Hough space, for the title */
  SPACE_WIDTH = 360, /* of the Hough space */
  GAP = 60,          /* between both, for labels */
  FOOT = 44,
};

static const char *const style =
    ".paper{fill:#ffffff}.ink{fill:#1f2328}.dim{fill:#656d76}"
    "text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-size:12px}"
    ".head{font-size:15px;font-weight:600}"
    ".line{stroke:#ff4d4f;stroke-width:2;vector-effect:non-scaling-stroke}"
    ".peak{fill:none;stroke:#ff4d4f;stroke-width:2}"
    ".number{fill:#ffffff;stroke:#a8071a;stroke-width:3;paint-order:stroke;font-weight:600}"
    "@media (prefers-color-scheme:dark){"
    ".paper{fill:#0d1117}.ink{fill:#e6edf3}.dim{fill:#8d96a0}}\n";

int bf_imaging_space_picture(const bf_hough_space *space, bf_image_format *format, uint8_t **pixels,
                             bf_diagnostic *diagnostic) {
  const size_t cells = space->angles * space->rhos;
  *format = (bf_image_format){(uint32_t)space->angles, (uint32_t)space->rhos, 1, 1, 255};
  *pixels = malloc(cells);
  if (!*pixels)
    return bf_no_memory(diagnostic);
  uint32_t most = 1;
  for (size_t i = 0; i < cells; i++)
    most = space->votes[i] > most ? space->votes[i] : most;
  for (size_t angle = 0; angle < space->angles; angle++)
    for (size_t bin = 0; bin < space->rhos; bin++)
      (*pixels)[bin * space->angles + angle] =
          (uint8_t)lround(255 * sqrt((double)space->votes[angle * space->rhos + bin] / most));
  return BF_OK;
}

/* ---- Bitmaps ---- */

static void add_base64(const uint8_t *bytes, size_t size, bf_text *text) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < size; i += 3) {
    const size_t left = size - i;
    const uint32_t three = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                           (left > 2 ? bytes[i + 2] : 0);
    const char four[] = {digits[three >> 18], digits[three >> 12 & 63],
                         left > 1 ? digits[three >> 6 & 63] : '=',
                         left > 2 ? digits[three & 63] : '='};
    bf_text_add(text, four, sizeof four);
  }
}

/* A bitmap that fills a rectangle. */
static int add_bitmap(const bf_image_format *format, const void *pixels, double x, double y,
                      double width, double height, bf_text *text, bf_diagnostic *diagnostic) {
  bf_text png = {0};
  int error = bf_image_encode_png(format, pixels, &png, diagnostic);
  if (!error) {
    bf_text_addf(text,
                 "<image x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                 "preserveAspectRatio=\"none\" href=\"data:image/png;base64,",
                 x, y, width, height);
    add_base64((const uint8_t *)png.data, png.size, text);
    bf_text_puts(text, "\"/>\n");
  }
  bf_text_free(&png);
  return error;
}

/* The image in 8 bits per sample. */
static int add_image(const bf_imaging_lines *hough, double scale, bf_text *text,
                     bf_diagnostic *diagnostic) {
  bf_image_format narrow = hough->format;
  const size_t samples = (size_t)(bf_image_bytes(&narrow) / narrow.sample_bytes);
  uint8_t *bytes = malloc(samples);
  if (!bytes)
    return bf_no_memory(diagnostic);
  bf_image_to_bytes(&hough->format, hough->pixels, samples, bytes);
  narrow.sample_bytes = 1;
  narrow.most = 255;
  int error = add_bitmap(&narrow, bytes, MARGIN, HEAD, narrow.width * scale, narrow.height * scale,
                         text, diagnostic);
  free(bytes);
  return error;
}

/* ---- Lines and peaks ---- */

static double degrees(double radians) { return radians * 180 / acos(-1); }

/* The lines over the image; pixel centres are half a pixel from its border. */
static void add_lines(const bf_imaging_lines *hough, double scale, bf_text *text) {
  const bf_peaks *lines = &hough->found.lines;
  for (size_t i = 0; i < lines->count; i++) {
    const bf_peak *peak = &lines->peak[i];
    double end[4];
    if (!bf_peak_clip(peak, hough->format.width, hough->format.height, end))
      continue;
    for (unsigned k = 0; k < 4; k++)
      end[k] = (k % 2 ? HEAD : MARGIN) + (end[k] + 0.5) * scale;
    bf_text_addf(text,
                 "<path d=\"M%.1f %.1fL%.1f %.1f\" class=\"line\"><title>line %zu: %u votes, theta "
                 "%.4g degrees, rho %.6g</title></path>\n",
                 end[0], end[1], end[2], end[3], i + 1, peak->votes, degrees(peak->theta),
                 peak->rho);
    /* Numbers at different places, so that those of lines that cross stay apart. */
    const double share = 0.2 + 0.15 * (double)(i % 5);
    bf_text_addf(text, "<text x=\"%.1f\" y=\"%.1f\" class=\"number\">%zu</text>\n",
                 end[0] + share * (end[2] - end[0]) + 4, end[1] + share * (end[3] - end[1]) - 4,
                 i + 1);
  }
}

static void add_label(double x, double y, const char *anchor, const char *label, bf_text *text) {
  bf_text_addf(text, "<text x=\"%.1f\" y=\"%.1f\" class=\"dim\" text-anchor=\"%s\">%s</text>\n", x,
               y, anchor, label);
}

/* The Hough space at x, with its ends and a circle at every line. */
static int add_space(const bf_imaging_lines *hough, double x, double height, bf_text *text,
                     bf_diagnostic *diagnostic) {
  const bf_hough_space *space = &hough->found.space;
  bf_image_format format;
  uint8_t *pixels;
  BF_TRY(bf_imaging_space_picture(space, &format, &pixels, diagnostic));
  int error = add_bitmap(&format, pixels, x, HEAD, SPACE_WIDTH, height, text, diagnostic);
  free(pixels);
  char label[64];
  snprintf(label, sizeof label, "%.4g", degrees(space->theta_low));
  add_label(x, HEAD + height + 16, "start", label, text);
  add_label(x + SPACE_WIDTH / 2.0, HEAD + height + 16, "middle", "theta in degrees", text);
  snprintf(label, sizeof label, "%.4g",
           degrees(space->theta_low + (double)space->angles * space->theta_step));
  add_label(x + SPACE_WIDTH, HEAD + height + 16, "end", label, text);
  snprintf(label, sizeof label, "%.4g", -(double)space->rho_zero * space->rho_step);
  add_label(x - 6, HEAD + 10, "end", label, text);
  add_label(x - 6, HEAD + height / 2, "end", "rho", text);
  snprintf(label, sizeof label, "%.4g",
           ((double)space->rhos - (double)space->rho_zero) * space->rho_step);
  add_label(x - 6, HEAD + height, "end", label, text);
  for (size_t i = 0; i < hough->found.lines.count; i++) {
    const bf_peak *peak = &hough->found.lines.peak[i];
    bf_text_addf(text, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" class=\"peak\"/>\n",
                 x + ((double)peak->angle + 0.5) / (double)space->angles * SPACE_WIDTH,
                 HEAD + ((double)peak->bin + 0.5) / (double)space->rhos * height);
  }
  return error;
}

/* The end of a name, as much as fits above the image. */
static void add_name(const char *name, bf_text *text) {
  enum { MOST = 36 };
  const size_t length = strlen(name);
  size_t from = length > MOST ? length - MOST : 0;
  while (from > 0 && ((unsigned char)name[from] & 0xc0) == 0x80)
    from++; /* not in the middle of a character */
  if (from > 0)
    bf_text_puts(text, "...");
  bf_markup_escape(name + from, text);
}

int bf_imaging_lines_svg(const bf_imaging_lines *hough, const char *name, bf_text *text,
                         bf_diagnostic *diagnostic) {
  const bf_image_format *format = &hough->format;
  const double longer = fmax(format->width, format->height), scale = SIDE / longer;
  const double space_x = MARGIN + fmax(format->width * scale, LEAST_WIDTH) + GAP;
  const double space_height = fmax(format->height * scale, SIDE / 2.0);
  const double width = space_x + SPACE_WIDTH + MARGIN, height = HEAD + space_height + FOOT;
  bf_text_addf(text,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
               "viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<title>Lines in ",
               width, height, width, height);
  bf_markup_escape(name, text);
  bf_text_addf(text, "</title>\n<style>%s</style>\n", style);
  bf_text_addf(text, "<rect width=\"%.0f\" height=\"%.0f\" class=\"paper\"/>\n", width, height);
  bf_text_addf(text, "<text x=\"%d\" y=\"24\" class=\"ink head\">%zu line%s in ", MARGIN,
               hough->found.lines.count, hough->found.lines.count == 1 ? "" : "s");
  add_name(name, text);
  bf_text_addf(text, "</text>\n<text x=\"%.1f\" y=\"24\" class=\"ink head\">Hough space</text>\n",
               space_x);
  BF_TRY(add_image(hough, scale, text, diagnostic));
  add_lines(hough, scale, text);
  BF_TRY(add_space(hough, space_x, space_height, text, diagnostic));
  bf_text_puts(text, "</svg>\n");
  return text->failed ? bf_no_memory(diagnostic) : BF_OK;
}
