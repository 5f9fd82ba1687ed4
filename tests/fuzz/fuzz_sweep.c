/* Texts of sweeps, and lines of result files: whatever parses has points that differ, and the row
 * of any of them is read back as that point's. The first line is one of a result file, the rest the
 * text of the sweep. */
#include "sim/sweep.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const columns[] = {"cycles", "limit", NULL};

/* Values are there, and different from each other. */
static void check_axes(const bf_sim_sweep *sweep) {
  uint64_t points = 1;
  assert(sweep->axes >= 1 && sweep->axes <= BF_SIM_SWEEP_AXES);
  for (unsigned i = 0; i < sweep->axes; i++) {
    const bf_sim_axis *axis = &sweep->axis[i];
    points *= axis->values;
    assert(axis->name[0] && axis->values >= 1 && axis->values <= BF_SIM_SWEEP_VALUES);
    for (unsigned k = 0; k < axis->values; k++)
      assert(axis->value[k][0] && (k == 0 || strcmp(axis->value[k], axis->value[k - 1]) != 0));
  }
  assert(points == sweep->points && points <= BF_SIM_SWEEP_POINTS);
}

/* Writes the row of a point, with text as a result or as an error, and reads it. */
static void check_row(const bf_sim_sweep_form *form, uint64_t point, const char *text,
                      bool has_error) {
  bf_sim_row row;
  uint64_t found;
  bool found_error;
  bf_sim_row_begin(form, point, &row);
  bf_sim_row_number(&row, point);
  bf_sim_row_text(&row, has_error ? NULL : text);
  bf_sim_row_end(&row, has_error ? text : NULL);
  assert(!row.text.failed && memchr(row.text.data, '\n', row.text.size - 1) == NULL);
  assert(bf_sim_row_read(form, row.text.data, row.text.size - 1, &found, &found_error));
  assert(found == point && found_error == has_error);
  bf_text_free(&row.text);
}

static void check_form(const bf_sim_sweep *sweep, bool json, const char *line, size_t size,
                       const char *text) {
  bf_sim_sweep_form form = {sweep, text, columns, json};
  uint64_t point;
  bool has_error;
  if (bf_sim_row_read(&form, line, size, &point, &has_error))
    assert(point < sweep->points);
  check_row(&form, sweep->points - 1, text, false);
  check_row(&form, sweep->points / 2, "an error", true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const uint8_t *end = memchr(data, '\n', size);
  size_t line = end ? (size_t)(end - data) : 0, from = end ? line + 1 : 0;
  char *text = calloc(1, size - from + 1);
  bf_sim_sweep *sweep;
  bf_diagnostic diagnostic;
  if (!text)
    return 0;
  memcpy(text, data + from, size - from);
  if (bf_sim_sweep_parse(text, NULL, NULL, &sweep, &diagnostic) == BF_OK) {
    check_axes(sweep);
    check_form(sweep, false, (const char *)data, line, text);
    check_form(sweep, true, (const char *)data, line, text);
    bf_sim_sweep_free(sweep);
  } else {
    assert(diagnostic.line >= 1 && diagnostic.column >= 1 && diagnostic.message[0]);
  }
  free(text);
  return 0;
}
