/* Inside runtime: the structures in which programs describe the nodes of graphs. */
#ifndef RT_GRAPH_ABI_H
#define RT_GRAPH_ABI_H

#include "abi.h"

typedef struct rt_kernel_parameters {
  const void *function;
  rt_dim3 grid, block;
  unsigned dynamic_shared_bytes;
  void **arguments, **extra;
} rt_kernel_parameters;

typedef struct rt_fill_parameters {
  void *to;
  size_t pitch_bytes;
  unsigned value, element_bytes;
  size_t width, height;
} rt_fill_parameters;

typedef struct rt_host_parameters {
  void (*function)(void *data);
  void *data;
} rt_host_parameters;

typedef struct rt_allocate_parameters {
  char pool[88]; /* properties of the pool */
  const void *accesses;
  size_t access_count, bytes;
  void *address; /* out */
} rt_allocate_parameters;

typedef struct rt_condition_parameters {
  unsigned long long handle;
  int type;
  unsigned size;
  struct rt_graph **bodies; /* out */
  void *context;
} rt_condition_parameters;

/* What cudaGraphAddNode takes: the kind of node, and one of these. */
typedef struct rt_node_parameters {
  int type;
  int reserved[3];
  union {
    long long reserved_words[29];
    rt_kernel_parameters kernel;
    struct {
      int flags, reserved[3];
      rt_copy_3d how;
    } copy;
    rt_fill_parameters fill;
    rt_host_parameters host;
    void *graph;
    void *event;
    rt_allocate_parameters allocate;
    void *freed;
    rt_condition_parameters condition;
  };
  long long reserved_word;
} rt_node_parameters;

typedef struct rt_instantiate_parameters {
  unsigned long long flags;
  void *stream;
  void *node;
  int result;
} rt_instantiate_parameters;

typedef struct rt_update_result {
  int result;
  const void *node, *from;
} rt_update_result;

#endif
