/* The table of accesses whose lanes lie in line. */
#include "emu/lined.h"

#include <stdlib.h>

/* Entries that are filled one after the other with none found between, and which of those behind
 * them still are: addresses depend on data there. */
enum { PATIENCE = 4096, RARELY = 64 };

bf_lined *bf_lined_create(void) {
  void *made = NULL;
  if (posix_memalign(&made, _Alignof(bf_lined), sizeof(bf_lined)))
    return NULL;
  memset(made, 0, sizeof(bf_lined));
  ((bf_lined *)made)->left = BF_LINED_TURN;
  return made;
}

bool bf_lined_count_beside(bf_lined *tally, const bf_lined_key *key, uint64_t block) {
  bf_lined_entry *set = tally->entry[bf_lined_set_of(key) ^ 1];
  for (unsigned i = 0; i < BF_LINED_WAYS && tally->left; i++)
    if (bf_lined_is_same(&set[i].key, key) && block >= set[i].block) {
      set[i].times++;
      tally->left--;
      return true;
    }
  return false;
}

/* Where an access is, or else where there is room, in its set and then in that beside; else its own
 * set at way. */
static void find_place(const bf_lined *tally, const bf_lined_key *key, unsigned *set,
                       unsigned *way) {
  unsigned own = bf_lined_set_of(key);
  bool has_room = false;
  *set = own;
  for (unsigned k = 0; k < 2 * BF_LINED_WAYS; k++) {
    unsigned at = own ^ k / BF_LINED_WAYS, i = k % BF_LINED_WAYS;
    const bf_lined_entry *entry = &tally->entry[at][i];
    bool is_same = bf_lined_is_same(&entry->key, key);
    if (!is_same && (has_room || entry->key.mask))
      continue;
    has_room = true;
    *set = at;
    *way = i;
    if (is_same) /* an earlier block made it: the entry stays with that */
      return;
  }
}

bf_lined_entry *bf_lined_place(bf_lined *tally, const bf_lined_key *key, bf_lined_cost **cost) {
  unsigned set, way = tally->fills % BF_LINED_WAYS;
  tally->fills = tally->left == tally->left_then ? tally->fills + 1 : 1;
  tally->left_then = tally->left;
  if (tally->fills > PATIENCE && tally->fills % RARELY)
    return NULL;
  find_place(tally, key, &set, &way);
  *cost = &tally->cost[set][way];
  return &tally->entry[set][way];
}

void bf_lined_addresses(const bf_lined_entry *entry, const bf_lined_cost *cost,
                        uint32_t address[BF_EMU_LANES]) {
  bf_lined_key key = entry->key;
  key.first = cost->first;
  uint32_t base = bf_lined_base(&key);
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    address[lane] = base + lane % 16 * key.step + lane / 16 * key.jump;
}
