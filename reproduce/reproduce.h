/* reproduce: published tables and figures, computed here and compared with what was published.
 *
 * A file reproduce/NAME.c defines `const bf_reproduction bf_reproduce_NAME[]`, ending with a NULL
 * name. The build finds the files; there is no other list. A reproduction that needs more files
 * keeps them in a folder reproduce/NAME/. Kernels are reproduce/NAME.cu with the NAME.ptx made
 * from it by kernels/make.sh; bf_reproduce_ptx gives their text.
 *
 * What a reproduction adds to its run is copied. Allocation failures are kept in the run and
 * reported by the next bf_reproduce_step or at the end, so that most calls need no checks. */
#ifndef BF_REPRODUCE_H
#define BF_REPRODUCE_H

#include "base/base.h"
#include "report/chart.h"

typedef struct bf_reproduce_run bf_reproduce_run;

typedef struct bf_reproduction {
  const char *name;     /* as on the command line: genindex */
  const char *title;    /* a line: the GenIndex microbenchmark */
  const char *document; /* what is reproduced: "braak16, Figs. 1-2" */
  const char *summary;  /* a sentence or two: what is run and how */
  int (*run)(bf_reproduce_run *run, bf_diagnostic *diagnostic);
} bf_reproduction;

/* Reproduction number index, by file; NULL behind the last one. */
const bf_reproduction *bf_reproduce_get(unsigned index);
/* The reproduction called name, or NULL. */
const bf_reproduction *bf_reproduce_find(const char *name);
/* The text of reproduce/NAME.ptx or reproduce/FOLDER/NAME.ptx, or NULL. */
const char *bf_reproduce_ptx(const char *name);
/* The text of NAME.csv, for the files of tests/data/h200 and reproduce that meson.build names; or
 * NULL. */
const char *bf_reproduce_data(const char *name);
/* The text of examples/rgpu/NAME.df, or NULL. */
const char *bf_reproduce_graph(const char *name);

/* ---- What a reproduction asks of its run ---- */

/* Quick runs are for tests: smaller inputs and fewer points, the same code. Claims whose numbers
 * need the full size are left out. */
bool bf_reproduce_is_quick(const bf_reproduce_run *run);
/* Runs end within five minutes on two cores; where that needs something to be left out, full runs
 * have it. */
bool bf_reproduce_is_full(const bf_reproduce_run *run);
/* Threads of the host; never 0. */
unsigned bf_reproduce_workers(const bf_reproduce_run *run);
/* Memory that lives as long as the run. */
bf_arena *bf_reproduce_arena(bf_reproduce_run *run);
/* Between two parts of the work: says that done of total parts are finished and what comes next.
 * Its errors end the reproduction: the user wants to stop, or memory is exhausted. */
int bf_reproduce_step(bf_reproduce_run *run, unsigned done, unsigned total, const char *next,
                      bf_diagnostic *diagnostic);

/* Does work(context, index) for index 0 to count-1 on all workers, with progress. The first error
 * ends it. work must not touch the run. */
int bf_reproduce_parallel(bf_reproduce_run *run, unsigned count, const char *what,
                          int (*work)(void *context, unsigned index, bf_diagnostic *diagnostic),
                          void *context, bf_diagnostic *diagnostic);

/* ---- Tables: NAME.csv, and a table of the report ---- */

typedef struct bf_reproduce_table bf_reproduce_table;

/* A table; columns are separated by '|', as in "stride|ways|cycles". Never NULL. */
bf_reproduce_table *bf_reproduce_table_add(bf_reproduce_run *run, const char *name,
                                           const char *title, const char *columns);
/* The next cell, by rows. */
void bf_reproduce_cell(bf_reproduce_table *table, const char *format, ...) BF_PRINTF(2, 3);
/* Long tables are only written as CSV: the report links to them. */
void bf_reproduce_table_csv_only(bf_reproduce_table *table);

/* ---- Charts: NAME.svg ---- */

/* Draws chart now; nothing of it is kept. */
int bf_reproduce_chart(bf_reproduce_run *run, const char *name, const bf_chart *chart,
                       bf_diagnostic *diagnostic);

/* ---- Claims ---- */

/* How published and found are compared. The verdict is computed, never given: tolerances are the
 * same everywhere. */
typedef enum bf_reproduce_rule {
  BF_CLAIM_VALUE,    /* ours is within 15% of the published value */
  BF_CLAIM_GAIN,     /* speed-ups: ours is within 15% of what is gained, published - 1 */
  BF_CLAIM_AT_MOST,  /* ours is at most the published bound */
  BF_CLAIM_AT_LEAST, /* ours is at least the published bound */
  BF_CLAIM_ALL,   /* ours counts those of `published` cases for which the statement is true: all */
  BF_CLAIM_ORDER, /* ours_list is in the order of published_list */
  BF_CLAIM_SAME,  /* ours_text is published_text */
  BF_CLAIM_WORDS, /* words: is_so, computed from what was found, says whether they are true */
  BF_CLAIM_NONE,  /* nothing was found to compare: differs, and why says what it would take */
} bf_reproduce_rule;

typedef enum bf_reproduce_verdict {
  BF_HOLDS,   /* what was published was found; the only one that counts as a success */
  BF_DIFFERS, /* it was not; why says the reason, measured where it can be */
  BF_FITTED,  /* found, but by a choice of ours that was made with the published number in sight */
  BF_DERIVED, /* found, but it follows from published inputs or from our own definition */
} bf_reproduce_verdict;

/* A statement of the document beside what we find. Where it is not true the verdict is "differs",
 * whatever else is said; `why` is needed then. Where it is, `fitted` and `derived` change "holds"
 * to their verdict. With count, the lists are compared number by number, and all must hold. */
typedef struct bf_reproduce_claim {
  const char *name;     /* "best replication, 64 bins" */
  const char *document; /* whose statement: "braak15"; NULL: the first of the reproduction's */
  bf_reproduce_rule rule;
  double published, ours;
  const double *published_list, *ours_list; /* count numbers each, instead of the two above */
  unsigned count;
  const char *published_text, *ours_text; /* shown instead of the numbers; or NULL */
  const char *unit;    /* printed behind the numbers, as "%" or " cycles"; or NULL */
  bool is_so;          /* BF_CLAIM_WORDS */
  bool must_hold;      /* the command fails where it differs */
  const char *why;     /* where it differs: a sentence; shown only then */
  const char *fitted;  /* which choice was made with the published number in sight; or NULL */
  const char *derived; /* what it follows from, so that it cannot fail; or NULL */
  bf_reproduce_verdict verdict; /* filled in by bf_reproduce_claim_add */
} bf_reproduce_claim;

/* What the one rule says about a claim. */
bf_reproduce_verdict bf_reproduce_judge(const bf_reproduce_claim *claim);
void bf_reproduce_claim_add(bf_reproduce_run *run, const bf_reproduce_claim *claim);
/* The same with ours_text as a format. */
void bf_reproduce_claim_addf(bf_reproduce_run *run, const bf_reproduce_claim *claim,
                             const char *ours, ...) BF_PRINTF(3, 4);
/* A claim in words; what was found follows as a format. */
void bf_reproduce_fact(bf_reproduce_run *run, const char *name, const char *published, bool is_so,
                       bool must_hold, const char *why, const char *ours, ...) BF_PRINTF(7, 8);
/* Something was not computed: what, and what it needs. Shown in the terminal, too. */
void bf_reproduce_missing(bf_reproduce_run *run, const char *format, ...) BF_PRINTF(2, 3);
/* A paragraph of the report. */
void bf_reproduce_note(bf_reproduce_run *run, const char *format, ...) BF_PRINTF(2, 3);

#endif
