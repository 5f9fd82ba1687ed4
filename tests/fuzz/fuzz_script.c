/* Launch descriptions never crash the reader. */
#include "emu/script.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text)
    return 0;
  memcpy(text, data, size);
  text[size] = 0;
  bf_script *script = NULL;
  bf_diagnostic diagnostic;
  if (bf_script_read("fuzz.launch", text, &script, &diagnostic) == BF_OK)
    bf_script_free(script);
  free(text);
  return 0;
}
