/* Launches as programs before CUDA 4 make them: block and parameters are set for a function, one by
 * one, and stay for its next launches. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 4096 };

/* What was set for a function. */
typedef struct settings {
  rt_dim3 block;
  unsigned shared_bytes, bytes;
  char parameter[MOST_BYTES];
} settings;

/* The settings of a function, made at their first use; NULL where it is none, or memory is
 * exhausted. */
static settings *find(void *function) {
  rt_context *context = rt_enter();
  settings *found = rt_map_get(&context->driver->old_launches, function);
  if (!found && rt_find_function(context, function) && (found = calloc(1, sizeof *found))) {
    found->block = (rt_dim3){1, 1, 1};
    if (!rt_map_put(&context->driver->old_launches, function, found)) {
      free(found);
      found = NULL;
    }
  }
  rt_leave(context, cudaSuccess);
  return found;
}

/* Checks, and finds the settings of a function. */
#define FIND(settings_of, function)                                                                \
  DR_CHECK();                                                                                      \
  settings *settings_of = find(function);                                                          \
  if (!settings_of)                                                                                \
  return CUDA_ERROR_INVALID_HANDLE

API(cuFuncSetBlockShape, void *function, int x, int y, int z) {
  FIND(own, function);
  if (x < 1 || y < 1 || z < 1)
    return CUDA_ERROR_INVALID_VALUE;
  own->block = (rt_dim3){(unsigned)x, (unsigned)y, (unsigned)z};
  return CUDA_SUCCESS;
}

API(cuFuncSetSharedSize, void *function, unsigned bytes) {
  FIND(own, function);
  own->shared_bytes = bytes;
  return CUDA_SUCCESS;
}

API(cuParamSetSize, void *function, unsigned bytes) {
  FIND(own, function);
  if (bytes > MOST_BYTES)
    return CUDA_ERROR_INVALID_VALUE;
  own->bytes = bytes;
  return CUDA_SUCCESS;
}

API(cuParamSetv, void *function, int offset, const void *value, unsigned bytes) {
  FIND(own, function);
  if (offset < 0 || !value || bytes > MOST_BYTES || (unsigned)offset > MOST_BYTES - bytes)
    return CUDA_ERROR_INVALID_VALUE;
  memcpy(own->parameter + offset, value, bytes);
  return CUDA_SUCCESS;
}

API(cuParamSeti, void *function, int offset, unsigned value) {
  return cuParamSetv(function, offset, &value, sizeof value);
}

API(cuParamSetf, void *function, int offset, float value) {
  return cuParamSetv(function, offset, &value, sizeof value);
}

/* Textures are read by the references of the module, not by parameters. */
API(cuParamSetTexRef, void *function, int unit, void *reference) {
  FIND(own, function);
  (void)own;
  return unit == -1 && reference ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API(cuLaunchGridAsync, void *function, int width, int height, void *stream) {
  FIND(own, function);
  size_t bytes = own->bytes;
  void *extra[] = {(void *)1, own->parameter, (void *)2, &bytes, (void *)0};
  if (width < 1 || height < 1)
    return CUDA_ERROR_INVALID_VALUE;
  return cuLaunchKernel(function, (unsigned)width, (unsigned)height, 1, own->block.x, own->block.y,
                        own->block.z, own->shared_bytes, stream, NULL, extra);
}

API(cuLaunchGrid, void *function, int width, int height) {
  return cuLaunchGridAsync(function, width, height, NULL);
}

API(cuLaunch, void *function) { return cuLaunchGridAsync(function, 1, 1, NULL); }
