/* base/table: a value for each key. */
#ifndef BF_BASE_TABLE_H
#define BF_BASE_TABLE_H

#include "base/base.h"

/* From keys, which are bytes, to pointers. Entries are in the arena, and last as long as it does.
 */
typedef struct bf_table {
  bf_arena *arena;
  struct bf_table_entry **slot;
  size_t slots, entries;
} bf_table;

/* Where the value of a key is; a new key, of which the table keeps a copy, has NULL. NULL: memory
 * is exhausted. The place stays where it is. */
void **bf_table_at(bf_table *table, const void *key, size_t bytes);
/* The value of a key; NULL: it has none. */
void *bf_table_find(const bf_table *table, const void *key, size_t bytes);

#endif
