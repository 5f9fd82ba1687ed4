/* Names and texts of errors, and versions. */
#include "context.h"

static const struct {
  int code;
  const char *name, *text;
} errors[] = {
#define X(code, name, text) {code, #name, text},
#include "errors.def"
#undef X
};

static const char unknown[] = "unrecognized error code";

const char *cudaGetErrorName(int error) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].code == error)
      return errors[i].name;
  return unknown;
}

const char *cudaGetErrorString(int error) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].code == error)
      return errors[i].text;
  return unknown;
}

API(cudaRuntimeGetVersion, int *version) {
  RT_ENTER(context);
  if (!version)
    return rt_leave(context, cudaErrorInvalidValue);
  *version = RT_VERSION;
  return rt_leave(context, cudaSuccess);
}

API(cudaDriverGetVersion, int *version) {
  RT_ENTER(context);
  if (!version)
    return rt_leave(context, cudaErrorInvalidValue);
  *version = RT_VERSION;
  return rt_leave(context, cudaSuccess);
}

API(cudaProfilerStart, void) {
  RT_ENTER(context);
  return rt_leave(context, cudaSuccess);
}

#if CUDART_MAJOR < 13
API(cudaProfilerInitialize, const char *settings, const char *output, int mode) {
  RT_ENTER(context);
  (void)settings, (void)output, (void)mode;
  return rt_leave(context, cudaSuccess);
}

/* Numbers of 64 bits are what they are on every device that is left. */
API(cudaSetDoubleForDevice, double *number) { return number ? cudaSuccess : cudaErrorInvalidValue; }
API(cudaSetDoubleForHost, double *number) { return number ? cudaSuccess : cudaErrorInvalidValue; }
#endif

API(cudaProfilerStop, void) {
  RT_ENTER(context);
  return rt_leave(context, cudaSuccess);
}
