/* runtime: what a CUDA program and libcudart agree on - structures, numbers and calling forms, as
 * CUDA 11, 12 and 13 have them. The sources are built once for each: CUDART_MAJOR says for which.
 */
#ifndef RT_ABI_H
#define RT_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Defines a function that programs call; it returns a cudaError. */
#define API(name, ...)                                                                             \
  int name(__VA_ARGS__);                                                                           \
  int name(__VA_ARGS__)
/* The same function under the name it has in programs built with --default-stream per-thread. */
#define PER_THREAD(name, ending)                                                                   \
  extern __typeof__(name) name##_##ending __attribute__((alias(#name)))

/* The version of CUDA: what programs are told of the runtime, and of the driver. */
enum { RT_VERSION = CUDART_MAJOR == 11 ? 11080 : CUDART_MAJOR == 12 ? 12080 : 13000 };

/* Error codes: number, name, text. */
typedef enum rt_error {
#define X(code, name, text) name = code,
#include "errors.def"
#undef X
} rt_error;

typedef struct rt_dim3 {
  unsigned x, y, z;
} rt_dim3;

typedef struct rt_pitched {
  void *pointer;
  size_t pitch, width_bytes, height;
} rt_pitched;

typedef struct rt_extent {
  size_t width, height, depth;
} rt_extent;

typedef struct rt_position {
  size_t x, y, z;
} rt_position;

typedef enum rt_direction {
  RT_HOST_TO_HOST,
  RT_HOST_TO_DEVICE,
  RT_DEVICE_TO_HOST,
  RT_DEVICE_TO_DEVICE,
  RT_DEFAULT, /* said by the pointers */
} rt_direction;

typedef struct rt_copy_3d {
  void *source_array;
  rt_position source_position;
  rt_pitched source;
  void *target_array;
  rt_position target_position;
  rt_pitched target;
  rt_extent extent;
  int direction;
} rt_copy_3d;

/* The same between devices. */
typedef struct rt_copy_3d_peer {
  void *source_array;
  rt_position source_position;
  rt_pitched source;
  int source_device;
  void *target_array;
  rt_position target_position;
  rt_pitched target;
  int target_device;
  rt_extent extent;
} rt_copy_3d_peer;

typedef struct rt_location {
  int type, number;
} rt_location;

typedef struct rt_pointer_attributes {
  int type; /* 0 unknown to CUDA, 1 host, 2 device, 3 managed */
  int device;
  void *device_pointer, *host_pointer;
#if CUDART_MAJOR >= 13
  long reserved[8];
#endif
} rt_pointer_attributes;

typedef struct rt_function_attributes {
  size_t shared_bytes, const_bytes, local_bytes;
  int most_threads, registers, ptx_version, binary_version, cache_mode;
  int most_dynamic_shared_bytes, carveout;
#if CUDART_MAJOR >= 12
  int cluster_must_be_set, cluster_width, cluster_height, cluster_depth;
  int cluster_policy, cluster_non_portable;
  int reserved[16];
#endif
} rt_function_attributes;

/* Function attributes that can be set. */
enum {
  RT_SET_DYNAMIC_SHARED = 8,
  RT_SET_CARVEOUT = 9,
  RT_SET_LARGE_CLUSTERS = 14,
  RT_SET_LAST = 15
};

typedef struct rt_launch_attribute {
  int number;
  char padding[4];
  union {
    char bytes[64];
    int cooperative;
    int programmatic; /* it may begin before the launch before it in the stream ends */
    rt_dim3 cluster;
    void *event; /* and two numbers */
  } value;
} rt_launch_attribute;

enum {
  RT_ATTRIBUTE_COOPERATIVE = 2,
  RT_ATTRIBUTE_CLUSTER = 4,
  RT_ATTRIBUTE_PROGRAMMATIC_STREAM = 6,
  RT_ATTRIBUTE_PROGRAMMATIC_EVENT = 7
};

typedef struct rt_launch_config {
  rt_dim3 grid, block;
  size_t dynamic_shared_bytes;
  void *stream;
  const rt_launch_attribute *attribute;
  unsigned attributes;
} rt_launch_config;

typedef struct rt_channel {
  int x, y, z, w, kind;
} rt_channel;

/* What a texture or surface reads and writes: cudaResourceDesc. */
enum { RT_RESOURCE_ARRAY, RT_RESOURCE_MIPMAPPED, RT_RESOURCE_LINEAR, RT_RESOURCE_PITCHED };
typedef struct rt_resource {
  int type;
  union {
    void *array;
    struct {
      void *address;
      rt_channel channel;
      size_t bytes_or_width; /* LINEAR: bytes; PITCHED: texels */
      size_t height, pitch_bytes;
    } memory;
#if CUDART_MAJOR >= 13
    int reserved[32];
  };
  unsigned flags;
#else
  };
#endif
} rt_resource;

/* How a texture is read: cudaTextureDesc. */
typedef struct rt_sampler {
  int outside[3], filter, read_mode, srgb;
  float border[4];
  int is_normalised;
  unsigned anisotropy;
  int level_filter;
  float level_bias, least_level, most_level;
  int has_no_trilinear_optimisation;
#if CUDART_MAJOR >= 13
  int is_seamless;
#endif
} rt_sampler;

/* Part of a resource, or its texels in another form: cudaResourceViewDesc. */
typedef struct rt_view {
  int format;
  size_t width, height, depth;
  unsigned first_level, last_level, first_layer, last_layer;
#if CUDART_MAJOR >= 13
  unsigned reserved[16];
#endif
} rt_view;

/* What one process hands to another: cudaIpcMemHandle_t, cudaIpcEventHandle_t. */
typedef struct rt_ipc_handle {
  char bytes[64];
} rt_ipc_handle;

/* What nvcc puts in section .nvFatBinSegment for each translation unit. */
typedef struct rt_fatbin_wrapper {
  uint32_t magic, version;
  const void *module; /* header of the fat binary module */
  void *linked;       /* version 2: more modules, of separate compilation */
} rt_fatbin_wrapper;

#define RT_FATBIN_MAGIC 0x466243B1u

/* The number of the device, of 16 bytes. */
#define RT_UUID "bankfold-device"

/* Fields of the device properties: in both versions, in CUDA 12 only, in CUDA 13 only. */
#define RT_PROPERTIES(BOTH, OLD, NEW)                                                              \
  BOTH(char, name, [256])                                                                          \
  BOTH(unsigned char, uuid, [16])                                                                  \
  BOTH(char, luid, [8])                                                                            \
  BOTH(unsigned, luidDeviceNodeMask, )                                                             \
  BOTH(size_t, totalGlobalMem, )                                                                   \
  BOTH(size_t, sharedMemPerBlock, )                                                                \
  BOTH(int, regsPerBlock, )                                                                        \
  BOTH(int, warpSize, )                                                                            \
  BOTH(size_t, memPitch, )                                                                         \
  BOTH(int, maxThreadsPerBlock, )                                                                  \
  BOTH(int, maxThreadsDim, [3])                                                                    \
  BOTH(int, maxGridSize, [3])                                                                      \
  OLD(int, clockRate, )                                                                            \
  BOTH(size_t, totalConstMem, )                                                                    \
  BOTH(int, major, )                                                                               \
  BOTH(int, minor, )                                                                               \
  BOTH(size_t, textureAlignment, )                                                                 \
  BOTH(size_t, texturePitchAlignment, )                                                            \
  OLD(int, deviceOverlap, )                                                                        \
  BOTH(int, multiProcessorCount, )                                                                 \
  OLD(int, kernelExecTimeoutEnabled, )                                                             \
  BOTH(int, integrated, )                                                                          \
  BOTH(int, canMapHostMemory, )                                                                    \
  OLD(int, computeMode, )                                                                          \
  BOTH(int, maxTexture1D, )                                                                        \
  BOTH(int, maxTexture1DMipmap, )                                                                  \
  OLD(int, maxTexture1DLinear, )                                                                   \
  BOTH(int, maxTexture2D, [2])                                                                     \
  BOTH(int, maxTexture2DMipmap, [2])                                                               \
  BOTH(int, maxTexture2DLinear, [3])                                                               \
  BOTH(int, maxTexture2DGather, [2])                                                               \
  BOTH(int, maxTexture3D, [3])                                                                     \
  BOTH(int, maxTexture3DAlt, [3])                                                                  \
  BOTH(int, maxTextureCubemap, )                                                                   \
  BOTH(int, maxTexture1DLayered, [2])                                                              \
  BOTH(int, maxTexture2DLayered, [3])                                                              \
  BOTH(int, maxTextureCubemapLayered, [2])                                                         \
  BOTH(int, maxSurface1D, )                                                                        \
  BOTH(int, maxSurface2D, [2])                                                                     \
  BOTH(int, maxSurface3D, [3])                                                                     \
  BOTH(int, maxSurface1DLayered, [2])                                                              \
  BOTH(int, maxSurface2DLayered, [3])                                                              \
  BOTH(int, maxSurfaceCubemap, )                                                                   \
  BOTH(int, maxSurfaceCubemapLayered, [2])                                                         \
  BOTH(size_t, surfaceAlignment, )                                                                 \
  BOTH(int, concurrentKernels, )                                                                   \
  BOTH(int, ECCEnabled, )                                                                          \
  BOTH(int, pciBusID, )                                                                            \
  BOTH(int, pciDeviceID, )                                                                         \
  BOTH(int, pciDomainID, )                                                                         \
  BOTH(int, tccDriver, )                                                                           \
  BOTH(int, asyncEngineCount, )                                                                    \
  BOTH(int, unifiedAddressing, )                                                                   \
  OLD(int, memoryClockRate, )                                                                      \
  BOTH(int, memoryBusWidth, )                                                                      \
  BOTH(int, l2CacheSize, )                                                                         \
  BOTH(int, persistingL2CacheMaxSize, )                                                            \
  BOTH(int, maxThreadsPerMultiProcessor, )                                                         \
  BOTH(int, streamPrioritiesSupported, )                                                           \
  BOTH(int, globalL1CacheSupported, )                                                              \
  BOTH(int, localL1CacheSupported, )                                                               \
  BOTH(size_t, sharedMemPerMultiprocessor, )                                                       \
  BOTH(int, regsPerMultiprocessor, )                                                               \
  BOTH(int, managedMemory, )                                                                       \
  BOTH(int, isMultiGpuBoard, )                                                                     \
  BOTH(int, multiGpuBoardGroupID, )                                                                \
  BOTH(int, hostNativeAtomicSupported, )                                                           \
  OLD(int, singleToDoublePrecisionPerfRatio, )                                                     \
  BOTH(int, pageableMemoryAccess, )                                                                \
  BOTH(int, concurrentManagedAccess, )                                                             \
  BOTH(int, computePreemptionSupported, )                                                          \
  BOTH(int, canUseHostPointerForRegisteredMem, )                                                   \
  BOTH(int, cooperativeLaunch, )                                                                   \
  OLD(int, cooperativeMultiDeviceLaunch, )                                                         \
  BOTH(size_t, sharedMemPerBlockOptin, )                                                           \
  BOTH(int, pageableMemoryAccessUsesHostPageTables, )                                              \
  BOTH(int, directManagedMemAccessFromHost, )                                                      \
  BOTH(int, maxBlocksPerMultiProcessor, )                                                          \
  BOTH(int, accessPolicyMaxWindowSize, )                                                           \
  BOTH(size_t, reservedSharedMemPerBlock, )                                                        \
  BOTH(int, hostRegisterSupported, )                                                               \
  BOTH(int, sparseCudaArraySupported, )                                                            \
  BOTH(int, hostRegisterReadOnlySupported, )                                                       \
  BOTH(int, timelineSemaphoreInteropSupported, )                                                   \
  BOTH(int, memoryPoolsSupported, )                                                                \
  BOTH(int, gpuDirectRDMASupported, )                                                              \
  BOTH(unsigned, gpuDirectRDMAFlushWritesOptions, )                                                \
  BOTH(int, gpuDirectRDMAWritesOrdering, )                                                         \
  BOTH(unsigned, memoryPoolSupportedHandleTypes, )                                                 \
  BOTH(int, deferredMappingCudaArraySupported, )                                                   \
  BOTH(int, ipcEventSupported, )                                                                   \
  BOTH(int, clusterLaunch, )                                                                       \
  BOTH(int, unifiedFunctionPointers, )                                                             \
  NEW(int, deviceNumaConfig, )                                                                     \
  NEW(int, deviceNumaId, )                                                                         \
  NEW(int, mpsEnabled, )                                                                           \
  NEW(int, hostNumaId, )                                                                           \
  NEW(unsigned, gpuPciDeviceID, )                                                                  \
  NEW(unsigned, gpuPciSubsystemID, )                                                               \
  NEW(int, hostNumaMultinodeIpcSupported, )                                                        \
  NEW(int, reserved, [56])                                                                         \
  OLD(int, reserved, [63])

#define RT_FIELD(type, name, count) type name count;
#define RT_NO_FIELD(type, name, count)
typedef struct rt_properties {
#if CUDART_MAJOR >= 13
  RT_PROPERTIES(RT_FIELD, RT_NO_FIELD, RT_FIELD)
#else
  RT_PROPERTIES(RT_FIELD, RT_FIELD, RT_NO_FIELD)
#endif
} rt_properties;

#endif
