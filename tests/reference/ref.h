/* What the files of the reference interpreter share. */
#ifndef REF_H
#define REF_H

#include "reference.h"

/* The bits of a register or an intermediate result, from bit 0 on. */
__extension__ typedef unsigned __int128 ref_bits;
__extension__ typedef __int128 ref_signed;

/* ---- Decoded instructions (ref_decode.c) ---- */

/* clang-format off */
/* Modifiers that are not types, spaces or vectors. WORD_x is set where .x stands. */
#define REF_WORDS(X)                                                                               \
  X(lo)                                                                                            \
  X(hi)                                                                                            \
  X(wide) X(sat) X(ftz) X(rn) X(rz) X(rm) X(rp) X(rna) X(rni) X(rzi) X(rmi) X(rpi) X(approx)       \
      X(full) X(cc) X(relu) X(NaN) X(xorsign) X(abs) X(oob) X(satfinite) X(pack) X(noftz) X(eq)    \
          X(ne) X(lt) X(le) X(gt) X(ge) X(ls) X(hs) X(equ) X(neu) X(ltu) X(leu) X(gtu) X(geu)      \
              X(num) X(nan) X(and) X(or) X(xor) X(add) X(min) X(max) X(inc) X(dec) X(exch) X(cas)  \
                  X(popc) X(up) X(down) X(bfly) X(idx) X(all) X(any) X(uni) X(ballot) X(l) X(r)    \
                      X(wrap) X(clamp) X(f4e) X(b4e) X(rc8) X(ecl) X(ecr) X(rc16) X(shiftamt)      \
                          X(finite) X(infinite) X(number) X(notanumber) X(normal) X(subnormal)     \
                              X(to) X(sync) X(warp) X(arrive) X(red) X(shr7) X(shr15) X(async)     \
                                  X(init) X(inval) X(test_wait) X(try_wait) X(parity) X(noinc)     \
                                      X(mbarrier) X(cluster) X(x1) X(x2) X(x4) X(trans) X(m8n8)    \
                                          X(row) X(col) X(load) X(store) X(mma) X(a) X(b) X(c)     \
                                              X(d)
/* clang-format on */

typedef enum ref_word {
#define X(word) WORD_##word,
  REF_WORDS(X)
#undef X
      REF_WORD_COUNT
} ref_word;

typedef struct ref_op {
  const bf_ptx_instruction *in;
  bool word[REF_WORD_COUNT];
  bf_ptx_opcode opcode;
  bf_ptx_type type; /* the last one */
  bf_ptx_type first_type;
  bf_ptx_space space; /* NONE: generic */
  unsigned operands;
} ref_op;

#define HAS(op, name) ((op)->word[WORD_##name])

void ref_decode(const bf_ptx_instruction *instruction, ref_op *op);
unsigned ref_type_bits(bf_ptx_type type); /* 1 for predicates */
bool ref_type_is_signed(bf_ptx_type type);
bool ref_type_is_float(bf_ptx_type type);

/* ---- Values ---- */

/* The low bits of value. */
ref_bits ref_low(ref_bits value, unsigned bits);
/* The low bits of value as a signed number. */
ref_signed ref_sign(ref_bits value, unsigned bits);
/* The value of a register that holds a number of an integer type. */
ref_signed ref_number(ref_bits value, bf_ptx_type type);
/* The number of an integer type nearest to value. */
ref_signed ref_clamp(ref_signed value, bf_ptx_type type);

/* ---- Floating point (ref_float.c) ---- */

typedef enum ref_rounding { REF_RN, REF_RZ, REF_RM, REF_RP, REF_RNA } ref_rounding;
ref_rounding ref_rounding_of(const ref_op *op);

typedef enum ref_class { REF_ZERO, REF_FINITE, REF_INFINITE, REF_NAN } ref_class;

/* A number as it is: mantissa * 2^exponent, and a little more where there is a rest. */
typedef struct ref_exact {
  ref_class class;
  bool negative;
  ref_bits mantissa;
  int exponent;
  bool rest;
} ref_exact;

ref_exact ref_float_decode(bf_ptx_type type, uint64_t bits);
/* The nearest number of a type in the direction of rounding; NaN becomes the canonical one. */
uint64_t ref_float_encode(bf_ptx_type type, ref_exact value, ref_rounding rounding);
uint64_t ref_float_flush(bf_ptx_type type, uint64_t bits); /* subnormal numbers become 0 */
uint64_t ref_float_nan(bf_ptx_type type);
bool ref_float_is_nan(bf_ptx_type type, uint64_t bits);
bool ref_float_is_subnormal(bf_ptx_type type, uint64_t bits);
double ref_float_double(bf_ptx_type type, uint64_t bits); /* exact; no binary64 subnormals lost */
uint64_t ref_float_saturate(bf_ptx_type type, uint64_t bits);
/* One result of an arithmetic instruction, on scalars of type (never a packed one). */
uint64_t ref_float_compute(const ref_op *op, bf_ptx_type type, uint64_t a, uint64_t b, uint64_t c);
/* a + b as an atomic adds. */
uint64_t ref_float_add(bf_ptx_type type, uint64_t a, uint64_t b);
/* The scalar type of a packed one, or the type itself. */
bf_ptx_type ref_type_scalar(bf_ptx_type type);

/* ---- The other instructions that only compute ---- */

ref_bits ref_integer_compute(const ref_op *op, ref_bits a, ref_bits b, ref_bits c, ref_bits d,
                             bool *carry);
/* cvt of a (and b, c where it packs); the result fills a register of result_bits. */
ref_bits ref_convert(const ref_op *op, ref_bits a, ref_bits b, ref_bits c, unsigned result_bits);
/* One comparison of scalars. */
bool ref_compare(const ref_op *op, bf_ptx_type type, ref_bits a, ref_bits b);
ref_bits ref_video_compute(const ref_op *op, ref_bits a, ref_bits b, ref_bits c);

/* ---- Threads (ref_run.c, ref_memory.c, ref_warp.c) ---- */

typedef struct ref_variable {
  const bf_ptx_variable *variable;
  uint64_t address; /* in its space; local and parameters: from the start of the frame */
} ref_variable;

typedef struct ref_function {
  const bf_ptx_function *function;
  ref_op *op;
  ref_variable *local; /* local variables and parameters */
  unsigned locals;
  uint64_t frame_bytes;
} ref_function;

enum { REF_MOST_CALLS = 32, REF_STACK_BYTES = 16384, REF_WARP = 32, REF_BARRIERS = 16 };

/* Generic addresses. */
#define REF_SHARED_WINDOW (UINT64_C(1) << 60)
#define REF_LOCAL_WINDOW (UINT64_C(1) << 61)
#define REF_WINDOW_BYTES (UINT64_C(1) << 32)
/* Where local addresses start, so that 0 is none. */
enum { REF_LOCAL_START = 16 };

typedef struct ref_frame {
  const ref_function *function;
  uint32_t next;      /* instruction */
  uint64_t base, top; /* local addresses */
  ref_bits *registers;
  const bf_ptx_instruction *call; /* of the caller */
} ref_frame;

typedef enum ref_state { REF_RUNNING, REF_AT_WARP, REF_AT_BARRIER, REF_ENDED } ref_state;

typedef struct ref_thread {
  struct ref_block *block;
  uint32_t index[3];
  unsigned lane, warp;
  ref_state state;
  const ref_op *waiting;
  uint32_t mask;              /* at a warp's meeting: who must come */
  unsigned barrier, expected; /* at a barrier: which, and threads (0: all) */
  bool carry;
  unsigned calls;
  ref_frame frame[REF_MOST_CALLS];
  uint8_t *stack;
} ref_thread;

typedef struct ref_block {
  struct ref_machine *machine;
  uint32_t index[3];
  unsigned threads;
  ref_thread *thread;
  uint8_t *shared, *stacks;
  unsigned arrived[REF_BARRIERS]; /* threads that did not wait */
} ref_block;

typedef struct ref_machine {
  const ref_launch *launch;
  bf_arena arena;
  ref_function *function;
  unsigned functions;
  ref_variable *variable; /* of the module: global, constant, shared */
  unsigned variables;
  ref_range *range; /* of the launch, and one for each global or constant variable */
  unsigned ranges;
  uint64_t shared_bytes;
  char *message;
  bool failed;
} ref_machine;

/* Says what is wrong, once; returns false. */
bool ref_fail(ref_thread *thread, const char *format, ...) BF_PRINTF(2, 3);

ref_bits ref_get(ref_thread *thread, const bf_ptx_operand *operand, bf_ptx_type type);
void ref_set(ref_thread *thread, const bf_ptx_operand *operand, ref_bits value);
/* The bits of the register that operand names; 0 for a sink. */
unsigned ref_register_bits(const bf_ptx_operand *operand);
/* The address of a variable in its own space. */
uint64_t ref_symbol_address(ref_thread *thread, const bf_ptx_operand *operand);
/* The generic address that an address operand means in space. */
uint64_t ref_address(ref_thread *thread, const bf_ptx_operand *operand, bf_ptx_space space);
uint64_t ref_generic(bf_ptx_space space, uint64_t address);
/* The bytes at a generic address, or NULL with a fault. */
uint8_t *ref_bytes(ref_thread *thread, uint64_t address, uint64_t bytes);

/* Executes ld, st, atom, red, cp.async, mbarrier, cvta, isspacep; false: fault. */
bool ref_memory_step(ref_thread *thread, const ref_op *op);
/* Whether threads wait for each other at this instruction. */
bool ref_meets(const ref_op *op);
void ref_meet_start(ref_thread *thread, const ref_op *op);
/* Serves the threads that can go on; false where none can. */
bool ref_meet_serve(ref_block *block);
/* Executes a matrix instruction for lanes that are all there. */
bool ref_matrix_step(ref_thread *const lane[REF_WARP], const ref_op *op);

#endif
