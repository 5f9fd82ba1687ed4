/* The device that programs see: there is one, and it looks like a product of the chosen machine. */
#include "context.h"

#include <string.h>
#include <unistd.h>

#define KIB(n) ((n) << 10)
#define MIB(n) (UINT64_C(n) << 20)
#define GIB(n) (UINT64_C(n) << 30)

/* Per machine one product. Sizes and limits: CUDA C++ Programming Guide, technical specifications
 * per compute capability. Multiprocessors, clocks, bus and memory: data sheets of the products. */
static const rt_device devices[] = {
    {"hopper", "NVIDIA H200", 9, 0, 132, 1980000, 3201000, 6144, GIB(141), MIB(60), KIB(228),
     KIB(48), KIB(227), 65536, 2048, 32, 1024, 2},
    {"blackwell-rtx", "NVIDIA GeForce RTX 5090", 12, 0, 170, 2407000, 14001000, 512, GIB(32),
     MIB(96), KIB(100), KIB(48), KIB(99), 65536, 1536, 24, 1024, 64},
    {"blackwell", "NVIDIA B200", 10, 0, 148, 1980000, 3906000, 8192, GIB(180), MIB(126), KIB(228),
     KIB(48), KIB(227), 65536, 2048, 32, 1024, 2},
    {"ada", "NVIDIA RTX 4090", 8, 9, 128, 2520000, 10501000, 384, GIB(24), MIB(72), KIB(100),
     KIB(48), KIB(99), 65536, 1536, 24, 1024, 64},
    {"ampere", "NVIDIA A100", 8, 0, 108, 1410000, 1215000, 5120, GIB(40), MIB(40), KIB(164),
     KIB(48), KIB(163), 65536, 2048, 32, 1024, 2},
    {"turing", "NVIDIA T4", 7, 5, 40, 1590000, 5001000, 256, GIB(16), MIB(4), KIB(64), KIB(48),
     KIB(64), 65536, 1024, 16, 1024, 32},
    {"volta", "NVIDIA V100", 7, 0, 80, 1380000, 877000, 4096, GIB(16), MIB(6), KIB(96), KIB(48),
     KIB(96), 65536, 2048, 32, 1024, 2},
    {"pascal", "NVIDIA P100", 6, 0, 56, 1480000, 715000, 4096, GIB(16), MIB(4), KIB(64), KIB(48),
     KIB(48), 65536, 2048, 32, 1024, 2},
    {"maxwell", "NVIDIA GTX 980", 5, 2, 16, 1216000, 3505000, 256, GIB(4), MIB(2), KIB(96), KIB(48),
     KIB(48), 65536, 2048, 32, 1024, 32},
    {"kepler", "NVIDIA K20", 3, 5, 13, 706000, 2600000, 320, GIB(5), KIB(1280), KIB(48), KIB(48),
     KIB(48), 65536, 2048, 16, 1024, 3},
    {"fermi", "NVIDIA GTX 580", 2, 0, 16, 1544000, 2004000, 384, MIB(1536), KIB(768), KIB(48),
     KIB(48), KIB(48), 32768, 1536, 8, 1024, 8},
    {"tesla", "NVIDIA GTX 280", 1, 3, 30, 1296000, 1107000, 512, GIB(1), 0, KIB(16), KIB(16),
     KIB(16), 16384, 1024, 8, 512, 8},
};

const rt_device *rt_device_of(const char *machine) {
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
    if (strncmp(machine, devices[i].machine, strlen(devices[i].machine)) == 0)
      return &devices[i];
  return &devices[0];
}

/* No more than this machine could give. */
uint64_t rt_memory_bytes(const rt_context *context) {
  long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  uint64_t here = pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes : UINT64_MAX;
  return here < context->device->memory_bytes ? here : context->device->memory_bytes;
}

/* Shared memory that the hardware keeps of each block. */
static int reserved_shared_bytes(const rt_device *device) { return device->major >= 8 ? 1024 : 0; }

/* ---- Properties ---- */

/* Three numbers of a property. */
static void set(int *to, int a, int b, int c) {
  to[0] = a;
  to[1] = b;
  to[2] = c;
}

/* Two numbers of a property. */
static void set_two(int *to, int a, int b) {
  to[0] = a;
  to[1] = b;
}

/* Limits of textures and surfaces, the same for all devices since compute capability 6.0. */
static void fill_textures(rt_properties *to) {
  to->textureAlignment = to->surfaceAlignment = 512;
  to->texturePitchAlignment = 32;
  to->maxTexture1D = 131072;
  to->maxTexture1DMipmap = 32768;
  set_two(to->maxTexture2D, 131072, 65536);
  set_two(to->maxTexture2DMipmap, 32768, 32768);
  set(to->maxTexture2DLinear, 131072, 65000, 2097120);
  set_two(to->maxTexture2DGather, 32768, 32768);
  set(to->maxTexture3D, 16384, 16384, 16384);
  set(to->maxTexture3DAlt, 8192, 8192, 32768);
  to->maxTextureCubemap = 32768;
  set_two(to->maxTexture1DLayered, 32768, 2048);
  set(to->maxTexture2DLayered, 32768, 32768, 2048);
  set_two(to->maxTextureCubemapLayered, 32768, 2046);
  to->maxSurface1D = 32768;
  set_two(to->maxSurface2D, 131072, 65536);
  set(to->maxSurface3D, 16384, 16384, 16384);
  set_two(to->maxSurface1DLayered, 32768, 2048);
  set(to->maxSurface2DLayered, 32768, 32768, 2048);
  to->maxSurfaceCubemap = 32768;
  set_two(to->maxSurfaceCubemapLayered, 32768, 2046);
}

/* What only CUDA 12 tells. */
static void fill_old(const rt_device *device, rt_properties *to) {
#if CUDART_MAJOR < 13
  to->clockRate = device->clock_khz;
  to->deviceOverlap = 1;
  to->maxTexture1DLinear = 268435456;
  to->memoryClockRate = device->memory_clock_khz;
  to->singleToDoublePrecisionPerfRatio = device->single_to_double;
#else
  (void)device;
  to->hostNumaId = -1;
  to->deviceNumaId = -1;
#endif
}

/* All properties, for the structure of this version of CUDA. */
static void fill_properties(const rt_context *context, rt_properties *to) {
  const rt_device *device = context->device;
  memset(to, 0, sizeof *to);
  snprintf(to->name, sizeof to->name, "%s (Bankfold)", device->product);
  memcpy(to->uuid, RT_UUID, sizeof RT_UUID);
  to->totalGlobalMem = rt_memory_bytes(context);
  to->sharedMemPerBlock = (size_t)device->shared_per_block_bytes;
  to->sharedMemPerBlockOptin = (size_t)device->shared_opt_in_bytes;
  to->sharedMemPerMultiprocessor = (size_t)device->shared_per_multiprocessor_bytes;
  to->reservedSharedMemPerBlock = (size_t)reserved_shared_bytes(device);
  to->regsPerBlock = to->regsPerMultiprocessor = device->registers;
  to->warpSize = BF_EMU_LANES;
  to->memPitch = 2147483647;
  to->maxThreadsPerBlock = device->threads_per_block;
  set(to->maxThreadsDim, device->threads_per_block, device->threads_per_block, 64);
  set(to->maxGridSize, 2147483647, 65535, 65535);
  to->totalConstMem = 65536;
  to->major = device->major;
  to->minor = device->minor;
  to->multiProcessorCount = device->multiprocessors;
  to->maxThreadsPerMultiProcessor = device->threads_per_multiprocessor;
  to->maxBlocksPerMultiProcessor = device->blocks_per_multiprocessor;
  to->memoryBusWidth = device->memory_bus_bits;
  to->l2CacheSize = (int)device->l2_bytes;
  to->asyncEngineCount = 3;
  to->pciBusID = 1;
  to->canMapHostMemory = to->concurrentKernels = to->unifiedAddressing = 1;
  to->streamPrioritiesSupported = to->globalL1CacheSupported = to->localL1CacheSupported = 1;
  to->managedMemory = to->concurrentManagedAccess = to->computePreemptionSupported = 1;
  to->canUseHostPointerForRegisteredMem = to->cooperativeLaunch = 1;
  to->hostRegisterSupported = to->memoryPoolsSupported = to->ipcEventSupported = 1;
  to->clusterLaunch = device->major >= 9;
  fill_textures(to);
  fill_old(device, to);
}

#if CUDART_MAJOR >= 13
_Static_assert(sizeof(rt_properties) == 1008, "as in CUDA 13.0");
API(cudaGetDeviceProperties, rt_properties *to, int device) {
#else
_Static_assert(sizeof(rt_properties) == 1032, "as in CUDA 12.0");
API(cudaGetDeviceProperties_v2, rt_properties *to, int device) {
#endif
  RT_ENTER_DEVICE(context);
  if (!to || device != 0)
    return rt_leave(context, to ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  fill_properties(context, to);
  return rt_leave(context, cudaSuccess);
}

#if CUDART_MAJOR < 13
/* Programs built with CUDA 11 have a structure that ends before hostRegisterSupported. */
API(cudaGetDeviceProperties, void *to, int device) {
  rt_properties properties;
  int error = cudaGetDeviceProperties_v2(to ? &properties : NULL, device);
  if (error == cudaSuccess)
    memcpy(to, &properties, offsetof(rt_properties, hostRegisterSupported));
  return error;
}
#endif

/* ---- Attributes ---- */

typedef enum attribute_kind { INT, SIZE } attribute_kind;

/* Numbers of attributes that are fields of the properties. */
#define FIELD(number, field)                                                                       \
  { number, INT, offsetof(rt_properties, field) }
#define SIZE_FIELD(number, field)                                                                  \
  { number, SIZE, offsetof(rt_properties, field) }
static const struct {
  int number;
  attribute_kind kind;
  size_t offset;
} attributes[] = {
    FIELD(1, maxThreadsPerBlock),
    FIELD(2, maxThreadsDim[0]),
    FIELD(3, maxThreadsDim[1]),
    FIELD(4, maxThreadsDim[2]),
    FIELD(5, maxGridSize[0]),
    FIELD(6, maxGridSize[1]),
    FIELD(7, maxGridSize[2]),
    SIZE_FIELD(8, sharedMemPerBlock),
    SIZE_FIELD(9, totalConstMem),
    FIELD(10, warpSize),
    SIZE_FIELD(11, memPitch),
    FIELD(12, regsPerBlock),
    SIZE_FIELD(14, textureAlignment),
    FIELD(16, multiProcessorCount),
    FIELD(18, integrated),
    FIELD(19, canMapHostMemory),
    FIELD(21, maxTexture1D),
    FIELD(22, maxTexture2D[0]),
    FIELD(23, maxTexture2D[1]),
    FIELD(24, maxTexture3D[0]),
    FIELD(25, maxTexture3D[1]),
    FIELD(26, maxTexture3D[2]),
    FIELD(27, maxTexture2DLayered[0]),
    FIELD(28, maxTexture2DLayered[1]),
    FIELD(29, maxTexture2DLayered[2]),
    SIZE_FIELD(30, surfaceAlignment),
    FIELD(31, concurrentKernels),
    FIELD(32, ECCEnabled),
    FIELD(33, pciBusID),
    FIELD(34, pciDeviceID),
    FIELD(35, tccDriver),
    FIELD(37, memoryBusWidth),
    FIELD(38, l2CacheSize),
    FIELD(39, maxThreadsPerMultiProcessor),
    FIELD(40, asyncEngineCount),
    FIELD(41, unifiedAddressing),
    FIELD(42, maxTexture1DLayered[0]),
    FIELD(43, maxTexture1DLayered[1]),
    FIELD(45, maxTexture2DGather[0]),
    FIELD(46, maxTexture2DGather[1]),
    FIELD(47, maxTexture3DAlt[0]),
    FIELD(48, maxTexture3DAlt[1]),
    FIELD(49, maxTexture3DAlt[2]),
    FIELD(50, pciDomainID),
    SIZE_FIELD(51, texturePitchAlignment),
    FIELD(52, maxTextureCubemap),
    FIELD(53, maxTextureCubemapLayered[0]),
    FIELD(54, maxTextureCubemapLayered[1]),
    FIELD(55, maxSurface1D),
    FIELD(56, maxSurface2D[0]),
    FIELD(57, maxSurface2D[1]),
    FIELD(58, maxSurface3D[0]),
    FIELD(59, maxSurface3D[1]),
    FIELD(60, maxSurface3D[2]),
    FIELD(61, maxSurface1DLayered[0]),
    FIELD(62, maxSurface1DLayered[1]),
    FIELD(63, maxSurface2DLayered[0]),
    FIELD(64, maxSurface2DLayered[1]),
    FIELD(65, maxSurface2DLayered[2]),
    FIELD(66, maxSurfaceCubemap),
    FIELD(67, maxSurfaceCubemapLayered[0]),
    FIELD(68, maxSurfaceCubemapLayered[1]),
    FIELD(70, maxTexture2DLinear[0]),
    FIELD(71, maxTexture2DLinear[1]),
    FIELD(72, maxTexture2DLinear[2]),
    FIELD(73, maxTexture2DMipmap[0]),
    FIELD(74, maxTexture2DMipmap[1]),
    FIELD(75, major),
    FIELD(76, minor),
    FIELD(77, maxTexture1DMipmap),
    FIELD(78, streamPrioritiesSupported),
    FIELD(79, globalL1CacheSupported),
    FIELD(80, localL1CacheSupported),
    SIZE_FIELD(81, sharedMemPerMultiprocessor),
    FIELD(82, regsPerMultiprocessor),
    FIELD(83, managedMemory),
    FIELD(84, isMultiGpuBoard),
    FIELD(85, multiGpuBoardGroupID),
    FIELD(86, hostNativeAtomicSupported),
    FIELD(88, pageableMemoryAccess),
    FIELD(89, concurrentManagedAccess),
    FIELD(90, computePreemptionSupported),
    FIELD(91, canUseHostPointerForRegisteredMem),
    FIELD(95, cooperativeLaunch),
    SIZE_FIELD(97, sharedMemPerBlockOptin),
    FIELD(99, hostRegisterSupported),
    FIELD(100, pageableMemoryAccessUsesHostPageTables),
    FIELD(101, directManagedMemAccessFromHost),
    FIELD(106, maxBlocksPerMultiProcessor),
    FIELD(108, persistingL2CacheMaxSize),
    FIELD(109, accessPolicyMaxWindowSize),
    SIZE_FIELD(111, reservedSharedMemPerBlock),
    FIELD(112, sparseCudaArraySupported),
    FIELD(113, hostRegisterReadOnlySupported),
    FIELD(114, timelineSemaphoreInteropSupported),
    FIELD(115, memoryPoolsSupported),
    FIELD(116, gpuDirectRDMASupported),
    FIELD(117, gpuDirectRDMAFlushWritesOptions),
    FIELD(118, gpuDirectRDMAWritesOrdering),
    FIELD(119, memoryPoolSupportedHandleTypes),
    FIELD(120, clusterLaunch),
    FIELD(121, deferredMappingCudaArraySupported),
    FIELD(125, ipcEventSupported),
};

/* Attributes that are no properties in every version. */
static bool other_attribute(const rt_device *device, int number, int *value) {
  switch (number) {
  case 13:
    *value = device->clock_khz;
    return true;
  case 15: /* copies overlap with kernels */
    *value = 1;
    return true;
  case 36:
    *value = device->memory_clock_khz;
    return true;
  case 69: /* linear textures of one dimension */
    *value = 268435456;
    return true;
  case 87:
    *value = device->single_to_double;
    return true;
  default:
    *value = 0;
    return number > 0 && number < 148;
  }
}

int rt_device_attribute(const rt_context *context, int attribute, uint64_t *value) {
  rt_properties properties;
  fill_properties(context, &properties);
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
    const void *field = (const char *)&properties + attributes[i].offset;
    if (attributes[i].number != attribute)
      continue;
    *value = attributes[i].kind == SIZE ? *(const size_t *)field : (uint64_t) * (const int *)field;
    return cudaSuccess;
  }
  int other = 0;
  bool known = other_attribute(context->device, attribute, &other);
  *value = (uint64_t)other;
  return known ? cudaSuccess : cudaErrorInvalidValue;
}

API(cudaDeviceGetAttribute, int *value, int attribute, int device) {
  RT_ENTER_DEVICE(context);
  uint64_t found;
  if (!value || device != 0)
    return rt_leave(context, value ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  int error = rt_device_attribute(context, attribute, &found);
  if (error == cudaSuccess)
    *value = (int)found;
  return rt_leave(context, error);
}

/* ---- Choosing a device ---- */

API(cudaGetDeviceCount, int *count) {
  RT_ENTER(context);
  if (!count)
    return rt_leave(context, cudaErrorInvalidValue);
  *count = 1;
  return rt_leave(context, cudaSuccess);
}

API(cudaGetDevice, int *device) {
  RT_ENTER(context);
  if (!device)
    return rt_leave(context, cudaErrorInvalidValue);
  *device = 0;
  return rt_leave(context, cudaSuccess);
}

API(cudaSetDevice, int device) {
  RT_ENTER_DEVICE(context);
  return rt_leave(context, device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

API(cudaInitDevice, int device, unsigned device_flags, unsigned flags) {
  RT_ENTER_DEVICE(context);
  (void)flags;
  context->device_flags = device_flags;
  return rt_leave(context, device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

API(cudaChooseDevice, int *device, const rt_properties *wanted) {
  RT_ENTER(context);
  if (!device || !wanted)
    return rt_leave(context, cudaErrorInvalidValue);
  *device = 0;
  return rt_leave(context, cudaSuccess);
}

API(cudaSetValidDevices, const int *devices_wanted, int count) {
  RT_ENTER(context);
  for (int i = 0; i < count; i++)
    if (!devices_wanted || devices_wanted[i] != 0)
      return rt_leave(context, cudaErrorInvalidDevice);
  return rt_leave(context, cudaSuccess);
}

API(cudaSetDeviceFlags, unsigned flags) {
  enum { KNOWN_FLAGS = 0xff }; /* cudaDeviceMask */
  RT_ENTER(context);
  if (flags & ~(unsigned)KNOWN_FLAGS)
    return rt_leave(context, cudaErrorInvalidValue);
  context->device_flags = flags;
  return rt_leave(context, cudaSuccess);
}

API(cudaGetDeviceFlags, unsigned *flags) {
  RT_ENTER(context);
  if (!flags)
    return rt_leave(context, cudaErrorInvalidValue);
  *flags = context->device_flags;
  return rt_leave(context, cudaSuccess);
}

API(cudaDeviceGetPCIBusId, char *text, int bytes, int device) {
  RT_ENTER(context);
  if (!text || bytes < 13 || device != 0)
    return rt_leave(context, text && bytes >= 13 ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  snprintf(text, (size_t)bytes, "0000:01:00.0");
  return rt_leave(context, cudaSuccess);
}

API(cudaDeviceGetByPCIBusId, int *device, const char *text) {
  RT_ENTER(context);
  if (!device || !text)
    return rt_leave(context, cudaErrorInvalidValue);
  *device = 0;
  return rt_leave(context, strstr(text, "01:00") ? cudaSuccess : cudaErrorInvalidDevice);
}

API(cudaDeviceGetStreamPriorityRange, int *least, int *greatest) {
  RT_ENTER(context);
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
  return rt_leave(context, cudaSuccess);
}

/* ---- One device only: peers ---- */

API(cudaDeviceCanAccessPeer, int *can, int device, int peer) {
  RT_ENTER(context);
  if (!can)
    return rt_leave(context, cudaErrorInvalidValue);
  *can = 0;
  return rt_leave(context, device == 0 && peer == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

API(cudaDeviceEnablePeerAccess, int peer, unsigned flags) {
  RT_ENTER(context);
  (void)flags; /* there is no other device, and none is its own peer */
  return rt_leave(context, peer == 0 ? cudaErrorPeerAccessUnsupported : cudaErrorInvalidDevice);
}

API(cudaDeviceDisablePeerAccess, int peer) {
  RT_ENTER(context);
  return rt_leave(context, peer == 0 ? cudaErrorPeerAccessNotEnabled : cudaErrorInvalidDevice);
}

/* What two devices can do together; there are no two. */
API(cudaDeviceGetP2PAttribute, int *value, int attribute, int from, int to) {
  RT_ENTER(context);
  if (!value || attribute < 1 || attribute > 4)
    return rt_leave(context, cudaErrorInvalidValue);
  *value = 0;
  return rt_leave(context, from == 0 && to == 0 ? cudaErrorInvalidValue : cudaErrorInvalidDevice);
}

/* ---- Limits and preferences ---- */

/* Stack, printf buffer, heap of kernels, depth and number of nested launches, L2 granularity and
 * persisting bytes: as a new context has them. */
static const size_t default_limit[] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};
enum { LIMITS = sizeof default_limit / sizeof *default_limit };

API(cudaDeviceSetLimit, int limit, size_t value) {
  RT_ENTER(context);
  if (limit < 0 || limit >= LIMITS)
    return rt_leave(context, cudaErrorUnsupportedLimit);
  if (limit == RT_HEAP_LIMIT && bf_emu_has_heap(context->emu))
    return rt_leave(context, cudaErrorInvalidValue); /* as an H200 says */
  context->limit[limit] = value;
  return rt_leave(context, cudaSuccess);
}

int rt_device_limit(const rt_context *context, int limit, uint64_t *value) {
  if (limit < 0 || limit >= LIMITS)
    return cudaErrorUnsupportedLimit;
  *value = context->limit[limit] ? context->limit[limit] : default_limit[limit];
  return cudaSuccess;
}

API(cudaDeviceGetLimit, size_t *value, int limit) {
  RT_ENTER(context);
  uint64_t found;
  int error = rt_device_limit(context, limit, &found);
  if (error == cudaSuccess && !value)
    error = cudaErrorInvalidValue;
  if (error == cudaSuccess)
    *value = found;
  return rt_leave(context, error);
}

API(cudaDeviceSetCacheConfig, int config) {
  RT_ENTER(context);
  if (config < 0 || config > 3)
    return rt_leave(context, cudaErrorInvalidValue);
  context->cache_config = config;
  return rt_leave(context, cudaSuccess);
}

API(cudaDeviceGetCacheConfig, int *config) {
  RT_ENTER(context);
  if (!config)
    return rt_leave(context, cudaErrorInvalidValue);
  *config = context->cache_config;
  return rt_leave(context, cudaSuccess);
}

/* Banks of 4 bytes (1), whatever is asked for, as on every device since Maxwell. */
API(cudaDeviceSetSharedMemConfig, int config) {
  RT_ENTER(context);
  return rt_leave(context, config < 0 || config > 2 ? cudaErrorInvalidValue : cudaSuccess);
}

API(cudaDeviceGetSharedMemConfig, int *config) {
  RT_ENTER(context);
  if (!config)
    return rt_leave(context, cudaErrorInvalidValue);
  *config = 1;
  return rt_leave(context, cudaSuccess);
}

API(cudaDeviceGetTexture1DLinearMaxWidth, size_t *texels, const rt_channel *channel, int device) {
  RT_ENTER(context);
  int bits = channel ? channel->x + channel->y + channel->z + channel->w : 0;
  if (!texels || bits < 8 || device != 0)
    return rt_leave(context, texels && bits >= 8 ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  *texels = 268435456;
  return rt_leave(context, cudaSuccess);
}

/* Nothing is written by anybody else. */
API(cudaDeviceFlushGPUDirectRDMAWrites, int target, int scope) {
  RT_ENTER(context);
  (void)target;
  (void)scope;
  return rt_leave(context, cudaSuccess);
}

API(cudaCtxResetPersistingL2Cache, void) {
  RT_ENTER(context);
  return rt_leave(context, cudaSuccess);
}

API(cudaDeviceSynchronize, void) {
  RT_SYNCHRONISE(context);
  return rt_leave(context, cudaSuccess);
}

#if CUDART_MAJOR < 13
extern __typeof__(cudaDeviceSynchronize) cudaThreadSynchronize
    __attribute__((alias("cudaDeviceSynchronize")));
extern __typeof__(cudaDeviceSetLimit) cudaThreadSetLimit
    __attribute__((alias("cudaDeviceSetLimit")));
extern __typeof__(cudaDeviceGetLimit) cudaThreadGetLimit
    __attribute__((alias("cudaDeviceGetLimit")));
extern __typeof__(cudaDeviceSetCacheConfig) cudaThreadSetCacheConfig
    __attribute__((alias("cudaDeviceSetCacheConfig")));
extern __typeof__(cudaDeviceGetCacheConfig) cudaThreadGetCacheConfig
    __attribute__((alias("cudaDeviceGetCacheConfig")));
#endif
