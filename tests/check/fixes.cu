// Many kernels with conflicts, whose tiles have rows of a length that the program chooses: arguments
// NAME=LENGTH change it, and what exec promises of longer rows must then be counted (fixes.sh). The
// first argument says which half of them runs.
#include "../programs/check.h"

#include <cstring>

extern __shared__ __align__(16) unsigned char memory[];

/* A kernel of some blocks; row is the length of a row in elements of type. */
#define KERNEL(name, type, body)                                                                   \
  __global__ void name(type *out, int row) {                                                       \
    type *tile = (type *)memory;                                                                   \
    int x = threadIdx.x, y = threadIdx.y, w = blockDim.x, h = blockDim.y;                          \
    (void)w, (void)h;                                                                              \
    type sum{};                                                                                    \
    body;                                                                                          \
    out[(blockIdx.x * h + y) * w + x] = sum;                                                       \
  }
template <class T> struct made {
  static __device__ T of(int i) { return (T)i; }
};
template <> struct made<float2> {
  static __device__ float2 of(int i) { return make_float2(i, i + 1); }
};
template <> struct made<float4> {
  static __device__ float4 of(int i) { return make_float4(i, i + 1, i + 2, i + 3); }
};

/* Columns of tiles of all types. */
#define COLUMNS(name, type)                                                                        \
  KERNEL(name, type, tile[y * row + x] = made<type>::of(x + 3 * y); __syncthreads();               \
         sum = tile[x * row + y])
COLUMNS(columns_of_bytes, unsigned char)
COLUMNS(columns_of_shorts, short)
COLUMNS(columns_of_ints, int)
COLUMNS(columns_of_floats, float)
COLUMNS(columns_of_doubles, double)
COLUMNS(columns_of_pairs, float2)
COLUMNS(columns_of_fours, float4)
COLUMNS(wide_columns, int)
COLUMNS(narrow_columns, int)
COLUMNS(narrow_doubles, double)

/* Both halves of a product, sums of rows, walks along and across. */
KERNEL(row_sums, int, tile[y * row + x] = x + y; __syncthreads();
       if (y == 0) for (int k = 0; k < w; k++) sum += tile[x * row + k])
KERNEL(row_sums_back, int, tile[y * row + x] = x + y; __syncthreads();
       if (y == 0) for (int k = w - 1; k >= 0; k--) sum += 2 * tile[x * row + k])
KERNEL(column_stores, int, tile[x * row + y] = x + 7 * y; __syncthreads(); sum = tile[y * row + x])
KERNEL(both_ways, int, tile[x * row + y] = x + 7 * y; __syncthreads(); sum = tile[x * row + y];
       __syncthreads(); tile[y * row + x] = sum; __syncthreads(); sum += tile[y * row + x])
KERNEL(triangle, int, tile[y * row + x] = x + y; __syncthreads();
       for (int k = 0; k < w; k++) if (x > k) sum += tile[x * row + k] * tile[y * row + k])
KERNEL(matrix_product, float, tile[y * row + x] = x + y; __syncthreads();
       for (int k = 0; k < w; k++) sum += tile[y * row + k] * tile[x * row + k])
KERNEL(diagonals, int, tile[y * row + x] = x + y; __syncthreads();
       sum = tile[x * row + (x + y) % w]; sum += tile[x * row + y])
KERNEL(left_and_right, int, tile[y * row + x] = x + y; __syncthreads();
       sum = tile[x * row + y] + tile[x * row + max(y - 1, 0)] + tile[x * row + min(y + 1, h - 1)])
KERNEL(
    elimination, float, tile[y * row + x] = x == y ? 40 : x; __syncthreads();
    for (int k = 0; k < w - 1; k++) {
      if (y == 0 && x > k)
        tile[x * row + k] /= tile[k * row + k];
      __syncthreads();
      if (x > k && y > k)
        tile[x * row + y] -= tile[x * row + k] * tile[k * row + y];
      __syncthreads();
    } sum = tile[x * row + y])
KERNEL(turned_twice, int, tile[y * row + x] = x + y; __syncthreads(); int v = tile[x * row + y];
       __syncthreads(); tile[x * row + y] = v + 1; __syncthreads(); sum = tile[y * row + x])
KERNEL(counters, int, tile[y * row + x] = 0; __syncthreads(); atomicAdd(&tile[x * row + y], x);
       __syncthreads(); sum = tile[y * row + x])
KERNEL(every_other, int, tile[y * row + x] = x; __syncthreads();
       if (x % 2 == 0) sum = tile[x * row + y])
KERNEL(half_a_warp, int, tile[y * row + x] = x; __syncthreads();
       if (x < 16) sum = tile[x * row + y])
KERNEL(
    longest_paths, int, tile[y * row + x] = x ^ y; __syncthreads(); for (int m = 0; m < w; m++) {
      if (y == 0 && x <= m)
        tile[x * row + m] = max(tile[x * row + m], 3) + 1;
      __syncthreads();
    } sum = tile[y * row + x])

template <class T>
static void run(const char *name, void (*kernel)(T *, int), int w, int h, int row, int arguments,
                char **argument) {
  T *out;
  for (int i = 1; i < arguments; i++)
    if (strncmp(argument[i], name, strlen(name)) == 0 && argument[i][strlen(name)] == '=')
      row = atoi(argument[i] + strlen(name) + 1);
  CHECK(cudaMalloc(&out, 2 * w * h * sizeof *out));
  kernel<<<2, dim3(w, h), (size_t)(w > h ? w : h) * row * sizeof *out>>>(out, row);
  CHECK(cudaDeviceSynchronize());
  unsigned char *bytes = (unsigned char *)malloc(2 * w * h * sizeof *out);
  unsigned sum = 0;
  CHECK(cudaMemcpy(bytes, out, 2 * w * h * sizeof *out, cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < 2 * w * h * sizeof *out; i++)
    sum = sum * 31 + bytes[i];
  printf("%s %08x\n", name, sum);
  free(bytes);
  CHECK(cudaFree(out));
}
#define RUN(name, w, h, row) run(#name, name, w, h, row, arguments, argument)

int main(int arguments, char **argument) {
  if (arguments > 1 && strcmp(argument[1], "first") == 0) {
    RUN(columns_of_bytes, 32, 32, 32);
    RUN(columns_of_shorts, 32, 32, 32);
    RUN(columns_of_ints, 32, 32, 32);
    RUN(columns_of_floats, 32, 8, 64);
    RUN(columns_of_doubles, 32, 32, 32);
    RUN(columns_of_pairs, 16, 16, 16);
    RUN(columns_of_fours, 16, 16, 16);
    RUN(wide_columns, 32, 4, 48);
    RUN(narrow_columns, 16, 16, 16);
    RUN(narrow_doubles, 16, 16, 16);
    RUN(row_sums, 32, 32, 32);
    RUN(row_sums_back, 32, 16, 40);
    return 0;
  }
  RUN(column_stores, 32, 32, 32);
  RUN(both_ways, 32, 32, 36);
  RUN(triangle, 32, 8, 32);
  RUN(matrix_product, 16, 16, 16);
  RUN(diagonals, 32, 32, 32);
  RUN(left_and_right, 32, 32, 32);
  RUN(elimination, 16, 16, 16);
  RUN(turned_twice, 32, 32, 64);
  RUN(counters, 32, 32, 32);
  RUN(every_other, 32, 32, 32);
  RUN(half_a_warp, 32, 32, 32);
  RUN(longest_paths, 32, 32, 32);
}
