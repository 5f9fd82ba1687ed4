/* braak15, Figs. 3.5 and 3.6: histograms for every thread (private.cu). Fig. 3.5 has pictures of
 * several kinds on a GTX 470 in two layouts, Fig. 3.6 three layouts and several sizes of blocks on
 * four GPUs. A multiprocessor counts its share of a picture. Fig. 3.8, histograms for every warp,
 * follows (extensions.c). */
#include "reproduce/voting/extensions.h"
#include "reproduce/voting/tables.h"

#include <math.h>

enum { LAYOUTS = 2, SIZES = 2, FAST = SIZES, RATES }; /* of Fig. 3.5 */
enum { BLOCK_SIZES = 6, OWN_BINS = 64, GTX_470 = 1 }; /* of Fig. 3.6 */
enum { ROWS = 146, QUICK_ROWS = 2, LANES = 32, MOST_BINS = BF_VOTING_KIND_BINS };

/* How long shared memory takes where it is faster. */
static const double QUARTER = 0.25;

static const unsigned sizes[SIZES] = {32, 64}, blocks_of[SIZES] = {3, 1};
static const unsigned block_sizes[BLOCK_SIZES] = {32, 64, 96, 128, 160, 192};

typedef struct kinds_work {
  uint32_t rows;
  unsigned block_sizes; /* that are tried */
  uint8_t *pixels[KINDS];
  double rate[LAYOUTS][RATES][KINDS]; /* bytes in a nanosecond, of one multiprocessor */
  /* Microseconds of Fig. 3.6; 0: it does not fit. Behind the GPUs those of the GTX 470 with faster
   * shared memory. */
  double time[BF_VOTING_GPUS + 1][BLOCK_SIZES][BF_VOTING_LAYOUTS];
} kinds_work;

/* ---- Running ---- */

/* A histogram for every thread: a kernel of private.cu, whose name ends with the threads. */
typedef struct own_launch {
  const char *gpu, *kernel;
  unsigned bins, threads, blocks;
  uint64_t bytes; /* of shared memory */
  double latency; /* how long shared memory takes, that as usual being 1 */
} own_launch;

static int count_own(const own_launch *own, const uint8_t *pixels, uint32_t count, double *seconds,
                     bf_diagnostic *diagnostic) {
  uint32_t wanted[MOST_BINS] = {0}, words = count / 4;
  uint64_t image, sums;
  char kernel[40];
  bf_voting_device device;
  for (uint32_t i = 0; i < count; i++)
    wanted[pixels[i] * own->bins / MOST_BINS]++;
  snprintf(kernel, sizeof kernel, "%s_%u", own->kernel, own->threads);
  int error = bf_voting_device_create(own->gpu, "private", 1, &device, diagnostic);
  if (!error)
    error = bf_voting_upload(&device, pixels, count, &image, diagnostic);
  if (!error)
    error = bf_voting_upload(&device, NULL, sizeof wanted, &sums, diagnostic);
  const void *parameter[] = {&image, &words, &sums};
  bf_voting_launch launch = {.kernel = kernel,
                             .is_only_one = true,
                             .blocks = own->blocks,
                             .threads = own->threads,
                             .shared_bytes = own->bytes,
                             .parameters = sizeof parameter / sizeof *parameter,
                             .parameter = parameter};
  *seconds = 0;
  if (!error) {
    device.gpu->shared_cycles = (uint64_t)ceil((double)device.gpu->shared_cycles * own->latency);
    error = bf_voting_run(&device, &launch, seconds, diagnostic);
  }
  if (!error)
    error = bf_voting_compare(&device, sums, wanted, own->bins, diagnostic);
  bf_voting_device_free(&device);
  return error;
}

/* Task of Fig. 3.5: one kind of pictures in one layout with one size of blocks, and once more with
 * the last size and shared memory that is faster. */
static int count_kind(void *context, unsigned index, bf_diagnostic *diagnostic) {
  kinds_work *work = context;
  unsigned kind = index % KINDS, way = index / KINDS % RATES, layout = index / KINDS / RATES;
  unsigned size = way % SIZES;
  const own_launch own = {.gpu = "gtx470",
                          .kernel = layout ? "layout_2" : "layout_1",
                          .bins = MOST_BINS,
                          .threads = sizes[size],
                          .blocks = blocks_of[size],
                          .bytes = sizes[size] * MOST_BINS * sizeof(uint16_t),
                          .latency = way == FAST ? QUARTER : 1};
  uint32_t count = BF_VOTING_KIND_WIDTH * work->rows;
  double seconds;
  BF_TRY(count_own(&own, work->pixels[kind], count, &seconds, diagnostic));
  work->rate[layout][way][kind] = count / (1e9 * seconds);
  return BF_OK;
}

/* Blocks of Fig. 3.6 that fit on a multiprocessor, or 0. */
static int find_blocks(unsigned gpu, uint64_t bytes, unsigned *blocks, bf_diagnostic *diagnostic) {
  enum { MOST_OF_A_BLOCK = 48 * 1024, ARGUMENTS = 16 };
  bf_sim_gpu *limits;
  BF_TRY(bf_sim_gpu_load(bf_voting_gpus[gpu].name, &limits, diagnostic));
  /* Arguments of kernels lie in the shared memory of the 8800 GT (section 3.4). */
  uint64_t fit = limits->shared_bytes_per_sm / (bytes + (gpu == 0 ? ARGUMENTS : 0));
  fit = fit < limits->blocks_per_sm ? fit : limits->blocks_per_sm;
  *blocks = bytes <= MOST_OF_A_BLOCK ? (unsigned)fit : 0;
  bf_sim_gpu_free(limits);
  return BF_OK;
}

/* Task of Fig. 3.6: a photograph on one GPU in one layout with one size of blocks, of which there
 * are as many as fit; behind the GPUs the GTX 470 with shared memory that is faster. */
static int count_size(void *context, unsigned index, bf_diagnostic *diagnostic) {
  kinds_work *work = context;
  unsigned layout = index % BF_VOTING_LAYOUTS, size = index / BF_VOTING_LAYOUTS % work->block_sizes;
  unsigned row = index / BF_VOTING_LAYOUTS / work->block_sizes;
  unsigned gpu = row == BF_VOTING_GPUS ? GTX_470 : row;
  own_launch own = {.gpu = bf_voting_gpus[gpu].name,
                    .kernel = bf_voting_layout_names[layout],
                    .bins = OWN_BINS,
                    .threads = block_sizes[size],
                    .latency = row == BF_VOTING_GPUS ? QUARTER : 1};
  own.bytes = own.threads * (OWN_BINS + (layout == BF_VOTING_PADDED)) * sizeof(uint32_t);
  double seconds;
  BF_TRY(find_blocks(gpu, own.bytes, &own.blocks, diagnostic));
  if (!own.blocks)
    return BF_OK;
  BF_TRY(count_own(&own, work->pixels[IMAGE_1], BF_VOTING_KIND_WIDTH * work->rows, &seconds,
                   diagnostic));
  work->time[row][size][layout] = 1e6 * seconds;
  return BF_OK;
}

/* ---- Bank conflicts of bins of 16 bits ---- */

/* The most words that the lanes of a warp want of one bank, on average. Lane t counts in bins of
 * its own: in layout 1 bin by bin, so that two lanes share a word; in layout 2 each has its bank.
 */
static double words_in_a_bank(const uint8_t *pixels, size_t count, unsigned layout) {
  double sum = 0;
  for (size_t first = 0; first < count; first += LANES) {
    unsigned word[LANES], most = 0;
    for (unsigned t = 0; t < LANES; t++) {
      unsigned bin = pixels[first + t];
      word[t] = layout == 0 ? (bin * LANES + t) / 2 : bin / 2 * LANES + t;
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

static void add_tables(bf_reproduce_run *run, const kinds_work *work) {
  bf_reproduce_table *table =
      bf_reproduce_table_add(run, "kinds",
                             "Fig. 3.5: bytes per nanosecond of a multiprocessor, a histogram of "
                             "256 bins for every thread",
                             "layout|blocks|image1|image2|degenerate|random");
  for (unsigned i = 0; i < LAYOUTS * RATES; i++) {
    unsigned size = i % RATES % SIZES;
    bf_reproduce_cell(table, "%u", i / RATES + 1);
    bf_reproduce_cell(table, "%u of %u threads%s", blocks_of[size], sizes[size],
                      i % RATES == FAST ? ", shared memory in a quarter of the time" : "");
    for (unsigned kind = 0; kind < KINDS; kind++)
      bf_reproduce_cell(table, "%.3f", work->rate[i / RATES][i % RATES][kind]);
  }
  table = bf_reproduce_table_add(
      run, "own", "Fig. 3.6: microseconds of a share of a photograph, 64 bins for every thread",
      "GPU|threads of a block|bin-major|copy-major|copy-major, padded");
  for (unsigned i = 0; i < (BF_VOTING_GPUS + 1) * BLOCK_SIZES; i++) {
    unsigned row = i / BLOCK_SIZES;
    const double *time = work->time[row][i % BLOCK_SIZES];
    if (time[0] == 0)
      continue;
    bf_reproduce_cell(table, "%s",
                      row == BF_VOTING_GPUS ? "GTX 470, shared memory in a quarter of the time"
                                            : bf_voting_gpus[row].title);
    bf_reproduce_cell(table, "%u", block_sizes[i % BLOCK_SIZES]);
    for (unsigned layout = 0; layout < BF_VOTING_LAYOUTS; layout++)
      bf_reproduce_cell(table, time[layout] > 0 ? "%.0f" : "-", time[layout]);
  }
}

/* Fig. 3.5: which words meet. */
static void claim_words(bf_reproduce_run *run, const kinds_work *work) {
  static const char *const names[LAYOUTS] = {"Fig. 3.5, layout 1, pictures without conflicts",
                                             "Fig. 3.5, layout 2, conflicts"};
  static const char *const published[LAYOUTS] = {"only the degenerate one",
                                                 "none, the same for all pictures"};
  for (unsigned layout = 0; layout < LAYOUTS; layout++) {
    double words[KINDS];
    bool is_so = true;
    for (unsigned kind = 0; kind < KINDS; kind++) {
      words[kind] =
          words_in_a_bank(work->pixels[kind], (size_t)BF_VOTING_KIND_WIDTH * work->rows, layout);
      is_so &= (words[kind] == 1) == (layout == 1 || kind == DEGENERATE);
    }
    bf_reproduce_claim_addf(
        run,
        &(bf_reproduce_claim){.name = names[layout],
                              .rule = BF_CLAIM_WORDS,
                              .published_text = published[layout],
                              .is_so = is_so,
                              .derived = "which words meet in a bank follows from the layout; "
                                         "pictures only choose the bins."},
        "words of a bank: %.2f, %.2f, %.2f, %.2f", words[0], words[1], words[2], words[3]);
  }
}

/* Whether the named rates, blocks of 32 threads, differ by at most a part of the first. */
static bool are_within(const double *rate, unsigned count, const unsigned *kind, double part) {
  bool are = true;
  for (unsigned i = 1; i < count; i++)
    are &= fabs(rate[kind[i]] / rate[kind[0]] - 1) <= part;
  return are;
}

/* Fig. 3.5: throughput. */
static void claim_rates(bf_reproduce_run *run, const kinds_work *work) {
  static const unsigned all[KINDS] = {IMAGE_1, IMAGE_2, DEGENERATE, RANDOM};
  static const unsigned uneven[] = {IMAGE_1, IMAGE_2, RANDOM};
  const double *one = work->rate[0][0], *two = work->rate[1][0];
  const double *fast_one = work->rate[0][FAST], *fast_two = work->rate[1][FAST];
  char why[400];
  snprintf(
      why, sizeof why,
      "the index of layout 2 takes more instructions, and conflicts of layout 1 cost %.1f%% of "
      "the time of the random picture, because warps wait for their own results meanwhile; "
      "with shared memory in a quarter of the time they cost %.1f%%, and layout 2 is %.2f, "
      "%.2f, %.2f and %.2f times as fast.",
      100 * (1 - one[RANDOM] / one[DEGENERATE]),
      100 * (1 - fast_one[RANDOM] / fast_one[DEGENERATE]), fast_two[0] / fast_one[0],
      fast_two[1] / fast_one[1], fast_two[2] / fast_one[2], fast_two[3] / fast_one[3]);
  unsigned faster = 0, as_said = 0;
  bool degenerate_best = true;
  for (unsigned kind = 0; kind < KINDS; kind++) {
    for (unsigned layout = 0; layout < LAYOUTS; layout++)
      faster += work->rate[layout][0][kind] > work->rate[layout][1][kind];
    degenerate_best &= kind == DEGENERATE || one[DEGENERATE] > one[kind];
    as_said += (two[kind] < one[kind]) == (kind == DEGENERATE);
  }
  bf_reproduce_fact(run, "Fig. 3.5, layout 1, fastest picture", "the degenerate one",
                    degenerate_best, false, why, "%.3f, %.3f, %.3f and %.3f B/ns", one[0], one[1],
                    one[2], one[3]);
  bf_reproduce_fact(run, "Fig. 3.5, layout 1, photographs and the random picture",
                    "comparable (within 15%)", are_within(one, 3, uneven, 0.15), false, why,
                    "%.3f, %.3f and %.3f B/ns", one[0], one[1], one[3]);
  bf_reproduce_fact(run, "Fig. 3.5, layout 2, all pictures", "the same (within 5%)",
                    are_within(two, KINDS, all, 0.05), false, why, "%.3f, %.3f, %.3f and %.3f B/ns",
                    two[0], two[1], two[2], two[3]);
  bf_reproduce_claim claim = {.name = "Fig. 3.5, blocks of 32 threads faster than of 64",
                              .rule = BF_CLAIM_ALL,
                              .published_text = "in both layouts, with all pictures",
                              .published = LAYOUTS * KINDS,
                              .ours = faster,
                              .why = why};
  bf_reproduce_claim_addf(run, &claim, "in %u of %d", faster, LAYOUTS * KINDS);
  claim.name = "Fig. 3.5, layout 2 against layout 1";
  claim.published_text = "slower with the degenerate picture, faster with the others";
  claim.published = KINDS;
  claim.ours = as_said;
  bf_reproduce_claim_addf(run, &claim, "%.2f, %.2f, %.2f and %.2f times as fast", two[0] / one[0],
                          two[1] / one[1], two[2] / one[2], two[3] / one[3]);
}

/* What Fig. 3.6 is said to show, counted over some GPUs. */
typedef struct own_counts {
  unsigned cases, best, padded, improved;
  double nearest;  /* least time of padded copies, over that bin by bin */
  double furthest; /* most time of copies without padding, over that of padded ones */
} own_counts;

static own_counts count_layouts(const kinds_work *work, unsigned first, unsigned last) {
  own_counts counts = {.nearest = INFINITY};
  for (unsigned i = first * BLOCK_SIZES; i < (last + 1) * BLOCK_SIZES; i++) {
    const double *time = work->time[i / BLOCK_SIZES][i % BLOCK_SIZES];
    double bin = time[BF_VOTING_BIN_MAJOR], padded = time[BF_VOTING_PADDED],
           copy = time[BF_VOTING_COPY_MAJOR];
    counts.cases += bin > 0;
    counts.best += bin > 0 && bin < copy && (padded == 0 || bin <= padded);
    if (padded == 0)
      continue;
    counts.padded++;
    counts.improved += copy >= 1.15 * padded;
    counts.nearest = fmin(counts.nearest, padded / bin);
    counts.furthest = fmax(counts.furthest, copy / padded);
  }
  return counts;
}

/* Fig. 3.6. */
static void claim_layouts(bf_reproduce_run *run, const kinds_work *work) {
  own_counts all = count_layouts(work, 0, BF_VOTING_GPUS - 1);
  own_counts usual = count_layouts(work, GTX_470, GTX_470);
  own_counts fast = count_layouts(work, BF_VOTING_GPUS, BF_VOTING_GPUS);
  char why[400];
  snprintf(why, sizeof why,
           "few warps fit, and wait for their own results while others use the banks: copies "
           "without padding take %.2f times the time of padded ones on the GTX 470 at most, and "
           "%.2f times with shared memory in a quarter of the time. There bin-major is best in %u "
           "of %u cases (%u as usual). Where padded ones are fastest, fewer of them fit.",
           usual.furthest, fast.furthest, fast.best, fast.cases, usual.best);
  bf_reproduce_claim claim = {.name = "Fig. 3.6, best layout with a histogram for every thread",
                              .rule = BF_CLAIM_ALL,
                              .published_text = "bin-major, for all GPUs and sizes of blocks",
                              .published = all.cases,
                              .ours = all.best,
                              .why = why};
  bf_reproduce_claim_addf(run, &claim, "in %u of %u cases", all.best, all.cases);
  claim.name = "Fig. 3.6, padding of copies";
  claim.published_text = "significantly faster than none (15% or more)";
  claim.published = all.padded;
  claim.ours = all.improved;
  bf_reproduce_claim_addf(run, &claim, "in %u of %u cases", all.improved, all.padded);
  bf_reproduce_fact(run, "Fig. 3.6, padded against bin-major, at best", "matches it (within 5%)",
                    fabs(all.nearest - 1) <= 0.05, false, why, "%.3f times the time", all.nearest);
}

int bf_voting_kinds(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  kinds_work *work = bf_arena_alloc(bf_reproduce_arena(run), sizeof *work);
  if (!work)
    return bf_no_memory(diagnostic);
  work->rows = bf_reproduce_is_quick(run) ? QUICK_ROWS : ROWS;
  BF_TRY(bf_voting_kind_pictures(run, work->rows, work->pixels, diagnostic));
  BF_TRY(bf_reproduce_parallel(run, KINDS * LAYOUTS * RATES, "pictures", count_kind, work,
                               diagnostic));
  work->block_sizes = bf_reproduce_is_quick(run) ? 1 : BLOCK_SIZES;
  BF_TRY(bf_reproduce_parallel(run, (BF_VOTING_GPUS + 1) * work->block_sizes * BF_VOTING_LAYOUTS,
                               "layouts", count_size, work, diagnostic));
  add_tables(run, work);
  claim_words(run, work);
  if (!bf_reproduce_is_quick(run)) {
    claim_rates(run, work);
    claim_layouts(run, work);
  }
  return bf_voting_extensions(run, diagnostic);
}
