/* What warps of a launch that cannot go on wait for, in words. */
#include "sim/sim.h"

static void explain_others(const bf_emu_wait *wait, bf_text *text) {
  switch (wait->kind) {
  case BF_EMU_WAIT_NOTHING:
    bf_text_puts(text, "is ready");
    break;
  case BF_EMU_WAIT_BARRIER:
    bf_text_addf(text, "waits at barrier %u", wait->barrier);
    break;
  case BF_EMU_WAIT_LANES:
    bf_text_puts(text, "waits for other lanes");
    break;
  case BF_EMU_WAIT_ENDED:
    bf_text_puts(text, "has ended");
  }
  if (wait->line)
    bf_text_addf(text, " (line %llu)", (unsigned long long)wait->line);
}

void bf_sim_wait_explain(const bf_sim_wait *wait, bf_text *text) {
  bf_text_addf(text, "block %llu, warp %u ", (unsigned long long)wait->block, wait->warp);
  switch (wait->kind) {
  case BF_SIM_WAIT_NOTHING:
    bf_text_puts(text, "is ready");
    break;
  case BF_SIM_WAIT_READY:
    bf_text_addf(text, "is ready in cycle %llu", (unsigned long long)wait->cycle);
    break;
  case BF_SIM_WAIT_ASLEEP:
    bf_text_addf(text, "goes on in cycle %llu", (unsigned long long)wait->cycle);
    break;
  case BF_SIM_WAIT_GLOBAL:
    bf_text_puts(text, "waits for global memory");
    break;
  case BF_SIM_WAIT_MBARRIER:
    bf_text_puts(text, "waits for an mbarrier");
    break;
  case BF_SIM_WAIT_PIPELINE:
    bf_text_puts(text, "waits for its instructions in the pipeline");
    break;
  case BF_SIM_WAIT_OTHERS:
    explain_others(&wait->others, text);
  }
}
