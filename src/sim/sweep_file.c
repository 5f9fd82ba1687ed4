/* The result file of a sweep. A header, then one line per finished point, in the order in which
 * they were finished; sorted once all are.
 *
 * Locks on bytes far behind the end of the file say who does what: byte `taken + point` belongs to
 * the process that runs the point, byte `writing` to the one that adds a line. They are locks of
 * open files (F_OFD_SETLK): the kernel gives them back when the process ends, and on a network file
 * system taking one makes what others wrote before visible. A line is on disk before its point is
 * given back, so a point that can be taken and has no line yet is nobody's work. */
#include "sim/sweep.h"

#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const off_t writing = (off_t)1 << 40, taken = ((off_t)1 << 40) + 1;

/* Where the line of a point is. */
typedef struct place {
  uint64_t offset; /* 0: not finished */
  uint32_t bytes;  /* with the line break */
  bool is_own;     /* taken through this file */
} place;

struct bf_sim_sweep_file {
  pthread_mutex_t mutex; /* for all below */
  const bf_sim_sweep_form *form;
  const char *name; /* as it was given, for messages */
  char *path;       /* without symbolic links: a rename must not replace one */
  int descriptor;
  place *place;          /* by point */
  uint64_t read_to;      /* whole lines before this offset are known */
  uint64_t header_bytes; /* of the file, which may have been written in other words */
  uint64_t finished, failed, ignored_lines;
  uint64_t next;         /* where claim looks first */
  const uint64_t *order; /* in which points are taken, or NULL: by their numbers */
  bool is_writing;       /* has the right to write: nobody else is just adding a line */
  char *buffer;
  size_t capacity;
};

/* ---- Faults ---- */

static int io_failed(const bf_sim_sweep_file *file, const char *what, bf_diagnostic *diagnostic) {
  return bf_fail_file(diagnostic, BF_IO, file->name, "%s: %s", what, strerror(errno));
}

/* ---- Locks ---- */

/* Changes the lock of a byte: command is F_OFD_SETLK or F_OFD_SETLKW. */
static int change_lock(const bf_sim_sweep_file *file, int command, short type, off_t byte) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
  int result;
  do
    result = fcntl(file->descriptor, command, &lock);
  while (result != 0 && errno == EINTR);
  return result;
}

/* Waits for the right to change the file. */
static int begin_writing(bf_sim_sweep_file *file, bf_diagnostic *diagnostic) {
  if (change_lock(file, F_OFD_SETLKW, F_WRLCK, writing) != 0)
    return io_failed(file, "cannot lock", diagnostic);
  file->is_writing = true;
  return BF_OK;
}

static void end_writing(bf_sim_sweep_file *file) {
  file->is_writing = false;
  change_lock(file, F_OFD_SETLK, F_UNLCK, writing);
}

/* Takes a point unless somebody else has it. */
static int try_point(const bf_sim_sweep_file *file, uint64_t point, bool *got,
                     bf_diagnostic *diagnostic) {
  *got = change_lock(file, F_OFD_SETLK, F_WRLCK, taken + (off_t)point) == 0;
  if (!*got && errno != EAGAIN && errno != EACCES)
    return io_failed(file, "cannot lock", diagnostic);
  return BF_OK;
}

static void give_point_back(const bf_sim_sweep_file *file, uint64_t point) {
  change_lock(file, F_OFD_SETLK, F_UNLCK, taken + (off_t)point);
}

/* ---- Reading ---- */

/* Notes the point of a line; a second line of a point is ignored, and so are lines that are none.
 * False for a line that is none, but may become one: somebody may be writing it. */
static bool note_line(bf_sim_sweep_file *file, const char *line, size_t bytes, uint64_t offset) {
  uint64_t point;
  bool has_error;
  bool is_whole =
      bytes <= UINT32_MAX && bf_sim_row_read(file->form, line, bytes - 1, &point, &has_error);
  if (!is_whole && !file->is_writing)
    return false;
  if (!is_whole || file->place[point].offset) {
    file->ignored_lines++;
    return true;
  }
  file->place[point].offset = offset;
  file->place[point].bytes = (uint32_t)bytes;
  file->finished++;
  file->failed += has_error;
  return true;
}

/* Bytes of the file from offset on, as many as the buffer takes, or fewer at the end. */
static int read_some(bf_sim_sweep_file *file, uint64_t offset, size_t *got,
                     bf_diagnostic *diagnostic) {
  *got = 0;
  while (*got < file->capacity) {
    ssize_t result =
        pread(file->descriptor, file->buffer + *got, file->capacity - *got, (off_t)(offset + *got));
    if (result < 0 && errno != EINTR)
      return io_failed(file, "cannot read", diagnostic);
    if (result == 0)
      break;
    if (result > 0)
      *got += (size_t)result;
  }
  return BF_OK;
}

/* Notes all lines of the first `got` bytes of the buffer; returns the bytes they have. */
static size_t note_lines(bf_sim_sweep_file *file, size_t got) {
  size_t from = 0;
  const char *end;
  while (from < got && (end = memchr(file->buffer + from, '\n', got - from))) {
    size_t bytes = (size_t)(end - (file->buffer + from)) + 1;
    if (!note_line(file, file->buffer + from, bytes, file->read_to + from))
      break;
    from += bytes;
  }
  return from;
}

static int grow_buffer(bf_sim_sweep_file *file, bf_diagnostic *diagnostic) {
  size_t capacity = file->capacity ? 2 * file->capacity : 1 << 16;
  char *grown = realloc(file->buffer, capacity);
  if (!grown)
    return bf_no_memory(diagnostic);
  file->buffer = grown;
  file->capacity = capacity;
  return BF_OK;
}

/* Notes what has been added since it was last called. */
static int read_new_lines(bf_sim_sweep_file *file, bf_diagnostic *diagnostic) {
  for (;;) {
    size_t got;
    BF_TRY(read_some(file, file->read_to, &got, diagnostic));
    size_t used = note_lines(file, got);
    file->read_to += used;
    bool ends_here = got < file->capacity;
    if (ends_here || (used == 0 && memchr(file->buffer, '\n', got)))
      return BF_OK;
    if (used == 0)
      BF_TRY(grow_buffer(file, diagnostic));
  }
}

/* ---- Writing; the caller has the right to write ---- */

/* Writes all bytes at the end of a file. */
static int write_all(int descriptor, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t result = write(descriptor, bytes, size);
    if (result < 0 && errno != EINTR)
      return -1;
    if (result > 0) {
      bytes += result;
      size -= (size_t)result;
    }
  }
  return 0;
}

/* Drops what follows the last whole line: its writer has died. */
static int drop_half_line(bf_sim_sweep_file *file, bf_diagnostic *diagnostic) {
  BF_TRY(read_new_lines(file, diagnostic));
  struct stat status;
  if (fstat(file->descriptor, &status) != 0)
    return io_failed(file, "cannot read", diagnostic);
  if ((uint64_t)status.st_size > file->read_to &&
      ftruncate(file->descriptor, (off_t)file->read_to) != 0)
    return io_failed(file, "cannot write", diagnostic);
  return BF_OK;
}

/* Adds text, or nothing where there is no room for all of it. */
static int append(bf_sim_sweep_file *file, const bf_text *text, bf_diagnostic *diagnostic) {
  if (text->failed)
    return bf_no_memory(diagnostic);
  if (write_all(file->descriptor, text->data, text->size) == 0)
    return BF_OK;
  int error = io_failed(file, "cannot write", diagnostic);
  if (ftruncate(file->descriptor, (off_t)file->read_to) != 0)
    error = io_failed(file, "cannot write, and what is half written stays", diagnostic);
  return error;
}

/* ---- Opening ---- */

static int refuse(const bf_sim_sweep_file *file, size_t size, bf_diagnostic *diagnostic) {
  size_t length = 0;
  while (length < size && length < 160 && (unsigned char)file->buffer[length] >= 32)
    length++;
  return bf_fail_file(diagnostic, BF_BAD_INPUT, file->name,
                      "is not the result file of this sweep, but begins with '%.*s'; give another "
                      "name, or remove it",
                      (int)length, file->buffer);
}

/* Bytes of the header in the first `got` bytes of the file; 0: it is not all there. */
static size_t find_header(const bf_sim_sweep_file *file, size_t got) {
  const char *end = file->buffer;
  for (unsigned lines = file->form->json ? 1 : 2; end && lines > 0; lines--) {
    end = memchr(end, '\n', got - (size_t)(end - file->buffer));
    end = end ? end + 1 : NULL;
  }
  return end ? (size_t)(end - file->buffer) : 0;
}

/* Writes the header, or compares it with what is there: its signature must be that of the form. Of
 * a header that was half written, the part that is there must be. */
static int settle_header(bf_sim_sweep_file *file, const bf_text *header, size_t signature_bytes,
                         bf_diagnostic *diagnostic) {
  if (header->failed)
    return bf_no_memory(diagnostic);
  while (file->capacity < header->size + 1)
    BF_TRY(grow_buffer(file, diagnostic));
  size_t got;
  for (;;) {
    BF_TRY(read_some(file, 0, &got, diagnostic));
    size_t known = got < signature_bytes ? got : signature_bytes;
    if (memcmp(file->buffer, header->data, known) != 0)
      return refuse(file, got, diagnostic);
    file->header_bytes = find_header(file, got);
    if (file->header_bytes || got < file->capacity)
      break;
    BF_TRY(grow_buffer(file, diagnostic));
  }
  file->read_to = file->header_bytes;
  if (file->header_bytes)
    return BF_OK;
  if (ftruncate(file->descriptor, 0) != 0)
    return io_failed(file, "cannot write", diagnostic);
  BF_TRY(append(file, header, diagnostic));
  file->read_to = file->header_bytes = header->size;
  return BF_OK;
}

/* Opens the file of that name, which is made where there is none. */
static int open_file(bf_sim_sweep_file *file, const char *path, bf_diagnostic *diagnostic) {
  struct stat status;
  file->descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (file->descriptor < 0)
    return bf_fail_file(diagnostic, BF_IO, path, "cannot open: %s", strerror(errno));
  if (fstat(file->descriptor, &status) != 0 || !S_ISREG(status.st_mode))
    return bf_fail_file(diagnostic, BF_BAD_INPUT, path,
                        "results of a sweep need a regular file, which can be resumed");
  file->path = realpath(path, NULL);
  return file->path ? BF_OK
                    : bf_fail_file(diagnostic, BF_IO, path, "cannot open: %s", strerror(errno));
}

/* Settles the header, notes finished points, drops what is half written. */
static int begin_file(bf_sim_sweep_file *file, bf_diagnostic *diagnostic) {
  bf_text header = {0};
  size_t signature_bytes;
  bf_sim_row_header(file->form, &header, &signature_bytes);
  int error = begin_writing(file, diagnostic);
  if (!error) {
    error = settle_header(file, &header, signature_bytes, diagnostic);
    if (!error)
      error = drop_half_line(file, diagnostic);
    end_writing(file);
  }
  bf_text_free(&header);
  return error;
}

int bf_sim_sweep_file_open(const char *path, const bf_sim_sweep_form *form, bf_sim_sweep_file **out,
                           bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_sim_sweep_file *file = calloc(1, sizeof *file);
  if (!file)
    return bf_no_memory(diagnostic);
  pthread_mutex_init(&file->mutex, NULL);
  file->form = form;
  file->name = path;
  file->descriptor = -1;
  file->place = calloc(form->sweep->points, sizeof *file->place);
  int error = file->place ? grow_buffer(file, diagnostic) : bf_no_memory(diagnostic);
  if (!error)
    error = open_file(file, path, diagnostic);
  if (!error)
    error = begin_file(file, diagnostic);
  if (error)
    bf_sim_sweep_file_close(file);
  else
    *out = file;
  return error;
}

void bf_sim_sweep_file_close(bf_sim_sweep_file *file) {
  if (!file)
    return;
  if (file->descriptor >= 0)
    close(file->descriptor);
  pthread_mutex_destroy(&file->mutex);
  free(file->place);
  free(file->path);
  free(file->buffer);
  free(file);
}

/* ---- Points ---- */

/* Takes a point, if nobody has it and it is not finished: whoever had it before has added its line.
 */
static int take_point(bf_sim_sweep_file *file, uint64_t point, bool *got, bool *is_others,
                      bf_diagnostic *diagnostic) {
  BF_TRY(try_point(file, point, got, diagnostic));
  *is_others |= !*got;
  if (!*got)
    return BF_OK;
  int error = read_new_lines(file, diagnostic);
  *got = !error && !file->place[point].offset;
  file->place[point].is_own = *got;
  if (!*got)
    give_point_back(file, point);
  return error;
}

/* What claim does, for one thread at a time. Points that others have finished unknown to this file
 * can be taken: that is when their lines are read. */
static int find_point(bf_sim_sweep_file *file, bf_sim_claim *claim, uint64_t *point,
                      bf_diagnostic *diagnostic) {
  uint64_t points = file->form->sweep->points;
  bool is_others = false;
  for (uint64_t i = 0; i < points && file->finished < points; i++) {
    uint64_t at = (file->next + i) % points;
    *point = file->order ? file->order[at] : at;
    bool got = false;
    if (!file->place[*point].offset && !file->place[*point].is_own)
      BF_TRY(take_point(file, *point, &got, &is_others, diagnostic));
    if (got) {
      file->next = at + 1;
      *claim = BF_SIM_CLAIM_TAKEN;
      return BF_OK;
    }
  }
  *claim = is_others ? BF_SIM_CLAIM_WAIT : BF_SIM_CLAIM_NONE;
  return BF_OK;
}

void bf_sim_sweep_file_order(bf_sim_sweep_file *file, const uint64_t *order) {
  file->order = order;
}

int bf_sim_sweep_file_claim(bf_sim_sweep_file *file, bf_sim_claim *claim, uint64_t *point,
                            bf_diagnostic *diagnostic) {
  pthread_mutex_lock(&file->mutex);
  int error = find_point(file, claim, point, diagnostic);
  pthread_mutex_unlock(&file->mutex);
  return error;
}

/* Adds the line of a point, which is then among those known. */
static int add_line(bf_sim_sweep_file *file, uint64_t point, const bf_text *line,
                    bf_diagnostic *diagnostic) {
  BF_TRY(begin_writing(file, diagnostic));
  int error = drop_half_line(file, diagnostic);
  if (!error)
    error = append(file, line, diagnostic);
  if (!error)
    error = read_new_lines(file, diagnostic);
  if (!error && !file->place[point].offset)
    error = bf_fail_file(diagnostic, BF_IO, file->name, "somebody else has changed the file");
  end_writing(file);
  return error;
}

int bf_sim_sweep_file_add(bf_sim_sweep_file *file, uint64_t point, const bf_sim_row *row,
                          bf_diagnostic *diagnostic) {
  pthread_mutex_lock(&file->mutex);
  int error = add_line(file, point, &row->text, diagnostic);
  pthread_mutex_unlock(&file->mutex);
  if (!error && fdatasync(file->descriptor) != 0)
    error = io_failed(file, "cannot write", diagnostic);
  pthread_mutex_lock(&file->mutex);
  file->place[point].is_own = false;
  give_point_back(file, point);
  pthread_mutex_unlock(&file->mutex);
  return error;
}

int bf_sim_sweep_file_count(bf_sim_sweep_file *file, bf_sim_sweep_count *count,
                            bf_diagnostic *diagnostic) {
  pthread_mutex_lock(&file->mutex);
  int error = read_new_lines(file, diagnostic);
  *count = (bf_sim_sweep_count){file->form->sweep->points, file->finished, file->failed};
  pthread_mutex_unlock(&file->mutex);
  return error;
}

/* ---- Sorting ---- */

/* Whether the file holds nothing but its lines, in order. */
static bool is_sorted(const bf_sim_sweep_file *file) {
  uint64_t offset = file->header_bytes;
  for (uint64_t i = 0; i < file->form->sweep->points; i++) {
    if (file->place[i].offset != offset)
      return false;
    offset += file->place[i].bytes;
  }
  return file->ignored_lines == 0;
}

/* Copies bytes of the file to the end of another. */
static int copy_bytes(bf_sim_sweep_file *file, uint64_t offset, uint64_t bytes, int to,
                      bf_diagnostic *diagnostic) {
  while (bytes > 0) {
    size_t some = bytes < file->capacity ? (size_t)bytes : file->capacity;
    ssize_t got = pread(file->descriptor, file->buffer, some, (off_t)offset);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return io_failed(file, "cannot read", diagnostic);
    if (write_all(to, file->buffer, (size_t)got) != 0)
      return io_failed(file, "cannot write", diagnostic);
    offset += (uint64_t)got;
    bytes -= (uint64_t)got;
  }
  return BF_OK;
}

/* Writes header and lines in order to another file. */
static int write_sorted(bf_sim_sweep_file *file, int to, bf_diagnostic *diagnostic) {
  struct stat status;
  BF_TRY(copy_bytes(file, 0, file->header_bytes, to, diagnostic));
  for (uint64_t i = 0; i < file->form->sweep->points; i++)
    BF_TRY(copy_bytes(file, file->place[i].offset, file->place[i].bytes, to, diagnostic));
  if (fstat(file->descriptor, &status) != 0 || fchmod(to, status.st_mode & 0777) != 0 ||
      fsync(to) != 0)
    return io_failed(file, "cannot write", diagnostic);
  return BF_OK;
}

/* Puts a sorted file in the place of this one. */
static int replace_file(bf_sim_sweep_file *file, bf_diagnostic *diagnostic) {
  bf_temporary sorted;
  int error = bf_temporary_open(file->path, 0666, &sorted);
  if (error)
    return error == BF_NO_MEMORY ? bf_no_memory(diagnostic)
                                 : io_failed(file, "cannot write", diagnostic);
  error = write_sorted(file, sorted.file, diagnostic);
  if (!error && !bf_temporary_commit(&sorted, file->path))
    error = io_failed(file, "cannot write", diagnostic);
  bf_temporary_close(&sorted);
  return error;
}

/* Whether the name means another file by now: another process has put the sorted one there. */
static bool is_replaced(const bf_sim_sweep_file *file) {
  struct stat named, opened;
  return stat(file->path, &named) == 0 && fstat(file->descriptor, &opened) == 0 &&
         (named.st_dev != opened.st_dev || named.st_ino != opened.st_ino);
}

static int sort_file(bf_sim_sweep_file *file, bf_diagnostic *diagnostic) {
  BF_TRY(read_new_lines(file, diagnostic));
  if (file->finished < file->form->sweep->points || is_sorted(file) || is_replaced(file))
    return BF_OK;
  return replace_file(file, diagnostic);
}

int bf_sim_sweep_file_sort(bf_sim_sweep_file *file, bf_diagnostic *diagnostic) {
  pthread_mutex_lock(&file->mutex);
  int error = begin_writing(file, diagnostic);
  if (!error) {
    error = sort_file(file, diagnostic);
    end_writing(file);
  }
  pthread_mutex_unlock(&file->mutex);
  return error;
}
