/* Addresses that depend on data: what they are where data is spread evenly over some number of
 * values. How many is not known; the largest number for which addresses stay inside the array that
 * they belong to is taken. */
#include "analyze/walk.h"

#include <stdlib.h>

uint64_t bf_spread_values(unsigned which) {
  static const uint64_t values[BF_SPREADS] = {
      (uint64_t)1 << 32, 16384, 4096, 2048, 1024, 512, 256, 128, 64, 32, 16, 8, 2, 1};
  return values[which];
}

/* Changes places: what the expressions keep of values, and what a spread does. */
static void exchange(bf_expressions *values, bf_spread *own) {
  bf_spread kept = {values->memo, values->memo_capacity, values->memos};
  values->memo = own->memo;
  values->memo_capacity = own->memo_capacity;
  values->memos = own->memos;
  *own = kept;
}

const bf_lanes *bf_spread_evaluate(bf_walk *walk, bf_expression value, unsigned which) {
  bf_expressions *values = &walk->values;
  if (!walk->spread)
    walk->spread = calloc(BF_SPREADS, sizeof *walk->spread);
  if (!walk->spread) {
    values->failed = true;
    return NULL;
  }
  exchange(values, &walk->spread[which]);
  values->spread = bf_spread_values(which);
  const bf_lanes *lanes = bf_expression_evaluate(values, value);
  values->spread = 0;
  exchange(values, &walk->spread[which]);
  return lanes;
}

/* The variable that an address is the start of plus something, or NULL. */
static const bf_placed_variable *variable_of(const bf_walk *walk, bf_expression address) {
  const bf_node *node = bf_node_of(&walk->values, address);
  bf_term whole = {address, 1};
  bool is_sum = node->kind == BF_EXPRESSION_SUM;
  for (uint32_t i = 0; i < (is_sum ? node->terms : 1); i++) {
    bf_term term = is_sum ? node->term[i] : whole;
    for (unsigned k = 0; term.coefficient == 1 && k < walk->variables; k++)
      if (walk->variable[k].value == term.value)
        return &walk->variable[k];
  }
  return NULL;
}

bool bf_spread_fits(const bf_walk *walk, bf_expression address, const bf_lanes *lanes,
                    uint32_t mask, unsigned width_bytes) {
  const bf_placed_variable *own = variable_of(walk, address);
  uint64_t first = own ? own->offset : 0;
  uint64_t end = own && own->variable->bytes ? first + own->variable->bytes : walk->shared_bytes;
  const uint64_t *threads = bf_mask_of(&walk->values, mask);
  for (unsigned i = 0; i < walk->values.threads; i++)
    if (bf_mask_has(threads, i) &&
        (!bf_mask_has(lanes->known, i) || lanes->value[i] < first ||
         lanes->value[i] + width_bytes > end || lanes->value[i] % width_bytes))
      return false;
  return true;
}

void bf_spreads_free(bf_walk *walk) {
  for (unsigned i = 0; walk->spread && i < BF_SPREADS; i++) {
    for (uint32_t k = 0; k < walk->spread[i].memo_capacity; k++)
      free(walk->spread[i].memo[k]);
    free(walk->spread[i].memo);
  }
  free(walk->spread);
}
