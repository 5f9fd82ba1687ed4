// Threads of the host that launch at once, each with a last error of its own.
#include "check.h"

#include <thread>
#include <vector>

__global__ void count(int *counter) { atomicAdd(counter, 1); }

int main() {
  int *counter, got;
  CHECK(cudaMalloc(&counter, sizeof *counter));
  CHECK(cudaMemset(counter, 0, sizeof *counter));
  std::vector<std::thread> threads;
  int errors[4] = {0};
  for (int t = 0; t < 4; t++)
    threads.emplace_back([counter, t, &errors] {
      cudaStream_t stream;
      if (cudaStreamCreate(&stream) != cudaSuccess)
        return;
      for (int i = 0; i < 10; i++)
        count<<<2, 64, 0, stream>>>(counter);
      if (t == 2)
        count<<<2, 4096, 0, stream>>>(counter);
      cudaStreamSynchronize(stream);
      errors[t] = cudaGetLastError();
      cudaStreamDestroy(stream);
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(cudaMemcpy(&got, counter, sizeof got, cudaMemcpyDeviceToHost));
  printf("count %d\n", got);
  for (int t = 0; t < 4; t++)
    printf("thread %d: %s\n", t, cudaGetErrorName((cudaError_t)errors[t]));
  printf("main: %s\n", cudaGetErrorName(cudaGetLastError()));
  return 0;
}
