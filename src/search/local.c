/* Local search. With all functionals but one fixed, every shape is split into 2^(m-1) blocks, and
 * each candidate for the last functional costs one pass over them; so the best replacement of any
 * one functional is found by trying all. A random change of basis before each step (which changes
 * no bank conflict) makes every hyperplane of the current hash a starting point. */
#include "search/exact.h"

#include <stdlib.h>
#include <string.h>

/* Shape evaluations to spend: a fraction of a second with vector units. */
static const uint64_t usual_budget = 100000000;
/* Starts to descend from: enough for small problems, where evaluations are too cheap to count. */
static const unsigned usual_rounds = 400;

/* The search beside the proofs ends when it has found nothing for so long. */
static const double patience_seconds = 10;

typedef struct local {
  bf_exact *exact;
  uint64_t random, spent, budget;
  bf_levels levels;
  uint32_t functional[BF_MAX_FUNCTIONALS];
} local;

/* xorshift64: the sequence is the same on every run. */
static uint32_t next_random(local *self, uint32_t below) {
  self->random ^= self->random << 13;
  self->random ^= self->random >> 7;
  self->random ^= self->random << 17;
  return (uint32_t)((self->random >> 20) % below);
}

static unsigned free_count(const bf_exact *exact) { return exact->m - exact->fixed; }

/* Splits by all functionals except number `left_out`. Returns the bound's parent sum. */
static uint64_t split_others(local *self, unsigned left_out) {
  const bf_exact *exact = self->exact;
  bf_levels *levels = &self->levels;
  unsigned level = 0;
  for (unsigned j = 0; j < exact->m; j++) {
    if (j == left_out)
      continue;
    exact->kernel->split(&exact->planes, levels->blocks[level], level, self->functional[j],
                         levels->blocks[level + 1], levels->sizes[level + 1]);
    level++;
  }
  return exact->kernel->passes(&exact->planes, levels->sizes[level], level, exact->m,
                               levels->passes[level]);
}

/* Candidate number k for functional `index`: all of them modulo the span of the others. */
typedef struct candidates {
  uint32_t count, base;
  uint32_t positions; /* coordinates that k is spread over */
} candidates;

static candidates list_candidates(const local *self, unsigned index) {
  const bf_exact *exact = self->exact;
  unsigned d = exact->planes.dimension;
  uint32_t all = (uint32_t)bf_gf2_low_bits(d);
  if (exact->row) {
    uint32_t high = all & ~(uint32_t)bf_gf2_low_bits(exact->m);
    return (candidates){1u << __builtin_popcount(high), 1u << index, high};
  }
  uint32_t left[BF_MAX_FUNCTIONALS], leads = (uint32_t)bf_gf2_low_bits(exact->fixed);
  memcpy(left, self->functional, sizeof left);
  for (unsigned i = exact->fixed; i < exact->m; i++) {
    if (i == index || left[i] == 0)
      continue;
    uint32_t lead = 1u << (31 - __builtin_clz(left[i]));
    leads |= lead;
    for (unsigned j = exact->fixed; j < exact->m; j++)
      if (j != i && (left[j] & lead))
        left[j] ^= left[i];
  }
  uint32_t positions = all & ~leads;
  return (candidates){1u << __builtin_popcount(positions), 0, positions};
}

/* The bounded search runs on the calling thread and reports progress too. */
static bool stopped(local *self) {
  if (self->budget != UINT64_MAX)
    return bf_exact_poll(self->exact);
  return bf_exact_stopped(self->exact) ||
         bf_seconds() - atomic_load(&self->exact->improved) > patience_seconds;
}

/* Replaces functional `index` by the best; ties are broken at random to move on plateaus. */
static uint64_t improve(local *self, unsigned index, uint64_t cost) {
  bf_exact *exact = self->exact;
  uint64_t parent = split_others(self, index);
  unsigned last = exact->m - 1;
  candidates list = list_candidates(self, index);
  uint32_t best = self->functional[index], ties = 1;
  for (uint32_t k = 0; k < list.count; k++) {
    uint32_t f = list.base | (uint32_t)bf_gf2_scatter(k, list.positions);
    if (f == 0)
      continue;
    if (k % 64 == 0 && stopped(self))
      break;
    uint64_t value =
        exact->kernel->bound(&exact->planes, self->levels.blocks[last], self->levels.sizes[last],
                             last, exact->m, f, self->levels.passes[last], parent, cost + 1);
    if (value < cost) {
      cost = value;
      best = f;
      ties = 1;
    } else if (value == cost && next_random(self, ++ties) == 0) {
      best = f;
    }
  }
  self->functional[index] = best;
  self->spent += list.count * exact->planes.stride;
  return cost;
}

/* Random row operations among the free functionals: the same hash up to names of banks. */
static void change_basis(local *self) {
  const bf_exact *exact = self->exact;
  unsigned count = free_count(exact);
  for (unsigned i = 0; i < 3 * count && count > 1 && !exact->row; i++) {
    unsigned a = exact->fixed + next_random(self, count),
             b = exact->fixed + next_random(self, count);
    if (a != b)
      self->functional[a] ^= self->functional[b];
  }
}

/* Changes some functionals at random; false if they became dependent. */
static bool perturb(local *self, bool restart) {
  const bf_exact *exact = self->exact;
  unsigned d = exact->planes.dimension, from = exact->row ? exact->m : exact->fixed;
  uint64_t rows[BF_MAX_FUNCTIONALS];
  for (unsigned i = exact->fixed; i < exact->m && d > from; i++) {
    uint32_t noise = next_random(self, 1u << (d - from)) << from;
    if (restart || next_random(self, free_count(exact)) < 2)
      self->functional[i] =
          restart ? noise | (exact->row ? 1u << i : 0) : self->functional[i] ^ noise;
  }
  for (unsigned i = 0; i < exact->m; i++)
    rows[i] = self->functional[i];
  return bf_gf2_rank(rows, exact->m) == exact->m;
}

/* Improves until several steps in a row bring nothing. */
static void descend(local *self) {
  bf_exact *exact = self->exact;
  uint64_t cost = exact->kernel->cost(&exact->planes, self->functional, exact->m);
  unsigned tries = exact->row ? 2 * free_count(exact) : 6;
  for (unsigned failed = 0; failed < tries && self->spent < self->budget;) {
    change_basis(self);
    unsigned index = exact->fixed + next_random(self, free_count(exact));
    uint64_t better = improve(self, index, cost);
    failed = better < cost ? 0 : failed + 1;
    cost = better;
    bf_exact_offer(exact, self->functional, cost);
    if (atomic_load(&exact->best) == 0 || atomic_load(&exact->stop))
      return;
  }
}

static void search(local *self) {
  bf_exact *exact = self->exact;
  bool forever = self->budget == UINT64_MAX;
  for (unsigned round = 0; self->spent < self->budget && (forever || round < usual_rounds);
       round++) {
    pthread_mutex_lock(&exact->lock);
    memcpy(self->functional, exact->functional, sizeof self->functional);
    pthread_mutex_unlock(&exact->lock);
    self->spent += exact->planes.stride;
    if (round > 0 && !perturb(self, round % 3 == 0))
      continue;
    descend(self);
    if (atomic_load(&exact->best) == 0 || atomic_load(&exact->stop) || stopped(self))
      return;
  }
}

int bf_exact_local_search(bf_exact *exact, bool until_stopped, bf_diagnostic *diagnostic) {
  if (free_count(exact) == 0)
    return BF_OK;
  local self = {.exact = exact,
                .random = until_stopped ? 2685821657736338717u : 88172645463325252u,
                .budget = until_stopped ? UINT64_MAX : usual_budget};
  if (!bf_levels_make(&exact->planes, exact->m - 1, &self.levels))
    return bf_no_memory(diagnostic);
  search(&self);
  bf_levels_free(&self.levels);
  return BF_OK;
}
