/* The statements of a function beside those of its rewritten form, in order. The rewritten form has
 * all of the original's; what it has besides must be declarations of new registers and instructions
 * that write nothing else. When they agree, the accesses to shared memory are judged one by one. */
#include "verify/inner.h"

#include <string.h>

void bf_verify_fail_instruction(bf_verify_body *body, const char *what,
                                const bf_ptx_instruction *instruction, uint64_t line) {
  bf_text text = {0};
  bf_ptx_print_instruction(instruction, &text);
  BF_VERIFY_FAIL(body, line, "%s: %s", what, text.data ? text.data : "");
  body->no_memory |= text.failed;
  bf_text_free(&text);
}

const bf_ptx_variable *bf_verify_twin_of(const bf_verify_body *body,
                                         const bf_ptx_variable *original) {
  const bf_ptx_variable *own = bf_table_find(&body->twins, &original, sizeof original);
  return own ? own : bf_verify_module_twin(body->job, original);
}

/* ---- New registers ---- */

/* Whether a declaration of registers anywhere in the statements has a name in common. */
static bool shadows(const bf_ptx_statement *statement, const bf_ptx_registers *registers) {
  for (; statement; statement = statement->next) {
    if (statement->kind == BF_PTX_STATEMENT_SCOPE && shadows(statement->scope, registers))
      return true;
    if (statement->kind == BF_PTX_STATEMENT_REGISTERS &&
        bf_verify_names_overlap(statement->registers, registers))
      return true;
    if (statement->kind == BF_PTX_STATEMENT_VARIABLE &&
        !strcmp(statement->variable->name, registers->name))
      return true;
  }
  return false;
}

/* The same for parameters. */
static bool shadows_parameter(const bf_ptx_variables *list, const bf_ptx_registers *registers) {
  for (unsigned i = 0; i < list->count; i++) {
    const bf_ptx_variable *variable = &list->item[i];
    if (!strcmp(variable->name, registers->name) ||
        (variable->registers && bf_verify_names_overlap(variable->registers, registers)))
      return true;
  }
  return false;
}

static void declare_new(bf_verify_body *body, const bf_ptx_registers *registers) {
  if (!body->scheme)
    BF_VERIFY_FAIL(body, registers->line, "new registers %s in a function that must not change",
                   registers->name);
  else if (shadows(body->original->body, registers) ||
           shadows_parameter(&body->original->parameters, registers) ||
           shadows_parameter(&body->original->returns, registers) ||
           bf_verify_names_variable(body->job, registers->name))
    BF_VERIFY_FAIL(body, registers->line, "new registers %s hide names of the original",
                   registers->name);
  else
    memset(&body->is_new[registers->first], true, registers->count * sizeof *body->is_new);
}

/* ---- Instructions ---- */

/* Whether the operand is, or holds, a new register. */
static bool has_new(const bf_verify_body *body, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_REGISTER)
    return body->is_new[bf_verify_number(operand)];
  if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
      operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; i < operand->count; i++)
      if (has_new(body, &operand->item[i]))
        return true;
  return false;
}

/* Whether a call goes to a clone of the function it went to. */
static bool calls_clone(const bf_ptx_instruction *instruction, const bf_ptx_operand *a,
                        const bf_ptx_operand *b) {
  return instruction->opcode == BF_PTX_OP_CALL && a->kind == BF_PTX_SYMBOL &&
         b->kind == BF_PTX_SYMBOL && a->symbol->kind == BF_PTX_SYMBOL_FUNCTION &&
         b->symbol->kind == BF_PTX_SYMBOL_FUNCTION &&
         bf_verify_is_clone_name(b->symbol->name, a->symbol->name);
}

/* Whether an access without a state space may get .shared: ptxas takes it for one on shared memory,
 * or it is a tile, which is judged further on. */
static bool may_gain_space(const bf_ptx_instruction *instruction) {
  return bf_verify_is_tile(instruction)
             ? instruction->space == BF_PTX_SPACE_NONE
             : bf_verify_is_implied(instruction) && instruction->opcode != BF_PTX_OP_LDU;
}

/* Whether all operands are equal, but for the address of shared memory, and the stride of a tile,
 * where they may differ, and for clones in place of their originals. */
static bool same_but_address(const bf_ptx_instruction *a, const bf_ptx_instruction *b,
                             bool may_differ) {
  const bf_ptx_operand *address = may_differ ? bf_verify_shared_address(b) : NULL;
  const bf_ptx_operand *stride = address ? bf_verify_tile_stride(b) : NULL;
  bool gains_space = address && may_gain_space(a) && bf_verify_gains(a, b, "shared");
  if (!gains_space && !bf_verify_same_head(a, b))
    return false;
  for (unsigned i = 0; i < a->operands; i++) {
    bool is_address = address == &b->operand[i] && a->operand[i].kind == BF_PTX_ADDRESS;
    bool may_be_other = is_address || stride == &b->operand[i];
    if (!may_be_other && !bf_verify_same_operand(&a->operand[i], &b->operand[i]) &&
        !calls_clone(a, &a->operand[i], &b->operand[i]))
      return false;
  }
  return true;
}

/* The next instruction of a list of statements, or NULL. */
static const bf_ptx_instruction *next_instruction(const bf_ptx_statement *statement) {
  while (statement && statement->kind != BF_PTX_STATEMENT_INSTRUCTION)
    statement = statement->next;
  return statement ? statement->instruction : NULL;
}

/* Says how two instructions that should be the same differ. */
static void fail_pair(bf_verify_body *body, const bf_ptx_statement *was,
                      const bf_ptx_statement *is) {
  const bf_ptx_instruction *a = was->instruction, *b = is->instruction;
  const bf_ptx_instruction *after_a = next_instruction(was->next);
  const bf_ptx_instruction *after_b = next_instruction(is->next);
  bool missing = after_a && same_but_address(after_a, b, true);
  bool added = after_b && same_but_address(a, after_b, true);
  if (missing && added)
    bf_verify_fail_instruction(body, "instructions in another order", b, b->line);
  else if (missing)
    bf_verify_fail_instruction(body, "an instruction of the original is missing", a, b->line);
  else if (added)
    bf_verify_fail_instruction(body, "an instruction that is not in the original", b, b->line);
  else if (a->opcode == b->opcode && !bf_verify_same_operand(a->guard, b->guard))
    bf_verify_fail_instruction(body, "another guard than in the original", b, b->line);
  else
    bf_verify_fail_instruction(body, "an instruction differs from the original", b, b->line);
}

/* Notes the functions that two instructions call. Those that are named otherwise are judged apart
 * (outside.c). */
static void note_calls(bf_verify_body *body, const bf_ptx_instruction *a,
                       const bf_ptx_instruction *b) {
  const bf_ptx_function *was = bf_verify_callee(a), *is = bf_verify_callee(b);
  if (!was || !is || !was->has_body)
    return;
  bf_verify_pair *pair = bf_arena_alloc(bf_verify_arena(body->job), sizeof *pair);
  if (!pair) {
    body->no_memory = true;
    return;
  }
  *pair = (bf_verify_pair){body->calls, was, is};
  body->calls = pair;
}

static void compare_instruction(bf_verify_body *body, const bf_ptx_statement *was,
                                const bf_ptx_statement *is) {
  const bf_ptx_instruction *a = was->instruction, *b = is->instruction;
  bf_verify_copy copy;
  bool is_copy = body->scheme && body->scheme->by_array && bf_verify_copy_find(a, &copy);
  const char *obstacle = is_copy        ? bf_verify_sees_layout(a) /* judged further on */
                         : body->scheme ? bf_verify_obstacle(a, body->scheme->makes_generic)
                                        : NULL;
  if (!same_but_address(a, b, body->scheme))
    fail_pair(body, was, is);
  else if (obstacle)
    bf_verify_fail_instruction(body, obstacle, b, b->line);
  else
    note_calls(body, a, b);
  body->partner[body->instructions++] = a;
}

/* An instruction that writes new registers: true where it was one. */
static bool take_added(bf_verify_body *body, const bf_ptx_instruction *instruction) {
  if (!instruction->operands || !has_new(body, &instruction->operand[0]))
    return false;
  if (!bf_verify_may_be_added(instruction))
    bf_verify_fail_instruction(body,
                               "an added instruction that is no plain arithmetic on registers",
                               instruction, instruction->line);
  body->partner[body->instructions++] = NULL;
  return true;
}

/* ---- Statements ---- */

/* The line of a statement, or of what follows it. */
static uint64_t statement_line(const bf_ptx_statement *statement) {
  for (; statement; statement = statement->next)
    switch (statement->kind) {
    case BF_PTX_STATEMENT_INSTRUCTION:
      return statement->instruction->line;
    case BF_PTX_STATEMENT_LABEL:
      return statement->label->line;
    case BF_PTX_STATEMENT_VARIABLE:
      return statement->variable->line;
    case BF_PTX_STATEMENT_REGISTERS:
      return statement->registers->line;
    default:
      break;
    }
  return 0;
}

static bool note_named(void *context, const bf_ptx_variable *variable) {
  bf_table *named = context;
  void **place = variable->space == BF_PTX_SPACE_SHARED
                     ? bf_table_at(named, &variable, sizeof variable)
                     : NULL;
  if (place)
    *place = named;
  return place || variable->space != BF_PTX_SPACE_SHARED;
}

/* Whether the original names a shared variable. */
static bool names(bf_verify_body *body, const bf_ptx_variable *variable) {
  if (variable->space == BF_PTX_SPACE_SHARED && !body->is_named_known) {
    body->is_named_known = true;
    body->named.arena = &body->scratch;
    body->no_memory |= !bf_verify_visit_named(body->original, note_named, &body->named);
  }
  return bf_table_find(&body->named, &variable, sizeof variable);
}

static void compare_variable(bf_verify_body *body, const bf_ptx_variable *was,
                             const bf_ptx_variable *is) {
  bool is_used = names(body, was); /* else nothing is ever there */
  const bf_hash *hash = is_used ? bf_verify_hash_of_variable(body->scheme, was) : NULL;
  const char *why = bf_verify_is_padding(hash) ? bf_verify_pad_variable(was, is, hash)
                                               : bf_verify_variable(was, is, hash != NULL);
  if (why && !bf_verify_is_padding(hash) && body->scheme && (body->scheme->by_array || !is_used))
    why = bf_verify_variable(was, is, true);
  void **twin = bf_table_at(&body->twins, &was, sizeof was);
  if (!twin) {
    body->no_memory = true;
    return;
  }
  *twin = (void *)(uintptr_t)is;
  if (why)
    BF_VERIFY_FAIL(body, is->line, "%s: %s", why, is->name);
}

static void compare_statements(bf_verify_body *body, const bf_ptx_statement *was,
                               const bf_ptx_statement *is);

/* Two statements that should be the same. */
static void compare_statement(bf_verify_body *body, const bf_ptx_statement *was,
                              const bf_ptx_statement *is) {
  if (was->kind != is->kind) {
    BF_VERIFY_FAIL(body, statement_line(is), "statements differ from the original");
    return;
  }
  switch (was->kind) {
  case BF_PTX_STATEMENT_INSTRUCTION:
    compare_instruction(body, was, is);
    return;
  case BF_PTX_STATEMENT_VARIABLE:
    compare_variable(body, was->variable, is->variable);
    return;
  case BF_PTX_STATEMENT_SCOPE:
    compare_statements(body, was->scope, is->scope);
    return;
  case BF_PTX_STATEMENT_REGISTERS:
    body->twin[was->registers->first] = is->registers;
    break;
  default:
    break;
  }
  if (!bf_verify_same_statement(was, is))
    BF_VERIFY_FAIL(body, statement_line(is), "statements differ from the original");
}

/* Whether a statement of the rewritten function is new, and so has been dealt with. */
static bool take_new(bf_verify_body *body, const bf_ptx_statement *was,
                     const bf_ptx_statement *is) {
  if (is->kind == BF_PTX_STATEMENT_INSTRUCTION)
    return take_added(body, is->instruction);
  if (is->kind != BF_PTX_STATEMENT_REGISTERS || (was && bf_verify_same_statement(was, is)))
    return false;
  declare_new(body, is->registers);
  return true;
}

static void compare_statements(bf_verify_body *body, const bf_ptx_statement *was,
                               const bf_ptx_statement *is) {
  while (is && !body->failed && !body->no_memory) {
    if (take_new(body, was, is)) {
      is = is->next;
      continue;
    }
    if (!was) {
      BF_VERIFY_FAIL(body, statement_line(is), "statements behind the end of the original");
      return;
    }
    compare_statement(body, was, is);
    was = was->next;
    is = is->next;
  }
  if (was && !body->failed && !body->no_memory)
    BF_VERIFY_FAIL(body, body->rewritten->line,
                   "statements of the original are missing at the end");
}

/* Registers that are parameters. */
static void pair_parameters(bf_verify_body *body) {
  for (unsigned list = 0; list < 2; list++) {
    const bf_ptx_variables *was = list ? &body->original->parameters : &body->original->returns;
    const bf_ptx_variables *is = list ? &body->rewritten->parameters : &body->rewritten->returns;
    for (unsigned i = 0; i < was->count && i < is->count; i++)
      if (was->item[i].registers)
        body->twin[was->item[i].registers->first] = is->item[i].registers;
  }
}

/* Room for what is found out about the function. */
static bool prepare(bf_verify_body *body, bf_arena *arena) {
  size_t registers = (size_t)body->rewritten->registers + 1;
  size_t instructions = (size_t)body->rewritten->instructions + 1;
  body->twin = bf_arena_alloc(arena, (body->original->registers + 1) * sizeof *body->twin);
  body->is_new = bf_arena_alloc(arena, registers * sizeof *body->is_new);
  body->partner = bf_arena_alloc(arena, instructions * sizeof *body->partner);
  if (!body->twin || !body->is_new || !body->partner)
    return false;
  if (!body->scheme)
    return true;
  body->version = bf_arena_alloc(arena, registers * sizeof *body->version);
  body->slot = bf_arena_alloc(arena, registers * sizeof *body->slot);
  body->result = bf_arena_alloc(arena, instructions * sizeof *body->result);
  return body->version && body->slot && body->result;
}

/* Judges an instruction of the original if it is an access or a bulk copy. */
static void visit(bf_verify_body *body, uint32_t number) {
  bf_verify_copy copy;
  if (bf_verify_copy_find(body->partner[number], &copy))
    bf_verify_copy_judge(body, number);
  else if (bf_verify_shared_address(body->partner[number]))
    bf_verify_access(body, body->partner[number], number);
}

/* Judges the accesses of a function whose statements are those of the original. */
static int judge_accesses(const bf_ptx_module *module, bf_verify_body *body, bf_arena *arena) {
  uint32_t loaded = body->scheme->loaded;
  BF_TRY(bf_verify_facts_find(module, body->original, body->rewritten, arena, &body->facts));
  if (body->scheme->by_array &&
      !bf_verify_homes_find(body->scheme, body->original, arena, &loaded, &body->homes))
    return BF_NO_MEMORY;
  BF_TRY(bf_verify_flow_solve(body));
  if (!body->failed)
    bf_verify_flow_walk(body, visit);
  return body->failed ? BF_OK : bf_verify_pad_judge(body);
}

int bf_verify_compare(const bf_ptx_module *module, bf_verify_body *body) {
  body->twins.arena = &body->scratch;
  int error = prepare(body, &body->scratch) ? BF_OK : BF_NO_MEMORY;
  if (!error) {
    pair_parameters(body);
    compare_statements(body, body->original->body, body->rewritten->body);
    if (body->scheme && !body->failed && !body->no_memory)
      error = judge_accesses(module, body, &body->scratch);
  }
  bf_verify_flow_free(body);
  bf_arena_free(&body->scratch);
  return body->no_memory ? BF_NO_MEMORY : error;
}
