/* bankfold: the command table and the way into it. */
#include "cli/cli.h"

#include "cli/open.h"
#include "cli/use/wrap.h"

#include <signal.h>
#include <string.h>

const cli_group cli_groups[] = {
    {"Find conflicts", {&cli_explain, &cli_check, &cli_classify, &cli_draw}},
    {"Remove them", {&cli_layout, &cli_solve, &cli_align}},
    {"Use a hash",
     {&cli_rewrite, &cli_nvcc, &cli_ptxas, &cli_run, &cli_tune, &cli_suggest, &cli_convert,
      &cli_emit, &cli_rtl}},
    {"Look into programs",
     {&cli_exec, &cli_scan, &cli_ncu, &cli_profile, &cli_sim, &cli_trace, &cli_analyze, &cli_ptx,
      &cli_corpus}},
    {"Count and find in images", {&cli_hist, &cli_hough}},
    {"Wire cores to each other", {&cli_rgpu}},
    {"Learn more", {&cli_reproduce, &cli_report, &cli_explore, &cli_machines, &cli_help}},
    {NULL, {NULL}},
};

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
    return status >= 0 ? status : cli_unknown_command(name);
  }
  return cli_run_command(command, argc > 2 ? argc - 2 : 0, argv + (argc > 1 ? 2 : 1), false);
}
