/* The list of benchmarks, and what their drivers share. */
#include "kernels/corpus.h"
#include "base/guess.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The list ---- */

const bf_corpus_benchmark *bf_corpus_get(unsigned index) {
  for (const bf_corpus_folder *folder = bf_corpus_folders; folder->name; folder++)
    for (const bf_corpus_benchmark *at = folder->benchmarks; at->name; at++)
      if (index-- == 0)
        return at;
  return NULL;
}

const bf_corpus_benchmark *bf_corpus_find(const char *name) {
  const bf_corpus_benchmark *at;
  for (unsigned i = 0; (at = bf_corpus_get(i)) != NULL; i++)
    if (strcmp(at->name, name) == 0)
      return at;
  return NULL;
}

int bf_corpus_named(const char *name, const bf_corpus_benchmark **benchmark,
                    bf_diagnostic *diagnostic) {
  char likely[BF_GUESS_BYTES];
  bf_guess guess = bf_guess_begin(name);
  *benchmark = bf_corpus_find(name);
  if (*benchmark)
    return BF_OK;
  for (unsigned i = 0; bf_corpus_get(i); i++)
    bf_guess_offer(&guess, bf_corpus_get(i)->name, strlen(bf_corpus_get(i)->name));
  return bf_fail(diagnostic, BF_BAD_INPUT, "no benchmark '%s'%s; bankfold corpus lists them", name,
                 bf_guess_text(&guess, likely));
}

const char *bf_corpus_ptx(const char *folder) {
  for (const bf_corpus_folder *at = bf_corpus_folders; at->name; at++)
    if (strcmp(at->name, folder) == 0)
      return at->ptx;
  return NULL;
}

int bf_corpus_execute(const bf_corpus_benchmark *benchmark, const bf_device *device, unsigned scale,
                      unsigned seed, bf_corpus_outcome *outcome, bf_diagnostic *diagnostic) {
  bf_arena arena = {0};
  const bf_corpus_run run = {benchmark, &arena, device, scale, seed};
  *outcome = (bf_corpus_outcome){0};
  int error = benchmark->run(&run, outcome, diagnostic);
  bf_arena_free(&arena);
  return error;
}

/* ---- Random numbers ---- */

bf_corpus_random bf_corpus_seed(uint64_t seed) {
  /* An odd multiplier maps only one seed to 0, which xorshift cannot leave. */
  bf_corpus_random random = {(seed + 1) * UINT64_C(0x9e3779b97f4a7c15)};
  if (random.state == 0)
    random.state = 1;
  for (int i = 0; i < 8; i++)
    bf_corpus_next(&random);
  return random;
}

uint32_t bf_corpus_next(bf_corpus_random *random) {
  random->state ^= random->state >> 12;
  random->state ^= random->state << 25;
  random->state ^= random->state >> 27;
  return (uint32_t)((random->state * UINT64_C(0x2545f4914f6cdd1d)) >> 32);
}

float bf_corpus_uniform(bf_corpus_random *random) {
  return (float)(bf_corpus_next(random) >> 8) * 0x1p-24f;
}

void bf_corpus_fill_f32(bf_corpus_random *random, float low, float high, float *values,
                        uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    values[i] = low + (high - low) * bf_corpus_uniform(random);
}

void bf_corpus_repeat(void *array, uint64_t first_bytes, uint64_t bytes) {
  for (uint64_t at = first_bytes; at < bytes; at += first_bytes)
    memcpy((char *)array + at, array, first_bytes < bytes - at ? first_bytes : bytes - at);
}

void bf_corpus_fill_u32(bf_corpus_random *random, uint32_t *values, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    values[i] = bf_corpus_next(random);
}

/* ---- Devices ---- */

int bf_corpus_launch(const bf_device *device, const char *kernel, const uint32_t *sizes,
                     const void *const *parameter, unsigned parameters, bf_diagnostic *diagnostic) {
  const bf_device_launch launch = {
      .kernel = kernel,
      .grid = {sizes[0], sizes[1], 1},
      .block = {sizes[2], sizes[3], 1},
      .parameters = parameters,
      .parameter = parameter,
  };
  return device->launch(device->context, &launch, diagnostic);
}

int bf_corpus_upload(const bf_device *device, const void *bytes, uint64_t size, uint64_t *address,
                     bf_diagnostic *diagnostic) {
  BF_TRY(device->alloc(device->context, size, address, diagnostic));
  if (bytes)
    return device->write(device->context, *address, bytes, size, diagnostic);
  void *zeros = calloc(1, size ? size : 1);
  if (!zeros)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory for %llu bytes",
                   (unsigned long long)size);
  int error = device->write(device->context, *address, zeros, size, diagnostic);
  free(zeros);
  return error;
}

int bf_corpus_apply(const bf_device *device, const bf_corpus_map *map, bf_diagnostic *diagnostic) {
  uint64_t from, to;
  BF_TRY(bf_corpus_upload(device, map->input, map->input_bytes, &from, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, map->result_bytes, &to, diagnostic));
  const void *parameter[2 + sizeof map->number / sizeof *map->number] = {&from, &to};
  for (unsigned i = 0; i < map->numbers; i++)
    parameter[2 + i] = &map->number[i];
  const uint32_t sizes[] = {map->grid[0], map->grid[1], map->block[0], map->block[1]};
  BF_TRY(bf_corpus_launch(device, map->kernel, sizes, parameter, 2 + map->numbers, diagnostic));
  return device->read(device->context, to, map->result, map->result_bytes, diagnostic);
}

/* ---- Comparison ---- */

/* Adds one element to *outcome: its error, and whether that is too much. NaN equals only NaN. */
static void add_element(double result, double reference, double allowed_error, uint64_t index,
                        bf_corpus_outcome *outcome) {
  double error = 0;
  if (isnan(result) || isnan(reference))
    error = isnan(result) && isnan(reference) ? 0 : INFINITY;
  else if (result != reference)
    error = fabs(result - reference) / fmax(1, fabs(reference));
  outcome->elements++;
  if (error > outcome->worst_error)
    outcome->worst_error = error;
  if (!(error > allowed_error))
    return;
  if (outcome->wrong++ == 0)
    snprintf(outcome->first_wrong, sizeof outcome->first_wrong,
             "element %llu is %.9g, the reference %.9g", (unsigned long long)index, result,
             reference);
}

void bf_corpus_compare_u32(const uint32_t *result, const uint32_t *reference, uint64_t count,
                           bf_corpus_outcome *outcome) {
  for (uint64_t i = 0; i < count; i++)
    add_element(result[i], reference[i], 0, i, outcome);
}

void bf_corpus_compare_i16(const int16_t *result, const int16_t *reference, uint64_t count,
                           bf_corpus_outcome *outcome) {
  for (uint64_t i = 0; i < count; i++)
    add_element(result[i], reference[i], 0, i, outcome);
}

void bf_corpus_compare_bytes(const uint8_t *result, const uint8_t *reference, uint64_t count,
                             bf_corpus_outcome *outcome) {
  for (uint64_t i = 0; i < count; i++)
    add_element(result[i], reference[i], 0, i, outcome);
}

void bf_corpus_compare_f32(const float *result, const float *reference, uint64_t count,
                           double allowed_error, bf_corpus_outcome *outcome) {
  outcome->allowed_error = fmax(outcome->allowed_error, allowed_error);
  for (uint64_t i = 0; i < count; i++)
    add_element((double)result[i], (double)reference[i], allowed_error, i, outcome);
}

void bf_corpus_compare_f64(const double *result, const double *reference, uint64_t count,
                           double allowed_error, bf_corpus_outcome *outcome) {
  outcome->allowed_error = fmax(outcome->allowed_error, allowed_error);
  for (uint64_t i = 0; i < count; i++)
    add_element(result[i], reference[i], allowed_error, i, outcome);
}
