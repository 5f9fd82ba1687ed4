/* Bodies of functions: statements, among them instructions. */
#include "ptx/parser.h"
#include "ptx/tile.h"

#include <stdlib.h>
#include <string.h>

/* ---- Statements of all kinds ---- */

/* A new statement behind the last one, or NULL. */
static bf_ptx_statement *new_statement(parser *p, bf_ptx_statement_kind kind) {
  bf_ptx_statement *statement = bf_ptx_new(p, sizeof *statement);
  if (statement) {
    statement->kind = kind;
    *p->last_statement = statement;
    p->last_statement = &statement->next;
  }
  return statement;
}

static int add_statement(parser *p, bf_ptx_statement_kind kind, const void *what) {
  bf_ptx_statement *statement = new_statement(p, kind);
  if (!statement)
    return bf_ptx_no_memory(p);
  memcpy(&statement->variable, &what, sizeof what);
  return BF_OK;
}

static int add_variable(parser *p, const bf_ptx_variable *variable) {
  return add_statement(p, BF_PTX_STATEMENT_VARIABLE, variable);
}

static int add_registers(parser *p, const bf_ptx_registers *registers) {
  return add_statement(p, BF_PTX_STATEMENT_REGISTERS, registers);
}

/* , function_name label [+ offset], inlined_at file line column */
static int parse_inlined(parser *p, bf_ptx_location *location) {
  bool plus;
  if (!bf_ptx_is_word(p, "function_name"))
    return FAIL("expected 'function_name'");
  BF_TRY(bf_ptx_next(p));
  BF_TRY(bf_ptx_take_name(p, "a label", &location->function_name));
  BF_TRY(bf_ptx_accept(p, "+", &plus));
  if (plus)
    BF_TRY(bf_ptx_take_number(p, "an offset", UINT32_MAX, &location->function_offset));
  BF_TRY(bf_ptx_expect(p, ","));
  if (!bf_ptx_is_word(p, "inlined_at"))
    return FAIL("expected 'inlined_at'");
  BF_TRY(bf_ptx_next(p));
  BF_TRY(bf_ptx_take_number(p, "the number of a file", UINT32_MAX, &location->inlined_file));
  BF_TRY(bf_ptx_take_number(p, "a line", UINT32_MAX, &location->inlined_line));
  return bf_ptx_take_number(p, "a column", UINT32_MAX, &location->inlined_column);
}

/* The .loc of the call that a .loc was inlined at, where that was inlined itself; NULL: none. The
 * compiler writes it before, and not far. */
static const bf_ptx_location *find_call(const bf_ptx_location *location) {
  enum { MOST_BACK = 256 };
  const bf_ptx_location *at = location->before;
  for (unsigned i = 0; at && i < MOST_BACK; i++, at = at->before)
    if (at->file == location->inlined_file && at->line == location->inlined_line &&
        at->column == location->inlined_column)
      return at->function_name ? at : NULL;
  return NULL;
}

/* .loc file line column ... */
static int parse_location(parser *p) {
  bool inlined;
  bf_ptx_location *location = bf_ptx_new(p, sizeof *location);
  if (!location)
    return bf_ptx_no_memory(p);
  BF_TRY(bf_ptx_take_number(p, "the number of a file", UINT32_MAX, &location->file));
  BF_TRY(bf_ptx_take_number(p, "a line", UINT32_MAX, &location->line));
  BF_TRY(bf_ptx_take_number(p, "a column", UINT32_MAX, &location->column));
  BF_TRY(bf_ptx_accept(p, ",", &inlined));
  location->before = p->location;
  if (inlined) {
    BF_TRY(parse_inlined(p, location));
    location->inside = find_call(location);
  }
  p->location = location;
  return add_statement(p, BF_PTX_STATEMENT_LOCATION, location);
}

static int parse_pragma(parser *p) {
  const char *text = NULL;
  BF_TRY(bf_ptx_take_string(p, &text));
  BF_TRY(bf_ptx_expect(p, ";"));
  return add_statement(p, BF_PTX_STATEMENT_PRAGMA, text);
}

/* name: .branchtargets label, ...;  or  name: .calltargets function, ...; */
static int parse_targets(parser *p, const token *word, const char *name, bool calls) {
  bf_ptx_targets *targets = bf_ptx_new(p, sizeof *targets);
  if (!targets)
    return bf_ptx_no_memory(p);
  targets->name = name;
  targets->calls = calls;
  BF_TRY(bf_ptx_next(p));
  BF_TRY(bf_ptx_parse_list(p, ";", calls ? USE_ANY : USE_LABEL, &targets->item, &targets->count));
  for (unsigned i = 0; i < targets->count; i++)
    if (targets->item[i].kind != BF_PTX_SYMBOL)
      return FAIL_TOKEN(*word, "a list of targets holds names only");
  BF_TRY(bf_ptx_add_symbol(p, word, name, BF_PTX_SYMBOL_TARGETS, targets, NULL));
  return add_statement(p, BF_PTX_STATEMENT_TARGETS, targets);
}

/* name: .callprototype (returns) _ (parameters) directives; */
static int parse_prototype(parser *p, const token *word, const char *name) {
  bf_ptx_prototype *prototype = bf_ptx_new(p, sizeof *prototype);
  if (!prototype)
    return bf_ptx_no_memory(p);
  prototype->name = name;
  BF_TRY(bf_ptx_next(p));
  if (bf_ptx_is_sign(p, "("))
    BF_TRY(bf_ptx_parse_parameters(p, true, &prototype->returns));
  if (!bf_ptx_is_word(p, "_"))
    return FAIL("expected '_'");
  BF_TRY(bf_ptx_next(p));
  if (bf_ptx_is_sign(p, "("))
    BF_TRY(bf_ptx_parse_parameters(p, true, &prototype->parameters));
  BF_TRY(bf_ptx_parse_directives(p, &prototype->directives));
  BF_TRY(bf_ptx_expect(p, ";"));
  BF_TRY(bf_ptx_add_symbol(p, word, name, BF_PTX_SYMBOL_PROTOTYPE, prototype, NULL));
  return add_statement(p, BF_PTX_STATEMENT_PROTOTYPE, prototype);
}

/* What follows name ':' */
static int parse_label(parser *p, const token *word, const char *name) {
  bf_ptx_symbol *label;
  if (bf_ptx_is_dotted(p, "branchtargets"))
    return parse_targets(p, word, name, false);
  if (bf_ptx_is_dotted(p, "calltargets"))
    return parse_targets(p, word, name, true);
  if (bf_ptx_is_dotted(p, "callprototype"))
    return parse_prototype(p, word, name);
  BF_TRY(bf_ptx_add_symbol(p, word, name, BF_PTX_SYMBOL_LABEL, NULL, &label));
  label->instruction = (uint32_t)p->instructions;
  return add_statement(p, BF_PTX_STATEMENT_LABEL, label);
}

/* ---- Instructions ---- */

/* Notes what a modifier says about type, space or vector. */
static void note_modifier(bf_ptx_instruction *instruction, const token *word) {
  bf_ptx_type type = bf_ptx_type_find(word->text, word->size);
  const char *colons = memchr(word->text, ':', word->size);
  size_t stem = colons ? (size_t)(colons - word->text) : word->size;
  bf_ptx_space space = bf_ptx_space_find(word->text, stem);
  if (type != BF_PTX_TYPE_NONE && instruction->types < BF_PTX_MOST_TYPES)
    instruction->type[instruction->types++] = type;
  if (space != BF_PTX_SPACE_NONE && instruction->space == BF_PTX_SPACE_NONE)
    instruction->space = space;
  if (word->size == 2 && word->text[0] == 'v' && strchr("248", word->text[1]))
    instruction->vector = (unsigned)(word->text[1] - '0');
}

static int parse_modifiers(parser *p, bf_ptx_instruction *instruction) {
  const char *modifier[MOST_MODIFIERS], **copy;
  unsigned count = 0;
  instruction->vector = 1;
  for (; p->token.kind == TOKEN_DOTTED; count++) {
    if (count == MOST_MODIFIERS)
      return FAIL("more than %d modifiers", MOST_MODIFIERS);
    modifier[count] = bf_ptx_intern(&p->names, p->token.text, p->token.size);
    if (!modifier[count])
      return bf_ptx_no_memory(p);
    note_modifier(instruction, &p->token);
    BF_TRY(bf_ptx_next(p));
  }
  copy = bf_ptx_new_array(p, count ? count : 1, sizeof *copy);
  if (!copy)
    return bf_ptx_no_memory(p);
  memcpy(copy, modifier, count * sizeof *copy);
  instruction->modifier = copy;
  instruction->modifiers = count;
  return BF_OK;
}

/* Whether count operands fit one of the forms of ops.def: "a, b / d, [a, b], c?". */
static bool form_fits(const char *forms, unsigned count) {
  for (const char *at = forms;; at += 2) {
    unsigned most = 0, optional = 0, depth = 0;
    for (; *at && strncmp(at, "/ ", 2) != 0; at++) {
      most += (most == 0 && *at != ' ') || (*at == ',' && depth == 0);
      optional += *at == '?';
      depth += *at == '[';
      depth -= *at == ']';
    }
    if (count <= most && count >= most - optional)
      return true;
    if (!*at)
      return false;
  }
}

static int check_count(parser *p, const token *word, const bf_ptx_instruction *instruction) {
  const bf_ptx_op *op = bf_ptx_op_get(instruction->opcode);
  unsigned count = instruction->operands + (instruction->call_prototype != NULL);
  if (instruction->call_prototype || form_fits(op->operands, count))
    return BF_OK;
  if (!*op->operands)
    return FAIL_TOKEN(*word, "'%s' takes no operands", op->name);
  return FAIL_TOKEN(*word, "'%s' with %u operand%s; it takes %s", op->name, count,
                    count == 1 ? "" : "s", op->operands);
}

/* What a name may stand for as operand number index of opcode. */
static name_use use_of(bf_ptx_opcode opcode, size_t index) {
  if (opcode == BF_PTX_OP_BRA)
    return USE_LABEL;
  return opcode == BF_PTX_OP_BRX && index == 1 ? USE_BRANCH_TARGETS : USE_ANY;
}

/* Branches go to names. */
static int check_branch(parser *p, const token *word, const bf_ptx_instruction *instruction) {
  if (instruction->opcode == BF_PTX_OP_BRA && instruction->operand[0].kind != BF_PTX_SYMBOL)
    return FAIL_TOKEN(*word, "expected a label to branch to");
  if (instruction->opcode == BF_PTX_OP_BRX && instruction->operand[1].kind != BF_PTX_SYMBOL)
    return FAIL_TOKEN(*word, "expected the name of a list of labels to branch to");
  return BF_OK;
}

/* One operand of call: a list in parentheses, or any other. */
static int parse_call_operand(parser *p, bf_ptx_operand *operand) {
  bool taken;
  BF_TRY(bf_ptx_accept(p, "(", &taken));
  if (!taken)
    return bf_ptx_parse_operand(p, USE_ANY, operand);
  operand->kind = BF_PTX_ARGUMENTS;
  return bf_ptx_parse_list(p, ")", USE_ANY, &operand->item, &operand->count);
}

/* Video instructions: those whose names start with v, but for vote. */
static bool is_video(bf_ptx_opcode opcode) {
  return bf_ptx_op_get(opcode)->name[0] == 'v' && opcode != BF_PTX_OP_VOTE;
}

/* Operands up to and with ';'. */
static int parse_operands(parser *p, bf_ptx_instruction *instruction) {
  size_t from = p->operands;
  p->is_video = is_video(instruction->opcode);
  bool more = !bf_ptx_is_sign(p, ";");
  while (more) {
    bf_ptx_operand operand = {0};
    if (instruction->opcode == BF_PTX_OP_CALL)
      BF_TRY(parse_call_operand(p, &operand));
    else
      BF_TRY(bf_ptx_parse_operand(p, use_of(instruction->opcode, p->operands - from), &operand));
    BF_TRY(bf_ptx_push_operand(p, &operand));
    BF_TRY(bf_ptx_accept(p, ",", &more));
  }
  p->is_video = false;
  if (!bf_ptx_is_sign(p, ";"))
    return FAIL("expected ',' or ';'");
  BF_TRY(bf_ptx_next(p));
  uint32_t count;
  BF_TRY(bf_ptx_pop_operands(p, from, &instruction->operand, &count));
  instruction->operands = count;
  return BF_OK;
}

/* call [(returns),] function [, (arguments)] [, prototype]: the last goes to a place of its own. */
static int split_call(parser *p, const token *word, bf_ptx_instruction *call) {
  const bf_ptx_operand *operand = call->operand;
  unsigned count = call->operands;
  unsigned function = count > 0 && operand[0].kind == BF_PTX_ARGUMENTS;
  if (function >= count || operand[function].kind == BF_PTX_ARGUMENTS)
    return FAIL_TOKEN(*word, "expected a function to call");
  unsigned last = function + 1;
  if (last < count && operand[last].kind == BF_PTX_ARGUMENTS)
    last++;
  if (last + 1 < count || (last < count && operand[last].kind != BF_PTX_SYMBOL))
    return FAIL_TOKEN(*word, "expected one prototype or list of targets behind the arguments");
  if (last < count) {
    call->call_prototype = &operand[last];
    call->operands = last;
  }
  return BF_OK;
}

static int parse_guard(parser *p, bf_ptx_instruction *instruction) {
  bool taken;
  BF_TRY(bf_ptx_accept(p, "@", &taken));
  if (!taken)
    return BF_OK;
  token word = p->token;
  bf_ptx_operand *guard = bf_ptx_new(p, sizeof *guard);
  if (!guard)
    return bf_ptx_no_memory(p);
  BF_TRY(bf_ptx_parse_operand(p, USE_ANY, guard));
  if (guard->kind == BF_PTX_SYMBOL)
    return FAIL_TOKEN(word, "register '%s' is not declared", guard->symbol->name);
  if (guard->kind != BF_PTX_REGISTER || guard->registers->type != BF_PTX_PRED)
    return FAIL_TOKEN(word, "a guard must be a register of type .pred");
  instruction->guard = guard;
  return BF_OK;
}

static int push_instruction(parser *p, const bf_ptx_instruction *instruction) {
  if (p->instructions == p->instruction_capacity) {
    size_t capacity = p->instruction_capacity ? p->instruction_capacity * 2 : 256;
    const bf_ptx_instruction **stack = realloc(p->instruction, capacity * sizeof *stack);
    if (!stack || capacity > UINT32_MAX)
      return bf_ptx_no_memory(p);
    p->instruction = stack;
    p->instruction_capacity = capacity;
  }
  p->instruction[p->instructions++] = instruction;
  return add_statement(p, BF_PTX_STATEMENT_INSTRUCTION, instruction);
}

/* Modifiers and operands of the opcode called name, which is taken. */
static int parse_instruction(parser *p, const token *word, const char *name,
                             bf_ptx_instruction *instruction) {
  int opcode = bf_ptx_op_find(name);
  if (opcode < 0)
    return FAIL_TOKEN(*word, "unknown opcode '%.60s'", name);
  instruction->opcode = (bf_ptx_opcode)opcode;
  instruction->line = word->line;
  instruction->column = (uint32_t)(word->at - word->line_start) + 1;
  instruction->location = p->location;
  BF_TRY(parse_modifiers(p, instruction));
  BF_TRY(parse_operands(p, instruction));
  if (opcode == BF_PTX_OP_CALL)
    BF_TRY(split_call(p, word, instruction));
  BF_TRY(check_count(p, word, instruction));
  BF_TRY(check_branch(p, word, instruction));
  return push_instruction(p, instruction);
}

/* A label, or an instruction with its guard. */
static int parse_worded(parser *p) {
  const char *name = NULL;
  bool colon = false;
  bf_ptx_instruction *instruction = bf_ptx_new(p, sizeof *instruction);
  if (!instruction)
    return bf_ptx_no_memory(p);
  BF_TRY(parse_guard(p, instruction));
  token word = p->token;
  BF_TRY(bf_ptx_take_name(p, "a statement", &name));
  if (!instruction->guard)
    BF_TRY(bf_ptx_accept(p, ":", &colon));
  return colon ? parse_label(p, &word, name) : parse_instruction(p, &word, name, instruction);
}

/* ---- Scopes ---- */

static int parse_statements(parser *p);

/* { ... } inside a function */
static int parse_scope(parser *p) {
  bf_ptx_statement *statement = new_statement(p, BF_PTX_STATEMENT_SCOPE);
  bf_ptx_statement **outer = p->last_statement;
  if (!statement)
    return bf_ptx_no_memory(p);
  if (++p->depth > MOST_DEPTH)
    return FAIL("more than %d levels of nesting", MOST_DEPTH);
  BF_TRY(bf_ptx_open_scope(p));
  p->last_statement = &statement->scope;
  BF_TRY(parse_statements(p));
  p->last_statement = outer;
  bf_ptx_close_scope(p);
  p->depth--;
  return BF_OK;
}

static int parse_statement(parser *p) {
  if (bf_ptx_is_sign(p, "{"))
    return parse_scope(p);
  if (bf_ptx_at_declaration(p))
    return bf_ptx_parse_declaration(p, BF_PTX_PRIVATE, add_variable, add_registers);
  if (bf_ptx_is_dotted(p, "loc") || bf_ptx_is_dotted(p, "pragma")) {
    bool is_location = bf_ptx_is_dotted(p, "loc");
    BF_TRY(bf_ptx_next(p));
    return is_location ? parse_location(p) : parse_pragma(p);
  }
  if (p->token.kind == TOKEN_DOTTED)
    return FAIL("unknown directive '.%.*s'", (int)(p->token.size < 60 ? p->token.size : 60),
                p->token.text);
  if (p->token.kind == TOKEN_WORD || bf_ptx_is_sign(p, "@"))
    return parse_worded(p);
  return FAIL("expected a statement or '}'");
}

/* { statement ... } */
static int parse_statements(parser *p) {
  BF_TRY(bf_ptx_expect(p, "{"));
  while (!bf_ptx_is_sign(p, "}"))
    BF_TRY(parse_statement(p));
  return bf_ptx_next(p);
}

int bf_ptx_parse_body(parser *p, bf_ptx_function *function) {
  p->instructions = 0;
  p->location = NULL;
  p->last_statement = &function->body;
  unresolved *of_module = p->pending;
  p->pending = NULL;
  BF_TRY(parse_statements(p));
  BF_TRY(bf_ptx_resolve(p));
  p->pending = of_module;
  const bf_ptx_instruction **list = bf_ptx_new_array(p, p->instructions + 1, sizeof *list);
  if (!list)
    return bf_ptx_no_memory(p);
  if (p->instructions)
    memcpy(list, p->instruction, p->instructions * sizeof *list);
  function->instruction = list;
  function->instructions = (uint32_t)p->instructions;
  return bf_ptx_find_moved(function, &p->module->arena) ? BF_OK : bf_ptx_no_memory(p);
}
