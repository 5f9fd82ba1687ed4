/* Analysis of kernels: whatever parses is analysed in bounded time, and what is said of its
 * accesses is consistent. */
#include "analyze/analyze.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_site(const bf_analysis *analysis, const bf_analyze_site *site) {
  assert(site->is_exact == (site->unknowns == 0));
  assert(site->formula || !site->is_reached);
  for (unsigned i = 0; i < site->unknowns; i++)
    assert(site->unknown[i].because[0]);
  for (size_t i = 0; i < site->accesses; i++)
    assert(site->access[i].mask && site->access[i].warp < analysis->warps);
}

static void check_kernel(const bf_ptx_module *module, const bf_ptx_function *kernel) {
  bf_analyze_options options = {.block = {8, 3, 2}};
  bf_analysis *analysis;
  bf_diagnostic diagnostic = {0};
  if (bf_analyze(module, kernel, &options, &analysis, &diagnostic) == BF_OK) {
    for (uint32_t i = 0; i < analysis->sites; i++)
      check_site(analysis, &analysis->site[i]);
    bf_analysis_free(analysis);
  } else {
    assert(diagnostic.message[0] && !analysis);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bf_ptx_module *module;
  bf_diagnostic diagnostic;
  if (bf_ptx_parse("fuzz", (const char *)data, size, &module, &diagnostic) != BF_OK)
    return 0;
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FUNCTION && item->function->has_body)
      check_kernel(module, item->function);
  bf_ptx_free(module);
  return 0;
}
