/* The tables of ops.h and ops.def, and how to find things in them. */
#include "ptx/parser.h"

#include <stdlib.h>
#include <string.h>

static const bf_ptx_op ops[] = {
#define X(symbol, name, access, work, operands, meaning)                                           \
  {name, BF_PTX_##access, BF_PTX_WORK_##work, operands, meaning},
#include "ptx/ops.def"
#undef X
};

static const struct {
  const char *name;
  unsigned bytes;
} types[] = {{"", 0},
#define X(symbol, name, bytes) {name, bytes},
             BF_PTX_TYPES(X)
#undef X
};

static const char *const spaces[] = {"",
#define X(symbol, name) name,
                                     BF_PTX_SPACES(X)
#undef X
};

const bf_ptx_op *bf_ptx_op_get(bf_ptx_opcode opcode) { return &ops[opcode]; }

static int compare_name(const void *name, const void *op) {
  return strcmp(name, ((const bf_ptx_op *)op)->name);
}

int bf_ptx_op_find(const char *name) {
  const bf_ptx_op *found = bsearch(name, ops, BF_PTX_OPCODE_COUNT, sizeof *ops, compare_name);
  return found ? (int)(found - ops) : -1;
}

const char *bf_ptx_type_name(bf_ptx_type type) { return types[type].name; }

unsigned bf_ptx_type_bytes(bf_ptx_type type) { return types[type].bytes; }

const char *bf_ptx_space_name(bf_ptx_space space) { return spaces[space]; }

static bool same(const char *name, const char *text, size_t size) {
  return strlen(name) == size && memcmp(name, text, size) == 0;
}

bf_ptx_type bf_ptx_type_find(const char *text, size_t size) {
  for (unsigned i = 1; i < BF_PTX_TYPE_COUNT; i++)
    if (same(types[i].name, text, size))
      return (bf_ptx_type)i;
  return BF_PTX_TYPE_NONE;
}

bf_ptx_space bf_ptx_space_find(const char *text, size_t size) {
  for (unsigned i = 1; i < BF_PTX_SPACE_COUNT; i++)
    if (same(spaces[i], text, size))
      return (bf_ptx_space)i;
  return BF_PTX_SPACE_NONE;
}

bool bf_ptx_has(const bf_ptx_instruction *instruction, const char *modifier) {
  for (unsigned i = 0; i < instruction->modifiers; i++)
    if (strcmp(instruction->modifier[i], modifier) == 0)
      return true;
  return false;
}
