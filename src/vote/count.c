/* Counting by threads: each takes a part of the pixels and has counters of its own, which are added
 * up at the end. A bin has eight counters or, where there are many bins and a look at the pixels
 * finds few that repeat, one. Bytes are counted in pairs where a look finds them smooth. The looks
 * are renewed every few strips or every chunk, so that a change in the data costs little. */
#include "vote/plan.h"

#include <stdlib.h>
#include <string.h>

/* Up to so many bins, eight counters each stay in the nearest cache. Above, eight are used where at
 * least so many of the 64 pixels looked at repeat. */
enum { ALWAYS_REPLICATED = 512, MANY_REPEATS = 8 };
/* Fewer pixels are not worth a thread; more threads are not worth their counters. */
enum { PIXELS_PER_THREAD = 1 << 17, MAX_THREADS = 256 };
/* Fewer pixels are not worth the counters of pairs; and strips for which a look must do. */
enum { PIXELS_FOR_PAIRS = 1 << 18, STRIPS_PER_LOOK = 4 };
/* Pixels after which 32-bit counters are emptied, and at most in one go. */
static const uint64_t FULL = UINT64_C(1) << 31, AT_ONCE = UINT64_C(1) << 30;

/* What one thread does: pixels from..to-1, numbered row by row. Counts or sums. */
typedef struct part {
  const bf_plan *plan;
  uint64_t from, to;
  uint32_t *replicated, *once;
  double *replicated_sums, *once_sums;
  uint16_t *bytes; /* counters of bytes */
  uint16_t *pairs; /* counters of pairs, made when first needed */
  bool unpaired;   /* pairs are not worth it */
  bool smooth;     /* what the last look found */
  size_t strips;   /* since the first look */
  size_t waiting;  /* pixels in counters of bytes and pairs */
  uint64_t *counts;
  uint64_t pending; /* pixels since counters were emptied */
  uint64_t dropped; /* pixels counted in counter 0 that are not in any bin */
} part;

/* Adds the 16-bit counters to the 32-bit ones and empties them. */
static void empty_bytes(part *own) {
  if (own->waiting == 0)
    return;
  own->plan->kernel->empty_bytes(own->bytes, own->replicated);
  if (own->pairs)
    own->plan->kernel->empty_pairs(own->pairs, own->replicated);
  own->waiting = 0;
}

/* Adds the 32-bit counters to the 64-bit ones and empties them. */
static void empty(part *own) {
  empty_bytes(own);
  for (size_t i = 0; i < own->plan->counters; i++) {
    uint64_t sum = own->once ? own->once[i] : 0;
    for (size_t k = 0; k < BF_REPLICAS; k++)
      sum += own->replicated[i * BF_REPLICAS + k];
    own->counts[i] += sum;
  }
  memset(own->replicated, 0, own->plan->counters * BF_REPLICAS * sizeof *own->replicated);
  if (own->once)
    memset(own->once, 0, own->plan->counters * sizeof *own->once);
  own->pending = 0;
}

/* Whether a strip is better counted in pairs, and there is memory for them. */
static bool wants_pairs(part *own, const uint8_t *strip) {
  if (own->unpaired)
    return false;
  if (own->strips++ % STRIPS_PER_LOOK == 0)
    own->smooth = own->plan->kernel->is_smooth(strip);
  if (own->smooth && !own->pairs)
    own->pairs = calloc(BF_PAIR_COUNTERS, sizeof *own->pairs);
  return own->smooth && own->pairs;
}

/* Bytes by value, strip by strip, in pairs where that is faster. */
static void count_bytes(part *own, const uint8_t *bytes, size_t count) {
  const bf_vote_kernel *kernel = own->plan->kernel;
  while (count > 0) {
    size_t size = count < BF_STRIP ? count : BF_STRIP;
    if (own->waiting + size > BF_BYTES_COUNTED)
      empty_bytes(own);
    own->waiting += size;
    if (size == BF_STRIP && wants_pairs(own, bytes))
      kernel->count_pairs(bytes, own->pairs, own->replicated);
    else
      kernel->count_bytes(bytes, size, own->bytes, own->replicated);
    bytes += size;
    count -= size;
  }
}

/* Bytes of a channel that are not masked, count pixels of a row. */
static void count_values(part *own, bf_chunk *chunk, size_t x, size_t y, size_t count) {
  const bf_plan *plan = own->plan;
  const uint8_t *data = bf_plan_pixel(plan, x, y), *mask = bf_plan_mask(plan, x, y);
  unsigned channels = plan->job.image.channels;
  if (channels == 1 && !mask) {
    count_bytes(own, data, count);
    return;
  }
  for (size_t from = 0; from < count; from += BF_CHUNK) {
    chunk->count = count - from < BF_CHUNK ? count - from : BF_CHUNK;
    plan->kernel->pick_bytes(chunk, data + from * channels, channels);
    if (mask)
      own->dropped += plan->kernel->mask_bytes(chunk, mask + from);
    count_bytes(own, chunk->bytes, chunk->count);
  }
}

/* Counts or sums the bins of a chunk. */
static void count_chunk(part *own, const bf_chunk *chunk) {
  const bf_vote_kernel *kernel = own->plan->kernel;
  bool once = own->plan->counters > ALWAYS_REPLICATED && kernel->repeats(chunk) < MANY_REPEATS;
  if (own->once_sums && once)
    kernel->sum_bins_once(chunk, own->once_sums);
  else if (own->replicated_sums)
    kernel->sum_bins(chunk, own->replicated_sums);
  else if (once)
    kernel->count_bins_once(chunk, own->once);
  else
    kernel->count_bins(chunk, own->replicated);
}

/* Count pixels of a row. */
static void count_run(part *own, bf_chunk *chunk, size_t x, size_t y, size_t count) {
  if (own->plan->by_value) {
    count_values(own, chunk, x, y, count);
    return;
  }
  for (size_t from = 0; from < count; from += BF_CHUNK) {
    size_t size = count - from < BF_CHUNK ? count - from : BF_CHUNK;
    own->dropped += bf_plan_bin(own->plan, x + from, y, size, chunk);
    count_chunk(own, chunk);
  }
}

static void count_part(void *context, unsigned index) {
  part *own = (part *)context + index;
  size_t width = own->plan->job.image.width;
  bf_chunk chunk;
  for (uint64_t pixel = own->from; pixel < own->to;) {
    size_t x = pixel % width, y = pixel / width;
    uint64_t count = width - x < own->to - pixel ? width - x : own->to - pixel;
    count = count < AT_ONCE ? count : AT_ONCE;
    count_run(own, &chunk, x, y, (size_t)count);
    pixel += count;
    own->pending += count;
    if (own->counts && own->pending >= FULL)
      empty(own);
  }
  if (own->counts)
    empty(own);
}

/* Counters of a part, or sums; false where memory is exhausted. */
static bool allocate(part *own, bool sums) {
  size_t counters = own->plan->counters;
  bool needs_once = counters > ALWAYS_REPLICATED;
  if (sums) {
    own->replicated_sums = calloc(counters * BF_REPLICAS, sizeof *own->replicated_sums);
    own->once_sums = needs_once ? calloc(counters, sizeof *own->once_sums) : NULL;
    return own->replicated_sums && (own->once_sums || !needs_once);
  }
  own->replicated = calloc(counters * BF_REPLICAS, sizeof *own->replicated);
  own->once = needs_once ? calloc(counters, sizeof *own->once) : NULL;
  own->counts = calloc(counters, sizeof *own->counts);
  own->unpaired = own->to - own->from < PIXELS_FOR_PAIRS;
  own->bytes = calloc(BF_BYTE_COUNTERS, sizeof *own->bytes);
  return own->replicated && own->counts && own->bytes && (own->once || !needs_once);
}

static void release(part *parts, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    free(parts[i].replicated);
    free(parts[i].once);
    free(parts[i].replicated_sums);
    free(parts[i].once_sums);
    free(parts[i].counts);
    free(parts[i].bytes);
    free(parts[i].pairs);
  }
  free(parts);
}

/* Parts of equal size, at most one per thread and as many as are worth it, counted. */
static int run_parts(const bf_plan *plan, bool sums, part **parts, unsigned *part_count,
                     bf_diagnostic *diagnostic) {
  uint64_t pixels = (uint64_t)plan->job.image.width * plan->job.image.height;
  uint64_t worth = pixels / PIXELS_PER_THREAD + 1;
  unsigned threads = plan->job.threads < MAX_THREADS ? plan->job.threads : MAX_THREADS;
  threads = threads < worth ? threads : (unsigned)worth;
  part *all = calloc(threads, sizeof *all);
  bool enough = all != NULL;
  for (unsigned i = 0; i < threads && enough; i++) {
    all[i].plan = plan;
    all[i].from = pixels / threads * i + pixels % threads * i / threads;
    all[i].to = pixels / threads * (i + 1) + pixels % threads * (i + 1) / threads;
    enough = allocate(&all[i], sums);
  }
  if (!enough) {
    release(all, all ? threads : 0);
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory: counters of %u threads", threads);
  }
  bf_run_threads(threads, count_part, all);
  *parts = all;
  *part_count = threads;
  return BF_OK;
}

/* Adds what a part found. Values become bins here. */
static void add_counts(const part *own, uint64_t *counts) {
  const bf_plan *plan = own->plan;
  own->counts[0] -= own->dropped;
  for (size_t i = 0; i < plan->counters; i++) {
    size_t bin = plan->by_value ? bf_bins_find(&plan->job.bins, (double)i) : i;
    if (bin < plan->job.bins.count)
      counts[bin] += own->counts[i];
  }
}

static void add_sums(const part *own, double *sums) {
  for (size_t i = 0; i < own->plan->counters; i++) {
    double sum = own->once_sums ? own->once_sums[i] : 0;
    for (size_t k = 0; k < BF_REPLICAS; k++)
      sum += own->replicated_sums[i * BF_REPLICAS + k];
    sums[i] += sum;
  }
}

/* Counts where counts are given, else sums. */
static int count_job(const bf_vote_job *job, const bf_vote_kernel *kernel, uint64_t *counts,
                     double *sums, bf_diagnostic *diagnostic) {
  bf_plan plan;
  part *parts = NULL;
  unsigned count = 0;
  int error = bf_plan_make(job, kernel, &plan, diagnostic);
  if (error == BF_OK && !plan.nothing)
    error = run_parts(&plan, !counts, &parts, &count, diagnostic);
  for (unsigned i = 0; i < count; i++)
    if (counts)
      add_counts(&parts[i], counts);
    else
      add_sums(&parts[i], sums);
  release(parts, count);
  bf_plan_clear(&plan);
  return error;
}

int bf_histogram_count(const bf_vote_job *job, const bf_vote_kernel *kernel, uint64_t *counts,
                       bf_diagnostic *diagnostic) {
  return count_job(job, kernel, counts, NULL, diagnostic);
}

int bf_histogram_sum(const bf_vote_job *job, const bf_vote_kernel *kernel, double *sums,
                     bf_diagnostic *diagnostic) {
  return count_job(job, kernel, NULL, sums, diagnostic);
}
