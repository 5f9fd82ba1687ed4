/* access: warp accesses, trace files that hold them, weighted sets of them (workloads), and what
 * kind of pattern an access is. Limits that come from a machine (lanes, allocation) are passed in
 * as bf_trace_limits, so that this room knows nothing of memories. */
#ifndef BF_ACCESS_H
#define BF_ACCESS_H

#include "base/base.h"

typedef enum bf_side { BF_SIDE_LOAD, BF_SIDE_STORE, BF_SIDE_ATOMIC, BF_SIDE_COUNT } bf_side;

/* Which counter the wavefronts of op belong to. */
bf_side bf_op_side(bf_op op);
/* Bytes per lane that op always has, or 0. */
unsigned bf_op_fixed_width(bf_op op);

/* What an access must fit into. */
typedef struct bf_trace_limits {
  unsigned lanes;
  uint64_t allocation_bytes;
  uint64_t missing_ops; /* bit op set: the machine has no such operation */
} bf_trace_limits;

/* Counts of a trace or workload add up to at most this, so that wavefronts times counts never
 * overflow 64 bits: an access costs fewer than 2^13 wavefronts. */
#define BF_EXECUTIONS_MAX ((uint64_t)1 << 50)

/* True if a lane can access width_bytes (a power of two) at address. */
static inline bool bf_address_fits(uint64_t address, unsigned width_bytes,
                                   const bf_trace_limits *limits) {
  return (address & (width_bytes - 1)) == 0 && address <= UINT32_MAX &&
         address + width_bytes <= limits->allocation_bytes;
}

/* The parts of bf_access_check, for readers that know where each part was written. */
int bf_access_check_op(bf_op op, const bf_trace_limits *limits, bf_diagnostic *diagnostic);
int bf_access_check_width(bf_op op, unsigned width_bytes, bf_diagnostic *diagnostic);
int bf_access_check_mask(uint64_t mask, const bf_trace_limits *limits, bf_diagnostic *diagnostic);
int bf_access_check_address(uint64_t address, unsigned width_bytes, const bf_trace_limits *limits,
                            bf_diagnostic *diagnostic);
/* Checks op, width, mask, alignment and range of an access; *fault is the lane at fault or -1. */
int bf_access_check(const bf_access *access, const bf_trace_limits *limits, int *fault,
                    bf_diagnostic *diagnostic);

/* ---- Workloads ---- */

/* A workload for accesses of up to 32 lanes, in little more than half of the memory: what
 * bf_workload_get hands out holds nothing behind lane 31, where a whole access may be read but no
 * lane means anything. */
int bf_workload_create_narrow(bf_workload **workload);
/* bf_workload_add, and the index that the access has. */
int bf_workload_place(bf_workload *workload, const bf_access *access, size_t *index);
/* As bf_workload_place, but that the access is not in the workload and *index is not set before
 * bf_workload_settle; it may be called for many accesses, whose places are found together. */
int bf_workload_place_later(bf_workload *workload, const bf_access *access, size_t *index);
int bf_workload_settle(bf_workload *workload);
/* From now on about half of the different accesses of before are kept, by a hash of what they are:
 * the others are taken out, or left out where they come. Numbers that were given out change. */
int bf_workload_thin(bf_workload *workload);
#define BF_WORKLOAD_LEFT_OUT SIZE_MAX /* the index of an access that is not kept */
/* The share of different accesses that are kept: 1, 1/2, 1/4 and so on. */
double bf_workload_kept(const bf_workload *workload);
/* Adds to the count of the access at index; counts must stay below BF_EXECUTIONS_MAX. */
void bf_workload_count(bf_workload *workload, size_t index, uint64_t more);

/* ---- Trace files ---- */

/* Opens a text or packed trace (docs/traces.md), zstd-compressed or not; bf_trace_step of the
 * public header reads it. */
int bf_trace_open(const char *path, const bf_trace_limits *limits, bf_trace **trace,
                  bf_diagnostic *diagnostic);
/* The same for a trace that another tool has written. */
int bf_trace_open_form(const char *path, bf_trace_form form, const bf_trace_limits *limits,
                       bf_trace **trace, bf_diagnostic *diagnostic);
/* The same for size bytes in memory, which are borrowed until the trace is closed; name is for
 * messages. */
int bf_trace_open_memory(const char *name, const void *bytes, size_t size, bf_trace_form form,
                         const bf_trace_limits *limits, bf_trace **trace,
                         bf_diagnostic *diagnostic);
/* 1 with the next access in *access (its site stays valid until the trace is closed), 0 at the end,
 * or a negative bf_error. A trace without any access is an error. */
int bf_trace_next(bf_trace *trace, bf_access *access, bf_diagnostic *diagnostic);
/* Whether a trace, of which no access was read yet, can be copied by its bytes, as packed traces of
 * the version that is written can: by those that are stored, if they are zstd-compressed, or by
 * their content. */
bool bf_trace_can_copy(const bf_trace *trace, bool as_stored);
/* What was read of such a trace, and all that is from then on, goes to writer too. */
int bf_trace_copy_to(bf_trace *trace, bf_writer *writer, bool as_stored, bf_diagnostic *diagnostic);
/* Reads and checks accesses without handing them out: 1 and how many, 0 at the end, or a negative
 * bf_error. */
int bf_trace_pass(bf_trace *trace, uint64_t *accesses, bf_diagnostic *diagnostic);
enum { BF_WIDTHS = 5 }; /* 1, 2, 4, 8 and 16 bytes */
/* The number of a width among them. */
static inline unsigned bf_width_index(unsigned width_bytes) {
  return (unsigned)__builtin_ctz(width_bytes);
}

/* Accesses of a packed trace that repeat known ones: same shape (shape.h), site, and the bits of
 * the first address that matter to the caller. They are counted by the reader alone, without their
 * addresses being put together. What the caller knows of an access it keeps by the number of its
 * slot. */
enum { BF_REPEATS = 1 << 20, BF_REPEATS_NONE = BF_REPEATS };
typedef struct bf_repeats bf_repeats;
/* forget is called with the executions of a slot beyond those of the access that was given out,
 * before the slot gets another access and by bf_repeats_flush. */
int bf_repeats_create(void (*forget)(void *context, uint32_t slot, uint64_t executions),
                      void *context, bf_repeats **repeats, bf_diagnostic *diagnostic);
/* The bits of the first address that matter for accesses of that operation and width; all of them
 * where this is not called. */
void bf_repeats_matter(bf_repeats *repeats, bf_op op, unsigned width_bytes, uint32_t bits);
void bf_repeats_flush(bf_repeats *repeats);
/* Nothing is known from now on; what was not told is dropped. */
void bf_repeats_clear(bf_repeats *repeats);
void bf_repeats_free(bf_repeats *repeats);
/* As bf_trace_step for accesses that are not repeats; those in between are counted. *slot is where
 * the access's repeats are counted from now on, BF_REPEATS_NONE: nowhere. 2 in place of an access:
 * many repeats were counted and the trace goes on. */
int bf_trace_step_past(bf_trace *trace, bf_repeats *repeats, const bf_access **access,
                       uint32_t *slot, bf_diagnostic *diagnostic);
/* Whether all accesses must be read in order, by one thread: those of packed traces and of other
 * tools. */
bool bf_trace_is_in_order(const bf_trace *trace);
/* A part of a trace that a thread can read by itself. Several parts may be read at once, while the
 * next one is cut; a part and its accesses stay valid until the same part is cut again. */
typedef struct bf_trace_part bf_trace_part;
bf_trace_part *bf_trace_part_create(void); /* NULL: out of memory */
/* What the thread that cuts keeps for itself: repeats, and the accesses that get a slot, which
 * learn is called with. */
typedef struct bf_trace_known {
  bf_repeats *repeats;
  int (*learn)(void *context, uint32_t slot, const bf_access *access, bf_diagnostic *diagnostic);
  void *context;
} bf_trace_known;
/* Moves what follows in trace into part, but for what is known (NULL: nothing is): 1, 0 at the end,
 * or a negative bf_error. A trace is either cut or stepped through. */
int bf_trace_cut(bf_trace *trace, bf_trace_part *part, const bf_trace_known *known,
                 bf_diagnostic *diagnostic);
/* As bf_trace_step; sites stay valid until the part is cut again. */
int bf_trace_part_step(bf_trace_part *part, const bf_access **access, bf_diagnostic *diagnostic);
void bf_trace_part_free(bf_trace_part *part);
/* The sum of the counts of what was read of a part of lines; 0 for other parts. */
uint64_t bf_trace_part_executions(const bf_trace_part *part);
/* The next line of a text trace as it stands, in place of an access: 1 with *text NUL-terminated
 * and valid until the next call, 0 at the end, or a negative bf_error. */
int bf_trace_line(bf_trace *trace, char **text, uint64_t *number, bf_diagnostic *diagnostic);
/* Bytes of the trace's file that were read, and its size; 0 where it is not known. */
void bf_trace_place(const bf_trace *trace, uint64_t *bytes, uint64_t *size);
/* Lines read so far that hold no access. */
uint64_t bf_trace_passed_over(const bf_trace *trace);

/* How hard a packed trace is compressed, as zstd counts it: 1 (fast) to 19; before the first
 * access.
 */
int bf_trace_writer_set_level(bf_trace_writer *writer, int level, bf_diagnostic *diagnostic);

/* Writes all accesses of a workload to a file, as text. */
int bf_workload_write(const bf_workload *workload, const char *path, bf_diagnostic *diagnostic);

/* Parses one line of the text form; used by the trace reader and by commands that take an access
 * on the command line. 1: an access; 0: blank or comment; negative: error. The site, if any, is
 * copied into arena. */
int bf_trace_parse_line(const char *file, uint64_t line_number, const char *line,
                        const bf_trace_limits *limits, bf_arena *arena, bf_access *access,
                        bf_diagnostic *diagnostic);
/* The line of an access, with its newline. */
void bf_trace_print_line(const bf_access *access, bf_text *text);

/* ---- Pattern classes ---- */

typedef enum bf_pattern_class {
  BF_PATTERN_BROADCAST, /* all lanes the same address */
  BF_PATTERN_LINEAR,    /* consecutive elements */
  BF_PATTERN_STRIDE,    /* elements a constant distance apart */
  BF_PATTERN_BLOCK,     /* two strides: one along tx, one along ty */
  BF_PATTERN_RANDOM,    /* none of these */
} bf_pattern_class;

/* element(lane) = stride_x * tx + stride_y * ty + offset, tx = lane % width_x, ty = lane / width_x,
 * counted in elements of the access's width, for all active lanes. As in s = M (ty, tx) + o on an
 * array with rows of `columns` elements: m[0] = {M00, M01}, m[1] = {M10, M11}, origin = {o0, o1},
 * so that stride_x = M01 * columns + M11, stride_y = M00 * columns + M10 and offset = o0 * columns
 * + o1, with M11, M10 and o1 in 0..columns-1. With columns = 1 (unknown) M is
 * {{stride_y, 0}, {0, stride_x}} and the origin {0, offset}. All are 0 when random. */
typedef struct bf_pattern {
  bf_pattern_class class_;
  unsigned width_x;  /* lanes along tx: all of them unless block or reshaped */
  unsigned height_y; /* lanes along ty: 1 unless block or reshaped */
  int64_t stride_x, stride_y;
  int64_t offset;
  int64_t columns;
  int64_t m[2][2];
  int64_t origin[2];
} bf_pattern;

const char *bf_pattern_class_name(bf_pattern_class class_);
/* Classifies access on a machine with that many lanes. Lanes outside the mask fit any pattern; of
 * several blocks that fit, the one with the least |stride_x| + |stride_y| is given. columns is the
 * length of a row of the array in elements, 1 if unknown; a linear access of more lanes than
 * columns is given as rows of width_x = columns lanes where that divides the lanes. */
bf_pattern bf_access_classify(const bf_access *access, unsigned lanes, int64_t columns);
/* Describes the same accesses with rows of width_x lanes, as a thread block of that width has them.
 * False where there is no such description: random ones, and blocks of another width. */
bool bf_pattern_reshape(bf_pattern *pattern, unsigned width_x);
/* Sets m and origin from strides, offset and columns. */
void bf_pattern_set_matrix(bf_pattern *pattern);
/* A sentence for people, without a full stop. */
void bf_pattern_explain(const bf_pattern *pattern, const bf_access *access, bf_text *text);

#endif
