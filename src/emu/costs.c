/* Costs of launches by kernel and source line. */
#include "emu/costs.h"

#include <stdlib.h>
#include <string.h>

/* ---- Growing lists ---- */

/* Room for one more element of size bytes; the list is moved where it is full. */
static bool grow(void **list, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity)
    return true;
  size_t wanted = *capacity ? *capacity * 2 : 16;
  void *moved = realloc(*list, wanted * size);
  if (!moved)
    return false;
  *list = moved;
  *capacity = wanted;
  return true;
}

/* Whether two texts are equal; either may be NULL. */
static bool is_same(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

/* A copy of text in the arena, NULL for NULL; false where memory is exhausted. */
static bool copy_text(bf_costs *costs, const char *text, const char **copy) {
  *copy = text ? bf_arena_copy(&costs->arena, text) : NULL;
  return *copy || !text;
}

bf_costs_kernel *bf_costs_find(bf_costs *costs, const char *name, const char *hash,
                               const char *lock_hash) {
  for (size_t i = 0; i < costs->kernels; i++) {
    const bf_costs_kernel *kernel = &costs->kernel[i];
    if (is_same(kernel->name, name) && is_same(kernel->hash, hash) &&
        is_same(kernel->lock_hash, lock_hash))
      return &costs->kernel[i];
  }
  bf_costs_kernel made = {0};
  if (!copy_text(costs, name, &made.name) || !copy_text(costs, hash, &made.hash) ||
      !copy_text(costs, lock_hash, &made.lock_hash) ||
      !grow((void **)&costs->kernel, costs->kernels, &costs->kernel_capacity,
            sizeof *costs->kernel))
    return NULL;
  costs->kernel[costs->kernels] = made;
  return &costs->kernel[costs->kernels++];
}

/* The same for a line of a kernel. */
static bf_costs_line *find_line(bf_costs *costs, bf_costs_kernel *kernel,
                                const bf_costs_line *like) {
  for (size_t i = 0; i < kernel->lines; i++) {
    const bf_costs_line *line = &kernel->line[i];
    if (line->line == like->line && line->inlined_line == like->inlined_line &&
        is_same(line->file, like->file) && is_same(line->inlined_file, like->inlined_file) &&
        is_same(line->inlined_further, like->inlined_further))
      return &kernel->line[i];
  }
  bf_costs_line made = {.line = like->line, .inlined_line = like->inlined_line};
  if (!copy_text(costs, like->file, &made.file) ||
      !copy_text(costs, like->inlined_file, &made.inlined_file) ||
      !copy_text(costs, like->inlined_further, &made.inlined_further) ||
      !grow((void **)&kernel->line, kernel->lines, &kernel->line_capacity, sizeof *kernel->line))
    return NULL;
  kernel->line[kernel->lines] = made;
  return &kernel->line[kernel->lines++];
}

/* ---- Adding ---- */

void bf_costs_add_sums(bf_costs_kernel *kernel, const bf_costs_kernel *more) {
  kernel->launches += more->launches;
  kernel->unfinished += more->unfinished;
  kernel->refused += more->refused;
  kernel->faults += more->faults;
  kernel->warp_instructions += more->warp_instructions;
  kernel->thread_instructions += more->thread_instructions;
  kernel->seconds += more->seconds;
  kernel->cycles += more->cycles;
  kernel->simulated_seconds += more->simulated_seconds;
  kernel->joules += more->joules;
  kernel->conflict_joules += more->conflict_joules;
  kernel->work_cycles += more->work_cycles;
  kernel->blocks += more->blocks;
  kernel->counted_blocks += more->counted_blocks;
  kernel->conflicts_low += more->conflicts_low;
  kernel->conflicts_high += more->conflicts_high;
}

int bf_costs_add_line(bf_costs *costs, bf_costs_kernel *kernel, const bf_costs_line *more,
                      bf_diagnostic *diagnostic) {
  bf_costs_line *line = find_line(costs, kernel, more);
  if (!line)
    return bf_no_memory(diagnostic);
  line->accesses += more->accesses;
  line->wavefronts += more->wavefronts;
  line->ideal += more->ideal;
  line->conflicts += more->conflicts;
  line->conflicts_low += more->conflicts_low;
  line->conflicts_high += more->conflicts_high;
  line->waited_cycles += more->waited_cycles;
  line->retries_most += more->retries_most;
  line->uncounted += more->uncounted;
  line->estimated |= more->estimated;
  for (unsigned i = 0; i < BF_OPERANDS; i++)
    bf_operand_add(&line->operand[i], &more->operand[i]);
  kernel->accesses += more->accesses;
  kernel->wavefronts += more->wavefronts;
  kernel->ideal += more->ideal;
  kernel->conflicts += more->conflicts;
  if (more->worst > line->worst || (more->worst == line->worst && !line->has_access)) {
    line->worst = more->worst;
    line->has_access = more->has_access;
    line->access = more->access;
    line->access.site = NULL; /* a text of others */
  }
  return BF_OK;
}

/* Forgets the accesses of a kernel, of which there are too many. */
static void cut(bf_costs_kernel *kernel) {
  bf_workload_free(kernel->access);
  kernel->access = NULL;
  kernel->is_cut = true;
}

int bf_costs_add_access(bf_costs_kernel *kernel, const bf_access *access,
                        bf_diagnostic *diagnostic) {
  if (!access)
    cut(kernel);
  if (kernel->is_cut)
    return BF_OK;
  if (!kernel->access && bf_workload_create(&kernel->access) != BF_OK)
    return bf_no_memory(diagnostic);
  int error = bf_workload_add(kernel->access, access);
  if (error == BF_NO_MEMORY)
    return bf_no_memory(diagnostic);
  if (error || bf_workload_size(kernel->access) > BF_PROFILE_MOST)
    cut(kernel);
  return BF_OK;
}

int bf_costs_add_accesses(bf_costs_kernel *kernel, const bf_workload *more,
                          bf_diagnostic *diagnostic) {
  if (!more)
    cut(kernel);
  for (size_t i = 0; !kernel->is_cut && i < bf_workload_size(more); i++)
    BF_TRY(bf_costs_add_access(kernel, bf_workload_get(more, i), diagnostic));
  return BF_OK;
}

int bf_costs_add(bf_costs *costs, const bf_costs *more, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < more->kernels; i++) {
    const bf_costs_kernel *from = &more->kernel[i];
    bf_costs_kernel *to = bf_costs_find(costs, from->name, from->hash, from->lock_hash);
    if (!to)
      return bf_no_memory(diagnostic);
    bf_costs_add_sums(to, from);
    for (size_t j = 0; j < from->lines; j++)
      BF_TRY(bf_costs_add_line(costs, to, &from->line[j], diagnostic));
    if (from->access || from->is_cut)
      BF_TRY(bf_costs_add_accesses(to, from->access, diagnostic));
  }
  return BF_OK;
}

bf_costs_line bf_costs_line_of(const bf_emu_site *site) {
  bool has_source = site->source_file && site->source_line;
  return (bf_costs_line){.file = has_source ? site->source_file : NULL,
                         .line = has_source ? site->source_line : site->line,
                         .inlined_file = has_source ? site->inlined_file : NULL,
                         .inlined_line = has_source ? site->inlined_line : 0,
                         .inlined_further = has_source ? site->inlined_further : NULL};
}

bf_costs_line bf_costs_line_of_row(const bf_emu_site *site, const bf_profile_row *row,
                                   unsigned rivals) {
  bf_costs_line line = bf_costs_line_of(site);
  line.accesses = row->executions;
  line.wavefronts = row->wavefronts;
  line.ideal = row->ideal;
  line.conflicts = row->conflicts;
  line.worst = row->worst;
  line.uncounted = row->failed;
  line.estimated = row->estimated;
  line.retries_most = row->rivals && rivals > 1 ? row->wavefronts * (rivals - 1) : 0;
  line.has_access = row->worst > 0;
  line.access = row->worst_access;
  memcpy(line.operand, row->operand, sizeof line.operand);
  return line;
}

bool bf_costs_line_is_used(const bf_costs_line *line) {
  bool is_used = line->accesses || line->uncounted;
  for (unsigned i = 0; i < BF_OPERANDS; i++)
    is_used |= line->operand[i].times != 0;
  return is_used;
}

int bf_costs_add_launch(bf_costs *costs, const bf_emu_kernel *kernel, const bf_profile *profile,
                        const bf_emu_result *result, double seconds, bf_diagnostic *diagnostic) {
  bf_costs_kernel *to = bf_costs_find(costs, bf_emu_kernel_name(kernel), NULL, NULL);
  if (!to)
    return bf_no_memory(diagnostic);
  bf_costs_add_sums(to, &(bf_costs_kernel){.launches = 1,
                                           .warp_instructions = result->warp_instructions,
                                           .thread_instructions = result->thread_instructions,
                                           .seconds = seconds});
  unsigned rivals = bf_profile_rivals(profile);
  for (unsigned i = 0; i < bf_emu_kernel_sites(kernel); i++) {
    bf_profile_row row = bf_profile_get(profile, i);
    bf_emu_site site = bf_emu_kernel_site(kernel, i);
    bf_costs_line line = bf_costs_line_of_row(&site, &row, rivals);
    if (bf_costs_line_is_used(&line))
      BF_TRY(bf_costs_add_line(costs, to, &line, diagnostic));
  }
  return bf_costs_add_accesses(to, bf_profile_accesses(profile), diagnostic);
}

/* ---- Order ---- */

/* Most conflicts first, then by file and line. */
static int compare_lines(const void *a, const void *b) {
  const bf_costs_line *x = a, *y = b;
  if (x->conflicts != y->conflicts)
    return x->conflicts < y->conflicts ? 1 : -1;
  int files = strcmp(x->file ? x->file : "", y->file ? y->file : "");
  if (files || x->line != y->line)
    return files ? files : (x->line > y->line) - (x->line < y->line);
  files = strcmp(x->inlined_file ? x->inlined_file : "", y->inlined_file ? y->inlined_file : "");
  if (files || x->inlined_line != y->inlined_line)
    return files ? files : x->inlined_line > y->inlined_line ? 1 : -1;
  return strcmp(x->inlined_further ? x->inlined_further : "",
                y->inlined_further ? y->inlined_further : "");
}

/* Most conflicts first, then by name and hash. */
static int compare_kernels(const void *a, const void *b) {
  const bf_costs_kernel *x = a, *y = b;
  if (x->conflicts != y->conflicts)
    return x->conflicts < y->conflicts ? 1 : -1;
  int order = strcmp(x->name, y->name);
  if (order == 0)
    order = strcmp(x->hash ? x->hash : "", y->hash ? y->hash : "");
  return order ? order : strcmp(x->lock_hash ? x->lock_hash : "", y->lock_hash ? y->lock_hash : "");
}

void bf_costs_sort(bf_costs *costs) {
  for (size_t i = 0; i < costs->kernels; i++)
    if (costs->kernel[i].lines)
      qsort(costs->kernel[i].line, costs->kernel[i].lines, sizeof *costs->kernel[i].line,
            compare_lines);
  if (costs->kernels)
    qsort(costs->kernel, costs->kernels, sizeof *costs->kernel, compare_kernels);
}

void bf_costs_free(bf_costs *costs) {
  for (size_t i = 0; i < costs->kernels; i++) {
    free(costs->kernel[i].line);
    bf_workload_free(costs->kernel[i].access);
  }
  free(costs->kernel);
  bf_arena_free(&costs->arena);
  *costs = (bf_costs){0};
}
