/* braak15, Fig. 3.5: histograms for every thread of pictures of several kinds on a GTX 470, two
 * photographs, one value in all pixels, and random values. A multiprocessor counts some rows of
 * each. Fig. 3.8, histograms for every warp, follows (extensions.c). */
#include "reproduce/atomics/photo.h"
#include "reproduce/voting/extensions.h"
#include "reproduce/voting/histogram.h"
#include "reproduce/voting/tables.h"

enum { IMAGE_1, IMAGE_2, DEGENERATE, RANDOM, KINDS };

/* Configurations: a histogram of 64 bins for every thread by three blocks of 32 threads and by one
 * of 64. */
enum { BY_32, BY_64, WAYS };
static const struct {
  const char *title;
  bf_voting_method method;
  bf_voting_choice choice;
} ways[WAYS] = {{"3 blocks of 32 threads", BF_VOTING_THREAD, {BF_VOTING_BIN_MAJOR, 1, 32, 3}},
                {"1 block of 64 threads", BF_VOTING_THREAD, {BF_VOTING_BIN_MAJOR, 1, 64, 1}}};

enum { ROWS = 36, QUICK_ROWS = 4, LEVELS = 4096, LANES = 32 };

typedef struct kinds_work {
  uint32_t rows;
  uint16_t *pixels[KINDS];
  double rate[WAYS][KINDS]; /* bytes in a nanosecond, of one multiprocessor */
} kinds_work;

/* Random numbers that are the same everywhere. */
static uint16_t next_random(uint32_t *state) {
  *state = *state * 1664525 + 1013904223;
  return (uint16_t)(*state >> 20);
}

static int make_pictures(bf_reproduce_run *run, kinds_work *work, bf_diagnostic *diagnostic) {
  size_t count = (size_t)BF_VOTING_WIDTH * work->rows;
  uint32_t state = 1;
  for (unsigned kind = 0; kind < KINDS; kind++) {
    uint16_t *to = work->pixels[kind] =
        bf_arena_alloc(bf_reproduce_arena(run), count * sizeof *work->pixels[kind]);
    if (!to)
      return bf_no_memory(diagnostic);
    if (kind <= IMAGE_2)
      BF_TRY(bf_photo_make(kind, BF_VOTING_WIDTH, work->rows, to, diagnostic));
    for (size_t i = 0; i < count && kind > IMAGE_2; i++)
      to[i] = kind == RANDOM ? next_random(&state) : LEVELS / 2;
  }
  return BF_OK;
}

/* Task: one kind of pictures in one way. */
static int count_kind(void *context, unsigned index, bf_diagnostic *diagnostic) {
  kinds_work *work = context;
  unsigned kind = index % KINDS, way = index / KINDS;
  bf_voting_histogram histogram;
  double seconds = 0;
  int error = bf_voting_histogram_create("gtx470", 1, work->pixels[kind], work->rows, &histogram,
                                         diagnostic);
  if (!error)
    error = bf_voting_histogram_run(&histogram, ways[way].method, &ways[way].choice, &seconds,
                                    diagnostic);
  work->rate[way][kind] =
      error ? 0 : (double)BF_VOTING_WIDTH * work->rows * sizeof(uint16_t) / (1e9 * seconds);
  bf_voting_histogram_free(&histogram);
  return error;
}

/* ---- Bank conflicts of bins of 16 bits ---- */

/* The most words that the lanes of a warp want of one bank, on average. Lane t counts in bins of
 * its own: in layout 1 bin by bin, so that two lanes share a word; in layout 2 each has its bank.
 */
static double words_in_a_bank(const uint16_t *pixels, size_t count, unsigned layout) {
  double sum = 0;
  for (size_t first = 0; first < count; first += LANES) {
    unsigned word[LANES], most = 0;
    for (unsigned t = 0; t < LANES; t++) {
      unsigned bin = pixels[first + t] / (LEVELS / 256);
      word[t] = layout == 1 ? (bin * LANES + t) / 2 : bin / 2 * LANES + t;
    }
    for (unsigned t = 0; t < LANES; t++) {
      unsigned others = 1; /* words of the bank of lane t, each counted at its last lane */
      for (unsigned u = 0; u < LANES; u++) {
        bool is_last = word[u] % LANES == word[t] % LANES && word[u] != word[t];
        for (unsigned v = u + 1; v < LANES; v++)
          is_last &= word[v] != word[u];
        others += is_last;
      }
      most = others > most ? others : most;
    }
    sum += most;
  }
  return sum / ((double)count / LANES);
}

/* ---- Report ---- */

static void add_table(bf_reproduce_run *run, const kinds_work *work) {
  bf_reproduce_table *table =
      bf_reproduce_table_add(run, "kinds", "Bytes per nanosecond, of one multiprocessor",
                             "way|image1|image2|degenerate|random");
  for (unsigned way = 0; way < WAYS; way++) {
    bf_reproduce_cell(table, "%s", ways[way].title);
    for (unsigned kind = 0; kind < KINDS; kind++)
      bf_reproduce_cell(table, "%.3f", work->rate[way][kind]);
  }
}

/* Fig. 3.5. */
static void claim_threads(bf_reproduce_run *run, const kinds_work *work) {
  static const char from_layout[] = "which words meet in a bank follows from the layout; pictures "
                                    "only choose the bins.";
  double words[2][KINDS];
  unsigned faster = 0;
  bool only_degenerate = true, none = true;
  for (unsigned kind = 0; kind < KINDS; kind++) {
    for (unsigned i = 0; i < 2; i++)
      words[i][kind] =
          words_in_a_bank(work->pixels[kind], (size_t)BF_VOTING_WIDTH * work->rows, i + 1);
    only_degenerate &= (words[0][kind] == 1) == (kind == DEGENERATE);
    none &= words[1][kind] == 1;
    faster += work->rate[BY_32][kind] > work->rate[BY_64][kind];
  }
  bf_reproduce_claim claim = {.name = "Fig. 3.5, layout 1, pictures without conflicts",
                              .rule = BF_CLAIM_WORDS,
                              .published_text = "only the degenerate one",
                              .is_so = only_degenerate,
                              .derived = from_layout};
  bf_reproduce_claim_addf(run, &claim, "words of a bank: %.2f, %.2f, %.2f, %.2f", words[0][0],
                          words[0][1], words[0][2], words[0][3]);
  claim.name = "Fig. 3.5, layout 2, conflicts";
  claim.published_text = "none, the same for all pictures";
  claim.is_so = none;
  bf_reproduce_claim_addf(run, &claim, "words of a bank: %.2f, %.2f, %.2f, %.2f", words[1][0],
                          words[1][1], words[1][2], words[1][3]);
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Fig. 3.5, blocks of 32 threads faster than of 64 (64 bins)",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "with all pictures",
                            .published = KINDS,
                            .ours = faster,
                            .why = "our kernel has 64 bins of 32 bits, not 256 of 16."},
      "with %u of %d", faster, KINDS);
}

int bf_voting_kinds(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  kinds_work work = {.rows = bf_reproduce_is_quick(run) ? QUICK_ROWS : ROWS};
  BF_TRY(make_pictures(run, &work, diagnostic));
  BF_TRY(bf_reproduce_parallel(run, KINDS * WAYS, "pictures", count_kind, &work, diagnostic));
  add_table(run, &work);
  claim_threads(run, &work);
  return bf_voting_extensions(run, diagnostic);
}
