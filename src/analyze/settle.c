/* Whether the conflicts of an access are the same whatever is not known of it.
 *
 * Three things can be unknown of an access whose lanes are known relative to each other: how often
 * it is executed, which does not change what one execution costs; an offset, a multiple of a step,
 * that is added to all lanes; and which lanes take part. Offsets repeat with the rows of the
 * memory, and all of them are counted. Lanes that take part are those for which a comparison holds.
 * Where it compares something that is the same in all lanes with t[lane] + u, modulo 2^bits, for a
 * known t and a u that is the same in all lanes, or with a monotone function of that, the numbers
 * for which it holds are an interval of the circle of all numbers: whatever u is, the lanes are
 * those whose t lies in some interval of the circle. These sets of lanes are all counted. Of other
 * conditions every set of lanes is possible; then no two words of a phase may lie in one bank. */
#include "analyze/settle.h"

#include <stdlib.h>
#include <string.h>

enum {
  MOST_MASKS = 2048,      /* sets of lanes that are counted for an access */
  MOST_DEPTH = 16,        /* of operations inside a condition */
  MOST_COUNTS = 20000000, /* of an analysis */
};

/* ---- Sets of lanes ---- */

/* Sets of lanes of a warp; all of them where it is not known which. */
typedef struct family {
  bool is_any;
  unsigned count;
  uint32_t mask[MOST_MASKS];
} family;

static void add_mask(family *f, uint32_t mask) {
  if (f->count < MOST_MASKS)
    f->mask[f->count++] = mask;
  else
    f->is_any = true;
}

static int compare_masks(const void *x, const void *y) {
  uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
  return a < b ? -1 : a > b;
}

/* Keeps each set once. */
static void sort_family(family *f) {
  unsigned kept = 0;
  qsort(f->mask, f->count, sizeof *f->mask, compare_masks);
  for (unsigned i = 0; i < f->count; i++)
    if (!kept || f->mask[i] != f->mask[kept - 1])
      f->mask[kept++] = f->mask[i];
  f->count = kept;
}

/* Lanes of a warp with one value of t. */
typedef struct level {
  uint64_t value;
  uint32_t mask;
} level;

static int compare_levels(const void *x, const void *y) {
  const level *a = x, *b = y;
  return a->value < b->value ? -1 : a->value > b->value;
}

/* The sets of lanes whose t lies in an interval of the circle: none, all, and each run of levels.
 */
static void add_intervals(family *f, const uint64_t *t, uint32_t lanes) {
  level list[BF_ANALYZE_LANES];
  unsigned levels = 0;
  for (uint32_t left = lanes; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left), i = 0;
    while (i < levels && list[i].value != t[lane])
      i++;
    if (i == levels)
      list[levels++] = (level){t[lane], 0};
    list[i].mask |= 1u << lane;
  }
  qsort(list, levels, sizeof *list, compare_levels);
  add_mask(f, 0);
  add_mask(f, lanes);
  for (unsigned first = 0; first < levels; first++) {
    uint32_t run = 0;
    for (unsigned i = 0; i + 1 < levels; i++)
      add_mask(f, run |= list[(first + i) % levels].mask);
  }
}

/* Each set of one family with each of the other: their union, or what they have in common. */
static void join_families(const family *a, const family *b, bool is_union, family *joined) {
  joined->count = 0;
  joined->is_any = a->is_any || b->is_any;
  for (unsigned i = 0; i < a->count && !joined->is_any; i++) {
    for (unsigned k = 0; k < b->count && !joined->is_any; k++)
      add_mask(joined, is_union ? a->mask[i] | b->mask[k] : a->mask[i] & b->mask[k]);
    if (joined->count > MOST_MASKS / 2)
      sort_family(joined);
  }
  sort_family(joined);
}

/* ---- Conditions ---- */

/* Whether an operation is a monotone function of its first operand, in the order of signed or of
 * unsigned numbers. */
static bool is_monotone(bf_expressions *values, const bf_node *node) {
  uint64_t number;
  switch (node->operation) {
  case BF_DO_SIGN_EXTEND:
  case BF_DO_ZERO_EXTEND:
    return true;
  case BF_DO_SHR_S:
  case BF_DO_SHR_U:
  case BF_DO_DIV_U:
    return bf_expression_is_constant(values, node->b, &number) && number != 0;
  case BF_DO_DIV_S:
    return bf_expression_is_constant(values, node->b, &number) &&
           bf_sign_extend(number, bf_node_of(values, node->b)->bits) > 0;
  case BF_DO_MIN_S:
  case BF_DO_MIN_U:
  case BF_DO_MAX_S:
  case BF_DO_MAX_U:
    return bf_node_of(values, node->b)->is_uniform;
  default:
    return false;
  }
}

/* The known t where value is a monotone function of t + u; BF_UNDEFINED where it is none. */
static bf_expression order_of(bf_expressions *values, bf_expression value) {
  for (unsigned depth = 0; depth < MOST_DEPTH; depth++) {
    bf_node node = *bf_node_of(values, value);
    if (node.is_known || node.is_uniform)
      return node.is_known ? value : bf_expression_constant(values, node.bits, 0);
    if (node.kind == BF_EXPRESSION_OPERATION && is_monotone(values, &node)) {
      value = node.a;
      continue;
    }
    bf_parts parts = bf_walk_take_apart(values, value);
    node = *bf_node_of(values, parts.lanes);
    if (node.is_known)
      return parts.lanes;
    bool is_term = node.kind == BF_EXPRESSION_SUM && node.terms == 1 &&
                   (node.term[0].coefficient == 1 || node.term[0].coefficient == -1);
    if (!is_term && parts.lanes == value)
      return BF_UNDEFINED;
    value = is_term ? node.term[0].value : parts.lanes;
  }
  return BF_UNDEFINED;
}

/* The sets of lanes for which a comparison may hold. */
static void compare(bf_expressions *values, const bf_node *node, unsigned warp, uint32_t lanes,
                    family *f) {
  bf_expression side[2] = {node->a, node->b};
  unsigned varied = bf_node_of(values, side[0])->is_uniform ? 1 : 0;
  if (node->operation == BF_DO_EQUAL && !bf_node_of(values, side[1 - varied])->is_uniform)
    side[0] = bf_expression_add(values, node->a, node->b, -1);
  else if (!bf_node_of(values, side[1 - varied])->is_uniform)
    f->is_any = true;
  bf_expression order = f->is_any ? BF_UNDEFINED : order_of(values, side[varied]);
  const bf_lanes *t = order == BF_UNDEFINED ? NULL : bf_expression_evaluate(values, order);
  for (uint32_t left = lanes; t && left; left &= left - 1)
    if (!bf_mask_has(t->known, warp * BF_ANALYZE_LANES + (unsigned)__builtin_ctz(left)))
      t = NULL;
  f->is_any |= !t;
  if (t)
    add_intervals(f, t->value + (size_t)warp * BF_ANALYZE_LANES, lanes);
}

/* The sets of lanes, of those given, for which a predicate may hold. */
static void find_family(bf_expressions *values, bf_expression predicate, unsigned warp,
                        uint32_t lanes, unsigned depth, family *f) {
  bf_node node = *bf_node_of(values, predicate);
  uint64_t one;
  f->count = 0;
  f->is_any = false;
  if (node.is_uniform) {
    add_mask(f, 0);
    add_mask(f, lanes);
    return;
  }
  bool is_operation = node.kind == BF_EXPRESSION_OPERATION && depth < MOST_DEPTH;
  bool joins = is_operation && (node.operation == BF_DO_AND || node.operation == BF_DO_OR);
  bool negates = is_operation && node.operation == BF_DO_XOR &&
                 bf_expression_is_constant(values, node.b, &one) && one == 1;
  if (is_operation && (node.operation == BF_DO_LESS_S || node.operation == BF_DO_LESS_U ||
                       node.operation == BF_DO_EQUAL)) {
    compare(values, &node, warp, lanes, f);
  } else if (negates) {
    find_family(values, node.a, warp, lanes, depth + 1, f);
    for (unsigned i = 0; i < f->count; i++)
      f->mask[i] ^= lanes;
  } else if (joins) {
    family *both = malloc(2 * sizeof *both);
    f->is_any = !both;
    if (both) {
      find_family(values, node.a, warp, lanes, depth + 1, &both[0]);
      find_family(values, node.b, warp, lanes, depth + 1, &both[1]);
      join_families(&both[0], &both[1], node.operation == BF_DO_OR, f);
    }
    free(both);
  } else {
    f->is_any = true;
  }
}

/* The sets of lanes that may take part in an execution, of those that are listed. */
static void find_lanes(bf_walk *walk, const bf_record *record, unsigned warp, uint32_t lanes,
                       family *f, family *spare) {
  f->count = 0;
  f->is_any = false;
  add_mask(f, lanes);
  for (const bf_repeat *repeat = record->repeats; repeat; repeat = repeat->up)
    f->is_any |= walk->loops.loop[repeat->loop].leaves_apart;
  for (const bf_condition *c = record->place.conditions; c && !f->is_any; c = c->up) {
    if (bf_node_of(&walk->values, c->predicate)->is_uniform)
      continue;
    find_family(&walk->values, c->predicate, warp, lanes, 0, &spare[0]);
    for (unsigned i = 0; i < spare[0].count && !c->is_true; i++)
      spare[0].mask[i] ^= lanes;
    spare[1].count = f->count;
    spare[1].is_any = f->is_any;
    memcpy(spare[1].mask, f->mask, f->count * sizeof *f->mask);
    join_families(&spare[0], &spare[1], false, f);
  }
}

/* ---- Counting ---- */

struct bf_settling {
  uint64_t counts;
  family family, spare[2];
};

bf_settling *bf_settling_create(void) { return calloc(1, sizeof(bf_settling)); }

/* Whether all sets of lanes of the family have as many conflicts as *conflicts, for each offset;
 * UINT32_MAX there: the first of them sets it. */
static bool are_alike(bf_settling *settling, const bf_machine *machine, bf_access access,
                      uint32_t step, uint32_t *conflicts) {
  const family *f = &settling->family;
  uint32_t period = bf_memory_offset_period(machine, access.op);
  for (uint32_t offset = 0; offset == 0 || (step && offset < period); offset += step) {
    if (f->is_any && !bf_memory_is_free_in_part(machine, &access))
      return false;
    for (unsigned i = 0; i < f->count && !f->is_any; i++) {
      bf_access part = access;
      bf_count count;
      part.mask = f->mask[i];
      if (!part.mask)
        continue;
      if (++settling->counts > MOST_COUNTS || bf_memory_count(machine, NULL, &part, &count, NULL) ||
          (*conflicts != UINT32_MAX && *conflicts != count.conflicts))
        return false;
      *conflicts = count.conflicts;
    }
    for (unsigned i = 0; i < BF_ANALYZE_LANES; i++)
      access.address[i] += step;
    if (!step)
      break;
  }
  return true;
}

bool bf_walk_settles(bf_walk *walk, bf_settling *settling, const bf_record *record,
                     const bf_analyze_site *site, const bf_analyze_access *access) {
  bf_access first = bf_analyze_as_access(site, access, NULL);
  uint32_t conflicts = UINT32_MAX;
  if (!settling || settling->counts > MOST_COUNTS)
    return false;
  /* the cheapest question first: most accesses are without conflicts in any lanes */
  settling->family.is_any = true;
  settling->family.count = 0;
  settling->counts++;
  if (are_alike(settling, walk->options->machine, first, site->offset_step_bytes, &conflicts))
    return true;
  find_lanes(walk, record, access->warp, access->mask, &settling->family, settling->spare);
  return !settling->family.is_any &&
         are_alike(settling, walk->options->machine, first, site->offset_step_bytes, &conflicts);
}
