/* What bounds the exact search before it branches - the lightest space of functionals, blocks that
 * a best hash keeps - against brute force. */
#include "random.h"
#include "sanitized.h"
#include "search/arrays.h"
#include "search/cases.h"
#include "search/joint.h"
#include "search/lightest.h"
#include "search/search.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- The lightest space ---- */

/* The least weight of a space that has the span of `space` (of that many functionals) in it. */
static double lightest(const double *weight, unsigned bits, unsigned k, uint32_t *space,
                       uint32_t count) {
  double least = INFINITY, sum = 0;
  if (count == 1u << k) {
    for (uint32_t i = 1; i < count; i++)
      sum += weight[space[i]];
    return sum;
  }
  for (uint32_t f = 1; f < 1u << bits; f++) {
    bool is_in = false;
    for (uint32_t i = 0; i < count; i++) {
      is_in = is_in || space[i] == f;
      space[count + i] = space[i] ^ f;
    }
    double own = is_in ? INFINITY : lightest(weight, bits, k, space, 2 * count);
    least = own < least ? own : least;
  }
  return least;
}

static void lightest_space_equals_brute_force(void **state) {
  (void)state;
  test_random random = {7};
  for (unsigned round = 0; round < (IS_SANITIZED ? 200 : 2000); round++) {
    unsigned bits = 1 + (unsigned)random_below(&random, 5), k = 1 + round % (bits < 3 ? bits : 3);
    double weight[32], found, few;
    uint32_t space[16] = {0};
    for (uint32_t f = 0; f < 1u << bits; f++)
      weight[f] = (double)random_below(&random, 40) - (round % 2 ? 20 : 0);
    double least = lightest(weight, bits, k, space, 1);
    assert_true(bf_lightest_space(weight, bits, k, 1e9, &found));
    assert_true(fabs(found - least) < 1e-9);
    assert_true(bf_lightest_space(weight, bits, k, (double)random_below(&random, 100), &few));
    assert_true(few <= least + 1e-9);
  }
}

/* ---- Blocks ---- */

static bf_machine *machine_with(unsigned banks, unsigned address_bits) {
  bf_overrides overrides = {
      .struct_bytes = sizeof overrides, .banks = banks, .address_bits = address_bits};
  bf_machine *machine;
  bf_diagnostic diagnostic;
  if (bf_machine_load("hopper", &overrides, &machine, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  return machine;
}

/* Accesses of 8 and 16 bytes at random, some with strides. */
static bf_workload *wide_workload(test_random *random, unsigned address_bits) {
  bf_workload *workload;
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  uint8_t bytes = random_below(random, 2) ? 8 : 16;
  for (unsigned a = 0, all = 1 + (unsigned)random_below(random, 6); a < all; a++) {
    bf_access access = {.op = BF_OP_LD, .width_bytes = bytes, .mask = 0xff, .count = 1 + a % 3};
    uint32_t stride = (uint32_t)random_below(random, 9);
    for (unsigned lane = 0; lane < 8; lane++)
      access.address[lane] = (uint32_t)((lane * stride + random_below(random, 8)) * bytes) &
                             ((4u << address_bits) - 1);
    assert_int_equal(bf_workload_add(workload, &access), BF_OK);
  }
  return workload;
}

/* The least cost of all hashes, spaces of functionals in echelon order. */
static uint64_t least_cost(const bf_problem *problem, uint64_t *row, unsigned chosen, unsigned from,
                           uint64_t leads) {
  const bf_geometry *g = &problem->geometry;
  uint64_t least = UINT64_MAX;
  if (chosen == g->bank_bits)
    return bf_problem_cost(problem, row);
  for (unsigned lead = from; lead < g->address_bits; lead++)
    for (uint64_t low = 0; low < (uint64_t)1 << lead; low++) {
      row[chosen] = (uint64_t)1 << lead | low;
      uint64_t own =
          low & leads ? UINT64_MAX
                      : least_cost(problem, row, chosen + 1, lead + 1, leads | (uint64_t)1 << lead);
      least = own < least ? own : least;
    }
  return least;
}

/* Searches keep blocks; brute force does not. The bound of pairs holds too. */
static void some_best_hash_keeps_blocks(void **state) {
  (void)state;
  test_random random = {11};
  unsigned with_blocks = 0;
  for (unsigned round = 0; round < (IS_SANITIZED ? 40 : 400); round++) {
    unsigned address_bits = 4 + round % 3;
    bf_machine *machine = machine_with(round % 2 ? 8 : 4, address_bits);
    bf_workload *workload = wide_workload(&random, address_bits);
    bf_solve_options options = {.struct_bytes = sizeof options, .method = BF_METHOD_EXACT};
    bf_problem problem;
    bf_solution solution;
    uint64_t row[BF_HASH_MAX_BANK_BITS];
    assert_int_equal(bf_problem_build(machine, workload, 0, &problem, NULL), BF_OK);
    with_blocks += problem.block_bits > 0;
    uint64_t least = least_cost(&problem, row, 0, 0, 0);
    assert_true(problem.least <= least);
    assert_int_equal(bf_solve(machine, workload, &options, &solution, NULL), BF_OK);
    assert_true(solution.proven);
    assert_int_equal(solution.conflicts_after, least);
    bf_solution_clear(&solution);
    bf_problem_free(&problem);
    bf_workload_free(workload);
    bf_machine_free(machine);
  }
  assert_true(with_blocks > (IS_SANITIZED ? 10 : 100));
}

/* ---- Hash, padding and base together ---- */

/* What is left of accesses that are moved by hand: the least of all hashes. */
static uint64_t least_moved(const bf_machine *machine, const bf_workload *workload, uint32_t row,
                            uint32_t pad, uint32_t base_bytes) {
  bf_workload *moved;
  bf_problem problem;
  uint64_t rows[BF_HASH_MAX_BANK_BITS];
  assert_int_equal(bf_workload_create(&moved), BF_OK);
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    bf_access access = *bf_workload_get(workload, i);
    for (unsigned lane = 0; lane < 8; lane++)
      access.address[lane] += base_bytes + (pad ? access.address[lane] / (4 * row) * 4 * pad : 0);
    assert_int_equal(bf_workload_add(moved, &access), BF_OK);
  }
  assert_int_equal(bf_problem_build(machine, moved, 4, &problem, NULL), BF_OK);
  uint64_t least = least_cost(&problem, rows, 0, 0, 0);
  bf_problem_free(&problem);
  bf_workload_free(moved);
  return least;
}

/* No base without padding does better, and the way that was chosen leaves what it says. */
static void joint_answers_are_the_best_of_those_tried(void **state) {
  (void)state;
  test_random random = {3};
  unsigned moved = 0;
  for (unsigned round = 0; round < (IS_SANITIZED ? 10 : 60); round++) {
    bf_machine *machine = machine_with(4, 6);
    bf_workload *workload;
    bf_joint joint;
    bf_solve_options options = {
        .struct_bytes = sizeof options, .method = BF_METHOD_EXACT, .granule_bytes = 4};
    assert_int_equal(bf_workload_create(&workload), BF_OK);
    for (unsigned a = 0, all = 2 + (unsigned)random_below(&random, 5); a < all; a++) {
      bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = 0xff, .count = 1};
      for (unsigned lane = 0; lane < 8; lane++)
        access.address[lane] = 4 * (uint32_t)random_below(&random, 24);
      assert_int_equal(bf_workload_add(workload, &access), BF_OK);
    }
    assert_int_equal(bf_solve_joint_watched(machine, workload, &options, NULL, &joint, NULL),
                     BF_OK);
    assert_true(joint.tried == joint.all || joint.solution.conflicts_after == 0);
    assert_true(joint.solution.proven);
    assert_int_equal(joint.solution.conflicts_after,
                     least_moved(machine, workload, (uint32_t)joint.row_words,
                                 (uint32_t)joint.pad_words, (uint32_t)joint.base_bytes));
    for (uint32_t base = 0; base < 16; base = base ? 2 * base : 4)
      assert_true(joint.solution.conflicts_after <= least_moved(machine, workload, 0, 0, base));
    moved += joint.pad_words || joint.base_bytes;
    uint64_t least = joint.solution.conflicts_after;
    bf_joint_clear(&joint);
    const bf_solve_case twice = {machine, workload};
    options.also = &twice;
    options.also_count = 1;
    assert_int_equal(bf_solve_joint_watched(machine, workload, &options, NULL, &joint, NULL),
                     BF_OK);
    assert_int_equal(joint.solution.conflicts_after, 2 * least);
    bf_joint_clear(&joint);
    options.also_count = 0;
    options.time_limit_seconds = 0.02;
    assert_int_equal(bf_solve_joint_watched(machine, workload, &options, NULL, &joint, NULL),
                     BF_OK);
    assert_true(joint.solution.lower_bound <= least && joint.solution.conflicts_after >= least);
    assert_int_equal(joint.solution.proven,
                     joint.solution.lower_bound == joint.solution.conflicts_after);
    bf_joint_clear(&joint);
    bf_workload_free(workload);
    bf_machine_free(machine);
  }
  assert_true(moved > 0);
}

/* ---- Estimates ---- */

static bool is_near(uint64_t part, uint64_t all) {
  return fabs((double)part - (double)all) < 0.1 * (double)all;
}

/* The same for data that are moved, and for each of several cases. */
static void judge_in_no_time(bf_machine *machine, bf_workload *workload) {
  const bf_joint how = {.row_words = 32, .pad_words = 1};
  const bf_solve_case own = {machine, workload};
  const bf_cases cases = {&own, 1};
  bf_estimate all, part;
  assert_int_equal(bf_cases_estimate(&cases, NULL, &how, 0, &all, NULL), BF_OK);
  assert_int_equal(bf_cases_estimate(&cases, NULL, &how, 1e-9, &part, NULL), BF_OK);
  assert_true(all.share == 1 && part.share < 0.5 && is_near(part.conflicts, all.conflicts));
  for (unsigned way = 0; way < 4; way++) {
    bf_solve_case item[2] = {{machine, workload}, {machine, workload}};
    bf_case_result result[2];
    bf_loaded_cases loaded = {
        .machine = &machine, .machines = 1, .item = item, .result = result, .count = 2};
    loaded.counted = 1;
    assert_int_equal(
        bf_cases_judge(&loaded, "none", way & 1 ? &how : NULL, way & 2 ? 1e-9 : 0, NULL), BF_OK);
    assert_int_equal(loaded.counted < 1, (way & 2) != 0);
    assert_true(is_near(result[1].after, way & 1 ? all.conflicts : result[1].before));
  }
}

/* Of an array of which there is no time for all accesses a part is searched: its bound holds for
 * all, and what it costs is near. */
static void search_arrays_in_no_time(const bf_machine *machine, const bf_workload *workload,
                                     uint64_t conflicts) {
  const uint64_t begin = 0;
  const bf_solve_case twice = {machine, workload};
  bf_solve_options options = {
      .struct_bytes = sizeof options, .time_limit_seconds = 1e-4, .also = &twice, .also_count = 1};
  bf_arrays arrays;
  assert_int_equal(
      bf_solve_arrays_watched(machine, workload, &begin, 1, &options, NULL, &arrays, NULL), BF_OK);
  assert_true(arrays.count == 1 && arrays.counted > 0 && arrays.counted < 0.2 && !arrays.proven);
  assert_true(is_near(arrays.conflicts_before, 2 * conflicts));
  assert_true(arrays.lower_bound <= arrays.conflicts_after && arrays.lower_bound < 2 * conflicts);
  bf_arrays_clear(&arrays);
}

/* A long workload whose frequent accesses stand at its beginning: with no time at all, conflicts
 * are near what all accesses have; bounds hold for all. */
static void conflicts_are_estimated_where_time_is_short(void **state) {
  (void)state;
  test_random random = {5};
  bf_machine *machine = machine_with(32, 12);
  bf_workload *workload;
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  for (unsigned a = 0; a < 40000; a++) {
    bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = 0xffffffff};
    access.count = a < 1000 ? 50 : 1;
    for (unsigned lane = 0; lane < 32; lane++)
      access.address[lane] = 4 * (uint32_t)random_below(&random, 2048);
    assert_int_equal(bf_workload_add(workload, &access), BF_OK);
  }
  const bf_solve_case own = {machine, workload};
  const bf_cases cases = {&own, 1};
  bf_estimate all, part;
  assert_int_equal(bf_cases_estimate(&cases, NULL, NULL, 0, &all, NULL), BF_OK);
  assert_int_equal(bf_cases_estimate(&cases, NULL, NULL, 1e-9, &part, NULL), BF_OK);
  assert_true(all.share == 1 && part.share < 0.5);
  assert_true(is_near(part.conflicts, all.conflicts));
  judge_in_no_time(machine, workload);
  search_arrays_in_no_time(machine, workload, all.conflicts);
  double share = 0;
  bf_search_watch watch = {.step = "exact", .share = &share};
  bf_solve_options options = {.struct_bytes = sizeof options, .time_limit_seconds = 1e-6};
  bf_solution solution;
  assert_int_equal(bf_solve_watched(machine, workload, &options, &watch, &solution, NULL), BF_OK);
  assert_true(share > 0 && share < 1 && !solution.proven);
  assert_true(solution.lower_bound <= solution.conflicts_after);
  bf_solution_clear(&solution);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lightest_space_equals_brute_force),
      cmocka_unit_test(some_best_hash_keeps_blocks),
      cmocka_unit_test(joint_answers_are_the_best_of_those_tried),
      cmocka_unit_test(conflicts_are_estimated_where_time_is_short),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
