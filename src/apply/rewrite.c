/* Rewrites a module: decides which kernels get their hash, writes the code of their accesses, and
 * prints the module with it.
 *
 * A function that hashes its accesses serves only kernels with that hash; where others call it too,
 * all of them are refused. */
#include "apply/rewrite_inner.h"

#include <stdlib.h>
#include <string.h>

/* ---- Hashes ---- */

static int check_hash(const bf_hash *hash, const char *kernel, bf_diagnostic *diagnostic) {
  if (hash->geometry.bank_bits != BF_REWRITE_BANK_BITS ||
      hash->geometry.word_bytes != BF_REWRITE_WORD_BYTES)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "the hash of kernel %s is for %u banks of %u bytes; code is written for 32 "
                   "banks of 4",
                   kernel, 1U << hash->geometry.bank_bits, hash->geometry.word_bytes);
  if (!bf_hash_is_row_preserving(hash))
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "%s does not keep words in their rows; kernel %s can only be rewritten with a "
                   "row-preserving hash",
                   hash->text, kernel);
  return BF_OK;
}

/* Whether the hash moves any word. */
static bool moves(const bf_hash *hash) {
  bf_hash_term terms[2 * BF_GF2_MAX];
  unsigned count = bf_hash_terms(&hash->forward, terms);
  return count > 1;
}

static bool same_hash(const bf_hash *a, const bf_hash *b) {
  return a == b || (a && b && a->geometry.address_bits == b->geometry.address_bits &&
                    strcmp(a->text, b->text) == 0);
}

/* Asks for the hash of every kernel. options NULL: any that fits. */
static int choose_hashes(bf_rewrite_plan *plan, const bf_rewrite_options *options,
                         bf_rewrite_result *result, bf_diagnostic *diagnostic) {
  for (unsigned k = 0; k < plan->kernels; k++) {
    bf_rewrite_kernel_plan *kernel = &plan->kernel[k];
    const bf_ptx_function *function = plan->function[kernel->index].function;
    result->kernel[k].name = bf_arena_copy(plan->arena, function->name);
    if (!result->kernel[k].name)
      return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
    kernel->wanted = !options;
    if (!options)
      continue;
    kernel->hash = options->hash_of(options->context, function, NULL);
    if (!kernel->hash)
      continue;
    BF_TRY(check_hash(kernel->hash, function->name, diagnostic));
    kernel->wanted = moves(kernel->hash);
    result->kernel[k].hash = bf_arena_copy(plan->arena, kernel->hash->text);
    if (!result->kernel[k].hash)
      return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  }
  return BF_OK;
}

/* ---- Decisions ---- */

static bool is_rewritten(const bf_rewrite_kernel_plan *kernel) {
  return kernel->wanted && !kernel->refused;
}

/* A kernel that calls the function with another hash than this one, or -1. */
static int find_rival(const bf_rewrite_plan *plan, unsigned function,
                      const bf_rewrite_kernel_plan *kernel) {
  for (unsigned k = 0; k < plan->kernels; k++) {
    const bf_rewrite_kernel_plan *other = &plan->kernel[k];
    if (other->reaches[function] && other != kernel &&
        (!is_rewritten(other) || !same_hash(other->hash, kernel->hash)))
      return (int)k;
  }
  return -1;
}

/* Refuses kernels that share a function with one that is not hashed alike, until none is left. */
static bool refuse_rivals(bf_rewrite_plan *plan, bf_rewrite_result *result) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (unsigned k = 0; k < plan->kernels; k++)
      for (unsigned f = 0; f < plan->functions; f++) {
        bf_rewrite_kernel_plan *kernel = &plan->kernel[k];
        if (!is_rewritten(kernel) || !kernel->reaches[f] || plan->function[f].function->is_entry ||
            !bf_rewrite_has_accesses(&plan->function[f]))
          continue;
        int rival = find_rival(plan, f, kernel);
        if (rival < 0)
          continue;
        changed = true;
        if (!bf_rewrite_add_obstacle(plan, kernel, &result->kernel[k],
                                     plan->function[f].function->line,
                                     "function %s is also used by kernel %s, which is not hashed "
                                     "alike",
                                     plan->function[f].function->name, result->kernel[rival].name))
          return false;
      }
  }
  return true;
}

/* Whether a kernel that is rewritten wants the variable padded. */
static bool is_padded(const bf_rewrite_plan *plan, unsigned variable) {
  for (unsigned k = 0; k < plan->kernels; k++)
    if (is_rewritten(&plan->kernel[k]) && bf_rewrite_uses(plan, &plan->kernel[k], variable))
      return true;
  return false;
}

/* Bytes of shared memory that a kernel which stays as it is will declare. */
static uint64_t grown_bytes(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel) {
  uint64_t end_bytes = 0;
  for (unsigned i = 0; i < plan->variables; i++) {
    if (!bf_rewrite_uses(plan, kernel, i))
      continue;
    bf_ptx_variable padded = bf_rewrite_padded(plan->variable[i]);
    end_bytes = bf_rewrite_append(end_bytes, is_padded(plan, i) ? &padded : plan->variable[i]);
  }
  return end_bytes;
}

/* Refuses kernels whose padded variables would make another kernel too large. */
static bool refuse_growth(bf_rewrite_plan *plan, bf_rewrite_result *result, bool *changed) {
  for (unsigned u = 0; u < plan->kernels; u++) {
    if (is_rewritten(&plan->kernel[u]) ||
        result->kernel[u].shared_bytes > BF_REWRITE_MOST_STATIC_BYTES ||
        grown_bytes(plan, &plan->kernel[u]) <= BF_REWRITE_MOST_STATIC_BYTES)
      continue;
    for (unsigned i = 0; i < plan->variables; i++)
      for (unsigned k = 0; bf_rewrite_uses(plan, &plan->kernel[u], i) && k < plan->kernels; k++) {
        if (!is_rewritten(&plan->kernel[k]) || !bf_rewrite_uses(plan, &plan->kernel[k], i))
          continue;
        *changed = true;
        if (!bf_rewrite_add_obstacle(plan, &plan->kernel[k], &result->kernel[k],
                                     plan->variable[i]->line,
                                     "shared variable %s, padded, makes kernel %s too large",
                                     plan->variable[i]->name, result->kernel[u].name))
          return false;
      }
  }
  return true;
}

/* Says of every kernel what it does and what stands in its way. */
static bool examine(bf_rewrite_plan *plan, bf_rewrite_result *result) {
  for (unsigned k = 0; k < plan->kernels; k++)
    if (!bf_rewrite_find_obstacles(plan, &plan->kernel[k], &result->kernel[k]))
      return false;
  for (bool changed = true; changed;) {
    changed = false;
    if (!refuse_rivals(plan, result) || !refuse_growth(plan, result, &changed))
      return false;
  }
  return true;
}

/* ---- Code ---- */

/* Gives functions the hash of the kernels that reach them, and writes their code. */
static int write_code(bf_rewrite_plan *plan, bf_rewrite_result *result, bf_diagnostic *diagnostic) {
  for (unsigned k = 0; k < plan->kernels; k++) {
    const bf_rewrite_kernel_plan *kernel = &plan->kernel[k];
    if (!is_rewritten(kernel) || result->kernel[k].accesses == result->kernel[k].exempt)
      continue;
    for (unsigned f = 0; f < plan->functions; f++) {
      bf_rewrite_function *function = &plan->function[f];
      if (!kernel->reaches[f] || !bf_rewrite_has_accesses(function))
        continue;
      if (!function->hash) {
        function->hash = kernel->hash;
        BF_TRY(bf_rewrite_code_make(plan, function, diagnostic));
      }
      result->kernel[k].added_instructions += function->code->added_instructions;
    }
    result->kernel[k].hashed = result->kernel[k].accesses - result->kernel[k].exempt;
    result->kernel[k].is_rewritten = true;
    result->is_changed = true;
  }
  return BF_OK;
}

/* ---- Printing ---- */

typedef struct printing {
  const bf_rewrite_plan *plan;
  const bf_rewrite_result *result;
  const bf_rewrite_code *code; /* of the function at hand, or NULL */
  uint32_t instruction;        /* the next one */
} printing;

static const char *print_body(void *context, const bf_ptx_function *function) {
  printing *p = context;
  p->instruction = 0;
  p->code = NULL;
  for (unsigned f = 0; f < p->plan->functions; f++)
    if (p->plan->function[f].function == function)
      p->code = p->plan->function[f].code;
  return p->code ? p->code->declarations : NULL;
}

static const bf_ptx_instruction *
print_instruction(void *context, const bf_ptx_instruction *instruction, const char **before) {
  printing *p = context;
  uint32_t index = p->instruction++;
  if (!p->code)
    return instruction;
  *before = p->code->before[index];
  return p->code->instruction[index];
}

/* Variables of kernels that are rewritten become whole rows. */
static bf_ptx_variable print_variable(void *context, const bf_ptx_variable *variable) {
  const printing *p = context;
  for (unsigned i = 0; i < p->plan->variables; i++)
    for (unsigned k = 0; p->plan->variable[i] == variable && k < p->plan->kernels; k++)
      if (p->result->kernel[k].is_rewritten && bf_rewrite_uses(p->plan, &p->plan->kernel[k], i))
        return bf_rewrite_padded(variable);
  return *variable;
}

static int print(const bf_rewrite_plan *plan, bf_rewrite_result *result,
                 bf_diagnostic *diagnostic) {
  printing p = {.plan = plan, .result = result};
  bf_ptx_print_hooks hooks = {&p, print_body, print_instruction, print_variable};
  bf_ptx_print_hooked(plan->module, &hooks, &result->text);
  return result->text.failed ? bf_fail(diagnostic, BF_NO_MEMORY, "out of memory") : BF_OK;
}

/* ---- Whole modules ---- */

static int plan_module(const bf_ptx_module *module, const bf_rewrite_options *options,
                       bf_rewrite_plan *plan, bf_rewrite_result *result,
                       bf_diagnostic *diagnostic) {
  *result = (bf_rewrite_result){0};
  if (!bf_rewrite_plan_make(module, &result->arena, plan))
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  result->kernels = plan->kernels;
  result->kernel =
      bf_arena_alloc(&result->arena, ((size_t)plan->kernels + 1) * sizeof *result->kernel);
  if (!result->kernel)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  BF_TRY(choose_hashes(plan, options, result, diagnostic));
  if (!examine(plan, result))
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  return BF_OK;
}

int bf_rewrite(const bf_ptx_module *module, const bf_rewrite_options *options,
               bf_rewrite_result *result, bf_diagnostic *diagnostic) {
  bf_rewrite_plan plan;
  int error = plan_module(module, options, &plan, result, diagnostic);
  if (error == BF_OK)
    error = write_code(&plan, result, diagnostic);
  if (error == BF_OK)
    error = print(&plan, result, diagnostic);
  if (error != BF_OK)
    bf_rewrite_free(result);
  return error;
}

int bf_rewrite_examine(const bf_ptx_module *module, bf_rewrite_result *result,
                       bf_diagnostic *diagnostic) {
  bf_rewrite_plan plan;
  int error = plan_module(module, NULL, &plan, result, diagnostic);
  if (error != BF_OK)
    bf_rewrite_free(result);
  return error;
}

void bf_rewrite_free(bf_rewrite_result *result) {
  bf_text_free(&result->text);
  bf_arena_free(&result->arena);
  *result = (bf_rewrite_result){0};
}
