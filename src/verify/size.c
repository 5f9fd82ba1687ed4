/* How much shared memory a kernel declares: what it reaches by name, and what the functions that it
 * reaches declare. A rewritten kernel must not need more than a kernel may have. */
#include "verify/inner.h"

#include <stdlib.h>

/* What ptxas lets a kernel declare. Published: CUDA C++ Programming Guide, technical specifications
 * per compute capability. */
enum { MOST_STATIC_BYTES = 48 * 1024 };

/* Where shared memory ends when the variable follows what ends there. */
static uint64_t append(uint64_t end, const bf_ptx_variable *variable) {
  uint64_t alignment = (uint64_t)1 << bf_verify_variable_zero_bits(variable);
  return variable->space == BF_PTX_SPACE_SHARED
             ? (end + alignment - 1) / alignment * alignment + variable->bytes
             : end;
}

static uint64_t append_statements(uint64_t end, const bf_ptx_statement *statement) {
  for (; statement; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_SCOPE)
      end = append_statements(end, statement->scope);
    else if (statement->kind == BF_PTX_STATEMENT_VARIABLE)
      end = append(end, statement->variable);
  return end;
}

/* A shared variable of the module, while those of a kernel are listed. */
typedef struct listed {
  struct listed *next;
  const bf_ptx_variable *variable;
  unsigned place;
} listed;

typedef struct listing {
  const struct bf_verify_job *job;
  bf_arena *arena;
  bf_table members;
  listed *first;
  size_t count;
} listing;

/* Adds a variable, unless it is there or none of the module; false when memory is exhausted. */
static bool add(void *context, const bf_ptx_variable *variable) {
  listing *list = context;
  unsigned place = bf_verify_place(list->job, variable);
  if (!place)
    return true;
  void **member = bf_table_at(&list->members, &variable, sizeof variable);
  listed *made = member && !*member ? bf_arena_alloc(list->arena, sizeof *made) : NULL;
  if (!made)
    return member && *member;
  *made = (listed){list->first, variable, place};
  *member = list->first = made;
  list->count++;
  return true;
}

static int compare_places(const void *a, const void *b) {
  unsigned left = ((const listed *)a)->place, right = ((const listed *)b)->place;
  return (left > right) - (left < right);
}

/* Where shared memory ends behind the listed variables, in the order of the module. */
static int append_listed(const listing *list, uint64_t *end) {
  listed *sorted = bf_arena_alloc(list->arena, (list->count + 1) * sizeof *sorted);
  size_t count = 0;
  if (!sorted)
    return BF_NO_MEMORY;
  for (const listed *at = list->first; at; at = at->next)
    sorted[count++] = *at;
  qsort(sorted, count, sizeof *sorted, compare_places);
  for (size_t i = 0; i < count; i++)
    *end = append(*end, sorted[i].variable);
  return BF_OK;
}

/* Bytes that a kernel of a module declares. */
static int count_with(const struct bf_verify_job *job, const bf_ptx_function *kernel,
                      bf_arena *arena, uint64_t *bytes) {
  listing list = {.job = job, .arena = arena, .members = {.arena = arena}};
  bf_verify_reached *reached;
  *bytes = 0;
  BF_TRY(bf_verify_reach(kernel, arena, &reached));
  for (const bf_verify_reached *at = reached; at; at = at->next)
    if (!bf_verify_visit_named(at->function, add, &list))
      return BF_NO_MEMORY;
  BF_TRY(append_listed(&list, bytes));
  for (const bf_verify_reached *at = reached; at; at = at->next)
    *bytes = append_statements(*bytes, at->function->body);
  return BF_OK;
}

/* The same with memory of its own. */
static int count_bytes(const struct bf_verify_job *job, const bf_ptx_function *kernel,
                       uint64_t *bytes) {
  bf_arena arena = {0};
  int error = count_with(job, kernel, &arena, bytes);
  bf_arena_free(&arena);
  return error;
}

int bf_verify_fits(const struct bf_verify_job *job, const bf_ptx_module *rewritten,
                   const bf_ptx_function *kernel, bool *fits) {
  const bf_ptx_function *twin = bf_ptx_find(rewritten, kernel->name);
  uint64_t before = 0, after = 0;
  if (twin)
    BF_TRY(count_bytes(job, twin, &after));
  if (after > MOST_STATIC_BYTES)
    BF_TRY(count_bytes(job, kernel, &before));
  *fits = after <= MOST_STATIC_BYTES || before > MOST_STATIC_BYTES;
  return BF_OK;
}
