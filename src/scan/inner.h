/* Inside room scan: the steps from files to kernels. */
#ifndef BF_SCAN_INNER_H
#define BF_SCAN_INNER_H

#include "ptx/fatbin.h"
#include "ptx/ptx.h"
#include "scan/scan.h"
#include "source/launches.h"

#include <limits.h>

/* ---- Files (find.c) ---- */

typedef enum scan_kind { SCAN_SOURCE, SCAN_IMAGES } scan_kind;

/* A file that may hold kernels. */
typedef struct scan_unit {
  const char *path; /* as it is shown */
  const char *file; /* where it is */
  scan_kind kind;
  const char *folder; /* in which it is compiled, or NULL */
  char **command;     /* that compiles it, ending with NULL, or NULL */
  bool is_named;      /* by the user, so that it must hold something */
  const char *fault;  /* why it cannot be looked at, where that was seen when files were listed */
} scan_unit;

typedef struct scan_files {
  bf_arena *arena;
  scan_unit *unit;
  size_t units, unit_capacity;
  const char **source; /* all sources and headers, for their launches */
  size_t sources, source_capacity;
  char unpacked[PATH_MAX]; /* folder with the content of wheels, or empty */
  unsigned wheels;
} scan_files;

/* Adds a file, the files of a folder, or those of compile_commands.json. */
int scan_find(scan_files *files, const char *path, bf_diagnostic *diagnostic);
void scan_files_free(scan_files *files);
/* Adds a file whose launches are read, unless it is listed or missing; false where memory is
 * exhausted. */
bool scan_add_source(scan_files *files, const char *path);
/* Adds a file to the list; NULL: memory is exhausted. */
scan_unit *scan_add_unit(scan_files *files, const char *path, const char *file, scan_kind kind);
/* Whether a name ends so. */
bool scan_ends_with(const char *text, const char *end);

/* compile_commands.json (commands.c): adds the CUDA sources of it. */
int scan_read_commands(scan_files *files, const char *path, bf_diagnostic *diagnostic);
/* The same for its text; name is for diagnostics. */
int scan_parse_commands(scan_files *files, const char *name, const char *text,
                        bf_diagnostic *diagnostic);

/* ---- PTX (unit.c) ---- */

/* What a unit is compiled or opened to. */
typedef struct scan_images {
  bf_fatbin *fatbin;
  bf_text ptx;       /* of source: what the fat binary is read from */
  bool has_compiled; /* the compiler ran */
} scan_images;

/* Compiles source, with what it read in *inputs, a line each; or opens a file. */
int scan_open(const scan_unit *unit, const bf_scan_options *options, scan_images *images,
              bf_text *inputs, bf_diagnostic *diagnostic);
void scan_close(scan_images *images);

/* A key of the cache, of 128 bits, as text. */
typedef struct scan_key {
  char text[33];
} scan_key;

/* ---- Parts of PTX (split.c) ---- */

/* Kernels of a part, by their numbers. */
typedef struct scan_part {
  size_t first, end;
} scan_part;

/* A module, cut so that each part has all that is no kernel, and some kernels. */
typedef struct scan_split {
  const char *text; /* borrowed */
  size_t size;
  size_t (*kernel)[2]; /* the first byte of each, and that behind it */
  size_t kernels;
  scan_part *part;
  unsigned parts;
} scan_split;

/* Finds the parts; false where memory is exhausted. Free it also then. */
bool scan_split_make(const bf_text *ptx, scan_split *split);
void scan_split_free(scan_split *split);
/* The PTX of a part, with lines where they were. */
void scan_split_text(const scan_split *split, unsigned part, bf_text *text);

/* ---- Kernels (kernel.c) ---- */

/* What was found, as a list that grows. */
typedef struct scan_kernels {
  bf_arena arena;
  bf_scan_kernel *kernel;
  size_t count, capacity;
} scan_kernels;

/* Looks at all kernels of PTX that use shared memory. expected: how many kernels it has, or
 * SIZE_MAX; BF_BAD_INPUT where it has others. */
int scan_module(const char *unit, const bf_text *ptx, size_t expected,
                const bf_scan_options *options, const bf_source_launches *launches,
                scan_kernels *found, bf_diagnostic *diagnostic);
/* A new kernel; NULL: memory is exhausted. */
bf_scan_kernel *scan_add_kernel(scan_kernels *kernels);
void scan_kernels_free(scan_kernels *kernels);

/* ---- A module on its way (module.c): one thread opens it, any look at its parts ---- */

typedef struct scan_module_work {
  bf_text ptx;
  scan_key key;
  scan_split split;
  scan_kernels *part;             /* what was found in each */
  unsigned parts, next, finished; /* the next to take; looked at */
  bool has_failed;                /* a part could not be looked at */
  bool is_open, is_finished, holds_ptx, was_known;
  scan_kernels found; /* once all is done */
} scan_module_work;

/* Reads the PTX of module number `index` of a fat binary, if it holds any, and finds its parts;
 * there are none where what it holds was known. */
int scan_module_open(const scan_images *images, unsigned index, const char *unit,
                     const bf_scan_options *options, const bf_source_launches *launches,
                     scan_module_work *module, bf_diagnostic *diagnostic);
/* Looks at a part; false where it could not be, and the module must be looked at as a whole. */
bool scan_module_look(const scan_module_work *module, unsigned part, const char *unit,
                      const bf_scan_options *options, const bf_source_launches *launches,
                      scan_kernels *found);
/* Joins what was found in the parts, or looks at the whole where that failed, and keeps it. */
int scan_module_finish(scan_module_work *module, const char *unit, const bf_scan_options *options,
                       const bf_source_launches *launches, bf_diagnostic *diagnostic);
void scan_module_free(scan_module_work *module);

/* ---- Cache (cache.c) ---- */

/* The key of PTX, or of a command and its folder, with all else that results depend on. */
scan_key scan_key_of(const bf_scan_options *options, const bf_source_launches *launches,
                     const void *bytes, size_t size);
/* Reads the kernels of a key; false where they are not known. */
bool scan_cache_read(const bf_scan_options *options, const scan_key *key, const char *unit,
                     scan_kernels *kernels);
void scan_cache_write(const bf_scan_options *options, const scan_key *key,
                      const scan_kernels *kernels);
/* What source compiled to, where none of the files that it read has changed since: the key of its
 * PTX. */
bool scan_cache_compiled(const bf_scan_options *options, const scan_key *command, scan_key *ptx);
void scan_cache_keep_compiled(const bf_scan_options *options, const scan_key *command,
                              const scan_key *ptx, const bf_text *inputs);

#endif
