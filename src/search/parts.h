/* Inside room search: a bound from parts of the workload.
 *
 * What a hash costs is the sum over the shapes, so that it costs at least the sum of what each of
 * several parts of them costs under the best hash for that part alone. Parts are proven soon where
 * a whole is not: 128 strides take for ever, each 16 of them a moment. Parts begin small and are
 * joined two by two, as long as there is time; a part that is not proven counts with its bound, or
 * with those of the two that it was joined of. */
#ifndef BF_SEARCH_PARTS_H
#define BF_SEARCH_PARTS_H

#include "search/exact.h"

/* Raises exact->pairs to what the parts cost, by about so many seconds. */
void bf_parts_bound(bf_exact *exact, double seconds);

#endif
