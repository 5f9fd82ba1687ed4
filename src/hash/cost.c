/* What a hash costs in gates and in instructions. docs/hash.md states the model.
 *
 * In software a map is the XOR of its diagonals: shifted copies of the word, each under a mask.
 * Instructions are counted as a GPU with a three-input logic instruction executes them. */
#include "hash/hash.h"

/* Bits i of the result that take bit i + shift of the word. */
static uint64_t diagonal(const bf_gf2_matrix *matrix, int shift) {
  uint64_t mask = 0;
  int size = (int)matrix->columns;
  for (int i = 0; i < (int)matrix->rows; i++)
    if (i + shift >= 0 && i + shift < size && (matrix->row[i] >> (i + shift) & 1))
      mask |= (uint64_t)1 << i;
  return mask;
}

/* Puts term behind the last term with the same mask, or at the end; shift 0 stays first. */
static void add_term(bf_hash_term *terms, unsigned count, bf_hash_term term) {
  unsigned at = count;
  for (unsigned i = 0; i < count; i++)
    if (terms[i].mask == term.mask)
      at = i + 1;
  for (unsigned i = count; i > at; i--)
    terms[i] = terms[i - 1];
  terms[at] = term;
}

unsigned bf_hash_terms(const bf_gf2_matrix *matrix, bf_hash_term *terms) {
  unsigned count = 0;
  int size = (int)matrix->columns;
  for (int step = 0; step < 2 * size - 1; step++) {
    int shift = step % 2 ? (step + 1) / 2 : -step / 2; /* 0, 1, -1, 2, -2, ... */
    uint64_t mask = diagonal(matrix, shift);
    if (mask)
      add_term(terms, count++, (bf_hash_term){shift, mask});
  }
  return count;
}

/* One shift per shifted term. Then, with a three-input logic instruction, for g terms under one
 * mask: values are XORed three at a time, and the last instruction also applies the mask and either
 * XORs onto the result or replaces the masked bits of it. An even number of values is masked while
 * two are left, which saves half an instruction: two such results join the total in one. Bits of
 * the word that do not stay in place are replaced by the first term that covers only such bits;
 * where that does not clear them all, one instruction masks the word first. */
static unsigned count_instructions(const bf_gf2_matrix *matrix) {
  bf_hash_term terms[2 * BF_GF2_MAX];
  unsigned count = bf_hash_terms(matrix, terms);
  uint64_t own = count && terms[0].shift == 0 ? terms[0].mask : 0;
  uint64_t to_clear = bf_gf2_low_bits(matrix->columns) & ~own;
  unsigned instructions = 0, masked_pairs = 0;
  for (unsigned i = own != 0, group; i < count; i += group) {
    uint64_t mask = terms[i].mask;
    for (group = 1; i + group < count && terms[i + group].mask == mask; group++)
      ;
    instructions += group; /* the shifts */
    if ((mask & ~to_clear) == 0) {
      instructions += group / 2 + 1;
      to_clear &= ~mask;
    } else {
      instructions += (group + 1) / 2;
      masked_pairs += group % 2 == 0;
    }
  }
  return instructions + (masked_pairs + 1) / 2 + (own && to_clear);
}

static unsigned ceil_log2(unsigned x) {
  unsigned result = 0;
  while ((1u << result) < x)
    result++;
  return result;
}

/* Each bank bit is a tree of 2-input XOR gates, and one without any address bit is a constant; the
 * other bits of the place are wires. */
static bf_hash_cost xor_cost(const bf_hash *hash) {
  bf_hash_cost cost = {0};
  for (unsigned i = 0; i < hash->geometry.bank_bits; i++) {
    unsigned terms = (unsigned)__builtin_popcountll(hash->forward.row[i]);
    cost.xor_inputs += terms ? terms - 1 : 0;
    if (terms && ceil_log2(terms) > cost.gate_depth)
      cost.gate_depth = ceil_log2(terms);
  }
  cost.gates = cost.xor_inputs;
  return cost;
}

static bf_hash_cost linear_cost(const bf_hash *hash) {
  bf_hash_cost cost = xor_cost(hash);
  cost.instructions = count_instructions(&hash->forward);
  return cost;
}

/* Software: shift, add, replace the bank bits. Hardware: a ripple-carry adder of m bits. Bit 0 is
 * an XOR gate and an AND for its carry. Every other bit that has a partner XORs the two and then
 * the carry, and its own carry is two ANDs and an OR, of which the carry before passes two; a bit
 * without a partner takes an XOR, and an AND for its carry. The last bit has no carry. */
static bf_hash_cost add_cost(const bf_hash *hash) {
  unsigned m = hash->geometry.bank_bits, above = hash->geometry.address_bits - m;
  if (m == 0 || above == 0)
    return (bf_hash_cost){0};
  bf_hash_cost cost = {.xor_inputs = 1, .instructions = 3, .gate_depth = 1, .gates = 1};
  unsigned carry_depth = 1;
  cost.gates += m > 1;
  for (unsigned i = 1; i < m; i++) {
    bool paired = i < above, last = i + 1 == m;
    cost.xor_inputs += paired ? 2 : 1;
    cost.gates += (paired ? 2 : 1) + (last ? 0 : paired ? 3 : 1);
    cost.gate_depth = carry_depth + 1;
    carry_depth += paired ? 2 : 1;
  }
  return cost;
}

/* word / N by multiply-high and shift (one shift where N is a power of two), then multiply-add. In
 * hardware it is no XOR network, and none is counted. */
static bf_hash_cost mod_cost(const bf_hash *hash) {
  uint64_t n = hash->row_words;
  bool power_of_two = (n & (n - 1)) == 0;
  return (bf_hash_cost){.instructions = hash->pad_words == 0 ? 0 : power_of_two ? 2 : 3};
}

bf_hash_cost bf_hash_get_cost(const bf_hash *hash) {
  switch (hash->kind) {
  case BF_HASH_LINEAR:
    return linear_cost(hash);
  case BF_HASH_PAD: /* a longer declared row: the address arithmetic stays as it was */
    break;
  case BF_HASH_ADD:
    return add_cost(hash);
  case BF_HASH_MOD:
    return mod_cost(hash);
  case BF_HASH_SHARED: /* there is no map for software */
    return xor_cost(hash);
  }
  return (bf_hash_cost){0};
}
