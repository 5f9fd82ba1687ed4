/* search: one file per method. Each takes a problem (accesses as shapes) and finds a hash; bf_solve
 * in solve.c builds the problem, calls the method and checks the result with bf_memory_count. */
#ifndef BF_SEARCH_H
#define BF_SEARCH_H

#include "search/problem.h"

/* What a method found: rows of a linear hash, or padding. */
typedef struct bf_found {
  uint64_t row[BF_HASH_MAX_BANK_BITS];
  char text[64]; /* a form to print it in, "" for rows */
  uint64_t lower_bound;
  bool complete; /* every hash of the class was considered */
  uint64_t candidates_tested, candidates_total;
  unsigned chosen_count;
  uint64_t chosen[BF_HASH_MAX_BANK_BITS];
} bf_found;

int bf_search_bit_vector(const bf_problem *problem, const bf_cases *cases, bool all_candidates,
                         bf_found *found, bf_diagnostic *diagnostic);
/* literal: as published, also bits that depend on those chosen before. */
int bf_search_givargis(const bf_problem *problem, bool pairs, bool literal, bf_found *found,
                       bf_diagnostic *diagnostic);
int bf_search_min_imbalance(const bf_problem *problem, bool pairs, bf_found *found,
                            bf_diagnostic *diagnostic);
int bf_search_exact(const bf_problem *problem, const bf_solve_options *options, bf_found *found,
                    bf_diagnostic *diagnostic);
/* pad:ROW+P, or with the method modulo mod:N, with the fewest conflicts, then the fewest bytes
 * wasted; text is "none" if none helps. */
int bf_search_padding(const bf_cases *cases, const bf_solve_options *options,
                      uint64_t conflicts_before, const bf_search_watch *watch, bf_found *found,
                      uint64_t *bytes_wasted, bf_diagnostic *diagnostic);

/* Workloads made ready for several searches. */
typedef struct bf_prepared {
  bf_cases cases;
  bf_solve_case *item; /* of cases */
  bf_problem problem;
  uint64_t conflicts_before, wavefronts_before;
  double count_seconds; /* what counting all accesses takes: what judging a hash does */
  double started;       /* bf_seconds() */
  double limit_seconds; /* 0: none */
  double judge_until;   /* bf_seconds() at which counting a hash ends; 0: never */
  double share;         /* the least share of the accesses that anything was counted of */
} bf_prepared;

/* Takes the machine and the workload, and the further cases of options. */
int bf_search_list(const bf_machine *machine, const bf_workload *workload,
                   const bf_solve_options *options, bf_prepared *prepared,
                   bf_diagnostic *diagnostic);
/* Counts them and makes the problem; frees prepared where it fails. Where there is a time limit,
 * the problem of a long workload is a sample of it that fits the limit, and so are the accesses
 * that are counted where the limit does not suffice for all. */
int bf_search_prepare(const bf_solve_options *options, const bf_search_watch *watch,
                      bf_prepared *prepared, bf_diagnostic *diagnostic);
void bf_search_prepared_free(bf_prepared *prepared);
/* Tells the watch and the logger where conflicts are estimated. */
void bf_search_tell_share(const bf_prepared *prepared, const bf_solve_options *options,
                          const bf_search_watch *watch);
/* Runs the method of options until the watch's time; the hash is then judged, which takes
 * count_seconds more. */
int bf_search_run(bf_prepared *prepared, const bf_solve_options *options,
                  const bf_search_watch *watch, bf_solution *solution, bf_diagnostic *diagnostic);

/* Imbalance of a shape whose words are in bins by the bits chosen so far, if one more functional is
 * chosen: how far the bins are from equal, as a share of the words (Eq. 14 of braak16). The
 * new bit is the highest of the bin number. Where histogram is not NULL, the bins that hold words
 * are written to it; it has 2^(chosen+1) entries, zeroed by the caller. */
double bf_search_imbalance(const bf_shape *shape, const uint32_t *bin, uint64_t functional,
                           unsigned chosen, unsigned *histogram);

/* How many hashes there are of each class (Table 1 of braak16), as decimal logarithms. */
typedef struct bf_class_sizes {
  double all, xor_based, unique_xor, bit_vector, bit_vector_xor, permutation, bitwise_xor;
} bf_class_sizes;
bf_class_sizes bf_search_class_sizes(const bf_geometry *geometry);

#endif
