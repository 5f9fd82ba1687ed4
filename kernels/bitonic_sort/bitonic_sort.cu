// Sorts KEYS unsigned integers per block by a bitonic network in shared memory. Partners lie stride
// apart; where that is less than a warp, pairs of threads conflict.

constexpr int KEYS = 1024;
constexpr int THREADS = KEYS / 2;

// Puts a pair in the wanted order.
__device__ void order(unsigned &left, unsigned &right, bool ascending) {
  unsigned a = left, b = right;
  if ((a > b) == ascending) {
    left = b;
    right = a;
  }
}

extern "C" __global__ void bitonic_sort(const unsigned *input, unsigned *output) {
  __shared__ unsigned keys[KEYS];
  int tx = threadIdx.x, first = blockIdx.x * KEYS;
  keys[tx] = input[first + tx];
  keys[tx + THREADS] = input[first + tx + THREADS];
  for (int size = 2; size <= KEYS; size *= 2) {
    // Halves of sorted runs alternate in direction, but for the last run.
    bool ascending = size == KEYS || (tx & (size / 2)) == 0;
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      int left = 2 * tx - (tx & (stride - 1));
      order(keys[left], keys[left + stride], ascending);
    }
  }
  __syncthreads();
  output[first + tx] = keys[tx];
  output[first + tx + THREADS] = keys[tx + THREADS];
}
