/* A graph with numbers for its parameters: terms get values, arrays get addresses. */
#include "rgpu/reader.h"

#include <stdlib.h>
#include <string.h>

/* Fails at a place of the graph's text, which is no longer there to be shown. */
static int fail_at(const bf_rgpu_setup *setup, uint32_t line, uint32_t column,
                   bf_diagnostic *diagnostic, const char *message) {
  int error = bf_fail_file(diagnostic, BF_BAD_INPUT, setup->graph->file, "%s", message);
  if (diagnostic) {
    diagnostic->line = line;
    diagnostic->column = column;
  }
  return error;
}

/* ---- Values of terms ---- */

typedef struct evaluation {
  const bf_rgpu_setup *setup;
  bf_rgpu_where where;
  bf_diagnostic *diagnostic;
} evaluation;

static int64_t leaf_value(const evaluation *e, const bf_rgpu_term *term) {
  switch (term->kind) {
  case BF_RGPU_TERM_PARAMETER:
    return e->setup->parameter[term->name];
  case BF_RGPU_TERM_ARRAY:
    return e->setup->array_address[term->name];
  case BF_RGPU_TERM_BLOCK:
    return (int64_t)e->where.block;
  case BF_RGPU_TERM_BLOCKS:
    return (int64_t)e->setup->blocks;
  case BF_RGPU_TERM_COPY:
    return (int64_t)e->where.copy;
  case BF_RGPU_TERM_COPIES:
    return (int64_t)e->setup->copies;
  case BF_RGPU_TERM_INDEX:
    return (int64_t)e->where.index;
  default:
    return term->number;
  }
}

/* left KIND right; false where the result does not fit. */
static bool combine(bf_rgpu_term_kind kind, int64_t left, int64_t right, int64_t *value) {
  switch (kind) {
  case BF_RGPU_TERM_ADD:
    return !__builtin_add_overflow(left, right, value);
  case BF_RGPU_TERM_SUBTRACT:
    return !__builtin_sub_overflow(left, right, value);
  case BF_RGPU_TERM_MULTIPLY:
    return !__builtin_mul_overflow(left, right, value);
  default:
    if (left == INT64_MIN && right == -1)
      return false;
    *value = kind == BF_RGPU_TERM_DIVIDE ? left / right : left % right;
    return true;
  }
}

static int evaluate(const evaluation *e, const bf_rgpu_term *term, int64_t *value) {
  if (!term->left) {
    *value = leaf_value(e, term);
    return BF_OK;
  }
  int64_t left = 0, right = 0;
  BF_TRY(evaluate(e, term->left, &left));
  BF_TRY(evaluate(e, term->right, &right));
  bool divides = term->kind == BF_RGPU_TERM_DIVIDE || term->kind == BF_RGPU_TERM_REMAINDER;
  if (divides && right == 0)
    return fail_at(e->setup, term->line, term->column, e->diagnostic, "division by 0");
  if (!combine(term->kind, left, right, value))
    return fail_at(e->setup, term->line, term->column, e->diagnostic,
                   "the value does not fit in 64 bits");
  return BF_OK;
}

int bf_rgpu_term_value(const bf_rgpu_setup *setup, const bf_rgpu_term *term, bf_rgpu_where where,
                       int64_t *value, bf_diagnostic *diagnostic) {
  evaluation e = {.setup = setup, .where = where, .diagnostic = diagnostic};
  return evaluate(&e, term, value);
}

int bf_rgpu_term_bits(const bf_rgpu_setup *setup, const bf_rgpu_term *term, bf_rgpu_where where,
                      uint32_t *bits, bf_diagnostic *diagnostic) {
  int64_t value = 0;
  BF_TRY(bf_rgpu_term_value(setup, term, where, &value, diagnostic));
  if (value < INT32_MIN || value > UINT32_MAX)
    return fail_at(setup, term->line, term->column, diagnostic,
                   "the value does not fit in 32 bits");
  *bits = (uint32_t)value;
  return BF_OK;
}

int bf_rgpu_value_bits(const bf_rgpu_setup *setup, const bf_rgpu_value *value, bool is_float,
                       bf_rgpu_where where, const unsigned char *global, uint32_t *bits,
                       bf_diagnostic *diagnostic) {
  int64_t number = 0;
  *bits = value->bits;
  if (!value->term)
    return BF_OK;
  if (!is_float && !value->is_element)
    return bf_rgpu_term_bits(setup, value->term, where, bits, diagnostic);
  BF_TRY(bf_rgpu_term_value(setup, value->term, where, &number, diagnostic));
  if (!value->is_element) {
    float converted = (float)number;
    memcpy(bits, &converted, sizeof converted);
    return BF_OK;
  }
  if (number < 0 || (uint64_t)number >= setup->array_count[value->array])
    return fail_at(setup, value->term->line, value->term->column, diagnostic,
                   "the array has no such element");
  bf_rgpu_type type = setup->graph->array[value->array].type;
  uint64_t address = setup->array_address[value->array] - BF_RGPU_GLOBAL_BASE +
                     (uint64_t)number * bf_rgpu_type_bytes(type);
  *bits = bf_rgpu_load(type, global + address);
  return BF_OK;
}

/* ---- Arrays ---- */

/* A number that looks random, the same for the same seed and index (the finaliser of splitmix64).
 */
static uint64_t scramble(uint64_t seed, uint64_t index) {
  uint64_t z = (seed << 32) + index * UINT64_C(0x9e3779b97f4a7c15) + UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

int bf_rgpu_array_element(const bf_rgpu_setup *setup, unsigned array, uint64_t index,
                          uint32_t *bits, bf_diagnostic *diagnostic) {
  const bf_rgpu_array *from = &setup->graph->array[array];
  bool is_float = bf_rgpu_type_is_float(from->type);
  float number = from->number;
  if (from->fill == BF_RGPU_FILL_TERM) {
    bf_rgpu_value value = {.term = from->content};
    bf_rgpu_where where = {.index = index};
    return bf_rgpu_value_bits(setup, &value, is_float, where, NULL, bits, diagnostic);
  }
  if (from->fill == BF_RGPU_FILL_RANDOM) {
    float share = (float)(scramble(from->seed, index) >> 40) / (1 << 24);
    number = share * from->number;
    *bits = (uint32_t)number;
  }
  if (is_float)
    memcpy(bits, &number, sizeof number);
  return BF_OK;
}

/* How many elements an array has and where it starts. */
static int place_array(bf_rgpu_setup *setup, unsigned number, bf_diagnostic *diagnostic) {
  const bf_rgpu_array *array = &setup->graph->array[number];
  uint64_t *bytes = array->is_shared ? &setup->shared_bytes : &setup->global_bytes;
  int64_t count = 0, present = 0;
  BF_TRY(bf_rgpu_term_value(setup, array->count, (bf_rgpu_where){0}, &count, diagnostic));
  if (array->present)
    BF_TRY(bf_rgpu_term_value(setup, array->present, (bf_rgpu_where){0}, &present, diagnostic));
  if (count < 1 || (uint64_t)count > BF_RGPU_MOST_BYTES)
    return fail_at(setup, array->line, array->column, diagnostic,
                   "an array has from 1 to 2^30 elements");
  if (present < 0 || present > count)
    return fail_at(setup, array->line, array->column, diagnostic,
                   "more elements are present than there are");
  setup->array_count[number] = (uint64_t)count;
  setup->array_present[number] = (uint64_t)present;
  setup->array_address[number] = (uint32_t)(*bytes + (array->is_shared ? 0 : BF_RGPU_GLOBAL_BASE));
  *bytes += (uint64_t)count * bf_rgpu_type_bytes(array->type);
  *bytes = (*bytes + BF_RGPU_ALIGN_BYTES - 1) & ~(uint64_t)(BF_RGPU_ALIGN_BYTES - 1);
  return *bytes <= BF_RGPU_MOST_BYTES ? BF_OK
                                      : fail_at(setup, array->line, array->column, diagnostic,
                                                "more than 2^30 bytes of arrays");
}

/* ---- Parameters and totals ---- */

int bf_rgpu_read_override(const bf_rgpu_graph *graph, const char *text, unsigned *parameter,
                          int64_t *value, bf_diagnostic *diagnostic) {
  size_t length = strcspn(text, "=");
  int found = rgpu_find_parameter(graph, text, length);
  char *end = NULL;
  if (!text[length])
    return bf_fail(diagnostic, BF_BAD_INPUT, "expected NAME=NUMBER, not '%.80s'", text);
  if (found < 0)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, graph->file, "no parameter '%.*s'",
                        (int)(length < 80 ? length : 80), text);
  long long number = strtoll(text + length + 1, &end, 0);
  if (end == text + length + 1 || *end || number < INT32_MIN || number > INT32_MAX)
    return bf_fail(diagnostic, BF_BAD_INPUT, "'%.80s': a parameter is a whole number of 32 bits",
                   text);
  *parameter = (unsigned)found;
  *value = number;
  return BF_OK;
}

static int find_total(const bf_rgpu_setup *setup, const bf_rgpu_term *term, const char *message,
                      uint64_t *total, bf_diagnostic *diagnostic) {
  int64_t value = 0;
  BF_TRY(bf_rgpu_term_value(setup, term, (bf_rgpu_where){0}, &value, diagnostic));
  if (value < 1 || (uint64_t)value > BF_RGPU_MOST_COUNT)
    return fail_at(setup, term->line, term->column, diagnostic, message);
  *total = (uint64_t)value;
  return BF_OK;
}

static int allocate(bf_rgpu_setup *setup) {
  const bf_rgpu_graph *graph = setup->graph;
  bf_arena *arena = &setup->arena;
  setup->parameter = bf_arena_alloc(arena, graph->parameters * sizeof *setup->parameter);
  setup->array_count = bf_arena_alloc(arena, graph->arrays * sizeof *setup->array_count);
  setup->array_present = bf_arena_alloc(arena, graph->arrays * sizeof *setup->array_present);
  setup->array_address = bf_arena_alloc(arena, graph->arrays * sizeof *setup->array_address);
  return setup->parameter && setup->array_count && setup->array_present && setup->array_address
             ? BF_OK
             : BF_NO_MEMORY;
}

static int fill_setup(bf_rgpu_setup *setup, unsigned overrides, const char *const *override,
                      bf_diagnostic *diagnostic) {
  const bf_rgpu_graph *graph = setup->graph;
  if (allocate(setup) != BF_OK)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < graph->parameters; i++)
    setup->parameter[i] = graph->parameter[i].value;
  for (unsigned i = 0; i < overrides; i++) {
    unsigned parameter = 0;
    int64_t value = 0;
    BF_TRY(bf_rgpu_read_override(graph, override[i], &parameter, &value, diagnostic));
    setup->parameter[parameter] = value;
  }
  BF_TRY(find_total(setup, graph->iterations, "from 1 to 2^40 iterations", &setup->iterations,
                    diagnostic));
  BF_TRY(find_total(setup, graph->blocks, "from 1 to 2^40 blocks", &setup->blocks, diagnostic));
  for (unsigned i = 0; i < graph->arrays; i++)
    BF_TRY(place_array(setup, i, diagnostic));
  return BF_OK;
}

int bf_rgpu_setup_create(const bf_rgpu_graph *graph, uint64_t copies, unsigned overrides,
                         const char *const *override, bf_rgpu_setup **setup,
                         bf_diagnostic *diagnostic) {
  *setup = calloc(1, sizeof **setup);
  if (!*setup)
    return bf_no_memory(diagnostic);
  (*setup)->graph = graph;
  (*setup)->copies = copies;
  int error = fill_setup(*setup, overrides, override, diagnostic);
  if (error) {
    bf_rgpu_setup_free(*setup);
    *setup = NULL;
  }
  return error;
}

void bf_rgpu_setup_free(bf_rgpu_setup *setup) {
  if (!setup)
    return;
  bf_arena_free(&setup->arena);
  free(setup);
}
