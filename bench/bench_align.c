/* How fast the best bases of a 976x976 matrix among 0..5000000 are found: with symmetry, without,
 * and by counting every word at every base (timed on a sample of bases and extrapolated). Prints
 * one JSON line. factor_promised is bases / representatives; factor_measured is the time without
 * symmetry over the time with it. */
#include "search/align.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS = 5, SAMPLE = 40 };
static const uint64_t last_base = 5000000;
static const bf_align_pattern pattern = {976, 976, 1, 976, true};

/* Least time of RUNS searches; *alignment is of the last. */
static double time_search(const bf_hash *hash, bool use_symmetry, bf_alignment *alignment) {
  double best = 1e300;
  for (int i = 0; i < RUNS; i++) {
    bf_diagnostic diagnostic;
    double start = bf_seconds();
    if (bf_align_search(hash, &pattern, 0, last_base, use_symmetry, alignment, &diagnostic)) {
      fprintf(stderr, "bench_align: %s\n", diagnostic.message);
      exit(1);
    }
    double seconds = bf_seconds() - start;
    best = seconds < best ? seconds : best;
    if (i + 1 < RUNS)
      bf_alignment_clear(alignment);
  }
  return best;
}

/* Conflicts of one strided pattern, word by word; taken has one entry per bank. */
static uint64_t count_words(const bf_hash *hash, uint64_t base, uint64_t stride, uint64_t count,
                            bool *taken, size_t banks) {
  uint64_t conflicts = 0;
  memset(taken, 0, banks);
  for (uint64_t i = 0; i < count; i++) {
    uint32_t bank = bf_hash_bank(hash, base + stride * i);
    conflicts += taken[bank];
    taken[bank] = true;
  }
  return conflicts;
}

static uint64_t count_matrix(const bf_hash *hash, uint64_t base, bool *taken, size_t banks) {
  uint64_t conflicts = 0;
  for (uint64_t p = 0; p < pattern.patterns; p++)
    conflicts +=
        count_words(hash, base + pattern.distance * p, pattern.stride, pattern.count, taken, banks);
  for (uint64_t i = 0; i < pattern.count; i++)
    conflicts += count_words(hash, base + pattern.stride * i, pattern.distance, pattern.patterns,
                             taken, banks);
  return conflicts;
}

/* Seconds per base, over bases spread evenly over the range. *least is the fewest conflicts met. */
static double time_naive(const bf_hash *hash, size_t banks, uint64_t *least) {
  bool *taken = malloc(banks);
  if (!taken)
    exit(1);
  double start = bf_seconds();
  *least = UINT64_MAX;
  for (uint64_t i = 0; i < SAMPLE; i++) {
    uint64_t conflicts = count_matrix(hash, last_base * i / SAMPLE, taken, banks);
    *least = conflicts < *least ? conflicts : *least;
  }
  double seconds = (bf_seconds() - start) / SAMPLE;
  free(taken);
  return seconds;
}

int main(void) {
  bf_geometry geometry = {13, 26, 4};
  bf_hash *hash;
  if (bf_hash_parse("xor:0,13,8191", &geometry, &hash, NULL) != BF_OK)
    return 1;
  bf_alignment fast, full;
  double fast_seconds = time_search(hash, true, &fast);
  double full_seconds = time_search(hash, false, &full);
  uint64_t least;
  double naive_seconds = time_naive(hash, (size_t)1 << geometry.bank_bits, &least);
  bool agree = bf_align_same(&fast, &full) && least >= fast.conflicts;
  printf("{\"bench\": \"align\", \"matrix\": \"976x976\", \"conflicts\": %llu, \"agree\": %s, "
         "\"bases\": %llu, \"evaluated\": %llu, \"factor_promised\": %.2f, "
         "\"factor_measured\": %.2f, \"symmetric_seconds\": %.6f, \"full_seconds\": %.6f, "
         "\"naive_sample_bases\": %d, \"naive_extrapolated_seconds\": %.0f, "
         "\"factor_naive_extrapolated\": %.0f}\n",
         (unsigned long long)fast.conflicts, agree ? "true" : "false",
         (unsigned long long)fast.bases, (unsigned long long)fast.evaluated,
         (double)fast.bases / (double)fast.evaluated, full_seconds / fast_seconds, fast_seconds,
         full_seconds, (int)SAMPLE, naive_seconds * (double)fast.bases,
         naive_seconds * (double)fast.bases / fast_seconds);
  bf_alignment_clear(&fast);
  bf_alignment_clear(&full);
  bf_hash_free(hash);
  return agree ? 0 : 1;
}
