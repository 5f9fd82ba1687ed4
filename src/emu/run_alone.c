/* One active lane, run by itself: a loop that jumps from operation to operation (alone.h). What has
 * no form, or is not as simple as the form takes it to be, is called as for many lanes. */
#include "emu/alone.h"
#include "emu/decode.h"
#include "emu/lined.h"
#include "emu/near.h"
#include "emu/single.h"
#include "emu/warp.h"

const bf_emu_op *BF_EMU_NAME(bf_emu_run_alone)(bf_emu_warp *warp, const bf_emu_op *op);

/* The lane's value in a place. */
#define VALUE(type, place) (*(type *)(void *)(lane_##type + (place)))
/* Where the values of the lane begin, by the size of their type. */
#define lane_uint16_t by_2
#define lane_int16_t by_2
#define lane_uint32_t by_4
#define lane_int32_t by_4
#define lane_float by_4
#define lane_uint64_t by_8
#define lane_int64_t by_8
#define lane_double by_8
/* The same handed on by the operation before. */
#define LAST(type, place) as_##type(last)
#define BITS(type, bits)                                                                           \
  __attribute__((unused)) static inline uint64_t bits_of_##type(type x) { return (bits)x; }        \
  static inline type as_##type(uint64_t x) { return (type)(bits)x; }
BITS(uint16_t, uint16_t)
BITS(int16_t, uint16_t)
BITS(uint32_t, uint32_t)
BITS(int32_t, uint32_t)
BITS(uint64_t, uint64_t)
BITS(int64_t, uint64_t)
static inline uint64_t bits_of_float(float x) { return bf_emu_float_bits(x); }
static inline float as_float(uint64_t x) { return bf_emu_bits_float((uint32_t)x); }
static inline uint64_t bits_of_double(double x) { return bf_emu_double_bits(x); }
static inline double as_double(uint64_t x) { return bf_emu_bits_double(x); }
#define TRUTH(place) (*(uint32_t *)(void *)(registers + (place)))

/* Counts the instructions since the last jump as those of one lane. */
static inline void account(bf_emu_warp *warp, const bf_emu_op *end) {
  const bf_emu_code *code = warp->frame->code;
  uint32_t count = code->counted[end - code->op] - code->counted[warp->segment - code->op];
  warp->instructions += count;
  warp->worker->warp_instructions += count;
  warp->worker->thread_instructions += count;
}

/* Where operations stand in the order of the code (decode.c). */
static inline uint32_t order_of(const bf_emu_warp *warp, const bf_emu_op *op) {
  const bf_emu_code *code = warp->frame->code;
  return code->order[op - code->op];
}

/* The least place of a path beside the running one, which that lets pass or takes in (warp.c); 0
 * where there are too many to look at each time. */
static uint32_t least_order(const bf_emu_warp *warp) {
  enum { FEW_PATHS = 4 };
  uint32_t least = warp->paths > FEW_PATHS ? 0 : UINT32_MAX;
  for (unsigned i = 0; least && i < warp->paths; i++) {
    const bf_emu_path *path = &warp->path[i];
    if (path->state == BF_EMU_READY && path->join == warp->join && path->frame == warp->frame &&
        order_of(warp, path->at) < least)
      least = order_of(warp, path->at);
  }
  return least;
}

/* Where a taken branch leads, if nothing else has to be thought of; else NULL. least: of the paths
 * beside. */
static inline const bf_emu_op *jump(bf_emu_warp *warp, const bf_emu_op *op, uint32_t least) {
  const bf_emu_branch *branch = op->detail;
  if (order_of(warp, branch->target[0]) > least)
    return NULL;
  if (branch->is_backward) {
    if (warp->budget < 2 || (warp->polled && warp->spins + 1 >= BF_EMU_MOST_SPINS))
      return NULL;
    warp->budget--;
    warp->spins += warp->polled != 0;
    warp->polled = 0;
  }
  account(warp, op + 1);
  warp->segment = branch->target[0];
  return branch->target[0];
}

/* Whether size bytes at an address lie in the range that the place of the code used last. */
static inline bool is_near(const bf_emu_worker *worker, const bf_emu_op *op, uint64_t address,
                           unsigned size, bool is_write) {
  const bf_emu_known *known = &worker->known[op->site % BF_EMU_KNOWN];
  return address - known->first < known->end - known->first && known->end - address >= size &&
         (address & (size - 1)) == 0 && (!is_write || known->writable);
}

/* Whether a lane's access to size bytes of the block's own shared memory at offset is there, in
 * order, and told of: as one that was made before. */
static inline bool is_told(const bf_emu_warp *warp, const bf_emu_op *op, uint32_t bit,
                           uint32_t offset, unsigned size) {
  const bf_emu_block *block = warp->block;
  const bf_emu_worker *worker = warp->worker;
  if (block->is_checked || block->shared_bytes < size || offset > block->shared_bytes - size ||
      offset & (size - 1))
    return false;
  if (!worker->flight->observer || block->sample == BF_EMU_UNTOLD)
    return true;
  const bf_lined_key key = {op->site, bit, offset, 0, 0};
  return worker->tally && *worker->tally && bf_lined_count(*worker->tally, &key, block->index);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* labels as values */

const bf_emu_op *BF_EMU_NAME(bf_emu_run_alone)(bf_emu_warp *warp, const bf_emu_op *op) {
  static const void *const place[] = {
#define X(form, ...)                                                                               \
  [BF_ALONE_WAYS * BF_ALONE_##form] = &&do_##form, &&do_##form##_A, &&do_##form##_B,               \
                   &&do_##form##_C,
      BF_ALONE_VALUES(X) BF_ALONE_LOADS(X) BF_ALONE_SHARED_LOADS(X)
#undef X
#define X(form, ...) [BF_ALONE_WAYS * BF_ALONE_##form] = &&do_##form,
          [BF_ALONE_NONE] = &&do_NONE,
      BF_ALONE_TRUTHS(X) BF_ALONE_STORES(X) BF_ALONE_SHARED_STORES(X) BF_ALONE_ATOMICS(X)
          BF_ALONE_OTHERS(X)
#undef X
  };
  const uint32_t bit = warp->active;
  const unsigned lane = BF_FIRST_LANE(bit);
  bf_emu_worker *worker = warp->worker;
  const bool watched = bf_near_is_watched(warp);
  const bool is_free = worker->flight->alone && !watched; /* no need to lock memory, nor to tell */
  uint8_t *registers = warp->registers;
  uint8_t *by_2 = registers + 2 * lane, *by_4 = registers + 4 * lane, *by_8 = registers + 8 * lane;
  const bf_emu_op *next;
  uint32_t least = least_order(warp);
  const uint32_t base = bf_near_base(warp, BF_PTX_SPACE_SHARED);

  uint64_t last = 0; /* the bits of the result before, where the next form takes it over */

#define GO goto *place[op->form / BF_ALONE_WAYS * BF_ALONE_WAYS]
#define GO_ON                                                                                      \
  do {                                                                                             \
    op++;                                                                                          \
    goto *place[op->form];                                                                         \
  } while (0)
  GO;

do_NONE:
  next = op->run(warp, op);
  if (!next || warp->active != bit)
    return next;
  op = next;
  least = least_order(warp);
  registers = warp->registers;
  by_2 = registers + 2 * lane, by_4 = registers + 4 * lane, by_8 = registers + 8 * lane;
  GO;

#define COMPUTE(label, d_type, a_type, b_type, c_type, value, a_from, b_from, c_from)              \
  label : {                                                                                        \
    a_type a = a_from(a_type, op->a);                                                              \
    b_type b = b_from(b_type, op->b);                                                              \
    c_type c = c_from(c_type, op->c);                                                              \
    (void)b, (void)c;                                                                              \
    d_type d = (d_type)(value);                                                                    \
    VALUE(d_type, op->d) = d;                                                                      \
    last = bits_of_##d_type(d);                                                                    \
    GO_ON;                                                                                         \
  }
#define X(form, d, a, b, c, ...)                                                                   \
  COMPUTE(do_##form, d, a, b, c, __VA_ARGS__, VALUE, VALUE, VALUE)                                 \
  COMPUTE(do_##form##_A, d, a, b, c, __VA_ARGS__, LAST, VALUE, VALUE)                              \
  COMPUTE(do_##form##_B, d, a, b, c, __VA_ARGS__, VALUE, LAST, VALUE)                              \
  COMPUTE(do_##form##_C, d, a, b, c, __VA_ARGS__, VALUE, VALUE, LAST)
  BF_ALONE_VALUES(X)
#undef X

#define X(form, type, truth)                                                                       \
  do_##form : {                                                                                    \
    type a = VALUE(type, op->a), b = VALUE(type, op->b);                                           \
    uint32_t holds = (truth) ? bit : 0, to = op->d;                                                \
    TRUTH(to) = (TRUTH(to) & ~bit) | (holds ^ (op->e & bit));                                      \
    GO_ON;                                                                                         \
  }
  BF_ALONE_TRUTHS(X)
#undef X

#define LOAD(label, type, from)                                                                    \
  label : {                                                                                        \
    uint64_t address = from(uint64_t, op->a) + (uint64_t)op->offset;                               \
    if (watched || !is_near(worker, op, address, sizeof(type), false))                             \
      goto do_NONE;                                                                                \
    type d = *(const type *)(uintptr_t)address;                                                    \
    VALUE(type, op->d) = d;                                                                        \
    last = d;                                                                                      \
    GO_ON;                                                                                         \
  }
#define X(form, type)                                                                              \
  LOAD(do_##form, type, VALUE)                                                                     \
  LOAD(do_##form##_A, type, LAST)                                                                  \
  do_##form##_B : do_##form##_C : goto do_##form;
  BF_ALONE_LOADS(X)
#undef X

#define X(form, type)                                                                              \
  do_##form : {                                                                                    \
    uint64_t address = VALUE(uint64_t, op->a) + (uint64_t)op->offset;                              \
    if (watched || !is_near(worker, op, address, sizeof(type), true))                              \
      goto do_NONE;                                                                                \
    *(type *)(uintptr_t)address = VALUE(type, op->d);                                              \
    GO_ON;                                                                                         \
  }
  BF_ALONE_STORES(X)
#undef X

#define LOAD_SHARED(label, type, from)                                                             \
  label : {                                                                                        \
    uint32_t offset = from(uint32_t, op->a) + (uint32_t)op->offset - base;                         \
    if (!is_told(warp, op, bit, offset, sizeof(type)))                                             \
      goto do_NONE;                                                                                \
    type d = *(const type *)(const void *)(warp->block->shared + offset);                          \
    VALUE(type, op->d) = d;                                                                        \
    last = d;                                                                                      \
    GO_ON;                                                                                         \
  }
#define X(form, type)                                                                              \
  LOAD_SHARED(do_##form, type, VALUE)                                                              \
  LOAD_SHARED(do_##form##_A, type, LAST)                                                           \
  do_##form##_B : do_##form##_C : goto do_##form;
  BF_ALONE_SHARED_LOADS(X)
#undef X

#define X(form, type)                                                                              \
  do_##form : {                                                                                    \
    uint32_t offset = VALUE(uint32_t, op->a) + (uint32_t)op->offset - base;                        \
    if (!is_told(warp, op, bit, offset, sizeof(type)))                                             \
      goto do_NONE;                                                                                \
    *(type *)(void *)(warp->block->shared + offset) = VALUE(type, op->d);                          \
    GO_ON;                                                                                         \
  }
  BF_ALONE_SHARED_STORES(X)
#undef X

#define POLL(form, type)                                                                           \
  do_##form : {                                                                                    \
    uint64_t address = VALUE(uint64_t, op->a) + (uint64_t)(int64_t)op->by;                         \
    if (watched || !is_near(worker, op, address, sizeof(type), false))                             \
      goto do_NONE;                                                                                \
    VALUE(type, op->d) = *(const volatile type *)(uintptr_t)address;                               \
    warp->polled = BF_EMU_POLLS_GRID;                                                              \
    GO_ON;                                                                                         \
  }
  POLL(POLL_32, uint32_t)
  POLL(POLL_64, uint64_t)

  /* small[0]: it may wait for others. */
#define X(form, type, value)                                                                       \
  do_##form : {                                                                                    \
    uint64_t address = VALUE(uint64_t, op->a) + (uint64_t)(int64_t)op->by;                         \
    if (watched || !is_near(worker, op, address, sizeof(type), true))                              \
      goto do_NONE;                                                                                \
    type *at = (type *)(uintptr_t)address, old = __atomic_load_n(at, __ATOMIC_RELAXED);            \
    type b = VALUE(type, op->b), c = VALUE(type, op->c);                                           \
    (void)b, (void)c;                                                                              \
    worker->atomics++;                                                                             \
    if (is_free)                                                                                   \
      *at = (value);                                                                               \
    else                                                                                           \
      while ((type)(value) != old &&                                                               \
             !__atomic_compare_exchange_n(at, &old, (type)(value), false, __ATOMIC_SEQ_CST,        \
                                          __ATOMIC_SEQ_CST))                                       \
        ;                                                                                          \
    VALUE(type, op->d) = old;                                                                      \
    warp->polled |= op->small[0];                                                                  \
    GO_ON;                                                                                         \
  }
  BF_ALONE_ATOMICS(X)
#undef X

do_CHOOSE_32:
  VALUE(uint32_t, op->d) = VALUE(uint32_t, (TRUTH(op->c) ^ op->e) & bit ? op->a : op->b);
  GO_ON;
do_CHOOSE_64:
  VALUE(uint64_t, op->d) = VALUE(uint64_t, (TRUTH(op->c) ^ op->e) & bit ? op->a : op->b);
  GO_ON;
do_AND_TRUTH:
  next = op;
  TRUTH(next->d) =
      (TRUTH(next->d) & ~bit) | (bit & (TRUTH(next->a) ^ next->c) & (TRUTH(next->b) ^ next->e));
  GO_ON;
do_OR_TRUTH:
  next = op;
  TRUTH(next->d) =
      (TRUTH(next->d) & ~bit) | (bit & ((TRUTH(next->a) ^ next->c) | (TRUTH(next->b) ^ next->e)));
  GO_ON;

do_FENCE:
  if (watched)
    goto do_NONE;
  worker->atomics++;
  if (!is_free) /* else nobody sees in which order memory is written */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
  GO_ON;

do_GUARDED:
  if (!((TRUTH(op->guard) ^ op->guard_flip) & bit))
    GO_ON;
  goto *place[op->guarded];
do_BRANCH:
  if (!((TRUTH(op->guard) ^ op->guard_flip) & bit))
    GO_ON;
  next = jump(warp, op, least);
  if (!next)
    goto do_NONE;
  op = next;
  GO;

do_JOIN:
  if ((warp->join && warp->join->at == op) || (warp->paths && order_of(warp, op) >= least))
    goto do_NONE;
  GO_ON;
}
#pragma GCC diagnostic pop
