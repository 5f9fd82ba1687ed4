/* Inside room emu: what reductions of bulk copies and red.async do to an element in memory. */
#ifndef BF_EMU_REDUCE_H
#define BF_EMU_REDUCE_H

#include "ptx/ptx.h"

typedef enum bf_emu_reduction {
  BF_EMU_REDUCE_NONE, /* a copy */
  BF_EMU_REDUCE_ADD,
  BF_EMU_REDUCE_MIN,
  BF_EMU_REDUCE_MAX,
  BF_EMU_REDUCE_INC,
  BF_EMU_REDUCE_DEC,
  BF_EMU_REDUCE_AND,
  BF_EMU_REDUCE_OR,
  BF_EMU_REDUCE_XOR,
} bf_emu_reduction;

typedef struct bf_emu_reduce {
  bf_emu_reduction operation;
  bf_ptx_type type;
} bf_emu_reduce;

/* The operation that a modifier of the instruction names, or NONE. */
bf_emu_reduction bf_emu_reduction_of(const bf_ptx_instruction *instruction);
/* Whether the operation exists for the type. */
bool bf_emu_reduce_is_possible(const bf_emu_reduce *reduce);
/* Bytes of an element. */
unsigned bf_emu_reduce_bytes(const bf_emu_reduce *reduce);
/* The element at `to` becomes the result with the one at `from`, in one step. */
void bf_emu_reduce_into(const bf_emu_reduce *reduce, uint8_t *to, const uint8_t *from);

#endif
