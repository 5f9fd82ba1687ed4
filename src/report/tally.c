/* Tallies: what each site of a workload costs, before and after a hash. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

/* An access with what tells its site from others. */
typedef struct record {
  const bf_access *access;
  size_t index;
  bf_pattern pattern;
  bf_count before, after;
} record;

static int compare_numbers(int64_t x, int64_t y) { return (x > y) - (x < y); }

static int compare_sites(const record *x, const record *y) {
  const char *a = x->access->site, *b = y->access->site;
  if (!a || !b)
    return (a != NULL) - (b != NULL);
  return strcmp(a, b);
}

/* Order in which accesses of one site stand together. */
static int compare_keys(const record *x, const record *y) {
  int order = compare_sites(x, y);
  if (order == 0)
    order = compare_numbers(x->access->op, y->access->op);
  if (order == 0)
    order = compare_numbers(x->access->width_bytes, y->access->width_bytes);
  if (order || x->access->site)
    return order;
  order = compare_numbers(x->pattern.class_, y->pattern.class_);
  if (order == 0)
    order = compare_numbers(x->pattern.stride_x, y->pattern.stride_x);
  return order ? order : compare_numbers(x->pattern.stride_y, y->pattern.stride_y);
}

static int by_key(const void *a, const void *b) {
  const record *x = a, *y = b;
  int order = compare_keys(x, y);
  return order ? order : compare_numbers((int64_t)x->index, (int64_t)y->index);
}

static int worst_site_first(const void *a, const void *b) {
  const bf_tally_site *x = a, *y = b;
  if (x->conflicts != y->conflicts)
    return x->conflicts > y->conflicts ? -1 : 1;
  return compare_numbers((int64_t)x->worst, (int64_t)y->worst);
}

static void add_record(bf_tally_site *site, const record *r, const uint32_t *conflicts) {
  uint64_t times = r->access->count;
  if (site->accesses == 0 || conflicts[r->index] > conflicts[site->worst])
    site->worst = r->index;
  site->accesses++;
  site->executions += times;
  site->wavefronts += times * bf_count_wavefronts(&r->before);
  site->ideal += times * r->before.ideal;
  site->conflicts += times * r->before.conflicts;
  site->conflicts_after += times * r->after.conflicts;
}

static int fill_records(const bf_machine *machine, const bf_workload *workload,
                        const bf_hash *before, const bf_hash *after, record *records,
                        bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    record *r = &records[i];
    r->access = bf_workload_get(workload, i);
    r->index = i;
    r->pattern = bf_access_classify(r->access, machine->lanes, 1);
    int error = bf_memory_count(machine, before, r->access, &r->before, diagnostic);
    if (!error)
      error = bf_memory_count(machine, after, r->access, &r->after, diagnostic);
    if (error)
      return error;
  }
  return BF_OK;
}

/* Sums records, which stand site by site, into the tally. */
static void sum_sites(bf_tally *tally, const record *records, size_t size) {
  for (size_t i = 0; i < size; i++) {
    tally->conflicts[records[i].index] = records[i].before.conflicts;
    tally->conflicts_after[records[i].index] = records[i].after.conflicts;
  }
  for (size_t i = 0; i < size; i++) {
    const bf_access *access = records[i].access;
    if (i == 0 || compare_keys(&records[i - 1], &records[i]) != 0)
      tally->site[tally->sites++] = (bf_tally_site){
          .site = access->site, .op = access->op, .width_bytes = access->width_bytes};
    add_record(&tally->site[tally->sites - 1], &records[i], tally->conflicts);
    add_record(&tally->total, &records[i], tally->conflicts);
  }
  qsort(tally->site, tally->sites, sizeof *tally->site, worst_site_first);
}

int bf_tally_create(const bf_machine *machine, const bf_workload *workload, const bf_hash *before,
                    const bf_hash *after, bf_tally **out, bf_diagnostic *diagnostic) {
  size_t size = bf_workload_size(workload);
  bf_tally *tally = calloc(1, sizeof *tally);
  record *records = calloc(size ? size : 1, sizeof *records);
  int error = BF_OK;
  *out = NULL;
  if (tally) {
    tally->site = bf_arena_alloc(&tally->arena, size * sizeof *tally->site);
    tally->conflicts = bf_arena_alloc(&tally->arena, size * sizeof *tally->conflicts);
    tally->conflicts_after = bf_arena_alloc(&tally->arena, size * sizeof *tally->conflicts_after);
  }
  if (!tally || !records || !tally->site || !tally->conflicts || !tally->conflicts_after)
    error = bf_no_memory(diagnostic);
  if (!error)
    error = fill_records(machine, workload, before, after, records, diagnostic);
  if (!error) {
    qsort(records, size, sizeof *records, by_key);
    sum_sites(tally, records, size);
    *out = tally;
  } else {
    bf_tally_free(tally);
  }
  free(records);
  return error;
}

void bf_tally_free(bf_tally *tally) {
  if (!tally)
    return;
  bf_arena_free(&tally->arena);
  free(tally);
}
