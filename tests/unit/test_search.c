/* Searches against brute force, against the documents' examples, and against each other. */
#include "sanitized.h"
#include "search/evaluate.h"
#include "search/fold.h"
#include "search/ladder.h"
#include "search/parts.h"
#include "search/rounds.h"
#include "search/search.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t random_state;

static uint32_t random_below(uint32_t below) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)((random_state >> 16) % below);
}

static bf_machine *machine_with(const char *name, unsigned banks, unsigned lanes,
                                unsigned address_bits) {
  bf_overrides overrides = {.struct_bytes = sizeof overrides,
                            .banks = banks,
                            .lanes = lanes,
                            .address_bits = address_bits};
  bf_machine *machine;
  bf_diagnostic diagnostic;
  if (bf_machine_load(name, &overrides, &machine, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  return machine;
}

static void add_words(bf_workload *workload, bf_op op, const uint32_t *word, unsigned count,
                      uint64_t times) {
  bf_access access = {.op = op, .width_bytes = 4, .count = times};
  access.mask = bf_gf2_low_bits(count);
  for (unsigned i = 0; i < count; i++)
    access.address[i] = word[i] * 4;
  assert_int_equal(bf_workload_add(workload, &access), BF_OK);
}

static void add_stride(bf_workload *workload, uint32_t stride, unsigned lanes) {
  uint32_t word[BF_MAX_LANES];
  for (unsigned i = 0; i < lanes; i++)
    word[i] = i * stride;
  add_words(workload, BF_OP_LD, word, lanes, 1);
}

static bf_workload *new_workload(void) {
  bf_workload *workload;
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  return workload;
}

static bf_workload *read_workload(const bf_machine *machine, const char *name) {
  char path[256];
  bf_workload *workload;
  bf_diagnostic diagnostic;
  snprintf(path, sizeof path, "tests/data/workloads/%s.trace", name);
  if (bf_workload_read(path, machine, &workload, &diagnostic) != BF_OK)
    fail_msg("%s:%llu: %s", path, (unsigned long long)diagnostic.line, diagnostic.message);
  return workload;
}

static bf_solution solve(const bf_machine *machine, const bf_workload *workload,
                         bf_solve_options options) {
  bf_solution solution;
  bf_diagnostic diagnostic;
  options.struct_bytes = sizeof options;
  if (bf_solve(machine, workload, &options, &solution, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  assert_true(solution.lower_bound <= solution.conflicts_after);
  return solution;
}

static uint64_t conflicts_under(const bf_machine *machine, const bf_workload *workload,
                                const char *text) {
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_hash *hash;
  uint64_t conflicts;
  bf_diagnostic diagnostic;
  if (bf_hash_parse(text, &geometry, &hash, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  assert_int_equal(bf_problem_conflicts(machine, workload, hash, &conflicts, NULL), BF_OK);
  bf_hash_free(hash);
  return conflicts;
}

/* ---- Kernels ---- */

static bf_workload *random_workload(const bf_machine *machine, unsigned accesses, bool atomics) {
  bf_workload *workload = new_workload();
  unsigned lanes = bf_machine_lanes(machine);
  bf_geometry geometry = bf_machine_geometry(machine);
  for (unsigned a = 0; a < accesses; a++) {
    uint32_t word[BF_MAX_LANES];
    unsigned count = 1 + random_below(lanes);
    uint32_t stride = random_below(9), noise = 1 + random_below(8);
    for (unsigned i = 0; i < count; i++)
      word[i] =
          (i * stride + random_below(noise)) & (uint32_t)bf_gf2_low_bits(geometry.address_bits);
    bf_op op = atomics && random_below(2) ? BF_OP_ATOM : random_below(2) ? BF_OP_LD : BF_OP_ST;
    add_words(workload, op, word, count, 1 + random_below(5));
  }
  return workload;
}

static uint64_t true_cost(const bf_machine *machine, const bf_workload *workload,
                          const uint64_t *row) {
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_hash *hash;
  uint64_t conflicts;
  assert_int_equal(bf_hash_from_rows(row, &geometry, &hash, NULL), BF_OK);
  assert_int_equal(bf_problem_conflicts(machine, workload, hash, &conflicts, NULL), BF_OK);
  bf_hash_free(hash);
  return conflicts;
}

/* A random hash that keeps the low granule bits. */
static void random_rows(const bf_geometry *geometry, unsigned granule_bits, uint64_t *row) {
  do {
    for (unsigned i = 0; i < geometry->bank_bits; i++)
      row[i] = i < granule_bits
                   ? (uint64_t)1 << i
                   : random_below(1u << geometry->address_bits) & ~bf_gf2_low_bits(granule_bits);
  } while (bf_gf2_rank(row, geometry->bank_bits) < geometry->bank_bits);
}

/* Words that are moved by XOR are the same shape, whether they are closed under XOR or not. */
static void moved_words_are_one_shape(void **state) {
  (void)state;
  random_state = 5;
  bf_machine *machine = machine_with("hopper", 32, 32, 14);
  for (unsigned round = 0; round < 2000; round++) {
    unsigned count = 2 + random_below(31), step = 1 + random_below(40);
    uint32_t word[32], other[32], by = random_below(1u << 13);
    for (unsigned i = 0; i < count; i++) {
      word[i] = round % 2 ? random_below(1u << (4 + round % 8)) : i * step;
      other[count - 1 - i] = word[i] ^ by;
    }
    bf_workload *workload = new_workload();
    add_words(workload, BF_OP_LD, word, count, 3);
    add_words(workload, BF_OP_LD, other, count, 5);
    bf_problem problem;
    assert_int_equal(bf_problem_build(machine, workload, 0, &problem, NULL), BF_OK);
    assert_true(problem.count <= 1);
    if (problem.count)
      assert_int_equal(problem.shape[0].weight, 8);
    bf_problem_free(&problem);
    bf_workload_free(workload);
  }
  bf_machine_free(machine);
}

/* The count by bf_memory_count, the reference cost of the problem and every kernel agree. */
static void all_costs_agree(void **state) {
  (void)state;
  random_state = 11;
  for (unsigned round = 0; round < 60; round++) {
    unsigned bank_bits = 1 + random_below(6);
    bf_machine *machine =
        machine_with("hopper", 1u << bank_bits, 32, bank_bits + 1 + random_below(8));
    bf_geometry geometry = bf_machine_geometry(machine);
    bf_workload *workload = random_workload(machine, 1 + random_below(60), true);
    bf_problem problem;
    assert_int_equal(bf_problem_build(machine, workload, 0, &problem, NULL), BF_OK);
    for (unsigned trial = 0; trial < 20; trial++) {
      uint64_t row[BF_HASH_MAX_BANK_BITS];
      random_rows(&geometry, 0, row);
      uint64_t expected = true_cost(machine, workload, row);
      assert_int_equal(bf_problem_cost(&problem, row), expected);
      bf_coordinates coordinates = bf_problem_coordinates(&problem, trial % 2);
      bf_planes planes;
      assert_int_equal(bf_planes_build(&problem, &coordinates, &planes, NULL), BF_OK);
      uint32_t functional[BF_MAX_FUNCTIONALS];
      for (unsigned i = 0; i < bank_bits; i++)
        functional[i] = bf_coordinates_project(&coordinates, row[i]);
      for (unsigned k = 0; bf_kernel_available(k); k++)
        assert_int_equal(bf_kernel_available(k)->cost(&planes, functional, bank_bits), expected);
      bf_planes_free(&planes);
    }
    bf_problem_free(&problem);
    bf_workload_free(workload);
    bf_machine_free(machine);
  }
}

/* Bounds on the way down never exceed what lies below, and the last one is the cost. */
static void bounds_hold(void **state) {
  (void)state;
  random_state = 5;
  for (unsigned round = 0; round < (IS_SANITIZED ? 10 : 40); round++) {
    bf_machine *machine = machine_with("hopper", 32, 32, 10);
    bf_geometry geometry = bf_machine_geometry(machine);
    bf_workload *workload = random_workload(machine, 40, true);
    bf_problem problem;
    assert_int_equal(bf_problem_build(machine, workload, 0, &problem, NULL), BF_OK);
    bf_coordinates coordinates = bf_problem_coordinates(&problem, 0);
    bf_planes planes;
    assert_int_equal(bf_planes_build(&problem, &coordinates, &planes, NULL), BF_OK);
    uint64_t row[BF_HASH_MAX_BANK_BITS];
    random_rows(&geometry, 0, row);
    for (unsigned k = 0; bf_kernel_available(k); k++) {
      const bf_kernel *kernel = bf_kernel_available(k);
      uint32_t *blocks[6], *sizes[6], *passes = bf_planes_array(planes.stride);
      for (unsigned level = 0; level < 6; level++) {
        blocks[level] = bf_planes_array(planes.stride << level);
        sizes[level] = bf_planes_array(planes.stride << level);
      }
      memcpy(blocks[0], planes.active, planes.stride * sizeof *passes);
      for (size_t at = 0; at < planes.stride; at++)
        sizes[0][at] = (uint32_t)__builtin_popcount(planes.active[at]);
      uint64_t before = 0;
      for (unsigned level = 0; level < 5; level++) {
        uint32_t f = bf_coordinates_project(&coordinates, row[level]);
        uint64_t parent = kernel->passes(&planes, sizes[level], level, 5, passes);
        uint64_t bound = kernel->bound(&planes, blocks[level], sizes[level], level, 5, f, passes,
                                       parent, UINT64_MAX);
        assert_true(parent >= before && bound >= parent);
        kernel->split(&planes, blocks[level], level, f, blocks[level + 1], sizes[level + 1]);
        before = bound;
      }
      assert_int_equal(before, bf_problem_cost(&problem, row));
      for (unsigned level = 0; level < 6; level++) {
        free(blocks[level]);
        free(sizes[level]);
      }
      free(passes);
    }
    bf_planes_free(&planes);
    bf_problem_free(&problem);
    bf_workload_free(workload);
    bf_machine_free(machine);
  }
}

/* ---- Exact against brute force ---- */

typedef struct brute {
  const bf_machine *machine;
  const bf_workload *workload;
  bf_geometry geometry;
  unsigned granule_bits;
  bool row;
  uint64_t best;
} brute;

/* Tries every choice of rows from number i on. */
static void try_rows(brute *b, uint64_t *row, unsigned i) {
  unsigned m = b->geometry.bank_bits, n = b->geometry.address_bits;
  if (i == m) {
    if (bf_gf2_rank(row, m) == m) {
      uint64_t cost = true_cost(b->machine, b->workload, row);
      b->best = cost < b->best ? cost : b->best;
    }
    return;
  }
  for (uint64_t mask = 1; mask < (uint64_t)1 << n; mask++) {
    bool fits = i < b->granule_bits ? mask == (uint64_t)1 << i
                                    : (mask & bf_gf2_low_bits(b->granule_bits)) == 0;
    if (b->row)
      fits = fits && (mask & bf_gf2_low_bits(m)) == (uint64_t)1 << i;
    /* without a granule or rows, the order of rows does not matter */
    if (!fits || (!b->row && i > b->granule_bits && mask <= row[i - 1]))
      continue;
    row[i] = mask;
    try_rows(b, row, i + 1);
  }
}

static void exact_equals_brute_force(void **state) {
  (void)state;
  random_state = 77;
  for (unsigned round = 0; round < (IS_SANITIZED ? 40 : 120); round++) {
    unsigned bank_bits = 2 + random_below(2);
    unsigned address_bits = bank_bits == 3 ? 5 : 4 + random_below(3);
    bf_machine *machine = machine_with("hopper", 1u << bank_bits, 8, address_bits);
    bf_workload *workload = random_workload(machine, 1 + random_below(12), round % 2);
    unsigned granule = round % 3 == 2 ? 8 : 0;
    bool row = round % 4 == 3;
    brute b = {.machine = machine,
               .workload = workload,
               .geometry = bf_machine_geometry(machine),
               .granule_bits = granule == 8,
               .row = row,
               .best = UINT64_MAX};
    uint64_t rows[BF_HASH_MAX_BANK_BITS];
    try_rows(&b, rows, 0);
    bf_solution solution = solve(machine, workload,
                                 (bf_solve_options){.method = BF_METHOD_EXACT,
                                                    .class_ = row ? BF_CLASS_ROW : BF_CLASS_GENERAL,
                                                    .granule_bytes = granule});
    assert_int_equal(solution.conflicts_after, b.best);
    assert_int_equal(solution.lower_bound, b.best);
    assert_true(solution.proven);
    if (row)
      assert_true(bf_hash_is_row_preserving(solution.hash));
    if (granule)
      assert_int_equal(solution.hash->forward.row[0], 1);
    bf_solution_clear(&solution);
    bf_workload_free(workload);
    bf_machine_free(machine);
  }
}

/* Points of a shape, few words on each, on both halves. */
static void draw_points(bf_fold_shape *shape, unsigned words, unsigned most) {
  bf_fold_clear(shape, 1 + random_below(3));
  for (unsigned half = 0; half < 2; half++) {
    bf_points drawn = {0};
    for (unsigned i = 0; i < words; i++) {
      unsigned point = random_below(BF_FOLD_POINTS);
      if (bf_points_has(&drawn, point))
        continue;
      drawn[point / 64] |= (uint64_t)1 << point % 64;
      bf_fold_add(shape, half, point, random_below(4) ? 1 : 1 + random_below(most));
    }
  }
}

static void assert_same_fold(const bf_fold *a, const bf_fold *b) {
  assert_int_equal(a->cost, b->cost);
  assert_int_equal(a->units, b->units);
  assert_memory_equal(&a->alive, &b->alive, sizeof a->alive);
  assert_memory_equal(a->unit, b->unit, a->units * sizeof *a->unit);
  assert_memory_equal(a->weight, b->weight, a->units * sizeof *a->weight);
}

/* Nodes folded by every kernel, beside the plain one. */
static void folds_agree(void **state) {
  (void)state;
  random_state = 99;
  for (unsigned round = 0; round < (IS_SANITIZED ? 100 : 2000); round++) {
    bf_machine *machine = machine_with("hopper", 32, 32, 12);
    bf_workload *workload = random_workload(machine, 1 + random_below(40), false);
    bf_problem problem;
    assert_int_equal(bf_problem_build(machine, workload, 0, &problem, NULL), BF_OK);
    unsigned t = random_below(BF_FOLD_POINTS), most = 1 + random_below(4), words = random_below(20);
    uint64_t below = 1 + random_below(200);
    bf_fold *fold[8];
    bool found[8];
    for (unsigned k = 0; problem.count && bf_kernel_available(k); k++) {
      fold[k] = bf_fold_new(&problem);
      assert_non_null(fold[k]);
      for (unsigned h = 0; h < 2; h++)
        fold[k]->allowed[h] = ~(uint64_t)0 << (h == 0);
      for (size_t s = 0; k == 0 && s < problem.count; s++)
        draw_points(&fold[0]->shape[s], words, most);
      memcpy(fold[k]->shape, fold[0]->shape, problem.count * sizeof *fold[k]->shape);
      found[k] = bf_kernel_available(k)->fold(fold[k], t, below);
      assert_int_equal(found[k], found[0]);
      if (found[0])
        assert_same_fold(fold[k], fold[0]);
    }
    for (unsigned k = 0; problem.count && bf_kernel_available(k); k++)
      bf_fold_free(fold[k]);
    bf_problem_free(&problem);
    bf_workload_free(workload);
    bf_machine_free(machine);
  }
}

typedef enum proof { BY_NULLS, BY_COLUMNS, BY_FOLDS, PROOFS } proof;

/* Mostly the best one: others are slow. */
static const bf_kernel *any_kernel(void) {
  unsigned count = 0;
  if (random_below(4))
    return bf_kernel_best();
  while (bf_kernel_available(count))
    count++;
  return bf_kernel_available(random_below(count));
}

static void work_alone(bf_exact *exact, proof by, bool targets) {
  bf_columns *columns = NULL;
  bf_nulls *nulls = NULL;
  bf_folds *folds = NULL;
  if (by == BY_FOLDS)
    assert_int_equal(bf_folds_prepare(exact, &folds, NULL), BF_OK);
  if (folds) {
    if (targets)
      bf_rounds_aim(bf_folds_rounds(folds), 1);
    bf_folds_work(folds);
  } else if (by == BY_NULLS) {
    assert_int_equal(bf_nulls_prepare(exact, &nulls, NULL), BF_OK);
    bf_nulls_work(nulls);
  } else {
    assert_int_equal(bf_columns_prepare(exact, &columns, NULL), BF_OK);
    if (targets)
      bf_rounds_aim(bf_columns_rounds(columns), 1);
    bf_columns_work(columns);
  }
  bf_columns_free(columns);
  bf_nulls_free(nulls);
  bf_folds_free(folds);
}

/* One branch-and-bound by itself: the cost it proves. */
static uint64_t prove_alone(const bf_problem *problem, bool row, proof by, bool targets) {
  bf_solve_options options = {.method = BF_METHOD_EXACT};
  unsigned m = problem->geometry.bank_bits;
  bf_exact exact = {.problem = problem,
                    .kernel = any_kernel(),
                    .m = m,
                    .fixed = problem->granule_bits,
                    .row = row,
                    .options = &options};
  exact.coordinates = bf_problem_coordinates(problem, row ? m : exact.fixed);
  if (problem->count == 0 || exact.coordinates.dimension <= m)
    return 0;
  atomic_init(&exact.best, UINT64_MAX - 1);
  pthread_mutex_init(&exact.lock, NULL);
  assert_int_equal(bf_planes_build(problem, &exact.coordinates, &exact.planes, NULL), BF_OK);
  work_alone(&exact, by, targets);
  assert_true(atomic_load(&exact.proven));
  bf_planes_free(&exact.planes);
  pthread_mutex_destroy(&exact.lock);
  return atomic_load(&exact.best);
}

/* Each branch-and-bound alone, with no hash to start from, proves what both together do. */
static void each_proof_alone_agrees(void **state) {
  (void)state;
  random_state = 4321;
  for (unsigned round = 0; round < 60; round++) {
    bf_machine *machine = machine_with("hopper", 1u << (2 + round % 3), 16, 8);
    bf_workload *workload = random_workload(machine, 1 + random_below(20), round % 2);
    bool row = round % 4 == 3;
    unsigned granule = round % 5 == 4 ? 8 : 0;
    bf_problem problem;
    assert_int_equal(bf_problem_build(machine, workload, granule, &problem, NULL), BF_OK);
    bf_solution solution = solve(machine, workload,
                                 (bf_solve_options){.method = BF_METHOD_EXACT,
                                                    .class_ = row ? BF_CLASS_ROW : BF_CLASS_GENERAL,
                                                    .granule_bytes = granule});
    assert_true(solution.proven);
    for (proof by = 0; by < PROOFS; by++)
      assert_int_equal(prove_alone(&problem, row, by, round % 3 == 1), solution.conflicts_after);
    bf_solution_clear(&solution);
    bf_problem_free(&problem);
    bf_workload_free(workload);
    bf_machine_free(machine);
  }
}

/* What parts of a workload cost is never more than what the whole does, and often most of it. */
static void parts_bound_the_whole(void **state) {
  (void)state;
  random_state = 77;
  uint64_t bounds = 0, costs = 0;
  for (unsigned round = 0; round < (IS_SANITIZED ? 6 : 40); round++) {
    bf_machine *machine = machine_with("hopper", 1u << (2 + round % 3), 16, 8);
    bf_workload *workload = random_workload(machine, 20 + random_below(30), round % 2);
    bool row = round % 4 == 3;
    bf_solve_options options = {.method = BF_METHOD_EXACT,
                                .class_ = row ? BF_CLASS_ROW : BF_CLASS_GENERAL,
                                .granule_bytes = round % 5 == 4 ? 8 : 0};
    bf_problem problem;
    assert_int_equal(bf_problem_build(machine, workload, options.granule_bytes, &problem, NULL),
                     BF_OK);
    bf_solution solution = solve(machine, workload, options);
    assert_true(solution.proven);
    bf_exact exact = {.problem = &problem, .options = &options};
    atomic_init(&exact.best, UINT64_MAX - 1);
    bf_parts_bound(&exact, 20);
    assert_true(atomic_load(&exact.pairs) <= solution.conflicts_after);
    bounds += atomic_load(&exact.pairs);
    costs += solution.conflicts_after;
    bf_solution_clear(&solution);
    bf_problem_free(&problem);
    bf_workload_free(workload);
    bf_machine_free(machine);
  }
  assert_true(bounds > costs / 2 && bounds <= costs);
}

/* Every proof against brute force, on thousands of small workloads. */
static void proofs_equal_brute_force(void **state) {
  (void)state;
  random_state = 555;
  for (unsigned round = 0; round < (IS_SANITIZED ? 200 : 2000); round++) {
    unsigned bank_bits = round % 16 == 15 ? 3 : 2;
    bf_machine *machine = machine_with("hopper", 1u << bank_bits, 8, 4 + round % 2);
    bf_workload *workload = random_workload(machine, 1 + random_below(6), round % 3 == 1);
    bf_problem problem;
    assert_int_equal(bf_problem_build(machine, workload, 0, &problem, NULL), BF_OK);
    brute b = {.machine = machine,
               .workload = workload,
               .geometry = bf_machine_geometry(machine),
               .row = round % 5 == 4,
               .best = UINT64_MAX};
    uint64_t rows[BF_HASH_MAX_BANK_BITS];
    try_rows(&b, rows, 0);
    for (proof by = 0; by < PROOFS; by++)
      assert_int_equal(prove_alone(&problem, b.row, by, round % 2), b.best);
    bf_problem_free(&problem);
    bf_workload_free(workload);
    bf_machine_free(machine);
  }
}

/* All hashes of one and two terms, and all swizzles, tried here one by one. */
static void small_classes_equal_brute_force(void **state) {
  (void)state;
  random_state = 1234;
  for (unsigned round = 0; round < (IS_SANITIZED ? 10 : 40); round++) {
    bf_machine *machine = machine_with("hopper", 8, 8, 7);
    bf_workload *workload = random_workload(machine, 1 + random_below(10), false);
    unsigned n = 7, m = 3;
    uint64_t one = UINT64_MAX, two = UINT64_MAX, cute = UINT64_MAX;
    for (unsigned s = 1; s < n; s++)
      for (unsigned t = 1; t < n; t++)
        for (unsigned a = 0; a < 8; a++)
          for (unsigned b = 0; b < 8; b++) {
            uint64_t row[3];
            bool valid = true;
            for (unsigned i = 0; i < m; i++) {
              row[i] = (uint64_t)1 << i;
              if (a >> i & 1)
                row[i] ^= (uint64_t)1 << (i + s);
              if (b >> i & 1)
                row[i] ^= (uint64_t)1 << (i + t);
              valid = valid && row[i] < (uint64_t)1 << n;
            }
            if (!valid)
              continue;
            uint64_t cost = true_cost(machine, workload, row);
            two = cost < two ? cost : two;
            if (b == 0)
              one = cost < one ? cost : one;
            unsigned low = a & -a;
            if (b == 0 && ((a + low) & a) == 0 && s >= (unsigned)__builtin_popcount(a))
              cute = cost < cute ? cost : cute;
          }
    const struct {
      bf_class class_;
      uint64_t best;
    } expected[] = {{BF_CLASS_ONE_TERM, one}, {BF_CLASS_TWO_TERM, two}, {BF_CLASS_CUTE, cute}};
    for (size_t i = 0; i < 3; i++) {
      bf_solution solution =
          solve(machine, workload,
                (bf_solve_options){.method = BF_METHOD_EXACT, .class_ = expected[i].class_});
      assert_int_equal(solution.conflicts_after, expected[i].best);
      assert_true(solution.proven);
      bf_solution_clear(&solution);
    }
    bf_workload_free(workload);
    bf_machine_free(machine);
  }
}

/* ---- The documents' examples ---- */

/* Sanitizers make the longest proof take a minute; other tests walk the same code. */
static void workloads_reach_their_optimum(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint64_t before, optimum;
  } expected[] = {
      {"tile32", 992, 32}, {"tile64", 3968, 128},  {"tile128", 15872, 512}, {"reduce", 310, 0},
      {"walsh", 448, 0},   {"transpose16", 56, 0}, {"dct8", 136, 0},        {"nw17", 420, 0},
      {"fft512", 1536, 0}, {"fft1024", 3136, 0},   {"strides64", 160, 71},
  };
  bf_machine *machine = machine_with("hopper", 0, 0, 0);
  for (size_t i = 0; i < sizeof expected / sizeof *expected - IS_SANITIZED; i++) {
    bf_workload *workload = read_workload(machine, expected[i].name);
    bf_solution solution = solve(machine, workload, (bf_solve_options){.method = BF_METHOD_EXACT});
    assert_int_equal(solution.conflicts_before, expected[i].before);
    assert_int_equal(solution.conflicts_after, expected[i].optimum);
    assert_true(solution.proven);
    bf_solution_clear(&solution);
    bf_workload_free(workload);
  }
  bf_machine_free(machine);
}

static void bit_vector_leaves_what_is_known(void **state) {
  (void)state;
  bf_machine *machine = machine_with("fermi", 0, 0, 0);
  const struct {
    const char *name;
    uint64_t left;
  } expected[] = {{"fft512", 128}, {"fft1024", 256}, {"strides64", 83}, {"walsh", 64}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    bf_workload *workload = read_workload(machine, expected[i].name);
    bf_solution solution =
        solve(machine, workload,
              (bf_solve_options){.method = BF_METHOD_BIT_VECTOR, .all_candidates = true});
    assert_int_equal(solution.conflicts_after, expected[i].left);
    assert_int_equal(solution.candidates_total, 4480);
    bf_solution_clear(&solution);
    bf_workload_free(workload);
  }
  bf_machine_free(machine);
}

static bool go_no_further(void *context, const char *step, double share) {
  (void)context, (void)step, (void)share;
  return false;
}

/* What was stopped knows no bound of what it did not try. */
static void bit_vector_stopped_knows_no_bound(void **state) {
  (void)state;
  bf_machine *machine;
  bf_workload *workload;
  bf_solution solution = {0};
  uint64_t random = 88172645463325252u;
  bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = 0xffffffff, .count = 1};
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  for (unsigned lane = 0; lane < 32; lane++) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    access.address[lane] = 4 * (uint32_t)(random >> 50);
  }
  assert_int_equal(bf_workload_add(workload, &access), BF_OK);
  bf_solve_options options = {.struct_bytes = sizeof options, .method = BF_METHOD_BIT_VECTOR};
  const bf_search_watch watch = {.tell = go_no_further, .step = "bit-vector"};
  assert_int_equal(bf_solve_watched(machine, workload, &options, &watch, &solution, NULL), BF_OK);
  assert_true(solution.conflicts_after > 0);
  assert_false(solution.proven);
  assert_int_equal(solution.lower_bound, 0);
  bf_solution_clear(&solution);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

/* Strides 4 and 6: 188 of 4480 candidates; equal k: the permutation alone. */
static void bit_vector_reduces_candidates(void **state) {
  (void)state;
  bf_machine *machine = machine_with("fermi", 0, 0, 0);
  bf_workload *workload = new_workload();
  add_stride(workload, 4, 32);
  add_stride(workload, 6, 32);
  bf_solution solution =
      solve(machine, workload, (bf_solve_options){.method = BF_METHOD_BIT_VECTOR});
  bf_solution all =
      solve(machine, workload,
            (bf_solve_options){.method = BF_METHOD_BIT_VECTOR, .all_candidates = true});
  assert_int_equal(solution.candidates_tested, 188);
  assert_int_equal(solution.candidates_total, 4480);
  assert_int_equal(solution.conflicts_after, all.conflicts_after);
  bf_solution_clear(&solution);
  bf_solution_clear(&all);
  bf_workload_free(workload);
  workload = new_workload();
  add_stride(workload, 8, 32);
  add_stride(workload, 24, 32);
  solution = solve(machine, workload, (bf_solve_options){.method = BF_METHOD_BIT_VECTOR});
  assert_string_equal(bf_hash_text(solution.hash), "perm:3");
  assert_int_equal(solution.candidates_tested, 1);
  assert_int_equal(solution.conflicts_after, 0);
  bf_solution_clear(&solution);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

static void check_chosen(const bf_solution *solution, const unsigned *bit, unsigned count) {
  assert_int_equal(solution->chosen_count, count);
  for (unsigned i = 0; i < count; i++)
    assert_int_equal(solution->chosen[i], (uint64_t)1 << bit[i]);
}

static void givargis_examples(void **state) {
  (void)state;
  bf_machine *machine = machine_with("fermi", 0, 0, 0);
  const struct {
    uint32_t stride[2];
    unsigned bit[5];
  } example[] = {{{8, 45}, {3, 4, 5, 6, 7}}, {{8, 13}, {3, 4, 6, 5, 7}}};
  for (size_t i = 0; i < 2; i++) {
    bf_workload *workload = new_workload();
    add_stride(workload, example[i].stride[0], 32);
    add_stride(workload, example[i].stride[1], 32);
    bf_solution solution =
        solve(machine, workload, (bf_solve_options){.method = BF_METHOD_GIVARGIS});
    check_chosen(&solution, example[i].bit, 5);
    bf_solution_clear(&solution);
    bf_workload_free(workload);
  }
  bf_machine_free(machine);
}

/* To the letter, Givargis's heuristic on pairs comes to the published hash of reduction, whose bits
 * depend on each other, and it cannot be emitted. Among single bits the two ways are one. */
static void literal_givargis(void **state) {
  (void)state;
  bf_machine *machine = machine_with("fermi", 0, 0, 0);
  bf_workload *workload;
  bf_diagnostic diagnostic;
  assert_int_equal(
      bf_workload_read("tests/golden/table5_reduction.trace", machine, &workload, &diagnostic),
      BF_OK);
  bf_solution literal = solve(
      machine, workload, (bf_solve_options){.method = BF_METHOD_GIVARGIS_LITERAL, .pairs = true});
  assert_string_equal(bf_hash_text(literal.hash), "bits:2^7,1^6,0^5,0^4,4^5");
  assert_true(bf_hash_find_sharing(literal.hash, NULL));
  char *code = NULL;
  assert_int_equal(bf_hash_emit(literal.hash, "c", NULL, &code, &diagnostic), BF_UNSUPPORTED);
  assert_non_null(strstr(diagnostic.message, "share places"));
  bf_solution_clear(&literal);
  literal = solve(machine, workload, (bf_solve_options){.method = BF_METHOD_GIVARGIS_LITERAL});
  bf_solution ours = solve(machine, workload, (bf_solve_options){.method = BF_METHOD_GIVARGIS});
  assert_string_equal(bf_hash_text(literal.hash), bf_hash_text(ours.hash));
  bf_solution_clear(&literal);
  bf_solution_clear(&ours);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

static void minimum_imbalance_example(void **state) {
  (void)state;
  bf_machine *machine = machine_with("fermi", 8, 8, 5);
  bf_workload *workload = new_workload();
  const uint32_t word[8] = {27, 12, 6, 19, 11, 4, 28, 3};
  const unsigned chosen[3] = {0, 3, 4};
  add_words(workload, BF_OP_LD, word, 8, 1);
  bf_solution solution =
      solve(machine, workload, (bf_solve_options){.method = BF_METHOD_MIN_IMBALANCE});
  check_chosen(&solution, chosen, 3);
  bf_solution_clear(&solution);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

/* Figure 6: every histogram and imbalance of the three steps. The last histogram of bit 2 is
 * printed with bins 5 and 6 exchanged; no word of the example has bits 2 and 0 set and bit 3 clear.
 */
static void figure_6_step_by_step(void **state) {
  (void)state;
  static uint32_t word[8] = {27, 12, 6, 19, 11, 4, 28, 3};
  static const struct {
    unsigned step, bit;
    double imbalance;
    unsigned histogram[8];
  } expected[] = {
      {0, 0, 0, {4, 4}},
      {0, 1, 0.25, {3, 5}},
      {0, 2, 0, {4, 4}},
      {0, 3, 0, {4, 4}},
      {0, 4, 0.25, {5, 3}},
      {1, 1, 0.75, {3, 0, 1, 4}},
      {1, 2, 1, {0, 4, 4, 0}},
      {1, 3, 0, {2, 2, 2, 2}},
      {1, 4, 0.25, {3, 2, 1, 2}},
      {2, 1, 0.75, {1, 0, 2, 0, 1, 2, 0, 2}},
      {2, 2, 1, {0, 2, 0, 2, 2, 0, 2, 0}},
      {2, 4, 0.25, {2, 1, 1, 1, 0, 1, 1, 1}},
  };
  const unsigned chosen[2] = {0, 3};
  const bf_shape shape = {.words = 8, .ideal = 1, .weight = 1, .word = word};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    uint32_t bin[8] = {0};
    unsigned histogram[8] = {0};
    for (unsigned w = 0; w < 8; w++)
      for (unsigned s = 0; s < expected[i].step; s++)
        bin[w] |= (word[w] >> chosen[s] & 1) << s;
    double imbalance = bf_search_imbalance(&shape, bin, (uint64_t)1 << expected[i].bit,
                                           expected[i].step, histogram);
    assert_true(imbalance == expected[i].imbalance);
    assert_memory_equal(histogram, expected[i].histogram, sizeof histogram);
  }
}

/* Table 1 for 14 address bits and 32 banks; its first number is cut, not rounded. */
static void class_sizes_of_table_1(void **state) {
  (void)state;
  const bf_geometry geometry = {.bank_bits = 5, .address_bits = 14, .word_bytes = 4};
  bf_class_sizes sizes = bf_search_class_sizes(&geometry);
  const struct {
    double found, mantissa, exponent;
  } expected[] = {
      {sizes.all, 2.3, 24660},     {sizes.xor_based, 1.2, 21},     {sizes.unique_xor, 1.2, 14},
      {sizes.bit_vector, 1.0, 1},  {sizes.bit_vector_xor, 4.5, 3}, {sizes.permutation, 2.0, 3},
      {sizes.bitwise_xor, 9.7, 7},
  };
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    double exponent = floor(expected[i].found + 1e-9);
    double mantissa = pow(10, expected[i].found - exponent);
    assert_int_equal(exponent, expected[i].exponent);
    assert_true(fabs(mantissa - expected[i].mantissa) <= 0.09);
  }
  assert_true(fabs(pow(10, sizes.bit_vector_xor) - 4480) < 0.01);
  assert_true(fabs(pow(10, sizes.permutation) - 2002) < 0.01);
}

/* ---- Other promises ---- */

static void padding_frees_a_column_read(void **state) {
  (void)state;
  bf_machine *machine = machine_with("hopper", 0, 0, 0);
  bf_workload *workload = new_workload();
  for (uint32_t i = 0; i < 32; i++) {
    uint32_t column[32], row[32];
    for (uint32_t lane = 0; lane < 32; lane++) {
      column[lane] = lane * 32 + i;
      row[lane] = i * 32 + lane;
    }
    add_words(workload, BF_OP_LD, column, 32, 1);
    add_words(workload, BF_OP_ST, row, 32, 1);
  }
  bf_solution solution = solve(machine, workload, (bf_solve_options){.method = BF_METHOD_PADDING});
  assert_string_equal(bf_hash_text(solution.hash), "pad:32+1");
  assert_int_equal(solution.conflicts_after, 0);
  assert_int_equal(solution.bytes_wasted, 31 * 4);
  bf_solution_clear(&solution);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

/* Conflicts in n of the banks, lane by lane. */
static uint64_t conflicts_modulo(const bf_workload *workload, uint32_t n) {
  uint64_t conflicts = 0;
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    const bf_access *access = bf_workload_get(workload, i);
    unsigned in_bank[64] = {0}, most = 0;
    for (unsigned lane = 0; lane < 32; lane++) {
      bool is_new = true;
      for (unsigned other = 0; other < lane && is_new; other++)
        is_new = access->address[other] != access->address[lane];
      unsigned own = is_new ? ++in_bank[access->address[lane] / 4 % n] : 0;
      most = own > most ? own : most;
    }
    conflicts += access->count * (most - 1);
  }
  return conflicts;
}

/* Every number of banks is tried: the fewest conflicts, then the most banks. */
static void moduli_equal_brute_force(void **state) {
  (void)state;
  random_state = 77;
  unsigned odd = 0;
  for (unsigned round = 0; round < 40; round++) {
    bf_machine *machine = machine_with("hopper", 0, 0, 0);
    bf_workload *workload = new_workload();
    for (unsigned a = 0; a < 8; a++) {
      uint32_t word[32], stride = 1 + random_below(round % 2 ? 4 : 64);
      for (uint32_t lane = 0; lane < 32; lane++)
        word[lane] = (round % 2 ? 32 : 1) * stride * lane + random_below(2);
      add_words(workload, BF_OP_LD, word, 32, 1 + random_below(3));
    }
    uint64_t least = conflicts_modulo(workload, 32);
    uint32_t best = 32;
    for (uint32_t n = 31; n > 0; n--) {
      uint64_t own = conflicts_modulo(workload, n);
      if (own < least)
        least = own, best = n;
    }
    bf_solution found = solve(machine, workload, (bf_solve_options){.method = BF_METHOD_MODULO});
    char text[16];
    snprintf(text, sizeof text, best == 32 ? "none" : "mod:%u", best);
    assert_int_equal(found.conflicts_after, least);
    assert_true(found.proven);
    assert_string_equal(bf_hash_text(found.hash), text);
    odd += best % 2;
    bf_solution_clear(&found);
    bf_workload_free(workload);
    bf_machine_free(machine);
  }
  assert_true(odd > 5);
}

static bool stop_at_once(void *context, double seconds, uint64_t lower, uint64_t upper) {
  ++*(unsigned *)context;
  assert_true(lower <= upper && seconds >= 0);
  return false;
}

/* Stopped early, the search still returns a hash and bounds that hold. */
static void stopping_gives_bounds(void **state) {
  (void)state;
  bf_machine *machine = machine_with("hopper", 0, 0, 0);
  bf_workload *workload = new_workload();
  random_state = 99;
  for (unsigned a = 0; a < 300; a++) {
    uint32_t word[32];
    for (unsigned i = 0; i < 32; i++)
      word[i] = random_below(1 << 13);
    add_words(workload, BF_OP_LD, word, 32, 1);
  }
  unsigned called = 0;
  bf_solution solution =
      solve(machine, workload,
            (bf_solve_options){
                .method = BF_METHOD_EXACT, .progress = stop_at_once, .progress_context = &called});
  assert_true(called >= 1);
  assert_false(solution.proven);
  assert_true(solution.lower_bound <= solution.conflicts_after);
  assert_true(solution.conflicts_after <= solution.conflicts_before);
  bf_solution_clear(&solution);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

/* Every method, and the ladder as a whole, ends in time with a hash and a bound that holds; the
 * slack is for machines that do something else meanwhile. Without the limit, some take ten times as
 * long. */
static void time_limit_is_kept(void **state) {
  (void)state;
  const double limit = 0.4, slack = IS_SANITIZED ? 6 : 1.5;
  bf_machine *machine = machine_with("hopper", 0, 0, 0);
  bf_workload *workload = new_workload();
  random_state = 31;
  for (unsigned a = 0; a < 20000; a++) {
    uint32_t word[32];
    for (unsigned lane = 0; lane < 32; lane++)
      word[lane] = random_below(1 << 12);
    add_words(workload, BF_OP_LD, word, 32, 1);
  }
  for (bf_method method = BF_METHOD_EXACT; method <= BF_METHOD_MODULO; method++) {
    bf_solution solution =
        solve(machine, workload,
              (bf_solve_options){.method = method, .pairs = true, .time_limit_seconds = limit});
    assert_true(solution.seconds < limit + slack);
    assert_true(solution.hash != NULL);
    bf_solution_clear(&solution);
  }
  bf_ladder ladder;
  bf_solve_options options = {.struct_bytes = sizeof options, .time_limit_seconds = limit};
  double started = bf_seconds();
  assert_int_equal(bf_solve_ladder(machine, workload, &options, &ladder, NULL), BF_OK);
  assert_true(bf_seconds() - started < limit + slack);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

/* Lock loops and machines with other rules: the bound stays below what bf_memory_count says. */
static void bounds_hold_for_locks(void **state) {
  (void)state;
  static const char *const machines[] = {"hopper", "fermi", "kepler", "tesla"};
  random_state = 31;
  for (unsigned round = 0; round < (IS_SANITIZED ? 10 : 40); round++) {
    bf_machine *machine = machine_with(machines[round % 4], 0, 0, 0);
    unsigned lanes = bf_machine_lanes(machine);
    bf_workload *workload = new_workload();
    for (unsigned a = 0; a < 6; a++) {
      uint32_t word[BF_MAX_LANES];
      uint32_t stride = 1 + random_below(40);
      for (unsigned i = 0; i < lanes; i++)
        word[i] = (i * stride + random_below(3)) % 4096;
      add_words(workload, a % 2 && round % 4 != 3 ? BF_OP_FATOM : BF_OP_LD, word, lanes, 1);
    }
    bf_solution solution =
        solve(machine, workload,
              (bf_solve_options){.method = BF_METHOD_EXACT, .time_limit_seconds = 0.2});
    for (unsigned trial = 0; trial < 30; trial++) {
      uint64_t row[BF_HASH_MAX_BANK_BITS];
      bf_geometry geometry = bf_machine_geometry(machine);
      random_rows(&geometry, 0, row);
      assert_true(true_cost(machine, workload, row) >= solution.lower_bound);
    }
    bf_solution_clear(&solution);
    bf_workload_free(workload);
    bf_machine_free(machine);
  }
}

static void published_transpose_parameters(void **state) {
  (void)state;
  bf_machine *machine = machine_with("fermi", 0, 0, 0);
  bf_workload *workload = read_workload(machine, "transpose16");
  assert_int_equal(conflicts_under(machine, workload, "none"), 56);
  assert_int_equal(conflicts_under(machine, workload, "xor:0,4,14"), 0);
  assert_int_equal(conflicts_under(machine, workload, "bits:0,4,1^5,2^6,3^7"), 0);
  assert_int_equal(conflicts_under(machine, workload, "bits:0,0^4,1^4,1^5,2^6"), 16);
  assert_int_equal(conflicts_under(machine, workload, "bits:0,4,1,2,3"), 56);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

static void ladder_recommends(void **state) {
  (void)state;
  bf_machine *machine = machine_with("hopper", 0, 0, 0);
  bf_workload *workload = read_workload(machine, "fft512");
  bf_solve_options options = {.struct_bytes = sizeof options, .time_limit_seconds = 5};
  bf_ladder ladder;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_solve_ladder(machine, workload, &options, &ladder, &diagnostic), BF_OK);
  assert_int_equal(ladder.count, 6);
  assert_string_equal(ladder.step[0].name, "nothing");
  assert_int_equal(ladder.step[5].conflicts, 0);
  assert_true(ladder.recommended > 0);
  bf_workload_free(workload);
  workload = new_workload();
  add_stride(workload, 1, 32);
  assert_int_equal(bf_solve_ladder(machine, workload, &options, &ladder, &diagnostic), BF_OK);
  assert_int_equal(ladder.recommended, 0);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bit_vector_stopped_knows_no_bound),
      cmocka_unit_test(moved_words_are_one_shape),
      cmocka_unit_test(all_costs_agree),
      cmocka_unit_test(bounds_hold),
      cmocka_unit_test(exact_equals_brute_force),
      cmocka_unit_test(folds_agree),
      cmocka_unit_test(each_proof_alone_agrees),
      cmocka_unit_test(parts_bound_the_whole),
      cmocka_unit_test(proofs_equal_brute_force),
      cmocka_unit_test(small_classes_equal_brute_force),
      cmocka_unit_test(workloads_reach_their_optimum),
      cmocka_unit_test(bit_vector_leaves_what_is_known),
      cmocka_unit_test(bit_vector_reduces_candidates),
      cmocka_unit_test(givargis_examples),
      cmocka_unit_test(literal_givargis),
      cmocka_unit_test(minimum_imbalance_example),
      cmocka_unit_test(figure_6_step_by_step),
      cmocka_unit_test(class_sizes_of_table_1),
      cmocka_unit_test(padding_frees_a_column_read),
      cmocka_unit_test(moduli_equal_brute_force),
      cmocka_unit_test(stopping_gives_bounds),
      cmocka_unit_test(time_limit_is_kept),
      cmocka_unit_test(bounds_hold_for_locks),
      cmocka_unit_test(published_transpose_parameters),
      cmocka_unit_test(ladder_recommends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
