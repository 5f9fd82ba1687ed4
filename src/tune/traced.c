/* Longer rows for a kernel whose accesses are those of a trace: proposed from its PTX, as always
 * (padding.c), and judged by the wavefronts of the trace with every access where it goes then. */
#include "tune/predict.h"

#include "analyze/analyze.h"

#include <string.h>

enum { WORD_BYTES = 4 };

/* Where the arrays of a kernel lie, as it is and with longer rows. */
typedef struct layout {
  bf_arena arena;
  bf_analyze_variable *before, *after;
  unsigned count, count_after;
} layout;

static int find_layout(const bf_plans *plans, const char *kernel, const bf_ptx_module *rewritten,
                       layout *l, bf_diagnostic *diagnostic) {
  const bf_ptx_function *old = bf_ptx_find(plans->module, kernel);
  const bf_ptx_function *new = bf_ptx_find(rewritten, kernel);
  BF_TRY(bf_analyze_layout(plans->module, old, &l->arena, &l->before, &l->count, diagnostic));
  return bf_analyze_layout(rewritten, new, &l->arena, &l->after, &l->count_after, diagnostic);
}

/* Where an address goes; one outside of all arrays stays. */
static uint32_t moved(const bf_plans *plans, const bf_plan *plan, const layout *l,
                      uint32_t address) {
  for (unsigned i = 0; i < l->count; i++) {
    const bf_ptx_variable *array = l->before[i].variable;
    uint64_t start = l->before[i].offset_bytes;
    if (address < start || address - start >= array->bytes)
      continue;
    const bf_hash *padding = bf_plans_hash(plans, plan->name, array);
    uint64_t offset = address - start;
    if (padding && padding->kind == BF_HASH_PAD)
      offset += offset / (padding->row_words * WORD_BYTES) * padding->pad_words * WORD_BYTES;
    for (unsigned k = 0; k < l->count_after; k++)
      if (strcmp(l->after[k].variable->name, array->name) == 0)
        return (uint32_t)(l->after[k].offset_bytes + offset);
  }
  return address;
}

/* Wavefronts of a trace; l NULL: as it is. */
static int count(const bf_plans *plans, const bf_plan *plan, const bf_machine *machine,
                 const bf_workload *accesses, const layout *l, uint64_t *wavefronts,
                 bf_diagnostic *diagnostic) {
  bf_counter *counter;
  *wavefronts = 0;
  BF_TRY(bf_counter_create(machine, NULL, &counter, diagnostic));
  int error = BF_OK;
  for (size_t i = 0; i < bf_workload_size(accesses) && !error; i++) {
    bf_access own = *bf_workload_get(accesses, i);
    bf_count one = {0};
    for (uint32_t left = l ? own.mask : 0; left; left &= left - 1) {
      unsigned lane = (unsigned)__builtin_ctz(left);
      own.address[lane] = moved(plans, plan, l, own.address[lane]);
    }
    error = bf_counter_count(counter, &own, &one, diagnostic);
    *wavefronts += bf_count_wavefronts(&one) * own.count;
  }
  bf_counter_free(counter);
  return error;
}

/* Takes longer rows that were proposed where they gain more than what the kernel has. */
static int judge(bf_plans *plans, bf_plan *plan, const bf_machine *machine,
                 const bf_workload *accesses, bf_diagnostic *diagnostic) {
  const bf_plan had = *plan;
  bf_rewrite_result result = {0};
  bf_comparison c = {0};
  layout l = {0};
  bf_plan_take(plans, plan, BF_PLAN_PADDED);
  int error = bf_plans_rewrite(plans, false, &result, diagnostic);
  const bf_rewrite_kernel *kernel = error ? NULL : &result.kernel[plan - plans->plan];
  bool is_good = kernel && kernel->is_rewritten && result.module;
  if (is_good)
    error = find_layout(plans, plan->name, result.module, &l, diagnostic);
  if (!error && is_good)
    error = count(plans, plan, machine, accesses, NULL, &c.before.wavefronts, diagnostic);
  if (!error && is_good)
    error = count(plans, plan, machine, accesses, &l, &c.after.wavefronts, diagnostic);
  bool is_better = !error && is_good && bf_judge_is_worth(&c) &&
                   (!had.has_comparison || bf_judge_gain(&c) >= bf_judge_gain(&had.comparison));
  if (is_better) {
    plan->has_comparison = true;
    plan->comparison = c;
    plan->reason[0] = 0;
  } else {
    plan->taken = had.taken;
    plan->is_by_array = had.is_by_array;
    plan->hash = had.hash;
  }
  bf_arena_free(&l.arena);
  bf_rewrite_free(&result);
  return error;
}

int bf_padding_propose_traced(bf_plans *plans, bf_plan *plan, const bf_machine *machine,
                              const bf_workload *accesses, bf_diagnostic *diagnostic) {
  const bf_predict_options options = {.machine = machine};
  if (!bf_plan_is_open(plans, plan) || !bf_workload_size(accesses))
    return BF_OK;
  BF_TRY(bf_predict_padding(plans, plan, &options, diagnostic));
  return bf_plan_has_candidate(plans, plan, BF_PLAN_PADDED)
             ? judge(plans, plan, machine, accesses, diagnostic)
             : BF_OK;
}
