/* suggest: how to change source so that its shared arrays have no bank conflicts. */
#include "cli/gate.h"
#include "cli/use/compile.h"
#include "cli/use/suggest_run.h"
#include "emu/launches.h"
#include "process/folder.h"
#include "ptx/fatbin.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
  cli_common common;
  const char *launch, *run, *trace, *block, *kernel, *source, *patch, *by, *svg, *html;
  uint64_t module;
  double time_limit;
  cli_texts flags;
  bool still, check;
  cli_gate gate;
} settings;

static const cli_option options[] = {
    {"launch", CLI_TEXT, offsetof(settings, launch), "FILE", NULL,
     "run the kernels of this launch description on the emulator (docs/profile.md)"},
    {"run", CLI_TEXT, offsetof(settings, run), "PROGRAM", NULL,
     "run this program as exec does; arguments behind FILE are its own"},
    {"trace", CLI_TEXT, offsetof(settings, trace), "FILE", NULL,
     "take the accesses from a trace that trace or exec wrote"},
    {"block", CLI_TEXT, offsetof(settings, block), "XxYxZ", NULL,
     "without these three: threads of a block, for analysis without running (default: as "
     "launched)"},
    {"kernel", CLI_TEXT, offsetof(settings, kernel), "KERNEL", NULL,
     "only the arrays of the kernel of that name"},
    {"source", CLI_TEXT, offsetof(settings, source), "FILE", NULL,
     "the source that FILE was made from (default: FILE, or what its line information names)"},
    {"nvcc-flag", CLI_TEXTS, offsetof(settings, flags), "FLAG", NULL,
     "give this to nvcc too; may be repeated"},
    {"module", CLI_NUMBER, offsetof(settings, module), "N", NULL,
     "module of a program or fat binary (default 1)"},
    {"patch", CLI_TEXT, offsetof(settings, patch), "FILE", NULL,
     "write a unified diff of all arrays that can be changed with certainty, for patch -p0"},
    {"by", CLI_TEXT, offsetof(settings, by), "WAY", "swizzle padding least",
     "what the patch does (default least: what costs least, else the other)"},
    CLI_GATE(settings),
    {"check", CLI_FLAG, offsetof(settings, check), NULL, NULL,
     "compile and run the patched source and compare it with the original"},
    {"svg", CLI_TEXT, offsetof(settings, svg), "DIR", NULL,
     "write a picture of each array, before and after, into this folder"},
    {"html", CLI_TEXT, offsetof(settings, html), "FILE", NULL,
     "write a page with all of them (docs/explorer.md)"},
    {"still", CLI_FLAG, offsetof(settings, still), NULL, NULL,
     "--html: a page without scripts, text and pictures"},
    {"time-limit", CLI_REAL, offsetof(settings, time_limit), "SECONDS", NULL,
     "of each exact search (default 2)"},
    CLI_COMMON(settings),
};

/* Everything that a run has open. */
typedef struct running {
  const settings *settings;
  const char *file;
  bf_machine *machine;
  char folder[PATH_MAX]; /* empty: not made */
  cli_suggest_runs runs;
  int status; /* of the program */
  bf_ptx_module *module;
  bf_review review;
  cli_suggest_table result;
  bf_diagnostic *diagnostic;
} running;

/* ---- Input ---- */

/* Reads the PTX of the input, which is compiled first where it is source. */
static int read_module(running *r) {
  char ptx[PATH_MAX + 32];
  if (!bf_source_is_name(r->file))
    return bf_fatbin_read_ptx(r->file, r->settings->module, &r->module, r->diagnostic);
  if (access(r->file, R_OK) != 0)
    return bf_fail_file(r->diagnostic, BF_IO, r->file, "%s", strerror(errno));
  snprintf(ptx, sizeof ptx, "%s/original.ptx", r->folder);
  BF_TRY(cli_compile_ptx(r->file, &r->settings->flags, ptx, r->diagnostic));
  return bf_fatbin_read_ptx(ptx, 0, &r->module, r->diagnostic);
}

/* Reads the source, where it is known. */
static int read_source(running *r) {
  const settings *s = r->settings;
  const char *given = bf_source_is_name(r->file) ? r->file : NULL;
  const char *path = s->source ? s->source : bf_review_named_source(r->module, given);
  if (path)
    return bf_review_read_source(&r->review, path, r->diagnostic);
  return s->patch || s->check ? bf_fail_file(r->diagnostic, BF_BAD_INPUT, r->file,
                                             "its source is not known; give it with --source")
                              : BF_OK;
}

/* Gives the arrays their accesses without running. */
static int analyze(running *r) {
  uint32_t block[3] = {0, 1, 1};
  BF_TRY(cli_parse_size("block", r->settings->block, 1, block, r->diagnostic));
  return bf_review_add_analysis(&r->review, block, r->diagnostic);
}

/* Gives the arrays their accesses, from where they are asked for. */
static int read_accesses(running *r) {
  const settings *s = r->settings;
  r->result.origin = s->launch ? "launch" : s->run ? "run" : s->trace ? "trace" : "analysis";
  if (s->launch || s->run)
    return cli_suggest_record(&r->runs, "original", &r->review, &r->status, r->diagnostic);
  return s->trace ? bf_review_add_trace(&r->review, s->trace, false, r->diagnostic) : analyze(r);
}

/* ---- The patch ---- */

/* Looks at the patched source as at the original, and whether tentative changes hold there. */
static int verify(running *r, bool *is_fit) {
  bf_ptx_module *module;
  bf_review patched = {.arrays = 0};
  int unused;
  BF_TRY(cli_suggest_try(&r->runs, &r->review, &module, r->diagnostic));
  if (!module)
    return bf_review_verify(&r->review, NULL, is_fit);
  int error =
      bf_review_find_arrays(&patched, module, r->machine, r->settings->kernel, r->diagnostic);
  if (!error && (r->settings->launch || r->settings->run))
    error = cli_suggest_record(&r->runs, "tried", &patched, &unused, r->diagnostic);
  else if (!error)
    error = bf_review_add_analysis_like(&patched, &r->review, r->diagnostic);
  if (!error)
    error = bf_review_verify(&r->review, &patched, is_fit);
  bf_review_free(&patched);
  bf_ptx_free(module);
  return error;
}

/* Makes the patch; tentative changes that do not hold are taken back. */
static int make_edits(running *r) {
  const settings *s = r->settings;
  bool by_padding = s->by && strcmp(s->by, "padding") == 0;
  bool by_least = !s->by || strcmp(s->by, "least") == 0;
  int kind = by_least ? -1 : by_padding ? BF_SUGGEST_PADDING : BF_SUGGEST_SWIZZLE;
  r->review.can_verify = bf_source_is_name(r->file) && !s->run && !s->trace && r->review.source &&
                         strcmp(r->review.source->file, r->file) == 0;
  BF_TRY(bf_review_patch(&r->review, kind, r->diagnostic));
  for (bool is_fit = false; bf_review_has_tentative(&r->review) && !is_fit;) {
    BF_TRY(verify(r, &is_fit));
    if (is_fit)
      break;
    bf_review_take_back(&r->review);
    BF_TRY(bf_review_patch(&r->review, kind, r->diagnostic));
  }
  return BF_OK;
}

/* Makes the patch, and writes it where that is asked for. */
static int make_patch(running *r) {
  const settings *s = r->settings;
  bf_text text = {0};
  BF_TRY(make_edits(r));
  if (!s->patch || !r->review.patch.edits)
    return BF_OK;
  int error = bf_patch_write_diff(&r->review.patch, r->review.source->file, &text, r->diagnostic);
  if (!error)
    error = bf_write_file(s->patch, text.data, text.size, r->diagnostic);
  bf_text_free(&text);
  return error;
}

/* ---- Output ---- */

static int write_all(running *r, bf_text *text) {
  if (r->settings->svg)
    BF_TRY(cli_suggest_table_write_pictures(&r->result, r->settings->svg, r->diagnostic));
  if (r->settings->html)
    BF_TRY(cli_suggest_table_write_page(&r->result, r->settings->still, r->settings->html,
                                        r->diagnostic));
  if (r->settings->common.json)
    cli_suggest_table_write_json(&r->result, text);
  else
    cli_suggest_table_write_text(&r->result, cli_wants_color(&r->settings->common), text);
  return BF_OK;
}

/* What arrays cost, for limits: in the patched source, where that was run. */
static int find_costs(const running *r, bf_gate *found) {
  for (size_t i = 0; i < r->review.arrays; i++) {
    const bf_review_array *item = &r->review.array[i];
    char name[512];
    bool has_declaration = item->declared && r->review.source;
    snprintf(name, sizeof name, "%.250s: %.250s", item->kernel_name, item->shared.name);
    bf_finding own = {
        .file = has_declaration ? r->review.source->file : r->file,
        .line = has_declaration ? r->review.source->token[item->own->token].line : 0,
        .name = name,
        .wavefronts = item->is_checked ? item->checked_wavefronts : item->suggestions.wavefronts,
        .conflicts = item->is_checked ? item->checked_conflicts : item->suggestions.conflicts};
    if (item->is_asked)
      BF_TRY(bf_gate_add(found, &own, r->diagnostic));
  }
  return BF_OK;
}

/* ---- The command ---- */

static int work(running *r, bf_text *text) {
  const settings *s = r->settings;
  BF_TRY(cli_load_machine(&s->common, &r->machine, r->diagnostic));
  BF_TRY(bf_launches_check_machine(r->machine, r->diagnostic));
  BF_TRY(bf_process_make_folder(r->folder, r->diagnostic));
  BF_TRY(read_module(r));
  BF_TRY(bf_review_find_arrays(&r->review, r->module, r->machine, s->kernel, r->diagnostic));
  BF_TRY(read_source(r));
  BF_TRY(read_accesses(r));
  BF_TRY(bf_review_find_declarations(&r->review, r->diagnostic));
  BF_TRY(bf_review_suggest(&r->review, s->time_limit > 0 ? s->time_limit : 2, r->diagnostic));
  BF_TRY(make_patch(r));
  if (s->check && r->review.patch.edits)
    BF_TRY(cli_suggest_check(&r->runs, r->status, &r->review, &r->result, r->diagnostic));
  return write_all(r, text);
}

static void close_all(running *r) {
  if (r->folder[0])
    bf_process_remove_folder(r->folder);
  bf_text_free(&r->result.difference);
  bf_review_free(&r->review);
  bf_ptx_free(r->module);
  bf_machine_free(r->machine);
}

/* What is wrong with the command line: -1 to go on or an exit status. */
static int check_usage(const settings *s, int count) {
  if ((s->launch != NULL) + (s->run != NULL) + (s->trace != NULL) + (s->block != NULL) > 1)
    return cli_usage_error(&cli_suggest, "--launch, --run, --trace and --block exclude each other");
  if (s->check && !s->launch && !s->run)
    return cli_usage_error(&cli_suggest, "--check needs --launch or --run");
  int gate = cli_gate_check(&cli_suggest, &s->gate);
  if (gate >= 0)
    return gate;
  if (!s->run && count > 1)
    return cli_usage_error(&cli_suggest, "one FILE is enough; more arguments are for --run");
  return -1;
}

static int suggest(const void *given, int count, char **arguments) {
  const settings *s = given;
  bf_diagnostic diagnostic = {.caret = -1};
  bf_text text = {0};
  int status = check_usage(s, count);
  if (status >= 0)
    return status;
  running r = {.settings = s, .file = arguments[0], .diagnostic = &diagnostic};
  r.runs = (cli_suggest_runs){
      .launch = s->launch, .machine = s->common.machine, .flags = &s->flags, .folder = r.folder};
  r.result = (cli_suggest_table){.file = r.file, .review = &r.review, .patch_file = s->patch};
  /* The program takes the place of FILE before its own arguments. */
  if (s->run) {
    arguments[0] = (char *)s->run;
    r.runs.program = arguments;
    r.runs.arguments = count;
  }
  bf_gate found = {.findings = 0};
  int error = work(&r, &text);
  if (!error)
    error = find_costs(&r, &found);
  if (!error && s->check && r.result.is_checked && !r.result.is_equal)
    status = CLI_FINDINGS;
  close_all(&r);
  if (error) {
    bf_text_free(&text);
    bf_gate_free(&found);
    return cli_complain(&diagnostic);
  }
  int printed = cli_gate_finish(&s->gate, &found, cli_print(&text));
  return status == CLI_FINDINGS && printed == CLI_OK ? status : printed;
}

const cli_command cli_suggest = {
    .name = "suggest",
    .summary = "show how to change source so that shared arrays have no bank conflicts",
    .arguments = "FILE [ARGUMENT...]",
    .details =
        "FILE is a CUDA source, which nvcc compiles, or what it was compiled to: PTX, a program or "
        "a\nlibrary with PTX, best with line information (nvcc -lineinfo). For each shared array "
        "of each kernel\nit says where it is declared, what its accesses cost, and three ways to "
        "remove their conflicts: an\nXOR on the subscripts, padding, and a CuTe swizzle, each "
        "with the conflicts that it leaves and what\nit costs (docs/suggest.md).\n\nAccesses come "
        "from a run without a GPU (--launch, --run), from a trace, or from analysis of the\nPTX. "
        "--patch changes arrays whose every use is an element with all its subscripts, and says of "
        "the\nothers why not. Exit status 1 where --check finds that results differ.",
    .examples = "bankfold suggest app.cu --block 32x8                 # without running\n"
                "bankfold suggest app.cu --launch app.launch --patch app.diff --check\n"
                "bankfold suggest app.cu --run ./app 1024             # as exec runs it\n"
                "bankfold suggest app.ptx --source app.cu --block 32x8 --html arrays.html",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 1024,
    .run = suggest,
};
