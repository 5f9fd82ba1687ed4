/* Which new registers are live at the start of which blocks: some path from there reads them before
 * it writes them. Only those are followed from block to block.
 *
 * Register by register, from the blocks that read it before they write it, backwards over blocks
 * that do not write it. This takes as many steps as there are answers. */
#include "verify/inner.h"

enum { MOST_ENTRIES = 1 << 23 };

/* A block of a register, or the other way round. */
typedef struct node {
  struct node *next;
  uint32_t index;
} node;

typedef struct liveness {
  const bf_verify_body *body;
  bf_arena *arena;
  const bf_ptx_flow *graph;
  node **reads, **writes;         /* per register: blocks that read it first, that write it */
  uint32_t *written;              /* per register: the last block that was seen to write it */
  node **live;                    /* per block: registers */
  uint32_t *predecessor, *before; /* of all blocks; per block, and one more: where its own start */
  uint32_t *reached, *writer;     /* per block: the last register that came there, that it writes */
  uint32_t *stack;                /* blocks */
  uint32_t entries;
  bool no_memory;
} liveness;

/* A mark that no block or register has. */
static const uint32_t NONE = UINT32_MAX;

static void push(liveness *l, node **list, uint32_t index) {
  node *added = bf_arena_alloc(l->arena, sizeof *added);
  if (!added) {
    l->no_memory = true;
    return;
  }
  *added = (node){*list, index};
  *list = added;
}

/* ---- What blocks read and write ---- */

/* Notes new registers that the operand reads and the block has not written before. */
static void note_read(liveness *l, const bf_ptx_operand *operand, uint32_t block) {
  if (operand->kind == BF_PTX_REGISTER) {
    uint32_t number = bf_verify_number(operand);
    node **reads = &l->reads[number];
    if (l->body->is_new[number] && l->written[number] != block &&
        (!*reads || (*reads)->index != block))
      push(l, reads, block);
  } else if (operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
             operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS) {
    for (unsigned i = 0; i < operand->count; i++)
      note_read(l, &operand->item[i], block);
  }
}

/* What is written under a guard may stay as it was, so it counts as read. */
static void note_instruction(liveness *l, uint32_t number, uint32_t block) {
  const bf_ptx_instruction *instruction = l->body->rewritten->instruction[number];
  bool is_added = !l->body->partner[number], is_guarded = instruction->guard;
  if (is_guarded)
    note_read(l, instruction->guard, block);
  for (unsigned i = is_added && !is_guarded; i < instruction->operands; i++)
    note_read(l, &instruction->operand[i], block);
  uint32_t to = is_added ? bf_verify_number(&instruction->operand[0]) : NONE;
  if (is_added && l->written[to] != block) {
    l->written[to] = block;
    push(l, &l->writes[to], block);
  }
}

/* ---- Backwards ---- */

/* Lists for every block who leads to it. */
static bool list_predecessors(liveness *l) {
  const bf_ptx_flow *graph = l->graph;
  size_t edges = 0;
  for (uint32_t i = 0; i < graph->blocks; i++)
    edges += graph->block[i].successors;
  l->predecessor = bf_arena_alloc(l->arena, edges * sizeof *l->predecessor);
  l->before = bf_arena_alloc(l->arena, ((size_t)graph->blocks + 3) * sizeof *l->before);
  if (!l->predecessor || !l->before)
    return false;
  uint32_t *fill = l->before + 1; /* moves one place down as the lists are filled */
  for (uint32_t i = 0; i < graph->blocks; i++)
    for (uint32_t k = 0; k < graph->block[i].successors; k++)
      fill[graph->block[i].successor[k] + 1]++;
  for (uint32_t i = 0; i <= graph->blocks; i++)
    fill[i + 1] += fill[i];
  for (uint32_t i = 0; i < graph->blocks; i++)
    for (uint32_t k = 0; k < graph->block[i].successors; k++)
      l->predecessor[fill[graph->block[i].successor[k]]++] = i;
  return true;
}

/* The register is live at the start of the block: notes it, and the block for the way back. */
static uint32_t arrive(liveness *l, uint32_t number, uint32_t block, uint32_t depth) {
  if (l->reached[block] == number || l->entries >= MOST_ENTRIES)
    return depth;
  l->reached[block] = number;
  l->entries++;
  push(l, &l->live[block], number);
  l->stack[depth] = block;
  return depth + 1;
}

/* Follows a register back from where it is read. */
static void follow(liveness *l, uint32_t number) {
  uint32_t depth = 0;
  for (const node *at = l->writes[number]; at; at = at->next)
    l->writer[at->index] = number;
  for (const node *at = l->reads[number]; at; at = at->next)
    depth = arrive(l, number, at->index, depth);
  while (depth > 0) {
    uint32_t block = l->stack[--depth];
    for (uint32_t i = l->before[block]; i < l->before[block + 1]; i++)
      if (l->writer[l->predecessor[i]] != number)
        depth = arrive(l, number, l->predecessor[i], depth);
  }
}

/* ---- Results ---- */

static bool make_room(liveness *l) {
  size_t registers = (size_t)l->body->rewritten->registers + 1, blocks = l->graph->blocks + 1;
  l->reads = bf_arena_alloc(l->arena, registers * sizeof *l->reads);
  l->writes = bf_arena_alloc(l->arena, registers * sizeof *l->writes);
  l->written = bf_arena_alloc(l->arena, registers * sizeof *l->written);
  l->live = bf_arena_alloc(l->arena, blocks * sizeof *l->live);
  l->reached = bf_arena_alloc(l->arena, blocks * sizeof *l->reached);
  l->writer = bf_arena_alloc(l->arena, blocks * sizeof *l->writer);
  l->stack = bf_arena_alloc(l->arena, blocks * sizeof *l->stack);
  if (!l->reads || !l->writes || !l->written || !l->live || !l->reached || !l->writer || !l->stack)
    return false;
  for (size_t i = 0; i < registers; i++)
    l->written[i] = NONE;
  for (size_t i = 0; i < blocks; i++)
    l->reached[i] = l->writer[i] = NONE;
  return list_predecessors(l);
}

/* Lists the registers of all blocks one after the other. */
static bool list_entries(const liveness *l, bf_verify_flow *flow) {
  uint32_t entry = 0;
  flow->first = bf_arena_alloc(l->arena, ((size_t)l->graph->blocks + 1) * sizeof *flow->first);
  flow->number = bf_arena_alloc(l->arena, l->entries * sizeof *flow->number);
  if (!flow->first || !flow->number)
    return false;
  for (uint32_t block = 0; block < l->graph->blocks; block++) {
    flow->first[block] = entry;
    for (const node *at = l->live[block]; at; at = at->next)
      flow->number[entry++] = at->index;
  }
  flow->first[l->graph->blocks] = entry;
  return true;
}

int bf_verify_live_find(bf_verify_body *body, bf_arena *arena) {
  const bf_ptx_flow *graph = body->flow->graph;
  liveness l = {.body = body, .arena = arena, .graph = graph};
  if (!make_room(&l))
    return BF_NO_MEMORY;
  for (uint32_t block = 0; block < graph->blocks; block++)
    for (uint32_t i = graph->block[block].first; i < graph->block[block].end; i++)
      note_instruction(&l, i, block);
  for (uint32_t i = 0; i < body->rewritten->registers && !l.no_memory; i++)
    if (l.reads[i])
      follow(&l, i);
  if (l.entries >= MOST_ENTRIES)
    BF_VERIFY_FAIL(body, body->rewritten->line,
                   "too many new registers are read in other blocks than write them");
  return !l.no_memory && list_entries(&l, body->flow) ? BF_OK : BF_NO_MEMORY;
}
