/* Liberty groups to cells. Tables may have their variables in either order and units may differ;
 * both are settled here, once. */
#include "rtl/liberty.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 64 }; /* on an axis of a table */

typedef struct builder {
  const char *file;
  bf_liberty *library;
  const bf_liberty_group *top;
  double ns, pf, pj, nw; /* what the file's units are, in ours */
  bf_diagnostic *diagnostic;
} builder;

static int fail_line(const builder *b, unsigned line, const char *format, const char *what) {
  bf_fail_file(b->diagnostic, BF_BAD_INPUT, b->file, format, what);
  if (b->diagnostic)
    b->diagnostic->line = line;
  return BF_BAD_INPUT;
}

/* ---- Attributes ---- */

static const bf_liberty_group *child(const bf_liberty_group *group, const char *kind) {
  for (const bf_liberty_group *at = group->children; at; at = at->next)
    if (strcmp(at->kind, kind) == 0)
      return at;
  return NULL;
}

/* The value of an attribute, or NULL. */
static const char *value_of(const bf_liberty_group *group, const char *kind) {
  const bf_liberty_group *at = child(group, kind);
  return at && !at->is_group ? at->value : NULL;
}

static bool value_is(const bf_liberty_group *group, const char *kind, const char *value) {
  const char *own = value_of(group, kind);
  return own && strcmp(own, value) == 0;
}

static int read_number(const builder *b, const bf_liberty_group *group, const char *kind,
                       double otherwise, double *number) {
  const bf_liberty_group *at = child(group, kind);
  char *end;
  *number = otherwise;
  if (!at)
    return BF_OK;
  *number = strtod(at->value, &end);
  if (end == at->value || *end || !isfinite(*number))
    return fail_line(b, at->line, "'%s' is not a number", kind);
  return BF_OK;
}

/* ---- Units ---- */

/* "1ns" in units of `unit`, which is a letter before "s", "V", "W" or "f": n, p, f, u, m or none.
 */
static bool read_unit(const char *text, const char *symbol, double *value) {
  static const struct {
    char letter;
    double scale;
  } prefixes[] = {{'m', 1e-3}, {'u', 1e-6}, {'n', 1e-9}, {'p', 1e-12}, {'f', 1e-15}};
  char *end;
  *value = strtod(text, &end);
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (*end == prefixes[i].letter && strcasecmp(end + 1, symbol) == 0) {
      *value *= prefixes[i].scale;
      return *value > 0 && isfinite(*value);
    }
  return end != text && strcasecmp(end, symbol) == 0 && *value > 0 && isfinite(*value);
}

static int read_unit_of(const builder *b, const char *kind, const char *symbol, double otherwise,
                        double *value) {
  const bf_liberty_group *at = child(b->top, kind);
  *value = otherwise;
  if (at && !read_unit(at->value, symbol, value))
    return fail_line(b, at->line, "'%s' is no unit that is known", kind);
  return BF_OK;
}

/* capacitive_load_unit (1,pf) as farads. */
static int read_load_unit(const builder *b, double *farad) {
  const bf_liberty_group *at = child(b->top, "capacitive_load_unit");
  char text[32];
  size_t length = 0;
  *farad = 1e-12;
  if (!at)
    return BF_OK;
  for (const char *c = at->value; *c && length + 1 < sizeof text; c++)
    if (*c != ',' && *c != ' ')
      text[length++] = *c;
  text[length] = 0;
  if (!read_unit(text, "f", farad))
    return fail_line(b, at->line, "'%s' is no unit that is known", at->kind);
  return BF_OK;
}

static int read_units(builder *b) {
  double second, volt, watt, farad;
  BF_TRY(read_unit_of(b, "time_unit", "s", 1e-9, &second));
  BF_TRY(read_unit_of(b, "voltage_unit", "V", 1, &volt));
  BF_TRY(read_unit_of(b, "leakage_power_unit", "W", 1e-9, &watt));
  BF_TRY(read_load_unit(b, &farad));
  BF_TRY(read_number(b, b->top, "nom_voltage", 1, &b->library->voltage));
  b->library->voltage *= volt;
  b->ns = second * 1e9;
  b->pf = farad * 1e12;
  b->nw = watt * 1e9;
  b->pj = farad * volt * volt * 1e12;
  return BF_OK;
}

/* ---- Tables ---- */

/* Numbers separated by commas and blanks, times scale. */
static int read_numbers(const builder *b, const bf_liberty_group *at, double scale, unsigned most,
                        double **numbers, unsigned *count) {
  const char *cursor = at->value;
  double *made = bf_arena_alloc(&b->library->arena, (most + 1) * sizeof *made);
  *count = 0;
  if (!made)
    return bf_no_memory(b->diagnostic);
  for (;;) {
    cursor += strspn(cursor, ", ");
    if (!*cursor)
      break;
    char *end;
    double number = strtod(cursor, &end);
    if (end == cursor || !isfinite(number))
      return fail_line(b, at->line, "'%s': expected numbers", at->kind);
    if (*count == most)
      return fail_line(b, at->line, "'%s' has too many numbers", at->kind);
    made[(*count)++] = number * scale;
    cursor = end;
  }
  *numbers = made;
  return BF_OK;
}

/* The template that a table names, or NULL. */
static const bf_liberty_group *template_of(const builder *b, const bf_liberty_group *table) {
  for (const bf_liberty_group *at = b->top->children; at; at = at->next)
    if (at->is_group && strstr(at->kind, "_template") && strcmp(at->value, table->value) == 0)
      return at;
  return NULL;
}

/* An axis: its points, and whether they are loads, or slews of a clock, which take their place. */
static int read_axis(const builder *b, const bf_liberty_group *table, const char *index,
                     const char *variable, double **points, unsigned *count, bool *is_load) {
  const bf_liberty_group *template = template_of(b, table);
  const bf_liberty_group *at = child(table, index);
  const char *name = template ? value_of(template, variable) : NULL;
  *count = 0;
  if (!at && template)
    at = child(template, index);
  if (!at || !name)
    return BF_OK;
  bool is_clock = strcmp(name, "related_pin_transition") == 0;
  *is_load = is_clock || strcmp(name, "total_output_net_capacitance") == 0;
  if (!*is_load && !strstr(name, "transition"))
    return fail_line(b, at->line, "a table by '%s' cannot be read", name);
  BF_TRY(read_numbers(b, at, *is_load && !is_clock ? b->pf : b->ns, MOST_POINTS, points, count));
  for (unsigned i = 1; i < *count; i++)
    if ((*points)[i] <= (*points)[i - 1])
      return fail_line(b, at->line, "'%s' must ascend", index);
  return BF_OK;
}

/* Puts values by rows of the first axis into rows of loads. */
static int order_table(const builder *b, bf_liberty_table *table, double *given, bool load_first) {
  if (load_first) {
    table->value = given;
    return BF_OK;
  }
  double *value = bf_arena_alloc(&b->library->arena, table->loads * table->slews * sizeof *value);
  if (!value)
    return bf_no_memory(b->diagnostic);
  for (unsigned s = 0; s < table->slews; s++)
    for (unsigned l = 0; l < table->loads; l++)
      value[l * table->slews + s] = given[s * table->loads + l];
  table->value = value;
  return BF_OK;
}

static int read_table(const builder *b, const bf_liberty_group *group, const char *kind,
                      double scale, bf_liberty_table *table) {
  static const double zero[] = {0};
  const bf_liberty_group *at = child(group, kind);
  const bf_liberty_group *values = at && at->is_group ? child(at, "values") : NULL;
  double *point[2] = {NULL, NULL}, *given;
  unsigned points[2], count;
  bool is_load[2] = {false, false};
  *table = (bf_liberty_table){0};
  if (!values)
    return BF_OK;
  BF_TRY(read_axis(b, at, "index_1", "variable_1", &point[0], &points[0], &is_load[0]));
  BF_TRY(read_axis(b, at, "index_2", "variable_2", &point[1], &points[1], &is_load[1]));
  if (points[0] && points[1] && is_load[0] == is_load[1])
    return fail_line(b, at->line, "'%s' has two axes of one kind", kind);
  *table = (bf_liberty_table){.loads = 1, .slews = 1, .load = zero, .slew = zero};
  for (unsigned i = 0; i < 2; i++)
    if (points[i] && is_load[i]) {
      table->load = point[i];
      table->loads = points[i];
    } else if (points[i]) {
      table->slew = point[i];
      table->slews = points[i];
    }
  BF_TRY(read_numbers(b, values, scale, table->loads * table->slews, &given, &count));
  if (count != table->loads * table->slews)
    return fail_line(b, values->line, "'%s' has too few values", kind);
  return order_table(b, table, given, !points[0] || is_load[0]);
}

/* The point i with point[i] <= x < point[i + 1], as far as there are two. */
static unsigned piece_of(const double *point, unsigned count, double x) {
  unsigned i = 0;
  while (i + 2 < count && x >= point[i + 1])
    i++;
  return i;
}

/* How far x is from point i to the next one; 0 where there is none. */
static double share_of(const double *point, unsigned count, unsigned i, double x) {
  return count > 1 ? (x - point[i]) / (point[i + 1] - point[i]) : 0;
}

double bf_liberty_look_up(const bf_liberty_table *table, double load_pf, double slew_ns) {
  if (table->loads == 0)
    return 0;
  unsigned l = piece_of(table->load, table->loads, load_pf);
  unsigned s = piece_of(table->slew, table->slews, slew_ns);
  double x = share_of(table->load, table->loads, l, load_pf);
  double y = share_of(table->slew, table->slews, s, slew_ns);
  unsigned up = table->loads > 1 ? table->slews : 0, right = table->slews > 1;
  const double *v = table->value + l * table->slews + s;
  return (1 - x) * ((1 - y) * v[0] + y * v[right]) + x * ((1 - y) * v[up] + y * v[up + right]);
}

/* ---- Pins ---- */

/* Where arcs of that timing go; NULL for presets, holds and the like. */
static bf_liberty_arc **list_of(const bf_liberty_group *timing, bf_liberty_pin *pin) {
  const char *type = value_of(timing, "timing_type");
  if (!type || strcmp(type, "combinational") == 0)
    return &pin->arcs;
  return strcmp(type, "rising_edge") == 0 ? &pin->launches : NULL;
}

static int add_arc(const builder *b, const bf_liberty_group *timing, const char *from,
                   bf_liberty_arc **list) {
  bf_liberty_arc *arc = bf_arena_alloc(&b->library->arena, sizeof *arc);
  if (!arc)
    return bf_no_memory(b->diagnostic);
  arc->from = from;
  arc->sense = value_is(timing, "timing_sense", "positive_unate")   ? BF_SENSE_POSITIVE
               : value_is(timing, "timing_sense", "negative_unate") ? BF_SENSE_NEGATIVE
                                                                    : BF_SENSE_BOTH;
  BF_TRY(read_table(b, timing, "cell_fall", b->ns, &arc->delay[0]));
  BF_TRY(read_table(b, timing, "cell_rise", b->ns, &arc->delay[1]));
  BF_TRY(read_table(b, timing, "fall_transition", b->ns, &arc->slew[0]));
  BF_TRY(read_table(b, timing, "rise_transition", b->ns, &arc->slew[1]));
  arc->next = *list;
  *list = arc;
  return BF_OK;
}

static int add_power(const builder *b, const bf_liberty_group *group, bf_liberty_pin *pin) {
  bf_liberty_power *power = bf_arena_alloc(&b->library->arena, sizeof *power);
  if (!power)
    return bf_no_memory(b->diagnostic);
  power->from = value_of(group, "related_pin");
  BF_TRY(read_table(b, group, "fall_power", b->pj, &power->energy[0]));
  BF_TRY(read_table(b, group, "rise_power", b->pj, &power->energy[1]));
  if (!power->energy[0].loads && !power->energy[1].loads) /* one table for both */
    BF_TRY(read_table(b, group, "power", b->pj, &power->energy[0]));
  if (!power->energy[1].loads)
    power->energy[1] = power->energy[0];
  power->next = pin->powers;
  pin->powers = power;
  return BF_OK;
}

/* The arcs of an output's timing group, one for each pin in related_pin; an input's setup time. */
static int add_timing(const builder *b, const bf_liberty_group *timing, bf_liberty_pin *pin) {
  const char *related = value_of(timing, "related_pin");
  bf_liberty_arc **list = list_of(timing, pin);
  if (!pin->is_output && value_is(timing, "timing_type", "setup_rising")) {
    BF_TRY(read_table(b, timing, "fall_constraint", b->ns, &pin->setup[0]));
    return read_table(b, timing, "rise_constraint", b->ns, &pin->setup[1]);
  }
  if (!pin->is_output || !related || !list)
    return BF_OK;
  char *names = bf_arena_copy(&b->library->arena, related), *rest = names;
  if (!names)
    return bf_no_memory(b->diagnostic);
  for (char *name; (name = strsep(&rest, " "));)
    if (*name)
      BF_TRY(add_arc(b, timing, name, list));
  return BF_OK;
}

static int read_pin(const builder *b, const bf_liberty_group *group, bf_liberty_cell *cell) {
  bf_liberty_pin *pin = bf_arena_alloc(&b->library->arena, sizeof *pin);
  if (!pin)
    return bf_no_memory(b->diagnostic);
  pin->name = group->value;
  pin->is_output = value_is(group, "direction", "output");
  pin->is_clock = value_is(group, "clock", "true");
  BF_TRY(read_number(b, group, "capacitance", 0, &pin->capacitance_pf));
  pin->capacitance_pf *= b->pf;
  for (const bf_liberty_group *at = group->children; at; at = at->next) {
    if (at->is_group && strcmp(at->kind, "timing") == 0)
      BF_TRY(add_timing(b, at, pin));
    if (at->is_group && strcmp(at->kind, "internal_power") == 0)
      BF_TRY(add_power(b, at, pin));
  }
  pin->next = cell->pins;
  cell->pins = pin;
  return BF_OK;
}

/* ---- Cells ---- */

/* The two names of the state in "ff (IQ,IQN)", without blanks. */
static bool read_state_names(const builder *b, const bf_liberty_group *ff, const char *name[2]) {
  char *copy = bf_arena_copy(&b->library->arena, ff->value), *rest = copy;
  for (unsigned i = 0; copy && i < 2; i++) {
    name[i] = strsep(&rest, ",");
    if (!name[i])
      return false;
    name[i] += strspn(name[i], " ");
  }
  return copy != NULL;
}

/* Functions of outputs, and of the next state of flip-flops. A flip-flop's state and its inverse
 * are inputs number `inputs` and the one behind it while functions are read. */
static void read_functions(const builder *b, const bf_liberty_group *group, bf_liberty_cell *cell) {
  const char *name[BF_LIBERTY_INPUTS + 2];
  unsigned count = 0;
  const bf_liberty_group *ff = child(group, "ff");
  cell->is_known = !child(group, "latch") && !child(group, "statetable");
  for (const bf_liberty_pin *pin = cell->pins; pin; pin = pin->next)
    if (!pin->is_output && count < BF_LIBERTY_INPUTS) {
      cell->input[count] = pin;
      name[count++] = pin->name;
    } else if (!pin->is_output) {
      cell->is_known = false;
    }
  cell->inputs = count;
  if (ff && cell->is_known) {
    const char *next = value_of(ff, "next_state");
    cell->is_flip_flop = true;
    cell->is_known = next && count + 2 <= BF_LIBERTY_INPUTS && !child(ff, "clear") &&
                     !child(ff, "preset") && read_state_names(b, ff, &name[count]) &&
                     bf_liberty_function(next, name, count, &cell->next_state);
    count += cell->is_known ? 2 : 0;
  }
  for (const bf_liberty_group *at = group->children; at && cell->is_known; at = at->next) {
    const char *function = at->is_group ? value_of(at, "function") : NULL;
    for (bf_liberty_pin *pin = cell->pins; pin && function; pin = pin->next)
      if (strcmp(at->kind, "pin") == 0 && strcmp(pin->name, at->value) == 0)
        pin->has_truth = bf_liberty_function(function, name, count, &pin->truth);
  }
}

static int read_cell(const builder *b, const bf_liberty_group *group, bf_liberty_cell ***last) {
  bf_liberty_cell *cell = bf_arena_alloc(&b->library->arena, sizeof *cell);
  if (!cell)
    return bf_no_memory(b->diagnostic);
  cell->name = group->value;
  BF_TRY(read_number(b, group, "area", 0, &cell->area));
  BF_TRY(read_number(b, group, "cell_leakage_power", 0, &cell->leakage_nw));
  cell->leakage_nw *= b->nw;
  for (const bf_liberty_group *at = group->children; at; at = at->next)
    if (at->is_group && strcmp(at->kind, "pin") == 0)
      BF_TRY(read_pin(b, at, cell));
  read_functions(b, group, cell);
  **last = cell;
  *last = &cell->next;
  return BF_OK;
}

static int read_cells(builder *b) {
  bf_liberty_cell **last = &b->library->cells;
  for (const bf_liberty_group *at = b->top->children; at; at = at->next)
    if (at->is_group && strcmp(at->kind, "cell") == 0)
      BF_TRY(read_cell(b, at, &last));
  if (!b->library->cells)
    return fail_line(b, b->top->line, "library '%s' has no cells", b->top->value);
  return BF_OK;
}

/* ---- Libraries ---- */

int bf_liberty_parse(const char *file, const char *text, bf_liberty **library,
                     bf_diagnostic *diagnostic) {
  bf_liberty *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  bf_liberty_group *top = NULL;
  builder b = {.file = file, .library = made, .diagnostic = diagnostic};
  int error = bf_liberty_read_groups(file, text, &made->arena, &top, diagnostic);
  b.top = top;
  if (!error)
    error = read_units(&b);
  if (!error)
    error = read_cells(&b);
  if (!error) {
    made->name = top->value;
    *library = made;
  } else {
    bf_liberty_free(made);
  }
  return error;
}

int bf_liberty_read(const char *path, bf_liberty **library, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  int error = bf_read_file(path, SIZE_MAX, &text, diagnostic);
  if (!error)
    error = bf_liberty_parse(path, text.data, library, diagnostic);
  bf_text_free(&text);
  return error;
}

void bf_liberty_free(bf_liberty *library) {
  if (!library)
    return;
  bf_arena_free(&library->arena);
  free(library);
}

const bf_liberty_cell *bf_liberty_find(const bf_liberty *library, const char *name) {
  for (const bf_liberty_cell *cell = library->cells; cell; cell = cell->next)
    if (strcmp(cell->name, name) == 0)
      return cell;
  return NULL;
}

const bf_liberty_pin *bf_liberty_find_pin(const bf_liberty_cell *cell, const char *name) {
  for (const bf_liberty_pin *pin = cell->pins; pin; pin = pin->next)
    if (strcmp(pin->name, name) == 0)
      return pin;
  return NULL;
}
