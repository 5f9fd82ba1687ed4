/* The part of the Itanium C++ ABI's mangling that names of kernels need: nested names, and template
 * arguments that are types, numbers or names. */
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

/* Template arguments may hold names with template arguments; deeper ones are left out. */
enum { MOST_DEPTH = 16 };

static bool read_type(const char **cursor, unsigned depth, bf_text *text);

/* Builtin types by their letter. */
static const char *builtin_name(char letter) {
  static const struct {
    char letter;
    const char *name;
  } types[] = {
      {'v', "void"},
      {'b', "bool"},
      {'c', "char"},
      {'a', "signed char"},
      {'h', "unsigned char"},
      {'s', "short"},
      {'t', "unsigned short"},
      {'i', "int"},
      {'j', "unsigned"},
      {'l', "long"},
      {'m', "unsigned long"},
      {'x', "long long"},
      {'y', "unsigned long long"},
      {'f', "float"},
      {'d', "double"},
  };
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].letter == letter)
      return types[i].name;
  return NULL;
}

/* An identifier with its length before it, "9transpose"; the unnamed namespace is spelt out. */
static bool read_identifier(const char **cursor, bf_text *text) {
  char *end;
  if (**cursor < '1' || **cursor > '9')
    return false;
  size_t length = strtoul(*cursor, &end, 10);
  if (length > strlen(end))
    return false;
  if (length > 10 && strncmp(end, "_GLOBAL__N", 10) == 0)
    bf_text_puts(text, "(anonymous namespace)");
  else
    bf_text_add(text, end, length);
  *cursor = end + length;
  return true;
}

/* A number as a template argument, behind its L: "i64E", "b1E", "in5E". */
static bool read_literal(const char **cursor, bf_text *text) {
  const char *digits = *cursor + 1;
  bool is_bool = **cursor == 'b', negative = *digits == 'n';
  digits += negative;
  size_t length = strspn(digits, "0123456789");
  if (!builtin_name(**cursor) || length == 0 || digits[length] != 'E')
    return false;
  if (is_bool)
    bf_text_puts(text, *digits == '0' ? "false" : "true");
  else
    bf_text_addf(text, "%s%.*s", negative ? "-" : "", (int)length, digits);
  *cursor = digits + length + 1;
  return true;
}

/* A template argument: a number or a type. */
static bool read_argument(const char **cursor, unsigned depth, bf_text *text) {
  if (**cursor != 'L')
    return read_type(cursor, depth, text);
  ++*cursor;
  return read_literal(cursor, text);
}

/* Template arguments behind their I, up to their E; false where they hold more than is known here.
 */
static bool read_arguments(const char **cursor, unsigned depth, bf_text *text) {
  if (depth > MOST_DEPTH)
    return false;
  bf_text_puts(text, "<");
  for (bool first = true; **cursor != 'E'; first = false) {
    bf_text_puts(text, first ? "" : ", ");
    if (!read_argument(cursor, depth + 1, text))
      return false;
  }
  ++*cursor;
  bf_text_puts(text, ">");
  return true;
}

/* Identifiers joined by "::", each perhaps with template arguments; one only unless nested. */
static bool read_names(const char **cursor, bool nested, unsigned depth, bf_text *text) {
  bool first = true;
  do {
    if (!first)
      bf_text_puts(text, "::");
    first = false;
    *cursor += **cursor == 'L'; /* internal linkage */
    if (!read_identifier(cursor, text))
      return false;
    if (**cursor == 'I' && (++*cursor, !read_arguments(cursor, depth, text)))
      return false;
  } while (nested && **cursor != 'E' && **cursor);
  return true;
}

/* A type: pointers, references, const, builtin ones and names. */
static bool read_type(const char **cursor, unsigned depth, bf_text *text) {
  if (depth > MOST_DEPTH)
    return false;
  const char *name = builtin_name(**cursor);
  if (name) {
    bf_text_puts(text, name);
    ++*cursor;
    return true;
  }
  const char *mark = strchr("PRK", **cursor);
  if (**cursor && mark) {
    char kind = *(*cursor)++;
    bf_text_puts(text, kind == 'K' ? "const " : "");
    if (!read_type(cursor, depth + 1, text))
      return false;
    bf_text_puts(text, kind == 'P' ? " *" : kind == 'R' ? " &" : "");
    return true;
  }
  bool nested = **cursor == 'N';
  *cursor += nested;
  if (!read_names(cursor, nested, depth + 1, text))
    return false;
  *cursor += nested && **cursor == 'E';
  return true;
}

/* The name up to its first template argument that is not known here. */
static void cut_arguments(bf_text *text, size_t begin) {
  char *open = text->data ? strchr(text->data + begin, '<') : NULL;
  if (open) {
    text->size = (size_t)(open - text->data);
    *open = 0;
    bf_text_puts(text, "<...>");
  }
}

/* Appends the name of a variable inside a function: what stands behind the last E as a number of
 * characters and that many, perhaps followed by a number behind '_'. */
static bool read_local(const char *mangled, bf_text *text) {
  for (const char *at = mangled + strlen(mangled); at > mangled; at--) {
    char *name;
    if (at[-1] != 'E' || *at < '1' || *at > '9')
      continue;
    unsigned long length = strtoul(at, &name, 10);
    if (length > strlen(name) || (name[length] && name[length] != '_'))
      continue;
    bf_text_add(text, name, length);
    return true;
  }
  return false;
}

void bf_ptx_readable_name(const char *mangled, bf_text *text) {
  size_t begin = text->size;
  if (strncmp(mangled, "_ZZ", 3) == 0 && read_local(mangled, text))
    return;
  if (strncmp(mangled, "_Z", 2) != 0) {
    bf_text_puts(text, mangled);
    return;
  }
  const char *cursor = mangled + 2;
  bool nested = *cursor == 'N';
  cursor += nested;
  if (!read_names(&cursor, nested, 0, text))
    cut_arguments(text, begin);
  if (text->size == begin)
    bf_text_puts(text, mangled);
}
