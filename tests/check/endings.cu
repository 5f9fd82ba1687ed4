// endings HOW: runs a kernel with conflicts and then ends as HOW says. In "long" a second launch never ends.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

__global__ void columns(float *out, volatile int *stop) {
  __shared__ float tile[32][32];
  if (stop)
    stop[1] = 1;
  do {
    tile[threadIdx.x][threadIdx.y] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.y][threadIdx.x];
  } while (stop && !*stop);
}

int main(int count, char **argument) {
  const char *how = count > 1 ? argument[1] : "";
  float *out;
  int *stop = NULL;
  cudaMalloc(&out, 32 * sizeof *out);
  cudaMemset(out, 0, 32 * sizeof *out);
  columns<<<1, dim3(32, 4)>>>(out, NULL);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  fflush(stdout);
  if (strcmp(how, "abort") == 0)
    abort();
  if (strcmp(how, "crash") == 0)
    *(volatile int *)NULL = 1;
  if (strcmp(how, "_exit") == 0)
    _exit(3);
  if (strcmp(how, "exec") == 0)
    execl(argument[0], argument[0], NULL);
  if (strcmp(how, "long") == 0) {
    cudaMallocHost(&stop, 2 * sizeof *stop);
    stop[0] = stop[1] = 0;
    std::thread watch([stop] {
      while (!*(volatile int *)&stop[1])
        usleep(1000);
      puts("inside");
      fflush(stdout);
    });
    columns<<<1, dim3(32, 4)>>>(out, stop);
    watch.join();
    cudaDeviceSynchronize();
  }
  if (strcmp(how, "wait") == 0)
    pause();
  return 0;
}
