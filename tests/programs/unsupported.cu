// Calls that Bankfold does not have: they say so and the program goes on.
// only: exec
// status: 2
// says: cudaGraphCreate is not supported
#include "check.h"

__global__ void __cluster_dims__(2, 1, 1) clustered(int *out) { out[0] = 1; }

int main() {
  cudaGraph_t graph;
  cudaMipmappedArray_t array;
  cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  printf("graph: %s\n", cudaGetErrorName(cudaGraphCreate(&graph, 0)));
  printf("again: %s\n", cudaGetErrorName(cudaGraphCreate(&graph, 0)));
  printf("array: %s\n",
         cudaGetErrorName(cudaMallocMipmappedArray(&array, &desc, make_cudaExtent(16, 16, 0), 2)));
  printf("channel of %d bits\n", desc.x);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  printf("capture: %s\n",
         cudaGetErrorName(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal)));
  cudaGetLastError();
  clustered<<<2, 32>>>(NULL);
  printf("clusters: %s\n", cudaGetErrorName(cudaGetLastError()));
  return 0;
}
