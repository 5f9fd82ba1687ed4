/* Declarations of variables, registers and parameters, and the directives of functions. */
#include "ptx/parser.h"

#include <string.h>

static const uint64_t most_bytes = (uint64_t)1 << 48;

bool bf_ptx_at_declaration(const parser *p) {
  return p->token.kind == TOKEN_DOTTED &&
         bf_ptx_space_find(p->token.text, p->token.size) != BF_PTX_SPACE_NONE;
}

/* .attribute(...): the words inside, separated as they were read. */
int bf_ptx_parse_attribute(parser *p, const char **attribute) {
  if (!bf_ptx_is_dotted(p, "attribute"))
    return BF_OK;
  BF_TRY(bf_ptx_next(p));
  const char *start = p->lexer.cursor;
  BF_TRY(bf_ptx_expect(p, "("));
  for (unsigned depth = 1;;) {
    if (p->token.kind == TOKEN_END || bf_ptx_is_sign(p, ";"))
      return FAIL("attribute without end");
    depth += bf_ptx_is_sign(p, "(");
    depth -= bf_ptx_is_sign(p, ")");
    if (depth == 0)
      break;
    BF_TRY(bf_ptx_next(p));
  }
  *attribute = bf_ptx_intern(&p->names, start, (size_t)(p->token.at - start));
  if (!*attribute)
    return bf_ptx_no_memory(p);
  return bf_ptx_next(p);
}

static int parse_alignment(parser *p, unsigned *bytes) {
  uint64_t value;
  token word = p->token;
  BF_TRY(bf_ptx_take_number(p, "an alignment", 1 << 20, &value));
  if (value == 0 || (value & (value - 1)))
    return FAIL_TOKEN(word, "an alignment must be a power of two");
  *bytes = (unsigned)value;
  return BF_OK;
}

/* .ptr [.space] [.align N] */
static int parse_pointer(parser *p, bf_ptx_variable *variable) {
  variable->is_pointer = true;
  if (bf_ptx_at_declaration(p)) {
    variable->pointer_space = bf_ptx_space_find(p->token.text, p->token.size);
    BF_TRY(bf_ptx_next(p));
  }
  if (!bf_ptx_is_dotted(p, "align"))
    return BF_OK;
  BF_TRY(bf_ptx_next(p));
  return parse_alignment(p, &variable->pointer_alignment_bytes);
}

static bool at_vector(const parser *p) {
  return p->token.kind == TOKEN_DOTTED && p->token.size == 2 && p->token.text[0] == 'v' &&
         strchr("248", p->token.text[1]);
}

/* One word between the state space and the name. */
static int parse_quality(parser *p, bf_ptx_variable *variable) {
  token word = p->token;
  if (bf_ptx_is_dotted(p, "attribute"))
    return bf_ptx_parse_attribute(p, &variable->attribute);
  bool is_align = bf_ptx_is_dotted(p, "align"), is_pointer = bf_ptx_is_dotted(p, "ptr");
  bool is_vector = at_vector(p);
  BF_TRY(bf_ptx_next(p));
  if (is_align)
    return parse_alignment(p, &variable->alignment_bytes);
  if (is_pointer)
    return parse_pointer(p, variable);
  if (is_vector) {
    variable->vector = (unsigned)(word.text[1] - '0');
    return BF_OK;
  }
  variable->type = bf_ptx_type_find(word.text, word.size);
  if (variable->type == BF_PTX_TYPE_NONE)
    return FAIL_TOKEN(word, "unknown type or quality '.%.*s'",
                      (int)(word.size < 60 ? word.size : 60), word.text);
  return BF_OK;
}

/* .space .align N .v4 .type ...: all that the names behind have in common. */
static int parse_qualities(parser *p, bf_ptx_variable *variable) {
  if (!bf_ptx_at_declaration(p))
    return FAIL("expected a state space such as .param");
  variable->space = bf_ptx_space_find(p->token.text, p->token.size);
  BF_TRY(bf_ptx_next(p));
  while (p->token.kind == TOKEN_DOTTED)
    BF_TRY(parse_quality(p, variable));
  if (variable->type == BF_PTX_TYPE_NONE)
    return FAIL("expected a type");
  return BF_OK;
}

/* [N][M]...; the first may be open. */
static int parse_dimensions(parser *p, bf_ptx_variable *variable) {
  bool more;
  BF_TRY(bf_ptx_accept(p, "[", &more));
  while (more) {
    if (variable->dimensions == BF_PTX_MOST_DIMENSIONS)
      return FAIL("more than %d dimensions", BF_PTX_MOST_DIMENSIONS);
    uint64_t *dimension = &variable->dimension[variable->dimensions++];
    if (!bf_ptx_is_sign(p, "]")) {
      token word = p->token;
      bf_ptx_operand constant = {0};
      BF_TRY(bf_ptx_parse_constant(p, &constant));
      if (constant.kind != BF_PTX_INTEGER || constant.bits == 0 || constant.bits > most_bytes)
        return FAIL_TOKEN(word, "a dimension must be from 1 to 2^48");
      *dimension = constant.bits;
    } else if (variable->dimensions > 1) {
      return FAIL("only the first dimension may be open");
    }
    BF_TRY(bf_ptx_expect(p, "]"));
    BF_TRY(bf_ptx_accept(p, "[", &more));
  }
  return BF_OK;
}

/* = initialiser */
static int parse_initial_value(parser *p, bf_ptx_variable *variable) {
  bool taken;
  BF_TRY(bf_ptx_accept(p, "=", &taken));
  if (!taken)
    return BF_OK;
  bf_ptx_operand *initialiser = bf_ptx_new(p, sizeof *initialiser);
  if (!initialiser)
    return bf_ptx_no_memory(p);
  variable->initialiser = initialiser;
  return bf_ptx_parse_initialiser(p, initialiser);
}

/* bytes = type * vector * dimensions; an open dimension counts the entries of the initialiser. */
static int set_size(parser *p, const token *word, bf_ptx_variable *variable) {
  uint64_t bytes = bf_ptx_type_bytes(variable->type) * (variable->vector ? variable->vector : 1);
  for (unsigned i = 0; i < variable->dimensions; i++) {
    uint64_t dimension = variable->dimension[i];
    const bf_ptx_operand *initialiser = variable->initialiser;
    if (dimension == 0 && initialiser && initialiser->kind == BF_PTX_VECTOR)
      dimension = initialiser->count;
    if (dimension && bytes > most_bytes / dimension)
      return FAIL_TOKEN(*word, "'%s' is larger than 2^48 bytes", variable->name);
    bytes *= dimension;
  }
  variable->bytes = bytes;
  return BF_OK;
}

/* Declares registers under their name, or under "name<" for a range, numbered in their function. */
static int declare_registers(parser *p, const token *word, bf_ptx_registers *registers) {
  const char *key = registers->name;
  if (registers->range) {
    char text[256];
    int size = snprintf(text, sizeof text, "%s<", registers->name);
    if (size >= (int)sizeof text)
      return FAIL_TOKEN(*word, "name of more than %d characters", (int)sizeof text - 2);
    key = bf_ptx_intern(&p->names, text, (size_t)size);
    if (!key)
      return bf_ptx_no_memory(p);
  }
  if (p->function) {
    if (registers->count > MOST_REGISTERS - p->function->registers)
      return FAIL_TOKEN(*word, "more than %d registers in a function", MOST_REGISTERS);
    registers->first = p->function->registers;
    p->function->registers += registers->count;
  }
  return bf_ptx_add_symbol(p, word, key, BF_PTX_SYMBOL_REGISTERS, registers, NULL);
}

/* <N> behind the name of registers */
static int parse_range(parser *p, bf_ptx_registers *registers) {
  uint64_t count;
  BF_TRY(bf_ptx_accept(p, "<", &registers->range));
  registers->count = 1;
  if (!registers->range)
    return BF_OK;
  BF_TRY(bf_ptx_take_number(p, "the number of registers", MOST_REGISTERS, &count));
  registers->count = (uint32_t)count;
  return bf_ptx_expect(p, ">");
}

static int parse_registers(parser *p, const bf_ptx_variable *common,
                           const bf_ptx_registers **result) {
  token word = p->token;
  bf_ptx_registers *registers = bf_ptx_new(p, sizeof *registers);
  if (!registers)
    return bf_ptx_no_memory(p);
  BF_TRY(bf_ptx_take_name(p, "the name of a register", &registers->name));
  registers->line = word.line;
  registers->type = common->type;
  registers->vector = common->vector;
  BF_TRY(parse_range(p, registers));
  *result = registers;
  return declare_registers(p, &word, registers);
}

static int parse_variable(parser *p, const bf_ptx_variable *common,
                          const bf_ptx_variable **result) {
  token word = p->token;
  bf_ptx_variable *variable = bf_ptx_new(p, sizeof *variable);
  if (!variable)
    return bf_ptx_no_memory(p);
  *variable = *common;
  variable->line = word.line;
  BF_TRY(bf_ptx_take_name(p, "the name of a variable", &variable->name));
  BF_TRY(parse_dimensions(p, variable));
  BF_TRY(bf_ptx_add_symbol(p, &word, variable->name, BF_PTX_SYMBOL_VARIABLE, variable, NULL));
  BF_TRY(parse_initial_value(p, variable));
  *result = variable;
  return set_size(p, &word, variable);
}

int bf_ptx_parse_declaration(parser *p, bf_ptx_linkage linkage,
                             int (*add_variable)(parser *, const bf_ptx_variable *),
                             int (*add_registers)(parser *, const bf_ptx_registers *)) {
  bf_ptx_variable common = {.linkage = linkage};
  bool more = true;
  BF_TRY(parse_qualities(p, &common));
  while (more) {
    const bf_ptx_variable *variable = NULL;
    const bf_ptx_registers *registers = NULL;
    if (common.space == BF_PTX_SPACE_REG) {
      BF_TRY(parse_registers(p, &common, &registers));
      BF_TRY(add_registers(p, registers));
    } else {
      BF_TRY(parse_variable(p, &common, &variable));
      BF_TRY(add_variable(p, variable));
    }
    BF_TRY(bf_ptx_accept(p, ",", &more));
  }
  return bf_ptx_expect(p, ";");
}

/* ---- Parameters ---- */

static int parse_parameter(parser *p, bool prototype, bf_ptx_variable *parameter) {
  if (bf_ptx_is_dotted(p, "hidden")) {
    parameter->linkage = BF_PTX_HIDDEN;
    BF_TRY(bf_ptx_next(p));
  }
  BF_TRY(parse_qualities(p, parameter));
  if (parameter->space == BF_PTX_SPACE_REG && !prototype) {
    BF_TRY(parse_registers(p, parameter, &parameter->registers));
    parameter->name = parameter->registers->name;
    parameter->line = parameter->registers->line;
    return BF_OK;
  }
  token word = p->token;
  parameter->line = word.line;
  BF_TRY(bf_ptx_take_name(p, "the name of a parameter", &parameter->name));
  BF_TRY(parse_dimensions(p, parameter));
  return set_size(p, &word, parameter);
}

/* A parameter in a list that grows as a chain until its length is known. */
typedef struct link {
  struct link *next;
  bf_ptx_variable variable;
} link;

static int copy_chain(parser *p, const link *first, unsigned count, bf_ptx_variables *list) {
  list->item = bf_ptx_new_array(p, count ? count : 1, sizeof *list->item);
  if (!list->item)
    return bf_ptx_no_memory(p);
  list->count = count;
  for (unsigned i = 0; i < count; i++, first = first->next)
    list->item[i] = first->variable;
  return BF_OK;
}

/* Makes the parameters of a function known in its scope. */
static int declare_parameters(parser *p, const token *word, const bf_ptx_variables *list) {
  for (unsigned i = 0; i < list->count; i++) {
    const bf_ptx_variable *parameter = &list->item[i];
    if (!parameter->registers && strcmp(parameter->name, "_") != 0)
      BF_TRY(bf_ptx_add_symbol(p, word, parameter->name, BF_PTX_SYMBOL_VARIABLE, parameter, NULL));
  }
  return BF_OK;
}

int bf_ptx_parse_parameters(parser *p, bool prototype, bf_ptx_variables *list) {
  link *first = NULL, **last = &first;
  unsigned count = 0;
  token word = p->token;
  BF_TRY(bf_ptx_expect(p, "("));
  bool more = !bf_ptx_is_sign(p, ")");
  while (more) {
    *last = bf_ptx_new(p, sizeof **last);
    if (!*last)
      return bf_ptx_no_memory(p);
    BF_TRY(parse_parameter(p, prototype, &(*last)->variable));
    last = &(*last)->next;
    count++;
    BF_TRY(bf_ptx_accept(p, ",", &more));
  }
  if (!bf_ptx_is_sign(p, ")"))
    return FAIL("expected ',' or ')'");
  BF_TRY(bf_ptx_next(p));
  BF_TRY(copy_chain(p, first, count, list));
  return prototype ? BF_OK : declare_parameters(p, &word, list);
}

/* ---- Directives of functions ---- */

static bool at_directive(const parser *p) {
  static const char *const known[] = {
      "maxntid",
      "reqntid",
      "minnctapersm",
      "maxnctapersm",
      "maxnreg",
      "noreturn",
      "pragma",
      "explicitcluster",
      "maxclusterrank",
      "reqnctapercluster",
      "blocksareclusters",
      "abi_preserve",
      "abi_preserve_control",
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (bf_ptx_is_dotted(p, known[i]))
      return true;
  return false;
}

static int parse_directive(parser *p, bf_ptx_directive *directive) {
  bool is_pragma = bf_ptx_is_dotted(p, "pragma");
  directive->name = bf_ptx_intern(&p->names, p->token.text, p->token.size);
  if (!directive->name)
    return bf_ptx_no_memory(p);
  BF_TRY(bf_ptx_next(p));
  if (is_pragma) {
    BF_TRY(bf_ptx_take_string(p, &directive->text));
    return bf_ptx_expect(p, ";");
  }
  for (bool more = p->token.kind == TOKEN_INTEGER; more;) {
    if (directive->numbers == 3)
      return FAIL("more than three numbers");
    BF_TRY(bf_ptx_take_number(p, "a number", UINT32_MAX, &directive->number[directive->numbers++]));
    BF_TRY(bf_ptx_accept(p, ",", &more));
  }
  return BF_OK;
}

int bf_ptx_parse_directives(parser *p, bf_ptx_directives *list) {
  bf_ptx_directive directive[16];
  unsigned count = 0;
  for (; at_directive(p); count++) {
    if (count == sizeof directive / sizeof *directive)
      return FAIL("more than %u directives", count);
    directive[count] = (bf_ptx_directive){0};
    BF_TRY(parse_directive(p, &directive[count]));
  }
  if (p->token.kind == TOKEN_DOTTED)
    return FAIL("unknown directive '.%.*s'", (int)(p->token.size < 60 ? p->token.size : 60),
                p->token.text);
  list->item = bf_ptx_new_array(p, count ? count : 1, sizeof *list->item);
  if (!list->item)
    return bf_ptx_no_memory(p);
  memcpy(list->item, directive, count * sizeof *directive);
  list->count = count;
  return BF_OK;
}
