// Scalar products of pairs of vectors, one pair per block. SUMS partial sums in shared memory are
// added up by a sequential tree: threads always lie side by side, without conflicts.

constexpr int THREADS = 256;
constexpr int SUMS = 1024;

// Vectors have a multiple of SUMS elements and lie one behind the other.
extern "C" __global__ void scalar_product(const float *left, const float *right, float *products,
                                          int elements) {
  __shared__ float sums[SUMS];
  int first = blockIdx.x * elements;
  for (int i = 0; i < SUMS; i += THREADS) {
    float sum = 0;
    for (int k = i + threadIdx.x; k < elements; k += SUMS)
      sum += left[first + k] * right[first + k];
    sums[i + threadIdx.x] = sum;
  }
  for (int half = SUMS / 2; half > 0; half /= 2) {
    __syncthreads();
    for (int i = threadIdx.x; i < half; i += THREADS)
      sums[i] += sums[i + half];
  }
  if (threadIdx.x == 0)
    products[blockIdx.x] = sums[0];
}
