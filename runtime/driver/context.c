/* Starting the driver, and contexts: the primary one, which the runtime uses too, and those that a
 * program makes. Each thread has a stack of them, whose top is current. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

/* ---- Errors ---- */

int dr_result(int error) {
  switch (error) {
  case cudaErrorInvalidConfiguration:
  case cudaErrorInvalidPitchValue:
  case cudaErrorInvalidHostPointer:
  case cudaErrorInvalidDevicePointer:
  case cudaErrorInvalidTexture:
  case cudaErrorInvalidTextureBinding:
  case cudaErrorInvalidChannelDescriptor:
  case cudaErrorInvalidMemcpyDirection:
  case cudaErrorInvalidFilterSetting:
  case cudaErrorInvalidNormSetting:
  case cudaErrorInvalidSurface:
    return CUDA_ERROR_INVALID_VALUE;
  case cudaErrorInvalidSymbol:
    return CUDA_ERROR_NOT_FOUND;
  case cudaErrorInvalidDeviceFunction:
    return CUDA_ERROR_INVALID_HANDLE;
  default:
    return error;
  }
}

/* ---- The stack of a thread ---- */

enum { MOST_CONTEXTS = 64 };
static _Thread_local struct {
  unsigned contexts;
  dr_context *context[MOST_CONTEXTS];
} the_stack;

/* The current context; NULL where there is none. Where the runtime is in use, the primary one is.
 */
static dr_context *current(const rt_context *context) {
  if (the_stack.contexts)
    return the_stack.context[the_stack.contexts - 1];
  return context->is_primary_used ? &context->driver->primary : NULL;
}

static bool is_alive(const rt_context *context, const dr_context *one) {
  return one && rt_map_get(&context->driver->contexts, one);
}

static int push(dr_context *one) {
  if (the_stack.contexts == MOST_CONTEXTS)
    return CUDA_ERROR_OUT_OF_MEMORY;
  the_stack.context[the_stack.contexts++] = one;
  return CUDA_SUCCESS;
}

/* ---- Starting ---- */

/* Makes the state of the driver; false where memory is exhausted. */
static bool make_state(rt_context *context) {
  dr_state *state = calloc(1, sizeof *state);
  if (!state || !rt_map_put(&state->contexts, &state->primary, &state->primary)) {
    free(state);
    return false;
  }
  state->primary = (dr_context){.is_primary = true, .version = RT_VERSION};
  state->primary.number = ++state->contexts_made;
  context->driver = state;
  return true;
}

API(cuInit, unsigned flags) {
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  int error = rt_set_up(context);
  if (error == cudaSuccess && !context->driver && !make_state(context))
    error = CUDA_ERROR_OUT_OF_MEMORY;
  return rt_leave(context, error);
}

API(cuDriverGetVersion, int *version) {
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = RT_VERSION;
  return CUDA_SUCCESS;
}

/* Whether the driver was started, by cuInit or by a call of the runtime; a CUresult. */
static int check_started(rt_context *context) {
  if (!context->driver && context->is_primary_used && !context->set_up_error)
    return make_state(context) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  return context->driver ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

int dr_check_on(void) {
  rt_context *context = rt_enter();
  return rt_leave(context, check_started(context));
}

/* What the current context lets a call do; a CUresult. */
static int check_current(rt_context *context) {
  int error = check_started(context);
  if (error)
    return error;
  const dr_context *one = current(context);
  return !one                     ? CUDA_ERROR_INVALID_CONTEXT
         : is_alive(context, one) ? CUDA_SUCCESS
                                  : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

int dr_check(void) {
  rt_context *context = rt_enter();
  return rt_leave(context, check_current(context));
}

/* ---- What ends with a context ---- */

typedef struct dr_owned {
  const dr_context *owner;
  dr_kind kind;
  void *handle;
} dr_owned;

int dr_own(int error, dr_kind kind, void *handle) {
  if (error != CUDA_SUCCESS)
    return error;
  rt_context *context = rt_enter();
  const dr_context *owner = current(context);
  dr_owned *owned = owner && !owner->is_primary ? malloc(sizeof *owned) : NULL;
  if (owned) {
    *owned = (dr_owned){owner, kind, handle};
    if (!rt_map_put(&context->driver->owned, handle, owned))
      free(owned); /* it outlives its context */
  }
  return rt_leave(context, CUDA_SUCCESS);
}

void dr_disown(const void *handle) {
  rt_context *context = rt_enter();
  dr_owned *owned = rt_map_get(&context->driver->owned, handle);
  rt_map_remove(&context->driver->owned, handle);
  free(owned);
  rt_leave(context, CUDA_SUCCESS);
}

/* Takes one thing that ends with a context out of the list; false where there is none left. */
static bool take_owned(const dr_context *owner, dr_owned *taken) {
  rt_context *context = rt_enter();
  size_t cursor = 0;
  dr_owned *owned = NULL;
  do
    owned = rt_map_next(&context->driver->owned, &cursor);
  while (owned && owned->owner != owner);
  if (owned) {
    *taken = *owned;
    rt_map_remove(&context->driver->owned, owned->handle);
    free(owned);
  }
  rt_leave(context, CUDA_SUCCESS);
  return owned != NULL;
}

/* Ends all that was made in a context. */
static void end_owned(const dr_context *owner) {
  for (dr_owned owned; take_owned(owner, &owned);)
    switch (owned.kind) {
    case DR_MEMORY:
      cudaFree(owned.handle);
      break;
    case DR_PINNED:
      cudaFreeHost(owned.handle);
      break;
    case DR_MODULE:
      cudaLibraryUnload(owned.handle);
      break;
    case DR_STREAM:
      cudaStreamDestroy(owned.handle);
      break;
    case DR_EVENT:
      cudaEventDestroy(owned.handle);
      break;
    case DR_MIPMAP:
      cudaFreeMipmappedArray(owned.handle);
      break;
    case DR_ARRAY:
      cudaFreeArray(owned.handle);
      break;
    }
}

/* Forgets the fault of a kernel: it ends with its context. */
static void forget_fault(void) {
  rt_context *context = rt_enter_synchronised(RT_ALL_STREAMS);
  context->pending = context->sticky = cudaSuccess;
  rt_leave(context, cudaSuccess);
}

/* ---- The primary context ---- */

/* CUDA_SUCCESS for the one device there is. */
static int check_device(int device) {
  DR_CHECK_ON();
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

API(cuDevicePrimaryCtxRetain, dr_context **made, int device) {
  int error = check_device(device);
  if (error || !made)
    return error ? error : CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  context->driver->primary.uses++;
  *made = &context->driver->primary;
  return rt_leave(context, CUDA_SUCCESS);
}

API(cuDevicePrimaryCtxRelease_v2, int device) {
  int error = check_device(device);
  if (error)
    return error;
  rt_context *context = rt_enter();
  unsigned *uses = &context->driver->primary.uses;
  if (*uses == 0)
    error = CUDA_ERROR_INVALID_CONTEXT;
  else
    --*uses;
  return rt_leave(context, error);
}
DR_ALIAS(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease);

API(cuDevicePrimaryCtxSetFlags_v2, int device, unsigned flags) {
  int error = check_device(device);
  if (error || flags > 0xff)
    return error ? error : CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  context->driver->primary.flags = flags;
  return rt_leave(context, CUDA_SUCCESS);
}
DR_ALIAS(cuDevicePrimaryCtxSetFlags_v2, cuDevicePrimaryCtxSetFlags);

API(cuDevicePrimaryCtxGetState, int device, unsigned *flags, int *active) {
  int error = check_device(device);
  if (error || !flags || !active)
    return error ? error : CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  *flags = context->driver->primary.flags;
  *active = context->driver->primary.uses > 0 || context->is_primary_used;
  return rt_leave(context, CUDA_SUCCESS);
}

API(cuDevicePrimaryCtxReset_v2, int device) {
  int error = check_device(device);
  if (error)
    return error;
  forget_fault();
  return dr_result(cudaDeviceReset());
}
DR_ALIAS(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset);

/* ---- Contexts that a program makes ---- */

API(cuCtxCreate_v2, dr_context **made, unsigned flags, int device) {
  int error = check_device(device);
  if (error || !made || flags > 0xff)
    return error ? error : CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  dr_context *one = calloc(1, sizeof *one);
  error = one && rt_map_put(&context->driver->contexts, one, one) ? push(one)
                                                                  : CUDA_ERROR_OUT_OF_MEMORY;
  if (error == CUDA_SUCCESS) {
    *one = (dr_context){
        .flags = flags, .version = RT_VERSION, .number = ++context->driver->contexts_made};
    *made = one;
  } else if (one) {
    rt_map_remove(&context->driver->contexts, one);
    free(one);
  }
  return rt_leave(context, error);
}
DR_ALIAS(cuCtxCreate_v2, cuCtxCreate);

/* Says that contexts with a part of the device are not there. */
static int refuse_affinity(void) { return rt_refuse("cuCtxCreate with parameters"); }

API(cuCtxCreate_v3, dr_context **made, const void *affinity, int count, unsigned flags,
    int device) {
  return affinity && count ? refuse_affinity() : cuCtxCreate_v2(made, flags, device);
}

/* What a context is made with since CUDA 12.5. */
typedef struct creation {
  const void *affinity;
  int affinities;
  const void *graphics;
} creation;

API(cuCtxCreate_v4, dr_context **made, const creation *how, unsigned flags, int device) {
  return how && (how->affinities || how->graphics) ? refuse_affinity()
                                                   : cuCtxCreate_v2(made, flags, device);
}

/* The record of a context is kept, so that a thread with a dead one on its stack can be told. */
API(cuCtxDestroy_v2, dr_context *one) {
  DR_CHECK_ON();
  rt_context *context = rt_enter();
  bool is_fine = is_alive(context, one) && !one->is_primary;
  rt_leave(context, CUDA_SUCCESS);
  if (!is_fine)
    return CUDA_ERROR_INVALID_CONTEXT;
  forget_fault();
  end_owned(one);
  context = rt_enter();
  rt_map_remove(&context->driver->contexts, one);
  if (the_stack.contexts && the_stack.context[the_stack.contexts - 1] == one)
    the_stack.contexts--;
  return rt_leave(context, CUDA_SUCCESS);
}
DR_ALIAS(cuCtxDestroy_v2, cuCtxDestroy);
DR_ALIAS(cuCtxDestroy_v2, cuCtxDetach);

API(cuCtxAttach, dr_context **one, unsigned flags) {
  DR_CHECK();
  if (!one || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  *one = current(context);
  return rt_leave(context, CUDA_SUCCESS);
}

/* ---- Which one is current ---- */

API(cuCtxPushCurrent_v2, dr_context *one) {
  DR_CHECK_ON();
  rt_context *context = rt_enter();
  return rt_leave(context, is_alive(context, one) ? push(one) : CUDA_ERROR_INVALID_CONTEXT);
}
DR_ALIAS(cuCtxPushCurrent_v2, cuCtxPushCurrent);

API(cuCtxPopCurrent_v2, dr_context **one) {
  DR_CHECK_ON();
  if (!the_stack.contexts)
    return CUDA_ERROR_INVALID_CONTEXT;
  the_stack.contexts--;
  if (one)
    *one = the_stack.context[the_stack.contexts];
  return CUDA_SUCCESS;
}
DR_ALIAS(cuCtxPopCurrent_v2, cuCtxPopCurrent);

API(cuCtxSetCurrent, dr_context *one) {
  DR_CHECK_ON();
  rt_context *context = rt_enter();
  int error = one && !is_alive(context, one) ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
  if (error == CUDA_SUCCESS && the_stack.contexts)
    the_stack.contexts--;
  if (error == CUDA_SUCCESS && one)
    error = push(one);
  return rt_leave(context, error);
}

API(cuCtxGetCurrent, dr_context **one) {
  DR_CHECK_ON();
  if (!one)
    return CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  *one = current(context);
  return rt_leave(context, CUDA_SUCCESS);
}

/* ---- What a context has ---- */

/* The context that is meant: the current one for NULL; NULL where there is no such context. */
static dr_context *meant(const rt_context *context, dr_context *one) {
  one = one ? one : current(context);
  return is_alive(context, one) ? one : NULL;
}

API(cuCtxGetDevice, int *device) {
  DR_CHECK();
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  *device = 0;
  return CUDA_SUCCESS;
}

API(cuCtxGetDevice_v2, int *device, dr_context *one) {
  DR_CHECK_ON();
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  bool is_known = meant(context, one) != NULL;
  rt_leave(context, CUDA_SUCCESS);
  if (is_known)
    *device = 0;
  return is_known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

API(cuCtxGetFlags, unsigned *flags) {
  DR_CHECK();
  if (!flags)
    return CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  *flags = current(context)->flags;
  return rt_leave(context, CUDA_SUCCESS);
}

API(cuCtxSetFlags, unsigned flags) {
  DR_CHECK();
  if (flags > 0xff)
    return CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  current(context)->flags = flags;
  return rt_leave(context, CUDA_SUCCESS);
}

API(cuCtxGetId, dr_context *one, unsigned long long *number) {
  DR_CHECK_ON();
  if (!number)
    return CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  one = meant(context, one);
  if (one)
    *number = one->number;
  return rt_leave(context, one ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

API(cuCtxGetApiVersion, dr_context *one, unsigned *version) {
  DR_CHECK_ON();
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  one = meant(context, one);
  if (one)
    *version = one->version;
  return rt_leave(context, one ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

API(cuCtxSynchronize, void) { DR_RETURN(cudaDeviceSynchronize()); }

API(cuCtxSynchronize_v2, dr_context *one) {
  DR_CHECK_ON();
  rt_context *context = rt_enter();
  bool is_known = meant(context, one) != NULL;
  rt_leave(context, CUDA_SUCCESS);
  return is_known ? dr_result(cudaDeviceSynchronize()) : CUDA_ERROR_INVALID_CONTEXT;
}

API(cuCtxSetLimit, int limit, size_t value) { DR_RETURN(cudaDeviceSetLimit(limit, value)); }

API(cuCtxGetLimit, size_t *value, int limit) { DR_RETURN(cudaDeviceGetLimit(value, limit)); }

API(cuCtxGetCacheConfig, int *config) { DR_RETURN(cudaDeviceGetCacheConfig(config)); }

API(cuCtxSetCacheConfig, int config) { DR_RETURN(cudaDeviceSetCacheConfig(config)); }

API(cuCtxGetSharedMemConfig, int *config) { DR_RETURN(cudaDeviceGetSharedMemConfig(config)); }

API(cuCtxSetSharedMemConfig, int config) { DR_RETURN(cudaDeviceSetSharedMemConfig(config)); }

API(cuCtxGetStreamPriorityRange, int *least, int *greatest) {
  DR_RETURN(cudaDeviceGetStreamPriorityRange(least, greatest));
}

API(cuCtxResetPersistingL2Cache, void) { DR_RETURN(cudaSuccess); }

/* The device has no peers. */
API(cuCtxEnablePeerAccess, dr_context *peer, unsigned flags) {
  DR_CHECK();
  (void)peer;
  return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

API(cuCtxDisablePeerAccess, dr_context *peer) {
  DR_CHECK();
  (void)peer;
  return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
