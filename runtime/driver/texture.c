/* Arrays, texture objects and surface objects. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

/* ---- Formats ---- */

/* Formats of channels: number, bits, kind as the runtime has it (signed, unsigned, float). */
static const struct {
  int format, bits, kind;
} formats[] = {{0x01, 8, 1},  {0x02, 16, 1}, {0x03, 32, 1}, {0x08, 8, 0},
               {0x09, 16, 0}, {0x0a, 32, 0}, {0x10, 16, 2}, {0x20, 32, 2}};
enum { FORMATS = sizeof formats / sizeof *formats };

bool dr_channels_of(int format, unsigned channels, rt_channel *to) {
  for (unsigned i = 0; i < FORMATS && channels <= 4; i++)
    if (formats[i].format == format) {
      int bits[4] = {0};
      for (unsigned k = 0; k < channels; k++)
        bits[k] = formats[i].bits;
      *to = (rt_channel){bits[0], bits[1], bits[2], bits[3], formats[i].kind};
      return true;
    }
  return false;
}

/* The format and number of the channels of a texel. */
static int format_of(const rt_channel *from, unsigned *channels) {
  *channels = from->w ? 4 : from->z ? 3 : from->y ? 2 : 1;
  for (unsigned i = 0; i < FORMATS; i++)
    if (formats[i].bits == from->x && formats[i].kind == from->kind)
      return formats[i].format;
  return 0;
}

/* ---- Arrays ---- */

/* Arrays of two dimensions, and of three: CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR. */
typedef struct array_2d {
  size_t width, height;
  int format;
  unsigned channels;
} array_2d;
typedef struct array_3d {
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
} array_3d;

API(cuArray3DCreate_v2, void **array, const array_3d *how) {
  DR_CHECK();
  rt_channel channel;
  if (!array || !how || !dr_channels_of(how->format, how->channels, &channel))
    return CUDA_ERROR_INVALID_VALUE;
  int error = dr_result(cudaMalloc3DArray(
      array, &channel, (rt_extent){how->width, how->height, how->depth}, how->flags));
  return dr_own(error, DR_ARRAY, error ? NULL : *array);
}

API(cuArrayCreate_v2, void **array, const array_2d *how) {
  DR_CHECK();
  if (!how)
    return CUDA_ERROR_INVALID_VALUE;
  array_3d flat = {how->width, how->height, 0, how->format, how->channels, 0};
  return cuArray3DCreate_v2(array, &flat);
}

API(cuArray3DGetDescriptor_v2, array_3d *to, void *array) {
  rt_channel channel;
  rt_extent extent;
  unsigned flags, channels;
  DR_CHECK();
  int error = dr_result(cudaArrayGetInfo(&channel, &extent, &flags, array));
  if (error || !to)
    return error && array ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
  int format = format_of(&channel, &channels);
  *to = (array_3d){extent.width, extent.height, extent.depth, format, channels, flags};
  return CUDA_SUCCESS;
}

API(cuArrayGetDescriptor_v2, array_2d *to, void *array) {
  array_3d all;
  int error = cuArray3DGetDescriptor_v2(to ? &all : NULL, array);
  if (!error)
    *to = (array_2d){all.width, all.height, all.format, all.channels};
  return error;
}

API(cuArrayDestroy, void *array) {
  DR_CHECK();
  if (!array)
    return CUDA_ERROR_INVALID_HANDLE;
  dr_disown(array);
  return dr_result(cudaFreeArray(array));
}

/* ---- Mipmaps ---- */

API(cuMipmappedArrayCreate, void **mipmap, const array_3d *how, unsigned levels) {
  DR_CHECK();
  rt_channel channel;
  if (!mipmap || !how || !dr_channels_of(how->format, how->channels, &channel))
    return CUDA_ERROR_INVALID_VALUE;
  int error = dr_result(cudaMallocMipmappedArray(
      mipmap, &channel, (rt_extent){how->width, how->height, how->depth}, levels, how->flags));
  return dr_own(error, DR_MIPMAP, error ? NULL : *mipmap);
}

API(cuMipmappedArrayGetLevel, void **array, void *mipmap, unsigned level) {
  DR_CHECK();
  return dr_result(cudaGetMipmappedArrayLevel(array, mipmap, level));
}

API(cuMipmappedArrayDestroy, void *mipmap) {
  DR_CHECK();
  if (!mipmap)
    return CUDA_ERROR_INVALID_HANDLE;
  dr_disown(mipmap);
  return dr_result(cudaFreeMipmappedArray(mipmap));
}

/* ---- Textures and surfaces ---- */

/* What a texture reads: CUDA_RESOURCE_DESC. */
typedef struct resource {
  int type; /* as in rt_resource */
  union {
    void *array;
    struct {
      dr_address address;
      int format;
      unsigned channels;
      size_t bytes_or_width, height, pitch_bytes;
    } memory;
    int reserved[32];
  };
  unsigned flags;
} resource;

/* How it reads: CUDA_TEXTURE_DESC. */
typedef struct sampler {
  int outside[3], filter;
  unsigned flags, anisotropy;
  int level_filter;
  float level_bias, least_level, most_level, border[4];
  int reserved[12];
} sampler;
enum { READ_AS_INTEGER = 1, NORMALISED = 2, SRGB = 16, SEAMLESS = 64 };

/* What a texture or surface was made of. */
typedef struct dr_texture {
  resource what;
  sampler how;
  rt_view view;
  bool has_view;
} dr_texture;

/* A resource as the runtime wants it; a CUresult. */
static int translate(const resource *from, rt_resource *to) {
  *to = (rt_resource){.type = from->type};
  if (from->flags)
    return CUDA_ERROR_INVALID_VALUE;
  if (from->type == RT_RESOURCE_ARRAY || from->type == RT_RESOURCE_MIPMAPPED) {
    to->array = from->array;
    return CUDA_SUCCESS;
  }
  to->memory.address = dr_pointer(from->memory.address);
  to->memory.bytes_or_width = from->memory.bytes_or_width;
  to->memory.height = from->memory.height;
  to->memory.pitch_bytes = from->memory.pitch_bytes;
  bool is_known = (from->type == RT_RESOURCE_LINEAR || from->type == RT_RESOURCE_PITCHED) &&
                  dr_channels_of(from->memory.format, from->memory.channels, &to->memory.channel);
  return is_known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The bits and kind of a texel of a resource. */
static rt_channel texel_of(const rt_resource *from) {
  rt_channel channel = from->memory.channel;
  rt_extent extent;
  unsigned flags;
  void *array = from->array;
  if (from->type == RT_RESOURCE_MIPMAPPED &&
      cudaGetMipmappedArrayLevel(&array, from->array, 0) != cudaSuccess)
    return (rt_channel){0};
  if ((from->type == RT_RESOURCE_ARRAY || from->type == RT_RESOURCE_MIPMAPPED) &&
      cudaArrayGetInfo(&channel, &extent, &flags, array) != cudaSuccess)
    return (rt_channel){0};
  return channel;
}

/* Keeps what a texture or surface is made of; a CUresult. */
static int keep(uint64_t handle, const resource *what, const sampler *how, const rt_view *view) {
  rt_context *context = rt_enter();
  dr_texture *made = calloc(1, sizeof *made);
  bool is_kept = made && rt_map_put(&context->driver->textures, dr_pointer(handle), made);
  if (is_kept) {
    made->what = *what;
    if (how)
      made->how = *how;
    made->has_view = view != NULL;
    if (view)
      made->view = *view;
  } else
    free(made);
  return rt_leave(context, is_kept ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

/* Says once that whole numbers were to be blended. An H200 takes such a filter and reads other
 * values between texels' centres than without it (driver_textures in tests/programs read bytes at
 * whole coordinates); which ones is not known. */
static void say_unblended(void) {
  rt_context *context = rt_enter();
  if (!context->is_filter_said)
    rt_say(context,
           "a texture of whole numbers has a filter that blends: it is read without; a GPU "
           "gives other values between the centres of texels");
  context->is_filter_said = true;
  rt_leave(context, CUDA_SUCCESS);
}

API(cuTexObjectCreate, uint64_t *handle, const resource *what, const sampler *how,
    const rt_view *view) {
  rt_resource resource_wanted;
  DR_CHECK();
  if (!handle || !what || !how)
    return CUDA_ERROR_INVALID_VALUE;
  int error = translate(what, &resource_wanted);
  if (error)
    return error;
  rt_channel texel = texel_of(&resource_wanted);
  /* Integers are read as numbers up to 1 unless a flag says otherwise; those of 32 bits cannot be.
   */
  bool reads_fraction = texel.kind != 2 && texel.x < 32 && !(how->flags & READ_AS_INTEGER);
  bool can_blend = texel.kind == 2 || reads_fraction;
  if (how->filter && !can_blend)
    say_unblended();
  rt_sampler wanted = {.filter = can_blend ? how->filter : 0,
                       .read_mode = reads_fraction,
                       .srgb = (how->flags & SRGB) != 0,
                       .anisotropy = how->anisotropy,
                       .level_filter = how->level_filter,
                       .level_bias = how->level_bias,
                       .least_level = how->least_level,
                       .most_level = how->most_level,
                       .is_seamless = (how->flags & SEAMLESS) != 0,
                       .is_normalised = (how->flags & NORMALISED) != 0};
  memcpy(wanted.outside, how->outside, sizeof wanted.outside);
  memcpy(wanted.border, how->border, sizeof wanted.border);
  error = dr_result(cudaCreateTextureObject(handle, &resource_wanted, &wanted, view));
  return error ? error : keep(*handle, what, how, view);
}

API(cuSurfObjectCreate, uint64_t *handle, const resource *what) {
  rt_resource wanted;
  DR_CHECK();
  if (!handle || !what || what->type != RT_RESOURCE_ARRAY)
    return CUDA_ERROR_INVALID_VALUE;
  int error = translate(what, &wanted);
  if (!error)
    error = dr_result(cudaCreateSurfaceObject(handle, &wanted));
  return error ? error : keep(*handle, what, NULL, NULL);
}

API(cuTexObjectDestroy, uint64_t handle) {
  DR_CHECK();
  if (!handle)
    return CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  free(rt_map_get(&context->driver->textures, dr_pointer(handle)));
  rt_map_remove(&context->driver->textures, dr_pointer(handle));
  rt_leave(context, cudaSuccess);
  return dr_result(cudaDestroyTextureObject(handle));
}
DR_ALIAS(cuTexObjectDestroy, cuSurfObjectDestroy);

/* Copies what a texture was made of; a CUresult. */
static int look_up(uint64_t handle, dr_texture *to) {
  DR_CHECK();
  rt_context *context = rt_enter();
  const dr_texture *found = rt_map_get(&context->driver->textures, dr_pointer(handle));
  if (found)
    *to = *found;
  return rt_leave(context, found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

API(cuTexObjectGetResourceDesc, resource *to, uint64_t handle) {
  dr_texture found;
  int error = look_up(handle, &found);
  if (error || !to)
    return error ? error : CUDA_ERROR_INVALID_VALUE;
  *to = found.what;
  return CUDA_SUCCESS;
}
DR_ALIAS(cuTexObjectGetResourceDesc, cuSurfObjectGetResourceDesc);

API(cuTexObjectGetTextureDesc, sampler *to, uint64_t handle) {
  dr_texture found;
  int error = look_up(handle, &found);
  if (error || !to)
    return error ? error : CUDA_ERROR_INVALID_VALUE;
  *to = found.how;
  return CUDA_SUCCESS;
}

API(cuTexObjectGetResourceViewDesc, rt_view *to, uint64_t handle) {
  dr_texture found = {.has_view = false};
  int error = look_up(handle, &found);
  if (error || !to || !found.has_view)
    return error ? error : CUDA_ERROR_INVALID_VALUE;
  *to = found.view;
  return CUDA_SUCCESS;
}
