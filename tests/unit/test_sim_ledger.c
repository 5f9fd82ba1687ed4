/* Ledgers of launches: benchmarks of the corpus on the simulator. */
#include "kernels/sim_device.h"

#include "emu.h"

#include <string.h>

static bf_sim_gpu *gpu;

static int load_gpu(void **state) {
  (void)state;
  return bf_sim_gpu_load("examples/small.gpu", &gpu, NULL);
}

static int free_gpu(void **state) {
  (void)state;
  bf_sim_gpu_free(gpu);
  return 0;
}

/* Simulates a benchmark into an empty ledger. */
static void simulate(const char *name, bf_sim_ledger *ledger) {
  bf_corpus_outcome outcome = {0};
  bf_diagnostic diagnostic = {0};
  ledger->settings.gpu = gpu;
  if (bf_corpus_simulate(bf_corpus_find(name), 1, 0, ledger, &outcome, &diagnostic))
    fail_msg("%s: %s", name, diagnostic.message);
  assert_true(outcome.elements > 0);
  assert_int_equal(outcome.wrong, 0);
}

static void results_are_right_and_complete(void **state) {
  (void)state;
  bf_sim_ledger ledger = {0};
  simulate("transpose32", &ledger);
  assert_int_equal(ledger.launches, 1);
  const bf_sim_launched *only = &ledger.launch[0];
  assert_string_equal(only->kernel, "transpose32");
  assert_string_equal(only->hash, "none");
  assert_int_equal(only->grid[0] * only->grid[1], only->result.blocks);
  assert_int_equal(only->sm_cycles, only->result.cycles * 2);
  uint64_t stalled = 0;
  for (unsigned i = 0; i < BF_SIM_STALLS; i++)
    stalled += only->result.stalls[i];
  assert_true(stalled > 0 && stalled < only->result.turns);
  assert_true(bf_sim_ipc_per_sm(only) > 0 && bf_sim_ipc_per_sm(only) <= 2);
  assert_true(bf_sim_occupancy(gpu, only) > 0 && bf_sim_occupancy(gpu, only) <= 1);
  bf_sim_ledger_free(&ledger);
}

/* The column of the tile has all conflicts and comes first; lines add up to the whole. */
static void lines_are_sorted(void **state) {
  (void)state;
  bf_sim_ledger ledger = {0};
  simulate("transpose32", &ledger);
  const bf_sim_launched *only = &ledger.launch[0];
  assert_int_equal(only->lines, 2);
  assert_string_equal(only->line[0].file, "kernels/transpose/transpose.cu");
  assert_int_equal(only->line[0].cost.conflicts, only->result.shared_conflicts);
  assert_int_equal(only->line[1].cost.conflicts, 0);
  /* The worst access is one of the column: 32 wavefronts, rows of 32 words apart. */
  const bf_sim_site *worst = &only->line[0].cost;
  assert_int_equal(worst->worst, 32);
  assert_int_equal(worst->worst_access.op, BF_OP_LD);
  assert_int_equal(worst->worst_access.mask, 0xffffffff);
  for (unsigned lane = 1; lane < 32; lane++)
    assert_int_equal(worst->worst_access.address[lane] - worst->worst_access.address[lane - 1],
                     128);
  assert_int_equal(only->line[1].cost.worst, 1);
  assert_int_equal(only->line[0].cost.executions + only->line[1].cost.executions,
                   only->result.shared_instructions);
  assert_int_equal(only->line[0].cost.wavefronts + only->line[1].cost.wavefronts,
                   only->result.shared_wavefronts);
  bf_sim_ledger_free(&ledger);
}

static void totals_are_sums(void **state) {
  (void)state;
  bf_sim_ledger ledger = {0};
  bf_sim_launched total;
  simulate("lud", &ledger);
  assert_true(ledger.launches > 8);
  assert_int_equal(bf_sim_ledger_total(&ledger, &total, NULL), BF_OK);
  uint64_t cycles = 0, issued = 0, conflicts = 0, turns = 0, of_lines = 0;
  for (size_t i = 0; i < ledger.launches; i++) {
    cycles += ledger.launch[i].result.cycles;
    issued += ledger.launch[i].result.issued;
    turns += ledger.launch[i].result.turns;
    conflicts += ledger.launch[i].result.shared_conflicts;
  }
  for (size_t i = 0; i < total.lines; i++) {
    of_lines += total.line[i].cost.conflicts;
    for (size_t j = 0; j < i; j++)
      assert_true(total.line[i].line != total.line[j].line);
  }
  assert_int_equal(total.result.cycles, cycles);
  assert_int_equal(total.result.issued, issued);
  assert_int_equal(total.result.turns, turns);
  assert_int_equal(total.result.shared_conflicts, conflicts);
  assert_int_equal(of_lines, conflicts);
  assert_null(total.result.occupancy_limit);
  bf_sim_ledger_free(&ledger);
}

/* Only the kernel that the file names has the hash; all others have the one of the settings. */
static void hashes_are_chosen_per_kernel(void **state) {
  (void)state;
  bf_sim_ledger ledger = {0};
  bf_hash_list *hashes;
  bf_hash *fixed;
  bf_geometry geometry = bf_machine_geometry(gpu->machine);
  assert_int_equal(bf_hash_parse("fixed", &geometry, &fixed, NULL), BF_OK);
  assert_int_equal(bf_hash_list_parse("hashes", "lud_perimeter add\nlud_interior none\n",
                                      bf_machine_geometry(gpu->machine), &hashes, NULL),
                   BF_OK);
  ledger.settings.hash = fixed;
  ledger.hashes = hashes;
  simulate("lud", &ledger);
  for (size_t i = 0; i < ledger.launches; i++) {
    const char *kernel = ledger.launch[i].kernel, *hash = ledger.launch[i].hash;
    assert_string_equal(hash, strcmp(kernel, "lud_perimeter") == 0  ? "add"
                              : strcmp(kernel, "lud_interior") == 0 ? "none"
                                                                    : "fixed");
  }
  bf_sim_ledger_free(&ledger);
  bf_hash_list_free(hashes);
  bf_hash_free(fixed);
}

/* Cycles of the first launch of a benchmark with a hash (NULL: not given). */
static uint64_t cycles_with(const char *benchmark, const char *text) {
  bf_sim_ledger ledger = {0};
  bf_hash *hash = NULL;
  bf_geometry geometry = bf_machine_geometry(gpu->machine);
  if (text)
    assert_int_equal(bf_hash_parse(text, &geometry, &hash, NULL), BF_OK);
  ledger.settings.hash = hash;
  simulate(benchmark, &ledger);
  uint64_t cycles = ledger.launch[0].result.cycles;
  bf_sim_ledger_free(&ledger);
  bf_hash_free(hash);
  return cycles;
}

/* A hash removes conflicts. Accesses take longer with it, also where it changes nothing: a warp on
 * its own has to wait for that. */
static void hashing_has_its_price(void **state) {
  (void)state;
  assert_true(cycles_with("transpose32", "fixed") < cycles_with("transpose32", NULL) * 3 / 4);
  uint64_t without = cycles_with("lud-diagonal", NULL);
  assert_int_equal(cycles_with("lud-diagonal", "none"), without);
  assert_true(cycles_with("lud-diagonal", "perm:0") > without);
}

/* ---- Watches ---- */

enum { MOST_NUMBERS = 1 << 16 };

typedef struct stages {
  uint16_t slot[MOST_NUMBERS]; /* + 1, of warp instructions, by number */
  uint64_t told, written;
} stages;

/* An instruction belongs to the same warp in all stages, and is written back after others. */
static void follow(void *context, const bf_sim_stage *stage) {
  stages *seen = context;
  bool is_written = strcmp(stage->stage, "WB") == 0;
  assert_true(stage->number < MOST_NUMBERS);
  assert_true(!is_written || seen->slot[stage->number]);
  if (!seen->slot[stage->number])
    seen->slot[stage->number] = (uint16_t)(stage->slot + 1);
  assert_int_equal(seen->slot[stage->number], stage->slot + 1);
  seen->told++;
  seen->written += is_written;
}

static void ignore(void *context, const bf_sim_event *event) { (void)context, (void)event; }

static void stages_follow_instructions(void **state) {
  (void)state;
  bf_sim_gpu *usual = gpu;
  static const char *const pipelines[] = {"pipeline=unified", "pipeline=split", "pipeline=elastic"};
  for (unsigned i = 0; i < 3; i++) {
    stages *seen = calloc(1, sizeof *seen);
    assert_non_null(seen);
    bf_sim_watch watch = {
        .context = seen, .last_cycle = UINT64_MAX, .event = ignore, .stage = follow};
    bf_sim_ledger ledger = {.settings = {.watch = &watch}};
    assert_int_equal(bf_sim_gpu_load("elastic", &gpu, NULL), BF_OK);
    assert_int_equal(bf_sim_gpu_set(gpu, pipelines[i], NULL), BF_OK);
    assert_int_equal(bf_sim_gpu_set(gpu, "sms=1", NULL), BF_OK);
    simulate("reduction", &ledger);
    assert_true(seen->told > 10 * seen->written);
    assert_true(seen->written > ledger.launch[0].result.issued); /* in several parts */
    bf_sim_ledger_free(&ledger);
    bf_sim_gpu_free(gpu);
    free(seen);
  }
  gpu = usual;
}

/* ---- Launches that do not end ---- */

static int launch(const char *kernel, bf_sim_ledger *ledger, bf_diagnostic *diagnostic) {
  bed at;
  bf_emu_result result;
  bf_emu_launch described = {.grid = {2, 1, 1}, .block = {64, 1, 1}};
  bed_open(&at, "tests/golden/deadlock.ptx", NULL);
  assert_int_equal(bf_emu_kernel_get(at.module, kernel, &described.kernel, NULL), BF_OK);
  ledger->settings.gpu = gpu;
  int error = bf_sim_ledger_run(ledger, at.emu, &described, NULL, &result, diagnostic);
  bed_close(&at);
  return error;
}

/* Sizes that do not fit are refused as bf_emu_run refuses them, and leave an empty result. */
static void sizes_are_checked(void **state) {
  (void)state;
  static const bf_emu_launch wrong[] = {
      {.grid = {0, 1, 1}, .block = {64, 1, 1}},
      {.grid = {1, 1, 1}, .block = {64, 0, 1}},
      {.grid = {1, 1, 1}, .block = {64, 32, 1}},
      {.grid = {1, 1, 1}, .block = {2048, 1, 1}},
  };
  bed at;
  bed_open(&at, "tests/golden/deadlock.ptx", NULL);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    bf_sim_gpu *large;
    bf_emu_launch launch = wrong[i];
    bf_diagnostic emulated = {0}, simulated = {0};
    bf_emu_result result = {.warp_instructions = 1};
    assert_int_equal(bf_sim_gpu_load("examples/small.gpu", &large, NULL), BF_OK);
    assert_int_equal(bf_sim_gpu_set(large, "warps_per_sm=64", NULL), BF_OK);
    bf_sim_ledger ledger = {.settings = {.gpu = large}};
    assert_int_equal(bf_emu_kernel_get(at.module, "crossed", &launch.kernel, NULL), BF_OK);
    assert_int_equal(bf_sim_ledger_run(&ledger, at.emu, &launch, NULL, &result, &simulated),
                     BF_BAD_INPUT);
    assert_int_equal(result.warp_instructions, 0);
    assert_int_equal(bf_emu_run(at.emu, &launch, &result, &emulated), BF_BAD_INPUT);
    assert_string_equal(simulated.message, emulated.message);
    bf_sim_ledger_free(&ledger);
    bf_sim_gpu_free(large);
  }
  bed_close(&at);
}

/* The hash that a launch asks for itself comes before that of its kernel. */
static void launches_ask_for_hashes(void **state) {
  (void)state;
  bed at;
  bf_emu_result result;
  bf_diagnostic diagnostic = {0};
  bf_hash *hash;
  bf_geometry geometry = bf_machine_geometry(gpu->machine);
  assert_int_equal(bf_hash_parse("add", &geometry, &hash, NULL), BF_OK);
  bf_sim_ledger ledger = {.settings = {.gpu = gpu, .hash = hash, .most_cycles = 5000}};
  bf_emu_launch launch = {.grid = {2, 1, 1}, .block = {64, 1, 1}};
  bed_open(&at, "tests/golden/deadlock.ptx", NULL);
  assert_int_equal(bf_emu_kernel_get(at.module, "crossed", &launch.kernel, NULL), BF_OK);
  static const char *const asked[] = {NULL, "fixed", "none", "xor:0,5"};
  for (unsigned i = 0; i < 4; i++)
    assert_int_equal(bf_sim_ledger_run(&ledger, at.emu, &launch, asked[i], &result, &diagnostic),
                     BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "hash 'xor:0,5' of kernel 'crossed': expected ','");
  assert_string_equal(ledger.launch[0].hash, bf_hash_text(hash));
  assert_string_not_equal(ledger.launch[1].hash, bf_hash_text(hash));
  assert_string_not_equal(ledger.launch[1].hash, "none");
  assert_string_equal(ledger.launch[2].hash, "none");
  bf_sim_ledger_free(&ledger);
  bf_hash_free(hash);
  bed_close(&at);
}

static void deadlocks_are_explained(void **state) {
  (void)state;
  bf_sim_ledger ledger = {0};
  bf_diagnostic diagnostic;
  assert_int_equal(launch("crossed", &ledger, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "kernel crossed cannot go on: warps wait for each other");
  assert_int_equal(ledger.launches, 1);
  assert_false(ledger.launch[0].result.timed_out);
  const bf_sim_result *result = &ledger.launch[0].result;
  assert_int_equal(result->waits, 4);
  const bf_sim_wait *last = &result->wait[3];
  assert_true(last->block == 1 && last->warp == 1 && last->kind == BF_SIM_WAIT_OTHERS);
  assert_true(last->others.barrier == 1 && last->others.line == 13);
  bf_sim_ledger_free(&ledger);
}

static void endless_launches_end(void **state) {
  (void)state;
  bf_sim_ledger ledger = {.settings = {.most_cycles = 5000}};
  bf_diagnostic diagnostic;
  assert_int_equal(launch("endless", &ledger, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "kernel endless is not done after 5000 cycles");
  assert_true(ledger.launch[0].result.timed_out);
  bf_sim_ledger_free(&ledger);
}

static bool stop(void *context, uint64_t blocks_done, uint64_t blocks) {
  (void)blocks_done, (void)blocks;
  ++*(unsigned *)context;
  return false;
}

static void progress_can_stop_a_launch(void **state) {
  (void)state;
  unsigned asked = 0;
  bf_sim_ledger ledger = {.progress = stop, .progress_context = &asked};
  bf_diagnostic diagnostic;
  assert_int_equal(launch("endless", &ledger, &diagnostic), BF_OK);
  assert_true(asked > 0);
  assert_int_equal(ledger.launch[0].result.emu.fault.kind, BF_EMU_INTERRUPTED);
  bf_sim_ledger_free(&ledger);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_are_right_and_complete),
      cmocka_unit_test(lines_are_sorted),
      cmocka_unit_test(totals_are_sums),
      cmocka_unit_test(hashes_are_chosen_per_kernel),
      cmocka_unit_test(hashing_has_its_price),
      cmocka_unit_test(stages_follow_instructions),
      cmocka_unit_test(sizes_are_checked),
      cmocka_unit_test(launches_ask_for_hashes),
      cmocka_unit_test(deadlocks_are_explained),
      cmocka_unit_test(endless_launches_end),
      cmocka_unit_test(progress_can_stop_a_launch),
  };
  return cmocka_run_group_tests(tests, load_gpu, free_gpu);
}
