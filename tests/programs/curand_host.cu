// cuRAND's host interface for the device: its own generators for the CPU take the place of its kernels, so that the
// numbers are those that the library gives there.
// flags: -lcurand
// needs: libcurand.so
#include "check.h"
#include <curand.h>

__global__ void sum(const unsigned *numbers, int count, unsigned *total) {
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    atomicAdd(total, numbers[i]);
}

int main() {
  constexpr int count = 1000;
  unsigned *numbers, *total, host[count], sum_of_host = 0;
  CHECK(cudaMalloc(&numbers, sizeof host));
  CHECK(cudaMallocManaged(&total, sizeof *total));
  const curandRngType_t types[] = {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_RNG_PSEUDO_MRG32K3A,
                                   CURAND_RNG_PSEUDO_MTGP32, CURAND_RNG_PSEUDO_MT19937};
  for (curandRngType_t type : types) {
    curandGenerator_t device, cpu;
    int status = curandCreateGenerator(&device, type);
    status |= curandCreateGeneratorHost(&cpu, type);
    status |= curandSetPseudoRandomGeneratorSeed(device, 42) | curandSetPseudoRandomGeneratorSeed(cpu, 42);
    status |= curandGenerate(device, numbers, count) | curandGenerate(cpu, host, count);
    *total = sum_of_host = 0;
    sum<<<1, 64>>>(numbers, count, total);
    CHECK(cudaDeviceSynchronize());
    for (unsigned number : host)
      sum_of_host += number;
    printf("%d: status %d, %s\n", type, status, *total == sum_of_host ? "the same" : "other numbers");
    float *uniform = (float *)numbers, some[count], mean = 0;
    status = curandGenerateUniform(device, uniform, count);
    CHECK(cudaMemcpy(some, uniform, sizeof some, cudaMemcpyDeviceToHost));
    for (float number : some)
      mean += number / count;
    printf("uniform: status %d, %s\n", status, mean > 0.45f && mean < 0.55f ? "mean near a half" : "another mean");
    curandDestroyGenerator(device);
    curandDestroyGenerator(cpu);
  }
  return 0;
}
