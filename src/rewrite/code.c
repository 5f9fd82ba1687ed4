/* Functions whose accesses to shared memory go through a hash: their instructions with other
 * addresses (access.c), calls of functions that hash alike, and the declarations of new registers.
 */
#include "rewrite/writer.h"

#include <stdlib.h>
#include <string.h>

/* ---- Instructions ---- */

/* A copy of the instruction with operands of its own, which can be changed; NULL without memory. */
static bf_ptx_operand *copy_instruction(bf_rewrite_writer *w, uint32_t index) {
  const bf_ptx_instruction *instruction = w->function->function->instruction[index];
  bf_ptx_instruction *copy = bf_arena_alloc(w->plan->arena, sizeof *copy);
  bf_ptx_operand *operands =
      bf_arena_alloc(w->plan->arena, (size_t)instruction->operands * sizeof *operands);
  if (!copy || !operands) {
    w->failed = true;
    return NULL;
  }
  *copy = *instruction;
  memcpy(operands, instruction->operand, instruction->operands * sizeof *operands);
  copy->operand = operands;
  if (bf_rewrite_lacks_space(instruction))
    w->failed |= !bf_rewrite_name_space(copy, w->plan->arena);
  w->code->instruction[index] = copy;
  return operands;
}

/* Lets the access at hand go to its target. */
static void replace_address(bf_rewrite_writer *w, bool wide, bf_rewrite_target to) {
  unsigned operand = w->function->touch[w->index].operand;
  bf_ptx_operand *operands = copy_instruction(w, w->index);
  bf_ptx_operand *item = bf_arena_alloc(w->plan->arena, sizeof *item);
  if (!operands || !item) {
    w->failed = true;
    return;
  }
  *item = (bf_ptx_operand){
      .kind = BF_PTX_REGISTER, .registers = wide ? w->wide : w->narrow, .index = to.place};
  operands[operand].item = item;
  operands[operand].count = 1;
  operands[operand].offset = to.immediate;
  operands[operand].has_offset = false;
}

static bool is_shared_name(const bf_ptx_operand *base) {
  return base->kind == BF_PTX_SYMBOL && base->symbol->variable->space == BF_PTX_SPACE_SHARED;
}

/* Writes the code of the access at hand. */
static void write_access(bf_rewrite_writer *w) {
  const bf_ptx_instruction *instruction = w->function->function->instruction[w->index];
  bf_touch touch = w->function->touch[w->index];
  const bf_ptx_operand *address = &instruction->operand[touch.operand], *base = &address->item[0];
  uint64_t own = base->kind == BF_PTX_SYMBOL ? (uint64_t)base->offset : 0; /* sums may wrap */
  int64_t offset = (int64_t)((uint64_t)address->offset + own);
  w->code->hashed++;
  if (touch.kind == BF_TOUCH_GENERIC && base->kind == BF_PTX_SYMBOL && !is_shared_name(base))
    return; /* a variable that is elsewhere */
  bf_rewrite_target to = {0};
  if (touch.kind == BF_TOUCH_SHARED)
    to = bf_rewrite_put_shared(w, base, offset);
  else
    to.place = bf_rewrite_put_generic(w, base, offset);
  if (!to.is_unchanged)
    replace_address(w, bf_rewrite_is_wide(base), to);
}

/* Lets a call lead to the copy of the function that hashes like this one. */
static void write_call(bf_rewrite_writer *w, uint32_t index) {
  const bf_ptx_instruction *instruction = w->function->function->instruction[index];
  int called = bf_rewrite_called(w->plan, instruction);
  const bf_rewrite_version *version =
      called < 0 ? NULL : bf_rewrite_find_version(w->plan, &w->plan->function[called], w->kernel);
  if (!version || !version->name)
    return;
  bf_ptx_operand *operands = copy_instruction(w, index);
  bf_ptx_symbol *symbol = bf_arena_alloc(w->plan->arena, sizeof *symbol);
  if (!operands || !symbol) {
    w->failed = true;
    return;
  }
  size_t callee = (size_t)(bf_rewrite_callee(instruction) - instruction->operand);
  *symbol = *operands[callee].symbol;
  symbol->name = version->name;
  operands[callee].symbol = symbol;
}

/* Notes which accesses need the hash of their base itself: where it is computed depends on all. */
static void note_accesses(bf_rewrite_writer *w) {
  for (uint32_t i = 0; i < w->function->function->instructions && !w->failed; i++) {
    const bf_hash *hash = bf_rewrite_is_hashed(w->function, i)
                              ? bf_rewrite_hash_at(w->plan, w->kernel, w->function, i)
                              : NULL;
    bf_touch touch = w->function->touch[i];
    if (!hash || touch.kind != BF_TOUCH_SHARED)
      continue;
    const bf_ptx_operand *address = &w->function->function->instruction[i]->operand[touch.operand];
    w->own = bf_rewrite_find_hashing(w, hash);
    if (bf_rewrite_needs_base(w, address->item, address->offset))
      w->failed |= !bf_rewrite_hoist_note(w->hoist, address->item, i);
  }
  bf_rewrite_hoist_settle(w->hoist);
}

static void write_instructions(bf_rewrite_writer *w) {
  const bf_ptx_function *function = w->function->function;
  for (uint32_t i = 0; i < function->instructions && !w->failed; i++) {
    w->code->instruction[i] = function->instruction[i];
    if (bf_rewrite_is_hashed(w->function, i)) {
      const bf_hash *hash = bf_rewrite_hash_at(w->plan, w->kernel, w->function, i);
      w->index = i;
      w->code->left += !hash;
      if (hash) {
        w->own = bf_rewrite_find_hashing(w, hash);
        write_access(w);
      }
    }
    write_call(w, i);
    bf_rewrite_forget_written(w, function->instruction[i]);
  }
}

/* ---- Functions ---- */

static void declare(bf_rewrite_writer *w, bool wanted, const char *type, const char *name,
                    unsigned count) {
  if (wanted && count)
    bf_text_addf(&w->text, ".reg .%s \t%s%s<%u>;\n", type, w->prefix, name, count);
  else if (wanted)
    bf_text_addf(&w->text, ".reg .%s \t%s%s;\n", type, w->prefix, name);
}

static void write_declarations(bf_rewrite_writer *w) {
  declare(w, w->uses_predicate, "pred", "is_shared", 0);
  for (int wide = 0; wide < 2; wide++) {
    const char *type = wide ? "b64" : "b32";
    declare(w, w->uses_logical[wide], type, wide ? "logical_wide" : "logical", 0);
    declare(w, w->uses_predicate && w->uses_term[wide], type, wide ? "inside_wide" : "inside", 0);
    declare(w, w->uses_term[wide], type, wide ? "term_wide" : "term", 0);
    unsigned places = wide ? w->wide_places : w->places;
    declare(w, places, type, wide ? "place_wide" : "place", places);
  }
  declare(w, w->distances, "b32", "distance", w->distances);
  w->code->declarations = bf_arena_copy(w->plan->arena, w->text.size ? w->text.data : "");
  w->failed |= w->text.failed || !w->code->declarations;
}

static bf_ptx_registers *declare_places(const bf_rewrite_writer *w, bool wide) {
  size_t size = sizeof w->prefix + 16;
  char *name = bf_arena_alloc(w->plan->arena, size);
  bf_ptx_registers *registers = bf_arena_alloc(w->plan->arena, sizeof *registers);
  if (!name || !registers)
    return NULL;
  snprintf(name, size, "%splace%s", w->prefix, bf_rewrite_suffix_of(wide));
  *registers = (bf_ptx_registers){.name = name, .range = true};
  return registers;
}

static void prepare(bf_rewrite_writer *w, size_t count) {
  bf_arena *arena = w->plan->arena;
  bf_rewrite_choose_prefix(w);
  w->narrow = declare_places(w, false);
  w->wide = declare_places(w, true);
  w->hoist = bf_rewrite_hoist_make(w->function->function, w->flow, arena);
  w->zeros = bf_rewrite_zeros(w->plan, w->kernel, w->function);
  w->rests = w->zeros ? bf_rewrite_rests(w->plan, w->kernel, w->function, w->zeros) : NULL;
  w->code->before = bf_arena_alloc(arena, count * sizeof *w->code->before);
  w->code->instruction = bf_arena_alloc(arena, count * sizeof *w->code->instruction);
  w->failed |= !w->narrow || !w->wide || !w->hoist || !w->zeros || !w->rests || !w->code->before ||
               !w->code->instruction;
}

/* Writes the code with a writer, which is larger than the code of most functions. */
static int write_code(bf_rewrite_writer *w, const bf_rewrite_plan *plan,
                      const bf_rewrite_function *function, bf_rewrite_version *version,
                      bf_diagnostic *diagnostic) {
  bf_ptx_flow *flow;
  BF_TRY(bf_ptx_flow_create(function->function, &flow, diagnostic));
  *w = (bf_rewrite_writer){.plan = plan,
                           .function = function,
                           .kernel = version->kernel,
                           .code = version->code,
                           .flow = flow};
  prepare(w, (size_t)function->function->instructions + 1);
  if (!w->failed)
    note_accesses(w);
  if (!w->failed)
    write_instructions(w);
  if (!w->failed)
    write_declarations(w);
  bf_text_free(&w->text);
  bf_ptx_flow_free(flow);
  return w->failed ? bf_no_memory(diagnostic) : BF_OK;
}

int bf_rewrite_code_make(const bf_rewrite_plan *plan, const bf_rewrite_function *function,
                         bf_rewrite_version *version, bf_diagnostic *diagnostic) {
  bf_rewrite_writer *w = malloc(sizeof *w);
  version->code = bf_arena_alloc(plan->arena, sizeof *version->code);
  int error = w && version->code ? write_code(w, plan, function, version, diagnostic)
                                 : bf_no_memory(diagnostic);
  free(w);
  return error;
}
