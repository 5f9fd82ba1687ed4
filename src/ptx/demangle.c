/* Names of C++ for people, by the demangler of GCC's runtime library (libsupc++.a).
 *
 * Of its two entries __cxa_demangle cannot be stopped: parts of a name that stand for earlier parts
 * let 250 characters become 600 MB. The other hands out the text piece by piece, allocates nothing
 * and is left by longjmp once there is too much. */
#include "ptx/demangle.h"

#include <ctype.h>
#include <setjmp.h>
#include <string.h>

/* What is longer, with parameters, stays mangled: with file and line behind it, a name must fit
 * into the 4096 bytes of a site of a trace. The library itself refuses mangled names above 1 KiB.
 */
enum { MOST_BYTES = 3 << 10 };

/* Calls piece with one part of the plain name after the other; 0, or negative where it is no
 * mangled name, perhaps behind some parts. */
int __gcclibcxx_demangle_callback(const char *mangled,
                                  void (*piece)(const char *text, size_t size, void *context),
                                  void *context);

typedef struct demangling {
  bf_text *plain;
  jmp_buf enough;
} demangling;

static void add_piece(const char *piece, size_t size, void *context) {
  demangling *d = context;
  bf_text_add(d->plain, piece, size);
  if (d->plain->failed || d->plain->size > MOST_BYTES)
    longjmp(d->enough, 1);
}

/* Fills plain, which is empty; false where that fails, perhaps for lack of memory. */
static bool demangle(const char *mangled, bf_text *plain) {
  demangling d = {.plain = plain};
  plain->size = 0;
  return setjmp(d.enough) == 0 && __gcclibcxx_demangle_callback(mangled, add_piece, &d) == 0;
}

/* The same without return type: that of a function is printed with its own name, but not with the
 * name of something inside it. So _Z<name> is read as _ZZ<name>E1x and "::x" taken off again. */
static bool demangle_scope(const char *mangled, bf_text *plain) {
  bf_text inside = {0};
  bf_text_addf(&inside, "_Z%sE1x", mangled + 1);
  bool is_known = !inside.failed && demangle(inside.data, plain) && plain->size > 3;
  plain->failed |= inside.failed;
  bf_text_free(&inside);
  if (is_known)
    plain->data[plain->size -= 3] = 0;
  return is_known;
}

/* The length of a name without its parameters: what stands before the last group of parentheses,
 * where nothing but qualifiers (const, &) follows. Inside, parentheses come in pairs. The whole
 * length where there are no parameters. */
static size_t length_without_parameters(const char *name, size_t length) {
  size_t end = length;
  unsigned depth = 0;
  while (end && (islower((unsigned char)name[end - 1]) || strchr(" &", name[end - 1])))
    end--;
  while (end && (depth || name[end - 1] == ')')) {
    depth += name[end - 1] == ')';
    depth -= name[end - 1] == '(';
    end--;
    if (!depth)
      return end && name[end - 1] != ' ' ? end : length;
  }
  return length;
}

/* The length of what stands before the last "::", or the whole length. */
static size_t length_of_scope(const char *name, size_t length) {
  for (size_t at = length; at > 1; at--)
    if (name[at - 1] == ':' && name[at - 2] == ':')
      return at - 2;
  return length;
}

/* Names of data that the compiler makes, and functions that lead to others; what they belong to
 * comes behind words ("vtable for"). */
static bool is_special(const char *mangled) { return mangled[2] == 'T' || mangled[2] == 'G'; }

/* Appends a name without its tags, [abi:...]: Numba puts its version and its options there. */
static void add_untagged(const char *name, size_t length, bf_text *text) {
  for (size_t at = 0; at < length;) {
    const char *tag = strstr(name + at, "[abi:");
    size_t end = tag && (size_t)(tag - name) < length ? (size_t)(tag - name) : length;
    bf_text_add(text, name + at, end - at);
    at = end < length ? end + strcspn(tag, "]") + 1 : length;
  }
}

/* Appends the plain name of _Z..., cut and without tags; false where there is none. */
static bool add_plain(const char *mangled, bf_text *text) {
  bf_text plain = {0};
  bool is_cut = !is_special(mangled) && demangle_scope(mangled, &plain);
  bool is_known = is_cut || demangle(mangled, &plain);
  size_t length = is_cut ? length_without_parameters(plain.data, plain.size) : plain.size;
  size_t begin = 0;
  if (is_cut && mangled[2] == 'Z' && length == plain.size) /* a variable in a function */
    begin = length_of_scope(plain.data, length) + 2;
  if (is_known && begin < length)
    add_untagged(plain.data + begin, length - begin, text);
  text->failed |= plain.failed;
  bf_text_free(&plain);
  return is_known;
}

/* Behind the prefix that nvcc gives to static names of separately compiled parts,
 * __nv_static_N_ID_, where ID has N characters; the name itself where there is none. */
static const char *without_part(const char *name) {
  static const char prefix[] = "__nv_static_";
  const char *at = name + sizeof prefix - 1;
  uint64_t length;
  if (strncmp(name, prefix, sizeof prefix - 1) != 0 || !bf_parse_number(&at, &length) ||
      *at != '_' || strlen(at) < 3 || length > strlen(at) - 3 || at[1 + length] != '_')
    return name;
  return at + length + 2;
}

void bf_ptx_readable_name(const char *mangled, bf_text *text) {
  mangled = without_part(mangled);
  if (strncmp(mangled, "_Z", 2) != 0 || !add_plain(mangled, text))
    bf_text_puts(text, mangled);
}

void bf_ptx_enclosing_name(const char *mangled, bf_text *text) {
  bf_text plain = {0};
  if (strncmp(mangled, "_ZZ", 3) == 0 && demangle(mangled, &plain)) {
    size_t scope = length_of_scope(plain.data, plain.size);
    bf_text_add(text, plain.data, length_without_parameters(plain.data, scope));
  }
  text->failed |= plain.failed;
  bf_text_free(&plain);
}
