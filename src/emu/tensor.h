/* Inside room emu: boxes of tensors, and their way between global and shared memory. */
#ifndef BF_EMU_TENSOR_H
#define BF_EMU_TENSOR_H

#include "emu/reduce.h"
#include "emu/tensor_map.h"

enum { BF_EMU_PICKED_ROWS = 4 };

/* A box that an instruction names: the map as it was then, where the box begins, and what im2col
 * adds to every pixel. Of gather4 and scatter4 `at` has a column and four rows, and bf_emu_box_pick
 * gives the map their number. */
typedef struct bf_emu_box {
  bf_tensor_map map;
  int32_t at[BF_TENSOR_DIMENSIONS];
  uint16_t offset[3];
  uint32_t shared; /* address of the box in shared memory, on which the swizzle depends */
  bool is_store;
  bool is_picked; /* gather4, scatter4 */
  /* im2col::w: behind so many pixels come halo pixels of the same row, which the next ones repeat.
   */
  uint32_t group, halo;
} bf_emu_box;

/* Makes the box of one row that the map has one of four, each at a place of its own; says what is
 * wrong with such a box, or NULL. */
const char *bf_emu_box_pick(bf_emu_box *box);

/* Makes elements of 4 and 6 bits, 16 of which are 8 or 12 bytes, bytes; says what is wrong with a
 * copy of them, which reduces or not, or NULL. With gaps, each 16 elements begin at a multiple of
 * 16 bytes of shared memory, where what is behind them stays; the bytes of such a box are those
 * without the gaps. Boxes of other types stay as they are. */
const char *bf_emu_box_unpack(bf_emu_box *box, bool reduces);

/* Makes the pixels of im2col::w those that the map, its offset[0] halo pixels and offset[1] name;
 * says what is wrong with them, or NULL. */
const char *bf_emu_box_widen(bf_emu_box *box);

/* Bytes of a box in shared memory. */
uint64_t bf_emu_box_bytes(const bf_tensor_map *map);
/* Bytes of shared memory that it lies in: more, where rows are shorter than the swizzle is wide. */
uint64_t bf_emu_box_span(const bf_tensor_map *map);
/* The global memory that a box touches, from the lowest byte to behind the highest one; false: all
 * of it lies outside the tensor. */
bool bf_emu_box_range(const bf_emu_box *box, uint64_t *first, uint64_t *end);
/* Tells of the rows of a box in global memory that lie inside the tensor. */
void bf_emu_box_rows(const bf_emu_box *box,
                     void (*found)(void *context, uint64_t address, uint64_t bytes), void *context);
/* Moves a box between global memory and shared memory, which starts at shared (of a store: from).
 */
void bf_emu_box_move(const bf_emu_box *box, const bf_emu_reduce *reduce, uint8_t *to,
                     const uint8_t *from);
/* What is wrong with an instruction of so many coordinates that uses the map, or NULL. */
const char *bf_emu_box_check(const bf_emu_box *box, unsigned rank, bf_tensor_im2col mode);

#endif
