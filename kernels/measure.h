/* Benchmarks on the emulator, with what they do to shared memory. */
#ifndef BF_MEASURE_H
#define BF_MEASURE_H

#include "emu/emu.h"
#include "kernels/corpus.h"
#include "kernels/published.h"

typedef struct bf_corpus_settings {
  const bf_machine *machine;
  const bf_hash *hash; /* NULL: none */
  bool as_written;     /* count accesses as the PTX has them, not as ptxas merges them */
  unsigned scale, seed;
  unsigned workers;  /* 0: one per core */
  const char *ptx;   /* run instead of the benchmark's own; NULL: that */
  bool limits_exact; /* limits of time are for the exact search alone, so that other methods find
                        the same on every machine */
} bf_corpus_settings;

/* What one launch, or all together, did. */
typedef struct bf_corpus_launched {
  const char *kernel;
  uint64_t thread_instructions;
  uint64_t accesses, wavefronts_load, wavefronts_store, wavefronts_atomic, ideal, conflicts;
  bool estimated;
} bf_corpus_launched;

typedef struct bf_corpus_measured {
  bf_arena arena;
  bf_corpus_outcome outcome;
  double seconds; /* on the emulator */
  unsigned launches;
  bf_corpus_launched *launch;
  bf_corpus_launched total;
} bf_corpus_measured;

/* Runs a benchmark and counts wavefronts of every launch. Free with bf_arena_free(&arena). */
int bf_corpus_measure(const bf_corpus_benchmark *benchmark, const bf_corpus_settings *settings,
                      bf_corpus_measured *measured, bf_diagnostic *diagnostic);

/* The shared accesses of a benchmark as a workload that the caller frees. */
int bf_corpus_record(const bf_corpus_benchmark *benchmark, const bf_corpus_settings *settings,
                     bf_workload **workload, bf_diagnostic *diagnostic);

/* ---- The table of methods ---- */

/* Columns: the five of Table 5, and around them what they are compared with. */
typedef enum bf_corpus_column {
  BF_CORPUS_FIXED,      /* bits 0-4 with 5-9 */
  BF_CORPUS_BIT_VECTOR, /* from here on as BF_PUBLISHED_METHODS */
  BF_CORPUS_PERM_GIVARGIS,
  BF_CORPUS_PERM_IMBALANCE,
  BF_CORPUS_XOR_GIVARGIS,
  BF_CORPUS_XOR_IMBALANCE,
  BF_CORPUS_XOR_LITERAL, /* Givargis on pairs as published, bits that depend on each other included
                          */
  BF_CORPUS_PADDING,
  BF_CORPUS_EXACT,
  BF_CORPUS_COLUMNS
} bf_corpus_column;

extern const char *const bf_corpus_column_names[BF_CORPUS_COLUMNS];

typedef struct bf_corpus_cell {
  bool has; /* the method has an answer */
  uint64_t conflicts;
  char hash[120];
  bool proven;           /* no hash of the class leaves fewer on what it was made for */
  const char *published; /* the document's hash, or NULL */
  bool judged;           /* it fits the machine; words may share places */
  uint64_t published_conflicts;
} bf_corpus_cell;

/* Hashes found on the benchmark's accesses (seed 0) and what they leave. Where addresses depend on
 * the data, conflicts are those of ten other inputs (seeds 1 to 10). */
typedef struct bf_corpus_row {
  const bf_corpus_benchmark *benchmark;
  uint64_t accesses; /* of the inputs judged on */
  uint64_t conflicts;
  unsigned granule_bytes; /* of the widest access */
  bf_corpus_cell cell[BF_CORPUS_COLUMNS];
  double seconds;
} bf_corpus_row;

int bf_corpus_tabulate(const bf_corpus_benchmark *benchmark, const bf_corpus_settings *settings,
                       double time_limit_seconds, bf_corpus_row *row, bf_diagnostic *diagnostic);

/* Share of the conflicts removed where that many are left; 1 where there were none. */
double bf_corpus_removed(const bf_corpus_row *row, uint64_t conflicts);

#endif
