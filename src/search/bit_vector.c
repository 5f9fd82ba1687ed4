/* Bit-vector hashes, exhaustively: bank = (a >> k1) ^ ((a >> k2) & mask) (braak16, 4.2, 5.1).
 *
 * Where every access is a stride S = S0 * 2^k, only the k that occur are tried for k1, and k2 runs
 * from the smallest k to the highest address bit that an access of t lanes reaches,
 * floor(log2((t-1) * S)); mask bits stop there too. */
#include "search/evaluate.h"
#include "search/search.h"

#include <stdio.h>

typedef struct ranges {
  uint64_t first_shifts; /* bit k set: k1 = k is tried */
  unsigned second_from, second_to;
  unsigned top; /* address bits at or above it are not used in the second vector */
  bool permutation_only;
} ranges;

static unsigned log2_floor(uint64_t x) { return 63 - (unsigned)__builtin_clzll(x); }

/* The stride of an access in words, 0 where it has none; false if it is no strided access. */
static bool stride_words(const bf_machine *machine, const bf_access *access, uint64_t *stride) {
  bf_pattern pattern = bf_access_classify(access, bf_machine_lanes(machine), 1);
  unsigned word_bytes = bf_machine_geometry(machine).word_bytes;
  int64_t bytes = pattern.stride_x * (int64_t)access->width_bytes;
  *stride = (uint64_t)(bytes < 0 ? -bytes : bytes) / word_bytes;
  if (pattern.class_ == BF_PATTERN_BROADCAST) {
    *stride = 0;
    return true;
  }
  bool strided = pattern.class_ == BF_PATTERN_LINEAR || pattern.class_ == BF_PATTERN_STRIDE;
  return strided && bytes % word_bytes == 0 && access->width_bytes <= word_bytes;
}

static ranges all_ranges(const bf_geometry *g) {
  return (ranges){.first_shifts = bf_gf2_low_bits(g->address_bits - g->bank_bits + 1),
                  .second_to = g->address_bits - 1,
                  .top = g->address_bits};
}

/* The paper's reduction; false where an access is not strided. */
static bool reduced_ranges(const bf_cases *cases, ranges *r) {
  bf_geometry g = bf_machine_geometry(cases->item[0].machine);
  unsigned lowest = g.address_bits, highest = 0;
  *r = (ranges){0};
  for (size_t i = 0, size = bf_cases_size(cases), which; i < size; i++) {
    const bf_access *access = bf_cases_get(cases, i, &which);
    const bf_machine *machine = cases->item[which].machine;
    uint64_t stride;
    if (!stride_words(machine, access, &stride))
      return false;
    if (stride == 0 || (access->mask & (access->mask - 1)) == 0)
      continue;
    unsigned k = (unsigned)__builtin_ctzll(stride);
    uint64_t reach = (bf_machine_lanes(machine) - 1) * stride;
    unsigned top = log2_floor(reach);
    if (k + g.bank_bits > g.address_bits)
      k = g.address_bits - g.bank_bits;
    r->first_shifts |= (uint64_t)1 << k;
    lowest = k < lowest ? k : lowest;
    highest = top > highest ? top : highest;
  }
  if (r->first_shifts == 0)
    return false;
  if (highest >= g.address_bits)
    highest = g.address_bits - 1;
  r->second_from = lowest;
  r->second_to = highest;
  r->top = highest + 1;
  r->permutation_only = (r->first_shifts & (r->first_shifts - 1)) == 0;
  return true;
}

static void bit_vector_rows(const bf_geometry *g, unsigned k1, unsigned k2, uint64_t mask,
                            uint64_t *row) {
  for (unsigned i = 0; i < g->bank_bits; i++) {
    row[i] = (uint64_t)1 << (i + k1);
    if ((mask >> i & 1) && i + k2 < g->address_bits)
      row[i] ^= (uint64_t)1 << (i + k2);
  }
}

typedef struct choice {
  uint64_t cost, mask;
  unsigned k1, k2;
  bool valid;
} choice;

/* Lowest cost; then the smallest k1, since software computes k1 = 0 in the fewest instructions;
 * then the fewest mask bits and the smallest numbers. */
static bool better(const choice *a, const choice *b) {
  int bits_a = __builtin_popcountll(a->mask), bits_b = __builtin_popcountll(b->mask);
  if (!b->valid || a->cost != b->cost)
    return !b->valid || a->cost < b->cost;
  if (a->k1 != b->k1)
    return a->k1 < b->k1;
  if (bits_a != bits_b)
    return bits_a < bits_b;
  return a->k2 != b->k2 ? a->k2 < b->k2 : a->mask < b->mask;
}

/* A granule stays together only if the low bits of the bank are those of the address. */
static bool keeps_granule(const bf_problem *problem, const choice *c) {
  return problem->granule_bits == 0 ||
         (c->k1 == 0 && (c->mask & bf_gf2_low_bits(problem->granule_bits)) == 0);
}

static void try_choice(const bf_evaluator *evaluator, choice *candidate, choice *best,
                       bf_found *found) {
  uint64_t row[BF_HASH_MAX_BANK_BITS];
  found->candidates_tested++;
  if (!keeps_granule(evaluator->problem, candidate))
    return;
  bit_vector_rows(&evaluator->problem->geometry, candidate->k1, candidate->k2, candidate->mask,
                  row);
  candidate->cost = bf_evaluator_cost(evaluator, row);
  if (better(candidate, best))
    *best = *candidate;
}

/* Tries all; false where the watch said stop before. */
static bool try_all(const bf_evaluator *evaluator, const ranges *r, choice *best, bf_found *found) {
  unsigned m = evaluator->problem->geometry.bank_bits;
  uint64_t seconds = r->permutation_only ? 1 : r->second_to - r->second_from + 1, tried = 0;
  uint64_t all = (uint64_t)__builtin_popcountll(r->first_shifts) * seconds;
  for (uint64_t left = r->first_shifts; left; left &= left - 1) {
    choice candidate = {.k1 = (unsigned)__builtin_ctzll(left), .valid = true};
    if (r->permutation_only) {
      try_choice(evaluator, &candidate, best, found);
      continue;
    }
    for (candidate.k2 = r->second_from; candidate.k2 <= r->second_to; candidate.k2++) {
      if (best->valid && !bf_search_goes_on(evaluator->problem->watch, tried, all))
        return false;
      tried++;
      if (candidate.k2 == candidate.k1)
        continue;
      unsigned bits = r->top - candidate.k2 < m ? r->top - candidate.k2 : m;
      for (candidate.mask = 0; candidate.mask < (uint64_t)1 << bits; candidate.mask++)
        try_choice(evaluator, &candidate, best, found);
    }
  }
  return true;
}

int bf_search_bit_vector(const bf_problem *problem, const bf_cases *cases, bool all_candidates,
                         bf_found *found, bf_diagnostic *diagnostic) {
  const bf_geometry *g = &problem->geometry;
  ranges r;
  if (g->bank_bits > 10)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "bit-vector search handles up to 1024 banks");
  bool reduced = !all_candidates && problem->granule_bits == 0 && reduced_ranges(cases, &r);
  if (!reduced)
    r = all_ranges(g);
  bf_evaluator evaluator;
  BF_TRY(bf_evaluator_build(problem, &evaluator, diagnostic));
  choice best = {0};
  bool is_whole = try_all(&evaluator, &r, &best, found) && !reduced;
  if (!best.valid) {
    best = (choice){.valid = true};
    try_choice(&evaluator, &best, &best, found);
  }
  bf_evaluator_free(&evaluator);
  found->candidates_total = (uint64_t)(g->address_bits - g->bank_bits + 1) * g->address_bits
                            << g->bank_bits;
  bit_vector_rows(g, best.k1, best.k2, best.mask, found->row);
  if (best.mask)
    snprintf(found->text, sizeof found->text, "xor:%u,%u,%llu", best.k1, best.k2,
             (unsigned long long)best.mask);
  else if (best.k1)
    snprintf(found->text, sizeof found->text, "perm:%u", best.k1);
  else
    snprintf(found->text, sizeof found->text, "none");
  found->complete = is_whole;
  found->lower_bound = is_whole ? best.cost : 0;
  return BF_OK;
}
