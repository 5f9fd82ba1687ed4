/* XORWOW (Marsaglia 2003) and MRG32k3a (L'Ecuyer 1999), with jumps: a step of either is linear,
 * over bits and modulo two primes, so that 2^i steps are a matrix, squared i times. The start of a
 * sequence from its seed is as curand_kernel.h has it. */
#include "random.h"

#include <stdlib.h>
#include <string.h>

/* 2^i steps are known for i up to where the last part begins. */
enum {
  BITS = 160,
  WORDS = 5,
  PART_BITS = 17,
  XORWOW_BEGIN = 67,
  MRG_BEGIN = 76,
  POWERS = MRG_BEGIN + PART_BITS
};

/* What 2^i steps of XORWOW make of each bit of its state. */
typedef struct bit_matrix {
  uint32_t image[BITS][WORDS];
} bit_matrix;

/* The same for the two halves of MRG32k3a. */
typedef struct mod_matrix {
  uint64_t factor[2][3][3];
} mod_matrix;

/* A part of a sequence. */
typedef struct part {
  uint32_t state[STATE_WORDS];
  bool is_begun;
} part;

struct sequence {
  int type;
  uint32_t start[STATE_WORDS];
  uint64_t offset; /* numbers that all parts together have behind them at first */
  part *part;
  union {
    bit_matrix bits[POWERS];
    mod_matrix mods[POWERS];
  } power;
};

/* ---- XORWOW: a counter and five words ---- */

static uint32_t xorwow_next(uint32_t state[STATE_WORDS]) {
  uint32_t *v = state + 1, t = v[0] ^ v[0] >> 2;
  memmove(v, v + 1, 4 * sizeof *v);
  v[4] = v[4] ^ v[4] << 4 ^ t ^ t << 1;
  state[0] += 362437;
  return v[4] + state[0];
}

static void xorwow_start(uint64_t seed, uint32_t state[STATE_WORDS]) {
  uint32_t low = 1099087573u * ((uint32_t)seed ^ 0xaad26b49u);
  uint32_t high = 2591861531u * ((uint32_t)(seed >> 32) ^ 0xf7dcefddu);
  const uint32_t start[] = {6615241u + low + high, 123456789u + low, 362436069u ^ low,
                            521288629u + high,     88675123u ^ high, 5783321u + low};
  memcpy(state, start, sizeof start);
}

/* The image of words under a matrix. */
static void xorwow_apply(const bit_matrix *matrix, uint32_t words[WORDS]) {
  uint32_t sum[WORDS] = {0};
  for (int bit = 0; bit < BITS; bit++)
    if (words[bit / 32] >> bit % 32 & 1)
      for (int i = 0; i < WORDS; i++)
        sum[i] ^= matrix->image[bit][i];
  memcpy(words, sum, sizeof sum);
}

static void xorwow_powers(bit_matrix *power) {
  for (int bit = 0; bit < BITS; bit++) {
    uint32_t state[STATE_WORDS] = {0};
    state[1 + bit / 32] = UINT32_C(1) << bit % 32;
    xorwow_next(state);
    memcpy(power[0].image[bit], state + 1, sizeof power[0].image[bit]);
  }
  for (int i = 1; i < POWERS; i++) {
    power[i] = power[i - 1];
    for (int bit = 0; bit < BITS; bit++)
      xorwow_apply(&power[i - 1], power[i].image[bit]);
  }
}

/* ---- MRG32k3a: two recurrences of three words ---- */

static const uint64_t modulus[2] = {4294967087u, 4294944443u};

static uint32_t mrg_next(uint32_t state[STATE_WORDS]) {
  const uint64_t *m = modulus;
  uint64_t first = (1403580 * (uint64_t)state[1] + 810728 * (m[0] - state[0])) % m[0];
  uint64_t second = (527612 * (uint64_t)state[5] + 1370589 * (m[1] - state[3])) % m[1];
  const uint32_t next[] = {state[1], state[2], (uint32_t)first,
                           state[4], state[5], (uint32_t)second};
  memcpy(state, next, sizeof next);
  return (uint32_t)(first > second ? first - second : first + m[0] - second);
}

static void mrg_start(uint64_t seed, uint32_t state[STATE_WORDS]) {
  uint64_t low = (uint32_t)seed ^ 0x55555555u, high = (uint32_t)(seed >> 32) ^ 0xaaaaaaaau;
  for (int i = 0; i < STATE_WORDS; i++) {
    uint64_t factor = seed == 0 ? 1 : i % 2 ? high : low;
    state[i] = (uint32_t)(factor * 12345 % modulus[i / 3]);
  }
}

static void mrg_multiply(const mod_matrix *a, const mod_matrix *b, mod_matrix *product) {
  for (int half = 0; half < 2; half++)
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        uint64_t sum = 0;
        for (int k = 0; k < 3; k++)
          sum =
              (sum + a->factor[half][i][k] * b->factor[half][k][j] % modulus[half]) % modulus[half];
        product->factor[half][i][j] = sum;
      }
}

static void mrg_powers(mod_matrix *power) {
  power[0] = (mod_matrix){{{{0, 1, 0}, {0, 0, 1}, {modulus[0] - 810728, 1403580, 0}},
                           {{0, 1, 0}, {0, 0, 1}, {modulus[1] - 1370589, 0, 527612}}}};
  for (int i = 1; i < POWERS; i++)
    mrg_multiply(&power[i - 1], &power[i - 1], &power[i]);
}

static void mrg_apply(const mod_matrix *matrix, uint32_t state[STATE_WORDS]) {
  uint32_t result[STATE_WORDS];
  for (int half = 0; half < 2; half++)
    for (int i = 0; i < 3; i++) {
      uint64_t sum = 0;
      for (int k = 0; k < 3; k++)
        sum = (sum + matrix->factor[half][i][k] * state[3 * half + k] % modulus[half]) %
              modulus[half];
      result[3 * half + i] = (uint32_t)sum;
    }
  memcpy(state, result, sizeof result);
}

/* ---- Both ---- */

uint64_t sequence_parts(int type) { return type == MRG32K3A ? 81920 : 4096; }

sequence *sequence_open(int type, uint64_t seed, uint64_t offset) {
  sequence *own = calloc(1, sizeof *own);
  part *parts = calloc(sequence_parts(type), sizeof *parts);
  if (!own || !parts) {
    free(own);
    free(parts);
    return NULL;
  }
  own->type = type;
  own->offset = offset;
  own->part = parts;
  if (type == XORWOW) {
    xorwow_start(seed, own->start);
    xorwow_powers(own->power.bits);
  } else {
    mrg_start(seed, own->start);
    mrg_powers(own->power.mods);
  }
  return own;
}

void sequence_close(sequence *own) {
  if (own)
    free(own->part);
  free(own);
}

/* 2^power steps. */
static void jump(const sequence *own, uint32_t *state, int power) {
  if (own->type == MRG32K3A)
    mrg_apply(&own->power.mods[power], state);
  else
    xorwow_apply(&own->power.bits[power], state + 1);
}

/* The first state of a part: its share of the offset is behind it. */
static void begin(const sequence *own, uint64_t index, part *one) {
  uint64_t parts = sequence_parts(own->type);
  uint64_t steps = own->offset / parts + (index < own->offset % parts);
  int begins_at = own->type == MRG32K3A ? MRG_BEGIN : XORWOW_BEGIN;
  memcpy(one->state, own->start, sizeof own->start);
  for (int i = 0; i < 64; i++)
    if (steps >> i & 1)
      jump(own, one->state, i);
  for (int i = 0; i < PART_BITS; i++)
    if (index >> i & 1)
      jump(own, one->state, begins_at + i);
  if (own->type == XORWOW) /* the counter: 2^67 steps bring it back */
    one->state[0] += 362437 * (uint32_t)steps;
  one->is_begun = true;
}

uint32_t sequence_next(sequence *own, uint64_t index) {
  part *one = &own->part[index];
  if (!one->is_begun)
    begin(own, index, one);
  return own->type == MRG32K3A ? mrg_next(one->state) : xorwow_next(one->state);
}
