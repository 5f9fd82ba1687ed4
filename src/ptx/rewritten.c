/* Code that was rewritten before, by the registers that the rewriter adds. */
#include "ptx/rewritten.h"

#include <ctype.h>
#include <string.h>

/* Whether a register is one that the rewriter adds where it hashes an access: %bf_place,
 * %bf1_place... (rewrite/writer.c). */
static bool is_added(const char *name) {
  if (strncmp(name, "%bf", 3) != 0)
    return false;
  name += 3;
  while (isdigit((unsigned char)*name))
    name++;
  return strncmp(name, "_place", 6) == 0;
}

static bool has_added_registers(const bf_ptx_statement *statement) {
  for (; statement; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_SCOPE
            ? has_added_registers(statement->scope)
            : statement->kind == BF_PTX_STATEMENT_REGISTERS && is_added(statement->registers->name))
      return true;
  return false;
}

bool bf_ptx_is_rewritten(const bf_ptx_function *function) {
  return function->has_body && has_added_registers(function->body);
}

bool bf_ptx_has_rewritten(const bf_ptx_module *module) {
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FUNCTION && bf_ptx_is_rewritten(item->function))
      return true;
  return false;
}
