/* What a program run by bankfold exec did to shared memory: the records that runtime/record.c
 * writes, one file per process, read back and summed per kernel and source line. */
#ifndef BF_CLI_RECORD_H
#define BF_CLI_RECORD_H

#include "cli/cli.h"
#include "emu/emu.h"

/* A source line, or a line of the PTX where the source is not known (file NULL). */
typedef struct cli_record_line {
  const char *file;
  uint64_t line;
  uint64_t accesses, wavefronts, ideal, conflicts;
  uint64_t worst;         /* most wavefronts of one access */
  uint64_t waited_cycles; /* simulated: that its accesses waited for shared memory, summed */
  bool estimated;
  bool has_access;
  bf_access access; /* the worst one */
} cli_record_line;

/* The launches of a kernel with one hash. */
typedef struct cli_record_kernel {
  const char *name;             /* as in the PTX */
  const char *hash, *lock_hash; /* canonical text; NULL: as the command line says */
  uint64_t launches, warp_instructions, thread_instructions;
  double seconds;           /* of the host */
  uint64_t cycles;          /* simulated, or 0 */
  uint64_t work_cycles;     /* with cycles: bf_work_cycles (tune/judge.h) of all launches */
  double simulated_seconds; /* the same as time of the GPU */
  uint64_t accesses, wavefronts, ideal, conflicts;
  cli_record_line *line; /* most conflicts first once sorted */
  size_t lines, line_capacity;
} cli_record_kernel;

typedef struct cli_record {
  bf_arena arena;
  cli_record_kernel *kernel;
  size_t kernels, kernel_capacity;
} cli_record;

/* Adds the files of a folder to an empty record. */
int cli_record_read(const char *folder, const bf_machine *machine, cli_record *record,
                    bf_diagnostic *diagnostic);
/* Adds a launch. */
int cli_record_add(cli_record *record, const bf_emu_kernel *kernel, const bf_profile *profile,
                   const bf_emu_result *result, double seconds, bf_diagnostic *diagnostic);
/* Kernels and lines by conflicts, most first, then by name and line. */
void cli_record_sort(cli_record *record);
void cli_record_free(cli_record *record);

#endif
