/* Memory of shallow folds; the nodes themselves are folded by shallow_gfni.c. */
#include "search/shallow.h"

#include <stdlib.h>
#include <string.h>

/* Chunks of the shapes, which come heaviest first. */
static unsigned count_chunks(const bf_problem *problem) {
  unsigned chunks = 0;
  size_t first = 0;
  for (size_t s = 0; s < problem->count; s++)
    if (s == 0 || s - first == BF_SHALLOW_CHUNK ||
        problem->shape[s].weight != problem->shape[first].weight) {
      first = s;
      chunks++;
    }
  return chunks;
}

bool bf_shallow_fits(const bf_problem *problem) {
  for (size_t s = 0; s < problem->count; s++)
    if (problem->shape[s].ideal != 1 || problem->shape[s].square)
      return false;
  return count_chunks(problem) <= BF_SHALLOW_CHUNKS;
}

bf_shallow *bf_shallow_new(const bf_problem *problem, uint64_t factor) {
  bf_shallow *shallow = aligned_alloc(64, (sizeof *shallow + 63) / 64 * 64);
  if (!shallow)
    return NULL;
  memset(shallow, 0, sizeof *shallow);
  size_t bytes = (count_chunks(problem) * sizeof *shallow->chunk + 63) / 64 * 64;
  shallow->chunk = aligned_alloc(64, bytes);
  if (!shallow->chunk) {
    free(shallow);
    return NULL;
  }
  memset(shallow->chunk, 0, bytes);
  shallow->factor = factor;
  bf_shallow_chunk *last = NULL;
  for (size_t s = 0; s < problem->count; s++) {
    uint64_t weight = problem->shape[s].weight / factor;
    if (!last || last->count == BF_SHALLOW_CHUNK || last->weight != weight) {
      last = &shallow->chunk[shallow->chunks++];
      last->weight = weight;
    }
    last->count++;
  }
  return shallow;
}

void bf_shallow_free(bf_shallow *shallow) {
  if (!shallow)
    return;
  free(shallow->chunk);
  free(shallow);
}

void bf_shallow_clear(bf_shallow_chunk *chunk) { memset(chunk->has, 0, sizeof chunk->has); }

void bf_shallow_put(bf_shallow_chunk *chunk, unsigned s, const uint16_t *code, const uint8_t *words,
                    unsigned count, unsigned q) {
  uint64_t set[BF_SHALLOW_WORDS][4] = {{0}}; /* in words of 64 points, the halves one after other */
  unsigned below = (1u << q) - 1, most = 0;
  for (unsigned i = 0; i < count; i++) {
    unsigned point = (code[i] & below) | (code[i] >> 1 & ~below);
    unsigned at = (code[i] >> q & 1) * 2 + point / 64;
    for (unsigned k = 0; k < BF_SHALLOW_WORDS; k++)
      set[k][at] |= (uint64_t)(words[i] > k) << point % 64;
    most = words[i] > most ? words[i] : most;
  }
  for (unsigned k = 0; k < BF_SHALLOW_WORDS; k++)
    for (unsigned half = 0; half < 2; half++)
      chunk->at_least[k][half][s] = (bf_points){set[k][2 * half], set[k][2 * half + 1]};
  for (unsigned l = 0; l + 2 <= most && l < BF_SHALLOW_LEVELS; l++)
    chunk->has[l] |= (uint64_t)1 << s;
}

const bf_shallow_kernel *bf_shallow_kernel_best(void) {
#if defined(__x86_64__) && !defined(BF_NO_SIMD)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi") &&
      __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vpopcntdq") &&
      __builtin_cpu_supports("gfni"))
    return &bf_shallow_gfni;
#endif
  return NULL;
}
