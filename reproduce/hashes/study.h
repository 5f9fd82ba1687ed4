/* Benchmarks under hashes of the banks: what is found and simulated of them, and what follows. */
#ifndef BF_HASHES_STUDY_H
#define BF_HASHES_STUDY_H

#include "kernels/measure.h"
#include "reproduce/reproduce.h"
#include "sim/sim.h"

enum { SUBJECTS = 22, DESCRIBED = 3, INPUTS = 10, MOST_SCALE = 32 };

typedef enum hashes_method {
  NONE,
  FIXED,
  BIT_VECTOR,
  PERM_GIVARGIS,
  PERM_IMBALANCE,
  XOR_GIVARGIS,
  XOR_LITERAL,
  XOR_IMBALANCE,
  EXACT,
  METHODS
} hashes_method;

/* Where the hash of a method stands in a row of the corpus, and what was published: percent of the
 * conflicts removed on average (Table 6) and the geometric mean of the speed-ups (section 7.1). */
typedef struct hashes_column {
  const char *name;
  bf_corpus_column column;
  double removed, speedup;
} hashes_column;
extern const hashes_column hashes_methods[METHODS];

typedef struct hashes_time {
  double cycles, conflicts;
  double instructions, accesses; /* warp instructions, and those that access shared memory */
} hashes_time;

/* A benchmark with what was found. */
typedef struct hashes_subject {
  const char *published_name;
  const bf_corpus_benchmark *benchmark;
  bf_corpus_row row;
  unsigned scale, inputs;
  hashes_time at[METHODS][INPUTS];
} hashes_subject;

/* What simulations have in common. */
typedef struct hashes_setup {
  bf_sim_gpu *gpu;
  bf_sim_gpu *fixed_gpu; /* the same GPU whose hash cannot be changed */
  uint64_t instructions; /* warp instructions that a simulation should have */
} hashes_setup;

typedef struct hashes_study {
  hashes_setup setup;
  double search_seconds; /* for each exact search */
  unsigned subjects;     /* ours, one for each published name */
  hashes_subject subject[SUBJECTS + DESCRIBED];
  unsigned all_subjects; /* with those behind them that are as described */
} hashes_study;

/* ---- Simulating ---- */

/* A hashed access takes one cycle more; that of a fixed hash does not (section 4.5). */
int hashes_set_up(hashes_setup *setup, uint64_t instructions, bf_diagnostic *diagnostic);
void hashes_tear_down(hashes_setup *setup);
/* The scale at which a benchmark has enough instructions: blocks should be many more than fit on
 * the GPU, so that it matters little which multiprocessor gets the last ones. */
int hashes_choose_scale(const hashes_setup *setup, const bf_corpus_benchmark *benchmark,
                        unsigned *scale, bf_diagnostic *diagnostic);
/* Simulates a benchmark under the hash that text describes; NULL: none. */
int hashes_simulate(const bf_sim_gpu *gpu, const bf_corpus_benchmark *benchmark, unsigned scale,
                    const char *text, unsigned seed, hashes_time *time, bf_diagnostic *diagnostic);
/* The benchmarks that stand for those of the document; quick runs take three. */
void hashes_choose_subjects(hashes_study *study, bool quick);
/* Tasks: the hashes of subject `index`, and piece `index` of the simulations, which is one input of
 * one benchmark under one method. */
int hashes_find(void *context, unsigned index, bf_diagnostic *diagnostic);
int hashes_simulate_piece(void *context, unsigned index, bf_diagnostic *diagnostic);

/* ---- What follows ---- */

/* The hash of a method, or NULL: none, or the method has no answer. */
const char *hashes_hash_of(const hashes_subject *subject, unsigned method);
/* How many times as fast a benchmark is, averaged over its inputs. */
double hashes_speedup_of(const hashes_subject *subject, unsigned method);
/* Percent of the conflicts that are gone. */
double hashes_removed_of(const hashes_subject *subject, unsigned method);
double hashes_mean_speedup(const hashes_study *study, unsigned method);
double hashes_mean_removed(const hashes_study *study, unsigned method);
/* The study with the kernels that are as described in the place of ours. */
hashes_study hashes_with_described(const hashes_study *study);
/* Ours that stands for a benchmark of the document, or NULL. */
const hashes_subject *hashes_find_subject(const hashes_study *study, const char *published_name);

/* ---- Reports ---- */

/* Figs. 8 and 9 as charts and tables, and a table of all simulations. */
int hashes_show(bf_reproduce_run *run, const hashes_study *study, bf_diagnostic *diagnostic);
/* What sections 7.1 and 9 say of conflicts and speed-ups. */
void hashes_claim(bf_reproduce_run *run, const hashes_study *study);
/* What is said of single benchmarks, with simulations that explain where it differs. */
int hashes_claim_single(bf_reproduce_run *run, const hashes_study *study,
                        bf_diagnostic *diagnostic);
/* The reproduction of the extra cycle's cost. */
int hashes_reproduce_cycle(bf_reproduce_run *run, bf_diagnostic *diagnostic);

#endif
