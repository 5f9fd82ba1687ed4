/* What a function needs and does, in a few numbers. */
#include "ptx/summary.h"

#include "ptx/access_kind.h"

static uint64_t align(uint64_t offset, uint64_t alignment) {
  return alignment ? (offset + alignment - 1) / alignment * alignment : offset;
}

static unsigned alignment_of(const bf_ptx_variable *variable) {
  if (variable->alignment_bytes)
    return variable->alignment_bytes;
  return bf_ptx_type_bytes(variable->type) * (variable->vector ? variable->vector : 1);
}

static void add_shared(const bf_ptx_variable *variable, bf_ptx_summary *summary) {
  if (variable->space != BF_PTX_SPACE_SHARED)
    return;
  if (variable->bytes == 0)
    summary->has_dynamic_shared = true;
  else
    summary->shared_bytes = align(summary->shared_bytes, alignment_of(variable)) + variable->bytes;
}

uint64_t bf_ptx_parameter_offset(uint64_t offset, const bf_ptx_variable *parameter) {
  return align(offset, alignment_of(parameter));
}

static void add_parameters(const bf_ptx_function *function, bf_ptx_summary *summary) {
  summary->parameters = function->parameters.count;
  for (unsigned i = 0; i < function->parameters.count; i++) {
    const bf_ptx_variable *parameter = &function->parameters.item[i];
    summary->parameter_bytes =
        bf_ptx_parameter_offset(summary->parameter_bytes, parameter) + parameter->bytes;
  }
}

static void add_access(const bf_ptx_instruction *instruction, bf_ptx_summary *summary) {
  bf_ptx_access access = bf_ptx_op_get(instruction->opcode)->access;
  if (bf_ptx_access_space(instruction) != BF_PTX_SPACE_SHARED || access == BF_PTX_NO_ACCESS)
    return;
  if (access == BF_PTX_MATRIX)
    access = bf_ptx_has(instruction, "store") ? BF_PTX_STORE : BF_PTX_LOAD;
  summary->shared_loads += access == BF_PTX_LOAD;
  summary->shared_stores += access == BF_PTX_STORE;
  summary->shared_atomics += access == BF_PTX_ATOMIC;
  summary->shared_copies += access == BF_PTX_COPY;
  summary->shared_accesses++;
}

static void add_statements(const bf_ptx_statement *statement, bf_ptx_summary *summary) {
  for (; statement; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_SCOPE)
      add_statements(statement->scope, summary);
    else if (statement->kind == BF_PTX_STATEMENT_VARIABLE)
      add_shared(statement->variable, summary);
    else if (statement->kind == BF_PTX_STATEMENT_INSTRUCTION)
      add_access(statement->instruction, summary);
}

/* Whether the operand, or one inside it, names the variable. */
static bool operand_names(const bf_ptx_operand *operand, const char *name) {
  if (operand->kind == BF_PTX_SYMBOL)
    return operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE && operand->symbol->name == name;
  for (uint32_t i = 0; i < operand->count; i++)
    if (operand_names(&operand->item[i], name))
      return true;
  return false;
}

static bool function_names(const bf_ptx_function *function, const char *name) {
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *instruction = function->instruction[i];
    for (unsigned k = 0; k < instruction->operands; k++)
      if (operand_names(&instruction->operand[k], name))
        return true;
  }
  return false;
}

bf_ptx_summary bf_ptx_summarise(const bf_ptx_module *module, const bf_ptx_function *function) {
  bf_ptx_summary summary = {.instructions = function->instructions};
  add_parameters(function, &summary);
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_VARIABLE && item->variable->space == BF_PTX_SPACE_SHARED &&
        function_names(function, item->variable->name))
      add_shared(item->variable, &summary);
  add_statements(function->body, &summary);
  return summary;
}
