// Calls that Bankfold does not have: they say so and the program goes on.
// only: exec
// status: 2
// says: cudaImportExternalSemaphore is not supported
#include "check.h"

__global__ void several_gpus(int *out) {
  asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(out) : "memory");
}

/* A launch that is refused while a stream records it is an error of the program as well. */
static void capture() {
  cudaStream_t stream;
  cudaGraph_t graph;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  several_gpus<<<2, 32, 0, stream>>>(NULL);
  printf("recorded: %s\n", cudaGetErrorName(cudaGetLastError()));
  cudaStreamEndCapture(stream, &graph);
  printf("behind it: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}

int main() {
  cudaExternalSemaphore_t semaphore;
  cudaExternalSemaphoreHandleDesc desc = {};
  printf("semaphore: %s\n", cudaGetErrorName(cudaImportExternalSemaphore(&semaphore, &desc)));
  printf("again: %s\n", cudaGetErrorName(cudaImportExternalSemaphore(&semaphore, &desc)));
  cudaGetLastError();
  capture();
  several_gpus<<<2, 32>>>(NULL);
  printf("memory of several GPUs: %s\n", cudaGetErrorName(cudaGetLastError()));
  return 0;
}
