/* How much shared memory a kernel needs: the variables that it, or a function it reaches, names. A
 * rewritten kernel must not need more than a kernel may have. */
#include "verify/inner.h"

/* What ptxas lets a kernel declare. Published: CUDA C++ Programming Guide, technical specifications
 * per compute capability. */
enum { MOST_STATIC_BYTES = 48 * 1024 };

/* Where shared memory ends when the variable follows what ends there. */
static uint64_t append(uint64_t end, const bf_ptx_variable *variable) {
  uint64_t alignment = (uint64_t)1 << bf_verify_variable_zero_bits(variable);
  return (end + alignment - 1) / alignment * alignment + variable->bytes;
}

/* A variable that a kernel names, and what comes next in a list. */
typedef struct named {
  struct named *next;
  const bf_ptx_variable *variable;
} named;

/* Shared variables, each once. */
typedef struct listing {
  bf_arena arena;
  bf_table members;
  named *first;
} listing;

/* Adds a shared variable to the list, unless it is there; false when memory is exhausted. */
static bool add_variable(void *context, const bf_ptx_variable *variable) {
  listing *list = context;
  if (variable->space != BF_PTX_SPACE_SHARED)
    return true;
  void **member = bf_table_at(&list->members, &variable, sizeof variable);
  if (!member || *member)
    return member;
  named *made = bf_arena_alloc(&list->arena, sizeof *made);
  if (!made)
    return false;
  *made = (named){list->first, variable};
  *member = list->first = made;
  return true;
}

/* Lists the variables that a kernel names, whether the module declares them or a function. */
static int list_named(const bf_ptx_function *kernel, listing *list) {
  bf_verify_reached *reached;
  BF_TRY(bf_verify_reach(kernel, &list->arena, &reached));
  for (const bf_verify_reached *at = reached; at; at = at->next)
    if (!bf_verify_visit_named(at->function, add_variable, list))
      return BF_NO_MEMORY;
  return BF_OK;
}

/* Bytes of these variables. */
static int count_bytes(const bf_ptx_function *kernel, uint64_t *bytes) {
  listing list = {0};
  list.members.arena = &list.arena;
  int error = list_named(kernel, &list);
  *bytes = 0;
  for (const named *at = list.first; at && !error; at = at->next)
    *bytes = append(*bytes, at->variable);
  bf_arena_free(&list.arena);
  return error;
}

int bf_verify_fits(const bf_ptx_module *rewritten, const bf_ptx_function *kernel, bool *fits) {
  const bf_ptx_function *twin = bf_ptx_find(rewritten, kernel->name);
  uint64_t before = 0, after = 0;
  if (twin)
    BF_TRY(count_bytes(twin, &after));
  if (after > MOST_STATIC_BYTES)
    BF_TRY(count_bytes(kernel, &before));
  *fits = after <= MOST_STATIC_BYTES || before > MOST_STATIC_BYTES;
  return BF_OK;
}
