/* gou13, Tables 1 and 5 and Figs. 6-10: the Elastic Pipeline.
 *
 * Eight benchmarks of the corpus run on the GPU of the document with its baseline, the unified
 * pipeline under loose round robin, and with what it proposes; five of them also in the version
 * that is padded by hand. */
#include "reproduce/elastic/results.h"

/* One benchmark in one way; nothing where there is no padded version. */
static int run_piece(void *context, unsigned index, bf_diagnostic *diagnostic) {
  elastic_results *results = context;
  elastic_way way = (elastic_way)(index % WAYS);
  const elastic_benchmark *benchmark = &elastic_benchmarks[index / WAYS];
  const char *name = way < PADDED_BASELINE ? benchmark->name : benchmark->padded;
  if (!name)
    return BF_OK;
  return elastic_simulate(name, results->is_quick ? benchmark->quick_scale : benchmark->scale, way,
                          NULL, &results->at[index / WAYS][way], diagnostic);
}

/* One benchmark with one size of the history of conflicts. */
static int run_history(void *context, unsigned index, bf_diagnostic *diagnostic) {
  static const char *const large[] = {"history_sets=65536", "history_ways=16", NULL};
  elastic_results *results = context;
  const elastic_benchmark *benchmark = &elastic_benchmarks[index / HISTORIES];
  return elastic_simulate(benchmark->name, benchmark->quick_scale, AWARE,
                          index % HISTORIES ? large : NULL,
                          &results->history[index / HISTORIES][index % HISTORIES], diagnostic);
}

/* Reduction where DRAM has half the bandwidth, the baseline and the conflict-aware pipeline: a
 * quarter of its grid. */
static int run_slow(void *context, unsigned index, bf_diagnostic *diagnostic) {
  static const char *const slow[] = {"dram_sector_cycles=6.5", NULL};
  elastic_results *results = context;
  const elastic_benchmark *own = &elastic_benchmarks[REDUCTION];
  return elastic_simulate(own->name, results->is_quick ? own->quick_scale : own->scale / 4,
                          index ? AWARE : BASELINE, slow, &results->slow[index], diagnostic);
}

/* Benchmarks once more with other memories and queues. */
static int find_causes(bf_reproduce_run *run, elastic_results *results, bf_diagnostic *diagnostic) {
  static const unsigned named[ELASTIC_SUBJECTS] = {TRANSPOSE, IDCT, DCT_SHORT, IDCT_SHORT};
  elastic_subject subjects[ELASTIC_SUBJECTS], aes = {0};
  for (unsigned i = 0; i <= ELASTIC_SUBJECTS; i++) {
    const elastic_benchmark *own =
        &elastic_benchmarks[i < ELASTIC_SUBJECTS ? named[i] : AES_ENCRYPT];
    elastic_subject *to = i < ELASTIC_SUBJECTS ? &subjects[i] : &aes;
    *to = (elastic_subject){own->title, own->name, own->padded,
                            results->is_quick ? own->quick_scale : own->scale};
    for (unsigned way = 0; way < WAYS && i < ELASTIC_SUBJECTS; way++)
      results->causes.at[0][i][way] = results->at[named[i]][way];
  }
  BF_TRY(elastic_causes_find(run, subjects, &aes, &results->causes, diagnostic));
  elastic_causes_show(run, subjects, &results->causes);
  BF_TRY(bf_reproduce_parallel(run, 2, "slower memory", run_slow, results, diagnostic));
  return bf_reproduce_parallel(run, ELASTIC_BENCHMARKS * HISTORIES, "histories", run_history,
                               results, diagnostic);
}

static int run_elastic(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  elastic_results *results = bf_arena_alloc(bf_reproduce_arena(run), sizeof *results);
  if (!results)
    return bf_no_memory(diagnostic);
  results->is_quick = bf_reproduce_is_quick(run);
  BF_TRY(bf_reproduce_parallel(run, ELASTIC_BENCHMARKS * WAYS, "simulations", run_piece, results,
                               diagnostic));
  BF_TRY(find_causes(run, results, diagnostic));
  BF_TRY(elastic_report_kernels(run, results, diagnostic));
  BF_TRY(elastic_report_stalls(run, results, diagnostic));
  BF_TRY(elastic_report_speedups(run, results, diagnostic));
  BF_TRY(elastic_report_padded(run, results, diagnostic));
  return elastic_report_bandwidth(run, results, diagnostic);
}

const bf_reproduction bf_reproduce_elastic[] = {
    {.name = "elastic",
     .title = "the Elastic Pipeline",
     .document = "gou13, Tables 1 and 5, Figs. 6-10",
     .summary = "Eight benchmarks on the 16-core GPU of the document: the unified pipeline with "
                "round robin as the baseline, the split and the elastic pipeline, conflict-aware "
                "scheduling and its variant, and five of them padded by hand.",
     .run = run_elastic},
    {0},
};
