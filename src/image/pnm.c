/* PGM and PPM: a header of decimal numbers, then samples as numbers (P2, P3) or bytes (P5, P6). A
 * comment runs from # to the end of its line, wherever a number may begin or end. */
#include "image/reader.h"

#include <string.h>

/* ---- Text ---- */

/* A fault at the byte that is `back` before the next one; returns BF_BAD_INPUT. */
static int fail_here(const bf_image_reader *reader, uint64_t back, bf_diagnostic *diagnostic,
                     const char *message) {
  bf_fail_file(diagnostic, BF_BAD_INPUT, reader->source.name, "%s", message);
  if (diagnostic) {
    const uint64_t at = bf_image_source_offset(&reader->source) - back;
    diagnostic->line = reader->line;
    diagnostic->column = at >= reader->line_begin ? (uint32_t)(at - reader->line_begin) + 1 : 0;
  }
  return BF_BAD_INPUT;
}

/* Takes the byte that was peeked at. */
static void take_byte(bf_image_reader *reader, int byte) {
  reader->source.begin++;
  if (byte == '\n') {
    reader->line++;
    reader->line_begin = bf_image_source_offset(&reader->source);
  }
}

static bool is_space(int byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

/* Takes a comment, and the end of its line. */
static int skip_comment(bf_image_reader *reader, bf_diagnostic *diagnostic) {
  for (;;) {
    int byte;
    BF_TRY(bf_image_source_peek(&reader->source, &byte, diagnostic));
    if (byte < 0)
      return BF_OK;
    take_byte(reader, byte);
    if (byte == '\n' || byte == '\r')
      return BF_OK;
  }
}

/* Takes white space and comments; *byte is what follows. */
static int skip_space(bf_image_reader *reader, int *byte, bf_diagnostic *diagnostic) {
  for (;;) {
    BF_TRY(bf_image_source_peek(&reader->source, byte, diagnostic));
    if (*byte == '#')
      BF_TRY(skip_comment(reader, diagnostic));
    else if (is_space(*byte))
      take_byte(reader, *byte);
    else
      return BF_OK;
  }
}

/* Takes the next number: a `what`, at most `most`. */
static int take_number(bf_image_reader *reader, const char *what, uint32_t most, uint32_t *number,
                       bf_diagnostic *diagnostic) {
  int byte;
  char too_large[64];
  uint64_t value = 0, digits = 0;
  BF_TRY(skip_space(reader, &byte, diagnostic));
  while (byte >= '0' && byte <= '9') {
    value = value * 10 + (uint64_t)(byte - '0');
    take_byte(reader, byte);
    digits++;
    if (value > most) {
      snprintf(too_large, sizeof too_large, "the %s is larger than %u", what, most);
      return fail_here(reader, digits, diagnostic, too_large);
    }
    BF_TRY(bf_image_source_peek(&reader->source, &byte, diagnostic));
  }
  if (digits == 0 && byte < 0)
    return bf_image_source_cut_off(&reader->source, diagnostic);
  if (digits == 0 || !(byte < 0 || byte == '#' || is_space(byte)))
    return fail_here(reader, 0, diagnostic, "a number is expected");
  *number = (uint32_t)value;
  return BF_OK;
}

/* ---- Header ---- */

/* Takes what parts the header from bytes: one white space, or a comment. */
static int take_separator(bf_image_reader *reader, bf_diagnostic *diagnostic) {
  int byte;
  BF_TRY(bf_image_source_peek(&reader->source, &byte, diagnostic));
  if (byte < 0)
    return bf_image_source_cut_off(&reader->source, diagnostic);
  if (byte == '#')
    return skip_comment(reader, diagnostic);
  take_byte(reader, byte);
  return BF_OK;
}

int bf_image_open_pnm(bf_image_reader *reader, bf_diagnostic *diagnostic) {
  bf_image_format *format = &reader->format;
  char magic[2];
  int byte;
  reader->line = 1;
  BF_TRY(bf_image_source_take(&reader->source, magic, sizeof magic, diagnostic));
  reader->is_plain = magic[1] == '2' || magic[1] == '3';
  format->channels = magic[1] == '2' || magic[1] == '5' ? 1 : 3;
  BF_TRY(bf_image_source_peek(&reader->source, &byte, diagnostic));
  if (byte >= 0 && byte != '#' && !is_space(byte))
    return fail_here(reader, 0, diagnostic, "white space is expected");
  BF_TRY(take_number(reader, "width", BF_IMAGE_MOST_PIXELS, &format->width, diagnostic));
  BF_TRY(take_number(reader, "height", BF_IMAGE_MOST_PIXELS, &format->height, diagnostic));
  BF_TRY(take_number(reader, "largest value", 65535, &format->most, diagnostic));
  if (format->most == 0)
    return fail_here(reader, 1, diagnostic, "the largest value is 0");
  format->sample_bytes = format->most > 255 ? 2 : 1;
  BF_TRY(bf_image_check_format(reader, diagnostic));
  return reader->is_plain ? BF_OK : take_separator(reader, diagnostic);
}

/* ---- Samples ---- */

static int read_plain(bf_image_reader *reader, uint64_t samples, uint8_t *pixels,
                      bf_diagnostic *diagnostic) {
  for (uint64_t i = 0; i < samples; i++) {
    uint32_t value;
    BF_TRY(take_number(reader, "value", reader->format.most, &value, diagnostic));
    if (reader->format.sample_bytes == 1) {
      pixels[i] = (uint8_t)value;
    } else {
      const uint16_t wide = (uint16_t)value;
      memcpy(pixels + 2 * i, &wide, sizeof wide);
    }
  }
  return BF_OK;
}

/* The high byte comes first in files. */
static void to_machine_order(uint8_t *samples, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    const uint16_t value = (uint16_t)(samples[2 * i] << 8 | samples[2 * i + 1]);
    memcpy(samples + 2 * i, &value, sizeof value);
  }
}

/* Fails where one of the last `count` samples is above the largest. */
static int check_values(const bf_image_reader *reader, const uint8_t *samples, uint64_t count,
                        bf_diagnostic *diagnostic) {
  const bf_image_format *format = &reader->format;
  if (format->most == 255 || format->most == 65535)
    return BF_OK;
  for (uint64_t i = 0; i < count; i++) {
    uint16_t value = samples[i];
    if (format->sample_bytes == 2)
      memcpy(&value, samples + 2 * i, sizeof value);
    if (value > format->most)
      return bf_fail_file(diagnostic, BF_BAD_INPUT, reader->source.name,
                          "the value %u at byte %llu is above the largest one, %u", value,
                          (unsigned long long)(bf_image_source_offset(&reader->source) -
                                               (count - i) * format->sample_bytes),
                          format->most);
  }
  return BF_OK;
}

int bf_image_read_pnm(bf_image_reader *reader, uint32_t rows, uint8_t *pixels,
                      bf_diagnostic *diagnostic) {
  const uint64_t bytes = bf_image_row_bytes(&reader->format) * rows;
  const uint64_t samples = bytes / reader->format.sample_bytes;
  if (reader->is_plain)
    return read_plain(reader, samples, pixels, diagnostic);
  BF_TRY(bf_image_source_take(&reader->source, pixels, (size_t)bytes, diagnostic));
  if (reader->format.sample_bytes == 2)
    to_machine_order(pixels, samples);
  return check_values(reader, pixels, samples, diagnostic);
}
