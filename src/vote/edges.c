/* Edges: Sobel's gradient, Otsu's threshold. The gradient is computed twice, first for its largest
 * value and then for good: that is faster than keeping it. */
#include "vote/kernel.h"

#include <math.h>
#include <stdlib.h>

/* Below so many pixels a thread is not worth it. */
enum { PIXELS_PER_THREAD = 1 << 16, MAX_THREADS = 256 };

/* A thread's rows: three of the image, with a pixel more on either side, and one of gradients. */
typedef struct rows {
  double *memory;
  double *above, *here, *below, *gradient;
} rows;

/* What threads share. */
typedef struct sobel {
  const bf_vote_kernel *kernel;
  const bf_pixels *image;
  unsigned channel, threads;
  uint8_t *edges; /* NULL: only the largest gradient is wanted */
  size_t stride_bytes;
  double scale;
  rows *rows;      /* one per thread */
  double *largest; /* one per thread; infinite where a pixel is */
} sobel;

/* A row of the image as doubles, the outermost pixels twice; rows beyond the border are the
 * outermost. Whether any pixel is infinite. */
static bool load_row(const sobel *all, ptrdiff_t y, double *row) {
  const bf_pixels *image = all->image;
  size_t width = image->width, bytes = bf_pixel_bytes(image->type);
  size_t number = y < 0 ? 0 : (size_t)y < image->height ? (size_t)y : image->height - 1;
  const uint8_t *data = (const uint8_t *)image->data + number * image->stride_bytes;
  bool infinite = all->kernel->load_row(data + all->channel * bytes, image->type, image->channels,
                                        width, row + 1);
  row[0] = row[1];
  row[width + 1] = row[width];
  return infinite;
}

/* The share of rows of one thread. */
static void run_rows(void *context, unsigned index) {
  const sobel *all = context;
  const bf_pixels *image = all->image;
  rows *own = &all->rows[index];
  size_t each = image->height / all->threads, rest = image->height % all->threads;
  size_t from = each * index + rest * index / all->threads;
  size_t to = each * (index + 1) + rest * (index + 1) / all->threads;
  double largest = 0;
  bool infinite = load_row(all, (ptrdiff_t)from - 1, own->above);
  infinite |= load_row(all, (ptrdiff_t)from, own->here);
  for (size_t y = from; y < to; y++) {
    const uint8_t *mask = image->mask ? image->mask + y * image->mask_stride_bytes : NULL;
    infinite |= load_row(all, (ptrdiff_t)y + 1, own->below);
    largest = fmax(largest, all->kernel->find_gradient(own->above, own->here, own->below, mask,
                                                       image->width, own->gradient));
    if (all->edges)
      all->kernel->scale_row(own->gradient, image->width, all->scale,
                             all->edges + y * all->stride_bytes);
    double *oldest = own->above;
    own->above = own->here;
    own->here = own->below;
    own->below = oldest;
  }
  all->largest[index] = infinite ? (double)INFINITY : largest;
}

/* Runs all threads; the largest gradient, infinite where a pixel is. */
static double run_threads(sobel *all) {
  double largest = 0;
  bf_run_threads(all->threads, run_rows, all);
  for (unsigned i = 0; i < all->threads; i++)
    largest = fmax(largest, all->largest[i]);
  return largest;
}

/* Memory of all threads; false where it is exhausted. */
static bool allocate(sobel *all) {
  size_t width = all->image->width + 2;
  all->rows = calloc(all->threads, sizeof *all->rows);
  all->largest = calloc(all->threads, sizeof *all->largest);
  bool enough = all->rows && all->largest && width <= (size_t)PTRDIFF_MAX / 4 / sizeof(double);
  for (unsigned i = 0; i < all->threads && enough; i++) {
    double *memory = malloc(4 * width * sizeof *memory);
    all->rows[i] = (rows){memory, memory, memory + width, memory + 2 * width, memory + 3 * width};
    enough = memory != NULL;
  }
  return enough;
}

static void release(sobel *all) {
  for (unsigned i = 0; i < all->threads && all->rows; i++)
    free(all->rows[i].memory);
  free(all->rows);
  free(all->largest);
}

/* Both passes. */
static int find_edges(sobel *all, uint8_t *edges, bf_diagnostic *diagnostic) {
  if (!allocate(all))
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory: rows of %u threads", all->threads);
  double largest = run_threads(all);
  if (isinf(largest))
    return bf_fail(diagnostic, BF_BAD_INPUT, "infinite pixels have no gradient");
  all->edges = edges;
  all->scale = largest > 0 ? 255 / largest : 0;
  run_threads(all);
  return BF_OK;
}

/* Threads that are worth it. */
static unsigned count_threads(const bf_pixels *image, unsigned wanted) {
  uint64_t worth = (uint64_t)image->width * image->height / PIXELS_PER_THREAD + 1;
  worth = worth < image->height ? worth : image->height;
  wanted = wanted ? wanted : bf_cores();
  wanted = wanted < MAX_THREADS ? wanted : MAX_THREADS;
  return worth < wanted ? (unsigned)worth : wanted;
}

int bf_sobel_by(const bf_vote_kernel *kernel, const bf_pixels *image, unsigned channel,
                unsigned threads, uint8_t *edges, size_t stride_bytes, bf_diagnostic *diagnostic) {
  bf_pixels checked;
  BF_TRY(bf_pixels_check(image, &checked, diagnostic));
  if (channel >= checked.channels)
    return bf_fail(diagnostic, BF_BAD_INPUT, "channel %u: the image has channels 0 to %u", channel,
                   checked.channels - 1);
  if (checked.width == 0 || checked.height == 0)
    return BF_OK;
  stride_bytes = stride_bytes ? stride_bytes : checked.width;
  if (!edges || stride_bytes < checked.width || stride_bytes > (size_t)PTRDIFF_MAX / checked.height)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no place for the edges, or a bad stride");
  sobel all = {.kernel = kernel,
               .image = &checked,
               .channel = channel,
               .threads = count_threads(&checked, threads),
               .stride_bytes = stride_bytes};
  int error = find_edges(&all, edges, diagnostic);
  release(&all);
  return error;
}

int bf_sobel(const bf_pixels *image, unsigned channel, unsigned threads, uint8_t *edges,
             size_t stride_bytes, bf_diagnostic *diagnostic) {
  return bf_sobel_by(bf_vote_best(), image, channel, threads, edges, stride_bytes, diagnostic);
}

size_t bf_otsu(const uint64_t *counts, size_t bins) {
  double total = 0, moment = 0, below = 0, below_moment = 0, best = 0;
  size_t threshold = 0;
  for (size_t i = 0; i < bins; i++) {
    total += (double)counts[i];
    moment += (double)i * (double)counts[i];
  }
  for (size_t i = 0; i + 1 < bins; i++) {
    below += (double)counts[i];
    below_moment += (double)i * (double)counts[i];
    if (below == 0 || below == total)
      continue;
    double distance = below_moment / below - (moment - below_moment) / (total - below);
    double variance = below / total * ((total - below) / total) * distance * distance;
    if (variance > best) {
      best = variance;
      threshold = i;
    }
  }
  return threshold;
}
