/* What differs is said to be due to DRAM, or to a queue: here each of them is changed, and what
 * becomes of the statement is written into its reason. */
#include "reproduce/elastic/elastic.h"

enum { TRANSPOSE, IDCT, DCT_SHORT, IDCT_SHORT, AES_QUEUES = 4 };

/* Conditions; the first is as usual. */
static const struct {
  const char *title;
  const char *change[5]; /* ends with NULL */
} conditions[ELASTIC_CONDITIONS] = {
    {"as usual", {NULL}},
    {"DRAM without limits",
     {"dram_sector_cycles=0.05", "dram_miss_cycles=16", "dram_bank_cycles=1", NULL}},
    {"DRAM of half the bandwidth", {"dram_sector_cycles=6.5", NULL}},
    {"DRAM that serves in order", {"dram_queue=1", NULL}},
};

typedef struct causes_work {
  const elastic_subject *subject, *aes;
  elastic_causes *found;
  bf_sim_result aes_at[AES_QUEUES], aes_base;
} causes_work;

/* ---- Running ---- */

/* The ways of each condition: the baseline, and what is compared with it. */
static const elastic_way tried[] = {BASELINE, AWARE, THROUGH, PADDED_BASELINE};
enum { TRIED = sizeof tried / sizeof *tried, RUNS = (ELASTIC_CONDITIONS - 1) * ELASTIC_SUBJECTS };

/* Piece index is one way of one benchmark under one condition, or AES with one size of its queue.
 */
static int run_piece(void *context, unsigned index, bf_diagnostic *diagnostic) {
  causes_work *work = context;
  if (index >= RUNS * TRIED) {
    unsigned entries = index - RUNS * TRIED;
    char change[40];
    const char *changes[] = {change, NULL};
    snprintf(change, sizeof change, "premem_queue=%u", entries);
    if (entries == AES_QUEUES)
      return elastic_simulate(work->aes->name, work->aes->scale, BASELINE, NULL, &work->aes_base,
                              diagnostic);
    return elastic_simulate(work->aes->name, work->aes->scale, AWARE, changes,
                            &work->aes_at[entries], diagnostic);
  }
  unsigned condition = 1 + index / TRIED / ELASTIC_SUBJECTS;
  unsigned subject = index / TRIED % ELASTIC_SUBJECTS;
  elastic_way way = tried[index % TRIED];
  const elastic_subject *own = &work->subject[subject];
  return elastic_simulate(way == PADDED_BASELINE ? own->padded : own->name, own->scale, way,
                          conditions[condition].change, &work->found->at[condition][subject][way],
                          diagnostic);
}

int elastic_causes_find(bf_reproduce_run *run, const elastic_subject subjects[ELASTIC_SUBJECTS],
                        const elastic_subject *aes, elastic_causes *found,
                        bf_diagnostic *diagnostic) {
  causes_work work = {.subject = subjects, .aes = aes, .found = found};
  BF_TRY(bf_reproduce_parallel(run, RUNS * TRIED + AES_QUEUES + 1, "causes of differences",
                               run_piece, &work, diagnostic));
  for (unsigned i = 0; i < AES_QUEUES; i++)
    found->aes_left[i] =
        elastic_stalls_of(&work.aes_at[i]).conflict / elastic_stalls_of(&work.aes_base).conflict;
  return BF_OK;
}

/* ---- What follows ---- */

static double cycles(const elastic_causes *found, unsigned condition, unsigned subject,
                     elastic_way way) {
  return (double)found->at[condition][subject][way].cycles;
}

/* The speed-up of the pipeline, that which is the theoretical one being 1. */
static double over_bound(const elastic_causes *found, unsigned condition, unsigned subject) {
  return cycles(found, condition, subject, BASELINE) / cycles(found, condition, subject, AWARE) /
         elastic_theoretical(&found->at[condition][subject][BASELINE]);
}

/* Scheduling fails with the pipeline, those of the baseline being 1. */
static double fails(const elastic_causes *found, unsigned condition, unsigned subject) {
  return elastic_stalls_of(&found->at[condition][subject][AWARE]).scheduling /
         elastic_stalls_of(&found->at[condition][subject][BASELINE]).scheduling;
}

/* What letting memory instructions through gains, in percent. */
static double gain_through(const elastic_causes *found, unsigned condition, unsigned subject) {
  return 100 *
         (cycles(found, condition, subject, AWARE) / cycles(found, condition, subject, THROUGH) -
          1);
}

/* Instructions per cycle of a pipeline. */
static double ipc(const bf_sim_result *result) {
  return (double)result->issued / (double)result->cycles;
}

/* Un-optimised code on the elastic pipeline, padded code on the baseline being 1. */
static double plain(const elastic_causes *found, unsigned condition, unsigned subject) {
  return ipc(&found->at[condition][subject][AWARE]) /
         ipc(&found->at[condition][subject][PADDED_BASELINE]);
}

/* "with DRAM without limits 1.20, with ...", of what a function says under each condition. */
static void list_conditions(const elastic_causes *found, unsigned subject,
                            double (*value)(const elastic_causes *, unsigned, unsigned),
                            const char *unit, bf_text *text) {
  for (unsigned i = 1; i < ELASTIC_CONDITIONS; i++)
    bf_text_addf(text, "%swith %s %.2f%s", i == 1 ? "" : ", ", conditions[i].title,
                 value(found, i, subject), unit);
}

/* ---- Reasons ---- */

void elastic_why_aes(const elastic_causes *found, bf_text *text) {
  bf_text_addf(
      text,
      "parts of warps that come too early wait in the PREMEM queue: with 0, 1 and 2 of its "
      "3 entries %.0f%%, %.0f%% and %.0f%% are left.",
      100 * found->aes_left[0], 100 * found->aes_left[1], 100 * found->aes_left[2]);
}

void elastic_why_fails(const elastic_causes *found, unsigned subject, bf_text *text) {
  static const char *const titles[ELASTIC_SUBJECTS] = {"Transpose", "IDCT", "DCT_short",
                                                       "IDCT_short"};
  elastic_stalls base = elastic_stalls_of(&found->at[0][subject][BASELINE]);
  bf_text_addf(text,
               "the document explains it by how its pipeline and DRAM interact; of %s scheduling "
               "fails are %.0f%% of the stalls of the baseline here, and DRAM decides: ",
               titles[subject], 100 * base.scheduling / base.all);
  list_conditions(found, subject, fails, " times", text);
  bf_text_puts(text, ".");
}

void elastic_why_exceeding(const elastic_causes *found, bf_text *text) {
  static const unsigned named[] = {TRANSPOSE, DCT_SHORT, IDCT_SHORT};
  static const char *const titles[] = {"Transpose", "DCT_short", "IDCT_short"};
  bf_text_puts(text, "the document explains it by how warps and DRAM interact. ");
  for (unsigned i = 0; i < 3; i++) {
    bf_text_addf(text, "%s%s is, ", i ? "; " : "", titles[i]);
    list_conditions(found, named[i], over_bound, " of it", text);
  }
  bf_text_puts(text, ".");
}

void elastic_why_through(const elastic_causes *found, bf_text *text) {
  bf_text_puts(text, "the document explains it by another order of accesses to DRAM. It gains, ");
  list_conditions(found, IDCT, gain_through, "%", text);
  bf_text_puts(text, ".");
}

void elastic_why_plain(const elastic_causes *found, bf_text *text) {
  bf_text_puts(text, "the document explains the loss by an order of warps that DRAM serves badly. "
                     "It is, ");
  list_conditions(found, IDCT, plain, "", text);
  bf_text_puts(text, ".");
}

/* ---- Table ---- */

void elastic_causes_show(bf_reproduce_run *run, const elastic_subject subjects[ELASTIC_SUBJECTS],
                         const elastic_causes *found) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "causes", "What changes with DRAM",
      "condition|benchmark|speed-up over the theoretical one|scheduling fails, baseline = 1|"
      "gained by letting through, %|un-optimised, padded = 1");
  for (unsigned i = 0; i < ELASTIC_CONDITIONS; i++)
    for (unsigned k = 0; k < ELASTIC_SUBJECTS; k++) {
      bf_reproduce_cell(table, "%s", conditions[i].title);
      bf_reproduce_cell(table, "%s", subjects[k].title);
      bf_reproduce_cell(table, "%.3f", over_bound(found, i, k));
      bf_reproduce_cell(table, "%.2f", fails(found, i, k));
      bf_reproduce_cell(table, "%.1f", gain_through(found, i, k));
      bf_reproduce_cell(table, "%.3f", plain(found, i, k));
    }
}
