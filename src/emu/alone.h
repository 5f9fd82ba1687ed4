/* Inside room emu: one active lane, run by itself (run_alone.c).
 *
 * Operations work on 32 lanes at a time. Where only one lane is active, as after
 * `if (threadIdx.x == 0)`, most of an operation's time is its call and the way to the lane's
 * values. The usual operations have a form that run_alone.c knows how to do for one lane, one
 * after the other, without calls. Each file of operations says which of its functions have which
 * form.
 *
 * A value that the next operation needs is handed on in a register of the host, for the way through
 * memory takes longer than the operation: op->form is four times the form, plus which operand is
 * the result of the operation before. */
#ifndef BF_EMU_ALONE_H
#define BF_EMU_ALONE_H

#include "emu/inner.h"

/* Values: X(form, type of d, type of a, type of b, type of c, d as an expression of a, b and c). An
 * operand that the expression does not name is of type uint16_t, and not read. */
#define BF_ALONE_VALUES(X)                                                                         \
  X(ADD_32, uint32_t, uint32_t, uint32_t, uint16_t, a + b)                                         \
  X(ADD_64, uint64_t, uint64_t, uint64_t, uint16_t, a + b)                                         \
  X(SUB_32, uint32_t, uint32_t, uint32_t, uint16_t, a - b)                                         \
  X(SUB_64, uint64_t, uint64_t, uint64_t, uint16_t, a - b)                                         \
  X(MUL_32, uint32_t, uint32_t, uint32_t, uint16_t, a *b)                                          \
  X(MUL_64, uint64_t, uint64_t, uint64_t, uint16_t, a *b)                                          \
  X(MAD_32, uint32_t, uint32_t, uint32_t, uint32_t, a *b + c)                                      \
  X(MAD_64, uint64_t, uint64_t, uint64_t, uint64_t, a *b + c)                                      \
  X(MUL_WIDE_U, uint64_t, uint32_t, uint32_t, uint16_t, (uint64_t)a *b)                            \
  X(MUL_WIDE_S, int64_t, int32_t, int32_t, uint16_t, (int64_t)a *b)                                \
  X(MAD_WIDE_U, uint64_t, uint32_t, uint32_t, uint64_t, (uint64_t)a *b + c)                        \
  X(MAD_WIDE_S, int64_t, int32_t, int32_t, int64_t, (int64_t)a *b + c)                             \
  X(MUL_HIGH_U, uint32_t, uint32_t, uint32_t, uint16_t, (uint64_t)a *b >> 32)                      \
  X(MUL_HIGH_S, int32_t, int32_t, int32_t, uint16_t, (int64_t)a *b >> 32)                          \
  X(MIN_U32, uint32_t, uint32_t, uint32_t, uint16_t, a < b ? a : b)                                \
  X(MAX_U32, uint32_t, uint32_t, uint32_t, uint16_t, a > b ? a : b)                                \
  X(MIN_S32, int32_t, int32_t, int32_t, uint16_t, a < b ? a : b)                                   \
  X(MAX_S32, int32_t, int32_t, int32_t, uint16_t, a > b ? a : b)                                   \
  X(AND_32, uint32_t, uint32_t, uint32_t, uint16_t, a &b)                                          \
  X(AND_64, uint64_t, uint64_t, uint64_t, uint16_t, a &b)                                          \
  X(OR_32, uint32_t, uint32_t, uint32_t, uint16_t, a | b)                                          \
  X(OR_64, uint64_t, uint64_t, uint64_t, uint16_t, a | b)                                          \
  X(XOR_32, uint32_t, uint32_t, uint32_t, uint16_t, a ^ b)                                         \
  X(XOR_64, uint64_t, uint64_t, uint64_t, uint16_t, a ^ b)                                         \
  X(NOT_32, uint32_t, uint32_t, uint16_t, uint16_t, ~a)                                            \
  X(SHL_32, uint32_t, uint32_t, uint32_t, uint16_t, b < 32 ? a << (b & 31) : 0)                    \
  X(SHL_64, uint64_t, uint64_t, uint32_t, uint16_t, b < 64 ? a << (b & 63) : 0)                    \
  X(SHR_U32, uint32_t, uint32_t, uint32_t, uint16_t, b < 32 ? a >> (b & 31) : 0)                   \
  X(SHR_U64, uint64_t, uint64_t, uint32_t, uint16_t, b < 64 ? a >> (b & 63) : 0)                   \
  X(SHR_S32, int32_t, int32_t, uint32_t, uint16_t, a >> (b < 32 ? b : 31))                         \
  X(SHR_S64, int64_t, int64_t, uint32_t, uint16_t, a >> (b < 64 ? b : 63))                         \
  X(MOVE_16, uint16_t, uint16_t, uint16_t, uint16_t, a)                                            \
  X(MOVE_32, uint32_t, uint32_t, uint16_t, uint16_t, a)                                            \
  X(MOVE_64, uint64_t, uint64_t, uint16_t, uint16_t, a)                                            \
  X(U32_TO_64, uint64_t, uint32_t, uint16_t, uint16_t, a)                                          \
  X(S32_TO_64, int64_t, int32_t, uint16_t, uint16_t, a)                                            \
  X(B64_TO_32, uint32_t, uint64_t, uint16_t, uint16_t, a)                                          \
  X(U16_TO_32, uint32_t, uint16_t, uint16_t, uint16_t, a)                                          \
  X(S16_TO_32, int32_t, int16_t, uint16_t, uint16_t, a)                                            \
  X(B32_TO_16, uint16_t, uint32_t, uint16_t, uint16_t, a)                                          \
  X(ADD_FLOAT, float, float, float, uint16_t, bf_emu_canonical(a + b))                             \
  X(SUB_FLOAT, float, float, float, uint16_t, bf_emu_canonical(a - b))                             \
  X(MUL_FLOAT, float, float, float, uint16_t, bf_emu_canonical(a *b))                              \
  X(DIV_FLOAT, float, float, float, uint16_t, bf_emu_canonical(a / b))                             \
  X(FMA_FLOAT, float, float, float, float, bf_emu_canonical(__builtin_fmaf(a, b, c)))              \
  X(ADD_DOUBLE, double, double, double, uint16_t, a + b)                                           \
  X(SUB_DOUBLE, double, double, double, uint16_t, a - b)                                           \
  X(MUL_DOUBLE, double, double, double, uint16_t, a *b)                                            \
  X(FMA_DOUBLE, double, double, double, double, __builtin_fma(a, b, c))

/* Comparisons into predicate d, which e flips: X(form, type, expression of a and b). */
#define BF_ALONE_TRUTHS(X)                                                                         \
  X(EQUAL_32, uint32_t, a == b)                                                                    \
  X(EQUAL_64, uint64_t, a == b)                                                                    \
  X(UNEQUAL_32, uint32_t, a != b)                                                                  \
  X(UNEQUAL_64, uint64_t, a != b)                                                                  \
  X(LESS_U32, uint32_t, a < b)                                                                     \
  X(LESS_S32, int32_t, a < b)                                                                      \
  X(LESS_U64, uint64_t, a < b)                                                                     \
  X(LESS_S64, int64_t, a < b)                                                                      \
  X(LESS_FLOAT, float, a < b)                                                                      \
  X(LESS_DOUBLE, double, a < b)                                                                    \
  X(NOT_MORE_U32, uint32_t, a <= b)                                                                \
  X(NOT_MORE_S32, int32_t, a <= b)                                                                 \
  X(NOT_MORE_U64, uint64_t, a <= b)                                                                \
  X(NOT_MORE_S64, int64_t, a <= b)                                                                 \
  X(NOT_MORE_FLOAT, float, a <= b)                                                                 \
  X(NOT_MORE_DOUBLE, double, a <= b)

/* Global memory at a + the op's offset: X(form, type). */
#define BF_ALONE_LOADS(X)                                                                          \
  X(LOAD_32, uint32_t)                                                                             \
  X(LOAD_64, uint64_t)
/* The block's shared memory at a + the op's offset: X(form, type). */
#define BF_ALONE_SHARED_LOADS(X)                                                                   \
  X(LOAD_SHARED_32, uint32_t)                                                                      \
  X(LOAD_SHARED_64, uint64_t)
#define BF_ALONE_SHARED_STORES(X)                                                                  \
  X(STORE_SHARED_32, uint32_t)                                                                     \
  X(STORE_SHARED_64, uint64_t)
#define BF_ALONE_STORES(X)                                                                         \
  X(STORE_32, uint32_t)                                                                            \
  X(STORE_64, uint64_t)
/* Atomics of global memory, which the launch must be alone for: X(form, type, new value as an
 * expression of old, b and c). */
#define BF_ALONE_ATOMICS(X)                                                                        \
  X(ATOM_ADD_32, uint32_t, old + b)                                                                \
  X(ATOM_EXCHANGE_32, uint32_t, b)                                                                 \
  X(ATOM_SWAP_32, uint32_t, old == b ? c : old)                                                    \
  X(ATOM_ADD_64, uint64_t, old + b)                                                                \
  X(ATOM_EXCHANGE_64, uint64_t, b)                                                                 \
  X(ATOM_SWAP_64, uint64_t, old == b ? c : old)
/* All else. POLL: loads that may wait for others; GUARDED: op->guarded, if the guard holds. */
#define BF_ALONE_OTHERS(X)                                                                         \
  X(CHOOSE_32, 0)                                                                                  \
  X(CHOOSE_64, 0)                                                                                  \
  X(AND_TRUTH, 0)                                                                                  \
  X(OR_TRUTH, 0)                                                                                   \
  X(POLL_32, 0)                                                                                    \
  X(POLL_64, 0)                                                                                    \
  X(FENCE, 0)                                                                                      \
  X(GUARDED, 0)                                                                                    \
  X(BRANCH, 0)                                                                                     \
  X(JOIN, 0)

typedef enum bf_alone_form {
  BF_ALONE_NONE, /* the operation is called */
#define X(form, ...) BF_ALONE_##form,
  BF_ALONE_VALUES(X) BF_ALONE_LOADS(X) BF_ALONE_SHARED_LOADS(X) BF_ALONE_TRUTHS(X)
      BF_ALONE_STORES(X) BF_ALONE_SHARED_STORES(X) BF_ALONE_ATOMICS(X) BF_ALONE_OTHERS(X)
#undef X
} bf_alone_form;

/* Forms that hand their result on, and those that can take it over. */
static inline bool bf_alone_gives(bf_alone_form form) {
  return form != BF_ALONE_NONE && form <= BF_ALONE_LOAD_SHARED_64;
}

/* Which operand of a form is handed on. */
enum { BF_ALONE_FROM_MEMORY, BF_ALONE_A, BF_ALONE_B, BF_ALONE_C, BF_ALONE_WAYS };

/* The form of operations that run does. A table of them ends with run NULL. */
typedef struct bf_alone_row {
  bf_emu_step run;
  bf_alone_form form;
} bf_alone_row;

/* Runs the warp, of which one lane is active, from op on; returns where to go on when that is no
 * longer so, or NULL as operations do. */
typedef const bf_emu_op *(*bf_alone_run)(bf_emu_warp *warp, const bf_emu_op *op);

/* The files that have tables. */
#define BF_ALONE_TABLES(X)                                                                         \
  X(integer)                                                                                       \
  X(logic)                                                                                         \
  X(float)                                                                                         \
  X(compare)                                                                                       \
  X(convert)                                                                                       \
  X(move)                                                                                          \
  X(memory)

#endif
