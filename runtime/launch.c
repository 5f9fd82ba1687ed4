/* Launches and what programs may ask or set about a kernel. */
#include "order.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Checks ---- */

/* What a wrong grid or block gives: CUDA 13 was seen to return cudaErrorInvalidValue on an H200. */
enum { BAD_SHAPE = CUDART_MAJOR >= 13 ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration };

static uint64_t volume(rt_dim3 size) { return (uint64_t)size.x * size.y * size.z; }

/* Whether a grid and its blocks are within the limits of the device; a cudaError. */
static int check_shape(const rt_device *device, rt_dim3 grid, rt_dim3 block) {
  unsigned most = (unsigned)device->threads_per_block;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > INT32_MAX || grid.y > 65535 ||
      grid.z > 65535)
    return BAD_SHAPE;
  if (block.x == 0 || block.y == 0 || block.z == 0 || block.x > most || block.y > most ||
      block.z > 64 || volume(block) > most)
    return BAD_SHAPE;
  return cudaSuccess;
}

uint64_t rt_dynamic_shared_limit(const rt_context *context, const rt_function *function) {
  const bf_emu_needs *needs = bf_emu_kernel_needs(function->kernel);
  uint64_t limit = (uint64_t)context->device->shared_per_block_bytes;
  if (function->dynamic_shared_limit >= 0)
    return (uint64_t)function->dynamic_shared_limit;
  return limit > needs->shared_bytes ? limit - needs->shared_bytes : 0;
}

/* Says why a kernel cannot be launched so, and returns error. */
static int refuse(const rt_context *context, const rt_function *function, int error,
                  const char *format, ...) {
  char reason[256];
  bf_text name = {0};
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason, sizeof reason, format, arguments);
  va_end(arguments);
  bf_ptx_readable_name(function->name, &name);
  rt_say(context, "kernel %s: %s", name.data ? name.data : function->name, reason);
  bf_text_free(&name);
  return error;
}

/* Whether a kernel may be launched with such blocks and that much memory; a cudaError. */
static int check_needs(const rt_context *context, const rt_function *function, rt_dim3 block,
                       uint64_t dynamic_shared_bytes) {
  const bf_emu_needs *needs = bf_emu_kernel_needs(function->kernel);
  const uint32_t *exact = needs->exact_block;
  uint64_t limit = rt_dynamic_shared_limit(context, function);
  if (dynamic_shared_bytes > limit)
    return refuse(context, function, cudaErrorInvalidValue,
                  "%llu bytes of dynamic shared memory, and it may have %llu: more needs "
                  "cudaFuncAttributeMaxDynamicSharedMemorySize",
                  (unsigned long long)dynamic_shared_bytes, (unsigned long long)limit);
  if (volume(block) > needs->most_threads)
    return refuse(context, function, cudaErrorLaunchOutOfResources,
                  "blocks of %llu threads, and it was compiled for %u",
                  (unsigned long long)volume(block), needs->most_threads);
  if (exact[0] && (block.x != exact[0] || block.y != exact[1] || block.z != exact[2]))
    return refuse(context, function, cudaErrorInvalidValue,
                  "blocks of %ux%ux%u threads, and it was compiled for %ux%ux%u", block.x, block.y,
                  block.z, exact[0], exact[1], exact[2]);
  return cudaSuccess;
}

/* What is wrong with clusters of a size; NULL: nothing. More than 8 blocks are for kernels that
 * have been allowed to have them. */
static const char *cluster_mistake(const rt_function *function, rt_dim3 grid, rt_dim3 size) {
  const uint32_t *exact = bf_emu_kernel_needs(function->kernel)->exact_cluster;
  uint64_t blocks = volume(size);
  if (!blocks)
    return "a cluster of no blocks";
  if (grid.x % size.x || grid.y % size.y || grid.z % size.z)
    return "the grid is no multiple of the cluster";
  if (exact[0] && (size.x != exact[0] || size.y != exact[1] || size.z != exact[2]))
    return "the kernel was compiled for clusters of another size";
  if (blocks > 16)
    return "a cluster has at most 16 blocks";
  return blocks > 8 && !function->has_large_clusters
             ? "over 8 blocks need cudaFuncAttributeNonPortableClusterSizeAllowed"
             : NULL;
}

/* Whether the clusters that a launch or the kernel asks for can be; a cudaError. */
static int check_cluster(const rt_context *context, const rt_function *function,
                         const rt_configuration *how) {
  const uint32_t *exact = bf_emu_kernel_needs(function->kernel)->exact_cluster;
  rt_dim3 size = how->cluster, grid = how->grid;
  if (!size.x && !size.y && !size.z)
    size = exact[0] ? (rt_dim3){exact[0], exact[1], exact[2]} : (rt_dim3){1, 1, 1};
  const char *mistake = cluster_mistake(function, grid, size);
  if (!mistake)
    return cudaSuccess;
  bf_text name = {0};
  bf_ptx_readable_name(bf_emu_kernel_name(function->kernel), &name);
  rt_say(context, "%s: %ux%ux%u blocks in clusters of %ux%ux%u: %s", name.data ? name.data : "?",
         grid.x, grid.y, grid.z, size.x, size.y, size.z, mistake);
  bf_text_free(&name);
  return cudaErrorInvalidClusterSize;
}

/* Whether a multiprocessor of a simulated GPU can hold one block; says what there is too little of
 * where not. */
static int check_room(const rt_context *context, const rt_function *function, rt_dim3 block,
                      uint64_t dynamic_shared_bytes) {
  const char *limit;
  if (!context->gpu || rt_gpu_blocks(context, function->kernel, (unsigned)volume(block),
                                     dynamic_shared_bytes, &limit))
    return cudaSuccess;
  return refuse(context, function, cudaErrorLaunchOutOfResources,
                "a multiprocessor of %s cannot hold one of its blocks: too little room for %s",
                context->gpu->name, limit);
}

/* ---- Running ---- */

/* Keeps text of a kernel for the next synchronisation. */
static void keep_printed(void *given, const char *text, size_t bytes) {
  rt_context *context = given;
  pthread_mutex_lock(&context->print_lock);
  bf_text_add(&context->printed, text, bytes);
  pthread_mutex_unlock(&context->print_lock);
}

/* The error that a fault becomes, as NVIDIA's driver reports it. */
static int fault_error(bf_emu_fault_kind kind) {
  switch (kind) {
  case BF_EMU_NO_FAULT:
    return cudaSuccess;
  case BF_EMU_OUT_OF_BOUNDS:
  case BF_EMU_USE_AFTER_FREE:
  case BF_EMU_READ_ONLY:
    return cudaErrorIllegalAddress;
  case BF_EMU_MISALIGNED:
    return cudaErrorMisalignedAddress;
  case BF_EMU_ASSERT:
    return cudaErrorAssert;
  case BF_EMU_BAD_CALL:
    return cudaErrorInvalidPc;
  case BF_EMU_BAD_INSTRUCTION:
    return cudaErrorIllegalInstruction;
  case BF_EMU_DEADLOCK:
  case BF_EMU_INTERRUPTED:
    return cudaErrorLaunchTimeout;
  default:
    return cudaErrorLaunchFailure;
  }
}

/* Says what a kernel did wrong, and what was done about it. */
static void say_fault(const rt_context *context, bf_emu_fault fault, const char *done) {
  bf_text text = {0}, name = {0};
  bf_ptx_readable_name(fault.kernel ? fault.kernel : "?", &name);
  fault.kernel = name.data ? name.data : "?";
  bf_emu_fault_explain(&fault, &text);
  rt_say(context, "%s%s", text.data ? text.data : bf_emu_fault_name(fault.kind), done);
  bf_text_free(&text);
  bf_text_free(&name);
}

/* The same, and keeps the error for the next synchronisation. */
static void report_fault(rt_context *context, const bf_emu_fault *fault) {
  say_fault(context, *fault, "");
  context->pending = fault_error(fault->kind);
}

/* A launch that goes on after wrong accesses. */
typedef struct tolerance {
  const rt_context *context;
  const rt_function *function;
} tolerance;

/* How a site of wrong accesses is marked once they were said. */
enum { SAID = 2 };

/* Says the first wrong access of a source line. */
static void tolerate(void *given, const bf_emu_fault *fault, unsigned site) {
  const tolerance *own = given;
  uint8_t *tolerated = own->function->tolerated;
  bool is_said = false;
  for (unsigned i = 0; i < bf_emu_kernel_sites(own->function->kernel) && !is_said; i++) {
    bf_emu_site other = bf_emu_kernel_site(own->function->kernel, i);
    is_said = __atomic_load_n(&tolerated[i], __ATOMIC_RELAXED) == SAID && fault->source_line &&
              other.source_line == fault->source_line && other.source_file && fault->source_file &&
              strcmp(other.source_file, fault->source_file) == 0;
  }
  const char *done = fault->is_write ? "; the write is dropped" : "; it reads 0";
  if (fault->kind == BF_EMU_RACE)
    done = ""; /* the access is done as without --detect */
  if (!is_said)
    say_fault(own->context, *fault, done);
  __atomic_store_n(&tolerated[site], SAID, __ATOMIC_RELAXED);
}

int rt_refuse_kernel(rt_context *context, rt_function *function, int error) {
  rt_tally *tally = rt_tally_of(context, function);
  if (tally)
    tally->refused++;
  if (context->pending == cudaSuccess)
    context->pending = error;
  return error;
}

/* Emulates or simulates a launch and adds it to the tally. */
static int execute(rt_context *context, rt_function *function, rt_tally *tally,
                   bf_emu_launch *launch, bf_emu_result *result, bf_diagnostic *diagnostic) {
  double begun = bf_seconds();
  rt_keep_alive(tally, true);
  BF_TRY(context->gpu ? rt_simulate(context, function->module, tally, launch, result, diagnostic)
                      : bf_emu_run(context->emu, launch, result, diagnostic));
  tally->launches++;
  tally->warp_instructions += result->warp_instructions;
  tally->thread_instructions += result->thread_instructions;
  tally->seconds += bf_seconds() - begun;
  rt_keep_alive(tally, false);
  return BF_OK;
}

/* Runs the launch and keeps what it tells. */
static int run(rt_context *context, rt_function *function, bf_emu_launch *launch) {
  bf_emu_result result;
  bf_diagnostic diagnostic = {.caret = -1};
  rt_observers observers;
  rt_tally *tally = rt_tally_of(context, function);
  if (!tally)
    return cudaErrorMemoryAllocation;
  launch->observer = rt_observe(context, function, tally, &observers);
  if (!rt_sample(context, tally, launch)) {
    tally->launches++;
    return cudaSuccess;
  }
  tolerance allowed = {context, function};
  if (context->settings.keep_going && !function->tolerated)
    function->tolerated = calloc(bf_emu_kernel_sites(function->kernel) + 1, 1);
  if (context->settings.keep_going && function->tolerated) {
    launch->tolerate = tolerate;
    launch->tolerate_context = &allowed;
    launch->tolerated = function->tolerated;
  }
  rt_repeating repeating;
  if (rt_repeat_begin(context, tally, launch, &repeating))
    return cudaSuccess;
  rt_progress progress;
  rt_progress_begin(context, function, launch, &progress);
  int failure = execute(context, function, tally, launch, &result, &diagnostic);
  rt_progress_end(&progress);
  rt_repeat_end(context, tally, &repeating, failure ? NULL : &result);
  if (failure != BF_OK) {
    rt_say(context, "kernel %s: %s", function->name, diagnostic.message);
    return failure == BF_NO_MEMORY     ? cudaErrorMemoryAllocation
           : failure == BF_UNSUPPORTED ? rt_refuse_kernel(context, function, cudaErrorNotSupported)
                                       : cudaErrorInvalidValue;
  }
  tally->faults += result.fault.kind != BF_EMU_NO_FAULT;
  if (result.leaves_out_races && !context->says_races_left_out) {
    context->says_races_left_out = true;
    rt_say(
        context,
        "races: some of the memory that kernels touch is not looked at from here on: there is no "
        "room for what is known of it, which may take %llu MiB, half of what was free",
        (unsigned long long)launch->race_bytes >> 20);
  }
  if (result.fault.kind != BF_EMU_NO_FAULT)
    report_fault(context, &result.fault);
  return cudaSuccess;
}

/* Where the blocks of a cooperative launch meet: CUDA's cooperative groups look for its address in
 * %envreg1 (high half) and %envreg2, and count arrivals in its second word. */
typedef struct grid_workspace {
  uint32_t bytes, barrier, unused[2];
} grid_workspace;

/* Runs a cooperative launch with a workspace of its own. */
static int run_cooperative(rt_context *context, rt_function *function, bf_emu_launch *launch) {
  uint32_t environment[32] = {0};
  uint64_t address;
  bf_diagnostic diagnostic;
  if (bf_emu_alloc(context->emu, sizeof(grid_workspace), RT_WORKSPACE, &address, &diagnostic) !=
      BF_OK)
    return cudaErrorMemoryAllocation;
  *(grid_workspace *)(uintptr_t)address = (grid_workspace){.bytes = sizeof(grid_workspace)};
  environment[2] = (uint32_t)address;
  environment[1] = (uint32_t)(address >> 32);
  launch->environment = environment;
  int error = run(context, function, launch);
  bf_emu_release(context->emu, address, &diagnostic);
  return error;
}

/* The parameter block of a kernel from the addresses of its arguments; NULL where memory is
 * exhausted. */
static void *pack_arguments(const bf_emu_kernel *kernel, void **arguments) {
  uint64_t offset, bytes, all = bf_emu_kernel_needs(kernel)->parameter_bytes;
  char *block = calloc(1, all ? all : 1);
  for (unsigned i = 0; block && bf_emu_kernel_parameter(kernel, i, &offset, &bytes); i++)
    memcpy(block + offset, arguments[i], bytes);
  return block;
}

/* What is known of memory for the check for races may take half of what the host has left. */
static uint64_t race_bytes(const rt_context *context) {
  enum { LEAST = 1 << 26 };
  uint64_t used = bf_emu_used_bytes(context->emu);
  uint64_t left = used < context->room_bytes ? context->room_bytes - used : 0;
  return left / 2 > LEAST ? left / 2 : LEAST;
}

int rt_start(rt_context *context, rt_function *function, const rt_configuration *how,
             const void *parameters, bool cooperative, unsigned depth) {
  const bf_emu_needs *needs = bf_emu_kernel_needs(function->kernel);
  rt_children children;
  rt_children_open(&children, context, function->module, depth);
  bf_emu_launch launch = {
      .kernel = function->kernel,
      .grid = {how->grid.x, how->grid.y, how->grid.z},
      .block = {how->block.x, how->block.y, how->block.z},
      .cluster = {how->cluster.x, how->cluster.y, how->cluster.z},
      .dynamic_shared_bytes = how->dynamic_shared_bytes,
      .parameters = parameters,
      .parameter_bytes = needs->parameter_bytes,
      .cooperative = cooperative,
      .workers = (unsigned)context->settings.workers,
      .check_uninitialised = context->settings.check.uninitialised,
      .check_races = context->settings.check.races,
      .race_bytes = race_bytes(context),
      .stack_bytes = context->limit[0] > 65536 ? context->limit[0] : 0,
      .multiprocessors = (unsigned)context->device->multiprocessors,
      .print = keep_printed,
      .print_context = context,
      .is_beside = context->is_busy || rt_may_wait(function),
  };
  rt_device_limit(context, RT_HEAP_LIMIT, &launch.heap_bytes);
  rt_followed followed;
  rt_order_launch(context, how, depth > 0, &launch, &followed);
  bool is_parent = !context->besides;
  const bf_emu_parent *before =
      is_parent ? bf_emu_set_parent(context->emu, &children.parent) : NULL;
  int error =
      cooperative ? run_cooperative(context, function, &launch) : run(context, function, &launch);
  if (is_parent)
    bf_emu_set_parent(context->emu, before);
  rt_children_run(&children);
  return error;
}

/* Runs one while another goes on: behind it, in its thread, or beside it. It may wait for the host,
 * too, so that others may call meanwhile. */
static int start_later(rt_context *context, rt_function *function, const rt_configuration *how,
                       const void *parameters, bool cooperative) {
  bool is_beside = !pthread_equal(context->busy_thread, pthread_self());
  if (!is_beside)
    context->busy_kernel = function->name;
  context->besides += is_beside;
  function->is_running = true;
  pthread_mutex_unlock(&context->lock);
  int error = rt_start(context, function, how, parameters, cooperative, 0);
  pthread_mutex_lock(&context->lock);
  function->is_running = false;
  context->besides -= is_beside;
  pthread_cond_broadcast(&context->idle);
  return error;
}

/* Runs a launch of the host whose shape is right; a cudaError. */
static int start(rt_context *context, rt_function *function, const rt_configuration *how,
                 void **arguments, bool cooperative) {
  if (bf_emu_kernel_needs(function->kernel)->parameter_bytes && !arguments)
    return cudaErrorInvalidValue;
  if (context->pending != cudaSuccess)
    return cudaSuccess; /* a fault has ended all work; the next synchronisation will tell */
  void *block = pack_arguments(function->kernel, arguments);
  if (!block)
    return cudaErrorMemoryAllocation;
  if (!context->is_busy && rt_may_wait(function))
    return rt_run_beside(&(rt_work){context, function, *how, block, cooperative});
  int error = context->is_busy ? start_later(context, function, how, block, cooperative)
                               : rt_start(context, function, how, block, cooperative, 0);
  free(block);
  return error;
}

/* Whether all blocks of a cooperative launch fit on the device at once. */
static bool fits_at_once(const rt_context *context, const rt_function *function,
                         const rt_configuration *how) {
  int blocks = rt_blocks_per_multiprocessor(context, function->kernel, (unsigned)volume(how->block),
                                            how->dynamic_shared_bytes);
  return volume(how->grid) <= (uint64_t)blocks * (uint64_t)context->device->multiprocessors;
}

int rt_check_launch(const rt_context *context, const rt_function *function,
                    const rt_configuration *how, bool cooperative) {
  int error = check_shape(context->device, how->grid, how->block);
  if (error == cudaSuccess)
    error = check_needs(context, function, how->block, how->dynamic_shared_bytes);
  if (error == cudaSuccess)
    error = check_cluster(context, function, how);
  if (error == cudaSuccess)
    error = check_room(context, function, how->block, how->dynamic_shared_bytes);
  if (error == cudaSuccess && cooperative && !fits_at_once(context, function, how))
    error = cudaErrorCooperativeLaunchTooLarge;
  return error;
}

int rt_launch(rt_context *context, const void *host, const rt_configuration *how, void **arguments,
              bool cooperative) {
  rt_function *function = rt_find_function(context, host);
  if (!function)
    return cudaErrorInvalidDeviceFunction;
  if (!rt_is_stream(context, how->stream))
    return cudaErrorInvalidResourceHandle;
  int error = rt_make_ready(context, function);
  if (error != cudaSuccess)
    return rt_refuse_kernel(context, function, error);
  error = rt_check_launch(context, function, how, cooperative);
  return error == cudaSuccess ? start(context, function, how, arguments, cooperative) : error;
}

/* The same, unless the stream records its work. */
static int launch(rt_context *context, const void *host, const rt_configuration *how,
                  void **arguments, bool cooperative) {
  return rt_is_capturing(context, how->stream) || rt_is_launch_put_off(context, how->stream, host)
             ? rt_capture_launch(context, host, how, arguments, cooperative)
             : rt_launch(context, host, how, arguments, cooperative);
}

/* ---- Calls ---- */

unsigned __cudaPushCallConfiguration(rt_dim3 grid, rt_dim3 block, size_t dynamic_shared_bytes,
                                     void *stream);
unsigned __cudaPushCallConfiguration(rt_dim3 grid, rt_dim3 block, size_t dynamic_shared_bytes,
                                     void *stream) {
  return !rt_push_configuration((rt_configuration){.grid = grid,
                                                   .block = block,
                                                   .dynamic_shared_bytes = dynamic_shared_bytes,
                                                   .stream = stream});
}

API(__cudaPopCallConfiguration, rt_dim3 *grid, rt_dim3 *block, size_t *dynamic_shared_bytes,
    void *stream) {
  rt_configuration configuration;
  if (!rt_pop_configuration(&configuration))
    return cudaErrorMissingConfiguration;
  *grid = configuration.grid;
  *block = configuration.block;
  *dynamic_shared_bytes = configuration.dynamic_shared_bytes;
  *(void **)stream = configuration.stream;
  return cudaSuccess;
}

API(cudaLaunchKernel, const void *host, rt_dim3 grid, rt_dim3 block, void **arguments,
    size_t dynamic_shared_bytes, void *stream) {
  RT_ENTER_DEVICE(context);
  rt_configuration how = {
      .grid = grid, .block = block, .dynamic_shared_bytes = dynamic_shared_bytes, .stream = stream};
  return rt_leave(context, launch(context, host, &how, arguments, false));
}
PER_THREAD(cudaLaunchKernel, ptsz);
extern __typeof__(cudaLaunchKernel) __cudaLaunchKernel __attribute__((alias("cudaLaunchKernel")));
PER_THREAD(__cudaLaunchKernel, ptsz);

API(cudaLaunchCooperativeKernel, const void *host, rt_dim3 grid, rt_dim3 block, void **arguments,
    size_t dynamic_shared_bytes, void *stream) {
  RT_ENTER_DEVICE(context);
  rt_configuration how = {
      .grid = grid, .block = block, .dynamic_shared_bytes = dynamic_shared_bytes, .stream = stream};
  return rt_leave(context, launch(context, host, &how, arguments, true));
}
PER_THREAD(cudaLaunchCooperativeKernel, ptsz);

#if CUDART_MAJOR < 13
/* A cooperative launch on each of several devices: cudaLaunchParams. There is one. */
typedef struct launch_parameters {
  void *host;
  rt_dim3 grid, block;
  void **arguments;
  size_t dynamic_shared_bytes;
  void *stream;
} launch_parameters;

API(cudaLaunchCooperativeKernelMultiDevice, const launch_parameters *list, unsigned devices,
    unsigned flags) {
  if (!list || devices != 1 || flags > 3)
    return cudaErrorInvalidValue;
  return cudaLaunchCooperativeKernel(list->host, list->grid, list->block, list->arguments,
                                     list->dynamic_shared_bytes, list->stream);
}
#endif

API(cudaLaunchKernelExC, const rt_launch_config *config, const void *host, void **arguments) {
  RT_ENTER_DEVICE(context);
  if (!config || (config->attributes && !config->attribute))
    return rt_leave(context, cudaErrorInvalidValue);
  bool cooperative = false, programmatic = false;
  rt_dim3 cluster = {0, 0, 0};
  void *event = NULL;
  for (unsigned i = 0; i < config->attributes; i++) {
    const rt_launch_attribute *attribute = &config->attribute[i];
    if (attribute->number == RT_ATTRIBUTE_COOPERATIVE)
      cooperative = attribute->value.cooperative != 0;
    if (attribute->number == RT_ATTRIBUTE_CLUSTER)
      cluster = attribute->value.cluster;
    if (attribute->number == RT_ATTRIBUTE_PROGRAMMATIC_STREAM)
      programmatic = attribute->value.programmatic != 0;
    if (attribute->number == RT_ATTRIBUTE_PROGRAMMATIC_EVENT)
      event = attribute->value.event;
  }
  rt_configuration how = {config->grid,   config->block, config->dynamic_shared_bytes,
                          config->stream, cluster,       programmatic};
  int error = rt_leave(context, launch(context, host, &how, arguments, cooperative));
  /* Its blocks trigger it before they end, at the latest here: the kernel is over. */
  return error || !event ? error : cudaEventRecordWithFlags(event, config->stream, 0);
}
PER_THREAD(cudaLaunchKernelExC, ptsz);

/* ---- Functions ---- */

API(__cudaGetKernel, void **handle, const void *host) {
  rt_context *context = rt_enter();
  rt_function *function = rt_find_function(context, host);
  if (!handle || !function)
    return rt_leave(context, handle ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue);
  *handle = function;
  return rt_leave(context, cudaSuccess);
}
extern __typeof__(__cudaGetKernel) cudaGetKernel __attribute__((alias("__cudaGetKernel")));
extern __typeof__(__cudaGetKernel) cudaGetFuncBySymbol __attribute__((alias("__cudaGetKernel")));

API(cudaFuncGetName, const char **name, const void *host) {
  RT_ENTER_DEVICE(context);
  rt_function *function = rt_find_function(context, host);
  if (!name || !function)
    return rt_leave(context, name ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue);
  *name = function->name;
  return rt_leave(context, cudaSuccess);
}

/* Finds a function and makes it ready; a cudaError. */
static int find_ready(rt_context *context, const void *host, rt_function **function) {
  *function = rt_find_function(context, host);
  return *function ? rt_make_ready(context, *function) : cudaErrorInvalidDeviceFunction;
}

API(cudaFuncGetAttributes, rt_function_attributes *to, const void *host) {
  RT_ENTER_DEVICE(context);
  rt_function *function;
  int error = find_ready(context, host, &function);
  if (!to)
    error = cudaErrorInvalidValue;
  if (error != cudaSuccess)
    return rt_leave(context, error);
  const bf_emu_needs *needs = bf_emu_kernel_needs(function->kernel);
  *to = (rt_function_attributes) {
    .shared_bytes = needs->shared_bytes, .const_bytes = needs->const_bytes,
    .local_bytes = needs->local_bytes, .most_threads = (int)needs->most_threads,
    .registers = (int)needs->registers, .ptx_version = function->module->ptx_arch,
    .binary_version = context->device->major * 10 + context->device->minor,
    .most_dynamic_shared_bytes = (int)rt_dynamic_shared_limit(context, function),
    .carveout = function->carveout,
#if CUDART_MAJOR >= 12
    .cluster_width = (int)needs->exact_cluster[0], .cluster_height = (int)needs->exact_cluster[1],
    .cluster_depth = (int)needs->exact_cluster[2],
    .cluster_non_portable = function->has_large_clusters,
#endif
  };
  return rt_leave(context, cudaSuccess);
}

API(cudaFuncGetParamInfo, const void *host, size_t index, size_t *offset, size_t *bytes) {
  RT_ENTER_DEVICE(context);
  rt_function *function;
  uint64_t at, size;
  int error = find_ready(context, host, &function);
  if (error == cudaSuccess &&
      (index > UINT32_MAX ||
       !bf_emu_kernel_parameter(function->kernel, (unsigned)index, &at, &size)))
    error = cudaErrorInvalidValue;
  if (error == cudaSuccess && offset)
    *offset = at;
  if (error == cudaSuccess && bytes)
    *bytes = size;
  return rt_leave(context, error);
}

API(cudaFuncSetAttribute, const void *host, int attribute, int value) {
  RT_ENTER_DEVICE(context);
  rt_function *function;
  int error = find_ready(context, host, &function);
  if (error != cudaSuccess)
    return rt_leave(context, error);
  uint64_t declared = bf_emu_kernel_needs(function->kernel)->shared_bytes;
  uint64_t most = (uint64_t)context->device->shared_opt_in_bytes;
  if (attribute < RT_SET_DYNAMIC_SHARED || attribute > RT_SET_LAST)
    error = cudaErrorInvalidValue;
  else if (attribute == RT_SET_DYNAMIC_SHARED && (value < 0 || declared + (uint64_t)value > most))
    error = cudaErrorInvalidValue;
  else if (attribute == RT_SET_DYNAMIC_SHARED)
    function->dynamic_shared_limit = value;
  else if (attribute == RT_SET_CARVEOUT && (value < -1 || value > 100))
    error = cudaErrorInvalidValue;
  else if (attribute == RT_SET_CARVEOUT)
    function->carveout = value;
  else if (attribute == RT_SET_LARGE_CLUSTERS)
    function->has_large_clusters = value != 0;
  return rt_leave(context, error);
}

API(cudaKernelSetAttributeForDevice, void *kernel, int attribute, int value, int device) {
  if (device == 0)
    return cudaFuncSetAttribute(kernel, attribute, value);
  RT_ENTER(context);
  return rt_leave(context, cudaErrorInvalidDevice);
}

/* Preferences: accepted for any known function. */
API(cudaFuncSetCacheConfig, const void *host, int config) {
  RT_ENTER(context);
  bool known = rt_find_function(context, host) != NULL;
  return rt_leave(context, !known                     ? cudaErrorInvalidDeviceFunction
                           : config < 0 || config > 3 ? cudaErrorInvalidValue
                                                      : cudaSuccess);
}

API(cudaFuncSetSharedMemConfig, const void *host, int config) {
  return cudaFuncSetCacheConfig(host, config);
}
