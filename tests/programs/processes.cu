// Memory and an event of one process that another one uses.
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

__global__ void twice(int *data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    data[i] *= 2;
}

enum { N = 100000 };
struct message {
  cudaIpcMemHandle_t memory;
  cudaIpcEventHandle_t event;
};

static void take(int from) {
  message got;
  int *data;
  cudaEvent_t event;
  if (read(from, &got, sizeof got) != sizeof got)
    _exit(1);
  CHECK(cudaIpcOpenMemHandle((void **)&data, got.memory, cudaIpcMemLazyEnablePeerAccess));
  CHECK(cudaIpcOpenEventHandle(&event, got.event));
  CHECK(cudaEventSynchronize(event));
  twice<<<(N + 255) / 256, 256>>>(data, N);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaIpcCloseMemHandle(data));
  CHECK(cudaEventDestroy(event));
  printf("taken\n");
  fflush(stdout);
  _exit(0);
}

static void give(int to) {
  static int host[N];
  message made;
  int *data;
  cudaEvent_t event;
  for (int i = 0; i < N; i++)
    host[i] = i;
  CHECK(cudaMalloc(&data, sizeof host));
  CHECK(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
  CHECK(cudaEventRecord(event));
  CHECK(cudaIpcGetMemHandle(&made.memory, data));
  CHECK(cudaIpcGetEventHandle(&made.event, event));
  if (write(to, &made, sizeof made) != sizeof made)
    exit(1);
  wait(NULL);
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < N; i++)
    wrong += host[i] != 2 * i;
  printf("given: %d wrong\n", wrong);
  CHECK(cudaFree(data));
}

int main() {
  int ends[2];
  if (pipe(ends) != 0)
    return 1;
  pid_t other = fork();
  if (other == 0)
    take(ends[0]);
  give(ends[1]);
  return 0;
}
