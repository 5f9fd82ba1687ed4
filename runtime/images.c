/* Modules that a program loads by a call: from PTX text, from a fat binary, or from a file of
 * either. Libraries of the runtime and modules and libraries of the driver are the same thing here.
 */
#include "context.h"

#include <stdlib.h>
#include <string.h>

/* ---- Loading ---- */

static const char machine_code[] = "machine code only, which cannot be emulated: build it with PTX "
                                   "too, by nvcc -ptx, -fatbin or -arch=sm_90";

/* A module without anything in it, known to the context; NULL where memory is exhausted. */
static rt_module *make_module(rt_context *context) {
  rt_module *module = calloc(1, sizeof *module);
  if (!module || !rt_map_put(&context->opened, module, module)) {
    free(module);
    return NULL;
  }
  module->is_tried = true;
  module->next = context->modules;
  return context->modules = module;
}

/* Takes a module out of the list of all and frees it, where nothing points to it. */
static void forget(rt_context *context, rt_module *module) {
  rt_map_remove(&context->opened, module);
  for (rt_module **at = &context->modules; *at; at = &(*at)->next)
    if (*at == module) {
      *at = module->next;
      break;
    }
  if (module->loaded)
    bf_emu_unload(module->loaded);
  bf_ptx_free(module->ptx);
  rt_free_text(module);
  free(module);
}

/* Loads the best PTX of a fat binary; a cudaError. */
static int open_fatbin(rt_context *context, const bf_fatbin *fatbin, rt_module **module,
                       bf_diagnostic *diagnostic) {
  const bf_image *image = rt_pick_image(context, fatbin);
  if (!image) {
    bf_fail(diagnostic, BF_UNSUPPORTED, "%s holds %s", fatbin->name, machine_code);
    rt_say(context, "%s", diagnostic->message);
    return cudaErrorNoKernelImageForDevice;
  }
  *module = make_module(context);
  if (!*module)
    return cudaErrorMemoryAllocation;
  int failure = rt_load_image(context, *module, fatbin, image, diagnostic);
  if (!failure)
    return cudaSuccess;
  rt_complain(context, diagnostic);
  forget(context, *module);
  *module = NULL;
  return rt_error_of(failure, cudaErrorInvalidPtx);
}

/* How things in memory begin. Text may be shorter than that, and is not read past its end. */
static const char elf_begin[] = "\177ELF", wrapper_begin[] = "\xB1\x43\x62\x46",
                  module_begin[] = "\x50\xED\x55\xBA";

static bool begins(const void *image, const char begin[5]) { return strncmp(image, begin, 4) == 0; }

int rt_open_image(rt_context *context, const void *image, rt_module **module,
                  bf_diagnostic *diagnostic) {
  static const char name[] = "a module in memory";
  bf_fatbin *fatbin;
  if (image && begins(image, wrapper_begin))
    image = ((const rt_fatbin_wrapper *)image)->module;
  if (!image)
    return cudaErrorInvalidValue;
  if (begins(image, elf_begin)) {
    bf_fail(diagnostic, BF_UNSUPPORTED, "%s is %s", name, machine_code);
    rt_say(context, "%s", diagnostic->message);
    return cudaErrorNoKernelImageForDevice;
  }
  uint64_t bytes = begins(image, module_begin) ? bf_fatbin_module_bytes(image) : strlen(image);
  if (bf_fatbin_read(name, image, bytes, &fatbin, diagnostic) != BF_OK) {
    bool is_ptx = !begins(image, module_begin) && strstr(image, ".version");
    rt_complain(context, diagnostic);
    return is_ptx ? cudaErrorInvalidPtx : cudaErrorInvalidKernelImage;
  }
  int error = open_fatbin(context, fatbin, module, diagnostic);
  bf_fatbin_close(fatbin);
  return error;
}

int rt_open_file(rt_context *context, const char *path, rt_module **module,
                 bf_diagnostic *diagnostic) {
  bf_fatbin *fatbin;
  if (!path)
    return cudaErrorInvalidValue;
  int failure = bf_fatbin_open(path, &fatbin, diagnostic);
  if (failure) {
    rt_complain(context, diagnostic);
    return failure == BF_IO          ? cudaErrorFileNotFound
           : failure == BF_NO_MEMORY ? cudaErrorMemoryAllocation
                                     : cudaErrorInvalidKernelImage;
  }
  int error = open_fatbin(context, fatbin, module, diagnostic);
  bf_fatbin_close(fatbin);
  return error;
}

/* ---- What is in a module ---- */

rt_module *rt_find_module(const rt_context *context, const void *handle) {
  return rt_map_get(&context->opened, handle);
}

const bf_ptx_function *rt_kernel_at(const rt_module *module, unsigned number) {
  for (const bf_ptx_item *item = module->ptx->first; item; item = item->next) {
    bool is_kernel =
        item->kind == BF_PTX_ITEM_FUNCTION && item->function->is_entry && item->function->has_body;
    if (is_kernel && number-- == 0)
      return item->function;
  }
  return NULL;
}

int rt_find_kernel(rt_context *context, rt_module *module, const char *name,
                   rt_function **function) {
  if (!name)
    return cudaErrorInvalidValue;
  for (*function = context->functions; *function; *function = (*function)->next)
    if ((*function)->module == module && strcmp((*function)->name, name) == 0)
      return cudaSuccess;
  const bf_ptx_function *entry = bf_ptx_find(module->ptx, name);
  if (!entry || !entry->is_entry)
    return cudaErrorSymbolNotFound;
  *function = rt_add_function(context, module, NULL, name);
  return *function ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* ---- The end of a module ---- */

/* Takes the functions of a module out of the list of all, unless one of them was launched. */
static bool drop_functions(rt_context *context, const rt_module *module) {
  bool was_launched = false;
  for (rt_function *f = context->functions; f; f = f->next)
    if (f->module == module) {
      rt_map_remove(&context->by_host, f);
      was_launched |= f->tallies || f->accesses;
    }
  if (was_launched)
    return false;
  for (rt_function **at = &context->functions; *at;) {
    rt_function *f = *at;
    if (f->module != module) {
      at = &f->next;
      continue;
    }
    *at = f->next;
    free(f->name);
    free(f);
  }
  return true;
}

void rt_close_module(rt_context *context, rt_module *module) {
  if (drop_functions(context, module))
    forget(context, module);
  else
    rt_map_remove(&context->opened, module);
}
