/* Inside runtime: the one context of the process, and what its files offer each other. A program
 * calls from any thread; every call enters the context, which takes its lock, and leaves it with an
 * error code, which becomes the last error of the thread.
 *
 * Work runs to its end inside the call that asks for it, so that streams are idle; kernels that may
 * wait for the host are the exception (beside.c). What programs can see of asynchrony is kept: text
 * that kernels print and faults of kernels appear at the next synchronisation. */
#ifndef RT_CONTEXT_H
#define RT_CONTEXT_H

#include "abi.h"
#include "calls.h"
#include "emu/child.h"
#include "emu/emu.h"
#include "exchange/live.h"
#include "exchange/settings.h"
#include "map.h"
#include "ptx/fatbin.h"
#include "sim/ledger.h"
#include "tune/judge.h"
#include "tune/observe.h"

#include <pthread.h>

/* Flags of memory in the emulator. */
enum {
  RT_MANAGED = 1,    /* cudaMallocManaged */
  RT_PINNED = 2,     /* cudaMallocHost, cudaHostAlloc: ours to free */
  RT_REGISTERED = 4, /* cudaHostRegister */
  RT_MAPPED = 8,     /* cuMemMap, cudaIpcOpenMemHandle: memory of the device all the same */
  RT_IMPORTED = 16,  /* of another process */
  RT_POOLED = 32,    /* and of a pool: freed as memory of this process is */
  RT_WORKSPACE = 64, /* of one cooperative launch, alike at the start of each */
  RT_FLAGS_SHIFT = 8 /* what the program gave stands above */
};

/* Whether the host may use memory of the device as well: cudaMallocManaged, or a variable that is
 * managed. */
static inline bool rt_is_managed(const bf_emu_range *range) {
  return (range->flags & RT_MANAGED) || range->is_managed;
}

/* The GPU that programs see: numbers of the machine's best known product, or of the GPU that is
 * simulated. */
typedef struct rt_device {
  const char *machine, *product;
  int major, minor, multiprocessors;
  int clock_khz, memory_clock_khz, memory_bus_bits;
  uint64_t memory_bytes, l2_bytes;
  int shared_per_multiprocessor_bytes, shared_per_block_bytes, shared_opt_in_bytes;
  int registers, threads_per_multiprocessor, blocks_per_multiprocessor, threads_per_block;
  int single_to_double;
} rt_device;

/* A fat binary that the program registered, or code that it loaded by a call. */
typedef struct rt_module {
  struct rt_module *next;
  const rt_fatbin_wrapper *wrapper; /* NULL once unregistered, and where it was loaded by a call */
  bool is_tried;                    /* loading was tried; error says how it went */
  int error;
  bf_ptx_module *ptx;
  bf_emu_module *loaded;
  int ptx_arch;      /* e.g. 90 */
  char *without_ptx; /* compiled separately: a part that has machine code only, or NULL */
  bf_text text;      /* of ptx, where ptxas is to be asked about it (simulate.c) */
  struct bf_machine_code *machine_code; /* what it made, or NULL */
  struct rt_variable *variables;
} rt_module;

/* What the launches of a kernel with one hash have done. */
typedef struct rt_tally {
  struct rt_tally *next; /* of the kernel */
  const bf_hash *hash;   /* of the banks; NULL: none */
  bf_lock_hash lock_hash;
  uint64_t launches, warp_instructions, thread_instructions;
  struct rt_repeated *repeated; /* launches that may be repeated (repeat.c) */
  uint64_t refused;             /* launches that could not be run */
  uint64_t faults;              /* launches that a fault of the kernel ended */
  double seconds;               /* of the host */
  bf_profile *profile; /* of emulated launches; of simulated ones it has the accesses; or NULL */
  /* Of simulated launches. */
  uint64_t cycles;
  double simulated_seconds;
  double joules, conflict_joules; /* 0: the GPU's file does not say */
  uint64_t work_cycles;           /* simulated: bf_work_cycles of all launches */
  bf_sim_site *site;              /* per site of the kernel; NULL: none was simulated */
  bf_live *live;                  /* the same as a file, or NULL */
  bf_sampler *sampler;            /* of exec --sample, or NULL */
} rt_tally;

/* A hash that the program, or exec, has chosen at some time; kept to the end of the process. */
typedef struct rt_hash {
  struct rt_hash *next;
  bf_hash *hash;
} rt_hash;

/* A kernel that the program registered. */
typedef struct rt_function {
  struct rt_function *next;
  rt_module *module;
  const void *host; /* the stub that the program calls, or NULL */
  char *name;
  const bf_emu_kernel *kernel; /* NULL until its first use */
  int error;                   /* of making it ready */
  int dynamic_shared_limit;    /* -1: as the device has it */
  int carveout;
  bool has_large_clusters; /* more than 8 blocks in a cluster are allowed */
  uint8_t may_wait;        /* what rt_may_wait found out */
  bool is_running;         /* and another launch may go on */
  bool has_waited;         /* a launch went on when its call returned */
  rt_tally *tallies;
  bf_observer *accesses; /* that were kept, or NULL */
  uint8_t *tolerated;    /* per site: whether a wrong access was said; NULL: none was tolerated */
} rt_function;

/* A variable that the program registered. */
typedef struct rt_variable {
  struct rt_variable *next; /* of the module */
  rt_module *module;
  const void *host;
  char *name;
  size_t bytes;
  void **managed;      /* where the program keeps its address, or NULL */
  bool reads_fraction; /* of a texture reference: texels are numbers from 0 or -1 to 1 */
} rt_variable;

typedef struct rt_pool rt_pool; /* pool.c */

/* Streams, events and pools; what they are must be known when a program hands one over. */
typedef struct rt_object {
  enum { RT_STREAM = 1, RT_EVENT, RT_POOL } kind;
  unsigned flags;
  int priority;
  uint64_t number;
  bool is_recorded;
  bool is_awaited;        /* recorded behind a launch that goes on (beside.c) */
  double seconds;         /* when it was recorded, by rt_seconds */
  rt_pool *pool;          /* of a pool (pool.c) */
  struct rt_clock *clock; /* of an event: what it follows (order.h), or NULL */
  uint8_t *attributes;    /* of a stream: values that were set (attributes.c), or NULL */
} rt_object;

typedef struct rt_context {
  pthread_mutex_t lock;
  pthread_cond_t idle;           /* told when is_busy ends */
  bool is_busy;                  /* a launch goes on though its call has returned (beside.c) */
  const void *busy_stream;       /* its stream */
  pthread_t busy_thread;         /* that runs it, and what comes behind it */
  const char *busy_kernel;       /* that runs */
  struct rt_node *later, **last; /* what comes behind it (later.c) */
  uint64_t blocks_done;          /* of the launch that runs */
  unsigned besides;              /* launches that run beside it (launch.c) */
  pthread_mutex_t print_lock;    /* of printed */
  bool is_meddled;               /* calls were made meanwhile */
  bool is_awaited_said;          /* a line has told that calls wait */
  bool is_filter_said;           /* a line has told of a filter that whole numbers do without */
  bool is_given_up;              /* the launch is to end: the program has */
  bool is_set_up;
  int set_up_error;
  long process;             /* that set it up; a forked one has nothing of its own to record */
  bool is_finished;         /* the records are written */
  bf_run_settings settings; /* what the environment says (docs/runtime.md) */
  const rt_device *device;
  uint64_t room_bytes; /* of the host, when the context was set up */
  bool says_races_left_out;
  const bf_machine *machine;
  bf_sim_gpu *gpu;      /* launches are simulated on it; NULL: emulated */
  rt_device gpu_device; /* what programs see of it */
  char gpu_product[80];
  double simulated_seconds; /* of all launches so far */
  double kernel_seconds;    /* that the host has run kernels for */
  bool is_hinted;           /* that has been said once (progress.c) */
  uint64_t repeat_bytes;    /* of results that are kept for launches to come (repeat.c) */
  rt_hash *hashes;
  bf_hash_list *kernel_hashes;    /* of a file, or NULL */
  bf_hash_list *rewriting_hashes; /* of another, that modules are rewritten with */
  bool has_chosen_hash;           /* the program has, by a call */
  const bf_hash *hash;            /* of the banks in the launches to come; NULL: none */
  bf_lock_hash lock_hash;
  bf_emu *emu;
  bf_text printed; /* by kernels, not yet handed to stdout */
  int pending;     /* a fault that no synchronisation has seen yet */
  int sticky;      /* a fault that every call returns from now on */
  rt_module *modules;
  rt_function *functions;
  rt_map by_host;   /* stub or handle to rt_function */
  rt_map variables; /* host address to rt_variable */
  rt_map opened;    /* modules that were loaded by a call */
  rt_map objects;
  rt_map arrays;          /* handle to rt_array */
  rt_map mipmaps;         /* handle to rt_mipmap */
  rt_map textures;        /* handles of textures and surfaces to rt_texture */
  rt_map allocations;     /* of device memory: address to its pool, or to itself */
  rt_map advice;          /* for allocations: address to rt_advice (advice.c) */
  rt_map exports;         /* of them that other processes may use: address to rt_export (ipc.c) */
  rt_map refused;         /* names already said */
  rt_map graphs;          /* handles of graphs, nodes and instances (graph.h) */
  rt_map graph_memory;    /* address to the memory of a node */
  rt_map capturing;       /* stream to what it captures (graph_capture.c) */
  rt_map captured_events; /* event to where it was recorded in a capture */
  struct rt_order *order; /* of launches (order.h); NULL: races are not looked for */
  uint64_t graphs_made, captures_made;
  uint64_t objects_made;
  uint8_t *default_attributes;            /* of the default streams (attributes.c), or NULL */
  rt_object *default_pool, *current_pool; /* NULL: not asked for yet; the default one */
  size_t limit[8];
  int cache_config;
  unsigned device_flags;
  bf_tracer *trace; /* open from the first launch on */
  bool trace_failed;
  size_t accesses_left;    /* different ones that may be kept yet, of all functions */
  size_t kept_left;        /* the same for profiles */
  bool is_primary_used;    /* a call of the runtime has set it up: the primary context is current */
  struct dr_state *driver; /* what the driver's interface keeps (driver/driver.h), or NULL */
} rt_context;

/* ---- Calls (context.c) ---- */

/* Takes the lock, whatever goes on. */
rt_context *rt_enter(void);
/* The same at a synchronisation with a stream, or with all (RT_ALL_STREAMS), whose work is waited
 * for. */
rt_context *rt_enter_synchronised(const void *stream);
/* What a synchronisation does: text of kernels is written and pending faults become sticky, unless
 * a launch goes on. */
void rt_settle(rt_context *context);
/* Notes the error as the thread's last one unless it is a success, gives the lock back, returns the
 * error. */
int rt_leave(rt_context *context, int error);
/* Starts the emulator at its first use. */
int rt_set_up(rt_context *context);
/* Enters; leaves at once where a fault has ended all work. */
#define RT_ENTER(context)                                                                          \
  rt_context *context = rt_enter();                                                                \
  if (context->sticky != cudaSuccess)                                                              \
  return rt_leave(context, context->sticky)
/* The same, with the emulator running. */
#define RT_ENTER_DEVICE(context)                                                                   \
  RT_ENTER(context);                                                                               \
  do {                                                                                             \
    int set_up_error = rt_set_up(context);                                                         \
    if (set_up_error != cudaSuccess)                                                               \
      return rt_leave(context, set_up_error);                                                      \
  } while (0)
/* The same at a synchronisation with a stream, and with all of them. */
#define RT_SYNCHRONISE(context) RT_SYNCHRONISE_WITH(context, RT_ALL_STREAMS)
#define RT_SYNCHRONISE_WITH(context, stream)                                                       \
  rt_context *context = rt_enter_synchronised(stream);                                             \
  do {                                                                                             \
    int fault = context->sticky != cudaSuccess ? context->sticky : rt_set_up(context);             \
    if (fault != cudaSuccess)                                                                      \
      return rt_leave(context, fault);                                                             \
  } while (0)
/* A line on stderr that begins with "bankfold: ". */
void rt_say(const rt_context *context, const char *format, ...) BF_PRINTF(2, 3);
/* Says once that a call is not supported; returns cudaErrorNotSupported. Takes the lock. */
int rt_refuse(const char *name);

/* What the calling thread has chosen for captures; a cudaStreamCaptureMode. */
int *rt_capture_mode(void);

/* A configuration that <<<>>> left for the kernel's stub, per thread. */
typedef struct rt_configuration {
  rt_dim3 grid, block;
  size_t dynamic_shared_bytes;
  void *stream;
  rt_dim3 cluster;      /* blocks of a cluster; 0: as the kernel says */
  bool is_programmatic; /* it may begin before the launch before it in the stream ends */
} rt_configuration;
bool rt_push_configuration(rt_configuration configuration);
bool rt_pop_configuration(rt_configuration *configuration);

/* ---- Errors (errors.c) ---- */

const char *cudaGetErrorName(int error);
const char *cudaGetErrorString(int error);

/* ---- Device (device.c) ---- */

/* The product that stands for a machine. */
const rt_device *rt_device_of(const char *machine);
uint64_t rt_memory_bytes(const rt_context *context);
/* Bytes that the host, or the group of processes, has room for now, but for an eighth (host.c). */
uint64_t rt_host_bytes(void);
/* The number of the limit of the heap of kernels. */
enum { RT_HEAP_LIMIT = 2 };
/* The value of an attribute of the device, or of a limit; a cudaError. */
int rt_device_attribute(const rt_context *context, int attribute, uint64_t *value);
int rt_device_limit(const rt_context *context, int limit, uint64_t *value);

/* ---- Modules (modules.c) ---- */

/* A kernel, known by its stub where it has one and by the handle that is the record itself; NULL
 * where memory is exhausted. */
rt_function *rt_add_function(rt_context *context, rt_module *module, const void *host,
                             const char *name);
/* Whether PTX is NVIDIA's device runtime (libcudadevrt), whose functions the emulator has. */
bool rt_is_device_runtime(const bf_text *text);
/* The PTX that the device would take, or else the best there is: the emulator runs all. */
const bf_image *rt_pick_image(const rt_context *context, const bf_fatbin *fatbin);
/* Unpacks, parses and loads one PTX image; a bf_error. */
int rt_load_image(rt_context *context, rt_module *module, const bf_fatbin *fatbin,
                  const bf_image *image, bf_diagnostic *diagnostic);
/* The CUDA error for an error of the library. */
int rt_error_of(int error, int otherwise);
/* Says what went wrong with the program's PTX. */
void rt_complain(const rt_context *context, const bf_diagnostic *diagnostic);
rt_function *rt_find_function(const rt_context *context, const void *host);
/* Says that what has no PTX, and how to build it. */
void rt_say_machine_code(const rt_context *context, const char *what);
/* Links the parts of a module that was compiled separately; a bf_error (link.c). */
int rt_link(const rt_context *context, rt_module *module, bf_diagnostic *diagnostic);
/* Parses and loads what a function needs at its first use; a cudaError. */
int rt_make_ready(rt_context *context, rt_function *function);
/* The range of a variable in device memory; a cudaError. */
int rt_locate(rt_context *context, const void *symbol, bf_emu_range *range);
/* A variable of a module, known by its address in the program; its bytes, managed and
 * reads_fraction are given. Takes the lock. */
void rt_add_variable(void **handle, const void *host, const char *name, const rt_variable *given);

/* ---- Modules that are loaded by a call (images.c) ---- */

/* Loads PTX text that ends with a NUL, a fat binary, or what wraps one; a cudaError, with more
 * about it in *diagnostic. */
int rt_open_image(rt_context *context, const void *image, rt_module **module,
                  bf_diagnostic *diagnostic);
/* The same for a file. */
int rt_open_file(rt_context *context, const char *path, rt_module **module,
                 bf_diagnostic *diagnostic);
/* The module behind a handle, or NULL. */
rt_module *rt_find_module(const rt_context *context, const void *handle);
/* The kernel of that name; a cudaError. */
int rt_find_kernel(rt_context *context, rt_module *module, const char *name,
                   rt_function **function);
/* The entry with that number, from 0, in the order of the PTX; NULL behind the last one. */
const bf_ptx_function *rt_kernel_at(const rt_module *module, unsigned number);
/* Ends the use of a module. What was launched of it stays, for the records. */
void rt_close_module(rt_context *context, rt_module *module);

/* ---- Launches that repeat another one (repeat.c) ---- */

/* A launch that may be repeated, or repeat another. */
typedef struct rt_repeating {
  struct rt_repeated *one; /* NULL: neither */
  bf_emu_touched touched;
  bf_profile_part *part; /* the profile before it */
  bool keeps;
  double begun; /* seconds */
} rt_repeating;

/* Repeats an earlier launch where that is all that this one would do; else false, and
 * rt_repeat_end is called behind it (result NULL: it failed). */
bool rt_repeat_begin(rt_context *context, rt_tally *tally, bf_emu_launch *launch,
                     rt_repeating *own);
void rt_repeat_end(rt_context *context, rt_tally *tally, rt_repeating *own,
                   const bf_emu_result *result);

/* ---- Launches that may wait for the host (beside.c) ---- */

/* A launch of the host with all that it needs; parameters belongs to it. */
typedef struct rt_work {
  rt_context *context;
  rt_function *function;
  rt_configuration how;
  void *parameters;
  bool cooperative;
} rt_work;
/* Whether the kernel looks at memory again and again, as one that waits for somebody else does. */
bool rt_may_wait(rt_function *function);
/* Runs a launch in a thread of its own and waits for a while; where it has not ended by then, the
 * call returns, and what other calls ask for comes behind it (later.c). */
int rt_run_beside(const rt_work *work);

/* ---- Work behind a launch that goes on (later.c) ---- */

/* Stands for all streams. */
#define RT_ALL_STREAMS ((const void *)-1)
struct rt_node;
/* Whether work in a stream, or in any, must wait for a launch that goes on. */
bool rt_is_put_off(const rt_context *context, const void *stream);
/* Whether a new launch of a kernel must. */
bool rt_is_launch_put_off(const rt_context *context, const void *stream, const void *host);
/* Whether work in a stream is recorded and not done: in a capture, or for later. */
bool rt_is_recorded(const rt_context *context, const void *stream);
/* Waits until nothing puts work in a stream off; says after a while what is waited for. */
void rt_await(rt_context *context, const void *stream);
/* The same for an event. */
void rt_await_event(rt_context *context, const void *event);
/* At the end of the program: waits for all, but gives a launch up that does not come on. */
void rt_await_end(rt_context *context);
/* Takes work over that must wait; a cudaError. */
int rt_put_off(rt_context *context, const void *stream, const struct rt_node *work);
/* Puts a function off that waits for something: a thread runs it, and what comes behind it, where
 * no launch goes on. */
int rt_wait_beside(rt_context *context, const void *stream, const struct rt_node *work);
/* Does all that was put off, in the thread that ran the launch, which has the lock. */
void rt_do_later(rt_context *context);

/* ---- Launches that take long (progress.c) ---- */

typedef struct rt_progress {
  rt_context *context;
  bf_text kernel;      /* its name, for users */
  double begun, drawn; /* seconds */
  bool has_bar, is_shown;
} rt_progress;

/* Has a launch tell how far it is; begin and end stand around it. */
void rt_progress_begin(rt_context *context, rt_function *function, bf_emu_launch *launch,
                       rt_progress *progress);
void rt_progress_end(rt_progress *progress);

/* ---- Memory (memory.c, copy.c) ---- */

/* Gives all device memory back. */
void rt_free_all(rt_context *context);
/* Whether bytes at address are memory that the device may use; says what is wrong where not. */
bool rt_holds(const rt_context *context, const void *address, uint64_t bytes, const char *call);

/* A box of rows in memory: where rows and slices lie. */
typedef struct rt_side {
  char *address;
  size_t pitch_bytes, slice_bytes;
} rt_side;
/* Copies a box of box.width bytes per row, box.height rows and box.depth slices; a cudaError. */
int rt_copy_box(rt_context *context, rt_side to, rt_side from, rt_extent box, int direction,
                const char *call);

/* Ends the use by other processes of memory that is about to be freed (ipc.c). */
void rt_end_export(rt_context *context, void *memory);
/* Lets go of memory of another process that has these flags; false where there is none at address.
 */
bool rt_end_import(rt_context *context, void *address, unsigned flags);
/* Copies between memories and arrays, as cudaMemcpy3D does; a cudaError. */
int rt_copy(rt_context *context, const rt_copy_3d *how);
/* Frees device memory, as cudaFree does; a cudaError. */
int rt_release(rt_context *context, void *address);

/* ---- Launches (launch.c) ---- */

/* A kernel that a GPU would run, and the emulator does not: the program must not take what is in
 * memory for its results, so that the error stays. Returns it. */
int rt_refuse_kernel(rt_context *context, rt_function *function, int error);

/* Checks and runs a launch; a cudaError. */
int rt_launch(rt_context *context, const void *host, const rt_configuration *how, void **arguments,
              bool cooperative);

/* Whether a kernel that is ready may be launched so; a cudaError. */
int rt_check_launch(const rt_context *context, const rt_function *function,
                    const rt_configuration *how, bool cooperative);
/* Runs a launch that may be, with the block of its parameters, and all that it launches itself;
 * depth counts kernels above it. A cudaError. */
int rt_start(rt_context *context, rt_function *function, const rt_configuration *how,
             const void *parameters, bool cooperative, unsigned depth);

/* ---- What kernels launch (children.c) ---- */

typedef struct rt_child rt_child;
/* What a launch has been asked for by its kernel. */
typedef struct rt_children {
  rt_context *context;
  rt_module *module;
  unsigned depth; /* of the launch */
  bf_emu_parent parent;
  pthread_mutex_t lock;
  rt_child *first, **last;
  int refused; /* a kernel that cannot run at all */
} rt_children;
/* Ready for a launch; *children must stay where it is. */
void rt_children_open(rt_children *children, rt_context *context, rt_module *module,
                      unsigned depth);
/* Does what was asked for, and ends. Faults are pending, as those of launches are. */
void rt_children_run(rt_children *children);

/* ---- Graphs (graph*.c) ---- */

/* Frees memory that a graph has allocated; false where address is none. */
bool rt_graph_memory_free(rt_context *context, void *address, int *error);
/* Whether work in a stream is recorded instead of done. */
bool rt_is_capturing(const rt_context *context, const void *stream);
/* Record it; a cudaError each. */
int rt_capture_launch(rt_context *context, const void *host, const rt_configuration *how,
                      void **arguments, bool cooperative);
int rt_capture_copy(rt_context *context, void *stream, const rt_copy_3d *how);
int rt_capture_row(rt_context *context, void *stream, void *to, const void *from, size_t bytes,
                   int direction);
/* rows of width bytes, slice_bytes apart where there are several slices of them. */
int rt_capture_fill(rt_context *context, void *stream, rt_side to, int value, rt_extent box);
int rt_capture_function(rt_context *context, void *stream, void (*function)(void *), void *data);
int rt_capture_allocate(rt_context *context, void *stream, void **address, size_t bytes);
int rt_capture_free(rt_context *context, void *stream, void *address);
/* An event recorded in a capture stands for the work before it. */
int rt_capture_record(rt_context *context, void *stream, void *event, bool is_node);
/* Takes an event out of captures: it was recorded elsewhere, or is destroyed. */
void rt_forget_captured(rt_context *context, const void *event);
/* Whether a stream that waits for an event does so in a capture; *error says how that went. */
bool rt_capture_wait(rt_context *context, void *stream, void *event, bool is_node, int *error);
/* A call that a capture does not survive: cudaErrorStreamCaptureUnsupported. */
int rt_capture_break(rt_context *context, const void *stream);

/* ---- Arrays and textures (array.c, texture.c) ---- */

typedef struct rt_array rt_array;
/* The place of a texel in an array, and the bytes of one; false where there is no such array. */
bool rt_array_side(const rt_context *context, const void *handle, rt_position position,
                   rt_side *side, size_t *texel_bytes);
/* Frees all arrays; forgets all textures. */
void rt_destroy_arrays(rt_context *context);
void rt_destroy_textures(rt_context *context);

/* ---- Streams (stream.c) ---- */

/* The flags that a stream was made with. */
unsigned rt_stream_flags(const rt_context *context, const void *handle);
/* Whether handle is a stream: one of the defaults, or made and not destroyed. */
bool rt_is_stream(const rt_context *context, const void *handle);
/* Whether handle is an event; records it. */
bool rt_is_event(const rt_context *context, const void *handle);
/* A new stream, event or pool; a cudaError. */
int rt_make_object(rt_context *context, int kind, unsigned flags, int priority, void **handle);
/* The object behind a handle; NULL where it is no such thing. */
rt_object *rt_find_object(const rt_context *context, const void *handle, int kind);
/* The end of one; a cudaError. */
int rt_destroy_object(rt_context *context, void *handle, int kind);
int rt_record_event(rt_context *context, void *event);
/* Forgets all streams, events and pools. */
void rt_destroy_objects(rt_context *context);

/* ---- Memory pools (pool.c) ---- */

/* The pool behind a handle; NULL where it is none. */
rt_pool *rt_pool_of(const rt_context *context, const void *handle);
/* The pool that asynchronous allocations come from; NULL where memory is exhausted. */
rt_pool *rt_pool_current(rt_context *context);
/* Counts an allocation from a pool; false where it has a bound that is too small. */
bool rt_pool_take(rt_pool *pool, uint64_t bytes);
/* Counts the end of one. */
void rt_pool_give(rt_pool *pool, uint64_t bytes);
/* The end of a pool, or of the last allocation from it. */
void rt_pool_free(rt_pool *pool);

/* ---- Occupancy (occupancy.c) ---- */

/* The most dynamic shared memory that a function may be launched with. */
uint64_t rt_dynamic_shared_limit(const rt_context *context, const rt_function *function);
/* Blocks of a kernel that fit on a multiprocessor at once. */
int rt_blocks_per_multiprocessor(const rt_context *context, const bf_emu_kernel *kernel,
                                 unsigned threads, uint64_t dynamic_shared_bytes);

/* ---- Hashes (hash.c) ---- */

/* Chooses the hash of the banks, or of the table of locks, for the launches to come. NULL: none. */
int rt_choose_hash(rt_context *context, const char *text, bf_diagnostic *diagnostic);
int rt_choose_lock_hash(rt_context *context, const char *word, bf_diagnostic *diagnostic);
const char *rt_lock_hash_word(bf_lock_hash hash);
/* The tally of a function for the hashes of its next launch; NULL where memory is exhausted. */
rt_tally *rt_tally_of(const rt_context *context, rt_function *function);

/* ---- Samples (sample.c) ---- */

/* Where exec wants samples: chooses blocks of the launch, whose observer is set, and has them
 * weighed. False: the launch need not be run. */
bool rt_sample(rt_context *context, rt_tally *tally, bf_emu_launch *launch);
/* What was chosen so far; all 0 where all blocks are counted. */
bf_sample_size rt_sample_size(const rt_tally *tally);
/* Adds to the sums of a kernel, and to a line, how far their conflicts may be off. */
void rt_sample_bound(const rt_function *function, const rt_tally *tally, bf_costs_kernel *kernel);
void rt_sample_bound_line(const rt_tally *tally, unsigned site, bf_costs_line *line);

/* ---- The simulator (simulate.c) ---- */

/* Loads the GPU that the environment names, with its machine and device. */
int rt_load_gpu(rt_context *context, bf_diagnostic *diagnostic);
/* Blocks that fit on a multiprocessor of the GPU, and what limits them. */
unsigned rt_gpu_blocks(const rt_context *context, const bf_emu_kernel *kernel, unsigned threads,
                       uint64_t dynamic_shared_bytes, const char **limit);
/* Simulates a launch in place of bf_emu_run and adds it to the tally. Where it cannot go on, that
 * is said, and an error is pending. */
int rt_simulate(rt_context *context, rt_module *module, rt_tally *tally,
                const bf_emu_launch *launch, bf_emu_result *result, bf_diagnostic *diagnostic);
/* Has a module that no text was read of, as one that was linked, be as it is printed, and keeps
 * that for ptxas. */
int rt_keep_text(rt_module *module, bf_diagnostic *diagnostic);
/* Frees the text of a module, and what ptxas made of it. */
void rt_free_text(rt_module *module);
/* The clock of events: of the host, or of the simulated GPU, which runs during launches only. */
double rt_seconds(const rt_context *context);

/* ---- Records for bankfold exec (record.c) ---- */

/* What watches a launch; the outer one hands an access to all others. */
typedef struct rt_observers {
  bf_emu_observer profile, trace, keeper, outer;
  pthread_mutex_t lock;     /* of the next */
  bf_emu_observer counting; /* of simulated launches: what profile hands accesses to */
} rt_observers;
/* The observer of a launch, or NULL. *all must live as long as the launch. */
const bf_emu_observer *rt_observe(rt_context *context, rt_function *function, rt_tally *tally,
                                  rt_observers *all);
/* Brings up what a process that ends without telling leaves of a tally; is_begun: a launch begins.
 */
void rt_keep_alive(const rt_tally *tally, bool is_begun);
/* Writes what was recorded; at the end of the process. */
void rt_write_record(rt_context *context);

/* ---- Hashed accesses (rewrite.c) ---- */

/* Rewrites the PTX of a module that is not loaded yet, where the environment asks for it. */
int rt_rewrite(const rt_context *context, rt_module *module, bf_diagnostic *diagnostic);

/* ---- Accesses for bankfold exec --save-hashes (accesses.c) ---- */

/* The observer that keeps the accesses of a launch of the function. */
bf_emu_observer rt_keep_accesses(rt_context *context, rt_function *function);
/* Writes what was kept; at the end of the process. */
void rt_write_accesses(rt_context *context);

#endif
