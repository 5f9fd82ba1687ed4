/* What kernels launch: kept while the kernel runs, and done when it has ended, before the launch
 * counts as done. Work is done in the order of the calls, each with all that it launches itself;
 * what was put into the stream for tail launches comes last. */
#include "context.h"

#include <stdlib.h>
#include <string.h>

enum { TAIL_STREAM = 3 };   /* cudaStreamTailLaunch */
enum { MOST_DEPTH = 2048 }; /* levels below a launch of the host: what an H200 does */

struct rt_child {
  rt_child *next;
  bf_emu_child what;
  rt_function *function;
  char *parameters;
};

/* The record of a kernel of a module, made where the host has not registered it. */
static rt_function *find_named(rt_context *context, rt_module *module, const char *name) {
  for (rt_function *f = context->functions; f; f = f->next)
    if (f->module == module && strcmp(f->name, name) == 0)
      return f;
  return rt_add_function(context, module, NULL, name);
}

static rt_configuration shape_of(const bf_emu_child *what) {
  return (rt_configuration){.grid = {what->grid[0], what->grid[1], what->grid[2]},
                            .block = {what->block[0], what->block[1], what->block[2]},
                            .dynamic_shared_bytes = what->dynamic_shared_bytes};
}

/* Checks a kernel that a kernel launches; a cudaError. One that cannot run at all is an error of
 * the program too. */
static int check_kernel(rt_children *children, const bf_emu_child *what, rt_function **function) {
  *function = find_named(children->context, children->module, what->function->name);
  if (!*function)
    return cudaErrorMemoryAllocation;
  int error = rt_make_ready(children->context, *function);
  if (error != cudaSuccess) {
    children->refused = error;
    return error;
  }
  rt_configuration how = shape_of(what);
  return rt_check_launch(children->context, *function, &how, false);
}

/* Keeps what a kernel asks for; a cudaError, which the kernel is told. */
static int keep(rt_children *children, const bf_emu_child *what) {
  rt_function *function = NULL;
  if (children->depth >= MOST_DEPTH)
    return cudaErrorLaunchPendingCountExceeded;
  int error = what->kind == BF_EMU_CHILD_KERNEL ? check_kernel(children, what, &function)
                                                : (int)cudaSuccess;
  if (error != cudaSuccess)
    return error;
  rt_child *made = calloc(1, sizeof *made);
  char *copy = malloc(what->parameter_bytes + 1);
  if (!made || !copy) {
    free(made);
    free(copy);
    return cudaErrorMemoryAllocation;
  }
  if (what->parameter_bytes)
    memcpy(copy, what->parameters, what->parameter_bytes);
  *made = (rt_child){NULL, *what, function, copy};
  *children->last = made;
  children->last = &made->next;
  return cudaSuccess;
}

static int take(void *context, const bf_emu_child *what) {
  rt_children *children = context;
  pthread_mutex_lock(&children->lock);
  int error = keep(children, what);
  pthread_mutex_unlock(&children->lock);
  return error;
}

static const char *error_text(int error, bool is_name) {
  return is_name ? cudaGetErrorName(error) : cudaGetErrorString(error);
}

/* Blocks of a kernel on a multiprocessor. */
static int answer_occupancy(rt_children *children, const char *name, const uint64_t given[2],
                            uint64_t *value) {
  pthread_mutex_lock(&children->lock);
  rt_function *function = find_named(children->context, children->module, name);
  int error =
      function ? rt_make_ready(children->context, function) : (int)cudaErrorMemoryAllocation;
  pthread_mutex_unlock(&children->lock);
  if (error == cudaSuccess && (given[0] == 0 || given[0] > INT32_MAX))
    error = cudaErrorInvalidValue;
  if (error == cudaSuccess)
    *value = (uint64_t)rt_blocks_per_multiprocessor(children->context, function->kernel,
                                                    (unsigned)given[0], given[1]);
  return error;
}

static int answer(void *context, bf_emu_question question, const bf_ptx_function *function,
                  const uint64_t given[2], uint64_t *value) {
  rt_children *children = context;
  switch (question) {
  case BF_EMU_ASK_ATTRIBUTE:
    return rt_device_attribute(children->context, (int)given[0], value);
  case BF_EMU_ASK_LIMIT:
    return rt_device_limit(children->context, (int)given[0], value);
  case BF_EMU_ASK_VERSION:
    *value = RT_VERSION;
    return cudaSuccess;
  default:
    return answer_occupancy(children, function->name, given, value);
  }
}

void rt_children_open(rt_children *children, rt_context *context, rt_module *module,
                      unsigned depth) {
  *children = (rt_children){.context = context,
                            .module = module,
                            .depth = depth,
                            .parent = {take, error_text, answer, children}};
  children->last = &children->first;
  pthread_mutex_init(&children->lock, NULL);
}

/* ---- Doing it ---- */

static int fill(const rt_context *context, const bf_emu_child *what) {
  if (what->width_bytes == 0 || what->rows == 0)
    return cudaSuccess;
  char *to = (char *)(uintptr_t)what->to;
  uint64_t bytes = (what->rows - 1) * what->to_pitch_bytes + what->width_bytes;
  if (!rt_holds(context, to, bytes, "cudaMemsetAsync in a kernel"))
    return cudaErrorIllegalAddress;
  for (uint64_t y = 0; y < what->rows; y++)
    memset(to + y * what->to_pitch_bytes, what->value, what->width_bytes);
  return cudaSuccess;
}

static int copy(rt_context *context, const bf_emu_child *what) {
  rt_side to = {(char *)(uintptr_t)what->to, what->to_pitch_bytes, 0};
  rt_side from = {(char *)(uintptr_t)what->from, what->from_pitch_bytes, 0};
  return rt_copy_box(context, to, from, (rt_extent){what->width_bytes, what->rows, 1},
                     RT_DEVICE_TO_DEVICE, "cudaMemcpyAsync in a kernel") == cudaSuccess
             ? cudaSuccess
             : cudaErrorIllegalAddress;
}

static int run(rt_children *children, rt_child *child) {
  rt_context *context = children->context;
  if (child->what.kind == BF_EMU_CHILD_FILL)
    return fill(context, &child->what);
  if (child->what.kind == BF_EMU_CHILD_COPY)
    return copy(context, &child->what);
  rt_configuration how = shape_of(&child->what);
  return rt_start(context, child->function, &how, child->parameters, false, children->depth + 1);
}

void rt_children_run(rt_children *children) {
  rt_context *context = children->context;
  if (children->refused != cudaSuccess && context->pending == cudaSuccess)
    context->pending = children->refused;
  for (int tail = 0; tail < 2; tail++)
    for (rt_child *child = children->first; child; child = child->next) {
      if ((child->what.stream == TAIL_STREAM) != tail || context->pending != cudaSuccess)
        continue;
      int error = run(children, child);
      if (error != cudaSuccess && context->pending == cudaSuccess)
        context->pending = error;
    }
  for (rt_child *child = children->first, *next; child; child = next) {
    next = child->next;
    free(child->parameters);
    free(child);
  }
  pthread_mutex_destroy(&children->lock);
}
