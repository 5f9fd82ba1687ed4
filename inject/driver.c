/* The functions that stand in the place of the driver's. Each has the driver's name, so that
 * programs linked with libcuda.so.1 find it first, and calls the driver's. */
#include "driver.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- The driver's own functions ---- */

_Atomic(void *) inject_reals[SLOTS];

static const char *const slot_names[] = {
#define X(name, asked, since, per_thread) #name,
#include "driver.def"
#undef X
};

void *inject_find_real(inject_slot at) {
  void *real = inject_driver(slot_names[at]);
  atomic_store(&inject_reals[at], real);
  return real;
}

/* ---- Loading ---- */

int inject_remember(int result, void *handle, const inject_image *image) {
  if (result == CUDA_SUCCESS && !inject_handle_set(handle, image))
    return CUDA_ERROR_OUT_OF_MEMORY;
  return result;
}

int inject_remember_plain(int result, void *const *handle, const inject_image *image) {
  static const inject_image refused = {.reason = "the driver refuses the rewritten PTX"};
  if (image && image->is_apart)
    return inject_remember(result, result == CUDA_SUCCESS ? *handle : NULL, image);
  const inject_image *why = inject_is_new(image) ? &refused : image;
  return inject_remember(result, result == CUDA_SUCCESS ? *handle : NULL,
                         inject_takes_times ? why : NULL);
}

bool inject_is_taken(int result) {
  if (result != CUDA_SUCCESS)
    inject_log("the driver refuses the rewritten image (error %d) and gets the program's", result);
  return result == CUDA_SUCCESS;
}

/* A copy of the values of options: the driver writes to them, also where it fails. NULL: none, or
 * no memory. */
static void **copy_values(void **values, unsigned count) {
  void **copy = values && count ? malloc(count * sizeof *copy) : NULL;
  if (copy)
    memcpy(copy, values, count * sizeof *copy);
  return copy;
}

/* Hands the copy's values to the program where the call was good, and frees it. */
static void end_values(bool is_good, void **values, void **copy, unsigned count) {
  if (is_good && copy)
    memcpy(values, copy, count * sizeof *copy);
  free(copy);
}

API(cuModuleLoadData, void **module, const void *code) {
  const inject_image *image = inject_image_of_memory(code);
  if (inject_is_new(image) && inject_is_taken(REAL(cuModuleLoadData, module, image->text)))
    return inject_remember(CUDA_SUCCESS, *module, image);
  return inject_remember_plain(REAL(cuModuleLoadData, module, code), module, image);
}

API(cuModuleLoadDataEx, void **module, const void *code, unsigned count, int *options,
    void **values) {
  const inject_image *image = inject_image_of_memory(code);
  void **copy = inject_is_new(image) ? copy_values(values, count) : NULL;
  if (inject_is_new(image) && (copy || !count || !values)) {
    bool is_good =
        inject_is_taken(REAL(cuModuleLoadDataEx, module, image->text, count, options, copy));
    end_values(is_good, values, copy, count);
    if (is_good)
      return inject_remember(CUDA_SUCCESS, *module, image);
  }
  return inject_remember_plain(REAL(cuModuleLoadDataEx, module, code, count, options, values),
                               module, image);
}

/* A fat binary only; PTX goes to the function that takes it. */
API(cuModuleLoadFatBinary, void **module, const void *code) {
  const inject_image *image = inject_image_of_memory(code);
  if (inject_is_new(image) && inject_is_taken(REAL(cuModuleLoadData, module, image->text)))
    return inject_remember(CUDA_SUCCESS, *module, image);
  return inject_remember_plain(REAL(cuModuleLoadFatBinary, module, code), module, image);
}

API(cuModuleLoad, void **module, const char *path) {
  const inject_image *image = inject_image_of_file(path);
  if (inject_is_new(image) && inject_is_taken(REAL(cuModuleLoadData, module, image->text)))
    return inject_remember(CUDA_SUCCESS, *module, image);
  return inject_remember_plain(REAL(cuModuleLoad, module, path), module, image);
}

API(cuModuleUnload, void *module) {
  inject_handle_set(module, NULL);
  return REAL(cuModuleUnload, module);
}

/* Gives the driver the image as a library; whether it takes it. */
static bool load_library(const inject_image *image, void **library, int *options, void **values,
                         unsigned count, int *library_options, void **library_values,
                         unsigned library_count) {
  void **copy = copy_values(values, count);
  if (values && count && !copy)
    return false;
  bool is_good = inject_is_taken(REAL(cuLibraryLoadData, library, image->text, options, copy, count,
                                      library_options, library_values, library_count));
  end_values(is_good, values, copy, count);
  return is_good;
}

API(cuLibraryLoadData, void **library, const void *code, int *options, void **values,
    unsigned count, int *library_options, void **library_values, unsigned library_count) {
  const inject_image *image = inject_image_of_memory(code);
  if (inject_is_new(image) && load_library(image, library, options, values, count, library_options,
                                           library_values, library_count))
    return inject_remember(CUDA_SUCCESS, *library, image);
  return inject_remember_plain(REAL(cuLibraryLoadData, library, code, options, values, count,
                                    library_options, library_values, library_count),
                               library, image);
}

API(cuLibraryLoadFromFile, void **library, const char *path, int *options, void **values,
    unsigned count, int *library_options, void **library_values, unsigned library_count) {
  const inject_image *image = inject_image_of_file(path);
  if (inject_is_new(image) && load_library(image, library, options, values, count, library_options,
                                           library_values, library_count))
    return inject_remember(CUDA_SUCCESS, *library, image);
  return inject_remember_plain(REAL(cuLibraryLoadFromFile, library, path, options, values, count,
                                    library_options, library_values, library_count),
                               library, image);
}

API(cuLibraryUnload, void *library) {
  inject_handle_set(library, NULL);
  return REAL(cuLibraryUnload, library);
}

/* ---- Functions and kernels of what was loaded ---- */

/* Where kernels come from, and how the driver is asked for them. */
typedef struct source {
  void *handle; /* of a module or library */
  bool is_library;
} source;

/* Asks the driver for a kernel. */
static int get_kernel(source from, const char *name, void **made) {
  return from.is_library ? REAL(cuLibraryGetKernel, made, from.handle, name)
                         : REAL(cuModuleGetFunction, made, from.handle, name);
}

/* What is known about the image of a module or library, or of an input that was linked into it. */
static const inject_image *image_of(source from, const char *name) {
  const inject_image *image = inject_handle_image(from.handle);
  return image || !name ? image : inject_linked_image(name);
}

/* `made` is the kernel of that name (NULL: not known). Its second version is looked up beside it,
 * or comes later where it is loaded apart. */
static int inherit(int result, void *made, source from, const char *name) {
  if (result != CUDA_SUCCESS)
    return result;
  const inject_image *image = image_of(from, name);
  const inject_kernel *kernel = image && name ? inject_image_kernel(image, name) : NULL;
  inject_pair pair = {.image = image, .kernel = kernel, .own = made};
  bool done, has_second = kernel && kernel->beside;
  if (inject_takes_times)
    inject_times_name(made, name);
  if (has_second && !image->is_apart)
    has_second = get_kernel(from, kernel->beside, &pair.beside) == CUDA_SUCCESS;
  if (has_second) {
    pair.is_of_library = from.is_library;
    pair.subject = inject_image_subject(image, kernel);
    done = inject_handle_set_pair(&pair);
  } else {
    done = inject_handle_set(made, image);
  }
  return done ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Whether a program asks for a second version, which it cannot know. */
static bool is_hidden(source from, const char *name) {
  const inject_image *image = inject_handle_image(from.handle);
  return image && name && inject_image_is_beside(image, name);
}

API(cuModuleGetFunction, void **function, void *module, const char *name) {
  source from = {module, false};
  if (is_hidden(from, name))
    return CUDA_ERROR_NOT_FOUND;
  int result = REAL(cuModuleGetFunction, function, module, name);
  return inherit(result, result == CUDA_SUCCESS ? *function : NULL, from, name);
}

API(cuLibraryGetKernel, void **kernel, void *library, const char *name) {
  source from = {library, true};
  if (is_hidden(from, name))
    return CUDA_ERROR_NOT_FOUND;
  int result = REAL(cuLibraryGetKernel, kernel, library, name);
  return inherit(result, result == CUDA_SUCCESS ? *kernel : NULL, from, name);
}

/* `made` is another handle for the same. */
static int copy_handle(int result, void *made, const void *from) {
  if (inject_takes_times && result == CUDA_SUCCESS)
    inject_times_copy(made, from);
  if (result == CUDA_SUCCESS && !inject_handle_set(made, inject_handle_image(from)))
    return CUDA_ERROR_OUT_OF_MEMORY;
  return result;
}

API(cuLibraryGetModule, void **module, void *library) {
  int result = REAL(cuLibraryGetModule, module, library);
  return copy_handle(result, result == CUDA_SUCCESS ? *module : NULL, library);
}

API(cuKernelGetFunction, void **function, void *kernel) {
  const inject_pair *pair = inject_handle_pair(kernel);
  int result = REAL(cuKernelGetFunction, function, kernel);
  if (result != CUDA_SUCCESS || *function == kernel)
    return result;
  inject_pair made = pair ? *pair : (inject_pair){0};
  made.beside = NULL;
  if (!pair || pair->own != kernel ||
      (!pair->image->is_apart &&
       REAL(cuKernelGetFunction, &made.beside, pair->beside) != CUDA_SUCCESS))
    return copy_handle(result, *function, kernel);
  made.own = *function;
  made.is_of_library = false;
  if (inject_takes_times)
    inject_times_copy(*function, kernel);
  return inject_handle_set_pair(&made) ? result : CUDA_ERROR_OUT_OF_MEMORY;
}

API(cuFuncGetModule, void **module, void *function) {
  int result = REAL(cuFuncGetModule, module, function);
  const inject_image *image = inject_handle_image(function);
  return image ? inject_remember(result, result == CUDA_SUCCESS ? *module : NULL, image) : result;
}

/* ---- All kernels of what was loaded ---- */

/* Takes second versions away from a number of kernels. */
static int count_own(int result, unsigned *count, const void *from) {
  const inject_image *image = result == CUDA_SUCCESS ? inject_handle_image(from) : NULL;
  for (unsigned i = 0; inject_is_new(image) && i < image->kernels; i++)
    *count -= image->kernel[i].beside && *count;
  return result;
}

API(cuModuleGetFunctionCount, unsigned *count, void *module) {
  return count_own(REAL(cuModuleGetFunctionCount, count, module), count, module);
}

API(cuLibraryGetKernelCount, unsigned *count, void *library) {
  return count_own(REAL(cuLibraryGetKernelCount, count, library), count, library);
}

/* Asks the driver for all kernels; *total is how many there are. */
static int list_all(source from, unsigned *total, void ***all) {
  int result = from.is_library ? REAL(cuLibraryGetKernelCount, total, from.handle)
                               : REAL(cuModuleGetFunctionCount, total, from.handle);
  *all = result == CUDA_SUCCESS ? calloc((size_t)*total + 1, sizeof **all) : NULL;
  if (result != CUDA_SUCCESS)
    return result;
  if (!*all)
    return CUDA_ERROR_OUT_OF_MEMORY;
  return from.is_library ? REAL(cuLibraryEnumerateKernels, *all, *total, from.handle)
                         : REAL(cuModuleEnumerateFunctions, *all, *total, from.handle);
}

/* The first `room` kernels of a module or library that are the program's own. */
static int list_own(source from, void **made, unsigned room) {
  int (*get_name)(const char **, void *) =
      inject_driver(from.is_library ? "cuKernelGetName" : "cuFuncGetName");
  unsigned total = 0, own = 0;
  void **all = NULL;
  int result = list_all(from, &total, &all);
  for (unsigned i = 0; i < total && own < room && result == CUDA_SUCCESS; i++) {
    const char *name = NULL;
    if (get_name && get_name(&name, all[i]) != CUDA_SUCCESS)
      name = NULL;
    if (is_hidden(from, name))
      continue;
    made[own] = all[i];
    result = inherit(result, made[own++], from, name);
  }
  free(all);
  return result;
}

API(cuModuleEnumerateFunctions, void **functions, unsigned count, void *module) {
  if (!functions || !inject_handle_image(module))
    return REAL(cuModuleEnumerateFunctions, functions, count, module);
  return list_own((source){module, false}, functions, count);
}

API(cuLibraryEnumerateKernels, void **kernels, unsigned count, void *library) {
  if (!kernels || !inject_handle_image(library))
    return REAL(cuLibraryEnumerateKernels, kernels, count, library);
  return list_own((source){library, true}, kernels, count);
}

/* ---- What is set for kernels ---- */

/* Whether the second version may be given the value of the first, where the driver does not take
 * its own: with longer rows of dynamic shared memory it has room then for smaller launches. */
static bool may_take_same(const inject_pair *pair, int answer) {
  return answer != CUDA_SUCCESS && pair->kernel->row_bytes;
}

/* The value of an attribute for the second version. */
static int value_of(const inject_pair *pair, int attribute, int value) {
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value <= 0)
    return value;
  return (int)inject_round(pair->kernel, (unsigned)value);
}

/* Sets an attribute of the second version on a device; -1: it is asked for as a function. */
static int set_attribute(const inject_pair *pair, int attribute, int value, int device) {
  return device >= 0 ? REAL(cuKernelSetAttribute, attribute, value, pair->beside, device)
                     : REAL(cuFuncSetAttribute, pair->beside, attribute, value);
}

/* Sets something for the second version on a device, or -1. */
static int set_on_device(const inject_pair *pair, unsigned setting, int value, int device) {
  if (setting == INJECT_SHARED_SIZE)
    return REAL(cuFuncSetSharedSize, pair->beside, inject_round(pair->kernel, (unsigned)value));
  if (setting == INJECT_SHARED_CONFIG)
    return REAL(cuFuncSetSharedMemConfig, pair->beside, value);
  if (setting == INJECT_CACHE_CONFIG)
    return device >= 0 ? REAL(cuKernelSetCacheConfig, pair->beside, value, device)
                       : REAL(cuFuncSetCacheConfig, pair->beside, value);
  int answer = set_attribute(pair, (int)setting, value_of(pair, (int)setting, value), device);
  return may_take_same(pair, answer) ? set_attribute(pair, (int)setting, value, device) : answer;
}

int inject_set_beside(const inject_pair *pair, unsigned setting, int value) {
  int (*get_device)(int *) = inject_driver("cuCtxGetDevice");
  int device = 0;
  if (!get_device || get_device(&device) != CUDA_SUCCESS)
    return CUDA_ERROR_NOT_INITIALIZED;
  return set_on_device(pair, setting, value, pair->is_of_library ? device : -1);
}

/* The program has set something for a kernel, with that result: so it is for the second version,
 * now or when it is loaded. Returns the result. */
static int set_both(int result, void *handle, unsigned setting, int value, int device) {
  const inject_pair *pair = result == CUDA_SUCCESS ? inject_handle_pair(handle) : NULL;
  if (pair && pair->own == handle)
    inject_choice_changed(pair, setting, value,
                          pair->beside ? set_on_device(pair, setting, value, device)
                                       : CUDA_SUCCESS);
  return result;
}

API(cuFuncSetAttribute, void *function, int attribute, int value) {
  return set_both(REAL(cuFuncSetAttribute, function, attribute, value), function,
                  (unsigned)attribute, value, -1);
}

API(cuKernelSetAttribute, int attribute, int value, void *kernel, int device) {
  return set_both(REAL(cuKernelSetAttribute, attribute, value, kernel, device), kernel,
                  (unsigned)attribute, value, device);
}

API(cuFuncSetSharedSize, void *function, unsigned bytes) {
  return set_both(REAL(cuFuncSetSharedSize, function, bytes), function, INJECT_SHARED_SIZE,
                  (int)bytes, -1);
}

API(cuFuncSetCacheConfig, void *function, int config) {
  return set_both(REAL(cuFuncSetCacheConfig, function, config), function, INJECT_CACHE_CONFIG,
                  config, -1);
}

API(cuFuncSetSharedMemConfig, void *function, int config) {
  return set_both(REAL(cuFuncSetSharedMemConfig, function, config), function, INJECT_SHARED_CONFIG,
                  config, -1);
}

API(cuKernelSetCacheConfig, void *kernel, int config, int device) {
  return set_both(REAL(cuKernelSetCacheConfig, kernel, config, device), kernel, INJECT_CACHE_CONFIG,
                  config, device);
}

/* ---- How functions are found ---- */

typedef struct replacement {
  const char *name, *asked;
  int since;
  bool per_thread;
  void *function;
} replacement;

static const replacement replacements[SLOTS] = {
#define X(name, asked, since, per_thread) {#name, asked, since, per_thread, (void *)name},
#include "driver.def"
#undef X
};

/* The slot of the name that the library has for a function; SLOTS: none. */
static inject_slot find_slot(const char *name) {
  inject_slot at = SLOTS;
  if (name[0] == 'c' && name[1] == 'u')
    for (at = 0; at < SLOTS && strcmp(replacements[at].name, name) != 0; at++)
      continue;
  return at;
}

/* The slot of what cuGetProcAddress gives; SLOTS: none. The last that fits is the latest. */
static inject_slot find_asked(const char *name, int version, bool per_thread) {
  inject_slot found = SLOTS;
  for (inject_slot at = 0; at < SLOTS; at++)
    if (strcmp(replacements[at].asked, name) == 0 && version >= replacements[at].since &&
        (per_thread || !replacements[at].per_thread))
      found = at;
  return found;
}

/* Keeps the driver's function of a slot; says so the first time. */
static void keep_real(inject_slot at, void *real) {
  static atomic_bool is_found;
  if (!atomic_exchange(&is_found, true))
    inject_log("the driver is found through %s", slot_names[at]);
  atomic_store(&inject_reals[at], real);
}

bool inject_replaces(const char *name) { return find_slot(name) < SLOTS; }

void *inject_replace(const char *name, void *real) {
  inject_slot at = find_slot(name);
  if (at == SLOTS)
    return real;
  if (real && real != replacements[at].function)
    keep_real(at, real);
  return replacements[at].function;
}

/* Puts our function in the place of what the driver gave. */
static void replace_asked(const char *name, void **function, int version, uint64_t flags) {
  inject_slot at =
      name && function && *function
          ? find_asked(name, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
          : SLOTS;
  if (at == SLOTS || *function == replacements[at].function)
    return;
  keep_real(at, *function);
  *function = replacements[at].function;
}

API(cuGetProcAddress, const char *name, void **function, int version, uint64_t flags) {
  int result = REAL(cuGetProcAddress, name, function, version, flags);
  if (result == CUDA_SUCCESS)
    replace_asked(name, function, version, flags);
  return result;
}

API(cuGetProcAddress_v2, const char *name, void **function, int version, uint64_t flags,
    int *status) {
  int result = REAL(cuGetProcAddress_v2, name, function, version, flags, status);
  if (result == CUDA_SUCCESS)
    replace_asked(name, function, version, flags);
  return result;
}
