/* nvcc: NVIDIA's nvcc with a step that rewrites PTX. nvcc takes the places of its tools from
 * variables that a file beside it sets, nvcc.profile. They are asked for with --dryrun; then nvcc
 * runs without that file (-noprof) and with the same variables in its environment, but for one: the
 * folder of cicc is ours. Nothing is written anywhere for that. */
#include "cli/library.h"
#include "cli/use/wrap.h"
#include "process/folder.h"
#include "process/process.h"
#include "process/program.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
  cli_wrap_options wrap;
} settings;

static const cli_option options[] = {CLI_WRAP(settings, wrap)};

/* ---- Variables of the profile ---- */

/* How nvcc marks what it would do. */
static const char mark[] = "#$ ";

/* The length of the variable's name in a line "#$ NAME=value"; 0: it is another line. */
static size_t name_length(const char *line) {
  if (strncmp(line, mark, sizeof mark - 1) != 0)
    return 0;
  line += sizeof mark - 1;
  size_t length = 0;
  while (isalnum((unsigned char)line[length]) || line[length] == '_')
    length++;
  return line[length] == '=' && !isdigit((unsigned char)*line) ? length : 0;
}

/* Calls use with each line of a variable, cut off at its end; false where use says so. */
static bool each_variable(char *text, bool (*use)(char *name, char *value)) {
  char *save = NULL;
  for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    size_t length = name_length(line);
    char *name = line + sizeof mark - 1;
    if (!length)
      continue;
    name[length] = 0;
    bool goes_on = use(name, name + length + 1);
    name[length] = '=';
    if (!goes_on)
      return false;
  }
  return true;
}

/* Whether nvcc has a variable from its environment: it has it still without a profile. */
static bool is_given(const char *name) { return strncmp(name, "NVCC_", 5) == 0; }

/* Puts a variable of the profile into the environment; those with an underscore are nvcc's own. */
static bool put(char *name, char *value) {
  return *name == '_' || is_given(name) || setenv(name, value, 1) == 0;
}

/* Prints it as nvcc -v does, because tools read that, unless nvcc does it without a profile too. */
static bool show(char *name, char *value) {
  static const char *const shown_still[] = {"_NVVM_BRANCH_", "_SPACE_", "_CUDART_"};
  for (size_t i = 0; i < sizeof shown_still / sizeof *shown_still; i++)
    if (strcmp(shown_still[i], name) == 0)
      return true;
  if (!is_given(name))
    fprintf(stderr, "%s%s=%s\n", mark, name, value);
  return true;
}

/* ---- Arguments ---- */

static bool has_argument(char **argv, const char *one, const char *other) {
  for (; *argv; argv++)
    if (strcmp(*argv, one) == 0 || strcmp(*argv, other) == 0)
      return true;
  return false;
}

/* Whether nvcc is given PTX, which it does not make by cicc. */
static bool compiles_ptx(char **argv) {
  for (; *argv; argv++) {
    size_t length = strlen(*argv);
    if (length > 4 && strcmp(*argv + length - 4, ".ptx") == 0)
      return true;
  }
  return false;
}

/* nvcc, an option before all others, and the arguments; free it. */
static char **command_line(char *nvcc, const char *option, int count, char **arguments) {
  char **argv = calloc((size_t)count + 3, sizeof *argv);
  if (!argv)
    return NULL;
  argv[0] = nvcc;
  argv[1] = (char *)option;
  memcpy(argv + 1 + (option != NULL), arguments, (size_t)count * sizeof *argv);
  return argv;
}

/* ---- Running ---- */

/* Puts our tools before nvcc's, whose variables are in the environment. */
static int put_tools(bool with_ptxas, bf_diagnostic *diagnostic) {
  char folder[PATH_MAX], ptxas[PATH_MAX], tools[2 * PATH_MAX], cicc[2 * PATH_MAX];
  const char *path = getenv("CICC_PATH");
  if (!path || !*path)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "nvcc does not say where its cicc is");
  if (!cli_find_library(".", "nvcc/cicc", folder))
    return bf_fail(diagnostic, BF_IO,
                   "the folder nvcc with a link cicc was not found beside the "
                   "program");
  BF_TRY(bf_process_find_tool("ptxas", BF_VARIABLE_PTXAS, ptxas, diagnostic));
  snprintf(cicc, sizeof cicc, "%.*s/cicc", PATH_MAX, path);
  if (!bf_variable_put(BF_VARIABLE_CICC, cicc) || !bf_variable_put(BF_VARIABLE_PTXAS, ptxas))
    return bf_no_memory(diagnostic);
  snprintf(tools, sizeof tools, "%s/nvcc", folder);
  bool is_done = setenv("CICC_PATH", tools, 1) == 0 && bf_process_prepend_variable("PATH", tools);
  snprintf(tools, sizeof tools, "%s/nvcc/assembler", folder);
  if (is_done && with_ptxas)
    is_done = bf_process_prepend_variable("PATH", tools);
  return is_done ? BF_OK : bf_no_memory(diagnostic);
}

/* Sets the environment up for nvcc -noprof, from what nvcc said about its variables. */
static int prepare(char *said, bool is_verbose, bool with_ptxas, bf_diagnostic *diagnostic) {
  char *copy = strdup(said);
  bool is_done = copy && each_variable(copy, put);
  free(copy);
  if (!is_done)
    return bf_no_memory(diagnostic);
  BF_TRY(put_tools(with_ptxas, diagnostic));
  if (is_verbose)
    each_variable(said, show);
  return BF_OK;
}

/* Runs nvcc with our tools. Returns -1 where nvcc has nothing for them to do or cannot be made to
 * use them; *diagnostic says why in the second case. */
static int run_hashed(char *nvcc, int count, char **arguments, bf_diagnostic *diagnostic) {
  bf_process_end end;
  char **argv = command_line(nvcc, "--dryrun", count, arguments);
  if (!argv)
    return -1;
  int status = -1;
  bool is_dry = has_argument(argv + 2, "--dryrun", "-dryrun");
  bool is_verbose = has_argument(argv + 2, "--verbose", "-v");
  bool with_ptxas = compiles_ptx(argv + 2);
  bf_process dry = {.path = nvcc, .arguments = argv, .keeps_output = true};
  int error = bf_process_run(&dry, &end, diagnostic);
  argv[1] = (char *)"-noprof";
  if (!error && end.status == 0 && end.error.data && !is_dry &&
      strstr(end.error.data, "\n#$ PATH=") &&
      prepare(end.error.data, is_verbose, with_ptxas, diagnostic) == BF_OK)
    status = bf_process_become(nvcc, argv);
  bf_process_end_free(&end);
  free(argv);
  return status;
}

/* Becomes nvcc as it is; warns where the diagnostic says that this was not the plan. */
static int run_plain(char *nvcc, int count, char **arguments, const bf_diagnostic *diagnostic) {
  char **argv = command_line(nvcc, NULL, count, arguments);
  bf_diagnostic unused;
  cli_wrap wrap;
  if (diagnostic->message[0]) {
    cli_wrap_get(&wrap, &unused);
    cli_wrap_warn(&wrap, diagnostic);
    cli_wrap_free(&wrap);
  }
  int status = argv ? bf_process_become(nvcc, argv) : BF_PROCESS_NOT_RUN;
  free(argv);
  return status;
}

static int run(const void *given, int count, char **arguments) {
  const settings *s = given;
  bf_diagnostic diagnostic = {.caret = -1};
  char nvcc[PATH_MAX];
  int error = cli_wrap_put(&s->wrap, &diagnostic);
  if (!error)
    error = bf_process_find_tool("nvcc", BF_VARIABLE_NVCC, nvcc, &diagnostic);
  if (error)
    return cli_complain(&diagnostic);
  int status = run_hashed(nvcc, count, arguments, &diagnostic);
  return status >= 0 ? status : run_plain(nvcc, count, arguments, &diagnostic);
}

const cli_command cli_nvcc = {
    .name = "nvcc",
    .summary = "compile CUDA by NVIDIA's nvcc with its accesses to shared memory hashed",
    .arguments = "ARGUMENT...",
    .details =
        "Takes the command line of nvcc and runs it with one step more: the PTX of every source\n"
        "file is rewritten (docs/rewrite.md) before it is compiled and embedded, so that machine\n"
        "code and PTX of the program are both hashed, kernel by kernel where that is predicted to\n"
        "win, or as --hash says. What nvcc prints and its exit status are "
        "its\n"
        "own. Kernels that cannot be rewritten are compiled as they are, and so is everything\n"
        "where something goes wrong. Options stand before the arguments of nvcc.\n\n"
        "A link to bankfold called bankfold-nvcc does the same with settings from the\n"
        "environment, for CMake and make: BANKFOLD_HASH, BANKFOLD_HASHES (a file), BANKFOLD_LOG,\n"
        "BANKFOLD_DYNAMIC_ROUNDED=1. BANKFOLD_NVCC names the nvcc to run; else it is looked for "
        "in\n"
        "PATH and CUDA_HOME.",
    .examples = "bankfold nvcc -O2 -arch=sm_90 -o app app.cu           # hash what gains\n"
                "bankfold nvcc --log stderr -arch=sm_90 -o app app.cu  # and say what was done\n"
                "bankfold nvcc --hash-file app.hashes -arch=sm_90 -o app app.cu\n"
                "cmake -B build -DCMAKE_CUDA_COMPILER=$(command -v bankfold-nvcc)\n",
    CLI_OPTIONS(options, settings),
    .passes_rest = true,
    .passes_unknown = true,
    .run = run,
};
