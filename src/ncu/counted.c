/* What a run of the program counted beside what was measured: a trace that exec wrote. */
#include "memory/site_sums.h"
#include "ncu/ncu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether a site starts with the name of a kernel, blanks as sites have them, and ':'; *place is
 * what follows. */
static bool belongs(const char *site, const char *kernel, const char **place) {
  for (; *kernel; kernel++, site++)
    if (*site != (*kernel == ' ' ? '_' : *kernel))
      return false;
  *place = site + 1;
  return *site == ':';
}

/* Accesses that were measured: as counted, or of all lines; 0: not known. */
static uint64_t executed(const bf_ncu_kernel *kernel) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kernel->lines; i++)
    sum += kernel->line[i].executed;
  return kernel->metric[BF_NCU_INSTRUCTIONS].is_there ? kernel->metric[BF_NCU_INSTRUCTIONS].value
                                                      : sum;
}

/* How many times as many accesses the run made, at least 1; says so where that is no whole number.
 */
static uint64_t launches(bf_ncu_kernel *kernel, uint64_t accesses) {
  uint64_t measured = executed(kernel);
  uint64_t times = measured ? (accesses + measured / 2) / measured : 1;
  kernel->not_predicted = !measured ? "how many accesses were measured is not known"
                          : times * measured != accesses
                              ? "the run made another number of accesses than were measured"
                          : times > 1 ? "the mean of several launches"
                                      : NULL;
  return times ? times : 1;
}

static void forget(bf_ncu_kernel *kernel) {
  kernel->is_run = true;
  kernel->predicted = kernel->predicted_ideal = (bf_ncu_number){false, 0};
  for (size_t i = 0; i < kernel->lines; i++)
    kernel->line[i].predicted = kernel->line[i].predicted_ideal = (bf_ncu_number){false, 0};
}

/* Gives a kernel the rows of its sites. */
static void predict(const bf_site_sum *row, size_t rows, bf_ncu_kernel *kernel) {
  const char *place;
  uint64_t accesses = 0;
  for (size_t i = 0; i < rows; i++)
    accesses += belongs(row[i].key, kernel->short_name, &place) ? row[i].sum.accesses : 0;
  if (!accesses) {
    if (!kernel->predicted.is_there)
      kernel->not_predicted = "the trace has no access of a kernel of that name";
    return;
  }
  uint64_t times = launches(kernel, accesses);
  forget(kernel);
  for (size_t i = 0; i < rows; i++) {
    if (!belongs(row[i].key, kernel->short_name, &place))
      continue;
    char file[256];
    const char *colon = strrchr(place, ':');
    snprintf(file, sizeof file, "%.*s", colon ? (int)(colon - place) : 0, place);
    bf_ncu_predict(kernel, file, colon ? strtoull(colon + 1, NULL, 10) : 0,
                   row[i].sum.wavefronts / times, row[i].sum.ideal / times);
  }
}

int bf_ncu_predict_trace(bf_ncu *ncu, const char *path, const bf_machine *machine,
                         bf_diagnostic *diagnostic) {
  bf_site_sums *sums;
  bf_trace *trace = NULL;
  bf_site_sums_reading reading = {.threads = 0};
  BF_TRY(bf_site_sums_create(machine, NULL, BF_LOCK_PLAIN, &sums, diagnostic));
  bf_trace_limits limits = bf_machine_limits(machine);
  int error = bf_trace_open(path, &limits, &trace, diagnostic);
  if (!error)
    error = bf_site_sums_read(sums, trace, path, &reading, diagnostic);
  size_t rows = 0;
  const bf_site_sum *row = error ? NULL : bf_site_sums_rows(sums, &rows);
  for (size_t i = 0; i < ncu->kernels && !error; i++)
    predict(row, rows, &ncu->kernel[i]);
  bf_trace_close(trace);
  bf_site_sums_free(sums);
  return error;
}
