/* Driver of back propagation: one pass forward and one adjustment of the weights. */
#include "kernels/backprop/backprop.h"

#include "kernels/corpus.h"

enum { SIDE = BF_BACKPROP_UNITS };

typedef struct backprop_layer {
  uint32_t inputs;
  float rate, momentum, deltas[SIDE];
  float *input, *weights, *changes;
} backprop_layer;

void bf_backprop_forward(const float *inputs, const float *weights, uint32_t input_count,
                         double *sums) {
  for (unsigned unit = 0; unit < SIDE; unit++) {
    sums[unit] = 0;
    for (uint32_t i = 0; i < input_count; i++)
      sums[unit] += (double)inputs[i] * (double)weights[i * SIDE + unit];
  }
}

double bf_backprop_adjust(double weight, double input, double delta, double rate, double momentum,
                          double *change) {
  *change = rate * delta * input + momentum * *change;
  return weight + *change;
}

/* Inputs in [0, 1), everything else within 1/2 of 0. */
static int make_layer(const bf_corpus_run *run, backprop_layer *layer, bf_diagnostic *diagnostic) {
  const uint64_t weights = (uint64_t)layer->inputs * SIDE;
  BF_TRY(BF_CORPUS_ALLOC(run, &layer->input, layer->inputs, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &layer->weights, weights, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &layer->changes, weights, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  for (uint32_t i = 0; i < layer->inputs; i++)
    layer->input[i] = bf_corpus_uniform(&random);
  for (uint64_t i = 0; i < weights; i++) {
    layer->weights[i] = bf_corpus_uniform(&random) - 0.5f;
    layer->changes[i] = bf_corpus_uniform(&random) - 0.5f;
  }
  for (unsigned unit = 0; unit < SIDE; unit++)
    layer->deltas[unit] = bf_corpus_uniform(&random) - 0.5f;
  return BF_OK;
}

/* Sums of 16 products in a tree: each is rounded once and goes through four additions, all below 8:
 * 5 x 8 x 2^-24. */
static int check_forward(const bf_corpus_run *run, const backprop_layer *layer, uint64_t address,
                         bf_corpus_outcome *outcome, bf_diagnostic *diagnostic) {
  float *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &result, layer->inputs, diagnostic));
  BF_TRY(run->device->read(run->device->context, address, result, layer->inputs * sizeof *result,
                           diagnostic));
  for (uint32_t i = 0; i < layer->inputs; i += SIDE) {
    double sums[SIDE], found[SIDE];
    bf_backprop_forward(layer->input + i, layer->weights + (uint64_t)i * SIDE, SIDE, sums);
    for (unsigned unit = 0; unit < SIDE; unit++)
      found[unit] = (double)result[i + unit];
    bf_corpus_compare_f64(found, sums, SIDE, 5 * 8 * 0x1p-24, outcome);
  }
  return BF_OK;
}

/* Weights after at most five roundings of numbers below 1. */
static int check_weights(const bf_corpus_run *run, const backprop_layer *layer, uint64_t address,
                         bf_corpus_outcome *outcome, bf_diagnostic *diagnostic) {
  const uint64_t weights = (uint64_t)layer->inputs * SIDE;
  float *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &result, weights, diagnostic));
  BF_TRY(run->device->read(run->device->context, address, result, weights * sizeof *result,
                           diagnostic));
  for (uint64_t i = 0; i < weights; i++) {
    double change = (double)layer->changes[i], found = (double)result[i];
    const double weight = bf_backprop_adjust(
        (double)layer->weights[i], (double)layer->input[i / SIDE], (double)layer->deltas[i % SIDE],
        (double)layer->rate, (double)layer->momentum, &change);
    bf_corpus_compare_f64(&found, &weight, 1, 5 * 0x1p-24, outcome);
  }
  return BF_OK;
}

static int run_backprop(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                        bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  backprop_layer layer = {.inputs = 4096 * run->scale, .rate = 0.3f, .momentum = 0.3f};
  BF_TRY(make_layer(run, &layer, diagnostic));
  const uint32_t blocks = layer.inputs / SIDE;
  const uint64_t bytes = layer.inputs * sizeof(float);
  uint64_t input, weights, changes, deltas, partial;
  BF_TRY(bf_corpus_upload(device, layer.input, bytes, &input, diagnostic));
  BF_TRY(bf_corpus_upload(device, layer.weights, bytes * SIDE, &weights, diagnostic));
  BF_TRY(bf_corpus_upload(device, layer.changes, bytes * SIDE, &changes, diagnostic));
  BF_TRY(bf_corpus_upload(device, layer.deltas, sizeof layer.deltas, &deltas, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &partial, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, "backprop_forward", blocks, 1, SIDE, SIDE, diagnostic, &input,
                          &weights, &partial));
  BF_TRY(BF_CORPUS_LAUNCH(device, "backprop_adjust", blocks, 1, SIDE, SIDE, diagnostic, &input,
                          &deltas, &layer.rate, &layer.momentum, &weights, &changes));
  BF_TRY(check_forward(run, &layer, partial, outcome, diagnostic));
  return check_weights(run, &layer, weights, outcome, diagnostic);
}

const bf_corpus_benchmark bf_corpus_backprop[] = {
    {
        .name = "backprop",
        .folder = "backprop",
        .summary = "back propagation in a layer of 16 hidden units",
        .is_control = true,
        .run = run_backprop,
    },
    {0},
};
