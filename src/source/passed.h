/* Inside room source: arrays that are passed to functions. */
#ifndef BF_SOURCE_PASSED_H
#define BF_SOURCE_PASSED_H

#include "source/source.h"

/* Whether the use of an array at a token is that it is passed to a function of the source which is
 * given nothing else there by anybody: then inner is its parameter as an array, whose uses in the
 * body are uses of the array. Only in .cu files: functions of headers may be called from
 * elsewhere. */
bool bf_source_passed(const bf_source *source, const bf_source_array *array, size_t use,
                      bf_source_array *inner);
/* The first token of the statement that holds index (declarations.c). */
size_t bf_source_statement(const bf_source *source, size_t index);

#endif
