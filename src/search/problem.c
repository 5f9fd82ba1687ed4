/* From accesses to shapes. */
#include "search/problem.h"

#include "search/spectrum.h"

#include <stdlib.h>
#include <string.h>

/* ---- Canonical shapes ---- */

static void sort_words(uint32_t *word, unsigned count) {
  for (unsigned i = 1; i < count; i++) {
    uint32_t value = word[i];
    unsigned j = i;
    for (; j > 0 && word[j - 1] > value; j--)
      word[j] = word[j - 1];
    word[j] = value;
  }
}

/* Whether sorted words, the first of which is 0, are all sums of some of them: each is then that of
 * the word whose number lacks the lowest bit, and of the one whose number is that bit. */
static bool is_closed(const uint32_t *word, unsigned count) {
  if (count & (count - 1))
    return false;
  for (unsigned i = 1; i < count; i++)
    if (word[i] != (word[i & (i - 1)] ^ word[i & -i]))
      return false;
  return true;
}

/* The smallest nonzero distance (by XOR) of two sorted words. It is one of neighbours: what lies
 * between two words has the bits that they share, and is nearer to one of them. */
static uint32_t least_distance(const uint32_t *word, unsigned count) {
  uint32_t least = UINT32_MAX;
  for (unsigned i = 1; i < count; i++) {
    uint32_t distance = word[i - 1] ^ word[i];
    if (distance && distance < least)
      least = distance;
  }
  return least;
}

/* Whether word[i] of sorted words has a nearest neighbour at that least distance. */
static bool is_near(const uint32_t *word, unsigned count, unsigned i, uint32_t least) {
  unsigned before = i, after = i;
  while (before > 0 && word[before] == word[i])
    before--;
  while (after + 1 < count && word[after] == word[i])
    after++;
  return (word[i] ^ word[before]) == least || (word[i] ^ word[after]) == least;
}

/* Of all XOR moves that bring a word to 0, the one whose sorted words come first in dictionary
 * order. Only moves by words with the nearest neighbour can be first; where words are closed under
 * XOR, all moves give the same. */
static void make_canonical(uint32_t *word, unsigned count) {
  uint32_t best[BF_SHAPE_WORDS], moved[BF_SHAPE_WORDS];
  bool have = false;
  sort_words(word, count);
  uint32_t least = least_distance(word, count);
  for (unsigned i = 0; i < count; i++) {
    if (have && !is_near(word, count, i, least))
      continue;
    for (unsigned j = 0; j < count; j++)
      moved[j] = word[j] ^ word[i];
    sort_words(moved, count);
    bool first = !have;
    for (unsigned j = 0; have && j < count; j++)
      if (moved[j] != best[j]) {
        first = moved[j] < best[j];
        break;
      }
    if (first)
      memcpy(best, moved, count * sizeof *best);
    if (!have && is_closed(best, count))
      break;
    have = true;
  }
  memcpy(word, best, count * sizeof *word);
}

/* ---- Merging ---- */

typedef struct builder {
  bf_problem *problem;
  size_t capacity;
  size_t *slot; /* open addressing, index + 1 into problem->shape */
  size_t slots;
  bf_spectrum *pairs; /* where shapes go that are left out; NULL: none are */
  bf_diagnostic *diagnostic;
} builder;

static uint64_t hash_words(const uint32_t *word, unsigned count, uint32_t ideal) {
  uint64_t h = 0x9E3779B97F4A7C15u ^ ideal;
  for (unsigned i = 0; i < count; i++)
    h = (h ^ word[i]) * 0xD6E8FEB86659FD93u, h ^= h >> 29;
  return h;
}

static size_t find_slot(const builder *b, const uint32_t *word, unsigned count, uint32_t ideal) {
  size_t at = hash_words(word, count, ideal) & (b->slots - 1);
  for (; b->slot[at]; at = (at + 1) & (b->slots - 1)) {
    const bf_shape *shape = &b->problem->shape[b->slot[at] - 1];
    if (shape->words == count && shape->ideal == ideal &&
        memcmp(shape->word, word, count * sizeof *word) == 0)
      break;
  }
  return at;
}

static int grow(builder *b) {
  size_t capacity = b->capacity ? b->capacity * 2 : 256;
  bf_shape *shape = realloc(b->problem->shape, capacity * sizeof *shape);
  if (!shape)
    return bf_no_memory(b->diagnostic);
  b->problem->shape = shape;
  b->capacity = capacity;
  free(b->slot);
  b->slots = capacity * 2;
  b->slot = calloc(b->slots, sizeof *b->slot);
  if (!b->slot)
    return bf_no_memory(b->diagnostic);
  for (size_t i = 0; i < b->problem->count; i++) {
    const bf_shape *old = &b->problem->shape[i];
    b->slot[find_slot(b, old->word, old->words, old->ideal)] = i + 1;
  }
  return BF_OK;
}

/* Adds weight to the shape of these words; sets that can never conflict are left out. */
static int add_shape(builder *b, uint32_t *word, unsigned count, uint32_t ideal, uint64_t weight,
                     uint64_t square) {
  bf_problem *problem = b->problem;
  if (count <= ideal)
    return BF_OK;
  if (b->pairs) {
    bf_spectrum_add(b->pairs, word, count, ideal, weight);
    return BF_OK;
  }
  make_canonical(word, count);
  if (word[count - 1] == 0)
    return BF_OK;
  if (problem->count == b->capacity) {
    BF_TRY(grow(b));
  }
  size_t at = find_slot(b, word, count, ideal);
  if (b->slot[at]) {
    problem->shape[b->slot[at] - 1].weight += weight;
    problem->shape[b->slot[at] - 1].square += square;
    return BF_OK;
  }
  bf_shape *shape = &problem->shape[problem->count];
  *shape = (bf_shape){.words = count, .ideal = ideal, .weight = weight, .square = square};
  shape->word = bf_arena_alloc(&problem->arena, count * sizeof *word);
  if (!shape->word)
    return bf_no_memory(b->diagnostic);
  memcpy(shape->word, word, count * sizeof *word);
  b->slot[at] = ++problem->count;
  for (unsigned i = 0; i < count; i++)
    problem->used_bits |= word[i];
  return BF_OK;
}

/* ---- Accesses ---- */

static unsigned drop_repeats(uint32_t *word, unsigned count) {
  sort_words(word, count);
  unsigned kept = 0;
  for (unsigned i = 0; i < count; i++)
    if (kept == 0 || word[kept - 1] != word[i])
      word[kept++] = word[i];
  return kept;
}

static int add_phase(builder *b, const bf_machine *machine, bf_phase *phase, uint64_t weight,
                     uint64_t square) {
  unsigned ideal = bf_memory_phase_passes(machine, phase);
  unsigned count = phase->count_duplicates ? phase->words : drop_repeats(phase->word, phase->words);
  for (unsigned i = 0; i < phase->words; i++)
    if (phase->word[i] > b->problem->highest_word)
      b->problem->highest_word = phase->word[i];
  if (count > BF_SHAPE_WORDS)
    return bf_fail(b->diagnostic, BF_UNSUPPORTED,
                   "searches handle up to %d words served together, not %u", BF_SHAPE_WORDS, count);
  return add_shape(b, phase->word, count, ideal, weight * phase->times, square);
}

/* True if two lanes want the same word. */
static bool has_repeats(const bf_phase *phase) {
  for (unsigned i = 0; i < phase->words; i++)
    for (unsigned j = 0; j < i; j++)
      if (phase->word[i] == phase->word[j])
        return true;
  return false;
}

/* A lock per bank: the loop runs once per access of the fullest bank, L times, and reads L + (L-1)
 * + ... + 1 times; with two atomic wavefronts an iteration that is 3 (L - 1) + L (L - 1) / 2 above
 * the ideal of 3. Where lanes share words, reads merge, and only the first term is sure. */
static int add_lock_loop(builder *b, const bf_machine *machine, const bf_access *access) {
  bf_phase phase = {.times = 1, .count_duplicates = true};
  for (uint64_t left = access->mask; left; left &= left - 1)
    phase.word[phase.words++] = access->address[__builtin_ctzll(left)] / machine->word_bytes;
  bool repeats = has_repeats(&phase);
  if (repeats)
    b->problem->exact_model = false;
  return add_phase(b, machine, &phase, 3 * access->count, repeats ? 0 : access->count);
}

/* True if two lanes have the same address. */
static bool has_shared_address(const bf_access *access) {
  for (uint64_t left = access->mask; left; left &= left - 1)
    for (uint64_t rest = left & (left - 1); rest; rest &= rest - 1)
      if (access->address[__builtin_ctzll(left)] == access->address[__builtin_ctzll(rest)])
        return true;
  return false;
}

/* Other accesses that take locks, and copies by sectors, are searched by their first read, which
 * costs no more. */
static int add_access(builder *b, const bf_machine *machine, const bf_access *access) {
  const bf_op_rule *rule = &machine->op[access->op];
  bf_access stand_in = *access;
  if (rule->rule == BF_RULE_LOCK_LOOP)
    return add_lock_loop(b, machine, access);
  if (rule->rule != BF_RULE_WORDS && rule->rule != BF_RULE_ACCESSES) {
    b->problem->exact_model = false;
    stand_in.op = BF_OP_LD;
  }
  /* a copy of half sectors has another ideal than a load */
  bool halves = ((access->mask ^ access->mask >> 1) & 0x5555555555555555u) != 0;
  if (rule->rule == BF_RULE_SECTOR_COPY && (halves || has_shared_address(access)))
    b->problem->bound_valid = false;
  bf_phase_walk walk;
  bf_phase phase;
  bf_phase_begin(&walk, machine, &stand_in);
  while (bf_phase_next(&walk, &phase)) {
    BF_TRY(add_phase(b, machine, &phase, access->count, 0));
  }
  return BF_OK;
}

/* Heaviest first, so that bounds grow early: weight * words^2, then by content. */
static int compare_shapes(const void *a, const void *b) {
  const bf_shape *x = a, *y = b;
  double heavy_x = (double)x->weight * x->words * x->words;
  double heavy_y = (double)y->weight * y->words * y->words;
  if (heavy_x != heavy_y)
    return heavy_x < heavy_y ? 1 : -1;
  if (x->words != y->words)
    return x->words < y->words ? 1 : -1;
  for (unsigned i = 0; i < x->words; i++)
    if (x->word[i] != y->word[i])
      return x->word[i] < y->word[i] ? -1 : 1;
  return x->ideal < y->ideal ? -1 : x->ideal > y->ideal;
}

/* Whether a shape holds, with every word, those that differ in the lowest `bits` bits alone. */
static bool has_blocks(const bf_shape *shape, unsigned bits) {
  uint32_t size = 1u << bits;
  if (shape->words % size)
    return false;
  for (uint32_t i = 0; i < shape->words; i++)
    if (shape->word[i] != (shape->word[i & ~(size - 1)] | (i & (size - 1))))
      return false;
  return true;
}

/* Low bits of which all shapes hold whole blocks, as wide accesses do. Where a hash sends b words
 * of each block to one bank, the fullest bank holds b times the blocks of the fullest class; the
 * hash that keeps blocks apart and puts b of those classes together has no fuller banks. So some
 * best hash keeps these bits. */
static unsigned common_blocks(const bf_problem *problem) {
  unsigned bits = problem->geometry.bank_bits;
  for (size_t s = 0; s < problem->count && bits > problem->granule_bits; s++)
    while (bits > problem->granule_bits && !has_blocks(&problem->shape[s], bits))
      bits--;
  return problem->count ? bits : problem->granule_bits;
}

/* The accesses that make the problem: every step-th below end. */
typedef struct sample {
  const bf_cases *cases;
  size_t step, end, all;
} sample;

/* The time that is left until the watch's, a second at most; little where nobody watches. */
static double seconds_left(const bf_search_watch *watch) {
  if (!watch)
    return 0.002;
  double left = watch->until > 0 ? watch->until - bf_seconds() : 1;
  return left > 0 ? left < 1 ? left : 1 : 0;
}

/* The pairs of all shapes. False where they say nothing of costs, or there is no room. */
static bool collect_pairs(const bf_problem *problem, bf_spectrum *pairs) {
  if (!problem->bound_valid || !bf_spectrum_make(pairs, problem->geometry.address_bits))
    return false;
  for (size_t s = 0; s < problem->count; s++) {
    const bf_shape *shape = &problem->shape[s];
    bf_spectrum_add(pairs, shape->word, shape->words, shape->ideal, shape->weight);
  }
  return true;
}

uint64_t bf_problem_pairs(const bf_problem *problem, unsigned fixed, double seconds) {
  bf_spectrum pairs;
  return collect_pairs(problem, &pairs)
             ? bf_spectrum_bound(&pairs, problem->geometry.bank_bits, fixed, seconds)
             : 0;
}

/* A search that ends sooner has no time for a better bound of pairs later on. */
static const double short_seconds = 0.05;

/* The bound of all shapes, and of accesses that are left out as long as there is time. Of shapes
 * alone, what takes no time suffices: most searches end with proof before more could help. */
static int bound_pairs(builder *b, const sample *own, const bf_search_watch *watch) {
  bf_problem *problem = b->problem;
  bf_spectrum pairs;
  int error = BF_OK;
  if (!collect_pairs(problem, &pairs))
    return BF_OK;
  b->pairs = &pairs;
  double half = seconds_left(watch) / 2,
         until = watch && watch->until > 0 ? watch->until - half : 0;
  for (size_t i = 0, which; problem->sampled && i < own->all && !error; i++) {
    if (i % own->step == 0 && i < own->end)
      continue;
    if (i % 256 == 1 && until > 0 && bf_seconds() >= until)
      break;
    const bf_access *access = bf_cases_get(own->cases, i, &which);
    error = add_access(b, own->cases->item[which].machine, access);
  }
  b->pairs = NULL;
  problem->least = bf_spectrum_bound(&pairs, problem->geometry.bank_bits,
                                     problem->sampled ? problem->granule_bits : problem->block_bits,
                                     problem->sampled || half < short_seconds ? half : 0);
  return error;
}

/* Accesses that are always looked at, and after how many one looks at the watch. */
enum { LEAST_ACCESSES = 256 };

static int add_sample(builder *b, sample *own, const bf_search_watch *watch) {
  size_t which, done = 0;
  own->end = own->all;
  for (size_t i = 0; i < own->end; i += own->step, done++) {
    const bf_access *access = bf_cases_get(own->cases, i, &which);
    BF_TRY(add_access(b, own->cases->item[which].machine, access));
    if (done % LEAST_ACCESSES == LEAST_ACCESSES - 1 && !bf_search_goes_on(watch, i, own->all))
      own->end = i + 1;
  }
  b->problem->sampled = own->step > 1 || own->end < own->all;
  return BF_OK;
}

static int set_geometry(const bf_cases *cases, unsigned granule_bytes, bf_problem *problem,
                        bf_diagnostic *diagnostic) {
  problem->geometry = bf_machine_geometry(cases->item[0].machine);
  problem->exact_model = problem->bound_valid = true;
  for (size_t i = 0; i < cases->count; i++) {
    bf_serve serve = cases->item[i].machine->serve;
    problem->exact_model = problem->exact_model && serve == BF_SERVE_DISTINCT_WORDS;
    problem->bound_valid = problem->bound_valid && serve != BF_SERVE_ROW_PAIRS;
  }
  unsigned word_bytes = problem->geometry.word_bytes;
  if (granule_bytes > word_bytes)
    problem->granule_bits = (unsigned)__builtin_ctz(granule_bytes / word_bytes);
  return problem->granule_bits <= problem->geometry.bank_bits
             ? BF_OK
             : bf_fail(diagnostic, BF_BAD_INPUT, "a granule of %u bytes is wider than all banks",
                       granule_bytes);
}

int bf_problem_sample(const bf_cases *cases, unsigned granule_bytes, size_t most,
                      const bf_search_watch *watch, bf_problem *problem,
                      bf_diagnostic *diagnostic) {
  memset(problem, 0, sizeof *problem);
  BF_TRY(set_geometry(cases, granule_bytes, problem, diagnostic));
  builder b = {.problem = problem, .diagnostic = diagnostic};
  sample own = {.cases = cases, .all = bf_cases_size(cases)};
  own.step = most < own.all ? (own.all + most - 1) / most : 1;
  int error = add_sample(&b, &own, watch);
  problem->block_bits = common_blocks(problem);
  if (!error)
    error = bound_pairs(&b, &own, watch);
  free(b.slot);
  if (error)
    bf_problem_free(problem);
  else if (problem->count)
    qsort(problem->shape, problem->count, sizeof *problem->shape, compare_shapes);
  return error;
}

int bf_problem_build(const bf_machine *machine, const bf_workload *workload, unsigned granule_bytes,
                     bf_problem *problem, bf_diagnostic *diagnostic) {
  const bf_solve_case own = {machine, workload};
  const bf_cases cases = {&own, 1};
  return bf_problem_sample(&cases, granule_bytes, SIZE_MAX, NULL, problem, diagnostic);
}

int bf_problem_thin(const bf_problem *problem, size_t most, bf_problem *thin,
                    bf_diagnostic *diagnostic) {
  size_t step = problem->count > most ? (problem->count + most - 1) / most : 1;
  *thin = *problem;
  thin->sampled = problem->sampled || step > 1;
  thin->count = 0;
  thin->shape = malloc((problem->count / step + 2) * sizeof *thin->shape);
  if (!thin->shape)
    return bf_no_memory(diagnostic);
  for (size_t s = 0; s < problem->count; s += step)
    thin->shape[thin->count++] = problem->shape[s];
  return BF_OK;
}

void bf_problem_free(bf_problem *problem) {
  free(problem->shape);
  bf_arena_free(&problem->arena);
  memset(problem, 0, sizeof *problem);
}

/* ---- Cost ---- */

uint64_t bf_problem_cost(const bf_problem *problem, const uint64_t *row) {
  uint64_t cost = 0;
  unsigned bits = problem->geometry.bank_bits;
  uint32_t bank[BF_SHAPE_WORDS];
  for (size_t s = 0; s < problem->count; s++) {
    const bf_shape *shape = &problem->shape[s];
    unsigned fullest = shape->ideal;
    for (unsigned i = 0; i < shape->words; i++) {
      bank[i] = 0;
      for (unsigned j = 0; j < bits; j++)
        bank[i] |= bf_gf2_parity(row[j] & shape->word[i]) << j;
    }
    for (unsigned i = 0; i < shape->words; i++) {
      unsigned same = 0;
      for (unsigned j = 0; j <= i; j++)
        same += bank[j] == bank[i];
      fullest = same > fullest ? same : fullest;
    }
    cost += shape->weight * (fullest - shape->ideal) +
            shape->square * (bf_shape_pairs(fullest) - bf_shape_pairs(shape->ideal));
  }
  return cost;
}

/* The lowest set bits of an echelon basis: words of the space differ already in those bits. */
bf_coordinates bf_problem_coordinates(const bf_problem *problem, unsigned kept) {
  bf_gf2_basis basis = {0};
  uint64_t low = bf_gf2_low_bits(kept);
  for (size_t s = 0; s < problem->count; s++)
    for (unsigned i = 0; i < problem->shape[s].words; i++)
      bf_gf2_insert(&basis, problem->shape[s].word[i] & ~low);
  bf_gf2_make_reduced(&basis);
  bf_coordinates coordinates = {.kept = kept};
  for (unsigned bit = 0; bit < BF_GF2_MAX; bit++)
    if (bit < kept || basis.vector[bit]) {
      coordinates.basis[coordinates.dimension] =
          bit < kept ? (uint64_t)1 << bit : basis.vector[bit];
      coordinates.bit[coordinates.dimension++] = (uint8_t)bit;
    }
  return coordinates;
}

uint32_t bf_coordinates_of(const bf_coordinates *coordinates, uint32_t word) {
  uint32_t result = 0;
  for (unsigned i = 0; i < coordinates->dimension; i++)
    result |= (uint32_t)((uint64_t)word >> coordinates->bit[i] & 1) << i;
  return result;
}

uint64_t bf_coordinates_lift(const bf_coordinates *coordinates, uint32_t functional) {
  uint64_t result = 0;
  for (unsigned i = 0; i < coordinates->dimension; i++)
    result |= (uint64_t)(functional >> i & 1) << coordinates->bit[i];
  return result;
}

uint32_t bf_coordinates_project(const bf_coordinates *coordinates, uint64_t row) {
  uint32_t result = 0;
  for (unsigned i = 0; i < coordinates->dimension; i++)
    result |= bf_gf2_parity(row & coordinates->basis[i]) << i;
  return result;
}
