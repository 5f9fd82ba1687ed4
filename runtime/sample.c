/* exec --sample: of each kernel some blocks are counted (emu/sample.h); the others run without
 * being counted, or not at all. */
#include "context.h"

/* Random numbers begin the same way in every run, so that runs can be compared. */
enum { SEED = 1 };

/* Chooses blocks; false where memory is exhausted, and all are counted. */
static bool choose(rt_context *context, rt_tally *tally, bf_emu_launch *launch) {
  bf_diagnostic diagnostic = {.caret = -1};
  uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
  uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
  if (!tally->sampler)
    tally->sampler = bf_sampler_create((uint32_t)context->settings.sample, SEED);
  return tally->sampler &&
         bf_sampler_choose(tally->sampler, blocks, threads, &launch->sample, &launch->samples,
                           &diagnostic) == BF_OK &&
         bf_profile_weigh(tally->profile, launch->samples ? launch->sample : NULL, &diagnostic) ==
             BF_OK;
}

bool rt_sample(rt_context *context, rt_tally *tally, bf_emu_launch *launch) {
  if (!context->settings.sample || context->gpu || !tally->profile)
    return true;
  if (!choose(context, tally, launch)) {
    rt_say(context, "out of memory for samples: a launch is counted as a whole");
    bf_profile_weigh(tally->profile, NULL, NULL);
    launch->sample = NULL;
    launch->samples = 0;
    return true;
  }
  launch->skips_rest = context->settings.skip_rest && !launch->cooperative;
  if (launch->samples == 0) {
    launch->observer = NULL;
    launch->sample = NULL;
  }
  return launch->samples || !launch->skips_rest;
}

bf_sample_size rt_sample_size(const rt_tally *tally) {
  return tally->sampler ? bf_sampler_size(tally->sampler) : (bf_sample_size){0};
}

void rt_sample_bound(const rt_function *function, const rt_tally *tally, bf_costs_kernel *kernel) {
  bf_sample_sums all = {{0}};
  if (!tally->sampler || !tally->profile)
    return;
  for (unsigned i = 0; i < bf_emu_kernel_sites(function->kernel); i++) {
    bf_sample_sums own = bf_profile_sums(tally->profile, i);
    for (unsigned j = 0; j <= BF_SAMPLE_GROUPS; j++)
      all.group[j] += own.group[j];
  }
  bf_sample_size size = bf_sampler_size(tally->sampler);
  bf_sample_interval bounds =
      bf_sample_interval_of(&size, &all, bf_profile_most_of_block(tally->profile));
  kernel->conflicts_low = bounds.low;
  kernel->conflicts_high = bounds.high;
  kernel->blocks = size.blocks;
  kernel->counted_blocks = size.counted;
}

void rt_sample_bound_line(const rt_tally *tally, unsigned site, bf_costs_line *line) {
  if (!tally->sampler || !tally->profile)
    return;
  bf_sample_size size = bf_sampler_size(tally->sampler);
  bf_sample_sums own = bf_profile_sums(tally->profile, site);
  bf_sample_interval bounds =
      bf_sample_interval_of(&size, &own, bf_profile_most_of_block(tally->profile));
  line->conflicts_low = bounds.low;
  line->conflicts_high = bounds.high;
}
