/* Commands by name, and how one is run. */
#include "cli/cli.h"

#include "base/guess.h"
#include "cli/file_kind.h"

#include <stdlib.h>
#include <string.h>

const cli_command *cli_find(const char *name) {
  for (const cli_group *group = cli_groups; group->title; group++)
    for (size_t i = 0; group->commands[i]; i++)
      if (strcmp(group->commands[i]->name, name) == 0)
        return group->commands[i];
  return NULL;
}

int cli_run_command(const cli_command *command, int argc, char **argv, bool all_pass) {
  void *settings = calloc(1, command->settings_size);
  if (!settings) {
    fputs("bankfold: error: out of memory\n", stderr);
    return CLI_BAD_INPUT;
  }
  int count = argc;
  int status = all_pass ? -1 : cli_parse(command, settings, argc, argv, &count);
  if (status < 0)
    status = command->run(settings, count, argv);
  if (status == CLI_BAD_INPUT && !all_pass)
    cli_file_kind_hint(command, count, argv);
  free(settings);
  return status;
}

int cli_unknown_command(const char *name) {
  char likely[BF_GUESS_BYTES];
  if (strpbrk(name, "/."))
    return cli_usage_error(NULL, "no file '%s' of a kind that is known", name);
  bf_guess guess = bf_guess_begin(name);
  for (const cli_group *group = cli_groups; group->title; group++)
    for (size_t i = 0; group->commands[i]; i++)
      bf_guess_offer(&guess, group->commands[i]->name, strlen(group->commands[i]->name));
  return cli_usage_error(NULL, "unknown command '%s'%s", name, bf_guess_text(&guess, likely));
}
