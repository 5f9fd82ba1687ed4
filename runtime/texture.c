/* Texture and surface objects: what their descriptions say becomes what the emulator reads. */
#include "array.h"

#include <stdlib.h>

/* What a texture or surface was made of. */
typedef struct rt_texture {
  uint64_t handle;
  rt_resource resource;
  rt_sampler sampler;
  rt_view view;
  bool has_sampler, has_view;
} rt_texture;

static size_t at_least_one(size_t number) { return number ? number : 1; }

/* ---- Texels ---- */

/* How texels of a form lie in memory; a cudaError. */
static int describe_channels(const rt_channel *channel, bf_emu_texture *texture) {
  if (!rt_count_channels(channel, &texture->channels, &texture->channel_bits))
    return cudaErrorInvalidChannelDescriptor;
  texture->kind = (bf_emu_texel)channel->kind;
  return cudaSuccess;
}

/* The texels of an array; a cudaError. */
static int describe_array(const rt_array *array, bf_emu_texture *texture) {
  *texture = (bf_emu_texture){.address = (uint64_t)(uintptr_t)array->address,
                              .pitch_bytes = array->pitch_bytes,
                              .slice_bytes = array->slice_bytes,
                              .width = (uint32_t)array->extent.width,
                              .height = (uint32_t)at_least_one(array->extent.height),
                              .depth = (uint32_t)at_least_one(array->extent.depth),
                              .is_cube = array->flags & RT_CUBEMAP,
                              .levels = 1};
  return describe_channels(&array->channel, texture);
}

/* The texels of memory, in a line or in rows; a cudaError. */
static int describe_memory(const rt_context *context, const rt_resource *resource,
                           bf_emu_texture *texture, const char *call) {
  *texture = (bf_emu_texture){.address = (uint64_t)(uintptr_t)resource->memory.address,
                              .height = 1,
                              .depth = 1,
                              .levels = 1};
  int error = describe_channels(&resource->memory.channel, texture);
  if (error != cudaSuccess)
    return error;
  unsigned texel_bytes = texture->channels * texture->channel_bits / 8;
  uint64_t bytes = resource->memory.bytes_or_width;
  if (resource->type == RT_RESOURCE_LINEAR) {
    texture->is_linear = true;
    texture->width = (uint32_t)(bytes / texel_bytes);
  } else {
    texture->width = (uint32_t)resource->memory.bytes_or_width;
    texture->height = (uint32_t)resource->memory.height;
    texture->pitch_bytes = resource->memory.pitch_bytes;
    bytes = (at_least_one(texture->height) - 1) * texture->pitch_bytes +
            (uint64_t)texture->width * texel_bytes;
  }
  return rt_holds(context, resource->memory.address, bytes, call) ? cudaSuccess
                                                                  : cudaErrorInvalidValue;
}

/* The texels of all levels of a resource; a cudaError. */
static int describe_texels(rt_context *context, const rt_resource *resource,
                           bf_emu_texture texture[BF_EMU_MOST_LEVELS], const char *call) {
  const rt_array *array;
  const rt_mipmap *mipmap;
  int error = cudaSuccess;
  switch (resource->type) {
  case RT_RESOURCE_ARRAY:
    array = rt_map_get(&context->arrays, resource->array);
    return array ? describe_array(array, texture) : cudaErrorInvalidValue;
  case RT_RESOURCE_MIPMAPPED:
    mipmap = rt_map_get(&context->mipmaps, resource->array);
    if (!mipmap)
      return cudaErrorInvalidValue;
    for (unsigned i = 0; i < mipmap->levels && error == cudaSuccess; i++)
      error = describe_array(mipmap->level[i], &texture[i]);
    texture->levels = mipmap->levels;
    return error;
  case RT_RESOURCE_LINEAR:
  case RT_RESOURCE_PITCHED:
    return describe_memory(context, resource, texture, call);
  default:
    return cudaErrorInvalidValue;
  }
}

/* ---- Views ---- */

/* The channels of a format of views, from 1 on: kinds of four, with 1, 2 and 4 channels each. */
static bool channel_of_view(int format, rt_channel *channel) {
  static const struct {
    int bits, kind;
  } form[] = {{8, 1}, {8, 0}, {16, 1}, {16, 0}, {32, 1}, {32, 0}, {16, 2}, {32, 2}};
  if (format < 1 || format > 24)
    return false;
  int bits = form[(format - 1) / 3].bits, channels = 1 << (format - 1) % 3;
  *channel = (rt_channel){bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0,
                          channels > 2 ? bits : 0, form[(format - 1) / 3].kind};
  return true;
}

/* Narrows the levels and layers of a texture and reads its texels in another form; a cudaError. */
static int look_through(const rt_context *context, const rt_view *view,
                        bf_emu_texture texture[BF_EMU_MOST_LEVELS]) {
  unsigned levels = texture->levels, first = view->first_level;
  unsigned last = view->last_level < levels ? view->last_level : levels - 1;
  rt_channel channel;
  if (view->width != texture->width || (texture->height > 1 && view->height != texture->height))
    return cudaErrorInvalidValue;
  if (first > last || view->first_layer > view->last_layer || view->last_layer >= texture->depth)
    return cudaErrorInvalidValue;
  if (view->format && !channel_of_view(view->format, &channel)) {
    rt_say(context, "cudaCreateTextureObject: compressed texels are not supported");
    return cudaErrorNotSupported;
  }
  memmove(texture, texture + first, (last - first + 1) * sizeof *texture);
  texture->levels = last - first + 1;
  for (unsigned i = 0; i < texture->levels; i++) {
    unsigned bits = texture[i].channels * texture[i].channel_bits;
    if (view->first_layer || view->last_layer) {
      texture[i].address += view->first_layer * texture[i].slice_bytes;
      texture[i].depth = view->last_layer - view->first_layer + 1;
    }
    if (view->format && (describe_channels(&channel, &texture[i]) != cudaSuccess ||
                         texture[i].channels * texture[i].channel_bits != bits))
      return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

/* ---- Samplers ---- */

/* How all levels are read; a cudaError. */
static int describe_sampler(const rt_sampler *sampler, bool is_seamless, bf_emu_texture *texture) {
  for (unsigned k = 0; k < texture->levels; k++) {
    bf_emu_texture *to = &texture[k];
    for (unsigned i = 0; i < 3; i++)
      to->outside[i] = (bf_emu_outside)(sampler->outside[i] & 3);
    for (unsigned i = 0; i < 4; i++)
      to->border[i] = sampler->border[i];
    to->is_filtered = sampler->filter != 0;
    to->is_normalised = sampler->is_normalised != 0;
    to->reads_fraction = sampler->read_mode != 0 && to->channel_bits < 32;
    to->is_srgb = sampler->srgb != 0;
    to->is_seamless = is_seamless;
    to->blends_levels = sampler->level_filter != 0;
    to->level_bias = sampler->level_bias;
    to->least_level = sampler->least_level;
    to->most_level = sampler->most_level;
    if (to->is_filtered && to->kind != BF_EMU_TEXEL_FLOAT && !to->reads_fraction)
      return cudaErrorInvalidFilterSetting;
  }
  /* Levels and cubes have no texels to count by. */
  return (texture->levels > 1 || texture->is_cube) && !texture->is_normalised
             ? cudaErrorInvalidNormSetting
             : cudaSuccess;
}

/* ---- Objects ---- */

/* Hands a texture or surface to the emulator, and keeps what it was made of; a cudaError. */
static int add_texture(rt_context *context, const bf_emu_texture *texture, const rt_texture *what,
                       uint64_t *handle) {
  bf_diagnostic diagnostic;
  rt_texture *kept = malloc(sizeof *kept);
  int error = kept ? bf_emu_texture_add(context->emu, texture, handle, &diagnostic) : BF_NO_MEMORY;
  if (error) {
    free(kept);
    return error == BF_NO_MEMORY ? cudaErrorMemoryAllocation : cudaErrorInvalidValue;
  }
  *kept = *what;
  kept->handle = *handle;
  if (rt_map_put(&context->textures, (void *)(uintptr_t)*handle, kept))
    return cudaSuccess;
  bf_emu_texture_remove(context->emu, *handle);
  free(kept);
  return cudaErrorMemoryAllocation;
}

/* Makes a texture object; a cudaError. */
static int make_texture(rt_context *context, uint64_t *handle, const rt_texture *what,
                        bool is_seamless, const char *call) {
  bf_emu_texture texture[BF_EMU_MOST_LEVELS];
  int error = describe_texels(context, &what->resource, texture, call);
  if (error == cudaSuccess && what->has_view)
    error = look_through(context, &what->view, texture);
  if (error == cudaSuccess)
    error = describe_sampler(&what->sampler, is_seamless, texture);
  return error == cudaSuccess ? add_texture(context, texture, what, handle) : error;
}

API(cudaCreateTextureObject, uint64_t *handle, const rt_resource *resource,
    const rt_sampler *sampler, const rt_view *view) {
  RT_ENTER_DEVICE(context);
  if (!handle || !resource || !sampler)
    return rt_leave(context, cudaErrorInvalidValue);
  rt_texture what = {.resource = *resource, .sampler = *sampler, .has_sampler = true};
  bool is_seamless = false;
#if CUDART_MAJOR >= 13
  is_seamless = sampler->is_seamless != 0;
#endif
  if (view) {
    what.view = *view;
    what.has_view = true;
  }
  return rt_leave(context,
                  make_texture(context, handle, &what, is_seamless, "cudaCreateTextureObject"));
}

#if CUDART_MAJOR < 13
/* The same with a sampler that says whether cube maps are seamless, behind its end. */
API(cudaCreateTextureObject_v2, uint64_t *handle, const rt_resource *resource,
    const rt_sampler *sampler, const rt_view *view) {
  return cudaCreateTextureObject(handle, resource, sampler, view);
}
#endif

int rt_texture_make(rt_context *context, const rt_resource *resource, const rt_sampler *sampler,
                    uint64_t *handle, const char *call) {
  rt_texture what = {.resource = *resource};
  if (sampler) {
    what.sampler = *sampler;
    what.has_sampler = true;
    return make_texture(context, handle, &what, false, call);
  }
  bf_emu_texture surface[BF_EMU_MOST_LEVELS];
  if (resource->type != RT_RESOURCE_ARRAY)
    return cudaErrorInvalidValue;
  int error = describe_texels(context, resource, surface, call);
  return error == cudaSuccess ? add_texture(context, surface, &what, handle) : error;
}

API(cudaCreateSurfaceObject, uint64_t *handle, const rt_resource *resource) {
  RT_ENTER_DEVICE(context);
  return rt_leave(context, handle && resource ? rt_texture_make(context, resource, NULL, handle,
                                                                "cudaCreateSurfaceObject")
                                              : cudaErrorInvalidValue);
}

static void remove_texture(rt_context *context, rt_texture *texture) {
  bf_emu_texture_remove(context->emu, texture->handle);
  rt_map_remove(&context->textures, (void *)(uintptr_t)texture->handle);
  free(texture);
}

bool rt_texture_remove(rt_context *context, uint64_t handle) {
  rt_texture *texture = rt_map_get(&context->textures, (void *)(uintptr_t)handle);
  if (texture)
    remove_texture(context, texture);
  return texture != NULL;
}

API(cudaDestroyTextureObject, uint64_t handle) {
  RT_SYNCHRONISE(context);
  bool is_known = rt_texture_remove(context, handle);
  return rt_leave(context, is_known || !handle ? cudaSuccess : cudaErrorInvalidValue);
}
extern __typeof__(cudaDestroyTextureObject) cudaDestroySurfaceObject
    __attribute__((alias("cudaDestroyTextureObject")));

void rt_destroy_textures(rt_context *context) {
  size_t cursor = 0;
  for (rt_texture *texture; (texture = rt_map_next(&context->textures, &cursor));)
    remove_texture(context, texture);
}

/* ---- What an object was made of ---- */

API(cudaGetTextureObjectResourceDesc, rt_resource *to, uint64_t handle) {
  RT_ENTER_DEVICE(context);
  const rt_texture *texture = rt_map_get(&context->textures, (void *)(uintptr_t)handle);
  if (!to || !texture)
    return rt_leave(context, cudaErrorInvalidValue);
  *to = texture->resource;
  return rt_leave(context, cudaSuccess);
}
extern __typeof__(cudaGetTextureObjectResourceDesc) cudaGetSurfaceObjectResourceDesc
    __attribute__((alias("cudaGetTextureObjectResourceDesc")));

API(cudaGetTextureObjectTextureDesc, rt_sampler *to, uint64_t handle) {
  RT_ENTER_DEVICE(context);
  const rt_texture *texture = rt_map_get(&context->textures, (void *)(uintptr_t)handle);
  if (!to || !texture || !texture->has_sampler)
    return rt_leave(context, cudaErrorInvalidValue);
  *to = texture->sampler;
  return rt_leave(context, cudaSuccess);
}

API(cudaGetTextureObjectResourceViewDesc, rt_view *to, uint64_t handle) {
  RT_ENTER_DEVICE(context);
  const rt_texture *texture = rt_map_get(&context->textures, (void *)(uintptr_t)handle);
  if (!to || !texture || !texture->has_view)
    return rt_leave(context, cudaErrorInvalidValue);
  *to = texture->view;
  return rt_leave(context, cudaSuccess);
}
