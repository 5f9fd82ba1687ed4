/* Workloads: what is merged, what is kept apart, and limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/access.h"

static bf_access make(uint32_t first, const char *site) {
  return (bf_access){
      .width_bytes = 4, .mask = 3, .count = 1, .site = site, .address = {first, first + 4}};
}

static bf_workload *create(void) {
  bf_workload *workload;
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  return workload;
}

static void equal_accesses_are_merged(void **state) {
  (void)state;
  bf_workload *workload = create();
  bf_access a = make(0, NULL), b = make(8, NULL);
  a.line = 3;
  assert_int_equal(bf_workload_add(workload, &a), BF_OK);
  assert_int_equal(bf_workload_add(workload, &b), BF_OK);
  a.count = 5;
  a.line = 9;
  a.address[2] = 77; /* an inactive lane */
  assert_int_equal(bf_workload_add(workload, &a), BF_OK);
  assert_int_equal(bf_workload_size(workload), 2);
  assert_int_equal(bf_workload_get(workload, 0)->count, 6);
  assert_int_equal(bf_workload_get(workload, 0)->line, 3);
  assert_int_equal(bf_workload_get(workload, 0)->address[2], 0);
  assert_int_equal(bf_workload_get(workload, 1)->count, 1);
  assert_null(bf_workload_get(workload, 2));
  bf_workload_free(workload);
}

static void what_differs_is_kept_apart(void **state) {
  (void)state;
  bf_access variants[6];
  for (int i = 0; i < 6; i++)
    variants[i] = make(0, NULL);
  variants[1].op = BF_OP_ST;
  variants[2].width_bytes = 2;
  variants[3].mask = 1;
  variants[4].address[1] = 8;
  variants[5].site = "k.cu:3";
  bf_workload *workload = create();
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 6; i++)
      assert_int_equal(bf_workload_add(workload, &variants[i]), BF_OK);
  assert_int_equal(bf_workload_size(workload), 6);
  for (size_t i = 0; i < 6; i++)
    assert_int_equal(bf_workload_get(workload, i)->count, 2);
  bf_workload_free(workload);
}

static void sites_belong_to_the_workload(void **state) {
  (void)state;
  bf_workload *workload = create();
  char site[] = "here";
  bf_access access = make(0, site);
  assert_int_equal(bf_workload_add(workload, &access), BF_OK);
  strcpy(site, "gone");
  assert_string_equal(bf_workload_get(workload, 0)->site, "here");
  bf_workload_free(workload);
}

/* Many accesses: all found again, none moved. */
static void many_accesses_stay_where_they_are(void **state) {
  (void)state;
  enum { DISTINCT = 20000 };
  bf_workload *workload = create();
  const bf_access *first = NULL;
  for (uint32_t i = 0; i < 3 * DISTINCT; i++) {
    char site[16];
    sprintf(site, "s%u", i % 100);
    bf_access access = make(i % DISTINCT * 4, site);
    assert_int_equal(bf_workload_add(workload, &access), BF_OK);
    if (i == 0)
      first = bf_workload_get(workload, 0);
  }
  assert_int_equal(bf_workload_size(workload), DISTINCT);
  assert_ptr_equal(first, bf_workload_get(workload, 0));
  for (uint32_t i = 0; i < DISTINCT; i++) {
    const bf_access *access = bf_workload_get(workload, i);
    assert_int_equal(access->address[0], i * 4);
    assert_int_equal(access->count, 3);
  }
  bf_workload_free(workload);
}

static void bad_accesses_are_refused(void **state) {
  (void)state;
  bf_workload *workload = create();
  bf_access bad[5];
  for (int i = 0; i < 5; i++)
    bad[i] = make(0, NULL);
  bad[0].op = BF_OP_COUNT;
  bad[1].width_bytes = 3;
  bad[2].mask = 0;
  bad[3].count = 0;
  bad[4].address[0] = 1;
  for (int i = 0; i < 5; i++)
    assert_int_equal(bf_workload_add(workload, &bad[i]), BF_BAD_INPUT);
  assert_int_equal(bf_workload_size(workload), 0);
  bf_workload_free(workload);
}

static void counts_do_not_overflow(void **state) {
  (void)state;
  bf_workload *workload = create();
  bf_access access = make(0, NULL);
  access.count = BF_EXECUTIONS_MAX;
  assert_int_equal(bf_workload_add(workload, &access), BF_OK);
  access.count = 1;
  assert_int_equal(bf_workload_add(workload, &access), BF_BAD_INPUT);
  access.count = UINT64_MAX;
  assert_int_equal(bf_workload_add(workload, &access), BF_BAD_INPUT);
  assert_int_equal(bf_workload_get(workload, 0)->count, BF_EXECUTIONS_MAX);
  bf_workload_free(workload);
}

/* Lines and distinct accesses of the project's workloads, counted by
 * grep -vc '^#' FILE; grep -v '^#' FILE | sort -u | wc -l. */
static void traces_are_read(void **state) {
  (void)state;
  static const struct {
    const char *path;
    size_t lines, distinct;
  } table[] = {
      {"tests/data/workloads/dct8.trace", 32, 32},
      {"tests/data/workloads/fft1024.trace", 704, 448},
      {"tests/data/workloads/fft512.trace", 320, 224},
      {"tests/data/workloads/nw17.trace", 155, 154},
      {"tests/data/workloads/reduce.trace", 70, 70},
      {"tests/data/workloads/strides64.trace", 64, 64},
      {"tests/data/workloads/tile128.trace", 2048, 2048},
      {"tests/data/workloads/tile32.trace", 128, 128},
      {"tests/data/workloads/tile64.trace", 512, 512},
      {"tests/data/workloads/transpose16.trace", 16, 16},
      {"tests/data/workloads/walsh.trace", 384, 256},
  };
  bf_machine *machine;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    bf_workload *workload;
    assert_int_equal(bf_workload_read(table[i].path, machine, &workload, NULL), BF_OK);
    assert_int_equal(bf_workload_size(workload), table[i].distinct);
    uint64_t executions = 0;
    for (size_t k = 0; k < bf_workload_size(workload); k++)
      executions += bf_workload_get(workload, k)->count;
    assert_int_equal(executions, table[i].lines);
    bf_workload_free(workload);
  }
  bf_machine_free(machine);
}

static void bad_traces_are_not_read(void **state) {
  (void)state;
  bf_machine *machine;
  bf_workload *workload;
  bf_diagnostic found;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  assert_int_equal(bf_workload_read("tests/golden/err_width_3.trace", machine, &workload, &found),
                   BF_BAD_INPUT);
  assert_null(workload);
  assert_int_equal(found.line, 1);
  assert_int_equal(found.column, 4);
  assert_int_equal(bf_workload_read("nowhere.trace", machine, &workload, &found), BF_IO);
  assert_null(workload);
  bf_machine_free(machine);
}

/* What is written is read again; an empty workload leaves no file. */
static void workloads_are_written(void **state) {
  (void)state;
  char path[] = "/tmp/bankfold.XXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  bf_machine *machine;
  bf_workload *workload = create(), *again;
  bf_access a = make(64, "site"), b = make(0, NULL);
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  unlink(path);
  assert_int_equal(bf_workload_write(workload, path, NULL), BF_BAD_INPUT);
  assert_int_not_equal(access(path, F_OK), 0);
  assert_int_equal(bf_workload_add(workload, &a), BF_OK);
  assert_int_equal(bf_workload_add(workload, &b), BF_OK);
  assert_int_equal(bf_workload_write(workload, path, NULL), BF_OK);
  assert_int_equal(bf_workload_read(path, machine, &again, NULL), BF_OK);
  assert_int_equal(bf_workload_size(again), 2);
  assert_string_equal(bf_workload_get(again, 0)->site, "site");
  assert_int_equal(bf_workload_get(again, 0)->address[1], 68);
  bf_workload_free(again);
  bf_workload_free(workload);
  bf_machine_free(machine);
  unlink(path);
}

/* Whether both hold the same accesses in the same order, of up to 32 lanes. */
static void assert_same_accesses(const bf_workload *whole, const bf_workload *narrow) {
  assert_int_equal(bf_workload_size(whole), bf_workload_size(narrow));
  for (size_t i = 0; i < bf_workload_size(whole); i++) {
    const bf_access *a = bf_workload_get(whole, i), *b = bf_workload_get(narrow, i);
    assert_true(a->op == b->op && a->width_bytes == b->width_bytes && a->mask == b->mask);
    assert_true(a->count == b->count && a->line == b->line && !a->site == !b->site);
    assert_memory_equal(a->address, b->address, 32 * sizeof a->address[0]);
  }
}

/* A narrow workload holds what a whole one does, also when accesses are left out. */
static void narrow_workloads_are_the_same(void **state) {
  (void)state;
  bf_workload *whole = create(), *narrow;
  assert_int_equal(bf_workload_create_narrow(&narrow), BF_OK);
  srand(7);
  for (int i = 0; i < 60000; i++) {
    bf_access access = make(0, rand() % 3 ? "a" : NULL);
    access.mask = (uint32_t)rand() | (uint32_t)rand() << 20 | 1;
    access.line = (uint64_t)i;
    for (unsigned lane = 0; lane < 40; lane++)
      access.address[lane] = 4 * ((uint32_t)rand() % (i % 2 ? 9000 : 2));
    if (i % 2)
      access.mask = access.mask % 2 ? 0xFFFFFFFF : 7;
    else
      access.mask &= 0xF;
    assert_int_equal(bf_workload_add(whole, &access), BF_OK);
    assert_int_equal(bf_workload_add(narrow, &access), BF_OK);
    if (i != 40000)
      continue;
    assert_same_accesses(whole, narrow);
    assert_int_equal(bf_workload_thin(whole), BF_OK);
    assert_int_equal(bf_workload_thin(narrow), BF_OK);
    assert_same_accesses(whole, narrow);
  }
  assert_same_accesses(whole, narrow);
  const bf_access last = *bf_workload_get(narrow, bf_workload_size(narrow) - 1); /* all of it */
  assert_true(last.mask != 0);
  bf_access wide = make(0, NULL);
  wide.mask = UINT64_C(1) << 32;
  assert_int_equal(bf_workload_add(whole, &wide), BF_OK);
  assert_int_equal(bf_workload_add(narrow, &wide), BF_BAD_INPUT);
  bf_workload_free(whole);
  bf_workload_free(narrow);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_accesses_are_merged),
      cmocka_unit_test(what_differs_is_kept_apart),
      cmocka_unit_test(sites_belong_to_the_workload),
      cmocka_unit_test(many_accesses_stay_where_they_are),
      cmocka_unit_test(bad_accesses_are_refused),
      cmocka_unit_test(counts_do_not_overflow),
      cmocka_unit_test(traces_are_read),
      cmocka_unit_test(bad_traces_are_not_read),
      cmocka_unit_test(workloads_are_written),
      cmocka_unit_test(narrow_workloads_are_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
