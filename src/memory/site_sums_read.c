/* Whole traces into a sums, by several threads: while they count the parts of one round, the parts
 * of the next are cut. Thread i has a sums of its own; they are joined at the end. */
#include "memory/site_sums.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { MOST_THREADS = 64, PARTS_PER_THREAD = 4, STEPS_TOLD = 1 << 11 };

/* The parts of one round. */
typedef struct round_of_parts {
  bf_trace_part **part;
  unsigned count;
  atomic_uint next;
} round_of_parts;

/* What a thread has found. */
typedef struct worker {
  bf_site_sums *sums;
  uint64_t executions; /* of lines; those of a packed trace are summed up where it is read */
  int error;
  bf_diagnostic diagnostic;
  unsigned part; /* of the round, where the error is */
} worker;

typedef struct reading {
  bf_trace *trace;
  const char *file;
  unsigned threads, parts;
  round_of_parts rounds[2];
  round_of_parts *at_work;
  worker *workers;
  bf_crew *crew;
  bf_trace_known known; /* to the thread that cuts */
} reading;

/* Says where in the trace an access cannot be counted. */
static void locate(bf_diagnostic *diagnostic, const char *file, const bf_access *access) {
  if (diagnostic->file[0])
    return;
  snprintf(diagnostic->file, sizeof diagnostic->file, "%s", file);
  diagnostic->line = access->line;
}

static int add_part(bf_site_sums *sums, bf_trace_part *part, const char *file,
                    bf_diagnostic *diagnostic) {
  const bf_access *access = NULL;
  int result;
  bf_site_sums_forget_sites(sums);
  while ((result = bf_trace_part_step(part, &access, diagnostic)) == 1) {
    int error = bf_site_sums_add(sums, access, NULL, diagnostic);
    if (error) {
      locate(diagnostic, file, access);
      return error;
    }
  }
  return result;
}

static int too_many(const char *file, bf_diagnostic *diagnostic) {
  return bf_fail_file(diagnostic, BF_BAD_INPUT, file, "the counts add up to more than %llu",
                      (unsigned long long)BF_EXECUTIONS_MAX);
}

/* A thread's share of a round. Parts are taken in order, so that of two faults the first one in the
 * trace is found by whoever has the lower part. */
static void work(void *context, unsigned index) {
  reading *r = context;
  worker *own = &r->workers[index];
  round_of_parts *round = r->at_work;
  for (unsigned i; !own->error && (i = atomic_fetch_add(&round->next, 1)) < round->count;) {
    own->diagnostic = (bf_diagnostic){.caret = -1};
    own->error = add_part(own->sums, round->part[i], r->file, &own->diagnostic);
    own->executions += bf_trace_part_executions(round->part[i]);
    if (!own->error && own->executions > BF_EXECUTIONS_MAX)
      own->error = too_many(r->file, &own->diagnostic);
    own->part = i;
  }
}

/* Fills a round; *ended at the end of the trace. */
static int cut_round(reading *r, round_of_parts *round, bool *ended, bf_diagnostic *diagnostic) {
  round->count = 0;
  while (round->count < r->parts && !*ended) {
    int result = bf_trace_cut(r->trace, round->part[round->count], &r->known, diagnostic);
    if (result < 0)
      return result;
    *ended = result == 0;
    round->count += result == 1;
  }
  return BF_OK;
}

/* The error of the lowest part, if any. */
static int first_error(const reading *r, bf_diagnostic *diagnostic) {
  const worker *first = NULL;
  for (unsigned i = 0; i < r->threads; i++) {
    const worker *w = &r->workers[i];
    if (w->error && (!first || w->part < first->part))
      first = w;
  }
  if (!first)
    return BF_OK;
  if (diagnostic)
    *diagnostic = first->diagnostic;
  return first->error;
}

/* Counts one round while the next is cut. A fault of the round stands before one of the next. */
static int count_round(reading *r, round_of_parts *now, round_of_parts *next, bool *ended,
                       bf_diagnostic *diagnostic) {
  r->at_work = now;
  atomic_store(&now->next, 0);
  if (r->threads > 1)
    bf_crew_begin(r->crew, r->threads - 1, work, r);
  bf_diagnostic later = {.caret = -1};
  int cut_error = cut_round(r, next, ended, &later);
  work(r, 0);
  if (r->threads > 1)
    bf_crew_end(r->crew);
  BF_TRY(first_error(r, diagnostic));
  if (cut_error && diagnostic)
    *diagnostic = later;
  return cut_error;
}

/* Says how far the trace was read; BF_STOPPED where that is enough. */
static int tell(const reading *r, const bf_site_sums_reading *how, bf_diagnostic *diagnostic) {
  uint64_t bytes, size;
  bf_trace_place(r->trace, &bytes, &size);
  if (how->progress && !how->progress(how->context, bytes, size))
    return bf_fail(diagnostic, BF_STOPPED, "interrupted");
  return BF_OK;
}

static int read_rounds(reading *r, const bf_site_sums_reading *how, bf_diagnostic *diagnostic) {
  bool ended = false;
  unsigned now = 0;
  BF_TRY(cut_round(r, &r->rounds[0], &ended, diagnostic));
  while (r->rounds[now].count) {
    BF_TRY(count_round(r, &r->rounds[now], &r->rounds[1 - now], &ended, diagnostic));
    now = 1 - now;
    BF_TRY(tell(r, how, diagnostic));
  }
  return BF_OK;
}

/* Counts each access as it is read, where one thread does it all and reads in order anyway. */
static int read_in_order(reading *r, const bf_site_sums_reading *how, bf_diagnostic *diagnostic) {
  const bf_access *access = NULL;
  const bf_trace_known *known = &r->known;
  uint32_t slot;
  int result;
  unsigned steps = 0;
  while ((result = bf_trace_step_past(r->trace, known->repeats, &access, &slot, diagnostic)) > 0) {
    int error = BF_OK;
    if (result == 1 && slot != BF_REPEATS_NONE)
      error = known->learn(known->context, slot, access, diagnostic);
    else if (result == 1)
      error = bf_site_sums_add(r->workers[0].sums, access, NULL, diagnostic);
    if (error)
      locate(diagnostic, r->file, access);
    else if (result == 2 || ++steps % STEPS_TOLD == 0)
      error = tell(r, how, diagnostic);
    if (error)
      return error;
  }
  return result;
}

/* Allocates what the threads need; worker 0 adds to the sums that was given. */
static int set_up(reading *r, bf_site_sums *sums, bf_diagnostic *diagnostic) {
  r->workers = calloc(r->threads, sizeof *r->workers);
  r->crew = bf_crew_create();
  bool good = r->workers && r->crew;
  for (int i = 0; i < 2; i++) {
    r->rounds[i].part = calloc(r->parts, sizeof(bf_trace_part *));
    for (unsigned p = 0; r->rounds[i].part && p < r->parts; p++)
      good = (r->rounds[i].part[p] = bf_trace_part_create()) && good;
    good = r->rounds[i].part && good;
  }
  if (!good)
    return bf_no_memory(diagnostic);
  r->workers[0].sums = sums;
  BF_TRY(bf_site_sums_begin_repeats(sums, &r->known, diagnostic));
  for (unsigned i = 1; i < r->threads; i++)
    BF_TRY(bf_site_sums_like(sums, &r->workers[i].sums, diagnostic));
  return BF_OK;
}

static void clean_up(reading *r) {
  for (unsigned i = 1; r->workers && i < r->threads; i++)
    bf_site_sums_free(r->workers[i].sums);
  for (int i = 0; i < 2; i++) {
    for (unsigned p = 0; r->rounds[i].part && p < r->parts; p++)
      bf_trace_part_free(r->rounds[i].part[p]);
    free(r->rounds[i].part);
  }
  bf_crew_free(r->crew);
  free(r->workers);
}

/* Joins the sums, and checks what only the whole trace shows. */
static int finish(reading *r, bf_site_sums *sums, bf_diagnostic *diagnostic) {
  uint64_t accesses = bf_site_sums_total(sums).accesses;
  for (unsigned i = 1; i < r->threads; i++) {
    accesses += bf_site_sums_total(r->workers[i].sums).accesses;
    if (accesses <= BF_EXECUTIONS_MAX)
      BF_TRY(bf_site_sums_join(sums, r->workers[i].sums, diagnostic));
  }
  if (accesses > BF_EXECUTIONS_MAX)
    return too_many(r->file, diagnostic);
  if (accesses == 0)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, r->file, "the trace holds no access");
  return BF_OK;
}

int bf_site_sums_read(bf_site_sums *sums, bf_trace *trace, const char *file,
                      const bf_site_sums_reading *how, bf_diagnostic *diagnostic) {
  unsigned threads = how->threads ? how->threads : bf_cores();
  threads = threads > MOST_THREADS ? MOST_THREADS : threads;
  reading r = {
      .trace = trace, .file = file, .threads = threads, .parts = threads * PARTS_PER_THREAD};
  int error = set_up(&r, sums, diagnostic);
  if (!error)
    error = threads == 1 && bf_trace_is_in_order(trace) ? read_in_order(&r, how, diagnostic)
                                                        : read_rounds(&r, how, diagnostic);
  bf_site_sums_end_repeats(sums);
  if (!error)
    error = finish(&r, sums, diagnostic);
  clean_up(&r);
  return error;
}
