/* Terms: integers made of numbers, parameters, addresses of arrays, block and copy. */
#include "rgpu/reader.h"

#include <string.h>

enum { MOST_DEPTH = 64 };

/* ---- Building ---- */

const bf_rgpu_term *rgpu_term_number(bf_arena *arena, int64_t number) {
  bf_rgpu_term *term = bf_arena_alloc(arena, sizeof *term);
  if (term)
    *term = (bf_rgpu_term){.kind = BF_RGPU_TERM_NUMBER, .number = number};
  return term;
}

const bf_rgpu_term *rgpu_term_join(bf_arena *arena, bf_rgpu_term_kind kind,
                                   const bf_rgpu_term *left, const bf_rgpu_term *right) {
  bf_rgpu_term *term = bf_arena_alloc(arena, sizeof *term);
  if (!left || !right || !term)
    return NULL;
  *term = (bf_rgpu_term){.kind = kind, .left = left, .right = right};
  return term;
}

/* ---- Reading ---- */

typedef struct term_reader {
  reader *r;
  unsigned scope, depth;
} term_reader;

static int take_sum(term_reader *t, const bf_rgpu_term **term);
static int take_factor(term_reader *t, const bf_rgpu_term **term);

/* A new term at the place of the reader. */
static bf_rgpu_term *place_term(term_reader *t, bf_rgpu_term_kind kind) {
  bf_rgpu_term *term = bf_arena_alloc(&t->r->graph->arena, sizeof *term);
  if (term)
    *term = (bf_rgpu_term){.kind = kind, .line = t->r->number, .column = rgpu_column(t->r)};
  return term;
}

/* Words that stand for a value, and the scope in which they do. */
static const struct {
  const char *word;
  bf_rgpu_term_kind kind;
  unsigned scope;
} words[] = {{"block", BF_RGPU_TERM_BLOCK, SCOPE_BLOCK},
             {"blocks", BF_RGPU_TERM_BLOCKS, SCOPE_BLOCK},
             {"copy", BF_RGPU_TERM_COPY, SCOPE_BLOCK},
             {"copies", BF_RGPU_TERM_COPIES, SCOPE_KERNEL},
             {"index", BF_RGPU_TERM_INDEX, SCOPE_INDEX}};

/* What a word in a term stands for. */
static int resolve(term_reader *t, size_t length, bf_rgpu_term *term) {
  reader *r = t->r;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strlen(words[i].word) == length && strncmp(words[i].word, r->at, length) == 0) {
      term->kind = words[i].kind;
      return (words[i].scope & t->scope) == words[i].scope
                 ? BF_OK
                 : FAIL(r, "'%s' has no value here", words[i].word);
    }
  int found = rgpu_find_parameter(r->graph, r->at, length);
  if (found >= 0) {
    term->kind = BF_RGPU_TERM_PARAMETER;
    term->name = (unsigned)found;
    return BF_OK;
  }
  if ((found = rgpu_find_array(r->graph, r->at, length)) >= 0) {
    term->kind = BF_RGPU_TERM_ARRAY;
    term->name = (unsigned)found;
    return t->scope & SCOPE_BLOCK ? BF_OK : FAIL(r, "the address of an array has no value here");
  }
  if (rgpu_find_node_part(r->graph, r->at, length) >= 0)
    return FAIL(r, "'%.*s' is a node; its values are not known when a block is set up", (int)length,
                r->at);
  return FAIL(r, "unknown name '%.*s'", (int)length, r->at);
}

static int take_name_term(term_reader *t, size_t length, const bf_rgpu_term **term) {
  bf_rgpu_term *found = place_term(t, BF_RGPU_TERM_NUMBER);
  if (!found)
    return rgpu_no_memory(t->r);
  BF_TRY(resolve(t, length, found));
  t->r->at += length;
  *term = found;
  return BF_OK;
}

static int take_number_term(term_reader *t, const bf_rgpu_term **term) {
  bf_rgpu_term *found = place_term(t, BF_RGPU_TERM_NUMBER);
  uint64_t number;
  if (!found)
    return rgpu_no_memory(t->r);
  const char *place = t->r->at;
  if (!bf_parse_number(&t->r->at, &number) || number > INT64_MAX)
    return FAIL_AT(t->r, place, "expected a number, a name or '('");
  if (*t->r->at == '.')
    return FAIL(t->r, "expected a whole number");
  found->number = (int64_t)number;
  *term = found;
  return BF_OK;
}

/* left KIND right, at the place of the operator. */
static int join(term_reader *t, bf_rgpu_term_kind kind, uint32_t column, const bf_rgpu_term **left,
                const bf_rgpu_term *right) {
  bf_rgpu_term *joined = place_term(t, kind);
  if (!joined)
    return rgpu_no_memory(t->r);
  joined->left = *left;
  joined->right = right;
  joined->column = column;
  *left = joined;
  return BF_OK;
}

/* - factor, behind the sign at a column. */
static int take_negation(term_reader *t, uint32_t column, const bf_rgpu_term **term) {
  const bf_rgpu_term *right;
  BF_TRY(take_factor(t, &right));
  *term = rgpu_term_number(&t->r->graph->arena, 0);
  return *term ? join(t, BF_RGPU_TERM_SUBTRACT, column, term, right) : rgpu_no_memory(t->r);
}

/* number | name | ( sum ) | - factor. A sign before a name or a number is not counted as one inside
 * another, so that -x is no deeper than 0 - x, which is the same term. */
static int take_factor(term_reader *t, const bf_rgpu_term **term) {
  reader *r = t->r;
  rgpu_skip_blanks(r);
  uint32_t column = rgpu_column(r);
  size_t length = rgpu_name_length(r->at);
  bool is_negation = !length && rgpu_take(r, '-');
  rgpu_skip_blanks(r);
  bool is_inside = is_negation && (*r->at == '(' || *r->at == '-');
  bool is_sum = !length && !is_negation && rgpu_take(r, '(');
  t->depth += is_inside || is_sum;
  if (t->depth > MOST_DEPTH)
    return FAIL(r, "more than %d parentheses and signs inside each other", MOST_DEPTH);
  int error = is_negation ? take_negation(t, column, term)
              : is_sum    ? take_sum(t, term)
              : length    ? take_name_term(t, length, term)
                          : take_number_term(t, term);
  if (!error && is_sum)
    error = rgpu_expect(r, ')', "behind the term");
  t->depth -= is_inside || is_sum;
  return error;
}

/* factor { (* | / | %) factor } */
static int take_product(term_reader *t, const bf_rgpu_term **term) {
  BF_TRY(take_factor(t, term));
  for (;;) {
    rgpu_skip_blanks(t->r);
    uint32_t column = rgpu_column(t->r);
    bf_rgpu_term_kind kind = rgpu_take(t->r, '*')   ? BF_RGPU_TERM_MULTIPLY
                             : rgpu_take(t->r, '/') ? BF_RGPU_TERM_DIVIDE
                             : rgpu_take(t->r, '%') ? BF_RGPU_TERM_REMAINDER
                                                    : BF_RGPU_TERM_NUMBER;
    const bf_rgpu_term *right;
    if (kind == BF_RGPU_TERM_NUMBER)
      return BF_OK;
    BF_TRY(take_factor(t, &right));
    BF_TRY(join(t, kind, column, term, right));
  }
}

/* product { (+ | -) product } */
static int take_sum(term_reader *t, const bf_rgpu_term **term) {
  BF_TRY(take_product(t, term));
  for (;;) {
    rgpu_skip_blanks(t->r);
    uint32_t column = rgpu_column(t->r);
    bf_rgpu_term_kind kind = rgpu_take(t->r, '+')   ? BF_RGPU_TERM_ADD
                             : rgpu_take(t->r, '-') ? BF_RGPU_TERM_SUBTRACT
                                                    : BF_RGPU_TERM_NUMBER;
    const bf_rgpu_term *right;
    if (kind == BF_RGPU_TERM_NUMBER)
      return BF_OK;
    BF_TRY(take_product(t, &right));
    BF_TRY(join(t, kind, column, term, right));
  }
}

int rgpu_take_term(reader *r, unsigned scope, const bf_rgpu_term **term) {
  term_reader t = {.r = r, .scope = scope};
  return take_sum(&t, term);
}

/* ---- Printing ---- */

static const char *operator_text(bf_rgpu_term_kind kind) {
  switch (kind) {
  case BF_RGPU_TERM_ADD:
    return " + ";
  case BF_RGPU_TERM_SUBTRACT:
    return " - ";
  case BF_RGPU_TERM_MULTIPLY:
    return "*";
  case BF_RGPU_TERM_DIVIDE:
    return "/";
  default:
    return "%";
  }
}

static const char *leaf_word(bf_rgpu_term_kind kind) {
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (words[i].kind == kind)
      return words[i].word;
  return "";
}

/* -x, which binds like x. Other terms that are subtracted from 0 are printed so: that needs no more
 * parentheses and signs inside each other than any way to write them. */
static bool is_negation(const bf_rgpu_term *term) {
  return term->kind == BF_RGPU_TERM_SUBTRACT && term->left->kind == BF_RGPU_TERM_NUMBER &&
         term->left->number == 0 && !term->right->left;
}

static bool is_sum(const bf_rgpu_term *term) {
  return (term->kind == BF_RGPU_TERM_ADD || term->kind == BF_RGPU_TERM_SUBTRACT) &&
         !is_negation(term);
}

static bool is_leaf(const bf_rgpu_term *term) { return !term->left || is_negation(term); }

/* A term inside another, in parentheses where those are needed. */
static void print_inner(const bf_rgpu_graph *graph, const bf_rgpu_term *term, bool needs,
                        bf_text *text) {
  needs |= term->kind == BF_RGPU_TERM_NUMBER && term->number < 0;
  bf_text_puts(text, needs ? "(" : "");
  bf_rgpu_print_term(graph, term, text);
  bf_text_puts(text, needs ? ")" : "");
}

void bf_rgpu_print_term(const bf_rgpu_graph *graph, const bf_rgpu_term *term, bf_text *text) {
  if (term->kind == BF_RGPU_TERM_NUMBER) {
    bf_text_addf(text, "%lld", (long long)term->number);
  } else if (term->kind == BF_RGPU_TERM_PARAMETER) {
    bf_text_puts(text, graph->parameter[term->name].name);
  } else if (term->kind == BF_RGPU_TERM_ARRAY) {
    bf_text_puts(text, graph->array[term->name].name);
  } else if (!term->left) {
    bf_text_puts(text, leaf_word(term->kind));
  } else if (is_negation(term)) {
    bf_text_puts(text, "-");
    print_inner(graph, term->right, false, text);
  } else {
    bool sum = is_sum(term);
    print_inner(graph, term->left, !sum && is_sum(term->left), text);
    bf_text_puts(text, operator_text(term->kind));
    print_inner(graph, term->right, sum ? is_sum(term->right) : !is_leaf(term->right), text);
  }
}
