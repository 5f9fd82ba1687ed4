/* Random traces of every kind - strides, blocks and gathers, some lanes, repeated and moved, with
 * changing operations, counts and sites - read in every way: packed and as text, all lanes at once
 * and lane by lane, access by access, summed up and merged. All must find the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/access.h"
#include "memory/site_sums.h"
#include "random.h"
#include "same_sums.h"

enum { ACCESSES = 6000, ALLOCATION = 48 << 10, GATHERED = 40 << 10, KEPT = 40 };

/* ---- Random accesses ---- */

enum { STRIDE, BLOCK, GATHER, NEARLY, KINDS };

/* Addresses of one of the kinds, multiples of the width. */
static void draw_addresses(test_random *random, unsigned kind, bf_access *access) {
  unsigned width = access->width_bytes;
  unsigned elements = (unsigned)(random_below(random, 3) ? 2048 : ALLOCATION / width);
  unsigned stride = (unsigned)random_below(random, elements / 64 + 1), row = 0;
  unsigned columns = 1U << random_below(random, 6), base = 0;
  if (kind == BLOCK)
    row = (unsigned)random_below(random, elements / 64 + 1);
  base = (unsigned)random_below(random, elements / 2);
  for (unsigned lane = 0; lane < 32; lane++) {
    unsigned element = base + stride * (lane % columns) + row * (lane / columns);
    if (kind == GATHER || (kind == NEARLY && lane == 17))
      element = (unsigned)random_below(random, elements);
    access->address[lane] = element % elements * width;
  }
}

/* The next access: now and then one of the last ones, moved or with another site. */
static bf_access draw_access(test_random *random, const bf_access *kept, uint64_t number) {
  static const char *const sites[] = {"a.cu:1", "b.cu:22", "c", "kernel<float>.cu:333"};
  static const bf_op ops[] = {BF_OP_LD, BF_OP_ST, BF_OP_ATOM};
  bf_access access = kept[random_below(random, KEPT)];
  if (number < KEPT || random_below(random, 3) == 0) {
    if (number < KEPT || random_below(random, 8) == 0) {
      access.op = ops[random_below(random, 3)];
      access.width_bytes = access.op == BF_OP_ATOM ? 4 : 1U << random_below(random, 5);
    }
    if (number < KEPT || random_below(random, 3) == 0)
      access.mask = random_below(random, 2) ? UINT32_MAX : (random_bits(random) >> 32) | 1;
    draw_addresses(random, (unsigned)random_below(random, KINDS), &access);
  } else if (random_below(random, 2)) {
    uint32_t move = (uint32_t)random_below(random, 64) * 16;
    for (unsigned lane = 0; lane < 32; lane++)
      access.address[lane] = (access.address[lane] + move) % ALLOCATION;
  }
  for (unsigned lane = 0; lane < 32; lane++)
    if (!(access.mask >> lane & 1))
      access.address[lane] = 0;
  unsigned site = (unsigned)random_below(random, 6);
  access.site = site < 4 ? sites[site] : site == 4 ? NULL : access.site;
  access.count = random_below(random, 50) ? 1 : 1 + random_below(random, 9);
  access.line = number + 1;
  return access;
}

static bf_access *draw_trace(test_random *random) {
  bf_access *all = calloc(ACCESSES, sizeof *all);
  assert_non_null(all);
  static bf_access kept[KEPT];
  memset(kept, 0, sizeof kept);
  for (uint64_t i = 0; i < ACCESSES; i++)
    kept[i % KEPT] = all[i] = draw_access(random, kept, i);
  return all;
}

/* The same with nothing but gathers of one operation, which are listed in numbers of equal length.
 */
static bf_access *draw_gathers(test_random *random) {
  bf_access *all = draw_trace(random);
  for (uint64_t i = 0; i < ACCESSES; i++) {
    all[i].op = BF_OP_LD;
    all[i].width_bytes = 16;
    for (unsigned lane = 0; lane < 32; lane++) {
      uint32_t address = (uint32_t)random_below(random, 2048) * all[i].width_bytes;
      all[i].address[lane] = all[i].mask >> lane & 1 ? address : 0;
    }
  }
  return all;
}

/* ---- Files ---- */

static void write_trace(const char *path, bool packed, const bf_access *accesses) {
  bf_trace_writer *writer;
  assert_int_equal(bf_trace_writer_open(path, packed, &writer, NULL), BF_OK);
  for (size_t i = 0; i < ACCESSES; i++)
    assert_int_equal(bf_trace_writer_add(writer, &accesses[i], NULL), BF_OK);
  assert_int_equal(bf_trace_writer_commit(writer, NULL), BF_OK);
  bf_trace_writer_close(writer);
}

/* Both forms of a trace in files of their own. */
typedef struct files {
  char packed[32], text[32];
} files;

static files write_files(const bf_access *accesses) {
  files made = {"/tmp/bankfold_test_XXXXXX", "/tmp/bankfold_test_XXXXXX"};
  close(mkstemp(made.packed));
  close(mkstemp(made.text));
  write_trace(made.packed, true, accesses);
  write_trace(made.text, false, accesses);
  return made;
}

static void remove_files(const files *made) {
  unlink(made->packed);
  unlink(made->text);
}

/* ---- The same in every way ---- */

static void assert_same_access(const bf_access *a, const bf_access *b, size_t lanes) {
  assert_int_equal(a->op, b->op);
  assert_int_equal(a->width_bytes, b->width_bytes);
  assert_int_equal(a->mask, b->mask);
  assert_int_equal(a->count, b->count);
  assert_int_equal(a->line, b->line);
  assert_int_equal(a->site == NULL, b->site == NULL);
  if (a->site)
    assert_string_equal(a->site, b->site);
  assert_memory_equal(a->address, b->address, lanes * sizeof a->address[0]);
}

static void every_access_is_read(void **state) {
  (void)state;
  test_random random = {11};
  for (int round = 0; round < 6; round++) {
    bf_access *all = draw_trace(&random);
    files made = write_files(all);
    for (unsigned way = 0; way < 3; way++) {
      bf_trace_limits limits = {.lanes = way == 1 ? 64 : 32, .allocation_bytes = ALLOCATION + 16};
      bf_trace *trace;
      const bf_access *read;
      size_t number = 0;
      assert_int_equal(bf_trace_open(way == 2 ? made.text : made.packed, &limits, &trace, NULL), 0);
      for (; bf_trace_step(trace, &read, NULL) == 1; number++)
        assert_same_access(&all[number], read, 32);
      assert_int_equal(number, ACCESSES);
      bf_trace_close(trace);
    }
    remove_files(&made);
    free(all);
  }
}

static bf_site_sums *sum_file(const char *path, const bf_machine *machine, unsigned threads,
                              bool by_class) {
  bf_trace_limits limits = bf_machine_limits(machine);
  bf_site_sums_reading reading = {.threads = threads};
  bf_site_sums *sums;
  bf_trace *trace;
  assert_int_equal(bf_trace_open(path, &limits, &trace, NULL), BF_OK);
  assert_int_equal(bf_site_sums_create(machine, NULL, BF_LOCK_PLAIN, &sums, NULL), BF_OK);
  if (by_class)
    bf_site_sums_by_class(sums);
  assert_int_equal(bf_site_sums_read(sums, trace, path, &reading, NULL), BF_OK);
  bf_trace_close(trace);
  return sums;
}

static void sums_are_the_same(void **state) {
  (void)state;
  test_random random = {23};
  bf_machine *machine;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  for (int round = 0; round < 6; round++) {
    bf_access *all = draw_trace(&random);
    files made = write_files(all);
    bf_site_sums *known = sum_file(made.text, machine, 2, round & 1);
    for (unsigned threads = 1; threads <= 3; threads++) {
      bf_site_sums *sums = sum_file(made.packed, machine, threads, round & 1);
      assert_same_sums(known, sums);
      bf_site_sums_free(sums);
    }
    bf_site_sums_free(known);
    remove_files(&made);
    free(all);
  }
  bf_machine_free(machine);
}

/* A workload from a packed trace, from text, and put together access by access. */
static void workloads_are_the_same(void **state) {
  (void)state;
  test_random random = {37};
  bf_machine *machine;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  for (int round = 0; round < 6; round++) {
    bf_access *all = draw_trace(&random);
    files made = write_files(all);
    bf_workload *load[3];
    assert_int_equal(bf_workload_create(&load[0]), BF_OK);
    for (size_t i = 0; i < ACCESSES; i++)
      assert_int_equal(bf_workload_add(load[0], &all[i]), BF_OK);
    assert_int_equal(bf_workload_read(made.packed, machine, &load[1], NULL), BF_OK);
    assert_int_equal(bf_workload_read(made.text, machine, &load[2], NULL), BF_OK);
    for (int i = 1; i < 3; i++) {
      assert_int_equal(bf_workload_size(load[0]), bf_workload_size(load[i]));
      for (size_t k = 0; k < bf_workload_size(load[0]); k++)
        assert_same_access(bf_workload_get(load[0], k), bf_workload_get(load[i], k), BF_MAX_LANES);
    }
    for (int i = 0; i < 3; i++)
      bf_workload_free(load[i]);
    remove_files(&made);
    free(all);
  }
  bf_machine_free(machine);
}

/* ---- Damage ---- */

static size_t unpack(const char *path, unsigned char *bytes, size_t most) {
  bf_reader *reader;
  size_t size = 0, got = 1;
  assert_int_equal(bf_reader_open(path, &reader, NULL), BF_OK);
  while (got) {
    assert_int_equal(bf_reader_read(reader, bytes + size, most - size, &got, NULL), BF_OK);
    size += got;
  }
  bf_reader_close(reader);
  return size;
}

/* Reads two traces of the same damaged bytes, all lanes at once and lane by lane, which must find
 * the same accesses and the same fault, as long as no access has lanes that only one of them knows.
 */
static void assert_same_reading(const unsigned char *bytes, size_t size, uint64_t allocation) {
  const bf_trace_limits narrow = {.lanes = 32, .allocation_bytes = allocation};
  const bf_trace_limits wide = {.lanes = 64, .allocation_bytes = allocation};
  bf_diagnostic found[2] = {{.caret = -1}, {.caret = -1}};
  bf_trace *trace[2];
  const bf_access *read[2];
  int result[2] = {1, 1};
  if (bf_trace_open_memory("m", bytes, size, BF_TRACE_OWN, &narrow, &trace[0], NULL) != BF_OK)
    return;
  assert_int_equal(bf_trace_open_memory("m", bytes, size, BF_TRACE_OWN, &wide, &trace[1], NULL), 0);
  while (result[0] == 1 && result[1] == 1) {
    for (int i = 0; i < 2; i++)
      result[i] = bf_trace_step(trace[i], &read[i], &found[i]);
    if (result[1] == 1 && read[1]->mask > UINT32_MAX)
      break;
    assert_int_equal(result[0], result[1]);
    if (result[0] == 1)
      assert_same_access(read[0], read[1], 32);
    else if (result[0] < 0 && !strstr(found[0].message, "lane"))
      assert_string_equal(found[0].message, found[1].message);
  }
  bf_trace_close(trace[0]);
  bf_trace_close(trace[1]);
}

/* Where the last byte of an access ends. */
static uint64_t end_of(const bf_access *access) {
  uint64_t highest = 0;
  for (unsigned lane = 0; lane < 32; lane++)
    highest = access->address[lane] > highest ? access->address[lane] : highest;
  return highest + access->width_bytes;
}

/* Reads a trace with less memory than some of its accesses need, and with bytes that are wrong. */
static void damage(test_random *random, bf_access *all, uint64_t allocation) {
  enum { ROOM = 1 << 21, MOST = 6000 };
  files made = write_files(all);
  unsigned char *bytes = malloc(ROOM);
  assert_non_null(bytes);
  size_t size = unpack(made.packed, bytes, ROOM);
  assert_true(size > MOST);
  assert_same_reading(bytes, size, allocation);
  for (size_t i = 1; i < 300; i++)
    assert_same_reading(bytes, size, end_of(&all[i]) - 1);
  for (int round = 0; round < 6000; round++) {
    size_t at = 9 + random_below(random, MOST - 300), many = 1 + random_below(random, 3);
    unsigned char before[3];
    memcpy(before, bytes + at, many);
    for (size_t i = 0; i < many; i++)
      bytes[at + i] ^=
          (unsigned char)(round & 1 ? 1U << random_below(random, 8) : random_below(random, 256));
    assert_same_reading(bytes, MOST, allocation);
    memcpy(bytes + at, before, many);
  }
  free(bytes);
  remove_files(&made);
  free(all);
}

static void damage_is_found_in_both_ways(void **state) {
  (void)state;
  test_random random = {41};
  damage(&random, draw_trace(&random), ALLOCATION);
  damage(&random, draw_gathers(&random), GATHERED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_access_is_read),
      cmocka_unit_test(sums_are_the_same),
      cmocka_unit_test(workloads_are_the_same),
      cmocka_unit_test(damage_is_found_in_both_ways),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
