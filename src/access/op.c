/* The table of operations, expanded from the one list in bankfold.h. */
#include "access/access.h"

#include <string.h>

static const struct {
  const char *name;
  bf_side side;
  unsigned width;
} ops[BF_OP_COUNT] = {
#define X(symbol, name, side, width, meaning) {name, BF_SIDE_##side, width},
    BF_OPS(X)
#undef X
};

const char *bf_op_name(bf_op op) { return (unsigned)op < BF_OP_COUNT ? ops[op].name : "unknown"; }

bf_side bf_op_side(bf_op op) { return ops[op].side; }
unsigned bf_op_fixed_width(bf_op op) { return ops[op].width; }

int bf_op_find(const char *name) {
  for (int op = 0; op < BF_OP_COUNT; op++)
    if (strcmp(name, ops[op].name) == 0)
      return op;
  return -1;
}

static bool is_width(unsigned width) {
  return width == 1 || width == 2 || width == 4 || width == 8 || width == 16;
}

int bf_access_check_op(bf_op op, const bf_trace_limits *limits, bf_diagnostic *diagnostic) {
  if (limits->missing_ops >> op & 1)
    return bf_fail(diagnostic, BF_BAD_INPUT, "the machine has no operation '%s'", bf_op_name(op));
  return BF_OK;
}

int bf_access_check_width(bf_op op, unsigned width_bytes, bf_diagnostic *diagnostic) {
  unsigned fixed = bf_op_fixed_width(op);
  if (!is_width(width_bytes))
    return bf_fail(diagnostic, BF_BAD_INPUT, "width is 1, 2, 4, 8 or 16 bytes, not %u",
                   width_bytes);
  if (fixed && width_bytes != fixed)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s accesses %u bytes per lane, not %u",
                   bf_op_name(op), fixed, width_bytes);
  return BF_OK;
}

int bf_access_check_mask(uint64_t mask, const bf_trace_limits *limits, bf_diagnostic *diagnostic) {
  if (mask == 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no lane is active");
  if (limits->lanes < 64 && mask >> limits->lanes)
    return bf_fail(diagnostic, BF_BAD_INPUT, "the mask uses lane %d, but there are %u lanes",
                   63 - __builtin_clzll(mask), limits->lanes);
  return BF_OK;
}

int bf_access_check_address(uint64_t address, unsigned width_bytes, const bf_trace_limits *limits,
                            bf_diagnostic *diagnostic) {
  if (bf_address_fits(address, width_bytes, limits))
    return BF_OK;
  unsigned long long shown = address;
  if (address & (width_bytes - 1))
    return bf_fail(diagnostic, BF_BAD_INPUT, "address %llu is not aligned to %u bytes", shown,
                   width_bytes);
  if (limits->allocation_bytes > UINT32_MAX && address > UINT32_MAX)
    return bf_fail(diagnostic, BF_BAD_INPUT, "address %llu does not fit in 32 bits", shown);
  return bf_fail(diagnostic, BF_BAD_INPUT, "address %llu is past the allocation of %llu bytes",
                 shown, (unsigned long long)limits->allocation_bytes);
}

/* Whether all active lanes are aligned and inside the allocation. */
static bool addresses_fit(const bf_access *access, const bf_trace_limits *limits) {
  uint32_t bits = 0, highest = 0;
  /* Where all of 32 lanes are active, the loop becomes vector code. */
  for (unsigned lane = 0; access->mask == UINT32_MAX && lane < 32; lane++) {
    bits |= access->address[lane];
    highest = access->address[lane] > highest ? access->address[lane] : highest;
  }
  for (uint64_t left = access->mask == UINT32_MAX ? 0 : access->mask; left; left &= left - 1) {
    uint32_t address = access->address[__builtin_ctzll(left)];
    bits |= address;
    highest = address > highest ? address : highest;
  }
  return (bits & (access->width_bytes - 1)) == 0 &&
         (uint64_t)highest + access->width_bytes <= limits->allocation_bytes;
}

int bf_access_check(const bf_access *access, const bf_trace_limits *limits, int *fault,
                    bf_diagnostic *diagnostic) {
  *fault = -1;
  if ((unsigned)access->op >= BF_OP_COUNT)
    return bf_fail(diagnostic, BF_BAD_INPUT, "unknown operation %d", (int)access->op);
  int error = bf_access_check_op(access->op, limits, diagnostic);
  if (!error)
    error = bf_access_check_width(access->op, access->width_bytes, diagnostic);
  if (!error)
    error = bf_access_check_mask(access->mask, limits, diagnostic);
  if (error)
    return error;
  if (access->count == 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "the count is 0");
  if (addresses_fit(access, limits))
    return BF_OK;
  for (uint64_t left = access->mask; left; left &= left - 1) {
    *fault = __builtin_ctzll(left);
    error =
        bf_access_check_address(access->address[*fault], access->width_bytes, limits, diagnostic);
    if (error)
      return error;
  }
  *fault = -1;
  return BF_OK;
}
