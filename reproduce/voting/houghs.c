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
#include "reproduce/voting/hough_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double edge_share = 0.21; /* of the pictures of braak15, on average */

static const hough_rows full_rows = {32, 16, 192, BF_VOTING_HEIGHT, 1};
static const hough_rows quick_rows = {2, 2, 16, 16, 12};

bool bf_voting_can_vote(unsigned gpu, unsigned way) {
  return way == GLOBAL || bf_voting_gpus[gpu].has_atomics;
}

const bf_voting_sweep *bf_voting_vote_sweeps(const hough_work *work, unsigned gpu, unsigned way) {
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
  if (!bf_voting_can_vote(gpu, way))
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
  if (!error)
    error = bf_voting_listing(bf_voting_gpus[gpu].name, work->edges, work->rows->list,
                              work->is_quick, &work->listed[gpu], diagnostic);
  return error;
}

/* Runs the best configuration and the published one. */
static int run_both(hough_work *work, unsigned gpu, unsigned way, bf_voting_hough *hough,
                    bf_diagnostic *diagnostic) {
  const bf_voting_choice *published = &bf_voting_hough_tables[way].best[gpu].choice;
  bf_voting_ours *ours = &work->ours[way][gpu];
  double list = way == TWO_STEP ? work->collect_ms[gpu] : 0;
  ours->best.choice =
      bf_voting_fastest(bf_voting_vote_sweeps(work, gpu, way), BF_VOTING_LAYOUTS, 0)->choice;
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
  if (!bf_voting_can_vote(gpu, way))
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
  if (!bf_voting_can_vote(gpu, TWO_STEP))
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
  bf_voting_claim_constant(run);
  if (work->is_quick)
    bf_voting_claim_steps(run, work);
  else
    bf_voting_claim_houghs(run, work);
  return BF_OK;
}
