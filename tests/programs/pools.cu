// Pools count what came from them: bytes in use, the most there were, bounds; one that was destroyed serves its memory on.
// flags: -cudart shared -arch=sm_90
#include "check.h"

static unsigned long long number(cudaMemPool_t pool, cudaMemPoolAttr attribute) {
  unsigned long long value = 0;
  CHECK(cudaMemPoolGetAttribute(pool, attribute, &value));
  return value;
}

static void show(const char *when, cudaMemPool_t pool) {
  printf("%s: used %llu, most %llu, reserved %llu, most %llu\n", when, number(pool, cudaMemPoolAttrUsedMemCurrent),
         number(pool, cudaMemPoolAttrUsedMemHigh), number(pool, cudaMemPoolAttrReservedMemCurrent),
         number(pool, cudaMemPoolAttrReservedMemHigh));
}

int main() {
  cudaMemPool_t own, device;
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.maxSize = 1 << 20;
  CHECK(cudaMemPoolCreate(&own, &properties));
  CHECK(cudaDeviceGetDefaultMemPool(&device, 0));
  void *first, *second, *third, *other;
  CHECK(cudaMallocFromPoolAsync(&first, 512 << 10, own, 0));
  CHECK(cudaMallocFromPoolAsync(&second, 256 << 10, own, 0));
  CHECK(cudaMallocAsync(&other, 40 << 20, 0));
  show("own", own);
  show("device's", device);
  printf("too much: %s\n", cudaGetErrorName(cudaMallocFromPoolAsync(&third, 512 << 10, own, 0)));
  CHECK(cudaFreeAsync(first, 0));
  CHECK(cudaFree(second));
  unsigned long long nothing = 0, much = 64 << 20;
  CHECK(cudaMemPoolSetAttribute(device, cudaMemPoolAttrReleaseThreshold, &much));
  CHECK(cudaFreeAsync(other, 0));
  CHECK(cudaDeviceSynchronize());
  show("own", own);
  show("device's", device);
  CHECK(cudaMemPoolSetAttribute(own, cudaMemPoolAttrUsedMemHigh, &nothing));
  CHECK(cudaMemPoolSetAttribute(own, cudaMemPoolAttrReservedMemHigh, &nothing));
  CHECK(cudaMemPoolTrimTo(device, 0));
  show("own", own);
  show("device's", device);
  printf("a mark: %s\n", cudaGetErrorName(cudaMemPoolSetAttribute(own, cudaMemPoolAttrUsedMemHigh, &much)));
  int reuse = 0;
  CHECK(cudaMemPoolSetAttribute(own, cudaMemPoolReuseAllowOpportunistic, &reuse));
  reuse = 1;
  CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolReuseAllowOpportunistic, &reuse));
  printf("reuse %d\n", reuse);
  CHECK(cudaMallocFromPoolAsync(&first, 1000, own, 0));
  CHECK(cudaMemPoolDestroy(own));
  CHECK(cudaMemset(first, 7, 1000));
  CHECK(cudaFreeAsync(first, 0));
  CHECK(cudaDeviceSynchronize());
}
