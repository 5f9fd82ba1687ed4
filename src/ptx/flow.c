/* Basic blocks, their successors and immediate post-dominators.
 *
 * A block starts at the first instruction, at the target of a branch and behind an instruction that
 * may not go on to the next. Post-dominators come from walking the graph backwards from the exit
 * and intersecting what is known until nothing changes (Cooper, Harvey and Kennedy, "A Simple, Fast
 * Dominance Algorithm"). */
#include "ptx/flow.h"

#include <stdlib.h>
#include <string.h>

typedef struct builder {
  const bf_ptx_function *function;
  bf_ptx_flow *flow;
  bool *leads;           /* per instruction: starts a block; one more for the end */
  uint32_t *order;       /* blocks in postorder of the walk back from the exit, which is last */
  uint32_t *position;    /* per block and exit: its place in order; UNKNOWN before the walk */
  uint32_t *predecessor; /* of all blocks and the exit, one after the other */
  uint32_t *first_predecessor; /* per block and exit, and one more */
  uint32_t ordered;
} builder;

static const uint32_t UNKNOWN = UINT32_MAX;

/* Whether control never reaches the next instruction (unless a guard turns it off). */
static bool ends_block(const bf_ptx_instruction *instruction) {
  switch (instruction->opcode) {
  case BF_PTX_OP_BRA:
  case BF_PTX_OP_BRX:
  case BF_PTX_OP_RET:
  case BF_PTX_OP_EXIT:
  case BF_PTX_OP_TRAP:
    return true;
  default:
    return false;
  }
}

/* The labels an instruction branches to: one, or the list of brx. */
static const bf_ptx_operand *branch_targets(const bf_ptx_instruction *instruction,
                                            uint32_t *count) {
  *count = 0;
  if (instruction->opcode == BF_PTX_OP_BRA) {
    *count = 1;
    return &instruction->operand[0];
  }
  if (instruction->opcode != BF_PTX_OP_BRX)
    return NULL;
  const bf_ptx_operand *list = &instruction->operand[1];
  if (list->kind == BF_PTX_SYMBOL && list->symbol->kind == BF_PTX_SYMBOL_TARGETS) {
    *count = list->symbol->targets->count;
    return list->symbol->targets->item;
  }
  return NULL;
}

/* The instruction a label stands before; false for what is no label. */
static bool label_instruction(const bf_ptx_operand *target, uint32_t *instruction) {
  if (target->kind != BF_PTX_SYMBOL || target->symbol->kind != BF_PTX_SYMBOL_LABEL)
    return false;
  *instruction = target->symbol->instruction;
  return true;
}

static void mark_leaders(builder *b) {
  const bf_ptx_function *function = b->function;
  b->leads[0] = true;
  for (uint32_t i = 0; i < function->instructions; i++) {
    uint32_t count, to;
    const bf_ptx_operand *target = branch_targets(function->instruction[i], &count);
    for (uint32_t k = 0; k < count; k++)
      if (label_instruction(&target[k], &to))
        b->leads[to] = true;
    if (ends_block(function->instruction[i]))
      b->leads[i + 1] = true;
  }
}

/* Cuts the instructions into blocks; false when memory is exhausted. */
static bool cut(builder *b) {
  uint32_t count = b->function->instructions, blocks = 0;
  for (uint32_t i = 0; i < count; i++)
    blocks += b->leads[i];
  uint32_t *block_of = bf_arena_alloc(&b->flow->arena, (count + 1) * sizeof *block_of);
  b->flow->block = bf_arena_alloc(&b->flow->arena, ((size_t)blocks + 1) * sizeof(bf_ptx_block));
  if (!block_of || !b->flow->block)
    return false;
  b->flow->blocks = blocks;
  b->flow->block_of = block_of;
  for (uint32_t i = 0, block = 0; i < count; i++) {
    if (i > 0 && b->leads[i])
      b->flow->block[++block].first = i;
    b->flow->block[block].end = i + 1;
    block_of[i] = block;
  }
  block_of[count] = blocks; /* a label behind the last instruction leads to the exit */
  return true;
}

/* Adds a successor unless it is there; seen holds for each block who added it last. */
static void add_successor(bf_ptx_block *block, uint32_t *list, uint32_t *seen, uint32_t to,
                          uint32_t from) {
  if (seen[to] == from)
    return;
  seen[to] = from;
  list[block->successors++] = to;
}

/* Where block number `from` goes. seen has an entry per block and exit. */
static bool connect(builder *b, uint32_t from, uint32_t *seen) {
  bf_ptx_flow *flow = b->flow;
  bf_ptx_block *block = &flow->block[from];
  const bf_ptx_instruction *last = b->function->instruction[block->end - 1];
  uint32_t count, to;
  const bf_ptx_operand *target = branch_targets(last, &count);
  uint32_t *list = bf_arena_alloc(&flow->arena, ((size_t)count + 2) * sizeof *list);
  if (!list)
    return false;
  block->successor = list;
  if (!ends_block(last) || last->guard)
    add_successor(block, list, seen, flow->block_of[block->end], from);
  for (uint32_t k = 0; k < count; k++)
    if (label_instruction(&target[k], &to))
      add_successor(block, list, seen, flow->block_of[to], from);
  bool leaves = ends_block(last) && last->opcode != BF_PTX_OP_BRA && last->opcode != BF_PTX_OP_BRX;
  if (leaves || block->successors == 0)
    add_successor(block, list, seen, flow->blocks, from);
  return true;
}

static bool connect_all(builder *b) {
  uint32_t *seen = malloc(((size_t)b->flow->blocks + 1) * sizeof *seen);
  bool fine = seen != NULL;
  if (fine)
    memset(seen, 0xff, ((size_t)b->flow->blocks + 1) * sizeof *seen);
  for (uint32_t i = 0; fine && i < b->flow->blocks; i++)
    fine = connect(b, i, seen);
  free(seen);
  return fine;
}

/* Marks what can be reached from the first block; stack has room for all blocks. */
static void reach(bf_ptx_flow *flow, uint32_t *stack) {
  uint32_t depth = 0;
  if (flow->blocks == 0)
    return;
  flow->block[0].is_reachable = true;
  stack[depth++] = 0;
  while (depth > 0) {
    const bf_ptx_block *block = &flow->block[stack[--depth]];
    for (uint32_t i = 0; i < block->successors; i++) {
      uint32_t to = block->successor[i];
      if (to < flow->blocks && !flow->block[to].is_reachable) {
        flow->block[to].is_reachable = true;
        stack[depth++] = to;
      }
    }
  }
}

/* Lists for every block, and the exit, who leads to it. */
static bool list_predecessors(builder *b) {
  bf_ptx_flow *flow = b->flow;
  size_t edges = 0;
  for (uint32_t i = 0; i < flow->blocks; i++)
    edges += flow->block[i].successors;
  b->first_predecessor = calloc((size_t)flow->blocks + 3, sizeof *b->first_predecessor);
  b->predecessor = malloc((edges + 1) * sizeof *b->predecessor);
  if (!b->first_predecessor || !b->predecessor)
    return false;
  uint32_t *fill = b->first_predecessor + 1; /* moves one place down as the lists are filled */
  for (uint32_t i = 0; i < flow->blocks; i++)
    for (uint32_t k = 0; k < flow->block[i].successors; k++)
      fill[flow->block[i].successor[k] + 1]++;
  for (uint32_t i = 0; i < flow->blocks; i++)
    fill[i + 1] += fill[i];
  for (uint32_t i = 0; i < flow->blocks; i++)
    for (uint32_t k = 0; k < flow->block[i].successors; k++)
      b->predecessor[fill[flow->block[i].successor[k]]++] = i;
  return true;
}

/* Walks backwards from start and numbers blocks when all before them are done. next[i] is the
 * predecessor to look at next. */
static void walk_back(builder *b, uint32_t start, uint32_t *stack, uint32_t *next, bool *visited) {
  uint32_t depth = 0;
  stack[depth++] = start;
  visited[start] = true;
  while (depth > 0) {
    uint32_t block = stack[depth - 1];
    if (b->first_predecessor[block] + next[block] < b->first_predecessor[block + 1]) {
      uint32_t before = b->predecessor[b->first_predecessor[block] + next[block]++];
      if (!visited[before]) {
        visited[before] = true;
        stack[depth++] = before;
      }
    } else {
      depth--;
      if (block != b->flow->blocks) {
        b->position[block] = b->ordered;
        b->order[b->ordered++] = block;
      }
    }
  }
}

/* Orders all blocks. Those that cannot reach the exit are walked to from their last block, which
 * then counts as leading to the exit (its post-dominator is preset). */
static bool order_blocks(builder *b) {
  uint32_t blocks = b->flow->blocks;
  uint32_t *stack = malloc(((size_t)blocks + 1) * sizeof *stack);
  uint32_t *next = calloc((size_t)blocks + 1, sizeof *next);
  bool *visited = calloc((size_t)blocks + 1, sizeof *visited);
  bool fine = stack && next && visited;
  if (fine) {
    reach(b->flow, stack);
    visited[blocks] = true;
    for (uint32_t i = 0; i < blocks; i++)
      b->flow->block[i].post_dominator = UNKNOWN;
    walk_back(b, blocks, stack, next, visited);
    for (uint32_t i = blocks; i-- > 0;)
      if (!visited[i]) {
        b->flow->block[i].post_dominator = blocks;
        walk_back(b, i, stack, next, visited);
      }
    b->position[blocks] = b->ordered;
    b->order[b->ordered] = blocks;
  }
  free(stack);
  free(next);
  free(visited);
  return fine;
}

/* The nearest block that post-dominates both a and b, which are known. */
static uint32_t meet(const builder *b, uint32_t x, uint32_t y) {
  while (x != y) {
    while (b->position[x] < b->position[y])
      x = b->flow->block[x].post_dominator;
    while (b->position[y] < b->position[x])
      y = b->flow->block[y].post_dominator;
  }
  return x;
}

static bool known(const bf_ptx_flow *flow, uint32_t block) {
  return block == flow->blocks || flow->block[block].post_dominator != UNKNOWN;
}

/* The meeting point of what is known about the successors. */
static uint32_t from_successors(const builder *b, const bf_ptx_block *block) {
  uint32_t result = UNKNOWN;
  for (uint32_t i = 0; i < block->successors; i++)
    if (known(b->flow, block->successor[i]))
      result = result == UNKNOWN ? block->successor[i] : meet(b, result, block->successor[i]);
  return result;
}

static void post_dominate(builder *b) {
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = b->ordered; i-- > 0;) {
      bf_ptx_block *block = &b->flow->block[b->order[i]];
      uint32_t found = from_successors(b, block);
      if (block->post_dominator == b->flow->blocks || found == UNKNOWN)
        continue;
      changed |= found != block->post_dominator;
      block->post_dominator = found;
    }
  }
}

static bool build(builder *b) {
  size_t count = b->function->instructions;
  b->leads = calloc(count + 1, sizeof *b->leads);
  if (!b->leads)
    return false;
  mark_leaders(b);
  if (!cut(b) || !connect_all(b) || !list_predecessors(b))
    return false;
  b->order = malloc(((size_t)b->flow->blocks + 1) * sizeof *b->order);
  b->position = malloc(((size_t)b->flow->blocks + 1) * sizeof *b->position);
  if (!b->order || !b->position || !order_blocks(b))
    return false;
  post_dominate(b);
  return true;
}

int bf_ptx_flow_create(const bf_ptx_function *function, bf_ptx_flow **flow,
                       bf_diagnostic *diagnostic) {
  builder b = {.function = function, .flow = calloc(1, sizeof(bf_ptx_flow))};
  *flow = NULL;
  if (!b.flow)
    return bf_no_memory(diagnostic);
  bool fine = build(&b);
  free(b.leads);
  free(b.order);
  free(b.position);
  free(b.predecessor);
  free(b.first_predecessor);
  if (!fine) {
    bf_ptx_flow_free(b.flow);
    return bf_no_memory(diagnostic);
  }
  *flow = b.flow;
  return BF_OK;
}

void bf_ptx_flow_free(bf_ptx_flow *flow) {
  if (flow) {
    bf_arena_free(&flow->arena);
    free(flow);
  }
}
