/* What the programs here share: checks, and memory that host and device see. */
#ifndef EXPECT_H
#define EXPECT_H

#include <cstdio>
#include <cstdlib>

static int faults;

static inline void expect(bool is_so, const char *what) {
  if (!is_so) {
    printf("not so: %s\n", what);
    faults++;
  }
}
#define EXPECT(condition) expect((condition), #condition)

/* Ends the program: everything that was launched has run without an error. */
static inline int finish() {
  cudaError_t error = cudaDeviceSynchronize();
  expect(error == cudaSuccess, cudaGetErrorName(error));
  expect(cudaGetLastError() == cudaSuccess, "no error is left");
  puts(faults ? "wrong" : "right");
  return faults != 0;
}

/* count numbers that host and device see; the program ends where there are none. */
template <class T> static inline T *make(size_t count) {
  T *memory = nullptr;
  if (cudaMallocManaged(&memory, count * sizeof(T)) != cudaSuccess)
    exit(1);
  return memory;
}

/* A small generator, the same everywhere. */
static inline unsigned next_random() {
  static unsigned state = 1;
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

#endif
