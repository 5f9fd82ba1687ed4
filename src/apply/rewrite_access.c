/* The code that takes the place of accesses to shared memory.
 *
 * With A the address and H the hash, an access to A becomes one to H(A). H is linear over XOR, puts
 * only bits of the row number into bank bits, and leaves the bytes of a granule together:
 *   H(a) = a ^ ((a >> s1) & m1) ^ ((a >> s2) & m2) ...
 * Masks and shifts are those of the hash on words, masks moved up by the two bits of a word. Bits
 * of m lie in the bank bits and those that a >> s brings there above them, so that H only permutes
 * words of a row.
 *
 * A = base + offset, with z low bits of base known to be 0. offset = high + step + inner, where
 * inner is below the granule and below 2^z, step + inner below 2^z, and high a multiple of 2^z.
 * Then no addition of step or inner to base + high carries: base + offset = (base + high) ^ step ^
 * inner H(base + offset) = H(base + high) ^ H(step) ^ inner, and H(step) is a constant; inner goes
 * into the immediate of the access: the low bits of H(...) ^ H(step) below 2^z and below the
 * granule are 0, because H leaves the bits below the granule alone. Places are remembered inside a
 * basic block until their base is written. */
#include "apply/rewrite_inner.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HELD = 32 };

/* A register that holds H(base + offset). */
typedef struct held {
  bool is_generic;
  const bf_ptx_operand *base;
  int64_t offset;
  unsigned place;
} held;

/* The function that is being written. */
typedef struct writer {
  const bf_rewrite_plan *plan;
  bf_rewrite_function *function;
  bf_rewrite_code *code;
  const bf_ptx_flow *flow;
  const uint8_t *zeros; /* per register */
  unsigned terms;
  bf_hash_term term[2 * BF_GF2_MAX]; /* on byte addresses, without that of shift 0 */
  uint64_t granule_bytes;
  char prefix[24]; /* no register of the function starts like this */
  bf_text text;    /* the lines before the instruction at hand */
  held held[MOST_HELD];
  unsigned helds, next_held;
  unsigned places, wide_places; /* registers used so far */
  bool uses_predicate;
  bool uses_term[2], uses_logical[2]; /* of 32 and of 64 bits */
  bf_ptx_registers *narrow, *wide;    /* the places, as declared; they outlive the writer */
  bool failed;
} writer;

/* ---- Names ---- */

static bool starts_with(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool statements_clash(const bf_ptx_statement *statement, const char *prefix) {
  for (; statement; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_SCOPE
            ? statements_clash(statement->scope, prefix)
            : statement->kind == BF_PTX_STATEMENT_REGISTERS &&
                  starts_with(statement->registers->name, prefix))
      return true;
  return false;
}

static bool variables_clash(const bf_ptx_variables *list, const char *prefix) {
  for (unsigned i = 0; i < list->count; i++)
    if (starts_with(list->item[i].name, prefix))
      return true;
  return false;
}

/* %bf_, or the first of %bf1_, %bf2_ ... that is free. */
static void choose_prefix(writer *w) {
  const bf_ptx_function *function = w->function->function;
  strcpy(w->prefix, "%bf_");
  for (unsigned i = 1; statements_clash(function->body, w->prefix) ||
                       variables_clash(&function->parameters, w->prefix) ||
                       variables_clash(&function->returns, w->prefix);
       i++)
    snprintf(w->prefix, sizeof w->prefix, "%%bf%u_", i);
}

/* ---- Text ---- */

/* One instruction, with its semicolon and line feed. */
#define PUT(w, ...) (bf_text_addf(&(w)->text, __VA_ARGS__), (w)->code->added_instructions++)

/* The operand as text, without its offset. */
static const char *name_of(writer *w, const bf_ptx_operand *operand) {
  const char *stem = operand->kind == BF_PTX_REGISTER ? operand->registers->name
                     : operand->kind == BF_PTX_SYMBOL ? operand->symbol->name
                                                      : "";
  size_t size = strlen(stem) + 24;
  char *name = bf_arena_alloc(w->plan->arena, size);
  if (!name) {
    w->failed = true;
    return "";
  }
  if (operand->kind == BF_PTX_REGISTER && operand->registers->range)
    snprintf(name, size, "%s%u", stem, operand->index);
  else if (operand->kind == BF_PTX_INTEGER)
    snprintf(name, size, "%lld", (long long)operand->bits);
  else
    snprintf(name, size, "%s", stem);
  return name;
}

static bool is_wide(const bf_ptx_operand *base) {
  return base->kind == BF_PTX_REGISTER && bf_ptx_type_bytes(base->registers->type) == 8;
}

/* Endings of the names of registers for addresses of 32 and 64 bits. */
static const char *suffix_of(bool wide) { return wide ? "_wide" : ""; }
static unsigned bits_of(bool wide) { return wide ? 64 : 32; }

/* ---- What registers hold ---- */

static bool same_base(const bf_ptx_operand *a, const bf_ptx_operand *b) {
  if (a->kind != b->kind)
    return false;
  if (a->kind == BF_PTX_REGISTER)
    return a->registers->first + a->index == b->registers->first + b->index;
  return a->kind == BF_PTX_SYMBOL ? a->symbol->variable == b->symbol->variable : false;
}

/* The place that holds H(base + offset), or NULL. */
static const held *find_held(const writer *w, const bf_ptx_operand *base, int64_t offset,
                             bool is_generic) {
  for (unsigned i = 0; i < w->helds; i++)
    if (w->held[i].is_generic == is_generic && w->held[i].offset == offset &&
        same_base(w->held[i].base, base))
      return &w->held[i];
  return NULL;
}

static void hold(writer *w, held what) {
  unsigned slot = w->helds < MOST_HELD ? w->helds++ : w->next_held++ % MOST_HELD;
  w->held[slot] = what;
}

/* Whether the operand, which is written, holds the register. */
static bool writes(const bf_ptx_operand *operand, const bf_ptx_operand *base) {
  if (operand->kind == BF_PTX_REGISTER)
    return same_base(operand, base);
  if (operand->kind != BF_PTX_VECTOR && operand->kind != BF_PTX_PAIR &&
      operand->kind != BF_PTX_ARGUMENTS)
    return false;
  for (uint32_t i = 0; i < operand->count; i++)
    if (writes(&operand->item[i], base))
      return true;
  return false;
}

/* Forgets what depends on a register that the instruction writes: all are in its first operand. */
static void forget_written(writer *w, const bf_ptx_instruction *instruction) {
  unsigned kept = 0;
  for (unsigned i = 0; i < w->helds; i++)
    if (!instruction->operands || !writes(&instruction->operand[0], w->held[i].base))
      w->held[kept++] = w->held[i];
  w->helds = kept;
}

/* ---- Hashing ---- */

/* Writes place = H(address) for an address in a register of its own or of the program. */
static void put_terms(writer *w, const char *address, unsigned place, bool wide) {
  const char *suffix = suffix_of(wide);
  unsigned bits = bits_of(wide);
  for (unsigned i = 0; i < w->terms; i++) {
    PUT(w, "shr.u%u \t%sterm%s, %s, %d;\n", bits, w->prefix, suffix, address, w->term[i].shift);
    PUT(w, "and.b%u \t%sterm%s, %sterm%s, %llu;\n", bits, w->prefix, suffix, w->prefix, suffix,
        (unsigned long long)w->term[i].mask);
    if (i == 0)
      PUT(w, "xor.b%u \t%splace%s%u, %s, %sterm%s;\n", bits, w->prefix, suffix, place, address,
          w->prefix, suffix);
    else
      PUT(w, "xor.b%u \t%splace%s%u, %splace%s%u, %sterm%s;\n", bits, w->prefix, suffix, place,
          w->prefix, suffix, place, w->prefix, suffix);
  }
  w->uses_term[wide] = true;
}

/* The name of a register that holds base + offset, which it may have to be written to. */
static const char *put_logical(writer *w, const bf_ptx_operand *base, int64_t offset, bool wide) {
  const char *name = name_of(w, base), *suffix = suffix_of(wide);
  if (base->kind == BF_PTX_REGISTER && offset == 0)
    return name;
  if (base->kind == BF_PTX_REGISTER)
    PUT(w, "add.s%u \t%slogical%s, %s, %lld;\n", bits_of(wide), w->prefix, suffix, name,
        (long long)offset);
  else if (base->kind == BF_PTX_SYMBOL && offset)
    PUT(w, "mov.u32 \t%slogical, %s+%lld;\n", w->prefix, name, (long long)offset);
  else if (base->kind == BF_PTX_SYMBOL)
    PUT(w, "mov.u32 \t%slogical, %s;\n", w->prefix, name);
  else
    PUT(w, "mov.u32 \t%slogical, %u;\n", w->prefix, (unsigned)(base->bits + (uint64_t)offset));
  w->uses_logical[wide] = true;
  size_t size = strlen(w->prefix) + 16;
  char *logical = bf_arena_alloc(w->plan->arena, size);
  if (!logical) {
    w->failed = true;
    return "";
  }
  snprintf(logical, size, "%slogical%s", w->prefix, suffix);
  return logical;
}

static unsigned new_place(writer *w, bool wide) { return wide ? w->wide_places++ : w->places++; }

/* H(base + offset) in a register. */
static unsigned put_place(writer *w, const bf_ptx_operand *base, int64_t offset) {
  const held *found = find_held(w, base, offset, false);
  if (found)
    return found->place;
  bool wide = is_wide(base);
  unsigned place = new_place(w, wide);
  put_terms(w, put_logical(w, base, offset, wide), place, wide);
  hold(w, (held){false, base, offset, place});
  return place;
}

/* H(step) for an offset inside what the base leaves free. */
static uint64_t hash_constant(const writer *w, uint64_t step) {
  return bf_hash_place(w->function->hash, step / BF_REWRITE_WORD_BYTES) * BF_REWRITE_WORD_BYTES;
}

/* Low bits of a base that are 0. */
static unsigned zeros_of_base(const writer *w, const bf_ptx_operand *base) {
  if (base->kind == BF_PTX_REGISTER)
    return w->zeros[base->registers->first + base->index];
  if (base->kind != BF_PTX_SYMBOL)
    return 0;
  return (unsigned)__builtin_ctz(bf_rewrite_alignment(base->symbol->variable));
}

/* The place of base + offset and what to add to it. */
static unsigned put_shared(writer *w, const bf_ptx_operand *base, int64_t offset, int64_t *inner) {
  uint64_t free_bytes = (uint64_t)1 << zeros_of_base(w, base);
  uint64_t together = free_bytes < w->granule_bytes ? free_bytes : w->granule_bytes;
  uint64_t low = (uint64_t)offset & (free_bytes - 1), step = low & ~(together - 1);
  *inner = (int64_t)(low - step);
  const held *found = find_held(w, base, offset - *inner, false);
  if (found)
    return found->place;
  unsigned from = put_place(w, base, offset - (int64_t)low);
  if (step == 0)
    return from;
  bool wide = is_wide(base);
  unsigned place = new_place(w, wide);
  PUT(w, "xor.b%u \t%splace%s%u, %splace%s%u, %llu;\n", bits_of(wide), w->prefix, suffix_of(wide),
      place, w->prefix, suffix_of(wide), from, (unsigned long long)hash_constant(w, step));
  hold(w, (held){false, base, offset - *inner, place});
  return place;
}

/* The same for a generic address: where it is one of shared memory, its hashed form. */
static unsigned put_generic(writer *w, const bf_ptx_operand *base, int64_t offset) {
  const held *found = find_held(w, base, offset, true);
  if (found)
    return found->place;
  bool wide = is_wide(base);
  const char *suffix = suffix_of(wide), *address = put_logical(w, base, offset, wide);
  unsigned bits = bits_of(wide), place = new_place(w, wide);
  char inside[40];
  snprintf(inside, sizeof inside, "%sinside%s", w->prefix, suffix);
  PUT(w, "isspacep.shared \t%sis_shared, %s;\n", w->prefix, address);
  PUT(w, "cvta.to.shared.u%u \t%s, %s;\n", bits, inside, address);
  put_terms(w, inside, place, wide);
  PUT(w, "cvta.shared.u%u \t%splace%s%u, %splace%s%u;\n", bits, w->prefix, suffix, place, w->prefix,
      suffix, place);
  PUT(w, "selp.b%u \t%splace%s%u, %splace%s%u, %s, %sis_shared;\n", bits, w->prefix, suffix, place,
      w->prefix, suffix, place, address, w->prefix);
  w->uses_predicate = true;
  hold(w, (held){true, base, offset, place});
  return place;
}

/* ---- Instructions ---- */

/* A copy of the instruction that accesses [place + offset]. */
static const bf_ptx_instruction *replace_address(writer *w, const bf_ptx_instruction *instruction,
                                                 unsigned operand, unsigned place, bool wide,
                                                 int64_t offset) {
  bf_arena *arena = w->plan->arena;
  bf_ptx_instruction *copy = bf_arena_alloc(arena, sizeof *copy);
  bf_ptx_operand *operands = bf_arena_alloc(arena, instruction->operands * sizeof *operands);
  bf_ptx_operand *item = bf_arena_alloc(arena, sizeof *item);
  if (!copy || !operands || !item) {
    w->failed = true;
    return instruction;
  }
  *copy = *instruction;
  memcpy(operands, instruction->operand, instruction->operands * sizeof *operands);
  *item = (bf_ptx_operand){
      .kind = BF_PTX_REGISTER, .registers = wide ? w->wide : w->narrow, .index = place};
  operands[operand].item = item;
  operands[operand].count = 1;
  operands[operand].offset = offset;
  copy->operand = operands;
  return copy;
}

static bool is_shared_name(const bf_ptx_operand *base) {
  return base->kind == BF_PTX_SYMBOL && base->symbol->variable->space == BF_PTX_SPACE_SHARED;
}

/* Writes the code of one access. */
static void write_access(writer *w, uint32_t index) {
  const bf_ptx_instruction *instruction = w->function->function->instruction[index];
  bf_touch touch = w->function->touch[index];
  const bf_ptx_operand *address = &instruction->operand[touch.operand], *base = &address->item[0];
  bool wide = is_wide(base);
  uint64_t own = base->kind == BF_PTX_SYMBOL ? (uint64_t)base->offset : 0; /* sums may wrap */
  int64_t inner = 0, offset = (int64_t)((uint64_t)address->offset + own);
  unsigned place;
  if (touch.kind == BF_TOUCH_SHARED)
    place = put_shared(w, base, offset, &inner);
  else if (base->kind == BF_PTX_SYMBOL && !is_shared_name(base))
    return; /* a variable that is elsewhere */
  else
    place = put_generic(w, base, offset);
  w->code->instruction[index] = replace_address(w, instruction, touch.operand, place, wide, inner);
  if (w->text.size)
    w->code->before[index] = bf_arena_copy(w->plan->arena, w->text.data);
  w->failed |= w->text.failed || (w->text.size && !w->code->before[index]);
  w->text.size = 0;
}

static void write_instructions(writer *w) {
  const bf_ptx_function *function = w->function->function;
  for (uint32_t i = 0; i < function->instructions && !w->failed; i++) {
    if (i == 0 || w->flow->block_of[i] != w->flow->block_of[i - 1])
      w->helds = 0;
    w->code->instruction[i] = function->instruction[i];
    if (bf_rewrite_is_hashed(w->function, i))
      write_access(w, i);
    forget_written(w, function->instruction[i]);
  }
}

/* ---- Functions ---- */

static void declare(writer *w, bool wanted, const char *type, const char *name, unsigned count) {
  if (wanted && count)
    bf_text_addf(&w->text, ".reg .%s \t%s%s<%u>;\n", type, w->prefix, name, count);
  else if (wanted)
    bf_text_addf(&w->text, ".reg .%s \t%s%s;\n", type, w->prefix, name);
}

static void write_declarations(writer *w) {
  declare(w, w->uses_predicate, "pred", "is_shared", 0);
  for (int wide = 0; wide < 2; wide++) {
    const char *type = wide ? "b64" : "b32";
    declare(w, w->uses_logical[wide], type, wide ? "logical_wide" : "logical", 0);
    declare(w, w->uses_predicate && w->uses_term[wide], type, wide ? "inside_wide" : "inside", 0);
    declare(w, w->uses_term[wide], type, wide ? "term_wide" : "term", 0);
    unsigned places = wide ? w->wide_places : w->places;
    declare(w, places, type, wide ? "place_wide" : "place", places);
  }
  w->code->declarations = bf_arena_copy(w->plan->arena, w->text.size ? w->text.data : "");
  w->failed |= w->text.failed || !w->code->declarations;
}

static bf_ptx_registers *declare_places(const writer *w, bool wide) {
  size_t size = sizeof w->prefix + 16;
  char *name = bf_arena_alloc(w->plan->arena, size);
  bf_ptx_registers *registers = bf_arena_alloc(w->plan->arena, sizeof *registers);
  if (!name || !registers)
    return NULL;
  snprintf(name, size, "%splace%s", w->prefix, suffix_of(wide));
  *registers = (bf_ptx_registers){.name = name, .range = true};
  return registers;
}

/* The terms of the hash on byte addresses, and the names of the places. */
static void prepare(writer *w) {
  const bf_hash *hash = w->function->hash;
  unsigned all = bf_hash_terms(&hash->forward, w->term);
  for (unsigned i = 0; i < all; i++)
    if (w->term[i].shift > 0) {
      w->term[w->terms] = w->term[i];
      w->term[w->terms++].mask *= BF_REWRITE_WORD_BYTES;
    }
  w->granule_bytes = bf_hash_granule_words(hash) * BF_REWRITE_WORD_BYTES;
  choose_prefix(w);
  w->narrow = declare_places(w, false);
  w->wide = declare_places(w, true);
  w->failed |= !w->narrow || !w->wide;
}

int bf_rewrite_code_make(const bf_rewrite_plan *plan, bf_rewrite_function *function,
                         bf_diagnostic *diagnostic) {
  writer w = {.plan = plan, .function = function};
  size_t count = (size_t)function->function->instructions + 1;
  bf_rewrite_code *code = bf_arena_alloc(plan->arena, sizeof *code);
  bf_ptx_flow *flow;
  BF_TRY(bf_ptx_flow_create(function->function, &flow, diagnostic));
  w.flow = flow;
  w.code = function->code = code;
  w.zeros = bf_rewrite_zeros(function->function, plan->arena);
  w.failed = !code || !w.zeros;
  if (!w.failed) {
    code->before = bf_arena_alloc(plan->arena, count * sizeof *code->before);
    code->instruction = bf_arena_alloc(plan->arena, count * sizeof *code->instruction);
    w.failed = !code->before || !code->instruction;
  }
  if (!w.failed)
    prepare(&w);
  if (!w.failed)
    write_instructions(&w);
  if (!w.failed)
    write_declarations(&w);
  bf_text_free(&w.text);
  bf_ptx_flow_free(flow);
  return w.failed ? bf_fail(diagnostic, BF_NO_MEMORY, "out of memory") : BF_OK;
}
