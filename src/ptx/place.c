/* Where shared accesses go, relative to each other.
 *
 * Registers that addresses depend on get value numbers (value.c). A register written once keeps its
 * number; one written several times is a slot, whose value is followed from block to block: where
 * ways with different values meet, the block makes a new one. Slot 0 is not a register but the
 * state of shared memory, which changes with every store, atomic and barrier. Blocks are visited
 * in order until nothing changes.
 *
 * Alignment comes last: low bits known to be 0, at first of every value that loops hand on, then
 * corrected downwards until all agree. */
#include "ptx/place.h"

#include "ptx/access_kind.h"
#include "ptx/value.h"

#include <stdlib.h>
#include <string.h>

enum {
  MEMORY = 0,           /* the slot of shared memory */
  MOST_CELLS = 1 << 20, /* blocks times slots; registers are left out beyond */
  PATIENT_PASSES = 16,  /* later on, a value that changes again becomes a new one */
  LAST_PASSES = 64,     /* and also that of a register written once */
};

/* A shared variable and where it starts. */
typedef struct placed {
  const char *name;
  uint64_t line, start_bytes;
} placed;

typedef struct analysis {
  const bf_ptx_module *module;
  const bf_ptx_function *function;
  const bf_ptx_flow *flow;
  const bf_ptx_tree *tree;
  unsigned architecture;
  bf_nodes nodes;
  uint8_t *definitions; /* per register: 0, 1, or 2 for more */
  bool *matters;        /* per register: addresses depend on it */
  uint32_t *slot;       /* per register, or 0 */
  uint32_t slots;
  bf_value *single;  /* per register written once */
  bf_value *out;     /* per block and slot, at its end */
  bool *visited;     /* per block */
  bool *is_phi;      /* per block and slot: ways meet with different values */
  bf_value *now;     /* per slot */
  const char **name; /* of variables that instructions name, in order, with repetitions */
  size_t names, placed;
  placed *placed_variable;
  uint64_t shared_end;
  bf_ptx_place *place;
  unsigned passes;
  bool changed;
} analysis;

/* ---- Instructions on shared memory ---- */

const bf_ptx_operand *bf_ptx_address_of(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i < instruction->operands; i++)
    if (instruction->operand[i].kind == BF_PTX_ADDRESS && instruction->operand[i].count)
      return &instruction->operand[i];
  return NULL;
}

static bool has_shared_address(const bf_ptx_instruction *instruction) {
  return bf_ptx_access_space(instruction) == BF_PTX_SPACE_SHARED &&
         bf_ptx_address_of(instruction) != NULL;
}

bool bf_ptx_is_shared_load(const bf_ptx_instruction *instruction) {
  return instruction->opcode == BF_PTX_OP_LD && has_shared_address(instruction);
}

bool bf_ptx_is_shared_store(const bf_ptx_instruction *instruction) {
  return instruction->opcode == BF_PTX_OP_ST && has_shared_address(instruction);
}

/* Arithmetic that becomes a call of a routine, across which ptxas moves nothing: exact division,
 * roots and reciprocals, and division of 16 and 64 bits. */
static bool is_routine(const bf_ptx_instruction *instruction) {
  bf_ptx_type type = instruction->types ? instruction->type[0] : BF_PTX_TYPE_NONE;
  bool is_approximate = bf_ptx_has(instruction, "approx") || bf_ptx_has(instruction, "full");
  switch (instruction->opcode) {
  case BF_PTX_OP_DIV:
  case BF_PTX_OP_REM:
    return bf_ptx_type_bytes(type) != 4 || (type == BF_PTX_F32 && !is_approximate);
  case BF_PTX_OP_SQRT:
  case BF_PTX_OP_RCP:
  case BF_PTX_OP_RSQRT:
    return type == BF_PTX_F64 || !is_approximate;
  default:
    return false;
  }
}

bool bf_ptx_clobbers_shared(const bf_ptx_instruction *instruction) {
  bf_ptx_space space = bf_ptx_access_space(instruction);
  bool may_be_shared = space == BF_PTX_SPACE_SHARED || space == BF_PTX_SPACE_NONE;
  switch (instruction->opcode) {
  case BF_PTX_OP_BAR:
  case BF_PTX_OP_BARRIER:
  case BF_PTX_OP_CALL:
  case BF_PTX_OP_FENCE:
  case BF_PTX_OP_MBARRIER:
  case BF_PTX_OP_MEMBAR:
  case BF_PTX_OP_NANOSLEEP:
  case BF_PTX_OP_WGMMA:
    return true;
  case BF_PTX_OP_CP:
    return !bf_ptx_has(instruction, "commit_group");
  default:
    break;
  }
  if (is_routine(instruction))
    return true;
  if (bf_ptx_has(instruction, "acquire") || bf_ptx_has(instruction, "release"))
    return true;
  switch (bf_ptx_op_get(instruction->opcode)->access) {
  case BF_PTX_STORE:
  case BF_PTX_ATOMIC:
    return may_be_shared;
  case BF_PTX_MATRIX:
    return may_be_shared && bf_ptx_has(instruction, "store");
  default:
    return false;
  }
}

/* ---- Registers ---- */

static uint32_t register_of(const bf_ptx_operand *operand) {
  return operand->registers->first + operand->index;
}

/* Calls visit for every register that the operand is or holds. */
static void each_register(const bf_ptx_operand *operand, void (*visit)(analysis *, uint32_t),
                          analysis *a) {
  if (operand->kind == BF_PTX_REGISTER) {
    visit(a, register_of(operand));
  } else if (operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
             operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS) {
    for (uint32_t i = 0; i < operand->count; i++)
      each_register(&operand->item[i], visit, a);
  }
}

/* Operand 0 where the instruction writes it. */
static const bf_ptx_operand *written_operand(const bf_ptx_instruction *instruction) {
  bool writes = instruction->operands > 0 && instruction->operand[0].kind != BF_PTX_ADDRESS;
  return writes ? &instruction->operand[0] : NULL;
}

static void count_definition(analysis *a, uint32_t number) {
  a->definitions[number] += a->definitions[number] < 2;
}

static void mark_needed(analysis *a, uint32_t number) {
  a->changed = a->changed || !a->matters[number];
  a->matters[number] = true;
}

static bool writes_needed(const analysis *a, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_REGISTER)
    return a->matters[register_of(operand)];
  for (uint32_t i = 0; i < operand->count; i++)
    if (operand->kind != BF_PTX_SYMBOL && writes_needed(a, &operand->item[i]))
      return true;
  return false;
}

/* Marks the registers that shared addresses are computed from. */
static void mark_all_needed(analysis *a) {
  for (uint32_t i = 0; i < a->function->instructions; i++) {
    const bf_ptx_instruction *instruction = a->function->instruction[i];
    const bf_ptx_operand *written = written_operand(instruction);
    if (written)
      each_register(written, count_definition, a);
    if (has_shared_address(instruction))
      each_register(bf_ptx_address_of(instruction), mark_needed, a);
  }
  do {
    a->changed = false;
    for (uint32_t i = a->function->instructions; i-- > 0;) {
      const bf_ptx_instruction *instruction = a->function->instruction[i];
      const bf_ptx_operand *written = written_operand(instruction);
      if (!written || !bf_ptx_is_pure(instruction) || !writes_needed(a, written))
        continue;
      for (unsigned k = 1; k < instruction->operands; k++)
        each_register(&instruction->operand[k], mark_needed, a);
    }
  } while (a->changed);
}

static void number_slots(analysis *a) {
  a->slots = 1;
  for (uint32_t i = 0; i < a->function->registers; i++)
    if (a->matters[i] && a->definitions[i] > 1)
      a->slot[i] = a->slots++;
  if ((uint64_t)a->slots * (a->flow->blocks + 1) > MOST_CELLS) {
    memset(a->slot, 0, a->function->registers * sizeof *a->slot);
    a->slots = 1;
  }
}

/* ---- Places of variables ---- */

/* Adds the names of all variables in the operand. */
static void collect_names(const bf_ptx_operand *operand, const char **name, size_t *count) {
  if (operand->kind == BF_PTX_SYMBOL && operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE) {
    if (name)
      name[*count] = operand->symbol->name;
    ++*count;
  } else if (operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
             operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS) {
    for (uint32_t i = 0; i < operand->count; i++)
      collect_names(&operand->item[i], name, count);
  }
}

static size_t collect_all_names(const bf_ptx_function *function, const char **name) {
  size_t count = 0;
  for (uint32_t i = 0; i < function->instructions; i++)
    for (unsigned k = 0; k < function->instruction[i]->operands; k++)
      collect_names(&function->instruction[i]->operand[k], name, &count);
  return count;
}

static int compare_names(const void *a, const void *b) {
  uintptr_t x = (uintptr_t) * (const char *const *)a, y = (uintptr_t) * (const char *const *)b;
  return (x > y) - (x < y);
}

/* Gives a variable the next place, unless no instruction names it. Names are unique where they are
 * seen, so that a name and a line tell variables apart. */
static void lay_out(analysis *a, const bf_ptx_variable *variable) {
  if (variable->space != BF_PTX_SPACE_SHARED || variable->bytes == 0 ||
      !bsearch(&variable->name, a->name, a->names, sizeof *a->name, compare_names))
    return;
  unsigned own = bf_ptx_type_bytes(variable->type) * (variable->vector ? variable->vector : 1);
  uint64_t alignment = variable->alignment_bytes ? variable->alignment_bytes : own;
  uint64_t start = alignment ? (a->shared_end + alignment - 1) / alignment * alignment : 0;
  if (a->placed < a->names)
    a->placed_variable[a->placed++] = (placed){variable->name, variable->line, start};
  a->shared_end = start + variable->bytes;
}

static void lay_out_statements(analysis *a, const bf_ptx_statement *statement) {
  for (; statement; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_SCOPE)
      lay_out_statements(a, statement->scope);
    else if (statement->kind == BF_PTX_STATEMENT_VARIABLE)
      lay_out(a, statement->variable);
}

/* Places shared variables as ptxas does: those of the function first, then those of the module, as
 * far as they are named, each at its alignment. False when memory is exhausted. */
static bool lay_out_all(analysis *a) {
  a->names = collect_all_names(a->function, NULL);
  a->name = calloc(a->names + 1, sizeof *a->name);
  a->placed_variable = calloc(a->names + 1, sizeof *a->placed_variable);
  if (!a->name || !a->placed_variable)
    return false;
  collect_all_names(a->function, a->name);
  qsort(a->name, a->names, sizeof *a->name, compare_names);
  lay_out_statements(a, a->function->body);
  for (const bf_ptx_item *item = a->module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_VARIABLE)
      lay_out(a, item->variable);
  return true;
}

/* Memory of open size lies behind all else. */
static uint64_t variable_place(const analysis *a, const bf_ptx_variable *variable) {
  for (size_t i = 0; i < a->placed; i++)
    if (a->placed_variable[i].name == variable->name &&
        a->placed_variable[i].line == variable->line)
      return a->placed_variable[i].start_bytes;
  return (a->shared_end + BF_PTX_MOST_ALIGNMENT - 1) / BF_PTX_MOST_ALIGNMENT *
         BF_PTX_MOST_ALIGNMENT;
}

/* ---- Values of operands ---- */

static bool equal_values(bf_value x, bf_value y) {
  return x.base == y.base && x.offset == y.offset;
}

static bf_value opaque(analysis *a, uint32_t instruction, unsigned what) {
  bf_node node = {.kind = BF_NODE_OPAQUE, .extra = instruction};
  node.arg[0].offset = what;
  return bf_value_node(&a->nodes, node, 0);
}

/* The address of a variable. That of a shared variable of a kernel is known: a number up to sm_89,
 * from sm_90 on an offset from where the block's shared memory begins, of which ptxas keeps no more
 * than the low bits that are 0. */
static bf_value read_symbol(analysis *a, const bf_ptx_operand *operand) {
  bf_node node = {.kind = BF_NODE_SYMBOL, .extra = (uintptr_t)operand->symbol->name};
  unsigned zeros = 0;
  if (operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
      operand->symbol->variable->space == BF_PTX_SPACE_SHARED && a->function->is_entry) {
    uint64_t place = variable_place(a, operand->symbol->variable);
    if (a->architecture < 90)
      return bf_value_constant((int64_t)place + operand->offset);
    node.arg[0].offset = (int64_t)place;
    node.arg[1].offset = 1; /* the place is known */
    zeros = place ? (unsigned)__builtin_ctzll(place) : BF_MOST_ZEROS;
    zeros = zeros < BF_MOST_ZEROS ? zeros : BF_MOST_ZEROS;
  }
  bf_value value = bf_value_node(&a->nodes, node, zeros);
  if (value.base)
    a->nodes.zeros[value.base] = (uint8_t)bf_node_zeros(&a->nodes, (uint32_t)value.base);
  value.offset = operand->offset;
  return value;
}

/* Special registers that are the same whenever a thread reads them. */
static bool is_steady(bf_ptx_special special) {
  switch (special) {
  case BF_PTX_SPECIAL_TID:
  case BF_PTX_SPECIAL_NTID:
  case BF_PTX_SPECIAL_CTAID:
  case BF_PTX_SPECIAL_NCTAID:
  case BF_PTX_SPECIAL_LANEID:
    return true;
  default:
    return false;
  }
}

static bf_value read_operand(analysis *a, uint32_t instruction, unsigned what,
                             const bf_ptx_operand *operand) {
  uint32_t number;
  bf_node node = {0};
  switch (operand->kind) {
  case BF_PTX_REGISTER:
    number = register_of(operand);
    if (operand->component || operand->negated || operand->registers->vector)
      return opaque(a, instruction, what);
    if (a->slot[number])
      return a->now[a->slot[number]];
    return a->definitions[number] == 1 ? a->single[number] : opaque(a, instruction, what);
  case BF_PTX_INTEGER:
    return bf_value_constant((int64_t)operand->bits);
  case BF_PTX_SYMBOL:
    return read_symbol(a, operand);
  case BF_PTX_SPECIAL:
    if (!is_steady(operand->special))
      return opaque(a, instruction, what);
    node.kind = BF_NODE_SPECIAL;
    node.extra = (uint64_t)operand->special << 8 | (uint8_t)operand->component;
    return bf_value_node(&a->nodes, node, 0);
  default:
    return opaque(a, instruction, what);
  }
}

/* The value of [item 0 + offset]. */
static bf_value read_address(analysis *a, uint32_t instruction, const bf_ptx_operand *address) {
  bf_value value = read_operand(a, instruction, 100, &address->item[0]);
  return bf_value_add(&a->nodes, value, bf_value_constant(address->offset), 1);
}

/* ---- Instructions ---- */

/* The parameter a kernel loads, by name and offset: it never changes. */
static bool load_parameter(analysis *a, const bf_ptx_instruction *instruction, bf_value *value) {
  const bf_ptx_operand *address = bf_ptx_address_of(instruction);
  if (instruction->opcode != BF_PTX_OP_LD || instruction->space != BF_PTX_SPACE_PARAM ||
      !a->function->is_entry || !address || address->item[0].kind != BF_PTX_SYMBOL)
    return false;
  bf_node node = {.kind = BF_NODE_PARAMETER, .extra = (uintptr_t)address->item[0].symbol->name};
  node.arg[0].offset = address->offset + address->item[0].offset;
  node.arg[1].offset = instruction->types ? instruction->type[0] : 0;
  *value = bf_value_node(&a->nodes, node, 0);
  return true;
}

/* What the instruction would write if its guard held. */
static bf_value compute(analysis *a, uint32_t number) {
  const bf_ptx_instruction *instruction = a->function->instruction[number];
  bf_value operand[BF_NODE_ARGUMENTS], result;
  unsigned count = instruction->operands - 1;
  if (load_parameter(a, instruction, &result))
    return result;
  if (!bf_ptx_is_pure(instruction) || count == 0 || count > BF_NODE_ARGUMENTS)
    return opaque(a, number, 0);
  for (unsigned i = 0; i < count; i++)
    operand[i] = read_operand(a, number, i + 1, &instruction->operand[i + 1]);
  return bf_value_compute(&a->nodes, number, operand, count, &result) ? result
                                                                      : opaque(a, number, 0);
}

static void write_register(analysis *a, uint32_t number, uint32_t instruction, bf_value value) {
  bool guarded = a->function->instruction[instruction]->guard != NULL;
  if (guarded) {
    bf_node node = {.kind = BF_NODE_CHOICE, .extra = instruction};
    node.arg[0] = a->slot[number] ? a->now[a->slot[number]] : value;
    node.arg[1] = value;
    value = bf_value_node(&a->nodes, node, 0);
  }
  if (a->slot[number]) {
    a->now[a->slot[number]] = value;
    return;
  }
  /* Read before it is written, it may depend on itself. */
  if (a->passes > LAST_PASSES && !equal_values(a->single[number], value))
    value = opaque(a, instruction, 200 + number);
  a->single[number] = value;
}

/* All registers inside an operand become unknown. */
static void forget(analysis *a, uint32_t instruction, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_REGISTER && a->matters[register_of(operand)])
    write_register(a, register_of(operand), instruction,
                   opaque(a, instruction, 200 + register_of(operand)));
  else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
           operand->kind == BF_PTX_ARGUMENTS)
    for (uint32_t i = 0; i < operand->count; i++)
      forget(a, instruction, &operand->item[i]);
}

static void note_place(analysis *a, uint32_t number) {
  const bf_ptx_operand *address = bf_ptx_address_of(a->function->instruction[number]);
  bf_value value = read_address(a, number, address);
  a->place[number] = (bf_ptx_place){.base = (uint32_t)value.base,
                                    .offset_bytes = value.offset,
                                    .memory = (uint32_t)a->now[MEMORY].base,
                                    .writer = UINT32_MAX};
}

static void step(analysis *a, uint32_t number) {
  const bf_ptx_instruction *instruction = a->function->instruction[number];
  const bf_ptx_operand *written = written_operand(instruction);
  if (has_shared_address(instruction))
    note_place(a, number);
  if (bf_ptx_clobbers_shared(instruction))
    a->now[MEMORY] = opaque(a, number, 1);
  if (!written || !writes_needed(a, written))
    return;
  if (written->kind == BF_PTX_REGISTER && !written->component)
    write_register(a, register_of(written), number, compute(a, number));
  else
    forget(a, number, written);
}

/* ---- Blocks ---- */

static bf_value phi(analysis *a, uint32_t block, uint32_t slot) {
  bf_node node = {.kind = BF_NODE_PHI, .extra = block};
  node.arg[0].base = slot;
  return bf_value_node(&a->nodes, node, 0);
}

/* What a slot is on entry to a block: what all ways to it agree on, or its own. */
static bf_value enter(analysis *a, uint32_t block, uint32_t slot) {
  size_t cell = (size_t)block * a->slots + slot;
  bf_value common = {0};
  bool is_known = false;
  if (a->is_phi[cell] || block == 0)
    return phi(a, block, slot);
  for (uint32_t i = a->tree->first_predecessor[block]; i < a->tree->first_predecessor[block + 1];
       i++) {
    uint32_t from = a->tree->predecessor[i];
    bf_value value = a->out[(size_t)from * a->slots + slot];
    if (!a->visited[from])
      continue;
    if (is_known && !equal_values(value, common)) {
      a->is_phi[cell] = true;
      return phi(a, block, slot);
    }
    common = value;
    is_known = true;
  }
  return common;
}

static void visit_block(analysis *a, uint32_t block) {
  bf_value *out = &a->out[(size_t)block * a->slots];
  for (uint32_t s = 0; s < a->slots; s++)
    a->now[s] = enter(a, block, s);
  for (uint32_t i = a->flow->block[block].first; i < a->flow->block[block].end; i++)
    step(a, i);
  for (uint32_t s = 0; s < a->slots; s++) {
    bool changed = !a->visited[block] || !equal_values(out[s], a->now[s]);
    a->changed = a->changed || changed;
    if (changed && a->passes > PATIENT_PASSES)
      a->is_phi[(size_t)block * a->slots + s] = true;
    out[s] = a->now[s];
  }
  a->visited[block] = true;
}

/* Visits blocks until nothing changes. Each slot of a block can be made its own only once, and each
 * register written once becomes unknown only once, so this ends. */
static void visit_all(analysis *a) {
  do {
    a->changed = false;
    a->passes++;
    for (uint32_t i = 0; i < a->tree->ordered && !a->nodes.failed; i++)
      visit_block(a, a->tree->order[i]);
  } while (a->changed && !a->nodes.failed);
}

/* ---- Alignment ---- */

static unsigned phi_zeros(const analysis *a, const bf_node *node) {
  uint32_t block = (uint32_t)node->extra;
  unsigned zeros = BF_MOST_ZEROS;
  if (block == 0)
    return 0;
  for (uint32_t i = a->tree->first_predecessor[block]; i < a->tree->first_predecessor[block + 1];
       i++) {
    uint32_t from = a->tree->predecessor[i];
    if (!a->visited[from])
      continue;
    unsigned of_way =
        bf_value_zeros(&a->nodes, a->out[(size_t)from * a->slots + node->arg[0].base]);
    zeros = of_way < zeros ? of_way : zeros;
  }
  return zeros;
}

/* From the best for all that depends on loops down to what holds. */
static void settle_zeros(analysis *a) {
  bf_nodes *nodes = &a->nodes;
  for (uint32_t i = 1; i < nodes->count; i++)
    if (nodes->node[i].kind != BF_NODE_SYMBOL && nodes->node[i].kind != BF_NODE_OPAQUE &&
        nodes->node[i].kind != BF_NODE_SPECIAL && nodes->node[i].kind != BF_NODE_PARAMETER)
      nodes->zeros[i] = BF_MOST_ZEROS;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 1; i < nodes->count; i++) {
      const bf_node *node = &nodes->node[i];
      unsigned zeros = node->kind == BF_NODE_PHI ? phi_zeros(a, node) : bf_node_zeros(nodes, i);
      if (zeros < nodes->zeros[i]) {
        nodes->zeros[i] = (uint8_t)zeros;
        changed = true;
      }
    }
  }
}

/* An access of a vector shows how its base is aligned, or the program is wrong. */
static void learn_from_vectors(analysis *a) {
  for (uint32_t i = 0; i < a->function->instructions; i++) {
    const bf_ptx_instruction *instruction = a->function->instruction[i];
    bf_ptx_place *place = &a->place[i];
    if (!place->base || !instruction->types ||
        (instruction->opcode != BF_PTX_OP_LD && instruction->opcode != BF_PTX_OP_ST))
      continue;
    unsigned bytes = bf_ptx_type_bytes(instruction->type[0]) * instruction->vector;
    if (bytes == 0 || (bytes & (bytes - 1)) || place->offset_bytes % (int64_t)bytes)
      continue;
    unsigned zeros = (unsigned)__builtin_ctz(bytes);
    if (zeros > a->nodes.zeros[place->base])
      a->nodes.zeros[place->base] = (uint8_t)zeros;
  }
}

/* The place of the variable whose address the base is; false for other bases. */
static bool fixed_place(const analysis *a, uint32_t base, int64_t *place) {
  const bf_node *term = &a->nodes.node[base];
  if (term->kind != BF_NODE_TERM || term->arg[0].base || term->extra != 1)
    return false;
  const bf_node *symbol = &a->nodes.node[term->arg[1].base];
  *place = symbol->arg[0].offset;
  return symbol->kind == BF_NODE_SYMBOL && symbol->arg[1].offset;
}

/* The instruction behind a state of memory. */
static uint32_t writer_of(const analysis *a, uint32_t memory) {
  const bf_node *term = &a->nodes.node[memory];
  const bf_node *node = &a->nodes.node[term->arg[1].base];
  if (term->kind != BF_NODE_TERM || node->kind != BF_NODE_OPAQUE)
    return UINT32_MAX;
  uint32_t writer = (uint32_t)node->extra;
  return bf_ptx_is_shared_store(a->function->instruction[writer]) ? writer : UINT32_MAX;
}

static void finish_places(analysis *a) {
  settle_zeros(a);
  learn_from_vectors(a);
  for (uint32_t i = 0; i < a->function->instructions; i++) {
    bf_ptx_place *place = &a->place[i];
    int64_t fixed;
    if (!has_shared_address(a->function->instruction[i]))
      continue;
    place->writer = writer_of(a, place->memory);
    if (fixed_place(a, place->base, &fixed)) {
      place->base = 0;
      place->offset_bytes += fixed;
    }
    unsigned zeros = a->nodes.zeros[place->base];
    place->alignment_bytes = zeros >= 4 ? BF_PTX_MOST_ALIGNMENT : 1U << zeros;
  }
}

/* ---- Functions ---- */

static bool allocate_registers(analysis *a) {
  size_t registers = (size_t)a->function->registers + 1;
  a->definitions = calloc(registers, sizeof *a->definitions);
  a->matters = calloc(registers, sizeof *a->matters);
  a->slot = calloc(registers, sizeof *a->slot);
  a->single = calloc(registers, sizeof *a->single);
  return a->definitions && a->matters && a->slot && a->single;
}

static bool allocate_slots(analysis *a) {
  size_t cells = (size_t)a->slots * ((size_t)a->flow->blocks + 1);
  a->out = calloc(cells, sizeof *a->out);
  a->is_phi = calloc(cells, sizeof *a->is_phi);
  a->visited = calloc((size_t)a->flow->blocks + 1, sizeof *a->visited);
  a->now = calloc(a->slots, sizeof *a->now);
  return a->out && a->is_phi && a->visited && a->now;
}

static void release(analysis *a) {
  bf_nodes_end(&a->nodes);
  free(a->definitions);
  free(a->matters);
  free(a->slot);
  free(a->single);
  free(a->out);
  free(a->is_phi);
  free(a->visited);
  free(a->now);
  free(a->name);
  free(a->placed_variable);
}

/* False when memory is exhausted. */
static bool analyse(analysis *a) {
  if (!bf_nodes_begin(&a->nodes, a->function) || !allocate_registers(a) || !lay_out_all(a))
    return false;
  mark_all_needed(a);
  number_slots(a);
  if (!allocate_slots(a))
    return false;
  visit_all(a);
  if (!a->nodes.failed)
    finish_places(a);
  return !a->nodes.failed;
}

int bf_ptx_places_fill(const bf_ptx_module *module, const bf_ptx_function *function,
                       const bf_ptx_flow *flow, const bf_ptx_tree *tree, unsigned architecture,
                       bf_arena *arena, bf_ptx_place **places, bf_diagnostic *diagnostic) {
  analysis a = {.module = module, .function = function, .flow = flow, .tree = tree};
  a.architecture = architecture;
  a.place = bf_arena_alloc(arena, ((size_t)function->instructions + 1) * sizeof *a.place);
  bool fine = a.place && analyse(&a);
  release(&a);
  *places = a.place;
  return fine ? BF_OK : bf_no_memory(diagnostic);
}
