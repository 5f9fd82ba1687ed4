/* The vote of edge pixels, angle by angle: the bins of one angle stay in the nearest cache while
 * all points pass by. Points come in bands, which bounds memory and keeps 16-bit counters from
 * overflowing. Threads share first the rows, to list the points of a band, then the angles. */
#include "vote/kernel.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Points in a band: as many as 16-bit counters can take when every one of them meets the same bin,
 * a few less, in whole chunks. Below so many votes a thread is not worth it. */
enum { BAND = 65535 / BF_CHUNK * BF_CHUNK * BF_LINE_REPLICAS, VOTES_PER_THREAD = 1 << 18 };
enum { MAX_SPAN = 65535, MAX_THREADS = 256 };
/* Points behind the last whole group of a list all go to the first replica. */
_Static_assert(BAND / BF_LINE_REPLICAS + MAX_THREADS * (BF_LINE_REPLICAS - 1) <= 65535,
               "the lists of all threads fit into 16-bit counters");

/* What one thread lists: every Nth row, N being the number of threads. */
typedef struct list {
  size_t x, y;         /* the next pixel */
  size_t first, count; /* its points of the band, in the arrays of the vote */
} list;

/* Points of a band, and what threads share. */
typedef struct vote {
  const bf_pixels *edges;
  const bf_hough_space *space;
  const bf_vote_kernel *kernel;
  bool weighted;
  unsigned threads;
  size_t room;     /* points of a list, at most */
  uint16_t *x, *y; /* of points */
  uint8_t *weight;
  atomic_size_t angle; /* the next one that is free */
  list *list;          /* one per thread */
  void **table;        /* the same: uint16_t or, with weights, uint32_t */
} vote;

/* Which of 8 bytes are not 0, as 8 bits: the carry out of the low seven bits of a byte, or its
 * highest bit, tell; the product gathers them. */
static inline uint64_t not_zero(const uint8_t *bytes) {
  const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  word = (((word & low) + low) | word) & ~low;
  return (word >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

/* Which of the next 64 pixels, at most `left` of them, are edges. */
static uint64_t find_edges(const uint8_t *row, const uint8_t *mask, size_t left) {
  uint64_t found = 0;
  if (left >= 64) {
    for (unsigned i = 0; i < 8; i++)
      found |= not_zero(row + 8 * i) << 8 * i;
    for (unsigned i = 0; i < 8 && mask && found; i++)
      found &= not_zero(mask + 8 * i) << 8 * i | ~(UINT64_C(0xff) << 8 * i);
    return found;
  }
  for (size_t i = 0; i < left; i++)
    found |= (uint64_t)(row[i] != 0 && (!mask || mask[i] != 0)) << i;
  return found;
}

/* Adds the edge pixels of a list's row up to and without column end. */
static void add_points(const vote *all, list *own, size_t end) {
  const uint8_t *row = (const uint8_t *)all->edges->data + own->y * all->edges->stride_bytes;
  const uint8_t *mask =
      all->edges->mask ? all->edges->mask + own->y * all->edges->mask_stride_bytes : NULL;
  size_t before = own->first + own->count, after = before;
  for (size_t x = own->x; x < end; x += 64) {
    uint64_t found = find_edges(row + x, mask ? mask + x : NULL, end - x);
    for (; found; found &= found - 1)
      all->x[after++] = (uint16_t)(x + (size_t)__builtin_ctzll(found));
  }
  for (size_t i = before; i < after; i++)
    all->y[i] = (uint16_t)own->y;
  for (size_t i = before; i < after && all->weighted; i++)
    all->weight[i] = row[all->x[i]];
  own->count = after - own->first;
}

/* The points of one thread for the next band. */
static void fill_list(void *context, unsigned index) {
  const vote *all = context;
  list *own = &all->list[index];
  own->count = 0;
  while (own->y < all->edges->height && own->count < all->room) {
    size_t left = all->edges->width - own->x, room = all->room - own->count;
    size_t end = own->x + (left < room ? left : room);
    add_points(all, own, end);
    own->x = end;
    if (own->x == all->edges->width) {
      own->x = 0;
      own->y += all->threads;
    }
  }
}

/* Fills the next band; false where there are no more points. */
static bool fill_band(vote *all) {
  size_t count = 0;
  bf_run_threads(all->threads, fill_list, all);
  atomic_store(&all->angle, 0);
  for (unsigned i = 0; i < all->threads; i++)
    count += all->list[i].count;
  return count > 0;
}

/* The lowest and highest bin, relative to rho 0, that any pixel can vote for: rounding is monotone,
 * so that corners have the extremes. */
static void find_span(const bf_pixels *edges, bf_angle angle, int32_t *low, int32_t *high) {
  float right = (float)(edges->width - 1) * angle.x_factor;
  float bottom = (float)(edges->height - 1) * angle.y_factor;
  *low = (int32_t)nearbyintf(fminf(right, 0) + fminf(bottom, 0));
  *high = (int32_t)nearbyintf(fmaxf(right, 0) + fmaxf(bottom, 0));
}

/* Adds counters of a line to the space and empties them. */
#define ADD_LINE(name, type)                                                                       \
  static void name(type *restrict table, size_t bins, uint32_t *restrict votes) {                  \
    for (size_t i = 0; i < bins; i++) {                                                            \
      uint32_t sum = 0;                                                                            \
      for (size_t k = 0; k < BF_LINE_REPLICAS; k++)                                                \
        sum += table[i * BF_LINE_REPLICAS + k];                                                    \
      votes[i] += sum;                                                                             \
    }                                                                                              \
    memset(table, 0, bins *BF_LINE_REPLICAS * sizeof *table);                                      \
  }
ADD_LINE(add_line, uint16_t)
ADD_LINE(add_weighted, uint32_t)

/* Votes of a list straight into the space, for lines of more bins than 16 bits can number. */
static void vote_slowly(const vote *all, const list *from, bf_angle angle, uint32_t *zero) {
  for (size_t i = from->first; i < from->first + from->count; i++) {
    float across = (float)all->x[i] * angle.x_factor, down = (float)all->y[i] * angle.y_factor;
    zero[(ptrdiff_t)nearbyintf(across + down)] += all->weighted ? all->weight[i] : 1;
  }
}

/* All points of the band at one angle. */
static void vote_angle(const vote *all, size_t number, void *table) {
  bf_angle angle = bf_hough_angle(all->space, number);
  uint32_t *zero = all->space->votes + number * all->space->rhos + all->space->rho_zero;
  int32_t low, high;
  find_span(all->edges, angle, &low, &high);
  size_t bins = (size_t)(high - low) + 1;
  for (unsigned i = 0; i < all->threads; i++) {
    const list *from = &all->list[i];
    const uint16_t *x = all->x + from->first, *y = all->y + from->first;
    if (bins > MAX_SPAN)
      vote_slowly(all, from, angle, zero);
    else if (all->weighted)
      all->kernel->vote_weighted(x, y, all->weight + from->first, from->count, angle, -low, table);
    else
      all->kernel->vote_line(x, y, from->count, angle, -low, table);
  }
  if (bins <= MAX_SPAN && all->weighted)
    add_weighted(table, bins, zero + low);
  else if (bins <= MAX_SPAN)
    add_line(table, bins, zero + low);
}

/* Angles for one thread, as long as there are any: a thread that starts late takes fewer. */
static void vote_angles(void *context, unsigned index) {
  vote *all = context;
  size_t number;
  while ((number = atomic_fetch_add(&all->angle, 1)) < all->space->angles)
    vote_angle(all, number, all->table[index]);
}

/* Threads that are worth it. */
static unsigned count_threads(const bf_hough_space *space, unsigned wanted) {
  uint64_t votes = space->points < UINT32_MAX ? space->points * space->angles : UINT64_MAX;
  uint64_t worth = votes / VOTES_PER_THREAD + 1;
  worth = worth < space->angles ? worth : space->angles;
  unsigned threads = wanted < MAX_THREADS ? wanted : MAX_THREADS;
  return worth < threads ? (unsigned)worth : threads;
}

/* Room for the lists of all threads. */
static bool allocate_lists(vote *all) {
  all->room = BAND / BF_LINE_REPLICAS / all->threads * BF_LINE_REPLICAS;
  all->room = all->space->points < all->room ? (size_t)all->space->points : all->room;
  size_t room = all->room * all->threads;
  all->x = malloc(room * sizeof *all->x);
  all->y = malloc(room * sizeof *all->y);
  all->weight = malloc(room * sizeof *all->weight);
  all->list = calloc(all->threads, sizeof *all->list);
  for (unsigned i = 0; all->list && i < all->threads; i++)
    all->list[i] = (list){.y = i, .first = i * all->room};
  return all->x && all->y && all->weight && all->list;
}

static bool allocate(vote *all) {
  size_t bins = all->space->rhos < MAX_SPAN ? all->space->rhos : MAX_SPAN;
  all->table = calloc(all->threads, sizeof *all->table);
  bool enough = allocate_lists(all) && all->table;
  for (unsigned i = 0; i < all->threads && enough; i++) {
    all->table[i] =
        calloc(bins * BF_LINE_REPLICAS, all->weighted ? sizeof(uint32_t) : sizeof(uint16_t));
    enough = all->table[i] != NULL;
  }
  return enough;
}

static void release(vote *all) {
  for (unsigned i = 0; i < all->threads && all->table; i++)
    free(all->table[i]);
  free(all->table);
  free(all->list);
  free(all->x);
  free(all->y);
  free(all->weight);
}

int bf_hough_count(const bf_pixels *edges, bool weighted, unsigned threads,
                   const bf_vote_kernel *kernel, const bf_hough_space *space,
                   bf_diagnostic *diagnostic) {
  if (space->points == 0)
    return BF_OK;
  vote all = {.edges = edges, .space = space, .kernel = kernel, .weighted = weighted};
  all.threads = count_threads(space, threads);
  bool enough = allocate(&all);
  while (enough && fill_band(&all))
    bf_run_threads(all.threads, vote_angles, &all);
  release(&all);
  return enough ? BF_OK : bf_fail(diagnostic, BF_NO_MEMORY, "out of memory: points that vote");
}
