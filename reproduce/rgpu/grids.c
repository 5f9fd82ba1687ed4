/* NW, PATH and STENCIL. */
#include "reproduce/rgpu/bench.h"

#include <stdlib.h>
#include <string.h>

static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

/* ---- NW: similarities of the graph have twice the penalty added, scores penalty * (x + y) ---- */

/* The matrix of the kernel before it runs: row 0 and column 0. */
static void fill_border(int32_t *scores, uint64_t width, uint64_t height, int32_t penalty) {
  for (uint64_t x = 0; x <= width; x++)
    scores[x] = -penalty * (int32_t)x;
  for (uint64_t y = 0; y <= height; y++)
    scores[y * (width + 1)] = -penalty * (int32_t)y;
}

/* All antidiagonals of tiles. */
static int launch_tiles(const bf_device *device, uint32_t tile, uint64_t scores, uint64_t pairs,
                        uint32_t width, uint32_t height, int32_t penalty,
                        bf_diagnostic *diagnostic) {
  uint32_t columns = width / tile, rows = height / tile;
  for (uint32_t diagonal = 0; diagonal < columns + rows - 1; diagonal++) {
    uint32_t first = diagonal < rows ? 0 : diagonal - rows + 1;
    uint32_t last = diagonal < columns ? diagonal : columns - 1;
    BF_TRY(BF_CORPUS_LAUNCH(device, "nw", last - first + 1, 1, tile, 1, diagnostic, &scores, &pairs,
                            &width, &penalty, &diagonal, &first));
  }
  return BF_OK;
}

/* Scores of the kernel as the graph has them. */
static void shift_scores(const int32_t *scores, uint64_t width, uint64_t height, int32_t penalty,
                         int32_t *shifted) {
  for (uint64_t y = 1; y <= height; y++)
    for (uint64_t x = 1; x <= width; x++)
      shifted[y * width + x - 1] = scores[y * (width + 1) + x] + penalty * (int32_t)(x + y);
}

static int launch_nw(const rgpu_data *data, const rgpu_data *result, const bf_device *device,
                     rgpu_kernel kernel, bf_diagnostic *diagnostic) {
  uint32_t tile = kernel == RGPU_PLAIN ? 16 : 32;
  uint32_t width = (uint32_t)rgpu_parameter(data, "width");
  uint32_t height = (uint32_t)rgpu_parameter(data, "height");
  int32_t penalty = (int32_t)rgpu_parameter(data, "penalty");
  const int32_t *shifted = rgpu_array(data, "similarity");
  uint64_t cells = (uint64_t)width * height, places = (uint64_t)(width + 1) * (height + 1);
  int32_t *pairs = malloc(cells * sizeof *pairs), *scores = calloc(places, sizeof *scores);
  uint64_t pairs_there, scores_there;
  int error = pairs && scores ? BF_OK : bf_no_memory(diagnostic);
  for (uint64_t i = 0; !error && i < cells; i++)
    pairs[i] = shifted[i] - 2 * penalty;
  if (!error) {
    fill_border(scores, width, height, penalty);
    error = bf_corpus_upload(device, pairs, cells * sizeof *pairs, &pairs_there, diagnostic);
  }
  if (!error)
    error = bf_corpus_upload(device, scores, places * sizeof *scores, &scores_there, diagnostic);
  if (!error)
    error =
        launch_tiles(device, tile, scores_there, pairs_there, width, height, penalty, diagnostic);
  if (!error)
    error =
        device->read(device->context, scores_there, scores, places * sizeof *scores, diagnostic);
  if (!error)
    shift_scores(scores, width, height, penalty, rgpu_array(result, "scores"));
  free(pairs);
  free(scores);
  return error;
}

/* The recurrence as it is published, with penalties, row by row. */
static int check_nw(const rgpu_data *before, const rgpu_data *after, bf_corpus_outcome *outcome,
                    bf_diagnostic *diagnostic) {
  uint64_t width = (uint64_t)rgpu_parameter(before, "width");
  uint64_t height = (uint64_t)rgpu_parameter(before, "height");
  int32_t penalty = (int32_t)rgpu_parameter(before, "penalty");
  const int32_t *similarity = rgpu_array(before, "similarity");
  const uint32_t *scores = rgpu_array(after, "scores");
  int32_t *row = malloc((width + 1) * sizeof *row);
  uint32_t *reference = malloc(width * sizeof *reference);
  for (uint64_t x = 0; row && x <= width; x++)
    row[x] = -penalty * (int32_t)x;
  for (uint64_t y = 1; row && reference && y <= height; y++) {
    int32_t northwest = row[0];
    row[0] = -penalty * (int32_t)y;
    for (uint64_t x = 1; x <= width; x++) {
      int32_t pair = similarity[(y - 1) * width + x - 1] - 2 * penalty, north = row[x];
      row[x] = larger(northwest + pair, larger(north, row[x - 1]) - penalty);
      northwest = north;
      reference[x - 1] = (uint32_t)(row[x] + penalty * (int32_t)(x + y));
    }
    bf_corpus_compare_u32(scores + y * width, reference, width, outcome);
  }
  int error = row && reference ? BF_OK : bf_no_memory(diagnostic);
  free(row);
  free(reference);
  return error;
}

const rgpu_benchmark rgpu_nw = {.name = "nw",
                                .title = "Needleman-Wunsch",
                                .copies = 1,
                                .lanes = 3,
                                .speedup = 11.5,
                                .why = "of the cycles of the graph 131072 follow from its "
                                       "recurrence, as for INTEGR; the kernel here has tiles of 32 "
                                       "x 32 cells without barriers, where that of Rodinia has "
                                       "16 x 16.",
                                .why_plain = "the plain kernel waits at a barrier for each of 31 "
                                             "antidiagonals of a tile, with 16 of 32 lanes; the "
                                             "published one is tuned for its simulator.",
                                .quick = {"height=64", "width=256"},
                                .prefers_shared = true,
                                .launch = launch_nw,
                                .check = check_nw};

/* ---- PATH ---- */

static const int32_t PATH_OUTSIDE = 1000000;

/* Columns beside the wall cost too much to be used. */
static void prepare_path(const rgpu_data *data) {
  uint64_t columns = (uint64_t)rgpu_parameter(data, "columns");
  uint64_t margin = (uint64_t)rgpu_parameter(data, "margin");
  uint64_t rows = (uint64_t)rgpu_parameter(data, "rows"), pitch = columns + 2 * margin;
  int32_t *wall = rgpu_array(data, "wall");
  int32_t *cost[2] = {rgpu_array(data, "cost0"), rgpu_array(data, "cost1")};
  for (uint64_t x = 0; x < pitch; x++) {
    if (x >= margin && x < margin + columns)
      continue;
    for (uint64_t y = 0; y < rows; y++)
      wall[y * pitch + x] = PATH_OUTSIDE;
    cost[0][x] = cost[1][x] = PATH_OUTSIDE;
  }
}

/* The array in which the costs of the last row end up. */
static const char *last_cost(const rgpu_data *data) {
  return rgpu_parameter(data, "rows") / rgpu_parameter(data, "at_once") % 2 ? "cost1" : "cost0";
}

/* The wall without its margins, row by row. */
static int upload_wall(const rgpu_data *data, const bf_device *device, uint64_t *wall,
                       bf_diagnostic *diagnostic) {
  uint64_t columns = (uint64_t)rgpu_parameter(data, "columns");
  uint64_t margin = (uint64_t)rgpu_parameter(data, "margin");
  uint64_t rows = (uint64_t)rgpu_parameter(data, "rows");
  const int32_t *from = rgpu_array(data, "wall");
  BF_TRY(bf_corpus_upload(device, NULL, rows * columns * sizeof *from, wall, diagnostic));
  for (uint64_t y = 0; y < rows; y++)
    BF_TRY(device->write(device->context, *wall + y * columns * sizeof *from,
                         from + y * (columns + 2 * margin) + margin, columns * sizeof *from,
                         diagnostic));
  return BF_OK;
}

static int launch_path(const rgpu_data *data, const rgpu_data *result, const bf_device *device,
                       rgpu_kernel kernel, bf_diagnostic *diagnostic) {
  enum { THREADS = 256, ROWS = 20 };
  uint32_t columns = (uint32_t)rgpu_parameter(data, "columns");
  uint32_t rows = (uint32_t)rgpu_parameter(data, "rows"), inside = THREADS - 2 * ROWS;
  uint64_t margin = (uint64_t)rgpu_parameter(data, "margin"), bytes = columns * sizeof(int32_t);
  uint64_t wall, cost[2];
  int32_t *first = rgpu_array(data, "cost0"), *last = rgpu_array(result, last_cost(data));
  (void)kernel; /* both have the same grid */
  BF_TRY(upload_wall(data, device, &wall, diagnostic));
  BF_TRY(bf_corpus_upload(device, first + margin, bytes, &cost[0], diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &cost[1], diagnostic));
  unsigned turn = 0;
  for (uint32_t row = 0; row < rows; row += ROWS, turn ^= 1) {
    uint64_t from = wall + (uint64_t)row * bytes;
    uint32_t count = rows - row < ROWS ? rows - row : ROWS;
    BF_TRY(BF_CORPUS_LAUNCH(device, "path", (columns + inside - 1) / inside, 1, THREADS, 1,
                            diagnostic, &from, &cost[turn], &cost[turn ^ 1], &columns, &count));
  }
  return device->read(device->context, cost[turn], last + margin, bytes, diagnostic);
}

static int check_path(const rgpu_data *before, const rgpu_data *after, bf_corpus_outcome *outcome,
                      bf_diagnostic *diagnostic) {
  uint64_t columns = (uint64_t)rgpu_parameter(before, "columns");
  uint64_t margin = (uint64_t)rgpu_parameter(before, "margin"), pitch = columns + 2 * margin;
  uint64_t rows = (uint64_t)rgpu_parameter(before, "rows");
  const int32_t *wall = (int32_t *)rgpu_array(before, "wall") + margin;
  int32_t *now = malloc(columns * sizeof *now), *next = malloc(columns * sizeof *next);
  int error = now && next ? BF_OK : bf_no_memory(diagnostic);
  if (!error)
    memcpy(now, (int32_t *)rgpu_array(before, "cost0") + margin, columns * sizeof *now);
  for (uint64_t y = 0; !error && y < rows; y++) {
    for (uint64_t x = 0; x < columns; x++) {
      int32_t least = now[x];
      least = x ? smaller(least, now[x - 1]) : least;
      least = x + 1 < columns ? smaller(least, now[x + 1]) : least;
      next[x] = least + wall[y * pitch + x];
    }
    int32_t *kept = now;
    now = next;
    next = kept;
  }
  if (!error)
    bf_corpus_compare_u32((uint32_t *)rgpu_array(after, last_cost(before)) + margin,
                          (uint32_t *)now, columns, outcome);
  free(now);
  free(next);
  return error;
}

/* Why the lanes of PATH are no success. */
static const char path_fitted[] =
    "the graph works on two columns at a time and runs in two copies, which was chosen to need the "
    "published lanes: one copy needs 4, as the next claim shows.";

/* What all graphs of PATH have in common. */
#define PATH(graph, text, published, many, strip, at_once)                                         \
  {                                                                                                \
    .name = (graph), .title = (text), .copies = (many), .lanes = (published),                      \
    .lanes_fitted = path_fitted, .quick = {"columns=3840", (strip), "rows=24"}, .pass = "row",     \
    .passes = "rows", .pass_step = (at_once), .prepare = prepare_path, .launch = launch_path,      \
    .check = check_path                                                                            \
  }

const rgpu_benchmark rgpu_path = PATH("path", "PathFinder", 6, 2, "strip=128", 2);
const rgpu_benchmark rgpu_path_row = PATH("path_row", "one row at a time", 4, 2, "strip=128", 1);
const rgpu_benchmark rgpu_path_wide =
    PATH("path_wide", "three rows of three columns", 10, 1, "strip=256", 3);
const rgpu_benchmark rgpu_path_four =
    PATH("path_four", "two rows of four columns", 10, 1, "strip=256", 2);
const rgpu_benchmark rgpu_path_deep =
    PATH("path_deep", "eight rows of one column", 0, 1, "strip=256", 8);

/* ---- STENCIL ---- */

/* Six additions of numbers up to 6, and two roundings of the result. */
static const double STENCIL_ERROR = 8 * 6 * 0x1p-24;

static int launch_stencil(const rgpu_data *data, const rgpu_data *result, const bf_device *device,
                          rgpu_kernel kernel, bf_diagnostic *diagnostic) {
  enum { X = 64, Y = 4, PLANES = 15 };
  (void)kernel; /* both have the same grid */
  uint32_t nx = (uint32_t)rgpu_parameter(data, "nx"), ny = (uint32_t)rgpu_parameter(data, "ny");
  uint32_t nz = (uint32_t)rgpu_parameter(data, "nz"), planes = PLANES;
  uint64_t in, out, bytes = rgpu_elements(data, "in") * sizeof(float);
  BF_TRY(bf_corpus_upload(device, rgpu_array(data, "in"), bytes, &in, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &out, diagnostic));
  const void *parameter[] = {&in, &out, &nx, &ny, &nz, &planes};
  bf_device_launch launch = {.kernel = "stencil3d",
                             .grid = {nx / X, ny / Y, (nz - 2 + PLANES - 1) / PLANES},
                             .block = {X, Y, 1},
                             .parameters = 6,
                             .parameter = parameter};
  BF_TRY(device->launch(device->context, &launch, diagnostic));
  return device->read(device->context, out, rgpu_array(result, "out"), bytes, diagnostic);
}

static float cell_after(const float *cell, uint64_t nx, uint64_t plane) {
  double sum = (double)cell[1] + (double)*(cell - 1) + (double)cell[nx] + (double)*(cell - nx) +
               (double)cell[plane] + (double)*(cell - plane);
  return (float)(sum * 0.125 - (double)*cell * 0.5);
}

/* Inner cells only. */
static int check_stencil(const rgpu_data *before, const rgpu_data *after,
                         bf_corpus_outcome *outcome, bf_diagnostic *diagnostic) {
  uint64_t nx = (uint64_t)rgpu_parameter(before, "nx"), ny = (uint64_t)rgpu_parameter(before, "ny");
  uint64_t nz = (uint64_t)rgpu_parameter(before, "nz"), plane = nx * ny;
  const float *in = rgpu_array(before, "in"), *out = rgpu_array(after, "out");
  float *reference = malloc(nx * sizeof *reference);
  if (!reference)
    return bf_no_memory(diagnostic);
  for (uint64_t z = 1; z + 1 < nz; z++)
    for (uint64_t y = 1; y + 1 < ny; y++) {
      uint64_t row = z * plane + y * nx;
      for (uint64_t x = 1; x + 1 < nx; x++)
        reference[x] = cell_after(in + row + x, nx, plane);
      bf_corpus_compare_f32(out + row + 1, reference + 1, nx - 2, STENCIL_ERROR, outcome);
    }
  free(reference);
  return BF_OK;
}

const rgpu_benchmark rgpu_stencil = {.name = "stencil",
                                     .lanes_fitted =
                                         "the graph works on two cells at a time, which was chosen "
                                         "to need the published lanes; with one it needed 4.",
                                     .title = "Stencil",
                                     .copies = 1,
                                     .lanes = 5,
                                     .quick = {"ny=16", "nz=16", "run=2048"},
                                     .launch = launch_stencil,
                                     .check = check_stencil};
