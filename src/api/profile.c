/* Launches on the emulator: buffers of the caller are copied there and back, and what shared
 * accesses cost is summed by source line. */
#include "api/api.h"
#include "emu/emu.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 1024 };

struct bf_launch_profile {
  bf_arena arena;
  bf_profile_totals totals;
  bf_profile_line *line;
  size_t lines;
};

/* A launch that is being made. */
typedef struct running {
  const bf_launch *launch;
  const bf_machine *machine;
  bf_emu *emu;
  const bf_emu_kernel *kernel;
  bf_profile *profile;
  uint64_t *address; /* of the buffer of each argument */
  uint8_t *parameters;
  bf_emu_result result;
} running;

/* ---- Arguments ---- */

/* Device memory for argument number index: that of an earlier one with the same buffer, or new. */
static int make_buffer(running *r, size_t index, bf_diagnostic *diagnostic) {
  const bf_argument *argument = &r->launch->argument[index];
  for (size_t i = 0; i < index; i++) {
    const bf_argument *other = &r->launch->argument[i];
    if (other->is_buffer && other->in == argument->in && other->out == argument->out &&
        other->bytes == argument->bytes && (other->in || other->out)) {
      r->address[index] = r->address[i];
      return BF_OK;
    }
  }
  BF_TRY(bf_emu_alloc(r->emu, argument->bytes, 0, &r->address[index], diagnostic));
  void *memory = (void *)(uintptr_t)r->address[index];
  if (argument->in && argument->bytes)
    memcpy(memory, argument->in, argument->bytes);
  else
    memset(memory, 0, argument->bytes);
  return BF_OK;
}

/* Puts an argument into the parameter block. */
static int place_argument(running *r, unsigned index, bf_diagnostic *diagnostic) {
  const bf_argument *argument = &r->launch->argument[index];
  uint64_t offset = 0, bytes = 0;
  bf_emu_kernel_parameter(r->kernel, index, &offset, &bytes);
  size_t given = argument->is_buffer ? sizeof *r->address : argument->bytes;
  if (given != bytes)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "%zu bytes for parameter %u of kernel '%s', which has %llu", given, index,
                   bf_emu_kernel_name(r->kernel), (unsigned long long)bytes);
  if (!argument->is_buffer && !argument->in && bytes)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no value for parameter %u of kernel '%s'", index,
                   bf_emu_kernel_name(r->kernel));
  if (argument->is_buffer)
    BF_TRY(make_buffer(r, index, diagnostic));
  memcpy(r->parameters + offset, argument->is_buffer ? (void *)&r->address[index] : argument->in,
         bytes);
  return BF_OK;
}

static int place_arguments(running *r, unsigned parameters, bf_diagnostic *diagnostic) {
  const bf_launch *launch = r->launch;
  if (launch->arguments != parameters)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%zu arguments for kernel '%s' with %u parameters",
                   launch->arguments, bf_emu_kernel_name(r->kernel), parameters);
  r->address = calloc(launch->arguments + 1, sizeof *r->address);
  r->parameters = calloc(1, bf_emu_kernel_needs(r->kernel)->parameter_bytes + 16);
  if (!r->address || !r->parameters)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < launch->arguments; i++)
    BF_TRY(place_argument(r, i, diagnostic));
  return BF_OK;
}

static void copy_back(const running *r) {
  for (size_t i = 0; i < r->launch->arguments; i++) {
    const bf_argument *argument = &r->launch->argument[i];
    if (argument->is_buffer && argument->out && argument->bytes)
      memcpy(argument->out, (const void *)(uintptr_t)r->address[i], argument->bytes);
  }
}

/* ---- Running ---- */

/* The fault of a kernel as an error at its source line, or at its line of the PTX. */
static int report_fault(const bf_emu_fault *fault, const char *file, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  bf_error error = fault->kind == BF_EMU_INTERRUPTED ? BF_STOPPED : BF_FAULT;
  bool has_source = fault->source_file && fault->source_line;
  bf_emu_fault_explain(fault, &text);
  bf_fail_file(diagnostic, error, has_source ? fault->source_file : file, "%s",
               text.data ? text.data : bf_emu_fault_name(fault->kind));
  bf_text_free(&text);
  if (diagnostic)
    diagnostic->line = has_source ? fault->source_line : fault->line;
  return error;
}

/* Runs the kernel, whose arguments are in place. */
static int run_kernel(running *r, const char *file, bf_diagnostic *diagnostic) {
  const bf_launch *given = r->launch;
  bf_emu_launch launch = {.kernel = r->kernel,
                          .dynamic_shared_bytes = given->dynamic_shared_bytes,
                          .parameters = r->parameters,
                          .parameter_bytes = bf_emu_kernel_needs(r->kernel)->parameter_bytes,
                          .workers = given->threads,
                          .check_uninitialised = given->check_uninitialised,
                          .check_races = given->check_races,
                          .print = given->print,
                          .print_context = given->print_context,
                          .progress = given->progress,
                          .progress_context = given->progress_context};
  for (unsigned i = 0; i < 3; i++) {
    launch.grid[i] = given->grid[i] ? given->grid[i] : 1;
    launch.block[i] = given->block[i] ? given->block[i] : 1;
  }
  BF_TRY(bf_profile_create(r->machine, given->hash, r->kernel, given->threads, &r->profile,
                           diagnostic));
  bf_emu_observer observer = bf_profile_observer(r->profile);
  observer.as_merged = !given->as_written;
  launch.observer = &observer;
  BF_TRY(bf_emu_run(r->emu, &launch, &r->result, diagnostic));
  return r->result.fault.kind ? report_fault(&r->result.fault, file, diagnostic) : BF_OK;
}

/* ---- Costs by line ---- */

/* The line of a site, made where there is none yet; lines has room. */
static bf_profile_line *find_line(bf_launch_profile *profile, const char *file, uint64_t number) {
  for (size_t i = 0; i < profile->lines; i++) {
    bf_profile_line *line = &profile->line[i];
    if (line->line == number && (file ? line->file && !strcmp(line->file, file) : !line->file))
      return line;
  }
  bf_profile_line *line = &profile->line[profile->lines];
  const char *copy = file ? bf_arena_copy(&profile->arena, file) : NULL;
  if (file && !copy)
    return NULL;
  *line = (bf_profile_line){.file = copy, .line = number};
  profile->lines++;
  return line;
}

static void add_row(const bf_profile_row *row, bf_profile_line *line, bf_profile_totals *totals) {
  line->accesses += row->executions;
  line->wavefronts += row->wavefronts;
  line->ideal += row->ideal;
  line->conflicts += row->conflicts;
  line->estimated |= row->estimated;
  line->uncounted += row->failed;
  totals->accesses += row->executions;
  totals->wavefronts += row->wavefronts;
  totals->ideal += row->ideal;
  totals->conflicts += row->conflicts;
  if (row->worst > line->worst_wavefronts) {
    line->worst_wavefronts = row->worst;
    line->worst = row->worst_access;
  }
}

/* Sums what the emulator's profile has per site. */
static int sum_lines(const running *r, bf_launch_profile *profile, bf_diagnostic *diagnostic) {
  unsigned sites = bf_emu_kernel_sites(r->kernel);
  profile->totals.warp_instructions = r->result.warp_instructions;
  profile->totals.thread_instructions = r->result.thread_instructions;
  profile->line = bf_arena_alloc(&profile->arena, sites * sizeof *profile->line);
  if (!profile->line)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < sites; i++) {
    bf_profile_row row = bf_profile_get(r->profile, i);
    bf_emu_site site = bf_emu_kernel_site(r->kernel, i);
    bool has_source = site.source_file && site.source_line;
    if (row.executions == 0 && row.failed == 0)
      continue;
    bf_profile_line *line = find_line(profile, has_source ? site.source_file : NULL,
                                      has_source ? site.source_line : site.line);
    if (!line)
      return bf_no_memory(diagnostic);
    add_row(&row, line, &profile->totals);
  }
  return BF_OK;
}

/* Most conflicts first, then by file and line. */
static int compare_lines(const void *a, const void *b) {
  const bf_profile_line *x = a, *y = b;
  if (x->conflicts != y->conflicts)
    return x->conflicts < y->conflicts ? 1 : -1;
  int files = strcmp(x->file ? x->file : "", y->file ? y->file : "");
  return files ? files : (x->line > y->line) - (x->line < y->line);
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
  int error = sum_lines(r, profile, diagnostic);
  if (error) {
    bf_launch_profile_free(profile);
    return error;
  }
  if (profile->lines)
    qsort(profile->line, profile->lines, sizeof *profile->line, compare_lines);
  remark(r, profile);
  *out = profile;
  return BF_OK;
}

/* ---- Launching ---- */

/* Everything from the empty device to the profile; r is cleaned up by the caller. */
static int launch_kernel(running *r, const bf_module *module, const bf_api_kernel *kernel,
                         bf_launch_profile **profile, bf_diagnostic *diagnostic) {
  bf_emu_module *loaded; /* belongs to the device */
  BF_TRY(bf_memory_check_hash(r->machine, r->launch->hash, diagnostic));
  BF_TRY(bf_emu_create(&r->emu, diagnostic));
  BF_TRY(bf_emu_load(r->emu, module->ptx, &loaded, diagnostic));
  BF_TRY(bf_emu_kernel_get(loaded, kernel->info.name, &r->kernel, diagnostic));
  BF_TRY(place_arguments(r, kernel->info.parameters, diagnostic));
  BF_TRY(run_kernel(r, module->name, diagnostic));
  BF_TRY(make_profile(r, profile, diagnostic));
  copy_back(r);
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
  if (launch.threads > MOST_THREADS)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%u threads: at most %d are possible", launch.threads,
                   MOST_THREADS);
  BF_TRY(bf_api_kernel_find(module, name, &kernel, diagnostic));
  BF_TRY(bf_api_machine(machine, &r.machine, &own, diagnostic));
  int error = launch_kernel(&r, module, kernel, profile, diagnostic);
  bf_profile_free(r.profile);
  bf_emu_free(r.emu);
  free(r.address);
  free(r.parameters);
  bf_machine_free(own);
  return error;
}

void bf_launch_profile_free(bf_launch_profile *profile) {
  if (!profile)
    return;
  bf_arena_free(&profile->arena);
  free(profile);
}

const bf_profile_totals *bf_launch_profile_totals(const bf_launch_profile *profile) {
  return &profile->totals;
}

const bf_profile_line *bf_launch_profile_get(const bf_launch_profile *profile, size_t index) {
  return index < profile->lines ? &profile->line[index] : NULL;
}
