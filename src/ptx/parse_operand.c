/* Operands of instructions and initialisers of variables. */
#include "ptx/parser.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  bool vector;
  unsigned numbered;
} specials[] = {
#define X(symbol, name, vector, numbered) {name, vector, numbered},
    BF_PTX_SPECIALS(X)
#undef X
};

/* ---- Lists ---- */

int bf_ptx_push_operand(parser *p, const bf_ptx_operand *operand) {
  if (p->operands == p->operand_capacity) {
    size_t capacity = p->operand_capacity ? p->operand_capacity * 2 : 64;
    bf_ptx_operand *stack = realloc(p->operand, capacity * sizeof *stack);
    if (!stack)
      return bf_ptx_no_memory(p);
    p->operand = stack;
    p->operand_capacity = capacity;
  }
  p->operand[p->operands++] = *operand;
  return BF_OK;
}

int bf_ptx_pop_operands(parser *p, size_t from, const bf_ptx_operand **item, uint32_t *count) {
  size_t size = p->operands - from;
  bf_ptx_operand *copy = bf_ptx_new_array(p, size ? size : 1, sizeof *copy);
  if (!copy || size > UINT32_MAX)
    return bf_ptx_no_memory(p);
  if (size)
    memcpy(copy, p->operand + from, size * sizeof *copy);
  p->operands = from;
  *item = copy;
  *count = (uint32_t)size;
  return BF_OK;
}

typedef int (*parse_function)(parser *p, name_use use, bf_ptx_operand *operand);

/* Items of one kind separated by commas, up to and with close. */
static int parse_items(parser *p, const char *close, name_use use, parse_function parse,
                       const bf_ptx_operand **item, uint32_t *count) {
  size_t from = p->operands;
  bool more = !bf_ptx_is_sign(p, close);
  if (++p->depth > MOST_DEPTH)
    return FAIL("more than %d levels of nesting", MOST_DEPTH);
  while (more) {
    bf_ptx_operand operand = {0};
    BF_TRY(parse(p, use, &operand));
    BF_TRY(bf_ptx_push_operand(p, &operand));
    BF_TRY(bf_ptx_accept(p, ",", &more));
  }
  p->depth--;
  if (!bf_ptx_is_sign(p, close))
    return FAIL("expected ',' or '%s'", close);
  BF_TRY(bf_ptx_next(p));
  return bf_ptx_pop_operands(p, from, item, count);
}

int bf_ptx_parse_list(parser *p, const char *close, name_use use, const bf_ptx_operand **item,
                      uint32_t *count) {
  return parse_items(p, close, use, bf_ptx_parse_operand, item, count);
}

/* ---- Names ---- */

/* Splits "%r12" into "%r" and 12; false where no number without leading zeros ends the name. */
static bool split_number(const char *name, size_t size, size_t *stem, uint32_t *number) {
  size_t at = size;
  while (at > 0 && isdigit((unsigned char)name[at - 1]))
    at--;
  if (at == size || size - at > 9 || (name[at] == '0' && size - at > 1))
    return false;
  *number = (uint32_t)strtoul(name + at, NULL, 10);
  *stem = at;
  return true;
}

/* The key under which a range of registers "stem<N>" is declared; NULL where memory ends. */
static const char *range_key(parser *p, const char *stem, size_t size) {
  char text[256];
  if (size + 1 >= sizeof text)
    return bf_ptx_intern(&p->names, "<", 1);
  memcpy(text, stem, size);
  text[size] = '<';
  return bf_ptx_intern(&p->names, text, size + 1);
}

/* What name means in scope itself: a symbol, or a register of a range, with its index. */
static bf_ptx_symbol *find_in(parser *p, const name_scope *scope, const char *name,
                              const char *range, uint32_t number, uint32_t *index) {
  bf_ptx_symbol *symbol = bf_ptx_lookup(&p->names, scope, name);
  *index = 0;
  if (!symbol && range) {
    symbol = bf_ptx_lookup(&p->names, scope, range);
    if (symbol && number >= symbol->registers->count)
      symbol = NULL;
    *index = number;
  }
  return symbol;
}

static int find_name(parser *p, const char *name, bf_ptx_symbol **symbol, uint32_t *index) {
  size_t stem = 0;
  uint32_t number = 0;
  const char *range = NULL;
  if (split_number(name, strlen(name), &stem, &number)) {
    range = range_key(p, name, stem);
    if (!range)
      return bf_ptx_no_memory(p);
  }
  *symbol = NULL;
  for (const name_scope *scope = p->scope; scope && !*symbol; scope = scope->outer)
    *symbol = find_in(p, scope, name, range, number, index);
  return BF_OK;
}

/* Whether name is a special register, and which. */
static bool find_special(const char *name, bf_ptx_operand *operand) {
  size_t stem = 0;
  uint32_t number = 0;
  bool has_number = split_number(name, strlen(name), &stem, &number);
  for (unsigned i = 0; i < BF_PTX_SPECIAL_COUNT; i++) {
    bool numbered = specials[i].numbered > 0;
    size_t size = numbered && has_number ? stem : strlen(name);
    if (strlen(specials[i].name) == size && memcmp(specials[i].name, name, size) == 0 &&
        (!numbered || (has_number && number < specials[i].numbered))) {
      operand->kind = BF_PTX_SPECIAL;
      operand->special = (bf_ptx_special)i;
      operand->index = numbered ? number : 0;
      return true;
    }
  }
  return false;
}

/* A name that is resolved later. */
static int postpone(parser *p, const token *word, const char *name, name_use use,
                    bf_ptx_operand *operand) {
  unresolved *u = bf_ptx_new(p, sizeof *u);
  bf_ptx_symbol *symbol = bf_ptx_new(p, sizeof *symbol);
  if (!u || !symbol)
    return bf_ptx_no_memory(p);
  symbol->name = name;
  *u = (unresolved){p->pending, symbol, p->scope, *word, use};
  p->pending = u;
  operand->kind = BF_PTX_SYMBOL;
  operand->symbol = symbol;
  return BF_OK;
}

static int bind_name(parser *p, const token *word, const char *name, name_use use,
                     bf_ptx_operand *operand) {
  bf_ptx_symbol *symbol = NULL;
  uint32_t index = 0;
  if (use != USE_ANY)
    return postpone(p, word, name, use, operand);
  BF_TRY(find_name(p, name, &symbol, &index));
  if (symbol && symbol->kind == BF_PTX_SYMBOL_REGISTERS) {
    operand->kind = BF_PTX_REGISTER;
    operand->registers = symbol->registers;
    operand->index = index;
  } else if (symbol) {
    operand->kind = BF_PTX_SYMBOL;
    operand->symbol = symbol;
  } else if (!find_special(name, operand)) {
    if (name[0] == '%')
      return FAIL_TOKEN(*word, "register '%s' is not declared", name);
    return postpone(p, word, name, USE_ANY, operand);
  }
  return BF_OK;
}

/* Whether a word selects parts of a register: b and up to four digits, h and up to two. */
static bool is_selector(const token *word) {
  size_t most = word->text[0] == 'b' ? 4 : word->text[0] == 'h' ? 2 : 0;
  bool all_digits = word->size > 1 && word->size - 1 <= most;
  for (size_t i = 1; all_digits && i < word->size; i++)
    all_digits = word->text[i] >= '0' && word->text[i] <= '7';
  return all_digits;
}

static int take_selector(parser *p, bf_ptx_operand *operand) {
  operand->selector = bf_ptx_intern(&p->names, p->token.text, p->token.size);
  return operand->selector ? bf_ptx_next(p) : bf_ptx_no_memory(p);
}

/* .x .y .z .w, or .r .g .b .a for the same, behind a register; or a selector */
static int parse_component(parser *p, bf_ptx_operand *operand) {
  static const char from[] = "xyzwrgba", to[] = "xyzwxyzw";
  bool special = operand->kind == BF_PTX_SPECIAL;
  if (p->token.kind != TOKEN_DOTTED || (!special && operand->kind != BF_PTX_REGISTER))
    return BF_OK;
  if (p->is_video && operand->kind == BF_PTX_REGISTER && is_selector(&p->token))
    return take_selector(p, operand);
  const char *found = p->token.size == 1 ? strchr(from, p->token.text[0]) : NULL;
  bool has = special ? specials[operand->special].vector : operand->registers->vector > 0;
  if (!found || !has)
    return FAIL("no component '.%.*s' here", (int)(p->token.size < 60 ? p->token.size : 60),
                p->token.text);
  operand->component = to[found - from];
  return bf_ptx_next(p);
}

/* + constant or - constant behind a symbol or the base of an address */
static int parse_offset(parser *p, bf_ptx_operand *operand) {
  bool plus;
  BF_TRY(bf_ptx_accept(p, "+", &plus));
  if (!plus && !bf_ptx_is_sign(p, "-"))
    return BF_OK;
  token word = p->token;
  bf_ptx_operand constant = {0};
  BF_TRY(bf_ptx_parse_constant(p, &constant));
  if (constant.kind != BF_PTX_INTEGER)
    return FAIL_TOKEN(word, "expected a whole number of bytes");
  operand->offset = (int64_t)((uint64_t)operand->offset + constant.bits);
  operand->has_offset = true;
  return BF_OK;
}

static int parse_name(parser *p, name_use use, bf_ptx_operand *operand) {
  token word = p->token;
  const char *name;
  BF_TRY(bf_ptx_take_name(p, "an operand", &name));
  if (strcmp(name, "_") == 0) {
    operand->kind = BF_PTX_SINK;
    return BF_OK;
  }
  BF_TRY(bind_name(p, &word, name, use, operand));
  return parse_component(p, operand);
}

/* ---- Operands ---- */

static void set_place(const parser *p, bf_ptx_operand *operand) {
  operand->line = (uint32_t)p->token.line;
  operand->column = (uint32_t)(p->token.at - p->token.line_start) + 1;
}

/* The base of an address with its offset, or what stands behind it. */
static int parse_address_item(parser *p, name_use use, bf_ptx_operand *operand) {
  if (p->token.kind != TOKEN_WORD)
    return bf_ptx_parse_operand(p, use, operand);
  set_place(p, operand);
  BF_TRY(parse_name(p, use, operand));
  return parse_offset(p, operand);
}

/* [base + offset, item, ...]; the bracket is taken. */
static int parse_address(parser *p, bf_ptx_operand *operand) {
  bf_ptx_operand *base;
  operand->kind = BF_PTX_ADDRESS;
  token word = p->token;
  BF_TRY(parse_items(p, "]", USE_ANY, parse_address_item, &operand->item, &operand->count));
  if (operand->count == 0)
    return FAIL_TOKEN(word, "expected an address");
  base = (bf_ptx_operand *)&operand->item[0];
  operand->offset = base->offset;
  operand->has_offset = base->has_offset;
  base->offset = 0;
  base->has_offset = false;
  operand->unified = bf_ptx_is_dotted(p, "unified");
  return operand->unified ? bf_ptx_next(p) : BF_OK;
}

/* a | b */
static int parse_pair(parser *p, bf_ptx_operand *operand) {
  bf_ptx_operand *item = bf_ptx_new_array(p, 2, sizeof *item);
  bool taken;
  if (!item)
    return bf_ptx_no_memory(p);
  item[0] = *operand;
  BF_TRY(bf_ptx_accept(p, "!", &taken));
  BF_TRY(parse_name(p, USE_ANY, &item[1]));
  item[1].negated = taken;
  operand->kind = BF_PTX_PAIR;
  operand->negated = false;
  operand->component = 0;
  operand->index = 0;
  operand->item = item;
  operand->count = 2;
  return BF_OK;
}

/* name, !name, name + offset, name | name */
static int parse_named(parser *p, name_use use, bf_ptx_operand *operand) {
  bool pair;
  BF_TRY(bf_ptx_accept(p, "!", &operand->negated));
  BF_TRY(parse_name(p, use, operand));
  BF_TRY(bf_ptx_accept(p, "|", &pair));
  if (pair)
    return parse_pair(p, operand);
  return operand->kind == BF_PTX_SYMBOL ? parse_offset(p, operand) : BF_OK;
}

/* A sign in front of a name; before anything else it is an operator on constants. */
static bool at_signed_name(const parser *p, const char *sign) {
  const char *at = p->lexer.cursor;
  return bf_ptx_is_sign(p, sign) &&
         (isalpha((unsigned char)*at) || *at == '%' || *at == '_' || *at == '$');
}

int bf_ptx_parse_operand(parser *p, name_use use, bf_ptx_operand *operand) {
  bool taken;
  set_place(p, operand);
  if (p->is_video && at_signed_name(p, "-"))
    BF_TRY(bf_ptx_accept(p, "-", &operand->minus));
  if (p->token.kind == TOKEN_WORD || at_signed_name(p, "!"))
    return parse_named(p, use, operand);
  BF_TRY(bf_ptx_accept(p, "[", &taken));
  if (taken)
    return parse_address(p, operand);
  BF_TRY(bf_ptx_accept(p, "{", &taken));
  if (taken) {
    operand->kind = BF_PTX_VECTOR;
    return bf_ptx_parse_list(p, "}", use, &operand->item, &operand->count);
  }
  if (p->token.kind == TOKEN_END || p->token.kind == TOKEN_DOTTED ||
      p->token.kind == TOKEN_STRING || bf_ptx_is_sign(p, ";") || bf_ptx_is_sign(p, ","))
    return FAIL("expected an operand");
  return bf_ptx_parse_constant(p, operand);
}

/* ---- Initialisers ---- */

/* symbol [+ offset] */
static int parse_initialiser_symbol(parser *p, bf_ptx_operand *operand) {
  BF_TRY(parse_name(p, USE_ANY, operand));
  if (operand->kind != BF_PTX_SYMBOL)
    return FAIL("expected a constant or the name of a variable or function");
  return parse_offset(p, operand);
}

/* The same in parentheses, for generic(...), mask(...) and mask(generic(...)); then perhaps an
 * offset. */
static int parse_generic(parser *p, bf_ptx_operand *operand);
static int parse_wrapped(parser *p, bf_ptx_operand *operand) {
  BF_TRY(bf_ptx_expect(p, "("));
  if (bf_ptx_is_word(p, "generic") && !operand->generic)
    BF_TRY(parse_generic(p, operand));
  else
    BF_TRY(parse_initialiser_symbol(p, operand));
  BF_TRY(bf_ptx_expect(p, ")"));
  return parse_offset(p, operand);
}

static int parse_initialiser_item(parser *p, name_use unused, bf_ptx_operand *operand) {
  (void)unused;
  return bf_ptx_parse_initialiser(p, operand);
}

static int parse_generic(parser *p, bf_ptx_operand *operand) {
  BF_TRY(bf_ptx_next(p));
  operand->generic = true;
  return parse_wrapped(p, operand);
}

/* A constant, or mask(symbol). */
static int parse_initialiser_constant(parser *p, bf_ptx_operand *operand) {
  BF_TRY(bf_ptx_parse_constant(p, operand));
  if (operand->kind != BF_PTX_INTEGER || !bf_ptx_is_sign(p, "("))
    return BF_OK;
  operand->mask = operand->bits;
  operand->is_unsigned = false;
  if (!operand->mask)
    return FAIL("a mask of 0 takes nothing of an address");
  return parse_wrapped(p, operand);
}

int bf_ptx_parse_initialiser(parser *p, bf_ptx_operand *operand) {
  bool taken;
  set_place(p, operand);
  BF_TRY(bf_ptx_accept(p, "{", &taken));
  if (taken) {
    operand->kind = BF_PTX_VECTOR;
    return parse_items(p, "}", USE_ANY, parse_initialiser_item, &operand->item, &operand->count);
  }
  if (bf_ptx_is_word(p, "generic"))
    return parse_generic(p, operand);
  if (p->token.kind == TOKEN_WORD)
    return parse_initialiser_symbol(p, operand);
  return parse_initialiser_constant(p, operand);
}
