/* PTX text at a glance, and kernels found in it by their .entry and their braces. Comments and
 * strings are skipped; nothing else is understood. */
#include "ptx/ptx_text.h"

#include "ptx/bytes.h"

#include <string.h>

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%' || c == '.';
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Behind the string whose opening quote is at `at`. */
static const char *skip_string(const char *at, const char *end) {
  for (at++; at < end && *at != '"' && *at != '\n'; at++)
    if (*at == '\\' && at + 1 < end)
      at++;
  return at < end ? at + 1 : end;
}

/* Behind the space and the comments at `at`. */
static const char *skip_space(const char *at, const char *end) {
  while (at < end) {
    const char *found;
    size_t left = (size_t)(end - at);
    if (is_space(*at))
      at++;
    else if (left >= 2 && at[0] == '/' && at[1] == '/')
      at = (found = memchr(at, '\n', left)) ? found + 1 : end;
    else if (left >= 2 && at[0] == '/' && at[1] == '*')
      at = (found = memmem(at + 2, left - 2, "*/", 2)) ? found + 2 : end;
    else
      break;
  }
  return at;
}

/* A piece of text: a word (a directive, name or number), a string, or one other character. */
typedef struct token {
  const char *begin;
  size_t size;
} token;

/* The next token at or behind *at, which moves behind it; size 0 at the end. */
static token next_token(const char **at, const char *end) {
  token t = {skip_space(*at, end), 0};
  const char *behind = t.begin;
  if (behind < end && *behind == '"')
    behind = skip_string(behind, end);
  else if (behind < end && !is_word(*behind))
    behind++;
  else
    while (behind < end && is_word(*behind))
      behind++;
  t.size = (size_t)(behind - t.begin);
  *at = behind;
  return t;
}

static bool is(token t, const char *text) {
  return t.size == strlen(text) && memcmp(t.begin, text, t.size) == 0;
}

bool bf_ptx_text_is(const char *text, uint64_t size) {
  return is(next_token(&text, text + size), ".version");
}

/* "9.0" */
static bool read_version(token t, bf_image *image) {
  char copy[16];
  snprintf(copy, sizeof copy, "%.*s", (int)(t.size < 15 ? t.size : 15), t.begin);
  const char *at = copy;
  uint64_t major, minor;
  if (!bf_parse_number(&at, &major) || *at++ != '.' || !bf_parse_number(&at, &minor) || *at ||
      major > 999 || minor > 999)
    return false;
  image->version_major = (unsigned)major;
  image->version_minor = (unsigned)minor;
  return true;
}

/* A target that says the architecture; others (debug, texmode_unified) stand in the same list. */
static bool read_target(token t, bf_image *image) {
  char copy[16];
  snprintf(copy, sizeof copy, "%.*s", (int)(t.size < 15 ? t.size : 15), t.begin);
  return strncmp(copy, "sm_", 3) == 0 && bf_arch_parse(copy, &image->arch);
}

int bf_ptx_text_describe(const char *name, const char *text, uint64_t size, bf_image *image,
                         bf_diagnostic *diagnostic) {
  const char *at = text, *end = text + size;
  next_token(&at, end); /* .version */
  token version = next_token(&at, end);
  if (!read_version(version, image))
    return bf_fail_byte(diagnostic, BF_BAD_INPUT, name, (uint64_t)(version.begin - text),
                        ".version is followed by a number like 9.0");
  token directive = next_token(&at, end);
  token target = next_token(&at, end);
  if (!is(directive, ".target") || !read_target(target, image))
    return bf_fail_byte(diagnostic, BF_BAD_INPUT, name, (uint64_t)(directive.begin - text),
                        ".version is followed by .target and an architecture like sm_90");
  return BF_OK;
}

/* ---- Kernels ---- */

/* Behind the brace that closes the first one opened at or behind `at`, or NULL. */
static const char *skip_body(const char *at, const char *end) {
  size_t depth = 0;
  while (at < end) {
    const char *behind = at + 1;
    depth += *at == '{';
    if (*at == '}' && (depth == 0 || --depth == 0))
      return behind;
    if (*at == '"')
      behind = skip_string(at, end);
    else if (*at == '/')
      behind = skip_space(at, end);
    at = behind > at ? behind : at + 1;
  }
  return NULL;
}

static bool is_linking(token t) {
  return is(t, ".visible") || is(t, ".weak") || is(t, ".extern") || is(t, ".common");
}

bool bf_kernel_next(const char **cursor, const char *end, bf_kernel_text *kernel) {
  const char *at = *cursor, *linking = NULL;
  for (token t = next_token(&at, end); t.size; t = next_token(&at, end)) {
    if (is(t, ".entry")) {
      token name = next_token(&at, end);
      const char *behind = name.size && is_word(*name.begin) ? skip_body(at, end) : NULL;
      if (!behind)
        break;
      kernel->begin = linking ? linking : t.begin;
      kernel->size = (size_t)(behind - kernel->begin);
      kernel->name = name.begin;
      kernel->name_size = name.size;
      *cursor = behind;
      return true;
    }
    linking = is_linking(t) ? t.begin : NULL;
  }
  *cursor = end;
  return false;
}

static bool is_named(const bf_kernel_text *kernel, const char *name) {
  return name && strlen(name) == kernel->name_size &&
         memcmp(name, kernel->name, kernel->name_size) == 0;
}

void bf_kernel_keep(const char *ptx, size_t size, const char *const names[2], bf_text *text) {
  const char *at = ptx, *end = ptx + size, *kept = ptx;
  bf_kernel_text kernel;
  while (bf_kernel_next(&at, end, &kernel)) {
    if (is_named(&kernel, names[0]) || is_named(&kernel, names[1]))
      continue;
    bf_text_add(text, kept, (size_t)(kernel.begin - kept));
    kept = at;
  }
  bf_text_add(text, kept, (size_t)(end - kept));
}
