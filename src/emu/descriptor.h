/* Inside room emu: where wgmma finds the elements of a matrix in shared memory.
 *
 * A matrix is made of pieces of 16 bytes. Its descriptor has, in units of 16 bytes, the address of
 * the first (bits 0-13), the leading (16-29) and the stride byte offset (32-45); the base offset
 * (49-51) and the layout (62-63: none, or a swizzle of 128, 64 or 32 bytes, whose width is W
 * below).
 *
 * An operand is K-major where elements that follow each other along K are neighbours in memory.
 * Then piece p of row r (of A; a column of B) is at none:     start + r / 8 * stride + p * leading
 * + r % 8 * 16 swizzled: start + r / 8 * stride + r % 8 * W + p * 16 The other way round (MN-major,
 * 16-bit types only) piece p of line k holds elements 8p to 8p+7: none:     start + p * stride + k
 * / 8 * leading + k % 8 * 16 swizzled: start + 16p / W * leading + 16p % W + k / 8 * stride + k % 8
 * * W A swizzle then exchanges bits 4 to 6 (5, 4) of the address by bits 7 to 9 (8, 7), counted
 * from where the base offset says that the pattern begins. */
#ifndef BF_EMU_DESCRIPTOR_H
#define BF_EMU_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bf_emu_descriptor {
  uint32_t start, leading, stride; /* bytes */
  uint32_t base;
  uint32_t width; /* W, or 16 without a swizzle */
  uint32_t mask;  /* address bits that the swizzle changes */
} bf_emu_descriptor;

/* Bits that must be 0. */
#define BF_EMU_DESCRIPTOR_UNUSED UINT64_C(0x3ff1c000c000c000)

static inline bf_emu_descriptor bf_emu_descriptor_unpack(uint64_t bits) {
  static const uint8_t width[4] = {16, 128, 64, 32}, mask[4] = {0, 0x70, 0x30, 0x10};
  return (bf_emu_descriptor){.start = (uint32_t)(bits & 0x3fff) << 4,
                             .leading = (uint32_t)(bits >> 16 & 0x3fff) << 4,
                             .stride = (uint32_t)(bits >> 32 & 0x3fff) << 4,
                             .base = (uint32_t)(bits >> 49 & 7),
                             .width = width[bits >> 62],
                             .mask = mask[bits >> 62]};
}

/* The address of piece p of line l: a row of A (column of B) of a K-major matrix, else a k. */
static inline uint32_t bf_emu_descriptor_piece(const bf_emu_descriptor *d, bool is_k_major,
                                               uint32_t line, uint32_t piece) {
  uint32_t address = d->start + line % 8 * d->width;
  if (d->mask == 0)
    return address + (is_k_major ? line / 8 * d->stride + piece * d->leading
                                 : line / 8 * d->leading + piece * d->stride);
  address += line / 8 * d->stride;
  uint32_t per_row = d->width / 16;
  address += is_k_major ? piece * 16 : piece / per_row * d->leading + piece % per_row * 16;
  return address ^ (((address >> 7) - d->base) << 4 & d->mask);
}

#endif
