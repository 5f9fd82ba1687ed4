/* Repeats of known accesses of a packed trace: a table with four places for each key. */
#include "access/trace.h"
#include "base/pages.h"

#include <stdlib.h>
#include <string.h>

/* Repeats after which the caller may tell progress. */
enum { MOST_PASSED = 1 << 20, LINE_BYTES = 64 };
/* Bits of a key's hash at first, so many more each time, and at most. */
enum { FIRST_BITS = 10, MORE_BITS = 2, MOST_BITS = 18 };

_Static_assert(BF_REPEATS == BF_REPEAT_PLACES << MOST_BITS, "each place may have a slot");

/* Bytes of the table for keys of that many bits. */
static size_t table_bytes(unsigned bits) {
  return ((size_t)BF_REPEAT_PLACES << bits) * sizeof(bf_repeat) + LINE_BYTES;
}

/* An empty table for keys of that many bits, in place of none. */
static int make_places(bf_repeats *repeats, unsigned bits) {
  size_t places = (size_t)BF_REPEAT_PLACES << bits;
  repeats->memory = bf_pages_get(table_bytes(bits));
  repeats->slot = malloc(places * sizeof *repeats->slot);
  repeats->bits = bits;
  if (!repeats->memory || !repeats->slot) {
    bf_pages_free(repeats->memory, table_bytes(bits));
    free(repeats->slot);
    return BF_NO_MEMORY;
  }
  size_t past = (uintptr_t)repeats->memory % LINE_BYTES;
  repeats->place = (bf_repeat *)((char *)repeats->memory + (LINE_BYTES - past) % LINE_BYTES);
  return BF_OK;
}

int bf_repeats_create(void (*forget)(void *context, uint32_t slot, uint64_t executions),
                      void *context, bf_repeats **out, bf_diagnostic *diagnostic) {
  bf_repeats *repeats = *out = calloc(1, sizeof *repeats);
  if (!repeats || make_places(repeats, FIRST_BITS) != BF_OK) {
    free(repeats);
    *out = NULL;
    return bf_no_memory(diagnostic);
  }
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
  bf_pages_free(repeats->memory, table_bytes(repeats->bits));
  free(repeats->slot);
  free(repeats);
}

/* Tells the executions of a place, and so many more. */
static void forget(bf_repeats *repeats, uint32_t place, uint64_t more) {
  bf_repeat *known = &repeats->place[place];
  if (known->key && known->executions + more)
    repeats->forget(repeats->context, repeats->slot[place], known->executions + more);
  known->executions = 0;
}

void bf_repeats_flush(bf_repeats *repeats) {
  for (uint32_t place = 0; place < (uint32_t)BF_REPEAT_PLACES << repeats->bits; place++)
    forget(repeats, place, 0);
}

void bf_repeats_clear(bf_repeats *repeats) {
  memset(repeats->place, 0, ((size_t)BF_REPEAT_PLACES << repeats->bits) * sizeof *repeats->place);
  repeats->slots = 0;
}

/* The place that a new key gets: one that is empty, else the one with the fewest executions. */
static uint32_t place_for(const bf_repeats *repeats, uint32_t first) {
  uint32_t best = first;
  for (uint32_t i = first; i < first + BF_REPEAT_PLACES; i++) {
    const bf_repeat *own = &repeats->place[i], *least = &repeats->place[best];
    if (least->key && (!own->key || own->executions < least->executions))
      best = i;
  }
  return best;
}

/* Whether so much of the table is in use that keys would often find their places taken. */
static bool is_crowded(const bf_repeats *repeats) {
  return repeats->slots >= (uint32_t)BF_REPEAT_PLACES << repeats->bits >> 2;
}

/* Makes the table four times as large: what the places of a hash have goes to those of the four
 * hashes that are two bits longer, where it has room in any case. False where there is no memory:
 * it stays as it is. */
static bool grow(bf_repeats *repeats) {
  bf_repeats before = *repeats;
  if (repeats->bits == MOST_BITS || make_places(repeats, before.bits + MORE_BITS) != BF_OK) {
    *repeats = before;
    return false;
  }
  for (uint32_t i = 0; i < (uint32_t)BF_REPEAT_PLACES << before.bits; i++) {
    const bf_repeat *own = &before.place[i];
    if (!own->key)
      continue;
    uint32_t place = place_for(repeats, bf_repeats_place(repeats, own->key, own->site));
    repeats->place[place] = *own;
    repeats->slot[place] = before.slot[i];
  }
  bf_pages_free(before.memory, table_bytes(before.bits));
  free(before.slot);
  return true;
}

/* Gives a new key a place, and its slot, which is a new one or that of what was in the place. */
static uint32_t give_slot(bf_repeats *repeats, uint64_t key, uint32_t site) {
  uint32_t place = place_for(repeats, bf_repeats_place(repeats, key, site));
  while (repeats->place[place].key && is_crowded(repeats) && grow(repeats))
    place = place_for(repeats, bf_repeats_place(repeats, key, site));
  if (!repeats->place[place].key)
    repeats->slot[place] = repeats->slots++;
  forget(repeats, place, 0);
  repeats->place[place] = (bf_repeat){.key = key, .site = site};
  return repeats->slot[place];
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
  uint32_t place = bf_repeats_place(repeats, key, trace->site);
  bf_repeat *known = bf_repeats_find(repeats, place, key, trace->site);
  if (known && access->count > UINT32_MAX - known->executions) {
    forget(repeats, (uint32_t)(known - repeats->place), access->count);
    return true;
  }
  if (known) {
    known->executions += (uint32_t)access->count;
    return true;
  }
  *slot = give_slot(repeats, key, trace->site);
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
