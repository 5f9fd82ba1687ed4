/* Modules: the words at the top level of a PTX file, and what all of the parser needs. Functions
 * are named after the piece of grammar they parse; each is called with its first token not yet
 * taken. */
#include "ptx/parser.h"

#include <stdlib.h>
#include <string.h>

int bf_ptx_no_memory(parser *p) { return bf_no_memory(p->lexer.diagnostic); }

void *bf_ptx_new(parser *p, size_t size) { return bf_arena_alloc(&p->module->arena, size); }

void *bf_ptx_new_array(parser *p, size_t count, size_t size) {
  return count > SIZE_MAX / 4 / size ? NULL : bf_ptx_new(p, count * size);
}

int bf_ptx_next(parser *p) { return bf_ptx_lex(&p->lexer, &p->token); }

bool bf_ptx_is_sign(const parser *p, const char *sign) {
  return p->token.kind == TOKEN_SIGN && p->token.sign[0] == sign[0] && p->token.sign[1] == sign[1];
}

static bool is_text(const token *t, const char *text) {
  return t->size == strlen(text) && memcmp(t->text, text, t->size) == 0;
}

bool bf_ptx_is_word(const parser *p, const char *word) {
  return p->token.kind == TOKEN_WORD && is_text(&p->token, word);
}

bool bf_ptx_is_dotted(const parser *p, const char *word) {
  return p->token.kind == TOKEN_DOTTED && is_text(&p->token, word);
}

int bf_ptx_accept(parser *p, const char *sign, bool *taken) {
  *taken = bf_ptx_is_sign(p, sign);
  return *taken ? bf_ptx_next(p) : BF_OK;
}

int bf_ptx_expect(parser *p, const char *sign) {
  return bf_ptx_is_sign(p, sign) ? bf_ptx_next(p) : FAIL("expected '%s'", sign);
}

int bf_ptx_take_name(parser *p, const char *what, const char **name) {
  if (p->token.kind != TOKEN_WORD)
    return FAIL("expected %s", what);
  *name = bf_ptx_intern(&p->names, p->token.text, p->token.size);
  return *name ? bf_ptx_next(p) : bf_ptx_no_memory(p);
}

int bf_ptx_take_number(parser *p, const char *what, uint64_t most, uint64_t *value) {
  if (p->token.kind != TOKEN_INTEGER)
    return FAIL("expected %s: a whole number", what);
  if (p->token.bits > most)
    return FAIL("%s may be at most %llu", what, (unsigned long long)most);
  *value = p->token.bits;
  return bf_ptx_next(p);
}

int bf_ptx_take_string(parser *p, const char **text) {
  if (p->token.kind != TOKEN_STRING)
    return FAIL("expected a string");
  *text = bf_ptx_intern(&p->names, p->token.text, p->token.size);
  return *text ? bf_ptx_next(p) : bf_ptx_no_memory(p);
}

/* ---- Scopes ---- */

int bf_ptx_open_scope(parser *p) {
  name_scope *inner = bf_ptx_new(p, sizeof *inner);
  if (!inner)
    return bf_ptx_no_memory(p);
  inner->outer = p->scope;
  p->scope = inner;
  return BF_OK;
}

void bf_ptx_close_scope(parser *p) { p->scope = (name_scope *)p->scope->outer; }

/* Whether a second declaration of a name may stand: one that only announces what another defines.
 */
static bool may_repeat(const bf_ptx_symbol *old, const bf_ptx_symbol *symbol) {
  if (old->kind != symbol->kind)
    return false;
  if (old->kind == BF_PTX_SYMBOL_FUNCTION)
    return !old->function->has_body || !symbol->function->has_body;
  return old->kind == BF_PTX_SYMBOL_VARIABLE &&
         (old->variable->linkage == BF_PTX_EXTERN || symbol->variable->linkage == BF_PTX_EXTERN ||
          old->variable->linkage == BF_PTX_COMMON);
}

/* Of two declarations that may stand beside each other, the definition is what the name means. */
static void merge(bf_ptx_symbol *old, const bf_ptx_symbol *symbol) {
  bool better = old->kind == BF_PTX_SYMBOL_FUNCTION ? symbol->function->has_body
                                                    : symbol->variable->linkage != BF_PTX_EXTERN;
  if (better)
    *old = *symbol;
}

int bf_ptx_add_symbol(parser *p, const token *word, const char *name, bf_ptx_symbol_kind kind,
                      const void *what, bf_ptx_symbol **result) {
  bf_ptx_symbol *symbol = bf_ptx_new(p, sizeof *symbol), *old;
  if (!symbol)
    return bf_ptx_no_memory(p);
  *symbol = (bf_ptx_symbol){.name = name, .kind = kind, .line = word->line};
  if (what)
    memcpy(&symbol->registers, &what, sizeof what);
  int error = bf_ptx_declare(&p->names, p->scope, name, symbol, &old);
  if (error == BF_NO_MEMORY)
    return bf_ptx_no_memory(p);
  if (!error) {
    if (result)
      *result = symbol;
    return BF_OK;
  }
  if (!may_repeat(old, symbol))
    return FAIL_TOKEN(*word, "'%s%s' is already declared in line %llu", name,
                      strchr(name, '<') ? "N>" : "", (unsigned long long)old->line);
  merge(old, symbol);
  if (result)
    *result = old;
  return BF_OK;
}

static bool suits(const bf_ptx_symbol *symbol, name_use use) {
  return use == USE_ANY || (use == USE_LABEL && symbol->kind == BF_PTX_SYMBOL_LABEL) ||
         (use == USE_BRANCH_TARGETS && symbol->kind == BF_PTX_SYMBOL_TARGETS &&
          !symbol->targets->calls);
}

/* The symbol that a pending name stands for, looking outward from its scope. */
static const bf_ptx_symbol *find_pending(const parser *p, const unresolved *u) {
  for (const name_scope *scope = u->scope; scope; scope = scope->outer) {
    const bf_ptx_symbol *symbol = bf_ptx_lookup(&p->names, scope, u->symbol->name);
    if (symbol && suits(symbol, u->use))
      return symbol;
  }
  return NULL;
}

/* The pending names in the order of the text. */
static unresolved *take_pending(parser *p) {
  unresolved *first = NULL;
  while (p->pending) {
    unresolved *u = p->pending;
    p->pending = u->next;
    u->next = first;
    first = u;
  }
  return first;
}

int bf_ptx_resolve(parser *p) {
  for (unresolved *u = take_pending(p); u; u = u->next) {
    const bf_ptx_symbol *found = find_pending(p, u);
    if (!found && u->use == USE_LABEL)
      return FAIL_TOKEN(u->word, "no label '%s' here", u->symbol->name);
    if (!found && u->use == USE_BRANCH_TARGETS)
      return FAIL_TOKEN(u->word, "no list of labels '%s' here", u->symbol->name);
    if (!found)
      return FAIL_TOKEN(u->word, "'%s' is not declared", u->symbol->name);
    *u->symbol = *found;
  }
  return BF_OK;
}

/* ---- .version, .target, .address_size ---- */

static int parse_version(parser *p) {
  const char *at = p->token.at;
  uint64_t major, minor;
  if (p->token.kind != TOKEN_DECIMAL || !bf_parse_number(&at, &major) || *at++ != '.' ||
      !bf_parse_number(&at, &minor) || major > 1000 || minor > 1000)
    return FAIL("expected a version such as 9.0");
  p->module->version_major = (unsigned)major;
  p->module->version_minor = (unsigned)minor;
  return bf_ptx_next(p);
}

static int parse_target(parser *p) {
  const char *target[16];
  unsigned count = 0;
  bool more = true;
  while (more) {
    if (count == sizeof target / sizeof *target)
      return FAIL("more than %u targets", count);
    BF_TRY(bf_ptx_take_name(p, "a target such as sm_90", &target[count++]));
    BF_TRY(bf_ptx_accept(p, ",", &more));
  }
  p->module->target = bf_ptx_new_array(p, count, sizeof *target);
  if (!p->module->target)
    return bf_ptx_no_memory(p);
  memcpy(p->module->target, target, count * sizeof *target);
  p->module->targets = count;
  return BF_OK;
}

static int parse_address_size(parser *p) {
  uint64_t bits = 0;
  token word = p->token;
  BF_TRY(bf_ptx_take_number(p, "the address size", 64, &bits));
  if (bits != 32 && bits != 64)
    return FAIL_TOKEN(word, "the address size must be 32 or 64");
  p->module->address_bits = (unsigned)bits;
  return BF_OK;
}

/* ---- Items ---- */

/* A new item behind the last one, or NULL. */
static bf_ptx_item *new_item(parser *p, bf_ptx_item_kind kind) {
  bf_ptx_item *item = bf_ptx_new(p, sizeof *item);
  if (item) {
    item->kind = kind;
    *p->last_item = item;
    p->last_item = &item->next;
  }
  return item;
}

/* An item of a kind that is one pointer. */
static int add_item(parser *p, bf_ptx_item_kind kind, const void *what) {
  bf_ptx_item *item = new_item(p, kind);
  if (!item)
    return bf_ptx_no_memory(p);
  memcpy(&item->variable, &what, sizeof what);
  return BF_OK;
}

static int add_variable(parser *p, const bf_ptx_variable *variable) {
  return add_item(p, BF_PTX_ITEM_VARIABLE, variable);
}

/* .file N "name" [, time, size] */
static int parse_file(parser *p) {
  bf_ptx_file *file = bf_ptx_new(p, sizeof *file);
  if (!file)
    return bf_ptx_no_memory(p);
  BF_TRY(bf_ptx_take_number(p, "the number of the file", UINT32_MAX, &file->number));
  BF_TRY(bf_ptx_take_string(p, &file->name));
  BF_TRY(bf_ptx_accept(p, ",", &file->has_time));
  if (file->has_time) {
    BF_TRY(bf_ptx_take_number(p, "a time stamp", UINT64_MAX, &file->time));
    BF_TRY(bf_ptx_expect(p, ","));
    BF_TRY(bf_ptx_take_number(p, "a file size", UINT64_MAX, &file->size_bytes));
  }
  return add_item(p, BF_PTX_ITEM_FILE, file);
}

/* The line from `from` to `to` without comment and outer blanks; *size is 0 for an empty one. */
static const char *trim(const char *from, const char *to, size_t *size) {
  for (const char *at = from; at + 1 < to; at++)
    if (at[0] == '/' && at[1] == '/')
      to = at;
  while (from < to && strchr(" \t\r\f\v", *from))
    from++;
  while (to > from && strchr(" \t\r\f\v", to[-1]))
    to--;
  *size = (size_t)(to - from);
  return from;
}

/* Goes over the lines of a section behind its brace; stores them where line is not NULL. */
static int section_lines(parser *p, lexer *l, const char **line, unsigned *lines) {
  for (*lines = 0;;) {
    size_t length = strcspn(l->cursor, "\n}"), size;
    if (memmem(l->cursor, length, "//", 2)) /* a brace in the comment does not count */
      length = strcspn(l->cursor, "\n");
    const char *start = trim(l->cursor, l->cursor + length, &size);
    if (size && line && !(line[*lines] = bf_ptx_intern(&p->names, start, size)))
      return bf_ptx_no_memory(p);
    *lines += size > 0;
    l->cursor += length;
    if (*l->cursor == '}')
      return BF_OK;
    if (!*l->cursor)
      return FAIL("section without end");
    l->line++;
    l->line_start = ++l->cursor;
  }
}

/* .section .name { lines } */
static int parse_section(parser *p) {
  bf_ptx_section *section = bf_ptx_new(p, sizeof *section);
  if (!section)
    return bf_ptx_no_memory(p);
  if (p->token.kind != TOKEN_DOTTED)
    return FAIL("expected the name of a section, with its dot");
  section->name = bf_ptx_intern(&p->names, p->token.at, p->token.size + 1);
  if (!section->name)
    return bf_ptx_no_memory(p);
  BF_TRY(bf_ptx_next(p));
  if (!bf_ptx_is_sign(p, "{"))
    return FAIL("expected '{'");
  lexer ahead = p->lexer;
  BF_TRY(section_lines(p, &ahead, NULL, &section->lines));
  const char **line = bf_ptx_new_array(p, section->lines ? section->lines : 1, sizeof *line);
  if (!line)
    return bf_ptx_no_memory(p);
  BF_TRY(section_lines(p, &p->lexer, line, &section->lines));
  section->text = line;
  BF_TRY(bf_ptx_next(p));
  BF_TRY(bf_ptx_expect(p, "}"));
  return add_item(p, BF_PTX_ITEM_SECTION, section);
}

/* .alias name, function; */
static int parse_alias(parser *p) {
  bf_ptx_item *item = new_item(p, BF_PTX_ITEM_ALIAS);
  if (!item)
    return bf_ptx_no_memory(p);
  BF_TRY(bf_ptx_take_name(p, "a name", &item->alias[0]));
  BF_TRY(bf_ptx_expect(p, ","));
  token word = p->token;
  BF_TRY(bf_ptx_take_name(p, "the name of a function", &item->alias[1]));
  const bf_ptx_symbol *symbol = bf_ptx_lookup(&p->names, p->scope, item->alias[1]);
  if (!symbol || symbol->kind != BF_PTX_SYMBOL_FUNCTION)
    return FAIL_TOKEN(word, "no function '%s'", item->alias[1]);
  return bf_ptx_expect(p, ";");
}

static int parse_pragma(parser *p) {
  const char *text = NULL;
  BF_TRY(bf_ptx_take_string(p, &text));
  BF_TRY(bf_ptx_expect(p, ";"));
  return add_item(p, BF_PTX_ITEM_PRAGMA, text);
}

/* ---- Functions ---- */

/* Name, parameters and directives; the name belongs to the module, the rest to the function. */
static int parse_header(parser *p, bf_ptx_function *function, token *word) {
  if (!function->is_entry) {
    BF_TRY(bf_ptx_parse_attribute(p, &function->attribute));
    if (bf_ptx_is_sign(p, "("))
      BF_TRY(bf_ptx_parse_parameters(p, false, &function->returns));
  }
  *word = p->token;
  BF_TRY(bf_ptx_take_name(p, "the name of a function", &function->name));
  if (bf_ptx_is_sign(p, "("))
    BF_TRY(bf_ptx_parse_parameters(p, false, &function->parameters));
  return bf_ptx_parse_directives(p, &function->directives);
}

/* The function is known to its own body, with has_body as it will be. */
static int declare_function(parser *p, const token *word, bf_ptx_function *function) {
  name_scope *inner = p->scope;
  function->has_body = bf_ptx_is_sign(p, "{");
  p->scope = p->module_scope;
  int error = bf_ptx_add_symbol(p, word, function->name, BF_PTX_SYMBOL_FUNCTION, function, NULL);
  p->scope = inner;
  return error;
}

static int parse_function(parser *p, bf_ptx_linkage linkage, bool is_entry) {
  token word;
  bf_ptx_function *function = bf_ptx_new(p, sizeof *function);
  if (!function)
    return bf_ptx_no_memory(p);
  function->line = p->token.line;
  function->linkage = linkage;
  function->is_entry = is_entry;
  p->function = function;
  BF_TRY(bf_ptx_open_scope(p));
  BF_TRY(parse_header(p, function, &word));
  BF_TRY(declare_function(p, &word, function));
  if (function->has_body)
    BF_TRY(bf_ptx_parse_body(p, function));
  else
    BF_TRY(bf_ptx_expect(p, ";"));
  bf_ptx_close_scope(p);
  p->function = NULL;
  return add_item(p, BF_PTX_ITEM_FUNCTION, function);
}

/* ---- The top level ---- */

static bf_ptx_linkage linkage_of(const parser *p) {
  static const char *const name[] = {"", "extern", "visible", "weak", "common"};
  for (unsigned i = 1; i < sizeof name / sizeof *name; i++)
    if (bf_ptx_is_dotted(p, name[i]))
      return (bf_ptx_linkage)i;
  return BF_PTX_PRIVATE;
}

static int refuse_register(parser *p, const bf_ptx_registers *registers) {
  return FAIL("registers such as '%s' belong inside functions", registers->name);
}

/* What a linkage can stand before. */
static int parse_declared(parser *p) {
  bf_ptx_linkage linkage = linkage_of(p);
  if (linkage != BF_PTX_PRIVATE)
    BF_TRY(bf_ptx_next(p));
  bool is_entry = bf_ptx_is_dotted(p, "entry");
  if (is_entry || bf_ptx_is_dotted(p, "func")) {
    BF_TRY(bf_ptx_next(p));
    return parse_function(p, linkage, is_entry);
  }
  if (bf_ptx_at_declaration(p))
    return bf_ptx_parse_declaration(p, linkage, add_variable, refuse_register);
  if (p->token.kind == TOKEN_DOTTED)
    return FAIL("unknown directive '.%.*s'", (int)(p->token.size < 60 ? p->token.size : 60),
                p->token.text);
  return FAIL("expected a directive");
}

static int parse_item(parser *p) {
  static const struct {
    const char *name;
    int (*parse)(parser *);
  } directives[] = {
      {"version", parse_version}, {"target", parse_target},   {"address_size", parse_address_size},
      {"file", parse_file},       {"section", parse_section}, {"alias", parse_alias},
      {"pragma", parse_pragma},
  };
  for (size_t i = 0; i < sizeof directives / sizeof *directives; i++)
    if (bf_ptx_is_dotted(p, directives[i].name)) {
      if (i > 0 && !p->module->version_major)
        return FAIL("expected .version first");
      BF_TRY(bf_ptx_next(p));
      return directives[i].parse(p);
    }
  if (!p->module->version_major)
    return FAIL("expected .version first");
  return parse_declared(p);
}

static int parse_module(parser *p) {
  BF_TRY(bf_ptx_open_scope(p));
  p->module_scope = p->scope;
  BF_TRY(bf_ptx_next(p));
  do {
    BF_TRY(parse_item(p));
  } while (p->token.kind != TOKEN_END);
  return bf_ptx_resolve(p);
}

/* A zero byte cannot be part of PTX; all that follows relies on there being none. */
static int check_zeros(parser *p, const char *text, size_t size) {
  const char *zero = memchr(text, 0, size);
  if (!zero)
    return BF_OK;
  const char *start = text;
  uint64_t line = 1;
  for (const char *at = text; at < zero; at++)
    if (*at == '\n') {
      start = at + 1;
      line++;
    }
  return bf_fail_at(p->lexer.diagnostic, p->lexer.file, line, start, zero, "unexpected byte 0x00");
}

/* Everything between allocation of the module and its release on error. */
static int parse_text(parser *p, const char *file, const char *text, size_t size,
                      bf_diagnostic *diagnostic) {
  p->lexer.diagnostic = diagnostic;
  p->module->file = bf_arena_copy(&p->module->arena, file);
  char *copy = bf_ptx_new(p, size + 1);
  if (!copy || !p->module->file)
    return bf_ptx_no_memory(p);
  if (size)
    memcpy(copy, text, size);
  p->lexer = (lexer){p->module->file, copy, copy + size, 1, copy, diagnostic};
  p->names.arena = &p->module->arena;
  p->last_item = &p->module->first;
  BF_TRY(check_zeros(p, copy, size));
  return parse_module(p);
}

int bf_ptx_parse(const char *file, const char *text, size_t size, bf_ptx_module **module,
                 bf_diagnostic *diagnostic) {
  parser p = {.module = bf_ptx_new_module()};
  *module = NULL;
  if (!p.module)
    return bf_no_memory(diagnostic);
  int error = parse_text(&p, file, text, size, diagnostic);
  if (!error)
    error = bf_ptx_fill_index(p.module, diagnostic);
  bf_ptx_names_free(&p.names);
  free(p.operand);
  free(p.instruction);
  if (!error)
    *module = p.module;
  else
    bf_ptx_free(p.module);
  return error;
}

void bf_ptx_free(bf_ptx_module *module) {
  if (module) {
    bf_arena_free(&module->arena);
    free(module);
  }
}
