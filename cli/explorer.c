/* The explorer: its page is found, and a state put into it. */
#include "cli/explorer.h"

#include "cli/library.h"

#include <string.h>

static const char page_name[] = "explorer.html";
/* Where the page holds its state (web/page.html). */
static const char place[] = "<script type=\"application/json\" id=\"given\">null</script>";
static const char place_begin[] = "<script type=\"application/json\" id=\"given\">";
static const char place_end[] = "</script>";

bool cli_explorer_is_there(void) {
  char folder[PATH_MAX];
  return cli_find_library("web", page_name, folder);
}

static int read_page(bf_text *page, bf_diagnostic *diagnostic) {
  char folder[PATH_MAX], path[PATH_MAX + sizeof page_name];
  if (!cli_find_library("web", page_name, folder))
    return bf_fail(diagnostic, BF_IO,
                   "%s was not found beside the program; web/build.sh makes it (docs/explorer.md)",
                   page_name);
  snprintf(path, sizeof path, "%s/%s", folder, page_name);
  return bf_read_file(path, SIZE_MAX, page, diagnostic);
}

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

int cli_explorer_write(const char *path, const char *state, bf_diagnostic *diagnostic) {
  bf_text page = {0}, made = {0};
  int error = read_page(&page, diagnostic);
  const char *at = error ? NULL : strstr(page.data, place);
  if (!error && !at)
    error = bf_fail(diagnostic, BF_BAD_INPUT, "%s has no place for data", page_name);
  if (!error) {
    bf_text_add(&made, page.data, (size_t)(at - page.data));
    bf_text_puts(&made, place_begin);
    add_json(state, &made);
    bf_text_puts(&made, place_end);
    bf_text_puts(&made, at + sizeof place - 1);
    error = made.failed ? bf_no_memory(diagnostic)
                        : bf_write_file(path, made.data, made.size, diagnostic);
  }
  bf_text_free(&page);
  bf_text_free(&made);
  return error;
}

int cli_explorer_write_report(const char *path, const char *name, const char *document,
                              bf_diagnostic *diagnostic) {
  bf_text state = {0};
  bf_json json = {.text = &state};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "view", "report");
  bf_json_begin(&json, "report", '{', false);
  bf_json_begin(&json, "before", '{', false);
  bf_json_string(&json, "name", name);
  bf_text_puts(&state, ",\n\"document\": ");
  bf_text_puts(&state, document);
  bf_json_end(&json, '}');
  bf_json_end(&json, '}');
  bf_json_end(&json, '}');
  int error =
      state.failed ? bf_no_memory(diagnostic) : cli_explorer_write(path, state.data, diagnostic);
  bf_text_free(&state);
  return error;
}
