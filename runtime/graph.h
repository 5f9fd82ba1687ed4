/* Inside runtime: graphs of work. A graph holds nodes and edges between them; instantiating copies
 * it and puts its nodes in an order in which each comes behind those it depends on. Running a graph
 * does the work of its nodes in that order, inside the call. Nothing here has a name of CUDA:
 * graph_api.c and graph_capture.c give programs what they call. */
#ifndef RT_GRAPH_H
#define RT_GRAPH_H

#include "context.h"

/* What a handle leads to. */
typedef enum rt_thing { RT_GRAPH = 1, RT_NODE, RT_GRAPH_EXEC, RT_USER_OBJECT } rt_thing;

/* Kinds of nodes, by the numbers of CUDA. */
typedef enum rt_node_kind {
  RT_NODE_KERNEL = 0,
  RT_NODE_COPY = 1,
  RT_NODE_FILL = 2,
  RT_NODE_HOST = 3,
  RT_NODE_GRAPH = 4,
  RT_NODE_EMPTY = 5,
  RT_NODE_WAIT = 6,
  RT_NODE_RECORD = 7,
  RT_NODE_ALLOCATE = 10,
  RT_NODE_FREE = 11,
  RT_NODE_CONDITION = 13,
} rt_node_kind;

typedef struct rt_kernel_work {
  const void *host; /* the stub, or the handle of the kernel */
  rt_dim3 grid, block;
  unsigned dynamic_shared_bytes;
  bool cooperative;
  rt_dim3 cluster;  /* as in rt_configuration */
  char *values;     /* of the parameters, one behind the other */
  void **arguments; /* their addresses in values; ends with NULL */
} rt_kernel_work;

/* width elements of element_bytes in each of height rows. */
typedef struct rt_fill_work {
  void *to;
  size_t pitch_bytes;
  unsigned value, element_bytes;
  size_t width, height;
} rt_fill_work;

typedef struct rt_host_work {
  void (*function)(void *data);
  void *data;
} rt_host_work;

/* Memory that belongs to a node; its copies share it. */
typedef struct rt_graph_memory {
  uint64_t address, bytes;
  unsigned users;
  bool is_allocated; /* by a launch, and not freed since */
} rt_graph_memory;

typedef enum rt_condition_kind { RT_IF, RT_WHILE, RT_SWITCH } rt_condition_kind;

/* value is what kernels set, in memory of the device. */
typedef struct rt_condition_work {
  uint32_t *value;
  int kind;
  unsigned bodies;
  struct rt_graph **body;
} rt_condition_work;

/* What CUDA says of an edge; kept, and without effect here. */
typedef struct rt_edge_data {
  unsigned char byte[8];
} rt_edge_data;

typedef struct rt_edge {
  struct rt_node *from;
  rt_edge_data data;
} rt_edge;

typedef struct rt_node {
  rt_thing thing;
  rt_node_kind kind;
  struct rt_graph *graph;
  struct rt_node *next;           /* of the graph, or of what is put off */
  const void *stream;             /* of work that is put off (later.c) */
  void *kept;                     /* what that copies, or NULL */
  const struct rt_node *original; /* that it is a copy of, or NULL */
  rt_edge *edge;                  /* from those it depends on */
  unsigned edges;
  bool is_disabled, is_placed;
  unsigned number; /* in its graph, when that was last walked */
  union {
    rt_kernel_work kernel;
    rt_copy_3d copy;
    rt_fill_work fill;
    rt_host_work host;
    struct rt_graph *child;
    void *event;
    rt_graph_memory *memory;
    void *freed;
    rt_condition_work condition;
  };
} rt_node;

/* A value that kernels set for a conditional node, and what it is at the start of a launch. */
typedef struct rt_condition {
  struct rt_condition *next;
  uint32_t *value;
  uint32_t first;
  bool is_reset;
} rt_condition;

/* Something of the program's that graphs keep alive, and how often a graph refers to it. */
typedef struct rt_user_object rt_user_object;
typedef struct rt_user_reference {
  struct rt_user_reference *next;
  rt_user_object *object;
  unsigned count;
} rt_user_reference;

typedef struct rt_graph {
  rt_thing thing;
  rt_node *first, **last;
  const struct rt_graph *original; /* that it is a copy of, or NULL */
  rt_condition *conditions;
  rt_user_reference *references;
  bool is_inner;   /* of a node: destroyed with it */
  bool is_private; /* of an instance: no handle leads to it */
  uint64_t number;
} rt_graph;

typedef struct rt_graph_exec {
  rt_thing thing;
  rt_graph *graph; /* a copy, its nodes in the order of work */
  unsigned long long flags;
  unsigned busy; /* launches under way */
  bool is_doomed;
} rt_graph_exec;

/* ---- Graphs (graph.c) ---- */

rt_graph *rt_graph_create(rt_context *context);
void rt_graph_destroy(rt_context *context, rt_graph *graph);
/* A copy of a graph; NULL where memory is exhausted. */
rt_graph *rt_graph_copy(rt_context *context, const rt_graph *graph, bool is_private);
/* What a handle leads to, where it is of that kind; else NULL. */
void *rt_graph_find(const rt_context *context, const void *handle, rt_thing thing);
/* Adds a node that takes over the work given (all but next, graph and edges). data may be NULL. */
int rt_graph_add(rt_context *context, rt_graph *graph, const rt_node *work, rt_node *const *from,
                 const rt_edge_data *data, size_t count, rt_node **node);
/* Adds an edge; one that is there already is an error. */
int rt_graph_connect(rt_node *from, rt_node *to, const rt_edge_data *data);
/* Takes an edge away; false where there is none. */
bool rt_graph_disconnect(rt_node *from, rt_node *to);
/* Takes a node and its edges away. */
void rt_graph_remove(rt_context *context, rt_node *node);
/* Puts nodes behind those that they depend on; false where there is a ring. */
bool rt_graph_sort(rt_graph *graph);
/* The copy of a node in a graph, or in graphs inside it; NULL where there is none. */
rt_node *rt_graph_find_copy(const rt_graph *graph, const rt_node *node);

/* ---- Objects of the program (user_object.c) ---- */

/* Gives all references of a graph back. */
void rt_graph_release_all(rt_context *context, rt_graph *graph);
/* Refers to all that another graph refers to; false where memory is exhausted. */
bool rt_graph_retain_all(const rt_graph *from, rt_graph *to);

/* ---- The work of nodes (graph_work.c) ---- */

/* Fills in a kernel's work: how it is launched and its parameters, which are copied. */
int rt_work_kernel(rt_context *context, const void *host, rt_dim3 grid, rt_dim3 block,
                   unsigned dynamic_shared_bytes, void **arguments, bool cooperative,
                   rt_node *work);
/* A copy of bytes in a row as one of boxes. */
rt_copy_3d rt_work_row(void *to, const void *from, size_t bytes, int direction);
/* Memory for an allocating node. */
int rt_work_memory(rt_context *context, uint64_t bytes, rt_node *work);
/* Copies what a node does; false where memory is exhausted. */
bool rt_work_copy(rt_context *context, const rt_node *from, rt_node *to);
void rt_work_free(rt_context *context, rt_node *node);
/* Lets a node do what another of its kind does; a cudaError. */
int rt_work_replace(rt_context *context, rt_node *node, const rt_node *work);

/* ---- Running (graph_run.c) ---- */

/* A copy that can be run; a cudaError. */
int rt_graph_instantiate(rt_context *context, const rt_graph *graph, unsigned long long flags,
                         rt_graph_exec **exec);
void rt_graph_exec_destroy(rt_context *context, rt_graph_exec *exec);
/* Does the work of one node; a cudaError. */
int rt_node_run(rt_context *context, rt_node *node);
/* Does all work; the lock is given back while functions of the host run. */
int rt_graph_run(rt_context *context, rt_graph_exec *exec);
/* Lets an instance do what a graph of the same shape does. *result and the nodes say what differs
 * where that fails, by the numbers of CUDA. */
int rt_graph_update(rt_context *context, rt_graph_exec *exec, const rt_graph *graph, int *result,
                    const rt_node **node, const rt_node **from);

#endif
