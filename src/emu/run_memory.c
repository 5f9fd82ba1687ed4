/* ld and st. near.h finds the memory of all lanes; then registers are moved: consecutive ones and
 * vectors as blocks, else lane by lane. */
#include "emu/alone.h"
#include "emu/decode.h"
#include "emu/fetch.h"
#include "emu/near.h"
#include "emu/own.h"
#include "emu/transfer.h"

typedef bf_emu_mover mover;
typedef bf_emu_vector_mover vector_mover;
typedef bf_emu_transfer transfer;

/* ---- Moving ---- */

#define LOAD(name, memory, reg)                                                                    \
  static void name(void *registers, uint8_t *const *pointer, unsigned offset, uint32_t mask) {     \
    reg *to = registers;                                                                           \
    memory value;                                                                                  \
    if (mask == UINT32_MAX && bf_near_are_consecutive(pointer, sizeof value)) {                    \
      memory row[BF_EMU_LANES];                                                                    \
      memcpy(row, pointer[0] + offset, sizeof row);                                                \
      for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)                                         \
        to[lane] = (reg)row[lane];                                                                 \
      return;                                                                                      \
    }                                                                                              \
    BF_EACH_LANE(mask, lane) {                                                                     \
      memcpy(&value, pointer[lane] + offset, sizeof value);                                        \
      to[lane] = (reg)value;                                                                       \
    }                                                                                              \
  }
#define STORE(name, memory, reg)                                                                   \
  static void name(void *registers, uint8_t *const *pointer, unsigned offset, uint32_t mask) {     \
    const reg *from = registers;                                                                   \
    memory value;                                                                                  \
    if (mask == UINT32_MAX && bf_near_are_consecutive(pointer, sizeof value)) {                    \
      memory row[BF_EMU_LANES];                                                                    \
      for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)                                         \
        row[lane] = (memory)from[lane];                                                            \
      memcpy(pointer[0] + offset, row, sizeof row);                                                \
      return;                                                                                      \
    }                                                                                              \
    BF_EACH_LANE(mask, lane) {                                                                     \
      value = (memory)from[lane];                                                                  \
      memcpy(pointer[lane] + offset, &value, sizeof value);                                        \
    }                                                                                              \
  }
/* From or to registers of 2, 4 and 8 bytes. */
#define BOTH(bits)                                                                                 \
  LOAD(load_u##bits##_2, uint##bits##_t, uint16_t)                                                 \
  LOAD(load_u##bits##_4, uint##bits##_t, uint32_t)                                                 \
  LOAD(load_u##bits##_8, uint##bits##_t, uint64_t)                                                 \
  LOAD(load_s##bits##_2, int##bits##_t, uint16_t)                                                  \
  LOAD(load_s##bits##_4, int##bits##_t, uint32_t)                                                  \
  LOAD(load_s##bits##_8, int##bits##_t, uint64_t)                                                  \
  STORE(store_##bits##_2, uint##bits##_t, uint16_t)                                                \
  STORE(store_##bits##_4, uint##bits##_t, uint32_t)                                                \
  STORE(store_##bits##_8, uint##bits##_t, uint64_t)
BOTH(8)
BOTH(16)
BOTH(32)
BOTH(64)

static void load_wide(void *registers, uint8_t *const *pointer, unsigned offset, uint32_t mask) {
  bf_emu_wide *to = registers;
  BF_EACH_LANE(mask, lane) memcpy(&to[lane], pointer[lane] + offset, sizeof *to);
}
static void store_wide(void *registers, uint8_t *const *pointer, unsigned offset, uint32_t mask) {
  const bf_emu_wide *from = registers;
  BF_EACH_LANE(mask, lane) memcpy(pointer[lane] + offset, &from[lane], sizeof *from);
}

/* The mover for a size in memory (1, 2, 4, 8, 16) and in registers (2, 4, 8, 16); NULL: none. */
static mover find_mover(bool is_load, bool is_signed, unsigned size, unsigned register_bytes) {
  static const mover loads[2][4][3] = {{{load_u8_2, load_u8_4, load_u8_8},
                                        {load_u16_2, load_u16_4, load_u16_8},
                                        {load_u32_2, load_u32_4, load_u32_8},
                                        {load_u64_2, load_u64_4, load_u64_8}},
                                       {{load_s8_2, load_s8_4, load_s8_8},
                                        {load_s16_2, load_s16_4, load_s16_8},
                                        {load_s32_2, load_s32_4, load_s32_8},
                                        {load_s64_2, load_s64_4, load_s64_8}}};
  static const mover stores[4][3] = {{store_8_2, store_8_4, store_8_8},
                                     {store_16_2, store_16_4, store_16_8},
                                     {store_32_2, store_32_4, store_32_8},
                                     {store_64_2, store_64_4, store_64_8}};
  if (size == 16 && register_bytes == 16)
    return is_load ? load_wide : store_wide;
  if (size == 0 || size > 8 || register_bytes < 2 || register_bytes > 8)
    return NULL;
  unsigned row = (unsigned)__builtin_ctz(size),
           column = (unsigned)__builtin_ctz(register_bytes) - 1;
  return is_load ? loads[is_signed][row][column] : stores[row][column];
}

/* ---- Vectors ---- */

/* Four lanes of four words each turned over: rows become columns. */
typedef uint32_t words __attribute__((vector_size(16), aligned(4)));

static inline words low_words(words x, words y) { return (words){x[0], y[0], x[1], y[1]}; }
static inline words high_words(words x, words y) { return (words){x[2], y[2], x[3], y[3]}; }
static inline words low_pairs(words x, words y) { return (words){x[0], x[1], y[0], y[1]}; }
static inline words high_pairs(words x, words y) { return (words){x[2], x[3], y[2], y[3]}; }

static inline void turn_over(const words *from, words *to) {
  words a = low_words(from[0], from[1]), b = low_words(from[2], from[3]);
  words c = high_words(from[0], from[1]), d = high_words(from[2], from[3]);
  to[0] = low_pairs(a, b);
  to[1] = high_pairs(a, b);
  to[2] = low_pairs(c, d);
  to[3] = high_pairs(c, d);
}

/* v4 of 32 bits: four lanes at a time. */
static void load_words(const bf_emu_warp *warp, const transfer *what, uint8_t *const *pointer) {
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane += 4) {
    words row[4], column[4];
    for (unsigned i = 0; i < 4; i++)
      memcpy(&row[i], pointer[lane + i], sizeof *row);
    turn_over(row, column);
    for (unsigned i = 0; i < 4; i++)
      memcpy(warp->registers + what->place[i] + 4 * lane, &column[i], sizeof *column);
  }
}

static void store_words(const bf_emu_warp *warp, const transfer *what, uint8_t *const *pointer) {
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane += 4) {
    words row[4], column[4];
    for (unsigned i = 0; i < 4; i++)
      memcpy(&column[i], warp->registers + what->place[i] + 4 * lane, sizeof *column);
    turn_over(column, row);
    for (unsigned i = 0; i < 4; i++)
      memcpy(pointer[lane + i], &row[i], sizeof *row);
  }
}

/* v2 of 32 or 64 bits. */
#define TWO(name, type)                                                                            \
  static void load_two_##name(const bf_emu_warp *warp, const transfer *what,                       \
                              uint8_t *const *pointer) {                                           \
    type *low = BF_LANES(type, what->place[0]), *high = BF_LANES(type, what->place[1]), pair[2];   \
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {                                         \
      memcpy(pair, pointer[lane], sizeof pair);                                                    \
      low[lane] = pair[0];                                                                         \
      high[lane] = pair[1];                                                                        \
    }                                                                                              \
  }                                                                                                \
  static void store_two_##name(const bf_emu_warp *warp, const transfer *what,                      \
                               uint8_t *const *pointer) {                                          \
    const type *low = BF_LANES(type, what->place[0]), *high = BF_LANES(type, what->place[1]);      \
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {                                         \
      type pair[2] = {low[lane], high[lane]};                                                      \
      memcpy(pointer[lane], pair, sizeof pair);                                                    \
    }                                                                                              \
  }
TWO(words, uint32_t)
TWO(longs, uint64_t)

/* The mover of all registers at once, where all are as large as in memory; NULL: none. */
static vector_mover find_vector_mover(bool is_load, const transfer *what) {
  mover word = is_load ? load_u32_4 : store_32_4, signed_word = is_load ? load_s32_4 : store_32_4;
  mover wide = is_load ? load_u64_8 : store_64_8, signed_wide = is_load ? load_s64_8 : store_64_8;
  unsigned of_words = 0, of_longs = 0;
  for (unsigned i = 0; i < what->count; i++) {
    of_words += what->move[i] == word || what->move[i] == signed_word;
    of_longs += what->move[i] == wide || what->move[i] == signed_wide;
  }
  if (what->count == 4 && of_words == 4)
    return is_load ? load_words : store_words;
  if (what->count == 2 && of_words == 2)
    return is_load ? load_two_words : store_two_words;
  if (what->count == 2 && of_longs == 2)
    return is_load ? load_two_longs : store_two_longs;
  return NULL;
}

/* ---- Operations ---- */

/* Any load or store. */
static inline const bf_emu_op *move_all(bf_emu_warp *warp, const bf_emu_op *op, bool is_write) {
  uint32_t mask = BF_MASK();
  if (mask == 0)
    return op + 1;
  const transfer *what = op->detail;
  unsigned bytes = what->size * what->count;
  bf_near_access access = {what->space, is_write ? BF_OP_ST : BF_OP_LD, bytes, bytes, is_write};
  uint8_t *pointer[BF_EMU_LANES];
  if (!bf_near_reach(warp, op, &what->address, &access, mask, pointer))
    return NULL;
  if (mask == UINT32_MAX && what->move_vector)
    what->move_vector(warp, what, pointer);
  else
    for (unsigned i = 0; i < what->count; i++)
      what->move[i](warp->registers + what->place[i], pointer, i * what->size, mask);
  warp->polled |= what->polls;
  return op + 1;
}

static const bf_emu_op *load_any(bf_emu_warp *warp, const bf_emu_op *op) {
  return move_all(warp, op, false);
}
static const bf_emu_op *store_any(bf_emu_warp *warp, const bf_emu_op *op) {
  return move_all(warp, op, true);
}

/* How lanes lie in global memory. CONSECUTIVE: one behind the other, and memory may be read where
 * lanes that take no part would be. */
typedef enum placing { ELSEWHERE, SCATTERED, CONSECUTIVE } placing;

/* The eights of lanes of which all lie one behind the other, as bits. Where neither the first two
 * lanes nor those in the middle do, addresses come from data, and nobody looks further. */
static inline uint32_t find_rows(const uint64_t *from, unsigned size) {
  uint32_t rows = 0;
  if (from[1] - from[0] != size && from[17] - from[16] != size)
    return 0;
  for (unsigned group = 0; group < BF_EMU_LANES; group += 8) {
    uint64_t apart = 0;
    for (unsigned i = 0; i < 8; i++)
      apart |= from[group + i] ^ (from[group] + (uint64_t)i * size);
    rows |= (uint32_t)(apart == 0) << group / 8;
  }
  return rows;
}

/* Looks at the addresses of all 32 lanes once: are they in the range used last, aligned, and one
 * behind the other? *rows has a bit for each eight lanes that are, where not all are. */
static inline placing place_global(const bf_emu_warp *warp, const bf_emu_op *op, unsigned size,
                                   bool is_write, const uint64_t *from, uint32_t *rows) {
  uint64_t first, last, outside = 0, low = 0, apart = 0;
  uint64_t by = (uint64_t)op->offset;
  *rows = 0;
  if (!bf_near_range(warp, op, size, is_write, &first, &last))
    return ELSEWHERE;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    uint64_t address = from[lane] + by;
    outside |= BF_NEAR_WRONG(address - first, last);
    low |= address;
    apart |= from[lane] ^ (from[0] + (uint64_t)lane * size);
  }
  if (outside >> 63 || low & (size - 1))
    return ELSEWHERE;
  if (!apart)
    return CONSECUTIVE;
  *rows = find_rows(from, size);
  return SCATTERED;
}

/* So few lanes are moved one by one sooner than looked at once more. */
enum { FEW_LANES = 6 };

/* Whether all lanes of mask lie one behind the other, as if those between them did too, and are
 * worth a look. Mostly the first two tell. */
static inline bool are_in_line(uint32_t mask, const uint64_t *from, unsigned size) {
  unsigned lowest = BF_FIRST_LANE(mask), next = BF_FIRST_LANE(mask & (mask - 1));
  uint64_t base = from[lowest] - (uint64_t)lowest * size, apart = 0;
  if (from[next] != base + (uint64_t)next * size || __builtin_popcount(mask) < FEW_LANES)
    return false;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    apart |= (from[lane] ^ (base + (uint64_t)lane * size)) & (0 - (uint64_t)(mask >> lane & 1));
  return apart == 0;
}

/* The same for some lanes; *rows has a bit for each eight that all take part and lie so. */
static inline placing place_some(const bf_emu_warp *warp, const bf_emu_op *op, unsigned size,
                                 bool is_write, uint32_t mask, const uint64_t *from,
                                 uint32_t *rows) {
  uint64_t first, last, outside = 0, low = 0, by = (uint64_t)op->offset;
  *rows = 0;
  if (!bf_near_range(warp, op, size, is_write, &first, &last))
    return ELSEWHERE;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    uint64_t own = 0 - (uint64_t)(mask >> lane & 1), address = from[lane] + by;
    outside |= own & BF_NEAR_WRONG(address - first, last);
    low |= own & address;
  }
  if (outside >> 63 || low & (size - 1))
    return ELSEWHERE;
  if (!are_in_line(mask, from, size))
    return SCATTERED;
  for (unsigned group = 0; group < BF_EMU_LANES; group += 8)
    *rows |= (uint32_t)((mask >> group & 0xff) == 0xff) << group / 8;
  unsigned lowest = BF_FIRST_LANE(mask);
  uint64_t start = from[lowest] + by - (uint64_t)lowest * size - first;
  uint64_t beyond = BF_NEAR_WRONG(start, last) | BF_NEAR_WRONG(start + 31 * (uint64_t)size, last);
  return beyond >> 63 ? SCATTERED : CONSECUTIVE;
}

/* Whether the lanes of mask, of which there is one, all have the same address. Mostly the first and
 * the last tell. */
static inline bool are_same(uint32_t mask, const uint64_t *from) {
  uint64_t first = from[BF_FIRST_LANE(mask)], apart = 0;
  if (from[31 - __builtin_clz(mask)] != first)
    return false;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    apart |= (from[lane] ^ first) & (0 - (uint64_t)(mask >> lane & 1));
  return apart == 0;
}

/* Tells who watches of an access whose place is known; false: the launch has ended. */
static bool tell_placed(bf_emu_warp *warp, const bf_emu_op *op, const bf_near_access *access,
                        uint32_t mask) {
  uint64_t address[BF_EMU_LANES];
  bf_emu_addresses(warp, op->a, 8, op->offset, address);
  return bf_near_tell_global(warp, op, access, mask, address);
}

/* How far behind consecutive lanes the host fetches memory ahead: the warps after the next one
 * mostly want it, and warps of a block jump from row to row, which no host foresees by itself. */
enum { AHEAD_BYTES = 256 };

/* One register per lane, by far the most frequent form: d is the register, of type reg, a the
 * address register, offset what is added. whole moves 32 consecutive values of a type between to,
 * registers, and memory; eight those of eight lanes from group on, and one that of a lane. */
#define PLAIN_GLOBAL(name, type, reg, space, is_write, whole, eight, one)                          \
  static const bf_emu_op *name(bf_emu_warp *warp, const bf_emu_op *op) {                           \
    uint32_t mask = BF_MASK(), rows;                                                               \
    if (mask == 0)                                                                                 \
      return op + 1;                                                                               \
    const uint64_t *from = BF_LANES(const uint64_t, op->a);                                        \
    reg *own = BF_LANES(reg, op->d);                                                               \
    uint64_t by = (uint64_t)op->offset;                                                            \
    bf_emu_address address = {op->a, 8, op->offset, BF_PTX_SPACE_##space};                         \
    bf_near_access access = {BF_PTX_SPACE_##space, is_write ? BF_OP_ST : BF_OP_LD, sizeof(type),   \
                             sizeof(type), is_write};                                              \
    uint8_t *pointer[BF_EMU_LANES];                                                                \
    unsigned first = BF_FIRST_LANE(mask);                                                          \
    if (!is_write && are_same(mask, from) &&                                                       \
        bf_near_single(warp, op, &address, &access, first, pointer)) {                             \
      type value;                                                                                  \
      memcpy(&value, pointer[first], sizeof value);                                                \
      BF_SET_LANES(mask, own, (reg)value);                                                         \
      return op + 1;                                                                               \
    }                                                                                              \
    placing how = ELSEWHERE;                                                                       \
    if (mask == UINT32_MAX)                                                                        \
      how = place_global(warp, op, sizeof(type), is_write, from, &rows);                           \
    else if (mask & (mask - 1))                                                                    \
      how = place_some(warp, op, sizeof(type), is_write, mask, from, &rows);                       \
    if (!is_write && how == SCATTERED && !rows && !bf_near_is_watched(warp) &&                     \
        bf_fetch_first(warp, op, mask, from))                                                      \
      return NULL;                                                                                 \
    if (how != ELSEWHERE && bf_near_is_watched(warp) && !tell_placed(warp, op, &access, mask))     \
      return NULL;                                                                                 \
    if (how == CONSECUTIVE && mask == UINT32_MAX) {                                                \
      uint8_t *memory = (uint8_t *)(uintptr_t)(from[0] + by);                                      \
      reg *to = own;                                                                               \
      __builtin_prefetch(memory + AHEAD_BYTES, is_write);                                          \
      __builtin_prefetch(memory + AHEAD_BYTES + 64, is_write);                                     \
      whole;                                                                                       \
      return op + 1;                                                                               \
    }                                                                                              \
    if (how == CONSECUTIVE && !is_write) {                                                         \
      uint8_t *memory = (uint8_t *)(uintptr_t)(from[first] + by) - first * sizeof(type);           \
      reg fresh[BF_EMU_LANES], *to = fresh;                                                        \
      whole;                                                                                       \
      BF_SET_LANES(mask, own, fresh[lane]);                                                        \
      return op + 1;                                                                               \
    }                                                                                              \
    if (how != ELSEWHERE && rows) {                                                                \
      for (unsigned group = 0; group < BF_EMU_LANES; group += 8)                                   \
        if (rows >> group / 8 & 1) {                                                               \
          uint8_t *memory = (uint8_t *)(uintptr_t)(from[group] + by);                              \
          eight;                                                                                   \
        } else {                                                                                   \
          BF_EACH_LANE(mask &UINT32_C(0xff) << group, lane) {                                      \
            uint8_t *memory = (uint8_t *)(uintptr_t)(from[lane] + by);                             \
            one;                                                                                   \
          }                                                                                        \
        }                                                                                          \
      return op + 1;                                                                               \
    }                                                                                              \
    if (how != ELSEWHERE && mask == UINT32_MAX) {                                                  \
      for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {                                       \
        uint8_t *memory = (uint8_t *)(uintptr_t)(from[lane] + by);                                 \
        one;                                                                                       \
      }                                                                                            \
      return op + 1;                                                                               \
    }                                                                                              \
    if (how != ELSEWHERE) {                                                                        \
      BF_EACH_LANE(mask, lane) {                                                                   \
        uint8_t *memory = (uint8_t *)(uintptr_t)(from[lane] + by);                                 \
        one;                                                                                       \
      }                                                                                            \
      return op + 1;                                                                               \
    }                                                                                              \
    if (bf_near_is_single(mask) && bf_near_single(warp, op, &address, &access, first, pointer)) {  \
      unsigned lane = first;                                                                       \
      uint8_t *memory = pointer[lane];                                                             \
      one;                                                                                         \
      return op + 1;                                                                               \
    }                                                                                              \
    if (!bf_near_reach(warp, op, &address, &access, mask, pointer))                                \
      return NULL;                                                                                 \
    BF_EACH_LANE(mask, lane) {                                                                     \
      uint8_t *memory = pointer[lane];                                                             \
      one;                                                                                         \
    }                                                                                              \
    return op + 1;                                                                                 \
  }
#define LOAD_ROW memcpy(to, memory, sizeof *to *BF_EMU_LANES)
#define LOAD_ONE memcpy(&own[lane], memory, sizeof *own)
#define LOAD_EIGHT memcpy(&own[group], memory, sizeof *own * 8)
#define STORE_EIGHT memcpy(memory, &own[group], sizeof *own * 8)
#define STORE_ROW memcpy(memory, to, sizeof *to *BF_EMU_LANES)
#define STORE_ONE memcpy(memory, &own[lane], sizeof *own)
/* Bytes and halves are extended. */
#define EXTEND_ROW(type, reg)                                                                      \
  type row[BF_EMU_LANES];                                                                          \
  memcpy(row, memory, sizeof row);                                                                 \
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)                                             \
  to[lane] = (reg)row[lane]
#define EXTEND_EIGHT(type, reg)                                                                    \
  type row[8];                                                                                     \
  memcpy(row, memory, sizeof row);                                                                 \
  for (unsigned i = 0; i < 8; i++)                                                                 \
  own[group + i] = (reg)row[i]
#define EXTEND_ONE(type, reg)                                                                      \
  type value;                                                                                      \
  memcpy(&value, memory, sizeof value);                                                            \
  own[lane] = (reg)value
#define NARROW(name, space, type, reg)                                                             \
  PLAIN_GLOBAL(name, type, reg, space, false, EXTEND_ROW(type, reg), EXTEND_EIGHT(type, reg),      \
               EXTEND_ONE(type, reg))
/* Generic addresses that are global ones have functions of their own. */
#define BOTH_SPACES(name, space)                                                                   \
  PLAIN_GLOBAL(load_##name##_32, uint32_t, uint32_t, space, false, LOAD_ROW, LOAD_EIGHT, LOAD_ONE) \
  PLAIN_GLOBAL(load_##name##_64, uint64_t, uint64_t, space, false, LOAD_ROW, LOAD_EIGHT, LOAD_ONE) \
  PLAIN_GLOBAL(store_##name##_32, uint32_t, uint32_t, space, true, STORE_ROW, STORE_EIGHT,         \
               STORE_ONE)                                                                          \
  PLAIN_GLOBAL(store_##name##_64, uint64_t, uint64_t, space, true, STORE_ROW, STORE_EIGHT,         \
               STORE_ONE)                                                                          \
  NARROW(load_##name##_u8_2, space, uint8_t, uint16_t)                                             \
  NARROW(load_##name##_s8_2, space, int8_t, uint16_t)                                              \
  NARROW(load_##name##_u16_2, space, uint16_t, uint16_t)                                           \
  NARROW(load_##name##_u8_4, space, uint8_t, uint32_t)                                             \
  NARROW(load_##name##_s8_4, space, int8_t, uint32_t)                                              \
  NARROW(load_##name##_u16_4, space, uint16_t, uint32_t)                                           \
  NARROW(load_##name##_s16_4, space, int16_t, uint32_t)
BOTH_SPACES(global, GLOBAL)
BOTH_SPACES(generic, NONE)
PLAIN_SHARED(load_shared_32, uint32_t, false, LOAD_ROW, LOAD_EIGHT, LOAD_ONE)
PLAIN_SHARED(load_shared_64, uint64_t, false, LOAD_ROW, LOAD_EIGHT, LOAD_ONE)
PLAIN_SHARED(store_shared_32, uint32_t, true, STORE_ROW, STORE_EIGHT, STORE_ONE)
PLAIN_SHARED(store_shared_64, uint64_t, true, STORE_ROW, STORE_EIGHT, STORE_ONE)
PLAIN_LOCAL(load_local_32, uint32_t, false, LOAD_ONE)
PLAIN_LOCAL(load_local_64, uint64_t, false, LOAD_ONE)
PLAIN_LOCAL(store_local_32, uint32_t, true, STORE_ONE)
PLAIN_LOCAL(store_local_64, uint64_t, true, STORE_ONE)

/* A parameter of the kernel: the same for all lanes. a is its offset. */
static const bf_emu_op *load_parameter(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK();
  const transfer *what = op->detail;
  uint8_t *pointer[BF_EMU_LANES];
  uint8_t *from = warp->worker->flight->parameters + what->address.offset;
  if (what->count == 1 && what->move[0] == load_u64_8) {
    uint64_t value, *to = BF_LANES(uint64_t, what->place[0]);
    memcpy(&value, from, sizeof value);
    BF_SET_LANES(mask, to, value);
    return op + 1;
  }
  if (what->count == 1 && (what->move[0] == load_u32_4 || what->move[0] == load_s32_4)) {
    uint32_t value, *to = BF_LANES(uint32_t, what->place[0]);
    memcpy(&value, from, sizeof value);
    BF_SET_LANES(mask, to, value);
    return op + 1;
  }
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    pointer[lane] = from;
  for (unsigned i = 0; i < what->count; i++)
    what->move[i](warp->registers + what->place[i], pointer, i * what->size, mask);
  return op + 1;
}

/* A parameter of a function or call: d is its place in the frame, e its bytes per lane. */
static const bf_emu_op *move_region(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK();
  const transfer *what = op->detail;
  uint8_t *pointer[BF_EMU_LANES];
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    pointer[lane] = warp->registers + op->d + lane * op->e + what->address.offset;
  for (unsigned i = 0; i < what->count; i++)
    what->move[i](warp->registers + what->place[i], pointer, i * what->size, mask);
  return op + 1;
}

/* ---- Finding the operation of an instruction ---- */

static bool is_signed(bf_ptx_type type) {
  return type == BF_PTX_S8 || type == BF_PTX_S16 || type == BF_PTX_S32 || type == BF_PTX_S64;
}

/* The registers that are moved, one or a vector. */
static bool bind_registers(bf_emu_decoder *decoder, const bf_ptx_operand *operand, bf_ptx_type type,
                           bool is_load, transfer *what) {
  const bf_ptx_operand *item = operand->kind == BF_PTX_VECTOR ? operand->item : operand;
  what->count = operand->kind == BF_PTX_VECTOR ? operand->count : 1;
  what->size = bf_ptx_type_bytes(type);
  if (what->count > BF_EMU_MOST_VECTOR || what->count == 0 || what->size == 0)
    return bf_emu_refuse(decoder, "vector of this size"), false;
  for (unsigned i = 0; i < what->count; i++) {
    bool is_sink = item[i].kind == BF_PTX_SINK;
    unsigned bytes =
        is_sink ? (what->size < 2 ? 2 : what->size) : bf_emu_register_bytes(&item[i], type);
    what->place[i] =
        is_load ? bf_emu_destination(decoder, &item[i]) : bf_emu_source(decoder, &item[i], type);
    what->move[i] = find_mover(is_load, is_signed(type), what->size, bytes);
    if (!what->move[i])
      return bf_emu_refuse(decoder, "register of another size"), false;
  }
  return true;
}

/* Where the base is a parameter by name: of the kernel, or in the frame. */
static bool select_parameter(bf_emu_decoder *decoder, const bf_ptx_operand *address, bool is_load,
                             transfer *what, bf_emu_op *op) {
  const bf_ptx_operand *base = address->kind == BF_PTX_ADDRESS ? &address->item[0] : address;
  if (base->kind != BF_PTX_SYMBOL || base->symbol->kind != BF_PTX_SYMBOL_VARIABLE)
    return false;
  const bf_ptx_variable *variable = base->symbol->variable;
  const bf_emu_region *region = bf_emu_region_of(decoder, variable);
  uint64_t offset = 0, inside = (uint64_t)(address->offset + (base != address ? base->offset : 0));
  uint64_t end = inside + (uint64_t)what->size * what->count;
  what->address.offset = (int64_t)inside;
  op->detail = what;
  if (end < inside || end > (region ? region->stride : variable->bytes))
    return bf_emu_refuse(decoder, "access outside a parameter");
  if (region) {
    op->run = move_region;
    op->d = region->place;
    op->e = region->stride;
    return true;
  }
  if (!is_load || !bf_emu_kernel_parameter_of(decoder, variable, &offset))
    return bf_emu_refuse(decoder, "parameter of this kind");
  what->address.offset += (int64_t)offset;
  op->run = load_parameter;
  return true;
}

/* The short form of a load of bytes or halves; NULL: none. */
static bf_emu_step find_narrow(mover move, bool is_generic) {
  static const struct {
    mover move;
    bf_emu_step global, generic;
  } rows[] = {{load_u8_2, load_global_u8_2, load_generic_u8_2},
              {load_s8_2, load_global_s8_2, load_generic_s8_2},
              {load_u16_2, load_global_u16_2, load_generic_u16_2},
              {load_s16_2, load_global_u16_2, load_generic_u16_2},
              {load_u8_4, load_global_u8_4, load_generic_u8_4},
              {load_s8_4, load_global_s8_4, load_generic_s8_4},
              {load_u16_4, load_global_u16_4, load_generic_u16_4},
              {load_s16_4, load_global_s16_4, load_generic_s16_4}};
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].move == move)
      return is_generic ? rows[i].generic : rows[i].global;
  return NULL;
}

/* The short forms, where there is one; loads that poll have one for a lane alone. */
static void select_plain(const transfer *what, bool is_load, bf_emu_op *op) {
  bool equal = what->move[0] == (is_load ? load_u32_4 : store_32_4) ||
               what->move[0] == (is_load ? load_s32_4 : store_32_4);
  bool equal_wide = what->move[0] == (is_load ? load_u64_8 : store_64_8) ||
                    what->move[0] == (is_load ? load_s64_8 : store_64_8);
  bool is_shared = what->space == BF_PTX_SPACE_SHARED && what->address.register_bytes == 4;
  bool is_global = what->space == BF_PTX_SPACE_GLOBAL && what->address.register_bytes == 8;
  bool is_generic = what->space == BF_PTX_SPACE_NONE && what->address.register_bytes == 8;
  bool is_local = what->space == BF_PTX_SPACE_LOCAL && what->address.register_bytes == 8;
  if (what->count == 1 && is_local && (equal || equal_wide) && !what->polls &&
      what->address.offset == (int32_t)what->address.offset) {
    op->d = what->place[0];
    op->a = what->address.place;
    op->by = (int32_t)what->address.offset;
    op->run = is_load ? (equal ? load_local_32 : load_local_64)
                      : (equal ? store_local_32 : store_local_64);
  }
  if (what->count != 1 || !(is_shared || is_global || is_generic))
    return;
  bf_emu_step narrow =
      is_load && !is_shared && !what->polls ? find_narrow(what->move[0], is_generic) : NULL;
  if (narrow) {
    op->run = narrow;
    op->d = what->place[0];
    op->a = what->address.place;
    op->offset = what->address.offset;
  }
  if (!(equal || equal_wide))
    return;
  if (what->polls) {
    if (!is_shared && what->address.offset == (int32_t)what->address.offset) {
      op->form = equal ? BF_ALONE_POLL_32 : BF_ALONE_POLL_64;
      op->d = what->place[0];
      op->a = what->address.place;
      op->by = (int32_t)what->address.offset;
    }
    return;
  }
  op->d = what->place[0];
  op->small[BF_EMU_PLAIN] = (uint8_t)what->size;
  op->a = what->address.place;
  op->offset = what->address.offset;
  if (is_shared)
    op->run = is_load ? (equal ? load_shared_32 : load_shared_64)
                      : (equal ? store_shared_32 : store_shared_64);
  else if (is_generic)
    op->run = is_load ? (equal ? load_generic_32 : load_generic_64)
                      : (equal ? store_generic_32 : store_generic_64);
  else
    op->run = is_load ? (equal ? load_global_32 : load_global_64)
                      : (equal ? store_global_32 : store_global_64);
}

/* A bf_emu_polled of a load, or 0. */
static uint8_t polls(const bf_ptx_instruction *instruction, bf_ptx_space space) {
  if (!bf_ptx_has(instruction, "volatile") && !bf_ptx_has(instruction, "relaxed") &&
      !bf_ptx_has(instruction, "acquire") && !bf_ptx_has(instruction, "mmio"))
    return 0;
  return space == BF_PTX_SPACE_SHARED ? BF_EMU_POLLS_BLOCK : BF_EMU_POLLS_GRID;
}

bool BF_EMU_NAME(bf_emu_select_memory)(bf_emu_decoder *decoder,
                                       const bf_ptx_instruction *instruction, bf_emu_op *op);

/* What one lane alone does by itself. */
extern const bf_alone_row BF_EMU_NAME(bf_emu_alone_memory)[];
const bf_alone_row BF_EMU_NAME(bf_emu_alone_memory)[] = {
    {load_global_32, BF_ALONE_LOAD_32},
    {load_global_64, BF_ALONE_LOAD_64},
    {load_generic_32, BF_ALONE_LOAD_32},
    {load_generic_64, BF_ALONE_LOAD_64},
    {store_global_32, BF_ALONE_STORE_32},
    {store_global_64, BF_ALONE_STORE_64},
    {store_generic_32, BF_ALONE_STORE_32},
    {store_generic_64, BF_ALONE_STORE_64},
    {load_shared_32, BF_ALONE_LOAD_SHARED_32},
    {load_shared_64, BF_ALONE_LOAD_SHARED_64},
    {store_shared_32, BF_ALONE_STORE_SHARED_32},
    {store_shared_64, BF_ALONE_STORE_SHARED_64},
    {NULL, BF_ALONE_NONE}};

bool BF_EMU_NAME(bf_emu_select_memory)(bf_emu_decoder *decoder,
                                       const bf_ptx_instruction *instruction, bf_emu_op *op) {
  bool is_load = instruction->opcode == BF_PTX_OP_LD || instruction->opcode == BF_PTX_OP_LDU;
  if (!is_load && instruction->opcode != BF_PTX_OP_ST)
    return false;
  if (instruction->types != 1)
    return bf_emu_refuse(decoder, "no type");
  transfer *what = bf_emu_detail(decoder, sizeof *what);
  if (!what || !bind_registers(decoder, &instruction->operand[is_load ? 0 : 1],
                               instruction->type[0], is_load, what))
    return true;
  const bf_ptx_operand *address = &instruction->operand[is_load ? 1 : 0];
  what->space = bf_ptx_address_space(instruction, address);
  if (what->space == BF_PTX_SPACE_PARAM && select_parameter(decoder, address, is_load, what, op))
    return true;
  if (what->space == BF_PTX_SPACE_CONST || what->space == BF_PTX_SPACE_PARAM)
    what->space = BF_PTX_SPACE_GLOBAL;
  what->address = bf_emu_bind_address(decoder, instruction, address, what->space);
  what->polls = is_load ? polls(instruction, what->space) : 0;
  what->move_vector = find_vector_mover(is_load, what);
  op->run = is_load ? load_any : store_any;
  op->detail = what;
  select_plain(what, is_load, op);
  return true;
}
