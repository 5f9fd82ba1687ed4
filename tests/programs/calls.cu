// Calls that ask, advise and attribute, as programs of public suites make them.
#include "check.h"

__device__ int variable[16], begun[4] = {5, 6, 7};
__global__ void add(int *data) { data[threadIdx.x] += variable[threadIdx.x]; }

static void CUDART_CB count(void *number) { ++*(int *)number; }
static void CUDART_CB count_too(cudaStream_t, cudaError_t, void *number) { ++*(int *)number; }

static void ask(const char *what, cudaMemRangeAttribute attribute, const void *memory, size_t bytes) {
  int value = 77;
  CHECK(cudaMemRangeGetAttribute(&value, sizeof value, attribute, memory, bytes));
  printf("%s: %d\n", what, value);
}

static void advice(cudaStream_t stream) {
  const size_t bytes = 1 << 20;
  int *memory, by[3];
  cudaMemLocation device = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0};
  CHECK(cudaMallocManaged(&memory, bytes));
  ask("preferred", cudaMemRangeAttributePreferredLocation, memory, bytes);
  CHECK(cudaMemAdvise(memory, bytes, cudaMemAdviseSetReadMostly, device));
  CHECK(cudaMemAdvise(memory, bytes, cudaMemAdviseSetPreferredLocation, host));
  CHECK(cudaMemAdvise(memory, bytes, cudaMemAdviseSetAccessedBy, device));
  CHECK(cudaMemPrefetchAsync(memory, bytes, device, 0, stream));
  CHECK(cudaStreamSynchronize(stream));
  ask("read mostly", cudaMemRangeAttributeReadMostly, memory, bytes);
  ask("preferred", cudaMemRangeAttributePreferredLocation, memory, bytes);
  ask("prefetched", cudaMemRangeAttributeLastPrefetchLocation, memory, bytes);
  CHECK(cudaMemRangeGetAttribute(by, sizeof by, cudaMemRangeAttributeAccessedBy, memory, bytes));
  printf("accessed by: %d %d %d\n", by[0], by[1], by[2]);
  CHECK(cudaMemAdvise(memory, bytes, cudaMemAdviseUnsetReadMostly, device));
  ask("read mostly", cudaMemRangeAttributeReadMostly, memory, bytes);
  CHECK(cudaFree(memory));
}

static void objects() {
  int ended = 0;
  cudaUserObject_t object;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaUserObjectCreate(&object, &ended, count, 1, cudaUserObjectNoDestructorSync));
  CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphLaunch(exec, 0));
  CHECK(cudaDeviceSynchronize());
  printf("ended %d", ended);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaUserObjectCreate(&object, &ended, count, 2, cudaUserObjectNoDestructorSync));
  CHECK(cudaUserObjectRelease(object, 2));
  CHECK(cudaDeviceSynchronize());
  printf(", then released\n");
}

int main() {
  int *data, host[64], called = 0, value;
  size_t bytes;
  float milliseconds;
  cudaStream_t stream;
  cudaEvent_t before, after;
  for (int i = 0; i < 64; i++)
    host[i] = i;
  CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -1));
  CHECK(cudaMalloc(&data, sizeof host));
  CHECK(cudaMemset(data, 0, sizeof host));
  CHECK(cudaMemcpyToSymbol(variable, host, 64));
  CHECK(cudaEventCreate(&before));
  CHECK(cudaEventCreateWithFlags(&after, cudaEventBlockingSync));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaEventRecord(before, stream));
  add<<<1, 16, 0, stream>>>(data);
  CHECK(cudaEventRecord(after, stream));
  CHECK(cudaEventSynchronize(after));
  CHECK(cudaEventElapsedTime(&milliseconds, before, after));
  printf("time: %s\n", milliseconds >= 0 ? "passed" : "before the start");
  CHECK(cudaLaunchHostFunc(stream, count, &called));
  CHECK(cudaStreamAddCallback(stream, count_too, &called, 0));
  CHECK(cudaStreamSynchronize(stream));
  printf("called %d times\n", called);
  advice(stream);
  objects();
  cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  CHECK(cudaDeviceGetTexture1DLinearMaxWidth(&bytes, &floats, 0));
  printf("linear textures: %s\n", bytes >= 1 << 27 ? "large" : "small");
  printf("peers: %s\n", cudaGetErrorName(cudaDeviceEnablePeerAccess(0, 0)));
  cudaGetLastError();
  void *to[2] = {data, data + 32};
  const void *from[2] = {host + 32, host};
  size_t sizes[2] = {128, 128}, first[1] = {0};
  cudaMemcpyAttributes how = {};
  how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  CHECK(cudaMemcpyBatchAsync(to, from, sizes, 2, &how, first, 1, stream));
  CHECK(cudaMemcpyAsync(host, data, sizeof host, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  printf("batch: %d %d\n", host[0], host[63]);
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, add, 256, 0));
  printf("blocks: %d\n", value);
  int changed[4] = {40, 41, 42, 43}, now[4] = {};
  CHECK(cudaMemcpyToSymbol(begun, changed, sizeof changed));
  CHECK(cudaMemcpyToSymbol(variable, changed, sizeof changed));
  CHECK(cudaDeviceReset());
  CHECK(cudaMemcpyFromSymbol(now, begun, sizeof now));
  printf("variables after a reset: %d %d %d %d,", now[0], now[1], now[2], now[3]);
  CHECK(cudaMemcpyFromSymbol(now, variable, sizeof now));
  printf(" %d\n", now[3]);
}
