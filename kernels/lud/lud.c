/* Drivers of the LU decomposition: of many small tiles (diagonal), of the tiles right of and below
 * a factored one (perimeter), and of a whole matrix.
 *
 * Matrices have entries below 1 and more than their sum on the diagonal. Every element is then at
 * most `steps` multiply-subtracts of products below 1 away from where it started, each off by
 * 2^-24; errors of the factors enter times multipliers whose sum is below 1, and a division adds
 * half a unit. 4 steps 2^-24 holds all of it. */
#include "kernels/lud/lud.h"

#include "kernels/corpus.h"

enum { TILE = 16 };

typedef struct lud_variant {
  const char *diagonal, *perimeter;
} lud_variant;

void bf_lud_reference(double *matrix, uint32_t width, uint32_t steps) {
  for (uint64_t k = 0; k < steps; k++)
    for (uint64_t row = k + 1; row < width; row++) {
      const double factor = matrix[row * width + k] /= matrix[k * width + k];
      for (uint64_t column = k + 1; column < width; column++)
        matrix[row * width + column] -= factor * matrix[k * width + column];
    }
}

/* A diagonally dominant matrix, the same in both arrays. */
static void make_matrix(bf_corpus_random *random, uint32_t width, float *matrix,
                        double *reference) {
  for (uint64_t i = 0; i < (uint64_t)width * width; i++) {
    matrix[i] = bf_corpus_uniform(random) + (i % (width + 1) == 0 ? (float)width : 0);
    reference[i] = (double)matrix[i];
  }
}

/* Compares `columns` columns of `rows` rows that begin at an offset of matrices `width` wide. */
static void compare_part(const float *result, const double *reference, uint64_t width,
                         uint64_t offset, uint32_t rows, uint32_t columns, double allowed_error,
                         bf_corpus_outcome *outcome) {
  for (uint32_t row = 0; row < rows; row++)
    for (uint32_t column = 0; column < columns; column++) {
      const uint64_t i = offset + row * width + column;
      const double value = (double)result[i];
      bf_corpus_compare_f64(&value, &reference[i], 1, allowed_error, outcome);
    }
}

/* Factors many tiles at once, each a matrix of its own. */
static int run_diagonal(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                        bf_diagnostic *diagnostic) {
  const lud_variant *variant = run->benchmark->variant;
  const bf_device *device = run->device;
  const uint32_t tiles = 64 * run->scale, width = TILE, offset = 0, distance = TILE * TILE;
  const uint64_t bytes = (uint64_t)tiles * distance * sizeof(float);
  float *matrix;
  double *reference;
  BF_TRY(BF_CORPUS_ALLOC(run, &matrix, (uint64_t)tiles * distance, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, (uint64_t)tiles * distance, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  for (uint64_t tile = 0; tile < tiles; tile++) {
    make_matrix(&random, width, matrix + tile * distance, reference + tile * distance);
    bf_lud_reference(reference + tile * distance, width, width);
  }
  uint64_t address;
  BF_TRY(bf_corpus_upload(device, matrix, bytes, &address, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, variant->diagonal, tiles, 1, TILE, 1, diagnostic, &address,
                          &width, &offset, &distance));
  BF_TRY(device->read(device->context, address, matrix, bytes, diagnostic));
  compare_part(matrix, reference, width, 0, tiles * TILE, width, 4 * TILE * 0x1p-24, outcome);
  return BF_OK;
}

/* Solves the first rows and columns of a matrix whose first tile is factored already. */
static int run_perimeter(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                         bf_diagnostic *diagnostic) {
  const lud_variant *variant = run->benchmark->variant;
  const bf_device *device = run->device;
  const uint32_t blocks = 32 * run->scale, width = (blocks + 1) * TILE, offset = 0;
  const uint64_t elements = (uint64_t)width * width, bytes = elements * sizeof(float);
  const double allowed_error = 4 * TILE * 0x1p-24;
  float *matrix;
  double *reference;
  BF_TRY(BF_CORPUS_ALLOC(run, &matrix, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, elements, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  make_matrix(&random, width, matrix, reference);
  bf_lud_reference(reference, width, TILE);
  for (uint64_t row = 0; row < TILE; row++)
    for (uint64_t column = 0; column < TILE; column++)
      matrix[row * width + column] = (float)reference[row * width + column];

  uint64_t address;
  BF_TRY(bf_corpus_upload(device, matrix, bytes, &address, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, variant->perimeter, blocks, 1, 2 * TILE, 1, diagnostic, &address,
                          &width, &offset));
  BF_TRY(device->read(device->context, address, matrix, bytes, diagnostic));
  compare_part(matrix, reference, width, TILE, TILE, width - TILE, allowed_error, outcome);
  compare_part(matrix, reference, width, (uint64_t)TILE * width, width - TILE, TILE, allowed_error,
               outcome);
  return BF_OK;
}

/* Factors a matrix, tile by tile along its diagonal. */
static int run_whole(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                     bf_diagnostic *diagnostic) {
  const lud_variant *variant = run->benchmark->variant;
  const bf_device *device = run->device;
  const uint32_t width = 128 * run->scale, distance = 0;
  const uint64_t elements = (uint64_t)width * width, bytes = elements * sizeof(float);
  float *matrix;
  double *reference;
  BF_TRY(BF_CORPUS_ALLOC(run, &matrix, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, elements, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  make_matrix(&random, width, matrix, reference);
  bf_lud_reference(reference, width, width);

  uint64_t address;
  BF_TRY(bf_corpus_upload(device, matrix, bytes, &address, diagnostic));
  for (uint32_t offset = 0; offset < width; offset += TILE) {
    const uint32_t rest = (width - offset) / TILE - 1;
    BF_TRY(BF_CORPUS_LAUNCH(device, variant->diagonal, 1, 1, TILE, 1, diagnostic, &address, &width,
                            &offset, &distance));
    if (rest == 0)
      break;
    BF_TRY(BF_CORPUS_LAUNCH(device, variant->perimeter, rest, 1, 2 * TILE, 1, diagnostic, &address,
                            &width, &offset));
    BF_TRY(BF_CORPUS_LAUNCH(device, "lud_interior", rest, rest, TILE, TILE, diagnostic, &address,
                            &width, &offset));
  }
  BF_TRY(device->read(device->context, address, matrix, bytes, diagnostic));
  compare_part(matrix, reference, width, 0, width, width, 4 * width * 0x1p-24, outcome);
  return BF_OK;
}

static const lud_variant plain = {"lud_diagonal", "lud_perimeter"};
static const lud_variant padded = {"lud_diagonal_padded", "lud_perimeter_padded"};

const bf_corpus_benchmark bf_corpus_lud[] = {
    {
        .name = "lud-diagonal",
        .folder = "lud",
        .summary = "LU decomposition of tiles of 16 x 16",
        .published_name = "LUD-1",
        .difference = "64 tiles in one launch, where a decomposition has one at a time",
        .variant = &plain,
        .run = run_diagonal,
    },
    {
        .name = "lud-diagonal-padded",
        .folder = "lud",
        .summary = "LU decomposition of tiles of 16 x 16 in rows of 17",
        .is_padded = true,
        .variant = &padded,
        .run = run_diagonal,
    },
    {
        .name = "lud-perimeter",
        .folder = "lud",
        .summary = "LU decomposition, the tiles right of and below a factored one",
        .published_name = "LUD-2",
        .difference = "the first step of a decomposition only",
        .variant = &plain,
        .run = run_perimeter,
    },
    {
        .name = "lud-perimeter-padded",
        .folder = "lud",
        .summary = "LU decomposition, the tiles right of and below a factored one, rows of 17",
        .is_padded = true,
        .variant = &padded,
        .run = run_perimeter,
    },
    {
        .name = "lud",
        .folder = "lud",
        .summary = "LU decomposition of a whole matrix, three kernels",
        .variant = &plain,
        .run = run_whole,
    },
    {
        .name = "lud-padded",
        .folder = "lud",
        .summary = "LU decomposition of a whole matrix, three kernels, rows of 17",
        .is_padded = true,
        .variant = &padded,
        .run = run_whole,
    },
    {0},
};
