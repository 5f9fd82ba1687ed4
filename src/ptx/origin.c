/* Which shared variables an access can address.
 *
 * Every register gets the set of shared variables from whose addresses its value may be computed:
 * the union over all instructions that write it of the sets of what they read. Addresses that are
 * stored, or handed to a call, have escaped, and whatever is loaded may be one of them; so may, in
 * a function that calls others, the address of any variable that another function names. Values
 * that come from a call, or into a function that is no kernel, are unknown. The order of
 * instructions is not looked at, so the sets may be larger than they need to be, never smaller. */
#include "ptx/origin.h"

#include "ptx/access_kind.h"
#include "ptx/index.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_VARIABLES = 63 };
static const uint64_t unknown = BF_PTX_ORIGIN_UNKNOWN;

typedef struct analysis {
  const bf_ptx_module *module;
  const bf_ptx_function *function;
  const bf_ptx_variable *variable[MOST_VARIABLES];
  unsigned variables;
  uint64_t *set;   /* per register */
  uint64_t loaded; /* what a loaded value may be */
  bool changed;
} analysis;

/* ---- Variables ---- */

/* The bit of a shared variable; unknown for one too many. Names are unique where they are seen. */
static uint64_t bit_of(analysis *a, const bf_ptx_variable *variable) {
  for (unsigned i = 0; i < a->variables; i++)
    if (a->variable[i]->name == variable->name && a->variable[i]->line == variable->line)
      return (uint64_t)1 << i;
  if (a->variables == MOST_VARIABLES)
    return unknown;
  a->variable[a->variables] = variable;
  return (uint64_t)1 << a->variables++;
}

static bool is_register(const bf_ptx_operand *operand) { return operand->kind == BF_PTX_REGISTER; }

static uint64_t *set_of(analysis *a, const bf_ptx_operand *operand) {
  return &a->set[operand->registers->first + operand->index];
}

/* What the operand, with all inside it, may be computed from. */
static uint64_t read_operand(analysis *a, const bf_ptx_operand *operand) {
  if (is_register(operand))
    return *set_of(a, operand);
  if (operand->kind == BF_PTX_SYMBOL) {
    bool shared = operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
                  operand->symbol->variable->space == BF_PTX_SPACE_SHARED;
    return shared ? bit_of(a, operand->symbol->variable) : 0;
  }
  uint64_t sum = 0;
  bool has_items = operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
                   operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand->count; i++)
    sum |= read_operand(a, &operand->item[i]);
  return sum;
}

/* Adds to every register in the operand. Registers inside an address are only read. */
static void write_operand(analysis *a, const bf_ptx_operand *operand, uint64_t value) {
  if (is_register(operand)) {
    uint64_t *set = set_of(a, operand);
    a->changed = a->changed || (*set | value) != *set;
    *set |= value;
  } else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
             operand->kind == BF_PTX_ARGUMENTS) {
    for (uint32_t i = 0; i < operand->count; i++)
      write_operand(a, &operand->item[i], value);
  }
}

static void escape(analysis *a, uint64_t value) {
  a->changed = a->changed || (a->loaded | value) != a->loaded;
  a->loaded |= value;
}

/* ---- Instructions ---- */

/* A load of a kernel's own parameters: the host cannot know a shared address. */
static bool loads_own_parameter(const analysis *a, const bf_ptx_instruction *instruction) {
  if (!a->function->is_entry || instruction->space != BF_PTX_SPACE_PARAM ||
      instruction->operands < 2 || instruction->operand[1].kind != BF_PTX_ADDRESS ||
      instruction->operand[1].count == 0)
    return false;
  const bf_ptx_operand *address = &instruction->operand[1].item[0];
  if (address->kind != BF_PTX_SYMBOL)
    return false;
  for (unsigned i = 0; i < a->function->parameters.count; i++)
    if (a->function->parameters.item[i].name == address->symbol->name)
      return true;
  return false;
}

/* What an instruction that touches memory writes to its registers. */
static uint64_t loaded_value(const analysis *a, const bf_ptx_instruction *instruction) {
  if (instruction->space == BF_PTX_SPACE_PARAM)
    return loads_own_parameter(a, instruction) ? 0 : unknown;
  return instruction->space == BF_PTX_SPACE_CONST ? 0 : a->loaded;
}

/* All operands but addresses: what a store puts into memory. */
static uint64_t stored_value(analysis *a, const bf_ptx_instruction *instruction) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < instruction->operands; i++)
    if (instruction->operand[i].kind != BF_PTX_ADDRESS)
      sum |= read_operand(a, &instruction->operand[i]);
  return sum;
}

static void follow(analysis *a, const bf_ptx_instruction *instruction) {
  const bf_ptx_op *op = bf_ptx_op_get(instruction->opcode);
  uint64_t value = 0;
  if (instruction->operands == 0)
    return;
  if (instruction->opcode == BF_PTX_OP_CALL) {
    escape(a, stored_value(a, instruction));
    value = unknown;
  } else if (op->access == BF_PTX_NO_ACCESS) {
    for (unsigned i = 0; i < instruction->operands; i++)
      value |= read_operand(a, &instruction->operand[i]);
  } else {
    if (op->access != BF_PTX_LOAD)
      escape(a, stored_value(a, instruction));
    value = loaded_value(a, instruction);
  }
  /* an operand that is only read gains nothing by its own set, and little by the others' */
  bool writes = op->access == BF_PTX_LOAD || op->access == BF_PTX_ATOMIC ||
                op->access == BF_PTX_MATRIX || op->access == BF_PTX_NO_ACCESS;
  if (writes)
    write_operand(a, &instruction->operand[0], value);
}

/* ---- Functions ---- */

/* What a call may leave in memory: anything, where another function names a shared variable. */
static uint64_t named_elsewhere(const analysis *a) {
  const bf_ptx_index *index = bf_ptx_index_of(a->module);
  bool has_other =
      index->has_shared_namers || (index->shared_namer && index->shared_namer != a->function);
  return has_other ? unknown : 0;
}

static bool has_calls(const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++)
    if (function->instruction[i]->opcode == BF_PTX_OP_CALL)
      return true;
  return false;
}

static const bf_ptx_operand *address_of(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i < instruction->operands; i++)
    if (instruction->operand[i].kind == BF_PTX_ADDRESS && instruction->operand[i].count)
      return &instruction->operand[i].item[0];
  return NULL;
}

unsigned bf_ptx_copied_operand(const bf_ptx_instruction *instruction) {
  unsigned none = instruction->operands, spaces = 0;
  bool is_load = false, has_global = false;
  if (instruction->opcode != BF_PTX_OP_CP || !bf_ptx_has(instruction, "bulk") || none < 2 ||
      bf_ptx_has(instruction, "prefetch"))
    return none;
  for (unsigned i = 0; i < instruction->modifiers; i++) {
    const char *modifier = instruction->modifier[i];
    bool is_shared = !strncmp(modifier, "shared::", 8), is_global = !strcmp(modifier, "global");
    if (!strncmp(modifier, "multicast", 9) || !strncmp(modifier, "cta_group", 9))
      return none;
    is_load |= is_shared && !spaces;
    has_global |= is_global;
    spaces += is_shared || is_global;
  }
  unsigned operand = is_load ? 0 : 1;
  return spaces == 2 && has_global && instruction->operand[operand].kind == BF_PTX_ADDRESS ? operand
                                                                                           : none;
}

/* Fills origins with the shared accesses of the function; false when out of memory. */
static bool collect(analysis *a, bf_ptx_origins *origins) {
  const bf_ptx_function *function = a->function;
  size_t most = (size_t)function->instructions + 1;
  origins->access = bf_arena_alloc(&origins->arena, most * sizeof *origins->access);
  origins->variable = bf_arena_alloc(&origins->arena, sizeof a->variable);
  origins->of_address = bf_arena_alloc(&origins->arena, most * sizeof *origins->of_address);
  if (!origins->access || !origins->variable || !origins->of_address)
    return false;
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *instruction = function->instruction[i];
    const bf_ptx_operand *address = address_of(instruction);
    uint64_t set = address ? read_operand(a, address) : 0;
    unsigned copied = bf_ptx_copied_operand(instruction);
    origins->of_address[i] =
        copied < instruction->operands ? read_operand(a, instruction->operand[copied].item) : set;
    if (!address || bf_ptx_address_space(instruction, address) != BF_PTX_SPACE_SHARED ||
        bf_ptx_op_get(instruction->opcode)->access == BF_PTX_NO_ACCESS)
      continue;
    origins->access[origins->accesses++] =
        (bf_ptx_origin){.instruction = i, .variables = set & unknown ? 0 : set};
  }
  memcpy(origins->variable, a->variable, sizeof a->variable);
  origins->variables = a->variables;
  origins->loaded = a->loaded;
  return true;
}

int bf_ptx_origins_create(const bf_ptx_module *module, const bf_ptx_function *function,
                          bf_ptx_origins **out, bf_diagnostic *diagnostic) {
  *out = NULL;
  analysis a = {.module = module, .function = function};
  bf_ptx_origins *origins = calloc(1, sizeof *origins);
  a.set = calloc((size_t)function->registers + 1, sizeof *a.set);
  if (origins && a.set) {
    a.loaded = has_calls(function) ? named_elsewhere(&a) : 0;
    if (!function->is_entry)
      a.loaded |= unknown;
    do {
      a.changed = false;
      for (uint32_t i = 0; i < function->instructions; i++)
        follow(&a, function->instruction[i]);
    } while (a.changed);
    if (collect(&a, origins))
      *out = origins;
  }
  free(a.set);
  if (*out)
    return BF_OK;
  bf_ptx_origins_free(origins);
  return bf_no_memory(diagnostic);
}

void bf_ptx_origins_free(bf_ptx_origins *origins) {
  if (!origins)
    return;
  bf_arena_free(&origins->arena);
  free(origins);
}
