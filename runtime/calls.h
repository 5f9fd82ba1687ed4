/* runtime: calls of the runtime that its other files make, and those of the driver's interface. */
#ifndef RT_CALLS_H
#define RT_CALLS_H

#include "abi.h"

/* ---- Device ---- */
int cudaDeviceGetAttribute(int *value, int attribute, int device);
int cudaDeviceSynchronize(void);
int cudaDeviceReset(void);
int cudaDeviceSetLimit(int limit, size_t value);
int cudaDeviceGetLimit(size_t *value, int limit);
int cudaDeviceSetCacheConfig(int config);
int cudaDeviceGetCacheConfig(int *config);
int cudaDeviceGetSharedMemConfig(int *config);
int cudaDeviceSetSharedMemConfig(int config);
int cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
int cudaDeviceGetPCIBusId(char *text, int bytes, int device);
int cudaDeviceGetByPCIBusId(int *device, const char *text);
int cudaDeviceCanAccessPeer(int *can, int device, int peer);
const char *cudaGetErrorString(int error);

/* ---- Kernels ---- */
int cudaLaunchKernelExC(const rt_launch_config *config, const void *host, void **arguments);
int cudaFuncGetAttributes(rt_function_attributes *to, const void *host);
int cudaFuncGetParamInfo(const void *host, size_t index, size_t *offset, size_t *bytes);
int cudaFuncSetAttribute(const void *host, int attribute, int value);
int cudaFuncSetCacheConfig(const void *host, int config);
int cudaFuncGetName(const char **name, const void *host);
int cudaOccupancyMaxActiveClusters(int *clusters, const void *host, const rt_launch_config *config);
int cudaOccupancyMaxPotentialClusterSize(int *size, const void *host,
                                         const rt_launch_config *config);
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host,
                                                           int threads, size_t dynamic_shared_bytes,
                                                           unsigned flags);
int cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *host, int blocks,
                                              int threads);

/* ---- Libraries ---- */
int cudaLibraryGetKernel(void **kernel, void *library, const char *name);
int cudaLibraryGetKernelCount(unsigned *count, void *library);
int cudaLibraryEnumerateKernels(void **kernels, unsigned most, void *library);
int cudaLibraryGetGlobal(void **address, size_t *bytes, void *library, const char *name);
int cudaLibraryUnload(void *library);

/* ---- Memory ---- */
int cudaMalloc(void **address, size_t bytes);
int cudaMallocManaged(void **address, size_t bytes, unsigned flags);
int cudaMallocPitch(void **address, size_t *pitch, size_t width_bytes, size_t rows);
int cudaFree(void *address);
int cudaHostAlloc(void **address, size_t bytes, unsigned flags);
int cudaFreeHost(void *address);
int cudaHostRegister(void *address, size_t bytes, unsigned flags);
int cudaHostUnregister(void *address);
int cudaHostGetDevicePointer(void **device, void *host, unsigned flags);
int cudaHostGetFlags(unsigned *flags, void *host);
int cudaMemGetInfo(size_t *available, size_t *total);
int cudaMallocAsync(void **address, size_t bytes, void *stream);
int cudaMallocFromPoolAsync(void **address, size_t bytes, void *pool, void *stream);
int cudaFreeAsync(void *address, void *stream);
int cudaMemPoolCreate(void **pool, const void *properties);
int cudaMemPoolDestroy(void *pool);
int cudaMemPoolTrimTo(void *pool, size_t bytes);
int cudaMemPoolSetAttribute(void *pool, int attribute, void *value);
int cudaMemPoolGetAttribute(void *pool, int attribute, void *value);
int cudaMemPoolSetAccess(void *pool, const void *access, size_t count);
int cudaMemPoolGetAccess(int *flags, void *pool, const rt_location *location);
int cudaDeviceGetDefaultMemPool(void **pool, int device);
int cudaDeviceGetMemPool(void **pool, int device);
int cudaDeviceSetMemPool(int device, void *pool);
int cudaStreamAttachMemAsync(void *stream, void *address, size_t bytes, unsigned flags);

/* ---- Several processes ---- */
int cudaIpcGetMemHandle(rt_ipc_handle *to, void *address);
int cudaIpcOpenMemHandle(void **address, rt_ipc_handle from, unsigned flags);
int cudaIpcCloseMemHandle(void *address);
int cudaIpcGetEventHandle(rt_ipc_handle *to, void *event);
int cudaIpcOpenEventHandle(void **event, rt_ipc_handle from);

/* ---- Copies and fills ---- */
int cudaMemcpy(void *to, const void *from, size_t bytes, int direction);
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int direction, void *stream);
int cudaMemcpy3D(const rt_copy_3d *how);
int cudaMemcpy3DAsync(const rt_copy_3d *how, void *stream);
int cudaMemset(void *to, int value, size_t bytes);
int cudaMemset2D(void *to, size_t pitch, int value, size_t width_bytes, size_t rows);
int cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width_bytes, size_t rows,
                      void *stream);

/* ---- Advice ---- */
#if CUDART_MAJOR >= 13
int cudaMemPrefetchAsync(const void *address, size_t bytes, rt_location location, unsigned flags,
                         void *stream);
int cudaMemAdvise(const void *address, size_t bytes, int number, rt_location location);
#endif
int cudaMemRangeGetAttributes(void **to, const size_t *bytes, const int *attributes, size_t count,
                              const void *address, size_t range_bytes);

/* ---- Arrays, textures, surfaces ---- */
int cudaMalloc3DArray(void **handle, const rt_channel *channel, rt_extent extent, unsigned flags);
int cudaFreeArray(void *handle);
int cudaArrayGetInfo(rt_channel *channel, rt_extent *extent, unsigned *flags, void *handle);
int cudaMallocMipmappedArray(void **handle, const rt_channel *channel, rt_extent extent,
                             unsigned levels, unsigned flags);
int cudaGetMipmappedArrayLevel(void **level, const void *handle, unsigned number);
int cudaFreeMipmappedArray(void *handle);
int cudaCreateTextureObject(uint64_t *handle, const rt_resource *resource,
                            const rt_sampler *sampler, const rt_view *view);
int cudaCreateSurfaceObject(uint64_t *handle, const rt_resource *resource);
int cudaDestroyTextureObject(uint64_t handle);

/* ---- Streams and events ---- */
int cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority);
int cudaStreamDestroy(void *stream);
int cudaStreamSynchronize(void *stream);
int cudaStreamQuery(void *stream);
int cudaStreamWaitEvent(void *stream, void *event, unsigned flags);
int cudaStreamGetPriority(void *stream, int *priority);
int cudaStreamGetFlags(void *stream, unsigned *flags);
int cudaStreamGetId(void *stream, unsigned long long *number);
int cudaStreamGetDevice(void *stream, int *device);
int cudaStreamSetAttribute(void *stream, int attribute, const void *value);
int cudaStreamGetAttribute(void *stream, int attribute, void *value);
int cudaStreamCopyAttributes(void *to, void *from);
int cudaStreamIsCapturing(void *stream, int *status);
int cudaThreadExchangeStreamCaptureMode(int *mode);
int cudaStreamAddCallback(void *stream, void (*function)(void *stream, int status, void *data),
                          void *data, unsigned flags);
int cudaLaunchHostFunc(void *stream, void (*function)(void *), void *data);
int cudaEventCreateWithFlags(void **event, unsigned flags);
int cudaEventDestroy(void *event);
int cudaEventRecordWithFlags(void *event, void *stream, unsigned flags);
int cudaEventSynchronize(void *event);
int cudaEventQuery(void *event);
int cudaEventElapsedTime(float *milliseconds, void *from, void *to);

#endif
