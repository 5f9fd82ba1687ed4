/* mov, packing and unpacking of vectors, cvta, isspacep, and what only orders or hints. */
#include "emu/alone.h"
#include "emu/bind.h"
#include "emu/clock.h"
#include "emu/cluster.h"
#include "emu/decode.h"
#include "emu/device.h"
#include "emu/proxy.h"
#include "emu/race.h"
#include "emu/resize.h"

/* ---- mov of one value ---- */

BF_EMU_UNARY(move_16, uint16_t, a[lane])
BF_EMU_UNARY(move_32, uint32_t, a[lane])
BF_EMU_UNARY(move_64, uint64_t, a[lane])

static const bf_emu_op *move_128(bf_emu_warp *warp, const bf_emu_op *op) {
  bf_emu_wide *d = BF_LANES(bf_emu_wide, op->d);
  const bf_emu_wide *a = BF_LANES(bf_emu_wide, op->a);
  BF_EACH_LANE(BF_MASK(), lane) d[lane] = a[lane];
  return op + 1;
}

/* Special registers have at least 32 bits. */
static const bf_emu_op *move_32_to_16(bf_emu_warp *warp, const bf_emu_op *op) {
  uint16_t *d = BF_LANES(uint16_t, op->d);
  const uint32_t *a = BF_LANES(uint32_t, op->a);
  BF_SET_LANES(BF_MASK(), d, (uint16_t)a[lane]);
  return op + 1;
}

/* d = a ^ b of predicates, where b is ~0 for a negated a. */
static const bf_emu_op *move_predicate(bf_emu_warp *warp, const bf_emu_op *op) {
  bf_emu_set_predicate(warp, op->d, BF_MASK(), BF_PREDICATE(op->a) ^ op->b);
  return op + 1;
}

/* The operation that copies values of a size in bytes, or NULL. */
static bf_emu_step move_of(unsigned bytes) {
  switch (bytes) {
  case 2:
    return move_16;
  case 4:
    return move_32;
  case 8:
    return move_64;
  case 16:
    return move_128;
  default:
    return NULL;
  }
}

/* ---- Packing and unpacking ---- */

enum { MOST_ELEMENTS = 8 };

/* The elements of a vector operand, the lowest bits first. */
typedef struct vector {
  unsigned count;
  unsigned whole_bytes, element_bytes;
  uint32_t place[MOST_ELEMENTS];
} vector;

#define PACK(function, whole, part)                                                                \
  static const bf_emu_op *function(bf_emu_warp *warp, const bf_emu_op *op) {                       \
    whole *d = BF_LANES(whole, op->d);                                                             \
    const part *low = BF_LANES(part, op->a), *high = BF_LANES(part, op->b);                        \
    BF_SET_LANES(BF_MASK(), d, (whole)low[lane] | (whole)high[lane] << 8 * sizeof(part));          \
    return op + 1;                                                                                 \
  }
PACK(pack_32, uint32_t, uint16_t)
PACK(pack_64, uint64_t, uint32_t)

/* low and high may be the place that nobody reads. */
#define UNPACK(function, whole, part)                                                              \
  static const bf_emu_op *function(bf_emu_warp *warp, const bf_emu_op *op) {                       \
    const whole *a = BF_LANES(whole, op->a);                                                       \
    part *low = BF_LANES(part, op->d), *high = BF_LANES(part, op->e);                              \
    BF_SET_LANES(BF_MASK(), low, (part)a[lane]);                                                   \
    BF_SET_LANES(BF_MASK(), high, (part)(a[lane] >> 8 * sizeof(part)));                            \
    return op + 1;                                                                                 \
  }
UNPACK(unpack_32, uint32_t, uint16_t)
UNPACK(unpack_64, uint64_t, uint32_t)

/* Where the bytes of a lane lie in a place; 8-bit values take two bytes. */
static uint8_t *element_at(bf_emu_warp *warp, uint32_t place, unsigned bytes, uint32_t lane) {
  return warp->registers + place + (bytes < 2 ? 2 : bytes) * lane;
}

static const bf_emu_op *pack_any(bf_emu_warp *warp, const bf_emu_op *op) {
  const vector *v = op->detail;
  BF_EACH_LANE(BF_MASK(), lane) {
    uint8_t whole[sizeof(bf_emu_wide)];
    for (unsigned i = 0; i < v->count; i++)
      memcpy(whole + i * v->element_bytes, element_at(warp, v->place[i], v->element_bytes, lane),
             v->element_bytes);
    memcpy(element_at(warp, op->d, v->whole_bytes, lane), whole, v->whole_bytes);
  }
  return op + 1;
}

static const bf_emu_op *unpack_any(bf_emu_warp *warp, const bf_emu_op *op) {
  const vector *v = op->detail;
  BF_EACH_LANE(BF_MASK(), lane) {
    uint8_t whole[sizeof(bf_emu_wide)];
    memcpy(whole, element_at(warp, op->a, v->whole_bytes, lane), v->whole_bytes);
    for (unsigned i = 0; i < v->count; i++) {
      uint8_t *element = element_at(warp, v->place[i], v->element_bytes, lane);
      if (v->element_bytes == 1)
        element[1] = 0;
      memcpy(element, whole + i * v->element_bytes, v->element_bytes);
    }
  }
  return op + 1;
}

/* The type of bits in elements of a vector, or NONE. */
static bf_ptx_type element_type(unsigned bytes) {
  switch (bytes) {
  case 1:
    return BF_PTX_B8;
  case 2:
    return BF_PTX_B16;
  case 4:
    return BF_PTX_B32;
  case 8:
    return BF_PTX_B64;
  default:
    return BF_PTX_TYPE_NONE;
  }
}

/* Binds the elements of operand, which together have the given type; false where that cannot be. */
static bool bind_vector(bf_emu_decoder *decoder, const bf_ptx_operand *operand, bf_ptx_type type,
                        bool is_written, vector *v) {
  v->count = operand->count;
  v->whole_bytes = bf_ptx_type_bytes(type);
  if (v->count < 2 || v->count > MOST_ELEMENTS || v->whole_bytes % v->count)
    return false;
  v->element_bytes = v->whole_bytes / v->count;
  bf_ptx_type part = element_type(v->element_bytes);
  if (part == BF_PTX_TYPE_NONE)
    return false;
  for (unsigned i = 0; i < v->count; i++)
    v->place[i] = is_written ? bf_emu_bind_destination(decoder, &operand->item[i], part)
                             : bf_emu_bind_source(decoder, &operand->item[i], part);
  return true;
}

/* Whether a vector is a pair that pack_32 and the like can deal with. */
static bool is_pair(const vector *v) {
  return v->count == 2 && (v->element_bytes == 2 || v->element_bytes == 4);
}

static const void *copy_vector(bf_emu_decoder *decoder, const vector *v) {
  vector *copy = bf_emu_detail(decoder, sizeof *copy);
  if (copy)
    *copy = *v;
  return copy;
}

static bool select_pack(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_ptx_type type, bf_emu_op *op) {
  vector v;
  if (!bind_vector(decoder, &instruction->operand[1], type, false, &v))
    return bf_emu_refuse(decoder, "elements that do not fill the type");
  op->d = bf_emu_bind_destination(decoder, &instruction->operand[0], type);
  if (is_pair(&v)) {
    op->a = v.place[0];
    op->b = v.place[1];
    op->run = v.element_bytes == 2 ? pack_32 : pack_64;
  } else {
    op->detail = copy_vector(decoder, &v);
    op->run = pack_any;
  }
  return true;
}

static bool select_unpack(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                          bf_ptx_type type, bf_emu_op *op) {
  vector v;
  if (!bind_vector(decoder, &instruction->operand[0], type, true, &v))
    return bf_emu_refuse(decoder, "elements that do not fill the type");
  op->a = bf_emu_bind_source(decoder, &instruction->operand[1], type);
  if (is_pair(&v)) {
    op->d = v.place[0];
    op->e = v.place[1];
    op->run = v.element_bytes == 2 ? unpack_32 : unpack_64;
  } else {
    op->detail = copy_vector(decoder, &v);
    op->run = unpack_any;
  }
  return true;
}

static bool select_mov(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                       bf_emu_op *op) {
  const bf_ptx_operand *d = &instruction->operand[0], *a = &instruction->operand[1];
  bf_ptx_type type = instruction->type[0];
  if (type == BF_PTX_PRED) {
    op->d = bf_emu_bind_truth(decoder, d);
    op->a = bf_emu_predicate(decoder, a, &op->b);
    op->run = move_predicate;
    return true;
  }
  if (a->kind == BF_PTX_VECTOR && d->kind == BF_PTX_VECTOR)
    return bf_emu_refuse(decoder, "mov of a vector to a vector");
  if (a->kind == BF_PTX_VECTOR)
    return select_pack(decoder, instruction, type, op);
  if (d->kind == BF_PTX_VECTOR)
    return select_unpack(decoder, instruction, type, op);
  bf_emu_step run = move_of(bf_ptx_type_bytes(type));
  if (run == move_16 && a->kind == BF_PTX_SPECIAL) {
    op->d = bf_emu_bind_destination(decoder, d, type);
    op->a = bf_emu_bind_source(decoder, a, BF_PTX_U32);
    op->run = move_32_to_16;
    return true;
  }
  if (!run)
    return bf_emu_refuse(decoder, "mov of this type");
  return bf_emu_bind(decoder, instruction, op, type, run);
}

/* ---- Generic addresses ---- */

/* d = a + immediate */
static const bf_emu_op *shift_address(bf_emu_warp *warp, const bf_emu_op *op) {
  uint64_t *d = BF_LANES(uint64_t, op->d), by = op->immediate;
  const uint64_t *a = BF_LANES(uint64_t, op->a);
  BF_SET_LANES(BF_MASK(), d, a[lane] + by);
  return op + 1;
}

static bool select_cvta(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  if (bf_ptx_type_bytes(instruction->type[0]) != 8)
    return bf_emu_refuse(decoder, "32-bit generic addresses");
  bool back = bf_ptx_has(instruction, "to");
  uint64_t by = instruction->space == BF_PTX_SPACE_SHARED  ? BF_EMU_SHARED_WINDOW
                : instruction->space == BF_PTX_SPACE_LOCAL ? BF_EMU_LOCAL_WINDOW
                                                           : 0;
  bf_emu_bind(decoder, instruction, op, BF_PTX_U64, by ? shift_address : move_64);
  op->immediate = back ? 0 - by : by;
  return true;
}

/* ---- Spaces ---- */

static bool is_inside(uint64_t address, uint64_t first, uint64_t bytes) {
  return address - first < bytes;
}

/* Whether a generic address lies in a space. What is neither shared nor local memory, parameter nor
 * constant counts as global, whether anything is there or not. */
static bool is_in(const bf_emu_flight *flight, uint64_t address, bf_ptx_space space) {
  bf_emu_entry entry;
  switch (space) {
  case BF_PTX_SPACE_SHARED:
    return is_inside(address, BF_EMU_SHARED_WINDOW, BF_EMU_WINDOW_BYTES);
  case BF_PTX_SPACE_LOCAL:
    return is_inside(address, BF_EMU_LOCAL_WINDOW, BF_EMU_WINDOW_BYTES);
  case BF_PTX_SPACE_PARAM:
    return is_inside(address, (uintptr_t)flight->parameters, flight->launch->parameter_bytes);
  case BF_PTX_SPACE_CONST:
    return bf_emu_find_entry(flight->emu, address, &entry) && entry.is_const;
  default:
    return !is_in(flight, address, BF_PTX_SPACE_SHARED) &&
           !is_in(flight, address, BF_PTX_SPACE_LOCAL) &&
           !is_in(flight, address, BF_PTX_SPACE_PARAM) &&
           !is_in(flight, address, BF_PTX_SPACE_CONST);
  }
}

/* Whether a generic address of shared memory is one of the block's own, which .shared means; an
 * H200 says so, too (tests/programs/hopper_addresses.cu). */
static bool is_own(const bf_emu_block *block, uint64_t address) {
  const bf_emu_cluster *cluster = block->cluster;
  return !cluster || cluster->count == 1 ||
         (address - BF_EMU_SHARED_WINDOW) >> BF_EMU_RANK_SHIFT == block->rank;
}

static const bf_emu_op *isspacep(bf_emu_warp *warp, const bf_emu_op *op) {
  const uint64_t *a = BF_LANES(uint64_t, op->a);
  uint32_t mask = BF_MASK(), truth = 0;
  BF_EACH_LANE(mask, lane)
  truth |= (uint32_t)(is_in(warp->worker->flight, a[lane], (bf_ptx_space)op->small[0]) &&
                      (!op->small[1] || is_own(warp->block, a[lane])))
           << lane;
  bf_emu_set_predicate(warp, op->d, mask, truth);
  return op + 1;
}

static bool select_isspacep(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                            bf_emu_op *op) {
  op->d = bf_emu_bind_truth(decoder, &instruction->operand[0]);
  op->a = bf_emu_bind_source(decoder, &instruction->operand[1], BF_PTX_U64);
  op->small[0] = (uint8_t)instruction->space;
  op->small[1] =
      instruction->space == BF_PTX_SPACE_SHARED && !bf_ptx_has(instruction, "shared::cluster");
  op->run = isspacep;
  return true;
}

/* ---- Memory on the stack ---- */

/* d = the address of a bytes of local memory, aligned to immediate. Lanes that call together get
 * the same place, large enough for the one that asks for most. */
static const bf_emu_op *reserve_stack(bf_emu_warp *warp, const bf_emu_op *op) {
  const bf_emu_flight *flight = warp->worker->flight;
  uint64_t most = 0, first = bf_emu_local_end(warp->frame);
  uint32_t mask = BF_MASK();
  if (mask == 0)
    return op + 1;
  BF_EACH_LANE(mask, lane) {
    uint64_t bytes =
        op->small[0] == 8 ? BF_LANES(uint64_t, op->a)[lane] : BF_LANES(uint32_t, op->a)[lane];
    most = bytes > most ? bytes : most;
  }
  uint64_t at = (first + op->immediate - 1) & ~(op->immediate - 1);
  if (at > flight->stack_bytes || most > flight->stack_bytes - at)
    return bf_emu_fail(warp, op, BF_EMU_STACK_OVERFLOW, (unsigned)__builtin_ctz(mask),
                       "alloca of %llu bytes", (unsigned long long)most);
  warp->frame->reserved += at - first + ((most + 15) & ~UINT64_C(15));
  BF_EACH_LANE(mask, lane)
  if (op->small[0] == 8)
    BF_LANES(uint64_t, op->d)[lane] = at;
  else
    BF_LANES(uint32_t, op->d)[lane] = (uint32_t)at;
  return op + 1;
}

/* d = how much is reserved now. */
static const bf_emu_op *save_stack(bf_emu_warp *warp, const bf_emu_op *op) {
  BF_EACH_LANE(BF_MASK(), lane)
  if (op->small[0] == 8)
    BF_LANES(uint64_t, op->d)[lane] = warp->frame->reserved;
  else
    BF_LANES(uint32_t, op->d)[lane] = (uint32_t)warp->frame->reserved;
  return op + 1;
}

/* Gives back what was reserved since, where all lanes of the call do so together: others may still
 * use it, and it ends with the call at the latest. */
static const bf_emu_op *restore_stack(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK(), all = warp->frame->caller ? warp->frame->lanes : warp->alive;
  uint64_t most = 0;
  if (mask == 0 || mask != all)
    return op + 1;
  BF_EACH_LANE(mask, lane) {
    uint64_t saved =
        op->small[0] == 8 ? BF_LANES(uint64_t, op->a)[lane] : BF_LANES(uint32_t, op->a)[lane];
    most = saved > most ? saved : most;
  }
  if (most < warp->frame->reserved)
    warp->frame->reserved = most;
  return op + 1;
}

static bool select_stack(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                         bf_emu_op *op) {
  bf_ptx_type type = instruction->type[0];
  const bf_ptx_operand *operand = instruction->operand;
  unsigned bytes = instruction->types ? bf_ptx_type_bytes(type) : 0;
  if (bytes != 4 && bytes != 8)
    return bf_emu_refuse(decoder, "addresses of another size");
  decoder->kernel->reserves_stack = true;
  op->small[0] = (uint8_t)bytes;
  if (instruction->opcode == BF_PTX_OP_STACKRESTORE) {
    op->a = bf_emu_bind_source(decoder, &operand[0], type);
    op->run = restore_stack;
    return true;
  }
  op->d = bf_emu_bind_destination(decoder, &operand[0], type);
  op->run = save_stack;
  if (instruction->opcode == BF_PTX_OP_STACKSAVE)
    return true;
  op->a = bf_emu_bind_source(decoder, &operand[1], type);
  op->immediate = instruction->operands > 2 ? operand[2].bits : 8;
  if (op->immediate == 0 || (op->immediate & (op->immediate - 1)) || op->immediate > 4096)
    return bf_emu_refuse(decoder, "alignment that is no power of two");
  op->immediate = op->immediate < 16 ? 16 : op->immediate;
  op->run = reserve_stack;
  return true;
}

/* ---- Order, waiting, hints ---- */

static const bf_emu_op *do_nothing(bf_emu_warp *warp, const bf_emu_op *op) {
  (void)warp;
  return op + 1;
}

/* griddepcontrol: grids run one after the other; who looks for races wants to know what is said of
 * them. op->small[0]: wait. */
static const bf_emu_op *depend(bf_emu_warp *warp, const bf_emu_op *op) {
  if (BF_MASK() && op->small[0])
    warp->block->has_waited = true;
  else if (BF_MASK())
    bf_race_lets_go(warp->worker->flight);
  return op + 1;
}

/* setmaxnreg of a whole warp to as many registers as op->immediate; op->small[0]: it asks for them.
 */
static const bf_emu_op *resize_registers(bf_emu_warp *warp, const bf_emu_op *op) {
  if (!BF_MASK())
    return op + 1;
  if (!bf_emu_meet(warp, op, BF_MASK(), UINT32_MAX) ||
      !bf_emu_all_came(warp, op, BF_MASK(), UINT32_MAX))
    return NULL;
  return bf_emu_resize(warp, op, op->small[0], (unsigned)op->immediate) ? op + 1 : NULL;
}

static const bf_emu_op *order_memory(bf_emu_warp *warp, const bf_emu_op *op) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  bf_race_fence(warp->block, true);
  bf_proxy_hears(warp);
  return op + 1;
}

/* A block runs on one thread of the host, so its own accesses are in order. */
static const bf_emu_op *order_block(bf_emu_warp *warp, const bf_emu_op *op) {
  bf_race_fence(warp->block, false);
  bf_proxy_hears(warp);
  return op + 1;
}

/* Who sleeps waits for others, or for a time, at most a millisecond. */
static const bf_emu_op *sleep_a_little(bf_emu_warp *warp, const bf_emu_op *op) {
  enum { LONGEST_NS = 1000000 };
  uint32_t mask = BF_MASK();
  if (mask == 0)
    return op + 1;
  uint32_t nanoseconds = BF_LANES(uint32_t, op->a)[__builtin_ctz(mask)];
  bf_emu_pass_time(warp, nanoseconds < LONGEST_NS ? nanoseconds : LONGEST_NS);
  warp->polled |= BF_EMU_POLLS_GRID;
  return op + 1;
}

/* fence.proxy.async: what threads did to shared memory is seen by copies and wgmma. */
static const bf_emu_op *order_proxies(bf_emu_warp *warp, const bf_emu_op *op) {
  bf_proxy_fence(warp, BF_MASK());
  return order_memory(warp, op);
}

static bool select_fence(const bf_ptx_instruction *instruction, bf_emu_op *op) {
  bool is_of_proxies = bf_ptx_has(instruction, "proxy") && bf_ptx_has(instruction, "async") &&
                       !bf_ptx_has(instruction, "global");
  op->run = is_of_proxies                    ? order_proxies
            : bf_ptx_has(instruction, "cta") ? order_block
                                             : order_memory;
  return true;
}

/* Cache policies mean nothing here: the value is 0. */
static bool select_registers(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                             bf_emu_op *op) {
  const bf_ptx_operand *count = &instruction->operand[0];
  if (count->kind != BF_PTX_INTEGER || count->bits < 24 || count->bits > 256 || count->bits % 8)
    return bf_emu_refuse(decoder, "a number of registers that is no multiple of 8 from 24 to 256");
  op->immediate = count->bits;
  op->small[0] = bf_ptx_has(instruction, "inc");
  op->run = resize_registers;
  return true;
}

static bool select_policy(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                          bf_emu_op *op) {
  op->d = bf_emu_bind_destination(decoder, &instruction->operand[0], BF_PTX_B64);
  op->a = bf_emu_constant(decoder, 0, 8);
  op->run = move_64;
  return true;
}

bool BF_EMU_NAME(bf_emu_select_move)(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                     bf_emu_op *op);

/* What one lane alone does by itself. */
extern const bf_alone_row BF_EMU_NAME(bf_emu_alone_move)[];
const bf_alone_row BF_EMU_NAME(bf_emu_alone_move)[] = {
    {move_16, BF_ALONE_MOVE_16},    {move_32, BF_ALONE_MOVE_32},   {move_64, BF_ALONE_MOVE_64},
    {order_memory, BF_ALONE_FENCE}, {order_block, BF_ALONE_FENCE}, {NULL, BF_ALONE_NONE}};

bool BF_EMU_NAME(bf_emu_select_move)(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                     bf_emu_op *op) {
  switch (instruction->opcode) {
  case BF_PTX_OP_MOV:
    return select_mov(decoder, instruction, op);
  case BF_PTX_OP_CVTA:
    return select_cvta(decoder, instruction, op);
  case BF_PTX_OP_ISSPACEP:
    return select_isspacep(decoder, instruction, op);
  case BF_PTX_OP_FENCE:
  case BF_PTX_OP_MEMBAR:
    return select_fence(instruction, op);
  case BF_PTX_OP_CREATEPOLICY:
    return select_policy(decoder, instruction, op);
  case BF_PTX_OP_NANOSLEEP:
    op->a = bf_emu_bind_source(decoder, &instruction->operand[0], BF_PTX_U32);
    op->run = sleep_a_little;
    return true;
  case BF_PTX_OP_GRIDDEPCONTROL:
    op->small[0] = bf_ptx_has(instruction, "wait");
    op->run = depend;
    return true;
  case BF_PTX_OP_PMEVENT:
  case BF_PTX_OP_PREFETCH:
  case BF_PTX_OP_PREFETCHU:
  case BF_PTX_OP_APPLYPRIORITY:
  case BF_PTX_OP_DISCARD:
  case BF_PTX_OP_BRKPT:
    op->run = do_nothing;
    return true;
  case BF_PTX_OP_SETMAXNREG:
    return select_registers(decoder, instruction, op);
  case BF_PTX_OP_ALLOCA:
  case BF_PTX_OP_STACKSAVE:
  case BF_PTX_OP_STACKRESTORE:
    return select_stack(decoder, instruction, op);
  default:
    return false;
  }
}
