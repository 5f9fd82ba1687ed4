/* Runtimes before CUDA 12 load code through a table of functions that the driver gives out under a
 * number (cuGetExportTable) and that NVIDIA does not describe. Its form is known from projects that
 * implement the driver for other GPUs, ZLUDA foremost: the first word holds the bytes of the table,
 * and
 *
 *   1  loads a module from nvcc's wrapper
 *   6  the same with options
 *   8  loads a module from a fat binary without wrapper, with options
 *   9  launches a function
 *
 * With BANKFOLD_OLD_RUNTIME=1 programs get a copy of the table with our functions in these places.
 * Otherwise it is passed on as it is: newer runtimes compare a hash of its address with the
 * driver's, and do not start with a copy. That check is respected: neither the hash nor the
 * driver's own table is touched. Tables of another form, and other tables, are always passed on. */
#include "driver.h"

#include "lock.h"

#include <stdatomic.h>
#include <string.h>

enum { LOAD = 1, LOAD_WITH_OPTIONS = 6, LOAD_FATBIN = 8, LAUNCH = 9, MOST_WORDS = 128 };

static const unsigned char runtime_interface[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                                    0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};

typedef int load_function(void **module, const void *wrapper);
typedef int load_with_options_function(void **module, const void *wrapper, void *options,
                                       void *values, size_t count);
typedef int load_fatbin_function(const void *fatbin, void **module, void *options, void *values,
                                 size_t count);
typedef int launch_function(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned bytes,
                            void *stream, void **extra);

static _Atomic(const uintptr_t *) original; /* the driver's table */
static uintptr_t copy[MOST_WORDS];          /* complete when original is set */

/* ---- Functions of the table ---- */

/* Loads the rewritten form of an image; false where there is none, or the driver refuses it. *image
 * is what is known about the code. */
static bool load(void **module, const void *code, const inject_image **image) {
  *image = module ? inject_image_of_memory(code) : NULL;
  return inject_is_new(*image) && inject_is_taken(REAL(cuModuleLoadData, module, (*image)->text)) &&
         inject_remember(CUDA_SUCCESS, *module, *image) == CUDA_SUCCESS;
}

static int load_wrapper(void **module, const void *wrapper) {
  const inject_image *image;
  if (load(module, wrapper, &image))
    return CUDA_SUCCESS;
  load_function *real = (load_function *)atomic_load(&original)[LOAD];
  return inject_remember_plain(real(module, wrapper), module, image);
}

/* What the options mean is not known; images with any are passed on. */
static int load_with_options(void **module, const void *wrapper, void *options, void *values,
                             size_t count) {
  const inject_image *image = NULL;
  if (!options && !values && load(module, wrapper, &image))
    return CUDA_SUCCESS;
  load_with_options_function *real =
      (load_with_options_function *)atomic_load(&original)[LOAD_WITH_OPTIONS];
  return inject_remember_plain(real(module, wrapper, options, values, count), module, image);
}

static int load_fatbin(const void *fatbin, void **module, void *options, void *values,
                       size_t count) {
  const inject_image *image = NULL;
  if (!options && !values && load(module, fatbin, &image))
    return CUDA_SUCCESS;
  load_fatbin_function *real = (load_fatbin_function *)atomic_load(&original)[LOAD_FATBIN];
  return inject_remember_plain(real(fatbin, module, options, values, count), module, image);
}

static int launch(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned bytes,
                  void *stream, void **extra) {
  launch_function *real = (launch_function *)atomic_load(&original)[LAUNCH];
  inject_launch made = {.function = function,
                        .pair = inject_handle_pair(function),
                        .grid = {grid_x, grid_y, grid_z},
                        .block = {block_x, block_y, block_z},
                        .bytes = bytes,
                        .stream = stream};
  int result;
  inject_launch_begin(&made);
  do
    result = real(made.chosen, grid_x, grid_y, grid_z, block_x, block_y, block_z, made.chosen_bytes,
                  stream, extra);
  while (inject_launch_again(&made, result));
  inject_launch_end(&made, result);
  return result;
}

/* ---- The table ---- */

/* Puts a function in its place, where the table reaches so far and has one there. */
static void put(size_t words, unsigned at, uintptr_t function) {
  if (at < words && copy[at])
    copy[at] = function;
}

/* Fills the copy from the driver's table; false where it has another form. */
static bool fill_copy(const uintptr_t *table) {
  uintptr_t bytes = table[0];
  if (bytes % sizeof *table || bytes < 2 * sizeof *table || bytes > sizeof copy)
    return false;
  memcpy(copy, table, bytes);
  size_t words = bytes / sizeof *table;
  put(words, LOAD, (uintptr_t)load_wrapper);
  put(words, LOAD_WITH_OPTIONS, (uintptr_t)load_with_options);
  put(words, LOAD_FATBIN, (uintptr_t)load_fatbin);
  put(words, LAUNCH, (uintptr_t)launch);
  return true;
}

/* Our copy of a table; the table itself where there can be none. */
static const uintptr_t *copy_of(const uintptr_t *table) {
  inject_lock();
  if (!atomic_load(&original) && fill_copy(table))
    atomic_store(&original, table);
  bool is_copied = atomic_load(&original) == table;
  inject_unlock();
  if (!is_copied)
    inject_log("a table of the driver for old CUDA runtimes has another form, and is not used");
  return is_copied ? copy : table;
}

API(cuGetExportTable, const void **table, const void *identifier) {
  int result = REAL(cuGetExportTable, table, identifier);
  const inject_settings *settings = inject_settings_get();
  if (result == CUDA_SUCCESS && settings && settings->copies_table && table && *table &&
      identifier && memcmp(identifier, runtime_interface, sizeof runtime_interface) == 0)
    *table = copy_of(*table);
  return result;
}
