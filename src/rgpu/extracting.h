/* Inside room rgpu: what the files of the extraction share.
 *
 * A register of the loop becomes what its instruction computes. A register that the loop does not
 * write is a constant: traced back to parameters, block number and arithmetic where that is simple,
 * else a parameter of its own. A register that is read before it is written holds the value of the
 * iteration before; that is an edge with an initial value. */
#ifndef BF_RGPU_EXTRACTING_H
#define BF_RGPU_EXTRACTING_H

#include "rgpu/extract.h"

enum { MOST_LOOP_NODES = 256, MOST_DECLARED = 128, MOST_INITIAL_CHAIN = 8 };

typedef enum source_kind {
  SOURCE_NONE,
  SOURCE_NODE,     /* what a node computes in this iteration */
  SOURCE_CONSTANT, /* text */
  SOURCE_BEFORE,   /* a register before this iteration */
} source_kind;

typedef struct source {
  source_kind kind;
  unsigned node;
  uint32_t reg;
  const char *text;
} source;

/* A node of the graph to be. */
typedef struct made {
  const char *name;
  const char *op; /* with its types, such as mad.f32 */
  unsigned operands;
  source operand[BF_RGPU_OPERANDS];
  bool has_address; /* operand 0 is an address */
  bool is_root;     /* has an effect, or is read behind the loop */
  bool is_kept;
  bool is_wide; /* its result depends on the upper half of 64-bit operands */
  int64_t offset;
  source predicate;
  bool is_negated;
  uint64_t line;
} made;

typedef struct extraction {
  bf_arena arena;
  const bf_ptx_module *module;
  const bf_ptx_function *function;
  bf_ptx_flow *flow;
  uint32_t block; /* the loop */
  bf_diagnostic *diagnostic;
  unsigned nodes;
  made node[MOST_LOOP_NODES];
  source *now;        /* per register: what it holds at this point of the iteration */
  bool *is_written;   /* per register: by the loop */
  const char **known; /* per register: text of its value before the loop, once asked for */
  bool *is_float;     /* per register */
  unsigned declared;
  const char *declaration[MOST_DECLARED];
  unsigned stores;
} extraction;

/* Refuses because of what is at a line of the PTX. */
int extract_refuse(extraction *x, uint64_t line, const char *format, ...) BF_PRINTF(3, 4);
int extract_no_memory(extraction *x);
/* Text in the arena; NULL when memory is exhausted. */
const char *extract_text(extraction *x, const char *format, ...) BF_PRINTF(2, 3);
/* The number of a register among those of its function. */
uint32_t extract_register(const bf_ptx_operand *operand);
/* A name made of that of a register or variable. */
const char *extract_name(extraction *x, const char *name, int64_t number);
/* Adds a line to the declarations, once. */
int extract_declare(extraction *x, const char *line);
bool extract_is_in_loop(const extraction *x, uint32_t instruction);

/* ---- extract_loop.c: finds kernel and loop ---- */
int extract_find_loop(extraction *x, const char *kernel, uint64_t line);

/* ---- extract_value.c: what registers hold before the loop ---- */
int extract_before(extraction *x, uint32_t reg, const char **text);
/* A constant operand as text of a float or an integer. */
int extract_constant(extraction *x, const bf_ptx_operand *operand, bool is_float, uint64_t line,
                     const char **text);

/* ---- extract_body.c: instructions of the loop as nodes ---- */
int extract_body(extraction *x);

#endif
