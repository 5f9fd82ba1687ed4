/* Running benchmarks on the GPU of gou13, and what follows from the counts. */
#include "reproduce/elastic/elastic.h"

#include "kernels/sim_device.h"

static const struct {
  const char *title, *pipeline, *scheduler, *let_through;
} ways[WAYS] = {
    {"baseline", "pipeline=unified", "scheduler=lrr", "let_through=no"},
    {"split", "pipeline=split", "scheduler=lrr", "let_through=no"},
    {"elastic", "pipeline=elastic", "scheduler=lrr", "let_through=no"},
    {"elastic, conflict-aware", "pipeline=elastic", "scheduler=conflict-aware", "let_through=no"},
    {"let through", "pipeline=elastic", "scheduler=conflict-aware", "let_through=yes"},
    {"conflict-aware alone", "pipeline=unified", "scheduler=conflict-aware", "let_through=no"},
    {"padded, baseline", "pipeline=unified", "scheduler=lrr", "let_through=no"},
    {"padded, elastic", "pipeline=elastic", "scheduler=lrr", "let_through=no"},
    {"padded, elastic, conflict-aware", "pipeline=elastic", "scheduler=conflict-aware",
     "let_through=no"},
};

const char *elastic_way_title(elastic_way way) { return ways[way].title; }

/* Our PTX has addresses of 64 bits and is not what the document's compiler made: registers hold as
 * many threads as a core can have. */
enum { MANY_REGISTERS = 1 << 20 };

/* The GPU of the document, with a pipeline, a scheduler and other changes. */
static int load_gpu(elastic_way way, const char *const *more, bf_sim_gpu **gpu,
                    bf_diagnostic *diagnostic) {
  BF_TRY(bf_sim_gpu_load("elastic", gpu, diagnostic));
  (*gpu)->registers_per_sm = MANY_REGISTERS;
  const char *changes[] = {ways[way].pipeline, ways[way].scheduler, ways[way].let_through};
  int error = BF_OK;
  for (unsigned i = 0; i < 3 && !error; i++)
    error = bf_sim_gpu_set(*gpu, changes[i], diagnostic);
  for (; more && *more && !error; more++)
    error = bf_sim_gpu_set(*gpu, *more, diagnostic);
  if (error)
    bf_sim_gpu_free(*gpu);
  return error;
}

static int simulate(const char *name, unsigned scale, const bf_sim_gpu *gpu, bf_sim_result *result,
                    bf_diagnostic *diagnostic) {
  bf_sim_ledger ledger = {.settings = {.gpu = gpu, .workers = 1}};
  bf_corpus_outcome outcome = {0};
  bf_sim_launched total = {0};
  int error = bf_corpus_simulate(bf_corpus_find(name), scale, 0, &ledger, &outcome, diagnostic);
  if (!error && outcome.wrong)
    error = bf_fail(diagnostic, BF_BAD_INPUT, "%s computes wrong results: %s", name,
                    outcome.first_wrong);
  if (!error)
    error = bf_sim_ledger_total(&ledger, &total, diagnostic);
  *result = total.result;
  bf_sim_ledger_free(&ledger);
  return error;
}

int elastic_simulate(const char *name, unsigned scale, elastic_way way, const char *const *changes,
                     bf_sim_result *result, bf_diagnostic *diagnostic) {
  bf_sim_gpu *gpu;
  BF_TRY(load_gpu(way, changes, &gpu, diagnostic));
  int error = simulate(name, scale, gpu, result, diagnostic);
  bf_sim_gpu_free(gpu);
  return error;
}

elastic_stalls elastic_stalls_of(const bf_sim_result *result) {
  elastic_stalls sum = {0};
  for (unsigned i = 0; i < BF_SIM_STALLS; i++) {
    double count = (double)result->stalls[i];
    sum.all += count;
    if (i <= BF_SIM_MASKED)
      sum.scheduling += count;
    else if (i == BF_SIM_CONFLICT)
      sum.conflict += count;
    else
      sum.other += count;
  }
  return sum;
}

double elastic_intensity(const bf_sim_result *result) {
  return (double)result->shared_lanes / (double)result->emu.thread_instructions;
}

double elastic_degree(const bf_sim_result *result) {
  return (double)result->shared_wavefronts / (double)result->shared_parts;
}

double elastic_theoretical(const bf_sim_result *result) {
  return 1 + elastic_intensity(result) * (elastic_degree(result) - 1);
}
