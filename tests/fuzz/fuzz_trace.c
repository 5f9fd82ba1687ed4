/* Whole trace files, text and packed, compressed or not: every access read fits the limits, and a
 * workload read from them holds at least one. */
#include "access/access.h"

#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const char *path) {
  const bf_trace_limits limits = {.lanes = 32, .allocation_bytes = 1 << 16};
  bf_trace *trace;
  bf_access access = {0};
  bf_diagnostic diagnostic = {0};
  int fault, result = bf_trace_open(path, &limits, &trace, &diagnostic);
  if (result < 0) {
    assert(diagnostic.message[0]);
    return;
  }
  uint64_t accesses = 0;
  while (accesses < 10000 && (result = bf_trace_next(trace, &access, &diagnostic)) == 1) {
    assert(bf_access_check(&access, &limits, &fault, &diagnostic) == BF_OK);
    accesses++;
  }
  assert(result < 0 ? diagnostic.message[0] != 0 : accesses > 0);
  bf_trace_close(trace);
}

/* The reader opens files by name; the input becomes a file in memory. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int file = memfd_create("trace", 0);
  if (file < 0)
    return 0;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (write(file, data, size) == (ssize_t)size)
    read_all(path);
  close(file);
  return 0;
}
