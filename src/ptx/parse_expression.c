/* Constant expressions, computed as ptxas of CUDA 13.0 does; tests/check/expressions_ptxas.py
 * compares thousands of them. They differ from C and from the text of the PTX ISA:
 * - An integer has 64 bits and is signed, unless it has the suffix U or is above the largest signed
 *   value.
 * - ~ and % have unsigned results, and % takes its operands for unsigned ones: 7 % -3 is 7.
 * - + - * / & | ^ are unsigned where an operand is. << and >> are what their left operand is, and
 *   count by the lowest six bits of the right one: 1 << 64 is 1. Comparisons are unsigned where an
 *   operand is; their result is signed, and so is that of && || and !.
 * - a ? b : c has the type of what was chosen.
 * - Numbers in decimal with a point or an exponent and 0d... are doubles. They have + - * / and
 *   comparisons, with other doubles only.
 * - 0f... stands alone or in parentheses of its own, where operators take its bits for the lower
 *   half of a double.
 * - (.s64) and (.u64) change the type of integers. WARP_SZ is 32.
 * Division by zero is refused. ptxas dies of the smallest number divided by -1; here that wraps. */
#include "ptx/parser.h"

#include <string.h>

typedef enum value_type { SIGNED, UNSIGNED, DOUBLE } value_type;

typedef struct value {
  uint64_t bits;
  value_type type;
  bf_ptx_operand_kind kind; /* what it is printed as */
} value;

/* Binary operators by rank; a higher rank binds tighter. */
static const struct {
  const char *sign;
  int rank;
} operators[] = {
    {"||", 1}, {"&&", 2}, {"|", 3},  {"^", 4},  {"&", 5},  {"==", 6},
    {"!=", 6}, {"<", 7},  {"<=", 7}, {">", 7},  {">=", 7}, {"<<", 8},
    {">>", 8}, {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
};

static const uint64_t minus_bit = (uint64_t)1 << 63;

static value boolean(bool truth) { return (value){truth, SIGNED, BF_PTX_INTEGER}; }

/* ---- Integers ---- */

static bool less(value a, value b) {
  return a.type || b.type ? a.bits < b.bits : (int64_t)a.bits < (int64_t)b.bits;
}

static value shift(value a, uint64_t by, bool left) {
  by &= 63;
  if (left)
    return (value){a.bits << by, a.type, BF_PTX_INTEGER};
  bool is_minus = a.type == SIGNED && a.bits >> 63;
  return (value){is_minus ? ~(~a.bits >> by) : a.bits >> by, a.type, BF_PTX_INTEGER};
}

/* a / b for b other than 0. The one signed overflow wraps. */
static value divide(value a, value b) {
  if (a.type || b.type)
    return (value){a.bits / b.bits, UNSIGNED, BF_PTX_INTEGER};
  if (b.bits == UINT64_MAX)
    return (value){0 - a.bits, SIGNED, BF_PTX_INTEGER};
  return (value){(uint64_t)((int64_t)a.bits / (int64_t)b.bits), SIGNED, BF_PTX_INTEGER};
}

/* a sign b; the two characters of sign tell the operators apart. */
static value apply(value a, const char *sign, value b) {
  value_type type = a.type || b.type ? UNSIGNED : SIGNED;
  switch (sign[0] << 8 | sign[1]) {
  case '|' << 8 | '|':
    return boolean(a.bits || b.bits);
  case '&' << 8 | '&':
    return boolean(a.bits && b.bits);
  case '=' << 8 | '=':
    return boolean(a.bits == b.bits);
  case '!' << 8 | '=':
    return boolean(a.bits != b.bits);
  case '<' << 8:
    return boolean(less(a, b));
  case '<' << 8 | '=':
    return boolean(!less(b, a));
  case '>' << 8:
    return boolean(less(b, a));
  case '>' << 8 | '=':
    return boolean(!less(a, b));
  case '<' << 8 | '<':
    return shift(a, b.bits, true);
  case '>' << 8 | '>':
    return shift(a, b.bits, false);
  case '|' << 8:
    return (value){a.bits | b.bits, type, BF_PTX_INTEGER};
  case '^' << 8:
    return (value){a.bits ^ b.bits, type, BF_PTX_INTEGER};
  case '&' << 8:
    return (value){a.bits & b.bits, type, BF_PTX_INTEGER};
  case '+' << 8:
    return (value){a.bits + b.bits, type, BF_PTX_INTEGER};
  case '-' << 8:
    return (value){a.bits - b.bits, type, BF_PTX_INTEGER};
  case '*' << 8:
    return (value){a.bits * b.bits, type, BF_PTX_INTEGER};
  case '%' << 8:
    return (value){a.bits % b.bits, UNSIGNED, BF_PTX_INTEGER};
  default:
    return divide(a, b);
  }
}

/* ---- Doubles ---- */

static double double_of(value a) {
  double number;
  memcpy(&number, &a.bits, sizeof number);
  return number;
}

/* A NaN that + - * / make of a and b, as the processors do that ptxas runs on: an operand's, that
 * of the right one first for + and *; or one of their own. */
static uint64_t nan_of(value a, value b, bool right_first) {
  const uint64_t quiet = (uint64_t)1 << 51, own = 0xfff8000000000000;
  value first = right_first ? b : a, second = right_first ? a : b;
  if (double_of(first) != double_of(first))
    return first.bits | quiet;
  return double_of(second) != double_of(second) ? second.bits | quiet : own;
}

/* a sign b of doubles; false where they do not have the operator. */
static bool apply_doubles(value a, const char *sign, value b, value *result) {
  double x = double_of(a), y = double_of(b), number;
  if (sign[1] == '=' || ((sign[0] == '<' || sign[0] == '>') && !sign[1])) {
    bool has_equal = sign[1] == '=';
    *result = boolean(sign[0] == '<'   ? (has_equal ? x <= y : x < y)
                      : sign[0] == '>' ? (has_equal ? x >= y : x > y)
                      : sign[0] == '=' ? x == y
                                       : x != y);
    return true;
  }
  if (sign[1] || !strchr("+-*/", sign[0]))
    return false;
  number = sign[0] == '+' ? x + y : sign[0] == '-' ? x - y : sign[0] == '*' ? x * y : x / y;
  *result = (value){.type = DOUBLE, .kind = BF_PTX_FLOAT64};
  memcpy(&result->bits, &number, sizeof number);
  if (number != number)
    result->bits = nan_of(a, b, sign[0] == '+' || sign[0] == '*');
  return true;
}

/* ---- The grammar ---- */

static int parse_choice(parser *p, value *result);
static int parse_unary(parser *p, value *result);

static int expect_integer(parser *p, const token *word, const value *found) {
  return found->type == DOUBLE ? FAIL_TOKEN(*word, "expected an integer here") : BF_OK;
}

/* (expression), (.u64) unary or (0f...): the parenthesis is taken. */
static int parse_parenthesis(parser *p, value *result) {
  if (p->token.kind == TOKEN_FLOAT32) {
    *result = (value){p->token.bits, DOUBLE, BF_PTX_FLOAT32};
    BF_TRY(bf_ptx_next(p));
    return bf_ptx_expect(p, ")");
  }
  bool to_unsigned = bf_ptx_is_dotted(p, "u64");
  if (to_unsigned || bf_ptx_is_dotted(p, "s64")) {
    BF_TRY(bf_ptx_next(p));
    BF_TRY(bf_ptx_expect(p, ")"));
    token word = p->token;
    BF_TRY(parse_unary(p, result));
    result->type = result->type == DOUBLE ? DOUBLE : to_unsigned ? UNSIGNED : SIGNED;
    return expect_integer(p, &word, result);
  }
  BF_TRY(parse_choice(p, result));
  return bf_ptx_expect(p, ")");
}

static int parse_nested(parser *p, value *result, char sign) {
  token word = p->token;
  if (++p->depth > MOST_DEPTH)
    return FAIL("more than %d levels of nesting", MOST_DEPTH);
  BF_TRY(sign == '(' ? parse_parenthesis(p, result) : parse_unary(p, result));
  p->depth--;
  if (sign == '-' && result->kind == BF_PTX_FLOAT32)
    result->kind = BF_PTX_FLOAT64;
  if (sign == '-')
    result->bits = result->type == DOUBLE ? result->bits ^ minus_bit : 0 - result->bits;
  if (sign != '~' && sign != '!')
    return BF_OK;
  *result = sign == '~' && result->type != DOUBLE ? (value){~result->bits, UNSIGNED, BF_PTX_INTEGER}
            : result->type != DOUBLE              ? boolean(!result->bits)
                                                  : *result;
  return expect_integer(p, &word, result);
}

static int parse_unary(parser *p, value *result) {
  bool is_decimal = p->token.kind == TOKEN_DECIMAL;
  if (p->token.kind == TOKEN_INTEGER) {
    *result = (value){p->token.bits, p->token.is_unsigned ? UNSIGNED : SIGNED, BF_PTX_INTEGER};
    return bf_ptx_next(p);
  }
  if (is_decimal || p->token.kind == TOKEN_FLOAT64) {
    *result = (value){p->token.bits, DOUBLE, is_decimal ? BF_PTX_DECIMAL : BF_PTX_FLOAT64};
    return bf_ptx_next(p);
  }
  if (p->token.kind != TOKEN_SIGN || p->token.sign[1] || !strchr("+-!~(", p->token.sign[0]))
    return FAIL("expected a constant");
  char sign = p->token.sign[0];
  BF_TRY(bf_ptx_next(p));
  return parse_nested(p, result, sign);
}

/* The rank of the operator at the token, 0 for none. */
static int rank_here(const parser *p) {
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    if (bf_ptx_is_sign(p, operators[i].sign))
      return operators[i].rank;
  return 0;
}

/* *left becomes left word right. */
static int combine(parser *p, value *left, const token *word, value right) {
  bool divides = word->sign[0] == '/' || word->sign[0] == '%';
  if ((left->type == DOUBLE) != (right.type == DOUBLE))
    return FAIL_TOKEN(*word, "an integer and a floating-point number");
  if (divides && (left->type == DOUBLE ? double_of(right) == 0 : right.bits == 0))
    return FAIL_TOKEN(*word, "division by zero");
  if (left->type != DOUBLE)
    *left = apply(*left, word->sign, right);
  else if (!apply_doubles(*left, word->sign, right, left))
    return FAIL_TOKEN(*word, "floating-point numbers do not have this operator");
  return BF_OK;
}

/* Operators of at least rank, applied from left to right. */
static int parse_binary(parser *p, int rank, value *result) {
  BF_TRY(parse_unary(p, result));
  for (int here = rank_here(p); here >= rank && here > 0; here = rank_here(p)) {
    token word = p->token;
    value right;
    BF_TRY(bf_ptx_next(p));
    BF_TRY(parse_binary(p, here + 1, &right));
    BF_TRY(combine(p, result, &word, right));
  }
  return BF_OK;
}

/* condition ? a : b */
static int parse_choice(parser *p, value *result) {
  bool taken;
  value yes, no;
  token word = p->token;
  BF_TRY(parse_binary(p, 1, result));
  BF_TRY(bf_ptx_accept(p, "?", &taken));
  if (!taken)
    return BF_OK;
  if (++p->depth > MOST_DEPTH)
    return FAIL("more than %d levels of nesting", MOST_DEPTH);
  BF_TRY(parse_choice(p, &yes));
  BF_TRY(bf_ptx_expect(p, ":"));
  BF_TRY(parse_choice(p, &no));
  p->depth--;
  if (result->type == DOUBLE || yes.type == DOUBLE || no.type == DOUBLE)
    return FAIL_TOKEN(word, "expected a choice of integers by an integer");
  *result = result->bits ? yes : no;
  return BF_OK;
}

/* ---- Constants ---- */

/* 0f..., or -0f..., if it is one. */
static int parse_single(parser *p, bf_ptx_operand *operand) {
  lexer before = p->lexer;
  token first = p->token;
  bool minus = bf_ptx_is_sign(p, "-");
  if (minus)
    BF_TRY(bf_ptx_next(p));
  if (p->token.kind == TOKEN_FLOAT32) {
    operand->kind = BF_PTX_FLOAT32;
    operand->bits = p->token.bits ^ (minus ? (uint64_t)1 << 31 : 0);
    return bf_ptx_next(p);
  }
  p->lexer = before;
  p->token = first;
  return BF_OK;
}

int bf_ptx_parse_constant(parser *p, bf_ptx_operand *operand) {
  value result;
  operand->kind = BF_PTX_INTEGER;
  BF_TRY(parse_single(p, operand));
  if (operand->kind == BF_PTX_FLOAT32)
    return BF_OK;
  BF_TRY(parse_choice(p, &result));
  operand->kind = result.kind;
  operand->bits = result.bits;
  /* The smallest signed value reads as an unsigned one: its digits without sign are. */
  operand->is_unsigned = operand->kind == BF_PTX_INTEGER && result.bits > INT64_MAX &&
                         (result.type == UNSIGNED || result.bits == minus_bit);
  return BF_OK;
}
