/* Further questions of the search: hash, padding and base together, and a hash for each array. */
#include "api/launch.h"
#include "search/arrays.h"
#include "search/joint.h"

#include <stdlib.h>
#include <string.h>

int bf_solve_joint(const bf_machine *machine, const bf_workload *workload,
                   const bf_solve_options *given, bf_joint *joint, bf_diagnostic *diagnostic) {
  bf_solve_options options;
  memset(joint, 0, sizeof *joint);
  BF_TRY(bf_take_options(given, &options, sizeof options, "bf_solve_options", diagnostic));
  BF_TRY(bf_api_check_threads(options.threads, diagnostic));
  return bf_solve_joint_watched(machine, workload, &options, NULL, joint, diagnostic);
}

int bf_solve_arrays(const bf_machine *machine, const bf_workload *workload,
                    const uint64_t *begin_bytes, size_t count, const bf_solve_options *given,
                    bf_arrays **out, bf_diagnostic *diagnostic) {
  bf_solve_options options;
  *out = NULL;
  BF_TRY(bf_take_options(given, &options, sizeof options, "bf_solve_options", diagnostic));
  BF_TRY(bf_api_check_threads(options.threads, diagnostic));
  bf_arrays *arrays = malloc(sizeof *arrays);
  if (!arrays)
    return bf_no_memory(diagnostic);
  int error = bf_solve_arrays_watched(machine, workload, begin_bytes, count, &options, NULL, arrays,
                                      diagnostic);
  if (error)
    free(arrays);
  else
    *out = arrays;
  return error;
}

void bf_arrays_free(bf_arrays *arrays) {
  if (arrays)
    bf_arrays_clear(arrays);
  free(arrays);
}

const bf_array_solution *bf_arrays_get(const bf_arrays *arrays, size_t index) {
  return index < arrays->count ? &arrays->item[index] : NULL;
}
