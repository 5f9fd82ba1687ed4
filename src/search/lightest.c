/* The lightest space of functionals. */
#include "search/lightest.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { MOST_LEVELS = 8 };

/* A functional, or a class of them, and what it weighs. */
typedef struct entry {
  double weight;
  uint32_t number;
} entry;

/* One level for each functional that is chosen: weights modulo those chosen, and all in order.
 * Those that weigh infinitely much are lighter than a functional chosen before, and so not asked
 * for. */
typedef struct level {
  unsigned bits, k; /* what is left */
  double *weight;   /* [2^bits] */
  entry *order;     /* of the 2^bits - 1 other than 0 */
} level;

typedef struct search {
  level level[MOST_LEVELS];
  double work;  /* additions that may still be done */
  double found; /* the lightest so far */
  double open;  /* what those weigh at least that were not looked at */
} search;

static int compare(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->weight != y->weight)
    return x->weight < y->weight ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

/* Puts those entries in order that can be the lightest of a space which weighs less than `below`:
 * such a one weighs no more than the mean, *most. Returns how many they are. */
static uint32_t sort(level *own, double below, double *most) {
  uint32_t count = 0;
  *most = below / ((1u << own->k) - 1);
  for (uint32_t f = 1; f < 1u << own->bits; f++)
    if (own->weight[f] <= *most && own->weight[f] < INFINITY)
      own->order[count++] = (entry){own->weight[f], f};
  qsort(own->order, count, sizeof *own->order, compare);
  return count;
}

/* The weights of the next level: modulo f, without what comes before f in order. */
static void take(const level *own, entry f, level *next) {
  unsigned lead = 31 - (unsigned)__builtin_clz(f.number);
  uint32_t low = (1u << lead) - 1;
  for (uint32_t x = 0; x < 1u << next->bits; x++) {
    uint32_t one = (x & ~low) << 1 | (x & low), other = one ^ f.number;
    entry a = {own->weight[one], one}, b = {own->weight[other], other};
    bool is_before = compare(&a, &f) < 0 || compare(&b, &f) < 0;
    next->weight[x] = is_before ? INFINITY : a.weight + b.weight;
  }
}

/* The least of the weights. */
static double lightest_of(const level *own) {
  double least = INFINITY;
  for (uint32_t f = 1; f < 1u << own->bits; f++)
    least = own->weight[f] < least ? own->weight[f] : least;
  return least;
}

/* Goes through all spaces of a level; `spent` is the weight of what is chosen. */
static void explore(search *s, unsigned depth, double spent) {
  level *own = &s->level[depth];
  s->work -= 1u << own->bits;
  if (own->k == 1) {
    double all = spent + lightest_of(own);
    s->found = all < s->found ? all : s->found;
    return;
  }
  double most, window = 0;
  uint32_t count = sort(own, s->found - spent, &most), size = (1u << own->k) - 1;
  for (uint32_t i = 0; i < size; i++)
    window += i < count ? own->order[i].weight : most;
  for (uint32_t i = 0; i < count && spent + window < s->found; i++) {
    if (s->work <= 0) {
      s->open = spent + window < s->open ? spent + window : s->open;
      return;
    }
    take(own, own->order[i], &s->level[depth + 1]);
    s->work -= 1u << own->bits;
    explore(s, depth + 1, spent + own->order[i].weight);
    window += (i + size < count ? own->order[i + size].weight : most) - own->order[i].weight;
  }
}

bool bf_lightest_space(const double *weight, unsigned bits, unsigned k, double work,
                       double *least) {
  search s = {.work = work, .found = INFINITY, .open = INFINITY};
  bool fine = true;
  for (unsigned depth = 0; depth < k; depth++) {
    level *own = &s.level[depth];
    own->bits = bits - depth;
    own->k = k - depth;
    own->weight = malloc(sizeof *own->weight << own->bits);
    own->order = malloc(sizeof *own->order << own->bits);
    fine = fine && own->weight && own->order;
  }
  for (uint32_t f = 0; fine && f < 1u << bits; f++)
    s.level[0].weight[f] = weight[f];
  if (fine)
    explore(&s, 0, 0);
  *least = s.found < s.open ? s.found : s.open;
  for (unsigned depth = 0; depth < k; depth++) {
    free(s.level[depth].weight);
    free(s.level[depth].order);
  }
  return fine;
}
