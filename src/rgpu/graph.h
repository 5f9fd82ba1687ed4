/* rgpu: programs for R-GPU, a GPU whose cores can be wired to each other. This header is the
 * program in memory: a dataflow graph, one node per core or load/store unit, each of which executes
 * one instruction once per iteration. docs/rgpu.md describes the text that it is read from.
 *
 * What a node does in an iteration: it takes one value from each of its input FIFOs, computes, and
 * hands its result to the FIFOs of all readers. A value is 32 bits; nodes agree on whether they are
 * an integer or a float. An operand is either such a FIFO, which may hold values before the first
 * iteration (`after [0, 0]`: the reader then sees the value of two iterations ago), or a constant,
 * fixed when the block is set up. A node whose predicate is 0 takes its inputs, does nothing, and
 * hands on once more what it handed on the iteration before (0 in the first).
 *
 * All blocks run the same graph. A block runs `iterations` iterations of it, on `copies` copies of
 * it side by side; constants, start values and addresses may depend on block and copy. Blocks start
 * in the order of their numbers. Memory is byte-addressed: arrays lie in global memory in the order
 * of declaration, each at a multiple of BF_RGPU_ALIGN_BYTES, or in shared memory, of which each
 * block has its own. A load with the operator `wait` completes once its word is present: stored by
 * any block since the start, or declared present. */
#ifndef BF_RGPU_GRAPH_H
#define BF_RGPU_GRAPH_H

#include "base/base.h"

enum {
  BF_RGPU_OPERANDS = 3,       /* of one node, besides its predicate */
  BF_RGPU_PREDICATE = 3,      /* the position of the predicate in an edge */
  BF_RGPU_CORE_FIFOS = 3,     /* inputs of a core that can come from nodes (braak15, 7.2) */
  BF_RGPU_UNIT_FIFOS = 2,     /* of a load/store unit: address, and data or predicate */
  BF_RGPU_ALIGN_BYTES = 256,  /* of arrays in memory */
  BF_RGPU_MOST_NODES = 1024,  /* of a graph; an SM has room for 48 */
  BF_RGPU_MOST_NAMES = 256,   /* parameters, and arrays */
  BF_RGPU_MOST_INITIAL = 512, /* values in a FIFO before the first iteration */
};

/* Types: enum, name, bytes, whether it is a float. The narrow ones are for memory only; loads
 * extend them to 32 bits, by sign or zero, and stores cut. */
#define BF_RGPU_TYPES(X)                                                                           \
  X(U32, "u32", 4, false)                                                                          \
  X(S32, "s32", 4, false)                                                                          \
  X(F32, "f32", 4, true)                                                                           \
  X(U8, "u8", 1, false)                                                                            \
  X(S8, "s8", 1, false)                                                                            \
  X(U16, "u16", 2, false)                                                                          \
  X(S16, "s16", 2, false)

typedef enum bf_rgpu_type {
#define X(symbol, name, bytes, is_float) BF_RGPU_##symbol,
  BF_RGPU_TYPES(X)
#undef X
      BF_RGPU_TYPE_COUNT
} bf_rgpu_type;

/* Operations: enum, name, operands, types (I: u32 and s32, F: f32, B: all three, M: those of
 * memory), where it runs, result of operands a, b, c. Integers wrap; shifts use the low five bits
 * of b; floats round to nearest even. */
#define BF_RGPU_OPS(X)                                                                             \
  X(MOV, "mov", 1, 'B', CORE, "a")                                                                 \
  X(ADD, "add", 2, 'B', CORE, "a + b")                                                             \
  X(SUB, "sub", 2, 'B', CORE, "a - b")                                                             \
  X(MUL, "mul", 2, 'B', CORE, "a * b; of integers the low 32 bits")                                \
  X(MAD, "mad", 3, 'B', CORE, "a * b + c; of floats rounded once")                                 \
  X(MIN, "min", 2, 'B', CORE, "the smaller; the other one where one is not a number")              \
  X(MAX, "max", 2, 'B', CORE, "the larger; the other one where one is not a number")               \
  X(ABS, "abs", 1, 'B', CORE, "the absolute value")                                                \
  X(NEG, "neg", 1, 'B', CORE, "-a")                                                                \
  X(AND, "and", 2, 'I', CORE, "bits that both have")                                               \
  X(OR, "or", 2, 'I', CORE, "bits that one has")                                                   \
  X(XOR, "xor", 2, 'I', CORE, "bits that differ")                                                  \
  X(NOT, "not", 1, 'I', CORE, "every bit turned")                                                  \
  X(SHL, "shl", 2, 'I', CORE, "a shifted left by b; 0 from 32 on")                                 \
  X(SHR, "shr", 2, 'I', CORE, "a shifted right by b; of s32 copies of the sign come in")           \
  X(LT, "lt", 2, 'B', CORE, "1 if a < b, otherwise 0")                                             \
  X(LE, "le", 2, 'B', CORE, "1 if a <= b, otherwise 0")                                            \
  X(GT, "gt", 2, 'B', CORE, "1 if a > b, otherwise 0")                                             \
  X(GE, "ge", 2, 'B', CORE, "1 if a >= b, otherwise 0")                                            \
  X(EQ, "eq", 2, 'B', CORE, "1 if a = b, otherwise 0")                                             \
  X(NE, "ne", 2, 'B', CORE, "1 if a and b differ, otherwise 0")                                    \
  X(SEL, "sel", 3, 'B', CORE, "a if the integer c is not 0, otherwise b")                          \
  X(CVT, "cvt", 1, 'B', CORE, "a of the second type as one of the first; to integers by cutting")  \
  X(RCP, "rcp", 1, 'F', CORE, "1 / a")                                                             \
  X(SQRT, "sqrt", 1, 'F', CORE, "the square root")                                                 \
  X(RSQRT, "rsqrt", 1, 'F', CORE, "1 / the square root")                                           \
  X(SIN, "sin", 1, 'F', CORE, "sine of radians")                                                   \
  X(COS, "cos", 1, 'F', CORE, "cosine of radians")                                                 \
  X(EX2, "ex2", 1, 'F', CORE, "2 to the power of a")                                               \
  X(LG2, "lg2", 1, 'F', CORE, "logarithm to the base 2")                                           \
  X(TANH, "tanh", 1, 'F', CORE, "hyperbolic tangent")                                              \
  X(INC, "inc", 2, 'I', CORE, "start + step * (iteration / hold): an add that reads itself")       \
  X(LD, "ld", 1, 'M', MEMORY, "what is in memory")                                                 \
  X(ST, "st", 2, 'M', MEMORY, "writes b to memory; no result")                                     \
  X(RED, "red", 2, 'B', MEMORY, "adds b to memory, not divided by others; no result")

typedef enum bf_rgpu_op {
#define X(symbol, name, operands, types, place, meaning) BF_RGPU_##symbol,
  BF_RGPU_OPS(X)
#undef X
      BF_RGPU_OP_COUNT
} bf_rgpu_op;

typedef enum bf_rgpu_place { BF_RGPU_ON_CORE, BF_RGPU_ON_MEMORY } bf_rgpu_place;

typedef struct bf_rgpu_op_row {
  const char *name;
  unsigned operands;
  char types;
  bf_rgpu_place place;
  const char *meaning;
} bf_rgpu_op_row;
const bf_rgpu_op_row *bf_rgpu_op_get(bf_rgpu_op op);
const char *bf_rgpu_type_name(bf_rgpu_type type);
unsigned bf_rgpu_type_bytes(bf_rgpu_type type);
bool bf_rgpu_type_is_float(bf_rgpu_type type);

/* Cache operators: enum, name, whether loads and whether stores may have it, meaning. The first of
 * loads and the first of stores is what an instruction without one does. `wait` is wait-for-hit. */
#define BF_RGPU_CACHE_OPERATORS(X)                                                                 \
  X(CA, "ca", true, false, "through L1 and L2")                                                    \
  X(WB, "wb", false, true, "into L2, written back later")                                          \
  X(CG, "cg", true, true, "in L2 only")                                                            \
  X(CS, "cs", true, true, "used once: evicted first")                                              \
  X(WT, "wt", false, true, "into L2 and at once to memory")                                        \
  X(WAIT, "wait", true, false, "in L2 only; waits in its queue until the word is present")

typedef enum bf_rgpu_cache {
#define X(symbol, name, of_loads, of_stores, meaning) BF_RGPU_CACHE_##symbol,
  BF_RGPU_CACHE_OPERATORS(X)
#undef X
      BF_RGPU_CACHE_COUNT
} bf_rgpu_cache;
const char *bf_rgpu_cache_name(bf_rgpu_cache cache);

/* ---- Terms: integers that are fixed when a block is set up ---- */

typedef enum bf_rgpu_term_kind {
  BF_RGPU_TERM_NUMBER,
  BF_RGPU_TERM_PARAMETER, /* value of a parameter of the kernel */
  BF_RGPU_TERM_ARRAY,     /* byte address of an array */
  BF_RGPU_TERM_BLOCK,     /* number of the block, from 0 */
  BF_RGPU_TERM_BLOCKS,
  BF_RGPU_TERM_COPY, /* number of the copy in its SM, from 0 */
  BF_RGPU_TERM_COPIES,
  BF_RGPU_TERM_INDEX, /* which value of a list, element of an array */
  BF_RGPU_TERM_ADD,
  BF_RGPU_TERM_SUBTRACT,
  BF_RGPU_TERM_MULTIPLY,
  BF_RGPU_TERM_DIVIDE, /* towards zero */
  BF_RGPU_TERM_REMAINDER,
} bf_rgpu_term_kind;

/* Computed in 64 bits; overflow and division by 0 are refused. */
typedef struct bf_rgpu_term {
  bf_rgpu_term_kind kind;
  int64_t number;                          /* number */
  unsigned name;                           /* which parameter or array */
  const struct bf_rgpu_term *left, *right; /* the four operations */
  uint32_t line, column;                   /* 0 where it does not come from a file */
} bf_rgpu_term;

/* ---- Nodes ---- */

/* A 32-bit value that is fixed when a block is set up. */
typedef struct bf_rgpu_value {
  bool is_element;          /* element `term` of an array, read before the first iteration */
  unsigned array;           /* that array */
  const bf_rgpu_term *term; /* otherwise the value itself; NULL: bits */
  uint32_t bits;            /* of a float */
} bf_rgpu_value;

/* What a FIFO holds before the first iteration: `count` values, given one by one, or by one value
 * that is computed for index 0 to count - 1. */
typedef struct bf_rgpu_initial {
  unsigned count;
  bool is_repeated;
  const bf_rgpu_value *value;
} bf_rgpu_initial;

typedef enum bf_rgpu_source {
  BF_RGPU_FROM_NOTHING, /* there is no such operand */
  BF_RGPU_FROM_NODE,
  BF_RGPU_FROM_CONSTANT,
} bf_rgpu_source;

typedef struct bf_rgpu_operand {
  bf_rgpu_source source;
  unsigned node;           /* from a node, which may be the reader itself */
  bf_rgpu_initial initial; /* from a node */
  bf_rgpu_value constant;
  uint32_t column; /* in the line of its node */
} bf_rgpu_operand;

/* Operands of memory operations: 0 the address, to which `offset` is added, 1 the data. */
typedef struct bf_rgpu_node {
  const char *name;
  bf_rgpu_op op;
  bf_rgpu_type type; /* of operands and result; comparisons give u32, sel takes an integer c */
  bf_rgpu_type from; /* cvt: type of the operand */
  bf_rgpu_operand operand[BF_RGPU_OPERANDS];
  bf_rgpu_operand predicate; /* executes where it is not 0 */
  bool is_negated;           /* executes where it is 0 */
  /* inc: operand 0 is the node itself, with as many initial values as asked for (more than one lets
   * it fire before its last result is there). They are its first results; since it is an add, its
   * FIFO holds them less operand 1, which is what it adds. */
  const bf_rgpu_term *step, *start;
  unsigned hold; /* iterations that each value lasts */
  /* Memory operations. */
  bool is_shared;
  bf_rgpu_cache cache;
  const bf_rgpu_term *offset; /* or NULL */
  uint32_t line, column;
} bf_rgpu_node;

/* Whether it runs on a load/store unit, whether others can read its result, and as what. */
bool bf_rgpu_is_memory(const bf_rgpu_node *node);
bool bf_rgpu_has_result(const bf_rgpu_node *node);
bool bf_rgpu_result_is_float(const bf_rgpu_node *node);
/* What operand number `position` must be. */
bool bf_rgpu_operand_is_float(const bf_rgpu_node *node, unsigned position);

/* From the result of a node to an input of a node: position 0 to 2, or BF_RGPU_PREDICATE. */
typedef struct bf_rgpu_edge {
  unsigned from, to, position, initial; /* initial: values in the FIFO at the start */
} bf_rgpu_edge;

typedef struct bf_rgpu_parameter {
  const char *name;
  int64_t value; /* unless the caller gives another */
  uint32_t line, column;
} bf_rgpu_parameter;

typedef enum bf_rgpu_fill {
  BF_RGPU_FILL_TERM,
  BF_RGPU_FILL_FLOAT,
  BF_RGPU_FILL_RANDOM
} bf_rgpu_fill;

typedef struct bf_rgpu_array {
  const char *name;
  bool is_shared;
  bf_rgpu_type type;
  const bf_rgpu_term *count; /* of elements; knows parameters and copies only */
  bf_rgpu_fill fill;
  const bf_rgpu_term *content; /* what element `index` holds at first; NULL: 0 */
  float number;                /* fill float; random: below this */
  uint64_t seed;
  const bf_rgpu_term *present; /* elements from the first that `wait` finds at once; NULL: none */
  uint32_t line, column;
} bf_rgpu_array;

/* After the last iteration: the last `count` results of a node, oldest first, which its FIFO still
 * holds, go to element `element` of an array, where index is 0 to count - 1; or their sum does. */
typedef struct bf_rgpu_final {
  unsigned array, node, count;
  bool is_sum; /* floats are added in order, starting with the oldest */
  const bf_rgpu_term *element;
  uint32_t line, column;
} bf_rgpu_final;

typedef struct bf_rgpu_graph {
  bf_arena arena; /* owns everything below */
  const char *file, *name;
  unsigned parameters, arrays, nodes, edges, finals;
  bf_rgpu_parameter *parameter;
  bf_rgpu_array *array;
  bf_rgpu_node *node;
  bf_rgpu_edge *edge; /* by reader, then by position */
  bf_rgpu_final *final;
  const bf_rgpu_term *iterations, *blocks; /* know parameters and copies only */
} bf_rgpu_graph;

/* Reads a graph from text (NUL-terminated), or from a file ("-": standard input). file names it in
 * messages. */
int bf_rgpu_parse(const char *file, const char *text, bf_rgpu_graph **graph,
                  bf_diagnostic *diagnostic);
int bf_rgpu_read(const char *path, bf_rgpu_graph **graph, bf_diagnostic *diagnostic);
void bf_rgpu_free(bf_rgpu_graph *graph);
/* The graph as text, which reads as the same graph. */
void bf_rgpu_print(const bf_rgpu_graph *graph, bf_text *text);
/* One node without its name, as in the text of the graph; a term; a value of a float or integer. */
void bf_rgpu_print_node(const bf_rgpu_graph *graph, const bf_rgpu_node *node, bf_text *text);
void bf_rgpu_print_term(const bf_rgpu_graph *graph, const bf_rgpu_term *term, bf_text *text);
/* Number of the node of that name, -1 if there is none. */
int bf_rgpu_find_node(const bf_rgpu_graph *graph, const char *name);
/* Whether copies of the graph do different things. */
bool bf_rgpu_uses_copies(const bf_rgpu_graph *graph);

/* ---- Values ---- */

/* What a core makes of operands a, b, c. Not for memory operations. */
uint32_t bf_rgpu_operate(const bf_rgpu_node *node, const uint32_t operand[BF_RGPU_OPERANDS]);
/* The value of a loaded element, little-endian at bytes, and the reverse. */
uint32_t bf_rgpu_load(bf_rgpu_type type, const unsigned char *bytes);
void bf_rgpu_store(bf_rgpu_type type, uint32_t value, unsigned char *bytes);
/* What `red` leaves in memory. */
uint32_t bf_rgpu_reduce(bf_rgpu_type type, uint32_t old, uint32_t value);

/* ---- A graph with numbers for its parameters ---- */

typedef struct bf_rgpu_setup {
  bf_arena arena;
  const bf_rgpu_graph *graph;
  int64_t *parameter;
  uint64_t copies, iterations, blocks;
  uint64_t *array_count;   /* elements */
  uint64_t *array_present; /* elements */
  uint32_t *array_address; /* byte address in its memory */
  uint64_t global_bytes, shared_bytes;
} bf_rgpu_setup;

/* Global memory starts behind this address, so that a forgotten start is found. */
enum { BF_RGPU_GLOBAL_BASE = 4096 };
/* The most bytes of arrays, and of iterations and blocks. */
#define BF_RGPU_MOST_BYTES (UINT64_C(1) << 30)
#define BF_RGPU_MOST_COUNT (UINT64_C(1) << 40)

/* Reads NAME=NUMBER: a parameter of the graph by its number, and its value. */
int bf_rgpu_read_override(const bf_rgpu_graph *graph, const char *text, unsigned *parameter,
                          int64_t *value, bf_diagnostic *diagnostic);
/* Each of the `overrides` texts NAME=NUMBER replaces a parameter. */
int bf_rgpu_setup_create(const bf_rgpu_graph *graph, uint64_t copies, unsigned overrides,
                         const char *const *override, bf_rgpu_setup **setup,
                         bf_diagnostic *diagnostic);
void bf_rgpu_setup_free(bf_rgpu_setup *setup);

/* Where a term is asked for. */
typedef struct bf_rgpu_where {
  uint64_t block, copy, index;
} bf_rgpu_where;

/* The value of a term, and as 32 bits: from -2^31 to 2^32 - 1, else refused. */
int bf_rgpu_term_value(const bf_rgpu_setup *setup, const bf_rgpu_term *term, bf_rgpu_where where,
                       int64_t *value, bf_diagnostic *diagnostic);
int bf_rgpu_term_bits(const bf_rgpu_setup *setup, const bf_rgpu_term *term, bf_rgpu_where where,
                      uint32_t *bits, bf_diagnostic *diagnostic);
/* The 32 bits of a value for a float or integer operand. `global` is global memory, which starts at
 * address BF_RGPU_GLOBAL_BASE; elements are read from there. */
int bf_rgpu_value_bits(const bf_rgpu_setup *setup, const bf_rgpu_value *value, bool is_float,
                       bf_rgpu_where where, const unsigned char *global, uint32_t *bits,
                       bf_diagnostic *diagnostic);
/* What element number `index` of an array holds at first. */
int bf_rgpu_array_element(const bf_rgpu_setup *setup, unsigned array, uint64_t index,
                          uint32_t *bits, bf_diagnostic *diagnostic);

#endif
