/* gpu/ways: hashes of the benchmarks of the corpus, from a file of lines BENCHMARK WAY KERNEL HASH,
 * or KERNEL[ARRAY]; what follows on a line is not read. A way is one hash for each kernel of a
 * benchmark that it names; "plain" is the benchmark as it is. */
#ifndef BF_GPU_WAYS_H
#define BF_GPU_WAYS_H

#include "kernels/corpus.h"

#include "hash/hash.h"

typedef struct gpu_way_entry {
  char *benchmark, *way, *kernel;
  char *array;   /* NULL: the whole kernel */
  bf_hash *hash; /* NULL: the array is left alone */
  struct gpu_way_entry *next;
} gpu_way_entry;

/* Reads the entries of a file, the last one first; they live as long as the program. */
int gpu_ways_read(const char *path, gpu_way_entry **first, bf_diagnostic *diagnostic);

/* One benchmark in one way. */
typedef struct gpu_way {
  const bf_corpus_benchmark *benchmark;
  const char *way;
  const char *title; /* as which it is printed */
  const gpu_way_entry *entries;
} gpu_way;

/* Whether an entry is of that way, for that kernel (NULL: any). */
bool gpu_way_has(const gpu_way_entry *at, const gpu_way *s, const char *kernel);
/* Whether a kernel of the benchmark has a hash in that way. */
bool gpu_way_exists(const gpu_way *s);
/* The PTX of the benchmark in its way, which the caller frees. */
int gpu_way_ptx(gpu_way *s, bf_text *text, bf_diagnostic *diagnostic);

#endif
