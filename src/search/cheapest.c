/* The same conflicts for less. A hash may be written in many ways without changing any conflict:
 * by another basis of the space of its functionals, by adding functionals that are 0 on every
 * difference of words that occurs, and with its bank bits in another order. */
#include "search/cheapest.h"
#include "search/terms.h"

#include <string.h>

typedef struct priced {
  uint64_t row[BF_MAX_FUNCTIONALS];
  unsigned instructions, xor_inputs;
  bool valid;
} priced;

static unsigned weight(uint64_t row) { return (unsigned)__builtin_popcountll(row); }

static bool price(const bf_geometry *geometry, priced *candidate) {
  bf_hash *hash;
  if (bf_hash_from_rows(candidate->row, geometry, &hash, NULL) != BF_OK)
    return false;
  bf_hash_cost cost = bf_hash_get_cost(hash);
  candidate->instructions = cost.instructions;
  candidate->xor_inputs = cost.xor_inputs;
  candidate->valid = true;
  bf_hash_free(hash);
  return true;
}

static void keep_cheaper(priced *best, const priced *candidate) {
  if (!candidate->valid)
    return;
  bool fewer =
      candidate->instructions < best->instructions ||
      (candidate->instructions == best->instructions && candidate->xor_inputs < best->xor_inputs);
  if (!best->valid || fewer)
    *best = *candidate;
}

/* ---- The space's own functionals, written short ---- */

/* Functionals over used address bits that are 0 on the whole space: one for each used bit that is
 * no coordinate. */
static unsigned vanishing(const bf_exact *exact, uint64_t *functional) {
  const bf_coordinates *c = &exact->coordinates;
  uint64_t pivots = bf_coordinates_lift(c, (uint32_t)bf_gf2_low_bits(c->dimension));
  unsigned count = 0;
  for (uint64_t left = exact->problem->used_bits & ~pivots; left; left &= left - 1) {
    uint64_t bit = left & -left;
    functional[count] = bit;
    for (unsigned i = 0; i < c->dimension; i++)
      if (c->basis[i] & bit)
        functional[count] |= (uint64_t)1 << c->bit[i];
    count++;
  }
  return count;
}

/* The lightest of row plus any sum of vanishing functionals; ties go to the smallest number. */
static uint64_t lightest(uint64_t row, const uint64_t *zero, unsigned count) {
  uint64_t best = row, current = row;
  for (uint32_t step = 1; step < 1u << count; step++) {
    current ^= zero[__builtin_ctz(step)]; /* Gray code */
    if (weight(current) < weight(best) || (weight(current) == weight(best) && current < best))
      best = current;
  }
  return best;
}

/* The lightest basis of the space: greedily, lightest functional first (a matroid). The first
 * `fixed` rows stay. */
static void lightest_basis(const bf_exact *exact, const uint32_t *functional, const uint64_t *zero,
                           unsigned zeros, uint64_t *row) {
  uint64_t option[1u << BF_MAX_FUNCTIONALS];
  unsigned k = exact->m - exact->fixed, options = (1u << k) - 1;
  for (unsigned pick = 1; pick <= options; pick++) {
    uint32_t sum = 0;
    for (unsigned j = 0; j < k; j++)
      if (pick >> j & 1)
        sum ^= functional[exact->fixed + j];
    option[pick - 1] = lightest(bf_coordinates_lift(&exact->coordinates, sum), zero, zeros);
  }
  for (unsigned i = 1; i < options; i++) {
    uint64_t own = option[i];
    unsigned j = i;
    for (; j > 0 && (weight(option[j - 1]) > weight(own) ||
                     (weight(option[j - 1]) == weight(own) && option[j - 1] > own));
         j--)
      option[j] = option[j - 1];
    option[j] = own;
  }
  bf_gf2_basis basis = {0};
  unsigned next = exact->fixed;
  for (unsigned j = 0; j < exact->fixed; j++) {
    row[j] = (uint64_t)1 << j;
    bf_gf2_insert(&basis, row[j]);
  }
  for (unsigned i = 0; i < options && next < exact->m; i++)
    if (option[i] && bf_gf2_insert(&basis, option[i]))
      row[next++] = option[i];
  for (unsigned bit = 0; next < exact->m && bit < exact->problem->geometry.address_bits; bit++)
    if (bf_gf2_insert(&basis, (uint64_t)1 << bit))
      row[next++] = (uint64_t)1 << bit;
}

/* Tries every order of the rows from `from` on and keeps the cheapest. */
static void order_rows(const bf_geometry *geometry, priced *current, unsigned from, priced *best) {
  if (from == geometry->bank_bits) {
    if (price(geometry, current))
      keep_cheaper(best, current);
    return;
  }
  for (unsigned i = from; i < geometry->bank_bits; i++) {
    uint64_t own = current->row[i];
    current->row[i] = current->row[from];
    current->row[from] = own;
    order_rows(geometry, current, from + 1, best);
    current->row[from] = current->row[i];
    current->row[i] = own;
  }
}

/* The hash of these functionals, written as cheaply as can be. */
static void price_functionals(const bf_exact *exact, const uint32_t *functional, priced *best) {
  uint64_t zero[BF_GF2_MAX];
  unsigned zeros = vanishing(exact, zero);
  if (zeros > 12)
    zeros = 12;
  priced candidate = {0};
  if (exact->row) {
    for (unsigned i = 0; i < exact->m; i++)
      candidate.row[i] =
          lightest(bf_coordinates_lift(&exact->coordinates, functional[i]), zero, zeros);
    if (price(&exact->problem->geometry, &candidate))
      keep_cheaper(best, &candidate);
  } else {
    lightest_basis(exact, functional, zero, zeros, candidate.row);
    order_rows(&exact->problem->geometry, &candidate, exact->fixed, best);
  }
}

/* The best hash itself, and a lighter one of the same cost if the null-space search finds one. */
static void own_functionals(bf_exact *exact, priced *best) {
  uint32_t lighter[BF_MAX_FUNCTIONALS] = {0};
  price_functionals(exact, exact->functional, best);
  if (best->valid && best->xor_inputs && !bf_exact_stopped(exact) &&
      bf_nulls_lightest(exact, best->xor_inputs, lighter))
    price_functionals(exact, lighter, best);
}

/* ---- Hashes of one and two terms ---- */

static int by_terms(bf_exact *exact, unsigned terms, priced *best, bf_diagnostic *diagnostic) {
  bf_terms_query query = bf_terms_query_of(exact, terms);
  query.most = atomic_load(&exact->best);
  bf_terms found;
  int error = bf_terms_search(&query, &found, diagnostic);
  if (error || !found.found)
    return error;
  priced candidate = {0};
  bf_terms_rows(&found, &exact->problem->geometry, candidate.row);
  if (price(&exact->problem->geometry, &candidate))
    keep_cheaper(best, &candidate);
  return BF_OK;
}

void bf_cheapest_order(const bf_exact *exact, uint64_t *row) {
  priced current = {0}, best = {0};
  memcpy(current.row, row, exact->m * sizeof *row);
  order_rows(&exact->problem->geometry, &current, exact->fixed, &best);
  if (best.valid)
    memcpy(row, best.row, exact->m * sizeof *row);
}

int bf_cheapest(bf_exact *exact, uint64_t *row, bf_diagnostic *diagnostic) {
  priced best = {0};
  own_functionals(exact, &best);
  for (unsigned terms = 1;
       terms <= 2 && !(best.valid && best.instructions < 2 * terms) && !bf_exact_poll(exact);
       terms++) {
    BF_TRY(by_terms(exact, terms, &best, diagnostic));
  }
  if (!best.valid)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "no invertible hash was found");
  memcpy(row, best.row, exact->m * sizeof *row);
  return BF_OK;
}
