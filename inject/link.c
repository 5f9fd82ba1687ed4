/* Code that the driver links (cuLinkCreate and so on): each input with PTX gets second versions of
 * its kernels on its own. That is sound because the originals stay as they are, and the rewriter
 * leaves alone what leads out of a module: kernels that call functions of others. What is linked is
 * the program's, which may keep it in a file; kernels are found there by their names. */
#include "driver.h"

#include <string.h>

/* Whether inputs of a type can hold PTX. */
static bool can_hold_ptx(int type) {
  return type == CU_JIT_INPUT_PTX || type == CU_JIT_INPUT_FATBINARY;
}

/* Bytes of PTX for the linker, which wants its NUL too. */
static size_t text_size(const inject_image *image) { return strlen(image->text) + 1; }

/* An input as the program gave it was given to the linker: second versions of its kernels may be
 * loaded apart. Returns the result. */
static int keep_linked(int result, const inject_image *image) {
  if (result == CUDA_SUCCESS && image && image->is_apart)
    inject_linked_add(image);
  return result;
}

#define LINK_ADD_DATA(call)                                                                        \
  API(call, void *state, int type, void *data, size_t size, const char *name, unsigned count,      \
      int *options, void **values) {                                                               \
    const inject_image *image = can_hold_ptx(type) ? inject_input_of_memory(data, size) : NULL;    \
    if (inject_is_new(image) &&                                                                    \
        inject_is_taken(REAL(call, state, CU_JIT_INPUT_PTX, image->text, text_size(image), name,   \
                             count, options, values))) {                                           \
      inject_linked_add(image);                                                                    \
      return CUDA_SUCCESS;                                                                         \
    }                                                                                              \
    return keep_linked(REAL(call, state, type, data, size, name, count, options, values), image);  \
  }
LINK_ADD_DATA(cuLinkAddData)
LINK_ADD_DATA(cuLinkAddData_v2)

#define LINK_ADD_FILE(call, add_data)                                                              \
  API(call, void *state, int type, const char *path, unsigned count, int *options,                 \
      void **values) {                                                                             \
    const inject_image *image = can_hold_ptx(type) ? inject_input_of_file(path) : NULL;            \
    if (inject_is_new(image) &&                                                                    \
        inject_is_taken(REAL(add_data, state, CU_JIT_INPUT_PTX, image->text, text_size(image),     \
                             path, count, options, values))) {                                     \
      inject_linked_add(image);                                                                    \
      return CUDA_SUCCESS;                                                                         \
    }                                                                                              \
    return keep_linked(REAL(call, state, type, path, count, options, values), image);              \
  }
LINK_ADD_FILE(cuLinkAddFile, cuLinkAddData)
LINK_ADD_FILE(cuLinkAddFile_v2, cuLinkAddData_v2)
