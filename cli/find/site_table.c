/* The table of sites. */
#include "cli/find/site_table.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_ROWS = 20 };

static void make_key(const bf_access *access, const bf_pattern *pattern, char *key, size_t size) {
  if (access->site)
    snprintf(key, size, "%s", access->site);
  else
    snprintf(key, size, "%s %u %s", bf_op_name(access->op), access->width_bytes,
             bf_pattern_class_name(pattern->class_));
}

static size_t find_slot(const cli_site_table *summary, const char *key) {
  uint64_t hash = 14695981039346656037u;
  for (const char *at = key; *at; at++)
    hash = (hash ^ (unsigned char)*at) * 1099511628211u;
  size_t slot = hash & (summary->slots - 1);
  while (summary->slot[slot] && strcmp(summary->row[summary->slot[slot] - 1].key, key) != 0)
    slot = (slot + 1) & (summary->slots - 1);
  return slot;
}

static int grow(cli_site_table *summary, bf_diagnostic *diagnostic) {
  size_t capacity = summary->capacity ? summary->capacity * 2 : 64;
  cli_site_table_row *row = realloc(summary->row, capacity * sizeof *row);
  size_t *slot = calloc(capacity * 2, sizeof *slot);
  if (row)
    summary->row = row;
  if (!row || !slot) {
    free(slot);
    return bf_no_memory(diagnostic);
  }
  free(summary->slot);
  summary->slot = slot;
  summary->capacity = capacity;
  summary->slots = capacity * 2;
  for (size_t i = 0; i < summary->count; i++)
    summary->slot[find_slot(summary, summary->row[i].key)] = i + 1;
  return BF_OK;
}

static void note_worst(cli_site_table_row *row, const bf_access *access, const bf_pattern *pattern,
                       const bf_count *count) {
  if (count->conflicts <= row->worst_conflicts)
    return;
  bf_text text = {0};
  bf_pattern_explain(pattern, access, &text);
  row->worst_conflicts = count->conflicts;
  row->worst_line = access->line;
  snprintf(row->worst, sizeof row->worst, "%s", text.data ? text.data : "");
  bf_text_free(&text);
}

int cli_site_table_add(cli_site_table *summary, const bf_machine *machine, const bf_access *access,
                       const bf_count *count, bf_diagnostic *diagnostic) {
  char key[512];
  bf_pattern pattern = bf_access_classify(access, bf_machine_lanes(machine), 1);
  make_key(access, &pattern, key, sizeof key);
  if (summary->count == summary->capacity) {
    BF_TRY(grow(summary, diagnostic));
  }
  size_t slot = find_slot(summary, key);
  if (!summary->slot[slot]) {
    cli_site_table_row *fresh = &summary->row[summary->count];
    *fresh = (cli_site_table_row){.key = bf_arena_copy(&summary->arena, key)};
    if (!fresh->key)
      return bf_no_memory(diagnostic);
    summary->slot[slot] = ++summary->count;
  }
  cli_site_table_row *row = &summary->row[summary->slot[slot] - 1];
  row->accesses += access->count;
  row->wavefronts += access->count * bf_count_wavefronts(count);
  row->ideal += access->count * count->ideal;
  row->conflicts += access->count * count->conflicts;
  note_worst(row, access, &pattern, count);
  return BF_OK;
}

static int compare_rows(const void *a, const void *b) {
  const cli_site_table_row *x = a, *y = b;
  if (x->conflicts != y->conflicts)
    return x->conflicts < y->conflicts ? 1 : -1;
  return strcmp(x->key, y->key);
}

void cli_site_table_sort(cli_site_table *summary) {
  if (summary->count)
    qsort(summary->row, summary->count, sizeof *summary->row, compare_rows);
}

/* Red from eight conflicts per access on, yellow below, green for none. */
static const char *row_color(const cli_site_table_row *row) {
  if (row->conflicts == 0)
    return "\033[32m";
  return row->conflicts >= 8 * row->accesses ? "\033[31m" : "\033[33m";
}

void cli_site_table_write(const cli_site_table *summary, bool color, bf_text *text) {
  bf_text_addf(text, "%12s %12s %12s %12s  %s\n", "accesses", "wavefronts", "ideal", "conflicts",
               "site");
  for (size_t i = 0; i < summary->count && i < SHOWN_ROWS; i++) {
    const cli_site_table_row *row = &summary->row[i];
    bf_text_addf(text, "%12llu %12llu %12llu %s%12llu%s  %s\n", (unsigned long long)row->accesses,
                 (unsigned long long)row->wavefronts, (unsigned long long)row->ideal,
                 color ? row_color(row) : "", (unsigned long long)row->conflicts,
                 color ? "\033[0m" : "", row->key);
    if (row->worst_conflicts)
      bf_text_addf(text, "%54sworst at line %llu, %u conflicts: %s\n", "",
                   (unsigned long long)row->worst_line, row->worst_conflicts, row->worst);
  }
  if (summary->count > SHOWN_ROWS)
    bf_text_addf(text, "%54s... and %zu more\n", "", summary->count - SHOWN_ROWS);
}

void cli_site_table_free(cli_site_table *summary) {
  free(summary->row);
  free(summary->slot);
  bf_arena_free(&summary->arena);
}
