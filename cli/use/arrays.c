/* Arrays and their accesses. Accesses belong to the array that holds all their addresses. */
#include "cli/use/arrays.h"

#include "emu/emu.h"

#include <stdlib.h>
#include <string.h>

/* ---- Arrays ---- */

/* The readable name of a kernel, as the tracer writes it. */
static const char *readable(bf_arena *arena, const char *kernel) {
  bf_text name = {0};
  bf_ptx_readable_name(kernel, &name);
  const char *copy = name.failed || !name.data ? NULL : bf_arena_copy(arena, name.data);
  bf_text_free(&name);
  return copy;
}

/* Fills name, without namespaces, and function. */
static int set_names(cli_arrays *arrays, cli_array *array, bf_diagnostic *diagnostic) {
  const char *plain = readable(&arrays->arena, array->variable->name);
  bf_text function = {0};
  bf_ptx_enclosing_name(array->variable->name, &function);
  const char *last = plain ? strrchr(plain, ':') : NULL;
  int error = !plain || function.failed ? bf_no_memory(diagnostic) : BF_OK;
  if (!error) {
    snprintf(array->name, sizeof array->name, "%.250s", last ? last + 1 : plain);
    snprintf(array->function, sizeof array->function, "%.250s", function.size ? function.data : "");
  }
  bf_text_free(&function);
  return error;
}

/* Adds the arrays of a kernel. */
static int add_kernel(cli_arrays *arrays, const bf_ptx_function *kernel, const char *asked,
                      bool *is_found, bf_diagnostic *diagnostic) {
  bf_analyze_variable *variable;
  unsigned count;
  BF_TRY(bf_analyze_layout(arrays->module, kernel, &arrays->arena, &variable, &count, diagnostic));
  cli_array *grown = realloc(arrays->array, (arrays->count + count + 1) * sizeof *grown);
  const char *name = readable(&arrays->arena, kernel->name);
  if (grown)
    arrays->array = grown;
  if (!grown || !name)
    return bf_no_memory(diagnostic);
  bool is_asked = !asked || strcmp(kernel->name, asked) == 0 || strcmp(name, asked) == 0;
  *is_found |= is_asked;
  for (unsigned i = 0; i < count; i++) {
    cli_array *array = &arrays->array[arrays->count];
    *array = (cli_array){.kernel = kernel,
                         .kernel_name = name,
                         .is_asked = is_asked,
                         .variable = variable[i].variable,
                         .offset_bytes = variable[i].offset_bytes};
    BF_TRY(set_names(arrays, array, diagnostic));
    if (bf_workload_create(&array->workload) != BF_OK)
      return bf_no_memory(diagnostic);
    arrays->count++;
  }
  return BF_OK;
}

static bool is_kernel(const bf_ptx_item *item) {
  return item->kind == BF_PTX_ITEM_FUNCTION && item->function->is_entry && item->function->has_body;
}

int cli_arrays_make(const bf_ptx_module *module, const char *kernel, cli_arrays *arrays,
                    bf_diagnostic *diagnostic) {
  *arrays = (cli_arrays){.module = module};
  bool is_found = false;
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    if (is_kernel(item))
      BF_TRY(add_kernel(arrays, item->function, kernel, &is_found, diagnostic));
  if (is_found)
    return BF_OK;
  return kernel ? bf_fail_file(diagnostic, BF_BAD_INPUT, module->file, "no kernel '%s'", kernel)
                : bf_fail_file(diagnostic, BF_BAD_INPUT, module->file, "no kernel");
}

static void free_workloads(const cli_array *array) {
  bf_workload_free(array->workload);
  bf_workload_free(array->merged);
}

void cli_arrays_free(cli_arrays *arrays) {
  for (size_t i = 0; i < arrays->count; i++)
    free_workloads(&arrays->array[i]);
  free(arrays->array);
  bf_arena_free(&arrays->arena);
  *arrays = (cli_arrays){0};
}

/* ---- Accesses ---- */

/* Whether a byte of shared memory belongs to an array; open arrays have no end. */
static bool holds(const cli_array *array, uint64_t address) {
  return address >= array->offset_bytes &&
         (array->variable->bytes == 0 || address - array->offset_bytes < array->variable->bytes);
}

static bool holds_all(const cli_array *array, const bf_access *access) {
  for (uint64_t left = access->mask; left; left &= left - 1)
    if (!holds(array, access->address[__builtin_ctzll(left)]))
      return false;
  return true;
}

/* Adds an access of a kernel to the array that it goes to. */
static int add_access(cli_arrays *arrays, const bf_ptx_function *kernel, bool is_merged,
                      const bf_access *access, bf_diagnostic *diagnostic) {
  bool is_known = false;
  for (size_t i = 0; i < arrays->count; i++) {
    cli_array *array = &arrays->array[i];
    is_known |= array->kernel == kernel;
    if (array->kernel != kernel || !holds_all(array, access))
      continue;
    bf_access own = *access;
    for (uint64_t left = own.mask; left; left &= left - 1)
      own.address[__builtin_ctzll(left)] -= (uint32_t)array->offset_bytes;
    int error = bf_workload_add(is_merged ? array->merged : array->workload, &own);
    return error ? bf_fail(diagnostic, error, "too many different accesses") : BF_OK;
  }
  if (is_known && !is_merged)
    arrays->mixed += access->count;
  return BF_OK;
}

/* The length of name, where site starts with it and a colon; else 0. */
static size_t match_name(const char *name, const char *site) {
  size_t length = strlen(name);
  return strncmp(site, name, length) == 0 && site[length] == ':' ? length : 0;
}

/* The length of the kernel's name at the start of a site, as the tracer or as the PTX has it. */
static size_t match_site(const bf_ptx_function *kernel, const char *site) {
  bf_text name = {0};
  bf_tracer_kernel_name(kernel->name, &name);
  size_t length = name.failed || !name.data ? 0 : match_name(name.data, site);
  bf_text_free(&name);
  return length ? length : match_name(kernel->name, site);
}

const char *cli_array_site(const cli_array *array, const char *site) {
  size_t length = site ? match_site(array->kernel, site) : 0;
  return length ? site + length + 1 : site;
}

/* The kernel of an access, by the longest name; NULL: none. */
static const bf_ptx_function *owner(const bf_ptx_module *module, const bf_access *access) {
  const bf_ptx_function *best = NULL, *last = NULL;
  size_t longest = 0, kernels = 0;
  for (const bf_ptx_item *item = module->first; item; item = item->next) {
    if (item->kind != BF_PTX_ITEM_FUNCTION || !item->function->is_entry)
      continue;
    size_t length = access->site ? match_site(item->function, access->site) : 0;
    kernels++;
    last = item->function;
    if (length > longest) {
      longest = length;
      best = last;
    }
  }
  return kernels == 1 ? last : best;
}

/* Makes room for merged accesses. */
static int make_merged(cli_arrays *arrays, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < arrays->count; i++)
    if (!arrays->array[i].merged && bf_workload_create(&arrays->array[i].merged) != BF_OK)
      return bf_no_memory(diagnostic);
  return BF_OK;
}

int cli_arrays_add_trace(cli_arrays *arrays, const char *path, bool is_merged,
                         const bf_machine *machine, bf_diagnostic *diagnostic) {
  bf_workload *trace;
  if (is_merged)
    BF_TRY(make_merged(arrays, diagnostic));
  BF_TRY(bf_workload_read(path, machine, &trace, diagnostic));
  int error = BF_OK;
  const char *site = NULL; /* of the access before, whose kernel is known */
  const bf_ptx_function *kernel = NULL;
  for (size_t i = 0; i < bf_workload_size(trace) && !error; i++) {
    const bf_access *access = bf_workload_get(trace, i);
    if (i == 0 || access->site != site)
      kernel = owner(arrays->module, access);
    site = access->site;
    if (kernel)
      error = add_access(arrays, kernel, is_merged, access, diagnostic);
  }
  bf_workload_free(trace);
  return error;
}

/* ---- Accesses without running ---- */

/* The block that the kernel requires (.reqntid), where none was given. */
static int find_block(const bf_ptx_function *kernel, const uint32_t given[3], uint32_t block[3],
                      bf_diagnostic *diagnostic) {
  memcpy(block, given, 3 * sizeof *block);
  for (unsigned i = 0; !block[0] && i < kernel->directives.count; i++) {
    const bf_ptx_directive *directive = &kernel->directives.item[i];
    if (strcmp(directive->name, "reqntid") != 0)
      continue;
    for (unsigned k = 0; k < 3; k++)
      block[k] = k < directive->numbers ? (uint32_t)directive->number[k] : 1;
  }
  if (!block[0])
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "--launch, --run, --trace or --block is needed: kernel '%s' does not say how "
                   "many threads a block has",
                   kernel->name);
  return BF_OK;
}

/* Adds the accesses of one instruction. */
static int add_site(cli_arrays *arrays, const bf_ptx_function *kernel, const bf_analyze_site *site,
                    bf_diagnostic *diagnostic) {
  const char *file = site->source_file ? strrchr(site->source_file, '/') : NULL;
  bf_text name = {0};
  bf_tracer_kernel_name(kernel->name, &name);
  file = file ? file + 1 : site->source_file;
  bf_text_addf(&name, ":%s:%llu", file ? file : "ptx",
               (unsigned long long)(file ? site->source_line : site->line));
  int error = name.failed ? bf_no_memory(diagnostic) : BF_OK;
  for (size_t i = 0; i < site->accesses && site->has_op && !error; i++) {
    bf_access access = bf_analyze_as_access(site, &site->access[i], name.data);
    error = add_access(arrays, kernel, false, &access, diagnostic);
  }
  bf_text_free(&name);
  return error;
}

static int analyze_kernel(cli_arrays *arrays, const bf_ptx_function *kernel,
                          const uint32_t block[3], bf_diagnostic *diagnostic) {
  bf_analyze_options options = {0};
  bf_analysis *analysis;
  BF_TRY(find_block(kernel, block, options.block, diagnostic));
  BF_TRY(bf_analyze(arrays->module, kernel, &options, &analysis, diagnostic));
  int error = BF_OK;
  for (uint32_t i = 0; i < analysis->sites && !error; i++) {
    arrays->unknown += !analysis->site[i].is_exact;
    error = add_site(arrays, kernel, &analysis->site[i], diagnostic);
  }
  bf_analysis_free(analysis);
  return error;
}

int cli_arrays_add_static(cli_arrays *arrays, const uint32_t block[3], bf_diagnostic *diagnostic) {
  const bf_ptx_function *last = NULL;
  for (size_t i = 0; i < arrays->count; i++) {
    if (!arrays->array[i].is_asked || arrays->array[i].kernel == last)
      continue;
    last = arrays->array[i].kernel;
    BF_TRY(analyze_kernel(arrays, last, block, diagnostic));
  }
  return BF_OK;
}
