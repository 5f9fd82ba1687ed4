/* kernels: benchmark kernels written here, each with its PTX, a driver and a CPU reference.
 *
 * A driver prepares inputs, launches through a bf_device, reads results back and compares them with
 * its own reference. The same driver runs on the emulator, on a simulator, and on a real GPU: each
 * is a bf_device (devices.h).
 *
 * A folder kernels/NAME holds NAME.cu with the kernels, NAME.ptx made from it by make.sh, and
 * NAME.c with the drivers, which defines `const bf_corpus_benchmark bf_corpus_NAME[]`, ending with
 * a NULL name. The build finds the folders; there is no other list. */
#ifndef BF_CORPUS_H
#define BF_CORPUS_H

#include "base/base.h"

/* ---- What runs kernels ---- */

typedef struct bf_device_launch {
  const char *kernel; /* name in the PTX */
  uint32_t grid[3], block[3];
  uint64_t dynamic_shared_bytes;
  unsigned parameters;
  const void *const *parameter; /* pointers to the values, as cuLaunchKernel takes them */
} bf_device_launch;

/* One small interface: the PTX of the benchmark is loaded when the device is made. Addresses are
 * device addresses; functions return 0 or a negative bf_error. */
typedef struct bf_device {
  void *context;
  int (*alloc)(void *context, uint64_t bytes, uint64_t *address, bf_diagnostic *diagnostic);
  int (*write)(void *context, uint64_t address, const void *bytes, uint64_t size,
               bf_diagnostic *diagnostic);
  int (*read)(void *context, uint64_t address, void *bytes, uint64_t size,
              bf_diagnostic *diagnostic);
  /* Address and size of a .global or .const variable. */
  int (*symbol)(void *context, const char *name, uint64_t *address, uint64_t *bytes,
                bf_diagnostic *diagnostic);
  int (*launch)(void *context, const bf_device_launch *launch, bf_diagnostic *diagnostic);
} bf_device;

/* ---- Benchmarks ---- */

/* How the results of a benchmark compare with its reference. Elements are what the benchmark
 * computes: numbers, bytes, votes. */
typedef struct bf_corpus_outcome {
  uint64_t elements;
  uint64_t wrong;        /* elements further off than the benchmark allows */
  double worst_error;    /* largest |result - reference|, relative where |reference| > 1 */
  double allowed_error;  /* 0: must be equal */
  char first_wrong[160]; /* which, with both values; empty when all are right */
} bf_corpus_outcome;

/* scale 1 is what tests run, a few milliseconds to a second on the emulator; larger values ask for
 * larger inputs. seed chooses the data: 0 is the usual one, for histograms the training image. */
typedef struct bf_corpus_run {
  const struct bf_corpus_benchmark *benchmark;
  bf_arena *arena; /* for what the driver needs in memory; freed after the run */
  const bf_device *device;
  unsigned scale;
  unsigned seed;
} bf_corpus_run;

typedef struct bf_corpus_benchmark {
  const char *name;    /* as on the command line: transpose, transpose-padded */
  const char *folder;  /* kernels/FOLDER/FOLDER.cu and .ptx */
  const char *summary; /* one line */
  /* The row of Tables 5 and 6 of braak16 it stands for, or NULL. */
  const char *published_name;
  const char *difference; /* how it differs from the published kernel, or NULL */
  bool is_control;        /* conflict-free by design */
  bool is_padded;         /* the hand-padded version of another benchmark */
  bool is_data_dependent; /* shared addresses depend on the data */
  const void *variant;    /* for run: what tells benchmarks of a folder apart, or NULL */
  /* Prepares, launches, reads back, compares; called by bf_corpus_execute. */
  int (*run)(const bf_corpus_run *run, bf_corpus_outcome *outcome, bf_diagnostic *diagnostic);
} bf_corpus_benchmark;

/* A folder of kernels/, as the build finds it (tools/embed.c). */
typedef struct bf_corpus_folder {
  const char *name;
  const char *ptx;
  const bf_corpus_benchmark *benchmarks; /* ends with a NULL name */
} bf_corpus_folder;
extern const bf_corpus_folder bf_corpus_folders[]; /* ends with a NULL name */

/* Benchmark number index, by folder; NULL behind the last one. */
const bf_corpus_benchmark *bf_corpus_get(unsigned index);
/* The benchmark called name, or NULL. */
const bf_corpus_benchmark *bf_corpus_find(const char *name);
/* The same; where there is none, BF_BAD_INPUT and which one may be meant. */
int bf_corpus_named(const char *name, const bf_corpus_benchmark **benchmark,
                    bf_diagnostic *diagnostic);
/* The PTX of a folder, embedded by the build, or NULL. */
const char *bf_corpus_ptx(const char *folder);

/* Runs a benchmark on a device that holds the PTX of its folder. */
int bf_corpus_execute(const bf_corpus_benchmark *benchmark, const bf_device *device, unsigned scale,
                      unsigned seed, bf_corpus_outcome *outcome, bf_diagnostic *diagnostic);

/* ---- What drivers share (corpus.c) ---- */

/* Points *pointer, a T *, to count zeroed elements in the arena of the run. */
#define BF_CORPUS_ALLOC(run, pointer, count, diagnostic)                                           \
  ((*(pointer) = bf_arena_alloc((run)->arena, (count) * sizeof **(pointer)))                       \
       ? BF_OK                                                                                     \
       : bf_no_memory(diagnostic))

/* A stream of numbers that is the same everywhere: xorshift64*, never 0. */
typedef struct bf_corpus_random {
  uint64_t state;
} bf_corpus_random;

bf_corpus_random bf_corpus_seed(uint64_t seed);
uint32_t bf_corpus_next(bf_corpus_random *random); /* any 32 bits */
float bf_corpus_uniform(bf_corpus_random *random); /* in [0, 1) */
/* Fills an array with uniform numbers from low to high, or with any 32 bits. */
void bf_corpus_fill_f32(bf_corpus_random *random, float low, float high, float *values,
                        uint64_t count);
void bf_corpus_fill_u32(bf_corpus_random *random, uint32_t *values, uint64_t count);

/* Fills an array of that many bytes with copies of its first part, for references that take long to
 * compute. */
void bf_corpus_repeat(void *array, uint64_t first_bytes, uint64_t bytes);

/* Runs kernel in a grid of blocks; the parameters are pointers to their values. */
#define BF_CORPUS_LAUNCH(device, kernel_name, grid_x, grid_y, block_x, block_y, diagnostic, ...)   \
  bf_corpus_launch(                                                                                \
      (device), (kernel_name), (const uint32_t[4]){(grid_x), (grid_y), (block_x), (block_y)},      \
      (const void *const[]){__VA_ARGS__},                                                          \
      (unsigned)(sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *)), (diagnostic))
/* The same: sizes holds grid x, grid y, block x, block y. */
int bf_corpus_launch(const bf_device *device, const char *kernel, const uint32_t *sizes,
                     const void *const *parameter, unsigned parameters, bf_diagnostic *diagnostic);

/* Device memory with the given content (NULL: zeros). */
int bf_corpus_upload(const bf_device *device, const void *bytes, uint64_t size, uint64_t *address,
                     bf_diagnostic *diagnostic);

/* A kernel that makes one array from another: its first parameters are the addresses of input and
 * result, the others 32-bit numbers. */
typedef struct bf_corpus_map {
  const char *kernel;
  uint32_t grid[2], block[2];
  const void *input;
  uint64_t input_bytes;
  void *result;
  uint64_t result_bytes;
  unsigned numbers;
  uint32_t number[4];
} bf_corpus_map;
/* Uploads the input, runs the kernel and reads the result. */
int bf_corpus_apply(const bf_device *device, const bf_corpus_map *map, bf_diagnostic *diagnostic);

/* Compare results with references element by element and fill *outcome; may be called several times
 * for one outcome, which must start zeroed. Relative errors count where |reference| > 1. */
void bf_corpus_compare_u32(const uint32_t *result, const uint32_t *reference, uint64_t count,
                           bf_corpus_outcome *outcome);
void bf_corpus_compare_i16(const int16_t *result, const int16_t *reference, uint64_t count,
                           bf_corpus_outcome *outcome);
void bf_corpus_compare_bytes(const uint8_t *result, const uint8_t *reference, uint64_t count,
                             bf_corpus_outcome *outcome);
void bf_corpus_compare_f32(const float *result, const float *reference, uint64_t count,
                           double allowed_error, bf_corpus_outcome *outcome);
void bf_corpus_compare_f64(const double *result, const double *reference, uint64_t count,
                           double allowed_error, bf_corpus_outcome *outcome);

/* ---- Drivers of several folders (common.c); the variant is the name of the kernel ---- */

/* Sorts blocks of 1024 keys, of which many are equal, with that many threads each. */
int bf_corpus_run_sort(const bf_corpus_run *run, uint32_t threads, bf_corpus_outcome *outcome,
                       bf_diagnostic *diagnostic);
/* Multiplies matrices of floats in tiles of tile x tile, with threads x threads threads each. */
int bf_corpus_run_multiply(const bf_corpus_run *run, uint32_t tile, uint32_t threads,
                           bf_corpus_outcome *outcome, bf_diagnostic *diagnostic);

#endif
