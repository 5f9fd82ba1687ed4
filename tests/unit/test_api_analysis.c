/* Analysis of kernels through the public header. The numbers of tests/data/analyze/patterns.ptx are
 * those of test_analyze.c and of `bankfold analyze`. */
#include "api.h"

static bf_module *patterns;

static int set_up(void **state) {
  (void)state;
  patterns = parse_file("tests/data/analyze/patterns.ptx");
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bf_module_free(patterns);
  return 0;
}

static bf_analyze_kernel_options block_of(uint32_t x, uint32_t y) {
  bf_analyze_kernel_options options;
  bf_analyze_kernel_default_options(&options);
  options.block[0] = x;
  options.block[1] = y;
  return options;
}

static bf_kernel_analysis *analyze(const bf_module *module, const char *kernel,
                                   const bf_analyze_kernel_options *options) {
  bf_kernel_analysis *analysis;
  bf_diagnostic diagnostic;
  if (bf_analyze_kernel(module, kernel, NULL, options, &analysis, &diagnostic) != BF_OK)
    fail_msg("%s: %s", kernel, diagnostic.message);
  return analysis;
}

/* The result lives on without its module. */
static void sites_are_found(void **state) {
  (void)state;
  bf_module *module = parse_file("tests/data/analyze/patterns.ptx");
  bf_analyze_kernel_options options = block_of(32, 8);
  bf_kernel_analysis *analysis = analyze(module, "reduce", &options);
  bf_module_free(module);
  uint64_t wavefronts = 0, conflicts = 0;
  size_t sites = 0;
  for (const bf_kernel_site *site; (site = bf_kernel_analysis_get(analysis, sites)); sites++) {
    assert_true(site->is_exact && site->is_reached && site->has_op && !site->fault);
    assert_int_equal(site->unknowns, 0);
    assert_int_equal(site->wavefronts, site->most_wavefronts);
    wavefronts += site->wavefronts;
    conflicts += site->conflicts;
  }
  assert_int_equal(sites, 5);
  assert_int_equal(wavefronts, 904);
  assert_int_equal(conflicts, 696);
  const bf_kernel_site *site = bf_kernel_analysis_get(analysis, 1);
  assert_int_equal(site->line, 115);
  assert_string_equal(site->instruction, "ld");
  assert_string_equal(site->formula, "s + 4*(tx * (2*(1 << k105)))");
  assert_string_equal(site->explanation,
                      "stride 8: lane i accesses element 8*i; 8 is a multiple of 2^3");
  assert_int_equal(site->accesses, 64);
  assert_int_equal(site->ideal, 64);
  assert_int_equal(site->worst->address[1], 32);
  assert_string_equal(bf_kernel_analysis_get(analysis, 0)->formula, "s + 4*tx");
  assert_true(bf_kernel_analysis_get(analysis, 0)->is_affine);
  assert_int_equal(bf_kernel_analysis_get(analysis, 0)->step_bytes[0], 4);
  bf_kernel_analysis_free(analysis);
}

/* What the launch leaves open is named; values of parameters make it known. */
static void values_make_known(void **state) {
  (void)state;
  bf_analyze_kernel_options options = block_of(32, 0);
  bf_kernel_analysis *analysis = analyze(patterns, "walsh", &options);
  const bf_kernel_site *site = bf_kernel_analysis_get(analysis, 1);
  assert_false(site->is_exact);
  assert_string_equal(site->unknown[0].what, "address");
  assert_string_equal(site->unknown[0].because, "parameter 1");
  bf_kernel_analysis_free(analysis);
  const int log2n = 6;
  const bf_argument arguments[] = {bf_argument_buffer(NULL, NULL, 0),
                                   bf_argument_value(&log2n, sizeof log2n)};
  options.argument = arguments;
  options.arguments = 2;
  analysis = analyze(patterns, "walsh", &options);
  for (size_t i = 0; (site = bf_kernel_analysis_get(analysis, i)); i++)
    assert_true(site->is_exact);
  bf_kernel_analysis_free(analysis);
}

/* The accesses as a workload cost what the sites cost. */
static void accesses_become_a_workload(void **state) {
  (void)state;
  bf_analyze_kernel_options options = block_of(256, 1);
  bf_kernel_analysis *analysis = analyze(patterns, "reduce", &options);
  bf_machine *machine = load_machine("hopper");
  bf_workload *workload;
  bf_workload_totals totals;
  uint64_t accesses = 0, conflicts = 0;
  for (size_t i = 0; bf_kernel_analysis_get(analysis, i); i++) {
    accesses += bf_kernel_analysis_get(analysis, i)->accesses;
    conflicts += bf_kernel_analysis_get(analysis, i)->conflicts;
  }
  assert_int_equal(bf_kernel_analysis_workload(analysis, &workload, NULL), BF_OK);
  bf_kernel_analysis_free(analysis);
  assert_int_equal(bf_memory_count_workload(machine, NULL, workload, &totals, NULL), BF_OK);
  assert_int_equal(totals.accesses, accesses);
  assert_int_equal(totals.conflicts, conflicts);
  assert_string_equal(bf_workload_get(workload, 0)->site, "reduce:99");
  bf_workload_free(workload);
  bf_machine_free(machine);
}

/* A block that the kernel itself requires, and source lines. */
static void kernels_may_say_their_block(void **state) {
  (void)state;
  static const char text[] =
      ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"tile.cu\"\n"
      ".visible .entry k(.param .u64 out) .reqntid 32, 2\n{\n.reg .b32 %r<9>;\n"
      ".shared .align 4 .b8 tile[8192];\n.loc 1 7 3\n"
      "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 7;\nmov.u32 %r3, tile;\nadd.s32 %r4, %r3, %r2;\n"
      ".loc 1 8 3\nst.shared.b32 [%r4], %r1;\nret;\n}\n";
  bf_module *module = parse_bytes(text, sizeof text - 1, "mine");
  bf_kernel_analysis *analysis = analyze(module, "k", NULL);
  const bf_kernel_site *site = bf_kernel_analysis_get(analysis, 0);
  assert_string_equal(site->source_file, "tile.cu");
  assert_int_equal(site->source_line, 8);
  assert_int_equal(site->accesses, 2);
  assert_int_equal(site->conflicts, 62);
  bf_kernel_analysis_free(analysis);
  bf_module_free(module);
}

/* An access outside of shared memory is a fault of its site, not of the analysis. */
static void faults_belong_to_sites(void **state) {
  (void)state;
  static const char text[] =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<9>;\n"
      "mov.u32 %r1, 67108864;\nst.shared.b32 [%r1], %r1;\nret;\n}\n";
  bf_module *module = parse_bytes(text, sizeof text - 1, "mine");
  bf_analyze_kernel_options options = block_of(32, 1);
  bf_kernel_analysis *analysis = analyze(module, "k", &options);
  bf_workload *workload;
  assert_non_null(bf_kernel_analysis_get(analysis, 0)->fault);
  assert_int_equal(bf_kernel_analysis_get(analysis, 0)->accesses, 0);
  assert_int_equal(bf_kernel_analysis_workload(analysis, &workload, NULL), BF_OK);
  assert_int_equal(bf_workload_size(workload), 0);
  bf_workload_free(workload);
  bf_kernel_analysis_free(analysis);
  bf_module_free(module);
}

static void notes_are_kept(void **state) {
  (void)state;
  bf_module *module = parse_file("tests/data/ptx/calls.sm_90.ptx");
  bf_analyze_kernel_options options = block_of(32, 1);
  unsigned notes = 0;
  for (size_t i = 0; bf_module_get(module, i); i++) {
    bf_kernel_analysis *analysis = analyze(module, bf_module_get(module, i)->name, &options);
    for (size_t k = 0; bf_kernel_analysis_note(analysis, k); k++, notes++)
      assert_true(strlen(bf_kernel_analysis_note(analysis, k)) > 0);
    bf_kernel_analysis_free(analysis);
  }
  assert_true(notes > 0);
  bf_module_free(module);
}

static void wrong_requests_are_refused(void **state) {
  (void)state;
  const int value = 6;
  const bf_argument wide[] = {bf_argument_value(&value, sizeof value)};
  const bf_argument many[3] = {{0}};
  bf_analyze_kernel_options options = block_of(32, 1), none = block_of(0, 0);
  bf_analyze_kernel_options large = block_of(2048, 1), unfilled = {0};
  bf_analyze_kernel_options wrong = options, more = options;
  bf_machine *amd = load_machine("cdna3");
  wrong.argument = wide;
  wrong.arguments = 1;
  more.argument = many;
  more.arguments = 3;
  const struct {
    const char *kernel;
    const bf_machine *machine;
    const bf_analyze_kernel_options *options;
    int error;
    const char *message;
  } rows[] = {
      {"four", NULL, &options, BF_BAD_INPUT, "no kernel 'four'; there are reduce walsh multiply"},
      {"walsh", NULL, &none, BF_BAD_INPUT, "does not say how many threads a block has"},
      {"walsh", NULL, NULL, BF_BAD_INPUT, "does not say how many threads a block has"},
      {"walsh", NULL, &large, BF_BAD_INPUT, "1024"},
      {"walsh", NULL, &unfilled, BF_BAD_INPUT, "bf_analyze_kernel_options: struct_bytes is 0"},
      {"walsh", NULL, &wrong, BF_BAD_INPUT,
       "4 bytes for parameter 0 of kernel 'walsh', which has 8"},
      {"walsh", NULL, &more, BF_BAD_INPUT, "3 arguments for kernel 'walsh' with 2 parameters"},
      {"walsh", amd, &options, BF_UNSUPPORTED, "machine 'cdna3' has 64"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_kernel_analysis *analysis;
    bf_diagnostic diagnostic;
    assert_int_equal(bf_analyze_kernel(patterns, rows[i].kernel, rows[i].machine, rows[i].options,
                                       &analysis, &diagnostic),
                     rows[i].error);
    assert_null(analysis);
    if (!strstr(diagnostic.message, rows[i].message))
      fail_msg("case %zu: %s", i, diagnostic.message);
  }
  bf_machine_free(amd);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sites_are_found),
      cmocka_unit_test(values_make_known),
      cmocka_unit_test(accesses_become_a_workload),
      cmocka_unit_test(kernels_may_say_their_block),
      cmocka_unit_test(faults_belong_to_sites),
      cmocka_unit_test(notes_are_kept),
      cmocka_unit_test(wrong_requests_are_refused),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
