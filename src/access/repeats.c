/* Repeats of known accesses of a packed trace: a table with four places for each key. */
#include "access/trace.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(BF_REPEATS == BF_REPEAT_PLACES << (64 - 46), "bf_repeats_place gives so many");

/* Repeats after which the caller may tell progress. */
enum { MOST_PASSED = 1 << 20, LINE_BYTES = 64 };

int bf_repeats_create(void (*forget)(void *context, uint32_t slot, uint64_t executions),
                      void *context, bf_repeats **out, bf_diagnostic *diagnostic) {
  bf_repeats *repeats = *out = calloc(1, sizeof *repeats);
  if (!repeats)
    return bf_no_memory(diagnostic);
  repeats->memory = calloc(1, BF_REPEATS * sizeof *repeats->slot + LINE_BYTES);
  if (!repeats->memory) {
    bf_repeats_free(repeats);
    *out = NULL;
    return bf_no_memory(diagnostic);
  }
  size_t past = (uintptr_t)repeats->memory % LINE_BYTES;
  repeats->slot = (bf_repeat *)((char *)repeats->memory + (LINE_BYTES - past) % LINE_BYTES);
  repeats->forget = forget;
  repeats->context = context;
  memset(repeats->matter, 0xFF, sizeof repeats->matter);
  return BF_OK;
}

void bf_repeats_matter(bf_repeats *repeats, bf_op op, unsigned width_bytes, uint32_t bits) {
  repeats->matter[op][bf_width_index(width_bytes)] = bits;
}

void bf_repeats_free(bf_repeats *repeats) {
  if (!repeats)
    return;
  free(repeats->memory);
  free(repeats);
}

/* Tells the executions of a slot, and so many more. */
static void forget(bf_repeats *repeats, uint32_t slot, uint64_t more) {
  bf_repeat *known = &repeats->slot[slot];
  if (known->key && known->executions + more)
    repeats->forget(repeats->context, slot, known->executions + more);
  known->executions = 0;
}

void bf_repeats_flush(bf_repeats *repeats) {
  for (uint32_t slot = 0; slot < BF_REPEATS; slot++)
    if (repeats->used[slot / BF_REPEAT_SLOTS_TOLD])
      forget(repeats, slot, 0);
    else
      slot += BF_REPEAT_SLOTS_TOLD - 1;
}

/* The place that a new key gets: one that is empty, else the one with the fewest executions. */
static uint32_t place_for(const bf_repeats *repeats, uint32_t first) {
  uint32_t best = first;
  for (uint32_t i = first; i < first + BF_REPEAT_PLACES; i++) {
    const bf_repeat *own = &repeats->slot[i], *least = &repeats->slot[best];
    if (least->key && (!own->key || own->executions < least->executions))
      best = i;
  }
  return best;
}

/* Looks the current access up: true if it was counted as a repeat; else *slot is given to it,
 * unless it is of another operation than its shape. */
static bool take(bf_trace *trace, bf_repeats *repeats, uint32_t *slot) {
  const bf_shapes *shapes = &trace->shapes;
  const bf_access *access = &trace->current;
  const bf_shape *shape = &shapes->shape[shapes->number];
  if (shape->op != access->op || shape->width_bytes != access->width_bytes)
    return false;
  uint64_t key = bf_repeats_key(repeats, access->op, access->width_bytes,
                                shapes->id[shapes->number], shapes->first);
  if (!key)
    return false;
  uint32_t place = bf_repeats_place(key, trace->site);
  bf_repeat *known = bf_repeats_find(repeats, place, key, trace->site);
  if (known && access->count > UINT32_MAX - known->executions) {
    forget(repeats, (uint32_t)(known - repeats->slot), access->count);
    return true;
  }
  if (known) {
    known->executions += (uint32_t)access->count;
    return true;
  }
  *slot = place_for(repeats, place);
  forget(repeats, *slot, 0);
  repeats->slot[*slot] = (bf_repeat){.key = key, .site = trace->site};
  repeats->used[*slot / BF_REPEAT_SLOTS_TOLD] = 1;
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
