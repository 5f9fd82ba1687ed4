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
  bool is_managed = range->flags & RT_MANAGED;
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

/* Whether all bytes are memory that the device knows; a CUresult. */
static int check_range(dr_address address, size_t bytes, const char *call) {
  DR_CHECK();
  if (!address || !bytes)
    return CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  bool is_known = rt_holds(context, dr_pointer(address), bytes, call);
  return rt_leave(context, is_known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

API(cuMemPrefetchAsync, dr_address address, size_t bytes, int device, void *stream) {
  int error = check_range(address, bytes, "cuMemPrefetchAsync");
  return error        ? error
         : device > 0 ? CUDA_ERROR_INVALID_DEVICE
                      : dr_result(cudaStreamQuery(stream));
}
PER_THREAD(cuMemPrefetchAsync, ptsz);

API(cuMemPrefetchAsync_v2, dr_address address, size_t bytes, rt_location location, unsigned flags,
    void *stream) {
  int error = check_range(address, bytes, "cuMemPrefetchAsync");
  bool is_fine = flags == 0 && location.type >= 1 && location.type <= 4;
  return error ? error : is_fine ? dr_result(cudaStreamQuery(stream)) : CUDA_ERROR_INVALID_VALUE;
}
PER_THREAD(cuMemPrefetchAsync_v2, ptsz);

API(cuMemAdvise, dr_address address, size_t bytes, int advice, int device) {
  int error = check_range(address, bytes, "cuMemAdvise");
  (void)device;
  return error ? error : advice >= 1 && advice <= 6 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API(cuMemAdvise_v2, dr_address address, size_t bytes, int advice, rt_location location) {
  return cuMemAdvise(address, bytes, advice, location.number);
}
