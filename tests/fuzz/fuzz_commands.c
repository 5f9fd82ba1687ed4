/* compile_commands.json: whatever is read, every source has a command, and what is not has a
 * message with its line. */
#include "scan/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text)
    return 0;
  memcpy(text, data, size);
  text[size] = 0;
  bf_arena arena = {0};
  scan_files files = {.arena = &arena};
  bf_diagnostic diagnostic = {0};
  int error = scan_parse_commands(&files, "fuzz", text, &diagnostic);
  assert(!error || (diagnostic.message[0] && diagnostic.line));
  for (size_t i = 0; i < files.units; i++)
    assert(files.unit[i].command[0] && scan_ends_with(files.unit[i].path, ".cu"));
  scan_files_free(&files);
  bf_arena_free(&arena);
  free(text);
  return 0;
}
