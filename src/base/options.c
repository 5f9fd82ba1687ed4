/* Options of callers that were compiled with another version of the public header: shorter structs
 * lack fields, which are defaults then; longer ones have fields that are not known here. */
#include "base/base.h"

#include <string.h>

/* No struct of options is longer; a size above it is what an uninitialised struct holds. */
enum { MOST_BYTES = 4096 };

int bf_take_options(const void *given, void *own, size_t own_bytes, const char *type,
                    bf_diagnostic *diagnostic) {
  size_t bytes = own_bytes;
  memset(own, 0, own_bytes);
  if (given)
    memcpy(&bytes, given, sizeof bytes);
  if (bytes < sizeof bytes || bytes > MOST_BYTES)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "%s: struct_bytes is %zu; its default function sets it", type, bytes);
  for (size_t i = own_bytes; i < bytes; i++)
    if (((const unsigned char *)given)[i])
      return bf_fail(diagnostic, BF_UNSUPPORTED,
                     "%s: an option is set that version %s does not know", type, bf_version());
  if (given)
    memcpy(own, given, bytes < own_bytes ? bytes : own_bytes);
  memcpy(own, &own_bytes, sizeof own_bytes);
  return BF_OK;
}
