// Kernels that memory bounds: every thread reads a word, or two, and writes one; or it reads words,
// one after the other, and adds them up.

extern "C" __global__ void copy(const unsigned *from, unsigned *to, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    to[i] = from[i];
}

// The second half of `from` is added to the first, which has `count` words.
extern "C" __global__ void add(const unsigned *from, unsigned *to, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    to[i] = from[i] + from[count + i];
}

extern "C" __global__ void sum(const unsigned *from, unsigned *to, unsigned count) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned i = thread; i < count; i += gridDim.x * blockDim.x)
    sum += from[i];
  to[thread] = sum;
}
