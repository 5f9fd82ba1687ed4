/* bankfold explore: the explorer, with a file in it. */
#include "cli/cli.h"

#include "cli/explorer.h"
#include "cli/file_kind.h"
#include "ptx/fatbin.h"

#include <string.h>

typedef struct settings {
  cli_common common;
  const char *output, *block, *launch, *source;
  uint64_t module;
} settings;

enum { MOST_BYTES = 64 << 20 };

/* Adds the text of a file as a member; nothing without a path. */
static int add_file(bf_json *json, const char *key, const char *path, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  if (!path)
    return BF_OK;
  int error = bf_read_file(path, MOST_BYTES, &text, diagnostic);
  if (!error && text.size > MOST_BYTES)
    error = bf_fail_file(diagnostic, BF_UNSUPPORTED, path, "it is too large for a page");
  if (!error)
    bf_json_string(json, key, text.data);
  bf_text_free(&text);
  return error;
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void add_machine(const settings *s, bf_json *json) {
  if (s->common.machine)
    bf_json_string(json, "machine", s->common.machine);
}

/* PTX, or the PTX of a program, in the view of kernels. */
static int add_kernel(const settings *s, const char *path, bf_json *json,
                      bf_diagnostic *diagnostic) {
  bf_fatbin *file = NULL;
  bf_text ptx = {0};
  unsigned module = s->module ? (unsigned)s->module : 1;
  int error = bf_fatbin_open(path, &file, diagnostic);
  const bf_image *image = error ? NULL : bf_fatbin_pick(file, module, (bf_arch){0});
  if (!error)
    error = image ? bf_fatbin_text(file, image, &ptx, diagnostic)
                  : bf_fatbin_no_ptx(file, module, (bf_arch){0}, diagnostic);
  bf_json_begin(json, "kernel", '{', false);
  bf_json_string(json, "name", base_name(path));
  if (!error)
    bf_json_string(json, "ptx", ptx.data);
  if (s->block)
    bf_json_string(json, "block", s->block);
  if (s->source)
    bf_json_string(json, "sourceName", base_name(s->source));
  add_machine(s, json);
  if (!error)
    error = add_file(json, "source", s->source, diagnostic);
  if (!error)
    error = add_file(json, "launch", s->launch, diagnostic);
  bf_json_end(json, '}');
  bf_text_free(&ptx);
  bf_fatbin_close(file);
  return error;
}

/* A trace, in the view of accesses. */
static int add_trace(const settings *s, const char *path, bf_json *json,
                     bf_diagnostic *diagnostic) {
  bf_json_begin(json, "access", '{', false);
  bf_json_string(json, "form", "trace");
  add_machine(s, json);
  int error = add_file(json, "trace", path, diagnostic);
  bf_json_end(json, '}');
  return error;
}

/* The state that shows a file. */
static int make_state(const settings *s, const char *path, bf_text *state,
                      bf_diagnostic *diagnostic) {
  bf_json json = {.text = state};
  cli_kind_of_file kind = path ? cli_file_kind(path) : CLI_FILE_UNKNOWN;
  int error = BF_OK;
  bf_json_begin(&json, NULL, '{', false);
  if (path && kind == CLI_FILE_TRACE) {
    bf_json_string(&json, "view", "access");
    error = add_trace(s, path, &json, diagnostic);
  } else if (path && (kind == CLI_FILE_PTX || kind == CLI_FILE_PROGRAM)) {
    bf_json_string(&json, "view", "kernel");
    error = add_kernel(s, path, &json, diagnostic);
  } else if (path)
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, path,
                         "neither a trace nor PTX, nor a program that holds PTX");
  bf_json_end(&json, '}');
  return !error && state->failed ? bf_no_memory(diagnostic) : error;
}

static int run(const void *given, int count, char **arguments) {
  const settings *s = given;
  const char *output = s->output ? s->output : "explorer.html";
  bf_text state = {0}, note = {0};
  bf_diagnostic diagnostic = {.caret = -1};
  int error = make_state(s, count ? arguments[0] : NULL, &state, &diagnostic);
  if (!error)
    error = cli_explorer_write(output, state.data, &diagnostic);
  bf_text_free(&state);
  if (error)
    return cli_complain(&diagnostic);
  if (strcmp(output, "-") == 0)
    return CLI_OK;
  if (s->common.json) {
    bf_json json = {.text = &note};
    bf_json_begin(&json, NULL, '{', false);
    bf_json_string(&json, "output", output);
    bf_json_end(&json, '}');
    bf_text_puts(&note, "\n");
  } else
    bf_text_addf(&note, "%s: open it in a browser\n", output);
  return cli_print(&note);
}

static const cli_option options[] = {
    {"output", CLI_TEXT, offsetof(settings, output), "FILE", NULL,
     "the page to write (default explorer.html; - for standard output)"},
    {"block", CLI_TEXT, offsetof(settings, block), "XxYxZ", NULL, "of PTX: threads of a block"},
    {"launch", CLI_TEXT, offsetof(settings, launch), "FILE", NULL,
     "of PTX: the launch description (docs/profile.md)"},
    {"source", CLI_TEXT, offsetof(settings, source), "FILE", NULL,
     "of PTX: the CUDA source that it was made from"},
    {"module", CLI_NUMBER, offsetof(settings, module), "N", NULL,
     "module of a program or fat binary (default 1)"},
    CLI_COMMON(settings),
};

const cli_command cli_explore = {
    .name = "explore",
    .summary = "write a page on which conflicts can be seen and changed, with a file in it",
    .arguments = "[FILE]",
    .details =
        "Writes the explorer, one HTML page that holds this program as WebAssembly and works in\n"
        "any browser without a server or a network: indices and traces drawn and mended, kernels "
        "by\n"
        "line, run, simulated and rewritten, reports compared (docs/explorer.md). FILE, a trace, "
        "PTX or\n"
        "a program that holds PTX, is in it.",
    .examples = "bankfold explore\n"
                "bankfold explore tile.trace --output tile.html\n"
                "bankfold explore app.ptx --source app.cu --launch app.launch --block 32x8",
    CLI_OPTIONS(options, settings),
    .least_arguments = 0,
    .most_arguments = 1,
    .run = run,
};
