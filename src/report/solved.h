/* report/solved: what searches answer, for people and as JSON (docs/json.md). */
#ifndef BF_REPORT_SOLVED_H
#define BF_REPORT_SOLVED_H

#include "search/ladder.h"

/* method: its name in solve --method. */
void bf_report_solution_json(const char *method, const bf_solution *solution, bf_text *text);
void bf_report_solution_text(const char *method, const bf_solution *solution, bf_text *text);
int bf_report_ladder_json(const bf_machine *machine, const bf_ladder *ladder, bf_text *text,
                          bf_diagnostic *diagnostic);
void bf_report_ladder_text(const bf_ladder *ladder, bool color, bf_text *text);

#endif
