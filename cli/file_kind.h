/* What kind of file a command was given, for those who gave it one of another kind. */
#ifndef BF_CLI_FILE_KIND_H
#define BF_CLI_FILE_KIND_H

#include "cli/cli.h"

/* Says which command is meant, where one of the arguments is a file of a kind that the command does
 * not take. */
void cli_file_kind_hint(const cli_command *command, int count, char **arguments);

#endif
