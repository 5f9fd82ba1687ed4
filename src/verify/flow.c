/* What new registers hold where paths meet.
 *
 * The value of a new register is kept as a function of what registers of the original hold now: it
 * ends when one of those is written. At the start of a block a new register holds a value where all
 * blocks that lead there agree on it. Blocks are looked at again until nothing changes; what was
 * known at a start only becomes unknown, so that this ends.
 *
 * Only registers that are live at the start of a block are looked at there (live.c). */
#include "verify/inner.h"

/* ---- Values of new registers ---- */

#define UNKNOWN(why)                                                                               \
  {                                                                                                \
    .guard = {UINT32_MAX, false}, .when = { {.unknown = (why)}, {.unknown = (why)} }               \
  }
static const bf_verify_value never_written =
    UNKNOWN("a register that not every path has written before");
static const bf_verify_value written_since =
    UNKNOWN("the hash of a register that was written since");
static const bf_verify_value other_guard = UNKNOWN("the address is computed under another guard");
static const bf_verify_value two_values =
    UNKNOWN("a register that holds different values on two paths");

/* The register that bits depend on, or UINT32_MAX. */
static uint32_t source(const bf_verify_bits *bits) {
  return bits && !bits->unknown && bits->atom.base == BF_VERIFY_REGISTER ? bits->atom.number
                                                                         : UINT32_MAX;
}

/* The registers that a value depends on; UINT32_MAX: none. The guard is the last. */
static void list_sources(const bf_verify_value *value, uint32_t number[BF_VERIFY_SOURCES]) {
  number[0] = source(&value->when[0]);
  number[1] = source(&value->when[1]);
  number[2] = source(value->test);
  number[3] = value->guard.number;
}

void bf_verify_set(bf_verify_body *body, uint32_t number, const bf_verify_value *value) {
  bf_verify_slot *slot = &body->slot[number];
  uint32_t from[BF_VERIFY_SOURCES];
  if (!value)
    value = &never_written;
  list_sources(value, from);
  slot->value = value;
  slot->scan = body->scan;
  for (unsigned i = 0; i < BF_VERIFY_SOURCES; i++)
    slot->stamp[i] = from[i] == UINT32_MAX ? 0 : body->version[from[i]];
}

const bf_verify_value *bf_verify_get(const bf_verify_body *body, uint32_t number) {
  const bf_verify_slot *slot = &body->slot[number];
  uint32_t from[BF_VERIFY_SOURCES];
  if (!slot->value || slot->scan != body->scan)
    return &never_written;
  list_sources(slot->value, from);
  for (unsigned i = 0; i < BF_VERIFY_SOURCES; i++)
    if (from[i] != UINT32_MAX && slot->stamp[i] != body->version[from[i]])
      return i == BF_VERIFY_SOURCES - 1 ? &other_guard : &written_since;
  return slot->value;
}

void bf_verify_note_written(bf_verify_body *body, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_REGISTER)
    body->version[bf_verify_number(operand)]++;
  if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
      operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; i < operand->count; i++)
      bf_verify_note_written(body, &operand->item[i]);
}

static bool is_unknown(const bf_verify_value *value) {
  return value->when[0].unknown && value->when[1].unknown;
}

/* What is known on both of two paths; NULL: a path not seen yet. */
static const bf_verify_value *meet(const bf_verify_value *a, const bf_verify_value *b) {
  if (!a || a == b || is_unknown(b))
    return b;
  if (is_unknown(a) || bf_verify_same_value(a, b))
    return a;
  return &two_values;
}

/* ---- Blocks ---- */

/* Starts to look at a block: live registers hold what is known at its start. */
static void enter(bf_verify_body *body, uint32_t block) {
  const bf_verify_flow *flow = body->flow;
  body->scan++;
  for (uint32_t i = flow->first[block]; i < flow->first[block + 1]; i++)
    bf_verify_set(body, flow->number[i], flow->in[i]);
}

/* Goes on behind an instruction. */
static void step(bf_verify_body *body, uint32_t number) {
  const bf_ptx_instruction *instruction = body->rewritten->instruction[number];
  if (!body->partner[number])
    bf_verify_evaluate(body, number);
  else if (instruction->operands)
    bf_verify_note_written(body, &instruction->operand[0]);
}

/* What leaves the block being looked at; values that hold under a guard stay behind. */
static const bf_verify_value *leaving(const bf_verify_body *body, uint32_t number) {
  const bf_verify_value *value = bf_verify_get(body, number);
  return value->guard.number == UINT32_MAX ? value : &other_guard;
}

/* Hands on what leaves a block to one that follows it; true where that changes anything, as the
 * first time does. */
static bool hand_on(bf_verify_body *body, uint32_t to) {
  bf_verify_flow *flow = body->flow;
  bool changed = !flow->is_seen[to];
  flow->is_seen[to] = true;
  for (uint32_t i = flow->first[to]; i < flow->first[to + 1]; i++) {
    const bf_verify_value *before = flow->in[i];
    if (before && is_unknown(before))
      continue;
    flow->in[i] = meet(before, leaving(body, flow->number[i]));
    changed |= flow->in[i] != before;
  }
  return changed;
}

/* Looks at a block; true where an earlier one must be looked at again. */
static bool look_at(bf_verify_body *body, uint32_t number) {
  bf_verify_flow *flow = body->flow;
  const bf_ptx_block *block = &flow->graph->block[number];
  bool again = false;
  flow->is_pending[number] = false;
  enter(body, number);
  for (uint32_t i = block->first; i < block->end && !body->no_memory; i++)
    step(body, i);
  for (uint32_t i = 0; i < block->successors; i++) {
    uint32_t to = block->successor[i];
    if (to < flow->graph->blocks && hand_on(body, to)) {
      flow->is_pending[to] = true;
      again |= to <= number;
    }
  }
  return again;
}

/* Values at the start of all blocks. */
static int solve(bf_verify_body *body, bf_arena *arena) {
  bf_verify_flow *flow = body->flow;
  uint32_t entries = flow->first[flow->graph->blocks];
  flow->in = bf_arena_alloc(arena, entries * sizeof *flow->in);
  flow->is_pending = bf_arena_alloc(arena, flow->graph->blocks);
  flow->is_seen = bf_arena_alloc(arena, flow->graph->blocks);
  if (!flow->in || !flow->is_pending || !flow->is_seen)
    return BF_NO_MEMORY;
  if (!entries)
    return BF_OK;
  for (uint32_t i = 0; i < flow->first[1]; i++)
    flow->in[i] = &never_written;
  flow->is_pending[0] = flow->is_seen[0] = true;
  for (bool again = true; again && !body->no_memory;) {
    again = false;
    for (uint32_t block = 0; block < flow->graph->blocks; block++)
      if (flow->is_pending[block])
        again |= look_at(body, block);
  }
  return body->no_memory ? BF_NO_MEMORY : BF_OK;
}

int bf_verify_flow_solve(bf_verify_body *body) {
  bf_arena *arena = &body->scratch;
  body->flow = bf_arena_alloc(arena, sizeof *body->flow);
  if (!body->flow)
    return BF_NO_MEMORY;
  BF_TRY(bf_ptx_flow_create(body->rewritten, &body->flow->graph, NULL));
  BF_TRY(bf_verify_live_find(body, arena));
  return body->failed ? BF_OK : solve(body, arena);
}

void bf_verify_flow_walk(bf_verify_body *body,
                         void (*visit)(bf_verify_body *body, uint32_t instruction)) {
  const bf_ptx_flow *graph = body->flow->graph;
  for (uint32_t block = 0; block < graph->blocks; block++) {
    enter(body, block);
    for (uint32_t i = graph->block[block].first; i < graph->block[block].end; i++) {
      if (body->failed || body->no_memory)
        return;
      if (body->partner[i])
        visit(body, i);
      step(body, i);
    }
  }
}

void bf_verify_flow_free(bf_verify_body *body) {
  if (body->flow && body->flow->graph)
    bf_ptx_flow_free(body->flow->graph);
  body->flow = NULL;
}
