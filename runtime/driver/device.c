/* The device: there is one, which the runtime describes. */
#include "driver.h"

#include <string.h>

/* CUDA_SUCCESS for the one device there is, where to is not NULL. */
static int check(const void *to, int device) {
  DR_CHECK_ON();
  return !to ? CUDA_ERROR_INVALID_VALUE : device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

API(cuDeviceGet, int *device, int number) {
  int error = check(device, number);
  if (!error)
    *device = 0;
  return error;
}

API(cuDeviceGetCount, int *count) {
  int error = check(count, 0);
  if (!error)
    *count = 1;
  return error;
}

/* Attributes that the driver has and the runtime does not: virtual memory, and handles of it that
 * are descriptors of files. */
enum { VIRTUAL_MEMORY = 102, HANDLE_IS_DESCRIPTOR = 103, ATTRIBUTES = 148 };

API(cuDeviceGetAttribute, int *value, int attribute, int device) {
  int error = check(value, device);
  if (error)
    return error;
  if (attribute == VIRTUAL_MEMORY || attribute == HANDLE_IS_DESCRIPTOR) {
    *value = 1;
    return CUDA_SUCCESS;
  }
  return dr_result(cudaDeviceGetAttribute(value, attribute, device));
}

API(cuDeviceGetName, char *name, int bytes, int device) {
  int error = check(name, device);
  if (error || bytes <= 0)
    return error ? error : CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  snprintf(name, (size_t)bytes, "%s (Bankfold)", context->device->product);
  return rt_leave(context, CUDA_SUCCESS);
}

API(cuDeviceGetUuid_v2, void *number, int device) {
  int error = check(number, device);
  if (!error)
    memcpy(number, RT_UUID, 16);
  return error;
}
DR_ALIAS(cuDeviceGetUuid_v2, cuDeviceGetUuid);

API(cuDeviceTotalMem_v2, size_t *bytes, int device) {
  int error = check(bytes, device);
  if (error)
    return error;
  rt_context *context = rt_enter();
  *bytes = rt_memory_bytes(context);
  return rt_leave(context, CUDA_SUCCESS);
}

/* The value of an attribute that is there. */
static int get(int attribute) {
  int value = 0;
  cudaDeviceGetAttribute(&value, attribute, 0);
  return value;
}

API(cuDeviceComputeCapability, int *major, int *minor, int device) {
  int error = check(minor, device);
  if (error || !major)
    return error ? error : CUDA_ERROR_INVALID_VALUE;
  *major = get(75);
  *minor = get(76);
  return CUDA_SUCCESS;
}

/* What CUDA 2 told of a device: CUdevprop. */
typedef struct properties {
  int threads_per_block, block[3], grid[3], shared_bytes, constant_bytes, warp;
  int pitch, registers, clock_khz, texture_alignment;
} properties;

API(cuDeviceGetProperties, properties *to, int device) {
  int error = check(to, device);
  if (error)
    return error;
  *to = (properties){get(1),
                     {get(2), get(3), get(4)},
                     {get(5), get(6), get(7)},
                     get(8),
                     get(9),
                     get(10),
                     get(11),
                     get(12),
                     get(13),
                     get(14)};
  return CUDA_SUCCESS;
}

API(cuDeviceGetPCIBusId, char *text, int bytes, int device) {
  int error = check(text, device);
  return error ? error : dr_result(cudaDeviceGetPCIBusId(text, bytes, device));
}

API(cuDeviceGetByPCIBusId, int *device, const char *text) {
  int error = check(device, 0);
  return error ? error : dr_result(cudaDeviceGetByPCIBusId(device, text));
}

API(cuDeviceCanAccessPeer, int *can, int device, int peer) {
  int error = check(can, device);
  return error ? error : dr_result(cudaDeviceCanAccessPeer(can, device, peer));
}

API(cuDeviceGetP2PAttribute, int *value, int attribute, int from, int to) {
  int error = check(value, from);
  (void)attribute;
  return error ? error : to ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE; /* no pair */
}

API(cuDeviceGetTexture1DLinearMaxWidth, size_t *texels, int format, unsigned channels, int device) {
  int error = check(texels, device);
  (void)format;
  if (error || channels == 0 || channels > 4)
    return error ? error : CUDA_ERROR_INVALID_VALUE;
  *texels = (size_t)get(69);
  return CUDA_SUCCESS;
}

API(cuDeviceGetDefaultMemPool, void **pool, int device) {
  int error = check(pool, device);
  return error ? error : dr_result(cudaDeviceGetDefaultMemPool(pool, device));
}

API(cuDeviceGetMemPool, void **pool, int device) {
  int error = check(pool, device);
  return error ? error : dr_result(cudaDeviceGetMemPool(pool, device));
}

API(cuDeviceSetMemPool, int device, void *pool) {
  int error = check(pool, device);
  return error ? error : dr_result(cudaDeviceSetMemPool(device, pool));
}
