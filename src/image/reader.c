/* Reading images: which kind a file is, its limits, and what all kinds share. */
#include "image/reader.h"

#include <stdlib.h>
#include <string.h>

/* ---- Formats ---- */

uint64_t bf_image_row_bytes(const bf_image_format *format) {
  return (uint64_t)format->width * format->channels * format->sample_bytes;
}

uint64_t bf_image_bytes(const bf_image_format *format) {
  return bf_image_row_bytes(format) * format->height;
}

uint32_t bf_image_strip_rows(const bf_image_format *format) {
  const uint64_t rows = (1 << 22) / bf_image_row_bytes(format);
  return rows < 1 ? 1 : rows < format->height ? (uint32_t)rows : format->height;
}

const char *bf_image_channel_name(const bf_image_format *format, unsigned channel) {
  static const char *const grey[] = {"grey", "alpha"};
  static const char *const colour[] = {"red", "green", "blue", "alpha"};
  return format->channels <= 2 ? grey[channel] : colour[channel];
}

int bf_image_check_format(const bf_image_reader *reader, bf_diagnostic *diagnostic) {
  const bf_image_format *format = &reader->format;
  const char *name = reader->source.name;
  if (format->width == 0 || format->height == 0)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, name, "the image is %u x %u pixels large",
                        format->width, format->height);
  if (format->width > BF_IMAGE_MOST_PIXELS || format->height > BF_IMAGE_MOST_PIXELS ||
      bf_image_row_bytes(format) > BF_IMAGE_MOST_ROW_BYTES)
    return bf_fail_file(diagnostic, BF_UNSUPPORTED, name,
                        "an image of %u x %u pixels is too large: rows may have %llu bytes",
                        format->width, format->height, (unsigned long long)BF_IMAGE_MOST_ROW_BYTES);
  return BF_OK;
}

/* ---- Kinds of files ---- */

typedef struct file_kind {
  const char *magic;
  const char *name;
} file_kind;

/* What people have and this room does not read. */
static const file_kind foreign_kinds[] = {
    {"\xff\xd8\xff", "a JPEG image"},
    {"GIF8", "a GIF image"},
    {"BM", "a BMP image"},
    {"II*", "a TIFF image"},
    {"RIFF", "a RIFF file, such as WebP"},
    {"P1", "a bitmap (PBM)"},
    {"P4", "a bitmap (PBM)"},
    {"P7", "a portable arbitrary map (PAM)"},
};

static bool begins_with(const image_source *source, const char *magic) {
  const size_t length = strlen(magic);
  return source->end - source->begin >= length &&
         memcmp(source->data + source->begin, magic, length) == 0;
}

static int refuse_kind(const image_source *source, bf_diagnostic *diagnostic) {
  const char *kind = "not an image";
  if (source->begin == source->end)
    kind = "empty";
  for (size_t i = 0; i < sizeof foreign_kinds / sizeof *foreign_kinds; i++)
    if (begins_with(source, foreign_kinds[i].magic))
      kind = foreign_kinds[i].name;
  return bf_fail_file(diagnostic, BF_BAD_INPUT, source->name,
                      "the file is %s; PNG, PGM and PPM (P2, P3, P5, P6) are read", kind);
}

/* Finds out what the source holds, and reads its header. */
static int open_kind(bf_image_reader *reader, bf_diagnostic *diagnostic) {
  image_source *source = &reader->source;
  BF_TRY(bf_image_source_fill(source, 8, diagnostic));
  if (begins_with(source, "\x89PNG\r\n\x1a\n"))
    return bf_image_open_png(reader, diagnostic);
  for (const char *digit = "2356"; *digit; digit++)
    if (begins_with(source, (const char[]){'P', *digit, 0}))
      return bf_image_open_pnm(reader, diagnostic);
  return refuse_kind(source, diagnostic);
}

/* ---- Reading ---- */

/* Reads the header behind the source that is set, or gives up the reader. */
static int finish_open(bf_image_reader *made, int error, bf_image_reader **reader,
                       bf_diagnostic *diagnostic) {
  if (!error)
    error = open_kind(made, diagnostic);
  if (error)
    bf_image_close(made);
  else
    *reader = made;
  return error;
}

int bf_image_open(const char *path, bf_image_reader **reader, bf_diagnostic *diagnostic) {
  *reader = NULL;
  bf_image_reader *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  int error = bf_image_source_open(path, &made->source, diagnostic);
  return finish_open(made, error, reader, diagnostic);
}

int bf_image_open_bytes(const char *name, const void *bytes, size_t size, bf_image_reader **reader,
                        bf_diagnostic *diagnostic) {
  *reader = NULL;
  bf_image_reader *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  bf_image_source_set(name, bytes, size, &made->source);
  return finish_open(made, BF_OK, reader, diagnostic);
}

const bf_image_format *bf_image_get_format(const bf_image_reader *reader) {
  return &reader->format;
}

int bf_image_read(bf_image_reader *reader, uint32_t rows, void *pixels, bf_diagnostic *diagnostic) {
  if (rows > reader->format.height - reader->next_row)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, reader->source.name,
                        "%u rows are asked for where %u are left", rows,
                        reader->format.height - reader->next_row);
  if (reader->is_broken)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, reader->source.name,
                        "the image could not be read");
  if (rows == 0)
    return BF_OK;
  int error = reader->png ? bf_image_read_png(reader, rows, pixels, diagnostic)
                          : bf_image_read_pnm(reader, rows, pixels, diagnostic);
  reader->is_broken = error;
  reader->next_row += rows;
  return error;
}

void bf_image_close(bf_image_reader *reader) {
  if (!reader)
    return;
  bf_image_free_png(reader);
  bf_image_source_close(&reader->source);
  free(reader);
}

/* Memory for a whole picture. */
static int allocate_whole(const bf_image_reader *reader, void **pixels, bf_diagnostic *diagnostic) {
  const uint64_t bytes = bf_image_bytes(&reader->format);
  if (bytes > BF_IMAGE_MOST_WHOLE_BYTES)
    return bf_fail_file(diagnostic, BF_UNSUPPORTED, reader->source.name,
                        "the image has %llu bytes, and at most %llu can be held in memory",
                        (unsigned long long)bytes, (unsigned long long)BF_IMAGE_MOST_WHOLE_BYTES);
  *pixels = malloc((size_t)bytes);
  return *pixels ? BF_OK
                 : bf_fail_file(diagnostic, BF_NO_MEMORY, reader->source.name,
                                "there is no memory for the %llu bytes of the image",
                                (unsigned long long)bytes);
}

int bf_image_load(const char *path, bf_image_format *format, void **pixels,
                  bf_diagnostic *diagnostic) {
  bf_image_reader *reader;
  *pixels = NULL;
  BF_TRY(bf_image_open(path, &reader, diagnostic));
  *format = reader->format;
  int error = allocate_whole(reader, pixels, diagnostic);
  if (!error)
    error = bf_image_read(reader, format->height, *pixels, diagnostic);
  bf_image_close(reader);
  if (error) {
    free(*pixels);
    *pixels = NULL;
  }
  return error;
}
