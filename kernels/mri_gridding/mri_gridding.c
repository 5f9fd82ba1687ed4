/* Drivers of the gridding kernels: each gets as input what the steps before it give on the CPU. */
#include "kernels/mri_gridding/mri_gridding.h"

#include "kernels/corpus.h"

#include <math.h>

enum { THREADS = 256 };

/* The samples, and what every step makes of them. */
typedef struct gridding {
  uint32_t samples, blocks;
  float *coordinates, *values;                 /* pairs */
  uint32_t *tiles;                             /* of each sample */
  uint32_t *sorted, *source, *counts;          /* after sort */
  uint32_t *first_place;                       /* after scan; as many as counts */
  float *ordered_coordinates, *ordered_values; /* after reorder */
} gridding;

/* ---- Steps ---- */

uint32_t bf_mri_tile(const float *coordinate) {
  return (uint32_t)coordinate[1] / BF_MRI_TILE * (BF_MRI_SIDE / BF_MRI_TILE) +
         (uint32_t)coordinate[0] / BF_MRI_TILE;
}

void bf_mri_sort(const uint32_t *tiles, uint32_t blocks, uint32_t *sorted, uint32_t *source,
                 uint32_t *counts) {
  for (uint32_t block = 0; block < blocks; block++) {
    uint32_t place = block * BF_MRI_ITEMS;
    for (uint32_t tile = 0; tile < BF_MRI_TILES; tile++) {
      const uint32_t before = place;
      for (uint32_t i = block * BF_MRI_ITEMS; i < (block + 1) * BF_MRI_ITEMS; i++)
        if (tiles[i] == tile) {
          sorted[place] = tile;
          source[place++] = i;
        }
      counts[tile * blocks + block] = place - before;
    }
  }
}

void bf_mri_scan(uint32_t *words, uint32_t count) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t word = words[i];
    words[i] = sum;
    sum += word;
  }
}

void bf_mri_reorder(const uint32_t *sorted, const uint32_t *source, uint32_t blocks,
                    const uint32_t *first_place, const float *from, float *to) {
  for (uint32_t block = 0; block < blocks; block++) {
    uint32_t start = 0;
    for (uint32_t i = 0; i < BF_MRI_ITEMS; i++) {
      const uint32_t at = block * BF_MRI_ITEMS + i, tile = sorted[at];
      if (i == 0 || sorted[at - 1] != tile)
        start = i;
      const uint32_t place = first_place[tile * blocks + block] + i - start;
      to[2 * place] = from[2 * source[at]];
      to[2 * place + 1] = from[2 * source[at] + 1];
    }
  }
}

/* (1 - (d / 2)^2)^2 for |d| < 2. */
static double window(double distance) {
  const double rest = 1 - distance * distance / 4;
  return rest > 0 ? rest * rest : 0;
}

void bf_mri_add(const float *coordinate, const float *value, uint32_t x, uint32_t y, double *sums,
                double *magnitude) {
  const double weight = window((double)coordinate[0] - x) * window((double)coordinate[1] - y);
  for (unsigned c = 0; c < 2; c++) {
    sums[c] += weight * (double)value[c];
    magnitude[c] += fabs((double)value[c]);
  }
}

/* ---- Input ---- */

/* A coordinate in [0, 64), more often near the middle, as trajectories through the plane have it.
 */
static float coordinate(bf_corpus_random *random) {
  return (bf_corpus_uniform(random) + bf_corpus_uniform(random)) * (0.5f * BF_MRI_SIDE);
}

static int allocate(const bf_corpus_run *run, gridding *g, bf_diagnostic *diagnostic) {
  const uint32_t pairs = 2 * g->samples, counts = BF_MRI_TILES * g->blocks;
  BF_TRY(BF_CORPUS_ALLOC(run, &g->coordinates, pairs, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &g->values, pairs, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &g->tiles, g->samples, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &g->sorted, g->samples, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &g->source, g->samples, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &g->counts, counts, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &g->first_place, counts, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &g->ordered_coordinates, pairs, diagnostic));
  return BF_CORPUS_ALLOC(run, &g->ordered_values, pairs, diagnostic);
}

/* Makes samples, a multiple of BF_MRI_ITEMS, and takes all steps. */
static int prepare(const bf_corpus_run *run, uint32_t samples, gridding *g,
                   bf_diagnostic *diagnostic) {
  g->samples = samples * run->scale;
  g->blocks = g->samples / BF_MRI_ITEMS;
  BF_TRY(allocate(run, g, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  for (uint32_t i = 0; i < g->samples; i++)
    for (unsigned c = 0; c < 2; c++) {
      g->coordinates[2 * i + c] = coordinate(&random);
      g->values[2 * i + c] = bf_corpus_uniform(&random) * 2 - 1;
    }
  for (uint32_t i = 0; i < g->samples; i++)
    g->tiles[i] = bf_mri_tile(g->coordinates + 2 * i);
  bf_mri_sort(g->tiles, g->blocks, g->sorted, g->source, g->counts);
  for (uint32_t i = 0; i < BF_MRI_TILES * g->blocks; i++)
    g->first_place[i] = g->counts[i];
  bf_mri_scan(g->first_place, BF_MRI_TILES * g->blocks);
  bf_mri_reorder(g->sorted, g->source, g->blocks, g->first_place, g->coordinates,
                 g->ordered_coordinates);
  bf_mri_reorder(g->sorted, g->source, g->blocks, g->first_place, g->values, g->ordered_values);
  return BF_OK;
}

/* Reads count words and compares them. */
static int check_words(const bf_corpus_run *run, uint64_t address, const uint32_t *reference,
                       uint64_t count, bf_corpus_outcome *outcome, bf_diagnostic *diagnostic) {
  uint32_t *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &result, count, diagnostic));
  BF_TRY(
      run->device->read(run->device->context, address, result, count * sizeof *result, diagnostic));
  bf_corpus_compare_u32(result, reference, count, outcome);
  return BF_OK;
}

/* ---- Drivers ---- */

/* Samples are sorted by tile within each block. */
static int run_sort(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                    bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  gridding g;
  BF_TRY(prepare(run, 4096, &g, diagnostic));
  const uint64_t bytes = g.samples * sizeof(uint32_t);
  const uint64_t count_bytes = BF_MRI_TILES * g.blocks * sizeof(uint32_t);
  uint64_t tiles, sorted, source, counts;
  BF_TRY(bf_corpus_upload(device, g.tiles, bytes, &tiles, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &sorted, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &source, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, count_bytes, &counts, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, run->benchmark->variant, g.blocks, 1, THREADS, 1, diagnostic,
                          &tiles, &sorted, &source, &counts));
  BF_TRY(check_words(run, sorted, g.sorted, g.samples, outcome, diagnostic));
  BF_TRY(check_words(run, source, g.source, g.samples, outcome, diagnostic));
  return check_words(run, counts, g.counts, BF_MRI_TILES * g.blocks, outcome, diagnostic);
}

/* The first published kernel: the counts become places. */
static int run_scan_words(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                          bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  gridding g;
  BF_TRY(prepare(run, 65536, &g, diagnostic));
  const uint32_t count = BF_MRI_TILES * g.blocks;
  uint64_t words;
  BF_TRY(bf_corpus_upload(device, g.counts, count * sizeof(uint32_t), &words, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, run->benchmark->variant, 1, 1, THREADS, 1, diagnostic, &words,
                          &count));
  return check_words(run, words, g.first_place, count, outcome, diagnostic);
}

/* The second: running sums of how many samples each block has in a tile, and of how many squares of
 * counts, a measure of density. */
static int run_scan_pairs(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                          bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  gridding g;
  BF_TRY(prepare(run, 65536, &g, diagnostic));
  const uint32_t count = BF_MRI_TILES * g.blocks;
  uint32_t *pairs, *reference, sums[2] = {0};
  BF_TRY(BF_CORPUS_ALLOC(run, &pairs, 2 * count, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, 2 * count, diagnostic));
  for (uint32_t i = 0; i < count; i++) {
    pairs[2 * i] = g.counts[i];
    pairs[2 * i + 1] = g.counts[i] * g.counts[i];
    for (unsigned c = 0; c < 2; c++) {
      reference[2 * i + c] = sums[c];
      sums[c] += pairs[2 * i + c];
    }
  }
  uint64_t words;
  BF_TRY(bf_corpus_upload(device, pairs, 2 * count * sizeof *pairs, &words, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, run->benchmark->variant, 1, 1, THREADS, 1, diagnostic, &words,
                          &count));
  return check_words(run, words, reference, 2 * count, outcome, diagnostic);
}

/* The third: coordinates and values move to their places. */
static int run_reorder(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                       bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  gridding g;
  BF_TRY(prepare(run, 16384, &g, diagnostic));
  const uint64_t bytes = g.samples * sizeof(uint32_t), pair_bytes = g.samples * 2 * sizeof(float);
  const uint64_t place_bytes = BF_MRI_TILES * g.blocks * sizeof(uint32_t);
  const float *from[2] = {g.coordinates, g.values};
  const float *expected[2] = {g.ordered_coordinates, g.ordered_values};
  float *result;
  uint64_t sorted, source, places;
  BF_TRY(BF_CORPUS_ALLOC(run, &result, 2 * g.samples, diagnostic));
  BF_TRY(bf_corpus_upload(device, g.sorted, bytes, &sorted, diagnostic));
  BF_TRY(bf_corpus_upload(device, g.source, bytes, &source, diagnostic));
  BF_TRY(bf_corpus_upload(device, g.first_place, place_bytes, &places, diagnostic));
  for (unsigned which = 0; which < 2; which++) {
    uint64_t in, out;
    BF_TRY(bf_corpus_upload(device, from[which], pair_bytes, &in, diagnostic));
    BF_TRY(bf_corpus_upload(device, NULL, pair_bytes, &out, diagnostic));
    BF_TRY(BF_CORPUS_LAUNCH(device, run->benchmark->variant, g.blocks, 1, THREADS, 1, diagnostic,
                            &sorted, &source, &places, &in, &out));
    BF_TRY(device->read(device->context, out, result, pair_bytes, diagnostic));
    bf_corpus_compare_f32(result, expected[which], 2 * g.samples, 0, outcome);
  }
  return BF_OK;
}

/* Compares a cell in parts of the sum of the absolute values of all samples near enough. Distances,
 * below 2, are off by 2^-23, the two factors of a weight by 8 x 2^-24 each, and a term by less than
 * 24 x 2^-24 of its value; n additions add n. */
static void compare_cell(const gridding *g, uint32_t x, uint32_t y, const float *result,
                         bf_corpus_outcome *outcome) {
  double sums[2] = {0}, magnitude[2] = {0}, parts[2];
  uint32_t terms = 0;
  for (uint32_t i = 0; i < g->samples; i++) {
    const float *at = g->ordered_coordinates + 2 * i;
    if (fabsf(at[0] - (float)x) >= 2 || fabsf(at[1] - (float)y) >= 2)
      continue;
    bf_mri_add(at, g->ordered_values + 2 * i, x, y, sums, magnitude);
    terms++;
  }
  for (unsigned c = 0; c < 2; c++) {
    const double unit = magnitude[c] > 0 ? magnitude[c] : 1;
    parts[c] = (double)result[c] / unit;
    sums[c] /= unit;
  }
  bf_corpus_compare_f64(parts, sums, 2, (terms + 24) * 0x1p-24, outcome);
}

/* The fourth: the cells sum up the samples around them. */
static int run_grid(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                    bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  const uint32_t tiles = BF_MRI_SIDE / BF_MRI_TILE;
  gridding g;
  BF_TRY(prepare(run, 1024, &g, diagnostic));
  uint32_t starts[BF_MRI_TILES + 1];
  for (uint32_t tile = 0; tile < BF_MRI_TILES; tile++)
    starts[tile] = g.first_place[tile * g.blocks];
  starts[BF_MRI_TILES] = g.samples;

  static const uint32_t cells = BF_MRI_SIDE * BF_MRI_SIDE;
  const uint64_t pair_bytes = g.samples * 2 * sizeof(float);
  float *result;
  uint64_t first, coordinates, values, sums;
  BF_TRY(BF_CORPUS_ALLOC(run, &result, 2 * cells, diagnostic));
  BF_TRY(bf_corpus_upload(device, starts, sizeof starts, &first, diagnostic));
  BF_TRY(bf_corpus_upload(device, g.ordered_coordinates, pair_bytes, &coordinates, diagnostic));
  BF_TRY(bf_corpus_upload(device, g.ordered_values, pair_bytes, &values, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, 2 * cells * sizeof *result, &sums, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, run->benchmark->variant, tiles, tiles, BF_MRI_TILE, BF_MRI_TILE,
                          diagnostic, &first, &coordinates, &values, &sums));
  BF_TRY(device->read(device->context, sums, result, 2 * cells * sizeof *result, diagnostic));
  for (uint32_t cell = 0; cell < cells; cell++)
    compare_cell(&g, cell % BF_MRI_SIDE, cell / BF_MRI_SIDE, result + 2 * cell, outcome);
  return BF_OK;
}

static const char difference[] =
    "the document does not describe the four kernels; ours are the steps of a gridding, with "
    "strides that its hash parameters fit";

const bf_corpus_benchmark bf_corpus_mri_gridding[] = {
    {
        .name = "mri-gridding-sort",
        .folder = "mri_gridding",
        .summary = "samples sorted by tile within a block, with a tree of sums",
        .is_data_dependent = true,
        .variant = "mri_sort",
        .run = run_sort,
    },
    {
        .name = "mri-gridding-sort-padded",
        .folder = "mri_gridding",
        .summary = "samples sorted by tile within a block, every 33rd word of the tree spare",
        .is_padded = true,
        .is_data_dependent = true,
        .variant = "mri_sort_padded",
        .run = run_sort,
    },
    {
        .name = "mri-gridding-1",
        .folder = "mri_gridding",
        .summary = "prefix sums, with a tree of sums",
        .published_name = "MRI-grid-1",
        .difference = difference,
        .variant = "mri_scan_words",
        .run = run_scan_words,
    },
    {
        .name = "mri-gridding-1-padded",
        .folder = "mri_gridding",
        .summary = "prefix sums, every 33rd word of the tree spare",
        .is_padded = true,
        .variant = "mri_scan_words_padded",
        .run = run_scan_words,
    },
    {
        .name = "mri-gridding-2",
        .folder = "mri_gridding",
        .summary = "prefix sums of pairs of words, two pairs for each thread",
        .published_name = "MRI-grid-2",
        .difference = difference,
        .variant = "mri_scan_pairs",
        .run = run_scan_pairs,
    },
    {
        .name = "mri-gridding-2-padded",
        .folder = "mri_gridding",
        .summary = "prefix sums of pairs of words, every 33rd word spare",
        .is_padded = true,
        .variant = "mri_scan_pairs_padded",
        .run = run_scan_pairs,
    },
    {
        .name = "mri-gridding-3",
        .folder = "mri_gridding",
        .summary = "samples moved to their tiles, in pairs of floats",
        .published_name = "MRI-grid-3",
        .difference = difference,
        .is_data_dependent = true,
        .variant = "mri_reorder",
        .run = run_reorder,
    },
    {
        .name = "mri-gridding-3-padded",
        .folder = "mri_gridding",
        .summary = "samples moved to their tiles, in pairs of floats, every 33rd word spare",
        .is_padded = true,
        .is_data_dependent = true,
        .variant = "mri_reorder_padded",
        .run = run_reorder,
    },
    {
        .name = "mri-gridding-4",
        .folder = "mri_gridding",
        .summary = "samples added to the cells of the grid, structures of 4 floats",
        .published_name = "MRI-grid-4",
        .difference = difference,
        .variant = "mri_grid",
        .run = run_grid,
    },
    {
        .name = "mri-gridding-4-padded",
        .folder = "mri_gridding",
        .summary = "samples added to the cells of the grid, structures 5 words apart",
        .is_padded = true,
        .variant = "mri_grid_padded",
        .run = run_grid,
    },
    {0},
};
