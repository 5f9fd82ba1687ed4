/* ncu: what Nsight Compute measured, as its tables say it (`ncu --csv --page raw`, `--page
 * details`, `--page source`), laid beside what is predicted, and told apart: which wavefronts of
 * shared memory are bank conflicts, and what else counters mix in. Which metric means what was
 * measured on an H200 (docs/ncu.md, tests/data/ncu). */
#ifndef BF_NCU_H
#define BF_NCU_H

#include "base/base.h"
#include "memory/memory.h"

/* A counter that may not have been measured. */
typedef struct bf_ncu_number {
  bool is_there;
  uint64_t value;
} bf_ncu_number;

typedef enum bf_ncu_metric {
  BF_NCU_WAVEFRONTS, /* of instructions on shared memory, exact: memory_l1_wavefronts_shared, or the
                        sum of smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_* */
  BF_NCU_IDEAL,      /* memory_l1_wavefronts_shared_ideal */
  BF_NCU_INSTRUCTIONS, /* smsp__sass_inst_executed_op_shared.sum */
  BF_NCU_CONFLICTS, /* l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum, or the sum of its _op_*
                     */
  BF_NCU_COUNTED_WAVEFRONTS, /* l1tex__data_pipe_lsu_wavefronts_mem_shared.sum: other work in them
                                too */
  BF_NCU_MIXED_CONFLICTS, /* l1tex__data_bank_conflicts_pipe_lsu.sum: those of global memory too */
  BF_NCU_METRICS
} bf_ncu_metric;

/* A line of source or an instruction that touches shared memory. */
typedef struct bf_ncu_line {
  const char *file;        /* or NULL */
  bool is_of_page;         /* it stands on the page of that file, perhaps on another's too */
  uint64_t line;           /* 0: not known */
  const char *address;     /* of an instruction, or NULL */
  const char *instruction; /* its text, or that of the line */
  uint64_t executed, wavefronts, ideal;
  bf_ncu_number predicted;       /* wavefronts, of all blocks */
  bf_ncu_number predicted_ideal; /* the fewest, likewise */
} bf_ncu_line;

/* A launch, or all that the source page has of a kernel. */
typedef struct bf_ncu_kernel {
  const char *name;           /* as ncu has it, with parameters */
  char short_name[256];       /* without them, and without a return type */
  uint32_t block[3], grid[3]; /* all 0: not said */
  bf_ncu_number metric[BF_NCU_METRICS];
  size_t lines;
  bf_ncu_line *line;
  bf_ncu_number predicted, predicted_ideal; /* of the whole kernel */
  bool is_run;                              /* they were counted in a run, not in the PTX */
  const char *not_predicted;                /* why there is none, or it is not all; or NULL */
} bf_ncu_kernel;

typedef struct bf_ncu {
  bf_arena arena;
  const char *name; /* of the file */
  size_t kernels, capacity;
  bf_ncu_kernel *kernel;
} bf_ncu;

/* Reads a table. What is no table, as "==PROF==" lines before it, is passed over. BF_BAD_INPUT,
 * with the line, where there is no kernel, a row has too few fields, or a number is none. Free it
 * also where that fails. */
int bf_ncu_read(const char *name, const char *text, size_t size, bf_ncu *ncu,
                bf_diagnostic *diagnostic);
void bf_ncu_free(bf_ncu *ncu);

/* Gives lines of the source page to the launches of the same kernel, in order, so that a kernel is
 * there once. */
void bf_ncu_merge(bf_ncu *ncu);

/* Adds what is predicted for a source line of all blocks. */
void bf_ncu_predict(bf_ncu_kernel *kernel, const char *file, uint64_t line, uint64_t wavefronts,
                    uint64_t ideal);

/* The rule of tools/ncu, which as a program prints tables of reports through NVIDIA's ncu_report.
 */
extern const bf_embedded_machine bf_embedded_ncu[];

/* Adds the tables of a file: as they are or, of a report (.ncu-rep), as the program ncu prints them
 * or, without that, NVIDIA's Python module ncu_report. through: "ncu" or "ncu_report" for one of
 * them only; NULL: either. */
int bf_ncu_load(const char *path, const char *through, bf_text *text, bf_diagnostic *diagnostic);

/* Adds what the PTX in a program, or in a file of PTX, says of each kernel, from the shape of its
 * blocks; where that is nothing, not_predicted says why. */
int bf_ncu_predict_program(bf_ncu *ncu, const char *program, const bf_machine *machine,
                           bf_diagnostic *diagnostic);

/* Puts what a trace of exec (sites KERNEL:FILE:LINE) counts in the place of predictions from PTX:
 * it knows addresses that depend on data. A kernel that did a multiple of what was measured, by
 * the wavefronts that would do, was launched so many times more often, and its mean is taken. */
int bf_ncu_predict_trace(bf_ncu *ncu, const char *path, const bf_machine *machine,
                         bf_diagnostic *diagnostic);

/* What the numbers of a kernel mean, a sentence to a line. */
void bf_ncu_judge(const bf_ncu_kernel *kernel, bf_text *text);
/* A kernel with what its numbers mean, what is predicted, and its lines. */
void bf_ncu_write(const bf_ncu_kernel *kernel, bf_text *text);
/* The same as an object in a list (docs/json.md). */
void bf_ncu_write_json(const bf_ncu_kernel *kernel, bf_json *json);

#endif
