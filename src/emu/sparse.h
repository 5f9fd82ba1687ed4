/* Inside room emu: the metadata of sparse products (mma.sp, wgmma.mma_async.sp).
 *
 * Half of a row of A is left out, and 4 bits of metadata say for each chunk of the row what is
 * kept: of 8- and 16-bit types two of four elements, by two bits each; of tf32 one of two, 0100 the
 * first and 1110 the second; of 4-bit types two of four pairs. The bits of a row, lowest first, are
 * in registers of the four lanes that share it, g = row % 8:
 *   16 bits and more: 16 bits of row g in the low half of a lane's register, of row g + 8 in the
 * high half; lanes 4g + first on have the first 16 bits, the next and so on. less: 32 bits of row g
 * in lane 4g + first, of row g + 8 in the next lane; then the next 32 bits of both. Where that
 * needs one or two lanes of the four, the selector says which. */
#ifndef BF_EMU_SPARSE_H
#define BF_EMU_SPARSE_H

#include "emu/panel.h"

/* Elements that are kept of a chunk. */
static inline unsigned bf_sparse_per_chunk(bf_ptx_type type) {
  unsigned bits = bf_matrix_bits(type);
  return bits == 32 ? 1 : bits == 4 ? 4 : 2;
}

/* Lanes of four that hold the metadata of rows with kept elements. */
static inline unsigned bf_sparse_lanes(bf_ptx_type type, unsigned kept) {
  return 2 * 4 * (kept / bf_sparse_per_chunk(type)) / 32;
}

/* Binds the operands metadata and selector. */
static inline bool bf_sparse_bind(bf_emu_decoder *decoder, const bf_ptx_operand *operand,
                                  bf_ptx_type type, unsigned kept, uint32_t *metadata,
                                  unsigned *selector) {
  unsigned lanes = bf_sparse_lanes(type, kept);
  if (lanes == 0 || lanes > 4)
    return bf_emu_refuse(decoder, "sparse product of this shape and type"), false;
  if (bf_emu_register_bytes(&operand[0], BF_PTX_B32) != 4)
    return bf_emu_refuse(decoder, "metadata that does not have 32 bits"), false;
  *metadata = bf_emu_source(decoder, &operand[0], BF_PTX_B32);
  if (operand[1].kind != BF_PTX_INTEGER || operand[1].bits >= 4 / lanes)
    return bf_emu_refuse(decoder, "a sparsity selector that the shape does not have"), false;
  *selector = (unsigned)operand[1].bits;
  return true;
}

/* The metadata of a row of 16, 64 bits at most. */
static inline uint64_t bf_sparse_row(const uint32_t *word, bf_ptx_type type, unsigned kept,
                                     unsigned selector, unsigned row) {
  unsigned lanes = bf_sparse_lanes(type, kept), first = row % 8 * 4 + selector * lanes;
  uint64_t bits = 0;
  if (bf_matrix_bits(type) >= 16)
    for (unsigned i = 0; i < lanes; i++)
      bits |= (uint64_t)(word[first + i] >> row / 8 * 16 & 0xffff) << 16 * i;
  else
    for (unsigned i = 0; i < lanes / 2; i++)
      bits |= (uint64_t)word[first + 2 * i + row / 8] << 32 * i;
  return bits;
}

/* Tells where the two elements that metadata names of a chunk of four are not two in order, for
 * which no result is defined: their order matters to wgmma and mma.sp::ordered_metadata alone.
 * False: the launch has ended. */
static inline bool bf_sparse_is_fine(bf_emu_warp *warp, const bf_emu_op *op, unsigned row,
                                     unsigned chunk, unsigned four, bool is_ordered) {
  unsigned first = four & 3, second = four >> 2;
  if (first < second || (!is_ordered && first != second))
    return true;
  return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, row % 8 * 4,
                     "the metadata of chunk %u of row %u names place %u and then %u: %s", chunk,
                     row, first, second,
                     first == second ? "it must be two" : "the lower one comes first") != NULL;
}

/* For each element that is kept of 16 rows, which k it belongs to. False: the launch has ended. */
static inline bool bf_sparse_lines(bf_emu_warp *warp, const bf_emu_op *op, uint32_t metadata,
                                   unsigned selector, bf_ptx_type type, unsigned kept,
                                   bool is_ordered, uint8_t *line) {
  unsigned per_chunk = bf_sparse_per_chunk(type), wide = 2 * per_chunk;
  for (unsigned row = 0; row < 16; row++) {
    uint64_t bits = bf_sparse_row(BF_LANES(const uint32_t, metadata), type, kept, selector, row);
    for (unsigned e = 0; e < kept; e++) {
      unsigned chunk = e / per_chunk, in = e % per_chunk, four = bits >> 4 * chunk & 15, place;
      if (per_chunk > 1 && in == 0 && warp->worker->flight->races &&
          !bf_sparse_is_fine(warp, op, row, chunk, four, is_ordered))
        return false;
      if (per_chunk == 1) {
        if (four != 4 && four != 14)
          return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, row % 8 * 4,
                             "the metadata of chunk %u of row %u is %u; tf32 has 4 and 14 only",
                             chunk, row, four) != NULL;
        place = four == 14;
      } else if (per_chunk == 2) {
        place = four >> 2 * in & 3;
      } else {
        place = (four >> 2 * (in / 2) & 3) * 2 + in % 2;
      }
      line[row * kept + e] = (uint8_t)(chunk * wide + place);
    }
  }
  return true;
}

#endif
