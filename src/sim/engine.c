/* Time. Multiprocessors run for a span of cycles by themselves; then what they asked of global
 * memory is put in order and served, and blocks that have ended are replaced. A span is no longer
 * than the way to the second-level cache and back and than the launch of a block, so nothing that
 * happens in a span can depend on what another multiprocessor did in the same span. Before it,
 * global memory is served up to return_cycles before its end: what is sent in the span reaches the
 * second-level cache later, and what happens there later is answered behind the span. There is one
 * exception: global atomics and volatile accesses. A multiprocessor that comes to one of them
 * pauses; when all have run or paused, those that paused go on one after the other, always the one
 * whose cycle is the earliest (and of equals the one with the lowest number), each until it comes
 * to the next such instruction or to the end of the span. Reductions, of which nobody reads the
 * result, need no pause: they are put off (emu/put_off.h) and made in the same order, before a
 * multiprocessor goes on that has paused behind them, and at the end of the span.
 *
 * With several threads memory works ahead: spans are then no longer than the way there and than the
 * way back, so that what memory does in a span comes of requests of spans before it and is answered
 * in spans behind it. One thread serves memory for a span while the others run multiprocessors in
 * it, and multiprocessors get its answers when they begin the next one.
 *
 * So the order of all that one multiprocessor can see of another follows from cycles and numbers
 * alone, and any number of threads gives the same result. (Programs with data races on plain
 * accesses see them in the order in which the host happens to execute them.) */
#include "sim/inbox.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const bf_sim_stall_names[BF_SIM_STALLS] = {"no warps",   "barrier",   "global memory",
                                                       "dependency", "kept back", "conflict",
                                                       "writeback",  "unit busy", "queue full"};

/* CLUSTER_SPAN: cycles of a span where blocks of a cluster wait for each other, of which news come
 * with the end of a span. */
enum { REPORT_SPANS = 256, MOST_SPINS = 1000, MOST_CLUSTER = 16, CLUSTER_SPAN = 32 };

/* So many answers touch about all of a first-level cache. */
enum { MANY_ANSWERS = 64 };

/* Where threads meet at the end of a span; the last to come does what follows a span before all go
 * on. How many there are may be set after some have come. Most spans take all threads about as
 * long, so a thread looks for the others for a moment before it sleeps. */
typedef struct meeting {
  pthread_mutex_t lock;
  pthread_cond_t all_here;
  unsigned threads, here;
  unsigned number; /* of the meeting */
} meeting;

/* Multiprocessors that a thread simulates in a span; when it has no more it takes those of others.
 * So a thread has the same ones again and again, and finds them in its cache. */
typedef struct share {
  unsigned next, end;
  char apart[56]; /* a line of the host's cache for each */
} share;

typedef struct ended {
  uint64_t cycle;
  unsigned sm;
} ended;

typedef struct engine {
  const bf_sim_settings *settings;
  const bf_emu_launch *launch;
  bf_sim_feed *feed;
  bf_sim_program *program;
  bf_sim_addresses addresses;
  bf_sim_memory *memory;
  bf_sim_sm *sm;
  unsigned sms;
  uint64_t blocks, next_block, blocks_done;
  uint64_t span, until; /* length of a span; the end of the current one */
  uint64_t long_span;   /* its length where memory does not work ahead */
  uint64_t spans;       /* simulated so far */
  double alone_seconds; /* processor time in which threads wait for one of them */
  uint64_t last_end;    /* cycle at which the last block so far has ended */
  uint64_t last_answer; /* cycle at which the last access to global memory so far is done */
  ended *ended;
  double *start;    /* by multiprocessor: cycle from which on a further block can start */
  double noticed;   /* cycle from which on the chip notices the end of a further block */
  unsigned *paused; /* heap of multiprocessors */
  unsigned cluster; /* blocks of a cluster; 0: blocks by themselves */
  unsigned *room;   /* clusters: blocks that each multiprocessor can still take */
  bool is_over, failed, was_interrupted, timed_out, is_excerpt;
  bool puts_off; /* multiprocessors do not pause before reductions, which are made between spans */
  /* Memory that works ahead: inboxes by multiprocessor, those that are filled and those that are
   * read taking turns, and the first cycle of an answer in those being filled. */
  bool is_ahead, memory_failed;
  unsigned memory_taken; /* a thread serves memory in this span */
  unsigned filled;
  bf_sim_inbox *inbox[2];
  uint64_t first_ready;
  /* Threads. */
  unsigned shares;
  share *share;
  meeting meeting;
} engine;

/* ---- Blocks ---- */

/* The cycle at which the first block of a launch on so many multiprocessors begins. */
static uint64_t first_cycle(const bf_sim_gpu *gpu, unsigned sms) {
  return gpu->launch_cycles ? gpu->launch_cycles + (uint64_t)(gpu->launch_sm_cycles * sms) : 0;
}

/* Gives the next block to a multiprocessor; it can begin at `earliest`. */
static void give_block(engine *own, unsigned sm, double earliest) {
  const bf_sim_gpu *gpu = own->settings->gpu;
  double apart = gpu->block_start_warp_cycles * own->sm[sm].warps_per_block;
  double start = earliest > own->start[sm] ? earliest : own->start[sm];
  own->start[sm] = start + (apart > gpu->block_start_cycles ? apart : gpu->block_start_cycles);
  bf_sim_sm_give(&own->sm[sm], (uint64_t)start, own->next_block++);
}

/* The multiprocessors of a group that can take most blocks: one for each block of a cluster, the
 * same again where there are too few; false: there is no room for all. */
static bool choose_places(const engine *own, unsigned from, unsigned end, unsigned *place) {
  unsigned most = 0, count = 0;
  for (unsigned i = from; i < end; i++)
    most = own->room[i] > most ? own->room[i] : most;
  for (unsigned room = most; room > 0; room--)
    for (unsigned i = from; i < end && count < own->cluster; i++)
      if (own->room[i] >= room)
        place[count++] = i;
  return count == own->cluster;
}

/* Gives the next cluster to multiprocessors side by side that have room; false: there are none. */
static bool give_cluster(engine *own, double earliest) {
  const bf_sim_gpu *gpu = own->settings->gpu;
  unsigned place[MOST_CLUSTER], size = gpu->gpc_sms ? (unsigned)gpu->gpc_sms : own->sms;
  unsigned groups = (own->sms + size - 1) / size,
           number = (unsigned)(own->next_block / own->cluster);
  for (unsigned i = 0; i < groups; i++) {
    unsigned from = (number + i) % groups * size,
             end = from + size < own->sms ? from + size : own->sms;
    if (!choose_places(own, from, end, place))
      continue;
    own->failed |= !own->feed->calls->join(own->feed, number, place);
    double apart = gpu->block_start_warp_cycles * own->sm[0].warps_per_block, start = earliest;
    for (unsigned k = 0; k < own->cluster; k++)
      start = own->start[place[k]] > start ? own->start[place[k]] : start;
    for (unsigned k = 0; k < own->cluster; k++) {
      own->start[place[k]] = start + fmax(apart, gpu->block_start_cycles);
      own->room[place[k]]--;
      bf_sim_sm_give(&own->sm[place[k]], (uint64_t)start,
                     own->feed->calls->in_cluster(own->feed, number, k));
    }
    own->next_block += own->cluster;
    return true;
  }
  return false;
}

static void give_first_blocks(engine *own, unsigned blocks_per_sm) {
  double first = (double)first_cycle(own->settings->gpu, own->sms);
  for (unsigned i = 0; own->cluster && i < own->sms; i++)
    own->room[i] = blocks_per_sm;
  while (own->cluster && own->next_block < own->blocks && !own->failed)
    if (!give_cluster(own, first))
      return;
  for (unsigned round = 0; round < blocks_per_sm; round++)
    for (unsigned i = 0; i < own->sms && own->next_block < own->blocks; i++)
      give_block(own, i, first);
}

/* Lets a block begin in the place of one that has ended; the chip has noticed that at `noticed`. */
static void give_next_block(engine *own, const ended *before, double noticed) {
  double earliest = noticed + (double)own->settings->gpu->block_launch_cycles;
  if (own->cluster) {
    own->room[before->sm]++;
    give_cluster(own, earliest);
    return;
  }
  give_block(own, before->sm, earliest);
}

/* The cycle at which the chip notices the end of a block: one behind the other. */
static double notice(engine *own, const ended *block) {
  double at = fmax((double)block->cycle, own->noticed);
  own->noticed = at + own->settings->gpu->block_grid_cycles;
  return at;
}

static int by_cycle(const void *a, const void *b) {
  const ended *x = a, *y = b;
  if (x->cycle != y->cycle)
    return x->cycle < y->cycle ? -1 : 1;
  return (x->sm > y->sm) - (x->sm < y->sm);
}

/* Notes when blocks have ended, where the first ones may be enough; the others do not begin then.
 */
static void note_ends(engine *own, unsigned count) {
  bf_sim_excerpt *excerpt = own->settings->excerpt;
  uint64_t wave = excerpt->wave, done = own->blocks_done + count;
  for (unsigned i = 0; i < count; i++)
    excerpt->ended[own->blocks_done + i] = own->ended[i].cycle;
  bool is_new = done / wave > own->blocks_done / wave;
  excerpt->cache_used = bf_sim_memory_used(own->memory);
  if (!is_new || own->is_excerpt || own->cluster ||
      !excerpt->is_enough(excerpt->context, excerpt->ended, done / wave))
    return;
  uint64_t left = (own->blocks - own->next_block) / wave; /* waves that need not begin */
  own->is_excerpt = true;
  own->blocks -= left * wave;
}

/* Replaces the blocks that have ended in this span, in the order of cycles. */
static void replace_blocks(engine *own) {
  unsigned count = 0;
  for (unsigned i = 0; i < own->sms; i++) {
    bf_sim_sm *sm = &own->sm[i];
    for (unsigned k = 0; k < sm->ended_count; k++)
      own->ended[count++] = (ended){sm->ended[k], i};
    sm->ended_count = 0;
  }
  qsort(own->ended, count, sizeof *own->ended, by_cycle);
  if (own->settings->excerpt)
    note_ends(own, count);
  own->blocks_done += count;
  for (unsigned i = 0; i < count; i++) {
    double noticed = notice(own, &own->ended[i]);
    if (noticed > (double)own->last_end)
      own->last_end = (uint64_t)noticed;
    if (own->next_block < own->blocks)
      give_next_block(own, &own->ended[i], noticed);
  }
}

/* ---- Spans ---- */

static bool has_work(const bf_sim_sm *sm) {
  return sm->warps_alive || sm->begins || !bf_sim_answers_are_empty(&sm->answers);
}

/* Whether multiprocessor a goes on before b. */
static bool is_before(const engine *own, unsigned a, unsigned b) {
  uint64_t x = own->sm[a].now, y = own->sm[b].now;
  return x < y || (x == y && a < b);
}

/* Moves the first of the heap of those that have paused down to where it belongs. */
static void sift_paused(engine *own, unsigned at, unsigned count) {
  unsigned *heap = own->paused, moved = heap[at];
  for (unsigned child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && is_before(own, heap[child + 1], heap[child]))
      child++;
    if (!is_before(own, heap[child], moved))
      break;
    heap[at] = heap[child];
  }
  heap[at] = moved;
}

/* Makes reductions that were put off up to a cycle, in that cycle up to a multiprocessor. */
static void settle(engine *own, uint64_t cycle, unsigned sm) {
  if (own->puts_off)
    own->feed->calls->settle(own->feed, cycle, sm);
}

/* Lets multiprocessors that have paused go on, in the order of cycles. */
static void run_paused(engine *own) {
  unsigned count = 0;
  for (unsigned i = 0; i < own->sms; i++)
    if (own->sm[i].is_paused)
      own->paused[count++] = i;
  for (unsigned i = count / 2; i-- > 0;)
    sift_paused(own, i, count);
  while (count) {
    bf_sim_sm *first = &own->sm[own->paused[0]];
    settle(own, first->now, first->index);
    first->may_order = !first->is_waiting;
    first->is_paused = first->is_waiting = false;
    first->core->run(first, own->until);
    if (first->is_stopped || first->failed)
      return;
    if (!first->is_paused)
      own->paused[0] = own->paused[--count];
    sift_paused(own, 0, count);
  }
}

static void take_answer(void *context, const bf_sim_request *request, uint64_t cycle) {
  engine *own = context;
  assert(cycle >= own->until);
  if (cycle > own->last_answer)
    own->last_answer = cycle;
  if (!bf_sim_sm_answer(&own->sm[request->sm], request, cycle))
    own->failed = true;
}

/* Puts what multiprocessors have asked of global memory in this span aside, so that they can go on
 * asking while it is handed over; whether there is any. */
static bool put_aside(engine *own) {
  bool is_any = false;
  for (unsigned i = 0; i < own->sms; i++) {
    bf_sim_sm *sm = &own->sm[i];
    bf_sim_request *taken = sm->sent;
    size_t room = sm->sent_capacity;
    sm->sent = sm->outbox;
    sm->sent_count = sm->outbox_count;
    sm->sent_capacity = sm->outbox_capacity;
    sm->outbox = taken;
    sm->outbox_count = 0;
    sm->outbox_capacity = room;
    is_any |= sm->sent_count > 0;
  }
  return is_any;
}

/* Hands over what was put aside. */
static void send_aside(engine *own) {
  for (unsigned i = 0; i < own->sms; i++) {
    bf_sim_sm *sm = &own->sm[i];
    own->memory_failed |= bf_sim_memory_add_all(own->memory, sm->sent, sm->sent_count) != BF_OK;
    sm->sent_count = 0;
  }
}

/* ---- Memory that works ahead ---- */

/* An answer of memory that works ahead. */
static void keep_answer(void *context, const bf_sim_request *request, uint64_t cycle) {
  engine *own = context;
  if (cycle > own->last_answer)
    own->last_answer = cycle;
  if (cycle < own->first_ready)
    own->first_ready = cycle;
  own->memory_failed |= !bf_sim_inbox_add(&own->inbox[own->filled][request->sm], request, cycle);
}

/* Serves memory up to the end of the span that multiprocessors are in. */
static void run_memory(engine *own) {
  send_aside(own);
  own->memory_failed |= bf_sim_memory_advance(own->memory, own->until, keep_answer, own) != BF_OK;
}

/* Ends a span of memory that works ahead: multiprocessors find its answers in the next one. */
static void turn_inboxes(engine *own) {
  own->filled = !own->filled;
  own->memory_taken = 0;
}

/* Whether an instruction happens without regard to what other multiprocessors do. */
static bool has_no_order(const engine *own, uint32_t instruction) {
  const bf_sim_op *op = &own->program->op[instruction];
  return !op->is_ordered || (own->puts_off && op->is_put_off);
}

/* Whether memory can work ahead, and with what spans. Not where blocks are told of bulk copies and
 * of each other between spans; nor with atomics, which wait for the end of a span, so that plain
 * loads of the same words see what its length lets them see; nor where what is simulated depends on
 * how far it is at the end of one. */
static bool work_ahead(engine *own) {
  enum { LEAST_SPAN = 32 };
  const bf_sim_gpu *gpu = own->settings->gpu;
  uint64_t span =
      gpu->request_cycles < gpu->return_cycles ? gpu->request_cycles : gpu->return_cycles;
  while (span >= LEAST_SPAN && own->span % span) /* most_cycles is looked at where one ends */
    span--;
  bool is_simple = !own->cluster && !own->settings->excerpt;
  for (uint32_t i = 0; i < own->program->instructions; i++)
    is_simple = is_simple && !own->program->op[i].is_bulk && has_no_order(own, i);
  if (!is_simple || span < LEAST_SPAN)
    return false;
  own->inbox[0] = calloc(own->sms, sizeof *own->inbox[0]);
  own->inbox[1] = calloc(own->sms, sizeof *own->inbox[1]);
  own->span = span;
  own->first_ready = UINT64_MAX;
  return own->inbox[0] && own->inbox[1];
}

/* ---- From span to span ---- */

/* Begins the span that ends at `until`: serves global memory as far as answers reach into it, if it
 * does not work ahead. */
static void begin_span(engine *own, uint64_t until) {
  if (own->is_ahead) {
    own->first_ready = UINT64_MAX;
    own->until = until;
    return;
  }
  uint64_t back = own->settings->gpu->return_cycles;
  uint64_t served = until > back ? until - back : 0;
  own->failed |= bf_sim_memory_advance(own->memory, served, take_answer, own) != BF_OK;
  own->until = until;
}

/* The first cycle from which on anything can happen; UINT64_MAX: nothing ever will. */
static uint64_t next_cycle(const engine *own) {
  uint64_t next = bf_sim_memory_next(own->memory);
  if (own->is_ahead && own->first_ready < next)
    next = own->first_ready;
  for (unsigned i = 0; i < own->sms; i++) {
    const bf_sim_sm *sm = &own->sm[i];
    uint64_t event = sm->core->next_event(sm), answer = sm->next_answer;
    if (event < next)
      next = event;
    if (answer < next)
      next = answer;
  }
  return next;
}

/* Lets global memory finish: a launch ends when all its stores have happened. */
static void finish_memory(engine *own) {
  uint64_t next, until = own->until;
  send_aside(own);
  own->failed |= own->memory_failed;
  own->first_ready = UINT64_MAX;
  while (!own->failed && (next = bf_sim_memory_next(own->memory)) != UINT64_MAX) {
    until = (next > until ? next : until) + own->span;
    own->failed |= bf_sim_memory_advance(own->memory, until, take_answer, own) != BF_OK;
  }
  if (own->last_answer > own->last_end)
    own->last_end = own->last_answer;
}

static void report(engine *own) {
  const bf_emu_launch *launch = own->launch;
  if (launch->progress &&
      !launch->progress(launch->progress_context, own->blocks_done, own->blocks))
    own->was_interrupted = own->is_over = true;
}

/* Processor time of this thread. */
static double thread_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What follows a span; done by one thread while the others wait. */
static void end_span(engine *own) {
  run_paused(own);
  settle(own, UINT64_MAX, own->sms);
  for (unsigned i = 0; i < own->sms; i++) {
    own->is_over |= own->sm[i].is_stopped;
    own->failed |= own->sm[i].failed;
  }
  bool is_aside = put_aside(own);
  if (own->is_ahead)
    turn_inboxes(own);
  else
    send_aside(own);
  own->failed |= own->memory_failed;
  for (unsigned i = 0; own->cluster && i < own->sms; i++)
    bf_sim_sm_notify(&own->sm[i], own->until + own->settings->gpu->remote_news_cycles);
  replace_blocks(own);
  if (++own->spans % REPORT_SPANS == 0)
    report(own);
  if (own->blocks_done == own->blocks)
    finish_memory(own);
  if (own->failed || own->blocks_done == own->blocks)
    own->is_over = true;
  if (own->is_over)
    return;
  uint64_t next = own->is_ahead && is_aside ? own->until : next_cycle(own),
           most = own->settings->most_cycles;
  own->timed_out = most && own->until >= (most / own->long_span + 1) * own->long_span;
  if (next == UINT64_MAX || own->timed_out) {
    own->is_over = true;
    return;
  }
  /* Spans begin at multiples of their length, so that skipping does not move them. */
  uint64_t start = next > own->until ? next : own->until;
  begin_span(own, (start / own->span + 1) * own->span);
}

/* ---- Threads ---- */

/* Simulates a multiprocessor to the end of the span. */
static void run_one(engine *own, bf_sim_sm *sm) {
  if (own->is_ahead)
    bf_sim_inbox_empty(&own->inbox[!own->filled][sm->index], sm);
  if (bf_sim_answers_queued(&sm->answers) >= MANY_ANSWERS)
    bf_sim_l1_prefetch(sm->l1);
  if (has_work(sm))
    sm->core->run(sm, own->until);
  else
    sm->now = own->until;
}

/* Simulates multiprocessors until none is left in this span: those of thread `index` first; before
 * that memory, if it works ahead and no other thread does it. */
static void run_some(engine *own, unsigned index) {
  if (own->is_ahead && __atomic_exchange_n(&own->memory_taken, 1, __ATOMIC_RELAXED) == 0)
    run_memory(own);
  for (unsigned i = 0; i < own->shares; i++) {
    share *from = &own->share[(index + i) % own->shares];
    for (unsigned sm; (sm = __atomic_fetch_add(&from->next, 1, __ATOMIC_RELAXED)) < from->end;)
      run_one(own, &own->sm[sm]);
  }
}

/* Divides multiprocessors among threads. */
static void set_shares(engine *own) {
  for (unsigned i = 0; i < own->shares; i++)
    own->share[i] = (share){.next = (unsigned)((uint64_t)own->sms * i / own->shares),
                            .end = (unsigned)((uint64_t)own->sms * (i + 1) / own->shares)};
}

/* Lets the host's core rest for a moment. */
static void rest(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/* Ends a span when all threads have come. */
static void meet(engine *own) {
  meeting *place = &own->meeting;
  pthread_mutex_lock(&place->lock);
  unsigned number = place->number;
  bool is_last = ++place->here == place->threads;
  pthread_mutex_unlock(&place->lock);
  if (is_last) {
    double start = thread_seconds();
    end_span(own);
    set_shares(own);
    own->alone_seconds += thread_seconds() - start;
    pthread_mutex_lock(&place->lock);
    place->here = 0;
    __atomic_store_n(&place->number, number + 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&place->all_here);
    pthread_mutex_unlock(&place->lock);
    return;
  }
  for (unsigned i = 0; i < MOST_SPINS; i++, rest())
    if (__atomic_load_n(&place->number, __ATOMIC_ACQUIRE) != number)
      return;
  pthread_mutex_lock(&place->lock);
  while (place->number == number)
    pthread_cond_wait(&place->all_here, &place->lock);
  pthread_mutex_unlock(&place->lock);
}

typedef struct worker {
  engine *engine;
  unsigned index;
  pthread_t thread;
} worker;

/* All spans, as one thread of several sees them. */
static void *work(void *context) {
  const worker *own = context;
  do {
    run_some(own->engine, own->index);
    meet(own->engine);
  } while (!own->engine->is_over);
  return NULL;
}

/* Runs all spans on as many threads as can be had. */
static int run_all(engine *own, unsigned workers, bf_diagnostic *diagnostic) {
  worker *made = calloc(workers, sizeof *made);
  own->share = calloc(workers, sizeof *own->share);
  if (!made || !own->share) {
    free(made);
    return bf_no_memory(diagnostic);
  }
  meeting *place = &own->meeting;
  pthread_mutex_init(&place->lock, NULL);
  pthread_cond_init(&place->all_here, NULL);
  own->shares = place->threads = workers;
  set_shares(own);
  for (unsigned i = 0; i < workers; i++)
    made[i] = (worker){.engine = own, .index = i};
  unsigned started = 1;
  while (started < workers &&
         pthread_create(&made[started].thread, NULL, work, &made[started]) == 0)
    started++;
  pthread_mutex_lock(&place->lock);
  place->threads = started;
  pthread_mutex_unlock(&place->lock);
  work(&made[0]);
  for (unsigned i = 1; i < started; i++)
    pthread_join(made[i].thread, NULL);
  pthread_cond_destroy(&place->all_here);
  pthread_mutex_destroy(&place->lock);
  free(made);
  return BF_OK;
}

/* ---- Results ---- */

/* Which warps are left, and what the first few of them wait for. */
static int find_waits(const engine *own, bf_sim_result *result, bf_diagnostic *diagnostic) {
  enum { MOST = 8 };
  result->wait = bf_arena_alloc(&result->arena, MOST * sizeof *result->wait);
  if (!result->wait)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < own->sms; i++)
    for (unsigned k = 0; k < own->sm[i].slots; k++) {
      const bf_sim_warp *warp = &own->sm[i].warp[k];
      if (!warp->emu || result->warps_left++ >= MOST)
        continue;
      bf_sim_wait *wait = &result->wait[result->waits++];
      *wait = own->sm[i].core->wait(&own->sm[i], warp);
      wait->block = warp->block->index;
      wait->warp = warp->index;
    }
  return BF_OK;
}

/* The text of the fault: as much of the waits as there is room for. */
static void explain_waits(const engine *own, const bf_sim_result *result, bf_emu_fault *fault) {
  bf_text text = {0};
  for (unsigned i = 0; i < result->waits; i++) {
    bf_text_puts(&text, i ? "; " : "");
    bf_sim_wait_explain(&result->wait[i], &text);
  }
  snprintf(fault->text, sizeof fault->text, "%s%.170s",
           own->timed_out ? "not done after the most cycles allowed: " : "",
           text.data && !text.failed ? text.data : "");
  bf_text_free(&text);
}

/* Turns are counted by spans, and not where a multiprocessor has nothing to do: makes those without
 * warps as many as there are from the first block to the last cycle. */
static void fill_turns(const bf_sim_gpu *gpu, uint64_t first, uint64_t cycles,
                       bf_sim_result *count) {
  cycles -= cycles < first ? cycles : first;
  uint64_t turns = cycles * (gpu->pipeline == BF_SIM_SCOREBOARD ? gpu->schedulers : 1);
  uint64_t counted = count->turns;
  for (unsigned i = 0; i < BF_SIM_STALLS; i++)
    counted += count->stalls[i];
  uint64_t *empty = &count->stalls[BF_SIM_EMPTY];
  if (counted < turns)
    *empty += turns - counted;
  else
    *empty -= counted - turns < *empty ? counted - turns : *empty;
}

static void add_counts(bf_sim_result *sum, const bf_sim_result *own) {
  sum->issued += own->issued;
  sum->guarded += own->guarded;
  for (unsigned i = 0; i < BF_SIM_ACTIVITIES; i++)
    sum->activity[i] += own->activity[i];
  sum->turns += own->turns;
  for (unsigned i = 0; i < BF_SIM_STALLS; i++) {
    sum->stalls[i] += own->stalls[i];
    sum->turns += own->stalls[i];
  }
  sum->resident_warp_cycles += own->resident_warp_cycles;
  sum->shared_instructions += own->shared_instructions;
  sum->shared_wavefronts += own->shared_wavefronts;
  sum->shared_conflicts += own->shared_conflicts;
  sum->shared_lanes += own->shared_lanes;
  sum->shared_parts += own->shared_parts;
  sum->global_instructions += own->global_instructions;
  sum->global_sectors += own->global_sectors;
  sum->history_right += own->history_right;
  sum->history_wrong += own->history_wrong;
  sum->history_unknown += own->history_unknown;
  if (own->host_bytes_per_warp > sum->host_bytes_per_warp)
    sum->host_bytes_per_warp = own->host_bytes_per_warp;
  for (unsigned i = 0; i < own->sites; i++)
    bf_sim_site_add(&sum->site[i], &own->site[i]);
}

static int set_fault(const engine *own, bf_sim_result *result, bf_diagnostic *diagnostic) {
  bf_emu_fault *fault = &result->emu.fault;
  if (fault->kind != BF_EMU_NO_FAULT || own->blocks_done == own->blocks)
    return BF_OK;
  fault->kernel = own->feed->kernel;
  if (own->was_interrupted) {
    fault->kind = BF_EMU_INTERRUPTED;
    return BF_OK;
  }
  BF_TRY(find_waits(own, result, diagnostic));
  result->timed_out = own->timed_out;
  fault->kind = BF_EMU_DEADLOCK;
  explain_waits(own, result, fault);
  return BF_OK;
}

static int collect(engine *own, bf_sim_result *result, bf_diagnostic *diagnostic) {
  BF_TRY(own->feed->calls->result(own->feed, &result->emu, diagnostic));
  if (own->failed)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory in the simulator");
  result->sites = own->feed->sites;
  result->site = bf_arena_alloc(&result->arena, (result->sites + 1) * sizeof *result->site);
  if (!result->site)
    return bf_no_memory(diagnostic);
  result->cycles = own->last_end;
  result->seconds = (double)result->cycles / (own->settings->gpu->clock_mhz * 1e6);
  result->blocks = own->blocks;
  if (own->settings->excerpt)
    own->settings->excerpt->simulated = own->blocks;
  result->sms = own->sms;
  result->host_alone_seconds = own->alone_seconds;
  for (unsigned i = 0; i < own->sms; i++) {
    fill_turns(own->settings->gpu, first_cycle(own->settings->gpu, own->sms), result->cycles,
               &own->sm[i].count);
    add_counts(result, &own->sm[i].count);
    bf_sim_l1_count(own->sm[i].l1, result);
  }
  bf_sim_memory_count(own->memory, result);
  return set_fault(own, result, diagnostic);
}

/* ---- Launching ---- */

static const bf_sim_core *core_of(const bf_sim_gpu *gpu) {
  return gpu->pipeline == BF_SIM_SCOREBOARD ? &bf_sim_scoreboard_core : &bf_sim_barrel_core;
}

static int make_sms(engine *own, unsigned blocks_per_sm, bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < own->sms; i++) {
    bf_sim_sm *sm = &own->sm[i];
    sm->index = i;
    sm->now = first_cycle(own->settings->gpu, own->sms); /* nothing is counted before */
    sm->gpu = own->settings->gpu;
    sm->settings = own->settings;
    sm->program = own->program;
    sm->launch = own->launch;
    sm->feed = own->feed;
    sm->addresses = &own->addresses;
    sm->core = core_of(sm->gpu);
    sm->is_alone = own->sms == 1;
    BF_TRY(bf_sim_sm_create(sm, blocks_per_sm, diagnostic));
  }
  return BF_OK;
}

/* Prepares all parts; what is made is freed by close_engine. */
static int open_engine(engine *own, const bf_emu_launch *launch, bf_sim_result *result,
                       bf_diagnostic *diagnostic) {
  const bf_sim_gpu *gpu = own->settings->gpu;
  own->launch = launch;
  result->blocks_per_sm = bf_sim_fit(gpu, &own->feed->needs, launch, &result->occupancy_limit);
  if (result->blocks_per_sm == 0)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "kernel '%s': a multiprocessor of %s cannot hold one of its blocks: too little "
                   "room for %s",
                   own->feed->kernel, gpu->name, result->occupancy_limit);
  own->blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
  if (launch->cooperative && own->blocks > (uint64_t)result->blocks_per_sm * gpu->sms)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "kernel '%s': a cooperative launch of %llu blocks does not fit on %s at once",
                   own->feed->kernel, (unsigned long long)own->blocks, gpu->name);
  own->sms = gpu->sms < own->blocks ? (unsigned)gpu->sms : (unsigned)own->blocks;
  own->span = gpu->request_cycles + gpu->return_cycles;
  if (gpu->block_launch_cycles < own->span)
    own->span = gpu->block_launch_cycles;
  own->sm = calloc(own->sms, sizeof *own->sm);
  own->ended = calloc((size_t)own->sms * result->blocks_per_sm, sizeof *own->ended);
  own->paused = calloc(own->sms, sizeof *own->paused);
  own->start = calloc(own->sms, sizeof *own->start);
  own->room = calloc(own->sms, sizeof *own->room);
  if (!own->sm || !own->ended || !own->paused || !own->start || !own->room)
    return bf_no_memory(diagnostic);
  bf_emu_observer observer = bf_sim_observer(gpu, own->sm, launch->observer);
  bf_emu_launch stepped = *launch;
  stepped.observer = &observer;
  stepped.workers = own->sms;
  BF_TRY(
      own->feed->calls->open(own->feed, gpu, &stepped, &own->program, &own->addresses, diagnostic));
  own->cluster = own->feed->cluster;
  if (own->cluster > 1 && own->span > CLUSTER_SPAN)
    own->span = CLUSTER_SPAN;
  unsigned side_by_side =
      gpu->gpc_sms && gpu->gpc_sms < own->sms ? (unsigned)gpu->gpc_sms : own->sms;
  if (own->cluster > MOST_CLUSTER || own->cluster > side_by_side * result->blocks_per_sm)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "kernel '%s': a cluster of %u blocks does not fit on %s", own->feed->kernel,
                   own->cluster, gpu->name);
  BF_TRY(bf_sim_memory_create(gpu, &own->memory, diagnostic));
  return make_sms(own, result->blocks_per_sm, diagnostic);
}

static void close_engine(engine *own) {
  for (unsigned i = 0; own->sm && i < own->sms; i++)
    bf_sim_sm_free(&own->sm[i]);
  bf_sim_memory_free(own->memory);
  bf_sim_program_free(own->program);
  bf_sim_addresses_free(&own->addresses);
  own->feed->calls->close(own->feed);
  free(own->ended);
  free(own->paused);
  free(own->start);
  free(own->room);
  free(own->share);
  bf_sim_inboxes_free(own->inbox[0], own->sms);
  bf_sim_inboxes_free(own->inbox[1], own->sms);
  free(own->sm);
}

/* Has reductions put off where that can be; a multiprocessor alone need not, and one that lets a
 * second instruction follow in the same turn could not go back behind it. */
static bool put_off(engine *own) {
  const bf_sim_gpu *gpu = own->settings->gpu;
  const bf_sim_feed_calls *calls = own->feed->calls;
  bool may = own->sms > 1 && own->program->may_put_off && gpu->pipeline == BF_SIM_SCOREBOARD &&
             gpu->dispatch == 1 && !own->cluster && calls->put_off && calls->put_off(own->feed);
  for (unsigned i = 0; i < own->sms; i++)
    own->sm[i].puts_off = may;
  return may;
}

int bf_sim_run_feed(const bf_sim_settings *settings, bf_sim_feed *feed, const bf_emu_launch *launch,
                    bf_sim_result *result, bf_diagnostic *diagnostic) {
  *result = (bf_sim_result){0};
  double start = bf_seconds();
  BF_TRY(bf_sim_gpu_check(settings->gpu, diagnostic));
  engine own = {.settings = settings, .feed = feed};
  int error = open_engine(&own, launch, result, diagnostic);
  if (!error) {
    unsigned workers = settings->workers ? settings->workers : bf_cores();
    if (settings->watch || own.cluster) /* blocks of a cluster reach into each other */
      workers = 1;
    workers = workers < own.sms ? workers : own.sms;
    own.long_span = own.span;
    own.puts_off = put_off(&own);
    /* What loads see of reductions that were put off depends on spans, and so must not on threads.
     */
    own.is_ahead = (workers > 1 || own.puts_off) && work_ahead(&own);
    give_first_blocks(&own, result->blocks_per_sm);
    begin_span(&own, (first_cycle(settings->gpu, own.sms) / own.span + 1) * own.span);
    error = run_all(&own, workers, diagnostic);
  }
  if (!error)
    error = collect(&own, result, diagnostic);
  close_engine(&own);
  if (error)
    bf_arena_free(&result->arena);
  result->host_seconds = bf_seconds() - start;
  return error;
}
