/* Caches: sets of ways, each a list with the line that was used last in front. A line that moves to
 * the front pushes the ones before it back by one, so the last in the list is always the one that
 * was not used for longest, and empty ways are at the end. */
#include "sim/hierarchy.h"
#include "sim/large.h"
#include "sim/spread.h"

#include <stdlib.h>

/* A way: the line's number, its dirty sectors and its sectors that are present. 0: empty. */
enum { PRESENT_BITS = 4, LINE_SHIFT = 2 * PRESENT_BITS, SECTORS = 15 };

struct bf_sim_cache {
  bf_sim_parts sets;
  unsigned ways;
  uint64_t *way; /* sets times ways */
};

int bf_sim_cache_create(uint64_t lines, unsigned ways, bf_sim_cache **cache,
                        bf_diagnostic *diagnostic) {
  if (ways == 0 || lines < ways || lines % ways || lines / ways > UINT32_MAX)
    return bf_fail(diagnostic, BF_BAD_INPUT, "a cache of %llu lines cannot have sets of %u",
                   (unsigned long long)lines, ways);
  bf_sim_cache *made = malloc(sizeof *made);
  uint64_t *way = bf_sim_large_alloc(lines * sizeof *way);
  if (!made || !way) {
    free(made);
    free(way);
    return bf_no_memory(diagnostic);
  }
  *made = (bf_sim_cache){.sets = bf_sim_parts_of(lines / ways), .ways = ways, .way = way};
  *cache = made;
  return BF_OK;
}

void bf_sim_cache_free(bf_sim_cache *cache) {
  if (cache)
    free(cache->way);
  free(cache);
}

/* The ways of the set in which the line would be. */
static uint64_t *set_of(const bf_sim_cache *cache, uint64_t line) {
  uint64_t round;
  return cache->way + bf_sim_parts_spread(&cache->sets, line, &round) * cache->ways;
}

void bf_sim_cache_prefetch(const bf_sim_cache *cache, uint64_t line) {
  enum { HOST_LINE_WAYS = 8 };
  const uint64_t *set = set_of(cache, line);
  for (unsigned i = 0; i < cache->ways; i += HOST_LINE_WAYS)
    __builtin_prefetch(&set[i], 1);
}

/* Moves way `from` of a set to the front. */
static void move_to_front(uint64_t *set, unsigned from) {
  uint64_t way = set[from];
  for (; from > 0; from--)
    set[from] = set[from - 1];
  set[0] = way;
}

/* Whether the set has the line; if so, it is then in front. */
static bool use(const bf_sim_cache *cache, uint64_t *set, uint64_t line) {
  for (unsigned i = 0; i < cache->ways && set[i]; i++)
    if (set[i] >> LINE_SHIFT == line) {
      move_to_front(set, i);
      return true;
    }
  return false;
}

uint8_t bf_sim_cache_look(bf_sim_cache *cache, uint64_t line, uint8_t sectors) {
  uint64_t *set = set_of(cache, line);
  return use(cache, set, line) ? set[0] & SECTORS & sectors : 0;
}

void bf_sim_cache_fill(bf_sim_cache *cache, uint64_t line, uint8_t sectors, bool is_dirty,
                       uint64_t *evicted, uint8_t *dirty) {
  uint64_t *set = set_of(cache, line);
  *dirty = 0;
  sectors &= SECTORS;
  if (!sectors)
    return;
  if (!use(cache, set, line)) {
    unsigned last = cache->ways - 1;
    *evicted = set[last] >> LINE_SHIFT;
    *dirty = set[last] >> PRESENT_BITS & SECTORS;
    set[last] = line << LINE_SHIFT;
    move_to_front(set, last);
  }
  set[0] |= sectors | (is_dirty ? (uint64_t)sectors << PRESENT_BITS : 0);
}
