/* The table of expressions and the rules that keep them simple.
 *
 * Each rule keeps the value in every thread of the block as it is. Besides the rules of algebra
 * there is one that looks at the block: what is known in every thread is computed there, and if it
 * turns out to be c + cx * tid.x + cy * tid.y + cz * tid.z, that sum takes its place. tid.x & 15 is
 * tid.x in a block 16 threads wide. */
#include "analyze/expression.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 1 << 20, MOST_TERMS = 64, MOST_DEPTH = 200, MOST_LISTED_BYTES = 1 << 26 };

/* ---- The table ---- */

static unsigned width_index(unsigned bits) {
  return bits == 1 ? 0 : bits == 8 ? 1 : bits == 16 ? 2 : bits == 32 ? 3 : 4;
}

/* Makes room for one more member of size bytes; false when out of memory. */
static bool grow(void **list, uint32_t count, uint32_t *capacity, size_t size) {
  if (count < *capacity)
    return true;
  uint32_t wanted = *capacity ? *capacity * 2 : 256;
  void *larger = realloc(*list, wanted * size);
  if (!larger)
    return false;
  *list = larger;
  *capacity = wanted;
  return true;
}

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

static uint64_t hash_node(const bf_expressions *values, const bf_node *node) {
  uint64_t hash = mix(node->kind, node->bits);
  hash = mix(hash, (uint64_t)node->operation << 32 | node->a);
  hash = mix(hash, (uint64_t)node->b << 32 | node->c);
  hash = mix(hash, node->number);
  for (uint32_t i = 0; i < node->terms; i++)
    hash = mix(mix(hash, node->term[i].value), (uint64_t)node->term[i].coefficient);
  for (unsigned i = 0; node->lane && i < values->threads; i++)
    hash = mix(hash, node->lane[i]);
  return hash;
}

static bool same_terms(const bf_node *x, const bf_node *y) {
  if (x->terms != y->terms)
    return false;
  for (uint32_t i = 0; i < x->terms; i++)
    if (x->term[i].value != y->term[i].value || x->term[i].coefficient != y->term[i].coefficient)
      return false;
  return true;
}

static bool same_node(const bf_expressions *values, const bf_node *x, const bf_node *y) {
  return x->kind == y->kind && x->bits == y->bits && x->operation == y->operation && x->a == y->a &&
         x->b == y->b && x->c == y->c && x->number == y->number && same_terms(x, y) &&
         !x->lane == !y->lane &&
         (!x->lane || memcmp(x->lane, y->lane, values->threads * sizeof *x->lane) == 0);
}

/* The value of an equal node, or 0. */
static bf_expression find_node(const bf_expressions *values, const bf_node *node, uint64_t hash) {
  for (uint32_t i = values->slot[hash % values->slots]; i; i = values->node[i].next)
    if (same_node(values, &values->node[i], node))
      return i;
  return 0;
}

/* Copies what the node points to into the arena. */
static bool keep_lists(bf_expressions *values, bf_node *node) {
  if (node->terms) {
    bf_term *term = bf_arena_alloc(&values->arena, node->terms * sizeof *term);
    if (!term)
      return false;
    memcpy(term, node->term, node->terms * sizeof *term);
    node->term = term;
  }
  if (node->lane) {
    uint64_t *lane = bf_arena_alloc(&values->arena, values->threads * sizeof *lane);
    if (!lane)
      return false;
    memcpy(lane, node->lane, values->threads * sizeof *lane);
    node->lane = lane;
    values->listed++;
  }
  return true;
}

/* Twice as many chains, so that they stay short. */
static bool rehash(bf_expressions *values) {
  uint32_t slots = values->slots ? values->slots * 2 : 1024;
  uint32_t *slot = calloc(slots, sizeof *slot);
  if (!slot)
    return false;
  for (uint32_t i = 1; i < values->nodes; i++) {
    uint64_t at = hash_node(values, &values->node[i]) % slots;
    values->node[i].next = slot[at];
    slot[at] = i;
  }
  free(values->slot);
  values->slot = slot;
  values->slots = slots;
  return true;
}

static bf_expression fail(bf_expressions *values) {
  values->failed = true;
  return BF_UNDEFINED;
}

/* Adds a node that is not there yet. */
static bf_expression add_node(bf_expressions *values, bf_node *node, uint64_t hash) {
  if (!keep_lists(values, node) ||
      !grow((void **)&values->node, values->nodes, &values->node_capacity, sizeof *values->node))
    return fail(values);
  node->next = values->slot[hash % values->slots];
  values->slot[hash % values->slots] = values->nodes;
  values->node[values->nodes] = *node;
  bf_expression value = values->nodes++;
  if (values->nodes > values->slots && !rehash(values))
    return fail(values);
  return value;
}

/* The value of node, which borrows its lists. */
static bf_expression intern(bf_expressions *values, bf_node *node) {
  if (values->failed)
    return BF_UNDEFINED;
  values->work += 16;
  uint64_t hash = hash_node(values, node);
  bf_expression found = find_node(values, node, hash);
  if (found)
    return found;
  if (values->nodes >= MOST_NODES) {
    values->is_full = true;
    return values->too_large[width_index(node->bits)];
  }
  return add_node(values, node, hash);
}

int bf_expressions_create(bf_expressions *values, const uint32_t block[3]) {
  static const unsigned widths[] = {1, 8, 16, 32, 64};
  *values = (bf_expressions){.threads = block[0] * block[1] * block[2]};
  memcpy(values->block, block, sizeof values->block);
  values->mask_words = (values->threads + 63) / 64;
  uint64_t all[BF_MASK_WORDS] = {0}, none[BF_MASK_WORDS] = {0};
  for (unsigned i = 0; i < values->threads; i++)
    all[i / 64] |= (uint64_t)1 << i % 64;
  if (!rehash(values) ||
      !grow((void **)&values->node, 0, &values->node_capacity, sizeof *values->node))
    return BF_NO_MEMORY;
  values->node[0] = (bf_node){.kind = BF_EXPRESSION_UNDEFINED, .bits = 32};
  values->nodes = 1;
  bf_mask_intern(values, none);
  bf_mask_intern(values, all);
  for (unsigned i = 0; i < 3; i++) {
    bf_atom atom = {.kind = BF_ATOM_THREAD, .bits = 32, .is_known = true, .number = i};
    snprintf(atom.name, sizeof atom.name, "t%c", "xyz"[i]);
    values->thread[i] =
        block[i] == 1 ? bf_expression_constant(values, 32, 0) : bf_expression_atom(values, &atom);
  }
  for (unsigned i = 0; i < 5; i++) {
    bf_atom atom = {.kind = BF_ATOM_COMPUTED, .bits = widths[i], .is_named = true, .name = "?"};
    snprintf(atom.why, sizeof atom.why, "an expression too large to keep");
    values->too_large[i] = bf_expression_atom(values, &atom);
  }
  return values->failed ? BF_NO_MEMORY : BF_OK;
}

void bf_expressions_free(bf_expressions *values) {
  bf_expressions_forget(values);
  free(values->memo);
  free(values->nothing);
  free(values->mark);
  free(values->done);
  free(values->node);
  free(values->slot);
  free(values->atom);
  free(values->mask);
  bf_arena_free(&values->arena);
}

/* ---- Masks ---- */

uint32_t bf_mask_intern(bf_expressions *values, const uint64_t *words) {
  size_t bytes = values->mask_words * sizeof *words;
  values->work += values->masks;
  for (uint32_t i = values->masks; i-- > 0;)
    if (memcmp(values->mask[i], words, bytes) == 0)
      return i;
  if (values->failed ||
      !grow((void **)&values->mask, values->masks, &values->mask_capacity, sizeof *values->mask)) {
    values->failed = true;
    return 0;
  }
  memset(values->mask[values->masks], 0, sizeof *values->mask);
  memcpy(values->mask[values->masks], words, bytes);
  return values->masks++;
}

bool bf_mask_contains(const bf_expressions *values, uint32_t mask, uint32_t part) {
  for (unsigned i = 0; i < values->mask_words; i++)
    if (values->mask[part][i] & ~values->mask[mask][i])
      return false;
  return true;
}

bool bf_mask_meets(const bf_expressions *values, uint32_t mask, uint32_t other) {
  for (unsigned i = 0; i < values->mask_words; i++)
    if (values->mask[mask][i] & values->mask[other][i])
      return true;
  return false;
}

/* ---- Constants, atoms, sums ---- */

bf_expression bf_expression_constant(bf_expressions *values, unsigned bits, uint64_t number) {
  bf_node node = {
      .kind = BF_EXPRESSION_CONSTANT, .bits = bits, .is_uniform = true, .is_known = true};
  node.number = bf_low_bits(number, bits);
  return intern(values, &node);
}

bool bf_expression_is_constant(const bf_expressions *values, bf_expression value,
                               uint64_t *number) {
  *number = values->node[value].number;
  return values->node[value].kind == BF_EXPRESSION_CONSTANT;
}

bf_expression bf_expression_atom(bf_expressions *values, const bf_atom *atom) {
  if (values->failed ||
      !grow((void **)&values->atom, values->atoms, &values->atom_capacity, sizeof *values->atom))
    return fail(values);
  if (values->atoms >= MOST_NODES) {
    values->is_full = true;
    return values->too_large[width_index(atom->bits)];
  }
  values->atom[values->atoms] = *atom;
  bf_node node = {.kind = BF_EXPRESSION_ATOM, .bits = atom->bits, .number = values->atoms++};
  node.is_uniform = atom->is_uniform;
  node.is_known = atom->is_known;
  node.is_named = atom->is_named || atom->kind == BF_ATOM_SHARED || atom->kind == BF_ATOM_WINDOW;
  return intern(values, &node);
}

/* A sum under construction. */
typedef struct sum {
  unsigned bits;
  uint64_t constant;
  uint32_t terms;
  bool overflows;
  bf_term term[MOST_TERMS];
} sum;

/* Adds coefficient * value, keeping the terms sorted. */
static void add_term(sum *s, bf_expression value, int64_t coefficient) {
  uint32_t at = 0;
  while (at < s->terms && s->term[at].value < value)
    at++;
  if (at == s->terms || s->term[at].value != value) {
    if (s->terms == MOST_TERMS) {
      s->overflows = true;
      return;
    }
    memmove(&s->term[at + 1], &s->term[at], (s->terms - at) * sizeof *s->term);
    s->term[at] = (bf_term){value, 0};
    s->terms++;
  }
  uint64_t total = (uint64_t)s->term[at].coefficient + (uint64_t)coefficient;
  s->term[at].coefficient = bf_sign_extend(bf_low_bits(total, s->bits), s->bits);
  if (s->term[at].coefficient == 0) {
    s->terms--;
    memmove(&s->term[at], &s->term[at + 1], (s->terms - at) * sizeof *s->term);
  }
}

static void add_value(sum *s, const bf_expressions *values, bf_expression value,
                      int64_t coefficient) {
  const bf_node *node = &values->node[value];
  if (node->kind == BF_EXPRESSION_CONSTANT) {
    s->constant += node->number * (uint64_t)coefficient;
  } else if (node->kind == BF_EXPRESSION_SUM) {
    s->constant += node->number * (uint64_t)coefficient;
    for (uint32_t i = 0; i < node->terms; i++)
      add_term(s, node->term[i].value,
               (int64_t)((uint64_t)node->term[i].coefficient * (uint64_t)coefficient));
  } else {
    add_term(s, value, coefficient);
  }
}

static bf_expression finish_sum(bf_expressions *values, sum *s) {
  s->constant = bf_low_bits(s->constant, s->bits);
  if (s->overflows)
    return values->too_large[width_index(s->bits)];
  if (s->terms == 0)
    return bf_expression_constant(values, s->bits, s->constant);
  if (s->terms == 1 && s->constant == 0 && s->term[0].coefficient == 1)
    return s->term[0].value;
  bf_node node = {.kind = BF_EXPRESSION_SUM, .bits = s->bits, .is_uniform = true, .is_known = true};
  node.number = s->constant;
  node.terms = s->terms;
  node.term = s->term;
  for (uint32_t i = 0; i < s->terms; i++) {
    const bf_node *term = &values->node[s->term[i].value];
    node.is_uniform &= term->is_uniform;
    node.is_known &= term->is_known;
    node.is_named |= term->is_named;
    if (term->depth >= node.depth)
      node.depth = term->depth + 1;
  }
  return intern(values, &node);
}

bf_expression bf_expression_add(bf_expressions *values, bf_expression a, bf_expression b,
                                int64_t coefficient) {
  if (values->failed)
    return BF_UNDEFINED;
  sum s = {.bits = values->node[a].bits};
  add_value(&s, values, a, 1);
  add_value(&s, values, b, coefficient);
  return finish_sum(values, &s);
}

bf_expression bf_expression_scale(bf_expressions *values, bf_expression a, int64_t coefficient) {
  return bf_expression_add(values, bf_expression_constant(values, values->node[a].bits, 0), a,
                           coefficient);
}

bf_expression bf_expression_multiply(bf_expressions *values, bf_expression a, bf_expression b) {
  uint64_t number;
  if (bf_expression_is_constant(values, a, &number))
    return bf_expression_scale(values, b, (int64_t)number);
  if (bf_expression_is_constant(values, b, &number))
    return bf_expression_scale(values, a, (int64_t)number);
  return bf_expression_operate(values, BF_DO_MUL, values->node[a].bits, a, b, 0);
}

/* ---- What is affine in the thread index ---- */

/* The thread index along a dimension, with the given bits. */
static bf_expression thread_index(bf_expressions *values, unsigned dimension, unsigned bits) {
  bf_expression thread = values->thread[dimension];
  if (bits == 32 || values->node[thread].kind == BF_EXPRESSION_CONSTANT)
    return bits == 32 ? thread : bf_expression_constant(values, bits, 0);
  bf_node node = {.kind = BF_EXPRESSION_OPERATION, .bits = bits, .a = thread, .is_known = true};
  node.operation = bits > 32 ? BF_DO_ZERO_EXTEND : BF_DO_TRUNCATE;
  node.depth = 1;
  return intern(values, &node);
}

/* The sum that equals lanes in every thread; false where there is none. */
static bool fit_sum(const bf_expressions *values, const bf_lanes *lanes, unsigned bits,
                    uint64_t step[3]) {
  const uint32_t *block = values->block;
  const uint32_t distance[3] = {1, block[0], block[0] * block[1]};
  for (unsigned i = 0; i < 3; i++)
    step[i] = block[i] > 1 ? lanes->value[distance[i]] - lanes->value[0] : 0;
  if (bits == 1 && (step[0] || step[1] || step[2]))
    return false;
  for (unsigned thread = 0; thread < values->threads; thread++) {
    uint64_t x = thread % block[0], y = thread / block[0] % block[1], z = thread / distance[2];
    uint64_t expected = lanes->value[0] + step[0] * x + step[1] * y + step[2] * z;
    if (bf_low_bits(expected, bits) != lanes->value[thread])
      return false;
  }
  return true;
}

/* A known value as a sum of thread indices, or itself. */
static bf_expression fit(bf_expressions *values, bf_expression value) {
  unsigned bits = values->node[value].bits;
  const bf_lanes *lanes = bf_expression_evaluate(values, value);
  uint64_t step[3];
  if (!lanes)
    return value;
  if (!bf_lanes_all_known(values, lanes)) { /* a division by zero */
    values->node[value].is_known = false;
    return value;
  }
  if (!fit_sum(values, lanes, bits, step))
    return value;
  sum s = {.bits = bits, .constant = lanes->value[0]};
  for (unsigned i = 0; i < 3; i++)
    if (step[i])
      add_value(&s, values, thread_index(values, i, bits), bf_sign_extend(step[i], bits));
  return finish_sum(values, &s);
}

/* A value that is deep: a list of numbers where it is known, else given up. */
static bf_expression flatten(bf_expressions *values, bf_expression value) {
  const bf_node *node = &values->node[value];
  unsigned bits = node->bits;
  size_t bytes = (size_t)values->listed * values->threads * sizeof(uint64_t);
  const bf_lanes *lanes =
      node->is_known && bytes < MOST_LISTED_BYTES ? bf_expression_evaluate(values, value) : NULL;
  if (!lanes)
    return values->too_large[width_index(bits)];
  bf_node list = {.kind = BF_EXPRESSION_LANES, .bits = bits, .is_known = true};
  list.lane = malloc(values->threads * sizeof *list.lane);
  if (!list.lane)
    return fail(values);
  uint64_t *copy = list.lane;
  memcpy(copy, lanes->value, values->threads * sizeof *copy);
  bf_expression result = intern(values, &list);
  free(copy);
  return result;
}

/* Interns a node that is no sum and simplifies what is known. */
static bf_expression settle(bf_expressions *values, bf_node *node) {
  uint32_t before = values->nodes;
  bf_expression value = intern(values, node);
  if (values->failed)
    return BF_UNDEFINED;
  if (value < before || values->node[value].kind != node->kind)
    return values->node[value].same ? values->node[value].same : value;
  bf_expression same = value;
  if (node->is_known && node->kind != BF_EXPRESSION_BLEND && (!node->is_named || node->bits == 1))
    same = fit(values, value);
  if (same == value && node->depth > MOST_DEPTH)
    same = flatten(values, value);
  if (values->failed)
    return BF_UNDEFINED;
  values->node[value].same = same == value ? 0 : same;
  return same;
}

/* ---- Operations ---- */

/* The largest power of two that divides value in every thread, whatever its atoms are: its bits. */
static unsigned trailing_zeros(const bf_expressions *values, bf_expression value) {
  const bf_node *node = &values->node[value];
  if (node->kind != BF_EXPRESSION_SUM && node->kind != BF_EXPRESSION_CONSTANT)
    return 0;
  uint64_t all = node->number;
  for (uint32_t i = 0; i < node->terms; i++)
    all |= (uint64_t)node->term[i].coefficient;
  return all ? (unsigned)__builtin_ctzll(all) : 64;
}

/* Whether value is known and less than 2^bits in every thread. */
static bool is_below(bf_expressions *values, bf_expression value, unsigned bits) {
  if (!values->node[value].is_known)
    return false;
  const bf_lanes *lanes = bf_expression_evaluate(values, value);
  for (unsigned i = 0; lanes && i < values->threads; i++)
    if (bits < 64 && lanes->value[i] >> bits)
      return false;
  return lanes != NULL;
}

/* Whether a and b have no bit in common: one is a multiple of a power of two that the other does
 * not reach. */
static bool are_disjoint(bf_expressions *values, bf_expression a, bf_expression b) {
  unsigned zeros_a = trailing_zeros(values, a), zeros_b = trailing_zeros(values, b);
  return (zeros_a > 0 && is_below(values, b, zeros_a)) ||
         (zeros_b > 0 && is_below(values, a, zeros_b));
}

/* value without the terms that do not change its low bits. */
static bf_expression drop_high_terms(bf_expressions *values, bf_expression value, unsigned bits) {
  bf_node node = values->node[value];
  if (node.kind != BF_EXPRESSION_SUM || bits >= 64)
    return value;
  sum s = {.bits = node.bits, .constant = bf_low_bits(node.number, bits)};
  for (uint32_t i = 0; i < node.terms; i++)
    if (bf_low_bits((uint64_t)node.term[i].coefficient, bits))
      add_term(&s, node.term[i].value, node.term[i].coefficient);
  return finish_sum(values, &s);
}

/* Simpler forms of and, or, xor; 0 where there is none. */
static bf_expression simplify_logic(bf_expressions *values, bf_operation operation, bf_expression a,
                                    bf_expression b) {
  unsigned bits = values->node[a].bits;
  uint64_t number, inner;
  bool is_constant = bf_expression_is_constant(values, b, &number);
  if (a == b)
    return operation == BF_DO_XOR ? bf_expression_constant(values, bits, 0) : a;
  if (is_constant && number == 0)
    return operation == BF_DO_AND ? b : a;
  if (is_constant && number == bf_low_bits(UINT64_MAX, bits) && operation != BF_DO_XOR)
    return operation == BF_DO_AND ? a : b;
  const bf_node *node = &values->node[a];
  if (is_constant && operation == BF_DO_XOR && node->kind == BF_EXPRESSION_OPERATION &&
      node->operation == BF_DO_XOR && bf_expression_is_constant(values, node->b, &inner))
    return bf_expression_operate(values, BF_DO_XOR, bits, node->a,
                                 bf_expression_constant(values, bits, number ^ inner), 0);
  if (bits > 1 && operation != BF_DO_AND && are_disjoint(values, a, b))
    return bf_expression_add(values, a, b, 1);
  if (bits > 1 && operation == BF_DO_AND && is_constant) {
    bf_expression less = drop_high_terms(values, a, 64 - (unsigned)__builtin_clzll(number));
    if (less != a)
      return bf_expression_operate(values, BF_DO_AND, bits, less, b, 0);
  }
  return 0;
}

static bool is_commutative(bf_operation operation) {
  return operation == BF_DO_AND || operation == BF_DO_OR || operation == BF_DO_XOR ||
         operation == BF_DO_MUL || operation == BF_DO_EQUAL;
}

/* Interns operation(a, b, c) as it is. */
static bf_expression make_operation(bf_expressions *values, bf_operation operation, unsigned bits,
                                    const bf_expression *operand) {
  bf_node node = {.kind = BF_EXPRESSION_OPERATION, .operation = operation, .bits = bits};
  node.is_uniform = node.is_known = true;
  for (unsigned i = 0; i < 3; i++) {
    const bf_node *in = &values->node[operand[i]];
    if (operand[i] == BF_UNDEFINED)
      continue;
    node.is_uniform &= in->is_uniform;
    node.is_known &= in->is_known;
    node.is_named |= in->is_named;
    node.depth = in->depth >= node.depth ? in->depth + 1 : node.depth;
  }
  node.a = operand[0];
  node.b = operand[1];
  node.c = operand[2];
  return settle(values, &node);
}

bf_expression bf_expression_operate(bf_expressions *values, bf_operation operation, unsigned bits,
                                    bf_expression a, bf_expression b, bf_expression c) {
  if (values->failed)
    return BF_UNDEFINED;
  uint64_t number;
  if (is_commutative(operation) && (values->node[a].kind == BF_EXPRESSION_CONSTANT ||
                                    (values->node[b].kind != BF_EXPRESSION_CONSTANT && a > b))) {
    bf_expression swap = a;
    a = b;
    b = swap;
  }
  if (operation == BF_DO_SHL && bf_expression_is_constant(values, b, &number))
    return number >= bits ? bf_expression_constant(values, bits, 0)
                          : bf_expression_scale(values, a, (int64_t)((uint64_t)1 << number));
  if ((operation == BF_DO_SHR_S || operation == BF_DO_SHR_U) &&
      bf_expression_is_constant(values, b, &number) && number == 0)
    return a;
  if (operation == BF_DO_AND || operation == BF_DO_OR || operation == BF_DO_XOR) {
    bf_expression simpler = simplify_logic(values, operation, a, b);
    if (simpler)
      return simpler;
  }
  if (operation == BF_DO_EQUAL && a == b)
    return bf_expression_constant(values, 1, 1);
  return make_operation(values, operation, bits, (bf_expression[]){a, b, c});
}

bf_expression bf_expression_not(bf_expressions *values, bf_expression a) {
  unsigned bits = values->node[a].bits;
  if (bits == 1)
    return bf_expression_operate(values, BF_DO_XOR, 1, a, bf_expression_constant(values, 1, 1), 0);
  return bf_expression_add(values, bf_expression_constant(values, bits, UINT64_MAX), a, -1);
}

/* ---- Changes of width ---- */

/* The low bits of a sum: the sum of the low bits of its terms. */
static bf_expression truncate_sum(bf_expressions *values, bf_expression value, unsigned bits) {
  sum s = {.bits = bits, .constant = values->node[value].number};
  for (uint32_t i = 0; i < values->node[value].terms && !values->failed; i++) {
    bf_term term = values->node[value].term[i];
    add_value(&s, values, bf_expression_convert(values, term.value, bits, false), term.coefficient);
  }
  return finish_sum(values, &s);
}

static bf_expression truncate_value(bf_expressions *values, bf_expression value, unsigned bits) {
  bf_node node = values->node[value];
  bool extends = node.operation == BF_DO_ZERO_EXTEND || node.operation == BF_DO_SIGN_EXTEND;
  if (node.kind == BF_EXPRESSION_SUM)
    return truncate_sum(values, value, bits);
  if (node.kind == BF_EXPRESSION_ATOM && values->atom[node.number].kind == BF_ATOM_WINDOW)
    return bf_expression_constant(values, bits, values->atom[node.number].number);
  if (node.kind == BF_EXPRESSION_OPERATION && extends)
    return bf_expression_convert(values, node.a, bits, node.operation == BF_DO_SIGN_EXTEND);
  if (node.kind == BF_EXPRESSION_BLEND)
    return bf_expression_blend(values, (uint32_t)node.number,
                               bf_expression_convert(values, node.a, bits, false),
                               bf_expression_convert(values, node.b, bits, false));
  if (node.kind == BF_EXPRESSION_SELECT)
    return bf_expression_select(values, node.a, bf_expression_convert(values, node.b, bits, false),
                                bf_expression_convert(values, node.c, bits, false));
  return make_operation(values, BF_DO_TRUNCATE, bits, (bf_expression[]){value, 0, 0});
}

bf_expression bf_expression_convert(bf_expressions *values, bf_expression a, unsigned bits,
                                    bool is_signed) {
  if (values->failed)
    return BF_UNDEFINED;
  const bf_node *node = &values->node[a];
  if (node->bits == bits || node->kind == BF_EXPRESSION_UNDEFINED)
    return a;
  if (node->kind == BF_EXPRESSION_CONSTANT)
    return bf_expression_constant(values, bits,
                                  is_signed ? (uint64_t)bf_sign_extend(node->number, node->bits)
                                            : node->number);
  if (bits < node->bits)
    return truncate_value(values, a, bits);
  return make_operation(values, is_signed ? BF_DO_SIGN_EXTEND : BF_DO_ZERO_EXTEND, bits,
                        (bf_expression[]){a, 0, 0});
}

/* ---- Choices ---- */

bf_expression bf_expression_blend(bf_expressions *values, uint32_t mask, bf_expression a,
                                  bf_expression b) {
  if (a == b || b == BF_UNDEFINED || mask == 1)
    return a;
  if (mask == 0 || a == BF_UNDEFINED)
    return b;
  const bf_node *x = &values->node[a], *y = &values->node[b];
  while (y->kind == BF_EXPRESSION_BLEND && bf_mask_contains(values, mask, (uint32_t)y->number)) {
    b = y->b;
    y = &values->node[b];
  }
  if (b == a)
    return a;
  bf_node node = {.kind = BF_EXPRESSION_BLEND, .bits = x->bits, .a = a, .b = b, .number = mask};
  node.is_known = x->is_known && y->is_known;
  node.is_named = x->is_named || y->is_named;
  node.depth = (x->depth > y->depth ? x->depth : y->depth) + 1;
  return settle(values, &node);
}

bf_expression bf_expression_select(bf_expressions *values, bf_expression predicate, bf_expression a,
                                   bf_expression b) {
  uint64_t number;
  if (a == b || b == BF_UNDEFINED)
    return a;
  if (a == BF_UNDEFINED)
    return b;
  if (bf_expression_is_constant(values, predicate, &number))
    return number ? a : b;
  const bf_node *p = &values->node[predicate];
  if (p->kind == BF_EXPRESSION_OPERATION && p->operation == BF_DO_XOR &&
      bf_expression_is_constant(values, p->b, &number) && number == 1)
    return bf_expression_select(values, p->a, b, a);
  if (values->node[a].kind == BF_EXPRESSION_SELECT && values->node[a].a == predicate)
    return bf_expression_select(values, predicate, values->node[a].b, b);
  if (values->node[b].kind == BF_EXPRESSION_SELECT && values->node[b].a == predicate)
    return bf_expression_select(values, predicate, a, values->node[b].c);
  const bf_node *x = &values->node[a], *y = &values->node[b];
  bf_node node = {.kind = BF_EXPRESSION_SELECT, .bits = x->bits, .a = predicate, .b = a, .c = b};
  node.is_known = p->is_known && x->is_known && y->is_known;
  node.is_uniform = p->is_uniform && x->is_uniform && y->is_uniform;
  node.is_named = x->is_named || y->is_named;
  node.depth = x->depth > y->depth ? x->depth : y->depth;
  node.depth = (p->depth > node.depth ? p->depth : node.depth) + 1;
  return settle(values, &node);
}
