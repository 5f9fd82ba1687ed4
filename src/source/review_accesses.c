/* The accesses to arrays. Each belongs to the array that holds all its addresses. */
#include "ptx/block.h"
#include "source/review.h"

#include "analyze/analyze.h"
#include "analyze/given.h"
#include "analyze/likely.h"

#include <string.h>

/* Whether a byte of shared memory belongs to an array; open arrays have no end. */
static bool holds(const bf_review_array *array, uint64_t address) {
  return address >= array->offset_bytes &&
         (array->variable->bytes == 0 || address - array->offset_bytes < array->variable->bytes);
}

static bool holds_all(const bf_review_array *array, const bf_access *access) {
  for (uint64_t left = access->mask; left; left &= left - 1)
    if (!holds(array, access->address[__builtin_ctzll(left)]))
      return false;
  return true;
}

/* Adds an access of a kernel, by its number, to the array that it goes to. */
static int add_access(bf_review *review, size_t kernel, bool is_merged, const bf_access *access,
                      bf_diagnostic *diagnostic) {
  size_t index = review->first[kernel], end = review->first[kernel + 1];
  bool has_arrays = index < end;
  while (index < end && !holds_all(&review->array[index], access))
    index++;
  if (index == end) {
    review->mixed += has_arrays && !is_merged ? access->count : 0;
    return BF_OK;
  }
  bf_review_array *array = &review->array[index];
  bf_access own = *access;
  for (uint64_t left = own.mask; left; left &= left - 1)
    own.address[__builtin_ctzll(left)] -= (uint32_t)array->offset_bytes;
  int error = bf_workload_add(is_merged ? array->shared.merged : array->shared.workload, &own);
  return error ? bf_fail(diagnostic, error, "too many different accesses") : BF_OK;
}

/* ---- Traces ---- */

/* Makes room for merged accesses. */
static int make_merged(bf_review *review, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < review->arrays; i++) {
    bf_shared_array *shared = &review->array[i].shared;
    if (!shared->merged && bf_workload_create(&shared->merged) != BF_OK)
      return bf_no_memory(diagnostic);
  }
  return BF_OK;
}

int bf_review_add_trace(bf_review *review, const char *path, bool is_merged,
                        bf_diagnostic *diagnostic) {
  bf_workload *trace;
  if (is_merged)
    BF_TRY(make_merged(review, diagnostic));
  BF_TRY(bf_workload_read(path, review->machine, &trace, diagnostic));
  int error = BF_OK;
  for (size_t i = 0; i < bf_workload_size(trace) && !error; i++) {
    const bf_access *access = bf_workload_get(trace, i);
    size_t kernel = bf_site_kernel(&review->names, access->site);
    if (kernel < review->names.kernels)
      error = add_access(review, kernel, is_merged, access, diagnostic);
  }
  bf_workload_free(trace);
  return error;
}

/* ---- Analysis without running ---- */

enum { LIKELY_STEPS = 100000 }; /* that are followed to compare shapes of blocks */

/* Whether an access can be: it is aligned, and lies in shared memory. What is not has addresses
 * that were assumed wrongly. */
static bool can_be(const bf_review *review, const bf_analysis *analysis, const bf_access *access) {
  bf_count count;
  bf_diagnostic unused;
  for (uint64_t left = access->mask; left; left &= left - 1)
    if (access->address[__builtin_ctzll(left)] + (uint64_t)access->width_bytes >
        analysis->shared_bytes)
      return false;
  return bf_memory_count(review->machine, NULL, access, &count, &unused) == BF_OK;
}

/* Adds the accesses of one instruction of a kernel. */
static int add_site(bf_review *review, size_t kernel, const bf_analysis *analysis,
                    const bf_analyze_site *site, bf_diagnostic *diagnostic) {
  bf_text name = {0};
  bf_site_write(analysis->kernel->name, site->source_file, site->source_line, site->line, &name);
  int error = name.failed ? bf_no_memory(diagnostic) : BF_OK;
  bool is_good = site->has_op && site->certainty != BF_CERTAIN_NOT;
  for (size_t i = 0; i < site->accesses && is_good && !error; i++) {
    bf_access access = bf_analyze_as_access(site, &site->access[i], name.data);
    is_good = can_be(review, analysis, &access);
    if (is_good)
      error = add_access(review, kernel, false, &access, diagnostic);
  }
  review->unknown += !site->is_exact || !is_good;
  review->is_partial[kernel] |= !is_good || !site->is_placed;
  bf_text_free(&name);
  return error;
}

/* Adds the accesses of a kernel in one of its shapes of blocks. */
static int analyze_launch(bf_review *review, size_t number, const bf_launched *launched,
                          unsigned which, bf_diagnostic *diagnostic) {
  const bf_ptx_function *kernel = review->names.kernel[number];
  bf_analyze_options options = {.accesses_only = true};
  bf_analyze_given given = {0};
  bf_analysis *analysis = NULL;
  memcpy(options.block, launched->block[which], sizeof options.block);
  memcpy(options.grid, launched->grid[which], sizeof options.grid);
  int error = bf_analyze_read_launch(kernel, launched->values[which], &given, diagnostic);
  if (launched->values[which] && *launched->values[which]) {
    options.parameter = given.bytes;
    options.is_known = given.is_known;
    options.parameter_bytes = given.size;
  }
  if (!error)
    error = bf_analyze_assuming(review->module, kernel, &options, &analysis, diagnostic);
  bf_analyze_given_free(&given);
  review->is_blind[number] |= !error && analysis->is_blind;
  for (uint32_t i = 0; !error && i < analysis->sites; i++)
    error = add_site(review, number, analysis, &analysis->site[i], diagnostic);
  bf_analysis_free(analysis);
  return error;
}

/* How badly blocks of a shape fit a kernel: instructions with accesses outside of their arrays, and
 * then bytes that are not written. UINT64_MAX: it cannot be looked at. */
static int count_misfit(const bf_ptx_module *module, const bf_ptx_function *kernel,
                        const uint32_t block[3], uint64_t *misfit, bf_diagnostic *diagnostic) {
  bf_analyze_options options = {.accesses_only = true, .most_steps = LIKELY_STEPS};
  bf_analysis *analysis = NULL;
  uint64_t open = 0;
  memcpy(options.block, block, sizeof options.block);
  int error = bf_analyze_assuming(module, kernel, &options, &analysis, diagnostic);
  if (!error)
    error = bf_analysis_open_bytes(analysis, &open);
  *misfit = error ? UINT64_MAX : open + ((uint64_t)bf_analysis_strays(analysis) << 32);
  bf_analysis_free(analysis);
  return error == BF_NO_MEMORY ? bf_no_memory(diagnostic) : BF_OK;
}

/* Of likely shapes the one that fits a kernel best, where it is better than *least. */
static int choose_of(const bf_ptx_module *module, const bf_ptx_function *kernel,
                     const bf_likely *likely, uint32_t block[3], uint64_t *least,
                     bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < likely->count && *least; i++) {
    uint64_t misfit;
    BF_TRY(count_misfit(module, kernel, likely->block[i], &misfit, diagnostic));
    if (misfit >= *least)
      continue;
    *least = misfit;
    memcpy(block, likely->block[i], sizeof likely->block[i]);
  }
  return BF_OK;
}

/* The shape in which accesses stay in their arrays and most of these is written: of the usual ones
 * or, where accesses leave arrays in all of them, of others. */
static int choose_likely(const bf_ptx_module *module, const bf_ptx_function *kernel,
                         uint32_t block[3], bf_diagnostic *diagnostic) {
  bf_likely likely;
  uint64_t least = UINT64_MAX;
  memcpy(block, (const uint32_t[3]){32, 1, 1}, 3 * sizeof *block);
  bool is_guess = bf_likely_find(kernel, &likely);
  BF_TRY(choose_of(module, kernel, &likely, block, &least, diagnostic));
  if (!is_guess || least <= UINT32_MAX)
    return BF_OK;
  bf_likely_find_others(kernel, &likely);
  if (bf_likely_is_tiled(kernel))
    bf_likely_add(&likely, (const uint32_t[3]){32, 2, 1});
  return choose_of(module, kernel, &likely, block, &least, diagnostic);
}

/* The shapes of the blocks of a kernel: what it requires, what is given, what launches in the
 * source have, or what is most likely. */
static int find_shapes(bf_review *review, const bf_source_launches *launches, size_t number,
                       const uint32_t block[3], bf_launched *own, bf_diagnostic *diagnostic) {
  const bf_ptx_function *kernel = review->names.kernel[number];
  const char *readable = review->array[review->first[number]].kernel_name;
  const char *file = review->source ? review->source->file : "";
  *own = (bf_launched){.count = 1, .block = {{block[0], block[1], block[2]}}};
  if (block[0] || bf_ptx_required_block(kernel, own->block[0]))
    return BF_OK;
  bool is_launched = bf_source_launches_find(launches, file, readable, own);
  review->is_guessed[number] = !is_launched || own->is_cut;
  if (is_launched)
    return BF_OK;
  *own = (bf_launched){.count = 1};
  return choose_likely(review->module, kernel, own->block[0], diagnostic);
}

/* Whether a launch of a kernel has addresses that hang on values of its parameters, of which the
 * launches in the source have several. */
static int hangs_on_values(const bf_review *review, size_t number, const bf_launched *launched,
                           bool *hangs, bf_diagnostic *diagnostic) {
  *hangs = false;
  for (unsigned k = 0; k < launched->count && !*hangs; k++) {
    bf_analyze_options options = {.accesses_only = true};
    bf_analysis *analysis = NULL;
    memcpy(options.block, launched->block[k], sizeof options.block);
    int error = bf_analyze_assuming(review->module, review->names.kernel[number], &options,
                                    &analysis, diagnostic);
    if (error == BF_NO_MEMORY)
      return error;
    *hangs = error != BF_OK;
    for (uint32_t i = 0; !error && i < analysis->sites; i++)
      *hangs |= !analysis->site[i].is_placed;
    bf_analysis_free(analysis);
  }
  return BF_OK;
}

/* Adds the accesses of a kernel in all its shapes of blocks. */
static int analyze_kernel(bf_review *review, size_t number, const bf_launched *launched,
                          bf_diagnostic *diagnostic) {
  review->taken[number] = *launched;
  for (unsigned k = 0; k < launched->count; k++) {
    int error = analyze_launch(review, number, launched, k, diagnostic);
    if (error == BF_UNSUPPORTED) /* this kernel has no accesses that are known, others may */
      review->is_partial[number] = true;
    else
      BF_TRY(error);
  }
  return BF_OK;
}

int bf_review_add_analysis(bf_review *review, const uint32_t block[3], bf_diagnostic *diagnostic) {
  const char *file = review->source ? review->source->file : NULL;
  bf_source_launches_free(review->launches); /* of an analysis before */
  BF_TRY(bf_source_launches_read(&file, file ? 1 : 0, &review->launches, diagnostic));
  for (size_t i = 0; i < review->names.kernels; i++) {
    size_t first = review->first[i];
    if (first == review->first[i + 1] || !review->array[first].is_asked)
      continue;
    bf_launched own;
    BF_TRY(find_shapes(review, review->launches, i, block, &own, diagnostic));
    if (own.is_varied && !review->is_guessed[i])
      BF_TRY(hangs_on_values(review, i, &own, &review->is_guessed[i], diagnostic));
    BF_TRY(analyze_kernel(review, i, &own, diagnostic));
  }
  return BF_OK;
}

int bf_review_add_analysis_like(bf_review *review, const bf_review *before,
                                bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < review->names.kernels; i++)
    for (size_t k = 0; k < before->names.kernels; k++)
      if (strcmp(review->names.kernel[i]->name, before->names.kernel[k]->name) == 0)
        BF_TRY(analyze_kernel(review, i, &before->taken[k], diagnostic));
  return BF_OK;
}
