/* braak16, section 7.2, Figs. 10 and 11: bank hashes in software. Kernels are rewritten so that
 * every shared access computes the hash, as `bankfold rewrite` does it, and simulated as they are,
 * padded by hand and rewritten, on a GTX 580 and a K20. What an H200 measured stands beside it. */
#include "kernels/devices.h"
#include "kernels/measure.h"
#include "kernels/sim_device.h"
#include "ptx/parse.h"
#include "reproduce/reproduce.h"
#include "rewrite/listed.h"
#include "rewrite/rewrite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUBJECTS = 22, GPUS = 2, INPUTS = 3, MOST_SCALE = 16 };
/* FREE: as it is, with the same hash in hardware, where it costs nothing. */
typedef enum software_way { PLAIN, PADDED, HASHED, FREE, WAYS } software_way;
enum { MEASURED = HASHED + 1 }; /* ways that the H200 ran */

static const char *const gpu_names[GPUS] = {"gtx580", "k20"};
static const char *const gpu_titles[GPUS] = {"GTX 580", "K20"};

/* Conflicts of loads (reads of atomics included) and stores. */
typedef struct software_conflicts {
  double load, store;
} software_conflicts;

typedef struct software_subject {
  const bf_corpus_benchmark *benchmark, *padded; /* padded: or NULL */
  char hash[120];
  char *rewritten; /* PTX, or NULL: there is no hash, or it cannot be rewritten */
  unsigned scale, inputs;
  bool has[WAYS];
  double cycles[GPUS][WAYS][INPUTS];
  software_conflicts conflicts[GPUS][WAYS][INPUTS]; /* of FREE none */
  double wide_conflicts; /* on the K20 with the best hash for its 8-byte banks */
  bool is_measured;      /* on the H200: */
  double ns[WAYS];       /* 0: there is no padded one */
  double wavefronts[WAYS][2];
  double bytes[WAYS];
} software_subject;

typedef struct software_study {
  bf_sim_gpu *gpu[GPUS];
  uint64_t instructions;
  unsigned subjects;
  software_subject subject[SUBJECTS];
} software_study;

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

/* ---- Results ---- */

/* A way that a benchmark does not have counts as the plain one. */
static unsigned real_way(const software_subject *subject, unsigned way) {
  return subject->has[way] ? way : PLAIN;
}

static double speedup_of(const software_subject *subject, unsigned gpu, unsigned way) {
  double sum = 0;
  way = real_way(subject, way);
  for (unsigned i = 0; i < subject->inputs; i++)
    sum += subject->cycles[gpu][PLAIN][i] / subject->cycles[gpu][way][i];
  return sum / subject->inputs;
}

static double measured_speedup(const software_subject *subject, unsigned way) {
  return subject->ns[way] > 0 ? subject->ns[PLAIN] / subject->ns[way] : 1;
}

typedef enum software_kind { LOADS, STORES, BOTH } software_kind;

static double conflicts_of(const software_subject *subject, unsigned gpu, unsigned way,
                           software_kind kind) {
  double sum = 0;
  way = real_way(subject, way);
  for (unsigned i = 0; i < subject->inputs; i++) {
    const software_conflicts *own = &subject->conflicts[gpu][way][i];
    sum += (kind != STORES ? own->load : 0) + (kind != LOADS ? own->store : 0);
  }
  return sum;
}

/* Percent of the conflicts that are gone, or -1 where there were none. */
static double removed_of(const software_subject *subject, unsigned gpu, unsigned way,
                         software_kind kind) {
  double before = conflicts_of(subject, gpu, PLAIN, kind);
  return before > 0 ? 100 * (1 - conflicts_of(subject, gpu, way, kind) / before) : -1;
}

/* Over benchmarks that have such conflicts, as the figure's mean is. */
static double mean_removed(const software_study *study, unsigned gpu, software_kind kind) {
  double sum = 0;
  unsigned count_ = 0;
  for (unsigned i = 0; i < study->subjects; i++) {
    const software_subject *subject = &study->subject[i];
    if (conflicts_of(subject, gpu, PLAIN, kind) > 0) {
      sum += removed_of(subject, gpu, HASHED, kind);
      count_++;
    }
  }
  return count_ ? sum / count_ : 0;
}

static double mean_speedup(const software_study *study, unsigned gpu, unsigned way) {
  double sum = 0;
  for (unsigned i = 0; i < study->subjects; i++)
    sum += log(speedup_of(&study->subject[i], gpu, way));
  return exp(sum / study->subjects);
}

/* ---- Reporting ---- */

static void put_share(bf_reproduce_table *table, double percent) {
  if (percent == -1)
    bf_reproduce_cell(table, "-");
  else
    bf_reproduce_cell(table, "%.1f", percent);
}

static void tabulate(bf_reproduce_run *run, const software_study *study) {
  bf_reproduce_table *removed = bf_reproduce_table_add(
      run, "removed", "Conflicts removed, percent (Fig. 10)",
      "published name|benchmark|hash|GTX 580 padded|GTX 580 hash|K20 loads padded|K20 loads "
      "hash|K20 stores padded|K20 stores hash");
  bf_reproduce_table *speed = bf_reproduce_table_add(
      run, "speedup",
      "Speed-up (Fig. 11); free: the same hash in hardware, without a cost; H200: measured",
      "published name|benchmark|GTX 580 padded|GTX 580 hash|GTX 580 free|K20 padded|K20 hash|K20 "
      "free|H200 padded|H200 hash");
  for (unsigned i = 0; i < study->subjects; i++) {
    const software_subject *subject = &study->subject[i];
    bf_reproduce_cell(removed, "%s", subject->benchmark->published_name);
    bf_reproduce_cell(removed, "%s", subject->benchmark->name);
    bf_reproduce_cell(removed, "%s", subject->rewritten ? subject->hash : "none");
    bf_reproduce_cell(speed, "%s", subject->benchmark->published_name);
    bf_reproduce_cell(speed, "%s", subject->benchmark->name);
    for (unsigned g = 0; g < GPUS; g++)
      for (unsigned kind = g ? LOADS : BOTH; kind <= (g ? STORES : BOTH); kind++) {
        put_share(removed, subject->padded ? removed_of(subject, g, PADDED, kind) : -1);
        put_share(removed, removed_of(subject, g, HASHED, kind));
      }
    for (unsigned g = 0; g < GPUS; g++) {
      bf_reproduce_cell(speed, subject->padded ? "%.3f" : "-", speedup_of(subject, g, PADDED));
      bf_reproduce_cell(speed, "%.3f", speedup_of(subject, g, HASHED));
      bf_reproduce_cell(speed, "%.3f", speedup_of(subject, g, FREE));
    }
    bf_reproduce_cell(speed, subject->padded ? "%.3f" : "-", measured_speedup(subject, PADDED));
    bf_reproduce_cell(speed, "%.3f", measured_speedup(subject, HASHED));
  }
}

static const software_subject *find_subject(const software_study *study, const char *name) {
  for (unsigned i = 0; i < study->subjects; i++)
    if (strcmp(study->subject[i].benchmark->published_name, name) == 0)
      return &study->subject[i];
  return NULL;
}

/* Conflicts are exact counts; those that stay are of histograms, or of hashes that do not keep
 * rows. */
static void claim_removed(bf_reproduce_run *run, const software_study *study) {
  static const char why[] = "a hash that is computed in software must keep every word in its row "
                            "of 128 bytes here, and two published ones (k1=1) do not; on 8-byte "
                            "banks bit 0 of the address chooses nothing, so that a hash made for "
                            "4-byte banks has one bit less.";
  bf_reproduce_claim claim = {.name = "GTX 580: conflicts removed by the hash",
                              .rule = BF_CLAIM_VALUE,
                              .published = 96,
                              .ours = mean_removed(study, 0, BOTH),
                              .unit = "%",
                              .why = why};
  bf_reproduce_claim_add(run, &claim);
  claim.name = "K20: conflicts of loads removed";
  claim.published = 99;
  claim.ours = mean_removed(study, 1, LOADS);
  bf_reproduce_claim_add(run, &claim);
  claim.name = "K20: conflicts of stores removed";
  claim.published = 90;
  claim.ours = mean_removed(study, 1, STORES);
  bf_reproduce_claim_add(run, &claim);
}

static double measured_mean(const software_study *study, unsigned way) {
  double sum = 0;
  for (unsigned i = 0; i < study->subjects; i++)
    sum += log(measured_speedup(&study->subject[i], way));
  return exp(sum / study->subjects);
}

static void claim_speed(bf_reproduce_run *run, const software_study *study) {
  static const double published[GPUS] = {1.23, 1.33};
  char name[80], why[400];
  for (unsigned g = 0; g < GPUS; g++) {
    double all = mean_speedup(study, g, HASHED), without = mean_speedup(study, g, FREE);
    snprintf(name, sizeof name, "%s: speed-up of the hash", gpu_titles[g]);
    snprintf(
        why, sizeof why,
        "instructions, because every access computes its own hash here, after the compiler: "
        "the same hash for free, in hardware, gives %.3f, so that they cost %.0f%%. What is to "
        "be gained at most, without any instruction, is %s the published gain.",
        without, 100 * (1 - all / without), without < published[g] ? "below" : "above");
    bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = name,
                                                      .rule = BF_CLAIM_GAIN,
                                                      .published = published[g],
                                                      .ours = all,
                                                      .why = why});
  }
  double hash = measured_mean(study, HASHED), padded = measured_mean(study, PADDED);
  bf_reproduce_note(run,
                    "On an H200 the same hashes, measured, give %.3f, padding by hand %.3f "
                    "(bench/results, 2026-11-15).",
                    hash, padded);
}

/* Names of benchmarks in which padding leaves fewer conflicts, with the shares that are left; those
 * of the K20 in brackets, with its own hash behind them. */
static void name_worse(const software_study *study, bf_text *text) {
  for (unsigned i = 0; i < study->subjects; i++) {
    const software_subject *subject = &study->subject[i];
    for (unsigned g = 0; g < GPUS && subject->padded; g++) {
      double before = conflicts_of(subject, g, PLAIN, BOTH);
      double hashed = conflicts_of(subject, g, HASHED, BOTH);
      if (hashed <= conflicts_of(subject, g, PADDED, BOTH) || before == 0)
        continue;
      bf_text_addf(text, "%s%s on the %s %.1f%% (padded %.1f%%", text->size ? ", " : "",
                   subject->benchmark->published_name, gpu_titles[g], 100 * hashed / before,
                   100 * conflicts_of(subject, g, PADDED, BOTH) / before);
      if (g && !subject->benchmark->is_data_dependent)
        bf_text_addf(text, ", with the best hash for 8-byte banks %.1f%%",
                     100 * subject->wide_conflicts / before);
      bf_text_puts(text, ")");
    }
  }
}

/* Names of benchmarks that need more memory hashed than padded, with the bytes. */
static void name_larger(const software_study *study, bf_text *text) {
  for (unsigned i = 0; i < study->subjects; i++) {
    const software_subject *subject = &study->subject[i];
    if (subject->padded && subject->bytes[HASHED] > subject->bytes[PADDED])
      bf_text_addf(text, "%s%s has %.0f bytes, padded %.0f", text->size ? ", " : "",
                   subject->benchmark->published_name, subject->bytes[HASHED],
                   subject->bytes[PADDED]);
  }
}

/* That the hash removes at least as many as padding, on each GPU. */
static void claim_padding(bf_reproduce_run *run, const software_study *study) {
  unsigned padded = 0, no_worse = 0, smaller = 0;
  bf_text worse = {0}, larger = {0};
  for (unsigned i = 0; i < study->subjects; i++) {
    const software_subject *subject = &study->subject[i];
    if (!subject->padded)
      continue;
    bool is_no_worse = true;
    for (unsigned g = 0; g < GPUS; g++)
      is_no_worse &=
          conflicts_of(subject, g, HASHED, BOTH) <= conflicts_of(subject, g, PADDED, BOTH);
    padded++;
    no_worse += is_no_worse;
    smaller += subject->bytes[HASHED] <= subject->bytes[PADDED];
  }
  name_worse(study, &worse);
  bf_text_puts(&worse, worse.size ? " of the conflicts are left." : "");
  name_larger(study, &larger);
  bf_text_puts(&larger, ": arrays are rounded up to rows of 128 bytes for the hash.");
  bf_reproduce_claim claim = {.name =
                                  "the hash removes at least as many conflicts as padding by hand",
                              .rule = BF_CLAIM_ALL,
                              .published = padded,
                              .ours = no_worse,
                              .published_text = "always",
                              .why = worse.failed ? "padding leaves fewer." : worse.data};
  bf_reproduce_claim_addf(run, &claim, "%u of %u benchmarks", no_worse, padded);
  claim.name = "the hash needs no more memory than padding";
  claim.ours = smaller;
  claim.published_text = "it saves memory";
  claim.why = larger.failed ? "arrays are rounded up." : larger.data;
  bf_reproduce_claim_addf(run, &claim, "%u of %u benchmarks", smaller, padded);
  bf_text_free(&worse);
  bf_text_free(&larger);
  double ratio[GPUS];
  for (unsigned g = 0; g < GPUS; g++)
    ratio[g] = mean_speedup(study, g, HASHED) / mean_speedup(study, g, PADDED);
  bf_reproduce_claim words = {.name = "speed-up of the hash against that of padding",
                              .rule = BF_CLAIM_WORDS,
                              .published_text = "comparable",
                              .is_so = fabs(ratio[0] - 1) <= 0.15 && fabs(ratio[1] - 1) <= 0.15,
                              .why = "means differ by more than 15%."};
  bf_reproduce_claim_addf(run, &words, "%.3f times on the GTX 580, %.3f on the K20", ratio[0],
                          ratio[1]);
}

static void claim_losses(bf_reproduce_run *run, const software_study *study) {
  static const struct {
    const char *name;
    unsigned gpu;
  } losses[] = {{"conv-1", 0}, {"lavaMD", 1}};
  char name[80], why[200];
  for (unsigned i = 0; i < 2; i++) {
    const software_subject *subject = find_subject(study, losses[i].name);
    double speed = speedup_of(subject, losses[i].gpu, HASHED);
    snprintf(name, sizeof name, "%s: %s", gpu_titles[losses[i].gpu], losses[i].name);
    double without = speedup_of(subject, losses[i].gpu, FREE);
    snprintf(
        why, sizeof why,
        "the same hash for free, in hardware, makes it %.3f times as fast; its instructions cost "
        "%.0f%%.",
        without, 100 * (1 - speed / without));
    bf_reproduce_fact(run, name, "a small loss", speed < 1 && speed > 0.85, false, why,
                      "%.3f times as fast", speed);
  }
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "padding in the original code",
                                 .rule = BF_CLAIM_NONE,
                                 .published_text = "12 of 21 benchmarks",
                                 .ours_text = "ours are padded where it helps",
                                 .why = "which of the published kernels pad is drawn in a figure "
                                        "that is not in the text; ours were padded here."});
}

static int draw(bf_reproduce_run *run, const software_study *study, bf_diagnostic *diagnostic) {
  const char *category[SUBJECTS];
  double y[4][SUBJECTS];
  for (unsigned i = 0; i < study->subjects; i++) {
    category[i] = study->subject[i].benchmark->published_name;
    for (unsigned k = 0; k < 4; k++)
      y[k][i] = speedup_of(&study->subject[i], k / 2, k % 2 ? HASHED : PADDED);
  }
  bf_chart_series series[4] = {{.name = "GTX 580, padded", .y = y[0], .count = study->subjects},
                               {.name = "GTX 580, hash", .y = y[1], .count = study->subjects},
                               {.name = "K20, padded", .y = y[2], .count = study->subjects},
                               {.name = "K20, hash", .y = y[3], .count = study->subjects}};
  return bf_reproduce_chart(run, "speedup",
                            &(bf_chart){.kind = BF_CHART_BARS,
                                        .title = "Speed-up in software (Fig. 11)",
                                        .y_label = "times as fast",
                                        .category = category,
                                        .categories = study->subjects,
                                        .series = series,
                                        .series_count = 4,
                                        .reference = 1},
                            diagnostic);
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

static int report(bf_reproduce_run *run, const software_study *study, bf_diagnostic *diagnostic) {
  tabulate(run, study);
  if (!bf_reproduce_is_quick(run)) {
    claim_removed(run, study);
    claim_speed(run, study);
    claim_padding(run, study);
    claim_losses(run, study);
  }
  return draw(run, study, diagnostic);
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
    error = report(run, study, diagnostic);
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
