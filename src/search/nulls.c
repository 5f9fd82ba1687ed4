/* Branch and bound over the null space of the hash: the differences of words that share a bank.
 *
 * Coordinates are decided one by one. A coordinate is either free (it stays independent: it will
 * give one functional) or a pivot, which adds one vector to the null space: the coordinate itself
 * plus any choice of coordinates already free. In the order of decisions this is the echelon form
 * of the space, so every null space is met once, whatever coordinate is decided next.
 *
 * Adding a vector v merges, in every shape, the classes c and c ^ v of words known to share a bank.
 * Classes only grow, so the cost so far is a lower bound, and a vector that is too expensive now
 * stays so below: it is marked dead. The next coordinate is the one with the fewest live vectors.
 */
#include "search/exact.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = BF_NULLS_MAX_DIMENSION + 1, MAX_CHOICES = 1 << BF_MAX_FUNCTIONALS };

/* The classes of one shape: codes of their coordinates (pivots reduced to 0) and sizes. */
typedef struct classes {
  uint16_t code[BF_PLANE_WORDS];
  uint8_t size[BF_PLANE_WORDS];
  uint8_t count, fullest; /* fullest is at least the shape's ideal */
} classes;

/* What is decided: which coordinates are free, and the vectors of the pivots. */
typedef struct decisions {
  uint32_t decided, free;
  unsigned free_count, vectors, xor_inputs;
  uint16_t vector[BF_NULLS_MAX_DIMENSION], pivot[BF_NULLS_MAX_DIMENSION];
  uint64_t cost;
} decisions;

typedef struct task {
  decisions start;
  atomic_bool done;
} task;

struct bf_nulls {
  bf_exact *exact;
  unsigned d;
  classes *root; /* one per shape */
  task *tasks;
  uint32_t count, capacity;
  atomic_uint next, finished;
};

typedef struct worker {
  bf_nulls *nulls;
  classes *state[MAX_DEPTH + 1]; /* state[depth][shape] */
  uint8_t *size_of;              /* [2^d]: size of the class with that code, else 0 */
  uint8_t *dead;                 /* [2^d] */
  uint16_t *trail;               /* dead vectors in the order they died */
  uint32_t trail_length;
  bool lightest;     /* look for the lightest hash at the best cost, not for a better one */
  uint64_t nodes;    /* still to visit, when looking for the lightest */
  unsigned most;     /* XOR inputs to stay below */
  decisions lighter; /* the lightest so far */
  bool found;
} worker;

/* A child of a node: a vector and its cost. */
typedef struct choice {
  uint16_t vector;
  uint64_t cost;
} choice;

/* Costs from here on are not wanted. */
static uint64_t limit(const worker *w) { return atomic_load(&w->nulls->exact->best) + w->lightest; }

/* ---- Bounds ---- */

/* Adds to cost[t] what merging by vector(t) costs one shape, for every live t. */
static void bound_shape(worker *w, const classes *shape, const bf_shape *price, unsigned pivot,
                        const uint16_t *vector, unsigned choices, uint64_t *cost) {
  uint16_t moving[BF_PLANE_WORDS];
  uint8_t moving_size[BF_PLANE_WORDS];
  unsigned moved = 0;
  for (unsigned i = 0; i < shape->count; i++) {
    if (shape->code[i] >> pivot & 1) {
      moving[moved] = shape->code[i];
      moving_size[moved++] = shape->size[i];
    } else {
      w->size_of[shape->code[i]] = shape->size[i];
    }
  }
  for (unsigned t = 0; t < choices && moved; t++) {
    if (w->dead[vector[t]])
      continue;
    unsigned fullest = shape->fullest;
    for (unsigned i = 0; i < moved; i++) {
      unsigned together = moving_size[i] + w->size_of[moving[i] ^ vector[t]];
      fullest = together > fullest ? together : fullest;
    }
    cost[t] += price->weight * (fullest - shape->fullest);
    if (price->square)
      cost[t] += price->square * (bf_shape_pairs(fullest) - bf_shape_pairs(shape->fullest));
  }
  for (unsigned i = 0; i < shape->count; i++)
    w->size_of[shape->code[i]] = 0;
}

static void kill(worker *w, uint16_t vector) {
  w->dead[vector] = 1;
  w->trail[w->trail_length++] = vector;
}

/* Costs of all vectors with this pivot. Vectors at or above the best cost die. Returns how many
 * live and writes them to `alive`. */
static unsigned bound_pivot(worker *w, unsigned depth, const decisions *node, unsigned pivot,
                            choice *alive) {
  const bf_exact *exact = w->nulls->exact;
  uint32_t positions = node->free & ~(uint32_t)bf_gf2_low_bits(exact->fixed);
  unsigned choices = 1u << __builtin_popcount(positions), living = 0;
  uint16_t vector[MAX_CHOICES];
  uint64_t cost[MAX_CHOICES];
  for (unsigned t = 0; t < choices; t++) {
    vector[t] = (uint16_t)(1u << pivot | bf_gf2_scatter(t, positions));
    cost[t] = node->cost;
    living += !w->dead[vector[t]];
  }
  for (size_t s = 0; s < exact->problem->count && living; s++) {
    bound_shape(w, &w->state[depth][s], &exact->problem->shape[s], pivot, vector, choices, cost);
    if (s % 1024 == 1023 && bf_exact_stopped(w->nulls->exact))
      return 0;
    if (s % 4 != 3 && s + 1 < exact->problem->count)
      continue;
    uint64_t most = limit(w);
    for (unsigned t = 0; t < choices; t++)
      if (cost[t] >= most && !w->dead[vector[t]]) {
        kill(w, vector[t]);
        living--;
      }
  }
  unsigned count = 0;
  for (unsigned t = 0; t < choices && living; t++)
    if (!w->dead[vector[t]])
      alive[count++] = (choice){vector[t], cost[t]};
  return count;
}

/* ---- Nodes ---- */

/* Merges the classes of one shape by a vector. */
static void merge_shape(worker *w, const classes *from, unsigned pivot, uint16_t vector,
                        classes *to) {
  to->count = 0;
  to->fullest = from->fullest;
  for (unsigned i = 0; i < from->count; i++) {
    uint16_t code = from->code[i];
    if (code >> pivot & 1)
      code ^= vector;
    unsigned at = w->size_of[code]; /* position + 1 */
    if (at == 0) {
      to->code[to->count] = code;
      to->size[to->count] = from->size[i];
      w->size_of[code] = ++to->count;
    } else {
      to->size[at - 1] = (uint8_t)(to->size[at - 1] + from->size[i]);
      if (to->size[at - 1] > to->fullest)
        to->fullest = to->size[at - 1];
    }
  }
  for (unsigned i = 0; i < to->count; i++)
    w->size_of[to->code[i]] = 0;
}

/* state[depth + 1] = state[depth] merged by vector. */
static void merge(worker *w, unsigned depth, unsigned pivot, uint16_t vector) {
  for (size_t s = 0; s < w->nulls->exact->problem->count; s++)
    merge_shape(w, &w->state[depth][s], pivot, vector, &w->state[depth + 1][s]);
}

static decisions with_vector(const decisions *node, unsigned pivot, choice taken) {
  decisions child = *node;
  child.decided |= 1u << pivot;
  child.pivot[child.vectors] = (uint16_t)pivot;
  child.vector[child.vectors++] = taken.vector;
  child.xor_inputs += (unsigned)__builtin_popcount(taken.vector) - 1;
  child.cost = taken.cost;
  return child;
}

static decisions with_free(const decisions *node, unsigned coordinate) {
  decisions child = *node;
  child.decided |= 1u << coordinate;
  child.free |= 1u << coordinate;
  child.free_count++;
  return child;
}

/* Free coordinate number j gives functional j: that coordinate, plus every pivot whose vector has
 * it. */
static void functionals_of(const bf_nulls *nulls, const decisions *node, uint32_t *functional) {
  unsigned j = 0;
  for (unsigned c = 0; c < nulls->d; c++) {
    if (!(node->free >> c & 1))
      continue;
    functional[j] = 1u << c;
    for (unsigned i = 0; i < node->vectors; i++)
      if (node->vector[i] >> c & 1)
        functional[j] |= 1u << node->pivot[i];
    j++;
  }
}

static void offer(const bf_nulls *nulls, const decisions *node) {
  uint32_t functional[BF_MAX_FUNCTIONALS] = {0};
  functionals_of(nulls, node, functional);
  bf_exact_offer(nulls->exact, functional, node->cost);
}

/* All coordinates decided, or as many left as must be free: a hash. */
static bool is_leaf(const bf_nulls *nulls, const decisions *node, decisions *leaf) {
  uint32_t left = (uint32_t)bf_gf2_low_bits(nulls->d) & ~node->decided;
  unsigned missing = nulls->exact->m - node->free_count;
  if ((unsigned)__builtin_popcount(left) != missing)
    return false;
  *leaf = *node;
  leaf->free |= left;
  leaf->free_count += missing;
  return true;
}

static int compare_choices(const void *a, const void *b) {
  const choice *x = a, *y = b;
  return x->cost != y->cost ? (x->cost < y->cost ? -1 : 1) : (int)x->vector - (int)y->vector;
}

static int compare_weights(const void *a, const void *b) {
  const choice *x = a, *y = b;
  int difference = __builtin_popcount(x->vector) - __builtin_popcount(y->vector);
  return difference ? difference : compare_choices(a, b);
}

/* Finds the coordinate to decide next and its live vectors, cheapest first. Returns false if some
 * coordinate can be decided in no way. */
static bool choose_pivot(worker *w, unsigned depth, const decisions *node, unsigned *pivot,
                         choice *alive, unsigned *count) {
  const bf_nulls *nulls = w->nulls;
  bool may_be_free = node->free_count < nulls->exact->m;
  unsigned fewest = UINT32_MAX;
  uint64_t heaviest = 0;
  choice own[MAX_CHOICES];
  for (unsigned c = 0; c < nulls->d; c++) {
    if (node->decided >> c & 1)
      continue;
    unsigned living = bound_pivot(w, depth, node, c, own), ways = living + may_be_free;
    uint64_t heavy = 0;
    if (ways == 0 || bf_exact_stopped(nulls->exact))
      return false;
    for (unsigned i = 0; i < living; i++)
      heavy += own[i].cost;
    if (ways < fewest || (ways == fewest && heavy > heaviest)) {
      fewest = ways;
      heaviest = heavy;
      *pivot = c;
      *count = living;
      memcpy(alive, own, living * sizeof *own);
    }
  }
  qsort(alive, *count, sizeof *alive, w->lightest ? compare_weights : compare_choices);
  return true;
}

static void revive(worker *w, uint32_t length) {
  while (w->trail_length > length)
    w->dead[w->trail[--w->trail_length]] = 0;
}

/* A hash: better than the best, or lighter. */
static void reach(worker *w, const decisions *leaf) {
  if (!w->lightest) {
    offer(w->nulls, leaf);
    return;
  }
  w->lighter = *leaf;
  w->most = leaf->xor_inputs;
  w->found = true;
}

/* The search must end, or its workers are to join the other search. */
static bool is_over(const bf_nulls *nulls) {
  return atomic_load(&nulls->exact->stop) || atomic_load(&nulls->exact->leave);
}

static void explore(worker *w, unsigned depth, const decisions *node) {
  const bf_nulls *nulls = w->nulls;
  decisions leaf;
  unsigned pivot = 0, count = 0;
  choice alive[MAX_CHOICES];
  uint32_t trail = w->trail_length;
  if (is_over(nulls) || node->cost >= limit(w))
    return;
  if (w->lightest && (node->xor_inputs >= w->most || w->nodes == 0))
    return;
  if (is_leaf(nulls, node, &leaf)) {
    reach(w, &leaf);
    return;
  }
  w->nodes -= w->lightest;
  if (choose_pivot(w, depth, node, &pivot, alive, &count)) {
    for (unsigned i = 0; i < count; i++) {
      decisions child = with_vector(node, pivot, alive[i]);
      if (child.cost >= limit(w) || (w->lightest && child.xor_inputs >= w->most))
        continue;
      merge(w, depth, pivot, alive[i].vector);
      explore(w, depth + 1, &child);
    }
    if (node->free_count < nulls->exact->m) {
      decisions child = with_free(node, pivot);
      memcpy(w->state[depth + 1], w->state[depth], nulls->exact->problem->count * sizeof(classes));
      explore(w, depth + 1, &child);
    }
  }
  revive(w, trail);
}

/* ---- Workers and tasks ---- */

static void free_worker(worker *w) {
  for (unsigned depth = 0; depth <= MAX_DEPTH; depth++)
    free(w->state[depth]);
  free(w->size_of);
  free(w->dead);
  free(w->trail);
  free(w);
}

static worker *new_worker(bf_nulls *nulls) {
  worker *w = calloc(1, sizeof *w);
  if (!w)
    return NULL;
  size_t shapes = nulls->exact->problem->count;
  bool failed = false;
  for (unsigned depth = 0; depth <= nulls->d + 1; depth++)
    failed |= !(w->state[depth] = malloc((shapes + 1) * sizeof(classes)));
  failed |= !(w->size_of = calloc((size_t)1 << nulls->d, 1));
  failed |= !(w->dead = calloc((size_t)1 << nulls->d, 1));
  failed |= !(w->trail = malloc(sizeof(uint16_t) << nulls->d));
  w->nulls = nulls;
  if (failed) {
    free_worker(w);
    return NULL;
  }
  memcpy(w->state[0], nulls->root, shapes * sizeof(classes));
  return w;
}

/* Brings state[0] to where a task starts. */
static void replay(worker *w, const decisions *start) {
  const bf_nulls *nulls = w->nulls;
  memcpy(w->state[0], nulls->root, nulls->exact->problem->count * sizeof(classes));
  for (unsigned i = 0; i < start->vectors; i++) {
    merge(w, 0, start->pivot[i], start->vector[i]);
    classes *swap = w->state[0];
    w->state[0] = w->state[1];
    w->state[1] = swap;
  }
}

static bool add_task(bf_nulls *nulls, const decisions *start) {
  if (nulls->count == nulls->capacity) {
    uint32_t capacity = nulls->capacity ? nulls->capacity * 2 : 256;
    task *tasks = realloc(nulls->tasks, capacity * sizeof *tasks);
    if (!tasks)
      return false;
    nulls->tasks = tasks;
    nulls->capacity = capacity;
  }
  nulls->tasks[nulls->count].start = *start;
  atomic_init(&nulls->tasks[nulls->count].done, false);
  nulls->count++;
  return true;
}

/* Replaces task number `index` by its children; false when out of memory. */
static bool expand(worker *w, uint32_t index) {
  bf_nulls *nulls = w->nulls;
  decisions node = nulls->tasks[index].start, leaf;
  unsigned pivot = 0, count = 0;
  choice alive[MAX_CHOICES];
  if (is_leaf(nulls, &node, &leaf)) {
    offer(nulls, &leaf);
  } else {
    replay(w, &node);
    if (choose_pivot(w, 0, &node, &pivot, alive, &count)) {
      for (unsigned i = 0; i < count; i++) {
        decisions child = with_vector(&node, pivot, alive[i]);
        if (!add_task(nulls, &child))
          return false;
      }
      decisions child = with_free(&node, pivot);
      if (node.free_count < nulls->exact->m && !add_task(nulls, &child))
        return false;
    }
    revive(w, 0);
  }
  nulls->tasks[index].start.cost = UINT64_MAX; /* expanded: nothing left to do */
  return true;
}

/* Splits the root into some tens of tasks, level by level, unless the search is stopped: then
 * nobody asks for them. */
static bool make_tasks(bf_nulls *nulls, const decisions *root) {
  worker *w = new_worker(nulls);
  bool fine = w && add_task(nulls, root);
  for (uint32_t from = 0; fine && from < nulls->count && nulls->count - from < 64;) {
    uint32_t to = nulls->count;
    for (; fine && from < to && !bf_exact_poll(nulls->exact); from++)
      fine = expand(w, from);
    if (from < to)
      break;
  }
  if (w)
    free_worker(w);
  return fine;
}

static void fill_root(bf_nulls *nulls, decisions *root) {
  const bf_exact *exact = nulls->exact;
  for (size_t s = 0; s < exact->problem->count; s++) {
    const bf_shape *shape = &exact->problem->shape[s];
    classes *to = &nulls->root[s];
    to->count = 0;
    to->fullest = (uint8_t)shape->ideal;
    for (unsigned i = 0; i < shape->words; i++) {
      uint16_t code = (uint16_t)bf_coordinates_of(&exact->coordinates, shape->word[i]);
      if (to->count && to->code[to->count - 1] == code) {
        if (++to->size[to->count - 1] > to->fullest)
          to->fullest = to->size[to->count - 1];
      } else {
        to->code[to->count] = code;
        to->size[to->count++] = 1;
      }
    }
  }
  *root = (decisions){0};
  root->free_count = exact->row ? exact->m : exact->fixed;
  root->free = root->decided = (uint32_t)bf_gf2_low_bits(root->free_count);
}

int bf_nulls_prepare(bf_exact *exact, bf_nulls **out, bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_nulls *nulls = calloc(1, sizeof *nulls);
  if (nulls)
    nulls->root = malloc((exact->problem->count + 1) * sizeof(classes));
  if (!nulls || !nulls->root) {
    free(nulls);
    return bf_no_memory(diagnostic);
  }
  nulls->exact = exact;
  nulls->d = exact->coordinates.dimension;
  decisions root;
  fill_root(nulls, &root);
  if (!make_tasks(nulls, &root)) {
    bf_nulls_free(nulls);
    return bf_no_memory(diagnostic);
  }
  *out = nulls;
  return BF_OK;
}

void bf_nulls_work(bf_nulls *nulls) {
  worker *w = new_worker(nulls);
  if (!w) {
    atomic_store(&nulls->exact->out_of_memory, true);
    return;
  }
  for (;;) {
    uint32_t number = atomic_fetch_add(&nulls->next, 1);
    if (number >= nulls->count || is_over(nulls))
      break;
    task *own = &nulls->tasks[number];
    if (own->start.cost < limit(w)) {
      replay(w, &own->start);
      explore(w, 0, &own->start);
    }
    if (is_over(nulls))
      break;
    atomic_store(&own->done, true);
    atomic_fetch_add(&nulls->finished, 1);
  }
  if (atomic_load(&nulls->finished) == nulls->count && !atomic_load(&nulls->exact->stop)) {
    atomic_store(&nulls->exact->proven, true);
    atomic_store(&nulls->exact->stop, true);
  }
  free_worker(w);
}

uint64_t bf_nulls_lower(const bf_nulls *nulls) {
  uint64_t lower = atomic_load(&nulls->exact->best);
  for (uint32_t i = 0; i < nulls->count; i++)
    if (!atomic_load(&nulls->tasks[i].done) && nulls->tasks[i].start.cost < lower)
      lower = nulls->tasks[i].start.cost;
  return lower;
}

void bf_nulls_free(bf_nulls *nulls) {
  if (!nulls)
    return;
  free(nulls->tasks);
  free(nulls->root);
  free(nulls);
}

/* Nodes to visit for a lighter hash: well under a second for workloads of some tens of shapes. */
static const uint64_t lightest_work = 4000000;

bool bf_nulls_lightest(bf_exact *exact, unsigned most, uint32_t *functional) {
  bf_nulls nulls = {.exact = exact, .d = exact->coordinates.dimension};
  decisions root;
  if (nulls.d > BF_NULLS_MAX_DIMENSION || nulls.d < exact->m)
    return false;
  nulls.root = malloc((exact->problem->count + 1) * sizeof(classes));
  if (!nulls.root)
    return false;
  fill_root(&nulls, &root);
  worker *w = new_worker(&nulls);
  bool found = false;
  if (w) {
    w->lightest = true;
    w->nodes = lightest_work / (exact->problem->count + 1);
    w->most = most;
    explore(w, 0, &root);
    found = w->found;
    if (found)
      functionals_of(&nulls, &w->lighter, functional);
    free_worker(w);
  }
  free(nulls.root);
  return found;
}
