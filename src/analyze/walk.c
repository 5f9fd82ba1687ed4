/* The walk of all threads of a block through a kernel.
 *
 * Threads go together as far as they can. Where a branch parts them, each side goes to the nearest
 * point that both must pass (the post-dominator), and from there all go on; on the way the side
 * that is furthest behind goes first, so that they also meet where their ways do. What a side
 * writes to registers counts for its threads only (execute.c). Where it is not known which way
 * threads go, all of them go both ways, each on its condition.
 *
 * A loop is walked iteration by iteration as long as it is known which threads stay in it. Where
 * that turns out not to be known, the walk goes back to where the loop began and treats it as a
 * whole. A first walk through its body finds what each register becomes from one iteration to the
 * next: those that grow by the same amount each time are start + counter * step, those that are
 * doubled or halved are start shifted by the counter, and all others that change are unknown. A
 * second walk, with these values, finds its accesses. */
#include "analyze/walk.h"

#include <stdlib.h>
#include <string.h>

/* Instructions are followed up to walk->most_steps; of these, one loop may have a share, and for
 * each there are values computed in single threads, in all and in one loop, and lanes recorded. */
enum { LOOP_SHARE = 5, STEP_WORK = 128, LOOP_STEP_WORK = 32, STEP_LANES = 2 };

enum {
  MOST_STACK = 1 << 12,
  MOST_NESTING = 10, /* loops taken as a whole inside each other */
  MOST_EXITS = 32,
  MOST_WAYS = 256,
  MOST_CARRIED_PASSES = 4,
};

/* Threads that go on at block until they reach stop. */
typedef struct group {
  uint32_t block, stop;
  bf_place place;
} group;

typedef struct groups {
  group *item;
  uint32_t count, capacity;
} groups;

/* A loop that is being walked iteration by iteration, and all that is needed to begin it again. */
typedef struct attempt {
  uint32_t loop;
  group *stack;         /* as it was when the loop began */
  uint32_t depth, base; /* its groups, and the first that goes to the same point */
  bf_expression *reg;
  uint32_t records;
  uint64_t lanes_recorded, steps, work;
  bf_analyze_executed *executed;
} attempt;

/* Threads that have left a region, or come back to its header. */
typedef struct arrivals {
  uint32_t count;
  group item[MOST_EXITS];
  bool overflows;
} arrivals;

/* Part of the kernel being walked: all of it, or the body of one loop taken as a whole. */
typedef struct region {
  bf_walk *walk;
  uint32_t loop; /* or BF_NO_LOOP */
  groups stack;
  attempt *attempts;
  uint32_t attempt_count, attempt_capacity;
  arrivals latches, exits;
  bool has_begun;
  bool may_switch; /* another group may go before the one on top */
  unsigned nesting;
} region;

static void walk_region(region *r, group start);

static bool is_over(const bf_walk *walk) { return walk->values.failed || walk->too_much; }

/* ---- Groups ---- */

static void push(region *r, uint32_t block, uint32_t stop, bf_place place) {
  groups *stack = &r->stack;
  if (place.mask == 0)
    return;
  if (stack->count == stack->capacity) {
    uint32_t wanted = stack->capacity ? stack->capacity * 2 : 16;
    group *larger = wanted <= MOST_STACK ? realloc(stack->item, wanted * sizeof *larger) : NULL;
    if (!larger) {
      r->walk->too_much = wanted > MOST_STACK;
      r->walk->values.failed = wanted <= MOST_STACK;
      return;
    }
    stack->item = larger;
    stack->capacity = wanted;
  }
  stack->item[stack->count++] = (group){block, stop, place};
}

static void pop(region *r) {
  r->stack.count--;
  r->may_switch = true;
}

/* Adds a group; where there is no room, at least one for its block must be there. */
static void add_arrival(bf_walk *walk, arrivals *list, group g) {
  if (list->count < MOST_EXITS) {
    list->item[list->count++] = g;
    return;
  }
  list->overflows = true;
  for (uint32_t i = 0; i < list->count; i++)
    if (list->item[i].block == g.block)
      return;
  walk->too_much = true;
}

/* ---- Attempts ---- */

static void drop_attempts(region *r, uint32_t count) {
  while (r->attempt_count > count) {
    attempt *a = &r->attempts[--r->attempt_count];
    free(a->stack);
    free(a->reg);
    free(a->executed);
  }
}

/* Remembers the state at the header of a loop; the top group is about to enter it. */
static void begin_attempt(region *r, uint32_t loop) {
  bf_walk *walk = r->walk;
  if (r->attempt_count == r->attempt_capacity) {
    uint32_t wanted = r->attempt_capacity ? r->attempt_capacity * 2 : 8;
    attempt *larger = realloc(r->attempts, wanted * sizeof *larger);
    if (!larger) {
      walk->values.failed = true;
      return;
    }
    r->attempts = larger;
    r->attempt_capacity = wanted;
  }
  attempt *a = &r->attempts[r->attempt_count++];
  size_t registers = (size_t)walk->function->registers + 1;
  *a = (attempt){.loop = loop, .depth = r->stack.count, .records = walk->records};
  a->base = a->depth - 1;
  while (a->base > 0 && r->stack.item[a->base - 1].stop == r->stack.item[a->depth - 1].stop)
    a->base--;
  a->lanes_recorded = walk->lanes_recorded;
  a->steps = walk->steps;
  a->work = walk->values.work;
  a->stack = malloc(r->stack.count * sizeof *a->stack);
  a->reg = malloc(registers * sizeof *a->reg);
  a->executed = malloc(walk->flow->blocks * sizeof *a->executed);
  if (!a->stack || !a->reg || !a->executed) {
    walk->values.failed = true;
    return;
  }
  memcpy(a->stack, r->stack.item, r->stack.count * sizeof *a->stack);
  memcpy(a->reg, walk->reg, registers * sizeof *a->reg);
  memcpy(a->executed, walk->executed, walk->flow->blocks * sizeof *a->executed);
  walk->steps += registers / 8;
}

/* Whether a group that was there when the attempt began, or came after it, is in its loop. */
static bool is_inside(const region *r, const attempt *a) {
  for (uint32_t i = r->stack.count; i-- > a->base;)
    if (r->stack.item[i].block < r->walk->flow->blocks &&
        bf_loops_contain(&r->walk->loops, a->loop, r->stack.item[i].block))
      return true;
  return false;
}

/* Ends attempts whose loops all threads have left. */
static void end_attempts(region *r) {
  while (r->attempt_count > 0 && !is_inside(r, &r->attempts[r->attempt_count - 1]))
    drop_attempts(r, r->attempt_count - 1);
}

/* Goes back to where attempt number `which` began; its loop is then taken as a whole. */
static void give_up(region *r, uint32_t which, bool is_too_long) {
  bf_walk *walk = r->walk;
  const attempt *a = &r->attempts[which];
  bf_loop *loop = &walk->loops.loop[a->loop];
  loop->is_symbolic = true;
  loop->is_too_long = is_too_long;
  memcpy(r->stack.item, a->stack, a->depth * sizeof *a->stack);
  r->stack.count = a->depth;
  memcpy(walk->reg, a->reg, ((size_t)walk->function->registers + 1) * sizeof *a->reg);
  memcpy(walk->executed, a->executed, walk->flow->blocks * sizeof *a->executed);
  walk->records = a->records;
  walk->lanes_recorded = a->lanes_recorded;
  drop_attempts(r, which);
}

/* The innermost attempt whose loop holds some of the targets and not others; false if none. */
static bool find_parted(const region *r, const uint32_t *target, unsigned targets,
                        uint32_t *which) {
  const bf_walk *walk = r->walk;
  for (uint32_t i = r->attempt_count; i-- > 0;) {
    unsigned inside = 0;
    for (unsigned k = 0; k < targets; k++)
      inside += target[k] < walk->flow->blocks &&
                bf_loops_contain(&walk->loops, r->attempts[i].loop, target[k]);
    if (inside > 0 && inside < targets) {
      *which = i;
      return true;
    }
  }
  return false;
}

/* Gives up the innermost loop that goes on for too long; false where that is not so, or the loop
 * cannot be given up. */
static bool check_limits(region *r) {
  bf_walk *walk = r->walk;
  uint64_t most = walk->most_steps;
  bool too_many = walk->lanes_recorded > most * STEP_LANES || walk->values.is_full;
  if (r->attempt_count > 0) {
    const attempt *a = &r->attempts[r->attempt_count - 1];
    if (too_many || walk->steps - a->steps > most / LOOP_SHARE ||
        walk->values.work - a->work > most * LOOP_STEP_WORK) {
      walk->values.is_full = false;
      give_up(r, r->attempt_count - 1, true);
      return true;
    }
  }
  walk->too_much |= too_many || walk->steps > most || walk->values.work > most * STEP_WORK;
  return false;
}

/* ---- Branches ---- */

/* Ways out of a block: at most one per target. */
typedef struct ways {
  unsigned count;
  uint32_t target[MOST_WAYS];
  bf_place place[MOST_WAYS];
  bool is_unknown;
  bool jumps; /* does not fall through */
} ways;

static void add_way(bf_walk *walk, ways *w, uint32_t target, bf_place place) {
  if (place.mask == 0)
    return;
  if (w->count == MOST_WAYS) {
    walk->too_much = true;
    return;
  }
  w->target[w->count] = target;
  w->place[w->count++] = place;
}

static uint32_t label_block(const bf_walk *walk, const bf_ptx_operand *label) {
  if (label->kind != BF_PTX_SYMBOL || label->symbol->kind != BF_PTX_SYMBOL_LABEL)
    return walk->flow->blocks;
  return walk->flow->block_of[label->symbol->instruction];
}

/* brx: one way per entry of the list that the index can be. */
static void add_indexed_ways(bf_walk *walk, const bf_ptx_instruction *instruction, bf_place place,
                             ways *w) {
  const bf_ptx_operand *list = &instruction->operand[1];
  if (list->kind != BF_PTX_SYMBOL || list->symbol->kind != BF_PTX_SYMBOL_TARGETS)
    return;
  bf_expression index = bf_walk_read(walk, &instruction->operand[0], place, 32);
  for (unsigned i = 0; i < list->symbol->targets->count && place.mask; i++) {
    bf_expression is_this = bf_expression_operate(&walk->values, BF_DO_EQUAL, 1, index,
                                                  bf_expression_constant(&walk->values, 32, i), 0);
    bf_split split = bf_walk_split(walk, is_this, place, instruction->line);
    add_way(walk, w, label_block(walk, &list->symbol->targets->item[i]), split.yes);
    w->is_unknown |= split.is_unknown;
    place = split.no;
  }
}

/* Where the threads of place go from the end of a block. */
static void find_ways(bf_walk *walk, const bf_ptx_block *block, bf_place place, ways *w) {
  const bf_ptx_instruction *last = walk->function->instruction[block->end - 1];
  uint32_t next = walk->flow->block_of[block->end], exit = walk->flow->blocks;
  bool branches = last->opcode == BF_PTX_OP_BRA, indexes = last->opcode == BF_PTX_OP_BRX;
  bool leaves = last->opcode == BF_PTX_OP_RET || last->opcode == BF_PTX_OP_EXIT ||
                last->opcode == BF_PTX_OP_TRAP;
  w->count = 0;
  w->is_unknown = false;
  bf_split split = {.yes = place, .no = {0, place.conditions}};
  if (!branches && !indexes && !leaves)
    split = (bf_split){.yes = {0, place.conditions}, .no = place};
  else if (last->guard)
    split = bf_walk_split(walk, bf_walk_guard(walk, last->guard, place), place, last->line);
  w->is_unknown = split.is_unknown;
  if (indexes)
    add_indexed_ways(walk, last, split.yes, w);
  else
    add_way(walk, w, branches ? label_block(walk, &last->operand[0]) : exit, split.yes);
  add_way(walk, w, next, split.no);
  w->jumps = split.no.mask == 0 && branches;
}

static bool is_in_region(const region *r, uint32_t block) {
  return r->loop == BF_NO_LOOP ||
         (block < r->walk->flow->blocks && bf_loops_contain(&r->walk->loops, r->loop, block));
}

/* Sends the top group on its ways; reconvergence is where they meet again. */
static void part(region *r, const ways *w, uint32_t reconvergence) {
  bf_walk *walk = r->walk;
  uint32_t which;
  if (w->is_unknown && w->count > 1 && find_parted(r, w->target, w->count, &which)) {
    give_up(r, which, false);
    return;
  }
  group *top = &r->stack.item[r->stack.count - 1];
  uint32_t from = top->block;
  if (w->count == 1 && w->place[0].mask == top->place.mask &&
      w->place[0].conditions == top->place.conditions) {
    r->may_switch = w->jumps && w->target[0] > top->block;
    top->block = w->target[0];
    return;
  }
  if (w->count == 0 || reconvergence >= walk->flow->blocks || reconvergence == top->stop ||
      !is_in_region(r, reconvergence)) {
    reconvergence = top->stop; /* they meet nowhere before */
    r->stack.count--;
    r->may_switch = w->count == 0;
  } else {
    top->block = reconvergence;
  }
  /* those that do not branch go first, unless the others go back */
  bool goes_back = w->count == 2 && w->target[0] <= from;
  for (unsigned i = 0; i < w->count && !is_over(walk); i++)
    push(r, w->target[goes_back ? 1 - i : i], reconvergence, w->place[goes_back ? 1 - i : i]);
}

/* ---- Loops as a whole ---- */

/* The registers that a loop writes. */
typedef struct carried {
  uint32_t count;
  uint32_t *reg;
  unsigned *bits;
  bf_expression *before; /* in all threads */
  bf_expression *start;  /* in those that enter the loop */
  bf_expression *atom, *end;
  bool *is_uniform;
} carried;

typedef struct collector {
  carried *list;
  bool *seen;
} collector;

static void collect_register(void *context, const bf_ptx_operand *operand) {
  collector *c = context;
  uint32_t number;
  if (!bf_operand_register(operand, &number) || c->seen[number])
    return;
  c->seen[number] = true;
  c->list->reg[c->list->count] = number;
  c->list->bits[c->list->count++] = bf_register_bits(operand->registers);
}

static void free_carried(carried *list) {
  free(list->reg);
  free(list->bits);
  free(list->before);
  free(list->start);
  free(list->atom);
  free(list->end);
  free(list->is_uniform);
}

static bool collect_carried(bf_walk *walk, uint32_t loop, carried *list) {
  size_t most = (size_t)walk->function->registers + 1;
  walk->values.work += most + walk->flow->blocks;
  *list = (carried){0};
  list->reg = malloc(most * sizeof *list->reg);
  list->bits = malloc(most * sizeof *list->bits);
  list->before = malloc(most * sizeof *list->before);
  list->start = malloc(most * sizeof *list->start);
  list->atom = malloc(most * sizeof *list->atom);
  list->end = malloc(most * sizeof *list->end);
  list->is_uniform = malloc(most * sizeof *list->is_uniform);
  collector c = {list, calloc(most, sizeof *c.seen)};
  bool fine = list->reg && list->bits && list->before && list->start && list->atom && list->end &&
              list->is_uniform && c.seen;
  for (uint32_t b = 0; fine && b < walk->flow->blocks; b++)
    if (bf_loops_contain(&walk->loops, loop, b))
      for (uint32_t i = walk->flow->block[b].first; i < walk->flow->block[b].end; i++)
        if (walk->is_needed[i])
          bf_walk_written(walk->function->instruction[i], collect_register, &c);
  free(c.seen);
  return fine;
}

/* A new unknown of a loop. from: what it may be computed from, or BF_UNDEFINED. */
static bf_expression loop_atom(bf_walk *walk, bf_atom_kind kind, uint32_t loop, unsigned bits,
                               bool is_uniform, bf_expression from, const char *name,
                               const char *why) {
  bf_atom atom = {.kind = kind, .bits = bits, .is_uniform = is_uniform};
  atom.is_named = bf_node_of(&walk->values, from)->is_named;
  unsigned long long line = (unsigned long long)walk->loops.loop[loop].line;
  atom.line = line;
  atom.number = loop;
  snprintf(atom.name, sizeof atom.name, "%s%llu", name, line);
  snprintf(atom.why, sizeof atom.why, "%s the loop at line %llu", why, line);
  return bf_expression_atom(&walk->values, &atom);
}

/* What a register holds at the end of an iteration; BF_UNDEFINED where that depends on how the
 * header was reached. */
static bf_expression merged(bf_walk *walk, const arrivals *list, uint32_t reg, unsigned bits) {
  bf_expression value = BF_UNDEFINED;
  if (walk->reg[reg] == BF_UNDEFINED)
    return BF_UNDEFINED;
  for (uint32_t i = 0; i < list->count; i++) {
    bf_expression here = bf_walk_register(walk, reg, bits, list->item[i].place);
    if (i > 0 && here != value)
      return BF_UNDEFINED;
    value = here;
  }
  return list->overflows ? BF_UNDEFINED : value;
}

/* Walks the body of a loop once from the group at its header. */
static void walk_body(region *r, uint32_t loop, group start, arrivals *latches, arrivals *exits) {
  region body = {.walk = r->walk, .loop = loop, .nesting = r->nesting + 1};
  if (body.nesting > MOST_NESTING)
    r->walk->too_much = true;
  start.stop = r->walk->flow->blocks + 1;
  if (!is_over(r->walk))
    walk_region(&body, start);
  *latches = body.latches;
  *exits = body.exits;
}

/* Finds how registers change, and which are the same in all lanes of a warp: assumed of those that
 * are when the loop begins, until an iteration shows otherwise. */
static void learn(region *r, uint32_t loop, group start, carried *list) {
  bf_walk *walk = r->walk;
  arrivals latches, exits;
  bool changed = true;
  for (unsigned pass = 0; changed && !is_over(walk); pass++) {
    changed = false;
    for (uint32_t i = 0; i < list->count; i++) {
      list->is_uniform[i] = list->is_uniform[i] && pass + 1 < MOST_CARRIED_PASSES;
      list->atom[i] = list->start[i] == BF_UNDEFINED
                          ? BF_UNDEFINED
                          : loop_atom(walk, BF_ATOM_CARRIED, loop, list->bits[i],
                                      list->is_uniform[i], list->start[i], "v", "what changes in");
      walk->reg[list->reg[i]] = list->atom[i];
    }
    walk_body(r, loop, start, &latches, &exits);
    for (uint32_t i = 0; i < list->count && !is_over(walk); i++) {
      list->end[i] = merged(walk, &latches, list->reg[i], list->bits[i]);
      bool stays = list->end[i] && bf_node_of(&walk->values, list->end[i])->is_uniform;
      changed |= list->is_uniform[i] && !stays && latches.count;
      list->is_uniform[i] = list->is_uniform[i] && (stays || !latches.count);
      if (!latches.count)
        list->end[i] = list->atom[i];
    }
  }
}

/* What start becomes after `counter` shifts, where end is atom shifted by the same number of bits;
 * BF_UNDEFINED where it is not. */
static bf_expression shifted(bf_walk *walk, bf_expression start, bf_expression atom,
                             bf_expression end, bf_expression counter) {
  bf_expressions *values = &walk->values;
  const bf_node *node = bf_node_of(values, end);
  unsigned bits = node->bits;
  uint64_t count;
  bf_operation operation = BF_DO_SHL;
  if (node->kind == BF_EXPRESSION_SUM && node->terms == 1 && node->number == 0 &&
      node->term[0].value == atom && node->term[0].coefficient > 0 &&
      (node->term[0].coefficient & (node->term[0].coefficient - 1)) == 0) {
    count = (uint64_t)__builtin_ctzll((uint64_t)node->term[0].coefficient);
  } else if (node->kind == BF_EXPRESSION_OPERATION && node->a == atom &&
             (node->operation == BF_DO_SHR_S || node->operation == BF_DO_SHR_U) &&
             bf_expression_is_constant(values, node->b, &count) && count < 64) {
    operation = node->operation;
  } else {
    return BF_UNDEFINED;
  }
  bf_expression times = bf_expression_convert(values, counter, bits, false);
  return bf_expression_operate(values, operation, bits, start,
                               bf_expression_scale(values, times, (int64_t)count), 0);
}

/* The value of a register when iteration `counter` begins. */
static bf_expression value_in_loop(region *r, uint32_t loop, const carried *list, uint32_t i,
                                   bf_expression counter, uint32_t atoms_before) {
  bf_walk *walk = r->walk;
  bf_expressions *values = &walk->values;
  bf_expression start = list->start[i], atom = list->atom[i], end = list->end[i];
  if (start == BF_UNDEFINED)
    return BF_UNDEFINED;
  if (end == atom)
    return start;
  if (end != BF_UNDEFINED && list->bits[i] > 1) {
    bf_expression step = bf_expression_add(values, end, atom, -1);
    if (bf_expression_is_older(values, step, atoms_before)) {
      bf_expression count = bf_expression_convert(values, counter, list->bits[i], false);
      return bf_expression_add(values, start, bf_expression_multiply(values, count, step), 1);
    }
    bf_expression value = shifted(walk, start, atom, end, counter);
    if (value != BF_UNDEFINED)
      return value;
  }
  bool is_named = bf_node_of(values, start)->is_named;
  return loop_atom(walk, BF_ATOM_CARRIED, loop, list->bits[i], list->is_uniform[i],
                   is_named || end == BF_UNDEFINED ? walk->window : end, "v", "what changes in");
}

/* Notes on what the end of a loop depends: the conditions under which it was left. */
static void note_causes(bf_walk *walk, uint32_t number, const arrivals *exits,
                        const bf_condition *outer) {
  bf_loop *loop = &walk->loops.loop[number];
  for (uint32_t i = 0; i < exits->count; i++)
    for (const bf_condition *c = exits->item[i].place.conditions; c && c != outer; c = c->up)
      if (loop->causes < BF_MOST_CAUSES)
        loop->cause[loop->causes++] = c->predicate;
}

/* Whether all lanes of a warp arrive together: their conditions are the same for all of them. */
static bool arrive_together(const bf_walk *walk, const arrivals *list, group start) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (list->item[i].place.mask != start.place.mask)
      return false;
    for (const bf_condition *c = list->item[i].place.conditions; c && c != start.place.conditions;
         c = c->up)
      if (!bf_node_of(&walk->values, c->predicate)->is_uniform)
        return false;
  }
  return !list->overflows;
}

/* What registers hold behind the loop: as in its last iteration, whose number is another unknown
 * than that of the iteration that accesses are in. Where lanes leave one by one, what the loop made
 * differs between them. */
static void leave(region *r, uint32_t loop, const carried *list, const arrivals *exits, group start,
                  bool together, bf_expression counter, uint32_t atoms_before) {
  bf_walk *walk = r->walk;
  bf_expressions *values = &walk->values;
  bf_expression last =
      loop_atom(walk, BF_ATOM_AFTER, loop, 32, together, BF_UNDEFINED, "n", "the iterations of");
  bf_expression zero = bf_expression_constant(values, 32, 0);
  for (uint32_t i = 0; i < list->count && !is_over(walk); i++) {
    uint32_t reg = list->reg[i];
    bf_expression value = merged(walk, exits, reg, list->bits[i]);
    bool is_fresh = value == BF_UNDEFINED;
    if (!is_fresh && !together)
      is_fresh = !bf_expression_is_older(
          values, bf_expression_substitute(values, value, &counter, &zero, 1), atoms_before);
    if (!is_fresh)
      value = bf_expression_substitute(values, value, &counter, &last, 1);
    else if (walk->reg[reg] != BF_UNDEFINED)
      value = loop_atom(walk, BF_ATOM_AFTER, loop, list->bits[i], false, walk->reg[reg], "v",
                        "what is left by");
    walk->reg[reg] = list->before[i];
    bf_walk_write(walk, reg, value, start.place);
  }
}

/* The nearest block that all ways from a and b to the exit pass. */
static uint32_t common_post_dominator(const bf_ptx_flow *flow, uint32_t a, uint32_t b) {
  for (uint32_t i = 0, x = a; i <= flow->blocks; i++) {
    uint32_t y = b;
    for (uint32_t k = 0; k <= flow->blocks && y != x && y < flow->blocks; k++)
      y = flow->block[y].post_dominator;
    if (x == y || x >= flow->blocks)
      return x;
    x = flow->block[x].post_dominator;
  }
  return flow->blocks;
}

/* The blocks to which a loop was left, each once, and the nearest that lanes must pass which leave
 * it in different ways and iterations. */
static void list_targets(const bf_walk *walk, uint32_t header, const arrivals *exits, ways *w,
                         uint32_t *reconvergence) {
  w->count = 0;
  *reconvergence = walk->flow->block[header].post_dominator;
  for (uint32_t i = 0; i < exits->count; i++) {
    unsigned k = 0;
    while (k < w->count && w->target[k] != exits->item[i].block)
      k++;
    if (k < w->count)
      continue;
    w->target[w->count++] = exits->item[i].block;
    *reconvergence = common_post_dominator(walk->flow, *reconvergence, exits->item[i].block);
  }
}

/* Lets the threads that were at the header go on behind the loop. */
static void go_on(region *r, uint32_t loop, const arrivals *exits, group start, bool together) {
  bf_walk *walk = r->walk;
  ways w = {.is_unknown = true};
  uint32_t reconvergence;
  list_targets(walk, start.block, exits, &w, &reconvergence);
  if (w.count == 1 && (together || reconvergence == w.target[0])) {
    r->stack.item[r->stack.count - 1].block = w.target[0];
    return;
  }
  bf_expression which =
      loop_atom(walk, BF_ATOM_AFTER, loop, 32, together, BF_UNDEFINED, "way", "the way out of");
  for (unsigned i = 0; i < w.count; i++) {
    bf_expression is_this = bf_expression_operate(&walk->values, BF_DO_EQUAL, 1, which,
                                                  bf_expression_constant(&walk->values, 32, i), 0);
    w.place[i] = bf_walk_split(walk, is_this, start.place, walk->loops.loop[loop].line).yes;
  }
  part(r, &w, reconvergence);
}

/* Takes the loop at whose header the top group is as a whole. */
static void walk_loop(region *r, uint32_t loop) {
  bf_walk *walk = r->walk;
  group start = r->stack.item[r->stack.count - 1];
  uint32_t atoms_before = walk->values.atoms;
  carried list;
  arrivals latches, exits;
  if (!collect_carried(walk, loop, &list)) {
    walk->values.failed = true;
    free_carried(&list);
    return;
  }
  for (uint32_t i = 0; i < list.count; i++) {
    bf_expression value = list.before[i] = walk->reg[list.reg[i]];
    list.start[i] = value == BF_UNDEFINED
                        ? value
                        : bf_walk_register(walk, list.reg[i], list.bits[i], start.place);
    list.is_uniform[i] = bf_node_of(&walk->values, list.start[i])->is_uniform;
  }
  walk->muted++;
  learn(r, loop, start, &list);
  walk->muted--;
  bf_expression counter = loop_atom(walk, BF_ATOM_COUNTER, loop, 32, true, BF_UNDEFINED, "k",
                                    "the number of the iteration of");
  for (uint32_t i = 0; i < list.count && !is_over(walk); i++)
    walk->reg[list.reg[i]] = value_in_loop(r, loop, &list, i, counter, atoms_before);
  bf_repeat *repeat = bf_arena_alloc(&walk->arena, sizeof *repeat);
  if (repeat) {
    *repeat = (bf_repeat){walk->repeats, loop};
    walk->repeats = repeat;
    walk_body(r, loop, start, &latches, &exits);
    walk->repeats = repeat->up;
    note_causes(walk, loop, &exits, start.place.conditions);
    bool together = arrive_together(walk, &exits, start) && arrive_together(walk, &latches, start);
    walk->loops.loop[loop].leaves_apart |= !together;
    leave(r, loop, &list, &exits, start, together, counter, atoms_before);
    if (exits.count == 0)
      pop(r); /* a loop that nobody leaves */
    else
      go_on(r, loop, &exits, start, together);
  } else {
    walk->values.failed = true;
  }
  free_carried(&list);
}

/* ---- Who goes next ---- */

/* Whether a and b are the two sides of one branch on which no thread was lost: each is on both, or
 * it is known on which. */
static bool are_sides(bf_walk *walk, bf_place a, bf_place b) {
  const bf_condition *x = a.conditions, *y = b.conditions;
  if (!x || !y || x->up != y->up || x->predicate != y->predicate || x->is_true == y->is_true)
    return false;
  const bf_lanes *lanes = bf_expression_evaluate(&walk->values, x->predicate);
  const uint64_t *in_a = bf_mask_of(&walk->values, a.mask);
  const uint64_t *in_b = bf_mask_of(&walk->values, b.mask);
  for (unsigned i = 0; lanes && i < walk->values.mask_words; i++)
    if ((in_a[i] ^ in_b[i]) & ~lanes->known[i])
      return false;
  return lanes != NULL;
}

/* The conditions under which threads are here that came in two groups: what both have in common,
 * and nothing more where they are the two sides of one branch; else it is not known who came. */
static bf_place united(bf_walk *walk, bf_place a, bf_place b, uint64_t line) {
  uint64_t words[BF_MASK_WORDS];
  for (unsigned i = 0; i < BF_MASK_WORDS; i++)
    words[i] = bf_mask_of(&walk->values, a.mask)[i] | bf_mask_of(&walk->values, b.mask)[i];
  bf_place both = {bf_mask_intern(&walk->values, words), a.conditions};
  const bf_condition *x = a.conditions, *y = b.conditions;
  if (x == y)
    return both;
  if (are_sides(walk, a, b)) {
    both.conditions = x->up;
    return both;
  }
  const bf_condition *common = NULL;
  for (const bf_condition *i = x; i && !common; i = i->up)
    for (const bf_condition *k = y; k && !common; k = k->up)
      common = i == k ? i : NULL;
  both.conditions = common;
  bf_atom atom = {.kind = BF_ATOM_COMPUTED, .bits = 1, .line = line, .name = "?"};
  snprintf(atom.why, sizeof atom.why, "the ways that lead to line %llu", (unsigned long long)line);
  return bf_walk_split(walk, bf_expression_atom(&walk->values, &atom), both, line).yes;
}

/* Of the groups that go to the same point, puts the one that is furthest behind on top. */
static void choose_group(region *r) {
  group *item = r->stack.item;
  uint32_t last = r->stack.count - 1, first = last, begin = last;
  while (begin > 0 && item[begin - 1].stop == item[last].stop)
    begin--;
  for (uint32_t i = begin; i < last; i++)
    if (item[i].block < item[first].block)
      first = i;
  group chosen = item[first];
  memmove(&item[first], &item[first + 1], (last - first) * sizeof *item);
  item[last] = chosen;
}

/* Takes groups that are at the same place as the top one into it, where several ways lead there. */
static void absorb(region *r) {
  bf_walk *walk = r->walk;
  group *item = r->stack.item, top = item[r->stack.count - 1];
  if (top.block >= walk->flow->blocks || top.block == top.stop || walk->ways[top.block] < 2)
    return;
  uint32_t last = r->stack.count - 1, at = walk->flow->block[top.block].first;
  for (uint32_t i = last; i-- > 0 && item[i].stop == top.stop;)
    if (item[i].block == top.block) {
      top.place = united(walk, top.place, item[i].place, walk->function->instruction[at]->line);
      memmove(&item[i], &item[i + 1], (last - i) * sizeof *item);
      last--;
    }
  item[last] = top;
  r->stack.count = last + 1;
}

/* ---- The walk ---- */

/* Takes the top group off where it is at its end; true if so. */
static bool has_arrived(region *r) {
  bf_walk *walk = r->walk;
  group top = r->stack.item[r->stack.count - 1];
  bool is_outside = top.block >= walk->flow->blocks;
  if (top.block == top.stop || (is_outside && r->loop == BF_NO_LOOP)) {
    pop(r);
    return true;
  }
  if (r->loop == BF_NO_LOOP)
    return false;
  if (is_outside || !bf_loops_contain(&walk->loops, r->loop, top.block))
    add_arrival(walk, &r->exits, top);
  else if (r->has_begun && top.block == walk->loops.loop[r->loop].header)
    add_arrival(walk, &r->latches, top);
  else
    return false;
  pop(r);
  return true;
}

/* At the header of a loop: begins an attempt, or takes it as a whole; true in the second case. */
static bool enter_loop(region *r, uint32_t block) {
  bf_walk *walk = r->walk;
  uint32_t loop = walk->loops.headed[block];
  if (loop == BF_NO_LOOP || loop == r->loop)
    return false;
  for (uint32_t i = 0; i < r->attempt_count; i++)
    if (r->attempts[i].loop == loop)
      return false;
  if (walk->all_symbolic || walk->loops.loop[loop].is_symbolic) {
    walk_loop(r, loop);
    return true;
  }
  begin_attempt(r, loop);
  return false;
}

/* Counts that the threads of mask go through a block. */
static void count_pass(bf_walk *walk, uint32_t block, uint32_t mask) {
  const uint64_t *threads = bf_mask_of(&walk->values, mask);
  bf_analyze_executed *executed = &walk->executed[block];
  executed->passes++;
  for (unsigned i = 0; i < walk->values.mask_words; i++)
    executed->warps += ((uint32_t)threads[i] != 0) + (threads[i] >> 32 != 0);
  executed->open_loops = 0;
  for (const bf_repeat *repeat = walk->repeats; repeat; repeat = repeat->up)
    executed->open_loops++;
}

static void walk_block(region *r) {
  bf_walk *walk = r->walk;
  group top = r->stack.item[r->stack.count - 1];
  const bf_ptx_block *block = &walk->flow->block[top.block];
  const bf_ptx_instruction *last = walk->function->instruction[block->end - 1];
  bool is_branch = last->opcode == BF_PTX_OP_BRA || last->opcode == BF_PTX_OP_BRX ||
                   last->opcode == BF_PTX_OP_RET || last->opcode == BF_PTX_OP_EXIT ||
                   last->opcode == BF_PTX_OP_TRAP;
  uint32_t end = is_branch ? block->end - 1 : block->end;
  uint32_t records = walk->records;
  if (!walk->muted)
    count_pass(walk, top.block, top.place.mask);
  for (uint32_t i = block->first; i < end && !is_over(walk); i++)
    bf_walk_execute(walk, i, top.place);
  walk->steps++;
  walk->lanes_recorded += (uint64_t)(walk->records - records) * walk->values.threads;
  ways w;
  find_ways(walk, block, top.place, &w);
  if (!is_over(walk))
    part(r, &w, block->post_dominator);
}

static void walk_region(region *r, group start) {
  bf_walk *walk = r->walk;
  push(r, start.block, start.stop, start.place);
  while (r->stack.count > 0 && !is_over(walk)) {
    walk->values.work += r->stack.count;
    if (r->may_switch)
      choose_group(r);
    r->may_switch = false;
    absorb(r);
    end_attempts(r);
    if (has_arrived(r) || check_limits(r) || enter_loop(r, r->stack.item[r->stack.count - 1].block))
      continue;
    r->has_begun = true;
    walk_block(r);
  }
  drop_attempts(r, 0);
  free(r->attempts);
  free(r->stack.item);
}

void bf_walk_run(bf_walk *walk) {
  if (walk->flow->blocks == 0)
    return;
  region whole = {.walk = walk, .loop = BF_NO_LOOP};
  walk_region(&whole, (group){0, walk->flow->blocks, {1, NULL}});
}
