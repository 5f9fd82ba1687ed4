/* bankfold: the command table and the way into it. */
#include "cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

const cli_group cli_groups[] = {
    {"Find conflicts", {&cli_check, &cli_classify, &cli_draw}},
    {"Remove them", {&cli_solve, &cli_align}},
    {"Use a hash", {&cli_rewrite, &cli_run, &cli_tune, &cli_convert, &cli_emit}},
    {"Look into programs",
     {&cli_exec, &cli_profile, &cli_sim, &cli_trace, &cli_analyze, &cli_ptx, &cli_corpus}},
    {"Count and find in images", {&cli_hist, &cli_hough}},
    {"Learn more", {&cli_reproduce, &cli_report, &cli_machines, &cli_help}},
    {NULL, {NULL}},
};

const cli_command *cli_find(const char *name) {
  for (const cli_group *group = cli_groups; group->title; group++)
    for (size_t i = 0; group->commands[i]; i++)
      if (strcmp(group->commands[i]->name, name) == 0)
        return group->commands[i];
  return NULL;
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN);
  const char *name = argc > 1 ? argv[1] : "help";
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
    name = "help";
  if (strcmp(name, "--version") == 0) {
    printf("bankfold %s\n", bf_version());
    return CLI_OK;
  }
  const cli_command *command = cli_find(name);
  if (!command)
    return cli_usage_error(NULL, "unknown command '%s'", name);
  void *settings = calloc(1, command->settings_size);
  if (!settings) {
    fputs("bankfold: error: out of memory\n", stderr);
    return CLI_BAD_INPUT;
  }
  int count = 0;
  char **rest = argv + (argc > 1 ? 2 : 1);
  int status = cli_parse(command, settings, argc > 2 ? argc - 2 : 0, rest, &count);
  if (status < 0)
    status = command->run(settings, count, rest);
  free(settings);
  return status;
}
