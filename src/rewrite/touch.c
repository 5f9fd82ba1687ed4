/* How instructions touch shared memory, and which of them no rewriting can follow.
 *
 * An instruction that names shared memory and is not known here is refused, so that a new one can
 * never be overlooked. It names shared memory by .shared, or without a state space by the variable
 * in its address: ptxas takes ld.u32 %r, [s] for ld.shared.u32 where s is in shared memory. */
#include "rewrite/inner.h"

#include "ptx/origin.h"
#include "ptx/tile.h"

#include <string.h>

/* The first operand that is an address, or the number of operands. */
static unsigned find_address(const bf_ptx_instruction *instruction) {
  unsigned i = 0;
  while (i < instruction->operands && instruction->operand[i].kind != BF_PTX_ADDRESS)
    i++;
  return i;
}

/* Bytes per lane; 0: not known. */
static unsigned width_of(const bf_ptx_instruction *instruction) {
  switch (instruction->opcode) {
  case BF_PTX_OP_LDMATRIX:
  case BF_PTX_OP_STMATRIX:
    return bf_ptx_has(instruction, "m8n8") ? 16 : 0; /* a lane points to a row of a matrix */
  case BF_PTX_OP_CP:
    if (instruction->operands < 3 || instruction->operand[2].kind != BF_PTX_INTEGER)
      return 0;
    return instruction->operand[2].bits <= BF_REWRITE_MOST_WIDTH_BYTES
               ? (unsigned)instruction->operand[2].bits
               : 0;
  default:
    if (instruction->types == 0)
      return 0;
    return bf_ptx_type_bytes(instruction->type[0]) * instruction->vector;
  }
}

static bool is_bulk(const bf_ptx_instruction *instruction) {
  return bf_ptx_has(instruction, "bulk");
}

/* Whether an address is that of a shared variable, by its name. */
static bool is_shared_name(const bf_ptx_operand *address) {
  const bf_ptx_operand *base =
      address->kind == BF_PTX_ADDRESS && address->count ? address->item : NULL;
  return base && base->kind == BF_PTX_SYMBOL && base->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
         base->symbol->variable->space == BF_PTX_SPACE_SHARED;
}

bool bf_rewrite_lacks_space(const bf_ptx_instruction *instruction) {
  return instruction->space == BF_PTX_SPACE_NONE &&
         bf_rewrite_touch(instruction).kind == BF_TOUCH_SHARED &&
         !bf_rewrite_touch(instruction).is_copy;
}

/* Whether a modifier stands before the state space. */
static bool comes_before_space(const char *modifier) {
  static const char *const before[] = {
      "load",    "store",   "row",     "col", "weak",    "volatile", "relaxed", "acquire",
      "release", "acq_rel", "seq_cst", "cta", "cluster", "gpu",      "sys",     "sync",
      "aligned", "m8n8",    "x1",      "x2",  "x4",      "trans"};
  if (strlen(modifier) == 1 || (modifier[0] == 'm' && strchr(modifier, 'k')))
    return true; /* of wmma: the role of a matrix, and the shape */
  for (size_t i = 0; i < sizeof before / sizeof *before; i++)
    if (strcmp(modifier, before[i]) == 0)
      return true;
  return false;
}

bool bf_rewrite_name_space(bf_ptx_instruction *instruction, bf_arena *arena) {
  unsigned at = 0;
  const char **modifier =
      bf_arena_alloc(arena, ((size_t)instruction->modifiers + 1) * sizeof *modifier);
  if (!modifier)
    return false;
  while (at < instruction->modifiers && comes_before_space(instruction->modifier[at]))
    at++;
  for (unsigned i = 0; i <= instruction->modifiers; i++)
    modifier[i] = i == at ? "shared" : instruction->modifier[i < at ? i : i - 1];
  instruction->modifier = modifier;
  instruction->modifiers++;
  instruction->space = BF_PTX_SPACE_SHARED;
  return true;
}

bf_touch bf_rewrite_touch(const bf_ptx_instruction *instruction) {
  bf_touch touch = {.operand = find_address(instruction)};
  bf_ptx_tile tile;
  if (touch.operand == instruction->operands)
    return touch;
  if (bf_ptx_copied_operand(instruction) < instruction->operands)
    return (bf_touch){.kind = BF_TOUCH_SHARED,
                      .operand = bf_ptx_copied_operand(instruction),
                      .width_bytes = BF_REWRITE_ROW_BYTES,
                      .is_copy = true};
  switch (instruction->opcode) {
  case BF_PTX_OP_WMMA:
  case BF_PTX_OP_LD:
  case BF_PTX_OP_LDU:
  case BF_PTX_OP_ST:
  case BF_PTX_OP_ATOM:
  case BF_PTX_OP_RED:
  case BF_PTX_OP_LDMATRIX:
  case BF_PTX_OP_STMATRIX:
    if (instruction->space == BF_PTX_SPACE_SHARED)
      touch.kind = BF_TOUCH_SHARED;
    else if (instruction->space == BF_PTX_SPACE_NONE)
      touch.kind =
          is_shared_name(&instruction->operand[touch.operand]) ? BF_TOUCH_SHARED : BF_TOUCH_GENERIC;
    break;
  case BF_PTX_OP_CP:
    if (bf_ptx_has(instruction, "mbarrier"))
      touch.kind = BF_TOUCH_BARRIER;
    else if (!is_bulk(instruction))
      touch.kind = BF_TOUCH_SHARED;
    break;
  case BF_PTX_OP_MBARRIER:
    touch.kind = BF_TOUCH_BARRIER;
    break;
  default:
    break;
  }
  touch.is_tile = touch.kind != BF_TOUCH_NONE && instruction->opcode == BF_PTX_OP_WMMA;
  if (touch.is_tile)
    touch.width_bytes =
        bf_ptx_tile_read(instruction, &tile) ? tile.line_elements * tile.element_bytes : 0;
  else if (touch.kind == BF_TOUCH_SHARED || touch.kind == BF_TOUCH_GENERIC)
    touch.width_bytes = width_of(instruction);
  return touch;
}

unsigned bf_rewrite_granule(const bf_touch *touch) {
  return touch->is_tile || touch->is_copy ? BF_REWRITE_ROW_BYTES : touch->width_bytes;
}

/* load_matrix_sync and store_matrix_sync ask for a stride of whole 16 bytes. Published: CUDA C++
 * Programming Guide, warp matrix functions. */
unsigned bf_rewrite_padding_grain(const bf_touch *touch) {
  return touch->is_tile ? BF_REWRITE_MOST_WIDTH_BYTES : touch->width_bytes;
}

/* Whether the operand, or one inside it, is generic(variable). */
static bool is_generic_name(const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_SYMBOL)
    return operand->generic;
  bool has_items = operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
                   operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand->count; i++)
    if (is_generic_name(&operand->item[i]))
      return true;
  return false;
}

bool bf_rewrite_makes_generic(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i < instruction->operands; i++)
    if (is_generic_name(&instruction->operand[i]))
      return true;
  return instruction->opcode == BF_PTX_OP_CVTA && instruction->space == BF_PTX_SPACE_SHARED &&
         !bf_ptx_has(instruction, "to");
}

/* ---- Refusals ---- */

/* Whether a modifier is .shared, or .shared:: and more. */
static bool names_shared(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i < instruction->modifiers; i++) {
    const char *modifier = instruction->modifier[i];
    if (strncmp(modifier, "shared", 6) == 0 && (modifier[6] == 0 || modifier[6] == ':'))
      return true;
  }
  return false;
}

/* Whether an address of the instruction is that of a shared variable, by its name. */
static bool names_shared_variable(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i < instruction->operands; i++)
    if (is_shared_name(&instruction->operand[i]))
      return true;
  return false;
}

static const struct {
  bf_ptx_opcode opcode;
  const char *text;
} refused[] = {
    {BF_PTX_OP_MAPA, "mapa: shared memory of other blocks of a cluster"},
    {BF_PTX_OP_GETCTARANK, "getctarank: shared memory of other blocks of a cluster"},
    {BF_PTX_OP_CLUSTERLAUNCHCONTROL, "clusterlaunchcontrol writes to shared memory"},
    {BF_PTX_OP_WGMMA, "wgmma reads matrices in shared memory by descriptors"},
    {BF_PTX_OP_TCGEN05, "tcgen05 reads shared memory by descriptors"},
};

/* Instructions that may name shared memory without touching it. */
static bool only_names_shared(bf_ptx_opcode opcode) {
  return opcode == BF_PTX_OP_CVTA || opcode == BF_PTX_OP_ISSPACEP || opcode == BF_PTX_OP_FENCE ||
         opcode == BF_PTX_OP_MEMBAR;
}

static const char *refuse_special(bf_ptx_special special) {
  switch (special) {
  case BF_PTX_SPECIAL_RESERVED_SMEM_BEGIN:
  case BF_PTX_SPECIAL_RESERVED_SMEM_END:
  case BF_PTX_SPECIAL_RESERVED_SMEM_CAP:
  case BF_PTX_SPECIAL_RESERVED_SMEM:
    return "the shared memory that the system reserves";
  case BF_PTX_SPECIAL_TOTAL_SMEM_SIZE:
  case BF_PTX_SPECIAL_AGGR_SMEM_SIZE:
  case BF_PTX_SPECIAL_DYNAMIC_SMEM_SIZE:
    return "the size of shared memory, which padding changes";
  default:
    return NULL;
  }
}

/* Special registers that a rewritten kernel would find different. */
static const char *refuse_operand(const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_SPECIAL)
    return refuse_special(operand->special);
  bool has_items = operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
                   operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS;
  const char *text = NULL;
  for (uint32_t i = 0; has_items && !text && i < operand->count; i++)
    text = refuse_operand(&operand->item[i]);
  return text;
}

/* Copies whose one end is shared memory. */
static const char *refuse_copy(const bf_ptx_instruction *instruction) {
  bool moves = !bf_ptx_has(instruction, "commit_group") && !bf_ptx_has(instruction, "wait_group") &&
               !bf_ptx_has(instruction, "prefetch");
  if (is_bulk(instruction) && moves && bf_ptx_copied_operand(instruction) == instruction->operands)
    return bf_ptx_has(instruction, "tensor") ? "cp.async.bulk.tensor on shared memory"
                                             : "cp.async.bulk on shared memory";
  return NULL;
}

/* An address that is one register of 32 or 64 bits, one variable or one number. */
static bool is_plain_address(const bf_ptx_operand *address) {
  const bf_ptx_operand *item = address->item;
  if (address->count != 1 || address->unified)
    return false;
  if (item->kind == BF_PTX_REGISTER) {
    unsigned bytes = bf_ptx_type_bytes(item->registers->type);
    return !item->registers->vector && !item->component && (bytes == 4 || bytes == 8);
  }
  if (item->kind == BF_PTX_SYMBOL)
    return item->symbol->kind == BF_PTX_SYMBOL_VARIABLE && !item->generic && !item->mask;
  return item->kind == BF_PTX_INTEGER;
}

/* Whether an access without a state space may be written with .shared. */
static bool takes_space(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i < instruction->modifiers; i++)
    if (strstr(instruction->modifier[i], "::") || strcmp(instruction->modifier[i], "mmio") == 0)
      return false;
  return instruction->opcode != BF_PTX_OP_LDU;
}

/* What makes an access one that no code here can hash. */
static const char *refuse_access(const bf_ptx_instruction *instruction, bool reaches_generic) {
  bf_touch touch = bf_rewrite_touch(instruction);
  if (touch.kind == BF_TOUCH_NONE || touch.kind == BF_TOUCH_BARRIER)
    return NULL;
  if (touch.kind == BF_TOUCH_GENERIC && !reaches_generic)
    return instruction->opcode == BF_PTX_OP_LDMATRIX || instruction->opcode == BF_PTX_OP_STMATRIX
               ? "a matrix by a generic address that the kernel did not make"
               : NULL;
  const bf_ptx_operand *address = &instruction->operand[touch.operand];
  if (!is_plain_address(address))
    return "an address in a form that is not understood";
  bool by_name = address->item[0].kind == BF_PTX_SYMBOL;
  bool of_shared = by_name && address->item[0].symbol->variable->space == BF_PTX_SPACE_SHARED;
  if (touch.kind == BF_TOUCH_GENERIC && (of_shared || address->item[0].kind == BF_PTX_INTEGER))
    return "a generic access that names its address";
  if (touch.kind == BF_TOUCH_SHARED && by_name && !of_shared)
    return "a shared access to a variable that is not in shared memory";
  if (bf_rewrite_lacks_space(instruction) && !takes_space(instruction))
    return "an access to a shared variable in a form that .shared does not have";
  if (touch.is_tile && touch.width_bytes == 0)
    return "wmma on shared memory in a form that is not understood";
  if (touch.is_copy)
    return NULL;
  if (touch.width_bytes == 0 || (touch.width_bytes > BF_REWRITE_MOST_WIDTH_BYTES && !touch.is_tile))
    return "an access of unknown width";
  return NULL;
}

/* st.async and red.async, which complete at an mbarrier. */
static bool is_asynchronous(const bf_ptx_instruction *instruction) {
  return (instruction->opcode == BF_PTX_OP_ST || instruction->opcode == BF_PTX_OP_RED) &&
         bf_ptx_has(instruction, "async");
}

const char *bf_rewrite_sees_layout(const bf_ptx_instruction *instruction) {
  const char *text = NULL;
  for (unsigned i = 0; !text && i < instruction->operands; i++)
    text = refuse_operand(&instruction->operand[i]);
  return text;
}

const char *bf_rewrite_refusal(const bf_ptx_instruction *instruction, bool reaches_generic) {
  const char *text = bf_rewrite_sees_layout(instruction);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    if (refused[i].opcode == instruction->opcode)
      return refused[i].text;
  if (text)
    return text;
  if (bf_ptx_has(instruction, "shared::cluster") && !is_bulk(instruction))
    return "shared memory of other blocks of a cluster";
  if (instruction->opcode == BF_PTX_OP_CP && (text = refuse_copy(instruction)))
    return text;
  if (is_asynchronous(instruction))
    return "an asynchronous store to shared memory";
  if (instruction->opcode == BF_PTX_OP_TENSORMAP && reaches_generic &&
      instruction->space == BF_PTX_SPACE_NONE)
    return "tensormap by a generic address";
  bool touches = bf_rewrite_touch(instruction).kind != BF_TOUCH_NONE;
  bool is_named = names_shared(instruction) || names_shared_variable(instruction);
  if (is_named && !touches && !is_bulk(instruction) && !only_names_shared(instruction->opcode))
    return "an instruction on shared memory that is not understood";
  return refuse_access(instruction, reaches_generic);
}
