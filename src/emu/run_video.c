/* Video instructions: vadd, vabsdiff4 and their relatives. */
#include "emu/inner.h"

bool BF_EMU_NAME(bf_emu_select_video)(bf_emu_decoder *decoder,
                                      const bf_ptx_instruction *instruction, bf_emu_op *op);

bool BF_EMU_NAME(bf_emu_select_video)(bf_emu_decoder *decoder,
                                      const bf_ptx_instruction *instruction, bf_emu_op *op) {
  (void)decoder, (void)instruction, (void)op;
  return false;
}
