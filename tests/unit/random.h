/* Repeatable random numbers for tests (xorshift64*). */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include <stdint.h>

typedef struct test_random {
  uint64_t state; /* not 0 */
} test_random;

/* 64 random bits. */
static inline uint64_t random_bits(test_random *random) {
  random->state ^= random->state >> 12;
  random->state ^= random->state << 25;
  random->state ^= random->state >> 27;
  return random->state * 0x2545f4914f6cdd1dull;
}

/* A number below limit. */
static inline uint64_t random_below(test_random *random, uint64_t limit) {
  return (random_bits(random) >> 16) % limit;
}

#endif
