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

double bf_rounds_left_seconds(const bf_rounds *rounds) {
  double spent = bf_seconds() - rounds->started, done = atomic_load(&rounds->finished_work);
  if (atomic_load(&rounds->round) > 0 || atomic_load(&rounds->again))
    return rounds->left_seconds;
  return done > 0 ? spent * (rounds->work - done) / done : BF_ROUNDS_UNKNOWN;
}

/* Whether the first round cannot end in time: seen once a second is over. */
static bool takes_too_long(const bf_rounds *r) {
  double now = bf_seconds(), deadline = r->exact->deadline;
  if (atomic_load(&r->round) > 0 || deadline == 0 || r->together || now - r->started < 1)
    return false;
  return bf_rounds_left_seconds(r) > 0.7 * (deadline - now);
}

/* How far the next target is from what is known. The time of a round depends little on its target
 * where accesses have no structure; so where the whole proof would take not much more than what is
 * left, the first target is a tenth below the best cost. */
static uint64_t step_to_target(const bf_rounds *r, uint64_t from, uint64_t best) {
  double left = r->exact->deadline - bf_seconds();
  uint64_t half = (best - from) / 2 + 1, high = best - best / 10;
  return r->stage == 0 && high > from + half && r->left_seconds < 1.5 * left ? high - from : half;
}

/* Sets the next target and starts all tasks again: from what is known, in steps that halve what is
 * left to the best cost. */
static void next_round(bf_rounds *r) {
  uint64_t best = atomic_load(&r->exact->best), from = bf_rounds_lower(r);
  uint64_t step = step_to_target(r, from, best);
  r->stage++;
  atomic_store(&r->target, from + step >= best || r->stage > 12 ? UINT64_MAX : from + step);
  for (uint32_t i = 0; i < r->tasks; i++)
    atomic_store(&r->task[i].done, false);
  atomic_store(&r->finished, 0);
  atomic_store(&r->finished_work, 0);
  atomic_store(&r->next, 0);
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

static void finish(bf_rounds *r, bf_round_task *task) {
  atomic_store(&task->done, true);
  atomic_fetch_add(&r->finished, 1);
  double before = atomic_load(&r->finished_work);
  while (!atomic_compare_exchange_weak(&r->finished_work, &before, before + task->work))
    ;
  if (!takes_too_long(r))
    return;
  pthread_mutex_lock(&r->lock);
  if (!atomic_load(&r->again)) {
    r->left_seconds = bf_rounds_left_seconds(r);
    atomic_store(&r->again, true);
  }
  pthread_mutex_unlock(&r->lock);
}

/* Takes one task after another of a round. */
static void work_on_round(bf_rounds *r, void (*take)(void *worker, uint32_t number), void *worker) {
  for (;;) {
    uint32_t number = atomic_fetch_add(&r->next, 1);
    if (number >= r->tasks || bf_rounds_halted(r))
      return;
    if (r->task[number].bound < bf_rounds_limit(r))
      take(worker, number);
    if (bf_rounds_halted(r))
      return;
    finish(r, &r->task[number]);
  }
}

/* The same with tasks that other processes take too. False where one of them has some of those
 * left.
 */
static bool work_on_shared(bf_rounds *r, void (*take)(void *worker, uint32_t number), void *worker,
                           int *descriptor) {
  bool is_whole = true;
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
      finish(r, task);
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
