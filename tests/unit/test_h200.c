/* The hopper model against the counters of an H200 (tests/data/h200): every row of
 * shared_access.csv, and every row of shared_ops.csv whose rule is known. */
#include "memory/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct row {
  char id[64], op[32];
  bf_access access;
  double column[8]; /* what stands between the mask and the addresses */
} row;

/* Splits one line of either file; `columns` numbers stand between mask and addresses. */
static void parse_row(char *line, unsigned columns, row *out) {
  char *field = strtok(line, ",");
  snprintf(out->id, sizeof out->id, "%s", field);
  if (bf_op_find(field) < 0) /* cp16.csv has no identifiers */
    field = strtok(NULL, ",");
  snprintf(out->op, sizeof out->op, "%s", field);
  memset(&out->access, 0, sizeof out->access);
  int op = bf_op_find(out->op);
  assert_true(op >= 0);
  out->access.op = (bf_op)op;
  out->access.width_bytes = (unsigned)atoi(strtok(NULL, ","));
  out->access.mask = strtoull(strtok(NULL, ","), NULL, 16);
  out->access.count = 1;
  for (unsigned i = 0; i < columns; i++)
    out->column[i] = atof(strtok(NULL, ","));
  for (unsigned lane = 0; lane < 32; lane++)
    out->access.address[lane] = (uint32_t)strtoul(strtok(NULL, " \n"), NULL, 10);
}

typedef void (*row_check)(const row *r, const bf_count *count, unsigned *wrong);

static unsigned for_each_row(const char *name, unsigned columns, row_check check, unsigned *wrong) {
  char path[1024], line[4096];
  snprintf(path, sizeof path, "tests/data/h200/%s", name);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  bf_machine *machine;
  bf_hash *none;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, &diagnostic), BF_OK);
  bf_geometry geometry = bf_machine_geometry(machine);
  assert_int_equal(bf_hash_parse("none", &geometry, &none, &diagnostic), BF_OK);
  unsigned rows = 0;
  assert_non_null(fgets(line, sizeof line, file));
  while (fgets(line, sizeof line, file)) {
    row r;
    bf_count count;
    parse_row(line, columns, &r);
    assert_int_equal(bf_memory_count(machine, none, &r.access, &count, &diagnostic), BF_OK);
    check(&r, &count, wrong);
    rows++;
  }
  fclose(file);
  bf_hash_free(none);
  bf_machine_free(machine);
  return rows;
}

static void check_access(const row *r, const bf_count *count, unsigned *wrong) {
  bool same = count->wavefronts_load == r->column[0] && count->wavefronts_store == r->column[1] &&
              count->wavefronts_atomic == r->column[2];
  if (!same) {
    print_message("%s %s %u: %u/%u/%u, measured %g/%g/%g\n", r->id, r->op, r->access.width_bytes,
                  count->wavefronts_load, count->wavefronts_store, count->wavefronts_atomic,
                  r->column[0], r->column[1], r->column[2]);
    ++*wrong;
  }
}

static void every_access_row(void **state) {
  (void)state;
  unsigned wrong = 0;
  assert_int_equal(for_each_row("shared_access.csv", 4, check_access, &wrong), 1270);
  assert_int_equal(wrong, 0);
}

/* Columns: load, store, atomic, ldmatrix, stmatrix, cpasync, lock iterations, cycles. */
static void check_op(const row *r, const bf_count *count, unsigned *wrong) {
  if (r->access.op == BF_OP_ADD64) /* operands were not recorded, and some were 0; see */
    return;                        /* test_h200_sources.c */
  double store = r->column[1] + (r->column[1] == 0 ? r->column[4] + r->column[5] : 0);
  bool same = count->wavefronts_load == r->column[0] && count->wavefronts_store == store &&
              count->wavefronts_atomic == r->column[2] && count->lock_iterations == r->column[6];
  if (!same) {
    print_message("%s %s: %u/%u/%u/%u, measured %g/%g/%g/%g\n", r->id, r->op,
                  count->wavefronts_load, count->wavefronts_store, count->wavefronts_atomic,
                  count->lock_iterations, r->column[0], store, r->column[2], r->column[6]);
    ++*wrong;
  }
}

static void every_op_row_with_a_rule(void **state) {
  (void)state;
  unsigned wrong = 0;
  assert_int_equal(for_each_row("shared_ops.csv", 8, check_op, &wrong), 680);
  assert_int_equal(wrong, 0);
}

/* Columns of cp16.csv: wavefronts. */
static void check_copy(const row *r, const bf_count *count, unsigned *wrong) {
  if (count->wavefronts_store != r->column[0]) {
    print_message("%s %08llx: %u, measured %g\n", r->op, (unsigned long long)r->access.mask,
                  count->wavefronts_store, r->column[0]);
    ++*wrong;
  }
}

static void every_copy_row(void **state) {
  (void)state;
  unsigned wrong = 0;
  assert_int_equal(for_each_row("cp16.csv", 1, check_copy, &wrong), 1288);
  assert_int_equal(wrong, 0);
}

static void no_op_is_estimated(void **state) {
  (void)state;
  bf_machine *machine;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, &diagnostic), BF_OK);
  for (int op = 0; op < BF_OP_COUNT; op++)
    assert_false(machine->op[op].estimated);
  bf_machine_free(machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_access_row),
      cmocka_unit_test(every_op_row_with_a_rule),
      cmocka_unit_test(every_copy_row),
      cmocka_unit_test(no_op_is_estimated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
