/* The shared arrays of the kernels of a module. */
#include "source/review.h"

#include "analyze/analyze.h"

#include <stdlib.h>
#include <string.h>

/* A copy of the readable name of what is called mangled; NULL: no memory. */
static const char *readable(bf_arena *arena, const char *mangled) {
  bf_text name = {0};
  bf_ptx_readable_name(mangled, &name);
  const char *copy = name.failed || !name.data ? NULL : bf_arena_copy(arena, name.data);
  bf_text_free(&name);
  return copy;
}

/* Fills name, without namespaces, and the function that declares it. */
static int set_names(bf_review *review, bf_review_array *array, bf_diagnostic *diagnostic) {
  const char *whole = readable(&review->arena, array->variable->name);
  const char *colon = whole ? strrchr(whole, ':') : NULL;
  bf_text function = {0};
  bf_ptx_enclosing_name(array->variable->name, &function);
  array->shared.name = colon ? colon + 1 : whole;
  if (function.size)
    array->function = bf_arena_copy(&review->arena, function.data);
  bool is_done = whole && !function.failed && (array->function || !function.size);
  bf_text_free(&function);
  return is_done ? BF_OK : bf_no_memory(diagnostic);
}

/* Adds the arrays of a kernel. */
static int add_kernel(bf_review *review, const bf_ptx_function *kernel, const char *asked,
                      bool *is_found, bf_diagnostic *diagnostic) {
  bf_analyze_variable *variable;
  unsigned count;
  BF_TRY(bf_analyze_layout(review->module, kernel, &review->arena, &variable, &count, diagnostic));
  bf_review_array *grown = realloc(review->array, (review->arrays + count + 1) * sizeof *grown);
  const char *name = readable(&review->arena, kernel->name);
  if (grown)
    review->array = grown;
  if (!grown || !name)
    return bf_no_memory(diagnostic);
  bool is_asked = !asked || strcmp(kernel->name, asked) == 0 || strcmp(name, asked) == 0;
  *is_found |= is_asked;
  for (unsigned i = 0; i < count; i++) {
    bf_review_array *array = &review->array[review->arrays];
    *array =
        (bf_review_array){.kernel = kernel,
                          .kernel_name = name,
                          .is_asked = is_asked,
                          .variable = variable[i].variable,
                          .offset_bytes = variable[i].offset_bytes,
                          .shared = {.bytes = variable[i].variable->bytes,
                                     .alignment_bytes = variable[i].variable->alignment_bytes}};
    BF_TRY(set_names(review, array, diagnostic));
    if (bf_workload_create(&array->shared.workload) != BF_OK)
      return bf_no_memory(diagnostic);
    review->arrays++;
  }
  return BF_OK;
}

int bf_review_find_arrays(bf_review *review, const bf_ptx_module *module, const bf_machine *machine,
                          const char *kernel, bf_diagnostic *diagnostic) {
  *review = (bf_review){.module = module, .machine = machine};
  bool is_found = false;
  BF_TRY(bf_site_names_make(module, &review->names, diagnostic));
  review->first =
      bf_arena_alloc(&review->arena, (review->names.kernels + 1) * sizeof *review->first);
  review->is_partial =
      bf_arena_alloc(&review->arena, (review->names.kernels + 1) * sizeof *review->is_partial);
  review->is_blind =
      bf_arena_alloc(&review->arena, (review->names.kernels + 1) * sizeof *review->is_blind);
  review->is_guessed =
      bf_arena_alloc(&review->arena, (review->names.kernels + 1) * sizeof *review->is_guessed);
  review->taken =
      bf_arena_alloc(&review->arena, (review->names.kernels + 1) * sizeof *review->taken);
  if (!review->first || !review->is_partial || !review->is_blind || !review->is_guessed ||
      !review->taken)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < review->names.kernels; i++) {
    BF_TRY(add_kernel(review, review->names.kernel[i], kernel, &is_found, diagnostic));
    review->first[i + 1] = review->arrays;
  }
  if (is_found)
    return BF_OK;
  return kernel ? bf_ptx_no_kernel(module, module->file, kernel, diagnostic)
                : bf_fail_file(diagnostic, BF_BAD_INPUT, module->file, "no kernel");
}

void bf_review_free(bf_review *review) {
  for (size_t i = 0; i < review->arrays; i++) {
    bf_workload_free(review->array[i].shared.workload);
    bf_workload_free(review->array[i].shared.merged);
  }
  free(review->array);
  bf_patch_free(&review->patch);
  bf_source_free(review->source);
  bf_text_free(&review->text);
  bf_source_launches_free(review->launches);
  bf_site_names_free(&review->names);
  bf_arena_free(&review->arena);
  *review = (bf_review){0};
}
