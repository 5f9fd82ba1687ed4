/* The rule that decides about a hash. */
#include "tune/judge.h"

#include "search/ladder.h"

#include <math.h>

uint64_t bf_work_cycles(uint64_t wavefronts, uint64_t warp_instructions, uint64_t blocks,
                        unsigned multiprocessors, unsigned schedulers) {
  uint64_t busy = blocks < multiprocessors ? blocks : multiprocessors;
  return busy && schedulers ? (wavefronts + warp_instructions / schedulers) / busy : 0;
}

/* ---- What decides ---- */

typedef enum basis { TIMES, CYCLES, PREDICTED, COUNTS } basis;

/* The best that is known of both sides. */
static basis basis_of(const bf_comparison *c) {
  if (c->before.ns > 0 && c->after.ns > 0)
    return TIMES;
  if (c->before.cycles && c->after.cycles)
    return CYCLES;
  return c->before.predicted_cycles > 0 && c->after.predicted_cycles > 0 ? PREDICTED : COUNTS;
}

static double cost_of(const bf_evidence *evidence) {
  return bf_cost_in_wavefronts((double)evidence->wavefronts, (double)evidence->instructions);
}

double bf_judge_gain(const bf_comparison *c) { return cost_of(&c->before) - cost_of(&c->after); }

static double work_share(const bf_comparison *c) {
  return cost_of(&c->before) > 0 ? cost_of(&c->after) / cost_of(&c->before) : 1;
}

double bf_judge_share(const bf_comparison *c) {
  switch (basis_of(c)) {
  case TIMES:
    return c->after.ns / c->before.ns;
  case CYCLES:
    return (double)c->after.cycles / (double)c->before.cycles;
  case PREDICTED:
    return c->after.predicted_cycles / c->before.predicted_cycles;
  default:
    return work_share(c);
  }
}

double bf_judge_likely_share(const bf_comparison *c) {
  return basis_of(c) == PREDICTED && c->after.likely_share > 0 ? c->after.likely_share
                                                               : bf_judge_share(c);
}

double bf_judge_likely_work(const bf_comparison *c) {
  return c->after.likely_work > 0 ? c->after.likely_work : work_share(c);
}

/* ---- The rule ---- */

double bf_judge_noise(const bf_comparison *c) {
  if (basis_of(c) == PREDICTED)
    return c->before.error > c->after.error ? c->before.error : c->after.error;
  return c->before.noise > c->after.noise ? c->before.noise : c->after.noise;
}

static bool is_faster(const bf_comparison *c) {
  double margin = bf_judge_noise(c) > BF_JUDGE_LEAST_GAIN ? bf_judge_noise(c) : BF_JUDGE_LEAST_GAIN;
  return c->after.ns < c->before.ns * (1 - margin);
}

/* Whether the work that is saved is worth the margin. */
static bool saves_work(const bf_comparison *c) {
  return c->before.work_cycles * 100 >=
         c->after.work_cycles * 100 + c->before.cycles * BF_JUDGE_MARGIN_PERCENT;
}

/* Whether a gain is surer than that the simulator errs: its interval lies above 1. */
static bool is_beyond_error(const bf_comparison *c) {
  return (double)c->before.cycles > BF_JUDGE_SIMULATED_GAIN * (double)c->after.cycles;
}

/* Whether the work that is left is told from that of the kernel as it is, which adds no code. */
static bool leaves_less(const bf_comparison *c) {
  return bf_judge_gain(c) > BF_JUDGE_LEAST_WORK * cost_of(&c->before);
}

bool bf_judge_is_worth(const bf_comparison *c) {
  switch (basis_of(c)) {
  case TIMES:
    return is_faster(c);
  case CYCLES:
    return c->after.cycles < c->before.cycles && (saves_work(c) || is_beyond_error(c));
  case PREDICTED:
    return bf_judge_share(c) * (1 + bf_judge_noise(c)) < 1 && leaves_less(c);
  default:
    return bf_judge_gain(c) > 0;
  }
}

bool bf_judge_may_be_worth(const bf_comparison *c) {
  return bf_judge_is_worth(c) ||
         (basis_of(c) == PREDICTED && c->after.wavefronts < c->before.wavefronts &&
          bf_judge_share(c) * (1 - bf_judge_noise(c)) < 1 - BF_JUDGE_LEAST_GAIN);
}

bool bf_judge_is_better(const bf_comparison *one, const bf_comparison *other) {
  bool is_worth = bf_judge_is_worth(one);
  if (is_worth != bf_judge_is_worth(other))
    return is_worth;
  if (basis_of(one) == COUNTS || basis_of(other) == COUNTS)
    return bf_judge_gain(one) > bf_judge_gain(other);
  return bf_judge_likely_share(one) < bf_judge_likely_share(other);
}

bool bf_judge_is_clearly_cheaper(const bf_comparison *one, const bf_comparison *other) {
  double added = (double)(one->after.instructions - one->before.instructions);
  double more = (double)(other->after.instructions - other->before.instructions);
  return (double)one->after.wavefronts * (double)other->before.wavefronts <=
             (double)other->after.wavefronts * (double)one->before.wavefronts &&
         3 * added <= more;
}

/* ---- Choosing ---- */

/* Whether a candidate leaves no more work than the best and adds fewer instructions. */
static bool is_smaller(const bf_comparison *one, const bf_comparison *best) {
  return bf_judge_likely_work(one) <= bf_judge_likely_work(best) &&
         one->after.instructions < best->after.instructions;
}

/* Whether a candidate is not told from the best, and worth it like that. */
static bool is_as_good(const bf_comparison *one, const bf_comparison *best) {
  const double most = 1 + BF_JUDGE_LEAST_PREDICTED;
  return basis_of(one) == PREDICTED && basis_of(best) == PREDICTED &&
         (bf_judge_is_worth(one) || (bf_judge_is_worth(best) && is_smaller(one, best))) &&
         bf_judge_likely_share(one) <= bf_judge_likely_share(best) * most &&
         bf_judge_share(one) <= bf_judge_share(best) * most;
}

int bf_judge_choose(const bf_comparison *tried, const bool *was_tried, unsigned count,
                    bool *is_worth) {
  int best = -1, found = -1;
  for (unsigned i = 0; i < count; i++)
    if (was_tried[i] && (best < 0 || bf_judge_is_better(&tried[i], &tried[best])))
      best = (int)i;
  double least = best >= 0 ? bf_judge_likely_work(&tried[best]) : 0;
  for (unsigned i = 0; i < count; i++)
    if (was_tried[i] && is_as_good(&tried[i], &tried[best]) &&
        bf_judge_likely_work(&tried[i]) < least)
      least = bf_judge_likely_work(&tried[i]);
  for (unsigned i = 0; i < count; i++)
    if (was_tried[i] && is_as_good(&tried[i], &tried[best]) &&
        bf_judge_likely_work(&tried[i]) - least <= BF_JUDGE_LEAST_WORK * fabs(least) &&
        (found < 0 || tried[i].after.instructions < tried[found].after.instructions))
      found = (int)i;
  *is_worth = best >= 0 && bf_judge_is_worth(&tried[best]);
  return found >= 0 ? found : best;
}

void bf_judge_explain(const bf_comparison *c, bf_text *text) {
  if (basis_of(c) == TIMES) {
    bf_text_addf(text, "hashed, it takes %.1f%% of the time, with noise of %.1f%%",
                 100 * bf_judge_share(c), 100 * bf_judge_noise(c));
    return;
  }
  if (basis_of(c) == PREDICTED) {
    bf_text_addf(
        text,
        "rewritten, it would take %.0f%% of the time, with an error of %.0f%%; a block %llu "
        "wavefronts, not %llu, and %lld more instructions",
        100 * bf_judge_share(c), 100 * bf_judge_noise(c), (unsigned long long)c->after.wavefronts,
        (unsigned long long)c->before.wavefronts,
        (long long)(c->after.instructions - c->before.instructions));
    if (c->after.least_blocks && !bf_judge_is_worth(c))
      bf_text_addf(text, "; it pays from grids of %llu blocks on",
                   (unsigned long long)c->after.least_blocks);
    return;
  }
  bf_text_addf(text,
               "rewritten, it would take %llu wavefronts, not %llu, and %lld more instructions",
               (unsigned long long)c->after.wavefronts, (unsigned long long)c->before.wavefronts,
               (long long)(c->after.instructions - c->before.instructions));
  if (basis_of(c) == CYCLES)
    bf_text_addf(text, ": %llu cycles, not %llu", (unsigned long long)c->after.cycles,
                 (unsigned long long)c->before.cycles);
}
