/* report/explorer: the page of the explorer (docs/explorer.md), opened on something. */
#ifndef BF_REPORT_EXPLORER_H
#define BF_REPORT_EXPLORER_H

#include "base/base.h"

/* Adds the page with a state in it: a JSON object as web/state.js has them. name is for
 * diagnostics. */
int bf_explorer_fill(const char *name, const char *page, const char *state, bf_text *text,
                     bf_diagnostic *diagnostic);
/* Adds the state that shows a report: the JSON that a command prints, under the name of what it is
 * about. */
int bf_explorer_report(const char *name, const char *document, bf_text *text,
                       bf_diagnostic *diagnostic);

#endif
