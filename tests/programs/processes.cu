// Memory, an event and a memory pool of one process that another one uses.
#include "check.h"
#include <sys/socket.h>
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
  cudaMemPoolPtrExportData pooled;
};

// A message with the descriptor of a file, which the kernel copies to the other process.
struct envelope {
  message content;
  iovec part = {&content, sizeof content};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header = {NULL, 0, &part, 1, control, sizeof control, 0};
};

static void take(int from) {
  envelope envelope;
  int *data, descriptor;
  cudaEvent_t event;
  if (recvmsg(from, &envelope.header, 0) != sizeof(message))
    _exit(1);
  const message &got = envelope.content;
  memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&envelope.header)), sizeof descriptor);
  CHECK(cudaIpcOpenMemHandle((void **)&data, got.memory, cudaIpcMemLazyEnablePeerAccess));
  CHECK(cudaIpcOpenEventHandle(&event, got.event));
  CHECK(cudaEventSynchronize(event));
  twice<<<(N + 255) / 256, 256>>>(data, N);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaIpcCloseMemHandle(data));
  cudaMemPool_t pool;
  CHECK(cudaMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)descriptor, cudaMemHandleTypePosixFileDescriptor, 0));
  CHECK(cudaMemPoolImportPointer((void **)&data, pool, &envelope.content.pooled));
  twice<<<(N + 255) / 256, 256>>>(data, N);
  CHECK(cudaFreeAsync(data, 0));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaEventDestroy(event));
  printf("taken\n");
  fflush(stdout);
  _exit(0);
}

static void give(int to) {
  static int host[N];
  envelope envelope;
  message &made = envelope.content;
  int *data, *pooled, descriptor;
  cudaEvent_t event;
  for (int i = 0; i < N; i++)
    host[i] = i;
  CHECK(cudaMalloc(&data, sizeof host));
  CHECK(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
  CHECK(cudaEventRecord(event));
  CHECK(cudaIpcGetMemHandle(&made.memory, data));
  CHECK(cudaIpcGetEventHandle(&made.event, event));
  cudaMemPool_t pool;
  cudaMemPoolProps properties = {cudaMemAllocationTypePinned, cudaMemHandleTypePosixFileDescriptor, {cudaMemLocationTypeDevice, 0}};
  CHECK(cudaMemPoolCreate(&pool, &properties));
  CHECK(cudaMallocFromPoolAsync(&pooled, sizeof host, pool, 0));
  CHECK(cudaMemcpy(pooled, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK(cudaMemPoolExportToShareableHandle(&descriptor, pool, cudaMemHandleTypePosixFileDescriptor, 0));
  CHECK(cudaMemPoolExportPointer(&made.pooled, pooled));
  cmsghdr *control = CMSG_FIRSTHDR(&envelope.header);
  *control = {CMSG_LEN(sizeof descriptor), SOL_SOCKET, SCM_RIGHTS};
  memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
  if (sendmsg(to, &envelope.header, 0) != sizeof made)
    exit(1);
  wait(NULL);
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < N; i++)
    wrong += host[i] != 2 * i;
  CHECK(cudaMemcpy(host, pooled, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < N; i++)
    wrong += host[i] != 2 * i;
  printf("given: %d wrong\n", wrong);
  CHECK(cudaFreeAsync(pooled, 0));
  CHECK(cudaFree(data));
}

int main() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
    return 1;
  pid_t other = fork();
  if (other == 0)
    take(ends[0]);
  give(ends[1]);
  return 0;
}
