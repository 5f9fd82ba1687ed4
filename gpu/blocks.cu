// Where and when blocks run: multiprocessor, clock at start and end, and time of each block of
// several grids, as CSV. Build: nvcc -arch=sm_90 -O3 -o blocks blocks.cu
#include <cstdio>
#include <vector>

__global__ void where(unsigned long long *out, unsigned rounds) {
  unsigned long long start = clock64(), time;
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  float x = start;
  for (unsigned k = 0; k < rounds; k++)
    x = x * 0.5f + 1.0f;
  if (threadIdx.x == 0) {
    out[4 * blockIdx.x] = sm;
    out[4 * blockIdx.x + 1] = start;
    out[4 * blockIdx.x + 2] = clock64() + (x < 0);
    out[4 * blockIdx.x + 3] = time;
  }
}

// Runs a grid twice and prints the blocks of the second time.
static void run(unsigned long long *out, unsigned blocks, unsigned threads, unsigned rounds) {
  where<<<blocks, threads>>>(out, rounds);
  where<<<blocks, threads>>>(out, rounds);
  std::vector<unsigned long long> own(4 * blocks);
  cudaMemcpy(own.data(), out, own.size() * sizeof own[0], cudaMemcpyDeviceToHost);
  for (unsigned b = 0; b < blocks; b++)
    printf("%u,%u,%u,%u,%llu,%llu,%llu,%llu\n", blocks, threads, rounds, b, own[4 * b],
           own[4 * b + 1], own[4 * b + 2], own[4 * b + 3]);
}

int main() {
  unsigned long long *out;
  if (cudaMalloc(&out, 4096 * 4 * sizeof *out) != cudaSuccess)
    return 77;
  printf("blocks,threads,rounds,block,sm,start,end,time\n");
  for (unsigned blocks : {132u, 264u, 700u, 4096u})
    for (unsigned threads : {32u, 256u, 1024u})
      for (unsigned rounds : {0u, 256u})
        run(out, blocks, threads, rounds);
  return 0;
}
