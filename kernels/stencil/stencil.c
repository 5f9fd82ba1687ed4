/* Driver of the stencil; the variant is the name of the kernel. */
#include "kernels/corpus.h"

enum { TILE = 16 };

/* The cell at (x, y), 0 outside the grid. */
static double cell(const float *cells, int width, int height, int x, int y) {
  bool inside = x >= 0 && x < width && y >= 0 && y < height;
  return inside ? (double)cells[(size_t)y * (size_t)width + (size_t)x] : 0;
}

static void step(const float *cells, int width, int height, float own_weight,
                 float neighbour_weight, float *output) {
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      double neighbours =
          cell(cells, width, height, x - 1, y) + cell(cells, width, height, x + 1, y) +
          cell(cells, width, height, x, y - 1) + cell(cells, width, height, x, y + 1);
      output[(size_t)y * (size_t)width + (size_t)x] =
          (float)((double)own_weight * cell(cells, width, height, x, y) +
                  (double)neighbour_weight * neighbours);
    }
}

/* Cells lie in [0, 1) and weights add up to 1: five roundings of numbers up to 4 (the sum of the
 * neighbours), and one of the reference. */
static const double ALLOWED_ERROR = 6 * 0x1p-24 * 4;

static int run_stencil(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                       bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  const uint32_t width = 256, height = 128 * run->scale;
  const uint64_t elements = (uint64_t)width * height, bytes = elements * sizeof(float);
  const float own_weight = 0.375f, neighbour_weight = 0.15625f;
  float *input, *reference, *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &input, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, elements, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  bf_corpus_fill_f32(&random, 0, 1, input, elements);
  step(input, (int)width, (int)height, own_weight, neighbour_weight, reference);

  uint64_t from, to;
  BF_TRY(bf_corpus_upload(device, input, bytes, &from, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &to, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, run->benchmark->variant, width / TILE, height / TILE, TILE, TILE,
                          diagnostic, &from, &to, &width, &height, &own_weight, &neighbour_weight));
  BF_TRY(device->read(device->context, to, result, bytes, diagnostic));
  bf_corpus_compare_f32(result, reference, elements, ALLOWED_ERROR, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_stencil[] = {
    {
        .name = "stencil",
        .folder = "stencil",
        .summary = "five-point stencil, tile of 18 x 18 cells",
        .variant = "stencil",
        .run = run_stencil,
    },
    {
        .name = "stencil-padded",
        .folder = "stencil",
        .summary = "the same in rows of 48 words",
        .is_padded = true,
        .variant = "stencil_padded",
        .run = run_stencil,
    },
    {0},
};
