/* The instructions of the loop, in order, as nodes. */
#include "rgpu/extracting.h"

#include <string.h>

/* ---- Types and operands ---- */

/* The type of a graph for one of PTX: 64-bit integers, which loops have for addresses, become
 * 32-bit ones. NULL: none. */
static const char *type_text(bf_ptx_type type) {
  switch (type) {
  case BF_PTX_F32:
    return "f32";
  case BF_PTX_S32:
  case BF_PTX_S64:
    return "s32";
  case BF_PTX_U32:
  case BF_PTX_B32:
  case BF_PTX_U64:
  case BF_PTX_B64:
  case BF_PTX_PRED:
    return "u32";
  default:
    return NULL;
  }
}

/* The type of what is in memory. */
static const char *memory_type(bf_ptx_type type, bool is_float) {
  switch (type) {
  case BF_PTX_U8:
  case BF_PTX_B8:
    return "u8";
  case BF_PTX_S8:
    return "s8";
  case BF_PTX_U16:
  case BF_PTX_B16:
    return "u16";
  case BF_PTX_S16:
    return "s16";
  case BF_PTX_B32:
    return is_float ? "f32" : "u32";
  case BF_PTX_U32:
  case BF_PTX_S32:
  case BF_PTX_F32:
    return type_text(type);
  default:
    return NULL;
  }
}

static int refuse_type(extraction *x, const bf_ptx_instruction *from) {
  return extract_refuse(x, from->line, "'%s' on .%s: values of graphs have 32 bits",
                        bf_ptx_op_get(from->opcode)->name,
                        from->types ? bf_ptx_type_name(from->type[0]) : "b32");
}

/* What an operand is at this point of the iteration. */
static int take_source(extraction *x, const bf_ptx_operand *operand, bool is_float, uint64_t line,
                       source *found) {
  *found = (source){.kind = SOURCE_CONSTANT};
  if (operand->kind != BF_PTX_REGISTER)
    return extract_constant(x, operand, is_float, line, &found->text);
  uint32_t reg = extract_register(operand);
  if (x->is_float[reg] != is_float)
    return extract_refuse(x, line, "bits of %s are taken as %s",
                          is_float ? "an integer" : "a float", is_float ? "a float" : "an integer");
  if (operand->negated)
    return extract_refuse(x, line, "a negated predicate as an operand");
  if (x->now[reg].kind != SOURCE_NONE) {
    *found = x->now[reg];
  } else if (x->is_written[reg]) {
    *found = (source){.kind = SOURCE_BEFORE, .reg = reg};
  } else {
    return extract_before(x, reg, &found->text);
  }
  return BF_OK;
}

/* ---- Nodes ---- */

/* A name for what an instruction makes: that of its register, with a number from the second on. */
static const char *node_name(extraction *x, const bf_ptx_operand *target, const char *kind) {
  if (!target)
    return extract_text(x, "%s%u", kind, ++x->stores);
  const char *name = extract_name(x, target->registers->name,
                                  target->registers->range ? (int64_t)target->index : -1);
  unsigned times = 1;
  for (unsigned i = 0; name && i < x->nodes; i++)
    times += strncmp(x->node[i].name, name, strlen(name)) == 0 &&
             strspn(x->node[i].name + strlen(name), "_0123456789") ==
                 strlen(x->node[i].name + strlen(name)) &&
             (x->node[i].name[strlen(name)] == 0 || x->node[i].name[strlen(name)] == '_');
  return name && times > 1 ? extract_text(x, "%s_%u", name, times) : name;
}

/* Adds a node that is filled but for its name and line; *value is what it computes. */
static int add_node(extraction *x, const bf_ptx_instruction *from, const bf_ptx_operand *target,
                    const char *kind, const made *filled, source *value) {
  if (x->nodes == MOST_LOOP_NODES)
    return extract_refuse(x, from->line, "more than %d nodes", MOST_LOOP_NODES);
  const char *name = node_name(x, target, kind);
  if (!name || !filled->op)
    return extract_no_memory(x);
  *value = (source){.kind = SOURCE_NODE, .node = x->nodes};
  made *node = &x->node[x->nodes++];
  *node = *filled;
  node->name = name;
  node->line = from->line;
  return BF_OK;
}

/* Writes a register: with a guard, only where that holds. */
static int set_register(extraction *x, const bf_ptx_instruction *from, const bf_ptx_operand *target,
                        source value) {
  uint32_t reg = extract_register(target);
  if (from->guard) {
    source old = x->now[reg].kind ? x->now[reg] : (source){.kind = SOURCE_BEFORE, .reg = reg};
    bf_ptx_operand guard = *from->guard;
    made filled = {.op = x->is_float[reg] ? "sel.f32" : "sel.u32", .operands = 3};
    guard.negated = false;
    filled.operand[0] = from->guard->negated ? old : value;
    filled.operand[1] = from->guard->negated ? value : old;
    BF_TRY(take_source(x, &guard, false, from->line, &filled.operand[2]));
    BF_TRY(add_node(x, from, target, "sel", &filled, &value));
  }
  x->now[reg] = value;
  return BF_OK;
}

/* Whether 32 bits of operands would not be enough for 32 bits of the result. */
static bool needs_upper_half(const bf_ptx_instruction *from) {
  bool is_wide = from->types && bf_ptx_type_bytes(from->type[0]) == 8;
  return is_wide && (from->opcode == BF_PTX_OP_SHR || from->opcode == BF_PTX_OP_MIN ||
                     from->opcode == BF_PTX_OP_MAX || from->opcode == BF_PTX_OP_ABS ||
                     from->opcode == BF_PTX_OP_SETP);
}

/* d = OP a, b, c: operands 1 to count of the instruction. */
static int add_core(extraction *x, const bf_ptx_instruction *from, const char *op, unsigned count,
                    bool is_float) {
  source value = {0};
  if (from->operands != count + 1 || from->operand[0].kind != BF_PTX_REGISTER)
    return extract_refuse(x, from->line, "a form of '%s' that graphs do not have",
                          bf_ptx_op_get(from->opcode)->name);
  made filled = {.op = op, .operands = count, .is_wide = needs_upper_half(from)};
  for (unsigned i = 0; i < count; i++)
    BF_TRY(take_source(x, &from->operand[i + 1], is_float, from->line, &filled.operand[i]));
  BF_TRY(add_node(x, from, &from->operand[0], op, &filled, &value));
  return set_register(x, from, &from->operand[0], value);
}

/* ---- Arithmetic ---- */

/* Operations that are the same in both languages, and how many operands they have. */
static const struct {
  bf_ptx_opcode opcode;
  const char *name;
  unsigned operands;
} same[] = {
    {BF_PTX_OP_ADD, "add", 2}, {BF_PTX_OP_SUB, "sub", 2},   {BF_PTX_OP_MUL, "mul", 2},
    {BF_PTX_OP_MAD, "mad", 3}, {BF_PTX_OP_FMA, "mad", 3},   {BF_PTX_OP_MIN, "min", 2},
    {BF_PTX_OP_MAX, "max", 2}, {BF_PTX_OP_ABS, "abs", 1},   {BF_PTX_OP_NEG, "neg", 1},
    {BF_PTX_OP_AND, "and", 2}, {BF_PTX_OP_OR, "or", 2},     {BF_PTX_OP_XOR, "xor", 2},
    {BF_PTX_OP_NOT, "not", 1}, {BF_PTX_OP_SHL, "shl", 2},   {BF_PTX_OP_SHR, "shr", 2},
    {BF_PTX_OP_RCP, "rcp", 1}, {BF_PTX_OP_SQRT, "sqrt", 1}, {BF_PTX_OP_RSQRT, "rsqrt", 1},
    {BF_PTX_OP_SIN, "sin", 1}, {BF_PTX_OP_COS, "cos", 1},   {BF_PTX_OP_EX2, "ex2", 1},
    {BF_PTX_OP_LG2, "lg2", 1}, {BF_PTX_OP_TANH, "tanh", 1},
};

static int take_arithmetic(extraction *x, const bf_ptx_instruction *from) {
  const char *type = from->types ? type_text(from->type[0]) : NULL;
  static const char *const other[] = {"hi", "sat", "cc", "rm", "rp", "rz", "relu"};
  for (unsigned i = 0; i < sizeof other / sizeof *other; i++)
    if (bf_ptx_has(from, other[i]))
      return extract_refuse(x, from->line, "'%s' with .%s", bf_ptx_op_get(from->opcode)->name,
                            other[i]);
  if (from->opcode == BF_PTX_OP_NOT && from->type[0] == BF_PTX_PRED)
    return extract_refuse(x, from->line, "'not' of a predicate");
  for (unsigned i = 0; i < sizeof same / sizeof *same; i++) {
    if (same[i].opcode != from->opcode)
      continue;
    if (!type)
      return refuse_type(x, from);
    const char *op = extract_text(x, "%s.%s", same[i].name, type);
    return op ? add_core(x, from, op, same[i].operands, type[0] == 'f') : extract_no_memory(x);
  }
  return extract_refuse(x, from->line, "no node does '%s'", bf_ptx_op_get(from->opcode)->name);
}

/* setp.CMP.TYPE p, a, b */
static int take_comparison(extraction *x, const bf_ptx_instruction *from) {
  static const char *const names[][2] = {{"lt", "lt"}, {"le", "le"}, {"gt", "gt"}, {"ge", "ge"},
                                         {"eq", "eq"}, {"ne", "ne"}, {"lo", "lt"}, {"ls", "le"},
                                         {"hi", "gt"}, {"hs", "ge"}};
  const char *type = from->types ? type_text(from->type[0]) : NULL;
  if (!type)
    return refuse_type(x, from);
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
    if (from->modifiers == 2 && strcmp(from->modifier[0], names[i][0]) == 0) {
      const char *op = extract_text(x, "%s.%s", names[i][1], type);
      return op ? add_core(x, from, op, 2, type[0] == 'f') : extract_no_memory(x);
    }
  return extract_refuse(x, from->line, "a comparison that graphs do not have");
}

/* selp.TYPE d, a, b, p */
static int take_selection(extraction *x, const bf_ptx_instruction *from) {
  const char *type = from->types ? type_text(from->type[0]) : NULL;
  bool is_float =
      from->operand[0].kind == BF_PTX_REGISTER && x->is_float[extract_register(&from->operand[0])];
  source condition;
  if (!type || from->operands != 4)
    return refuse_type(x, from);
  BF_TRY(take_source(x, &from->operand[3], false, from->line, &condition));
  bf_ptx_instruction two = *from;
  two.operands = 3;
  two.guard = NULL;
  if (from->guard)
    return extract_refuse(x, from->line, "'selp' with a guard");
  BF_TRY(add_core(x, &two, is_float ? "sel.f32" : "sel.u32", 2, is_float));
  made *node = &x->node[x->nodes - 1];
  node->operands = 3;
  node->operand[2] = condition;
  return BF_OK;
}

/* ---- Moves and conversions ---- */

/* d takes the value of a. */
static int take_move(extraction *x, const bf_ptx_instruction *from) {
  source value;
  if (from->operands != 2 || from->operand[0].kind != BF_PTX_REGISTER)
    return extract_refuse(x, from->line, "'%s' that packs or unpacks",
                          bf_ptx_op_get(from->opcode)->name);
  bool is_float = x->is_float[extract_register(&from->operand[0])];
  BF_TRY(take_source(x, &from->operand[1], is_float, from->line, &value));
  return set_register(x, from, &from->operand[0], value);
}

static bool is_wide_integer(bf_ptx_type type) {
  return type == BF_PTX_U32 || type == BF_PTX_S32 || type == BF_PTX_U64 || type == BF_PTX_S64;
}

/* Whether a register holds what a load of 8 or 16 bits extended to 32. */
static bool is_extended(const extraction *x, const bf_ptx_operand *operand, bf_ptx_type type) {
  if (operand->kind != BF_PTX_REGISTER)
    return false;
  source value = x->now[extract_register(operand)];
  if (value.kind != SOURCE_NODE || strncmp(x->node[value.node].op, "ld", 2) != 0)
    return false;
  const char *op = x->node[value.node].op, *loaded = strrchr(op, '.') + 1;
  bool is_signed = type == BF_PTX_S16 || type == BF_PTX_S8;
  if (strcmp(loaded, "u8") == 0 && (type == BF_PTX_U16 || type == BF_PTX_S16))
    return true;
  return (loaded[0] == 's') == is_signed && loaded[1] != '3';
}

static int take_conversion(extraction *x, const bf_ptx_instruction *from) {
  bf_ptx_type to = from->types > 1 ? from->type[0] : BF_PTX_TYPE_NONE;
  bf_ptx_type of = from->types > 1 ? from->type[1] : BF_PTX_TYPE_NONE;
  if (is_wide_integer(to) &&
      (is_wide_integer(of) || (from->operands == 2 && is_extended(x, &from->operand[1], of))))
    return take_move(x, from);
  bool cuts = to != BF_PTX_F32 && of == BF_PTX_F32 && bf_ptx_has(from, "rzi");
  bool rounds =
      to == BF_PTX_F32 && (of == BF_PTX_S32 || of == BF_PTX_U32) && bf_ptx_has(from, "rn");
  if ((!cuts && !rounds) || !type_text(to))
    return extract_refuse(x, from->line, "a conversion that graphs do not have");
  const char *op = extract_text(x, "cvt.%s.%s", type_text(to), type_text(of));
  return op ? add_core(x, from, op, 1, of == BF_PTX_F32) : extract_no_memory(x);
}

/* ---- Memory ---- */

/* The address of a memory instruction. */
static int take_address(extraction *x, const bf_ptx_instruction *from,
                        const bf_ptx_operand *address, made *node) {
  const bf_ptx_operand *base = address->kind == BF_PTX_ADDRESS ? &address->item[0] : NULL;
  if (!base || address->count != 1)
    return extract_refuse(x, from->line, "an address that graphs do not have");
  BF_TRY(take_source(x, base, false, from->line, &node->operand[0]));
  node->offset = address->offset;
  node->has_address = true;
  return BF_OK;
}

/* .shared and the cache operator of a load or store. */
static const char *memory_words(const bf_ptx_instruction *from) {
  if (from->space == BF_PTX_SPACE_SHARED)
    return ".shared";
  return bf_ptx_has(from, "cg") ? ".cg" : bf_ptx_has(from, "cs") ? ".cs" : "";
}

static int check_memory(extraction *x, const bf_ptx_instruction *from) {
  static const char *const other[] = {"volatile", "acquire", "release", "relaxed"};
  for (unsigned i = 0; i < sizeof other / sizeof *other; i++)
    if (bf_ptx_has(from, other[i]))
      return extract_refuse(x, from->line, "memory in the order that .%s asks for", other[i]);
  if (from->space != BF_PTX_SPACE_GLOBAL && from->space != BF_PTX_SPACE_SHARED)
    return extract_refuse(x, from->line, "memory that is neither global nor shared");
  return BF_OK;
}

/* One load or store of a vector's element number `part`; data is the register. */
static int add_access(extraction *x, const bf_ptx_instruction *from, const bf_ptx_operand *address,
                      const bf_ptx_operand *data, unsigned part) {
  bool loads = from->opcode == BF_PTX_OP_LD;
  bool is_float = data->kind == BF_PTX_REGISTER ? x->is_float[extract_register(data)]
                                                : from->type[0] == BF_PTX_F32;
  const char *type = memory_type(from->type[0], is_float);
  made filled = {.operands = loads ? 1 : 2, .is_root = !loads};
  source value = {0};
  if (!type || (type[0] == 'f') != is_float)
    return refuse_type(x, from);
  BF_TRY(take_address(x, from, address, &filled));
  filled.offset += part * (int64_t)bf_ptx_type_bytes(from->type[0]);
  filled.op = extract_text(x, "%s%s.%s", loads ? "ld" : "st", memory_words(from), type);
  if (!loads)
    BF_TRY(take_source(x, data, is_float, from->line, &filled.operand[1]));
  if (from->guard && loads) {
    bf_ptx_operand guard = *from->guard;
    filled.is_negated = guard.negated;
    guard.negated = false;
    BF_TRY(take_source(x, &guard, false, from->line, &filled.predicate));
  }
  if (from->guard && !loads)
    return extract_refuse(
        x, from->line, "a store with a guard: a unit has no FIFO for it beside address and data");
  BF_TRY(add_node(x, from, loads ? data : NULL, "store", &filled, &value));
  return loads ? set_register(x, from, data, value) : BF_OK;
}

/* ld and st, of vectors one node for each element. */
static int take_access(extraction *x, const bf_ptx_instruction *from) {
  bool loads = from->opcode == BF_PTX_OP_LD;
  BF_TRY(check_memory(x, from));
  if (from->operands != 2 || !from->types)
    return extract_refuse(x, from->line, "a form of '%s' that graphs do not have",
                          bf_ptx_op_get(from->opcode)->name);
  const bf_ptx_operand *data = &from->operand[loads ? 0 : 1];
  const bf_ptx_operand *address = &from->operand[loads ? 1 : 0];
  unsigned count = data->kind == BF_PTX_VECTOR ? data->count : 1;
  for (unsigned i = 0; i < count; i++) {
    const bf_ptx_operand *part = data->kind == BF_PTX_VECTOR ? &data->item[i] : data;
    if (loads && part->kind != BF_PTX_REGISTER)
      return extract_refuse(x, from->line, "a load into nothing");
    BF_TRY(add_access(x, from, address, part, i));
  }
  return BF_OK;
}

/* red.add */
static int take_reduction(extraction *x, const bf_ptx_instruction *from) {
  made filled = {.operands = 2, .is_root = true};
  source value = {0};
  const char *type = from->types ? type_text(from->type[0]) : NULL;
  if (from->space != BF_PTX_SPACE_GLOBAL && from->space != BF_PTX_SPACE_SHARED)
    return extract_refuse(x, from->line, "memory that is neither global nor shared");
  if (!bf_ptx_has(from, "add") || from->guard || !type || from->operands != 2 ||
      bf_ptx_type_bytes(from->type[0]) != 4)
    return extract_refuse(x, from->line, "a reduction that is not an unguarded add of 32 bits");
  filled.op =
      extract_text(x, "red%s.add.%s", from->space == BF_PTX_SPACE_SHARED ? ".shared" : "", type);
  BF_TRY(take_address(x, from, &from->operand[0], &filled));
  BF_TRY(take_source(x, &from->operand[1], type[0] == 'f', from->line, &filled.operand[1]));
  return add_node(x, from, NULL, "red", &filled, &value);
}

/* ---- The loop ---- */

static int take_instruction(extraction *x, const bf_ptx_instruction *from) {
  switch (from->opcode) {
  case BF_PTX_OP_MOV:
  case BF_PTX_OP_CVTA:
    return take_move(x, from);
  case BF_PTX_OP_CVT:
    return take_conversion(x, from);
  case BF_PTX_OP_SETP:
    return take_comparison(x, from);
  case BF_PTX_OP_SELP:
    return take_selection(x, from);
  case BF_PTX_OP_LD:
  case BF_PTX_OP_ST:
    return take_access(x, from);
  case BF_PTX_OP_RED:
    return take_reduction(x, from);
  case BF_PTX_OP_BAR:
  case BF_PTX_OP_BARRIER:
    return extract_refuse(x, from->line, "a barrier inside the loop");
  default:
    return take_arithmetic(x, from);
  }
}

/* The line of a load that what a source says comes from, or 0; nodes in `seen` are not looked at
 * again. */
static uint64_t loaded_at(const extraction *x, source from, bool seen[MOST_LOOP_NODES]) {
  for (unsigned i = 0; from.kind == SOURCE_BEFORE && i < MOST_INITIAL_CHAIN; i++)
    from = x->now[from.reg];
  if (from.kind != SOURCE_NODE || seen[from.node])
    return 0;
  const made *node = &x->node[from.node];
  seen[from.node] = true;
  if (strncmp(node->op, "ld", 2) == 0)
    return node->line;
  for (unsigned i = 0; i < node->operands; i++) {
    uint64_t line = loaded_at(x, node->operand[i], seen);
    if (line)
      return line;
  }
  return 0;
}

/* The branch back: how often the loop runs must not depend on what it loads. */
static int check_branch(extraction *x, const bf_ptx_instruction *branch) {
  if (branch->opcode != BF_PTX_OP_BRA || !branch->guard)
    return extract_refuse(x, branch->line, "the loop does not end with a conditional branch");
  bf_ptx_operand guard = *branch->guard;
  source condition;
  bool seen[MOST_LOOP_NODES] = {false};
  guard.negated = false;
  BF_TRY(take_source(x, &guard, false, branch->line, &condition));
  uint64_t line = loaded_at(x, condition, seen);
  if (line)
    return extract_refuse(x, branch->line,
                          "how often the loop runs depends on what line %llu loads",
                          (unsigned long long)line);
  return BF_OK;
}

/* Notes which registers the loop writes. */
static void mark_written(extraction *x, const bf_ptx_instruction *from) {
  const bf_ptx_operand *first = from->operand;
  if (!from->operands || bf_ptx_op_get(from->opcode)->access == BF_PTX_STORE)
    return;
  if (first->kind == BF_PTX_REGISTER)
    x->is_written[extract_register(first)] = true;
  for (uint32_t i = 0; first->kind == BF_PTX_VECTOR && i < first->count; i++)
    if (first->item[i].kind == BF_PTX_REGISTER)
      x->is_written[extract_register(&first->item[i])] = true;
}

int extract_body(extraction *x) {
  const bf_ptx_block *block = &x->flow->block[x->block];
  for (uint32_t i = block->first; i < block->end; i++)
    mark_written(x, x->function->instruction[i]);
  for (uint32_t i = block->first; i + 1 < block->end; i++)
    BF_TRY(take_instruction(x, x->function->instruction[i]));
  return check_branch(x, x->function->instruction[block->end - 1]);
}
