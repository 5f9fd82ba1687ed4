/* From PTX to operations, function by function: registers get places in the frame, instructions
 * become operations one after the other, and an operation that waits for others (join) is put where
 * lanes that went different ways can meet. Instructions that nothing here can run are collected,
 * and refused all at once. */
#include "emu/decode.h"
#include "ptx/site.h"

#include <stdlib.h>

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
         instruction->opcode == BF_PTX_OP_MBARRIER ||
         (instruction->opcode == BF_PTX_OP_WGMMA && bf_ptx_has(instruction, "mma_async"));
}

/* The calls around one, as text in the arena; NULL: none, or they are not known. */
static const char *further_calls(bf_emu_decoder *decoder, const bf_ptx_location *call) {
  bf_text text = {0};
  bf_ptx_write_calls(decoder->module->ptx, call, &text);
  char *kept = text.size && !text.failed ? bf_emu_detail(decoder, text.size + 1) : NULL;
  if (kept)
    memcpy(kept, text.data, text.size);
  bf_text_free(&text);
  return kept;
}

/* The call that the line of a site was inlined at, unless the site stands for that line already. */
static void find_inlined(bf_emu_decoder *decoder, bf_emu_site *site) {
  const bf_ptx_module *ptx = decoder->module->ptx;
  const bf_ptx_location *call =
      bf_ptx_call_of(ptx, site->instruction, site->source_file, site->source_line);
  const char *file = call ? bf_ptx_file_name(ptx, call->inlined_file) : NULL;
  if (!file)
    return;
  site->inlined_file = file;
  site->inlined_line = call->inlined_line;
  site->inlined_further = further_calls(decoder, call->inside);
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
  bf_ptx_source_line(decoder->module->ptx, instruction, &site->source_file, &site->source_line);
  find_inlined(decoder, site);
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
  bool selected = bf_emu_select_control(decoder, instruction, &op) ||
                  bf_emu_select_cluster(decoder, instruction, &op) ||
                  bf_emu_select_bulk(decoder, instruction, &op) ||
                  bf_emu_select_tensor_change(decoder, instruction, &op) ||
                  bf_emu_select_cancel(decoder, instruction, &op) ||
                  bf_emu_select_tensor_core(decoder, instruction, &op);
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
    unsigned bytes = bf_emu_lane_bytes(registers->type);
    if ((bytes == 0) != predicates || registers->vector)
      continue;
    for (uint32_t i = 0; i < registers->count; i++)
      decoder->place[registers->first + i] = bf_emu_temporary(decoder, bytes);
  }
}

/* A place for a parameter, lane after lane. */
static void add_region(bf_emu_decoder *decoder, const bf_ptx_variable *variable) {
  bf_emu_region *grown = realloc(decoder->region, (decoder->regions + 1) * sizeof *decoder->region);
  if (!grown) {
    decoder->failed = true;
    return;
  }
  decoder->region = grown;
  uint64_t stride = bf_emu_align(variable->bytes ? variable->bytes : 1, 16);
  uint32_t place = bf_emu_take(decoder, stride * BF_EMU_LANES, 64);
  decoder->region[decoder->regions++] = (bf_emu_region){variable, place, (uint32_t)stride};
}

static void add_local(bf_emu_decoder *decoder, const bf_ptx_variable *variable) {
  bf_emu_offset *grown = realloc(decoder->local, (decoder->locals + 1) * sizeof *decoder->local);
  if (!grown) {
    decoder->failed = true;
    return;
  }
  decoder->local = grown;
  uint64_t offset = bf_emu_align(decoder->code->local_bytes, bf_emu_alignment(variable));
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
  for (uint32_t i = 0; i < end; i++) /* behind a call that some lanes go round */
    is_join[i + 1] |=
        function->instruction[i]->opcode == BF_PTX_OP_CALL && function->instruction[i]->guard;
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

/* Takes note of the constants that are addresses of shared memory. */
static void keep_shared_places(bf_emu_decoder *decoder, bf_emu_code *code) {
  code->shared_place = bf_emu_detail(decoder, decoder->constants * sizeof *code->shared_place);
  for (unsigned i = 0; code->shared_place && i < decoder->constants; i++)
    if (decoder->constant[i].is_shared)
      code->shared_place[code->shared_places++] =
          (bf_emu_shared_place){decoder->constant[i].place, decoder->constant[i].bytes};
}

/* How one lane alone does an operation, its guard aside. */
static bf_alone_form form_of(const bf_emu_decoder *decoder, const bf_emu_op *op) {
  if (op->run == bf_emu_step_branch)
    return BF_ALONE_BRANCH;
  if (op->run == bf_emu_step_join)
    return BF_ALONE_JOIN;
  for (unsigned i = 0; !op->form && decoder->isa->alone[i]; i++)
    for (const bf_alone_row *row = decoder->isa->alone[i]; row->run; row++)
      if (row->run == op->run)
        return row->form;
  return (bf_alone_form)op->form;
}

/* The forms of all operations, with what they take over from the one before. */
static void set_forms(const bf_emu_decoder *decoder, bf_emu_code *code) {
  bf_alone_form before = BF_ALONE_NONE;
  for (uint32_t i = 0; i < code->ops; i++) {
    bf_emu_op *op = &code->op[i];
    bf_alone_form form = form_of(decoder, op);
    unsigned way = BF_ALONE_FROM_MEMORY;
    if (form != BF_ALONE_NONE && form != BF_ALONE_BRANCH &&
        (op->guard != BF_EMU_TRUE || op->guard_flip)) {
      op->guarded = (uint16_t)(BF_ALONE_WAYS * form);
      form = BF_ALONE_GUARDED;
    }
    if (bf_alone_gives(before) && bf_alone_gives(form))
      way = op[-1].d == op->a   ? BF_ALONE_A
            : op[-1].d == op->b ? BF_ALONE_B
            : op[-1].d == op->c ? BF_ALONE_C
                                : BF_ALONE_FROM_MEMORY;
    op->form = (uint16_t)(BF_ALONE_WAYS * form + way);
    before = form;
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
  code->frame_bytes = (uint32_t)bf_emu_align(decoder->frame_bytes, 64);
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
  set_forms(decoder, code);
  fill_first_frame(decoder, code->first_frame);
  keep_shared_places(decoder, code);
}

/* Decodes all instructions, with joins between them and the end behind them. */
static void decode_body(bf_emu_decoder *decoder, const bool *is_join, const bool *lines_up,
                        uint32_t *first_op, bf_text *refused, unsigned *refused_count,
                        unsigned *site_capacity) {
  uint32_t count = decoder->function->instructions;
  for (decoder->index = 0; decoder->index < count && !decoder->failed; decoder->index++) {
    first_op[decoder->index] = decoder->ops;
    decoder->guard = BF_EMU_TRUE;
    decoder->guard_flip = 0;
    bf_emu_op *join = is_join[decoder->index] ? append(decoder) : NULL;
    if (join)
      join->run = bf_emu_step_join;
    bf_emu_op *line_up = lines_up[decoder->index] ? append(decoder) : NULL;
    if (line_up)
      line_up->run = bf_emu_step_line_up;
    decode_instruction(decoder, site_capacity);
    if (decoder->failed || decoder->op[decoder->ops - 1].run)
      continue;
    if ((*refused_count)++ >= BF_EMU_REFUSED_LISTED)
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

int bf_emu_decode_function(bf_emu_decoder *decoder, bf_text *refused, unsigned *refused_count,
                           unsigned *site_capacity, bf_diagnostic *diagnostic) {
  const bf_ptx_function *function = decoder->function;
  bf_ptx_flow *flow = NULL;
  BF_TRY(bf_ptx_flow_create(function, &flow, diagnostic));
  decoder->flow = flow;
  decoder->frame_bytes = BF_EMU_NOWHERE + 512;
  decoder->place = calloc(function->registers + 1, sizeof *decoder->place);
  uint32_t *first_op = calloc(function->instructions + 1, sizeof *first_op);
  bool *is_join = calloc(function->instructions + 1, sizeof *is_join);
  bool *lines_up = calloc(function->instructions + 1, sizeof *lines_up);
  uint32_t *ways = calloc(flow->blocks + 1, sizeof *ways);
  decoder->reads = calloc(function->registers + 1, sizeof *decoder->reads);
  decoder->block_order = calloc(flow->blocks + 1, sizeof *decoder->block_order);
  if (!decoder->place || !decoder->reads || !decoder->block_order || !first_op || !is_join ||
      !ways || !lines_up)
    decoder->failed = true;
  if (!decoder->failed) {
    if (!function->is_entry)
      place_formals(decoder);
    place_registers(decoder, function->body, true);
    place_registers(decoder, function->body, false);
    place_variables(decoder, function->body);
    mark_joins(function, flow, ways, is_join);
    number_blocks(flow, decoder->block_order, ways);
    bf_emu_mark_line_ups(function, flow, (bool *)ways, lines_up);
    bf_emu_mark_reads(function, decoder->reads);
  }
  if (!decoder->failed)
    decode_body(decoder, is_join, lines_up, first_op, refused, refused_count, site_capacity);
  if (!decoder->failed)
    keep_code(decoder, first_op);
  free(first_op);
  free(is_join);
  free(lines_up);
  free(ways);
  bf_ptx_flow_free(flow);
  free_decoder(decoder);
  return decoder->failed ? bf_no_memory(diagnostic) : BF_OK;
}
