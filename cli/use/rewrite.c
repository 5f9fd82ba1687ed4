/* rewrite: PTX whose accesses to shared memory go through a hash. */
#include "cli/look/simulate.h"
#include "cli/use/rewritten.h"
#include "ptx/fatbin.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
  cli_common common;
  const char *output, *hash, *hash_file, *kernel, *launch, *trace, *time_limit, *gpu;
  uint64_t module, workers;
  bool explain, check, dynamic_rounded;
} settings;

static const cli_option options[] = {
    {"output", CLI_TEXT, offsetof(settings, output), "FILE", NULL,
     "where to write the rewritten PTX (-: standard output, without the table)"},
    {"hash", CLI_TEXT, offsetof(settings, hash), "HASH", NULL,
     "hash of all kernels; auto (default) finds one for each from --launch or --trace"},
    {"hash-file", CLI_TEXT, offsetof(settings, hash_file), "FILE", NULL,
     "hashes of single kernels: lines KERNEL HASH, * for all others; KERNEL[ARRAY] HASH"},
    {"kernel", CLI_TEXT, offsetof(settings, kernel), "NAME", NULL, "rewrite only this kernel"},
    {"explain", CLI_FLAG, offsetof(settings, explain), NULL, NULL,
     "say what stands in the way of each kernel, and write nothing"},
    {"launch", CLI_TEXT, offsetof(settings, launch), "FILE", NULL,
     "run these launches on the emulator to choose and to predict (docs/profile.md)"},
    {"trace", CLI_TEXT, offsetof(settings, trace), "FILE", NULL,
     "choose from this trace instead, whose sites start with the kernel's name"},
    {"check", CLI_FLAG, offsetof(settings, check), NULL, NULL,
     "run original and rewritten on the launches and compare all memory"},
    {"dynamic-rounded", CLI_FLAG, offsetof(settings, dynamic_rounded), NULL, NULL,
     "launches round dynamic shared memory up to 128 bytes: rewrite kernels that have some"},
    {"gpu", CLI_TEXT, offsetof(settings, gpu), "GPU", NULL,
     "auto with --launch: the GPU whose simulated time decides (default " CLI_DEFAULT_GPU
     "); none: wavefronts and instructions decide"},
    {"time-limit", CLI_TEXT, offsetof(settings, time_limit), "SECONDS", NULL,
     "auto: longest single search; there are up to six per kernel (default 10; 0 = no limit)"},
    {"module", CLI_NUMBER, offsetof(settings, module), "N", NULL,
     "module of a program or fat binary (default 1)"},
    {"workers", CLI_NUMBER, offsetof(settings, workers), "N", NULL,
     "threads that run a kernel (default one per core; 1 with --check)"},
    CLI_COMMON(settings),
};

/* Everything rewrite loads and makes. */
typedef struct rewriting {
  const settings *settings;
  const char *file;
  double time_limit_seconds;
  bf_machine *machine;
  bf_ptx_module *ptx, *rewritten;
  cli_plans plans;
  bf_rewrite_result result;
  bf_sim_gpu *gpu;          /* whose time decides, or NULL */
  bf_trial original, final; /* of --launch */
  bf_trial simulated;       /* of the original, with gpu */
  bf_writer *output;
  bool differs; /* --check found a difference */
} rewriting;

/* ---- Trials ---- */

static bf_trial_options trial_options(const rewriting *work) {
  const settings *s = work->settings;
  return (bf_trial_options){.file = work->file,
                            .description = s->launch,
                            .module = work->ptx,
                            .machine = work->machine,
                            .workers = s->workers ? s->workers : s->check};
}

/* Runs a rewritten module. */
static int try_rewritten(const rewriting *work, const bf_ptx_module *rewritten, bool keeps_memory,
                         const bf_sim_gpu *gpu, bf_trial *trial, bf_diagnostic *diagnostic) {
  bf_trial_options o = trial_options(work);
  o.gpu = gpu;
  o.file = "rewritten";
  o.module = rewritten;
  o.keeps_memory = keeps_memory;
  o.shared_granule_bytes = BF_REWRITE_ROW_BYTES;
  return bf_trial_run(&o, trial, diagnostic);
}

/* ---- Choosing ---- */

/* The candidate of each kernel that has been best so far, by its number; -1: none. */
typedef struct best {
  int candidate;
  bf_prediction prediction;
} best;

/* Gives every kernel its candidate of that number; false where no kernel has one. */
static bool take_candidates(cli_plans *plans, unsigned number) {
  bool any = false;
  for (unsigned i = 0; i < plans->count; i++)
    any |= cli_plan_take(plans, &plans->plan[i], number);
  return any;
}

/* Keeps the candidates of that number that have gained more than those before. */
static void keep_best(rewriting *work, const bf_trial *trial, unsigned number, best *found) {
  for (unsigned i = 0; i < work->plans.count; i++) {
    const cli_plan *plan = &work->plans.plan[i];
    bf_prediction own;
    const bf_trial *original = work->gpu ? &work->simulated : &work->original;
    if (!cli_plan_has_hash(&work->plans, plan) || !cli_plans_measure(plan, original, trial, &own))
      continue;
    if (found[i].candidate < 0 || bf_prediction_is_better(&own, &found[i].prediction))
      found[i] = (best){(int)number, own};
  }
}

/* Rewrites with the candidates of that number, runs the result and keeps what is better. */
static int try_candidates(rewriting *work, unsigned number, best *found,
                          bf_diagnostic *diagnostic) {
  bf_rewrite_result result = {0};
  bf_ptx_module *rewritten = NULL;
  bf_trial trial = {0};
  if (!take_candidates(&work->plans, number))
    return BF_OK;
  work->plans.joins_logic = true;
  int error = cli_plans_rewrite(&work->plans, &result, &rewritten, diagnostic);
  work->plans.joins_logic = false;
  if (!error)
    error = try_rewritten(work, rewritten, false, work->gpu, &trial, diagnostic);
  if (!error)
    keep_best(work, &trial, number, found);
  bf_trial_free(&trial);
  bf_ptx_free(rewritten);
  bf_rewrite_free(&result);
  return error;
}

/* Why the best candidate is not taken. */
static void explain_loss(const bf_prediction *p, char *reason, size_t size) {
  int length = snprintf(
      reason, size, "hashed, it would take %llu wavefronts, not %llu, and %lld more instructions",
      (unsigned long long)p->wavefronts_after, (unsigned long long)p->wavefronts_before,
      (long long)p->added_instructions);
  if (p->cycles_after && length > 0 && (size_t)length < size)
    snprintf(reason + length, size - (size_t)length, ": %llu cycles, not %llu",
             (unsigned long long)p->cycles_after, (unsigned long long)p->cycles_before);
}

/* Takes what was best for a kernel, where it is worth it. */
static void take_best(const cli_plans *plans, cli_plan *plan, const best *found) {
  plan->is_by_array = false;
  plan->hash = NULL;
  plan->has_prediction = false;
  if (found->candidate < 0)
    return;
  plan->prediction = found->prediction;
  if (bf_prediction_is_worth(&found->prediction)) {
    cli_plan_take(plans, plan, (unsigned)found->candidate);
    plan->reason[0] = 0;
  } else {
    explain_loss(&found->prediction, plan->reason, sizeof plan->reason);
  }
}

/* Runs the original on the GPU to simulate. Where that was not asked for and fails, as for kernels
 * that the simulator does not know, the emulator decides. */
static int simulate_original(rewriting *work, bf_diagnostic *diagnostic) {
  const settings *s = work->settings;
  if (s->gpu && strcmp(s->gpu, "none") == 0)
    return BF_OK;
  BF_TRY(bf_sim_gpu_load(s->gpu ? s->gpu : CLI_DEFAULT_GPU, &work->gpu, diagnostic));
  /* Starting a kernel takes the same time with and without a hash, and would hide what it does in
   * short launches. */
  BF_TRY(bf_sim_gpu_set(work->gpu, "launch_cycles=0", diagnostic));
  bf_trial_options o = trial_options(work);
  o.gpu = work->gpu;
  int error = bf_trial_run(&o, &work->simulated, diagnostic);
  if (!error || s->gpu || error == BF_NO_MEMORY)
    return error;
  fprintf(stderr, "bankfold: note: not simulated, wavefronts decide: %s\n", diagnostic->message);
  bf_sim_gpu_free(work->gpu);
  work->gpu = NULL;
  return BF_OK;
}

/* Runs every candidate, those of single arrays last: what the simulator takes or, without a GPU to
 * simulate, the emulator counts, decides. */
static int choose_by_trial(rewriting *work, bf_diagnostic *diagnostic) {
  best *found = calloc(work->plans.count, sizeof *found);
  if (!found)
    return bf_no_memory(diagnostic);
  int error = simulate_original(work, diagnostic);
  for (unsigned i = 0; i < work->plans.count; i++)
    found[i].candidate = -1;
  for (unsigned number = 0; number <= BF_CHOOSE_MOST && !error; number++)
    error = try_candidates(work, number, found, diagnostic);
  for (unsigned i = 0; i < work->plans.count; i++)
    take_best(&work->plans, &work->plans.plan[i], &found[i]);
  free(found);
  return error;
}

/* --hash auto. */
static int choose(rewriting *work, bf_diagnostic *diagnostic) {
  const settings *s = work->settings;
  cli_plans_search search = {.machine = work->machine,
                             .time_limit_seconds = work->time_limit_seconds};
  if (s->trace)
    return cli_plans_choose_trace(&work->plans, &search, s->trace, diagnostic);
  bf_trial written;
  bf_trial_options o = trial_options(work);
  o.as_written = o.keeps_accesses = true;
  o.examined = &work->plans.examined;
  int error = bf_trial_run(&o, &written, diagnostic);
  if (!error)
    error = cli_plans_choose(&work->plans, &search, &work->original, &written, diagnostic);
  bf_trial_free(&written);
  return error ? error : choose_by_trial(work, diagnostic);
}

/* ---- Rewriting ---- */

static bool is_auto(const settings *s) {
  return !s->hash_file && (!s->hash || strcmp(s->hash, "auto") == 0);
}

/* Runs the original where there are launches, and gives kernels their hashes. */
static int plan(rewriting *work, bf_diagnostic *diagnostic) {
  const settings *s = work->settings;
  bf_trial_options o = trial_options(work);
  o.keeps_accesses = is_auto(s);
  o.examined = &work->plans.examined;
  o.keeps_memory = s->check;
  if (s->launch)
    BF_TRY(bf_trial_run(&o, &work->original, diagnostic));
  if (is_auto(s))
    return choose(work, diagnostic);
  return s->hash_file ? cli_plans_set_file(&work->plans, s->hash_file, work->machine, diagnostic)
                      : cli_plans_set_hash(&work->plans, s->hash, work->machine, diagnostic);
}

/* Runs the result on the launches: predictions, and with --check the comparison. A fault that only
 * the rewritten module has is a difference too. */
static int try_result(rewriting *work, bf_diagnostic *diagnostic) {
  bool check = work->settings->check;
  int error = try_rewritten(work, work->rewritten, check, NULL, &work->final, diagnostic);
  work->differs = error == BF_BAD_INPUT;
  BF_TRY(error);
  for (unsigned i = 0; i < work->plans.count; i++) {
    cli_plan *own = &work->plans.plan[i];
    bf_prediction chosen = own->prediction;
    own->has_prediction = work->result.kernel[i].is_rewritten &&
                          cli_plans_measure(own, &work->original, &work->final, &own->prediction);
    own->prediction.cycles_before = chosen.cycles_before;
    own->prediction.cycles_after = chosen.cycles_after;
  }
  if (!check)
    return BF_OK;
  bf_text difference = {0};
  work->differs = !bf_trial_is_equal(&work->original, &work->final, &difference);
  if (work->differs)
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, work->settings->launch, "%s",
                         difference.data ? difference.data : "memory differs");
  bf_text_free(&difference);
  return error;
}

/* All that comes before the result is shown: nothing is written unless all went well. */
static int rewrite_all(rewriting *work, bf_diagnostic *diagnostic) {
  const settings *s = work->settings;
  BF_TRY(bf_writer_open(s->output, false, &work->output, diagnostic));
  BF_TRY(plan(work, diagnostic));
  BF_TRY(cli_plans_rewrite(&work->plans, &work->result, &work->rewritten, diagnostic));
  if (s->launch)
    BF_TRY(try_result(work, diagnostic));
  BF_TRY(bf_writer_write(work->output, work->result.text.data, work->result.text.size, diagnostic));
  return bf_writer_commit(work->output, diagnostic);
}

/* ---- The command ---- */

/* What is wrong with the command line: -1 to go on or an exit status. */
static int check_usage(const settings *s) {
  const cli_command *own = &cli_rewrite;
  if (s->explain)
    return s->output || s->hash || s->hash_file || s->launch || s->trace || s->check ||
                   s->dynamic_rounded
               ? cli_usage_error(own, "--explain goes with --kernel and --module only")
               : -1;
  if (!s->output)
    return cli_usage_error(own, "--output is needed, or --explain");
  if (s->hash && s->hash_file)
    return cli_usage_error(own, "--hash and --hash-file exclude each other");
  if (s->launch && s->trace)
    return cli_usage_error(own, "--launch and --trace exclude each other");
  if (is_auto(s) && !s->launch && !s->trace)
    return cli_usage_error(own, "--hash auto needs --launch or --trace: what the kernels do");
  if (s->gpu && (!is_auto(s) || !s->launch))
    return cli_usage_error(own, "--gpu is for --hash auto with --launch");
  if (!is_auto(s) && s->trace)
    return cli_usage_error(own, "--trace is for --hash auto");
  if (s->check && !s->launch)
    return cli_usage_error(own, "--check needs --launch: which kernels to run, and on what");
  if (s->launch && strcmp(s->launch, "-") == 0)
    return cli_usage_error(own, "--launch is read more than once; standard input cannot be");
  if (s->common.json && strcmp(s->output, "-") == 0)
    return cli_usage_error(own, "--json and --output - both need standard output");
  if (s->workers > 1024)
    return cli_usage_error(own, "--workers takes at most 1024");
  return -1;
}

static int load(rewriting *work, bf_diagnostic *diagnostic) {
  const settings *s = work->settings;
  BF_TRY(cli_load_machine(&s->common, &work->machine, diagnostic));
  BF_TRY(bf_launches_check_machine(work->machine, diagnostic));
  BF_TRY(bf_fatbin_read_ptx(work->file, s->module, &work->ptx, diagnostic));
  BF_TRY(cli_plans_make(work->ptx, work->file, s->kernel, &work->plans, diagnostic));
  work->plans.dynamic_is_rounded = s->launch || s->dynamic_rounded;
  return BF_OK;
}

/* Prints what was done or, with --explain, could be. */
static int print(const rewriting *work) {
  const settings *s = work->settings;
  cli_rewritten shown = {.file = work->file,
                         .output = s->output,
                         .plans = &work->plans,
                         .result = s->explain ? NULL : &work->result,
                         .tried = s->launch ? &work->final : NULL,
                         .checked = s->check ? &work->original : NULL};
  bf_text text = {0};
  if (s->output && strcmp(s->output, "-") == 0)
    return CLI_OK;
  if (s->common.json)
    cli_rewritten_write_json(&shown, &text);
  else if (s->explain)
    cli_rewritten_explain(&shown, &text);
  else
    cli_rewritten_write_text(&shown, cli_wants_color(&s->common), &text);
  return cli_print(&text);
}

static void unload(rewriting *work) {
  bf_writer_close(work->output);
  bf_trial_free(&work->original);
  bf_trial_free(&work->final);
  bf_trial_free(&work->simulated);
  bf_sim_gpu_free(work->gpu);
  bf_rewrite_free(&work->result);
  bf_ptx_free(work->rewritten);
  cli_plans_free(&work->plans);
  bf_ptx_free(work->ptx);
  bf_machine_free(work->machine);
}

static int rewrite(const void *given, int count, char **arguments) {
  const settings *s = given;
  (void)count;
  bf_diagnostic diagnostic = {.caret = -1};
  rewriting work = {.settings = s, .file = arguments[0], .time_limit_seconds = 10};
  int status = check_usage(s);
  if (status < 0)
    status = cli_seconds(&cli_rewrite, "time-limit", s->time_limit, &work.time_limit_seconds);
  if (status >= 0)
    return status;
  int error = load(&work, &diagnostic);
  if (!error && !s->explain)
    error = rewrite_all(&work, &diagnostic);
  if (!error)
    status = print(&work);
  else
    status = cli_complain(&diagnostic);
  if (error && work.differs)
    status = CLI_FINDINGS;
  unload(&work);
  return status;
}

const cli_command cli_rewrite = {
    .name = "rewrite",
    .summary = "rewrite PTX so that its accesses to shared memory go through a hash",
    .arguments = "FILE",
    .details =
        "FILE is PTX, or a program, library or fat binary that holds PTX. Every access to shared "
        "memory of a\nkernel gets instructions that hash its address; data lies elsewhere inside "
        "its row of 128 bytes,\nand results stay what they were. Kernels with accesses that cannot "
        "be rewritten safely are left\nalone, and so are those that would not gain from it "
        "(docs/rewrite.md). A verifier that shares no\ncode with the rewriter must accept the "
        "result before it is written.\n\nPredictions are in wavefronts of the launches given; the "
        "gain is what is saved less what the added\ninstructions cost, a quarter of a wavefront "
        "each. With --launch, auto simulates every candidate on a GPU: a kernel is "
        "rewritten\nwhere "
        "it takes fewer cycles then and saves work that is at least 4% of its time. Exit status 1 "
        "where\n--check finds a difference: nothing is written then.",
    .examples = "bankfold rewrite kernel.ptx --explain\n"
                "bankfold rewrite kernel.ptx --launch kernel.launch --check --output hashed.ptx\n"
                "bankfold rewrite kernel.ptx --hash fixed --kernel transpose --output hashed.ptx",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .settings_size = sizeof(settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = rewrite,
};
