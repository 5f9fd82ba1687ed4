/* Rows of comma-separated fields, as RFC 4180 has them: fields in quotes may hold commas, ends of
 * lines, and doubled quotes. */
#include "ncu/csv.h"

#include <string.h>

/* Copies a field; at moves behind it, to a comma, an end of line, or the end. */
static const char *read_field(bf_csv *csv) {
  const char *at = csv->at, *begin = at;
  bool is_quoted = at < csv->end && *at == '"';
  if (is_quoted) {
    for (at++; at < csv->end && (*at != '"' || (at + 1 < csv->end && at[1] == '"')); at++) {
      csv->next_line += *at == '\n';
      at += *at == '"';
    }
    begin++;
  } else {
    while (at < csv->end && *at != ',' && *at != '\n' && *at != '\r')
      at++;
  }
  size_t size = (size_t)(at - begin), kept = 0;
  char *copy = bf_arena_alloc(csv->arena, size + 1);
  for (size_t i = 0; copy && i < size; i++) {
    copy[kept++] = begin[i] ? begin[i] : ' ';
    i += is_quoted && begin[i] == '"';
  }
  while (is_quoted && at < csv->end && *at != ',' && *at != '\n')
    at++;
  csv->at = at;
  return copy;
}

bool bf_csv_next(bf_csv *csv, bool *has_failed) {
  *has_failed = false;
  csv->fields = 0;
  csv->line = ++csv->next_line;
  if (csv->at >= csv->end)
    return false;
  for (;;) {
    const char *field = read_field(csv);
    *has_failed = !field;
    if (!field)
      return false;
    if (csv->fields < BF_CSV_MOST_FIELDS)
      csv->field[csv->fields++] = field;
    while (csv->at < csv->end && *csv->at == '\r')
      csv->at++;
    if (csv->at >= csv->end)
      return true;
    if (*csv->at++ == '\n')
      return true;
  }
}
