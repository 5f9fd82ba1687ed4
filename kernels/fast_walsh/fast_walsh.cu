// Walsh-Hadamard transforms of POINTS floats, one per block, in shared memory: result[i] is the sum
// of input[j] with sign (-1)^(number of ones in i & j). Each pass does two levels at once on four
// elements that lie stride apart; where stride is less than a warp, threads conflict 4 ways.

constexpr int POINTS = 2048;
constexpr int THREADS = POINTS / 4;

// Two levels on elements i, i + stride, i + 2 stride, i + 3 stride.
__device__ void walsh4(float *data, int i, int stride) {
  float a = data[i], b = data[i + stride], c = data[i + 2 * stride], d = data[i + 3 * stride];
  float even_sum = a + c, even_difference = a - c, odd_sum = b + d, odd_difference = b - d;
  data[i] = even_sum + odd_sum;
  data[i + stride] = even_sum - odd_sum;
  data[i + 2 * stride] = even_difference + odd_difference;
  data[i + 3 * stride] = even_difference - odd_difference;
}

extern "C" __global__ void fast_walsh(const float *input, float *output) {
  __shared__ float data[POINTS];
  int position = threadIdx.x, first = blockIdx.x * POINTS;
  for (int i = 0; i < POINTS; i += THREADS)
    data[i + position] = input[first + i + position];
  for (int stride = POINTS / 4; stride > 1; stride /= 4) { // 512, 128, 32, 8, 2
    __syncthreads();
    int low = position & (stride - 1);
    walsh4(data, (position - low) * 4 + low, stride);
  }
  __syncthreads();
  for (int i = 0; i < POINTS / 2; i += THREADS) { // the last level
    int pair = i + position;
    float a = data[2 * pair], b = data[2 * pair + 1];
    data[2 * pair] = a + b;
    data[2 * pair + 1] = a - b;
  }
  __syncthreads();
  for (int i = 0; i < POINTS; i += THREADS)
    output[first + i + position] = data[i + position];
}
