/* Tensor maps: descriptions of tensors in global memory for copies by the hardware. NVIDIA's form
 * of the 128 bytes is not published; this one is our own, and checks what the driver's
 * documentation asks for. */
#include "driver.h"

#include <string.h>

enum { DIMENSIONS = 5, TYPES = 16, SWIZZLES = 6, PROMOTIONS = 4, FILLS = 2, INTERLEAVES = 3 };
enum { NOT_INTERLEAVED, INTERLEAVED_16, INTERLEAVED_32 };

/* Bytes of an element of each type; of the last three, which pack, 16 elements have so many bytes.
 */
static const unsigned char type_bytes[TYPES] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4, 8, 16, 16};
enum { FIRST_PACKED = 13 };

/* What the 128 bytes hold. */
typedef struct tensor_map {
  char magic[8]; /* "bftensor" */
  uint64_t address;
  uint32_t size[DIMENSIONS];       /* minus 1: elements */
  uint32_t box[DIMENSIONS];        /* elements */
  uint64_t stride[DIMENSIONS - 1]; /* bytes, from the second dimension on */
  uint8_t element_stride[DIMENSIONS];
  uint8_t rank, type, interleave, swizzle, promotion, fill;
} tensor_map;
_Static_assert(sizeof(tensor_map) <= 128, "as programs have room for");

/* Whether the sizes and strides of a tensor can be. */
static bool check_tensor(const tensor_map *map, const uint64_t *size, const uint64_t *stride) {
  uint64_t alignment = map->interleave == INTERLEAVED_32 || map->type == TYPES - 1 ? 32 : 16;
  for (unsigned i = 0; i < map->rank; i++)
    if (size[i] == 0 || size[i] > (uint64_t)1 << 32)
      return false;
  for (unsigned i = 0; i + 1 < map->rank; i++)
    if (stride[i] % alignment || stride[i] >= (uint64_t)1 << 40)
      return false;
  return map->address % alignment == 0;
}

/* Whether a box can be: at most 256 elements in each dimension, rows of whole 16 bytes, which a
 * swizzle must be able to hold. */
static bool check_box(const tensor_map *map, const uint32_t *box, const uint32_t *step) {
  static const unsigned most_row[SWIZZLES] = {0, 32, 64, 128, 128, 128};
  for (unsigned i = 0; i < map->rank; i++)
    if (box[i] == 0 || box[i] > 256 || step[i] == 0 || step[i] > 8)
      return false;
  uint64_t row = (uint64_t)box[0] * type_bytes[map->type] / (map->type >= FIRST_PACKED ? 16 : 1);
  if (map->interleave != NOT_INTERLEAVED)
    return map->swizzle <= 1 && (map->interleave != INTERLEAVED_32 || map->swizzle == 1);
  return row % 16 == 0 && (!map->swizzle || row <= most_row[map->swizzle]);
}

API(cuTensorMapEncodeTiled, void *to, int type, uint32_t rank, void *address, const uint64_t *size,
    const uint64_t *stride, const uint32_t *box, const uint32_t *step, int interleave, int swizzle,
    int promotion, int fill) {
  DR_CHECK_ON();
  tensor_map map = {.magic = "bftensor", .address = (uint64_t)(uintptr_t)address};
  bool is_known = type >= 0 && type < TYPES && interleave >= 0 && interleave < INTERLEAVES &&
                  swizzle >= 0 && swizzle < SWIZZLES && promotion >= 0 && promotion < PROMOTIONS &&
                  fill >= 0 && fill < FILLS;
  if (!to || (uintptr_t)to % 64 || !address || !is_known || rank == 0 || rank > DIMENSIONS ||
      (interleave && rank < 3) || !size || (!stride && rank > 1) || !box || !step)
    return CUDA_ERROR_INVALID_VALUE;
  map.rank = (uint8_t)rank;
  map.type = (uint8_t)type;
  map.interleave = (uint8_t)interleave;
  map.swizzle = (uint8_t)swizzle;
  map.promotion = (uint8_t)promotion;
  map.fill = (uint8_t)fill;
  if (!check_tensor(&map, size, stride) || !check_box(&map, box, step))
    return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < rank; i++) {
    map.size[i] = (uint32_t)(size[i] - 1);
    map.box[i] = box[i];
    map.element_stride[i] = (uint8_t)step[i];
    if (i + 1 < rank)
      map.stride[i] = stride[i];
  }
  memset(to, 0, 128);
  memcpy(to, &map, sizeof map);
  return CUDA_SUCCESS;
}

API(cuTensorMapReplaceAddress, void *to, void *address) {
  DR_CHECK_ON();
  tensor_map *map = to;
  if (!map || !address || (uintptr_t)address % 16 || memcmp(map->magic, "bftensor", 8) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  map->address = (uint64_t)(uintptr_t)address;
  return CUDA_SUCCESS;
}
