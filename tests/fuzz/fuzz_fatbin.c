/* Files that may hold PTX: whatever the bytes, images lie inside the file, a fault has a message,
 * and text that comes out has no NUL. */
#include "ptx/fatbin.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_text(const bf_fatbin *fatbin, const bf_image *image) {
  bf_text text = {0};
  bf_diagnostic diagnostic = {0};
  bf_kernel_text kernel;
  if (bf_fatbin_text(fatbin, image, &text, &diagnostic) != BF_OK) {
    assert(diagnostic.message[0] && !text.data);
    return;
  }
  assert(strlen(text.data) == text.size);
  const char *end = text.data + text.size;
  for (const char *at = text.data; bf_kernel_next(&at, end, &kernel);)
    assert(kernel.begin >= text.data && kernel.begin + kernel.size <= end);
  bf_text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bf_fatbin *fatbin;
  bf_diagnostic diagnostic = {0};
  const bf_arch wanted = {90, 0};
  if (bf_fatbin_read("input", data, size, &fatbin, &diagnostic) != BF_OK) {
    assert(diagnostic.message[0] && !fatbin);
    return 0;
  }
  assert(fatbin->image_count > 0);
  for (size_t i = 0; i < fatbin->image_count; i++) {
    const bf_image *image = &fatbin->images[i];
    assert(image->payload <= size && image->stored_bytes <= size - image->payload);
    assert(image->module >= 1 && image->module <= fatbin->module_count);
    /* Memory asked for in vain makes fuzzing slow; the limit itself has a unit test. */
    if (image->bytes <= 1 << 24)
      read_text(fatbin, image);
  }
  if (!bf_fatbin_pick(fatbin, 1, wanted))
    bf_fatbin_no_ptx(fatbin, 0, wanted, &diagnostic);
  bf_fatbin_close(fatbin);
  return 0;
}
