/* The hash of every array of a kernel, and what the kernel can reach in the original module. */
#include "verify/inner.h"

#include <string.h>

/* ---- What a kernel reaches ---- */

/* A list while it is made. */
typedef struct listing {
  bf_arena *arena;
  bf_verify_reached *last;
  bf_table members;
} listing;

/* Appends the function to the list, unless it is there. */
static int reach(listing *list, const bf_ptx_function *function) {
  void **place = bf_table_at(&list->members, &function, sizeof function);
  if (!place)
    return BF_NO_MEMORY;
  if (*place)
    return BF_OK;
  bf_verify_reached *made = bf_arena_alloc(list->arena, sizeof *made);
  if (!made)
    return BF_NO_MEMORY;
  made->function = function;
  *place = made;
  list->last->next = made;
  list->last = made;
  return BF_OK;
}

/* Appends the functions with a body that the function calls. */
static int reach_all(listing *list, const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_function *callee = bf_verify_callee(function->instruction[i]);
    if (callee && callee->has_body)
      BF_TRY(reach(list, callee));
  }
  return BF_OK;
}

int bf_verify_reach(const bf_ptx_function *kernel, bf_arena *arena, bf_verify_reached **first) {
  bf_verify_reached none = {0};
  listing list = {.arena = arena, .last = &none, .members = {.arena = arena}};
  BF_TRY(reach(&list, kernel));
  *first = none.next;
  for (const bf_verify_reached *at = *first; at; at = at->next)
    BF_TRY(reach_all(&list, at->function));
  return BF_OK;
}

/* ---- Generic addresses of shared memory ---- */

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

/* Whether the function turns addresses of shared memory into generic ones.
 *
 * Where no function that a kernel reaches does, its generic accesses never lead to shared memory:
 *  - Where the window of shared memory lies among generic addresses is not known to a program. What
 *    adds it to an address is cvta.shared, the operator generic() and mapa, which is refused; mov
 *    of a symbol gives the address inside the window.
 *  - So a generic address of shared memory was made by code of some block. Addresses of shared
 *    memory are good in the block they were made in only: what another kernel, another block or an
 *    earlier launch left in a parameter or in memory means nothing here (blocks of a cluster, which
 *    may exchange them, run the same kernel, and shared::cluster is refused).
 *  - Code of this block is what the kernel reaches: functions by name, as calls through registers,
 *    through aliases and of functions outside the module are refused, but for those of the driver
 *    that print, allocate and stop, which hand out no shared memory.
 *  - Initial values of variables are made before any block; the one that names a shared variable,
 *    which PTX does not allow, counts as making generic addresses (stores_shared). */
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

/* Whether an initial value holds the address of a shared variable. */
static bool holds_shared(const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_SYMBOL)
    return operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
           operand->symbol->variable->space == BF_PTX_SPACE_SHARED;
  if (operand->kind == BF_PTX_VECTOR)
    for (unsigned i = 0; i < operand->count; i++)
      if (holds_shared(&operand->item[i]))
        return true;
  return false;
}

/* The same for any variable of the module. */
bool bf_verify_stores_shared(const bf_ptx_module *module) {
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_VARIABLE && item->variable->initialiser &&
        holds_shared(item->variable->initialiser))
      return true;
  return false;
}

/* ---- Arrays ---- */

/* Dynamic shared memory is the same whatever it is called. */
static bool is_dynamic(const bf_ptx_variable *variable) {
  return variable->linkage == BF_PTX_EXTERN || !variable->bytes;
}

uint32_t bf_verify_array_number(const bf_verify_scheme *scheme, const bf_ptx_variable *variable) {
  if (is_dynamic(variable))
    return scheme->dynamic;
  return (uint32_t)(uintptr_t)bf_table_find(&scheme->number, &variable, sizeof variable) - 1;
}

const bf_hash *bf_verify_hash_of_variable(const bf_verify_scheme *scheme,
                                          const bf_ptx_variable *variable) {
  if (!scheme || !scheme->by_array)
    return scheme ? scheme->hash : NULL;
  uint32_t number = bf_verify_array_number(scheme, variable);
  return number == BF_VERIFY_NO_HOME ? NULL : scheme->array[number].hash;
}

/* Gives a shared variable a number in the scheme, or with array set its place there; false when
 * memory is exhausted. */
static bool add_array(bf_verify_scheme *scheme, const bf_ptx_variable *variable) {
  void **number = bf_table_at(&scheme->number, &variable, sizeof variable);
  if (!number)
    return false;
  if (!*number)
    *number = (void *)((uintptr_t)scheme->arrays++ + 1);
  if (scheme->array)
    scheme->array[(uintptr_t)*number - 1].variable = variable;
  return true;
}

/* The same for the shared variables that the operand names. */
static bool add_arrays(bf_verify_scheme *scheme, const bf_ptx_operand *operand) {
  bool done = true;
  if (operand->kind == BF_PTX_SYMBOL && operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
      operand->symbol->variable->space == BF_PTX_SPACE_SHARED)
    return add_array(scheme, operand->symbol->variable);
  if (operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
      operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; done && i < operand->count; i++)
      done = add_arrays(scheme, &operand->item[i]);
  return done;
}

/* The same for all functions of a list. */
static bool add_all_arrays(bf_verify_scheme *scheme, const bf_verify_reached *at) {
  bool done = true;
  for (; at; at = at->next)
    for (uint32_t i = 0; done && i < at->function->instructions; i++)
      for (unsigned j = 0; done && j < at->function->instruction[i]->operands; j++)
        done = add_arrays(scheme, &at->function->instruction[i]->operand[j]);
  return done;
}

/* Lists the arrays: gives each a number, then its place. */
static bool list_arrays(bf_verify_scheme *scheme, const bf_verify_reached *reached,
                        bf_arena *arena) {
  scheme->number.arena = arena;
  scheme->dynamic = BF_VERIFY_NO_HOME;
  if (!add_all_arrays(scheme, reached))
    return false;
  scheme->array = bf_arena_alloc(arena, ((size_t)scheme->arrays + 1) * sizeof *scheme->array);
  if (!scheme->array || !add_all_arrays(scheme, reached))
    return false;
  for (unsigned i = scheme->arrays; i-- > 0;)
    if (is_dynamic(scheme->array[i].variable))
      scheme->dynamic = i;
  return true;
}

/* ---- Schemes ---- */

/* Whether both are the same map, or both none. */
static bool same_hash(const bf_hash *a, const bf_hash *b) {
  if (!a || !b)
    return a == b;
  if (bf_verify_is_padding(a) && bf_verify_is_padding(b))
    return a->row_words == b->row_words && a->pad_words == b->pad_words &&
           !memcmp(a->most_block, b->most_block, sizeof a->most_block);
  return a == b ||
         (a->kind == b->kind && a->forward.rows == b->forward.rows &&
          !memcmp(a->forward.row, b->forward.row, a->forward.rows * sizeof *a->forward.row));
}

/* Whether the array is no longer than a row that a hash makes longer, and so stays as it is. */
static bool is_one_row(const bf_ptx_variable *variable, const bf_hash *hash) {
  return bf_verify_is_padding(hash) && !is_dynamic(variable) &&
         variable->bytes <= hash->row_words << BF_VERIFY_WORD_BIT;
}

/* Asks for the hashes of all arrays; true where there is any hash. */
static bool ask(bf_verify_scheme *scheme, const bf_ptx_function *kernel, void *context,
                bf_verify_hash_of hash_of) {
  bool any = scheme->hash;
  for (unsigned i = 0; i < scheme->arrays; i++) {
    bf_verify_array *array = &scheme->array[i];
    array->hash = hash_of(context, kernel, array->variable);
    scheme->by_array |= bf_verify_is_padding(array->hash) || !same_hash(array->hash, scheme->hash);
    if (is_one_row(array->variable, array->hash))
      array->hash = NULL;
    any |= array->hash != NULL;
  }
  return any;
}

/* What loaded values may be made of: homes of all functions until none adds to it. */
static bool find_loaded(bf_verify_scheme *scheme, const bf_verify_reached *reached,
                        bf_arena *arena) {
  uint32_t before;
  do {
    before = scheme->loaded;
    for (const bf_verify_reached *at = reached; at; at = at->next) {
      bf_verify_homes homes;
      if (!bf_verify_homes_find(scheme, at->function, arena, &scheme->loaded, &homes))
        return false;
    }
  } while (before != scheme->loaded);
  return true;
}

int bf_verify_scheme_make(bool stores_shared, const bf_ptx_function *kernel, void *context,
                          bf_verify_hash_of hash_of, bf_arena *arena,
                          const bf_verify_scheme **result) {
  bf_verify_reached *reached;
  bf_verify_scheme *scheme = bf_arena_alloc(arena, sizeof *scheme);
  *result = NULL;
  if (!scheme)
    return BF_NO_MEMORY;
  BF_TRY(bf_verify_reach(kernel, arena, &reached));
  if (!list_arrays(scheme, reached, arena))
    return BF_NO_MEMORY;
  scheme->hash = hash_of(context, kernel, NULL);
  if (!ask(scheme, kernel, context, hash_of))
    return BF_OK;
  scheme->makes_generic = stores_shared;
  for (const bf_verify_reached *at = reached; at; at = at->next)
    scheme->makes_generic |= makes_generic(at->function);
  scheme->loaded = stores_shared ? BF_VERIFY_MANY_HOMES : BF_VERIFY_NO_HOME;
  if (scheme->by_array && !find_loaded(scheme, reached, arena))
    return BF_NO_MEMORY;
  *result = scheme;
  return BF_OK;
}

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

const char *bf_verify_judge_hashes(const bf_verify_scheme *scheme, const bf_hash **hash) {
  *hash = scheme->hash;
  if (!scheme->by_array)
    return judge_hash(scheme->hash);
  for (unsigned i = 0; i < scheme->arrays; i++) {
    uint32_t same = bf_verify_array_number(scheme, scheme->array[i].variable);
    *hash = scheme->array[i].hash;
    const char *why = bf_verify_is_padding(*hash)
                          ? bf_verify_pad_hash(*hash, scheme->array[i].variable)
                      : *hash ? judge_hash(*hash)
                              : NULL;
    if (why)
      return why;
    if (!same_hash(*hash, scheme->array[same].hash))
      return "two hashes for dynamic shared memory";
  }
  return NULL;
}

bool bf_verify_same_scheme(const bf_verify_scheme *a, const bf_verify_scheme *b) {
  if (!a || !b || a == b)
    return a == b;
  if (a->by_array != b->by_array || a->makes_generic != b->makes_generic)
    return false;
  if (!a->by_array)
    return same_hash(a->hash, b->hash);
  if (a->arrays != b->arrays || a->loaded != b->loaded)
    return false;
  for (unsigned i = 0; i < a->arrays; i++)
    if (a->array[i].variable != b->array[i].variable ||
        !same_hash(a->array[i].hash, b->array[i].hash))
      return false;
  return true;
}
