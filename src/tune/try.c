/* Trying the candidates of plans, and taking those that the judge takes. */
#include "tune/plans.h"

#include <string.h>

/* ---- Candidates ---- */

/* The hash of an array (by its number) in the candidate by array; NULL: none. */
static const bf_hash *array_candidate(const bf_plan *plan, unsigned array) {
  const bf_proposal *own = plan->array_proposal ? &plan->array_proposal[array] : NULL;
  return own && own->candidates && !own->reason[0] ? own->candidate[0].hash : NULL;
}

/* The padding of an array in the candidate with longer rows; NULL: none. */
static const bf_hash *array_padding(const bf_plan *plan, unsigned array) {
  return plan->array_padding ? plan->array_padding[array] : NULL;
}

bool bf_plan_has_candidate(const bf_plans *plans, const bf_plan *plan, unsigned number) {
  if (number < BF_PLAN_BY_ARRAY)
    return number < plan->proposal.candidates;
  for (unsigned i = 0; number < BF_PLAN_CANDIDATES && i < bf_plan_examined(plans, plan)->arrays;
       i++)
    if (number == BF_PLAN_PADDED ? array_padding(plan, i) : array_candidate(plan, i))
      return true;
  return false;
}

bool bf_plan_take(const bf_plans *plans, bf_plan *plan, unsigned number) {
  bool exists = bf_plan_has_candidate(plans, plan, number);
  plan->taken = exists ? number : BF_PLAN_CANDIDATES;
  plan->is_by_array = exists && number >= BF_PLAN_BY_ARRAY;
  plan->hash = exists && !plan->is_by_array ? plan->proposal.candidate[number].hash : NULL;
  for (unsigned i = 0; plan->is_by_array && i < bf_plan_examined(plans, plan)->arrays; i++)
    plan->array_hash[i] = number == BF_PLAN_PADDED && array_padding(plan, i)
                              ? array_padding(plan, i)
                              : array_candidate(plan, i);
  return exists;
}

bool bf_plan_has_hash(const bf_plans *plans, const bf_plan *plan) {
  bool any = plan->hash;
  for (unsigned i = 0; plan->is_by_array && i < bf_plan_examined(plans, plan)->arrays; i++)
    any |= plan->array_hash[i] != NULL;
  return any;
}

/* ---- Trying ---- */

/* Gives every kernel its candidate of that number; false where no kernel has one. */
static bool take_candidates(bf_plans *plans, unsigned number) {
  bool any = false;
  for (unsigned i = 0; i < plans->count; i++)
    any |= bf_plan_take(plans, &plans->plan[i], number);
  return any;
}

/* Keeps what the kernels took with their candidates of that number. */
static void keep(bf_plans *plans, const bf_plans_runner *runner, unsigned number) {
  for (unsigned i = 0; i < plans->count; i++) {
    bf_plan *plan = &plans->plan[i];
    plan->was_tried[number] = bf_plan_has_candidate(plans, plan, number) &&
                              runner->compare(runner->context, plan->name, &plan->tried[number]);
  }
}

/* Runs all kernels that have a candidate of that number with it. */
static int try_number(bf_plans *const *list, size_t count, const bf_plans_runner *runner,
                      unsigned number, bf_diagnostic *diagnostic) {
  bool any = false, is_good = false;
  for (size_t i = 0; i < count; i++)
    any |= take_candidates(list[i], number);
  if (!any)
    return BF_OK;
  BF_TRY(runner->run(runner->context, &is_good, diagnostic));
  for (size_t i = 0; i < count && is_good; i++)
    keep(list[i], runner, number);
  return BF_OK;
}

/* ---- Judging ---- */

/* Gives a kernel what was best, where it is worth it. One without candidates keeps what it has. */
static void settle(const bf_plans *plans, bf_plan *plan) {
  bool is_worth;
  int best = bf_judge_choose(plan->tried, plan->was_tried, BF_PLAN_CANDIDATES, &is_worth);
  bf_text reason = {0};
  if (!plan->proposal.candidates && !plan->array_proposal && !plan->array_padding)
    return;
  bf_plan_take(plans, plan, is_worth ? (unsigned)best : BF_PLAN_CANDIDATES);
  plan->has_comparison = is_worth;
  if (best >= 0) {
    plan->comparison = plan->tried[best];
    if (!is_worth)
      bf_judge_explain(&plan->comparison, &reason);
  } else if (plan->proposal.candidates) {
    bf_text_puts(&reason, "no run with a candidate ended as the first did");
  }
  if (best >= 0 || reason.size)
    snprintf(plan->reason, sizeof plan->reason, "%s", reason.data ? reason.data : "");
  bf_text_free(&reason);
}

int bf_plans_try(bf_plans *const *list, size_t count, const bf_plans_runner *runner,
                 bf_diagnostic *diagnostic) {
  for (unsigned number = 0; number < BF_PLAN_CANDIDATES; number++)
    BF_TRY(try_number(list, count, runner, number, diagnostic));
  for (size_t i = 0; i < count; i++)
    for (unsigned k = 0; k < list[i]->count; k++)
      settle(list[i], &list[i]->plan[k]);
  return BF_OK;
}
