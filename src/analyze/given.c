/* Values of parameters as text. */
#include "analyze/given.h"

#include <stdlib.h>
#include <string.h>

/* The number of the parameter called name[0..length), or given by its number; -1 if none. */
static int find_parameter(const bf_ptx_function *kernel, const char *name, size_t length) {
  for (unsigned i = 0; i < kernel->parameters.count; i++)
    if (strlen(kernel->parameters.item[i].name) == length &&
        strncmp(kernel->parameters.item[i].name, name, length) == 0)
      return (int)i;
  uint64_t number;
  const char *end = name;
  bool is_number = bf_parse_number(&end, &number) && end == name + length;
  return is_number && number < kernel->parameters.count ? (int)number : -1;
}

/* Reads one P=V at *at and moves behind it and its comma. */
static int read_one(const bf_ptx_function *kernel, const char **at, bf_analyze_given *given,
                    bf_diagnostic *diagnostic) {
  const char *equals = strchr(*at, '='), *value = equals ? equals + 1 : *at;
  bool is_negative = *value == '-';
  uint64_t number, offset, bytes;
  const char *end = value + is_negative;
  if (!equals || !bf_parse_number(&end, &number) || (*end != '\0' && *end != ','))
    return bf_fail(diagnostic, BF_BAD_INPUT, "--param takes P=V,... with whole numbers V, not '%s'",
                   *at);
  int index = find_parameter(kernel, *at, (size_t)(equals - *at));
  if (index < 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "--param: kernel '%s' has no parameter '%.*s'",
                   kernel->name, (int)(equals - *at), *at);
  bf_analyze_parameter(kernel, (unsigned)index, &offset, &bytes);
  if (bytes > 8)
    return bf_fail(diagnostic, BF_BAD_INPUT, "--param: parameter '%.*s' has %llu bytes, not 1 to 8",
                   (int)(equals - *at), *at, (unsigned long long)bytes);
  number = is_negative ? 0 - number : number;
  for (uint64_t i = 0; i < bytes; i++) {
    given->bytes[offset + i] = (uint8_t)(number >> 8 * i);
    given->is_known[offset + i] = 1;
  }
  *at = *end == ',' ? end + 1 : end;
  return BF_OK;
}

/* Makes room for the parameters of a kernel. */
static int make_room(const bf_ptx_function *kernel, bf_analyze_given *given,
                     bf_diagnostic *diagnostic) {
  uint64_t offset = 0, bytes = 0;
  if (kernel->parameters.count)
    bf_analyze_parameter(kernel, kernel->parameters.count - 1, &offset, &bytes);
  given->size = offset + bytes;
  given->bytes = calloc(1, given->size + 8);
  given->is_known = calloc(1, given->size + 8);
  return given->bytes && given->is_known ? BF_OK : bf_no_memory(diagnostic);
}

int bf_analyze_read_given(const bf_ptx_function *kernel, const char *text, bf_analyze_given *given,
                          bf_diagnostic *diagnostic) {
  BF_TRY(make_room(kernel, given, diagnostic));
  for (const char *at = text; at && *at;)
    BF_TRY(read_one(kernel, &at, given, diagnostic));
  return BF_OK;
}

/* Whether a parameter is a whole number. */
static bool is_whole(const bf_ptx_variable *parameter) {
  return parameter->bytes <= 8 && parameter->dimensions == 0 && !parameter->is_pointer &&
         parameter->type >= BF_PTX_B8 && parameter->type <= BF_PTX_S64;
}

int bf_analyze_read_launch(const bf_ptx_function *kernel, const char *text, bf_analyze_given *given,
                           bf_diagnostic *diagnostic) {
  BF_TRY(make_room(kernel, given, diagnostic));
  for (const char *at = text; at && *at;) {
    uint64_t number = 0;
    const char *end = at;
    bool is_there = bf_parse_number(&end, &number) && number < kernel->parameters.count &&
                    is_whole(&kernel->parameters.item[number]);
    if (is_there) {
      BF_TRY(read_one(kernel, &at, given, diagnostic));
      continue;
    }
    at = strchr(at, ',');
    at = at ? at + 1 : NULL;
  }
  return BF_OK;
}

void bf_analyze_given_free(bf_analyze_given *given) {
  free(given->bytes);
  free(given->is_known);
  *given = (bf_analyze_given){0};
}
