/* The rules of the public header: versions, error names, what may be NULL, structs that grow, and
 * remarks. Everything here goes through bankfold.h alone. */
#include "api.h"

/* A load of 32 words, each stride words behind the last. */
static bf_access strided(uint32_t stride) {
  bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = 0xffffffff, .count = 1};
  for (uint32_t lane = 0; lane < 32; lane++)
    access.address[lane] = 4 * stride * lane;
  return access;
}

static bf_workload *workload_of(const bf_access *accesses, size_t count) {
  bf_workload *workload;
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(bf_workload_add(workload, &accesses[i]), BF_OK);
  return workload;
}

static void versions_agree(void **state) {
  (void)state;
  int major, minor, patch;
  assert_int_equal(sscanf(BF_VERSION, "%d.%d.%d", &major, &minor, &patch), 3);
  assert_int_equal(major, BF_VERSION_MAJOR);
  assert_int_equal(minor, BF_VERSION_MINOR);
  assert_int_equal(patch, BF_VERSION_PATCH);
  assert_int_equal(BF_VERSION_NUMBER, major * 10000 + minor * 100 + patch);
  assert_string_equal(bf_version(), BF_VERSION);
  assert_int_equal(bf_version_number(), BF_VERSION_NUMBER);
}

static void errors_have_names(void **state) {
  (void)state;
  assert_string_equal(bf_error_name(BF_OK), "no error");
  assert_string_equal(bf_error_name(BF_BAD_INPUT), "bad input");
  assert_string_equal(bf_error_name(BF_NO_MEMORY), "out of memory");
  assert_string_equal(bf_error_name(BF_IO), "input or output failed");
  assert_string_equal(bf_error_name(BF_UNSUPPORTED), "unsupported");
  assert_string_equal(bf_error_name(BF_FAULT), "fault of a kernel");
  assert_string_equal(bf_error_name(BF_STOPPED), "stopped");
  for (int error = -1000; error < 1000; error++)
    assert_non_null(bf_error_name(error));
  assert_string_equal(bf_error_name(1), "unknown error");
  assert_string_equal(bf_error_name(-1000), "unknown error");
}

static void nothing_can_be_freed(void **state) {
  (void)state;
  bf_free(NULL);
  bf_machine_free(NULL);
  bf_hash_free(NULL);
  bf_workload_free(NULL);
  bf_solution_clear(NULL);
  bf_alignment_clear(NULL);
  bf_hough_space_clear(NULL);
  bf_peaks_clear(NULL);
  bf_hough_result_clear(NULL);
  bf_counter_free(NULL);
  bf_ladder_free(NULL);
  bf_joint_clear(NULL);
  bf_arrays_free(NULL);
  bf_binary_free(NULL);
  bf_module_free(NULL);
  bf_kernel_analysis_free(NULL);
  bf_launch_profile_free(NULL);
}

/* On every machine, a NULL hash counts what the hash `none` counts. */
static void no_hash_is_none(void **state) {
  (void)state;
  for (unsigned m = 0; bf_machine_builtin(m); m++) {
    bf_machine *machine = load_machine(bf_machine_builtin(m));
    bf_geometry geometry = bf_machine_geometry(machine);
    bf_hash *none;
    assert_int_equal(bf_hash_parse("none", &geometry, &none, NULL), BF_OK);
    for (uint32_t stride = 0; stride < 40; stride++) {
      bf_access access = strided(stride);
      bf_count with, without;
      access.mask &= bf_machine_lanes(machine) < 32 ? 0xffff : 0xffffffff;
      assert_int_equal(bf_memory_count(machine, none, &access, &with, NULL), BF_OK);
      assert_int_equal(bf_memory_count(machine, NULL, &access, &without, NULL), BF_OK);
      assert_memory_equal(&with, &without, sizeof with);
    }
    bf_hash_free(none);
    bf_machine_free(machine);
  }
}

/* The same where banks were overridden: what NULL stands for follows. */
static void no_hash_follows_overrides(void **state) {
  (void)state;
  bf_overrides overrides;
  bf_machine_default_overrides(&overrides);
  overrides.banks = 16;
  bf_machine *machine;
  assert_int_equal(bf_machine_load("hopper", &overrides, &machine, NULL), BF_OK);
  bf_access access = strided(1);
  bf_count count;
  assert_int_equal(bf_memory_count(machine, NULL, &access, &count, NULL), BF_OK);
  assert_int_equal(count.wavefronts_load, 2);
  bf_machine_free(machine);
}

static void alignment_needs_a_hash(void **state) {
  (void)state;
  bf_align_pattern pattern = {.stride = 1, .count = 4, .patterns = 1};
  bf_alignment alignment;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_align(NULL, &pattern, 0, 3, &alignment, &diagnostic), BF_BAD_INPUT);
  assert_null(alignment.optimal);
  assert_non_null(strstr(diagnostic.message, "needs a hash"));
}

/* Without options, the exact search runs over all XOR hashes. */
static void no_options_are_defaults(void **state) {
  (void)state;
  bf_machine *machine = load_machine("hopper");
  bf_access accesses[] = {strided(1), strided(32)};
  bf_workload *workload = workload_of(accesses, 2);
  bf_solution solution;
  assert_int_equal(bf_solve(machine, workload, NULL, &solution, NULL), BF_OK);
  assert_int_equal(solution.conflicts_before, 31);
  assert_int_equal(solution.conflicts_after, 0);
  assert_true(solution.proven);
  bf_solution_clear(&solution);
  bf_workload_free(workload);
  bf_machine_free(machine);

  const uint8_t pixels[16] = {0, 9, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0};
  bf_pixels image = {.data = pixels, .width = 4, .height = 4};
  bf_hough_space space;
  bf_peaks peaks;
  bf_hough_result result;
  uint32_t counts[1];
  bf_diagnostic diagnostic;
  assert_int_equal(bf_hough_vote(&image, NULL, &space, NULL), BF_OK);
  assert_int_equal(space.angles, 180);
  assert_int_equal(bf_hough_peaks(&space, NULL, &peaks, NULL), BF_OK);
  assert_true(peaks.count > 0 && peaks.peak[0].votes == 4);
  assert_int_equal(bf_hough_lines(&image, 0, NULL, NULL, &result, NULL), BF_OK);
  bf_hough_result_clear(&result);
  bf_peaks_clear(&peaks);
  bf_hough_space_clear(&space);
  assert_int_equal(bf_histogram_u32(&image, NULL, counts, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "0 bins: 1 to 65536 are possible");
}

/* Options of a later header: what is known, and one field more. */
typedef struct longer_options {
  bf_peak_options known;
  uint64_t later;
} longer_options;

/* Peaks of a space with two lines, with options of any size. */
static int peaks_with(const bf_peak_options *options, size_t *count, bf_diagnostic *diagnostic) {
  uint32_t votes[15] = {5, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0};
  bf_hough_space space = {
      .angles = 3, .rhos = 5, .rho_zero = 2, .theta_step = 0.1, .rho_step = 1, .votes = votes};
  bf_peaks peaks;
  int error = bf_hough_peaks(&space, options, &peaks, diagnostic);
  *count = peaks.count;
  bf_peaks_clear(&peaks);
  return error;
}

static void structs_may_be_shorter(void **state) {
  (void)state;
  size_t count;
  bf_peak_options options;
  bf_peak_default_options(&options);
  assert_int_equal(options.struct_bytes, sizeof options);
  assert_int_equal(peaks_with(&options, &count, NULL), BF_OK);
  assert_int_equal(count, 2);
  options.max_lines = 1;
  assert_int_equal(peaks_with(&options, &count, NULL), BF_OK);
  assert_int_equal(count, 1);
  options.struct_bytes = offsetof(bf_peak_options, max_lines); /* not known to that program */
  assert_int_equal(peaks_with(&options, &count, NULL), BF_OK);
  assert_int_equal(count, 2);
}

static void structs_may_be_longer(void **state) {
  (void)state;
  size_t count;
  bf_diagnostic diagnostic;
  longer_options options = {{.struct_bytes = sizeof options, .max_lines = 1}, 0};
  assert_int_equal(peaks_with(&options.known, &count, NULL), BF_OK);
  assert_int_equal(count, 1);
  options.later = 1;
  assert_int_equal(peaks_with(&options.known, &count, &diagnostic), BF_UNSUPPORTED);
  assert_string_equal(diagnostic.message,
                      "bf_peak_options: an option is set that version " BF_VERSION
                      " does not know");
}

/* A field that is added must not lie where an older struct has a gap, whose bytes may be anything.
 */
static void options_end_without_a_gap(void **state) {
  (void)state;
#define ENDS_WITH(type, last) (sizeof(type) == offsetof(type, last) + sizeof((type *)0)->last)
  assert_true(ENDS_WITH(bf_overrides, address_bits));
  assert_true(ENDS_WITH(bf_trace_options, logger));
  assert_true(ENDS_WITH(bf_solve_options, shared_file));
  assert_true(ENDS_WITH(bf_emit_options, columns));
  assert_true(ENDS_WITH(bf_analyze_kernel_options, block_index));
  assert_true(ENDS_WITH(bf_launch, logger));
  assert_true(ENDS_WITH(bf_histogram_options, weights_stride_bytes));
  assert_true(ENDS_WITH(bf_hough_options, threads));
  assert_true(ENDS_WITH(bf_peak_options, max_lines));
#undef ENDS_WITH
}

/* Numbers that no enum has. */
static void unknown_numbers_are_refused(void **state) {
  (void)state;
  bf_machine *machine = load_machine("hopper");
  bf_access access = strided(1);
  bf_workload *workload = workload_of(&access, 1), *other;
  bf_solve_options options;
  bf_trace_options trace;
  bf_solution solution;
  bf_count count;
  bf_diagnostic diagnostic;
  access.op = (bf_op)99;
  assert_string_equal(bf_op_name(access.op), "unknown");
  assert_int_equal(bf_memory_count(machine, NULL, &access, &count, NULL), BF_BAD_INPUT);
  assert_int_equal(bf_workload_add(workload, &access), BF_BAD_INPUT);
  bf_solve_default_options(&options);
  options.class_ = (bf_class)9;
  assert_int_equal(bf_solve(machine, workload, &options, &solution, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "unknown class 9");
  bf_solve_default_options(&options);
  options.method = (bf_method)9;
  assert_int_equal(bf_solve(machine, workload, &options, &solution, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "unknown method 9");
  bf_trace_default_options(&trace);
  trace.form = (bf_trace_form)9;
  assert_int_equal(bf_workload_parse("", 0, machine, &trace, &other, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "unknown form 9 of traces");
  bf_workload_free(workload);
  bf_machine_free(machine);
}

/* What was never filled is refused, by every function that takes options. */
static void unfilled_structs_are_refused(void **state) {
  (void)state;
  bf_machine *machine = load_machine("hopper"), *other;
  bf_access access = strided(1);
  bf_workload *workload = workload_of(&access, 1);
  const uint8_t pixel = 1;
  bf_pixels image = {.data = &pixel, .width = 1, .height = 1};
  bf_hough_options hough = {.threads = 1};
  bf_histogram_options bins = {.bins = 2};
  bf_solve_options solve = {.struct_bytes = SIZE_MAX};
  bf_overrides overrides = {.struct_bytes = 4};
  bf_peak_options peak = {.max_lines = 1};
  bf_hough_space space;
  bf_solution solution;
  bf_diagnostic diagnostic;
  uint32_t counts[2];
  size_t count;
  assert_int_equal(bf_hough_vote(&image, &hough, &space, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message,
                      "bf_hough_options: struct_bytes is 0; its default function sets it");
  assert_int_equal(bf_histogram_u32(&image, &bins, counts, NULL), BF_BAD_INPUT);
  assert_int_equal(bf_solve(machine, workload, &solve, &solution, NULL), BF_BAD_INPUT);
  assert_null(solution.hash);
  assert_int_equal(bf_machine_load("hopper", &overrides, &other, NULL), BF_BAD_INPUT);
  assert_null(other);
  assert_int_equal(peaks_with(&peak, &count, NULL), BF_BAD_INPUT);
  bf_ladder *ladder;
  assert_int_equal(bf_ladder_create(machine, workload, &solve, &ladder, NULL), BF_BAD_INPUT);
  assert_null(ladder);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

static bool stop(void *context, double seconds, uint64_t lower, uint64_t upper) {
  (void)context, (void)seconds, (void)lower, (void)upper;
  return false;
}

/* A search that is stopped says that it has no proof; one that ends by itself says nothing. */
static void unproven_answers_are_told(void **state) {
  (void)state;
  bf_machine *machine = load_machine("hopper");
  bf_workload *workload;
  const char *path = "tests/data/workloads/fft512.trace";
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  uint32_t random = 1;
  for (unsigned i = 0; i < 60; i++) {
    bf_access access = strided(1);
    for (unsigned lane = 0; lane < 32; lane++) {
      random = random * 1664525 + 1013904223;
      access.address[lane] = (random >> 14) % 16384 * 4;
    }
    assert_int_equal(bf_workload_add(workload, &access), BF_OK);
  }
  heard said = {0};
  bf_solve_options options;
  bf_solution solution;
  bf_solve_default_options(&options);
  options.logger = (bf_logger){listen, &said};
  options.progress = stop;
  options.time_limit_seconds = 0.2;
  assert_int_equal(bf_solve(machine, workload, &options, &solution, NULL), BF_OK);
  assert_false(solution.proven);
  assert_int_equal(said.warnings, 1);
  assert_non_null(strstr(said.last, "the exact search ended without proof after "));
  bf_solution_clear(&solution);
  bf_workload_free(workload);

  said = (heard){0};
  bf_solve_default_options(&options);
  options.logger = (bf_logger){listen, &said};
  assert_int_equal(bf_workload_read(path, machine, &workload, NULL), BF_OK);
  assert_int_equal(bf_solve(machine, workload, &options, &solution, NULL), BF_OK);
  assert_true(solution.proven);
  assert_int_equal(said.warnings + said.remarks, 0);
  bf_solution_clear(&solution);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(versions_agree),
      cmocka_unit_test(errors_have_names),
      cmocka_unit_test(nothing_can_be_freed),
      cmocka_unit_test(no_hash_is_none),
      cmocka_unit_test(no_hash_follows_overrides),
      cmocka_unit_test(alignment_needs_a_hash),
      cmocka_unit_test(no_options_are_defaults),
      cmocka_unit_test(structs_may_be_shorter),
      cmocka_unit_test(structs_may_be_longer),
      cmocka_unit_test(options_end_without_a_gap),
      cmocka_unit_test(unknown_numbers_are_refused),
      cmocka_unit_test(unfilled_structs_are_refused),
      cmocka_unit_test(unproven_answers_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
