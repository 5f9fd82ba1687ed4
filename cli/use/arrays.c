/* Arrays and their accesses. Accesses belong to the array that holds all their addresses. */
#include "cli/use/arrays.h"

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

/* Fills name and function from _ZZ<function>E<name>, or from the readable name. */
static int set_names(cli_arrays *arrays, cli_array *array, bf_diagnostic *diagnostic) {
  const char *mangled = array->variable->name;
  int length = 0;
  const char *name = bf_analyze_source_name(mangled, &length);
  if (!name) {
    const char *plain = readable(&arrays->arena, mangled), *last;
    if (!plain)
      return bf_no_memory(diagnostic);
    last = strrchr(plain, ':');
    snprintf(array->name, sizeof array->name, "%.250s", last ? last + 1 : plain);
    return BF_OK;
  }
  snprintf(array->name, sizeof array->name, "%.*s", length < 250 ? length : 250, name);
  const char *end = name;
  while (end > mangled && end[-1] != 'E')
    end--;
  bf_text function = {0};
  bf_text_addf(&function, "_Z%.*s", (int)(end - mangled - 4), mangled + 3);
  const char *plain = function.failed ? NULL : readable(&arrays->arena, function.data);
  bf_text_free(&function);
  if (!plain)
    return bf_no_memory(diagnostic);
  snprintf(array->function, sizeof array->function, "%.250s", plain);
  return BF_OK;
}

/* Adds the arrays of a kernel. */
static int add_kernel(cli_arrays *arrays, const bf_ptx_function *kernel, size_t number,
                      const char *asked, bool *is_found, bf_diagnostic *diagnostic) {
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
                         .number = number,
                         .names = &arrays->names,
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
  size_t number = 0;
  BF_TRY(bf_site_names_make(module, &arrays->names, diagnostic));
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    if (is_kernel(item))
      BF_TRY(add_kernel(arrays, item->function, number++, kernel, &is_found, diagnostic));
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
  bf_site_names_free(&arrays->names);
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
static int add_access(cli_arrays *arrays, size_t kernel, bool is_merged, const bf_access *access,
                      bf_diagnostic *diagnostic) {
  bool is_known = false;
  for (size_t i = 0; i < arrays->count; i++) {
    cli_array *array = &arrays->array[i];
    is_known |= array->number == kernel;
    if (array->number != kernel || !holds_all(array, access))
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

const char *cli_array_site(const cli_array *array, const char *site) {
  return bf_site_place(array->names, site);
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
  for (size_t i = 0; i < bf_workload_size(trace) && !error; i++) {
    const bf_access *access = bf_workload_get(trace, i);
    error = add_access(arrays, bf_site_kernel(&arrays->names, access->site), is_merged, access,
                       diagnostic);
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
static int add_site(cli_arrays *arrays, const cli_array *of, const bf_analyze_site *site,
                    bf_diagnostic *diagnostic) {
  bf_text name = {0};
  bf_site_write(of->kernel->name, site->source_file, site->source_line, site->line, &name);
  int error = name.failed ? bf_no_memory(diagnostic) : BF_OK;
  for (size_t i = 0; i < site->accesses && site->has_op && !error; i++) {
    bf_access access = bf_analyze_as_access(site, &site->access[i], name.data);
    error = add_access(arrays, of->number, false, &access, diagnostic);
  }
  bf_text_free(&name);
  return error;
}

/* Adds the accesses of the kernel that an array belongs to. */
static int analyze_kernel(cli_arrays *arrays, const cli_array *of, const uint32_t block[3],
                          bf_diagnostic *diagnostic) {
  bf_analyze_options options = {0};
  bf_analysis *analysis;
  BF_TRY(find_block(of->kernel, block, options.block, diagnostic));
  BF_TRY(bf_analyze(arrays->module, of->kernel, &options, &analysis, diagnostic));
  int error = BF_OK;
  for (uint32_t i = 0; i < analysis->sites && !error; i++) {
    arrays->unknown += !analysis->site[i].is_exact;
    error = add_site(arrays, of, &analysis->site[i], diagnostic);
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
    BF_TRY(analyze_kernel(arrays, &arrays->array[i], block, diagnostic));
  }
  return BF_OK;
}
