/* Reads an image from bytes, strip by strip: whatever they are, a fault has a message and what is
 * read has the size that the header says. */
#ifndef BF_FUZZ_IMAGE_READ_H
#define BF_FUZZ_IMAGE_READ_H

#include "image/image.h"

#include <assert.h>
#include <stdlib.h>

/* Memory asked for in vain makes fuzzing slow: larger pictures are only opened. */
enum { MOST_BYTES = 1 << 20 };

static inline void read_rows(bf_image_reader *reader) {
  const bf_image_format *format = bf_image_get_format(reader);
  bf_diagnostic diagnostic = {0};
  const uint32_t rows = format->height < 3 ? format->height : 3;
  uint8_t *pixels = malloc((size_t)bf_image_row_bytes(format) * rows);
  assert(pixels);
  for (uint32_t y = 0; y < format->height; y += rows) {
    const uint32_t left = format->height - y;
    if (bf_image_read(reader, left < rows ? left : rows, pixels, &diagnostic) != BF_OK) {
      assert(diagnostic.message[0]);
      break;
    }
  }
  free(pixels);
}

static inline void read_image(const uint8_t *data, size_t size) {
  bf_image_reader *reader;
  bf_diagnostic diagnostic = {0};
  if (bf_image_open_bytes("input", data, size, &reader, &diagnostic) != BF_OK) {
    assert(diagnostic.message[0] && !reader);
    return;
  }
  const bf_image_format *format = bf_image_get_format(reader);
  assert(format->width > 0 && format->height > 0);
  assert(format->channels >= 1 && format->channels <= 4);
  assert(format->sample_bytes == (format->most > 255 ? 2 : 1));
  if (bf_image_bytes(format) <= MOST_BYTES)
    read_rows(reader);
  bf_image_close(reader);
}

#endif
