/* Arena: a chain of blocks, each twice as large as the one before until 1 MiB. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

typedef struct bf_arena_block {
  struct bf_arena_block *next;
  size_t used, size;
  _Alignas(16) unsigned char data[];
} bf_arena_block;

static size_t round_up(size_t size) { return (size + 15) & ~(size_t)15; }

void *bf_arena_alloc(bf_arena *arena, size_t size) {
  if (size > SIZE_MAX / 2)
    return NULL;
  size = round_up(size ? size : 1);
  bf_arena_block *block = arena->head;
  if (!block || block->size - block->used < size) {
    size_t wanted = block ? block->size * 2 : 4096;
    if (wanted > (1u << 20))
      wanted = 1u << 20;
    if (wanted < size)
      wanted = size;
    block = malloc(sizeof *block + wanted);
    if (!block)
      return NULL;
    block->next = arena->head;
    block->used = 0;
    block->size = wanted;
    arena->head = block;
  }
  void *result = block->data + block->used;
  block->used += size;
  return memset(result, 0, size);
}

char *bf_arena_copy(bf_arena *arena, const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = bf_arena_alloc(arena, size);
  return copy ? memcpy(copy, text, size) : NULL;
}

void bf_arena_free(bf_arena *arena) {
  while (arena->head) {
    bf_arena_block *block = arena->head;
    arena->head = block->next;
    free(block);
  }
}
