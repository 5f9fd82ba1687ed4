/* Inside room search: among hashes of equal cost, the cheapest to compute. */
#ifndef BF_SEARCH_CHEAPEST_H
#define BF_SEARCH_CHEAPEST_H

#include "search/exact.h"

/* Rows of a hash that costs no more than exact->functional: the best of that hash itself, written
 * with the fewest XOR inputs, of a lighter one of equal cost, and of all hashes of one and two
 * terms; fewest instructions first, then XOR inputs. */
int bf_cheapest(bf_exact *exact, uint64_t *row, bf_diagnostic *diagnostic);

/* Puts rows into the order of bank bits that takes the fewest instructions; the first `fixed` stay.
 */
void bf_cheapest_order(const bf_exact *exact, uint64_t *row);

#endif
