/* What ptxas makes of neighbouring shared accesses. The rules were found by experiment and are
 * listed, each with the experiment that shows it, in docs/merging.md; tests/check/merge.sh compares
 * what follows from them with what ptxas does.
 *
 * Every load and store is cut into elements. Elements with the same base and size that lie in the
 * same aligned window, of at most four elements and 16 bytes, are candidates:
 * - loads, where one dominates the others and shared memory is not written between: three or four
 *   of four become one access of the whole window, two that form an aligned pair one access of the
 *   pair, and repeated ones vanish;
 * - stores, where nothing else touches shared memory between: four of four become one access, and
 *   so do two that form a pair; a store that the next one covers vanishes.
 * A load of what the last store wrote vanishes as well, and so does one whose result is not used.
 */
#include "ptx/merge.h"

#include "ptx/access_kind.h"
#include "ptx/place.h"

#include <stdlib.h>

/* A part of a load that is merged with others of the same size. */
typedef struct element {
  uint32_t instruction;
  uint32_t block;
  uint32_t base, memory;
  unsigned size_bytes, window_bytes;
  unsigned kind; /* loads of different kinds are never the same */
  int64_t window, offset_bytes;
  uint32_t order; /* in which elements come, dominators first */
  bool guarded;
} element;

enum { SLOTS = 4, MOST_ELEMENTS = 16 };

/* The elements of one instruction: offsets relative to its address. */
typedef struct pieces {
  unsigned count;
  unsigned size_bytes;
  bool is_mergeable;
  int64_t offset_bytes[MOST_ELEMENTS];
} pieces;

typedef struct merger {
  const bf_ptx_function *function;
  bf_ptx_merges *merges;
  bf_ptx_flow *flow;
  bf_arena arena; /* for what follows */
  bf_ptx_tree tree;
  bf_ptx_place *place;
  bool *live;        /* per register */
  bool *is_extended; /* per register of 16 bits: used as an integer of 32 */
  element *element;
  uint32_t elements;
} merger;

/* ---- Elements ---- */

static unsigned element_bytes(const bf_ptx_instruction *instruction) {
  return instruction->types ? bf_ptx_type_bytes(instruction->type[0]) : 0;
}

/* What lies at the address besides loads and stores of the usual kinds. */
static bool is_ordinary(const bf_ptx_instruction *instruction) {
  unsigned bytes = element_bytes(instruction);
  return bytes > 0 && bytes * instruction->vector <= MOST_ELEMENTS;
}

static bool is_volatile(const bf_ptx_instruction *instruction) {
  return bf_ptx_has(instruction, "volatile") || bf_ptx_has(instruction, "acquire") ||
         bf_ptx_has(instruction, "release") || bf_ptx_has(instruction, "mmio");
}

static const bf_ptx_operand *nth_register(const bf_ptx_operand *operand, unsigned n) {
  if (operand->kind == BF_PTX_VECTOR)
    operand = n < operand->count ? &operand->item[n] : NULL;
  return operand && operand->kind == BF_PTX_REGISTER ? operand : NULL;
}

/* Whether element n of a load is used. */
static bool is_used(const merger *m, const bf_ptx_instruction *instruction, unsigned n) {
  const bf_ptx_operand *written = nth_register(&instruction->operand[0], n);
  return written && m->live[written->registers->first + written->index];
}

/* Loads of 16 bits are merged only into registers of 16 bits that are used as such. */
static bool is_narrow_load(const merger *m, const bf_ptx_instruction *instruction) {
  const bf_ptx_operand *written = nth_register(&instruction->operand[0], 0);
  return written && bf_ptx_type_bytes(written->registers->type) == 2 &&
         !m->is_extended[written->registers->first + written->index];
}

static void add_piece(pieces *p, int64_t offset) { p->offset_bytes[p->count++] = offset; }

/* Vectors of elements shorter than 4 bytes are handled in units of 4, of those that are used. */
static pieces cut_short_vector(const merger *m, const bf_ptx_instruction *instruction,
                               bool is_load) {
  unsigned bytes = element_bytes(instruction), total = bytes * instruction->vector, used = 0;
  unsigned last_used = 0;
  for (unsigned i = 0; i < instruction->vector; i++)
    if (!is_load || is_used(m, instruction, i)) {
      used++;
      last_used = i;
    }
  pieces p = {.size_bytes = total < 4 ? total : 4, .is_mergeable = total >= 4 || !is_load};
  if (bytes == 2 && used == 1) {
    p.size_bytes = 2;
    p.is_mergeable = false;
    add_piece(&p, (int64_t)last_used * 2);
    return p;
  }
  for (unsigned start = 0; start < total && used; start += p.size_bytes) {
    bool any = false;
    for (unsigned i = start / bytes; i < (start + p.size_bytes) / bytes; i++)
      any = any || !is_load || is_used(m, instruction, i);
    if (any)
      add_piece(&p, start);
  }
  return p;
}

/* The elements of a shared load or store, without those of a load that nobody uses. A vector whose
 * alignment does not follow from that of its base is left whole. */
static pieces cut(const merger *m, uint32_t number, bool is_load) {
  const bf_ptx_instruction *instruction = m->function->instruction[number];
  unsigned bytes = element_bytes(instruction), total = bytes * instruction->vector;
  if (instruction->vector > 1 && (m->place[number].alignment_bytes < total ||
                                  m->place[number].offset_bytes % (int64_t)total)) {
    pieces whole = {.count = 1, .size_bytes = total};
    return whole;
  }
  if (bytes < 4 && instruction->vector > 1)
    return cut_short_vector(m, instruction, is_load);
  pieces p = {.size_bytes = bytes, .is_mergeable = bytes == 4 || bytes == 8};
  if (bytes == 2)
    p.is_mergeable = !is_load || is_narrow_load(m, instruction);
  for (unsigned i = 0; i < instruction->vector; i++)
    if (!is_load || is_used(m, instruction, i))
      add_piece(&p, (int64_t)i * bytes);
  return p;
}

/* The bytes that accesses of this size at a base so aligned can be merged to. */
static unsigned window_bytes(const bf_ptx_place *place, const pieces *p) {
  unsigned most = p->size_bytes * SLOTS < 16 ? p->size_bytes * SLOTS : 16;
  unsigned window = place->alignment_bytes < most ? place->alignment_bytes : most;
  return p->is_mergeable && window > p->size_bytes ? window : p->size_bytes;
}

/* Where the window around an element starts; what cannot be merged is a window of its own. */
static int64_t window_start(int64_t offset, unsigned window, unsigned size_bytes) {
  int64_t rest = offset % (int64_t)window;
  if (window == size_bytes)
    return offset;
  return offset - (rest < 0 ? rest + (int64_t)window : rest);
}

/* ---- Registers of 16 bits ---- */

/* Integer instructions work on 32 bits: what they read was loaded with extension. Stores, copies
 * and floating point leave 16 bits as they are. */
static bool extends(const bf_ptx_instruction *instruction) {
  switch (instruction->opcode) {
  case BF_PTX_OP_ST:
  case BF_PTX_OP_MOV:
  case BF_PTX_OP_FMA:
    return false;
  default:
    break;
  }
  for (unsigned i = 0; i < instruction->types; i++) {
    bf_ptx_type type = instruction->type[i];
    if (type == BF_PTX_F16 || type == BF_PTX_BF16 || type == BF_PTX_F32 || type == BF_PTX_F64)
      return false;
  }
  return true;
}

static void mark_extended(merger *m) {
  for (uint32_t i = 0; i < m->function->instructions; i++) {
    const bf_ptx_instruction *instruction = m->function->instruction[i];
    if (!extends(instruction))
      continue;
    for (unsigned k = 1; k < instruction->operands; k++) {
      const bf_ptx_operand *read = nth_register(&instruction->operand[k], 0);
      if (read)
        m->is_extended[read->registers->first + read->index] = true;
    }
  }
}

/* ---- Results ---- */

/* Every load and store as written. */
static void leave_as_written(merger *m) {
  for (uint32_t i = 0; i < m->function->instructions; i++) {
    const bf_ptx_instruction *instruction = m->function->instruction[i];
    bf_ptx_merged *merged = &m->merges->instruction[i];
    merged->leader = i;
    if (!bf_ptx_is_shared_load(instruction) && !bf_ptx_is_shared_store(instruction))
      continue;
    merged->width_bytes = element_bytes(instruction) * instruction->vector;
    merged->times = 1;
  }
}

/* Makes the instruction the leader of one more access. */
static void lead(merger *m, uint32_t instruction, int64_t offset_bytes, unsigned width_bytes) {
  bf_ptx_merged *merged = &m->merges->instruction[instruction];
  if (merged->times++ == 0) {
    merged->leader = instruction;
    merged->offset_bytes = offset_bytes;
    merged->width_bytes = width_bytes;
  }
}

/* The access of an instruction happens elsewhere. */
static void follow(merger *m, uint32_t instruction, uint32_t leader) {
  bf_ptx_merged *merged = &m->merges->instruction[instruction];
  if (merged->times == 0 && merged->leader == instruction)
    merged->leader = leader;
}

/* ---- Loads ---- */

/* Whether the load reads what the last store before it wrote, with the same size. */
static bool is_forwarded(const merger *m, uint32_t load, int64_t offset, unsigned size) {
  uint32_t writer = m->place[load].writer;
  if (writer == UINT32_MAX)
    return false;
  const bf_ptx_instruction *store = m->function->instruction[writer];
  if (store->guard || is_volatile(store) || !is_ordinary(store) ||
      m->place[writer].base != m->place[load].base)
    return false;
  pieces p = cut(m, writer, false);
  for (unsigned i = 0; i < p.count; i++)
    if (p.size_bytes == size && m->place[writer].offset_bytes + p.offset_bytes[i] == offset)
      return true;
  return false;
}

/* Adds what is left of a load to the elements. */
static void add_load(merger *m, uint32_t number, uint32_t block) {
  const bf_ptx_instruction *load = m->function->instruction[number];
  const bf_ptx_place *place = &m->place[number];
  bf_ptx_merged *merged = &m->merges->instruction[number];
  pieces p = cut(m, number, true);
  unsigned window = window_bytes(place, &p);
  uint32_t before = m->elements;
  for (unsigned i = 0; i < p.count; i++) {
    int64_t offset = place->offset_bytes + p.offset_bytes[i];
    if (is_forwarded(m, number, offset, p.size_bytes))
      continue;
    element *e = &m->element[m->elements];
    *e = (element){.instruction = number,
                   .block = block,
                   .base = place->base,
                   .memory = place->memory,
                   .size_bytes = p.size_bytes,
                   .window_bytes = window,
                   .kind = p.size_bytes < 4 ? load->type[0] : 0,
                   .window = window_start(offset, window, p.size_bytes),
                   .offset_bytes = offset,
                   .order = m->elements,
                   .guarded = load->guard != NULL};
    m->elements++;
  }
  merged->times = 0;
  merged->dropped = m->elements == before;
}

static bool same_window(const element *a, const element *b) {
  return a->base == b->base && a->memory == b->memory && a->size_bytes == b->size_bytes &&
         a->window_bytes == b->window_bytes && a->kind == b->kind && a->window == b->window;
}

#define COMPARE(field)                                                                             \
  if (a->field != b->field)                                                                        \
  return a->field < b->field ? -1 : 1

/* Elements of one window together, each window in order. */
static int compare_elements(const void *x, const void *y) {
  const element *a = x, *b = y;
  COMPARE(base);
  COMPARE(memory);
  COMPARE(size_bytes);
  COMPARE(window_bytes);
  COMPARE(kind);
  COMPARE(window);
  COMPARE(order);
  return 0;
}

/* Whether what a loads is there wherever b is. a comes before b. */
static bool covers(const merger *m, const element *a, const element *b) {
  return !a->guarded && bf_ptx_dominates(&m->tree, a->block, b->block);
}

/* Elements of a window that are led by the same one, by their place in it. */
typedef struct group {
  const element *slot[SLOTS]; /* the first for each place, or NULL */
} group;

/* One access for the places first to first + count - 1 of the window, led by whichever element
 * comes first; elements that it does not cover stay alone. */
static void make_access(merger *m, const group *g, unsigned first, unsigned count) {
  const element *leader = NULL;
  for (unsigned i = first; i < first + count; i++)
    if (g->slot[i] && (!leader || g->slot[i]->order < leader->order))
      leader = g->slot[i];
  if (!leader)
    return;
  int64_t start = leader->window + (int64_t)(first * leader->size_bytes);
  lead(m, leader->instruction, start - m->place[leader->instruction].offset_bytes,
       count * leader->size_bytes);
  for (unsigned i = first; i < first + count; i++) {
    const element *e = g->slot[i];
    if (!e || e == leader || e->instruction == leader->instruction)
      continue;
    if (covers(m, leader, e))
      follow(m, e->instruction, leader->instruction);
    else
      lead(m, e->instruction, e->offset_bytes - m->place[e->instruction].offset_bytes,
           e->size_bytes);
  }
}

static unsigned filled(const group *g, unsigned first, unsigned count) {
  unsigned sum = 0;
  for (unsigned i = first; i < first + count; i++)
    sum += g->slot[i] != NULL;
  return sum;
}

/* Cuts a group into accesses: all of it where at least `enough` of four are there, aligned pairs,
 * and what is left one by one. */
static void make_accesses(merger *m, const group *g, unsigned slots, unsigned enough) {
  if (slots == SLOTS && filled(g, 0, SLOTS) >= enough) {
    make_access(m, g, 0, SLOTS);
    return;
  }
  for (unsigned i = 0; i < slots; i += 2) {
    if (i + 1 < slots && filled(g, i, 2) == 2) {
      make_access(m, g, i, 2);
    } else {
      make_access(m, g, i, 1);
      if (i + 1 < slots)
        make_access(m, g, i + 1, 1);
    }
  }
}

/* Groups the elements from first to end-1, which share a window: each joins the first element that
 * covers it. `taken` marks those that have a group. */
static void merge_window(merger *m, const element *e, uint32_t count, bool *taken) {
  unsigned slots = e->window_bytes / e->size_bytes;
  for (uint32_t i = 0; i < count; i++) {
    group g = {{NULL}};
    if (taken[i])
      continue;
    for (uint32_t k = i; k < count; k++) {
      unsigned slot = (unsigned)((e[k].offset_bytes - e[k].window) / e[k].size_bytes);
      if (taken[k] || (k > i && !covers(m, &e[i], &e[k])))
        continue;
      taken[k] = true;
      if (!g.slot[slot])
        g.slot[slot] = &e[k];
      else if (covers(m, g.slot[slot], &e[k]))
        follow(m, e[k].instruction, g.slot[slot]->instruction);
      else
        taken[k] = false;
    }
    make_accesses(m, &g, slots, 3);
  }
}

/* A load none of whose elements leads an access, and all of whose elements repeat what another
 * instruction loads, has followed it; the leader must then be one that leads. */
static void settle_leaders(merger *m) {
  for (uint32_t i = 0; i < m->merges->instructions; i++) {
    bf_ptx_merged *merged = &m->merges->instruction[i];
    while (m->merges->instruction[merged->leader].leader != merged->leader)
      merged->leader = m->merges->instruction[merged->leader].leader;
  }
}

static bool merge_loads(merger *m) {
  for (uint32_t b = 0; b < m->tree.ordered; b++) {
    uint32_t block = m->tree.order[b];
    for (uint32_t i = m->flow->block[block].first; i < m->flow->block[block].end; i++) {
      const bf_ptx_instruction *instruction = m->function->instruction[i];
      if (bf_ptx_is_shared_load(instruction) && is_ordinary(instruction) &&
          !is_volatile(instruction))
        add_load(m, i, block);
    }
  }
  bool *taken = bf_arena_alloc(&m->arena, (size_t)m->elements + 1);
  if (!taken)
    return false;
  qsort(m->element, m->elements, sizeof *m->element, compare_elements);
  for (uint32_t first = 0, end; first < m->elements; first = end) {
    for (end = first + 1; end < m->elements && same_window(&m->element[first], &m->element[end]);)
      end++;
    merge_window(m, &m->element[first], end - first, &taken[first]);
  }
  settle_leaders(m);
  return true;
}

/* ---- Stores ---- */

/* Stores one after the other into one window. */
typedef struct run {
  uint32_t base;
  unsigned size_bytes, window_bytes;
  int64_t window;
  unsigned stores; /* 0: none */
  uint32_t last;   /* the last one */
  unsigned last_slots;
  element element[SLOTS];
  group group;
} run;

/* Cuts the stores of a run into accesses. */
static void end_run(merger *m, run *r) {
  if (r->stores)
    make_accesses(m, &r->group, r->window_bytes / r->size_bytes, SLOTS);
  *r = (run){0};
}

static void begin_run(const bf_ptx_place *place, const pieces *p, run *r) {
  *r = (run){.base = place->base, .size_bytes = p->size_bytes};
  r->window_bytes = window_bytes(place, p);
  r->window = window_start(place->offset_bytes, r->window_bytes, p->size_bytes);
}

/* The places of the window that a store fills. */
static unsigned store_slots(const run *r, const bf_ptx_place *place, const pieces *p) {
  unsigned slots = 0;
  for (unsigned i = 0; i < p->count; i++) {
    int64_t at = place->offset_bytes + p->offset_bytes[i] - r->window;
    slots |= 1U << (unsigned)(at / (int64_t)r->size_bytes);
  }
  return slots;
}

static bool fits_run(const run *r, const bf_ptx_place *place, const pieces *p) {
  return r->stores && r->base == place->base && r->size_bytes == p->size_bytes &&
         r->window_bytes == window_bytes(place, p) &&
         r->window == window_start(place->offset_bytes, r->window_bytes, p->size_bytes);
}

static void add_to_run(run *r, uint32_t number, const bf_ptx_place *place, unsigned slots) {
  for (unsigned i = 0; i < SLOTS; i++)
    if (slots >> i & 1) {
      r->element[i] = (element){.instruction = number,
                                .base = place->base,
                                .size_bytes = r->size_bytes,
                                .window_bytes = r->window_bytes,
                                .window = r->window,
                                .offset_bytes = r->window + (int64_t)(i * r->size_bytes),
                                .order = r->stores * SLOTS + i};
      r->group.slot[i] = &r->element[i];
    }
  r->stores++;
  r->last = number;
  r->last_slots = slots;
}

/* Adds a store to the run, or begins a new one with it. */
static void add_store(merger *m, uint32_t number, run *r) {
  const bf_ptx_place *place = &m->place[number];
  pieces p = cut(m, number, false);
  if (!fits_run(r, place, &p)) {
    end_run(m, r);
    begin_run(place, &p, r);
  }
  unsigned slots = store_slots(r, place, &p), taken = 0;
  for (unsigned i = 0; i < SLOTS; i++)
    taken |= (unsigned)(r->group.slot[i] != NULL) << i;
  if (r->stores == 1 && slots == r->last_slots) {
    m->merges->instruction[r->last].dropped = true;
    begin_run(place, &p, r);
  } else if (slots & taken) {
    end_run(m, r);
    begin_run(place, &p, r);
  }
  m->merges->instruction[number].times = 0;
  add_to_run(r, number, place, slots);
}

/* Whether stores before and behind the instruction stay apart. */
static bool separates(const merger *m, uint32_t number) {
  const bf_ptx_instruction *instruction = m->function->instruction[number];
  const bf_ptx_merged *merged = &m->merges->instruction[number];
  bf_ptx_access access = bf_ptx_op_get(instruction->opcode)->access;
  if (bf_ptx_is_shared_load(instruction))
    return !merged->dropped && merged->leader == number;
  if (bf_ptx_clobbers_shared(instruction))
    return true;
  if (access == BF_PTX_NO_ACCESS)
    return false;
  bf_ptx_space space = bf_ptx_access_space(instruction);
  bool may_be_shared = space == BF_PTX_SPACE_SHARED || space == BF_PTX_SPACE_NONE;
  return may_be_shared || instruction->guard != NULL;
}

static void merge_stores(merger *m) {
  for (uint32_t b = 0; b < m->flow->blocks; b++) {
    run r = {0};
    for (uint32_t i = m->flow->block[b].first; i < m->flow->block[b].end; i++) {
      const bf_ptx_instruction *instruction = m->function->instruction[i];
      if (bf_ptx_is_shared_store(instruction) && is_ordinary(instruction) &&
          !is_volatile(instruction) && !instruction->guard)
        add_store(m, i, &r);
      else if (separates(m, i))
        end_run(m, &r);
    }
    end_run(m, &r);
  }
}

/* ---- Functions ---- */

/* Elements that all loads together may have. */
static size_t most_elements(const bf_ptx_function *function) {
  size_t sum = 0;
  for (uint32_t i = 0; i < function->instructions; i++)
    if (bf_ptx_is_shared_load(function->instruction[i]))
      sum += function->instruction[i]->vector;
  return sum;
}

static int merge(merger *m, const bf_ptx_module *module, unsigned architecture,
                 bf_diagnostic *diagnostic) {
  const bf_ptx_function *function = m->function;
  BF_TRY(bf_ptx_flow_create(function, &m->flow, diagnostic));
  m->live = bf_ptx_live_registers(function, &m->arena);
  m->is_extended = bf_arena_alloc(&m->arena, (size_t)function->registers + 1);
  m->element = bf_arena_alloc(&m->arena, (most_elements(function) + 1) * sizeof *m->element);
  if (!m->live || !m->is_extended || !m->element || !bf_ptx_tree_fill(m->flow, &m->arena, &m->tree))
    return bf_no_memory(diagnostic);
  BF_TRY(bf_ptx_places_fill(module, function, m->flow, &m->tree, architecture, &m->arena, &m->place,
                            diagnostic));
  mark_extended(m);
  if (!merge_loads(m))
    return bf_no_memory(diagnostic);
  merge_stores(m);
  return BF_OK;
}

int bf_ptx_merges_create(const bf_ptx_module *module, const bf_ptx_function *function,
                         unsigned architecture, bf_ptx_merges **out, bf_diagnostic *diagnostic) {
  merger m = {.function = function, .merges = calloc(1, sizeof(bf_ptx_merges))};
  int error = BF_OK;
  *out = NULL;
  if (m.merges) {
    m.merges->instructions = function->instructions;
    m.merges->instruction = bf_arena_alloc(&m.merges->arena, ((size_t)function->instructions + 1) *
                                                                 sizeof *m.merges->instruction);
  }
  if (!m.merges || !m.merges->instruction) {
    bf_ptx_merges_free(m.merges);
    return bf_no_memory(diagnostic);
  }
  leave_as_written(&m);
  if (architecture)
    error = merge(&m, module, architecture, diagnostic);
  bf_ptx_flow_free(m.flow);
  bf_arena_free(&m.arena);
  if (!error)
    *out = m.merges;
  else
    bf_ptx_merges_free(m.merges);
  return error;
}

void bf_ptx_merges_free(bf_ptx_merges *merges) {
  if (!merges)
    return;
  bf_arena_free(&merges->arena);
  free(merges);
}
