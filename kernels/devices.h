/* What can run the benchmarks: devices made here are handed to drivers as a bf_device. */
#ifndef BF_DEVICES_H
#define BF_DEVICES_H

#include "kernels/corpus.h"

/* ---- A CUDA GPU, through its driver (cuda_device.c) ---- */

/* What a launch took, and what the kernel needs. */
typedef struct bf_cuda_launched {
  const char *kernel;
  unsigned module; /* which of them it was taken from */
  uint64_t blocks;
  unsigned registers;         /* of a thread */
  uint64_t local_bytes;       /* of a thread */
  uint64_t static_bytes;      /* of shared memory of a block */
  uint64_t dynamic_bytes;     /* the same, asked for by the launch */
  double median_ns, least_ns; /* 0: not measured */
} bf_cuda_launched;

enum { BF_CUDA_MOST_REPEATS = 1000, BF_CUDA_MOST_MODULES = 8 };

typedef struct bf_cuda_device_options {
  /* Every launch is repeated so often on the same memory, with cold caches, and timed; 0: it runs
   * once. At most BF_CUDA_MOST_REPEATS. */
  unsigned repeats;
  /* More modules with the same kernels, for timed launches: each repeat runs them one after the
   * other, the device's own first; what the last leaves in memory stays. At most
   * BF_CUDA_MOST_MODULES - 1. */
  unsigned others;
  const char *const *other;
  unsigned shared_granule_bytes; /* dynamic shared memory is rounded up to it; 0: it is not */
  /* Called after every launch for each module, unless NULL. */
  int (*after)(void *context, const bf_cuda_launched *launched, bf_diagnostic *diagnostic);
  void *context;
} bf_cuda_device_options;
/* Loads PTX on the first GPU. BF_UNSUPPORTED where there is no driver or no GPU. options (NULL:
 * none) are copied. */
int bf_cuda_device_create(const char *ptx, const bf_cuda_device_options *options, bf_device *device,
                          bf_diagnostic *diagnostic);
/* Fails with BF_UNSUPPORTED where there is no driver or no GPU. */
int bf_cuda_check(bf_diagnostic *diagnostic);
/* Frees all memory of the device. */
void bf_cuda_device_free(bf_device *device);

/* ---- The emulator (emu_device.c) ---- */

struct bf_emu;
struct bf_emu_launch;
struct bf_emu_result;

typedef struct bf_emu_device_options {
  unsigned workers; /* threads of the host; 0: one per core */
  bool check_uninitialised, check_races;
  /* Called before and after every launch, unless NULL: the first can set an observer. An error ends
   * the benchmark. */
  int (*before)(void *context, struct bf_emu_launch *launch, bf_diagnostic *diagnostic);
  /* Executes every launch in place of bf_emu_run, unless NULL. */
  int (*execute)(void *context, struct bf_emu *emu, const struct bf_emu_launch *launch,
                 struct bf_emu_result *result, bf_diagnostic *diagnostic);
  int (*after)(void *context, const struct bf_emu_launch *launch,
               const struct bf_emu_result *result, bf_diagnostic *diagnostic);
  void *context;
} bf_emu_device_options;

/* Loads PTX; name is what diagnostics call it. A fault of a kernel is BF_BAD_INPUT with the fault
 * explained. options (NULL: none) are copied. */
int bf_emu_device_create(const char *name, const char *ptx, const bf_emu_device_options *options,
                         bf_device *device, bf_diagnostic *diagnostic);
void bf_emu_device_free(bf_device *device);

#endif
