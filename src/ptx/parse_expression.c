/* Constant expressions: 64-bit integers, signed unless an operand is unsigned (PTX ISA, "Constant
 * Expressions"), with C's operators and the casts (.s64) and (.u64); or one floating-point number.
 */
#include "ptx/parser.h"

#include <string.h>

typedef struct value {
  uint64_t bits;
  bool is_unsigned;
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

static int parse_choice(parser *p, value *result);

static value boolean(bool truth) { return (value){truth, false}; }

static bool less(value a, value b) {
  return a.is_unsigned || b.is_unsigned ? a.bits < b.bits : (int64_t)a.bits < (int64_t)b.bits;
}

/* Shifts by 64 or more leave nothing but the sign. */
static value shift(value a, value by, bool left) {
  bool far = by.bits > 63;
  if (left)
    return (value){far ? 0 : a.bits << by.bits, a.is_unsigned};
  if (a.is_unsigned || !(a.bits >> 63))
    return (value){far ? 0 : a.bits >> by.bits, a.is_unsigned};
  return (value){far ? UINT64_MAX : ~(~a.bits >> by.bits), false};
}

/* a / b or a % b for b other than 0. The one signed overflow wraps. */
static value divide(value a, value b, bool remainder) {
  if (a.is_unsigned || b.is_unsigned)
    return (value){remainder ? a.bits % b.bits : a.bits / b.bits, true};
  if (b.bits == UINT64_MAX)
    return (value){remainder ? 0 : 0 - a.bits, false};
  int64_t x = (int64_t)a.bits, y = (int64_t)b.bits;
  return (value){(uint64_t)(remainder ? x % y : x / y), false};
}

/* a sign b; the two characters of sign tell the operators apart. */
static value apply(value a, const char *sign, value b) {
  bool is_unsigned = a.is_unsigned || b.is_unsigned;
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
    return shift(a, b, true);
  case '>' << 8 | '>':
    return shift(a, b, false);
  case '|' << 8:
    return (value){a.bits | b.bits, is_unsigned};
  case '^' << 8:
    return (value){a.bits ^ b.bits, is_unsigned};
  case '&' << 8:
    return (value){a.bits & b.bits, is_unsigned};
  case '+' << 8:
    return (value){a.bits + b.bits, is_unsigned};
  case '-' << 8:
    return (value){a.bits - b.bits, is_unsigned};
  case '*' << 8:
    return (value){a.bits * b.bits, is_unsigned};
  default:
    return divide(a, b, sign[0] == '%');
  }
}

/* (expression) or (.u64) unary: the parenthesis is taken. */
static int parse_unary(parser *p, value *result);
static int parse_parenthesis(parser *p, value *result) {
  bool to_unsigned = bf_ptx_is_dotted(p, "u64");
  if (to_unsigned || bf_ptx_is_dotted(p, "s64")) {
    BF_TRY(bf_ptx_next(p));
    BF_TRY(bf_ptx_expect(p, ")"));
    BF_TRY(parse_unary(p, result));
    result->is_unsigned = to_unsigned;
    return BF_OK;
  }
  BF_TRY(parse_choice(p, result));
  return bf_ptx_expect(p, ")");
}

static int parse_nested(parser *p, value *result, char sign) {
  if (++p->depth > MOST_DEPTH)
    return FAIL("more than %d levels of nesting", MOST_DEPTH);
  BF_TRY(sign == '(' ? parse_parenthesis(p, result) : parse_unary(p, result));
  p->depth--;
  if (sign == '-')
    result->bits = 0 - result->bits;
  else if (sign == '~')
    result->bits = ~result->bits;
  else if (sign == '!')
    *result = boolean(!result->bits);
  return BF_OK;
}

static int parse_unary(parser *p, value *result) {
  if (p->token.kind == TOKEN_INTEGER) {
    *result = (value){p->token.bits, p->token.is_unsigned};
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

/* Operators of at least rank, applied from left to right. */
static int parse_binary(parser *p, int rank, value *result) {
  BF_TRY(parse_unary(p, result));
  for (int here = rank_here(p); here >= rank && here > 0; here = rank_here(p)) {
    token word = p->token;
    value right;
    BF_TRY(bf_ptx_next(p));
    BF_TRY(parse_binary(p, here + 1, &right));
    if ((word.sign[0] == '/' || word.sign[0] == '%') && right.bits == 0)
      return FAIL_TOKEN(word, "division by zero");
    *result = apply(*result, word.sign, right);
  }
  return BF_OK;
}

/* condition ? a : b */
static int parse_choice(parser *p, value *result) {
  bool taken;
  value yes, no;
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
  *result = result->bits ? yes : no;
  return BF_OK;
}

/* A floating-point literal behind its sign, if it is one. */
static int parse_float(parser *p, bool minus, bf_ptx_operand *operand) {
  bool single = p->token.kind == TOKEN_FLOAT32;
  operand->kind = single                           ? BF_PTX_FLOAT32
                  : p->token.kind == TOKEN_FLOAT64 ? BF_PTX_FLOAT64
                                                   : BF_PTX_DECIMAL;
  operand->bits = p->token.bits ^ (minus ? (uint64_t)1 << (single ? 31 : 63) : 0);
  return bf_ptx_next(p);
}

static bool at_float(const parser *p) {
  return p->token.kind == TOKEN_FLOAT32 || p->token.kind == TOKEN_FLOAT64 ||
         p->token.kind == TOKEN_DECIMAL;
}

int bf_ptx_parse_constant(parser *p, bf_ptx_operand *operand) {
  value result;
  if (at_float(p))
    return parse_float(p, false, operand);
  if (bf_ptx_is_sign(p, "-")) {
    lexer before = p->lexer;
    token sign = p->token;
    BF_TRY(bf_ptx_next(p));
    if (at_float(p))
      return parse_float(p, true, operand);
    p->lexer = before;
    p->token = sign;
  }
  BF_TRY(parse_choice(p, &result));
  operand->kind = BF_PTX_INTEGER;
  operand->bits = result.bits;
  /* The smallest signed value reads as an unsigned one: its digits without sign are. */
  operand->is_unsigned =
      result.bits > INT64_MAX && (result.is_unsigned || result.bits == (uint64_t)INT64_MAX + 1);
  return BF_OK;
}
