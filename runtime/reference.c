/* Texture and surface references, which nvcc compiles up to CUDA 11: variables of the program that
 * memory is bound to. In the PTX each is a variable (.texref, .surfref); what is bound becomes a
 * texture or surface object, whose handle the variable holds. */
#include "array.h"

#if CUDART_MAJOR == 11

/* What a program says of a texture: textureReference. */
typedef struct reference {
  int is_normalised, filter, outside[3];
  rt_channel channel;
  int srgb;
  unsigned anisotropy;
  int level_filter;
  float level_bias, least_level, most_level;
  int has_no_trilinear_optimisation;
  int reserved[14];
} reference;

/* ---- Registration ---- */

/* device is the name in the PTX, though CUDA's headers declare it as the address of one; name is
 * that of the source. */

void __cudaRegisterTexture(void **handle, const reference *host, const char *device,
                           const char *name, int dimensions, int reads_fraction, int is_external);
void __cudaRegisterTexture(void **handle, const reference *host, const char *device,
                           const char *name, int dimensions, int reads_fraction, int is_external) {
  (void)name, (void)dimensions, (void)is_external;
  rt_add_variable(handle, host, device,
                  &(rt_variable){.bytes = sizeof(uint64_t), .reads_fraction = reads_fraction != 0});
}

void __cudaRegisterSurface(void **handle, const void *host, const char *device, const char *name,
                           int dimensions, int is_external);
void __cudaRegisterSurface(void **handle, const void *host, const char *device, const char *name,
                           int dimensions, int is_external) {
  (void)name, (void)dimensions, (void)is_external;
  rt_add_variable(handle, host, device, &(rt_variable){.bytes = sizeof(uint64_t)});
}

/* ---- Binding ---- */

/* Where the handle of a reference is; a cudaError. */
static int find_handle(rt_context *context, const void *host, uint64_t **handle) {
  bf_emu_range range;
  int error = host ? rt_locate(context, host, &range) : cudaErrorInvalidTexture;
  *handle = error == cudaSuccess ? (uint64_t *)(uintptr_t)range.address : NULL;
  return error == cudaErrorInvalidSymbol ? cudaErrorInvalidTexture : error;
}

/* Takes what is bound away. */
static void unbind(rt_context *context, uint64_t *handle) {
  if (*handle)
    rt_texture_remove(context, *handle);
  *handle = 0;
}

/* How a reference is read. */
static rt_sampler sampler_of(const rt_context *context, const reference *host) {
  const rt_variable *variable = rt_map_get(&context->variables, host);
  return (rt_sampler){.outside = {host->outside[0], host->outside[1], host->outside[2]},
                      .filter = host->filter,
                      .read_mode = variable && variable->reads_fraction,
                      .srgb = host->srgb,
                      .is_normalised = host->is_normalised,
                      .anisotropy = host->anisotropy,
                      .level_filter = host->level_filter,
                      .level_bias = host->level_bias,
                      .least_level = host->least_level,
                      .most_level = host->most_level};
}

/* Binds a resource to a texture. Launches that were asked for before read what was bound then. */
static int bind(const reference *host, const rt_resource *what, const char *call) {
  RT_ENTER_DEVICE(context);
  rt_await(context, RT_ALL_STREAMS);
  uint64_t *handle, made;
  int error = find_handle(context, host, &handle);
  if (error != cudaSuccess)
    return rt_leave(context, error);
  rt_sampler sampler = sampler_of(context, host);
  error = rt_texture_make(context, what, &sampler, &made, call);
  if (error == cudaSuccess) {
    unbind(context, handle);
    *handle = made;
  }
  return rt_leave(context, error);
}

/* Bytes of an allocation from an address on. */
static size_t bytes_from(const void *address, size_t most) {
  rt_context *context = rt_enter();
  bf_emu_range range;
  uint64_t at = (uint64_t)(uintptr_t)address;
  bool is_known = rt_set_up(context) == cudaSuccess && bf_emu_find(context->emu, at, &range);
  uint64_t bytes = is_known ? range.bytes - (at - range.address) : most;
  rt_leave(context, cudaSuccess);
  return bytes < most ? (size_t)bytes : most;
}

/* Programs that do not say how much there is say UINT_MAX. Any address may be bound: the offset
 * that a program must add where it is not aligned is 0. */
API(cudaBindTexture, size_t *offset, const reference *host, const void *address,
    const rt_channel *channel, size_t bytes) {
  if (offset)
    *offset = 0;
  if (!host || !channel)
    return cudaErrorInvalidValue;
  rt_resource what = {.type = RT_RESOURCE_LINEAR};
  what.memory.address = (void *)(uintptr_t)address;
  what.memory.channel = *channel;
  what.memory.bytes_or_width = bytes_from(address, bytes);
  return bind(host, &what, "cudaBindTexture");
}

API(cudaBindTexture2D, size_t *offset, const reference *host, const void *address,
    const rt_channel *channel, size_t width, size_t height, size_t pitch) {
  if (offset)
    *offset = 0;
  if (!host || !channel)
    return cudaErrorInvalidValue;
  rt_resource what = {.type = RT_RESOURCE_PITCHED};
  what.memory.address = (void *)(uintptr_t)address;
  what.memory.channel = *channel;
  what.memory.bytes_or_width = width;
  what.memory.height = height;
  what.memory.pitch_bytes = pitch;
  return bind(host, &what, "cudaBindTexture2D");
}

API(cudaBindTextureToArray, const reference *host, const void *array, const rt_channel *channel) {
  (void)channel; /* that of the array */
  rt_resource what = {.type = RT_RESOURCE_ARRAY, .array = (void *)(uintptr_t)array};
  return host ? bind(host, &what, "cudaBindTextureToArray") : cudaErrorInvalidTexture;
}

API(cudaBindTextureToMipmappedArray, const reference *host, const void *array,
    const rt_channel *channel) {
  (void)channel;
  rt_resource what = {.type = RT_RESOURCE_MIPMAPPED, .array = (void *)(uintptr_t)array};
  return host ? bind(host, &what, "cudaBindTextureToMipmappedArray") : cudaErrorInvalidTexture;
}

API(cudaBindSurfaceToArray, const void *host, const void *array, const rt_channel *channel) {
  RT_ENTER_DEVICE(context);
  (void)channel;
  rt_await(context, RT_ALL_STREAMS);
  rt_resource what = {.type = RT_RESOURCE_ARRAY, .array = (void *)(uintptr_t)array};
  uint64_t *handle, made;
  int error = find_handle(context, host, &handle);
  if (error != cudaSuccess)
    return rt_leave(context, cudaErrorInvalidSurface);
  error = rt_texture_make(context, &what, NULL, &made, "cudaBindSurfaceToArray");
  if (error == cudaSuccess) {
    unbind(context, handle);
    *handle = made;
  }
  return rt_leave(context, error);
}

API(cudaUnbindTexture, const reference *host) {
  RT_ENTER_DEVICE(context);
  rt_await(context, RT_ALL_STREAMS);
  uint64_t *handle;
  int error = find_handle(context, host, &handle);
  if (error == cudaSuccess)
    unbind(context, handle);
  return rt_leave(context, error);
}

/* ---- Questions ---- */

API(cudaGetTextureAlignmentOffset, size_t *offset, const reference *host) {
  RT_ENTER_DEVICE(context);
  uint64_t *handle;
  int error = find_handle(context, host, &handle);
  if (error == cudaSuccess && !*handle)
    error = cudaErrorInvalidTextureBinding;
  if (error == cudaSuccess && offset)
    *offset = 0;
  return rt_leave(context, offset ? error : cudaErrorInvalidValue);
}

/* A reference stands for itself. */
API(cudaGetTextureReference, const void **found, const void *symbol) {
  RT_ENTER(context);
  bool is_known = rt_map_get(&context->variables, symbol) != NULL;
  if (found && is_known)
    *found = symbol;
  return rt_leave(context, !found     ? cudaErrorInvalidValue
                           : is_known ? cudaSuccess
                                      : cudaErrorInvalidTexture);
}
extern __typeof__(cudaGetTextureReference) cudaGetSurfaceReference
    __attribute__((alias("cudaGetTextureReference")));

#endif
