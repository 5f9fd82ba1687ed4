/* The graph of a loop: finds the loop, makes nodes, keeps those that have an effect, writes them.
 */
#include "rgpu/extracting.h"
#include "rgpu/reader.h"

#include <stdlib.h>
#include <string.h>

/* ---- What all parts need ---- */

int extract_refuse(extraction *x, uint64_t line, const char *format, ...) {
  char message[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  bf_fail_file(x->diagnostic, BF_UNSUPPORTED, x->module->file, "%s", message);
  if (x->diagnostic) {
    x->diagnostic->line = line;
    x->diagnostic->column = 1;
  }
  return BF_UNSUPPORTED;
}

int extract_no_memory(extraction *x) { return bf_no_memory(x->diagnostic); }

const char *extract_text(extraction *x, const char *format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return bf_arena_copy(&x->arena, buffer);
}

uint32_t extract_register(const bf_ptx_operand *operand) {
  return operand->registers->first + operand->index;
}

const char *extract_name(extraction *x, const char *name, int64_t number) {
  char clean[48];
  size_t length = 0;
  for (; *name == '%' || *name == '_' || *name == '$'; name++)
    ;
  for (; name[length] && length + 1 < sizeof clean; length++) {
    char c = name[length];
    bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    clean[length] = is_plain ? c : '_';
  }
  clean[length] = 0;
  bool needs = rgpu_name_length(clean) == 0 || rgpu_is_keyword(clean, length);
  return number >= 0 ? extract_text(x, "%s%s%lld", needs ? "v" : "", clean, (long long)number)
                     : extract_text(x, "%s%s", needs ? "v_" : "", clean);
}

int extract_declare(extraction *x, const char *line) {
  for (unsigned i = 0; i < x->declared; i++)
    if (strcmp(x->declaration[i], line) == 0)
      return BF_OK;
  if (x->declared == MOST_DECLARED)
    return extract_refuse(x, x->function->line, "more than %d values from before the loop",
                          MOST_DECLARED);
  x->declaration[x->declared++] = line;
  return BF_OK;
}

bool extract_is_in_loop(const extraction *x, uint32_t instruction) {
  return x->flow->block_of[instruction] == x->block;
}

/* ---- Sources, followed to nodes ---- */

/* A node, or a constant where text is not NULL, and the values that come before its first. */
typedef struct followed {
  unsigned node, initials;
  const char *text;
  const char *initial[MOST_INITIAL_CHAIN];
} followed;

static int follow(extraction *x, source from, followed *found) {
  *found = (followed){0};
  while (from.kind == SOURCE_BEFORE) {
    if (found->initials == MOST_INITIAL_CHAIN)
      return extract_refuse(x, x->function->line,
                            "values that only move from register to register in the loop");
    BF_TRY(extract_before(x, from.reg, &found->initial[found->initials++]));
    from = x->now[from.reg];
  }
  found->node = from.node;
  found->text = from.kind == SOURCE_CONSTANT ? from.text : NULL;
  return BF_OK;
}

/* Registers that the loop sets to a constant become nodes, since they may hold something else
 * before the first iteration. */
static int move_constants(extraction *x) {
  for (uint32_t reg = 0; reg < x->function->registers; reg++) {
    if (!x->is_written[reg] || x->now[reg].kind != SOURCE_CONSTANT)
      continue;
    if (x->nodes == MOST_LOOP_NODES)
      return extract_refuse(x, x->function->line, "more than %d nodes", MOST_LOOP_NODES);
    made *node = &x->node[x->nodes];
    *node = (made){.name = extract_text(x, "moved%u", x->nodes),
                   .op = x->is_float[reg] ? "mov.f32" : "mov.u32",
                   .operands = 1,
                   .operand = {x->now[reg]}};
    if (!node->name)
      return extract_no_memory(x);
    x->now[reg] = (source){.kind = SOURCE_NODE, .node = x->nodes++};
  }
  return BF_OK;
}

/* ---- What is kept ---- */

/* Keeps a node and all that it reads. */
static int keep(extraction *x, unsigned number) {
  made *node = &x->node[number];
  if (node->is_kept)
    return BF_OK;
  node->is_kept = true;
  if (node->is_wide)
    return extract_refuse(x, node->line, "the upper half of 64-bit values matters here");
  for (unsigned i = 0; i <= node->operands; i++) {
    source from = i < node->operands ? node->operand[i] : node->predicate;
    followed found;
    if (from.kind == SOURCE_NONE)
      continue;
    BF_TRY(follow(x, from, &found));
    if (!found.text)
      BF_TRY(keep(x, found.node));
  }
  return BF_OK;
}

/* Whether an operand, or one inside it, is that register. */
static bool mentions(const bf_ptx_operand *operand, uint32_t reg) {
  if (operand->kind == BF_PTX_REGISTER)
    return extract_register(operand) == reg;
  bool is_list = operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
                 operand->kind == BF_PTX_ARGUMENTS || operand->kind == BF_PTX_ADDRESS;
  for (uint32_t i = 0; is_list && i < operand->count; i++)
    if (mentions(&operand->item[i], reg))
      return true;
  return false;
}

/* Marks the blocks that come behind the loop. stack has room for all blocks. */
static void mark_behind(const extraction *x, bool *behind, uint32_t *stack) {
  uint32_t depth = 0;
  stack[depth++] = x->block;
  while (depth) {
    const bf_ptx_block *from = &x->flow->block[stack[--depth]];
    for (uint32_t i = 0; i < from->successors; i++) {
      uint32_t to = from->successor[i];
      if (to >= x->flow->blocks || to == x->block || behind[to])
        continue;
      behind[to] = true;
      stack[depth++] = to;
    }
  }
}

/* Whether instructions behind the loop read a register. */
static bool is_read_behind(const extraction *x, const bool *behind, uint32_t reg) {
  for (uint32_t i = 0; i < x->function->instructions; i++) {
    const bf_ptx_instruction *at = x->function->instruction[i];
    if (!behind[x->flow->block_of[i]])
      continue;
    bool stores = bf_ptx_op_get(at->opcode)->access == BF_PTX_STORE;
    for (unsigned k = stores || at->opcode == BF_PTX_OP_RED ? 0 : 1; k < at->operands; k++)
      if (mentions(&at->operand[k], reg))
        return true;
  }
  return false;
}

/* A result that is read behind the loop stays in a FIFO until its end. */
static int add_final(extraction *x, uint32_t reg, bf_text *finals) {
  followed found;
  if (x->now[reg].kind == SOURCE_NONE)
    return BF_OK;
  BF_TRY(follow(x, x->now[reg], &found));
  if (found.text || found.initials)
    return extract_refuse(x, x->function->line,
                          "a value behind the loop that was computed an iteration before its last");
  const char *name = x->node[found.node].name;
  const char *line = extract_text(x, "array %s_after %s 1", name, x->is_float[reg] ? "f32" : "u32");
  if (!line)
    return extract_no_memory(x);
  bf_text_addf(finals, "final %s_after[0] = %s last 1\n", name, name);
  x->node[found.node].is_root = true;
  return extract_declare(x, line);
}

/* Roots: stores, and registers that are read behind the loop. */
static int keep_roots(extraction *x, bf_text *finals) {
  bool *behind = bf_arena_alloc(&x->arena, x->flow->blocks + 1);
  uint32_t *stack = bf_arena_alloc(&x->arena, (x->flow->blocks + 1) * sizeof *stack);
  if (!behind || !stack)
    return extract_no_memory(x);
  mark_behind(x, behind, stack);
  for (uint32_t reg = 0; reg < x->function->registers; reg++)
    if (x->is_written[reg] && is_read_behind(x, behind, reg))
      BF_TRY(add_final(x, reg, finals));
  bool any = false;
  for (unsigned i = 0; i < x->nodes; i++)
    if (x->node[i].is_root) {
      any = true;
      BF_TRY(keep(x, i));
    }
  uint32_t first = x->flow->block[x->block].first;
  return any ? BF_OK
             : extract_refuse(x, x->function->instruction[first]->line,
                              "the loop computes nothing that is stored or used behind it");
}

/* ---- Increments ---- */

/* Whether a node adds a constant to itself; which operand that is, and in which register. */
static bool is_increment(const extraction *x, unsigned number, unsigned *constant, uint32_t *reg) {
  const made *node = &x->node[number];
  bool adds = strcmp(node->op, "add.u32") == 0 || strcmp(node->op, "add.s32") == 0;
  for (*constant = 0; adds && *constant < 2; ++*constant) {
    source step = node->operand[*constant], own = node->operand[1 - *constant];
    *reg = own.reg;
    if (step.kind == SOURCE_CONSTANT && own.kind == SOURCE_BEFORE &&
        x->now[own.reg].kind == SOURCE_NODE && x->now[own.reg].node == number)
      return true;
  }
  return false;
}

/* Whether all other nodes read an increment as it was before the iteration. */
static int is_read_before(extraction *x, unsigned number, bool *all) {
  *all = true;
  for (unsigned i = 0; i < x->nodes; i++) {
    const made *node = &x->node[i];
    for (unsigned k = 0; node->is_kept && i != number && k <= node->operands; k++) {
      source from = k < node->operands ? node->operand[k] : node->predicate;
      followed found;
      if (from.kind == SOURCE_NONE)
        continue;
      BF_TRY(follow(x, from, &found));
      *all &= found.text || found.node != number || found.initials > 0;
    }
  }
  *all &= !x->node[number].is_root;
  return BF_OK;
}

/* ---- Writing ---- */

/* An operand. An increment that all read as it was before starts one step earlier instead. */
static int write_source(extraction *x, source from, bf_text *text) {
  followed found;
  unsigned constant;
  uint32_t reg;
  BF_TRY(follow(x, from, &found));
  bf_text_puts(text, found.text ? found.text : x->node[found.node].name);
  if (!found.text && is_increment(x, found.node, &constant, &reg)) {
    bool early;
    BF_TRY(is_read_before(x, found.node, &early));
    found.initials -= early && found.initials;
  }
  for (unsigned i = 0; !found.text && i < found.initials; i++)
    bf_text_addf(text, "%s%s", i ? ", " : " after [", found.initial[i]);
  bf_text_puts(text, !found.text && found.initials ? "]" : "");
  return BF_OK;
}

static int write_increment(extraction *x, unsigned number, unsigned constant, uint32_t reg,
                           bf_text *text) {
  const char *step = x->node[number].operand[constant].text, *start;
  bool early;
  BF_TRY(extract_before(x, reg, &start));
  BF_TRY(is_read_before(x, number, &early));
  bf_text_addf(text, "%s = inc step %s start %s", x->node[number].name, step, start);
  if (!early)
    bf_text_addf(text, " + %s", step);
  bf_text_puts(text, "\n");
  return BF_OK;
}

/* [ADDRESS + OFFSET]; the name of a node that gives an address that never changes is known. */
static int write_address(extraction *x, const made *node, const char *fixed, bf_text *text) {
  bf_text_puts(text, "[");
  if (fixed)
    bf_text_puts(text, fixed);
  else
    BF_TRY(write_source(x, node->operand[0], text));
  if (node->offset)
    bf_text_addf(text, " %c %lld", node->offset < 0 ? '-' : '+',
                 (long long)(node->offset < 0 ? -node->offset : node->offset));
  bf_text_puts(text, "]");
  return BF_OK;
}

static int write_node(extraction *x, unsigned number, bf_text *text) {
  const made *node = &x->node[number];
  const char *fixed = NULL;
  unsigned constant;
  uint32_t reg;
  if (is_increment(x, number, &constant, &reg))
    return write_increment(x, number, constant, reg, text);
  if (node->has_address && node->operand[0].kind == SOURCE_CONSTANT) {
    fixed = extract_text(x, "%s_at", node->name);
    if (!fixed)
      return extract_no_memory(x);
    bf_text_addf(text, "%s = inc step 0 start %s\n", fixed, node->operand[0].text);
  }
  bool is_fixed = node->predicate.kind == SOURCE_CONSTANT; /* a predicate is a node all the same */
  if (is_fixed)
    bf_text_addf(text, "%s_if = mov.u32 %s\n", node->name, node->predicate.text);
  bf_text_addf(text, "%s = ", node->name);
  if (node->predicate.kind) {
    bf_text_puts(text, node->is_negated ? "@!" : "@");
    if (is_fixed)
      bf_text_addf(text, "%s_if", node->name);
    else
      BF_TRY(write_source(x, node->predicate, text));
    bf_text_puts(text, " ");
  }
  bf_text_addf(text, "%s ", node->op);
  for (unsigned i = 0; i < node->operands; i++) {
    bf_text_puts(text, i ? ", " : "");
    if (i == 0 && node->has_address)
      BF_TRY(write_address(x, node, fixed, text));
    else
      BF_TRY(write_source(x, node->operand[i], text));
  }
  bf_text_addf(text, " # line %llu\n", (unsigned long long)node->line);
  return BF_OK;
}

/* Whether a text has a word. */
static bool has_word(const char *text, const char *word, size_t length) {
  for (const char *at = text; at && (at = strstr(at, word)); at++)
    if (rgpu_name_length(at) == length && (at == text || !rgpu_name_length(at - 1)) &&
        !(at > text && at[-1] >= '0' && at[-1] <= '9'))
      return true;
  return false;
}

/* Writes the declarations whose names occur: what only the end of the loop needs is left out. */
static int write_declarations(extraction *x, const char *nodes, const char *finals, bf_text *text) {
  for (unsigned i = 0; i < x->declared; i++) {
    const char *line = x->declaration[i], *name = strchr(line, ' ') + 1;
    size_t length = rgpu_name_length(name);
    const char *word = extract_text(x, "%.*s", (int)length, name);
    if (!word)
      return extract_no_memory(x);
    if (has_word(nodes, word, length) || has_word(finals, word, length))
      bf_text_addf(text, "%s\n", line);
  }
  return BF_OK;
}

/* The whole graph. Nodes come first, because writing them asks for what must be declared. */
static int write_graph(extraction *x, const bf_text *finals, bf_text *text) {
  const bf_ptx_block *block = &x->flow->block[x->block];
  bf_text nodes = {0};
  int error = BF_OK;
  for (unsigned i = 0; i < x->nodes && !error; i++)
    if (x->node[i].is_kept)
      error = write_node(x, i, &nodes);
  const char *name = !error ? extract_name(x, x->function->name, -1) : NULL;
  if (!error && (!name || nodes.failed || finals->failed))
    error = extract_no_memory(x);
  if (!error) {
    bf_text_addf(text,
                 "# One thread's loop, lines %llu to %llu of kernel %s. Parameters have made-up "
                 "values.\n# Addresses have 32 bits. Loads run ahead of the stores of earlier "
                 "iterations: they\n# must not touch the same words.\ngraph %s\n",
                 (unsigned long long)x->function->instruction[block->first]->line,
                 (unsigned long long)x->function->instruction[block->end - 1]->line,
                 x->function->name, name);
    error = write_declarations(x, nodes.data, finals->data, text);
    bf_text_addf(text, "parameter loop_count 1\niterations loop_count\n\n%s%s", nodes.data,
                 finals->size ? finals->data : "");
  }
  bf_text_free(&nodes);
  return error;
}

/* ---- All of it ---- */

/* Which registers are floats, by their declarations in all scopes. */
static void find_floats(extraction *x, const bf_ptx_statement *at) {
  for (; at; at = at->next) {
    if (at->kind == BF_PTX_STATEMENT_SCOPE)
      find_floats(x, at->scope);
    if (at->kind == BF_PTX_STATEMENT_REGISTERS && at->registers->type == BF_PTX_F32)
      for (uint32_t i = 0; i < at->registers->count; i++)
        x->is_float[at->registers->first + i] = true;
  }
}

static int make_room(extraction *x) {
  size_t registers = x->function->registers + 1;
  x->now = bf_arena_alloc(&x->arena, registers * sizeof *x->now);
  x->is_written = bf_arena_alloc(&x->arena, registers * sizeof *x->is_written);
  x->known = bf_arena_alloc(&x->arena, registers * sizeof *x->known);
  x->is_float = bf_arena_alloc(&x->arena, registers * sizeof *x->is_float);
  if (!x->now || !x->is_written || !x->known || !x->is_float)
    return extract_no_memory(x);
  find_floats(x, x->function->body);
  return BF_OK;
}

/* A graph that the reader refuses has more inputs than FIFOs, or the like: say which line it was.
 */
static int check_text(extraction *x, const char *text) {
  bf_rgpu_graph *graph;
  bf_diagnostic found;
  int error = bf_rgpu_parse("graph", text, &graph, &found);
  bf_rgpu_free(graph);
  if (!error)
    return BF_OK;
  if (error == BF_NO_MEMORY)
    return extract_no_memory(x);
  return extract_refuse(x, x->function->instruction[x->flow->block[x->block].first]->line,
                        "the graph of this loop is not valid: %s: %s", found.excerpt,
                        found.message);
}

static int extract_into(extraction *x, const char *kernel, uint64_t line, bf_text *finals,
                        bf_text *text) {
  size_t before = text->size;
  BF_TRY(extract_find_loop(x, kernel, line));
  BF_TRY(make_room(x));
  BF_TRY(extract_body(x));
  BF_TRY(move_constants(x));
  BF_TRY(keep_roots(x, finals));
  BF_TRY(write_graph(x, finals, text));
  return text->failed ? extract_no_memory(x) : check_text(x, text->data + before);
}

int bf_rgpu_extract(const bf_ptx_module *module, const char *kernel, uint64_t line, bf_text *text,
                    bf_diagnostic *diagnostic) {
  extraction *x = calloc(1, sizeof *x);
  bf_text finals = {0};
  if (!x)
    return bf_no_memory(diagnostic);
  x->module = module;
  x->diagnostic = diagnostic;
  int error = extract_into(x, kernel, line, &finals, text);
  bf_text_free(&finals);
  bf_ptx_flow_free(x->flow);
  bf_arena_free(&x->arena);
  free(x);
  return error;
}
