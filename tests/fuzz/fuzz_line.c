/* Lines of text traces: whatever parses is an access that fits the limits. */
#include "access/access.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const bf_trace_limits limits = {.lanes = 32, .allocation_bytes = 1 << 16};
  char *line = malloc(size + 1);
  if (!line)
    return 0;
  memcpy(line, data, size);
  line[size] = 0;
  bf_arena arena = {0};
  bf_access access = {0};
  bf_diagnostic diagnostic = {0};
  int fault;
  int result = bf_trace_parse_line("fuzz", 1, line, &limits, &arena, &access, &diagnostic);
  if (result == 1)
    assert(bf_access_check(&access, &limits, &fault, &diagnostic) == BF_OK);
  else if (result < 0)
    assert(diagnostic.message[0]);
  bf_arena_free(&arena);
  free(line);
  return 0;
}
