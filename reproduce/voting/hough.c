/* Places and times of votes; what the reference is asked for is a picture of all rows, of which
 * those that are not there have no edges. */
#include "reproduce/voting/hough.h"

#include "vote/vote.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COPIES = 8, COLLECT_THREADS = 256, RUN = 16, ADD_BLOCKS_PER_SM = 4, LIST_HEAD = 4 };

static uint64_t space_words(const bf_voting_hough *hough) {
  return (uint64_t)hough->space.angles * hough->space.rhos;
}

/* ---- What comes out ---- */

static int vote_reference(const bf_voting_edges *edges, bf_voting_hough *hough,
                          bf_diagnostic *diagnostic) {
  const double pi = acos(-1);
  size_t bytes = (size_t)edges->rows * BF_VOTING_WIDTH;
  uint8_t *whole = calloc((size_t)BF_VOTING_HEIGHT * BF_VOTING_WIDTH, 1);
  if (!whole)
    return bf_no_memory(diagnostic);
  memcpy(whole, edges->edges, bytes);
  bf_pixels image = {
      .data = whole, .type = BF_PIXEL_U8, .width = BF_VOTING_WIDTH, .height = BF_VOTING_HEIGHT};
  bf_hough_options options = {.struct_bytes = sizeof options,
                              .theta_high = pi,
                              .theta_step = pi / BF_VOTING_ANGLES * edges->angle_step,
                              .rho_step = edges->rho_step,
                              .threads = 1};
  int error = bf_hough_vote(&image, &options, &hough->space, diagnostic);
  hough->points = (uint32_t)hough->space.points;
  free(whole);
  return error;
}

static int upload_angles(bf_voting_hough *hough, bf_diagnostic *diagnostic) {
  bf_angle angle[BF_VOTING_ANGLES];
  for (size_t i = 0; i < hough->space.angles; i++)
    angle[i] = bf_hough_angle(&hough->space, i);
  return bf_voting_upload(&hough->device, angle, hough->space.angles * sizeof *angle,
                          &hough->angles, diagnostic);
}

int bf_voting_hough_create(const char *gpu, unsigned sms, const bf_voting_edges *edges,
                           bf_voting_hough *hough, bf_diagnostic *diagnostic) {
  *hough = (bf_voting_hough){.rows = edges->rows};
  const bf_voting_device *device = &hough->device;
  uint64_t pixels = (uint64_t)edges->rows * BF_VOTING_WIDTH;
  BF_TRY(bf_voting_device_create(gpu, "voting", sms, &hough->device, diagnostic));
  BF_TRY(vote_reference(edges, hough, diagnostic));
  BF_TRY(upload_angles(hough, diagnostic));
  BF_TRY(bf_voting_upload(device, edges->edges, pixels, &hough->image, diagnostic));
  BF_TRY(bf_voting_upload(device, NULL, space_words(hough) * sizeof(uint32_t), &hough->votes,
                          diagnostic));
  BF_TRY(bf_voting_upload(device, NULL, (space_words(hough) + 1) * MOST_COPIES * sizeof(uint32_t),
                          &hough->spread, diagnostic));
  return bf_voting_upload(device, NULL, (LIST_HEAD + hough->points + 4) * sizeof(uint32_t),
                          &hough->list, diagnostic);
}

void bf_voting_hough_free(bf_voting_hough *hough) {
  bf_hough_space_clear(&hough->space);
  bf_voting_device_free(&hough->device);
}

/* Compares the space on the device with what is wanted, and clears it. */
static int check_space(bf_voting_hough *hough, const uint32_t *wanted, bf_diagnostic *diagnostic) {
  BF_TRY(bf_voting_compare(&hough->device, hough->votes, wanted, space_words(hough), diagnostic));
  return bf_voting_clear(&hough->device, hough->votes, space_words(hough) * sizeof(uint32_t),
                         diagnostic);
}

/* ---- Kernels ---- */

enum { PARAMETERS = 7, MOST_PARAMETERS = PARAMETERS + 3 };

/* Sizes as kernels take them, and the parameters that all of them begin with. */
typedef struct hough_parameters {
  uint32_t angles, rhos, rho_zero;
  uint64_t place; /* of the list, behind its length */
  const void *parameter[MOST_PARAMETERS];
} hough_parameters;

static void fill_parameters(const bf_voting_hough *hough, hough_parameters *own) {
  own->angles = (uint32_t)hough->space.angles;
  own->rhos = (uint32_t)hough->space.rhos;
  own->rho_zero = (uint32_t)hough->space.rho_zero;
  own->place = hough->list + LIST_HEAD * sizeof(uint32_t);
  const void *const first[PARAMETERS] = {&hough->image, &hough->rows, &hough->angles,
                                         &own->angles,  &own->rhos,   &own->rho_zero,
                                         &hough->votes};
  memcpy(own->parameter, first, sizeof first);
}

int bf_voting_hough_global(bf_voting_hough *hough, const bf_voting_choice *choice,
                           double *vote_seconds, double *add_seconds, bf_diagnostic *diagnostic) {
  hough_parameters own;
  uint64_t pixels = (uint64_t)hough->rows * BF_VOTING_WIDTH;
  fill_parameters(hough, &own);
  own.parameter[PARAMETERS] = &choice->copies;
  own.parameter[PARAMETERS + 1] = &hough->spread;
  bf_voting_launch launch = {.kernel = "hough_global",
                             .layout = choice->layout,
                             .blocks = (uint32_t)((pixels + choice->threads - 1) / choice->threads),
                             .threads = choice->threads,
                             .parameters = PARAMETERS + 2,
                             .parameter = own.parameter};
  *vote_seconds = *add_seconds = 0;
  BF_TRY(bf_voting_clear(&hough->device, hough->spread,
                         (space_words(hough) + 1) * choice->copies * sizeof(uint32_t), diagnostic));
  BF_TRY(bf_voting_run(&hough->device, &launch, vote_seconds, diagnostic));
  if (choice->copies > 1) {
    launch.kernel = "hough_add";
    launch.blocks = (uint32_t)hough->device.gpu->sms * ADD_BLOCKS_PER_SM;
    launch.threads = COLLECT_THREADS;
    BF_TRY(bf_voting_run(&hough->device, &launch, add_seconds, diagnostic));
  }
  return check_space(hough, hough->space.votes, diagnostic);
}

int bf_voting_hough_collect(bf_voting_hough *hough, double *seconds, bf_diagnostic *diagnostic) {
  hough_parameters own;
  uint32_t runs = hough->rows * (BF_VOTING_WIDTH / RUN);
  fill_parameters(hough, &own);
  own.parameter[PARAMETERS] = &hough->list;
  own.parameter[PARAMETERS + 1] = &own.place;
  bf_voting_launch launch = {.kernel = "hough_collect",
                             .is_only_one = true,
                             .blocks = (runs + COLLECT_THREADS - 1) / COLLECT_THREADS,
                             .threads = COLLECT_THREADS,
                             .parameters = PARAMETERS + 2,
                             .parameter = own.parameter};
  *seconds = 0;
  BF_TRY(bf_voting_clear(&hough->device, hough->list, sizeof(uint32_t), diagnostic));
  BF_TRY(bf_voting_run(&hough->device, &launch, seconds, diagnostic));
  return bf_voting_compare(&hough->device, hough->list, &hough->points, 1, diagnostic);
}

/* As Lines.words of gpu/vote/hough_points.cu. */
uint64_t bf_voting_hough_bytes(const bf_voting_hough *hough, const bf_voting_choice *choice) {
  uint64_t line = hough->space.rhos + (choice->layout == BF_VOTING_PADDED);
  return (line * choice->copies + 3) / 4 * 4 * sizeof(uint32_t);
}

/* Votes with the list as it is. */
static int run_lines(bf_voting_hough *hough, const bf_voting_choice *choice, const uint32_t *wanted,
                     double *seconds, bf_diagnostic *diagnostic) {
  hough_parameters own;
  fill_parameters(hough, &own);
  own.parameter[PARAMETERS] = &choice->copies;
  own.parameter[PARAMETERS + 1] = &hough->list;
  own.parameter[PARAMETERS + 2] = &own.place;
  bf_voting_launch launch = {.kernel = "hough_lines",
                             .layout = choice->layout,
                             .blocks = own.angles,
                             .threads = choice->threads,
                             .shared_bytes = bf_voting_hough_bytes(hough, choice),
                             .parameters = PARAMETERS + 3,
                             .parameter = own.parameter};
  *seconds = 0;
  BF_TRY(bf_voting_run(&hough->device, &launch, seconds, diagnostic));
  return check_space(hough, wanted, diagnostic);
}

int bf_voting_hough_lines(bf_voting_hough *hough, const bf_voting_choice *choice, double *seconds,
                          bf_diagnostic *diagnostic) {
  return run_lines(hough, choice, hough->space.votes, seconds, diagnostic);
}

int bf_voting_hough_idle(bf_voting_hough *hough, const bf_voting_choice *choice, double *seconds,
                         bf_diagnostic *diagnostic) {
  const bf_device *device = &hough->device.device;
  uint32_t *nothing = calloc(space_words(hough), sizeof *nothing);
  if (!nothing)
    return bf_no_memory(diagnostic);
  int error = bf_voting_clear(&hough->device, hough->list, sizeof(uint32_t), diagnostic);
  if (!error)
    error = run_lines(hough, choice, nothing, seconds, diagnostic);
  if (!error)
    error =
        device->write(device->context, hough->list, &hough->points, sizeof(uint32_t), diagnostic);
  free(nothing);
  return error;
}

int bf_voting_hough_reorder(bf_voting_hough *hough, bf_diagnostic *diagnostic) {
  enum { LANES = 32, POINTS = 4, GROUP = LANES * POINTS };
  const bf_device *device = &hough->device.device;
  uint64_t first = hough->list + LIST_HEAD * sizeof(uint32_t);
  size_t bytes = (hough->points + 1) * sizeof(uint32_t);
  uint32_t *old = malloc(bytes), *new = malloc(bytes);
  int error = old && new ? device->read(device->context, first, old, bytes, diagnostic)
                         : bf_no_memory(diagnostic);
  if (!error) {
    memcpy(new, old, bytes);
    for (uint32_t at = 0; at + GROUP <= hough->points; at += GROUP)
      for (unsigned i = 0; i < GROUP; i++)
        new[at + i] = old[at + i % POINTS * LANES + i / POINTS];
    error = device->write(device->context, first, new, bytes, diagnostic);
  }
  free(old);
  free(new);
  return error;
}
