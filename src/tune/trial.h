/* tune/trial: what kernels do when a module runs the launches of a description on the emulator.
 * rewrite compares trials of the original and the rewritten module. */
#ifndef BF_TUNE_TRIAL_H
#define BF_TUNE_TRIAL_H

#include "emu/launches.h"
#include "rewrite/rewrite.h"
#include "sim/record.h"
#include "tune/choose.h"

typedef struct bf_trial_options {
  const char *file, *description;
  const bf_ptx_module *module;
  const bf_machine *machine;
  uint64_t workers;
  bool as_written;                   /* accesses as the PTX has them, else as ptxas merges them */
  bool keeps_accesses;               /* in workload */
  const bf_rewrite_result *examined; /* sites of accesses are names of their arrays; or NULL */
  bool keeps_memory;
  const bf_sim_gpu *gpu;         /* launches are simulated on it, which takes longer; or NULL */
  unsigned shared_granule_bytes; /* dynamic shared memory is rounded up to it; 0: it is not */
} bf_trial_options;

/* All launches of a kernel. */
typedef struct bf_trial_kernel {
  const char *name;
  uint64_t launches, wavefronts, warp_instructions;
  uint64_t cycles, work; /* with gpu; work: bf_work_cycles */
  uint64_t asked_bytes,
      given_bytes;       /* dynamic shared memory, where it was first rounded up; or 0 */
  bf_workload *workload; /* with keeps_accesses; without those behind the first 65536 kinds */
  bool is_cut;           /* some are left out there */
} bf_trial_kernel;

/* A buffer or variable behind the last launch. */
typedef struct bf_trial_memory {
  const char *name;
  uint64_t address, bytes;
  uint8_t *content;
} bf_trial_memory;

typedef struct bf_trial {
  bf_arena arena;
  size_t kernels, kernel_capacity;
  bf_trial_kernel *kernel;
  uint64_t launches;
  size_t memories;
  bf_trial_memory *memory; /* in the order they were made */
  uint64_t memory_bytes;   /* all together */
} bf_trial;

/* Runs all launches; what kernels print is dropped. A fault of a kernel is an error. Free also
 * after an error. */
int bf_trial_run(const bf_trial_options *options, bf_trial *trial, bf_diagnostic *diagnostic);
void bf_trial_free(bf_trial *trial);
/* The place of a kernel, which is made where there is none. */
int bf_trial_add(bf_trial *trial, const char *kernel, bool keeps_accesses, size_t *index,
                 bf_diagnostic *diagnostic);
/* The launches of a kernel, or NULL. */
const bf_trial_kernel *bf_trial_find(const bf_trial *trial, const char *kernel);

/* Whether both trials left the same in memory. Where not, difference says what and where first.
 * Eight bytes that hold the address of the same place in both are the same. */
bool bf_trial_is_equal(const bf_trial *a, const bf_trial *b, bf_text *difference);
/* The same for what the launches leave with the module of options and with another one. */
int bf_trial_compare(const bf_trial_options *options, const bf_ptx_module *other, bool *is_equal,
                     bf_text *difference, bf_diagnostic *diagnostic);

#endif
