/* Floating-point numbers in decimal, with a point whatever the locale: where a library of Bankfold
 * is loaded into a program, that program may have chosen one in which numbers have a comma. */
#include "ptx/decimal.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* Lets the thread have numbers as PTX has them; what it had before goes to *before. 0: no memory.
 */
static locale_t begin_plain(locale_t *before) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (plain)
    *before = uselocale(plain);
  return plain;
}

static void end_plain(locale_t plain, locale_t before) {
  uselocale(before);
  freelocale(plain);
}

bool bf_ptx_decimal_read(const char *number, double *value) {
  locale_t before, plain = begin_plain(&before);
  if (!plain)
    return false;
  *value = strtod(number, NULL);
  end_plain(plain, before);
  return true;
}

/* The shortest digits would do, 17 always do; a point keeps the number from being an integer. */
void bf_ptx_decimal_print(double value, bf_text *text) {
  char number[40];
  locale_t before, plain = begin_plain(&before);
  if (!plain) {
    text->failed = true;
    return;
  }
  snprintf(number, sizeof number, "%.17g", value);
  end_plain(plain, before);
  bf_text_puts(text, number);
  if (!strpbrk(number, ".e"))
    bf_text_puts(text, ".0");
}
