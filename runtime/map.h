/* A set of addresses, each with a pointer. */
#ifndef RT_MAP_H
#define RT_MAP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct rt_map {
  struct rt_map_slot *slot; /* open addressing; key NULL: free */
  size_t slots, used;       /* used counts removed ones too */
} rt_map;

/* Adds or replaces; value must not be NULL. False where memory is exhausted. */
bool rt_map_put(rt_map *map, const void *key, void *value);
/* The value of key, or NULL. */
void *rt_map_get(const rt_map *map, const void *key);
void rt_map_remove(rt_map *map, const void *key);
/* Walks all: *cursor starts at 0. NULL at the end. Keys may be removed while walking. */
void *rt_map_next(const rt_map *map, size_t *cursor);
void rt_map_free(rt_map *map);

#endif
