/* Counting by threads: each takes a part of the pixels and has counters of its own, which are added
 * up at the end. Bytes, and bins that fit into bytes, are counted in pairs: in one counter each or,
 * where a look finds pairs that come again at once, in four. With more bins, each has eight
 * counters or, where a look finds few that repeat, one. The looks are renewed every few thousand
 * pixels, so that a change in the data costs little. */
#include "vote/plan.h"

#include <stdlib.h>
#include <string.h>

/* Up to so many bins, eight counters each stay in the nearest cache. Above, eight are used where at
 * least so many of the 64 pixels looked at repeat. */
enum { ALWAYS_REPLICATED = 512, MANY_REPEATS = 8 };
/* Fewer pixels are not worth a thread; more threads are not worth their counters. */
enum { PIXELS_PER_THREAD = 1 << 17, MAX_THREADS = 256 };
/* Fewer pixels of a thread are not worth the counters of pairs. */
enum { PIXELS_FOR_PAIRS = 1 << 18 };
/* Bytes for which a look must do; looks at different places; and the pairs of them all that may
 * repeat where one counter for each is enough. */
enum { BYTES_PER_LOOK = 1 << 14, PLACES = 4, FEW_REPEATS = 2 };
/* Pixels after which 32-bit counters are emptied, and at most in one go. */
static const uint64_t FULL = UINT64_C(1) << 31, AT_ONCE = UINT64_C(1) << 30;

/* Threads write to memory that is so far apart that no cache line is shared, nor its neighbour. */
enum { APART_BYTES = 128 };

/* What one thread does: pixels from..to-1, numbered row by row. Counts or sums. */
typedef struct part {
  const bf_plan *plan;
  uint64_t from, to;
  uint32_t *replicated, *once; /* with many bins, the first is made when it is needed */
  double *replicated_sums, *once_sums;
  uint16_t *bytes;    /* counters of bytes */
  size_t waiting;     /* pixels in these */
  uint8_t *pairs;     /* counters of pairs, made when first needed: one each */
  uint8_t *repeating; /* four each */
  bool unpaired;      /* pairs are not worth it, or there is no memory for them */
  bool repeats;       /* what the last look found */
  size_t unseen;      /* bytes since then */
  uint32_t looks;     /* so far */
  uint64_t *counts;
  uint64_t pending; /* pixels since counters were emptied */
  uint64_t dropped; /* pixels counted in counter 0 that are not in any bin */
  char apart[APART_BYTES];
} part;

/* Zeroed memory that no other thread's is near to. */
static void *make_apart(size_t count, size_t size) { return calloc(1, count * size + APART_BYTES); }

/* Adds the 16-bit counters to the 32-bit ones and empties them. */
static void empty_bytes(part *own) {
  if (own->waiting > 0)
    own->plan->kernel->empty_bytes(own->bytes, own->replicated);
  own->waiting = 0;
}

/* Adds counters of bytes and pairs to the 32-bit ones and empties them. */
static void empty_narrow(part *own) {
  empty_bytes(own);
  if (own->pairs)
    own->plan->kernel->empty_pairs(own->pairs, own->replicated);
  if (own->repeating)
    own->plan->kernel->empty_repeating(own->repeating, own->replicated);
}

/* Adds the 32-bit counters to the 64-bit ones and empties them. */
static void empty(part *own) {
  empty_narrow(own);
  for (size_t i = 0; i < own->plan->counters; i++) {
    uint64_t sum = own->once ? own->once[i] : 0;
    for (size_t k = 0; k < BF_REPLICAS && own->replicated; k++)
      sum += own->replicated[i * BF_REPLICAS + k];
    own->counts[i] += sum;
  }
  if (own->replicated)
    memset(own->replicated, 0, own->plan->counters * BF_REPLICAS * sizeof *own->replicated);
  if (own->once)
    memset(own->once, 0, own->plan->counters * sizeof *own->once);
  own->pending = 0;
}

/* Bytes by value in small images. */
static void count_singly(part *own, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    size_t size = count < BF_STRIP ? count : BF_STRIP;
    if (own->waiting + size > BF_BYTES_COUNTED)
      empty_bytes(own);
    own->waiting += size;
    own->plan->kernel->count_bytes(bytes, size, own->bytes, own->replicated);
    bytes += size;
    count -= size;
  }
}

/* Looks at a few places of so many bytes, other ones each time, so that columns of a picture do not
 * stand for all of it. */
static void look(part *own, const uint8_t *bytes, size_t count) {
  size_t share = count / PLACES;
  unsigned found = 0;
  if (share < 2 * BF_LOOK)
    return;
  for (size_t i = 0; i < PLACES; i++) {
    uint32_t scattered = (own->looks * PLACES + (uint32_t)i) * UINT32_C(2654435769) >> 8;
    size_t at = i * share + scattered % (share - BF_LOOK - 8);
    found += own->plan->kernel->find_repeats(bytes + at);
  }
  own->repeats = found > FEW_REPEATS;
  own->unseen = 0;
  own->looks++;
}

/* The counters of pairs that the last look asks for; NULL where memory is exhausted. */
static uint8_t *pairs_of(part *own) {
  uint8_t **pairs = own->repeats ? &own->repeating : &own->pairs;
  if (!*pairs)
    *pairs = make_apart(BF_PAIRS, own->repeats ? BF_PAIR_REPLICAS : 1);
  return *pairs;
}

/* Bytes by value, in pairs where that is faster. */
static void count_bytes(part *own, const uint8_t *bytes, size_t count) {
  const bf_vote_kernel *kernel = own->plan->kernel;
  while (count > 0 && !own->unpaired) {
    size_t size = count < BYTES_PER_LOOK ? count : BYTES_PER_LOOK;
    if (own->unseen >= BYTES_PER_LOOK || own->looks == 0)
      look(own, bytes, size);
    uint8_t *pairs = pairs_of(own);
    own->unpaired = !pairs;
    if (!pairs)
      break;
    if (own->repeats)
      kernel->count_repeating(bytes, size, pairs, own->replicated);
    else
      kernel->count_pairs(bytes, size, pairs, own->replicated);
    own->unseen += size;
    bytes += size;
    count -= size;
  }
  count_singly(own, bytes, count);
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

static void count_chunk(part *own, const bf_chunk *chunk) {
  const bf_vote_kernel *kernel = own->plan->kernel;
  bool many = own->plan->counters > ALWAYS_REPLICATED;
  bool once = many && kernel->repeats(chunk) < MANY_REPEATS;
  if (!once && !own->replicated)
    own->replicated = make_apart(own->plan->counters * BF_REPLICAS, sizeof *own->replicated);
  if (once || !own->replicated)
    kernel->count_bins_once(chunk, own->once);
  else
    kernel->count_bins(chunk, own->replicated);
}

static void sum_chunk(part *own, const bf_chunk *chunk) {
  const bf_vote_kernel *kernel = own->plan->kernel;
  bool many = own->plan->counters > ALWAYS_REPLICATED;
  bool once = many && kernel->repeats(chunk) < MANY_REPEATS;
  if (!once && !own->replicated_sums)
    own->replicated_sums =
        make_apart(own->plan->counters * BF_REPLICAS, sizeof *own->replicated_sums);
  if (once || !own->replicated_sums)
    kernel->sum_bins_once(chunk, own->once_sums);
  else
    kernel->sum_bins(chunk, own->replicated_sums);
}

/* Count pixels of a row. */
static void count_run(part *own, bf_chunk *chunk, size_t x, size_t y, size_t count) {
  if (own->plan->by_value) {
    count_values(own, chunk, x, y, count);
    return;
  }
  for (size_t from = 0; from < count; from += BF_CHUNK) {
    size_t size = count - from < BF_CHUNK ? count - from : BF_CHUNK;
    if (own->counts && own->plan->counters <= 256) {
      own->dropped += bf_plan_bin_narrowly(own->plan, x + from, y, size, chunk);
      count_bytes(own, chunk->bytes, chunk->count);
    } else {
      own->dropped += bf_plan_bin(own->plan, x + from, y, size, chunk);
      if (own->counts)
        count_chunk(own, chunk);
      else
        sum_chunk(own, chunk);
    }
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

/* Sums of a part; false where memory is exhausted. */
static bool allocate_sums(part *own) {
  size_t counters = own->plan->counters;
  if (counters > ALWAYS_REPLICATED)
    return (own->once_sums = make_apart(counters, sizeof *own->once_sums)) != NULL;
  own->replicated_sums = make_apart(counters * BF_REPLICAS, sizeof *own->replicated_sums);
  return own->replicated_sums != NULL;
}

/* Counters of a part; false where memory is exhausted. */
static bool allocate_counters(part *own) {
  size_t counters = own->plan->counters;
  own->unpaired = own->to - own->from < PIXELS_FOR_PAIRS;
  own->repeats = true;
  own->counts = make_apart(counters, sizeof *own->counts);
  if (counters > ALWAYS_REPLICATED) {
    own->once = make_apart(counters, sizeof *own->once);
    return own->counts && own->once;
  }
  size_t values = counters < 256 ? 256 : counters; /* bytes are emptied into all of 256 */
  own->replicated = make_apart(values * BF_REPLICAS, sizeof *own->replicated);
  own->bytes = make_apart(BF_BYTE_COUNTERS, sizeof *own->bytes);
  return own->counts && own->replicated && own->bytes;
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
    free(parts[i].repeating);
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
    enough = sums ? allocate_sums(&all[i]) : allocate_counters(&all[i]);
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
    for (size_t k = 0; k < BF_REPLICAS && own->replicated_sums; k++)
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
  if (!error && !plan.nothing)
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
