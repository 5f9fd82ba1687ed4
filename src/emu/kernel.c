/* Kernels: a kernel is decoded together with the functions it can call, because shared memory is
 * laid out per kernel. */
#include "emu/decode.h"
#include "ptx/rewritten.h"

#include <stdlib.h>

enum { MERGES_AS = 90 }; /* the architecture whose ptxas is modelled */

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
  return grown ? BF_OK : bf_no_memory(diagnostic);
}

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

static bool is_of_reserved(bf_ptx_special special) {
  return special >= BF_PTX_SPECIAL_RESERVED_SMEM_BEGIN && special <= BF_PTX_SPECIAL_RESERVED_SMEM;
}

/* Notes what shared memory an operand names. */
static void add_shared_of_operand(bf_emu_decoder *decoder, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_SPECIAL)
    decoder->kernel->uses_reserved |= is_of_reserved(operand->special);
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
    decoder->kernel->owns_rows |= bf_ptx_is_rewritten(code->function);
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
    unsigned alignment = bf_emu_alignment(variable);
    if (variable->bytes == 0) {
      needs->has_dynamic_shared = true;
      dynamic_alignment = alignment > dynamic_alignment ? alignment : dynamic_alignment;
      continue;
    }
    at = bf_emu_align(at, alignment);
    decoder->shared[i].offset = at;
    at += variable->bytes;
  }
  needs->shared_bytes = at;
  decoder->kernel->dynamic_offset =
      needs->has_dynamic_shared ? bf_emu_align(at, dynamic_alignment) : at;
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
    at = bf_emu_align(at, bf_emu_alignment(&parameters->item[i]));
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
    if (strcmp(directive->name, "reqnctapercluster") == 0)
      for (unsigned k = 0; k < 3; k++) {
        uint64_t size = k < directive->numbers && directive->number[k] ? directive->number[k] : 1;
        kernel->needs.exact_cluster[k] = (uint32_t)(size < 4096 ? size : 4096);
      }
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
  uint32_t instructions = 0;
  for (bf_emu_code *code = common->kernel->code; code; code = code->next) {
    code->first_instruction = instructions;
    instructions += code->function->instructions;
    bf_emu_decoder decoder = *common;
    decoder.code = code;
    decoder.function = code->function;
    size_t before = refused->size;
    unsigned first_site = common->kernel->site_count;
    BF_TRY(bf_emu_decode_function(&decoder, refused, refused_count, &site_capacity, diagnostic));
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
    return bf_no_memory(diagnostic);
  made->arena = arena;
  made->module = module;
  made->function = function;
  made->isa = module->emu->isa;
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
  int error = common.failed ? bf_no_memory(diagnostic)
                            : decode_all(&common, &refused, &refused_count, diagnostic);
  if (!error && refused_count) {
    if (refused_count > BF_EMU_REFUSED_LISTED)
      bf_text_addf(&refused, " and %u more", refused_count - BF_EMU_REFUSED_LISTED);
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
