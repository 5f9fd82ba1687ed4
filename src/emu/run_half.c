/* Floating point in 16 bits, alone and in pairs: f16, f16x2, bf16, bf16x2. */
#include "emu/inner.h"

bool BF_EMU_NAME(bf_emu_select_half)(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                     bf_emu_op *op);

bool BF_EMU_NAME(bf_emu_select_half)(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                     bf_emu_op *op) {
  (void)decoder, (void)instruction, (void)op;
  return false;
}
