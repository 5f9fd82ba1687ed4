/* ptxas: NVIDIA's ptxas on rewritten PTX. */
#include "cli/use/wrap.h"
#include "process/process.h"
#include "process/program.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct settings {
  cli_wrap_options wrap;
} settings;

static const cli_option options[] = {CLI_WRAP(settings, wrap)};

/* A file of PTX on the command line, rewritten. */
typedef struct input {
  int argument; /* which one */
  int file;     /* the rewritten one, in memory */
  char path[BF_PROCESS_PATH_BYTES];
} input;

typedef struct work {
  char ptxas[PATH_MAX];
  int count; /* of argv, which starts with ptxas and ends with NULL */
  char **argv;
  int inputs;
  input *input; /* room for one per argument */
  cli_wrap wrap;
  bf_diagnostic warning; /* why an input is compiled as it is */
  bool warns;
} work;

/* ---- Input ---- */

/* Whether an argument can be a file to compile: not an option, and not what -o is followed by. */
static bool may_be_input(const work *w, int argument) {
  struct stat status;
  const char *before = w->argv[argument - 1], *text = w->argv[argument];
  return text[0] != '-' && strcmp(before, "-o") != 0 && strcmp(before, "--output-file") != 0 &&
         stat(text, &status) == 0 && S_ISREG(status.st_mode);
}

/* The architecture on the command line, or what ptxas takes without one. */
static const char *find_arch(const work *w) {
  static const char *const names[] = {"-arch", "--gpu-name"};
  for (int i = 1; i < w->count; i++)
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
      size_t length = strlen(names[k]);
      if (strncmp(w->argv[i], names[k], length) != 0)
        continue;
      if (w->argv[i][length] == '=')
        return w->argv[i] + length + 1;
      if (!w->argv[i][length] && i + 1 < w->count)
        return w->argv[i + 1];
    }
  return "sm_90";
}

/* Rewrites an argument, where it is PTX. */
static int rewrite_input(work *w, int argument, bf_diagnostic *diagnostic) {
  bf_text rewritten = {0};
  const char *file = w->argv[argument];
  input *new = &w->input[w->inputs];
  BF_TRY(
      cli_wrap_rewrite_file(&w->wrap, file, file, w->ptxas, find_arch(w), &rewritten, diagnostic));
  if (!rewritten.data)
    return BF_OK;
  *new = (input){.argument = argument};
  new->file = bf_process_memory_file(&rewritten, new->path);
  bf_text_free(&rewritten);
  if (new->file < 0)
    return bf_fail_file(diagnostic, BF_IO, file, "no memory for a file");
  w->inputs++;
  return BF_OK;
}

/* Rewrites what can be; the rest is left to ptxas. */
static void rewrite_inputs(work *w) {
  int error = cli_wrap_get(&w->wrap, &w->warning);
  for (int i = 1; i < w->count && !error; i++)
    if (may_be_input(w, i))
      error = rewrite_input(w, i, &w->warning);
  w->warns = error;
}

/* ---- Output ---- */

/* The name on the command line of the rewritten input that text starts with, or NULL. */
static const char *name_at(const work *w, const char *text, size_t *length) {
  for (int i = 0; i < w->inputs; i++) {
    *length = strlen(w->input[i].path);
    if (strncmp(text, w->input[i].path, *length) == 0 &&
        (text[*length] < '0' || text[*length] > '9'))
      return w->argv[w->input[i].argument];
  }
  return NULL;
}

/* Prints what ptxas said, with the names of its input as they were given. */
static void print(const work *w, const bf_text *said, FILE *stream) {
  const char *at = said->data ? said->data : "";
  while (*at) {
    size_t length;
    const char *name = name_at(w, at, &length);
    if (name)
      fputs(name, stream);
    else
      fputc(*at, stream);
    at += name ? length : 1;
  }
}

/* ---- The command ---- */

/* Compiles the rewritten inputs. Returns -1 where ptxas does not, and says nothing then. */
static int compile_rewritten(work *w) {
  bf_diagnostic diagnostic = {.caret = -1};
  bf_process_end end;
  char **argv = calloc((size_t)w->count + 1, sizeof *argv);
  if (!argv)
    return -1;
  memcpy(argv, w->argv, (size_t)w->count * sizeof *argv);
  for (int i = 0; i < w->inputs; i++)
    argv[w->input[i].argument] = w->input[i].path;
  int status = -1;
  bf_process ptxas = {.path = w->ptxas, .arguments = argv, .keeps_output = true};
  if (bf_process_run(&ptxas, &end, &diagnostic) == BF_OK && end.status == 0) {
    print(w, &end.output, stdout);
    print(w, &end.error, stderr);
    status = CLI_OK;
  }
  bf_process_end_free(&end);
  free(argv);
  return status;
}

/* Compiles the inputs as they are; warnings come where ptxas has nothing against them. */
static int compile_original(work *w) {
  bf_diagnostic diagnostic = {.caret = -1};
  bf_process_end end;
  if (!w->warns)
    return bf_process_become(w->ptxas, w->argv);
  bf_process ptxas = {.path = w->ptxas, .arguments = w->argv};
  if (bf_process_run(&ptxas, &end, &diagnostic) != BF_OK)
    return cli_complain(&diagnostic);
  if (end.status == 0)
    cli_wrap_warn(&w->wrap, &w->warning);
  return bf_process_end_alike(&end);
}

static int compile(work *w) {
  rewrite_inputs(w);
  int status = w->inputs && !w->warns ? compile_rewritten(w) : -1;
  if (status >= 0)
    return status;
  if (w->inputs && !w->warns) {
    bf_fail_file(&w->warning, BF_UNSUPPORTED, w->argv[w->input[0].argument],
                 "ptxas does not compile it rewritten");
    w->warns = true;
  }
  return compile_original(w);
}

static int run(const void *given, int count, char **arguments) {
  const settings *s = given;
  bf_diagnostic diagnostic = {.caret = -1};
  work w = {.count = count + 1, .warning = {.caret = -1}};
  int error = cli_wrap_put(&s->wrap, &diagnostic);
  if (!error)
    error = bf_process_find_tool("ptxas", BF_VARIABLE_PTXAS, w.ptxas, &diagnostic);
  if (error)
    return cli_complain(&diagnostic);
  w.argv = calloc((size_t)count + 2, sizeof *w.argv);
  w.input = calloc((size_t)count + 1, sizeof *w.input);
  int status = CLI_BAD_INPUT;
  if (w.argv && w.input) {
    w.argv[0] = w.ptxas;
    memcpy(w.argv + 1, arguments, (size_t)count * sizeof *arguments);
    status = compile(&w);
  } else {
    bf_no_memory(&diagnostic);
    status = cli_complain(&diagnostic);
  }
  for (int i = 0; i < w.inputs; i++)
    close(w.input[i].file);
  cli_wrap_free(&w.wrap);
  free(w.input);
  free(w.argv);
  return status;
}

const cli_command cli_ptxas = {
    .name = "ptxas",
    .summary = "compile PTX by NVIDIA's ptxas with its accesses to shared memory hashed",
    .arguments = "ARGUMENT...",
    .details =
        "Takes the command line of ptxas, rewrites the PTX that it names on the way\n"
        "(docs/rewrite.md) where a kernel is predicted to win, or as --hash says, and has ptxas\n"
        "compile that. The file stays as it is; what ptxas\n"
        "prints and its exit status are its own. Kernels that cannot be rewritten are compiled as\n"
        "they are, and so is everything where something goes wrong. Options stand before the\n"
        "arguments of ptxas. A link to bankfold called bankfold-ptxas does the same with settings\n"
        "from the environment: BANKFOLD_HASH, BANKFOLD_HASHES (a file), BANKFOLD_LOG,\n"
        "BANKFOLD_DYNAMIC_ROUNDED=1. BANKFOLD_PTXAS names the ptxas to run; else it is looked for\n"
        "in PATH, beside nvcc, and in CUDA_HOME.",
    .examples =
        "bankfold ptxas -arch=sm_90 kernel.ptx -o kernel.cubin\n"
        "bankfold ptxas --hash cute:3,4,3 --log stderr -arch=sm_90 kernel.ptx -o kernel.cubin\n"
        "TRITON_PTXAS_PATH=$(command -v bankfold-ptxas) python app.py   # what Triton compiles\n",
    CLI_OPTIONS(options, settings),
    .passes_rest = true,
    .passes_unknown = true,
    .run = run,
};
