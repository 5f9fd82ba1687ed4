/* stand_ins: libraries that bankfold exec --stand-ins puts in the place of NVIDIA's, whose kernels
 * are machine code: cuBLAS, cuFFT and cuRAND, as far as programs need them to go on to kernels of
 * their own. They compute on the CPU at once, inside the call: device memory is memory of the
 * process (docs/runtime.md), and streams are always idle. What they do not have says its name and
 * fails. */
#ifndef STAND_IN_H
#define STAND_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Defines a function that programs call; it returns a status of its library. */
#define API(name, ...)                                                                             \
  int name(__VA_ARGS__);                                                                           \
  int name(__VA_ARGS__)

/* Says once that a function is not there; returns status. */
int stand_in_refuse(const char *name, int status);

/* ---- Numbers as they lie in memory ---- */

/* Types, numbered as cudaDataType is. */
typedef enum stand_in_type {
  R_32F = 0,
  R_64F = 1,
  R_16F = 2,
  R_8I = 3,
  C_32F = 4,
  C_64F = 5,
  R_32I = 10,
  R_16BF = 14,
} stand_in_type;

typedef struct number {
  double re, im;
} number;

/* The bytes of a number of a type; 0 where the type is none of the above. */
size_t stand_in_bytes(int type);
bool stand_in_is_complex(int type);
number stand_in_load(int type, const void *base, int64_t index);
/* Rounds to nearest, ties to even; whole numbers wrap. */
void stand_in_store(int type, void *base, int64_t index, number value);

/* ---- Complex numbers ---- */

static inline number add(number a, number b) { return (number){a.re + b.re, a.im + b.im}; }
static inline number multiply(number a, number b) {
  return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static inline number conjugate(number a) { return (number){a.re, -a.im}; }
static inline bool is_zero(number a) { return a.re == 0 && a.im == 0; }

#endif
