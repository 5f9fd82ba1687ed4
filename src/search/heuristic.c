/* Heuristics that choose bank bits one after another from address bits or pairs of them
 * (braak16, section 5.2): Givargis's, extended to many sets, and Minimum Imbalance. Both look
 * at how a candidate bit splits each set of words; a shape counts as often as its weight. */
#include "search/search.h"

#include <stdlib.h>
#include <string.h>

/* The order decides ties, which go to the first. Minimum Imbalance prefers single bits; Givargis is
 * published with the rows of Table 3 one after another: a, a^b, a^c, ..., b, b^c, ... */
typedef enum order { SINGLES_FIRST, BY_LOWEST_BIT } order;

/* Fills candidate with all single bits and, if asked, all XORs of two: n(n+1)/2 in all. */
static size_t list_candidates(unsigned address_bits, bool pairs, order by, uint64_t *candidate) {
  size_t count = 0;
  for (unsigned i = 0; i < address_bits; i++) {
    candidate[count++] = (uint64_t)1 << i;
    for (unsigned j = i + 1; pairs && by == BY_LOWEST_BIT && j < address_bits; j++)
      candidate[count++] = (uint64_t)1 << i | (uint64_t)1 << j;
  }
  for (unsigned i = 0; pairs && by == SINGLES_FIRST && i < address_bits; i++)
    for (unsigned j = i + 1; j < address_bits; j++)
      candidate[count++] = (uint64_t)1 << i | (uint64_t)1 << j;
  return count;
}

enum { MAX_CANDIDATES = BF_HASH_MAX_ADDRESS_BITS * (BF_HASH_MAX_ADDRESS_BITS + 1) / 2 };

typedef struct chooser {
  const bf_problem *problem;
  uint64_t candidate[MAX_CANDIDATES];
  size_t candidates;
  bf_gf2_basis taken; /* a bit that depends on chosen ones cannot be chosen ... */
  bool literal;       /* ... unless heuristics are followed to the letter: only chosen ones */
  const bf_found *found;
  double *score; /* per candidate, higher is better; set before each choice */
} chooser;

/* Differences below rounding noise are ties, and ties go to the lowest candidate. */
static const double noise = 1e-9;

static bool can_choose(const chooser *c, uint64_t functional) {
  if (!c->literal)
    return bf_gf2_reduce(&c->taken, functional) != 0;
  for (unsigned i = 0; i < c->found->chosen_count; i++)
    if (c->found->chosen[i] == functional)
      return false;
  return true;
}

static size_t best_candidate(const chooser *c) {
  uint64_t granule = bf_gf2_low_bits(c->problem->granule_bits);
  size_t best = SIZE_MAX;
  for (size_t i = 0; i < c->candidates; i++) {
    if ((c->candidate[i] & granule) || !can_choose(c, c->candidate[i]))
      continue;
    if (best == SIZE_MAX || c->score[i] > c->score[best] + noise)
      best = i;
  }
  return best;
}

static void take(chooser *c, uint64_t functional, bf_found *found) {
  bf_gf2_insert(&c->taken, functional);
  found->row[found->chosen_count] = functional;
  found->chosen[found->chosen_count++] = functional;
}

static int start(const bf_problem *problem, bool pairs, order by, chooser *c, bf_found *found,
                 bf_diagnostic *diagnostic) {
  memset(c, 0, sizeof *c);
  c->problem = problem;
  c->found = found;
  c->candidates = list_candidates(problem->geometry.address_bits, pairs, by, c->candidate);
  c->score = calloc(c->candidates + 1, sizeof *c->score);
  if (!c->score)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < problem->granule_bits; i++)
    take(c, (uint64_t)1 << i, found);
  return BF_OK;
}

/* Whether to go on; a choice takes a round over all of the parts. */
static int tell(const chooser *c, uint64_t part, uint64_t parts, bf_diagnostic *diagnostic) {
  uint64_t rounds = c->problem->geometry.bank_bits, round = c->found->chosen_count;
  return bf_search_goes_on(c->problem->watch, round * parts + part, rounds * parts)
             ? BF_OK
             : bf_fail(diagnostic, BF_UNSUPPORTED, "it was stopped");
}

/* smaller / larger of the two parts into which a functional splits a shape: 1 even, 0 not at all.
 */
static double evenness(const bf_shape *shape, uint64_t functional) {
  unsigned ones = 0;
  for (unsigned i = 0; i < shape->words; i++)
    ones += bf_gf2_parity(functional & shape->word[i]);
  unsigned zeros = shape->words - ones;
  return ones < zeros ? (double)ones / zeros : (double)zeros / (ones ? ones : 1);
}

/* Givargis: each set keeps a quality per candidate, at first how evenly it splits the set, and
 * after each choice multiplied by how little it correlates with the chosen bit. The bit with the
 * largest sum of qualities is chosen. */
int bf_search_givargis(const bf_problem *problem, bool pairs, bool literal, bf_found *found,
                       bf_diagnostic *diagnostic) {
  chooser *c = malloc(sizeof *c);
  if (!c)
    return bf_no_memory(diagnostic);
  int error = start(problem, pairs, BY_LOWEST_BIT, c, found, diagnostic);
  double *quality = NULL;
  c->literal = literal;
  if (!error && !(quality = malloc((problem->count * c->candidates + 1) * sizeof *quality)))
    error = bf_no_memory(diagnostic);
  for (size_t s = 0; !error && s < problem->count; s++) {
    error = s % 256 == 0 ? tell(c, s, problem->count, diagnostic) : BF_OK;
    for (size_t i = 0; i < c->candidates; i++) {
      double *own = &quality[s * c->candidates + i];
      *own = evenness(&problem->shape[s], c->candidate[i]);
      for (unsigned g = 0; g < problem->granule_bits; g++)
        *own *= evenness(&problem->shape[s], c->candidate[i] ^ (uint64_t)1 << g);
    }
  }
  while (!error && found->chosen_count < problem->geometry.bank_bits &&
         !(error = tell(c, 0, 1, diagnostic))) {
    memset(c->score, 0, c->candidates * sizeof *c->score);
    for (size_t s = 0; s < problem->count; s++)
      for (size_t i = 0; i < c->candidates; i++)
        c->score[i] += (double)problem->shape[s].weight * quality[s * c->candidates + i];
    uint64_t chosen = c->candidate[best_candidate(c)];
    take(c, chosen, found);
    for (size_t s = 0; !error && s < problem->count; s++) {
      error = s % 256 == 0 ? tell(c, s, problem->count, diagnostic) : BF_OK;
      for (size_t i = 0; i < c->candidates; i++)
        quality[s * c->candidates + i] *= evenness(&problem->shape[s], c->candidate[i] ^ chosen);
    }
  }
  free(quality);
  free(c->score);
  free(c);
  return error;
}

double bf_search_imbalance(const bf_shape *shape, const uint32_t *bin, uint64_t functional,
                           unsigned chosen, unsigned *histogram) {
  uint32_t number[BF_SHAPE_WORDS];
  uint16_t load[BF_SHAPE_WORDS] = {0};
  unsigned occupied = 0;
  double bins = (double)((uint64_t)2 << chosen), average = shape->words / bins, sum = 0;
  for (unsigned i = 0; i < shape->words; i++) {
    uint32_t own = bin[i] | bf_gf2_parity(functional & shape->word[i]) << chosen;
    unsigned at = 0;
    while (at < occupied && number[at] != own)
      at++;
    if (at == occupied)
      number[occupied++] = own;
    load[at]++;
  }
  for (unsigned at = 0; at < occupied; at++) {
    sum += load[at] > average ? load[at] - average : average - load[at];
    if (histogram)
      histogram[number[at]] = load[at];
  }
  sum += average * (bins - occupied);
  return sum / shape->words;
}

/* Minimum Imbalance: the next bit is the one that, together with those chosen before, spreads the
 * words over bins most evenly, summed over all sets. */
int bf_search_min_imbalance(const bf_problem *problem, bool pairs, bf_found *found,
                            bf_diagnostic *diagnostic) {
  chooser *c = malloc(sizeof *c);
  if (!c)
    return bf_no_memory(diagnostic);
  int error = start(problem, pairs, SINGLES_FIRST, c, found, diagnostic);
  uint32_t(*bin)[BF_SHAPE_WORDS] = NULL;
  if (!error && !(bin = calloc(problem->count + 1, sizeof *bin)))
    error = bf_no_memory(diagnostic);
  for (size_t s = 0; !error && s < problem->count; s++)
    for (unsigned i = 0; i < problem->shape[s].words; i++)
      bin[s][i] = problem->shape[s].word[i] & (uint32_t)bf_gf2_low_bits(problem->granule_bits);
  while (!error && found->chosen_count < problem->geometry.bank_bits) {
    for (size_t i = 0; i < c->candidates && !error; i++) {
      error = tell(c, i, c->candidates, diagnostic);
      c->score[i] = 0;
      for (size_t s = 0; s < problem->count; s++)
        c->score[i] -= (double)problem->shape[s].weight *
                       bf_search_imbalance(&problem->shape[s], bin[s], c->candidate[i],
                                           found->chosen_count, NULL);
    }
    if (error)
      break;
    uint64_t chosen = c->candidate[best_candidate(c)];
    take(c, chosen, found);
    for (size_t s = 0; s < problem->count; s++)
      for (unsigned i = 0; i < problem->shape[s].words; i++)
        bin[s][i] |= bf_gf2_parity(chosen & problem->shape[s].word[i]) << (found->chosen_count - 1);
  }
  free(bin);
  free(c->score);
  free(c);
  return error;
}
