/* How long launches take on the GPU, for bankfold tune. Where the environment names a file, every
 * launch stands between two events of its stream, and is waited for; so launches run one after
 * another, which is good for measuring them and for nothing else. "%p" in the name of the file
 * becomes the number of the process. The file (exchange/times.h) is written anew after ever more
 * launches, and when the process ends. A first launch is slower than others: where there are more
 * than two, median and least are those of the rest. */
#include "inject.h"

#include "exchange/times.h"
#include "lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Rows in the file, launches of a row that are kept, and those after which the file is written. */
enum { MOST_ROWS = 4096, MOST_KEPT = 1 << 16, WRITE_EVERY = 1024 };

bool inject_takes_times;
static char file_name[4096];

void inject_times_start(const char *file) {
  inject_takes_times = file && strlen(file) < sizeof file_name;
  if (inject_takes_times)
    memcpy(file_name, file, strlen(file) + 1);
}

/* ---- Names of handles ---- */

enum { BUCKETS = 4096 };

typedef struct named {
  struct named *next;
  const void *handle;
  char *name;
} named;

static named *handles[BUCKETS]; /* under the lock, as all below */

/* Where the name of a handle is linked, or would be. */
static named **find_named(const void *handle) {
  uint64_t mixed = (uint64_t)(uintptr_t)handle * 0x9E3779B97F4A7C15u;
  named **at = &handles[mixed >> 52];
  while (*at && (*at)->handle != handle)
    at = &(*at)->next;
  return at;
}

/* Names a handle; forgets it where there is no name, or no memory for it. */
static void put_name(const void *handle, const char *name) {
  named **at = find_named(handle), *found = *at;
  char *copy = name ? strdup(name) : NULL;
  if (copy && !found)
    *at = found = calloc(1, sizeof *found);
  if (copy && found) {
    free(found->name);
    *found = (named){found->next, handle, copy};
    return;
  }
  free(copy);
  if (found) {
    *at = found->next;
    free(found->name);
    free(found);
  }
}

void inject_times_name(const void *handle, const char *name) {
  inject_lock();
  put_name(handle, name);
  inject_unlock();
}

void inject_times_copy(const void *handle, const void *from) {
  inject_lock();
  const named *found = *find_named(from);
  if (handle != from)
    put_name(handle, found ? found->name : NULL);
  inject_unlock();
}

/* ---- Rows ---- */

/* The launches of a kernel with one hash and one size. */
typedef struct row {
  bf_times_row times; /* without median and least; texts are its own */
  uint64_t *kept_ns;  /* of the first launches, in their order */
  unsigned kept, capacity;
} row;

static row rows[MOST_ROWS];
static unsigned row_count;
static uint64_t launches, next_write = 1;
static pid_t owner; /* whose launches the rows are */

static void free_row(row *own) {
  free((char *)(uintptr_t)own->times.kernel);
  free((char *)(uintptr_t)own->times.hash);
  free((char *)(uintptr_t)own->times.reason);
  free(own->kept_ns);
}

/* Forgets all rows: a child is born with those of its parent. */
static void clear_rows(void) {
  for (unsigned i = 0; i < row_count; i++)
    free_row(&rows[i]);
  row_count = 0;
  launches = 0;
  next_write = 1;
  owner = getpid();
}

/* Whether two texts are equal; either may be NULL. */
static bool is_same(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

/* A copy of text, which may be NULL; *is_whole becomes false where memory is exhausted. */
static const char *copy_text(const char *text, bool *is_whole) {
  const char *copy = text ? strdup(text) : NULL;
  *is_whole &= copy || !text;
  return copy;
}

/* The row of launches like these, or a new one; NULL: there is no room. */
static row *find_row(const bf_times_row *like) {
  for (unsigned i = 0; i < row_count; i++) {
    const bf_times_row *known = &rows[i].times;
    if (known->blocks == like->blocks && known->threads == like->threads &&
        strcmp(known->kernel, like->kernel) == 0 && is_same(known->hash, like->hash) &&
        is_same(known->reason, like->reason))
      return &rows[i];
  }
  bool is_whole = row_count < MOST_ROWS;
  if (!is_whole)
    return NULL;
  row made = {.times = {.kernel = copy_text(like->kernel, &is_whole),
                        .hash = copy_text(like->hash, &is_whole),
                        .reason = copy_text(like->reason, &is_whole),
                        .blocks = like->blocks,
                        .threads = like->threads}};
  if (!is_whole) {
    free_row(&made);
    return NULL;
  }
  rows[row_count] = made;
  return &rows[row_count++];
}

/* Adds a launch to a row; where memory is short, its time counts in the total only. */
static void add_time(row *to, uint64_t ns) {
  to->times.launches++;
  to->times.total_ns += ns;
  if (to->kept == to->capacity && to->capacity < MOST_KEPT) {
    unsigned capacity = to->capacity ? 2 * to->capacity : 16;
    uint64_t *grown = realloc(to->kept_ns, capacity * sizeof *grown);
    if (grown) {
      to->kept_ns = grown;
      to->capacity = capacity;
    }
  }
  if (to->kept < to->capacity)
    to->kept_ns[to->kept++] = ns;
}

/* ---- The file ---- */

static int compare_ns(const void *a, const void *b) {
  uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
  return first < second ? -1 : first > second;
}

/* Writes a row; false where memory is exhausted. */
static bool write_row(const row *from, bf_text *text) {
  unsigned skipped = from->kept > 2, count = from->kept - skipped;
  uint64_t *sorted = malloc((count + 1) * sizeof *sorted);
  if (!sorted || !count) {
    free(sorted);
    return count == 0;
  }
  memcpy(sorted, from->kept_ns + skipped, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_ns);
  bf_times_row times = from->times;
  times.median_ns = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
  times.least_ns = sorted[0];
  bf_times_write(&times, text);
  free(sorted);
  return true;
}

/* The path of the file of this process. */
static void find_path(bf_text *path) {
  const char *mark = strstr(file_name, "%p");
  if (mark)
    bf_text_addf(path, "%.*s%ld%s", (int)(mark - file_name), file_name, (long)getpid(), mark + 2);
  else
    bf_text_puts(path, file_name);
}

/* Writes the file, under the lock. */
static void write_times(void) {
  bf_text text = {0}, path = {0};
  bool is_whole = true;
  find_path(&path);
  bf_times_begin(&text);
  for (unsigned i = 0; i < row_count; i++)
    is_whole &= write_row(&rows[i], &text);
  bf_times_end(&text);
  if (text.failed || path.failed || !is_whole)
    inject_log("the times of launches are not written: out of memory");
  else if (!inject_write_file(path.data, &text))
    inject_log("cannot write %s: %s", path.data, strerror(errno));
  bf_text_free(&path);
  bf_text_free(&text);
  uint64_t step = launches / 4 + 1;
  next_write = launches + (step < WRITE_EVERY ? step : WRITE_EVERY);
}

/* Programs that end by _exit or a signal leave what was written before. */
__attribute__((destructor)) static void write_last(void) {
  if (!inject_takes_times)
    return;
  inject_lock();
  if (row_count && owner == getpid())
    write_times();
  inject_unlock();
}

/* Keeps the time of a launch like these. */
static void keep(const bf_times_row *like, uint64_t ns) {
  int kept = errno;
  inject_lock();
  if (owner != getpid())
    clear_rows();
  row *to = find_row(like);
  if (to)
    add_time(to, ns);
  if (++launches >= next_write)
    write_times();
  inject_unlock();
  errno = kept;
}

/* ---- Events ---- */

/* The driver's functions; all or none. */
static struct {
  int (*create)(void **event, unsigned flags);
  int (*record)(void *event, void *stream);
  int (*synchronize)(void *event);
  int (*elapsed)(float *milliseconds, void *begun, void *ended);
  int (*destroy)(void *event);
  int (*capturing)(void *stream, int *status);
  int (*exchange_mode)(int *mode);
  int (*name)(const char **name, void *function);
} driver;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_driver(void) {
  *(void **)&driver.record = inject_driver("cuEventRecord");
  *(void **)&driver.synchronize = inject_driver("cuEventSynchronize");
  *(void **)&driver.elapsed = inject_driver("cuEventElapsedTime");
  *(void **)&driver.destroy = inject_driver("cuEventDestroy_v2");
  *(void **)&driver.capturing = inject_driver("cuStreamIsCapturing");
  *(void **)&driver.exchange_mode = inject_driver("cuThreadExchangeStreamCaptureMode");
  *(void **)&driver.name = inject_driver("cuFuncGetName");
  if (driver.record && driver.synchronize && driver.elapsed && driver.destroy && driver.capturing &&
      driver.exchange_mode)
    *(void **)&driver.create = inject_driver("cuEventCreate");
  if (!driver.create)
    inject_log("launches are not timed: the driver has no events");
}

static void destroy_events(inject_launch *launch) {
  if (launch->begun)
    driver.destroy(launch->begun);
  if (launch->ended)
    driver.destroy(launch->ended);
  launch->begun = launch->ended = NULL;
}

/* Makes the events and records the first, unless the stream is being captured into a graph. */
static void begin(inject_launch *launch) {
  int status;
  if (driver.capturing(launch->stream, &status) != CUDA_SUCCESS ||
      status != CU_STREAM_CAPTURE_STATUS_NONE)
    return;
  if (driver.create(&launch->begun, 0) != CUDA_SUCCESS)
    launch->begun = NULL;
  if (driver.create(&launch->ended, 0) != CUDA_SUCCESS)
    launch->ended = NULL;
  if (!launch->begun || !launch->ended ||
      driver.record(launch->begun, launch->stream) != CUDA_SUCCESS)
    destroy_events(launch);
}

void inject_times_begin(inject_launch *launch) {
  int kept = errno;
  pthread_once(&once, find_driver);
  errno = kept;
  if (!driver.create)
    return;
  /* While any stream is captured, the driver refuses these calls to threads that are not relaxed
   * about it. */
  int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool is_relaxed = driver.exchange_mode(&mode) == CUDA_SUCCESS;
  begin(launch);
  if (is_relaxed)
    driver.exchange_mode(&mode);
}

/* Records the second event, waits for it and gives the time between both; false where there is
 * none. */
static bool measure(const inject_launch *launch, uint64_t *ns) {
  float milliseconds;
  if (driver.record(launch->ended, launch->stream) != CUDA_SUCCESS ||
      driver.synchronize(launch->ended) != CUDA_SUCCESS ||
      driver.elapsed(&milliseconds, launch->begun, launch->ended) != CUDA_SUCCESS)
    return false;
  *ns = milliseconds > 0 ? (uint64_t)((double)milliseconds * 1e6 + 0.5) : 0;
  return true;
}

/* Why the kernel of a function was not rewritten; NULL: it has no hash. */
static const char *reason_of(const inject_image *image, const inject_kernel *known) {
  if (known && known->reason)
    return known->reason;
  if (image)
    return image->reason;
  return inject_settings_get() ? "it was not seen how its code was loaded" : NULL;
}

/* Keeps the time of a launch of a kernel. */
static void attribute_to(const inject_launch *launch, const char *kernel, uint64_t ns) {
  const inject_image *image = inject_handle_image(launch->function);
  const inject_kernel *known = image ? inject_image_kernel(image, kernel) : NULL;
  bf_times_row like = {.kernel = kernel,
                       .hash = known && launch->is_beside ? known->hash : NULL,
                       .blocks = inject_launch_blocks(launch),
                       .threads = inject_launch_threads(launch)};
  if (!like.hash)
    like.reason = inject_choice_reason(launch);
  if (!like.hash && !like.reason)
    like.reason = reason_of(image, known);
  keep(&like, ns);
}

/* Finds out what was launched, and keeps its time. */
static void attribute(const inject_launch *launch, uint64_t ns) {
  const char *asked;
  inject_lock();
  const named *found = *find_named(launch->function);
  char *kernel = found ? strdup(found->name) : NULL;
  bool is_named = found != NULL;
  inject_unlock();
  if (!is_named && driver.name &&
      driver.name(&asked, (void *)(uintptr_t)launch->function) == CUDA_SUCCESS)
    kernel = strdup(asked);
  if (kernel)
    attribute_to(launch, kernel, ns);
  free(kernel);
}

void inject_times_end(inject_launch *launch, int result) {
  uint64_t ns = 0;
  if (!launch->begun)
    return;
  int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool is_relaxed = driver.exchange_mode(&mode) == CUDA_SUCCESS;
  bool is_measured = result == CUDA_SUCCESS && measure(launch, &ns);
  destroy_events(launch);
  if (is_relaxed)
    driver.exchange_mode(&mode);
  if (is_measured)
    attribute(launch, ns);
}
