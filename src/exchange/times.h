/* exchange/times: how long launches took on the GPU, from the injection library (inject/) to
 * bankfold tune: a file for each process (docs/exchange.md). */
#ifndef BF_EXCHANGE_TIMES_H
#define BF_EXCHANGE_TIMES_H

#include "base/base.h"

/* The launches of a kernel with one hash, and one size of grid and blocks. */
typedef struct bf_times_row {
  const char *kernel; /* as in the PTX */
  const char *hash;   /* canonical text; NULL: it was not rewritten */
  const char *reason; /* why not; NULL: it was, or no hash is named for it */
  uint64_t blocks, threads, launches;
  uint64_t total_ns, median_ns, least_ns; /* of all launches, and of one */
} bf_times_row;

/* ---- Writing: the beginning, rows, the end ---- */

void bf_times_begin(bf_text *text);
void bf_times_write(const bf_times_row *row, bf_text *text);
void bf_times_end(bf_text *text);

/* ---- Reading ---- */

/* One row for each kernel and size. */
typedef struct bf_times {
  bf_arena arena;
  bf_times_row *row;
  size_t rows, capacity;
} bf_times;

/* Adds the files of all processes in a folder. Rows of the same kernel and size become one, whose
 * median is the mean of theirs, weighted by launches; where modules have kernels of the same name,
 * a hash of one is the hash. Free also after an error. */
int bf_times_read(const char *folder, bf_times *times, bf_diagnostic *diagnostic);
/* The same for one file. */
int bf_times_read_file(const char *path, bf_times *times, bf_diagnostic *diagnostic);
void bf_times_free(bf_times *times);
/* The row of a kernel with the size of another row; NULL: none. */
const bf_times_row *bf_times_find(const bf_times *times, const char *kernel,
                                  const bf_times_row *like);
/* Why a kernel was not rewritten; NULL: it was, or nothing says so. */
const char *bf_times_reason(const bf_times *times, const char *kernel);

#endif
