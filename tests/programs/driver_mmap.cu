// flags: -lcuda
// Virtual memory: a vector that grows in place, memory that is mapped twice, access that is taken away.
#include "driver.h"

__global__ void add(const int *a, const int *b, int *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

static CUmemAllocationProp how;
static size_t granule;

static CUmemGenericAllocationHandle map(CUdeviceptr at) {
  CUmemGenericAllocationHandle memory;
  CUmemAccessDesc access = {};
  OK(cuMemCreate(&memory, granule, &how, 0));
  OK(cuMemMap(at, granule, 0, memory, 0));
  access.location = how.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  OK(cuMemSetAccess(at, granule, &access, 1));
  return memory;
}

int main() {
  CUcontext context;
  OK(cuInit(0));
  OK(cuCtxCreate(&context, NULL, 0, 0));
  int supported = 0;
  OK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
  how.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  how.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  OK(cuMemGetAllocationGranularity(&granule, &how, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  printf("supported %d, granule %zu\n", supported, granule);

  CUdeviceptr vector;
  OK(cuMemAddressReserve(&vector, 4 * granule, 0, 0, 0));
  CUmemGenericAllocationHandle first = map(vector), second = map(vector + granule);
  int n = (int)(2 * granule / sizeof(int)), half = n / 2;
  int *host = (int *)malloc(n * sizeof(int));
  for (int i = 0; i < n; i++)
    host[i] = i;
  OK(cuMemcpyHtoD(vector, host, n * sizeof(int))); /* across both pieces */
  int *a = (int *)vector, *b = a + half - 500;
  add<<<4, 256>>>(b, b, a, 1000);
  memset(host, 0, 1000 * sizeof(int));
  OK(cuMemcpyDtoH(host, vector, 1000 * sizeof(int)));
  int wrong = 0;
  for (int i = 0; i < 1000; i++)
    wrong += host[i] != 2 * (half - 500 + i);
  printf("across two pieces: %d wrong\n", wrong);

  CUmemGenericAllocationHandle third = map(vector + 2 * granule);
  OK(cuMemsetD32(vector + 2 * granule - 400, 42, 200));
  OK(cuMemcpyDtoH(host, vector + 2 * granule - 400, 800));
  wrong = 0;
  for (int i = 0; i < 200; i++)
    wrong += host[i] != 42;
  printf("grown: %d wrong\n", wrong);

  CUdeviceptr other;
  CUmemAccessDesc access = {};
  access.location = how.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  OK(cuMemAddressReserve(&other, granule, 0, 0, 0));
  OK(cuMemMap(other, granule, 0, third, 0));
  OK(cuMemSetAccess(other, granule, &access, 1));
  OK(cuMemcpyDtoH(host, other, 400));
  printf("mapped twice: %d\n", host[0]);
  unsigned long long flags = 0;
  OK(cuMemGetAccess(&flags, &how.location, other));
  printf("access %llu\n", flags);

  OK(cuMemUnmap(other, granule));
  OK(cuMemAddressFree(other, granule));
  OK(cuMemUnmap(vector, 3 * granule));
  OK(cuMemRelease(first));
  OK(cuMemRelease(second));
  OK(cuMemRelease(third));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(vector, host, 4));
  OK(cuMemAddressFree(vector, 4 * granule));
  OK(cuCtxDestroy(context));
  return 0;
}
