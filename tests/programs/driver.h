/* Checks of programs that call the driver. */
#ifndef DRIVER_H
#define DRIVER_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline const char *name_of(CUresult error) {
  const char *name = "?";
  cuGetErrorName(error, &name);
  return name;
}

/* Ends the program where a call fails. */
#define OK(call)                                                                                   \
  do {                                                                                             \
    CUresult error = call;                                                                         \
    if (error != CUDA_SUCCESS) {                                                                   \
      printf("line %d: %s: %s\n", __LINE__, #call, name_of(error));                                \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* Says where a call does not fail as it must. */
#define FAILS(wanted, call)                                                                        \
  do {                                                                                             \
    CUresult error = call;                                                                         \
    if (error != wanted)                                                                           \
      printf("line %d: %s: %s, not %s\n", __LINE__, #call, name_of(error), #wanted);               \
  } while (0)

#endif
