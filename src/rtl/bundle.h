/* rtl/bundle: the files that a unit is written as, all or none of them. */
#ifndef BF_RTL_BUNDLE_H
#define BF_RTL_BUNDLE_H

#include "rtl/rtl.h"

enum { BF_RTL_MOST_FILES = 6 };

/* What is to be written, so that nothing is where something cannot be made. */
typedef struct bf_rtl_bundle {
  unsigned count;
  char name[BF_RTL_MOST_FILES][BF_RTL_NAME_MAX + 24];
  bf_text text[BF_RTL_MOST_FILES];
} bf_rtl_bundle;

/* Adds a file called start and end, empty. */
bf_text *bf_rtl_bundle_add(bf_rtl_bundle *files, const char *start, const char *end);
/* Adds Verilog, test bench and vectors of a unit, and a picture of it where it can be drawn;
 * *written: how many vectors. Free also after an error. */
int bf_rtl_bundle_fill(const bf_rtl_unit *unit, uint64_t vectors, bf_rtl_bundle *files,
                       uint64_t *written, bf_diagnostic *diagnostic);
/* Makes the folder where it is missing and writes all files, or takes back those it wrote. */
int bf_rtl_bundle_write(const char *folder, const bf_rtl_bundle *files, bf_diagnostic *diagnostic);
void bf_rtl_bundle_free(bf_rtl_bundle *files);

#endif
