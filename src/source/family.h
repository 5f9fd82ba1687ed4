/* Inside room source: arrays and the parameters of functions that they are passed to. */
#ifndef BF_SOURCE_FAMILY_H
#define BF_SOURCE_FAMILY_H

#include "source/source.h"

/* Arrays, pointers into shared memory and parameters of functions that are given to each other:
 * what is done to the subscripts of one must be done to those of all. */
typedef struct bf_source_family {
  struct bf_source_family *next; /* of the source */
  bf_source_array *member;       /* those that are no parameters first; [0] stands for all */
  size_t members, capacity;
  size_t roots;  /* members that are no parameters */
  size_t *given; /* tokens at which members are passed to members */
  size_t givens, given_capacity;
  char problem[200]; /* why they cannot be told apart from others, or empty */
} bf_source_family;

/* The family of an array; of one that is passed to nobody, it is its only member. Functions are
 * followed only in .cu files: those of headers may be called from elsewhere. */
int bf_source_find_family(bf_source *source, const bf_source_array *array,
                          const bf_source_family **family, bf_diagnostic *diagnostic);
/* Whether the array is passed on at a token. */
bool bf_source_is_given(const bf_source_family *family, size_t token);
/* Whether tokens first to end-1 are an argument for a parameter of a function that is a reference.
 */
bool bf_source_is_bound(const bf_source *source, size_t first, size_t end);

/* The first token of the statement that holds index (declarations.c). */
size_t bf_source_statement(const bf_source *source, size_t index);
/* Fills scope_end, function and has_open_scope for a token. */
void bf_source_scope(const bf_source *source, size_t index, bf_source_array *array);
/* Whether token index is the name of the array, and not a member of something. */
bool bf_source_is_use(const bf_source *source, const bf_source_array *array, size_t index);

#endif
