/* scan/show: what was found in a project, for people, programs and limits. */
#ifndef BF_SCAN_SHOW_H
#define BF_SCAN_SHOW_H

#include "report/gate.h"
#include "scan/scan.h"

typedef enum bf_scan_order { BF_SCAN_BY_WORTH, BF_SCAN_BY_CONFLICTS } bf_scan_order;

/* The kernels by what a change is predicted to save, or by conflicts; free the list. */
int bf_scan_rank(const bf_scan *scan, bf_scan_order order, const bf_scan_kernel ***ranked,
                 bf_diagnostic *diagnostic);
/* Sums, the first kernels with conflicts, and files that were not looked at. */
void bf_scan_show(const bf_scan *scan, const bf_scan_kernel *const *ranked, size_t most,
                  bool has_colour, bf_text *text);
/* All kernels as one JSON object, which the explorer shows as a report. */
void bf_scan_write_json(const bf_scan *scan, const bf_scan_kernel *const *ranked,
                        const char *machine, bf_text *text);
/* The same as a page without scripts about what is called name. */
void bf_scan_write_page(const bf_scan *scan, const bf_scan_kernel *const *ranked, const char *name,
                        const char *machine, bf_text *text);
/* What each line costs, for limits and SARIF. */
int bf_scan_find_limits(const bf_scan *scan, bf_gate *gate, bf_diagnostic *diagnostic);

#endif
