/* How large the thread indices of a kernel can be: as directives say, and as its stores say.
 *
 * A store that every thread executes stays inside its array, as all accesses do (docs/verifier.md).
 * If its address is the array's plus multiples of thread indices and a number, none of which is
 * negative, each of them is at most what the array leaves. An address is traced back through
 * registers that one instruction writes; a thread that reads such a register finds there what that
 * instruction computes, and thread indices do not change. Every thread of a kernel that ends passes
 * the blocks that post-dominate its first one, unless a function that it calls ends it. */
#include "verify/inner.h"

#include <string.h>

enum {
  MOST_THREADS = 1024, /* CUDA C++ Programming Guide, technical specifications */
  MOST_Z = 64,
  MOST_STEPS = 128,       /* back from the address of a store */
  MOST_NUMBER = 1 << 24,  /* of what is added; and */
  MOST_MULTIPLE = 1 << 16 /* of an index: 3 * 1024 * 2^16 + 2^24 is less than 2^31 */
};

/* An address, or a part of one. */
typedef struct place {
  const bf_ptx_variable *array;
  uint64_t multiple[3], number;
} place;

typedef struct tracing {
  const bf_ptx_function *function;
  const bf_ptx_instruction **writer; /* per register: the only one, or NULL */
  unsigned steps;                    /* left for the address at hand */
} tracing;

/* ---- Directives ---- */

static void least(uint64_t *limit, uint64_t other) {
  if (other && other < *limit)
    *limit = other;
}

static void read_directive(const bf_ptx_directive *directive, bf_verify_threads *limits) {
  bool requires = !strcmp(directive->name, "reqntid");
  uint64_t threads = 1;
  if (!requires && strcmp(directive->name, "maxntid"))
    return;
  for (unsigned i = 0; i < directive->numbers && threads <= MOST_THREADS; i++)
    threads *= directive->number[i];
  least(&limits->all, threads);
  for (unsigned i = 0; i < 3 && requires && threads; i++)
    least(&limits->in[i], i < directive->numbers ? directive->number[i] : 1);
}

/* ---- Addresses ---- */

static bool trace(tracing *t, const bf_ptx_operand *operand, place *out);

/* Whether all types are whole numbers of 32 or 64 bits. */
static bool is_whole(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i < instruction->types; i++) {
    const char *name = bf_ptx_type_name(instruction->type[i]);
    unsigned bytes = bf_ptx_type_bytes(instruction->type[i]);
    if (!strchr("bus", name[0]) || strchr(name, 'x') || !strncmp(name, "bf", 2) ||
        (bytes != 4 && bytes != 8))
      return false;
  }
  return instruction->types > 0;
}

/* Whether the numbers are so small that no sum of them wraps. */
static bool is_small(const place *at) {
  return at->number <= MOST_NUMBER && at->multiple[0] <= MOST_MULTIPLE &&
         at->multiple[1] <= MOST_MULTIPLE && at->multiple[2] <= MOST_MULTIPLE;
}

static bool join(place *to, const place *other) {
  if (to->array && other->array)
    return false;
  if (other->array)
    to->array = other->array;
  to->number += other->number;
  for (unsigned i = 0; i < 3; i++)
    to->multiple[i] += other->multiple[i];
  return is_small(to);
}

/* Multiplies; arrays have no multiples. */
static bool scale(place *to, uint64_t by) {
  if (to->array || by > MOST_MULTIPLE)
    return false;
  to->number *= by;
  for (unsigned i = 0; i < 3; i++)
    to->multiple[i] *= by;
  return is_small(to);
}

/* One factor of a product is a number. */
static bool trace_product(tracing *t, const bf_ptx_operand *factor, place *out) {
  for (unsigned i = 0; i < 2; i++) {
    place by = {0};
    if (!trace(t, &factor[i], &by) || by.array || by.multiple[0] || by.multiple[1] ||
        by.multiple[2])
      continue;
    *out = (place){0};
    return trace(t, &factor[1 - i], out) && scale(out, by.number);
  }
  return false;
}

/* What an instruction computes. */
static bool trace_result(tracing *t, const bf_ptx_instruction *instruction, place *out) {
  const bf_ptx_operand *in = instruction->operand;
  place other = {0};
  if (!is_whole(instruction) || bf_ptx_has(instruction, "sat") || bf_ptx_has(instruction, "cc"))
    return false;
  switch (instruction->opcode) {
  case BF_PTX_OP_MOV:
  case BF_PTX_OP_CVT:
    return trace(t, &in[1], out);
  case BF_PTX_OP_ADD:
    return trace(t, &in[1], out) && trace(t, &in[2], &other) && join(out, &other);
  case BF_PTX_OP_SHL:
    return in[2].kind == BF_PTX_INTEGER && in[2].bits <= 16 && trace(t, &in[1], out) &&
           scale(out, (uint64_t)1 << in[2].bits);
  case BF_PTX_OP_MUL:
    return !bf_ptx_has(instruction, "hi") && trace_product(t, &in[1], out);
  case BF_PTX_OP_MAD:
    return !bf_ptx_has(instruction, "hi") && trace_product(t, &in[1], out) &&
           trace(t, &in[3], &other) && join(out, &other);
  default:
    return false;
  }
}

/* What an operand holds, as a place; false where that is not known. */
static bool trace(tracing *t, const bf_ptx_operand *operand, place *out) {
  if (operand->minus || operand->negated || operand->selector)
    return false;
  if (operand->kind == BF_PTX_INTEGER) {
    out->number = operand->bits;
    return is_small(out);
  }
  if (operand->kind == BF_PTX_SPECIAL && operand->special == BF_PTX_SPECIAL_TID) {
    bool is_axis = operand->component >= 'x' && operand->component <= 'z';
    if (is_axis)
      out->multiple[operand->component - 'x'] = 1;
    return is_axis;
  }
  if (operand->kind == BF_PTX_SYMBOL) {
    if (operand->symbol->kind != BF_PTX_SYMBOL_VARIABLE || operand->generic || operand->mask ||
        operand->symbol->variable->space != BF_PTX_SPACE_SHARED)
      return false;
    out->array = operand->symbol->variable;
    out->number = (uint64_t)operand->offset;
    return is_small(out);
  }
  if (operand->kind != BF_PTX_REGISTER || operand->component || operand->registers->vector ||
      !t->steps)
    return false;
  t->steps--;
  const bf_ptx_instruction *writer = t->writer[bf_verify_number(operand)];
  return writer && trace_result(t, writer, out);
}

/* ---- Registers ---- */

/* Notes who writes the registers of an operand; a second one counts as none. */
static void note_writer(tracing *t, bool *is_written, const bf_ptx_operand *operand,
                        const bf_ptx_instruction *instruction) {
  if (operand->kind == BF_PTX_REGISTER) {
    uint32_t number = bf_verify_number(operand);
    bool is_plain = !operand->component && !operand->registers->vector && !instruction->guard;
    t->writer[number] = is_written[number] || !is_plain ? NULL : instruction;
    is_written[number] = true;
  } else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
             operand->kind == BF_PTX_ARGUMENTS) {
    for (unsigned i = 0; i < operand->count; i++) {
      note_writer(t, is_written, &operand->item[i], instruction);
      if (operand->item[i].kind == BF_PTX_REGISTER)
        t->writer[bf_verify_number(&operand->item[i])] = NULL;
    }
  }
}

/* Finds the writers of all registers; *calls where the function calls another. */
static bool find_writers(tracing *t, bf_arena *arena, bool *calls) {
  size_t registers = (size_t)t->function->registers + 1;
  bool *is_written = bf_arena_alloc(arena, registers);
  t->writer = bf_arena_alloc(arena, registers * sizeof *t->writer);
  if (!t->writer || !is_written)
    return false;
  *calls = false;
  for (uint32_t i = 0; i < t->function->instructions; i++) {
    const bf_ptx_instruction *instruction = t->function->instruction[i];
    *calls |= instruction->opcode == BF_PTX_OP_CALL;
    if (instruction->operands)
      note_writer(t, is_written, &instruction->operand[0], instruction);
  }
  return true;
}

/* ---- Stores ---- */

/* Reads what the instruction says, where it is a store of all threads to a static array. */
static void read_store(tracing *t, const bf_ptx_instruction *instruction,
                       bf_verify_threads *limits) {
  place at = {0}, offset = {0};
  const bf_ptx_operand *address = bf_verify_shared_address(instruction);
  if ((instruction->opcode != BF_PTX_OP_ST && instruction->opcode != BF_PTX_OP_ATOM &&
       instruction->opcode != BF_PTX_OP_RED) ||
      instruction->space != BF_PTX_SPACE_SHARED || instruction->guard || !address ||
      address->count != 1 || address->offset < 0 || !instruction->types)
    return;
  uint64_t bytes =
      (uint64_t)instruction->vector * bf_ptx_type_bytes(instruction->type[instruction->types - 1]);
  offset.number = (uint64_t)address->offset;
  t->steps = MOST_STEPS;
  if (!trace(t, &address->item[0], &at) || !join(&at, &offset) || !at.array || !bytes ||
      at.array->bytes < at.number + bytes)
    return;
  for (unsigned i = 0; i < 3; i++)
    if (at.multiple[i])
      least(&limits->in[i], (at.array->bytes - at.number - bytes) / at.multiple[i] + 1);
}

int bf_verify_threads_find(const bf_ptx_function *function, bf_arena *arena,
                           bf_verify_threads *limits) {
  tracing t = {.function = function};
  bf_ptx_flow *flow;
  bool calls;
  *limits = (bf_verify_threads){MOST_THREADS, {MOST_THREADS, MOST_THREADS, MOST_Z}};
  for (unsigned i = 0; i < function->directives.count; i++)
    read_directive(&function->directives.item[i], limits);
  if (!function->is_entry)
    return BF_OK;
  if (!find_writers(&t, arena, &calls))
    return BF_NO_MEMORY;
  if (calls)
    return BF_OK;
  BF_TRY(bf_ptx_flow_create(function, &flow, NULL));
  for (uint32_t b = 0; b < flow->blocks; b = flow->block[b].post_dominator)
    for (uint32_t i = flow->block[b].first; i < flow->block[b].end; i++)
      read_store(&t, function->instruction[i], limits);
  bf_ptx_flow_free(flow);
  return BF_OK;
}
