/* Driver of the temperatures: four steps, two to a launch. */
#include "kernels/hotspot/hotspot.h"

#include "kernels/corpus.h"

enum { SIDE = 16, STEPS = 2, KEPT = SIDE - 2 * STEPS, LAUNCHES = 2 };

void bf_hotspot_step(const bf_hotspot_chip *chip, const float *powers, const double *temperatures,
                     double *result) {
  const int32_t side = chip->side;
  for (int32_t y = 0; y < side; y++)
    for (int32_t x = 0; x < side; x++) {
      const double *at = temperatures + (int64_t)y * side + x;
      const double around = (y > 0 ? at[-side] : *at) + (y < side - 1 ? at[side] : *at) +
                            (x > 0 ? at[-1] : *at) + (x < side - 1 ? at[1] : *at);
      result[at - temperatures] = *at + (double)chip->sideways * (around - 4 * *at) +
                                  (double)chip->to_air * ((double)chip->air - *at) +
                                  (double)chip->heating * (double)powers[at - temperatures];
    }
}

/* A step rounds about ten times, at worst numbers of four temperatures with weight 0.1, and passes
 * errors on with weights whose sum is 1: less than 4 x 2^-24 of a temperature a step. */
static int run_hotspot(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                       bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  const bf_hotspot_chip chip = {(int32_t)(128 * run->scale), 0.1f, 0.01f, 300, 0.5f};
  const uint32_t cells = (uint32_t)(chip.side * chip.side);
  const uint32_t tiles = ((uint32_t)chip.side + KEPT - 1) / KEPT;
  const uint64_t bytes = cells * sizeof(float);
  float *start, *powers, *result;
  double *reference[2], *found;
  BF_TRY(BF_CORPUS_ALLOC(run, &start, cells, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &powers, cells, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, cells, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference[0], cells, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference[1], cells, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &found, cells, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  for (uint32_t i = 0; i < cells; i++) {
    start[i] = 320 + 20 * bf_corpus_uniform(&random);
    powers[i] = bf_corpus_uniform(&random);
    reference[0][i] = (double)start[i];
  }
  for (unsigned step = 0; step < STEPS * LAUNCHES; step++)
    bf_hotspot_step(&chip, powers, reference[step % 2], reference[(step + 1) % 2]);

  uint64_t temperatures[2], power;
  BF_TRY(bf_corpus_upload(device, start, bytes, &temperatures[0], diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &temperatures[1], diagnostic));
  BF_TRY(bf_corpus_upload(device, powers, bytes, &power, diagnostic));
  for (unsigned launch = 0; launch < LAUNCHES; launch++)
    BF_TRY(BF_CORPUS_LAUNCH(device, "hotspot", tiles, tiles, SIDE, SIDE, diagnostic,
                            &temperatures[launch % 2], &power, &chip.side, &chip.sideways,
                            &chip.to_air, &chip.air, &chip.heating,
                            &temperatures[(launch + 1) % 2]));
  BF_TRY(device->read(device->context, temperatures[LAUNCHES % 2], result, bytes, diagnostic));
  for (uint32_t i = 0; i < cells; i++)
    found[i] = (double)result[i];
  bf_corpus_compare_f64(found, reference[0], cells, 4 * STEPS * LAUNCHES * 0x1p-24, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_hotspot[] = {
    {
        .name = "hotspot",
        .folder = "hotspot",
        .summary = "temperature of a chip, two steps at once on tiles of 16 x 16",
        .is_control = true,
        .run = run_hotspot,
    },
    {0},
};
