/* Inside room report: the pieces of the HTML page. */
#ifndef BF_REPORT_PAGE_H
#define BF_REPORT_PAGE_H

#include "report/report.h"

/* Thousands set apart: 1,234,567. */
void bf_page_number(uint64_t number, bf_text *text);
/* How a programmer puts hash to use, as paragraphs and code. */
void bf_page_usage(const bf_hash *hash, bf_text *text);
/* Bank load of accesses (indices into workload) before and after, one row each, as an <svg>. */
int bf_page_heat_map(const bf_machine *machine, const bf_workload *workload,
                     const bf_hash *const *hashes, const size_t *index, size_t count,
                     unsigned identifier, bf_text *text, bf_diagnostic *diagnostic);

#endif
