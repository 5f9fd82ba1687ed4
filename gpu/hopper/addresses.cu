// What addresses of shared memory look like in a cluster, and which of them reach whom, as lines of text:
//   nvcc -std=c++17 -O2 -arch=sm_90a -o addresses addresses.cu && ./addresses
// own: cvta of a variable; mapa: of every rank, 32 and 64 bits; then what loads of shared::cta and shared::cluster find at the
// own address, at the own one without the rank, at that with bit 24 cleared, and at the neighbour's. A block's word is 100 +
// its rank; 1000 stands for a load that was not tried. Each load is a launch of its own: one that faults is printed as error.
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>

enum { BLOCKS = 4, NUMBERS = 16 };

static __device__ uint32_t load_own(uint32_t at) {
  uint32_t value;
  asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(value) : "r"(at) : "memory");
  return value;
}

static __device__ uint32_t load_any(uint32_t at) {
  uint32_t value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(at) : "memory");
  return value;
}

static __device__ uint32_t rank() {
  uint32_t own;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(own));
  return own;
}

static __device__ void meet() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__global__ void __cluster_dims__(BLOCKS, 1, 1) name(uint64_t *out) {
  __shared__ uint32_t word;
  uint32_t own = (uint32_t)__cvta_generic_to_shared(&word);
  uint64_t *to = out + blockIdx.x * NUMBERS;
  word = 100 + rank();
  meet();
  to[0] = rank();
  to[1] = own;
  to[2] = (uint64_t)(uintptr_t)&word;
  for (uint32_t i = 0; i < BLOCKS; i++) {
    uint32_t small;
    uint64_t large;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(small) : "r"(own), "r"(i));
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(large) : "l"((uint64_t)(uintptr_t)&word), "r"(i));
    to[3 + i] = small;
    to[3 + BLOCKS + i] = large - to[2];
  }
  uint32_t found;
  asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(found) : "r"(own));
  to[11] = found;
  asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(found) : "r"(own & 0xffffff));
  to[12] = found;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(found) : "r"(own & 0xffffff), "r"(2));
  to[13] = found;
  meet();
}

__global__ void __cluster_dims__(BLOCKS, 1, 1) find(uint64_t *out, int which) {
  __shared__ uint32_t word;
  uint32_t own = (uint32_t)__cvta_generic_to_shared(&word), other;
  word = 100 + rank();
  meet();
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(own), "r"((rank() + 1) % BLOCKS));
  uint32_t at = which / 2 == 0 ? own : which / 2 == 1 ? own & 0xffffff : which / 2 == 2 ? own & 0xfeffffff : other;
  out[blockIdx.x] = which % 2 ? load_any(at) : load_own(at);
  meet();
}

static void print_found(uint64_t *out) {
  static const char *what[] = {"own", "without rank", "bit 24 cleared", "neighbour"};
  for (int i = 0; i < 8; i++) {
    for (int j = 0; j < BLOCKS; j++)
      out[j] = 1000;
    find<<<BLOCKS, 1>>>(out, i);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s at %s:", i % 2 ? "shared::cluster" : "shared::cta", what[i / 2]);
    for (int j = 0; j < BLOCKS && !error; j++)
      printf(" %llu", (unsigned long long)out[j]);
    printf("%s\n", error ? cudaGetErrorName(error) : "");
    if (error)
      return;
  }
}

int main() {
  uint64_t *out;
  if (cudaMallocManaged(&out, BLOCKS * NUMBERS * 8) != cudaSuccess)
    return 1;
  name<<<BLOCKS, 1>>>(out);
  if (cudaDeviceSynchronize() != cudaSuccess)
    return 1;
  for (int i = 0; i < BLOCKS; i++) {
    const uint64_t *from = out + i * NUMBERS;
    printf("rank %llu own %llx mapa", (unsigned long long)from[0], (unsigned long long)from[1]);
    for (int j = 3; j < 7; j++)
      printf(" %llx", (unsigned long long)from[j]);
    printf(" generic: own ..%06llx, mapa", (unsigned long long)(from[2] & 0xffffff));
    for (int j = 7; j < 11; j++)
      printf(" %+lld", (long long)from[j] / (1 << 20));
    printf(" MB; rank of own %llu, without rank %llu; mapa of that to 2: %llx\n", (unsigned long long)from[11],
           (unsigned long long)from[12], (unsigned long long)from[13]);
  }
  print_found(out);
  return 0;
}
