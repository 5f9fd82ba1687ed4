/* Which array each access is to, and what that means for its hash.
 *
 * ptx/origin.c says from which variables an address may be computed; an access is known to be to an
 * array where that is one variable, and nothing went into it that was loaded where addresses are
 * stored. Open arrays all start at the same place and count as one. */
#include "rewrite/inner.h"

#include <stdlib.h>
#include <string.h>

/* ---- Origins ---- */

unsigned bf_rewrite_array_of(const bf_rewrite_plan *plan, unsigned variable) {
  return plan->variable[variable]->bytes == 0 ? plan->first_open : variable;
}

const bf_ptx_variable *bf_rewrite_named_array(const bf_rewrite_plan *plan,
                                              const bf_rewrite_kernel_plan *kernel,
                                              unsigned array) {
  for (unsigned i = 0; i < kernel->uses && !plan->variable[array]->bytes; i++)
    if (!plan->variable[kernel->use[i].variable]->bytes)
      return plan->variable[kernel->use[i].variable];
  return plan->variable[array];
}

/* The first two arrays of a set. */
static bf_rewrite_origin origin_of(const bf_rewrite_plan *plan, const bf_ptx_origins *origins,
                                   uint64_t set) {
  bf_rewrite_origin origin = {-1, -1};
  if (set & BF_PTX_ORIGIN_UNKNOWN)
    return origin;
  for (unsigned i = 0; i < origins->variables && origin.second < 0; i++) {
    if (!(set >> i & 1))
      continue;
    int number = bf_rewrite_find_variable(plan, origins->variable[i]);
    if (number < 0)
      return (bf_rewrite_origin){-1, -1};
    int array = (int)bf_rewrite_array_of(plan, (unsigned)number);
    if (origin.first < 0)
      origin.first = array;
    else if (array != origin.first)
      origin.second = array;
  }
  return origin;
}

/* Whether the operand, or one inside it, is a marked register. */
static bool has_marked(const bool *is_marked, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_REGISTER)
    return is_marked[operand->registers->first + operand->index];
  bool has_items = operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
                   operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand->count; i++)
    if (has_marked(is_marked, &operand->item[i]))
      return true;
  return false;
}

/* Marks all registers in an operand that is written; true where one was not. */
static bool mark(bool *is_marked, const bf_ptx_operand *operand) {
  bool changed = false;
  if (operand->kind == BF_PTX_REGISTER) {
    bool *own = &is_marked[operand->registers->first + operand->index];
    changed = !*own;
    *own = true;
  } else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
             operand->kind == BF_PTX_ARGUMENTS) {
    for (uint32_t i = 0; i < operand->count; i++)
      changed |= mark(is_marked, &operand->item[i]);
  }
  return changed;
}

/* Marks the registers into which something went that was loaded or that a call gave back. */
static void mark_loaded(const bf_ptx_function *function, bool *is_loaded) {
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < function->instructions; i++) {
      const bf_ptx_instruction *instruction = function->instruction[i];
      bool loads = bf_ptx_op_get(instruction->opcode)->access != BF_PTX_NO_ACCESS ||
                   instruction->opcode == BF_PTX_OP_CALL;
      for (unsigned k = 1; k < instruction->operands && !loads; k++)
        loads = has_marked(is_loaded, &instruction->operand[k]);
      if (loads && instruction->operands)
        changed |= mark(is_loaded, &instruction->operand[0]);
    }
  }
}

static bool find_in_function(const bf_rewrite_plan *plan, bf_rewrite_function *own) {
  const bf_ptx_function *function = own->function;
  size_t room = ((size_t)function->instructions + 1) * sizeof *own->origin;
  own->origin = bf_arena_alloc(plan->arena, room);
  if (!own->origin)
    return false;
  memset(own->origin, 0xff, room);
  if (!bf_rewrite_has_accesses(own) || plan->stores_shared)
    return true;
  bf_ptx_origins *origins;
  bool *is_loaded = bf_arena_alloc(plan->arena, (size_t)function->registers + 1);
  if (!is_loaded || bf_ptx_origins_create(plan->module, function, &origins, NULL) != BF_OK)
    return false;
  if (origins->loaded)
    mark_loaded(function, is_loaded);
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_touch *touch = &own->touch[i];
    bool is_tile = touch->kind == BF_TOUCH_GENERIC && touch->is_tile;
    if ((touch->kind == BF_TOUCH_SHARED || is_tile) &&
        !has_marked(is_loaded, &function->instruction[i]->operand[touch->operand]))
      own->origin[i] = origin_of(plan, origins, origins->of_address[i]);
    if (is_tile && origins->of_address[i] == 0)
      own->origin[i].first = BF_REWRITE_ELSEWHERE;
  }
  bf_ptx_origins_free(origins);
  return true;
}

bool bf_rewrite_find_origins(bf_rewrite_plan *plan) {
  for (unsigned f = 0; f < plan->functions; f++)
    if (!find_in_function(plan, &plan->function[f]))
      return false;
  return true;
}

/* ---- Hashes ---- */

bool bf_rewrite_same_hash(const bf_hash *a, const bf_hash *b) {
  return a == b || (a && b && a->geometry.address_bits == b->geometry.address_bits &&
                    strcmp(a->text, b->text) == 0);
}

bool bf_rewrite_pads(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                     unsigned variable) {
  const bf_rewrite_use *use = bf_rewrite_use_of(kernel, variable);
  return use && (plan->is_examination || use->pads);
}

const bf_hash *bf_rewrite_array_hash(const bf_rewrite_plan *plan,
                                     const bf_rewrite_kernel_plan *kernel, unsigned variable) {
  const bf_rewrite_use *use = bf_rewrite_use_of(kernel, variable);
  if (use)
    return use->hash;
  return variable == plan->first_open ? kernel->open_hash : NULL;
}

const bf_hash *bf_rewrite_hash_at(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                                  const bf_rewrite_function *function, uint32_t instruction) {
  bf_rewrite_origin origin = function->origin[instruction];
  if (!kernel->differs)
    return kernel->hash;
  return origin.first >= 0 && origin.second < 0
             ? bf_rewrite_array_hash(plan, kernel, (unsigned)origin.first)
             : NULL;
}

/* Whether the arrays that a uses have the same hashes in b. */
static bool arrays_alike(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *a,
                         const bf_rewrite_kernel_plan *b) {
  for (unsigned i = 0; i < a->uses; i++)
    if (a->use[i].padding ||
        !bf_rewrite_same_hash(a->use[i].hash, bf_rewrite_array_hash(plan, b, a->use[i].variable)))
      return false; /* an array with longer rows belongs to one kernel */
  return bf_rewrite_same_hash(bf_rewrite_array_hash(plan, a, plan->first_open),
                              bf_rewrite_array_hash(plan, b, plan->first_open));
}

bool bf_rewrite_hash_alike(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *a,
                           const bf_rewrite_kernel_plan *b) {
  if (a == b)
    return true;
  if (!a->differs && !b->differs)
    return bf_rewrite_same_hash(a->hash, b->hash);
  return a->differs && b->differs && arrays_alike(plan, a, b) && arrays_alike(plan, b, a);
}

/* ---- What is told ---- */

/* The place of an access in the list of arrays; place: per use of the kernel. -1: none. */
static int find_place(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                      const int *place, bf_rewrite_origin origin) {
  if (origin.first < 0 || origin.second >= 0)
    return -1;
  const bf_rewrite_use *use = bf_rewrite_use_of(kernel, (unsigned)origin.first);
  if (use)
    return place[use - kernel->use];
  return (unsigned)origin.first == plan->first_open ? place[kernel->uses] : -1;
}

/* Notes the accesses of the functions of a kernel to its arrays. Arrays without a list of accesses
 * only count them. */
static void note_accesses(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                          const int *place, bf_rewrite_kernel *out) {
  for (unsigned n = 0; n < kernel->reached.count; n++) {
    const bf_rewrite_function *own = &plan->function[kernel->reached.item[n]];
    for (uint32_t i = 0; i < own->function->instructions; i++) {
      if (!bf_rewrite_is_hashed(own, i))
        continue;
      int found = find_place(plan, kernel, place, own->origin[i]);
      if (own->origin[i].first == BF_REWRITE_ELSEWHERE)
        continue;
      if (found < 0) {
        out->knows_arrays = false;
        continue;
      }
      bf_rewrite_array *array = &out->array[found];
      if (array->access)
        array->access[array->accesses] = own->function->instruction[i];
      array->accesses++;
      unsigned granule = bf_rewrite_granule(&own->touch[i]);
      if (granule > array->granule_bytes)
        array->granule_bytes = granule;
      granule = bf_rewrite_padding_grain(&own->touch[i]);
      if (granule > array->padding_grain_bytes)
        array->padding_grain_bytes = granule;
    }
  }
}

/* Adds the array of a variable to the list, where it is not there: open ones are one, whose place
 * stands behind those of the uses. */
static bool add_array(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                      const bf_rewrite_use *use, int *place, bf_rewrite_kernel *out) {
  bool is_open = plan->variable[use->variable]->bytes == 0;
  int *own = &place[use - kernel->use], *shared = is_open ? &place[kernel->uses] : own;
  const bf_hash *hash = use->padding ? use->padding : use->hash;
  if (*shared < 0) {
    bf_rewrite_array *made = &out->array[out->arrays];
    *shared = (int)out->arrays++;
    made->variable = plan->variable[use->variable];
    made->name = bf_arena_copy(plan->arena, made->variable->name);
    made->hash = hash ? bf_arena_copy(plan->arena, hash->text) : NULL;
    if (!made->name || (hash && !made->hash))
      return false;
  }
  *own = *shared;
  return true;
}

/* Orders accesses by where they are in memory, so that one is found among many. */
static int compare_accesses(const void *one, const void *other) {
  uintptr_t a = (uintptr_t) * (const bf_ptx_instruction *const *)one;
  uintptr_t b = (uintptr_t) * (const bf_ptx_instruction *const *)other;
  return a < b ? -1 : a > b;
}

bool bf_rewrite_list_arrays(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                            bf_rewrite_kernel *out) {
  size_t room = (size_t)kernel->uses + 1;
  int *place = bf_arena_alloc(plan->arena, room * sizeof *place);
  out->array = bf_arena_alloc(plan->arena, room * sizeof *out->array);
  if (!place || !out->array)
    return false;
  memset(place, 0xff, room * sizeof *place);
  for (unsigned i = 0; i < kernel->uses; i++)
    if (!add_array(plan, kernel, &kernel->use[i], place, out))
      return false;
  out->knows_arrays = true;
  note_accesses(plan, kernel, place, out);
  for (unsigned i = 0; i < out->arrays; i++) {
    bf_rewrite_array *array = &out->array[i];
    array->access = bf_arena_alloc(plan->arena, ((size_t)array->accesses + 1) * sizeof(void *));
    array->accesses = 0;
    if (!array->access)
      return false;
  }
  note_accesses(plan, kernel, place, out);
  for (unsigned i = 0; i < out->arrays; i++)
    qsort(out->array[i].access, out->array[i].accesses, sizeof *out->array[i].access,
          compare_accesses);
  return true;
}

bool bf_rewrite_is_narrow(const bf_rewrite_kernel *examined, const bf_ptx_variable *array) {
  return examined->knows_arrays && array->bytes > 0 && array->bytes <= BF_REWRITE_ROW_BYTES;
}

const char *bf_rewrite_accessed_array(const bf_rewrite_kernel *kernel,
                                      const bf_ptx_instruction *access) {
  for (unsigned i = 0; i < kernel->arrays; i++)
    if (bsearch(&access, kernel->array[i].access, kernel->array[i].accesses,
                sizeof *kernel->array[i].access, compare_accesses))
      return kernel->array[i].name;
  return NULL;
}
