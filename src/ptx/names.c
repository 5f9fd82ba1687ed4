/* Interned texts and symbols by scope: two hash tables with chains, both growing. */
#include "ptx/parser.h"

#include <stdlib.h>
#include <string.h>

typedef struct text_entry {
  struct text_entry *next;
  uint64_t hash;
  size_t size;
  char text[];
} text_entry;

typedef struct symbol_entry {
  struct symbol_entry *next;
  const name_scope *scope;
  const char *key;
  bf_ptx_symbol *symbol;
} symbol_entry;

/* FNV-1a. */
static uint64_t hash_text(const char *text, size_t size) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
  return hash ^ hash >> 29;
}

static uint64_t hash_symbol(const name_scope *scope, const char *key) {
  uint64_t hash = ((uint64_t)(uintptr_t)scope * 31 + (uintptr_t)key) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

/* Twice the buckets, at least 256; false when memory is exhausted. */
static bool grow_texts(names *n) {
  size_t capacity = n->text_capacity ? n->text_capacity * 2 : 256;
  text_entry **table = calloc(capacity, sizeof(text_entry *));
  if (!table)
    return false;
  for (size_t i = 0; i < n->text_capacity; i++)
    for (text_entry *entry = n->text[i], *next; entry; entry = next) {
      next = entry->next;
      entry->next = table[entry->hash & (capacity - 1)];
      table[entry->hash & (capacity - 1)] = entry;
    }
  free(n->text);
  n->text = table;
  n->text_capacity = capacity;
  return true;
}

static bool grow_symbols(names *n) {
  size_t capacity = n->symbol_capacity ? n->symbol_capacity * 2 : 256;
  symbol_entry **table = calloc(capacity, sizeof(symbol_entry *));
  if (!table)
    return false;
  for (size_t i = 0; i < n->symbol_capacity; i++)
    for (symbol_entry *entry = n->symbol[i], *next; entry; entry = next) {
      next = entry->next;
      symbol_entry **bucket = &table[hash_symbol(entry->scope, entry->key) & (capacity - 1)];
      entry->next = *bucket;
      *bucket = entry;
    }
  free(n->symbol);
  n->symbol = table;
  n->symbol_capacity = capacity;
  return true;
}

const char *bf_ptx_intern(names *n, const char *text, size_t size) {
  if (n->texts >= n->text_capacity && !grow_texts(n))
    return NULL;
  uint64_t hash = hash_text(text, size);
  text_entry **bucket = &n->text[hash & (n->text_capacity - 1)];
  for (text_entry *entry = *bucket; entry; entry = entry->next)
    if (entry->hash == hash && entry->size == size && memcmp(entry->text, text, size) == 0)
      return entry->text;
  text_entry *entry = bf_arena_alloc(n->arena, sizeof *entry + size + 1);
  if (!entry)
    return NULL;
  entry->hash = hash;
  entry->size = size;
  memcpy(entry->text, text, size);
  entry->next = *bucket;
  *bucket = entry;
  n->texts++;
  return entry->text;
}

bf_ptx_symbol *bf_ptx_lookup(const names *n, const name_scope *scope, const char *key) {
  if (!n->symbol_capacity)
    return NULL;
  symbol_entry *entry = n->symbol[hash_symbol(scope, key) & (n->symbol_capacity - 1)];
  while (entry && (entry->scope != scope || entry->key != key))
    entry = entry->next;
  return entry ? entry->symbol : NULL;
}

int bf_ptx_declare(names *n, const name_scope *scope, const char *key, bf_ptx_symbol *symbol,
                   bf_ptx_symbol **existing) {
  *existing = bf_ptx_lookup(n, scope, key);
  if (*existing)
    return BF_BAD_INPUT;
  if (n->symbols >= n->symbol_capacity && !grow_symbols(n))
    return BF_NO_MEMORY;
  symbol_entry *entry = bf_arena_alloc(n->arena, sizeof *entry);
  if (!entry)
    return BF_NO_MEMORY;
  symbol_entry **bucket = &n->symbol[hash_symbol(scope, key) & (n->symbol_capacity - 1)];
  *entry = (symbol_entry){*bucket, scope, key, symbol};
  *bucket = entry;
  n->symbols++;
  return BF_OK;
}

void bf_ptx_names_free(names *n) {
  free(n->text);
  free(n->symbol);
}
