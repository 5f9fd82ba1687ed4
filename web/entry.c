/* The program in a browser: those of its commands that need no other program and no GPU. A call is
 * a run of the whole program with arguments and files (web/engine.js), so its answers are those of
 * bankfold itself. */
#include "cli/cli.h"

const cli_group cli_groups[] = {
    {"Find conflicts", {&cli_explain, &cli_check, &cli_classify, &cli_draw}},
    {"Remove them", {&cli_layout, &cli_solve, &cli_align}},
    {"Use a hash", {&cli_rewrite, &cli_suggest, &cli_convert, &cli_emit}},
    {"Look into programs", {&cli_profile, &cli_sim, &cli_trace, &cli_analyze, &cli_ptx}},
    {"Learn more", {&cli_report, &cli_machines}},
    {NULL, {NULL}},
};

int main(int argc, char **argv) {
  const cli_command *command = argc > 1 ? cli_find(argv[1]) : NULL;
  if (!command)
    return cli_unknown_command(argc > 1 ? argv[1] : "");
  return cli_run_command(command, argc - 2, argv + 2, false);
}
