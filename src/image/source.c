/* Bytes of an image, from a file or from memory. */
#include "image/source.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 16 };

int bf_image_source_open(const char *path, image_source *source, bf_diagnostic *diagnostic) {
  memset(source, 0, sizeof *source);
  snprintf(source->name, sizeof source->name, "%s", bf_input_name(path));
  BF_TRY(bf_reader_open(path, &source->file, diagnostic));
  source->buffer = malloc(BUFFER_BYTES);
  if (!source->buffer)
    return bf_no_memory(diagnostic);
  source->data = source->buffer;
  return BF_OK;
}

void bf_image_source_set(const char *name, const void *bytes, size_t size, image_source *source) {
  memset(source, 0, sizeof *source);
  snprintf(source->name, sizeof source->name, "%s", name);
  source->data = bytes;
  source->end = size;
}

void bf_image_source_close(image_source *source) {
  bf_reader_close(source->file);
  free(source->buffer);
}

uint64_t bf_image_source_offset(const image_source *source) {
  return source->before + source->begin;
}

int bf_image_source_fill(image_source *source, size_t count, bf_diagnostic *diagnostic) {
  if (!source->file || source->end - source->begin >= count)
    return BF_OK;
  memmove(source->buffer, source->buffer + source->begin, source->end - source->begin);
  source->before += source->begin;
  source->end -= source->begin;
  source->begin = 0;
  for (size_t got = 1; got > 0 && source->end < count; source->end += got)
    BF_TRY(bf_reader_read(source->file, source->buffer + source->end, BUFFER_BYTES - source->end,
                          &got, diagnostic));
  return BF_OK;
}

/* Takes up to size bytes of those in memory. */
static size_t take_buffered(image_source *source, void *bytes, size_t size) {
  size_t left = source->end - source->begin;
  size_t taken = size < left ? size : left;
  if (taken > 0)
    memcpy(bytes, source->data + source->begin, taken);
  source->begin += taken;
  return taken;
}

int bf_image_source_take(image_source *source, void *bytes, size_t size,
                         bf_diagnostic *diagnostic) {
  uint8_t *to = bytes;
  size_t taken = take_buffered(source, to, size);
  while (taken < size && source->file) {
    size_t got;
    BF_TRY(bf_reader_read(source->file, to + taken, size - taken, &got, diagnostic));
    source->before += got;
    taken += got;
    if (got == 0)
      break;
  }
  return taken == size ? BF_OK : bf_image_source_cut_off(source, diagnostic);
}

int bf_image_source_cut_off(const image_source *source, bf_diagnostic *diagnostic) {
  return bf_fail_file(diagnostic, BF_BAD_INPUT, source->name,
                      "the image is cut off: the file ends at byte %llu",
                      (unsigned long long)bf_image_source_offset(source));
}
