/* source/subscript: an element of a shared array as CUDA source has it,
 * tile[threadIdx.x][threadIdx.y + 1], and where it is for each thread of a block: what `bankfold
 * explain` explains without a file. */
#ifndef BF_SOURCE_SUBSCRIPT_H
#define BF_SOURCE_SUBSCRIPT_H

#include "access/access.h"
#include "base/base.h"
#include "memory/memory.h"

enum { BF_SUBSCRIPT_MOST_DIMENSIONS = 8, BF_SUBSCRIPT_MOST_NAMES = 64 };

/* An array: float[32][33], with all of its sizes, or with none known for the first, [][33]. */
typedef struct bf_subscript_array {
  char type[64];
  unsigned element_bytes;
  unsigned dimensions;
  uint64_t size[BF_SUBSCRIPT_MOST_DIMENSIONS]; /* of the first it may be 0: not known */
} bf_subscript_array;

/* What names in an expression stand for, and the block that runs it. */
typedef struct bf_subscript_place {
  uint32_t block[3];
  unsigned values;
  const char *name[BF_SUBSCRIPT_MOST_NAMES];
  int64_t value[BF_SUBSCRIPT_MOST_NAMES];
} bf_subscript_place;

/* Reads "float[32][32]". */
int bf_subscript_type(const char *text, bf_subscript_array *array, bf_diagnostic *diagnostic);

/* The element that a thread names: its subscripts, each a number that lies in the array. text is
 * NAME[...][...] with the operators of C on integers, threadIdx, blockDim, blockIdx (0), warpSize,
 * lane, and names of place. Refused, with the column: what cannot be read, names that are not
 * known, elements outside the array. */
int bf_subscript_evaluate(const char *text, const bf_subscript_array *array,
                          const bf_subscript_place *place, const uint32_t thread[3],
                          uint64_t subscript[BF_SUBSCRIPT_MOST_DIMENSIONS],
                          bf_diagnostic *diagnostic);

/* What the lanes of a warp of the block access, at byte 0 on; op and width are set, and rows of the
 * last dimension are extra elements longer than the array says. A negative number of extra stands
 * for an XOR of the last subscript with that before. */
int bf_subscript_warp(const char *text, const bf_subscript_array *array,
                      const bf_subscript_place *place, unsigned warp, unsigned lanes, int extra,
                      bf_access *access, bf_diagnostic *diagnostic);

/* What expressions cost, all warps of the block together. */
typedef struct bf_subscript_cost {
  uint64_t accesses, wavefronts, ideal;
} bf_subscript_cost;

int bf_subscript_count(const char *const *texts, unsigned count, const bf_subscript_array *array,
                       const bf_subscript_place *place, const bf_machine *machine, bf_op op,
                       int extra, bf_subscript_cost *cost, bf_diagnostic *diagnostic);
/* The fewest elements by which rows must be longer for the fewest wavefronts, up to a row of the
 * banks; 0: no such number helps. */
int bf_subscript_pad(const char *const *texts, unsigned count, const bf_subscript_array *array,
                     const bf_subscript_place *place, const bf_machine *machine, bf_op op,
                     int *extra, bf_subscript_cost *cost, bf_diagnostic *diagnostic);

/* Elements of one array, which a block accesses. */
typedef struct bf_subscript_question {
  const char *const *texts;
  unsigned count;
  const bf_machine *machine;
  bf_subscript_array array;
  bf_subscript_place place;
  bf_op op;
} bf_subscript_question;

/* What helps. */
typedef struct bf_subscript_fixes {
  bf_subscript_cost before, padded, swizzled;
  int extra; /* elements of padding; 0: none helps */
  bool has_swizzle;
} bf_subscript_fixes;

int bf_subscript_fix(const bf_subscript_question *question, bf_subscript_fixes *fixes,
                     bf_diagnostic *diagnostic);
/* Costs and fixes as code, for people and as JSON (docs/json.md). */
void bf_subscript_write(const bf_subscript_question *question, const bf_subscript_fixes *fixes,
                        bf_text *text);
void bf_subscript_write_json(const bf_subscript_question *question, const bf_subscript_fixes *fixes,
                             bf_text *text);

/* The text of the expression with the last subscript XORed by the one before, as it would be
 * written; false where it has but one. */
bool bf_subscript_swizzled(const char *text, uint64_t columns, bf_text *out);
/* The name in front of the first bracket. */
void bf_subscript_name(const char *text, bf_text *out);

#endif
