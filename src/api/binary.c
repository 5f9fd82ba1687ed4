/* Programs, libraries and fat binaries in memory, and the modules in them. */
#include "api/api.h"
#include "ptx/fatbin.h"

#include <stdlib.h>

struct bf_binary {
  bf_arena arena;
  bf_fatbin *fatbin;
  bf_binary_image *image;
};

/* The images as the public header has them. */
static int list_images(bf_binary *binary, bf_diagnostic *diagnostic) {
  const bf_fatbin *fatbin = binary->fatbin;
  binary->image = bf_arena_alloc(&binary->arena, fatbin->image_count * sizeof *binary->image);
  if (!binary->image)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < fatbin->image_count; i++) {
    const bf_image *from = &fatbin->images[i];
    char architecture[BF_ARCH_TEXT_BYTES];
    binary->image[i] = (bf_binary_image){.module = from->module,
                                         .kind = bf_image_kind_name(from->kind),
                                         .source = from->identifier,
                                         .bytes = from->bytes};
    BF_TRY(bf_api_copy(&binary->arena, bf_arch_print(from->arch, architecture),
                       &binary->image[i].architecture, diagnostic));
  }
  return BF_OK;
}

int bf_binary_parse(const void *data, size_t size, const char *name, bf_binary **out,
                    bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_binary *binary = calloc(1, sizeof *binary);
  if (!binary)
    return bf_no_memory(diagnostic);
  int error =
      bf_fatbin_open_memory(name ? name : "program", data, size, &binary->fatbin, diagnostic);
  if (!error)
    error = list_images(binary, diagnostic);
  if (error)
    bf_binary_free(binary);
  else
    *out = binary;
  return error;
}

void bf_binary_free(bf_binary *binary) {
  if (!binary)
    return;
  bf_fatbin_close(binary->fatbin);
  bf_arena_free(&binary->arena);
  free(binary);
}

unsigned bf_binary_module_count(const bf_binary *binary) { return binary->fatbin->module_count; }

const bf_binary_image *bf_binary_get(const bf_binary *binary, size_t index) {
  return index < binary->fatbin->image_count ? &binary->image[index] : NULL;
}

int bf_binary_get_module(const bf_binary *binary, unsigned module, const char *architecture,
                         bf_module **out, bf_diagnostic *diagnostic) {
  const bf_fatbin *fatbin = binary->fatbin;
  bf_arch wanted = {0};
  *out = NULL;
  if (architecture && !bf_arch_parse(architecture, &wanted))
    return bf_fail(diagnostic, BF_BAD_INPUT, "'%.40s' is no architecture, as sm_90 is",
                   architecture);
  if (module < 1 || module > fatbin->module_count)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, fatbin->name, "no module %u: there are 1 to %u",
                        module, fatbin->module_count);
  const bf_image *image = bf_fatbin_pick(fatbin, module, wanted);
  if (!image)
    return bf_fatbin_no_ptx(fatbin, module, wanted, diagnostic);
  bf_text ptx = {0};
  int error = bf_fatbin_text(fatbin, image, &ptx, diagnostic);
  if (!error)
    error = bf_api_module_create(fatbin->name, &ptx, out, diagnostic);
  bf_text_free(&ptx);
  return error;
}

int bf_module_parse(const void *data, size_t size, const char *name, bf_module **module,
                    bf_diagnostic *diagnostic) {
  bf_binary *binary;
  *module = NULL;
  BF_TRY(bf_binary_parse(data, size, name, &binary, diagnostic));
  unsigned modules = bf_binary_module_count(binary);
  int error = modules == 1
                  ? bf_binary_get_module(binary, 1, NULL, module, diagnostic)
                  : bf_fail_file(diagnostic, BF_BAD_INPUT, binary->fatbin->name,
                                 "%u modules, of which bf_binary_get_module picks one", modules);
  bf_binary_free(binary);
  return error;
}
