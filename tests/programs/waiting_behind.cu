// What a program asks for behind a kernel that waits for it is kept and done in its order: launches, copies, fills, events,
// functions and graphs. The kernel polls in several ways; memory and streams are made meanwhile, and a copy in the default
// stream ends the wait of a kernel in a stream that does not block.
#include "check.h"

__global__ void wait_for(volatile int *flag) {
  while (*flag == 0)
    ;
}

__global__ void wait_by_swapping(int *flag) {
  while (atomicCAS(flag, 1, 2) != 1)
    ;
}

__global__ void wait_by_sleeping(int *flag, int *out) {
  while (*flag == 0)
    __nanosleep(100);
  *out = 5;
}

__global__ void add(int *to, const int *from) { to[threadIdx.x] += from[threadIdx.x]; }

static int order[8], steps;
static void note(void *what) { order[steps++] = *(int *)what; }
static void note_stream(cudaStream_t, cudaError_t, void *what) { order[steps++] = *(int *)what; }

int main() {
  setenv("CUDA_MODULE_LOADING", "EAGER", 1); // else loading a kernel waits for those that run
  int *flag, *a, *b, *pinned, *more, source[32], one = 1, two = 2, three = 3;
  CHECK(cudaMallocHost(&flag, sizeof *flag));
  CHECK(cudaMallocHost(&pinned, 32 * sizeof *pinned));
  CHECK(cudaMalloc(&a, 32 * sizeof *a));
  CHECK(cudaMalloc(&b, 32 * sizeof *b));
  CHECK(cudaMemset(b, 0, 32 * sizeof *b));
  cudaStream_t stream, other, apart;
  cudaEvent_t begin, end;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&begin));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  add<<<1, 32, 0, stream>>>(a, a);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));

  *flag = 0;
  wait_for<<<1, 32, 0, stream>>>(flag);
  for (int i = 0; i < 32; i++)
    source[i] = i;
  CHECK(cudaEventRecord(begin, stream));
  CHECK(cudaMemcpyAsync(a, source, sizeof source, cudaMemcpyHostToDevice, stream));
  for (int i = 0; i < 32; i++)
    source[i] = -1; // what was there at the call is copied
  CHECK(cudaLaunchHostFunc(stream, note, &one));
  CHECK(cudaMemsetAsync(b, 1, 4, stream));
  add<<<1, 32, 0, stream>>>(a, b);
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamAddCallback(stream, note_stream, &two, 0));
  CHECK(cudaMemcpyAsync(pinned, a, 32 * sizeof *a, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(end, stream));
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  CHECK(cudaStreamWaitEvent(other, end, 0));
  CHECK(cudaLaunchHostFunc(other, note, &three));
  CHECK(cudaMalloc(&more, 1 << 20));
  printf("%d steps, stream: %s, event: %s, other: %s\n", steps, cudaGetErrorName(cudaStreamQuery(stream)),
         cudaGetErrorName(cudaEventQuery(end)), cudaGetErrorName(cudaStreamQuery(other)));
  *(volatile int *)flag = 1;
  CHECK(cudaEventSynchronize(end));
  printf("%d %d\n", pinned[0], pinned[31]);
  CHECK(cudaStreamSynchronize(other));
  printf("%d steps: %d %d %d\n", steps, order[0], order[1], order[2]);
  float milliseconds;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));

  *flag = 0;
  wait_by_swapping<<<1, 1>>>(flag);
  add<<<1, 32>>>(a, b);
  *(volatile int *)flag = 1;
  CHECK(cudaDeviceSynchronize());
  printf("flag %d\n", *flag);

  // A copy in the default stream, which a stream that does not block is apart from.
  CHECK(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
  CHECK(cudaMemset(b, 0, 8));
  wait_by_sleeping<<<1, 1, 0, apart>>>(b, b + 1);
  CHECK(cudaMemcpy(b, &one, sizeof one, cudaMemcpyHostToDevice));
  CHECK(cudaStreamSynchronize(apart));
  CHECK(cudaMemcpy(source, b, 8, cudaMemcpyDeviceToHost));
  printf("%d %d\n", source[0], source[1]);

  // One that waits behind another, and the end of the program.
  *flag = 0;
  pinned[0] = 0;
  wait_for<<<1, 32, 0, stream>>>(flag);
  wait_for<<<1, 32, 0, stream>>>(pinned);
  *(volatile int *)flag = 1;
  CHECK(cudaMemcpyAsync(a, b, 4, cudaMemcpyDeviceToDevice, stream));
  *(volatile int *)pinned = 1;
  return 0;
}
