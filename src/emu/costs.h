/* emu/costs: what launches have cost shared memory, summed by kernel and source line. */
#ifndef BF_EMU_COSTS_H
#define BF_EMU_COSTS_H

#include "emu/emu.h"

/* A source line, or a line of the PTX where the source is not known (file NULL). */
typedef struct bf_costs_line {
  const char *file;
  uint64_t line;
  uint64_t accesses, wavefronts, ideal, conflicts;
  uint64_t worst;         /* most wavefronts of one access */
  uint64_t waited_cycles; /* simulated: that its accesses waited for shared memory, summed */
  /* Wavefronts beyond those above that may come where warps of a block want the same words at the
   * same time and try again (docs/memory.md): at most so many. */
  uint64_t retries_most;
  uint64_t
      uncounted; /* accesses that the machine cannot make: in no number above, and in no record */
  bool estimated;
  bool has_access;
  bf_access access; /* the worst one */
  /* Where the function that the line is in was inlined, or NULL and 0. */
  const char *inlined_file;
  uint64_t inlined_line;
  const char *inlined_further; /* the calls around that, "b.cuh:21, inlined at c.cu:5", or NULL */
  /* Of kernels that are sampled: between these conflicts are, in 95 of 100 cases. */
  uint64_t conflicts_low, conflicts_high;
  bf_operand_sum operand[BF_OPERANDS]; /* wavefronts of matrices are in those above, too */
} bf_costs_line;

/* The launches of a kernel with one hash. */
typedef struct bf_costs_kernel {
  const char *name;             /* as in the PTX */
  const char *hash, *lock_hash; /* canonical text; NULL: as the command line says */
  uint64_t launches, warp_instructions, thread_instructions;
  uint64_t unfinished;            /* more launches, which ran when the process ended */
  uint64_t refused;               /* more launches, which could not be run */
  uint64_t faults;                /* launches that a fault of the kernel ended */
  double seconds;                 /* of the host */
  uint64_t cycles;                /* simulated, or 0 */
  uint64_t work_cycles;           /* with cycles: bf_work_cycles (tune/judge.h) of all launches */
  double simulated_seconds;       /* the same as time of the GPU */
  double joules, conflict_joules; /* of it, and of that what bank conflicts have; 0: not known */
  uint64_t accesses, wavefronts, ideal, conflicts; /* of its lines together */
  bf_costs_line *line;                             /* most conflicts first once sorted */
  size_t lines, line_capacity;
  /* Where not all blocks were counted (emu/sample.h), numbers are estimates: how many blocks there
   * were and how many were counted, else 0; and the bounds of conflicts, which are not known where
   * conflicts_high is less than conflicts. */
  uint64_t blocks, counted_blocks, conflicts_low, conflicts_high;
  bf_workload *access; /* all different accesses of its launches; NULL: none are known */
  bool is_cut;         /* there were too many different ones, and none are kept */
} bf_costs_kernel;

typedef struct bf_costs {
  bf_arena arena;
  bf_costs_kernel *kernel; /* most conflicts first once sorted */
  size_t kernels, kernel_capacity;
} bf_costs;

/* The kernel of that name and hashes, which is added without launches where there is none; NULL
 * where memory is exhausted. It stays where it is until another is added. */
bf_costs_kernel *bf_costs_find(bf_costs *costs, const char *name, const char *hash,
                               const char *lock_hash);
/* Adds launches to those of the kernel: their sums, but not their lines. */
void bf_costs_add_sums(bf_costs_kernel *kernel, const bf_costs_kernel *more);
/* Adds what a line has cost to a kernel of costs, and to what it knows of that line. */
int bf_costs_add_line(bf_costs *costs, bf_costs_kernel *kernel, const bf_costs_line *more,
                      bf_diagnostic *diagnostic);
/* Adds accesses of launches to those of the kernel; NULL: there were too many. */
int bf_costs_add_access(bf_costs_kernel *kernel, const bf_access *access,
                        bf_diagnostic *diagnostic);
int bf_costs_add_accesses(bf_costs_kernel *kernel, const bf_workload *more,
                          bf_diagnostic *diagnostic);
/* Adds all that others have cost. */
int bf_costs_add(bf_costs *costs, const bf_costs *more, bf_diagnostic *diagnostic);
/* Adds a launch that the profile has watched. */
int bf_costs_add_launch(bf_costs *costs, const bf_emu_kernel *kernel, const bf_profile *profile,
                        const bf_emu_result *result, double seconds, bf_diagnostic *diagnostic);
/* The line that a site of a kernel belongs to, without costs. */
bf_costs_line bf_costs_line_of(const bf_emu_site *site);
/* What a row of a profile has cost, for a site; rivals: bf_profile_rivals of all rows. */
bf_costs_line bf_costs_line_of_row(const bf_emu_site *site, const bf_profile_row *row,
                                   unsigned rivals);
/* Whether anything happened there. */
bool bf_costs_line_is_used(const bf_costs_line *line);

/* Adds more of the same kind. */
void bf_operand_add(bf_operand_sum *sum, const bf_operand_sum *more);
/* "wgmma A 64x16 f16, swizzle 128", "tensor load 64x64 bf16"; its word alone: "wgmma A". */
void bf_operand_describe(bf_operand_kind kind, const bf_operand_sum *sum, bf_text *text);
const char *bf_operand_name(bf_operand_kind kind);
/* The operands of a line as one word of text, empty without any; false: it is no such text. */
void bf_operands_write(const bf_operand_sum operand[BF_OPERANDS], bf_text *text);
bool bf_operands_read(const char *text, bf_operand_sum operand[BF_OPERANDS]);

/* Kernels and lines by conflicts, most first, then by name and line. */
void bf_costs_sort(bf_costs *costs);
void bf_costs_free(bf_costs *costs);

#endif
