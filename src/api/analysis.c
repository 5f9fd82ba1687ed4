/* Analysis of kernels that are not run: what room analyze finds, with costs, in texts and structs
 * of its own. */
#include "analyze/analyze.h"

#include "api/api.h"

#include <stdlib.h>
#include <string.h>

struct bf_kernel_analysis {
  bf_arena arena;
  bf_analysis *found;
  const char *kernel;
  bf_kernel_site *site;
  const char **note;
};

/* ---- What is known of the launch ---- */

/* The values of parameters as the bytes of the parameter block; both are in the arena. */
static int place_values(const bf_analyze_kernel_options *given, const bf_api_kernel *kernel,
                        bf_arena *arena, bf_analyze_options *to, bf_diagnostic *diagnostic) {
  uint64_t size = kernel->info.parameter_bytes + 8;
  uint8_t *values = bf_arena_alloc(arena, size), *is_known = bf_arena_alloc(arena, size);
  if (!values || !is_known)
    return bf_no_memory(diagnostic);
  if (given->arguments > kernel->info.parameters)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%zu arguments for kernel '%s' with %u parameters",
                   given->arguments, kernel->info.name, kernel->info.parameters);
  for (unsigned i = 0; i < given->arguments; i++) {
    const bf_argument *argument = &given->argument[i];
    uint64_t offset = 0, bytes = 0;
    bf_analyze_parameter(kernel->function, i, &offset, &bytes);
    if (argument->is_buffer || !argument->in)
      continue;
    if (argument->bytes != bytes)
      return bf_fail(diagnostic, BF_BAD_INPUT,
                     "%zu bytes for parameter %u of kernel '%s', which has %llu", argument->bytes,
                     i, kernel->info.name, (unsigned long long)bytes);
    memcpy(values + offset, argument->in, bytes);
    memset(is_known + offset, 1, bytes);
  }
  to->parameter = values;
  to->is_known = is_known;
  to->parameter_bytes = kernel->info.parameter_bytes;
  return BF_OK;
}

static bool is_given(const uint32_t size[3]) { return size[0] || size[1] || size[2]; }

/* A size whose parts may be left out. */
static void copy_size(uint32_t to[3], const uint32_t from[3]) {
  for (unsigned i = 0; i < 3; i++)
    to[i] = from[i] ? from[i] : 1;
}

static int make_options(const bf_analyze_kernel_options *given, const bf_api_kernel *kernel,
                        bf_arena *arena, bf_analyze_options *to, bf_diagnostic *diagnostic) {
  const uint32_t *block = is_given(given->block) ? given->block : kernel->info.block;
  *to = (bf_analyze_options){.has_block_index = given->has_block_index};
  if (!is_given(block))
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "kernel '%s' does not say how many threads a block has, and the options do not",
                   kernel->info.name);
  copy_size(to->block, block);
  if (is_given(given->grid))
    copy_size(to->grid, given->grid);
  memcpy(to->block_index, given->block_index, sizeof to->block_index);
  return place_values(given, kernel, arena, to, diagnostic);
}

/* ---- Sites ---- */

static int copy_unknowns(bf_arena *arena, const bf_analyze_site *from, bf_kernel_site *to,
                         bf_diagnostic *diagnostic) {
  bf_unknown *unknown = bf_arena_alloc(arena, from->unknowns * sizeof *unknown);
  if (!unknown)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < from->unknowns; i++) {
    unknown[i].what = bf_analyze_unknown_name(from->unknown[i].kind);
    BF_TRY(bf_api_copy(arena, from->unknown[i].because, &unknown[i].because, diagnostic));
  }
  to->unknowns = from->unknowns;
  to->unknown = unknown;
  return BF_OK;
}

/* The worst access of a site, and its pattern in words. */
static int explain(bf_arena *arena, const bf_analyze_site *from, const bf_analyze_access *worst,
                   bf_kernel_site *to, bf_diagnostic *diagnostic) {
  bf_access *access = bf_arena_alloc(arena, sizeof *access);
  bf_text text = {0};
  if (!access)
    return bf_no_memory(diagnostic);
  *access = bf_analyze_as_access(from, worst, NULL);
  bf_pattern pattern = bf_access_classify(access, BF_ANALYZE_LANES, 1);
  bf_pattern_explain(&pattern, access, &text);
  int error = text.failed ? bf_no_memory(diagnostic)
                          : bf_api_copy(arena, text.data, &to->explanation, diagnostic);
  bf_text_free(&text);
  to->worst = access;
  return error;
}

/* What the accesses of a site cost, or why that is not known. */
static int count_site(bf_arena *arena, const bf_machine *machine, const bf_analyze_site *from,
                      bf_kernel_site *to, bf_diagnostic *diagnostic) {
  bf_analyze_cost cost;
  bf_diagnostic fault;
  int error = bf_analyze_count(from, machine, NULL, &cost, &fault);
  if (error == BF_NO_MEMORY)
    return bf_no_memory(diagnostic);
  if (error)
    return bf_api_copy(arena, fault.message, &to->fault, diagnostic);
  to->accesses = cost.accesses;
  to->wavefronts = cost.wavefronts;
  to->most_wavefronts = cost.most_wavefronts;
  to->ideal = cost.ideal;
  to->conflicts = cost.conflicts;
  to->most_conflicts = cost.most_conflicts;
  to->estimated = cost.estimated;
  return cost.worst ? explain(arena, from, cost.worst, to, diagnostic) : BF_OK;
}

static int convert_site(bf_kernel_analysis *analysis, const bf_machine *machine,
                        const bf_ptx_function *function, const bf_analyze_site *from,
                        bf_kernel_site *to, bf_diagnostic *diagnostic) {
  bf_arena *arena = &analysis->arena;
  bf_ptx_opcode opcode = function->instruction[from->instruction]->opcode;
  *to = (bf_kernel_site){.line = from->line,
                         .source_line = from->source_line,
                         .instruction = bf_ptx_op_get(opcode)->name,
                         .has_op = from->has_op,
                         .op = from->op,
                         .width_bytes = from->width_bytes,
                         .is_reached = from->is_reached,
                         .is_exact = from->is_exact,
                         .is_affine = from->is_affine};
  memcpy(to->step_bytes, from->step_bytes, sizeof to->step_bytes);
  BF_TRY(bf_api_copy(arena, from->source_file, &to->source_file, diagnostic));
  BF_TRY(bf_api_copy(arena, from->formula, &to->formula, diagnostic));
  BF_TRY(copy_unknowns(arena, from, to, diagnostic));
  return count_site(arena, machine, from, to, diagnostic);
}

/* Fills everything but arena and found. */
static int convert(bf_kernel_analysis *analysis, const bf_machine *machine,
                   const bf_api_kernel *kernel, bf_diagnostic *diagnostic) {
  const bf_analysis *found = analysis->found;
  analysis->site = bf_arena_alloc(&analysis->arena, found->sites * sizeof *analysis->site);
  analysis->note = bf_arena_alloc(&analysis->arena, found->notes * sizeof *analysis->note);
  if (!analysis->site || !analysis->note)
    return bf_no_memory(diagnostic);
  BF_TRY(bf_api_copy(&analysis->arena, kernel->info.name, &analysis->kernel, diagnostic));
  for (unsigned i = 0; i < found->notes; i++)
    BF_TRY(bf_api_copy(&analysis->arena, found->note[i], &analysis->note[i], diagnostic));
  for (uint32_t i = 0; i < found->sites; i++)
    BF_TRY(convert_site(analysis, machine, kernel->function, &found->site[i], &analysis->site[i],
                        diagnostic));
  return BF_OK;
}

/* ---- The whole kernel ---- */

/* The analysis, without its costs where something fails. */
static int analyze(const bf_module *module, const bf_api_kernel *kernel, const bf_machine *machine,
                   const bf_analyze_kernel_options *given, bf_kernel_analysis *analysis,
                   bf_diagnostic *diagnostic) {
  bf_analyze_options options;
  BF_TRY(make_options(given, kernel, &analysis->arena, &options, diagnostic));
  BF_TRY(bf_analyze(module->ptx, kernel->function, &options, &analysis->found, diagnostic));
  return convert(analysis, machine, kernel, diagnostic);
}

int bf_analyze_kernel(const bf_module *module, const char *name, const bf_machine *given_machine,
                      const bf_analyze_kernel_options *given, bf_kernel_analysis **out,
                      bf_diagnostic *diagnostic) {
  bf_analyze_kernel_options options;
  const bf_api_kernel *kernel;
  const bf_machine *machine;
  bf_machine *own;
  *out = NULL;
  BF_TRY(bf_take_options(given, &options, sizeof options, "bf_analyze_kernel_options", diagnostic));
  BF_TRY(bf_api_kernel_find(module, name, &kernel, diagnostic));
  BF_TRY(bf_api_machine(given_machine, &machine, &own, diagnostic));
  bf_kernel_analysis *analysis = calloc(1, sizeof *analysis);
  int error = analysis ? analyze(module, kernel, machine, &options, analysis, diagnostic)
                       : bf_no_memory(diagnostic);
  bf_machine_free(own);
  if (error)
    bf_kernel_analysis_free(analysis);
  else
    *out = analysis;
  return error;
}

void bf_kernel_analysis_free(bf_kernel_analysis *analysis) {
  if (!analysis)
    return;
  bf_analysis_free(analysis->found);
  bf_arena_free(&analysis->arena);
  free(analysis);
}

const bf_kernel_site *bf_kernel_analysis_get(const bf_kernel_analysis *analysis, size_t index) {
  return index < analysis->found->sites ? &analysis->site[index] : NULL;
}

const char *bf_kernel_analysis_note(const bf_kernel_analysis *analysis, size_t index) {
  return index < analysis->found->notes ? analysis->note[index] : NULL;
}

/* ---- As a workload ---- */

/* Adds the accesses of site number index. */
static int add_site(const bf_kernel_analysis *analysis, uint32_t index, bf_workload *workload,
                    bf_diagnostic *diagnostic) {
  const bf_analyze_site *site = &analysis->found->site[index];
  char name[512];
  snprintf(name, sizeof name, "%.400s:%llu", analysis->kernel, (unsigned long long)site->line);
  for (size_t i = 0; i < site->accesses; i++) {
    bf_access access = bf_analyze_as_access(site, &site->access[i], name);
    int error = bf_workload_add(workload, &access);
    if (error == BF_NO_MEMORY)
      return bf_no_memory(diagnostic);
    if (error)
      return bf_fail(diagnostic, error, "the workload grows too large");
  }
  return BF_OK;
}

int bf_kernel_analysis_workload(const bf_kernel_analysis *analysis, bf_workload **out,
                                bf_diagnostic *diagnostic) {
  bf_workload *workload;
  *out = NULL;
  int error = bf_workload_create(&workload);
  if (error)
    return bf_no_memory(diagnostic);
  for (uint32_t i = 0; i < analysis->found->sites && !error; i++)
    if (analysis->site[i].has_op && !analysis->site[i].fault)
      error = add_site(analysis, i, workload, diagnostic);
  if (error)
    bf_workload_free(workload);
  else
    *out = workload;
  return error;
}
