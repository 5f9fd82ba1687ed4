/* The explorer (docs/explorer.md) with something in it: the page that web/build.sh makes, which
 * lies beside the program or where it was installed. */
#ifndef BF_CLI_EXPLORER_H
#define BF_CLI_EXPLORER_H

#include "cli/cli.h"

/* Whether the page is there. */
bool cli_explorer_is_there(void);
/* Writes the page to path ("-": standard output), opened on a state: a JSON object as
 * web/state.js has them. BF_IO where there is no page. */
int cli_explorer_write(const char *path, const char *state, bf_diagnostic *diagnostic);
/* The same on a report: the JSON that a command prints, under the name of what it is about. */
int cli_explorer_write_report(const char *path, const char *name, const char *document,
                              bf_diagnostic *diagnostic);

#endif
