/* Names and texts of errors, and calls that change nothing. */
#include "driver.h"

static const struct {
  int code;
  const char *name;
} errors[] = {
#define X(code, name) {code, #name},
#include "errors.def"
#undef X
};

/* The name of an error; NULL where there is no such error. */
static const char *name_of(int error) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].code == error)
      return errors[i].name;
  return NULL;
}

API(cuGetErrorName, int error, const char **name) {
  if (!name)
    return CUDA_ERROR_INVALID_VALUE;
  *name = name_of(error);
  return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API(cuGetErrorString, int error, const char **text) {
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  *text = name_of(error) ? cudaGetErrorString(error) : NULL;
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Nothing here is profiled by NVIDIA's tools. */
API(cuProfilerInitialize, const char *configuration, const char *output, int mode) {
  (void)configuration, (void)output, (void)mode;
  return CUDA_ERROR_NOT_SUPPORTED;
}

API(cuProfilerStart, void) { DR_RETURN(cudaSuccess); }

API(cuProfilerStop, void) { DR_RETURN(cudaSuccess); }
