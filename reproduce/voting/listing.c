/* The document gives neither blocks nor pixels of a thread: those that are fastest here count. */
#include "reproduce/voting/listing.h"

#include "reproduce/voting/device.h"

#include <math.h>
#include <stdlib.h>

enum { WARP = 32, SHAPES = 9 };

/* Warps of a block, and pixels of each thread. */
static const struct {
  uint32_t warps, pixels;
} shapes[SHAPES] = {{4, 4}, {4, 8}, {4, 16}, {8, 4}, {8, 8}, {8, 16}, {16, 4}, {16, 8}, {16, 16}};

typedef struct listing {
  bf_voting_device device;
  uint32_t pixels, edges;
  uint64_t image, length, list; /* addresses */
} listing;

static int create(const char *name, const uint8_t *edges, uint32_t rows, listing *own,
                  bf_diagnostic *diagnostic) {
  *own = (listing){.pixels = rows * BF_VOTING_WIDTH};
  for (uint32_t i = 0; i < own->pixels; i++)
    own->edges += edges[i] > 0;
  BF_TRY(bf_voting_device_create(name, "listing", 0, &own->device, diagnostic));
  BF_TRY(bf_voting_upload(&own->device, edges, own->pixels, &own->image, diagnostic));
  BF_TRY(bf_voting_upload(&own->device, NULL, sizeof(uint32_t), &own->length, diagnostic));
  return bf_voting_upload(&own->device, NULL, ((uint64_t)own->edges + 1) * sizeof(uint32_t),
                          &own->list, diagnostic);
}

/* Whether `count` places of a list are those of the edges, each once. */
static bool is_complete(const uint8_t *edges, uint32_t pixels, const uint32_t *list, uint32_t count,
                        uint8_t *seen) {
  bool is_right = true;
  for (uint32_t i = 0; i < count && is_right; i++) {
    uint64_t at = (uint64_t)(list[i] >> 16) * BF_VOTING_WIDTH + (list[i] & 0xffff);
    is_right = at < pixels && edges[at] && !seen[at];
    if (is_right)
      seen[at] = 1;
  }
  return is_right;
}

/* Reads the list and compares it with the picture. */
static int check_list(const listing *own, const uint8_t *edges, bf_diagnostic *diagnostic) {
  const bf_device *device = &own->device.device;
  uint64_t bytes = (uint64_t)own->edges * sizeof(uint32_t);
  BF_TRY(bf_voting_compare(&own->device, own->length, &own->edges, 1, diagnostic));
  uint32_t *list = malloc(bytes + 1);
  uint8_t *seen = calloc(own->pixels, 1);
  int error = list && seen ? device->read(device->context, own->list, list, bytes, diagnostic)
                           : bf_no_memory(diagnostic);
  if (!error && !is_complete(edges, own->pixels, list, own->edges, seen))
    error = bf_fail(diagnostic, BF_BAD_INPUT, "the list does not hold each edge once");
  free(list);
  free(seen);
  return error;
}

/* Makes the list with blocks of a shape. */
static int make_list(listing *own, unsigned shape, const uint8_t *edges, double *milliseconds,
                     bf_diagnostic *diagnostic) {
  static const uint32_t width = BF_VOTING_WIDTH;
  uint32_t per_warp = shapes[shape].pixels * WARP, warps = shapes[shape].warps;
  const void *parameter[] = {&own->image, &width, &per_warp, &own->length, &own->list};
  bf_voting_launch launch = {.kernel = "list_by_tries",
                             .is_only_one = true,
                             .blocks = own->pixels / (warps * per_warp),
                             .threads = warps * WARP,
                             .shared_bytes = warps * per_warp * sizeof(uint32_t),
                             .parameters = sizeof parameter / sizeof *parameter,
                             .parameter = parameter};
  double seconds = 0;
  BF_TRY(bf_voting_clear(&own->device, own->length, sizeof(uint32_t), diagnostic));
  BF_TRY(bf_voting_run(&own->device, &launch, &seconds, diagnostic));
  *milliseconds = 1e3 * seconds;
  return check_list(own, edges, diagnostic);
}

/* All shapes, and the best once more with a slower memory. */
static int try_shapes(listing *own, const uint8_t *edges, unsigned count, bf_voting_listed *listed,
                      bf_diagnostic *diagnostic) {
  unsigned best = 0;
  double milliseconds;
  *listed = (bf_voting_listed){.least = INFINITY};
  for (unsigned i = 0; i < count; i++) {
    BF_TRY(make_list(own, i, edges, &milliseconds, diagnostic));
    best = milliseconds < listed->least ? i : best;
    listed->least = fmin(listed->least, milliseconds);
    listed->most = fmax(listed->most, milliseconds);
  }
  own->device.gpu->shared_cycles *= 2;
  return make_list(own, best, edges, &listed->twice, diagnostic);
}

int bf_voting_listing(const char *name, const uint8_t *edges, uint32_t rows, bool is_quick,
                      bf_voting_listed *listed, bf_diagnostic *diagnostic) {
  listing own;
  int error = create(name, edges, rows, &own, diagnostic);
  if (!error)
    error = try_shapes(&own, edges, is_quick ? 1 : SHAPES, listed, diagnostic);
  bf_voting_device_free(&own.device);
  return error;
}
