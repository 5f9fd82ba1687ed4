/* Longer rows: after every ROW bytes of an array, PAD bytes stay unused. Byte x = ROW * i + j, with
 * 0 <= j < ROW, lies at (ROW + PAD) * i + j.
 *
 * Addresses are sums of subscripts times strides. Where an instruction multiplies by whole rows,
 * its result gets a shadow that is multiplied by as many longer rows; what is computed from it has
 * a shadow too, up to the address of the access. Shadows stand before the instructions they follow,
 * which stay: where only the address needed them, ptxas drops them, and nothing is added.
 *
 * A shadow belongs to a register and a scale: the number of bytes that a step of the register is,
 * as it is multiplied later. Numbers are taken apart into rows and the rest. Whether subscripts
 * stay inside rows is not looked at here: the verifier proves every address, and what it does not
 * accept is left as it was.
 *
 * Shadows have 32 bits, those of registers of 64 bits too, which all have one; of a generic address
 * it is the shared one, and the access gets .shared. wmma has a stride besides, a number of rows,
 * which becomes as many longer ones (pad_tile.c). */
#include "rewrite/inner.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 4096, MOST_SCALE = 1 << 24 };

/* A register at a scale. */
typedef struct node {
  const bf_ptx_operand *operand; /* names the register */
  uint32_t number;               /* of the register */
  int64_t scale;                 /* 0: a number of rows, as it is */
  bool has_rows;                 /* its shadow differs, or the register has 64 bits */
  unsigned place;                /* of the shadow */
} node;

/* The shadows for one row and padding. */
typedef struct weaver {
  const bf_rewrite_plan *plan;
  const bf_ptx_function *function;
  int64_t row, unused;           /* bytes */
  uint32_t *first_write, *write; /* per register: instructions that write it */
  unsigned nodes;
  node *node;
  const char *prefix;
  unsigned *places; /* of all weavers */
  bool failed;      /* memory is exhausted */
} weaver;

/* ---- Variables ---- */

bf_ptx_variable bf_rewrite_lengthened(const bf_ptx_variable *variable, const bf_hash *padding) {
  enum { STEP = BF_REWRITE_MOST_WIDTH_BYTES }; /* so that what follows stays aligned as it was */
  uint64_t row = padding->row_words * BF_REWRITE_WORD_BYTES;
  uint64_t unused = padding->pad_words * BF_REWRITE_WORD_BYTES;
  uint64_t more = (variable->bytes - 1) / row * unused;
  unsigned element = bf_ptx_type_bytes(variable->type) * (variable->vector ? variable->vector : 1);
  bf_ptx_variable longer = *variable;
  longer.bytes += (more + STEP - 1) / STEP * STEP;
  longer.dimensions = 1;
  longer.dimension[0] = longer.bytes / (element ? element : 1);
  return longer;
}

uint64_t bf_rewrite_dynamic_bytes(uint64_t bytes, uint64_t row, uint64_t unused) {
  enum { STEP = BF_REWRITE_MOST_WIDTH_BYTES };
  if (!bytes || !row || !unused)
    return bytes;
  return (bytes + (bytes - 1) / row * unused + STEP - 1) / STEP * STEP;
}

/* ---- Numbers ---- */

/* A number of bytes in longer rows. Of a negative one, most of a row is the row before. */
static int64_t lengthen(const weaver *w, int64_t bytes) {
  int64_t rows = bytes / w->row, rest = bytes % w->row;
  if (2 * rest < -w->row) {
    rows--;
    rest += w->row;
  }
  return rows * (w->row + w->unused) + rest;
}

/* The value of a number operand, with its sign. */
static int64_t number_of(const bf_ptx_operand *operand) { return (int32_t)(uint32_t)operand->bits; }

static bool is_word(const bf_ptx_operand *operand) {
  return operand->kind == BF_PTX_REGISTER && !operand->registers->vector && !operand->component &&
         bf_ptx_type_bytes(operand->registers->type) == 4;
}

/* A register of 64 bits. */
static bool is_wide(const bf_ptx_operand *operand) {
  return operand->kind == BF_PTX_REGISTER && !operand->registers->vector && !operand->component &&
         bf_ptx_type_bytes(operand->registers->type) == 8;
}

static bool is_followed_register(const bf_ptx_operand *operand) {
  return is_word(operand) || is_wide(operand);
}

static uint32_t register_of(const bf_ptx_operand *operand) {
  return operand->registers->first + operand->index;
}

/* ---- Instructions ---- */

/* What an instruction does with registers of 32 bits: parts that are added up. */
typedef struct part {
  const bf_ptx_operand *operand;
  int64_t factor; /* 1; otherwise the operand is a register */
  bool is_shift;  /* the factor is written as a shift */
  uint32_t mask;  /* not 0: a factor of the register under a mask */
} part;

typedef struct form {
  unsigned parts;
  part part[2];
  bool is_difference;
} form;

static bool has_type(const bf_ptx_instruction *instruction, unsigned modifiers) {
  return !instruction->guard && instruction->modifiers == modifiers && instruction->types == 1 &&
         (instruction->type[0] == BF_PTX_U32 || instruction->type[0] == BF_PTX_S32 ||
          instruction->type[0] == BF_PTX_B32);
}

/* A product with a number. */
static bool read_product(const bf_ptx_instruction *instruction, part *out) {
  const bf_ptx_operand *a = &instruction->operand[1], *b = &instruction->operand[2];
  if (a->kind == BF_PTX_INTEGER) {
    const bf_ptx_operand *swap = a;
    a = b;
    b = swap;
  }
  if (!is_followed_register(a) || b->kind != BF_PTX_INTEGER || number_of(b) <= 0)
    return false;
  *out = (part){.operand = a, .factor = number_of(b)};
  return true;
}

/* x << k, of which some bits are kept: (x & mask) << k. */
static bool read_masked(const weaver *w, const bf_ptx_instruction *instruction, form *out) {
  const bf_ptx_operand *a = &instruction->operand[1], *b = &instruction->operand[2];
  if (!is_word(a) || b->kind != BF_PTX_INTEGER)
    return false;
  uint32_t first = w->first_write[register_of(a)];
  if (w->first_write[register_of(a) + 1] != first + 1)
    return false;
  const bf_ptx_instruction *shift = w->function->instruction[w->write[first]];
  if (shift->opcode != BF_PTX_OP_SHL || !has_type(shift, 1) || !is_word(&shift->operand[1]) ||
      shift->operand[2].kind != BF_PTX_INTEGER || shift->operand[2].bits > 24)
    return false;
  uint32_t mask = (uint32_t)b->bits >> shift->operand[2].bits;
  *out = (form){.parts = 1,
                .part = {{.operand = &shift->operand[1],
                          .factor = (int64_t)1 << shift->operand[2].bits,
                          .mask = mask}}};
  return mask;
}

static bool is_wide_type(bf_ptx_type type) {
  return type == BF_PTX_U64 || type == BF_PTX_S64 || type == BF_PTX_B64;
}

/* The same on 64 bits, of which the lower half counts, and from 32 to 64 bits. A generic address is
 * the shared one. */
static bool read_wide(const bf_ptx_instruction *instruction, form *out) {
  const bf_ptx_operand *operand = instruction->operand;
  unsigned modifiers = instruction->modifiers;
  bool to_wide = instruction->types > 0 && is_wide_type(instruction->type[0]);
  bool multiplies = modifiers == 2 && instruction->types == 1 &&
                    (bf_ptx_has(instruction, "wide") || (to_wide && bf_ptx_has(instruction, "lo")));
  const part first = {.operand = &operand[1], .factor = 1};
  const part second = {.operand = &operand[2], .factor = 1};
  *out = (form){.parts = 1, .part = {first}};
  if (instruction->guard || !is_wide(operand))
    return false;
  switch (instruction->opcode) {
  case BF_PTX_OP_CVT:
    return modifiers == 2 && to_wide && is_word(&operand[1]);
  case BF_PTX_OP_CVTA:
    return modifiers == 2 && instruction->space == BF_PTX_SPACE_SHARED &&
           is_followed_register(&operand[1]);
  case BF_PTX_OP_MOV:
    return modifiers == 1 && to_wide;
  case BF_PTX_OP_ADD:
    *out = (form){.parts = 2, .part = {first, second}};
    return modifiers == 1 && to_wide;
  case BF_PTX_OP_SHL:
    out->part[0] = (part){.operand = &operand[1], .is_shift = true};
    if (modifiers != 1 || !to_wide || !is_wide(&operand[1]) || operand[2].kind != BF_PTX_INTEGER ||
        operand[2].bits > 24)
      return false;
    out->part[0].factor = (int64_t)1 << operand[2].bits;
    return true;
  case BF_PTX_OP_MUL:
    return multiplies && read_product(instruction, &out->part[0]);
  case BF_PTX_OP_MAD:
    *out = (form){.parts = 2, .part = {first, {.operand = &operand[3], .factor = 1}}};
    return multiplies && read_product(instruction, &out->part[0]);
  default:
    return false;
  }
}

/* What an instruction adds up; false: it does something else. */
static bool read_form(const weaver *w, const bf_ptx_instruction *instruction, form *out) {
  const bf_ptx_operand *operand = instruction->operand;
  if (instruction->operands > 1 && read_wide(instruction, out))
    return true;
  *out = (form){0};
  switch (instruction->opcode) {
  case BF_PTX_OP_MOV:
    *out = (form){.parts = 1, .part = {{.operand = &operand[1], .factor = 1}}};
    return has_type(instruction, 1);
  case BF_PTX_OP_ADD:
  case BF_PTX_OP_SUB:
  case BF_PTX_OP_OR:
  case BF_PTX_OP_XOR:
    *out = (form){
        .parts = 2,
        .part = {{.operand = &operand[1], .factor = 1}, {.operand = &operand[2], .factor = 1}},
        .is_difference = instruction->opcode == BF_PTX_OP_SUB};
    /* a - b is a remainder, a - a / n * n, and has no rows. */
    return has_type(instruction, 1) && (!out->is_difference || !is_word(&operand[2]));
  case BF_PTX_OP_SHL:
    *out = (form){.parts = 1, .part = {{.operand = &operand[1], .is_shift = true}}};
    if (!has_type(instruction, 1) || !is_word(&operand[1]) || operand[2].kind != BF_PTX_INTEGER ||
        operand[2].bits > 24)
      return false;
    out->part[0].factor = (int64_t)1 << operand[2].bits;
    return true;
  case BF_PTX_OP_MUL:
    out->parts = 1;
    return has_type(instruction, 2) && bf_ptx_has(instruction, "lo") &&
           read_product(instruction, &out->part[0]);
  case BF_PTX_OP_MAD:
    out->parts = 2;
    out->part[1] = (part){.operand = &operand[3], .factor = 1};
    return has_type(instruction, 2) && bf_ptx_has(instruction, "lo") &&
           read_product(instruction, &out->part[0]);
  case BF_PTX_OP_AND:
    return has_type(instruction, 1) && read_masked(w, instruction, out);
  default:
    return false;
  }
}

/* ---- Shadows ---- */

/* The node of a register at a scale, which may be new; NULL: there are too many. */
static node *node_of(weaver *w, const bf_ptx_operand *operand, int64_t scale) {
  uint32_t number = register_of(operand);
  for (unsigned i = 0; i < w->nodes; i++)
    if (w->node[i].number == number && w->node[i].scale == scale)
      return &w->node[i];
  if (w->nodes == MOST_NODES)
    return NULL;
  node *made = &w->node[w->nodes++];
  *made =
      (node){.operand = operand, .number = number, .scale = scale, .has_rows = is_wide(operand)};
  return made;
}

/* Whether a product is of whole rows: what is multiplied counts rows, or the lowest bit that a mask
 * lets through does. */
static bool is_whole(const weaver *w, const part *p, int64_t scale) {
  int64_t step = p->mask ? (int64_t)(p->mask & (0 - p->mask)) : 1;
  return p->factor > 1 && scale && p->factor * scale % w->row * step % w->row == 0;
}

/* The factor in longer rows; 0: it is no whole number. */
static int64_t longer_factor(const weaver *w, const part *p, int64_t scale) {
  int64_t bytes = lengthen(w, p->factor * scale), longer = p->factor * (w->row + w->unused);
  if (!scale)
    return p->factor;
  if (is_whole(w, p, scale))
    return longer % w->row ? 0 : longer / w->row;
  return bytes % scale ? 0 : bytes / scale;
}

/* Whether a part of what a node adds up has another shadow; adds the nodes that this depends on. */
static bool part_has_rows(weaver *w, const part *p, int64_t scale) {
  if (p->operand->kind == BF_PTX_INTEGER)
    return lengthen(w, number_of(p->operand) * scale) != number_of(p->operand) * scale;
  if (p->operand->kind == BF_PTX_SYMBOL)
    return scale == 1 && lengthen(w, p->operand->offset) != p->operand->offset;
  if (!is_followed_register(p->operand) || p->factor * scale > MOST_SCALE)
    return false;
  if (is_whole(w, p, scale) && is_wide(p->operand))
    node_of(w, p->operand, 0);
  if (is_whole(w, p, scale) || p->mask)
    return is_whole(w, p, scale);
  const node *inner = node_of(w, p->operand, p->factor * scale);
  return (inner && inner->has_rows) || (p->factor > 1 && p->factor * scale > w->row);
}

/* Looks at a node once more; true where it is found to have rows. */
static bool look(weaver *w, unsigned index) {
  const node own = w->node[index];
  bool has_rows = false;
  for (uint32_t i = w->first_write[own.number]; i < w->first_write[own.number + 1]; i++) {
    form f;
    if (!read_form(w, w->function->instruction[w->write[i]], &f))
      continue;
    for (unsigned k = 0; k < f.parts; k++)
      has_rows |= part_has_rows(w, &f.part[k], own.scale);
  }
  bool is_new = has_rows && !own.has_rows;
  w->node[index].has_rows |= has_rows;
  return is_new;
}

/* Finds all nodes that matter, and which of them have rows. */
static void look_at_all(weaver *w) {
  for (bool changed = true; changed;) {
    unsigned before = w->nodes;
    changed = false;
    for (unsigned i = 0; i < w->nodes; i++)
      changed |= look(w, i);
    changed |= w->nodes != before;
  }
  for (unsigned i = 0; i < w->nodes; i++)
    if (w->node[i].has_rows)
      w->node[i].place = (*w->places)++;
}

/* ---- Constants in addresses ---- */

/* What an address adds up to, as far as it is sums and products of numbers. */
typedef struct outline {
  bool has_columns; /* besides rows and numbers there is something */
  int64_t constant; /* the numbers, in bytes, and what they are in the shadow */
  int64_t shadow;
} outline;

/* Adds what an operand at a scale is to an outline. */
static void trace(weaver *w, const bf_ptx_operand *operand, int64_t scale, unsigned depth,
                  outline *out) {
  enum { MOST_DEPTH = 32 };
  if (operand->kind == BF_PTX_INTEGER) {
    out->constant += number_of(operand) * scale;
    out->shadow += lengthen(w, number_of(operand) * scale);
    return;
  }
  if (operand->kind == BF_PTX_SYMBOL) {
    out->constant += operand->offset;
    out->shadow += lengthen(w, operand->offset);
    out->has_columns |= scale != 1;
    return;
  }
  uint32_t first = is_followed_register(operand) ? w->first_write[register_of(operand)] : 0;
  form f = {0};
  if (depth == MOST_DEPTH || !is_followed_register(operand) ||
      w->first_write[register_of(operand) + 1] != first + 1 ||
      !read_form(w, w->function->instruction[w->write[first]], &f) || f.is_difference ||
      f.part[0].mask) {
    out->has_columns |= scale % w->row != 0;
    return;
  }
  for (unsigned i = 0; i < f.parts; i++) {
    int64_t own = f.part[i].factor * scale;
    bool is_row = f.part[i].factor > 1 && own % w->row == 0;
    if (own > MOST_SCALE)
      out->has_columns = true;
    else if (!is_row)
      trace(w, f.part[i].operand, own, depth + 1, out);
  }
}

/* The offset of an access in its longer row. Where the address is rows and numbers only, the
 * numbers together say in which row it is: 68 i - 8 lies in row i - 1. */
static int64_t lengthen_offset(weaver *w, const bf_ptx_operand *base, int64_t offset) {
  outline found = {0};
  trace(w, base, 1, 0, &found);
  int64_t bytes = found.constant + offset, whole = bytes / w->row - (bytes % w->row < 0);
  if (found.has_columns)
    return lengthen(w, offset);
  return whole * (w->row + w->unused) + bytes - whole * w->row - found.shadow;
}

/* ---- Text ---- */

static void put_register(const bf_ptx_operand *operand, bf_text *text) {
  bf_text_addf(text, "%s", operand->registers->name);
  if (operand->registers->range)
    bf_text_addf(text, "%u", operand->index);
}

static void put_place(const weaver *w, const node *n, bf_text *text) {
  bf_text_addf(text, "%s%u", w->prefix, n->place);
}

/* An operand as its shadow, at a scale; false where it has none. */
static bool put_shadow(weaver *w, const bf_ptx_operand *operand, int64_t scale, bf_text *text) {
  if (operand->kind == BF_PTX_INTEGER && !scale) {
    bf_text_addf(text, "%lld", (long long)number_of(operand));
    return true;
  }
  if (operand->kind == BF_PTX_INTEGER) {
    int64_t bytes = lengthen(w, number_of(operand) * scale);
    bf_text_addf(text, "%lld", (long long)(bytes / scale));
    return bytes % scale == 0;
  }
  if (operand->kind == BF_PTX_SYMBOL) {
    int64_t offset = scale == 1 ? lengthen(w, operand->offset) : operand->offset;
    bf_text_addf(text, offset ? "%s+%lld" : "%s", operand->symbol->name, (long long)offset);
    return !operand->generic && operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE;
  }
  if (!is_followed_register(operand))
    return false;
  const node *inner = node_of(w, operand, scale);
  if (inner && inner->has_rows)
    put_place(w, inner, text);
  else
    put_register(operand, text);
  return true;
}

/* The product of a part of what node n adds up, with `add` behind it where that is not NULL; false
 * where there is none. */
static bool put_product(weaver *w, const node *n, const part *p, const part *add, bf_text *text) {
  bool is_row = is_whole(w, p, n->scale), is_plain_row = is_row && !is_wide(p->operand);
  const node *inner =
      is_plain_row || p->mask ? NULL : node_of(w, p->operand, is_row ? 0 : p->factor * n->scale);
  bool is_inner = inner && inner->has_rows;
  int64_t factor = is_inner && !is_row ? p->factor : longer_factor(w, p, n->scale);
  if (factor <= 0 || factor > INT32_MAX)
    return false;
  bf_text_addf(text, "%s.lo.s32 \t", add ? "mad" : "mul");
  put_place(w, n, text);
  bf_text_addf(text, ", ");
  if (is_inner)
    put_place(w, inner, text);
  else if (p->mask)
    put_place(w, n, text);
  else
    put_register(p->operand, text);
  bf_text_addf(text, ", %lld", (long long)factor);
  if (add) {
    bf_text_addf(text, ", ");
    if (!put_shadow(w, add->operand, n->scale, text))
      return false;
  }
  bf_text_addf(text, ";\n");
  return true;
}

/* The shadow of one instruction that writes node n; counts instructions. False where there is
 * none. */
static bool put_instruction(weaver *w, const node *n, const bf_ptx_instruction *instruction,
                            bf_text *text, unsigned *count) {
  form f;
  if (!read_form(w, instruction, &f))
    return false;
  *count += 1;
  if (f.part[0].mask) {
    *count += 1;
    bf_text_addf(text, "and.b32 \t");
    put_place(w, n, text);
    bf_text_addf(text, ", ");
    put_register(f.part[0].operand, text);
    bf_text_addf(text, ", %u;\n", f.part[0].mask);
  }
  if (f.part[0].factor > 1 || f.part[0].mask)
    return put_product(w, n, &f.part[0], f.parts > 1 ? &f.part[1] : NULL, text);
  bf_text_addf(text, "%s \t", f.parts == 1 ? "mov.u32" : f.is_difference ? "sub.s32" : "add.s32");
  put_place(w, n, text);
  for (unsigned k = 0; k < f.parts; k++) {
    bf_text_addf(text, ", ");
    if (!put_shadow(w, f.part[k].operand, n->scale, text))
      return false;
  }
  bf_text_addf(text, ";\n");
  return true;
}

/* ---- Functions ---- */

/* Counts the registers that an operand writes, or with write set notes them. */
static void list_written(weaver *w, const bf_ptx_operand *operand, uint32_t instruction,
                         uint32_t *next) {
  if (operand->kind == BF_PTX_REGISTER) {
    if (w->write)
      w->write[next[register_of(operand)]++] = instruction;
    else
      w->first_write[register_of(operand) + 1]++;
  } else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
             operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; i < operand->count; i++)
      list_written(w, &operand->item[i], instruction, next);
}

/* Lists what writes each register. */
static bool list_writes(weaver *w) {
  size_t registers = (size_t)w->function->registers + 2;
  uint32_t *next = bf_arena_alloc(w->plan->arena, registers * sizeof *next);
  w->first_write = bf_arena_alloc(w->plan->arena, registers * sizeof *w->first_write);
  if (!next || !w->first_write)
    return false;
  for (unsigned round = 0; round < 2; round++) {
    for (uint32_t i = 0; i < w->function->instructions; i++)
      if (w->function->instruction[i]->operands)
        list_written(w, &w->function->instruction[i]->operand[0], i, next);
    if (round)
      break;
    for (uint32_t i = 0; i < w->function->registers; i++)
      w->first_write[i + 1] += w->first_write[i];
    memcpy(next, w->first_write, registers * sizeof *next);
    size_t writes = (size_t)w->first_write[w->function->registers] + 1;
    w->write = bf_arena_alloc(w->plan->arena, writes * sizeof *w->write);
    if (!w->write)
      return false;
  }
  return true;
}

bool bf_rewrite_put_before(const bf_rewrite_plan *plan, bf_rewrite_code *code, uint32_t instruction,
                           const bf_text *lines) {
  const char *old = code->before[instruction] ? code->before[instruction] : "";
  size_t size = lines->size + strlen(old) + 1;
  char *all = bf_arena_alloc(plan->arena, size);
  if (all)
    snprintf(all, size, "%s%s", lines->data ? lines->data : "", old);
  code->before[instruction] = all;
  return all;
}

/* Writes the shadows of a node; *line is where that fails, or 0. */
static void put_node(weaver *w, const node *n, bf_rewrite_code *code, uint64_t *line) {
  for (uint32_t i = w->first_write[n->number]; i < w->first_write[n->number + 1] && !*line; i++) {
    const bf_ptx_instruction *instruction = w->function->instruction[w->write[i]];
    unsigned count = 0;
    bf_text text = {0};
    if (!put_instruction(w, n, instruction, &text, &count))
      *line = instruction->line;
    else if (code) {
      w->failed |= text.failed || !bf_rewrite_put_before(w->plan, code, w->write[i], &text);
      code->added_instructions += count;
    }
    w->failed |= text.failed;
    bf_text_free(&text);
  }
}

const bf_hash *bf_rewrite_padding_at(const bf_rewrite_plan *plan,
                                     const bf_rewrite_kernel_plan *kernel,
                                     const bf_rewrite_function *function, uint32_t instruction) {
  bf_rewrite_origin origin = function->origin[instruction];
  if (!bf_rewrite_is_hashed(function, instruction) || origin.first < 0 || origin.second >= 0)
    return NULL;
  for (unsigned i = 0; i < kernel->uses; i++) /* open arrays are one, which the first stands for */
    if (bf_rewrite_array_of(plan, kernel->use[i].variable) == (unsigned)origin.first)
      return kernel->use[i].padding;
  return NULL;
}

static bool is_same(const bf_hash *a, const bf_hash *b) {
  return a && b && a->row_words == b->row_words && a->pad_words == b->pad_words;
}

/* Lets an access go to the shadow of its address. */
static void move_access(weaver *w, const bf_rewrite_function *function, uint32_t index,
                        bf_rewrite_code *code) {
  const bf_ptx_instruction *was = w->function->instruction[index];
  unsigned at = function->touch[index].operand;
  bf_ptx_instruction *copy = bf_arena_alloc(w->plan->arena, sizeof *copy);
  bf_ptx_operand *operands =
      bf_arena_alloc(w->plan->arena, (size_t)was->operands * sizeof *operands);
  bf_ptx_operand *item = bf_arena_alloc(w->plan->arena, sizeof *item);
  bf_ptx_registers *registers = bf_arena_alloc(w->plan->arena, sizeof *registers);
  if (!copy || !operands || !item || !registers) {
    w->failed = true;
    return;
  }
  *copy = *was;
  memcpy(operands, was->operand, was->operands * sizeof *operands);
  copy->operand = operands;
  *item = operands[at].item[0];
  operands[at].item = item;
  operands[at].offset = lengthen_offset(w, item, operands[at].offset);
  if (item->kind == BF_PTX_SYMBOL)
    item->offset = lengthen(w, item->offset);
  const node *n = is_followed_register(item) ? node_of(w, item, 1) : NULL;
  if (function->touch[index].is_tile)
    bf_rewrite_lengthen_stride(w->function, copy, operands, (uint64_t)w->row, (uint64_t)w->unused);
  if (function->touch[index].kind == BF_TOUCH_GENERIC)
    w->failed |= !bf_rewrite_name_space(copy, w->plan->arena);
  if (n && n->has_rows) {
    *registers = (bf_ptx_registers){.name = w->prefix, .range = true};
    item->registers = registers;
    item->index = n->place;
  }
  code->instruction[index] = copy;
  code->hashed++;
  code->left--;
}

/* Whether an access has an address that can be followed: a register, or a name. */
static bool is_followed(const bf_rewrite_function *function, uint32_t index) {
  const bf_ptx_operand *address =
      &function->function->instruction[index]->operand[function->touch[index].operand];
  return address->kind == BF_PTX_ADDRESS && address->count == 1 &&
         (address->item[0].kind == BF_PTX_SYMBOL || is_followed_register(&address->item[0]));
}

/* Shadows for all accesses to arrays with one row and padding; code NULL: only looks. */
static bool weave(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                  const bf_rewrite_function *function, const bf_hash *padding, const char *prefix,
                  unsigned *places, bf_rewrite_code *code, uint64_t *line) {
  weaver w = {.plan = plan,
              .function = function->function,
              .row = (int64_t)(padding->row_words * BF_REWRITE_WORD_BYTES),
              .unused = (int64_t)(padding->pad_words * BF_REWRITE_WORD_BYTES),
              .prefix = prefix,
              .places = places};
  w.node = malloc(MOST_NODES * sizeof *w.node);
  bool done = w.node && list_writes(&w);
  for (uint32_t i = 0; done && i < w.function->instructions; i++)
    if (is_same(bf_rewrite_padding_at(plan, kernel, function, i), padding)) {
      const bf_ptx_operand *address =
          &w.function->instruction[i]->operand[function->touch[i].operand];
      if (!is_followed(function, i))
        *line = w.function->instruction[i]->line;
      else if (is_followed_register(&address->item[0]))
        node_of(&w, &address->item[0], 1);
    }
  if (done && !*line)
    look_at_all(&w);
  for (unsigned i = 0; done && i < w.nodes && !*line; i++)
    if (w.node[i].has_rows)
      put_node(&w, &w.node[i], code, line);
  for (uint32_t i = 0; done && code && !*line && i < w.function->instructions; i++)
    if (is_same(bf_rewrite_padding_at(plan, kernel, function, i), padding))
      move_access(&w, function, i, code);
  free(w.node);
  return done && !w.failed;
}

/* A name that no register of the function starts with, in *prefix. */
static void choose_prefix(const bf_ptx_statement *statement, char prefix[24], unsigned *number) {
  for (; statement; statement = statement->next) {
    if (statement->kind == BF_PTX_STATEMENT_SCOPE)
      choose_prefix(statement->scope, prefix, number);
    while (statement->kind == BF_PTX_STATEMENT_REGISTERS &&
           !strncmp(statement->registers->name, prefix, strlen(prefix)))
      snprintf(prefix, 24, "%%bf%u_place_row", ++*number);
  }
}

/* Shadows for all padded arrays of a kernel; code NULL: only looks. *line: what stands in the way,
 * or 0. */
static bool weave_all(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                      const bf_rewrite_function *function, bf_rewrite_code *code,
                      const char *prefix, unsigned *places, uint64_t *line) {
  for (unsigned i = 0; i < kernel->uses && !*line; i++) {
    const bf_hash *padding = kernel->use[i].padding;
    bool is_done = !padding;
    for (unsigned k = 0; k < i; k++)
      is_done |= is_same(kernel->use[k].padding, padding);
    if (!is_done && !weave(plan, kernel, function, padding, prefix, places, code, line))
      return false;
  }
  return true;
}

bool bf_rewrite_pad_code(const bf_rewrite_plan *plan, const bf_rewrite_function *function,
                         bf_rewrite_version *version) {
  char prefix[24] = "%bf_place_row";
  unsigned places = 0, number = 0;
  uint64_t line = 0;
  bool any = false;
  for (unsigned i = 0; i < version->kernel->uses; i++)
    any |= version->kernel->use[i].padding != NULL;
  if (!any || !function->function->is_entry)
    return true;
  choose_prefix(function->function->body, prefix, &number);
  const char *kept = bf_arena_copy(plan->arena, prefix);
  bool is_done = kept && (version->kernel->is_placed
                              ? bf_rewrite_place_code(plan, function, version, kept, &places)
                              : weave_all(plan, version->kernel, function, version->code, kept,
                                          &places, &line));
  if (!is_done)
    return false;
  const char *old = version->code->declarations ? version->code->declarations : "";
  size_t size = strlen(old) + 80;
  char *all = bf_arena_alloc(plan->arena, size);
  if (!all)
    return false;
  snprintf(all, size, ".reg .b32 \t%s<%u>;\n%s", prefix, places ? places : 1, old);
  version->code->declarations = all;
  return true;
}

/* ---- Obstacles ---- */

/* Whether other kernels that use the array can live with longer rows: it only grows for those that
 * want nothing of it, and the others want the same. */
static bool suits_others(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                         const bf_rewrite_use *use) {
  const bf_rewrite_numbers *users = &plan->users[use->variable];
  if (!plan->variable[use->variable]->bytes)
    return true; /* launches have memory of their own */
  for (unsigned n = 0; n < users->count; n++) {
    const bf_rewrite_kernel_plan *other = &plan->kernel[users->item[n]];
    const bf_rewrite_use *own = bf_rewrite_use_of(other, use->variable);
    if (other == kernel || (plan->is_beside && !other->wanted))
      continue;
    if (other->sees_layout || other->leaves_module ||
        (other->wanted && (bf_rewrite_pads(plan, other, use->variable) ||
                           (own && own->padding && !is_same(own->padding, use->padding)))))
      return false;
  }
  return !plan->is_named_outside[use->variable];
}

/* The same in dynamic shared memory, which launches must be given more of: all of it has the same
 * rows, as a kernel may name it several times. */
static bool check_dynamic(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel,
                          bf_rewrite_kernel *out, const bf_rewrite_use *use) {
  const bf_ptx_variable *variable = plan->variable[use->variable];
  if (!plan->resizes_dynamic)
    return bf_rewrite_add_obstacle(plan, kernel, out, variable->line,
                                   "rows of dynamic shared memory (%s), of which only who launches "
                                   "the kernel can give it more: bankfold run does",
                                   variable->name);
  for (unsigned i = 0; i < kernel->uses; i++)
    if (!plan->variable[kernel->use[i].variable]->bytes &&
        !is_same(kernel->use[i].padding, use->padding))
      return bf_rewrite_add_obstacle(plan, kernel, out, variable->line,
                                     "rows of dynamic shared memory (%s), which has another name "
                                     "and other rows too",
                                     variable->name);
  out->dynamic_row_bytes = use->padding->row_words * BF_REWRITE_WORD_BYTES;
  out->dynamic_unused_bytes = use->padding->pad_words * BF_REWRITE_WORD_BYTES;
  return true;
}

/* What stands in the way of longer rows in an array of a kernel. */
static bool check_use(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel, bf_rewrite_kernel *out,
                      const bf_rewrite_use *use) {
  const bf_ptx_variable *variable = plan->variable[use->variable];
  if (!variable->bytes && !check_dynamic(plan, kernel, out, use))
    return false;
  if (variable->linkage == BF_PTX_WEAK || variable->linkage == BF_PTX_COMMON ||
      variable->attribute || variable->vector)
    return bf_rewrite_add_obstacle(plan, kernel, out, variable->line,
                                   "rows of shared variable %s, which another module may replace",
                                   variable->name);
  const uint32_t *most = use->padding->most_block;
  if ((most[0] || most[1] || most[2]) && !plan->blocks_are_checked)
    return bf_rewrite_add_obstacle(plan, kernel, out, variable->line,
                                   "longer rows of %s for some blocks only (%s), and nobody looks "
                                   "at launches",
                                   variable->name, use->padding->text);
  for (unsigned k = 0; k < 3; k++)
    if (most[k] && (!out->most_block[k] || most[k] < out->most_block[k]))
      out->most_block[k] = most[k];
  if (!suits_others(plan, kernel, use))
    return bf_rewrite_add_obstacle(plan, kernel, out, variable->line,
                                   "rows of shared variable %s, which other code uses too",
                                   variable->name);
  return true;
}

/* The same for an access. */
static bool check_access(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel,
                         bf_rewrite_kernel *out, const bf_rewrite_function *own, uint32_t index) {
  const bf_hash *padding = bf_rewrite_padding_at(plan, kernel, own, index);
  uint64_t line = own->function->instruction[index]->line;
  if (!padding)
    return true;
  if (own->touch[index].is_copy)
    return bf_rewrite_add_obstacle(plan, kernel, out, line,
                                   "a bulk copy of an array with longer rows");
  if (!own->function->is_entry)
    return bf_rewrite_add_obstacle(plan, kernel, out, line,
                                   "an access to an array with longer rows in function %s",
                                   own->function->name);
  uint64_t unused = padding->pad_words * BF_REWRITE_WORD_BYTES;
  uint64_t row = padding->row_words * BF_REWRITE_WORD_BYTES;
  const char *why =
      own->touch[index].is_tile ? bf_rewrite_refuse_tile(own, index, row, unused) : NULL;
  if (why)
    return bf_rewrite_add_obstacle(plan, kernel, out, line, "%s", why);
  unsigned grain = bf_rewrite_padding_grain(&own->touch[index]);
  if (grain && unused % grain == 0)
    return true;
  return bf_rewrite_add_obstacle(plan, kernel, out, line,
                                 "an access of %u bytes, and a padding of %llu",
                                 own->touch[index].width_bytes, (unsigned long long)unused);
}

/* Why places cannot be computed at the accesses of a kernel, or NULL. */
static const char *refuse_places(const bf_rewrite_plan *plan,
                                 const bf_rewrite_kernel_plan *kernel) {
  const bf_rewrite_function *own = &plan->function[kernel->index];
  const char *why = NULL;
  for (uint32_t i = 0; i < own->function->instructions && !why; i++) {
    const bf_hash *padding = bf_rewrite_padding_at(plan, kernel, own, i);
    why = padding ? bf_rewrite_refuse_place(plan, kernel, own, i, padding) : NULL;
  }
  return why;
}

bool bf_rewrite_check_padding(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel,
                              bf_rewrite_kernel *out) {
  bool any = false;
  unsigned places = 0;
  uint64_t line = 0;
  for (unsigned i = 0; i < kernel->uses; i++) {
    any |= kernel->use[i].padding != NULL;
    if (kernel->use[i].padding && !check_use(plan, kernel, out, &kernel->use[i]))
      return false;
  }
  for (unsigned n = 0; any && n < kernel->reached.count; n++) {
    const bf_rewrite_function *own = &plan->function[kernel->reached.item[n]];
    for (uint32_t i = 0; i < own->function->instructions; i++)
      if (!check_access(plan, kernel, out, own, i))
        return false;
  }
  if (!any || kernel->refused)
    return true;
  const char *why = refuse_places(plan, kernel);
  out->is_placed = kernel->is_placed;
  out->can_be_placed = kernel->is_placed && !kernel->is_plain && !why;
  if (kernel->is_placed)
    return !why || bf_rewrite_add_obstacle(plan, kernel, out, 0, "longer rows, and %s", why);
  if (!weave_all(plan, kernel, &plan->function[kernel->index], NULL, "", &places, &line))
    return false;
  out->can_be_placed = !why && plan->places_rows;
  out->is_placed = kernel->is_placed = line && out->can_be_placed;
  return !line || kernel->is_placed ||
         bf_rewrite_add_obstacle(
             plan, kernel, out, line,
             "rows that cannot be made longer: the address is not a sum of subscripts "
             "times numbers");
}
