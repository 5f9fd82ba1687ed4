/* Inside room exchange: an access as the value of a field: a line of a trace (docs/traces.md)
 * without its site. */
#ifndef BF_EXCHANGE_ACCESS_TEXT_H
#define BF_EXCHANGE_ACCESS_TEXT_H

#include "access/access.h"
#include "base/rows.h"

void bf_access_text_write(const bf_access *access, bf_text *text);
/* Reads text, which is of the row that is being read. The access may not fit any machine. */
int bf_access_text_read(const bf_rows *rows, const char *text, bf_access *access,
                        bf_diagnostic *diagnostic);

#endif
