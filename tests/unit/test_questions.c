/* Further questions of solve - several cases, few gates, tensor copies, the front - against brute
 * force. */
#include "sanitized.h"
#include "search/arrays.h"
#include "search/ladder.h"
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

static bf_machine *machine_with(const char *name, unsigned banks, unsigned address_bits) {
  bf_overrides overrides = {
      .struct_bytes = sizeof overrides, .banks = banks, .address_bits = address_bits};
  bf_machine *machine;
  bf_diagnostic diagnostic;
  if (bf_machine_load(name, &overrides, &machine, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  return machine;
}

/* Strides with noise, of words below 2^address_bits. */
static bf_workload *random_workload(unsigned accesses, unsigned lanes, unsigned address_bits) {
  bf_workload *workload;
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  for (unsigned a = 0; a < accesses; a++) {
    bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .count = 1 + random_below(4)};
    uint32_t stride = random_below(17), noise = 1 + random_below(6);
    access.mask = bf_gf2_low_bits(1 + random_below(lanes));
    for (unsigned i = 0; i < lanes; i++)
      access.address[i] = 4 * ((i * stride + random_below(noise)) & ((1u << address_bits) - 1));
    assert_int_equal(bf_workload_add(workload, &access), BF_OK);
  }
  return workload;
}

static bf_solution solve(const bf_machine *machine, const bf_workload *workload,
                         bf_solve_options options) {
  bf_solution solution;
  bf_diagnostic diagnostic;
  options.struct_bytes = sizeof options;
  if (bf_solve(machine, workload, &options, &solution, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  return solution;
}

/* ---- Brute force ---- */

typedef struct brute {
  const bf_solve_case *item;
  size_t count;
  unsigned granule_bits;
  unsigned most_gates;
  uint64_t best;
} brute;

static uint64_t count_all(const brute *b, const uint64_t *row) {
  bf_geometry geometry = bf_machine_geometry(b->item[0].machine);
  bf_hash *hash;
  uint64_t conflicts = 0;
  assert_int_equal(bf_hash_from_rows(row, &geometry, &hash, NULL), BF_OK);
  for (size_t i = 0; i < b->count; i++)
    for (size_t a = 0; a < bf_workload_size(b->item[i].workload); a++) {
      const bf_access *access = bf_workload_get(b->item[i].workload, a);
      bf_count count;
      assert_int_equal(bf_memory_count(b->item[i].machine, hash, access, &count, NULL), BF_OK);
      conflicts += access->count * count.conflicts;
    }
  bf_hash_free(hash);
  return conflicts;
}

/* All choices of rows from number i on, with so many gates left. */
static void try_rows(brute *b, uint64_t *row, unsigned i, unsigned gates) {
  bf_geometry geometry = bf_machine_geometry(b->item[0].machine);
  if (i == geometry.bank_bits) {
    uint64_t cost = bf_gf2_rank(row, i) == i ? count_all(b, row) : UINT64_MAX;
    b->best = cost < b->best ? cost : b->best;
    return;
  }
  for (uint64_t mask = 1; mask < (uint64_t)1 << geometry.address_bits; mask++) {
    unsigned own = (unsigned)__builtin_popcountll(mask) - 1;
    bool fits = i < b->granule_bits ? mask == (uint64_t)1 << i
                                    : (mask & bf_gf2_low_bits(b->granule_bits)) == 0;
    if (!fits || own > gates || (i > b->granule_bits && mask <= row[i - 1]))
      continue;
    row[i] = mask;
    try_rows(b, row, i + 1, gates - own);
  }
}

static uint64_t brute_force(brute b) {
  uint64_t row[BF_HASH_MAX_BANK_BITS];
  b.best = UINT64_MAX;
  try_rows(&b, row, 0, b.most_gates);
  return b.best;
}

/* ---- Tests ---- */

static void few_gates_equal_brute_force(void **state) {
  (void)state;
  random_state = 31337;
  for (unsigned round = 0; round < (IS_SANITIZED ? 100 : 1000); round++) {
    unsigned bits = 4 + round % 2, gates = round % 6, granule = round % 7 == 6 ? 8 : 0;
    bf_machine *machine = machine_with("hopper", 4, bits);
    bf_workload *workload = random_workload(1 + random_below(6), 12, bits - round % 3 / 2);
    const bf_solve_case own = {machine, workload};
    uint64_t best = brute_force((brute){&own, 1, granule == 8, gates, 0});
    bf_solution solution = solve(machine, workload,
                                 (bf_solve_options){.has_most_gates = true,
                                                    .most_gates = gates,
                                                    .granule_bytes = granule,
                                                    .threads = 1 + round % 2});
    assert_int_equal(solution.conflicts_after, best);
    assert_true(solution.proven);
    assert_true(solution.cost.gates <= gates);
    bf_solution_clear(&solution);
    bf_workload_free(workload);
    bf_machine_free(machine);
  }
}

/* One hash for two machines: the sum is the least that can be. */
static void several_cases_equal_brute_force(void **state) {
  (void)state;
  random_state = 4711;
  for (unsigned round = 0; round < (IS_SANITIZED ? 50 : 300); round++) {
    bf_machine *hopper = machine_with("hopper", 4, 5), *fermi = machine_with("fermi", 4, 5);
    bf_workload *one = random_workload(1 + random_below(5), 16, 5);
    bf_workload *other = random_workload(1 + random_below(5), 16, 5);
    const bf_solve_case all[] = {{hopper, one}, {fermi, other}, {fermi, one}};
    uint64_t best = brute_force((brute){all, 3, 0, 1000, 0});
    bf_solution solution = solve(hopper, one, (bf_solve_options){.also = all + 1, .also_count = 2});
    assert_int_equal(solution.conflicts_after, best);
    assert_true(solution.proven);
    bf_solution_clear(&solution);
    bf_workload_free(one);
    bf_workload_free(other);
    bf_machine_free(hopper);
    bf_machine_free(fermi);
  }
}

/* The bound of pairs is one, also where words stay together and where accesses were left out of the
 * sample; and it reaches the optimum now and then. */
static void pairs_bound_all_hashes(void **state) {
  (void)state;
  random_state = 2024;
  unsigned met = 0;
  for (unsigned round = 0; round < (IS_SANITIZED ? 300 : 600); round++) {
    unsigned granule = round % 3 == 2 ? 8 : 0, most = round % 2 ? 2 : 100;
    bf_machine *machine = machine_with("hopper", 4, 5);
    bf_workload *workload = random_workload(1 + random_below(8), 20, 5);
    const bf_solve_case own = {machine, workload};
    const bf_cases cases = {&own, 1};
    bf_problem problem;
    assert_int_equal(bf_problem_sample(&cases, granule, most, NULL, &problem, NULL), BF_OK);
    uint64_t best = brute_force((brute){&own, 1, granule == 8, 1000, 0});
    assert_true(problem.least <= best);
    met += best > 0 && problem.least == best;
    bf_problem_free(&problem);
    bf_workload_free(workload);
    bf_machine_free(machine);
  }
  assert_true(met > 0);
}

static void other_geometry_is_refused(void **state) {
  (void)state;
  random_state = 5;
  bf_machine *hopper = machine_with("hopper", 0, 0), *few = machine_with("hopper", 16, 0);
  bf_workload *workload = random_workload(3, 32, 10);
  const bf_solve_case also = {few, workload};
  bf_solve_options options = {.struct_bytes = sizeof options, .also = &also, .also_count = 1};
  bf_solution solution;
  bf_ladder ladder;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_solve(hopper, workload, &options, &solution, &diagnostic), BF_BAD_INPUT);
  assert_non_null(strstr(diagnostic.message, "no hash is for both"));
  assert_int_equal(bf_solve_ladder(hopper, workload, &options, &ladder, &diagnostic), BF_BAD_INPUT);
  bf_workload_free(workload);
  bf_machine_free(few);
  bf_machine_free(hopper);
}

/* Of the modes of tensor copies, none leaves fewer than the one that was found. */
static void tensor_copies_are_tried(void **state) {
  (void)state;
  static const char *const modes[] = {"none", "tma:32", "tma:64", "tma:128"};
  random_state = 99;
  bf_machine *machine = machine_with("hopper", 0, 0);
  bf_geometry geometry = bf_machine_geometry(machine);
  for (unsigned round = 0; round < 40; round++) {
    bf_workload *workload = random_workload(1 + random_below(4), 32, 12);
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < 4; i++) {
      bf_hash *hash;
      uint64_t conflicts;
      assert_int_equal(bf_hash_parse(modes[i], &geometry, &hash, NULL), BF_OK);
      assert_int_equal(bf_problem_conflicts(machine, workload, hash, &conflicts, NULL), BF_OK);
      least = conflicts < least ? conflicts : least;
      bf_hash_free(hash);
    }
    bf_solution solution = solve(machine, workload, (bf_solve_options){.class_ = BF_CLASS_TMA});
    assert_int_equal(solution.conflicts_after, least);
    assert_true(solution.proven);
    bf_solution_clear(&solution);
    bf_workload_free(workload);
  }
  bf_machine_free(machine);
}

/* No step of a front is beaten by another, and for each number of gates there is the best hash. */
static void front_is_a_front(void **state) {
  (void)state;
  random_state = 8;
  bf_machine *machine = machine_with("hopper", 8, 8);
  bf_workload *workload = random_workload(12, 32, 8);
  bf_solve_options options = {.struct_bytes = sizeof options, .front = true};
  bf_ladder front;
  assert_int_equal(bf_solve_ladder(machine, workload, &options, &front, NULL), BF_OK);
  assert_string_equal(front.step[0].name, "nothing");
  for (unsigned i = 1; i < front.count; i++)
    for (unsigned j = 0; j < front.count; j++) {
      const bf_ladder_step *a = &front.step[i], *b = &front.step[j];
      assert_true(i == j || b->conflicts > a->conflicts || b->bytes_wasted > a->bytes_wasted ||
                  b->instructions > a->instructions || b->gates > a->gates);
      assert_true(j < 1 || i < j || a->conflicts <= b->conflicts);
    }
  for (unsigned gates = 0; gates < 9; gates++) {
    uint64_t least = UINT64_MAX;
    bf_solution solution =
        solve(machine, workload, (bf_solve_options){.has_most_gates = true, .most_gates = gates});
    for (unsigned i = 0; i < front.count; i++)
      if (front.step[i].gates <= gates && front.step[i].bytes_wasted == 0 &&
          front.step[i].conflicts < least)
        least = front.step[i].conflicts;
    assert_int_equal(least, solution.conflicts_after);
    bf_solution_clear(&solution);
  }
  bf_workload_free(workload);
  bf_machine_free(machine);
}

/* What an instruction costs decides what is recommended. */
static void instructions_have_a_price(void **state) {
  (void)state;
  bf_machine *machine = machine_with("hopper", 0, 0);
  bf_workload *workload;
  bf_ladder ladder;
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  for (uint32_t stride = 1; stride <= 32; stride += 31) {
    bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = 0xffffffff, .count = 1};
    for (uint32_t i = 0; i < 32; i++)
      access.address[i] = 4 * stride * i;
    assert_int_equal(bf_workload_add(workload, &access), BF_OK);
  }
  bf_solve_options options = {.struct_bytes = sizeof options, .granule_bytes = 4};
  const struct {
    double price;
    const char *name;
  } expected[] = {{-1, "cute"}, {0, "padding"}, {100, "padding"}};
  for (size_t i = 0; i < 3; i++) {
    options.instruction_wavefronts = expected[i].price;
    assert_int_equal(bf_solve_ladder(machine, workload, &options, &ladder, NULL), BF_OK);
    assert_string_equal(ladder.step[ladder.recommended].name, expected[i].name);
  }
  bf_workload_free(workload);
  bf_machine_free(machine);
}

/* Where there is no time to count every step, the exact one is there still, and what it leaves is
 * estimated. */
static void exact_step_is_never_left_out(void **state) {
  (void)state;
  random_state = 12;
  bf_machine *machine = machine_with("hopper", 0, 0);
  bf_workload *workload = random_workload(IS_SANITIZED ? 5000 : 50000, 32, 12);
  bf_solve_options options = {.struct_bytes = sizeof options, .time_limit_seconds = 1e-6};
  bf_ladder ladder;
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_hash *hash;
  uint64_t conflicts;
  assert_int_equal(bf_solve_ladder(machine, workload, &options, &ladder, NULL), BF_OK);
  assert_int_equal(ladder.count, 2);
  assert_string_equal(ladder.step[1].name, "exact");
  assert_int_equal(bf_hash_parse(ladder.step[1].hash, &geometry, &hash, NULL), BF_OK);
  assert_int_equal(bf_problem_conflicts(machine, workload, hash, &conflicts, NULL), BF_OK);
  assert_true(fabs((double)ladder.step[1].conflicts - (double)conflicts) < 0.1 * (double)conflicts);
  bf_hash_free(hash);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

static bool stop_soon(void *context, double seconds, uint64_t lower, uint64_t upper) {
  unsigned *calls = context;
  (void)seconds;
  assert_true(lower <= upper && upper < UINT64_MAX);
  return ++*calls < 2;
}

/* A search for few gates that would take for ever ends when progress says so, with bounds. */
static void few_gates_can_be_stopped(void **state) {
  (void)state;
  random_state = 6;
  unsigned calls = 0;
  bf_machine *machine = machine_with("hopper", 0, 0);
  bf_workload *workload;
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  for (unsigned a = 0; a < 60; a++) {
    bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = 0xffffffff, .count = 1};
    for (unsigned i = 0; i < 32; i++)
      access.address[i] = 4 * random_below(1u << 14);
    assert_int_equal(bf_workload_add(workload, &access), BF_OK);
  }
  bf_solution solution = solve(machine, workload,
                               (bf_solve_options){.has_most_gates = true,
                                                  .most_gates = 20,
                                                  .progress = stop_soon,
                                                  .progress_context = &calls});
  assert_false(solution.proven);
  assert_true(solution.lower_bound <= solution.conflicts_after);
  assert_true(solution.cost.gates <= 20);
  bf_solution_clear(&solution);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

/* A hash for each array is the best of each by itself; what moved to the second array costs there
 * what it did, whatever the hash of the first. */
static void arrays_have_hashes_of_their_own(void **state) {
  (void)state;
  bf_machine *machine;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, &diagnostic), BF_OK);
  const uint64_t begin[] = {0, 4096, 8200};
  bf_workload *all, *own[3];
  bf_solution alone[3];
  assert_int_equal(bf_workload_create(&all), BF_OK);
  uint64_t seed = 3;
  for (unsigned a = 0; a < 3; a++) {
    assert_int_equal(bf_workload_create(&own[a]), BF_OK);
    for (unsigned i = 0; i < 6; i++) {
      bf_access access = {.width_bytes = 4, .mask = UINT32_MAX, .count = 1 + i};
      for (unsigned lane = 0; lane < 32; lane++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        access.address[lane] = a == 0 ? 4 * (lane * 8 * (i + 1) % 1024) : 4 * (seed >> 40) % 1024;
      }
      assert_int_equal(bf_workload_add(own[a], &access), BF_OK);
      for (unsigned lane = 0; lane < 32; lane++)
        access.address[lane] += (uint32_t)begin[a];
      assert_int_equal(bf_workload_add(all, &access), BF_OK);
    }
    alone[a] = solve(machine, own[a], (bf_solve_options){.granule_bytes = 4});
  }
  bf_solve_options options = {.struct_bytes = sizeof options, .method = BF_METHOD_EXACT};
  bf_arrays arrays;
  assert_int_equal(
      bf_solve_arrays_watched(machine, all, begin + 1, 2, &options, NULL, &arrays, &diagnostic),
      BF_OK);
  assert_int_equal(arrays.count, 3);
  uint64_t after = 0;
  for (unsigned a = 0; a < 3; a++) {
    assert_int_equal(arrays.item[a].begin_bytes, begin[a]);
    assert_int_equal(arrays.item[a].accesses, 21);
    assert_int_equal(arrays.item[a].solution.conflicts_before, alone[a].conflicts_before);
    assert_int_equal(arrays.item[a].solution.conflicts_after, alone[a].conflicts_after);
    after += alone[a].conflicts_after;
    bf_solution_clear(&alone[a]);
    bf_workload_free(own[a]);
  }
  assert_true(arrays.proven && arrays.conflicts_after == after && arrays.lower_bound == after);
  bf_arrays_clear(&arrays);
  const uint64_t apart[] = {0, 2048}, wrong[] = {0, 4097}, back[] = {4096, 4096};
  const uint64_t *const refused[] = {apart, wrong, back};
  for (unsigned i = 0; i < 3; i++)
    assert_int_equal(
        bf_solve_arrays_watched(machine, all, refused[i], 2, &options, NULL, &arrays, &diagnostic),
        BF_BAD_INPUT);
  bf_workload_free(all);
  bf_machine_free(machine);
}

/* Conflicts of words in n of 8 banks, with pad words behind every row of them. */
static uint64_t conflicts_moved(const bf_workload *workload, uint64_t row, uint64_t pad,
                                uint64_t n) {
  uint64_t conflicts = 0;
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    const bf_access *access = bf_workload_get(workload, i);
    bool met[64] = {false};
    unsigned in_bank[8] = {0}, most = 0, words = 0;
    for (uint64_t left = access->mask; left; left &= left - 1) {
      uint32_t word = access->address[__builtin_ctzll(left)] / 4;
      uint64_t moved = word + (row ? word / row * pad : 0);
      unsigned own = met[word] ? 0 : ++in_bank[moved % n];
      words += !met[word];
      met[word] = true;
      most = own > most ? own : most;
    }
    conflicts += access->count * (most - (words + 7) / 8);
  }
  return conflicts;
}

/* Numbers of banks together with padding: what is said is what words so moved cost, it is never
 * more than a number of banks alone leaves, never less than the best of all paddings does, and
 * mostly that. */
static void moduli_are_padded(void **state) {
  (void)state;
  unsigned best_of_all = 0, padded = 0;
  for (unsigned round = 0; round < 60; round++) {
    bf_machine *machine = machine_with("hopper", 8, 8);
    bf_workload *workload = random_workload(2 + round % 6, 8, 6);
    bf_solve_options options = {.struct_bytes = sizeof options, .method = BF_METHOD_MODULO};
    uint64_t alone = UINT64_MAX, least = UINT64_MAX;
    for (uint64_t n = 1; n <= 8; n++)
      for (uint64_t row = 1; row < 64; row *= 2)
        for (uint64_t pad = 0; pad < 8; pad++) {
          uint64_t own = conflicts_moved(workload, row, pad, n);
          least = own < least ? own : least;
          alone = pad == 0 && own < alone ? own : alone;
        }
    bf_joint joint;
    assert_int_equal(bf_solve_joint(machine, workload, &options, &joint, NULL), BF_OK);
    const char *hash = bf_hash_text(joint.solution.hash);
    uint64_t n = strcmp(hash, "none") == 0 ? 8 : strtoul(hash + strlen("mod:"), NULL, 10);
    assert_int_equal(joint.solution.conflicts_after,
                     conflicts_moved(workload, joint.row_words, joint.pad_words, n));
    assert_true(joint.base_bytes == 0 && joint.solution.conflicts_after <= alone);
    assert_true(joint.solution.conflicts_after >= least);
    best_of_all += joint.solution.conflicts_after == least;
    padded += joint.solution.conflicts_after < alone;
    bf_joint_clear(&joint);
    bf_workload_free(workload);
    bf_machine_free(machine);
  }
  assert_true(best_of_all > 45 && padded > 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arrays_have_hashes_of_their_own),
      cmocka_unit_test(few_gates_equal_brute_force),
      cmocka_unit_test(few_gates_can_be_stopped),
      cmocka_unit_test(several_cases_equal_brute_force),
      cmocka_unit_test(pairs_bound_all_hashes),
      cmocka_unit_test(other_geometry_is_refused),
      cmocka_unit_test(tensor_copies_are_tried),
      cmocka_unit_test(front_is_a_front),
      cmocka_unit_test(instructions_have_a_price),
      cmocka_unit_test(exact_step_is_never_left_out),
      cmocka_unit_test(moduli_are_padded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
