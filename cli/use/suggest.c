/* suggest: how to change source so that its shared arrays have no bank conflicts. */
#include "cli/environment.h"
#include "cli/use/suggest_check.h"
#include "emu/launches.h"
#include "ptx/fatbin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct settings {
  cli_common common;
  const char *launch, *run, *trace, *block, *kernel, *source, *patch, *by, *svg, *html;
  uint64_t module;
  double time_limit;
  cli_texts flags;
  bool check;
} settings;

static const cli_option options[] = {
    {"launch", CLI_TEXT, offsetof(settings, launch), "FILE", NULL,
     "run the kernels of this launch description on the emulator (docs/profile.md)"},
    {"run", CLI_TEXT, offsetof(settings, run), "PROGRAM", NULL,
     "run this program as exec does; arguments behind FILE are its own"},
    {"trace", CLI_TEXT, offsetof(settings, trace), "FILE", NULL,
     "take the accesses from a trace that trace or exec wrote"},
    {"block", CLI_TEXT, offsetof(settings, block), "XxYxZ", NULL,
     "without these three: threads of a block, for analysis without running"},
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
     "what the patch does (default swizzle)"},
    {"check", CLI_FLAG, offsetof(settings, check), NULL, NULL,
     "compile and run the patched source and compare it with the original"},
    {"svg", CLI_TEXT, offsetof(settings, svg), "DIR", NULL,
     "write a picture of each array, before and after, into this folder"},
    {"html", CLI_TEXT, offsetof(settings, html), "FILE", NULL, "write a page with all of them"},
    {"time-limit", CLI_REAL, offsetof(settings, time_limit), "SECONDS", NULL,
     "of each exact search (default 2)"},
    CLI_COMMON(settings),
};

enum { MOST_SOURCE_BYTES = 1 << 24 };

/* Everything that a run has open. */
typedef struct running {
  const settings *settings;
  const char *file;
  int program_count;
  char **program;
  bf_machine *machine;
  char folder[PATH_MAX]; /* empty: not made */
  bf_ptx_module *module;
  char *source_path;
  bf_text source_text;
  cli_arrays arrays;
  cli_suggest_runs runs;
  int status; /* of the program */
  bf_patch patch;
  cli_suggested result;
  bf_diagnostic *diagnostic;
} running;

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), size = strlen(end);
  return length >= size && strcmp(text + length - size, end) == 0;
}

static bool is_source(const char *path) {
  return ends_with(path, ".cu") || ends_with(path, ".cuh") || ends_with(path, ".cpp") ||
         ends_with(path, ".cc");
}

/* ---- Input ---- */

/* Reads the PTX of the input, which is compiled first where it is source. */
static int read_module(running *r) {
  char ptx[PATH_MAX + 32];
  if (!is_source(r->file))
    return bf_fatbin_read_ptx(r->file, r->settings->module, &r->module, r->diagnostic);
  if (access(r->file, R_OK) != 0)
    return bf_fail_file(r->diagnostic, BF_IO, r->file, "%s", strerror(errno));
  snprintf(ptx, sizeof ptx, "%s/original.ptx", r->folder);
  BF_TRY(cli_compile_ptx(r->file, &r->settings->flags, ptx, r->diagnostic));
  return bf_fatbin_read_ptx(ptx, 0, &r->module, r->diagnostic);
}

/* The first source that the line information names and that can be read; NULL: none. */
static const char *named_source(const bf_ptx_module *module) {
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FILE && is_source(item->file->name) &&
        access(item->file->name, R_OK) == 0)
      return item->file->name;
  return NULL;
}

/* Reads the source, where there is one. */
static int read_source(running *r) {
  const settings *s = r->settings;
  const char *path = s->source ? s->source : is_source(r->file) ? r->file : named_source(r->module);
  if (!path)
    return BF_OK;
  r->source_path = strdup(path);
  if (!r->source_path)
    return bf_no_memory(r->diagnostic);
  BF_TRY(bf_read_file(path, MOST_SOURCE_BYTES, &r->source_text, r->diagnostic));
  return bf_source_read(r->source_path, r->source_text.data, r->source_text.size, &r->result.source,
                        r->diagnostic);
}

/* Fills the arrays with accesses, from where they are asked for. */
static int read_accesses(running *r) {
  const settings *s = r->settings;
  uint32_t block[3] = {0, 1, 1};
  BF_TRY(cli_arrays_make(r->module, s->kernel, &r->arrays, r->diagnostic));
  r->result.origin = s->launch ? "launch" : s->run ? "run" : s->trace ? "trace" : "analysis";
  if (s->launch || s->run)
    return cli_suggest_record(&r->runs, "original", r->module, &r->arrays, &r->status,
                              r->diagnostic);
  if (s->trace)
    return cli_arrays_add_trace(&r->arrays, s->trace, false, r->machine, r->diagnostic);
  BF_TRY(cli_parse_size("block", s->block, 1, block, r->diagnostic));
  return cli_arrays_add_static(&r->arrays, block, r->diagnostic);
}

/* ---- Suggestions ---- */

static int make_suggestions(running *r) {
  cli_suggested *result = &r->result;
  bf_source_array *list = NULL;
  size_t count = 0;
  double limit = r->settings->time_limit > 0 ? r->settings->time_limit : 2;
  bf_suggest_options how = {.machine = r->machine, .time_limit_seconds = limit};
  result->item = calloc(r->arrays.count + 1, sizeof *result->item);
  if (!result->item)
    return bf_no_memory(r->diagnostic);
  for (size_t i = 0; i < r->arrays.count; i++)
    result->item[result->count++].array = &r->arrays.array[i];
  if (result->source)
    BF_TRY(bf_source_arrays(result->source, &list, &count, r->diagnostic));
  cli_suggested_declare(result, list, count);
  for (size_t i = 0; i < result->count; i++)
    if (result->item[i].array->is_asked)
      BF_TRY(bf_suggest(&how, &result->item[i].shared, &result->item[i].result, r->diagnostic));
  return BF_OK;
}

/* ---- The patch ---- */

/* The suggestion that the patch makes of an array, or NULL. */
static const bf_suggestion *wanted(const settings *s, const cli_suggested_array *item) {
  const bf_suggestions *found = &item->result;
  int kind = !s->by || strcmp(s->by, "swizzle") == 0 ? BF_SUGGEST_SWIZZLE
             : strcmp(s->by, "padding") == 0         ? BF_SUGGEST_PADDING
             : found->best == BF_SUGGEST_CUTE        ? BF_SUGGEST_SWIZZLE
                                                     : found->best;
  return kind >= 0 && found->of[kind].exists ? &found->of[kind] : NULL;
}

static bool has_same_shape(const bf_shared_array *a, const bf_shared_array *b) {
  return a->element_bytes == b->element_bytes && a->bytes == b->bytes &&
         a->dimensions == b->dimensions &&
         memcmp(a->dimension, b->dimension, sizeof a->dimension) == 0;
}

/* Whether what is done to item also suits another kernel with the same declaration. */
static int suits(const running *r, const cli_suggested_array *item,
                 const cli_suggested_array *other, bool *is_fine) {
  uint64_t wavefronts, before, after;
  *is_fine = has_same_shape(&item->shared, &other->shared);
  if (!*is_fine)
    return BF_OK;
  BF_TRY(bf_suggest_count(r->machine, other->array->workload, NULL, &wavefronts, &before,
                          r->diagnostic));
  BF_TRY(bf_suggest_count(r->machine, other->array->workload, &item->patched.map, &wavefronts,
                          &after, r->diagnostic));
  *is_fine = after <= before;
  return BF_OK;
}

/* Says of all kernels that share the declaration of item what became of it. */
static void share_outcome(running *r, const cli_suggested_array *item) {
  for (size_t i = 0; i < r->result.count; i++) {
    cli_suggested_array *other = &r->result.item[i];
    if (other == item || other->declared != item->declared)
      continue;
    other->is_patched = item->is_patched;
    other->patched = item->patched;
    memcpy(other->problem, item->problem, sizeof other->problem);
  }
}

/* Adds the edits of an array, unless another kernel that has it too needs something else. */
static int patch_declared(running *r, cli_suggested_array *item) {
  for (size_t i = 0; i < r->result.count && !item->problem[0]; i++) {
    const cli_suggested_array *other = &r->result.item[i];
    bool is_fine = true;
    if (other->declared != item->declared)
      continue;
    BF_TRY(cli_suggested_find_hidden(&r->result, other, item->problem, r->diagnostic));
    if (other != item)
      BF_TRY(suits(r, item, other, &is_fine));
    if (!is_fine)
      snprintf(item->problem, sizeof item->problem,
               "kernels %.60s and %.60s share it and need different changes",
               item->array->kernel_name, other->array->kernel_name);
  }
  if (!item->problem[0]) {
    bf_patch_array change = cli_suggested_change(item, &item->patched);
    BF_TRY(bf_patch_add(&r->patch, &change, item->problem, r->diagnostic));
    item->is_patched = !item->problem[0];
  }
  share_outcome(r, item);
  return BF_OK;
}

static int patch_array(running *r, cli_suggested_array *item) {
  const bf_suggestion *suggestion = wanted(r->settings, item);
  if (!item->result.conflicts || item->is_patched || item->problem[0])
    return BF_OK;
  if (!item->declared || !suggestion) {
    snprintf(item->problem, sizeof item->problem, "%s",
             suggestion ? item->missing : "nothing is worth its cost in this way");
    return BF_OK;
  }
  item->patched = *suggestion;
  return patch_declared(r, item);
}

static int make_patch(running *r) {
  bf_text text = {0};
  if (!r->result.source) {
    if (r->settings->patch || r->settings->check)
      return bf_fail_file(r->diagnostic, BF_BAD_INPUT, r->file,
                          "its source is not known; give it with --source");
    return BF_OK;
  }
  r->patch.source = r->result.source;
  for (size_t i = 0; i < r->result.count; i++)
    BF_TRY(patch_array(r, &r->result.item[i]));
  r->result.edits = r->patch.edits;
  r->result.patch_file = r->settings->patch;
  if (!r->settings->patch || !r->patch.edits)
    return BF_OK;
  int error = bf_patch_write_diff(&r->patch, r->source_path, &text, r->diagnostic);
  if (!error)
    error = bf_write_file(r->settings->patch, text.data, text.size, r->diagnostic);
  bf_text_free(&text);
  return error;
}

/* ---- Output ---- */

/* Kernel and array as the name of a file. */
static void name_picture(const cli_suggested_array *item, size_t index, char name[300]) {
  snprintf(name, 300, "%zu_%.120s_%.120s.svg", index + 1, item->array->kernel_name,
           item->array->name);
  for (char *at = name; *at; at++)
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.", *at))
      *at = '_';
}

static int write_pictures(running *r) {
  const char *folder = r->settings->svg;
  if (mkdir(folder, 0777) != 0 && errno != EEXIST)
    return bf_fail_file(r->diagnostic, BF_IO, folder, "%s", strerror(errno));
  int error = BF_OK;
  size_t shown = 0;
  for (size_t i = 0; i < r->result.count && !error; i++) {
    char name[300], path[PATH_MAX + 300];
    bf_text text = {0};
    bool has_picture;
    if (!r->result.item[i].array->is_asked)
      continue;
    name_picture(&r->result.item[i], shown++, name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    error =
        cli_suggested_write_svg(&r->result, &r->result.item[i], &text, &has_picture, r->diagnostic);
    if (!error && has_picture)
      error = text.failed ? bf_no_memory(r->diagnostic)
                          : bf_write_file(path, text.data, text.size, r->diagnostic);
    bf_text_free(&text);
  }
  return error;
}

static int write_page(running *r) {
  bf_text text = {0};
  int error = cli_suggested_write_html(&r->result, &text, r->diagnostic);
  if (!error)
    error = text.failed ? bf_no_memory(r->diagnostic)
                        : bf_write_file(r->settings->html, text.data, text.size, r->diagnostic);
  bf_text_free(&text);
  return error;
}

static int write_all(running *r, bf_text *text) {
  if (r->settings->svg)
    BF_TRY(write_pictures(r));
  if (r->settings->html)
    BF_TRY(write_page(r));
  if (r->settings->common.json)
    cli_suggested_write_json(&r->result, text);
  else
    cli_suggested_write_text(&r->result, cli_wants_color(&r->settings->common), text);
  return BF_OK;
}

/* ---- The command ---- */

static int work(running *r, bf_text *text) {
  const settings *s = r->settings;
  BF_TRY(cli_load_machine(&s->common, &r->machine, r->diagnostic));
  BF_TRY(bf_launches_check_machine(r->machine, r->diagnostic));
  BF_TRY(cli_make_folder(r->folder, r->diagnostic));
  r->runs = (cli_suggest_runs){
      .launch = s->launch, .flags = &s->flags, .folder = r->folder, .machine = r->machine};
  r->runs.program = (cli_started){s->common.machine, r->program_count, r->program};
  r->result.file = r->file;
  r->result.machine = r->machine;
  r->result.arrays = &r->arrays;
  BF_TRY(read_module(r));
  BF_TRY(read_source(r));
  BF_TRY(read_accesses(r));
  BF_TRY(make_suggestions(r));
  BF_TRY(make_patch(r));
  if (s->check && r->patch.edits)
    BF_TRY(cli_suggest_check(&r->runs, r->module, r->status, &r->patch, s->kernel, &r->result,
                             r->diagnostic));
  return write_all(r, text);
}

static void close_all(running *r) {
  if (r->folder[0])
    cli_remove_folder(r->folder);
  bf_patch_free(&r->patch);
  bf_source_free(r->result.source);
  bf_text_free(&r->result.difference);
  free(r->result.item);
  cli_arrays_free(&r->arrays);
  bf_ptx_free(r->module);
  bf_text_free(&r->source_text);
  free(r->source_path);
  bf_machine_free(r->machine);
}

/* What is wrong with the command line: -1 to go on or an exit status. */
static int check_usage(const settings *s, int count) {
  if ((s->launch != NULL) + (s->run != NULL) + (s->trace != NULL) + (s->block != NULL) > 1)
    return cli_usage_error(&cli_suggest, "--launch, --run, --trace and --block exclude each other");
  if (s->check && !s->launch && !s->run)
    return cli_usage_error(&cli_suggest, "--check needs --launch or --run");
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
  /* The program takes the place of FILE before its own arguments. */
  char *program = s->run ? strdup(s->run) : NULL;
  if (program) {
    arguments[0] = program;
    r.program = arguments;
    r.program_count = count;
  }
  int error = work(&r, &text);
  if (!error && s->check && r.result.is_checked && !r.result.is_equal)
    status = CLI_FINDINGS;
  close_all(&r);
  free(program);
  if (error) {
    bf_text_free(&text);
    return cli_complain(&diagnostic);
  }
  int printed = cli_print(&text);
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
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .settings_size = sizeof(settings),
    .least_arguments = 1,
    .most_arguments = 1024,
    .run = suggest,
};
