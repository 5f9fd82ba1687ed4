/* The times of launches that the injection library writes (inject/times.c), read back. */
#ifndef BF_CLI_TIMES_H
#define BF_CLI_TIMES_H

#include "cli/cli.h"

/* The launches of a kernel with one size of grid and blocks, in all processes of a run. */
typedef struct cli_times_row {
  const char *kernel; /* as in the PTX */
  const char *hash;   /* canonical text; NULL: it was not rewritten */
  uint64_t blocks, threads, launches;
  double median_ns; /* of a launch */
} cli_times_row;

typedef struct cli_times {
  bf_arena arena;
  cli_times_row *row;
  size_t rows, capacity;
} cli_times;

/* Reads all files of a folder into empty times; what is no line of theirs is BF_BAD_INPUT. Free
 * also after an error. */
int cli_times_read(const char *folder, cli_times *times, bf_diagnostic *diagnostic);
void cli_times_free(cli_times *times);
/* The row of a kernel with the size of another row; NULL: none. */
const cli_times_row *cli_times_find(const cli_times *times, const char *kernel,
                                    const cli_times_row *like);

#endif
