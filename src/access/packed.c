/* The packed form of traces: records of bytes, byte by byte in docs/traces.md.
 *
 * A record says only what differs from the access before, or from one of the last shapes that were
 * listed (shape.h). Numbers are varints: 7 bits a byte, low ones first, the top bit set on all
 * bytes but the last; signed numbers are folded first (0, -1, 1, -2, ... become 0, 1, 2, 3, ...).
 * The file around the records is zstd-compressed, which makes long repetitions almost free. */
#include "access/packed.h"
#include "access/equal_length.h"

#include <assert.h>
#include <string.h>

static const unsigned char magic[8] = {0x89, 'B', 'F', 'T', 'R', 'A', 'C', 'E'};

enum {
  VERSION = 4, /* that is written; version 1 has no recalled shapes, 2 no numbers of equal length,
                  3 no lines */
  /* No record is longer. */
  RECORD_MAX_BYTES = BF_SITE_MAX_BYTES + 1024,
};

/* ---- Writing ---- */

/* Room for a record without strings but the name of an operation: tag, name, width, three numbers,
 * and one number per lane. */
enum { NAME_MAX_BYTES = 16, PUT_MAX_BYTES = 1 + 1 + NAME_MAX_BYTES + 1 + (4 + BF_MAX_LANES) * 10 };

static unsigned char *put_varint(unsigned char *at, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    *at++ = (unsigned char)(value | 0x80);
  *at++ = (unsigned char)value;
  return at;
}

static unsigned char *put_signed(unsigned char *at, int64_t value) {
  return put_varint(at, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static unsigned char *put_name(unsigned char *at, const char *name) {
  size_t length = strlen(name);
  assert(length <= NAME_MAX_BYTES);
  *at++ = (unsigned char)length;
  memcpy(at, name, length);
  return at + length;
}

/* Appends what was put between bytes and end. */
static void append(bf_text *text, const unsigned char *bytes, const unsigned char *end) {
  bf_text_add(text, (const char *)bytes, (size_t)(end - bytes));
}

void bf_packed_put_header(bf_text *text) {
  const char version = VERSION;
  bf_text_add(text, (const char *)magic, sizeof magic);
  bf_text_add(text, &version, 1);
}

void bf_packed_put_end(bf_trace_writer *writer) {
  unsigned char bytes[PUT_MAX_BYTES] = {TAG_END};
  append(&writer->buffer, bytes, put_varint(bytes + 1, writer->accesses));
}

static void put_new_site(bf_text *text, const char *site) {
  unsigned char bytes[PUT_MAX_BYTES] = {TAG_SITE};
  append(text, bytes, put_varint(bytes + 1, strlen(site)));
  bf_text_puts(text, site);
}

/* Sets *number to 0 for no site and else to 1 + the site's number, and writes the record that
 * defines the site if it is new. */
static int put_site(bf_trace_writer *writer, const char *site, uint32_t *number,
                    bf_diagnostic *diagnostic) {
  *number = 0;
  if (!site)
    return BF_OK;
  if (bf_sites_find_near(&writer->sites, site, number)) {
    ++*number;
    return BF_OK;
  }
  size_t offset;
  const char *fault = bf_site_fault(site, strlen(site), &offset);
  if (fault)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s", fault);
  uint32_t known = writer->sites.count;
  int error = bf_sites_intern(&writer->sites, site, strlen(site), number);
  if (error == BF_UNSUPPORTED)
    return bf_fail(diagnostic, error, "too many distinct sites");
  if (error)
    return bf_no_memory(diagnostic);
  if (*number == known)
    put_new_site(&writer->buffer, site);
  bf_sites_note_near(&writer->sites, site, *number);
  ++*number;
  return BF_OK;
}

static bool same_site(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

/* The tag of an access of that shape. *recalled becomes the number of the shape that it repeats,
 * and *key that by which its shape is found where its addresses are listed. */
static unsigned choose_tag(const bf_trace_writer *writer, const bf_access *access,
                           const bf_shape *shape, int *recalled, unsigned *key) {
  const bf_access *before = &writer->previous;
  const bf_shapes *shapes = &writer->shapes;
  if (writer->accesses == 0) {
    *recalled = bf_shapes_find(shapes, shape, key);
    return TAG_ACCESS | HAS_OP | HAS_MASK | HAS_COUNT | HAS_SITE | ADDRESSES_LISTED;
  }
  unsigned tag = TAG_ACCESS | (access->count != before->count ? HAS_COUNT : 0);
  unsigned other_op =
      access->op != before->op || access->width_bytes != before->width_bytes ? HAS_OP : 0;
  unsigned other_site = same_site(access->site, before->site) ? 0 : HAS_SITE;
  if (bf_shape_equal(shape, &shapes->shape[shapes->number])) {
    uint32_t first = access->address[__builtin_ctzll(access->mask)];
    return tag | other_op | other_site |
           (first == shapes->first ? ADDRESSES_SAME : ADDRESSES_MOVED);
  }
  *recalled = bf_shapes_find(shapes, shape, key);
  if (*recalled < 0)
    return tag | other_op | other_site | (access->mask != before->mask ? HAS_MASK : 0) |
           ADDRESSES_LISTED;
  bool as_then = same_site(access->site, shapes->shape[*recalled].site);
  return tag | (as_then ? 0 : HAS_SITE) | ADDRESSES_RECALLED;
}

/* The lowest active lane's address less that of the access before; listed ones then each less the
 * active lane's before it. */
static unsigned char *put_addresses(unsigned char *at, unsigned form, const bf_access *access,
                                    uint32_t before) {
  if (form == ADDRESSES_SAME)
    return at;
  uint64_t left = access->mask;
  int64_t last = before;
  do {
    int64_t address = access->address[__builtin_ctzll(left)];
    at = put_signed(at, address - last);
    last = address;
    left &= left - 1;
  } while (left && form == ADDRESSES_LISTED);
  return at;
}

static unsigned char *put_equal_length(unsigned char *at, const bf_shape *shape, uint32_t first,
                                       bf_equal_length with, uint32_t before) {
  at = put_signed(at, first + shape->lowest - (int64_t)before);
  *at++ = (unsigned char)with.bits;
  *at++ = (unsigned char)with.shift;
  return bf_equal_length_put(at, shape, with);
}

/* How addresses that are listed are put best. */
typedef enum listing { EACH_DISTANCE, IN_EQUAL_LENGTH, AS_LINE } listing;

static listing choose_listing(const bf_shape *shape, const bf_lanes_kernel *kernel,
                              bf_equal_length *lengths, int64_t *stride) {
  if (bf_shape_stride(shape, kernel, stride))
    return AS_LINE;
  *lengths = bf_equal_length_of(shape);
  return bf_equal_length_is_better(shape, *lengths) ? IN_EQUAL_LENGTH : EACH_DISTANCE;
}

static unsigned char *put_line(unsigned char *at, uint32_t first, uint32_t before, int64_t stride) {
  at = put_signed(at, (int64_t)first - before);
  *at++ = BF_STRIDED;
  return put_signed(at, stride);
}

/* Takes access for the one before. */
static void remember(bf_trace_writer *writer, const bf_access *access, const bf_shape *shape,
                     unsigned form, int recalled, unsigned key, uint32_t site) {
  bf_shapes *shapes = &writer->shapes;
  bf_access *before = &writer->previous;
  const char *kept = site ? bf_sites_text(&writer->sites, site - 1) : NULL;
  shapes->first = access->address[__builtin_ctzll(access->mask)];
  if (form == ADDRESSES_RECALLED)
    shapes->number = (unsigned)recalled;
  if (form == ADDRESSES_LISTED) {
    bf_shape *next = bf_shapes_next(shapes);
    *next = *shape;
    next->site = kept;
    bf_shapes_index(shapes, key);
  }
  before->op = access->op;
  before->width_bytes = access->width_bytes;
  before->mask = access->mask;
  before->count = access->count;
  before->site = kept;
}

/* Whether the access is as right as the one before, of which all was checked. */
static bool is_as_right(const bf_trace_writer *writer, const bf_access *access,
                        const bf_shape *shape) {
  const bf_access *before = &writer->previous;
  return writer->accesses && access->op == before->op &&
         access->width_bytes == before->width_bytes && access->count &&
         (shape->bits & (access->width_bytes - 1)) == 0;
}

int bf_packed_put_access(bf_trace_writer *writer, const bf_access *access,
                         bf_diagnostic *diagnostic) {
  uint32_t site;
  bf_shape shape;
  if (!access->mask)
    return bf_access_check_writable(access, diagnostic);
  bf_shape_take(&shape, access, writer->kernel);
  if (!is_as_right(writer, access, &shape))
    BF_TRY(bf_access_check_writable(access, diagnostic));
  BF_TRY(put_site(writer, access->site, &site, diagnostic));
  int recalled = -1;
  unsigned key = 0;
  unsigned tag = choose_tag(writer, access, &shape, &recalled, &key);
  bf_equal_length lengths = {0, 0};
  int64_t stride = 0;
  listing how = EACH_DISTANCE;
  if ((tag & ADDRESSES) == ADDRESSES_LISTED)
    how = choose_listing(&shape, writer->kernel, &lengths, &stride);
  tag |= how == EACH_DISTANCE ? 0 : EQUAL_LENGTH;
  unsigned char bytes[PUT_MAX_BYTES], *at = bytes;
  *at++ = (unsigned char)tag;
  if (tag & HAS_OP) {
    at = put_name(at, bf_op_name(access->op));
    *at++ = (unsigned char)access->width_bytes;
  }
  if (tag & HAS_MASK)
    at = put_varint(at, access->mask);
  if (tag & HAS_COUNT)
    at = put_varint(at, access->count);
  if (tag & HAS_SITE)
    at = put_varint(at, site);
  if ((tag & ADDRESSES) == ADDRESSES_RECALLED)
    *at++ = (unsigned char)recalled;
  uint32_t before = writer->shapes.first, first = access->address[__builtin_ctzll(access->mask)];
  if (how == AS_LINE)
    at = put_line(at, first, before, stride);
  else if (how == IN_EQUAL_LENGTH)
    at = put_equal_length(at, &shape, first, lengths, before);
  else
    at = put_addresses(at, tag & ADDRESSES, access, before);
  append(&writer->buffer, bytes, at);
  if (how == IN_EQUAL_LENGTH && !writer->is_begun)
    writer->random_bytes += (uint64_t)(at - bytes);
  remember(writer, access, &shape, tag & ADDRESSES, recalled, key, site);
  return BF_OK;
}

/* ---- Reading ---- */

/* The bytes of a record; a fault is remembered, after it everything reads as 0. */
typedef struct record {
  const unsigned char *at, *end;
  const char *fault;
} record;

static const char far_away[] = "an address that is negative or needs more than 32 bits";

static uint64_t broken(record *r, const char *fault) {
  if (!r->fault)
    r->fault = fault;
  r->at = r->end;
  return 0;
}

static unsigned get_byte(record *r) {
  return r->at < r->end ? *r->at++ : (unsigned)broken(r, "the file is cut off");
}

static uint64_t get_varint(record *r) {
  if (r->at < r->end && *r->at < 0x80)
    return *r->at++;
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    unsigned byte = get_byte(r);
    uint64_t part = (uint64_t)(byte & 0x7F) << shift;
    if (part >> shift != (byte & 0x7F))
      break;
    value |= part;
    if (!(byte & 0x80))
      return value;
  }
  return broken(r, "a number needs more than 64 bits");
}

static int64_t get_signed(record *r) {
  uint64_t value = get_varint(r);
  return (int64_t)(value >> 1 ^ -(value & 1));
}

/* The bytes of a string inside the record. */
static const char *get_string(record *r, size_t most, size_t *length) {
  uint64_t size = get_varint(r);
  const char *bytes = (const char *)r->at;
  if (size > most)
    broken(r, "a string is too long");
  else if (size > (size_t)(r->end - r->at))
    broken(r, "the file is cut off");
  *length = r->fault ? 0 : (size_t)size;
  r->at += *length;
  return bytes;
}

static void get_op(record *r, bf_access *access) {
  char name[16] = "";
  size_t length;
  const char *bytes = get_string(r, sizeof name - 1, &length);
  memcpy(name, bytes, length);
  int op = bf_op_find(name);
  if (op < 0)
    broken(r, "an unknown operation");
  else
    access->op = (bf_op)op;
  access->width_bytes = get_byte(r);
}

static void get_site(record *r, bf_trace *trace, bf_access *access) {
  uint64_t number = get_varint(r);
  if (number > trace->sites.count) {
    broken(r, "a site that is not defined");
    return;
  }
  trace->site = (uint32_t)number;
  access->site = number ? bf_sites_text(&trace->sites, trace->site - 1) : NULL;
}

/* Listed addresses of the active lanes, the slow way: any number is read, any fault found. */
static void list_each(record *r, uint32_t before, bf_access *access) {
  int64_t address = before;
  memset(access->address, 0, sizeof access->address);
  for (uint64_t left = access->mask; left && !r->fault; left &= left - 1) {
    int64_t distance = get_signed(r);
    if (distance < -address || distance > UINT32_MAX - address)
      broken(r, far_away);
    else
      access->address[__builtin_ctzll(left)] = (uint32_t)(address += distance);
  }
}

/* Addresses at a constant distance, the first of which is at first. */
static void get_line(record *r, int64_t first, bf_access *access) {
  int64_t stride = get_signed(r);
  int begin = __builtin_ctzll(access->mask), end = 63 - __builtin_clzll(access->mask);
  if (stride < -(int64_t)UINT32_MAX || stride > UINT32_MAX)
    broken(r, far_away);
  int64_t last = r->fault ? 0 : first + (end - begin) * stride;
  if (last < 0 || last > UINT32_MAX)
    broken(r, far_away);
  memset(access->address, 0, sizeof access->address);
  for (uint64_t left = access->mask; left && !r->fault; left &= left - 1) {
    int lane = __builtin_ctzll(left);
    access->address[lane] = (uint32_t)(first + (lane - begin) * stride);
  }
}

/* Addresses in numbers of equal length, or as a line. */
static void get_equal_length(record *r, bf_trace *trace) {
  bf_access *access = &trace->current;
  int64_t distance = get_signed(r), before = trace->shapes.first;
  bf_equal_length with = {.bits = get_byte(r)};
  bool is_line = with.bits == BF_STRIDED && trace->version >= 4 && access->mask;
  with.shift = is_line ? 0 : get_byte(r);
  if (is_line && distance >= -before && distance <= UINT32_MAX - before) {
    get_line(r, before + distance, access);
    return;
  }
  if (distance < -before || distance > UINT32_MAX - before || with.bits + with.shift > 32)
    broken(r, far_away);
  if (r->fault)
    return;
  unsigned lanes = trace->limits.lanes;
  const char *fault = bf_equal_length_get(&r->at, r->end, with, (uint32_t)(before + distance),
                                          lanes <= BF_LANES ? trace->kernel : NULL, access);
  if (fault)
    broken(r, fault);
}

/* Listed addresses, all lanes at once where the numbers are short and right. */
static void get_listed(record *r, bf_trace *trace) {
  bf_access *access = &trace->current;
  uint32_t before = trace->shapes.first;
  const unsigned char *behind = NULL;
  if (access->mask <= UINT32_MAX && trace->limits.lanes <= BF_LANES &&
      r->end - r->at >= BF_LANES_LIST_BYTES)
    behind = trace->kernel->list(r->at, (uint32_t)access->mask, before, access->address);
  if (behind)
    r->at = behind;
  else
    list_each(r, before, access);
}

/* Takes operation, width, lanes and site from a remembered shape. */
static void recall(record *r, bf_shapes *shapes, bf_access *access) {
  unsigned number = get_byte(r);
  if (number >= shapes->made) {
    broken(r, "a shape that was never listed");
    return;
  }
  const bf_shape *shape = &shapes->shape[number];
  shapes->number = number;
  access->op = shape->op;
  access->width_bytes = shape->width_bytes;
  access->mask = shape->mask;
}

/* What a tag may not say. */
static const char *tag_fault(const bf_trace *trace, unsigned tag) {
  const unsigned first_needs = HAS_OP | HAS_MASK | ADDRESSES_LISTED;
  unsigned form = tag & ADDRESSES;
  bool is_recalled = form == ADDRESSES_RECALLED;
  bool has_length = tag & EQUAL_LENGTH;
  if ((has_length && (trace->version < 3 || form != ADDRESSES_LISTED)) ||
      (is_recalled && (trace->version < 2 || tag & (HAS_OP | HAS_MASK))))
    return "a record of unknown kind";
  if (trace->accesses == 0 && ((tag & first_needs) != first_needs || is_recalled))
    return "a first access that refers to one before it";
  if (tag & HAS_MASK && form != ADDRESSES_LISTED)
    return "a new mask without addresses";
  return NULL;
}

/* The fields of an access but for its addresses; access holds those of the access before. A shape
 * brings its own site unless the record has one. */
static void get_fields(record *r, unsigned tag, bf_trace *trace, bf_access *access) {
  if (tag & HAS_OP)
    get_op(r, access);
  if (tag & HAS_MASK)
    access->mask = get_varint(r);
  if (tag & HAS_COUNT)
    access->count = get_varint(r);
  if (tag & HAS_SITE)
    get_site(r, trace, access);
  if ((tag & ADDRESSES) == ADDRESSES_RECALLED) {
    recall(r, &trace->shapes, access);
    if (!(tag & HAS_SITE)) {
      access->site = trace->shapes.shape[trace->shapes.number].site;
      trace->site = trace->shapes.shape[trace->shapes.number].site_number;
    }
  }
}

/* A fault in the record that starts at the window's begin. */
static int damaged(const bf_trace *trace, bf_diagnostic *diagnostic, const char *fault) {
  return bf_fail_file(diagnostic, BF_BAD_INPUT, trace->file,
                      "damaged packed trace: %s (access %llu, byte %llu)", fault,
                      (unsigned long long)trace->accesses + 1,
                      (unsigned long long)(trace->window.passed_bytes + trace->window.begin));
}

static int read_end(record *r, const bf_trace *trace, bf_diagnostic *diagnostic) {
  uint64_t accesses = get_varint(r);
  if (r->fault)
    return damaged(trace, diagnostic, r->fault);
  if (accesses != trace->accesses)
    return damaged(trace, diagnostic, "the end record tells another number of accesses");
  if (r->at != r->end)
    return damaged(trace, diagnostic, "something follows the end record");
  return BF_OK;
}

static int read_site(record *r, bf_trace *trace, bf_diagnostic *diagnostic) {
  size_t length, offset;
  const char *bytes = get_string(r, BF_SITE_MAX_BYTES, &length);
  const char *fault = r->fault ? r->fault : bf_site_fault(bytes, length, &offset);
  if (fault)
    return damaged(trace, diagnostic, fault);
  uint32_t known = trace->sites.count;
  const char *site;
  int error = bf_trace_intern(&trace->sites, trace->file, bytes, length, &site, diagnostic);
  if (!error && trace->sites.count == known)
    return damaged(trace, diagnostic, "a site is defined twice");
  return error;
}

/* Checks an access of which more changed than its place. */
static int check_access(const bf_trace *trace, const bf_access *access, bf_diagnostic *diagnostic) {
  bf_diagnostic found;
  int lane;
  if (bf_access_check(access, &trace->limits, &lane, &found) == BF_OK)
    return BF_OK;
  return bf_fail_file(diagnostic, BF_BAD_INPUT, trace->file, "access %llu: %s",
                      (unsigned long long)trace->accesses + 1, found.message);
}

/* Addresses of a shape from where the record says; *known where nothing else is to be checked. */
static void get_moved(record *r, unsigned tag, bf_trace *trace, bool *known) {
  bf_shapes *shapes = &trace->shapes;
  bf_access *access = &trace->current;
  bf_shape *shape = &shapes->shape[shapes->number];
  bf_shape_settle(shape, trace->kernel);
  int64_t distance = (tag & ADDRESSES) == ADDRESSES_SAME ? 0 : get_signed(r);
  if (distance < -(int64_t)UINT32_MAX || distance > (int64_t)UINT32_MAX) {
    broken(r, far_away);
    return;
  }
  int64_t first = shapes->first + distance;
  if (first + shape->lowest < 0 || first + shape->highest > UINT32_MAX)
    broken(r, far_away);
  if (r->fault)
    return;
  shapes->first = (uint32_t)first;
  if ((tag & ADDRESSES) != ADDRESSES_SAME || trace->is_bare)
    bf_shape_place(shape, shapes->first, trace->limits.lanes, trace->kernel, access);
  *known = !(tag & (HAS_OP | HAS_COUNT)) &&
           bf_shape_fits(shape, first, access->width_bytes, trace->limits.allocation_bytes);
}

/* Makes the access that was listed the next shape; true where nothing else is to be checked. */
static bool take_listed(unsigned tag, bf_trace *trace) {
  const bf_access *access = &trace->current;
  bf_shapes *shapes = &trace->shapes;
  bool lanes_fit = trace->limits.lanes >= 64 || access->mask >> trace->limits.lanes == 0;
  const uint64_t allocation = trace->limits.allocation_bytes;
  bf_shape *shape = bf_shapes_next(shapes);
  bf_shape_list(shape, access);
  shape->site_number = trace->site;
  shapes->first = access->address[__builtin_ctzll(access->mask)];
  uint32_t bits = bf_shape_bits(access->address);
  bits |= access->mask >> BF_LANES ? bf_shape_bits(access->address + BF_LANES) : 0;
  if (tag & (HAS_OP | HAS_COUNT) || !lanes_fit || bits & (access->width_bytes - 1))
    return false;
  uint64_t most = allocation > UINT32_MAX ? (uint64_t)UINT32_MAX + 1 : allocation;
  if ((uint64_t)bits + access->width_bytes <= most)
    return true;
  bf_shape_settle(shape, trace->kernel);
  return bf_shape_fits(shape, shapes->first, access->width_bytes, allocation);
}

/* What follows an access's tag, into the trace's current access, which holds the access before. */
static int read_access(record *r, unsigned tag, bf_trace *trace, bf_diagnostic *diagnostic) {
  bf_access *access = &trace->current;
  bool is_listed = (tag & ADDRESSES) == ADDRESSES_LISTED, known = false;
  if (trace->accesses == 0)
    access->count = 1;
  const char *fault = tag_fault(trace, tag);
  if (fault)
    broken(r, fault);
  else
    get_fields(r, tag, trace, access);
  if (!r->fault && tag & EQUAL_LENGTH)
    get_equal_length(r, trace);
  else if (!r->fault && is_listed)
    get_listed(r, trace);
  else if (!r->fault)
    get_moved(r, tag, trace, &known);
  if (r->fault)
    return damaged(trace, diagnostic, r->fault);
  if (is_listed && access->mask)
    known = take_listed(tag, trace);
  if (!known)
    BF_TRY(check_access(trace, access, diagnostic));
  trace->is_listed = is_listed;
  trace->is_bare = false;
  if (!bf_trace_tally(trace, access))
    return bf_fail_file(diagnostic, BF_BAD_INPUT, trace->file,
                        "the counts up to access %llu add up to more than %llu",
                        (unsigned long long)trace->accesses, (unsigned long long)BF_EXECUTIONS_MAX);
  access->line = trace->accesses;
  return BF_OK;
}

/* Reads one record: 1 for an access, 0 for the end, 2 for a record without an access. */
static int read_record(bf_trace *trace, bf_diagnostic *diagnostic) {
  bf_window *window = &trace->window;
  int error = bf_window_fill(window, RECORD_MAX_BYTES, diagnostic);
  if (error)
    return error;
  record r = {window->data + window->begin, window->data + window->end, NULL};
  unsigned tag = get_byte(&r);
  int result = 1;
  if (r.fault)
    error = damaged(trace, diagnostic, r.fault);
  else if (tag & TAG_ACCESS)
    error = read_access(&r, tag, trace, diagnostic);
  else if (tag == TAG_SITE && (result = 2))
    error = read_site(&r, trace, diagnostic);
  else if (tag == TAG_END && (result = 0) == 0)
    error = read_end(&r, trace, diagnostic);
  else
    error = damaged(trace, diagnostic, "a record of unknown kind");
  window->begin = (size_t)(r.at - window->data);
  return !error ? result : error;
}

bool bf_packed_recognise(const bf_window *window) {
  return window->end - window->begin >= sizeof magic &&
         memcmp(window->data + window->begin, magic, sizeof magic) == 0;
}

bool bf_packed_is_current(const bf_trace *trace) { return trace->version == VERSION; }

int bf_packed_begin(bf_trace *trace, bf_diagnostic *diagnostic) {
  bf_window *window = &trace->window;
  window->begin += sizeof magic;
  if (window->begin == window->end)
    return damaged(trace, diagnostic, "the file is cut off");
  trace->version = window->data[window->begin++];
  if (trace->version == 0 || trace->version > VERSION)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, trace->file,
                        "a packed trace of version %u, but only versions up to %d can be read",
                        trace->version, VERSION);
  return BF_OK;
}

int bf_packed_next(bf_trace *trace, bf_diagnostic *diagnostic) {
  int result = trace->finished ? 0 : 2;
  if (result == 2 && bf_packed_list(trace))
    return 1;
  while (result == 2)
    result = read_record(trace, diagnostic);
  trace->finished = trace->finished || result == 0;
  return result;
}
