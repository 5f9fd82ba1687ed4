/* Tables 3.3 to 3.7 and 4.1 to 4.3 of braak15: what was published, and how ours is shown
 * beside it. */
#ifndef BF_VOTING_TABLES_H
#define BF_VOTING_TABLES_H

#include "reproduce/reproduce.h"
#include "reproduce/voting/device.h"

enum { BF_VOTING_GPUS = 4 };

typedef struct bf_voting_gpu {
  const char *name, *title;
  unsigned sms, most_threads; /* multiprocessors, and threads of a block (Table 2.2) */
  bool has_atomics;           /* in shared memory */
} bf_voting_gpu;
extern const bf_voting_gpu bf_voting_gpus[BF_VOTING_GPUS];

/* The best configuration of a way on a GPU. */
typedef struct bf_voting_best {
  bf_voting_choice choice;
  double milliseconds; /* 0: the GPU cannot do it */
} bf_voting_best;

/* What was published of a way. */
typedef struct bf_voting_table {
  const char *name;  /* of the table and its file: table_3_3 */
  const char *title; /* "Table 3.3: atomics in global memory" */
  bool has_copies;   /* layout and copies are columns */
  bool has_blocks;   /* blocks of a multiprocessor are */
  bf_voting_best best[BF_VOTING_GPUS];
} bf_voting_table;

enum { BF_VOTING_HISTOGRAM_TABLES = 4, BF_VOTING_HOUGH_TABLES = 2 };
extern const bf_voting_table bf_voting_histogram_tables[BF_VOTING_HISTOGRAM_TABLES];
extern const bf_voting_table bf_voting_hough_tables[BF_VOTING_HOUGH_TABLES];

/* Ours: the best configuration, and the time of the published one where we could run it. */
typedef struct bf_voting_ours {
  bf_voting_best best;
  double at_published; /* milliseconds; 0: not run */
} bf_voting_ours;

/* As documents call layouts. */
extern const char *const bf_voting_layout_titles[BF_VOTING_LAYOUTS];

/* ---- Configurations that were tried, with times of the whole picture as estimated ---- */

enum { BF_VOTING_MOST_TRIED = 160 };

/* Of one way on one GPU in one layout. */
typedef struct bf_voting_sweep {
  bf_voting_best tried[BF_VOTING_MOST_TRIED];
  unsigned count;
} bf_voting_sweep;

/* Adds a configuration to try; those that do not fit are left out. */
void bf_voting_sweep_add(bf_voting_sweep *sweep, const bf_voting_choice *choice);
/* The fastest of some sweeps with so many copies (0: any), or NULL where nothing was tried. */
const bf_voting_best *bf_voting_fastest(const bf_voting_sweep *sweep, unsigned sweeps,
                                        unsigned copies);
/* Rows of a table with columns "GPU|way|layout|copies|threads|blocks per SM|ms". */
void bf_voting_show_sweep(bf_reproduce_table *table, unsigned gpu, const char *way,
                          const bf_voting_sweep *sweep);

/* ---- Tables and claims of all GPUs that can do a way ---- */

/* Adds a table with what was published and ours. */
void bf_voting_show(bf_reproduce_run *run, const bf_voting_table *table,
                    const bf_voting_ours ours[BF_VOTING_GPUS]);
/* The overview of several ways: Tables 3.7 and 4.3; ours are those of all GPUs, way by way. */
void bf_voting_show_ways(bf_reproduce_run *run, const char *name, const char *title,
                         const bf_voting_table *tables, unsigned ways, const char *const *way,
                         const bf_voting_ours *ours);
/* That best times are those published, up to a factor. */
void bf_voting_claim_times(bf_reproduce_run *run, const bf_voting_table *table,
                           const bf_voting_ours ours[BF_VOTING_GPUS], const char *why);
/* That the GPUs, from slowest to fastest, are in the order published. */
void bf_voting_claim_order(bf_reproduce_run *run, const bf_voting_table *table,
                           const bf_voting_ours ours[BF_VOTING_GPUS], const char *why);
/* That all the best configurations have the layout published. */
void bf_voting_claim_layouts(bf_reproduce_run *run, const bf_voting_table *table,
                             const bf_voting_ours ours[BF_VOTING_GPUS], const char *why);
/* That they have as many copies. */
void bf_voting_claim_copies(bf_reproduce_run *run, const bf_voting_table *table,
                            const bf_voting_ours ours[BF_VOTING_GPUS], const char *why);

/* ---- The reproductions ---- */

int bf_voting_histograms(bf_reproduce_run *run, bf_diagnostic *diagnostic);
int bf_voting_houghs(bf_reproduce_run *run, bf_diagnostic *diagnostic);

#endif
