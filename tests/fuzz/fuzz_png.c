/* PNG files. Checksums would keep changes from reaching anything behind them, so the input is read
 * as it is and once more with its checksums put right. */
#include "image_read.h"

#include <png.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The checksum of a chunk: CRC-32. */
static uint32_t chunk_sum(const uint8_t *bytes, size_t size) {
  uint32_t sum = 0xffffffffu;
  for (size_t i = 0; i < size; i++) {
    sum ^= bytes[i];
    for (int bit = 0; bit < 8; bit++)
      sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
  }
  return ~sum;
}

/* Chunks are 4 bytes of length, 4 of name, the data and 4 of checksum. */
static void put_sums_right(uint8_t *bytes, size_t size) {
  for (size_t at = 8; size - at >= 12;) {
    const uint32_t length = png_get_uint_32(bytes + at);
    if (length > size - at - 12)
      return;
    png_save_uint_32(bytes + at + 8 + length, chunk_sum(bytes + at + 4, length + 4));
    at += length + 12;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_image(data, size);
  uint8_t *bytes = malloc(size ? size : 1);
  if (!bytes || size < 8) {
    free(bytes);
    return 0;
  }
  memcpy(bytes, data, size);
  put_sums_right(bytes, size);
  read_image(bytes, size);
  free(bytes);
  return 0;
}
