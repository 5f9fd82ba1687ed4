/* Inside room sim: what is asked of a cache for every line that moves, so that whoever asks has it
 * without a call. Who asks several times for one line finds its set once.
 *
 * A cache is sets of ways, each a list with the line that was used last in front. A line that moves
 * to the front pushes the ones before it back by one, so the last in the list is always the one
 * that was not used for longest, and empty ways are at the end. */
#ifndef BF_SIM_CACHE_H
#define BF_SIM_CACHE_H

#include "sim/hierarchy.h"
#include "sim/spread.h"

/* A way: the line's number, its dirty sectors and its sectors that are present. 0: empty. */
enum { BF_SIM_PRESENT_BITS = 4, BF_SIM_WAY_SHIFT = 2 * BF_SIM_PRESENT_BITS, BF_SIM_SECTORS = 15 };

struct bf_sim_cache {
  bf_sim_parts sets;
  unsigned ways;
  uint64_t *way; /* sets times ways */
};

/* The ways of the set in which a line would be. */
static inline uint64_t *bf_sim_set_of(const bf_sim_cache *cache, uint64_t line) {
  uint64_t round;
  return cache->way + bf_sim_parts_spread(&cache->sets, line, &round) * cache->ways;
}

/* Asks the host's memory for a set, which will be looked at soon. */
static inline void bf_sim_set_prefetch(const bf_sim_cache *cache, const uint64_t *set) {
  enum { HOST_LINE_WAYS = 8 };
  for (unsigned i = 0; i < cache->ways; i += HOST_LINE_WAYS)
    __builtin_prefetch(&set[i], 1);
}

/* The same for all sets. */
static inline void bf_sim_cache_prefetch(const bf_sim_cache *cache) {
  enum { HOST_LINE_WAYS = 8 };
  for (uint64_t i = 0; i < cache->sets.parts * cache->ways; i += HOST_LINE_WAYS)
    __builtin_prefetch(&cache->way[i], 1);
}

/* Moves way `from` of a set to the front. */
static inline void bf_sim_set_to_front(uint64_t *set, unsigned from) {
  uint64_t way = set[from];
  for (; from > 0; from--)
    set[from] = set[from - 1];
  set[0] = way;
}

/* The sectors of a line that its set has, and marks the line as used; 0: the set does not have it.
 */
static inline uint8_t bf_sim_set_look(const bf_sim_cache *cache, uint64_t *set, uint64_t line) {
  for (unsigned i = 0; i < cache->ways && set[i]; i++)
    if (set[i] >> BF_SIM_WAY_SHIFT == line) {
      bf_sim_set_to_front(set, i);
      return set[0] & BF_SIM_SECTORS;
    }
  return 0;
}

/* Puts sectors of a line that its set does not have there; returns the way that goes for it. */
static inline uint64_t bf_sim_set_insert(const bf_sim_cache *cache, uint64_t *set, uint64_t line,
                                         uint64_t sectors) {
  unsigned last = cache->ways - 1;
  uint64_t gone = set[last];
  set[last] = line << BF_SIM_WAY_SHIFT | sectors;
  bf_sim_set_to_front(set, last);
  return gone;
}

/* Puts sectors, at least one, of a line into its set, dirty or clean. Where a line goes for it,
 * *evicted is that line, and its dirty sectors are returned; else 0. */
static inline uint8_t bf_sim_set_fill(const bf_sim_cache *cache, uint64_t *set, uint64_t line,
                                      uint8_t sectors, bool is_dirty, uint64_t *evicted) {
  uint8_t dirty = 0;
  if (!bf_sim_set_look(cache, set, line)) {
    uint64_t gone = bf_sim_set_insert(cache, set, line, 0);
    *evicted = gone >> BF_SIM_WAY_SHIFT;
    dirty = gone >> BF_SIM_PRESENT_BITS & BF_SIM_SECTORS;
  }
  set[0] |= sectors | (is_dirty ? (uint64_t)sectors << BF_SIM_PRESENT_BITS : 0);
  return dirty;
}

#endif
