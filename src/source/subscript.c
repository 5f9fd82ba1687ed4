/* Elements of shared arrays, evaluated for each thread: a parser of C's integer expressions, one
 * function for each level of precedence by a table, that computes as it reads. */
#include "source/subscript.h"

#include "base/guess.h"
#include "source/source.h"

#include <ctype.h>
#include <string.h>

/* ---- Types ---- */

int bf_subscript_type(const char *text, bf_subscript_array *array, bf_diagnostic *diagnostic) {
  *array = (bf_subscript_array){.dimensions = 0};
  size_t length = strcspn(text, "[");
  while (length && text[length - 1] == ' ')
    length--;
  snprintf(array->type, sizeof array->type, "%.*s", (int)length, text);
  array->element_bytes = bf_source_type_bytes(array->type);
  if (!array->element_bytes)
    return bf_fail_at(diagnostic, "type", 1, text, text,
                      "'%s' is no type whose size is known: float, int, double, float4, __half",
                      array->type);
  const char *at = text + strcspn(text, "[");
  while (*at == '[' && array->dimensions < BF_SUBSCRIPT_MOST_DIMENSIONS) {
    uint64_t size = 0;
    const char *open = at++;
    if (*at != ']' && (!bf_parse_number(&at, &size) || !size || size > UINT32_MAX))
      return bf_fail_at(diagnostic, "type", 1, text, at, "expected the size of a dimension");
    if (*at != ']' || (!size && array->dimensions))
      return bf_fail_at(diagnostic, "type", 1, text, *at == ']' ? open : at,
                        "expected a size and ]");
    array->size[array->dimensions++] = size;
    at++;
  }
  if (*at || !array->dimensions)
    return bf_fail_at(diagnostic, "type", 1, text, at, "expected [SIZE], as in float[32][32]");
  return BF_OK;
}

/* ---- Expressions ---- */

enum { MOST_DEPTH = 64 };

typedef struct reader {
  const char *text, *at;
  const bf_subscript_place *place;
  const uint32_t *thread;
  unsigned depth;
  bf_diagnostic *diagnostic;
} reader;

#define FAIL(r, where, ...)                                                                        \
  bf_fail_at((r)->diagnostic, "expression", 1, (r)->text, where, __VA_ARGS__)

static void skip_blanks(reader *r) {
  while (isspace((unsigned char)*r->at))
    r->at++;
}

/* Binary operators by how tightly they bind; longer ones first. */
static const struct {
  const char *mark;
  unsigned level;
} binaries[] = {
    {"||", 1}, {"&&", 2}, {"==", 6}, {"!=", 6}, {"<<", 8}, {">>", 8},
    {"<=", 7}, {">=", 7}, {"|", 3},  {"^", 4},  {"&", 5},  {"<", 7},
    {">", 7},  {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
};
enum { BINARIES = sizeof binaries / sizeof *binaries };

static int operate(reader *r, const char *mark, const char *where, int64_t a, int64_t b,
                   int64_t *value) {
  bool is_division = *mark == '/' || *mark == '%';
  bool is_shift = mark[1] && mark[0] == mark[1] && (*mark == '<' || *mark == '>');
  if (is_division && (b == 0 || (a == INT64_MIN && b == -1)))
    return FAIL(r, where, "division by zero");
  if (is_shift && (b < 0 || b > 63))
    return FAIL(r, where, "a shift by %lld", (long long)b);
  bool overflows = false;
  if (mark[1] == '=')
    *value = *mark == '=' ? a == b : *mark == '!' ? a != b : *mark == '<' ? a <= b : a >= b;
  else if (is_shift)
    *value = *mark == '<' ? (int64_t)((uint64_t)a << b) : a >> b;
  else if (mark[1])
    *value = *mark == '|' ? a || b : a && b;
  else
    switch (*mark) {
    case '|':
      *value = a | b;
      break;
    case '^':
      *value = a ^ b;
      break;
    case '&':
      *value = a & b;
      break;
    case '<':
      *value = a < b;
      break;
    case '>':
      *value = a > b;
      break;
    case '+':
      overflows = __builtin_add_overflow(a, b, value);
      break;
    case '-':
      overflows = __builtin_sub_overflow(a, b, value);
      break;
    case '*':
      overflows = __builtin_mul_overflow(a, b, value);
      break;
    case '/':
      *value = a / b;
      break;
    default:
      *value = a % b;
      break;
    }
  return overflows ? FAIL(r, where, "too large a number") : BF_OK;
}

/* The value of threadIdx.x and the like; false where the word is none of them. */
static bool find_builtin(const reader *r, const char *word, int64_t *value) {
  static const char *const vectors[] = {"threadIdx.", "blockDim.", "blockIdx.", "gridDim."};
  const uint32_t *block = r->place->block, *thread = r->thread;
  uint32_t linear = thread[0] + block[0] * (thread[1] + block[1] * thread[2]);
  for (unsigned i = 0; i < 4; i++) {
    size_t length = strlen(vectors[i]);
    unsigned axis = (unsigned)(word[length > strlen(word) ? 0 : length] - 'x');
    if (strncmp(word, vectors[i], length) != 0 || axis > 2 || word[length + 1])
      continue;
    *value = i == 0 ? thread[axis] : i == 1 ? block[axis] : i == 2 ? 0 : 1;
    return true;
  }
  if (strcmp(word, "warpSize") == 0)
    *value = 32;
  else if (strcmp(word, "lane") == 0 || strcmp(word, "lane_id") == 0 || strcmp(word, "laneid") == 0)
    *value = linear % 32;
  else if (strcmp(word, "tid") == 0)
    *value = linear;
  else
    return false;
  return true;
}

static int read_name(reader *r, int64_t *value) {
  char word[64];
  size_t length = 0;
  const char *begin = r->at;
  while (isalnum((unsigned char)r->at[length]) || r->at[length] == '_' || r->at[length] == '.')
    length++;
  snprintf(word, sizeof word, "%.*s", (int)length, r->at);
  r->at += length;
  for (unsigned i = 0; i < r->place->values; i++)
    if (strcmp(r->place->name[i], word) == 0) {
      *value = r->place->value[i];
      return BF_OK;
    }
  if (find_builtin(r, word, value))
    return BF_OK;
  char likely[BF_GUESS_BYTES];
  bf_guess guess = bf_guess_begin(word);
  bf_guess_offer_words(&guess, "threadIdx.x threadIdx.y threadIdx.z blockDim.x blockDim.y "
                               "blockIdx.x warpSize lane tid");
  return FAIL(r, begin, "the value of '%s' is not known%s; --param %s=NUMBER gives it", word,
              bf_guess_text(&guess, likely), word);
}

static int read_level(reader *r, unsigned level, int64_t *value);

/* A number, a name, a parenthesis, or one of - + ~ ! before them. */
static int read_operand(reader *r, int64_t *value) {
  skip_blanks(r);
  char mark = *r->at;
  uint64_t number;
  if (++r->depth > MOST_DEPTH)
    return FAIL(r, r->at, "nested too deeply");
  int error = BF_OK;
  if (mark && strchr("-+~!", mark)) {
    r->at++;
    BF_TRY(read_operand(r, value));
    *value = mark == '-'   ? (int64_t)(0 - (uint64_t)*value)
             : mark == '~' ? ~*value
             : mark == '!' ? !*value
                           : *value;
  } else if (mark == '(') {
    r->at++;
    BF_TRY(read_level(r, 0, value));
    skip_blanks(r);
    if (*r->at != ')')
      return FAIL(r, r->at, "expected )");
    r->at++;
  } else if (isdigit((unsigned char)mark)) {
    if (!bf_parse_number(&r->at, &number) || number > INT64_MAX)
      return FAIL(r, r->at, "too large a number");
    r->at += strspn(r->at, "uUlL");
    *value = (int64_t)number;
  } else if (isalpha((unsigned char)mark) || mark == '_') {
    error = read_name(r, value);
  } else {
    return FAIL(r, r->at, "expected a number, a name or (");
  }
  r->depth--;
  return error;
}

/* An expression whose operators bind at least as tightly as level; at level 0 also a ? b : c. */
static int read_level(reader *r, unsigned level, int64_t *value) {
  BF_TRY(read_operand(r, value));
  for (;;) {
    skip_blanks(r);
    size_t i = 0;
    while (i < BINARIES && strncmp(r->at, binaries[i].mark, strlen(binaries[i].mark)) != 0)
      i++;
    if (i == BINARIES || binaries[i].level < level)
      break;
    int64_t right;
    const char *where = r->at;
    r->at += strlen(binaries[i].mark);
    BF_TRY(read_level(r, binaries[i].level + 1, &right));
    BF_TRY(operate(r, binaries[i].mark, where, *value, right, value));
  }
  if (level > 0 || *r->at != '?')
    return BF_OK;
  int64_t yes, no;
  r->at++;
  BF_TRY(read_level(r, 0, &yes));
  skip_blanks(r);
  if (*r->at != ':')
    return FAIL(r, r->at, "expected : behind ?");
  r->at++;
  BF_TRY(read_level(r, 0, &no));
  *value = *value ? yes : no;
  return BF_OK;
}

/* ---- Elements ---- */

void bf_subscript_name(const char *text, bf_text *out) {
  size_t length = strcspn(text, "[");
  while (length && isspace((unsigned char)text[length - 1]))
    length--;
  bf_text_add(out, text, length);
}

int bf_subscript_evaluate(const char *text, const bf_subscript_array *array,
                          const bf_subscript_place *place, const uint32_t thread[3],
                          uint64_t subscript[BF_SUBSCRIPT_MOST_DIMENSIONS],
                          bf_diagnostic *diagnostic) {
  reader r = {.text = text, .at = text, .place = place, .thread = thread, .diagnostic = diagnostic};
  while (isalnum((unsigned char)*r.at) || *r.at == '_')
    r.at++;
  skip_blanks(&r);
  if (r.at == text || *r.at != '[')
    return FAIL(&r, r.at, "expected an element, as in tile[threadIdx.x][0]");
  unsigned dimension = 0;
  for (; *r.at == '['; dimension++) {
    const char *where = ++r.at;
    int64_t value;
    if (dimension == array->dimensions)
      return FAIL(&r, where, "the array has %u dimensions", array->dimensions);
    BF_TRY(read_level(&r, 0, &value));
    skip_blanks(&r);
    if (*r.at++ != ']')
      return FAIL(&r, r.at - 1, "expected ]");
    skip_blanks(&r);
    uint64_t size = array->size[dimension] ? array->size[dimension] : UINT32_MAX;
    if (value < 0 || (uint64_t)value >= size)
      return FAIL(&r, where,
                  "thread (%u, %u, %u) asks for %lld, outside the %llu of this dimension",
                  thread[0], thread[1], thread[2], (long long)value, (unsigned long long)size);
    subscript[dimension] = (uint64_t)value;
  }
  if (*r.at || dimension != array->dimensions)
    return FAIL(&r, r.at, *r.at ? "text behind the element" : "subscripts are missing");
  return BF_OK;
}

/* Where an element is, in elements. */
static uint64_t place_of(const bf_subscript_array *array, const uint64_t *subscript, int extra) {
  uint64_t at = 0;
  unsigned last = array->dimensions - 1;
  for (unsigned i = 0; i <= last; i++) {
    uint64_t size = array->size[i] + (i == last && extra > 0 ? (uint64_t)extra : 0);
    uint64_t own = subscript[i];
    if (i == last && extra < 0 && i > 0)
      own ^= subscript[i - 1] & (array->size[i] - 1);
    at = at * (i ? size : 1) + own;
  }
  return at;
}

int bf_subscript_warp(const char *text, const bf_subscript_array *array,
                      const bf_subscript_place *place, unsigned warp, unsigned lanes, int extra,
                      bf_access *access, bf_diagnostic *diagnostic) {
  uint64_t threads = (uint64_t)place->block[0] * place->block[1] * place->block[2];
  access->width_bytes = array->element_bytes;
  access->mask = 0;
  access->count = 1;
  for (unsigned lane = 0; lane < lanes; lane++) {
    uint64_t linear = (uint64_t)warp * lanes + lane, subscript[BF_SUBSCRIPT_MOST_DIMENSIONS];
    if (linear >= threads)
      break;
    uint32_t thread[3] = {(uint32_t)(linear % place->block[0]),
                          (uint32_t)(linear / place->block[0] % place->block[1]),
                          (uint32_t)(linear / place->block[0] / place->block[1])};
    BF_TRY(bf_subscript_evaluate(text, array, place, thread, subscript, diagnostic));
    uint64_t bytes = place_of(array, subscript, extra) * array->element_bytes;
    if (bytes > UINT32_MAX - 16)
      return bf_fail(diagnostic, BF_BAD_INPUT, "the array is larger than shared memory can be");
    access->address[lane] = (uint32_t)bytes;
    access->mask |= (uint64_t)1 << lane;
  }
  return BF_OK;
}

bool bf_subscript_swizzled(const char *text, uint64_t columns, bf_text *out) {
  size_t open[BF_SUBSCRIPT_MOST_DIMENSIONS], close[BF_SUBSCRIPT_MOST_DIMENSIONS];
  unsigned count = 0, depth = 0;
  for (size_t i = 0; text[i]; i++) {
    if (text[i] == '[' && depth++ == 0 && count < BF_SUBSCRIPT_MOST_DIMENSIONS)
      open[count] = i + 1;
    else if (text[i] == ']' && --depth == 0)
      close[count++] = i;
  }
  if (count < 2)
    return false;
  unsigned last = count - 1;
  bf_text_add(out, text, open[last]);
  bf_text_addf(out, "(%.*s) ^ ((%.*s) & %llu)]", (int)(close[last] - open[last]), text + open[last],
               (int)(close[last - 1] - open[last - 1]), text + open[last - 1],
               (unsigned long long)columns - 1);
  return true;
}
