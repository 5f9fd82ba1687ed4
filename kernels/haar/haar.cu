// Haar wavelet transforms of SAMPLES floats, one per block, in place in shared memory. Level n
// replaces samples 2^n apart by their scaled sum, and writes their difference to the output; the
// samples in use lie ever further apart, so that threads conflict up to 16 ways.

constexpr int SAMPLES = 512;
constexpr int THREADS = SAMPLES / 2;

// PAD inserts a word behind every 32, which keeps strides that are powers of two from conflicting.
template <bool PAD> __device__ int place(int i) { return PAD ? i + i / 32 : i; }

// The output holds the sum of all samples, scaled, and then the differences, coarsest level first.
template <bool PAD> __device__ void transform(const float *input, float *output, float *data) {
  const float scale = 0.70710678118654752f; // keeps the sum of squares
  int thread = threadIdx.x, first = blockIdx.x * SAMPLES;
  data[place<PAD>(thread)] = input[first + thread];
  data[place<PAD>(thread + THREADS)] = input[first + thread + THREADS];
  __syncthreads();
  int threads = THREADS;
  for (int apart = 1; apart < SAMPLES; apart *= 2) {
    if (thread < threads) {
      int left = place<PAD>(2 * apart * thread), right = place<PAD>(2 * apart * thread + apart);
      float a = data[left], b = data[right];
      data[left] = (a + b) * scale;
      output[first + threads + thread] = (a - b) * scale;
    }
    threads /= 2;
    __syncthreads();
  }
  if (thread == 0)
    output[first] = data[0];
}

extern "C" __global__ void haar(const float *input, float *output) {
  __shared__ float data[SAMPLES];
  transform<false>(input, output, data);
}

extern "C" __global__ void haar_padded(const float *input, float *output) {
  __shared__ float data[SAMPLES + SAMPLES / 32];
  transform<true>(input, output, data);
}
