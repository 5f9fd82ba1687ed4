/* Longer rows whose places are computed at the access, for addresses of which nothing shows that
 * their subscripts stay in rows (pad.c moves others, where nothing is computed).
 *
 * With rows of 2^n bytes, byte x of an array lies at x + PAD * (x >> n). For an access to
 * [base + offset] with offset = 2^n * rows + rest, 0 <= rest < 2^n,
 *
 *   place = base + PAD * ((base + rest - array) >> n)
 *
 * and the access goes to [place + offset + PAD * rows]: whole rows stay in the instruction, and one
 * place serves all offsets with the same rest. The shift has a sign, as the base may lie before the
 * array. Where the lowest bits of base - array are known and adding the rest does not carry out of
 * them, the place of rest 0 serves as well, unless the verifier does not know that (is_plain).
 *
 * Accesses are as aligned as they are wide, and so must the array be; then they do not leave their
 * rows. */
#include "rewrite/inner.h"

#include <stdlib.h>
#include <string.h>

enum {
  MOST_HELD = 64,
  MOST_KEPT = 8, /* places with a rest that are kept beyond their block */
};

/* A place that is in a register. */
typedef struct held {
  const bf_ptx_operand *base;
  const bf_hash *padding;
  const bf_ptx_variable *variable;
  int64_t rest;
  unsigned place;
  uint32_t at; /* computed before this instruction */
  bool is_steady;
} held;

typedef struct placer {
  const bf_rewrite_plan *plan;
  const bf_rewrite_kernel_plan *kernel;
  const bf_rewrite_function *function;
  bf_rewrite_code *code;
  const bf_ptx_flow *flow;
  bf_rewrite_hoist *hoist;
  const bf_rewrite_rest *rests; /* of addresses from where their arrays start */
  const char *prefix;
  unsigned places, kept, helds, next_held;
  held held[MOST_HELD];
  bool failed;
} placer;

/* An access to an array with longer rows. */
typedef struct moving {
  const bf_hash *padding;
  const bf_ptx_variable *variable;
  unsigned row_bits;
  int64_t unused;
  const bf_ptx_operand *base;
  int64_t rest, immediate; /* of its place, and what is added to that */
} moving;

/* ---- What can be placed ---- */

const char *bf_rewrite_refuse_place(const bf_rewrite_plan *plan,
                                    const bf_rewrite_kernel_plan *kernel,
                                    const bf_rewrite_function *function, uint32_t index,
                                    const bf_hash *padding) {
  bf_touch touch = function->touch[index];
  const bf_ptx_operand *address = &function->function->instruction[index]->operand[touch.operand];
  const bf_ptx_variable *variable =
      bf_rewrite_named_array(plan, kernel, (unsigned)function->origin[index].first);
  uint64_t row = padding->row_words * BF_REWRITE_WORD_BYTES;
  unsigned aligned =
      variable->alignment_bytes ? variable->alignment_bytes : bf_ptx_type_bytes(variable->type);
  if (row & (row - 1))
    return "rows that are no power of two";
  if (touch.kind != BF_TOUCH_SHARED || touch.is_tile || touch.is_copy ||
      address->kind != BF_PTX_ADDRESS || address->count != 1)
    return "an access that is not to one shared address";
  if (address->item[0].kind == BF_PTX_REGISTER
          ? address->item[0].registers->vector || address->item[0].component
          : address->item[0].kind != BF_PTX_SYMBOL)
    return "an address that is no register";
  if (!touch.width_bytes || (touch.width_bytes & (touch.width_bytes - 1)) ||
      touch.width_bytes > row || touch.width_bytes > aligned)
    return "an access that is wider than its array is aligned";
  return NULL;
}

/* ---- Offsets ---- */

/* The largest number of rows that are not more than some bytes. */
static int64_t rows_in(int64_t bytes, unsigned row_bits) {
  int64_t row = (int64_t)1 << row_bits;
  return bytes / row - (bytes % row < 0);
}

/* Takes the offset of an access apart. Rests that do not carry out of the lowest bits of the base,
 * where these are known, belong to the place without one. */
static void take_apart(const placer *p, int64_t offset, moving *m) {
  int64_t row = (int64_t)1 << m->row_bits, rows = rows_in(offset, m->row_bits);
  bf_rewrite_rest known = {0};
  if (!p->kernel->is_plain)
    known = p->rests[m->base->registers->first + m->base->index];
  unsigned bits = known.bits < m->row_bits ? known.bits : m->row_bits;
  int64_t whole = (int64_t)1 << bits, low = (int64_t)known.value & (whole - 1);
  m->rest = offset - rows * row;
  if (low + m->rest < whole)
    m->rest = 0;
  else if (low + m->rest - row >= 0) {
    rows++;
    m->rest = 0;
  }
  m->immediate = offset + rows * m->unused;
}

/* ---- Places ---- */

static bool same_register(const bf_ptx_operand *a, const bf_ptx_operand *b) {
  return a->registers->first + a->index == b->registers->first + b->index;
}

/* The place that is held for an access, or NULL. */
static const held *find_held(const placer *p, const moving *m, uint32_t index) {
  for (unsigned i = 0; i < p->helds; i++) {
    const held *at = &p->held[i];
    if (at->padding == m->padding && at->variable == m->variable && at->rest == m->rest &&
        same_register(at->base, m->base) &&
        (at->is_steady ? bf_rewrite_comes_first(p->hoist, at->at, index)
                       : p->flow->block_of[at->at] == p->flow->block_of[index]))
      return at;
  }
  return NULL;
}

/* Where the place of an access is computed; *is_kept: it is for other blocks too. */
static uint32_t choose_where(placer *p, const moving *m, uint32_t index, bool *is_kept) {
  *is_kept =
      bf_rewrite_is_steady(p->hoist, m->base, index) && (m->rest == 0 || p->kept++ < MOST_KEPT);
  if (!*is_kept)
    return index;
  uint32_t at = bf_rewrite_hoist_to(p->hoist, m->base, index, m->rest == 0);
  return m->variable->line < p->function->function->instruction[at]->line ? at : index;
}

static void put_name(bf_text *text, const bf_ptx_operand *base) {
  bf_text_addf(text, "%s", base->registers->name);
  if (base->registers->range)
    bf_text_addf(text, "%u", base->index);
}

/* Writes the place of an access; of a base of 64 bits, the lower half is the shared address. */
static void put_place(const placer *p, const moving *m, unsigned place, bf_text *text,
                      unsigned *count) {
  bool is_wide = bf_ptx_type_bytes(m->base->registers->type) == 8;
  bf_text base = {0};
  if (is_wide) {
    bf_text_addf(&base, "%s%u", p->prefix, place + 1);
    bf_text_addf(text, "cvt.u32.u64 \t%s%u, ", p->prefix, place + 1);
    put_name(text, m->base);
    bf_text_addf(text, ";\n");
  } else
    put_name(&base, m->base);
  const char *from = base.data ? base.data : "";
  bf_text_addf(text, "mov.u32 \t%s%u, %s;\n", p->prefix, place, m->variable->name);
  bf_text_addf(text, "sub.s32 \t%s%u, %s, %s%u;\n", p->prefix, place, from, p->prefix, place);
  if (m->rest)
    bf_text_addf(text, "add.s32 \t%s%u, %s%u, %lld;\n", p->prefix, place, p->prefix, place,
                 (long long)m->rest);
  bf_text_addf(text, "shr.s32 \t%s%u, %s%u, %u;\n", p->prefix, place, p->prefix, place,
               m->row_bits);
  bf_text_addf(text, "mad.lo.s32 \t%s%u, %s%u, %lld, %s;\n", p->prefix, place, p->prefix, place,
               (long long)m->unused, from);
  *count = 4 + (m->rest != 0) + is_wide;
  text->failed |= base.failed;
  bf_text_free(&base);
}

/* The number of the register that holds the place of an access. */
static unsigned place_of(placer *p, const moving *m, uint32_t index) {
  const held *found = find_held(p, m, index);
  if (found)
    return found->place;
  bool is_kept;
  uint32_t at = choose_where(p, m, index, &is_kept);
  unsigned place = p->places, count = 0;
  bf_text text = {0};
  p->places += bf_ptx_type_bytes(m->base->registers->type) == 8 ? 2 : 1;
  put_place(p, m, place, &text, &count);
  p->failed |= text.failed || !bf_rewrite_put_before(p->plan, p->code, at, &text);
  p->code->added_instructions += count;
  bf_text_free(&text);
  p->held[p->helds < MOST_HELD ? p->helds++ : p->next_held++ % MOST_HELD] =
      (held){.base = m->base,
             .padding = m->padding,
             .variable = m->variable,
             .rest = m->rest,
             .place = place,
             .at = at,
             .is_steady = is_kept && bf_rewrite_is_steady(p->hoist, m->base, at)};
  return place;
}

/* ---- Accesses ---- */

/* What an instruction accesses; false: no array with longer rows. */
static bool read_access(const placer *p, uint32_t index, moving *m) {
  const bf_hash *padding = bf_rewrite_padding_at(p->plan, p->kernel, p->function, index);
  if (!padding)
    return false;
  const bf_ptx_operand *address =
      &p->function->function->instruction[index]->operand[p->function->touch[index].operand];
  uint64_t row = padding->row_words * BF_REWRITE_WORD_BYTES;
  *m = (moving){.padding = padding,
                .variable = bf_rewrite_named_array(p->plan, p->kernel,
                                                   (unsigned)p->function->origin[index].first),
                .row_bits = (unsigned)__builtin_ctzll(row),
                .unused = (int64_t)(padding->pad_words * BF_REWRITE_WORD_BYTES),
                .base = &address->item[0]};
  if (m->base->kind == BF_PTX_REGISTER)
    take_apart(p, address->offset, m);
  return true;
}

/* Lets an access go to its place. */
static void move_access(placer *p, uint32_t index, const moving *m) {
  const bf_ptx_instruction *was = p->function->function->instruction[index];
  unsigned at = p->function->touch[index].operand;
  bf_arena *arena = p->plan->arena;
  bf_ptx_instruction *copy = bf_arena_alloc(arena, sizeof *copy);
  bf_ptx_operand *operands = bf_arena_alloc(arena, (size_t)was->operands * sizeof *operands);
  bf_ptx_operand *item = bf_arena_alloc(arena, sizeof *item);
  bf_ptx_registers *registers = bf_arena_alloc(arena, sizeof *registers);
  if (!copy || !operands || !item || !registers) {
    p->failed = true;
    return;
  }
  *copy = *was;
  memcpy(operands, was->operand, was->operands * sizeof *operands);
  copy->operand = operands;
  *item = *m->base;
  operands[at].item = item;
  if (item->kind == BF_PTX_SYMBOL) {
    operands[at].offset += rows_in(operands[at].offset + item->offset, m->row_bits) * m->unused;
  } else {
    *registers = (bf_ptx_registers){.name = p->prefix, .range = true};
    item->registers = registers;
    item->index = place_of(p, m, index);
    operands[at].offset = m->immediate;
    operands[at].has_offset = false;
  }
  p->code->instruction[index] = copy;
  p->code->hashed++;
  p->code->left--;
}

/* Whether an operand that is written holds the register. */
static bool writes(const bf_ptx_operand *operand, const bf_ptx_operand *base) {
  bool found = false;
  if (operand->kind == BF_PTX_REGISTER)
    return same_register(operand, base);
  if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
      operand->kind == BF_PTX_ARGUMENTS)
    for (uint32_t i = 0; i < operand->count; i++)
      found |= writes(&operand->item[i], base);
  return found;
}

/* Forgets what depends on a register that the instruction writes. */
static void forget_written(placer *p, const bf_ptx_instruction *instruction) {
  unsigned kept = 0;
  for (unsigned i = 0; i < p->helds; i++)
    if (p->held[i].is_steady || !instruction->operands ||
        !writes(&instruction->operand[0], p->held[i].base))
      p->held[kept++] = p->held[i];
  p->helds = kept;
}

/* Moves all accesses: first is noted where places are needed, which decides where they are
 * computed. */
static void place_all(placer *p) {
  const bf_ptx_function *function = p->function->function;
  moving m;
  for (uint32_t i = 0; i < function->instructions && !p->failed; i++)
    if (read_access(p, i, &m) && m.base->kind == BF_PTX_REGISTER && !m.rest)
      p->failed |= !bf_rewrite_hoist_note(p->hoist, m.base, i);
  bf_rewrite_hoist_settle(p->hoist);
  for (uint32_t i = 0; i < function->instructions && !p->failed; i++) {
    if (read_access(p, i, &m))
      move_access(p, i, &m);
    forget_written(p, function->instruction[i]);
  }
}

bool bf_rewrite_place_code(const bf_rewrite_plan *plan, const bf_rewrite_function *function,
                           bf_rewrite_version *version, const char *prefix, unsigned *places) {
  placer *p = malloc(sizeof *p);
  bf_ptx_flow *flow = NULL;
  bf_diagnostic ignored = {0};
  if (!p || bf_ptx_flow_create(function->function, &flow, &ignored)) {
    free(p);
    return false;
  }
  *p = (placer){.plan = plan,
                .kernel = version->kernel,
                .function = function,
                .code = version->code,
                .flow = flow,
                .prefix = prefix,
                .hoist = bf_rewrite_hoist_make(function->function, flow, plan->arena)};
  bf_rewrite_kernel_plan relative = *version->kernel;
  relative.starts_at_zero = true;
  const uint64_t *zeros = bf_rewrite_zeros(plan, &relative, function);
  p->rests = zeros ? bf_rewrite_rests(plan, &relative, function, zeros) : NULL;
  bool is_done = p->hoist && p->rests;
  if (is_done)
    place_all(p);
  is_done &= !p->failed;
  *places = p->places;
  bf_ptx_flow_free(flow);
  free(p);
  return is_done;
}
