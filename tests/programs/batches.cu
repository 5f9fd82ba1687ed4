// Calls of CUDA 13 that take many ranges at once, pools by location, marks of graph memory, and how many clusters
// of blocks fit, asked by the driver's interface as by the runtime's.
// flags: -lcuda
#include "check.h"
#include <cuda.h>

__global__ void add(int *values, int by) { values[threadIdx.x] += by; }

int main() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  int *part[3];
  void *address[3];
  size_t bytes[3], first[2] = {0, 2};
  for (int i = 0; i < 3; i++) {
    CHECK(cudaMallocManaged(&part[i], 64 * sizeof(int)));
    for (int k = 0; k < 64; k++)
      part[i][k] = i * k;
    address[i] = part[i];
    bytes[i] = 64 * sizeof(int);
  }
  cudaMemLocation where[2] = {{cudaMemLocationTypeDevice, 0}, {cudaMemLocationTypeHost, 0}};
  CHECK(cudaMemPrefetchBatchAsync(address, bytes, 3, where, first, 2, 0, stream));
  for (int i = 0; i < 3; i++)
    add<<<1, 64, 0, stream>>>(part[i], 5);
  CHECK(cudaStreamSynchronize(stream));
  int wrong = 0, last[3];
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < 64; k++)
      wrong += part[i][k] != i * k + 5;
    CHECK(cudaMemRangeGetAttribute(&last[i], sizeof last[i], cudaMemRangeAttributeLastPrefetchLocation, part[i], bytes[i]));
  }
  printf("prefetched: %d wrong, to %d %d %d\n", wrong, last[0], last[1], last[2]);
  printf("no range: %s\n", cudaGetErrorName(cudaMemPrefetchBatchAsync(address, bytes, 0, where, first, 2, 0, stream)));
  CHECK(cudaMemDiscardBatchAsync(address, bytes, 3, 0, stream));
  CHECK(cudaMemDiscardAndPrefetchBatchAsync(address, bytes, 3, where, first, 2, 0, stream));

  // boxes: rows of 8 columns out of a pitched picture into an array, and back into rows of 16
  const int width = 8, height = 4;
  float *pitched, *rows;
  size_t pitch;
  cudaArray_t array;
  cudaChannelFormatDesc texels = cudaCreateChannelDesc<float>();
  CHECK(cudaMallocPitch(&pitched, &pitch, 100, height + 1));
  CHECK(cudaMallocManaged(&rows, 16 * height * sizeof *rows));
  CHECK(cudaMalloc3DArray(&array, &texels, make_cudaExtent(width + 2, height + 1, 0)));
  float picture[5][25];
  for (int i = 0; i < 125; i++)
    picture[i / 25][i % 25] = i;
  CHECK(cudaMemcpy2D(pitched, pitch, picture, 100, 100, height + 1, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(rows, 0, 16 * height * sizeof *rows));
  cudaMemcpy3DBatchOp box[2] = {};
  box[0].src.type = box[1].dst.type = cudaMemcpyOperandTypePointer;
  box[0].src.op.ptr = {pitched + 3, pitch / sizeof(float), 0, {}};
  box[0].dst.type = box[1].src.type = cudaMemcpyOperandTypeArray;
  box[0].dst.op.array = box[1].src.op.array = {array, {1, 1, 0}};
  box[1].dst.op.ptr = {rows, 16, 0, {}};
  box[0].extent = box[1].extent = make_cudaExtent(width, height, 1);
  box[0].srcAccessOrder = box[1].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  CHECK(cudaMemcpy3DBatchAsync(2, box, 0, stream));
  CHECK(cudaStreamSynchronize(stream));
  wrong = 0;
  for (int i = 0; i < 16 * height; i++)
    wrong += rows[i] != (i % 16 < width ? picture[i / 16][i % 16 + 3] : 0);
  printf("boxes: %d wrong\n", wrong);
  box[1].dst.op.ptr.ptr = NULL;
  printf("no place: %s\n", cudaGetErrorName(cudaMemcpy3DBatchAsync(2, box, 0, stream)));

  cudaMemPool_t pool, same;
  CHECK(cudaMemGetDefaultMemPool(&pool, &where[0], cudaMemAllocationTypePinned));
  CHECK(cudaDeviceGetDefaultMemPool(&same, 0));
  CHECK(cudaMemSetMemPool(&where[0], cudaMemAllocationTypePinned, pool));
  printf("pools are the same: %d\n", pool == same);
  cudaMemPoolProps kind = {};
  kind.allocType = cudaMemAllocationTypePinned;
  kind.location = where[0];
  CHECK(cudaMemPoolCreate(&same, &kind));
  CHECK(cudaDeviceSetMemPool(0, same));
  cudaMemPool_t current;
  CHECK(cudaDeviceGetMemPool(&current, 0));
  printf("the current pool is the one that was set: %d\n", current == same);
  CHECK(cudaMemPoolDestroy(current));
  CHECK(cudaDeviceGetMemPool(&current, 0));
  printf("without it, the default one: %d\n", current == pool);

  unsigned long long mark = 0;
  CHECK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &mark));
  printf("memory in use is not set: %s\n", cudaGetErrorName(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &mark)));

  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = 4;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(64);
  config.blockDim = dim3(256);
  config.attrs = &cluster;
  config.numAttrs = 1;
  CUlaunchConfig other = {};
  other.gridDimX = 64;
  other.gridDimY = other.gridDimZ = 1;
  other.blockDimX = 256;
  other.blockDimY = other.blockDimZ = 1;
  other.attrs = (CUlaunchAttribute *)&cluster;
  other.numAttrs = 1;
  int clusters, clusters_too, size, size_too;
  CUfunction function;
  CHECK(cudaGetFuncBySymbol(&function, (const void *)add));
  CHECK(cudaOccupancyMaxActiveClusters(&clusters, add, &config));
  CHECK(cudaOccupancyMaxPotentialClusterSize(&size, add, &config));
  bool is_asked = cuOccupancyMaxActiveClusters(&clusters_too, function, &other) == CUDA_SUCCESS &&
                  cuOccupancyMaxPotentialClusterSize(&size_too, function, &other) == CUDA_SUCCESS;
  printf("clusters: %d %d, of at most %d\n", is_asked, clusters > 0 && clusters == clusters_too, size == size_too ? size : -1);
}
