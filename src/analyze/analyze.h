/* analyze: what a kernel does to shared memory, found out from its PTX without running it.
 *
 * The registers of a block's threads are followed as expressions of the thread index, the block
 * index, parameters and loop counters (expression.h). Loops whose ends are known are gone through
 * iteration by iteration; others once, with their counter as an unknown. What remains unknown is
 * named. Warps have 32 lanes. */
#ifndef BF_ANALYZE_H
#define BF_ANALYZE_H

#include "access/access.h"
#include "memory/memory.h"
#include "ptx/ptx.h"

enum { BF_ANALYZE_LANES = 32 };

/* What is known of a launch. */
typedef struct bf_analyze_options {
  uint32_t block[3];    /* threads of a block, together 1 to 1024 */
  uint32_t grid[3];     /* 0: unknown */
  bool has_block_index; /* one block is asked for: */
  uint32_t block_index[3];
  /* The parameter block, laid out as in the PTX, and which of its bytes are known (not 0); both
   * parameter_bytes long, or NULL. */
  const uint8_t *parameter, *is_known;
  uint64_t parameter_bytes;
  bool accesses_only; /* no formulas: takes half the time */
  /* Addresses that depend on data are listed for data spread evenly over as many values as the
   * array has room for; such sites say so (BF_UNKNOWN_VALUE). */
  bool spreads_data;
  /* Instructions followed before loops, and then the kernel, are said to be too long; 0: 4 million.
   * Other limits follow from it. */
  uint64_t most_steps;
  /* On which it is found out whether conflicts are the same for all values; NULL: that is not. */
  const bf_machine *machine;
} bf_analyze_options;

/* Offset and bytes of parameter index in the parameter block. */
bool bf_analyze_parameter(const bf_ptx_function *kernel, unsigned index, uint64_t *offset,
                          uint64_t *bytes);

/* A shared variable, and where it begins in the block's shared memory. */
typedef struct bf_analyze_variable {
  const bf_ptx_variable *variable;
  uint64_t offset_bytes;
} bf_analyze_variable;

/* The shared variables that a kernel and what it calls name, where the emulator and ptxas put them.
 * The list is in the arena. */
int bf_analyze_layout(const bf_ptx_module *module, const bf_ptx_function *kernel, bf_arena *arena,
                      bf_analyze_variable **list, unsigned *count, bf_diagnostic *diagnostic);

typedef enum bf_analyze_unknown_kind {
  BF_UNKNOWN_ADDRESS, /* lanes' addresses relative to each other */
  BF_UNKNOWN_OFFSET,  /* what is added to the addresses of all lanes of a warp */
  BF_UNKNOWN_LANES,   /* which lanes take part */
  BF_UNKNOWN_COUNT,   /* how often it is executed */
  BF_UNKNOWN_VALUE,   /* data, which was taken to be spread evenly */
} bf_analyze_unknown_kind;

/* How far what is said of the conflicts of a site's accesses can be relied on. How many accesses
 * there are is certain where the site is exact. */
typedef enum bf_analyze_certainty {
  BF_CERTAIN_FOR_ALL, /* exact, whatever parameters, data and block index are */
  BF_CERTAIN_LAUNCH,  /* exact for the launch given, and the block of it that is named */
  BF_CERTAIN_ASSUMED, /* exact on the assumptions of site and analysis */
  BF_CERTAIN_NOT,     /* addresses are not known */
} bf_analyze_certainty;

/* "for all values", "exact", "assumed", "unknown". */
const char *bf_analyze_certainty_name(bf_analyze_certainty certainty);

/* "address", "offset", "lanes", "count", "value". */
const char *bf_analyze_unknown_name(bf_analyze_unknown_kind kind);

typedef struct bf_analyze_unknown {
  bf_analyze_unknown_kind kind;
  const char *because; /* "parameter n", "the value loaded at line 12" */
} bf_analyze_unknown;

/* What one warp does in one execution. Addresses are bytes from the start of shared memory; where
 * the offset is unknown, those that the offset 0 would give, moved by multiples of 1024 bytes so
 * that none is negative; where the lanes are unknown, those that may take part are in mask. */
typedef struct bf_analyze_access {
  uint32_t warp;
  uint32_t mask;
  uint32_t address[BF_ANALYZE_LANES];
} bf_analyze_access;

/* An instruction on shared memory. */
typedef struct bf_analyze_site {
  uint32_t instruction;    /* in the kernel */
  uint64_t line;           /* in the PTX */
  const char *source_file; /* from .loc, or NULL */
  uint64_t source_line;
  bool has_op;  /* op and width_bytes say what it is; else no trace can hold it */
  bool is_copy; /* a bulk or tensor copy, which takes no wavefronts (docs/hopper.md) */
  bf_op op;
  unsigned width_bytes; /* per lane */
  unsigned pieces;      /* that an execution is made of, of which one is listed; 1 but for wmma */
  bool is_reached;      /* the block executes it, or may */
  const char *formula;  /* of the address, or NULL where it was not reached */
  bool is_affine;       /* address = steps times thread index + what is the same for all lanes */
  int64_t step_bytes[3];
  uint32_t offset_step_bytes; /* an unknown offset is a multiple of this; 0: it is known */
  bool is_exact;              /* nothing is unknown: accesses are all there are, in order */
  /* Each access has the same conflicts on the machine of the options, whatever is not known of it;
   * which of them are executed, how often and by which lanes may be unknown. */
  bool is_settled;
  /* Addresses rest on no assumption: whatever lanes do here in a block, a listed access has its
   * address. */
  bool is_placed;
  bf_analyze_certainty certainty; /* of the conflicts of each access */
  bool leaves_variable; /* an access lies outside of the variable that its address names */
  unsigned unknowns;
  const bf_analyze_unknown *unknown;
  size_t accesses; /* warp after warp within an execution, in the order of executions */
  const bf_analyze_access *access;
} bf_analyze_site;

/* How often a block of threads executes a basic block of the kernel. Loops whose end is not known
 * are gone through once, and both sides of a condition that is not known. */
typedef struct bf_analyze_executed {
  uint64_t passes;     /* times that warps go through it together */
  uint64_t warps;      /* times that a warp does */
  unsigned open_loops; /* around it, whose end is not known */
} bf_analyze_executed;

typedef struct bf_analysis {
  bf_arena arena;
  const bf_ptx_function *kernel;
  uint32_t block[3];
  unsigned warps;
  uint32_t sites; /* in the order of instructions */
  bf_analyze_site *site;
  unsigned notes; /* sentences about what was left out */
  const char **note;
  uint64_t steps; /* instructions followed */
  bool is_cut;    /* the kernel is too long: what was found is not all */
  bool calls;     /* a function with a body, or through a register: it is not followed */
  /* Accesses to shared memory may be missing: the kernel is too long, a function that is not
   * followed has accesses that may be such, or a generic address was taken to be another's. */
  bool is_blind;
  uint32_t blocks; /* basic blocks, in the order of bf_ptx_flow_create */
  bf_analyze_executed *executed;
  uint64_t shared_bytes; /* that accesses can lie in: of variables, or all where one is open */
  const char *launch;    /* what sites that are exact for a launch rest on, or NULL */
  const char *assumed;   /* what sites that are assumed rest on, or NULL */
  struct bf_analysis *part[2]; /* that sites were taken from, or NULL */
} bf_analysis;

/* The shared accesses of a kernel of module. BF_BAD_INPUT for a block that no GPU has. */
int bf_analyze(const bf_ptx_module *module, const bf_ptx_function *kernel,
               const bf_analyze_options *options, bf_analysis **analysis,
               bf_diagnostic *diagnostic);
void bf_analysis_free(bf_analysis *analysis);

/* The same, as much as can be said. Each site is what holds for all values; else what holds for the
 * launch that options give (parameters and grid), in a block in the middle of its grid; else what
 * holds on assumptions: values of the parameters that are not known, a block inside the grid, and
 * data that is spread evenly. Of several assumptions those are taken under which the most sites are
 * reached and stay inside shared memory. */
int bf_analyze_assuming(const bf_ptx_module *module, const bf_ptx_function *kernel,
                        const bf_analyze_options *options, bf_analysis **analysis,
                        bf_diagnostic *diagnostic);
/* Whether it is known how many accesses a site has, and by which lanes: at most their offset is
 * not.
 */
bool bf_analyze_is_counted(const bf_analyze_site *site);
/* Sites of which an access lies outside shared memory: a block of that shape is not what the kernel
 * is launched with. */
uint32_t bf_analysis_strays(const bf_analysis *analysis);
/* Bytes of shared memory that the block does not store to. BF_OK or BF_NO_MEMORY. */
int bf_analysis_open_bytes(const bf_analysis *analysis, uint64_t *bytes);

/* ---- Matrices ---- */

/* A product of wgmma: how much of its matrices lies in shared memory, and how often a block of
 * threads executes it (as bf_analyze_executed says). It reads rows of the memory without conflicts,
 * whatever the descriptors are (tests/data/h200/README.md). */
typedef struct bf_analyze_matrix {
  uint32_t instruction; /* in the kernel */
  uint64_t line;        /* in the PTX */
  const char *source_file;
  uint64_t source_line;
  unsigned columns, depth; /* N and K; M is 64 */
  const char *a_type, *b_type;
  uint64_t a_bytes, b_bytes; /* a_bytes 0: A is in registers */
  uint64_t times;
  unsigned open_loops;
} bf_analyze_matrix;

/* The products of a kernel, in the order of instructions; the list is in the analysis' arena. */
int bf_analyze_matrices(const bf_ptx_module *module, bf_analysis *analysis,
                        const bf_analyze_matrix **list, size_t *count, bf_diagnostic *diagnostic);

/* ---- What it costs ---- */

/* The accesses of a site, each counted once. Where the offset is unknown, wavefronts and conflicts
 * are the fewest that an offset can give, and most_ the most; else both are the same. */
typedef struct bf_analyze_cost {
  uint64_t accesses;
  uint64_t wavefronts, most_wavefronts;
  uint64_t ideal;
  uint64_t conflicts, most_conflicts;
  bool estimated;
  const bf_analyze_access *worst; /* the first with the most conflicts, or NULL */
} bf_analyze_cost;

/* Counts without a hash: none is the hash `none` of the machine. BF_BAD_INPUT, with the line of the
 * site, where an access does not fit the machine: it lies outside shared memory or is not aligned.
 */
int bf_analyze_count(const bf_analyze_site *site, const bf_machine *machine, const bf_hash *none,
                     bf_analyze_cost *cost, bf_diagnostic *diagnostic);
/* An access as traces have it; site is borrowed text. */
bf_access bf_analyze_as_access(const bf_analyze_site *site, const bf_analyze_access *access,
                               const char *text);
/* The class of an access of a site. Where the site is affine, strides, M and origin are those of
 * the formula, with tx and ty the thread index; else those of the lanes, in rows as wide as the
 * block. columns: as in bf_access_classify. */
bf_pattern bf_analyze_classify(const bf_analysis *analysis, const bf_analyze_site *site,
                               const bf_analyze_access *access, unsigned lanes, int64_t columns);

#endif
