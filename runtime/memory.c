/* Memory: allocation on the device and of pinned memory on the host, and what a pointer is. Device
 * memory is memory of the process, so that unified addressing and managed memory follow. */
#include "context.h"

#include <stdlib.h>
#include <string.h>

enum { PITCH_BYTES = 512 };

/* ---- Device memory ---- */

/* Device memory of a pool, or of none (NULL); none for 0 bytes. A cudaError. */
static int allocate_from(rt_context *context, void **address, uint64_t bytes, unsigned flags,
                         rt_pool *pool) {
  bf_diagnostic diagnostic;
  uint64_t at, total = rt_memory_bytes(context), used = bf_emu_used_bytes(context->emu);
  if (!address)
    return cudaErrorInvalidValue;
  *address = NULL;
  if (bytes == 0)
    return cudaSuccess;
  if (used > total || bytes > total - used || (pool && !rt_pool_take(pool, bytes)))
    return cudaErrorMemoryAllocation;
  int error = bf_emu_alloc(context->emu, bytes, flags, &at, &diagnostic);
  void *memory = (void *)(uintptr_t)at;
  if (!error && !rt_map_put(&context->allocations, memory, pool ? (void *)pool : memory)) {
    bf_emu_release(context->emu, at, &diagnostic);
    error = BF_NO_MEMORY;
  }
  if (error) {
    if (pool)
      rt_pool_give(pool, bytes);
    return cudaErrorMemoryAllocation;
  }
  *address = memory;
  return cudaSuccess;
}

static int allocate(rt_context *context, void **address, uint64_t bytes, unsigned flags) {
  return allocate_from(context, address, bytes, flags, NULL);
}

/* Releases device memory that starts at address; NULL is fine. */
int rt_release(rt_context *context, void *address) {
  int graph_error;
  if (rt_graph_memory_free(context, address, &graph_error))
    return graph_error;
  bf_diagnostic diagnostic;
  if (!address)
    return cudaSuccess;
  void *pool = rt_map_get(&context->allocations, address);
  bf_emu_range range;
  if (!pool)
    return rt_end_import(context, address, RT_POOLED) ? cudaSuccess : cudaErrorInvalidValue;
  if (pool != address && bf_emu_find(context->emu, (uint64_t)(uintptr_t)address, &range))
    rt_pool_give(pool, range.bytes);
  rt_map_remove(&context->allocations, address);
  rt_end_export(context, address);
  bf_emu_release(context->emu, (uint64_t)(uintptr_t)address, &diagnostic);
  return cudaSuccess;
}

void rt_free_all(rt_context *context) {
  size_t cursor = 0;
  for (void *address; (address = rt_map_next(&context->allocations, &cursor));)
    rt_release(context, address);
}

API(cudaMalloc, void **address, size_t bytes) {
  RT_ENTER_DEVICE(context);
  return rt_leave(context, allocate(context, address, bytes, 0));
}

API(cudaMallocManaged, void **address, size_t bytes, unsigned flags) {
  RT_ENTER_DEVICE(context);
  if (bytes == 0 || (flags != 1 && flags != 2))
    return rt_leave(context, cudaErrorInvalidValue);
  return rt_leave(context, allocate(context, address, bytes, RT_MANAGED));
}

API(cudaFree, void *address) {
  RT_SYNCHRONISE(context);
  return rt_leave(context, rt_release(context, address));
}

/* bytes = pitch * rows, where that can be. */
static bool pitch_of(size_t width_bytes, size_t rows, size_t *pitch, uint64_t *bytes) {
  if (width_bytes > SIZE_MAX - PITCH_BYTES)
    return false;
  *pitch = (width_bytes + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES;
  return !__builtin_mul_overflow(*pitch, rows, bytes);
}

API(cudaMallocPitch, void **address, size_t *pitch, size_t width_bytes, size_t rows) {
  RT_ENTER_DEVICE(context);
  uint64_t bytes;
  if (!pitch)
    return rt_leave(context, cudaErrorInvalidValue);
  if (!pitch_of(width_bytes, rows, pitch, &bytes))
    return rt_leave(context, cudaErrorMemoryAllocation);
  return rt_leave(context, allocate(context, address, bytes, 0));
}

API(cudaMalloc3D, rt_pitched *to, rt_extent extent) {
  RT_ENTER_DEVICE(context);
  uint64_t bytes, rows;
  if (!to)
    return rt_leave(context, cudaErrorInvalidValue);
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows) ||
      !pitch_of(extent.width, rows, &to->pitch, &bytes))
    return rt_leave(context, cudaErrorMemoryAllocation);
  to->width_bytes = extent.width;
  to->height = extent.height;
  return rt_leave(context, allocate(context, &to->pointer, bytes, 0));
}

API(cudaMemGetInfo, size_t *available, size_t *total) {
  RT_ENTER_DEVICE(context);
  uint64_t all = rt_memory_bytes(context), used = bf_emu_used_bytes(context->emu);
  uint64_t most = context->room_bytes < all ? context->room_bytes : all;
  if (!available || !total)
    return rt_leave(context, cudaErrorInvalidValue);
  *total = all;
  *available = used < most ? most - used : 0;
  return rt_leave(context, cudaSuccess);
}

API(cudaDeviceReset, void) {
  RT_SYNCHRONISE(context);
  bf_diagnostic diagnostic = {0};
  for (const rt_module *module = context->modules; module; module = module->next)
    if (module->loaded && bf_emu_restore(module->loaded, &diagnostic))
      rt_complain(context, &diagnostic);
  rt_free_all(context);
  bf_emu_forget_heap(context->emu);
  rt_destroy_arrays(context);
  rt_destroy_textures(context);
  rt_destroy_objects(context);
  memset(context->limit, 0, sizeof context->limit);
  return rt_leave(context, cudaSuccess);
}

#if CUDART_MAJOR < 13
extern __typeof__(cudaDeviceReset) cudaThreadExit __attribute__((alias("cudaDeviceReset")));
#endif

/* ---- In the order of a stream, and from pools ---- */

API(cudaMallocAsync, void **address, size_t bytes, void *stream) {
  RT_ENTER_DEVICE(context);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  if (rt_is_capturing(context, stream))
    return rt_leave(context, rt_capture_allocate(context, stream, address, bytes));
  return rt_leave(context, allocate_from(context, address, bytes, 0, rt_pool_current(context)));
}
PER_THREAD(cudaMallocAsync, ptsz);

API(cudaMallocFromPoolAsync, void **address, size_t bytes, void *pool, void *stream) {
  RT_ENTER_DEVICE(context);
  rt_pool *own = rt_pool_of(context, pool);
  if (!rt_is_stream(context, stream) || !own)
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  if (rt_is_capturing(context, stream))
    return rt_leave(context, rt_capture_allocate(context, stream, address, bytes));
  return rt_leave(context, allocate_from(context, address, bytes, 0, own));
}
PER_THREAD(cudaMallocFromPoolAsync, ptsz);

API(cudaFreeAsync, void *address, void *stream) {
  RT_ENTER_DEVICE(context);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  if (rt_is_recorded(context, stream))
    return rt_leave(context, rt_capture_free(context, stream, address));
  return rt_leave(context, rt_release(context, address));
}
PER_THREAD(cudaFreeAsync, ptsz);

/* ---- Pinned memory ---- */

/* Memory of the host that kernels may use; a cudaError. */
static int allocate_pinned(rt_context *context, void **address, size_t bytes, unsigned flags) {
  bf_diagnostic diagnostic;
  if (!address || flags > 7)
    return cudaErrorInvalidValue;
  *address = NULL;
  if (bytes == 0)
    return cudaSuccess;
  if (bytes > SIZE_MAX - 4095 || !(*address = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)))
    return cudaErrorMemoryAllocation;
  if (bf_emu_register(context->emu, *address, bytes, RT_PINNED | flags << RT_FLAGS_SHIFT,
                      &diagnostic) != BF_OK) {
    free(*address);
    *address = NULL;
    return cudaErrorMemoryAllocation;
  }
  return cudaSuccess;
}

API(cudaHostAlloc, void **address, size_t bytes, unsigned flags) {
  RT_ENTER_DEVICE(context);
  return rt_leave(context, allocate_pinned(context, address, bytes, flags));
}

API(cudaMallocHost, void **address, size_t bytes) {
  RT_ENTER_DEVICE(context);
  return rt_leave(context, allocate_pinned(context, address, bytes, 0));
}

/* The range that starts at address and has a flag; false where there is none. */
static bool find_start(const rt_context *context, const void *address, unsigned flag,
                       bf_emu_range *range) {
  uint64_t at = (uint64_t)(uintptr_t)address;
  return bf_emu_find(context->emu, at, range) && range->address == at &&
         range->memory == BF_EMU_HOST && (range->flags & flag);
}

API(cudaFreeHost, void *address) {
  RT_SYNCHRONISE(context);
  bf_emu_range range;
  bf_diagnostic diagnostic;
  if (!address)
    return rt_leave(context, cudaSuccess);
  if (!find_start(context, address, RT_PINNED, &range))
    return rt_leave(context, cudaErrorInvalidValue);
  bf_emu_release(context->emu, range.address, &diagnostic);
  free(address);
  return rt_leave(context, cudaSuccess);
}

API(cudaHostRegister, void *address, size_t bytes, unsigned flags) {
  RT_ENTER_DEVICE(context);
  bf_diagnostic diagnostic;
  if (!address || bytes == 0 || flags > 15)
    return rt_leave(context, cudaErrorInvalidValue);
  int error = bf_emu_register(context->emu, address, bytes, RT_REGISTERED | flags << RT_FLAGS_SHIFT,
                              &diagnostic);
  return rt_leave(context, !error                  ? cudaSuccess
                           : error == BF_NO_MEMORY ? cudaErrorMemoryAllocation
                                                   : cudaErrorHostMemoryAlreadyRegistered);
}

API(cudaHostUnregister, void *address) {
  RT_SYNCHRONISE(context);
  bf_emu_range range;
  bf_diagnostic diagnostic;
  if (!address)
    return rt_leave(context, cudaErrorInvalidValue);
  if (!find_start(context, address, RT_REGISTERED, &range))
    return rt_leave(context, cudaErrorHostMemoryNotRegistered);
  bf_emu_release(context->emu, range.address, &diagnostic);
  return rt_leave(context, cudaSuccess);
}

API(cudaHostGetDevicePointer, void **device, void *host, unsigned flags) {
  RT_ENTER_DEVICE(context);
  bf_emu_range range;
  if (!device || flags != 0 || !bf_emu_find(context->emu, (uint64_t)(uintptr_t)host, &range) ||
      range.memory != BF_EMU_HOST || (range.flags & RT_MAPPED))
    return rt_leave(context, cudaErrorInvalidValue);
  *device = host;
  return rt_leave(context, cudaSuccess);
}

API(cudaHostGetFlags, unsigned *flags, void *host) {
  RT_ENTER_DEVICE(context);
  bf_emu_range range;
  if (!flags || !bf_emu_find(context->emu, (uint64_t)(uintptr_t)host, &range) ||
      range.memory != BF_EMU_HOST)
    return rt_leave(context, cudaErrorInvalidValue);
  *flags = (range.flags >> RT_FLAGS_SHIFT) | 2; /* always mapped */
  return rt_leave(context, cudaSuccess);
}

/* ---- What a pointer is ---- */

API(cudaPointerGetAttributes, rt_pointer_attributes *to, const void *address) {
  RT_ENTER_DEVICE(context);
  enum { UNREGISTERED, HOST, DEVICE, MANAGED };
  bf_emu_range range;
  if (!to)
    return rt_leave(context, cudaErrorInvalidValue);
  *to = (rt_pointer_attributes){.type = UNREGISTERED, .device = -2};
  if (bf_emu_find(context->emu, (uint64_t)(uintptr_t)address, &range)) {
    bool is_host = range.memory == BF_EMU_HOST && !(range.flags & RT_MAPPED);
    to->type = rt_is_managed(&range) ? MANAGED : is_host ? HOST : DEVICE;
    to->device = 0;
    to->device_pointer = (void *)(uintptr_t)address;
    to->host_pointer = to->type == DEVICE ? NULL : to->device_pointer;
  }
#if CUDART_MAJOR < 13
  else
    to->host_pointer = (void *)(uintptr_t)address;
#endif
  return rt_leave(context, cudaSuccess);
}

/* ---- Channels ---- */

rt_channel cudaCreateChannelDesc(int x, int y, int z, int w, int kind);
rt_channel cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
  return (rt_channel){x, y, z, w, kind};
}
