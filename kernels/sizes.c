/* Benchmarks run on the emulator to count their instructions. */
#include "kernels/sizes.h"
#include "emu/emu.h"
#include "kernels/devices.h"

#include <stdlib.h>

struct bf_corpus_size {
  const bf_corpus_benchmark *benchmark;
  unsigned scale;
  uint64_t instructions;
};

static int add_instructions(void *sum, const bf_emu_launch *launch, const bf_emu_result *result,
                            bf_diagnostic *diagnostic) {
  (void)launch;
  (void)diagnostic;
  *(uint64_t *)sum += result->warp_instructions;
  return BF_OK;
}

static uint64_t count_instructions(const bf_corpus_benchmark *benchmark, unsigned scale,
                                   unsigned seed) {
  uint64_t sum = 0;
  bf_device device;
  bf_diagnostic diagnostic;
  bf_corpus_outcome outcome = {0};
  bf_emu_device_options options = {.workers = 1, .after = add_instructions, .context = &sum};
  const char *folder = benchmark->folder;
  if (bf_emu_device_create(folder, bf_corpus_ptx(folder), &options, &device, &diagnostic))
    return 0;
  bf_corpus_execute(benchmark, &device, scale, seed, &outcome, &diagnostic);
  bf_emu_device_free(&device);
  return sum;
}

uint64_t bf_corpus_sizes_get(bf_corpus_sizes *sizes, const bf_corpus_benchmark *benchmark,
                             unsigned scale, unsigned seed) {
  for (size_t i = 0; i < sizes->count; i++)
    if (sizes->size[i].benchmark == benchmark && sizes->size[i].scale == scale)
      return sizes->size[i].instructions;
  struct bf_corpus_size *grown = realloc(sizes->size, (sizes->count + 1) * sizeof *grown);
  if (!grown)
    return 0;
  sizes->size = grown;
  grown[sizes->count] =
      (struct bf_corpus_size){benchmark, scale, count_instructions(benchmark, scale, seed)};
  return grown[sizes->count++].instructions;
}

void bf_corpus_sizes_free(bf_corpus_sizes *sizes) { free(sizes->size); }
