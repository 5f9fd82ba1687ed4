/* Drivers of the particle boxes. */
#include "kernels/lavamd/lavamd.h"

#include "kernels/corpus.h"

#include <math.h>
#include <string.h>

enum { WIDE = 2, HIGH = 2, THREADS = 128, MOST_NEIGHBOURS = 27 };

/* Boxes of side 1 in a grid of WIDE x HIGH x deep, with what a kernel wants to know of them. */
typedef struct lavamd_box {
  uint32_t first, count;
} lavamd_box;

typedef struct lavamd_space {
  uint32_t deep, box_count, neighbour_count;
  lavamd_box *boxes;
  uint32_t *neighbours;
  float *particles, *charges;
} lavamd_space;

void bf_lavamd_reference(const float *particle, const float *other, const float *charges,
                         double alpha, double *energy, double *force, double *magnitude) {
  for (unsigned j = 0; j < BF_LAVAMD_PARTICLES; j++, other += 4) {
    double half = (double)particle[0] + (double)other[0];
    for (unsigned c = 1; c < 4; c++)
      half -= (double)particle[c] * (double)other[c];
    const double potential = (double)charges[j] * exp(-2 * alpha * alpha * half);
    *energy += potential;
    magnitude[0] += potential;
    for (unsigned c = 0; c < 3; c++) {
      const double push = 2 * potential * ((double)particle[c + 1] - (double)other[c + 1]);
      force[c] += push;
      magnitude[c + 1] += fabs(push);
    }
  }
}

/* Lists the boxes that touch box (x, y, z), and itself. */
static void list_neighbours(lavamd_space *space, uint32_t x, uint32_t y, uint32_t z) {
  lavamd_box *of = &space->boxes[(z * HIGH + y) * WIDE + x];
  of->first = space->neighbour_count;
  for (uint32_t nz = z ? z - 1 : 0; nz <= z + 1 && nz < space->deep; nz++)
    for (uint32_t ny = y ? y - 1 : 0; ny <= y + 1 && ny < HIGH; ny++)
      for (uint32_t nx = x ? x - 1 : 0; nx <= x + 1 && nx < WIDE; nx++)
        space->neighbours[space->neighbour_count++] = (nz * HIGH + ny) * WIDE + nx;
  of->count = space->neighbour_count - of->first;
}

/* Spreads particles over box (x, y, z). */
static void fill_box(lavamd_space *space, uint32_t x, uint32_t y, uint32_t z,
                     bf_corpus_random *random) {
  const uint32_t number = (z * HIGH + y) * WIDE + x;
  for (uint32_t i = 0; i < BF_LAVAMD_PARTICLES; i++) {
    float *particle = space->particles + (number * BF_LAVAMD_PARTICLES + i) * 4;
    particle[1] = (float)x + bf_corpus_uniform(random);
    particle[2] = (float)y + bf_corpus_uniform(random);
    particle[3] = (float)z + bf_corpus_uniform(random);
    for (unsigned c = 1; c < 4; c++)
      particle[0] += particle[c] * particle[c] / 2;
    space->charges[number * BF_LAVAMD_PARTICLES + i] = 0.1f + bf_corpus_uniform(random);
  }
}

static int make_space(const bf_corpus_run *run, lavamd_space *space, bf_diagnostic *diagnostic) {
  space->deep = 2 * run->scale;
  space->box_count = WIDE * HIGH * space->deep;
  const uint32_t particles = space->box_count * BF_LAVAMD_PARTICLES;
  BF_TRY(BF_CORPUS_ALLOC(run, &space->boxes, space->box_count, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &space->neighbours, space->box_count * MOST_NEIGHBOURS, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &space->particles, particles * 4, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &space->charges, particles, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  for (uint32_t z = 0; z < space->deep; z++)
    for (uint32_t y = 0; y < HIGH; y++)
      for (uint32_t x = 0; x < WIDE; x++) {
        list_neighbours(space, x, y, z);
        fill_box(space, x, y, z, &random);
      }
  return BF_OK;
}

/* Compares the energy and force of one particle, both in parts of the sum of what was added: a sum
 * of n terms is off by at most n 2^-24 of that. A term is off by what half the squared distance is
 * off times 2 alpha^2 - ten roundings of sums up to twice the largest v - and by less than 10
 * roundings more, those of expf included. */
static void compare_particle(const lavamd_space *space, uint32_t number, double alpha,
                             const float *result, bf_corpus_outcome *outcome) {
  const lavamd_box *of = &space->boxes[number / BF_LAVAMD_PARTICLES];
  const double largest_v =
      (WIDE * WIDE + HIGH * HIGH + (double)space->deep * (double)space->deep) / 2;
  double sums[4] = {0}, magnitude[4] = {0}, parts[4];
  for (uint32_t n = of->first; n < of->first + of->count; n++) {
    const uint32_t other = space->neighbours[n] * BF_LAVAMD_PARTICLES;
    bf_lavamd_reference(space->particles + number * 4, space->particles + other * 4,
                        space->charges + other, alpha, &sums[0], &sums[1], magnitude);
  }
  for (unsigned c = 0; c < 4; c++) {
    parts[c] = (double)result[c] / magnitude[c];
    sums[c] /= magnitude[c];
  }
  const double terms = of->count * BF_LAVAMD_PARTICLES;
  bf_corpus_compare_f64(parts, sums, 4, (terms + 10 + 2 * alpha * alpha * 20 * largest_v) * 0x1p-24,
                        outcome);
}

/* Forces on all particles. */
static int run_lavamd(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                      bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  const float alpha = 0.5f;
  lavamd_space space = {0};
  BF_TRY(make_space(run, &space, diagnostic));
  const uint32_t particles = space.box_count * BF_LAVAMD_PARTICLES;
  const uint64_t bytes = particles * 4 * sizeof(float);
  float *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &result, particles * 4, diagnostic));

  uint64_t boxes, neighbours, positions, charges, forces;
  BF_TRY(bf_corpus_upload(device, space.boxes, space.box_count * sizeof(lavamd_box), &boxes,
                          diagnostic));
  BF_TRY(bf_corpus_upload(device, space.neighbours, space.neighbour_count * sizeof(uint32_t),
                          &neighbours, diagnostic));
  BF_TRY(bf_corpus_upload(device, space.particles, bytes, &positions, diagnostic));
  BF_TRY(bf_corpus_upload(device, space.charges, particles * sizeof(float), &charges, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &forces, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, run->benchmark->variant, space.box_count, 1, THREADS, 1,
                          diagnostic, &boxes, &neighbours, &positions, &charges, &alpha, &forces));
  BF_TRY(device->read(device->context, forces, result, bytes, diagnostic));
  for (uint32_t i = 0; i < particles; i++)
    compare_particle(&space, i, (double)alpha, result + i * 4, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_lavamd[] = {
    {
        .name = "lavamd",
        .folder = "lavamd",
        .summary = "forces between particles, structures of 4 floats",
        .published_name = "lavaMD",
        .difference = "8 boxes instead of 1000",
        .variant = "lavamd",
        .run = run_lavamd,
    },
    {
        .name = "lavamd-padded",
        .folder = "lavamd",
        .summary = "forces between particles, structures of 4 floats, 5 words apart",
        .is_padded = true,
        .variant = "lavamd_padded",
        .run = run_lavamd,
    },
    {0},
};
