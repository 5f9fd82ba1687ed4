/* Inside room image: where the bytes of an image come from: a file, read piece by piece, or memory.
 */
#ifndef BF_IMAGE_SOURCE_H
#define BF_IMAGE_SOURCE_H

#include "base/base.h"

typedef struct image_source {
  char name[256];
  bf_reader *file; /* NULL: data is all there is */
  uint8_t *buffer; /* of a file */
  const uint8_t *data;
  size_t begin, end; /* what is left of data */
  uint64_t before;   /* bytes of the input before data */
} image_source;

int bf_image_source_open(const char *path, image_source *source, bf_diagnostic *diagnostic);
void bf_image_source_set(const char *name, const void *bytes, size_t size, image_source *source);
void bf_image_source_close(image_source *source);

/* Bytes of the input that were taken. */
uint64_t bf_image_source_offset(const image_source *source);
/* Makes at least `count` bytes (at most 16) lie at data + begin, or as many as are left. */
int bf_image_source_fill(image_source *source, size_t count, bf_diagnostic *diagnostic);
/* Takes `size` bytes; fewer are the fault of a file that is cut off. */
int bf_image_source_take(image_source *source, void *bytes, size_t size, bf_diagnostic *diagnostic);
/* Says that the input ends too early; returns BF_BAD_INPUT. */
int bf_image_source_cut_off(const image_source *source, bf_diagnostic *diagnostic);

/* The next byte without taking it, or -1 at the end. */
static inline int bf_image_source_peek(image_source *source, int *byte, bf_diagnostic *diagnostic) {
  if (source->begin == source->end)
    BF_TRY(bf_image_source_fill(source, 1, diagnostic));
  *byte = source->begin < source->end ? source->data[source->begin] : -1;
  return BF_OK;
}

#endif
