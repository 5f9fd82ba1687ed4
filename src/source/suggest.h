/* source/suggest: how the elements of one shared array can be placed so that its accesses do not
 * conflict, in forms that people write in source: an XOR on the subscripts, padding, a CuTe
 * swizzle. Each is a map from element index to element index. What it leaves is counted by moving
 * the accesses, not by a hash, so that elements of any size are treated alike. */
#ifndef BF_SOURCE_SUGGEST_H
#define BF_SOURCE_SUGGEST_H

#include "hash/hash.h"
#include "memory/memory.h"

enum { BF_INDEX_MOST_TERMS = 8, BF_INDEX_MOST_DIMENSIONS = 8, BF_INDEX_MOST_CASES = 8 };

/* How much a dimension grows where it and an element have that size: of a declaration that
 * instances of a template share. */
typedef struct bf_pad_case {
  uint64_t dimension;
  unsigned element_bytes;
  uint64_t by;
} bf_pad_case;

/* Element index e goes to e ^ ((e >> shift) & mask) ^ ..., all shifts above 0, or to
 * e + e / row_elements * pad_elements, or elements grow. */
typedef struct bf_index_map {
  unsigned element_bytes;
  unsigned terms;
  bf_hash_term term[BF_INDEX_MOST_TERMS];
  uint64_t row_elements; /* 0: no padding */
  uint64_t pad_elements;
  unsigned element_pad_bytes; /* that an element itself grows by */
  unsigned padded_dimension;  /* which one grows, from 0; of arrays of several dimensions */
  uint64_t padded_by;         /* elements of that dimension */
  unsigned cases;             /* 0: in all instances by the same; others grow by nothing */
  bf_pad_case pad_case[BF_INDEX_MOST_CASES];
  const char *only_of; /* NULL, or the array of which only instances of that size are changed */
  uint64_t only_bytes;
} bf_index_map;

/* Where the byte at offset from the start of the array goes. */
uint64_t bf_index_place(const bf_index_map *map, uint64_t offset_bytes);
/* Bytes by which an array of that many bytes grows. */
uint64_t bf_index_growth(const bf_index_map *map, uint64_t bytes);
/* The access with all its addresses moved. */
bf_access bf_index_move(const bf_index_map *map, const bf_access *access);
/* The hash of the banks that does the same as an XOR map on memory without one. False where there
 * is none: elements that are no power of two. */
bool bf_index_hash(const bf_index_map *map, const bf_geometry *geometry, bf_hash **hash);

/* A shared array, as far as it is known. */
typedef struct bf_shared_array {
  const char *name;
  uint64_t bytes; /* 0: open */
  unsigned element_bytes;
  unsigned alignment_bytes; /* of the array; 0: not known */
  unsigned dimensions;      /* 0: not known; the array is flat */
  uint64_t dimension[BF_INDEX_MOST_DIMENSIONS];
  /* The accesses, whose addresses count from its start. ptxas merges neighbours into wider ones; it
   * does no longer where subscripts are XORed. */
  bf_workload *workload; /* as written */
  bf_workload *merged;   /* as ptxas merges them; NULL: not known */
} bf_shared_array;

/* ---- Search ---- */

typedef struct bf_suggestion {
  bool exists; /* one that saves more than its instructions cost */
  bf_index_map map;
  uint64_t wavefronts, conflicts; /* that are left */
  unsigned instructions;          /* more per access */
  uint64_t extra_bytes;
  bool is_direct;     /* can be written on the subscripts, without a macro */
  bool keeps_merging; /* counted for the accesses that ptxas makes, else for those written */
} bf_suggestion;

typedef enum bf_suggestion_kind {
  BF_SUGGEST_SWIZZLE,
  BF_SUGGEST_PADDING,
  BF_SUGGEST_CUTE,
  BF_SUGGEST_KINDS
} bf_suggestion_kind;

/* "swizzle", "padding", "cute". */
const char *bf_suggestion_name(bf_suggestion_kind kind);

typedef struct bf_suggestions {
  uint64_t accesses, wavefronts, ideal, conflicts; /* as it is, merged where that is known */
  bool estimated;
  size_t worst; /* the access written that has the most conflicts per execution */
  bf_suggestion of[BF_SUGGEST_KINDS];
  /* The kind that costs least in wavefronts, of which an instruction is worth a part (ladder.h);
   * -1: none. */
  int best;
} bf_suggestions;

typedef struct bf_suggest_options {
  const bf_machine *machine;
  double time_limit_seconds; /* of each exact search */
  unsigned threads;          /* 0: one per core */
} bf_suggest_options;

int bf_suggest(const bf_suggest_options *options, const bf_shared_array *array,
               bf_suggestions *suggestions, bf_diagnostic *diagnostic);

/* Wavefronts and conflicts of accesses to an array, moved by a map (NULL: as they are). */
int bf_suggest_count(const bf_machine *machine, const bf_workload *workload,
                     const bf_index_map *map, uint64_t *wavefronts, uint64_t *conflicts,
                     bf_diagnostic *diagnostic);

/* Behind the last byte that accesses touch. */
uint64_t bf_suggest_touched(const bf_workload *workload);

/* ---- Text ---- */

/* Whether an XOR map can be written on the subscripts of the array: it changes the last one only.
 */
bool bf_index_is_direct(const bf_index_map *map, const bf_shared_array *array);
/* Which subscripts the text of an element has more than once: bit i for subscript i. */
unsigned bf_index_repeated(const bf_index_map *map, const bf_shared_array *array);
/* Instructions that the map adds to an access. */
unsigned bf_index_instructions(const bf_index_map *map, const bf_shared_array *array);
/* The element with these subscripts, each of which can be an operand of any operator; plain ones
 * are used where a subscript stays as it is. macro: its name where the map is not direct. */
void bf_index_write_element(const bf_index_map *map, const bf_shared_array *array,
                            const char *macro, const char *const *operand, const char *const *plain,
                            bf_text *text);
/* #define macro(i) ..., without a line feed. */
void bf_index_write_macro(const bf_index_map *map, const char *macro, bf_text *text);
/* The same as a function, for subscripts that must be computed once: a lambda inside a function, or
 * a template outside. */
void bf_index_write_function(const bf_index_map *map, const char *name, bool is_inside,
                             bf_text *text);
/* The element whose flat index a macro or function computes; each subscript stands there once. */
void bf_index_write_called(const bf_index_map *map, const bf_shared_array *array, const char *macro,
                           const char *const *operand, const char *const *plain, bf_text *text);
/* The layout in words of namespace cute, or the swizzle alone where dimensions are not known; the
 * map has one term whose mask is one run of bits. */
void bf_index_write_cute(const bf_index_map *map, const bf_shared_array *array, bf_text *text);

#endif
