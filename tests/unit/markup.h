/* Whether SVG and HTML are well-formed; include behind cmocka.h. */
#ifndef TEST_MARKUP_H
#define TEST_MARKUP_H

#include <stdbool.h>
#include <string.h>

enum { MOST_DEPTH = 32, NAME_BYTES = 16 };

static inline bool is_void_element(const char *name) { return strcmp(name, "meta") == 0; }

/* Reads one tag from behind '<' to behind '>': its attributes must be name="value". */
static inline const char *skip_attributes(const char *at, bool *closed) {
  *closed = false;
  while (*at != '>') {
    at += strspn(at, " ");
    if (*at == '/') {
      *closed = true;
      at++;
    } else if (*at != '>') {
      at += strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
      assert_true(at[0] == '=' && at[1] == '"');
      at += 2;
      at += strcspn(at, "\"<");
      assert_int_equal(*at, '"');
      at++;
    }
  }
  return at + 1;
}

/* Elements close in the order they open, attributes are quoted, text has no bare & or <. */
static inline void check_markup(const char *markup) {
  char open[MOST_DEPTH][NAME_BYTES];
  unsigned depth = 0;
  for (const char *at = markup; *at;) {
    if (*at == '&') {
      assert_true(strcspn(at, ";") <= 6);
      at++;
    } else if (*at != '<') {
      at++;
    } else if (at[1] == '?' || at[1] == '!') {
      at = strchr(at, '>') + 1;
    } else {
      bool end = at[1] == '/', closed;
      char name[NAME_BYTES] = {0};
      at += 1 + end;
      size_t length = strcspn(at, " />");
      assert_true(length > 0 && length < NAME_BYTES);
      memcpy(name, at, length);
      at = skip_attributes(at + length, &closed);
      if (end) {
        assert_true(depth > 0);
        assert_string_equal(open[--depth], name);
      } else if (!closed && !is_void_element(name)) {
        assert_true(depth < MOST_DEPTH);
        memcpy(open[depth++], name, NAME_BYTES);
      }
    }
  }
  assert_int_equal(depth, 0);
}

#endif
