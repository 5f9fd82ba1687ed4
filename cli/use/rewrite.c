/* rewrite: PTX whose accesses to shared memory go through a hash. */
#include "cli/look/simulate.h"
#include "cli/use/rewrite_table.h"
#include "ptx/fatbin.h"
#include "tune/predict.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
  cli_common common;
  const char *output, *hash, *hash_file, *kernel, *launch, *trace, *time_limit, *gpu, *block, *grid;
  uint64_t module, workers;
  bool explain, check, dynamic_rounded, launches_checked;
} settings;

static const cli_option options[] = {
    {"output", CLI_TEXT, offsetof(settings, output), "FILE", NULL,
     "where to write the rewritten PTX (-: standard output, without the table)"},
    {"hash", CLI_TEXT, offsetof(settings, hash), "HASH", NULL,
     "hash of all kernels; auto (default) finds one for each: by --launch, by --trace, or from the "
     "PTX alone"},
    {"hash-file", CLI_TEXT, offsetof(settings, hash_file), "FILE", NULL,
     "hashes of single kernels: lines KERNEL HASH, * for all others; KERNEL[ARRAY] HASH"},
    {"kernel", CLI_TEXT, offsetof(settings, kernel), "NAME", NULL, "rewrite only this kernel"},
    {"explain", CLI_FLAG, offsetof(settings, explain), NULL, NULL,
     "say what stands in the way of each kernel and what auto would do from the PTX; write "
     "nothing"},
    {"block", CLI_TEXT, offsetof(settings, block), "XxYxZ", NULL,
     "auto from the PTX: threads of a block (default: what the kernel requires, or all usual "
     "ones)"},
    {"grid", CLI_TEXT, offsetof(settings, grid), "XxYxZ", NULL,
     "the same: blocks of the grid (default: as many as fill the GPU)"},
    {"launch", CLI_TEXT, offsetof(settings, launch), "FILE", NULL,
     "run these launches on the emulator to choose and to predict (docs/profile.md)"},
    {"trace", CLI_TEXT, offsetof(settings, trace), "FILE", NULL,
     "choose from this trace instead, whose sites start with the kernel's name"},
    {"check", CLI_FLAG, offsetof(settings, check), NULL, NULL,
     "run original and rewritten on the launches and compare all memory"},
    {"dynamic-rounded", CLI_FLAG, offsetof(settings, dynamic_rounded), NULL, NULL,
     "launches have room for static arrays that padding makes larger before dynamic ones"},
    {"launches-checked", CLI_FLAG, offsetof(settings, launches_checked), NULL, NULL,
     "somebody looks at each launch, as bankfold run does: hashes may be for some blocks only, as "
     "pad:32+1@32x8 is, dynamic shared memory may have longer rows, and auto takes what wins in "
     "some launch"},
    {"gpu", CLI_TEXT, offsetof(settings, gpu), "GPU", NULL,
     "auto with --launch: the GPU whose simulated time decides (default " CLI_DEFAULT_GPU
     "); none: wavefronts and instructions decide"},
    {"time-limit", CLI_TEXT, offsetof(settings, time_limit), "SECONDS", NULL,
     "auto: longest single search; there are up to six per kernel (default 10; 0 = no limit)"},
    {"module", CLI_NUMBER, offsetof(settings, module), "N", NULL,
     "module of a program or fat binary (default 1)"},
    {"threads", CLI_NUMBER, offsetof(settings, workers), "N", NULL,
     "threads that run a kernel (default one per core; 1 with --check)"},
    CLI_COMMON(settings),
};

/* Everything rewrite loads and makes. */
typedef struct rewriting {
  const settings *settings;
  const char *file;
  double time_limit_seconds;
  bf_predict_launch named; /* of --block and --grid */
  bf_machine *machine;
  bf_sim_gpu *gpu; /* whose time decides, or NULL */
  bf_ptx_module *ptx;
  bf_plans plans;
  bf_tune_options tune_options;
  bf_tune tune; /* of --launch */
  bf_rewrite_result result;
  bf_writer *output;
} rewriting;

static bool is_auto(const settings *s) {
  return !s->hash_file && (!s->hash || strcmp(s->hash, "auto") == 0);
}

/* Loads the GPU whose simulated time decides; NULL where none is to. */
static int load_gpu(const settings *s, bf_sim_gpu **gpu, bf_diagnostic *diagnostic) {
  if (!is_auto(s) || !s->launch || (s->gpu && strcmp(s->gpu, "none") == 0))
    return BF_OK;
  BF_TRY(bf_sim_gpu_load(s->gpu ? s->gpu : CLI_DEFAULT_GPU, gpu, diagnostic));
  /* Starting a kernel takes the same time with and without a hash, and would hide what it does in
   * short launches. */
  return bf_sim_gpu_set(*gpu, "launch_cycles=0", diagnostic);
}

/* Whether hashes are chosen from the PTX alone. */
static bool is_static(const settings *s) { return is_auto(s) && !s->launch && !s->trace; }

/* Chooses hashes from the PTX. */
static int predict(rewriting *work, bf_diagnostic *diagnostic) {
  bf_predict_options own = {.machine = work->machine,
                            .launch = &work->named,
                            .decides_by_launch = work->settings->launches_checked};
  if (work->settings->time_limit)
    own.time_limit_seconds = work->time_limit_seconds;
  return bf_predict_choose(&work->plans, &own, diagnostic);
}

/* Gives kernels their hashes: as asked for, or the best. */
static int plan(rewriting *work, bf_diagnostic *diagnostic) {
  const settings *s = work->settings;
  bf_plans_search search = {.machine = work->machine,
                            .time_limit_seconds = work->time_limit_seconds};
  bf_geometry geometry = bf_machine_geometry(work->machine);
  if (s->hash_file)
    return bf_plans_set_file(&work->plans, s->hash_file, &geometry, diagnostic);
  if (!is_auto(s))
    return bf_plans_set_hash(&work->plans, s->hash, &geometry, diagnostic);
  if (s->trace)
    return bf_plans_propose_trace(&work->plans, &search, s->trace, diagnostic);
  if (!s->launch)
    return predict(work, diagnostic);
  int error = bf_tune_choose(&work->tune, &search, diagnostic);
  if (work->tune.remark[0])
    fprintf(stderr, "bankfold: note: %s\n", work->tune.remark);
  return error;
}

/* All that comes before the result is shown: nothing is written unless all went well. */
static int rewrite_all(rewriting *work, bf_diagnostic *diagnostic) {
  const settings *s = work->settings;
  BF_TRY(bf_writer_open(s->output, false, &work->output, diagnostic));
  if (s->launch)
    BF_TRY(bf_tune_begin(&work->tune_options, &work->plans, &work->tune, diagnostic));
  BF_TRY(plan(work, diagnostic));
  BF_TRY(bf_plans_rewrite(&work->plans, false, &work->result, diagnostic));
  if (s->launch)
    BF_TRY(bf_tune_check(&work->tune, &work->result, diagnostic));
  BF_TRY(bf_writer_write(work->output, work->result.text.data, work->result.text.size, diagnostic));
  return bf_writer_commit(work->output, diagnostic);
}

/* ---- The command ---- */

/* What is wrong with the command line: -1 to go on or an exit status. */
static int check_usage(const settings *s) {
  const cli_command *own = &cli_rewrite;
  if (s->explain)
    return s->output || s->hash || s->hash_file || s->launch || s->trace || s->check
               ? cli_usage_error(own, "--explain goes with --kernel, --module, --block, --grid, "
                                      "--dynamic-rounded and --launches-checked only")
               : -1;
  if (!s->output)
    return cli_usage_error(own, "--output is needed, or --explain");
  if (s->hash && s->hash_file)
    return cli_usage_error(own, "--hash and --hash-file exclude each other");
  if (s->launch && s->trace)
    return cli_usage_error(own, "--launch and --trace exclude each other");
  if ((s->block || s->grid) && !is_static(s))
    return cli_usage_error(own, "--block and --grid are for --hash auto without --launch and "
                                "--trace");
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

/* Reads the launch that --block and --grid name. */
static int read_launch(const settings *s, bf_predict_launch *launch, bf_diagnostic *diagnostic) {
  uint32_t *block = launch->block;
  if (s->block)
    block[1] = block[2] = 1;
  if (s->grid)
    launch->grid[1] = launch->grid[2] = 1;
  BF_TRY(cli_parse_size("block", s->block, 1, block, diagnostic));
  BF_TRY(cli_parse_size("grid", s->grid, 1, launch->grid, diagnostic));
  if (block[0] > 1024 || block[1] > 1024 || (uint64_t)block[0] * block[1] * block[2] > 1024)
    return bf_fail(diagnostic, BF_BAD_INPUT, "--block %s: a block has at most 1024 threads",
                   s->block);
  return BF_OK;
}

static int load(rewriting *work, bf_diagnostic *diagnostic) {
  const settings *s = work->settings;
  BF_TRY(read_launch(s, &work->named, diagnostic));
  BF_TRY(cli_load_machine(&s->common, &work->machine, diagnostic));
  BF_TRY(bf_launches_check_machine(work->machine, diagnostic));
  BF_TRY(bf_fatbin_read_ptx(work->file, s->module, &work->ptx, diagnostic));
  BF_TRY(bf_plans_make(work->ptx, work->file, s->kernel, &work->plans, diagnostic));
  BF_TRY(load_gpu(s, &work->gpu, diagnostic));
  work->plans.padding_has_room = s->launch || s->dynamic_rounded;
  work->plans.blocks_are_checked = s->launches_checked;
  work->plans.resizes_dynamic = s->launches_checked && !s->launch;
  work->tune_options = (bf_tune_options){.file = work->file,
                                         .description = s->launch,
                                         .machine = work->machine,
                                         .gpu = work->gpu,
                                         .gpu_is_needed = s->gpu != NULL,
                                         .workers = (unsigned)(s->workers ? s->workers : s->check),
                                         .keeps_accesses = is_auto(s),
                                         .keeps_memory = s->check};
  if (!work->plans.examined.was_rewritten || s->explain)
    return BF_OK;
  return bf_fail_file(diagnostic, BF_BAD_INPUT, work->file,
                      "it was rewritten before; hashes that are applied twice can cancel out. "
                      "Rewrite the original");
}

/* Prints what was done or, with --explain, could be. */
static int print(const rewriting *work) {
  const settings *s = work->settings;
  cli_rewrite_table shown = {.file = work->file,
                             .output = s->output,
                             .plans = &work->plans,
                             .result = s->explain ? NULL : &work->result,
                             .checked = s->check ? &work->tune.original : NULL};
  bf_text text = {0};
  if (s->output && strcmp(s->output, "-") == 0)
    return CLI_OK;
  if (s->common.json)
    cli_rewrite_table_write_json(&shown, &text);
  else if (s->explain)
    cli_rewrite_table_explain(&shown, &text);
  else
    cli_rewrite_table_write_text(&shown, cli_wants_color(&s->common), &text);
  return cli_print(&text);
}

static void unload(rewriting *work) {
  bf_writer_close(work->output);
  bf_tune_free(&work->tune);
  bf_sim_gpu_free(work->gpu);
  bf_rewrite_free(&work->result);
  bf_plans_free(&work->plans);
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
  if (!error && s->explain && !work.plans.examined.was_rewritten)
    error = predict(&work, &diagnostic);
  if (!error && !s->explain)
    error = rewrite_all(&work, &diagnostic);
  if (!error)
    status = print(&work);
  else
    status = cli_complain(&diagnostic);
  if (error && work.tune.differs)
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
        "result before it is written.\n\nWithout --launch, auto predicts from the PTX what a hash "
        "is "
        "worth, in blocks of --block threads or\nof what the kernel requires, else of all shapes "
        "that "
        "are usual; it takes what wins beyond the error\nof the prediction. Predictions are in "
        "wavefronts of the launches given; the "
        "gain is what is saved less what the added\ninstructions cost, a quarter of a wavefront "
        "each. With --launch, auto simulates every candidate on a GPU: a kernel is "
        "rewritten\nwhere "
        "it takes fewer cycles then and saves work that is at least 4% of its time. Exit status 1 "
        "where\n--check finds a difference: nothing is written then.",
    .examples = "bankfold rewrite kernel.ptx --explain --block 32x8\n"
                "bankfold rewrite kernel.ptx --block 32x8 --output hashed.ptx\n"
                "bankfold rewrite kernel.ptx --launch kernel.launch --check --output hashed.ptx\n"
                "bankfold rewrite kernel.ptx --hash fixed --kernel transpose --output hashed.ptx",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = rewrite,
};
