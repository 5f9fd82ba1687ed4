/* A branch and bound that several processes share. */
#include "search/together.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bf_together {
  bf_exact *exact;
  char path[4096];
  int file;
  pthread_mutex_t lock; /* of all below */
  off_t read;           /* how far the file was read */
  uint64_t told;        /* the least cost that the file has, or was told */
  uint32_t tasks;
  uint64_t *done; /* [tasks]: no hash costs less; 0: not known */
};

/* ---- Locks ---- */

/* Those of an open file, which not every system has. */
#ifdef F_OFD_SETLK
enum { HAS_LOCKS = 1, SET_LOCK = F_OFD_SETLK, WAIT_FOR_LOCK = F_OFD_SETLKW };
#else
enum { HAS_LOCKS = 0, SET_LOCK = F_SETLK, WAIT_FOR_LOCK = F_SETLKW };
#endif

enum { LINES = 0 }; /* the byte that whoever writes lines has locked */

static off_t byte_of(uint32_t task) { return ((off_t)1 << 40) + task; }

/* Locks a byte for as long as the descriptor is open, or gives it back. */
static bool lock_byte(int file, off_t byte, short type, bool waits) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
  int status;
  do
    status = fcntl(file, waits ? WAIT_FOR_LOCK : SET_LOCK, &lock);
  while (status != 0 && errno == EINTR);
  return status == 0;
}

/* ---- Lines ---- */

static void take_best(bf_together *t, const char *text) {
  uint32_t functional[BF_MAX_FUNCTIONALS] = {0};
  uint64_t rows[BF_MAX_FUNCTIONALS];
  bf_exact *exact = t->exact;
  char *end;
  uint64_t said = strtoull(text, &end, 10);
  for (unsigned i = 0; i < exact->m; i++) {
    functional[i] =
        (uint32_t)strtoul(end, &end, 16) & (uint32_t)bf_gf2_low_bits(exact->coordinates.dimension);
    rows[i] = functional[i];
  }
  if (*end || bf_gf2_rank(rows, exact->m) < exact->m)
    return;
  uint64_t cost = exact->kernel->cost(&exact->planes, functional, exact->m);
  if (cost != said)
    return;
  t->told = cost < t->told ? cost : t->told;
  bf_exact_offer(exact, functional, cost);
}

static void take_line(bf_together *t, const char *line) {
  char *end;
  if (strncmp(line, "best ", 5) == 0)
    take_best(t, line + 5);
  if (strncmp(line, "done ", 5) != 0)
    return;
  uint64_t task = strtoull(line + 5, &end, 10), cost = *end == ' ' ? strtoull(end, &end, 10) : 0;
  if (!*end && task < t->tasks && cost > t->done[task])
    t->done[task] = cost;
}

/* Reads the lines that are new. */
static void read_lines(bf_together *t) {
  char text[8192];
  for (ssize_t count; (count = pread(t->file, text, sizeof text - 1, t->read)) > 0;) {
    char *line = text, *end;
    text[count] = 0;
    while ((end = memchr(line, '\n', (size_t)(text + count - line)))) {
      *end = 0;
      take_line(t, line);
      line = end + 1;
    }
    if (line == text && count == sizeof text - 1)
      line = text + count; /* no line is so long: it is none of ours */
    if (line == text)
      return;
    t->read += line - text;
  }
}

/* Appends a line; one that a killed process has left unfinished is ended before. */
static bool write_line(bf_together *t, const char *line) {
  char last = '\n';
  bool fine = lock_byte(t->file, LINES, F_WRLCK, true);
  off_t end = lseek(t->file, 0, SEEK_END);
  if (fine && end > 0)
    fine = pread(t->file, &last, 1, end - 1) == 1;
  if (fine && last != '\n')
    fine = write(t->file, "\n", 1) == 1;
  size_t length = strlen(line);
  fine = fine && write(t->file, line, length) == (ssize_t)length;
  lock_byte(t->file, LINES, F_UNLCK, false);
  return fine;
}

/* Reads what is new and tells a better hash. */
static void meet(bf_together *t) {
  char line[256];
  uint32_t functional[BF_MAX_FUNCTIONALS];
  bf_exact *exact = t->exact;
  read_lines(t);
  if (atomic_load(&exact->best) >= t->told)
    return;
  pthread_mutex_lock(&exact->lock);
  memcpy(functional, exact->functional, sizeof functional);
  t->told = atomic_load(&exact->best);
  pthread_mutex_unlock(&exact->lock);
  int length = snprintf(line, sizeof line, "best %" PRIu64, t->told);
  for (unsigned i = 0; i < exact->m; i++)
    length += snprintf(line + length, sizeof line - (size_t)length, " %" PRIx32, functional[i]);
  snprintf(line + length, sizeof line - (size_t)length, "\n");
  write_line(t, line);
}

/* ---- The file ---- */

static uint64_t mix(uint64_t h, uint64_t value) {
  h = (h ^ value) * 0xD6E8FEB86659FD93u;
  return h ^ h >> 29;
}

/* A number for all that tasks and costs depend on. */
static uint64_t basis_of(const bf_exact *exact) {
  const bf_problem *problem = exact->problem;
  uint64_t h = mix(mix(mix(1, exact->m), exact->fixed), exact->row);
  for (size_t s = 0; s < problem->count; s++) {
    const bf_shape *shape = &problem->shape[s];
    h = mix(mix(mix(mix(h, shape->words), shape->ideal), shape->weight), shape->square);
    for (unsigned i = 0; i < shape->words; i++)
      h = mix(h, shape->word[i]);
  }
  return h;
}

/* Writes the first line of a new file, or compares that of an old one. */
static int check_head(bf_together *t, bf_diagnostic *diagnostic) {
  char head[128], found[128] = "";
  int length = snprintf(head, sizeof head, "bankfold-search 1 %016" PRIx64 " %" PRIu32 "\n",
                        basis_of(t->exact), t->tasks);
  if (!lock_byte(t->file, LINES, F_WRLCK, true))
    return bf_fail_file(diagnostic, BF_IO, t->path, "cannot lock: %s", strerror(errno));
  ssize_t count = pread(t->file, found, (size_t)length, 0);
  bool fine = count == 0 ? write(t->file, head, (size_t)length) == length : count == length;
  lock_byte(t->file, LINES, F_UNLCK, false);
  if (!fine && count == 0)
    return bf_fail_file(diagnostic, BF_IO, t->path, "cannot write: %s", strerror(errno));
  if (count && (!fine || memcmp(head, found, (size_t)length) != 0)) {
    found[strcspn(found, "\n")] = 0;
    return bf_fail_at(diagnostic, t->path, 1, found, found,
                      "this is not the file of a search for these accesses");
  }
  t->read = length;
  return BF_OK;
}

int bf_together_open(const char *path, bf_exact *exact, uint32_t tasks, bf_together **out,
                     bf_diagnostic *diagnostic) {
  *out = NULL;
  if (!HAS_LOCKS)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "a shared search needs locks of open files, which this system does not have");
  bf_together *t = calloc(1, sizeof *t);
  if (!t || !(t->done = calloc(tasks + 1, sizeof *t->done))) {
    free(t);
    return bf_no_memory(diagnostic);
  }
  t->exact = exact;
  t->tasks = tasks;
  t->told = UINT64_MAX;
  snprintf(t->path, sizeof t->path, "%s", path);
  pthread_mutex_init(&t->lock, NULL);
  t->file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  int error = t->file >= 0
                  ? check_head(t, diagnostic)
                  : bf_fail_file(diagnostic, BF_IO, path, "cannot open: %s", strerror(errno));
  if (error) {
    bf_together_close(t);
    return error;
  }
  meet(t);
  *out = t;
  return BF_OK;
}

void bf_together_close(bf_together *t) {
  if (!t)
    return;
  if (t->file >= 0)
    close(t->file);
  pthread_mutex_destroy(&t->lock);
  free(t->done);
  free(t);
}

/* ---- Tasks ---- */

bool bf_together_is_done(bf_together *t, uint32_t task, uint64_t limit) {
  pthread_mutex_lock(&t->lock);
  meet(t);
  bool is_done = t->done[task] >= limit;
  pthread_mutex_unlock(&t->lock);
  return is_done;
}

bool bf_together_take(bf_together *t, int *descriptor, uint32_t task) {
  if (*descriptor < 0)
    *descriptor = open(t->path, O_RDWR | O_CLOEXEC);
  return *descriptor >= 0 && lock_byte(*descriptor, byte_of(task), F_WRLCK, false);
}

void bf_together_leave(bf_together *t, int descriptor, uint32_t task, uint64_t cost) {
  char line[64];
  pthread_mutex_lock(&t->lock);
  meet(t);
  if (cost > t->done[task]) {
    snprintf(line, sizeof line, "done %" PRIu32 " %" PRIu64 "\n", task, cost);
    if (write_line(t, line))
      t->done[task] = cost;
  }
  pthread_mutex_unlock(&t->lock);
  lock_byte(descriptor, byte_of(task), F_UNLCK, false);
}
