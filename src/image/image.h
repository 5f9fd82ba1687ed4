/* image: pictures in files. PNG, PGM and PPM are read row by row, so that a picture need not fit in
 * memory; PNG, PGM and PPM are written. The room is a library of its own, because it needs libpng
 * and the rest does not.
 *
 * Files are not trusted: sizes are checked before memory is asked for, and every fault says where
 * in the file it is. */
#ifndef BF_IMAGE_H
#define BF_IMAGE_H

#include "base/base.h"

/* Pixels lie row after row without gaps, the samples of a pixel side by side: grey; grey, alpha;
 * red, green, blue; or red, green, blue, alpha. */
typedef struct bf_image_format {
  uint32_t width, height;
  unsigned channels;     /* 1 to 4 */
  unsigned sample_bytes; /* 1, or 2 in the byte order of this machine */
  uint32_t most;         /* the largest value a sample can have */
} bf_image_format;

/* Bytes of a row, and of the whole picture. */
uint64_t bf_image_row_bytes(const bf_image_format *format);
uint64_t bf_image_bytes(const bf_image_format *format);
/* Rows that make a strip of about four megabytes, at least one. */
uint32_t bf_image_strip_rows(const bf_image_format *format);
/* "grey", "red", "alpha" ...: what a channel from 0 on holds. */
const char *bf_image_channel_name(const bf_image_format *format, unsigned channel);

/* ---- Reading ---- */

/* No picture may be wider or higher, have rows of more bytes, or, where it can only be read as a
 * whole (interlaced PNG, bf_image_load), have more bytes. */
#define BF_IMAGE_MOST_PIXELS 0x7fffffffu
#define BF_IMAGE_MOST_ROW_BYTES ((uint64_t)1 << 28)
#define BF_IMAGE_MOST_WHOLE_BYTES ((uint64_t)1 << 31)

typedef struct bf_image_reader bf_image_reader;

/* Opens a file ("-": standard input; zstd is seen through) and reads its header. PNG with a palette
 * or fewer than 8 bits comes as 8 bits, its transparent colours as alpha. */
int bf_image_open(const char *path, bf_image_reader **reader, bf_diagnostic *diagnostic);
/* The same for bytes in memory, which must stay; name is what diagnostics call them. */
int bf_image_open_bytes(const char *name, const void *bytes, size_t size, bf_image_reader **reader,
                        bf_diagnostic *diagnostic);
const bf_image_format *bf_image_get_format(const bf_image_reader *reader);
/* The next `rows` rows, of which so many must be left. The last one is given only if the file is
 * complete. After a fault nothing more can be read. */
int bf_image_read(bf_image_reader *reader, uint32_t rows, void *pixels, bf_diagnostic *diagnostic);
void bf_image_close(bf_image_reader *reader);

/* A whole picture; free pixels with free(). */
int bf_image_load(const char *path, bf_image_format *format, void **pixels,
                  bf_diagnostic *diagnostic);

/* ---- Grey ---- */

/* Brightness of `count` pixels, 0.299 red + 0.587 green + 0.114 blue to the nearest, as samples of
 * the same size; alpha is ignored. */
void bf_image_to_grey(const bf_image_format *format, const void *pixels, size_t count, void *grey);
/* Samples of one channel, from 0 to 255. */
void bf_image_to_bytes(const bf_image_format *format, const void *samples, size_t count,
                       uint8_t *bytes);
/* 255 for pixels with a colour sample that is not 0, and 0 for black ones; alpha is ignored. */
void bf_image_to_mask(const bf_image_format *format, const void *pixels, size_t count,
                      uint8_t *mask);
/* Samples of one channel as they are. */
void bf_image_to_floats(const bf_image_format *format, const void *samples, size_t count,
                        float *floats);

/* ---- Writing ---- */

/* Adds the picture as a PNG file to out. */
int bf_image_encode_png(const bf_image_format *format, const void *pixels, bf_text *out,
                        bf_diagnostic *diagnostic);
/* The same as PGM (one channel) or PPM (three), binary. */
int bf_image_encode_pnm(const bf_image_format *format, const void *pixels, bf_text *out,
                        bf_diagnostic *diagnostic);
/* Writes a file by temporary file and rename: PGM or PPM where path ends in .pgm, .ppm or .pnm,
 * otherwise PNG. "-" is standard output. */
int bf_image_write(const char *path, const bf_image_format *format, const void *pixels,
                   bf_diagnostic *diagnostic);

#endif
