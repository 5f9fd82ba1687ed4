/* atom and red.
 *
 * Lanes act one after the other, in order. Shared memory belongs to one thread of the host, so
 * plain reads and writes are atomic there; global memory is shared by all, and is changed by
 * compare-and-swap where the launch has several threads. */
#include "emu/alone.h"
#include "emu/decode.h"
#include "emu/half.h"
#include "emu/near.h"
#include "emu/put_off.h"

enum { MOST_VECTOR = 8 };

typedef bf_emu_combine combine;

struct atomic;
/* Changes the memory of all lanes of mask, one after the other. */
typedef void (*changer)(const bf_emu_warp *warp, const struct atomic *what, uint8_t *const *pointer,
                        uint32_t mask);

typedef struct atomic {
  bf_emu_address address;
  bf_ptx_space space;
  bf_op kind;          /* as observers see it */
  unsigned told_bytes; /* in shared memory; 0: no trace can hold it */
  unsigned size;       /* bytes of an element */
  unsigned count;
  bool has_result, is_swap; /* swap: compare b with the old value, c is the new one */
  uint32_t d[MOST_VECTOR], b[MOST_VECTOR], c;
  combine apply; /* NULL for 16-byte exchange and swap */
  /* The usual operations: on one thread of the host, and on several; NULL: apply does it. */
  changer change_alone, change_together;
  uint8_t polls;       /* a bf_emu_polled, or 0 */
  bool is_system;      /* also for threads of the program, which may run beside the launch */
  bool may_be_put_off; /* put_off.h */
} atomic;

/* ---- Combining ---- */

#define COMBINE(name, type, expression)                                                            \
  static uint64_t name(uint64_t old_bits, uint64_t b_bits, uint64_t c_bits) {                      \
    type old = (type)old_bits, b = (type)b_bits, c = (type)c_bits;                                 \
    (void)old, (void)b, (void)c;                                                                   \
    return (uint64_t)(expression);                                                                 \
  }
COMBINE(add_bits, uint64_t, old + b)
COMBINE(and_bits, uint64_t, old &b)
COMBINE(or_bits, uint64_t, old | b)
COMBINE(xor_bits, uint64_t, old ^ b)
COMBINE(exchange, uint64_t, b)
COMBINE(swap_16, uint16_t, old == b ? c : old)
COMBINE(swap_32, uint32_t, old == b ? c : old)
COMBINE(swap_64, uint64_t, old == b ? c : old)
COMBINE(min_u32, uint32_t, b < old ? b : old)
COMBINE(max_u32, uint32_t, b > old ? b : old)
COMBINE(min_s32, int32_t, (uint32_t)(b < old ? b : old))
COMBINE(max_s32, int32_t, (uint32_t)(b > old ? b : old))
COMBINE(min_u64, uint64_t, b < old ? b : old)
COMBINE(max_u64, uint64_t, b > old ? b : old)
COMBINE(min_s64, int64_t, b < old ? b : old)
COMBINE(max_s64, int64_t, b > old ? b : old)
COMBINE(inc_u32, uint32_t, old >= b ? 0 : old + 1)
COMBINE(dec_u32, uint32_t, old == 0 || old > b ? b : old - 1)

static float as_float(uint64_t bits) {
  union {
    uint32_t u;
    float f;
  } value = {.u = (uint32_t)bits};
  return value.f;
}

static uint64_t from_float(float f) {
  union {
    float f;
    uint32_t u;
  } value = {.f = f};
  return f != f ? 0x7fffffffu : value.u;
}

/* Denormal numbers as zero, with their sign. */
static uint64_t flush_f32(uint64_t bits) { return bits & 0x7f800000 ? bits : bits & 0x80000000; }

/* Sums of floats keep denormal numbers in shared memory and flush them in global memory. */
static uint64_t add_f32(uint64_t old, uint64_t b, uint64_t c) {
  (void)c;
  return from_float(as_float(old) + as_float(b));
}

static uint64_t add_f32_flushed(uint64_t old, uint64_t b, uint64_t c) {
  return flush_f32(add_f32(flush_f32(old), flush_f32(b), c));
}

static uint64_t add_f64(uint64_t old, uint64_t b, uint64_t c) {
  (void)c;
  union {
    uint64_t u;
    double d;
  } left = {.u = old}, right = {.u = b};
  left.d += right.d;
  return left.u;
}

/* One half of a pair, at a shift. */
#define HALVES(name, expression)                                                                   \
  static uint64_t name##_one(uint64_t old, uint64_t b) {                                           \
    uint16_t x = (uint16_t)old, y = (uint16_t)b;                                                   \
    return (uint16_t)(expression);                                                                 \
  }                                                                                                \
  static uint64_t name(uint64_t old, uint64_t b, uint64_t c) {                                     \
    (void)c;                                                                                       \
    return name##_one(old, b);                                                                     \
  }                                                                                                \
  static uint64_t name##x2(uint64_t old, uint64_t b, uint64_t c) {                                 \
    (void)c;                                                                                       \
    return name##_one(old, b) | name##_one(old >> 16, b >> 16) << 16;                              \
  }

static bool half_is_nan(uint16_t x, bool bf16) {
  return bf16 ? (x & 0x7fff) > 0x7f80 : (x & 0x7fff) > 0x7c00;
}
static float half_value(uint16_t x, bool bf16) {
  return bf16 ? bf_emu_bf16_to_float(x) : bf_emu_half_to_float(x);
}
/* The smaller (sign 1) or larger (sign -1) of two; a NaN loses against a number. */
static uint16_t half_least(uint16_t x, uint16_t y, bool bf16, float sign) {
  if (half_is_nan(x, bf16))
    return half_is_nan(y, bf16) ? 0x7fff : y;
  if (half_is_nan(y, bf16))
    return x;
  float left = sign * half_value(x, bf16), right = sign * half_value(y, bf16);
  bool negative_zero = left == 0 && right == 0;
  if (negative_zero)
    return sign > 0 ? (x | y) : (x & y);
  return left <= right ? x : y;
}
/* A float holds enough bits that rounding twice gives what rounding once would: 24 >= 2 * 11 + 2.
 */
HALVES(add_f16, bf_emu_float_to_half(bf_emu_half_to_float(x) + bf_emu_half_to_float(y), BF_EMU_RN))
HALVES(add_bf16, bf_emu_float_to_bf16(bf_emu_bf16_to_float(x) + bf_emu_bf16_to_float(y), BF_EMU_RN))
HALVES(min_f16, half_least(x, y, false, 1))
HALVES(max_f16, half_least(x, y, false, -1))
HALVES(min_bf16, half_least(x, y, true, 1))
HALVES(max_bf16, half_least(x, y, true, -1))

static combine find_sum(bf_ptx_type type) {
  switch (type) {
  case BF_PTX_F32:
    return add_f32;
  case BF_PTX_F64:
    return add_f64;
  case BF_PTX_F16:
    return add_f16;
  case BF_PTX_F16X2:
    return add_f16x2;
  case BF_PTX_BF16:
    return add_bf16;
  case BF_PTX_BF16X2:
    return add_bf16x2;
  default:
    return add_bits;
  }
}

static combine find_extreme(bf_ptx_type type, bool is_max) {
  switch (type) {
  case BF_PTX_U32:
    return is_max ? max_u32 : min_u32;
  case BF_PTX_S32:
    return is_max ? max_s32 : min_s32;
  case BF_PTX_U64:
    return is_max ? max_u64 : min_u64;
  case BF_PTX_S64:
    return is_max ? max_s64 : min_s64;
  case BF_PTX_F16:
    return is_max ? max_f16 : min_f16;
  case BF_PTX_F16X2:
    return is_max ? max_f16x2 : min_f16x2;
  case BF_PTX_BF16:
    return is_max ? max_bf16 : min_bf16;
  case BF_PTX_BF16X2:
    return is_max ? max_bf16x2 : min_bf16x2;
  default:
    return NULL;
  }
}

/* ---- Places in memory and in registers ---- */

static uint64_t read_register(const bf_emu_warp *warp, uint32_t place, unsigned size,
                              unsigned lane) {
  uint64_t value = 0;
  memcpy(&value, warp->registers + place + lane * size, size);
  return value;
}

/* Changes *at, alone. */
static uint64_t change_alone(uint8_t *at, unsigned size, combine apply, uint64_t b, uint64_t c) {
  uint64_t old = 0;
  memcpy(&old, at, size);
  uint64_t new = apply(old, b, c);
  memcpy(at, &new, size);
  return old;
}

#define CHANGE(bits)                                                                               \
  static uint64_t change_##bits(uint8_t *at, combine apply, uint64_t b, uint64_t c) {              \
    uint##bits##_t *place = (uint##bits##_t *)(void *)at;                                          \
    uint##bits##_t old = __atomic_load_n(place, __ATOMIC_RELAXED), new;                            \
    do                                                                                             \
      new = (uint##bits##_t)apply(old, b, c);                                                      \
    while (!__atomic_compare_exchange_n(place, &old, new, false, __ATOMIC_SEQ_CST,                 \
                                        __ATOMIC_SEQ_CST));                                        \
    return old;                                                                                    \
  }
CHANGE(16)
CHANGE(32)
CHANGE(64)

static uint64_t change_together(uint8_t *at, unsigned size, combine apply, uint64_t b, uint64_t c) {
  if (size == 4 && apply == add_bits)
    return __atomic_fetch_add((uint32_t *)(void *)at, (uint32_t)b, __ATOMIC_SEQ_CST);
  return size == 2   ? change_16(at, apply, b, c)
         : size == 4 ? change_32(at, apply, b, c)
                     : change_64(at, apply, b, c);
}

/* ---- The usual operations ---- */

/* The first lane of mask and those that follow it at the same place. */
static inline uint32_t neighbours(uint8_t *const *pointer, uint32_t mask) {
  uint32_t left = mask & (mask - 1);
  const uint8_t *own = pointer[__builtin_ctz(mask)];
  while (left && pointer[__builtin_ctz(left)] == own)
    left &= left - 1;
  return mask ^ left;
}

/* old becomes value, which is an expression of old, b and c; together is how several threads do it
 * and get the old value. What lanes that follow each other do to one place is done at once, in
 * their order: a counter that all lanes raise is locked once, not 32 times. */
#define CHANGER(name, type, value, together)                                                       \
  static void name##_alone(const bf_emu_warp *warp, const atomic *what, uint8_t *const *pointer,   \
                           uint32_t mask) {                                                        \
    const type *left = BF_LANES(type, what->b[0]);                                                 \
    const type *right = BF_LANES(type, what->is_swap ? what->c : what->b[0]);                      \
    type *d = BF_LANES(type, what->has_result ? what->d[0] : BF_EMU_NOWHERE);                      \
    BF_EACH_LANE(mask, lane) {                                                                     \
      type *at = (type *)(void *)pointer[lane], old = *at, b = left[lane], c = right[lane];        \
      (void)b, (void)c;                                                                            \
      *at = (value);                                                                               \
      d[lane] = old;                                                                               \
    }                                                                                              \
  }                                                                                                \
  static void name##_together(const bf_emu_warp *warp, const atomic *what,                         \
                              uint8_t *const *pointer, uint32_t mask) {                            \
    const type *left = BF_LANES(type, what->b[0]);                                                 \
    const type *right = BF_LANES(type, what->is_swap ? what->c : what->b[0]);                      \
    type *d = BF_LANES(type, what->has_result ? what->d[0] : BF_EMU_NOWHERE);                      \
    for (uint32_t run; mask; mask &= ~run) {                                                       \
      unsigned lane = (unsigned)__builtin_ctz(mask);                                               \
      type *at = (type *)(void *)pointer[lane], old, b = left[lane], c = right[lane];              \
      (void)c;                                                                                     \
      run = neighbours(pointer, mask);                                                             \
      if (run & (run - 1)) {                                                                       \
        type found = __atomic_load_n(at, __ATOMIC_RELAXED);                                        \
        do {                                                                                       \
          old = found;                                                                             \
          BF_EACH_LANE(run, next) {                                                                \
            b = left[next], c = right[next];                                                       \
            type new = (type)(value);                                                              \
            d[next] = old;                                                                         \
            old = new;                                                                             \
          }                                                                                        \
        } while (old != found && !__atomic_compare_exchange_n(                                     \
                                     at, &found, old, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
        continue;                                                                                  \
      }                                                                                            \
      together;                                                                                    \
      d[lane] = old;                                                                               \
    }                                                                                              \
  }
#define FETCH(function) old = function(at, b, __ATOMIC_SEQ_CST)
/* What changes nothing locks nothing. */
#define SWAP                                                                                       \
  old = __atomic_load_n(at, __ATOMIC_RELAXED);                                                     \
  if (old == b)                                                                                    \
  __atomic_compare_exchange_n(at, &old, c, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define FETCH_BITS(function, value)                                                                \
  old = __atomic_load_n(at, __ATOMIC_RELAXED);                                                     \
  if (old != (value))                                                                              \
  FETCH(function)
/* By compare and swap until nobody came between. */
#define RETRY(type, value)                                                                         \
  type new;                                                                                        \
  old = __atomic_load_n(at, __ATOMIC_RELAXED);                                                     \
  do                                                                                               \
    new = (type)(value);                                                                           \
  while (new != old &&                                                                             \
         !__atomic_compare_exchange_n(at, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
#define RETRIED(name, type, value) CHANGER(name, type, value, RETRY(type, value))
#define EACH_WIDTH(bits)                                                                           \
  CHANGER(sum_##bits, uint##bits##_t, old + b, FETCH(__atomic_fetch_add))                          \
  CHANGER(both_##bits, uint##bits##_t, old &b, FETCH_BITS(__atomic_fetch_and, (old & b)))          \
  CHANGER(either_##bits, uint##bits##_t, old | b, FETCH_BITS(__atomic_fetch_or, (old | b)))        \
  CHANGER(exchange_##bits, uint##bits##_t, b, FETCH(__atomic_exchange_n))                          \
  CHANGER(swapped_##bits, uint##bits##_t, old == b ? c : old, SWAP)                                \
  RETRIED(least_u##bits, uint##bits##_t, b < old ? b : old)                                        \
  RETRIED(most_u##bits, uint##bits##_t, b > old ? b : old)                                         \
  RETRIED(least_s##bits, int##bits##_t, b < old ? b : old)                                         \
  RETRIED(most_s##bits, int##bits##_t, b > old ? b : old)
EACH_WIDTH(32)
EACH_WIDTH(64)
RETRIED(float_sum, uint32_t, (uint32_t)add_f32_flushed(old, b, 0))
RETRIED(double_sum, uint64_t, add_f64(old, b, 0))

/* Finds them. Sums of floats depend on the space, so that it must be known. */
static void find_changers(atomic *what) {
#define ROW(combine, size, name)                                                                   \
  { combine, size, name##_alone, name##_together }
#define ROWS(bits, size)                                                                           \
  ROW(add_bits, size, sum_##bits), ROW(and_bits, size, both_##bits),                               \
      ROW(or_bits, size, either_##bits), ROW(exchange, size, exchange_##bits),                     \
      ROW(swap_##bits, size, swapped_##bits), ROW(min_u##bits, size, least_u##bits),               \
      ROW(max_u##bits, size, most_u##bits), ROW(min_s##bits, size, least_s##bits),                 \
      ROW(max_s##bits, size, most_s##bits)
  static const struct {
    combine apply;
    unsigned size;
    changer alone, together;
  } table[] = {ROWS(32, 4), ROWS(64, 8), ROW(add_f64, 8, double_sum), ROW(add_f32, 4, float_sum)};
  for (unsigned i = 0; i < sizeof table / sizeof *table && what->count == 1; i++)
    if (table[i].apply == what->apply && table[i].size == what->size &&
        (what->apply != add_f32 || what->space == BF_PTX_SPACE_GLOBAL)) {
      what->change_alone = table[i].alone;
      what->change_together = table[i].together;
    }
}

/* ---- Operations ---- */

/* Whether the count of an atomic depends on values: it is a loop of compare-and-swap, in which some
 * lane may not change its word. */
static bool depends_on_values(const bf_emu_warp *warp, const atomic *what, uint32_t mask) {
  const uint64_t *operand = BF_LANES(const uint64_t, what->b[0]);
  if (what->kind != BF_OP_ADD64 || !warp->worker->flight->observer || (mask & (mask - 1)) == 0)
    return false;
  if (what->apply != add_bits && what->apply != xor_bits)
    return true;
  BF_EACH_LANE(mask, lane) if (!operand[lane]) return true;
  return false;
}

/* Pointers of all lanes of an atomic whose count depends on values. */
static bool reach_words(bf_emu_warp *warp, const bf_emu_op *op, const atomic *what, uint32_t mask,
                        uint8_t **pointer) {
  bf_changes changes = {what->apply, BF_LANES(const uint64_t, what->b[0]), warp->block->shared,
                        what->apply == min_u64 || what->apply == max_u64 ||
                            what->apply == min_s64 || what->apply == max_s64};
  bf_near_access access = {what->space, what->kind, what->size, what->told_bytes, true};
  warp->beside = &changes;
  bool is_right = bf_near_reach(warp, op, &what->address, &access, mask, pointer);
  warp->beside = NULL;
  return is_right;
}

/* Pointers of all lanes; false: the launch has ended. */
static bool reach(bf_emu_warp *warp, const bf_emu_op *op, const atomic *what, uint32_t mask,
                  uint8_t **pointer) {
  unsigned width = what->size * what->count;
  if (depends_on_values(warp, what, mask))
    return reach_words(warp, op, what, mask, pointer);
  bf_near_access access = {what->space, what->kind, width, what->told_bytes, true};
  return bf_near_reach(warp, op, &what->address, &access, mask, pointer);
}

/* Whether a pointer leads into the shared memory of the block. */
static bool is_shared(const bf_emu_warp *warp, const uint8_t *pointer) {
  uintptr_t start = (uintptr_t)warp->block->shared;
  return (uintptr_t)pointer - start < warp->block->shared_bytes;
}

/* Has all lines brought for writing before the first of them is locked: atomics of the host do not
 * overlap, and lines come from other cores. */
#if defined(__AVX2__)
__attribute__((target("prfchw")))
#endif
static void
fetch_lines(uint8_t *const *pointer, uint32_t mask) {
  BF_EACH_LANE(mask, lane) __builtin_prefetch(pointer[lane], 1);
}

/* Puts a reduction off; false: its warp must wait until others are made. */
static bool put_off(const bf_emu_warp *warp, const atomic *what, uint32_t mask,
                    uint8_t *const *pointer) {
  combine apply = what->apply == add_f32 ? add_f32_flushed : what->apply;
  bool is_put_off = bf_emu_put_off_add(warp->worker, apply, what->size, mask, pointer,
                                       warp->registers + what->b[0]);
  warp->worker->must_wait |= !is_put_off;
  return is_put_off;
}

static const bf_emu_op *run_atomic(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK();
  const atomic *what = op->detail;
  uint8_t *pointer[BF_EMU_LANES];
  if (mask == 0)
    return op + 1;
  if (!reach(warp, op, what, mask, pointer))
    return NULL;
  if (what->may_be_put_off && warp->worker->put_off)
    return put_off(warp, what, mask, pointer) ? op + 1 : NULL;
  bool alone =
      (warp->worker->flight->alone && !what->is_system) || what->space == BF_PTX_SPACE_SHARED;
  warp->polled |= what->polls;
  warp->worker->atomics +=
      what->space == BF_PTX_SPACE_SHARED ? 0 : (unsigned)__builtin_popcount(mask);
  if (what->change_alone) {
    if (!alone)
      fetch_lines(pointer, mask);
    (alone ? what->change_alone : what->change_together)(warp, what, pointer, mask);
    return op + 1;
  }
  BF_EACH_LANE(mask, lane)
  for (unsigned i = 0; i < what->count; i++) {
    combine apply = what->apply;
    if (apply == add_f32 && !is_shared(warp, pointer[lane]))
      apply = add_f32_flushed;
    uint64_t b = read_register(warp, what->b[i], what->size, lane);
    uint64_t c = what->is_swap ? read_register(warp, what->c, what->size, lane) : 0;
    uint8_t *at = pointer[lane] + i * what->size;
    uint64_t old = alone ? change_alone(at, what->size, apply, b, c)
                         : change_together(at, what->size, apply, b, c);
    if (what->has_result)
      memcpy(warp->registers + what->d[i] + lane * what->size, &old, what->size);
  }
  return op + 1;
}

/* Integer sums in shared memory of 32 bits, which histograms are made of. */
static const bf_emu_op *add_shared_32(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK(), wrong = 0, address[BF_EMU_LANES];
  const atomic *what = op->detail;
  const uint32_t *from = BF_LANES(uint32_t, what->address.place);
  uint64_t bytes = warp->block->shared_bytes;
  uint32_t last = (uint32_t)(bytes < 4 ? 0 : bytes - 4);
  uint32_t behind = (uint32_t)what->address.offset - bf_near_base(warp, BF_PTX_SPACE_SHARED);
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    address[lane] = from[lane] + behind;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    wrong |= mask >> lane & 1 ? (uint32_t)(address[lane] > last) | (address[lane] & 3) : 0;
  if (wrong || bytes < 4 || warp->block->is_checked)
    return run_atomic(warp, op);
  bf_emu_tell_shared(warp, op, what->kind, 4, mask, address);
  const uint32_t *b = BF_LANES(uint32_t, what->b[0]);
  uint32_t *d = BF_LANES(uint32_t, what->has_result ? what->d[0] : BF_EMU_NOWHERE);
  uint8_t *shared = warp->block->shared;
  BF_EACH_LANE(mask, lane) {
    uint32_t *at = (uint32_t *)(void *)(shared + address[lane]), value = b[lane];
    d[lane] = *at;
    *at += value;
  }
  return op + 1;
}

/* exch and cas of 16 bytes. */
static const bf_emu_op *run_wide(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK();
  const atomic *what = op->detail;
  uint8_t *pointer[BF_EMU_LANES];
  if (mask == 0)
    return op + 1;
  if (!reach(warp, op, what, mask, pointer))
    return NULL;
  pthread_mutex_lock(&warp->worker->flight->lock);
  BF_EACH_LANE(mask, lane) {
    const bf_emu_wide *b = BF_LANES(bf_emu_wide, what->b[0]) + lane;
    const bf_emu_wide *c = what->is_swap ? BF_LANES(bf_emu_wide, what->c) + lane : b;
    bf_emu_wide old, new = *c;
    memcpy(&old, pointer[lane], sizeof old);
    if (!what->is_swap || (old.low == b->low && old.high == b->high))
      memcpy(pointer[lane], &new, sizeof new);
    if (what->has_result)
      BF_LANES(bf_emu_wide, what->d[0])[lane] = old;
  }
  pthread_mutex_unlock(&warp->worker->flight->lock);
  warp->polled |= what->polls;
  return op + 1;
}

/* ---- Finding the operation of an instruction ---- */

static combine find_combine(const bf_ptx_instruction *instruction, bf_ptx_type type) {
  unsigned bytes = bf_ptx_type_bytes(type);
  if (bf_ptx_has(instruction, "cas"))
    return bytes == 2 ? swap_16 : bytes == 4 ? swap_32 : swap_64;
  if (bf_ptx_has(instruction, "exch"))
    return exchange;
  if (bf_ptx_has(instruction, "add"))
    return find_sum(type);
  if (bf_ptx_has(instruction, "and"))
    return and_bits;
  if (bf_ptx_has(instruction, "or"))
    return or_bits;
  if (bf_ptx_has(instruction, "xor"))
    return xor_bits;
  if (bf_ptx_has(instruction, "inc"))
    return inc_u32;
  if (bf_ptx_has(instruction, "dec"))
    return dec_u32;
  bool is_max = bf_ptx_has(instruction, "max");
  return is_max || bf_ptx_has(instruction, "min") ? find_extreme(type, is_max) : NULL;
}

/* The places of one operand, which may be a vector. */
static bool bind(bf_emu_decoder *decoder, const bf_ptx_operand *operand, bf_ptx_type type,
                 bool is_destination, uint32_t *place, unsigned *count) {
  const bf_ptx_operand *item = operand->kind == BF_PTX_VECTOR ? operand->item : operand;
  *count = operand->kind == BF_PTX_VECTOR ? operand->count : 1;
  if (*count > MOST_VECTOR)
    return bf_emu_refuse(decoder, "vector of this size"), false;
  for (unsigned i = 0; i < *count; i++) {
    unsigned bytes = bf_emu_register_bytes(&item[i], type);
    if (item[i].kind == BF_PTX_REGISTER && bytes != bf_ptx_type_bytes(type))
      return bf_emu_refuse(decoder, "register of another size"), false;
    place[i] = is_destination ? bf_emu_destination(decoder, &item[i])
                              : bf_emu_source(decoder, &item[i], type);
  }
  return true;
}

/* What one lane alone does by itself, and what that needs (alone.h). */
static void bind_alone(const atomic *what, bf_emu_op *op) {
  bool is_global = what->space == BF_PTX_SPACE_GLOBAL || what->space == BF_PTX_SPACE_NONE;
  bool is_long = what->size == 8;
  if (!is_global || what->count != 1 || what->address.register_bytes != 8 ||
      what->address.offset != (int32_t)what->address.offset || !what->change_alone)
    return;
  if (what->apply == add_bits)
    op->form = is_long ? BF_ALONE_ATOM_ADD_64 : BF_ALONE_ATOM_ADD_32;
  else if (what->apply == exchange)
    op->form = is_long ? BF_ALONE_ATOM_EXCHANGE_64 : BF_ALONE_ATOM_EXCHANGE_32;
  else if (what->is_swap)
    op->form = is_long ? BF_ALONE_ATOM_SWAP_64 : BF_ALONE_ATOM_SWAP_32;
  op->a = what->address.place;
  op->by = (int32_t)what->address.offset;
  op->b = what->b[0];
  op->c = what->is_swap ? what->c : what->b[0];
  op->d = what->has_result ? what->d[0] : BF_EMU_NOWHERE;
  op->small[0] = what->polls;
}

/* Whether nobody can tell when an atomic is made, but for who reads its words: its result is not
 * read, and it keeps nothing behind it that stands there. */
static bool may_be_put_off(const bf_ptx_instruction *instruction, const atomic *what,
                           bool is_used) {
  return !is_used && what->space == BF_PTX_SPACE_GLOBAL && what->count == 1 && what->size <= 8 &&
         !what->polls && !what->is_system && !bf_ptx_has(instruction, "acquire") &&
         !bf_ptx_has(instruction, "acq_rel");
}

bool BF_EMU_NAME(bf_emu_select_atomic)(bf_emu_decoder *decoder,
                                       const bf_ptx_instruction *instruction, bf_emu_op *op);

bool BF_EMU_NAME(bf_emu_select_atomic)(bf_emu_decoder *decoder,
                                       const bf_ptx_instruction *instruction, bf_emu_op *op) {
  bool is_atom = instruction->opcode == BF_PTX_OP_ATOM;
  if (!is_atom && instruction->opcode != BF_PTX_OP_RED)
    return false;
  if (instruction->types != 1)
    return bf_emu_refuse(decoder, "no type");
  atomic *what = bf_emu_detail(decoder, sizeof *what);
  if (!what)
    return true;
  const bf_ptx_operand *operand = instruction->operand + (is_atom ? 1 : 0);
  bf_ptx_type type = instruction->type[0];
  unsigned results = 0, swaps = 0;
  what->size = bf_ptx_type_bytes(type);
  what->space = bf_ptx_address_space(instruction, &operand[0]);
  what->is_swap = bf_ptx_has(instruction, "cas");
  what->is_system = bf_ptx_has(instruction, "sys");
  decoder->kernel->uses_system |= what->is_system;
  what->has_result = is_atom && instruction->operand[0].kind != BF_PTX_SINK;
  bool is_used = what->has_result && (instruction->operand[0].kind == BF_PTX_VECTOR ||
                                      bf_emu_is_read(decoder, &instruction->operand[0]));
  if (!bf_ptx_access_kind(instruction, is_used, &what->kind, &what->told_bytes)) {
    what->kind = BF_OP_ATOM;
    what->told_bytes = 0;
  }
  if (what->is_swap || bf_ptx_has(instruction, "exch"))
    what->polls = what->space == BF_PTX_SPACE_SHARED ? BF_EMU_POLLS_BLOCK : BF_EMU_POLLS_GRID;
  what->apply = what->size == 16 ? NULL : find_combine(instruction, type);
  if (!what->apply && (what->size != 16 || !what->polls))
    return bf_emu_refuse(decoder, "operation of this type");
  if (!bind(decoder, &operand[1], type, false, what->b, &what->count) ||
      (what->has_result &&
       !bind(decoder, &instruction->operand[0], type, true, what->d, &results)) ||
      (what->is_swap && !bind(decoder, &operand[2], type, false, &what->c, &swaps)))
    return true;
  what->address = bf_emu_bind_address(decoder, instruction, &operand[0], what->space);
  find_changers(what);
  what->may_be_put_off = may_be_put_off(instruction, what, is_used);
  op->small[BF_EMU_SMALL_PUT_OFF] = what->may_be_put_off;
  op->detail = what;
  if (!what->is_system)
    bind_alone(what, op);
  bool is_plain_sum = what->apply == add_bits && what->size == 4 && what->count == 1 &&
                      what->space == BF_PTX_SPACE_SHARED && what->address.register_bytes == 4 &&
                      !bf_ptx_has(instruction, "shared::cluster");
  op->run = what->size == 16 ? run_wide : is_plain_sum ? add_shared_32 : run_atomic;
  return true;
}
