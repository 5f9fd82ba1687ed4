/* The accesses to arrays. Each belongs to the array that holds all its addresses. */
#include "ptx/block.h"
#include "source/review.h"

#include "analyze/analyze.h"

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

const char *bf_review_without_block(const bf_review *review) {
  uint32_t block[3];
  for (size_t i = 0; i < review->arrays; i++)
    if (review->array[i].is_asked && !bf_ptx_required_block(review->array[i].kernel, block))
      return review->array[i].kernel->name;
  return NULL;
}

/* Adds the accesses of one instruction of a kernel. */
static int add_site(bf_review *review, size_t kernel, const char *kernel_name,
                    const bf_analyze_site *site, bf_diagnostic *diagnostic) {
  bf_text name = {0};
  bf_site_write(kernel_name, site->source_file, site->source_line, site->line, &name);
  int error = name.failed ? bf_no_memory(diagnostic) : BF_OK;
  for (size_t i = 0; i < site->accesses && site->has_op && !error; i++) {
    bf_access access = bf_analyze_as_access(site, &site->access[i], name.data);
    error = add_access(review, kernel, false, &access, diagnostic);
  }
  bf_text_free(&name);
  return error;
}

/* Adds the accesses of a kernel, by its number. */
static int analyze_kernel(bf_review *review, size_t number, const uint32_t block[3],
                          bf_diagnostic *diagnostic) {
  const bf_ptx_function *kernel = review->names.kernel[number];
  bf_analyze_options options = {.block = {block[0], block[1], block[2]}};
  bf_analysis *analysis;
  if (!block[0] && !bf_ptx_required_block(kernel, options.block))
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "kernel '%s' does not say how many threads a block has", kernel->name);
  BF_TRY(bf_analyze(review->module, kernel, &options, &analysis, diagnostic));
  int error = BF_OK;
  for (uint32_t i = 0; i < analysis->sites && !error; i++) {
    review->unknown += !analysis->site[i].is_exact;
    error = add_site(review, number, kernel->name, &analysis->site[i], diagnostic);
  }
  bf_analysis_free(analysis);
  return error;
}

int bf_review_add_analysis(bf_review *review, const uint32_t block[3], bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < review->names.kernels; i++) {
    size_t first = review->first[i];
    if (first < review->first[i + 1] && review->array[first].is_asked)
      BF_TRY(analyze_kernel(review, i, block, diagnostic));
  }
  return BF_OK;
}
