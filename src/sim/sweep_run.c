/* Runs the points of a sweep. Workers take points until none is left; where other processes have
 * the last ones, they wait, to take over what those leave behind if they die. */
#include "sim/sweep.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

typedef struct sweep_crew {
  const bf_sim_sweep_run *run;
  bf_sim_sweep_file *file;
  uint64_t before; /* points finished before */
  pthread_mutex_t mutex;
  pthread_cond_t change;
  /* Under the mutex: */
  unsigned working;
  uint64_t own; /* points finished by this crew */
  int error;
  bf_diagnostic diagnostic;
} sweep_crew;

/* Waits for a change in the crew, but no longer than some milliseconds. The caller has the mutex.
 */
static void wait_for_change(sweep_crew *crew, long milliseconds) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += milliseconds * 1000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&crew->change, &crew->mutex, &until);
}

/* The first error ends the work of all. */
static void note_error(sweep_crew *crew, int error, const bf_diagnostic *diagnostic) {
  pthread_mutex_lock(&crew->mutex);
  if (!crew->error) {
    crew->error = error;
    crew->diagnostic = *diagnostic;
  }
  pthread_cond_broadcast(&crew->change);
  pthread_mutex_unlock(&crew->mutex);
}

/* Runs a point that was taken, and adds its row. */
static int run_point(sweep_crew *crew, uint64_t point, bf_diagnostic *diagnostic) {
  const bf_sim_sweep_run *run = crew->run;
  bf_sim_row row;
  bf_sim_row_begin(&run->form, point, &row);
  int error = run->point(run->context, point, &row, diagnostic);
  bool is_result = error == BF_BAD_INPUT || error == BF_UNSUPPORTED;
  if (is_result) { /* what was added before the error does not count */
    bf_text_free(&row.text);
    bf_sim_row_begin(&run->form, point, &row);
  }
  if (!error || is_result) {
    bf_sim_row_end(&row, is_result ? diagnostic->message : NULL);
    error = bf_sim_sweep_file_add(crew->file, point, &row, diagnostic);
  }
  bf_text_free(&row.text);
  return error;
}

/* Whether to go on; after WAIT, some time later. */
static bool may_go_on(sweep_crew *crew, bf_sim_claim claim) {
  pthread_mutex_lock(&crew->mutex);
  crew->own += claim == BF_SIM_CLAIM_TAKEN;
  if (claim == BF_SIM_CLAIM_WAIT && !crew->error)
    wait_for_change(crew, 100);
  bool go_on = claim != BF_SIM_CLAIM_NONE && !crew->error;
  pthread_mutex_unlock(&crew->mutex);
  return go_on;
}

static void work(sweep_crew *crew) {
  bf_sim_claim claim = BF_SIM_CLAIM_NONE;
  bf_diagnostic diagnostic;
  do {
    uint64_t point;
    int error = bf_sim_sweep_file_claim(crew->file, &claim, &point, &diagnostic);
    if (!error && claim == BF_SIM_CLAIM_TAKEN)
      error = run_point(crew, point, &diagnostic);
    if (error) {
      note_error(crew, error, &diagnostic);
      break;
    }
  } while (may_go_on(crew, claim));
  pthread_mutex_lock(&crew->mutex);
  crew->working--;
  pthread_cond_broadcast(&crew->change);
  pthread_mutex_unlock(&crew->mutex);
}

/* Tells how far the sweep is. */
static void tell(const sweep_crew *crew) {
  bf_sim_sweep_count count;
  bf_diagnostic diagnostic;
  if (crew->run->progress && !bf_sim_sweep_file_count(crew->file, &count, &diagnostic))
    crew->run->progress(crew->run->context, &count, crew->before);
}

/* Tells it five times a second until all workers have ended, and then once more. */
static void watch(sweep_crew *crew) {
  bool is_over = false;
  while (!is_over) {
    tell(crew);
    pthread_mutex_lock(&crew->mutex);
    if (crew->working > 0)
      wait_for_change(crew, 200);
    is_over = crew->working == 0;
    pthread_mutex_unlock(&crew->mutex);
  }
  tell(crew);
}

static void join_crew(void *context, unsigned index) {
  if (index == 0)
    watch(context);
  else
    work(context);
}

/* Runs all points that are left, with as many workers as are wanted but no more than points. */
static int run_crew(const bf_sim_sweep_run *run, bf_sim_sweep_file *file,
                    bf_sim_sweep_outcome *outcome, bf_diagnostic *diagnostic) {
  uint64_t left = outcome->count.points - outcome->before;
  unsigned workers = run->workers ? run->workers : bf_cores();
  if (workers > left)
    workers = (unsigned)left;
  sweep_crew crew = {.run = run, .file = file, .before = outcome->before, .working = workers};
  pthread_mutex_init(&crew.mutex, NULL);
  pthread_cond_init(&crew.change, NULL);
  bf_run_threads(1 + workers, join_crew, &crew);
  pthread_cond_destroy(&crew.change);
  pthread_mutex_destroy(&crew.mutex);
  outcome->own = crew.own;
  if (crew.error && diagnostic)
    *diagnostic = crew.diagnostic;
  return crew.error;
}

typedef struct sized_point {
  double work;
  uint64_t point;
} sized_point;

/* More work comes first; of equals the one with the lower number. */
static int by_work(const void *a, const void *b) {
  const sized_point *x = a, *y = b;
  if (x->work != y->work)
    return x->work > y->work ? -1 : 1;
  return (x->point > y->point) - (x->point < y->point);
}

/* The order of points, longest first, which the caller frees also after an error; NULL where all
 * are alike. */
static int find_order(const bf_sim_sweep_run *run, uint64_t **order, bf_diagnostic *diagnostic) {
  uint64_t points = run->form.sweep->points;
  *order = NULL;
  if (!run->work)
    return BF_OK;
  sized_point *sized = malloc(points * sizeof *sized);
  *order = malloc(points * sizeof **order);
  if (!sized || !*order) {
    free(sized);
    return bf_no_memory(diagnostic);
  }
  for (uint64_t i = 0; i < points; i++)
    sized[i] = (sized_point){run->work(run->context, i), i};
  qsort(sized, points, sizeof *sized, by_work);
  for (uint64_t i = 0; i < points; i++)
    (*order)[i] = sized[i].point;
  free(sized);
  return BF_OK;
}

int bf_sim_sweep_all(const bf_sim_sweep_run *run, bf_sim_sweep_outcome *outcome,
                     bf_diagnostic *diagnostic) {
  bf_sim_sweep_file *file;
  *outcome = (bf_sim_sweep_outcome){0};
  uint64_t *order = NULL;
  BF_TRY(bf_sim_sweep_file_open(run->path, &run->form, &file, diagnostic));
  int error = bf_sim_sweep_file_count(file, &outcome->count, diagnostic);
  outcome->before = outcome->count.finished;
  if (!error && outcome->before < outcome->count.points)
    error = find_order(run, &order, diagnostic);
  bf_sim_sweep_file_order(file, order);
  if (!error)
    error = run_crew(run, file, outcome, diagnostic);
  if (!error)
    error = bf_sim_sweep_file_sort(file, diagnostic);
  if (!error)
    error = bf_sim_sweep_file_count(file, &outcome->count, diagnostic);
  bf_sim_sweep_file_close(file);
  free(order);
  return error;
}
