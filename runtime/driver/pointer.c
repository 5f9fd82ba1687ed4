/* What an address is, and advice about managed memory, which is accepted and changes nothing. */
#include "driver.h"

#include <string.h>

/* ---- Attributes of addresses ---- */

/* Attributes, and what kinds of memory there are. */
enum {
  IN_CONTEXT = 1,
  MEMORY_TYPE,
  DEVICE_POINTER,
  HOST_POINTER,
  SYNCHRONOUS = 6,
  NUMBER,
  IS_MANAGED,
  DEVICE_NUMBER,
  IS_SHARABLE,
  RANGE_ADDRESS,
  RANGE_BYTES,
  IS_MAPPED,
  HANDLE_TYPES,
  IS_REMOTE,
  ACCESS,
  POOL,
  MAPPING_BYTES,
  MAPPING_ADDRESS,
  BLOCK_NUMBER,
};
enum { HOST = 1, DEVICE = 2, READ_AND_WRITE = 3 };

/* Puts a number where attributes of so many bytes are wanted; CUDA_SUCCESS. */
static int put(void *to, uint64_t value, size_t bytes) {
  memcpy(to, &value, bytes);
  return CUDA_SUCCESS;
}

/* An attribute of an address in a range; a CUresult. */
static int get(const bf_emu_range *range, int attribute, dr_address address, void *to) {
  bool is_host = range->memory == BF_EMU_HOST && !(range->flags & RT_MAPPED);
  bool is_managed = rt_is_managed(range);
  dr_context *context = NULL;
  switch (attribute) {
  case IN_CONTEXT:
    cuCtxGetCurrent(&context);
    return put(to, (uint64_t)(uintptr_t)context, 8);
  case MEMORY_TYPE:
    return put(to, is_host ? HOST : DEVICE, 4);
  case DEVICE_POINTER:
    return put(to, address, 8);
  case HOST_POINTER:
    if (!is_host && !is_managed)
      return CUDA_ERROR_INVALID_VALUE;
    return put(to, address, 8);
  case SYNCHRONOUS:
    return put(to, 1, 4);
  case NUMBER:
  case BLOCK_NUMBER:
    return put(to, range->serial, 8);
  case IS_MANAGED:
    return put(to, is_managed, 4);
  case IS_SHARABLE:
  case IS_REMOTE:
    return put(to, 0, 4);
  case DEVICE_NUMBER:
    return put(to, 0, 4);
  case RANGE_ADDRESS:
  case MAPPING_ADDRESS:
    return put(to, range->address, 8);
  case RANGE_BYTES:
  case MAPPING_BYTES:
    return put(to, range->bytes, 8);
  case IS_MAPPED:
    return put(to, 1, 4);
  case HANDLE_TYPES:
    return put(to, 0, 8);
  case ACCESS:
    return put(to, READ_AND_WRITE, 4);
  case POOL:
    return put(to, 0, 8);
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

/* The range of an address; false where CUDA knows nothing of it. */
static bool find(dr_address address, bf_emu_range *range) {
  rt_context *context = rt_enter();
  bool is_known = bf_emu_find(context->emu, address, range);
  rt_leave(context, cudaSuccess);
  return is_known;
}

API(cuPointerGetAttribute, void *to, int attribute, dr_address address) {
  DR_CHECK();
  bf_emu_range range;
  if (!to || !find(address, &range))
    return CUDA_ERROR_INVALID_VALUE;
  return get(&range, attribute, address, to);
}

/* Attributes that an address does not have are 0. */
API(cuPointerGetAttributes, unsigned count, const int *attributes, void **to, dr_address address) {
  DR_CHECK();
  bf_emu_range range;
  if (!attributes || !to || count == 0)
    return CUDA_ERROR_INVALID_VALUE;
  bool is_known = find(address, &range);
  for (unsigned i = 0; i < count; i++) {
    bool is_small = attributes[i] == MEMORY_TYPE || attributes[i] == SYNCHRONOUS ||
                    (attributes[i] >= IS_MANAGED && attributes[i] <= IS_SHARABLE) ||
                    attributes[i] == IS_MAPPED || attributes[i] == IS_REMOTE ||
                    attributes[i] == ACCESS;
    if (attributes[i] < IN_CONTEXT || attributes[i] > BLOCK_NUMBER || !to[i])
      return CUDA_ERROR_INVALID_VALUE;
    if (!is_known || get(&range, attributes[i], address, to[i]) != CUDA_SUCCESS)
      put(to[i], attributes[i] == DEVICE_NUMBER ? (uint64_t)-2 : 0, is_small ? 4 : 8);
  }
  return CUDA_SUCCESS;
}

API(cuPointerSetAttribute, const void *value, int attribute, dr_address address) {
  DR_CHECK();
  bf_emu_range range;
  bool is_fine = value && attribute == SYNCHRONOUS && find(address, &range);
  return is_fine ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Managed memory ---- */

/* A location by the number of a device; that of the host is -1. */
static rt_location location_of(int device) { return (rt_location){device < 0 ? 2 : 1, 0}; }

API(cuMemPrefetchAsync_v2, dr_address address, size_t bytes, rt_location location, unsigned flags,
    void *stream) {
  DR_CHECK();
  if (location.type < 1 || location.type > 4)
    return CUDA_ERROR_INVALID_VALUE;
  int error = dr_check_stream(stream);
  return error
             ? error
             : dr_result(cudaMemPrefetchAsync(dr_pointer(address), bytes, location, flags, stream));
}
PER_THREAD(cuMemPrefetchAsync_v2, ptsz);

API(cuMemPrefetchAsync, dr_address address, size_t bytes, int device, void *stream) {
  return device > 0 ? CUDA_ERROR_INVALID_DEVICE
                    : cuMemPrefetchAsync_v2(address, bytes, location_of(device), 0, stream);
}
PER_THREAD(cuMemPrefetchAsync, ptsz);

API(cuMemAdvise_v2, dr_address address, size_t bytes, int advice, rt_location location) {
  DR_CHECK();
  return dr_result(cudaMemAdvise(dr_pointer(address), bytes, advice, location));
}

API(cuMemAdvise, dr_address address, size_t bytes, int advice, int device) {
  return cuMemAdvise_v2(address, bytes, advice, location_of(device));
}

API(cuMemRangeGetAttributes, void **to, size_t *bytes, int *attributes, size_t count,
    dr_address address, size_t range_bytes) {
  DR_CHECK();
  return dr_result(
      cudaMemRangeGetAttributes(to, bytes, attributes, count, dr_pointer(address), range_bytes));
}

API(cuMemRangeGetAttribute, void *to, size_t bytes, int attribute, dr_address address,
    size_t range_bytes) {
  return cuMemRangeGetAttributes(&to, &bytes, &attribute, 1, address, range_bytes);
}
