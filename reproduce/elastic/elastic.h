/* The GPU of gou13 with its pipelines, and what claims that differ owe to memory and queues:
 * benchmarks once more with one thing changed. */
#ifndef BF_ELASTIC_H
#define BF_ELASTIC_H

#include "reproduce/reproduce.h"
#include "sim/sim.h"

typedef enum elastic_way {
  BASELINE,
  SPLIT,
  ELASTIC,
  AWARE,   /* elastic, with conflict-aware scheduling */
  THROUGH, /* the same, but memory instructions issue when nothing else is ready */
  ALONE,   /* conflict-aware scheduling of the baseline's pipeline */
  PADDED_BASELINE,
  PADDED_ELASTIC,
  PADDED_AWARE,
  WAYS
} elastic_way;

/* "elastic, conflict-aware". */
const char *elastic_way_title(elastic_way way);

/* Simulates a benchmark in a way; what it computes must be right. changes are settings of the GPU,
 * NAME=NUMBER, up to a NULL; or NULL. */
int elastic_simulate(const char *name, unsigned scale, elastic_way way, const char *const *changes,
                     bf_sim_result *result, bf_diagnostic *diagnostic);

/* Stalls in the three classes of Fig. 6, and all together. */
typedef struct elastic_stalls {
  double scheduling, conflict, other, all;
} elastic_stalls;
elastic_stalls elastic_stalls_of(const bf_sim_result *result);

/* Threads that access shared memory, of all that execute an instruction. */
double elastic_intensity(const bf_sim_result *result);
/* Cycles that a part of a warp takes the memory, on average. */
double elastic_degree(const bf_sim_result *result);
/* Speed-up if nothing but bank conflicts cost time, and they did not either. */
double elastic_theoretical(const bf_sim_result *result);

/* ---- What is changed ---- */

/* Names of the benchmarks that are looked at, and their scale. */
typedef struct elastic_subject {
  const char *title, *name, *padded;
  unsigned scale;
} elastic_subject;

enum { ELASTIC_CONDITIONS = 4, ELASTIC_SUBJECTS = 4 };

/* Transpose, IDCT and both short transforms, by condition, the first being as usual; and AES with
 * fewer entries before the memory. */
typedef struct elastic_causes {
  bf_sim_result at[ELASTIC_CONDITIONS][ELASTIC_SUBJECTS][WAYS];
  double
      aes_left[4]; /* conflict stalls of AES with 0 to 3 entries, those of the baseline being 1 */
} elastic_causes;

/* Runs what is missing in `found`, whose first condition is there. subjects are in the order of
 * Transpose, IDCT, DCT_short and IDCT_short; aes is one of the two. */
int elastic_causes_find(bf_reproduce_run *run, const elastic_subject subjects[ELASTIC_SUBJECTS],
                        const elastic_subject *aes, elastic_causes *found,
                        bf_diagnostic *diagnostic);

/* Sentences about what the conditions change; free the text. */
void elastic_why_aes(const elastic_causes *found, bf_text *text);
void elastic_why_fails(const elastic_causes *found, unsigned subject, bf_text *text);
void elastic_why_exceeding(const elastic_causes *found, bf_text *text);
void elastic_why_through(const elastic_causes *found, bf_text *text);
void elastic_why_plain(const elastic_causes *found, bf_text *text);
/* The table of all that was found. */
void elastic_causes_show(bf_reproduce_run *run, const elastic_subject subjects[ELASTIC_SUBJECTS],
                         const elastic_causes *found);

#endif
