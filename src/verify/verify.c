/* Modules, kernels and the functions they call. A kernel is unchanged, or hashed as a whole: then
 * every function that it can reach is judged by its scheme of hashes. */
#include "verify/inner.h"

#include <stdlib.h>
#include <string.h>

/* A pair of functions that was judged by a scheme (NULL: as unchanged), so that it is done once. */
typedef struct judgement {
  struct judgement *next; /* of the same pair */
  const bf_ptx_function *original, *rewritten;
  const bf_verify_scheme *scheme;
  const bf_verify_pair *calls;
  bool is_good;
} judgement;

typedef struct bf_verify_job {
  const bf_ptx_module *original, *rewritten;
  bf_verify_result *result;
  bf_table twin_of;    /* variables of the module: twins, by the original */
  bf_table twin_with;  /* the same, by the rewritten form */
  bf_table names;      /* of these variables: anything */
  bf_table judged;     /* judgements by pair */
  bf_table was_judged; /* anything, by rewritten function */
  uint64_t looks;      /* at the variables that functions name */
  bool stores_shared;
  bf_verify_reached *unchanged; /* kernels that are as they were */
  bool is_moved; /* some shared variable of the module has another size or alignment */
  bool is_trial; /* findings are not kept */
  bool no_memory;
} bf_verify_job;

bf_arena *bf_verify_arena(bf_verify_job *job) { return &job->result->arena; }

const bf_verify_twin *bf_verify_find_twin(const bf_verify_job *job,
                                          const bf_ptx_variable *original) {
  return bf_table_find(&job->twin_of, &original, sizeof original);
}

const bf_ptx_variable *bf_verify_module_twin(const bf_verify_job *job,
                                             const bf_ptx_variable *original) {
  const bf_verify_twin *twin = bf_verify_find_twin(job, original);
  return twin ? twin->rewritten : NULL;
}

bool bf_verify_names_variable(const bf_verify_job *job, const char *name) {
  return bf_table_find(&job->names, name, strlen(name));
}

/* Nothing is judged yet. */
static void forget_judgements(bf_verify_job *job) {
  job->judged = job->was_judged = (bf_table){.arena = &job->result->arena};
}

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
  bool is_made_private = original->linkage == BF_PTX_WEAK && rewritten->linkage == BF_PTX_PRIVATE;
  if (!bf_verify_same_text(original->name, rewritten->name) ||
      (original->linkage != rewritten->linkage && !is_made_private) || original->initialiser ||
      rewritten->initialiser || !bf_verify_same_text(original->attribute, rewritten->attribute))
    return "a variable differs from the original";
  if (rewritten->linkage == BF_PTX_WEAK || rewritten->linkage == BF_PTX_COMMON)
    return "a shared variable that another module may replace";
  if (rewritten->attribute)
    return "a shared variable with attributes";
  if (original->linkage == BF_PTX_EXTERN && original->bytes)
    return "a shared variable of another module";
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
  if (bf_verify_same_variable(original, rewritten) ||
      !bf_verify_pad_variable(original, rewritten, NULL))
    return NULL;
  return bf_verify_variable(original, rewritten, original->space == BF_PTX_SPACE_SHARED);
}

/* Calls visit for all that the operand, or a part of it, names. */
static bool visit_operand(const bf_ptx_operand *operand, bf_verify_visit visit, void *context) {
  if (operand->kind == BF_PTX_SYMBOL)
    return operand->symbol->kind != BF_PTX_SYMBOL_VARIABLE ||
           visit(context, operand->symbol->variable);
  if (operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
      operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; i < operand->count; i++)
      if (!visit_operand(&operand->item[i], visit, context))
        return false;
  return true;
}

bool bf_verify_visit_named(const bf_ptx_function *function, bf_verify_visit visit, void *context) {
  for (uint32_t i = 0; i < function->instructions; i++)
    for (unsigned j = 0; j < function->instruction[i]->operands; j++)
      if (!visit_operand(&function->instruction[i]->operand[j], visit, context))
        return false;
  return true;
}

/* A look at the variables of the module that a function names, for a kernel with a scheme. */
typedef struct naming {
  bf_verify_job *job;
  const char *kernel;
  const bf_verify_scheme *scheme;
  uint64_t look; /* this one */
  bool is_good;
} naming;

/* A variable of the module that the function names must be whole rows where it is hashed. */
static bool judge_named(void *context, const bf_ptx_variable *rewritten) {
  naming *n = context;
  bf_verify_twin *twin = bf_table_find(&n->job->twin_with, &rewritten, sizeof rewritten);
  if (!twin || twin->look == n->look || rewritten->space != BF_PTX_SPACE_SHARED)
    return true;
  twin->look = n->look;
  const bf_hash *hash = bf_verify_hash_of_variable(n->scheme, twin->original);
  if (!hash)
    return true;
  const char *why = bf_verify_is_padding(hash)
                        ? bf_verify_pad_variable(twin->original, rewritten, hash)
                        : bf_verify_variable(twin->original, rewritten, true);
  if (why)
    bf_verify_find(n->job, n->kernel, rewritten->line, "%s: %s", why, rewritten->name);
  n->is_good &= !why;
  return true;
}

/* The same for all that the function names. */
static bool judge_rows(bf_verify_job *job, const char *kernel, const bf_verify_scheme *scheme,
                       const bf_ptx_function *rewritten) {
  naming n = {job, kernel, scheme, ++job->looks, true};
  bf_verify_visit_named(rewritten, judge_named, &n);
  return n.is_good;
}

/* ---- Functions ---- */

/* Whether a rewritten function may stand for the original: it has its name or is its clone. */
static bool may_stand_for(const bf_ptx_function *rewritten, const bf_ptx_function *original) {
  return rewritten && rewritten->has_body &&
         (bf_verify_same_signature(original, rewritten) ||
          (bf_verify_is_clone_name(rewritten->name, original->name) &&
           bf_verify_same_form(original, rewritten)));
}

/* Judges a pair of functions by themselves. */
static int judge_pair(bf_verify_job *job, const char *kernel, const bf_verify_scheme *scheme,
                      judgement *entry) {
  if (!may_stand_for(entry->rewritten, entry->original)) {
    bf_verify_find(job, kernel, 0, "another function in place of %s", entry->original->name);
    return job->no_memory ? BF_NO_MEMORY : BF_OK;
  }
  bf_verify_body body = {.job = job,
                         .kernel = kernel,
                         .original = entry->original,
                         .rewritten = entry->rewritten,
                         .scheme = scheme};
  BF_TRY(bf_verify_compare(job->rewritten, &body));
  entry->is_good = !body.failed && (!scheme || judge_rows(job, kernel, scheme, entry->rewritten));
  entry->calls = body.calls;
  job->result->accesses_hashed += body.hashed;
  job->result->accesses_exempt += body.exempt;
  return job->no_memory ? BF_NO_MEMORY : BF_OK;
}

/* What was found of a pair under the scheme before, or NULL. */
static const judgement *find_judged(const bf_verify_job *job, const bf_verify_pair *pair,
                                    const bf_verify_scheme *scheme) {
  const bf_ptx_function *key[2] = {pair->original, pair->rewritten};
  const judgement *entry = bf_table_find(&job->judged, key, sizeof key);
  while (entry && !bf_verify_same_scheme(entry->scheme, scheme))
    entry = entry->next;
  return entry;
}

/* Keeps what was found of a pair. */
static int keep_judged(bf_verify_job *job, judgement *entry) {
  const bf_ptx_function *key[2] = {entry->original, entry->rewritten};
  void **place = bf_table_at(&job->judged, key, sizeof key);
  void **mark = bf_table_at(&job->was_judged, &entry->rewritten, sizeof entry->rewritten);
  if (!place || !mark)
    return BF_NO_MEMORY;
  entry->next = *place;
  *place = *mark = entry;
  return BF_OK;
}

/* Judges a pair; findings of pairs judged before are not repeated. */
static int judge_once(bf_verify_job *job, const char *kernel, const bf_verify_pair *pair,
                      const bf_verify_scheme *scheme, const judgement **found) {
  *found = find_judged(job, pair, scheme);
  if (*found)
    return BF_OK;
  judgement *entry = bf_arena_alloc(&job->result->arena, sizeof *entry);
  if (!entry)
    return BF_NO_MEMORY;
  *entry = (judgement){NULL, pair->original, pair->rewritten, scheme, NULL, false};
  BF_TRY(judge_pair(job, kernel, scheme, entry));
  *found = entry;
  return keep_judged(job, entry);
}

/* Pairs, each once, while functions are followed. */
typedef struct trail {
  bf_arena arena;
  bf_table members;
  bf_verify_pair *last;
} trail;

/* Appends a copy of a pair, unless it is there. */
static int add_pair(trail *t, const bf_verify_pair *pair) {
  const bf_ptx_function *key[2] = {pair->original, pair->rewritten};
  void **place = bf_table_at(&t->members, key, sizeof key);
  if (!place)
    return BF_NO_MEMORY;
  if (*place)
    return BF_OK;
  bf_verify_pair *made = bf_arena_alloc(&t->arena, sizeof *made);
  if (!made)
    return BF_NO_MEMORY;
  *made = (bf_verify_pair){NULL, pair->original, pair->rewritten};
  *place = t->last->next = made;
  t->last = made;
  return BF_OK;
}

/* Judges a pair and all pairs that it leads to. */
static int judge_trail(bf_verify_job *job, const char *kernel, const bf_verify_pair *first,
                       const bf_verify_scheme *scheme, trail *t, bool *is_good) {
  BF_TRY(add_pair(t, first));
  for (const bf_verify_pair *at = t->last; at; at = at->next) {
    const judgement *found;
    BF_TRY(judge_once(job, kernel, at, scheme, &found));
    *is_good &= found->is_good;
    for (const bf_verify_pair *call = found->calls; call; call = call->next)
      BF_TRY(add_pair(t, call));
  }
  return BF_OK;
}

/* Judges a function and all it can reach. */
static int judge_reachable(bf_verify_job *job, const char *kernel, const bf_ptx_function *original,
                           const bf_verify_scheme *scheme, bool *is_good) {
  bf_verify_pair none = {0}, first = {NULL, original, bf_ptx_find(job->rewritten, original->name)};
  trail t = {.last = &none};
  t.members.arena = &t.arena;
  *is_good = true;
  int error = judge_trail(job, kernel, &first, scheme, &t, is_good);
  bf_arena_free(&t.arena);
  return error;
}

/* ---- Kernels ---- */

/* Whether the kernel and all it calls are as they were. */
static int judge_unchanged(bf_verify_job *job, const bf_ptx_function *kernel, bool is_trial,
                           bool *is_unchanged) {
  job->is_trial = is_trial;
  int error = judge_reachable(job, kernel->name, kernel, NULL, is_unchanged);
  job->is_trial = false;
  return error;
}

/* What no hashed kernel may have, whatever it does; NULL where all is well. */
static const char *judge_head(const bf_ptx_function *kernel) {
  static const char *const cluster[] = {"explicitcluster", "reqnctapercluster", "maxclusterrank"};
  for (unsigned i = 0; i < kernel->directives.count; i++)
    for (unsigned j = 0; j < sizeof cluster / sizeof *cluster; j++)
      if (bf_verify_same_text(kernel->directives.item[i].name, cluster[j]))
        return "a kernel of a cluster";
  for (unsigned i = 0; i < kernel->parameters.count; i++)
    if (kernel->parameters.item[i].is_pointer &&
        kernel->parameters.item[i].pointer_space == BF_PTX_SPACE_SHARED)
      return "a parameter that points to shared memory";
  return NULL;
}

/* A kernel that has a hash and is not as it was. */
static int judge_hashed(bf_verify_job *job, const bf_ptx_function *kernel,
                        const bf_verify_scheme *scheme) {
  const bf_hash *hash;
  const char *why = judge_head(kernel);
  bool is_good;
  if (why) {
    bf_verify_find(job, kernel->name, kernel->line, "%s", why);
    return job->no_memory ? BF_NO_MEMORY : BF_OK;
  }
  why = bf_verify_judge_hashes(scheme, &hash);
  if (why) {
    bf_verify_find(job, kernel->name, 0, "%s: %s", why, hash ? hash->text : "none");
    return job->no_memory ? BF_NO_MEMORY : BF_OK;
  }
  unsigned findings = job->result->findings;
  BF_TRY(judge_reachable(job, kernel->name, kernel, scheme, &is_good));
  job->result->kernels_hashed += is_good;
  if (!is_good && job->result->findings == findings)
    bf_verify_find(job, kernel->name, 0, "it calls a function that does not use its hash");
  return job->no_memory ? BF_NO_MEMORY : BF_OK;
}

/* Puts a function in front of a list. */
static int add_root(bf_verify_job *job, bf_verify_reached **list, const bf_ptx_function *function) {
  bf_verify_reached *made = bf_arena_alloc(&job->result->arena, sizeof *made);
  if (!made)
    return BF_NO_MEMORY;
  *made = (bf_verify_reached){*list, function};
  *list = made;
  return BF_OK;
}

static int judge_kernel(bf_verify_job *job, const bf_ptx_function *kernel, void *context,
                        bf_verify_hash_of hash_of) {
  const bf_verify_scheme *scheme = NULL;
  bool is_unchanged;
  BF_TRY(judge_unchanged(job, kernel, true, &is_unchanged));
  if (!is_unchanged)
    BF_TRY(bf_verify_scheme_make(job->stores_shared, kernel, context, hash_of, &job->result->arena,
                                 &scheme));
  if (scheme)
    return judge_hashed(job, kernel, scheme);
  job->result->kernels_unchanged += is_unchanged;
  if (is_unchanged)
    BF_TRY(add_root(job, &job->unchanged, kernel));
  if (!is_unchanged) {
    forget_judgements(job);
    BF_TRY(judge_unchanged(job, kernel, false, &is_unchanged));
  }
  return job->no_memory ? BF_NO_MEMORY : BF_OK;
}

/* Any kernel may have grown with the variables of the module. */
static int judge_size(bf_verify_job *job, const bf_ptx_function *kernel) {
  bool fits;
  BF_TRY(bf_verify_fits(job->rewritten, kernel, &fits));
  if (!fits)
    bf_verify_find(job, kernel->name, kernel->line,
                   "more shared memory than a kernel may declare: %s", kernel->name);
  return job->no_memory ? BF_NO_MEMORY : BF_OK;
}

/* ---- Modules ---- */

/* Notes a pair of variables, or says how they differ. */
static int compare_variables(bf_verify_job *job, const bf_ptx_variable *original,
                             const bf_ptx_variable *rewritten) {
  const char *why = judge_module_variable(original, rewritten);
  bf_verify_twin *twin = bf_arena_alloc(&job->result->arena, sizeof *twin);
  void **of = bf_table_at(&job->twin_of, &original, sizeof original);
  void **with = bf_table_at(&job->twin_with, &rewritten, sizeof rewritten);
  void **name = bf_table_at(&job->names, original->name, strlen(original->name));
  if (!twin || !of || !with || !name)
    return BF_NO_MEMORY;
  *twin = (bf_verify_twin){original, rewritten, 0};
  *of = *with = *name = twin;
  job->is_moved |= !bf_verify_same_variable(original, rewritten);
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

/* The next item that is no clone; says what is wrong with those. */
static const bf_ptx_item *skip_clones(bf_verify_job *job, const bf_ptx_item *item) {
  const char *why;
  while (item && item->kind == BF_PTX_ITEM_FUNCTION &&
         bf_verify_is_clone(job->original, item->function, &why)) {
    if (why)
      bf_verify_find(job, NULL, item->function->line, "%s: %s", why, item->function->name);
    item = item->next;
  }
  return item;
}

/* Everything but the bodies of functions, in order. */
static int compare_items(bf_verify_job *job) {
  const bf_ptx_item *a = job->original->first, *b = skip_clones(job, job->rewritten->first);
  if (!bf_verify_same_version(job->original, job->rewritten))
    bf_verify_find(job, NULL, 0, "version, targets or address size differ from the original");
  for (; a && b; a = a->next, b = skip_clones(job, b->next))
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

/* Whether the rewritten function was judged. */
static bool is_judged(const bf_verify_job *job, const bf_ptx_function *rewritten) {
  return bf_table_find(&job->was_judged, &rewritten, sizeof rewritten);
}

/* A function, with all it calls, that must be as it was. What was found when it was tried before is
 * not repeated. */
static int judge_other(bf_verify_job *job, const bf_ptx_function *original) {
  unsigned findings = job->result->findings;
  bool is_good;
  BF_TRY(judge_reachable(job, NULL, original, NULL, &is_good));
  if (!is_good && job->result->findings == findings)
    bf_verify_find(job, NULL, 0, "a function that other code may call is not as it was: %s",
                   original->name);
  return job->no_memory ? BF_NO_MEMORY : BF_OK;
}

/* Functions that others may call, or that no kernel reaches, must be as they were, and no clones.
 * *roots: all of them. */
static int judge_others(bf_verify_job *job, bf_verify_reached **roots) {
  BF_TRY(bf_verify_list_exposed(job->original, &job->result->arena, roots));
  for (const bf_verify_reached *at = *roots; at; at = at->next)
    BF_TRY(judge_other(job, at->function));
  for (const bf_ptx_item *item = job->rewritten->first; item; item = item->next) {
    const bf_ptx_function *function = item->kind == BF_PTX_ITEM_FUNCTION ? item->function : NULL;
    if (!function || !function->has_body || is_judged(job, function))
      continue;
    const bf_ptx_function *original = bf_ptx_find(job->original, function->name);
    if (original) {
      BF_TRY(add_root(job, roots, original));
      BF_TRY(judge_other(job, original));
    } else {
      bf_verify_find(job, NULL, function->line, "a clone that nothing calls: %s", function->name);
    }
  }
  return job->no_memory ? BF_NO_MEMORY : BF_OK;
}

static int judge_module(bf_verify_job *job, void *context, bf_verify_hash_of hash_of) {
  BF_TRY(compare_items(job));
  if (job->result->findings)
    return BF_OK;
  for (const bf_ptx_item *item = job->original->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FUNCTION && item->function->is_entry &&
        item->function->has_body) {
      BF_TRY(judge_kernel(job, item->function, context, hash_of));
      BF_TRY(judge_size(job, item->function));
    }
  if (job->result->findings)
    return BF_OK;
  bf_verify_reached *roots;
  BF_TRY(judge_others(job, &roots));
  if (!job->is_moved || job->result->findings)
    return BF_OK;
  BF_TRY(bf_verify_outside(job, job->unchanged));
  return bf_verify_outside(job, roots);
}

int bf_verify(const bf_ptx_module *original, const bf_ptx_module *rewritten, void *context,
              const bf_hash *(*hash_of)(void *context, const bf_ptx_function *kernel,
                                        const bf_ptx_variable *array),
              bf_verify_result *result, bf_diagnostic *diagnostic) {
  *result = (bf_verify_result){0};
  bf_verify_job job = {.original = original, .rewritten = rewritten, .result = result};
  job.twin_of.arena = job.twin_with.arena = job.names.arena = &result->arena;
  job.stores_shared = bf_verify_stores_shared(original);
  forget_judgements(&job);
  int error = judge_module(&job, context, hash_of);
  if (!error && job.no_memory)
    error = BF_NO_MEMORY;
  if (error) {
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
