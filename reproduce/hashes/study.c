/* Simulating benchmarks under hashes of the banks. */
#include "reproduce/hashes/study.h"

#include "kernels/sim_device.h"

#include <math.h>
#include <string.h>

const hashes_column hashes_methods[METHODS] = {
    [NONE] = {.name = "none"},
    [FIXED] = {"fixed XOR", BF_CORPUS_FIXED, 86, 1.21},
    [BIT_VECTOR] = {"bit-vector XOR", BF_CORPUS_BIT_VECTOR, 96, 1.24},
    [PERM_GIVARGIS] = {"permutation, Givargis", BF_CORPUS_PERM_GIVARGIS, 49, 1.14},
    [PERM_IMBALANCE] = {"permutation, min. imbalance", BF_CORPUS_PERM_IMBALANCE, 47, 1.10},
    [XOR_GIVARGIS] = {"bitwise XOR, Givargis", BF_CORPUS_XOR_GIVARGIS, 88, 1.18},
    [XOR_LITERAL] = {"bitwise XOR, Givargis to the letter", BF_CORPUS_XOR_LITERAL, 88, 1.18},
    [XOR_IMBALANCE] = {"bitwise XOR, min. imbalance", BF_CORPUS_XOR_IMBALANCE, 97, 1.24},
    [EXACT] = {.name = "exact", .column = BF_CORPUS_EXACT},
};

/* Kernels that were written after what the text says of three benchmarks (kernels/described). */
static const struct {
  const char *published_name, *benchmark;
} described[DESCRIBED] = {{"conv-2", "described-conv-2"},
                          {"hist256", "described-hist256"},
                          {"MRI-grid-1", "described-mri-grid-1"}};

int hashes_set_up(hashes_setup *setup, uint64_t instructions, bf_diagnostic *diagnostic) {
  setup->instructions = instructions;
  BF_TRY(bf_sim_gpu_load("gtx480", &setup->gpu, diagnostic));
  BF_TRY(bf_sim_gpu_load("gtx480", &setup->fixed_gpu, diagnostic));
  BF_TRY(bf_sim_gpu_set(setup->gpu, "hash_cycles=1", diagnostic));
  return bf_sim_gpu_set(setup->fixed_gpu, "hash_cycles=0", diagnostic);
}

void hashes_tear_down(hashes_setup *setup) {
  bf_sim_gpu_free(setup->gpu);
  bf_sim_gpu_free(setup->fixed_gpu);
}

/* ---- Simulating ---- */

int hashes_choose_scale(const hashes_setup *setup, const bf_corpus_benchmark *benchmark,
                        unsigned *scale, bf_diagnostic *diagnostic) {
  for (*scale = 1; *scale < MOST_SCALE; *scale *= 2) {
    bf_corpus_settings settings = {.machine = setup->gpu->machine, .scale = *scale, .workers = 1};
    bf_corpus_measured measured;
    BF_TRY(bf_corpus_measure(benchmark, &settings, &measured, diagnostic));
    uint64_t instructions = measured.total.thread_instructions / BF_EMU_LANES;
    bf_arena_free(&measured.arena);
    if (instructions >= setup->instructions)
      break;
  }
  return BF_OK;
}

int hashes_simulate(const bf_sim_gpu *gpu, const bf_corpus_benchmark *benchmark, unsigned scale,
                    const char *text, unsigned seed, hashes_time *time, bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(gpu->machine);
  bf_hash *hash = NULL;
  if (text)
    BF_TRY(bf_hash_parse_banks(text, &geometry, &hash, diagnostic));
  bf_sim_ledger ledger = {.settings = {.gpu = gpu, .hash = hash, .workers = 1}};
  bf_sim_launched total;
  bf_corpus_outcome outcome = {0};
  int error = bf_corpus_simulate(benchmark, scale, seed, &ledger, &outcome, diagnostic);
  if (!error && outcome.wrong)
    error = bf_fail(diagnostic, BF_BAD_INPUT, "%s: %s", benchmark->name, outcome.first_wrong);
  if (!error)
    error = bf_sim_ledger_total(&ledger, &total, diagnostic);
  if (!error)
    *time = (hashes_time){.cycles = (double)total.result.cycles,
                          .conflicts = (double)total.result.shared_conflicts,
                          .instructions = (double)total.result.issued,
                          .accesses = (double)total.result.shared_instructions};
  bf_sim_ledger_free(&ledger);
  bf_hash_free(hash);
  return error;
}

const char *hashes_hash_of(const hashes_subject *subject, unsigned method) {
  const bf_corpus_cell *cell = &subject->row.cell[hashes_methods[method].column];
  return method != NONE && cell->has ? cell->hash : NULL;
}

int hashes_simulate_piece(void *context, unsigned index, bf_diagnostic *diagnostic) {
  hashes_study *study = context;
  hashes_subject *subject = &study->subject[index / (METHODS * INPUTS)];
  unsigned method = index / INPUTS % METHODS, input = index % INPUTS;
  if (input >= subject->inputs)
    return BF_OK;
  unsigned seed = subject->benchmark->is_data_dependent ? input + 1 : 0;
  const bf_sim_gpu *gpu = method == FIXED ? study->setup.fixed_gpu : study->setup.gpu;
  return hashes_simulate(gpu, subject->benchmark, subject->scale, hashes_hash_of(subject, method),
                         seed, &subject->at[method][input], diagnostic);
}

/* ---- Finding hashes ---- */

int hashes_find(void *context, unsigned index, bf_diagnostic *diagnostic) {
  hashes_study *study = context;
  hashes_subject *subject = &study->subject[index];
  BF_TRY(hashes_choose_scale(&study->setup, subject->benchmark, &subject->scale, diagnostic));
  bf_corpus_settings settings = {.machine = study->setup.gpu->machine,
                                 .as_written = true,
                                 .scale = 1,
                                 .workers = 1,
                                 .limits_exact = true};
  return bf_corpus_tabulate(subject->benchmark, &settings, study->search_seconds, &subject->row,
                            diagnostic);
}

static void add_subject(hashes_study *study, const char *published_name,
                        const bf_corpus_benchmark *benchmark) {
  study->subject[study->all_subjects++] =
      (hashes_subject){.published_name = published_name,
                       .benchmark = benchmark,
                       .inputs = benchmark->is_data_dependent ? INPUTS : 1};
}

void hashes_choose_subjects(hashes_study *study, bool quick) {
  const bf_corpus_benchmark *at;
  for (unsigned i = 0; (at = bf_corpus_get(i)) && study->all_subjects < SUBJECTS; i++) {
    bool is_small = strcmp(at->name, "transpose16") == 0 || strcmp(at->name, "reduction") == 0 ||
                    strcmp(at->name, "mri-gridding-4") == 0;
    if (at->published_name && (!quick || is_small))
      add_subject(study, at->published_name, at);
  }
  study->subjects = study->all_subjects;
  for (unsigned i = 0; i < DESCRIBED && !quick; i++)
    add_subject(study, described[i].published_name, bf_corpus_find(described[i].benchmark));
}

/* ---- What follows ---- */

double hashes_speedup_of(const hashes_subject *subject, unsigned method) {
  double sum = 0;
  for (unsigned i = 0; i < subject->inputs; i++)
    sum += subject->at[NONE][i].cycles / subject->at[method][i].cycles;
  return sum / subject->inputs;
}

double hashes_removed_of(const hashes_subject *subject, unsigned method) {
  double before = 0, after = 0;
  for (unsigned i = 0; i < subject->inputs; i++) {
    before += subject->at[NONE][i].conflicts;
    after += subject->at[method][i].conflicts;
  }
  return before > 0 ? 100 * (1 - after / before) : 100;
}

double hashes_mean_speedup(const hashes_study *study, unsigned method) {
  double sum = 0;
  for (unsigned i = 0; i < study->subjects; i++)
    sum += log(hashes_speedup_of(&study->subject[i], method));
  return exp(sum / study->subjects);
}

double hashes_mean_removed(const hashes_study *study, unsigned method) {
  double sum = 0;
  for (unsigned i = 0; i < study->subjects; i++)
    sum += hashes_removed_of(&study->subject[i], method);
  return sum / study->subjects;
}

hashes_study hashes_with_described(const hashes_study *study) {
  hashes_study described_study = *study;
  for (unsigned i = 0; i < study->subjects; i++)
    for (unsigned k = study->subjects; k < study->all_subjects; k++)
      if (strcmp(study->subject[i].published_name, study->subject[k].published_name) == 0)
        described_study.subject[i] = study->subject[k];
  return described_study;
}

const hashes_subject *hashes_find_subject(const hashes_study *study, const char *published_name) {
  for (unsigned i = 0; i < study->subjects; i++)
    if (strcmp(study->subject[i].published_name, published_name) == 0)
      return &study->subject[i];
  return NULL;
}
