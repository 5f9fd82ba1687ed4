// Managed memory: variables and lists that host and device both change.
#include "check.h"

__managed__ int shared_count = 5;
__managed__ float shared_values[16];
__device__ int unshared;

struct Node {
  int value;
  Node *next;
};

__global__ void walk(Node *first, int *sum) {
  int total = 0;
  for (Node *n = first; n; n = n->next) {
    total += n->value;
    n->value *= 2;
  }
  *sum = total;
}

__global__ void touch() {
  shared_values[threadIdx.x] = shared_count + threadIdx.x * 0.5f;
  __syncthreads();
  if (threadIdx.x == 0)
    shared_count += 1;
}

int main() {
  Node *first = NULL;
  for (int i = 0; i < 10; i++) {
    Node *node;
    CHECK(cudaMallocManaged(&node, sizeof *node));
    node->value = i * i;
    node->next = first;
    first = node;
  }
  int *sum;
  CHECK(cudaMallocManaged(&sum, sizeof *sum));
  walk<<<1, 1>>>(first, sum);
  CHECK(cudaDeviceSynchronize());
  printf("sum %d, first now %d\n", *sum, first->value);
  shared_count = 40;
  touch<<<1, 16>>>();
  CHECK(cudaDeviceSynchronize());
  printf("count %d, values %g to %g\n", shared_count, shared_values[0], shared_values[15]);
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, sum));
  printf("managed: %d, same address: %d\n", attributes.type == cudaMemoryTypeManaged,
         attributes.devicePointer == attributes.hostPointer);
  CHECK(cudaPointerGetAttributes(&attributes, shared_values + 3));
  printf("a variable: %d, at %s\n", attributes.type == cudaMemoryTypeManaged,
         attributes.devicePointer == shared_values + 3 && attributes.hostPointer == shared_values + 3 ? "one address" : "two");
  void *own;
  CHECK(cudaGetSymbolAddress(&own, unshared));
  CHECK(cudaPointerGetAttributes(&attributes, own));
  printf("another: %d\n", attributes.type == cudaMemoryTypeManaged);
  while (first) {
    Node *next = first->next;
    CHECK(cudaFree(first));
    first = next;
  }
  CHECK(cudaFree(sum));
  return 0;
}
