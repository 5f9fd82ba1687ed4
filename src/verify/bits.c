/* Values whose bits are XORs of bits of one unknown address. Shifts, masks, XOR and sums without
 * unknown carries keep that form; whatever leaves it becomes unknown, with the reason.
 *
 * Two things may stand beside the bits. Vague bits are those of which nothing is known, as the
 * carry out of a sum; a mask takes them away. A lag is a number that is still to be added: x = r ^
 * (((r + 256) >> 5) & 124) has bits of r + 256 in its lower part, where they are those of r as
 * well, and r above: it is (r + 256) ^ (((r + 256) >> 5) & 124) with a lag of -256. Behind the next
 * addition of 256 it is one value again. A lag is a multiple of a power of two from which on the
 * bits are the address's own. */
#include "verify/inner.h"

#include <string.h>

static uint64_t low_bits(unsigned count) { return bf_gf2_low_bits(count); }

bf_verify_bits bf_verify_unknown(const char *why) { return (bf_verify_bits){.unknown = why}; }

bf_verify_bits bf_verify_constant(uint64_t value, unsigned width) {
  return (bf_verify_bits){.width = width, .constant = value & low_bits(width)};
}

/* The bits of base + offset that are 0: those of the base below the lowest bit of the offset. */
static uint64_t own_zeros(const bf_verify_atom *atom) {
  return atom->offset ? atom->zeros & low_bits((unsigned)__builtin_ctzll(atom->offset))
                      : atom->zeros;
}

/* Row i of an atom's own value. */
static uint64_t own_row(const bf_verify_atom *atom, unsigned i) {
  return i < atom->width && !(own_zeros(atom) >> i & 1) ? (uint64_t)1 << i : 0;
}

bf_verify_bits bf_verify_atom_bits(const bf_verify_atom *atom) {
  bf_verify_bits bits = {.width = atom->width, .atom = *atom};
  for (unsigned i = 0; i < atom->width; i++)
    bits.row[i] = own_row(atom, i);
  return bits;
}

bool bf_verify_is_constant(const bf_verify_bits *bits) {
  uint64_t any = 0;
  for (unsigned i = 0; i < bits->width; i++)
    any |= bits->row[i];
  return !bits->unknown && !any && !bits->vague && !bits->lag;
}

/* Whether bits are all that there is. */
static bool is_plain(const bf_verify_bits *bits) { return !bits->vague && !bits->lag; }

/* The bits that are 0 whatever the address. */
static uint64_t zeros(const bf_verify_bits *bits) {
  uint64_t mask = 0;
  for (unsigned i = 0; i < bits->width; i++)
    if (!bits->row[i])
      mask |= (uint64_t)1 << i;
  return mask & ~bits->constant;
}

/* Whether bits below `from` depend on nothing from bit `limit` on. */
static bool is_low_below(const bf_verify_bits *bits, unsigned from, unsigned limit) {
  for (unsigned i = 0; i < from; i++)
    if (bits->row[i] & ~low_bits(limit))
      return false;
  return true;
}

/* Whether bits from `from` on are the atom's own, but for ones where the atom has zeros. */
static bool is_own_above(const bf_verify_bits *bits, unsigned from) {
  uint64_t own = own_zeros(&bits->atom);
  for (unsigned i = from; i < bits->width; i++)
    if (i >= bits->atom.width || bits->row[i] != own_row(&bits->atom, i) ||
        (bits->constant & ~own) >> i & 1)
      return false;
  return true;
}

/* Both: then adding a multiple of 1 << from to the atom adds the same to bits. */
static bool is_own_from(const bf_verify_bits *bits, unsigned from) {
  return is_low_below(bits, from, from) && is_own_above(bits, from);
}

/* base + offset, where the lowest bits of the offset that only meet zeros of the base become a
 * constant. The same sum has the same form, however it was reached. */
static bf_verify_bits sum_of(bf_verify_atom atom, uint64_t offset) {
  uint64_t carries = offset & ~atom.zeros & low_bits(atom.width);
  unsigned from = carries ? (unsigned)__builtin_ctzll(carries) : 64;
  atom.offset = from < 64 ? offset & low_bits(atom.width) & ~low_bits(from) : 0;
  bf_verify_bits sum = bf_verify_atom_bits(&atom);
  sum.constant = offset & low_bits(atom.width) & low_bits(from);
  return sum;
}

/* How far to the right the atom, with ones where it has zeros, was shifted to give bits; 0: it was
 * not, or nothing is left. */
static unsigned right_shift(const bf_verify_bits *bits) {
  unsigned first = 0, by;
  while (first < bits->width && !bits->row[first])
    first++;
  if (first == bits->width || bits->atom.width != bits->width)
    return 0;
  by = (unsigned)__builtin_ctzll(bits->row[first]);
  if (by <= first)
    return 0;
  by -= first;
  for (unsigned i = 0; i < bits->width; i++)
    if (bits->row[i] != (i + by < bits->width ? own_row(&bits->atom, i + by) : 0) ||
        (bits->constant >> i & 1 && (bits->row[i] || i + by >= bits->width)))
      return 0;
  return by;
}

/* (atom >> by) + addend = (atom + (addend << by)) >> by, but for the bits that were shifted in: a
 * carry may go there. Ones among the zeros of the atom are part of the sum. */
static bf_verify_bits add_shifted(const bf_verify_bits *bits, unsigned by, uint64_t addend) {
  unsigned kept = bits->width - by;
  if (addend & ~low_bits(kept))
    return bf_verify_unknown("an addition to bits that were shifted in");
  bf_verify_bits sum = sum_of(bits->atom, bits->atom.offset + ((bits->constant + addend) << by));
  sum.is_offset = bits->is_offset;
  sum.only_shared = bits->only_shared;
  sum = bf_verify_shift(&sum, -(int)by);
  sum.vague = low_bits(sum.width) & ~low_bits(kept);
  return sum;
}

/* Adds bit by bit, from the lowest on: to bits that are known, and past others where the carry is
 * what is added there, so that they stay as they are. What is still to be added behind that is left
 * in *addend, with the carry. */
static bf_verify_bits add_known(const bf_verify_bits *bits, uint64_t *addend) {
  bf_verify_bits sum = *bits;
  uint64_t carry = 0;
  for (unsigned i = 0; i < bits->width; i++) {
    uint64_t added = *addend >> i & 1, own = bits->constant >> i & 1;
    if (bits->row[i] && added != carry) {
      *addend = ((*addend >> i << i) + (carry << i)) & low_bits(bits->width);
      return sum;
    }
    if (!bits->row[i]) {
      sum.constant = (sum.constant & ~((uint64_t)1 << i)) | (own ^ added ^ carry) << i;
      carry = (own + added + carry) >> 1;
    }
  }
  *addend = 0;
  return sum;
}

/* The sum of bits, which are not the atom's own from 0 on, and what carries may be unknown of. */
static bf_verify_bits add_carrying(const bf_verify_bits *bits, uint64_t addend) {
  bf_verify_bits sum = *bits;
  uint64_t carries = addend & ~zeros(bits);
  unsigned from = carries ? (unsigned)__builtin_ctzll(carries) : 64, by = right_shift(bits);
  if (from < 64 && by)
    return add_shifted(bits, by, addend);
  if (from < 64) {
    uint64_t high = ~low_bits(from), added = (addend & high) + (bits->constant & high);
    if (!is_low_below(bits, from, from + 1) || !is_own_above(bits, from))
      return bf_verify_unknown("an addition whose carries are not known");
    sum.atom.offset = (sum.atom.offset + added) & low_bits(sum.atom.width);
    sum.constant &= ~high;
    for (unsigned i = 0; i < from; i++) /* bit `from` of the address is flipped */
      sum.constant ^= (bits->row[i] >> from & added >> from & 1) << i;
    for (unsigned i = from; i < sum.width; i++)
      sum.row[i] = own_row(&sum.atom, i);
  }
  sum.constant |= addend & low_bits(from);
  return sum;
}

bf_verify_bits bf_verify_add(const bf_verify_bits *bits, uint64_t addend) {
  bf_verify_bits sum = *bits;
  addend = (addend + bits->lag) & low_bits(bits->width);
  sum.lag = 0;
  if (bits->unknown || !addend)
    return sum;
  if (bits->vague)
    return bf_verify_unknown("an addition to bits that are not known");
  if (bf_verify_is_constant(bits))
    return bf_verify_constant(bits->constant + addend, bits->width);
  if (bits->width == bits->atom.width && is_own_from(bits, 0)) {
    sum = sum_of(bits->atom, bits->atom.offset + bits->constant + addend);
    sum.is_offset = bits->is_offset;
    sum.only_shared = bits->only_shared;
    return sum;
  }
  sum = add_known(&sum, &addend);
  return addend ? add_carrying(&sum, addend) : sum;
}

bf_verify_bits bf_verify_shift(const bf_verify_bits *bits, int left) {
  bf_verify_bits shifted = *bits;
  if (bits->unknown)
    return shifted;
  if (!is_plain(bits))
    return bf_verify_unknown("a shift of bits that are not known");
  memset(shifted.row, 0, sizeof shifted.row);
  for (int i = 0; i < (int)bits->width; i++)
    if (i - left >= 0 && i - left < (int)bits->width)
      shifted.row[i] = bits->row[i - left];
  shifted.constant = left >= 0 ? bits->constant << left : bits->constant >> -left;
  shifted.constant &= low_bits(bits->width);
  return shifted;
}

bf_verify_bits bf_verify_multiply_high(const bf_verify_bits *bits, uint64_t factor) {
  unsigned width = bits->width;
  bf_verify_bits product = *bits;
  uint64_t ones = low_bits(width) & ~zeros(bits), taken = 0;
  if (!is_plain(bits) || width > 32)
    return bf_verify_unknown("a product of bits that are not all known");
  product.constant = 0;
  memset(product.row, 0, sizeof product.row);
  for (unsigned k = 0; k < width; k++) {
    if (!(factor >> k & 1))
      continue;
    if (taken & ones << k)
      return bf_verify_unknown("a product whose parts meet: a carry may go anywhere");
    taken |= ones << k;
    product.constant |= bits->constant << k >> width;
    for (unsigned i = width - k; i < width; i++)
      product.row[i + k - width] |= bits->row[i];
  }
  return product;
}

/* Whether both are the same address, but for the offset. */
static bool same_base(const bf_verify_atom *a, const bf_verify_atom *b) {
  return a->base == b->base && a->number == b->number && a->variable == b->variable &&
         a->from == b->from && a->to == b->to;
}

static bool same_atom(const bf_verify_atom *a, const bf_verify_atom *b) {
  return same_base(a, b) && a->width == b->width && a->offset == b->offset;
}

/* Whether inputs leave the bit of one of them as it is, whatever the bits of others that vary. */
static bool keeps_bit(const bf_verify_bits *const input[3], unsigned main, unsigned bit,
                      unsigned table) {
  unsigned constant = 0, varying = 1u << (2 - main);
  for (unsigned i = 0; i < 3; i++) {
    constant |= (unsigned)(input[i]->constant >> bit & 1) << (2 - i);
    if (input[i]->row[bit] || input[i]->vague >> bit & 1)
      varying |= 1u << (2 - i);
  }
  for (unsigned x = 0; x < 8; x++)
    if ((x & ~varying) == (constant & ~varying) && (table >> x & 1) != (x >> (2 - main) & 1))
      return false;
  return true;
}

/* The address that all inputs but constants depend on, in *result; false where there are two. */
static bool find_atom(const bf_verify_bits *const input[3], bf_verify_bits *result) {
  for (unsigned i = 0; i < 3; i++) {
    if (bf_verify_is_constant(input[i]))
      continue;
    if (result->atom.base && !same_atom(&result->atom, &input[i]->atom))
      return false;
    result->atom = input[i]->atom;
    result->is_offset = input[i]->is_offset;
  }
  return true;
}

/* One bit of bf_verify_table: as a polynomial over GF(2) of the inputs that vary there, it must
 * have no products. Coefficient x belongs to the product of the inputs that have a bit in x. */
static bool table_bit(const bf_verify_bits *const input[3], unsigned bit, unsigned table,
                      bf_verify_bits *result) {
  unsigned coefficient[8], constant = 0, varying = 0, place[3];
  const uint64_t *row[3];
  bool is_vague[3];
  for (unsigned i = 0; i < 3; i++) {
    constant |= (unsigned)(input[i]->constant >> bit & 1) << (2 - i);
    if (input[i]->row[bit] || input[i]->vague >> bit & 1) {
      is_vague[varying] = input[i]->vague >> bit & 1;
      place[varying] = 2 - i;
      row[varying++] = &input[i]->row[bit];
    }
  }
  for (unsigned x = 0; x < 1u << varying; x++) {
    unsigned index = constant;
    for (unsigned i = 0; i < varying; i++)
      index ^= (x >> i & 1) << place[i];
    coefficient[x] = table >> index & 1;
  }
  for (unsigned i = 0; i < varying; i++)
    for (unsigned x = 0; x < 1u << varying; x++)
      if (x >> i & 1)
        coefficient[x] ^= coefficient[x ^ 1u << i];
  for (unsigned x = 1; x < 1u << varying; x++)
    for (unsigned i = 0; i < varying; i++)
      if (coefficient[x] && x >> i & 1 && is_vague[i]) {
        result->vague |= (uint64_t)1 << bit;
        return true;
      }
  for (unsigned x = 1; x < 1u << varying; x++)
    if (x & (x - 1) && coefficient[x])
      return false;
  for (unsigned i = 0; i < varying; i++)
    if (coefficient[1u << i])
      result->row[bit] ^= *row[i];
  result->constant |= (uint64_t)coefficient[0] << bit;
  return true;
}

/* The address at the offset to which inputs other than main belong; false where they belong to
 * two, or to one that differs from that of main in more than the offset. */
static bool find_other(const bf_verify_bits *const input[3], unsigned main, bf_verify_atom *atom) {
  const bf_verify_atom *own = &input[main]->atom;
  bool is_found = false;
  *atom = *own;
  for (unsigned i = 0; i < 3; i++) {
    const bf_verify_atom *other = &input[i]->atom;
    if (i == main || bf_verify_is_constant(input[i]))
      continue;
    if (input[i]->lag || !same_base(other, own) || other->width != own->width ||
        (is_found && other->offset != atom->offset))
      return false;
    *atom = *other;
    is_found = true;
  }
  return true;
}

/* The table where input main is the address at one offset, the others have bits of it at another,
 * and from some bit on main is left as it is. Below that bit both offsets give the same bits. */
static bf_verify_bits table_at_offset(const bf_verify_bits *const input[3], unsigned main,
                                      unsigned table) {
  const bf_verify_bits *own = input[main];
  bf_verify_bits result = {.width = own->width}, moved[3];
  const bf_verify_bits *at[3];
  if (!find_other(input, main, &result.atom))
    return bf_verify_unknown("a mixture of two addresses");
  uint64_t apart = result.atom.offset - own->atom.offset, step = (apart | own->lag);
  unsigned from = step ? (unsigned)__builtin_ctzll(step) : 64;
  if (from >= own->width || own->width != own->atom.width || !is_own_above(own, from) ||
      own->constant >> from || (apart && !is_low_below(own, from, from)))
    return bf_verify_unknown("a mixture of two addresses");
  for (unsigned i = 0; i < 3; i++) {
    if (input[i]->is_offset)
      return bf_verify_unknown("a mixture of two addresses");
    moved[i] = *input[i];
    moved[i].atom = result.atom;
    at[i] = &moved[i];
    result.only_shared |= input[i]->only_shared;
  }
  for (unsigned bit = 0; bit < from; bit++)
    if (!table_bit(at, bit, table, &result))
      return bf_verify_unknown("a function of the address that is no XOR of its bits");
  for (unsigned bit = from; bit < own->width; bit++) {
    if (!keeps_bit(input, main, bit, table))
      return bf_verify_unknown("a mixture of two addresses");
    result.row[bit] = own_row(&result.atom, bit);
  }
  result.lag = (own->lag - apart) & low_bits(own->width);
  return result;
}

/* The table of inputs that belong to two offsets of an address, or have a lag. */
static bf_verify_bits table_of_two(const bf_verify_bits *const input[3], unsigned table) {
  bf_verify_bits result = bf_verify_unknown("a mixture of two addresses");
  unsigned lagging = 3;
  for (unsigned i = 0; i < 3; i++)
    if (input[i]->lag)
      lagging = i;
  for (unsigned i = 0; i < 3 && result.unknown; i++)
    if (lagging == i || (lagging == 3 && !input[i]->vague && !bf_verify_is_constant(input[i])))
      result = table_at_offset(input, i, table);
  return result;
}

bf_verify_bits bf_verify_table(const bf_verify_bits *a, const bf_verify_bits *b,
                               const bf_verify_bits *c, unsigned table) {
  const bf_verify_bits *const input[3] = {a, b, c};
  bf_verify_bits result = {.width = a->width};
  bool has_lag = false;
  for (unsigned i = 0; i < 3; i++) {
    if (input[i]->unknown)
      return *input[i];
    result.only_shared |= input[i]->only_shared;
    has_lag |= input[i]->lag;
  }
  if (has_lag || !find_atom(input, &result))
    return table_of_two(input, table);
  for (unsigned bit = 0; bit < a->width; bit++)
    if (!table_bit(input, bit, table, &result))
      return bf_verify_unknown("a function of the address that is no XOR of its bits");
  return result;
}

bf_verify_bits bf_verify_resize(const bf_verify_bits *bits, unsigned width) {
  bf_verify_bits result = *bits;
  if (bits->unknown)
    return result;
  if (!is_plain(bits))
    return bf_verify_unknown("a conversion of bits that are not known");
  for (unsigned i = width; i < bits->width; i++)
    result.row[i] = 0;
  result.constant &= low_bits(width);
  result.width = width;
  return result;
}

/* What cvta.to.shared makes of a generic address: the bits inside the window. */
bf_verify_bits bf_verify_to_offset(const bf_verify_bits *bits) {
  if (bits->unknown)
    return *bits;
  if (bits->is_offset || !is_plain(bits))
    return bf_verify_unknown("cvta.to.shared of a shared address");
  bf_verify_bits result = bf_verify_resize(bits, BF_VERIFY_WINDOW_BITS);
  result.width = bits->width;
  result.is_offset = result.only_shared = true;
  return result;
}

/* The way back: bits above the window's size are those of the address it came from. */
bf_verify_bits bf_verify_to_generic(const bf_verify_bits *bits) {
  if (bits->unknown)
    return *bits;
  if (!bits->is_offset || bits->width < bits->atom.width || !is_plain(bits))
    return bf_verify_unknown("cvta.shared of something that did not come from cvta.to.shared");
  bf_verify_bits result = *bits;
  for (unsigned i = BF_VERIFY_WINDOW_BITS; i < bits->width; i++) {
    if (result.row[i] || result.constant >> i & 1)
      return bf_verify_unknown("cvta.shared of an address beyond shared memory");
    result.row[i] = own_row(&bits->atom, i);
  }
  result.is_offset = false;
  return result;
}

/* ---- Distances between variables ---- */

/* Whether bits are those of an atom of that kind, and nothing else. */
static bool is_atom(const bf_verify_bits *bits, bf_verify_base base) {
  return !bits->unknown && bits->atom.base == base && is_plain(bits) && !bits->is_offset &&
         bits->width == 32 && bits->atom.width == 32 && !bits->atom.offset && !bits->constant &&
         is_own_from(bits, 0);
}

bool bf_verify_is_distance(const bf_verify_bits *bits) { return is_atom(bits, BF_VERIFY_DISTANCE); }

bf_verify_bits bf_verify_distance(const bf_verify_bits *to, const bf_verify_bits *from) {
  bf_verify_atom atom = {.base = BF_VERIFY_DISTANCE, .width = 32};
  if (!is_atom(to, BF_VERIFY_VARIABLE) || !is_atom(from, BF_VERIFY_VARIABLE))
    return bf_verify_unknown("a difference of something else than two variables");
  atom.from = from->atom.variable;
  atom.to = to->atom.variable;
  return bf_verify_atom_bits(&atom);
}

/* Lowest bits of the address of a static variable, less where shared memory begins, that are 0. */
static unsigned zero_bits(const bf_ptx_variable *variable) {
  bool is_fixed = variable->bytes && variable->linkage == BF_PTX_PRIVATE;
  return is_fixed ? bf_verify_variable_zero_bits(variable) : 0;
}

/* Lowest bits that adding the distance between two variables leaves alone: wherever shared memory
 * begins, it is a multiple of what both are aligned to. */
static unsigned bits_kept(const bf_verify_atom *atom) {
  unsigned from = zero_bits(atom->from), to = zero_bits(atom->to);
  unsigned least = from < to ? from : to;
  return least < 31 ? least : 31;
}

bf_verify_bits bf_verify_move(const bf_verify_bits *bits, const bf_verify_bits *distance) {
  bf_verify_bits sum = *bits;
  if (bits->unknown)
    return sum;
  unsigned kept = bits_kept(&distance->atom);
  if (bits->atom.base != BF_VERIFY_REGISTER || bits->atom.to || bits->is_offset ||
      !is_plain(bits) || bits->width != 32 || bits->atom.width != 32 || !is_own_from(bits, kept) ||
      bits->constant >> kept)
    return bf_verify_unknown("an addition of a distance whose carries are not known");
  sum.atom.from = distance->atom.from;
  sum.atom.to = distance->atom.to;
  sum.atom.zeros &= low_bits(kept);
  for (unsigned i = kept; i < sum.width; i++)
    sum.row[i] = own_row(&sum.atom, i);
  return sum;
}

bf_verify_bits bf_verify_settle(const bf_verify_bits *moved, const bf_verify_atom *atom) {
  bf_verify_bits settled = *moved;
  if (moved->unknown || !moved->atom.to)
    return settled;
  unsigned kept = bits_kept(&moved->atom);
  uint64_t differs = (own_zeros(&moved->atom) ^ own_zeros(atom)) & low_bits(kept);
  if (!is_plain(moved) || moved->width != atom->width || moved->atom.offset != atom->offset ||
      differs || !is_own_from(moved, kept) || moved->constant >> kept)
    return bf_verify_unknown("the hash of another array at another place");
  settled.atom = *atom;
  for (unsigned i = kept; i < settled.width; i++)
    settled.row[i] = own_row(atom, i);
  return settled;
}

bf_verify_bits bf_verify_hashed(const bf_verify_bits *bits, const bf_hash *hash) {
  bf_verify_bits result = *bits;
  if (bits->unknown)
    return result;
  if (!is_plain(bits))
    return bf_verify_unknown("the hash of bits that are not known");
  for (unsigned i = 0; i < BF_VERIFY_BANK_BITS; i++) {
    uint64_t read = hash->forward.row[i];
    unsigned to = BF_VERIFY_WORD_BIT + i;
    result.row[to] = 0;
    result.constant &= ~((uint64_t)1 << to);
    result.constant |= (uint64_t)bf_gf2_parity(bits->constant >> BF_VERIFY_WORD_BIT & read) << to;
    for (unsigned from = 0; from + BF_VERIFY_WORD_BIT < bits->width; from++)
      if (read >> from & 1)
        result.row[to] ^= bits->row[from + BF_VERIFY_WORD_BIT];
  }
  return result;
}

bool bf_verify_same_bits(const bf_verify_bits *a, const bf_verify_bits *b) {
  if (a->unknown || b->unknown || a->width != b->width || a->is_offset != b->is_offset ||
      a->constant != b->constant || a->vague != b->vague || a->lag != b->lag ||
      memcmp(a->row, b->row, sizeof a->row))
    return false;
  return bf_verify_is_constant(a) || same_atom(&a->atom, &b->atom);
}
