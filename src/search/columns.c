/* Branch and bound over functionals.
 *
 * A hash up to names of banks is the space its functionals span. In echelon order - each functional
 * leads with a higher coordinate than the one before and is 0 at the leads before it - every space
 * is met once. A space of dimension k meets every coordinate subspace of codimension k-1, so the
 * first functional can be asked to avoid k-1 chosen coordinates: those are put on top, and chosen
 * such that few functionals that avoid them are alive (their bound is below the best cost).
 *
 * In a row search, functional i is coordinate i plus a choice of coordinates from m on, and the
 * levels are simply i = fixed, fixed+1, ... In both, the sum of two functionals of a hash belongs
 * to its space, so a candidate whose sum with a chosen one is not alive is dropped. */
#include "search/pencil.h"
#include "search/rounds.h"

#include <stdlib.h>
#include <string.h>

typedef struct first_choice {
  uint64_t bound;
  uint32_t index; /* into the candidates of the first level */
} first_choice;

struct bf_columns {
  bf_exact *exact;
  bf_coordinates coordinates; /* permuted: the avoided ones last */
  bf_planes planes;
  bf_pencil_plan *pencils; /* NULL where the problem does not fit them */
  unsigned d, k;           /* free coordinates and functionals to choose */
  uint32_t *candidate;     /* alive functionals, ascending, over free coordinates */
  uint32_t candidates;
  uint8_t *alive;       /* [2^d]: bound below the best cost at the start */
  first_choice *choice; /* lowest bound first */
  uint32_t choices;
  bf_rounds rounds; /* a task for each choice */
};

/* Buffers of one worker: what each level has split and which candidates it left. */
typedef struct worker {
  bf_columns *columns;
  bf_levels levels; /* from level `fixed` on: the free functionals */
  uint32_t *candidate[BF_MAX_FUNCTIONALS + 1];
  uint8_t *alive[BF_MAX_FUNCTIONALS + 1];
  uint32_t chosen[BF_MAX_FUNCTIONALS]; /* free functionals over free coordinates */
  bf_pencil *pencil;                   /* NULL: none */
  uint32_t *alive_ends;                /* numbers of the functionals that live in the pencil */
} worker;

/* Costs from here on are not looked for. */
static uint64_t limit(const bf_columns *c) { return bf_rounds_limit(&c->rounds); }

static bool halted(const bf_columns *c) { return bf_rounds_halted(&c->rounds); }

static unsigned lead_of(uint32_t f) { return 31 - (unsigned)__builtin_clz(f); }

/* The functional over the planes' coordinates: the fixed ones come first there. */
static uint32_t full(const bf_columns *c, uint32_t f) { return f << c->exact->fixed; }

static void free_worker(worker *w) {
  bf_levels_free(&w->levels);
  bf_pencil_free(w->pencil);
  free(w->alive_ends);
  for (unsigned level = 1; level <= BF_MAX_FUNCTIONALS; level++) {
    free(w->candidate[level]);
    free(w->alive[level]);
  }
  free(w);
}

/* A worker that has split by the fixed functionals. */
static worker *new_worker(bf_columns *c) {
  worker *w = calloc(1, sizeof *w);
  if (!w || !bf_levels_make(&c->planes, c->exact->m, &w->levels)) {
    free(w);
    return NULL;
  }
  for (unsigned level = 1; level < c->k; level++) {
    w->candidate[level] = malloc(((size_t)c->candidates + 1) * sizeof(uint32_t));
    w->alive[level] = calloc((size_t)1 << c->d, 1);
    if (!w->candidate[level] || !w->alive[level]) {
      free_worker(w);
      return NULL;
    }
  }
  if (c->pencils) {
    w->pencil = bf_pencil_new(c->pencils, c->d - (c->k - 2));
    w->alive_ends = malloc(sizeof(uint32_t) << (c->d - (c->k - 2)));
    if (!w->pencil || !w->alive_ends) {
      free_worker(w);
      return NULL;
    }
  }
  w->columns = c;
  w->candidate[0] = c->candidate;
  w->alive[0] = c->alive;
  for (unsigned j = 0; j < c->exact->fixed; j++)
    c->exact->kernel->split(&c->planes, w->levels.blocks[j], j, 1u << j, w->levels.blocks[j + 1],
                            w->levels.sizes[j + 1]);
  return w;
}

/* Splits level `level` by f into the next and returns the bound. */
static uint64_t descend(worker *w, unsigned level, uint32_t f) {
  const bf_columns *c = w->columns;
  const bf_kernel *kernel = c->exact->kernel;
  unsigned depth = c->exact->fixed + level;
  w->chosen[level] = f;
  kernel->split(&c->planes, w->levels.blocks[depth], depth, full(c, f), w->levels.blocks[depth + 1],
                w->levels.sizes[depth + 1]);
  return kernel->passes(&c->planes, w->levels.sizes[depth + 1], depth + 1, c->exact->m,
                        w->levels.passes[depth + 1]);
}

static uint64_t bound_at(const worker *w, unsigned level, uint32_t f, uint64_t parent) {
  const bf_columns *c = w->columns;
  unsigned depth = c->exact->fixed + level;
  return c->exact->kernel->bound(&c->planes, w->levels.blocks[depth], w->levels.sizes[depth], depth,
                                 c->exact->m, full(c, f), w->levels.passes[depth], parent,
                                 limit(c));
}

/* Hands over the chosen functionals, in the coordinates of the shared problem. */
static void offer(worker *w, uint64_t cost) {
  const bf_columns *c = w->columns;
  bf_exact *exact = c->exact;
  uint32_t functional[BF_MAX_FUNCTIONALS] = {0};
  for (unsigned j = 0; j < exact->m; j++) {
    uint32_t own = j < exact->fixed ? 1u << j : full(c, w->chosen[j - exact->fixed]);
    for (unsigned i = 0; i < c->planes.dimension; i++) {
      unsigned position = 0;
      while (exact->coordinates.bit[position] != c->coordinates.bit[i])
        position++;
      functional[j] |= (own >> i & 1) << position;
    }
  }
  bf_exact_offer(exact, functional, cost);
}

/* ---- The last two functionals ---- */

/* The cost of the node's functionals with two more. */
static void try_plane(worker *w, unsigned level, uint32_t f, uint32_t g) {
  const bf_columns *c = w->columns;
  uint32_t functional[BF_MAX_FUNCTIONALS] = {0};
  w->chosen[level] = f;
  w->chosen[level + 1] = g;
  for (unsigned j = 0; j < c->exact->m; j++)
    functional[j] = j < c->exact->fixed ? 1u << j : full(c, w->chosen[j - c->exact->fixed]);
  uint64_t cost = c->exact->kernel->cost(&c->planes, functional, c->exact->m);
  if (cost < limit(c))
    offer(w, cost);
}

/* Planes that are worth trying one by one; more are tried all at once. */
enum { FEW_PLANES = 3 };

/* What try_planes works on: functionals are numbers whose bits are spread over positions. */
typedef struct pencil_node {
  unsigned level;
  uint32_t positions;
  uint64_t parent; /* what the functionals chosen so far force */
  uint32_t count;  /* of alive_ends */
} pencil_node;

/* All planes with functional f: the cost of every last functional. */
static void try_all_with(worker *w, const pencil_node *node, uint32_t f) {
  const bf_columns *c = w->columns;
  uint32_t own = (uint32_t)bf_gf2_scatter(f, node->positions);
  unsigned lead = lead_of(f), depth = c->exact->fixed + node->level + 1;
  uint64_t parent = descend(w, node->level, own);
  if (parent >= limit(c))
    return;
  uint32_t rest = node->positions & ~(1u << lead_of(own));
  uint32_t end = 1u << (w->pencil->width - 1);
  bf_pencil_end(c->exact->kernel, w->pencil, &w->levels, depth, lead, 1u << lead,
                limit(c) - parent);
  for (uint32_t t = 1u << lead; t < end; t++)
    if (w->pencil->ends[t / 64] >> t % 64 & 1)
      try_plane(w, node->level, own, (uint32_t)bf_gf2_scatter(t, rest));
}

/* The planes of functional number i of those alive and later ones: one by one if they are few. */
static void try_planes_of(worker *w, const pencil_node *node, uint32_t i) {
  const bf_columns *c = w->columns;
  uint32_t f = w->alive_ends[i], few[FEW_PLANES + 1];
  unsigned found =
      c->exact->kernel->planes(w->pencil, f, w->alive_ends + i + 1, node->count - i - 1,
                               limit(c) - node->parent, FEW_PLANES + 1, few);
  if (found > FEW_PLANES) {
    try_all_with(w, node, f);
    return;
  }
  for (uint32_t j = 0; j < found; j++)
    try_plane(w, node->level, (uint32_t)bf_gf2_scatter(f, node->positions),
              (uint32_t)bf_gf2_scatter(few[j], node->positions));
}

/* Tries all planes over the functionals chosen up to `level`, which force parent: those of
 * functionals that lead above all chosen ones and are 0 at their leads. */
static void try_planes(worker *w, unsigned level, uint64_t parent) {
  const bf_columns *c = w->columns;
  bf_pencil *pencil = w->pencil;
  pencil_node node = {.level = level, .parent = parent};
  uint32_t leads = 0;
  for (unsigned j = 0; j < level; j++)
    leads |= 1u << lead_of(w->chosen[j]);
  node.positions = (uint32_t)bf_gf2_low_bits(c->d) & ~leads;
  uint32_t below_lead = level ? (1u << lead_of(w->chosen[level - 1])) - 1 : 0;
  uint32_t first = 1u << __builtin_popcount(node.positions & below_lead);
  bf_pencil_fill(c->exact->kernel, pencil, &w->levels, c->exact->fixed + level, leads, first);
  if (pencil->out_of_memory) {
    atomic_store(&c->exact->out_of_memory, true);
    atomic_store(&c->exact->stop, true);
    return;
  }
  for (uint32_t t = first; t < 1u << pencil->width; t++)
    if (parent + pencil->sum[bf_pencil_at(t)] < limit(c))
      w->alive_ends[node.count++] = t;
  for (uint32_t i = 0; i < node.count && parent < limit(c) && !halted(c); i++)
    try_planes_of(w, &node, i);
}

/* ---- General search ---- */

static void explore(worker *w, unsigned level, uint32_t count);

/* Chooses candidate number i of a level and goes on with the candidates behind it. */
static void take(worker *w, unsigned level, uint32_t i, uint32_t count) {
  const bf_columns *c = w->columns;
  const uint32_t *candidate = w->candidate[level];
  uint32_t g = candidate[i], kept = 0;
  unsigned lead = lead_of(g);
  bool last = level + 2 == c->k;
  uint64_t parent = descend(w, level, g);
  if (parent >= limit(c))
    return;
  if (c->k == 1) {
    offer(w, parent);
    return;
  }
  if (w->pencil && level + 3 == c->k) {
    try_planes(w, level + 1, parent);
    return;
  }
  for (uint32_t x = i + 1; x < count; x++) {
    uint32_t f = candidate[x];
    if (lead_of(f) <= lead || (f >> lead & 1) || !w->alive[level][f ^ g])
      continue;
    uint64_t bound = bound_at(w, level + 1, f, parent);
    if (bound >= limit(c))
      continue;
    if (last) {
      w->chosen[level + 1] = f;
      offer(w, bound);
    } else {
      w->candidate[level + 1][kept++] = f;
    }
  }
  if (last || kept < c->k - level - 1)
    return;
  for (uint32_t x = 0; x < kept; x++)
    w->alive[level + 1][w->candidate[level + 1][x]] = 1;
  explore(w, level + 1, kept);
  for (uint32_t x = 0; x < kept; x++)
    w->alive[level + 1][w->candidate[level + 1][x]] = 0;
}

static void explore(worker *w, unsigned level, uint32_t count) {
  const bf_columns *c = w->columns;
  for (uint32_t i = 0; i < count && !halted(c); i++) {
    if (lead_of(w->candidate[level][i]) > c->d - c->k + level)
      return;
    take(w, level, i, count);
  }
}

/* ---- Row search ---- */

/* True if f plus every sum of chosen functionals is alive. */
static bool sums_alive(const worker *w, unsigned level, uint32_t f) {
  for (uint32_t pick = 0; pick < 1u << level; pick++) {
    uint32_t sum = f;
    for (unsigned j = 0; j < level; j++)
      if (pick >> j & 1)
        sum ^= w->chosen[j];
    if (!w->columns->alive[sum])
      return false;
  }
  return true;
}

static void explore_rows(worker *w, unsigned level, uint64_t parent) {
  const bf_columns *c = w->columns;
  bool last = level + 1 == c->k || level + 1 >= BF_MAX_FUNCTIONALS;
  for (uint32_t high = 0; high < 1u << (c->d - c->k); high++) {
    uint32_t f = 1u << level | high << c->k;
    if (high % 64 == 0 && halted(c))
      return;
    if (!sums_alive(w, level, f))
      continue;
    uint64_t bound = bound_at(w, level, f, parent);
    if (bound >= limit(c))
      continue;
    if (last) {
      w->chosen[level] = f;
      offer(w, bound);
    } else {
      explore_rows(w, level + 1, descend(w, level, f));
    }
  }
}

static void take_row(worker *w, uint32_t f) {
  uint64_t bound = descend(w, 0, f);
  if (bound >= limit(w->columns))
    return;
  if (w->columns->k == 1)
    offer(w, bound);
  else
    explore_rows(w, 1, bound);
}

/* ---- Preparation ---- */

/* The k-1 free coordinates to avoid first: as few alive functionals as possible without them.
 * within[set] becomes the number of alive functionals over the coordinates of a set. */
static uint32_t choose_avoided(const uint8_t *alive, uint32_t *within, unsigned d, unsigned k) {
  uint32_t best = 0, fewest = UINT32_MAX, all = (uint32_t)bf_gf2_low_bits(d);
  for (uint32_t f = 0; f <= all; f++)
    within[f] = alive[f];
  for (unsigned i = 0; i < d; i++)
    for (uint32_t f = 0; f <= all; f++)
      if (f >> i & 1)
        within[f] += within[f ^ 1u << i];
  for (uint32_t mask = 0; mask <= all; mask++)
    if ((unsigned)__builtin_popcount(mask) == k - 1 && within[all & ~mask] < fewest) {
      fewest = within[all & ~mask];
      best = mask;
    }
  return best;
}

static void permute(bf_columns *c, uint32_t avoided) {
  unsigned fixed = c->exact->fixed, at = fixed;
  for (unsigned pass = 0; pass < 2; pass++)
    for (unsigned i = 0; i < c->d; i++)
      if ((avoided >> i & 1) == pass) {
        c->coordinates.basis[at] = c->exact->coordinates.basis[fixed + i];
        c->coordinates.bit[at++] = c->exact->coordinates.bit[fixed + i];
      }
}

static int compare_choices(const void *a, const void *b) {
  const first_choice *x = a, *y = b;
  return x->bound != y->bound ? (x->bound < y->bound ? -1 : 1) : (x->index < y->index ? -1 : 1);
}

/* Bounds all functionals at the root: fills alive, candidates and, where they can come first, the
 * choices. */
static void list_candidates(bf_columns *c, worker *root, bool choices) {
  const bf_kernel *kernel = c->exact->kernel;
  uint64_t parent = kernel->passes(&c->planes, root->levels.sizes[c->exact->fixed], c->exact->fixed,
                                   c->exact->m, root->levels.passes[c->exact->fixed]);
  c->candidates = c->choices = 0;
  for (uint32_t f = 1; f < 1u << c->d; f++) {
    if (f % 64 == 0 && bf_exact_poll(c->exact))
      return;
    uint64_t bound = bound_at(root, 0, f, parent);
    c->alive[f] = bound < limit(c);
    if (!c->alive[f])
      continue;
    bool first = c->exact->row ? (f & bf_gf2_low_bits(c->k)) == 1 : lead_of(f) <= c->d - c->k;
    if (choices && first)
      c->choice[c->choices++] = (first_choice){.bound = bound, .index = c->candidates};
    c->candidate[c->candidates++] = f;
  }
}

static int prepare(bf_columns *c, bf_diagnostic *diagnostic) {
  size_t all = (size_t)1 << c->d;
  c->coordinates = c->exact->coordinates;
  c->candidate = malloc(all * sizeof *c->candidate);
  c->alive = calloc(all, 1);
  c->choice = calloc(all, sizeof *c->choice);
  if (!c->candidate || !c->alive || !c->choice)
    return bf_no_memory(diagnostic);
  for (unsigned pass = c->exact->row ? 1 : 0; pass < 2; pass++) {
    bf_planes_free(&c->planes);
    BF_TRY(bf_planes_build(c->exact->problem, &c->coordinates, &c->planes, diagnostic));
    worker *root = new_worker(c);
    if (!root)
      return bf_no_memory(diagnostic);
    list_candidates(c, root, pass == 1);
    free_worker(root);
    if (pass == 0)
      permute(c, choose_avoided(c->alive, c->candidate, c->d, c->k));
  }
  qsort(c->choice, c->choices, sizeof *c->choice, compare_choices);
  for (uint32_t i = 0; i < c->choices; i++)
    bf_rounds_add(&c->rounds, c->choice[i].bound, 1);
  if (c->exact->row || c->k < 3 || c->d - (c->k - 2) > BF_PENCIL_MAX_WIDTH)
    return BF_OK;
  int error = bf_pencil_plan_make(c->exact->problem, &c->coordinates, c->exact->fixed, &c->planes,
                                  &c->pencils, diagnostic);
  return error == BF_UNSUPPORTED ? BF_OK : error;
}

int bf_columns_prepare(bf_exact *exact, bf_columns **out, bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_columns *c = calloc(1, sizeof *c);
  if (!c)
    return bf_no_memory(diagnostic);
  c->exact = exact;
  c->d = exact->coordinates.dimension - exact->fixed;
  c->k = exact->m - exact->fixed;
  int error = bf_rounds_start(&c->rounds, exact, (size_t)1 << c->d, diagnostic);
  if (!error)
    error = prepare(c, diagnostic);
  if (error) {
    bf_columns_free(c);
    return error;
  }
  *out = c;
  return BF_OK;
}

/* Searches below one choice. */
static void take_choice(void *context, uint32_t number) {
  worker *w = context;
  bf_columns *c = w->columns;
  const first_choice *choice = &c->choice[number];
  if (c->exact->row)
    take_row(w, c->candidate[choice->index]);
  else
    take(w, 0, choice->index, c->candidates);
}

void bf_columns_work(bf_columns *c) {
  worker *w = new_worker(c);
  if (!w) {
    atomic_store(&c->exact->out_of_memory, true);
    return;
  }
  bf_rounds_work(&c->rounds, take_choice, w);
  free_worker(w);
}

bf_rounds *bf_columns_rounds(bf_columns *c) { return &c->rounds; }

bool bf_columns_is_fast(const bf_columns *c) { return c->pencils != NULL; }

void bf_columns_free(bf_columns *c) {
  if (!c)
    return;
  bf_rounds_free(&c->rounds);
  bf_pencil_plan_free(c->pencils);
  bf_planes_free(&c->planes);
  free(c->candidate);
  free(c->alive);
  free(c->choice);
  free(c);
}
