/* From PTX to operations. A kernel is decoded together with the functions it can call, because
 * shared memory is laid out per kernel.
 *
 * Of each function, registers get places in the frame, instructions become operations one after the
 * other, and an operation that waits for others (join) is put where lanes that went different ways
 * meet: before each block that is the nearest post-dominator of a branch. Instructions that nothing
 * here can run are collected, and refused all at once. */
#include "emu/decode.h"

#include <stdlib.h>

enum {
  MOST_FRAME_BYTES = 1 << 30,
  REFUSED_LISTED = 12,
  MERGES_AS = 90, /* the architecture whose ptxas is modelled */
};

/* ---- Places ---- */

/* Bytes per lane of a register: 0 for a predicate. */
static unsigned lane_bytes(bf_ptx_type type) {
  unsigned bytes = bf_ptx_type_bytes(type);
  if (type == BF_PTX_PRED)
    return 0;
  return bytes < 2 ? 2 : bytes;
}

static uint32_t take(bf_emu_decoder *decoder, uint64_t bytes, uint32_t alignment) {
  uint64_t at = ((uint64_t)decoder->frame_bytes + alignment - 1) / alignment * alignment;
  if (at + bytes > MOST_FRAME_BYTES) {
    decoder->failed = true;
    return BF_EMU_NOWHERE;
  }
  decoder->frame_bytes = (uint32_t)(at + bytes);
  return (uint32_t)at;
}

uint32_t bf_emu_temporary(bf_emu_decoder *decoder, unsigned bytes) {
  return bytes == 0 ? take(decoder, 4, 4) : take(decoder, (uint64_t)bytes * BF_EMU_LANES, 64);
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

uint32_t bf_emu_constant(bf_emu_decoder *decoder, uint64_t bits, unsigned bytes) {
  if (bytes < 2)
    bytes = 2;
  if (bytes < 8)
    bits &= (UINT64_C(1) << (8 * bytes)) - 1;
  for (unsigned i = 0; i < decoder->constants; i++)
    if (decoder->constant[i].bits == bits && decoder->constant[i].bytes == bytes)
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
  decoder->constant[decoder->constants++] = (struct constant){bits, bytes, place};
  return place;
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
    return lane_bytes(operand->registers->type);
  if (operand->kind == BF_PTX_SPECIAL)
    return lane_bytes(type) == 8 ? 8 : 4;
  return lane_bytes(type);
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
  unsigned bytes = lane_bytes(type);
  if (bytes == 0)
    return operand->bits ? BF_EMU_TRUE : BF_EMU_FALSE;
  if (operand->kind == BF_PTX_INTEGER)
    return bf_emu_constant(decoder, operand->bits, bytes);
  if (operand->kind == BF_PTX_FLOAT32) {
    if (type == BF_PTX_F64)
      number.d = single.f;
    return bf_emu_constant(decoder, is_double ? number.u : single.u, bytes);
  }
  if (!is_double)
    single.f = (float)number.d;
  return bf_emu_constant(decoder, is_double ? number.u : single.u, bytes);
}

/* Reads a special register into a new place. */
static uint32_t special_place(bf_emu_decoder *decoder, const bf_ptx_operand *operand,
                              bf_ptx_type type) {
  unsigned bytes = lane_bytes(type) == 8 ? 8 : 4;
  if (operand->special == BF_PTX_SPECIAL_WARP_SZ)
    return bf_emu_constant(decoder, BF_EMU_LANES, lane_bytes(type));
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

/* Marks the registers that some instruction reads: all operands but the first of an opcode that
 * writes it. */
static void mark_reads(const bf_ptx_function *function, bool *reads) {
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
        return bf_emu_constant(decoder, decoder->shared[i].offset + offset, bytes);
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
  unsigned bytes = lane_bytes(type);
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
    address.register_bytes = lane_bytes(base->registers->type);
  if (base->kind == BF_PTX_REGISTER && address.register_bytes < 4)
    bf_emu_refuse(decoder, "address in a narrow register");
  if (base->kind != BF_PTX_REGISTER && space == BF_PTX_SPACE_SHARED)
    address.register_bytes = 4;
  address.place =
      bf_emu_source(decoder, base, address.register_bytes == 4 ? BF_PTX_U32 : BF_PTX_U64);
  return address;
}

/* ---- Operations ---- */

/* Room for one more operation at the end. */
static bf_emu_op *append(bf_emu_decoder *decoder) {
  if (decoder->ops == decoder->capacity) {
    uint32_t capacity = decoder->capacity ? 2 * decoder->capacity : 256;
    bf_emu_op *op = realloc(decoder->op, capacity * sizeof *op);
    if (op)
      decoder->op = op;
    uint32_t *origin = realloc(decoder->instruction_of, capacity * sizeof *origin);
    if (origin)
      decoder->instruction_of = origin;
    if (!op || !origin) {
      decoder->failed = true;
      return NULL;
    }
    decoder->capacity = capacity;
  }
  decoder->instruction_of[decoder->ops] = decoder->index;
  bf_emu_op *added = &decoder->op[decoder->ops++];
  *added = (bf_emu_op){.guard = decoder->guard, .guard_flip = decoder->guard_flip};
  return added;
}

bf_emu_op *bf_emu_emit(bf_emu_decoder *decoder) { return append(decoder); }

/* Whether an instruction counts as a memory access with a site of its own. */
static bool has_site(const bf_ptx_instruction *instruction) {
  return bf_ptx_op_get(instruction->opcode)->access != BF_PTX_NO_ACCESS ||
         instruction->opcode == BF_PTX_OP_MBARRIER;
}

/* The name of the file that a .loc gives; NULL: not known. */
static const char *file_name(const bf_ptx_module *ptx, uint64_t number) {
  for (const bf_ptx_item *item = ptx->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FILE && item->file->number == number)
      return item->file->name;
  return NULL;
}

void bf_emu_source_line(const bf_ptx_module *ptx, const bf_ptx_instruction *instruction,
                        const char **file, uint64_t *line) {
  const bf_ptx_location *location = instruction->location;
  *file = location ? file_name(ptx, location->file) : NULL;
  *line = location ? location->line : 0;
  bool is_library = *file && strstr(*file, "include/");
  if (is_library && location->function_name && location->inlined_line) {
    *file = file_name(ptx, location->inlined_file);
    *line = location->inlined_line;
  }
}

static bool add_site(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                     unsigned *capacity) {
  bf_emu_kernel *kernel = decoder->kernel;
  if (kernel->site_count == *capacity) {
    unsigned grown = *capacity ? 2 * *capacity : 64;
    bf_emu_site *sites = bf_emu_detail(decoder, grown * sizeof *sites);
    if (!sites)
      return false;
    if (kernel->site_count)
      memcpy(sites, kernel->sites, kernel->site_count * sizeof *sites);
    kernel->sites = sites;
    *capacity = grown;
  }
  bf_emu_site *site = &kernel->sites[kernel->site_count++];
  *site = (bf_emu_site){
      .function = decoder->function, .instruction = instruction, .line = instruction->line};
  bf_emu_source_line(decoder->module->ptx, instruction, &site->source_file, &site->source_line);
  return true;
}

/* Decodes one instruction at decoder->index. */
static void decode_instruction(bf_emu_decoder *decoder, unsigned *site_capacity) {
  const bf_ptx_instruction *instruction = decoder->function->instruction[decoder->index];
  decoder->instruction = instruction;
  decoder->refused_why[0] = '\0';
  decoder->guard = BF_EMU_TRUE;
  decoder->guard_flip = 0;
  if (instruction->guard)
    decoder->guard = bf_emu_predicate(decoder, instruction->guard, &decoder->guard_flip);
  bf_emu_op op = {.guard = decoder->guard, .guard_flip = decoder->guard_flip};
  if (has_site(instruction)) {
    op.site = decoder->kernel->site_count;
    if (!add_site(decoder, instruction, site_capacity))
      return;
  }
  bool selected = bf_emu_select_control(decoder, instruction, &op);
  for (unsigned i = 0; !selected && decoder->isa->select[i]; i++)
    selected = decoder->isa->select[i](decoder, instruction, &op);
  if (!selected)
    bf_emu_refuse(decoder, "");
  bf_emu_op *added = append(decoder);
  if (added)
    *added = op;
  if (added && (!selected || decoder->refused_why[0]))
    added->run = NULL;
}

/* ---- Functions ---- */

/* Gives places to the registers of a list of statements. */
static void place_registers(bf_emu_decoder *decoder, const bf_ptx_statement *statement,
                            bool predicates) {
  for (; statement; statement = statement->next) {
    if (statement->kind == BF_PTX_STATEMENT_SCOPE)
      place_registers(decoder, statement->scope, predicates);
    if (statement->kind != BF_PTX_STATEMENT_REGISTERS)
      continue;
    const bf_ptx_registers *registers = statement->registers;
    unsigned bytes = lane_bytes(registers->type);
    if ((bytes == 0) != predicates || registers->vector)
      continue;
    for (uint32_t i = 0; i < registers->count; i++)
      decoder->place[registers->first + i] = bf_emu_temporary(decoder, bytes);
  }
}

static uint64_t align_up(uint64_t value, uint64_t alignment) {
  return alignment > 1 ? (value + alignment - 1) / alignment * alignment : value;
}

static unsigned variable_alignment(const bf_ptx_variable *variable) {
  unsigned own = bf_ptx_type_bytes(variable->type) * (variable->vector ? variable->vector : 1);
  return variable->alignment_bytes ? variable->alignment_bytes : own ? own : 1;
}

/* A place for a parameter, lane after lane. */
static void add_region(bf_emu_decoder *decoder, const bf_ptx_variable *variable) {
  bf_emu_region *grown = realloc(decoder->region, (decoder->regions + 1) * sizeof *decoder->region);
  if (!grown) {
    decoder->failed = true;
    return;
  }
  decoder->region = grown;
  uint64_t stride = align_up(variable->bytes ? variable->bytes : 1, 16);
  uint32_t place = take(decoder, stride * BF_EMU_LANES, 64);
  decoder->region[decoder->regions++] = (bf_emu_region){variable, place, (uint32_t)stride};
}

static void add_local(bf_emu_decoder *decoder, const bf_ptx_variable *variable) {
  bf_emu_offset *grown = realloc(decoder->local, (decoder->locals + 1) * sizeof *decoder->local);
  if (!grown) {
    decoder->failed = true;
    return;
  }
  decoder->local = grown;
  uint64_t offset = align_up(decoder->code->local_bytes, variable_alignment(variable));
  decoder->local[decoder->locals++] = (bf_emu_offset){variable, offset};
  decoder->code->local_bytes = offset + variable->bytes;
}

/* Local variables and parameters of calls, in all scopes. */
static void place_variables(bf_emu_decoder *decoder, const bf_ptx_statement *statement) {
  for (; statement; statement = statement->next) {
    if (statement->kind == BF_PTX_STATEMENT_SCOPE)
      place_variables(decoder, statement->scope);
    if (statement->kind != BF_PTX_STATEMENT_VARIABLE)
      continue;
    if (statement->variable->space == BF_PTX_SPACE_PARAM)
      add_region(decoder, statement->variable);
    else if (statement->variable->space == BF_PTX_SPACE_LOCAL)
      add_local(decoder, statement->variable);
  }
}

/* Marks the instructions before which lanes can meet: nearest post-dominators of branches, and
 * blocks to which several ways lead. The number of instructions stands for the end. */
static void mark_joins(const bf_ptx_function *function, const bf_ptx_flow *flow, uint32_t *ways,
                       bool *is_join) {
  uint32_t end = function->instructions;
  for (uint32_t i = 0; i < flow->blocks; i++) {
    const bf_ptx_block *block = &flow->block[i];
    for (uint32_t k = 0; k < block->successors; k++)
      if (block->successor[k] < flow->blocks && ++ways[block->successor[k]] == 2)
        is_join[flow->block[block->successor[k]].first] = true;
    if (block->successors < 2)
      continue;
    uint32_t at =
        block->post_dominator == flow->blocks ? end : flow->block[block->post_dominator].first;
    is_join[at] |= !bf_emu_ends_at(function, at);
  }
}

/* Numbers blocks so that a block comes behind those that lead to it, loops aside, and what follows
 * a loop behind the loop: backwards, as a walk that takes the later of two ways first leaves them.
 */
static void number_blocks(const bf_ptx_flow *flow, uint32_t *order, uint32_t *stack) {
  uint32_t depth = 0, next = flow->blocks;
  for (uint32_t i = 0; i < flow->blocks; i++)
    order[i] = UINT32_MAX; /* not met yet */
  for (uint32_t root = 0; root < flow->blocks; root++) {
    if (order[root] != UINT32_MAX)
      continue;
    order[root] = 0;
    stack[depth++] = root;
    while (depth) {
      uint32_t block = stack[depth - 1], latest = UINT32_MAX;
      const bf_ptx_block *from = &flow->block[block];
      for (uint32_t k = 0; k < from->successors; k++) {
        uint32_t to = from->successor[k];
        if (to < flow->blocks && order[to] == UINT32_MAX && (latest == UINT32_MAX || to > latest))
          latest = to;
      }
      if (latest == UINT32_MAX) {
        order[block] = --next;
        depth--;
      } else {
        order[latest] = 0;
        stack[depth++] = latest;
      }
    }
  }
}

/* Turns indices of instructions into operations. */
static void patch_branches(bf_emu_decoder *decoder, const uint32_t *first_op) {
  for (uint32_t i = 0; i < decoder->ops; i++) {
    bf_emu_op *op = &decoder->op[i];
    if (op->run != bf_emu_step_branch && op->run != bf_emu_step_branch_list)
      continue;
    bf_emu_branch *branch = (bf_emu_branch *)(uintptr_t)op->detail;
    branch->join = decoder->code->op + first_op[branch->join_instruction];
    for (uint32_t k = 0; k < branch->targets; k++) {
      uint32_t target = first_op[branch->target_instruction[k]];
      branch->target[k] = decoder->code->op + target;
      branch->is_backward |= target <= i;
    }
  }
}

/* Writes constants into the image of a new frame. */
static void fill_first_frame(const bf_emu_decoder *decoder, uint8_t *frame) {
  memset(frame, 0, decoder->frame_bytes);
  memset(frame + BF_EMU_TRUE, 0xff, 4);
  for (unsigned i = 0; i < decoder->constants; i++) {
    const struct constant *constant = &decoder->constant[i];
    uint8_t *place = frame + constant->place;
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      memcpy(place + lane * constant->bytes, &constant->bits,
             constant->bytes < 8 ? constant->bytes : 8);
  }
}

/* Moves what was decoded into the kernel's arena. */
static void keep_code(bf_emu_decoder *decoder, const uint32_t *first_op) {
  bf_emu_code *code = decoder->code;
  code->ops = decoder->ops;
  code->op = bf_emu_detail(decoder, decoder->ops * sizeof *code->op);
  code->counted = bf_emu_detail(decoder, (decoder->ops + 1) * sizeof *code->counted);
  code->instruction = bf_emu_detail(decoder, decoder->ops * sizeof *code->instruction);
  code->order = bf_emu_detail(decoder, decoder->ops * sizeof *code->order);
  code->frame_bytes = (uint32_t)align_up(decoder->frame_bytes, 64);
  decoder->frame_bytes = code->frame_bytes;
  code->first_frame = bf_emu_detail(decoder, code->frame_bytes);
  if (decoder->failed)
    return;
  patch_branches(decoder, first_op);
  memcpy(code->op, decoder->op, decoder->ops * sizeof *code->op);
  memcpy(code->instruction, decoder->instruction_of, decoder->ops * sizeof *code->instruction);
  for (uint32_t i = 0; i < code->ops; i++) {
    uint32_t own = code->instruction[i];
    bool is_inside = own < decoder->function->instructions;
    code->order[i] = is_inside ? decoder->block_order[decoder->flow->block_of[own]] : UINT32_MAX;
    bool is_last = i + 1 == code->ops || code->instruction[i + 1] != code->instruction[i];
    bool is_real = code->instruction[i] < decoder->function->instructions;
    code->counted[i + 1] = code->counted[i] + (is_last && is_real);
  }
  fill_first_frame(decoder, code->first_frame);
}

/* Decodes all instructions, with joins between them and the end behind them. */
static void decode_body(bf_emu_decoder *decoder, const bool *is_join, uint32_t *first_op,
                        bf_text *refused, unsigned *refused_count, unsigned *site_capacity) {
  uint32_t count = decoder->function->instructions;
  for (decoder->index = 0; decoder->index < count && !decoder->failed; decoder->index++) {
    first_op[decoder->index] = decoder->ops;
    decoder->guard = BF_EMU_TRUE;
    decoder->guard_flip = 0;
    bf_emu_op *join = is_join[decoder->index] ? append(decoder) : NULL;
    if (join)
      join->run = bf_emu_step_join;
    decode_instruction(decoder, site_capacity);
    if (decoder->failed || decoder->op[decoder->ops - 1].run)
      continue;
    if ((*refused_count)++ >= REFUSED_LISTED)
      continue;
    bf_text_addf(refused, "%s%s (line %llu)", refused->size ? ", " : "",
                 bf_ptx_op_get(decoder->instruction->opcode)->name,
                 (unsigned long long)decoder->instruction->line);
    if (decoder->refused_why[0])
      bf_text_addf(refused, ": %s", decoder->refused_why);
  }
  first_op[count] = decoder->ops;
  decoder->guard = BF_EMU_TRUE;
  decoder->guard_flip = 0;
  bf_emu_op *end = append(decoder);
  if (end)
    end->run = bf_emu_step_end;
}

/* What ptxas makes of the shared accesses of a function whose sites start at first_site. */
static int merge_sites(bf_emu_decoder *decoder, unsigned first_site, bf_diagnostic *diagnostic) {
  bf_emu_kernel *kernel = decoder->kernel;
  bf_ptx_merges *merges;
  BF_TRY(bf_ptx_merges_create(decoder->module->ptx, decoder->function, MERGES_AS, &merges,
                              diagnostic));
  bf_ptx_merged *grown = bf_emu_detail(decoder, kernel->site_count * sizeof *grown);
  if (grown && first_site)
    memcpy(grown, kernel->merged, first_site * sizeof *grown);
  unsigned site = first_site;
  for (uint32_t i = 0; grown && i < merges->instructions && site < kernel->site_count; i++) {
    if (kernel->sites[site].instruction != decoder->function->instruction[i])
      continue;
    grown[site] = merges->instruction[i];
    grown[site].leader = merges->instruction[i].leader != i;
    site++;
  }
  kernel->merged = grown;
  bf_ptx_merges_free(merges);
  return grown ? BF_OK : bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
}

/* The formal parameters and returns of a function called, in this order: returns first. */
static void place_formals(bf_emu_decoder *decoder) {
  const bf_ptx_function *function = decoder->function;
  for (unsigned i = 0; i < function->returns.count; i++)
    add_region(decoder, &function->returns.item[i]);
  for (unsigned i = 0; i < function->parameters.count; i++)
    add_region(decoder, &function->parameters.item[i]);
  unsigned count = function->returns.count + function->parameters.count;
  decoder->code->formal = bf_emu_detail(decoder, count * sizeof *decoder->code->formal);
  for (unsigned i = 0; i < count && !decoder->failed; i++)
    decoder->code->formal[i] = decoder->region[i].place;
}

static void free_decoder(bf_emu_decoder *decoder) {
  free(decoder->place);
  free(decoder->reads);
  free(decoder->block_order);
  free(decoder->op);
  free(decoder->instruction_of);
  free(decoder->constant);
  free(decoder->region);
  free(decoder->local);
}

/* Decodes one function; what cannot be run is added to refused. */
static int decode_function(bf_emu_decoder *decoder, bf_text *refused, unsigned *refused_count,
                           unsigned *site_capacity, bf_diagnostic *diagnostic) {
  const bf_ptx_function *function = decoder->function;
  bf_ptx_flow *flow = NULL;
  BF_TRY(bf_ptx_flow_create(function, &flow, diagnostic));
  decoder->flow = flow;
  decoder->frame_bytes = BF_EMU_NOWHERE + 512;
  decoder->place = calloc(function->registers + 1, sizeof *decoder->place);
  uint32_t *first_op = calloc(function->instructions + 1, sizeof *first_op);
  bool *is_join = calloc(function->instructions + 1, sizeof *is_join);
  uint32_t *ways = calloc(flow->blocks + 1, sizeof *ways);
  decoder->reads = calloc(function->registers + 1, sizeof *decoder->reads);
  decoder->block_order = calloc(flow->blocks + 1, sizeof *decoder->block_order);
  if (!decoder->place || !decoder->reads || !decoder->block_order || !first_op || !is_join || !ways)
    decoder->failed = true;
  if (!decoder->failed) {
    if (!function->is_entry)
      place_formals(decoder);
    place_registers(decoder, function->body, true);
    place_registers(decoder, function->body, false);
    place_variables(decoder, function->body);
    mark_joins(function, flow, ways, is_join);
    number_blocks(flow, decoder->block_order, ways);
    mark_reads(function, decoder->reads);
  }
  if (!decoder->failed)
    decode_body(decoder, is_join, first_op, refused, refused_count, site_capacity);
  if (!decoder->failed)
    keep_code(decoder, first_op);
  free(first_op);
  free(is_join);
  free(ways);
  bf_ptx_flow_free(flow);
  free_decoder(decoder);
  return decoder->failed ? bf_fail(diagnostic, BF_NO_MEMORY, "out of memory") : BF_OK;
}

/* ---- Kernels ---- */

/* The code of function in this kernel, made (empty) where it is new. */
static bf_emu_code *code_of(bf_emu_decoder *decoder, const bf_ptx_function *function) {
  bf_emu_code **link = &decoder->kernel->code;
  for (; *link; link = &(*link)->next)
    if ((*link)->function == function)
      return *link;
  *link = bf_emu_detail(decoder, sizeof **link);
  if (*link)
    (*link)->function = function;
  return *link;
}

/* Adds the functions that the instructions of code's function can call. An indirect call can reach
 * all of the module. */
static void add_callees(bf_emu_decoder *decoder, const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *instruction = function->instruction[i];
    if (instruction->opcode != BF_PTX_OP_CALL)
      continue;
    unsigned at = instruction->operand[0].kind == BF_PTX_ARGUMENTS ? 1 : 0;
    const bf_ptx_operand *callee = &instruction->operand[at];
    if (callee->kind == BF_PTX_SYMBOL && callee->symbol->kind == BF_PTX_SYMBOL_FUNCTION) {
      if (callee->symbol->function && callee->symbol->function->has_body)
        code_of(decoder, callee->symbol->function);
      continue;
    }
    for (const bf_ptx_item *item = decoder->module->ptx->first; item; item = item->next)
      if (item->kind == BF_PTX_ITEM_FUNCTION && item->function->has_body &&
          !item->function->is_entry)
        code_of(decoder, item->function);
  }
}

static void add_shared(bf_emu_decoder *decoder, const bf_ptx_variable *variable) {
  if (variable->space != BF_PTX_SPACE_SHARED)
    return;
  for (unsigned i = 0; i < decoder->shareds; i++)
    if (decoder->shared[i].variable == variable)
      return;
  bf_emu_offset *grown = realloc(decoder->shared, (decoder->shareds + 1) * sizeof *decoder->shared);
  if (!grown) {
    decoder->failed = true;
    return;
  }
  decoder->shared = grown;
  decoder->shared[decoder->shareds++] = (bf_emu_offset){variable, 0};
}

static void add_shared_of_operand(bf_emu_decoder *decoder, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_SYMBOL) {
    if (operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE)
      add_shared(decoder, operand->symbol->variable);
    return;
  }
  if (operand->kind >= BF_PTX_ADDRESS && operand->kind <= BF_PTX_ARGUMENTS)
    for (uint32_t i = 0; i < operand->count; i++)
      add_shared_of_operand(decoder, &operand->item[i]);
}

/* Moves a variable, if it is one of those named, to the place behind the first `ordered`. */
static unsigned order_shared(bf_emu_decoder *decoder, const bf_ptx_variable *variable,
                             unsigned ordered) {
  for (unsigned i = ordered; i < decoder->shareds; i++)
    if (decoder->shared[i].variable == variable) {
      bf_emu_offset found = decoder->shared[i];
      memmove(&decoder->shared[ordered + 1], &decoder->shared[ordered],
              (i - ordered) * sizeof found);
      decoder->shared[ordered] = found;
      return ordered + 1;
    }
  return ordered;
}

static unsigned order_shared_of_body(bf_emu_decoder *decoder, const bf_ptx_statement *statement,
                                     unsigned ordered) {
  for (; statement; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_SCOPE)
      ordered = order_shared_of_body(decoder, statement->scope, ordered);
    else if (statement->kind == BF_PTX_STATEMENT_VARIABLE)
      ordered = order_shared(decoder, statement->variable, ordered);
  return ordered;
}

/* Lays out the shared variables that instructions of the kernel name, as ptxas does
 * (docs/merging.md): those of fixed size in the order of their declarations, inside functions
 * first, then dynamic shared memory. What is merged is aligned only at these places. */
static void place_shared(bf_emu_decoder *decoder) {
  unsigned ordered = 0;
  for (bf_emu_code *code = decoder->kernel->code; code; code = code->next)
    for (uint32_t i = 0; i < code->function->instructions; i++)
      for (unsigned k = 0; k < code->function->instruction[i]->operands; k++)
        add_shared_of_operand(decoder, &code->function->instruction[i]->operand[k]);
  for (bf_emu_code *code = decoder->kernel->code; code; code = code->next)
    ordered = order_shared_of_body(decoder, code->function->body, ordered);
  for (const bf_ptx_item *item = decoder->module->ptx->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_VARIABLE)
      ordered = order_shared(decoder, item->variable, ordered);
  uint64_t at = 0, dynamic_alignment = 16;
  bf_emu_needs *needs = &decoder->kernel->needs;
  for (unsigned i = 0; i < decoder->shareds; i++) {
    const bf_ptx_variable *variable = decoder->shared[i].variable;
    unsigned alignment = variable_alignment(variable);
    if (variable->bytes == 0) {
      needs->has_dynamic_shared = true;
      dynamic_alignment = alignment > dynamic_alignment ? alignment : dynamic_alignment;
      continue;
    }
    at = align_up(at, alignment);
    decoder->shared[i].offset = at;
    at += variable->bytes;
  }
  needs->shared_bytes = at;
  decoder->kernel->dynamic_offset =
      needs->has_dynamic_shared ? align_up(at, dynamic_alignment) : at;
  for (unsigned i = 0; i < decoder->shareds; i++)
    if (decoder->shared[i].variable->bytes == 0)
      decoder->shared[i].offset = decoder->kernel->dynamic_offset;
}

static void place_parameters(bf_emu_decoder *decoder) {
  bf_emu_kernel *kernel = decoder->kernel;
  const bf_ptx_variables *parameters = &kernel->function->parameters;
  kernel->parameter_offset = bf_emu_detail(decoder, parameters->count * sizeof(uint64_t));
  kernel->parameter_bytes = bf_emu_detail(decoder, parameters->count * sizeof(uint64_t));
  if (decoder->failed)
    return;
  uint64_t at = 0;
  for (unsigned i = 0; i < parameters->count; i++) {
    at = align_up(at, variable_alignment(&parameters->item[i]));
    kernel->parameter_offset[i] = at;
    kernel->parameter_bytes[i] = parameters->item[i].bytes;
    at += parameters->item[i].bytes;
  }
  kernel->needs.parameter_bytes = at;
}

/* What directives say of the number of threads. */
static void read_directives(bf_emu_kernel *kernel) {
  const bf_ptx_directives *directives = &kernel->function->directives;
  kernel->needs.most_threads = BF_EMU_MOST_THREADS;
  for (unsigned i = 0; i < directives->count; i++) {
    const bf_ptx_directive *directive = &directives->item[i];
    bool exact = strcmp(directive->name, "reqntid") == 0;
    if (!exact && strcmp(directive->name, "maxntid") != 0)
      continue;
    uint64_t threads = 1;
    for (unsigned k = 0; k < 3; k++) {
      uint64_t size = k < directive->numbers && directive->number[k] ? directive->number[k] : 1;
      threads *= size < 4096 ? size : 4096;
      if (exact)
        kernel->needs.exact_block[k] = (uint32_t)(size < 4096 ? size : 4096);
    }
    if (threads < kernel->needs.most_threads)
      kernel->needs.most_threads = (unsigned)threads;
  }
}

/* Decodes the functions of the kernel, of which there may become more on the way. */
static int decode_all(bf_emu_decoder *common, bf_text *refused, unsigned *refused_count,
                      bf_diagnostic *diagnostic) {
  unsigned site_capacity = 0;
  for (bf_emu_code *code = common->kernel->code; code; code = code->next) {
    bf_emu_decoder decoder = *common;
    decoder.code = code;
    decoder.function = code->function;
    size_t before = refused->size;
    unsigned first_site = common->kernel->site_count;
    BF_TRY(decode_function(&decoder, refused, refused_count, &site_capacity, diagnostic));
    if (refused->size > before && code != common->kernel->code)
      bf_text_addf(refused, " in '%s'", code->function->name);
    BF_TRY(merge_sites(&decoder, first_site, diagnostic));
    common->kernel->needs.local_bytes += (code->local_bytes + 15) & ~UINT64_C(15);
  }
  return BF_OK;
}

int bf_emu_decode(bf_emu_module *module, const bf_ptx_function *function, bf_emu_kernel **kernel,
                  bf_diagnostic *diagnostic) {
  bf_arena arena = {0};
  bf_emu_kernel *made = bf_arena_alloc(&arena, sizeof *made);
  if (!made)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  made->arena = arena;
  made->module = module;
  made->function = function;
  bf_emu_decoder common = {.module = module, .kernel = made, .isa = module->emu->isa};
  read_directives(made);
  place_parameters(&common);
  code_of(&common, function);
  for (bf_emu_code *code = made->code; code && !common.failed; code = code->next)
    add_callees(&common, code->function);
  if (!common.failed)
    place_shared(&common);
  made->needs.registers = bf_emu_estimate_registers(made);
  made->needs.const_bytes = module->const_bytes;
  bf_text refused = {0};
  unsigned refused_count = 0;
  int error = common.failed ? bf_fail(diagnostic, BF_NO_MEMORY, "out of memory")
                            : decode_all(&common, &refused, &refused_count, diagnostic);
  if (!error && refused_count) {
    if (refused_count > REFUSED_LISTED)
      bf_text_addf(&refused, " and %u more", refused_count - REFUSED_LISTED);
    error = bf_fail_file(diagnostic, BF_UNSUPPORTED, module->ptx->file,
                         "kernel '%s' has instructions that the emulator does not run: %s",
                         function->name, refused.data ? refused.data : "");
    if (diagnostic)
      diagnostic->line = function->line;
  }
  bf_text_free(&refused);
  free(common.shared);
  if (error) {
    arena = made->arena;
    bf_arena_free(&arena);
    return error;
  }
  *kernel = made;
  return BF_OK;
}
