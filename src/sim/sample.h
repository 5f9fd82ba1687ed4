/* sim/sample: launches of which a part is simulated, and what is known from it of all.
 *
 * Blocks. As many blocks as fit on the GPU at once are a wave. A launch is simulated from its first
 * block on until waves take an even time, and as many blocks more as the grid has beside whole
 * waves, as if there were no others; the others run on the emulator, so that memory holds what it
 * would hold, and instructions are counted. The time of the whole is that of the part, and for the
 * instructions that were left out that of the later waves.
 *
 * Launches. Of launches of a kernel with one shape and hash the first few are simulated, and from
 * then on ever fewer; the others run on the emulator, and take their instructions times the mean
 * cycles of an instruction.
 *
 * What differs between waves, or launches, says how far that may be off: intervals are meant to
 * hold the cycles of the full simulation in 95 of 100 cases. */
#ifndef BF_SIM_SAMPLE_H
#define BF_SIM_SAMPLE_H

#include "sim/sim.h"

/* What was seen of launches so far. */
typedef struct bf_sim_sampler bf_sim_sampler;

/* share: of the waves of a launch that are simulated at most, whether they are even or not; at
 * least 24 are. 0: until they are even. NULL: out of memory. */
bf_sim_sampler *bf_sim_sampler_create(double share);
void bf_sim_sampler_free(bf_sim_sampler *sampler);
/* Reads a share: "0.1", "10%" or "auto", which is 0. False: it is none. */
bool bf_sim_sample_share(const char *text, double *share);

/* bf_sim_run of a part of a launch, or of none; counts are those of the whole by the instructions
 * of the part. result->cycles_low and cycles_high are set where not all was simulated. */
int bf_sim_sampler_run(bf_sim_sampler *sampler, const bf_sim_settings *settings, bf_emu *emu,
                       const bf_emu_launch *launch, bf_sim_result *result,
                       bf_diagnostic *diagnostic);

#endif
