/* Whole trace files, text and packed, compressed or not: every access read fits the limits, and a
 * workload read from them holds at least one. */
#include "access/access.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const bf_trace_limits limits = {.lanes = 32, .allocation_bytes = 1 << 16};
  bf_trace *trace;
  bf_access access = {0};
  bf_diagnostic diagnostic = {0};
  int fault,
      result = bf_trace_open_memory("fuzz", data, size, BF_TRACE_OWN, &limits, &trace, &diagnostic);
  if (result < 0) {
    assert(diagnostic.message[0]);
    return 0;
  }
  uint64_t accesses = 0;
  while (accesses < 10000 && (result = bf_trace_next(trace, &access, &diagnostic)) == 1) {
    assert(bf_access_check(&access, &limits, &fault, &diagnostic) == BF_OK);
    accesses++;
  }
  assert(result < 0 ? diagnostic.message[0] != 0 : accesses > 0);
  bf_trace_close(trace);
  return 0;
}
