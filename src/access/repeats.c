/* Repeats of known accesses of a packed trace: a table with two places for each key. */
#include "access/trace.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(BF_REPEATS == 1 << (64 - 46), "bf_repeats_slot gives so many");

/* Repeats after which the caller may tell progress. */
enum { MOST_PASSED = 1 << 20 };

int bf_repeats_create(void (*forget)(void *context, uint32_t slot, uint64_t executions),
                      void *context, bf_repeats **out, bf_diagnostic *diagnostic) {
  bf_repeats *repeats = *out = calloc(1, sizeof *repeats);
  if (!repeats)
    return bf_no_memory(diagnostic);
  repeats->forget = forget;
  repeats->context = context;
  memset(repeats->matter, 0xFF, sizeof repeats->matter);
  return BF_OK;
}

void bf_repeats_matter(bf_repeats *repeats, bf_op op, unsigned width_bytes, uint32_t bits) {
  repeats->matter[op][bf_width_index(width_bytes)] = bits;
}

void bf_repeats_free(bf_repeats *repeats) { free(repeats); }

static void forget(bf_repeats *repeats, uint32_t slot) {
  bf_repeat *known = &repeats->slot[slot];
  if (known->shape && known->executions)
    repeats->forget(repeats->context, slot, known->executions);
  known->executions = 0;
}

void bf_repeats_flush(bf_repeats *repeats) {
  for (uint32_t slot = 0; slot < BF_REPEATS; slot++)
    forget(repeats, slot);
}

/* The place that a new key gets: one that is empty, else the one with fewer executions. */
static uint32_t place_for(const bf_repeats *repeats, uint32_t slot) {
  const bf_repeat *first = &repeats->slot[slot], *second = &repeats->slot[slot ^ 1];
  bool is_first = !first->shape || (second->shape && first->executions <= second->executions);
  return is_first ? slot : slot ^ 1;
}

/* Looks the current access up: true if it was counted as a repeat; else *slot is given to it,
 * unless it is of another operation than its shape. */
static bool take(bf_trace *trace, bf_repeats *repeats, uint32_t *slot) {
  const bf_shapes *shapes = &trace->shapes;
  bf_repeat key;
  const bf_access *access = &trace->current;
  const bf_shape *shape = &shapes->shape[shapes->number];
  if (shape->op != access->op || shape->width_bytes != access->width_bytes)
    return false;
  *slot = bf_repeats_slot(repeats, access->op, access->width_bytes, access->site,
                          shapes->id[shapes->number], shapes->first, &key);
  bf_repeat *known = bf_repeats_find(repeats, *slot, &key);
  if (known) {
    known->executions += trace->current.count;
    return true;
  }
  *slot = place_for(repeats, *slot);
  forget(repeats, *slot);
  repeats->slot[*slot] = key;
  repeats->slot[*slot].executions = 0;
  return false;
}

int bf_trace_step_past(bf_trace *trace, bf_repeats *repeats, const bf_access **access,
                       uint32_t *slot, bf_diagnostic *diagnostic) {
  uint64_t left = MOST_PASSED;
  *slot = BF_REPEATS_NONE;
  if (!trace->packed)
    return bf_trace_step(trace, access, diagnostic);
  for (;;) {
    *slot = BF_REPEATS_NONE;
    left -= bf_packed_pass(trace, repeats, left);
    if (left == 0)
      return 2;
    int result = bf_trace_step(trace, access, diagnostic);
    if (result != 1 || trace->is_listed || !take(trace, repeats, slot))
      return result;
    left--;
  }
}
