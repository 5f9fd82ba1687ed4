/* emu: runs PTX kernels on the CPU and says what they do to memory. It knows nothing of time.
 *
 * A device (bf_emu) holds allocations and loaded modules. Addresses of global memory are those of
 * the host process, so that memory is shared with the program that launches; every access of a
 * kernel is checked against the allocations. A launch runs to its end on the calling thread and as
 * many others as asked for; what it finds wrong is a bf_emu_fault, not an error of the function.
 *
 * Generic addresses: shared memory lies at BF_EMU_SHARED_WINDOW, local memory at
 * BF_EMU_LOCAL_WINDOW, where no memory of a process can be; all else is global.
 */
#ifndef BF_EMU_H
#define BF_EMU_H

#include "emu/sample.h"
#include "memory/memory.h"
#include "ptx/ptx.h"

#define BF_EMU_SHARED_WINDOW (UINT64_C(1) << 47)
#define BF_EMU_LOCAL_WINDOW (UINT64_C(3) << 46)
/* Bytes in each window. */
#define BF_EMU_WINDOW_BYTES (UINT64_C(1) << 32)

enum { BF_EMU_LANES = 32, BF_EMU_MOST_THREADS = 1024 };

/* Shared memory of a block that the system reserves where a kernel asks for it, behind the block's
 * own: CUDA's programming guide has 1 KiB per block of compute capability 8.0 and up. Cooperative
 * groups keep tiles of several warps there. */
enum { BF_EMU_RESERVED_BYTES = 1024 };

/* ---- Devices and their memory ---- */

typedef struct bf_emu bf_emu;

int bf_emu_create(bf_emu **emu, bf_diagnostic *diagnostic);
void bf_emu_free(bf_emu *emu);

/* What an address belongs to. */
typedef enum bf_emu_memory {
  BF_EMU_DEVICE,   /* allocated by bf_emu_alloc */
  BF_EMU_HOST,     /* memory of the program, made known by bf_emu_register */
  BF_EMU_VARIABLE, /* .global or .const of a module */
} bf_emu_memory;

typedef struct bf_emu_range {
  uint64_t address, bytes;
  bf_emu_memory memory;
  unsigned flags;  /* as given to bf_emu_alloc or bf_emu_register; for the caller's use */
  uint64_t serial; /* grows with every range added to the device */
  bool is_managed; /* a variable that the host uses as well: .attribute(.managed) */
} bf_emu_range;

/* bytes of device memory (0 counts as 1) aligned to 512 bytes; BF_NO_MEMORY where there is none.
 * Its content is undefined, as on a GPU. */
int bf_emu_alloc(bf_emu *emu, uint64_t bytes, unsigned flags, uint64_t *address,
                 bf_diagnostic *diagnostic);
/* Lets kernels use memory of the program. BF_BAD_INPUT where it overlaps what is known. */
int bf_emu_register(bf_emu *emu, void *memory, uint64_t bytes, unsigned flags,
                    bf_diagnostic *diagnostic);
/* Takes back what starts at address: device memory is freed, memory of the program forgotten.
 * BF_BAD_INPUT where nothing of that kind starts there. */
int bf_emu_release(bf_emu *emu, uint64_t address, bf_diagnostic *diagnostic);
/* The range that holds address; false where there is none. */
bool bf_emu_find(const bf_emu *emu, uint64_t address, bf_emu_range *range);
/* Copies the ranges, sorted by address, to list, which has room for most; returns how many there
 * are. */
size_t bf_emu_ranges(const bf_emu *emu, bf_emu_range *list, size_t most);
/* Bytes of device memory in use. */
uint64_t bf_emu_used_bytes(const bf_emu *emu);

/* ---- Textures and surfaces ---- */

typedef enum bf_emu_texel {
  BF_EMU_TEXEL_SIGNED,
  BF_EMU_TEXEL_UNSIGNED,
  BF_EMU_TEXEL_FLOAT
} bf_emu_texel;

/* What coordinates outside a texture mean. WRAP and MIRROR need normalised coordinates; without
 * them they are CLAMP. */
typedef enum bf_emu_outside {
  BF_EMU_OUTSIDE_WRAP,
  BF_EMU_OUTSIDE_CLAMP,
  BF_EMU_OUTSIDE_MIRROR,
  BF_EMU_OUTSIDE_BORDER
} bf_emu_outside;

/* Texels in memory of the device, and how tex reads them. Surfaces use only the first part. */
typedef struct bf_emu_texture {
  uint64_t address;
  uint64_t pitch_bytes, slice_bytes; /* from row to row, and from slice or layer to the next */
  uint32_t width, height, depth;     /* texels, 1 where there is no such dimension; depth: layers */
  bf_emu_texel kind;
  unsigned channels, channel_bits; /* 1, 2 or 4 of 8, 16 or 32 */
  bool is_linear;                  /* 1D memory read by index: 0 outside */
  bf_emu_outside outside[3];
  bool is_filtered;    /* linear interpolation between texels, else the nearest one */
  bool is_normalised;  /* coordinates from 0 to 1, else in texels */
  bool reads_fraction; /* integers become numbers from 0 or -1 to 1 */
  bool is_srgb;        /* and those of the first three channels of 8 bits are linear then */
  float border[4];
  bool is_cube, is_seamless; /* six layers are the faces of a cube; filtered across its edges */
  /* Mipmaps: how many levels there are, 0 counts as 1, and how one is chosen. */
  unsigned levels;
  bool blends_levels; /* linear interpolation between levels, else the nearest one */
  float level_bias, least_level, most_level;
} bf_emu_texture;

enum { BF_EMU_MOST_LEVELS = 32 };

/* Makes a texture or surface known under a handle that kernels can be given; one with several
 * levels is an array of so many, the largest first. Neither may be called while a launch that uses
 * textures runs. */
int bf_emu_texture_add(bf_emu *emu, const bf_emu_texture *texture, uint64_t *handle,
                       bf_diagnostic *diagnostic);
/* False where there is no such handle. */
bool bf_emu_texture_remove(bf_emu *emu, uint64_t handle);

/* ---- Modules ---- */

typedef struct bf_emu_module bf_emu_module;
typedef struct bf_emu_kernel bf_emu_kernel;

/* Places and initialises the variables of a module, which is borrowed and must live longer.
 * Functions are made ready at their first launch. */
int bf_emu_load(bf_emu *emu, const bf_ptx_module *ptx, bf_emu_module **module,
                bf_diagnostic *diagnostic);
void bf_emu_unload(bf_emu_module *module);
/* Gives all variables of the module the values that they had when it was loaded. */
int bf_emu_restore(bf_emu_module *module, bf_diagnostic *diagnostic);
/* The .global or .const variable called name; false where there is none. */
bool bf_emu_variable(const bf_emu_module *module, const char *name, bf_emu_range *range);
/* Whether kernels may call a function of that name which no module defines. */
bool bf_emu_provides(const char *name);
/* What a pointer to the function holds. */
uint64_t bf_emu_function_pointer(const bf_ptx_function *function);

/* What a kernel needs. registers is an estimate: the most 32-bit values alive at once. */
typedef struct bf_emu_needs {
  uint64_t parameter_bytes;
  uint64_t shared_bytes; /* declared in the PTX */
  uint64_t local_bytes;  /* per thread */
  uint64_t const_bytes;  /* of the module */
  unsigned registers;
  bool has_registers;      /* the machine code says so; else they are an estimate */
  unsigned most_threads;   /* per block: .maxntid, or 1024 */
  uint32_t exact_block[3]; /* .reqntid, or 0 */
  bool has_dynamic_shared;
  uint32_t exact_cluster[3]; /* .reqnctapercluster, or 0 */
} bf_emu_needs;

/* Makes an entry ready to run. BF_BAD_INPUT where there is none of that name; BF_UNSUPPORTED where
 * it, or a function it can call, holds instructions that the emulator does not run: the message
 * lists them all with their lines. The kernel belongs to the module. */
int bf_emu_kernel_get(bf_emu_module *module, const char *name, const bf_emu_kernel **kernel,
                      bf_diagnostic *diagnostic);
const bf_emu_needs *bf_emu_kernel_needs(const bf_emu_kernel *kernel);
const char *bf_emu_kernel_name(const bf_emu_kernel *kernel);
/* The module that it is part of. */
const bf_ptx_module *bf_emu_kernel_ptx(const bf_emu_kernel *kernel);
/* Offset and bytes of parameter index in the parameter block. */
bool bf_emu_kernel_parameter(const bf_emu_kernel *kernel, unsigned index, uint64_t *offset,
                             uint64_t *bytes);

/* ---- Sites: the instructions that touch memory ---- */

/* Numbered from 0 within a kernel and the functions it can call. */
typedef struct bf_emu_site {
  const bf_ptx_function *function;
  const bf_ptx_instruction *instruction;
  uint64_t line;           /* in the PTX */
  const char *source_file; /* from .loc, or NULL */
  uint64_t source_line;    /* 0: not known */
  /* Where the function that the line is in was inlined, or NULL and 0. */
  const char *inlined_file;
  uint64_t inlined_line;
  const char *inlined_further; /* the calls around that, "b.cuh:21, inlined at c.cu:5", or NULL */
} bf_emu_site;

unsigned bf_emu_kernel_sites(const bf_emu_kernel *kernel);
bf_emu_site bf_emu_kernel_site(const bf_emu_kernel *kernel, unsigned index);

/* ---- Access events ---- */

/* What the hardware reads or writes in shared memory by itself. */
typedef enum bf_operand_kind {
  BF_OPERAND_A, /* matrices of wgmma */
  BF_OPERAND_B,
  BF_OPERAND_LOADED, /* bulk and tensor copies into shared memory, */
  BF_OPERAND_STORED, /* and out of it */
  /* Accesses to other blocks of the cluster, which no bank of the own block serves. */
  BF_OPERAND_FAR_LOADED,
  BF_OPERAND_FAR_STORED,
  BF_OPERAND_FAR_ATOMIC,
  BF_OPERANDS
} bf_operand_kind;

/* One of them: a matrix of rows x columns elements, or a box of such rows; of accesses to other
 * blocks, lanes and bytes of each, and the bytes are those of the sectors that travel. */
typedef struct bf_operand {
  uint32_t rows, columns;
  uint32_t bytes;
  uint16_t swizzle_bytes;           /* 0: none */
  bool is_turned;                   /* MN-major */
  char type[8];                     /* "f16"; "" is bytes */
  uint32_t first, end;              /* where in the shared memory of its block; 0, 0: not known */
  uint32_t least_bytes, most_bytes; /* what a GPU may count for a far access; 0, 0: as bytes */
} bf_operand;

/* What one warp does in one instruction. op, width_bytes, mask and address are as in bf_access; for
 * shared memory addresses count from the start of the block's shared memory. Addresses of lanes
 * outside mask mean nothing. */
typedef struct bf_lined_key bf_lined_key;
typedef struct bf_lined bf_lined;
typedef struct bf_emu_event {
  unsigned site;
  unsigned worker;    /* which of the launch's threads says this: 0 to workers-1 */
  uint64_t block;     /* x + grid_x * (y + grid_y * z) */
  unsigned warp;      /* in its block */
  uint32_t sample;    /* with samples of the launch: which of them the block is */
  bf_ptx_space space; /* SHARED or GLOBAL */
  bf_op op;
  unsigned width_bytes; /* per lane */
  uint32_t mask;
  const uint32_t *shared_address; /* 32 lanes; NULL for global memory */
  const uint64_t
      *global_address;       /* 32 lanes; for shared memory: where cp.async copies from, or NULL */
  bool is_cached;            /* cp.async through the first-level cache */
  const bf_operand *operand; /* by kind, those with bytes; NULL but for operands */
  const bf_changes *changes; /* of 64-bit atomics whose count depends on values, or NULL */
  const bf_lined_key *line;  /* its lanes lie in line: what it is remembered by, or NULL */
} bf_emu_event;

/* Called from several threads at once, never at once with the same worker. */
/* A piece of global memory that a bulk or tensor copy touches. */
typedef struct bf_emu_piece {
  uint64_t address, bytes;
} bf_emu_piece;

typedef enum bf_emu_way {
  BF_EMU_WAY_LOAD,     /* from global to shared memory */
  BF_EMU_WAY_SHARE,    /* from shared to shared memory, st.async and red.async too */
  BF_EMU_WAY_STORE,    /* from shared to global memory, reductions too */
  BF_EMU_WAY_PREFETCH, /* to the second-level cache */
} bf_emu_way;

/* A bulk or tensor copy that a lane has asked for, or a part of it. */
typedef struct bf_emu_copy {
  unsigned worker;
  bf_emu_way way;
  bool is_tensor;
  uint32_t bytes;
  uint64_t ticket; /* for bf_emu_block_land, where it loads or shares; 0: more parts follow */
  uint32_t ranks;  /* LOAD, SHARE: mask of the blocks of the cluster that it goes to */
  const bf_emu_piece *piece;
  unsigned pieces; /* SHARE: 0 */
} bf_emu_copy;

typedef struct bf_emu_observer {
  void (*access)(void *context, const bf_emu_event *event);
  void *context;
  bool wants_global; /* else shared memory only */
  /* Shared loads and stores as ptxas merges them into wider ones (ptx/merge.c), else as written. */
  bool as_merged;
  /* Told of every shared access as written too, before what it is merged into; NULL: not. */
  void (*written)(void *context, const bf_emu_event *event);
  /* Told of matrices that wgmma reads from shared memory, once for the four warps of a group, and
   * of bulk and tensor copies; NULL: not. What they are stands in the event, which has no
   * addresses. */
  void (*operands)(void *context, const bf_emu_event *event);
  /* Told of bulk and tensor copies and where in global memory they go; those with a ticket arrive
   * when bf_emu_block_land says so. NULL: not, and they arrive when they are waited for. */
  void (*copied)(void *context, const bf_emu_copy *copy);
  /* What it keeps of shared accesses for each of so many workers (lined.h), so that those made
   * before are counted there and not told of; NULL: it is told of all. settle is called every so
   * often, and at the end of a launch, to add up what a worker has counted. */
  bf_lined **tally;
  unsigned tallies;
  void (*settle)(void *context, unsigned worker);
} bf_emu_observer;

/* ---- Launches ---- */

typedef enum bf_emu_fault_kind {
  BF_EMU_NO_FAULT,
  BF_EMU_OUT_OF_BOUNDS,
  BF_EMU_USE_AFTER_FREE,
  BF_EMU_MISALIGNED,
  BF_EMU_READ_ONLY,     /* store to parameters */
  BF_EMU_UNINITIALISED, /* shared memory read before it was written */
  BF_EMU_RACE,          /* two threads, one of them writing, without a barrier between */
  BF_EMU_TRAP,
  BF_EMU_ASSERT, /* __assertfail; text says which */
  BF_EMU_STACK_OVERFLOW,
  BF_EMU_BAD_CALL, /* through a pointer to no function */
  BF_EMU_BAD_BARRIER,
  BF_EMU_BAD_INSTRUCTION,
  BF_EMU_DEADLOCK,
  BF_EMU_INTERRUPTED, /* the progress callback said stop */
  BF_EMU_FAULT_COUNT
} bf_emu_fault_kind;

/* One word or two for a fault: "out of bounds". */
const char *bf_emu_fault_name(bf_emu_fault_kind kind);

typedef struct bf_emu_fault {
  bf_emu_fault_kind kind;
  const char *kernel;
  uint64_t line; /* in the PTX */
  const char *source_file;
  uint64_t source_line;
  char calls[240]; /* where that was inlined: "b.cuh:21, inlined at c.cu:5", or empty */
  uint32_t block[3], thread[3];
  bf_ptx_space space;
  uint64_t address;
  unsigned width_bytes;
  bool is_write;
  char text[400]; /* what else is known, or empty */
} bf_emu_fault;

/* A sentence about the fault with all that is known, without a full stop. */
void bf_emu_fault_explain(const bf_emu_fault *fault, bf_text *text);

/* The memory of the device that a launch touched: whole ranges, each once. With its content and the
 * parameters, all that the kernel does is settled, unless it is open. */
enum { BF_EMU_TOUCHED = 64 };
typedef struct bf_emu_touched {
  bf_emu_range range[BF_EMU_TOUCHED];
  unsigned ranges;
  bool is_open; /* more ranges, or it looked at a clock, printed, allocated, launched */
} bf_emu_touched;

typedef struct bf_emu_launch {
  const bf_emu_kernel *kernel;
  uint32_t grid[3], block[3];
  uint32_t cluster[3]; /* blocks of a cluster; 0: as the kernel says, or none */
  uint64_t dynamic_shared_bytes;
  const void *parameters; /* the parameter block, laid out as in the PTX */
  uint64_t parameter_bytes;
  bool cooperative;         /* all blocks are in flight at once */
  unsigned workers;         /* threads of the host to use; 0: one per core */
  bool is_beside;           /* others may change memory meanwhile, even with one worker */
  bool check_uninitialised; /* shared memory read before it was written */
  bool check_races;         /* between threads, blocks and launches (race.c) */
  uint64_t race_bytes;      /* that what is known of global memory may take for that; 0: any */
  /* With check_races: the number of this launch, from 1 on and growing (0: none), of the last one
   * that all later launches follow, and whether this one follows an earlier one that is not among
   * those. NULL: it follows all. */
  uint32_t number, settled;
  bool (*follows)(void *context, uint32_t number);
  void *follows_context;
  /* An earlier launch beside which this one may run until its blocks execute griddepcontrol.wait,
   * if that has executed griddepcontrol.launch_dependents; 0: none. */
  uint32_t overlaps;
  uint64_t stack_bytes;            /* local memory and calls per thread; 0: 64 KiB */
  unsigned multiprocessors;        /* that blocks go to in turn, for %smid; 0: one is a worker */
  uint64_t heap_bytes;             /* of malloc in kernels, of all launches together; 0: any */
  const uint32_t *environment;     /* %envreg0 to %envreg31, or NULL: all 0 */
  const bf_emu_observer *observer; /* or NULL */
  /* Told of accesses to memory that is not there, is not aligned or cannot be written: reads then
   * give 0 and writes are dropped, and the launch goes on. tolerated has a byte for each site of
   * the kernel, which becomes 1 where its first such access is told of; later ones are not. One
   * thread at a time. NULL: such an access ends the launch. */
  void (*tolerate)(void *context, const bf_emu_fault *fault, unsigned site);
  void *tolerate_context;
  uint8_t *tolerated;
  /* Text that the kernel prints, whole calls of printf at a time; NULL: dropped. */
  void (*print)(void *context, const char *text, size_t bytes);
  void *print_context;
  /* Called now and then with the number of blocks done, by one thread at a time; false stops the
   * launch, also one that would never end. NULL: none. */
  bool (*progress)(void *context, uint64_t blocks_done, uint64_t blocks);
  void *progress_context;
  /* The blocks whose accesses the observer is told of, in order; NULL: all. skips_rest: the others
   * are not run at all, unless blocks that are run wait for them for long. */
  const bf_sample_block *sample;
  size_t samples;
  bool skips_rest;
  bf_emu_touched *touched; /* filled in; NULL: nobody wants to know */
} bf_emu_launch;

typedef struct bf_emu_result {
  bf_emu_fault fault; /* the first one; kind BF_EMU_NO_FAULT when all went well */
  uint64_t warp_instructions;
  uint64_t thread_instructions; /* lanes that executed them, summed */
  unsigned workers;             /* that ran */
  bool leaves_out_races;        /* race_bytes were not enough: some memory was not looked at */
} bf_emu_result;

/* Runs a kernel. Errors are those of the launch itself (BF_BAD_INPUT: sizes that do not fit;
 * BF_NO_MEMORY); faults of the kernel are in *result. */
int bf_emu_run(bf_emu *emu, const bf_emu_launch *launch, bf_emu_result *result,
               bf_diagnostic *diagnostic);

/* Whether a kernel has asked for memory of the heap since the device was new, or the heap was
 * forgotten: its size stays then. All memory is freed before the latter, and no kernel runs. */
bool bf_emu_has_heap(const bf_emu *emu);
void bf_emu_forget_heap(bf_emu *emu);

/* ---- Conflict profile ---- */

/* Counts wavefronts of shared accesses while a kernel runs: per site, and nothing is stored per
 * access. */
typedef struct bf_profile bf_profile;

/* What the hardware has read or written by itself, summed. */
typedef struct bf_operand_sum {
  bf_operand what; /* the last one; bytes: of one; first and end: around all of them */
  bool varies;     /* others had another shape, type or swizzle */
  uint64_t times, bytes;
  uint64_t least_bytes,
      most_bytes;      /* what a GPU may count: differ from bytes of far accesses only */
  uint64_t wavefronts; /* none of them conflicts (tests/data/h200/README.md) */
} bf_operand_sum;

/* What a site has cost, summed over all its executions. */
typedef struct bf_profile_row {
  uint64_t executions; /* accesses: warp instructions with at least one lane */
  uint64_t wavefronts_load, wavefronts_store, wavefronts_atomic;
  uint64_t wavefronts; /* the three together */
  uint64_t ideal;
  uint64_t conflicts;
  uint32_t worst; /* most wavefronts of one execution */
  bf_op op;
  unsigned width_bytes;
  bool estimated;
  uint32_t rivals;        /* warps of blocks that made accesses which try again (rule lock-loop) */
  uint64_t failed;        /* accesses that the machine cannot make, not counted above */
  bf_access worst_access; /* one that cost so much; with worst > 0 */
  uint64_t worst_block;   /* whose it is: the first of those that have one */
  bf_operand_sum operand[BF_OPERANDS];
} bf_profile_row;

/* machine and hash (NULL: none) are borrowed. workers: as many as launches will have (0: one per
 * core). */
int bf_profile_create(const bf_machine *machine, const bf_hash *hash, const bf_emu_kernel *kernel,
                      unsigned workers, bf_profile **profile, bf_diagnostic *diagnostic);
/* Different accesses that a profile keeps at most; each takes some hundred bytes. */
enum { BF_PROFILE_MOST = 1 << 16 };
/* Has a profile keep all different accesses that it counts, too; before its first launch. budget
 * (NULL: none) is how many may be kept yet by all profiles that share it. */
int bf_profile_keep(bf_profile *profile, size_t *budget, bf_diagnostic *diagnostic);
/* What was kept so far, while no launch runs; NULL where there were too many different accesses, or
 * they are not kept. */
const bf_workload *bf_profile_accesses(const bf_profile *profile);
/* The observer that feeds the profile. */
bf_emu_observer bf_profile_observer(bf_profile *profile);
/* Has every access of the next launches count as often as its block stands for: samples are those
 * of the launch, borrowed until its end. NULL: once. */
int bf_profile_weigh(bf_profile *profile, const bf_sample_block *sample, bf_diagnostic *diagnostic);
/* Conflicts of a site in launches with samples, by group; and the most wavefronts of a block. */
bf_sample_sums bf_profile_sums(const bf_profile *profile, unsigned site);
double bf_profile_most_of_block(const bf_profile *profile);
/* The sums of all workers for a site. */
bf_profile_row bf_profile_get(const bf_profile *profile, unsigned site);
/* How many warps of a block try again where others of them were faster (bf_profile_row). */
unsigned bf_profile_rivals(const bf_profile *profile);
/* What launches add to a profile: bf_profile_since gives what was added since the start, as a copy
 * to be freed, and bf_profile_repeat adds that once more. No launch may run. NULL where memory is
 * exhausted, or accesses are not kept any more. */
typedef struct bf_profile_part bf_profile_part;
bf_profile_part *bf_profile_start(const bf_profile *profile);
bool bf_profile_since(const bf_profile *profile, bf_profile_part *start);
void bf_profile_repeat(bf_profile *profile, const bf_profile_part *part);
void bf_profile_part_free(bf_profile_part *part);
void bf_profile_free(bf_profile *profile);

/* The memory that a profile counts in: a row for each site, worker by worker. */
typedef struct bf_profile_memory {
  size_t bytes;
  unsigned sites, workers;
} bf_profile_memory;
bf_profile_memory bf_profile_memory_of(const bf_profile *profile);
/* Has a profile that has not counted yet count in other memory of that size, all 0, which is
 * borrowed. */
void bf_profile_move(bf_profile *profile, bf_profile_row *rows);
/* The sum of the rows of a site, whose first is at row. */
bf_profile_row bf_profile_sum(const bf_profile_row *row, unsigned sites, unsigned workers);

/* An estimate of the 32-bit registers that a thread needs in a kernel (pressure.c). */
unsigned bf_emu_function_registers(const bf_ptx_function *function);

/* ---- Traces of launches ---- */

/* Writes the shared accesses of launches as a trace (docs/traces.md), with the source line of each
 * as its site (ptx/site.h). Equal accesses are written once, with a count. */
typedef struct bf_tracer bf_tracer;

int bf_tracer_open(const char *path, bool packed, bf_tracer **tracer, bf_diagnostic *diagnostic);
/* The observer for a launch of kernel, one launch at a time. */
int bf_tracer_begin(bf_tracer *tracer, const bf_emu_kernel *kernel, bf_emu_observer *observer,
                    bf_diagnostic *diagnostic);
/* Writes what is left and makes the file appear. */
int bf_tracer_commit(bf_tracer *tracer, bf_diagnostic *diagnostic);
/* After that: lines written, and the executions they stand for. */
void bf_tracer_count(const bf_tracer *tracer, uint64_t *lines, uint64_t *executions);
void bf_tracer_close(bf_tracer *tracer);

#endif
