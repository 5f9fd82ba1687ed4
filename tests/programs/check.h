/* What the programs here share: a call that fails ends the program and says where. */
#ifndef CHECK_H
#define CHECK_H

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    cudaError_t check_error = (call);                                                              \
    if (check_error != cudaSuccess) {                                                              \
      printf("line %d: %s: %s\n", __LINE__, cudaGetErrorName(check_error),                         \
             cudaGetErrorString(check_error));                                                     \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* A small generator, the same everywhere. */
static inline unsigned next_random(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

#endif
