/* Inside room image: what libpng calls when it reads and when it writes. libpng leaves by longjmp
 * when something is wrong: every call of it happens in a function that begins with setjmp and has
 * no variables of its own that change in between. */
#ifndef BF_IMAGE_PNG_CALLS_H
#define BF_IMAGE_PNG_CALLS_H

#include "base/base.h"

#include <png.h>

/* What went wrong; the error pointer and the memory pointer of libpng's structures. */
typedef struct png_fault {
  bool is_memory; /* an allocation failed */
  char message[200];
} png_fault;

void bf_image_png_error(png_structp png, png_const_charp message) __attribute__((noreturn));
/* Warnings are about what is ignored here anyway. */
void bf_image_png_warning(png_structp png, png_const_charp message);
png_voidp bf_image_png_malloc(png_structp png, png_alloc_size_t size);
void bf_image_png_free(png_structp png, png_voidp memory);

#endif
