/* The content of images. */
#include "base/zstd.h"
#include "ptx/bytes.h"
#include "ptx/fatbin.h"
#include "ptx/lz4.h"

#include <stdlib.h>
#include <string.h>

static int decode_lz4(const bf_fatbin *fatbin, const bf_image *image, unsigned char *out,
                      bf_diagnostic *diagnostic) {
  size_t fault;
  if (!bf_lz4_decode(fatbin->bytes + image->payload, image->stored_bytes, out, image->bytes,
                     &fault))
    return bf_fail_byte(diagnostic, BF_BAD_INPUT, fatbin->name, image->payload + fault,
                        "damaged LZ4 data: it does not give the %llu bytes that it should",
                        (unsigned long long)image->bytes);
  return BF_OK;
}

static int decode_zstd(const bf_fatbin *fatbin, const bf_image *image, unsigned char *out,
                       bf_diagnostic *diagnostic) {
  if (!bf_zstd_is_there())
    return bf_fail_byte(diagnostic, BF_UNSUPPORTED, fatbin->name, image->payload,
                        "packed with zstd, and there is no libzstd.so.1");
  size_t got =
      ZSTD_decompress(out, image->bytes, fatbin->bytes + image->payload, image->stored_bytes);
  if (ZSTD_isError(got))
    return bf_fail_byte(diagnostic, BF_BAD_INPUT, fatbin->name, image->payload,
                        "damaged zstd data: %s", ZSTD_getErrorName(got));
  if (got != image->bytes)
    return bf_fail_byte(diagnostic, BF_BAD_INPUT, fatbin->name, image->payload,
                        "zstd data gives %llu bytes, not the %llu that it should",
                        (unsigned long long)got, (unsigned long long)image->bytes);
  return BF_OK;
}

/* Fills out[0..image->bytes). */
static int decode(const bf_fatbin *fatbin, const bf_image *image, unsigned char *out,
                  bf_diagnostic *diagnostic) {
  switch (image->packing) {
  case BF_PACKING_LZ4:
    return decode_lz4(fatbin, image, out, diagnostic);
  case BF_PACKING_ZSTD:
    return decode_zstd(fatbin, image, out, diagnostic);
  case BF_PACKING_NONE:
    memcpy(out, fatbin->bytes + image->payload, image->bytes);
  }
  return BF_OK;
}

/* Text ends at its first NUL; only more of them may follow. */
static int cut_text(const bf_fatbin *fatbin, const bf_image *image, bf_text *text,
                    bf_diagnostic *diagnostic) {
  size_t size = strnlen(text->data, text->size);
  for (size_t i = size; i < text->size; i++)
    if (text->data[i])
      return bf_fail_byte(diagnostic, BF_BAD_INPUT, fatbin->name, image->payload,
                          "byte %llu of the PTX text is NUL", (unsigned long long)size);
  text->size = size;
  return BF_OK;
}

/* Sizes that cannot be right are refused before memory is asked for. A sequence of LZ4 grows by
 * less than 255 bytes for each of its own. */
static int check_size(const bf_fatbin *fatbin, const bf_image *image, bf_diagnostic *diagnostic) {
  bool impossible = image->packing == BF_PACKING_LZ4 && image->bytes / 255 > image->stored_bytes;
  if (image->bytes > BF_MAX_PTX_BYTES || impossible)
    return bf_fail_byte(diagnostic, BF_BAD_INPUT, fatbin->name, image->offset,
                        "%llu stored bytes should give %llu bytes of PTX; at most %llu are read",
                        (unsigned long long)image->stored_bytes, (unsigned long long)image->bytes,
                        (unsigned long long)BF_MAX_PTX_BYTES);
  return BF_OK;
}

int bf_fatbin_content(const bf_fatbin *fatbin, const bf_image *image, bf_text *content,
                      bf_diagnostic *diagnostic) {
  BF_TRY(check_size(fatbin, image, diagnostic));
  content->data = malloc(image->bytes + 1);
  if (!content->data)
    return bf_no_memory(diagnostic);
  content->size = image->bytes;
  content->capacity = image->bytes + 1;
  content->data[content->size] = 0;
  int error = decode(fatbin, image, (unsigned char *)content->data, diagnostic);
  if (error)
    bf_text_free(content);
  return error;
}

int bf_fatbin_text(const bf_fatbin *fatbin, const bf_image *image, bf_text *text,
                   bf_diagnostic *diagnostic) {
  if (image->kind != BF_IMAGE_PTX)
    return bf_fail_byte(diagnostic, BF_UNSUPPORTED, fatbin->name, image->offset,
                        "this image is of kind %s and holds no PTX",
                        bf_image_kind_name(image->kind));
  BF_TRY(bf_fatbin_content(fatbin, image, text, diagnostic));
  int error = cut_text(fatbin, image, text, diagnostic);
  if (error)
    bf_text_free(text);
  return error;
}
