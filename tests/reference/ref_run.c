/* Threads: operands, calls, branches, and the instructions that only compute; blocks and launches.
 */
#include "ref.h"

#include <stdlib.h>
#include <string.h>

/* Steps of a thread before the others of its block get a turn; and of a launch altogether. */
enum { TURN_STEPS = 4000, MOST_TURNS = 100000 };

bool ref_fail(ref_thread *thread, const char *format, ...) {
  ref_machine *machine = thread->block->machine;
  if (machine->failed)
    return false;
  machine->failed = true;
  int used = 0;
  if (thread->calls > 0) {
    const ref_frame *frame = &thread->frame[thread->calls - 1];
    uint32_t at = frame->next > 0 ? frame->next - 1 : 0;
    used = snprintf(machine->message, REF_MESSAGE_BYTES,
                    "line %llu, thread %u: ", (unsigned long long)frame->function->op[at].in->line,
                    thread->index[0]);
  }
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(machine->message + used, REF_MESSAGE_BYTES - (size_t)used, format, arguments);
  va_end(arguments);
  return false;
}

/* ---- Operands ---- */

static ref_frame *frame_of(ref_thread *thread) { return &thread->frame[thread->calls - 1]; }

unsigned ref_register_bits(const bf_ptx_operand *operand) {
  return operand->kind == BF_PTX_REGISTER ? ref_type_bits(operand->registers->type) : 0;
}

static ref_bits *register_of(ref_thread *thread, const bf_ptx_operand *operand) {
  return &frame_of(thread)->registers[operand->registers->first + operand->index];
}

void ref_set(ref_thread *thread, const bf_ptx_operand *operand, ref_bits value) {
  if (operand->kind == BF_PTX_REGISTER)
    *register_of(thread, operand) = ref_low(value, ref_register_bits(operand));
}

/* The address of a variable that list holds; false: not there. */
static bool find_variable(const ref_variable *list, unsigned count, const bf_ptx_variable *variable,
                          uint64_t *address) {
  for (unsigned i = 0; i < count; i++)
    if (list[i].variable == variable) {
      *address = list[i].address;
      return true;
    }
  return false;
}

uint64_t ref_symbol_address(ref_thread *thread, const bf_ptx_operand *operand) {
  const bf_ptx_symbol *symbol = operand->symbol;
  const ref_frame *frame = frame_of(thread);
  ref_machine *machine = thread->block->machine;
  uint64_t address = 0;
  if (symbol->kind == BF_PTX_SYMBOL_FUNCTION)
    return (uint64_t)(uintptr_t)symbol->function;
  if (symbol->kind != BF_PTX_SYMBOL_VARIABLE)
    return ref_fail(thread, "'%s' has no address", symbol->name);
  if (find_variable(frame->function->local, frame->function->locals, symbol->variable, &address))
    return frame->base + address + (uint64_t)operand->offset;
  if (!find_variable(machine->variable, machine->variables, symbol->variable, &address))
    return ref_fail(thread, "variable '%s' is nowhere", symbol->name);
  return address + (uint64_t)operand->offset;
}

static unsigned component(const bf_ptx_operand *operand) {
  return operand->component == 'y' ? 1 : operand->component == 'z' ? 2 : 0;
}

static ref_bits special_value(ref_thread *thread, const bf_ptx_operand *operand) {
  const ref_launch *launch = thread->block->machine->launch;
  uint32_t own = UINT32_C(1) << thread->lane;
  switch (operand->special) {
  case BF_PTX_SPECIAL_TID:
    return thread->index[component(operand)];
  case BF_PTX_SPECIAL_NTID:
    return launch->block[component(operand)];
  case BF_PTX_SPECIAL_CTAID:
    return thread->block->index[component(operand)];
  case BF_PTX_SPECIAL_NCTAID:
    return launch->grid[component(operand)];
  case BF_PTX_SPECIAL_LANEID:
    return thread->lane;
  case BF_PTX_SPECIAL_WARPID:
    return thread->warp;
  case BF_PTX_SPECIAL_LANEMASK_EQ:
    return own;
  case BF_PTX_SPECIAL_LANEMASK_LT:
    return own - 1;
  case BF_PTX_SPECIAL_LANEMASK_LE:
    return own | (own - 1);
  case BF_PTX_SPECIAL_LANEMASK_GT:
    return (uint32_t) ~(own | (own - 1));
  case BF_PTX_SPECIAL_LANEMASK_GE:
    return (uint32_t) ~(own - 1);
  case BF_PTX_SPECIAL_DYNAMIC_SMEM_SIZE:
    return launch->dynamic_shared_bytes;
  case BF_PTX_SPECIAL_CLUSTER_NCTARANK:
    return 1;
  default:
    return ref_fail(thread, "special register that is not known here");
  }
}

/* A constant of binary64 in the type that the instruction works on. */
static ref_bits float_constant(bf_ptx_type type, uint64_t bits) {
  type = ref_type_scalar(type);
  if (!ref_type_is_float(type) || type == BF_PTX_F64)
    return bits;
  return ref_float_encode(type, ref_float_decode(BF_PTX_F64, bits), REF_RN);
}

ref_bits ref_get(ref_thread *thread, const bf_ptx_operand *operand, bf_ptx_type type) {
  ref_bits value;
  switch (operand->kind) {
  case BF_PTX_REGISTER:
    value = *register_of(thread, operand);
    return operand->negated ? !value : value;
  case BF_PTX_INTEGER:
  case BF_PTX_FLOAT32:
    return operand->bits;
  case BF_PTX_FLOAT64:
  case BF_PTX_DECIMAL:
    return float_constant(type, operand->bits);
  case BF_PTX_SPECIAL:
    return special_value(thread, operand);
  case BF_PTX_SYMBOL:
    return ref_symbol_address(thread, operand);
  default:
    return ref_fail(thread, "operand that is not known here");
  }
}

/* ---- Calls ---- */

static const ref_function *find_function(const ref_machine *machine,
                                         const bf_ptx_function *function) {
  for (unsigned i = 0; i < machine->functions; i++)
    if (machine->function[i].function == function)
      return &machine->function[i];
  return NULL;
}

/* A new frame on top of the stack. */
static bool push_frame(ref_thread *thread, const ref_function *function,
                       const bf_ptx_instruction *call) {
  uint64_t base = thread->calls ? frame_of(thread)->top : REF_LOCAL_START;
  base = (base + 15) / 16 * 16;
  if (thread->calls == REF_MOST_CALLS || base + function->frame_bytes > REF_STACK_BYTES)
    return ref_fail(thread, "stack overflow");
  ref_bits *registers = calloc(function->function->registers + 1, sizeof *registers);
  if (!registers)
    return ref_fail(thread, "no memory");
  thread->frame[thread->calls++] =
      (ref_frame){function, 0, base, base + function->frame_bytes, registers, call};
  memset(thread->stack + base, 0, function->frame_bytes);
  return true;
}

static void pop_frame(ref_thread *thread) { free(thread->frame[--thread->calls].registers); }

static uint8_t *variable_bytes(ref_thread *thread, const ref_frame *frame,
                               const bf_ptx_variable *variable) {
  uint64_t address = 0;
  find_variable(frame->function->local, frame->function->locals, variable, &address);
  return thread->stack + frame->base + address;
}

/* Copies between an argument of a call and the callee's parameter: inward before it, outward after.
 */
static bool pass(ref_thread *thread, ref_frame *caller, ref_frame *callee,
                 const bf_ptx_operand *argument, const bf_ptx_variable *parameter, bool inward) {
  ref_bits *in_register =
      parameter->registers ? &callee->registers[parameter->registers->first] : NULL;
  if (argument->kind == BF_PTX_SYMBOL && argument->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
      !in_register) {
    uint8_t *outer = variable_bytes(thread, caller, argument->symbol->variable);
    uint8_t *inner = variable_bytes(thread, callee, parameter);
    memcpy(inward ? inner : outer, inward ? outer : inner, parameter->bytes);
    return true;
  }
  if (!in_register)
    return ref_fail(thread, "argument that is not known here");
  unsigned calls = thread->calls;
  thread->calls = (unsigned)(caller - thread->frame) + 1;
  if (inward)
    *in_register =
        ref_low(ref_get(thread, argument, parameter->type), ref_type_bits(parameter->type));
  else
    ref_set(thread, argument, *in_register);
  thread->calls = calls;
  return true;
}

/* The lists of results and arguments of a call, and what it calls. */
static void parts_of_call(const bf_ptx_instruction *call, const bf_ptx_operand **results,
                          const bf_ptx_operand **callee, const bf_ptx_operand **arguments) {
  unsigned i = 0;
  *results = *arguments = NULL;
  if (call->operand[0].kind == BF_PTX_ARGUMENTS)
    *results = &call->operand[i++];
  *callee = &call->operand[i++];
  if (i < call->operands)
    *arguments = &call->operand[i];
}

static bool execute_call(ref_thread *thread, const ref_op *op) {
  const bf_ptx_operand *results, *callee, *arguments;
  parts_of_call(op->in, &results, &callee, &arguments);
  const bf_ptx_function *wanted =
      callee->kind == BF_PTX_SYMBOL
          ? callee->symbol->function
          : (const bf_ptx_function *)(uintptr_t)ref_get(thread, callee, BF_PTX_U64);
  const ref_function *function = find_function(thread->block->machine, wanted);
  if (!function)
    return ref_fail(thread, "call of what is no function here");
  ref_frame *caller = frame_of(thread);
  if (!push_frame(thread, function, op->in))
    return false;
  for (unsigned i = 0; arguments && i < arguments->count; i++)
    if (!pass(thread, caller, frame_of(thread), &arguments->item[i],
              &function->function->parameters.item[i], true))
      return false;
  return true;
}

/* ret: results go to the caller; from the kernel itself the thread ends. */
static bool execute_return(ref_thread *thread) {
  ref_frame *frame = frame_of(thread);
  const bf_ptx_operand *results, *callee, *arguments;
  if (thread->calls == 1) {
    thread->state = REF_ENDED;
    return true;
  }
  parts_of_call(frame->call, &results, &callee, &arguments);
  for (unsigned i = 0; results && i < results->count; i++)
    if (!pass(thread, frame - 1, frame, &results->item[i],
              &frame->function->function->returns.item[i], false))
      return false;
  pop_frame(thread);
  return true;
}

/* ---- Instructions ---- */

/* Packs, unpacks or copies. */
static bool execute_move(ref_thread *thread, const ref_op *op) {
  const bf_ptx_operand *to = &op->in->operand[0], *from = &op->in->operand[1];
  unsigned bits = ref_type_bits(op->type);
  ref_bits value = 0;
  if (from->kind == BF_PTX_VECTOR) {
    unsigned part = bits / from->count;
    for (unsigned i = 0; i < from->count; i++)
      value |= ref_low(ref_get(thread, &from->item[i], op->type), part) << i * part;
  } else {
    value = ref_get(thread, from, op->type);
  }
  if (to->kind == BF_PTX_VECTOR)
    for (unsigned i = 0; i < to->count; i++)
      ref_set(thread, &to->item[i], value >> i * (bits / to->count));
  else
    ref_set(thread, to, value);
  return true;
}

/* setp and set: a comparison, alone or combined with predicate c. */
static bool combined(ref_thread *thread, const ref_op *op, bool holds) {
  if (op->operands < 4)
    return holds;
  bool c = ref_get(thread, &op->in->operand[3], BF_PTX_PRED) & 1;
  return HAS(op, and) ? holds && c : HAS(op, or) ? holds || c : holds != c;
}

static void execute_setp(ref_thread *thread, const ref_op *op) {
  const bf_ptx_operand *to = &op->in->operand[0];
  bf_ptx_type part = ref_type_scalar(op->type);
  unsigned bits = ref_type_bits(part);
  ref_bits a = ref_get(thread, &op->in->operand[1], op->type);
  ref_bits b = ref_get(thread, &op->in->operand[2], op->type);
  bool first = ref_compare(op, part, ref_low(a, bits), ref_low(b, bits));
  /* The second predicate is that of the upper half, or that of the opposite comparison. */
  bool second = part != op->type ? ref_compare(op, part, a >> bits, b >> bits) : !first;
  first = combined(thread, op, first);
  second = combined(thread, op, second);
  if (to->kind == BF_PTX_PAIR) {
    ref_set(thread, &to->item[0], first);
    ref_set(thread, &to->item[1], second);
  } else {
    ref_set(thread, to, first);
  }
}

/* What set gives where the comparison holds: 1.0, or all bits. */
static ref_bits truth(bf_ptx_type type) {
  return type == BF_PTX_F32    ? 0x3f800000
         : type == BF_PTX_F16  ? 0x3c00
         : type == BF_PTX_BF16 ? 0x3f80
                               : ref_low(~(ref_bits)0, ref_type_bits(type));
}

static void execute_set(ref_thread *thread, const ref_op *op) {
  bf_ptx_type to = op->first_type, part = ref_type_scalar(op->type);
  unsigned bits = ref_type_bits(part);
  ref_bits a = ref_get(thread, &op->in->operand[1], op->type), result = 0;
  ref_bits b = ref_get(thread, &op->in->operand[2], op->type);
  if (part == op->type) {
    if (combined(thread, op, ref_compare(op, part, a, b)))
      result = truth(to);
  } else {
    bf_ptx_type half = ref_type_scalar(to) == to ? BF_PTX_B16 : ref_type_scalar(to);
    for (unsigned i = 0; i < 2; i++)
      if (combined(
              thread, op,
              ref_compare(op, part, ref_low(a >> i * bits, bits), ref_low(b >> i * bits, bits))))
        result |= truth(half) << i * bits;
  }
  ref_set(thread, &op->in->operand[0], result);
}

/* slct: c >= 0 ? a : b; NaN is not. */
static void execute_slct(ref_thread *thread, const ref_op *op) {
  ref_bits c = ref_get(thread, &op->in->operand[3], op->type);
  bool chosen;
  if (op->type == BF_PTX_F32) {
    uint64_t bits = HAS(op, ftz) ? ref_float_flush(BF_PTX_F32, (uint64_t)c) : (uint64_t)c;
    chosen = ref_float_double(BF_PTX_F32, bits) >= 0;
  } else {
    chosen = ref_number(c, op->type) >= 0;
  }
  ref_set(thread, &op->in->operand[0],
          ref_get(thread, &op->in->operand[chosen ? 1 : 2], op->first_type));
}

static bool test(const ref_op *op, uint64_t bits) {
  ref_exact value = ref_float_decode(op->type, bits);
  bool subnormal = ref_float_is_subnormal(op->type, bits);
  return HAS(op, finite)       ? value.class == REF_ZERO || value.class == REF_FINITE
         : HAS(op, infinite)   ? value.class == REF_INFINITE
         : HAS(op, number)     ? value.class != REF_NAN
         : HAS(op, notanumber) ? value.class == REF_NAN
         : HAS(op, normal) ? value.class == REF_ZERO || (value.class == REF_FINITE && !subnormal)
                           : subnormal;
}

/* Arithmetic on one number, or on both halves of a packed register. */
static ref_bits compute_float(const ref_op *op, ref_bits a, ref_bits b, ref_bits c) {
  bf_ptx_type part = ref_type_scalar(op->type);
  unsigned bits = ref_type_bits(part);
  ref_bits result = 0;
  for (unsigned i = 0; i < ref_type_bits(op->type); i += bits)
    result |= (ref_bits)ref_float_compute(op, part, (uint64_t)ref_low(a >> i, bits),
                                          (uint64_t)ref_low(b >> i, bits),
                                          (uint64_t)ref_low(c >> i, bits))
              << i;
  return result;
}

/* The types of operands differ from op->type in a few instructions. */
static bf_ptx_type operand_type(const ref_op *op, unsigned index) {
  switch (op->opcode) {
  case BF_PTX_OP_SHL:
  case BF_PTX_OP_SHR:
  case BF_PTX_OP_BFE:
    return index > 1 ? BF_PTX_U32 : op->type;
  default:
    return op->type;
  }
}

static void execute_compute(ref_thread *thread, const ref_op *op) {
  const bf_ptx_operand *operand = op->in->operand;
  ref_bits value[6] = {0}, result;
  for (unsigned i = 1; i < op->operands && i < 6; i++)
    value[i] = ref_get(thread, &operand[i], operand_type(op, i));
  if (op->opcode >= BF_PTX_OP_VABSDIFF && op->opcode <= BF_PTX_OP_VSUB4 &&
      op->opcode != BF_PTX_OP_VOTE)
    result = ref_video_compute(op, value[1], value[2], value[3]);
  else if (ref_type_is_float(op->type))
    result = compute_float(op, value[1], value[2], value[3]);
  else
    result = ref_integer_compute(op, value[1], value[2], value[3], value[4], &thread->carry);
  if (operand[0].kind != BF_PTX_PAIR) {
    ref_set(thread, &operand[0], result);
    return;
  }
  /* lop3 with a predicate: whether any bit is set, combined with the last operand. */
  bool any = ref_low(result, 32) != 0, c = value[5] & 1;
  ref_set(thread, &operand[0].item[0], result);
  ref_set(thread, &operand[0].item[1], HAS(op, and) ? any && c : any || c);
}

static bool execute_branch(ref_thread *thread, const ref_op *op) {
  const bf_ptx_operand *target = &op->in->operand[0];
  if (op->opcode == BF_PTX_OP_BRX) {
    const bf_ptx_targets *targets = op->in->operand[1].symbol->targets;
    uint64_t index = (uint64_t)ref_get(thread, target, BF_PTX_U32);
    if (index >= targets->count)
      return ref_fail(thread, "brx.idx past its table");
    target = &targets->item[index];
  }
  frame_of(thread)->next = target->symbol->instruction;
  return true;
}

/* alloca takes from the top of the frame; stacksave and stackrestore name the top. */
static bool execute_stack(ref_thread *thread, const ref_op *op) {
  ref_frame *frame = frame_of(thread);
  const bf_ptx_operand *operand = op->in->operand;
  if (op->opcode == BF_PTX_OP_STACKRESTORE) {
    frame->top = (uint64_t)ref_get(thread, &operand[0], BF_PTX_U64);
  } else if (op->opcode == BF_PTX_OP_STACKSAVE) {
    ref_set(thread, &operand[0], frame->top);
  } else {
    uint64_t bytes = (uint64_t)ref_get(thread, &operand[1], BF_PTX_U64);
    uint64_t start = (frame->top + 15) / 16 * 16;
    if (bytes > REF_STACK_BYTES || start + bytes > REF_STACK_BYTES)
      return ref_fail(thread, "stack overflow");
    frame->top = start + bytes;
    ref_set(thread, &operand[0], start);
  }
  return true;
}

static bool execute(ref_thread *thread, const ref_op *op) {
  const bf_ptx_operand *operand = op->in->operand;
  switch (op->opcode) {
  case BF_PTX_OP_MOV:
    return execute_move(thread, op);
  case BF_PTX_OP_LD:
  case BF_PTX_OP_LDU:
  case BF_PTX_OP_ST:
  case BF_PTX_OP_ATOM:
  case BF_PTX_OP_RED:
  case BF_PTX_OP_CP:
  case BF_PTX_OP_MBARRIER:
  case BF_PTX_OP_CVTA:
  case BF_PTX_OP_ISSPACEP:
    return ref_memory_step(thread, op);
  case BF_PTX_OP_SETP:
    execute_setp(thread, op);
    return true;
  case BF_PTX_OP_SET:
    execute_set(thread, op);
    return true;
  case BF_PTX_OP_SELP: {
    bool chosen = ref_get(thread, &operand[3], BF_PTX_PRED) & 1;
    ref_set(thread, &operand[0], ref_get(thread, &operand[chosen ? 1 : 2], op->type));
    return true;
  }
  case BF_PTX_OP_SLCT:
    execute_slct(thread, op);
    return true;
  case BF_PTX_OP_TESTP:
    ref_set(thread, &operand[0], test(op, (uint64_t)ref_get(thread, &operand[1], op->type)));
    return true;
  case BF_PTX_OP_CVT: {
    ref_bits value[4] = {0};
    for (unsigned i = 1; i < op->operands && i < 4; i++)
      value[i] = ref_get(thread, &operand[i], op->type);
    ref_set(thread, &operand[0],
            ref_convert(op, value[1], value[2], value[3], ref_register_bits(&operand[0])));
    return true;
  }
  case BF_PTX_OP_BRA:
  case BF_PTX_OP_BRX:
    return execute_branch(thread, op);
  case BF_PTX_OP_CALL:
    return execute_call(thread, op);
  case BF_PTX_OP_RET:
    return execute_return(thread);
  case BF_PTX_OP_EXIT:
    thread->state = REF_ENDED;
    return true;
  case BF_PTX_OP_ALLOCA:
  case BF_PTX_OP_STACKSAVE:
  case BF_PTX_OP_STACKRESTORE:
    return execute_stack(thread, op);
  case BF_PTX_OP_MAPA: /* a block is its own cluster */
    ref_set(thread, &operand[0], ref_get(thread, &operand[1], op->type));
    return true;
  case BF_PTX_OP_GETCTARANK:
    ref_set(thread, &operand[0], 0);
    return true;
  case BF_PTX_OP_MEMBAR: /* what changes no value here */
  case BF_PTX_OP_FENCE:
  case BF_PTX_OP_PREFETCH:
  case BF_PTX_OP_PREFETCHU:
  case BF_PTX_OP_APPLYPRIORITY:
  case BF_PTX_OP_CREATEPOLICY:
  case BF_PTX_OP_NANOSLEEP:
  case BF_PTX_OP_PMEVENT:
  case BF_PTX_OP_GRIDDEPCONTROL:
  case BF_PTX_OP_BAR:
  case BF_PTX_OP_BARRIER: /* of a cluster of one */
    return true;
  case BF_PTX_OP_TRAP:
    return ref_fail(thread, "trap");
  case BF_PTX_OP_TEX:
  case BF_PTX_OP_WGMMA:
  case BF_PTX_OP_TCGEN05:
  case BF_PTX_OP_MULTIMEM:
    return ref_fail(thread, "instruction that is not known here");
  default:
    execute_compute(thread, op);
    return true;
  }
}

/* Executes one instruction, or starts to wait at it. */
static bool step(ref_thread *thread) {
  ref_frame *frame = frame_of(thread);
  if (frame->next >= frame->function->function->instructions)
    return execute_return(thread);
  const ref_op *op = &frame->function->op[frame->next++];
  const bf_ptx_operand *guard = op->in->guard;
  if (guard && !(ref_get(thread, guard, BF_PTX_PRED) & 1))
    return true;
  if (ref_meets(op))
    ref_meet_start(thread, op);
  else
    execute(thread, op);
  return !thread->block->machine->failed;
}

/* ---- Blocks ---- */

static bool start_thread(ref_thread *thread, const ref_function *kernel) {
  const ref_launch *launch = thread->block->machine->launch;
  const bf_ptx_variables *parameters = &kernel->function->parameters;
  uint64_t offset = 0;
  if (!push_frame(thread, kernel, NULL))
    return false;
  for (unsigned i = 0; i < parameters->count; i++) {
    const bf_ptx_variable *parameter = &parameters->item[i];
    uint64_t alignment = parameter->alignment_bytes ? parameter->alignment_bytes
                                                    : bf_ptx_type_bytes(parameter->type);
    offset = (offset + alignment - 1) / alignment * alignment;
    if (offset + parameter->bytes > launch->parameter_bytes)
      return ref_fail(thread, "too few parameters");
    memcpy(variable_bytes(thread, frame_of(thread), parameter),
           (const uint8_t *)launch->parameters + offset, parameter->bytes);
    offset += parameter->bytes;
  }
  return true;
}

/* Runs every thread until it waits or ends, or its turn is over; whether any did something. */
static bool run_threads(ref_block *block) {
  bool moved = false;
  for (unsigned i = 0; i < block->threads; i++) {
    ref_thread *thread = &block->thread[i];
    for (unsigned n = 0; n < TURN_STEPS && thread->state == REF_RUNNING; n++) {
      moved = true;
      if (!step(thread))
        return false;
    }
  }
  return moved;
}

static bool all_ended(const ref_block *block) {
  for (unsigned i = 0; i < block->threads; i++)
    if (block->thread[i].state != REF_ENDED)
      return false;
  return true;
}

static void run_block(ref_block *block) {
  for (unsigned turn = 0; !block->machine->failed && !all_ended(block); turn++) {
    if (turn == MOST_TURNS) {
      ref_fail(&block->thread[0], "no end in sight");
      return;
    }
    if (!run_threads(block) && !block->machine->failed && !ref_meet_serve(block)) {
      ref_fail(&block->thread[0], "threads wait for each other");
      return;
    }
  }
}

static void free_block(ref_block *block) {
  for (unsigned i = 0; block->thread && i < block->threads; i++) {
    while (block->thread[i].calls)
      pop_frame(&block->thread[i]);
  }
  free(block->stacks);
  free(block->thread);
  free(block->shared);
}

static bool start_block(ref_block *block, const ref_function *kernel) {
  const uint32_t *size = block->machine->launch->block;
  block->threads = size[0] * size[1] * size[2];
  block->thread = calloc(block->threads, sizeof *block->thread);
  block->shared = calloc(1, block->machine->shared_bytes + 1);
  block->stacks = calloc(block->threads, REF_STACK_BYTES);
  if (!block->thread || !block->shared || !block->stacks) {
    block->machine->failed = true;
    return false;
  }
  for (unsigned i = 0; i < block->threads; i++) {
    ref_thread *thread = &block->thread[i];
    *thread = (ref_thread){.block = block,
                           .index = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]},
                           .lane = i % REF_WARP,
                           .warp = i / REF_WARP,
                           .stack = block->stacks + (size_t)i * REF_STACK_BYTES};
    if (!start_thread(thread, kernel))
      return false;
  }
  return true;
}

/* ---- Modules ---- */

/* Adds a variable to a list that has room for it, at *size; *size grows. */
static void place(ref_variable *list, unsigned *count, const bf_ptx_variable *variable,
                  uint64_t *size) {
  uint64_t alignment =
      variable->alignment_bytes ? variable->alignment_bytes : bf_ptx_type_bytes(variable->type);
  alignment = alignment ? alignment : 1;
  *size = (*size + alignment - 1) / alignment * alignment;
  list[(*count)++] = (ref_variable){variable, *size};
  *size += variable->bytes;
}

/* Bytes of an initialiser of numbers, item by item. */
static void initialise(uint8_t *bytes, const bf_ptx_variable *variable, const bf_ptx_operand *value,
                       uint64_t *offset) {
  unsigned width = bf_ptx_type_bytes(variable->type);
  if (value->kind == BF_PTX_VECTOR) {
    for (unsigned i = 0; i < value->count; i++)
      initialise(bytes, variable, &value->item[i], offset);
    return;
  }
  if (*offset + width <= variable->bytes) {
    ref_bits bits =
        value->kind == BF_PTX_DECIMAL ? float_constant(variable->type, value->bits) : value->bits;
    memcpy(bytes + *offset, &bits, width);
  }
  *offset += width;
}

/* Memory for a variable of the module or of a function. */
static bool place_variable(ref_machine *machine, ref_function *function,
                           const bf_ptx_variable *variable) {
  uint64_t offset = 0;
  uint8_t *bytes;
  switch (variable->space) {
  case BF_PTX_SPACE_LOCAL:
  case BF_PTX_SPACE_PARAM:
    if (function)
      place(function->local, &function->locals, variable, &function->frame_bytes);
    return function != NULL;
  case BF_PTX_SPACE_SHARED:
    place(machine->variable, &machine->variables, variable, &machine->shared_bytes);
    return true;
  default:
    bytes = bf_arena_alloc(&machine->arena, variable->bytes + 1);
    if (!bytes)
      return false;
    if (variable->initialiser)
      initialise(bytes, variable, variable->initialiser, &offset);
    machine->variable[machine->variables++] = (ref_variable){variable, (uint64_t)(uintptr_t)bytes};
    machine->range[machine->ranges++] = (ref_range){(uint64_t)(uintptr_t)bytes, variable->bytes};
    return true;
  }
}

static unsigned count_variables(const bf_ptx_statement *statement) {
  unsigned count = 0;
  for (; statement; statement = statement->next)
    count += statement->kind == BF_PTX_STATEMENT_VARIABLE ? 1
             : statement->kind == BF_PTX_STATEMENT_SCOPE  ? count_variables(statement->scope)
                                                          : 0;
  return count;
}

static bool place_statements(ref_machine *machine, ref_function *function,
                             const bf_ptx_statement *statement) {
  for (; statement; statement = statement->next) {
    if (statement->kind == BF_PTX_STATEMENT_VARIABLE &&
        !place_variable(machine, function, statement->variable))
      return false;
    if (statement->kind == BF_PTX_STATEMENT_SCOPE &&
        !place_statements(machine, function, statement->scope))
      return false;
  }
  return true;
}

static bool prepare_function(ref_machine *machine, const bf_ptx_function *from) {
  ref_function *function = &machine->function[machine->functions++];
  const bf_ptx_variables *lists[] = {&from->returns, &from->parameters};
  unsigned variables = count_variables(from->body) + from->returns.count + from->parameters.count;
  function->function = from;
  function->op = bf_arena_alloc(&machine->arena, (from->instructions + 1) * sizeof *function->op);
  function->local = bf_arena_alloc(&machine->arena, (variables + 1) * sizeof *function->local);
  if (!function->op || !function->local)
    return false;
  for (uint32_t i = 0; i < from->instructions; i++)
    ref_decode(from->instruction[i], &function->op[i]);
  for (unsigned l = 0; l < 2; l++)
    for (unsigned i = 0; i < lists[l]->count; i++)
      if (!lists[l]->item[i].registers && !place_variable(machine, function, &lists[l]->item[i]))
        return false;
  return place_statements(machine, function, from->body);
}

/* Whether an item is the kernel, or a function that it could call. */
static bool is_needed(const ref_machine *machine, const bf_ptx_item *item) {
  return item->kind == BF_PTX_ITEM_FUNCTION && item->function->has_body &&
         (!item->function->is_entry || strcmp(item->function->name, machine->launch->kernel) == 0);
}

/* Room for all functions, variables and ranges, then each in turn. */
static bool prepare(ref_machine *machine) {
  const ref_launch *launch = machine->launch;
  unsigned functions = 0, variables = 0;
  for (const bf_ptx_item *i = launch->module->first; i; i = i->next)
    if (is_needed(machine, i)) {
      functions++;
      variables += count_variables(i->function->body);
    } else if (i->kind == BF_PTX_ITEM_VARIABLE) {
      variables++;
    }
  machine->function = bf_arena_alloc(&machine->arena, (functions + 1) * sizeof *machine->function);
  machine->variable = bf_arena_alloc(&machine->arena, (variables + 1) * sizeof *machine->variable);
  machine->range =
      bf_arena_alloc(&machine->arena, (variables + launch->ranges + 1) * sizeof *machine->range);
  if (!machine->function || !machine->variable || !machine->range)
    return false;
  for (unsigned i = 0; i < launch->ranges; i++)
    machine->range[machine->ranges++] = launch->range[i];
  for (const bf_ptx_item *i = launch->module->first; i; i = i->next)
    if (i->kind == BF_PTX_ITEM_VARIABLE && !place_variable(machine, NULL, i->variable))
      return false;
  for (const bf_ptx_item *i = launch->module->first; i; i = i->next)
    if (is_needed(machine, i) && !prepare_function(machine, i->function))
      return false;
  return true;
}

bool ref_run(const ref_launch *launch, char message[REF_MESSAGE_BYTES]) {
  ref_machine machine = {.launch = launch, .message = message};
  snprintf(message, REF_MESSAGE_BYTES, "no memory, or no such kernel");
  const bf_ptx_function *entry = bf_ptx_find(launch->module, launch->kernel);
  if (!entry || !prepare(&machine))
    machine.failed = true;
  machine.shared_bytes += launch->dynamic_shared_bytes;
  const uint32_t *grid = launch->grid;
  for (uint32_t i = 0; i < grid[0] * grid[1] * grid[2] && !machine.failed; i++) {
    ref_block block = {.machine = &machine,
                       .index = {i % grid[0], i / grid[0] % grid[1], i / grid[0] / grid[1]}};
    if (start_block(&block, find_function(&machine, entry)))
      run_block(&block);
    free_block(&block);
  }
  bf_arena_free(&machine.arena);
  return !machine.failed;
}
