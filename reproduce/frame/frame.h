/* Inside reproduce: what a run has collected, and the files that it writes. */
#ifndef BF_REPRODUCE_FRAME_H
#define BF_REPRODUCE_FRAME_H

#include "reproduce/reproduce.h"

/* reproduce/NAME.c, as the build finds it (tools/embed.c). */
typedef struct bf_reproduce_file {
  const char *name;
  const bf_reproduction *reproductions; /* ends with a NULL name */
} bf_reproduce_file;
extern const bf_reproduce_file bf_reproduce_files[]; /* ends with a NULL name */

/* NAME.ptx and its text; ends with a NULL name. */
typedef struct bf_reproduce_kernel {
  const char *name, *text;
} bf_reproduce_kernel;
extern const bf_reproduce_kernel bf_reproduce_kernels[];
extern const bf_reproduce_kernel bf_reproduce_measured[]; /* measurements, as CSV */
extern const bf_reproduce_kernel bf_reproduce_graphs[];   /* of R-GPU */

typedef struct frame_claim {
  struct frame_claim *next;
  bf_reproduce_claim claim;
} frame_claim;

typedef struct frame_note {
  struct frame_note *next;
  const char *text;
} frame_note;

typedef struct frame_chart {
  struct frame_chart *next;
  const char *name, *title;
} frame_chart;

typedef struct frame_cell {
  struct frame_cell *next;
  const char *text;
} frame_cell;

struct bf_reproduce_table {
  bf_reproduce_table *next;
  bf_reproduce_run *run;
  const char *name, *title;
  const char **column;
  size_t columns;
  frame_cell *cell, **last_cell;
  bool is_csv_only;
};

typedef struct bf_reproduce_settings {
  const char *folder; /* for the files of the run; made where it is missing */
  unsigned workers;   /* 0: one per core */
  bool quick, full;
  /* Called between parts of the work; false ends it. NULL: none. */
  bool (*progress)(void *context, unsigned done, unsigned total, const char *next);
  void *context;
} bf_reproduce_settings;

struct bf_reproduce_run {
  bf_arena arena;
  const bf_reproduction *reproduction;
  bf_reproduce_settings settings;
  double seconds;
  bool failed; /* an allocation failed */
  frame_claim *claim, **last_claim;
  frame_note *note, **last_note;
  frame_note *missing, **last_missing; /* what was not computed */
  frame_chart *chart, **last_chart;
  bf_reproduce_table *table, **last_table;
  bf_reproduce_table spare; /* takes the cells of a table that could not be made */
};

/* Runs a reproduction and writes its files. *run is freed by bf_reproduce_free, after errors too.
 */
int bf_reproduce_execute(const bf_reproduction *reproduction, const bf_reproduce_settings *settings,
                         bf_reproduce_run **run, bf_diagnostic *diagnostic);
void bf_reproduce_free(bf_reproduce_run *run);

/* "holds", "differs", "fitted" or "derived". */
const char *bf_reproduce_verdict_name(bf_reproduce_verdict verdict);
/* What the tolerance is a share of: the published gain, or the published value. */
double bf_reproduce_scale(bf_reproduce_rule rule, double published);
/* The reason of a verdict; NULL where none is needed, or where it is missing. */
const char *bf_reproduce_reason(const bf_reproduce_claim *claim);

/* Claims that must hold and differ. */
unsigned bf_reproduce_failures(const bf_reproduce_run *run);
/* Published and our value of a claim and how far they are apart, as text; "-": not a number. */
void bf_reproduce_claim_text(const bf_reproduce_claim *claim, bf_text *published, bf_text *ours,
                             bf_text *difference);

/* ---- Summary ---- */

enum { BF_REPRODUCE_VERDICTS = BF_DERIVED + 1, BF_REPRODUCE_DOCUMENTS = 16 };

/* In the place of a document: what is compared with own measurements. */
#define BF_REPRODUCE_OWN "H200"

/* How many claims of a document got each verdict. */
typedef struct bf_reproduce_tally {
  char name[24];
  unsigned before[BF_REPRODUCE_VERDICTS], now[BF_REPRODUCE_VERDICTS];
} bf_reproduce_tally;

typedef struct bf_reproduce_summary {
  unsigned count;
  bf_reproduce_tally at[BF_REPRODUCE_DOCUMENTS];
  bool has_before;
} bf_reproduce_summary;

/* No claims of any document. */
void bf_reproduce_summary_begin(bf_reproduce_summary *summary);
/* Adds the claims of a run. */
void bf_reproduce_summary_add(bf_reproduce_summary *summary, const bf_reproduce_run *run);
/* What full runs gave that are recorded in reproduce/verdicts.csv, and before missing statements
 * and better kernels were added in reproduce/verdicts_before.csv. */
void bf_reproduce_summary_recorded(bf_reproduce_summary *summary);
void bf_reproduce_summary_text(const bf_reproduce_summary *summary, bf_text *text);
/* The members of a JSON object that the caller has begun. */
void bf_reproduce_summary_json(const bf_reproduce_summary *summary, bf_json *json);

/* ---- Files ---- */

/* The table as CSV. */
void bf_reproduce_csv(const bf_reproduce_table *table, bf_text *text);
/* The claims as CSV: document, verdict, reproduction, claim, published, ours, difference, reason.
 */
void bf_reproduce_claims_csv(const bf_reproduce_run *run, bf_text *text);
/* Why claims do not simply hold, a line for each reason that begins with `before`. */
void bf_reproduce_reasons(const bf_reproduce_run *run, const char *before, bf_text *text);
/* The report of a run as Markdown. */
void bf_reproduce_markdown(const bf_reproduce_run *run, bf_text *text);
/* The members of a JSON object that the caller has begun. */
void bf_reproduce_json(const bf_reproduce_run *run, bf_json *json);

#endif
