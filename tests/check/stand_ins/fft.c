/* The stand-in for cuFFT against sums written out, for sizes with small and with large factors, in
 * one to three dimensions, with layouts of all kinds. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { R2C = 0x2a, C2R = 0x2c, C2C = 0x29, D2Z = 0x6a, Z2D = 0x6c, Z2Z = 0x69 };
int cufftPlan1d(int *, int, int, int), cufftPlan2d(int *, int, int, int);
int cufftPlan3d(int *, int, int, int, int), cufftDestroy(int), cufftSetStream(int, void *);
int cufftPlanMany(int *, int, int *, int *, int, int, int *, int, int, int, int);
int cufftExecZ2Z(int, void *, void *, int), cufftExecC2C(int, void *, void *, int);
int cufftExecD2Z(int, void *, void *), cufftExecZ2D(int, void *, void *);
int cufftExecR2C(int, void *, void *), cufftExecC2R(int, void *, void *);
int cufftXtExec(void);

static unsigned faults;
#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("line %d: not so: %s\n", __LINE__, #condition);                                       \
      faults++;                                                                                    \
    }                                                                                              \
  } while (0)

enum { MOST = 4096 };
static double complex x[MOST], y[MOST], wanted[MOST];

static double any(void) { return rand() % 2001 / 1000.0 - 1; }

/* The sums that a transform stands for, of an array with three dimensions. */
static void transform(const int n[3], const double complex *from, double complex *to, int sign) {
  for (int k = 0; k < n[0] * n[1] * n[2]; k++) {
    int p = k / (n[1] * n[2]), q = k / n[2] % n[1], r = k % n[2];
    to[k] = 0;
    for (int j = 0; j < n[0] * n[1] * n[2]; j++) {
      int s = j / (n[1] * n[2]), t = j / n[2] % n[1], u = j % n[2];
      double turn = (double)(p * s % n[0]) / n[0] + (double)(q * t % n[1]) / n[1] +
                    (double)(r * u % n[2]) / n[2];
      to[k] += from[j] * cexp(sign * 2 * M_PI * I * turn);
    }
  }
}

/* The largest difference; values are sums of up to count numbers below 1.5. */
static double distance(const double complex *left, const double complex *right, int count) {
  double most = 0;
  for (int i = 0; i < count; i++)
    most = fmax(most, cabs(left[i] - right[i]));
  return most;
}

/* Errors of sums of count numbers: far below what one wrong factor would make. */
static double allowed(int count) { return 1e-14 * count * log2(count + 1) * 4 + 1e-14; }

static int make(int rank, const int n[3], int type) {
  int plan = -1;
  int status = rank == 1   ? cufftPlan1d(&plan, n[2], type, 1)
               : rank == 2 ? cufftPlan2d(&plan, n[1], n[2], type)
                           : cufftPlan3d(&plan, n[0], n[1], n[2], type);
  EXPECT(status == 0 && cufftSetStream(plan, NULL) == 0);
  return plan;
}

/* All kinds of transforms of one size. */
static void check_size(int rank, int n0, int n1, int n2) {
  int n[3] = {n0, n1, n2}, count = n0 * n1 * n2, half = n2 / 2 + 1, rows = n0 * n1;
  for (int sign = -1; sign <= 1; sign += 2) {
    for (int i = 0; i < count; i++)
      x[i] = any() + I * any();
    int plan = make(rank, n, Z2Z);
    transform(n, x, wanted, sign);
    EXPECT(cufftExecZ2Z(plan, x, y, sign) == 0 && distance(y, wanted, count) < allowed(count));
    EXPECT(cufftExecZ2Z(plan, x, x, sign) == 0 && memcmp(x, y, sizeof *x * (size_t)count) == 0);
    EXPECT(cufftDestroy(plan) == 0 && cufftDestroy(plan) == 1);
  }
  double *real = malloc(sizeof *real * (size_t)count), *back = malloc(sizeof *real * (size_t)count);
  for (int i = 0; i < count; i++)
    x[i] = real[i] = any();
  transform(n, x, wanted, -1);
  int plan = make(rank, n, D2Z);
  EXPECT(cufftExecD2Z(plan, real, y) == 0);
  for (int row = 0; row < rows; row++)
    EXPECT(distance(y + row * half, wanted + row * n2, half) < allowed(count));
  cufftDestroy(plan);
  plan = make(rank, n, Z2D);
  EXPECT(cufftExecZ2D(plan, y, back) == 0);
  double most = 0;
  for (int i = 0; i < count; i++)
    most = fmax(most, fabs(back[i] / count - real[i]));
  EXPECT(most < allowed(count));
  cufftDestroy(plan);
  /* In place: rows of real numbers are as long as those of their spectrum. */
  double *wide = (double *)x;
  for (int i = 0; i < count; i++)
    wide[i / n2 * 2 * half + i % n2] = real[i];
  plan = make(rank, n, D2Z);
  EXPECT(cufftExecD2Z(plan, x, x) == 0 && memcmp(x, y, sizeof *x * (size_t)(rows * half)) == 0);
  cufftDestroy(plan);
  free(real);
  free(back);
}

/* Columns of a matrix of single precision, and rows with room between them. */
static void check_layouts(void) {
  enum { ROWS = 12, COLUMNS = 5 };
  float complex matrix[ROWS * COLUMNS], result[ROWS * COLUMNS];
  for (int i = 0; i < ROWS * COLUMNS; i++)
    matrix[i] = (float)any() + I * (float)any();
  int n = ROWS, in = ROWS, out = ROWS, plan;
  EXPECT(cufftPlanMany(&plan, 1, &n, &in, COLUMNS, 1, &out, 1, ROWS, C2C, COLUMNS) == 0);
  EXPECT(cufftExecC2C(plan, matrix, result, -1) == 0);
  for (int column = 0; column < COLUMNS; column++) {
    for (int i = 0; i < ROWS; i++) {
      x[i] = matrix[i * COLUMNS + column];
      y[i] = result[column * ROWS + i];
    }
    transform((int[]){1, 1, ROWS}, x, wanted, -1);
    EXPECT(distance(y, wanted, ROWS) < 4e-6);
  }
  cufftDestroy(plan);
  float real[3 * 10], again[3 * 10];
  float complex spectrum[3 * 5];
  for (int i = 0; i < 30; i++)
    real[i] = (float)any();
  EXPECT(cufftPlan1d(&plan, 9, R2C, 3) == 0 && cufftExecR2C(plan, real, spectrum) == 0);
  EXPECT(cufftExecC2R(plan, spectrum, again) == 1); /* a plan of another type */
  cufftDestroy(plan);
  EXPECT(cufftPlan1d(&plan, 9, C2R, 3) == 0 && cufftExecC2R(plan, spectrum, again) == 0);
  for (int i = 0; i < 27; i++)
    EXPECT(fabsf(again[i] / 9 - real[i]) < 1e-6f);
  cufftDestroy(plan);
}

int main(void) {
  static const int sizes[] = {1, 2, 3, 4, 5, 8, 12, 15, 16, 30, 31, 37, 64, 74, 97, 100, 128, 143};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    check_size(1, 1, 1, sizes[i]);
  check_size(2, 1, 6, 10);
  check_size(2, 1, 41, 3);
  check_size(2, 1, 8, 7);
  check_size(3, 4, 3, 5);
  check_size(3, 2, 8, 6);
  check_layouts();
  int plan;
  EXPECT(cufftPlan1d(&plan, 0, C2C, 1) == 8 && cufftPlan1d(&plan, 8, 77, 1) == 3);
  EXPECT(cufftXtExec() == 16); /* is not there, and says so */
  printf("%u faults\n", faults);
  return faults != 0;
}
