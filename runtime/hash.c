/* The hash of the banks, which the program can choose before each launch. */
#include "context.h"

#include <stdlib.h>
#include <string.h>

/* ---- Choosing ---- */

/* The hash with the same text that is kept, or a new one, which takes *hash over; NULL where memory
 * is exhausted. */
static rt_hash *keep(rt_context *context, bf_hash **hash) {
  for (rt_hash *kept = context->hashes; kept; kept = kept->next)
    if (strcmp(bf_hash_text(kept->hash), bf_hash_text(*hash)) == 0)
      return kept;
  rt_hash *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  *made = (rt_hash){context->hashes, *hash};
  *hash = NULL;
  return context->hashes = made;
}

int rt_choose_hash(rt_context *context, const char *text, bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(context->machine);
  bf_hash *hash;
  BF_TRY(bf_hash_parse(text ? text : "none", &geometry, &hash, diagnostic));
  rt_hash *kept = keep(context, &hash);
  bf_hash_free(hash);
  if (!kept)
    return bf_no_memory(diagnostic);
  context->hash = strcmp(bf_hash_text(kept->hash), "none") == 0 ? NULL : kept->hash;
  return BF_OK;
}

static const char *const lock_hashes[] = {
    [BF_LOCK_PLAIN] = "plain", [BF_LOCK_XOR] = "xor", [BF_LOCK_ADD] = "add"};
enum { LOCK_HASHES = sizeof lock_hashes / sizeof *lock_hashes };

const char *rt_lock_hash_word(bf_lock_hash hash) { return lock_hashes[hash]; }

int rt_choose_lock_hash(rt_context *context, const char *word, bf_diagnostic *diagnostic) {
  for (int i = 0; i < LOCK_HASHES; i++)
    if (strcmp(word ? word : "plain", lock_hashes[i]) == 0) {
      context->lock_hash = (bf_lock_hash)i;
      return BF_OK;
    }
  return bf_fail(diagnostic, BF_BAD_INPUT, "unknown hash of locks '%s'; known: plain, xor, add",
                 word);
}

/* The hash of a function's next launch: what the program has chosen, or its line in the file, or
 * what exec was given. NULL: none. */
static const bf_hash *hash_of(const rt_context *context, const rt_function *function) {
  const bf_hash *own = context->kernel_hashes && !context->has_chosen_hash
                           ? bf_hash_list_find(context->kernel_hashes, function->name)
                           : NULL;
  if (!own)
    return context->hash;
  return strcmp(bf_hash_text(own), "none") == 0 ? NULL : own;
}

rt_tally *rt_tally_of(const rt_context *context, rt_function *function) {
  const bf_hash *hash = hash_of(context, function);
  rt_tally **at = &function->tallies;
  while (*at && ((*at)->hash != hash || (*at)->lock_hash != context->lock_hash))
    at = &(*at)->next;
  if (!*at && (*at = calloc(1, sizeof **at))) {
    (*at)->hash = hash;
    (*at)->lock_hash = context->lock_hash;
  }
  return *at;
}

/* ---- Calls: not CUDA's, declared in include/bankfold_cuda.h ---- */

/* Says what was wrong with the text of a call; a cudaError. */
static int refuse(const rt_context *context, const char *call, int error,
                  const bf_diagnostic *diagnostic) {
  rt_say(context, "%s: %s", call, diagnostic->message);
  return error == BF_NO_MEMORY ? cudaErrorMemoryAllocation : cudaErrorInvalidValue;
}

API(bankfoldSetHash, const char *hash) {
  RT_ENTER_DEVICE(context);
  rt_await(context, RT_ALL_STREAMS); /* launches before have what was chosen before */
  bf_diagnostic diagnostic = {.caret = -1};
  int error = rt_choose_hash(context, hash, &diagnostic);
  context->has_chosen_hash |= !error;
  return rt_leave(context,
                  error ? refuse(context, "bankfoldSetHash", error, &diagnostic) : cudaSuccess);
}

API(bankfoldSetLockHash, const char *hash) {
  RT_ENTER_DEVICE(context);
  rt_await(context, RT_ALL_STREAMS); /* launches before have what was chosen before */
  bf_diagnostic diagnostic = {.caret = -1};
  int error = rt_choose_lock_hash(context, hash, &diagnostic);
  return rt_leave(context,
                  error ? refuse(context, "bankfoldSetLockHash", error, &diagnostic) : cudaSuccess);
}
