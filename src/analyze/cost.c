/* What the accesses of a site cost, and which pattern they follow. */
#include "analyze/analyze.h"

bf_access bf_analyze_as_access(const bf_analyze_site *site, const bf_analyze_access *access,
                               const char *text) {
  bf_access result = {.op = site->op, .width_bytes = site->width_bytes, .count = 1, .site = text};
  result.mask = access->mask;
  result.line = site->line;
  for (unsigned i = 0; i < BF_ANALYZE_LANES; i++)
    result.address[i] = access->address[i];
  return result;
}

/* Wavefronts of one access with the fewest and with the most that any offset gives. */
typedef struct spread {
  uint32_t least, most, ideal;
  bool estimated;
} spread;

static int count_access(const bf_analyze_site *site, const bf_analyze_access *access,
                        const bf_machine *machine, const bf_hash *none, spread *result,
                        bf_diagnostic *diagnostic) {
  uint32_t period = bf_memory_offset_period(machine, site->op);
  uint32_t step = site->offset_step_bytes ? site->offset_step_bytes : period;
  bf_access moved = bf_analyze_as_access(site, access, NULL);
  *result = (spread){.least = UINT32_MAX};
  for (uint32_t offset = 0; offset < period; offset += step) {
    bf_count count;
    BF_TRY(bf_memory_count(machine, none, &moved, &count, diagnostic));
    uint32_t wavefronts = count.ideal + count.conflicts;
    result->least = wavefronts < result->least ? wavefronts : result->least;
    result->most = wavefronts > result->most ? wavefronts : result->most;
    result->ideal = count.ideal;
    result->estimated |= count.estimated;
    for (unsigned i = 0; i < BF_ANALYZE_LANES; i++)
      moved.address[i] += step;
  }
  return BF_OK;
}

int bf_analyze_count(const bf_analyze_site *site, const bf_machine *machine, const bf_hash *none,
                     bf_analyze_cost *cost, bf_diagnostic *diagnostic) {
  *cost = (bf_analyze_cost){0};
  uint32_t worst = 0;
  for (size_t i = 0; site->has_op && i < site->accesses; i++) {
    spread s;
    int error = count_access(site, &site->access[i], machine, none, &s, diagnostic);
    if (error) {
      if (diagnostic)
        diagnostic->line = site->line;
      return error;
    }
    cost->accesses++;
    cost->wavefronts += s.least;
    cost->most_wavefronts += s.most;
    cost->ideal += s.ideal;
    cost->estimated |= s.estimated;
    if (!cost->worst || s.most - s.ideal > worst) {
      cost->worst = &site->access[i];
      worst = s.most - s.ideal;
    }
  }
  cost->conflicts = cost->wavefronts - cost->ideal;
  cost->most_conflicts = cost->most_wavefronts - cost->ideal;
  return BF_OK;
}

/* Strides of the formula, in elements; false where they are no whole elements. */
static bool take_steps(const bf_analysis *analysis, const bf_analyze_site *site,
                       const bf_analyze_access *access, bf_pattern *pattern) {
  int64_t width = site->width_bytes;
  if (!site->is_affine || site->step_bytes[0] % width || site->step_bytes[1] % width)
    return false;
  unsigned lane = (unsigned)__builtin_ctz(access->mask);
  uint32_t thread = access->warp * BF_ANALYZE_LANES + lane;
  int64_t x = thread % analysis->block[0], y = thread / analysis->block[0] % analysis->block[1];
  pattern->stride_x = site->step_bytes[0] / width;
  pattern->stride_y = site->step_bytes[1] / width;
  pattern->offset =
      (int64_t)access->address[lane] / width - pattern->stride_x * x - pattern->stride_y * y;
  return true;
}

bf_pattern bf_analyze_classify(const bf_analysis *analysis, const bf_analyze_site *site,
                               const bf_analyze_access *access, unsigned lanes, int64_t columns) {
  bf_access as_access = bf_analyze_as_access(site, access, NULL);
  bf_pattern pattern = bf_access_classify(&as_access, lanes, columns);
  if (pattern.class_ == BF_PATTERN_RANDOM)
    return pattern;
  bf_pattern affine = pattern;
  if (take_steps(analysis, site, access, &affine)) {
    for (int i = 0; i < 2; i++)
      affine.m[i][0] = affine.m[i][1] = affine.origin[i] = 0;
    bf_pattern_set_matrix(&affine);
    return affine;
  }
  bf_pattern_reshape(&pattern, analysis->block[0]);
  return pattern;
}
