/* Approximations: rcp, sqrt, rsqrt, sin, cos, ex2, lg2, tanh, div.approx. */
#include "emu/inner.h"

bool BF_EMU_NAME(bf_emu_select_math)(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                     bf_emu_op *op);

bool BF_EMU_NAME(bf_emu_select_math)(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                     bf_emu_op *op) {
  (void)decoder, (void)instruction, (void)op;
  return false;
}
