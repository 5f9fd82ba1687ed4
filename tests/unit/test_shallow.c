/* Shallow folds beside a count of words, bank by bank, and a proof by them beside one without. */
#include "sanitized.h"
#include "search/exact.h"
#include "search/rounds.h"
#include "search/shallow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_SHAPES = 200, HALVES = 2 };

static uint64_t random_state = 2026;

static unsigned random_below(unsigned below) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (unsigned)((random_state >> 16) % below);
}

/* Accesses of words at random, made up to so many times each. */
static bf_workload *draw_workload(unsigned accesses, unsigned bits, unsigned most_times) {
  bf_workload *workload;
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  for (unsigned a = 0; a < accesses; a++) {
    bf_access access = {.op = BF_OP_LD,
                        .width_bytes = 4,
                        .mask = 0xffffffff,
                        .count = 1 + random_below(most_times)};
    for (unsigned lane = 0; lane < 32; lane++)
      access.address[lane] = 4 * random_below(1u << bits);
    assert_int_equal(bf_workload_add(workload, &access), BF_OK);
  }
  return workload;
}

static void build_problem(const bf_workload *workload, bf_problem *problem) {
  bf_machine *machine;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  assert_int_equal(bf_problem_build(machine, workload, 0, problem, NULL), BF_OK);
  bf_machine_free(machine);
}

/* Words of every shape at every point of the two halves. */
typedef struct drawing {
  unsigned shapes;
  uint64_t weight[MOST_SHAPES];
  uint8_t words[MOST_SHAPES][HALVES][BF_FOLD_POINTS];
} drawing;

/* Draws the words of all shapes; some have few, some many at a point. */
static void draw_words(drawing *drawn, bf_shallow *shallow) {
  unsigned q = random_below(8);
  memset(drawn, 0, sizeof *drawn);
  for (unsigned c = 0; c < shallow->chunks; c++) {
    bf_shallow_chunk *chunk = &shallow->chunk[c];
    bf_shallow_clear(chunk);
    for (unsigned s = 0; s < chunk->count; s++) {
      unsigned number = drawn->shapes++, points = random_below(32), most = 1 + random_below(5);
      uint16_t code[BF_PLANE_WORDS];
      uint8_t words[BF_PLANE_WORDS];
      unsigned listed = 0;
      drawn->weight[number] = chunk->weight;
      for (unsigned i = 0; i < points; i++) {
        unsigned half = random_below(HALVES), point = random_below(BF_FOLD_POINTS);
        uint8_t *here = &drawn->words[number][half][point];
        if (*here)
          continue;
        *here = words[listed] = (uint8_t)(random_below(4) ? 1 : 1 + random_below(most));
        code[listed++] = (uint16_t)((point & ((1u << q) - 1)) | half << q | point >> q << (q + 1));
      }
      bf_shallow_put(chunk, s, code, words, listed, q);
    }
  }
}

/* What a hash costs that sends to one bank what is any vector of the span of t and two more away
 * (0: none), with at most four words in a bank counted. */
static uint64_t cost_of(const drawing *drawn, unsigned t, unsigned u, unsigned v) {
  uint64_t cost = 0;
  for (unsigned s = 0; s < drawn->shapes; s++) {
    unsigned fullest = 1;
    for (unsigned x = 0; x < BF_FOLD_POINTS; x++) {
      unsigned away[] = {0, u, v, u ^ v}, words = 0;
      for (unsigned i = 0; i < 4; i++)
        if ((i & 1 ? u != 0 : 1) && (i & 2 ? v != 0 : 1))
          words += drawn->words[s][0][x ^ away[i]] + drawn->words[s][1][x ^ away[i] ^ t];
      fullest = words > fullest ? words : fullest;
    }
    cost += drawn->weight[s] * ((fullest < 4 ? fullest : 4) - 1);
  }
  return cost;
}

/* The highest bit of a number that is not 0. */
static unsigned lead_of(unsigned x) { return 31 - (unsigned)__builtin_clz(x); }

static void check_planes(const bf_shallow_kernel *kernel, bf_shallow *shallow, const drawing *drawn,
                         unsigned t, uint64_t below) {
  unsigned u = 1 + random_below(63);
  uint8_t found[BF_FOLD_POINTS];
  bf_points others = {0};
  if (!bf_points_has(&shallow->alive, u))
    return;
  for (unsigned v = 2u << lead_of(u); v < BF_FOLD_POINTS; v++)
    if (!(v >> lead_of(u) & 1))
      others[v / 64] |= (uint64_t)1 << v % 64;
  unsigned count = kernel->planes(shallow, u, &others, below, found), next = 0;
  for (unsigned v = 1; v < BF_FOLD_POINTS; v++) {
    bool is_found = next < count && found[next] == v;
    next += is_found;
    bool is_asked = bf_points_has(&others, v) && bf_points_has(&shallow->allowed, v) &&
                    bf_points_has(&shallow->allowed, u ^ v);
    bool is_cheap = is_asked && cost_of(drawn, t, u, v) < below;
    if (lead_of(u) >= 3)
      assert_int_equal(is_found, is_cheap);
    else if (is_cheap)
      assert_true(is_found);
  }
  assert_int_equal(next, count);
}

static void check_fold(const bf_shallow_kernel *kernel, bf_shallow *shallow, const drawing *drawn) {
  unsigned t = random_below(BF_FOLD_POINTS);
  uint64_t some = cost_of(drawn, t, 1 + random_below(127), 0);
  uint64_t below = some ? some - some / 4 + random_below((unsigned)(some / 2 + 2)) : 1;
  bf_points expected = {0};
  for (unsigned v = 1; v < BF_FOLD_POINTS; v++)
    if (bf_points_has(&shallow->allowed, v) && cost_of(drawn, t, v, 0) < below)
      expected[v / 64] |= (uint64_t)1 << v % 64;
  assert_int_equal(kernel->fold(shallow, t, below), (expected[0] | expected[1]) != 0);
  if (!(expected[0] | expected[1]))
    return;
  assert_memory_equal(&shallow->alive, &expected, sizeof expected);
  for (unsigned i = 0; i < 4; i++)
    check_planes(kernel, shallow, drawn, t, below);
}

static void folds_equal_a_count_of_words(void **state) {
  (void)state;
  static drawing drawn;
  const bf_shallow_kernel *kernel = bf_shallow_kernel_best();
  if (!kernel)
    skip();
  for (unsigned round = 0; round < (IS_SANITIZED ? 20 : 150); round++) {
    bf_workload *workload = draw_workload(1 + random_below(150), 12, 1 + round % 3);
    bf_problem problem;
    build_problem(workload, &problem);
    assert_true(bf_shallow_fits(&problem));
    bf_shallow *shallow = bf_shallow_new(&problem, 1);
    assert_non_null(shallow);
    shallow->allowed = ~(bf_points){0};
    shallow->allowed[0] &= ~(uint64_t)1;
    if (round % 4 == 0)
      shallow->allowed[round / 4 % 2] &= ~((uint64_t)0xffff << random_below(48));
    draw_words(&drawn, shallow);
    kernel->open(shallow);
    assert_int_equal(drawn.shapes, problem.count);
    for (unsigned i = 0; i < 3; i++)
      check_fold(kernel, shallow, &drawn);
    bf_shallow_free(shallow);
    bf_problem_free(&problem);
    bf_workload_free(workload);
  }
}

/* What a search through folds proves, from no hash at all. */
static uint64_t prove(const bf_problem *problem, const bf_kernel *kernel) {
  bf_solve_options options = {.method = BF_METHOD_EXACT};
  bf_exact exact = {.problem = problem,
                    .kernel = kernel,
                    .m = problem->geometry.bank_bits,
                    .fixed = problem->granule_bits,
                    .options = &options};
  bf_folds *folds = NULL;
  exact.coordinates = bf_problem_coordinates(problem, exact.fixed);
  atomic_init(&exact.best, UINT64_MAX - 1);
  pthread_mutex_init(&exact.lock, NULL);
  assert_int_equal(bf_planes_build(problem, &exact.coordinates, &exact.planes, NULL), BF_OK);
  assert_int_equal(bf_folds_prepare(&exact, &folds, NULL), BF_OK);
  assert_non_null(folds);
  assert_true(bf_folds_is_even(folds));
  bf_folds_work(folds);
  assert_true(atomic_load(&exact.proven));
  bf_folds_free(folds);
  bf_planes_free(&exact.planes);
  pthread_mutex_destroy(&exact.lock);
  return atomic_load(&exact.best);
}

/* The fastest kernel has shallow folds, the others have not: both prove the same. */
static void proofs_agree(void **state) {
  (void)state;
  unsigned kernels = 0;
  while (bf_kernel_available(kernels))
    kernels++;
  for (unsigned round = 0; round < (IS_SANITIZED ? 2 : 12) && kernels > 1; round++) {
    bf_workload *workload = draw_workload(8 + random_below(80), 8, 1 + round % 3);
    bf_problem problem;
    build_problem(workload, &problem);
    assert_int_equal(prove(&problem, bf_kernel_best()),
                     prove(&problem, bf_kernel_available(kernels - 2)));
    bf_problem_free(&problem);
    bf_workload_free(workload);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(folds_equal_a_count_of_words),
      cmocka_unit_test(proofs_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
