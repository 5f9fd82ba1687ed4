// Sums of BLOCK floats each by a tree in shared memory. In the interleaved tree the partners of
// step s lie s apart and the adding threads 2 s: conflicts up to 8 ways. In the sequential tree the
// adding threads lie side by side, without conflicts.

constexpr int BLOCK = 256; // threads, and floats per sum

extern "C" __global__ void reduction_interleaved(const float *input, float *sums) {
  __shared__ float data[BLOCK];
  int tx = threadIdx.x;
  data[tx] = input[blockIdx.x * BLOCK + tx];
  __syncthreads();
  for (int s = 1; s < BLOCK; s *= 2) {
    if (2 * s * tx < BLOCK)
      data[2 * s * tx] += data[2 * s * tx + s];
    __syncthreads();
  }
  if (tx == 0)
    sums[blockIdx.x] = data[0];
}

extern "C" __global__ void reduction_sequential(const float *input, float *sums) {
  __shared__ float data[BLOCK];
  int tx = threadIdx.x;
  data[tx] = input[blockIdx.x * BLOCK + tx];
  __syncthreads();
  for (int s = BLOCK / 2; s > 0; s /= 2) {
    if (tx < s)
      data[tx] += data[tx + s];
    __syncthreads();
  }
  if (tx == 0)
    sums[blockIdx.x] = data[0];
}

// As the sample reduction of NVIDIA's toolkit does it in its second step, which gou13 runs: the
// size of the block is not known to the compiler, so that the loop stays one.
extern "C" __global__ void reduction_sample(const float *input, float *sums) {
  __shared__ float data[BLOCK];
  unsigned tx = threadIdx.x;
  data[tx] = input[blockIdx.x * blockDim.x + tx];
  __syncthreads();
#pragma unroll 1
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    unsigned at = 2 * s * tx;
    if (at < blockDim.x)
      data[at] += data[at + s];
    __syncthreads();
  }
  if (tx == 0)
    sums[blockIdx.x] = data[0];
}
