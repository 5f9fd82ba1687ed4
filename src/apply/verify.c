/* Modules, kernels and the functions they call. A kernel is unchanged, or hashed as a whole: then
 * every function that it can reach is judged by its hash. */
#include "apply/verify_inner.h"

#include <stdlib.h>
#include <string.h>

/* A function that was judged by a hash (NULL: as unchanged), so that it is done once. */
typedef struct judgement {
  struct judgement *next;
  const bf_ptx_function *original;
  const bf_hash *hash;
  bool makes_generic; /* as it stood in the job */
  bool is_good;
} judgement;

typedef struct bf_verify_job {
  const bf_ptx_module *original, *rewritten;
  bf_verify_result *result;
  bf_verify_twin *twins; /* variables of the module */
  judgement *judged;
  bool makes_generic; /* the kernel being judged can make generic addresses of shared memory */
  bool is_trial;      /* findings are not kept */
  bool no_memory;
} bf_verify_job;

bf_arena *bf_verify_arena(bf_verify_job *job) { return &job->result->arena; }

/* ---- Findings ---- */

/* Room for one more finding; the list doubles. */
static bool grow_findings(bf_verify_result *result) {
  if (result->findings & (result->findings - 1))
    return true;
  unsigned capacity = result->findings ? 2 * result->findings : 1;
  bf_verify_finding *list = bf_arena_alloc(&result->arena, capacity * sizeof *list);
  if (!list)
    return false;
  if (result->findings)
    memcpy(list, result->finding, result->findings * sizeof *list);
  result->finding = list;
  return true;
}

bool bf_verify_find(bf_verify_job *job, const char *kernel, uint64_t line, const char *format,
                    ...) {
  char text[512];
  va_list arguments;
  if (job->is_trial)
    return true;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  char *copy = bf_arena_copy(&job->result->arena, text);
  if (!copy || !grow_findings(job->result)) {
    job->no_memory = true;
    return false;
  }
  job->result->finding[job->result->findings++] = (bf_verify_finding){line, kernel, copy};
  return true;
}

/* ---- Variables ---- */

const char *bf_verify_variable(const bf_ptx_variable *original, const bf_ptx_variable *rewritten,
                               bool rows) {
  if (original->space != BF_PTX_SPACE_SHARED || rewritten->space != BF_PTX_SPACE_SHARED || !rows)
    return bf_verify_same_variable(original, rewritten) ? NULL
                                                        : "a variable differs from the original";
  if (!bf_verify_same_text(original->name, rewritten->name) ||
      original->linkage != rewritten->linkage || original->initialiser || rewritten->initialiser ||
      !bf_verify_same_text(original->attribute, rewritten->attribute))
    return "a variable differs from the original";
  if (!bf_ptx_type_bytes(rewritten->type))
    return "a shared variable has another type than bytes or numbers";
  if (!original->bytes != !rewritten->bytes || rewritten->bytes < original->bytes)
    return "a shared variable is smaller than in the original";
  if (rewritten->bytes % BF_VERIFY_ROW_BYTES)
    return "a shared variable is not padded to whole rows";
  if (bf_verify_variable_zero_bits(rewritten) < BF_VERIFY_WORD_BIT + BF_VERIFY_BANK_BITS)
    return "a shared variable is not aligned to rows";
  if (bf_verify_variable_zero_bits(rewritten) < bf_verify_variable_zero_bits(original))
    return "a shared variable is less aligned than in the original";
  return NULL;
}

/* A shared variable of the module may have grown, whether or not a kernel needs it to; what a
 * hashed kernel needs is checked with the kernel. */
static const char *judge_module_variable(const bf_ptx_variable *original,
                                         const bf_ptx_variable *rewritten) {
  if (bf_verify_same_variable(original, rewritten))
    return NULL;
  return bf_verify_variable(original, rewritten, original->space == BF_PTX_SPACE_SHARED);
}

/* Whether the operand, or a part of it, names the variable. */
static bool names(const bf_ptx_operand *operand, const bf_ptx_variable *variable) {
  if (operand->kind == BF_PTX_SYMBOL)
    return operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE && operand->symbol->variable == variable;
  if (operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
      operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; i < operand->count; i++)
      if (names(&operand->item[i], variable))
        return true;
  return false;
}

static bool function_names(const bf_ptx_function *function, const bf_ptx_variable *variable) {
  for (uint32_t i = 0; i < function->instructions; i++)
    for (unsigned j = 0; j < function->instruction[i]->operands; j++)
      if (names(&function->instruction[i]->operand[j], variable))
        return true;
  return false;
}

/* Variables of the module that a hashed function names must be whole rows. */
static bool judge_rows(bf_verify_job *job, const char *kernel, const bf_ptx_function *rewritten) {
  bool is_good = true;
  for (const bf_verify_twin *twin = job->twins; twin; twin = twin->next) {
    if (twin->rewritten->space != BF_PTX_SPACE_SHARED ||
        !function_names(rewritten, twin->rewritten))
      continue;
    const char *why = bf_verify_variable(twin->original, twin->rewritten, true);
    is_good &= !why;
    if (why)
      bf_verify_find(job, kernel, twin->rewritten->line, "%s: %s", why, twin->rewritten->name);
  }
  return is_good;
}

/* ---- Functions ---- */

/* The rewritten function of that name, or NULL. */
static const bf_ptx_function *find_rewritten(const bf_verify_job *job, const char *name) {
  return bf_ptx_find(job->rewritten, name);
}

static int judge_function(bf_verify_job *job, const char *kernel, const bf_ptx_function *original,
                          const bf_hash *hash, bool *is_good) {
  const bf_ptx_function *rewritten = find_rewritten(job, original->name);
  *is_good = false;
  if (!rewritten)
    return BF_OK;
  bf_verify_body body = {.job = job,
                         .kernel = kernel,
                         .original = original,
                         .rewritten = rewritten,
                         .hash = hash,
                         .makes_generic = job->makes_generic,
                         .twins = job->twins};
  BF_TRY(bf_verify_compare(job->rewritten, &body));
  *is_good = !body.failed && (!hash || judge_rows(job, kernel, rewritten));
  job->result->accesses_hashed += body.hashed;
  job->result->accesses_exempt += body.exempt;
  return job->no_memory ? BF_NO_MEMORY : BF_OK;
}

/* Whether both are the same map, or both none. */
static bool same_hash(const bf_hash *a, const bf_hash *b) {
  if (!a || !b)
    return a == b;
  return a->forward.rows == b->forward.rows &&
         !memcmp(a->forward.row, b->forward.row, a->forward.rows * sizeof *a->forward.row);
}

/* What was found of the function under hash before, or NULL. */
static const judgement *find_judged(const bf_verify_job *job, const bf_ptx_function *original,
                                    const bf_hash *hash) {
  for (const judgement *entry = job->judged; entry; entry = entry->next)
    if (entry->original == original && same_hash(entry->hash, hash) &&
        (!hash || entry->makes_generic == job->makes_generic))
      return entry;
  return NULL;
}

/* Judges a function by itself; findings of functions judged before are not repeated. */
static int judge_once(bf_verify_job *job, const char *kernel, const bf_ptx_function *original,
                      const bf_hash *hash, bool *is_good) {
  const judgement *before = find_judged(job, original, hash);
  if (before) {
    *is_good = before->is_good;
    return BF_OK;
  }
  judgement *entry = bf_arena_alloc(&job->result->arena, sizeof *entry);
  if (!entry)
    return BF_NO_MEMORY;
  BF_TRY(judge_function(job, kernel, original, hash, is_good));
  *entry = (judgement){job->judged, original, hash, job->makes_generic, *is_good};
  job->judged = entry;
  return BF_OK;
}

/* Functions that a kernel can reach, in the order in which they are found. */
typedef struct reached {
  struct reached *next;
  const bf_ptx_function *function;
} reached;

/* Appends the function to the list, unless it is there. */
static int reach(bf_arena *arena, reached *first, const bf_ptx_function *function) {
  reached *last = first;
  while (last->function != function && last->next)
    last = last->next;
  if (last->function == function)
    return BF_OK;
  last->next = bf_arena_alloc(arena, sizeof *last);
  if (!last->next)
    return BF_NO_MEMORY;
  last->next->function = function;
  return BF_OK;
}

/* Appends the functions with a body that the function names. */
static int reach_all(bf_arena *arena, reached *first, const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++)
    for (unsigned j = 0; j < function->instruction[i]->operands; j++) {
      const bf_ptx_operand *operand = &function->instruction[i]->operand[j];
      if (operand->kind == BF_PTX_SYMBOL && operand->symbol->kind == BF_PTX_SYMBOL_FUNCTION &&
          operand->symbol->function->has_body)
        BF_TRY(reach(arena, first, operand->symbol->function));
    }
  return BF_OK;
}

/* Whether the operand, or a part of it, is the generic address of a variable. */
static bool is_generic(const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_SYMBOL)
    return operand->generic;
  if (operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
      operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; i < operand->count; i++)
      if (is_generic(&operand->item[i]))
        return true;
  return false;
}

/* Whether the function turns addresses of shared memory into generic ones. Without that no generic
 * address is one of shared memory: a pointer into it cannot come from outside the block. */
static bool makes_generic(const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *instruction = function->instruction[i];
    if (instruction->opcode == BF_PTX_OP_CVTA && instruction->space == BF_PTX_SPACE_SHARED &&
        !bf_ptx_has(instruction, "to"))
      return true;
    for (unsigned j = 0; j < instruction->operands; j++)
      if (is_generic(&instruction->operand[j]))
        return true;
  }
  return false;
}

/* Judges a function and all it can reach. */
static int judge_reachable(bf_verify_job *job, const char *kernel, const bf_ptx_function *original,
                           const bf_hash *hash, bool *is_good) {
  reached first = {NULL, original};
  *is_good = true;
  job->makes_generic = false;
  for (const reached *at = &first; at; at = at->next) {
    BF_TRY(reach_all(&job->result->arena, &first, at->function));
    job->makes_generic |= makes_generic(at->function);
  }
  for (const reached *at = &first; at; at = at->next) {
    bool is_good_itself;
    BF_TRY(judge_once(job, kernel, at->function, hash, &is_good_itself));
    *is_good &= is_good_itself;
  }
  return BF_OK;
}

/* ---- Kernels ---- */

/* The map must keep rows and be a bijection on each: bits above the row stay, and the bits inside
 * it are invertible for every row. NULL where it is. */
static const char *judge_hash(const bf_hash *hash) {
  const bf_geometry *geometry = &hash->geometry;
  uint64_t inside[BF_VERIFY_BANK_BITS];
  if (hash->kind != BF_HASH_LINEAR || geometry->bank_bits != BF_VERIFY_BANK_BITS ||
      geometry->word_bytes != 1u << BF_VERIFY_WORD_BIT)
    return "the hash is no XOR hash for 32 banks of 4 bytes";
  for (unsigned i = BF_VERIFY_BANK_BITS; i < geometry->address_bits; i++)
    if (hash->forward.row[i] != (uint64_t)1 << i)
      return "the hash moves words to other rows";
  for (unsigned i = 0; i < BF_VERIFY_BANK_BITS; i++)
    inside[i] = hash->forward.row[i] & bf_gf2_low_bits(BF_VERIFY_BANK_BITS);
  if (bf_gf2_rank(inside, BF_VERIFY_BANK_BITS) != BF_VERIFY_BANK_BITS)
    return "the hash is no bijection on a row";
  return NULL;
}

/* Whether the kernel and all it calls are as they were. */
static int judge_unchanged(bf_verify_job *job, const bf_ptx_function *kernel, bool is_trial,
                           bool *is_unchanged) {
  job->is_trial = is_trial;
  int error = judge_reachable(job, kernel->name, kernel, NULL, is_unchanged);
  job->is_trial = false;
  return error;
}

/* A kernel that has a hash and is not as it was. */
static int judge_hashed(bf_verify_job *job, const bf_ptx_function *kernel, const bf_hash *hash) {
  const char *why = judge_hash(hash);
  bool is_good;
  if (why) {
    bf_verify_find(job, kernel->name, 0, "%s: %s", why, hash->text);
    return job->no_memory ? BF_NO_MEMORY : BF_OK;
  }
  unsigned findings = job->result->findings;
  BF_TRY(judge_reachable(job, kernel->name, kernel, hash, &is_good));
  job->result->kernels_hashed += is_good;
  if (!is_good && job->result->findings == findings)
    bf_verify_find(job, kernel->name, 0, "it calls a function that does not use its hash");
  return job->no_memory ? BF_NO_MEMORY : BF_OK;
}

static int judge_kernel(bf_verify_job *job, const bf_ptx_function *kernel, const bf_hash *hash) {
  bool is_unchanged;
  BF_TRY(judge_unchanged(job, kernel, true, &is_unchanged));
  if (!is_unchanged && hash)
    return judge_hashed(job, kernel, hash);
  job->result->kernels_unchanged += is_unchanged;
  if (!is_unchanged) {
    job->judged = NULL;
    BF_TRY(judge_unchanged(job, kernel, false, &is_unchanged));
  }
  return job->no_memory ? BF_NO_MEMORY : BF_OK;
}

/* ---- Modules ---- */

/* Notes a pair of variables, or says how they differ. */
static int compare_variables(bf_verify_job *job, const bf_ptx_variable *original,
                             const bf_ptx_variable *rewritten) {
  const char *why = judge_module_variable(original, rewritten);
  bf_verify_twin *twin = bf_arena_alloc(&job->result->arena, sizeof *twin);
  if (!twin)
    return BF_NO_MEMORY;
  *twin = (bf_verify_twin){job->twins, original, rewritten};
  job->twins = twin;
  if (why)
    bf_verify_find(job, NULL, rewritten->line, "%s: %s", why, rewritten->name);
  return BF_OK;
}

/* The line of an item where it has one. */
static uint64_t item_line(const bf_ptx_item *item) {
  if (item && item->kind == BF_PTX_ITEM_VARIABLE)
    return item->variable->line;
  return item && item->kind == BF_PTX_ITEM_FUNCTION ? item->function->line : 0;
}

static bool same_version(const bf_ptx_module *a, const bf_ptx_module *b) {
  if (a->version_major != b->version_major || a->version_minor != b->version_minor ||
      a->targets != b->targets || a->address_bits != b->address_bits)
    return false;
  for (unsigned i = 0; i < a->targets; i++)
    if (!bf_verify_same_text(a->target[i], b->target[i]))
      return false;
  return true;
}

/* Everything but the bodies of functions, in order. */
static int compare_items(bf_verify_job *job) {
  const bf_ptx_item *a = job->original->first, *b = job->rewritten->first;
  if (!same_version(job->original, job->rewritten))
    bf_verify_find(job, NULL, 0, "version, targets or address size differ from the original");
  for (; a && b; a = a->next, b = b->next)
    if (a->kind == BF_PTX_ITEM_VARIABLE && b->kind == BF_PTX_ITEM_VARIABLE)
      BF_TRY(compare_variables(job, a->variable, b->variable));
    else if (!bf_verify_same_item(a, b)) {
      bf_verify_find(job, NULL, item_line(b), "declarations differ from the original");
      return BF_OK;
    }
  if (a || b)
    bf_verify_find(job, NULL, item_line(b), "the modules have different numbers of declarations");
  return BF_OK;
}

/* Functions that no kernel reaches must be as they were. */
static int judge_others(bf_verify_job *job) {
  for (const bf_ptx_item *item = job->original->first; item; item = item->next) {
    bool is_known = item->kind != BF_PTX_ITEM_FUNCTION || !item->function->has_body;
    for (const judgement *entry = job->judged; entry && !is_known; entry = entry->next)
      is_known = entry->original == item->function;
    bool is_good;
    if (!is_known)
      BF_TRY(judge_reachable(job, NULL, item->function, NULL, &is_good));
  }
  return BF_OK;
}

static int judge_module(bf_verify_job *job, void *context,
                        const bf_hash *(*hash_of)(void *context, const bf_ptx_function *kernel,
                                                  const bf_ptx_variable *array)) {
  BF_TRY(compare_items(job));
  if (job->result->findings)
    return BF_OK;
  for (const bf_ptx_item *item = job->original->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FUNCTION && item->function->is_entry && item->function->has_body)
      BF_TRY(judge_kernel(job, item->function, hash_of(context, item->function, NULL)));
  return judge_others(job);
}

int bf_verify(const bf_ptx_module *original, const bf_ptx_module *rewritten, void *context,
              const bf_hash *(*hash_of)(void *context, const bf_ptx_function *kernel,
                                        const bf_ptx_variable *array),
              bf_verify_result *result, bf_diagnostic *diagnostic) {
  *result = (bf_verify_result){0};
  bf_verify_job job = {.original = original, .rewritten = rewritten, .result = result};
  int error = judge_module(&job, context, hash_of);
  if (error == BF_OK && job.no_memory)
    error = BF_NO_MEMORY;
  if (error != BF_OK) {
    bf_verify_free(result);
    return bf_fail(diagnostic, error, "no memory to judge the rewritten module");
  }
  result->is_accepted = !result->findings;
  return BF_OK;
}

void bf_verify_free(bf_verify_result *result) {
  bf_arena_free(&result->arena);
  *result = (bf_verify_result){0};
}
