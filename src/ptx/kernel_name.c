/* How people call kernels, and what is said where there is none of a name. */
#include "ptx/ptx.h"

#include "base/guess.h"

#include <string.h>

enum { MOST_NAMES_BYTES = 300 };

bool bf_ptx_is_called(const char *kernel, const char *name) {
  bf_text readable = {0};
  bf_ptx_readable_name(kernel, &readable);
  bool is_same = strcmp(kernel, name) == 0 ||
                 (!readable.failed && readable.data && strcmp(readable.data, name) == 0);
  bf_text_free(&readable);
  return is_same;
}

int bf_ptx_no_kernel(const bf_ptx_module *module, const char *file, const char *name,
                     bf_diagnostic *diagnostic) {
  bf_text names = {0};
  char likely[BF_GUESS_BYTES];
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FUNCTION && item->function->is_entry &&
        item->function->has_body && names.size < MOST_NAMES_BYTES) {
      bf_text_puts(&names, names.size ? "\n" : "");
      bf_ptx_readable_name(item->function->name, &names);
    }
  if (names.failed)
    return bf_no_memory(diagnostic);
  bf_guess guess = bf_guess_begin(name);
  for (const char *at = names.data ? names.data : ""; *at; at += strcspn(at, "\n"), at += *at != 0)
    bf_guess_offer(&guess, at, strcspn(at, "\n"));
  bf_guess_text(&guess, likely);
  for (size_t i = 0; i < names.size; i++)
    if (names.data[i] == '\n')
      names.data[i] = ' ';
  int error = bf_fail_file(diagnostic, BF_BAD_INPUT, file, "no kernel '%.80s'%s; there %s%s", name,
                           likely, names.size ? "are " : "is none", names.size ? names.data : "");
  bf_text_free(&names);
  return error;
}
