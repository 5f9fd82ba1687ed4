/* Lines of other tools' traces: whatever parses is an access that fits the limits. The first byte
 * chooses the tool; lines share the state that heads leave behind. */
#include "access/trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const bf_trace_limits limits = {.lanes = 32, .allocation_bytes = 1 << 16};
  bf_foreign state = {.form = size && data[0] % 2 ? BF_TRACE_NVBIT : BF_TRACE_ACCELSIM};
  char *text = malloc(size + 1);
  if (!text)
    return 0;
  memcpy(text, data, size);
  text[size] = 0;
  uint64_t number = 0;
  for (char *line = strtok(text + (size > 0), "\n"); line; line = strtok(NULL, "\n")) {
    bf_line place = {"fuzz", ++number, line};
    bf_access access;
    bf_diagnostic diagnostic = {0};
    const char *site;
    size_t length;
    int fault;
    int result = bf_foreign_parse(&place, &state, &limits, &access, &site, &length, &diagnostic);
    if (result == 1)
      assert(bf_access_check(&access, &limits, &fault, &diagnostic) == BF_OK);
    else if (result < 0)
      assert(diagnostic.message[0]);
  }
  free(text);
  return 0;
}
