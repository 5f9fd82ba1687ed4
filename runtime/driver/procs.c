/* Functions by their names: cuGetProcAddress, and cudaGetDriverEntryPoint of the runtime, which
 * asks it. A name stands for several functions, of which the version of CUDA that the program was
 * built for decides. */
#include "procs.h"
#include "driver.h"

#include <dlfcn.h>
#include <string.h>

/* How cuGetProcAddress is asked, and what it says of its answer. */
enum { LEGACY_STREAM = 1, PER_THREAD_STREAM = 2 };
enum { FOUND, NO_SUCH_NAME, TOO_NEW };

/* The function that a name stands for in a version of CUDA. Where the default stream is the
 * thread's own, functions that have a form for that are found in it. */
static int find(const char *name, int version, uint64_t flags, void **function) {
  const dr_proc *best = NULL;
  bool is_known = false;
  for (size_t i = 0; i < dr_procs; i++) {
    const dr_proc *one = &dr_proc_table[i];
    if (strcmp(one->name, name) != 0 || (one->is_per_thread && !(flags & PER_THREAD_STREAM)))
      continue;
    is_known = true;
    bool is_better = !best || (one->is_per_thread && !best->is_per_thread) ||
                     (one->is_per_thread == best->is_per_thread && one->version > best->version);
    if (one->version <= version && is_better)
      best = one;
  }
  *function = best ? best->function : NULL;
  return best ? FOUND : is_known ? TOO_NEW : NO_SUCH_NAME;
}

API(cuGetProcAddress_v2, const char *name, void **function, int version, uint64_t flags,
    int *status) {
  if (!name || !function || flags > (LEGACY_STREAM | PER_THREAD_STREAM) || version < 2000 ||
      version > RT_VERSION)
    return CUDA_ERROR_INVALID_VALUE;
  int found = find(name, version, flags, function);
  if (status)
    *status = found;
  return CUDA_SUCCESS;
}

/* The form of CUDA 11. */
API(cuGetProcAddress, const char *name, void **function, int version, uint64_t flags) {
  int status = NO_SUCH_NAME;
  int error = cuGetProcAddress_v2(name, function, version, flags, &status);
  return !error && status != FOUND ? CUDA_ERROR_NOT_FOUND : error;
}

/* Whether code at an address is in a file whose name begins so. */
static bool is_in(const void *code, const char *prefix) {
  Dl_info info;
  if (!dladdr(code, &info) || !info.dli_fname)
    return false;
  const char *slash = strrchr(info.dli_fname, '/');
  return strncmp(slash ? slash + 1 : info.dli_fname, prefix, strlen(prefix)) == 0;
}

/* Tables of functions that NVIDIA's libraries ask its driver for, by numbers that are not
 * published: there are none. Its compilers do without; its runtime is one whose calls were not led
 * to Bankfold's, and does not work then. */
API(cuGetExportTable, const void **table, const void *number) {
  static const char once[] = "cuGetExportTable";
  const void *caller = __builtin_return_address(0);
  (void)number;
  if (table)
    *table = NULL;
  rt_context *context = rt_enter();
  if (!is_in(caller, "libnv") && !rt_map_get(&context->refused, once) &&
      rt_map_put(&context->refused, once, context))
    rt_say(context, is_in(caller, "libcupti")
                        ? "CUPTI measures a GPU through NVIDIA's driver: there is none"
                        : "NVIDIA's CUDA runtime runs in this process, where exec has no hold of "
                          "it: did the program change LD_PRELOAD?");
  rt_leave(context, cudaSuccess);
  return CUDA_ERROR_INVALID_VALUE;
}
