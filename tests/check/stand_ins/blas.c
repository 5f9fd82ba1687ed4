/* The stand-in for cuBLAS against sums written out, in all types, with transposition, strides,
 * steps and batches; and calls that must fail. */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;
int cublasCreate_v2(handle *), cublasDestroy_v2(handle), cublasSetStream_v2(handle, void *);
int cublasSetPointerMode_v2(handle, int), cublasGetPointerMode_v2(handle, int *);
#define GEMM(name)                                                                                 \
  int name(handle, int, int, int, int, int, const void *, const void *, int, const void *, int,    \
           const void *, void *, int)
GEMM(cublasSgemm_v2);
GEMM(cublasDgemm_v2);
GEMM(cublasCgemm_v2);
GEMM(cublasZgemm_v2);
GEMM(cublasHgemm);
int cublasGemmEx(handle, int, int, int, int, int, const void *, const void *, int, int,
                 const void *, int, int, const void *, void *, int, int, int, int);
int cublasSgemmStridedBatched(handle, int, int, int, int, int, const void *, const void *, int,
                              long long, const void *, int, long long, const void *, void *, int,
                              long long, int);
int cublasDgemmBatched(handle, int, int, int, int, int, const void *, const void *const *, int,
                       const void *const *, int, const void *, void *const *, int, int);
int cublasZgemv_v2(handle, int, int, int, const void *, const void *, int, const void *, int,
                   const void *, void *, int);
int cublasSaxpy_v2(handle, int, const void *, const void *, int, void *, int);
int cublasCdotc_v2(handle, int, const void *, int, const void *, int, void *);
int cublasDnrm2_v2_64(handle, int64_t, const void *, int64_t, void *);
int cublasScasum_v2(handle, int, const void *, int, void *);
int cublasIsamax_v2(handle, int, const void *, int, int *);
int cublasIdamin_v2(handle, int, const void *, int, int *);
int cublasZdscal_v2(handle, int, const void *, void *, int);
int cublasDcopy_v2(handle, int, const void *, int, void *, int);
int cublasDger_v2(handle, int, int, const void *, const void *, int, const void *, int, void *,
                  int);
int cublasStrsm_v2(void);

static unsigned faults;
#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("line %d: not so: %s\n", __LINE__, #condition);                                       \
      faults++;                                                                                    \
    }                                                                                              \
  } while (0)

enum { MOST = 4096 };

/* Small whole numbers: products and sums of them are exact in every type. */
static double small(void) { return rand() % 7 - 3; }

/* ---- Types: how numbers are written and read, by other means than those of the library ---- */

enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, C_32F = 4, C_64F = 5, R_32I = 10, R_16BF = 14 };

static uint16_t half_of(double value) { /* for whole numbers up to 2048 */
  if (value == 0)
    return 0;
  int exponent;
  double mantissa = frexp(fabs(value), &exponent); /* 0.5 to 1 */
  return (uint16_t)((value < 0 ? 0x8000 : 0) | (exponent + 14) << 10 |
                    (int)((mantissa * 2 - 1) * 1024));
}

static double half_value(uint16_t half) {
  double size =
      (half & 0x7fff) == 0 ? 0 : ldexp(1 + (half & 1023) / 1024.0, (half >> 10 & 31) - 15);
  return half >> 15 ? -size : size;
}

static void put(int type, void *to, int i, double complex value) {
  float single = (float)creal(value);
  switch (type) {
  case R_32F:
    ((float *)to)[i] = single;
    break;
  case R_64F:
    ((double *)to)[i] = creal(value);
    break;
  case R_16F:
    ((uint16_t *)to)[i] = half_of(creal(value));
    break;
  case R_16BF:
    memcpy((uint16_t *)to + i, (char *)&single + 2, 2);
    break;
  case R_8I:
    ((int8_t *)to)[i] = (int8_t)creal(value);
    break;
  case R_32I:
    ((int32_t *)to)[i] = (int32_t)creal(value);
    break;
  case C_32F:
    ((float complex *)to)[i] = (float complex)value;
    break;
  default:
    ((double complex *)to)[i] = value;
    break;
  }
}

static double complex get(int type, const void *from, int i) {
  float single = 0;
  switch (type) {
  case R_32F:
    return ((const float *)from)[i];
  case R_64F:
    return ((const double *)from)[i];
  case R_16F:
    return half_value(((const uint16_t *)from)[i]);
  case R_16BF:
    memcpy((char *)&single + 2, (const uint16_t *)from + i, 2);
    return single;
  case R_8I:
    return ((const int8_t *)from)[i];
  case R_32I:
    return ((const int32_t *)from)[i];
  case C_32F:
    return ((const float complex *)from)[i];
  default:
    return ((const double complex *)from)[i];
  }
}

static double complex any(int type) {
  return type == C_32F || type == C_64F ? small() + I * small() : small();
}

/* op(M) at a row and column. */
static double complex at(int type, const void *m, int lead, int op, int row, int column) {
  double complex value = get(type, m, op ? column + row * lead : row + column * lead);
  return op == 2 ? conj(value) : value;
}

static double complex a[MOST], b[MOST], c[MOST], before[MOST]; /* room for all types */

/* ---- Products ---- */

typedef int gemm(handle, int, int, int, int, int, const void *, const void *, int, const void *,
                 int, const void *, void *, int);

/* One product of every way to transpose; with GemmEx where call is NULL. */
static void check_gemm(handle h, gemm *call, int in, int out, int scalar, int compute) {
  for (int ways = 0; ways < 9; ways++) {
    int op_a = ways % 3, op_b = ways / 3, m = 9, n = 7, k = 11, lda = 13, ldb = 12, ldc = 10;
    double complex alpha[1], beta[1];
    double complex one = any(scalar), two = ways == 4 ? 0 : any(scalar);
    for (int i = 0; i < 200; i++) {
      put(in, a, i, any(in));
      put(in, b, i, any(in));
      put(out, c, i, any(out));
    }
    memcpy(before, c, sizeof c);
    put(scalar, alpha, 0, one);
    put(scalar, beta, 0, two);
    int status = call ? call(h, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
                      : cublasGemmEx(h, op_a, op_b, m, n, k, alpha, a, in, lda, b, in, ldb, beta, c,
                                     out, ldc, compute, -1);
    EXPECT(status == 0);
    unsigned wrong = 0;
    for (int column = 0; column < n; column++)
      for (int row = 0; row < ldc; row++) {
        double complex sum = 0, old = get(out, before, row + column * ldc);
        for (int l = 0; l < k && row < m; l++)
          sum += at(in, a, lda, op_a, row, l) * at(in, b, ldb, op_b, l, column);
        double complex wanted = row < m ? one * sum + two * old : old;
        wrong += get(out, c, row + column * ldc) != wanted;
      }
    EXPECT(wrong == 0);
  }
}

static void check_batches(handle h) {
  float one = 1, zero = 0;
  double two = 2, none = 0;
  float *x = (float *)a, *y = (float *)b, *z = (float *)c;
  for (int i = 0; i < 300; i++) {
    x[i] = (float)small();
    y[i] = (float)small();
    z[i] = NAN; /* is not read */
  }
  EXPECT(cublasSgemmStridedBatched(h, 0, 0, 3, 2, 4, &one, x, 3, 12, y, 4, 8, &zero, z, 3, 7, 5) ==
         0);
  for (int item = 0; item < 5; item++)
    for (int i = 0; i < 6; i++) {
      float sum = 0;
      for (int l = 0; l < 4; l++)
        sum += x[item * 12 + i % 3 + 3 * l] * y[item * 8 + l + 4 * (i / 3)];
      EXPECT(z[item * 7 + i] == sum);
    }
  double p[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 1, 2, 3}}, q[3][4];
  const void *left[3] = {p[0], p[1], p[2]}, *right[3] = {p[1], p[2], p[0]};
  void *result[3] = {q[0], q[1], q[2]};
  EXPECT(cublasDgemmBatched(h, 1, 0, 2, 2, 2, &two, left, 2, right, 2, &none, result, 2, 3) == 0);
  EXPECT(q[0][0] == 2 * (1 * 5 + 2 * 6) && q[0][3] == 2 * (3 * 7 + 4 * 8));
  EXPECT(q[2][1] == 2 * (2 * 1 + 3 * 2));
}

/* ---- Vectors ---- */

static void check_vectors(handle h) {
  float x[6] = {1, -2, 3, -7, 5, 6}, y[6] = {1, 1, 1, 1, 1, 1}, alpha = 2, size;
  int index;
  EXPECT(cublasSaxpy_v2(h, 3, &alpha, x, 2, y, -1) == 0); /* y backwards: x[0] to y[2] */
  EXPECT(y[2] == 3 && y[1] == 7 && y[0] == 11 && y[3] == 1);
  EXPECT(cublasIsamax_v2(h, 6, x, 1, &index) == 0 && index == 4);
  double d[5] = {3e200, 0, 4e200, -1, 2}, e[5] = {0}, norm, matrix[4] = {0}, factor = 3;
  EXPECT(cublasDnrm2_v2_64(h, 2, d, 2, &norm) == 0 && fabs(norm / 5e200 - 1) < 1e-15);
  EXPECT(cublasIdamin_v2(h, 5, d, 1, &index) == 0 && index == 2);
  EXPECT(cublasIdamin_v2(h, 0, d, 1, &index) == 0 && index == 0);
  EXPECT(cublasDcopy_v2(h, 3, d, 2, e, 1) == 0 && e[0] == 3e200 && e[1] == 4e200 && e[2] == 2);
  EXPECT(cublasDger_v2(h, 2, 2, &factor, (double[]){1, 2}, 1, (double[]){5, 7}, 1, matrix, 2) == 0);
  EXPECT(matrix[0] == 15 && matrix[1] == 30 && matrix[2] == 21 && matrix[3] == 42);
  float complex u[2] = {1 + 2 * I, 3 - I}, v[2] = {2 - I, 4 * I}, dot;
  EXPECT(cublasCdotc_v2(h, 2, u, 1, v, 1, &dot) == 0);
  EXPECT(dot == conjf(u[0]) * v[0] + conjf(u[1]) * v[1]);
  EXPECT(cublasScasum_v2(h, 2, u, 1, &size) == 0 && size == 7);
  double complex w[2] = {1 + 2 * I, 3}, r[3] = {9, 9, 9}, one = 1, unit = I, zero = 0;
  double half = 0.5;
  EXPECT(cublasZdscal_v2(h, 1, &half, w, 1) == 0 && w[0] == 0.5 + I && w[1] == 3);
  double complex g[6] = {1, 2, 3 * I, 4, 5, 6}; /* 2 x 3 */
  EXPECT(cublasZgemv_v2(h, 2, 2, 3, &unit, g, 2, w, 1, &zero, r, 1) == 0);
  EXPECT(r[0] == I * (w[0] + 2 * w[1]) && r[1] == I * (-3 * I * w[0] + 4 * w[1]));
  EXPECT(cublasZgemv_v2(h, 0, 2, 3, &one, g, 2, r, 1, &one, w, 1) == 0);
}

int main(void) {
  handle h;
  int mode = -1;
  EXPECT(cublasCreate_v2(&h) == 0 && cublasSetStream_v2(h, NULL) == 0);
  EXPECT(cublasSetPointerMode_v2(h, 1) == 0 && cublasGetPointerMode_v2(h, &mode) == 0 && mode == 1);
  check_gemm(h, cublasSgemm_v2, R_32F, R_32F, R_32F, 0);
  check_gemm(h, cublasDgemm_v2, R_64F, R_64F, R_64F, 0);
  check_gemm(h, cublasCgemm_v2, C_32F, C_32F, C_32F, 0);
  check_gemm(h, cublasZgemm_v2, C_64F, C_64F, C_64F, 0);
  check_gemm(h, cublasHgemm, R_16F, R_16F, R_16F, 0);
  check_gemm(h, NULL, R_16F, R_16F, R_32F, 68);
  check_gemm(h, NULL, R_16F, R_32F, R_32F, 68);
  check_gemm(h, NULL, R_16BF, R_32F, R_32F, 68);
  check_gemm(h, NULL, R_16BF, R_16BF, R_32F, 77);
  check_gemm(h, NULL, R_8I, R_32I, R_32I, 72);
  check_gemm(h, NULL, R_64F, R_64F, R_64F, 70);
  check_batches(h);
  check_vectors(h);
  float one = 1;
  EXPECT(cublasSgemm_v2(h, 0, 0, 4, 4, 4, &one, a, 3, b, 4, &one, c, 4) == 7); /* lda too small */
  EXPECT(cublasSgemm_v2(NULL, 0, 0, 4, 4, 4, &one, a, 4, b, 4, &one, c, 4) == 1);
  EXPECT(cublasStrsm_v2() == 15); /* is not there, and says so */
  EXPECT(cublasDestroy_v2(h) == 0);
  printf("%u faults\n", faults);
  return faults != 0;
}
