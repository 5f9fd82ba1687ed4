// Strings, bytes and bits on the device: a search, a checksum, and words that are counted.
#include "check.h"

#include <cstring>

__constant__ char pattern[8] = "bank";

__global__ void find(const char *text, int n, int *first, int *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 4 > n)
    return;
  for (int k = 0; k < 4; k++)
    if (text[i + k] != pattern[k])
      return;
  atomicAdd(count, 1);
  atomicMin(first, i);
}

__global__ void checksum(const unsigned char *text, int n, unsigned *out) {
  unsigned crc = ~0u;
  for (int i = 0; i < n; i++) {
    crc ^= text[i];
    for (int bit = 0; bit < 8; bit++)
      crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  out[threadIdx.x] = ~crc;
}

__global__ void bits(const unsigned *in, unsigned *out) {
  unsigned x = in[threadIdx.x];
  out[threadIdx.x] = __popc(x) + 100 * __clz(x) + 10000 * __ffs(x) + (__brev(x) >> 28) * 1000000u +
                     (__byte_perm(x, 0, 0x0123) & 15) * 100000000u;
}

int main() {
  const char *text = "a bank of banks beside the river bank, embankment";
  int n = (int)strlen(text), first = n, count = 0, *dfirst, *dcount;
  char *device;
  unsigned *sums, sum[32];
  CHECK(cudaMalloc(&device, n));
  CHECK(cudaMalloc(&dfirst, 4));
  CHECK(cudaMalloc(&dcount, 4));
  CHECK(cudaMalloc(&sums, sizeof sum));
  CHECK(cudaMemcpy(device, text, n, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dfirst, &first, 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dcount, &count, 4, cudaMemcpyHostToDevice));
  find<<<2, 32>>>(device, n, dfirst, dcount);
  CHECK(cudaMemcpy(&first, dfirst, 4, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(&count, dcount, 4, cudaMemcpyDeviceToHost));
  printf("first at %d, %d in all\n", first, count);
  CHECK(cudaMemcpy(device, "123456789", 9, cudaMemcpyHostToDevice));
  checksum<<<1, 32>>>((const unsigned char *)device, 9, sums);
  CHECK(cudaMemcpy(sum, sums, sizeof sum, cudaMemcpyDeviceToHost));
  printf("checksum %08x\n", sum[31]);
  unsigned in[32] = {0x00f0a501, 0x80000000, 1, 0xffffffff}, *din;
  CHECK(cudaMalloc(&din, sizeof in));
  CHECK(cudaMemcpy(din, in, sizeof in, cudaMemcpyHostToDevice));
  bits<<<1, 32>>>(din, sums);
  CHECK(cudaMemcpy(sum, sums, sizeof sum, cudaMemcpyDeviceToHost));
  printf("%u %u %u %u\n", sum[0], sum[1], sum[2], sum[3]);
  return 0;
}
