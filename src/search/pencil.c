/* Plans and memory of pencils; the units themselves are filled by the kernels (pencil_body.h). */
#include "search/pencil.h"

#include <stdlib.h>
#include <string.h>

/* The value of functional t on coordinate word x, as bit t of row x. */
static void fill_walsh(uint64_t walsh[256][4]) {
  for (unsigned x = 0; x < 256; x++)
    for (unsigned t = 0; t < 256; t++)
      walsh[x][t / 64] |= (uint64_t)((unsigned)__builtin_popcount(x & t) & 1) << t % 64;
}

int bf_pencil_plan_make(const bf_problem *problem, const bf_coordinates *coordinates,
                        unsigned fixed, const bf_planes *planes, bf_pencil_plan **out,
                        bf_diagnostic *diagnostic) {
  uint64_t heaviest = 0;
  *out = NULL;
  if (planes->stride > BF_PENCIL_MAX_SHAPES || coordinates->dimension - fixed > 16)
    return BF_UNSUPPORTED;
  bf_pencil_plan *plan = aligned_alloc(64, (sizeof *plan + 63) / 64 * 64);
  if (!plan)
    return bf_no_memory(diagnostic);
  memset(plan, 0, sizeof *plan);
  plan->planes = planes;
  plan->code = calloc(planes->stride * BF_PLANE_WORDS, sizeof *plan->code);
  if (!plan->code) {
    bf_pencil_plan_free(plan);
    return bf_no_memory(diagnostic);
  }
  fill_walsh(plan->walsh);
  for (size_t at = 0; at < planes->stride; at++) {
    uint64_t square = planes->square ? planes->square[at] : 0;
    plan->factor = bf_common_factor(bf_common_factor(plan->factor, planes->weight[at]), square);
    uint64_t weight = planes->weight[at] + square * BF_PLANE_WORDS;
    heaviest = weight > heaviest ? weight : heaviest;
  }
  size_t at = 0;
  for (size_t s = 0; s < problem->count; s++)
    for (uint64_t left = problem->shape[s].weight; left; at++) {
      for (unsigned i = 0; i < problem->shape[s].words; i++)
        plan->code[at * BF_PLANE_WORDS + i] =
            (uint16_t)(bf_coordinates_of(coordinates, problem->shape[s].word[i]) >> fixed);
      left -= left > UINT32_MAX ? UINT32_MAX : left;
    }
  if (plan->factor == 0 || heaviest / plan->factor >> BF_PENCIL_WEIGHT_BITS) {
    bf_pencil_plan_free(plan);
    return BF_UNSUPPORTED;
  }
  *out = plan;
  return BF_OK;
}

void bf_pencil_plan_free(bf_pencil_plan *plan) {
  if (plan)
    free(plan->code);
  free(plan);
}

static uint64_t *new_words(size_t count) {
  return (uint64_t *)bf_planes_array(count * (sizeof(uint64_t) / sizeof(uint32_t)));
}

/* Functionals, at least those of one vector. */
static size_t functionals_of(const bf_pencil *pencil) {
  return pencil->width < 8 ? 256 : (size_t)1 << pencil->width;
}

bf_pencil *bf_pencil_new(const bf_pencil_plan *plan, unsigned width) {
  bf_pencil *pencil = calloc(1, sizeof *pencil);
  if (!pencil)
    return NULL;
  pencil->plan = plan;
  pencil->width = width;
  size_t functionals = functionals_of(pencil), words = plan->planes->stride * BF_PLANE_WORDS;
  bool failed = !(pencil->code = malloc(words * sizeof *pencil->code));
  failed |= !(pencil->end_code = malloc(words * sizeof *pencil->end_code));
  failed |= !(pencil->sum = new_words(functionals));
  failed |= !(pencil->ends = new_words(functionals / 64));
  for (unsigned bit = 0; bit < BF_PENCIL_WEIGHT_BITS; bit++)
    failed |= !(pencil->open[bit] = new_words(functionals));
  if (failed) {
    bf_pencil_free(pencil);
    return NULL;
  }
  return pencil;
}

void bf_pencil_free(bf_pencil *pencil) {
  if (!pencil)
    return;
  for (unsigned bit = 0; bit < BF_PENCIL_WEIGHT_BITS; bit++)
    free(pencil->open[bit]);
  for (unsigned g = 0; g < pencil->capacity; g++)
    free(pencil->group[g]);
  free(pencil->group);
  free(pencil->weight);
  free(pencil->sum);
  free(pencil->ends);
  free(pencil->end_code);
  free(pencil->code);
  free(pencil);
}

uint64_t *bf_pencil_add_group(bf_pencil *pencil, uint64_t weight) {
  if (pencil->groups == pencil->capacity) {
    unsigned capacity = pencil->capacity + 1;
    uint64_t **group = realloc(pencil->group, capacity * sizeof *group);
    pencil->group = group ? group : pencil->group;
    uint64_t *weights = realloc(pencil->weight, capacity * sizeof *weights);
    pencil->weight = weights ? weights : pencil->weight;
    uint64_t *words = group && weights ? new_words(functionals_of(pencil)) : NULL;
    if (!words) {
      pencil->out_of_memory = true;
      return NULL;
    }
    pencil->group[pencil->capacity++] = words;
  }
  pencil->weight[pencil->groups] = weight;
  return pencil->group[pencil->groups++];
}

/* Takes a coordinate out of all codes. */
static void drop_lead(const bf_pencil *pencil, const uint16_t *from, unsigned lead, uint16_t *to) {
  size_t count = pencil->plan->planes->stride * BF_PLANE_WORDS;
  uint16_t low = (uint16_t)((1u << lead) - 1);
  for (size_t i = 0; i < count; i++)
    to[i] = (uint16_t)((from[i] & low) | (from[i] >> 1 & ~low));
}

/* Takes the leads, highest first, out of all codes. */
static void drop_leads(bf_pencil *pencil, uint32_t leads) {
  const uint16_t *from = pencil->plan->code;
  if (leads == 0)
    memcpy(pencil->code, from,
           pencil->plan->planes->stride * BF_PLANE_WORDS * sizeof *pencil->code);
  while (leads) {
    unsigned lead = 31 - (unsigned)__builtin_clz(leads);
    drop_lead(pencil, from, lead, pencil->code);
    from = pencil->code;
    leads ^= 1u << lead;
  }
}

void bf_pencil_end(const bf_kernel *kernel, bf_pencil *pencil, const bf_levels *levels,
                   unsigned level, unsigned lead, uint32_t first, uint64_t below) {
  drop_lead(pencil, pencil->code, lead, pencil->end_code);
  kernel->ends(pencil, levels, level, first, below);
}

void bf_pencil_fill(const bf_kernel *kernel, bf_pencil *pencil, const bf_levels *levels,
                    unsigned level, uint32_t leads, uint32_t first) {
  pencil->first = first;
  pencil->groups = 0;
  memset(pencil->sum, 0, functionals_of(pencil) * sizeof *pencil->sum);
  drop_leads(pencil, leads);
  kernel->pencil(pencil, levels, level);
}
