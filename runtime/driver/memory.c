/* Memory of the device and of the host, pools, and what a pointer is. */
#include "driver.h"

/* ---- Device memory ---- */

API(cuMemAlloc_v2, dr_address *address, size_t bytes) {
  DR_CHECK();
  if (!address || bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  int error = dr_result(cudaMalloc((void **)address, bytes));
  return dr_own(error, DR_MEMORY, error ? NULL : dr_pointer(*address));
}

API(cuMemAllocPitch_v2, dr_address *address, size_t *pitch, size_t width_bytes, size_t rows,
    unsigned element_bytes) {
  DR_CHECK();
  bool is_fine = element_bytes == 4 || element_bytes == 8 || element_bytes == 16;
  if (!address || !is_fine || width_bytes == 0 || rows == 0)
    return CUDA_ERROR_INVALID_VALUE;
  int error = dr_result(cudaMallocPitch((void **)address, pitch, width_bytes, rows));
  return dr_own(error, DR_MEMORY, error ? NULL : dr_pointer(*address));
}

API(cuMemAllocManaged, dr_address *address, size_t bytes, unsigned flags) {
  DR_CHECK();
  int error = dr_result(cudaMallocManaged((void **)address, bytes, flags));
  return dr_own(error, DR_MEMORY, error ? NULL : dr_pointer(*address));
}

API(cuMemFree_v2, dr_address address) {
  DR_CHECK();
  if (!address)
    return CUDA_ERROR_INVALID_VALUE;
  dr_disown(dr_pointer(address));
  return dr_result(cudaFree(dr_pointer(address)));
}

API(cuMemGetInfo_v2, size_t *available, size_t *total) {
  DR_RETURN(cudaMemGetInfo(available, total));
}

API(cuMemGetAddressRange_v2, dr_address *base, size_t *bytes, dr_address address) {
  DR_CHECK();
  bf_emu_range range;
  rt_context *context = rt_enter();
  bool is_known = bf_emu_find(context->emu, address, &range);
  rt_leave(context, cudaSuccess);
  if (!is_known)
    return CUDA_ERROR_NOT_FOUND;
  if (base)
    *base = range.address;
  if (bytes)
    *bytes = range.bytes;
  return CUDA_SUCCESS;
}

/* ---- Memory of the host ---- */

API(cuMemHostAlloc, void **address, size_t bytes, unsigned flags) {
  DR_CHECK();
  if (!address || bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  int error = dr_result(cudaHostAlloc(address, bytes, flags));
  return dr_own(error, DR_PINNED, error ? NULL : *address);
}

API(cuMemAllocHost_v2, void **address, size_t bytes) { return cuMemHostAlloc(address, bytes, 0); }

API(cuMemFreeHost, void *address) {
  DR_CHECK();
  if (!address)
    return CUDA_ERROR_INVALID_VALUE;
  dr_disown(address);
  return dr_result(cudaFreeHost(address));
}

API(cuMemHostRegister_v2, void *address, size_t bytes, unsigned flags) {
  DR_RETURN(cudaHostRegister(address, bytes, flags));
}

API(cuMemHostUnregister, void *address) { DR_RETURN(cudaHostUnregister(address)); }

API(cuMemHostGetDevicePointer_v2, dr_address *device, void *host, unsigned flags) {
  DR_RETURN(cudaHostGetDevicePointer((void **)device, host, flags));
}

API(cuMemHostGetFlags, unsigned *flags, void *host) { DR_RETURN(cudaHostGetFlags(flags, host)); }

/* ---- In the order of a stream, and from pools ---- */

API(cuMemAllocAsync, dr_address *address, size_t bytes, void *stream) {
  DR_CHECK();
  if (!address || bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  return dr_result(cudaMallocAsync((void **)address, bytes, stream));
}
PER_THREAD(cuMemAllocAsync, ptsz);

API(cuMemAllocFromPoolAsync, dr_address *address, size_t bytes, void *pool, void *stream) {
  DR_CHECK();
  if (!address || bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  return dr_result(cudaMallocFromPoolAsync((void **)address, bytes, pool, stream));
}
PER_THREAD(cuMemAllocFromPoolAsync, ptsz);

API(cuMemFreeAsync, dr_address address, void *stream) {
  DR_CHECK();
  if (!address)
    return CUDA_ERROR_INVALID_VALUE;
  dr_disown(dr_pointer(address));
  return dr_result(cudaFreeAsync(dr_pointer(address), stream));
}
PER_THREAD(cuMemFreeAsync, ptsz);

DR_PASS(cuMemPoolCreate, cudaMemPoolCreate, (void **pool, const void *properties),
        (pool, properties))
DR_PASS(cuMemPoolDestroy, cudaMemPoolDestroy, (void *pool), (pool))
DR_PASS(cuMemPoolTrimTo, cudaMemPoolTrimTo, (void *pool, size_t bytes), (pool, bytes))
DR_PASS(cuMemPoolSetAttribute, cudaMemPoolSetAttribute, (void *pool, int attribute, void *value),
        (pool, attribute, value))
DR_PASS(cuMemPoolGetAttribute, cudaMemPoolGetAttribute, (void *pool, int attribute, void *value),
        (pool, attribute, value))
DR_PASS(cuMemPoolSetAccess, cudaMemPoolSetAccess, (void *pool, const void *access, size_t count),
        (pool, access, count))
DR_PASS(cuMemPoolGetAccess, cudaMemPoolGetAccess,
        (int *flags, void *pool, const rt_location *location), (flags, pool, location))
DR_PASS(cuMemPoolExportToShareableHandle, cudaMemPoolExportToShareableHandle,
        (void *to, void *pool, int type, unsigned flags), (to, pool, type, flags))
DR_PASS(cuMemPoolImportFromShareableHandle, cudaMemPoolImportFromShareableHandle,
        (void **pool, void *from, int type, unsigned flags), (pool, from, type, flags))
DR_PASS(cuMemPoolExportPointer, cudaMemPoolExportPointer, (rt_ipc_handle * to, void *address),
        (to, address))
DR_PASS(cuMemPoolImportPointer, cudaMemPoolImportPointer,
        (void **address, const void *pool, const rt_ipc_handle *from), (address, pool, from))

/* ---- Several processes ---- */

API(cuIpcGetMemHandle, rt_ipc_handle *to, dr_address address) {
  DR_RETURN(cudaIpcGetMemHandle(to, dr_pointer(address)));
}

API(cuIpcOpenMemHandle_v2, dr_address *address, rt_ipc_handle from, unsigned flags) {
  DR_RETURN(cudaIpcOpenMemHandle((void **)address, from, flags));
}
DR_ALIAS(cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle);

API(cuIpcCloseMemHandle, dr_address address) {
  DR_RETURN(cudaIpcCloseMemHandle(dr_pointer(address)));
}

API(cuIpcGetEventHandle, rt_ipc_handle *to, void *event) {
  DR_RETURN(cudaIpcGetEventHandle(to, event));
}

API(cuIpcOpenEventHandle, void **event, rt_ipc_handle from) {
  DR_RETURN(cudaIpcOpenEventHandle(event, from));
}
