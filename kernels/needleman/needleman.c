/* Drivers of the alignment: the half of the tiles up to the longest antidiagonal, and the half
 * behind it. */
#include "kernels/needleman/needleman.h"

#include "kernels/corpus.h"

#include <string.h>

enum { TILE = 16, LETTERS = 24, PENALTY = 10 };

typedef struct needleman_variant {
  const char *kernel;
  bool is_lower;
} needleman_variant;

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

void bf_needleman_reference(const int32_t *similarities, uint32_t width, int32_t penalty,
                            int32_t *scores) {
  const uint64_t pitch = width + 1;
  for (uint64_t y = 0; y < pitch; y++)
    for (uint64_t x = 0; x < pitch; x++) {
      int32_t *score = scores + y * pitch + x;
      if (x == 0 || y == 0) {
        *score = -(int32_t)(x + y) * penalty;
        continue;
      }
      const int32_t gap = larger(score[-1], *(score - pitch)) - penalty;
      *score = larger(*(score - pitch - 1) + similarities[(y - 1) * width + x - 1], gap);
    }
}

/* Similarities of all pairs of letters of two random sequences: letters are alike by -4 to 7, equal
 * letters by 11. */
static void make_similarities(unsigned seed, uint32_t width, uint8_t *sequence,
                              int32_t *similarities) {
  bf_corpus_random random = bf_corpus_seed(seed);
  int32_t alike[LETTERS][LETTERS];
  for (unsigned a = 0; a < LETTERS; a++)
    for (unsigned b = 0; b <= a; b++)
      alike[a][b] = alike[b][a] = a == b ? 11 : (int32_t)(bf_corpus_next(&random) % 12) - 4;
  for (uint32_t i = 0; i < 2 * width; i++)
    sequence[i] = (uint8_t)(bf_corpus_next(&random) % LETTERS);
  for (uint64_t y = 0; y < width; y++)
    for (uint64_t x = 0; x < width; x++)
      similarities[y * width + x] = alike[sequence[y]][sequence[width + x]];
}

/* Whether the upper half holds a score. */
static bool is_upper(uint32_t x, uint32_t y, uint32_t width) {
  if (x == 0 || y == 0)
    return true;
  return (x - 1) / TILE + (y - 1) / TILE < width / TILE;
}

/* Fills one half. The other is 0 before and after the upper kernel, and given to the lower. */
static int run_half(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                    bf_diagnostic *diagnostic) {
  const needleman_variant *variant = run->benchmark->variant;
  const bf_device *device = run->device;
  const uint32_t width = 256 * run->scale, pitch = width + 1, last = width / TILE - 1;
  const int32_t penalty = PENALTY;
  const uint64_t cells = (uint64_t)pitch * pitch, pairs = (uint64_t)width * width;
  int32_t *similarities, *reference, *scores;
  uint8_t *sequence;
  BF_TRY(BF_CORPUS_ALLOC(run, &similarities, pairs, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, cells, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &scores, cells, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &sequence, 2 * (uint64_t)width, diagnostic));
  make_similarities(run->seed, width, sequence, similarities);
  bf_needleman_reference(similarities, width, penalty, reference);
  for (uint32_t y = 0; y < pitch; y++)
    for (uint32_t x = 0; x < pitch; x++) {
      const uint64_t i = (uint64_t)y * pitch + x;
      const bool is_border = x == 0 || y == 0;
      if (is_border || (variant->is_lower && is_upper(x, y, width)))
        scores[i] = reference[i];
      if (!variant->is_lower && !is_upper(x, y, width))
        reference[i] = 0;
    }

  uint64_t matrix, alike;
  BF_TRY(bf_corpus_upload(device, scores, cells * sizeof *scores, &matrix, diagnostic));
  BF_TRY(bf_corpus_upload(device, similarities, pairs * sizeof *similarities, &alike, diagnostic));
  uint32_t diagonal = variant->is_lower ? last + 1 : 0;
  const uint32_t end = variant->is_lower ? 2 * last : last;
  for (; diagonal <= end; diagonal++) {
    const uint32_t tiles = variant->is_lower ? 2 * last - diagonal + 1 : diagonal + 1;
    BF_TRY(BF_CORPUS_LAUNCH(device, variant->kernel, tiles, 1, TILE, 1, diagnostic, &matrix, &alike,
                            &width, &penalty, &diagonal));
  }
  BF_TRY(device->read(device->context, matrix, scores, cells * sizeof *scores, diagnostic));
  bf_corpus_compare_u32((const uint32_t *)scores, (const uint32_t *)reference, cells, outcome);
  return BF_OK;
}

static const char difference[] = "sequences of 256 letters";

const bf_corpus_benchmark bf_corpus_needleman[] = {
    {
        .name = "needleman-1",
        .folder = "needleman",
        .summary = "Needleman-Wunsch alignment, upper left half, tile of 17 x 17",
        .published_name = "NW-1",
        .difference = difference,
        .variant = &(const needleman_variant){"needleman_upper", false},
        .run = run_half,
    },
    {
        .name = "needleman-1-padded",
        .folder = "needleman",
        .summary = "Needleman-Wunsch alignment, upper left half, tile of 17 rows of 18",
        .is_padded = true,
        .variant = &(const needleman_variant){"needleman_upper_padded", false},
        .run = run_half,
    },
    {
        .name = "needleman-2",
        .folder = "needleman",
        .summary = "Needleman-Wunsch alignment, lower right half, tile of 17 x 17",
        .published_name = "NW-2",
        .difference = difference,
        .variant = &(const needleman_variant){"needleman_lower", true},
        .run = run_half,
    },
    {
        .name = "needleman-2-padded",
        .folder = "needleman",
        .summary = "Needleman-Wunsch alignment, lower right half, tile of 17 rows of 18",
        .is_padded = true,
        .variant = &(const needleman_variant){"needleman_lower_padded", true},
        .run = run_half,
    },
    {0},
};
