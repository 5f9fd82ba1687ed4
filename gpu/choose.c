/* Hashes for the benchmarks of the corpus, as gpu/measure.c takes them:
 *
 *   choose [--whole] SCALES [BENCHMARK...] > corpus.hashes
 *
 * For each kernel of a benchmark, all candidates, from its accesses on the emulator: try-0, try-1
 * and so on, the last one by array where every access is known to be to one. And three ways:
 *   xor    the best bit-vector XOR that keeps rows: a ^ ((a >> s) & m)
 *   exact  the hash that leaves the fewest wavefronts, of all that keep rows
 *   auto   the fewest cycles on the simulator, or none, as `bankfold rewrite --hash auto` takes
 * Each candidate is rewritten, verified and simulated, which counts wavefronts of the accesses as
 * ptxas merges them, instructions and cycles. The simulated GPU is a small part of an H200, and the
 * benchmark as much smaller than its scale in SCALES, so that multiprocessors are as busy as in
 * what is measured. With --whole it is a whole H200 and the scale of SCALES: for small launches. */
#include "tune/choose.h"
#include "emu/emu.h"
#include "gpu/rewritten.h"
#include "gpu/scales.h"
#include "kernels/devices.h"
#include "kernels/sim_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KERNELS = 64, BANK_BITS = 5, MOST_ACCESSES = 1 << 16 };
enum { H200_SMS = 132 };
/* The candidate by array comes after those by kernel. */
enum { BY_ARRAY = BF_CHOOSE_MOST, MOST_TRIED = BY_ARRAY + 1 };
static const double time_limit_seconds = 10;

/* A kernel of a benchmark, and what it did in a run. */
typedef struct kernel {
  char *name;
  const bf_rewrite_kernel *examined;
  unsigned granule_bytes; /* 0: no accesses, or it cannot be rewritten */
  uint64_t wavefronts, warp_instructions, cycles, work;
  bf_workload *written, *merged;
  bf_choice choice;
  bf_choice *array_choice; /* for each array, or NULL */
  bf_prediction tried[MOST_TRIED];
} kernel;

typedef struct subject {
  const bf_corpus_benchmark *benchmark;
  const bf_machine *machine;
  const bf_sim_gpu *gpu;
  unsigned scale; /* at which it is simulated */
  bf_ptx_module *module;
  bf_rewrite_result examined;
  unsigned kernels;
  kernel kernel[MOST_KERNELS];
  unsigned candidate; /* that is being tried */
} subject;

static kernel *find(subject *s, const char *name) {
  for (unsigned i = 0; i < s->kernels; i++)
    if (strcmp(s->kernel[i].name, name) == 0)
      return &s->kernel[i];
  return NULL;
}

/* ---- Runs ---- */

typedef struct running {
  subject *subject;
  bool as_written, keeps_accesses;
  kernel *kernel; /* that runs */
  const bf_emu_kernel *code;
  bf_profile *profile;
  bf_emu_observer counting, observer;
  bf_sim_ledger simulated; /* all launches until now */
  bool has_failed;
} running;

/* The array that a site of the original is known to access, or NULL. The emulator has parsed the
 * kernel by itself, so lines tell which access it is. */
static const char *array_of(const running *r, unsigned site) {
  const bf_rewrite_kernel *examined = r->kernel->examined;
  uint64_t line = bf_emu_kernel_site(r->code, site).instruction->line;
  for (unsigned i = 0; i < examined->arrays; i++)
    for (unsigned k = 0; k < examined->array[i].accesses; k++)
      if (examined->array[i].access[k]->line == line)
        return examined->array[i].name;
  return NULL;
}

/* Adds an access to the workload of the kernel. */
static void keep(running *r, const bf_emu_event *event) {
  bf_workload *workload = r->as_written ? r->kernel->written : r->kernel->merged;
  bf_access access = {.op = event->op,
                      .width_bytes = event->width_bytes,
                      .mask = event->mask,
                      .count = 1,
                      .site = array_of(r, event->site)};
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    access.address[lane] = event->mask >> lane & 1 ? event->shared_address[lane] : 0;
  if (bf_workload_size(workload) < MOST_ACCESSES)
    r->has_failed |= bf_workload_add(workload, &access) != BF_OK;
}

static void observe(void *context, const bf_emu_event *event) {
  running *r = context;
  r->counting.access(r->counting.context, event);
  if (r->keeps_accesses && event->shared_address)
    keep(r, event);
}

static int before_launch(void *context, bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  running *r = context;
  r->code = launch->kernel;
  r->kernel = find(r->subject, bf_emu_kernel_name(launch->kernel));
  launch->dynamic_shared_bytes = (launch->dynamic_shared_bytes + BF_REWRITE_ROW_BYTES - 1) /
                                 BF_REWRITE_ROW_BYTES * BF_REWRITE_ROW_BYTES;
  BF_TRY(bf_profile_create(r->subject->machine, NULL, launch->kernel, r->subject->gpu->sms,
                           &r->profile, diagnostic));
  r->counting = bf_profile_observer(r->profile);
  r->observer = (bf_emu_observer){.access = observe, .context = r, .as_merged = !r->as_written};
  launch->observer = &r->observer;
  return BF_OK;
}

/* Simulates a launch, in place of bf_emu_run. */
static int simulate(void *context, bf_emu *emu, const bf_emu_launch *launch, bf_emu_result *result,
                    bf_diagnostic *diagnostic) {
  running *r = context;
  return bf_sim_ledger_run(&r->simulated, emu, launch, NULL, result, diagnostic);
}

static int after_launch(void *context, const bf_emu_launch *launch, const bf_emu_result *result,
                        bf_diagnostic *diagnostic) {
  running *r = context;
  const bf_sim_gpu *gpu = r->subject->gpu;
  uint64_t wavefronts = 0;
  for (unsigned i = 0; i < bf_emu_kernel_sites(launch->kernel); i++)
    wavefronts += bf_profile_get(r->profile, i).wavefronts;
  r->kernel->wavefronts += wavefronts;
  r->kernel->work += bf_work_cycles(wavefronts, result->warp_instructions,
                                    (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2],
                                    (unsigned)gpu->sms, (unsigned)gpu->schedulers);
  r->kernel->warp_instructions += result->warp_instructions;
  if (!r->as_written)
    r->kernel->cycles += r->simulated.launch[r->simulated.launches - 1].result.cycles;
  bf_profile_free(r->profile);
  r->profile = NULL;
  return r->has_failed ? bf_no_memory(diagnostic) : BF_OK;
}

/* Runs the benchmark with the given PTX; the sums of its kernels start anew. */
static int run(running *r, const char *ptx, bf_diagnostic *diagnostic) {
  const bf_corpus_benchmark *benchmark = r->subject->benchmark;
  bf_device device;
  bf_corpus_outcome outcome = {0};
  bf_emu_device_options options = {.workers = 1,
                                   .before = before_launch,
                                   .execute = r->as_written ? NULL : simulate,
                                   .after = after_launch,
                                   .context = r};
  r->simulated.settings = (bf_sim_settings){.gpu = r->subject->gpu, .workers = 1};
  for (unsigned i = 0; i < r->subject->kernels; i++) {
    kernel *own = &r->subject->kernel[i];
    own->wavefronts = own->warp_instructions = own->cycles = own->work = 0;
  }
  BF_TRY(bf_emu_device_create(benchmark->name, ptx, &options, &device, diagnostic));
  int error = bf_corpus_execute(benchmark, &device, r->subject->scale, 0, &outcome, diagnostic);
  bf_profile_free(r->profile);
  r->profile = NULL;
  bf_sim_ledger_free(&r->simulated);
  bf_emu_device_free(&device);
  if (!error && outcome.wrong)
    error = bf_fail(diagnostic, BF_BAD_INPUT, "%s: %s", benchmark->name, outcome.first_wrong);
  return error;
}

/* ---- Candidates ---- */

/* The hash of an array (by its number) in the candidate by array; NULL: none. */
static const bf_hash *array_hash(const kernel *own, unsigned array) {
  const bf_choice *choice = &own->array_choice[array];
  return choice->candidates && !choice->reason[0] ? choice->candidate[0].hash : NULL;
}

/* Whether a kernel has a candidate of the number. */
static bool is_candidate(const kernel *own, unsigned number) {
  if (number < BY_ARRAY)
    return number < own->choice.candidates;
  for (unsigned i = 0; own->array_choice && i < own->examined->arrays; i++)
    if (array_hash(own, i))
      return true;
  return false;
}

/* The candidate that is being tried, as rewrite.h asks for it. */
static const bf_hash *candidate_of(void *context, const bf_ptx_function *function,
                                   const bf_ptx_variable *array) {
  subject *s = context;
  const kernel *own = find(s, function->name);
  if (!is_candidate(own, s->candidate))
    return NULL;
  if (s->candidate < BY_ARRAY)
    return own->choice.candidate[s->candidate].hash;
  for (unsigned i = 0; array && i < own->examined->arrays; i++) {
    const bf_ptx_variable *known = own->examined->array[i].variable;
    if (known == array || (known->bytes == 0 && array->bytes == 0))
      return array_hash(own, i);
  }
  return NULL;
}

/* Runs the candidates of one number and keeps what they did. */
static int try_candidates(subject *s, const kernel *original, bf_diagnostic *diagnostic) {
  bf_rewrite_options options = {
      .context = s, .hash_of = candidate_of, .dynamic_is_rounded = true, .joins_logic = true};
  bf_text text = {0};
  running r = {.subject = s};
  int error = gpu_rewrite(s->module, &options, &text, diagnostic);
  if (!error)
    error = run(&r, text.data, diagnostic);
  for (unsigned i = 0; i < s->kernels && !error; i++)
    s->kernel[i].tried[s->candidate] =
        (bf_prediction){.wavefronts_before = original[i].wavefronts,
                        .wavefronts_after = s->kernel[i].wavefronts,
                        .added_instructions = (int64_t)s->kernel[i].warp_instructions -
                                              (int64_t)original[i].warp_instructions,
                        .cycles_before = original[i].cycles,
                        .cycles_after = s->kernel[i].cycles,
                        .work_before = original[i].work,
                        .work_after = s->kernel[i].work};
  bf_text_free(&text);
  return error;
}

/* Whether any kernel has a candidate of the number. */
static bool has_candidate(const subject *s, unsigned number) {
  for (unsigned i = 0; i < s->kernels; i++)
    if (is_candidate(&s->kernel[i], number))
      return true;
  return false;
}

/* Finds the candidates of a kernel, and of its arrays where it has several. */
static int choose_kernel(const subject *s, kernel *own, bf_diagnostic *diagnostic) {
  bf_choose_options options = {.machine = s->machine,
                               .written = own->written,
                               .merged = own->merged,
                               .granule_bytes = own->granule_bytes,
                               .time_limit_seconds = time_limit_seconds};
  BF_TRY(bf_choose(&options, &own->choice, diagnostic));
  if (own->examined->arrays < 2 || !own->examined->knows_arrays || !own->choice.candidates)
    return BF_OK;
  own->array_choice = calloc(own->examined->arrays, sizeof *own->array_choice);
  if (!own->array_choice)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < own->examined->arrays; i++) {
    options.granule_bytes = own->examined->array[i].granule_bytes;
    BF_TRY(
        bf_choose_array(&options, own->examined->array[i].name, &own->array_choice[i], diagnostic));
  }
  return BF_OK;
}

/* Finds the candidates of all kernels and runs them. */
static int choose(subject *s, bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < s->kernels; i++)
    if (s->kernel[i].granule_bytes && bf_workload_size(s->kernel[i].merged))
      BF_TRY(choose_kernel(s, &s->kernel[i], diagnostic));
  kernel *original = malloc(sizeof s->kernel);
  if (!original)
    return bf_no_memory(diagnostic);
  memcpy(original, s->kernel, sizeof s->kernel);
  int error = BF_OK;
  for (s->candidate = 0; !error && s->candidate < MOST_TRIED; s->candidate++)
    if (has_candidate(s, s->candidate))
      error = try_candidates(s, original, diagnostic);
  free(original);
  return error;
}

/* ---- What is taken ---- */

/* Whether all bank bits take their second bit from the same distance. */
static bool is_one_term(const bf_hash *hash) {
  int distance = 0;
  for (unsigned i = 0; i < BANK_BITS; i++) {
    uint64_t more = hash->forward.row[i] ^ (uint64_t)1 << i;
    if (!more)
      continue;
    int own = __builtin_ctzll(more) - (int)i;
    if ((more & (more - 1)) || (distance && own != distance))
      return false;
    distance = own;
  }
  return true;
}

/* Whether some candidate is for accesses as written, which differ from the merged ones then. */
static bool has_written(const bf_choice *choice) {
  for (unsigned i = 0; i < choice->candidates; i++)
    if (!choice->candidate[i].keeps_merging)
      return true;
  return false;
}

typedef enum way_kind { WAY_XOR, WAY_EXACT, WAY_AUTO, WAYS } way_kind;
static const char *const way_names[WAYS] = {"xor", "exact", "auto"};

/* Whether a candidate is better than another in its way. */
static bool is_better(way_kind way, const bf_prediction *a, const bf_prediction *b) {
  return way == WAY_AUTO ? bf_prediction_is_better(a, b)
                         : a->wavefronts_after < b->wavefronts_after;
}

/* Whether a candidate can be taken in that way: only auto takes single arrays, and hashes made for
 * merged accesses where there are others. */
static bool is_allowed(const kernel *own, way_kind way, unsigned number) {
  if (!is_candidate(own, number))
    return false;
  if (way == WAY_AUTO)
    return bf_prediction_is_worth(&own->tried[number]);
  if (number == BY_ARRAY)
    return false;
  const bf_candidate *candidate = &own->choice.candidate[number];
  return (!candidate->keeps_merging || !has_written(&own->choice)) &&
         (way != WAY_XOR || is_one_term(candidate->hash));
}

/* The number of the best candidate in that way, or -1. */
static int find_best(const kernel *own, way_kind way) {
  int best = -1;
  for (unsigned i = 0; i < MOST_TRIED; i++)
    if (is_allowed(own, way, i) && (best < 0 || is_better(way, &own->tried[i], &own->tried[best])))
      best = (int)i;
  return best;
}

/* A line for the kernel and its hash, or for one of its arrays. */
static void print_line(const subject *s, const kernel *own, const char *way, const char *array,
                       const bf_hash *hash, const bf_prediction *tried) {
  printf("%s %s %s", s->benchmark->name, way, own->name);
  if (array)
    printf("[%s]", array);
  printf(" %s %llu %llu %lld %llu %llu\n", hash ? bf_hash_text(hash) : "none",
         (unsigned long long)tried->wavefronts_before, (unsigned long long)tried->wavefronts_after,
         (long long)tried->added_instructions, (unsigned long long)tried->cycles_before,
         (unsigned long long)tried->cycles_after);
}

static void print_candidate(const subject *s, const kernel *own, const char *way, unsigned number) {
  const bf_prediction *tried = &own->tried[number];
  if (number < BY_ARRAY) {
    print_line(s, own, way, NULL, own->choice.candidate[number].hash, tried);
    return;
  }
  for (unsigned i = 0; i < own->examined->arrays; i++)
    print_line(s, own, way, own->examined->array[i].name, array_hash(own, i), tried);
}

static void print_kernel(const subject *s, const kernel *own) {
  for (unsigned i = 0; i < MOST_TRIED; i++) {
    char way[16];
    snprintf(way, sizeof way, "try-%u", i);
    if (is_candidate(own, i))
      print_candidate(s, own, way, i);
  }
  for (unsigned way = 0; way < WAYS; way++) {
    int best = find_best(own, way);
    if (best >= 0)
      print_candidate(s, own, way_names[way], (unsigned)best);
  }
}

/* ---- Benchmarks ---- */

/* The kernels of the PTX, and which of them can be rewritten. */
static int list_kernels(subject *s, bf_diagnostic *diagnostic) {
  bf_rewrite_result *examined = &s->examined;
  const char *ptx = bf_corpus_ptx(s->benchmark->folder);
  BF_TRY(bf_ptx_parse(s->benchmark->folder, ptx, strlen(ptx), &s->module, diagnostic));
  BF_TRY(bf_rewrite_examine(s->module, examined, diagnostic));
  int error = examined->kernels <= MOST_KERNELS ? BF_OK : BF_UNSUPPORTED;
  for (unsigned i = 0; i < examined->kernels && !error; i++) {
    kernel *own = &s->kernel[s->kernels++];
    own->examined = &examined->kernel[i];
    own->name = strdup(own->examined->name);
    own->granule_bytes = own->examined->obstacles ? 0 : own->examined->granule_bytes;
    if (!own->name || bf_workload_create(&own->written) != BF_OK ||
        bf_workload_create(&own->merged) != BF_OK)
      error = BF_NO_MEMORY;
  }
  return error ? bf_fail(diagnostic, error, "too many kernels, or out of memory") : BF_OK;
}

/* Runs a benchmark, chooses for its kernels and prints what is chosen. */
static int do_benchmark(subject *s, bf_diagnostic *diagnostic) {
  const char *ptx = bf_corpus_ptx(s->benchmark->folder);
  running written = {.subject = s, .as_written = true, .keeps_accesses = true};
  running merged = {.subject = s, .keeps_accesses = true};
  BF_TRY(list_kernels(s, diagnostic));
  BF_TRY(run(&written, ptx, diagnostic));
  BF_TRY(run(&merged, ptx, diagnostic));
  BF_TRY(choose(s, diagnostic));
  for (unsigned i = 0; i < s->kernels; i++)
    print_kernel(s, &s->kernel[i]);
  fflush(stdout);
  return BF_OK;
}

static void free_subject(subject *s) {
  for (unsigned i = 0; i < s->kernels; i++) {
    bf_workload_free(s->kernel[i].written);
    bf_workload_free(s->kernel[i].merged);
    bf_choice_clear(&s->kernel[i].choice);
    for (unsigned k = 0; s->kernel[i].array_choice && k < s->kernel[i].examined->arrays; k++)
      bf_choice_clear(&s->kernel[i].array_choice[k]);
    free(s->kernel[i].array_choice);
    free(s->kernel[i].name);
  }
  bf_rewrite_free(&s->examined);
  bf_ptx_free(s->module);
  free(s);
}

static bool is_asked(const bf_corpus_benchmark *benchmark, int count, char **names) {
  if (count == 0)
    return !benchmark->is_padded;
  for (int i = 0; i < count; i++)
    if (strcmp(names[i], benchmark->name) == 0)
      return true;
  return false;
}

/* The largest power of two that keeps that many multiprocessors no busier than the scale keeps an
 * H200; at least 1. */
static unsigned scale_down(unsigned scale, unsigned sms) {
  unsigned own = 1;
  while (own * 2 * H200_SMS <= scale * sms)
    own *= 2;
  return own;
}

/* An H200 or a thirty-third of it, without the time that starting a kernel takes. */
static int load_gpu(bool is_whole, bf_sim_gpu **gpu, bf_diagnostic *diagnostic) {
  static const char *const changes[] = {"launch_cycles=0", "sms=4", "l2_slices=4",
                                        "dram_channels=4"};
  BF_TRY(bf_sim_gpu_load("h200", gpu, diagnostic));
  for (unsigned i = 0; i < (is_whole ? 1 : sizeof changes / sizeof *changes); i++)
    BF_TRY(bf_sim_gpu_set(*gpu, changes[i], diagnostic));
  return bf_sim_gpu_check(*gpu, diagnostic);
}

int main(int argc, char **argv) {
  bf_diagnostic diagnostic;
  bf_machine *machine = NULL;
  bf_sim_gpu *gpu = NULL;
  static gpu_scales scales;
  bool is_whole = argc > 1 && strcmp(argv[1], "--whole") == 0;
  argc -= is_whole;
  argv += is_whole;
  if (argc < 2)
    return fprintf(stderr, "usage: choose [--whole] SCALES [BENCHMARK...]\n"), 2;
  if (gpu_scales_read(argv[1], &scales, &diagnostic) != BF_OK ||
      bf_machine_load("hopper", NULL, &machine, &diagnostic) != BF_OK ||
      load_gpu(is_whole, &gpu, &diagnostic) != BF_OK)
    return fprintf(stderr, "choose: %s\n", diagnostic.message), 2;
  printf("# Made by gpu/choose: benchmark, way, kernel, hash; wavefronts before and after, and "
         "added instructions of warps, cycles before and after, on the simulator.\n");
  int error = BF_OK;
  for (unsigned i = 0; bf_corpus_get(i) && !error; i++) {
    subject *s = calloc(1, sizeof *s);
    if (!s || !is_asked(bf_corpus_get(i), argc - 2, argv + 2)) {
      free(s);
      continue;
    }
    *s = (subject){.benchmark = bf_corpus_get(i), .machine = machine, .gpu = gpu};
    s->scale = scale_down(gpu_scale_of(&scales, s->benchmark->name), (unsigned)gpu->sms);
    error = do_benchmark(s, &diagnostic);
    if (error)
      fprintf(stderr, "choose: %s: %s\n", s->benchmark->name, diagnostic.message);
    free_subject(s);
  }
  bf_sim_gpu_free(gpu);
  bf_machine_free(machine);
  return error ? 2 : 0;
}
