/* Inside runtime: the driver's interface, libcuda.so.1. It is made of the calls of the runtime
 * where these do the same, and shares the context, its modules, memory, streams and kernels with
 * them; a handle of one interface is a handle of the other. What only the driver has is here:
 * contexts that programs make and choose, and errors with other numbers. */
#ifndef DR_DRIVER_H
#define DR_DRIVER_H

#include "runtime/context.h"

/* Error codes: number, name. Where the runtime has the same number, it means the same. */
typedef enum dr_error {
#define X(code, name) name = code,
#include "errors.def"
#undef X
} dr_error;

/* An address on the device: CUdeviceptr. */
typedef uint64_t dr_address;
static inline void *dr_pointer(dr_address address) { return (void *)(uintptr_t)address; }

/* A context. The device is the same in all; what was made in one ends with it. */
typedef struct dr_context {
  bool is_primary;
  unsigned flags, version; /* of the interface that the program wants to see */
  uint64_t number;
  unsigned uses; /* of the primary one: how often it was retained */
} dr_context;

/* What the driver's interface keeps in the context of the process. */
typedef struct dr_state {
  dr_context primary;
  rt_map contexts; /* that live, by address */
  uint64_t contexts_made;
  rt_map owned;    /* handles of things to dr_owned, where they end with a context that was made */
  rt_map textures; /* handles to dr_texture (texture.c) */
  rt_map old_launches;                 /* functions to what was set for them (old_launch.c) */
  rt_map references;                   /* addresses of variables to references (reference.c) */
  struct dr_reservation *reservations; /* of addresses (virtual.c) */
  rt_map allocations;                  /* handles to dr_allocation (virtual.c) */
  uint64_t allocations_made;
  rt_map links; /* handles to dr_link (link.c) */
} dr_state;

/* ---- Calls (context.c) ---- */

/* CUDA_SUCCESS where cuInit was called. */
int dr_check_on(void);
/* CUDA_SUCCESS where there is a current context, too. */
int dr_check(void);
/* The CUresult for a cudaError. */
int dr_result(int error);
/* Returns an error where there is no current context, else what a call of the runtime gives. */
#define DR_RETURN(call)                                                                            \
  do {                                                                                             \
    int dr_failure = dr_check();                                                                   \
    return dr_failure ? dr_failure : dr_result(call);                                              \
  } while (0)
/* Returns an error where there is no current context. */
#define DR_CHECK()                                                                                 \
  do {                                                                                             \
    int dr_failure = dr_check();                                                                   \
    if (dr_failure)                                                                                \
      return dr_failure;                                                                           \
  } while (0)
/* The same, without a context. */
#define DR_CHECK_ON()                                                                              \
  do {                                                                                             \
    int dr_failure = dr_check_on();                                                                \
    if (dr_failure)                                                                                \
      return dr_failure;                                                                           \
  } while (0)
/* CUDA_SUCCESS for a stream, also one that captures. */
int dr_check_stream(void *stream);
/* Another name of a function. */
#define DR_ALIAS(name, other) extern __typeof__(name) other __attribute__((alias(#name)))

/* The current context of the thread, or NULL. */
int cuCtxGetCurrent(dr_context **one);

/* Tells what options of a compilation ask for: logs and the time. The diagnostic is empty where all
 * went well (modules.c). */
void dr_tell(unsigned count, const int *options, void **values, const bf_diagnostic *diagnostic);

/* A call that does what one of the runtime does, and needs no current context: NAME, CALL, its
 * parameters and their names, each list in parentheses. */
#define DR_PASS(name, call, parameters, names)                                                     \
  int call parameters;                                                                             \
  int name parameters;                                                                             \
  int name parameters {                                                                            \
    DR_CHECK_ON();                                                                                 \
    return dr_result(call names);                                                                  \
  }

/* ---- Arguments in one piece (launch.c) ---- */

/* The list of arguments that the list `extra` of a launch stands for, to be freed; a CUresult. */
int dr_split_extra(void *function, void **extra, void ***arguments);

/* ---- Copies (copy.c) ---- */

/* CUDA_MEMCPY3D, and the same with contexts. */
typedef struct dr_side_3d {
  size_t x_bytes, y, z, level;
  int type;
  const void *host;
  dr_address device;
  void *array, *context; /* the context is unused where copies name none */
  size_t pitch_bytes, rows;
} dr_side_3d;
typedef struct dr_copy_3d {
  dr_side_3d from, to;
  size_t width_bytes, rows, slices;
} dr_copy_3d;

/* A copy as the runtime wants it, and back; a CUresult. */
int dr_copy_to_runtime(const dr_copy_3d *given, rt_copy_3d *how);
int dr_copy_from_runtime(const rt_copy_3d *how, dr_copy_3d *given);

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z,
                   unsigned dynamic_shared_bytes, void *stream, void **arguments, void **extra);
/* The channels of a texel; false where there is no such format (texture.c). */
bool dr_channels_of(int format, unsigned channels, rt_channel *to);

/* ---- What ends with a context (context.c) ---- */

typedef enum dr_kind {
  DR_MEMORY,
  DR_PINNED,
  DR_MODULE,
  DR_STREAM,
  DR_EVENT,
  DR_ARRAY,
  DR_MIPMAP
} dr_kind;
/* Notes that something was made in the current context: returns error, and does nothing unless it
 * is CUDA_SUCCESS. */
int dr_own(int error, dr_kind kind, void *handle);
/* Notes that the program has ended it. */
void dr_disown(const void *handle);

#endif
