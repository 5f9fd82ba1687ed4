/* The text of a sweep. Functions are named after what they read:
 *   sweep: axis (';' axis)*      axis: name '=' values ('|' values)*
 *   values: a range, or any text without '|' and ';'
 *   range: FIRST '..' LAST ['+' STEP | '*' FACTOR]
 * Blanks around names and values mean nothing. */
#include "sim/sweep.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
  const char *text, *cursor;
  bf_sim_sweep *sweep;
  bf_sim_axis_check *check;
  void *context;
  bf_diagnostic *diagnostic;
} parser;

/* A stretch of the text, without blanks around it. */
typedef struct stretch {
  const char *from, *end;
} stretch;

/* ---- Faults ---- */

/* Refuses what is at `at`; the diagnostic has its line and column. */
static int fail_at(const parser *p, const char *at, const char *format, ...) BF_PRINTF(3, 4);
static int fail_at(const parser *p, const char *at, const char *format, ...) {
  char message[sizeof p->diagnostic->message];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  uint64_t line = 1;
  const char *start = p->text;
  for (const char *c = p->text; c < at; c++)
    if (*c == '\n') {
      line++;
      start = c + 1;
    }
  return bf_fail_at(p->diagnostic, "--sweep", line, start, at, "%s", message);
}

/* Asks the caller about a name or a value, which stands at `at`. A fault inside of the value keeps
 * its column. */
static int ask(const parser *p, const char *at, const char *name, const char *value) {
  bf_diagnostic inner = {0};
  int error = p->check ? p->check(p->context, name, value, &inner) : BF_OK;
  if (error != BF_BAD_INPUT && error != BF_UNSUPPORTED) {
    if (error && p->diagnostic)
      *p->diagnostic = inner;
    return error;
  }
  bool is_inside = value && inner.column > 0 && (int32_t)inner.column == inner.caret + 1 &&
                   strncmp(inner.excerpt, value, strlen(value)) == 0;
  if (is_inside && strncmp(at, value, strlen(value)) == 0)
    at += inner.caret;
  return fail_at(p, at, "%s", inner.message);
}

/* ---- Values ---- */

/* What is between the cursor and the next of the characters in stop, where the cursor is left. */
static stretch until(parser *p, const char *stop) {
  stretch found = {p->cursor, p->cursor + strcspn(p->cursor, stop)};
  p->cursor = found.end;
  while (found.from < found.end && isspace((unsigned char)*found.from))
    found.from++;
  while (found.end > found.from && isspace((unsigned char)found.end[-1]))
    found.end--;
  return found;
}

static char *copy(parser *p, stretch of) {
  size_t size = (size_t)(of.end - of.from);
  char *text = bf_arena_alloc(&p->sweep->arena, size + 1);
  if (text)
    memcpy(text, of.from, size);
  return text;
}

/* Adds a value, which stands at `at`, to an axis that has not got it. */
static int add_value(parser *p, bf_sim_axis *axis, const char *value, const char *at) {
  if (!value)
    return bf_no_memory(p->diagnostic);
  for (unsigned i = 0; i < axis->values; i++)
    if (strcmp(axis->value[i], value) == 0)
      return fail_at(p, at, "%s has the value %s twice", axis->name, value);
  if (axis->values == BF_SIM_SWEEP_VALUES)
    return fail_at(p, at, "%s has more than %d values", axis->name, BF_SIM_SWEEP_VALUES);
  if (axis->values == axis->capacity) {
    unsigned capacity = axis->capacity ? 2 * axis->capacity : 8;
    const char **grown = bf_arena_alloc(&p->sweep->arena, capacity * sizeof *grown);
    if (!grown)
      return bf_no_memory(p->diagnostic);
    if (axis->values)
      memcpy(grown, axis->value, axis->values * sizeof *grown);
    axis->value = grown;
    axis->capacity = capacity;
  }
  BF_TRY(ask(p, at, axis->name, value));
  axis->value[axis->values++] = value;
  return BF_OK;
}

/* Whether a value is meant as a range: digits, then "..". */
static bool is_range(stretch value) {
  const char *at = value.from;
  while (at < value.end && isdigit((unsigned char)*at))
    at++;
  return at > value.from && value.end - at >= 2 && at[0] == '.' && at[1] == '.';
}

typedef struct number_range {
  uint64_t first, last, step;
  bool multiplies;
} number_range;

/* Reads a whole number and moves *at behind it. */
static int range_number(const parser *p, const char **at, const char *what, uint64_t *number) {
  const char *start = *at;
  if (!isdigit((unsigned char)*start) || !bf_parse_number(at, number))
    return fail_at(p, start, "expected %s of a range: a whole number", what);
  return BF_OK;
}

static int read_range(const parser *p, stretch text, number_range *range) {
  const char *at = text.from;
  range->step = 1;
  range->multiplies = false;
  BF_TRY(range_number(p, &at, "the first number", &range->first));
  at += 2;
  const char *last = at;
  BF_TRY(range_number(p, &at, "the last number", &range->last));
  if (range->last < range->first)
    return fail_at(p, last, "a range goes up: %.*s is empty", (int)(text.end - text.from),
                   text.from);
  if (at < text.end && (*at == '+' || *at == '*')) {
    range->multiplies = *at == '*';
    const char *step = ++at;
    BF_TRY(range_number(p, &at, range->multiplies ? "the factor" : "the step", &range->step));
    if (range->step < (range->multiplies ? 2 : 1))
      return fail_at(p, step,
                     range->multiplies ? "the factor of a range is at least 2"
                                       : "the step of a range is at least 1");
    if (range->multiplies && range->first == 0)
      return fail_at(p, text.from, "a range with a factor begins with at least 1");
  }
  if (at != text.end)
    return fail_at(p, at, "expected the end of the range, +STEP or *FACTOR");
  return BF_OK;
}

static int add_range(parser *p, bf_sim_axis *axis, stretch text) {
  number_range range;
  BF_TRY(read_range(p, text, &range));
  for (uint64_t value = range.first;;) {
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    BF_TRY(add_value(p, axis, bf_arena_copy(&p->sweep->arena, digits), text.from));
    uint64_t next = range.multiplies ? value * range.step : value + range.step;
    bool overflows = range.multiplies ? next / range.step != value : next < value;
    if (overflows || next > range.last)
      return BF_OK;
    value = next;
  }
}

/* ---- Axes ---- */

static int read_values(parser *p, bf_sim_axis *axis) {
  for (;;) {
    const char *start = p->cursor;
    stretch value = until(p, "|;");
    if (value.from == value.end)
      return fail_at(p, start, "expected a value of %s", axis->name);
    if (is_range(value))
      BF_TRY(add_range(p, axis, value));
    else
      BF_TRY(add_value(p, axis, copy(p, value), value.from));
    if (*p->cursor != '|')
      return BF_OK;
    p->cursor++;
  }
}

static int read_name(parser *p, bf_sim_axis *axis) {
  stretch name = until(p, "=|;");
  if (name.from == name.end)
    return fail_at(p, name.from, "expected the name of an axis");
  if (*p->cursor != '=')
    return fail_at(p, p->cursor, "expected '=' and values behind %.*s", (int)(name.end - name.from),
                   name.from);
  p->cursor++;
  axis->name = copy(p, name);
  if (!axis->name)
    return bf_no_memory(p->diagnostic);
  for (unsigned i = 0; i < p->sweep->axes; i++)
    if (strcmp(p->sweep->axis[i].name, axis->name) == 0)
      return fail_at(p, name.from, "there is an axis %s already", axis->name);
  return ask(p, name.from, axis->name, NULL);
}

static int read_axis(parser *p) {
  bf_sim_sweep *sweep = p->sweep;
  const char *start = p->cursor;
  if (sweep->axes == BF_SIM_SWEEP_AXES)
    return fail_at(p, start, "a sweep has at most %d axes", BF_SIM_SWEEP_AXES);
  bf_sim_axis *axis = &sweep->axis[sweep->axes];
  BF_TRY(read_name(p, axis));
  BF_TRY(read_values(p, axis));
  sweep->axes++;
  sweep->points *= axis->values;
  if (sweep->points > BF_SIM_SWEEP_POINTS)
    return fail_at(p, start, "with this axis there are %llu points; a sweep has at most %d",
                   (unsigned long long)sweep->points, BF_SIM_SWEEP_POINTS);
  return BF_OK;
}

static int read_sweep(parser *p) {
  for (;;) {
    BF_TRY(read_axis(p));
    if (*p->cursor != ';')
      return BF_OK;
    p->cursor++;
  }
}

/* The text with all blanks as spaces. */
static char *on_one_line(bf_arena *arena, const char *text) {
  char *line = bf_arena_copy(arena, text);
  for (char *c = line; c && *c; c++)
    if (isspace((unsigned char)*c) || iscntrl((unsigned char)*c))
      *c = ' ';
  return line;
}

int bf_sim_sweep_parse(const char *text, bf_sim_axis_check *check, void *context,
                       bf_sim_sweep **sweep, bf_diagnostic *diagnostic) {
  *sweep = NULL;
  parser p = {text, text, calloc(1, sizeof(bf_sim_sweep)), check, context, diagnostic};
  if (!p.sweep)
    return bf_no_memory(p.diagnostic);
  p.sweep->points = 1;
  int error = read_sweep(&p);
  if (!error && !(p.sweep->text = on_one_line(&p.sweep->arena, text)))
    error = bf_no_memory(p.diagnostic);
  if (error)
    bf_sim_sweep_free(p.sweep);
  else
    *sweep = p.sweep;
  return error;
}

const char *bf_sim_sweep_value(const bf_sim_sweep *sweep, uint64_t point, unsigned axis) {
  for (unsigned i = sweep->axes - 1; i > axis; i--)
    point /= sweep->axis[i].values;
  return sweep->axis[axis].value[point % sweep->axis[axis].values];
}

bool bf_sim_sweep_varies(const bf_sim_sweep *sweep, const char *name) {
  for (unsigned i = 0; i < sweep->axes; i++)
    if (sweep->axis[i].values > 1 && strcmp(sweep->axis[i].name, name) == 0)
      return true;
  return false;
}

void bf_sim_sweep_free(bf_sim_sweep *sweep) {
  if (!sweep)
    return;
  bf_arena_free(&sweep->arena);
  free(sweep);
}
