/* One access to shared memory beside its rewritten form: the address must be the hash of what it
 * was, and the hash must keep the bytes of the access together. */
#include "verify/inner.h"

uint64_t bf_verify_access_bytes(const bf_ptx_instruction *instruction) {
  enum { MATRIX_ROW_BYTES = 16 };
  switch (instruction->opcode) {
  case BF_PTX_OP_LDMATRIX:
  case BF_PTX_OP_STMATRIX:
    return bf_ptx_has(instruction, "m8n8") ? MATRIX_ROW_BYTES : 0;
  case BF_PTX_OP_WMMA:
    return bf_verify_line_bytes(instruction);
  case BF_PTX_OP_CP:
    return instruction->operands > 2 && instruction->operand[2].kind == BF_PTX_INTEGER
               ? instruction->operand[2].bits
               : 0;
  default:
    return instruction->types ? (uint64_t)instruction->vector *
                                    bf_ptx_type_bytes(instruction->type[instruction->types - 1])
                              : 0;
  }
}

/* ---- Addresses ---- */

/* An access being judged. */
typedef struct access_pair {
  bf_verify_body *body;
  uint32_t number; /* of the rewritten instruction: */
  const bf_ptx_instruction *instruction;
  const bf_ptx_operand *was, *is; /* address operands */
  const bf_hash *hash;            /* that it goes through; NULL: it is left alone */
  bool is_generic, must_be_shared;
  bf_verify_value value; /* of the rewritten address */
} access_pair;

/* Bits of the register or symbol that an address starts with. */
static unsigned base_width(const bf_ptx_operand *base, unsigned otherwise) {
  return base->kind == BF_PTX_REGISTER ? 8 * bf_ptx_type_bytes(base->registers->type) : otherwise;
}

/* The value of an address operand. */
static bf_verify_value address_value(const bf_verify_body *body, const bf_ptx_operand *address,
                                     unsigned width) {
  bf_verify_value value = bf_verify_operand(body, &address->item[0], width);
  for (unsigned c = 0; c < 2; c++)
    value.when[c] = bf_verify_add(&value.when[c], (uint64_t)address->offset);
  return value;
}

/* The value that the original address has, as a value of the rewritten function: its register or
 * variable is the one that was compared with the original's. */
static bool original_value(const access_pair *access, unsigned width, bf_verify_bits *bits) {
  const bf_ptx_operand *base = &access->was->item[0];
  bf_ptx_operand twin = *base, address = *access->was;
  bf_ptx_symbol symbol;
  if (access->was->count != 1)
    return false;
  if (base->kind == BF_PTX_REGISTER) {
    twin.registers = access->body->twin[base->registers->first];
    if (!twin.registers)
      return false;
  } else if (base->kind == BF_PTX_SYMBOL && base->symbol->kind == BF_PTX_SYMBOL_VARIABLE) {
    symbol = *base->symbol;
    symbol.variable = bf_verify_twin_of(access->body, base->symbol->variable);
    twin.symbol = &symbol;
    if (!symbol.variable)
      return false;
  }
  address.item = &twin;
  *bits = address_value(access->body, &address, width).when[0];
  return !bits->unknown;
}

/* The highest bit of an address that the hash reads, plus 1. */
static unsigned bits_read(const bf_hash *hash) {
  uint64_t read = 0;
  for (unsigned i = 0; i < BF_VERIFY_BANK_BITS; i++)
    read |= hash->forward.row[i];
  return BF_VERIFY_WORD_BIT + (read ? 64 - (unsigned)__builtin_clzll(read) : 0);
}

/* Why a value is not the wanted one, as far as that can be said. */
static const char *difference(const access_pair *access, const bf_verify_bits *wanted,
                              const bf_verify_bits *bits, const bf_verify_bits *logical) {
  const bf_verify_atom *a = &wanted->atom, *b = &bits->atom;
  if (bits->unknown)
    return bits->unknown;
  if (bits->width != wanted->width)
    return "an address of another width";
  if (bf_verify_is_constant(bits) || bf_verify_is_constant(wanted))
    return "another constant address";
  if (a->base != b->base || a->number != b->number || a->variable != b->variable)
    return "the hash of another address";
  if (bf_verify_same_bits(bits, logical))
    return "an address that is hashed twice or not at all";
  if (a->offset != b->offset)
    return "the hash at another offset";
  return access->is_generic && bits == &access->value.when[0]
             ? "an address that changes outside shared memory"
             : "not the hash of the address";
}

/* Reports that the address is wrong. */
static void fail(const access_pair *access, const char *why) {
  bf_verify_fail_instruction(access->body, why, access->instruction, access->instruction->line);
}

/* Whether the guard under which the address was computed is that of the access. */
static bool guard_fits(const access_pair *access) {
  return access->value.guard.number == UINT32_MAX ||
         bf_verify_same_guard(access->value.guard, bf_verify_guard_of(access->instruction->guard));
}

/* A generic address must be hashed exactly where it lies in shared memory. */
static const char *judge_generic(const access_pair *access, const bf_verify_bits *logical) {
  const bf_verify_value *value = &access->value;
  bf_verify_bits hashed = bf_verify_hashed(logical, access->hash);
  if (bits_read(access->hash) > BF_VERIFY_WINDOW_BITS)
    return "a hash of more address bits than a window surely has";
  if (value->test && !value->when[1].unknown && !bf_verify_same_bits(value->test, logical))
    return "isspacep asks about another address";
  if (!bf_verify_same_bits(&value->when[1], &hashed))
    return difference(access, &hashed, &value->when[1], logical);
  if (access->must_be_shared)
    return NULL;
  if (!value->test)
    return "a generic address hashed without asking whether it is shared";
  if (!bf_verify_same_bits(&value->when[0], logical) || value->when[0].only_shared)
    return difference(access, logical, &value->when[0], &hashed);
  return NULL;
}

/* The hash of the same subscript in another array, moved by how far that is away, is one of this
 * address where both registers are sums of the subscript and an array. */
static bf_verify_bits settle(const access_pair *access, const bf_verify_bits *wanted) {
  const bf_verify_bits *value = &access->value.when[1];
  if (value->unknown || !value->atom.to || wanted->atom.base != BF_VERIFY_REGISTER)
    return *value;
  if (!bf_verify_are_siblings(access->body, &value->atom, wanted->atom.number, access->number))
    return bf_verify_unknown("the hash of an address in another array");
  return bf_verify_settle(value, &wanted->atom);
}

/* A shared address must be hashed. */
static const char *judge_shared(const access_pair *access, const bf_verify_bits *logical) {
  bf_verify_bits hashed = bf_verify_hashed(logical, access->hash);
  bf_verify_bits value = settle(access, &hashed);
  if (access->value.test)
    return "a shared address hashed under a condition";
  if (!bf_verify_same_bits(&value, &hashed))
    return difference(access, &hashed, &value, logical);
  return NULL;
}

/* An address that stays as it is: the hash must provably leave it there, or it is a generic one in
 * a kernel that cannot have those of shared memory. */
static bool is_left_alone(const access_pair *access) {
  unsigned width = base_width(&access->was->item[0], 64);
  bf_verify_bits logical;
  if (!access->hash)
    return true;
  if (access->is_generic && !access->body->scheme->makes_generic && !access->must_be_shared)
    return true;
  if (access->is_generic && bits_read(access->hash) > BF_VERIFY_WINDOW_BITS)
    return false;
  if (!original_value(access, width, &logical))
    return false;
  bf_verify_bits hashed = bf_verify_hashed(&logical, access->hash);
  return bf_verify_same_bits(&logical, &hashed);
}

/* Judges the address of an access that is not one to a barrier. */
static void judge_address(access_pair *access) {
  const bf_ptx_operand *base = &access->is->item[0], *before = &access->was->item[0];
  bf_verify_bits logical;
  if (bf_verify_same_operand(access->was, access->is)) {
    if (is_left_alone(access))
      access->body->exempt += !access->is_generic;
    else
      fail(access, access->is_generic ? "generic access without the hash"
                                      : "access to shared memory without the hash");
    return;
  }
  if (!access->hash) {
    fail(access, "a hash in an array that is left alone");
    return;
  }
  if (access->instruction->space == BF_PTX_SPACE_NONE && !access->is_generic) {
    fail(access, "a shared address in an access without .shared");
    return;
  }
  if (access->is->count != 1 || access->is->unified != access->was->unified ||
      base->kind != BF_PTX_REGISTER || !access->body->is_new[bf_verify_number(base)]) {
    fail(access, "the address is neither the original one nor a new register");
    return;
  }
  unsigned width = base_width(base, 64);
  access->value = address_value(access->body, access->is, width);
  if (base_width(before, width) != width || access->value.is_predicate) {
    fail(access, "an address of another width");
    return;
  }
  if (!original_value(access, width, &logical)) {
    fail(access, "the original address cannot be followed");
    return;
  }
  const char *why =
      access->is_generic ? judge_generic(access, &logical) : judge_shared(access, &logical);
  if (!why && !guard_fits(access))
    why = "the address is computed under another guard";
  if (why)
    fail(access, why);
  else
    access->body->hashed++;
}

/* Barrier objects stay where they are. */
static void judge_barrier(access_pair *access) {
  if (!bf_verify_same_operand(access->was, access->is))
    fail(access, "a barrier object at another address");
  else if (!bf_verify_is_barrier(&access->body->facts, access->is))
    fail(access, "a barrier object that is not in a variable of its own");
  else
    access->body->exempt++;
}

/* Whether a low bit of the address that must be 0 for its width is known to be 1. */
static bool is_misaligned(const access_pair *access, uint64_t bytes) {
  bf_verify_bits logical;
  if (!original_value(access, base_width(&access->was->item[0], 64), &logical))
    return false;
  for (unsigned i = 0; (uint64_t)1 << i < bytes; i++)
    if (!logical.row[i] && logical.constant >> i & 1)
      return true;
  return false;
}

/* Granules stay whole, so no access may be wider than one. */
static void judge_width(access_pair *access) {
  enum { MOST_BYTES = 16 };
  uint64_t bytes = bf_verify_access_bytes(access->instruction);
  uint64_t granule = bf_hash_granule_words(access->hash) << BF_VERIFY_WORD_BIT;
  if (!bytes || bytes & (bytes - 1) || bytes > MOST_BYTES)
    fail(access, "an access whose width is not known");
  else if (bytes > granule)
    fail(access, "an access wider than the granule of the hash");
  else if (is_misaligned(access, bytes))
    fail(access, "an access that is not aligned to its width");
}

/* A tile stays as it was, where nothing that is hashed can be in it. */
static void judge_tile(access_pair *access, const bf_ptx_instruction *original) {
  const bf_ptx_operand *was = bf_verify_tile_stride(original);
  const bf_ptx_operand *is = bf_verify_tile_stride(access->instruction);
  bool may_be_shared = !access->is_generic || access->body->scheme->makes_generic;
  if (access->hash && may_be_shared)
    fail(access, "wmma on shared memory that is hashed");
  else if (!bf_verify_same_head(original, access->instruction) ||
           !bf_verify_same_operand(access->was, access->is) || !bf_verify_same_operand(was, is))
    fail(access, "another tile of an array that is left alone");
  else
    access->body->exempt += !access->is_generic;
}

/* The hash that an access must go through, in *hash; false where that is not proven. */
static bool find_hash(const bf_verify_body *body, const access_pair *access, const bf_hash **hash) {
  const bf_verify_scheme *scheme = body->scheme;
  *hash = scheme->hash;
  if (!scheme->by_array)
    return true;
  bool is_tile = bf_verify_is_tile(access->instruction) && scheme->makes_generic;
  if (access->is_generic && !is_tile) {
    *hash = NULL;
    return !scheme->makes_generic && !access->must_be_shared;
  }
  if (access->is_generic && bf_verify_is_homeless(scheme, &body->homes, access->was)) {
    *hash = NULL;
    return true;
  }
  uint32_t home = bf_verify_home_of(scheme, &body->homes, access->was);
  if (home == BF_VERIFY_NO_HOME || home == BF_VERIFY_MANY_HOMES)
    return false;
  *hash = scheme->array[home].hash;
  return true;
}

void bf_verify_access(bf_verify_body *body, const bf_ptx_instruction *original, uint32_t number) {
  const bf_ptx_instruction *rewritten = body->rewritten->instruction[number];
  access_pair access = {.body = body,
                        .number = number,
                        .instruction = rewritten,
                        .was = bf_verify_shared_address(original),
                        .is = bf_verify_shared_address(rewritten),
                        .is_generic =
                            original->space == BF_PTX_SPACE_NONE && !bf_verify_is_implied(original),
                        .must_be_shared = original->opcode == BF_PTX_OP_LDMATRIX ||
                                          original->opcode == BF_PTX_OP_STMATRIX};
  if (bf_verify_uses_barrier(original)) {
    judge_barrier(&access);
    return;
  }
  if (!find_hash(body, &access, &access.hash)) {
    fail(&access, "an access that is not proven to be to one array");
    return;
  }
  if (bf_verify_is_padding(access.hash))
    return; /* judged with all others to such arrays (pad.c) */
  if (bf_verify_is_tile(original)) {
    judge_tile(&access, original);
    return;
  }
  judge_address(&access);
  bool may_be_shared = !access.is_generic || body->scheme->makes_generic || access.must_be_shared;
  if (!body->failed && access.hash && may_be_shared)
    judge_width(&access);
}
