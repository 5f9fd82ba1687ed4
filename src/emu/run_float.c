/* Floating point in 32 and 64 bits: add, sub, mul, fma, div, sqrt, rcp, min, max. */
#include "emu/inner.h"

bool BF_EMU_NAME(bf_emu_select_float)(bf_emu_decoder *decoder,
                                      const bf_ptx_instruction *instruction, bf_emu_op *op);

bool BF_EMU_NAME(bf_emu_select_float)(bf_emu_decoder *decoder,
                                      const bf_ptx_instruction *instruction, bf_emu_op *op) {
  (void)decoder, (void)instruction, (void)op;
  return false;
}
