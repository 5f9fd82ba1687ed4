/* Advice about managed memory, and prefetching: they change nothing, and are remembered for
 * programs that ask. What is advised for a part of an allocation is remembered for all of it. */
#include "context.h"

#include <stdlib.h>

/* What a location may be. */
enum { NOWHERE = 0, ON_DEVICE = 1, ON_HOST = 2 };
/* How programs of before CUDA 13 say it: the number of a device, or one of these. */
enum { HOST_NUMBER = -1, NO_NUMBER = -2 };

typedef struct rt_advice {
  uint64_t serial; /* of the allocation */
  bool is_read_mostly, is_accessed_by_device, is_accessed_by_host;
  rt_location preferred, prefetched;
} rt_advice;

/* cudaSuccess for memory that the device knows. */
static int check_managed(const rt_context *context, const void *address, size_t bytes,
                         const char *call) {
  return address && bytes && rt_holds(context, address, bytes, call) ? cudaSuccess
                                                                     : cudaErrorInvalidValue;
}

/* What was advised for the allocation that holds address; NULL: memory is exhausted. */
static rt_advice *find_advice(rt_context *context, const void *address) {
  bf_emu_range range;
  if (!bf_emu_find(context->emu, (uint64_t)(uintptr_t)address, &range))
    return NULL;
  const void *key = (const void *)(uintptr_t)range.address;
  rt_advice *advice = rt_map_get(&context->advice, key);
  if (!advice) {
    advice = calloc(1, sizeof *advice);
    if (!advice || !rt_map_put(&context->advice, key, advice)) {
      free(advice);
      return NULL;
    }
  } else if (advice->serial == range.serial)
    return advice;
  *advice = (rt_advice){.serial = range.serial};
  return advice;
}

#if CUDART_MAJOR >= 13
API(cudaMemPrefetchAsync, const void *address, size_t bytes, rt_location location, unsigned flags,
    void *stream) {
#else
API(cudaMemPrefetchAsync_v2, const void *address, size_t bytes, rt_location location,
    unsigned flags, void *stream) {
#endif
  RT_ENTER_DEVICE(context);
  if (flags != 0 || !rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidValue);
  int error = check_managed(context, address, bytes, "cudaMemPrefetchAsync");
  rt_advice *advice = error == cudaSuccess ? find_advice(context, address) : NULL;
  if (advice)
    advice->prefetched = location;
  return rt_leave(context, error);
}

#if CUDART_MAJOR >= 13
/* Each range goes to the last location whose first range is not behind it. */
API(cudaMemPrefetchBatchAsync, void **address, size_t *bytes, size_t count, rt_location *location,
    size_t *first, size_t locations, unsigned long long flags, void *stream) {
  RT_ENTER_DEVICE(context);
  bool is_good = address && bytes && count && location && first && locations && first[0] == 0;
  int error = is_good && flags == 0 ? cudaSuccess : cudaErrorInvalidValue;
  rt_leave(context, error);
  for (size_t i = 0, at = 0; error == cudaSuccess && i < count; i++) {
    while (at + 1 < locations && first[at + 1] <= i)
      at++;
    error = cudaMemPrefetchAsync(address[i], bytes[i], location[at], 0, stream);
  }
  return error;
}
PER_THREAD(cudaMemPrefetchBatchAsync, ptsz);

/* What is in the ranges need not be kept; here it is. */
API(cudaMemDiscardBatchAsync, void **address, size_t *bytes, size_t count, unsigned long long flags,
    void *stream) {
  RT_ENTER_DEVICE(context);
  bool is_good = address && bytes && count && flags == 0 && rt_is_stream(context, stream);
  int error = is_good ? cudaSuccess : cudaErrorInvalidValue;
  for (size_t i = 0; error == cudaSuccess && i < count; i++)
    error = check_managed(context, address[i], bytes[i], "cudaMemDiscardBatchAsync");
  return rt_leave(context, error);
}
PER_THREAD(cudaMemDiscardBatchAsync, ptsz);

API(cudaMemDiscardAndPrefetchBatchAsync, void **address, size_t *bytes, size_t count,
    rt_location *location, size_t *first, size_t locations, unsigned long long flags,
    void *stream) {
  return cudaMemPrefetchBatchAsync(address, bytes, count, location, first, locations, flags,
                                   stream);
}
PER_THREAD(cudaMemDiscardAndPrefetchBatchAsync, ptsz);
#endif

/* Takes note of advice, by its number. */
static void note(rt_advice *advice, int number, rt_location location) {
  bool is_set = number % 2;
  switch ((number - 1) / 2) {
  case 0:
    advice->is_read_mostly = is_set;
    break;
  case 1:
    advice->preferred = is_set ? location : (rt_location){NOWHERE, 0};
    break;
  default:
    if (location.type == ON_DEVICE)
      advice->is_accessed_by_device = is_set;
    else
      advice->is_accessed_by_host = is_set;
  }
}

#if CUDART_MAJOR >= 13
API(cudaMemAdvise, const void *address, size_t bytes, int number, rt_location location) {
#else
API(cudaMemAdvise_v2, const void *address, size_t bytes, int number, rt_location location) {
#endif
  RT_ENTER_DEVICE(context);
  if (number < 1 || number > 6)
    return rt_leave(context, cudaErrorInvalidValue);
  int error = check_managed(context, address, bytes, "cudaMemAdvise");
  rt_advice *advice = error == cudaSuccess ? find_advice(context, address) : NULL;
  if (advice)
    note(advice, number, location);
  return rt_leave(context, error);
}

#if CUDART_MAJOR >= 13
PER_THREAD(cudaMemPrefetchAsync, ptsz);
#else
PER_THREAD(cudaMemPrefetchAsync_v2, ptsz);

/* A location by the number of a device. */
static rt_location location_of(int device) {
  return (rt_location){device == HOST_NUMBER ? ON_HOST : ON_DEVICE, device < 0 ? 0 : device};
}

API(cudaMemPrefetchAsync, const void *address, size_t bytes, int device, void *stream) {
  return cudaMemPrefetchAsync_v2(address, bytes, location_of(device), 0, stream);
}
PER_THREAD(cudaMemPrefetchAsync, ptsz);

API(cudaMemAdvise, const void *address, size_t bytes, int advice, int device) {
  return cudaMemAdvise_v2(address, bytes, advice, location_of(device));
}
#endif

API(cudaStreamAttachMemAsync, void *stream, void *address, size_t bytes, unsigned flags) {
  RT_ENTER_DEVICE(context);
  (void)bytes;
  if (!rt_is_stream(context, stream) || !address || (flags != 1 && flags != 2 && flags != 4))
    return rt_leave(context, cudaErrorInvalidValue);
  return rt_leave(context, check_managed(context, address, 1, "cudaStreamAttachMemAsync"));
}
PER_THREAD(cudaStreamAttachMemAsync, ptsz);

/* ---- Questions ---- */

/* The attributes of a range. */
enum {
  READ_MOSTLY = 1,
  PREFERRED_LOCATION,
  ACCESSED_BY,
  PREFETCH_LOCATION,
  PREFERRED_TYPE,
  PREFERRED_NUMBER,
  PREFETCH_TYPE,
  PREFETCH_NUMBER
};

static int32_t number_of(rt_location location) {
  return location.type == ON_DEVICE ? location.number
         : location.type == NOWHERE ? NO_NUMBER
                                    : HOST_NUMBER;
}

/* Who accesses the range: numbers of devices, the host's, and then that of nobody. */
static void put_accessing(const rt_advice *advice, int32_t *to, size_t count) {
  size_t used = 0;
  if (advice->is_accessed_by_host && used < count)
    to[used++] = HOST_NUMBER;
  if (advice->is_accessed_by_device && used < count)
    to[used++] = 0;
  while (used < count)
    to[used++] = NO_NUMBER;
}

/* One attribute to memory of so many bytes; a cudaError. */
static int get(const rt_advice *advice, int attribute, void *to, size_t bytes) {
  if (!to || bytes < sizeof(int32_t) || bytes % sizeof(int32_t) ||
      (attribute != ACCESSED_BY && bytes != sizeof(int32_t)))
    return cudaErrorInvalidValue;
  int32_t *value = to;
  switch (attribute) {
  case READ_MOSTLY:
    *value = advice->is_read_mostly;
    return cudaSuccess;
  case PREFERRED_LOCATION:
    *value = number_of(advice->preferred);
    return cudaSuccess;
  case ACCESSED_BY:
    put_accessing(advice, value, bytes / sizeof(int32_t));
    return cudaSuccess;
  case PREFETCH_LOCATION:
    *value = number_of(advice->prefetched);
    return cudaSuccess;
  case PREFERRED_TYPE:
    *value = advice->preferred.type;
    return cudaSuccess;
  case PREFERRED_NUMBER:
    *value = advice->preferred.number;
    return cudaSuccess;
  case PREFETCH_TYPE:
    *value = advice->prefetched.type;
    return cudaSuccess;
  case PREFETCH_NUMBER:
    *value = advice->prefetched.number;
    return cudaSuccess;
  default:
    return cudaErrorInvalidValue;
  }
}

API(cudaMemRangeGetAttributes, void **to, const size_t *bytes, const int *attributes, size_t count,
    const void *address, size_t range_bytes) {
  RT_ENTER_DEVICE(context);
  int error = to && bytes && attributes && count
                  ? check_managed(context, address, range_bytes, "cudaMemRangeGetAttributes")
                  : cudaErrorInvalidValue;
  const rt_advice *advice = error == cudaSuccess ? find_advice(context, address) : NULL;
  if (error == cudaSuccess && !advice)
    error = cudaErrorMemoryAllocation;
  for (size_t i = 0; i < count && error == cudaSuccess; i++)
    error = get(advice, attributes[i], to[i], bytes[i]);
  return rt_leave(context, error);
}

API(cudaMemRangeGetAttribute, void *to, size_t bytes, int attribute, const void *address,
    size_t range_bytes) {
  return cudaMemRangeGetAttributes(&to, &bytes, &attribute, 1, address, range_bytes);
}
