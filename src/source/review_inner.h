/* Inside room source: changes to a declaration that kernels share. */
#ifndef BF_SOURCE_REVIEW_INNER_H
#define BF_SOURCE_REVIEW_INNER_H

#include "source/review.h"

/* What can be done to an array: its own suggestions or, where kernels share its declaration, those
 * for the accesses of all of them. */
int bf_review_suggest_shared(const bf_review *review, const bf_review_array *array,
                             bf_suggestions *found, bf_diagnostic *diagnostic);
/* The map that the text of a change means for another array with the same declaration; false where
 * it cannot be written for both. */
bool bf_review_adapt(const bf_index_map *map, const bf_shared_array *from,
                     const bf_shared_array *to, bf_index_map *own);
/* Whether what is done to an array (array->patched) suits another kernel with the same declaration:
 * it can be written for both, and leaves no more conflicts there than there are. */
int bf_review_suits(const bf_review *review, const bf_review_array *array,
                    const bf_review_array *other, bool *is_fine, bf_diagnostic *diagnostic);
/* Whether readable, as ns::reduce<int, 64>, is the function that token index names. */
bool bf_review_is_function(const bf_source *source, size_t index, const char *readable);
/* Whether a line is part of a statement that has one of the uses. */
bool bf_review_is_of_use(const bf_source *source, const bf_source_use *use, size_t uses,
                         uint64_t line);
/* The number of the kernel of an array; the number of kernels where it has none. */
size_t bf_review_kernel(const bf_review *review, const bf_review_array *array);
/* The same array in another review, or NULL. */
const bf_review_array *bf_review_same(const bf_review *review, const bf_review_array *array);
/* Makes arrays of the pointers that kernels carve open arrays with. */
int bf_review_carve(bf_review *review, bf_diagnostic *diagnostic);

#endif
