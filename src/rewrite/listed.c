/* Rewriting by a list of hashes. */
#include "rewrite/listed.h"

#include "verify/verify.h"

#include <ctype.h>
#include <string.h>

const bf_geometry bf_listed_geometry = {.bank_bits = 5, .address_bits = 16, .word_bytes = 4};

const bf_hash *bf_listed_hash(const bf_listed *listed, const char *kernel, const char *array) {
  const bf_hash *hash =
      listed->hashes ? bf_rewrite_listed_hash(listed->hashes, kernel, array) : NULL;
  return hash ? hash : listed->otherwise;
}

/* ---- Modules that were rewritten before ---- */

/* Whether a register is one that the rewriter adds: %bf_..., %bf1_... */
static bool is_added(const char *name) {
  if (strncmp(name, "%bf", 3) != 0)
    return false;
  name += 3;
  while (isdigit((unsigned char)*name))
    name++;
  return *name == '_';
}

static bool has_added_registers(const bf_ptx_statement *statement) {
  for (; statement; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_SCOPE
            ? has_added_registers(statement->scope)
            : statement->kind == BF_PTX_STATEMENT_REGISTERS && is_added(statement->registers->name))
      return true;
  return false;
}

static bool was_rewritten(const bf_ptx_module *module) {
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FUNCTION && item->function->has_body &&
        has_added_registers(item->function->body))
      return true;
  return false;
}

/* ---- Rewriting ---- */

/* What decides about the hash of a kernel. */
typedef struct choice {
  const bf_listed *listed;
  bool leaves_all;
} choice;

/* The listed hash of a kernel or array; NULL where it has none, or "none". */
static const bf_hash *wanted_hash(const choice *chosen, const char *kernel, const char *array) {
  const bf_hash *hash = bf_listed_hash(chosen->listed, kernel, array);
  return hash && strcmp(bf_hash_text(hash), "none") != 0 ? hash : NULL;
}

/* As rewrite.h asks for it. */
static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  const choice *chosen = context;
  return chosen->leaves_all ? NULL : wanted_hash(chosen, kernel->name, array ? array->name : NULL);
}

/* Fails where the verifier does not accept the result. */
static int verify(const bf_ptx_module *module, choice *chosen, const bf_rewrite_result *result,
                  bf_diagnostic *diagnostic) {
  bf_ptx_module *rewritten;
  bf_verify_result verdict = {0};
  BF_TRY(
      bf_ptx_parse("rewritten PTX", result->text.data, result->text.size, &rewritten, diagnostic));
  int error = bf_verify(module, rewritten, chosen, hash_of, &verdict, diagnostic);
  if (!error && !verdict.is_accepted)
    error = bf_fail(diagnostic, BF_UNSUPPORTED, "the verifier rejects the rewritten PTX: %s",
                    verdict.findings ? verdict.finding[0].text : "no reason given");
  bf_verify_free(&verdict);
  bf_ptx_free(rewritten);
  return error;
}

/* Says of the kernels that would have a hash why they are left alone. */
static int explain(const choice *chosen, bf_rewrite_result *result, bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < result->kernels && chosen->leaves_all; i++) {
    bf_rewrite_kernel *kernel = &result->kernel[i];
    if (kernel->obstacles || !wanted_hash(chosen, kernel->name, NULL))
      continue;
    kernel->obstacle = bf_arena_alloc(&result->arena, sizeof *kernel->obstacle);
    if (!kernel->obstacle)
      return bf_no_memory(diagnostic);
    kernel->obstacle[kernel->obstacles++] = (bf_rewrite_obstacle){0, "it was rewritten before"};
  }
  return BF_OK;
}

int bf_rewrite_listed(const bf_ptx_module *module, const bf_listed *listed,
                      bf_rewrite_result *result, bf_diagnostic *diagnostic) {
  choice chosen = {.listed = listed, .leaves_all = was_rewritten(module)};
  bf_rewrite_options options = {
      .context = &chosen, .hash_of = hash_of, .dynamic_is_rounded = listed->dynamic_is_rounded};
  *result = (bf_rewrite_result){0};
  int error = bf_rewrite(module, &options, result, diagnostic);
  if (!error)
    error = explain(&chosen, result, diagnostic);
  if (!error && result->is_changed)
    error = verify(module, &chosen, result, diagnostic);
  if (error)
    bf_rewrite_free(result);
  return error;
}

void bf_listed_reason(const bf_rewrite_kernel *kernel, bf_text *text) {
  if (!kernel->obstacles)
    bf_text_puts(text, kernel->accesses ? "" : "no accesses to shared memory");
  else if (kernel->obstacle[0].line)
    bf_text_addf(text, "line %llu: %s", (unsigned long long)kernel->obstacle[0].line,
                 kernel->obstacle[0].text);
  else
    bf_text_puts(text, kernel->obstacle[0].text);
}

void bf_listed_remark(const bf_rewrite_kernel *kernel, bf_text *text) {
  bf_text_addf(text, "%s: ", kernel->name);
  if (kernel->is_rewritten) {
    bf_text_puts(text, kernel->hash);
    return;
  }
  bf_text_puts(text, "left alone: ");
  if (kernel->obstacles || !kernel->accesses)
    bf_listed_reason(kernel, text);
  else
    bf_text_puts(text, "no hash");
}
