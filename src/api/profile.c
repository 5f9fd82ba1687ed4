/* Profiles of launches: what shared accesses cost, by source line. */
#include "api/launch.h"
#include "emu/costs.h"

#include <stdlib.h>

struct bf_launch_profile {
  bf_costs costs; /* of one kernel; lines have their names here */
  bf_profile_totals totals;
  bf_profile_line *line;
  size_t lines;
};

/* A launch that is being made. */
typedef struct running {
  const bf_launch *launch;
  const bf_machine *machine;
  bf_api_device device;
  const bf_emu_kernel *kernel;
  bf_profile *profile;
  bf_emu_result result;
} running;

/* ---- Costs by line ---- */

/* What a line has cost, as the public header has it. */
static bf_profile_line convert(const bf_costs_line *from) {
  return (bf_profile_line){.file = from->file,
                           .line = from->line,
                           .accesses = from->accesses,
                           .wavefronts = from->wavefronts,
                           .ideal = from->ideal,
                           .conflicts = from->conflicts,
                           .worst_wavefronts = from->worst,
                           .worst = from->access,
                           .estimated = from->estimated,
                           .uncounted = from->uncounted};
}

/* Sums what the emulator's profile has per site. */
static int sum_lines(const running *r, bf_costs *costs, bf_diagnostic *diagnostic) {
  bf_costs_kernel *to = bf_costs_find(costs, bf_emu_kernel_name(r->kernel), NULL, NULL);
  if (!to)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < bf_emu_kernel_sites(r->kernel); i++) {
    bf_profile_row row = bf_profile_get(r->profile, i);
    bf_emu_site site = bf_emu_kernel_site(r->kernel, i);
    bf_costs_line line = bf_costs_line_of_row(&site, &row, 0);
    if (bf_costs_line_is_used(&line))
      BF_TRY(bf_costs_add_line(costs, to, &line, diagnostic));
  }
  bf_costs_sort(costs);
  return BF_OK;
}

/* Fills a profile from what was watched. */
static int fill(const running *r, bf_launch_profile *profile, bf_diagnostic *diagnostic) {
  BF_TRY(sum_lines(r, &profile->costs, diagnostic));
  const bf_costs_kernel *kernel = &profile->costs.kernel[0];
  profile->totals = (bf_profile_totals){.accesses = kernel->accesses,
                                        .wavefronts = kernel->wavefronts,
                                        .ideal = kernel->ideal,
                                        .conflicts = kernel->conflicts,
                                        .warp_instructions = r->result.warp_instructions,
                                        .thread_instructions = r->result.thread_instructions};
  profile->line = bf_arena_alloc(&profile->costs.arena, kernel->lines * sizeof *profile->line);
  if (!profile->line)
    return bf_no_memory(diagnostic);
  profile->lines = kernel->lines;
  for (size_t i = 0; i < kernel->lines; i++)
    profile->line[i] = convert(&kernel->line[i]);
  return BF_OK;
}

/* What the numbers do not show by themselves. */
static void remark(const running *r, const bf_launch_profile *profile) {
  for (size_t i = 0; i < profile->lines; i++) {
    const bf_profile_line *line = &profile->line[i];
    if (line->uncounted)
      bf_say(&r->launch->logger, BF_LOG_WARNING,
             "%s:%llu: %llu accesses are not counted: machine '%s' cannot make them",
             line->file ? line->file : "PTX", (unsigned long long)line->line,
             (unsigned long long)line->uncounted, bf_machine_name(r->machine));
  }
}

static int make_profile(const running *r, bf_launch_profile **out, bf_diagnostic *diagnostic) {
  bf_launch_profile *profile = calloc(1, sizeof *profile);
  if (!profile)
    return bf_no_memory(diagnostic);
  int error = fill(r, profile, diagnostic);
  if (error) {
    bf_launch_profile_free(profile);
    return error;
  }
  remark(r, profile);
  *out = profile;
  return BF_OK;
}

/* ---- Launching ---- */

/* Runs the kernel on a device that has its module. */
static int run_kernel(running *r, const bf_api_kernel *kernel, const char *file,
                      bf_diagnostic *diagnostic) {
  bf_emu_launch launch;
  BF_TRY(bf_api_device_prepare(&r->device, kernel, r->launch, &launch, diagnostic));
  r->kernel = launch.kernel;
  BF_TRY(bf_profile_create(r->machine, r->launch->hash, r->kernel, r->launch->threads, &r->profile,
                           diagnostic));
  bf_emu_observer observer = bf_profile_observer(r->profile);
  observer.as_merged = !r->launch->as_written;
  launch.observer = &observer;
  BF_TRY(bf_emu_run(r->device.emu, &launch, &r->result, diagnostic));
  return r->result.fault.kind ? bf_api_fault(&r->result.fault, file, diagnostic) : BF_OK;
}

/* Everything from the empty device to the profile; r is cleaned up by the caller. */
static int launch_kernel(running *r, const bf_module *module, const bf_api_kernel *kernel,
                         bf_launch_profile **profile, bf_diagnostic *diagnostic) {
  BF_TRY(bf_memory_check_hash(r->machine, r->launch->hash, diagnostic));
  BF_TRY(bf_api_device_open(module->ptx, &r->device, diagnostic));
  BF_TRY(run_kernel(r, kernel, module->name, diagnostic));
  BF_TRY(make_profile(r, profile, diagnostic));
  bf_api_device_copy_back(&r->device);
  return BF_OK;
}

int bf_profile_launch(const bf_module *module, const char *name, const bf_machine *machine,
                      const bf_launch *given, bf_launch_profile **profile,
                      bf_diagnostic *diagnostic) {
  bf_launch launch;
  const bf_api_kernel *kernel;
  bf_machine *own;
  running r = {.launch = &launch};
  *profile = NULL;
  BF_TRY(bf_take_options(given, &launch, sizeof launch, "bf_launch", diagnostic));
  BF_TRY(bf_api_check_threads(launch.threads, diagnostic));
  BF_TRY(bf_api_kernel_find(module, name, &kernel, diagnostic));
  BF_TRY(bf_api_machine(machine, &r.machine, &own, diagnostic));
  int error = launch_kernel(&r, module, kernel, profile, diagnostic);
  bf_profile_free(r.profile);
  bf_api_device_close(&r.device);
  bf_machine_free(own);
  return error;
}

void bf_launch_profile_free(bf_launch_profile *profile) {
  if (!profile)
    return;
  bf_costs_free(&profile->costs);
  free(profile);
}

const bf_profile_totals *bf_launch_profile_totals(const bf_launch_profile *profile) {
  return &profile->totals;
}

const bf_profile_line *bf_launch_profile_get(const bf_launch_profile *profile, size_t index) {
  return index < profile->lines ? &profile->line[index] : NULL;
}
