/* Operations of several lanes: shfl, vote, match, redux, activemask, elect. */
#include "emu/inner.h"

bool BF_EMU_NAME(bf_emu_select_warp)(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                     bf_emu_op *op);

bool BF_EMU_NAME(bf_emu_select_warp)(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                     bf_emu_op *op) {
  (void)decoder, (void)instruction, (void)op;
  return false;
}
