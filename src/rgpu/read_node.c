/* Nodes: NAME = [@[!]PREDICATE] OPERATION OPERANDS. */
#include "rgpu/reader.h"

#include <string.h>

/* The values that an increment has at the start unless told otherwise, as in braak15, 7.4.1.
 */
enum { USUAL_INITIAL = 5 };

/* ---- Operation, types, cache operators: words joined by dots ---- */

/* The word that starts here, of letters and digits, joined to others by dots. */
static bool take_part(reader *r, const char *word) {
  size_t length = strlen(word);
  if (strncmp(r->at, word, length) != 0 || rgpu_name_length(r->at) != length)
    return false;
  r->at += length;
  return true;
}

static int take_op(reader *r, bf_rgpu_op *op) {
  rgpu_skip_blanks(r);
  for (*op = 0; *op < BF_RGPU_OP_COUNT; ++*op)
    if (take_part(r, bf_rgpu_op_get(*op)->name))
      return BF_OK;
  return FAIL(r, "unknown operation '%.*s'", (int)rgpu_name_length(r->at), r->at);
}

/* Whether operations of these types (the letters of BF_RGPU_OPS) have that type. */
static bool suits(char types, bf_rgpu_type type) {
  bool narrow = type != BF_RGPU_U32 && type != BF_RGPU_S32 && type != BF_RGPU_F32;
  if (types == 'M')
    return true;
  return !narrow && (types == 'B' || (types == 'F') == bf_rgpu_type_is_float(type));
}

/* The types that go with such letters, for messages. */
static const char *types_text(char types) {
  return types == 'M'   ? "u8, s8, u16, s16, u32, s32 or f32"
         : types == 'B' ? "u32, s32 or f32"
         : types == 'F' ? "f32"
                        : "u32 or s32";
}

/* .TYPE */
static int take_type(reader *r, const char *name, char types, bf_rgpu_type *type) {
  if (*r->at != '.')
    return FAIL(r, "expected a type: %s.%s", name, types_text(types));
  r->at++;
  for (*type = 0; *type < BF_RGPU_TYPE_COUNT; ++*type)
    if (suits(types, *type) && take_part(r, bf_rgpu_type_name(*type)))
      return BF_OK;
  return FAIL(r, "the type of '%s' is %s", name, types_text(types));
}

/* Whether ".word" comes next; takes it. */
static bool take_dotted(reader *r, const char *word) {
  const char *before = r->at;
  if (*r->at == '.') {
    r->at++;
    if (take_part(r, word))
      return true;
  }
  r->at = before;
  return false;
}

/* Whether a memory operation may have that cache operator. */
static bool allows(bf_rgpu_op op, bf_rgpu_cache cache) {
  static const bool of_loads[] = {
#define X(symbol, name, loads, stores, meaning) loads,
      BF_RGPU_CACHE_OPERATORS(X)
#undef X
  };
  static const bool of_stores[] = {
#define X(symbol, name, loads, stores, meaning) stores,
      BF_RGPU_CACHE_OPERATORS(X)
#undef X
  };
  return op == BF_RGPU_LD ? of_loads[cache] : op == BF_RGPU_ST && of_stores[cache];
}

/* [.shared] [.CACHE] of loads and stores, [.shared] .add of red. */
static int take_memory_words(reader *r, bf_rgpu_node *node) {
  node->is_shared = take_dotted(r, "shared");
  node->cache = node->op == BF_RGPU_LD ? BF_RGPU_CACHE_CA : BF_RGPU_CACHE_WB;
  if (node->op == BF_RGPU_RED)
    return take_dotted(r, "add") ? BF_OK : FAIL(r, "expected '.add'");
  const char *place = r->at;
  for (unsigned cache = 0; cache < BF_RGPU_CACHE_COUNT; cache++) {
    if (!take_dotted(r, bf_rgpu_cache_name(cache)))
      continue;
    if (!allows(node->op, cache))
      return FAIL_AT(r, place, "'%s' is no cache operator of '%s'", bf_rgpu_cache_name(cache),
                     bf_rgpu_op_get(node->op)->name);
    if (node->is_shared)
      return FAIL_AT(r, place, "shared memory has no cache operators");
    node->cache = cache;
    return BF_OK;
  }
  return BF_OK;
}

/* ---- Values and operands ---- */

/* ARRAY[TERM], behind the name. */
static int take_element(reader *r, unsigned array, bool is_float, unsigned scope,
                        bf_rgpu_value *value) {
  const bf_rgpu_array *found = &r->graph->array[array];
  if (found->is_shared)
    return FAIL(r, "shared memory is empty when a block is set up");
  if (bf_rgpu_type_is_float(found->type) != is_float)
    return FAIL(r, "'%s' holds %s, which %s", found->name, bf_rgpu_type_name(found->type),
                is_float ? "is no float" : "is no integer");
  value->is_element = true;
  value->array = array;
  BF_TRY(rgpu_expect(r, '[', "behind the array"));
  BF_TRY(rgpu_take_term(r, scope, &value->term));
  return rgpu_expect(r, ']', "behind the element");
}

/* A constant: a number, a term, or an element of an array. */
static int take_value(reader *r, bool is_float, unsigned scope, bf_rgpu_value *value) {
  rgpu_skip_blanks(r);
  size_t length = rgpu_name_length(r->at);
  int array = length ? rgpu_find_array(r->graph, r->at, length) : -1;
  const char *behind = r->at + length + strspn(r->at + length, " \t");
  if (array >= 0 && *behind == '[') {
    r->at += length;
    return take_element(r, (unsigned)array, is_float, scope, value);
  }
  if (is_float && *r->at && strchr("0123456789.-", *r->at)) {
    float number = 0;
    BF_TRY(rgpu_take_float(r, &number));
    memcpy(&value->bits, &number, sizeof number);
    return BF_OK;
  }
  return rgpu_take_term(r, scope, &value->term);
}

/* [ COUNT x VALUE ], behind the bracket, if it is one. */
static int take_repeated(reader *r, bool is_float, bf_rgpu_initial *initial) {
  const char *before = r->at;
  uint64_t count = 0;
  rgpu_skip_blanks(r);
  bool is_number = bf_parse_number(&r->at, &count);
  rgpu_skip_blanks(r);
  if (!is_number || *r->at != 'x' || rgpu_name_length(r->at) != 1) {
    r->at = before;
    return BF_OK;
  }
  if (count < 1 || count > BF_RGPU_MOST_INITIAL)
    return FAIL_AT(r, before, "from 1 to %d values at the start", BF_RGPU_MOST_INITIAL);
  r->at++;
  bf_rgpu_value *value = bf_arena_alloc(&r->graph->arena, sizeof *value);
  if (!value)
    return rgpu_no_memory(r);
  *initial = (bf_rgpu_initial){.count = (unsigned)count, .is_repeated = true, .value = value};
  return take_value(r, is_float, SCOPE_BLOCK | SCOPE_INDEX, value);
}

/* Values one by one, up to the bracket. */
static int take_listed(reader *r, bool is_float, bf_rgpu_initial *initial) {
  unsigned most = 1;
  for (const char *at = r->at; *at; at++)
    most += *at == ',';
  bf_rgpu_value *value = bf_arena_alloc(&r->graph->arena, most * sizeof *value);
  if (!value)
    return rgpu_no_memory(r);
  initial->value = value;
  do {
    if (initial->count == BF_RGPU_MOST_INITIAL)
      return FAIL(r, "from 1 to %d values at the start", BF_RGPU_MOST_INITIAL);
    BF_TRY(take_value(r, is_float, SCOPE_BLOCK, &value[initial->count++]));
  } while (rgpu_take(r, ','));
  return BF_OK;
}

/* after [ ... ], if that comes next. */
static int take_initial(reader *r, bool is_float, bf_rgpu_initial *initial) {
  if (!rgpu_take_word(r, "after"))
    return BF_OK;
  BF_TRY(rgpu_expect(r, '[', "behind 'after'"));
  BF_TRY(take_repeated(r, is_float, initial));
  if (!initial->count)
    BF_TRY(take_listed(r, is_float, initial));
  return rgpu_expect(r, ']', "behind the values at the start");
}

/* NODE [after ...], the node being known. */
static int take_node_operand(reader *r, size_t length, unsigned node, bool is_float,
                             bf_rgpu_operand *operand) {
  operand->source = BF_RGPU_FROM_NODE;
  operand->node = node;
  operand->column = rgpu_column(r);
  r->at += length;
  return take_initial(r, is_float, &operand->initial);
}

/* An operand of either kind. */
static int take_operand(reader *r, bool is_float, bf_rgpu_operand *operand) {
  rgpu_skip_blanks(r);
  size_t length = rgpu_name_length(r->at);
  int node = length ? rgpu_find_node_part(r->graph, r->at, length) : -1;
  operand->column = rgpu_column(r);
  if (node >= 0)
    return take_node_operand(r, length, (unsigned)node, is_float, operand);
  operand->source = BF_RGPU_FROM_CONSTANT;
  return take_value(r, is_float, SCOPE_BLOCK, &operand->constant);
}

/* @P or @!P, if that comes next. */
static int take_predicate(reader *r, bf_rgpu_node *node) {
  if (!rgpu_take(r, '@'))
    return BF_OK;
  node->is_negated = rgpu_take(r, '!');
  rgpu_skip_blanks(r);
  size_t length = rgpu_name_length(r->at);
  int found = length ? rgpu_find_node_part(r->graph, r->at, length) : -1;
  if (found < 0)
    return FAIL(r, "a predicate is a node");
  return take_node_operand(r, length, (unsigned)found, false, &node->predicate);
}

/* [ NODE [after ...] [(+ | -) TERM] ] */
static int take_address(reader *r, bf_rgpu_node *node) {
  BF_TRY(rgpu_expect(r, '[', "before the address"));
  rgpu_skip_blanks(r);
  size_t length = rgpu_name_length(r->at);
  int found = length ? rgpu_find_node_part(r->graph, r->at, length) : -1;
  if (found < 0)
    return FAIL(r, "an address comes from a node; 'inc step 0' gives one that stays the same");
  BF_TRY(take_node_operand(r, length, (unsigned)found, false, &node->operand[0]));
  rgpu_skip_blanks(r);
  if (*r->at == '-' || rgpu_take(r, '+')) /* the minus belongs to the first product alone */
    BF_TRY(rgpu_take_term(r, SCOPE_BLOCK, &node->offset));
  return rgpu_expect(r, ']', "behind the address");
}

/* ---- The three kinds of nodes ---- */

int rgpu_expand_increment(bf_arena *arena, bf_rgpu_node *node, unsigned self, unsigned initial) {
  bf_rgpu_term *index = bf_arena_alloc(arena, sizeof *index);
  bf_rgpu_value *value = bf_arena_alloc(arena, sizeof *value);
  if (!index || !value)
    return BF_NO_MEMORY;
  index->kind = BF_RGPU_TERM_INDEX;
  const bf_rgpu_term *turn =
      rgpu_term_join(arena, BF_RGPU_TERM_DIVIDE, index, rgpu_term_number(arena, node->hold));
  value->term = rgpu_term_join(arena, BF_RGPU_TERM_ADD, node->start,
                               rgpu_term_join(arena, BF_RGPU_TERM_MULTIPLY, node->step, turn));
  const bf_rgpu_term *added = rgpu_term_join(arena, BF_RGPU_TERM_MULTIPLY, node->step,
                                             rgpu_term_number(arena, initial / node->hold));
  if (!value->term || !added)
    return BF_NO_MEMORY;
  node->operand[0] =
      (bf_rgpu_operand){.source = BF_RGPU_FROM_NODE,
                        .node = self,
                        .initial = {.count = initial, .is_repeated = true, .value = value},
                        .column = node->column};
  node->operand[1] = (bf_rgpu_operand){
      .source = BF_RGPU_FROM_CONSTANT, .constant = {.term = added}, .column = node->column};
  return BF_OK;
}

/* inc step TERM [start TERM] [initial COUNT] [hold COUNT] */
static int take_increment(reader *r, bf_rgpu_node *node) {
  uint64_t hold = 1, initial = 0;
  if (node->predicate.source)
    return FAIL(r, "'inc' has no predicate; an 'add' that reads itself may have one");
  BF_TRY(rgpu_expect_word(r, "step"));
  BF_TRY(rgpu_take_term(r, SCOPE_BLOCK, &node->step));
  node->start = rgpu_term_number(&r->graph->arena, 0);
  if (rgpu_take_word(r, "start"))
    BF_TRY(rgpu_take_term(r, SCOPE_BLOCK, &node->start));
  if (rgpu_take_word(r, "initial"))
    BF_TRY(rgpu_take_count(r, "the number of initial values", 1, BF_RGPU_MOST_INITIAL, &initial));
  const char *place = r->at;
  if (rgpu_take_word(r, "hold"))
    BF_TRY(rgpu_take_count(r, "hold", 1, BF_RGPU_MOST_INITIAL, &hold));
  if (initial == 0)
    initial = hold >= USUAL_INITIAL ? hold : (USUAL_INITIAL + hold - 1) / hold * hold;
  if (initial % hold)
    return FAIL_AT(r, place, "%llu initial values cannot be held for %llu iterations each",
                   (unsigned long long)initial, (unsigned long long)hold);
  node->hold = (unsigned)hold;
  node->type = BF_RGPU_U32;
  return rgpu_expand_increment(&r->graph->arena, node, (unsigned)(node - r->graph->node),
                               (unsigned)initial) == BF_OK
             ? BF_OK
             : rgpu_no_memory(r);
}

/* ld, st and red, behind the name of the operation. */
static int take_memory(reader *r, bf_rgpu_node *node) {
  const bf_rgpu_op_row *row = bf_rgpu_op_get(node->op);
  BF_TRY(take_memory_words(r, node));
  BF_TRY(take_type(r, row->name, row->types, &node->type));
  BF_TRY(take_address(r, node));
  if (row->operands == 1)
    return BF_OK;
  BF_TRY(rgpu_expect(r, ',', "behind the address"));
  return take_operand(r, bf_rgpu_operand_is_float(node, 1), &node->operand[1]);
}

/* Everything else. */
static int take_core(reader *r, bf_rgpu_node *node) {
  const bf_rgpu_op_row *row = bf_rgpu_op_get(node->op);
  BF_TRY(take_type(r, row->name, row->types, &node->type));
  node->from = node->type;
  if (node->op == BF_RGPU_CVT)
    BF_TRY(take_type(r, row->name, row->types, &node->from));
  for (unsigned i = 0; i < row->operands; i++) {
    if (i && !rgpu_take(r, ','))
      return FAIL(r, "'%s' has %u operands", row->name, row->operands);
    BF_TRY(take_operand(r, bf_rgpu_operand_is_float(node, i), &node->operand[i]));
  }
  return BF_OK;
}

int rgpu_take_node(reader *r, bf_rgpu_node *node) {
  BF_TRY(take_predicate(r, node));
  BF_TRY(take_op(r, &node->op));
  if (node->op == BF_RGPU_INC)
    BF_TRY(take_increment(r, node));
  else if (bf_rgpu_is_memory(node))
    BF_TRY(take_memory(r, node));
  else
    BF_TRY(take_core(r, node));
  return rgpu_expect_end(r);
}
