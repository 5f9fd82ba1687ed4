/* A bound from parts of the workload. */
#include "search/parts.h"

#include "search/search.h"

enum { FIRST_PARTS = 8, LEAST_SHAPES = 16 };

typedef struct parts {
  bf_exact *exact;
  uint64_t bound[FIRST_PARTS]; /* what each costs at least */
  unsigned count;
  double until; /* bf_seconds() */
} parts;

/* A search of a part goes on as long as that of the whole. */
static bool goes_on(void *context, double seconds, uint64_t lower, uint64_t best) {
  (void)seconds, (void)lower, (void)best;
  return !bf_exact_stopped(context);
}

/* What the shapes of a part cost at least, as far as is known by then. */
static uint64_t bound_of(const parts *p, unsigned index, double until) {
  const bf_problem *whole = p->exact->problem;
  size_t first = whole->count * index / p->count, end = whole->count * (index + 1) / p->count;
  bf_search_watch watch = {.until = until};
  bf_problem part = *whole;
  bf_solve_options options = *p->exact->options;
  bf_found found = {0};
  part.shape += first;
  part.count = end - first;
  part.least = 0;
  part.sampled = false;
  part.is_part = true;
  part.watch = &watch;
  options.progress = goes_on;
  options.progress_context = p->exact;
  options.shared_file = NULL;
  return bf_search_exact(&part, &options, &found, NULL) == BF_OK ? found.lower_bound : 0;
}

/* Makes the sum known; whether nothing is left to prove. */
static bool tell(const parts *p) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < p->count; i++)
    sum += p->bound[i];
  uint64_t before = atomic_load(&p->exact->pairs);
  while (sum > before && !atomic_compare_exchange_weak(&p->exact->pairs, &before, sum))
    ;
  if (sum < atomic_load(&p->exact->best))
    return false;
  atomic_store(&p->exact->proven, true);
  atomic_store(&p->exact->stop, true);
  return true;
}

/* Bounds all parts, each by its share of half the time that is left; whether to go on. */
static bool bound_all(parts *p) {
  double share = 0.5 * (p->until - bf_seconds()) / p->count;
  for (unsigned i = 0; i < p->count; i++) {
    double now = bf_seconds();
    if (now >= p->until || bf_exact_stopped(p->exact))
      return false;
    uint64_t own = bound_of(p, i, now + share);
    p->bound[i] = own > p->bound[i] ? own : p->bound[i];
    if (tell(p))
      return false;
  }
  return true;
}

/* Two parts are one from now on. */
static void join(parts *p) {
  p->count /= 2;
  for (unsigned i = 0; i < p->count; i++)
    p->bound[i] = p->bound[2 * i] + p->bound[2 * i + 1];
  for (unsigned i = p->count; i < FIRST_PARTS; i++)
    p->bound[i] = 0;
}

/* Small parts of accesses at random cost nearly nothing; then larger ones take too long. */
static bool is_hopeless(const parts *p) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < p->count; i++)
    sum += p->bound[i];
  return sum <= atomic_load(&p->exact->pairs) / 2;
}

void bf_parts_bound(bf_exact *exact, double seconds) {
  parts p = {.exact = exact, .count = FIRST_PARTS, .until = bf_seconds() + seconds};
  if (exact->problem->count < LEAST_SHAPES)
    return;
  for (; p.count > 1; join(&p))
    if (!bound_all(&p) || is_hopeless(&p))
      return;
}
