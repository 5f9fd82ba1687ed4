/* Polar Hough transforms on a simulated GPU in the two ways of braak15: by global atomics, and
 * in two steps - a list of edge pixels, and a block for every line of the space, which lies in
 * shared memory. Spaces are compared with that of bf_hough_vote, and lists with the edges. */
#ifndef BF_VOTING_HOUGH_H
#define BF_VOTING_HOUGH_H

#include "reproduce/voting/device.h"

enum { BF_VOTING_ANGLES = 120 };

typedef struct bf_voting_hough {
  bf_voting_device device;
  bf_hough_space space; /* what it must be; of the angles chosen */
  uint32_t rows, points;
  uint64_t image, angles, votes, spread, list; /* addresses; the list begins with its length */
} bf_voting_hough;

/* The edges of a picture, bytes other than 0, and the space that they vote in: rho_step pixels to a
 * bin, angles number 0, angle_step, 2 * angle_step and so on of BF_VOTING_ANGLES. */
typedef struct bf_voting_edges {
  const uint8_t *edges;
  uint32_t rows;
  double rho_step;
  unsigned angle_step;
} bf_voting_edges;

/* A GPU (bf_voting_device_create) with edges; lines of the space are as long as for a picture of
 * BF_VOTING_HEIGHT rows. */
int bf_voting_hough_create(const char *gpu, unsigned sms, const bf_voting_edges *edges,
                           bf_voting_hough *hough, bf_diagnostic *diagnostic);
void bf_voting_hough_free(bf_voting_hough *hough);

/* Votes by global atomics: *vote_seconds for the votes, *add_seconds to add up the copies. */
int bf_voting_hough_global(bf_voting_hough *hough, const bf_voting_choice *choice,
                           double *vote_seconds, double *add_seconds, bf_diagnostic *diagnostic);
/* Makes the list of edge pixels, which stays on the device. */
int bf_voting_hough_collect(bf_voting_hough *hough, double *seconds, bf_diagnostic *diagnostic);
/* Votes for all angles with the list. */
int bf_voting_hough_lines(bf_voting_hough *hough, const bf_voting_choice *choice, double *seconds,
                          bf_diagnostic *diagnostic);
/* The same with an empty list. */
int bf_voting_hough_idle(bf_voting_hough *hough, const bf_voting_choice *choice, double *seconds,
                         bf_diagnostic *diagnostic);
/* Bytes of shared memory that a block of bf_voting_hough_lines takes. */
uint64_t bf_voting_hough_bytes(const bf_voting_hough *hough, const bf_voting_choice *choice);

/* Puts the list into another order: lanes that take four points each get points that follow each
 * other at a time. */
int bf_voting_hough_reorder(bf_voting_hough *hough, bf_diagnostic *diagnostic);

#endif
