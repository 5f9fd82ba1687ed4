/* Bankfold: find, explain and remove bank conflicts in GPU scratchpad memory.
 *
 * This is the one public header. It needs only libc and compiles as C11 and as C++17. docs/api.md
 * shows whole programs.
 *
 * Words used throughout: a word is the unit that banks hold (4 bytes on most GPUs); an access is
 * what one warp does in one instruction; wavefronts are the serial passes the memory needs for an
 * access; ideal is the fewest that any placement of data could need; conflicts = wavefronts -
 * ideal.
 *
 * Rules for all functions; what differs is said with the function:
 *
 * Errors. Functions that can fail return 0 (BF_OK) or a negative bf_error and, where a
 * bf_diagnostic is given, say there what is wrong and where. After an error, what was to be handed
 * out is NULL or zero.
 *
 * Ownership. Types that are only named here are opaque; create, use and free them with the
 * functions below. Inputs are borrowed for the call, unless it is said that what is made keeps
 * them. What a function hands out through a pointer to a pointer belongs to the caller, who frees
 * it with the matching _free (text and bytes: bf_free). What a function returns as a pointer to
 * const belongs to the object asked and lives as long.
 *
 * NULL. bf_diagnostic may always be NULL, and so may options, which are defaults then. A bf_hash
 * given beside a machine may be NULL: no hash. Every _free and _clear takes NULL. Other pointers
 * are needed, unless it is said that they may be NULL.
 *
 * Threads. The library keeps no state. Any functions may run at once in any threads, as long as
 * none of them changes an object that another uses: parameters that point to const are only read.
 * Functions that start threads themselves let options say how many, and are done with them when
 * they return. Callbacks come from the calling thread, unless it is said otherwise.
 *
 * Growth. Structs of options begin with struct_bytes, which their _default_ function sets to the
 * size that the program was compiled with; all other fields become 0, and 0 is always the default.
 * Fields are only ever added at the end, and what a program does not know of is 0: programs work
 * with newer libraries, and with older ones as long as fields that those do not have are 0. Structs
 * that a function returns a pointer to may grow at the end too: read them where they are. All
 * other structs keep their layout as long as the library's soname stays the same. */
#ifndef BANKFOLD_H
#define BANKFOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(BF_API) /* whoever builds these functions into a library of their own hides them */
#elif defined(__GNUC__)
#define BF_API __attribute__((visibility("default")))
#else
#define BF_API
#endif

/* ---- Versions ---- */

/* The version is written here and nowhere else. */
#define BF_VERSION_MAJOR 0
#define BF_VERSION_MINOR 1
#define BF_VERSION_PATCH 0
/* 10000 for each major version, 100 for each minor one: versions compare as numbers do. */
#define BF_VERSION_NUMBER (BF_VERSION_MAJOR * 10000 + BF_VERSION_MINOR * 100 + BF_VERSION_PATCH)
#define BF_VERSION_QUOTE(major, minor, patch) #major "." #minor "." #patch
#define BF_VERSION_TEXT(major, minor, patch) BF_VERSION_QUOTE(major, minor, patch)
#define BF_VERSION BF_VERSION_TEXT(BF_VERSION_MAJOR, BF_VERSION_MINOR, BF_VERSION_PATCH)

/* BF_VERSION and BF_VERSION_NUMBER of the library that the program runs with. */
BF_API const char *bf_version(void);
BF_API int bf_version_number(void);

/* ---- Errors ---- */

typedef enum bf_error {
  BF_OK = 0,
  BF_BAD_INPUT = -1,   /* what the caller gave is wrong; the diagnostic says where */
  BF_NO_MEMORY = -2,   /* an allocation failed */
  BF_IO = -3,          /* a file could not be read or written */
  BF_UNSUPPORTED = -4, /* valid, but outside what this function handles */
  BF_FAULT = -5,       /* a kernel that was run did something wrong; the diagnostic says where */
  BF_STOPPED = -6,     /* a callback said so */
} bf_error;

/* A word or two for an error: "bad input". Never NULL. */
BF_API const char *bf_error_name(int error);

/* Where and what went wrong. line and column start at 1; 0 means not applicable. excerpt holds the
 * part of the input around the fault and caret the offset of the fault in it (-1: no excerpt). */
typedef struct bf_diagnostic {
  char file[256];
  uint64_t line;
  uint32_t column;
  int32_t caret;
  char message[512];
  char excerpt[128];
} bf_diagnostic;

/* ---- Remarks ---- */

typedef enum bf_log_level {
  BF_LOG_REMARK,  /* worth knowing */
  BF_LOG_WARNING, /* the result is less than it seems */
} bf_log_level;

/* Who is told what a result does not show. message is a sentence without a full stop, valid during
 * the call. say NULL: nobody. */
typedef struct bf_logger {
  void (*say)(void *context, bf_log_level level, const char *message);
  void *context;
} bf_logger;

/* ---- Memory ---- */

/* Frees text and bytes that a function handed out. */
BF_API void bf_free(void *memory);

/* ---- Options ---- */

/* function(type *options) gives struct_bytes the size that is known here, and 0 to all else. It is
 * part of the program, not of the library, whose struct may be longer. Programs in other languages
 * do the same. */
#define BF_DEFAULT_FUNCTION(function, type)                                                        \
  static inline void function(type *options) {                                                     \
    memset(options, 0, sizeof *options);                                                           \
    options->struct_bytes = sizeof *options;                                                       \
  }

/* ---- Machines: banked memories read from data files ---- */

typedef struct bf_machine bf_machine;

/* Number of banks (2^bank_bits), words in the allocation (2^address_bits) and bytes in a word. */
typedef struct bf_geometry {
  unsigned bank_bits;
  unsigned address_bits;
  unsigned word_bytes;
} bf_geometry;

/* Values that replace a machine's own; 0 leaves the machine's. */
typedef struct bf_overrides {
  size_t struct_bytes;
  unsigned banks;
  unsigned word_bytes;
  unsigned lanes;
  unsigned address_bits;
} bf_overrides;

BF_DEFAULT_FUNCTION(bf_machine_default_overrides, bf_overrides)

/* Loads a built-in machine by name ("hopper"), or a machine file by path (a name with '/' or '.').
 */
BF_API int bf_machine_load(const char *name, const bf_overrides *overrides, bf_machine **machine,
                           bf_diagnostic *diagnostic);
/* The same for the text of a machine file; name is for messages. */
BF_API int bf_machine_parse(const char *name, const char *text, bf_machine **machine,
                            bf_diagnostic *diagnostic);
BF_API void bf_machine_free(bf_machine *machine);
BF_API const char *bf_machine_name(const bf_machine *machine);
BF_API const char *bf_machine_title(const bf_machine *machine);
BF_API bf_geometry bf_machine_geometry(const bf_machine *machine);
BF_API unsigned bf_machine_lanes(const bf_machine *machine);
BF_API uint64_t bf_machine_capacity_bytes(const bf_machine *machine);
/* Name of built-in machine number index, or NULL past the last. */
BF_API const char *bf_machine_builtin(unsigned index);

/* ---- Hash functions: from a word address to a bank ---- */

typedef struct bf_hash bf_hash;

/* Text forms: none | pad:ROW+P | perm:K | xor:K1,K2,MASK | bits:0,4,1^5,... | fixed | add | mod:N |
 * cute:B,M,S[/ELEMENT_BYTES] | tma:32|64|128 | rows:HEX,... (docs/hash.md). */
BF_API int bf_hash_parse(const char *text, const bf_geometry *geometry, bf_hash **hash,
                         bf_diagnostic *diagnostic);
/* The XOR hash whose bank bit i is the parity of (word address & row[i]); row has bank_bits
 * entries. */
BF_API int bf_hash_from_rows(const uint64_t *row, const bf_geometry *geometry, bf_hash **hash,
                             bf_diagnostic *diagnostic);
BF_API void bf_hash_free(bf_hash *hash);
/* Canonical text. */
BF_API const char *bf_hash_text(const bf_hash *hash);
/* The ONE function from word address to bank. */
BF_API uint32_t bf_hash_bank(const bf_hash *hash, uint64_t word);
/* Where the word is put: a word address whose low bank_bits are bf_hash_bank(word). For XOR hashes
 * and `add` a bijection on the allocation; for pad and mod injective into a larger one. */
BF_API uint64_t bf_hash_place(const bf_hash *hash, uint64_t word);
/* Inverse of bf_hash_place; BF_BAD_INPUT where no word is put at that place. */
BF_API int bf_hash_unplace(const bf_hash *hash, uint64_t place, uint64_t *word);

/* What a hash costs: 2-input XOR gates' inputs counted as terms beyond the first per bank bit,
 * integer instructions per address in software, gate delays (levels of 2-input gates), and 2-input
 * gates of any kind. */
typedef struct bf_hash_cost {
  unsigned xor_inputs;
  unsigned instructions;
  unsigned gate_depth;
  unsigned gates;
} bf_hash_cost;
BF_API bf_hash_cost bf_hash_get_cost(const bf_hash *hash);

/* ---- Accesses ---- */

#define BF_MAX_LANES 64

/* Every operation on scratchpad memory: enum, text name, what its wavefronts count as, fixed width
 * in bytes (0: any), meaning. */
#define BF_OPS(X)                                                                                  \
  X(LD, "ld", LOAD, 0, "load")                                                                     \
  X(ST, "st", STORE, 0, "store")                                                                   \
  X(ATOM, "atom", ATOMIC, 4, "integer atomic add, result used")                                    \
  X(RED, "red", ATOMIC, 4, "integer reduction of a constant, result unused")                       \
  X(FATOM, "fatom", ATOMIC, 4, "float atomic add")                                                 \
  X(CAS, "cas", ATOMIC, 4, "compare and swap")                                                     \
  X(MAX, "max", ATOMIC, 4, "integer atomic maximum")                                               \
  X(EXCH, "exch", ATOMIC, 4, "atomic exchange")                                                    \
  X(INC, "inc", ATOMIC, 4, "atomic increment with wrap")                                           \
  X(ADD64, "add64", ATOMIC, 8, "64-bit integer atomic add")                                        \
  X(REDV, "redv", ATOMIC, 4, "integer reduction of a value that differs per lane")                 \
  X(REDMAX, "redmax", ATOMIC, 4, "integer maximum, result unused")                                 \
  X(F16X2, "f16x2", ATOMIC, 4, "atomic add of two halves")                                         \
  X(F64, "f64", ATOMIC, 8, "double atomic add")                                                    \
  X(REDF, "redf", ATOMIC, 4, "float reduction, result unused")                                     \
  X(LDMATRIX1, "ldmatrix1", LOAD, 16, "ldmatrix of one 8x8 matrix; lanes 0-7 give rows")           \
  X(LDMATRIX2, "ldmatrix2", LOAD, 16, "ldmatrix of two 8x8 matrices; lanes 0-15 give rows")        \
  X(LDMATRIX4, "ldmatrix4", LOAD, 16, "ldmatrix of four 8x8 matrices")                             \
  X(LDMATRIXT4, "ldmatrixt4", LOAD, 16, "ldmatrix of four 8x8 matrices, transposed")               \
  X(STMATRIX4, "stmatrix4", STORE, 16, "stmatrix of four 8x8 matrices")                            \
  X(CP4, "cp4", STORE, 4, "cp.async of 4 bytes per lane")                                          \
  X(CP8, "cp8", STORE, 8, "cp.async of 8 bytes per lane")                                          \
  X(CP16, "cp16", STORE, 16, "cp.async of 16 bytes per lane")                                      \
  X(EXCH64, "exch64", ATOMIC, 8, "64-bit atomic exchange")                                         \
  X(CAS64, "cas64", ATOMIC, 8, "64-bit compare and swap")

typedef enum bf_op {
#define X(symbol, name, side, width, meaning) BF_OP_##symbol,
  BF_OPS(X)
#undef X
      BF_OP_COUNT
} bf_op;

/* One warp access. address[lane] is a byte address; lanes outside mask are ignored. site may be
 * NULL; it is borrowed. line is the line of the trace it came from, 0 if none. */
typedef struct bf_access {
  bf_op op;
  unsigned width_bytes;
  uint64_t mask;
  uint64_t count;
  uint64_t line;
  const char *site;
  uint32_t address[BF_MAX_LANES];
} bf_access;

/* Name of op ("unknown": no such op), and the op of a name (-1: no such op). */
BF_API const char *bf_op_name(bf_op op);
BF_API int bf_op_find(const char *name);

/* A weighted set of accesses: identical accesses are merged and their counts added. */
typedef struct bf_workload bf_workload;
BF_API int bf_workload_create(bf_workload **workload);
BF_API void bf_workload_free(bf_workload *workload);
/* Adds an access; it and its site are copied. BF_BAD_INPUT where no machine could make it, or
 * counts add up to more than 2^50. */
BF_API int bf_workload_add(bf_workload *workload, const bf_access *access);
/* Reads a trace file (text or packed, zstd or not; "-" is standard input) that must fit machine. */
BF_API int bf_workload_read(const char *path, const bf_machine *machine, bf_workload **workload,
                            bf_diagnostic *diagnostic);

/* Who wrote a trace file. */
typedef enum bf_trace_form {
  BF_TRACE_OWN,      /* Bankfold: text or packed (docs/traces.md) */
  BF_TRACE_NVBIT,    /* NVBit's mem_trace: its text output */
  BF_TRACE_ACCELSIM, /* Accel-Sim's tracer: a kernel trace, post-processed or not */
} bf_trace_form;
/* The same for a trace in another form. */
BF_API int bf_workload_read_form(const char *path, bf_trace_form form, const bf_machine *machine,
                                 bf_workload **workload, bf_diagnostic *diagnostic);

typedef struct bf_trace_options {
  size_t struct_bytes;
  const char *name;   /* of the trace, for messages; NULL: "trace" */
  bf_trace_form form; /* who wrote it */
  bf_logger logger;   /* is told what other tools' traces leave open */
} bf_trace_options;

BF_DEFAULT_FUNCTION(bf_trace_default_options, bf_trace_options)

/* Reads a trace from memory: what bf_workload_read finds in a file. */
BF_API int bf_workload_parse(const void *data, size_t size, const bf_machine *machine,
                             const bf_trace_options *options, bf_workload **workload,
                             bf_diagnostic *diagnostic);
/* A trace that is read access by access, in bounded memory however long it is. */
typedef struct bf_trace bf_trace;
/* Opens a file ("-": standard input) in the text or the packed form or of another tool, compressed
 * with zstd or not; options->name is not used. Accesses must fit the machine. */
BF_API int bf_trace_read(const char *path, const bf_machine *machine,
                         const bf_trace_options *options, bf_trace **trace,
                         bf_diagnostic *diagnostic);
/* 1 with the next access, which is the trace's own until the next call; 0 at the end; or a negative
 * bf_error. */
BF_API int bf_trace_step(bf_trace *trace, const bf_access **access, bf_diagnostic *diagnostic);
BF_API void bf_trace_close(bf_trace *trace);

/* A trace that is written ("-": to standard output), packed or as text. The file is there once it
 * is committed; closing without that leaves nothing behind. */
typedef struct bf_trace_writer bf_trace_writer;
BF_API int bf_trace_writer_open(const char *path, bool packed, bf_trace_writer **writer,
                                bf_diagnostic *diagnostic);
BF_API int bf_trace_writer_add(bf_trace_writer *writer, const bf_access *access,
                               bf_diagnostic *diagnostic);
BF_API int bf_trace_writer_commit(bf_trace_writer *writer, bf_diagnostic *diagnostic);
BF_API void bf_trace_writer_close(bf_trace_writer *writer);

/* Distinct accesses, in the order of their first occurrence; NULL past the last. */
BF_API size_t bf_workload_size(const bf_workload *workload);
BF_API const bf_access *bf_workload_get(const bf_workload *workload, size_t index);

/* ---- Counting ---- */

/* What one execution of an access costs. latency_cycles is 0 where the machine gives no estimate;
 * estimated says that the machine's rule for this op is an estimate, not a measured or published
 * rule. */
typedef struct bf_count {
  uint32_t wavefronts_load;
  uint32_t wavefronts_store;
  uint32_t wavefronts_atomic;
  uint32_t lock_iterations;
  uint32_t ideal;
  uint32_t conflicts;
  uint32_t latency_cycles;
  bool estimated;
} bf_count;

/* Loads, stores and atomics together. */
static inline uint64_t bf_count_wavefronts(const bf_count *count) {
  return (uint64_t)count->wavefronts_load + count->wavefronts_store + count->wavefronts_atomic;
}

/* The ONE function that counts wavefronts. hash may be NULL: none. */
BF_API int bf_memory_count(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                           bf_count *count, bf_diagnostic *diagnostic);

/* A counter gives what bf_memory_count gives, several times as fast where there are many accesses.
 * Every call changes it: a counter is for one thread at a time. It keeps machine and hash (NULL:
 * none), which must live longer. */
typedef struct bf_counter bf_counter;
BF_API int bf_counter_create(const bf_machine *machine, const bf_hash *hash, bf_counter **counter,
                             bf_diagnostic *diagnostic);
BF_API void bf_counter_free(bf_counter *counter);
BF_API int bf_counter_count(bf_counter *counter, const bf_access *access, bf_count *count,
                            bf_diagnostic *diagnostic);

/* What a workload costs: the accesses' costs times their counts. */
typedef struct bf_workload_totals {
  uint64_t accesses;
  uint64_t wavefronts_load;
  uint64_t wavefronts_store;
  uint64_t wavefronts_atomic;
  uint64_t wavefronts; /* the three together */
  uint64_t ideal;
  uint64_t conflicts;
  bool estimated; /* some of it */
} bf_workload_totals;

/* Counts a whole workload. hash may be NULL: none. An access that does not fit the machine is
 * BF_BAD_INPUT, with its line of the trace. */
BF_API int bf_memory_count_workload(const bf_machine *machine, const bf_hash *hash,
                                    const bf_workload *workload, bf_workload_totals *totals,
                                    bf_diagnostic *diagnostic);

/* ---- Patterns and pictures of accesses ---- */

typedef struct bf_classify_options {
  size_t struct_bytes;
  uint64_t columns; /* elements in a row of the array that is accessed; 0: unknown */
  unsigned block_x; /* threads in a row of the thread block, if fewer than the lanes; 0: unknown */
} bf_classify_options;

BF_DEFAULT_FUNCTION(bf_classify_default_options, bf_classify_options)

/* The pattern that an access follows: lane i accesses element stride_x * tx + stride_y * ty +
 * offset, tx = i % width_x, ty = i / width_x, counted in elements of the access's width. As a map
 * on an array with rows of `columns` elements: (row, column) = matrix * (ty, tx) + origin. All
 * numbers are 0 where it is random. */
typedef struct bf_classification {
  const char *pattern; /* "broadcast", "linear", "stride", "block" or "random"; a constant */
  unsigned width_x, height_y;
  int64_t stride_x, stride_y;
  int64_t offset;
  int64_t columns; /* 1: unknown */
  int64_t matrix[2][2];
  int64_t origin[2];
  char explanation[512]; /* a sentence without a full stop */
} bf_classification;

/* Says which pattern an access follows. */
BF_API int bf_access_get_class(const bf_machine *machine, const bf_access *access,
                               const bf_classify_options *options,
                               bf_classification *classification, bf_diagnostic *diagnostic);

typedef enum bf_drawing_form {
  BF_DRAWING_TEXT, /* for terminals and pages of fixed width */
  BF_DRAWING_SVG,  /* a whole document that refers to nothing outside */
  BF_DRAWING_JSON, /* docs/json.md, draw */
} bf_drawing_form;

typedef struct bf_drawing_options {
  size_t struct_bytes;
  bf_drawing_form form;
  bool color;             /* text: colours of terminals */
  unsigned width_columns; /* text: characters in a line; 0 = 120 */
  unsigned most_rows;     /* pictures with more wavefronts are folded; 0 = 32 */
  bool all_rows;          /* they are not */
} bf_drawing_options;

BF_DEFAULT_FUNCTION(bf_drawing_default_options, bf_drawing_options)

/* Draws which bank serves which lane of an access in which wavefront: without a hash and, where
 * there is one, beside that with it. *text is freed with bf_free. */
BF_API int bf_access_draw(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                          const bf_drawing_options *options, char **text,
                          bf_diagnostic *diagnostic);

/* ---- Search ---- */

typedef enum bf_method {
  BF_METHOD_EXACT,            /* minimum over a whole class, with proof */
  BF_METHOD_BIT_VECTOR,       /* perm:K and xor:K1,K2,MASK, exhaustively */
  BF_METHOD_GIVARGIS,         /* Givargis heuristic over bits or bit pairs */
  BF_METHOD_MIN_IMBALANCE,    /* Minimum Imbalance heuristic over bits or bit pairs */
  BF_METHOD_PADDING,          /* pad:ROW+P */
  BF_METHOD_GIVARGIS_LITERAL, /* Givargis as published: bits may depend on each other, and then the
                                 hash can only be counted under */
  BF_METHOD_MODULO,           /* mod:N: numbers of banks that are no power of two */
} bf_method;

typedef enum bf_class {
  BF_CLASS_GENERAL,  /* every XOR hash */
  BF_CLASS_ROW,      /* a ^ L(a >> bank bits) on the bank bits: stays inside its row */
  BF_CLASS_CUTE,     /* Swizzle<B,M,S> */
  BF_CLASS_ONE_TERM, /* a ^ ((a >> s) & m) */
  BF_CLASS_TWO_TERM, /* a ^ ((a >> s) & m) ^ ((a >> t) & k) */
  BF_CLASS_TMA,      /* what tensor copies can do: none, tma:32, tma:64, tma:128 */
} bf_class;

/* Called now and then by long searches from the calling thread; lower and upper bound the answer.
 * Return false to stop: the best found so far is returned with its bounds. */
typedef bool (*bf_progress)(void *context, double seconds, uint64_t lower, uint64_t upper);

/* Accesses on a machine that the same hash is to serve. */
typedef struct bf_solve_case {
  const bf_machine *machine;
  const bf_workload *workload;
} bf_solve_case;

typedef struct bf_solve_options {
  size_t struct_bytes;
  bf_method method;
  bf_class class_;           /* exact only */
  bool keeps_rows;           /* cute, one and two terms: only hashes that stay in their rows */
  bool pairs;                /* givargis, min-imbalance: choose among bit pairs too */
  bool all_candidates;       /* bit-vector: do not use the paper's candidate reduction */
  unsigned granule_bytes;    /* bytes that stay together: 4, 8 or 16; 0 = one word */
  double time_limit_seconds; /* 0 = none */
  unsigned threads;          /* 0 = one per core; the exact search has at least two */
  bf_progress progress;      /* may be NULL */
  void *progress_context;
  bf_logger logger;              /* is told of searches that end before their proof */
  const bf_solve_case *also;     /* further cases: conflicts of all are summed. Their machines have
                                    the banks, words and address bits of the first */
  size_t also_count;             /* of them */
  bool has_most_gates;           /* exact, class general: */
  unsigned most_gates;           /* only hashes of at most so many 2-input XORs */
  bool front;                    /* ladder: the best step for every cost instead */
  double instruction_wavefronts; /* ladder: what an instruction for each access costs when a step is
                                    recommended; 0: 0.25, negative: nothing */
  const char *shared_file; /* exact, classes general and row: processes that are given the same
                              file and the same accesses share the search; one that begins
                              later goes on where others ended. NULL: none */
} bf_solve_options;

BF_DEFAULT_FUNCTION(bf_solve_default_options, bf_solve_options)

typedef struct bf_solution {
  bf_hash *hash;              /* owned by the solution */
  uint64_t conflicts_before;  /* with no hash */
  uint64_t conflicts_after;   /* with hash, by bf_memory_count */
  uint64_t lower_bound;       /* no hash of the class leaves fewer */
  bool proven;                /* lower_bound == conflicts_after within the class searched */
  uint64_t bytes_wasted;      /* padding only */
  uint64_t candidates_tested; /* bit-vector only */
  uint64_t candidates_total;  /* bit-vector only */
  unsigned chosen_count;      /* heuristics: functionals in the order chosen, as masks */
  uint64_t chosen[16];
  bf_hash_cost cost;
  double seconds;
} bf_solution;

/* Looks for the hash that leaves the fewest conflicts. The exact search without a time limit may
 * take very long: it ends when its bounds meet. */
BF_API int bf_solve(const bf_machine *machine, const bf_workload *workload,
                    const bf_solve_options *options, bf_solution *solution,
                    bf_diagnostic *diagnostic);
BF_API void bf_solution_clear(bf_solution *solution);

/* A hash for data that are moved as well. */
typedef struct bf_joint {
  bf_solution solution; /* the hash for data that were moved; conflicts_before is of those that were
                           not. Its bound holds for all paddings and bases that were tried;
                           bytes_wasted has padding and base */
  uint64_t row_words, pad_words; /* unused words after every row; 0: no padding */
  uint64_t base_bytes;           /* by how much the data begin later */
  unsigned tried, all;           /* paddings and bases */
} bf_joint;

/* Looks for a hash, padding and the base address together: no padding and the eight that leave
 * fewest conflicts by themselves, at bases of 0 and 1, 2, 4, ... granules below a row of banks,
 * with an exact search for each, or every number of banks with BF_METHOD_MODULO. Few conflicts come
 * first, then few unused bytes. Further cases are on the same machine; a granule of 0 is that of
 * the widest access. */
BF_API int bf_solve_joint(const bf_machine *machine, const bf_workload *workload,
                          const bf_solve_options *options, bf_joint *joint,
                          bf_diagnostic *diagnostic);
BF_API void bf_joint_clear(bf_joint *joint);

/* The hash of one array, of the offset from where it begins. */
typedef struct bf_array_solution {
  uint64_t begin_bytes, accesses;
  bf_solution solution;
} bf_array_solution;

/* Looks for a hash for each array by an exact search; the time limit is that of all.
 * begin_bytes[0..count) is where arrays begin, ascending; what lies before the first is an array
 * too. No access may touch two arrays, so that the best of each is the best of all together, and
 * conflicts and bounds add up. Further cases are on the same machine. */
typedef struct bf_arrays bf_arrays;
BF_API int bf_solve_arrays(const bf_machine *machine, const bf_workload *workload,
                           const uint64_t *begin_bytes, size_t count,
                           const bf_solve_options *options, bf_arrays **arrays,
                           bf_diagnostic *diagnostic);
BF_API void bf_arrays_free(bf_arrays *arrays);
/* Arrays that are accessed, by number; NULL past the last. */
BF_API const bf_array_solution *bf_arrays_get(const bf_arrays *arrays, size_t index);

/* A step of the ladder of fixes. */
typedef struct bf_ladder_step {
  const char *name; /* nothing, padding, cute, bit-vector, bitwise or exact */
  char hash[2048];
  uint64_t conflicts, bytes_wasted;
  unsigned instructions;
  unsigned gates, gate_delays; /* of a unit in hardware: 2-input gates, and levels of them */
  bool proven; /* no hash at all (exact) or of the step's class (others) leaves fewer */
} bf_ladder_step;

/* From doing nothing to the provably best hash: steps, each with what it costs, and which of them
 * is worth most. Of the options, granule, time limit, threads, progress and logger are used;
 * without a granule, the widest access stays whole. */
typedef struct bf_ladder bf_ladder;
BF_API int bf_ladder_create(const bf_machine *machine, const bf_workload *workload,
                            const bf_solve_options *options, bf_ladder **ladder,
                            bf_diagnostic *diagnostic);
BF_API void bf_ladder_free(bf_ladder *ladder);
/* Step 0 does nothing; NULL past the last. */
BF_API const bf_ladder_step *bf_ladder_get(const bf_ladder *ladder, size_t index);
/* The number of the recommended step, and a sentence that says why. */
BF_API size_t bf_ladder_recommended(const bf_ladder *ladder);
BF_API const char *bf_ladder_reason(const bf_ladder *ladder);

/* ---- Code for a hash ---- */

typedef struct bf_emit_options {
  size_t struct_bytes;
  const char *name;       /* starts every name in the text; NULL: "bankfold" */
  bool testbench;         /* verilog: add a module that tests the module */
  uint64_t element_bytes; /* triton: bytes of one element of the tile, 0: one word */
  uint64_t columns;       /* triton: elements in one row of the tile, 0: as the hash needs it */
} bf_emit_options;

BF_DEFAULT_FUNCTION(bf_emit_default_options, bf_emit_options)

/* Writes a hash in a form that other programs use: "cuda", "c", "cute", "triton" or "verilog"
 * (docs/emit.md). *text is freed with bf_free. BF_UNSUPPORTED where the form cannot express the
 * hash. */
BF_API int bf_hash_emit(const bf_hash *hash, const char *form, const bf_emit_options *options,
                        char **text, bf_diagnostic *diagnostic);
/* Name of form number index, or NULL past the last. */
BF_API const char *bf_emit_form(unsigned index);

/* ---- Layouts: where the elements of a tile lie in shared memory ---- */

/* A tile and who writes and reads it (docs/layout.md has the words). */
typedef struct bf_layout_options {
  size_t struct_bytes;
  const char *tile;         /* "64x128": rows of columns */
  const char *type;         /* of an element: "f16"; NULL: f16 */
  const char *const *write; /* "tma", "cp.async", "st:16@8x4", "stmatrix", each with "*WEIGHT" */
  unsigned writes;
  const char *const *read; /* "wgmma:A", "wgmma:B.mn", "ldmatrix.trans", "ld:4@(l/4, l%4*2)" */
  unsigned reads;
  const char *layout; /* this one alone, as bf_layout_choice names it; NULL: all */
} bf_layout_options;

BF_DEFAULT_FUNCTION(bf_layout_default_options, bf_layout_options)

/* A layout: rows are cut into panels of panel_bytes, panel_stride_bytes apart, in which rows are
 * pitch_bytes apart; then Swizzle<bits, base, shift> exchanges bits of the byte offset. The tile
 * must begin at a multiple of alignment_bytes. Wavefronts are those of all accesses times their
 * weights, each over the whole tile once. */
typedef struct bf_layout_choice {
  const char *name;     /* "none", "none:16", "none:16+BYTES", "32", "64", "128", "cute:B,M,S",
                           "pad:BYTES" */
  const char *tma_mode; /* of CUtensorMapSwizzle; NULL: tensor copies cannot write so */
  uint64_t wavefronts, ideal, conflicts;
  uint64_t bytes; /* of the tile */
  uint64_t panel_stride_bytes;
  unsigned alignment_bytes, panel_bytes, pitch_bytes;
  unsigned swizzle_bits, swizzle_base;
  int swizzle_shift;
  bool estimated; /* some of it */
} bf_layout_choice;

/* One access under a layout, once over the tile and without its weight; for wgmma the matrix
 * descriptor too, without the start address. */
typedef struct bf_layout_access {
  const char *text;
  bool is_write, estimated, has_descriptor;
  unsigned leading_bytes, stride_bytes, layout_type;
  uint64_t descriptor;
  uint64_t weight, wavefronts, ideal;
} bf_layout_access;

/* All layouts that the hardware allows for all of the accesses, best first: fewest wavefronts, then
 * fewest bytes, then the simplest. machine NULL: hopper, which must live longer otherwise.
 * BF_BAD_INPUT where there is none, with the reason. */
typedef struct bf_layouts bf_layouts;
BF_API int bf_layouts_find(const bf_machine *machine, const bf_layout_options *options,
                           bf_layouts **layouts, bf_diagnostic *diagnostic);
BF_API void bf_layouts_free(bf_layouts *layouts);
BF_API size_t bf_layouts_size(const bf_layouts *layouts);
/* NULL past the last. */
BF_API const bf_layout_choice *bf_layouts_get(const bf_layouts *layouts, size_t index);
/* The access of that number, writes first; false: there is none. */
BF_API bool bf_layouts_get_access(const bf_layouts *layouts, size_t index, unsigned access,
                                  bf_layout_access *out);
/* The name of a layout that cannot be, and why; NULL past the last. */
BF_API const char *bf_layouts_get_refused(const bf_layouts *layouts, size_t index,
                                          const char **why);
/* The byte offset of an element in the tile. */
BF_API int bf_layouts_place(const bf_layouts *layouts, size_t index, unsigned row, unsigned column,
                            uint32_t *offset_bytes);
/* Code for a layout: form "cute", "ptx", "tma", "triton" or "cuda". *text is freed with bf_free.
 * BF_UNSUPPORTED where the form cannot say it. */
BF_API int bf_layouts_emit(const bf_layouts *layouts, size_t index, const char *form, char **text,
                           bf_diagnostic *diagnostic);

/* ---- Alignment: where to put a pattern of word addresses ---- */

/* `patterns` strided patterns: number p < patterns reads, at base address b, the `count` words
 * b + distance * p + stride * i, i < count. A word conflicts if an earlier word of the same strided
 * pattern is in its bank; the conflicts of all patterns are summed. With also_transposed the same
 * words are read the other way as well: `count` strided patterns, number i reads the `patterns`
 * words b + stride * i + distance * p. Rows and columns of a row-major matrix of R rows and C
 * columns: stride C, count R, distance 1, patterns C, also_transposed. distance is ignored where
 * patterns is 1. */
typedef struct bf_align_pattern {
  uint64_t stride;
  uint64_t count;
  uint64_t distance;
  uint64_t patterns;
  bool also_transposed;
} bf_align_pattern;

typedef struct bf_align_range {
  uint64_t from, to; /* both inclusive */
} bf_align_range;

typedef struct bf_alignment {
  bf_align_range *optimal; /* ascending, disjoint */
  size_t optimal_count;
  uint64_t conflicts;      /* at an optimal base */
  uint64_t worst;          /* at the worst base of the range */
  double *symmetry_points; /* inside the range, ascending; a centre may lie between two bases */
  size_t symmetry_count;
  uint64_t bases;     /* bases in the range */
  uint64_t evaluated; /* bases whose conflicts had to be computed */
} bf_alignment;

/* All base addresses in from..to (both inclusive) at which the pattern has the fewest conflicts.
 * Under an XOR hash addresses wrap at the end of the allocation, and the symmetry of the hash saves
 * most of the work; other hashes have no symmetry points and every base is evaluated. The hash is
 * needed, since it says how many banks there are; "none" will do. */
BF_API int bf_align(const bf_hash *hash, const bf_align_pattern *pattern, uint64_t from,
                    uint64_t to, bf_alignment *alignment, bf_diagnostic *diagnostic);
BF_API void bf_alignment_clear(bf_alignment *alignment);

/* ---- Programs and their kernels ---- */

/* What nvcc makes: PTX text, a fat binary, or an ELF program, library or object file with fat
 * binaries inside; compressed with zstd or not. It holds modules, one for each translation unit,
 * and of each module images: the same code for different architectures. */
typedef struct bf_binary bf_binary;

typedef struct bf_binary_image {
  unsigned module;          /* from 1 */
  const char *kind;         /* "ptx", "cubin" (machine code), "lto" or "other" */
  const char *architecture; /* "sm_90" */
  const char *source;       /* name of its source file, or NULL */
  uint64_t bytes;           /* decompressed */
} bf_binary_image;

/* name is for messages; NULL: "program". data is not needed any more when the call returns. */
BF_API int bf_binary_parse(const void *data, size_t size, const char *name, bf_binary **binary,
                           bf_diagnostic *diagnostic);
BF_API void bf_binary_free(bf_binary *binary);
BF_API unsigned bf_binary_module_count(const bf_binary *binary);
/* Images in the order of the file; NULL past the last. */
BF_API const bf_binary_image *bf_binary_get(const bf_binary *binary, size_t index);

/* The PTX of one module, parsed. It does not need the binary any more. */
typedef struct bf_module bf_module;

/* The best PTX of module number `module`, from 1: the highest that runs on an architecture
 * ("sm_90"), or the highest of all where that is NULL. */
BF_API int bf_binary_get_module(const bf_binary *binary, unsigned module, const char *architecture,
                                bf_module **ptx, bf_diagnostic *diagnostic);
/* Both in one, for PTX text and binaries with one module; BF_BAD_INPUT where there are several. */
BF_API int bf_module_parse(const void *data, size_t size, const char *name, bf_module **module,
                           bf_diagnostic *diagnostic);
BF_API void bf_module_free(bf_module *module);
/* PTX that parses to the same module; freed with bf_free. */
BF_API int bf_module_text(const bf_module *module, char **text, bf_diagnostic *diagnostic);

typedef struct bf_kernel_info {
  const char *name;          /* as in the PTX */
  const char *readable_name; /* what a mangled C++ name stands for: reduce<int, 64> */
  uint64_t line;             /* in the PTX */
  bool has_lines;            /* instructions say which source line they come from */
  uint64_t shared_bytes;     /* declared in the PTX */
  bool has_dynamic_shared;   /* more may be given at launch */
  uint32_t block[3];         /* threads that a block must have, or 0 */
  unsigned parameters;       /* number of them */
  uint64_t parameter_bytes;  /* all of them, with gaps */
  uint32_t instructions;     /* in the PTX */
  uint32_t shared_accesses;  /* instructions that say .shared */
} bf_kernel_info;

/* Kernels in the order of the PTX; NULL past the last. */
BF_API const bf_kernel_info *bf_module_get(const bf_module *module, size_t index);
/* The kernel of that name, as in the PTX or readable where only one kernel has it; NULL: none. All
 * functions that take the name of a kernel find it so. */
BF_API const bf_kernel_info *bf_module_find(const bf_module *module, const char *name);

typedef struct bf_parameter_info {
  const char *name;
  const char *type;      /* as in the PTX: "u64", "f32", "b8" */
  uint64_t offset_bytes; /* in the kernel's parameters */
  uint64_t bytes;        /* of the whole parameter, which may be an array */
  bool is_array;
} bf_parameter_info;

/* Parameters of the kernel of that name; NULL past the last, and where there is no such kernel. */
BF_API const bf_parameter_info *bf_module_parameter(const bf_module *module, const char *kernel,
                                                    size_t index);

/* What a kernel gets for a parameter: a value, or a buffer in memory of the device. in holds the
 * value or is copied to the buffer before the launch (NULL: the buffer is zero), and the buffer is
 * copied to out after it (NULL: it is not). Buffers with the same in, out and bytes are one, unless
 * both are NULL. */
typedef struct bf_argument {
  const void *in;
  void *out;
  size_t bytes;
  bool is_buffer;
} bf_argument;

static inline bf_argument bf_argument_value(const void *value, size_t bytes) {
  bf_argument argument = {value, NULL, bytes, false};
  return argument;
}

static inline bf_argument bf_argument_buffer(const void *in, void *out, size_t bytes) {
  bf_argument argument = {in, out, bytes, true};
  return argument;
}

/* ---- Analysis: shared accesses of a kernel that is not run ---- */

typedef struct bf_analyze_kernel_options {
  size_t struct_bytes;
  uint32_t block[3];           /* threads of a block; all 0: what the kernel requires */
  uint32_t grid[3];            /* all 0: unknown */
  const bf_argument *argument; /* values of the first parameters; buffers, and values whose in is
                                  NULL, are unknown */
  size_t arguments;
  bool has_block_index; /* one block is asked for: */
  uint32_t block_index[3];
} bf_analyze_kernel_options;

BF_DEFAULT_FUNCTION(bf_analyze_kernel_default_options, bf_analyze_kernel_options)

/* What is not known of a site, and why. */
typedef struct bf_unknown {
  const char *what;    /* "address", "offset", "lanes" or "count" */
  const char *because; /* "parameter n", "the value loaded at line 12" */
} bf_unknown;

/* An instruction on shared memory, with what one block does there (docs/analyze.md). Where the
 * offset of all lanes is unknown, wavefronts and conflicts are the fewest that an offset can give,
 * and most_ the most; else both are the same. */
typedef struct bf_kernel_site {
  uint64_t line;           /* in the PTX */
  const char *source_file; /* NULL: not known */
  uint64_t source_line;
  const char *instruction; /* opcode */
  bool has_op;             /* op and width_bytes say what it is; else its cost is not modelled */
  bf_op op;
  unsigned width_bytes; /* per lane */
  bool is_reached;      /* the block executes it, or may */
  bool is_exact;        /* nothing is unknown */
  const char *formula;  /* of the address, in bytes; NULL where it is not reached */
  bool is_affine;       /* address = steps times thread index + what is the same for all lanes */
  int64_t step_bytes[3];
  unsigned unknowns;
  const bf_unknown *unknown;
  const char *fault; /* why it was not counted: an access does not fit the machine; NULL: it was */
  uint64_t accesses;
  uint64_t wavefronts, most_wavefronts;
  uint64_t ideal;
  uint64_t conflicts, most_conflicts;
  bool estimated;
  const bf_access *worst;  /* the first with the most conflicts, or NULL */
  const char *explanation; /* its pattern, in words, or NULL */
} bf_kernel_site;

typedef struct bf_kernel_analysis bf_kernel_analysis;

/* Finds the shared accesses of a kernel from its PTX, and what they cost without a hash. machine
 * may be NULL: "hopper"; it must have 32 lanes. */
BF_API int bf_analyze_kernel(const bf_module *module, const char *kernel, const bf_machine *machine,
                             const bf_analyze_kernel_options *options,
                             bf_kernel_analysis **analysis, bf_diagnostic *diagnostic);
BF_API void bf_kernel_analysis_free(bf_kernel_analysis *analysis);
/* Sites in the order of instructions; NULL past the last. */
BF_API const bf_kernel_site *bf_kernel_analysis_get(const bf_kernel_analysis *analysis,
                                                    size_t index);
/* Sentences about what was left out; NULL past the last. */
BF_API const char *bf_kernel_analysis_note(const bf_kernel_analysis *analysis, size_t index);
/* The accesses of all sites that were counted, for bf_solve and others; the site of each is
 * KERNEL:LINE. */
BF_API int bf_kernel_analysis_workload(const bf_kernel_analysis *analysis, bf_workload **workload,
                                       bf_diagnostic *diagnostic);

/* ---- Profile: conflicts of a kernel that is run, without a GPU ---- */

typedef struct bf_launch {
  size_t struct_bytes;
  uint32_t grid[3];  /* blocks; 0 counts as 1 */
  uint32_t block[3]; /* threads of a block; 0 counts as 1 */
  uint64_t dynamic_shared_bytes;
  const bf_argument *argument; /* one for each parameter */
  size_t arguments;
  const bf_hash *hash;      /* of shared memory's banks; NULL: none */
  bool as_written;          /* count accesses as the PTX has them, not as ptxas merges them */
  bool check_uninitialised; /* shared memory that is read before it is written is a fault */
  bool check_races;         /* and so are races between threads */
  unsigned threads;         /* 0 = one per core */
  /* Text that the kernel prints, whole calls of printf at a time. Comes from any thread of the
   * launch, one at a time. NULL: dropped. */
  void (*print)(void *context, const char *text, size_t bytes);
  void *print_context;
  /* Called now and then, from any thread of the launch, one at a time; false stops the launch. May
   * be NULL. */
  bool (*progress)(void *context, uint64_t blocks_done, uint64_t blocks);
  void *progress_context;
  bf_logger logger; /* is told of accesses that could not be counted */
} bf_launch;

BF_DEFAULT_FUNCTION(bf_default_launch, bf_launch)

/* A source line, or a line of the PTX where file is NULL. */
typedef struct bf_profile_line {
  const char *file;
  uint64_t line;
  uint64_t accesses;
  uint64_t wavefronts;
  uint64_t ideal;
  uint64_t conflicts;
  uint64_t worst_wavefronts; /* most of one access, */
  bf_access worst;           /* which was this one */
  bool estimated;
  uint64_t uncounted; /* accesses that the machine cannot make; they are in no number above */
} bf_profile_line;

typedef struct bf_profile_totals {
  uint64_t accesses;
  uint64_t wavefronts;
  uint64_t ideal;
  uint64_t conflicts;
  uint64_t warp_instructions;
  uint64_t thread_instructions; /* lanes that executed them, summed */
} bf_profile_totals;

typedef struct bf_launch_profile bf_launch_profile;

/* Runs a kernel on the CPU, copies its buffers back and says what its shared accesses cost. The
 * module's variables are as the PTX initialises them. machine may be NULL: "hopper"; it must have
 * 32 lanes. BF_FAULT: the kernel did something wrong; the diagnostic says what and at which source
 * line (without one, line of the PTX). BF_STOPPED: progress said so. After an error, buffers are as
 * before. */
BF_API int bf_profile_launch(const bf_module *module, const char *kernel, const bf_machine *machine,
                             const bf_launch *launch, bf_launch_profile **profile,
                             bf_diagnostic *diagnostic);
BF_API void bf_launch_profile_free(bf_launch_profile *profile);
BF_API const bf_profile_totals *bf_launch_profile_totals(const bf_launch_profile *profile);
/* Lines with shared accesses, most conflicts first; NULL past the last. */
BF_API const bf_profile_line *bf_launch_profile_get(const bf_launch_profile *profile, size_t index);

/* ---- Simulation: how long a kernel takes on a GPU that need not be there ---- */

/* Name of built-in GPU number index, or NULL past the last. */
BF_API const char *bf_gpu_builtin(unsigned index);

typedef struct bf_simulate_options {
  size_t struct_bytes;
  const char *gpu;      /* a built-in name or a file; NULL: "h200" */
  const char *set;      /* parameters to change, "sms=1" each, with blanks between; NULL: none */
  uint64_t most_cycles; /* a launch that takes more is BF_BAD_INPUT; 0: no limit */
} bf_simulate_options;

BF_DEFAULT_FUNCTION(bf_simulate_default_options, bf_simulate_options)

typedef struct bf_simulation_totals {
  uint64_t cycles;
  double seconds; /* of the GPU */
  uint64_t instructions;
  uint64_t blocks;
  unsigned sms; /* multiprocessors that had work */
  unsigned blocks_per_sm;
  const char *occupancy_limit;   /* why not more blocks fit: "warps", "shared memory" */
  double occupancy;              /* warps on a multiprocessor as a share of those it can hold */
  double instructions_per_cycle; /* on each multiprocessor that had work */
  uint64_t turns;                /* of schedulers */
  uint64_t shared_accesses, shared_wavefronts, shared_conflicts;
  uint64_t global_accesses, global_sectors;
  uint64_t dram_read_bytes, dram_written_bytes;
} bf_simulation_totals;

/* Turns of schedulers without an instruction, by reason: "conflict", "global memory". */
typedef struct bf_simulation_stall {
  const char *reason;
  uint64_t turns;
} bf_simulation_stall;

/* A source line with shared accesses, or a line of the PTX where file is NULL. */
typedef struct bf_simulation_line {
  const char *file;
  uint64_t line;
  uint64_t accesses;
  uint64_t wavefronts;
  uint64_t conflicts;
  uint64_t waited_cycles; /* that its accesses waited for shared memory, summed */
} bf_simulation_line;

typedef struct bf_simulation bf_simulation;

/* Runs a kernel as bf_profile_launch does, in the order and time of a GPU. Of launch, as_written
 * and logger are not used. A kernel whose warps wait for each other is BF_BAD_INPUT. */
BF_API int bf_simulate_launch(const bf_module *module, const char *kernel, const bf_launch *launch,
                              const bf_simulate_options *options, bf_simulation **simulation,
                              bf_diagnostic *diagnostic);
BF_API void bf_simulation_free(bf_simulation *simulation);
BF_API const bf_simulation_totals *bf_simulation_get_totals(const bf_simulation *simulation);
/* All reasons; NULL past the last. */
BF_API const bf_simulation_stall *bf_simulation_get_stall(const bf_simulation *simulation,
                                                          size_t index);
/* Most conflicts first; NULL past the last. */
BF_API const bf_simulation_line *bf_simulation_get_line(const bf_simulation *simulation,
                                                        size_t index);

/* ---- Rewriting: kernels whose shared accesses go through a hash ---- */

/* Hashes must be row-preserving, for 32 banks of 4 bytes: they change the bank of a word, not its
 * row of 128 bytes. `none` leaves a kernel alone. */
typedef struct bf_rewrite_module_options {
  size_t struct_bytes;
  const char *hash;   /* of all kernels that hashes does not name; NULL: none */
  const char *hashes; /* lines KERNEL HASH and KERNEL[ARRAY] HASH (docs/rewrite.md); NULL: none */
  const char *name;   /* of hashes, for messages; NULL: "hashes" */
  const char *kernel; /* the only one that is rewritten; NULL: all */
  bool padding_has_room; /* launches have room for what padding adds before dynamic shared memory;
                            without that promise kernels in which it adds some are left alone */
  bool predict;          /* instead of hash and hashes: each kernel gets the hash that is predicted
                            from its PTX to make it fastest, or none (docs/tune.md) */
  uint32_t block[3];     /* predict: threads of a block; all 0: what the kernel requires, else every
                            usual shape must win */
} bf_rewrite_module_options;

BF_DEFAULT_FUNCTION(bf_rewrite_module_default_options, bf_rewrite_module_options)

typedef struct bf_rewritten_kernel {
  const char *name; /* as in the PTX */
  bool is_rewritten;
  const char *hash;   /* canonical text, or where arrays have their own: "tile=fixed, other=none";
                         NULL: none was asked for */
  const char *reason; /* why it was left alone, in words; NULL: it was rewritten */
  uint32_t accesses;  /* instructions on shared memory, in it and the functions it calls */
  uint32_t hashed;    /* those that go through a hash now */
  uint32_t added_instructions;
  uint64_t shared_bytes;        /* declared in the PTX, before */
  uint64_t padded_shared_bytes; /* and after */
  double share_left; /* of its time, or of what its accesses cost, where that was predicted
                                or tried; 0: it was not */
} bf_rewritten_kernel;

typedef struct bf_rewriting bf_rewriting;

/* Rewrites kernels so that they compute the same with data elsewhere in shared memory. The result
 * is verified by code that shares nothing with what made it: BF_UNSUPPORTED where it is not
 * accepted. That a kernel is left alone is no error; a module that was rewritten before is left
 * alone as a whole, because hashes that are applied twice can cancel out. Without a hash the result
 * says what stands in the way of each kernel. */
BF_API int bf_rewrite_module(const bf_module *module, const bf_rewrite_module_options *options,
                             bf_rewriting **rewriting, bf_diagnostic *diagnostic);
BF_API void bf_rewriting_free(bf_rewriting *rewriting);
/* The module as PTX; where nothing was rewritten it is bf_module_text. */
BF_API const char *bf_rewriting_text(const bf_rewriting *rewriting);
/* The hashes of the kernels that were rewritten, as lines for bf_rewrite_module_options.hashes; all
 * others have `none`. */
BF_API const char *bf_rewriting_hashes(const bf_rewriting *rewriting);
/* Whether some kernel was rewritten. */
BF_API bool bf_rewriting_is_changed(const bf_rewriting *rewriting);
/* Whether the module had been rewritten before. */
BF_API bool bf_rewriting_is_repeated(const bf_rewriting *rewriting);
/* Kernels in the order of the PTX; NULL past the last. */
BF_API const bf_rewritten_kernel *bf_rewriting_get(const bf_rewriting *rewriting, size_t index);

/* ---- Tuning: the best hash for each kernel, or none ---- */

/* A launch of a kernel. Of launch, hash must be NULL; as_written, threads, print and logger are not
 * used. */
typedef struct bf_tune_launch {
  const char *kernel;
  const bf_launch *launch;
} bf_tune_launch;

typedef struct bf_tune_module_options {
  size_t struct_bytes;
  const bf_machine *machine; /* 32 banks of 4 bytes; NULL: "hopper" */
  const char *gpu;    /* name or file of the GPU whose simulated time decides; NULL: counts of
                         wavefronts and instructions do */
  const char *kernel; /* the only one that may be rewritten; NULL: all */
  double time_limit_seconds; /* of each search, of which a kernel has a few; 0 = 10 */
  unsigned threads;          /* of searches; 0 = one per core */
  unsigned launch_threads;   /* that run a launch; 0 = 1, so that blocks run in the same order in
                                every run */
  bf_logger logger;          /* is told of kernels with more accesses than could be looked at */
} bf_tune_module_options;

BF_DEFAULT_FUNCTION(bf_tune_module_default_options, bf_tune_module_options)

/* What all launches of a kernel take. */
typedef struct bf_kernel_cost {
  uint64_t wavefronts;
  uint64_t warp_instructions;
  uint64_t cycles; /* simulated, or 0 */
} bf_kernel_cost;

typedef struct bf_tuned_kernel {
  const char *name;   /* as in the PTX */
  const char *hash;   /* as bf_rewritten_kernel has it; NULL: it is left alone */
  const char *reason; /* why it is left alone, in words; NULL: it was rewritten */
  uint64_t launches;
  bf_kernel_cost before, after; /* the same where it is left alone */
} bf_tuned_kernel;

typedef struct bf_tuning bf_tuning;

/* Runs launches, one after the other, to see what kernels do to shared memory; proposes hashes,
 * runs the launches with each of them, and rewrites those kernels for which it is worth it
 * (docs/rewrite.md). At last it runs original and result, and compares what they leave in all
 * buffers and variables: the caller promises that this does not depend on the order of threads. A
 * difference is BF_BAD_INPUT, and nothing is handed out.
 *
 * A buffer is one for all launches that name it with the same in, out and bytes; it keeps what the
 * launches before left in it, and starts anew with in for each run of all launches. Nothing is
 * copied to out. BF_FAULT and BF_STOPPED are as for bf_profile_launch. */
BF_API int bf_tune_module(const bf_module *module, const bf_tune_launch *launch, size_t launches,
                          const bf_tune_module_options *options, bf_tuning **tuning,
                          bf_diagnostic *diagnostic);
BF_API void bf_tuning_free(bf_tuning *tuning);
/* Kernels in the order of the PTX; NULL past the last. */
BF_API const bf_tuned_kernel *bf_tuning_get(const bf_tuning *tuning, size_t index);
/* The module as it was rewritten. */
BF_API const bf_rewriting *bf_tuning_rewriting(const bf_tuning *tuning);

/* Hashes to rewrite a kernel with, from its accesses alone: nothing is run, and there need be no
 * PTX. */
typedef struct bf_propose_hashes_options {
  size_t struct_bytes;
  const bf_workload *merged; /* the accesses as ptxas merges them; NULL: as they are written */
  unsigned granule_bytes;    /* widest access of the kernel; 0 = of the workload */
  double time_limit_seconds; /* of each search, of which there are up to six; 0 = 10 */
  unsigned threads;          /* 0 = one per core */
  bf_progress progress;      /* may be NULL */
  void *progress_context;
} bf_propose_hashes_options;

BF_DEFAULT_FUNCTION(bf_propose_hashes_default_options, bf_propose_hashes_options)

typedef struct bf_proposed_hash {
  const char *hash;       /* row-preserving */
  unsigned granule_bytes; /* bytes that stay together */
  bool is_proven;         /* no row-preserving hash of that granule has fewer conflicts */
  bool is_worth;          /* wavefronts that it saves are worth the instructions it adds */
  uint64_t wavefronts_before, wavefronts_after;
  int64_t added_instructions; /* of warps, as if every access computed its own hash */
} bf_proposed_hash;

typedef struct bf_hash_proposals bf_hash_proposals;

/* workload has the accesses of all launches of a kernel as they are in the PTX, with addresses from
 * the start of the block's shared memory. machine may be NULL: "hopper"; it must have 32 lanes and
 * 32 banks of 4 bytes. */
BF_API int bf_propose_hashes(const bf_machine *machine, const bf_workload *workload,
                             const bf_propose_hashes_options *options,
                             bf_hash_proposals **proposals, bf_diagnostic *diagnostic);
BF_API void bf_hash_proposals_free(bf_hash_proposals *proposals);
/* Hashes that save wavefronts, the one that gains most first; NULL past the last. */
BF_API const bf_proposed_hash *bf_hash_proposals_get(const bf_hash_proposals *proposals,
                                                     size_t index);
/* Why there is none, or why the first is not worth it; NULL: it is. */
BF_API const char *bf_hash_proposals_reason(const bf_hash_proposals *proposals);

/* ---- Voting: histograms and Hough transforms ---- */

typedef enum bf_pixel_type { BF_PIXEL_U8, BF_PIXEL_U16, BF_PIXEL_F32 } bf_pixel_type;

/* A borrowed view of an image, at any alignment. A part of one (region of interest) is a view
 * too: bf_pixels_crop makes it. Pixels whose mask is 0 do not vote. */
typedef struct bf_pixels {
  const void *data;
  bf_pixel_type type;
  unsigned channels;        /* 1 to 4, interleaved; 0 = 1 */
  size_t width;             /* pixels; 0 is an image without pixels */
  size_t height;            /* rows */
  size_t stride_bytes;      /* from one row to the next; 0 = no gap */
  const uint8_t *mask;      /* one byte per pixel; NULL: every pixel votes */
  size_t mask_stride_bytes; /* 0 = no gap */
} bf_pixels;

/* The part of image from column x and row y on, with its mask; it must lie inside. */
BF_API int bf_pixels_crop(const bf_pixels *image, size_t x, size_t y, size_t width, size_t height,
                          bf_pixels *part, bf_diagnostic *diagnostic);

#define BF_MAX_BINS 65536

typedef enum bf_weight_type { BF_WEIGHT_F32, BF_WEIGHT_F64 } bf_weight_type;

/* Bins are half open; values outside all bins and NaN are dropped.
 * Even bins: value v, low <= v < high, is in bin floor((v - low) * bins / (high - low)), computed
 * in double in this order (exact for integers) and at most bins - 1. low = high = 0 stands for the
 * whole range of the type: 256, 65536, or 1.0 for floats.
 * Bins by edges: v is in bin i where edges[i] <= v < edges[i + 1]; edges has bins + 1 strictly
 * increasing entries. */
typedef struct bf_histogram_options {
  size_t struct_bytes;
  size_t bins; /* 1 to BF_MAX_BINS; must be given, since results have as many entries */
  double low, high;
  const double *edges;         /* NULL: even bins */
  unsigned channel;            /* which of the interleaved channels */
  unsigned threads;            /* 0 = one per core */
  bool accumulate;             /* add to what the result holds: strips of an image, one by one */
  const void *weights;         /* one per pixel, for bf_histogram_f64; NULL: each vote is 1 */
  bf_weight_type weight_type;  /* at any alignment */
  size_t weights_stride_bytes; /* from one row to the next; 0 = no gap */
} bf_histogram_options;

BF_DEFAULT_FUNCTION(bf_histogram_default_options, bf_histogram_options)

/* Counts the pixels in each bin. A count that does not fit is BF_UNSUPPORTED, and then, as after
 * any error, counts are as before. */
BF_API int bf_histogram_u32(const bf_pixels *image, const bf_histogram_options *options,
                            uint32_t *counts, bf_diagnostic *diagnostic);
BF_API int bf_histogram_u64(const bf_pixels *image, const bf_histogram_options *options,
                            uint64_t *counts, bf_diagnostic *diagnostic);
/* Sums the weights of the pixels in each bin, in double and in no particular order. */
BF_API int bf_histogram_f64(const bf_pixels *image, const bf_histogram_options *options,
                            double *sums, bf_diagnostic *diagnostic);

/* How a Hough space describes lines. Angle number i is theta = theta_low + i * theta_step.
 * Polar: x cos(theta) + y sin(theta) = rho.
 * Cartesian: theta is the direction of the line; y - x tan(theta) = rho where |cos| >= |sin|, and
 * x - y / tan(theta) = rho elsewhere. */
typedef enum bf_hough_form { BF_HOUGH_POLAR, BF_HOUGH_CARTESIAN } bf_hough_form;

/* There are round((theta_high - theta_low) / theta_step) angles, at least one; theta_high itself is
 * not one of them. theta_low = theta_high = 0 stands for 0 to pi (polar) and -pi/4 to 3/4 pi
 * (Cartesian). */
typedef struct bf_hough_options {
  size_t struct_bytes;
  bf_hough_form form;
  double theta_low, theta_high; /* radians */
  double theta_step;            /* radians; 0 = pi / 180 */
  double rho_step;              /* pixels; 0 = 1 */
  bool weighted;                /* an edge pixel votes with its value instead of 1 */
  unsigned threads;             /* 0 = one per core */
} bf_hough_options;

BF_DEFAULT_FUNCTION(bf_hough_default_options, bf_hough_options)

/* Votes for `angles` rows of `rhos` bins: votes[angle * rhos + bin]. Bin number b holds lines with
 * rho = (b - rho_zero) * rho_step, to the nearest. */
typedef struct bf_hough_space {
  bf_hough_form form;
  size_t angles, rhos;
  size_t rho_zero;
  double theta_low, theta_step, rho_step;
  uint64_t points; /* edge pixels that voted */
  uint32_t *votes;
} bf_hough_space;

/* Lets the pixels of an 8-bit image of one channel that are not 0 vote for all lines through them.
 * Width and height are at most 65536. Pixel x, y votes at angle t in bin rho_zero + r, where r is
 * x * c + y * s in single precision, both products rounded, rounded to the nearest integer (ties to
 * even); c and s are the factors of x and y divided by rho_step. BF_UNSUPPORTED where the votes of
 * all pixels together exceed 32 bits. */
BF_API int bf_hough_vote(const bf_pixels *edges, const bf_hough_options *options,
                         bf_hough_space *space, bf_diagnostic *diagnostic);
BF_API void bf_hough_space_clear(bf_hough_space *space);

/* A line found: the points with x_factor * x + y_factor * y = rho. */
typedef struct bf_peak {
  double theta, rho;
  double x_factor, y_factor;
  uint32_t votes;
  size_t angle, bin; /* where in the space */
} bf_peak;

typedef struct bf_peaks {
  bf_peak *peak; /* most votes first; of equal ones, the smaller angle, then the smaller bin */
  size_t count;
} bf_peaks;

/* A peak has the most votes of all bins at most theta_radius angles and rho_radius bins away; of
 * equal ones, the first in the space. In polar spaces that cover pi, the first angles are
 * neighbours of the last. The two halves of a Cartesian space are not neighbours. */
typedef struct bf_peak_options {
  size_t struct_bytes;
  uint32_t min_votes;    /* 0 = 1 */
  unsigned theta_radius; /* 0 = 1 */
  unsigned rho_radius;   /* 0 = 1 */
  size_t max_lines;      /* 0 = all */
} bf_peak_options;

BF_DEFAULT_FUNCTION(bf_peak_default_options, bf_peak_options)

BF_API int bf_hough_peaks(const bf_hough_space *space, const bf_peak_options *options,
                          bf_peaks *found, bf_diagnostic *diagnostic);
BF_API void bf_peaks_clear(bf_peaks *found);
/* Where the line enters and leaves the rectangle of pixel centres of an image: x, y, x, y. False
 * where it does not cross it. */
BF_API bool bf_peak_clip(const bf_peak *peak, size_t width, size_t height, double end[4]);

/* Sobel's |gx| + |gy| of one channel, scaled so that the largest is 255 and rounded; the border
 * repeats the outermost pixels, NaN counts as 0, masked pixels become 0. edges has one byte per
 * pixel; stride_bytes 0 = no gap. Infinite pixels are BF_BAD_INPUT. */
BF_API int bf_sobel(const bf_pixels *image, unsigned channel, unsigned threads, uint8_t *edges,
                    size_t stride_bytes, bf_diagnostic *diagnostic);
/* Otsu's threshold: the bin t that splits counts into 0..t and t+1.. with the largest variance
 * between the two; the first of several. 0 where there is nothing to split. */
BF_API size_t bf_otsu(const uint64_t *counts, size_t bins);

/* What bf_hough_lines finds on the way: edges (width * height bytes, 0 at most at the threshold),
 * the threshold, the Hough space and the lines. */
typedef struct bf_hough_result {
  uint8_t *edges;
  size_t width, height;
  unsigned threshold;
  bf_hough_space space;
  bf_peaks lines;
} bf_hough_result;

/* From picture to lines: edges by bf_sobel, those above the threshold of bf_otsu vote, peaks. */
BF_API int bf_hough_lines(const bf_pixels *image, unsigned channel, const bf_hough_options *options,
                          const bf_peak_options *peaks, bf_hough_result *result,
                          bf_diagnostic *diagnostic);
BF_API void bf_hough_result_clear(bf_hough_result *result);

#ifdef __cplusplus
}
#endif
#endif
