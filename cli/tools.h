/* The compilers of the CUDA toolkit, as other programs: where they are, and running them. */
#ifndef BF_CLI_TOOLS_H
#define BF_CLI_TOOLS_H

#include "cli/cli.h"
#include "exchange/settings.h"

#include <limits.h>

/* Exit status where a tool cannot be run, as shells have it. */
enum { CLI_STATUS_NOT_RUN = 127 };

/* Finds a tool that is not this program under another name: what the environment variable says, or
 * in PATH, or beside the nvcc in PATH, or in the toolkit of CUDA_HOME, CUDA_PATH or the usual
 * place. */
int cli_tool_find(const char *name, bf_variable variable, char path[PATH_MAX],
                  bf_diagnostic *diagnostic);

/* What a tool did. */
typedef struct cli_tool_end {
  int status;         /* as waitpid gives it */
  bf_text out, error; /* what it printed, where that was caught */
} cli_tool_end;

/* Runs a tool and waits for it; catches: its output is kept, and it reads nothing. argv ends with
 * NULL. A tool whose caller is killed ends as well. */
int cli_tool_run(const char *path, char **argv, bool catches, cli_tool_end *end,
                 bf_diagnostic *diagnostic);
void cli_tool_end_free(cli_tool_end *end);
bool cli_tool_succeeded(const cli_tool_end *end);
/* The exit status that says the same; where the tool was killed, so is this process. */
int cli_tool_status(const cli_tool_end *end);

/* Becomes the tool; returns an exit status only where that fails. */
int cli_tool_become(const char *path, char **argv);

/* A file in memory with that content, which tools can open as path; -1 where that fails. It lives
 * as long as its descriptor, and leaves nothing behind. */
enum { CLI_MEMORY_PATH_BYTES = 32 };
int cli_memory_file(const bf_text *content, char path[CLI_MEMORY_PATH_BYTES]);

#endif
