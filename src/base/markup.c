/* Text from the input inside XML and HTML. */
#include "base/base.h"

#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

/* Bytes of the UTF-8 sequence that begins at `at`, or 0 if it is none that XML may hold: cut off,
 * overlong, a surrogate, past U+10FFFF, U+FFFE, U+FFFF or a control character. */
static size_t sequence_length(const unsigned char *at) {
  if (at[0] < 0x80)
    return at[0] >= 32 ? at[0] != 127 : at[0] == '\t' || at[0] == '\n' || at[0] == '\r';
  size_t length = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2;
  if (at[0] < 0xC2 || at[0] > 0xF4)
    return 0;
  uint32_t code = at[0] & (0x7Fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((at[i] & 0xC0) != 0x80)
      return 0;
    code = code << 6 | (at[i] & 0x3F);
  }
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  bool surrogate = code >= 0xD800 && code < 0xE000;
  bool valid = code >= least[length] && code <= 0x10FFFF && !surrogate && (code & ~1u) != 0xFFFE;
  return valid && !(code >= 0x80 && code < 0xA0) ? length : 0;
}

static const char *entity(char c) {
  switch (c) {
  case '&':
    return "&amp;";
  case '<':
    return "&lt;";
  case '>':
    return "&gt;";
  case '"':
    return "&quot;";
  case '\'':
    return "&#39;";
  default:
    return NULL;
  }
}

void bf_markup_escape(const char *string, bf_text *text) {
  for (const char *at = string; *at;) {
    size_t length = sequence_length((const unsigned char *)at);
    if (length == 0)
      bf_text_puts(text, replacement);
    else if (length == 1 && entity(*at))
      bf_text_puts(text, entity(*at));
    else
      bf_text_add(text, at, length);
    at += length ? length : 1;
  }
}
