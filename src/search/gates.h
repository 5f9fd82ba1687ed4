/* Inside room search: hashes of few gates. */
#ifndef BF_SEARCH_GATES_H
#define BF_SEARCH_GATES_H

#include "search/exact.h"

/* Rows of a hash of minimum cost among those of at most `most` 2-input XORs, and that cost.
 * *complete: all were considered before time was up. */
int bf_gates_search(bf_exact *exact, unsigned most, uint64_t *row, uint64_t *cost, bool *complete,
                    bf_diagnostic *diagnostic);

#endif
