/* Sums by site: the same sums as counting access by access, by any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory/site_sums.h"
#include "same_sums.h"

static uint32_t draw(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

/* Random accesses of a few sites, or of none, as text. */
static void write_lines(bf_text *text, unsigned lines, bool with_sites) {
  uint64_t random = 11;
  for (unsigned i = 0; i < lines; i++) {
    unsigned stride = draw(&random) % 40, offset = draw(&random) % 100;
    const char *op = draw(&random) % 3 ? "ld" : "st";
    bf_text_addf(text, "%s 4 %08x stride:%u+%u x%u", op, draw(&random) | 1, stride, offset,
                 draw(&random) % 5 + 1);
    if (with_sites && draw(&random) % 4)
      bf_text_addf(text, " @k.cu:%u", draw(&random) % 300);
    bf_text_puts(text, "\n");
  }
}

static bf_trace *open_text(const bf_text *text, const bf_machine *machine) {
  bf_trace_limits limits = bf_machine_limits(machine);
  bf_trace *trace;
  assert_int_equal(
      bf_trace_open_memory("m", text->data, text->size, BF_TRACE_OWN, &limits, &trace, NULL),
      BF_OK);
  return trace;
}

/* The sums of one key, by bf_memory_count alone. */
static bf_sum count_key(const bf_text *text, const bf_machine *machine, const bf_hash *hash,
                        const char *key, uint64_t *worst_line) {
  bf_trace *trace = open_text(text, machine);
  bf_sum sum = {0};
  bf_access access;
  uint32_t worst = 0;
  while (bf_trace_next(trace, &access, NULL) == 1) {
    char own[64];
    bf_count count;
    bf_pattern pattern = bf_access_classify(&access, 32, 1);
    snprintf(own, sizeof own, "%s %u %s", bf_op_name(access.op), access.width_bytes,
             bf_pattern_class_name(pattern.class_));
    if (strcmp(access.site ? access.site : own, key) != 0)
      continue;
    assert_int_equal(bf_memory_count(machine, hash, &access, &count, NULL), BF_OK);
    sum.accesses += access.count;
    sum.wavefronts += access.count * bf_count_wavefronts(&count);
    sum.ideal += access.count * count.ideal;
    sum.conflicts += access.count * count.conflicts;
    if (count.conflicts > worst) {
      worst = count.conflicts;
      *worst_line = access.line;
    }
  }
  bf_trace_close(trace);
  return sum;
}

static void sum_text(const bf_text *text, const bf_machine *machine, const bf_hash *hash,
                     unsigned threads, bf_site_sums **sums) {
  bf_trace *trace = open_text(text, machine);
  bf_site_sums_reading reading = {.threads = threads};
  assert_int_equal(bf_site_sums_create(machine, hash, BF_LOCK_PLAIN, sums, NULL), BF_OK);
  assert_int_equal(bf_site_sums_read(*sums, trace, "m", &reading, NULL), BF_OK);
  bf_trace_close(trace);
}

static void sums_are_those_of_single_counts(void **state) {
  (void)state;
  bf_machine *machine;
  bf_hash *hash;
  bf_text text = {0};
  write_lines(&text, 3000, true);
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  bf_geometry geometry = bf_machine_geometry(machine);
  assert_int_equal(bf_hash_parse("xor:0,5,31", &geometry, &hash, NULL), BF_OK);
  for (int hashed = 0; hashed < 2; hashed++) {
    bf_site_sums *sums;
    sum_text(&text, machine, hashed ? hash : NULL, 1, &sums);
    size_t count;
    const bf_site_sum *row = bf_site_sums_rows(sums, &count);
    assert_true(count > 300);
    for (size_t i = 0; i < count; i += 7) {
      uint64_t worst_line = 0;
      bf_sum sum = count_key(&text, machine, hashed ? hash : NULL, row[i].key, &worst_line);
      assert_memory_equal(&sum, &row[i].sum, sizeof sum);
      assert_int_equal(worst_line, row[i].worst_line);
    }
    bf_site_sums_free(sums);
  }
  bf_hash_free(hash);
  bf_machine_free(machine);
  bf_text_free(&text);
}

static void any_number_of_threads_gives_the_same(void **state) {
  (void)state;
  bf_machine *machine;
  bf_text text = {0};
  write_lines(&text, 60000, true);
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  bf_site_sums *one, *more;
  sum_text(&text, machine, NULL, 1, &one);
  for (unsigned threads = 2; threads < 5; threads++) {
    sum_text(&text, machine, NULL, threads, &more);
    assert_same_sums(one, more);
    bf_site_sums_free(more);
  }
  bf_site_sums_free(one);
  bf_machine_free(machine);
  bf_text_free(&text);
}

/* Accesses of few shapes and sites, at so many places; some counts do not fit 32 bits, alone or
 * summed. */
static void write_repeats(bf_text *text, unsigned lines, unsigned places) {
  uint64_t random = 5;
  for (unsigned i = 0; i < lines; i++) {
    unsigned width = 1u << draw(&random) % 4;
    bf_text_addf(text, "%s %u %s stride:%u+%u", draw(&random) % 5 ? "ld" : "st", width,
                 draw(&random) % 3 ? "ffffffff" : "ff0", draw(&random) % 6, draw(&random) % places);
    if (draw(&random) % 8 == 0)
      bf_text_addf(text, " x%u", draw(&random) % 5 + 1);
    else if (draw(&random) % 32 == 0)
      bf_text_addf(text, " x%llu", (unsigned long long)(draw(&random) % 5 + 1) << 31);
    if (draw(&random) % 6 == 0)
      bf_text_addf(text, " @k.cu:%u", draw(&random) % 3);
    bf_text_puts(text, "\n");
  }
}

/* The same accesses packed, in a file that the caller removes. */
static bf_trace *open_packed(const bf_text *text, const bf_machine *machine, char *path) {
  bf_trace_limits limits = bf_machine_limits(machine);
  bf_trace *trace = open_text(text, machine), *packed;
  bf_trace_writer *writer;
  bf_access access;
  close(mkstemp(strcpy(path, "packed_XXXXXX")));
  assert_int_equal(bf_trace_writer_open(path, true, &writer, NULL), BF_OK);
  while (bf_trace_next(trace, &access, NULL) == 1)
    assert_int_equal(bf_trace_writer_add(writer, &access, NULL), BF_OK);
  assert_int_equal(bf_trace_writer_commit(writer, NULL), BF_OK);
  bf_trace_writer_close(writer);
  bf_trace_close(trace);
  assert_int_equal(bf_trace_open(path, &limits, &packed, NULL), BF_OK);
  return packed;
}

/* Repeats in a packed trace, which are counted without being put together, count as in text. */
static void compare_sums(unsigned places) {
  bf_machine *machine;
  bf_hash *hash;
  bf_text text = {0};
  char path[16];
  write_repeats(&text, 30000, places);
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  bf_geometry geometry = bf_machine_geometry(machine);
  assert_int_equal(bf_hash_parse("xor:0,5,31", &geometry, &hash, NULL), BF_OK);
  for (unsigned way = 0; way < 4; way++) {
    const bf_hash *own = way % 2 ? hash : NULL;
    bf_site_sums_reading reading = {.threads = 1 + way};
    bf_site_sums *of_text, *of_packed;
    sum_text(&text, machine, own, 1, &of_text);
    bf_trace *packed = open_packed(&text, machine, path);
    assert_int_equal(bf_site_sums_create(machine, own, BF_LOCK_PLAIN, &of_packed, NULL), BF_OK);
    assert_int_equal(bf_site_sums_read(of_packed, packed, "m", &reading, NULL), BF_OK);
    assert_same_sums(of_text, of_packed);
    bf_site_sums_free(of_text);
    bf_site_sums_free(of_packed);
    bf_trace_close(packed);
    unlink(path);
  }
  bf_hash_free(hash);
  bf_machine_free(machine);
  bf_text_free(&text);
}

/* Few and many: the table of what is known grows. */
static void repeats_count_as_in_text(void **state) {
  (void)state;
  compare_sums(40);
  compare_sums(3000);
}

/* The same for workloads. */
static void compare_workloads(unsigned places) {
  bf_machine *machine;
  bf_text text = {0};
  char path[16];
  bf_workload *of_text, *of_packed;
  write_repeats(&text, 30000, places);
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  bf_trace *plain = open_text(&text, machine), *packed = open_packed(&text, machine, path);
  assert_int_equal(bf_workload_take(plain, "m", &of_text, NULL), BF_OK);
  assert_int_equal(bf_workload_take(packed, "m", &of_packed, NULL), BF_OK);
  assert_int_equal(bf_workload_size(of_text), bf_workload_size(of_packed));
  for (size_t i = 0; i < bf_workload_size(of_text); i++) {
    const bf_access *one = bf_workload_get(of_text, i), *other = bf_workload_get(of_packed, i);
    assert_int_equal(one->op, other->op);
    assert_int_equal(one->mask, other->mask);
    assert_int_equal(one->count, other->count);
    assert_memory_equal(one->address, other->address, sizeof one->address);
  }
  bf_workload_free(of_text);
  bf_workload_free(of_packed);
  bf_trace_close(plain);
  bf_trace_close(packed);
  unlink(path);
  bf_machine_free(machine);
  bf_text_free(&text);
}

static void repeats_are_in_workloads(void **state) {
  (void)state;
  compare_workloads(40);
  compare_workloads(3000);
}

static bool is_same(const bf_access *a, const bf_access *b) {
  return a->op == b->op && a->width_bytes == b->width_bytes && a->mask == b->mask &&
         !a->site == !b->site && (!a->site || strcmp(a->site, b->site) == 0) &&
         memcmp(a->address, b->address, 32 * sizeof a->address[0]) == 0;
}

/* Of too many different accesses a share is kept, in their order and with all their counts, whether
 * they are packed or not, and the workload narrow or not. */
static void some_accesses_are_kept_whole(void **state) {
  (void)state;
  enum { MOST = 3000 };
  bf_machine *machine;
  bf_text text = {0};
  char path[16];
  bf_workload *all, *some[2];
  write_repeats(&text, 30000, 3000);
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  bf_trace *whole = open_text(&text, machine);
  bf_trace *trace[2] = {open_text(&text, machine), open_packed(&text, machine, path)};
  assert_int_equal(bf_workload_take(whole, "m", &all, NULL), BF_OK);
  assert_true(bf_workload_kept(all) == 1);
  for (unsigned way = 0; way < 2; way++) {
    bf_reading_limits limits = {.most = MOST};
    assert_int_equal(bf_workload_sample(trace[way], "m", &limits, way ? 32 : 64, &some[way], NULL),
                     BF_OK);
    size_t size = bf_workload_size(some[way]), at = 0;
    double expected = bf_workload_kept(some[way]) * (double)bf_workload_size(all);
    assert_true(bf_workload_kept(some[way]) < 1 && size <= MOST);
    assert_true((double)size > 0.9 * expected && (double)size < 1.1 * expected);
    assert_int_equal(size, bf_workload_size(some[0]));
    for (size_t i = 0; i < size; i++) {
      const bf_access *own = bf_workload_get(some[way], i);
      while (at < bf_workload_size(all) && !is_same(bf_workload_get(all, at), own))
        at++;
      assert_true(at < bf_workload_size(all));
      assert_int_equal(own->count, bf_workload_get(all, at)->count);
    }
    bf_trace_close(trace[way]);
  }
  for (unsigned way = 0; way < 2; way++)
    bf_workload_free(some[way]);
  bf_workload_free(all);
  bf_trace_close(whole);
  unlink(path);
  bf_machine_free(machine);
  bf_text_free(&text);
}

static int read_text(const char *lines, unsigned repeated, unsigned threads, bf_diagnostic *found) {
  bf_machine *machine;
  bf_site_sums *sums;
  bf_text text = {0};
  for (unsigned i = 0; i < repeated; i++)
    bf_text_puts(&text, lines);
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  assert_int_equal(bf_site_sums_create(machine, NULL, BF_LOCK_PLAIN, &sums, NULL), BF_OK);
  bf_trace *trace = open_text(&text, machine);
  bf_site_sums_reading reading = {.threads = threads};
  int error = bf_site_sums_read(sums, trace, "m", &reading, found);
  bf_trace_close(trace);
  bf_site_sums_free(sums);
  bf_machine_free(machine);
  bf_text_free(&text);
  return error;
}

static void what_only_the_whole_shows_is_refused(void **state) {
  (void)state;
  bf_diagnostic found;
  for (unsigned threads = 1; threads < 4; threads++) {
    assert_int_equal(read_text("# nothing\n", 100, threads, &found), BF_BAD_INPUT);
    assert_string_equal(found.message, "the trace holds no access");
    assert_int_equal(read_text("ld 4 1 0 x281474976710656\n", 40000, threads, &found),
                     BF_BAD_INPUT);
    assert_non_null(strstr(found.message, "add up to more than"));
  }
}

/* Of many faults, the first one of the trace is told. */
static void the_first_fault_is_told(void **state) {
  (void)state;
  for (unsigned threads = 1; threads < 4; threads++) {
    bf_diagnostic found = {0};
    assert_int_equal(read_text("ld 4 1 0\nld 4 1 2\n", 60000, threads, &found), BF_BAD_INPUT);
    assert_int_equal(found.line, 2);
  }
}

static bool refuse(void *context, uint64_t bytes, uint64_t size) {
  ++*(int *)context;
  assert_true(bytes <= size);
  return false;
}

static void progress_can_stop(void **state) {
  (void)state;
  bf_machine *machine;
  bf_site_sums *sums;
  bf_text text = {0};
  int calls = 0;
  write_lines(&text, 60000, false);
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  assert_int_equal(bf_site_sums_create(machine, NULL, BF_LOCK_PLAIN, &sums, NULL), BF_OK);
  bf_trace *trace = open_text(&text, machine);
  bf_site_sums_reading reading = {.threads = 1, .progress = refuse, .context = &calls};
  assert_int_equal(bf_site_sums_read(sums, trace, "m", &reading, NULL), BF_STOPPED);
  assert_int_equal(calls, 1);
  bf_trace_close(trace);
  bf_site_sums_free(sums);
  bf_machine_free(machine);
  bf_text_free(&text);
}

/* Where time is up, what was read of a file is its beginning, whole, and the share is told. */
static void files_are_read_as_far_as_there_is_time(void **state) {
  (void)state;
  bf_machine *machine;
  bf_text text = {0};
  char path[16];
  write_repeats(&text, 60000, 3000);
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  bf_workload *all, *some;
  bf_trace *whole = open_text(&text, machine);
  bf_trace *trace[2] = {open_text(&text, machine), open_packed(&text, machine, path)};
  assert_int_equal(bf_workload_take(whole, "m", &all, NULL), BF_OK);
  for (unsigned way = 0; way < 2; way++) {
    bf_reading_limits limits = {.most = SIZE_MAX, .until = 1e-9};
    assert_int_equal(bf_workload_sample(trace[way], "m", &limits, 32, &some, NULL), BF_OK);
    assert_true(limits.read > 0 && limits.read <= 1);
    assert_true(bf_workload_size(some) > 0 && bf_workload_size(some) < bf_workload_size(all));
    for (size_t i = 0; i < bf_workload_size(some); i++)
      assert_true(is_same(bf_workload_get(all, i), bf_workload_get(some, i)));
    bf_workload_free(some);
    bf_trace_close(trace[way]);
  }
  bf_workload_free(all);
  bf_trace_close(whole);
  unlink(path);
  bf_machine_free(machine);
  bf_text_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_are_those_of_single_counts),
      cmocka_unit_test(any_number_of_threads_gives_the_same),
      cmocka_unit_test(repeats_count_as_in_text),
      cmocka_unit_test(repeats_are_in_workloads),
      cmocka_unit_test(some_accesses_are_kept_whole),
      cmocka_unit_test(files_are_read_as_far_as_there_is_time),
      cmocka_unit_test(what_only_the_whole_shows_is_refused),
      cmocka_unit_test(the_first_fault_is_told),
      cmocka_unit_test(progress_can_stop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
