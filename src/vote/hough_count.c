/* The vote of edge pixels, angle by angle: the bins of one angle stay in the nearest cache while
 * all points pass by. Points come in bands of rows, which bounds memory and keeps 16-bit counters
 * from overflowing. Threads share the angles. */
#include "vote/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Points in a band: as many as 16-bit counters can take when every one of them meets the same bin,
 * a few less, in whole chunks. Below so many votes a thread is not worth it. */
enum { BAND = 65535 / BF_CHUNK * BF_CHUNK * BF_LINE_REPLICAS, VOTES_PER_THREAD = 1 << 18 };
enum { MAX_SPAN = 65535, MAX_THREADS = 256 };

/* Where the search for points has come to. */
typedef struct cursor {
  size_t x, y;
} cursor;

/* Points of a band, and what threads share. */
typedef struct vote {
  const bf_pixels *edges;
  const bf_hough_space *space;
  const bf_vote_kernel *kernel;
  bool weighted;
  unsigned threads;
  size_t count;
  uint16_t *x, *y; /* of points */
  uint8_t *weight;
  void **table; /* one per thread: uint16_t or, with weights, uint32_t */
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

/* Adds the edge pixels of a row from column x up to and without column end. */
static void add_points(vote *all, size_t x, size_t end, size_t y) {
  const uint8_t *row = (const uint8_t *)all->edges->data + y * all->edges->stride_bytes;
  const uint8_t *mask =
      all->edges->mask ? all->edges->mask + y * all->edges->mask_stride_bytes : NULL;
  size_t count = all->count;
  for (; x < end; x += 64) {
    uint64_t found = find_edges(row + x, mask ? mask + x : NULL, end - x);
    for (; found; found &= found - 1)
      all->x[count++] = (uint16_t)(x + (size_t)__builtin_ctzll(found));
  }
  for (size_t i = all->count; i < count; i++)
    all->y[i] = (uint16_t)y;
  for (size_t i = all->count; i < count && all->weighted; i++)
    all->weight[i] = row[all->x[i]];
  all->count = count;
}

/* Fills the band from where at stands; false where there are no more points. */
static bool fill_band(vote *all, cursor *at) {
  all->count = 0;
  while (at->y < all->edges->height && all->count < BAND) {
    size_t left = all->edges->width - at->x, room = BAND - all->count;
    size_t end = at->x + (left < room ? left : room);
    add_points(all, at->x, end, at->y);
    at->x = end;
    if (at->x == all->edges->width)
      *at = (cursor){0, at->y + 1};
  }
  return all->count > 0;
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

/* Votes straight into the space, for lines of more bins than 16 bits can number. */
static void vote_slowly(const vote *all, bf_angle angle, uint32_t *zero) {
  for (size_t i = 0; i < all->count; i++) {
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
  if (bins > MAX_SPAN) {
    vote_slowly(all, angle, zero);
  } else if (all->weighted) {
    all->kernel->vote_weighted(all->x, all->y, all->weight, all->count, angle, -low, table);
    add_weighted(table, bins, zero + low);
  } else {
    all->kernel->vote_line(all->x, all->y, all->count, angle, -low, table);
    add_line(table, bins, zero + low);
  }
}

/* The share of angles of one thread. */
static void vote_angles(void *context, unsigned index) {
  const vote *all = context;
  size_t angles = all->space->angles;
  for (size_t i = angles * index / all->threads; i < angles * (index + 1) / all->threads; i++)
    vote_angle(all, i, all->table[index]);
}

/* Threads that are worth it. */
static unsigned count_threads(const bf_hough_space *space, unsigned wanted) {
  uint64_t votes = space->points < UINT32_MAX ? space->points * space->angles : UINT64_MAX;
  uint64_t worth = votes / VOTES_PER_THREAD + 1;
  worth = worth < space->angles ? worth : space->angles;
  unsigned threads = wanted < MAX_THREADS ? wanted : MAX_THREADS;
  return worth < threads ? (unsigned)worth : threads;
}

static bool allocate(vote *all) {
  size_t bins = all->space->rhos < MAX_SPAN ? all->space->rhos : MAX_SPAN;
  size_t room = all->space->points < BAND ? (size_t)all->space->points : BAND;
  all->x = malloc(room * sizeof *all->x);
  all->y = malloc(room * sizeof *all->y);
  all->weight = malloc(room * sizeof *all->weight);
  all->table = calloc(all->threads, sizeof *all->table);
  bool enough = all->x && all->y && all->weight && all->table;
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
  for (cursor at = {0}; enough && fill_band(&all, &at);)
    bf_run_threads(all.threads, vote_angles, &all);
  release(&all);
  return enough ? BF_OK : bf_fail(diagnostic, BF_NO_MEMORY, "out of memory: points that vote");
}
