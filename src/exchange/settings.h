/* exchange/settings: what programs of Bankfold tell those that they start, in environment
 * variables. Users may set them too (docs/exchange.md). An empty variable counts as one that is not
 * set. */
#ifndef BF_EXCHANGE_SETTINGS_H
#define BF_EXCHANGE_SETTINGS_H

#include "base/base.h"

/* ---- Variables ---- */

/* Every variable: enum and name. docs/exchange.md says what they mean. */
#define BF_VARIABLES(X)                                                                            \
  /* Of runs on the emulator or simulator: bf_run_settings. */                                     \
  X(MACHINE, "BANKFOLD_MACHINE")                                                                   \
  X(OVERRIDES, "BANKFOLD_OVERRIDES")                                                               \
  X(GPU, "BANKFOLD_GPU")                                                                           \
  X(SET, "BANKFOLD_SET")                                                                           \
  X(HASH, "BANKFOLD_HASH") /* of rewriting, too */                                                 \
  X(HASH_FILE, "BANKFOLD_HASH_FILE")                                                               \
  X(LOCK_HASH, "BANKFOLD_LOCK_HASH")                                                               \
  X(MAX_CYCLES, "BANKFOLD_MAX_CYCLES")                                                             \
  X(MACHINE_CODE, "BANKFOLD_MACHINE_CODE")                                                         \
  X(WORKERS, "BANKFOLD_WORKERS")                                                                   \
  X(CHECK, "BANKFOLD_CHECK")                                                                       \
  X(AS_WRITTEN, "BANKFOLD_AS_WRITTEN")                                                             \
  X(KEEP_GOING, "BANKFOLD_KEEP_GOING")                                                             \
  X(SAMPLE, "BANKFOLD_SAMPLE")                                                                     \
  X(SKIP_REST, "BANKFOLD_SKIP_REST")                                                               \
  X(EVERY_LAUNCH, "BANKFOLD_EVERY_LAUNCH")                                                         \
  X(HINT, "BANKFOLD_HINT")                                                                         \
  X(REWRITE, "BANKFOLD_REWRITE")                                                                   \
  X(RECORD, "BANKFOLD_RECORD")                                                                     \
  X(ACCESSES, "BANKFOLD_ACCESSES")                                                                 \
  X(TRACE, "BANKFOLD_TRACE")                                                                       \
  X(QUIET, "BANKFOLD_QUIET")                                                                       \
  /* Of rewriting: bf_rewriting_settings. */                                                       \
  X(HASHES, "BANKFOLD_HASHES")                                                                     \
  X(HASHES_TEXT, "BANKFOLD_HASHES_TEXT")                                                           \
  X(DYNAMIC_ROUNDED, "BANKFOLD_DYNAMIC_ROUNDED")                                                   \
  X(LOG, "BANKFOLD_LOG")                                                                           \
  X(CACHE, "BANKFOLD_CACHE")                                                                       \
  X(TIMES, "BANKFOLD_TIMES")                                                                       \
  X(OLD_RUNTIME, "BANKFOLD_OLD_RUNTIME")                                                           \
  X(LEARN, "BANKFOLD_LEARN")                                                                       \
  /* Where other programs are. */                                                                  \
  X(NVCC, "BANKFOLD_NVCC")                                                                         \
  X(CICC, "BANKFOLD_CICC")                                                                         \
  X(PTXAS, "BANKFOLD_PTXAS")                                                                       \
  X(VOTE_CUDA, "BANKFOLD_VOTE_CUDA")                                                               \
  X(YOSYS, "BANKFOLD_YOSYS")                                                                       \
  X(STA, "BANKFOLD_STA")

typedef enum bf_variable {
#define BF_VARIABLE_ENUM(name, text) BF_VARIABLE_##name,
  BF_VARIABLES(BF_VARIABLE_ENUM)
#undef BF_VARIABLE_ENUM
      BF_VARIABLE_COUNT
} bf_variable;

const char *bf_variable_name(bf_variable variable);
/* Its value in the environment; NULL where it is not set. */
const char *bf_variable_get(bf_variable variable);
/* Sets it, or removes it where value is NULL; false where memory is exhausted. */
bool bf_variable_put(bf_variable variable, const char *value);

/* ---- Runs on the emulator or simulator: from bankfold exec to the CUDA runtime ---- */

/* More faults to look for. */
typedef struct bf_run_checks {
  bool uninitialised, races;
} bf_run_checks;

typedef struct bf_setting_list {
  const char *const *item;
  size_t count;
} bf_setting_list;

/* NULL, 0 and false: not set. Paths may be relative when they are put, and are absolute when they
 * are got. */
typedef struct bf_run_settings {
  bf_arena arena;      /* of texts that were got */
  bool quiet;          /* no messages */
  const char *machine; /* of emulated launches: a name, or the path of a file */
  bf_overrides overrides;
  const char *gpu;       /* that launches are simulated on: a name, or the path of a file */
  bf_setting_list set;   /* parameters of it: KEY=VALUE */
  const char *hash;      /* of the banks, until the program chooses one */
  const char *hash_file; /* of single kernels */
  const char *lock_hash; /* of the table of locks */
  uint64_t most_cycles;  /* of a simulated launch */
  bool machine_code;     /* what ptxas makes of kernels decides about simulated launches */
  uint64_t workers;      /* threads that run a kernel; at most 1024 */
  bf_run_checks check;
  bool as_written;       /* accesses as the PTX has them, not as ptxas merges them */
  bool keep_going;       /* accesses to memory that is not there do not end a launch */
  uint64_t sample;       /* count one block in so many at least; UINT32_MAX: as few as will do */
  bool skip_rest;        /* blocks that are not counted are not run */
  bool every_launch;     /* launches that repeat another one exactly are run too */
  uint64_t hint_seconds; /* in kernels, after which a line says what runs; 0: never */
  const char *rewrite;   /* file of hashes that kernels are rewritten with when they are loaded */
  const char *record;    /* folder for costs (exchange/record.h) */
  const char *accesses;  /* folder for accesses (exchange/accesses.h) */
  const char *trace;     /* file for a trace */
} bf_run_settings;

/* Puts settings into the environment of this process, and so of those that it starts. What is not
 * set is removed. */
int bf_run_settings_put(const bf_run_settings *settings, bf_diagnostic *diagnostic);
/* Reads them back; BF_BAD_INPUT, with the name of the variable, where one has no such value. Free
 * also after an error. */
int bf_run_settings_get(bf_run_settings *settings, bf_diagnostic *diagnostic);
void bf_run_settings_free(bf_run_settings *settings);

/* ---- Rewriting: from run, tune, nvcc and ptxas to the injection library and the wrappers ---- */

/* NULL and false: not set. Paths as above. */
typedef struct bf_rewriting_settings {
  bf_arena arena;          /* of texts that were got */
  const char *hash;        /* of kernels that hashes does not name */
  const char *hashes;      /* file of lines KERNEL HASH */
  const char *hashes_text; /* such lines, of a file that cannot be read again; not with hashes */
  bool dynamic_rounded;    /* launches have room for padding before dynamic shared memory */
  const char *log;         /* file, or "stderr" */
  const char *cache;       /* folder */
  const char *times;       /* file for times (exchange/times.h); "%p": the number of the process */
  bool old_runtime;        /* for runtimes that load code through the driver's table */
  bool learn;              /* which version of kernels is faster, from launches */
} bf_rewriting_settings;

/* Most bytes of hashes_text: the system limits a variable to 128 KiB. */
enum { BF_MOST_HASHES_TEXT_BYTES = 100 * 1024 };

/* The same. What is not set stays as it is in the environment; but hash, hashes and hashes_text
 * belong together: where one is set, the others are removed unless they are set too. */
int bf_rewriting_settings_put(const bf_rewriting_settings *settings, bf_diagnostic *diagnostic);
int bf_rewriting_settings_get(bf_rewriting_settings *settings, bf_diagnostic *diagnostic);
void bf_rewriting_settings_free(bf_rewriting_settings *settings);

#endif
