/* A module of a file: its parts are looked at by several threads, and what they found is joined in
 * the order of kernels, so that it is the same as if one had looked at all of it. */
#include "scan/inner.h"

#include <stdlib.h>
#include <string.h>

int scan_module_open(const scan_images *images, unsigned index, const char *unit,
                     const bf_scan_options *options, const bf_source_launches *launches,
                     scan_module_work *module, bf_diagnostic *diagnostic) {
  const bf_image *image = bf_fatbin_pick(images->fatbin, index + 1, (bf_arch){0});
  module->holds_ptx = image != NULL;
  if (!image)
    return BF_OK;
  BF_TRY(bf_fatbin_text(images->fatbin, image, &module->ptx, diagnostic));
  module->key = scan_key_of(options, launches, module->ptx.data, module->ptx.size);
  module->was_known = scan_cache_read(options, &module->key, unit, &module->found);
  if (module->was_known)
    return BF_OK;
  if (!scan_split_make(&module->ptx, &module->split))
    return bf_no_memory(diagnostic);
  module->parts = module->split.parts;
  module->part = calloc(module->parts + 1, sizeof *module->part);
  return module->part ? BF_OK : bf_no_memory(diagnostic);
}

bool scan_module_look(const scan_module_work *module, unsigned part, const char *unit,
                      const bf_scan_options *options, const bf_source_launches *launches,
                      scan_kernels *found) {
  const scan_part *own = &module->split.part[part];
  bf_diagnostic unused;
  bf_text text = {0};
  if (module->parts == 1)
    return scan_module(unit, &module->ptx, SIZE_MAX, options, launches, found, &unused) == BF_OK;
  scan_split_text(&module->split, part, &text);
  bool is_good = !text.failed && scan_module(unit, &text, own->end - own->first, options, launches,
                                             found, &unused) == BF_OK;
  bf_text_free(&text);
  return is_good;
}

/* Makes one list of those of the parts, which keep what it leads to. */
static int join(scan_module_work *module, bf_diagnostic *diagnostic) {
  size_t count = 0;
  for (unsigned i = 0; i < module->parts; i++)
    count += module->part[i].count;
  bf_scan_kernel *all = calloc(count + 1, sizeof *all);
  if (!all)
    return bf_no_memory(diagnostic);
  module->found = (scan_kernels){.kernel = all, .capacity = count + 1};
  for (unsigned i = 0; i < module->parts; i++) {
    const scan_kernels *own = &module->part[i];
    if (own->count)
      memcpy(all + module->found.count, own->kernel, own->count * sizeof *all);
    module->found.count += own->count;
  }
  return BF_OK;
}

int scan_module_finish(scan_module_work *module, const char *unit, const bf_scan_options *options,
                       const bf_source_launches *launches, bf_diagnostic *diagnostic) {
  bool is_whole = module->has_failed || module->parts == 0; /* without kernels */
  BF_TRY(is_whole ? scan_module(unit, &module->ptx, SIZE_MAX, options, launches, &module->found,
                                diagnostic)
                  : join(module, diagnostic));
  scan_cache_write(options, &module->key, &module->found);
  scan_split_free(&module->split);
  bf_text_free(&module->ptx);
  return BF_OK;
}

void scan_module_free(scan_module_work *module) {
  for (unsigned i = 0; module->part && i < module->parts; i++)
    scan_kernels_free(&module->part[i]);
  free(module->part);
  scan_split_free(&module->split);
  bf_text_free(&module->ptx);
  scan_kernels_free(&module->found);
}
