/* Boxes of tensors.
 *
 * A box is made of rows: of a tile, the elements along the first dimension; of im2col, the channels
 * of a pixel. Rows follow each other in shared memory. A row is copied by pieces of 16 bytes, which
 * the swizzle puts somewhere else in the same 128 bytes; elements outside the tensor are filled
 * when they are loaded, and left out when they are stored. gather4 and scatter4 name four rows of a
 * matrix, which follow each other in shared memory as those of a tile do; no GPU that has them was
 * there to compare with. Nor was one for im2col::w, which walks along the width alone, and from
 * there to the next image.
 *
 * Of an interleaved tensor (NC/8DHWC8) an element is a slice of 16 or 32 bytes of channels,
 * whatever the type is: the first dimensions are those of space, W first, the last but one counts
 * slices and the last images. A box has one slice, whatever its size along them says; its rows are
 * as wide as they are, and the first dimension has steps, too. Seen on an H200
 * (tests/data/h200/boxes.txt).
 *
 * Elements of 4 and 6 bits (Blackwell) are copied as the bytes that they are packed in. */
#include "emu/tensor.h"

#include "emu/half.h"

#include <string.h>

/* ---- Tables ---- */

unsigned bf_tensor_type_bytes(unsigned type) {
  static const unsigned char bytes[BF_TENSOR_TYPES] = {1, 2, 4, 4, 8, 8, 2,  4,
                                                       8, 2, 4, 4, 4, 8, 16, 16};
  return type < BF_TENSOR_TYPES ? bytes[type] : 0;
}

const char *bf_tensor_type_name(unsigned type) {
  static const char names[BF_TENSOR_TYPES][8] = {"u8",   "u16", "u32", "s32",  "u64", "s64",
                                                 "f16",  "f32", "f64", "bf16", "f32", "tf32",
                                                 "tf32", "u4",  "u4",  "u6"};
  return type < BF_TENSOR_TYPES ? names[type] : "";
}

unsigned bf_tensor_swizzle_bytes(unsigned swizzle) {
  static const unsigned char bytes[BF_TENSOR_SWIZZLES] = {0, 32, 64, 128, 128, 128, 128};
  return swizzle < BF_TENSOR_SWIZZLES ? bytes[swizzle] : 0;
}

/* Which address bits a swizzle changes, and by those how far above. */
typedef struct swizzle_bits {
  uint8_t shift, mask;
} swizzle_bits;

static const swizzle_bits swizzle_table[BF_TENSOR_SWIZZLES] = {
    {0, 0}, {3, 0x10}, {3, 0x30}, {3, 0x70}, {2, 0x60}, {2, 0x60}, {1, 0x40}};

uint32_t bf_tensor_swizzled(unsigned swizzle, uint32_t address) {
  if (swizzle >= BF_TENSOR_SWIZZLES)
    return address;
  uint32_t flipped = swizzle == BF_TENSOR_SWIZZLE_128_ATOM_32_FLIP_8 ? address >> 4 & 0x8 : 0;
  swizzle_bits bits = swizzle_table[swizzle];
  return address ^ (address >> bits.shift & bits.mask) ^ flipped;
}

/* The type of PTX that reductions of a tensor work on. */
static bf_ptx_type reduced_type(unsigned type) {
  static const bf_ptx_type types[BF_TENSOR_TYPES] = {
      BF_PTX_U8,  BF_PTX_U16, BF_PTX_U32,  BF_PTX_S32, BF_PTX_U64, BF_PTX_S64, BF_PTX_F16,
      BF_PTX_F32, BF_PTX_F64, BF_PTX_BF16, BF_PTX_F32, BF_PTX_F32, BF_PTX_F32};
  return type < BF_TENSOR_TYPES ? types[type] : BF_PTX_TYPE_NONE;
}

/* ---- Shapes ---- */

/* Bytes of what the first dimension counts: elements, or slices of an interleaved tensor. */
static uint32_t unit_of(const bf_tensor_map *map) {
  return map->interleave ? UINT32_C(8) << map->interleave : bf_tensor_type_bytes(map->type);
}

/* From element to element that is copied; the first dimension has steps in slices only. */
static uint32_t step_of(const bf_tensor_map *map, unsigned dimension) {
  bool has_steps = dimension || map->interleave;
  return has_steps && map->step[dimension] ? map->step[dimension] : 1;
}

/* Elements that a box copies along a dimension. */
static uint32_t extent(const bf_tensor_map *map, unsigned dimension) {
  uint32_t step = step_of(map, dimension);
  if (map->interleave && dimension + 2u == map->rank)
    return 1;
  return (map->box[dimension] + step - 1) / step;
}

/* What a row of the box has of them, and how many rows there are. */
static uint32_t row_units(const bf_tensor_map *map) {
  if (map->is_im2col)
    return map->interleave ? 1 : map->box[0];
  return extent(map, 0);
}

static uint64_t rows_of(const bf_tensor_map *map) {
  uint64_t rows = map->is_im2col ? map->box[1] : 1;
  for (unsigned i = 1; !map->is_im2col && i < map->rank; i++)
    rows *= extent(map, i);
  return rows;
}

uint64_t bf_emu_box_bytes(const bf_tensor_map *map) {
  return rows_of(map) * row_units(map) * unit_of(map);
}

/* Bytes from row to row in shared memory: a swizzle spreads shorter rows to its width, as an H200
 * does, but for slices. */
static uint32_t pitch_of(const bf_tensor_map *map) {
  unsigned width = map->interleave ? 0 : bf_tensor_swizzle_bytes(map->swizzle);
  uint32_t bytes = row_units(map) * unit_of(map);
  return width ? width : map->chunk_bytes ? bytes / map->chunk_bytes * 16 : bytes;
}

uint64_t bf_emu_box_span(const bf_tensor_map *map) { return rows_of(map) * pitch_of(map); }

/* Dimensions of space of im2col: from *first on. */
static unsigned space_of(const bf_tensor_map *map, unsigned *first) {
  *first = map->interleave ? 0 : 1;
  return map->rank - 2u;
}

/* What is wrong with a map that is made for something else. */
static const char *other_mode(bf_tensor_im2col of_map, bf_tensor_im2col mode) {
  if (of_map == BF_TENSOR_TILES)
    return "the tensor map is for tiles, not for im2col";
  if (mode == BF_TENSOR_TILES)
    return "the tensor map is for im2col, not for tiles";
  return of_map == BF_TENSOR_IM2COL ? "the tensor map is for im2col, not for im2col::w"
                                    : "the tensor map is for another kind of im2col";
}

/* Whether the first pixel can be where it is: between the corners of its dimension of space; of
 * im2col::w also to the left of them. */
static bool is_first_inside(const bf_emu_box *box, unsigned first, unsigned i) {
  const bf_tensor_map *map = &box->map;
  bool is_wide = map->is_im2col > BF_TENSOR_IM2COL;
  if (is_wide && i)
    return true; /* the box of pixels is a row there */
  return (is_wide || box->at[first + i] >= map->lower[i]) &&
         box->at[first + i] <= (int64_t)map->size[first + i] + map->upper[i];
}

const char *bf_emu_box_check(const bf_emu_box *box, unsigned rank, bf_tensor_im2col mode) {
  const bf_tensor_map *map = &box->map;
  if (memcmp(map->magic, BF_TENSOR_MAGIC, sizeof map->magic) != 0)
    return "no tensor map is there";
  if (map->rank == 0 || map->rank > BF_TENSOR_DIMENSIONS || map->type >= BF_TENSOR_TYPES ||
      map->swizzle >= BF_TENSOR_SWIZZLES)
    return "the tensor map holds fields that no driver writes";
  if (map->rank != rank)
    return "the tensor map has another number of dimensions";
  if (map->is_im2col != mode)
    return other_mode((bf_tensor_im2col)map->is_im2col, mode);
  if (map->interleave && map->rank < 3)
    return "an interleaved tensor has three dimensions or more";
  if (map->type >= BF_TENSOR_U4_ALIGN8 && map->interleave)
    return "packed elements of less than a byte are not interleaved";
  for (unsigned i = 0; i < (mode ? 2u : rank); i++)
    if (map->box[i] == 0)
      return "the tensor map has an empty box";
  /* An H200 takes anything else for an illegal instruction. */
  if (map->type < BF_TENSOR_U4_ALIGN8 && (int64_t)box->at[0] * unit_of(map) % 16)
    return "the first coordinate times the bytes of an element is no multiple of 16";
  for (unsigned i = 0; map->interleave && box->is_store && i < rank; i++)
    if (box->at[i] < 0)
      return "a store to an interleaved tensor has a coordinate below 0";
  unsigned first, space = space_of(map, &first);
  for (unsigned i = 0; mode && i < space; i++)
    if (!is_first_inside(box, first, i))
      return "the first pixel lies outside of the box of pixels that the tensor map has";
  return NULL;
}

const char *bf_emu_box_pick(bf_emu_box *box) {
  bf_tensor_map *map = &box->map;
  if (map->box[1] != 1)
    return "gather4 and scatter4 with a tensor map whose box has more than one row";
  box->is_picked = true;
  map->box[1] = BF_EMU_PICKED_ROWS;
  map->step[1] = 1;
  return NULL;
}

const char *bf_emu_box_unpack(bf_emu_box *box, bool reduces) {
  enum { PACK = 16, ROW = 128 }; /* elements; a row with gaps has as many */
  bf_tensor_map *map = &box->map;
  if (map->type < BF_TENSOR_U4_ALIGN8)
    return NULL;
  bool has_gaps = map->type != BF_TENSOR_U4_ALIGN8;
  unsigned bytes = map->type == BF_TENSOR_U6_ALIGN16 ? 12 : 8;
  if (reduces || (has_gaps && box->is_store))
    return "packed elements of less than a byte can be loaded, and stored without gaps";
  if (has_gaps && map->box[0] != ROW)
    return "rows of packed elements with gaps have 128 elements";
  if (box->at[0] % (has_gaps ? ROW : 2 * PACK))
    return has_gaps ? "the first coordinate of packed elements with gaps is no multiple of 128"
                    : "the first coordinate of packed elements is no multiple of 32";
  if (map->box[0] % (2 * PACK) || (map->size[0] + UINT64_C(1)) % 2)
    return "rows of packed elements are whole pieces of 16 bytes, and of the tensor whole bytes";
  map->size[0] = (uint32_t)((map->size[0] + UINT64_C(1)) * bytes / PACK - 1);
  map->box[0] = (uint16_t)(map->box[0] * bytes / PACK);
  box->at[0] = box->at[0] / PACK * (int32_t)bytes;
  map->type = BF_TENSOR_U8;
  map->chunk_bytes = has_gaps ? (uint8_t)bytes : 0;
  return NULL;
}

/* Pixels of im2col::w::128, and those behind which its halo comes. */
enum { WIDE_PIXELS = 128, WIDE_GROUP = 32 };

/* From pixel to pixel along the width, and the last one that the corners let in. */
static int64_t wide_step(const bf_tensor_map *map, unsigned first) {
  return map->step[first] ? map->step[first] : 1;
}

static int64_t wide_end(const bf_tensor_map *map, unsigned first) {
  return (int64_t)map->size[first] + map->upper[0];
}

/* The next pixel along the width, or the first one of the next image. */
static void step_wide(const bf_tensor_map *map, unsigned first, int64_t at[BF_TENSOR_DIMENSIONS]) {
  at[first] += wide_step(map, first);
  if (at[first] <= wide_end(map, first))
    return;
  at[first] = map->lower[0];
  at[map->rank - 1]++;
}

/* Whether the halo of every group of pixels lies in the row of its last one. */
static bool has_halo(const bf_emu_box *box, uint32_t pixels, unsigned first) {
  const bf_tensor_map *map = &box->map;
  int64_t at[BF_TENSOR_DIMENSIONS];
  for (unsigned i = 0; i < BF_TENSOR_DIMENSIONS; i++)
    at[i] = box->at[i];
  for (uint32_t i = 1; i <= pixels; i++, step_wide(map, first, at))
    if (i % box->group == 0 && at[first] + box->halo > wide_end(map, first))
      return false;
  return true;
}

const char *bf_emu_box_widen(bf_emu_box *box) {
  enum { MOST_HALO = 512, MOST_OFFSET = 32 };
  bf_tensor_map *map = &box->map;
  bool is_128 = map->is_im2col == BF_TENSOR_IM2COL_W_128;
  uint32_t pixels = is_128 ? WIDE_PIXELS : map->box[1];
  unsigned first;
  space_of(map, &first);
  if (map->swizzle == BF_TENSOR_SWIZZLE_NONE ||
      map->swizzle == BF_TENSOR_SWIZZLE_128_ATOM_32_FLIP_8)
    return "im2col::w needs a tensor map with a swizzle, and one that exchanges no halves of "
           "pieces";
  if (box->offset[0] >= (is_128 ? WIDE_GROUP : MOST_HALO) || box->offset[1] >= MOST_OFFSET)
    return "im2col::w has at most 511 halo pixels, im2col::w::128 at most 31, and offsets up to 31";
  box->group = is_128 ? WIDE_GROUP : pixels;
  box->halo = box->offset[0];
  if (box->halo && (wide_step(map, first) != 1 || !has_halo(box, pixels, first)))
    return "halo pixels of im2col::w with a traversal stride, or beyond the corner of the tensor "
           "map: what GPUs load there is not known here";
  map->box[1] = (uint16_t)(pixels + pixels / box->group * box->halo);
  return NULL;
}

/* ---- Rows ---- */

/* Where a row lies: coordinates of its first element. */
typedef struct row {
  int64_t at[BF_TENSOR_DIMENSIONS];
} row;

/* Whether all but the first coordinate of a row lie inside; *address is that of element 0. */
static bool row_address(const bf_tensor_map *map, const row *line, uint64_t *address) {
  *address = map->address;
  for (unsigned i = 1; i < map->rank; i++) {
    if (line->at[i] < 0 || line->at[i] > map->size[i])
      return false;
    *address += (uint64_t)line->at[i] * map->stride[i - 1];
  }
  return true;
}

/* The elements of a row that lie inside the tensor: from *first up to *end, counted as the row
 * counts them. */
static void row_inside(const bf_tensor_map *map, const row *line, int64_t *first, int64_t *end) {
  int64_t elements = row_units(map), step = map->is_im2col ? 1 : step_of(map, 0);
  int64_t left = step - 1 - line->at[0], right = (int64_t)map->size[0] + step - line->at[0];
  left = step == 1 ? left : left / step; /* divisions are slow, and steps rare */
  right = step == 1 ? right : right / step;
  *first = line->at[0] >= 0 ? 0 : left > elements ? elements : left;
  *end = right < *first ? *first : right > elements ? elements : right;
}

/* Calls visit with every row of a tile, in the order of shared memory. */
typedef void (*visitor)(const bf_emu_box *box, const row *line, uint64_t index, void *context);

static void visit_tile(const bf_emu_box *box, visitor visit, void *context) {
  const bf_tensor_map *map = &box->map;
  uint32_t at[BF_TENSOR_DIMENSIONS] = {0};
  for (uint64_t index = 0;; index++) {
    row line = {.at = {box->at[0]}};
    for (unsigned i = 1; i < map->rank; i++)
      line.at[i] = (int64_t)box->at[i] + (int64_t)at[i] * step_of(map, i);
    visit(box, &line, index, context);
    unsigned i = 1;
    for (; i < map->rank && ++at[i] == extent(map, i); i++)
      at[i] = 0;
    if (i >= map->rank)
      return;
  }
}

/* The pixels of im2col: along the width first, from corner to corner of the box of pixels, then
 * along what comes behind it; the last dimension, the images, has no corners. */
static void visit_pixels(const bf_emu_box *box, visitor visit, void *context) {
  const bf_tensor_map *map = &box->map;
  unsigned first, space = space_of(map, &first);
  row at;
  for (unsigned i = 0; i < BF_TENSOR_DIMENSIONS; i++)
    at.at[i] = box->at[i];
  for (uint64_t index = 0; index < map->box[1]; index++) {
    row line = at;
    for (unsigned i = 0; i < space; i++)
      line.at[first + i] += box->offset[i];
    visit(box, &line, index, context);
    unsigned i = 0;
    for (; i < space; i++) {
      int64_t *own = &at.at[first + i];
      *own += map->step[first + i] ? map->step[first + i] : 1;
      if (*own <= (int64_t)map->size[first + i] + map->upper[i])
        break;
      *own = map->lower[i];
    }
    at.at[map->rank - 1] += i == space;
  }
}

/* The pixels of im2col::w: along the width, then on in the next image, all moved by an offset. */
static void visit_wide(const bf_emu_box *box, visitor visit, void *context) {
  const bf_tensor_map *map = &box->map;
  unsigned first;
  space_of(map, &first);
  row at, last = {.at = {0}};
  for (unsigned i = 0; i < BF_TENSOR_DIMENSIONS; i++)
    at.at[i] = box->at[i];
  for (uint64_t index = 0; index < map->box[1]; index++) {
    if (index % (box->group + box->halo) < box->group) {
      last = at;
      step_wide(map, first, at.at);
    } else {
      last.at[first]++;
    }
    row line = last;
    line.at[first] += box->offset[1];
    visit(box, &line, index, context);
  }
}

/* The rows that gather4 or scatter4 name. */
static void visit_picked(const bf_emu_box *box, visitor visit, void *context) {
  for (unsigned i = 0; i < BF_EMU_PICKED_ROWS; i++) {
    row line = {.at = {box->at[0], box->at[1 + i]}};
    visit(box, &line, i, context);
  }
}

static void visit_rows(const bf_emu_box *box, visitor visit, void *context) {
  if (box->is_picked)
    visit_picked(box, visit, context);
  else if (box->map.is_im2col > BF_TENSOR_IM2COL)
    visit_wide(box, visit, context);
  else if (box->map.is_im2col)
    visit_pixels(box, visit, context);
  else
    visit_tile(box, visit, context);
}

/* ---- The global memory that is touched ---- */

typedef struct range {
  uint64_t first, end;
} range;

static void widen(const bf_emu_box *box, const row *line, uint64_t index, void *context) {
  const bf_tensor_map *map = &box->map;
  range *all = context;
  uint64_t address, bytes = unit_of(map);
  int64_t first, end, step = map->is_im2col ? 1 : step_of(map, 0);
  (void)index;
  row_inside(map, line, &first, &end);
  if (first == end || !row_address(map, line, &address))
    return;
  uint64_t from = address + (uint64_t)(line->at[0] + first * step) * bytes;
  uint64_t to = address + (uint64_t)(line->at[0] + (end - 1) * step + 1) * bytes;
  all->first = from < all->first ? from : all->first;
  all->end = to > all->end ? to : all->end;
}

/* The first and the last row of a tile that lie inside; false: there is none. */
static bool find_corners(const bf_emu_box *box, row *low, row *high) {
  const bf_tensor_map *map = &box->map;
  low->at[0] = high->at[0] = box->at[0];
  for (unsigned i = 1; i < map->rank; i++) {
    int64_t step = step_of(map, i), last = (int64_t)extent(map, i) - 1, at = box->at[i];
    int64_t before = at < 0 ? (step - 1 - at) / step : 0;
    if (before > last || at + before * step > (int64_t)map->size[i])
      return false;
    int64_t room = ((int64_t)map->size[i] - at) / step;
    low->at[i] = at + before * step;
    high->at[i] = at + (room < last ? room : last) * step;
  }
  return true;
}

bool bf_emu_box_range(const bf_emu_box *box, uint64_t *first, uint64_t *end) {
  range all = {UINT64_MAX, 0};
  row low, high;
  if (box->map.is_im2col || box->is_picked) {
    visit_rows(box, widen, &all);
  } else if (find_corners(box, &low, &high)) {
    widen(box, &low, 0, &all);
    widen(box, &high, 0, &all);
  }
  *first = all.first;
  *end = all.end;
  return all.first < all.end;
}

typedef struct row_listener {
  void (*found)(void *context, uint64_t address, uint64_t bytes);
  void *context;
} row_listener;

/* A row that lies inside; one with steps is told of as a whole. */
static void tell_row(const bf_emu_box *box, const row *line, uint64_t index, void *context) {
  range own = {UINT64_MAX, 0};
  const row_listener *to = context;
  widen(box, line, index, &own);
  if (own.first < own.end)
    to->found(to->context, own.first, own.end - own.first);
}

void bf_emu_box_rows(const bf_emu_box *box,
                     void (*found)(void *context, uint64_t address, uint64_t bytes),
                     void *context) {
  row_listener to = {found, context};
  visit_rows(box, tell_row, &to);
}

/* ---- Moving ---- */

typedef struct move {
  const bf_emu_reduce *reduce;
  uint8_t *to;         /* start of shared memory; of a store not used */
  const uint8_t *from; /* the same of a store */
  uintptr_t shared;    /* where address 0 of shared memory would be */
  bf_emu_reduce typed;
  bool is_plain;        /* whole pieces of 16 bytes can be copied */
  unsigned units_of_16; /* elements in such a piece */
} move;

static bool is_tf32(const bf_tensor_map *map) {
  return map->type == BF_TENSOR_TF32 || map->type == BF_TENSOR_TF32_FLUSHED;
}

/* Fills elements outside of the tensor. */
static void fill(const bf_tensor_map *map, uint8_t *to, unsigned bytes) {
  bool is_float = map->type >= BF_TENSOR_F16 && map->type <= BF_TENSOR_TF32_FLUSHED;
  memset(to, 0, bytes);
  if (!map->fill || !is_float)
    return;
  for (unsigned i = 0; i < bytes; i += 2) { /* 0x7ff7 again and again, as an H200 has it */
    to[i] = 0xf7;
    to[i + 1] = 0x7f;
  }
}

/* What a load makes of a number for tf32: rounded to the nearest (what an H200 does with ties was
 * not seen). Denormal numbers stay with both kinds of flushing: an H200 loads them as they are. */
static void convert(uint8_t *at) {
  uint32_t bits;
  memcpy(&bits, at, sizeof bits);
  bool is_finite = (bits & 0x7f800000) != 0x7f800000;
  bits += is_finite ? 0xfff + (bits >> 13 & 1) : 0;
  bits &= 0xffffe000;
  memcpy(at, &bits, sizeof bits);
}

/* One element of a row, at byte `at` of shared memory as the program sees it. */
static void move_element(const bf_emu_box *box, const move *how, uint32_t at, uint8_t *global) {
  const bf_tensor_map *map = &box->map;
  unsigned bytes = bf_tensor_type_bytes(map->type);
  uint32_t place = bf_tensor_swizzled(map->swizzle, box->shared + at) - box->shared;
  if (box->is_store) {
    const uint8_t *from = how->from + (int32_t)place;
    if (!global)
      return;
    if (how->typed.operation != BF_EMU_REDUCE_NONE)
      bf_emu_reduce_into(&how->typed, global, from);
    else
      memcpy(global, from, bytes);
    return;
  }
  uint8_t *to = how->to + (int32_t)place;
  if (!global) {
    fill(map, to, bytes);
    return;
  }
  memcpy(to, global, bytes);
  if (is_tf32(map))
    convert(to);
}

/* Whether whole pieces of 16 bytes can be copied. */
static bool is_plain(const bf_emu_box *box, const move *how) {
  return how->typed.operation == BF_EMU_REDUCE_NONE && !box->map.chunk_bytes &&
         box->map.swizzle != BF_TENSOR_SWIZZLE_128_ATOM_32_FLIP_8 &&
         (!is_tf32(&box->map) || box->is_store);
}

/* Copies pieces of 16 bytes between shared memory, from the address `place` on, and global memory.
 * shared is where address 0 would be. */
static void move_pieces(const bf_emu_box *box, uintptr_t shared, uint32_t place, uint8_t *global,
                        uint32_t count) {
  swizzle_bits bits = swizzle_table[box->map.swizzle];
  bool is_store = box->is_store;
  for (uint8_t *end = global + 16 * (size_t)count; global < end; global += 16, place += 16) {
    uint8_t *piece = (uint8_t *)(shared + (place ^ (place >> bits.shift & bits.mask)));
    memcpy(is_store ? global : piece, is_store ? piece : global, 16);
  }
}

/* A row of slices, element by element. */
static void move_slices(const bf_emu_box *box, const row *line, uint64_t index, void *context) {
  const bf_tensor_map *map = &box->map;
  uint32_t bytes = bf_tensor_type_bytes(map->type), unit = unit_of(map);
  uint32_t start = (uint32_t)(index * pitch_of(map)), units = row_units(map);
  int64_t first, end, step = map->is_im2col ? 1 : step_of(map, 0);
  uint64_t address;
  row_inside(map, line, &first, &end);
  if (!row_address(map, line, &address))
    first = end = 0;
  for (uint32_t i = 0; i < units; i++)
    for (uint32_t k = 0; k < unit; k += bytes) {
      uint64_t from = address + (uint64_t)(line->at[0] + i * step) * unit + k;
      bool is_inside = i >= first && i < end;
      move_element(box, context, start + i * unit + k,
                   is_inside ? (uint8_t *)(uintptr_t)from : NULL);
    }
}

static void move_row(const bf_emu_box *box, const row *line, uint64_t index, void *context) {
  const bf_tensor_map *map = &box->map;
  const move *how = context;
  unsigned bytes = bf_tensor_type_bytes(map->type);
  int64_t first, end, elements = map->box[0];
  uint64_t address;
  uint32_t start = (uint32_t)(index * pitch_of(map));
  row_inside(map, line, &first, &end);
  if (!row_address(map, line, &address))
    first = end = 0;
  address += (uint64_t)line->at[0] * bytes;
  /* Rows are far from each other: the host is told of the next one. */
  for (unsigned i = 0; i < 128; i += 64)
    __builtin_prefetch((const void *)(uintptr_t)(address + map->stride[0] + i));
  for (int64_t i = 0; i < elements;) {
    uint32_t at = start + (uint32_t)i * bytes;
    if (map->chunk_bytes)
      at = start + (uint32_t)i / map->chunk_bytes * 16 + (uint32_t)i % map->chunk_bytes;
    bool is_inside = i >= first && i < end;
    uint8_t *global = is_inside ? (uint8_t *)(uintptr_t)(address + (uint64_t)i * bytes) : NULL;
    uint32_t whole = is_inside && how->is_plain ? (uint32_t)(end - i) * bytes & ~15u : 0;
    if (whole && (box->shared + at) % 16 == 0) {
      move_pieces(box, how->shared, box->shared + at, global, whole / 16);
      i += how->units_of_16 * (whole / 16);
      continue;
    }
    move_element(box, how, at, global);
    i++;
  }
}

void bf_emu_box_move(const bf_emu_box *box, const bf_emu_reduce *reduce, uint8_t *to,
                     const uint8_t *from) {
  move how = {.reduce = reduce, .to = to, .from = from};
  how.typed = (bf_emu_reduce){reduce->operation, reduced_type(box->map.type)};
  how.shared = (box->is_store ? (uintptr_t)from : (uintptr_t)to) - box->shared;
  how.is_plain = is_plain(box, &how);
  how.units_of_16 = 16 / bf_tensor_type_bytes(box->map.type);
  visit_rows(box, box->map.interleave ? move_slices : move_row, &how);
}
