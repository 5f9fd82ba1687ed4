/* Small sweeps beside that of Fig. 7, each a table and a claim. */
#include "reproduce/atomics/studies.h"

#include <math.h>
#include <stdio.h>

static const char *const one_sm[] = {"sms=1", NULL};
static const char *const one_sm_held[] = {"sms=1", "lock_holds=loop", NULL};

/* ---- Contrast ---- */

enum { CONTRASTS = 6, HALF = 1, EIGHTH = 3, FLAT = CONTRASTS - 1, SPACES = 6, WAYS = 2 };
enum { PUBLISHED = 3, PADDED = 5 }; /* the spaces of the published speed-ups */

static const bf_vote_space spaces[SPACES] = {{32, 32, BF_VOTE_PLAIN},  {64, 32, BF_VOTE_PLAIN},
                                             {128, 32, BF_VOTE_PLAIN}, {256, 32, BF_VOTE_PLAIN},
                                             {512, 16, BF_VOTE_PLAIN}, {1024, 8, BF_VOTE_PADDED}};

typedef struct contrast_study {
  bf_pictures pictures[CONTRASTS];
  double cycles[WAYS][CONTRASTS][SPACES][2];
} contrast_study;

/* Pictures with grey levels divided by 2^halvings; flat ones are all 0. */
static int dim(bf_arena *arena, const bf_pictures *from, unsigned halvings, bool flat,
               bf_pictures *to, bf_diagnostic *diagnostic) {
  *to = *from;
  for (unsigned i = 0; i < from->count; i++) {
    to->pixels[i] = bf_arena_alloc(arena, from->pixel_count * sizeof **to->pixels);
    if (!to->pixels[i])
      return bf_no_memory(diagnostic);
    for (uint32_t p = 0; p < from->pixel_count; p++)
      to->pixels[i][p] = flat ? 0 : (uint16_t)(from->pixels[i][p] >> halvings);
  }
  return BF_OK;
}

/* Task: one way, contrast and space, without and with XOR. */
static int find_contrast(void *context, unsigned index, bf_diagnostic *diagnostic) {
  contrast_study *study = context;
  unsigned space = index % SPACES, contrast = index / SPACES % CONTRASTS;
  unsigned way = index / SPACES / CONTRASTS;
  for (unsigned hashed = 0; hashed < 2; hashed++) {
    bf_picture_run run = {"gtx580", way ? one_sm_held : one_sm, hashed ? BF_VOTE_XOR : BF_VOTE_NONE,
                          spaces[space], 1};
    BF_TRY(bf_pictures_count(&study->pictures[contrast], &run,
                             &study->cycles[way][contrast][space][hashed], diagnostic));
  }
  return BF_OK;
}

static double contrast_speedup(const contrast_study *study, unsigned way, unsigned contrast,
                               unsigned space) {
  const double *cycles = study->cycles[way][contrast][space];
  return cycles[0] / cycles[1];
}

/* The space copy by copy that gains most at a contrast. */
static unsigned best_space(const contrast_study *study, unsigned contrast) {
  unsigned best = 0;
  for (unsigned space = 1; space < PADDED; space++)
    if (contrast_speedup(study, 0, contrast, space) > contrast_speedup(study, 0, contrast, best))
      best = space;
  return best;
}

static void add_contrast_table(bf_reproduce_run *run, const contrast_study *study) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "contrast", "Speed-up by XOR in pictures with less contrast",
      "load/store unit|contrast|32 bins, 32 copies|64, 32|128, 32|256, 32|512, 16|1024, 8 padded");
  for (unsigned way = 0; way < WAYS; way++)
    for (unsigned contrast = 0; contrast < CONTRASTS; contrast++) {
      bf_reproduce_cell(table, way ? "held" : "shared");
      if (contrast == FLAT)
        bf_reproduce_cell(table, "none");
      else if (contrast == 0)
        bf_reproduce_cell(table, "full");
      else
        bf_reproduce_cell(table, "1/%u", 1U << contrast);
      for (unsigned space = 0; space < SPACES; space++)
        bf_reproduce_cell(table, "%.2f", contrast_speedup(study, way, contrast, space));
    }
}

static void claim_contrast(bf_reproduce_run *run, const contrast_study *study) {
  double full = contrast_speedup(study, 0, 0, PUBLISHED);
  double flat = contrast_speedup(study, 0, FLAT, PUBLISHED);
  unsigned best = best_space(study, FLAT);
  static const char chosen[] =
      "the contrast of the pictures was chosen where the published maximum "
      "appears: the document does not tell it, and at full contrast the "
      "row above differs.";
  bf_reproduce_claim words = {.name = "256 bins, 32 copies, full contrast to none",
                              .rule = BF_CLAIM_WORDS,
                              .published_text = "4.91 in between",
                              .is_so = full < 4.91 && flat > 4.91,
                              .must_hold = true,
                              .fitted = "from full contrast to none nearly every speed-up "
                                        "lies in between: so wide a range says little."};
  bf_reproduce_claim_addf(run, &words, "%.2f to %.2f", full, flat);
  words.name = "largest speed-up in flat pictures";
  words.published_text = "at 256 bins, 32 copies";
  words.is_so = best == PUBLISHED;
  words.fitted = chosen;
  bf_reproduce_claim_addf(run, &words, "at %u bins, %u copies", spaces[best].bins,
                          spaces[best].copies);
  if (bf_reproduce_is_quick(run))
    return;
  best = best_space(study, EIGHTH);
  double eighth = contrast_speedup(study, 0, EIGHTH, best);
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "largest speed-up, an eighth of the contrast",
                            .rule = BF_CLAIM_GAIN,
                            .published_text = "4.91 at 256 bins, 32 copies",
                            .published = 4.91,
                            .ours = best == PUBLISHED ? eighth : 0,
                            .fitted = chosen,
                            .why = "the largest is elsewhere, or another."},
      "%.2f at %u bins, %u copies", eighth, spaces[best].bins, spaces[best].copies);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "256 bins, 32 copies, unit held, half contrast",
                                 .rule = BF_CLAIM_GAIN,
                                 .fitted = chosen,
                                 .published = 4.91,
                                 .ours = contrast_speedup(study, 1, HALF, PUBLISHED)});
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "1024 bins, 8 copies, padded, unit held, half contrast",
                                 .rule = BF_CLAIM_GAIN,
                                 .fitted = chosen,
                                 .published = 1.79,
                                 .ours = contrast_speedup(study, 1, HALF, PADDED)});
}

int bf_study_contrast(bf_reproduce_run *run, const bf_pictures *pictures,
                      bf_diagnostic *diagnostic) {
  bf_arena *arena = bf_reproduce_arena(run);
  contrast_study study = {0};
  for (unsigned contrast = 0; contrast < CONTRASTS; contrast++)
    BF_TRY(dim(arena, pictures, contrast, contrast == FLAT, &study.pictures[contrast], diagnostic));
  BF_TRY(bf_reproduce_parallel(run, WAYS * CONTRASTS * SPACES, "contrasts", find_contrast, &study,
                               diagnostic));
  add_contrast_table(run, &study);
  claim_contrast(run, &study);
  return BF_OK;
}

/* ---- Blocks ---- */

enum { BLOCK_STEPS = 5 };

typedef struct block_study {
  const bf_pictures *pictures;
  double cycles[BLOCK_STEPS][2];
} block_study;

/* Task: 256 bins in 32 copies, bin by bin, by 1, 2, 4, ... blocks one after the other. */
static int find_blocks(void *context, unsigned index, bf_diagnostic *diagnostic) {
  block_study *study = context;
  for (unsigned hashed = 0; hashed < 2; hashed++) {
    bf_picture_run run = {"gtx580",
                          one_sm,
                          hashed ? BF_VOTE_XOR : BF_VOTE_NONE,
                          {256, 32, BF_VOTE_BIN_MAJOR},
                          1U << index};
    BF_TRY(bf_pictures_count(study->pictures, &run, &study->cycles[index][hashed], diagnostic));
  }
  return BF_OK;
}

int bf_study_blocks(bf_reproduce_run *run, const bf_pictures *pictures, bf_diagnostic *diagnostic) {
  block_study study = {.pictures = pictures};
  BF_TRY(bf_reproduce_parallel(run, BLOCK_STEPS, "blocks", find_blocks, &study, diagnostic));
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "blocks", "256 bins, 32 copies, bin-major: blocks that a multiprocessor has in turn",
      "blocks|cycles|cycles XOR|speed-up");
  double most = 0;
  for (unsigned step = 0; step < BLOCK_STEPS; step++) {
    const double *cycles = study.cycles[step];
    bf_reproduce_cell(table, "%u", 1U << step);
    bf_reproduce_cell(table, "%.0f", cycles[0]);
    bf_reproduce_cell(table, "%.0f", cycles[1]);
    bf_reproduce_cell(table, "%.2f", cycles[0] / cycles[1]);
    most = fmax(most, cycles[0] / cycles[1]);
  }
  if (!bf_reproduce_is_quick(run))
    bf_reproduce_claim_add(
        run, &(bf_reproduce_claim){.name = "256 bins, 32 copies, bin-major, 16 blocks in turn",
                                   .rule = BF_CLAIM_GAIN,
                                   .published = 1.80,
                                   .fitted = "the number of blocks was chosen where the published "
                                             "maximum appears; with one it gains 2%.",
                                   .ours = most});
  return BF_OK;
}

/* ---- Share ---- */

enum { SHARE_SPACES = 3, SMS = 16 };

static const bf_vote_space share_space[SHARE_SPACES] = {
    {256, 32, BF_VOTE_PLAIN}, {1024, 8, BF_VOTE_PADDED}, {64, 16, BF_VOTE_BIN_MAJOR}};

/* One picture: whole on all multiprocessors, and each share on a GPU that has only one. */
typedef struct share_study {
  bf_pictures whole;
  double whole_cycles[SHARE_SPACES][2];
  double share_cycles[SHARE_SPACES][2]; /* of the share that takes longest */
} share_study;

/* Task: one space, without and with XOR. */
static int find_share(void *context, unsigned index, bf_diagnostic *diagnostic) {
  static const char *const all_sms[] = {"sms=16", NULL};
  share_study *study = context;
  unsigned space = index / 2, hashed = index % 2;
  bf_picture_run run = {"gtx580", all_sms, hashed ? BF_VOTE_XOR : BF_VOTE_NONE, share_space[space],
                        SMS};
  BF_TRY(bf_pictures_count(&study->whole, &run, &study->whole_cycles[space][hashed], diagnostic));
  run.changes = one_sm;
  run.blocks = 1;
  double *longest = &study->share_cycles[space][hashed];
  for (unsigned sm = 0; sm < SMS; sm++) {
    bf_pictures share = {.count = 1, .pixel_count = BF_PICTURE_SHARE};
    share.pixels[0] = study->whole.pixels[0] + (size_t)sm * BF_PICTURE_SHARE;
    double cycles;
    BF_TRY(bf_pictures_count(&share, &run, &cycles, diagnostic));
    *longest = fmax(*longest, cycles);
  }
  return BF_OK;
}

int bf_study_share(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  share_study study = {0};
  BF_TRY(bf_pictures_make(run, NULL, 1, 0, BF_PICTURE_WIDTH * BF_PICTURE_HEIGHT, &study.whole,
                          diagnostic));
  BF_TRY(bf_reproduce_parallel(run, SHARE_SPACES * 2, "whole picture", find_share, &study,
                               diagnostic));
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "share",
      "Cycles of a picture on 16 multiprocessors, and of its longest share on a GPU with one",
      "layout|bins|copies|hash|16|longest share on one|difference");
  double worst = 0;
  for (unsigned i = 0; i < SHARE_SPACES * 2; i++) {
    const bf_vote_space *space = &share_space[i / 2];
    double whole = study.whole_cycles[i / 2][i % 2], share = study.share_cycles[i / 2][i % 2];
    double difference = 100 * (share / whole - 1);
    bf_reproduce_cell(table, "%s", bf_vote_layout_names[space->layout]);
    bf_reproduce_cell(table, "%u", space->bins);
    bf_reproduce_cell(table, "%u", space->copies);
    bf_reproduce_cell(table, "%s", bf_vote_hash_names[i % 2 ? BF_VOTE_XOR : BF_VOTE_NONE]);
    bf_reproduce_cell(table, "%.0f", whole);
    bf_reproduce_cell(table, "%.0f", share);
    bf_reproduce_cell(table, "%+.1f%%", difference);
    worst = fmax(worst, fabs(difference));
  }
  bf_reproduce_note(run,
                    "One multiprocessor with its share of a picture stands for 16 with the whole: "
                    "the longest share takes as long as the whole to %.1f%%.",
                    worst);
  return BF_OK;
}
