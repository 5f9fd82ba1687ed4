/* Inside room emu: the places of the operands of an ordinary instruction, d, a, b, c in order, and
 * the choice of an operation by type. */
#ifndef BF_EMU_BIND_H
#define BF_EMU_BIND_H

#include "emu/inner.h"

/* Bytes per lane of a place that holds type. */
static inline unsigned bf_emu_place_bytes(bf_ptx_type type) {
  unsigned bytes = bf_ptx_type_bytes(type);
  return bytes < 2 ? 2 : bytes;
}

/* Whether the place of operand has the size of type. */
static inline bool bf_emu_fits(const bf_ptx_operand *operand, bf_ptx_type type) {
  return bf_emu_register_bytes(operand, type) == bf_emu_place_bytes(type);
}

/* The place of what an instruction reads as type, or of what it writes. Operands of another size
 * are refused: an operation would reach beyond their places. */
static inline uint32_t bf_emu_bind_source(bf_emu_decoder *decoder, const bf_ptx_operand *operand,
                                          bf_ptx_type type) {
  if (!bf_emu_fits(operand, type))
    bf_emu_refuse(decoder, "operand of another size than the type");
  return bf_emu_source(decoder, operand, type);
}

static inline uint32_t bf_emu_bind_destination(bf_emu_decoder *decoder,
                                               const bf_ptx_operand *operand, bf_ptx_type type) {
  if (!bf_emu_fits(operand, type))
    bf_emu_refuse(decoder, "result of another size than the type");
  return bf_emu_destination(decoder, operand);
}

/* The place of a predicate that is written; _ is a place that nobody reads. */
static inline uint32_t bf_emu_bind_truth(bf_emu_decoder *decoder, const bf_ptx_operand *operand) {
  uint32_t flip;
  if (operand->kind == BF_PTX_SINK)
    return BF_EMU_NOWHERE;
  return bf_emu_predicate(decoder, operand, &flip);
}

/* Sources from operand 1 on, all of one type, into a, b, c. */
static inline void bf_emu_bind_sources(bf_emu_decoder *decoder,
                                       const bf_ptx_instruction *instruction, bf_emu_op *op,
                                       bf_ptx_type type) {
  uint32_t *const place[] = {&op->a, &op->b, &op->c, &op->e};
  for (unsigned i = 1; i < instruction->operands && i <= 4; i++)
    *place[i - 1] = bf_emu_bind_source(decoder, &instruction->operand[i], type);
}

/* Result and sources, all of one type; run does the work. */
static inline bool bf_emu_bind(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                               bf_emu_op *op, bf_ptx_type type, bf_emu_step run) {
  op->d = bf_emu_bind_destination(decoder, &instruction->operand[0], type);
  bf_emu_bind_sources(decoder, instruction, op, type);
  op->run = run;
  return true;
}

/* Integer types in the order of the tables that BF_EMU_INTEGERS makes; bits count as unsigned. */
enum {
  BF_EMU_U16,
  BF_EMU_S16,
  BF_EMU_U32,
  BF_EMU_S32,
  BF_EMU_U64,
  BF_EMU_S64,
  BF_EMU_INTEGER_TYPES
};

/* The index of an integer type in those tables, or -1. */
static inline int bf_emu_integer_index(bf_ptx_type type) {
  switch (type) {
  case BF_PTX_B16:
  case BF_PTX_U16:
    return BF_EMU_U16;
  case BF_PTX_S16:
    return BF_EMU_S16;
  case BF_PTX_B32:
  case BF_PTX_U32:
    return BF_EMU_U32;
  case BF_PTX_S32:
    return BF_EMU_S32;
  case BF_PTX_B64:
  case BF_PTX_U64:
    return BF_EMU_U64;
  case BF_PTX_S64:
    return BF_EMU_S64;
  default:
    return -1;
  }
}

/* Defines name##_uint16_t, ... with define(function, type, expression) and the table of them. */
#define BF_EMU_INTEGERS(define, name, ...)                                                         \
  define(name##_uint16_t, uint16_t, __VA_ARGS__) define(name##_int16_t, int16_t, __VA_ARGS__)      \
      define(name##_uint32_t, uint32_t, __VA_ARGS__) define(name##_int32_t, int32_t, __VA_ARGS__)  \
          define(name##_uint64_t, uint64_t, __VA_ARGS__)                                           \
              define(name##_int64_t, int64_t, __VA_ARGS__) static const bf_emu_step name[] = {     \
                  name##_uint16_t, name##_int16_t,  name##_uint32_t,                               \
                  name##_int32_t,  name##_uint64_t, name##_int64_t}
/* The same where the sign does not matter. */
#define BF_EMU_UNSIGNED(define, name, ...)                                                         \
  define(name##_uint16_t, uint16_t, __VA_ARGS__) define(name##_uint32_t, uint32_t, __VA_ARGS__)    \
      define(name##_uint64_t, uint64_t, __VA_ARGS__) static const bf_emu_step name[] = {           \
          name##_uint16_t, name##_uint16_t, name##_uint32_t,                                       \
          name##_uint32_t, name##_uint64_t, name##_uint64_t}

/* Operations d = expression of a[lane], b[lane], c[lane], all of one type. */
#define BF_EMU_UNARY(function, type, expression)                                                   \
  static const bf_emu_op *function(bf_emu_warp *warp, const bf_emu_op *op) {                       \
    type *d = BF_LANES(type, op->d);                                                               \
    const type *a = BF_LANES(type, op->a);                                                         \
    BF_SET_LANES(BF_MASK(), d, (type)(expression));                                                \
    return op + 1;                                                                                 \
  }
#define BF_EMU_BINARY(function, type, expression)                                                  \
  static const bf_emu_op *function(bf_emu_warp *warp, const bf_emu_op *op) {                       \
    type *d = BF_LANES(type, op->d);                                                               \
    const type *a = BF_LANES(type, op->a), *b = BF_LANES(type, op->b);                             \
    BF_SET_LANES(BF_MASK(), d, (type)(expression));                                                \
    return op + 1;                                                                                 \
  }
#define BF_EMU_TERNARY(function, type, expression)                                                 \
  static const bf_emu_op *function(bf_emu_warp *warp, const bf_emu_op *op) {                       \
    type *d = BF_LANES(type, op->d);                                                               \
    const type *a = BF_LANES(type, op->a), *b = BF_LANES(type, op->b), *c = BF_LANES(type, op->c); \
    BF_SET_LANES(BF_MASK(), d, (type)(expression));                                                \
    return op + 1;                                                                                 \
  }

#endif
