/* Inside room search: hashes that software computes in a few instructions, all of them tried. */
#ifndef BF_SEARCH_TERMS_H
#define BF_SEARCH_TERMS_H

#include "search/exact.h"

/* a ^ ((a >> shift[0]) & mask[0]) ^ ((a >> shift[1]) & mask[1]) on bank bits. */
typedef struct bf_terms {
  unsigned shift[2];
  uint64_t mask[2];
  uint64_t cost;
  unsigned xor_inputs;
  bool found;
} bf_terms;

typedef struct bf_terms_query {
  bf_exact *exact; /* the problem, and the clock that ends the search early */
  unsigned terms;  /* 1 or 2 */
  bool row_only;   /* sources at or above the bank bits only */
  bool contiguous; /* the mask is one run no longer than the shift: a CuTe swizzle */
  uint64_t most;   /* only hashes of at most this cost */
} bf_terms_query;

/* All hashes of that many terms that the search allows. */
bf_terms_query bf_terms_query_of(bf_exact *exact, unsigned terms);
/* The cheapest by (cost, XOR inputs, shifts, masks), or the best so far where time ran out; found
 * is false if none costs at most `most`. */
int bf_terms_search(const bf_terms_query *query, bf_terms *best, bf_diagnostic *diagnostic);
/* Rows of the hash. */
void bf_terms_rows(const bf_terms *terms, const bf_geometry *geometry, uint64_t *row);

#endif
