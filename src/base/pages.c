/* Memory in large pages: mapped at a multiple of their size, with a word to the system that they
 * are welcome. */
#include "base/pages.h"

#include <stdint.h>
#include <stdlib.h>

#ifdef __linux__
#include <sys/mman.h>

/* The size of a large page, and what is less than two of them comes from the heap. */
enum { PAGE_BYTES = 1 << 21, LEAST_BYTES = 2 * PAGE_BYTES };

/* Whole pages for so many bytes. */
static size_t whole(size_t bytes) { return (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1); }

void *bf_pages_get(size_t bytes) {
  if (bytes < LEAST_BYTES)
    return calloc(1, bytes);
  if (bytes > SIZE_MAX / 2)
    return NULL;
  size_t mapped = whole(bytes) + PAGE_BYTES; /* one more, of which the ends are given back */
  char *memory = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return NULL;
  size_t before = -(uintptr_t)memory & (PAGE_BYTES - 1);
  if (before)
    munmap(memory, before);
  munmap(memory + before + whole(bytes), PAGE_BYTES - before);
  memory += before;
#ifdef MADV_HUGEPAGE /* a wish: nothing depends on it */
  madvise(memory, whole(bytes), MADV_HUGEPAGE);
#endif
  return memory;
}

void bf_pages_free(void *memory, size_t bytes) {
  if (memory && bytes >= LEAST_BYTES)
    munmap(memory, whole(bytes));
  else
    free(memory);
}
#else
void *bf_pages_get(size_t bytes) { return calloc(1, bytes); }

void bf_pages_free(void *memory, size_t bytes) {
  (void)bytes;
  free(memory);
}
#endif
