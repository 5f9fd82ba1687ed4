/* Rewrites a module: decides which kernels get their hash, writes the code of their accesses,
 * prints the module with it, and has that verified. */
#include "rewrite/inner.h"

#include "ptx/rewritten.h"
#include "verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Hashes ---- */

bool bf_rewrite_takes(const bf_hash *hash) {
  return hash->kind == BF_HASH_PAD || bf_hash_is_row_preserving(hash);
}

static int check_hash(const bf_hash *hash, const char *kernel, bf_diagnostic *diagnostic) {
  if (hash->geometry.bank_bits != BF_REWRITE_BANK_BITS ||
      hash->geometry.word_bytes != BF_REWRITE_WORD_BYTES)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "the hash of kernel %s is for %u banks of %u bytes; code is written for 32 "
                   "banks of 4",
                   kernel, 1U << hash->geometry.bank_bits, hash->geometry.word_bytes);
  if (!bf_rewrite_takes(hash))
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "%s does not keep words in their rows; kernel %s can only be rewritten with a "
                   "row-preserving hash or with padding",
                   hash->text, kernel);
  return BF_OK;
}

/* Whether the hash moves any word. */
static bool moves(const bf_hash *hash) {
  if (hash->kind == BF_HASH_PAD)
    return hash->pad_words > 0;
  bf_hash_term terms[2 * BF_GF2_MAX];
  unsigned count = bf_hash_terms(&hash->forward, terms);
  return count > 1;
}

/* The hash that is asked for an array, or with array NULL for the kernel; NULL where it moves
 * nothing. *was_asked is set where there is one, moving or not. */
static int ask_hash(const bf_rewrite_options *options, const bf_ptx_function *function,
                    const bf_ptx_variable *array, const bf_hash **hash, bool *was_asked,
                    bf_diagnostic *diagnostic) {
  *hash = options->hash_of(options->context, function, array);
  if (!*hash)
    return BF_OK;
  *was_asked = true;
  BF_TRY(check_hash(*hash, function->name, diagnostic));
  if (!moves(*hash))
    *hash = NULL;
  return BF_OK;
}

/* Where the hash of an array is a padding, its rows become longer; one row stays as it is. */
static void take_padding(const bf_rewrite_plan *plan, bf_rewrite_use *use) {
  if (!use->hash || use->hash->kind != BF_HASH_PAD)
    return;
  uint64_t bytes = plan->variable[use->variable]->bytes;
  if (!bytes || bytes > use->hash->row_words * BF_REWRITE_WORD_BYTES)
    use->padding = use->hash;
  use->hash = NULL;
  use->pads = false;
}

/* Asks for the hash of a kernel and of its arrays. */
static int ask_kernel(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel,
                      const bf_rewrite_options *options, bool *was_asked,
                      bf_diagnostic *diagnostic) {
  const bf_ptx_function *function = plan->function[kernel->index].function;
  BF_TRY(ask_hash(options, function, NULL, &kernel->hash, was_asked, diagnostic));
  kernel->wanted = kernel->hash != NULL;
  for (unsigned i = 0; i < kernel->uses; i++) {
    bf_rewrite_use *use = &kernel->use[i];
    BF_TRY(ask_hash(options, function, plan->variable[use->variable], &use->hash, &use->pads,
                    diagnostic));
    *was_asked |= use->pads;
    take_padding(plan, use);
    kernel->differs |= use->padding || !bf_rewrite_same_hash(kernel->hash, use->hash);
    kernel->wanted |= use->hash || use->padding;
  }
  kernel->wanted &= kernel->uses > 0 || !kernel->hash || kernel->hash->kind != BF_HASH_PAD;
  if (kernel->differs || (kernel->hash && kernel->hash->kind == BF_HASH_PAD))
    kernel->hash = NULL;
  return BF_OK;
}

/* The hashes of a kernel in words; NULL when memory is exhausted. */
static const char *describe(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel) {
  if (!kernel->differs)
    return bf_arena_copy(plan->arena, kernel->hash ? kernel->hash->text : "none");
  bf_text text = {0};
  for (unsigned i = 0; i < kernel->uses; i++)
    bf_hash_add_array(plan->variable[kernel->use[i].variable]->name,
                      kernel->use[i].padding ? kernel->use[i].padding : kernel->use[i].hash, &text);
  const char *copy = text.failed || !text.data ? NULL : bf_arena_copy(plan->arena, text.data);
  bf_text_free(&text);
  return copy;
}

/* Asks for the hashes of every kernel. options NULL: any that fits. */
static int choose_hashes(bf_rewrite_plan *plan, const bf_rewrite_options *options,
                         bf_rewrite_result *result, bf_diagnostic *diagnostic) {
  plan->is_examination = !options;
  plan->padding_has_room = options && options->padding_has_room;
  plan->blocks_are_checked = options && options->blocks_are_checked;
  plan->resizes_dynamic = options && options->resizes_dynamic;
  plan->joins_logic = options && options->joins_logic;
  plan->is_beside = options && options->is_beside;
  plan->places_rows = options && !options->keeps_accesses;
  for (unsigned k = 0; k < plan->kernels; k++) {
    bf_rewrite_kernel_plan *kernel = &plan->kernel[k];
    bool was_asked = false;
    result->kernel[k].name =
        bf_arena_copy(plan->arena, plan->function[kernel->index].function->name);
    if (!result->kernel[k].name)
      return bf_no_memory(diagnostic);
    kernel->wanted = !options;
    if (options)
      BF_TRY(ask_kernel(plan, kernel, options, &was_asked, diagnostic));
    if (was_asked && !(result->kernel[k].hash = describe(plan, kernel)))
      return bf_no_memory(diagnostic);
  }
  return BF_OK;
}

/* ---- Decisions ---- */

static bool is_rewritten(const bf_rewrite_kernel_plan *kernel) {
  return kernel->wanted && !kernel->refused;
}

/* Whether a kernel wants a variable otherwise than it is. */
static bool changes(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                    unsigned variable) {
  const bf_rewrite_use *use = bf_rewrite_use_of(kernel, variable);
  return bf_rewrite_pads(plan, kernel, variable) || (use && use->padding);
}

/* The variable as kernels that are rewritten want it. */
static bf_ptx_variable declared(const bf_rewrite_plan *plan, unsigned variable) {
  for (unsigned n = 0; n < plan->users[variable].count; n++) {
    const bf_rewrite_kernel_plan *kernel = &plan->kernel[plan->users[variable].item[n]];
    if (is_rewritten(kernel) && changes(plan, kernel, variable))
      return bf_rewrite_declared(plan, kernel, variable);
  }
  return *plan->variable[variable];
}

/* Bytes of shared memory that a kernel will declare when others pad variables of it. */
static uint64_t grown_bytes(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel) {
  uint64_t end_bytes = 0;
  for (unsigned i = 0; i < kernel->uses; i++) {
    bf_ptx_variable variable = declared(plan, kernel->use[i].variable);
    end_bytes = bf_rewrite_append(end_bytes, &variable);
  }
  return end_bytes;
}

/* Refuses kernels that pad a variable by which kernel `large` becomes too large. */
static bool refuse_padding(bf_rewrite_plan *plan, bf_rewrite_result *result, unsigned large,
                           unsigned variable, bool *changed) {
  for (unsigned n = 0; n < plan->users[variable].count; n++) {
    unsigned k = plan->users[variable].item[n];
    if (!is_rewritten(&plan->kernel[k]) || !changes(plan, &plan->kernel[k], variable))
      continue;
    *changed = true;
    if (!bf_rewrite_add_obstacle(plan, &plan->kernel[k], &result->kernel[k],
                                 plan->variable[variable]->line,
                                 "shared variable %s, padded, makes kernel %s too large",
                                 plan->variable[variable]->name, result->kernel[large].name))
      return false;
  }
  return true;
}

/* Refuses kernels whose padded variables would make another kernel too large. Kernels that stay
 * beside their rewritten form do not see them. */
static bool refuse_growth(bf_rewrite_plan *plan, bf_rewrite_result *result, bool *changed) {
  for (unsigned u = 0; u < plan->kernels; u++) {
    if ((plan->is_beside && !is_rewritten(&plan->kernel[u])) ||
        result->kernel[u].shared_bytes > BF_REWRITE_MOST_STATIC_BYTES ||
        grown_bytes(plan, &plan->kernel[u]) <= BF_REWRITE_MOST_STATIC_BYTES)
      continue;
    for (unsigned i = 0; i < plan->kernel[u].uses; i++)
      if (!refuse_padding(plan, result, u, plan->kernel[u].use[i].variable, changed))
        return false;
  }
  return true;
}

/* Refuses all kernels that would have a hash, where the module was rewritten before. */
static bool refuse_again(bf_rewrite_plan *plan, bf_rewrite_result *result) {
  result->was_rewritten = bf_ptx_has_rewritten(plan->module);
  for (unsigned k = 0; k < plan->kernels && result->was_rewritten; k++)
    if (plan->kernel[k].wanted &&
        !bf_rewrite_add_obstacle(plan, &plan->kernel[k], &result->kernel[k], 0,
                                 "it was rewritten before"))
      return false;
  return true;
}

/* Why the verifier first rejected a rewritten form of a kernel; NULL: it did not. It did so again
 * where places in longer rows were computed at accesses, or that is not possible (is_final). */
typedef struct rejection {
  const char *reason;
  bool is_plain; /* it is to be tried without what is known of low bits */
  bool is_final;
} rejection;

/* Refuses the kernels whose rewritten form the verifier rejected before, or has their places
 * computed at accesses. */
static bool refuse_rejected(bf_rewrite_plan *plan, bf_rewrite_result *result,
                            const rejection *rejected) {
  for (unsigned k = 0; rejected && k < plan->kernels; k++) {
    plan->kernel[k].is_placed = rejected[k].reason && !rejected[k].is_final;
    plan->kernel[k].is_plain = plan->kernel[k].is_placed && rejected[k].is_plain;
    if (rejected[k].is_final && !bf_rewrite_add_obstacle(plan, &plan->kernel[k], &result->kernel[k],
                                                         0, "%s", rejected[k].reason))
      return false;
  }
  return true;
}

/* Whether some access of the kernel goes through a hash, or rows become longer. */
static bool has_hashed(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel) {
  for (unsigned n = 0; n < kernel->reached.count; n++) {
    const bf_rewrite_function *own = &plan->function[kernel->reached.item[n]];
    for (uint32_t i = 0; i < own->function->instructions; i++)
      if (bf_rewrite_is_hashed(own, i) && bf_rewrite_hash_at(plan, kernel, own, i))
        return true;
  }
  for (unsigned i = 0; i < kernel->uses; i++)
    if (kernel->use[i].padding)
      return true;
  return false;
}

/* Says of every kernel what it does and what stands in its way. */
static bool examine(bf_rewrite_plan *plan, bf_rewrite_result *result, const rejection *rejected) {
  if (!refuse_again(plan, result) || !refuse_rejected(plan, result, rejected) ||
      !bf_rewrite_align(plan))
    return false;
  for (unsigned k = 0; k < plan->kernels; k++)
    if (!bf_rewrite_find_obstacles(plan, &plan->kernel[k], &result->kernel[k]))
      return false;
  for (unsigned k = 0; k < plan->kernels && !plan->is_examination; k++)
    plan->kernel[k].wanted &= has_hashed(plan, &plan->kernel[k]);
  for (bool changed = true; changed;) {
    changed = false;
    if (!refuse_growth(plan, result, &changed) ||
        (!plan->is_beside && !bf_rewrite_spare_neighbours(plan, result, &changed)))
      return false;
  }
  return true;
}

/* ---- Code ---- */

/* Writes the code of kernels and the functions they call. */
static int write_code(bf_rewrite_plan *plan, bf_rewrite_result *result, bf_diagnostic *diagnostic) {
  BF_TRY(bf_rewrite_make_versions(plan, diagnostic));
  for (unsigned k = 0; k < plan->kernels; k++) {
    const bf_rewrite_kernel_plan *kernel = &plan->kernel[k];
    bf_rewrite_kernel *out = &result->kernel[k];
    if (!is_rewritten(kernel))
      continue;
    for (unsigned n = 0; n < kernel->reached.count; n++) {
      const bf_rewrite_version *version =
          bf_rewrite_find_version(plan, &plan->function[kernel->reached.item[n]], kernel);
      if (!version)
        continue;
      out->added_instructions += version->code->added_instructions;
      out->hashed += version->code->hashed;
      out->exempt += version->code->left;
    }
    out->is_rewritten = result->is_changed = true;
  }
  return BF_OK;
}

/* ---- Printing ---- */

typedef struct printing {
  const bf_rewrite_plan *plan;
  const bf_rewrite_version *copy; /* whose body comes next; NULL: the function itself */
  const bf_rewrite_code *code;    /* of the function at hand, or NULL */
  const bf_ptx_function *kept;    /* which has copies and stays for others as it was, or NULL */
  uint32_t instruction;           /* the next one */
} printing;

/* The version that stands in the place of a function, or NULL. */
static const bf_rewrite_version *find_own(const bf_rewrite_function *function) {
  const bf_rewrite_version *at = function->versions;
  while (at && at->name)
    at = at->next;
  return at;
}

static const char *print_body(void *context, const bf_ptx_function *function) {
  printing *p = context;
  const bf_rewrite_version *version = p->copy;
  int found = version ? -1 : bf_rewrite_find(p->plan, function->name);
  if (found >= 0)
    version = find_own(&p->plan->function[found]);
  p->instruction = 0;
  p->copy = NULL;
  p->code = version ? version->code : NULL;
  p->kept = found >= 0 && !version && p->plan->function[found].versions ? function : NULL;
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

/* Whether one of the statements, or one inside them, declares the variable. */
static bool is_declared(const bf_ptx_statement *statement, const bf_ptx_variable *variable) {
  for (; statement; statement = statement->next)
    if ((statement->kind == BF_PTX_STATEMENT_VARIABLE && statement->variable == variable) ||
        (statement->kind == BF_PTX_STATEMENT_SCOPE && is_declared(statement->scope, variable)))
      return true;
  return false;
}

/* Variables that kernels hash become whole rows, but not those inside a function that stays as it
 * was: its copies have their own. */
static bf_ptx_variable print_variable(void *context, const bf_ptx_variable *variable) {
  const printing *p = context;
  if (p->kept && is_declared(p->kept->body, variable))
    return *variable;
  unsigned at = (unsigned)(bf_rewrite_find_variable(p->plan, variable) + 1);
  for (; at; at = p->plan->next_placed[at - 1])
    if (p->plan->variable[at - 1] == variable)
      return declared(p->plan, at - 1);
  return *variable;
}

/* Copies of functions stand behind every declaration and the definition. */
static const char *print_copy(void *context, const bf_ptx_function *function, unsigned index) {
  printing *p = context;
  int found = function->is_entry ? -1 : bf_rewrite_find(p->plan, function->name);
  const bf_rewrite_version *at = found >= 0 ? p->plan->function[found].versions : NULL;
  for (; at; at = at->next)
    if (at->name && index-- == 0) {
      p->copy = function->has_body ? at : NULL;
      return at->name;
    }
  return NULL;
}

static int print(const bf_rewrite_plan *plan, bf_rewrite_result *result,
                 bf_diagnostic *diagnostic) {
  printing p = {.plan = plan};
  bf_ptx_print_hooks hooks = {&p, print_body, print_instruction, print_variable, print_copy};
  bf_ptx_print_hooked(plan->module, &hooks, &result->text);
  return result->text.failed ? bf_no_memory(diagnostic) : BF_OK;
}

/* ---- Whole modules ---- */

/* rejected: per kernel; NULL: none. */
static int plan_module(const bf_ptx_module *module, const bf_rewrite_options *options,
                       const rejection *rejected, bf_rewrite_plan *plan, bf_rewrite_result *result,
                       bf_diagnostic *diagnostic) {
  *result = (bf_rewrite_result){0};
  if (!bf_rewrite_plan_make(module, &result->arena, plan))
    return bf_no_memory(diagnostic);
  result->kernels = plan->kernels;
  result->kernel =
      bf_arena_alloc(&result->arena, ((size_t)plan->kernels + 1) * sizeof *result->kernel);
  if (!result->kernel)
    return bf_no_memory(diagnostic);
  BF_TRY(choose_hashes(plan, options, result, diagnostic));
  if (!examine(plan, result, rejected))
    return bf_no_memory(diagnostic);
  return BF_OK;
}

/* ---- What the verifier rejects ---- */

/* Per kernel, or NULL where none was rejected. */
typedef struct rejections {
  bf_arena arena;
  rejection *kernel;
} rejections;

/* Notes that a kernel is rejected; the first reason counts. One with longer rows gets two more
 * chances, with places that are computed at accesses: by what is known of low bits of addresses,
 * which the verifier may know less of, and without. */
static int reject(rejections *rejected, const bf_rewrite_result *result, unsigned kernel,
                  uint64_t line, const char *why, bf_diagnostic *diagnostic) {
  char text[640];
  if (!rejected->kernel)
    rejected->kernel =
        bf_arena_alloc(&rejected->arena, ((size_t)result->kernels + 1) * sizeof *rejected->kernel);
  if (!rejected->kernel)
    return bf_no_memory(diagnostic);
  rejection *own = &rejected->kernel[kernel];
  if (!result->kernel[kernel].is_rewritten)
    return BF_OK;
  own->is_final = !result->kernel[kernel].can_be_placed;
  own->is_plain = result->kernel[kernel].is_placed;
  if (own->reason)
    return BF_OK;
  snprintf(text, sizeof text, "the verifier rejects its rewritten form (line %llu of that): %s",
           (unsigned long long)line, why);
  own->reason = bf_arena_copy(&rejected->arena, text);
  return own->reason ? BF_OK : bf_no_memory(diagnostic);
}

/* The number of the rewritten kernel called name, or -1. */
static int find_rewritten(const bf_rewrite_result *result, const char *name) {
  for (unsigned k = 0; name && k < result->kernels; k++)
    if (result->kernel[k].is_rewritten && strcmp(result->kernel[k].name, name) == 0)
      return (int)k;
  return -1;
}

/* Rejects the kernel that a finding names, or all where it names none that was rewritten. */
static int reject_for(rejections *rejected, const bf_rewrite_result *result, const char *kernel,
                      uint64_t line, const char *why, bf_diagnostic *diagnostic) {
  int found = find_rewritten(result, kernel);
  if (found >= 0)
    return reject(rejected, result, (unsigned)found, line, why, diagnostic);
  for (unsigned k = 0; k < result->kernels; k++)
    BF_TRY(reject(rejected, result, k, line, why, diagnostic));
  return BF_OK;
}

/* Parses the result and has it verified; *is_good: it is accepted. Else the kernels at fault are
 * added to those rejected. */
static int judge(const bf_ptx_module *module, const bf_rewrite_options *options,
                 bf_rewrite_result *result, rejections *rejected, bool *is_good,
                 bf_diagnostic *diagnostic) {
  bf_verify_result verdict = {0};
  bf_diagnostic unread = {0};
  *is_good = false;
  int error =
      bf_ptx_parse("rewritten PTX", result->text.data, result->text.size, &result->module, &unread);
  if (error == BF_NO_MEMORY)
    return bf_no_memory(diagnostic);
  if (error)
    return reject_for(rejected, result, NULL, unread.line, unread.message, diagnostic);
  BF_TRY(
      bf_verify(module, result->module, options->context, options->hash_of, &verdict, diagnostic));
  *is_good = verdict.is_accepted;
  for (unsigned i = 0; i < verdict.findings && !error; i++)
    error = reject_for(rejected, result, verdict.finding[i].kernel, verdict.finding[i].line,
                       verdict.finding[i].text, diagnostic);
  bf_verify_free(&verdict);
  return error;
}

/* Of the instructions that longer rows added, as many stay as there were: what computed the old
 * addresses and is not needed any more is left to ptxas, and does not count. */
static int discount_dropped(const bf_rewrite_plan *plan, bf_rewrite_result *result,
                            bf_diagnostic *diagnostic) {
  for (unsigned k = 0; k < plan->kernels; k++) {
    const bf_ptx_function *made = bf_ptx_find(result->module, result->kernel[k].name);
    bool any = false;
    for (unsigned i = 0; i < plan->kernel[k].uses; i++)
      any |= plan->kernel[k].use[i].padding != NULL;
    if (!any || !made || !result->kernel[k].is_rewritten)
      continue;
    const bool *is_live = bf_ptx_live_registers(made, plan->arena);
    if (!is_live)
      return bf_no_memory(diagnostic);
    for (uint32_t i = 0; i < made->instructions && result->kernel[k].added_instructions; i++) {
      const bf_ptx_instruction *at = made->instruction[i];
      const bf_ptx_operand *to = at->operands ? &at->operand[0] : NULL;
      if (to && to->kind == BF_PTX_REGISTER && bf_ptx_is_pure(at) &&
          !is_live[to->registers->first + to->index])
        result->kernel[k].added_instructions--;
    }
  }
  return BF_OK;
}

/* Rewrites what is not rejected and judges it. */
static int rewrite_once(const bf_ptx_module *module, const bf_rewrite_options *options,
                        rejections *rejected, bf_rewrite_result *result, bool *is_good,
                        bf_diagnostic *diagnostic) {
  bf_rewrite_plan plan;
  *is_good = true;
  BF_TRY(plan_module(module, options, rejected->kernel, &plan, result, diagnostic));
  BF_TRY(write_code(&plan, result, diagnostic));
  BF_TRY(print(&plan, result, diagnostic));
  if (!result->is_changed)
    return BF_OK;
  BF_TRY(judge(module, options, result, rejected, is_good, diagnostic));
  return *is_good ? discount_dropped(&plan, result, diagnostic) : BF_OK;
}

/* Rewrites copies of kernels. */
static int rewrite_beside(const bf_ptx_module *module, const bf_rewrite_options *options,
                          bf_rewrite_result *result, bf_diagnostic *diagnostic) {
  bf_rewrite_plan plan;
  BF_TRY(plan_module(module, options, NULL, &plan, result, diagnostic));
  for (unsigned k = 0; k < plan.kernels; k++)
    result->kernel[k].is_rewritten = is_rewritten(&plan.kernel[k]);
  return bf_rewrite_beside(&plan, options, result, diagnostic);
}

/* Rewrites kernels in their place, those that the verifier accepts. */
static int rewrite_in_place(const bf_ptx_module *module, const bf_rewrite_options *options,
                            bf_rewrite_result *result, bf_diagnostic *diagnostic) {
  rejections rejected = {0};
  bool is_good = false;
  int error = BF_OK;
  while (!error && !is_good) { /* each time with fewer kernels */
    error = rewrite_once(module, options, &rejected, result, &is_good, diagnostic);
    if (!error && !is_good)
      bf_rewrite_free(result);
  }
  bf_arena_free(&rejected.arena);
  return error;
}

int bf_rewrite(const bf_ptx_module *module, const bf_rewrite_options *options,
               bf_rewrite_result *result, bf_diagnostic *diagnostic) {
  int error = options->is_beside ? rewrite_beside(module, options, result, diagnostic)
                                 : rewrite_in_place(module, options, result, diagnostic);
  if (error)
    bf_rewrite_free(result);
  return error;
}

int bf_rewrite_examine(const bf_ptx_module *module, bf_rewrite_result *result,
                       bf_diagnostic *diagnostic) {
  bf_rewrite_plan plan;
  int error = plan_module(module, NULL, NULL, &plan, result, diagnostic);
  if (error)
    bf_rewrite_free(result);
  return error;
}

void bf_rewrite_free(bf_rewrite_result *result) {
  bf_ptx_free(result->module);
  bf_text_free(&result->text);
  bf_arena_free(&result->arena);
  *result = (bf_rewrite_result){0};
}
