/* What kind of pattern an access is.
 *
 * The classes are those of "Configurable XOR hash functions for banked scratchpad memories in
 * GPUs" (section 3.1) - linear, stride, block, random - and broadcast. Each but random is an affine
 * function of the lane number, split into tx and ty, so classifying is solving for its coefficients
 * on the first active lanes that determine them and checking the others. */
#include "access/access.h"
#include "access/lanes.h"

#include <stdlib.h>

/* The active lanes and the elements they access. */
typedef struct points {
  unsigned count;
  int lane[BF_MAX_LANES];
  int64_t element[BF_MAX_LANES];
} points;

static void collect(const bf_access *access, points *p) {
  p->count = 0;
  p->element[0] = 0;
  unsigned shift = (unsigned)__builtin_ctz(access->width_bytes); /* widths are powers of two */
  for (uint64_t left = access->mask; left; left &= left - 1) {
    int lane = __builtin_ctzll(left);
    p->lane[p->count] = lane;
    p->element[p->count++] = access->address[lane] >> shift;
  }
}

/* element = stride_x * tx + stride_y * ty + offset with tx = lane % width_x, ty = lane / width_x.
 */
typedef struct fit {
  int width_x;
  int64_t stride_x, stride_y, offset;
} fit;

static int64_t element_at(const fit *f, int lane) {
  return f->stride_x * (lane % f->width_x) + f->stride_y * (lane / f->width_x) + f->offset;
}

/* Chooses the offset that suits the first point and says whether the others agree. */
static bool agrees(fit *f, const points *p) {
  f->offset = 0;
  f->offset = p->element[0] - element_at(f, p->lane[0]);
  for (unsigned i = 1; i < p->count; i++)
    if (element_at(f, p->lane[i]) != p->element[i])
      return false;
  return true;
}

/* Whether the active ones of 32 lanes access element + step * lane, modulo 2^32. Written so that
 * compilers take several lanes at a time. */
static bool has_step(const uint32_t *address, uint32_t mask, unsigned shift, uint32_t element,
                     uint32_t step) {
  uint32_t differs = 0;
  for (unsigned lane = 0; lane < BF_LANES; lane++, element += step) {
    uint32_t active = ((mask & bf_lane_bit[lane]) == 0) - 1U;
    differs |= ((address[lane] >> shift) ^ element) & active;
  }
  return differs == 0;
}

/* One stride for all lanes; 0 when only one lane is active. Where the first and the last lane are
 * where it puts them, it puts all others between these, so that 32 bits tell the rest. */
static bool fit_stride(const bf_access *access, unsigned lanes, fit *f) {
  uint64_t mask = access->mask, others = mask & (mask - 1);
  unsigned shift = (unsigned)__builtin_ctz(access->width_bytes);
  int first = __builtin_ctzll(mask), last = 63 - __builtin_clzll(mask);
  int64_t element = access->address[first] >> shift;
  *f = (fit){.width_x = (int)lanes, .offset = element};
  if (!others)
    return true;
  int second = __builtin_ctzll(others);
  f->stride_x = ((int64_t)(access->address[second] >> shift) - element) / (second - first);
  f->offset -= f->stride_x * first;
  uint32_t low = (uint32_t)f->offset, step = (uint32_t)f->stride_x;
  return f->offset + f->stride_x * last == access->address[last] >> shift &&
         has_step(access->address, (uint32_t)mask, shift, low, step) &&
         (mask <= UINT32_MAX || has_step(access->address + BF_LANES, (uint32_t)(mask >> BF_LANES),
                                         shift, low + step * BF_LANES, step));
}

/* How a point lies from the first one. */
typedef struct difference {
  int64_t x, y, element;
} difference;

static difference from_first(const points *p, unsigned i, int width_x) {
  return (difference){p->lane[i] % width_x - p->lane[0] % width_x,
                      p->lane[i] / width_x - p->lane[0] / width_x, p->element[i] - p->element[0]};
}

/* Two strides from two independent differences: Cramer's rule, rounded; agrees() finds out if they
 * were not whole. */
static void solve_two(const difference *a, const difference *b, fit *f) {
  int64_t determinant = a->x * b->y - b->x * a->y;
  f->stride_x = (a->element * b->y - b->element * a->y) / determinant;
  f->stride_y = (a->x * b->element - b->x * a->element) / determinant;
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return llabs(a);
}

/* Two strides when all points lie on one line: x * stride_x + y * stride_y = element has many
 * solutions; the one with the least stride_x >= 0 is taken. */
static void solve_line(const difference *a, fit *f) {
  int64_t divisor = gcd(a->x, a->y), x = a->x / divisor, y = a->y / divisor;
  int64_t element = a->element / divisor;
  if (y == 0) {
    f->stride_x = element / x;
    return;
  }
  while (f->stride_x < llabs(y) - 1 && (element - x * f->stride_x) % y)
    f->stride_x++;
  f->stride_y = (element - x * f->stride_x) / y;
}

/* Whether lanes 0 to 3, where they are the first points, tell that there is no such block: the
 * distances in a row are all the same. */
static bool is_no_block(const points *p, int width_x) {
  if (p->count < 4 || p->lane[3] != 3)
    return false;
  int64_t own = p->element[1] - p->element[0];
  int last = width_x > 2 ? 1 : 2;
  return p->element[last + 1] - p->element[last] != own;
}

static bool fit_block(const points *p, int width_x, fit *f) {
  *f = (fit){.width_x = width_x};
  difference a = from_first(p, 1, width_x);
  for (unsigned i = 2; i < p->count; i++) {
    difference b = from_first(p, i, width_x);
    if (a.x * b.y != b.x * a.y) {
      solve_two(&a, &b, f);
      return agrees(f, p);
    }
  }
  solve_line(&a, f);
  return agrees(f, p);
}

/* The next smaller divisor of lanes, which are a power of two more often than not. */
static unsigned smaller_divisor(unsigned lanes, unsigned divisor) {
  if ((lanes & (lanes - 1)) == 0)
    return divisor / 2;
  do
    divisor--;
  while (divisor > 1 && lanes % divisor);
  return divisor;
}

/* The block with the smallest strides, the widest of equal ones. */
static bool fit_smallest_block(const points *p, unsigned lanes, fit *best) {
  bool found = false;
  for (unsigned width_x = smaller_divisor(lanes, lanes); width_x > 1;
       width_x = smaller_divisor(lanes, width_x)) {
    fit f;
    if (is_no_block(p, (int)width_x) || !fit_block(p, (int)width_x, &f))
      continue;
    int64_t size = llabs(f.stride_x) + llabs(f.stride_y);
    if (!found || size < llabs(best->stride_x) + llabs(best->stride_y))
      *best = f;
    found = true;
  }
  return found;
}

static bool fit_block_of(const bf_access *access, unsigned lanes, fit *f) {
  points p;
  collect(access, &p);
  return fit_smallest_block(&p, lanes, f);
}

static bf_pattern_class class_of_stride(int64_t stride) {
  if (stride == 0)
    return BF_PATTERN_BROADCAST;
  return stride == 1 ? BF_PATTERN_LINEAR : BF_PATTERN_STRIDE;
}

/* The quotient whose remainder is in 0..divisor-1. */
static int64_t floor_divide(int64_t value, int64_t divisor) {
  int64_t rest = value % divisor;
  return (value - (rest < 0 ? rest + divisor : rest)) / divisor;
}

void bf_pattern_set_matrix(bf_pattern *pattern) {
  int64_t columns = pattern->columns;
  if (columns == 1) {
    pattern->m[0][0] = pattern->stride_y;
    pattern->m[1][1] = pattern->stride_x;
    pattern->origin[1] = pattern->offset;
    return;
  }
  pattern->m[0][0] = floor_divide(pattern->stride_y, columns);
  pattern->m[0][1] = floor_divide(pattern->stride_x, columns);
  pattern->m[1][0] = pattern->stride_y - pattern->m[0][0] * columns;
  pattern->m[1][1] = pattern->stride_x - pattern->m[0][1] * columns;
  pattern->origin[0] = floor_divide(pattern->offset, columns);
  pattern->origin[1] = pattern->offset - pattern->origin[0] * columns;
}

bool bf_pattern_reshape(bf_pattern *pattern, unsigned width_x) {
  unsigned lanes = pattern->width_x * pattern->height_y;
  if (pattern->class_ == BF_PATTERN_BLOCK)
    return width_x == pattern->width_x;
  if (pattern->class_ == BF_PATTERN_RANDOM || width_x == 0 || width_x > lanes)
    return false;
  pattern->width_x = width_x;
  pattern->height_y = (lanes + width_x - 1) / width_x;
  pattern->stride_y = width_x == lanes ? 0 : pattern->stride_x * width_x;
  bf_pattern_set_matrix(pattern);
  return true;
}

/* Whether lanes 0 to 3 tell that no stride and no block fits, of whatever width: a row of a block
 * has two of their distances or, where it has two lanes, the first and the third. */
static bool is_soon_random(const bf_access *access) {
  if ((access->mask & 15) != 15)
    return false;
  unsigned shift = (unsigned)__builtin_ctz(access->width_bytes);
  int64_t at[4];
  for (unsigned lane = 0; lane < 4; lane++)
    at[lane] = access->address[lane] >> shift;
  return at[2] - at[1] != at[1] - at[0] && at[3] - at[2] != at[1] - at[0];
}

bf_pattern bf_access_classify(const bf_access *access, unsigned lanes, int64_t columns) {
  bf_pattern pattern = {.class_ = BF_PATTERN_RANDOM, .width_x = lanes, .height_y = 1};
  pattern.columns = columns > 0 ? columns : 1;
  if (!access->mask || is_soon_random(access))
    return pattern;
  fit f;
  if (fit_stride(access, lanes, &f))
    pattern.class_ = class_of_stride(f.stride_x);
  else if (fit_block_of(access, lanes, &f))
    pattern.class_ = BF_PATTERN_BLOCK;
  else
    return pattern;
  pattern.width_x = (unsigned)f.width_x;
  pattern.height_y = lanes / (unsigned)f.width_x;
  pattern.stride_x = f.stride_x;
  pattern.stride_y = f.stride_y;
  pattern.offset = f.offset;
  bf_pattern_set_matrix(&pattern);
  if (pattern.class_ == BF_PATTERN_LINEAR && columns > 1 && columns < lanes && lanes % columns == 0)
    bf_pattern_reshape(&pattern, (unsigned)columns);
  return pattern;
}

const char *bf_pattern_class_name(bf_pattern_class class_) {
  static const char *const names[] = {"broadcast", "linear", "stride", "block", "random"};
  return names[class_];
}

/* ---- In words ---- */

/* Writes coefficient * variable as a term of a sum. */
static void add_term(bf_text *text, int64_t coefficient, const char *variable, bool *first) {
  if (coefficient == 0)
    return;
  unsigned long long magnitude = (unsigned long long)llabs(coefficient);
  bf_text_puts(text, *first ? (coefficient < 0 ? "-" : "") : coefficient < 0 ? " - " : " + ");
  if (magnitude != 1 || !*variable)
    bf_text_addf(text, "%llu%s", magnitude, *variable ? "*" : "");
  bf_text_puts(text, variable);
  *first = false;
}

/* Writes y*ty + x*tx + constant; the names are those of the pattern's lanes. */
static void add_sum(bf_text *text, const bf_pattern *pattern, int64_t y, int64_t x,
                    int64_t constant) {
  bool first = true;
  add_term(text, y, "ty", &first);
  add_term(text, x, pattern->height_y == 1 ? "i" : "tx", &first);
  add_term(text, constant, "", &first);
  if (first)
    bf_text_puts(text, "0");
}

static void explain_broadcast(const bf_pattern *pattern, const bf_access *access, bf_text *text) {
  int active = __builtin_popcountll(access->mask);
  if (active == 1)
    bf_text_puts(text, "broadcast: the one active lane accesses");
  else
    bf_text_addf(text, "broadcast: all %d active lanes access", active);
  bf_text_addf(text, " element %lld", (long long)pattern->offset);
}

/* Element = stride * i + offset, whatever the shape. */
static void explain_lane(const bf_pattern *pattern, bf_text *text) {
  bool first = true;
  bf_text_puts(text, ": lane i accesses element ");
  add_term(text, pattern->stride_x, "i", &first);
  add_term(text, pattern->offset, "", &first);
}

/* Powers of two are what strides and banks have in common. */
static void explain_stride(const bf_pattern *pattern, bf_text *text) {
  long long stride = pattern->stride_x;
  int power = __builtin_ctzll((unsigned long long)stride);
  bf_text_addf(text, "stride %lld", stride);
  explain_lane(pattern, text);
  if (power)
    bf_text_addf(text, "; %lld is a multiple of 2^%d", stride, power);
  else
    bf_text_addf(text, "; %lld is odd", stride);
}

static void explain_block(const bf_pattern *pattern, bf_text *text) {
  bf_text_addf(text,
               "block of %ux%u lanes: with tx = i %% %u and ty = i / %u, lane i accesses element ",
               pattern->width_x, pattern->height_y, pattern->width_x, pattern->width_x);
  add_sum(text, pattern, pattern->stride_y, pattern->stride_x, pattern->offset);
}

static void explain_random(const bf_access *access, bf_text *text) {
  points p;
  collect(access, &p);
  int64_t least = p.element[0], most = p.element[0];
  for (unsigned i = 1; i < p.count; i++) {
    least = p.element[i] < least ? p.element[i] : least;
    most = p.element[i] > most ? p.element[i] : most;
  }
  bf_text_addf(text,
               "random: no stride and no block describes the elements of the %u active lanes, "
               "which lie between %lld and %lld",
               p.count, (long long)least, (long long)most);
}

/* True if the column that M and the origin give is one of the array's in every active lane. */
static bool stays_in_columns(const bf_pattern *pattern, const bf_access *access) {
  for (uint64_t left = access->mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    int64_t column = pattern->m[1][0] * (lane / pattern->width_x) +
                     pattern->m[1][1] * (lane % pattern->width_x) + pattern->origin[1];
    if (column < 0 || column >= pattern->columns)
      return false;
  }
  return true;
}

static void explain_rows(const bf_pattern *pattern, bf_text *text) {
  if (pattern->height_y > 1 && pattern->class_ != BF_PATTERN_BLOCK)
    bf_text_addf(text, "; with tx = i %% %u and ty = i / %u and", pattern->width_x,
                 pattern->width_x);
  else
    bf_text_puts(text, "; with");
  bf_text_addf(text, " rows of %lld elements that is row ", (long long)pattern->columns);
  add_sum(text, pattern, pattern->m[0][0], pattern->m[0][1], pattern->origin[0]);
  bf_text_puts(text, ", column ");
  add_sum(text, pattern, pattern->m[1][0], pattern->m[1][1], pattern->origin[1]);
}

void bf_pattern_explain(const bf_pattern *pattern, const bf_access *access, bf_text *text) {
  switch (pattern->class_) {
  case BF_PATTERN_BROADCAST:
    explain_broadcast(pattern, access, text);
    break;
  case BF_PATTERN_LINEAR:
    bf_text_puts(text, "linear");
    explain_lane(pattern, text);
    break;
  case BF_PATTERN_STRIDE:
    explain_stride(pattern, text);
    break;
  case BF_PATTERN_BLOCK:
    explain_block(pattern, text);
    break;
  case BF_PATTERN_RANDOM:
    explain_random(access, text);
    return;
  }
  if (pattern->columns > 1 && stays_in_columns(pattern, access))
    explain_rows(pattern, text);
}
