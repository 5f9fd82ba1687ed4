/* From the walk to what is said about each instruction on shared memory.
 *
 * The kernel is walked twice: once with every loop taken as a whole, for formulas in loop counters,
 * and once iteration by iteration, for the accesses. */
#include "analyze/settle.h"
#include "ptx/site.h"

#include <stdlib.h>
#include <string.h>

/* ---- Building ---- */

enum { MOST_STEPS = 4000000 }; /* instructions followed, unless the options say otherwise */
enum { MOST_OF_A_KIND = 6 };   /* reasons that a site gives */

typedef struct builder {
  bf_walk *walk;
  bf_analysis *analysis;
  bf_analyze_site *site;
  unsigned spread; /* of data, for which the addresses of the site fit so far */
  bool is_rounded; /* the site accesses the whole words that its addresses lie in */
  uint64_t distance_bytes[BF_ANALYZE_LANES]; /* of lanes from the address, in a tile; else 0 */
  bf_analyze_unknown unknown[MOST_OF_A_KIND * (BF_UNKNOWN_VALUE + 1)];
  unsigned unknowns;
  uint64_t explained[64]; /* conditions and loops whose reasons the site already has */
  unsigned explanations;
  bf_analyze_access *access; /* of all sites so far */
  size_t accesses, capacity;
  bf_settling *settling; /* NULL: not asked for */
  bool failed;
} builder;

const char *bf_analyze_unknown_name(bf_analyze_unknown_kind kind) {
  static const char *const names[] = {"address", "offset", "lanes", "count", "value"};
  return names[kind];
}

/* Adds a reason unless the site has it, or has enough of its kind. */
static void add_unknown(builder *b, bf_analyze_unknown_kind kind, const char *because) {
  unsigned same_kind = 0;
  for (unsigned i = 0; i < b->unknowns; i++) {
    if (b->unknown[i].kind == kind && strcmp(b->unknown[i].because, because) == 0)
      return;
    same_kind += b->unknown[i].kind == kind;
  }
  if (same_kind == MOST_OF_A_KIND)
    return;
  char *copy = bf_arena_copy(&b->analysis->arena, because);
  b->failed |= !copy;
  if (copy)
    b->unknown[b->unknowns++] = (bf_analyze_unknown){kind, copy};
}

/* ---- Reasons ---- */

enum { MOST_REASONS = 3 };

/* The atoms that something depends on, as text: "parameter n and the value loaded at line 12". */
typedef struct reasons {
  char text[400];
  unsigned count;
  bool skips_counters;
} reasons;

static bool add_reason(void *context, const bf_atom *atom, uint32_t number) {
  reasons *r = context;
  (void)number;
  bool is_counter = atom->kind == BF_ATOM_COUNTER || atom->kind == BF_ATOM_CARRIED;
  if ((r->skips_counters && is_counter) || strstr(r->text, atom->why))
    return true;
  if (r->count == MOST_REASONS)
    return false;
  size_t used = strlen(r->text);
  snprintf(r->text + used, sizeof r->text - used, "%s%s", used ? " and " : "", atom->why);
  r->count++;
  return true;
}

/* Why value is unknown: what it depends on besides loop counters, or those where there is nothing
 * else. */
static void find_reasons(bf_expressions *values, bf_expression value, reasons *r) {
  *r = (reasons){.skips_counters = true};
  bf_expression_unknowns(values, value, add_reason, r);
  if (r->count)
    return;
  r->skips_counters = false;
  bf_expression_unknowns(values, value, add_reason, r);
  if (!r->count)
    snprintf(r->text, sizeof r->text, "a division by zero");
}

/* Whether the site has the reasons of what is numbered so; from now on it has. */
static bool is_explained(builder *b, uint64_t number) {
  for (unsigned i = 0; i < b->explanations; i++)
    if (b->explained[i] == number)
      return true;
  if (b->explanations < sizeof b->explained / sizeof *b->explained)
    b->explained[b->explanations++] = number;
  return false;
}

static void explain_condition(builder *b, const bf_condition *condition) {
  if (is_explained(b, condition->predicate))
    return;
  const bf_node *node = bf_node_of(&b->walk->values, condition->predicate);
  reasons r;
  char text[600];
  find_reasons(&b->walk->values, condition->predicate, &r);
  snprintf(text, sizeof text, "the condition at line %llu, which depends on %s",
           (unsigned long long)condition->line, r.text);
  add_unknown(b, node->is_uniform ? BF_UNKNOWN_COUNT : BF_UNKNOWN_LANES, text);
}

static void explain_loop(builder *b, uint32_t number) {
  if (is_explained(b, (uint64_t)1 << 32 | number))
    return;
  const bf_loop *loop = &b->walk->loops.loop[number];
  char text[600];
  unsigned long long line = (unsigned long long)loop->line;
  reasons all = {.skips_counters = true};
  for (unsigned i = 0; i < loop->causes; i++)
    bf_expression_unknowns(&b->walk->values, loop->cause[i], add_reason, &all);
  for (unsigned i = 0; i < loop->causes && !all.count; i++) {
    all.skips_counters = false;
    bf_expression_unknowns(&b->walk->values, loop->cause[i], add_reason, &all);
  }
  if (loop->is_too_long)
    snprintf(text, sizeof text, "the loop at line %llu, which is too long to go through", line);
  else if (all.count)
    snprintf(text, sizeof text, "the loop at line %llu, whose end depends on %s", line, all.text);
  else
    snprintf(text, sizeof text, "the loop at line %llu, which is not left", line);
  add_unknown(b, BF_UNKNOWN_COUNT, text);
  if (loop->leaves_apart) {
    snprintf(text, sizeof text, "the loop at line %llu, which lanes leave one by one", line);
    add_unknown(b, BF_UNKNOWN_LANES, text);
  }
}

/* Whether a condition is only that a loop taken as a whole goes on: the loop explains that. */
static bool is_cause(const builder *b, const bf_repeat *repeat, const bf_condition *condition) {
  if (!bf_node_of(&b->walk->values, condition->predicate)->is_uniform)
    return false;
  for (; repeat; repeat = repeat->up) {
    const bf_loop *loop = &b->walk->loops.loop[repeat->loop];
    for (unsigned i = 0; i < loop->causes; i++)
      if (loop->cause[i] == condition->predicate)
        return true;
  }
  return false;
}

/* ---- Addresses ---- */

bf_parts bf_walk_take_apart(bf_expressions *values, bf_expression value) {
  bf_node node = *bf_node_of(values, value);
  bf_expression zero = bf_expression_constant(values, node.bits, 0);
  bf_parts p = {zero, zero, 0};
  bf_term whole = {value, 1};
  bool is_sum = node.kind == BF_EXPRESSION_SUM;
  if (is_sum)
    p.lanes = bf_expression_constant(values, node.bits, node.number);
  uint64_t coefficients = 0;
  for (uint32_t i = 0; i < (is_sum ? node.terms : 1); i++) {
    bf_term term = is_sum ? node.term[i] : whole;
    const bf_node *of = bf_node_of(values, term.value);
    if (of->is_known || !of->is_uniform) {
      p.lanes = bf_expression_add(values, p.lanes, term.value, term.coefficient);
    } else {
      p.offset = bf_expression_add(values, p.offset, term.value, term.coefficient);
      coefficients |= (uint64_t)term.coefficient;
    }
  }
  p.step_bytes = coefficients & (0 - coefficients);
  return p;
}

/* Moves addresses whose offset is unknown by a multiple of 1024 bytes, which is four rows of 32
 * banks of 8 bytes, to where none is negative or behind shared memory. Others stay, so that they
 * are in the array that the address is made of. */
static void settle_addresses(uint32_t mask, uint32_t *address) {
  enum { BEHIND_SHARED_MEMORY = 1 << 18 };
  int32_t least = INT32_MAX;
  for (unsigned i = 0; i < BF_ANALYZE_LANES; i++)
    if (mask >> i & 1 && (int32_t)address[i] < least)
      least = (int32_t)address[i];
  if (least >= 0 && least < BEHIND_SHARED_MEMORY)
    return;
  uint32_t shift = (uint32_t)least & ~(uint32_t)1023;
  for (unsigned i = 0; i < BF_ANALYZE_LANES; i++)
    address[i] -= shift;
}

static void add_access(builder *b, const bf_analyze_access *access) {
  if (b->accesses == b->capacity) {
    size_t wanted = b->capacity ? b->capacity * 2 : 256;
    bf_analyze_access *larger = realloc(b->access, wanted * sizeof *larger);
    if (!larger) {
      b->failed = true;
      return;
    }
    b->access = larger;
    b->capacity = wanted;
  }
  b->access[b->accesses++] = *access;
  b->site->accesses++;
}

static uint32_t warp_mask(const uint64_t *threads, unsigned warp) {
  return (uint32_t)(threads[warp / 2] >> 32 * (warp % 2));
}

static void add_warps(builder *b, const bf_record *record, const bf_lanes *lanes, bool has_offset) {
  const bf_expressions *values = &b->walk->values;
  const uint64_t *threads = bf_mask_of(values, record->place.mask);
  uint32_t kept = b->is_rounded ? ~(b->site->width_bytes - 1) : UINT32_MAX;
  for (unsigned warp = 0; warp < b->analysis->warps; warp++) {
    bf_analyze_access access = {.warp = warp};
    access.mask = warp_mask(threads, warp);
    access.mask &= bf_walk_counted_lanes(b->walk->function->instruction[record->instruction]);
    if (access.mask == 0)
      continue;
    for (unsigned i = 0; i < BF_ANALYZE_LANES && warp * 32 + i < values->threads; i++)
      access.address[i] = access.mask >> i & 1 ? ((uint32_t)lanes->value[warp * 32 + i] & kept) +
                                                     (uint32_t)b->distance_bytes[i]
                                               : 0;
    if (has_offset)
      settle_addresses(access.mask, access.address);
    if (b->site->is_settled && b->unknowns)
      b->site->is_settled = bf_walk_settles(b->walk, b->settling, record, b->site, &access);
    add_access(b, &access);
  }
}

/* Whether value is known for all threads of mask. */
static bool is_known_in(const bf_expressions *values, const bf_lanes *lanes, uint32_t mask) {
  const uint64_t *threads = bf_mask_of(values, mask);
  for (unsigned i = 0; i < values->mask_words; i++)
    if (threads[i] & ~lanes->known[i])
      return false;
  return true;
}

static void note_offset(builder *b, const bf_parts *p) {
  bf_analyze_site *site = b->site;
  if (!is_explained(b, (uint64_t)3 << 32 | p->offset)) {
    reasons r;
    find_reasons(&b->walk->values, p->offset, &r);
    add_unknown(b, BF_UNKNOWN_OFFSET, r.text);
  }
  uint64_t step = p->step_bytes;
  if (step < site->width_bytes)
    step = site->width_bytes; /* an access is aligned to its width */
  if (step > 1 << 16)
    step = 1 << 16;
  if (site->offset_step_bytes == 0 || step < site->offset_step_bytes)
    site->offset_step_bytes = (uint32_t)step;
}

/* Adds an execution whose addresses depend on data, for data that is spread evenly; false where
 * that is not asked for, or there is no such data. */
static bool add_spread(builder *b, const bf_record *record) {
  bf_walk *walk = b->walk;
  unsigned width = b->is_rounded ? 1 : b->site->width_bytes;
  if (!walk->options->spreads_data)
    return false;
  for (; b->spread < BF_SPREADS; b->spread++) {
    const bf_lanes *lanes = bf_spread_evaluate(walk, record->address, b->spread);
    if (!lanes)
      return false;
    if (!bf_spread_fits(walk, record->address, lanes, record->place.mask, width))
      continue;
    reasons r;
    char text[600];
    if (!is_explained(b, (uint64_t)4 << 32 | record->address)) {
      find_reasons(&walk->values, record->address, &r);
      snprintf(text, sizeof text, "%s, spread evenly over %llu values", r.text,
               (unsigned long long)bf_spread_values(b->spread));
      add_unknown(b, BF_UNKNOWN_VALUE, text);
    }
    add_warps(b, record, lanes, false);
    return true;
  }
  return false;
}

/* Adds one execution to its site. */
static void add_execution(builder *b, const bf_record *record) {
  bf_expressions *values = &b->walk->values;
  if (b->site->is_copy)
    return; /* whoever makes it, and however often */
  for (const bf_condition *c = record->place.conditions; c; c = c->up)
    if (!is_cause(b, record->repeats, c))
      explain_condition(b, c);
  for (const bf_repeat *repeat = record->repeats; repeat; repeat = repeat->up)
    explain_loop(b, repeat->loop);
  if (!b->site->has_op) {
    add_unknown(b, BF_UNKNOWN_ADDRESS, "an instruction whose accesses are not modelled");
    return;
  }
  bf_parts p = bf_walk_take_apart(values, record->address);
  const bf_lanes *lanes = bf_expression_evaluate(values, p.lanes);
  if (!lanes) {
    b->failed = true;
    return;
  }
  bool is_lost = b->is_rounded && p.step_bytes % b->site->width_bytes; /* which words */
  if (is_lost || !is_known_in(values, lanes, record->place.mask)) {
    if (add_spread(b, record))
      return;
    bf_expression unknown = is_lost ? p.offset : p.lanes;
    reasons r;
    if (is_explained(b, (uint64_t)2 << 32 | unknown))
      return;
    find_reasons(values, unknown, &r);
    add_unknown(b, BF_UNKNOWN_ADDRESS, r.text);
    return;
  }
  if (p.step_bytes)
    note_offset(b, &p);
  else if (!bf_spread_fits(b->walk, record->address, lanes, record->place.mask, 1))
    b->site->leaves_variable = true;
  add_warps(b, record, lanes, p.step_bytes != 0);
}

/* ---- Formulas ---- */

static int dimension_of(const bf_expressions *values, bf_expression value) {
  for (int i = 0; i < 3; i++)
    if (values->thread[i] == value && bf_node_of(values, value)->kind == BF_EXPRESSION_ATOM)
      return i;
  return -1;
}

/* Whether address is a sum of thread indices and of what is the same for all lanes. */
static bool find_steps(const bf_expressions *values, bf_expression address, int64_t step[3]) {
  const bf_node *node = bf_node_of(values, address);
  bf_term whole = {address, 1};
  bool is_sum = node->kind == BF_EXPRESSION_SUM;
  step[0] = step[1] = step[2] = 0;
  for (uint32_t i = 0; i < (is_sum ? node->terms : 1); i++) {
    bf_term term = is_sum ? node->term[i] : whole;
    int dimension = dimension_of(values, term.value);
    if (dimension >= 0)
      step[dimension] = term.coefficient;
    else if (!bf_node_of(values, term.value)->is_uniform)
      return false;
  }
  return true;
}

static void set_formula(builder *b, bf_expression address) {
  bf_text text = {0};
  bf_expression_print(&b->walk->values, address, &text);
  b->site->formula = text.failed ? NULL : bf_arena_copy(&b->analysis->arena, text.data);
  b->failed |= !b->site->formula;
  bf_text_free(&text);
  b->site->is_affine = find_steps(&b->walk->values, address, b->site->step_bytes);
}

/* ---- Sites ---- */

static bool says_shared(const bf_ptx_instruction *instruction) {
  bool has_address = false;
  for (unsigned i = 0; i < instruction->operands; i++)
    has_address |= instruction->operand[i].kind == BF_PTX_ADDRESS && instruction->operand[i].count;
  return has_address && bf_ptx_access_space(instruction) == BF_PTX_SPACE_SHARED &&
         bf_ptx_op_get(instruction->opcode)->access != BF_PTX_NO_ACCESS;
}

static void begin_site(builder *b, uint32_t index) {
  const bf_ptx_instruction *instruction = b->walk->function->instruction[index];
  b->site = &b->analysis->site[b->analysis->sites++];
  b->unknowns = b->explanations = b->spread = 0;
  *b->site = (bf_analyze_site){.instruction = index, .line = instruction->line};
  bf_ptx_user_line(b->walk->module, instruction, &b->site->source_file, &b->site->source_line);
  b->site->has_op =
      bf_walk_kind(b->walk->function, instruction, &b->site->op, &b->site->width_bytes);
  b->site->is_copy = instruction->opcode == BF_PTX_OP_CP && bf_ptx_has(instruction, "bulk");
  b->is_rounded = b->site->has_op && instruction->types &&
                  bf_op_side(b->site->op) == BF_SIDE_ATOMIC &&
                  bf_ptx_type_bytes(instruction->type[0]) < b->site->width_bytes;
  b->site->pieces = 1;
  b->site->is_settled = b->settling != NULL;
  memset(b->distance_bytes, 0, sizeof b->distance_bytes);
  if (bf_walk_is_tile(b->walk->function, instruction, &b->site->pieces, b->distance_bytes)) {
    add_unknown(b, BF_UNKNOWN_COUNT, "how ptxas takes a tile of wmma to pieces");
    b->site->is_settled = false;
  }
}

static int compare_unknowns(const void *x, const void *y) {
  const bf_analyze_unknown *a = x, *b = y;
  return a->kind != b->kind ? (a->kind < b->kind ? -1 : 1) : strcmp(a->because, b->because);
}

static void end_site(builder *b) {
  if (b->walk->too_much)
    add_unknown(b, BF_UNKNOWN_ADDRESS, "the rest of the kernel, which is too long to go through");
  bf_analyze_unknown *copy = bf_arena_alloc(&b->analysis->arena, (b->unknowns + 1) * sizeof *copy);
  if (!copy) {
    b->failed = true;
    return;
  }
  qsort(b->unknown, b->unknowns, sizeof *b->unknown, compare_unknowns);
  memcpy(copy, b->unknown, b->unknowns * sizeof *copy);
  b->site->unknown = copy;
  b->site->unknowns = b->unknowns;
  b->site->is_exact = b->unknowns == 0;
  bool is_lost =
      b->unknowns && copy[0].kind == BF_UNKNOWN_ADDRESS; /* the first where it is there */
  bool is_drawn = b->unknowns && copy[b->unknowns - 1].kind == BF_UNKNOWN_VALUE; /* the last */
  b->site->is_settled &= b->site->accesses && !is_lost && !is_drawn;
  b->site->certainty = b->site->is_exact || b->site->is_settled ? BF_CERTAIN_FOR_ALL
                       : is_lost                                ? BF_CERTAIN_NOT
                                                                : BF_CERTAIN_ASSUMED;
}

/* Copies the accesses of all sites into the analysis. */
static void keep_accesses(builder *b) {
  bf_analysis *analysis = b->analysis;
  bf_analyze_access *all = bf_arena_alloc(&analysis->arena, (b->accesses + 1) * sizeof *all);
  if (!all) {
    b->failed = true;
    return;
  }
  if (b->accesses)
    memcpy(all, b->access, b->accesses * sizeof *all);
  for (uint32_t i = 0; i < analysis->sites; i++) {
    analysis->site[i].access = all;
    all += analysis->site[i].accesses;
  }
}

/* ---- Notes ---- */

static void add_note(builder *b, const char *text) {
  bf_analysis *analysis = b->analysis;
  char *copy = bf_arena_copy(&analysis->arena, text);
  const char **list = bf_arena_alloc(&analysis->arena, (analysis->notes + 1) * sizeof *list);
  if (!copy || !list) {
    b->failed = true;
    return;
  }
  if (analysis->notes)
    memcpy(list, analysis->note, analysis->notes * sizeof *list);
  list[analysis->notes++] = copy;
  analysis->note = list;
}

/* The function that a call names, or NULL where it goes through a register. */
static const bf_ptx_function *callee(const bf_ptx_instruction *call) {
  for (unsigned i = 0; i < call->operands; i++)
    if (call->operand[i].kind == BF_PTX_SYMBOL &&
        call->operand[i].symbol->kind == BF_PTX_SYMBOL_FUNCTION)
      return call->operand[i].symbol->function;
  return NULL;
}

/* Whether a function may access shared memory, itself or by what it calls. */
static bool may_touch(const bf_ptx_function *function) {
  bool touches = false;
  for (uint32_t i = 0; i < function->instructions && !touches; i++)
    touches = bf_may_be_shared(function->instruction[i]) ||
              function->instruction[i]->opcode == BF_PTX_OP_CALL;
  return touches;
}

enum { MOST_NOTES = 16 };

static void note_calls(builder *b) {
  const bf_walk *walk = b->walk;
  for (uint32_t i = 0; i < walk->function->instructions && b->analysis->notes < MOST_NOTES; i++) {
    const bf_ptx_instruction *call = walk->function->instruction[i];
    const bf_ptx_function *function = walk->is_called[i] ? callee(call) : NULL;
    if (!walk->is_called[i] || (function && !function->has_body))
      continue;
    b->analysis->calls = true;
    b->analysis->is_blind |= !function || may_touch(function);
    char text[400];
    snprintf(text, sizeof text, "line %llu calls %s, which is not followed",
             (unsigned long long)call->line, function ? function->name : "through a register");
    add_note(b, text);
  }
}

/* Generic accesses that were not seen to be on shared memory. */
static void note_generic(builder *b) {
  const bf_ptx_function *function = b->walk->function;
  uint32_t count = 0, site = 0;
  uint64_t first = 0;
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *instruction = function->instruction[i];
    while (site < b->analysis->sites && b->analysis->site[site].instruction < i)
      site++;
    bool is_site = site < b->analysis->sites && b->analysis->site[site].instruction == i;
    bool touches = bf_may_be_shared(instruction) && instruction->opcode != BF_PTX_OP_CP;
    if (is_site || !touches || bf_ptx_access_space(instruction) != BF_PTX_SPACE_NONE)
      continue;
    first = count++ ? first : instruction->line;
  }
  if (count == 0)
    return;
  b->analysis->is_blind = true;
  char text[200];
  snprintf(text, sizeof text,
           "%u access%s with generic addresses, the first at line %llu, %s taken to be on other "
           "memory",
           count, count == 1 ? "" : "es", (unsigned long long)first, count == 1 ? "is" : "are");
  add_note(b, text);
}

/* ---- All together ---- */

/* Whether instruction i has a record in the list, which is sorted by instruction: from *at on. */
static bool has_records(const bf_record *record, uint32_t count, uint32_t *at, uint32_t i) {
  while (*at < count && record[*at].instruction < i)
    ++*at;
  return *at < count && record[*at].instruction == i;
}

/* Records in the order of instructions, and of executions within one. */
static bool sort_records(bf_record *record, uint32_t count, uint32_t instructions) {
  uint32_t *place = calloc((size_t)instructions + 2, sizeof *place);
  bf_record *sorted = malloc(((size_t)count + 1) * sizeof *sorted);
  bool fine = place && sorted;
  for (uint32_t i = 0; fine && i < count; i++)
    place[record[i].instruction + 1]++;
  for (uint32_t i = 0; fine && i < instructions; i++)
    place[i + 1] += place[i];
  for (uint32_t i = 0; fine && i < count; i++)
    sorted[place[record[i].instruction]++] = record[i];
  if (fine && count)
    memcpy(record, sorted, count * sizeof *sorted);
  free(place);
  free(sorted);
  return fine;
}

/* Sites from the records of both walks, which are sorted. */
static void build_sites(builder *b, const bf_record *whole, uint32_t wholes) {
  bf_walk *walk = b->walk;
  uint32_t at = 0, formula_at = 0;
  for (uint32_t i = 0; i < walk->function->instructions && !b->failed; i++) {
    bool recorded = has_records(walk->record, walk->records, &at, i);
    bool has_formula = has_records(whole, wholes, &formula_at, i);
    if (!recorded && !has_formula && !says_shared(walk->function->instruction[i]))
      continue;
    begin_site(b, i);
    b->site->is_reached = recorded;
    if (has_formula)
      set_formula(b, whole[formula_at].address);
    else if (recorded && !walk->options->accesses_only)
      set_formula(b, walk->record[at].address);
    for (; recorded && at < walk->records && walk->record[at].instruction == i; at++)
      add_execution(b, &walk->record[at]);
    end_site(b);
  }
}

static bool set_up(bf_walk *walk) {
  const bf_ptx_function *function = walk->function;
  walk->reg = calloc((size_t)function->registers + 1, sizeof *walk->reg);
  walk->is_needed = calloc((size_t)function->instructions + 1, sizeof *walk->is_needed);
  walk->is_called = calloc((size_t)function->instructions + 1, sizeof *walk->is_called);
  walk->ways = calloc((size_t)walk->flow->blocks + 1, sizeof *walk->ways);
  for (uint32_t i = 0; walk->ways && i < walk->flow->blocks; i++) {
    const bf_ptx_block *block = &walk->flow->block[i];
    for (uint32_t k = 0; k < block->successors; k++)
      walk->ways[block->successor[k]]++;
    if (block->successors > 1)
      walk->ways[block->post_dominator] += 2;
  }
  return walk->ways && walk->reg && walk->is_needed && walk->is_called &&
         bf_walk_mark(walk) == BF_OK;
}

/* The values that every kernel has: block index, grid and window. */
static void set_values(bf_walk *walk) {
  static const char axis[] = "xyz";
  const bf_analyze_options *o = walk->options;
  for (unsigned i = 0; i < 3; i++) {
    bf_atom block = {.kind = BF_ATOM_BLOCK, .bits = 32, .is_uniform = true, .number = i};
    bf_atom grid = {.kind = BF_ATOM_GRID, .bits = 32, .is_uniform = true, .number = i};
    snprintf(block.name, sizeof block.name, "b%c", axis[i]);
    snprintf(block.why, sizeof block.why, "block index %c", axis[i]);
    snprintf(grid.name, sizeof grid.name, "grid%c", axis[i]);
    snprintf(grid.why, sizeof grid.why, "grid size %c", axis[i]);
    walk->grid[i] = o->grid[i] ? bf_expression_constant(&walk->values, 32, o->grid[i])
                               : bf_expression_atom(&walk->values, &grid);
    if (o->has_block_index)
      walk->block_index[i] = bf_expression_constant(&walk->values, 32, o->block_index[i]);
    else
      walk->block_index[i] = o->grid[i] == 1 ? bf_expression_constant(&walk->values, 32, 0)
                                             : bf_expression_atom(&walk->values, &block);
  }
  bf_atom window = {.kind = BF_ATOM_WINDOW, .bits = 64, .is_uniform = true, .is_known = true};
  window.number = (uint64_t)1 << 47; /* any multiple of 2^32 will do */
  snprintf(window.name, sizeof window.name, "shared");
  walk->window = bf_expression_atom(&walk->values, &window);
}

/* Starts again at the first instruction. */
static void rewind_walk(bf_walk *walk) {
  memset(walk->reg, 0, ((size_t)walk->function->registers + 1) * sizeof *walk->reg);
  for (uint32_t i = 0; i < walk->loops.count; i++)
    walk->loops.loop[i].causes = walk->loops.loop[i].leaves_apart = 0;
  walk->record = NULL;
  walk->records = walk->record_capacity = 0;
  walk->lanes_recorded = walk->steps = 0;
  memset(walk->executed, 0, walk->flow->blocks * sizeof *walk->executed);
  walk->values.work = 0;
  walk->too_much = walk->values.is_full = false;
}

/* Goes through a kernel once more that was too long to go through iteration by iteration: with new
 * expressions, and every loop as a whole, so that what each access is stays known. */
static void walk_in_short(bf_walk *walk) {
  free(walk->record);
  rewind_walk(walk);
  bf_expressions_free(&walk->values);
  walk->parameter = NULL;
  walk->variables = 0;
  if (bf_expressions_create(&walk->values, walk->options->block) != BF_OK ||
      bf_walk_layout(walk) != BF_OK) {
    walk->values.failed = true;
    return;
  }
  set_values(walk);
  walk->all_symbolic = true;
  for (uint32_t i = 0; i < walk->loops.count; i++)
    walk->loops.loop[i].is_too_long |= !walk->loops.loop[i].is_symbolic;
  bf_walk_run(walk);
}

/* Both walks. *whole: records of the first, which belong to the caller. */
static void walk_twice(builder *b, bf_record **whole, uint32_t *wholes) {
  bf_walk *walk = b->walk;
  walk->all_symbolic = true;
  if (!walk->options->accesses_only)
    bf_walk_run(walk);
  *whole = walk->record;
  *wholes = walk->records;
  b->analysis->steps = walk->steps;
  rewind_walk(walk);
  walk->all_symbolic = false;
  bf_walk_run(walk);
  b->analysis->steps += walk->steps;
  b->analysis->is_cut = walk->too_much;
  b->analysis->is_blind |= walk->too_much;
  if (!walk->too_much || walk->values.failed)
    return;
  free(*whole);
  *whole = NULL;
  *wholes = 0;
  walk_in_short(walk);
  b->analysis->steps += walk->steps;
}

/* Both walks, and what they found. */
static bool analyze(builder *b) {
  bf_walk *walk = b->walk;
  bf_record *whole;
  uint32_t wholes;
  walk_twice(b, &whole, &wholes);
  bool fine = !walk->values.failed && sort_records(whole, wholes, walk->function->instructions) &&
              sort_records(walk->record, walk->records, walk->function->instructions);
  if (fine) {
    build_sites(b, whole, wholes);
    keep_accesses(b);
    note_calls(b);
    note_generic(b);
  }
  free(whole);
  return fine && !b->failed && !walk->values.failed;
}

static int check_options(const bf_analyze_options *options, bf_diagnostic *diagnostic) {
  const uint32_t *block = options->block;
  uint64_t threads = (uint64_t)block[0] * block[1];
  bool fits = block[0] && block[1] && block[2] && block[0] <= BF_MOST_BLOCK_THREADS &&
              block[1] <= BF_MOST_BLOCK_THREADS && block[2] <= 64 &&
              threads * block[2] <= BF_MOST_BLOCK_THREADS;
  if (!fits)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "a block of %ux%ux%u threads; a block has 1 to %d threads, at most 64 along z",
                   block[0], block[1], block[2], BF_MOST_BLOCK_THREADS);
  for (unsigned i = 0; i < 3; i++)
    if (options->has_block_index && options->grid[i] && options->block_index[i] >= options->grid[i])
      return bf_fail(diagnostic, BF_BAD_INPUT,
                     "block index %u along %c, but the grid has %u blocks", options->block_index[i],
                     "xyz"[i], options -> grid[i]);
  return BF_OK;
}

static void free_walk(bf_walk *walk) {
  bf_spreads_free(walk);
  bf_ptx_flow_free(walk->flow);
  bf_loops_free(&walk->loops);
  bf_expressions_free(&walk->values);
  bf_arena_free(&walk->arena);
  free(walk->reg);
  free(walk->ways);
  free(walk->is_needed);
  free(walk->is_called);
  free(walk->record);
}

/* Prepares the walk and does it. */
static int run(builder *b, bf_diagnostic *diagnostic) {
  bf_walk *walk = b->walk;
  BF_TRY(bf_ptx_flow_create(walk->function, &walk->flow, diagnostic));
  bf_analysis *analysis = b->analysis;
  size_t sites = (size_t)walk->function->instructions + 1;
  analysis->site = bf_arena_alloc(&analysis->arena, sites * sizeof *analysis->site);
  analysis->blocks = walk->flow->blocks;
  analysis->executed =
      bf_arena_alloc(&analysis->arena, (analysis->blocks + 1) * sizeof *analysis->executed);
  walk->executed = analysis->executed;
  walk->most_steps = walk->options->most_steps ? walk->options->most_steps : MOST_STEPS;
  if (analysis->executed)
    memset(analysis->executed, 0, (analysis->blocks + 1) * sizeof *analysis->executed);
  if (!analysis->site || !analysis->executed ||
      bf_expressions_create(&walk->values, walk->options->block) != BF_OK ||
      bf_loops_find(walk->function, walk->flow, &walk->loops) != BF_OK ||
      bf_walk_layout(walk) != BF_OK || !set_up(walk))
    return bf_no_memory(diagnostic);
  if (walk->loops.irreducible_line) {
    bf_fail(diagnostic, BF_UNSUPPORTED,
            "kernel '%s' jumps into the middle of a loop; such control flow is not analysed",
            walk->function->name);
    snprintf(diagnostic->file, sizeof diagnostic->file, "%s", walk->module->file);
    diagnostic->line = walk->loops.irreducible_line;
    return BF_UNSUPPORTED;
  }
  analysis->shared_bytes = walk->shared_bytes;
  set_values(walk);
  return analyze(b) ? BF_OK : bf_no_memory(diagnostic);
}

int bf_analyze(const bf_ptx_module *module, const bf_ptx_function *kernel,
               const bf_analyze_options *options, bf_analysis **analysis,
               bf_diagnostic *diagnostic) {
  *analysis = NULL;
  BF_TRY(check_options(options, diagnostic));
  bf_walk walk = {.module = module, .function = kernel, .options = options};
  bf_analysis *result = calloc(1, sizeof *result);
  if (!result)
    return bf_no_memory(diagnostic);
  result->kernel = kernel;
  memcpy(result->block, options->block, sizeof result->block);
  result->warps = (options->block[0] * options->block[1] * options->block[2] + 31) / 32;
  builder b = {.walk = &walk, .analysis = result};
  if (options->machine && !(b.settling = bf_settling_create()))
    b.failed = true;
  int error = b.failed ? bf_no_memory(diagnostic) : run(&b, diagnostic);
  free_walk(&walk);
  free(b.settling);
  free(b.access);
  if (!error)
    *analysis = result;
  else
    bf_analysis_free(result);
  return error;
}

void bf_analysis_free(bf_analysis *analysis) {
  if (!analysis)
    return;
  for (unsigned i = 0; i < 2; i++)
    bf_analysis_free(analysis->part[i]);
  bf_arena_free(&analysis->arena);
  free(analysis);
}
