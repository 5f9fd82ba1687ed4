/* emu/tensor_map: tensors in global memory as cp.async.bulk.tensor sees them.
 *
 * A tensor map is 128 bytes that cuTensorMapEncodeTiled and its like write and that kernels hand to
 * the hardware. NVIDIA's form of them is not published; this one is our own. */
#ifndef BF_EMU_TENSOR_MAP_H
#define BF_EMU_TENSOR_MAP_H

#include "base/base.h"

enum { BF_TENSOR_DIMENSIONS = 5, BF_TENSOR_MAP_BYTES = 128 };

/* Types of elements, as CUtensorMapDataType numbers them. */
typedef enum bf_tensor_type {
  BF_TENSOR_U8,
  BF_TENSOR_U16,
  BF_TENSOR_U32,
  BF_TENSOR_S32,
  BF_TENSOR_U64,
  BF_TENSOR_S64,
  BF_TENSOR_F16,
  BF_TENSOR_F32,
  BF_TENSOR_F64,
  BF_TENSOR_BF16,
  BF_TENSOR_F32_FLUSHED,
  BF_TENSOR_TF32,
  BF_TENSOR_TF32_FLUSHED,
  BF_TENSOR_U4_ALIGN8, /* packed: those of Blackwell */
  BF_TENSOR_U4_ALIGN16,
  BF_TENSOR_U6_ALIGN16,
  BF_TENSOR_TYPES
} bf_tensor_type;

/* How a box lies in shared memory, as CUtensorMapSwizzle numbers it. */
typedef enum bf_tensor_swizzle {
  BF_TENSOR_SWIZZLE_NONE,
  BF_TENSOR_SWIZZLE_32,
  BF_TENSOR_SWIZZLE_64,
  BF_TENSOR_SWIZZLE_128,
  BF_TENSOR_SWIZZLE_128_ATOM_32,
  BF_TENSOR_SWIZZLE_128_ATOM_32_FLIP_8,
  BF_TENSOR_SWIZZLE_128_ATOM_64,
  BF_TENSOR_SWIZZLES
} bf_tensor_swizzle;

/* What a map is for: boxes, pixels in space, or pixels of a row of many images: as many as it says,
 * or 128. */
typedef enum bf_tensor_im2col {
  BF_TENSOR_TILES,
  BF_TENSOR_IM2COL,
  BF_TENSOR_IM2COL_W,
  BF_TENSOR_IM2COL_W_128
} bf_tensor_im2col;

enum { BF_TENSOR_INTERLEAVES = 3, BF_TENSOR_PROMOTIONS = 4, BF_TENSOR_FILLS = 2 };

typedef struct bf_tensor_map {
  char magic[8]; /* BF_TENSOR_MAGIC */
  uint64_t address;
  uint32_t size[BF_TENSOR_DIMENSIONS]; /* elements, minus 1 */
  uint16_t box[BF_TENSOR_DIMENSIONS];  /* elements; im2col: channels, then pixels */
  uint8_t step[BF_TENSOR_DIMENSIONS];  /* from element to element that is copied */
  uint8_t rank, type, interleave, swizzle, promotion, fill;
  uint8_t is_im2col;   /* bf_tensor_im2col */
  uint8_t chunk_bytes; /* that 16 bytes of shared memory hold, in a copy of a map; 0: all of them */
  uint64_t stride[BF_TENSOR_DIMENSIONS - 1]; /* bytes, from the second dimension on */
  int16_t lower[3], upper[3];                /* im2col: corners of the box of pixels */
} bf_tensor_map;

#define BF_TENSOR_MAGIC "bftensor"

/* Bytes of an element; of packed types those of 16 elements. */
unsigned bf_tensor_type_bytes(unsigned type);
/* "f16". */
const char *bf_tensor_type_name(unsigned type);
/* The most bytes that a row of a box may have with a swizzle; 0: any. */
unsigned bf_tensor_swizzle_bytes(unsigned swizzle);
/* Where the byte at an address of shared memory goes: the swizzle exchanges address bits. */
uint32_t bf_tensor_swizzled(unsigned swizzle, uint32_t address);

#endif
