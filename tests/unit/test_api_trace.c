/* Traces and machines from memory: what comes out is what the same bytes in a file give. */
#include "api.h"

#include "access/access.h"

#include <unistd.h>
#include <zstd.h>

static bf_machine *hopper;

static int set_up(void **state) {
  (void)state;
  hopper = load_machine("hopper");
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bf_machine_free(hopper);
  return 0;
}

static bf_workload *parse(const char *bytes, size_t size, const bf_trace_options *options) {
  bf_workload *workload;
  bf_diagnostic diagnostic;
  if (bf_workload_parse(bytes, size, hopper, options, &workload, &diagnostic) != BF_OK)
    fail_msg("%s:%u: %s", diagnostic.file, (unsigned)diagnostic.line, diagnostic.message);
  return workload;
}

/* Frees both. */
static void expect_same(bf_workload *a, bf_workload *b) {
  assert_int_equal(bf_workload_size(a), bf_workload_size(b));
  for (size_t i = 0; i < bf_workload_size(a); i++) {
    bf_access x = *bf_workload_get(a, i), y = *bf_workload_get(b, i);
    assert_true(!x.site == !y.site && (!x.site || !strcmp(x.site, y.site)));
    x.site = y.site = NULL;
    assert_memory_equal(&x, &y, sizeof x);
  }
  bf_workload_free(a);
  bf_workload_free(b);
}

static bf_workload *read_form(const char *path, bf_trace_form form) {
  bf_workload *workload;
  assert_int_equal(bf_workload_read_form(path, form, hopper, &workload, NULL), BF_OK);
  return workload;
}

static const char *const traces[] = {"dct8", "fft1024", "fft512", "nw17", "reduce", "walsh"};

/* A trace that is read access by access, as text and as the public writer packs it, is the one that
 * is read at once. */
static void streams_are_the_same(void **state) {
  (void)state;
  char path[] = "/tmp/bankfold_stream_XXXXXX";
  close(mkstemp(path));
  for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
    const char *from = path;
    char text[128];
    snprintf(text, sizeof text, "tests/data/workloads/%s.trace", traces[i]);
    for (unsigned packed = 0; packed < 2; packed++) {
      bf_trace *trace;
      bf_trace_writer *writer;
      bf_workload *sum;
      const bf_access *access;
      int result;
      assert_int_equal(bf_trace_read(packed ? from : text, hopper, NULL, &trace, NULL), BF_OK);
      assert_int_equal(bf_trace_writer_open(path, true, &writer, NULL), BF_OK);
      assert_int_equal(bf_workload_create(&sum), BF_OK);
      while ((result = bf_trace_step(trace, &access, NULL)) == 1) {
        bf_access own = *access;
        own.line = 0;
        assert_int_equal(bf_workload_add(sum, &own), BF_OK);
        assert_int_equal(bf_trace_writer_add(writer, access, NULL), BF_OK);
      }
      assert_int_equal(result, 0);
      bf_trace_close(trace);
      assert_int_equal(bf_trace_writer_commit(writer, NULL), BF_OK);
      bf_trace_writer_close(writer);
      bf_workload *whole = read_form(text, BF_TRACE_OWN), *again;
      assert_int_equal(bf_workload_create(&again), BF_OK);
      for (size_t a = 0; a < bf_workload_size(whole); a++) {
        bf_access own = *bf_workload_get(whole, a);
        own.line = 0;
        assert_int_equal(bf_workload_add(again, &own), BF_OK);
      }
      bf_workload_free(whole);
      expect_same(sum, again);
    }
  }
  unlink(path);
  bf_trace *none;
  bf_trace_options wrong = {.struct_bytes = sizeof wrong, .form = (bf_trace_form)9};
  bf_diagnostic why;
  assert_int_equal(bf_trace_read("tests/golden/nothing.trace", hopper, NULL, &none, &why), BF_IO);
  assert_null(none);
  assert_int_equal(bf_trace_read(path, hopper, &wrong, &none, &why), BF_BAD_INPUT);
}

/* Text as it is, and compressed. */
static void text_is_read(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
    char path[128];
    size_t size;
    snprintf(path, sizeof path, "tests/data/workloads/%s.trace", traces[i]);
    char *bytes = read_bytes(path, &size);
    expect_same(parse(bytes, size, NULL), read_form(path, BF_TRACE_OWN));
    size_t room = ZSTD_compressBound(size);
    char *packed = malloc(room);
    assert_non_null(packed);
    size_t packed_size = ZSTD_compress(packed, room, bytes, size, 3);
    assert_false(ZSTD_isError(packed_size));
    packed = realloc(packed, packed_size);
    assert_non_null(packed);
    expect_same(parse(packed, packed_size, NULL), read_form(path, BF_TRACE_OWN));
    free(packed);
    free(bytes);
  }
}

/* The packed form, which is always compressed, and the same decompressed. */
static void packed_is_read(void **state) {
  (void)state;
  const char *path = "test_api_trace.bft";
  bf_workload *workload = read_form("tests/data/workloads/walsh.trace", BF_TRACE_OWN);
  bf_trace_writer *writer;
  assert_int_equal(bf_trace_writer_open(path, true, &writer, NULL), BF_OK);
  for (size_t i = 0; i < bf_workload_size(workload); i++)
    assert_int_equal(bf_trace_writer_add(writer, bf_workload_get(workload, i), NULL), BF_OK);
  assert_int_equal(bf_trace_writer_commit(writer, NULL), BF_OK);
  bf_trace_writer_close(writer);
  bf_workload_free(workload);
  size_t size;
  char *bytes = read_bytes(path, &size);
  expect_same(parse(bytes, size, NULL), read_form(path, BF_TRACE_OWN));
  char *plain = malloc(1 << 20);
  assert_non_null(plain);
  size_t plain_size = ZSTD_decompress(plain, 1 << 20, bytes, size);
  assert_false(ZSTD_isError(plain_size));
  expect_same(parse(plain, plain_size, NULL), read_form(path, BF_TRACE_OWN));
  free(plain);
  free(bytes);
  unlink(path);
}

static void other_tools_are_read(void **state) {
  (void)state;
  static const struct {
    const char *path;
    bf_trace_form form;
    unsigned warnings, remarks;
    const char *last;
  } rows[] = {
      {"tests/golden/nvbit.txt", BF_TRACE_NVBIT, 1, 1,
       "nv: 2 lines without a shared access are left out"},
      {"tests/golden/accelsim.traceg", BF_TRACE_ACCELSIM, 0, 1, "lines without a shared access"},
      {"tests/data/workloads/nw17.trace", BF_TRACE_OWN, 0, 0, ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    heard said = {0};
    size_t size;
    char *bytes = read_bytes(rows[i].path, &size);
    bf_trace_options options;
    bf_trace_default_options(&options);
    options.name = "nv";
    options.form = rows[i].form;
    options.logger = (bf_logger){listen, &said};
    expect_same(parse(bytes, size, &options), read_form(rows[i].path, rows[i].form));
    assert_int_equal(said.warnings, rows[i].warnings);
    assert_int_equal(said.remarks, rows[i].remarks);
    if (!strstr(said.last, rows[i].last))
      fail_msg("%s: %s", rows[i].path, said.last);
    free(bytes);
  }
}

/* Whatever is wrong has a name and, in text, a place. */
static void faults_have_places(void **state) {
  (void)state;
  static const struct {
    const char *bytes, *name, *file, *message;
    uint64_t line;
    uint32_t column;
  } rows[] = {
      {"ld 4 ffffffff stride:1\nld 3 1 0\n", NULL, "trace", "width", 2, 4},
      {"ld 4 ffffffff stride:1\nld 3 1 0\n", "mine", "mine", "width", 2, 4},
      {"", "mine", "mine", "the trace holds no access", 0, 0},
      {"# nothing\n", "mine", "mine", "the trace holds no access", 0, 0},
      {"\x28\xb5\x2f\xfd", "mine", "mine", "zstd data is cut off", 0, 0},
      {"\x28\xb5\x2f\xfd\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "mine",
       "mine", "damaged zstd data", 0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t size = strlen(rows[i].bytes);
    char *bytes = malloc(size ? size : 1);
    assert_non_null(bytes);
    memcpy(bytes, rows[i].bytes, size);
    bf_trace_options options;
    bf_diagnostic diagnostic;
    bf_workload *workload;
    bf_trace_default_options(&options);
    options.name = rows[i].name;
    assert_int_equal(bf_workload_parse(bytes, size, hopper, &options, &workload, &diagnostic),
                     BF_BAD_INPUT);
    assert_null(workload);
    assert_string_equal(diagnostic.file, rows[i].file);
    assert_int_equal(diagnostic.line, rows[i].line);
    assert_int_equal(diagnostic.column, rows[i].column);
    if (!strstr(diagnostic.message, rows[i].message))
      fail_msg("case %zu: %s", i, diagnostic.message);
    free(bytes);
  }
  bf_workload *workload;
  assert_int_equal(bf_workload_parse(NULL, 0, hopper, NULL, &workload, NULL), BF_BAD_INPUT);
}

/* However much of a compressed trace is missing, it is refused. */
static void cut_off_traces_are_refused(void **state) {
  (void)state;
  size_t size;
  char *bytes = read_bytes("tests/data/workloads/nw17.trace", &size);
  char *packed = malloc(ZSTD_compressBound(size));
  assert_non_null(packed);
  size_t packed_size = ZSTD_compress(packed, ZSTD_compressBound(size), bytes, size, 3);
  for (size_t cut = 0; cut < packed_size; cut++) {
    bf_workload *workload;
    char *part = malloc(cut ? cut : 1);
    assert_non_null(part);
    memcpy(part, packed, cut);
    assert_int_equal(bf_workload_parse(part, cut, hopper, NULL, &workload, NULL), BF_BAD_INPUT);
    free(part);
  }
  free(packed);
  free(bytes);
}

static void machines_are_read(void **state) {
  (void)state;
  size_t size;
  char *bytes = read_bytes("machines/fermi.machine", &size);
  char *text = calloc(1, size + 1);
  assert_non_null(text);
  memcpy(text, bytes, size);
  bf_machine *machine;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_machine_parse("mine", text, &machine, &diagnostic), BF_OK);
  assert_string_equal(bf_machine_name(machine), "fermi");
  bf_machine_free(machine);
  assert_int_equal(bf_machine_parse("mine", "banks 33\n", &machine, &diagnostic), BF_BAD_INPUT);
  assert_null(machine);
  assert_string_equal(diagnostic.file, "mine");
  assert_int_equal(diagnostic.line, 1);
  free(text);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_are_the_same), cmocka_unit_test(text_is_read),
      cmocka_unit_test(packed_is_read),       cmocka_unit_test(other_tools_are_read),
      cmocka_unit_test(faults_have_places),   cmocka_unit_test(cut_off_traces_are_refused),
      cmocka_unit_test(machines_are_read),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
