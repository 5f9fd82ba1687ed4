/* What instructions on shared memory are in traces. */
#include "analyze/walk.h"

#include "ptx/tile.h"

static bool reads_register(const bf_ptx_operand *operand, uint32_t number) {
  uint32_t other;
  if (bf_operand_register(operand, &other))
    return other == number;
  bool has_items = operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
                   operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand->count; i++)
    if (reads_register(&operand->item[i], number))
      return true;
  return false;
}

/* Whether something reads the result of an atomic; ptxas makes a reduction of one that is not
 * read. */
static bool is_result_used(const bf_ptx_function *function, const bf_ptx_instruction *atomic) {
  uint32_t number;
  if (atomic->opcode != BF_PTX_OP_ATOM || atomic->operand[0].kind == BF_PTX_SINK)
    return false;
  if (!bf_operand_register(&atomic->operand[0], &number))
    return true;
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *instruction = function->instruction[i];
    bool writes = bf_ptx_op_get(instruction->opcode)->operands[0] == 'd';
    if (instruction->guard && reads_register(instruction->guard, number))
      return true;
    for (unsigned k = writes ? 1 : 0; k < instruction->operands; k++)
      if (reads_register(&instruction->operand[k], number))
        return true;
  }
  return false;
}

/* ---- wmma ----
 *
 * A tile is moved in pieces: of 16 bits, by ldmatrix, eight lines of 16 bytes for each matrix; else
 * register by register, as mma has them: lane 4 g + t has line g and, where a register holds
 * several elements or a thread two neighbours of c, those from t times as many on. Across lines it
 * is the other way round, element by element. */

typedef struct piece {
  bf_op op;
  unsigned width_bytes, elements; /* that a lane has, side by side in the matrix */
  unsigned count;                 /* of pieces */
} piece;

static piece piece_of(const bf_ptx_tile *tile) {
  unsigned bytes = tile->element_bytes, all = tile->lines * tile->line_elements * bytes;
  if (tile->role != 'c' && bytes == 2) {
    unsigned matrices = all / (8 * 16);
    return (piece){.op = matrices >= 4 ? (tile->is_along ? BF_OP_LDMATRIX4 : BF_OP_LDMATRIXT4)
                                       : BF_OP_LDMATRIX2,
                   .width_bytes = 16,
                   .count = matrices > 4 ? matrices / 4 : 1};
  }
  unsigned elements = tile->role == 'c' ? 2 : bytes < 4 ? 4 / bytes : 1;
  unsigned width = tile->is_along ? elements * bytes : bytes;
  return (piece){.op = tile->is_store ? BF_OP_ST : BF_OP_LD,
                 .width_bytes = width,
                 .elements = elements,
                 .count = all / (BF_ANALYZE_LANES * width)};
}

bool bf_walk_is_tile(const bf_ptx_function *function, const bf_ptx_instruction *instruction,
                     unsigned *pieces, uint64_t distance_bytes[BF_ANALYZE_LANES]) {
  bf_ptx_tile tile;
  uint64_t stride;
  if (!bf_ptx_tile_read(instruction, &tile) ||
      !bf_ptx_tile_stride(function, instruction, &tile, &stride))
    return false;
  const piece own = piece_of(&tile);
  *pieces = own.count;
  for (unsigned lane = 0; lane < BF_ANALYZE_LANES; lane++) {
    unsigned g = lane / 4, t = lane % 4;
    uint64_t line = tile.is_along ? g : t * own.elements;
    uint64_t in_line = (tile.is_along ? t : g) * own.width_bytes;
    if (own.width_bytes == 16 && !own.elements) { /* matrices: first down, then along the line */
      line = lane % 8 + (tile.lines > 8 ? lane / 8 % 2 * 8 : 0);
      in_line = (tile.lines > 8 ? lane / 16 : lane / 8 % 2) * 16;
    }
    distance_bytes[lane] = line * stride + in_line;
  }
  return true;
}

bool bf_walk_kind(const bf_ptx_function *function, const bf_ptx_instruction *instruction, bf_op *op,
                  unsigned *width_bytes) {
  bf_ptx_tile tile;
  uint64_t stride;
  if (bf_ptx_tile_read(instruction, &tile)) {
    const piece own = piece_of(&tile);
    *op = own.op;
    *width_bytes = own.width_bytes;
    return own.count && own.width_bytes <= 16 &&
           bf_ptx_tile_stride(function, instruction, &tile, &stride) &&
           stride % own.width_bytes == 0;
  }
  return bf_ptx_access_kind(instruction, is_result_used(function, instruction), op, width_bytes);
}

uint32_t bf_walk_counted_lanes(const bf_ptx_instruction *instruction) {
  bf_ptx_tile tile;
  if (bf_ptx_tile_read(instruction, &tile) && piece_of(&tile).op == BF_OP_LDMATRIX2)
    return 0xffff;
  if (instruction->opcode != BF_PTX_OP_LDMATRIX && instruction->opcode != BF_PTX_OP_STMATRIX)
    return UINT32_MAX;
  if (bf_ptx_has(instruction, "x4"))
    return UINT32_MAX;
  return bf_ptx_has(instruction, "x2") ? 0xffff : 0xff;
}
