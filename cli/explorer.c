/* The explorer: its page is found, and a state put into it. */
#include "cli/explorer.h"

#include "cli/library.h"
#include "report/explorer.h"

static const char page_name[] = "explorer.html";

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

int cli_explorer_write(const char *path, const char *state, bf_diagnostic *diagnostic) {
  bf_text page = {0}, made = {0};
  int error = read_page(&page, diagnostic);
  if (!error)
    error = bf_explorer_fill(page_name, page.data, state, &made, diagnostic);
  if (!error)
    error = bf_write_file(path, made.data, made.size, diagnostic);
  bf_text_free(&page);
  bf_text_free(&made);
  return error;
}

int cli_explorer_write_report(const char *path, const char *name, const char *document,
                              bf_diagnostic *diagnostic) {
  bf_text state = {0};
  int error = bf_explorer_report(name, document, &state, diagnostic);
  if (!error)
    error = cli_explorer_write(path, state.data, diagnostic);
  bf_text_free(&state);
  return error;
}
