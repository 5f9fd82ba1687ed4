/* What is simulated. */
#include "cli/look/simulate.h"

#include <string.h>

bf_lock_hash cli_lock_hash(const char *word) {
  if (word && strcmp(word, "xor") == 0)
    return BF_LOCK_XOR;
  return word && strcmp(word, "add") == 0 ? BF_LOCK_ADD : BF_LOCK_PLAIN;
}

/* The GPU with its changed parameters. */
static int load_gpu(const cli_simulated *options, bf_sim_gpu **gpu, bf_diagnostic *diagnostic) {
  BF_TRY(bf_sim_gpu_load(options->gpu ? options->gpu : CLI_DEFAULT_GPU, gpu, diagnostic));
  for (unsigned i = 0; i < options->set.count; i++)
    BF_TRY(bf_sim_gpu_set(*gpu, options->set.text[i], diagnostic));
  return bf_sim_gpu_check(*gpu, diagnostic);
}

int cli_simulation_load(const cli_simulated *options, cli_simulation *simulation,
                        bf_sim_ledger *ledger, bf_diagnostic *diagnostic) {
  BF_TRY(load_gpu(options, &simulation->gpu, diagnostic));
  const bf_machine *machine = simulation->gpu->machine;
  if (options->hash)
    BF_TRY(simulation->takes_sharing
               ? cli_load_banks(options->hash, machine, &simulation->hash, diagnostic)
               : cli_load_hash(options->hash, machine, &simulation->hash, diagnostic));
  if (options->hash_file)
    BF_TRY(bf_hash_list_read(options->hash_file, bf_machine_geometry(machine), &simulation->hashes,
                             diagnostic));
  ledger->settings = (bf_sim_settings){.gpu = simulation->gpu,
                                       .hash = simulation->hash,
                                       .lock_hash = cli_lock_hash(options->lock_hash),
                                       .workers = (unsigned)options->workers,
                                       .most_cycles = options->most_cycles};
  ledger->hashes = simulation->hashes;
  return BF_OK;
}

int cli_simulate_launch(void *ledger, bf_emu *emu, const bf_emu_launch *launch, const char *hash,
                        bf_emu_result *result, bf_diagnostic *diagnostic) {
  return bf_sim_ledger_run(ledger, emu, launch, hash, result, diagnostic);
}

void cli_simulation_free(cli_simulation *simulation) {
  bf_sim_gpu_free(simulation->gpu);
  bf_hash_free(simulation->hash);
  bf_hash_list_free(simulation->hashes);
}
