// The microbenchmark of braak16, section 2: every warp reads shared memory with the indices
// GenIndex(lane, way, stride), again and again. Each word holds its own index, so that every read
// gives the index of the next one, which is the same.

// way lanes read with a stride, the others one after the other.
static __device__ unsigned gen_index(unsigned lane, unsigned way, unsigned stride) {
  return lane < way ? lane * stride : lane;
}

extern "C" __global__ void genindex(unsigned *result, unsigned way, unsigned stride,
                                    unsigned repeat) {
  __shared__ volatile unsigned scratchpad[1024];
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x)
    scratchpad[i] = i;
  __syncthreads();
  unsigned index = gen_index(threadIdx.x % 32, way, stride);
  for (unsigned i = 0; i < repeat; i++)
    index = scratchpad[index];
  result[blockIdx.x * blockDim.x + threadIdx.x] = index;
}
