/* sim/sweep: one simulation for every combination of values, and the file that collects their
 * results. What a simulation is, the caller says: nothing here knows GPUs.
 *
 * sweep.c       reads the text of a sweep: axes and their values
 * sweep_row.c   a result as a line of CSV or JSON
 * sweep_file.c  the file: which points are finished, which are taken, by whom
 * sweep_run.c   runs points on all cores until none is left
 *
 * Any number of processes, on any number of hosts that share a folder, may work on one file at the
 * same time: a point is taken by a lock on the file, which the kernel gives back when its holder
 * ends in whatever way. docs/sweeps.md describes the file. */
#ifndef BF_SIM_SWEEP_H
#define BF_SIM_SWEEP_H

#include "base/base.h"

/* ---- Axes and points (sweep.c) ---- */

enum { BF_SIM_SWEEP_AXES = 16, BF_SIM_SWEEP_VALUES = 4096, BF_SIM_SWEEP_POINTS = 1000000 };

typedef struct bf_sim_axis {
  const char *name;
  const char **value;
  unsigned values, capacity;
} bf_sim_axis;

/* Points are numbered from 0; the last axis changes first. */
typedef struct bf_sim_sweep {
  bf_arena arena;
  const char *text; /* as it was given, on one line */
  bf_sim_axis axis[BF_SIM_SWEEP_AXES];
  unsigned axes;
  uint64_t points;
} bf_sim_sweep;

/* Says whether there is an axis of that name (value NULL), and whether it can have that value. */
typedef int bf_sim_axis_check(void *context, const char *name, const char *value,
                              bf_diagnostic *diagnostic);

/* Reads "name=value|value|...;name=...". A value FIRST..LAST stands for whole numbers, one apart,
 * or with +STEP or *FACTOR behind it that far apart: 1..32*2 is 1|2|4|8|16|32. Diagnostics have the
 * line and column in the text. check may be NULL. */
int bf_sim_sweep_parse(const char *text, bf_sim_axis_check *check, void *context,
                       bf_sim_sweep **sweep, bf_diagnostic *diagnostic);
/* The value of an axis at a point. */
const char *bf_sim_sweep_value(const bf_sim_sweep *sweep, uint64_t point, unsigned axis);
/* Whether an axis of that name has several values. */
bool bf_sim_sweep_varies(const bf_sim_sweep *sweep, const char *name);
void bf_sim_sweep_free(bf_sim_sweep *sweep);

/* ---- What a result file holds ---- */

typedef struct bf_sim_sweep_form {
  const bf_sim_sweep *sweep;
  /* All else that results depend on; files with another basis are refused. */
  const char *basis;
  /* Names of results, ending with NULL. Columns before them are "point" and the axes; the one after
   * them is "error". */
  const char *const *columns;
  bool json; /* JSON, one object per line; else CSV */
} bf_sim_sweep_form;

/* ---- Rows (sweep_row.c) ---- */

/* The line of a point while it is written: results are added in the order of the columns. */
typedef struct bf_sim_row {
  const bf_sim_sweep_form *form;
  bf_text text;
  bf_json json;
  unsigned next; /* column */
} bf_sim_row;

/* The lines before the first result, and the part of them that tells sweeps apart. */
void bf_sim_row_header(const bf_sim_sweep_form *form, bf_text *text, size_t *signature_bytes);
/* Begins with the point and the values of its axes. */
void bf_sim_row_begin(const bf_sim_sweep_form *form, uint64_t point, bf_sim_row *row);
void bf_sim_row_number(bf_sim_row *row, uint64_t value);
void bf_sim_row_real(bf_sim_row *row, double value);
void bf_sim_row_text(bf_sim_row *row, const char *value);
/* Ends with the error, NULL: none. Results that were not added are empty. */
void bf_sim_row_end(bf_sim_row *row, const char *error);
/* The point whose whole line this is (size bytes, without the line break); *has_error is set then.
 * False for anything else. */
bool bf_sim_row_read(const bf_sim_sweep_form *form, const char *line, size_t size, uint64_t *point,
                     bool *has_error);

/* ---- The result file (sweep_file.c); functions may be called by several threads ---- */

typedef struct bf_sim_sweep_file bf_sim_sweep_file;

/* Opens or creates the file; path and form are borrowed. What was half written is dropped. A file
 * that is not of this sweep is refused. */
int bf_sim_sweep_file_open(const char *path, const bf_sim_sweep_form *form,
                           bf_sim_sweep_file **file, bf_diagnostic *diagnostic);
void bf_sim_sweep_file_close(bf_sim_sweep_file *file);
/* The order in which points are taken, all of them; borrowed. Without it, that of their numbers. */
void bf_sim_sweep_file_order(bf_sim_sweep_file *file, const uint64_t *order);

typedef enum bf_sim_claim {
  BF_SIM_CLAIM_TAKEN, /* the point is the caller's to run */
  BF_SIM_CLAIM_WAIT,  /* other processes have all that are left; should one die, ask again */
  BF_SIM_CLAIM_NONE   /* all are finished, or taken through this very file */
} bf_sim_claim;
/* Takes a point that is neither finished nor taken. */
int bf_sim_sweep_file_claim(bf_sim_sweep_file *file, bf_sim_claim *claim, uint64_t *point,
                            bf_diagnostic *diagnostic);
/* Adds the row of a point that was taken, on disk when this returns, and gives the point back. */
int bf_sim_sweep_file_add(bf_sim_sweep_file *file, uint64_t point, const bf_sim_row *row,
                          bf_diagnostic *diagnostic);

typedef struct bf_sim_sweep_count {
  uint64_t points, finished;
  uint64_t failed; /* of the finished: with an error */
} bf_sim_sweep_count;
/* Points finished by now, by anybody. */
int bf_sim_sweep_file_count(bf_sim_sweep_file *file, bf_sim_sweep_count *count,
                            bf_diagnostic *diagnostic);
/* Once all points are finished: puts them in order, by a temporary file and a rename. */
int bf_sim_sweep_file_sort(bf_sim_sweep_file *file, bf_diagnostic *diagnostic);

/* ---- Running (sweep_run.c) ---- */

typedef struct bf_sim_sweep_run {
  const char *path;
  bf_sim_sweep_form form;
  unsigned workers; /* threads; 0: one per core */
  /* Runs a point and adds its results to the row. BF_BAD_INPUT and BF_UNSUPPORTED are results, too:
   * the message is kept in the file. Other errors end the sweep. Called by several threads. */
  int (*point)(void *context, uint64_t point, bf_sim_row *row, bf_diagnostic *diagnostic);
  /* How long a point takes, in any unit: the longest are run first, so that none of them is left
   * alone at the end. Called once for each before the first; NULL: all alike. */
  double (*work)(void *context, uint64_t point);
  /* Called now and then by one thread, with points finished by anybody, and those finished before
   * this run began; or NULL. */
  void (*progress)(void *context, const bf_sim_sweep_count *count, uint64_t before);
  void *context;
} bf_sim_sweep_run;

typedef struct bf_sim_sweep_outcome {
  bf_sim_sweep_count count;
  uint64_t before; /* finished before this run began */
  uint64_t own;    /* finished by this process */
} bf_sim_sweep_outcome;

/* Runs all points that are not finished, together with other processes that do the same; returns
 * when all are, and the file is in order. */
int bf_sim_sweep_all(const bf_sim_sweep_run *run, bf_sim_sweep_outcome *outcome,
                     bf_diagnostic *diagnostic);

#endif
