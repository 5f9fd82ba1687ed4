// Kernels that wait for the host: for memory that it writes behind the launch, with an event and a look at errors before,
// and for a copy in another stream. The host waits for a kernel, too.
#include "check.h"

__global__ void wait_for(volatile int *flag, int *out) {
  while (*flag == 0)
    ;
  out[threadIdx.x] = *flag + threadIdx.x;
}

// Answers a question of the host, three times.
__global__ void serve(volatile int *question, volatile int *answer) {
  for (int i = 1; i <= 3; i++) {
    while (*question != i)
      ;
    __threadfence_system();
    *answer = i * i;
  }
}

int main() {
  int *flag, *out, *answer, *device_flag;
  CHECK(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped));
  CHECK(cudaHostAlloc(&answer, sizeof *answer, cudaHostAllocMapped));
  CHECK(cudaMallocManaged(&out, 32 * sizeof *out));
  CHECK(cudaMalloc(&device_flag, sizeof *device_flag));
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  cudaStream_t first, second;
  CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));

  *flag = 0;
  CHECK(cudaEventRecord(begin));
  wait_for<<<1, 32>>>(flag, out);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  printf("stream: %s, event: %s\n", cudaGetErrorName(cudaStreamQuery(0)), cudaGetErrorName(cudaEventQuery(end)));
  *(volatile int *)flag = 7;
  CHECK(cudaDeviceSynchronize());
  float milliseconds;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  printf("memory of the host: %d, event: %s, time: %d\n", out[31], cudaGetErrorName(cudaEventQuery(end)),
         milliseconds > 0);

  int one = 1;
  CHECK(cudaMemset(device_flag, 0, sizeof *device_flag));
  wait_for<<<1, 32, 0, first>>>(device_flag, out);
  CHECK(cudaMemcpyAsync(device_flag, &one, sizeof one, cudaMemcpyHostToDevice, second));
  CHECK(cudaStreamSynchronize(second));
  CHECK(cudaStreamSynchronize(first));
  printf("a copy in another stream: %d\n", out[31]);

  *flag = *answer = 0;
  serve<<<1, 1>>>(flag, answer);
  for (int i = 1; i <= 3; i++) {
    *(volatile int *)flag = i;
    while (*(volatile int *)answer != i * i)
      ;
    printf("answer: %d\n", *answer);
  }
  CHECK(cudaDeviceSynchronize());
  return 0;
}
