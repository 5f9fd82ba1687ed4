/* Inside room search: a workload as the searches see it.
 *
 * Every phase of every access becomes a shape: the words served together, moved by XOR so that one
 * of them is 0 (a linear hash only renames banks under such a move) and merged with equal ones. The
 * cost of a hash is the sum over shapes of weight * (f - ideal), f being the fullest bank, plus
 * square * (f * (f - 1) - ideal * (ideal - 1)) / 2. */
#ifndef BF_SEARCH_PROBLEM_H
#define BF_SEARCH_PROBLEM_H

#include "memory/memory.h"
#include "search/watch.h"

enum { BF_SHAPE_WORDS = 64 };

typedef struct bf_shape {
  uint32_t words;  /* entries of word; repeated ones where every access counts */
  uint32_t ideal;  /* wavefronts any placement needs */
  uint64_t weight; /* what one more in the fullest bank costs */
  uint64_t square; /* lock loops: what each pair in the fullest bank costs on top; at most weight */
  uint32_t *word;  /* ascending; word[0] is 0 */
} bf_shape;

typedef struct bf_problem {
  bf_arena arena;
  bf_geometry geometry;
  unsigned granule_bits; /* low word-address bits that a hash must keep */
  unsigned block_bits;   /* low bits that it may keep at no cost; at least granule_bits */
  bf_shape *shape;       /* heaviest first */
  size_t count;
  uint64_t used_bits;    /* address bits in which words of the workload differ */
  uint64_t highest_word; /* largest word address accessed */
  bool exact_model;      /* the cost is the number of conflicts, not only a lower bound of it */
  bool bound_valid;      /* the cost is never more than the number of conflicts */
  bool sampled;          /* some accesses of the workload are left out */
  bool is_part;   /* of another problem: only what it costs at least is asked for (parts.h) */
  uint64_t least; /* what every hash costs at least, by spectrum.h; of all accesses */
  const bf_search_watch *watch; /* or NULL */
} bf_problem;

/* What a hash is to serve: accesses on machines of one geometry, numbered through all cases. */
typedef struct bf_cases {
  const bf_solve_case *item;
  size_t count;
} bf_cases;
/* Accesses of all cases. */
size_t bf_cases_size(const bf_cases *cases);
/* The access of that number, and whose it is. */
const bf_access *bf_cases_get(const bf_cases *cases, size_t index, size_t *which);

/* How often accesses are made, how wide the widest is, and where the last of them ends. */
typedef struct bf_extent {
  uint64_t executions, end_bytes;
  unsigned widest_bytes;
} bf_extent;
bf_extent bf_cases_extent(const bf_cases *cases);

/* Builds the problem of a workload on a machine. granule_bytes as in bf_solve_options. */
int bf_problem_build(const bf_machine *machine, const bf_workload *workload, unsigned granule_bytes,
                     bf_problem *problem, bf_diagnostic *diagnostic);
/* The same of at most that many accesses, spread over those of all cases: its cost is then that of
 * a part, and never more than that of the whole. It is a smaller part where the time of the watch
 * (or NULL) is up before or its listener says stop. Those left out still count for the bound
 * `least`, as far as there is time. */
int bf_problem_sample(const bf_cases *cases, unsigned granule_bytes, size_t most,
                      const bf_search_watch *watch, bf_problem *problem, bf_diagnostic *diagnostic);
void bf_problem_free(bf_problem *problem);
/* At most that many shapes, spread over those of a problem, which is borrowed; free thin->shape. */
int bf_problem_thin(const bf_problem *problem, size_t most, bf_problem *thin,
                    bf_diagnostic *diagnostic);

/* f * (f - 1) / 2. */
static inline uint64_t bf_shape_pairs(uint64_t f) { return f * (f - 1) / 2; }

/* The greatest number that divides both; the other where one is 0. */
static inline uint64_t bf_common_factor(uint64_t a, uint64_t b) {
  while (b) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Cost of the XOR hash with the given rows: the reference, one histogram per shape. */
uint64_t bf_problem_cost(const bf_problem *problem, const uint64_t *row);
/* What every hash that keeps the low `fixed` bits costs at least, by pairs of words (spectrum.h),
 * as far as about so many seconds of a core tell. 0: nothing is known. */
uint64_t bf_problem_pairs(const bf_problem *problem, unsigned fixed, double seconds);
/* Conflicts of a whole workload under a hash, as bf_memory_count counts them. */
int bf_problem_conflicts(const bf_machine *machine, const bf_workload *workload,
                         const bf_hash *hash, uint64_t *conflicts, bf_diagnostic *diagnostic);
/* Those of all cases; wavefronts too where that is not NULL. */
int bf_cases_conflicts(const bf_cases *cases, const bf_hash *hash, uint64_t *conflicts,
                       uint64_t *wavefronts, bf_diagnostic *diagnostic);
/* What accesses cost; those that are not counted as those that are, by how often they are made. */
typedef struct bf_estimate {
  uint64_t conflicts, wavefronts;
  double share; /* of the accesses that was counted; 1: all */
} bf_estimate;
/* The same of as many accesses, spread over all, as there is time for until then (bf_seconds(); 0:
 * all of them), of data that are moved so (joint.h; NULL: they are not). Few thousand are always
 * counted whole. */
int bf_cases_estimate(const bf_cases *cases, const bf_hash *hash, const bf_joint *how, double until,
                      bf_estimate *estimate, bf_diagnostic *diagnostic);
/* Those of every step-th access, given up once above `most` or late; UINT64_MAX then. */
uint64_t bf_cases_conflicts_part(const bf_cases *cases, const bf_hash *hash, size_t step,
                                 uint64_t most, const bf_search_watch *watch);

/* Coordinates of the space that the shapes span: coordinate i of a word is its bit number bit[i],
 * and a functional over coordinates reads just those address bits. The first `kept` coordinates are
 * the address bits 0..kept-1 whether used or not. */
typedef struct bf_coordinates {
  unsigned dimension, kept;
  uint8_t bit[BF_GF2_MAX];
  uint64_t basis[BF_GF2_MAX]; /* the word whose only coordinate is i */
} bf_coordinates;
bf_coordinates bf_problem_coordinates(const bf_problem *problem, unsigned kept);
/* The coordinates of a word of a shape. */
uint32_t bf_coordinates_of(const bf_coordinates *coordinates, uint32_t word);
/* The functional over address bits that a functional over coordinates stands for. */
uint64_t bf_coordinates_lift(const bf_coordinates *coordinates, uint32_t functional);
/* What a functional over address bits is on the space. */
uint32_t bf_coordinates_project(const bf_coordinates *coordinates, uint64_t row);

#endif
