/* Branch and bound over the null space of the hash, its last two vectors all at once (fold.h).
 *
 * Vectors are chosen by ascending lead, each 0 at the leads before it, so that every space is met
 * once. Modulo those chosen, the coordinates that are left are renumbered: a vector that leads with
 * coordinate q of those takes it away. As many coordinates must stay above q as vectors are still
 * to come, so q is at most the number of bank bits, m, and never less than the q before. In a row
 * search the coordinates 0..m-1 lead nothing: q is m. */
#include "search/fold.h"
#include "search/rounds.h"
#include "search/shallow.h"
#include "search/together.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_VECTORS = BF_FOLDS_MAX_DIMENSION, TASK_VECTORS = 2, MOST_DIFFERENCES = 1 << 18 };

/* The words of one shape modulo the vectors chosen: codes of the points and how many words each
 * holds. */
typedef struct points {
  uint16_t code[BF_PLANE_WORDS];
  uint8_t words[BF_PLANE_WORDS];
  uint8_t count, fullest; /* fullest is at least the shape's ideal */
} points;

/* The vectors chosen: q and the bits below it. */
typedef struct chain {
  unsigned length;
  uint8_t q[MAX_VECTORS];
  uint16_t low[MAX_VECTORS];
} chain;

/* Where a worker starts: the first vectors, what they cost, and how many spaces have them. */
typedef struct task {
  chain chain;
  uint64_t bound;
  double work;
} task;

struct bf_folds {
  bf_exact *exact;
  unsigned d, m, n; /* coordinates, bank bits, vectors of a null space */
  points *root;     /* one per shape */
  task *task;       /* lowest bound first */
  size_t tasks;
  bool is_even;                     /* differences of words are spread over all vectors */
  const bf_shallow_kernel *shallow; /* NULL: this processor or the problem does not fit it */
  bf_rounds rounds;
};

typedef struct worker {
  bf_folds *folds;
  points *state[MAX_VECTORS]; /* state[depth][shape] */
  uint64_t cost[MAX_VECTORS];
  /* differ[depth][v]: a bit for each shape with two points that are v away; NULL where that takes
   * too much memory. */
  uint64_t *differ[MAX_VECTORS];
  size_t differ_words; /* for each vector */
  uint8_t *place;      /* [2^d]: position + 1 of the point with that code, else 0 */
  bf_fold *fold;
  bf_shallow *shallow;         /* folds in place of that, where it is not NULL */
  uint64_t spent;              /* what is not in the units of the folded node */
  bf_points above[8], with[8]; /* vectors that lead above a coordinate; that have it */
  chain chain;
  bool lists_all; /* tasks, whatever they cost */
} worker;

static uint64_t limit(const worker *w) { return bf_rounds_limit(&w->folds->rounds); }

/* ---- Down to three vectors before the end: points as lists ---- */

/* Coordinate q taken out of a code. */
static unsigned without(unsigned code, unsigned q) {
  unsigned low = (1u << q) - 1;
  return (code & low) | (code >> 1 & ~low);
}

/* Adds words at a code to the points of a shape. */
static void put(worker *w, points *to, unsigned code, unsigned words) {
  unsigned at = w->place[code];
  if (at == 0) {
    at = w->place[code] = ++to->count;
    to->code[at - 1] = (uint16_t)code;
    to->words[at - 1] = 0;
  }
  to->words[at - 1] = (uint8_t)(to->words[at - 1] + words);
  if (to->words[at - 1] > to->fullest)
    to->fullest = to->words[at - 1];
}

static void forget_places(worker *w, const points *shape) {
  for (unsigned i = 0; i < shape->count; i++)
    w->place[shape->code[i]] = 0;
}

/* What more a shape costs with a fuller bank. */
static uint64_t price(const bf_shape *shape, unsigned from, unsigned to) {
  return shape->weight * (to - from) + shape->square * (bf_shape_pairs(to) - bf_shape_pairs(from));
}

/* A shape modulo a vector; *to may be the points of another one before. */
static void merge_points(worker *w, const points *from, unsigned q, unsigned low, points *to) {
  to->count = 0;
  to->fullest = from->fullest;
  for (unsigned i = 0; i < from->count; i++) {
    unsigned code = from->code[i];
    put(w, to, without(code >> q & 1 ? code ^ low : code, q), from->words[i]);
  }
  forget_places(w, to);
}

/* The same for a vector that no two points are away from each other: they only get other codes. */
static void rename_points(const points *from, unsigned q, unsigned low, points *to) {
  uint16_t below = (uint16_t)((1u << q) - 1);
  *to = *from;
  for (unsigned i = 0; i < BF_PLANE_WORDS; i++) {
    uint16_t code = from->code[i], is_moved = (uint16_t) - (code >> q & 1);
    code ^= low & is_moved;
    to->code[i] = (uint16_t)((code & below) | (code >> 1 & ~below));
  }
}

/* Which shapes of state[depth] have two points that are a vector away, for all vectors. */
static void note_differences(worker *w, unsigned depth) {
  uint64_t *differ = w->differ[depth];
  if (!differ)
    return;
  memset(differ, 0, (w->differ_words * sizeof *differ) << (w->folds->d - depth));
  for (size_t s = 0; s < w->folds->exact->problem->count; s++) {
    const points *shape = &w->state[depth][s];
    for (unsigned i = 0; i < shape->count; i++)
      for (unsigned j = 0; j < i; j++)
        differ[(size_t)(shape->code[i] ^ shape->code[j]) * w->differ_words + s / 64] |= (uint64_t)1
                                                                                        << s % 64;
  }
}

/* state[depth + 1] = state[depth] modulo a vector. False where it costs too much. Shapes of which
 * points come together are merged first: `differ` is what note_differences knows, or NULL. */
static bool merge(worker *w, unsigned depth, unsigned q, unsigned low, const uint64_t *differ) {
  const bf_problem *problem = w->folds->exact->problem;
  const points *from = w->state[depth];
  points *to = w->state[depth + 1];
  w->cost[depth + 1] = w->cost[depth];
  if (differ)
    differ += (1u << q | low) * w->differ_words;
  for (size_t s = 0; s < problem->count; s++) {
    if (differ && !(differ[s / 64] >> s % 64 & 1))
      continue;
    merge_points(w, &from[s], q, low, &to[s]);
    w->cost[depth + 1] += price(&problem->shape[s], from[s].fullest, to[s].fullest);
    if (w->cost[depth + 1] >= limit(w) && !w->lists_all)
      return false;
  }
  for (size_t s = 0; differ && s < problem->count; s++)
    if (!(differ[s / 64] >> s % 64 & 1))
      rename_points(&from[s], q, low, &to[s]);
  w->chain.q[depth] = (uint8_t)q;
  w->chain.low[depth] = (uint16_t)low;
  w->chain.length = depth + 1;
  return true;
}

/* ---- The last two vectors ---- */

/* The functionals that vanish on the null space: one for each coordinate that is left. */
static void functionals_of(const bf_folds *folds, const chain *all, uint32_t *functional) {
  unsigned left[BF_FOLDS_MAX_DIMENSION], count = folds->d;
  for (unsigned c = 0; c < count; c++)
    left[c] = c;
  uint32_t vector[MAX_VECTORS], lead[MAX_VECTORS];
  for (unsigned i = 0; i < all->length; i++) {
    vector[i] = 0;
    for (unsigned b = 0; b < all->q[i]; b++)
      vector[i] |= (uint32_t)(all->low[i] >> b & 1) << left[b];
    lead[i] = left[all->q[i]];
    memmove(left + all->q[i], left + all->q[i] + 1, (--count - all->q[i]) * sizeof *left);
  }
  for (unsigned j = 0; j < count; j++) {
    functional[j] = 1u << left[j];
    for (unsigned i = 0; i < all->length; i++)
      functional[j] |= (vector[i] >> left[j] & 1) << lead[i];
  }
}

/* The hash whose null space is the chain and the plane of u and v: points of the folded node. */
static void try_hash(worker *w, unsigned u, unsigned v) {
  bf_exact *exact = w->folds->exact;
  chain all = w->chain;
  uint32_t functional[BF_MAX_FUNCTIONALS] = {0};
  unsigned lead_u = 31 - (unsigned)__builtin_clz(u), lead_v = 31 - (unsigned)__builtin_clz(v);
  all.q[all.length] = (uint8_t)lead_u;
  all.low[all.length++] = (uint16_t)(u ^ 1u << lead_u);
  all.q[all.length] = (uint8_t)(lead_v - 1);
  all.low[all.length++] = (uint16_t)without(v ^ 1u << lead_v, lead_u);
  functionals_of(w->folds, &all, functional);
  uint64_t cost = exact->kernel->cost(&exact->planes, functional, exact->m);
  if (cost < limit(w))
    bf_exact_offer(exact, functional, cost);
}

/* `cost` in units of the factor, rounded up. */
static uint64_t in_factors(const bf_fold *fold, uint64_t cost) {
  return cost / fold->factor + (cost % fold->factor != 0);
}

/* The planes of u and `others` over the node that is folded which may cost less than `most`. */
static unsigned list_planes(worker *w, unsigned u, const bf_points *others, uint64_t most,
                            uint8_t *found) {
  const bf_folds *folds = w->folds;
  uint64_t below = in_factors(w->fold, most - w->spent);
  if (w->shallow)
    return folds->shallow->planes(w->shallow, u, others, below, found);
  return folds->exact->kernel->fold_planes(w->fold, u, others, below, found);
}

/* All planes of vectors that lead from coordinate q on, over the node that is folded. */
static void try_planes(worker *w, unsigned q) {
  bf_points alive = w->shallow ? w->shallow->alive : w->fold->alive;
  uint8_t found[BF_FOLD_POINTS];
  for (unsigned lead = q; lead <= w->folds->m; lead++) {
    bf_points others = alive & w->above[lead] & ~w->with[lead];
    bf_points first = alive & w->with[lead] & ~w->above[lead];
    for (unsigned h = 0; h < 2; h++)
      for (uint64_t left = first[h]; left; left &= left - 1) {
        unsigned u = 64 * h + (unsigned)__builtin_ctzll(left);
        uint64_t most = limit(w);
        if (w->spent >= most)
          return;
        unsigned count = list_planes(w, u, &others, most, found);
        for (unsigned i = 0; i < count; i++)
          try_hash(w, u, found[i]);
      }
  }
}

/* Points of state[depth] as sets, in halves by coordinate q (or all in the first one). */
static void set_points(worker *w, unsigned depth, unsigned q, bool halves) {
  for (size_t s = 0; s < w->fold->count; s++) {
    const points *from = &w->state[depth][s];
    bf_fold_shape *to = &w->fold->shape[s];
    bf_fold_clear(to, from->fullest);
    for (unsigned i = 0; i < from->count; i++) {
      unsigned code = from->code[i];
      bf_fold_add(to, halves && code >> q & 1, halves ? without(code, q) : code, from->words[i]);
    }
  }
}

/* The same for shallow folds. */
static void set_shallow(worker *w, unsigned depth, unsigned q) {
  const points *from = w->state[depth];
  for (unsigned c = 0; c < w->shallow->chunks; c++) {
    bf_shallow_chunk *chunk = &w->shallow->chunk[c];
    bf_shallow_clear(chunk);
    for (unsigned s = 0; s < chunk->count; s++, from++)
      bf_shallow_put(chunk, s, from->code, from->words, from->count, q);
  }
  w->folds->shallow->open(w->shallow);
}

/* Folds by q and the bits `low`; false if no vector costs less than `most` with that. `above` is
 * what the node above it costs. */
static bool fold_by(worker *w, unsigned low, uint64_t above, uint64_t most) {
  bf_fold *fold = w->fold;
  if (w->shallow) {
    w->spent = above - w->shallow->seen * fold->factor;
    return w->folds->shallow->fold(w->shallow, low, in_factors(fold, most - w->spent));
  }
  bool is_open = w->folds->exact->kernel->fold(fold, low, in_factors(fold, most - above));
  w->spent = above + fold->cost * fold->factor;
  return is_open;
}

/* Folds by every vector that leads with q, over the node of that depth, and tries all planes. */
static void fold_all(worker *w, unsigned depth, unsigned q) {
  unsigned fixed = w->folds->exact->fixed;
  uint64_t above = w->cost[depth];
  if (w->shallow)
    set_shallow(w, depth, q);
  else
    set_points(w, depth, q, true);
  w->chain.length = depth + 1;
  w->chain.q[depth] = (uint8_t)q;
  for (unsigned low = 0; low < 1u << q; low += 1u << fixed) {
    uint64_t most = limit(w);
    w->chain.low[depth] = (uint16_t)low;
    if (above >= most)
      return;
    if (fold_by(w, low, above, most))
      try_planes(w, q);
  }
}

/* ---- Nodes ---- */

/* The first coordinate that may lead next. */
static unsigned first_q(const bf_folds *folds, const chain *chosen, unsigned depth) {
  unsigned least = folds->exact->row ? folds->m : folds->exact->fixed;
  return depth && chosen->q[depth - 1] > least ? chosen->q[depth - 1] : least;
}

static void explore(worker *w, unsigned depth) {
  const bf_folds *folds = w->folds;
  bool last = depth + 3 == folds->n;
  if (!last)
    note_differences(w, depth);
  for (unsigned q = first_q(folds, &w->chain, depth); q <= folds->m; q++) {
    if (bf_rounds_halted(&folds->rounds))
      return;
    if (last) {
      fold_all(w, depth, q);
      continue;
    }
    for (unsigned low = 0; low < 1u << q; low += 1u << folds->exact->fixed)
      if (merge(w, depth, q, low, w->differ[depth]))
        explore(w, depth + 1);
  }
}

/* A space of two vectors: nothing is folded. */
static void try_pairs(worker *w) {
  set_points(w, 0, 0, false);
  w->chain.length = 0;
  uint64_t above = w->cost[0], most = limit(w);
  if (above < most && fold_by(w, 0, above, most))
    try_planes(w, first_q(w->folds, &w->chain, 0));
}

static void take(void *context, uint32_t number) {
  worker *w = context;
  const chain *start = &w->folds->task[number].chain;
  if (w->folds->n == 2) {
    try_pairs(w);
    return;
  }
  for (unsigned i = 0; i < start->length; i++)
    if (!merge(w, i, start->q[i], start->low[i], NULL))
      return;
  explore(w, start->length);
}

/* ---- Workers ---- */

static void free_worker(worker *w) {
  if (!w)
    return;
  for (unsigned depth = 0; depth < MAX_VECTORS; depth++)
    free(w->state[depth]), free(w->differ[depth]);
  free(w->place);
  bf_fold_free(w->fold);
  bf_shallow_free(w->shallow);
  free(w);
}

static void set_masks(worker *w) {
  const bf_folds *folds = w->folds;
  bf_points none = {0}, all = ~none;
  for (unsigned bit = 0; bit < 7; bit++)
    w->with[bit] = bf_points_with_bit(bit);
  for (unsigned bit = 7; bit-- > 0;)
    w->above[bit] = bit == 6 ? none : w->above[bit + 1] | w->with[bit + 1];
  for (unsigned bit = 0; bit < 7; bit++)
    if (bit < folds->exact->fixed || bit > folds->m + 1)
      all &= ~w->with[bit];
  all[0] &= ~(uint64_t)1;
  w->fold->allowed = all;
  if (w->shallow)
    w->shallow->allowed = all;
}

static worker *new_worker(bf_folds *folds) {
  worker *w = aligned_alloc(64, (sizeof *w + 63) / 64 * 64);
  if (!w)
    return NULL;
  memset(w, 0, sizeof *w);
  size_t shapes = folds->exact->problem->count;
  unsigned depths = folds->n > 3 ? folds->n - 2 : 1;
  bool failed = !(w->place = calloc((size_t)1 << folds->d, 1));
  failed |= !(w->fold = bf_fold_new(folds->exact->problem));
  if (folds->shallow && !failed)
    failed |= !(w->shallow = bf_shallow_new(folds->exact->problem, w->fold->factor));
  for (unsigned depth = 0; depth < depths; depth++)
    failed |= !(w->state[depth] = calloc(shapes + 1, sizeof(points)));
  w->differ_words = (shapes + 63) / 64;
  for (unsigned depth = 0; depth + 1 < depths; depth++)
    if (w->differ_words << (folds->d - depth) <= MOST_DIFFERENCES)
      failed |=
          !(w->differ[depth] = malloc((w->differ_words * sizeof(uint64_t)) << (folds->d - depth)));
  if (failed) {
    free_worker(w);
    return NULL;
  }
  w->folds = folds;
  memcpy(w->state[0], folds->root, shapes * sizeof(points));
  for (size_t s = 0; s < shapes; s++)
    w->cost[0] += price(&folds->exact->problem->shape[s], folds->exact->problem->shape[s].ideal,
                        folds->root[s].fullest);
  set_masks(w);
  return w;
}

void bf_folds_work(bf_folds *folds) {
  worker *w = new_worker(folds);
  if (!w) {
    atomic_store(&folds->exact->out_of_memory, true);
    return;
  }
  bf_rounds_work(&folds->rounds, take, w);
  free_worker(w);
}

/* ---- Preparation ---- */

/* Spaces below a node whose vectors lead from q on, `vectors` of them still to come. */
static double spaces_below(const bf_folds *folds, unsigned q, unsigned vectors) {
  double all = vectors == 0;
  for (unsigned next = q; vectors && next <= folds->m; next++)
    all += (double)(1u << (next - folds->exact->fixed)) * spaces_below(folds, next, vectors - 1);
  return all;
}

/* Lists the first vectors, as tasks; not all of them where the search is stopped. */
static void list_tasks(bf_folds *folds, worker *w, unsigned depth, unsigned length) {
  if (depth == length) {
    task *own = &folds->task[folds->tasks++];
    own->chain = w->chain;
    own->bound = w->cost[depth];
    own->work = spaces_below(folds, first_q(folds, &w->chain, depth), folds->n - depth);
    return;
  }
  for (unsigned q = first_q(folds, &w->chain, depth); q <= folds->m; q++)
    for (unsigned low = 0; low < 1u << q; low += 1u << folds->exact->fixed) {
      if (bf_exact_poll(folds->exact))
        return;
      w->chain.length = depth;
      if (merge(w, depth, q, low, NULL))
        list_tasks(folds, w, depth + 1, length);
    }
}

static void fill_root(bf_folds *folds, worker *w) {
  const bf_exact *exact = folds->exact;
  for (size_t s = 0; s < exact->problem->count; s++) {
    const bf_shape *shape = &exact->problem->shape[s];
    points *to = &w->state[0][s];
    *to = (points){.fullest = (uint8_t)shape->ideal};
    for (unsigned i = 0; i < shape->words; i++)
      put(w, to, bf_coordinates_of(&exact->coordinates, shape->word[i]), 1);
    forget_places(w, to);
    folds->root[s] = *to;
    w->cost[0] += price(shape, shape->ideal, to->fullest);
  }
}

static int compare_tasks(const void *a, const void *b) {
  const task *x = a, *y = b;
  if (x->bound != y->bound)
    return x->bound < y->bound ? -1 : 1;
  return memcmp(&x->chain, &y->chain, sizeof x->chain);
}

/* Sets is_even: how often the most frequent difference occurs, beside the mean. Beside the
 * best kernel folds are shallow where that fits. */
static int compare_differences(bf_folds *folds, bf_diagnostic *diagnostic) {
  uint32_t *times = calloc((size_t)1 << folds->d, sizeof *times), most = 0;
  double pairs = 0;
  if (!times)
    return bf_no_memory(diagnostic);
  for (size_t s = 0; s < folds->exact->problem->count; s++) {
    const points *shape = &folds->root[s];
    for (unsigned i = 0; i < shape->count; i++)
      for (unsigned j = 0; j < i; j++, pairs++) {
        uint32_t now = ++times[shape->code[i] ^ shape->code[j]];
        most = now > most ? now : most;
      }
  }
  folds->is_even = most <= 4 * pairs / (double)(1u << folds->d) + 8;
  free(times);
  if (folds->n > 2 && folds->exact->kernel == bf_kernel_best() &&
      bf_shallow_fits(folds->exact->problem))
    folds->shallow = bf_shallow_kernel_best();
  return BF_OK;
}

static int prepare(bf_folds *folds, bf_diagnostic *diagnostic) {
  size_t shapes = folds->exact->problem->count, most = 4096;
  folds->root = calloc(shapes + 1, sizeof *folds->root);
  folds->task = calloc(most, sizeof *folds->task);
  if (!folds->root || !folds->task)
    return bf_no_memory(diagnostic);
  BF_TRY(bf_rounds_start(&folds->rounds, folds->exact, most, diagnostic));
  worker *w = new_worker(folds);
  if (!w)
    return bf_no_memory(diagnostic);
  w->cost[0] = 0;
  fill_root(folds, w);
  unsigned before = folds->n > 3 ? folds->n - 3 : 0;
  w->lists_all = folds->exact->options->shared_file != NULL;
  list_tasks(folds, w, 0, before < TASK_VECTORS ? before : TASK_VECTORS);
  free_worker(w);
  BF_TRY(compare_differences(folds, diagnostic));
  qsort(folds->task, folds->tasks, sizeof *folds->task, compare_tasks);
  for (size_t i = 0; i < folds->tasks; i++)
    bf_rounds_add(&folds->rounds, folds->task[i].bound, folds->task[i].work);
  if (folds->is_even || folds->shallow)
    bf_rounds_spread(&folds->rounds);
  if (!folds->exact->options->shared_file)
    return BF_OK;
  return bf_together_open(folds->exact->options->shared_file, folds->exact, folds->rounds.tasks,
                          &folds->rounds.together, diagnostic);
}

int bf_folds_prepare(bf_exact *exact, bf_folds **out, bf_diagnostic *diagnostic) {
  *out = NULL;
  unsigned d = exact->coordinates.dimension;
  if (d < exact->m + 2 || d > BF_FOLDS_MAX_DIMENSION || !bf_fold_fits(exact->problem))
    return BF_OK;
  bf_folds *folds = calloc(1, sizeof *folds);
  if (!folds)
    return bf_no_memory(diagnostic);
  folds->exact = exact;
  folds->d = d;
  folds->m = exact->m;
  folds->n = d - exact->m;
  int error = prepare(folds, diagnostic);
  if (error) {
    bf_folds_free(folds);
    return error;
  }
  *out = folds;
  return BF_OK;
}

bool bf_folds_is_even(const bf_folds *folds) { return folds->is_even; }

bool bf_folds_is_shallow(const bf_folds *folds) { return folds->shallow != NULL; }

bf_rounds *bf_folds_rounds(bf_folds *folds) { return &folds->rounds; }

void bf_folds_free(bf_folds *folds) {
  if (!folds)
    return;
  bf_together_close(folds->rounds.together);
  bf_rounds_free(&folds->rounds);
  free(folds->root);
  free(folds->task);
  free(folds);
}
