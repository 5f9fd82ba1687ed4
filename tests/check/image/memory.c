/* Lets allocation number 0, 1, 2, ... fail while an image is read and written: each time the answer
 * is that memory ran out. Leaks are found by the sanitizer. */
#include "../failing_memory.h"
#include "image/image.h"

/* Reads a whole file and writes it again. */
static int copy(const char *path) {
  bf_image_format format;
  void *pixels;
  bf_text file = {0};
  BF_TRY(bf_image_load(path, &format, &pixels, NULL));
  int error = bf_image_encode_png(&format, pixels, &file, NULL);
  bf_text_free(&file);
  if (error == BF_OK && format.channels % 2 == 1)
    error = bf_image_encode_pnm(&format, pixels, &file, NULL);
  bf_text_free(&file);
  free(pixels);
  return error;
}

static int try_copy(const void *path) { return verdict(copy(path)); }

int main(int count, char **arguments) {
  bool fine = count > 1;
  for (int i = 1; i < count; i++)
    fine &= all_fail_well(arguments[i], try_copy, arguments[i]);
  return !fine;
}
