/* Accesses as values of fields. */
#include "exchange/access_text.h"

void bf_access_text_write(const bf_access *access, bf_text *text) {
  bf_access own = *access;
  own.site = NULL;
  bf_trace_print_line(&own, text);
  if (!text->failed)
    text->data[--text->size] = 0; /* the newline */
}

int bf_access_text_read(const bf_rows *rows, const char *text, bf_access *access,
                        bf_diagnostic *diagnostic) {
  const bf_trace_limits any = {.lanes = BF_MAX_LANES, .allocation_bytes = UINT64_MAX};
  bf_arena sites = {0};
  int got = bf_trace_parse_line(bf_rows_file(rows), bf_rows_line(rows), text, &any, &sites, access,
                                diagnostic);
  bool is_good = got == 1 && !access->site;
  bf_arena_free(&sites);
  access->line = 0;
  if (got < 0)
    return got;
  return is_good ? BF_OK : bf_rows_fail(rows, diagnostic, "expected an access without a site");
}
