/* Inside room analyze: whether the conflicts of an access are the same whatever is not known of it.
 */
#ifndef BF_ANALYZE_SETTLE_H
#define BF_ANALYZE_SETTLE_H

#include "analyze/walk.h"

/* An address or another number as what is known in each lane, or differs between lanes, and what is
 * the same, but unknown, for all of a warp. */
typedef struct bf_parts {
  bf_expression lanes, offset;
  uint64_t step_bytes; /* the power of two that divides the offset; 0: there is none */
} bf_parts;
bf_parts bf_walk_take_apart(bf_expressions *values, bf_expression value);

/* What is kept between accesses of an analysis; NULL: memory is exhausted. free() frees it. */
typedef struct bf_settling bf_settling;
bf_settling *bf_settling_create(void);

/* Whether an access of a site, which record led to, has the same conflicts on the machine of the
 * options for all offsets and all lanes that may take part. false: that is not shown. */
bool bf_walk_settles(bf_walk *walk, bf_settling *settling, const bf_record *record,
                     const bf_analyze_site *site, const bf_analyze_access *access);

#endif
