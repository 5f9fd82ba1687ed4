/* Graphs out of PTX: every kernel of whatever parses becomes a graph or is refused with a reason.
 */
#include "rgpu/extract.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Extracts from a kernel, by the line of each of its instructions in turn up to a few. */
static void check_kernel(const bf_ptx_module *module, const bf_ptx_function *kernel) {
  for (uint32_t i = 0; i < kernel->instructions && i < 40; i += 4) {
    bf_text text = {0};
    bf_diagnostic diagnostic = {0};
    uint64_t line = i ? kernel->instruction[i]->line : 0;
    if (bf_rgpu_extract(module, kernel->name, line, &text, &diagnostic) != BF_OK)
      assert(diagnostic.message[0]);
    bf_text_free(&text);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bf_ptx_module *module;
  if (bf_ptx_parse("fuzz", (const char *)data, size, &module, NULL) != BF_OK)
    return 0;
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FUNCTION && item->function->is_entry && item->function->has_body)
      check_kernel(module, item->function);
  bf_ptx_free(module);
  return 0;
}
