/* Inside room ptx: numbers for values: two registers with equal numbers hold the same, as long as
 * the instructions that computed them are not executed again in between. For place.c. */
#ifndef BF_PTX_VALUE_H
#define BF_PTX_VALUE_H

#include "ptx/tree.h"

/* base + offset; base 0 is nothing. Any other base is a sum of terms factor * node. */
typedef struct bf_value {
  int64_t offset;
  uint64_t base;
} bf_value;

typedef enum bf_node_kind {
  BF_NODE_NOTHING,
  BF_NODE_TERM,      /* arg[0].base + extra * arg[1].base */
  BF_NODE_OPAQUE,    /* whatever instruction number extra made */
  BF_NODE_SPECIAL,   /* a special register that never changes */
  BF_NODE_PARAMETER, /* name extra, arg[0].offset bytes in */
  BF_NODE_SYMBOL,    /* address of the variable called extra */
  BF_NODE_PHI,       /* what slot arg[0].base is on entry to block extra */
  BF_NODE_OPERATION, /* an instruction of the same form on the same values */
  BF_NODE_CHOICE,    /* arg[0], or arg[1] where the guard of instruction extra holds */
} bf_node_kind;

enum { BF_NODE_ARGUMENTS = 4, BF_MOST_ZEROS = 32 };

typedef struct bf_node {
  uint32_t kind;
  uint32_t form; /* OPERATION: the first instruction with this opcode and these modifiers */
  uint64_t extra;
  bf_value arg[BF_NODE_ARGUMENTS];
} bf_node;

/* All nodes of a function, each once. */
typedef struct bf_nodes {
  const bf_ptx_function *function;
  bf_node *node;
  uint8_t *zeros; /* low bits of each node known to be 0; of nothing: BF_MOST_ZEROS */
  uint32_t count, capacity;
  uint32_t *bucket; /* numbers of nodes, 0: free; 2 * capacity of them */
  uint32_t *form;   /* instructions */
  uint32_t forms, form_capacity;
  bool failed; /* memory is exhausted; nothing after that means anything */
} bf_nodes;

bool bf_nodes_begin(bf_nodes *nodes, const bf_ptx_function *function);
void bf_nodes_end(bf_nodes *nodes);

/* The value that is the node, with zeros low bits known to be 0 when it is new. */
bf_value bf_value_node(bf_nodes *nodes, bf_node node, unsigned zeros);
bf_value bf_value_constant(int64_t constant);
/* a + factor * b */
bf_value bf_value_add(bf_nodes *nodes, bf_value a, bf_value b, int64_t factor);
/* What an unguarded instruction makes of these values of its operands 1 to count; false where only
 * the instruction itself can say. */
bool bf_value_compute(bf_nodes *nodes, uint32_t instruction, const bf_value *operand,
                      unsigned count, bf_value *result);
/* Low bits known to be 0, from what is known of the parts. PHI and SYMBOL keep what they have. */
unsigned bf_node_zeros(const bf_nodes *nodes, uint32_t node);
unsigned bf_value_zeros(const bf_nodes *nodes, bf_value value);

#endif
