/* Caches as such: making and freeing them, and what others than cache.h's users ask of them. */
#include "sim/cache.h"

#include "sim/large.h"

#include <stdlib.h>

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

uint8_t bf_sim_cache_look(bf_sim_cache *cache, uint64_t line, uint8_t sectors) {
  return bf_sim_set_look(cache, bf_sim_set_of(cache, line), line) & sectors;
}

void bf_sim_cache_fill(bf_sim_cache *cache, uint64_t line, uint8_t sectors, bool is_dirty,
                       uint64_t *evicted, uint8_t *dirty) {
  *dirty = 0;
  sectors &= BF_SIM_SECTORS;
  if (sectors)
    *dirty = bf_sim_set_fill(cache, bf_sim_set_of(cache, line), line, sectors, is_dirty, evicted);
}
