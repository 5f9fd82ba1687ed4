/* Clones: a function that kernels with different hashes call can stand in the rewritten module
 * several times, under its name with "__bankfold_" and a number behind it. */
#include "ptx/index.h"
#include "verify/inner.h"

#include <string.h>

static const char mark[] = "__bankfold_";

bool bf_verify_is_clone_name(const char *name, const char *of) {
  size_t size = strlen(of);
  if (strncmp(name, of, size) || strncmp(name + size, mark, sizeof mark - 1))
    return false;
  const char *digits = name + size + sizeof mark - 1;
  return *digits && !digits[strspn(digits, "0123456789")];
}

size_t bf_verify_stem_bytes(const char *name) {
  const char *last = name;
  for (const char *at = strstr(name, mark); at; at = strstr(at + 1, mark))
    last = at;
  return (size_t)(last - name);
}

/* The function with a body of which the name is that of a clone, or NULL: digits stand behind the
 * last mark, so that there is one name at most. */
static const bf_ptx_function *cloned_function(const bf_ptx_module *original, const char *name) {
  size_t stem = bf_verify_stem_bytes(name);
  const bf_ptx_function *of =
      stem ? bf_table_find(&bf_ptx_index_of(original)->functions, name, stem) : NULL;
  return of && bf_verify_is_clone_name(name, of->name) ? of : NULL;
}

/* Whether the module has anything of that name. */
static bool has_name(const bf_ptx_module *module, const char *name) {
  return bf_table_find(&bf_ptx_index_of(module)->names, name, strlen(name));
}

bool bf_verify_is_clone(const bf_ptx_module *original, const bf_ptx_function *function,
                        const char **why) {
  *why = NULL;
  if (!strstr(function->name, mark) || has_name(original, function->name))
    return false;
  const bf_ptx_function *of = cloned_function(original, function->name);
  if (!of)
    return false;
  if (of->is_entry)
    *why = "a clone of a kernel";
  else if (!bf_verify_same_form(of, function))
    *why = "a clone with other parameters than its original";
  else if (of->linkage != BF_PTX_PRIVATE && of->linkage != BF_PTX_VISIBLE)
    *why = "a clone of a function that another module may replace";
  else if (function->linkage != BF_PTX_PRIVATE)
    *why = "a clone that other modules can see";
  return true;
}
