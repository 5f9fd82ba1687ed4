/* Compiling source by nvcc. */
#include "cli/use/compile.h"

#include "cli/progress.h"

#include "process/process.h"
#include "process/program.h"

#include <string.h>

enum { MOST_ARGUMENTS = 256 };

/* Finds nvcc; where there is none, the message says what to do. */
static int find_nvcc(const char *source, char path[PATH_MAX], bf_diagnostic *diagnostic) {
  bf_diagnostic reason = {0};
  if (bf_process_find_tool("nvcc", BF_VARIABLE_NVCC, path, &reason) == BF_OK)
    return BF_OK;
  return bf_fail_file(diagnostic, BF_UNSUPPORTED, source,
                      "%.200s; without it, give PTX that nvcc -lineinfo -ptx made elsewhere, and "
                      "--source %.150s",
                      reason.message, source);
}

static bool tick(void *bar) { return cli_block_bar_step(bar, 0, 0); }

/* Runs nvcc for an architecture, or NULL where flags say that; what it says goes to standard error,
 * unless is_quiet. *next is left alone, or where it fails what it is to be tried for instead. */
static int run_nvcc(const char *source, char **arguments, bool is_quiet, const char *architecture,
                    const char **next, bf_diagnostic *diagnostic) {
  cli_block_bar bar = cli_block_bar_begin("nvcc compiles");
  bf_process nvcc = {.path = arguments[0],
                     .arguments = arguments,
                     .keeps_output = true,
                     .tick = tick,
                     .context = &bar};
  bf_process_end end;
  bar.unit = NULL;
  int error = bf_process_run(&nvcc, &end, diagnostic);
  cli_block_bar_end(&bar);
  BF_TRY(error);
  if (end.status && architecture)
    *next = bf_process_next_architecture(architecture, end.error.data);
  if (!is_quiet && !*next)
    fprintf(stderr, "%s%s", end.output.data ? end.output.data : "",
            end.error.data ? end.error.data : "");
  bool succeeded = end.status == 0;
  bf_process_end_free(&end);
  return succeeded ? BF_OK
                   : bf_fail_file(diagnostic, BF_BAD_INPUT, source, "nvcc does not compile it");
}

/* Whether the flags choose the architecture. */
static bool has_architecture(const cli_texts *flags) {
  for (unsigned i = 0; i < flags->count; i++)
    if (strncmp(flags->text[i], "-arch", 5) == 0 || strncmp(flags->text[i], "-gencode", 8) == 0 ||
        strncmp(flags->text[i], "--gpu-architecture", 18) == 0)
      return true;
  return false;
}

/* Compiles source with some flags of our own, ending with NULL, as run_nvcc. */
static int compile_for(const char *source, const cli_texts *flags, const char *const *own,
                       const char *output, bool is_quiet, const char *architecture,
                       const char **next, bf_diagnostic *diagnostic) {
  char nvcc[PATH_MAX], target[24];
  const char *arguments[MOST_ARGUMENTS];
  unsigned count = 0;
  BF_TRY(find_nvcc(source, nvcc, diagnostic));
  arguments[count++] = nvcc;
  for (; *own; own++)
    arguments[count++] = *own;
  snprintf(target, sizeof target, "-arch=%s", architecture ? architecture : "");
  if (architecture)
    arguments[count++] = target;
  for (unsigned i = 0; i < flags->count; i++)
    arguments[count++] = flags->text[i];
  arguments[count++] = source;
  arguments[count++] = "-o";
  arguments[count++] = output;
  arguments[count] = NULL;
  return run_nvcc(source, (char **)arguments, is_quiet, architecture, next, diagnostic);
}

/* The same for the architecture that flags say, or else for the first that has all instructions. */
static int compile(const char *source, const cli_texts *flags, const char *const *own,
                   const char *output, bool is_quiet, bf_diagnostic *diagnostic) {
  const char *next = has_architecture(flags) ? NULL : bf_process_next_architecture(NULL, NULL);
  int error;
  do {
    const char *architecture = next;
    next = NULL;
    error = compile_for(source, flags, own, output, is_quiet, architecture, &next, diagnostic);
  } while (error && next);
  return error;
}

int cli_compile_ptx(const char *source, const cli_texts *flags, const char *output,
                    bf_diagnostic *diagnostic) {
  static const char *const own[] = {"-lineinfo", "-ptx", NULL};
  return compile(source, flags, own, output, false, diagnostic);
}

int cli_try_ptx(const char *source, const cli_texts *flags, const char *output,
                bf_diagnostic *diagnostic) {
  static const char *const own[] = {"-lineinfo", "-ptx", "-w", NULL};
  return compile(source, flags, own, output, true, diagnostic);
}

int cli_compile_program(const char *source, const cli_texts *flags, const char *output,
                        bf_diagnostic *diagnostic) {
  static const char *const own[] = {"-lineinfo", "-cudart", "shared", NULL};
  return compile(source, flags, own, output, false, diagnostic);
}
