/* Arrays, with mipmaps and without, and copies to and from them. The texels of an array lie row
 * after row without gaps, so that they are copied like any other memory. */
#include "array.h"

#include <stdlib.h>

/* ---- Arrays ---- */

bool rt_count_channels(const rt_channel *channel, unsigned *channels, unsigned *bits) {
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
  if (!handle || !channel || extent.width == 0 || !rt_count_channels(channel, &channels, &bits))
    return cudaErrorInvalidValue;
  if (flags & RT_CUBEMAP && (extent.width != extent.height || extent.depth == 0 ||
                             extent.depth % 6 != 0 || (extent.depth != 6 && !(flags & RT_LAYERED))))
    return cudaErrorInvalidValue;
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

/* ---- Mipmaps ---- */

/* The texels of a level in one dimension: half as many in each, layers excepted. */
static size_t halved(size_t size, unsigned level) {
  return size == 0 ? 0 : at_least_one(size >> level);
}

static void free_mipmap(rt_context *context, rt_mipmap *mipmap) {
  rt_map_remove(&context->mipmaps, mipmap);
  for (unsigned i = 0; i < mipmap->levels; i++)
    free_array(context, mipmap->level[i]);
  free(mipmap);
}

/* Makes an array of each level; a cudaError. */
static int make_mipmap(rt_context *context, void **handle, const rt_channel *channel,
                       rt_extent extent, unsigned levels, unsigned flags) {
  size_t most = extent.width > extent.height ? extent.width : extent.height;
  unsigned possible = 1;
  bool has_layers = flags & (RT_LAYERED | RT_CUBEMAP);
  most = has_layers || most > extent.depth ? most : extent.depth;
  while (most >> possible)
    possible++;
  if (!handle || levels == 0)
    return cudaErrorInvalidValue;
  levels = levels < possible ? levels : possible;
  levels = levels < BF_EMU_MOST_LEVELS ? levels : BF_EMU_MOST_LEVELS;
  rt_mipmap *mipmap = calloc(1, sizeof *mipmap);
  if (!mipmap || !rt_map_put(&context->mipmaps, mipmap, mipmap)) {
    free(mipmap);
    return cudaErrorMemoryAllocation;
  }
  int error = cudaSuccess;
  for (unsigned i = 0; i < levels && error == cudaSuccess; i++) {
    rt_extent size = {halved(extent.width, i), halved(extent.height, i),
                      has_layers ? extent.depth : halved(extent.depth, i)};
    void *level;
    error = make_array(context, &level, channel, size, flags);
    if (error == cudaSuccess)
      mipmap->level[mipmap->levels++] = level;
  }
  if (error == cudaSuccess)
    *handle = mipmap;
  else
    free_mipmap(context, mipmap);
  return error;
}

API(cudaMallocMipmappedArray, void **handle, const rt_channel *channel, rt_extent extent,
    unsigned levels, unsigned flags) {
  RT_ENTER_DEVICE(context);
  return rt_leave(context, make_mipmap(context, handle, channel, extent, levels, flags));
}

API(cudaGetMipmappedArrayLevel, void **level, const void *handle, unsigned number) {
  RT_ENTER_DEVICE(context);
  const rt_mipmap *mipmap = rt_map_get(&context->mipmaps, handle);
  if (!level || !mipmap || number >= mipmap->levels)
    return rt_leave(context, cudaErrorInvalidValue);
  *level = mipmap->level[number];
  return rt_leave(context, cudaSuccess);
}

API(cudaFreeMipmappedArray, void *handle) {
  RT_SYNCHRONISE(context);
  rt_mipmap *mipmap = rt_map_get(&context->mipmaps, handle);
  if (mipmap)
    free_mipmap(context, mipmap);
  return rt_leave(context, mipmap || !handle ? cudaSuccess : cudaErrorInvalidValue);
}

void rt_destroy_arrays(rt_context *context) {
  size_t cursor = 0;
  for (rt_mipmap *mipmap; (mipmap = rt_map_next(&context->mipmaps, &cursor));)
    free_mipmap(context, mipmap);
  cursor = 0;
  for (rt_array *array; (array = rt_map_next(&context->arrays, &cursor));)
    free_array(context, array);
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
  RT_SYNCHRONISE_WITH(context, NULL);
  return rt_leave(context,
                  copy_rows(context, place_in(context, array, x, y), plain_side(from, pitch),
                            width_bytes, rows, direction, "cudaMemcpy2DToArray"));
}
PER_THREAD(cudaMemcpy2DToArray, ptds);

API(cudaMemcpy2DToArrayAsync, void *array, size_t x, size_t y, const void *from, size_t pitch,
    size_t width_bytes, size_t rows, int direction, void *stream) {
  RT_ENTER_DEVICE(context);
  rt_await(context, stream);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  return rt_leave(context,
                  copy_rows(context, place_in(context, array, x, y), plain_side(from, pitch),
                            width_bytes, rows, direction, "cudaMemcpy2DToArrayAsync"));
}
PER_THREAD(cudaMemcpy2DToArrayAsync, ptsz);

API(cudaMemcpy2DFromArray, void *to, size_t pitch, const void *array, size_t x, size_t y,
    size_t width_bytes, size_t rows, int direction) {
  RT_SYNCHRONISE_WITH(context, NULL);
  return rt_leave(context, copy_rows(context, plain_side(to, pitch), place_in(context, array, x, y),
                                     width_bytes, rows, direction, "cudaMemcpy2DFromArray"));
}
PER_THREAD(cudaMemcpy2DFromArray, ptds);

API(cudaMemcpy2DFromArrayAsync, void *to, size_t pitch, const void *array, size_t x, size_t y,
    size_t width_bytes, size_t rows, int direction, void *stream) {
  RT_ENTER_DEVICE(context);
  rt_await(context, stream);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  return rt_leave(context, copy_rows(context, plain_side(to, pitch), place_in(context, array, x, y),
                                     width_bytes, rows, direction, "cudaMemcpy2DFromArrayAsync"));
}
PER_THREAD(cudaMemcpy2DFromArrayAsync, ptsz);

API(cudaMemcpy2DArrayToArray, void *to, size_t to_x, size_t to_y, const void *from, size_t from_x,
    size_t from_y, size_t width_bytes, size_t rows, int direction) {
  RT_SYNCHRONISE_WITH(context, NULL);
  return rt_leave(context, copy_rows(context, place_in(context, to, to_x, to_y),
                                     place_in(context, from, from_x, from_y), width_bytes, rows,
                                     direction, "cudaMemcpy2DArrayToArray"));
}
PER_THREAD(cudaMemcpy2DArrayToArray, ptds);

API(cudaMemcpyToArray, void *array, size_t x, size_t y, const void *from, size_t bytes,
    int direction) {
  RT_SYNCHRONISE_WITH(context, NULL);
  return rt_leave(context, copy_rows(context, place_in(context, array, x, y), plain_side(from, 0),
                                     bytes, 1, direction, "cudaMemcpyToArray"));
}
PER_THREAD(cudaMemcpyToArray, ptds);

API(cudaMemcpyFromArray, void *to, const void *array, size_t x, size_t y, size_t bytes,
    int direction) {
  RT_SYNCHRONISE_WITH(context, NULL);
  return rt_leave(context, copy_rows(context, plain_side(to, 0), place_in(context, array, x, y),
                                     bytes, 1, direction, "cudaMemcpyFromArray"));
}
PER_THREAD(cudaMemcpyFromArray, ptds);

API(cudaMemcpyToArrayAsync, void *array, size_t x, size_t y, const void *from, size_t bytes,
    int direction, void *stream) {
  RT_ENTER_DEVICE(context);
  rt_await(context, stream);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  return rt_leave(context, copy_rows(context, place_in(context, array, x, y), plain_side(from, 0),
                                     bytes, 1, direction, "cudaMemcpyToArrayAsync"));
}
PER_THREAD(cudaMemcpyToArrayAsync, ptsz);

API(cudaMemcpyFromArrayAsync, void *to, const void *array, size_t x, size_t y, size_t bytes,
    int direction, void *stream) {
  RT_ENTER_DEVICE(context);
  rt_await(context, stream);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  return rt_leave(context, copy_rows(context, plain_side(to, 0), place_in(context, array, x, y),
                                     bytes, 1, direction, "cudaMemcpyFromArrayAsync"));
}
PER_THREAD(cudaMemcpyFromArrayAsync, ptsz);

API(cudaMemcpyArrayToArray, void *to, size_t to_x, size_t to_y, const void *from, size_t from_x,
    size_t from_y, size_t bytes, int direction) {
  RT_SYNCHRONISE_WITH(context, NULL);
  return rt_leave(context, copy_rows(context, place_in(context, to, to_x, to_y),
                                     place_in(context, from, from_x, from_y), bytes, 1, direction,
                                     "cudaMemcpyArrayToArray"));
}
PER_THREAD(cudaMemcpyArrayToArray, ptds);
