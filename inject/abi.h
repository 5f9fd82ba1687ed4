/* inject: what programs and the CUDA driver agree on, as far as it is needed here. Handles are
 * pointers to what only the driver knows; results are 0 or a number of an error. */
#ifndef INJECT_ABI_H
#define INJECT_ABI_H

#include <stddef.h>
#include <stdint.h>

enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_NOT_FOUND = 500,
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2,
  CU_GRAPH_NODE_TYPE_KERNEL = 0,
  CU_JIT_INPUT_PTX = 1,
  CU_JIT_INPUT_FATBINARY = 2,
  CU_STREAM_CAPTURE_STATUS_NONE = 0,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2,
  CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
};

/* The default stream of a thread. */
#define CU_STREAM_PER_THREAD ((void *)(uintptr_t)2)

/* What nvcc puts around a fat binary. */
enum { CU_FATBIN_WRAPPER_MAGIC = 0x466243b1 };
typedef struct cu_fatbin_wrapper {
  int32_t magic;
  int32_t version; /* 1: module is all; 2: it is to be linked with others */
  const void *module;
  void *more;
} cu_fatbin_wrapper;

typedef struct cu_launch_attribute {
  int id;
  int unused;
  union {
    int cooperative;
    char all[64];
  };
} cu_launch_attribute;

typedef struct cu_launch_config {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void *stream;
  const cu_launch_attribute *attributes;
  unsigned attribute_count;
} cu_launch_config;

/* CUDA_KERNEL_NODE_PARAMS of CUDA 12 and later; that of CUDA 11 ends before kernel. */
typedef struct cu_kernel_node {
  void *function;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void **parameters, **extra;
  void *kernel; /* where function is NULL */
  void *context;
} cu_kernel_node;
#define CU_KERNEL_NODE_V1_BYTES offsetof(cu_kernel_node, kernel)

typedef struct cu_node {
  int type;
  int reserved[3];
  union {
    cu_kernel_node kernel;
    long long all[29];
  };
  long long reserved_end;
} cu_node;

#endif
