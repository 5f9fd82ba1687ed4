/* Tables 4.1 to 4.3. Some rows in the middle of the picture vote, and the time is scaled to all
 * edges; what lines take with an empty list is measured too and not scaled. The list of edges is
 * made of the whole picture. Lines are swept on a GPU of one multiprocessor that makes its share of
 * them; what is shown is of the whole GPU.
 *
 * The document does not say how eight copies of a line fit into 48 KB: for a picture of this size
 * and bins of one pixel, a line takes 13.5 KB. Bins are three pixels wide here, and eight copies
 * take 39 KB. */
#include "reproduce/atomics/edges.h"
#include "reproduce/atomics/photo.h"
#include "reproduce/voting/hough.h"
#include "reproduce/voting/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GLOBAL, TWO_STEP, WAYS, RHO_STEP = 3, SWEEPS = BF_VOTING_GPUS * WAYS * BF_VOTING_LAYOUTS };

static const double edge_share = 0.21; /* of the pictures of braak15, on average */

/* Rows in the middle of the picture that vote or are listed, and one of how many angles on the
 * whole GPU. */
typedef struct hough_rows {
  uint32_t global, global_sweep, lines, list;
  unsigned angle_step;
} hough_rows;
static const hough_rows full_rows = {32, 16, 192, BF_VOTING_HEIGHT, 1};
static const hough_rows quick_rows = {2, 2, 16, 16, 12};

typedef struct hough_work {
  bool is_quick;
  const hough_rows *rows;
  uint8_t *edges;
  uint32_t points; /* edges that are set */
  bf_voting_sweep sweep[SWEEPS];
  bf_voting_ours ours[WAYS][BF_VOTING_GPUS];
  double collect_ms[BF_VOTING_GPUS];
  /* Times of the best configuration, that as usual being 1: by global atomics with what a slice
   * takes for one halved and doubled; in two steps, without the list, with the memory held through
   * the loop of an atomic. */
  double halved[BF_VOTING_GPUS], doubled[BF_VOTING_GPUS], held[BF_VOTING_GPUS];
  /* What copies gain in two steps with the memory held so, and with points side by side. */
  double held_gain[BF_VOTING_GPUS], adjacent_gain[BF_VOTING_GPUS];
} hough_work;

static bool can_do(unsigned gpu, unsigned way) {
  return way == GLOBAL || bf_voting_gpus[gpu].has_atomics;
}

/* The sweeps of a way in all layouts. */
static const bf_voting_sweep *sweeps_of(const hough_work *work, unsigned gpu, unsigned way) {
  return &work->sweep[(gpu * WAYS + way) * BF_VOTING_LAYOUTS];
}

/* ---- What is tried; lists end with 0 ---- */

typedef struct hough_axes {
  unsigned copies[7], threads[5];
} hough_axes;

static const hough_axes full_axes[WAYS] = {{{1, 4, 8}, {128, 384}},
                                           {{1, 2, 4, 6, 8}, {288, 512, 1024}}};
static const hough_axes quick_axes[WAYS] = {{{1, 8}, {128}}, {{1, 4}, {1024}}};

/* Whether a block fits; one copy is the same in all layouts. */
static bool is_wanted(const bf_voting_hough *hough, unsigned way, const bf_voting_choice *choice) {
  uint64_t bytes = way == TWO_STEP ? bf_voting_hough_bytes(hough, choice) : 0;
  return (choice->copies > 1 || choice->layout == BF_VOTING_BIN_MAJOR) &&
         bf_voting_fits(hough->device.gpu, 1, choice->threads, bytes);
}

/* The configurations of the axes that a GPU can have. */
static void list_points(bool is_quick, unsigned gpu, unsigned way, bf_voting_layout layout,
                        const bf_voting_hough *hough, bf_voting_sweep *sweep) {
  const hough_axes *axes = is_quick ? &quick_axes[way] : &full_axes[way];
  for (const unsigned *copies = axes->copies; *copies; copies++)
    for (const unsigned *threads = axes->threads; *threads; threads++) {
      bf_voting_choice choice = {layout, *copies, *threads, 1};
      if (*threads <= bf_voting_gpus[gpu].most_threads && is_wanted(hough, way, &choice))
        bf_voting_sweep_add(sweep, &choice);
    }
}

/* ---- Devices ---- */

/* The rows in the middle of the edges. */
static bf_voting_edges middle_rows(const hough_work *work, uint32_t rows, unsigned angle_step) {
  size_t first = (BF_VOTING_HEIGHT - rows) / 2;
  return (bf_voting_edges){work->edges + first * BF_VOTING_WIDTH, rows, RHO_STEP, angle_step};
}

/* A GPU with some rows: whole, or one multiprocessor with its share of the angles, evenly spread.
 */
static int create_device(const hough_work *work, unsigned gpu, uint32_t rows, bool is_whole,
                         bf_voting_hough *hough, bf_diagnostic *diagnostic) {
  unsigned angle_step = is_whole ? work->rows->angle_step : bf_voting_gpus[gpu].sms;
  bf_voting_edges edges = middle_rows(work, rows, angle_step);
  return bf_voting_hough_create(bf_voting_gpus[gpu].name, is_whole ? 0 : 1, &edges, hough,
                                diagnostic);
}

/* A device for a way, with its list of edges where it needs one. */
static int create(const hough_work *work, unsigned gpu, unsigned way, bool is_sweep,
                  bf_voting_hough *hough, bf_diagnostic *diagnostic) {
  const hough_rows *rows = work->rows;
  double seconds;
  if (way == GLOBAL)
    return create_device(work, gpu, is_sweep ? rows->global_sweep : rows->global, true, hough,
                         diagnostic);
  BF_TRY(create_device(work, gpu, rows->lines, !is_sweep, hough, diagnostic));
  return bf_voting_hough_collect(hough, &seconds, diagnostic);
}

/* Milliseconds of a configuration for all edges and angles, without the list of edges. */
static int run_choice(const hough_work *work, unsigned way, bf_voting_hough *hough,
                      const bf_voting_choice *choice, double *milliseconds,
                      bf_diagnostic *diagnostic) {
  double vote, fixed, whole = (double)work->points / hough->points;
  if (way == GLOBAL) {
    BF_TRY(bf_voting_hough_global(hough, choice, &vote, &fixed, diagnostic));
  } else {
    BF_TRY(bf_voting_hough_lines(hough, choice, &vote, diagnostic));
    BF_TRY(bf_voting_hough_idle(hough, choice, &fixed, diagnostic));
    vote -= fixed;
  }
  unsigned angle_step = hough->device.gpu->sms > 1 ? work->rows->angle_step : 1;
  *milliseconds = 1e3 * angle_step * (vote * whole + fixed);
  return BF_OK;
}

/* ---- Sweeps ---- */

/* Task: one way on one GPU in one layout. */
static int find_sweep(void *context, unsigned index, bf_diagnostic *diagnostic) {
  hough_work *work = context;
  unsigned layout = index % BF_VOTING_LAYOUTS, way = index / BF_VOTING_LAYOUTS % WAYS;
  unsigned gpu = index / BF_VOTING_LAYOUTS / WAYS;
  bf_voting_sweep *sweep = &work->sweep[index];
  if (!can_do(gpu, way))
    return BF_OK;
  bf_voting_hough hough;
  int error = create(work, gpu, way, true, &hough, diagnostic);
  if (!error)
    list_points(work->is_quick, gpu, way, layout, &hough, sweep);
  for (unsigned i = 0; i < sweep->count && !error; i++)
    error = run_choice(work, way, &hough, &sweep->tried[i].choice, &sweep->tried[i].milliseconds,
                       diagnostic);
  bf_voting_hough_free(&hough);
  return error;
}

/* ---- What is shown ---- */

/* The list of all edges. */
static int find_list(hough_work *work, unsigned gpu, bf_diagnostic *diagnostic) {
  bf_voting_hough hough;
  double seconds = 0;
  int error = create_device(work, gpu, work->rows->list, true, &hough, diagnostic);
  if (!error)
    error = bf_voting_hough_collect(&hough, &seconds, diagnostic);
  if (!error)
    work->collect_ms[gpu] = 1e3 * seconds * work->points / hough.points;
  bf_voting_hough_free(&hough);
  return error;
}

/* Runs the best configuration and the published one. */
static int run_both(hough_work *work, unsigned gpu, unsigned way, bf_voting_hough *hough,
                    bf_diagnostic *diagnostic) {
  const bf_voting_choice *published = &bf_voting_hough_tables[way].best[gpu].choice;
  bf_voting_ours *ours = &work->ours[way][gpu];
  double list = way == TWO_STEP ? work->collect_ms[gpu] : 0;
  ours->best.choice = bf_voting_fastest(sweeps_of(work, gpu, way), BF_VOTING_LAYOUTS, 0)->choice;
  BF_TRY(run_choice(work, way, hough, &ours->best.choice, &ours->best.milliseconds, diagnostic));
  BF_TRY(run_choice(work, way, hough, published, &ours->at_published, diagnostic));
  if (ours->at_published < ours->best.milliseconds)
    ours->best = (bf_voting_best){*published, ours->at_published};
  ours->best.milliseconds += list;
  ours->at_published += list;
  return BF_OK;
}

/* Task: one way on one GPU. */
static int find_both(void *context, unsigned index, bf_diagnostic *diagnostic) {
  hough_work *work = context;
  unsigned way = index % WAYS, gpu = index / WAYS;
  if (!can_do(gpu, way))
    return BF_OK;
  if (way == TWO_STEP)
    BF_TRY(find_list(work, gpu, diagnostic));
  bf_voting_hough hough;
  int error = create(work, gpu, way, false, &hough, diagnostic);
  if (!error)
    error = run_both(work, gpu, way, &hough, diagnostic);
  bf_voting_hough_free(&hough);
  return error;
}

/* ---- What the model assumes ---- */

/* Global atomics with another time of a slice. */
static int run_atomics(hough_work *work, unsigned gpu, double factor, double *milliseconds,
                       bf_diagnostic *diagnostic) {
  bf_voting_hough hough;
  int error = create(work, gpu, GLOBAL, true, &hough, diagnostic);
  if (!error) {
    hough.device.gpu->l2_atomic_cycles *= factor;
    error = run_choice(work, GLOBAL, &hough, &work->ours[GLOBAL][gpu].best.choice, milliseconds,
                       diagnostic);
  }
  bf_voting_hough_free(&hough);
  return error;
}

/* Two steps of a multiprocessor, without the list: the best configuration and the same with one
 * copy, with the memory held, or points side by side. */
static int run_lines(hough_work *work, unsigned gpu, bool is_held, bool is_adjacent, double *best,
                     double *one, bf_diagnostic *diagnostic) {
  bf_voting_choice choice = work->ours[TWO_STEP][gpu].best.choice;
  bf_voting_hough hough;
  int error = create(work, gpu, TWO_STEP, true, &hough, diagnostic);
  if (!error && is_held)
    error = bf_sim_gpu_set(hough.device.gpu, "lock_holds=loop", diagnostic);
  if (!error && is_adjacent)
    error = bf_voting_hough_reorder(&hough, diagnostic);
  if (!error)
    error = run_choice(work, TWO_STEP, &hough, &choice, best, diagnostic);
  choice.copies = 1;
  choice.layout = BF_VOTING_BIN_MAJOR;
  if (!error)
    error = run_choice(work, TWO_STEP, &hough, &choice, one, diagnostic);
  bf_voting_hough_free(&hough);
  return error;
}

/* Task: one GPU. */
static int find_changed(void *context, unsigned gpu, bf_diagnostic *diagnostic) {
  hough_work *work = context;
  double usual, best, one, held;
  BF_TRY(run_atomics(work, gpu, 1, &usual, diagnostic));
  BF_TRY(run_atomics(work, gpu, 0.5, &work->halved[gpu], diagnostic));
  BF_TRY(run_atomics(work, gpu, 2, &work->doubled[gpu], diagnostic));
  work->halved[gpu] /= usual;
  work->doubled[gpu] /= usual;
  if (!can_do(gpu, TWO_STEP))
    return BF_OK;
  BF_TRY(run_lines(work, gpu, false, false, &best, &one, diagnostic));
  BF_TRY(run_lines(work, gpu, true, false, &held, &one, diagnostic));
  work->held[gpu] = held / best;
  work->held_gain[gpu] = one / held;
  BF_TRY(run_lines(work, gpu, false, true, &best, &one, diagnostic));
  work->adjacent_gain[gpu] = one / best;
  return BF_OK;
}

/* ---- Tables ---- */

static const char *const way_titles[WAYS] = {"global atomics", "two steps, shared atomics"};

static void add_sweeps(bf_reproduce_run *run, const hough_work *work) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "sweep", "All configurations, estimated from a part of the edges, without the list",
      "GPU|way|layout|copies|threads|blocks per SM|ms");
  bf_reproduce_table_csv_only(table);
  for (unsigned i = 0; i < SWEEPS; i++)
    bf_voting_show_sweep(table, i / BF_VOTING_LAYOUTS / WAYS,
                         way_titles[i / BF_VOTING_LAYOUTS % WAYS], &work->sweep[i]);
}

/* ---- Claims ---- */

/* How many times faster the best number of copies is than one. */
static double gain_of_copies(const hough_work *work, unsigned gpu, unsigned way) {
  const bf_voting_sweep *sweeps = sweeps_of(work, gpu, way);
  return bf_voting_fastest(sweeps, BF_VOTING_LAYOUTS, 1)->milliseconds /
         bf_voting_fastest(sweeps, BF_VOTING_LAYOUTS, 0)->milliseconds;
}

static void claim_copies(bf_reproduce_run *run, const hough_work *work) {
  double old = gain_of_copies(work, 0, GLOBAL);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "8800 GT, global atomics, gain by copies (1.5 to 0.32 s)",
                                 .rule = BF_CLAIM_GAIN,
                                 .published = 4.7,
                                 .ours = old,
                                 .unit = " times",
                                 .why = "in the model an addition takes a slice of memory as long "
                                        "whether others add to the same word or not: "
                                        "histogram-tables measures it with pictures of one value "
                                        "and of random ones."});
  double fermi = gain_of_copies(work, 1, TWO_STEP), kepler = gain_of_copies(work, 2, TWO_STEP);
  double maxwell = gain_of_copies(work, 3, TWO_STEP);
  const double published[] = {2.3, 2.3, 1.1}, ours[] = {fermi, kepler, maxwell};
  char why[300];
  snprintf(why, sizeof why,
           "with the memory held through the loop of an atomic it is %.2f, %.2f and %.2f; with "
           "points that follow each other in lanes side by side, where a thread of ours takes four "
           "at a time, %.2f, %.2f and %.2f.",
           work->held_gain[1], work->held_gain[2], work->held_gain[3], work->adjacent_gain[1],
           work->adjacent_gain[2], work->adjacent_gain[3]);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "GTX 470, Titan, 750 Ti, shared atomics, gain by copies",
                                 .rule = BF_CLAIM_GAIN,
                                 .published_list = published,
                                 .ours_list = ours,
                                 .count = 3,
                                 .unit = " times",
                                 .why = why});
}

/* Section 4.3: what GPUs gain with one copy, against the CPU, and where two steps are fastest. */
static void claim_gpus(bf_reproduce_run *run, const hough_work *work) {
  const bf_voting_ours *global = work->ours[GLOBAL], *steps = work->ours[TWO_STEP];
  double one[BF_VOTING_GPUS];
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++)
    one[gpu] = bf_voting_fastest(sweeps_of(work, gpu, GLOBAL), BF_VOTING_LAYOUTS, 1)->milliseconds;
  const double published[] = {7, 8}, gains[] = {global[0].best.milliseconds / one[1],
                                                global[1].best.milliseconds / one[2]};
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "one copy against the best of the GPU before it, GTX 470 "
                                         "and Titan",
                                 .rule = BF_CLAIM_GAIN,
                                 .published_list = published,
                                 .ours_list = gains,
                                 .count = 2,
                                 .unit = " times",
                                 .why = "the times of Table 4.1 that it is made of differ."});
  bf_reproduce_fact(
      run, "global atomics against 14 ms of a Core i7-4770",
      "the 8800 GT is slower, the GTX 470 within 15%, the others faster",
      global[0].best.milliseconds > 14 && fabs(global[1].best.milliseconds / 14 - 1) <= 0.15 &&
          global[2].best.milliseconds < 14 && global[3].best.milliseconds < 14,
      false, "see Table 4.1.", "%.3g, %.3g, %.3g and %.3g ms", global[0].best.milliseconds,
      global[1].best.milliseconds, global[2].best.milliseconds, global[3].best.milliseconds);
  char why[200];
  snprintf(why, sizeof why,
           "the GTX Titan is: with the memory held through the loop of an atomic its votes take "
           "%.1f times as long, those of the 750 Ti, which has no such loop, %.1f times.",
           work->held[2], work->held[3]);
  bf_reproduce_fact(run, "two steps, fastest GPU", "GTX 750 Ti",
                    steps[3].best.milliseconds < steps[1].best.milliseconds &&
                        steps[3].best.milliseconds < steps[2].best.milliseconds,
                    false, why, "%.3g, %.3g and %.3g ms", steps[1].best.milliseconds,
                    steps[2].best.milliseconds, steps[3].best.milliseconds);
  const double lists[] = {0.45, 0.47}, ours[] = {work->collect_ms[2], work->collect_ms[3]};
  bf_reproduce_claim_add(
      run,
      &(bf_reproduce_claim){.name = "list of edges, GTX Titan and 750 Ti",
                            .published_list = lists,
                            .ours_list = ours,
                            .count = 2,
                            .unit = " ms",
                            .why = "a warp of the document tries places of its list until each "
                                   "lane has one; a block of ours finds them with one sum "
                                   "over its threads."});
}

/* The factor between global atomics and two steps. */
static double gain(const hough_work *work, unsigned gpu) {
  return work->ours[GLOBAL][gpu].best.milliseconds / work->ours[TWO_STEP][gpu].best.milliseconds;
}

static void claim_ways(bf_reproduce_run *run, const hough_work *work) {
  const double published[] = {5.8, 2.8}, ours[] = {gain(work, 1), gain(work, 3)};
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){
               .name = "Table 4.3, two steps against global atomics, GTX 470 and 750 Ti",
               .rule = BF_CLAIM_GAIN,
               .published_list = published,
               .ours_list = ours,
               .count = 2,
               .unit = " times",
               .why = "two steps are faster, as published, but by more: see the times of Tables "
                      "4.1 and 4.2, and the reasons there."});
  if (work->is_quick)
    return;
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "Table 4.3, the same on the GTX Titan",
                                 .rule = BF_CLAIM_GAIN,
                                 .published = 1.3 / 1.8,
                                 .ours = gain(work, 2),
                                 .unit = " times",
                                 .why = "the list takes less here, see its row, and global "
                                        "atomics take longer: see the reason of Table 4.1."});
}

/* Fig. 4.10: how far configurations are apart. */
static void claim_spread(bf_reproduce_run *run, const hough_work *work) {
  double old = bf_voting_spread(sweeps_of(work, 0, GLOBAL), BF_VOTING_LAYOUTS);
  double new = bf_voting_spread(sweeps_of(work, 3, GLOBAL), BF_VOTING_LAYOUTS);
  double locks = bf_voting_spread(sweeps_of(work, 1, TWO_STEP), BF_VOTING_LAYOUTS);
  double unit = bf_voting_spread(sweeps_of(work, 3, TWO_STEP), BF_VOTING_LAYOUTS);
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Fig. 4.10, times are nearer to each other on newer GPUs",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "for both ways",
                            .published = WAYS,
                            .ours = (new < old) + (unit < locks),
                            .why = "worst over best configuration; copies of the 8800 GT gain "
                                   "little in the model."},
      "global %.2f on the 8800 GT, %.2f on the 750 Ti; shared %.2f on the 470, %.2f", old, new,
      locks, unit);
}

/* Section 4.5: a way whose time does not depend on the number of edges. It has not been written for
 * these GPUs; that of gpu/vote was measured on an H200 with 10, 21 and 50% of edges. */
static void claim_constant(bf_reproduce_run *run) {
  double least = INFINITY, most = 0, list[2] = {INFINITY, 0};
  for (const char *line = bf_reproduce_data("hough"); line; line = strchr(line, '\n')) {
    double microseconds;
    char method[40];
    line += *line == '\n';
    if (sscanf(line, "Hough Cartesian,%*[^,],%*[^,],%*[^,],%39[^,],%*[^,],%lf", method,
               &microseconds) != 2)
      continue;
    if (strcmp(method, "constant time") == 0) {
      least = fmin(least, microseconds);
      most = fmax(most, microseconds);
    } else {
      list[0] = fmin(list[0], microseconds);
      list[1] = fmax(list[1], microseconds);
    }
  }
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Section 4.5, the time does not depend on edges (on an H200)",
                            .published = 1,
                            .ours = most / least,
                            .published_text = "the same",
                            .why = "some lines vote pixel by pixel."},
      "%.1f to %.1f us for 10 to 50%% of edges; with a list %.1f to %.1f us", least, most, list[0],
      list[1]);
}

/* Reasons with what was measured for them. */
typedef struct hough_reasons {
  char atomics[400], held[300], configured[WAYS][300];
} hough_reasons;

static void write_reasons(const hough_work *work, hough_reasons *reasons) {
  const double *half = work->halved, *twice = work->doubled;
  snprintf(
      reasons->atomics, sizeof reasons->atomics,
      "how long a slice of the second-level cache, or a memory controller of the 8800 GT, takes "
      "for an operation is a guess on all four GPUs: halved and doubled, times take, times "
      "those as usual: 8800 GT %.2f and %.2f, GTX 470 %.2f and %.2f, Titan %.2f and %.2f, "
      "750 Ti %.2f and %.2f.",
      half[0], twice[0], half[1], twice[1], half[2], twice[2], half[3], twice[3]);
  snprintf(
      reasons->held, sizeof reasons->held,
      "in the model other warps use the memory between the steps of an atomic's loop: where it "
      "is held, votes of the GTX 470 take %.1f times as long, of the Titan %.1f times; and "
      "lists take less than there, see their row.",
      work->held[1], work->held[2]);
  for (unsigned way = 0; way < WAYS; way++) {
    bf_text text = {0};
    for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++)
      if (can_do(gpu, way))
        bf_text_addf(&text, "%s%s %.2f", text.size ? ", " : "", bf_voting_gpus[gpu].title,
                     work->ours[way][gpu].at_published / work->ours[way][gpu].best.milliseconds);
    snprintf(reasons->configured[way], sizeof reasons->configured[way],
             "as configured there the GPUs take, times ours: %s.", text.failed ? "" : text.data);
    bf_text_free(&text);
  }
}

static void claim_all(bf_reproduce_run *run, const hough_work *work) {
  const bf_voting_table *tables = bf_voting_hough_tables;
  hough_reasons reasons;
  write_reasons(work, &reasons);
  bf_voting_claim_times(run, &tables[GLOBAL], work->ours[GLOBAL], reasons.atomics);
  bf_voting_claim_order(run, &tables[GLOBAL], work->ours[GLOBAL], NULL);
  bf_voting_claim_layouts(run, &tables[GLOBAL], work->ours[GLOBAL], NULL);
  bf_voting_claim_copies(run, &tables[GLOBAL], work->ours[GLOBAL], reasons.configured[GLOBAL]);
  bf_voting_claim_times(run, &tables[TWO_STEP], work->ours[TWO_STEP], reasons.held);
  bf_voting_claim_layouts(run, &tables[TWO_STEP], work->ours[TWO_STEP], NULL);
  bf_voting_claim_copies(run, &tables[TWO_STEP], work->ours[TWO_STEP],
                         reasons.configured[TWO_STEP]);
  claim_copies(run, work);
  claim_gpus(run, work);
  claim_spread(run, work);
  double kepler = work->ours[TWO_STEP][2].best.milliseconds - work->collect_ms[2];
  double maxwell = work->ours[TWO_STEP][3].best.milliseconds - work->collect_ms[3];
  const double published[] = {1.4, 1.2}, votes[] = {kepler, maxwell};
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "votes without the list, GTX Titan and 750 Ti",
                                 .published_list = published,
                                 .ours_list = votes,
                                 .count = 2,
                                 .unit = " ms",
                                 .why = reasons.held});
  claim_ways(run, work);
}

/* ---- All of it ---- */

/* Edges of the whole picture. */
static int make_edges(hough_work *work, bf_arena *arena, bf_diagnostic *diagnostic) {
  size_t pixels = (size_t)BF_VOTING_WIDTH * BF_VOTING_HEIGHT;
  uint16_t *picture = malloc(pixels * sizeof *picture);
  uint32_t *points = malloc(pixels * sizeof *points);
  work->edges = bf_arena_alloc(arena, pixels);
  int error = picture && points && work->edges ? BF_OK : bf_no_memory(diagnostic);
  if (!error)
    error = bf_photo_make(0, BF_VOTING_WIDTH, BF_VOTING_HEIGHT, picture, diagnostic);
  if (!error)
    error = bf_edges_find(picture, BF_VOTING_WIDTH, BF_VOTING_HEIGHT, edge_share, points,
                          &work->points, diagnostic);
  for (uint32_t i = 0; i < work->points && !error; i++)
    work->edges[(size_t)(points[i] >> 16) * BF_VOTING_WIDTH + (points[i] & 0xffff)] = 1;
  free(picture);
  free(points);
  return error;
}

int bf_voting_houghs(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  bf_arena *arena = bf_reproduce_arena(run);
  hough_work *work = bf_arena_alloc(arena, sizeof *work);
  if (!work)
    return bf_no_memory(diagnostic);
  work->is_quick = bf_reproduce_is_quick(run);
  work->rows = work->is_quick ? &quick_rows : &full_rows;
  BF_TRY(make_edges(work, arena, diagnostic));
  BF_TRY(bf_reproduce_parallel(run, SWEEPS, "configurations", find_sweep, work, diagnostic));
  BF_TRY(bf_reproduce_parallel(run, BF_VOTING_GPUS * WAYS, "best configurations", find_both, work,
                               diagnostic));
  if (!work->is_quick)
    BF_TRY(bf_reproduce_parallel(run, BF_VOTING_GPUS, "what is assumed", find_changed, work,
                                 diagnostic));
  for (unsigned way = 0; way < WAYS; way++)
    bf_voting_show(run, &bf_voting_hough_tables[way], work->ours[way]);
  bf_voting_show_ways(run, "table_4_3", "Table 4.3: the best times in milliseconds",
                      bf_voting_hough_tables, WAYS, way_titles, work->ours[0]);
  add_sweeps(run, work);
  claim_constant(run);
  if (work->is_quick)
    claim_ways(run, work);
  else
    claim_all(run, work);
  return BF_OK;
}
