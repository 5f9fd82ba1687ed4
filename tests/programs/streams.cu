// Streams, events, callbacks and host functions: order within and between streams.
#include "check.h"

__global__ void add(int *data, int value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    data[i] += value;
}

__global__ void times(int *data, int factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    data[i] *= factor;
}

static void CUDART_CB on_done(cudaStream_t, cudaError_t status, void *text) {
  printf("callback: %s, %s\n", (const char *)text, cudaGetErrorName(status));
}

static void CUDART_CB on_host(void *counter) { ++*(int *)counter; }

int main() {
  const int n = 1000, streams = 3;
  cudaStream_t stream[streams];
  cudaEvent_t start, stop, ready;
  int least, greatest;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(cudaStreamCreate(&stream[0]));
  CHECK(cudaStreamCreateWithFlags(&stream[1], cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithPriority(&stream[2], cudaStreamNonBlocking, greatest));
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  int *host[streams], *device[streams], calls = 0;
  for (int s = 0; s < streams; s++) {
    CHECK(cudaMallocHost(&host[s], n * sizeof(int)));
    CHECK(cudaMalloc(&device[s], n * sizeof(int)));
    for (int i = 0; i < n; i++)
      host[s][i] = i + s;
  }
  CHECK(cudaEventRecord(start, stream[0]));
  for (int s = 0; s < streams; s++) {
    CHECK(cudaMemcpyAsync(device[s], host[s], n * sizeof(int), cudaMemcpyHostToDevice, stream[s]));
    add<<<(n + 127) / 128, 128, 0, stream[s]>>>(device[s], 10, n);
    times<<<(n + 127) / 128, 128, 0, stream[s]>>>(device[s], s + 2, n);
    CHECK(cudaLaunchHostFunc(stream[s], on_host, &calls));
  }
  CHECK(cudaEventRecord(ready, stream[0]));
  CHECK(cudaStreamWaitEvent(stream[1], ready, 0));
  CHECK(cudaMemcpyAsync(device[1], device[0], n / 2 * sizeof(int), cudaMemcpyDeviceToDevice,
                        stream[1]));
  for (int s = 0; s < streams; s++)
    CHECK(cudaMemcpyAsync(host[s], device[s], n * sizeof(int), cudaMemcpyDeviceToHost, stream[s]));
  CHECK(cudaStreamAddCallback(stream[2], on_done, (void *)"third stream", 0));
  CHECK(cudaEventRecord(stop, stream[0]));
  CHECK(cudaEventSynchronize(stop));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaStreamQuery(stream[1]));
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
  int wrong = 0;
  for (int s = 0; s < streams; s++)
    for (int i = 0; i < n; i++) {
      int from = s == 1 && i < n / 2 ? 0 : s;
      wrong += host[s][i] != (i + from + 10) * (from + 2);
    }
  printf("%d wrong, %d host functions, time %s\n", wrong, calls,
         milliseconds >= 0 ? "goes on" : "went back");
  printf("an event without timing: %s\n",
         cudaGetErrorName(cudaEventElapsedTime(&milliseconds, start, ready)));
  int priority;
  CHECK(cudaStreamGetPriority(stream[2], &priority));
  printf("priority %s\n", priority == greatest ? "kept" : "lost");
  cudaStreamAttrValue window = {}, kept = {};
  window.accessPolicyWindow.base_ptr = device[0];
  window.accessPolicyWindow.num_bytes = 512;
  window.accessPolicyWindow.hitRatio = 0.5f;
  window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  CHECK(cudaStreamSetAttribute(stream[0], cudaStreamAttributeAccessPolicyWindow, &window));
  CHECK(cudaStreamGetAttribute(stream[1], cudaStreamAttributeAccessPolicyWindow, &kept));
  printf("windows: %zu,", kept.accessPolicyWindow.num_bytes);
  CHECK(cudaStreamCopyAttributes(stream[1], stream[0]));
  CHECK(cudaStreamGetAttribute(stream[1], cudaStreamAttributeAccessPolicyWindow, &kept));
  printf(" %zu bytes at %s,", kept.accessPolicyWindow.num_bytes, kept.accessPolicyWindow.base_ptr == device[0] ? "its place" : "another");
  CHECK(cudaStreamGetAttribute(0, cudaStreamAttributeAccessPolicyWindow, &kept));
  printf(" %zu in the default stream\n", kept.accessPolicyWindow.num_bytes);
  for (int s = 0; s < streams; s++) {
    CHECK(cudaStreamDestroy(stream[s]));
    CHECK(cudaFreeHost(host[s]));
    CHECK(cudaFree(device[s]));
  }
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  CHECK(cudaEventDestroy(ready));
  return 0;
}
