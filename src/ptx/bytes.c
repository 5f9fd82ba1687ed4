/* Faults at a byte of a file. */
#include "ptx/bytes.h"

int bf_fail_byte(bf_diagnostic *diagnostic, bf_error error, const char *file, uint64_t offset,
                 const char *format, ...) {
  char message[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return bf_fail_file(diagnostic, error, file, "at byte %llu: %s", (unsigned long long)offset,
                      message);
}
