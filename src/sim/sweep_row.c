/* Results as lines of a file: CSV or JSON, one line per point. A line begins with the number of the
 * point and the values of its axes, by which it is known again when the file is read. */
#include "sim/sweep.h"

#include <math.h>
#include <string.h>

/* ---- CSV ---- */

/* Text as a field: in quotes where it needs them, blanks for what would break the line. */
static void add_field(bf_text *text, const char *value) {
  bool quoted = strpbrk(value, ",\"#") != NULL;
  if (quoted)
    bf_text_puts(text, "\"");
  for (const char *c = value; *c; c++) {
    if (*c == '"')
      bf_text_puts(text, "\"");
    bf_text_add(text, (unsigned char)*c < 32 ? " " : c, 1);
  }
  if (quoted)
    bf_text_puts(text, "\"");
}

/* Fields of a line; 0 where a quote is not closed. */
static unsigned count_fields(const char *line, size_t size) {
  unsigned fields = 1;
  bool in_quotes = false;
  for (size_t i = 0; i < size; i++) {
    if (line[i] == '"')
      in_quotes = !in_quotes;
    else if (line[i] == ',' && !in_quotes)
      fields++;
  }
  return in_quotes ? 0 : fields;
}

/* ---- Header ---- */

/* FNV-1a with 64 bits, also over the zero behind the text. */
static uint64_t digest(uint64_t hash, const char *text) {
  do {
    hash ^= (unsigned char)*text;
    hash *= 0x100000001b3ull;
  } while (*text++);
  return hash;
}

/* A number for all that tells sweeps apart: basis, columns, axes and their values. */
static uint64_t signature(const bf_sim_sweep_form *form) {
  uint64_t hash = digest(0xcbf29ce484222325ull, form->basis);
  for (const char *const *name = form->columns; *name; name++)
    hash = digest(hash, *name);
  for (unsigned i = 0; i < form->sweep->axes; i++) {
    const bf_sim_axis *axis = &form->sweep->axis[i];
    hash = digest(digest(hash, ""), axis->name);
    for (unsigned k = 0; k < axis->values; k++)
      hash = digest(hash, axis->value[k]);
  }
  return hash;
}

static void csv_header(const bf_sim_sweep_form *form, const char *sign, bf_text *text) {
  bf_text_addf(text, "# bankfold sweep %s: %s\npoint", sign, form->sweep->text);
  for (unsigned i = 0; i < form->sweep->axes; i++) {
    bf_text_puts(text, ",");
    add_field(text, form->sweep->axis[i].name);
  }
  for (const char *const *name = form->columns; *name; name++) {
    bf_text_puts(text, ",");
    add_field(text, *name);
  }
  bf_text_puts(text, ",error\n");
}

static void json_header(const bf_sim_sweep_form *form, const char *sign, bf_text *text) {
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', true);
  bf_json_string(&json, "signature", sign);
  bf_json_string(&json, "sweep", form->sweep->text);
  bf_json_number(&json, "points", form->sweep->points);
  bf_json_end(&json, '}');
}

void bf_sim_row_header(const bf_sim_sweep_form *form, bf_text *text, size_t *signature_bytes) {
  char sign[17];
  snprintf(sign, sizeof sign, "%016llx", (unsigned long long)signature(form));
  if (form->json)
    json_header(form, sign, text);
  else
    csv_header(form, sign, text);
  const char *at = text->failed ? NULL : strstr(text->data, sign);
  *signature_bytes = at ? (size_t)(at - text->data) + strlen(sign) : 0;
}

/* ---- Writing ---- */

void bf_sim_row_begin(const bf_sim_sweep_form *form, uint64_t point, bf_sim_row *row) {
  *row = (bf_sim_row){.form = form};
  row->json.text = &row->text;
  if (form->json) {
    bf_json_begin(&row->json, NULL, '{', true);
    bf_json_number(&row->json, "point", point);
  } else {
    bf_text_addf(&row->text, "%llu", (unsigned long long)point);
  }
  for (unsigned i = 0; i < form->sweep->axes; i++) {
    const char *value = bf_sim_sweep_value(form->sweep, point, i);
    if (form->json) {
      bf_json_string(&row->json, form->sweep->axis[i].name, value);
    } else {
      bf_text_puts(&row->text, ",");
      add_field(&row->text, value);
    }
  }
}

/* The name of the next column; CSV: goes on to its field. NULL: there are no more. */
static const char *next_column(bf_sim_row *row) {
  const char *name = row->form->columns[row->next];
  if (name) {
    row->next++;
    if (!row->form->json)
      bf_text_puts(&row->text, ",");
  }
  return name;
}

void bf_sim_row_number(bf_sim_row *row, uint64_t value) {
  const char *name = next_column(row);
  if (name && row->form->json)
    bf_json_number(&row->json, name, value);
  else if (name)
    bf_text_addf(&row->text, "%llu", (unsigned long long)value);
}

void bf_sim_row_real(bf_sim_row *row, double value) {
  const char *name = next_column(row);
  if (name && row->form->json)
    bf_json_real(&row->json, name, value);
  else if (name && isfinite(value))
    bf_text_addf(&row->text, "%.10g", value);
}

void bf_sim_row_text(bf_sim_row *row, const char *value) {
  const char *name = next_column(row);
  if (name && row->form->json)
    bf_json_string(&row->json, name, value);
  else if (name && value)
    add_field(&row->text, value);
}

void bf_sim_row_end(bf_sim_row *row, const char *error) {
  while (row->form->columns[row->next])
    bf_sim_row_text(row, NULL);
  if (row->form->json) {
    bf_json_string(&row->json, "error", error);
    bf_json_end(&row->json, '}');
    return;
  }
  bf_text_puts(&row->text, ",");
  if (error)
    add_field(&row->text, error);
  bf_text_puts(&row->text, "\n");
}

/* ---- Reading ---- */

static bool ends_with(const char *line, size_t size, const char *end) {
  size_t length = strlen(end);
  return size >= length && memcmp(line + size - length, end, length) == 0;
}

/* The number at the place where lines have that of their point. */
static bool read_point(const bf_sim_sweep_form *form, const char *line, size_t size,
                       uint64_t *point) {
  size_t from = form->json ? strlen("{\"point\": ") : 0, at = from;
  *point = 0;
  while (at < size && line[at] >= '0' && line[at] <= '9' && *point < form->sweep->points)
    *point = 10 * *point + (uint64_t)(line[at++] - '0');
  return at > from && *point < form->sweep->points;
}

/* Whether the line has as many fields as there are columns. */
static bool has_all_columns(const bf_sim_sweep_form *form, const char *line, size_t size) {
  unsigned fields = 2 + form->sweep->axes;
  for (const char *const *name = form->columns; *name; name++)
    fields++;
  return count_fields(line, size) == fields;
}

bool bf_sim_row_read(const bf_sim_sweep_form *form, const char *line, size_t size, uint64_t *point,
                     bool *has_error) {
  for (size_t i = 0; i < size; i++)
    if ((unsigned char)line[i] < 32)
      return false;
  if (!read_point(form, line, size, point))
    return false;
  bf_sim_row row;
  bf_sim_row_begin(form, *point, &row);
  bool same = !row.text.failed && size > row.text.size && line[row.text.size] == ',' &&
              memcmp(line, row.text.data, row.text.size) == 0;
  bf_text_free(&row.text);
  if (!same)
    return false;
  if (form->json) {
    *has_error = !ends_with(line, size, "\"error\": null}");
    return ends_with(line, size, "}");
  }
  *has_error = !ends_with(line, size, ",");
  return has_all_columns(form, line, size);
}
