/* Loads, stores, atomics, copies, barrier objects in memory, and what addresses mean. All spaces
 * are reached through generic addresses. */
#include "ref.h"

#include <string.h>

uint64_t ref_generic(bf_ptx_space space, uint64_t address) {
  switch (space) {
  case BF_PTX_SPACE_SHARED:
    return address + REF_SHARED_WINDOW;
  case BF_PTX_SPACE_LOCAL:
  case BF_PTX_SPACE_PARAM:
    return address + REF_LOCAL_WINDOW;
  default:
    return address;
  }
}

uint64_t ref_address(ref_thread *thread, const bf_ptx_operand *operand, bf_ptx_space space) {
  const bf_ptx_operand *base = &operand->item[0];
  uint64_t address;
  if (base->kind == BF_PTX_SYMBOL) {
    address = ref_symbol_address(thread, base);
    if (space == BF_PTX_SPACE_NONE)
      address = ref_generic(base->symbol->variable->space, address);
  } else {
    address = (uint64_t)ref_get(thread, base, BF_PTX_U64);
  }
  address += (uint64_t)operand->offset;
  /* Offsets in 32-bit registers wrap there. */
  if (base->kind == BF_PTX_REGISTER && ref_register_bits(base) == 32)
    address &= 0xffffffff;
  return ref_generic(space, address);
}

/* Whether [address, address + bytes) lies in [start, start + size). */
static bool inside(uint64_t address, uint64_t bytes, uint64_t start, uint64_t size) {
  return address >= start && address - start <= size && bytes <= size - (address - start);
}

static uint64_t window_of(bf_ptx_space space) { return ref_generic(space, 0); }

static bool is_in_space(uint64_t address, bf_ptx_space space) {
  if (space == BF_PTX_SPACE_GLOBAL)
    return !inside(address, 0, REF_SHARED_WINDOW, REF_WINDOW_BYTES) &&
           !inside(address, 0, REF_LOCAL_WINDOW, REF_WINDOW_BYTES);
  return inside(address, 0, window_of(space), REF_WINDOW_BYTES);
}

uint8_t *ref_bytes(ref_thread *thread, uint64_t address, uint64_t bytes) {
  ref_machine *machine = thread->block->machine;
  if (bytes && address % bytes) {
    ref_fail(thread, "misaligned access of %llu bytes at 0x%llx", (unsigned long long)bytes,
             (unsigned long long)address);
    return NULL;
  }
  if (inside(address, bytes, REF_SHARED_WINDOW, machine->shared_bytes))
    return thread->block->shared + (address - REF_SHARED_WINDOW);
  if (inside(address, bytes, REF_LOCAL_WINDOW + REF_LOCAL_START, REF_STACK_BYTES - REF_LOCAL_START))
    return thread->stack + (address - REF_LOCAL_WINDOW);
  for (unsigned i = 0; i < machine->ranges; i++)
    if (inside(address, bytes, machine->range[i].address, machine->range[i].bytes))
      return (uint8_t *)(uintptr_t)address;
  ref_fail(thread, "access of %llu bytes at 0x%llx, where there is nothing",
           (unsigned long long)bytes, (unsigned long long)address);
  return NULL;
}

static ref_bits load(const uint8_t *place, unsigned bytes) {
  ref_bits value = 0;
  memcpy(&value, place, bytes);
  return value;
}

/* ---- ld and st ---- */

/* Narrow values fill wider registers by their sign. */
static ref_bits widen(ref_bits value, bf_ptx_type type, const bf_ptx_operand *to) {
  return ref_low((ref_bits)ref_number(value, type), ref_register_bits(to));
}

static bool execute_load(ref_thread *thread, const ref_op *op) {
  const bf_ptx_operand *to = &op->in->operand[0];
  unsigned bytes = bf_ptx_type_bytes(op->type), count = op->in->vector;
  uint64_t address = ref_address(thread, &op->in->operand[1], op->space);
  const uint8_t *place = ref_bytes(thread, address, (uint64_t)bytes * count);
  ref_bits value[8];
  if (!place)
    return false;
  for (unsigned i = 0; i < count; i++)
    value[i] = load(place + i * bytes, bytes);
  for (unsigned i = 0; i < count; i++) {
    const bf_ptx_operand *item = to->kind == BF_PTX_VECTOR ? &to->item[i] : to;
    ref_set(thread, item, widen(value[i], op->type, item));
  }
  return true;
}

static bool execute_store(ref_thread *thread, const ref_op *op) {
  const bf_ptx_operand *from = &op->in->operand[1];
  unsigned bytes = bf_ptx_type_bytes(op->type), count = op->in->vector;
  uint64_t address = ref_address(thread, &op->in->operand[0], op->space);
  uint8_t *place = ref_bytes(thread, address, (uint64_t)bytes * count);
  if (!place)
    return false;
  for (unsigned i = 0; i < count; i++) {
    ref_bits value = ref_get(thread, from->kind == BF_PTX_VECTOR ? &from->item[i] : from, op->type);
    memcpy(place + i * bytes, &value, bytes);
  }
  return true;
}

/* ---- atom and red ---- */

/* What is left in memory that held old. */
static ref_bits combine(const ref_op *op, bf_ptx_type type, ref_bits old, ref_bits b, ref_bits c,
                        bool flush) {
  ref_signed x = ref_number(old, type), y = ref_number(b, type);
  if (HAS(op, cas))
    return old == b ? c : old;
  if (HAS(op, exch))
    return b;
  if (HAS(op, add) && flush)
    return ref_float_flush(type, ref_float_add(type, ref_float_flush(type, (uint64_t)old),
                                               ref_float_flush(type, (uint64_t)b)));
  if (HAS(op, add) && ref_type_is_float(type))
    return ref_float_add(type, (uint64_t)old, (uint64_t)b);
  if (HAS(op, add))
    return old + b;
  if (HAS(op, min))
    return (ref_bits)(x < y ? x : y);
  if (HAS(op, max))
    return (ref_bits)(x > y ? x : y);
  if (HAS(op, inc))
    return x >= y ? 0 : old + 1;
  if (HAS(op, dec))
    return x == 0 || x > y ? b : old - 1;
  if (HAS(op, and))
    return old & b;
  return HAS(op, or) ? old | b : old ^ b;
}

/* Atomics of packed types are one for each half; those of binary32 in global memory flush. */
static ref_bits combine_parts(const ref_op *op, ref_bits old, ref_bits b, ref_bits c,
                              bool is_global) {
  bf_ptx_type part = ref_type_scalar(op->type);
  unsigned bits = ref_type_bits(part);
  if (part == op->type)
    return combine(op, part, old, b, c, is_global && part == BF_PTX_F32);
  return ref_low(combine(op, part, ref_low(old, bits), ref_low(b, bits), 0, false), bits) |
         combine(op, part, old >> bits, b >> bits, 0, false) << bits;
}

static bool execute_atomic(ref_thread *thread, const ref_op *op) {
  bool returns = op->opcode == BF_PTX_OP_ATOM;
  const bf_ptx_operand *operand = op->in->operand + returns;
  unsigned bytes = bf_ptx_type_bytes(op->type), count = op->in->vector;
  uint64_t address = ref_address(thread, &operand[0], op->space);
  uint8_t *place = ref_bytes(thread, address, (uint64_t)bytes * count);
  bool is_global = is_in_space(address, BF_PTX_SPACE_GLOBAL);
  ref_bits old[8];
  if (!place)
    return false;
  for (unsigned i = 0; i < count; i++) {
    bool vector = operand[1].kind == BF_PTX_VECTOR;
    ref_bits b = ref_get(thread, vector ? &operand[1].item[i] : &operand[1], op->type), c = 0;
    if (HAS(op, cas))
      c = ref_get(thread, &operand[2], op->type);
    old[i] = load(place + i * bytes, bytes);
    ref_bits value = combine_parts(op, old[i], ref_low(b, 8 * bytes), c, is_global);
    memcpy(place + i * bytes, &value, bytes);
  }
  for (unsigned i = 0; returns && i < count; i++) {
    const bf_ptx_operand *to = &op->in->operand[0];
    ref_set(thread, to->kind == BF_PTX_VECTOR ? &to->item[i] : to, old[i]);
  }
  return true;
}

/* ---- mbarrier: bits 0 to 31 the expected count, 32 to 62 what is still to come, 63 the phase ----
 */

/* One arrival less to come; the last one starts the next phase. */
static void arrive(uint64_t *state) {
  uint64_t phase = *state >> 63, pending = *state >> 32 & 0x7fffffff,
           expected = *state & 0xffffffff;
  if (--pending == 0) {
    pending = expected;
    phase ^= 1;
  }
  *state = phase << 63 | pending << 32 | expected;
}

static bool execute_mbarrier(ref_thread *thread, const ref_op *op) {
  const bf_ptx_operand *operand = op->in->operand;
  bool returns = operand[0].kind != BF_PTX_ADDRESS;
  uint64_t *state =
      (uint64_t *)ref_bytes(thread, ref_address(thread, &operand[returns], BF_PTX_SPACE_SHARED), 8);
  if (!state)
    return false;
  if (HAS(op, init)) {
    uint64_t count = (uint64_t)ref_get(thread, &operand[1], BF_PTX_U32);
    *state = count << 32 | count;
  } else if (HAS(op, arrive)) {
    uint64_t before = *state;
    arrive(state);
    if (returns)
      ref_set(thread, &operand[0], before);
  } else if (HAS(op, test_wait) || HAS(op, try_wait)) {
    uint64_t given =
        (uint64_t)ref_get(thread, &operand[2], HAS(op, parity) ? BF_PTX_U32 : BF_PTX_U64);
    uint64_t phase = HAS(op, parity) ? given & 1 : given >> 63;
    ref_set(thread, &operand[0], *state >> 63 != phase);
  } else if (!HAS(op, inval)) {
    return ref_fail(thread, "unknown mbarrier operation");
  }
  return true;
}

/* ---- cp.async: done at once ---- */

static bool execute_copy(ref_thread *thread, const ref_op *op) {
  uint8_t buffer[16] = {0};
  if (HAS(op, mbarrier)) {
    uint64_t *state =
        (uint64_t *)ref_bytes(thread, ref_address(thread, &op->in->operand[0], op->space), 8);
    if (!state || !HAS(op, noinc))
      return state && ref_fail(thread, "cp.async.mbarrier.arrive without .noinc");
    arrive(state);
    return true;
  }
  if (op->operands < 3) /* groups */
    return true;
  uint64_t size = (uint64_t)ref_get(thread, &op->in->operand[2], BF_PTX_U32), read = size;
  if (op->operands > 3)
    read = (uint64_t)ref_low(ref_get(thread, &op->in->operand[3], BF_PTX_U32), 32);
  if (read > size)
    return ref_fail(thread, "cp.async reads more than it writes");
  uint8_t *to =
      ref_bytes(thread, ref_address(thread, &op->in->operand[0], BF_PTX_SPACE_SHARED), size);
  const uint8_t *from =
      ref_bytes(thread, ref_address(thread, &op->in->operand[1], BF_PTX_SPACE_GLOBAL), size);
  if (!to || !from)
    return false;
  memcpy(buffer, from, read);
  memcpy(to, buffer, size);
  return true;
}

/* ---- All of them ---- */

bool ref_memory_step(ref_thread *thread, const ref_op *op) {
  const bf_ptx_operand *operand = op->in->operand;
  uint64_t value;
  switch (op->opcode) {
  case BF_PTX_OP_LD:
  case BF_PTX_OP_LDU:
    return execute_load(thread, op);
  case BF_PTX_OP_ST:
    return execute_store(thread, op);
  case BF_PTX_OP_ATOM:
  case BF_PTX_OP_RED:
    return execute_atomic(thread, op);
  case BF_PTX_OP_CP:
    return execute_copy(thread, op);
  case BF_PTX_OP_MBARRIER:
    return execute_mbarrier(thread, op);
  case BF_PTX_OP_CVTA:
    value = (uint64_t)ref_get(thread, &operand[1], op->type);
    value = HAS(op, to) ? value - window_of(op->space) : value + window_of(op->space);
    ref_set(thread, &operand[0], value);
    return true;
  default: /* isspacep */
    value = (uint64_t)ref_get(thread, &operand[1], BF_PTX_U64);
    ref_set(thread, &operand[0], is_in_space(value, op->space));
    return true;
  }
}
