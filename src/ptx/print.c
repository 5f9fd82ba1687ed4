/* Prints modules as PTX. What is printed parses to the same module: numbers keep their value, not
 * their spelling; comments and layout are the printer's own. */
#include "ptx/print.h"
#include "ptx/decimal.h"

#include <string.h>

static const char *const special_name[] = {
#define X(symbol, name, vector, numbered) name,
    BF_PTX_SPECIALS(X)
#undef X
};

static const bool special_is_numbered[] = {
#define X(symbol, name, vector, numbered) (numbered) > 0,
    BF_PTX_SPECIALS(X)
#undef X
};

static const char *const linkage_text[] = {"",       ".extern ", ".visible ",
                                           ".weak ", ".common ", ".hidden "};

static void indent(bf_text *text, unsigned depth) {
  for (unsigned i = 0; i < depth; i++)
    bf_text_puts(text, "\t");
}

/* ---- Operands ---- */

static void print_decimal(uint64_t bits, bf_text *text) {
  double value;
  memcpy(&value, &bits, sizeof value);
  bf_ptx_decimal_print(value, text);
}

static void print_integer(const bf_ptx_operand *operand, bf_text *text) {
  if (operand->is_unsigned)
    bf_text_addf(text, "%llu", (unsigned long long)operand->bits);
  else
    bf_text_addf(text, "%lld", (long long)operand->bits);
}

static void print_offset(int64_t offset, bf_text *text) {
  if (offset)
    bf_text_addf(text, "+%lld", (long long)offset);
}

static void print_symbol(const bf_ptx_operand *operand, bf_text *text) {
  if (operand->mask)
    bf_text_addf(text, "0x%llx(", (unsigned long long)operand->mask);
  bf_text_addf(text, operand->generic ? "generic(%s)" : "%s", operand->symbol->name);
  print_offset(operand->offset, text);
  if (operand->mask)
    bf_text_puts(text, ")");
}

static void print_operand(const bf_ptx_operand *operand, bf_text *text);

static void print_operands(const bf_ptx_operand *item, unsigned count, const char *separator,
                           bf_text *text) {
  for (unsigned i = 0; i < count; i++) {
    bf_text_puts(text, i ? separator : "");
    print_operand(&item[i], text);
  }
}

static void print_list(const bf_ptx_operand *operand, const char *open, const char *close,
                       bf_text *text) {
  bf_text_puts(text, open);
  print_operands(operand->item, operand->count, ", ", text);
  bf_text_puts(text, close);
}

static void print_address(const bf_ptx_operand *operand, bf_text *text) {
  bf_text_puts(text, "[");
  print_operand(&operand->item[0], text);
  if (operand->has_offset && !operand->offset)
    bf_text_puts(text, "+0");
  print_offset(operand->offset, text);
  if (operand->count > 1)
    bf_text_puts(text, ", ");
  print_operands(operand->item + 1, operand->count - 1, ", ", text);
  bf_text_puts(text, operand->unified ? "].unified" : "]");
}

static void print_register(const bf_ptx_operand *operand, bf_text *text) {
  bf_text_puts(text, operand->registers->name);
  if (operand->registers->range)
    bf_text_addf(text, "%u", operand->index);
}

static void print_special(const bf_ptx_operand *operand, bf_text *text) {
  bf_text_puts(text, special_name[operand->special]);
  if (special_is_numbered[operand->special])
    bf_text_addf(text, "%u", operand->index);
}

static void print_plain(const bf_ptx_operand *operand, bf_text *text) {
  switch (operand->kind) {
  case BF_PTX_REGISTER:
    print_register(operand, text);
    break;
  case BF_PTX_INTEGER:
    print_integer(operand, text);
    break;
  case BF_PTX_FLOAT32:
    bf_text_addf(text, "0f%08llX", (unsigned long long)operand->bits);
    break;
  case BF_PTX_FLOAT64:
    bf_text_addf(text, "0d%016llX", (unsigned long long)operand->bits);
    break;
  case BF_PTX_DECIMAL:
    print_decimal(operand->bits, text);
    break;
  case BF_PTX_SPECIAL:
    print_special(operand, text);
    break;
  case BF_PTX_SYMBOL:
    print_symbol(operand, text);
    break;
  case BF_PTX_ADDRESS:
    print_address(operand, text);
    break;
  case BF_PTX_VECTOR:
    print_list(operand, "{", "}", text);
    break;
  case BF_PTX_PAIR:
    print_operands(operand->item, 2, "|", text);
    break;
  case BF_PTX_ARGUMENTS:
    print_list(operand, "(", ")", text);
    break;
  case BF_PTX_SINK:
    bf_text_puts(text, "_");
    break;
  }
}

static void print_operand(const bf_ptx_operand *operand, bf_text *text) {
  if (operand->negated)
    bf_text_puts(text, "!");
  if (operand->minus)
    bf_text_puts(text, "-");
  print_plain(operand, text);
  if (operand->component)
    bf_text_addf(text, ".%c", operand->component);
  if (operand->selector)
    bf_text_addf(text, ".%s", operand->selector);
}

/* ---- Declarations ---- */

/* Type and vector, each behind a blank. */
static void print_type(bf_ptx_type type, unsigned vector, bf_text *text) {
  if (vector)
    bf_text_addf(text, " .v%u", vector);
  bf_text_addf(text, " .%s", bf_ptx_type_name(type));
}

static void print_alignment(unsigned bytes, bf_text *text) {
  if (bytes)
    bf_text_addf(text, " .align %u", bytes);
}

static void print_pointer(const bf_ptx_variable *variable, bf_text *text) {
  if (!variable->is_pointer)
    return;
  bf_text_puts(text, " .ptr");
  if (variable->pointer_space != BF_PTX_SPACE_NONE)
    bf_text_addf(text, " .%s", bf_ptx_space_name(variable->pointer_space));
  print_alignment(variable->pointer_alignment_bytes, text);
}

/* A variable or parameter without what ends it. */
static void print_variable(const bf_ptx_variable *variable, bf_text *text) {
  bf_text_addf(text, "%s.%s", linkage_text[variable->linkage], bf_ptx_space_name(variable->space));
  if (variable->attribute)
    bf_text_addf(text, " .attribute(%s)", variable->attribute);
  print_alignment(variable->alignment_bytes, text);
  print_type(variable->type, variable->vector, text);
  print_pointer(variable, text);
  bf_text_addf(text, " %s", variable->name);
  if (variable->registers && variable->registers->range)
    bf_text_addf(text, "<%u>", variable->registers->count);
  for (unsigned i = 0; i < variable->dimensions; i++)
    if (variable->dimension[i])
      bf_text_addf(text, "[%llu]", (unsigned long long)variable->dimension[i]);
    else
      bf_text_puts(text, "[]");
  if (variable->initialiser) {
    bf_text_puts(text, " = ");
    print_operand(variable->initialiser, text);
  }
}

static void print_registers(const bf_ptx_registers *registers, bf_text *text) {
  bf_text_puts(text, ".reg");
  print_type(registers->type, registers->vector, text);
  bf_text_addf(text, " \t%s", registers->name);
  if (registers->range)
    bf_text_addf(text, "<%u>", registers->count);
  bf_text_puts(text, ";\n");
}

/* ( parameter, ... ) with separator between them. */
static void print_parameters(const bf_ptx_variables *list, const char *before, const char *after,
                             bf_text *text) {
  bf_text_puts(text, "(");
  for (unsigned i = 0; i < list->count; i++) {
    bf_text_puts(text, i ? "," : "");
    bf_text_puts(text, i || *before != ' ' ? before : "");
    print_variable(&list->item[i], text);
  }
  bf_text_puts(text, list->count ? after : "");
  bf_text_puts(text, ")");
}

static void print_directive(const bf_ptx_directive *directive, bf_text *text) {
  bf_text_addf(text, ".%s", directive->name);
  for (unsigned i = 0; i < directive->numbers; i++)
    bf_text_addf(text, "%s%llu", i ? ", " : " ", (unsigned long long)directive->number[i]);
  if (directive->text)
    bf_text_addf(text, " \"%s\";", directive->text);
}

/* ---- Statements ---- */

void bf_ptx_print_instruction(const bf_ptx_instruction *instruction, bf_text *text) {
  if (instruction->guard) {
    bf_text_puts(text, "@");
    print_operand(instruction->guard, text);
    bf_text_puts(text, " ");
  }
  bf_text_puts(text, bf_ptx_op_get(instruction->opcode)->name);
  for (unsigned i = 0; i < instruction->modifiers; i++)
    bf_text_addf(text, ".%s", instruction->modifier[i]);
  bf_text_puts(text, instruction->operands ? " \t" : "");
  print_operands(instruction->operand, instruction->operands, ", ", text);
  if (instruction->call_prototype) {
    bf_text_puts(text, ", ");
    print_operand(instruction->call_prototype, text);
  }
  bf_text_puts(text, ";");
}

static void print_location(const bf_ptx_location *location, bf_text *text) {
  bf_text_addf(text, ".loc\t%llu %llu %llu", (unsigned long long)location->file,
               (unsigned long long)location->line, (unsigned long long)location->column);
  if (location->function_name) {
    bf_text_addf(text, ", function_name %s", location->function_name);
    print_offset((int64_t)location->function_offset, text);
    bf_text_addf(text, ", inlined_at %llu %llu %llu", (unsigned long long)location->inlined_file,
                 (unsigned long long)location->inlined_line,
                 (unsigned long long)location->inlined_column);
  }
  bf_text_puts(text, "\n");
}

static void print_targets(const bf_ptx_targets *targets, bf_text *text) {
  bf_text_addf(text, "%s: .%s ", targets->name, targets->calls ? "calltargets" : "branchtargets");
  print_operands(targets->item, targets->count, ", ", text);
  bf_text_puts(text, ";\n");
}

static void print_prototype(const bf_ptx_prototype *prototype, bf_text *text) {
  bf_text_addf(text, "%s: .callprototype ", prototype->name);
  print_parameters(&prototype->returns, " ", "", text);
  bf_text_puts(text, " _ ");
  print_parameters(&prototype->parameters, " ", "", text);
  for (unsigned i = 0; i < prototype->directives.count; i++) {
    bf_text_puts(text, " ");
    print_directive(&prototype->directives.item[i], text);
  }
  bf_text_puts(text, ";\n");
}

/* ---- Hooks ---- */

typedef struct printer {
  bf_text *text;
  const bf_ptx_print_hooks *hooks; /* or NULL */
} printer;

/* Lines, each ending with a line feed, at that depth. */
static void print_lines(const char *lines, unsigned depth, bf_text *text) {
  while (lines && *lines) {
    size_t size = strcspn(lines, "\n") + 1;
    indent(text, depth);
    bf_text_add(text, lines, size);
    lines += size;
  }
}

/* A variable and what ends it, as the hooks want it. */
static void print_declared(const printer *p, const bf_ptx_variable *variable) {
  if (p->hooks && variable->space == BF_PTX_SPACE_SHARED) {
    bf_ptx_variable changed = p->hooks->variable(p->hooks->context, variable);
    print_variable(&changed, p->text);
  } else {
    print_variable(variable, p->text);
  }
  bf_text_puts(p->text, ";\n");
}

/* An instruction as the hooks want it. */
static void print_changed(const printer *p, const bf_ptx_instruction *instruction, unsigned depth) {
  const char *before = NULL;
  if (p->hooks)
    instruction = p->hooks->instruction(p->hooks->context, instruction, &before);
  print_lines(before, depth, p->text);
  indent(p->text, depth);
  bf_ptx_print_instruction(instruction, p->text);
  bf_text_puts(p->text, "\n");
}

/* ---- Bodies ---- */

static void print_statements(const printer *p, const bf_ptx_statement *statement, unsigned depth);

static void print_statement(const printer *p, const bf_ptx_statement *statement, unsigned depth) {
  bf_text *text = p->text;
  if (statement->kind == BF_PTX_STATEMENT_INSTRUCTION) {
    print_changed(p, statement->instruction, depth);
    return;
  }
  indent(text, statement->kind == BF_PTX_STATEMENT_LABEL ? 0 : depth);
  switch (statement->kind) {
  case BF_PTX_STATEMENT_REGISTERS:
    print_registers(statement->registers, text);
    break;
  case BF_PTX_STATEMENT_VARIABLE:
    print_declared(p, statement->variable);
    break;
  case BF_PTX_STATEMENT_LABEL:
    bf_text_addf(text, "%s:\n", statement->label->name);
    break;
  case BF_PTX_STATEMENT_SCOPE:
    bf_text_puts(text, "{\n");
    print_statements(p, statement->scope, depth + 1);
    indent(text, depth);
    bf_text_puts(text, "}\n");
    break;
  case BF_PTX_STATEMENT_LOCATION:
    print_location(statement->location, text);
    break;
  case BF_PTX_STATEMENT_PRAGMA:
    bf_text_addf(text, ".pragma \"%s\";\n", statement->pragma);
    break;
  case BF_PTX_STATEMENT_TARGETS:
    print_targets(statement->targets, text);
    break;
  case BF_PTX_STATEMENT_PROTOTYPE:
    print_prototype(statement->prototype, text);
    break;
  case BF_PTX_STATEMENT_INSTRUCTION:
    break;
  }
}

static void print_statements(const printer *p, const bf_ptx_statement *statement, unsigned depth) {
  for (; statement; statement = statement->next)
    print_statement(p, statement, depth);
}

/* ---- Modules ---- */

static void print_named(const printer *p, const bf_ptx_function *function, const char *name,
                        bf_ptx_linkage linkage) {
  bf_text *text = p->text;
  bf_text_addf(text, "%s.%s ", linkage_text[linkage], function->is_entry ? "entry" : "func");
  if (function->attribute)
    bf_text_addf(text, ".attribute(%s) ", function->attribute);
  if (function->returns.count) {
    print_parameters(&function->returns, " ", "", text);
    bf_text_puts(text, " ");
  }
  bf_text_puts(text, name);
  print_parameters(&function->parameters, "\n\t", "\n", text);
  for (unsigned i = 0; i < function->directives.count; i++) {
    bf_text_puts(text, "\n");
    print_directive(&function->directives.item[i], text);
  }
  if (!function->has_body) {
    bf_text_puts(text, ";\n");
    return;
  }
  bf_text_puts(text, "\n{\n");
  if (p->hooks)
    print_lines(p->hooks->body(p->hooks->context, function), 1, text);
  print_statements(p, function->body, 1);
  bf_text_puts(text, "}\n");
}

/* A function and the copies that the hooks want. */
static void print_function(const printer *p, const bf_ptx_function *function) {
  print_named(p, function, function->name, function->linkage);
  const bf_ptx_print_hooks *hooks = p->hooks;
  const char *name = NULL;
  for (unsigned i = 0; hooks && hooks->copy && (name = hooks->copy(hooks->context, function, i));
       i++)
    print_named(p, function, name, BF_PTX_PRIVATE);
}

static void print_file(const bf_ptx_file *file, bf_text *text) {
  bf_text_addf(text, ".file\t%llu \"%s\"", (unsigned long long)file->number, file->name);
  if (file->has_time)
    bf_text_addf(text, ", %llu, %llu", (unsigned long long)file->time,
                 (unsigned long long)file->size_bytes);
  bf_text_puts(text, "\n");
}

static void print_section(const bf_ptx_section *section, bf_text *text) {
  bf_text_addf(text, ".section\t%s\n{\n", section->name);
  for (unsigned i = 0; i < section->lines; i++)
    bf_text_addf(text, "%s\n", section->text[i]);
  bf_text_puts(text, "}\n");
}

static void print_item(const printer *p, const bf_ptx_item *item) {
  bf_text *text = p->text;
  switch (item->kind) {
  case BF_PTX_ITEM_VARIABLE:
    print_declared(p, item->variable);
    break;
  case BF_PTX_ITEM_FUNCTION:
    print_function(p, item->function);
    break;
  case BF_PTX_ITEM_FILE:
    print_file(item->file, text);
    break;
  case BF_PTX_ITEM_SECTION:
    print_section(item->section, text);
    break;
  case BF_PTX_ITEM_ALIAS:
    bf_text_addf(text, ".alias %s, %s;\n", item->alias[0], item->alias[1]);
    break;
  case BF_PTX_ITEM_PRAGMA:
    bf_text_addf(text, ".pragma \"%s\";\n", item->pragma);
    break;
  }
}

void bf_ptx_print_hooked(const bf_ptx_module *module, const bf_ptx_print_hooks *hooks,
                         bf_text *text) {
  printer p = {text, hooks};
  bf_text_addf(text, ".version %u.%u\n", module->version_major, module->version_minor);
  for (unsigned i = 0; i < module->targets; i++)
    bf_text_addf(text, "%s%s", i ? ", " : ".target ", module->target[i]);
  bf_text_puts(text, module->targets ? "\n" : "");
  if (module->address_bits)
    bf_text_addf(text, ".address_size %u\n", module->address_bits);
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    print_item(&p, item);
}

void bf_ptx_print(const bf_ptx_module *module, bf_text *text) {
  bf_ptx_print_hooked(module, NULL, text);
}

int bf_ptx_equal(const bf_ptx_module *a, const bf_ptx_module *b, bool *equal) {
  bf_text first = {0}, second = {0};
  bf_ptx_print(a, &first);
  bf_ptx_print(b, &second);
  bool failed = first.failed || second.failed;
  *equal = !failed && first.size == second.size && memcmp(first.data, second.data, first.size) == 0;
  bf_text_free(&first);
  bf_text_free(&second);
  return failed ? BF_NO_MEMORY : BF_OK;
}
