/* Longer rows for the arrays of a kernel, from its PTX and its accesses in blocks of some shapes.
 *
 * Rows that are tried have a length by which the code multiplies. Those that leave fewest
 * wavefronts are written into the kernel, alone in a module of its own; the first that the verifier
 * accepts is proposed. Where none is and launches are checked, the best are tried for blocks with
 * no more threads than some number. Where none is left, places are computed at accesses, by
 * instructions of which some paddings need more than others: the one is proposed that gains most.
 */
#include "tune/forecast.h"

#include "ptx/tile.h"
#include "rewrite/listed.h"

#include <stdlib.h>
#include <string.h>

enum {
  WORD_BYTES = 4,
  MOST_ROWS = 48,
  MOST_ROW_BYTES = 4096,
  MOST_PADS = 16,  /* in accesses of the widest kind: powers of two, and more than 2 of them in long
                      rows only: */
  LEAST_ROWS = 8,  /* times as long */
  WIDE_BYTES = 16, /* behind which ptxas goes on merging accesses: of rows twice as long */
  MOST_TRIED = 4,  /* for an array: each is a rewriting of the kernel */
  MOST_SHAPES = 2,
  MOST_STATIC_BYTES = 48 * 1024,
  MOST_INSTRUCTIONS = 20000, /* of a kernel: rewriting it some times takes long then */
};

/* ---- Rows ---- */

typedef struct rows {
  unsigned count;
  uint64_t bytes[MOST_ROWS];
} rows;

static void add_row(rows *list, uint64_t bytes) {
  for (unsigned i = 0; i < list->count; i++)
    if (list->bytes[i] == bytes)
      return;
  if (list->count < MOST_ROWS && bytes >= 2 * WORD_BYTES && bytes <= MOST_ROW_BYTES &&
      bytes % WORD_BYTES == 0)
    list->bytes[list->count++] = bytes;
}

/* The strides of tiles, which are a row or some. */
static void find_strides(const bf_ptx_function *kernel, rows *list) {
  for (uint32_t i = 0; i < kernel->instructions; i++) {
    bf_ptx_tile tile;
    uint64_t bytes;
    if (bf_ptx_tile_read(kernel->instruction[i], &tile) &&
        bf_ptx_tile_stride(kernel, kernel->instruction[i], &tile, &bytes))
      add_row(list, bytes);
  }
}

/* Numbers by which a kernel multiplies, as bytes or as elements of up to 16 bytes. */
static void find_rows(const bf_ptx_function *kernel, rows *list) {
  enum { MOST_ELEMENT = 16 };
  list->count = 0;
  find_strides(kernel, list);
  for (uint32_t i = 0; i < kernel->instructions; i++) {
    const bf_ptx_instruction *at = kernel->instruction[i];
    bool is_shift = at->opcode == BF_PTX_OP_SHL;
    if (!is_shift && at->opcode != BF_PTX_OP_MUL && at->opcode != BF_PTX_OP_MAD)
      continue;
    for (unsigned k = is_shift ? 2 : 1; k < 3 && k < at->operands; k++) {
      uint64_t number = at->operand[k].kind == BF_PTX_INTEGER ? at->operand[k].bits : 0;
      if (!number || number > (is_shift ? 12 : MOST_ROW_BYTES))
        continue;
      for (uint64_t size = 1; size <= MOST_ELEMENT; size *= 2)
        add_row(list, (is_shift ? (uint64_t)1 << number : number) * size);
    }
  }
}

/* ---- Candidates ---- */

/* A row and padding for an array. */
typedef struct candidate {
  uint64_t row_bytes, pad_bytes;
  bf_work_array_cost cost;
} candidate;

static int count(const bf_forecast *forecast, unsigned forecasts, const char *array,
                 const bf_hash *padding, bf_work_array_cost *cost, bf_diagnostic *diagnostic) {
  *cost = (bf_work_array_cost){0};
  for (unsigned i = 0; i < forecasts && i < MOST_SHAPES; i++) {
    bf_work_array_cost own;
    BF_TRY(bf_work_count_array(&forecast[i].options, array, padding, &own, diagnostic));
    cost->accesses += own.accesses;
    cost->wavefronts += own.wavefronts;
    cost->conflicts += own.conflicts;
  }
  return BF_OK;
}

/* Whether a candidate comes before another: fewer wavefronts, then fewer accesses, where it keeps
 * more of those that ptxas merges, then less memory. */
static bool is_before(const candidate *a, const candidate *b) {
  if (a->cost.wavefronts < b->cost.wavefronts || a->cost.wavefronts > b->cost.wavefronts)
    return a->cost.wavefronts < b->cost.wavefronts;
  if (a->cost.accesses < b->cost.accesses || a->cost.accesses > b->cost.accesses)
    return a->cost.accesses < b->cost.accesses;
  return a->pad_bytes * b->row_bytes < b->pad_bytes * a->row_bytes;
}

/* Puts a candidate into a list of the best. */
static void keep(candidate best[MOST_TRIED], unsigned *kept, const candidate *new) {
  unsigned at = *kept;
  while (at > 0 && is_before(new, &best[at - 1]))
    at--;
  if (at == MOST_TRIED)
    return;
  unsigned moved = (*kept < MOST_TRIED ? *kept : MOST_TRIED - 1) - at;
  memmove(&best[at + 1], &best[at], moved * sizeof *best);
  best[at] = *new;
  *kept += *kept < MOST_TRIED;
}

/* The best rows and paddings for an array, of whole grains; none where nothing conflicts. */
static int list_best(const bf_forecast *forecast, unsigned forecasts, const rows *list,
                     const bf_rewrite_array *array, uint64_t grain, candidate best[MOST_TRIED],
                     unsigned *kept, bf_diagnostic *diagnostic) {
  bf_work_array_cost before;
  *kept = 0;
  BF_TRY(count(forecast, forecasts, array->name, NULL, &before, diagnostic));
  for (unsigned i = 0; before.conflicts > 0 && i < list->count; i++)
    for (unsigned k = 1; k <= MOST_PADS; k *= 2) {
      candidate new = {.row_bytes = list->bytes[i], .pad_bytes = k * grain};
      uint64_t bytes = array->variable->bytes / new.row_bytes *new.pad_bytes;
      bf_hash padding = {.kind = BF_HASH_PAD,
                         .row_words = new.row_bytes / WORD_BYTES,
                         .pad_words = new.pad_bytes / WORD_BYTES};
      bool is_open = array->variable->bytes == 0;
      bool is_wide = new.pad_bytes == WIDE_BYTES &&new.row_bytes % WIDE_BYTES == 0;
      if ((k > 2 && !is_wide && new.row_bytes < LEAST_ROWS *new.pad_bytes) ||
          new.row_bytes < 2 * new.pad_bytes || new.row_bytes % grain ||
          (new.row_bytes >= array->variable->bytes && !is_open) ||
          array->variable->bytes + bytes > MOST_STATIC_BYTES)
        continue;
      BF_TRY(count(forecast, forecasts, array->name, &padding, &new.cost, diagnostic));
      if (new.cost.wavefronts < before.wavefronts)
        keep(best, kept, &new);
    }
  return BF_OK;
}

/* ---- Trying ---- */

/* One array of one kernel has a padding. */
typedef struct asked {
  const char *kernel, *array;
  const bf_hash *padding;
} asked;

static const bf_hash *asked_hash(void *context, const bf_ptx_function *kernel,
                                 const bf_ptx_variable *array) {
  const asked *own = context;
  bool is_it =
      array && strcmp(kernel->name, own->kernel) == 0 && strcmp(array->name, own->array) == 0;
  return is_it ? own->padding : NULL;
}

/* The kernel alone with all that is no function of the module; *module is to be freed. NULL: what
 * is left names what is not, as a table of functions does. */
static int cut_out(const bf_ptx_module *whole, const bf_ptx_function *kernel,
                   bf_ptx_module **module, bf_diagnostic *diagnostic) {
  bf_arena arena = {0};
  bf_text text = {0};
  bf_ptx_module part = *whole;
  bf_ptx_item **end = &part.first;
  int error = BF_OK;
  part.first = NULL;
  for (const bf_ptx_item *at = whole->first; at && !error; at = at->next) {
    bool is_other = at->kind == BF_PTX_ITEM_FUNCTION && at->function->has_body;
    if ((is_other && at->function != kernel) || at->kind == BF_PTX_ITEM_ALIAS)
      continue;
    bf_ptx_item *copy = bf_arena_alloc(&arena, sizeof *copy);
    if (!copy)
      error = bf_no_memory(diagnostic);
    else {
      *copy = *at;
      copy->next = NULL;
      *end = copy;
      end = &copy->next;
    }
  }
  if (!error) {
    bf_ptx_print(&part, &text);
    bf_diagnostic unread = {.caret = -1};
    error =
        text.failed ? BF_NO_MEMORY : bf_ptx_parse("part", text.data, text.size, module, &unread);
    error = error == BF_NO_MEMORY ? bf_no_memory(diagnostic) : BF_OK;
  }
  bf_text_free(&text);
  bf_arena_free(&arena);
  return error;
}

/* What is tried: a kernel of a module, and an array of it. */
typedef struct trying {
  const bf_ptx_module *module;
  const char *kernel, *array;
  bool is_beside; /* launches choose between the original and a second version */
  bf_diagnostic *diagnostic;
} trying;

/* The module with a padding of the array, changed where it can have that; is_beside: with the
 * original beside it, as launches choose between the two. */
static int rewrite_padded(const trying *t, const bf_hash *padding, bool keeps_accesses,
                          bool is_beside, bf_rewrite_result *result) {
  asked own = {t->kernel, t->array, padding};
  bf_rewrite_options options = {.context = &own,
                                .hash_of = asked_hash,
                                .padding_has_room = true,
                                .blocks_are_checked = true,
                                .resizes_dynamic = true,
                                .keeps_accesses = keeps_accesses,
                                .is_beside = is_beside};
  return bf_rewrite(t->module, &options, result, t->diagnostic);
}

/* The padding of a candidate, for blocks as the text behind it says. */
static int make_padding(const candidate *of, const char *blocks, bf_hash **hash,
                        bf_diagnostic *diagnostic) {
  char text[96];
  snprintf(text, sizeof text, "pad:%llu+%llu%s", (unsigned long long)(of->row_bytes / WORD_BYTES),
           (unsigned long long)(of->pad_bytes / WORD_BYTES), blocks);
  return bf_hash_parse(text, &bf_listed_geometry, hash, diagnostic);
}

/* Takes a padding for blocks as the text behind it says, where the array can have it. */
static int take(const trying *t, const candidate *best, const char *blocks, bf_hash **taken) {
  bf_rewrite_result result = {0};
  bf_hash *hash;
  BF_TRY(make_padding(best, blocks, &hash, t->diagnostic));
  int error = rewrite_padded(t, hash, true, false, &result);
  bool is_good = !error && result.is_changed;
  bf_rewrite_free(&result);
  if (is_good)
    *taken = hash;
  else
    bf_hash_free(hash);
  return error;
}

/* The block with most threads, in which a kernel is most likely launched. */
static const uint32_t *likely_block(const bf_forecast *forecast, unsigned forecasts) {
  const bf_forecast *most = forecast;
  for (unsigned i = 1; i < forecasts; i++)
    if (forecast[i].threads > most->threads)
      most = &forecast[i];
  return most->block;
}

/* Limits of blocks, the weakest first. As many threads in x as a row has elements: with more of
 * them, subscripts would run over rows. Where the shape is known, also as many as it has in x, in
 * y, in both, and in all directions. */
enum { LIMITS = 8, LIMIT_BYTES = 40 };
static unsigned list_limits(const uint32_t block[3], bool is_known, uint64_t row_bytes,
                            char text[LIMITS][LIMIT_BYTES]) {
  enum { MOST_THREADS = 1024, LEAST_ELEMENT = 2, MOST_ELEMENT = 16 };
  unsigned count = 0;
  for (uint64_t element = LEAST_ELEMENT; element <= MOST_ELEMENT; element *= 2)
    if (row_bytes / element >= block[0] && row_bytes / element < MOST_THREADS)
      snprintf(text[count++], LIMIT_BYTES, "@%u", (unsigned)(row_bytes / element));
  if (is_known)
    snprintf(text[count++], LIMIT_BYTES, "@%u", block[0]);
  if (is_known && block[1] > 1) {
    snprintf(text[count++], LIMIT_BYTES, "@1024x%u", block[1]);
    snprintf(text[count++], LIMIT_BYTES, "@%ux%u", block[0], block[1]);
  }
  if (is_known && block[2] > 1)
    snprintf(text[count++], LIMIT_BYTES, "@%ux%ux%u", block[0], block[1], block[2]);
  return count;
}

/* Takes the first of the best paddings that the array can have; block: NULL, or that which a
 * padding must suit at least. */
static int take_first(const trying *t, const candidate *best, unsigned kept, const uint32_t *block,
                      bool is_known, bf_hash **taken) {
  enum { MOST_LIMITED = 2 }; /* for each of which all limits are tried */
  for (unsigned i = 0; i < kept && !*taken; i++)
    BF_TRY(take(t, &best[i], "", taken));
  for (unsigned i = 0; block && i < kept && i < MOST_LIMITED; i++) {
    char limit[LIMITS][LIMIT_BYTES];
    unsigned limits = list_limits(block, is_known, best[i].row_bytes, limit);
    for (unsigned k = 0; k < limits && !*taken; k++)
      BF_TRY(take(t, &best[i], limit[k], taken));
  }
  return BF_OK;
}

/* ---- Places at the access ---- */

/* For bf_work_hashes: one array has a padding. */
static const bf_hash *placed_hash(const void *context, const char *array) {
  const asked *own = context;
  return array && strcmp(array, own->array) == 0 ? own->padding : NULL;
}

/* What a rewritten kernel gains over some shapes of blocks, as the judge counts work; *is_good is
 * false where that is not known. */
static int gain_of(const trying *t, const bf_rewrite_result *result, const bf_hash *padding,
                   const bf_forecast *forecast, unsigned forecasts, bool *is_good, double *gain) {
  const bf_ptx_function *made = result->module ? bf_ptx_find(result->module, t->kernel) : NULL;
  const asked own = {t->kernel, t->array, padding};
  const bf_work_hashes hashes = {.hash_of = placed_hash, .context = &own};
  bf_work_version version = {0};
  *is_good = made != NULL;
  *gain = 0;
  if (!made)
    return BF_OK;
  int error = bf_work_version_make(result->module, made, &version, t->diagnostic);
  for (unsigned i = 0; i < forecasts && i < MOST_SHAPES && *is_good && !error; i++) {
    bf_work after[BF_FORECAST_TRIPS];
    bf_prediction predicted;
    error = bf_forecast_count(&forecast[i], &version, &hashes, after, is_good, t->diagnostic);
    if (error || !*is_good)
      break;
    bf_forecast_judge(&forecast[i], &version, after, 0, &predicted);
    *gain += bf_judge_gain(&predicted.comparison);
  }
  bf_work_version_free(&version);
  return error;
}

/* Whether rows are shorter than those that paddings of several accesses are usually given to. */
static bool is_short(const bf_hash *padding, uint64_t grain) {
  return padding->pad_words * WORD_BYTES > 2 * grain &&
         padding->row_words < LEAST_ROWS * padding->pad_words;
}

/* Whether places are so few that rows are cheaper than a hash: no more than 3 instructions, what a
 * place takes, for two accesses. */
static bool is_cheap(const bf_rewrite_result *result, const trying *t) {
  for (unsigned k = 0; k < result->kernels; k++)
    if (strcmp(result->kernel[k].name, t->kernel) == 0)
      return result->kernel[k].added_instructions * 2 <= result->kernel[k].hashed * 3;
  return false;
}

/* Whether a second version with that padding can stand beside the original. */
static int can_be_beside(const trying *t, const bf_hash *padding, bool *is_good) {
  bf_rewrite_result result = {0};
  BF_TRY(rewrite_padded(t, padding, false, true, &result));
  *is_good = result.is_changed;
  bf_rewrite_free(&result);
  return BF_OK;
}

/* Takes the padding that gains most with places computed at accesses, where one gains at all. */
static int take_placed(const trying *t, const candidate *best, unsigned kept,
                       const bf_forecast *forecast, unsigned forecasts, double *most,
                       bf_hash **taken) {
  int error = BF_OK;
  for (unsigned i = 0; i < kept && !error; i++) {
    bf_rewrite_result result = {0};
    bf_hash *hash;
    bool is_good = false;
    double gain = 0;
    if (best[i].row_bytes & (best[i].row_bytes - 1))
      continue;
    BF_TRY(make_padding(&best[i], "", &hash, t->diagnostic));
    error = rewrite_padded(t, hash, false, false, &result);
    if (!error)
      error = gain_of(t, &result, hash, forecast, forecasts, &is_good, &gain);
    is_good = is_good && gain > *most && is_cheap(&result, t);
    bf_rewrite_free(&result);
    if (!error && is_good && t->is_beside)
      error = can_be_beside(t, hash, &is_good);
    if (!error && is_good) {
      *most = gain;
      bf_hash *before = *taken;
      *taken = hash;
      hash = before;
    }
    bf_hash_free(hash);
  }
  return error;
}

/* ---- Kernels ---- */

static bool calls_others(const bf_ptx_function *kernel) {
  for (uint32_t i = 0; i < kernel->instructions; i++)
    if (kernel->instruction[i]->opcode == BF_PTX_OP_CALL)
      return true;
  return false;
}

/* The same for one array, in a part of the module that is made where it is first needed. */
static int propose_array(const bf_plans *plans, bf_plan *plan, unsigned index, const rows *list,
                         const bf_forecast *forecast, unsigned forecasts, bf_ptx_module **part,
                         bf_diagnostic *diagnostic) {
  const bf_rewrite_array *array = &bf_plan_examined(plans, plan)->array[index];
  uint64_t grain =
      array->padding_grain_bytes > WORD_BYTES ? array->padding_grain_bytes : WORD_BYTES;
  candidate best[MOST_TRIED];
  unsigned kept = 0;
  bool is_open = array->variable->bytes == 0 && plans->resizes_dynamic;
  if ((array->variable->bytes <= BF_REWRITE_ROW_BYTES && !is_open) || !array->accesses)
    return BF_OK;
  bf_diagnostic why = {.caret = -1};
  int error = list_best(forecast, forecasts, list, array, grain, best, &kept, &why);
  if (error == BF_NO_MEMORY)
    return bf_no_memory(diagnostic);
  if (error || !kept) /* an address lies outside of shared memory: nothing is known */
    return BF_OK;
  if (!*part)
    BF_TRY(cut_out(plans->module, forecast->original->function, part, diagnostic));
  if (!*part)
    return BF_OK;
  const trying t = {*part, plan->name, array->name, plans->blocks_are_checked, diagnostic};
  const uint32_t *block = plans->blocks_are_checked ? likely_block(forecast, forecasts) : NULL;
  bf_hash **taken = &plan->array_padding[index];
  double most = 0;
  BF_TRY(take_first(&t, best, kept, block, forecasts == 1, taken));
  if (*taken) {
    plan->is_unusual |= is_short(*taken, grain);
    return BF_OK;
  }
  BF_TRY(take_placed(&t, best, kept, forecast, forecasts, &most, taken));
  if (grain < WIDE_BYTES &&
      !list_best(forecast, forecasts, list, array, WIDE_BYTES, best, &kept, &why))
    BF_TRY(take_placed(&t, best, kept, forecast, forecasts, &most, taken));
  plan->is_unusual |= *taken != NULL;
  return BF_OK;
}

int bf_padding_propose(const bf_plans *plans, bf_plan *plan, const bf_forecast *forecast,
                       unsigned forecasts, bf_diagnostic *diagnostic) {
  const bf_rewrite_kernel *examined = bf_plan_examined(plans, plan);
  bf_ptx_module *part = NULL;
  int error = BF_OK;
  rows list;
  if (!forecasts || !examined->knows_arrays ||
      forecast->original->function->instructions > MOST_INSTRUCTIONS ||
      calls_others(forecast->original->function))
    return BF_OK;
  plan->array_padding = calloc((size_t)examined->arrays + 1, sizeof *plan->array_padding);
  if (!plan->array_padding)
    return bf_no_memory(diagnostic);
  find_rows(forecast->original->function, &list);
  for (unsigned i = 0; i < examined->arrays && !error; i++)
    error = propose_array(plans, plan, i, &list, forecast, forecasts, &part, diagnostic);
  bf_ptx_free(part);
  return error;
}
