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
#include "rewrite/writer.h"

#include <string.h>

enum {
  /* Places that are kept from block to block take registers. One for each base is worth it; of
   * those at other offsets, so many in a function. Measured with bench/rewrite_cost.py: without a
   * limit, softmax of the corpus takes 156 registers in place of 32. */
  MOST_KEPT = 8,
};

static unsigned bits_of(bool wide) { return wide ? 64 : 32; }

/* ---- Hashes ---- */

const bf_rewrite_hashing *bf_rewrite_find_hashing(bf_rewrite_writer *w, const bf_hash *hash) {
  for (unsigned i = 0; i < w->hashings; i++)
    if (w->hashing[i].hash == hash)
      return &w->hashing[i];
  bf_rewrite_hashing *made =
      &w->hashing[w->hashings < BF_REWRITE_MOST_HASHES ? w->hashings++
                                                       : BF_REWRITE_MOST_HASHES - 1];
  *made = (bf_rewrite_hashing){.hash = hash};
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

/* ---- Hashed addresses ---- */

/* Writes place = from ^ (term & mask). */
static void put_masked_xor(bf_rewrite_writer *w, const char *place, const char *from, uint64_t mask,
                           bool wide) {
  const char *suffix = bf_rewrite_suffix_of(wide);
  unsigned bits = bits_of(wide);
  enum { AND_XOR = 0x6a }; /* (a & b) ^ c */
  if (!wide && w->plan->joins_logic) {
    BF_PUT(w, "lop3.b32 \t%s, %sterm, %llu, %s, 0x%x;\n", place, w->prefix,
           (unsigned long long)mask, from, AND_XOR);
    return;
  }
  BF_PUT(w, "and.b%u \t%sterm%s, %sterm%s, %llu;\n", bits, w->prefix, suffix, w->prefix, suffix,
         (unsigned long long)mask);
  BF_PUT(w, "xor.b%u \t%s, %s, %sterm%s;\n", bits, place, from, w->prefix, suffix);
}

/* Whether two terms put copies of the same bits to places of their own: a product has both, as one
 * sum without carries. */
static bool are_copies(const bf_rewrite_hashing *own) {
  const bf_hash_term *a = &own->term[0], *b = &own->term[1];
  return own->terms == 2 && a->shift > 0 && b->shift > 0 && !(a->mask & b->mask) &&
         (uint64_t)a->mask << a->shift == (uint64_t)b->mask << b->shift &&
         (uint64_t)a->mask << a->shift <= UINT32_MAX;
}

/* Writes place = H(address) by such a product, of which the upper half is taken: an instruction
 * less than by two shifts. */
static void put_product(bf_rewrite_writer *w, const char *address, const char *place) {
  const bf_hash_term *a = &w->own->term[0], *b = &w->own->term[1];
  uint32_t factor = (uint32_t)1 << (32 - a->shift) | (uint32_t)1 << (32 - b->shift);
  BF_PUT(w, "and.b32 \t%sterm, %s, %llu;\n", w->prefix, address,
         (unsigned long long)a->mask << a->shift);
  BF_PUT(w, "mul.hi.u32 \t%sterm, %sterm, %lu;\n", w->prefix, w->prefix, (unsigned long)factor);
  put_masked_xor(w, place, address, a->mask | b->mask, false);
}

/* Writes place = H(address) for an address in a register of its own or of the program. */
static void put_terms(bf_rewrite_writer *w, const char *address, unsigned place, bool wide) {
  const char *suffix = bf_rewrite_suffix_of(wide);
  char name[64];
  snprintf(name, sizeof name, "%splace%s%u", w->prefix, suffix, place);
  w->uses_term[wide] = true;
  if (!wide && are_copies(w->own)) {
    put_product(w, address, name);
    return;
  }
  for (unsigned i = 0; i < w->own->terms; i++) {
    const bf_hash_term *term = &w->own->term[i];
    BF_PUT(w, "shr.u%u \t%sterm%s, %s, %d;\n", bits_of(wide), w->prefix, suffix, address,
           term->shift);
    put_masked_xor(w, name, i == 0 ? address : name, term->mask, wide);
  }
}

/* The name of a register that holds base + offset, which it may have to be written to. */
static const char *put_logical(bf_rewrite_writer *w, const bf_ptx_operand *base, int64_t offset,
                               bool wide) {
  const char *name = bf_rewrite_name_of(w, base), *suffix = bf_rewrite_suffix_of(wide);
  if (base->kind == BF_PTX_REGISTER && offset == 0)
    return name;
  if (base->kind == BF_PTX_REGISTER)
    BF_PUT(w, "add.s%u \t%slogical%s, %s, %lld;\n", bits_of(wide), w->prefix, suffix, name,
           (long long)offset);
  else if (base->kind == BF_PTX_SYMBOL && offset)
    BF_PUT(w, "mov.u32 \t%slogical, %s+%lld;\n", w->prefix, name, (long long)offset);
  else if (base->kind == BF_PTX_SYMBOL)
    BF_PUT(w, "mov.u32 \t%slogical, %s;\n", w->prefix, name);
  else
    BF_PUT(w, "mov.u32 \t%slogical, %u;\n", w->prefix, (unsigned)(base->bits + (uint64_t)offset));
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

static unsigned new_place(bf_rewrite_writer *w, bool wide) {
  return wide ? w->wide_places++ : w->places++;
}

/* Whether to keep H(base + offset) beyond the block of the access at hand. */
static bool is_worth_keeping(bf_rewrite_writer *w, const bf_ptx_operand *base, int64_t offset) {
  return bf_rewrite_is_steady(w->hoist, base, w->index) &&
         ((offset == 0 && base->kind == BF_PTX_REGISTER) || w->kept++ < MOST_KEPT);
}

/* Whether an offset can be added behind the hash. */
static bool is_whole(const bf_rewrite_writer *w, const bf_ptx_operand *base, uint64_t high) {
  return base->kind == BF_PTX_REGISTER && (high & (((uint64_t)1 << w->own->whole_bits) - 1)) == 0;
}

/* The register that holds base >> shift, for code before instruction `at`, that of the access at
 * hand or one further up. */
static unsigned put_shifted(bf_rewrite_writer *w, const bf_ptx_operand *base, unsigned shift,
                            uint32_t at) {
  for (unsigned i = 0; i < w->helds; i++) {
    const bf_rewrite_held *own = &w->held[i];
    if (own->shift == shift && !own->is_sum && bf_rewrite_same_base(own->base, base) &&
        bf_rewrite_is_at_hand(w, own) &&
        (at == w->index || (own->is_steady && bf_rewrite_comes_first(w->hoist, own->at, at))))
      return own->place;
  }
  bool wide = bf_rewrite_is_wide(base);
  unsigned place = new_place(w, wide);
  BF_PUT(w, "shr.u%u \t%splace%s%u, %s, %u;\n", bits_of(wide), w->prefix,
         bf_rewrite_suffix_of(wide), place, bf_rewrite_name_of(w, base), shift);
  bf_rewrite_put_lines(w, at);
  bf_rewrite_hold(w, (bf_rewrite_held){.base = base, .shift = shift, .place = place, .at = at},
                  true);
  return place;
}

/* Writes place = H(base + rows) - rows before instruction `at`; rows: a multiple of 2^whole_bits.
 */
static void put_rows(bf_rewrite_writer *w, const bf_ptx_operand *base, uint64_t rows,
                     unsigned place, uint32_t at) {
  bool wide = bf_rewrite_is_wide(base);
  const char *suffix = bf_rewrite_suffix_of(wide), *address = bf_rewrite_name_of(w, base);
  char name[64];
  snprintf(name, sizeof name, "%splace%s%u", w->prefix, suffix, place);
  for (unsigned i = 0; i < w->own->terms; i++) {
    const bf_hash_term *term = &w->own->term[i];
    unsigned shifted = put_shifted(w, base, (unsigned)term->shift, at);
    BF_PUT(w, "add.s%u \t%sterm%s, %splace%s%u, %llu;\n", bits_of(wide), w->prefix, suffix,
           w->prefix, suffix, shifted, (unsigned long long)(rows >> term->shift));
    put_masked_xor(w, name, i == 0 ? address : name, term->mask, wide);
    bf_rewrite_put_lines(w, at);
  }
  w->uses_term[wide] = true;
}

/* ---- Sums that are whole rows apart ---- */

/* The sum of the base, in the block at hand, that is whole rows away from base + offset; NULL:
 * there is none. */
static const bf_rewrite_held *find_sum(const bf_rewrite_writer *w, const bf_ptx_operand *base,
                                       int64_t offset) {
  for (unsigned i = 0; i < w->helds; i++) {
    const bf_rewrite_held *own = &w->held[i];
    uint64_t apart = (uint64_t)(offset - own->offset);
    if (own->is_sum && !own->shift && bf_rewrite_same_base(own->base, base) &&
        is_whole(w, base, apart) && w->flow->block_of[own->at] == w->flow->block_of[w->index])
      return own;
  }
  return NULL;
}

/* The register that holds the sum shifted to the right. */
static unsigned put_shifted_sum(bf_rewrite_writer *w, bf_rewrite_held sum, unsigned shift) {
  for (unsigned i = 0; i < w->helds; i++)
    if (w->held[i].is_sum && w->held[i].shift == shift && w->held[i].offset == sum.offset &&
        bf_rewrite_same_base(w->held[i].base, sum.base) &&
        w->flow->block_of[w->held[i].at] == w->flow->block_of[w->index])
      return w->held[i].place;
  bool wide = bf_rewrite_is_wide(sum.base);
  const char *suffix = bf_rewrite_suffix_of(wide);
  bf_rewrite_held made = sum;
  made.shift = shift;
  made.place = new_place(w, wide);
  made.at = w->index;
  BF_PUT(w, "shr.u%u \t%splace%s%u, %splace%s%u, %u;\n", bits_of(wide), w->prefix, suffix,
         made.place, w->prefix, suffix, sum.place, shift);
  bf_rewrite_hold(w, made, false);
  return made.place;
}

/* Writes place = H(sum + apart) - apart for the access at hand; apart is made of whole rows. */
static void put_rows_of_sum(bf_rewrite_writer *w, bf_rewrite_held sum, int64_t apart,
                            unsigned place) {
  bool wide = bf_rewrite_is_wide(sum.base);
  const char *suffix = bf_rewrite_suffix_of(wide);
  uint64_t rows = (uint64_t)apart & (((uint64_t)1 << w->own->bits) - 1);
  char name[64], from[64];
  snprintf(name, sizeof name, "%splace%s%u", w->prefix, suffix, place);
  snprintf(from, sizeof from, "%splace%s%u", w->prefix, suffix, sum.place);
  for (unsigned i = 0; i < w->own->terms; i++) {
    const bf_hash_term *term = &w->own->term[i];
    unsigned shifted = put_shifted_sum(w, sum, (unsigned)term->shift);
    BF_PUT(w, "add.s%u \t%sterm%s, %splace%s%u, %llu;\n", bits_of(wide), w->prefix, suffix,
           w->prefix, suffix, shifted, (unsigned long long)(rows >> term->shift));
    put_masked_xor(w, name, i == 0 ? from : name, term->mask, wide);
  }
  w->uses_term[wide] = true;
}

/* The same for base + offset, by a sum that is at hand or becomes it. */
static bf_rewrite_held put_by_sum(bf_rewrite_writer *w, const bf_ptx_operand *base,
                                  int64_t offset) {
  bool wide = bf_rewrite_is_wide(base);
  const bf_rewrite_held *found = find_sum(w, base, offset);
  bf_rewrite_held made = {.base = base, .offset = offset, .at = w->index};
  if (found) {
    bf_rewrite_held sum = *found;
    made.less = offset - sum.offset;
    made.place = new_place(w, wide);
    put_rows_of_sum(w, sum, made.less, made.place);
  } else {
    bf_rewrite_held sum = {.is_sum = true, .base = base, .offset = offset, .at = w->index};
    char name[64];
    sum.place = new_place(w, wide);
    made.place = new_place(w, wide);
    snprintf(name, sizeof name, "%splace%s%u", w->prefix, bf_rewrite_suffix_of(wide), sum.place);
    BF_PUT(w, "add.s%u \t%s, %s, %lld;\n", bits_of(wide), name, bf_rewrite_name_of(w, base),
           (long long)offset);
    put_terms(w, name, made.place, wide);
    bf_rewrite_hold(w, sum, false);
  }
  bf_rewrite_put_lines(w, w->index);
  bf_rewrite_hold(w, made, false);
  return made;
}

/* H(step) for an offset inside what the base leaves free. */
static uint64_t hash_constant(const bf_rewrite_writer *w, uint64_t step) {
  uint64_t words = bf_hash_place(w->own->hash, step / BF_REWRITE_WORD_BYTES);
  return words * BF_REWRITE_WORD_BYTES + step % BF_REWRITE_WORD_BYTES;
}

/* ---- Places that differ by the highest bit that is read ---- */

/* The place at hand of base + offset, where offset and high differ by what H does not read, or
 * else by 2^t besides. */
static const bf_rewrite_held *find_beside(const bf_rewrite_writer *w, const bf_ptx_operand *base,
                                          int64_t high) {
  uint64_t top = (uint64_t)1 << (w->own->bits - 1);
  const bf_rewrite_held *found = NULL;
  for (unsigned i = 0; i < w->helds; i++) {
    const bf_rewrite_held *own = &w->held[i];
    uint64_t apart = (uint64_t)(high - own->offset) & (2 * top - 1);
    if (!own->is_generic && !own->is_sum && !own->shift && !own->fix && (apart & (top - 1)) == 0 &&
        (!apart || !found) && bf_rewrite_same_base(own->base, base) &&
        bf_rewrite_is_at_hand(w, own))
      found = own;
  }
  return found;
}

/* H(base + high) from such a place; whole offsets are in immediates anyway (take_apart). */
static bf_rewrite_held put_beside(bf_rewrite_writer *w, bf_rewrite_held beside, int64_t high) {
  uint64_t top = (uint64_t)1 << (w->own->bits - 1), apart = (uint64_t)(high - beside.offset);
  bool wide = bf_rewrite_is_wide(beside.base);
  const char *suffix = bf_rewrite_suffix_of(wide);
  bf_rewrite_held made = beside;
  made.offset = high;
  if (!is_whole(w, beside.base, (uint64_t)high))
    made.less += (int64_t)apart;
  if (!(apart & top))
    return made;
  made.place = new_place(w, wide);
  made.at = w->index;
  BF_PUT(w, "xor.b%u \t%splace%s%u, %splace%s%u, %llu;\n", bits_of(wide), w->prefix, suffix,
         made.place, w->prefix, suffix, beside.place,
         (unsigned long long)(hash_constant(w, top) ^ top));
  bf_rewrite_put_lines(w, w->index);
  bf_rewrite_hold(w, made, false);
  return made;
}

/* H(base + high) in a register, less high where that is whole, and less what the result says;
 * computed outside of loops where that is possible. */
static bf_rewrite_held put_place(bf_rewrite_writer *w, const bf_ptx_operand *base, uint64_t high) {
  const bf_rewrite_held *found = bf_rewrite_find_held(w, base, (int64_t)high, 0, false);
  if (found)
    return *found;
  const bf_rewrite_held *beside = find_beside(w, base, (int64_t)high);
  if (beside && bf_rewrite_hoist_to(w->hoist, base, w->index, !high) == w->index)
    return put_beside(w, *beside, (int64_t)high);
  bool is_kept = is_worth_keeping(w, base, (int64_t)high);
  bool adds_rows = high && is_whole(w, base, high), wide = bf_rewrite_is_wide(base);
  if (!is_kept && high && !adds_rows && base->kind == BF_PTX_REGISTER)
    return put_by_sum(w, base, (int64_t)high);
  uint32_t at = is_kept ? bf_rewrite_hoist_to(w->hoist, base, w->index, !high) : w->index;
  bf_rewrite_held made = {
      .base = base, .offset = (int64_t)high, .place = new_place(w, wide), .at = at};
  if (adds_rows)
    put_rows(w, base, high, made.place, at);
  else
    put_terms(w, put_logical(w, base, (int64_t)high, wide), made.place, wide);
  bf_rewrite_put_lines(w, at);
  bf_rewrite_hold(w, made, is_kept);
  return made;
}

/* What is known of a base: it is even + rest, and these bits of even are 0; rest lies among the
 * lowest of them. */
typedef struct evenness {
  uint64_t zeros, rest;
} evenness;

static evenness even_base(const bf_rewrite_writer *w, const bf_ptx_operand *base) {
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

/* The target of base + offset where all that the hash reads of base is known: even + H(rest +
 * offset), which ptxas makes an immediate of. */
static bf_rewrite_target put_sum(bf_rewrite_writer *w, const bf_ptx_operand *base, int64_t offset) {
  uint64_t rest = even_base(w, base).rest, sum = (uint64_t)offset + rest;
  uint64_t near = sum & (((uint64_t)1 << w->own->bits) - 1), hashed = hash_constant(w, near);
  bf_rewrite_target to = {.is_unchanged = hashed == near, .immediate = (int64_t)(sum - near)};
  const bf_rewrite_held *found = bf_rewrite_find_held(w, base, (int64_t)near, 0, false);
  if (to.is_unchanged)
    return to;
  if (found) {
    to.place = found->place;
    return to;
  }
  bool wide = bf_rewrite_is_wide(base);
  to.place = new_place(w, wide);
  if (base->kind == BF_PTX_REGISTER)
    BF_PUT(w, "add.s%u \t%splace%s%u, %s, %lld;\n", bits_of(wide), w->prefix,
           bf_rewrite_suffix_of(wide), to.place, bf_rewrite_name_of(w, base),
           (long long)(hashed - rest));
  else
    BF_PUT(w, "mov.u32 \t%splace%u, %s+%llu;\n", w->prefix, to.place, bf_rewrite_name_of(w, base),
           (unsigned long long)hashed);
  bf_rewrite_put_lines(w, w->index);
  bf_rewrite_hold(
      w,
      (bf_rewrite_held){.base = base, .offset = (int64_t)near, .place = to.place, .at = w->index},
      false);
  return to;
}

/* The parts of an offset, as the head of this file has them; far is in the immediate. */
typedef struct parts {
  uint64_t high, fix;
  uint64_t
      unhashed_fix; /* the same for a base that was not hashed, where the hash of even is even */
  int64_t immediate;
} parts;

static parts take_apart(const bf_rewrite_writer *w, const bf_ptx_operand *base, int64_t offset) {
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

bool bf_rewrite_needs_base(const bf_rewrite_writer *w, const bf_ptx_operand *base, int64_t offset) {
  return (w->own->read & ~even_base(w, base).zeros) && !take_apart(w, base, offset).high;
}

/* place = from ^ fix, which is that of a hashed base or not. */
static unsigned put_fix(bf_rewrite_writer *w, const bf_ptx_operand *base, const parts *of,
                        const char *from, uint64_t fix, int64_t less) {
  bool wide = bf_rewrite_is_wide(base);
  unsigned place = new_place(w, wide);
  BF_PUT(w, "xor.b%u \t%splace%s%u, %s, %llu;\n", bits_of(wide), w->prefix,
         bf_rewrite_suffix_of(wide), place, from, (unsigned long long)fix);
  bf_rewrite_put_lines(w, w->index);
  bf_rewrite_hold(w,
                  (bf_rewrite_held){.base = base,
                                    .offset = (int64_t)of->high,
                                    .fix = of->fix,
                                    .less = less,
                                    .place = place,
                                    .at = w->index},
                  false);
  return place;
}

/* ---- Places of other arrays at the same subscript ---- */

/* The number of the register that holds to - from; BF_REWRITE_MOST_DISTANCES: there are too many.
 * It is computed where the function begins. */
static unsigned put_distance(bf_rewrite_writer *w, const bf_ptx_variable *from,
                             const bf_ptx_variable *to) {
  for (unsigned i = 0; i < w->distances; i++)
    if (w->distance[i].from == from && w->distance[i].to == to)
      return i;
  if (w->distances == BF_REWRITE_MOST_DISTANCES)
    return BF_REWRITE_MOST_DISTANCES;
  unsigned own = w->distances++;
  w->distance[own] = (bf_rewrite_distance){from, to};
  BF_PUT(w, "mov.u32 \t%sdistance%u, %s;\n", w->prefix, own, to->name);
  BF_PUT(w, "mov.u32 \t%slogical, %s;\n", w->prefix, from->name);
  BF_PUT(w, "sub.s32 \t%sdistance%u, %sdistance%u, %slogical;\n", w->prefix, own, w->prefix, own,
         w->prefix);
  w->uses_logical[0] = true;
  bf_rewrite_put_lines(w, 0);
  return own;
}

/* Whether a place of another base is one of this base, but for how far the variables are apart. */
static bool is_sibling(const bf_rewrite_writer *w, const bf_rewrite_held *own,
                       const bf_ptx_operand *base, const bf_rewrite_split *split,
                       bf_rewrite_split *other) {
  const bf_ptx_function *function = w->function->function;
  uint64_t unread = (uint64_t)1 << w->own->bits;
  if (own->by != w->own || own->base->kind != BF_PTX_REGISTER || bf_rewrite_is_wide(own->base) ||
      bf_rewrite_same_base(own->base, base) ||
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
static bool put_sibling(bf_rewrite_writer *w, const bf_ptx_operand *base, const parts *of,
                        bf_rewrite_target *to) {
  uint64_t first_line = w->function->function->instruction[0]->line;
  bf_rewrite_split split, other;
  if (bf_rewrite_is_wide(base) || (of->high && is_whole(w, base, of->high)) ||
      !bf_rewrite_split_base(w->function->function, w->hoist, base, w->index, &split))
    return false;
  for (unsigned i = 0; i < w->helds; i++) {
    bf_rewrite_held own = w->held[i];
    if (own.is_generic || own.shift || own.is_sum || own.less || own.offset != (int64_t)of->high ||
        own.fix != of->fix || !bf_rewrite_is_at_hand(w, &own) ||
        !is_sibling(w, &own, base, &split, &other) || split.variable->line >= first_line ||
        other.variable->line >= first_line)
      continue;
    unsigned apart = put_distance(w, other.variable, split.variable);
    if (apart == BF_REWRITE_MOST_DISTANCES)
      return false;
    to->place = new_place(w, false);
    BF_PUT(w, "add.s32 \t%splace%u, %splace%u, %sdistance%u;\n", w->prefix, to->place, w->prefix,
           own.place, w->prefix, apart);
    bf_rewrite_put_lines(w, w->index);
    own.base = base;
    own.place = to->place;
    own.at = w->index;
    bf_rewrite_hold(w, own, true);
    return true;
  }
  return false;
}

bf_rewrite_target bf_rewrite_put_shared(bf_rewrite_writer *w, const bf_ptx_operand *base,
                                        int64_t offset) {
  uint64_t zeros = even_base(w, base).zeros, unread = (uint64_t)1 << w->own->bits;
  if ((~zeros & (unread - 1)) == 0)
    return put_sum(w, base, offset);
  parts of = take_apart(w, base, offset);
  bf_rewrite_target to = {.immediate = of.immediate};
  bool is_still = base->kind == BF_PTX_REGISTER && !of.high && (w->own->read & ~zeros) == 0;
  if (is_still && !of.unhashed_fix && of.immediate == offset)
    return (bf_rewrite_target){.is_unchanged = true};
  const bf_rewrite_held *found = bf_rewrite_find_held(w, base, (int64_t)of.high, of.fix, false);
  if (found) {
    to.place = found->place;
    to.immediate += found->less;
    return to;
  }
  if (!is_still && put_sibling(w, base, &of, &to))
    return to;
  if (is_still) { /* the hash leaves the base where it is */
    to.place = put_fix(w, base, &of, bf_rewrite_name_of(w, base), of.unhashed_fix, 0);
    return to;
  }
  bf_rewrite_held made = put_place(w, base, of.high);
  to.place = made.place;
  to.immediate += made.less;
  if (of.fix) {
    char from[64];
    snprintf(from, sizeof from, "%splace%s%u", w->prefix,
             bf_rewrite_suffix_of(bf_rewrite_is_wide(base)), to.place);
    to.place = put_fix(w, base, &of, from, of.fix, made.less);
  }
  return to;
}

unsigned bf_rewrite_put_generic(bf_rewrite_writer *w, const bf_ptx_operand *base, int64_t offset) {
  const bf_rewrite_held *found = bf_rewrite_find_held(w, base, offset, 0, true);
  if (found)
    return found->place;
  bool wide = bf_rewrite_is_wide(base);
  const char *suffix = bf_rewrite_suffix_of(wide), *address = put_logical(w, base, offset, wide);
  unsigned bits = bits_of(wide), place = new_place(w, wide);
  bool is_kept = is_worth_keeping(w, base, offset);
  uint32_t at = is_kept ? bf_rewrite_hoist_to(w->hoist, base, w->index, false) : w->index;
  char inside[40];
  snprintf(inside, sizeof inside, "%sinside%s", w->prefix, suffix);
  BF_PUT(w, "isspacep.shared \t%sis_shared, %s;\n", w->prefix, address);
  BF_PUT(w, "cvta.to.shared.u%u \t%s, %s;\n", bits, inside, address);
  put_terms(w, inside, place, wide);
  BF_PUT(w, "cvta.shared.u%u \t%splace%s%u, %splace%s%u;\n", bits, w->prefix, suffix, place,
         w->prefix, suffix, place);
  BF_PUT(w, "selp.b%u \t%splace%s%u, %splace%s%u, %s, %sis_shared;\n", bits, w->prefix, suffix,
         place, w->prefix, suffix, place, address, w->prefix);
  w->uses_predicate = true;
  bf_rewrite_put_lines(w, at);
  bf_rewrite_hold(w,
                  (bf_rewrite_held){
                      .is_generic = true, .base = base, .offset = offset, .place = place, .at = at},
                  is_kept);
  return place;
}
