/* The spool behind long listings. */
#include "cli/find/spool.h"

#include <errno.h>
#include <string.h>

enum { MEMORY_BYTES = 4 << 20 };

static int spill(cli_spool *spool, bf_diagnostic *diagnostic) {
  if (!spool->file && !(spool->file = tmpfile()))
    return bf_fail(diagnostic, BF_IO, "cannot make a temporary file: %s", strerror(errno));
  if (fwrite(spool->text.data, 1, spool->text.size, spool->file) != spool->text.size)
    return bf_fail(diagnostic, BF_IO, "cannot write a temporary file: %s", strerror(errno));
  bf_text_free(&spool->text);
  return BF_OK;
}

int cli_spool_add(cli_spool *spool, bf_text *text, bf_diagnostic *diagnostic) {
  if (text->size)
    bf_text_add(&spool->text, text->data, text->size);
  bool failed = text->failed || spool->text.failed;
  bf_text_free(text);
  if (failed)
    return bf_no_memory(diagnostic);
  return spool->text.size < MEMORY_BYTES ? BF_OK : spill(spool, diagnostic);
}

int cli_spool_print(cli_spool *spool) {
  char buffer[1 << 16];
  size_t got;
  if (spool->file) {
    rewind(spool->file);
    while ((got = fread(buffer, 1, sizeof buffer, spool->file)) > 0) {
      bf_text part = {0};
      bf_text_add(&part, buffer, got);
      int status = cli_print(&part);
      if (status != CLI_OK)
        return status;
    }
  }
  return cli_print(&spool->text);
}

void cli_spool_free(cli_spool *spool) {
  if (spool->file)
    fclose(spool->file);
  bf_text_free(&spool->text);
}
