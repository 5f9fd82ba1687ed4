/* Inside room access: what the text and the packed form of traces share. */
#ifndef BF_ACCESS_TRACE_H
#define BF_ACCESS_TRACE_H

#include "access/access.h"
#include "access/intern.h"
#include "access/shape.h"

#include <stddef.h>

/* A longer line is refused without reading all of it. */
enum { BF_LINE_MAX_BYTES = 65536 };
/* Room for a line of the greatest length, and for reading in large pieces. */
enum { BF_WINDOW_BYTES = 4 * BF_LINE_MAX_BYTES };

/* The unread part of a file, data[begin..end): at least as much of it as was asked for. */
typedef struct bf_window {
  bf_reader *reader;
  unsigned char *data;
  size_t begin, end;
  uint64_t passed_bytes; /* bytes of the file before data[0] */
  bool at_end;           /* nothing is left to read into the window */
  bf_writer *copy;       /* what is read goes there too; NULL: nowhere */
} bf_window;

/* Makes wanted bytes (at most BF_WINDOW_BYTES) available, or all up to the end of the file. */
int bf_window_fill(bf_window *window, size_t wanted, bf_diagnostic *diagnostic);

/* What is known of a trace of another tool so far. */
typedef struct bf_foreign {
  bf_trace_form form;
  uint64_t shared_base;  /* address at which shared memory begins; 0: addresses count from it */
  char kernel[128];      /* Accel-Sim: the kernel's name */
  bool has_source_lines; /* Accel-Sim: lines begin with one of the source */
  char site[192];        /* of the access just read */
} bf_foreign;

struct bf_trace {
  char file[256];
  bf_trace_limits limits;
  bf_window window;
  bf_sites sites;
  bf_foreign foreign;
  bool packed;
  unsigned version;    /* packed: of the format */
  bool finished;       /* packed: the end record was read */
  uint64_t lines;      /* text: lines read */
  uint64_t passed;     /* text: of them without an access */
  uint64_t accesses;   /* accesses read */
  uint64_t executions; /* the sum of their counts */
  /* The access that was read last. Where pointers have 64 bits its addresses are whole lines of the
   * cache, so that what kernels have just written is at hand. */
  _Alignas(64) unsigned char before_current[64 - offsetof(bf_access, address) % 64];
  bf_access current;
  bool is_bare;   /* packed: its addresses are not put together yet */
  bool is_listed; /* packed: they were listed */
  uint32_t site;  /* packed: the number of its site, 0: none */
  const bf_lanes_kernel *kernel;
  bf_shapes shapes; /* packed */
};

_Static_assert(sizeof(void *) < 8 || offsetof(struct bf_trace, current.address) % 64 == 0,
               "a line of the cache");

struct bf_trace_writer {
  bf_writer *writer;
  bool packed;
  bf_text buffer; /* what is not yet handed to writer */
  bf_sites sites;
  uint64_t accesses;
  bool is_begun;         /* something was handed to writer, or how it packs was said */
  uint64_t random_bytes; /* packed: of numbers of equal length, up to then */
  bf_access previous;    /* packed: the access before, without its addresses */
  const bf_lanes_kernel *kernel;
  bf_shapes shapes; /* packed */
};

/* Zeroed memory for a structure that begins a line of the cache; NULL: there is none. */
void *bf_trace_memory(size_t bytes);

/* Refuses an access that no trace can hold, whatever its site. */
int bf_access_check_writable(const bf_access *access, bf_diagnostic *diagnostic);

/* bf_sites_intern with a diagnostic; *site becomes the kept string. */
int bf_trace_intern(bf_sites *sites, const char *file, const char *bytes, size_t length,
                    const char **site, bf_diagnostic *diagnostic);
/* Adds an access to the totals of a trace; false where the counts become too large. */
bool bf_trace_tally(bf_trace *trace, const bf_access *access);

/* ---- Text (line.c) ---- */

/* A line of a text trace and where it stands. */
typedef struct bf_line {
  const char *file;
  uint64_t number;
  const char *text; /* NUL-terminated */
} bf_line;

/* Parses a line: 1 with *access filled (but for its site, which is *site of *site_length bytes
 * inside the line, NULL if none), 0 for a blank line or comment, or a negative bf_error. */
int bf_line_parse(const bf_line *line, const bf_trace_limits *limits, bf_access *access,
                  const char **site, size_t *site_length, bf_diagnostic *diagnostic);
/* The same for a line of another tool's trace (foreign.c); lines without a shared access give 0. */
int bf_foreign_parse(const bf_line *line, bf_foreign *state, const bf_trace_limits *limits,
                     bf_access *access, const char **site, size_t *site_length,
                     bf_diagnostic *diagnostic);

/* As bf_trace_step, with the access in trace->current: parses lines up to the next access. */
int bf_text_next(bf_trace *trace, bf_diagnostic *diagnostic);

/* ---- Repeats (repeats.c) ---- */

/* A known access. The places of a key are a line of the cache together. */
typedef struct bf_repeat {
  uint64_t key; /* its shape's number in the trace + 1, and the bits of the first address that
                   matter; 0: the place is empty */
  uint32_t executions; /* not yet told */
  uint32_t site;       /* its number in the trace, 0: none */
} bf_repeat;

enum { BF_REPEAT_PLACES = 4 };

/* The table begins small and grows where the places of a new key are taken and a quarter of
 * all, so that traces of few different accesses touch little memory. */
struct bf_repeats {
  void *memory;     /* that place is in */
  bf_repeat *place; /* BF_REPEAT_PLACES << bits of them, in whole lines of the cache */
  uint32_t *slot;   /* of the access in each place: slots are given out one after the other */
  unsigned bits;    /* of a key's hash that tell its places */
  uint32_t slots;   /* given out */
  void (*forget)(void *context, uint32_t slot, uint64_t executions);
  void *context;
  uint32_t matter[BF_OP_COUNT][BF_WIDTHS];
};

/* The key of an access of shape number `shape`; 0: it has none. */
static inline uint64_t bf_repeats_key(const bf_repeats *repeats, bf_op op, unsigned width_bytes,
                                      uint64_t shape, uint32_t first) {
  if (shape >= UINT32_MAX)
    return 0;
  return (shape + 1) << 32 | (first & repeats->matter[op][bf_width_index(width_bytes)]);
}

/* The first place of a key. */
static inline uint32_t bf_repeats_place(const bf_repeats *repeats, uint64_t key, uint32_t site) {
  uint64_t mixed = (key ^ key >> 29) * 0x9E3779B97F4A7C15u ^ site * 0xD6E8FEB86659FD93u;
  return (uint32_t)(mixed >> (64 - repeats->bits)) * BF_REPEAT_PLACES;
}

/* What is known of a key whose first place is that; NULL: nothing. */
static inline bf_repeat *bf_repeats_find(bf_repeats *repeats, uint32_t place, uint64_t key,
                                         uint32_t site) {
  for (uint32_t i = place; i < place + BF_REPEAT_PLACES; i++)
    if (repeats->place[i].key == key && repeats->place[i].site == site)
      return &repeats->place[i];
  return NULL;
}

/* ---- Packed (packed.c; fast: packed_fast.c) ---- */

/* True if the file starts with the packed form's magic number. */
bool bf_packed_recognise(const bf_window *window);
/* Reads magic and version. */
int bf_packed_begin(bf_trace *trace, bf_diagnostic *diagnostic);
/* As bf_trace_step, with the access in trace->current. */
int bf_packed_next(bf_trace *trace, bf_diagnostic *diagnostic);
/* Passes over repeats in the window, at most so many; returns how many. */
uint64_t bf_packed_pass(bf_trace *trace, bf_repeats *repeats, uint64_t most);
/* Passes over accesses in the window that need not be put together to be checked; how many. */
uint64_t bf_packed_skip(bf_trace *trace);
/* Whether the records are those of the version that is written. */
bool bf_packed_is_current(const bf_trace *trace);
/* Append magic and version, a record (and before it that of a new site), and the end record. */
void bf_packed_put_header(bf_text *text);
int bf_packed_put_access(bf_trace_writer *writer, const bf_access *access,
                         bf_diagnostic *diagnostic);
void bf_packed_put_end(bf_trace_writer *writer);

#endif
