/* Values of a kernel's parameters at a launch, as far as they decide what it does to shared memory
 * (analyze/given.h). */
#include "inject.h"

#include <stdlib.h>
#include <string.h>

/* The options of cuLaunchKernel that hold all parameters in one buffer. */
enum { EXTRA_END = 0, EXTRA_BUFFER = 1, EXTRA_SIZE = 2, MOST_EXTRA = 4 };

/* ---- As text ---- */

/* Adds the bytes [from, to) of parameter number index, which starts at byte start of all. */
static void write_range(unsigned index, uint64_t start, uint64_t from, uint64_t to, bf_text *text) {
  bf_text_addf(text, "%s%u:%llu:%llu:%llu", text->size ? "," : "", index,
                 (unsigned long long)from, (unsigned long long)(to - from),
                 (unsigned long long)(start + from));
}

int inject_values_write(const bf_ptx_function *kernel, bf_text *text, bf_diagnostic *diagnostic) {
  bf_analyze_given given = {0};
  uint64_t start, bytes;
  unsigned index = 0; /* among those that are passed */
  int error = bf_analyze_find_deciding(kernel, &given, diagnostic);
  for (unsigned i = 0; i < kernel->parameters.count && !error; i++) {
    bf_analyze_parameter(kernel, i, &start, &bytes);
    for (uint64_t from = 0, to; from < bytes; from = to + 1) {
      for (to = from; to < bytes && given.is_known[start + to];)
        to++;
      if (to > from)
        write_range(index, start, from, to, text);
    }
    index += kernel->parameters.item[i].linkage != BF_PTX_HIDDEN;
  }
  bf_analyze_given_free(&given);
  return error;
}

void inject_values_parse(const char *text, inject_values *values) {
  unsigned bytes = 0;
  *values = (inject_values){0};
  for (const char *at = text; at && *at;) {
    inject_range range;
    int read = 0;
    if (values->count == INJECT_MOST_RANGES ||
        sscanf(at, "%u:%u:%u:%u%n", &range.index, &range.offset, &range.bytes, &range.start,
               &read) != 4 ||
        (bytes += range.bytes) > INJECT_VALUE_BYTES) {
      *values = (inject_values){0}; /* more than what is kept apart */
      return;
    }
    values->range[values->count++] = range;
    at += read + (at[read] == ',');
  }
}

/* ---- Of a launch ---- */

/* The buffer of all parameters, if that is how they are passed; NULL: it is not. */
static const unsigned char *buffer_of(void **extra, size_t *size) {
  const unsigned char *buffer = NULL;
  *size = 0;
  for (unsigned i = 0; extra && i < MOST_EXTRA && extra[i] != (void *)EXTRA_END; i += 2) {
    if (extra[i] == (void *)EXTRA_BUFFER)
      buffer = extra[i + 1];
    else if (extra[i] == (void *)EXTRA_SIZE && extra[i + 1])
      *size = *(const size_t *)extra[i + 1];
  }
  return buffer;
}

bool inject_values_read(const inject_values *values, const inject_launch *launch,
                        unsigned char bytes[INJECT_VALUE_BYTES]) {
  size_t size = 0;
  const unsigned char *buffer = launch->parameters ? NULL : buffer_of(launch->extra, &size);
  unsigned used = 0;
  for (unsigned i = 0; i < values->count; i++) {
    const inject_range *range = &values->range[i];
    const unsigned char *from = NULL;
    if (launch->parameters && launch->parameters[range->index])
      from = (const unsigned char *)launch->parameters[range->index] + range->offset;
    else if (buffer && (uint64_t)range->start + range->bytes <= size)
      from = buffer + range->start;
    if (!from)
      return false;
    memcpy(bytes + used, from, range->bytes);
    used += range->bytes;
  }
  return used > 0;
}

uint64_t inject_values_key(const inject_values *values, const inject_launch *launch) {
  unsigned char bytes[INJECT_VALUE_BYTES] = {0};
  uint64_t key = 0x9e3779b97f4a7c15u, word;
  if (!inject_values_read(values, launch, bytes))
    return 0;
  for (unsigned i = 0; i < INJECT_VALUE_BYTES; i += sizeof word) {
    memcpy(&word, bytes + i, sizeof word);
    key = (key ^ word) * 0xff51afd7ed558ccdu;
    key ^= key >> 32;
  }
  return key | 1;
}

bool inject_values_fill(const inject_values *values, const inject_launch *launch,
                        bf_analyze_given *given) {
  unsigned char bytes[INJECT_VALUE_BYTES];
  unsigned used = 0;
  *given = (bf_analyze_given){0};
  if (!inject_values_read(values, launch, bytes))
    return false;
  for (unsigned i = 0; i < values->count; i++) {
    uint64_t end = (uint64_t)values->range[i].start + values->range[i].bytes;
    given->size = end > given->size ? end : given->size;
  }
  given->bytes = calloc(1, given->size + 8);
  given->is_known = calloc(1, given->size + 8);
  if (!given->bytes || !given->is_known) {
    bf_analyze_given_free(given);
    return false;
  }
  for (unsigned i = 0; i < values->count; used += values->range[i++].bytes) {
    memcpy(given->bytes + values->range[i].start, bytes + used, values->range[i].bytes);
    memset(given->is_known + values->range[i].start, 1, values->range[i].bytes);
  }
  return true;
}
