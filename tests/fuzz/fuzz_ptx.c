/* PTX: whatever parses is printed as text that parses again to the same, its functions have graphs
 * whose post-dominators lead to the exit, accesses are merged into ones that happen, and what does
 * not parse says where. */
#include "ptx/ptx.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Following post-dominators ends at the exit. */
static void check_flow(const bf_ptx_function *function) {
  bf_ptx_flow *flow;
  assert(bf_ptx_flow_create(function, &flow, NULL) == BF_OK);
  for (uint32_t i = 0; i < flow->blocks; i++) {
    uint32_t steps = 0;
    for (uint32_t at = i; at != flow->blocks; at = flow->block[at].post_dominator)
      assert(steps++ <= flow->blocks);
    assert(flow->block[i].first < flow->block[i].end && flow->block[i].successors > 0);
  }
  bf_ptx_flow_free(flow);
}

/* Every shared access is dropped, leads, or follows one that leads. */
static void check_merges(const bf_ptx_module *module, const bf_ptx_function *function) {
  bf_ptx_merges *merges;
  assert(bf_ptx_merges_create(module, function, 90, &merges, NULL) == BF_OK);
  for (uint32_t i = 0; i < merges->instructions; i++) {
    const bf_ptx_merged *merged = &merges->instruction[i];
    const bf_ptx_merged *leader = &merges->instruction[merged->leader];
    assert(merged->leader < merges->instructions && leader->leader == merged->leader);
    assert(merged->dropped || merged->width_bytes == 0 || leader->times > 0);
  }
  bf_ptx_merges_free(merges);
}

static void check_module(const bf_ptx_module *module) {
  bf_text text = {0};
  bf_ptx_module *again;
  bf_diagnostic diagnostic;
  bool equal;
  bf_ptx_print(module, &text);
  assert(bf_ptx_parse("printed", text.data, text.size, &again, &diagnostic) == BF_OK);
  assert(bf_ptx_equal(module, again, &equal) == BF_OK && equal);
  bf_ptx_free(again);
  bf_text_free(&text);
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FUNCTION) {
      bf_ptx_summarise(module, item->function);
      check_flow(item->function);
      check_merges(module, item->function);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bf_ptx_module *module;
  bf_diagnostic diagnostic = {0};
  if (bf_ptx_parse("fuzz", (const char *)data, size, &module, &diagnostic) == BF_OK) {
    check_module(module);
    bf_ptx_free(module);
  } else {
    assert(diagnostic.message[0] && !module);
    assert(diagnostic.line > 0 && diagnostic.column > 0);
  }
  return 0;
}
