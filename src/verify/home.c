/* The arrays whose addresses registers are made of.
 *
 * Every register of a function gets the array whose address its value may depend on: none, one or
 * many, joined over all instructions that write it, whatever their order. Where arrays lie relative
 * to each other is not for a program to know. So a value into which the address of one array went,
 * and no other, can be a good address in that array only.
 *
 * Loaded values, and what a function is called with, may be made of what was stored or passed on
 * anywhere in the kernel. An address that came only this way is not taken for proven. */
#include "verify/inner.h"

/* What is found out about a function. */
typedef struct search {
  const bf_verify_scheme *scheme;
  const bf_ptx_function *function;
  bf_verify_homes *homes;
  uint32_t *loaded;
  bool changed;
} search;

/* The array of both, where there is at most one. */
static uint32_t join(uint32_t a, uint32_t b) {
  if (a == BF_VERIFY_NO_HOME || a == b)
    return b;
  return b == BF_VERIFY_NO_HOME ? a : BF_VERIFY_MANY_HOMES;
}

/* Whether the operand is a list of others. */
static bool is_list(const bf_ptx_operand *operand) {
  return operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
         operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS;
}

/* Predicates say which way to go, not where anything is. */
static bool is_predicate(const bf_ptx_operand *operand) {
  return operand->registers->type == BF_PTX_PRED;
}

/* Whether the operand is the address of a shared variable. */
static bool is_shared_symbol(const bf_ptx_operand *operand) {
  return operand->kind == BF_PTX_SYMBOL && operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
         operand->symbol->variable->space == BF_PTX_SPACE_SHARED;
}

/* The array whose address went into the operand. */
static uint32_t operand_home(const bf_verify_scheme *scheme, const bf_verify_homes *homes,
                             const bf_ptx_operand *operand) {
  uint32_t home = BF_VERIFY_NO_HOME;
  if (operand->kind == BF_PTX_REGISTER)
    return is_predicate(operand) ? BF_VERIFY_NO_HOME : homes->array[bf_verify_number(operand)];
  if (is_shared_symbol(operand)) {
    home = bf_verify_array_number(scheme, operand->symbol->variable);
    return home == BF_VERIFY_NO_HOME ? BF_VERIFY_MANY_HOMES : home;
  }
  for (unsigned i = 0; is_list(operand) && i < operand->count; i++)
    home = join(home, operand_home(scheme, homes, &operand->item[i]));
  return home;
}

/* Whether some part of the operand is an address that did not come by way of memory. */
static bool is_direct(const bf_verify_homes *homes, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_REGISTER) {
    uint32_t number = bf_verify_number(operand);
    return !is_predicate(operand) && homes->array[number] != BF_VERIFY_NO_HOME &&
           !homes->is_loaded[number];
  }
  for (unsigned i = 0; is_list(operand) && i < operand->count; i++)
    if (is_direct(homes, &operand->item[i]))
      return true;
  return is_shared_symbol(operand);
}

/* ---- What instructions do ---- */

/* Whether what the instruction writes comes from memory or from a function, and what it reads goes
 * there. */
static bool touches_memory(const bf_ptx_instruction *instruction) {
  const bf_ptx_op *op = bf_ptx_op_get(instruction->opcode);
  return op->access != BF_PTX_NO_ACCESS || op->work == BF_PTX_WORK_MEMORY ||
         instruction->opcode == BF_PTX_OP_CALL;
}

/* Whether operand 0 is written. */
static bool writes(const bf_ptx_instruction *instruction) {
  return instruction->operands && instruction->operand[0].kind != BF_PTX_ADDRESS &&
         instruction->operand[0].kind != BF_PTX_SYMBOL;
}

/* Whether the instruction loads a parameter of the kernel, which no address of shared memory is. */
static bool loads_parameter(const search *s, const bf_ptx_instruction *instruction) {
  if (instruction->opcode != BF_PTX_OP_LD || instruction->space != BF_PTX_SPACE_PARAM ||
      !s->function->is_entry || instruction->operand[1].kind != BF_PTX_ADDRESS)
    return false;
  const bf_ptx_operand *base = &instruction->operand[1].item[0];
  for (unsigned i = 0; i < s->function->parameters.count; i++)
    if (base->kind == BF_PTX_SYMBOL && base->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
        base->symbol->variable == &s->function->parameters.item[i])
      return true;
  return false;
}

/* What the instruction reads, addresses that it follows aside. */
static uint32_t read_home(const search *s, const bf_ptx_instruction *instruction) {
  bool follows = touches_memory(instruction);
  uint32_t home = BF_VERIFY_NO_HOME;
  for (unsigned i = writes(instruction); i < instruction->operands; i++)
    if (!follows || instruction->operand[i].kind != BF_PTX_ADDRESS)
      home = join(home, operand_home(s->scheme, s->homes, &instruction->operand[i]));
  return home;
}

/* What the instruction writes. */
static uint32_t written_home(const search *s, const bf_ptx_instruction *instruction) {
  if (!touches_memory(instruction))
    return read_home(s, instruction);
  return loads_parameter(s, instruction) ? BF_VERIFY_NO_HOME : *s->loaded;
}

/* Joins home to all registers of the operand. */
static void add_home(search *s, const bf_ptx_operand *operand, uint32_t home) {
  if (operand->kind == BF_PTX_REGISTER) {
    uint32_t *own = &s->homes->array[bf_verify_number(operand)], sum = join(*own, home);
    s->changed |= sum != *own;
    *own = sum;
  } else if (is_list(operand)) {
    for (unsigned i = 0; i < operand->count; i++)
      add_home(s, &operand->item[i], home);
  }
}

/* One instruction: what it stores or passes on can be loaded, what it writes has its home. */
static void follow(search *s, const bf_ptx_instruction *instruction) {
  if (touches_memory(instruction)) {
    uint32_t sum = join(*s->loaded, read_home(s, instruction));
    s->changed |= sum != *s->loaded;
    *s->loaded = sum;
  }
  if (writes(instruction))
    add_home(s, &instruction->operand[0], written_home(s, instruction));
}

/* Marks the registers of the operand as loaded. */
static void add_loaded(search *s, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_REGISTER) {
    bool *own = &s->homes->is_loaded[bf_verify_number(operand)];
    s->changed |= !*own;
    *own = true;
  } else if (is_list(operand)) {
    for (unsigned i = 0; i < operand->count; i++)
      add_loaded(s, &operand->item[i]);
  }
}

/* One instruction: what it writes is loaded unless a part of it is not. */
static void follow_loaded(search *s, const bf_ptx_instruction *instruction) {
  bool direct = false;
  if (!writes(instruction) || written_home(s, instruction) == BF_VERIFY_NO_HOME)
    return;
  for (unsigned i = 1; i < instruction->operands && !touches_memory(instruction); i++)
    direct |= is_direct(s->homes, &instruction->operand[i]);
  if (!direct)
    add_loaded(s, &instruction->operand[0]);
}

/* ---- Functions ---- */

/* Registers that are parameters hold what was passed on. */
static void follow_parameters(search *s) {
  for (unsigned list = 0; list < 2; list++) {
    const bf_ptx_variables *variables = list ? &s->function->parameters : &s->function->returns;
    for (unsigned i = 0; i < variables->count; i++) {
      const bf_ptx_registers *registers = variables->item[i].registers;
      for (uint32_t j = 0; registers && j < registers->count; j++) {
        s->homes->array[registers->first + j] = *s->loaded;
        s->homes->is_loaded[registers->first + j] = true;
      }
    }
  }
}

/* Repeats a step for all instructions until nothing changes. */
static void settle(search *s, void (*take)(search *s, const bf_ptx_instruction *instruction)) {
  do {
    s->changed = false;
    for (uint32_t i = 0; i < s->function->instructions; i++)
      take(s, s->function->instruction[i]);
  } while (s->changed);
}

bool bf_verify_homes_find(const bf_verify_scheme *scheme, const bf_ptx_function *function,
                          bf_arena *arena, uint32_t *loaded, bf_verify_homes *homes) {
  size_t count = (size_t)function->registers + 1;
  search s = {.scheme = scheme, .function = function, .homes = homes, .loaded = loaded};
  homes->array = bf_arena_alloc(arena, count * sizeof *homes->array);
  homes->is_loaded = bf_arena_alloc(arena, count);
  if (!homes->array || !homes->is_loaded)
    return false;
  for (size_t i = 0; i < count; i++)
    homes->array[i] = BF_VERIFY_NO_HOME;
  follow_parameters(&s);
  settle(&s, follow);
  settle(&s, follow_loaded);
  return true;
}

bool bf_verify_is_homeless(const bf_verify_scheme *scheme, const bf_verify_homes *homes,
                           const bf_ptx_operand *address) {
  return operand_home(scheme, homes, &address->item[0]) == BF_VERIFY_NO_HOME;
}

uint32_t bf_verify_home_of(const bf_verify_scheme *scheme, const bf_verify_homes *homes,
                           const bf_ptx_operand *address) {
  const bf_ptx_operand *base = &address->item[0];
  uint32_t home = operand_home(scheme, homes, base);
  if (home == BF_VERIFY_NO_HOME || home == BF_VERIFY_MANY_HOMES)
    return home;
  return is_direct(homes, base) ? home : BF_VERIFY_NO_HOME;
}
