/* report/solved: what searches answer, for people and as JSON (docs/json.md). */
#ifndef BF_REPORT_SOLVED_H
#define BF_REPORT_SOLVED_H

#include "search/arrays.h"
#include "search/cases.h"
#include "search/joint.h"
#include "search/ladder.h"

/* method: its name in solve --method; joint: how data are moved, or NULL; cases: judged ones, shown
 * where there are several. */
void bf_report_solution_json(const char *method, const bf_solution *solution, const bf_joint *joint,
                             const bf_loaded_cases *cases, bf_text *text);
void bf_report_solution_text(const char *method, const bf_solution *solution, const bf_joint *joint,
                             bf_text *text);
void bf_report_arrays_json(const bf_arrays *arrays, const bf_loaded_cases *cases, bf_text *text);
void bf_report_arrays_text(const bf_arrays *arrays, const bf_loaded_cases *cases, bf_text *text);
int bf_report_ladder_json(const bf_ladder *ladder, const bf_loaded_cases *cases, bf_text *text,
                          bf_diagnostic *diagnostic);
/* A table of the cases, where there are several. */
void bf_report_cases_text(const bf_loaded_cases *cases, bf_text *text);
void bf_report_ladder_text(const bf_ladder *ladder, bool color, bf_text *text);

#endif
