/* The explorer's page with a state in it. */
#include "report/explorer.h"

#include <string.h>

/* Where the page holds its state (web/page.html). */
static const char place[] = "<script type=\"application/json\" id=\"given\">null</script>";
static const char place_begin[] = "<script type=\"application/json\" id=\"given\">";
static const char place_end[] = "</script>";

/* JSON that no tag can end: < is only in strings. */
static void add_json(const char *json, bf_text *text) {
  for (const char *at = json, *next; *at; at = next) {
    next = at + strcspn(at, "<");
    bf_text_add(text, at, (size_t)(next - at));
    if (*next == '<') {
      bf_text_puts(text, "\\u003c");
      next++;
    }
  }
}

int bf_explorer_fill(const char *name, const char *page, const char *state, bf_text *text,
                     bf_diagnostic *diagnostic) {
  const char *at = strstr(page, place);
  if (!at)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s has no place for data", name);
  bf_text_add(text, page, (size_t)(at - page));
  bf_text_puts(text, place_begin);
  add_json(state, text);
  bf_text_puts(text, place_end);
  bf_text_puts(text, at + sizeof place - 1);
  return text->failed ? bf_no_memory(diagnostic) : BF_OK;
}

int bf_explorer_report(const char *name, const char *document, bf_text *text,
                       bf_diagnostic *diagnostic) {
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "view", "report");
  bf_json_begin(&json, "report", '{', false);
  bf_json_begin(&json, "before", '{', false);
  bf_json_string(&json, "name", name);
  bf_text_puts(text, ",\n\"document\": ");
  bf_text_puts(text, document);
  bf_json_end(&json, '}');
  bf_json_end(&json, '}');
  bf_json_end(&json, '}');
  return text->failed ? bf_no_memory(diagnostic) : BF_OK;
}
