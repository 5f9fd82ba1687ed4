/* What is simulated, from the options of a command: GPU, parameters, hashes. */
#ifndef BF_CLI_SIMULATE_H
#define BF_CLI_SIMULATE_H

#include "cli/cli.h"
#include "sim/ledger.h"

/* Members of a command's settings, as `simulated`. */
typedef struct cli_simulated {
  const char *gpu, *hash, *hash_file, *lock_hash;
  cli_texts set;
  uint64_t workers, most_cycles;
} cli_simulated;

#define CLI_DEFAULT_GPU "h200"

#define CLI_SIMULATED(type)                                                                        \
  {"gpu", CLI_TEXT, offsetof(type, simulated.gpu),                                                 \
   "GPU", NULL,     "the GPU: a built-in name or a GPU file (default " CLI_DEFAULT_GPU ")"},       \
      {"set",       CLI_TEXTS, offsetof(type, simulated.set),                                      \
       "KEY=VALUE", NULL,      "change a parameter of the GPU; may be repeated"},                  \
      {"hash", CLI_TEXT, offsetof(type, simulated.hash),                                           \
       "HASH", NULL,     "hash of the banks (default none)"},                                      \
      {"hash-file", CLI_TEXT, offsetof(type, simulated.hash_file),                                 \
       "FILE",      NULL,     "hashes of single kernels: lines KERNEL HASH, * for all others"},    \
      {"lock-hash",                                                                                \
       CLI_TEXT,                                                                                   \
       offsetof(type, simulated.lock_hash),                                                        \
       "KIND",                                                                                     \
       "none xor add",                                                                             \
       "hash of the table of locks, for atomics that use one (default none) "},                    \
      {"threads", CLI_NUMBER, offsetof(type, simulated.workers),                                   \
       "N",       NULL,       "threads of the host (default one per core)"},                       \
  {                                                                                                \
    "max-cycles", CLI_NUMBER, offsetof(type, simulated.most_cycles), "N", NULL,                    \
        "give up a launch after this many cycles (default: never)"                                 \
  }

/* What was loaded. */
typedef struct cli_simulation {
  bool takes_sharing; /* set before loading: words may share places, as only counts matter */
  bf_sim_gpu *gpu;
  bf_hash *hash;
  bf_hash_list *hashes;
} cli_simulation;

/* Loads all that the options name and puts it into an empty ledger. Free also after an error. */
int cli_simulation_load(const cli_simulated *options, cli_simulation *simulation,
                        bf_sim_ledger *ledger, bf_diagnostic *diagnostic);
void cli_simulation_free(cli_simulation *simulation);
/* Simulates a launch: the callback of bf_launches.execute whose context is a bf_sim_ledger. */
int cli_simulate_launch(void *ledger, bf_emu *emu, const bf_emu_launch *launch, const char *hash,
                        bf_emu_result *result, bf_diagnostic *diagnostic);

/* The lock hash of a word of --lock-hash (NULL: plain). */
bf_lock_hash cli_lock_hash(const char *word);

#endif
