/* Where the hash of an address can be computed.
 *
 * A base is steady where one unguarded instruction writes it, which dominates the access; names are
 * steady everywhere. Let D write the base, A compute the hash, B access, D dominate A and A
 * dominate B. Then every way from D to B passes A: otherwise the first way to D, which has not
 * passed A, and that one would lead to B without A. So what A computed is what B needs, also after
 * any number of rounds of a loop.
 *
 * A hash that is needed in every round of a loop, whose base is written outside, is computed at the
 * end of the nearest dominator outside: of a block that is executed more often, that is. One that
 * is needed in several branches, none of which comes before the others, is computed once before
 * they part, where these are MANY_HEADS: that is no more work even if each of them is gone through
 * by a fourth of all warps only, and the code is shorter. Fewer are enough where that is outside of
 * a loop around them, as in scans that go up and down a tree for each tile: it is done once then,
 * not in each round. As such a place takes a register all the time, there are MOST_EARLY of them.
 */
#include "rewrite/inner.h"

#include <string.h>

static const uint32_t NONE = UINT32_MAX;
enum {
  MOST_LOOPS = 1024,
  MANY_HEADS = 4,
  MOST_HEADS = 32, /* that are told apart */
  FEW_HEADS = 2,   /* that are worth it outside of a loop, */
  MOST_EARLY = 4,  /* for so many bases */
};

/* An edge back to a block that dominates its start. */
typedef struct back_edge {
  uint32_t from, header;
} back_edge;

/* A block with an access behind which others need not compute the hash again. */
typedef struct head {
  struct head *next;
  uint32_t block;
} head;

/* Where accesses need the hash of a base. */
typedef struct meeting {
  head *heads;
  unsigned count;
  uint32_t block; /* the nearest that dominates them all */
  bool is_early;  /* the hash is computed there */
} meeting;

struct bf_rewrite_hoist {
  const bf_ptx_function *function;
  const bf_ptx_flow *flow;
  bf_ptx_tree tree;
  uint32_t *definition; /* per register: the instruction that writes it; NONE: none or several */
  bool *is_outer;       /* per register: declared for the whole body */
  bool *is_inner;       /* per instruction: inside braces of its own */
  unsigned edges;
  back_edge edge[MOST_LOOPS];
  uint32_t *depth;  /* per block: loops around it */
  uint32_t *header; /* per block: of the innermost, or NONE */
  meeting *meeting; /* per register */
  bf_arena *arena;
};

/* ---- Definitions ---- */

static void note_definition(bf_rewrite_hoist *h, const bf_ptx_operand *operand, uint32_t index,
                            bool *is_written) {
  if (operand->kind == BF_PTX_REGISTER) {
    uint32_t number = operand->registers->first + operand->index;
    h->definition[number] = is_written[number] ? NONE : index;
    is_written[number] = true;
  } else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
             operand->kind == BF_PTX_ARGUMENTS) {
    for (uint32_t i = 0; i < operand->count; i++)
      note_definition(h, &operand->item[i], index, is_written);
  }
}

static void note_parameters(const bf_ptx_variables *list, bool *is_written) {
  for (unsigned i = 0; i < list->count; i++) {
    const bf_ptx_registers *registers = list->item[i].registers;
    for (uint32_t k = 0; registers && k < registers->count; k++)
      is_written[registers->first + k] = true;
  }
}

/* All registers that an instruction writes are in its first operand. */
static void find_definitions(bf_rewrite_hoist *h, bool *is_written) {
  const bf_ptx_function *function = h->function;
  note_parameters(&function->parameters, is_written);
  note_parameters(&function->returns, is_written);
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *instruction = function->instruction[i];
    if (instruction->operands)
      note_definition(h, &instruction->operand[0], instruction->guard ? NONE : i, is_written);
  }
}

/* Marks instructions inside braces and registers outside; returns the next instruction. */
static uint32_t find_scopes(bf_rewrite_hoist *h, const bf_ptx_statement *statement, bool is_inner,
                            uint32_t next) {
  for (; statement; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_INSTRUCTION)
      h->is_inner[next++] = is_inner;
    else if (statement->kind == BF_PTX_STATEMENT_SCOPE)
      next = find_scopes(h, statement->scope, true, next);
    else if (statement->kind == BF_PTX_STATEMENT_REGISTERS && !is_inner)
      memset(h->is_outer + statement->registers->first, true, statement->registers->count);
  return next;
}

/* ---- Loops ---- */

static void find_edges(bf_rewrite_hoist *h) {
  const bf_ptx_flow *flow = h->flow;
  for (uint32_t b = 0; b < flow->blocks; b++)
    for (uint32_t i = 0; i < flow->block[b].successors; i++) {
      uint32_t to = flow->block[b].successor[i];
      if (to < flow->blocks && h->edges < MOST_LOOPS && bf_ptx_dominates(&h->tree, to, b))
        h->edge[h->edges++] = (back_edge){b, to};
    }
}

/* Marks the blocks of the loop of an edge: those that lead to it without passing the header. */
static void mark_loop(const bf_rewrite_hoist *h, back_edge edge, bool *is_inside, uint32_t *stack) {
  uint32_t count = 0;
  is_inside[edge.header] = true;
  if (!is_inside[edge.from])
    stack[count++] = edge.from;
  is_inside[edge.from] = true;
  while (count > 0) {
    uint32_t block = stack[--count];
    for (uint32_t k = h->tree.first_predecessor[block]; k < h->tree.first_predecessor[block + 1];
         k++) {
      uint32_t from = h->tree.predecessor[k];
      if (is_inside[from] || h->tree.position[from] == NONE)
        continue;
      is_inside[from] = true;
      stack[count++] = from;
    }
  }
}

/* Counts the loops around each block; edges to the same header make one loop. */
static void find_loops(bf_rewrite_hoist *h, bool *is_inside, uint32_t *stack) {
  for (unsigned e = 0; e < h->edges; e++) {
    uint32_t header = h->edge[e].header;
    bool is_first = true;
    for (unsigned k = 0; k < e; k++)
      is_first &= h->edge[k].header != header;
    if (!is_first)
      continue;
    memset(is_inside, 0, h->flow->blocks);
    for (unsigned k = e; k < h->edges; k++)
      if (h->edge[k].header == header)
        mark_loop(h, h->edge[k], is_inside, stack);
    for (uint32_t b = 0; b < h->flow->blocks; b++) {
      if (!is_inside[b])
        continue;
      h->depth[b]++;
      if (h->header[b] == NONE || h->tree.position[header] > h->tree.position[h->header[b]])
        h->header[b] = header;
    }
  }
}

/* Whether the block is passed in every round of the loop. */
static bool is_in_every_round(const bf_rewrite_hoist *h, uint32_t block, uint32_t header) {
  for (unsigned e = 0; e < h->edges; e++)
    if (h->edge[e].header == header && !bf_ptx_dominates(&h->tree, block, h->edge[e].from))
      return false;
  return true;
}

/* ---- Answers ---- */

static bool is_name(const bf_ptx_operand *base) { return base->kind != BF_PTX_REGISTER; }

bool bf_rewrite_comes_first(const bf_rewrite_hoist *hoist, uint32_t from, uint32_t to) {
  uint32_t a = hoist->flow->block_of[from], b = hoist->flow->block_of[to];
  return a == b ? from <= to : bf_ptx_dominates(&hoist->tree, a, b);
}

bool bf_rewrite_is_steady(const bf_rewrite_hoist *hoist, const bf_ptx_operand *base,
                          uint32_t instruction) {
  if (hoist->tree.position[hoist->flow->block_of[instruction]] == NONE)
    return false; /* never executed */
  if (is_name(base))
    return true;
  uint32_t definition = hoist->definition[base->registers->first + base->index];
  return definition != NONE && definition != instruction &&
         bf_rewrite_comes_first(hoist, definition, instruction);
}

uint32_t bf_rewrite_definition(const bf_rewrite_hoist *hoist, const bf_ptx_operand *base) {
  return is_name(base) ? NONE : hoist->definition[base->registers->first + base->index];
}

/* Whether the text of the base means the same in front of an instruction further up. */
static bool is_visible(const bf_rewrite_hoist *h, const bf_ptx_operand *base, uint32_t at) {
  if (h->is_inner[at])
    return false;
  if (is_name(base))
    return base->kind == BF_PTX_SYMBOL &&
           base->symbol->variable->line < h->function->instruction[at]->line;
  uint32_t number = base->registers->first + base->index;
  return h->is_outer[number] && h->definition[number] < at;
}

/* The nearest dominator of a block with fewer loops around it, or NONE. */
static uint32_t leave_loop(const bf_rewrite_hoist *h, uint32_t block) {
  uint32_t at = h->header[block], depth = h->depth[at];
  while (at != h->tree.dominator[at]) {
    at = h->tree.dominator[at];
    if (h->depth[at] < depth)
      return at;
  }
  return NONE;
}

/* ---- Branches ---- */

/* Whether the block, or one that comes before it, is a head. */
static bool has_head(const bf_rewrite_hoist *h, const meeting *of, uint32_t block) {
  const head *at = of->heads;
  while (at && !bf_ptx_dominates(&h->tree, at->block, block))
    at = at->next;
  return at;
}

bool bf_rewrite_hoist_note(bf_rewrite_hoist *hoist, const bf_ptx_operand *base, uint32_t access) {
  uint32_t block = hoist->flow->block_of[access];
  if (is_name(base) || !bf_rewrite_is_steady(hoist, base, access))
    return true;
  meeting *own = &hoist->meeting[base->registers->first + base->index];
  uint32_t meets = own->heads ? own->block : block;
  while (!bf_ptx_dominates(&hoist->tree, meets, block))
    meets = hoist->tree.dominator[meets];
  own->block = meets;
  if (own->count == MOST_HEADS || has_head(hoist, own, block))
    return true;
  head *made = bf_arena_alloc(hoist->arena, sizeof *made);
  if (!made)
    return false;
  *made = (head){own->heads, block};
  own->heads = made;
  own->count++;
  return true;
}

/* The last instruction before the branches in which a base is accessed part, or else the access. */
static uint32_t before_parting(const bf_rewrite_hoist *h, const bf_ptx_operand *base,
                               uint32_t access) {
  const meeting *own = is_name(base) ? NULL : &h->meeting[base->registers->first + base->index];
  if (!own || !own->is_early)
    return access;
  const bf_ptx_block *block = &h->flow->block[own->block];
  uint32_t last = block->end > block->first ? block->end - 1 : access;
  bool is_possible = bf_rewrite_comes_first(h, last, access) && last != access &&
                     bf_rewrite_is_steady(h, base, last) && is_visible(h, base, last);
  return is_possible ? last : access;
}

/* Whether the hash of a base that is computed in a block is computed outside of its loop. */
static bool leaves_loop(const bf_rewrite_hoist *h, uint32_t number, uint32_t block) {
  uint32_t header = h->header[block];
  if (header == NONE || h->definition[number] == NONE || !is_in_every_round(h, block, header))
    return false;
  uint32_t to = leave_loop(h, block);
  return to != NONE && bf_ptx_dominates(&h->tree, h->flow->block_of[h->definition[number]], to);
}

void bf_rewrite_hoist_settle(bf_rewrite_hoist *hoist) {
  unsigned early = 0;
  for (uint32_t i = 0; i < hoist->function->registers; i++) {
    meeting *own = &hoist->meeting[i];
    bool is_worth = own->count >= FEW_HEADS && own->count < MANY_HEADS && early < MOST_EARLY &&
                    leaves_loop(hoist, i, own->block);
    early += is_worth;
    own->is_early = is_worth || own->count >= MANY_HEADS;
  }
}

uint32_t bf_rewrite_hoist_to(const bf_rewrite_hoist *hoist, const bf_ptx_operand *base,
                             uint32_t access, bool is_noted) {
  uint32_t best = is_noted ? before_parting(hoist, base, access) : access;
  uint32_t block = hoist->flow->block_of[best];
  while (hoist->header[block] != NONE && is_in_every_round(hoist, block, hoist->header[block])) {
    uint32_t to = leave_loop(hoist, block);
    if (to == NONE || hoist->flow->block[to].end == hoist->flow->block[to].first)
      break;
    uint32_t last = hoist->flow->block[to].end - 1;
    if (!bf_rewrite_is_steady(hoist, base, last) || !is_visible(hoist, base, last))
      break;
    best = last;
    block = to;
  }
  return best;
}

bf_rewrite_hoist *bf_rewrite_hoist_make(const bf_ptx_function *function, const bf_ptx_flow *flow,
                                        bf_arena *arena) {
  size_t registers = (size_t)function->registers + 1, blocks = (size_t)flow->blocks + 1;
  bf_rewrite_hoist *h = bf_arena_alloc(arena, sizeof *h);
  bool *marks = bf_arena_alloc(arena, registers > blocks ? registers : blocks);
  uint32_t *stack = bf_arena_alloc(arena, blocks * sizeof *stack);
  if (!h || !marks || !stack || !bf_ptx_tree_fill(flow, arena, &h->tree))
    return NULL;
  h->function = function;
  h->flow = flow;
  h->definition = bf_arena_alloc(arena, registers * sizeof *h->definition);
  h->is_outer = bf_arena_alloc(arena, registers);
  h->is_inner = bf_arena_alloc(arena, (size_t)function->instructions + 1);
  h->depth = bf_arena_alloc(arena, blocks * sizeof *h->depth);
  h->header = bf_arena_alloc(arena, blocks * sizeof *h->header);
  h->meeting = bf_arena_alloc(arena, registers * sizeof *h->meeting);
  h->arena = arena;
  if (!h->definition || !h->is_outer || !h->is_inner || !h->depth || !h->header || !h->meeting)
    return NULL;
  memset(h->definition, 0xff, registers * sizeof *h->definition);
  memset(h->header, 0xff, blocks * sizeof *h->header);
  find_definitions(h, marks);
  find_scopes(h, function->body, false, 0);
  find_edges(h);
  find_loops(h, marks, stack);
  return h;
}
