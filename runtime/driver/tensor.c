/* Tensor maps: descriptions of tensors in global memory for copies by the hardware. What the 128
 * bytes hold is our own (emu/tensor_map.h); what is checked is what the driver's documentation asks
 * for. The driver answers all mistakes with one number; here what is wrong is said, too. */
#include "driver.h"
#include "emu/tensor_map.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NOT_INTERLEAVED, INTERLEAVED_16, INTERLEAVED_32 };
enum { MOST_BOX = 256, MOST_STEP = 8, MOST_PIXELS = 1024 };

/* What all maps have. */
typedef struct map_shape {
  int type, interleave, swizzle, promotion, fill;
  uint32_t rank;
  void *address;
  const uint64_t *size, *stride;
  const uint32_t *step;
} map_shape;

/* What is wrong with a map. */
typedef struct mistake {
  char text[200];
} mistake;

/* Notes what is wrong; always false. */
__attribute__((format(printf, 2, 3))) static bool wrong(mistake *why, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why->text, sizeof why->text, format, arguments);
  va_end(arguments);
  return false;
}

/* Says what is wrong. */
static int refuse(const char *call, const mistake *why) {
  rt_context *context = rt_enter();
  rt_say(context, "%s: %s", call, why->text);
  rt_leave(context, 0);
  return CUDA_ERROR_INVALID_VALUE;
}

/* The swizzles of GPUs before Blackwell are the first four: an H200 refuses the others. */
static int swizzles(void) {
  int major = 0;
  cudaDeviceGetAttribute(&major, 75, 0);
  return major >= 10 ? BF_TENSOR_SWIZZLES : BF_TENSOR_SWIZZLE_128 + 1;
}

static bool is_known(const map_shape *how, mistake *why) {
  if (how->type < 0 || how->type >= BF_TENSOR_TYPES)
    return wrong(why, "%d is no type", how->type);
  if (how->interleave < 0 || how->interleave >= BF_TENSOR_INTERLEAVES)
    return wrong(why, "%d is no interleave", how->interleave);
  if (how->swizzle >= swizzles() && how->swizzle < BF_TENSOR_SWIZZLES)
    return wrong(why, "the 128-byte swizzle with atoms of 32 or 64 bytes needs compute capability "
                      "10.0 (exec --machine blackwell)");
  if (how->swizzle < 0 || how->swizzle >= swizzles())
    return wrong(why, "%d is no swizzle of this GPU", how->swizzle);
  if (how->promotion < 0 || how->promotion >= BF_TENSOR_PROMOTIONS)
    return wrong(why, "%d is no promotion", how->promotion);
  if (how->fill < 0 || how->fill >= BF_TENSOR_FILLS)
    return wrong(why, "%d is no fill", how->fill);
  return true;
}

/* Whether the address, the sizes and the strides of a tensor can be. */
static bool check_tensor(const map_shape *how, mistake *why) {
  bool is_wide = how->interleave == INTERLEAVED_32 || how->type == BF_TENSOR_U6_ALIGN16 ||
                 how->type == BF_TENSOR_U4_ALIGN16;
  unsigned alignment = is_wide ? 32 : 16;
  for (unsigned i = 0; i < how->rank; i++) {
    if (how->size[i] == 0 || how->size[i] > (uint64_t)1 << 32)
      return wrong(why, "dimension %u has %llu elements", i, (unsigned long long)how->size[i]);
    if (how->step[i] == 0 || how->step[i] > MOST_STEP)
      return wrong(why, "the element stride %u of dimension %u; 1 to %d can be", how->step[i], i,
                   MOST_STEP);
  }
  for (unsigned i = 0; i + 1 < how->rank; i++)
    if (how->stride[i] % alignment || how->stride[i] >= (uint64_t)1 << 40)
      return wrong(why, "the stride of %llu bytes of dimension %u is no multiple of %u below 2^40",
                   (unsigned long long)how->stride[i], i + 1, alignment);
  return (uintptr_t)how->address % alignment == 0 ||
         wrong(why, "the address %p is no multiple of %u", how->address, alignment);
}

/* Bytes of elements of a type. */
static uint64_t bytes_of(int type, uint64_t elements) {
  uint64_t bytes = elements * bf_tensor_type_bytes((unsigned)type);
  return type >= BF_TENSOR_U4_ALIGN8 ? bytes / 16 : bytes;
}

/* What packed elements want beside, as cuda.h has it; rows with gaps have 128 elements. */
static bool check_packed(const map_shape *how, uint64_t elements, mistake *why) {
  bool has_gaps = how->type == BF_TENSOR_U4_ALIGN16 || how->type == BF_TENSOR_U6_ALIGN16;
  unsigned unit = has_gaps ? 128 : 2;
  if (how->type < BF_TENSOR_U4_ALIGN8)
    return true;
  if (how->size[0] % unit)
    return wrong(why, "%llu packed elements in a row, which is no multiple of %u",
                 (unsigned long long)how->size[0], unit);
  if (has_gaps && elements != 128)
    return wrong(why, "rows of the box have %llu elements; packed ones with gaps have 128",
                 (unsigned long long)elements);
  if (has_gaps &&
      (how->interleave != NOT_INTERLEAVED ||
       (how->swizzle != BF_TENSOR_SWIZZLE_NONE && how->swizzle != BF_TENSOR_SWIZZLE_128 &&
        how->swizzle != BF_TENSOR_SWIZZLE_128_ATOM_32)))
    return wrong(why, "packed elements with gaps go without a swizzle, or with the 128-byte one "
                      "with atoms of 16 or 32 bytes, and not interleaved");
  return how->fill == 0 || wrong(why, "packed elements outside of the tensor are zeros");
}

/* Whether a row of a box can be: whole 16 bytes, which a swizzle must be able to hold but for
 * slices of an interleaved tensor. The driver takes slices of 32 bytes with any swizzle. */
static bool check_row(const map_shape *how, uint64_t elements, mistake *why) {
  if (!check_packed(how, elements, why))
    return false;
  uint64_t row = bytes_of(how->type, elements);
  unsigned widest = how->swizzle ? bf_tensor_swizzle_bytes((unsigned)how->swizzle) : 0;
  if (row % 16)
    return wrong(why, "rows of the box have %llu bytes, which is no multiple of 16",
                 (unsigned long long)row);
  return !widest || row <= widest || how->interleave != NOT_INTERLEAVED ||
         wrong(why, "rows of the box have %llu bytes; with the %u-byte swizzle they can have %u",
               (unsigned long long)row, widest, widest);
}

/* Whether all that maps have in common can be. */
static bool check_shape(const void *to, const map_shape *how, uint32_t least_rank, mistake *why) {
  if (!to || (uintptr_t)to % 64)
    return wrong(why, "the map is at %p, which is no multiple of 64", to);
  if (how->interleave && how->rank < 3)
    return wrong(why, "%u dimensions; an interleaved tensor has 3 or more", how->rank);
  if (how->rank < least_rank || how->rank > BF_TENSOR_DIMENSIONS)
    return wrong(why, "%u dimensions; %u to %d can be", how->rank, least_rank,
                 BF_TENSOR_DIMENSIONS);
  if (!how->address || !how->size || (!how->stride && how->rank > 1) || !how->step)
    return wrong(why, "an address, sizes, strides or element strides are missing");
  return is_known(how, why) && check_tensor(how, why);
}

/* Whether each dimension of a box can be. */
static bool check_box(uint32_t rank, const uint32_t *box, mistake *why) {
  for (unsigned i = 0; i < rank; i++)
    if (box[i] == 0 || box[i] > MOST_BOX)
      return wrong(why, "dimension %u of the box has %u elements; 1 to %d can be", i, box[i],
                   MOST_BOX);
  return true;
}

static bf_tensor_map make_map(const map_shape *how) {
  bf_tensor_map map = {.address = (uint64_t)(uintptr_t)how->address,
                       .rank = (uint8_t)how->rank,
                       .type = (uint8_t)how->type,
                       .interleave = (uint8_t)how->interleave,
                       .swizzle = (uint8_t)how->swizzle,
                       .promotion = (uint8_t)how->promotion,
                       .fill = (uint8_t)how->fill};
  memcpy(map.magic, BF_TENSOR_MAGIC, sizeof map.magic);
  for (unsigned i = 0; i < how->rank; i++) {
    map.size[i] = (uint32_t)(how->size[i] - 1);
    map.step[i] = (uint8_t)how->step[i];
    if (i + 1 < how->rank)
      map.stride[i] = how->stride[i];
  }
  return map;
}

static int write_map(void *to, const bf_tensor_map *map) {
  _Static_assert(sizeof *map <= BF_TENSOR_MAP_BYTES, "as programs have room for");
  memset(to, 0, BF_TENSOR_MAP_BYTES);
  memcpy(to, map, sizeof *map);
  return CUDA_SUCCESS;
}

API(cuTensorMapEncodeTiled, void *to, int type, uint32_t rank, void *address, const uint64_t *size,
    const uint64_t *stride, const uint32_t *box, const uint32_t *step, int interleave, int swizzle,
    int promotion, int fill) {
  DR_CHECK_ON();
  map_shape how = {type, interleave, swizzle, promotion, fill, rank, address, size, stride, step};
  mistake why = {"no box"};
  if (!box || !check_shape(to, &how, 1, &why) || !check_box(rank, box, &why) ||
      !check_row(&how, box[0], &why))
    return refuse("cuTensorMapEncodeTiled", &why);
  bf_tensor_map map = make_map(&how);
  for (unsigned i = 0; i < rank; i++)
    map.box[i] = (uint16_t)box[i];
  return write_map(to, &map);
}

/* Whether the corners of a box of pixels fit: they have 16, 8 or 5 bits with one, two or three
 * dimensions of space. */
static bool check_corners(uint32_t rank, const int *corner, mistake *why) {
  static const int most[] = {1 << 15, 1 << 7, 1 << 4};
  for (unsigned i = 0; i + 2 < rank; i++)
    if (corner[i] < -most[rank - 3] || corner[i] >= most[rank - 3])
      return wrong(why, "the corner %d of dimension %u; %d to %d can be", corner[i], i + 1,
                   -most[rank - 3], most[rank - 3] - 1);
  return true;
}

/* Whether there is a pixel between the corners. */
static bool has_pixels(const map_shape *how, const int *lower, const int *upper, mistake *why) {
  unsigned first = how->interleave == NOT_INTERLEAVED ? 1 : 0;
  for (unsigned i = 0; i + 2 < how->rank; i++)
    if ((int64_t)how->size[first + i] + upper[i] - lower[i] < 1)
      return wrong(why, "no pixel is between the corners of dimension %u", i + 1);
  return true;
}

static bool check_pixels(uint32_t channels, uint32_t pixels, mistake *why) {
  return (channels && channels <= MOST_BOX && pixels && pixels <= MOST_PIXELS) ||
         wrong(why, "%u channels of %u pixels; %d of %d can be", channels, pixels, MOST_BOX,
               MOST_PIXELS);
}

API(cuTensorMapEncodeIm2col, void *to, int type, uint32_t rank, void *address, const uint64_t *size,
    const uint64_t *stride, const int *lower, const int *upper, uint32_t channels, uint32_t pixels,
    const uint32_t *step, int interleave, int swizzle, int promotion, int fill) {
  DR_CHECK_ON();
  map_shape how = {type, interleave, swizzle, promotion, fill, rank, address, size, stride, step};
  mistake why = {"no corners"};
  if (!lower || !upper || !check_shape(to, &how, 3, &why) || !check_corners(rank, lower, &why) ||
      !check_corners(rank, upper, &why) || !check_pixels(channels, pixels, &why) ||
      !check_row(&how, channels, &why) || !has_pixels(&how, lower, upper, &why))
    return refuse("cuTensorMapEncodeIm2col", &why);
  bf_tensor_map map = make_map(&how);
  map.is_im2col = BF_TENSOR_IM2COL;
  map.box[0] = (uint16_t)channels;
  map.box[1] = (uint16_t)pixels;
  for (unsigned i = 0; i + 2 < rank; i++) {
    map.lower[i] = (int16_t)lower[i];
    map.upper[i] = (int16_t)upper[i];
  }
  return write_map(to, &map);
}

/* Whether a GPU and a swizzle can be of im2col::w. */
static bool check_wide(const map_shape *how, int mode, mistake *why) {
  if (swizzles() < BF_TENSOR_SWIZZLES)
    return wrong(why, "a GPU of compute capability 10.0 or higher is needed");
  if (mode < 0 || mode > 1)
    return wrong(why, "%d is no mode", mode);
  return how->swizzle == BF_TENSOR_SWIZZLE_64 || how->swizzle == BF_TENSOR_SWIZZLE_128 ||
         how->swizzle == BF_TENSOR_SWIZZLE_128_ATOM_32 ||
         wrong(why, "swizzle %d; 64, 128 bytes, and 128 with atoms of 32 can be", how->swizzle);
}

API(cuTensorMapEncodeIm2colWide, void *to, int type, uint32_t rank, void *address,
    const uint64_t *size, const uint64_t *stride, int lower, int upper, uint32_t channels,
    uint32_t pixels, const uint32_t *step, int interleave, int mode, int swizzle, int promotion,
    int fill) {
  DR_CHECK_ON();
  map_shape how = {type, interleave, swizzle, promotion, fill, rank, address, size, stride, step};
  map_shape row = how; /* of whose dimensions of space only the width has corners */
  mistake why = {""};
  row.rank = 3;
  bool is_128 = mode == 1; /* which has its own number of pixels */
  if (!check_shape(to, &how, 3, &why) || !check_wide(&how, mode, &why) ||
      !check_corners(3, &lower, &why) || !check_corners(3, &upper, &why) ||
      !check_pixels(channels, is_128 ? 128 : pixels, &why) || !check_row(&how, channels, &why) ||
      !has_pixels(&row, &lower, &upper, &why))
    return refuse("cuTensorMapEncodeIm2colWide", &why);
  bf_tensor_map map = make_map(&how);
  map.is_im2col = is_128 ? BF_TENSOR_IM2COL_W_128 : BF_TENSOR_IM2COL_W;
  map.box[0] = (uint16_t)channels;
  map.box[1] = (uint16_t)(is_128 ? 128 : pixels);
  map.lower[0] = (int16_t)lower;
  map.upper[0] = (int16_t)upper;
  return write_map(to, &map);
}

API(cuTensorMapReplaceAddress, void *to, void *address) {
  DR_CHECK_ON();
  bf_tensor_map *map = to;
  if (!map || !address || (uintptr_t)address % 16 ||
      memcmp(map->magic, BF_TENSOR_MAGIC, sizeof map->magic) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  map->address = (uint64_t)(uintptr_t)address;
  return CUDA_SUCCESS;
}
