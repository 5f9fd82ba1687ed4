/* Launches of PTX: instructions come from the emulator. */
#include "sim/feed.h"
#include "sim/machine.h"

typedef struct emulated {
  bf_sim_feed feed;
  bf_emu *emu;
  bf_emu_stepper *stepper;
  const bf_machine_kernel *machine; /* or NULL */
} emulated;

static int open_stepper(bf_sim_feed *feed, const bf_sim_gpu *gpu, const bf_emu_launch *launch,
                        bf_sim_program **program, bf_sim_addresses *addresses,
                        bf_diagnostic *diagnostic) {
  emulated *own = (emulated *)feed;
  BF_TRY(bf_emu_stepper_create(own->emu, launch, &own->stepper, diagnostic));
  feed->cluster = bf_emu_stepper_cluster(own->stepper);
  BF_TRY(bf_sim_addresses_create(own->emu, addresses, diagnostic));
  return bf_sim_program_create(gpu, launch->kernel, own->machine, program, diagnostic);
}

static void close_stepper(bf_sim_feed *feed) { bf_emu_stepper_free(((emulated *)feed)->stepper); }

static int result_of(const bf_sim_feed *feed, bf_emu_result *result, bf_diagnostic *diagnostic) {
  return bf_emu_stepper_result(((const emulated *)feed)->stepper, result, diagnostic);
}

static bool stopped(const bf_sim_feed *feed) {
  return bf_emu_stepper_stopped(((const emulated *)feed)->stepper);
}

static void set_clock(bf_sim_feed *feed, unsigned place, const uint64_t *clock) {
  bf_emu_stepper_clock(((emulated *)feed)->stepper, place, clock);
}

static bool join(bf_sim_feed *feed, uint64_t cluster, const unsigned *place) {
  return bf_emu_stepper_join(((emulated *)feed)->stepper, cluster, place);
}

static uint64_t in_cluster(const bf_sim_feed *feed, uint64_t cluster, unsigned rank) {
  return bf_emu_stepper_in_cluster(((const emulated *)feed)->stepper, cluster, rank);
}

static void *begin(bf_sim_feed *feed, unsigned place, uint64_t index) {
  return bf_emu_stepper_begin(((emulated *)feed)->stepper, place, index);
}

static void end(bf_sim_feed *feed, unsigned place, void *block) {
  bf_emu_stepper_end(((emulated *)feed)->stepper, place, block);
}

static void *warp_of(void *block, unsigned index) { return bf_emu_block_warp(block, index); }

static uint64_t block_bytes(const void *block) { return bf_emu_block_bytes(block); }

static uint64_t barriers(const void *block) { return bf_emu_block_barriers(block); }

static bf_emu_turn peek(void *warp, bf_emu_next *next) { return bf_emu_warp_peek(warp, next); }

static bool step(void *warp) { return bf_emu_warp_step(warp); }

static bool put_off(bf_sim_feed *feed) {
  return bf_emu_stepper_put_off(((emulated *)feed)->stepper);
}

static bool has_put_off(const bf_sim_feed *feed, unsigned place) {
  return bf_emu_stepper_has_put_off(((const emulated *)feed)->stepper, place);
}

static void settle(bf_sim_feed *feed, uint64_t time, unsigned place) {
  bf_emu_stepper_settle(((emulated *)feed)->stepper, time, place);
}

static bf_emu_wait wait_of(const void *warp) { return bf_emu_warp_wait(warp); }

static const bf_sim_feed_calls calls = {.open = open_stepper,
                                        .close = close_stepper,
                                        .result = result_of,
                                        .stopped = stopped,
                                        .clock = set_clock,
                                        .join = join,
                                        .in_cluster = in_cluster,
                                        .begin = begin,
                                        .end = end,
                                        .warp = warp_of,
                                        .block_bytes = block_bytes,
                                        .barriers = barriers,
                                        .peek = peek,
                                        .step = step,
                                        .put_off = put_off,
                                        .has_put_off = has_put_off,
                                        .settle = settle,
                                        .wait = wait_of};

int bf_sim_run(const bf_sim_settings *settings, bf_emu *emu, const bf_emu_launch *launch,
               bf_sim_result *result, bf_diagnostic *diagnostic) {
  emulated own = {.feed = {.calls = &calls,
                           .kernel = bf_emu_kernel_name(launch->kernel),
                           .needs = *bf_emu_kernel_needs(launch->kernel),
                           .sites = bf_emu_kernel_sites(launch->kernel)},
                  .emu = emu};
  own.machine = settings->machine ? bf_machine_code_find(settings->machine, own.feed.kernel) : NULL;
  if (own.machine && own.machine->registers) {
    own.feed.needs.registers = own.machine->registers;
    own.feed.needs.has_registers = true;
  }
  return bf_sim_run_feed(settings, &own.feed, launch, result, diagnostic);
}

unsigned bf_sim_blocks_per_sm(const bf_sim_gpu *gpu, const bf_emu_launch *launch,
                              const char **limit) {
  return bf_sim_fit(gpu, bf_emu_kernel_needs(launch->kernel), launch, limit);
}
