/* Natural loops: dominators (Cooper, Harvey and Kennedy) over the blocks in reverse postorder, and
 * from each header, inner ones first, a walk back from the jumps to it. */
#include "analyze/walk.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t NONE = UINT32_MAX;

typedef struct finder {
  const bf_ptx_function *function;
  const bf_ptx_flow *flow;
  bf_loops *loops;
  uint32_t *order;    /* reachable blocks in reverse postorder */
  uint32_t *position; /* per block, or NONE */
  uint32_t *dominator;
  uint32_t *first; /* per block: where its predecessors begin */
  uint32_t *predecessor;
  uint32_t *stack;
  uint32_t ordered;
} finder;

/* Numbers the reachable blocks; next has a zeroed entry per block. */
static void order_blocks(finder *f, uint32_t *next) {
  const bf_ptx_flow *flow = f->flow;
  uint32_t depth = 0, left = 0;
  for (uint32_t i = 0; i < flow->blocks; i++)
    left += flow->block[i].is_reachable;
  f->ordered = left;
  bool *seen = (bool *)(next + flow->blocks);
  f->stack[depth++] = 0;
  seen[0] = true;
  while (depth > 0) {
    uint32_t at = f->stack[depth - 1];
    const bf_ptx_block *block = &flow->block[at];
    if (next[at] < block->successors) {
      uint32_t to = block->successor[next[at]++];
      if (to < flow->blocks && !seen[to]) {
        seen[to] = true;
        f->stack[depth++] = to;
      }
    } else {
      depth--;
      f->position[at] = --left;
      f->order[left] = at;
    }
  }
}

static void list_predecessors(finder *f) {
  const bf_ptx_flow *flow = f->flow;
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t i = 0; i < f->ordered; i++) {
      const bf_ptx_block *block = &flow->block[f->order[i]];
      for (uint32_t k = 0; k < block->successors; k++) {
        uint32_t to = block->successor[k];
        if (to >= flow->blocks)
          continue;
        if (pass == 0)
          f->first[to + 2]++;
        else
          f->predecessor[f->first[to + 1]++] = f->order[i];
      }
    }
    for (uint32_t i = 0; pass == 0 && i < flow->blocks; i++)
      f->first[i + 2] += f->first[i + 1];
  }
}

static uint32_t meet(const finder *f, uint32_t a, uint32_t b) {
  while (a != b) {
    while (f->position[a] > f->position[b])
      a = f->dominator[a];
    while (f->position[b] > f->position[a])
      b = f->dominator[b];
  }
  return a;
}

static void find_dominators(finder *f) {
  f->dominator[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 1; i < f->ordered; i++) {
      uint32_t block = f->order[i], found = NONE;
      for (uint32_t k = f->first[block]; k < f->first[block + 1]; k++) {
        uint32_t before = f->predecessor[k];
        if (f->dominator[before] != NONE)
          found = found == NONE ? before : meet(f, found, before);
      }
      changed |= found != f->dominator[block];
      f->dominator[block] = found;
    }
  }
}

static bool dominates(const finder *f, uint32_t a, uint32_t b) {
  while (f->position[b] > f->position[a])
    b = f->dominator[b];
  return a == b;
}

/* The outermost loop found so far around block, or NONE. */
static uint32_t outermost(const bf_loops *loops, uint32_t block) {
  uint32_t loop = loops->innermost[block];
  while (loop != NONE && loops->loop[loop].parent != NONE)
    loop = loops->loop[loop].parent;
  return loop;
}

/* Takes block, or the outermost loop around it, into loop; returns the block whose predecessors
 * belong to loop too, or NONE. */
static uint32_t take(bf_loops *loops, uint32_t loop, uint32_t block) {
  uint32_t around = outermost(loops, block);
  if (around == loop)
    return NONE;
  if (around == NONE) {
    loops->innermost[block] = loop;
    return block;
  }
  loops->loop[around].parent = loop;
  return loops->loop[around].header;
}

/* Makes the loop of header if something jumps back to it. */
static void find_loop(finder *f, uint32_t header) {
  bf_loops *loops = f->loops;
  uint32_t depth = 0, loop = loops->count;
  bool found = false;
  for (uint32_t k = f->first[header]; k < f->first[header + 1]; k++) {
    uint32_t from = f->predecessor[k];
    if (f->position[from] < f->position[header])
      continue;
    if (!dominates(f, header, from)) {
      loops->irreducible_line = f->function->instruction[f->flow->block[header].first]->line;
      continue;
    }
    if (!found) {
      found = true;
      loops->count++;
      loops->loop[loop] = (bf_loop){.header = header, .parent = NONE};
      loops->loop[loop].line = f->function->instruction[f->flow->block[header].first]->line;
      loops->headed[header] = loop;
      take(loops, loop, header);
    }
    uint32_t next = take(loops, loop, from);
    if (next != NONE)
      f->stack[depth++] = next;
  }
  while (depth > 0) {
    uint32_t block = f->stack[--depth];
    for (uint32_t k = f->first[block]; k < f->first[block + 1]; k++) {
      uint32_t next = take(loops, loop, f->predecessor[k]);
      if (next != NONE)
        f->stack[depth++] = next;
    }
  }
}

static bool find(finder *f, uint32_t *next) {
  uint32_t blocks = f->flow->blocks;
  memset(f->position, 0xff, blocks * sizeof *f->position);
  memset(f->dominator, 0xff, blocks * sizeof *f->dominator);
  memset(f->loops->innermost, 0xff, blocks * sizeof *f->loops->innermost);
  memset(f->loops->headed, 0xff, blocks * sizeof *f->loops->headed);
  order_blocks(f, next);
  list_predecessors(f);
  find_dominators(f);
  for (uint32_t i = f->ordered; i-- > 0;)
    find_loop(f, f->order[i]);
  return true;
}

int bf_loops_find(const bf_ptx_function *function, const bf_ptx_flow *flow, bf_loops *loops) {
  size_t blocks = flow->blocks, edges = 0;
  *loops = (bf_loops){0};
  if (blocks == 0)
    return BF_OK;
  for (size_t i = 0; i < blocks; i++)
    edges += flow->block[i].successors;
  finder f = {.function = function, .flow = flow, .loops = loops};
  loops->loop = malloc(blocks * sizeof *loops->loop);
  loops->innermost = malloc(blocks * sizeof *loops->innermost);
  loops->headed = malloc(blocks * sizeof *loops->headed);
  f.order = malloc(blocks * sizeof *f.order);
  f.position = malloc(blocks * sizeof *f.position);
  f.dominator = malloc(blocks * sizeof *f.dominator);
  f.first = calloc(blocks + 3, sizeof *f.first);
  f.predecessor = malloc((edges + 1) * sizeof *f.predecessor);
  f.stack = malloc((blocks + edges + 1) * sizeof *f.stack);
  uint32_t *next = calloc(blocks * 2 + 1, sizeof *next);
  bool fine = loops->loop && loops->innermost && loops->headed && f.order && f.position &&
              f.dominator && f.first && f.predecessor && f.stack && next && find(&f, next);
  free(f.order);
  free(f.position);
  free(f.dominator);
  free(f.first);
  free(f.predecessor);
  free(f.stack);
  free(next);
  return fine ? BF_OK : BF_NO_MEMORY;
}

void bf_loops_free(bf_loops *loops) {
  free(loops->loop);
  free(loops->innermost);
  free(loops->headed);
}

bool bf_loops_contain(const bf_loops *loops, uint32_t loop, uint32_t block) {
  for (uint32_t i = loops->innermost[block]; i != BF_NO_LOOP; i = loops->loop[i].parent)
    if (i == loop)
      return true;
  return false;
}
