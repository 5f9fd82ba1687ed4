/* `bankfold FILE`: finds the command that is for what the file is, says which one it is, and runs
 * it. */
#include "cli/open.h"

#include "cli/file_kind.h"
#include "source/launch_shape.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LAUNCHES = 64, MORE_ARGUMENTS = 4 };

/* Says which command is run, and runs it with the arguments and some more (ending with NULL). */
static int run(const cli_command *command, int argc, char **argv, char **more) {
  char **all = calloc((size_t)argc + MORE_ARGUMENTS + 1, sizeof *all);
  int count = argc;
  if (!all)
    return CLI_BAD_INPUT;
  memcpy(all, argv, (size_t)argc * sizeof *all);
  for (; *more; more++)
    all[count++] = *more;
  fprintf(stderr, "bankfold: bankfold %s", command->name);
  for (int i = 0; i < count; i++)
    fprintf(stderr, " %s", all[i]);
  fprintf(stderr, "\n");
  int status = cli_run_command(command, count, all, false);
  free(all);
  return status;
}

static char *nothing[] = {NULL};

/* ---- Source ---- */

/* Whether the arguments say how accesses are found. */
static bool says_how(int argc, char **argv) {
  static const char *const ways[] = {"--block", "--launch", "--run", "--trace"};
  for (int i = 1; i < argc; i++)
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
      if (strncmp(argv[i], ways[k], strlen(ways[k])) == 0)
        return true;
  return false;
}

static int open_source(int argc, char **argv) {
  bf_source_shape shapes[MOST_LAUNCHES];
  unsigned count;
  bool is_one;
  bf_diagnostic diagnostic = {.caret = -1};
  if (says_how(argc, argv))
    return run(&cli_suggest, argc, argv, nothing);
  if (bf_source_find_shapes(argv[0], shapes, MOST_LAUNCHES, &count, &is_one, &diagnostic) != BF_OK)
    return cli_complain(&diagnostic);
  if (!count)
    return cli_usage_error(&cli_suggest,
                           "no launch in %s says how many threads a block has; "
                           "--block 32x8 does, or --run ./app",
                           argv[0]);
  int status = CLI_OK;
  for (unsigned i = 0; i < (is_one ? 1 : count) && status != CLI_BAD_INPUT; i++) {
    static char block[] = "--block", kernel[] = "--kernel";
    bool has_kernel = !is_one && *shapes[i].kernel;
    char *more[] = {block, shapes[i].block, has_kernel ? kernel : NULL, shapes[i].kernel, NULL};
    int own = run(&cli_suggest, argc, argv, more);
    status = own > status ? own : status;
  }
  return status;
}

int cli_open(int argc, char **argv) {
  static const cli_command *const commands[CLI_FILE_KINDS] = {
      [CLI_FILE_PROGRAM] = &cli_exec, [CLI_FILE_PTX] = &cli_analyze, [CLI_FILE_TRACE] = &cli_check,
      [CLI_FILE_NCU] = &cli_ncu,      [CLI_FILE_FOLDER] = &cli_scan,
  };
  cli_kind_of_file kind = cli_file_kind(argv[0]);
  if (kind == CLI_FILE_UNKNOWN)
    return -1;
  if (kind == CLI_FILE_SOURCE)
    return open_source(argc, argv);
  return run(commands[kind], argc, argv, nothing);
}
