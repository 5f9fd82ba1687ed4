/* Launches and nodes of graphs: each gets one of both versions of its kernel. Where the driver
 * refuses the second, it is given the first, so that the program never sees an error that it would
 * not have seen. */
#include "driver.h"

#include <string.h>

/* ---- One launch ---- */

void inject_launch_begin(inject_launch *launch) {
  inject_pair *pair = launch->pair;
  launch->chosen = launch->function;
  launch->chosen_bytes = launch->bytes;
  if (pair && pair->own == launch->function)
    inject_choose(pair, launch);
  if (inject_takes_times && !launch->is_node)
    inject_times_begin(launch);
}

bool inject_launch_again(inject_launch *launch, int result) {
  if (result == CUDA_SUCCESS || !launch->is_beside)
    return false;
  launch->refusal = result;
  launch->is_beside = false;
  launch->chosen = launch->function;
  launch->chosen_bytes = launch->bytes;
  return true;
}

void inject_launch_end(inject_launch *launch, int result) {
  if (launch->refusal && result == CUDA_SUCCESS)
    inject_choice_refused(launch);
  if (launch->sample)
    inject_learn_end(launch, result);
  if (inject_takes_times && !launch->is_node)
    inject_times_end(launch, result);
}

/* Whether launches of a function may be handed on as they are: always, or for some sizes. */
static inline bool is_other(const inject_pair *pair, const void *function) {
  return !inject_takes_times && (!pair || pair->own != function);
}
static inline bool may_be_own(const inject_pair *pair) {
  return !inject_takes_times && pair && __atomic_load_n(&pair->has_own, __ATOMIC_RELAXED);
}

/* Returns what the driver says to `call`, which launches launch.chosen. */
#define RETURN_LAUNCH(call)                                                                        \
  inject_launch_begin(&launch);                                                                    \
  int result;                                                                                      \
  do                                                                                               \
    result = call;                                                                                 \
  while (inject_launch_again(&launch, result));                                                    \
  inject_launch_end(&launch, result);                                                              \
  return result

/* ---- Launches ---- */

#define SIZES                                                                                      \
  unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,           \
      unsigned block_z
#define GIVEN_SIZES grid_x, grid_y, grid_z, block_x, block_y, block_z
#define LAUNCH(stream_0)                                                                           \
  .function = function, .pair = pair, .grid = {grid_x, grid_y, grid_z},                            \
  .block = {block_x, block_y, block_z}, .bytes = bytes, .stream = stream ? stream : (stream_0)

/* Whether a launch of these sizes is handed on as it is. */
#define IS_OWN(pair)                                                                               \
  (may_be_own(pair) && inject_is_own(pair, (unsigned[]){grid_x, grid_y, grid_z},                   \
                                     (unsigned[]){block_x, block_y, block_z}, bytes))

/* Each with what stream 0 means to it. */
#define LAUNCH_KERNEL(name, stream_0)                                                              \
  API(name, void *function, SIZES, unsigned bytes, void *stream, void **parameters,                \
      void **extra) {                                                                              \
    inject_pair *pair = inject_handle_pair(function);                                              \
    if (is_other(pair, function) || IS_OWN(pair))                                                  \
      return REAL(name, function, GIVEN_SIZES, bytes, stream, parameters, extra);                  \
    inject_launch launch = {LAUNCH(stream_0), .parameters = parameters, .extra = extra};           \
    RETURN_LAUNCH(                                                                                 \
        REAL(name, launch.chosen, GIVEN_SIZES, launch.chosen_bytes, stream, parameters, extra));   \
  }
LAUNCH_KERNEL(cuLaunchKernel, NULL)
LAUNCH_KERNEL(cuLaunchKernel_ptsz, CU_STREAM_PER_THREAD)

#define LAUNCH_COOPERATIVE(name, stream_0)                                                         \
  API(name, void *function, SIZES, unsigned bytes, void *stream, void **parameters) {              \
    inject_pair *pair = inject_handle_pair(function);                                              \
    if (is_other(pair, function) || IS_OWN(pair))                                                  \
      return REAL(name, function, GIVEN_SIZES, bytes, stream, parameters);                         \
    inject_launch launch = {LAUNCH(stream_0), .parameters = parameters, .is_cooperative = true};   \
    RETURN_LAUNCH(                                                                                 \
        REAL(name, launch.chosen, GIVEN_SIZES, launch.chosen_bytes, stream, parameters));          \
  }
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, NULL)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, CU_STREAM_PER_THREAD)

/* Whether attributes make a launch cooperative. */
static bool is_cooperative(const cu_launch_config *config) {
  for (unsigned i = 0; config->attributes && i < config->attribute_count; i++)
    if (config->attributes[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
        config->attributes[i].cooperative)
      return true;
  return false;
}

#define LAUNCH_CONFIGURED(name, stream_0)                                                          \
  API(name, const cu_launch_config *config, void *function, void **parameters, void **extra) {     \
    inject_pair *pair = inject_handle_pair(function);                                              \
    if (!config || is_other(pair, function) ||                                                     \
        (may_be_own(pair) &&                                                                       \
         inject_is_own(pair, config->grid, config->block, config->shared_bytes)))                  \
      return REAL(name, config, function, parameters, extra);                                      \
    inject_launch launch = {.function = function,                                                  \
                            .pair = pair,                                                          \
                            .grid = {config->grid[0], config->grid[1], config->grid[2]},           \
                            .block = {config->block[0], config->block[1], config->block[2]},       \
                            .bytes = config->shared_bytes,                                         \
                            .stream = config->stream ? config->stream : (stream_0),                \
                            .parameters = parameters,                                              \
                            .extra = extra,                                                        \
                            .is_cooperative = is_cooperative(config)};                             \
    cu_launch_config copy = *config;                                                               \
    RETURN_LAUNCH((copy.shared_bytes = launch.chosen_bytes,                                        \
                   REAL(name, &copy, launch.chosen, parameters, extra)));                          \
  }
LAUNCH_CONFIGURED(cuLaunchKernelEx, NULL)
LAUNCH_CONFIGURED(cuLaunchKernelEx_ptsz, CU_STREAM_PER_THREAD)

/* ---- Nodes of graphs ---- */

/* A copy of the first size bytes of a kernel's node, and its launch. */
static inject_launch begin_node(const cu_kernel_node *node, size_t size, cu_kernel_node *copy) {
  *copy = (cu_kernel_node){0};
  memcpy(copy, node, size);
  void *function = copy->function ? copy->function : copy->kernel;
  inject_launch launch = {.function = function,
                          .pair = inject_handle_pair(function),
                          .grid = {copy->grid[0], copy->grid[1], copy->grid[2]},
                          .block = {copy->block[0], copy->block[1], copy->block[2]},
                          .bytes = copy->shared_bytes,
                          .parameters = copy->parameters,
                          .extra = copy->extra,
                          .is_node = true};
  return launch;
}

/* The node with what was chosen. */
static cu_kernel_node *put_chosen(const inject_launch *launch, cu_kernel_node *node) {
  if (node->function)
    node->function = launch->chosen;
  else
    node->kernel = launch->chosen;
  node->shared_bytes = launch->chosen_bytes;
  return node;
}

#define ADD_KERNEL_NODE(name, size)                                                                \
  API(name, void **node, void *graph, void *const *dependencies, size_t count,                     \
      const cu_kernel_node *parameters) {                                                          \
    cu_kernel_node copy;                                                                           \
    if (!parameters)                                                                               \
      return REAL(name, node, graph, dependencies, count, parameters);                             \
    inject_launch launch = begin_node(parameters, size, &copy);                                    \
    RETURN_LAUNCH(REAL(name, node, graph, dependencies, count, put_chosen(&launch, &copy)));       \
  }
ADD_KERNEL_NODE(cuGraphAddKernelNode, CU_KERNEL_NODE_V1_BYTES)
ADD_KERNEL_NODE(cuGraphAddKernelNode_v2, sizeof(cu_kernel_node))

#define SET_KERNEL_NODE(name, size)                                                                \
  API(name, void *node, const cu_kernel_node *parameters) {                                        \
    cu_kernel_node copy;                                                                           \
    if (!parameters)                                                                               \
      return REAL(name, node, parameters);                                                         \
    inject_launch launch = begin_node(parameters, size, &copy);                                    \
    RETURN_LAUNCH(REAL(name, node, put_chosen(&launch, &copy)));                                   \
  }
SET_KERNEL_NODE(cuGraphKernelNodeSetParams, CU_KERNEL_NODE_V1_BYTES)
SET_KERNEL_NODE(cuGraphKernelNodeSetParams_v2, sizeof(cu_kernel_node))

#define SET_EXEC_KERNEL_NODE(name, size)                                                           \
  API(name, void *graph, void *node, const cu_kernel_node *parameters) {                           \
    cu_kernel_node copy;                                                                           \
    if (!parameters)                                                                               \
      return REAL(name, graph, node, parameters);                                                  \
    inject_launch launch = begin_node(parameters, size, &copy);                                    \
    RETURN_LAUNCH(REAL(name, graph, node, put_chosen(&launch, &copy)));                            \
  }
SET_EXEC_KERNEL_NODE(cuGraphExecKernelNodeSetParams, CU_KERNEL_NODE_V1_BYTES)
SET_EXEC_KERNEL_NODE(cuGraphExecKernelNodeSetParams_v2, sizeof(cu_kernel_node))

/* A node of any kind: those that are no kernels are given as they are. */
static bool is_kernel(const cu_node *node) {
  return node && node->type == CU_GRAPH_NODE_TYPE_KERNEL;
}

/* The launch of a kernel's node; what is given in its place is *copy. */
static inject_launch begin_any(const cu_node *node, cu_node *copy) {
  cu_kernel_node kernel;
  *copy = *node;
  return begin_node(&node->kernel, sizeof kernel, &kernel);
}

static cu_node *put_any(const inject_launch *launch, cu_node *node) {
  put_chosen(launch, &node->kernel);
  return node;
}

API(cuGraphAddNode, void **node, void *graph, void *const *dependencies, size_t count,
    cu_node *parameters) {
  cu_node copy;
  if (!is_kernel(parameters))
    return REAL(cuGraphAddNode, node, graph, dependencies, count, parameters);
  inject_launch launch = begin_any(parameters, &copy);
  RETURN_LAUNCH(REAL(cuGraphAddNode, node, graph, dependencies, count, put_any(&launch, &copy)));
}

API(cuGraphAddNode_v2, void **node, void *graph, void *const *dependencies, const void *edges,
    size_t count, cu_node *parameters) {
  cu_node copy;
  if (!is_kernel(parameters))
    return REAL(cuGraphAddNode_v2, node, graph, dependencies, edges, count, parameters);
  inject_launch launch = begin_any(parameters, &copy);
  RETURN_LAUNCH(
      REAL(cuGraphAddNode_v2, node, graph, dependencies, edges, count, put_any(&launch, &copy)));
}

API(cuGraphNodeSetParams, void *node, cu_node *parameters) {
  cu_node copy;
  if (!is_kernel(parameters))
    return REAL(cuGraphNodeSetParams, node, parameters);
  inject_launch launch = begin_any(parameters, &copy);
  RETURN_LAUNCH(REAL(cuGraphNodeSetParams, node, put_any(&launch, &copy)));
}

API(cuGraphExecNodeSetParams, void *graph, void *node, cu_node *parameters) {
  cu_node copy;
  if (!is_kernel(parameters))
    return REAL(cuGraphExecNodeSetParams, graph, node, parameters);
  inject_launch launch = begin_any(parameters, &copy);
  RETURN_LAUNCH(REAL(cuGraphExecNodeSetParams, graph, node, put_any(&launch, &copy)));
}

/* ---- What a program reads of nodes ---- */

/* The program's own kernel in the place of its second version. */
static void *own_of(void *handle) {
  const inject_pair *pair = handle ? inject_handle_pair(handle) : NULL;
  return pair ? pair->own : handle;
}

API(cuGraphKernelNodeGetParams, void *node, cu_kernel_node *parameters) {
  int result = REAL(cuGraphKernelNodeGetParams, node, parameters);
  if (result == CUDA_SUCCESS && parameters)
    parameters->function = own_of(parameters->function);
  return result;
}

API(cuGraphKernelNodeGetParams_v2, void *node, cu_kernel_node *parameters) {
  int result = REAL(cuGraphKernelNodeGetParams_v2, node, parameters);
  if (result == CUDA_SUCCESS && parameters) {
    parameters->function = own_of(parameters->function);
    parameters->kernel = own_of(parameters->kernel);
  }
  return result;
}

API(cuGraphNodeGetParams, void *node, cu_node *parameters) {
  int result = REAL(cuGraphNodeGetParams, node, parameters);
  if (result == CUDA_SUCCESS && is_kernel(parameters)) {
    parameters->kernel.function = own_of(parameters->kernel.function);
    parameters->kernel.kernel = own_of(parameters->kernel.kernel);
  }
  return result;
}
