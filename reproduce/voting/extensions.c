/* Pictures of 2048 pixels a row are counted by a whole GTX 470, because pixels that are not read
 * coalesced cost bandwidth that multiprocessors share. */
#include "reproduce/voting/extensions.h"

#include "kernels/corpus.h"
#include "reproduce/atomics/photo.h"
#include "reproduce/voting/device.h"

enum { WIDTH = BF_VOTING_KIND_WIDTH, ROWS = 512, QUICK_ROWS = 32, BINS = BF_VOTING_KIND_BINS };
enum { THREADS = 192, BLOCKS_PER_SM = 8 };

/* Strides of pixels that lanes side by side read; the first is coalesced. */
enum { STRIDES = 6 };
static const uint32_t strides[STRIDES] = {1, 8, 16, 32, 64, 128};

/* What is run: three ways to count with each stride, and rearranging. HELD is BY_ATOMICS where the
 * loop of an atomic holds the memory from its first step to its last. */
enum { BY_TAGS, BY_ATOMICS, HELD, COUNTERS, REARRANGED = COUNTERS * STRIDES, RUNS };

typedef struct extensions_work {
  uint32_t rows;
  uint8_t *pixels[KINDS];
  double rate[RUNS][KINDS]; /* bytes in a nanosecond */
  double moving[KINDS];     /* part of the time of REARRANGED that rearranging takes */
} extensions_work;

/* ---- Running ---- */

int bf_voting_kind_pictures(bf_reproduce_run *run, uint32_t rows, uint8_t *pixels[KINDS],
                            bf_diagnostic *diagnostic) {
  bf_arena *arena = bf_reproduce_arena(run);
  size_t count = (size_t)WIDTH * rows;
  uint16_t *photo = bf_arena_alloc(arena, count * sizeof *photo);
  bf_corpus_random random = bf_corpus_seed(1);
  for (unsigned kind = 0; kind < KINDS; kind++) {
    uint8_t *to = pixels[kind] = bf_arena_alloc(arena, count);
    if (!photo || !to)
      return bf_no_memory(diagnostic);
    if (kind <= IMAGE_2)
      BF_TRY(bf_photo_make(kind, WIDTH, rows, photo, diagnostic));
    for (size_t i = 0; i < count; i++)
      to[i] = kind <= IMAGE_2  ? (uint8_t)(photo[i] / (BF_PHOTO_LEVELS / BINS))
              : kind == RANDOM ? (uint8_t)(bf_corpus_next(&random) >> 24)
                               : BINS / 2;
  }
  return BF_OK;
}

/* A picture on a GPU. */
typedef struct extensions_device {
  bf_voting_device device;
  uint32_t pixels;
  uint64_t image, other, sums; /* addresses; other: of the pixels that are rearranged */
  uint32_t wanted[BINS];
} extensions_device;

static int create(const uint8_t *pixels, uint32_t count, extensions_device *own,
                  bf_diagnostic *diagnostic) {
  *own = (extensions_device){.pixels = count};
  for (uint32_t i = 0; i < count; i++)
    own->wanted[pixels[i]]++;
  BF_TRY(bf_voting_device_create("gtx470", "extensions", 0, &own->device, diagnostic));
  BF_TRY(bf_voting_upload(&own->device, pixels, count, &own->image, diagnostic));
  BF_TRY(bf_voting_upload(&own->device, NULL, count, &own->other, diagnostic));
  return bf_voting_upload(&own->device, NULL, sizeof own->wanted, &own->sums, diagnostic);
}

/* Counts pixels at an address; adds its time to *seconds. */
static int count_pixels(extensions_device *own, unsigned counter, uint32_t stride, uint64_t pixels,
                        double *seconds, bf_diagnostic *diagnostic) {
  const void *parameter[] = {&pixels, &own->pixels, &stride, &own->sums};
  bf_voting_launch launch = {.kernel = counter == BY_TAGS ? "count_by_tags" : "count_by_atomics",
                             .is_only_one = true,
                             .blocks = (uint32_t)own->device.gpu->sms * BLOCKS_PER_SM,
                             .threads = THREADS,
                             .shared_bytes = THREADS / 32 * BINS * sizeof(uint32_t),
                             .parameters = sizeof parameter / sizeof *parameter,
                             .parameter = parameter};
  BF_TRY(bf_voting_run(&own->device, &launch, seconds, diagnostic));
  return bf_voting_compare(&own->device, own->sums, own->wanted, BINS, diagnostic);
}

/* Moves pixels to `other`; adds its time to *seconds. */
static int rearrange(extensions_device *own, double *seconds, bf_diagnostic *diagnostic) {
  const void *parameter[] = {&own->image, &own->pixels, &own->other};
  bf_voting_launch launch = {.kernel = "rearrange",
                             .is_only_one = true,
                             .blocks = own->pixels / 4096,
                             .threads = 256,
                             .parameters = sizeof parameter / sizeof *parameter,
                             .parameter = parameter};
  return bf_voting_run(&own->device, &launch, seconds, diagnostic);
}

/* Task: one picture in one way. */
static int run_one(void *context, unsigned index, bf_diagnostic *diagnostic) {
  extensions_work *work = context;
  unsigned kind = index % KINDS, way = index / KINDS;
  extensions_device own;
  double moved = 0, seconds = 0;
  int error = create(work->pixels[kind], WIDTH * work->rows, &own, diagnostic);
  if (!error && way == REARRANGED)
    error = rearrange(&own, &moved, diagnostic);
  if (!error && way / STRIDES == HELD)
    error = bf_sim_gpu_set(own.device.gpu, "lock_holds=loop", diagnostic);
  if (!error)
    error = way == REARRANGED ? count_pixels(&own, BY_TAGS, 1, own.other, &seconds, diagnostic)
                              : count_pixels(&own, way / STRIDES, strides[way % STRIDES], own.image,
                                             &seconds, diagnostic);
  work->rate[way][kind] = error ? 0 : own.pixels / (1e9 * (moved + seconds));
  if (way == REARRANGED)
    work->moving[kind] = error ? 0 : moved / (moved + seconds);
  bf_voting_device_free(&own.device);
  return error;
}

/* ---- What follows ---- */

/* The stride, other than 1, with which software atomics count both photographs fastest, as a
 * geometric mean. */
static unsigned best_stride(const extensions_work *work) {
  unsigned best = 1;
  for (unsigned i = 2; i < STRIDES; i++) {
    const double *own = work->rate[BY_TAGS * STRIDES + i];
    const double *other = work->rate[BY_TAGS * STRIDES + best];
    best = own[IMAGE_1] * own[IMAGE_2] > other[IMAGE_1] * other[IMAGE_2] ? i : best;
  }
  return best;
}

/* The baseline and the extensions of the document. */
enum { BASELINE, REARRANGING, STRIDED, ATOMIC, STRIDED_ATOMIC, WAYS };
typedef struct extensions_ways {
  const double *rate[WAYS];          /* by picture */
  const double *held, *strided_held; /* the last two, where memory is held */
  uint32_t stride;
} extensions_ways;

static extensions_ways ways_of(const extensions_work *work) {
  unsigned stride = best_stride(work);
  return (extensions_ways){.rate = {work->rate[BY_TAGS * STRIDES], work->rate[REARRANGED],
                                    work->rate[BY_TAGS * STRIDES + stride],
                                    work->rate[BY_ATOMICS * STRIDES],
                                    work->rate[BY_ATOMICS * STRIDES + stride]},
                           .held = work->rate[HELD * STRIDES],
                           .strided_held = work->rate[HELD * STRIDES + stride],
                           .stride = strides[stride]};
}

/* ---- Report ---- */

static void add_row(bf_reproduce_table *table, const char *what, const double *rate) {
  bf_reproduce_cell(table, "%s", what);
  for (unsigned kind = 0; kind < KINDS; kind++)
    bf_reproduce_cell(table, "%.2f", rate[kind]);
}

static void add_table(bf_reproduce_run *run, const extensions_work *work) {
  static const char *const counters[COUNTERS] = {"software atomics", "hardware atomics",
                                                 "hardware atomics, memory held"};
  char what[100];
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "extensions", "Fig. 3.8: bytes per nanosecond of a GTX 470, a histogram for every warp",
      "way|image1|image2|degenerate|random");
  for (unsigned i = 0; i < REARRANGED; i++) {
    snprintf(what, sizeof what, "%s, lanes %u pixel%s apart", counters[i / STRIDES],
             strides[i % STRIDES], i % STRIDES ? "s" : "");
    add_row(table, what, work->rate[i]);
  }
  add_row(table, "software atomics, pixels rearranged before", work->rate[REARRANGED]);
  bf_reproduce_note(
      run, "Of the time of the last row, rearranging takes %.0f, %.0f, %.0f and %.0f%%.",
      100 * work->moving[0], 100 * work->moving[1], 100 * work->moving[2], 100 * work->moving[3]);
}

/* How many times as fast a way is as another, for some of the pictures; it is as published where
 * all are in the range. */
typedef struct extensions_claim {
  const char *name, *published;
  unsigned way, other, kinds, kind[KINDS];
  double least, most;
} extensions_claim;

/* Pictures that are counted more slowly have fewer bytes per nanosecond. */
static const double ANY = 1e9, LITTLE = 0.85;

static void claim_ratio(bf_reproduce_run *run, const extensions_ways *ways,
                        const extensions_claim *own, const char *why) {
  bf_text ours = {0};
  bool is_so = true;
  for (unsigned i = 0; i < own->kinds; i++) {
    double ratio = ways->rate[own->way][own->kind[i]] / ways->rate[own->other][own->kind[i]];
    is_so &= ratio > own->least && ratio <= own->most;
    bf_text_addf(&ours, "%s%.2f", i ? ", " : "", ratio);
  }
  bf_text_puts(&ours, " times as fast");
  bf_reproduce_fact(run, own->name, own->published, is_so, false, why, "%s",
                    ours.failed ? "" : ours.data);
  bf_text_free(&ours);
}

static void claim_baseline(bf_reproduce_run *run, const extensions_ways *ways) {
  static const double order[KINDS] = {2, 2, 1, 3};
  const double *rate = ways->rate[BASELINE];
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Fig. 3.8, software atomics",
                            .rule = BF_CLAIM_ORDER,
                            .published_text = "degenerate slowest, random fastest",
                            .published_list = order,
                            .ours_list = rate,
                            .count = KINDS,
                            .why = "see the table."},
      "%.2f, %.2f, %.2f and %.2f B/ns", rate[0], rate[1], rate[2], rate[3]);
}

/* Extensions 1 and 2: pixels side by side are not counted together. */
static void claim_spread(bf_reproduce_run *run, const extensions_ways *ways) {
  static const extensions_claim claims[] = {
      {"Fig. 3.8, extension 1 (pixels rearranged), both images",
       "faster than the baseline",
       REARRANGING,
       BASELINE,
       2,
       {IMAGE_1, IMAGE_2},
       1,
       ANY},
      {"Fig. 3.8, extension 1, degenerate picture",
       "slightly slower (by less than 15%)",
       REARRANGING,
       BASELINE,
       1,
       {DEGENERATE},
       LITTLE,
       1},
      {"Fig. 3.8, extension 1, random picture",
       "significantly slower (15% or more)",
       REARRANGING,
       BASELINE,
       1,
       {RANDOM},
       0,
       LITTLE},
      {"Fig. 3.8, extension 2 (pixels read with a stride), both images",
       "faster than extension 1",
       STRIDED,
       REARRANGING,
       2,
       {IMAGE_1, IMAGE_2},
       1,
       ANY},
      {"Fig. 3.8, extension 2, degenerate picture",
       "not faster than the baseline",
       STRIDED,
       BASELINE,
       1,
       {DEGENERATE},
       0,
       1},
      {"Fig. 3.8, extension 2, random picture",
       "slower than the baseline",
       STRIDED,
       BASELINE,
       1,
       {RANDOM},
       0,
       1},
  };
  for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
    claim_ratio(run, ways, &claims[i], "the table has the rates with every stride.");
  bf_reproduce_note(run,
                    "Fig. 3.8: the document does not tell the stride. It is %u pixels here, with "
                    "which software atomics count the two photographs fastest, in extensions 2 "
                    "and 4 alike.",
                    ways->stride);
}

/* Extensions 3 and 4: atomics of the hardware. */
static void claim_atomics(bf_reproduce_run *run, const extensions_ways *ways) {
  static const extensions_claim claims[] = {
      {"Fig. 3.8, extension 3 (hardware atomics), both images and the random picture",
       "faster than the baseline",
       ATOMIC,
       BASELINE,
       3,
       {IMAGE_1, IMAGE_2, RANDOM},
       1,
       ANY},
      {"Fig. 3.8, extension 3, degenerate picture",
       "significantly slower (15% or more)",
       ATOMIC,
       BASELINE,
       1,
       {DEGENERATE},
       0,
       LITTLE},
      {"Fig. 3.8, extension 4 (stride and hardware atomics), image2",
       "faster than extension 3",
       STRIDED_ATOMIC,
       ATOMIC,
       1,
       {IMAGE_2},
       1,
       ANY},
      {"Fig. 3.8, extension 4, image1",
       "slower than extension 3",
       STRIDED_ATOMIC,
       ATOMIC,
       1,
       {IMAGE_1},
       0,
       1},
      {"Fig. 3.8, extension 4, random picture",
       "slower than extension 3",
       STRIDED_ATOMIC,
       ATOMIC,
       1,
       {RANDOM},
       0,
       1},
  };
  char why[400];
  const double *base = ways->rate[BASELINE], *held = ways->held, *strided = ways->strided_held;
  snprintf(
      why, sizeof why,
      "in the model other warps use the memory between the steps of an atomic's loop. Where "
      "an atomic holds it, hardware atomics are %.2f, %.2f, %.2f and %.2f times as fast as the "
      "baseline with the four pictures, and the stride makes them %.2f, %.2f, %.2f and %.2f "
      "times as fast.",
      held[0] / base[0], held[1] / base[1], held[2] / base[2], held[3] / base[3],
      strided[0] / held[0], strided[1] / held[1], strided[2] / held[2], strided[3] / held[3]);
  for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
    claim_ratio(run, ways, &claims[i], why);
}

/* Which way is the fastest for each picture. */
static void claim_best(bf_reproduce_run *run, const extensions_ways *ways) {
  static const unsigned published[KINDS] = {ATOMIC, STRIDED, STRIDED, ATOMIC};
  unsigned best[KINDS] = {0}, same = 0;
  for (unsigned kind = 0; kind < KINDS; kind++) {
    for (unsigned way = 1; way < WAYS; way++)
      best[kind] = ways->rate[way][kind] > ways->rate[best[kind]][kind] ? way : best[kind];
    same += best[kind] == published[kind];
  }
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Fig. 3.8, the fastest extension for each picture",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "3, 2, 2 and 3",
                            .published = KINDS,
                            .ours = same,
                            .why = "hardware atomics gain more here, with equal pixels above all: "
                                   "see the row of the degenerate picture."},
      "%u, %u, %u and %u", best[0], best[1], best[2], best[3]);
}

int bf_voting_extensions(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  extensions_work work = {.rows = bf_reproduce_is_quick(run) ? QUICK_ROWS : ROWS};
  BF_TRY(bf_voting_kind_pictures(run, work.rows, work.pixels, diagnostic));
  BF_TRY(bf_reproduce_parallel(run, RUNS * KINDS, "extensions", run_one, &work, diagnostic));
  add_table(run, &work);
  if (bf_reproduce_is_quick(run))
    return BF_OK;
  extensions_ways ways = ways_of(&work);
  claim_baseline(run, &ways);
  claim_spread(run, &ways);
  claim_atomics(run, &ways);
  claim_best(run, &ways);
  return BF_OK;
}
