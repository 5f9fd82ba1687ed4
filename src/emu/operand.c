/* Operands of instructions: places in the frame for registers, constants, special registers and
 * addresses. */
#include "emu/decode.h"

#include <stdlib.h>

enum { MOST_FRAME_BYTES = 1 << 30 };

/* ---- Places ---- */

unsigned bf_emu_lane_bytes(bf_ptx_type type) {
  unsigned bytes = bf_ptx_type_bytes(type);
  if (type == BF_PTX_PRED)
    return 0;
  return bytes < 2 ? 2 : bytes;
}

uint32_t bf_emu_take(bf_emu_decoder *decoder, uint64_t bytes, uint32_t alignment) {
  uint64_t at = ((uint64_t)decoder->frame_bytes + alignment - 1) / alignment * alignment;
  if (at + bytes > MOST_FRAME_BYTES) {
    decoder->failed = true;
    return BF_EMU_NOWHERE;
  }
  decoder->frame_bytes = (uint32_t)(at + bytes);
  return (uint32_t)at;
}

uint32_t bf_emu_temporary(bf_emu_decoder *decoder, unsigned bytes) {
  return bytes == 0 ? bf_emu_take(decoder, 4, 4)
                    : bf_emu_take(decoder, (uint64_t)bytes * BF_EMU_LANES, 64);
}

void *bf_emu_detail(bf_emu_decoder *decoder, size_t size) {
  void *memory = bf_arena_alloc(&decoder->kernel->arena, size ? size : 1);
  if (!memory)
    decoder->failed = true;
  return memory;
}

bool bf_emu_refuse(bf_emu_decoder *decoder, const char *text) {
  snprintf(decoder->refused_why, sizeof decoder->refused_why, "%s", text);
  return true;
}

/* A constant, or the offset of an address of shared memory. */
static uint32_t constant_place(bf_emu_decoder *decoder, uint64_t bits, unsigned bytes,
                               bool is_shared) {
  if (bytes < 2)
    bytes = 2;
  if (bytes < 8)
    bits &= (UINT64_C(1) << (8 * bytes)) - 1;
  for (unsigned i = 0; i < decoder->constants; i++)
    if (decoder->constant[i].bits == bits && decoder->constant[i].bytes == bytes &&
        decoder->constant[i].is_shared == is_shared)
      return decoder->constant[i].place;
  if (decoder->constants == decoder->constant_capacity) {
    unsigned capacity = decoder->constant_capacity ? 2 * decoder->constant_capacity : 64;
    struct constant *grown = realloc(decoder->constant, capacity * sizeof *grown);
    if (!grown) {
      decoder->failed = true;
      return BF_EMU_NOWHERE;
    }
    decoder->constant = grown;
    decoder->constant_capacity = capacity;
  }
  uint32_t place = bf_emu_temporary(decoder, bytes);
  decoder->constant[decoder->constants++] = (struct constant){bits, bytes, place, is_shared};
  return place;
}

uint32_t bf_emu_constant(bf_emu_decoder *decoder, uint64_t bits, unsigned bytes) {
  return constant_place(decoder, bits, bytes, false);
}

/* ---- Operands ---- */

static uint32_t register_place(bf_emu_decoder *decoder, const bf_ptx_operand *operand) {
  if (operand->registers->vector) {
    bf_emu_refuse(decoder, "vector registers");
    return BF_EMU_NOWHERE;
  }
  return decoder->place[operand->registers->first + operand->index];
}

unsigned bf_emu_register_bytes(const bf_ptx_operand *operand, bf_ptx_type type) {
  if (operand->kind == BF_PTX_REGISTER)
    return bf_emu_lane_bytes(operand->registers->type);
  if (operand->kind == BF_PTX_SPECIAL)
    return bf_emu_lane_bytes(type) == 8 ? 8 : 4;
  return bf_emu_lane_bytes(type);
}

uint32_t bf_emu_destination(bf_emu_decoder *decoder, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_SINK)
    return BF_EMU_NOWHERE;
  if (operand->kind != BF_PTX_REGISTER) {
    bf_emu_refuse(decoder, "destination that is no register");
    return BF_EMU_NOWHERE;
  }
  return register_place(decoder, operand);
}

uint32_t bf_emu_predicate(bf_emu_decoder *decoder, const bf_ptx_operand *operand, uint32_t *flip) {
  *flip = operand->negated ? UINT32_MAX : 0;
  if (operand->kind == BF_PTX_INTEGER)
    return operand->bits ? BF_EMU_TRUE : BF_EMU_FALSE;
  if (operand->kind == BF_PTX_REGISTER && operand->registers->type == BF_PTX_PRED)
    return register_place(decoder, operand);
  bf_emu_refuse(decoder, "operand that is no predicate");
  return BF_EMU_TRUE;
}

/* The constant that a number stands for where type is wanted. */
static uint32_t number_place(bf_emu_decoder *decoder, const bf_ptx_operand *operand,
                             bf_ptx_type type) {
  union {
    double d;
    uint64_t u;
  } number = {.u = operand->bits};
  union {
    float f;
    uint32_t u;
  } single = {.u = (uint32_t)operand->bits};
  bool is_double = type == BF_PTX_F64 || type == BF_PTX_B64 || type == BF_PTX_U64;
  unsigned bytes = bf_emu_lane_bytes(type);
  if (bytes == 0)
    return operand->bits ? BF_EMU_TRUE : BF_EMU_FALSE;
  if (operand->kind == BF_PTX_INTEGER)
    return bf_emu_constant(decoder, operand->bits, bytes);
  if (operand->kind == BF_PTX_FLOAT32) /* of doubles the lower half, as ptxas has it */
    return bf_emu_constant(decoder, operand->bits, bytes);
  if (!is_double)
    single.f = (float)number.d;
  return bf_emu_constant(decoder, is_double ? number.u : single.u, bytes);
}

/* Reads a special register into a new place. */
static uint32_t special_place(bf_emu_decoder *decoder, const bf_ptx_operand *operand,
                              bf_ptx_type type) {
  unsigned bytes = bf_emu_lane_bytes(type) == 8 ? 8 : 4;
  uint32_t place = bf_emu_temporary(decoder, bytes);
  bf_emu_op *op = bf_emu_emit(decoder);
  if (op) {
    op->run = bf_emu_step_special;
    op->d = place;
    op->a = operand->special;
    op->b = operand->component ? (uint32_t)(operand->component - 'x') : 0;
    op->c = operand->index;
    op->small[0] = (uint8_t)bytes;
  }
  return place;
}

const bf_emu_region *bf_emu_region_of(const bf_emu_decoder *decoder,
                                      const bf_ptx_variable *variable) {
  for (unsigned i = 0; i < decoder->regions; i++)
    if (decoder->region[i].variable == variable)
      return &decoder->region[i];
  return NULL;
}

bool bf_emu_kernel_parameter_of(const bf_emu_decoder *decoder, const bf_ptx_variable *variable,
                                uint64_t *offset) {
  const bf_ptx_variables *parameters = &decoder->kernel->function->parameters;
  for (unsigned i = 0; i < parameters->count; i++)
    if (&parameters->item[i] == variable) {
      *offset = decoder->kernel->parameter_offset[i];
      return true;
    }
  return false;
}

bool bf_emu_is_read(const bf_emu_decoder *decoder, const bf_ptx_operand *operand) {
  return operand->kind == BF_PTX_REGISTER &&
         decoder->reads[operand->registers->first + operand->index];
}

/* Marks the registers in an operand as read. */
static void mark_operand(const bf_ptx_operand *operand, bool *reads) {
  if (operand->kind == BF_PTX_REGISTER)
    reads[operand->registers->first + operand->index] = true;
  if (operand->kind >= BF_PTX_ADDRESS && operand->kind <= BF_PTX_ARGUMENTS)
    for (uint32_t i = 0; i < operand->count; i++)
      mark_operand(&operand->item[i], reads);
}

void bf_emu_mark_reads(const bf_ptx_function *function, bool *reads) {
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *instruction = function->instruction[i];
    bool writes = bf_ptx_op_get(instruction->opcode)->operands[0] == 'd';
    if (instruction->guard)
      mark_operand(instruction->guard, reads);
    for (unsigned k = 0; k < instruction->operands; k++)
      if (k > 0 || !writes)
        mark_operand(&instruction->operand[k], reads);
  }
}

/* An address that is known only when the code runs: op computes it into a new place. */
static uint32_t computed_place(bf_emu_decoder *decoder, bf_emu_step run, uint64_t offset,
                               unsigned bytes) {
  uint32_t place = bf_emu_temporary(decoder, bytes);
  bf_emu_op *op = bf_emu_emit(decoder);
  if (op) {
    op->run = run;
    op->d = place;
    op->immediate = offset;
    op->small[0] = (uint8_t)bytes;
  }
  return place;
}

/* The address of a variable plus offset, in its own space, as a constant or computed. */
static uint32_t variable_place(bf_emu_decoder *decoder, const bf_ptx_operand *operand,
                               unsigned bytes) {
  const bf_ptx_variable *variable = operand->symbol->variable;
  uint64_t offset = (uint64_t)operand->offset, address;
  if (variable->space == BF_PTX_SPACE_SHARED) {
    for (unsigned i = 0; i < decoder->shareds; i++)
      if (decoder->shared[i].variable == variable)
        return constant_place(decoder, decoder->shared[i].offset + offset, bytes, true);
  } else if (variable->space == BF_PTX_SPACE_LOCAL) {
    for (unsigned i = 0; i < decoder->locals; i++)
      if (decoder->local[i].variable == variable)
        return computed_place(decoder, bf_emu_step_local_address, decoder->local[i].offset + offset,
                              bytes);
  } else if (variable->space == BF_PTX_SPACE_PARAM) {
    if (bf_emu_kernel_parameter_of(decoder, variable, &address))
      return computed_place(decoder, bf_emu_step_parameter_address, address + offset, bytes);
  } else if (bf_emu_place_of(decoder->module, variable, &address)) {
    return bf_emu_constant(decoder, address + offset, bytes);
  }
  char why[sizeof decoder->refused_why];
  snprintf(why, sizeof why, "'%.60s' has no address here", operand->symbol->name);
  bf_emu_refuse(decoder, why);
  return BF_EMU_NOWHERE;
}

static uint32_t symbol_place(bf_emu_decoder *decoder, const bf_ptx_operand *operand,
                             bf_ptx_type type) {
  const bf_ptx_symbol *symbol = operand->symbol;
  unsigned bytes = bf_emu_lane_bytes(type);
  if (symbol->kind == BF_PTX_SYMBOL_FUNCTION)
    return bf_emu_constant(decoder, bf_emu_function_address(symbol->function), bytes);
  if (symbol->kind == BF_PTX_SYMBOL_VARIABLE)
    return variable_place(decoder, operand, bytes);
  bf_emu_refuse(decoder, "operand of this kind");
  return BF_EMU_NOWHERE;
}

uint32_t bf_emu_source(bf_emu_decoder *decoder, const bf_ptx_operand *operand, bf_ptx_type type) {
  switch (operand->kind) {
  case BF_PTX_REGISTER:
    return register_place(decoder, operand);
  case BF_PTX_INTEGER:
  case BF_PTX_FLOAT32:
  case BF_PTX_FLOAT64:
  case BF_PTX_DECIMAL:
    return number_place(decoder, operand, type);
  case BF_PTX_SPECIAL:
    return special_place(decoder, operand, type);
  case BF_PTX_SYMBOL:
    return symbol_place(decoder, operand, type);
  case BF_PTX_SINK:
    return BF_EMU_NOWHERE;
  default:
    bf_emu_refuse(decoder, "operand of this kind");
    return BF_EMU_NOWHERE;
  }
}

bf_emu_address bf_emu_bind_address(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                   const bf_ptx_operand *operand, bf_ptx_space space) {
  (void)instruction;
  bf_emu_address address = {.space = space, .register_bytes = 8};
  const bf_ptx_operand *base = operand;
  if (operand->kind == BF_PTX_ADDRESS) {
    if (operand->count != 1) {
      bf_emu_refuse(decoder, "address of several parts");
      return address;
    }
    base = &operand->item[0];
    address.offset = operand->offset;
  }
  if (base->kind == BF_PTX_REGISTER)
    address.register_bytes = bf_emu_lane_bytes(base->registers->type);
  if (base->kind == BF_PTX_REGISTER && address.register_bytes < 4)
    bf_emu_refuse(decoder, "address in a narrow register");
  if (base->kind != BF_PTX_REGISTER && space == BF_PTX_SPACE_SHARED)
    address.register_bytes = 4;
  address.place =
      bf_emu_source(decoder, base, address.register_bytes == 4 ? BF_PTX_U32 : BF_PTX_U64);
  return address;
}
