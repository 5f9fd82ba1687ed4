/* Inside room search: the lightest space of functionals, where each functional has a weight.
 *
 * A space of dimension k is met by its lightest functional f first; what is left is a space of
 * dimension k - 1 modulo f, in which a functional weighs as much as the two that it stands for.
 * Where the lightest functional is number i of those in order, the space weighs at least as much as
 * number i and the 2^k - 2 after it. */
#ifndef BF_SEARCH_LIGHTEST_H
#define BF_SEARCH_LIGHTEST_H

#include <stdbool.h>

/* What the functionals other than 0 of every space of dimension k weigh at least, of the 2^bits
 * with those weights; the least itself where that is found in `work` additions. k is 1 to 8 and at
 * most bits. False when out of memory. */
bool bf_lightest_space(const double *weight, unsigned bits, unsigned k, double work, double *least);

#endif
