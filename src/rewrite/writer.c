/* A function whose code is being written: the names of its new registers, the lines that come
 * before its instructions, and which places are in registers already. */
#include "rewrite/writer.h"

#include <string.h>

/* ---- Names ---- */

static bool starts_with(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool statements_clash(const bf_ptx_statement *statement, const char *prefix) {
  for (; statement; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_SCOPE
            ? statements_clash(statement->scope, prefix)
            : statement->kind == BF_PTX_STATEMENT_REGISTERS &&
                  starts_with(statement->registers->name, prefix))
      return true;
  return false;
}

static bool variables_clash(const bf_ptx_variables *list, const char *prefix) {
  for (unsigned i = 0; i < list->count; i++)
    if (starts_with(list->item[i].name, prefix))
      return true;
  return false;
}

void bf_rewrite_choose_prefix(bf_rewrite_writer *w) {
  const bf_ptx_function *function = w->function->function;
  strcpy(w->prefix, "%bf_");
  for (unsigned i = 1; statements_clash(function->body, w->prefix) ||
                       variables_clash(&function->parameters, w->prefix) ||
                       variables_clash(&function->returns, w->prefix);
       i++)
    snprintf(w->prefix, sizeof w->prefix, "%%bf%u_", i);
}

/* ---- Text ---- */

void bf_rewrite_put_lines(bf_rewrite_writer *w, uint32_t index) {
  const char *old = w->code->before[index] ? w->code->before[index] : "";
  if (w->text.size && !w->text.failed) {
    size_t size = strlen(old);
    char *joined = bf_arena_alloc(w->plan->arena, size + w->text.size + 1);
    if (joined) {
      memcpy(joined, old, size);
      memcpy(joined + size, w->text.data, w->text.size);
    }
    w->code->before[index] = joined;
    w->failed |= !joined;
  }
  w->failed |= w->text.failed;
  w->text.size = 0;
}

const char *bf_rewrite_name_of(bf_rewrite_writer *w, const bf_ptx_operand *operand) {
  const char *stem = operand->kind == BF_PTX_REGISTER ? operand->registers->name
                     : operand->kind == BF_PTX_SYMBOL ? operand->symbol->name
                                                      : "";
  size_t size = strlen(stem) + 24;
  char *name = bf_arena_alloc(w->plan->arena, size);
  if (!name) {
    w->failed = true;
    return "";
  }
  if (operand->kind == BF_PTX_REGISTER && operand->registers->range)
    snprintf(name, size, "%s%u", stem, operand->index);
  else if (operand->kind == BF_PTX_INTEGER)
    snprintf(name, size, "%lld", (long long)operand->bits);
  else
    snprintf(name, size, "%s", stem);
  return name;
}

/* ---- What registers hold ---- */

bool bf_rewrite_same_base(const bf_ptx_operand *a, const bf_ptx_operand *b) {
  if (a->kind != b->kind)
    return false;
  if (a->kind == BF_PTX_REGISTER)
    return a->registers->first + a->index == b->registers->first + b->index;
  return a->kind == BF_PTX_SYMBOL ? a->symbol->variable == b->symbol->variable : false;
}

bool bf_rewrite_is_at_hand(const bf_rewrite_writer *w, const bf_rewrite_held *what) {
  if (what->is_steady)
    return bf_rewrite_comes_first(w->hoist, what->at, w->index);
  return w->flow->block_of[what->at] == w->flow->block_of[w->index];
}

const bf_rewrite_held *bf_rewrite_find_held(const bf_rewrite_writer *w, const bf_ptx_operand *base,
                                            int64_t offset, uint64_t fix, bool is_generic) {
  for (unsigned i = 0; i < w->helds; i++)
    if (w->held[i].is_generic == is_generic && !w->held[i].shift && !w->held[i].is_sum &&
        w->held[i].offset == offset && w->held[i].fix == fix &&
        bf_rewrite_same_base(w->held[i].base, base) && bf_rewrite_is_at_hand(w, &w->held[i]))
      return &w->held[i];
  return NULL;
}

void bf_rewrite_hold(bf_rewrite_writer *w, bf_rewrite_held what, bool is_kept) {
  unsigned slot =
      w->helds < BF_REWRITE_MOST_HELD ? w->helds++ : w->next_held++ % BF_REWRITE_MOST_HELD;
  what.by = w->own;
  what.is_steady = is_kept && bf_rewrite_is_steady(w->hoist, what.base, what.at);
  w->held[slot] = what;
}

/* Whether the operand, which is written, holds the register. */
static bool writes(const bf_ptx_operand *operand, const bf_ptx_operand *base) {
  if (operand->kind == BF_PTX_REGISTER)
    return bf_rewrite_same_base(operand, base);
  if (operand->kind != BF_PTX_VECTOR && operand->kind != BF_PTX_PAIR &&
      operand->kind != BF_PTX_ARGUMENTS)
    return false;
  for (uint32_t i = 0; i < operand->count; i++)
    if (writes(&operand->item[i], base))
      return true;
  return false;
}

void bf_rewrite_forget_written(bf_rewrite_writer *w, const bf_ptx_instruction *instruction) {
  unsigned kept = 0;
  for (unsigned i = 0; i < w->helds; i++)
    if (w->held[i].is_steady || !instruction->operands ||
        !writes(&instruction->operand[0], w->held[i].base))
      w->held[kept++] = w->held[i];
  w->helds = kept;
}
