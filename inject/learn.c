/* Learning which version of a kernel is faster, on the program's own launches: both take turns, and
 * some launches stand between two events of their stream. Nothing waits for events: those that have
 * passed are looked at when later launches come.
 *
 * What is compared are ranks (Mann and Whitney's U), which one launch that was interrupted moves by
 * one place whatever time it took. */
#include "inject.h"

#include "lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
  LEAST_SAMPLES = 8,   /* of each version */
  ENOUGH_SAMPLES = 24, /* of each, to see that they are alike */
  MOST_PENDING = 64,   /* samples whose events may not have passed yet */
  MOST_LOOKS = 4,      /* at those, before a launch */
};

/* So many standard deviations from where U is where both are alike: one in a thousand. */
static const double enough = 3.3;
/* Less than this share of the time is not worth knowing. */
static const double least_share = 0.01;

/* ---- Judging ---- */

static int compare_ns(const void *a, const void *b) {
  float first = *(const float *)a, second = *(const float *)b;
  return first < second ? -1 : first > second;
}

static double median(const float *ns, unsigned count) {
  float sorted[INJECT_MOST_SAMPLES];
  memcpy(sorted, ns, count * sizeof *ns);
  qsort(sorted, count, sizeof *sorted, compare_ns);
  return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0;
}

/* How often the first version is slower than the second, less what would be where both are alike,
 * in units of `enough` standard deviations; squared, with its sign. */
static double deviation(const inject_learning *learning) {
  double own = learning->count[0], beside = learning->count[1], slower = -own * beside / 2;
  double variance = own * beside * (own + beside + 1) / 12;
  for (unsigned i = 0; i < learning->count[0]; i++)
    for (unsigned j = 0; j < learning->count[1]; j++) {
      float a = learning->ns[0][i], b = learning->ns[1][j];
      slower += a > b ? 1 : a < b ? 0 : 0.5;
    }
  return slower * (slower < 0 ? -slower : slower) / (enough * enough * variance);
}

inject_verdict inject_learn_judge(const inject_learning *learning) {
  if (learning->count[0] < LEAST_SAMPLES || learning->count[1] < LEAST_SAMPLES)
    return INJECT_UNDECIDED;
  double far = deviation(learning);
  double own = median(learning->ns[0], learning->count[0]);
  double beside = median(learning->ns[1], learning->count[1]);
  if (far >= 1 && beside < own * (1 - least_share))
    return INJECT_BESIDE;
  if (far <= -1 && own < beside * (1 - least_share))
    return INJECT_OWN;
  return INJECT_UNDECIDED;
}

static unsigned least_count(const inject_learning *learning) {
  return learning->count[0] < learning->count[1] ? learning->count[0] : learning->count[1];
}

bool inject_learn_are_alike(const inject_learning *learning) {
  if (least_count(learning) < ENOUGH_SAMPLES)
    return false;
  double own = median(learning->ns[0], learning->count[0]);
  double beside = median(learning->ns[1], learning->count[1]);
  return beside > own * (1 - least_share) && own > beside * (1 - least_share);
}

bool inject_learn_is_over(const inject_learning *learning) {
  return inject_learn_are_alike(learning) || least_count(learning) == INJECT_MOST_SAMPLES;
}

/* ---- Turns ---- */

/* Programs repeat themselves: their fourth launch of a kernel may always be the one that overlaps
 * with another stream's, or with another kernel that takes turns itself. In an order that repeats
 * too, one version would get all of those. So the order within two turns is drawn (splitmix64). */
bool inject_learn_turn(uint64_t seed, unsigned turn) {
  uint64_t x = seed + (turn / 2 + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return ((x ^ x >> 31) ^ turn) & 1;
}

/* ---- Events ---- */

typedef struct inject_sample {
  struct inject_sample *next;
  void *context; /* of the driver, that its events belong to */
  void *begun, *ended;
  void *owner;
  bool is_beside;
} inject_sample;

/* Under the lock. */
static inject_sample *idle;            /* to be used again */
static inject_sample *pending, **last; /* in the order of launches */
static unsigned pending_count;

static struct {
  int (*create)(void **event, unsigned flags);
  int (*record)(void *event, void *stream);
  int (*query)(void *event);
  int (*elapsed)(float *milliseconds, void *begun, void *ended);
  int (*destroy)(void *event);
  int (*capturing)(void *stream, int *status);
  int (*exchange_mode)(int *mode);
  int (*context)(void **context);
  bool is_whole;
} driver;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_driver(void) {
  *(void **)&driver.create = inject_driver("cuEventCreate");
  *(void **)&driver.record = inject_driver("cuEventRecord");
  *(void **)&driver.query = inject_driver("cuEventQuery");
  *(void **)&driver.elapsed = inject_driver("cuEventElapsedTime");
  *(void **)&driver.destroy = inject_driver("cuEventDestroy_v2");
  *(void **)&driver.capturing = inject_driver("cuStreamIsCapturing");
  *(void **)&driver.exchange_mode = inject_driver("cuThreadExchangeStreamCaptureMode");
  *(void **)&driver.context = inject_driver("cuCtxGetCurrent");
  driver.is_whole = driver.create && driver.record && driver.query && driver.elapsed &&
                    driver.destroy && driver.capturing && driver.exchange_mode && driver.context;
  if (!driver.is_whole)
    inject_log("nothing is learnt: the driver has no events");
}

/* While any stream is captured, the driver refuses calls to threads that are not relaxed about it.
 */
static bool relax(int *mode) {
  *mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  return driver.exchange_mode(mode) == CUDA_SUCCESS;
}

bool inject_is_capturing(void *stream) {
  int status, mode;
  pthread_once(&once, find_driver);
  if (!driver.is_whole)
    return true;
  bool is_relaxed = relax(&mode);
  bool captures =
      driver.capturing(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
  if (is_relaxed)
    driver.exchange_mode(&mode);
  return captures;
}

static void destroy(inject_sample *sample) {
  if (sample && sample->begun)
    driver.destroy(sample->begun);
  if (sample && sample->ended)
    driver.destroy(sample->ended);
  free(sample);
}

/* A sample with events of the context; NULL: there is none. */
static inject_sample *get_sample(void *context) {
  inject_lock();
  inject_sample **at = &idle;
  while (*at && (*at)->context != context)
    at = &(*at)->next;
  inject_sample *found = *at;
  bool is_full = pending_count >= MOST_PENDING;
  if (found && !is_full)
    *at = found->next;
  inject_unlock();
  if (found || is_full)
    return is_full ? NULL : found;
  found = calloc(1, sizeof *found);
  if (!found)
    return NULL;
  found->context = context;
  if (driver.create(&found->begun, 0) != CUDA_SUCCESS)
    found->begun = NULL;
  if (found->begun && driver.create(&found->ended, 0) != CUDA_SUCCESS)
    found->ended = NULL;
  if (found->ended)
    return found;
  destroy(found);
  return NULL;
}

void inject_learn_begin(inject_launch *launch, void *owner) {
  void *context = NULL;
  int mode;
  pthread_once(&once, find_driver);
  if (!driver.is_whole)
    return;
  bool is_relaxed = relax(&mode);
  inject_sample *sample =
      driver.context(&context) == CUDA_SUCCESS && context ? get_sample(context) : NULL;
  if (sample && driver.record(sample->begun, launch->stream) != CUDA_SUCCESS) {
    destroy(sample);
    sample = NULL;
  }
  if (is_relaxed)
    driver.exchange_mode(&mode);
  launch->sample = sample;
  if (sample)
    sample->owner = owner;
}

/* Appends a sample to those that are pending, or puts it with the idle ones. */
static void put_sample(inject_sample *sample, bool is_pending) {
  inject_lock();
  sample->next = is_pending ? NULL : idle;
  if (!is_pending) {
    idle = sample;
  } else {
    *(pending ? last : &pending) = sample;
    last = &sample->next;
    pending_count++;
  }
  inject_unlock();
}

void inject_learn_end(inject_launch *launch, int result) {
  inject_sample *sample = launch->sample;
  int mode;
  bool is_relaxed = relax(&mode);
  sample->is_beside = launch->is_beside;
  bool is_good = result == CUDA_SUCCESS && !launch->refusal &&
                 driver.record(sample->ended, launch->stream) == CUDA_SUCCESS;
  if (is_relaxed)
    driver.exchange_mode(&mode);
  launch->sample = NULL;
  put_sample(sample, is_good);
}

/* ---- Samples that are complete ---- */

/* Takes the sample that is pending for longest; NULL: none. */
static inject_sample *take_pending(void) {
  inject_lock();
  inject_sample *first = pending;
  if (first) {
    pending = first->next;
    pending_count--;
  }
  inject_unlock();
  return first;
}

/* Looks at a sample; false where its launch has not ended. */
static bool look_at(inject_sample *sample, inject_learn_file *file) {
  float milliseconds;
  int result = driver.query(sample->ended);
  if (result == CUDA_ERROR_NOT_READY) {
    put_sample(sample, true);
    return false;
  }
  bool is_good = result == CUDA_SUCCESS &&
                 driver.elapsed(&milliseconds, sample->begun, sample->ended) == CUDA_SUCCESS;
  if (is_good)
    file(sample->owner, sample->is_beside, milliseconds * 1e6f);
  if (is_good)
    put_sample(sample, false);
  else
    destroy(sample);
  return true;
}

void inject_learn_poll(inject_learn_file *file) {
  int kept = errno, mode;
  pthread_once(&once, find_driver);
  inject_sample *sample = driver.is_whole ? take_pending() : NULL;
  if (!sample)
    return;
  bool is_relaxed = relax(&mode);
  for (unsigned i = 0; sample && look_at(sample, file); i++)
    sample = i + 1 < MOST_LOOKS ? take_pending() : NULL;
  if (is_relaxed)
    driver.exchange_mode(&mode);
  errno = kept;
}
