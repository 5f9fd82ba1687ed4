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
#include "gpu/scales.h"
#include "gpu/tried.h"
#include "tune/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BANK_BITS = 5, H200_SMS = 132 };
static const double time_limit_seconds = 10;

typedef struct subject {
  const bf_corpus_benchmark *benchmark;
  bf_trial_options options; /* of all runs */
  unsigned scale;           /* at which it is simulated */
  bf_ptx_module *module;
  bf_plans plans;
  bf_trial original, last;
} subject;

/* ---- Runs ---- */

/* Runs the benchmark with the given PTX; what it computes must be right. */
static int run(const subject *s, const char *ptx, const bf_trial_options *options, bf_trial *trial,
               bf_diagnostic *diagnostic) {
  return gpu_try(s->benchmark, s->scale, 0, ptx, options, trial, diagnostic);
}

/* bf_plans_runner.run */
static int run_candidates(void *context, bool *is_good, bf_diagnostic *diagnostic) {
  subject *s = context;
  bf_rewrite_result result = {0};
  BF_TRY(bf_plans_rewrite(&s->plans, true, &result, diagnostic));
  bf_trial_free(&s->last);
  int error = run(s, result.text.data, &s->options, &s->last, diagnostic);
  *is_good = !error;
  bf_rewrite_free(&result);
  return error;
}

/* bf_plans_runner.compare */
static bool compare(void *context, const char *kernel, bf_comparison *comparison) {
  const subject *s = context;
  const bf_trial_kernel *before = bf_trial_find(&s->original, kernel);
  const bf_trial_kernel *after = bf_trial_find(&s->last, kernel);
  if (!before || !after)
    return false;
  *comparison = (bf_comparison){before->took, after->took};
  return true;
}

/* Finds the candidates of all kernels and runs them. */
static int choose(subject *s, bf_diagnostic *diagnostic) {
  bf_plans *list[] = {&s->plans};
  bf_plans_search search = {.machine = s->options.machine,
                            .time_limit_seconds = time_limit_seconds};
  bf_plans_runner runner = {.run = run_candidates, .compare = compare, .context = s};
  for (unsigned i = 0; i < s->plans.count; i++) {
    const bf_trial_kernel *launched = bf_trial_find(&s->original, s->plans.plan[i].name);
    BF_TRY(bf_plan_propose(&s->plans, &s->plans.plan[i], &search,
                           launched ? &launched->accesses : NULL, diagnostic));
  }
  return bf_plans_try(list, 1, &runner, diagnostic);
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
static bool has_written(const bf_proposal *proposal) {
  for (unsigned i = 0; i < proposal->candidates; i++)
    if (!proposal->candidate[i].keeps_merging)
      return true;
  return false;
}

typedef enum way_kind { WAY_XOR, WAY_EXACT, WAY_AUTO, WAYS } way_kind;
static const char *const way_names[WAYS] = {"xor", "exact", "auto"};

/* Whether a candidate is better than another in its way. */
static bool is_better(way_kind way, const bf_comparison *a, const bf_comparison *b) {
  return way == WAY_AUTO ? bf_judge_is_better(a, b) : a->after.wavefronts < b->after.wavefronts;
}

/* Whether a candidate can be taken in that way: only auto takes single arrays, and hashes made for
 * merged accesses where there are others. */
static bool is_allowed(const bf_plan *plan, way_kind way, unsigned number) {
  if (!plan->was_tried[number])
    return false;
  if (way == WAY_AUTO)
    return bf_judge_is_worth(&plan->tried[number]);
  if (number >= BF_PLAN_BY_ARRAY)
    return false;
  const bf_candidate *candidate = &plan->proposal.candidate[number];
  return (!candidate->keeps_merging || !has_written(&plan->proposal)) &&
         (way != WAY_XOR || is_one_term(candidate->hash));
}

/* The number of the best candidate in that way, or -1. */
static int find_best(const bf_plan *plan, way_kind way) {
  int best = -1;
  for (unsigned i = 0; i < BF_PLAN_CANDIDATES; i++)
    if (is_allowed(plan, way, i) &&
        (best < 0 || is_better(way, &plan->tried[i], &plan->tried[best])))
      best = (int)i;
  return best;
}

/* A line for the kernel and its hash, or for one of its arrays. */
static void print_line(const subject *s, const bf_plan *plan, const char *way, const char *array,
                       const bf_hash *hash, const bf_comparison *tried) {
  printf("%s %s %s", s->benchmark->name, way, plan->name);
  if (array)
    printf("[%s]", array);
  printf(" %s %llu %llu %lld %llu %llu\n", hash ? bf_hash_text(hash) : "none",
         (unsigned long long)tried->before.wavefronts, (unsigned long long)tried->after.wavefronts,
         (long long)(tried->after.instructions - tried->before.instructions),
         (unsigned long long)tried->before.cycles, (unsigned long long)tried->after.cycles);
}

/* The lines of a kernel with its candidate of that number. */
static void print_candidate(subject *s, bf_plan *plan, const char *way, unsigned number) {
  const bf_rewrite_kernel *examined = bf_plan_examined(&s->plans, plan);
  const bf_comparison *tried = &plan->tried[number];
  bf_plan_take(&s->plans, plan, number);
  if (!plan->is_by_array)
    print_line(s, plan, way, NULL, plan->hash, tried);
  for (unsigned i = 0; plan->is_by_array && i < examined->arrays; i++)
    print_line(s, plan, way, examined->array[i].name, plan->array_hash[i], tried);
}

static void print_kernel(subject *s, bf_plan *plan) {
  for (unsigned i = 0; i < BF_PLAN_CANDIDATES; i++) {
    char way[16];
    snprintf(way, sizeof way, "try-%u", i);
    if (plan->was_tried[i])
      print_candidate(s, plan, way, i);
  }
  for (unsigned way = 0; way < WAYS; way++) {
    int best = find_best(plan, way);
    if (best >= 0)
      print_candidate(s, plan, way_names[way], (unsigned)best);
  }
}

/* ---- Benchmarks ---- */

/* Runs a benchmark, chooses for its kernels and prints what is chosen. */
static int do_benchmark(subject *s, bf_diagnostic *diagnostic) {
  const char *ptx = bf_corpus_ptx(s->benchmark->folder);
  bf_trial_options original = s->options;
  original.keeps_accesses = true;
  BF_TRY(bf_ptx_parse(s->benchmark->folder, ptx, strlen(ptx), &s->module, diagnostic));
  BF_TRY(bf_plans_make(s->module, s->benchmark->folder, NULL, &s->plans, diagnostic));
  s->plans.padding_has_room = true;
  BF_TRY(run(s, ptx, &original, &s->original, diagnostic));
  BF_TRY(choose(s, diagnostic));
  for (unsigned i = 0; i < s->plans.count; i++)
    print_kernel(s, &s->plans.plan[i]);
  fflush(stdout);
  return BF_OK;
}

static void free_subject(subject *s) {
  bf_trial_free(&s->original);
  bf_trial_free(&s->last);
  bf_plans_free(&s->plans);
  bf_ptx_free(s->module);
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
    subject s = {.benchmark = bf_corpus_get(i),
                 .options = {.machine = machine, .gpu = gpu, .workers = 1}};
    if (!is_asked(s.benchmark, argc - 2, argv + 2))
      continue;
    s.scale = scale_down(gpu_scale_of(&scales, s.benchmark->name), (unsigned)gpu->sms);
    error = do_benchmark(&s, &diagnostic);
    if (error)
      fprintf(stderr, "choose: %s: %s\n", s.benchmark->name, diagnostic.message);
    free_subject(&s);
  }
  bf_sim_gpu_free(gpu);
  bf_machine_free(machine);
  return error ? 2 : 0;
}
