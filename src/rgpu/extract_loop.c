/* Which kernel, and which of its innermost loops. */
#include "rgpu/extracting.h"

#include <stdlib.h>
#include <string.h>

/* ---- The kernel ---- */

static bool is_kernel(const bf_ptx_item *item) {
  return item->kind == BF_PTX_ITEM_FUNCTION && item->function->is_entry && item->function->has_body;
}

/* Refuses for want of one kernel, naming those there are. */
static int refuse_choice(extraction *x, const char *kernel) {
  bf_text names = {0};
  for (const bf_ptx_item *item = x->module->first; item; item = item->next)
    if (is_kernel(item) && names.size < 300)
      bf_text_addf(&names, "%s%.100s", names.size ? ", " : "", item->function->name);
  int error = bf_fail_file(x->diagnostic, BF_BAD_INPUT, x->module->file, "%s%.80s%s; there %s%s",
                           kernel ? "no kernel '" : "several kernels", kernel ? kernel : "",
                           kernel ? "'" : "", names.size ? "are: " : "is none",
                           names.size ? names.data : "");
  bf_text_free(&names);
  return error;
}

static int find_kernel(extraction *x, const char *kernel) {
  for (const bf_ptx_item *item = x->module->first; item; item = item->next) {
    if (!is_kernel(item) || (kernel && strcmp(item->function->name, kernel) != 0))
      continue;
    if (x->function)
      return refuse_choice(x, NULL);
    x->function = item->function;
  }
  if (x->function)
    return BF_OK;
  return kernel ? refuse_choice(x, kernel)
                : bf_fail_file(x->diagnostic, BF_BAD_INPUT, x->module->file, "no kernel");
}

/* ---- Loops ---- */

/* Marks the blocks from which the end of the loop is reached without its start, which is marked.
 * stack has room for all blocks. */
static void mark_body(const bf_ptx_tree *tree, uint32_t end, bool *body, uint32_t *stack) {
  uint32_t depth = 0;
  if (!body[end]) {
    body[end] = true;
    stack[depth++] = end;
  }
  while (depth) {
    uint32_t block = stack[--depth];
    for (uint32_t i = tree->first_predecessor[block]; i < tree->first_predecessor[block + 1]; i++) {
      uint32_t before = tree->predecessor[i];
      if (body[before])
        continue;
      body[before] = true;
      stack[depth++] = before;
    }
  }
}

/* Blocks of all loops that start at a block; false if none does. */
static bool find_body(const extraction *x, const bf_ptx_tree *tree, uint32_t header, bool *body,
                      uint32_t *stack) {
  bool found = false;
  memset(body, 0, x->flow->blocks);
  body[header] = true;
  for (uint32_t i = tree->first_predecessor[header]; i < tree->first_predecessor[header + 1]; i++) {
    uint32_t end = tree->predecessor[i];
    if (!bf_ptx_dominates(tree, header, end))
      continue;
    found = true;
    mark_body(tree, end, body, stack);
  }
  return found;
}

/* Whether a block starts a loop. */
static bool starts_loop(const bf_ptx_tree *tree, uint32_t header) {
  for (uint32_t i = tree->first_predecessor[header]; i < tree->first_predecessor[header + 1]; i++)
    if (bf_ptx_dominates(tree, header, tree->predecessor[i]))
      return true;
  return false;
}

static uint64_t line_of(const extraction *x, uint32_t instruction) {
  return x->function->instruction[instruction]->line;
}

/* Whether one of the marked blocks has the line. */
static bool has_line(const extraction *x, const bool *body, uint64_t line) {
  for (uint32_t b = 0; b < x->flow->blocks; b++)
    if (body[b] && line_of(x, x->flow->block[b].first) <= line &&
        line <= line_of(x, x->flow->block[b].end - 1))
      return true;
  return false;
}

/* A loop of one block is straight-line code. Of others, says where they branch. */
static int take_loop(extraction *x, uint32_t header, const bool *body) {
  for (uint32_t b = 0; b < x->flow->blocks; b++)
    if (body[b] && b != header)
      return extract_refuse(x, line_of(x, x->flow->block[header].end - 1),
                            "the loop is not straight-line code: it goes different ways from here");
  x->block = header;
  return BF_OK;
}

/* Looks at every innermost loop; takes the one that is asked for. */
static int choose_loop(extraction *x, const bf_ptx_tree *tree, bool *body, uint32_t *stack,
                       uint64_t line) {
  uint32_t loops = 0, chosen = 0;
  for (uint32_t header = 0; header < x->flow->blocks; header++) {
    if (!x->flow->block[header].is_reachable || !find_body(x, tree, header, body, stack))
      continue;
    bool is_innermost = true;
    for (uint32_t b = 0; b < x->flow->blocks; b++)
      is_innermost &= b == header || !body[b] || !starts_loop(tree, b);
    if (!is_innermost || (line && !has_line(x, body, line)))
      continue;
    if (loops++)
      return extract_refuse(x, line_of(x, x->flow->block[header].first),
                            "another innermost loop begins here, besides the one at line %llu; say "
                            "which by one of its lines",
                            (unsigned long long)line_of(x, x->flow->block[chosen].first));
    chosen = header;
  }
  if (!loops)
    return line ? extract_refuse(x, line, "no innermost loop has this line")
                : extract_refuse(x, x->function->line, "the kernel has no loop");
  find_body(x, tree, chosen, body, stack);
  return take_loop(x, chosen, body);
}

int extract_find_loop(extraction *x, const char *kernel, uint64_t line) {
  bf_ptx_tree tree;
  BF_TRY(find_kernel(x, kernel));
  BF_TRY(bf_ptx_flow_create(x->function, &x->flow, x->diagnostic));
  bool *body = bf_arena_alloc(&x->arena, x->flow->blocks + 1);
  uint32_t *stack = bf_arena_alloc(&x->arena, x->flow->blocks * sizeof *stack);
  if (!body || !stack || !bf_ptx_tree_fill(x->flow, &x->arena, &tree))
    return extract_no_memory(x);
  return choose_loop(x, &tree, body, stack, line);
}
