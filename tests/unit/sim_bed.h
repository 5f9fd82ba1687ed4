/* What tests of the simulator share: a GPU with the default of every parameter but some, kernels
 * made from a few lines of PTX, and the events of a launch. */
#ifndef TEST_SIM_BED_H
#define TEST_SIM_BED_H

#include "emu.h"

#include "sim/sim.h"

#include <string.h>

enum { SIM_BED_EVENTS = 4096, SIM_BED_BYTES = 1 << 16 };

typedef struct sim_bed {
  bed at;
  bf_sim_gpu *gpu;
  bf_hash *hash;
  bf_sim_settings settings;
  bf_sim_watch watch;
  bf_sim_event event[SIM_BED_EVENTS];
  unsigned events;
  uint64_t memory; /* SIM_BED_BYTES of device memory: the parameter of made kernels */
} sim_bed;

/* A kernel "made" around lines of PTX, which end with ret. Shared memory is bytes 0 to 16383. */
static inline void sim_bed_kernel(bf_text *text, const char *lines) {
  bf_text_addf(text,
               ".version 8.0\n.target sm_90a\n.address_size 64\n"
               ".visible .entry made(.param .u64 memory)\n{\n"
               ".reg .b32 %%r<60>;\n.reg .b64 %%d<20>;\n.reg .f32 %%f<20>;\n.reg .f64 %%e<9>;\n"
               ".reg .pred %%p<9>;\n.shared .align 16 .b8 words[16384];\n"
               "ld.param.u64 %%d0, [memory];\n%s\n}\n",
               lines);
}

static inline void sim_bed_note(void *context, const bf_sim_event *event) {
  sim_bed *own = context;
  assert_true(own->events < SIM_BED_EVENTS);
  own->event[own->events++] = *event;
}

/* Changes parameters: assignments separated by spaces. */
static inline void sim_bed_set(sim_bed *own, const char *changes) {
  bf_diagnostic diagnostic = {0};
  char copy[500], *rest = NULL;
  snprintf(copy, sizeof copy, "%s", changes);
  for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
    if (bf_sim_gpu_set(own->gpu, word, &diagnostic))
      fail_msg("%s", diagnostic.message);
}

/* Opens PTX on a GPU; gpu is a name, or "machine NAME" for the defaults over a machine. */
static inline void sim_bed_open(sim_bed *own, const char *ptx, const char *gpu,
                                const char *changes) {
  bf_diagnostic diagnostic = {0};
  memset(own, 0, sizeof *own);
  bed_open_text(&own->at, "test.ptx", ptx, strlen(ptx), NULL);
  int error;
  if (strncmp(gpu, "machine ", 8) == 0) {
    char text[200];
    snprintf(text, sizeof text, "name test\ntitle Test\n%s\n", gpu);
    error = bf_sim_gpu_parse("test.gpu", text, &own->gpu, &diagnostic);
  } else
    error = bf_sim_gpu_load(gpu, &own->gpu, &diagnostic);
  if (error)
    fail_msg("%s", diagnostic.message);
  sim_bed_set(own, changes);
  own->memory = bed_alloc(&own->at, SIM_BED_BYTES, 0);
  own->settings = (bf_sim_settings){.gpu = own->gpu, .workers = 1};
  own->watch = (bf_sim_watch){.context = own, .last_cycle = UINT64_MAX, .event = sim_bed_note};
}

/* The same for lines of a kernel "made" on the defaults over hopper. */
static inline void sim_bed_make(sim_bed *own, const char *lines, const char *changes) {
  bf_text text = {0};
  sim_bed_kernel(&text, lines);
  sim_bed_open(own, text.data, "machine hopper", changes);
  bf_text_free(&text);
}

static inline void sim_bed_close(sim_bed *own) {
  bf_hash_free(own->hash);
  bf_sim_gpu_free(own->gpu);
  bed_close(&own->at);
}

/* Hashes the banks. */
static inline void sim_bed_hash(sim_bed *own, const char *text) {
  bf_diagnostic diagnostic = {0};
  bf_geometry geometry = bf_machine_geometry(own->gpu->machine);
  if (bf_hash_parse(text, &geometry, &own->hash, &diagnostic))
    fail_msg("%s", diagnostic.message);
  own->settings.hash = own->hash;
}

/* Simulates a launch; the fault, if any, is in the result. */
static inline bf_sim_result sim_bed_simulate(sim_bed *own, const bf_emu_launch *launch) {
  bf_diagnostic diagnostic = {0};
  bf_sim_result result;
  own->events = 0;
  if (bf_sim_run(&own->settings, own->at.emu, launch, &result, &diagnostic))
    fail_msg("%s", diagnostic.message);
  return result;
}

/* What a warp waits for after a deadlock; fails where that is not told. */
static inline const bf_sim_wait *sim_bed_wait(const bf_sim_result *result, uint64_t block,
                                              unsigned warp) {
  for (unsigned i = 0; i < result->waits; i++)
    if (result->wait[i].block == block && result->wait[i].warp == warp)
      return &result->wait[i];
  fail_msg("nothing is said of block %llu, warp %u", (unsigned long long)block, warp);
  return NULL;
}

/* Runs a kernel, whose parameter is the memory, with its events watched, and expects no fault. The
 * result's sites are freed. */
static inline bf_sim_result sim_bed_run(sim_bed *own, const char *name, unsigned grid,
                                        unsigned block) {
  bf_emu_launch launch = bed_launch(&own->at, name, grid, block, &own->memory, sizeof own->memory);
  own->settings.watch = &own->watch;
  bf_sim_result result = sim_bed_simulate(own, &launch);
  own->settings.watch = NULL;
  if (result.emu.fault.kind) {
    bf_text text = {0};
    bf_emu_fault_explain(&result.emu.fault, &text);
    fail_msg("%s", text.data);
  }
  bf_arena_free(&result.arena);
  result.site = NULL;
  return result;
}

#endif
