/* A stand-in for cuRAND's host interface: XORWOW, MRG32k3a and Philox4x32-10, in the order that
 * cuRAND documents for them, and uniform, normal and log-normal numbers from these. Generators for
 * the device and for the CPU are the same. What is asked of other generators, and Poisson's
 * numbers, come from NVIDIA's generators for the CPU where the library is installed. */
#include "random.h"

#include <math.h>
#include <stdlib.h>

/* Orderings and others, numbered as in curand.h. */
enum { PHILOX_PARTS = 65536 };
enum { BEST = 100, DEFAULT = 101, LEGACY = 103, PSEUDO_DEFAULT = 100, QUASI_DEFAULT = 200 };

typedef struct generator {
  int type;
  uint64_t seed, position; /* in numbers; of XORWOW and MRG32k3a pairs count as one */
  sequence *sequence;      /* of the seed, once it is needed */
  uint64_t *counter;       /* Philox's, of each part */
  void *other;             /* NVIDIA's generator of a type that is not here */
  int ordering;
} generator;

static bool is_own(const generator *own) {
  return own->type == XORWOW || own->type == MRG32K3A || own->type == PHILOX;
}

/* ---- Philox4x32-10 (Salmon and others 2011) ---- */

/* The four words of a counter, in one of 65536 parts. */
static void philox(uint64_t seed, uint64_t low, uint32_t part, uint32_t word[4]) {
  uint32_t key[] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  uint32_t x[] = {(uint32_t)low, (uint32_t)(low >> 32), part, 0};
  for (int round = 0; round < 10; round++) {
    uint64_t first = UINT64_C(0xd2511f53) * x[0], second = UINT64_C(0xcd9e8d57) * x[2];
    x[0] = (uint32_t)(second >> 32) ^ x[1] ^ key[0];
    x[1] = (uint32_t)second;
    x[2] = (uint32_t)(first >> 32) ^ x[3] ^ key[1];
    x[3] = (uint32_t)first;
    key[0] += 0x9e3779b9u;
    key[1] += 0xbb67ae85u;
  }
  for (int i = 0; i < 4; i++)
    word[i] = x[i];
}

/* ---- Numbers of 32 bits ---- */

/* What is made of a place in the output: ever so many words of the generator for each. */
typedef struct place {
  generator *own;
  uint64_t unit; /* of XORWOW, MRG32k3a: a number or a pair; of Philox: a number */
} place;

/* words numbers for a unit of XORWOW or MRG32k3a. */
static void draw(const place *at, unsigned words, uint32_t *word) {
  uint64_t part = at->unit % sequence_parts(at->own->type);
  for (unsigned i = 0; i < words; i++)
    word[i] = sequence_next(at->own->sequence, part);
}

/* The words for number unit of Philox: four numbers are a part's turn, with one or two counters. */
static void draw_philox(const place *at, unsigned counters, uint32_t word[4]) {
  uint64_t part = at->unit / 4 % PHILOX_PARTS, *counter = &at->own->counter[part];
  unsigned which = counters == 2 ? (unsigned)(at->unit % 4 / 2) : 0;
  philox(at->own->seed, *counter + which, (uint32_t)part, word);
  if (at->unit % 4 == 3)
    *counter += counters;
}

/* ---- Distributions: formulas of curand_uniform.h and curand_normal.h ---- */

static const double mrg_scale = 2.3283065498378288e-10, mrg_bits_scale = 1.000000048662;

static uint32_t bits_of(const place *at) {
  uint32_t word[4];
  if (at->own->type == PHILOX) {
    draw_philox(at, 1, word);
    return word[at->unit % 4];
  }
  draw(at, 1, word);
  return at->own->type == MRG32K3A ? (uint32_t)(word[0] * mrg_bits_scale) : word[0];
}

static float uniform_of_bits(uint32_t bits) { return (float)bits * 0x1p-32f + 0x1p-33f; }

static float uniform_of(const place *at) {
  uint32_t word;
  if (at->own->type != MRG32K3A)
    return uniform_of_bits(bits_of(at));
  draw(at, 1, &word);
  return (float)(word * mrg_scale);
}

/* 53 bits of two words, in units of the last. */
static double join(uint32_t low, uint32_t high) { return (double)(low ^ (uint64_t)high << 21); }

static double uniform_double_of(const place *at) {
  uint32_t word[4];
  const uint32_t *two = word;
  if (at->own->type == MRG32K3A) {
    draw(at, 1, word);
    return word[0] * mrg_scale;
  }
  if (at->own->type == PHILOX) {
    draw_philox(at, 2, word);
    two += at->unit % 2 * 2;
  } else {
    draw(at, 2, word);
  }
  return join(two[0], two[1]) * 0x1p-53 + 0x1p-54;
}

/* Two normal numbers from an angle and a uniform number (Box and Muller). */
static void normal_pair(float uniform, float angle, float pair[2]) {
  float length = sqrtf(-2.0f * logf(uniform));
  pair[0] = sinf(angle) * length;
  pair[1] = cosf(angle) * length;
}

static void normal_of(const place *at, float pair[2]) {
  uint32_t word[4];
  const uint32_t *two = word;
  const float circle = 6.2831855f, step = 0x1p-32f * circle;
  if (at->own->type == MRG32K3A) {
    draw(at, 2, word);
    normal_pair((float)(word[0] * mrg_scale), (float)(word[1] * mrg_scale) * circle, pair);
    return;
  }
  if (at->own->type == PHILOX) {
    draw_philox(at, 1, word);
    two += at->unit % 4 / 2 * 2;
  } else {
    draw(at, 2, word);
  }
  normal_pair(uniform_of_bits(two[0]), (float)two[1] * step + step / 2, pair);
}

static void normal_double_of(const place *at, double pair[2]) {
  uint32_t word[4];
  double uniform, turns; /* half turns */
  if (at->own->type == MRG32K3A) {
    draw(at, 2, word);
    uniform = word[0] * mrg_scale;
    turns = word[1] * mrg_scale * 2;
  } else {
    if (at->own->type == PHILOX)
      draw_philox(at, 2, word);
    else
      draw(at, 4, word);
    uniform = join(word[0], word[1]) * 0x1p-53 + 0x1p-54;
    turns = join(word[2], word[3]) * 0x1p-52 + 0x1p-53;
  }
  double length = sqrt(-2 * log(uniform)), angle = turns * 3.14159265358979323846;
  pair[0] = sin(angle) * length;
  pair[1] = cos(angle) * length;
}

/* ---- Generators ---- */

/* Numbers are made anew from seed and position. */
static void forget(generator *own) {
  sequence_close(own->sequence);
  free(own->counter);
  own->sequence = NULL;
  own->counter = NULL;
}

typedef int create_function(void **, int);

/* One of NVIDIA's; a status. */
static int open_other(void **to, int type) {
  create_function *create = (create_function *)other_function("curandCreateGeneratorHost");
  return create ? create(to, type) : stand_in_refuse("cuRAND's generator of that type", TYPE_ERROR);
}

API(curandCreateGenerator, generator **to, int type) {
  if (!to)
    return NOT_INITIALIZED;
  generator *own = calloc(1, sizeof *own);
  if (!own)
    return ALLOCATION_FAILED;
  own->type = type == PSEUDO_DEFAULT ? XORWOW : type;
  own->ordering = BEST;
  int status = is_own(own) ? 0 : open_other(&own->other, type);
  if (status) {
    free(own);
    return status;
  }
  *to = own;
  return 0;
}

API(curandCreateGeneratorHost, generator **to, int type) { return curandCreateGenerator(to, type); }

/* A function of NVIDIA's library for its own generator; a status. */
#define FORWARD(name, own, types, ...)                                                             \
  do {                                                                                             \
    if ((own) && (own)->other) {                                                                   \
      int(*forward) types = (int(*) types)other_function(name);                                    \
      return forward ? forward((own)->other, __VA_ARGS__) : stand_in_refuse(name, TYPE_ERROR);     \
    }                                                                                              \
  } while (0)

API(curandDestroyGenerator, generator *own) {
  if (!own)
    return NOT_INITIALIZED;
  int (*destroy)(void *) =
      own->other ? (int (*)(void *))other_function("curandDestroyGenerator") : NULL;
  if (destroy)
    destroy(own->other);
  forget(own);
  free(own);
  return 0;
}

API(curandSetPseudoRandomGeneratorSeed, generator *own, uint64_t seed) {
  FORWARD("curandSetPseudoRandomGeneratorSeed", own, (void *, uint64_t), seed);
  if (!own)
    return NOT_INITIALIZED;
  forget(own);
  own->seed = seed;
  own->position = 0;
  return 0;
}

API(curandSetGeneratorOffset, generator *own, uint64_t offset) {
  FORWARD("curandSetGeneratorOffset", own, (void *, uint64_t), offset);
  if (!own)
    return NOT_INITIALIZED;
  forget(own);
  own->position = offset;
  return 0;
}

API(curandSetGeneratorOrdering, generator *own, int ordering) {
  FORWARD("curandSetGeneratorOrdering", own, (void *, int), ordering);
  if (!own)
    return NOT_INITIALIZED;
  if (ordering != BEST && ordering != DEFAULT && ordering != LEGACY)
    return stand_in_refuse("cuRAND's seeded or dynamic ordering", OUT_OF_RANGE);
  own->ordering = ordering;
  return 0;
}

API(curandSetQuasiRandomGeneratorDimensions, generator *own, unsigned dimensions) {
  FORWARD("curandSetQuasiRandomGeneratorDimensions", own, (void *, unsigned), dimensions);
  return own ? TYPE_ERROR : NOT_INITIALIZED;
}

API(curandSetStream, generator *own, void *stream) {
  (void)stream; /* numbers are there when a call returns */
  return own ? 0 : NOT_INITIALIZED;
}

/* Philox's counters at a position. */
static uint64_t *make_counters(uint64_t position) {
  uint64_t *counter = calloc(PHILOX_PARTS, sizeof *counter);
  for (uint64_t i = 0; counter && i < PHILOX_PARTS; i++)
    counter[i] = position / 4 / PHILOX_PARTS + (i < position / 4 % PHILOX_PARTS);
  return counter;
}

/* Whether numbers can be made; a status. */
static int get_ready(generator *own) {
  if (!own)
    return NOT_INITIALIZED;
  if (own->type == PHILOX && !own->counter)
    own->counter = make_counters(own->position);
  if (own->type != PHILOX && !own->sequence)
    own->sequence = sequence_open(own->type, own->seed, own->position);
  return own->counter || own->sequence ? 0 : ALLOCATION_FAILED;
}

API(curandGenerateSeeds, generator *own) {
  FORWARD("curandGenerateSeeds", own, (void *, int), 0);
  return get_ready(own);
}

/* ---- Output ---- */

/* Fills out with count values. */
#define FILL(own, count, value)                                                                    \
  do {                                                                                             \
    int status = get_ready(own);                                                                   \
    for (size_t i = 0; status == 0 && i < (count); i++) {                                          \
      place at = {own, (own)->position++};                                                         \
      out[i] = value(&at);                                                                         \
    }                                                                                              \
    return status;                                                                                 \
  } while (0)

API(curandGenerate, generator *own, uint32_t *out, size_t count) {
  FORWARD("curandGenerate", own, (void *, uint32_t *, size_t), out, count);
  FILL(own, count, bits_of);
}

API(curandGenerateUniform, generator *own, float *out, size_t count) {
  FORWARD("curandGenerateUniform", own, (void *, float *, size_t), out, count);
  FILL(own, count, uniform_of);
}

API(curandGenerateUniformDouble, generator *own, double *out, size_t count) {
  FORWARD("curandGenerateUniformDouble", own, (void *, double *, size_t), out, count);
  FILL(own, count, uniform_double_of);
}

API(curandGenerateLongLong, generator *own, uint64_t *out, size_t count) {
  FORWARD("curandGenerateLongLong", own, (void *, uint64_t *, size_t), out, count);
  return own ? TYPE_ERROR : NOT_INITIALIZED; /* for generators of 64 bits */
}

/* Philox's places are numbers and not pairs: behind an odd one the second of a pair comes first. */
#define FILL_PAIRS(own, count, real, pair_of, finish)                                              \
  do {                                                                                             \
    int status = (count) % 2 ? NOT_MULTIPLE : get_ready(own);                                      \
    bool each = status == 0 && (own)->type == PHILOX;                                              \
    for (size_t i = 0; status == 0 && i < (count); i += each ? 1 : 2) {                            \
      place at = {own, (own)->position++};                                                         \
      real pair[2];                                                                                \
      pair_of(&at, pair);                                                                          \
      out[i] = finish(pair[each ? at.unit % 2 : 0] * deviation + mean);                            \
      if (!each)                                                                                   \
        out[i + 1] = finish(pair[1] * deviation + mean);                                           \
    }                                                                                              \
    return status;                                                                                 \
  } while (0)

API(curandGenerateNormal, generator *own, float *out, size_t count, float mean, float deviation) {
  FORWARD("curandGenerateNormal", own, (void *, float *, size_t, float, float), out, count, mean,
          deviation);
  FILL_PAIRS(own, count, float, normal_of, );
}

API(curandGenerateNormalDouble, generator *own, double *out, size_t count, double mean,
    double deviation) {
  FORWARD("curandGenerateNormalDouble", own, (void *, double *, size_t, double, double), out, count,
          mean, deviation);
  FILL_PAIRS(own, count, double, normal_double_of, );
}

API(curandGenerateLogNormal, generator *own, float *out, size_t count, float mean,
    float deviation) {
  FORWARD("curandGenerateLogNormal", own, (void *, float *, size_t, float, float), out, count, mean,
          deviation);
  FILL_PAIRS(own, count, float, normal_of, expf);
}

API(curandGenerateLogNormalDouble, generator *own, double *out, size_t count, double mean,
    double deviation) {
  FORWARD("curandGenerateLogNormalDouble", own, (void *, double *, size_t, double, double), out,
          count, mean, deviation);
  FILL_PAIRS(own, count, double, normal_double_of, exp);
}

/* Poisson's numbers, by NVIDIA's generator of the same type, seed and offset. */
API(curandGeneratePoisson, generator *own, uint32_t *out, size_t count, double lambda) {
  FORWARD("curandGeneratePoisson", own, (void *, uint32_t *, size_t, double), out, count, lambda);
  generator twin = {0};
  int status = own ? open_other(&twin.other, own->type) : NOT_INITIALIZED;
  if (status)
    return status;
  status = curandSetPseudoRandomGeneratorSeed(&twin, own->seed);
  if (!status)
    status = curandSetGeneratorOffset(&twin, own->position);
  if (!status)
    status = curandGeneratePoisson(&twin, out, count, lambda);
  ((int (*)(void *))other_function("curandDestroyGenerator"))(twin.other);
  forget(own);
  own->position += count;
  return status;
}

/* ---- The library ---- */

enum { VERSION = 100400 };

API(curandGetVersion, int *version) {
  if (!version)
    return OUT_OF_RANGE;
  *version = VERSION;
  return 0;
}

API(curandGetProperty, int which, int *value) {
  if (!value || which < 0 || which > 2)
    return OUT_OF_RANGE;
  *value = which == 0 ? VERSION / 10000 : which == 1 ? VERSION / 100 % 100 : VERSION % 100;
  return 0;
}
