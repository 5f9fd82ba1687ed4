/* The conflict history of gou13: a small cache from instructions to the conflict degree that
 * was measured when they last ran. The scheduler must know how long an access will take before its
 * addresses are there; it takes what the history says. */
#include "sim/pipeline.h"

#include <stdlib.h>

typedef struct entry {
  uint32_t instruction, value;
  uint64_t used; /* 0: not in use */
} entry;

struct bf_sim_history {
  unsigned sets, ways;
  uint64_t uses;
  entry entry[]; /* ways of set 0, ways of set 1, ... */
};

int bf_sim_history_create(unsigned sets, unsigned ways, bf_sim_history **history,
                          bf_diagnostic *diagnostic) {
  *history = calloc(1, sizeof **history + (size_t)sets * ways * sizeof(entry));
  if (!*history)
    return bf_no_memory(diagnostic);
  (*history)->sets = sets;
  (*history)->ways = ways;
  return BF_OK;
}

void bf_sim_history_free(bf_sim_history *history) { free(history); }

/* The entry of an instruction, or NULL. */
static entry *find(bf_sim_history *history, uint32_t instruction) {
  entry *set = &history->entry[(size_t)(instruction % history->sets) * history->ways];
  for (unsigned i = 0; i < history->ways; i++)
    if (set[i].used && set[i].instruction == instruction)
      return &set[i];
  return NULL;
}

/* The entry of the instruction's set that was used least recently. */
static entry *oldest(bf_sim_history *history, uint32_t instruction) {
  entry *set = &history->entry[(size_t)(instruction % history->sets) * history->ways];
  entry *found = set;
  for (unsigned i = 1; i < history->ways; i++)
    if (set[i].used < found->used)
      found = &set[i];
  return found;
}

bool bf_sim_history_look(bf_sim_history *history, uint32_t instruction, uint32_t *value) {
  entry *found = find(history, instruction);
  if (!found)
    return false;
  found->used = ++history->uses;
  *value = found->value;
  return true;
}

void bf_sim_history_set(bf_sim_history *history, uint32_t instruction, uint32_t value) {
  entry *found = find(history, instruction);
  if (!found)
    found = oldest(history, instruction);
  *found = (entry){instruction, value, ++history->uses};
}
