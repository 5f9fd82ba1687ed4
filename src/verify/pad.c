/* Arrays whose rows are longer: after every row of ROW bytes, PAD bytes stay unused. Byte x of the
 * array lies at x + PAD * (x / ROW).
 *
 * Addresses are compared as sums. Where the original goes to x and the rewritten form to y, with
 * y - x = PAD * i for a sum i, and 0 <= x - ROW * i <= ROW - width, i is the number of the row: the
 * access stays in it, and y is where x lies now. Programs do not leave their arrays, so that x is
 * what the sum is modulo 2^32, as long as i is small. */
#include "verify/pad.h"

#include <string.h>

enum { MOST_WIDTH_BYTES = 16, MOST_THREADS = 1024, MOST_Z = 64 };

/* ---- Hashes and variables ---- */

static uint64_t row_bytes(const bf_hash *hash) { return hash->row_words << BF_VERIFY_WORD_BIT; }
static uint64_t pad_bytes(const bf_hash *hash) { return hash->pad_words << BF_VERIFY_WORD_BIT; }

const char *bf_verify_pad_hash(const bf_hash *hash, const bf_ptx_variable *variable) {
  if (hash->geometry.bank_bits != BF_VERIFY_BANK_BITS ||
      hash->geometry.word_bytes != 1u << BF_VERIFY_WORD_BIT)
    return "the padding is not for 32 banks of 4 bytes";
  if (!hash->row_words || !hash->pad_words || hash->row_words > BF_PAD_FAR ||
      hash->pad_words > BF_PAD_FAR)
    return "rows or padding of no or too many words";
  /* Dynamic shared memory has no size here: whoever launches the kernel gives it room. */
  if ((variable->linkage == BF_PTX_EXTERN && variable->bytes) || variable->bytes > BF_PAD_FAR)
    return "longer rows in memory whose size is not known here";
  return NULL;
}

/* hash NULL: any. */
const char *bf_verify_pad_variable(const bf_ptx_variable *original,
                                   const bf_ptx_variable *rewritten, const bf_hash *hash) {
  if (hash && !original->bytes)
    return bf_verify_variable(original, rewritten, false);
  if (original->space != BF_PTX_SPACE_SHARED || rewritten->space != BF_PTX_SPACE_SHARED ||
      !bf_verify_same_text(original->name, rewritten->name) ||
      original->linkage != rewritten->linkage || original->initialiser || rewritten->initialiser ||
      original->attribute || rewritten->attribute || original->type != rewritten->type ||
      original->vector != rewritten->vector)
    return "a variable differs from the original";
  if (original->linkage == BF_PTX_WEAK || original->linkage == BF_PTX_COMMON ||
      original->linkage == BF_PTX_EXTERN)
    return "a shared variable that another module may replace";
  if (!original->bytes || rewritten->bytes < original->bytes)
    return "a shared variable is smaller than in the original";
  if ((rewritten->bytes - original->bytes) % MOST_WIDTH_BYTES)
    return "a shared variable grows by another size than a multiple of the widest access";
  if (bf_verify_variable_zero_bits(rewritten) < bf_verify_variable_zero_bits(original))
    return "a shared variable is less aligned than in the original";
  if (hash && (rewritten->bytes - original->bytes) / pad_bytes(hash) <
                  (original->bytes - 1) / row_bytes(hash))
    return "a shared variable has no room for longer rows";
  return NULL;
}

/* ---- Addresses ---- */

/* The sum of an address operand at an instruction; false where it cannot be followed. */
static bool address_sum(bf_pad *pad, const bf_ptx_operand *address, uint32_t instruction,
                        bf_pad_sum *sum) {
  const bf_ptx_operand *base = &address->item[0];
  bf_pad_sum offset = bf_pad_number(address->offset);
  bool is_known = base->kind == BF_PTX_SYMBOL ||
                  (base->kind == BF_PTX_REGISTER && !base->registers->vector && !base->component &&
                   (bf_ptx_type_bytes(base->registers->type) == 4 ||
                    bf_ptx_type_bytes(base->registers->type) == 8));
  if (address->count != 1 || !is_known || address->offset < -BF_PAD_FAR ||
      address->offset > BF_PAD_FAR)
    return false;
  *sum = bf_pad_expand(pad, bf_pad_operand(pad, base, instruction));
  return bf_pad_add(sum, &offset, 1);
}

/* The same for an address of the original: registers and variables are those that were compared
 * with them. */
static bool original_sum(bf_pad *pad, const bf_ptx_operand *address, uint32_t instruction,
                         bf_pad_sum *sum) {
  bf_ptx_operand twin = address->item[0], moved = *address;
  bf_ptx_symbol symbol;
  if (address->count != 1)
    return false;
  if (twin.kind == BF_PTX_REGISTER) {
    twin.registers = pad->body->twin[twin.registers->first];
    if (!twin.registers)
      return false;
  } else if (twin.kind == BF_PTX_SYMBOL && twin.symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
             !twin.generic && !twin.mask) {
    symbol = *twin.symbol;
    symbol.variable = bf_verify_twin_of(pad->body, twin.symbol->variable);
    twin.symbol = &symbol;
    if (!symbol.variable || symbol.variable->space != BF_PTX_SPACE_SHARED)
      return false;
  } else
    return false;
  moved.item = &twin;
  return address_sum(pad, &moved, instruction, sum);
}

/* Takes the address of the variable from a sum; false where it is not in it, or another is. */
static bool take_symbol(const bf_pad *pad, const bf_ptx_variable *variable, bf_pad_sum *sum) {
  uint32_t found = UINT32_MAX;
  for (uint32_t i = 0; i < sum->terms; i++) {
    const bf_pad_atom *atom = pad->atom[sum->term[i].atom];
    if (atom->kind != BF_PAD_SYMBOL)
      continue;
    if (atom->variable != variable || sum->term[i].factor != 1)
      return false;
    found = sum->term[i].atom;
  }
  if (found == UINT32_MAX)
    return false;
  *sum = bf_pad_without(sum, found);
  return true;
}

/* Takes the start of shared memory among generic addresses from a sum that is one; false where it
 * is not in it. A generic address in an array is that start and the shared one, all 64 bits of it:
 * so the lower half of the sum is that of the shared address, which has no more. */
static bool take_window(const bf_pad *pad, bf_pad_sum *sum) {
  for (uint32_t i = 0; i < sum->terms; i++)
    if (pad->atom[sum->term[i].atom]->kind == BF_PAD_WINDOW && sum->term[i].factor == 1) {
      *sum = bf_pad_without(sum, sum->term[i].atom);
      return true;
    }
  return false;
}

/* ---- Proofs ---- */

/* An access to a padded array: where it went, and where it goes. */
typedef struct moving {
  const bf_hash *hash;
  const bf_ptx_variable *variable;
  int64_t width;
  int64_t step; /* that it is moved by whole ones of */
  bool is_generic;
  bf_pad_sum was, is;
} moving;

/* A power of two that an atom is always a multiple of: by its mask, by how a variable is aligned,
 * or by the register that holds it. */
static int64_t step_of(const bf_pad *pad, const bf_pad_atom *atom) {
  if (atom->kind == BF_PAD_MASKED)
    return (int64_t)(atom->number & (0 - atom->number));
  if (atom->kind == BF_PAD_SYMBOL)
    return (int64_t)1 << bf_verify_variable_zero_bits(atom->variable);
  if (atom->kind != BF_PAD_MERGE && (atom->kind != BF_PAD_OPAQUE || atom->operand))
    return 1;
  uint32_t varying = ~(uint32_t)pad->body->facts.zeros[atom->other];
  return varying ? (int64_t)(varying & (0 - varying)) : (int64_t)1 << 31;
}

/* Whether a sum is a multiple of a number by its factors and by what atoms are multiples of.
 * Registers and variables count for powers of two only, of which sums stay multiples where they
 * wrap around. */
static bool is_multiple(const bf_pad *pad, const bf_pad_sum *sum, int64_t of) {
  for (uint32_t i = 0; i < sum->terms; i++) {
    const bf_pad_atom *atom = pad->atom[sum->term[i].atom];
    bool counts = atom->kind == BF_PAD_MASKED || !(of & (of - 1));
    if (sum->term[i].factor * (counts ? step_of(pad, atom) : 1) % of)
      return false;
  }
  return sum->constant % of == 0;
}

/* x - ROW * i, where *far is PAD * i; false where that is no sum. */
static bool column_of(int64_t row, int64_t unused, const bf_pad_sum *far, bf_pad_sum *x) {
  bf_pad_sum number = *far;
  if (row % unused == 0)
    return bf_pad_add(x, far, -(row / unused));
  number.constant /= unused;
  for (uint32_t i = 0; i < number.terms; i++) {
    if (number.term[i].factor % unused)
      return false;
    number.term[i].factor /= unused;
  }
  return bf_pad_add(x, &number, -row);
}

/* Whether the access goes to its place in the longer row, by what is known in a block. */
static bool is_proven(bf_pad *pad, const moving *access, uint32_t block) {
  int64_t row = (int64_t)row_bytes(access->hash), unused = (int64_t)pad_bytes(access->hash);
  bf_pad_sum far = access->is, column = access->was;
  if ((access->is_generic && !take_window(pad, &column)) ||
      !take_symbol(pad, access->variable, &far) || !take_symbol(pad, access->variable, &column) ||
      !bf_pad_add(&far, &column, -1) || !is_multiple(pad, &far, unused) ||
      !is_multiple(pad, &far, access->step) || !column_of(row, unused, &far, &column))
    return false;
  bf_pad_range moved = bf_pad_range_in(pad, &far, block);
  bf_pad_range columns = bf_pad_range_in(pad, &column, block);
  int64_t most = INT32_MAX / (row + unused) - 1;
  return columns.low >= 0 && columns.high <= row - access->width && moved.low >= -most * unused &&
         moved.high <= most * unused;
}

/* Whether adding rest to x cannot carry out of its lowest bits, or borrow, as these are known: x is
 * a sum of multiples of a power of two and a number. */
static bool stays_below(const bf_pad *pad, const bf_pad_sum *x, int64_t rest, int64_t row) {
  bf_pad_sum varying = *x;
  int64_t whole = row;
  varying.constant = 0;
  while (whole > 1 && !is_multiple(pad, &varying, whole))
    whole /= 2;
  int64_t low = x->constant & (whole - 1);
  return low + rest >= 0 && low + rest < whole;
}

/* The same where the place is computed at the access: with rows of 2^n bytes, for an address x of
 * the array, x + PAD * ((t >> n) + k), where x - t = 2^n * k + rest, and t + rest lies in the row
 * that t lies in. As programs do not leave their arrays, x is small, and so is t, which is near it:
 * as a number with a sign it is t itself. The address, the array and the row are all multiples of
 * the width, so that the access stays in the row. Sums are with the start of the array in them: t
 * is the difference of what was shifted. */
static bool is_placed(bf_pad *pad, const moving *access, const bf_ptx_variable *original) {
  int64_t row = (int64_t)row_bytes(access->hash), unused = (int64_t)pad_bytes(access->hash);
  bf_pad_sum far = access->is;
  if (access->is_generic || access->step > 1 || (row & (row - 1)) || access->width > row ||
      access->width > (int64_t)1 << bf_verify_variable_zero_bits(original) ||
      access->width > (int64_t)1 << bf_verify_variable_zero_bits(access->variable) ||
      !bf_pad_add(&far, &access->was, -1) || far.terms != 1 || far.term[0].factor != unused ||
      far.constant % unused)
    return false;
  const bf_pad_atom *atom = pad->atom[far.term[0].atom];
  bool is_shift = atom->kind == BF_PAD_FLOORED || atom->kind == BF_PAD_SHIFTED;
  if (!is_shift || (int64_t)1 << atom->number != row || far.constant < -BF_PAD_FAR ||
      far.constant > BF_PAD_FAR)
    return false;
  bf_pad_atom key = {.kind = BF_PAD_SYMBOL, .variable = access->variable};
  bf_pad_sum apart = access->was, start = bf_pad_one(bf_pad_atom_of(pad, &key));
  if (!bf_pad_add(&apart, &start, -1) || !bf_pad_add(&apart, atom->inner, -1) || apart.terms ||
      apart.constant < -BF_PAD_FAR || apart.constant > BF_PAD_FAR)
    return false;
  int64_t rest = apart.constant - row * (far.constant / unused);
  return rest == 0 || stays_below(pad, atom->inner, rest, row);
}

/* A block in which paths meet, no loop, that decides about a sum; UINT32_MAX: none. */
static uint32_t find_meeting(const bf_pad *pad, const bf_pad_sum *sum) {
  for (uint32_t i = 0; i < sum->terms; i++) {
    const bf_pad_atom *atom = pad->atom[sum->term[i].atom];
    uint32_t block = atom->number;
    bool is_loop = atom->kind != BF_PAD_MERGE || !block;
    for (uint32_t k = is_loop ? 0 : pad->tree.first_predecessor[block];
         !is_loop && k < pad->tree.first_predecessor[block + 1]; k++)
      is_loop = bf_ptx_dominates(&pad->tree, block, pad->tree.predecessor[k]);
    if (!is_loop)
      return block;
  }
  return UINT32_MAX;
}

/* A sum on the path from one block to another. */
static bool on_path(bf_pad *pad, bf_pad_sum *sum, uint32_t from, uint32_t to) {
  bf_pad_sum result = *sum;
  for (uint32_t i = 0; i < sum->terms; i++) {
    const bf_pad_atom *atom = pad->atom[sum->term[i].atom];
    if (atom->kind != BF_PAD_MERGE || atom->number != to)
      continue;
    bf_pad_sum there = bf_pad_expand(pad, bf_pad_at_end(pad, atom->other, from));
    result = bf_pad_without(&result, sum->term[i].atom);
    if (!bf_pad_add(&result, &there, sum->term[i].factor))
      return false;
  }
  *sum = bf_pad_expand(pad, result);
  return true;
}

/* Proves an access, path by path where need be. */
static bool prove(bf_pad *pad, const moving *access, uint32_t block, unsigned depth) {
  enum { MOST_DEPTH = 4 };
  if (is_proven(pad, access, block))
    return true;
  uint32_t meeting = find_meeting(pad, &access->was);
  if (meeting == UINT32_MAX)
    meeting = find_meeting(pad, &access->is);
  if (meeting == UINT32_MAX || depth == MOST_DEPTH)
    return false;
  uint32_t at = pad->tree.first_predecessor[meeting];
  for (; at < pad->tree.first_predecessor[meeting + 1]; at++) {
    uint32_t from = pad->tree.predecessor[at];
    moving split = *access;
    if (!on_path(pad, &split.was, from, meeting) || !on_path(pad, &split.is, from, meeting) ||
        !prove(pad, &split, from, depth + 1))
      return false;
  }
  return true;
}

/* What is wrong with the width of an access, or with the stride of a tile; or NULL. */
static const char *judge_width(bf_pad *pad, uint32_t number, moving *access) {
  enum { TILE_STEP = 32 }; /* bytes: tiles start at whole ones (CUDA C++ Programming Guide) */
  if (bf_verify_is_tile(pad->body->partner[number])) {
    access->step = TILE_STEP;
    return access->width
               ? bf_verify_tile_judge(pad, number, row_bytes(access->hash), pad_bytes(access->hash))
               : "a tile of wmma in a form that is not known";
  }
  if (access->width <= 0 || access->width & (access->width - 1) || access->width > MOST_WIDTH_BYTES)
    return "an access whose width is not known";
  if (pad_bytes(access->hash) % (uint64_t)access->width)
    return "an access wider than the padding";
  return NULL;
}

/* Why the access of an instruction to a padded array is wrong, or NULL. */
static const char *judge(bf_pad *pad, uint32_t number, const bf_verify_array *array) {
  const bf_ptx_instruction *was = pad->body->partner[number];
  const bf_ptx_instruction *is = pad->function->instruction[number];
  const bf_ptx_operand *old = bf_verify_shared_address(was), *new = bf_verify_shared_address(is);
  const bf_ptx_variable *twin = bf_verify_twin_of(pad->body, array->variable);
  moving access = {.hash = array->hash,
                   .variable = twin,
                   .width = (int64_t)bf_verify_access_bytes(was),
                   .step = 1,
                   .is_generic = was->space == BF_PTX_SPACE_NONE && !bf_verify_is_implied(was)};
  uint32_t block = pad->flow->block_of[number];
  if (!pad->flow->block[block].is_reachable)
    return "an access to an array with longer rows that no path reaches";
  const char *why = judge_width(pad, number, &access);
  if (why)
    return why;
  if (is->space == BF_PTX_SPACE_NONE && new->item[0].kind != BF_PTX_SYMBOL)
    return "a shared address in an access without .shared";
  if (new->unified != old->unified || !original_sum(pad, old, number, &access.was) ||
      !address_sum(pad, new, number, &access.is) || !twin)
    return "an address of an array with longer rows that cannot be followed";
  if (!prove(pad, &access, block, 0) && !is_placed(pad, &access, array->variable))
    return "an address that is not proven to be the one in the longer row";
  return NULL;
}

/* ---- Functions ---- */

/* The array with longer rows, or with any set any array, that an instruction of the original
 * accesses; NULL: none. */
static const bf_verify_array *accessed(const bf_pad *pad, uint32_t number, bool any) {
  const bf_ptx_instruction *was = pad->body->partner[number];
  const bf_ptx_operand *address = was ? bf_verify_shared_address(was) : NULL;
  bool is_tile = was && bf_verify_is_tile(was) && pad->body->scheme->makes_generic && !any;
  if (!address || bf_verify_uses_barrier(was) ||
      (was->space == BF_PTX_SPACE_NONE && !bf_verify_is_implied(was) && !is_tile))
    return NULL;
  uint32_t home = bf_verify_home_of(pad->body->scheme, &pad->body->homes, address);
  if (home == BF_VERIFY_NO_HOME || home == BF_VERIFY_MANY_HOMES)
    return NULL;
  const bf_verify_array *array = &pad->body->scheme->array[home];
  return any || bf_verify_is_padding(array->hash) ? array : NULL;
}

/* Whether the address of every thread that executes an instruction is accessed: not all threads of
 * a warp give addresses of matrices. */
static bool takes_all_addresses(const bf_ptx_instruction *instruction) {
  return instruction->opcode != BF_PTX_OP_LDMATRIX && instruction->opcode != BF_PTX_OP_STMATRIX;
}

/* Notes that accesses stay inside their arrays. */
static void note_accesses(bf_pad *pad) {
  for (uint32_t i = 0; i < pad->function->instructions && !pad->no_memory; i++) {
    const bf_verify_array *array = accessed(pad, i, true);
    uint32_t block = pad->flow->block_of[i];
    bf_pad_sum sum;
    if (!array || pad->function->instruction[i]->guard ||
        !takes_all_addresses(pad->function->instruction[i]) ||
        !pad->flow->block[block].is_reachable || !array->variable->bytes ||
        array->variable->linkage == BF_PTX_EXTERN)
      continue;
    const bf_ptx_instruction *was = pad->body->partner[i];
    uint64_t width = bf_verify_access_bytes(was);
    const bf_ptx_variable *twin = bf_verify_twin_of(pad->body, array->variable);
    if (twin && width && width <= array->variable->bytes &&
        original_sum(pad, bf_verify_shared_address(was), i, &sum) && take_symbol(pad, twin, &sum))
      bf_pad_note_access(pad, block, &sum, (int64_t)(array->variable->bytes - width));
  }
}

/* Lowers limits to those of blocks for which the padding of an array is asked for: whoever launches
 * the kernel holds to them. */
static void take_blocks(const bf_hash *hash, uint64_t axis[3]) {
  for (unsigned k = 0; k < 3 && bf_verify_is_padding(hash); k++)
    if (hash->most_block[k] && hash->most_block[k] < axis[k])
      axis[k] = hash->most_block[k];
}

/* Limits of CUDA, of the kernel and of its paddings on blocks of threads. */
static void find_threads(bf_pad *pad) {
  uint64_t all = MOST_THREADS, axis[3] = {MOST_THREADS, MOST_THREADS, MOST_Z};
  for (unsigned i = 0; i < pad->body->scheme->arrays; i++)
    take_blocks(pad->body->scheme->array[i].hash, axis);
  for (unsigned i = 0; i < pad->function->directives.count; i++) {
    const bf_ptx_directive *directive = &pad->function->directives.item[i];
    bool is_exact = bf_verify_same_text(directive->name, "reqntid");
    uint64_t product = 1;
    if (!is_exact && !bf_verify_same_text(directive->name, "maxntid"))
      continue;
    for (unsigned k = 0; k < directive->numbers && product && product <= MOST_THREADS; k++)
      product *= directive->number[k];
    all = product && product < all ? product : all;
    for (unsigned k = 0; is_exact && k < 3; k++) {
      uint64_t own = k < directive->numbers ? directive->number[k] : 1;
      axis[k] = own && own < axis[k] ? own : axis[k];
    }
  }
  for (unsigned k = 0; k < 3; k++)
    pad->threads[k] = axis[k] < all ? axis[k] : all;
}

/* Ranges that were found before it was known what accesses there are are found anew. */
static void start_facts(bf_pad *pad) {
  note_accesses(pad);
  for (uint32_t i = 0; i < pad->atoms; i++)
    if (pad->atom[i]->kind == BF_PAD_MASKED || pad->atom[i]->kind == BF_PAD_SHIFTED ||
        pad->atom[i]->kind == BF_PAD_TURN || pad->atom[i]->kind == BF_PAD_MERGE)
      pad->atom[i]->ranged = BF_PAD_NEW;
  pad->has_facts = true;
  for (uint32_t i = 0; i < pad->tree.ordered && !pad->no_memory; i++)
    bf_pad_limits(pad, pad->tree.order[i]);
}

/* Finds out what the function computes. */
static bool prepare(bf_pad *pad) {
  bf_pad_atom nothing = {.kind = BF_PAD_OPAQUE,
                         .number = UINT32_MAX,
                         .other = UINT32_MAX,
                         .ranged = BF_PAD_DONE,
                         .range = {INT32_MIN, INT32_MAX}};
  pad->sums.arena = pad->atoms_by_key.arena = pad->arena;
  pad->block = bf_arena_alloc(pad->arena, ((size_t)pad->flow->blocks + 1) * sizeof *pad->block);
  if (!pad->block || !bf_ptx_tree_fill(pad->flow, pad->arena, &pad->tree))
    return false;
  find_threads(pad);
  bf_pad_atom_of(pad, &nothing);
  if (pad->no_memory || !bf_pad_evaluate_all(pad))
    return false;
  start_facts(pad);
  return !pad->no_memory;
}

int bf_verify_pad_judge(bf_verify_body *body) {
  enum { MOST_BLOCKS = 4096 }; /* facts are looked up from block to block */
  bool any = false;
  for (unsigned i = 0; i < body->scheme->arrays && body->scheme->by_array; i++)
    any |= bf_verify_is_padding(body->scheme->array[i].hash);
  if (!any)
    return BF_OK;
  if (body->flow->graph->blocks > MOST_BLOCKS) {
    BF_VERIFY_FAIL(body, body->rewritten->line, "longer rows in a function of too many blocks");
    return BF_OK;
  }
  bf_pad pad = {.body = body,
                .function = body->rewritten,
                .flow = body->flow->graph,
                .arena = &body->scratch};
  if (!prepare(&pad))
    return BF_NO_MEMORY;
  for (uint32_t i = 0; i < pad.function->instructions && !body->failed; i++) {
    const bf_verify_array *array = accessed(&pad, i, false);
    const char *why = array ? judge(&pad, i, array) : NULL;
    if (pad.no_memory)
      return BF_NO_MEMORY;
    if (why)
      bf_verify_fail_instruction(body, why, pad.function->instruction[i],
                                 pad.function->instruction[i]->line);
    body->hashed += array && !why;
  }
  return BF_OK;
}
