/* The set: linear probing, at most half full. A removed key keeps its slot, without a value. */
#include "map.h"

#include <stdint.h>
#include <stdlib.h>

typedef struct rt_map_slot {
  const void *key;
  void *value;
} rt_map_slot;

/* The slot of key, or the free one where it belongs. */
static rt_map_slot *find(rt_map_slot *slot, size_t slots, const void *key) {
  size_t at = (size_t)(((uint64_t)(uintptr_t)key >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 20);
  for (at &= slots - 1; slot[at].key && slot[at].key != key;)
    at = (at + 1) & (slots - 1);
  return &slot[at];
}

/* Doubles the table and leaves removed keys behind. */
static bool grow(rt_map *map) {
  size_t slots = map->slots ? map->slots * 2 : 64;
  rt_map_slot *slot = calloc(slots, sizeof *slot);
  if (!slot)
    return false;
  size_t used = 0;
  for (size_t i = 0; i < map->slots; i++)
    if (map->slot[i].value) {
      *find(slot, slots, map->slot[i].key) = map->slot[i];
      used++;
    }
  free(map->slot);
  *map = (rt_map){slot, slots, used};
  return true;
}

bool rt_map_put(rt_map *map, const void *key, void *value) {
  if (!key || (map->used * 2 >= map->slots && !grow(map)))
    return false;
  rt_map_slot *slot = find(map->slot, map->slots, key);
  map->used += !slot->key;
  *slot = (rt_map_slot){key, value};
  return true;
}

void *rt_map_get(const rt_map *map, const void *key) {
  return map->slots && key ? find(map->slot, map->slots, key)->value : NULL;
}

void rt_map_remove(rt_map *map, const void *key) {
  if (map->slots && key)
    find(map->slot, map->slots, key)->value = NULL;
}

void *rt_map_next(const rt_map *map, size_t *cursor) {
  while (*cursor < map->slots) {
    void *value = map->slot[(*cursor)++].value;
    if (value)
      return value;
  }
  return NULL;
}

void rt_map_free(rt_map *map) {
  free(map->slot);
  *map = (rt_map){0};
}
