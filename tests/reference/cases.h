/* Tiny PTX kernels, one form of an instruction each, with inputs full of edge values. The same
 * kernels run on the emulator, on the reference interpreter and on a GPU. This part needs only the
 * C library, so that it builds on a machine that has little more than a compiler.
 *
 * Every kernel is one block of CASE_LANES threads; each thread loads its operands, executes the
 * body and stores its results. Inside a body
 *   %a %b %c %d %e  are the inputs, %r0 %r1 ... the results, of the kinds that the form names;
 *   %lane           is the thread's number, %m a place of its own in global memory of
 *                   CASE_PLACE_BYTES bytes, %s the same in shared memory (array sh);
 *   %p0 ... %p7, %h0 ... %h7 (16 bits), %t0 ... %t15 (32), %l0 ... %l15 (64) are free.
 * The memory behind %m starts as zeros. */
#ifndef CASES_H
#define CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CASE_LANES = 384, CASE_PLACE_BYTES = 16, CASE_MOST_INPUTS = 5, CASE_MOST_RESULTS = 8 };

/* What an operand holds: enum, name, register type, type to load and store, bytes. */
#define CASE_KINDS(X)                                                                              \
  X(B8, "b8", "b32", "u8", 1)                                                                      \
  X(B16, "b16", "b16", "b16", 2)                                                                   \
  X(B32, "b32", "b32", "b32", 4)                                                                   \
  X(B64, "b64", "b64", "b64", 8)                                                                   \
  X(F16, "f16", "b16", "b16", 2)                                                                   \
  X(BF16, "bf16", "b16", "b16", 2)                                                                 \
  X(F16X2, "f16x2", "b32", "b32", 4)                                                               \
  X(BF16X2, "bf16x2", "b32", "b32", 4)                                                             \
  X(F32, "f32", "b32", "b32", 4)                                                                   \
  X(F64, "f64", "b64", "b64", 8)                                                                   \
  X(FP8X2, "fp8x2", "b16", "b16", 2)                                                               \
  X(COUNT, "count", "b32", "b32", 4)   /* shift counts, bit positions, lengths */                  \
  X(PLACE, "place", "b32", "b32", 4)   /* a lane number, 0 to 31 */                                \
  X(FEW, "few", "b32", "b32", 4)       /* 0 to 3 */                                                \
  X(TAME16, "tame16", "b32", "b32", 4) /* two f16, small multiples of 1/2 */                       \
  X(TAMEB16, "tameb16", "b32", "b32", 4)                                                           \
  X(TAME32, "tame32", "b32", "b32", 4) /* f32 */                                                   \
  X(TAME64, "tame64", "b64", "b64", 8) /* f64 */                                                   \
  X(PRED, "pred", "pred", "u8", 1)

typedef enum case_kind {
#define X(symbol, name, reg, load, bytes) CASE_##symbol,
  CASE_KINDS(X)
#undef X
      CASE_KIND_COUNT
} case_kind;

const char *case_kind_name(case_kind kind);
unsigned case_kind_bytes(case_kind kind);

/* How far a result may be from the true value: the larger of relative * |true| and absolute. Both
 * 0: not at all. */
typedef struct case_bound {
  double relative, absolute;
} case_bound;

typedef struct case_form {
  char *body;
  unsigned inputs, results;
  case_kind input[CASE_MOST_INPUTS], result[CASE_MOST_RESULTS];
  case_bound bound;
} case_form;

typedef struct case_list {
  case_form *form;
  size_t count, capacity;
  bool failed; /* no memory */
} case_list;

/* All forms. */
void case_list_make(case_list *list);
void case_list_free(case_list *list);
/* Identifies a form by its text, its kinds and the version of the inputs. */
uint64_t case_key(const case_form *form);

/* Bytes of the input buffer, the same for all forms: 8 for each operand of each lane. */
enum { CASE_INPUT_BYTES = CASE_MOST_INPUTS * CASE_LANES * 8 };
void case_fill_input(const case_form *form, uint8_t *input);
/* The results lie one behind the other, each an array over lanes. */
size_t case_output_bytes(const case_form *form);
/* Where result index starts in the output. */
size_t case_output_offset(const case_form *form, unsigned index);
enum { CASE_SCRATCH_BYTES = CASE_LANES * CASE_PLACE_BYTES };

/* A module with the kernels k<first> to k<first + count - 1>; freed by the caller, NULL without
 * memory. Parameters of each kernel: addresses of input, output and scratch, 8 bytes each. */
char *case_module(const case_list *list, size_t first, size_t count);

/* ---- For the files that list forms ---- */

/* Text that grows; data is NULL once memory is exhausted. */
typedef struct case_text {
  char *data;
  size_t size, capacity;
} case_text;

void case_put(case_text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A well mixed 64-bit number of n. */
uint64_t case_mix(uint64_t n);
/* FNV-1a over bytes, going on from hash. */
uint64_t case_hash(uint64_t hash, const void *bytes, size_t size);
#define CASE_HASH_START 0xcbf29ce484222325

/* Runs the statement behind it for every text item of an array of texts. */
#define EACH(item, list)                                                                           \
  for (const char *const *item##_at = (list), *item = *item##_at;                                  \
       item##_at < (list) + sizeof(list) / sizeof *(list) && (item = *item##_at, true);            \
       item##_at++)

/* Adds a form; kinds is "input input > result ...". */
void case_add(case_list *list, const char *kinds, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, for an approximation. */
void case_add_approximate(case_list *list, case_bound bound, const char *kinds, const char *format,
                          ...) __attribute__((format(printf, 4, 5)));

void case_integer_forms(case_list *list);
void case_bit_forms(case_list *list);
void case_compare_forms(case_list *list);
void case_float_forms(case_list *list);
void case_half_forms(case_list *list);
void case_convert_forms(case_list *list);
void case_memory_forms(case_list *list);
void case_atomic_forms(case_list *list);
void case_warp_forms(case_list *list);
void case_control_forms(case_list *list);
void case_video_forms(case_list *list);
void case_matrix_forms(case_list *list);
/* Last, for a machine without fair lanes would hang. */
void case_lock_forms(case_list *list);

#endif
