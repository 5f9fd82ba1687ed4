/* Dominators of basic blocks, by walking the graph from the first block and intersecting what is
 * known until nothing changes (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm").
 * Unreachable blocks take no part. */
#include "ptx/flow.h"

#include <string.h>

static const uint32_t UNKNOWN = UINT32_MAX;

/* Lists the predecessors of every block; the exit counts as a block. */
static void list_predecessors(const bf_ptx_flow *flow, bf_ptx_tree *tree, uint32_t *next) {
  uint32_t sum = 0;
  for (uint32_t b = 0; b < flow->blocks; b++)
    for (uint32_t i = 0; i < flow->block[b].successors; i++)
      next[flow->block[b].successor[i]]++;
  for (uint32_t b = 0; b <= flow->blocks; b++) {
    tree->first_predecessor[b] = sum;
    sum += next[b];
    next[b] = tree->first_predecessor[b];
  }
  for (uint32_t b = 0; b < flow->blocks; b++)
    for (uint32_t i = 0; i < flow->block[b].successors; i++)
      tree->predecessor[next[flow->block[b].successor[i]]++] = b;
}

/* Reverse postorder of what can be reached. stack and next have an entry per block; position serves
 * as the mark of blocks already met. */
static void order_blocks(const bf_ptx_flow *flow, bf_ptx_tree *tree, uint32_t *stack,
                         uint32_t *next) {
  uint32_t depth = 0, place = flow->blocks;
  stack[depth++] = 0;
  tree->position[0] = 0;
  while (depth > 0) {
    uint32_t block = stack[depth - 1];
    if (next[block] < flow->block[block].successors) {
      uint32_t to = flow->block[block].successor[next[block]++];
      if (to < flow->blocks && tree->position[to] == UNKNOWN) {
        tree->position[to] = 0;
        stack[depth++] = to;
      }
    } else {
      depth--;
      tree->order[--place] = block;
    }
  }
  tree->ordered = flow->blocks - place;
  memmove(tree->order, tree->order + place, tree->ordered * sizeof *tree->order);
  for (uint32_t i = 0; i < tree->ordered; i++)
    tree->position[tree->order[i]] = i;
}

static uint32_t meet(const bf_ptx_tree *tree, uint32_t a, uint32_t b) {
  while (a != b) {
    while (tree->position[a] > tree->position[b])
      a = tree->dominator[a];
    while (tree->position[b] > tree->position[a])
      b = tree->dominator[b];
  }
  return a;
}

static void dominate(bf_ptx_tree *tree) {
  tree->dominator[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 1; i < tree->ordered; i++) {
      uint32_t block = tree->order[i], found = UNKNOWN;
      for (uint32_t k = tree->first_predecessor[block]; k < tree->first_predecessor[block + 1];
           k++) {
        uint32_t from = tree->predecessor[k];
        if (tree->position[from] != UNKNOWN && tree->dominator[from] != UNKNOWN)
          found = found == UNKNOWN ? from : meet(tree, found, from);
      }
      changed |= found != tree->dominator[block];
      tree->dominator[block] = found;
    }
  }
}

bool bf_ptx_tree_fill(const bf_ptx_flow *flow, bf_arena *arena, bf_ptx_tree *tree) {
  size_t bytes = ((size_t)flow->blocks + 2) * sizeof(uint32_t), edges = 0;
  for (uint32_t b = 0; b < flow->blocks; b++)
    edges += flow->block[b].successors;
  uint32_t *stack = bf_arena_alloc(arena, bytes), *next = bf_arena_alloc(arena, bytes);
  tree->order = bf_arena_alloc(arena, bytes);
  tree->position = bf_arena_alloc(arena, bytes);
  tree->dominator = bf_arena_alloc(arena, bytes);
  tree->first_predecessor = bf_arena_alloc(arena, bytes);
  tree->predecessor = bf_arena_alloc(arena, (edges + 1) * sizeof(uint32_t));
  if (!stack || !next || !tree->order || !tree->position || !tree->dominator ||
      !tree->first_predecessor || !tree->predecessor)
    return false;
  memset(tree->position, 0xff, bytes);
  memset(tree->dominator, 0xff, bytes);
  tree->ordered = 0;
  if (flow->blocks == 0)
    return true;
  list_predecessors(flow, tree, next);
  tree->first_predecessor[flow->blocks + 1] = (uint32_t)edges;
  memset(next, 0, bytes);
  order_blocks(flow, tree, stack, next);
  dominate(tree);
  return true;
}

bool bf_ptx_dominates(const bf_ptx_tree *tree, uint32_t a, uint32_t b) {
  if (tree->position[a] == UNKNOWN || tree->position[b] == UNKNOWN)
    return false;
  while (tree->position[b] > tree->position[a])
    b = tree->dominator[b];
  return a == b;
}
