/* Sizes of types in CUDA source. */
#include "source/source.h"

#include <ctype.h>
#include <string.h>

enum { MOST_DEPTH = 4 }; /* names of types that stand for others */

/* Bytes of a scalar of C, and of those that CUDA makes vectors of: float4, ushort2. */
static const struct {
  const char *name;
  unsigned bytes;
} scalars[] = {{"char", 1},           {"signed char", 1},
               {"unsigned char", 1},  {"bool", 1},
               {"int8_t", 1},         {"uint8_t", 1},
               {"uchar", 1},          {"short", 2},
               {"unsigned short", 2}, {"int16_t", 2},
               {"uint16_t", 2},       {"ushort", 2},
               {"half", 2},           {"__half", 2},
               {"__nv_bfloat16", 2},  {"int", 4},
               {"unsigned", 4},       {"unsigned int", 4},
               {"uint", 4},           {"float", 4},
               {"int32_t", 4},        {"uint32_t", 4},
               {"half2", 4},          {"__half2", 4},
               {"__nv_bfloat162", 4}, {"double", 8},
               {"long long", 8},      {"long", 8},
               {"unsigned long", 8},  {"unsigned long long", 8},
               {"int64_t", 8},        {"uint64_t", 8},
               {"size_t", 8},         {"longlong", 8},
               {"ulonglong", 8},      {"ulong", 8}};

static unsigned scalar_bytes(const char *name, size_t length) {
  for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
    if (strlen(scalars[i].name) == length && strncmp(scalars[i].name, name, length) == 0)
      return scalars[i].bytes;
  return 0;
}

unsigned bf_source_type_bytes(const char *type) {
  size_t length = strlen(type);
  unsigned bytes = scalar_bytes(type, length);
  if (bytes || length < 2 || type[length - 1] < '1' || type[length - 1] > '4' ||
      !isalpha((unsigned char)type[length - 2]))
    return bytes;
  return scalar_bytes(type, length - 1) * (unsigned)(type[length - 1] - '0');
}

/* ---- Names that stand for types ---- */

/* Writes tokens first to end-1 as a type: words apart, without qualifiers. */
static void write_type(const bf_source *source, size_t first, size_t end,
                       char type[BF_SOURCE_MOST_NAME]) {
  size_t used = 0;
  type[0] = 0;
  for (size_t i = first; i < end; i++) {
    bool is_qualifier = bf_source_is(source, i, "const") || bf_source_is(source, i, "volatile");
    if (!is_qualifier && used + source->token[i].size + 2 < BF_SOURCE_MOST_NAME)
      used += (size_t)snprintf(type + used, BF_SOURCE_MOST_NAME - used, "%s%.*s", used ? " " : "",
                               (int)source->token[i].size, source->text + source->token[i].at);
  }
}

/* What a name stands for by `using name = type;`, `typedef type name;` or `#define name type`;
 * where definitions differ, nothing. */
static bool find_definition(const bf_source *source, const char *name,
                            char type[BF_SOURCE_MOST_NAME]) {
  char found[BF_SOURCE_MOST_NAME];
  type[0] = 0;
  for (size_t i = 0; i + 2 < source->tokens; i++) {
    size_t first = i + 1, end = first;
    bool is_using = bf_source_is(source, i, "using") && bf_source_is(source, i + 1, name) &&
                    bf_source_is(source, i + 2, "=");
    bool is_macro = bf_source_is(source, i, "define") && bf_source_is(source, i + 1, name);
    first += is_using ? 2 : is_macro ? 1 : 0;
    for (end = first; end < source->tokens && !bf_source_is(source, end, ";") &&
                      (!is_macro || source->token[end].line == source->token[i].line);)
      end++;
    bool is_typedef = bf_source_is(source, i, "typedef") && end > first + 1 &&
                      bf_source_is(source, end - 1, name);
    if (!is_using && !is_macro && !is_typedef)
      continue;
    write_type(source, first, is_typedef ? end - 1 : end, found);
    if (type[0] && strcmp(type, found) != 0)
      return false;
    memcpy(type, found, sizeof found);
  }
  return type[0] != 0;
}

/* Argument number index of reduce<int, 64>. */
static bool copy_argument(const char *readable, unsigned index, char type[BF_SOURCE_MOST_NAME]) {
  const char *at = bf_source_template_argument(readable, index);
  snprintf(type, BF_SOURCE_MOST_NAME, "%.*s", at ? (int)strcspn(at, ",>") : 0, at ? at : "");
  return type[0] != 0;
}

/* What a template parameter of the function around an array stands for. */
static bool find_parameter(const bf_source *source, const bf_source_array *array,
                           const char *readable, const char *name, char type[BF_SOURCE_MOST_NAME]) {
  size_t first = array->function;
  if (first >= source->tokens)
    return false;
  while (first > 0 && !bf_source_is(source, first - 1, ";") &&
         !bf_source_is(source, first - 1, "}") && !bf_source_is(source, first - 1, "{"))
    first--;
  while (first < array->function && !bf_source_is(source, first, "template"))
    first++;
  unsigned index = 0;
  for (size_t i = first + 2; i < array->function && !bf_source_is(source, i, ">"); i++) {
    bool is_type = bf_source_is(source, i - 1, "typename") || bf_source_is(source, i - 1, "class");
    if (is_type && bf_source_is(source, i, name))
      return copy_argument(readable, index, type);
    index += bf_source_is(source, i, ",");
  }
  return false;
}

unsigned bf_source_element_bytes(const bf_source *source, const bf_source_array *array,
                                 const char *readable) {
  char type[BF_SOURCE_MOST_NAME], next[BF_SOURCE_MOST_NAME];
  memcpy(type, array->type, sizeof type);
  for (unsigned i = 0; i < MOST_DEPTH; i++) {
    unsigned bytes = bf_source_type_bytes(type);
    if (bytes || (!find_parameter(source, array, readable, type, next) &&
                  !find_definition(source, type, next)))
      return bytes;
    memcpy(type, next, sizeof type);
  }
  return 0;
}
