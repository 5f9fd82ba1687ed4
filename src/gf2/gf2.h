/* gf2: linear algebra over the two-element field. Vectors of up to 64 bits are uint64_t; bit i is
 * coordinate i; addition is XOR. All functions are pure. */
#ifndef BF_GF2_H
#define BF_GF2_H

#include <stdbool.h>
#include <stdint.h>

enum { BF_GF2_MAX = 64 };

/* rows x columns matrix. As a map, output bit i of x is the parity of (row[i] & x). */
typedef struct bf_gf2_matrix {
  unsigned rows, columns;
  uint64_t row[BF_GF2_MAX];
} bf_gf2_matrix;

/* A subspace, as a basis in which vector[p], where not 0, has p as its lowest set bit. */
typedef struct bf_gf2_basis {
  unsigned dimension;
  uint64_t vector[BF_GF2_MAX];
} bf_gf2_basis;

/* Parity of the bits set in x: 0 or 1. */
static inline unsigned bf_gf2_parity(uint64_t x) { return (unsigned)__builtin_parityll(x); }

/* The lowest count bits set. */
static inline uint64_t bf_gf2_low_bits(unsigned count) {
  return count >= 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

/* x minus what the basis can express: 0 iff x lies in the subspace. */
uint64_t bf_gf2_reduce(const bf_gf2_basis *basis, uint64_t x);
/* Adds x to the subspace; false if it was in it already. */
bool bf_gf2_insert(bf_gf2_basis *basis, uint64_t x);
/* Makes the basis reduced: no vector has another vector's lowest bit set. */
void bf_gf2_make_reduced(bf_gf2_basis *basis);

unsigned bf_gf2_rank(const uint64_t *vectors, unsigned count);
bf_gf2_matrix bf_gf2_identity(unsigned size);
/* matrix times x. */
uint64_t bf_gf2_apply(const bf_gf2_matrix *matrix, uint64_t x);
/* a after b: x -> a(b(x)). */
bf_gf2_matrix bf_gf2_multiply(const bf_gf2_matrix *a, const bf_gf2_matrix *b);
/* Inverse of a square matrix; false if it has none. */
bool bf_gf2_invert(const bf_gf2_matrix *matrix, bf_gf2_matrix *inverse);

/* Completes a rows x columns matrix of full row rank to an invertible one with the given rows as
 * its first: each further row is a single coordinate, row j staying coordinate j where it can. */
bool bf_gf2_complete(const bf_gf2_matrix *matrix, bf_gf2_matrix *completed);

/* The low bits of x, put at the bits of mask from low to high. */
uint64_t bf_gf2_scatter(uint64_t x, uint64_t mask);

#endif
