/* Tables: chains of entries in slots, of which there are at least as many as entries. */
#include "base/table.h"

#include <string.h>

typedef struct bf_table_entry {
  struct bf_table_entry *next;
  uint64_t hash;
  void *value;
  size_t bytes;
  unsigned char key[];
} entry;

enum { FEWEST_SLOTS = 16 };

/* FNV-1a, and a shift for the low bits, which choose the slot. */
static uint64_t hash_key(const void *key, size_t bytes) {
  const unsigned char *at = key;
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < bytes; i++)
    hash = (hash ^ at[i]) * 0x100000001b3u;
  return hash ^ hash >> 29;
}

/* Twice the slots; false when memory is exhausted. */
static bool grow(bf_table *table) {
  size_t slots = table->slots ? 2 * table->slots : FEWEST_SLOTS;
  entry **made = bf_arena_alloc(table->arena, slots * sizeof *made);
  if (!made)
    return false;
  for (size_t i = 0; i < table->slots; i++)
    for (entry *at = table->slot[i], *next; at; at = next) {
      next = at->next;
      at->next = made[at->hash & (slots - 1)];
      made[at->hash & (slots - 1)] = at;
    }
  table->slot = made;
  table->slots = slots;
  return true;
}

/* The entry of a key, or NULL. */
static entry *find(const bf_table *table, uint64_t hash, const void *key, size_t bytes) {
  entry *at = table->slots ? table->slot[hash & (table->slots - 1)] : NULL;
  while (at && (at->hash != hash || at->bytes != bytes || memcmp(at->key, key, bytes) != 0))
    at = at->next;
  return at;
}

void **bf_table_at(bf_table *table, const void *key, size_t bytes) {
  uint64_t hash = hash_key(key, bytes);
  entry *found = find(table, hash, key, bytes);
  if (found)
    return &found->value;
  if (table->entries >= table->slots && !grow(table))
    return NULL;
  entry *made = bf_arena_alloc(table->arena, sizeof *made + bytes);
  if (!made)
    return NULL;
  made->hash = hash;
  made->bytes = bytes;
  memcpy(made->key, key, bytes);
  entry **slot = &table->slot[hash & (table->slots - 1)];
  made->next = *slot;
  *slot = made;
  table->entries++;
  return &made->value;
}

void *bf_table_find(const bf_table *table, const void *key, size_t bytes) {
  entry *found = find(table, hash_key(key, bytes), key, bytes);
  return found ? found->value : NULL;
}
