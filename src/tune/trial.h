/* tune/trial: what kernels do when a module runs the launches of a description on the emulator.
 * rewrite compares trials of the original and the rewritten module. */
#ifndef BF_TUNE_TRIAL_H
#define BF_TUNE_TRIAL_H

#include "emu/launches.h"
#include "rewrite/rewrite.h"
#include "sim/ledger.h"
#include "tune/judge.h"
#include "tune/observe.h"

/* Launches that are being tried. */
typedef struct bf_trial_watch bf_trial_watch;

typedef struct bf_trial_options bf_trial_options;
struct bf_trial_options {
  const char *file, *description;
  const bf_ptx_module *module;
  const bf_machine *machine;
  uint64_t workers;
  bool keeps_accesses;               /* of each kernel */
  const bf_rewrite_result *examined; /* of the module, for arrays of accesses; NULL: found out */
  bool keeps_memory;
  const bf_sim_gpu *gpu;   /* launches are simulated on it, which takes longer; or NULL */
  bf_sim_sampler *sampler; /* with gpu: a part of each is, in one trial; or NULL: all */
  /* Runs the launches in place of those of description, which is only for diagnostics then: each is
   * between bf_trial_before and bf_trial_after and executed by bf_trial_execute; with keeps_memory,
   * bf_trial_keep comes behind the last. NULL: those of description. */
  int (*run)(void *context, const bf_trial_options *options, bf_trial_watch *watch,
             bf_diagnostic *diagnostic);
  void *context;
};

/* All launches of a kernel. Wavefronts are those of accesses as ptxas merges them. */
typedef struct bf_trial_kernel {
  const char *name;
  uint64_t launches;
  bf_evidence took;
  bf_observer *observer; /* with keeps_accesses */
  bf_observed accesses;
} bf_trial_kernel;

/* A buffer or variable behind the last launch. */
typedef struct bf_trial_memory {
  const char *name;
  uint64_t address, bytes;
  uint8_t *content;
} bf_trial_memory;

/* A function, and what pointers to it hold. */
typedef struct bf_trial_function {
  const char *name;
  uint64_t address;
} bf_trial_function;

typedef struct bf_trial {
  bf_arena arena;
  size_t kernels, kernel_capacity;
  bf_trial_kernel *kernel;
  uint64_t launches;
  size_t memories;
  bf_trial_memory *memory; /* in the order they were made */
  uint64_t memory_bytes;   /* all together */
  size_t functions;        /* of the module, with a body */
  bf_trial_function *function;
} bf_trial;

/* Runs all launches; what kernels print is dropped. A fault of a kernel is an error. Free also
 * after an error. */
int bf_trial_run(const bf_trial_options *options, bf_trial *trial, bf_diagnostic *diagnostic);
void bf_trial_free(bf_trial *trial);

/* The same for launches that somebody else runs: of options, file, description, module,
 * keeps_memory and run are not looked at. All launches are between open, which makes an empty
 * trial, and close; each is between before, which has it observed, and after, and is executed by
 * execute. */
int bf_trial_open(const bf_trial_options *options, bf_trial *trial, bf_trial_watch **watch,
                  bf_diagnostic *diagnostic);
int bf_trial_before(bf_trial_watch *watch, bf_emu_launch *launch, bf_diagnostic *diagnostic);
int bf_trial_execute(bf_trial_watch *watch, bf_emu *emu, const bf_emu_launch *launch,
                     const char *hash, bf_emu_result *result, bf_diagnostic *diagnostic);
int bf_trial_after(bf_trial_watch *watch, const bf_emu_launch *launch, const bf_emu_result *result,
                   bf_diagnostic *diagnostic);
/* Keeps a copy of all that kernels can have written, while it is there. buffer_at gives the name of
 * the buffer at an address; NULL: there is none. */
int bf_trial_keep(bf_trial_watch *watch, const bf_emu *emu, const bf_emu_module *module,
                  const char *(*buffer_at)(const void *context, uint64_t address),
                  const void *context, bf_diagnostic *diagnostic);
void bf_trial_close(bf_trial_watch *watch);

/* The launches of a kernel, or NULL. */
const bf_trial_kernel *bf_trial_find(const bf_trial *trial, const char *kernel);

/* Whether both trials left the same in memory. Where not, difference says what and where first.
 * Eight bytes that hold the address of the same place in both are the same. */
bool bf_trial_is_equal(const bf_trial *a, const bf_trial *b, bf_text *difference);
/* The same for what the launches leave with the module of options and with another one. */
int bf_trial_compare(const bf_trial_options *options, const bf_ptx_module *other, bool *is_equal,
                     bf_text *difference, bf_diagnostic *diagnostic);

#endif
