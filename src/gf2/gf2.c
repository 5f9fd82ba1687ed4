/* Gaussian elimination in its few forms. A basis is kept in echelon form by lowest set bit, so
 * reducing a vector is one pass from low to high. */
#include "gf2/gf2.h"

uint64_t bf_gf2_reduce(const bf_gf2_basis *basis, uint64_t x) {
  uint64_t left = 0;
  while (x) {
    unsigned low = (unsigned)__builtin_ctzll(x);
    if (basis->vector[low]) {
      x ^= basis->vector[low];
    } else {
      left |= (uint64_t)1 << low;
      x &= x - 1;
    }
  }
  return left;
}

bool bf_gf2_insert(bf_gf2_basis *basis, uint64_t x) {
  x = bf_gf2_reduce(basis, x);
  if (!x)
    return false;
  basis->vector[__builtin_ctzll(x)] = x;
  basis->dimension++;
  return true;
}

void bf_gf2_make_reduced(bf_gf2_basis *basis) {
  for (unsigned p = BF_GF2_MAX; p-- > 0;)
    for (unsigned q = 0; basis->vector[p] && q < p; q++)
      if (basis->vector[q] >> p & 1)
        basis->vector[q] ^= basis->vector[p];
}

unsigned bf_gf2_rank(const uint64_t *vectors, unsigned count) {
  bf_gf2_basis basis = {0};
  for (unsigned i = 0; i < count; i++)
    bf_gf2_insert(&basis, vectors[i]);
  return basis.dimension;
}

bf_gf2_matrix bf_gf2_identity(unsigned size) {
  bf_gf2_matrix matrix = {.rows = size, .columns = size};
  for (unsigned i = 0; i < size; i++)
    matrix.row[i] = (uint64_t)1 << i;
  return matrix;
}

uint64_t bf_gf2_apply(const bf_gf2_matrix *matrix, uint64_t x) {
  uint64_t result = 0;
  for (unsigned i = 0; i < matrix->rows; i++)
    result |= (uint64_t)bf_gf2_parity(matrix->row[i] & x) << i;
  return result;
}

bf_gf2_matrix bf_gf2_multiply(const bf_gf2_matrix *a, const bf_gf2_matrix *b) {
  bf_gf2_matrix product = {.rows = a->rows, .columns = b->columns};
  for (unsigned i = 0; i < a->rows; i++)
    for (unsigned j = 0; j < b->rows; j++)
      if (a->row[i] >> j & 1)
        product.row[i] ^= b->row[j];
  return product;
}

bool bf_gf2_invert(const bf_gf2_matrix *matrix, bf_gf2_matrix *inverse) {
  unsigned size = matrix->rows;
  bf_gf2_matrix work = *matrix;
  *inverse = bf_gf2_identity(size);
  if (matrix->columns != size)
    return false;
  for (unsigned column = 0; column < size; column++) {
    unsigned pivot = column;
    while (pivot < size && !(work.row[pivot] >> column & 1))
      pivot++;
    if (pivot == size)
      return false;
    uint64_t swap = work.row[pivot];
    work.row[pivot] = work.row[column];
    work.row[column] = swap;
    swap = inverse->row[pivot];
    inverse->row[pivot] = inverse->row[column];
    inverse->row[column] = swap;
    for (unsigned i = 0; i < size; i++)
      if (i != column && (work.row[i] >> column & 1)) {
        work.row[i] ^= work.row[column];
        inverse->row[i] ^= inverse->row[column];
      }
  }
  return true;
}

/* Coordinates are tried from the highest down, so that for a matrix whose first columns are
 * invertible all further rows stay where they are (a row-preserving map). */
bool bf_gf2_complete(const bf_gf2_matrix *matrix, bf_gf2_matrix *completed) {
  unsigned rows = matrix->rows, columns = matrix->columns;
  bf_gf2_basis basis = {0};
  *completed = (bf_gf2_matrix){.rows = columns, .columns = columns};
  for (unsigned i = 0; i < rows; i++) {
    completed->row[i] = matrix->row[i];
    if (!bf_gf2_insert(&basis, matrix->row[i]))
      return false;
  }
  uint64_t chosen = 0;
  for (unsigned j = columns; j-- > 0;)
    if (bf_gf2_insert(&basis, (uint64_t)1 << j))
      chosen |= (uint64_t)1 << j;
  uint64_t in_place = chosen & ~bf_gf2_low_bits(rows);
  uint64_t moved = chosen & ~in_place;
  for (unsigned i = rows; i < columns; i++) {
    if (in_place >> i & 1) {
      completed->row[i] = (uint64_t)1 << i;
    } else {
      completed->row[i] = moved & -moved;
      moved &= moved - 1;
    }
  }
  return true;
}

uint64_t bf_gf2_scatter(uint64_t x, uint64_t mask) {
  uint64_t result = 0;
  for (; mask; mask &= mask - 1, x >>= 1)
    if (x & 1)
      result |= mask & -mask;
  return result;
}
