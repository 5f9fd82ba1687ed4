/* Rewriting of modules: hashes as asked for, and what was done to each kernel. */
#include "api/rewrite.h"

#include "rewrite/listed.h"
#include "tune/judge.h"
#include "tune/predict.h"

#include <stdlib.h>

/* ---- Kernels ---- */

/* Why a kernel was left alone; without a hash, what would stand in the way of any. */
static int explain(bf_arena *arena, const bf_plans *plans, const bf_plan *plan,
                   const bf_rewrite_kernel *from, const char **reason, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  bf_plan_explain(plan, bf_plan_has_hash(plans, plan) ? from : bf_plan_examined(plans, plan),
                  &text);
  int error = text.failed ? bf_no_memory(diagnostic)
                          : bf_api_copy(arena, text.data ? text.data : "", reason, diagnostic);
  bf_text_free(&text);
  return error;
}

static int describe(bf_rewriting *rewriting, const bf_plans *plans, unsigned index,
                    bf_diagnostic *diagnostic) {
  const bf_rewrite_kernel *from = &rewriting->result.kernel[index];
  bf_rewritten_kernel *to = &rewriting->kernel[index];
  *to = (bf_rewritten_kernel){.name = from->name,
                              .is_rewritten = from->is_rewritten,
                              .hash = from->hash,
                              .accesses = from->accesses,
                              .hashed = from->hashed,
                              .added_instructions = from->added_instructions,
                              .shared_bytes = from->shared_bytes,
                              .padded_shared_bytes = from->padded_bytes};
  if (from->is_rewritten && plans->plan[index].has_comparison)
    to->share_left = bf_judge_share(&plans->plan[index].comparison);
  bf_hash_list_write(from->name, from->is_rewritten ? from->hash : NULL, &rewriting->hashes);
  if (from->is_rewritten)
    return BF_OK;
  return explain(&rewriting->result.arena, plans, &plans->plan[index], from, &to->reason,
                 diagnostic);
}

int bf_api_rewrite(const bf_plans *plans, bf_rewriting *rewriting, bf_diagnostic *diagnostic) {
  bf_rewrite_result *result = &rewriting->result;
  BF_TRY(bf_plans_rewrite(plans, false, result, diagnostic));
  rewriting->kernel = bf_arena_alloc(&result->arena, result->kernels * sizeof *rewriting->kernel);
  if (!rewriting->kernel)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < result->kernels; i++)
    BF_TRY(describe(rewriting, plans, i, diagnostic));
  return rewriting->hashes.failed ? bf_no_memory(diagnostic) : BF_OK;
}

void bf_api_rewriting_clear(bf_rewriting *rewriting) {
  bf_rewrite_free(&rewriting->result);
  bf_text_free(&rewriting->hashes);
}

/* ---- The module ---- */

int bf_api_plans(const bf_module *module, const char *kernel, bool padding_has_room,
                 bf_plans *plans, bf_diagnostic *diagnostic) {
  const bf_api_kernel *only = NULL;
  *plans = (bf_plans){0};
  if (kernel)
    BF_TRY(bf_api_kernel_find(module, kernel, &only, diagnostic));
  BF_TRY(
      bf_plans_make(module->ptx, module->name, only ? only->info.name : NULL, plans, diagnostic));
  plans->padding_has_room = padding_has_room;
  return BF_OK;
}

/* Gives kernels the hashes that are predicted to win. */
static int predict_hashes(bf_plans *plans, const bf_rewrite_module_options *options,
                          bf_diagnostic *diagnostic) {
  bf_machine *machine;
  bf_predict_launch launch = {.block = {options->block[0], options->block[1], options->block[2]}};
  if (options->hash || options->hashes)
    return bf_fail(diagnostic, BF_BAD_INPUT, "hashes are either given or predicted");
  if (plans->examined.was_rewritten)
    return BF_OK;
  for (unsigned i = 1; launch.block[0] && i < 3; i++)
    launch.block[i] = launch.block[i] ? launch.block[i] : 1;
  BF_TRY(bf_machine_load("hopper", NULL, &machine, diagnostic));
  int error = bf_predict_choose(plans, &(bf_predict_options){.machine = machine, .launch = &launch},
                                diagnostic);
  bf_machine_free(machine);
  return error;
}

/* Gives kernels the hashes that were asked for. */
static int set_hashes(bf_plans *plans, const bf_rewrite_module_options *options,
                      bf_diagnostic *diagnostic) {
  if (options->predict)
    return predict_hashes(plans, options, diagnostic);
  if (options->hash)
    BF_TRY(bf_plans_set_hash(plans, options->hash, &bf_listed_geometry, diagnostic));
  if (!options->hashes)
    return BF_OK;
  return bf_plans_set_text(plans, options->name ? options->name : "hashes", options->hashes,
                           &bf_listed_geometry, diagnostic);
}

int bf_rewrite_module(const bf_module *module, const bf_rewrite_module_options *given,
                      bf_rewriting **out, bf_diagnostic *diagnostic) {
  bf_rewrite_module_options options;
  bf_plans plans;
  *out = NULL;
  BF_TRY(bf_take_options(given, &options, sizeof options, "bf_rewrite_module_options", diagnostic));
  bf_rewriting *rewriting = calloc(1, sizeof *rewriting);
  if (!rewriting)
    return bf_no_memory(diagnostic);
  int error = bf_api_plans(module, options.kernel, options.padding_has_room, &plans, diagnostic);
  if (!error)
    error = set_hashes(&plans, &options, diagnostic);
  if (!error)
    error = bf_api_rewrite(&plans, rewriting, diagnostic);
  bf_plans_free(&plans);
  if (error)
    bf_rewriting_free(rewriting);
  else
    *out = rewriting;
  return error;
}

void bf_rewriting_free(bf_rewriting *rewriting) {
  if (rewriting)
    bf_api_rewriting_clear(rewriting);
  free(rewriting);
}

const char *bf_rewriting_text(const bf_rewriting *rewriting) { return rewriting->result.text.data; }

const char *bf_rewriting_hashes(const bf_rewriting *rewriting) {
  return rewriting->hashes.data ? rewriting->hashes.data : "";
}

bool bf_rewriting_is_changed(const bf_rewriting *rewriting) { return rewriting->result.is_changed; }

bool bf_rewriting_is_repeated(const bf_rewriting *rewriting) {
  return rewriting->result.was_rewritten;
}

const bf_rewritten_kernel *bf_rewriting_get(const bf_rewriting *rewriting, size_t index) {
  return index < rewriting->result.kernels ? &rewriting->kernel[index] : NULL;
}
