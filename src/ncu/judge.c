/* What counters mean. That the exact ones are exact, and what the others hold besides, was measured
 * on an H200 with kernels that have one cause each (tests/data/ncu/causes.cu). */
#include "ncu/ncu.h"

#include <string.h>

/* What is behind the last slash. */
static const char *base_name(const char *path) {
  const char *slash = path ? strrchr(path, '/') : NULL;
  return slash ? slash + 1 : path;
}

static bool is_same_file(const char *a, const char *b) {
  return !a || !b || !*a || !*b || strcmp(base_name(a), base_name(b)) == 0;
}

static void add(bf_ncu_number *number, uint64_t value) {
  number->is_there = true;
  number->value += value;
}

void bf_ncu_predict(bf_ncu_kernel *kernel, const char *file, uint64_t line, uint64_t wavefronts,
                    uint64_t ideal) {
  add(&kernel->predicted, wavefronts);
  add(&kernel->predicted_ideal, ideal);
  for (size_t i = 0; i < kernel->lines; i++) {
    bf_ncu_line *own = &kernel->line[i];
    if (own->line != line || own->address || !is_same_file(own->file, file))
      continue;
    add(&own->predicted, wavefronts);
    add(&own->predicted_ideal, ideal);
    return;
  }
}

static unsigned long long value(const bf_ncu_kernel *kernel, bf_ncu_metric metric) {
  return kernel->metric[metric].value;
}

static bool has(const bf_ncu_kernel *kernel, bf_ncu_metric metric) {
  return kernel->metric[metric].is_there;
}

/* What is above the exact count of conflicts in a counter of them. */
static void judge_conflicts(const bf_ncu_kernel *kernel, unsigned long long real, bf_text *text) {
  unsigned long long counted = value(kernel, BF_NCU_CONFLICTS);
  if (counted == real)
    bf_text_puts(text, "the counter of bank conflicts says the same\n");
  else if (counted > real)
    bf_text_addf(text,
                 "the counter of bank conflicts says %llu: %llu of them are no bank conflicts but "
                 "arbitration, when accesses wait "
                 "for other users of the data banks\n",
                 counted, counted - real);
  else
    bf_text_addf(text,
                 "the counter of bank conflicts says %llu, %llu fewer: it was taken in another "
                 "pass, of a launch that did other "
                 "work, or has no counter for some operations\n",
                 counted, real - counted);
}

void bf_ncu_judge(const bf_ncu_kernel *kernel, bf_text *text) {
  bool is_exact = has(kernel, BF_NCU_WAVEFRONTS) && has(kernel, BF_NCU_IDEAL);
  unsigned long long wavefronts = value(kernel, BF_NCU_WAVEFRONTS);
  unsigned long long conflicts = is_exact ? wavefronts - value(kernel, BF_NCU_IDEAL) : 0;
  if (is_exact && wavefronts < value(kernel, BF_NCU_IDEAL))
    conflicts = 0;
  if (is_exact)
    bf_text_addf(text, "%llu bank conflicts: %llu wavefronts, %llu would do\n", conflicts,
                 wavefronts, value(kernel, BF_NCU_IDEAL));
  else if (has(kernel, BF_NCU_WAVEFRONTS))
    bf_text_addf(
        text,
        "%llu wavefronts; how many would do was not measured (--section SourceCounters does)\n",
        wavefronts);
  if (is_exact && has(kernel, BF_NCU_CONFLICTS))
    judge_conflicts(kernel, conflicts, text);
  else if (has(kernel, BF_NCU_CONFLICTS))
    bf_text_addf(text,
                 "%llu bank conflicts as counted; without the exact count (--section "
                 "SourceCounters), arbitration may be part of them\n",
                 value(kernel, BF_NCU_CONFLICTS));
  if (has(kernel, BF_NCU_MIXED_CONFLICTS) && has(kernel, BF_NCU_CONFLICTS) &&
      value(kernel, BF_NCU_MIXED_CONFLICTS) > value(kernel, BF_NCU_CONFLICTS))
    bf_text_addf(text,
                 "l1tex__data_bank_conflicts_pipe_lsu.sum says %llu: %llu of them are not of "
                 "shared memory but of global or local memory "
                 "(lines of a warp that are spread)\n",
                 value(kernel, BF_NCU_MIXED_CONFLICTS),
                 value(kernel, BF_NCU_MIXED_CONFLICTS) - value(kernel, BF_NCU_CONFLICTS));
  if (has(kernel, BF_NCU_COUNTED_WAVEFRONTS) && has(kernel, BF_NCU_WAVEFRONTS) &&
      value(kernel, BF_NCU_COUNTED_WAVEFRONTS) > wavefronts)
    bf_text_addf(text,
                 "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum says %llu: %llu of them belong to "
                 "no access; barriers are among them\n",
                 value(kernel, BF_NCU_COUNTED_WAVEFRONTS),
                 value(kernel, BF_NCU_COUNTED_WAVEFRONTS) - wavefronts);
}
