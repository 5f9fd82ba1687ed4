/* Inside room search: the parts of the exact solver and what they share. */
#ifndef BF_SEARCH_EXACT_H
#define BF_SEARCH_EXACT_H

#include "search/kernel.h"

#include <pthread.h>
#include <stdatomic.h>

/* One search for m functionals over coordinates. The first `fixed` of them are coordinates
 * 0..fixed-1 themselves and the others do not use these (a granule stays together). In a row
 * search functional i is coordinate i plus coordinates from m on. */
typedef struct bf_exact {
  const bf_problem *problem;
  const bf_kernel *kernel;
  bf_coordinates coordinates;
  bf_planes planes;
  unsigned m, fixed;
  bool row;
  pthread_mutex_t lock;
  atomic_uint_fast64_t best;               /* cost of functional[], the upper bound */
  uint32_t functional[BF_MAX_FUNCTIONALS]; /* best so far, under lock */
  atomic_bool stop;                        /* asked to stop, or proven */
  atomic_bool proven;
  atomic_bool out_of_memory;
  atomic_bool leave;       /* workers of the search over null spaces are to join the other */
  _Atomic double improved; /* bf_seconds() of the last better hash */
  const bf_solve_options *options;
  atomic_uint_fast64_t pairs; /* the bound of pairs or of parts, once there was time for it */
  double started, deadline;   /* deadline 0: none */
  double reported;            /* when progress was last told; calling thread only */
  uint64_t lower;             /* what is proven so far; calling thread only */
} bf_exact;

/* True once the search must end: asked to, or the time is up. Any thread. */
bool bf_exact_stopped(bf_exact *exact);
/* The same, and now and then reports progress, which may ask to stop. Calling thread only. */
bool bf_exact_poll(bf_exact *exact);

/* Takes the functionals if they cost less than the best so far. */
void bf_exact_offer(bf_exact *exact, const uint32_t *functional, uint64_t cost);

/* Local search: replaces one functional at a time by the best of all. Bounded work and the same
 * result on every run, or, with until_stopped, until somebody stops the search. */
int bf_exact_local_search(bf_exact *exact, bool until_stopped, bf_diagnostic *diagnostic);

/* Branch and bound over functionals. prepare lists the first functionals; work takes them one by
 * one until all are done or stop; rounds (rounds.h) says how far it is. */
struct bf_rounds;
typedef struct bf_columns bf_columns;
int bf_columns_prepare(bf_exact *exact, bf_columns **columns, bf_diagnostic *diagnostic);
void bf_columns_work(bf_columns *columns);
struct bf_rounds *bf_columns_rounds(bf_columns *columns);
/* Whether it tries the last two functionals all at once (pencil.h). */
bool bf_columns_is_fast(const bf_columns *columns);
void bf_columns_free(bf_columns *columns);

/* Branch and bound over the null space: the words that share word 0's bank. */
typedef struct bf_nulls bf_nulls;
int bf_nulls_prepare(bf_exact *exact, bf_nulls **nulls, bf_diagnostic *diagnostic);
void bf_nulls_work(bf_nulls *nulls);
uint64_t bf_nulls_lower(const bf_nulls *nulls);
void bf_nulls_free(bf_nulls *nulls);
/* Among hashes that cost at most exact->best, one with the fewest coordinates XORed into its
 * functionals, looked for through a bounded number of nodes. False if there is none with fewer
 * than `most`. */
bool bf_nulls_lightest(bf_exact *exact, unsigned most, uint32_t *functional);

/* The same, the last two vectors all at once (fold.h). *folds is NULL where the problem does not
 * fit it. */
typedef struct bf_folds bf_folds;
int bf_folds_prepare(bf_exact *exact, bf_folds **folds, bf_diagnostic *diagnostic);
void bf_folds_work(bf_folds *folds);
/* Whether no difference of words is much more frequent than others, as in random accesses: folds
 * are then the faster proof. */
bool bf_folds_is_even(const bf_folds *folds);
/* Whether nodes are folded by shallow.h, which is several times as fast. */
bool bf_folds_is_shallow(const bf_folds *folds);
struct bf_rounds *bf_folds_rounds(bf_folds *folds);
void bf_folds_free(bf_folds *folds);

/* The largest dimension each can handle. */
enum { BF_COLUMNS_MAX_DIMENSION = 20, BF_NULLS_MAX_DIMENSION = 16, BF_FOLDS_MAX_DIMENSION = 14 };

#endif
