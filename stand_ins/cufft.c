/* cuFFT: plans of one to three dimensions with any layout, and their transforms. A transform of
 * real numbers is one of complex numbers of which half is kept. Results are computed in double
 * precision and rounded once. */
#include "fft.h"

#include <stdlib.h>

/* cufftResult */
enum {
  FFT_OK = 0,
  FFT_BAD_PLAN = 1,
  FFT_NO_MEMORY = 2,
  FFT_BAD_TYPE = 3,
  FFT_BAD_VALUE = 4,
  FFT_BAD_SIZE = 8,
  FFT_NOT_SUPPORTED = 16,
};

/* cufftType */
enum { R2C = 0x2a, C2R = 0x2c, C2C = 0x29, D2Z = 0x6a, Z2D = 0x6c, Z2Z = 0x69 };

/* Where the numbers of one side of a transform lie. */
typedef struct layout {
  int64_t embedded[3]; /* sizes of the array that they are part of */
  int64_t step, distance;
} layout;

typedef struct transform {
  bool is_used, is_made;
  bool is_dense; /* the program has given no layout */
  int rank, type;
  int64_t size[3], batches;
  layout in, out;
  fft_plan *plan[3];
} transform;

/* Plans are numbers for programs. */
enum { MOST_PLANS = 1024 };
static transform plans[MOST_PLANS];

/* The plan of a number; NULL where there is none. */
static transform *find(int plan) {
  return plan >= 0 && plan < MOST_PLANS && plans[plan].is_used ? &plans[plan] : NULL;
}

/* ---- Plans ---- */

API(cufftCreate, int *plan) {
  if (!plan)
    return FFT_BAD_VALUE;
  for (int i = 0; i < MOST_PLANS; i++)
    if (!__atomic_exchange_n(&plans[i].is_used, true, __ATOMIC_ACQ_REL)) {
      *plan = i;
      return FFT_OK;
    }
  return FFT_NO_MEMORY;
}

API(cufftDestroy, int plan) {
  transform *t = find(plan);
  if (!t)
    return FFT_BAD_PLAN;
  for (int i = 0; i < 3; i++)
    fft_free(t->plan[i]);
  *t = (transform){.is_used = true};
  __atomic_store_n(&t->is_used, false, __ATOMIC_RELEASE);
  return FFT_OK;
}

static bool is_real(int type) { return type == R2C || type == D2Z || type == C2R || type == Z2D; }
static bool from_real(int type) { return type == R2C || type == D2Z; }
static bool to_real(int type) { return type == C2R || type == Z2D; }
static bool is_double(int type) { return (type & 0x40) != 0; }

/* The layout where a program gives none: one after the other, with half of the last dimension on
 * the complex side of a transform of real numbers. */
static layout dense(const transform *t, bool is_half) {
  layout l = {.step = 1, .distance = 1};
  for (int i = 0; i < t->rank; i++) {
    l.embedded[i] = is_half && i == t->rank - 1 ? t->size[i] / 2 + 1 : t->size[i];
    l.distance *= l.embedded[i];
  }
  return l;
}

/* Finishes a plan whose sizes, type, batches and layouts are set; a cufftResult. */
static int make(transform *t) {
  if (t->type != C2C && t->type != Z2Z && !is_real(t->type))
    return FFT_BAD_TYPE;
  if (t->rank < 1 || t->rank > 3 || t->batches < 1)
    return FFT_BAD_SIZE;
  for (int i = 0; i < t->rank; i++)
    if (t->size[i] < 1)
      return FFT_BAD_SIZE;
  for (int i = 0; i < t->rank; i++) {
    t->plan[i] = fft_make(t->size[i]);
    if (!t->plan[i])
      return FFT_NO_MEMORY;
  }
  t->is_made = true;
  return FFT_OK;
}

/* Sets a plan that cufftCreate made; sizes of embedded arrays may be NULL. */
static int make_many(int plan, int rank, const long long *n, const long long *inembed,
                     long long istride, long long idist, const long long *onembed,
                     long long ostride, long long odist, int type, long long batch,
                     size_t *work_bytes) {
  transform *t = find(plan);
  if (!t || t->is_made)
    return FFT_BAD_PLAN;
  if (rank < 1 || rank > 3 || !n)
    return FFT_BAD_SIZE;
  t->rank = rank;
  t->type = type;
  t->batches = batch;
  for (int i = 0; i < rank; i++)
    t->size[i] = n[i];
  t->in = dense(t, to_real(type));
  t->out = dense(t, from_real(type));
  t->is_dense = !inembed || !onembed;
  if (!t->is_dense) {
    t->in = (layout){.step = istride, .distance = idist};
    t->out = (layout){.step = ostride, .distance = odist};
    for (int i = 0; i < rank; i++) {
      t->in.embedded[i] = inembed[i];
      t->out.embedded[i] = onembed[i];
    }
  }
  if (work_bytes)
    *work_bytes = 0;
  return make(t);
}

/* The same for sizes as int. */
static int make_many_int(int plan, int rank, const int *n, const int *inembed, int istride,
                         int idist, const int *onembed, int ostride, int odist, int type, int batch,
                         size_t *work_bytes) {
  long long size[3] = {0}, in[3] = {0}, out[3] = {0};
  if (rank < 1 || rank > 3 || !n)
    return FFT_BAD_SIZE;
  for (int i = 0; i < rank; i++) {
    size[i] = n[i];
    in[i] = inembed ? inembed[i] : 0;
    out[i] = onembed ? onembed[i] : 0;
  }
  return make_many(plan, rank, size, inembed ? in : NULL, istride, idist, onembed ? out : NULL,
                   ostride, odist, type, batch, work_bytes);
}

API(cufftMakePlanMany, int plan, int rank, const int *n, const int *inembed, int istride, int idist,
    const int *onembed, int ostride, int odist, int type, int batch, size_t *work_bytes) {
  return make_many_int(plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch,
                       work_bytes);
}

API(cufftMakePlanMany64, int plan, int rank, const long long *n, const long long *inembed,
    long long istride, long long idist, const long long *onembed, long long ostride,
    long long odist, int type, long long batch, size_t *work_bytes) {
  return make_many(plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch,
                   work_bytes);
}

API(cufftMakePlan1d, int plan, int nx, int type, int batch, size_t *work_bytes) {
  return make_many_int(plan, 1, &nx, NULL, 1, 0, NULL, 1, 0, type, batch, work_bytes);
}

API(cufftMakePlan2d, int plan, int nx, int ny, int type, size_t *work_bytes) {
  return make_many_int(plan, 2, (int[]){nx, ny}, NULL, 1, 0, NULL, 1, 0, type, 1, work_bytes);
}

API(cufftMakePlan3d, int plan, int nx, int ny, int nz, int type, size_t *work_bytes) {
  return make_many_int(plan, 3, (int[]){nx, ny, nz}, NULL, 1, 0, NULL, 1, 0, type, 1, work_bytes);
}

/* Makes a plan and sets it; where that fails there is none. */
#define NEW_PLAN(plan, call)                                                                       \
  int result = cufftCreate(plan);                                                                  \
  if (result != FFT_OK)                                                                            \
    return result;                                                                                 \
  result = call;                                                                                   \
  if (result != FFT_OK)                                                                            \
    cufftDestroy(*(plan));                                                                         \
  return result

API(cufftPlan1d, int *plan, int nx, int type, int batch) {
  NEW_PLAN(plan, cufftMakePlan1d(*plan, nx, type, batch, NULL));
}
API(cufftPlan2d, int *plan, int nx, int ny, int type) {
  NEW_PLAN(plan, cufftMakePlan2d(*plan, nx, ny, type, NULL));
}
API(cufftPlan3d, int *plan, int nx, int ny, int nz, int type) {
  NEW_PLAN(plan, cufftMakePlan3d(*plan, nx, ny, nz, type, NULL));
}
API(cufftPlanMany, int *plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
    int ostride, int odist, int type, int batch) {
  NEW_PLAN(plan, cufftMakePlanMany(*plan, rank, n, inembed, istride, idist, onembed, ostride, odist,
                                   type, batch, NULL));
}

/* ---- Transforms ---- */

/* Where the number at a place of an array lies. */
static int64_t offset_of(const transform *t, const layout *l, const int64_t place[3]) {
  int64_t at = 0;
  for (int i = 0; i < t->rank; i++)
    at = at * (i ? l->embedded[i] : 1) + place[i];
  return at * l->step;
}

/* The place that follows; false after the last. */
static bool next_place(const transform *t, int64_t place[3]) {
  for (int i = t->rank - 1; i >= 0; i--) {
    if (++place[i] < t->size[i])
      return true;
    place[i] = 0;
  }
  return false;
}

/* Reads all numbers of one transform, those that half of a spectrum stands for too. */
static void gather(const transform *t, const void *from, int64_t base, number *all) {
  int64_t place[3] = {0}, last = t->rank - 1, index = 0;
  int type = from_real(t->type)   ? is_double(t->type) ? R_64F : R_32F
             : is_double(t->type) ? C_64F
                                  : C_32F;
  do {
    bool is_mirrored = to_real(t->type) && place[last] > t->size[last] / 2;
    int64_t other[3];
    for (int i = 0; i < t->rank; i++)
      other[i] = is_mirrored ? (t->size[i] - place[i]) % t->size[i] : place[i];
    number value = stand_in_load(type, from, base + offset_of(t, &t->in, other));
    all[index++] = is_mirrored ? conjugate(value) : value;
  } while (next_place(t, place));
}

/* Writes the numbers that the program wants. */
static void scatter(const transform *t, const number *all, void *to, int64_t base) {
  int64_t place[3] = {0}, last = t->rank - 1, index = 0;
  int type = to_real(t->type)     ? is_double(t->type) ? R_64F : R_32F
             : is_double(t->type) ? C_64F
                                  : C_32F;
  do {
    if (!from_real(t->type) || place[last] <= t->size[last] / 2)
      stand_in_store(type, to, base + offset_of(t, &t->out, place), all[index]);
    index++;
  } while (next_place(t, place));
}

/* Transforms along one dimension of a dense array. */
static bool run_lines(const transform *t, number *all, int dimension, int sign) {
  int64_t step = 1, outer = 1;
  for (int i = dimension + 1; i < t->rank; i++)
    step *= t->size[i];
  for (int i = 0; i < dimension; i++)
    outer *= t->size[i];
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < step; i++)
      if (!fft_run(t->plan[dimension], all + o * step * t->size[dimension] + i, step, sign))
        return false;
  return true;
}

/* Real numbers that share their array with half of a spectrum have rows as long as that. */
static void widen(const transform *t, layout *real) {
  real->embedded[t->rank - 1] = 2 * (t->size[t->rank - 1] / 2 + 1);
  real->distance = 1;
  for (int i = 0; i < t->rank; i++)
    real->distance *= real->embedded[i];
}

/* Runs all transforms of a plan of a type; a cufftResult. */
static int run(int plan, int type, const void *in, void *out, int sign) {
  const transform *found = find(plan);
  if (!found || !found->is_made || found->type != type)
    return FFT_BAD_PLAN;
  if (!in || !out)
    return FFT_BAD_VALUE;
  transform own = *found, *t = &own;
  if (in == out && t->is_dense && is_real(type))
    widen(t, from_real(type) ? &t->in : &t->out);
  int64_t count = 1;
  for (int i = 0; i < t->rank; i++)
    count *= t->size[i];
  /* All of them, because a program may transform in place with other distances. */
  number *all = malloc((size_t)count * (size_t)t->batches * sizeof *all);
  bool is_done = all != NULL;
  for (int64_t b = 0; b < t->batches && is_done; b++)
    gather(t, in, b * t->in.distance, all + b * count);
  for (int64_t b = 0; b < t->batches && is_done; b++)
    for (int i = 0; i < t->rank && is_done; i++)
      is_done = run_lines(t, all + b * count, i, sign);
  for (int64_t b = 0; b < t->batches && is_done; b++)
    scatter(t, all + b * count, out, b * t->out.distance);
  free(all);
  return is_done ? FFT_OK : FFT_NO_MEMORY;
}

/* direction: -1 forward, 1 inverse; nothing is divided by the size. */
API(cufftExecC2C, int plan, void *in, void *out, int direction) {
  return run(plan, C2C, in, out, direction);
}
API(cufftExecZ2Z, int plan, void *in, void *out, int direction) {
  return run(plan, Z2Z, in, out, direction);
}
API(cufftExecR2C, int plan, void *in, void *out) { return run(plan, R2C, in, out, -1); }
API(cufftExecD2Z, int plan, void *in, void *out) { return run(plan, D2Z, in, out, -1); }
API(cufftExecC2R, int plan, void *in, void *out) { return run(plan, C2R, in, out, 1); }
API(cufftExecZ2D, int plan, void *in, void *out) { return run(plan, Z2D, in, out, 1); }

/* ---- The rest ---- */

/* Calls that are right for every plan, and change nothing here. */
#define ACCEPT(name, ...)                                                                          \
  API(name, int plan, __VA_ARGS__) { return find(plan) ? FFT_OK : FFT_BAD_PLAN; }
ACCEPT(cufftSetStream, __attribute__((unused)) void *stream)
ACCEPT(cufftSetWorkArea, __attribute__((unused)) void *area)
ACCEPT(cufftSetAutoAllocation, __attribute__((unused)) int is_automatic)

API(cufftGetSize, int plan, size_t *bytes) {
  *bytes = 0;
  return find(plan) ? FFT_OK : FFT_BAD_PLAN;
}

API(cufftGetVersion, int *version) {
  *version = 12000;
  return FFT_OK;
}
