/* The published numbers, and tables and claims that are alike for all ways. */
#include "reproduce/voting/tables.h"

#include <string.h>

const bf_voting_gpu bf_voting_gpus[BF_VOTING_GPUS] = {{"8800gt", "8800 GT", 14, 512, false},
                                                      {"gtx470", "GTX 470", 14, 1024, true},
                                                      {"titan", "GTX Titan", 14, 1024, true},
                                                      {"gtx750ti", "GTX 750 Ti", 5, 1024, true}};

const char *const bf_voting_layout_titles[BF_VOTING_LAYOUTS] = {"bin-major", "copy-major",
                                                                "copy-major, padded"};
static const char *const short_layouts[BF_VOTING_LAYOUTS] = {"bin", "copy", "padded"};

#define BIN BF_VOTING_BIN_MAJOR
#define COPY BF_VOTING_COPY_MAJOR
#define PADDED BF_VOTING_PADDED

/* Times are those of Tables 3.7 and 4.3, which have a digit more than those before them. */
const bf_voting_table bf_voting_histogram_tables[BF_VOTING_HISTOGRAM_TABLES] = {
    {"table_3_3",
     "Table 3.3: atomics in global memory",
     true,
     true,
     {{{PADDED, 512, 512, 1}, 5.88},
      {{PADDED, 4, 352, 3}, 1.38},
      {{BIN, 16, 320, 5}, 0.13},
      {{BIN, 256, 384, 5}, 0.57}}},
    {"table_3_4",
     "Table 3.4: a histogram of 64 bins for every thread",
     false,
     true,
     {{{BIN, 1, 32, 1}, 0.62},
      {{BIN, 1, 32, 6}, 0.13},
      {{BIN, 1, 32, 6}, 0.14},
      {{BIN, 1, 32, 8}, 0.14}}},
    {"table_3_5",
     "Table 3.5: histograms for every warp, software atomics",
     true,
     true,
     {{{BIN, 2, 64, 3}, 0.88},
      {{BIN, 2, 352, 2}, 0.28},
      {{BIN, 1, 736, 2}, 0.18},
      {{BIN, 2, 512, 2}, 0.33}}},
    {"table_3_6",
     "Table 3.6: atomics in shared memory",
     true,
     true,
     {{{BIN, 0, 0, 0}, 0},
      {{BIN, 32, 768, 1}, 0.12},
      {{BIN, 32, 1024, 1}, 0.08},
      {{BIN, 8, 512, 4}, 0.05}}},
};

const bf_voting_table bf_voting_hough_tables[BF_VOTING_HOUGH_TABLES] = {
    {"table_4_1",
     "Table 4.1: atomics in global memory",
     true,
     false,
     {{{COPY, 8, 480, 0}, 319},
      {{BIN, 8, 256, 0}, 15},
      {{BIN, 4, 128, 0}, 1.3},
      {{BIN, 4, 384, 0}, 4.7}}},
    {"table_4_2",
     "Table 4.2: atomics in shared memory",
     true,
     false,
     {{{BIN, 0, 0, 0}, 0},
      {{BIN, 8, 1024, 0}, 2.6},
      {{BIN, 6, 1024, 0}, 1.8},
      {{BIN, 4, 288, 0}, 1.7}}},
};

static bool is_published(const bf_voting_table *table, unsigned gpu) {
  return table->best[gpu].milliseconds > 0;
}

/* ---- Sweeps ---- */

void bf_voting_sweep_add(bf_voting_sweep *sweep, const bf_voting_choice *choice) {
  if (sweep->count < BF_VOTING_MOST_TRIED)
    sweep->tried[sweep->count++].choice = *choice;
}

const bf_voting_best *bf_voting_fastest(const bf_voting_sweep *sweep, unsigned sweeps,
                                        unsigned copies) {
  const bf_voting_best *best = NULL;
  for (unsigned i = 0; i < sweeps; i++)
    for (unsigned k = 0; k < sweep[i].count; k++) {
      const bf_voting_best *tried = &sweep[i].tried[k];
      if ((!copies || tried->choice.copies == copies) &&
          (!best || tried->milliseconds < best->milliseconds))
        best = tried;
    }
  return best;
}

void bf_voting_show_sweep(bf_reproduce_table *table, unsigned gpu, const char *way,
                          const bf_voting_sweep *sweep) {
  for (unsigned i = 0; i < sweep->count; i++) {
    const bf_voting_choice *choice = &sweep->tried[i].choice;
    bf_reproduce_cell(table, "%s", bf_voting_gpus[gpu].title);
    bf_reproduce_cell(table, "%s", way);
    bf_reproduce_cell(table, "%s", bf_voting_layout_titles[choice->layout]);
    bf_reproduce_cell(table, "%u", choice->copies);
    bf_reproduce_cell(table, "%u", choice->threads);
    bf_reproduce_cell(table, "%u", choice->blocks_per_sm);
    bf_reproduce_cell(table, "%.4g", sweep->tried[i].milliseconds);
  }
}

/* ---- Tables ---- */

static void add_choice(bf_reproduce_table *to, const bf_voting_table *table,
                       const bf_voting_choice *choice) {
  if (table->has_copies) {
    bf_reproduce_cell(to, "%s", bf_voting_layout_titles[choice->layout]);
    bf_reproduce_cell(to, "%u", choice->copies);
  }
  bf_reproduce_cell(to, "%u", choice->threads);
  if (table->has_blocks)
    bf_reproduce_cell(to, "%u", choice->blocks_per_sm);
}

static void add_row(bf_reproduce_table *to, const bf_voting_table *table, unsigned gpu,
                    const bf_voting_ours *ours) {
  const bf_voting_best *published = &table->best[gpu];
  bf_reproduce_cell(to, "%s", bf_voting_gpus[gpu].title);
  add_choice(to, table, &published->choice);
  bf_reproduce_cell(to, "%g", published->milliseconds);
  add_choice(to, table, &ours->best.choice);
  bf_reproduce_cell(to, "%.3g", ours->best.milliseconds);
  bf_reproduce_cell(to, "%.2f", ours->best.milliseconds / published->milliseconds);
  if (ours->at_published > 0) {
    bf_reproduce_cell(to, "%.3g", ours->at_published);
    bf_reproduce_cell(to, "%.2f", ours->at_published / published->milliseconds);
  } else {
    bf_reproduce_cell(to, "-");
    bf_reproduce_cell(to, "-");
  }
}

void bf_voting_show(bf_reproduce_run *run, const bf_voting_table *table,
                    const bf_voting_ours ours[BF_VOTING_GPUS]) {
  bf_text columns = {0};
  const char *copies = table->has_copies ? "layout|copies|" : "";
  const char *blocks = table->has_blocks ? "blocks per SM|" : "";
  bf_text_addf(&columns,
               "GPU|%sthreads|%spublished ms|%sthreads|%sours ms|ratio|ours as published "
               "ms|ratio",
               copies, blocks, copies, blocks);
  bf_reproduce_table *to =
      bf_reproduce_table_add(run, table->name, table->title, columns.failed ? "GPU" : columns.data);
  bf_text_free(&columns);
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++)
    if (is_published(table, gpu))
      add_row(to, table, gpu, &ours[gpu]);
}

void bf_voting_show_ways(bf_reproduce_run *run, const char *name, const char *title,
                         const bf_voting_table *tables, unsigned ways, const char *const *way,
                         const bf_voting_ours *ours) {
  bf_text columns = {0};
  bf_text_puts(&columns, "way");
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++)
    bf_text_addf(&columns, "|%s published|%s ours", bf_voting_gpus[gpu].title,
                 bf_voting_gpus[gpu].title);
  bf_reproduce_table *to =
      bf_reproduce_table_add(run, name, title, columns.failed ? "way" : columns.data);
  bf_text_free(&columns);
  for (unsigned i = 0; i < ways; i++) {
    bf_reproduce_cell(to, "%s", way[i]);
    for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++) {
      bool can_do = is_published(&tables[i], gpu);
      bf_reproduce_cell(to, can_do ? "%g" : "-", tables[i].best[gpu].milliseconds);
      bf_reproduce_cell(to, can_do ? "%.3g" : "-",
                        ours[i * BF_VOTING_GPUS + gpu].best.milliseconds);
    }
  }
}

/* ---- Claims ---- */

/* Text for every GPU that can do a way: published, and ours. */
typedef struct both_texts {
  bf_text published, ours;
} both_texts;

static const char *text_of(const bf_text *text) {
  return text->data && !text->failed ? text->data : "";
}

/* Makes a claim of the texts, which must be the same, and frees them. */
static void claim_texts(bf_reproduce_run *run, const char *name, both_texts *texts,
                        const char *why) {
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = name,
                                                    .rule = BF_CLAIM_SAME,
                                                    .published_text = text_of(&texts->published),
                                                    .ours_text = text_of(&texts->ours),
                                                    .why = why});
  bf_text_free(&texts->published);
  bf_text_free(&texts->ours);
}

/* What separates the text of a GPU from those before it. */
static const char *comma(const bf_text *text) { return text->size ? ", " : ""; }

/* "Table 3.3" of "Table 3.3: atomics in global memory", and what is claimed of it. */
static const char *claim_name(const bf_voting_table *table, const char *what, char name[80]) {
  snprintf(name, 80, "%.9s, %s", table->title, what);
  return name;
}

/* Times, or copies, of every GPU that can do a way. */
static void claim_numbers(bf_reproduce_run *run, const bf_voting_table *table,
                          const bf_voting_ours ours[BF_VOTING_GPUS], bool is_time,
                          const char *why) {
  double published[BF_VOTING_GPUS], found[BF_VOTING_GPUS];
  unsigned count = 0;
  char name[80];
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++)
    if (is_published(table, gpu)) {
      const bf_voting_best *theirs = &table->best[gpu], *best = &ours[gpu].best;
      published[count] = is_time ? theirs->milliseconds : theirs->choice.copies;
      found[count++] = is_time ? best->milliseconds : best->choice.copies;
    }
  claim_name(table, is_time ? "times" : "best numbers of copies", name);
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = name,
                                                    .published_list = published,
                                                    .ours_list = found,
                                                    .count = count,
                                                    .unit = is_time ? " ms" : NULL,
                                                    .why = why});
}

void bf_voting_claim_times(bf_reproduce_run *run, const bf_voting_table *table,
                           const bf_voting_ours ours[BF_VOTING_GPUS], const char *why) {
  claim_numbers(run, table, ours, true, why);
}

void bf_voting_claim_copies(bf_reproduce_run *run, const bf_voting_table *table,
                            const bf_voting_ours ours[BF_VOTING_GPUS], const char *why) {
  claim_numbers(run, table, ours, false, why);
}

/* Writes the GPUs that can do a way from slowest to fastest. */
static void write_order(const bf_voting_table *table, const double milliseconds[BF_VOTING_GPUS],
                        bf_text *text) {
  bool is_written[BF_VOTING_GPUS] = {false};
  for (unsigned i = 0; i < BF_VOTING_GPUS; i++) {
    unsigned slowest = BF_VOTING_GPUS;
    for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++)
      if (!is_written[gpu] && is_published(table, gpu) &&
          (slowest == BF_VOTING_GPUS || milliseconds[gpu] > milliseconds[slowest]))
        slowest = gpu;
    if (slowest == BF_VOTING_GPUS)
      return;
    is_written[slowest] = true;
    bf_text_addf(text, "%s%s", comma(text), bf_voting_gpus[slowest].title);
  }
}

void bf_voting_claim_order(bf_reproduce_run *run, const bf_voting_table *table,
                           const bf_voting_ours ours[BF_VOTING_GPUS], const char *why) {
  double published[BF_VOTING_GPUS], found[BF_VOTING_GPUS];
  both_texts texts = {0};
  char name[80];
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++) {
    published[gpu] = table->best[gpu].milliseconds;
    found[gpu] = ours[gpu].best.milliseconds;
  }
  write_order(table, published, &texts.published);
  write_order(table, found, &texts.ours);
  claim_texts(run, claim_name(table, "GPUs from slow to fast", name), &texts, why);
}

void bf_voting_claim_layouts(bf_reproduce_run *run, const bf_voting_table *table,
                             const bf_voting_ours ours[BF_VOTING_GPUS], const char *why) {
  both_texts texts = {0};
  char name[80];
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++)
    if (is_published(table, gpu)) {
      bf_voting_layout published = table->best[gpu].choice.layout;
      bf_voting_layout found = ours[gpu].best.choice.layout;
      bf_text_addf(&texts.published, "%s%s", comma(&texts.published), short_layouts[published]);
      bf_text_addf(&texts.ours, "%s%s", comma(&texts.ours), short_layouts[found]);
    }
  claim_texts(run, claim_name(table, "best layouts", name), &texts, why);
}
