/* Residues of registers: a register is value modulo 2^bits whenever it is read.
 *
 * An instruction gives what it writes a residue by those of what it reads; a register has the one
 * that all instructions which write it agree on, modulo the largest power of two for which they do.
 * Registers start without a value, which agrees with everything, so that the order of instructions
 * does not matter; from there bits only become fewer. */
#include "verify/inner.h"

#include <string.h>

enum { NO_VALUE = 64 + 1 }; /* bits of a register that nothing has written so far */

typedef bf_verify_residue residue;

static residue modulo(uint64_t value, unsigned bits) {
  bits = bits < 64 ? bits : 64;
  return (residue){.bits = bits, .value = value & bf_gf2_low_bits(bits)};
}

static const residue any = {0, 0};

static unsigned fewer(unsigned a, unsigned b) { return a < b ? a : b; }

/* The largest power of two that surely divides a number with that residue, at most 2^64. */
static unsigned divisor_bits(residue x) {
  return x.value ? (unsigned)__builtin_ctzll(x.value) : x.bits;
}

static residue agreement(residue a, residue b) {
  if (a.bits == NO_VALUE)
    return b;
  if (b.bits == NO_VALUE)
    return a;
  unsigned bits = fewer(a.bits, b.bits);
  uint64_t apart = (a.value ^ b.value) & bf_gf2_low_bits(bits);
  return modulo(a.value, apart ? (unsigned)__builtin_ctzll(apart) : bits);
}

/* ---- What is read ---- */

static residue read_operand(const residue *all, const bf_ptx_operand *operand) {
  if (operand->minus || operand->negated || operand->selector || operand->component)
    return any;
  switch (operand->kind) {
  case BF_PTX_INTEGER:
    return modulo(operand->bits, 64);
  case BF_PTX_REGISTER:
    return operand->registers->vector ? any : all[bf_verify_number(operand)];
  case BF_PTX_SYMBOL:
    if (operand->generic || operand->mask || operand->symbol->kind != BF_PTX_SYMBOL_VARIABLE ||
        operand->symbol->variable->space != BF_PTX_SPACE_SHARED)
      return any;
    return modulo(
        (uint64_t)operand->offset,
        (unsigned)__builtin_popcountll(bf_verify_variable_zeros(operand->symbol->variable)));
  default:
    return any;
  }
}

/* ---- What is written ---- */

/* Bits of a type of whole numbers of 32 or 64 bits, 0 for others. */
static unsigned whole_bits(bf_ptx_type type) {
  const char *name = bf_ptx_type_name(type);
  unsigned bytes = bf_ptx_type_bytes(type);
  bool is_whole = strchr("bus", name[0]) && !strchr(name, 'x') && strncmp(name, "bf", 2);
  return is_whole && (bytes == 4 || bytes == 8) ? 8 * bytes : 0;
}

/* (a + 2^m i) (b + 2^n j) = a b + 2^m i b + 2^n j a + 2^(m + n) i j */
static residue product(residue a, residue b) {
  unsigned bits = fewer(a.bits + divisor_bits(b), b.bits + divisor_bits(a));
  return modulo(a.value * b.value, fewer(bits, a.bits + b.bits));
}

/* Bit by bit: a bit is known where both are, or where a 0 meets an AND. An OR is the AND of what is
 * turned over, turned over. */
static residue conjunction(residue a, residue b) {
  uint64_t known_a = bf_gf2_low_bits(a.bits), known_b = bf_gf2_low_bits(b.bits);
  uint64_t known = (known_a & known_b) | (known_a & ~a.value) | (known_b & ~b.value);
  return modulo(a.value & b.value, ~known ? (unsigned)__builtin_ctzll(~known) : 64);
}

static residue turned(residue a) { return modulo(~a.value, a.bits); }

static residue compute(const bf_ptx_instruction *instruction, const residue in[3]) {
  const residue a = in[0], b = in[1];
  unsigned both = fewer(a.bits, b.bits);
  switch (instruction->opcode) {
  case BF_PTX_OP_MOV:
  case BF_PTX_OP_CVT:
    return a;
  case BF_PTX_OP_ADD:
    return modulo(a.value + b.value, both);
  case BF_PTX_OP_SUB:
    return modulo(a.value - b.value, both);
  case BF_PTX_OP_XOR:
    return modulo(a.value ^ b.value, both);
  case BF_PTX_OP_AND:
    return conjunction(a, b);
  case BF_PTX_OP_OR:
    return turned(conjunction(turned(a), turned(b)));
  case BF_PTX_OP_MUL:
    return product(a, b);
  case BF_PTX_OP_MAD: {
    residue first = product(a, b);
    return modulo(first.value + in[2].value, fewer(first.bits, in[2].bits));
  }
  case BF_PTX_OP_SHL:
    return b.bits == 64 && b.value < 32 ? modulo(a.value << b.value, a.bits + (unsigned)b.value)
                                        : any;
  case BF_PTX_OP_SELP:
    return agreement(a, b);
  default:
    return any;
  }
}

/* What an instruction writes; NO_VALUE where it reads something that has none yet. */
static residue result_of(const residue *all, const bf_ptx_instruction *instruction) {
  unsigned width = 64;
  residue in[3] = {any, any, any};
  if (!instruction->types || bf_ptx_has(instruction, "sat") || bf_ptx_has(instruction, "hi"))
    return any;
  for (unsigned i = 0; i < instruction->types; i++)
    width = fewer(width, whole_bits(instruction->type[i]));
  if (!width)
    return any;
  for (unsigned i = 0; i < 3 && i + 1 < instruction->operands; i++) {
    in[i] = read_operand(all, &instruction->operand[i + 1]);
    if (in[i].bits == NO_VALUE)
      return in[i];
  }
  residue result = compute(instruction, in);
  return modulo(result.value, fewer(result.bits, width));
}

/* The residue of a sum of registers, where that says more. Those in it have a factor that is no 0,
 * or none is there. */
static residue of_sum(const residue *all, const bf_verify_linear *sum, residue otherwise) {
  residue total = modulo(sum->constant, 32);
  if (!sum->terms || otherwise.bits == NO_VALUE)
    return otherwise;
  for (unsigned i = 0; i < sum->terms; i++) {
    residue own = all[sum->term[i].number];
    if (own.bits == NO_VALUE)
      return own;
    own = product(own, modulo(sum->term[i].factor, 64));
    total = modulo(total.value + own.value, fewer(total.bits, own.bits));
  }
  return total.bits > otherwise.bits ? total : otherwise;
}

/* ---- All registers ---- */

/* Lets the registers of an operand that is written agree; true where one has fewer bits now. */
static bool settle(residue *all, const bf_ptx_operand *operand, residue written) {
  bool changed = false;
  if (operand->kind == BF_PTX_REGISTER) {
    residue *own = &all[bf_verify_number(operand)];
    residue now = agreement(*own, operand->component || operand->registers->vector ? any : written);
    changed = now.bits != own->bits;
    *own = now;
  } else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
             operand->kind == BF_PTX_ARGUMENTS) {
    for (unsigned i = 0; i < operand->count; i++)
      changed |= settle(all, &operand->item[i], any);
  }
  return changed;
}

/* Takes the values of registers that an operand writes away. */
static void start_written(const bf_ptx_operand *operand, residue *all) {
  if (operand->kind == BF_PTX_REGISTER)
    all[bf_verify_number(operand)].bits = NO_VALUE;
  else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
           operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; i < operand->count; i++)
      start_written(&operand->item[i], all);
}

static void start_parameters(const bf_ptx_variables *list, residue *all) {
  for (unsigned i = 0; i < list->count; i++) {
    const bf_ptx_registers *registers = list->item[i].registers;
    for (uint32_t k = 0; registers && k < registers->count; k++)
      all[registers->first + k] = any;
  }
}

/* What an instruction writes, by what it reads or as a sum. */
static residue written_by(const residue *all, const bf_verify_linear *sums,
                          const bf_ptx_instruction *instruction) {
  const bf_ptx_operand *to = &instruction->operand[0];
  residue result = result_of(all, instruction);
  if (to->kind != BF_PTX_REGISTER ||
      sums[bf_verify_number(to)].term[0].number == bf_verify_number(to))
    return result; /* or a register that stands for itself */
  return of_sum(all, &sums[bf_verify_number(to)], result);
}

residue *bf_verify_residues(const bf_ptx_function *function, bf_arena *arena) {
  residue *all = bf_arena_alloc(arena, (function->registers + 1) * sizeof *all);
  const bf_verify_linear *sums = bf_verify_linears(function, arena);
  bool changed = true;
  if (!all || !sums)
    return NULL;
  for (uint32_t i = 0; i < function->instructions; i++) /* others hold anything */
    if (function->instruction[i]->operands)
      start_written(&function->instruction[i]->operand[0], all);
  start_parameters(&function->parameters, all);
  start_parameters(&function->returns, all);
  while (changed) {
    changed = false;
    for (uint32_t i = 0; i < function->instructions; i++)
      if (function->instruction[i]->operands)
        changed |= settle(all, &function->instruction[i]->operand[0],
                          written_by(all, sums, function->instruction[i]));
  }
  for (uint32_t i = 0; i < function->registers; i++)
    if (all[i].bits == NO_VALUE)
      all[i] = any;
  return all;
}
