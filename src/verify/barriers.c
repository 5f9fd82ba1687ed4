/* Which variables hold nothing but barrier objects, and which registers are their addresses. A
 * variable belongs to barriers when its address, followed through moves and arithmetic, ends in the
 * addresses of barrier instructions and nowhere else. */
#include "verify/inner.h"

#include <string.h>

bool bf_verify_uses_barrier(const bf_ptx_instruction *instruction) {
  if (instruction->opcode == BF_PTX_OP_CP)
    return bf_ptx_has(instruction, "mbarrier");
  if (instruction->opcode != BF_PTX_OP_MBARRIER)
    return false;
  for (unsigned i = 0; i < instruction->operands; i++)
    if (instruction->operand[i].kind == BF_PTX_ADDRESS)
      return true;
  return false;
}

/* The registers of a function that hold what is computed from the address of a variable. */
typedef struct variable_trail {
  const bf_ptx_function *function;
  const char *variable;
  bool *from; /* per register */
} variable_trail;

/* Whether the operand is the address of a shared variable. */
static bool is_shared_symbol(const bf_ptx_operand *operand) {
  return operand->kind == BF_PTX_SYMBOL && operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
         operand->symbol->variable->space == BF_PTX_SPACE_SHARED;
}

/* Whether the operand, or what it holds, comes from the variable. */
static bool comes_from(const variable_trail *trail, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_REGISTER)
    return trail->from[bf_verify_number(operand)];
  if (is_shared_symbol(operand))
    return !strcmp(operand->symbol->name, trail->variable);
  if (operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
      operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; i < operand->count; i++)
      if (comes_from(trail, &operand->item[i]))
        return true;
  return false;
}

/* Whether the instruction only moves or computes. */
static bool is_arithmetic(const bf_ptx_instruction *instruction) {
  switch (instruction->opcode) {
  case BF_PTX_OP_MOV:
  case BF_PTX_OP_ADD:
  case BF_PTX_OP_SUB:
  case BF_PTX_OP_MAD:
  case BF_PTX_OP_CVT:
  case BF_PTX_OP_CVTA:
    return instruction->operand[0].kind == BF_PTX_REGISTER;
  default:
    return false;
  }
}

/* Whether a bulk copy uses the variable for its mbarrier alone. */
static bool is_of_copy(const variable_trail *trail, const bf_ptx_instruction *instruction) {
  bf_verify_copy copy;
  if (!bf_verify_copy_find(instruction, &copy))
    return false;
  for (unsigned i = 0; i < instruction->operands; i++)
    if (i != copy.barrier && comes_from(trail, &instruction->operand[i]))
      return false;
  return true;
}

/* Follows the variable through one instruction; false where it escapes. */
static bool follow(variable_trail *trail, const bf_ptx_instruction *instruction, bool *changed) {
  bool reads = false;
  for (unsigned i = 0; i < instruction->operands; i++) {
    bool is_written = i == 0 && is_arithmetic(instruction);
    reads |= !is_written && comes_from(trail, &instruction->operand[i]);
  }
  if (!reads || bf_verify_uses_barrier(instruction) || is_of_copy(trail, instruction))
    return true;
  if (!is_arithmetic(instruction))
    return false;
  bool *to = &trail->from[bf_verify_number(&instruction->operand[0])];
  *changed |= !*to;
  *to = true;
  return true;
}

/* Whether every write to a register of the trail takes its value from the variable. */
static bool is_pure(const variable_trail *trail) {
  for (uint32_t i = 0; i < trail->function->instructions; i++) {
    const bf_ptx_instruction *instruction = trail->function->instruction[i];
    if (!instruction->operands || instruction->operand[0].kind == BF_PTX_ADDRESS ||
        !comes_from(trail, &instruction->operand[0]))
      continue;
    bool reads = false;
    for (unsigned j = 1; j < instruction->operands; j++) {
      const bf_ptx_operand *operand = &instruction->operand[j];
      reads |= comes_from(trail, operand);
      if (is_shared_symbol(operand) && !comes_from(trail, operand))
        return false;
    }
    if (!reads)
      return false;
  }
  return true;
}

/* Whether a function uses the variable for barriers alone; then trail says which registers hold its
 * address. */
static bool stays_with_barriers(variable_trail *trail) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (uint32_t i = 0; i < trail->function->instructions; i++)
      if (!follow(trail, trail->function->instruction[i], &changed))
        return false;
  }
  return is_pure(trail);
}

/* Whether all functions of the module use the variable for barriers alone. Functions are told
 * apart by nothing but the name: one that declares a variable of the same name counts too. */
static int belongs_to_barriers(const bf_ptx_module *module, const char *variable, bf_arena *arena,
                               bool *belongs) {
  *belongs = true;
  for (const bf_ptx_item *item = module->first; item && *belongs; item = item->next) {
    if (item->kind != BF_PTX_ITEM_FUNCTION)
      continue;
    variable_trail trail = {item->function, variable,
                            bf_arena_alloc(arena, item->function->registers + 1)};
    if (!trail.from)
      return BF_NO_MEMORY;
    *belongs = stays_with_barriers(&trail);
  }
  return BF_OK;
}

/* Adds a variable of barriers, and the registers that hold its address. */
static int add_barrier(const bf_ptx_function *function, const char *variable, bf_arena *arena,
                       bf_verify_facts *facts) {
  bf_verify_barrier *barrier = bf_arena_alloc(arena, sizeof *barrier);
  variable_trail trail = {function, variable, bf_arena_alloc(arena, function->registers + 1)};
  if (!barrier || !trail.from)
    return BF_NO_MEMORY;
  stays_with_barriers(&trail);
  for (uint32_t i = 0; i < function->registers; i++)
    facts->is_barrier[i] |= trail.from[i];
  *barrier = (bf_verify_barrier){facts->barriers, variable};
  facts->barriers = barrier;
  return BF_OK;
}

/* Whether the function works on barrier objects at all. */
static bool has_barriers(const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++)
    if (bf_verify_uses_barrier(function->instruction[i]))
      return true;
  return false;
}

/* Whether the variable is known to be one of barriers. */
static bool is_known(const bf_verify_facts *facts, const char *variable) {
  for (const bf_verify_barrier *barrier = facts->barriers; barrier; barrier = barrier->next)
    if (!strcmp(barrier->variable, variable))
      return true;
  return false;
}

/* The shared variable that an operand names directly or as an address, or NULL. */
static const char *named_variable(const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_ADDRESS)
    operand = &operand->item[0];
  return is_shared_symbol(operand) ? operand->symbol->name : NULL;
}

/* Whether the operand names dynamic shared memory: all of it starts at the same place, so that its
 * names tell nothing. */
static bool is_dynamic(const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_ADDRESS)
    operand = &operand->item[0];
  const bf_ptx_variable *variable = operand->symbol->variable;
  return variable->linkage == BF_PTX_EXTERN || !variable->bytes;
}

/* Looks at every shared variable that the function names. */
static int find_barriers(const bf_ptx_module *module, const bf_ptx_function *function,
                         bf_arena *arena, bf_verify_facts *facts) {
  if (!has_barriers(function))
    return BF_OK;
  for (uint32_t i = 0; i < function->instructions; i++)
    for (unsigned j = 0; j < function->instruction[i]->operands; j++) {
      const bf_ptx_operand *operand = &function->instruction[i]->operand[j];
      const char *variable = named_variable(operand);
      bool belongs = false;
      if (!variable || is_dynamic(operand) || is_known(facts, variable))
        continue;
      BF_TRY(belongs_to_barriers(module, variable, arena, &belongs));
      if (belongs)
        BF_TRY(add_barrier(function, variable, arena, facts));
    }
  return BF_OK;
}

bool bf_verify_is_barrier(const bf_verify_facts *facts, const bf_ptx_operand *address) {
  const bf_ptx_operand *base = &address->item[0];
  if (base->kind == BF_PTX_REGISTER)
    return facts->is_barrier[bf_verify_number(base)];
  return is_shared_symbol(base) && is_known(facts, base->symbol->name);
}

int bf_verify_facts_find(const bf_ptx_module *module, const bf_ptx_function *original,
                         const bf_ptx_function *function, bf_arena *arena, bf_verify_facts *facts) {
  bf_verify_threads threads;
  BF_TRY(bf_verify_threads_find(original, arena, &threads));
  *facts = (bf_verify_facts){.zeros = bf_verify_known_zeros(function, &threads, arena),
                             .residue = bf_verify_residues(function, arena),
                             .is_barrier = bf_arena_alloc(arena, function->registers + 1)};
  if (!facts->zeros || !facts->residue || !facts->is_barrier)
    return BF_NO_MEMORY;
  return find_barriers(module, function, arena, facts);
}
