/* What libpng calls when it reads and when it writes. */
#include "image/png_calls.h"

#include <stdlib.h>

void bf_image_png_error(png_structp png, png_const_charp message) {
  png_fault *fault = png_get_error_ptr(png);
  snprintf(fault->message, sizeof fault->message, "%s", message);
  png_longjmp(png, 1);
}

void bf_image_png_warning(png_structp png, png_const_charp message) {
  (void)png;
  (void)message;
}

png_voidp bf_image_png_malloc(png_structp png, png_alloc_size_t size) {
  void *memory = malloc(size);
  png_fault *fault = png_get_mem_ptr(png);
  fault->is_memory |= !memory;
  return memory;
}

void bf_image_png_free(png_structp png, png_voidp memory) {
  (void)png;
  free(memory);
}
