/* Thread maps: which lane has which element.
 *
 * "8x4": 8 rows of 4 lanes; lanes go along a row first, each as many elements behind the one before
 * as an access is wide. "8x4t": lanes go down a column first. "(ROW, COLUMN)": two expressions of
 * the lane, l, in elements:
 *
 *   expression = term { (+ - ^ |) term }        term = factor { (* / % & << >>) factor }
 *   factor = number | l | ( expression )
 *
 * A step is the block of rows and columns that the lanes span. */
#include "layout/layout.h"

#include <string.h>

/* ---- Expressions ---- */

typedef struct parser {
  const char *text, *cursor; /* all of it, and where reading stands */
  uint64_t lane;
  const char *fault, *fault_at;
} parser;

enum { MOST_DEPTH = 32 };

static void skip_blanks(parser *p) {
  while (*p->cursor == ' ')
    p->cursor++;
}

static uint64_t complain(parser *p, const char *fault) {
  if (!p->fault)
    p->fault = fault, p->fault_at = p->cursor;
  return 0;
}

/* Takes one of the operators, of one or two characters; 0: none of them is next. */
static char take_operator(parser *p, const char *singles, bool shifts) {
  skip_blanks(p);
  char c = *p->cursor;
  if (shifts && (c == '<' || c == '>') && p->cursor[1] == c) {
    p->cursor += 2;
    return c;
  }
  if (c == 0 || !strchr(singles, c))
    return 0;
  p->cursor++;
  return c;
}

static uint64_t expression(parser *p, unsigned depth);

static uint64_t factor(parser *p, unsigned depth) {
  uint64_t value;
  skip_blanks(p);
  if (depth > MOST_DEPTH)
    return complain(p, "brackets are too deep");
  if (*p->cursor == 'l') {
    p->cursor++;
    return p->lane;
  }
  if (*p->cursor == '(') {
    p->cursor++;
    value = expression(p, depth + 1);
    skip_blanks(p);
    if (*p->cursor != ')')
      return complain(p, "a ) is missing");
    p->cursor++;
    return value;
  }
  if (bf_parse_number(&p->cursor, &value))
    return value;
  return complain(p, "expected a number, l (the lane) or a bracket");
}

static uint64_t apply(parser *p, char operator_, uint64_t a, uint64_t b) {
  switch (operator_) {
  case '+':
    return a + b;
  case '-':
    return b > a ? complain(p, "the result is below 0") : a - b;
  case '^':
    return a ^ b;
  case '|':
    return a | b;
  case '*':
    return a * b;
  case '&':
    return a & b;
  case '<':
    return b > 63 ? complain(p, "a shift by more than 63") : a << b;
  case '>':
    return b > 63 ? complain(p, "a shift by more than 63") : a >> b;
  default: /* / and % */
    if (b == 0)
      return complain(p, "a division by 0");
    return operator_ == '/' ? a / b : a % b;
  }
}

static uint64_t term(parser *p, unsigned depth) {
  uint64_t value = factor(p, depth);
  for (char c; !p->fault && (c = take_operator(p, "*/%&", true));)
    value = apply(p, c, value, factor(p, depth));
  return value;
}

static uint64_t expression(parser *p, unsigned depth) {
  uint64_t value = term(p, depth);
  for (char c; !p->fault && (c = take_operator(p, "+-^|", false));)
    value = apply(p, c, value, term(p, depth));
  return value;
}

/* ---- Maps ---- */

/* Row and column of a lane from "(ROW, COLUMN)". */
static int evaluate(parser *p, const char *map, const bf_move *move, uint64_t value[2],
                    bf_diagnostic *diagnostic) {
  p->cursor = map + 1;
  for (unsigned i = 0; i < 2; i++) {
    value[i] = expression(p, 0);
    skip_blanks(p);
    if (!p->fault && *p->cursor != (i ? ')' : ','))
      complain(p, i ? "expected ) behind row and column" : "expected , between row and column");
    p->cursor += !p->fault;
  }
  skip_blanks(p);
  if (!p->fault && *p->cursor)
    complain(p, "nothing may follow the map");
  return p->fault
             ? bf_fail_at(diagnostic, bf_move_option(move), 1, p->text, p->fault_at, "%s", p->fault)
             : BF_OK;
}

static int read_expressions(const char *text, const char *map, unsigned lanes, const bf_tile *tile,
                            bf_move *move, bf_diagnostic *diagnostic) {
  unsigned per_lane = move->width_bytes / tile->element->bytes;
  move->step_rows = move->step_columns = 0;
  for (unsigned lane = 0; lane < lanes; lane++) {
    parser p = {.text = text, .lane = lane};
    uint64_t value[2];
    BF_TRY(evaluate(&p, map, move, value, diagnostic));
    if (value[0] >= tile->rows || value[1] >= tile->columns)
      return bf_fail_at(diagnostic, bf_move_option(move), 1, text, map,
                        "lane %u has element (%llu, %llu), outside of the tile of %ux%u", lane,
                        (unsigned long long)value[0], (unsigned long long)value[1], tile->rows,
                        tile->columns);
    if (value[1] % per_lane)
      return bf_fail_at(diagnostic, bf_move_option(move), 1, text, map,
                        "lane %u begins at column %llu: no multiple of the %u elements that it "
                        "accesses at once",
                        lane, (unsigned long long)value[1], per_lane);
    move->row[lane] = (unsigned)value[0];
    move->column[lane] = (unsigned)value[1];
    if (move->step_rows <= value[0])
      move->step_rows = (unsigned)value[0] + 1;
    if (move->step_columns < value[1] + per_lane)
      move->step_columns = (unsigned)value[1] + per_lane;
  }
  return BF_OK;
}

/* "8x4" and "8x4t". */
static int read_block(const char *text, const char *map, unsigned lanes, const bf_tile *tile,
                      bf_move *move, bf_diagnostic *diagnostic) {
  uint64_t rows, columns;
  const char *cursor = map;
  bool is_read =
      bf_parse_number(&cursor, &rows) && *cursor++ == 'x' && bf_parse_number(&cursor, &columns);
  bool is_down = is_read && *cursor == 't';
  cursor += is_down;
  if (!is_read || *cursor)
    return bf_fail_at(diagnostic, bf_move_option(move), 1, text, map,
                      "a thread map is rows x columns of lanes as 8x4, 8x4t where lanes go down "
                      "first, or (ROW, COLUMN) with l for the lane");
  if (rows == 0 || columns == 0 || rows > lanes || columns > lanes || rows * columns != lanes)
    return bf_fail_at(diagnostic, bf_move_option(move), 1, text, map,
                      "%llux%llu lanes are not the %u of a warp", (unsigned long long)rows,
                      (unsigned long long)columns, lanes);
  unsigned per_lane = move->width_bytes / tile->element->bytes;
  for (unsigned lane = 0; lane < lanes; lane++) {
    move->row[lane] = is_down ? lane % (unsigned)rows : lane / (unsigned)columns;
    move->column[lane] = (is_down ? lane / (unsigned)rows : lane % (unsigned)columns) * per_lane;
  }
  move->step_rows = (unsigned)rows;
  move->step_columns = (unsigned)columns * per_lane;
  return BF_OK;
}

int bf_map_parse(const char *text, const char *map, unsigned lanes, const bf_tile *tile,
                 bf_move *move, bf_diagnostic *diagnostic) {
  move->lanes = lanes;
  BF_TRY(*map == '(' ? read_expressions(text, map, lanes, tile, move, diagnostic)
                     : read_block(text, map, lanes, tile, move, diagnostic));
  if (tile->rows % move->step_rows || tile->columns % move->step_columns)
    return bf_fail_at(
        diagnostic, bf_move_option(move), 1, text, map,
        "the lanes span %u rows of %u elements, which do not divide the tile of %ux%u",
        move->step_rows, move->step_columns, tile->rows, tile->columns);
  return BF_OK;
}
