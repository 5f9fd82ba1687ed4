/* PGM and PPM files. */
#include "image_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_image(data, size);
  return 0;
}
