/* Views of pixels: checks, parts and single pixels. */
#include "vote/vote.h"

#include <string.h>

size_t bf_pixel_bytes(bf_pixel_type type) {
  switch (type) {
  case BF_PIXEL_U8:
    return 1;
  case BF_PIXEL_U16:
    return 2;
  case BF_PIXEL_F32:
    return 4;
  }
  return 0;
}

/* Fills in a stride of rows of row_bytes and refuses one that is too short or leaves the address
 * space. what names the rows. */
static int check_stride(const char *what, size_t row_bytes, size_t height, size_t *stride,
                        bf_diagnostic *diagnostic) {
  if (*stride == 0)
    *stride = row_bytes;
  if (*stride < row_bytes)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s: a stride of %zu bytes for rows of %zu", what,
                   *stride, row_bytes);
  if (height > 0 && *stride > (size_t)PTRDIFF_MAX / height)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s: %zu rows of %zu bytes exceed the address space",
                   what, height, *stride);
  return BF_OK;
}

/* Bytes in a row of pixels, or 0 where they cannot be counted. */
static size_t row_bytes_of(const bf_pixels *image) {
  size_t pixel_bytes = bf_pixel_bytes(image->type) * image->channels;
  return image->width > (size_t)PTRDIFF_MAX / pixel_bytes ? 0 : image->width * pixel_bytes;
}

int bf_pixels_check(const bf_pixels *image, bf_pixels *checked, bf_diagnostic *diagnostic) {
  if (!image)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no image");
  *checked = *image;
  if (bf_pixel_bytes(image->type) == 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "pixels of unknown type %d", (int)image->type);
  if (image->channels > 4)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%u channels: 1 to 4 are possible", image->channels);
  checked->channels = image->channels ? image->channels : 1;
  size_t row_bytes = row_bytes_of(checked);
  if (image->width > 0 && row_bytes == 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%zu pixels in a row exceed the address space",
                   image->width);
  if (image->width == 0 || image->height == 0)
    return BF_OK;
  if (!image->data)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no pixels where %zu x %zu should be", image->width,
                   image->height);
  BF_TRY(check_stride("pixels", row_bytes, image->height, &checked->stride_bytes, diagnostic));
  if (image->mask)
    BF_TRY(
        check_stride("mask", image->width, image->height, &checked->mask_stride_bytes, diagnostic));
  return BF_OK;
}

int bf_pixels_crop(const bf_pixels *image, size_t x, size_t y, size_t width, size_t height,
                   bf_pixels *part, bf_diagnostic *diagnostic) {
  bf_pixels whole;
  BF_TRY(bf_pixels_check(image, &whole, diagnostic));
  if (x > whole.width || width > whole.width - x || y > whole.height || height > whole.height - y)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "%zu x %zu pixels from column %zu, row %zu are not inside %zu x %zu", width,
                   height, x, y, whole.width, whole.height);
  *part = whole;
  part->width = width;
  part->height = height;
  if (width == 0 || height == 0)
    return BF_OK;
  part->data = (const uint8_t *)whole.data + y * whole.stride_bytes +
               x * whole.channels * bf_pixel_bytes(whole.type);
  if (whole.mask)
    part->mask = whole.mask + y * whole.mask_stride_bytes + x;
  return BF_OK;
}

double bf_pixels_value(const bf_pixels *image, size_t x, size_t y, unsigned channel) {
  const uint8_t *at = (const uint8_t *)image->data + y * image->stride_bytes +
                      (x * image->channels + channel) * bf_pixel_bytes(image->type);
  uint16_t word;
  float real;
  switch (image->type) {
  case BF_PIXEL_U8:
    return *at;
  case BF_PIXEL_U16:
    memcpy(&word, at, sizeof word);
    return word;
  case BF_PIXEL_F32:
    memcpy(&real, at, sizeof real);
    return (double)real;
  }
  return 0;
}

bool bf_pixels_counts(const bf_pixels *image, size_t x, size_t y) {
  return !image->mask || image->mask[y * image->mask_stride_bytes + x] != 0;
}
