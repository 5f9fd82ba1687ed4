/* The linker's interface: PTX in pieces becomes one image, which is PTX too, and is loaded like any
 * other. */
#include "ptx/link.h"
#include "driver.h"
#include "ptx/fatbin.h"

#include <stdlib.h>
#include <string.h>

/* What is given to the linker. */
enum { CUBIN, PTX, FATBIN, OBJECT, LIBRARY, INPUTS };

/* A link that was begun. */
typedef struct dr_link {
  unsigned options;
  const int *option;
  void **value;
  bf_ptx_module **part;
  unsigned parts;
  bf_text image; /* what was made */
} dr_link;

/* ---- Pieces ---- */

/* Adds the PTX of a piece; a bf_error. */
static int add_text(dr_link *link, const char *name, const char *text, size_t bytes,
                    bf_diagnostic *diagnostic) {
  bf_ptx_module **grown = realloc(link->part, (link->parts + 1) * sizeof *grown);
  if (!grown)
    return bf_no_memory(diagnostic);
  link->part = grown;
  BF_TRY(bf_ptx_parse(name, text, bytes, &link->part[link->parts], diagnostic));
  link->parts++;
  return BF_OK;
}

/* Adds the best PTX of every module of a fat binary, an object file, a library or text; a bf_error.
 */
static int add_images(const rt_context *context, dr_link *link, const bf_fatbin *from,
                      bf_diagnostic *diagnostic) {
  bf_arch wanted = {(unsigned)(context->device->major * 10 + context->device->minor), 0};
  for (unsigned module = 1; module <= from->module_count; module++) {
    const bf_image *image = bf_fatbin_pick(from, module, wanted);
    bf_text text = {0};
    if (!image)
      image = bf_fatbin_pick(from, module, (bf_arch){0});
    if (!image)
      return bf_fatbin_no_ptx(from, module, wanted, diagnostic);
    int error = bf_fatbin_text(from, image, &text, diagnostic);
    if (!error && !rt_is_device_runtime(&text))
      error = add_text(link, from->name, text.data ? text.data : "", text.size, diagnostic);
    bf_text_free(&text);
    BF_TRY(error);
  }
  return BF_OK;
}

/* The link behind a handle; NULL where there is none. */
static dr_link *find(const rt_context *context, const void *handle) {
  return rt_map_get(&context->driver->links, handle);
}

/* Ends the addition of a piece, whose fat binary is closed; a CUresult. */
static int end_addition(rt_context *context, dr_link *link, int failure, bf_fatbin *from,
                        const bf_diagnostic *diagnostic) {
  bf_fatbin_close(from);
  if (failure) {
    rt_complain(context, diagnostic);
    dr_tell(link->options, link->option, link->value, diagnostic);
  }
  return rt_leave(context, !failure                    ? CUDA_SUCCESS
                           : failure == BF_UNSUPPORTED ? CUDA_ERROR_NO_BINARY_FOR_GPU
                           : failure == BF_NO_MEMORY   ? CUDA_ERROR_OUT_OF_MEMORY
                           : failure == BF_IO          ? CUDA_ERROR_FILE_NOT_FOUND
                                                       : CUDA_ERROR_INVALID_PTX);
}

API(cuLinkAddData_v2, void *handle, int type, void *data, size_t bytes, const char *name,
    unsigned count, const int *options, void **values) {
  DR_CHECK();
  (void)count, (void)options, (void)values;
  if (!data || !bytes || type < CUBIN || type >= INPUTS)
    return handle ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
  rt_context *context = rt_enter();
  dr_link *link = find(context, handle);
  bf_diagnostic diagnostic = {.caret = -1};
  bf_fatbin *from = NULL;
  if (!link)
    return rt_leave(context, CUDA_ERROR_INVALID_HANDLE);
  if (type == PTX) /* its size may or may not count the NUL at its end */
    bytes = strnlen(data, bytes);
  int failure = bf_fatbin_read(name ? name : "a piece", data, bytes, &from, &diagnostic);
  if (!failure)
    failure = add_images(context, link, from, &diagnostic);
  return end_addition(context, link, failure, from, &diagnostic);
}
DR_ALIAS(cuLinkAddData_v2, cuLinkAddData);

API(cuLinkAddFile_v2, void *handle, int type, const char *path, unsigned count, const int *options,
    void **values) {
  DR_CHECK();
  (void)count, (void)options, (void)values;
  if (!path || type < CUBIN || type >= INPUTS)
    return handle ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
  rt_context *context = rt_enter();
  dr_link *link = find(context, handle);
  bf_diagnostic diagnostic = {.caret = -1};
  bf_fatbin *from = NULL;
  if (!link)
    return rt_leave(context, CUDA_ERROR_INVALID_HANDLE);
  int failure = bf_fatbin_open(path, &from, &diagnostic);
  if (!failure)
    failure = add_images(context, link, from, &diagnostic);
  return end_addition(context, link, failure, from, &diagnostic);
}
DR_ALIAS(cuLinkAddFile_v2, cuLinkAddFile);

/* ---- Links ---- */

API(cuLinkCreate_v2, unsigned count, const int *options, void **values, void **handle) {
  DR_CHECK();
  if (!handle || (count && (!options || !values)))
    return CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  dr_link *link = calloc(1, sizeof *link);
  if (!link || !rt_map_put(&context->driver->links, link, link)) {
    free(link);
    return rt_leave(context, CUDA_ERROR_OUT_OF_MEMORY);
  }
  *link = (dr_link){.options = count, .option = options, .value = values};
  *handle = link;
  return rt_leave(context, CUDA_SUCCESS);
}
DR_ALIAS(cuLinkCreate_v2, cuLinkCreate);

/* Links the pieces, where there are several, and prints what becomes of them; a bf_error. Pieces
 * are of no use any more after that. */
static int complete(dr_link *link, bf_diagnostic *diagnostic) {
  bf_ptx_module *linked = NULL;
  if (link->parts > 1)
    BF_TRY(bf_ptx_link("linked", link->part, link->parts, bf_emu_provides, &linked, diagnostic));
  bf_text_free(&link->image);
  bf_ptx_print(linked ? linked : link->part[0], &link->image);
  bf_ptx_free(linked);
  return link->image.failed ? bf_no_memory(diagnostic) : BF_OK;
}

API(cuLinkComplete, void *handle, void **image, size_t *bytes) {
  DR_CHECK();
  rt_context *context = rt_enter();
  dr_link *link = find(context, handle);
  bf_diagnostic diagnostic = {.caret = -1};
  if (!link || !image || !link->parts)
    return rt_leave(context, link ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
  int failure = complete(link, &diagnostic);
  if (failure)
    rt_complain(context, &diagnostic);
  dr_tell(link->options, link->option, link->value, &diagnostic);
  if (!failure)
    *image = link->image.data;
  if (!failure && bytes)
    *bytes = link->image.size + 1;
  return rt_leave(context, !failure                  ? CUDA_SUCCESS
                           : failure == BF_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY

                                                     : CUDA_ERROR_INVALID_PTX);
}

API(cuLinkDestroy, void *handle) {
  DR_CHECK();
  rt_context *context = rt_enter();
  dr_link *link = find(context, handle);
  if (!link)
    return rt_leave(context, CUDA_ERROR_INVALID_HANDLE);
  rt_map_remove(&context->driver->links, link);
  for (unsigned i = 0; i < link->parts; i++)
    bf_ptx_free(link->part[i]);
  free(link->part);
  bf_text_free(&link->image);
  free(link);
  return rt_leave(context, CUDA_SUCCESS);
}
