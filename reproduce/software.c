/* braak16, section 7.2, Figs. 10 and 11: bank hashes in software. Kernels are rewritten so that
 * every shared access computes the hash, as `bankfold rewrite` does it, and simulated as they are,
 * padded by hand and rewritten, on a GTX 580 and a K20. What an H200 measured stands beside it. */
#include "kernels/devices.h"
#include "kernels/sim_device.h"
#include "ptx/parse.h"
#include "reproduce/software/study.h"
#include "rewrite/listed.h"
#include "rewrite/rewrite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const gpu_names[GPUS] = {"gtx580", "k20"};

/* ---- Rewriting ---- */

static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  (void)kernel, (void)array;
  return context;
}

/* The PTX of a benchmark with all its accesses hashed; *text is NULL where a kernel with accesses
 * is refused. */
static int rewrite(const bf_corpus_benchmark *benchmark, const char *form, char **text,
                   bf_diagnostic *diagnostic) {
  const char *ptx = bf_corpus_ptx(benchmark->folder);
  bf_ptx_module *module;
  bf_hash *hash;
  *text = NULL;
  BF_TRY(bf_hash_parse(form, &bf_listed_geometry, &hash, diagnostic));
  int error = bf_ptx_parse(benchmark->folder, ptx, strlen(ptx), &module, diagnostic);
  if (!error) {
    bf_rewrite_options options = {
        .context = hash, .hash_of = hash_of, .padding_has_room = true, .joins_logic = true};
    bf_rewrite_result result;
    error = bf_rewrite(module, &options, &result, diagnostic);
    if (!error) {
      if (result.is_changed && !(*text = strdup(result.text.data)))
        error = bf_no_memory(diagnostic);
      bf_rewrite_free(&result);
    }
    bf_ptx_free(module);
  }
  bf_hash_free(hash);
  return error;
}

static unsigned widest(const bf_workload *workload) {
  unsigned bytes = 4;
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    unsigned own = bf_workload_get(workload, i)->width_bytes;
    bytes = own > bytes ? own : bytes;
  }
  return bytes;
}

/* The hash a ^ ((a >> s) & m) that stays in its row of banks and leaves the fewest conflicts on a
 * machine; free with bf_solution_clear. */
static int solve(const bf_machine *machine, const bf_workload *workload, bf_solution *solution,
                 bf_diagnostic *diagnostic) {
  bf_solve_options options = {.struct_bytes = sizeof options,
                              .method = BF_METHOD_EXACT,
                              .class_ = BF_CLASS_ONE_TERM,
                              .keeps_rows = true,
                              .granule_bytes = widest(workload),
                              .time_limit_seconds = 5,
                              .threads = 2};
  return bf_solve(machine, workload, &options, solution, diagnostic);
}

/* Finds the hash for the usual input on a GTX 580, and what one for the K20 would leave there. */
static int find_hash(software_study *study, software_subject *subject, bf_diagnostic *diagnostic) {
  bf_corpus_settings settings = {
      .machine = study->gpu[0]->machine, .as_written = true, .scale = 1, .workers = 1};
  bf_workload *workload;
  bf_solution solution, wide;
  BF_TRY(bf_corpus_record(subject->benchmark, &settings, &workload, diagnostic));
  int error = solve(study->gpu[0]->machine, workload, &solution, diagnostic);
  if (!error) {
    snprintf(subject->hash, sizeof subject->hash, "%s", bf_hash_text(solution.hash));
    bf_solution_clear(&solution);
    error = solve(study->gpu[1]->machine, workload, &wide, diagnostic);
  }
  if (!error) {
    subject->wide_conflicts = (double)wide.conflicts_after;
    bf_solution_clear(&wide);
  }
  bf_workload_free(workload);
  if (error || strcmp(subject->hash, "none") == 0)
    return error;
  return rewrite(subject->benchmark, subject->hash, &subject->rewritten, diagnostic);
}

/* The scale at which a benchmark has enough instructions for many blocks. */
static int choose_scale(const software_study *study, software_subject *subject,
                        bf_diagnostic *diagnostic) {
  for (subject->scale = 1; subject->scale < MOST_SCALE; subject->scale *= 2) {
    bf_corpus_settings settings = {
        .machine = study->gpu[0]->machine, .scale = subject->scale, .workers = 1};
    bf_corpus_measured measured;
    BF_TRY(bf_corpus_measure(subject->benchmark, &settings, &measured, diagnostic));
    uint64_t instructions = measured.total.thread_instructions / BF_EMU_LANES;
    bf_arena_free(&measured.arena);
    if (instructions >= study->instructions)
      break;
  }
  return BF_OK;
}

static int prepare(void *context, unsigned index, bf_diagnostic *diagnostic) {
  software_study *study = context;
  software_subject *subject = &study->subject[index];
  BF_TRY(choose_scale(study, subject, diagnostic));
  BF_TRY(find_hash(study, subject, diagnostic));
  subject->has[PLAIN] = true;
  subject->has[PADDED] = subject->padded != NULL;
  subject->has[HASHED] = subject->has[FREE] = subject->rewritten != NULL;
  return BF_OK;
}

/* ---- Simulating and counting ---- */

static int simulate(const bf_sim_gpu *gpu, const bf_corpus_benchmark *benchmark, const char *ptx,
                    const bf_hash *hash, unsigned scale, unsigned seed, double *cycles,
                    bf_diagnostic *diagnostic) {
  bf_sim_ledger ledger = {.settings = {.gpu = gpu, .hash = hash, .workers = 1}};
  bf_sim_launched total;
  bf_corpus_outcome outcome = {0};
  bf_device device;
  BF_TRY(bf_sim_device_create(benchmark->folder, ptx ? ptx : bf_corpus_ptx(benchmark->folder),
                              &ledger, &device, diagnostic));
  int error = bf_corpus_execute(benchmark, &device, scale, seed, &outcome, diagnostic);
  bf_emu_device_free(&device);
  if (!error && outcome.wrong)
    error = bf_fail(diagnostic, BF_BAD_INPUT, "%s: %s", benchmark->name, outcome.first_wrong);
  if (!error)
    error = bf_sim_ledger_total(&ledger, &total, diagnostic);
  if (!error)
    *cycles = (double)total.result.cycles;
  bf_sim_ledger_free(&ledger);
  return error;
}

/* Conflicts of loads and stores of a workload. Those of an atomic, which reads and writes, go to
 * loads, as the profiler's counter of loads does it where atomics are loops. */
static int count(const bf_machine *machine, const bf_workload *workload, software_conflicts *to,
                 bf_diagnostic *diagnostic) {
  *to = (software_conflicts){0};
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    const bf_access *access = bf_workload_get(workload, i);
    bf_count counted;
    BF_TRY(bf_memory_count(machine, NULL, access, &counted, diagnostic));
    double conflicts = (double)access->count * counted.conflicts;
    if (access->op == BF_OP_ST)
      to->store += conflicts;
    else
      to->load += conflicts;
  }
  return BF_OK;
}

/* The hash of a benchmark for the banks of a GPU. Where they are 8 bytes wide, bit 0 of the word
 * address chooses half of one: what is hashed into it moves nothing. */
static int bank_hash(const bf_sim_gpu *gpu, const char *form, bf_hash **hash,
                     bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(gpu->machine);
  unsigned shift = 0, mask = 0;
  char text[40];
  if (sscanf(form, "xor:0,%u,%u", &shift, &mask) != 2)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s is not of the form that is computed", form);
  snprintf(text, sizeof text, "xor:0,%u,%u", shift, geometry.word_bytes == 8 ? mask / 2 : mask);
  return bf_hash_parse_banks(text, &geometry, hash, diagnostic);
}

/* A benchmark as it is with its hash in hardware. */
static int run_free(software_study *study, software_subject *subject, unsigned input, unsigned seed,
                    bf_diagnostic *diagnostic) {
  for (unsigned g = 0; g < GPUS; g++) {
    bf_hash *hash;
    BF_TRY(bank_hash(study->gpu[g], subject->hash, &hash, diagnostic));
    int error = simulate(study->gpu[g], subject->benchmark, NULL, hash, subject->scale, seed,
                         &subject->cycles[g][FREE][input], diagnostic);
    bf_hash_free(hash);
    BF_TRY(error);
  }
  return BF_OK;
}

/* Piece index is one input of one way of one benchmark, on all GPUs. */
static int run_piece(void *context, unsigned index, bf_diagnostic *diagnostic) {
  software_study *study = context;
  software_subject *subject = &study->subject[index / (WAYS * INPUTS)];
  unsigned way = index / INPUTS % WAYS, input = index % INPUTS;
  if (input >= subject->inputs || !subject->has[way])
    return BF_OK;
  const bf_corpus_benchmark *benchmark = way == PADDED ? subject->padded : subject->benchmark;
  const char *ptx = way == HASHED ? subject->rewritten : NULL;
  unsigned seed = subject->benchmark->is_data_dependent ? input + 1 : 0;
  if (way == FREE)
    return run_free(study, subject, input, seed, diagnostic);
  bf_corpus_settings settings = {.machine = study->gpu[0]->machine,
                                 .as_written = true,
                                 .scale = 1,
                                 .seed = seed,
                                 .workers = 1,
                                 .ptx = ptx};
  bf_workload *workload;
  BF_TRY(bf_corpus_record(benchmark, &settings, &workload, diagnostic));
  int error = BF_OK;
  for (unsigned g = 0; g < GPUS && !error; g++) {
    error = count(study->gpu[g]->machine, workload, &subject->conflicts[g][way][input], diagnostic);
    if (!error)
      error = simulate(study->gpu[g], benchmark, ptx, NULL, subject->scale, seed,
                       &subject->cycles[g][way][input], diagnostic);
  }
  bf_workload_free(workload);
  return error;
}

/* ---- What an H200 measured ---- */

/* A field of a line of software.csv; 0 where it is empty. */
static double field(const char *line, unsigned number) {
  while (number-- && (line = strchr(line, ',')))
    line++;
  return line ? strtod(line, NULL) : 0;
}

/* Times are of large inputs, wavefronts of scale 1 (bench/software.py). */
static void read_measured(software_subject *subject) {
  const char *text = bf_reproduce_data("software");
  size_t length = strlen(subject->benchmark->name);
  for (const char *line = text; line && *line;
       line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    if (strncmp(line, subject->benchmark->name, length) != 0 || line[length] != ',')
      continue;
    subject->is_measured = true;
    for (unsigned way = 0; way < MEASURED; way++)
      subject->ns[way] = field(line, 1 + way);
    for (unsigned op = 0; op < 2; op++) {
      subject->wavefronts[PLAIN][op] = field(line, 4 + op);
      subject->wavefronts[HASHED][op] = field(line, 6 + op);
    }
    subject->bytes[PADDED] = field(line, 8);
    subject->bytes[HASHED] = field(line, 9);
  }
}

/* ---- All of it ---- */

static void choose_subjects(software_study *study, bool quick) {
  const bf_corpus_benchmark *at;
  char name[80];
  for (unsigned i = 0; (at = bf_corpus_get(i)) && study->subjects < SUBJECTS; i++) {
    bool is_small = strcmp(at->name, "transpose16") == 0 || strcmp(at->name, "reduction") == 0;
    if (!at->published_name || (quick && !is_small))
      continue;
    software_subject *subject = &study->subject[study->subjects++];
    snprintf(name, sizeof name, "%s-padded", at->name);
    *subject = (software_subject){.benchmark = at,
                                  .padded = bf_corpus_find(name),
                                  .inputs = at->is_data_dependent ? INPUTS : 1};
    read_measured(subject);
  }
}

/* A GPU on which a hash of the banks costs nothing. */
static int load_gpu(unsigned gpu, bf_sim_gpu **loaded, bf_diagnostic *diagnostic) {
  BF_TRY(bf_sim_gpu_load(gpu_names[gpu], loaded, diagnostic));
  return bf_sim_gpu_set(*loaded, "hash_cycles=0", diagnostic);
}

static int run_software(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  software_study *study = bf_arena_alloc(bf_reproduce_arena(run), sizeof *study);
  if (!study)
    return bf_no_memory(diagnostic);
  *study = (software_study){.instructions = bf_reproduce_is_quick(run) ? 1 : 100000};
  int error = BF_OK;
  for (unsigned g = 0; g < GPUS && !error; g++)
    error = load_gpu(g, &study->gpu[g], diagnostic);
  choose_subjects(study, bf_reproduce_is_quick(run));
  if (!error)
    error = bf_reproduce_parallel(run, study->subjects, "finding hashes, rewriting", prepare, study,
                                  diagnostic);
  if (!error)
    error = bf_reproduce_parallel(run, study->subjects * WAYS * INPUTS, "simulating", run_piece,
                                  study, diagnostic);
  if (!error)
    error = software_report(run, study, diagnostic);
  for (unsigned i = 0; i < study->subjects; i++)
    free(study->subject[i].rewritten);
  for (unsigned g = 0; g < GPUS; g++)
    bf_sim_gpu_free(study->gpu[g]);
  return error;
}

const bf_reproduction bf_reproduce_software[] = {
    {"software", "hash functions in software", "braak16, section 7.2, Figs. 10-11",
     "22 benchmarks on a GTX 580 and a K20, simulated as they are, padded by hand, and rewritten "
     "so "
     "that every shared access computes the best hash of the form a ^ ((a >> s) & m). Histograms "
     "are averages of three inputs other than the one the hash was made for. An H200 measured the "
     "same kernels.",
     run_software},
    {NULL, NULL, NULL, NULL, NULL},
};
