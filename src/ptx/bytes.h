/* ptx/bytes: little-endian numbers in bytes, and faults at a byte of a file. */
#ifndef BF_PTX_BYTES_H
#define BF_PTX_BYTES_H

#include "base/base.h"

static inline uint16_t bf_read_u16(const unsigned char *at) {
  return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t bf_read_u32(const unsigned char *at) {
  return bf_read_u16(at) | (uint32_t)bf_read_u16(at + 2) << 16;
}

static inline uint64_t bf_read_u64(const unsigned char *at) {
  return bf_read_u32(at) | (uint64_t)bf_read_u32(at + 4) << 32;
}

/* Whether [begin, begin + size) lies in [0, limit). */
static inline bool bf_fits(uint64_t begin, uint64_t size, uint64_t limit) {
  return begin <= limit && size <= limit - begin;
}

/* As bf_fail_file, for the byte at offset. */
int bf_fail_byte(bf_diagnostic *diagnostic, bf_error error, const char *file, uint64_t offset,
                 const char *format, ...) BF_PRINTF(5, 6);

#endif
