/* Launches through the public header: buffers, costs by line, faults, and callbacks. */
#include "api.h"

#include <pthread.h>

enum { SIDE = 32, ELEMENTS = SIDE * SIDE };

/* out[x][y] = in[y][x] + more, by way of a tile in shared memory whose columns are read: line 7
 * writes rows, line 9 reads columns. A block of 32 x 1 threads. */
static const char transpose[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"transpose.cu\"\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
    ".extern .shared .align 4 .b8 more_bytes[];\n"
    ".global .align 1 .b8 text[4] = {104, 105, 10, 0};\n"
    ".visible .entry transpose(.param .u64 in, .param .u64 out, .param .u32 more)\n{\n"
    ".reg .b32 %r<20>;\n.reg .b64 %d<20>;\n.reg .pred %p<4>;\n"
    ".shared .align 4 .b8 tile[4096];\n"
    "ld.param.u64 %d1, [in];\ncvta.to.global.u64 %d1, %d1;\n"
    "ld.param.u64 %d2, [out];\ncvta.to.global.u64 %d2, %d2;\nld.param.u32 %r9, [more];\n"
    "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\nmov.u32 %r3, tile;\n"
    "LOAD:\n"
    "mad.lo.u32 %r4, %r2, 32, %r1;\nmul.wide.u32 %d3, %r4, 4;\nadd.u64 %d4, %d1, %d3;\n"
    "ld.global.b32 %r5, [%d4];\nshl.b32 %r6, %r4, 2;\nadd.u32 %r6, %r6, %r3;\n"
    ".loc 1 7 5\nst.shared.b32 [%r6], %r5;\n"
    "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 32;\n@%p1 bra LOAD;\n"
    "bar.sync 0;\nmov.u32 %r2, 0;\n"
    "STORE:\n"
    "mad.lo.u32 %r4, %r1, 32, %r2;\nshl.b32 %r6, %r4, 2;\nadd.u32 %r6, %r6, %r3;\n"
    ".loc 1 9 5\nld.shared.b32 %r5, [%r6];\nadd.u32 %r5, %r5, %r9;\n"
    "mad.lo.u32 %r7, %r2, 32, %r1;\nmul.wide.u32 %d3, %r7, 4;\nadd.u64 %d4, %d2, %d3;\n"
    "st.global.b32 [%d4], %r5;\n"
    "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 32;\n@%p1 bra STORE;\n"
    "ret;\n}\n"
    ".visible .entry hello()\n{\n.reg .b64 %d<4>;\n"
    "mov.u64 %d1, text;\ncvta.global.u64 %d1, %d1;\nmov.u64 %d2, 0;\n"
    "{\n.param .b64 a;\n.param .b64 b;\n.param .b32 r;\nst.param.b64 [a], %d1;\n"
    "st.param.b64 [b], %d2;\ncall.uni (r), vprintf, (a, b);\n}\nret;\n}\n"
    ".visible .entry forever()\n{\nAGAIN:\nbra.uni AGAIN;\n}\n"
    ".visible .entry unset(.param .u64 out)\n{\n.reg .b32 %r<4>;\n.shared .align 4 .b8 one[4];\n"
    "mov.u32 %r1, one;\nld.shared.b32 %r2, [%r1];\nret;\n}\n"
    ".visible .entry wide()\n{\n.reg .b32 %r<4>;\n"
    "mov.u32 %r1, more_bytes;\nst.shared.b32 [%r1+262144], %r1;\nret;\n}\n";

/* The line of the PTX on which text stands first. */
static uint64_t line_of(const char *text) {
  uint64_t line = 1;
  for (const char *at = transpose, *end = strstr(transpose, text); at < end; at++)
    line += *at == '\n';
  return line;
}

static bf_module *module;

static int set_up(void **state) {
  (void)state;
  module = parse_bytes(transpose, sizeof transpose - 1, "transpose.ptx");
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bf_module_free(module);
  return 0;
}

static uint32_t *counting(uint32_t count) {
  uint32_t *values = malloc(count * sizeof *values);
  assert_non_null(values);
  for (uint32_t i = 0; i < count; i++)
    values[i] = i * 7;
  return values;
}

static bf_launch launch_of(const bf_argument *arguments, size_t count, uint32_t threads) {
  bf_launch launch;
  bf_default_launch(&launch);
  launch.block[0] = threads;
  launch.argument = arguments;
  launch.arguments = count;
  return launch;
}

static bf_launch_profile *run(const char *kernel, const bf_launch *launch) {
  bf_launch_profile *profile;
  bf_diagnostic diagnostic;
  if (bf_profile_launch(module, kernel, NULL, launch, &profile, &diagnostic) != BF_OK)
    fail_msg("%s:%u: %s", diagnostic.file, (unsigned)diagnostic.line, diagnostic.message);
  return profile;
}

static void expect_transposed(const uint32_t *in, const uint32_t *out, uint32_t more) {
  for (uint32_t y = 0; y < SIDE; y++)
    for (uint32_t x = 0; x < SIDE; x++)
      assert_int_equal(out[x * SIDE + y], in[y * SIDE + x] + more);
}

/* Values arrive, buffers come back, and lines have their costs, worst first. */
static void costs_have_lines(void **state) {
  (void)state;
  uint32_t *in = counting(ELEMENTS), *out = counting(ELEMENTS);
  const uint32_t more = 5;
  const bf_argument arguments[] = {bf_argument_buffer(in, NULL, ELEMENTS * 4),
                                   bf_argument_buffer(NULL, out, ELEMENTS * 4),
                                   bf_argument_value(&more, sizeof more)};
  bf_launch launch = launch_of(arguments, 3, SIDE);
  bf_launch_profile *profile = run("transpose", &launch);
  expect_transposed(in, out, more);
  const bf_profile_line *load = bf_launch_profile_get(profile, 0);
  const bf_profile_line *store = bf_launch_profile_get(profile, 1);
  assert_null(bf_launch_profile_get(profile, 2));
  assert_string_equal(load->file, "transpose.cu");
  assert_int_equal(load->line, 9);
  assert_int_equal(load->accesses, 32);
  assert_int_equal(load->wavefronts, 32 * 32);
  assert_int_equal(load->ideal, 32);
  assert_int_equal(load->conflicts, 31 * 32);
  assert_int_equal(load->worst_wavefronts, 32);
  assert_int_equal(load->worst.op, BF_OP_LD);
  assert_int_equal(load->worst.address[1] - load->worst.address[0], 128);
  assert_int_equal(load->uncounted, 0);
  assert_int_equal(store->line, 7);
  assert_int_equal(store->wavefronts, 32);
  assert_int_equal(store->conflicts, 0);
  const bf_profile_totals *totals = bf_launch_profile_totals(profile);
  assert_int_equal(totals->accesses, 64);
  assert_int_equal(totals->wavefronts, 33 * 32);
  assert_int_equal(totals->conflicts, 31 * 32);
  assert_true(totals->warp_instructions > 64);
  assert_int_equal(totals->thread_instructions, totals->warp_instructions * 32);
  bf_launch_profile_free(profile);
  free(in);
  free(out);
}

/* Under a hash the same launch has fewer conflicts and the same result. */
static void hashes_are_counted(void **state) {
  (void)state;
  uint32_t *in = counting(ELEMENTS), *out = counting(ELEMENTS);
  const uint32_t more = 0;
  const bf_argument arguments[] = {bf_argument_buffer(in, NULL, ELEMENTS * 4),
                                   bf_argument_buffer(NULL, out, ELEMENTS * 4),
                                   bf_argument_value(&more, sizeof more)};
  bf_machine *machine = load_machine("ampere");
  bf_launch launch = launch_of(arguments, 3, SIDE);
  bf_hash *hash = parse_hash("fixed", machine);
  bf_launch_profile *profile;
  launch.hash = hash;
  assert_int_equal(bf_profile_launch(module, "transpose", machine, &launch, &profile, NULL), BF_OK);
  assert_int_equal(bf_launch_profile_totals(profile)->conflicts, 0);
  expect_transposed(in, out, more);
  bf_launch_profile_free(profile);
  bf_hash_free(hash);
  bf_machine_free(machine);
  free(in);
  free(out);
}

/* The same buffer for two parameters is one buffer; without in and out each has its own. */
static void buffers_may_be_one(void **state) {
  (void)state;
  uint32_t *both = counting(ELEMENTS), *before = counting(ELEMENTS);
  const uint32_t more = 1;
  bf_argument arguments[] = {bf_argument_buffer(both, both, ELEMENTS * 4),
                             bf_argument_buffer(both, both, ELEMENTS * 4),
                             bf_argument_value(&more, sizeof more)};
  bf_launch launch = launch_of(arguments, 3, SIDE);
  bf_launch_profile_free(run("transpose", &launch));
  expect_transposed(before, both, more);
  memcpy(both, before, ELEMENTS * 4);
  arguments[0] = arguments[1] = bf_argument_buffer(NULL, NULL, ELEMENTS * 4);
  bf_launch_profile_free(run("transpose", &launch));
  assert_memory_equal(both, before, ELEMENTS * 4);
  free(both);
  free(before);
}

/* A buffer that is too small is a fault at its source line; nothing comes back. */
static void faults_are_located(void **state) {
  (void)state;
  uint32_t *in = counting(ELEMENTS), *out = counting(ELEMENTS), *before = counting(ELEMENTS);
  const uint32_t more = 5;
  const bf_argument arguments[] = {bf_argument_buffer(in, NULL, ELEMENTS * 4),
                                   bf_argument_buffer(NULL, out, ELEMENTS * 4 - 4),
                                   bf_argument_value(&more, sizeof more)};
  bf_launch launch = launch_of(arguments, 3, SIDE);
  bf_launch_profile *profile;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_profile_launch(module, "transpose", NULL, &launch, &profile, &diagnostic),
                   BF_FAULT);
  assert_null(profile);
  assert_string_equal(diagnostic.file, "transpose.cu");
  assert_int_equal(diagnostic.line, 9);
  assert_non_null(strstr(diagnostic.message, "out of bounds: write of 4 bytes at global address"));
  assert_non_null(strstr(diagnostic.message, "thread (31,0,0)"));
  assert_memory_equal(out, before, ELEMENTS * 4);
  assert_int_equal(bf_profile_launch(module, "transpose", NULL, &launch, &profile, NULL), BF_FAULT);

  const bf_argument one[] = {bf_argument_buffer(NULL, NULL, 4)};
  launch = launch_of(one, 1, 1);
  bf_launch_profile_free(run("unset", &launch));
  launch.check_uninitialised = true;
  assert_int_equal(bf_profile_launch(module, "unset", NULL, &launch, &profile, &diagnostic),
                   BF_FAULT);
  assert_string_equal(diagnostic.file, "transpose.ptx");
  assert_int_equal(diagnostic.line, line_of("ld.shared.b32 %r2, [%r1]"));
  assert_non_null(strstr(diagnostic.message, "uninitialised shared memory"));
  free(in);
  free(out);
  free(before);
}

static void keep_text(void *context, const char *text, size_t bytes) {
  char *kept = context;
  size_t used = strlen(kept);
  assert_true(used + bytes < 64);
  memcpy(kept + used, text, bytes);
}

static void printing_is_heard(void **state) {
  (void)state;
  char kept[64] = "";
  bf_launch launch = launch_of(NULL, 0, 1);
  launch.grid[0] = 3;
  launch.print = keep_text;
  launch.print_context = kept;
  bf_launch_profile *profile = run("hello", &launch);
  assert_string_equal(kept, "hi\nhi\nhi\n");
  assert_null(bf_launch_profile_get(profile, 0));
  bf_launch_profile_free(profile);
  launch.print = NULL;
  bf_launch_profile_free(run("hello", &launch));
}

static bool stop(void *context, uint64_t done, uint64_t blocks) {
  (void)context;
  assert_int_equal(blocks, 1);
  assert_int_equal(done, 0);
  return false;
}

static void launches_can_be_stopped(void **state) {
  (void)state;
  bf_launch launch = launch_of(NULL, 0, 1);
  bf_launch_profile *profile;
  bf_diagnostic diagnostic;
  launch.progress = stop;
  assert_int_equal(bf_profile_launch(module, "forever", NULL, &launch, &profile, &diagnostic),
                   BF_STOPPED);
  assert_null(profile);
  assert_non_null(strstr(diagnostic.message, "interrupted"));
}

/* Shared memory that the emulator gives and the machine does not have. */
static void uncounted_accesses_are_told(void **state) {
  (void)state;
  heard said = {0};
  bf_launch launch = launch_of(NULL, 0, 32);
  launch.dynamic_shared_bytes = 1 << 20;
  launch.logger = (bf_logger){listen, &said};
  bf_launch_profile *profile = run("wide", &launch);
  const bf_profile_line *line = bf_launch_profile_get(profile, 0);
  assert_int_equal(line->uncounted, 1);
  assert_int_equal(line->accesses, 0);
  assert_null(line->file);
  assert_int_equal(said.warnings, 1);
  assert_non_null(strstr(said.last, "1 accesses are not counted: machine 'hopper' cannot"));
  bf_launch_profile_free(profile);
}

static void wrong_launches_are_refused(void **state) {
  (void)state;
  uint32_t word = 0;
  const bf_argument good[] = {bf_argument_buffer(NULL, NULL, 4096),
                              bf_argument_buffer(NULL, NULL, 4096), bf_argument_value(&word, 4)};
  const bf_argument narrow[] = {bf_argument_value(&word, 4), good[1], good[2]};
  const bf_argument wide[] = {good[0], good[1], good[1]};
  const bf_argument empty[] = {good[0], good[1], bf_argument_value(NULL, 4)};
  bf_machine *amd = load_machine("cdna3"), *hopper = load_machine("hopper");
  bf_geometry geometry = bf_machine_geometry(hopper);
  bf_hash *hash;
  geometry.bank_bits = 4;
  assert_int_equal(bf_hash_parse("fixed", &geometry, &hash, NULL), BF_OK);
  bf_launch fine = launch_of(good, 3, 32), few = launch_of(good, 2, 32);
  bf_launch first = launch_of(narrow, 3, 32), third = launch_of(wide, 3, 32);
  bf_launch none = launch_of(empty, 3, 32), large = launch_of(good, 3, 2000);
  bf_launch unfilled = {0}, crowded = fine, hashed = fine;
  crowded.threads = 2000;
  hashed.hash = hash;
  const struct {
    const char *kernel;
    const bf_machine *machine;
    const bf_launch *launch;
    int error;
    const char *message;
  } rows[] = {
      {"two", NULL, &fine, BF_BAD_INPUT, "no kernel 'two'; there are transpose hello"},
      {"transpose", NULL, NULL, BF_BAD_INPUT, "0 arguments for kernel 'transpose' with 3"},
      {"transpose", NULL, &few, BF_BAD_INPUT, "2 arguments for kernel 'transpose' with 3"},
      {"transpose", NULL, &first, BF_BAD_INPUT, "4 bytes for parameter 0 of kernel 'transpose'"},
      {"transpose", NULL, &third, BF_BAD_INPUT, "8 bytes for parameter 2 of kernel 'transpose'"},
      {"transpose", NULL, &none, BF_BAD_INPUT, "no value for parameter 2 of kernel 'transpose'"},
      {"transpose", NULL, &large, BF_BAD_INPUT, "a block has at most 1024 threads"},
      {"transpose", NULL, &unfilled, BF_BAD_INPUT, "bf_launch: struct_bytes is 0"},
      {"transpose", NULL, &crowded, BF_BAD_INPUT, "2000 threads: at most 1024"},
      {"transpose", NULL, &hashed, BF_BAD_INPUT, "a hash for 16 banks, but machine 'hopper'"},
      {"transpose", amd, &fine, BF_UNSUPPORTED, "machine 'cdna3' has 64"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_launch_profile *profile;
    bf_diagnostic diagnostic;
    assert_int_equal(bf_profile_launch(module, rows[i].kernel, rows[i].machine, rows[i].launch,
                                       &profile, &diagnostic),
                     rows[i].error);
    assert_null(profile);
    if (!strstr(diagnostic.message, rows[i].message))
      fail_msg("case %zu: %s", i, diagnostic.message);
  }
  bf_hash_free(hash);
  bf_machine_free(amd);
  bf_machine_free(hopper);
}

/* One of several threads that share a module and a machine. */
static void *launch_often(void *context) {
  const bf_machine *machine = context;
  uint32_t in[ELEMENTS] = {0}, out[ELEMENTS];
  const uint32_t more = 3;
  const bf_argument arguments[] = {bf_argument_buffer(in, NULL, sizeof in),
                                   bf_argument_buffer(NULL, out, sizeof out),
                                   bf_argument_value(&more, sizeof more)};
  bf_launch launch = launch_of(arguments, 3, SIDE);
  uintptr_t good = 0;
  launch.threads = 1;
  for (unsigned i = 0; i < 5; i++) {
    bf_launch_profile *profile;
    if (bf_profile_launch(module, "transpose", machine, &launch, &profile, NULL) != BF_OK)
      return NULL;
    good += bf_launch_profile_totals(profile)->conflicts == 31 * 32 && out[7] == 3;
    bf_launch_profile_free(profile);
  }
  return (void *)good;
}

static void threads_may_share(void **state) {
  (void)state;
  bf_machine *machine = load_machine("hopper");
  pthread_t threads[4];
  for (unsigned i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, launch_often, machine), 0);
  for (unsigned i = 0; i < 4; i++) {
    void *good;
    pthread_join(threads[i], &good);
    assert_int_equal((uintptr_t)good, 5);
  }
  bf_machine_free(machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(costs_have_lines),
      cmocka_unit_test(hashes_are_counted),
      cmocka_unit_test(buffers_may_be_one),
      cmocka_unit_test(faults_are_located),
      cmocka_unit_test(printing_is_heard),
      cmocka_unit_test(launches_can_be_stopped),
      cmocka_unit_test(uncounted_accesses_are_told),
      cmocka_unit_test(wrong_launches_are_refused),
      cmocka_unit_test(threads_may_share),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
