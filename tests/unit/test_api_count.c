/* Counting many accesses, the ladder of fixes and code for hashes through the public header. */
#include "api.h"

static bf_workload *read_trace(const char *name, const bf_machine *machine) {
  char path[128];
  bf_workload *workload;
  bf_diagnostic diagnostic;
  snprintf(path, sizeof path, "tests/data/workloads/%s.trace", name);
  if (bf_workload_read(path, machine, &workload, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  return workload;
}

static void expect_same(const bf_count *a, const bf_count *b) {
  assert_int_equal(a->wavefronts_load, b->wavefronts_load);
  assert_int_equal(a->wavefronts_store, b->wavefronts_store);
  assert_int_equal(a->wavefronts_atomic, b->wavefronts_atomic);
  assert_int_equal(a->lock_iterations, b->lock_iterations);
  assert_int_equal(a->ideal, b->ideal);
  assert_int_equal(a->conflicts, b->conflicts);
  assert_int_equal(a->latency_cycles, b->latency_cycles);
  assert_int_equal(a->estimated, b->estimated);
}

/* Counter and totals against bf_memory_count, access by access. */
static void check_totals(const bf_machine *machine, const char *hash_text, const char *trace) {
  bf_workload *workload = read_trace(trace, machine);
  bf_hash *hash = hash_text ? parse_hash(hash_text, machine) : NULL;
  bf_workload_totals expected = {0}, totals;
  bf_counter *counter;
  assert_int_equal(bf_counter_create(machine, hash, &counter, NULL), BF_OK);
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    const bf_access *access = bf_workload_get(workload, i);
    bf_count count, fast;
    assert_int_equal(bf_memory_count(machine, hash, access, &count, NULL), BF_OK);
    assert_int_equal(bf_counter_count(counter, access, &fast, NULL), BF_OK);
    expect_same(&count, &fast);
    expected.accesses += access->count;
    expected.wavefronts_load += access->count * count.wavefronts_load;
    expected.wavefronts_store += access->count * count.wavefronts_store;
    expected.wavefronts_atomic += access->count * count.wavefronts_atomic;
    expected.wavefronts += access->count * bf_count_wavefronts(&count);
    expected.ideal += access->count * count.ideal;
    expected.conflicts += access->count * count.conflicts;
    expected.estimated |= count.estimated;
  }
  assert_int_equal(bf_memory_count_workload(machine, hash, workload, &totals, NULL), BF_OK);
  assert_true(totals.accesses > 0);
  assert_int_equal(totals.accesses, expected.accesses);
  assert_int_equal(totals.wavefronts_load, expected.wavefronts_load);
  assert_int_equal(totals.wavefronts_store, expected.wavefronts_store);
  assert_int_equal(totals.wavefronts_atomic, expected.wavefronts_atomic);
  assert_int_equal(totals.wavefronts, expected.wavefronts);
  assert_int_equal(totals.ideal, expected.ideal);
  assert_int_equal(totals.conflicts, expected.conflicts);
  assert_int_equal(totals.estimated, expected.estimated);
  bf_counter_free(counter);
  bf_hash_free(hash);
  bf_workload_free(workload);
}

static void workloads_are_counted(void **state) {
  (void)state;
  static const char *const machines[] = {"hopper", "fermi", "kepler"};
  static const char *const hashes[] = {NULL, "none", "fixed", "pad:32+1"};
  for (size_t m = 0; m < 3; m++) {
    bf_machine *machine = load_machine(machines[m]);
    for (size_t h = 0; h < 4; h++) {
      check_totals(machine, hashes[h], "walsh");
      check_totals(machine, hashes[h], "nw17");
    }
    bf_machine_free(machine);
  }
}

/* An access that the machine cannot make is named by its line, and nothing is counted. */
static void misfits_have_lines(void **state) {
  (void)state;
  bf_machine *hopper = load_machine("hopper"), *fermi = load_machine("fermi");
  const char trace[] = "ld 4 ffffffff stride:1\nld 4 1 65536\n";
  bf_workload *workload;
  bf_workload_totals totals;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_workload_parse(trace, sizeof trace - 1, hopper, NULL, &workload, &diagnostic),
                   BF_OK);
  assert_int_equal(bf_memory_count_workload(fermi, NULL, workload, &totals, &diagnostic),
                   BF_BAD_INPUT);
  assert_int_equal(diagnostic.line, 2);
  assert_int_equal(totals.accesses, 0);
  assert_int_equal(bf_memory_count_workload(fermi, NULL, workload, &totals, NULL), BF_BAD_INPUT);
  bf_workload_free(workload);
  bf_machine_free(hopper);
  bf_machine_free(fermi);
}

/* A hash of another machine would send words to banks that are not there. */
static void foreign_hashes_are_refused(void **state) {
  (void)state;
  bf_machine *machine = load_machine("hopper");
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_hash *hash;
  bf_counter *counter;
  bf_count count;
  bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = 1, .count = 1};
  bf_diagnostic diagnostic;
  geometry.bank_bits = 8;
  assert_int_equal(bf_hash_parse("fixed", &geometry, &hash, NULL), BF_OK);
  assert_int_equal(bf_counter_create(machine, hash, &counter, &diagnostic), BF_BAD_INPUT);
  assert_null(counter);
  assert_string_equal(diagnostic.message, "a hash for 256 banks, but machine 'hopper' has 32");
  assert_int_equal(bf_memory_count(machine, hash, &access, &count, NULL), BF_BAD_INPUT);
  bf_hash_free(hash);
  bf_machine_free(machine);
}

static void ladders_are_kept(void **state) {
  (void)state;
  bf_machine *machine = load_machine("hopper");
  bf_workload *workload = read_trace("transpose16", machine);
  bf_workload_totals before, after;
  bf_solve_options options;
  bf_ladder *ladder;
  bf_solve_default_options(&options);
  options.time_limit_seconds = 5;
  assert_int_equal(bf_ladder_create(machine, workload, &options, &ladder, NULL), BF_OK);
  assert_int_equal(bf_memory_count_workload(machine, NULL, workload, &before, NULL), BF_OK);
  assert_string_equal(bf_ladder_get(ladder, 0)->name, "nothing");
  size_t steps = 0;
  for (const bf_ladder_step *step; (step = bf_ladder_get(ladder, steps)); steps++) {
    bf_hash *hash = parse_hash(step->hash, machine);
    assert_int_equal(bf_memory_count_workload(machine, hash, workload, &after, NULL), BF_OK);
    assert_int_equal(step->conflicts, after.conflicts);
    bf_hash_free(hash);
  }
  assert_int_equal(steps, 6);
  size_t best = bf_ladder_recommended(ladder);
  assert_true(best > 0 && best < steps);
  assert_true(bf_ladder_get(ladder, best)->conflicts < before.conflicts);
  assert_non_null(strstr(bf_ladder_reason(ladder), "the best trade of the ladder"));
  bf_ladder_free(ladder);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

/* One array of columns and one of rows behind it. */
static bf_workload *two_arrays(void) {
  bf_workload *workload;
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  for (unsigned a = 0; a < 2; a++) {
    bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = UINT32_MAX, .count = 5};
    for (unsigned lane = 0; lane < 32; lane++)
      access.address[lane] = a ? 4096 + 4 * lane : 128 * lane;
    assert_int_equal(bf_workload_add(workload, &access), BF_OK);
  }
  return workload;
}

static void arrays_have_their_hashes(void **state) {
  (void)state;
  static const uint64_t begin[] = {0, 4096}, between[] = {0, 64};
  bf_machine *machine = load_machine("hopper");
  bf_workload *workload = two_arrays();
  bf_solve_options options;
  bf_arrays *arrays;
  bf_solve_default_options(&options);
  options.time_limit_seconds = 5;
  assert_int_equal(bf_solve_arrays(machine, workload, begin, 2, &options, &arrays, NULL), BF_OK);
  for (size_t a = 0; a < 2; a++) {
    const bf_array_solution *own = bf_arrays_get(arrays, a);
    assert_true(own->begin_bytes == begin[a] && own->accesses == 5 && own->solution.proven);
    assert_int_equal(own->solution.conflicts_before, a ? 0 : 5 * 31);
    assert_int_equal(own->solution.conflicts_after, 0);
  }
  assert_null(bf_arrays_get(arrays, 2));
  bf_arrays_free(arrays);
  assert_int_equal(bf_solve_arrays(machine, workload, between, 2, NULL, &arrays, NULL),
                   BF_BAD_INPUT);
  assert_null(arrays);
  options.method = BF_METHOD_PADDING;
  assert_int_equal(bf_solve_arrays(machine, workload, begin, 2, &options, &arrays, NULL),
                   BF_BAD_INPUT);
  assert_null(arrays);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

/* Moving the data is no worse than leaving them where they are. */
static void joint_answers_own_their_hash(void **state) {
  (void)state;
  bf_machine *machine = load_machine("hopper");
  bf_workload *workload = two_arrays();
  bf_solve_options options;
  bf_solution alone;
  bf_joint joint;
  bf_solve_default_options(&options);
  options.time_limit_seconds = 5;
  assert_int_equal(bf_solve(machine, workload, &options, &alone, NULL), BF_OK);
  assert_int_equal(bf_solve_joint(machine, workload, &options, &joint, NULL), BF_OK);
  assert_true(joint.solution.conflicts_after <= alone.conflicts_after);
  assert_int_equal(joint.solution.conflicts_before, alone.conflicts_before);
  assert_non_null(bf_hash_text(joint.solution.hash));
  bf_joint_clear(&joint);
  bf_solution_clear(&alone);
  options.method = BF_METHOD_GIVARGIS;
  assert_int_equal(bf_solve_joint(machine, workload, &options, &joint, NULL), BF_BAD_INPUT);
  assert_null(joint.solution.hash);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

/* Steps that have no answer are left out, and that is told. */
static void missing_steps_are_told(void **state) {
  (void)state;
  bf_overrides overrides;
  bf_machine *machine;
  bf_machine_default_overrides(&overrides);
  overrides.banks = 2048;
  overrides.address_bits = 16;
  assert_int_equal(bf_machine_load("hopper", &overrides, &machine, NULL), BF_OK);
  bf_workload *workload = read_trace("tile32", machine);
  heard said = {0};
  bf_solve_options options;
  bf_ladder *ladder;
  bf_solve_default_options(&options);
  options.logger = (bf_logger){listen, &said};
  assert_int_equal(bf_ladder_create(machine, workload, &options, &ladder, NULL), BF_OK);
  assert_string_equal(bf_ladder_get(ladder, 1)->name, "padding");
  size_t steps = 0;
  while (bf_ladder_get(ladder, steps))
    steps++;
  assert_int_equal(said.remarks, 6 - steps);
  assert_non_null(strstr(said.last, "step exact is left out: the exact search handles up to"));
  bf_ladder_free(ladder);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

static void code_is_written(void **state) {
  (void)state;
  static const char *const marks[][2] = {{"cuda", "__host__ __device__"},
                                         {"c", "mine_word"},
                                         {"cute", "Swizzle<"},
                                         {"triton", "mine"},
                                         {"verilog", "module mine"}};
  bf_machine *machine = load_machine("hopper");
  bf_hash *hash = parse_hash("xor:0,5,31", machine);
  bf_emit_options options;
  bf_emit_default_options(&options);
  options.name = "mine";
  unsigned forms = 0;
  for (; bf_emit_form(forms); forms++) {
    char *text;
    bf_diagnostic diagnostic;
    int error = bf_hash_emit(hash, bf_emit_form(forms), &options, &text, &diagnostic);
    if (error)
      fail_msg("%s: %s", bf_emit_form(forms), diagnostic.message);
    for (size_t i = 0; i < 5; i++)
      if (!strcmp(marks[i][0], bf_emit_form(forms)) && !strstr(text, marks[i][1]))
        fail_msg("%s: no %s in\n%s", marks[i][0], marks[i][1], text);
    bf_free(text);
  }
  assert_int_equal(forms, 5);
  assert_null(bf_emit_form(6));
  char *text;
  assert_int_equal(bf_hash_emit(hash, "c", NULL, &text, NULL), BF_OK);
  assert_non_null(strstr(text, "bankfold_word"));
  bf_free(text);
  bf_hash_free(hash);
  bf_machine_free(machine);
}

static void wrong_code_is_refused(void **state) {
  (void)state;
  bf_machine *machine = load_machine("hopper");
  bf_hash *hash = parse_hash("mod:31", machine);
  bf_emit_options options;
  bf_diagnostic diagnostic;
  char *text;
  assert_int_equal(bf_hash_emit(hash, "cute", NULL, &text, &diagnostic), BF_UNSUPPORTED);
  assert_null(text);
  assert_int_equal(bf_hash_emit(hash, "ada", NULL, &text, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message,
                      "unknown form 'ada'; known: cuda, c, cute, triton, verilog");
  bf_emit_default_options(&options);
  options.name = "1x";
  assert_int_equal(bf_hash_emit(hash, "c", &options, &text, NULL), BF_BAD_INPUT);
  assert_null(text);
  options.struct_bytes = 0;
  assert_int_equal(bf_hash_emit(hash, "c", &options, &text, NULL), BF_BAD_INPUT);
  bf_hash_free(hash);
  bf_machine_free(machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(workloads_are_counted),      cmocka_unit_test(misfits_have_lines),
      cmocka_unit_test(foreign_hashes_are_refused), cmocka_unit_test(ladders_are_kept),
      cmocka_unit_test(arrays_have_their_hashes),   cmocka_unit_test(joint_answers_own_their_hash),
      cmocka_unit_test(missing_steps_are_told),     cmocka_unit_test(code_is_written),
      cmocka_unit_test(wrong_code_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
