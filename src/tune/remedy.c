/* From the lines of a kernel to a fix. */
#include "tune/remedy.h"

#include "search/ladder.h"

/* Seconds that the exact search may take. */
#define REMEDY_SECONDS 0.5

/* The worst access of every line, as often as the line ran. */
static int add_accesses(const bf_costs_kernel *kernel, bf_workload *workload) {
  for (size_t i = 0; i < kernel->lines; i++) {
    const bf_costs_line *line = &kernel->line[i];
    bf_access access = line->access;
    access.count = line->accesses;
    access.site = NULL;
    if (line->has_access && line->accesses)
      BF_TRY(bf_workload_add(workload, &access));
  }
  return BF_OK;
}

int bf_remedy_find(const bf_machine *machine, const bf_costs_kernel *kernel, bf_remedy *remedy,
                   bf_diagnostic *diagnostic) {
  *remedy = (bf_remedy){0};
  if (kernel->conflicts == 0)
    return BF_OK;
  bf_workload *workload;
  bf_ladder ladder;
  bf_solve_options options = {.struct_bytes = sizeof options,
                              .method = BF_METHOD_EXACT,
                              .time_limit_seconds = REMEDY_SECONDS};
  int error = bf_workload_create(&workload);
  if (error)
    return bf_no_memory(diagnostic);
  error = add_accesses(kernel, workload);
  if (!error && bf_workload_size(workload))
    error = bf_solve_ladder(machine, workload, &options, &ladder, diagnostic);
  if (!error && bf_workload_size(workload)) {
    const bf_ladder_step *step = &ladder.step[ladder.recommended];
    remedy->exists = ladder.recommended != 0;
    snprintf(remedy->name, sizeof remedy->name, "%s", step->name);
    snprintf(remedy->hash, sizeof remedy->hash, "%s", step->hash);
    snprintf(remedy->reason, sizeof remedy->reason, "%s",
             ladder.conflicts_before ? ladder.reason
                                     : "without the hash these accesses have no conflicts");
    remedy->before = ladder.conflicts_before;
    remedy->after = step->conflicts;
  }
  bf_workload_free(workload);
  if (!error || error == BF_NO_MEMORY)
    return error;
  snprintf(remedy->reason, sizeof remedy->reason, "%s", diagnostic->message);
  return BF_OK;
}
