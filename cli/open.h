/* `bankfold FILE`: the command that is for what the file is. */
#ifndef BF_CLI_OPEN_H
#define BF_CLI_OPEN_H

#include "cli/cli.h"

/* Runs it with the arguments, the first of which is the file. -1: nothing is at that path. */
int cli_open(int argc, char **argv);

#endif
