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

/* The name, without folders, of the file that holds code at an address; "" where that is not known.
 */
static const char *file_of(const void *code) {
  Dl_info info;
  if (!dladdr(code, &info) || !info.dli_fname)
    return "";
  const char *slash = strrchr(info.dli_fname, '/');
  return slash ? slash + 1 : info.dli_fname;
}

/* Says why NVIDIA's runtime, which is in a file, does not work. */
static void say_export_table(rt_context *context, const char *file) {
  static const char *const libraries[] = {"libcu", "libnp", "libnccl"};
  if (strncmp(file, "libcupti", 8) == 0) {
    rt_say(context, "CUPTI measures a GPU through NVIDIA's driver: there is none");
    return;
  }
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
    if (strncmp(file, libraries[i], strlen(libraries[i])) == 0) {
      rt_say(context,
             "a call of %s uses the device through NVIDIA's own runtime and machine code, which "
             "cannot be emulated, and fails",
             file);
      return;
    }
  rt_say(context, "NVIDIA's CUDA runtime runs in this process, where exec has no hold of it: did "
                  "the program change LD_PRELOAD?");
}

/* Tables of functions that NVIDIA's libraries ask its driver for, by numbers that are not
 * published: there are none. Its compilers do without; its runtime is one whose calls were not led
 * to Bankfold's, and does not work then. */
API(cuGetExportTable, const void **table, const void *number) {
  const char *file = file_of(__builtin_return_address(0));
  (void)number;
  if (table)
    *table = NULL;
  rt_context *context = rt_enter();
  if (strncmp(file, "libnv", 5) != 0 && !rt_map_get(&context->refused, file) &&
      rt_map_put(&context->refused, file, context))
    say_export_table(context, file);
  rt_leave(context, cudaSuccess);
  return CUDA_ERROR_INVALID_VALUE;
}
