/* Allocations that fail on purpose. A program that includes this is linked with
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc, so that those come here first. */
#ifndef BF_FAILING_MEMORY_H
#define BF_FAILING_MEMORY_H

#include "base/base.h"

#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static long left = -1; /* allocations until one fails; -1: none will */

static bool fails(void) { return left >= 0 && left-- == 0; }

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }

void *__wrap_calloc(size_t count, size_t size) {
  return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) { return fails() ? NULL : __real_realloc(old, size); }

/* What an attempt that ended with error has shown: 1 done without a failed allocation, 0 refused
 * for lack of memory, -1 wrong. */
static int verdict(int error) {
  bool reached = left < 0;
  left = -1;
  if (error == BF_OK)
    return reached ? -1 : 1;
  return error == BF_NO_MEMORY && reached ? 0 : -1;
}

/* Fails one allocation after the other until none is reached; false where an answer is wrong. */
static bool all_fail_well(const char *what, int (*attempt)(const void *), const void *input) {
  for (long number = 0;; number++) {
    left = number;
    int result = attempt(input);
    if (result < 0)
      printf("%s: wrong answer when allocation %ld fails\n", what, number);
    if (result != 0)
      return result > 0;
  }
}

#endif
