/* gou13, Tables 1 and 5: what the kernels do, beside the published ones; and section 3.1, Tables 2
 * and 3: what follows from the sizes of a core. */
#include "reproduce/elastic/results.h"

#include <math.h>

static void add_table_5(bf_reproduce_run *run, const elastic_results *results) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "table5", "Tables 1 and 5: what the benchmarks do (published in brackets)",
      "benchmark|blocks per core|shared intensity|conflict degree|intensity x degree|"
      "theoretical speed-up");
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++) {
    const elastic_benchmark *own = &elastic_benchmarks[i];
    const bf_sim_result *result = &results->at[i][BASELINE];
    bf_reproduce_cell(table, "%s", own->title);
    bf_reproduce_cell(table, "%u (%u)", result->blocks_per_sm, own->blocks_per_core);
    bf_reproduce_cell(table, "%.1f%% (%.1f%%)", 100 * elastic_intensity(result),
                      100 * own->intensity);
    bf_reproduce_cell(table, "%.2f (%.2f)", elastic_degree(result), own->degree);
    bf_reproduce_cell(table, "%.2f (%.2f)", elastic_intensity(result) * elastic_degree(result),
                      own->intensity * own->degree);
    bf_reproduce_cell(table, "%.2f (%.2f)", elastic_theoretical(result), own->theoretical);
  }
}

/* Degrees of kernels whose addresses do not depend on data follow from what is published, but for
 * their code. */
static void claim_degree(bf_reproduce_run *run, const elastic_results *results, unsigned index,
                         const char *derived) {
  char name[80];
  snprintf(name, sizeof name, "average conflict degree of %s", elastic_benchmarks[index].title);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = name,
                                 .published = elastic_benchmarks[index].degree,
                                 .ours = elastic_degree(&results->at[index][BASELINE]),
                                 .must_hold = true,
                                 .derived = derived,
                                 .why = "its accesses are others."});
}

/* What the benchmarks are, beside Table 5: the kernels were written anew. */
static void claim_kernels(bf_reproduce_run *run, const elastic_results *results) {
  double blocks[2][ELASTIC_BENCHMARKS], share[2][ELASTIC_BENCHMARKS],
      instructions[2][ELASTIC_BENCHMARKS];
  char why[300];
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++) {
    const bf_sim_result *result = &results->at[i][BASELINE];
    blocks[0][i] = elastic_benchmarks[i].blocks_per_core;
    blocks[1][i] = result->blocks_per_sm;
    share[0][i] = 100 * elastic_benchmarks[i].intensity;
    share[1][i] = 100 * elastic_intensity(result);
    instructions[0][i] = elastic_benchmarks[i].instructions;
    instructions[1][i] = elastic_instructions_of(result, i);
  }
  snprintf(why, sizeof why, "Transpose is limited by %s here, and the kernels of transforms by %s.",
           results->at[TRANSPOSE][BASELINE].occupancy_limit,
           results->at[DCT][BASELINE].occupancy_limit);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "blocks on a core (Table 5)",
                                 .published_list = blocks[0],
                                 .ours_list = blocks[1],
                                 .count = ELASTIC_BENCHMARKS,
                                 .derived = "sizes of blocks and of a core are published, and what "
                                            "kernels have in shared memory follows from their "
                                            "tables and tiles.",
                                 .why = why});
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "instructions of a thread (Table 5)",
                                 .published_list = instructions[0],
                                 .ours_list = instructions[1],
                                 .count = ELASTIC_BENCHMARKS,
                                 .why = "the kernels were written anew and compiled by another "
                                        "compiler; the next row shows what follows."});
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "shared memory intensity (Table 5)",
                                 .published_list = share[0],
                                 .ours_list = share[1],
                                 .count = ELASTIC_BENCHMARKS,
                                 .unit = "%",
                                 .why = "where kernels make as many accesses in fewer instructions "
                                        "the intensity is larger; see the row above."});
}

static void claim_table_5(bf_reproduce_run *run, const elastic_results *results) {
  static const char from_samples[] =
      "blocks, tiles and banks are published, and the samples that the document names as its "
      "source say which lanes read and write what.";
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++)
    claim_degree(run, results, i, i <= AES_DECRYPT ? NULL : from_samples);
  double most = 0, off = 0;
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++) {
    const elastic_benchmark *own = &elastic_benchmarks[i];
    off = fmax(off, fabs(1 + own->intensity * (own->degree - 1) - own->theoretical));
    most = fmax(most, elastic_intensity(&results->at[i][BASELINE]) *
                          elastic_degree(&results->at[i][BASELINE]));
  }
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "theoretical speed-up",
                            .rule = BF_CLAIM_WORDS,
                            .published_text = "eight values of Table 5",
                            .is_so = off < 0.01,
                            .must_hold = true,
                            .derived = "it is the published formula of published numbers."},
      "1 + r (degree - 1) of the published r and degree is within %.3f of them", off);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "largest intensity x degree (Eq. 2: below 1)",
                                 .published = 0.72,
                                 .ours = most,
                                 .must_hold = true});
}

/* ---- Hardware: section 3.1, Tables 2 and 3 ---- */

static unsigned log_2(unsigned value) {
  unsigned bits = 0;
  while (1U << bits < value)
    bits++;
  return bits;
}

/* Numbers that follow from the sizes of the core, which are published. */
static int claim_hardware(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  enum { WARP = 32, COUNTER_BITS = 14, MORE_STAGES = 4 };
  bf_sim_gpu *gpu;
  BF_TRY(bf_sim_gpu_load("elastic", &gpu, diagnostic));
  unsigned lines = gpu->history_sets * gpu->history_ways;
  unsigned bits = lines * (log_2(WARP) + COUNTER_BITS - log_2(gpu->history_sets));
  const double threads[] = {192, 224}, latency[] = {gpu->stages * gpu->simd_width,
                                                    (gpu->stages + MORE_STAGES) * gpu->simd_width};
  const bf_reproduce_claim claims[] = {
      {.name = "threads that hide 24 and 28 stages (Eq. 1)",
       .published_list = threads,
       .ours_list = latency,
       .count = 2},
      {.name = "pipeline latches of all lanes (Table 2: (M + N) simd_width)",
       .published = (4 + 3) * 8,
       .ours = (gpu->nonmem_queue + gpu->premem_queue) * gpu->simd_width},
      {.name = "conflict history cache (Table 3)",
       .published = 704,
       .ours = bits / 8.0,
       .unit = " bytes"}};
  for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
    bf_reproduce_claim claim = claims[i];
    claim.must_hold = true;
    claim.derived = "a published formula of published sizes.";
    bf_reproduce_claim_add(run, &claim);
  }
  bf_sim_gpu_free(gpu);
  return BF_OK;
}

int elastic_report_kernels(bf_reproduce_run *run, const elastic_results *results,
                           bf_diagnostic *diagnostic) {
  add_table_5(run, results);
  claim_kernels(run, results);
  claim_table_5(run, results);
  return claim_hardware(run, diagnostic);
}
