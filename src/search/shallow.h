/* Inside room search: nodes folded (fold.h) where hardly a point holds more than three words.
 *
 * Words at random, spread over 128 points, come two or three to the fullest. Then what a vector v
 * of the folded node forces - two, three or four words in one bank - mostly is known before folding
 * by u: two words and a third that are v or v ^ u away from each other make three together under
 * both. So units of the node above are made once and folded for each u like points; what u adds
 * starts from points that it merges, two for each shape. More than four words in a bank are not
 * told from four: what is forced is a bound.
 *
 * Shapes of equal weight stand in chunks of 64: which of them a vector forces is a word for each
 * chunk, and the bound of a plane is a number of bits. Folding needs instructions that move bits in
 * bytes and bytes in registers (GFNI, AVX-512 VBMI). */
#ifndef BF_SEARCH_SHALLOW_H
#define BF_SEARCH_SHALLOW_H

#include "search/fold.h"

enum {
  BF_SHALLOW_CHUNK = 64,
  BF_SHALLOW_CHUNKS = 8,
  BF_SHALLOW_WORDS = 3,  /* points are sets of those with at least 1 to 3 words */
  BF_SHALLOW_LEVELS = 3, /* units: two, three and four words in a bank */
};

/* Up to 64 shapes of equal weight. Levels and words are numbered from 0: level l is 2 + l words. */
typedef struct bf_shallow_chunk {
  uint64_t weight;                    /* divided by the factor */
  unsigned count;                     /* of shapes; what is kept of more than these is zero */
  uint64_t has[BF_SHALLOW_LEVELS];    /* of the node above: shapes with a point of so many words */
  uint64_t forced[BF_SHALLOW_LEVELS]; /* shapes that N itself forces */
  /* The node above, in halves: bit q of points and of vectors not set, and set. */
  _Alignas(64) bf_points at_least[BF_SHALLOW_WORDS][2][BF_SHALLOW_CHUNK];
  bf_points unit[BF_SHALLOW_LEVELS][2][BF_SHALLOW_CHUNK];
  /* The folded node: for each shape its points with 1 and 2 words or more, the vectors that force
   * three and four, and those that force two; points that the fold merged. */
  bf_points points[BF_SHALLOW_CHUNK][2], forces[BF_SHALLOW_CHUNK][2], pairs[BF_SHALLOW_CHUNK];
  bf_points merged[BF_SHALLOW_CHUNK], merged_three[BF_SHALLOW_CHUNK], three[BF_SHALLOW_CHUNK];
  uint64_t turned[BF_SHALLOW_LEVELS][BF_FOLD_POINTS]; /* shapes that a vector forces, with N */
  /* Shapes with 1 to 3 words or more at a point, and at a point or the one that is u away. */
  uint64_t words[BF_SHALLOW_WORDS][BF_FOLD_POINTS], joined[BF_SHALLOW_WORDS][BF_FOLD_POINTS];
} bf_shallow_chunk;

typedef struct bf_shallow {
  unsigned chunks;
  bf_shallow_chunk *chunk;
  uint64_t factor;   /* that all weights share */
  bf_points allowed; /* vectors that may be chosen */
  uint64_t seen;     /* what the units of the node above cost, divided by the factor */
  bf_points alive;   /* of the folded node: vectors that cost less than was asked */
  bool has_units;    /* of the node above */
  bool is_laid;      /* words of the chunks are those of the folded node */
} bf_shallow;

typedef struct bf_shallow_kernel {
  /* Begins with the node whose points are set, before it is folded. */
  void (*open)(bf_shallow *shallow);
  /* Folds by a vector whose bits below q are t. False if no vector, with N, has units that cost
   * less than `below`, divided by the factor. */
  bool (*fold)(bf_shallow *shallow, unsigned t, uint64_t below);
  /* The v of `others` for which planes with u cost less than `below` as far as units tell; found
   * has room for all points. No v has the highest bit of u, and all have a higher one. Returns how
   * many. */
  unsigned (*planes)(bf_shallow *shallow, unsigned u, const bf_points *others, uint64_t below,
                     uint8_t *found);
} bf_shallow_kernel;

#if defined(__x86_64__)
extern const bf_shallow_kernel bf_shallow_gfni;
#endif
/* NULL where this processor has none. */
const bf_shallow_kernel *bf_shallow_kernel_best(void);

/* Memory for the shapes of a problem that fits fold.h; NULL when out of memory. fits says whether
 * there can be any. */
bool bf_shallow_fits(const bf_problem *problem);
bf_shallow *bf_shallow_new(const bf_problem *problem, uint64_t factor);
void bf_shallow_free(bf_shallow *shallow);

/* No words of any shape yet. */
void bf_shallow_clear(bf_shallow_chunk *chunk);
/* Puts the points of a chunk's shape number s, and how many words each holds, into halves by bit q,
 * which is taken out of their codes. */
void bf_shallow_put(bf_shallow_chunk *chunk, unsigned s, const uint16_t *code, const uint8_t *words,
                    unsigned count, unsigned q);

#endif
