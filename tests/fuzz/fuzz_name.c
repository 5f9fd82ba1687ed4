/* Names of C++, damaged: whatever comes out is bounded, and NUL-terminated text. */
#include "ptx/ptx.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bf_text name = {0}, readable = {0};
  bf_text_puts(&name, "_Z");
  bf_text_add(&name, (const char *)data, size);
  bf_ptx_readable_name(name.data, &readable);
  bf_ptx_enclosing_name(name.data, &readable);
  assert(!readable.data || strlen(readable.data) <= strlen(name.data) + (1 << 13));
  bf_text_free(&name);
  bf_text_free(&readable);
  return 0;
}
