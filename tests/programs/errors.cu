// What calls say when their arguments are wrong, and what the last error is then.
#include "check.h"

__global__ void nothing(int *) {}

static void say(const char *what, cudaError_t error) {
  cudaError_t peeked = cudaPeekAtLastError(), last = cudaGetLastError();
  printf("%s: %s, %s, last %s, then %s\n", what, cudaGetErrorName(error),
         peeked == last ? "kept" : "changed", cudaGetErrorName(last),
         cudaGetErrorName(cudaGetLastError()));
}

int main() {
  int *data, host[4];
  CHECK(cudaMalloc(&data, 1024));
  nothing<<<1, 2048>>>(data);
  say("2048 threads", cudaPeekAtLastError());
  nothing<<<0, 32>>>(data);
  say("no blocks", cudaPeekAtLastError());
  nothing<<<1, dim3(1, 1, 65)>>>(data);
  say("block z 65", cudaPeekAtLastError());
  nothing<<<dim3(1, 70000), 32>>>(data);
  say("grid y 70000", cudaPeekAtLastError());
  nothing<<<1, 32, 60 << 10>>>(data);
  say("60 KB of shared memory", cudaPeekAtLastError());
  nothing<<<1, 32, 300 << 10>>>(data);
  say("300 KB of shared memory", cudaPeekAtLastError());
  void *huge;
  say("2^52 bytes", cudaMalloc(&huge, (size_t)1 << 52));
  say("device 99", cudaSetDevice(99));
  say("copy to null", cudaMemcpy(NULL, host, 4, cudaMemcpyHostToDevice));
  say("copy of nothing", cudaMemcpy(data, host, 0, cudaMemcpyHostToDevice));
  say("free of a bogus pointer", cudaFree((void *)0x1234560));
  say("free of null", cudaFree(NULL));
  say("direction 17", cudaMemcpy(data, host, 4, (cudaMemcpyKind)17));
  say("attribute 9999", cudaDeviceGetAttribute(host, (cudaDeviceAttr)9999, 0));
  CHECK(cudaFree(data));
  say("free twice", cudaFree(data));
  printf("%s | %s | %s\n", cudaGetErrorString(cudaErrorInvalidConfiguration),
         cudaGetErrorString(cudaErrorIllegalAddress), cudaGetErrorString((cudaError_t)12345));
  return 0;
}
