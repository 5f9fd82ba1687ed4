/* What kind of file a command was given, for those who gave it one of another kind. */
#ifndef BF_CLI_FILE_KIND_H
#define BF_CLI_FILE_KIND_H

#include "cli/cli.h"

typedef enum cli_kind_of_file {
  CLI_FILE_UNKNOWN,
  CLI_FILE_PROGRAM, /* or library */
  CLI_FILE_SOURCE,
  CLI_FILE_PTX,
  CLI_FILE_TRACE,
  CLI_FILE_NCU,
  CLI_FILE_FOLDER,
  CLI_FILE_KINDS
} cli_kind_of_file;

/* What is at a path, by its name and how it begins. */
cli_kind_of_file cli_file_kind(const char *path);

/* Says which command is meant, where one of the arguments is a file of a kind that the command does
 * not take. */
void cli_file_kind_hint(const cli_command *command, int count, char **arguments);

#endif
