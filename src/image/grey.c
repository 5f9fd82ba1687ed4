/* Brightness of colours, and values on another scale. */
#include "image/image.h"

#include <string.h>

/* Weights of red, green and blue in thousandths, as in ITU-R BT.601. */
enum { RED = 299, GREEN = 587, BLUE = 114, UNIT = RED + GREEN + BLUE };

#define BRIGHTNESS(at) ((RED * (at)[0] + GREEN * (at)[1] + BLUE * (at)[2] + UNIT / 2) / UNIT)

/* The same for samples of one and of two bytes. */
static void bytes_to_grey(const uint8_t *at, unsigned channels, size_t count, uint8_t *grey) {
  for (size_t i = 0; i < count; i++, at += channels)
    grey[i] = (uint8_t)(channels < 3 ? *at : BRIGHTNESS(at));
}

static void words_to_grey(const uint16_t *at, unsigned channels, size_t count, uint16_t *grey) {
  for (size_t i = 0; i < count; i++, at += channels)
    grey[i] = (uint16_t)(channels < 3 ? *at : BRIGHTNESS(at));
}

void bf_image_to_grey(const bf_image_format *format, const void *pixels, size_t count, void *grey) {
  if (format->sample_bytes == 1)
    bytes_to_grey(pixels, format->channels, count, grey);
  else
    words_to_grey(pixels, format->channels, count, grey);
}

void bf_image_to_bytes(const bf_image_format *format, const void *samples, size_t count,
                       uint8_t *bytes) {
  const uint8_t *narrow = samples;
  const uint16_t *wide = samples;
  const uint32_t most = format->most;
  for (size_t i = 0; i < count; i++) {
    const uint32_t value = format->sample_bytes == 1 ? narrow[i] : wide[i];
    bytes[i] = (uint8_t)((value * 255 + most / 2) / most);
  }
}

void bf_image_to_mask(const bf_image_format *format, const void *pixels, size_t count,
                      uint8_t *mask) {
  const uint8_t *narrow = pixels;
  const uint16_t *wide = pixels;
  const unsigned colours = format->channels < 3 ? 1 : 3;
  for (size_t i = 0; i < count; i++) {
    unsigned any = 0;
    for (unsigned c = 0; c < colours; c++)
      any |= format->sample_bytes == 1 ? narrow[i * format->channels + c]
                                       : wide[i * format->channels + c];
    mask[i] = any ? 255 : 0;
  }
}

void bf_image_to_floats(const bf_image_format *format, const void *samples, size_t count,
                        float *floats) {
  const uint8_t *narrow = samples;
  const uint16_t *wide = samples;
  for (size_t i = 0; i < count; i++)
    floats[i] = format->sample_bytes == 1 ? narrow[i] : wide[i];
}
