/* Inside reproduce: benchmarks whose accesses are hashed in software, and what is reported of them
 * (report.c). */
#ifndef BF_SOFTWARE_STUDY_H
#define BF_SOFTWARE_STUDY_H

#include "kernels/measure.h"
#include "reproduce/reproduce.h"
#include "sim/sim.h"

enum { SUBJECTS = 22, GPUS = 2, INPUTS = 3, MOST_SCALE = 16 };
/* FREE: as it is, with the same hash in hardware, where it costs nothing. */
typedef enum software_way { PLAIN, PADDED, HASHED, FREE, WAYS } software_way;
enum { MEASURED = HASHED + 1 }; /* ways that the H200 ran */

/* Conflicts of loads (reads of atomics included) and stores. */
typedef struct software_conflicts {
  double load, store;
} software_conflicts;

typedef struct software_subject {
  const bf_corpus_benchmark *benchmark, *padded; /* padded: or NULL */
  char hash[120];
  char *rewritten; /* PTX, or NULL: there is no hash, or it cannot be rewritten */
  unsigned scale, inputs;
  bool has[WAYS];
  double cycles[GPUS][WAYS][INPUTS];
  software_conflicts conflicts[GPUS][WAYS][INPUTS]; /* of FREE none */
  double wide_conflicts; /* on the K20 with the best hash for its 8-byte banks */
  bool is_measured;      /* on the H200: */
  double ns[WAYS];       /* 0: there is no padded one */
  double wavefronts[WAYS][2];
  double bytes[WAYS];
} software_subject;

typedef struct software_study {
  bf_sim_gpu *gpu[GPUS];
  uint64_t instructions;
  unsigned subjects;
  software_subject subject[SUBJECTS];
} software_study;

/* Figs. 10 and 11: claims, tables and charts. */
int software_report(bf_reproduce_run *run, const software_study *study, bf_diagnostic *diagnostic);

#endif
