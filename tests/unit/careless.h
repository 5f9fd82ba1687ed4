/* A rewriter without scruples: it hashes every access to shared memory that says .shared and has a
 * plain address, in place, pads every shared variable, and refuses nothing. For tests of what the
 * verifier rejects. The hash is fixed: a ^ (a >> 5 & 124) on byte addresses. */
#ifndef TEST_CARELESS_H
#define TEST_CARELESS_H

#include "ptx/ptx.h"

#include <stdio.h>
#include <string.h>

typedef struct careless {
  bf_arena arena;
  char before[512];
} careless;

static inline const char *careless_body(void *context, const bf_ptx_function *function) {
  (void)context;
  (void)function;
  return ".reg .b32 %place, %term;\n.reg .b64 %place_wide, %term_wide;\n";
}

/* Lines that put the hash of an address into a register; false for addresses that are not plain. */
static inline bool careless_hash(careless *own, const bf_ptx_operand *address, bool *is_wide) {
  const bf_ptx_operand *base = &address->item[0];
  char from[128];
  *is_wide = false;
  if (address->count != 1)
    return false;
  if (base->kind == BF_PTX_REGISTER && base->registers->range)
    snprintf(from, sizeof from, "%s%u", base->registers->name, base->index);
  else if (base->kind == BF_PTX_REGISTER)
    snprintf(from, sizeof from, "%s", base->registers->name);
  else if (base->kind == BF_PTX_SYMBOL)
    snprintf(from, sizeof from, "%s", base->symbol->name);
  else
    return false;
  *is_wide = base->kind == BF_PTX_REGISTER && bf_ptx_type_bytes(base->registers->type) == 8;
  const char *w = *is_wide ? "_wide" : "", *t = *is_wide ? "64" : "32";
  snprintf(own->before, sizeof own->before,
           "mov.b%s %%place%s, %s;\nadd.s%s %%place%s, %%place%s, %lld;\n"
           "shr.u%s %%term%s, %%place%s, 5;\nand.b%s %%term%s, %%term%s, 124;\n"
           "xor.b%s %%place%s, %%place%s, %%term%s;\n",
           t, w, from, t, w, w, (long long)(address->offset + base->offset), t, w, w, t, w, w, t, w,
           w, w);
  return true;
}

static inline const bf_ptx_instruction *
careless_instruction(void *context, const bf_ptx_instruction *instruction, const char **before) {
  static const bf_ptx_registers narrow = {.name = "%place", .type = BF_PTX_B32, .count = 1};
  static const bf_ptx_registers wide = {.name = "%place_wide", .type = BF_PTX_B64, .count = 1};
  careless *own = context;
  bool accesses = bf_ptx_op_get(instruction->opcode)->access != BF_PTX_NO_ACCESS &&
                  instruction->opcode != BF_PTX_OP_WMMA && !bf_ptx_has(instruction, "bulk");
  for (unsigned i = 0; accesses && i < instruction->operands; i++) {
    bool is_wide;
    if (instruction->space != BF_PTX_SPACE_SHARED || instruction->operand[i].kind != BF_PTX_ADDRESS)
      continue;
    if (!careless_hash(own, &instruction->operand[i], &is_wide))
      return instruction;
    bf_ptx_instruction *copy = bf_arena_alloc(&own->arena, sizeof *copy);
    bf_ptx_operand *operand =
        bf_arena_alloc(&own->arena, (instruction->operands + 1) * sizeof *operand);
    *copy = *instruction;
    memcpy(operand, instruction->operand, instruction->operands * sizeof *operand);
    bf_ptx_operand *place = &operand[instruction->operands];
    *place = (bf_ptx_operand){.kind = BF_PTX_REGISTER, .registers = is_wide ? &wide : &narrow};
    operand[i].item = place;
    operand[i].offset = 0;
    copy->operand = operand;
    *before = own->before;
    return copy;
  }
  return instruction;
}

static inline bf_ptx_variable careless_variable(void *context, const bf_ptx_variable *variable) {
  (void)context;
  bf_ptx_variable padded = *variable;
  unsigned element = bf_ptx_type_bytes(variable->type);
  padded.alignment_bytes = 128;
  if (padded.linkage == BF_PTX_WEAK)
    padded.linkage = BF_PTX_PRIVATE;
  if (variable->bytes) {
    padded.bytes = (variable->bytes + 127) / 128 * 128;
    padded.dimensions = 1;
    padded.dimension[0] = padded.bytes / (element ? element : 1);
  }
  return padded;
}

/* The module as this rewriter has it; the text is to be freed. */
static inline bf_text careless_rewrite(const bf_ptx_module *module) {
  careless own = {0};
  bf_text text = {0};
  bf_ptx_print_hooks hooks = {&own, careless_body, careless_instruction, careless_variable, NULL};
  bf_ptx_print_hooked(module, &hooks, &text);
  bf_arena_free(&own.arena);
  return text;
}

#endif
