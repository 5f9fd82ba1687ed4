/* scan: every kernel of a project, looked at without running anything.
 *
 *   find.c      the files: CUDA source, PTX, programs, libraries, wheels; compile_commands.json
 *   commands.c  reads compile_commands.json
 *   unit.c      a file as PTX: source is compiled, fat binaries are opened
 *   split.c     PTX of many kernels in parts
 *   module.c    a module, whose parts are looked at by several threads
 *   kernel.c    a kernel: its accesses by line, and what is predicted to help
 *   cache.c     what was found before
 *   scan.c      all of it on several threads
 *
 * Results are in the order of files, then of kernels in them, whatever the threads did. */
#ifndef BF_SCAN_H
#define BF_SCAN_H

#include "base/base.h"
#include "memory/memory.h"

/* ---- What is found ---- */

/* A line with accesses to shared memory; numbers are of one block of threads. */
typedef struct bf_scan_line {
  const char *file; /* of source; NULL: line is one of the PTX */
  uint64_t line;
  const char *what; /* the pattern of its worst access, or NULL */
  uint64_t accesses, wavefronts, ideal, conflicts;
  uint64_t sites;            /* instructions; of these: */
  uint64_t exact;            /* known exactly, for all values or for the launch; of these: */
  uint64_t each;             /* what each access costs, but not how many there are */
  uint64_t assumed, unknown; /* known on assumptions; of unknown address */
} bf_scan_line;

/* Instructions that are not known exactly, by the most that is unknown of them. */
typedef struct bf_scan_reasons {
  uint64_t address, data, lanes, offset, count;
} bf_scan_reasons;

/* A kernel. */
typedef struct bf_scan_kernel {
  const char *unit;       /* the file that it was found in */
  const char *name;       /* as in the PTX */
  const char *readable;   /* as in the source */
  const char *block;      /* "32x8": the block that it was looked at with */
  const char *block_from; /* why that one: "required", "launch at app.cu:12", "assumed", ... */
  uint64_t places;        /* other files that hold the same kernel */
  uint64_t accesses, wavefronts, ideal, conflicts;
  uint64_t sites, exact, each, assumed, unknown;
  bf_scan_reasons because; /* of those assumed and unknown */
  const char *rests_on;    /* what the launch or assumptions are that numbers rest on, or "" */
  const char *change;      /* what is predicted to win: lines of a list of hashes, or NULL */
  const char *reason;      /* what is predicted, or why nothing is changed */
  double share;            /* of the time that is left with change; 1 without one */
  uint64_t lines;
  bf_scan_line *line; /* by falling conflicts */
} bf_scan_kernel;

/* A file in which nothing could be looked at, and why. */
typedef struct bf_scan_fault {
  const char *unit, *why;
} bf_scan_fault;

typedef struct bf_scan {
  bf_arena arena;
  size_t units; /* files looked at */
  size_t kept;  /* kernels that were known from before */
  bf_scan_kernel *kernel;
  size_t kernels;
  bf_scan_fault *fault;
  size_t faults;
} bf_scan;

/* ---- Looking ---- */

typedef struct bf_scan_options {
  const bf_machine *machine;
  unsigned threads;         /* 0: one for each core */
  uint32_t block[3];        /* of all kernels that require none; 0: as launches say, or likely */
  const char *const *flags; /* of nvcc for source, ending with NULL; or NULL */
  const char *cache;        /* folder; NULL: none */
  /* Called now and then by the calling thread with what is done of how much; false: stop. Or NULL.
   */
  bool (*progress)(void *context, uint64_t done, uint64_t all);
  void *context;
} bf_scan_options;

/* Looks at files and folders. What is wrong with a file is a fault of it; one that is named must be
 * there. */
int bf_scan_run(const char *const *paths, unsigned count, const bf_scan_options *options,
                bf_scan *scan, bf_diagnostic *diagnostic);
void bf_scan_free(bf_scan *scan);

/* The folder for results that programs keep: $XDG_CACHE_HOME/bankfold/scan or ~/.cache/...; false
 * where there is none. */
bool bf_scan_cache_folder(char *folder, size_t bytes);

#endif
