/* Value numbers. Sums of products with constants are kept in one normal form - terms in the order
 * of their nodes, one after the other - so that addresses that differ by a constant have the same
 * base, whichever way they were computed. Widths of integers are not told apart: addresses do not
 * overflow. */
#include "ptx/value.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TERMS = 8 };

typedef struct sum {
  unsigned terms;
  uint32_t node[2 * MOST_TERMS];
  int64_t factor[2 * MOST_TERMS];
} sum;

/* ---- The table of nodes ---- */

bool bf_nodes_begin(bf_nodes *nodes, const bf_ptx_function *function) {
  *nodes = (bf_nodes){.function = function, .capacity = 256, .form_capacity = 64};
  nodes->node = calloc(nodes->capacity, sizeof *nodes->node);
  nodes->zeros = calloc(nodes->capacity, sizeof *nodes->zeros);
  nodes->bucket = calloc((size_t)2 * nodes->capacity, sizeof *nodes->bucket);
  nodes->form = calloc(nodes->form_capacity, sizeof *nodes->form);
  if (!nodes->node || !nodes->zeros || !nodes->bucket || !nodes->form)
    return false;
  nodes->zeros[0] = BF_MOST_ZEROS;
  nodes->count = 1;
  return true;
}

void bf_nodes_end(bf_nodes *nodes) {
  free(nodes->node);
  free(nodes->zeros);
  free(nodes->bucket);
  free(nodes->form);
}

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

static uint64_t hash_node(const bf_node *node) {
  uint64_t hash = mix(mix(node->kind, node->form), node->extra);
  for (unsigned i = 0; i < BF_NODE_ARGUMENTS; i++)
    hash = mix(mix(hash, node->arg[i].base), (uint64_t)node->arg[i].offset);
  return hash;
}

static bool equal_nodes(const bf_node *a, const bf_node *b) {
  if (a->kind != b->kind || a->form != b->form || a->extra != b->extra)
    return false;
  for (unsigned i = 0; i < BF_NODE_ARGUMENTS; i++)
    if (a->arg[i].base != b->arg[i].base || a->arg[i].offset != b->arg[i].offset)
      return false;
  return true;
}

/* The bucket that holds the node, or the free one where it belongs. */
static uint32_t *find_bucket(const bf_nodes *nodes, const bf_node *node) {
  uint32_t mask = 2 * nodes->capacity - 1;
  uint32_t at = (uint32_t)hash_node(node) & mask;
  while (nodes->bucket[at] && !equal_nodes(&nodes->node[nodes->bucket[at]], node))
    at = (at + 1) & mask;
  return &nodes->bucket[at];
}

static bool grow(bf_nodes *nodes) {
  size_t capacity = (size_t)2 * nodes->capacity;
  uint32_t *bucket = capacity < UINT32_MAX / 4 ? calloc(2 * capacity, sizeof *bucket) : NULL;
  bf_node *node = bucket ? realloc(nodes->node, capacity * sizeof *node) : NULL;
  if (node)
    nodes->node = node;
  uint8_t *zeros = node ? realloc(nodes->zeros, capacity) : NULL;
  if (!zeros) {
    free(bucket);
    return false;
  }
  nodes->zeros = zeros;
  free(nodes->bucket);
  nodes->bucket = bucket;
  nodes->capacity = (uint32_t)capacity;
  for (uint32_t i = 1; i < nodes->count; i++)
    *find_bucket(nodes, &nodes->node[i]) = i;
  return true;
}

/* The number of the node, which is added where it is new. */
static uint32_t intern(bf_nodes *nodes, const bf_node *node) {
  uint32_t *bucket = find_bucket(nodes, node);
  if (*bucket || nodes->failed)
    return *bucket;
  if (nodes->count == nodes->capacity) {
    nodes->failed = !grow(nodes);
    if (nodes->failed)
      return 0;
    bucket = find_bucket(nodes, node);
  }
  *bucket = nodes->count;
  nodes->node[nodes->count] = *node;
  nodes->zeros[nodes->count] = 0;
  return nodes->count++;
}

/* ---- Sums ---- */

/* Base number of rest + factor * node. */
static uint32_t add_term(bf_nodes *nodes, uint32_t rest, uint32_t node, int64_t factor) {
  bf_node term = {.kind = BF_NODE_TERM, .extra = (uint64_t)factor};
  term.arg[0].base = rest;
  term.arg[1].base = node;
  uint32_t number = intern(nodes, &term);
  nodes->zeros[number] = number ? (uint8_t)bf_node_zeros(nodes, number) : BF_MOST_ZEROS;
  return number;
}

static void expand(const bf_nodes *nodes, uint64_t base, sum *out) {
  out->terms = 0;
  for (; base; base = nodes->node[base].arg[0].base) {
    out->node[out->terms] = (uint32_t)nodes->node[base].arg[1].base;
    out->factor[out->terms++] = (int64_t)nodes->node[base].extra;
  }
}

bf_value bf_value_node(bf_nodes *nodes, bf_node node, unsigned zeros) {
  uint32_t before = nodes->count, number = intern(nodes, &node);
  if (number && number == before)
    nodes->zeros[number] = (uint8_t)zeros;
  return (bf_value){.base = number ? add_term(nodes, 0, number, 1) : 0};
}

bf_value bf_value_constant(int64_t constant) { return (bf_value){.offset = constant}; }

/* factor * b; the product of numbers beyond 64 bits is cut off. */
static int64_t times(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static int64_t plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

/* Terms of a, and of b with factor, in the order of nodes from the largest: lists hang together
 * from their smallest. */
static void merge_terms(const sum *a, const sum *b, int64_t factor, sum *out) {
  unsigned i = 0, k = 0;
  out->terms = 0;
  while (i < a->terms || k < b->terms) {
    uint32_t node;
    int64_t amount = 0;
    if (k == b->terms || (i < a->terms && a->node[i] > b->node[k]))
      node = a->node[i];
    else
      node = b->node[k];
    if (i < a->terms && a->node[i] == node)
      amount = a->factor[i++];
    if (k < b->terms && b->node[k] == node)
      amount = plus(amount, times(factor, b->factor[k++]));
    if (amount) {
      out->node[out->terms] = node;
      out->factor[out->terms++] = amount;
    }
  }
}

/* Whether a node has a rounder factor in the sum than in the parts. ptxas does not see that: the
 * sum of 68 * x and -4 * x is no multiple of 64 to it. */
static bool hides_alignment(const sum *a, const sum *b, int64_t factor) {
  for (unsigned i = 0; i < a->terms; i++)
    for (unsigned k = 0; k < b->terms; k++) {
      int64_t right = times(factor, b->factor[k]), both = plus(a->factor[i], right);
      if (a->node[i] == b->node[k] && both && right &&
          __builtin_ctzll((uint64_t)both) > __builtin_ctzll((uint64_t)(a->factor[i] | right)))
        return true;
    }
  return false;
}

/* A sum with too many terms, or to be left as it is, as a node of its own: a + factor * b. */
static bf_value opaque_sum(bf_nodes *nodes, bf_value a, bf_value b, int64_t factor) {
  bf_node node = {.kind = BF_NODE_OPERATION, .form = UINT32_MAX, .extra = (uint64_t)factor};
  node.arg[0].base = a.base;
  node.arg[1].base = b.base;
  unsigned left = nodes->zeros[a.base], right = nodes->zeros[b.base];
  if (factor)
    right += (unsigned)__builtin_ctzll((uint64_t)factor);
  return bf_value_node(nodes, node, left < right ? left : right);
}

bf_value bf_value_add(bf_nodes *nodes, bf_value a, bf_value b, int64_t factor) {
  sum left, right, both;
  bf_value result;
  expand(nodes, a.base, &left);
  expand(nodes, b.base, &right);
  merge_terms(&left, &right, factor, &both);
  if (both.terms > MOST_TERMS || hides_alignment(&left, &right, factor)) {
    result = opaque_sum(nodes, a, b, factor);
  } else {
    uint32_t base = 0;
    for (unsigned i = both.terms; i-- > 0 && !nodes->failed;)
      base = add_term(nodes, base, both.node[i], both.factor[i]);
    result.base = base;
  }
  result.offset = plus(a.offset, times(factor, b.offset));
  return result;
}

/* ---- Instructions ---- */

static bool same_form(const bf_ptx_instruction *a, const bf_ptx_instruction *b) {
  if (a->opcode != b->opcode || a->modifiers != b->modifiers)
    return false;
  for (unsigned i = 0; i < a->modifiers; i++)
    if (a->modifier[i] != b->modifier[i])
      return false;
  return true;
}

/* The first instruction of the same form. */
static uint32_t form_of(bf_nodes *nodes, uint32_t instruction) {
  const bf_ptx_instruction *const *all = nodes->function->instruction;
  for (uint32_t i = 0; i < nodes->forms; i++)
    if (same_form(all[nodes->form[i]], all[instruction]))
      return nodes->form[i];
  if (nodes->forms == nodes->form_capacity) {
    uint32_t *form = realloc(nodes->form, (size_t)2 * nodes->form_capacity * sizeof *nodes->form);
    nodes->failed = nodes->failed || !form;
    if (!form)
      return instruction;
    nodes->form = form;
    nodes->form_capacity *= 2;
  }
  nodes->form[nodes->forms++] = instruction;
  return instruction;
}

static bool is_wide_integer(bf_ptx_type type) {
  switch (type) {
  case BF_PTX_B32:
  case BF_PTX_U32:
  case BF_PTX_S32:
  case BF_PTX_B64:
  case BF_PTX_U64:
  case BF_PTX_S64:
    return true;
  default:
    return false;
  }
}

/* Whether the instruction is plain arithmetic on integers that may be addresses. */
static bool is_plain(const bf_ptx_instruction *instruction) {
  if (instruction->types == 0 || bf_ptx_has(instruction, "sat") || bf_ptx_has(instruction, "cc") ||
      bf_ptx_has(instruction, "hi"))
    return false;
  for (unsigned i = 0; i < instruction->types; i++)
    if (!is_wide_integer(instruction->type[i]))
      return false;
  return true;
}

static bool is_constant(bf_value value) { return value.base == 0; }

/* a * b as a node, for neither is constant. */
static bf_value product(bf_nodes *nodes, bf_value a, bf_value b) {
  bf_node node = {.kind = BF_NODE_OPERATION, .form = UINT32_MAX};
  bool swap = a.base > b.base || (a.base == b.base && a.offset > b.offset);
  node.arg[0] = swap ? b : a;
  node.arg[1] = swap ? a : b;
  node.arg[2].offset = 1; /* a product, not a sum */
  unsigned zeros = bf_value_zeros(nodes, a) + bf_value_zeros(nodes, b);
  return bf_value_node(nodes, node, zeros < BF_MOST_ZEROS ? zeros : BF_MOST_ZEROS);
}

static bf_value multiply(bf_nodes *nodes, bf_value a, bf_value b) {
  bf_value zero = {0};
  if (is_constant(b))
    return bf_value_add(nodes, zero, a, b.offset);
  if (is_constant(a))
    return bf_value_add(nodes, zero, b, a.offset);
  return product(nodes, a, b);
}

/* or and xor with bits that are known to be 0 add them. */
static bool is_disjoint(const bf_nodes *nodes, bf_value a, bf_value b) {
  unsigned zeros = bf_value_zeros(nodes, a);
  return is_constant(b) && b.offset >= 0 && zeros < 63 && b.offset < (int64_t)1 << zeros;
}

/* Sums and products; false for everything else. */
static bool compute_plain(bf_nodes *nodes, const bf_ptx_instruction *instruction, const bf_value *v,
                          unsigned count, bf_value *result) {
  bf_value zero = {0};
  switch (instruction->opcode) {
  case BF_PTX_OP_MOV:
  case BF_PTX_OP_CVTA:
  case BF_PTX_OP_CVT:
    *result = v[0];
    return count == 1;
  case BF_PTX_OP_ADD:
    *result = bf_value_add(nodes, v[0], v[1], 1);
    return count == 2;
  case BF_PTX_OP_SUB:
    *result = bf_value_add(nodes, v[0], v[1], -1);
    return count == 2;
  case BF_PTX_OP_NEG:
    *result = bf_value_add(nodes, zero, v[0], -1);
    return count == 1;
  case BF_PTX_OP_MUL:
    *result = multiply(nodes, v[0], v[1]);
    return count == 2;
  case BF_PTX_OP_MAD:
    *result = bf_value_add(nodes, multiply(nodes, v[0], v[1]), v[2], 1);
    return count == 3;
  case BF_PTX_OP_SHL:
    if (count != 2 || !is_constant(v[1]) || v[1].offset < 0 || v[1].offset > 31)
      return false;
    *result = bf_value_add(nodes, zero, v[0], (int64_t)1 << v[1].offset);
    return true;
  case BF_PTX_OP_OR:
  case BF_PTX_OP_XOR:
    if (count != 2 || (!is_disjoint(nodes, v[0], v[1]) && !is_disjoint(nodes, v[1], v[0])))
      return false;
    *result = bf_value_add(nodes, v[0], v[1], 1);
    return true;
  default:
    return false;
  }
}

/* The PTX writes negative numbers of 32 bits in more than one way. */
static bf_value normal_constant(const bf_ptx_instruction *instruction, bf_value value) {
  bool narrow = instruction->types > 0 && bf_ptx_type_bytes(instruction->type[0]) == 4;
  if (is_constant(value) && narrow)
    value.offset = (int32_t)(uint32_t)(uint64_t)value.offset;
  return value;
}

bool bf_value_compute(bf_nodes *nodes, uint32_t number, const bf_value *operand, unsigned count,
                      bf_value *result) {
  const bf_ptx_instruction *instruction = nodes->function->instruction[number];
  bf_node node = {.kind = BF_NODE_OPERATION};
  if (count == 0 || count > BF_NODE_ARGUMENTS || bf_ptx_has(instruction, "cc"))
    return false;
  for (unsigned i = 0; i < count; i++)
    node.arg[i] = normal_constant(instruction, operand[i]);
  if (is_plain(instruction) && compute_plain(nodes, instruction, node.arg, count, result))
    return true;
  node.form = form_of(nodes, number);
  *result = bf_value_node(nodes, node, 0);
  uint64_t base = result->base;
  if (base) {
    uint32_t made = (uint32_t)nodes->node[base].arg[1].base;
    nodes->zeros[made] = (uint8_t)bf_node_zeros(nodes, made);
    nodes->zeros[base] = nodes->zeros[made];
  }
  return true;
}

/* ---- Low bits known to be 0 ---- */

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

unsigned bf_value_zeros(const bf_nodes *nodes, bf_value value) {
  unsigned of_offset = value.offset ? (unsigned)__builtin_ctzll((uint64_t)value.offset) : 64;
  return least(least(nodes->zeros[value.base], of_offset), BF_MOST_ZEROS);
}

/* The bits that bit `bit` of a value may have: 1 for 0, 2 for 1. */
static unsigned possible_bits(const bf_nodes *nodes, bf_value value, unsigned bit) {
  if (is_constant(value))
    return (uint64_t)value.offset >> bit & 1 ? 2 : 1;
  return bit < bf_value_zeros(nodes, value) ? 1 : 3;
}

/* lop3: zero bits of every function of three inputs. */
static unsigned lop3_zeros(const bf_nodes *nodes, const bf_node *node) {
  unsigned table = (unsigned)node->arg[3].offset;
  for (unsigned bit = 0; bit < BF_MOST_ZEROS; bit++)
    for (unsigned row = 0; row < 8; row++) {
      bool possible = possible_bits(nodes, node->arg[0], bit) >> (row >> 2 & 1) & 1 &&
                      possible_bits(nodes, node->arg[1], bit) >> (row >> 1 & 1) & 1 &&
                      possible_bits(nodes, node->arg[2], bit) >> (row & 1) & 1;
      if (possible && table >> row & 1)
        return bit;
    }
  return BF_MOST_ZEROS;
}

/* bfi: arg[1] with the low bits of arg[0] put in at bit arg[2]. */
static unsigned bfi_zeros(const bf_nodes *nodes, const bf_node *node) {
  if (!is_constant(node->arg[2]) || node->arg[2].offset < 0 || node->arg[2].offset > 31)
    return 0;
  unsigned inserted = bf_value_zeros(nodes, node->arg[0]) + (unsigned)node->arg[2].offset;
  return least(least(inserted, bf_value_zeros(nodes, node->arg[1])), BF_MOST_ZEROS);
}

static unsigned shr_zeros(const bf_nodes *nodes, const bf_node *node) {
  unsigned zeros = bf_value_zeros(nodes, node->arg[0]);
  if (!is_constant(node->arg[1]) || node->arg[1].offset < 0 || node->arg[1].offset >= zeros)
    return 0;
  return zeros - (unsigned)node->arg[1].offset;
}

static unsigned operation_zeros(const bf_nodes *nodes, const bf_node *node) {
  unsigned a = bf_value_zeros(nodes, node->arg[0]), b = bf_value_zeros(nodes, node->arg[1]);
  if (node->form == UINT32_MAX && node->arg[2].offset)
    return least(a + b, BF_MOST_ZEROS);
  if (node->form == UINT32_MAX)
    return least(a, b + (node->extra ? (unsigned)__builtin_ctzll(node->extra) : 0));
  switch (nodes->function->instruction[node->form]->opcode) {
  case BF_PTX_OP_AND:
    return a > b ? a : b;
  case BF_PTX_OP_OR:
  case BF_PTX_OP_XOR:
  case BF_PTX_OP_ADD:
  case BF_PTX_OP_SUB:
  case BF_PTX_OP_SELP:
    return least(a, b);
  case BF_PTX_OP_SHL:
  case BF_PTX_OP_NEG:
  case BF_PTX_OP_CVT:
  case BF_PTX_OP_CVTA:
    return a;
  case BF_PTX_OP_SHR:
    return shr_zeros(nodes, node);
  case BF_PTX_OP_BFI:
    return bfi_zeros(nodes, node);
  case BF_PTX_OP_LOP3:
    return lop3_zeros(nodes, node);
  default:
    return 0;
  }
}

unsigned bf_node_zeros(const bf_nodes *nodes, uint32_t number) {
  const bf_node *node = &nodes->node[number];
  switch (node->kind) {
  case BF_NODE_TERM: {
    unsigned of_factor = (unsigned)__builtin_ctzll(node->extra);
    unsigned of_term = least(of_factor + nodes->zeros[node->arg[1].base], BF_MOST_ZEROS);
    return least(nodes->zeros[node->arg[0].base], of_term);
  }
  case BF_NODE_OPERATION:
    return operation_zeros(nodes, node);
  case BF_NODE_CHOICE:
    return least(bf_value_zeros(nodes, node->arg[0]), bf_value_zeros(nodes, node->arg[1]));
  default:
    return nodes->zeros[number];
  }
}
