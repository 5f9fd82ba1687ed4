/* Arrays, textures and surfaces. The texels of an array lie row after row without gaps, so that
 * they are copied like any other memory. */
#include "context.h"

#include <stdlib.h>

/* Flags of arrays. */
enum { LAYERED = 1, CUBEMAP = 4 };

struct rt_array {
  rt_channel channel;
  rt_extent extent; /* texels, 0 for dimensions that it does not have; depth: layers too */
  unsigned flags;
  char *address;
  size_t texel_bytes, pitch_bytes, slice_bytes;
};

/* ---- Arrays ---- */

/* Channels of a texel, all of the same bits; false where no texture has such texels. */
static bool count_channels(const rt_channel *channel, unsigned *channels, unsigned *bits) {
  const int size[4] = {channel->x, channel->y, channel->z, channel->w};
  *bits = (unsigned)size[0];
  *channels = 0;
  while (*channels < 4 && size[*channels])
    if (size[(*channels)++] != size[0])
      return false;
  for (unsigned i = *channels; i < 4; i++)
    if (size[i])
      return false;
  bool has_bits = *bits == 8 || *bits == 16 || *bits == 32;
  return has_bits && (*channels == 1 || *channels == 2 || *channels == 4) && channel->kind >= 0 &&
         channel->kind <= 2 && !(channel->kind == 2 && *bits == 8);
}

static size_t at_least_one(size_t number) { return number ? number : 1; }

/* Fills in the sizes; false where they are more than memory can hold. */
static bool measure(rt_array *array, uint64_t *bytes) {
  return !__builtin_mul_overflow(array->extent.width, array->texel_bytes, &array->pitch_bytes) &&
         !__builtin_mul_overflow(array->pitch_bytes, at_least_one(array->extent.height),
                                 &array->slice_bytes) &&
         !__builtin_mul_overflow(array->slice_bytes, at_least_one(array->extent.depth), bytes);
}

/* Makes an array; a cudaError. */
static int make_array(rt_context *context, void **handle, const rt_channel *channel,
                      rt_extent extent, unsigned flags) {
  unsigned channels, bits;
  uint64_t bytes, address;
  bf_diagnostic diagnostic;
  if (!handle || !channel || extent.width == 0 || !count_channels(channel, &channels, &bits))
    return cudaErrorInvalidValue;
  if (flags & CUBEMAP) {
    rt_say(context, "arrays of cube maps are not supported");
    return cudaErrorNotSupported;
  }
  rt_array made = {
      .channel = *channel, .extent = extent, .flags = flags, .texel_bytes = channels * bits / 8};
  rt_array *array = malloc(sizeof *array);
  if (!array || !measure(&made, &bytes) ||
      bf_emu_alloc(context->emu, bytes, 0, &address, &diagnostic) != BF_OK) {
    free(array);
    return cudaErrorMemoryAllocation;
  }
  made.address = (char *)(uintptr_t)address;
  *array = made;
  *handle = array;
  if (rt_map_put(&context->arrays, array, array))
    return cudaSuccess;
  bf_emu_release(context->emu, address, &diagnostic);
  free(array);
  return cudaErrorMemoryAllocation;
}

static void free_array(rt_context *context, rt_array *array) {
  bf_diagnostic diagnostic;
  rt_map_remove(&context->arrays, array);
  bf_emu_release(context->emu, (uint64_t)(uintptr_t)array->address, &diagnostic);
  free(array);
}

API(cudaMallocArray, void **handle, const rt_channel *channel, size_t width, size_t height,
    unsigned flags) {
  RT_ENTER_DEVICE(context);
  return rt_leave(context,
                  make_array(context, handle, channel, (rt_extent){width, height, 0}, flags));
}

API(cudaMalloc3DArray, void **handle, const rt_channel *channel, rt_extent extent, unsigned flags) {
  RT_ENTER_DEVICE(context);
  return rt_leave(context, make_array(context, handle, channel, extent, flags));
}

API(cudaFreeArray, void *handle) {
  RT_SYNCHRONISE(context);
  rt_array *array = rt_map_get(&context->arrays, handle);
  if (array)
    free_array(context, array);
  return rt_leave(context, array || !handle ? cudaSuccess : cudaErrorInvalidValue);
}

API(cudaArrayGetInfo, rt_channel *channel, rt_extent *extent, unsigned *flags, void *handle) {
  RT_ENTER_DEVICE(context);
  const rt_array *array = rt_map_get(&context->arrays, handle);
  if (!array)
    return rt_leave(context, cudaErrorInvalidValue);
  if (channel)
    *channel = array->channel;
  if (extent)
    *extent = array->extent;
  if (flags)
    *flags = array->flags;
  return rt_leave(context, cudaSuccess);
}

API(cudaGetChannelDesc, rt_channel *channel, const void *handle) {
  RT_ENTER_DEVICE(context);
  const rt_array *array = rt_map_get(&context->arrays, handle);
  if (!array || !channel)
    return rt_leave(context, cudaErrorInvalidValue);
  *channel = array->channel;
  return rt_leave(context, cudaSuccess);
}

void rt_destroy_arrays(rt_context *context) {
  size_t cursor = 0;
  for (rt_array *array; (array = rt_map_next(&context->arrays, &cursor));)
    free_array(context, array);
  cursor = 0;
  for (void *handle; (handle = rt_map_next(&context->textures, &cursor));) {
    bf_emu_texture_remove(context->emu, (uint64_t)(uintptr_t)handle);
    rt_map_remove(&context->textures, handle);
  }
}

/* ---- Copies ---- */

bool rt_array_side(const rt_context *context, const void *handle, rt_position position,
                   rt_side *side, size_t *texel_bytes) {
  const rt_array *array = rt_map_get(&context->arrays, handle);
  if (!array)
    return false;
  *texel_bytes = array->texel_bytes;
  *side = (rt_side){array->address + position.z * array->slice_bytes +
                        position.y * array->pitch_bytes + position.x * array->texel_bytes,
                    array->pitch_bytes, array->slice_bytes};
  return true;
}

/* The place in an array at x bytes and y rows; address NULL where there is no such array. */
static rt_side place_in(const rt_context *context, const void *handle, size_t x, size_t y) {
  rt_side side = {NULL, 0, 0};
  size_t texel_bytes;
  if (rt_array_side(context, handle, (rt_position){0, y, 0}, &side, &texel_bytes))
    side.address += x;
  return side;
}

/* Copies a box of rows; a cudaError. */
static int copy_rows(rt_context *context, rt_side to, rt_side from, size_t width_bytes, size_t rows,
                     int direction, const char *call) {
  if (!to.address || !from.address)
    return cudaErrorInvalidValue;
  return rt_copy_box(context, to, from, (rt_extent){width_bytes, rows, 1}, direction, call);
}

static rt_side plain_side(const void *address, size_t pitch_bytes) {
  return (rt_side){(char *)(uintptr_t)address, pitch_bytes, 0};
}

API(cudaMemcpy2DToArray, void *array, size_t x, size_t y, const void *from, size_t pitch,
    size_t width_bytes, size_t rows, int direction) {
  RT_SYNCHRONISE(context);
  return rt_leave(context,
                  copy_rows(context, place_in(context, array, x, y), plain_side(from, pitch),
                            width_bytes, rows, direction, "cudaMemcpy2DToArray"));
}
PER_THREAD(cudaMemcpy2DToArray, ptds);

API(cudaMemcpy2DToArrayAsync, void *array, size_t x, size_t y, const void *from, size_t pitch,
    size_t width_bytes, size_t rows, int direction, void *stream) {
  RT_ENTER_DEVICE(context);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  return rt_leave(context,
                  copy_rows(context, place_in(context, array, x, y), plain_side(from, pitch),
                            width_bytes, rows, direction, "cudaMemcpy2DToArrayAsync"));
}
PER_THREAD(cudaMemcpy2DToArrayAsync, ptsz);

API(cudaMemcpy2DFromArray, void *to, size_t pitch, const void *array, size_t x, size_t y,
    size_t width_bytes, size_t rows, int direction) {
  RT_SYNCHRONISE(context);
  return rt_leave(context, copy_rows(context, plain_side(to, pitch), place_in(context, array, x, y),
                                     width_bytes, rows, direction, "cudaMemcpy2DFromArray"));
}
PER_THREAD(cudaMemcpy2DFromArray, ptds);

API(cudaMemcpy2DFromArrayAsync, void *to, size_t pitch, const void *array, size_t x, size_t y,
    size_t width_bytes, size_t rows, int direction, void *stream) {
  RT_ENTER_DEVICE(context);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  return rt_leave(context, copy_rows(context, plain_side(to, pitch), place_in(context, array, x, y),
                                     width_bytes, rows, direction, "cudaMemcpy2DFromArrayAsync"));
}
PER_THREAD(cudaMemcpy2DFromArrayAsync, ptsz);

API(cudaMemcpy2DArrayToArray, void *to, size_t to_x, size_t to_y, const void *from, size_t from_x,
    size_t from_y, size_t width_bytes, size_t rows, int direction) {
  RT_SYNCHRONISE(context);
  return rt_leave(context, copy_rows(context, place_in(context, to, to_x, to_y),
                                     place_in(context, from, from_x, from_y), width_bytes, rows,
                                     direction, "cudaMemcpy2DArrayToArray"));
}
PER_THREAD(cudaMemcpy2DArrayToArray, ptds);

API(cudaMemcpyToArray, void *array, size_t x, size_t y, const void *from, size_t bytes,
    int direction) {
  RT_SYNCHRONISE(context);
  return rt_leave(context, copy_rows(context, place_in(context, array, x, y), plain_side(from, 0),
                                     bytes, 1, direction, "cudaMemcpyToArray"));
}
PER_THREAD(cudaMemcpyToArray, ptds);

API(cudaMemcpyFromArray, void *to, const void *array, size_t x, size_t y, size_t bytes,
    int direction) {
  RT_SYNCHRONISE(context);
  return rt_leave(context, copy_rows(context, plain_side(to, 0), place_in(context, array, x, y),
                                     bytes, 1, direction, "cudaMemcpyFromArray"));
}
PER_THREAD(cudaMemcpyFromArray, ptds);

/* ---- Textures and surfaces ---- */

/* The texels of a resource; a cudaError. */
static int describe_texels(rt_context *context, const rt_resource *resource,
                           bf_emu_texture *texture, const char *call) {
  rt_channel channel;
  uint64_t bytes;
  const rt_array *array;
  *texture = (bf_emu_texture){.width = 1, .height = 1, .depth = 1};
  switch (resource->type) {
  case RT_RESOURCE_ARRAY:
    array = rt_map_get(&context->arrays, resource->array);
    if (!array)
      return cudaErrorInvalidValue;
    channel = array->channel;
    texture->address = (uint64_t)(uintptr_t)array->address;
    texture->pitch_bytes = array->pitch_bytes;
    texture->slice_bytes = array->slice_bytes;
    texture->width = (uint32_t)array->extent.width;
    texture->height = (uint32_t)at_least_one(array->extent.height);
    texture->depth = (uint32_t)at_least_one(array->extent.depth);
    bytes = array->slice_bytes * texture->depth;
    break;
  case RT_RESOURCE_LINEAR:
  case RT_RESOURCE_PITCHED:
    channel = resource->memory.channel;
    texture->address = (uint64_t)(uintptr_t)resource->memory.address;
    bytes = resource->memory.bytes_or_width;
    break;
  default:
    rt_say(context, "%s: mipmapped arrays are not supported", call);
    return cudaErrorNotSupported;
  }
  if (!count_channels(&channel, &texture->channels, &texture->channel_bits))
    return cudaErrorInvalidChannelDescriptor;
  texture->kind = (bf_emu_texel)channel.kind;
  unsigned texel_bytes = texture->channels * texture->channel_bits / 8;
  if (resource->type == RT_RESOURCE_LINEAR) {
    texture->is_linear = true;
    texture->width = (uint32_t)(bytes / texel_bytes);
  } else if (resource->type == RT_RESOURCE_PITCHED) {
    texture->width = (uint32_t)resource->memory.bytes_or_width;
    texture->height = (uint32_t)resource->memory.height;
    texture->pitch_bytes = resource->memory.pitch_bytes;
    bytes = (at_least_one(texture->height) - 1) * texture->pitch_bytes +
            (uint64_t)texture->width * texel_bytes;
  }
  return rt_holds(context, (void *)(uintptr_t)texture->address, bytes, call)
             ? cudaSuccess
             : cudaErrorInvalidValue;
}

/* Hands a texture or surface to the emulator; a cudaError. */
static int add_texture(rt_context *context, const bf_emu_texture *texture, uint64_t *handle) {
  bf_diagnostic diagnostic;
  int error = bf_emu_texture_add(context->emu, texture, handle, &diagnostic);
  if (error)
    return error == BF_NO_MEMORY ? cudaErrorMemoryAllocation : cudaErrorInvalidValue;
  void *key = (void *)(uintptr_t)*handle;
  if (rt_map_put(&context->textures, key, key))
    return cudaSuccess;
  bf_emu_texture_remove(context->emu, *handle);
  return cudaErrorMemoryAllocation;
}

API(cudaCreateTextureObject, uint64_t *handle, const rt_resource *resource,
    const rt_sampler *sampler, const void *view) {
  RT_ENTER_DEVICE(context);
  bf_emu_texture texture;
  if (!handle || !resource || !sampler)
    return rt_leave(context, cudaErrorInvalidValue);
  if (view) {
    rt_say(context, "cudaCreateTextureObject: views of resources are not supported");
    return rt_leave(context, cudaErrorNotSupported);
  }
  int error = describe_texels(context, resource, &texture, "cudaCreateTextureObject");
  if (error != cudaSuccess)
    return rt_leave(context, error);
  for (unsigned i = 0; i < 3; i++)
    texture.outside[i] = (bf_emu_outside)(sampler->outside[i] & 3);
  for (unsigned i = 0; i < 4; i++)
    texture.border[i] = sampler->border[i];
  texture.is_filtered = sampler->filter != 0;
  texture.is_normalised = sampler->is_normalised != 0;
  texture.reads_fraction = sampler->read_mode != 0 && texture.channel_bits < 32;
  if (texture.is_filtered && texture.kind != BF_EMU_TEXEL_FLOAT && !texture.reads_fraction)
    return rt_leave(context, cudaErrorInvalidFilterSetting);
  return rt_leave(context, add_texture(context, &texture, handle));
}

API(cudaCreateSurfaceObject, uint64_t *handle, const rt_resource *resource) {
  RT_ENTER_DEVICE(context);
  bf_emu_texture surface;
  if (!handle || !resource || resource->type != RT_RESOURCE_ARRAY)
    return rt_leave(context, cudaErrorInvalidValue);
  int error = describe_texels(context, resource, &surface, "cudaCreateSurfaceObject");
  return rt_leave(context, error == cudaSuccess ? add_texture(context, &surface, handle) : error);
}

API(cudaDestroyTextureObject, uint64_t handle) {
  RT_SYNCHRONISE(context);
  void *key = (void *)(uintptr_t)handle;
  if (handle && !rt_map_get(&context->textures, key))
    return rt_leave(context, cudaErrorInvalidValue);
  if (handle) {
    rt_map_remove(&context->textures, key);
    bf_emu_texture_remove(context->emu, handle);
  }
  return rt_leave(context, cudaSuccess);
}
extern __typeof__(cudaDestroyTextureObject) cudaDestroySurfaceObject
    __attribute__((alias("cudaDestroyTextureObject")));
