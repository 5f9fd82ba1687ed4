/* Tasks of a branch and bound, dealt out in rounds. */
#include "search/rounds.h"

#include "search/together.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int bf_rounds_start(bf_rounds *rounds, bf_exact *exact, size_t most, bf_diagnostic *diagnostic) {
  rounds->exact = exact;
  atomic_init(&rounds->target, UINT64_MAX);
  pthread_mutex_init(&rounds->lock, NULL);
  rounds->task = calloc(most, sizeof *rounds->task);
  return rounds->task ? BF_OK : bf_no_memory(diagnostic);
}

void bf_rounds_add(bf_rounds *rounds, uint64_t bound, double work) {
  bf_round_task *task = &rounds->task[rounds->tasks++];
  task->bound = bound;
  task->work = work;
  rounds->work += work;
}

void bf_rounds_spread(bf_rounds *rounds) {
  uint32_t step = (uint32_t)(0.618 * rounds->tasks);
  while (step > 1 && bf_common_factor(step, rounds->tasks) != 1)
    step--;
  rounds->step = step;
}

void bf_rounds_aim(bf_rounds *rounds, uint64_t target) { atomic_store(&rounds->target, target); }

void bf_rounds_free(bf_rounds *rounds) {
  if (rounds->exact)
    pthread_mutex_destroy(&rounds->lock);
  free(rounds->task);
}

/* Workers are to go. */
static bool is_over(const bf_rounds *rounds) {
  return bf_exact_stopped(rounds->exact) || atomic_load(&rounds->abandoned);
}

bool bf_rounds_halted(const bf_rounds *rounds) {
  return is_over(rounds) || atomic_load(&rounds->again);
}

/* Seconds of a processor that the calling thread had so far. */
static double thread_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What a round still takes, where what is done took that many seconds. */
static double seconds_left(const bf_rounds *r, double spent) {
  double done = atomic_load(&r->finished_work);
  return done > 0 ? spent * (r->work - done) / done : BF_ROUNDS_UNKNOWN;
}

/* The same by processor time, once all threads of the search work on it. */
static double processor_seconds_left(const bf_rounds *r) {
  unsigned threads = r->exact->options->threads, cores = bf_cores();
  threads = threads && threads < cores ? threads : cores;
  return seconds_left(r, atomic_load(&r->spent_seconds)) / threads;
}

double bf_rounds_left_seconds(const bf_rounds *r) {
  if (atomic_load(&r->round) > 0 || atomic_load(&r->again))
    return r->left_seconds;
  return processor_seconds_left(r);
}

/* Whether the round cannot end in time: once a second of a processor and a twentieth of the limit
 * are over or, by the clock, a third of what is left. Rounds after the first and that of a high
 * target go on until the end. */
static bool takes_too_long(const bf_rounds *r) {
  double now = bf_seconds(), deadline = r->exact->deadline, left = deadline - now;
  double spent = atomic_load(&r->spent_seconds), enough = (deadline - r->exact->started) / 20;
  bool may_give_up = atomic_load(&r->round) == 0 || r->is_high;
  if (!may_give_up || deadline == 0 || r->together || spent < (enough > 1 ? enough : 1))
    return false;
  if (processor_seconds_left(r) > 0.95 * left)
    return true;
  double here = now - r->started;
  return here > left / 3 && seconds_left(r, here) > 1.25 * left;
}

/* How far the next target is from what is known. Where the whole proof would take not much more
 * than what is left, the first target is a tenth below the best cost: what forces less than that
 * is a fraction of what forces less than the best. */
static uint64_t step_to_target(const bf_rounds *r, uint64_t from, uint64_t best) {
  double left = r->exact->deadline - bf_seconds();
  uint64_t half = (best - from) / 2 + 1, high = best - best / 10;
  return r->stage == 0 && high > from + half && r->left_seconds < 4 * left ? high - from : half;
}

/* Sets the next target and starts all tasks again: from what is known, in steps that halve what is
 * left to the best cost. */
static void next_round(bf_rounds *r) {
  uint64_t best = atomic_load(&r->exact->best), from = bf_rounds_lower(r);
  uint64_t step = step_to_target(r, from, best);
  r->is_high = r->stage == 0 && step > (best - from) / 2 + 1;
  r->stage++;
  atomic_store(&r->target, from + step >= best || r->stage > 12 ? UINT64_MAX : from + step);
  for (uint32_t i = 0; i < r->tasks; i++)
    atomic_store(&r->task[i].done, false);
  atomic_store(&r->finished, 0);
  atomic_store(&r->finished_work, 0);
  atomic_store(&r->spent_seconds, 0);
  atomic_store(&r->next, 0);
  r->started = bf_seconds();
  atomic_store(&r->again, false);
  atomic_fetch_add(&r->round, 1);
}

/* Ends a round whose tasks are all done: with proof, or with the next target. */
static void end_round(bf_rounds *r, unsigned round) {
  pthread_mutex_lock(&r->lock);
  if (atomic_load(&r->round) == round && !is_over(r)) {
    uint64_t target = atomic_load(&r->target), best = atomic_load(&r->exact->best);
    if (atomic_load(&r->again)) {
      next_round(r);
    } else if (target >= best) {
      atomic_store(&r->exact->proven, true);
      atomic_store(&r->exact->stop, true);
    } else {
      atomic_store(&r->reached, target);
      next_round(r);
    }
  }
  pthread_mutex_unlock(&r->lock);
}

static void add(_Atomic double *sum, double more) {
  double before = atomic_load(sum);
  while (!atomic_compare_exchange_weak(sum, &before, before + more))
    ;
}

/* Notes that a task is done, which the calling thread began at *since; the next begins now. */
static void finish(bf_rounds *r, bf_round_task *task, double *since) {
  double now = thread_seconds();
  atomic_store(&task->done, true);
  atomic_fetch_add(&r->finished, 1);
  add(&r->spent_seconds, now - *since);
  add(&r->finished_work, task->work);
  *since = now;
  if (!takes_too_long(r))
    return;
  pthread_mutex_lock(&r->lock);
  if (!atomic_load(&r->again)) {
    if (atomic_load(&r->round) == 0)
      r->left_seconds = bf_rounds_left_seconds(r);
    atomic_store(&r->again, true);
  }
  pthread_mutex_unlock(&r->lock);
}

/* Takes one task after another of a round. */
static void work_on_round(bf_rounds *r, void (*take)(void *worker, uint32_t number), void *worker) {
  double since = thread_seconds();
  for (;;) {
    uint32_t number = atomic_fetch_add(&r->next, 1);
    if (number >= r->tasks || bf_rounds_halted(r))
      return;
    if (r->step)
      number = (uint32_t)((uint64_t)number * r->step % r->tasks);
    if (r->task[number].bound < bf_rounds_limit(r))
      take(worker, number);
    if (bf_rounds_halted(r))
      return;
    finish(r, &r->task[number], &since);
  }
}

/* The same with tasks that other processes take too. False where one of them has some of those
 * left.
 */
static bool work_on_shared(bf_rounds *r, void (*take)(void *worker, uint32_t number), void *worker,
                           int *descriptor) {
  bool is_whole = true;
  double since = thread_seconds();
  for (uint32_t number = 0; number < r->tasks && !bf_rounds_halted(r); number++) {
    bf_round_task *task = &r->task[number];
    if (atomic_load(&task->done))
      continue;
    bool is_done = task->bound >= bf_rounds_limit(r) ||
                   bf_together_is_done(r->together, number, bf_rounds_limit(r));
    if (!is_done && !bf_together_take(r->together, descriptor, number)) {
      is_whole = false;
      continue;
    }
    if (!is_done) {
      if (!bf_together_is_done(r->together, number, bf_rounds_limit(r)))
        take(worker, number);
      bool is_left = bf_rounds_halted(r);
      bf_together_leave(r->together, *descriptor, number, is_left ? 0 : bf_rounds_limit(r));
      if (is_left)
        return false;
    }
    if (!atomic_exchange(&task->done, true))
      finish(r, task, &since);
  }
  return is_whole;
}

/* Works on shared tasks until none is left to anybody. */
static void work_together(bf_rounds *r, void (*take)(void *worker, uint32_t number), void *worker) {
  const struct timespec pause = {.tv_nsec = 20000000};
  int descriptor = -1;
  while (!work_on_shared(r, take, worker, &descriptor) && !bf_rounds_halted(r))
    nanosleep(&pause, NULL);
  if (descriptor >= 0)
    close(descriptor);
}

void bf_rounds_work(bf_rounds *r, void (*take)(void *worker, uint32_t number), void *worker) {
  const struct timespec pause = {.tv_nsec = 500000};
  pthread_mutex_lock(&r->lock);
  if (r->started == 0)
    r->started = bf_seconds();
  pthread_mutex_unlock(&r->lock);
  atomic_fetch_add(&r->workers, 1);
  while (!is_over(r)) {
    unsigned round = atomic_load(&r->round);
    if (r->together)
      work_together(r, take, worker);
    else
      work_on_round(r, take, worker);
    atomic_fetch_add(&r->waiting, 1);
    while (atomic_load(&r->round) == round && !is_over(r)) {
      if (atomic_load(&r->waiting) == atomic_load(&r->workers))
        end_round(r, round);
      else
        nanosleep(&pause, NULL);
    }
    atomic_fetch_sub(&r->waiting, 1);
  }
  atomic_fetch_sub(&r->workers, 1);
}

uint64_t bf_rounds_lower(const bf_rounds *r) {
  uint64_t best = atomic_load(&r->exact->best), lower = bf_rounds_limit(r);
  uint64_t reached = atomic_load(&r->reached);
  for (uint32_t i = 0; i < r->tasks; i++)
    if (!atomic_load(&r->task[i].done)) {
      lower = r->task[i].bound < lower ? r->task[i].bound : lower;
      break;
    }
  lower = lower < reached ? reached : lower;
  return lower < best ? lower : best;
}
