/* bankfold: the command table and the way into it. */
#include "cli/cli.h"

#include "base/guess.h"
#include "cli/file_kind.h"
#include "cli/open.h"
#include "cli/use/wrap.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

const cli_group cli_groups[] = {
    {"Find conflicts", {&cli_explain, &cli_check, &cli_classify, &cli_draw}},
    {"Remove them", {&cli_layout, &cli_solve, &cli_align}},
    {"Use a hash",
     {&cli_rewrite, &cli_nvcc, &cli_ptxas, &cli_run, &cli_tune, &cli_suggest, &cli_convert,
      &cli_emit, &cli_rtl}},
    {"Look into programs",
     {&cli_exec, &cli_ncu, &cli_profile, &cli_sim, &cli_trace, &cli_analyze, &cli_ptx,
      &cli_corpus}},
    {"Count and find in images", {&cli_hist, &cli_hough}},
    {"Wire cores to each other", {&cli_rgpu}},
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

/* What is behind the last slash. */
static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Called by the name of a compiler, through a link, this is its wrapper: all arguments are for the
 * compiler. NULL for other names. */
static const cli_command *find_wrapper(const char *name) {
  if (strcmp(name, "bankfold-nvcc") == 0 || strcmp(name, "nvcc") == 0)
    return &cli_nvcc;
  return strcmp(name, "bankfold-ptxas") == 0 || strcmp(name, "ptxas") == 0 ? &cli_ptxas : NULL;
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

/* Says that there is no such command, and which one may be meant. */
static int unknown_command(const char *name) {
  char likely[BF_GUESS_BYTES];
  if (strpbrk(name, "/."))
    return cli_usage_error(NULL, "no file '%s' of a kind that is known", name);
  bf_guess guess = bf_guess_begin(name);
  for (const cli_group *group = cli_groups; group->title; group++)
    for (size_t i = 0; group->commands[i]; i++)
      bf_guess_offer(&guess, group->commands[i]->name, strlen(group->commands[i]->name));
  return cli_usage_error(NULL, "unknown command '%s'%s", name, bf_guess_text(&guess, likely));
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN);
  const char *own_name = argc > 0 ? base_name(argv[0]) : "bankfold";
  const cli_command *wrapper = find_wrapper(own_name);
  if (strcmp(own_name, "cicc") == 0)
    return cli_cicc(argv);
  if (wrapper)
    return cli_run_command(wrapper, argc - 1, argv + 1, true);
  const char *name = argc > 1 ? argv[1] : "help";
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
    name = "help";
  if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
    printf("bankfold %s\n", bf_version());
    return CLI_OK;
  }
  const cli_command *command = cli_find(name);
  if (!command) {
    int status = cli_open(argc - 1, argv + 1);
    return status >= 0 ? status : unknown_command(name);
  }
  return cli_run_command(command, argc > 2 ? argc - 2 : 0, argv + (argc > 1 ? 2 : 1), false);
}
