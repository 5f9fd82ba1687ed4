/* Packed traces, fast: records that say no more than most do. All others, and all that is wrong, is
 * left to packed.c. */
#include "access/equal_length.h"
#include "access/packed.h"

#include <string.h>

/* ---- What repeats ---- */

/* The signed number at `at` where it has up to three bytes; NULL where it has more. */
static inline const unsigned char *read_short(const unsigned char *at, int64_t *value) {
  uint32_t folded = at[0] & 0x7F;
  unsigned bytes = 1;
  if (at[0] & 0x80) {
    folded |= (uint32_t)(at[1] & 0x7F) << 7;
    bytes = 2;
    if (at[1] & 0x80) {
      folded |= (uint32_t)at[2] << 14;
      bytes = 3;
      if (at[2] & 0x80)
        return NULL;
    }
  }
  *value = (int64_t)(folded >> 1) ^ -(int64_t)(folded & 1);
  return at + bytes;
}

/* The number at `at`, of up to four bytes, whatever its length; NULL where it has more. Four bytes
 * must be there to read. */
static inline const unsigned char *read_number(const unsigned char *at, uint32_t *value) {
  uint32_t bytes;
  memcpy(&bytes, at, sizeof bytes);
  if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
    bytes = __builtin_bswap32(bytes);
  uint32_t ends = ~bytes & 0x80808080;
  if (!ends)
    return NULL;
  bytes &= ends ^ (ends - 1); /* all bits up to the lowest end */
  *value =
      (bytes & 0x7F) | (bytes >> 1 & 0x3F80) | (bytes >> 2 & 0x1FC000) | (bytes >> 3 & 0xFE00000);
  return at + (__builtin_ctz(ends) + 1) / 8;
}

/* A walk over records that say no more than the shape, the place, the count and the site of an
 * access. */
typedef struct walk {
  const unsigned char *at;
  int64_t first;   /* where the access before is */
  unsigned number; /* of its shape */
  uint32_t site;   /* its number, 0: none */
  bf_op op;
  unsigned width_bytes;
  uint64_t count;
  uint64_t executions; /* of the trace up to it */
} walk;

/* What a walk does not change. */
typedef struct ground {
  bf_shapes *shapes;
  const bf_lanes_kernel *kernel;
  const unsigned char *end;
  int64_t room; /* no address may lie past it */
  unsigned version;
  uint32_t sites;
} ground;

/* Whether a record with that tag may be one of these. */
static inline bool is_short(unsigned tag) {
  unsigned form = tag & ~(HAS_SITE | HAS_COUNT);
  return form == (TAG_ACCESS | ADDRESSES_SAME) || form == (TAG_ACCESS | ADDRESSES_MOVED) ||
         form == (TAG_ACCESS | ADDRESSES_RECALLED);
}

/* The number of a site at `at` where it has up to two bytes; NULL where it has more. */
static inline const unsigned char *read_site_number(const unsigned char *at, uint32_t *number) {
  *number = at[0] & 0x7F;
  if (!(at[0] & 0x80))
    return at + 1;
  *number |= (uint32_t)at[1] << 7;
  return at[1] & 0x80 ? NULL : at + 2;
}

/* The mask at `at`, of up to 35 bits; NULL where it has more. */
static inline const unsigned char *read_mask(const unsigned char *at, uint64_t *mask) {
  uint64_t bytes;
  memcpy(&bytes, at, sizeof bytes);
  if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
    bytes = __builtin_bswap64(bytes);
  uint64_t ends = ~bytes & UINT64_C(0x8080808080);
  if (!ends)
    return NULL;
  bytes &= ends ^ (ends - 1);
  *mask = 0;
  for (unsigned i = 0; i < 5; i++)
    *mask |= bytes >> i & UINT64_C(0x7F) << 7 * i;
  return at + (__builtin_ctzll(ends) + 1) / 8;
}

/* Steps over such a record: false at another one, and at one of which the slow way says what is
 * wrong with it. */
static inline bool walk_on(walk *w, const ground *on) {
  const unsigned char *at = w->at;
  unsigned tag = *at++, form = tag & ~(HAS_SITE | HAS_COUNT), number = w->number;
  uint32_t site = w->site, count = 0;
  bool is_recalled = form == (TAG_ACCESS | ADDRESSES_RECALLED);
  int64_t distance = 0;
  if (tag & HAS_COUNT && (!(at = read_number(at, &count)) || !count))
    return false;
  const uint64_t executions = tag & HAS_COUNT ? count : w->count;
  if (executions > BF_EXECUTIONS_MAX - w->executions)
    return false;
  if (tag & HAS_SITE && (!(at = read_site_number(at, &site)) || site > on->sites))
    return false;
  if (is_recalled)
    number = *at++;
  if (is_recalled || form == (TAG_ACCESS | ADDRESSES_MOVED))
    at = read_short(at, &distance);
  else if (form != (TAG_ACCESS | ADDRESSES_SAME))
    return false;
  bf_shape *shape = &on->shapes->shape[number];
  int64_t first = w->first + distance;
  if (!at || (is_recalled && (on->version < 2 || number >= on->shapes->made)))
    return false;
  if (shape->is_unsettled)
    bf_shape_settle(shape, on->kernel);
  if (!is_recalled && (shape->op != w->op || shape->width_bytes != w->width_bytes))
    return false;
  if (((uint64_t)first & (shape->width_bytes - 1)) != 0 || first + shape->lowest < 0 ||
      first + shape->highest + shape->width_bytes > on->room)
    return false;
  bool has_own_site = is_recalled && !(tag & HAS_SITE);
  *w = (walk){at,         first,
              number,     has_own_site ? shape->site_number : site,
              shape->op,  shape->width_bytes,
              executions, w->executions + executions};
  return true;
}

/* Takes the access that the walk came to for the one before. */
static void arrive(bf_trace *trace, const walk *w, uint64_t passed) {
  bf_access *access = &trace->current;
  trace->shapes.number = w->number;
  trace->shapes.first = (uint32_t)w->first;
  access->op = w->op;
  access->width_bytes = w->width_bytes;
  access->mask = trace->shapes.shape[w->number].mask;
  access->site = w->site ? bf_sites_text(&trace->sites, w->site - 1) : NULL;
  trace->site = w->site;
  trace->window.begin = (size_t)(w->at - trace->window.data);
  trace->accesses += passed;
  trace->executions = w->executions;
  access->count = w->count;
  trace->is_bare = true;
}

/* Bytes that may be read of such a record: tag, count, site, shape and distance. */
enum { LONGEST_BYTES = 16 };
/* Records that are read before their repeats are looked up, which are in memory then. */
enum { AHEAD = 16 };

typedef struct step {
  walk at;
  uint64_t key;
  uint32_t place;
} step;

typedef struct ahead {
  step step[AHEAD];
  unsigned count;
} ahead;

/* Reads the next records, at most so many. */
static inline void look_ahead(ahead *next, const walk *from, const ground *on,
                              const bf_repeats *repeats, uint64_t most) {
  walk at = *from;
  while (next->count < AHEAD && next->count < most && on->end - at.at >= LONGEST_BYTES &&
         walk_on(&at, on)) {
    uint64_t key = bf_repeats_key(repeats, at.op, at.width_bytes, on->shapes->id[at.number],
                                  (uint32_t)at.first);
    if (!key)
      return;
    uint32_t place = bf_repeats_place(repeats, key, at.site);
    __builtin_prefetch(&repeats->place[place], 1);
    next->step[next->count++] = (step){at, key, place};
  }
}

/* Where the trace is, for a walk; false where no such record follows. */
static bool set_out(bf_trace *trace, walk *w, ground *on) {
  const bf_window *window = &trace->window;
  const bf_access *access = &trace->current;
  const uint64_t allocation = trace->limits.allocation_bytes;
  if (trace->accesses == 0 || trace->finished || window->begin == window->end ||
      !is_short(window->data[window->begin]))
    return false;
  *on = (ground){.shapes = &trace->shapes,
                 .kernel = trace->kernel,
                 .end = window->data + window->end,
                 .room = allocation > UINT32_MAX ? (int64_t)UINT32_MAX + 1 : (int64_t)allocation,
                 .version = trace->version,
                 .sites = trace->sites.count};
  *w = (walk){.at = window->data + window->begin,
              .first = trace->shapes.first,
              .number = trace->shapes.number,
              .site = trace->site,
              .op = access->op,
              .width_bytes = access->width_bytes,
              .count = access->count,
              .executions = trace->executions};
  return true;
}

uint64_t bf_packed_pass(bf_trace *trace, bf_repeats *repeats, uint64_t most) {
  uint64_t passed = 0;
  walk now;
  ground on;
  if (!set_out(trace, &now, &on))
    return 0;
  for (unsigned done = AHEAD; done == AHEAD && passed < most;) {
    ahead next;
    next.count = 0;
    look_ahead(&next, &now, &on, repeats, most - passed);
    for (done = 0; done < next.count; done++) {
      const step *own = &next.step[done];
      const uint64_t count = own->at.count;
      bf_repeat *known = bf_repeats_find(repeats, own->place, own->key, own->at.site);
      if (!known || count > UINT32_MAX - known->executions)
        break;
      known->executions += (uint32_t)count;
    }
    if (done)
      now = next.step[done - 1].at;
    passed += done;
  }
  if (passed)
    arrive(trace, &now, passed);
  return passed;
}

uint64_t bf_packed_skip(bf_trace *trace) {
  uint64_t passed = 0;
  walk now;
  ground on;
  if (!set_out(trace, &now, &on))
    return 0;
  while (on.end - now.at >= LONGEST_BYTES && walk_on(&now, &on))
    passed++;
  if (passed)
    arrive(trace, &now, passed);
  return passed;
}

/* ---- What is listed ---- */

/* Bytes that may be read of such a record: tag, mask, site and distance, and what kernels read. */
enum { LISTED_BYTES = 32 + BF_LANES_LIST_BYTES };

/* Addresses at a constant distance, which is at `at`, the first of them at first; NULL as below. */
static inline const unsigned char *list_line(bf_trace *trace, const unsigned char *at,
                                             uint32_t mask, int64_t first) {
  const uint64_t allocation = trace->limits.allocation_bytes;
  bf_access *access = &trace->current;
  uint32_t folded, width = access->width_bytes;
  if (!(at = read_number(at, &folded)))
    return NULL;
  int64_t stride = (int64_t)(folded >> 1) ^ -(int64_t)(folded & 1);
  int begin = __builtin_ctz(mask), end = 31 - __builtin_clz(mask);
  int64_t last = first + (end - begin) * stride, highest = last > first ? last : first;
  if (first < 0 || last < 0 || ((uint64_t)first | (uint64_t)stride) & (width - 1) ||
      (uint64_t)highest + width > (allocation < UINT32_MAX ? allocation : UINT32_MAX))
    return NULL;
  trace->kernel->stride(mask, (uint32_t)(first - begin * stride), (uint32_t)stride,
                        access->address);
  trace->shapes.first = (uint32_t)first;
  return at;
}

/* Addresses in numbers of equal length, which begin with the distance at `at`; NULL: the slow way
 * reads them or says what is wrong. Where the highest that such numbers can tell is in the memory,
 * all are. */
static inline const unsigned char *list_equal(bf_trace *trace, const unsigned char *at,
                                              uint32_t mask) {
  const uint64_t allocation = trace->limits.allocation_bytes;
  bf_access *access = &trace->current;
  uint32_t folded, width = access->width_bytes, raw;
  if (!(at = read_number(at, &folded)))
    return NULL;
  int64_t lowest = (int64_t)trace->shapes.first + ((int64_t)(folded >> 1) ^ -(int64_t)(folded & 1));
  if (at[0] == BF_STRIDED && trace->version >= 4)
    return list_line(trace, at + 1, mask, lowest);
  unsigned bits = at[0], shift = at[1], total = bits * (unsigned)__builtin_popcount(mask);
  if (lowest < 0 || bits > BF_LANES_MOST_BITS || bits + shift > 32)
    return NULL;
  uint64_t most = (((uint64_t)1 << bits) - 1) << shift, last = (uint64_t)lowest + most + width;
  if (last > allocation || last > UINT32_MAX || ((uint64_t)lowest | (most & -most)) & (width - 1))
    return NULL;
  at += 2;
  if (total % 8 && at[total / 8] >> total % 8)
    return NULL;
  memcpy(&raw, at, sizeof raw);
  if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
    raw = __builtin_bswap32(raw);
  trace->kernel->unpack(at, mask, bits, shift, (uint32_t)lowest, access->address);
  trace->shapes.first = (uint32_t)lowest + ((raw & ((1U << bits) - 1)) << shift);
  return at + (total + 7) / 8;
}

/* The same for distances from lane to lane. */
static inline const unsigned char *list_distances(bf_trace *trace, const unsigned char *at,
                                                  uint32_t mask) {
  bf_access *access = &trace->current;
  at = trace->kernel->list(at, mask, trace->shapes.first, access->address);
  uint32_t bits = at ? bf_shape_bits(access->address) : 0, width = access->width_bytes;
  if (!at || bits & (width - 1) ||
      (uint64_t)bits + width > (trace->limits.allocation_bytes < UINT32_MAX
                                    ? trace->limits.allocation_bytes
                                    : UINT32_MAX))
    return NULL;
  trace->shapes.first = access->address[__builtin_ctz(mask)];
  return at;
}

bool bf_packed_list(bf_trace *trace) {
  bf_window *window = &trace->window;
  bf_access *access = &trace->current;
  const unsigned char *at = window->data + window->begin;
  const unsigned changes = HAS_SITE | HAS_MASK | EQUAL_LENGTH;
  if (window->end - window->begin < LISTED_BYTES || trace->limits.lanes > BF_LANES ||
      (*at & ~changes) != (TAG_ACCESS | ADDRESSES_LISTED) || trace->accesses == 0 ||
      access->count > BF_EXECUTIONS_MAX - trace->executions ||
      (*at & EQUAL_LENGTH && trace->version < 3))
    return false;
  unsigned tag = *at++;
  uint64_t mask = access->mask;
  uint32_t site = trace->site;
  if (tag & HAS_MASK && !(at = read_mask(at, &mask)))
    return false;
  if (mask == 0 || mask > UINT32_MAX >> (BF_LANES - trace->limits.lanes))
    return false;
  if (tag & HAS_SITE && (!(at = read_site_number(at, &site)) || site > trace->sites.count))
    return false;
  at = tag & EQUAL_LENGTH ? list_equal(trace, at, (uint32_t)mask)
                          : list_distances(trace, at, (uint32_t)mask);
  if (!at)
    return false;
  access->mask = mask;
  if (tag & HAS_SITE)
    access->site = site ? bf_sites_text(&trace->sites, site - 1) : NULL;
  trace->site = site;
  bf_shape *shape = bf_shapes_next(&trace->shapes);
  bf_shape_list(shape, access);
  shape->site_number = site;
  window->begin = (size_t)(at - window->data);
  trace->executions += access->count;
  access->line = ++trace->accesses;
  trace->is_listed = true;
  trace->is_bare = false;
  return true;
}
