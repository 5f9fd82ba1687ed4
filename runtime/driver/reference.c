/* Texture and surface references: variables of a module, .texref and .surfref, that memory is bound
 * to. What is bound becomes a texture or surface object, made anew when anything about it changes;
 * the variable holds its handle. */
#include "driver.h"
#include "runtime/array.h"

#include <stdlib.h>
#include <string.h>

enum { READ_AS_INTEGER = 1, NORMALISED = 2, SRGB = 16, FLAGS = 0xff };

/* CUtexref and CUsurfref. */
typedef struct reference {
  uint64_t *handle; /* the variable, or NULL: of no module */
  bool is_surface, is_bound;
  rt_resource what;
  rt_sampler how;
  rt_channel channel; /* of memory; arrays have their own */
  int format;
  unsigned channels, flags;
} reference;

/* The reference of a name; one for each variable, made at the first question. */
static int find(reference **found, void *module, const char *name, bool is_surface) {
  DR_CHECK();
  void *address;
  size_t bytes;
  if (!found || !name)
    return CUDA_ERROR_INVALID_VALUE;
  int error = dr_result(cudaLibraryGetGlobal(&address, &bytes, module, name));
  if (error)
    return error;
  if (bytes != sizeof(uint64_t))
    return CUDA_ERROR_NOT_FOUND;
  rt_context *context = rt_enter();
  reference *one = rt_map_get(&context->driver->references, address);
  if (!one && (one = calloc(1, sizeof *one))) {
    one->handle = address;
    if (!rt_map_put(&context->driver->references, address, one)) {
      free(one);
      one = NULL;
    }
  }
  if (one && !*one->handle) /* new, or that of a module that was unloaded */
    *one = (reference){.handle = address, .is_surface = is_surface};
  *found = one;
  return rt_leave(context, one ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

API(cuModuleGetTexRef, reference **found, void *module, const char *name) {
  return find(found, module, name, false);
}

API(cuModuleGetSurfRef, reference **found, void *module, const char *name) {
  return find(found, module, name, true);
}

API(cuTexRefCreate, reference **made) {
  DR_CHECK();
  if (!made)
    return CUDA_ERROR_INVALID_VALUE;
  *made = calloc(1, sizeof **made);
  return *made ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API(cuTexRefDestroy, reference *one) {
  DR_CHECK();
  if (!one || one->handle)
    return CUDA_ERROR_INVALID_VALUE;
  free(one);
  return CUDA_SUCCESS;
}

/* ---- Binding ---- */

/* Whether whole numbers are read as fractions: unless a flag says otherwise; those of 32 bits never
 * are. */
static bool reads_fraction(const reference *one) {
  rt_channel channel = one->channel;
  rt_extent extent;
  unsigned flags;
  if (one->what.type == RT_RESOURCE_ARRAY)
    cudaArrayGetInfo(&channel, &extent, &flags, one->what.array);
  return channel.kind != 2 && channel.x < 32 && !(one->flags & READ_AS_INTEGER);
}

/* Makes the object anew; a CUresult. */
static int bind(reference *one) {
  if (!one->is_bound || !one->handle)
    return CUDA_SUCCESS;
  rt_sampler how = one->how;
  how.read_mode = reads_fraction(one);
  how.is_normalised = (one->flags & NORMALISED) != 0;
  how.srgb = (one->flags & SRGB) != 0;
  if (one->what.type == RT_RESOURCE_LINEAR || one->what.type == RT_RESOURCE_PITCHED)
    one->what.memory.channel = one->channel;
  rt_context *context = rt_enter_synchronised(RT_ALL_STREAMS);
  uint64_t made;
  int error = rt_texture_make(context, &one->what, one->is_surface ? NULL : &how, &made,
                              "a texture reference");
  if (error == cudaSuccess) {
    if (*one->handle)
      rt_texture_remove(context, *one->handle);
    *one->handle = made;
  }
  return dr_result(rt_leave(context, error));
}

/* Binds a resource; a CUresult. */
static int set(reference *one, rt_resource what) {
  DR_CHECK();
  if (!one)
    return CUDA_ERROR_INVALID_VALUE;
  one->what = what;
  one->is_bound = true;
  return bind(one);
}

API(cuTexRefSetArray, reference *one, void *array, unsigned flags) {
  return flags == 1 ? set(one, (rt_resource){.type = RT_RESOURCE_ARRAY, .array = array})
                    : CUDA_ERROR_INVALID_VALUE;
}

API(cuSurfRefSetArray, reference *one, void *array, unsigned flags) {
  return flags == 0 ? set(one, (rt_resource){.type = RT_RESOURCE_ARRAY, .array = array})
                    : CUDA_ERROR_INVALID_VALUE;
}

API(cuTexRefSetMipmappedArray, reference *one, void *array, unsigned flags) {
  return flags == 1 ? set(one, (rt_resource){.type = RT_RESOURCE_MIPMAPPED, .array = array})
                    : CUDA_ERROR_INVALID_VALUE;
}

API(cuTexRefSetAddress_v2, size_t *offset, reference *one, dr_address address, size_t bytes) {
  if (offset)
    *offset = 0;
  rt_resource what = {.type = RT_RESOURCE_LINEAR};
  what.memory.address = dr_pointer(address);
  what.memory.bytes_or_width = bytes;
  return set(one, what);
}

/* CUDA_ARRAY_DESCRIPTOR. */
typedef struct plane {
  size_t width, height;
  int format;
  unsigned channels;
} plane;

API(cuTexRefSetAddress2D_v3, reference *one, const plane *how, dr_address address, size_t pitch) {
  if (!one || !how || !dr_channels_of(how->format, how->channels, &one->channel))
    return CUDA_ERROR_INVALID_VALUE;
  rt_resource what = {.type = RT_RESOURCE_PITCHED};
  what.memory.address = dr_pointer(address);
  what.memory.bytes_or_width = how->width;
  what.memory.height = how->height;
  what.memory.pitch_bytes = pitch;
  return set(one, what);
}
DR_ALIAS(cuTexRefSetAddress2D_v3, cuTexRefSetAddress2D_v2);

/* ---- How it is read ---- */

API(cuTexRefSetFormat, reference *one, int format, int channels) {
  DR_CHECK();
  if (!one || channels < 1 || !dr_channels_of(format, (unsigned)channels, &one->channel))
    return CUDA_ERROR_INVALID_VALUE;
  one->format = format;
  one->channels = (unsigned)channels;
  return bind(one);
}

API(cuTexRefSetAddressMode, reference *one, int dimension, int mode) {
  DR_CHECK();
  if (!one || dimension < 0 || dimension > 2 || mode < 0 || mode > 3)
    return CUDA_ERROR_INVALID_VALUE;
  one->how.outside[dimension] = mode;
  return bind(one);
}

API(cuTexRefSetFilterMode, reference *one, int mode) {
  DR_CHECK();
  if (!one || mode < 0 || mode > 1)
    return CUDA_ERROR_INVALID_VALUE;
  one->how.filter = mode;
  return bind(one);
}

API(cuTexRefSetFlags, reference *one, unsigned flags) {
  DR_CHECK();
  if (!one || flags > FLAGS)
    return CUDA_ERROR_INVALID_VALUE;
  one->flags = flags;
  return bind(one);
}

API(cuTexRefSetMaxAnisotropy, reference *one, unsigned most) {
  DR_CHECK();
  if (!one)
    return CUDA_ERROR_INVALID_VALUE;
  one->how.anisotropy = most;
  return CUDA_SUCCESS; /* it has no effect here */
}

API(cuTexRefSetBorderColor, reference *one, const float *colour) {
  DR_CHECK();
  if (!one || !colour)
    return CUDA_ERROR_INVALID_VALUE;
  memcpy(one->how.border, colour, sizeof one->how.border);
  return bind(one);
}

API(cuTexRefSetMipmapFilterMode, reference *one, int mode) {
  DR_CHECK();
  if (!one || mode < 0 || mode > 1)
    return CUDA_ERROR_INVALID_VALUE;
  one->how.level_filter = mode;
  return bind(one);
}

API(cuTexRefSetMipmapLevelBias, reference *one, float bias) {
  DR_CHECK();
  if (!one)
    return CUDA_ERROR_INVALID_VALUE;
  one->how.level_bias = bias;
  return bind(one);
}

API(cuTexRefSetMipmapLevelClamp, reference *one, float least, float most) {
  DR_CHECK();
  if (!one)
    return CUDA_ERROR_INVALID_VALUE;
  one->how.least_level = least;
  one->how.most_level = most;
  return bind(one);
}

/* ---- Questions ---- */

API(cuTexRefGetArray, void **array, const reference *one) {
  DR_CHECK();
  if (!array || !one || !one->is_bound || one->what.type != RT_RESOURCE_ARRAY)
    return CUDA_ERROR_INVALID_VALUE;
  *array = one->what.array;
  return CUDA_SUCCESS;
}
DR_ALIAS(cuTexRefGetArray, cuSurfRefGetArray);

API(cuTexRefGetAddress_v2, dr_address *address, const reference *one) {
  DR_CHECK();
  if (!address || !one || !one->is_bound || one->what.type < RT_RESOURCE_LINEAR)
    return CUDA_ERROR_INVALID_VALUE;
  *address = (dr_address)(uintptr_t)one->what.memory.address;
  return CUDA_SUCCESS;
}

API(cuTexRefGetFormat, int *format, int *channels, const reference *one) {
  DR_CHECK();
  if (!one)
    return CUDA_ERROR_INVALID_VALUE;
  if (format)
    *format = one->format;
  if (channels)
    *channels = (int)one->channels;
  return CUDA_SUCCESS;
}

API(cuTexRefGetAddressMode, int *mode, const reference *one, int dimension) {
  DR_CHECK();
  if (!mode || !one || dimension < 0 || dimension > 2)
    return CUDA_ERROR_INVALID_VALUE;
  *mode = one->how.outside[dimension];
  return CUDA_SUCCESS;
}

API(cuTexRefGetFilterMode, int *mode, const reference *one) {
  DR_CHECK();
  if (!mode || !one)
    return CUDA_ERROR_INVALID_VALUE;
  *mode = one->how.filter;
  return CUDA_SUCCESS;
}

API(cuTexRefGetFlags, unsigned *flags, const reference *one) {
  DR_CHECK();
  if (!flags || !one)
    return CUDA_ERROR_INVALID_VALUE;
  *flags = one->flags;
  return CUDA_SUCCESS;
}
