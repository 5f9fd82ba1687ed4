/* The code that takes the place of accesses to shared memory.
 *
 * With A the address and H the hash, an access to A becomes one to H(A). H is linear over XOR, puts
 * only bits of the row number into bank bits, and leaves the bytes of a granule together:
 *   H(a) = a ^ ((a >> s1) & m1) ^ ((a >> s2) & m2) ...
 * Masks and shifts are those of the hash on words, masks moved up by the two bits of a word. Bits
 * of m lie in the bank bits and those that a >> s brings there above them, so that H only permutes
 * words of a row. This form is the one that ptxas makes fewest instructions of (docs/rewrite.md).
 *
 * A = base + far + high + low, where
 *   far    is a multiple of 2^k, and H reads no bit from k on: it changes nothing that H reads
 *   low    are bits below 2^z that are 0 in base, so that no addition of them carries
 *   high   is the rest, a multiple of 2^z and less than 2^k.
 * Then H(A) = (H(base + high) ^ H(low)) + far. Of H(low), a constant, the bits that H never writes
 * are 0 in H(base + high) and can be added as well: with fix the others,
 *   H(A) = (H(base + high) ^ fix) + (far + unwritten bits of low).
 * The sum in brackets goes into the immediate of the access and costs nothing; so does far with all
 * that is 0 in base, where that is all that H reads: H(base + low) = base + H(low).
 * Where high is made of whole rows, and of what the shifts of H leave whole, it can stay in the
 * immediate too: (base + high) >> s = (base >> s) + (high >> s), and the bits of base that H writes
 * do not change. ptxas shares base >> s among such accesses. So it is with a sum base + c that an
 * access nearby needed, and another one that is whole rows away from it.
 * The highest bit t that H reads is flipped by adding 2^t, whatever else the sum carries into:
 *   H(a + 2^t) = (H(a) ^ the bits that H makes of bit t) + 2^t,
 * so that of two places of a base which differ by 2^t the second costs one XOR.
 * Where the lowest bits of the base are known and not 0, it is even + rest: base + offset is then
 * even + (rest + offset), which is taken apart instead, and H(even + x) = H(base + x) ^ H(rest) for
 * an x that does not touch them.
 * What was computed is remembered; hoist.c says where it can be used again, and which loops
 * it can be computed outside of. */
#include "rewrite/inner.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
  MOST_HELD = 256,
  MOST_HASHES = 8,
  /* Places that are kept from block to block take registers. One for each base is worth it; of
   * those at other offsets, so many in a function. Measured with bench/rewrite_cost.py: without a
   * limit, softmax of the corpus takes 156 registers in place of 32. */
  MOST_KEPT = 8,
  MOST_DISTANCES = 32, /* between two arrays, in a function */
};

/* A register that holds H(base + offset) ^ fix, less `less`, behind the lines before an
 * instruction. */
typedef struct held {
  bool is_generic;
  bool is_sum;    /* base + offset */
  unsigned shift; /* not 0: base >> shift, or of that sum */
  const bf_ptx_operand *base;
  int64_t offset;
  uint64_t fix;
  int64_t less;
  const struct hashing *by;
  unsigned place;
  uint32_t at;    /* the instruction */
  bool is_steady; /* it holds wherever that instruction comes first; else in its block */
} held;

/* A hash on byte addresses. */
typedef struct hashing {
  const bf_hash *hash;
  unsigned terms;
  bf_hash_term term[2 * BF_GF2_MAX]; /* without that of shift 0 */
  uint64_t read, written;            /* bits that it reads, but for each one's own place; writes */
  unsigned bits;                     /* it touches none from here on */
  unsigned whole_bits; /* a multiple of 2^whole_bits changes no bit that is written, nor carries
                          into what is shifted out */
} hashing;

/* How far the address of a variable is from that of another, in a register. */
typedef struct distance {
  const bf_ptx_variable *from, *to;
} distance;

/* The function that is being written. */
typedef struct writer {
  const bf_rewrite_plan *plan;
  const bf_rewrite_function *function;
  const bf_rewrite_kernel_plan *kernel;
  bf_rewrite_code *code;
  const bf_ptx_flow *flow;
  bf_rewrite_hoist *hoist;
  const uint64_t *zeros;        /* per register */
  const bf_rewrite_rest *rests; /* the same */
  hashing hashing[MOST_HASHES];
  unsigned hashings;
  const hashing *own; /* of the access at hand */
  uint32_t index;     /* of the access at hand */
  char prefix[24];    /* no register of the function starts like this */
  bf_text text;       /* the lines before the instruction at hand */
  held held[MOST_HELD];
  unsigned helds, next_held;
  unsigned places, wide_places; /* registers used so far */
  distance distance[MOST_DISTANCES];
  unsigned distances;
  unsigned kept; /* places at offsets that are kept from block to block */
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

/* Puts the lines written so far before an instruction, behind those that stand there. */
static void put_before(writer *w, uint32_t index) {
  const char *old = w->code->before[index] ? w->code->before[index] : "";
  if (w->text.size && !w->text.failed) {
    size_t size = strlen(old);
    char *joined = bf_arena_alloc(w->plan->arena, size + w->text.size + 1);
    if (joined) {
      memcpy(joined, old, size);
      memcpy(joined + size, w->text.data, w->text.size);
    }
    w->code->before[index] = joined;
    w->failed |= !joined;
  }
  w->failed |= w->text.failed;
  w->text.size = 0;
}

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

/* Whether what is held can be used at the access at hand. */
static bool is_at_hand(const writer *w, const held *what) {
  if (what->is_steady)
    return bf_rewrite_comes_first(w->hoist, what->at, w->index);
  return w->flow->block_of[what->at] == w->flow->block_of[w->index];
}

/* The place that holds H(base + offset) ^ fix, or NULL. */
static const held *find_held(const writer *w, const bf_ptx_operand *base, int64_t offset,
                             uint64_t fix, bool is_generic) {
  for (unsigned i = 0; i < w->helds; i++)
    if (w->held[i].is_generic == is_generic && !w->held[i].shift && !w->held[i].is_sum &&
        w->held[i].offset == offset && w->held[i].fix == fix && same_base(w->held[i].base, base) &&
        is_at_hand(w, &w->held[i]))
      return &w->held[i];
  return NULL;
}

/* Remembers a place that is written before instruction `at`; is_kept: beyond its block. */
static void hold(writer *w, held what, bool is_kept) {
  unsigned slot = w->helds < MOST_HELD ? w->helds++ : w->next_held++ % MOST_HELD;
  what.by = w->own;
  what.is_steady = is_kept && bf_rewrite_is_steady(w->hoist, what.base, what.at);
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
    if (w->held[i].is_steady || !instruction->operands ||
        !writes(&instruction->operand[0], w->held[i].base))
      w->held[kept++] = w->held[i];
  w->helds = kept;
}

/* ---- Hashing ---- */

/* Writes place = from ^ (term & mask). */
static void put_masked_xor(writer *w, const char *place, const char *from, uint64_t mask,
                           bool wide) {
  const char *suffix = suffix_of(wide);
  unsigned bits = bits_of(wide);
  enum { AND_XOR = 0x6a }; /* (a & b) ^ c */
  if (!wide && w->plan->joins_logic) {
    PUT(w, "lop3.b32 \t%s, %sterm, %llu, %s, 0x%x;\n", place, w->prefix, (unsigned long long)mask,
        from, AND_XOR);
    return;
  }
  PUT(w, "and.b%u \t%sterm%s, %sterm%s, %llu;\n", bits, w->prefix, suffix, w->prefix, suffix,
      (unsigned long long)mask);
  PUT(w, "xor.b%u \t%s, %s, %sterm%s;\n", bits, place, from, w->prefix, suffix);
}

/* Whether two terms put copies of the same bits to places of their own: a product has both, as one
 * sum without carries. */
static bool are_copies(const hashing *own) {
  const bf_hash_term *a = &own->term[0], *b = &own->term[1];
  return own->terms == 2 && a->shift > 0 && b->shift > 0 && !(a->mask & b->mask) &&
         (uint64_t)a->mask << a->shift == (uint64_t)b->mask << b->shift &&
         (uint64_t)a->mask << a->shift <= UINT32_MAX;
}

/* Writes place = H(address) by such a product, of which the upper half is taken: an instruction
 * less than by two shifts. */
static void put_product(writer *w, const char *address, const char *place) {
  const bf_hash_term *a = &w->own->term[0], *b = &w->own->term[1];
  uint32_t factor = (uint32_t)1 << (32 - a->shift) | (uint32_t)1 << (32 - b->shift);
  PUT(w, "and.b32 \t%sterm, %s, %llu;\n", w->prefix, address,
      (unsigned long long)a->mask << a->shift);
  PUT(w, "mul.hi.u32 \t%sterm, %sterm, %lu;\n", w->prefix, w->prefix, (unsigned long)factor);
  put_masked_xor(w, place, address, a->mask | b->mask, false);
}

/* Writes place = H(address) for an address in a register of its own or of the program. */
static void put_terms(writer *w, const char *address, unsigned place, bool wide) {
  const char *suffix = suffix_of(wide);
  char name[64];
  snprintf(name, sizeof name, "%splace%s%u", w->prefix, suffix, place);
  w->uses_term[wide] = true;
  if (!wide && are_copies(w->own)) {
    put_product(w, address, name);
    return;
  }
  for (unsigned i = 0; i < w->own->terms; i++) {
    const bf_hash_term *term = &w->own->term[i];
    PUT(w, "shr.u%u \t%sterm%s, %s, %d;\n", bits_of(wide), w->prefix, suffix, address, term->shift);
    put_masked_xor(w, name, i == 0 ? address : name, term->mask, wide);
  }
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

/* Whether to keep H(base + offset) beyond the block of the access at hand. */
static bool is_worth_keeping(writer *w, const bf_ptx_operand *base, int64_t offset) {
  return bf_rewrite_is_steady(w->hoist, base, w->index) &&
         ((offset == 0 && base->kind == BF_PTX_REGISTER) || w->kept++ < MOST_KEPT);
}

/* Whether an offset can be added behind the hash. */
static bool is_whole(const writer *w, const bf_ptx_operand *base, uint64_t high) {
  return base->kind == BF_PTX_REGISTER && (high & (((uint64_t)1 << w->own->whole_bits) - 1)) == 0;
}

/* The register that holds base >> shift, for code before instruction `at`, that of the access at
 * hand or one further up. */
static unsigned put_shifted(writer *w, const bf_ptx_operand *base, unsigned shift, uint32_t at) {
  for (unsigned i = 0; i < w->helds; i++) {
    const held *own = &w->held[i];
    if (own->shift == shift && !own->is_sum && same_base(own->base, base) && is_at_hand(w, own) &&
        (at == w->index || (own->is_steady && bf_rewrite_comes_first(w->hoist, own->at, at))))
      return own->place;
  }
  bool wide = is_wide(base);
  unsigned place = new_place(w, wide);
  PUT(w, "shr.u%u \t%splace%s%u, %s, %u;\n", bits_of(wide), w->prefix, suffix_of(wide), place,
      name_of(w, base), shift);
  put_before(w, at);
  hold(w, (held){.base = base, .shift = shift, .place = place, .at = at}, true);
  return place;
}

/* Writes place = H(base + rows) - rows before instruction `at`; rows: a multiple of 2^whole_bits.
 */
static void put_rows(writer *w, const bf_ptx_operand *base, uint64_t rows, unsigned place,
                     uint32_t at) {
  bool wide = is_wide(base);
  const char *suffix = suffix_of(wide), *address = name_of(w, base);
  char name[64];
  snprintf(name, sizeof name, "%splace%s%u", w->prefix, suffix, place);
  for (unsigned i = 0; i < w->own->terms; i++) {
    const bf_hash_term *term = &w->own->term[i];
    unsigned shifted = put_shifted(w, base, (unsigned)term->shift, at);
    PUT(w, "add.s%u \t%sterm%s, %splace%s%u, %llu;\n", bits_of(wide), w->prefix, suffix, w->prefix,
        suffix, shifted, (unsigned long long)(rows >> term->shift));
    put_masked_xor(w, name, i == 0 ? address : name, term->mask, wide);
    put_before(w, at);
  }
  w->uses_term[wide] = true;
}

/* ---- Sums that are whole rows apart ---- */

/* The sum of the base, in the block at hand, that is whole rows away from base + offset; NULL:
 * there is none. */
static const held *find_sum(const writer *w, const bf_ptx_operand *base, int64_t offset) {
  for (unsigned i = 0; i < w->helds; i++) {
    const held *own = &w->held[i];
    uint64_t apart = (uint64_t)(offset - own->offset);
    if (own->is_sum && !own->shift && same_base(own->base, base) && is_whole(w, base, apart) &&
        w->flow->block_of[own->at] == w->flow->block_of[w->index])
      return own;
  }
  return NULL;
}

/* The register that holds the sum shifted to the right. */
static unsigned put_shifted_sum(writer *w, held sum, unsigned shift) {
  for (unsigned i = 0; i < w->helds; i++)
    if (w->held[i].is_sum && w->held[i].shift == shift && w->held[i].offset == sum.offset &&
        same_base(w->held[i].base, sum.base) &&
        w->flow->block_of[w->held[i].at] == w->flow->block_of[w->index])
      return w->held[i].place;
  bool wide = is_wide(sum.base);
  const char *suffix = suffix_of(wide);
  held made = sum;
  made.shift = shift;
  made.place = new_place(w, wide);
  made.at = w->index;
  PUT(w, "shr.u%u \t%splace%s%u, %splace%s%u, %u;\n", bits_of(wide), w->prefix, suffix, made.place,
      w->prefix, suffix, sum.place, shift);
  hold(w, made, false);
  return made.place;
}

/* Writes place = H(sum + apart) - apart for the access at hand; apart is made of whole rows. */
static void put_rows_of_sum(writer *w, held sum, int64_t apart, unsigned place) {
  bool wide = is_wide(sum.base);
  const char *suffix = suffix_of(wide);
  uint64_t rows = (uint64_t)apart & (((uint64_t)1 << w->own->bits) - 1);
  char name[64], from[64];
  snprintf(name, sizeof name, "%splace%s%u", w->prefix, suffix, place);
  snprintf(from, sizeof from, "%splace%s%u", w->prefix, suffix, sum.place);
  for (unsigned i = 0; i < w->own->terms; i++) {
    const bf_hash_term *term = &w->own->term[i];
    unsigned shifted = put_shifted_sum(w, sum, (unsigned)term->shift);
    PUT(w, "add.s%u \t%sterm%s, %splace%s%u, %llu;\n", bits_of(wide), w->prefix, suffix, w->prefix,
        suffix, shifted, (unsigned long long)(rows >> term->shift));
    put_masked_xor(w, name, i == 0 ? from : name, term->mask, wide);
  }
  w->uses_term[wide] = true;
}

/* The same for base + offset, by a sum that is at hand or becomes it. */
static held put_by_sum(writer *w, const bf_ptx_operand *base, int64_t offset) {
  bool wide = is_wide(base);
  const held *found = find_sum(w, base, offset);
  held made = {.base = base, .offset = offset, .at = w->index};
  if (found) {
    held sum = *found;
    made.less = offset - sum.offset;
    made.place = new_place(w, wide);
    put_rows_of_sum(w, sum, made.less, made.place);
  } else {
    held sum = {.is_sum = true, .base = base, .offset = offset, .at = w->index};
    char name[64];
    sum.place = new_place(w, wide);
    made.place = new_place(w, wide);
    snprintf(name, sizeof name, "%splace%s%u", w->prefix, suffix_of(wide), sum.place);
    PUT(w, "add.s%u \t%s, %s, %lld;\n", bits_of(wide), name, name_of(w, base), (long long)offset);
    put_terms(w, name, made.place, wide);
    hold(w, sum, false);
  }
  put_before(w, w->index);
  hold(w, made, false);
  return made;
}

/* H(step) for an offset inside what the base leaves free. */
static uint64_t hash_constant(const writer *w, uint64_t step) {
  uint64_t words = bf_hash_place(w->own->hash, step / BF_REWRITE_WORD_BYTES);
  return words * BF_REWRITE_WORD_BYTES + step % BF_REWRITE_WORD_BYTES;
}

/* ---- Places that differ by the highest bit that is read ---- */

/* The place at hand of base + offset, where offset and high differ by what H does not read, or
 * else by 2^t besides. */
static const held *find_beside(const writer *w, const bf_ptx_operand *base, int64_t high) {
  uint64_t top = (uint64_t)1 << (w->own->bits - 1);
  const held *found = NULL;
  for (unsigned i = 0; i < w->helds; i++) {
    const held *own = &w->held[i];
    uint64_t apart = (uint64_t)(high - own->offset) & (2 * top - 1);
    if (!own->is_generic && !own->is_sum && !own->shift && !own->fix && (apart & (top - 1)) == 0 &&
        (!apart || !found) && same_base(own->base, base) && is_at_hand(w, own))
      found = own;
  }
  return found;
}

/* H(base + high) from such a place; whole offsets are in immediates anyway (take_apart). */
static held put_beside(writer *w, held beside, int64_t high) {
  uint64_t top = (uint64_t)1 << (w->own->bits - 1), apart = (uint64_t)(high - beside.offset);
  bool wide = is_wide(beside.base);
  const char *suffix = suffix_of(wide);
  held made = beside;
  made.offset = high;
  if (!is_whole(w, beside.base, (uint64_t)high))
    made.less += (int64_t)apart;
  if (!(apart & top))
    return made;
  made.place = new_place(w, wide);
  made.at = w->index;
  PUT(w, "xor.b%u \t%splace%s%u, %splace%s%u, %llu;\n", bits_of(wide), w->prefix, suffix,
      made.place, w->prefix, suffix, beside.place,
      (unsigned long long)(hash_constant(w, top) ^ top));
  put_before(w, w->index);
  hold(w, made, false);
  return made;
}

/* H(base + high) in a register, less high where that is whole, and less what the result says;
 * computed outside of loops where that is possible. */
static held put_place(writer *w, const bf_ptx_operand *base, uint64_t high) {
  const held *found = find_held(w, base, (int64_t)high, 0, false);
  if (found)
    return *found;
  const held *beside = find_beside(w, base, (int64_t)high);
  if (beside && bf_rewrite_hoist_to(w->hoist, base, w->index, !high) == w->index)
    return put_beside(w, *beside, (int64_t)high);
  bool is_kept = is_worth_keeping(w, base, (int64_t)high);
  bool adds_rows = high && is_whole(w, base, high), wide = is_wide(base);
  if (!is_kept && high && !adds_rows && base->kind == BF_PTX_REGISTER)
    return put_by_sum(w, base, (int64_t)high);
  uint32_t at = is_kept ? bf_rewrite_hoist_to(w->hoist, base, w->index, !high) : w->index;
  held made = {.base = base, .offset = (int64_t)high, .place = new_place(w, wide), .at = at};
  if (adds_rows)
    put_rows(w, base, high, made.place, at);
  else
    put_terms(w, put_logical(w, base, (int64_t)high, wide), made.place, wide);
  put_before(w, at);
  hold(w, made, is_kept);
  return made;
}

/* What is known of a base: it is even + rest, and these bits of even are 0; rest lies among the
 * lowest of them. */
typedef struct evenness {
  uint64_t zeros, rest;
} evenness;

static evenness even_base(const writer *w, const bf_ptx_operand *base) {
  if (base->kind == BF_PTX_REGISTER) {
    uint32_t number = base->registers->first + base->index;
    bf_rewrite_rest rest = w->rests[number];
    unsigned bits = rest.bits < w->own->bits ? rest.bits : w->own->bits;
    uint64_t low = ((uint64_t)1 << bits) - 1;
    return (evenness){w->zeros[number] | low, rest.value & low};
  }
  if (base->kind != BF_PTX_SYMBOL)
    return (evenness){0};
  unsigned bits = bf_rewrite_zeros_of_variable(w->plan, w->kernel, base->symbol->variable);
  return (evenness){((uint64_t)1 << bits) - 1, 0};
}

/* Where an access goes: to `place` plus immediate, or where it went. */
typedef struct target {
  bool is_unchanged;
  unsigned place;
  int64_t immediate;
} target;

/* The target of base + offset where all that the hash reads of base is known: even + H(rest +
 * offset), which ptxas makes an immediate of. */
static target put_sum(writer *w, const bf_ptx_operand *base, int64_t offset) {
  uint64_t rest = even_base(w, base).rest, sum = (uint64_t)offset + rest;
  uint64_t near = sum & (((uint64_t)1 << w->own->bits) - 1), hashed = hash_constant(w, near);
  target to = {.is_unchanged = hashed == near, .immediate = (int64_t)(sum - near)};
  const held *found = find_held(w, base, (int64_t)near, 0, false);
  if (to.is_unchanged)
    return to;
  if (found) {
    to.place = found->place;
    return to;
  }
  bool wide = is_wide(base);
  to.place = new_place(w, wide);
  if (base->kind == BF_PTX_REGISTER)
    PUT(w, "add.s%u \t%splace%s%u, %s, %lld;\n", bits_of(wide), w->prefix, suffix_of(wide),
        to.place, name_of(w, base), (long long)(hashed - rest));
  else
    PUT(w, "mov.u32 \t%splace%u, %s+%llu;\n", w->prefix, to.place, name_of(w, base),
        (unsigned long long)hashed);
  put_before(w, w->index);
  hold(w, (held){.base = base, .offset = (int64_t)near, .place = to.place, .at = w->index}, false);
  return to;
}

/* The parts of an offset, as the head of this file has them; far is in the immediate. */
typedef struct parts {
  uint64_t high, fix;
  uint64_t
      unhashed_fix; /* the same for a base that was not hashed, where the hash of even is even */
  int64_t immediate;
} parts;

static parts take_apart(const writer *w, const bf_ptx_operand *base, int64_t offset) {
  evenness even = even_base(w, base);
  uint64_t unread = (uint64_t)1 << w->own->bits, sum = (uint64_t)offset + even.rest;
  uint64_t near = sum & (unread - 1), carries = near & ~even.zeros;
  uint64_t low = carries ? near & ((carries & -carries) - 1) : near, high = near - low;
  uint64_t hashed = hash_constant(w, low), written = w->own->written;
  int64_t far = (int64_t)(sum - near);
  if (is_whole(w, base, high))
    far += (int64_t)high;
  else if (offset < 0) { /* a small number reads better */
    far += (int64_t)unread;
    high -= unread;
  }
  return (parts){.high = high,
                 .fix = (hashed ^ hash_constant(w, even.rest)) & written,
                 .unhashed_fix = (hashed ^ even.rest) & written,
                 .immediate = far + (int64_t)(hashed & ~written) - (int64_t)(even.rest & ~written)};
}

/* place = from ^ fix, which is that of a hashed base or not. */
static unsigned put_fix(writer *w, const bf_ptx_operand *base, const parts *of, const char *from,
                        uint64_t fix, int64_t less) {
  bool wide = is_wide(base);
  unsigned place = new_place(w, wide);
  PUT(w, "xor.b%u \t%splace%s%u, %s, %llu;\n", bits_of(wide), w->prefix, suffix_of(wide), place,
      from, (unsigned long long)fix);
  put_before(w, w->index);
  hold(w,
       (held){.base = base,
              .offset = (int64_t)of->high,
              .fix = of->fix,
              .less = less,
              .place = place,
              .at = w->index},
       false);
  return place;
}

/* ---- Places of other arrays at the same subscript ---- */

/* The number of the register that holds to - from; MOST_DISTANCES: there are too many. It is
 * computed where the function begins. */
static unsigned put_distance(writer *w, const bf_ptx_variable *from, const bf_ptx_variable *to) {
  for (unsigned i = 0; i < w->distances; i++)
    if (w->distance[i].from == from && w->distance[i].to == to)
      return i;
  if (w->distances == MOST_DISTANCES)
    return MOST_DISTANCES;
  unsigned own = w->distances++;
  w->distance[own] = (distance){from, to};
  PUT(w, "mov.u32 \t%sdistance%u, %s;\n", w->prefix, own, to->name);
  PUT(w, "mov.u32 \t%slogical, %s;\n", w->prefix, from->name);
  PUT(w, "sub.s32 \t%sdistance%u, %sdistance%u, %slogical;\n", w->prefix, own, w->prefix, own,
      w->prefix);
  w->uses_logical[0] = true;
  put_before(w, 0);
  return own;
}

/* Whether a place of another base is one of this base, but for how far the variables are apart. */
static bool is_sibling(const writer *w, const held *own, const bf_ptx_operand *base,
                       const bf_rewrite_split *split, bf_rewrite_split *other) {
  const bf_ptx_function *function = w->function->function;
  uint64_t unread = (uint64_t)1 << w->own->bits;
  if (own->by != w->own || own->base->kind != BF_PTX_REGISTER || is_wide(own->base) ||
      same_base(own->base, base) ||
      !bf_rewrite_split_base(function, w->hoist, own->base, w->index, other) ||
      other->subscript != split->subscript)
    return false;
  evenness a = even_base(w, own->base), b = even_base(w, base);
  return ((a.zeros ^ b.zeros) & (unread - 1)) == 0 && a.rest == b.rest &&
         bf_rewrite_are_apart(w->plan, w->kernel, other->variable, split->variable, unread);
}

/* Makes the target of base + offset of the place of another array at the same subscript; false
 * where there is none. Places to which something is still to be added, as whole rows are, do not
 * count: the bits that the distance touches are not those of a sum yet. */
static bool put_sibling(writer *w, const bf_ptx_operand *base, const parts *of, target *to) {
  uint64_t first_line = w->function->function->instruction[0]->line;
  bf_rewrite_split split, other;
  if (is_wide(base) || (of->high && is_whole(w, base, of->high)) ||
      !bf_rewrite_split_base(w->function->function, w->hoist, base, w->index, &split))
    return false;
  for (unsigned i = 0; i < w->helds; i++) {
    held own = w->held[i];
    if (own.is_generic || own.shift || own.is_sum || own.less || own.offset != (int64_t)of->high ||
        own.fix != of->fix || !is_at_hand(w, &own) || !is_sibling(w, &own, base, &split, &other) ||
        split.variable->line >= first_line || other.variable->line >= first_line)
      continue;
    unsigned apart = put_distance(w, other.variable, split.variable);
    if (apart == MOST_DISTANCES)
      return false;
    to->place = new_place(w, false);
    PUT(w, "add.s32 \t%splace%u, %splace%u, %sdistance%u;\n", w->prefix, to->place, w->prefix,
        own.place, w->prefix, apart);
    put_before(w, w->index);
    own.base = base;
    own.place = to->place;
    own.at = w->index;
    hold(w, own, true);
    return true;
  }
  return false;
}

/* The place of base + offset and what to add to it. */
static target put_shared(writer *w, const bf_ptx_operand *base, int64_t offset) {
  uint64_t zeros = even_base(w, base).zeros, unread = (uint64_t)1 << w->own->bits;
  if ((~zeros & (unread - 1)) == 0)
    return put_sum(w, base, offset);
  parts of = take_apart(w, base, offset);
  target to = {.immediate = of.immediate};
  bool is_still = base->kind == BF_PTX_REGISTER && !of.high && (w->own->read & ~zeros) == 0;
  if (is_still && !of.unhashed_fix && of.immediate == offset)
    return (target){.is_unchanged = true};
  const held *found = find_held(w, base, (int64_t)of.high, of.fix, false);
  if (found) {
    to.place = found->place;
    to.immediate += found->less;
    return to;
  }
  if (!is_still && put_sibling(w, base, &of, &to))
    return to;
  if (is_still) { /* the hash leaves the base where it is */
    to.place = put_fix(w, base, &of, name_of(w, base), of.unhashed_fix, 0);
    return to;
  }
  held made = put_place(w, base, of.high);
  to.place = made.place;
  to.immediate += made.less;
  if (of.fix) {
    char from[64];
    snprintf(from, sizeof from, "%splace%s%u", w->prefix, suffix_of(is_wide(base)), to.place);
    to.place = put_fix(w, base, &of, from, of.fix, made.less);
  }
  return to;
}

/* The same for a generic address: where it is one of shared memory, its hashed form. */
static unsigned put_generic(writer *w, const bf_ptx_operand *base, int64_t offset) {
  const held *found = find_held(w, base, offset, 0, true);
  if (found)
    return found->place;
  bool wide = is_wide(base);
  const char *suffix = suffix_of(wide), *address = put_logical(w, base, offset, wide);
  unsigned bits = bits_of(wide), place = new_place(w, wide);
  bool is_kept = is_worth_keeping(w, base, offset);
  uint32_t at = is_kept ? bf_rewrite_hoist_to(w->hoist, base, w->index, false) : w->index;
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
  put_before(w, at);
  hold(w, (held){.is_generic = true, .base = base, .offset = offset, .place = place, .at = at},
       is_kept);
  return place;
}

/* ---- Instructions ---- */

/* A copy of the instruction with operands of its own, which can be changed; NULL without memory. */
static bf_ptx_operand *copy_instruction(writer *w, uint32_t index) {
  const bf_ptx_instruction *instruction = w->function->function->instruction[index];
  bf_ptx_instruction *copy = bf_arena_alloc(w->plan->arena, sizeof *copy);
  bf_ptx_operand *operands =
      bf_arena_alloc(w->plan->arena, (size_t)instruction->operands * sizeof *operands);
  if (!copy || !operands) {
    w->failed = true;
    return NULL;
  }
  *copy = *instruction;
  memcpy(operands, instruction->operand, instruction->operands * sizeof *operands);
  copy->operand = operands;
  if (bf_rewrite_lacks_space(instruction))
    w->failed |= !bf_rewrite_name_space(copy, w->plan->arena);
  w->code->instruction[index] = copy;
  return operands;
}

/* Lets the access at hand go to its target. */
static void replace_address(writer *w, bool wide, target to) {
  unsigned operand = w->function->touch[w->index].operand;
  bf_ptx_operand *operands = copy_instruction(w, w->index);
  bf_ptx_operand *item = bf_arena_alloc(w->plan->arena, sizeof *item);
  if (!operands || !item) {
    w->failed = true;
    return;
  }
  *item = (bf_ptx_operand){
      .kind = BF_PTX_REGISTER, .registers = wide ? w->wide : w->narrow, .index = to.place};
  operands[operand].item = item;
  operands[operand].count = 1;
  operands[operand].offset = to.immediate;
}

static bool is_shared_name(const bf_ptx_operand *base) {
  return base->kind == BF_PTX_SYMBOL && base->symbol->variable->space == BF_PTX_SPACE_SHARED;
}

/* Writes the code of the access at hand. */
static void write_access(writer *w) {
  const bf_ptx_instruction *instruction = w->function->function->instruction[w->index];
  bf_touch touch = w->function->touch[w->index];
  const bf_ptx_operand *address = &instruction->operand[touch.operand], *base = &address->item[0];
  uint64_t own = base->kind == BF_PTX_SYMBOL ? (uint64_t)base->offset : 0; /* sums may wrap */
  int64_t offset = (int64_t)((uint64_t)address->offset + own);
  w->code->hashed++;
  if (touch.kind == BF_TOUCH_GENERIC && base->kind == BF_PTX_SYMBOL && !is_shared_name(base))
    return; /* a variable that is elsewhere */
  target to = {0};
  if (touch.kind == BF_TOUCH_SHARED)
    to = put_shared(w, base, offset);
  else
    to.place = put_generic(w, base, offset);
  if (!to.is_unchanged)
    replace_address(w, is_wide(base), to);
}

/* Lets a call lead to the copy of the function that hashes like this one. */
static void write_call(writer *w, uint32_t index) {
  const bf_ptx_instruction *instruction = w->function->function->instruction[index];
  int called = bf_rewrite_called(w->plan, instruction);
  const bf_rewrite_version *version =
      called < 0 ? NULL : bf_rewrite_find_version(w->plan, &w->plan->function[called], w->kernel);
  if (!version || !version->name)
    return;
  bf_ptx_operand *operands = copy_instruction(w, index);
  bf_ptx_symbol *symbol = bf_arena_alloc(w->plan->arena, sizeof *symbol);
  if (!operands || !symbol) {
    w->failed = true;
    return;
  }
  size_t callee = (size_t)(bf_rewrite_callee(instruction) - instruction->operand);
  *symbol = *operands[callee].symbol;
  symbol->name = version->name;
  operands[callee].symbol = symbol;
}

/* The hash in the form in which code is written. One too many takes the place of the last. */
static const hashing *find_hashing(writer *w, const bf_hash *hash) {
  for (unsigned i = 0; i < w->hashings; i++)
    if (w->hashing[i].hash == hash)
      return &w->hashing[i];
  hashing *made = &w->hashing[w->hashings < MOST_HASHES ? w->hashings++ : MOST_HASHES - 1];
  *made = (hashing){.hash = hash};
  unsigned all = bf_hash_terms(&hash->forward, made->term);
  for (unsigned i = 0; i < all; i++)
    if (made->term[i].shift > 0) {
      bf_hash_term term = made->term[i];
      term.mask *= BF_REWRITE_WORD_BYTES;
      made->read |= term.mask << term.shift;
      made->written |= term.mask;
      made->term[made->terms++] = term;
      if (made->whole_bits < (unsigned)term.shift)
        made->whole_bits = (unsigned)term.shift;
    }
  made->bits = 64 - (unsigned)__builtin_clzll(made->read | made->written);
  if (made->whole_bits < BF_REWRITE_ROW_BITS)
    made->whole_bits = BF_REWRITE_ROW_BITS;
  return made;
}

/* Notes which accesses need the hash of their base itself: where it is computed depends on all. */
static void note_accesses(writer *w) {
  for (uint32_t i = 0; i < w->function->function->instructions && !w->failed; i++) {
    const bf_hash *hash = bf_rewrite_is_hashed(w->function, i)
                              ? bf_rewrite_hash_at(w->plan, w->kernel, w->function, i)
                              : NULL;
    bf_touch touch = w->function->touch[i];
    if (!hash || touch.kind != BF_TOUCH_SHARED)
      continue;
    const bf_ptx_operand *address = &w->function->function->instruction[i]->operand[touch.operand];
    w->own = find_hashing(w, hash);
    uint64_t zeros = even_base(w, address->item).zeros;
    if ((w->own->read & ~zeros) && !take_apart(w, address->item, address->offset).high)
      w->failed |= !bf_rewrite_hoist_note(w->hoist, address->item, i);
  }
  bf_rewrite_hoist_settle(w->hoist);
}

static void write_instructions(writer *w) {
  const bf_ptx_function *function = w->function->function;
  for (uint32_t i = 0; i < function->instructions && !w->failed; i++) {
    w->code->instruction[i] = function->instruction[i];
    if (bf_rewrite_is_hashed(w->function, i)) {
      const bf_hash *hash = bf_rewrite_hash_at(w->plan, w->kernel, w->function, i);
      w->index = i;
      w->code->left += !hash;
      if (hash) {
        w->own = find_hashing(w, hash);
        write_access(w);
      }
    }
    write_call(w, i);
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
  declare(w, w->distances, "b32", "distance", w->distances);
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

static void prepare(writer *w, size_t count) {
  bf_arena *arena = w->plan->arena;
  choose_prefix(w);
  w->narrow = declare_places(w, false);
  w->wide = declare_places(w, true);
  w->hoist = bf_rewrite_hoist_make(w->function->function, w->flow, arena);
  w->zeros = bf_rewrite_zeros(w->plan, w->kernel, w->function);
  w->rests = w->zeros ? bf_rewrite_rests(w->plan, w->kernel, w->function, w->zeros) : NULL;
  w->code->before = bf_arena_alloc(arena, count * sizeof *w->code->before);
  w->code->instruction = bf_arena_alloc(arena, count * sizeof *w->code->instruction);
  w->failed |= !w->narrow || !w->wide || !w->hoist || !w->zeros || !w->rests || !w->code->before ||
               !w->code->instruction;
}

/* Writes the code with a writer, which is larger than the code of most functions. */
static int write_code(writer *w, const bf_rewrite_plan *plan, const bf_rewrite_function *function,
                      bf_rewrite_version *version, bf_diagnostic *diagnostic) {
  bf_ptx_flow *flow;
  BF_TRY(bf_ptx_flow_create(function->function, &flow, diagnostic));
  *w = (writer){.plan = plan,
                .function = function,
                .kernel = version->kernel,
                .code = version->code,
                .flow = flow};
  prepare(w, (size_t)function->function->instructions + 1);
  if (!w->failed)
    note_accesses(w);
  if (!w->failed)
    write_instructions(w);
  if (!w->failed)
    write_declarations(w);
  bf_text_free(&w->text);
  bf_ptx_flow_free(flow);
  return w->failed ? bf_no_memory(diagnostic) : BF_OK;
}

int bf_rewrite_code_make(const bf_rewrite_plan *plan, const bf_rewrite_function *function,
                         bf_rewrite_version *version, bf_diagnostic *diagnostic) {
  writer *w = malloc(sizeof *w);
  version->code = bf_arena_alloc(plan->arena, sizeof *version->code);
  int error = w && version->code ? write_code(w, plan, function, version, diagnostic)
                                 : bf_no_memory(diagnostic);
  free(w);
  return error;
}
