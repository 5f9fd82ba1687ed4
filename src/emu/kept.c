/* Keeping accesses. They stand in one workload, behind a lock. Before it every worker has a table
 * of those that it made lately, by what its counter knows them by (bf_counter_last), so that the
 * lock is taken for accesses that are new or long gone only. */
#include "emu/kept.h"
#include "emu/inner.h"

#include <stdlib.h>

enum { SLOT_BITS = 13, SLOTS = 1 << SLOT_BITS };

/* An access of the workload, and how often it was made since its count was last brought up. */
typedef struct bf_kept_access {
  bf_counter_pattern pattern; /* number 0: none */
  uint32_t index;
  uint64_t count;
} slot;

struct bf_kept {
  pthread_mutex_t lock;
  bf_workload *workload; /* NULL: there were too many */
  size_t *budget;
  slot **lately; /* per worker: SLOTS of them, made at its first access */
  unsigned workers;
  bool is_cut; /* written with the lock, read without it: workers may see it late */
};

bf_kept *bf_kept_create(unsigned workers, size_t *budget) {
  bf_kept *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  made->lately = calloc(workers, sizeof *made->lately);
  made->workers = workers;
  made->budget = budget;
  pthread_mutex_init(&made->lock, NULL);
  if (made->lately && bf_workload_create(&made->workload) == BF_OK)
    return made;
  bf_kept_free(made);
  return NULL;
}

/* Forgets all accesses and gives their room back. */
static void forget(bf_kept *kept) {
  if (kept->workload && kept->budget)
    *kept->budget += bf_workload_size(kept->workload);
  bf_workload_free(kept->workload);
  kept->workload = NULL;
}

void bf_kept_free(bf_kept *kept) {
  if (!kept)
    return;
  forget(kept);
  for (unsigned i = 0; kept->lately && i < kept->workers; i++)
    free(kept->lately[i]);
  free(kept->lately);
  pthread_mutex_destroy(&kept->lock);
  free(kept);
}

/* Brings the count of a slot's access up. The caller has the lock. */
static void settle(bf_kept *kept, slot *at) {
  if (at->pattern.number && at->count)
    bf_workload_count(kept->workload, at->index, at->count);
  at->count = 0;
}

/* Puts an access into the workload; false where there is no room. The caller has the lock. */
static bool place(bf_kept *kept, const bf_emu_event *event, uint64_t times, size_t *index) {
  size_t before = bf_workload_size(kept->workload);
  bf_access access = {
      .op = event->op, .width_bytes = event->width_bytes, .mask = event->mask, .count = times};
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    access.address[lane] = event->mask >> lane & 1 ? event->shared_address[lane] : 0;
  if (before >= BF_PROFILE_MOST || (kept->budget && !*kept->budget) ||
      bf_workload_place(kept->workload, &access, index) != BF_OK)
    return false;
  if (kept->budget)
    *kept->budget -= bf_workload_size(kept->workload) - before;
  return true;
}

/* An access that the worker has not made lately: it takes the slot of another. */
static void add_new(bf_kept *kept, const bf_emu_event *event, bf_counter_pattern pattern,
                    uint64_t times, slot *at) {
  size_t index;
  pthread_mutex_lock(&kept->lock);
  if (kept->workload && at)
    settle(kept, at);
  if (kept->workload && !place(kept, event, times, &index)) {
    forget(kept);
    __atomic_store_n(&kept->is_cut, true, __ATOMIC_RELAXED);
  }
  if (kept->workload && at)
    *at = (slot){pattern, (uint32_t)index, 0};
  pthread_mutex_unlock(&kept->lock);
}

/* Whether a slot holds the access that has a pattern. */
static bool holds(const slot *at, bf_counter_pattern pattern) {
  return at && pattern.number && at->pattern.number == pattern.number &&
         at->pattern.base == pattern.base;
}

bf_kept_access *bf_kept_add(bf_kept *kept, const bf_emu_event *event, bf_counter_pattern pattern,
                            uint64_t times, bf_kept_access *last) {
  if (holds(last, pattern)) {
    last->count += times;
    return last;
  }
  if (__atomic_load_n(&kept->is_cut, __ATOMIC_RELAXED))
    return NULL;
  slot **slots = &kept->lately[event->worker];
  if (!*slots)
    *slots = calloc(SLOTS, sizeof **slots);
  uint64_t mixed = (pattern.number << 32 ^ pattern.base) * UINT64_C(0x9e3779b97f4a7c15);
  slot *at = *slots && pattern.number ? &(*slots)[mixed >> (64 - SLOT_BITS)] : NULL;
  if (holds(at, pattern))
    at->count += times;
  else
    add_new(kept, event, pattern, times, at);
  return at;
}

const bf_workload *bf_kept_get(bf_kept *kept) {
  for (unsigned i = 0; i < kept->workers && kept->workload; i++)
    for (unsigned j = 0; kept->lately[i] && j < SLOTS; j++)
      settle(kept, &kept->lately[i][j]);
  return kept->workload;
}

void bf_kept_count(bf_kept *kept, size_t index, uint64_t more) {
  if (kept->workload)
    bf_workload_count(kept->workload, index, more);
}
