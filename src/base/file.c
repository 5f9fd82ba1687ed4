/* Files: streaming reads that see through zstd, from files and from memory, and writes that appear
 * whole or not at all. */
#include "base/base.h"
#include "base/temporary.h"
#include "base/zstd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct bf_reader {
  FILE *file; /* NULL: all there is stands in buffer */
  char path[256];
  ZSTD_DStream *stream; /* NULL for plain content */
  const unsigned char *buffer;
  unsigned char *owned; /* what buffer points to where a file is read; NULL: it is borrowed */
  size_t begin, end;
  size_t frame_pending; /* zstd's hint: not 0 inside a frame */
  uint64_t taken_bytes; /* that were in the buffer so far */
  bf_writer *copy;      /* what is read goes there too; NULL: nowhere */
  bool at_end;
};

enum { READ_BUFFER_BYTES = 1 << 17 };

/* Reads what there is of a file; a signal is no fault of it. */
static size_t read_some(FILE *file, unsigned char *buffer) {
  size_t got;
  bool was_interrupted;
  do {
    got = fread(buffer, 1, READ_BUFFER_BYTES, file);
    was_interrupted = ferror(file) && errno == EINTR;
    if (was_interrupted)
      clearerr(file);
  } while (got == 0 && was_interrupted);
  return got;
}

/* Reads on where the buffer is used up. */
static int refill(bf_reader *reader, bf_diagnostic *diagnostic) {
  reader->begin = 0;
  reader->end = reader->file ? read_some(reader->file, reader->owned) : 0;
  reader->taken_bytes += reader->end;
  if (reader->end == 0) {
    if (reader->file && ferror(reader->file))
      return bf_fail_file(diagnostic, BF_IO, reader->path, "cannot read: %s", strerror(errno));
    reader->at_end = true;
  }
  return reader->copy ? bf_writer_write(reader->copy, reader->buffer, reader->end, diagnostic)
                      : BF_OK;
}

bool bf_reader_can_copy(const bf_reader *reader) {
  return reader->stream && reader->taken_bytes == reader->end;
}

int bf_reader_copy_to(bf_reader *reader, bf_writer *writer, bf_diagnostic *diagnostic) {
  reader->copy = writer;
  return bf_writer_write(writer, reader->buffer, reader->end, diagnostic);
}

static bool starts_with_zstd_magic(const bf_reader *reader) {
  static const unsigned char magic[4] = {0x28, 0xB5, 0x2F, 0xFD};
  return reader->end >= 4 && memcmp(reader->buffer, magic, 4) == 0;
}

/* Looks at the first bytes, which are in the buffer, unless something failed before; hands the
 * reader out or closes it. */
static int finish_opening(bf_reader *reader, int error, bf_reader **out,
                          bf_diagnostic *diagnostic) {
  if (!error && starts_with_zstd_magic(reader)) {
    reader->stream = ZSTD_createDStream();
    reader->frame_pending = 1;
    if (!reader->stream)
      error = bf_no_memory(diagnostic);
  }
  if (error)
    bf_reader_close(reader);
  else
    *out = reader;
  return error;
}

const char *bf_input_name(const char *path) {
  return strcmp(path, "-") == 0 ? "standard input" : path;
}

int bf_reader_open(const char *path, bf_reader **out, bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_reader *reader = calloc(1, sizeof *reader);
  if (!reader || !(reader->owned = malloc(READ_BUFFER_BYTES))) {
    free(reader);
    return bf_no_memory(diagnostic);
  }
  reader->buffer = reader->owned;
  bool standard = strcmp(path, "-") == 0;
  snprintf(reader->path, sizeof reader->path, "%s", bf_input_name(path));
  reader->file = standard ? stdin : fopen(path, "rb");
  struct stat status;
  int error = BF_OK;
  if (!reader->file)
    error = bf_fail_file(diagnostic, BF_IO, path, "cannot open: %s", strerror(errno));
  else if (fstat(fileno(reader->file), &status) == 0 && S_ISDIR(status.st_mode))
    error = bf_fail_file(diagnostic, BF_IO, path, "is a directory");
  else
    error = refill(reader, diagnostic);
  return finish_opening(reader, error, out, diagnostic);
}

int bf_reader_open_memory(const char *name, const void *bytes, size_t size, bf_reader **out,
                          bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_reader *reader = calloc(1, sizeof *reader);
  if (!reader)
    return bf_no_memory(diagnostic);
  snprintf(reader->path, sizeof reader->path, "%s", name);
  reader->buffer = bytes;
  reader->end = size;
  return finish_opening(reader, BF_OK, out, diagnostic);
}

static int read_plain(bf_reader *reader, void *buffer, size_t size, size_t *got,
                      bf_diagnostic *diagnostic) {
  if (reader->begin == reader->end && !reader->at_end) {
    BF_TRY(refill(reader, diagnostic));
  }
  size_t available = reader->end - reader->begin;
  *got = available < size ? available : size;
  if (*got)
    memcpy(buffer, reader->buffer + reader->begin, *got);
  reader->begin += *got;
  return BF_OK;
}

static int read_zstd(bf_reader *reader, void *buffer, size_t size, size_t *got,
                     bf_diagnostic *diagnostic) {
  ZSTD_outBuffer out = {buffer, size, 0};
  while (out.pos == 0) {
    if (reader->begin == reader->end && !reader->at_end) {
      BF_TRY(refill(reader, diagnostic));
    }
    bool drained = reader->begin == reader->end;
    if (drained && reader->frame_pending == 0)
      break;
    ZSTD_inBuffer in = {reader->buffer, reader->end, reader->begin};
    size_t result = ZSTD_decompressStream(reader->stream, &out, &in);
    reader->begin = in.pos;
    if (ZSTD_isError(result))
      return bf_fail_file(diagnostic, BF_BAD_INPUT, reader->path, "damaged zstd data: %s",
                          ZSTD_getErrorName(result));
    reader->frame_pending = result;
    if (drained && out.pos == 0 && result != 0)
      return bf_fail_file(diagnostic, BF_BAD_INPUT, reader->path, "zstd data is cut off");
  }
  *got = out.pos;
  return BF_OK;
}

int bf_reader_read(bf_reader *reader, void *buffer, size_t size, size_t *got,
                   bf_diagnostic *diagnostic) {
  *got = 0;
  return reader->stream ? read_zstd(reader, buffer, size, got, diagnostic)
                        : read_plain(reader, buffer, size, got, diagnostic);
}

void bf_reader_place(const bf_reader *reader, uint64_t *bytes, uint64_t *size) {
  struct stat status;
  bool is_file =
      reader->file && fstat(fileno(reader->file), &status) == 0 && S_ISREG(status.st_mode);
  *bytes = reader->file ? reader->taken_bytes : reader->begin;
  *size = is_file ? (uint64_t)status.st_size : reader->file ? 0 : reader->end;
}

void bf_reader_close(bf_reader *reader) {
  if (!reader)
    return;
  if (reader->file && reader->file != stdin)
    fclose(reader->file);
  ZSTD_freeDStream(reader->stream);
  free(reader->owned);
  free(reader);
}

int bf_read_file(const char *path, size_t most_bytes, bf_text *text, bf_diagnostic *diagnostic) {
  bf_reader *reader;
  char piece[1 << 14];
  size_t got = 1, before = text->size;
  BF_TRY(bf_reader_open(path, &reader, diagnostic));
  int error = BF_OK;
  while (!error && got && !text->failed && text->size - before <= most_bytes) {
    error = bf_reader_read(reader, piece, sizeof piece, &got, diagnostic);
    bf_text_add(text, piece, error ? 0 : got);
  }
  bf_reader_close(reader);
  bf_text_puts(text, ""); /* ends it, also where the file is empty */
  return !error && text->failed ? bf_no_memory(diagnostic) : error;
}

/* ---- Writing ---- */

struct bf_writer {
  FILE *file;
  char *path;             /* NULL for standard output */
  bf_temporary temporary; /* without a name for standard output and where path is written in place;
                             file has its descriptor */
  ZSTD_CStream *stream;
};

/* Devices and pipes are written in place: a rename would put a file where they were. */
static bool is_special_file(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

/* Opens the file that is written: path itself, or the temporary one beside it. */
static int open_target(bf_writer *writer, const char *path, bf_diagnostic *diagnostic) {
  bool in_place = is_special_file(path);
  writer->path = malloc(strlen(path) + 1);
  if (!writer->path)
    return bf_no_memory(diagnostic);
  strcpy(writer->path, path);
  int error = in_place ? BF_OK : bf_temporary_open(path, 0666, &writer->temporary);
  if (error == BF_NO_MEMORY)
    return bf_no_memory(diagnostic);
  if (!error)
    writer->file = in_place ? fopen(path, "wb") : fdopen(writer->temporary.file, "wb");
  if (!writer->file)
    return bf_fail_file(diagnostic, BF_IO, path, "cannot write: %s", strerror(errno));
  writer->temporary.file = -1;
  return BF_OK;
}

/* How hard zstd tries unless it is told: traces of random masks take 1.05 of what they take with
 * its own 3, and a third of the time. */
enum { LEVEL = 2 };

int bf_writer_open(const char *path, bool compress, bf_writer **out, bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_writer *writer = calloc(1, sizeof *writer);
  if (!writer)
    return bf_no_memory(diagnostic);
  writer->temporary.file = -1;
  int error = BF_OK;
  if (strcmp(path, "-") == 0)
    writer->file = stdout;
  else
    error = open_target(writer, path, diagnostic);
  if (!error && compress && !(writer->stream = ZSTD_createCStream()))
    error = bf_no_memory(diagnostic);
  if (!error && compress)
    error = bf_writer_set_level(writer, LEVEL, diagnostic);
  if (error) {
    bf_writer_close(writer);
    return error;
  }
  *out = writer;
  return BF_OK;
}

int bf_writer_set_level(bf_writer *writer, int level, bf_diagnostic *diagnostic) {
  size_t result =
      writer->stream ? ZSTD_CCtx_setParameter(writer->stream, ZSTD_c_compressionLevel, level) : 0;
  return ZSTD_isError(result)
             ? bf_fail(diagnostic, BF_BAD_INPUT, "zstd: %s", ZSTD_getErrorName(result))
             : BF_OK;
}

int bf_writer_set_repeats_alone(bf_writer *writer, bf_diagnostic *diagnostic) {
  BF_TRY(bf_writer_set_level(writer, LEVEL, diagnostic));
  size_t result =
      writer->stream ? ZSTD_CCtx_setParameter(writer->stream, ZSTD_c_targetLength, 1) : 0;
  return ZSTD_isError(result)
             ? bf_fail(diagnostic, BF_BAD_INPUT, "zstd: %s", ZSTD_getErrorName(result))
             : BF_OK;
}

static int write_failed(const bf_writer *writer, bf_diagnostic *diagnostic) {
  return bf_fail_file(diagnostic, BF_IO, writer->path ? writer->path : "standard output",
                      "cannot write: %s", strerror(errno));
}

static int compress_some(bf_writer *writer, const void *bytes, size_t size, ZSTD_EndDirective mode,
                         bf_diagnostic *diagnostic) {
  char buffer[1 << 14];
  ZSTD_inBuffer in = {bytes, size, 0};
  for (;;) {
    ZSTD_outBuffer out = {buffer, sizeof buffer, 0};
    size_t left = ZSTD_compressStream2(writer->stream, &out, &in, mode);
    if (ZSTD_isError(left))
      return bf_fail(diagnostic, BF_IO, "zstd: %s", ZSTD_getErrorName(left));
    if (fwrite(buffer, 1, out.pos, writer->file) != out.pos)
      return write_failed(writer, diagnostic);
    if (mode == ZSTD_e_end ? left == 0 : in.pos == in.size)
      return BF_OK;
  }
}

int bf_writer_write(bf_writer *writer, const void *bytes, size_t size, bf_diagnostic *diagnostic) {
  if (writer->stream)
    return compress_some(writer, bytes, size, ZSTD_e_continue, diagnostic);
  if (fwrite(bytes, 1, size, writer->file) != size)
    return write_failed(writer, diagnostic);
  return BF_OK;
}

int bf_writer_commit(bf_writer *writer, bf_diagnostic *diagnostic) {
  if (writer->stream) {
    BF_TRY(compress_some(writer, "", 0, ZSTD_e_end, diagnostic));
  }
  if (fflush(writer->file) != 0)
    return write_failed(writer, diagnostic);
  if (!writer->path)
    return BF_OK;
  int closed = fclose(writer->file);
  writer->file = NULL;
  bool is_temporary = writer->temporary.name;
  if (closed != 0 || (is_temporary && !bf_temporary_commit(&writer->temporary, writer->path)))
    return write_failed(writer, diagnostic);
  return BF_OK;
}

void bf_writer_close(bf_writer *writer) {
  if (!writer)
    return;
  if (writer->file && writer->file != stdout)
    fclose(writer->file);
  bf_temporary_close(&writer->temporary);
  ZSTD_freeCStream(writer->stream);
  free(writer->path);
  free(writer);
}

int bf_write_file(const char *path, const char *bytes, size_t size, bf_diagnostic *diagnostic) {
  bf_writer *writer;
  int error = bf_writer_open(path, false, &writer, diagnostic);
  if (error)
    return error;
  error = bf_writer_write(writer, bytes, size, diagnostic);
  if (!error)
    error = bf_writer_commit(writer, diagnostic);
  bf_writer_close(writer);
  return error;
}
