/* Trace files: opening them, walking them access by access in bounded memory, and writing them.
 * line.c knows the text form and packed.c the packed one. */
#include "access/trace.h"

#include <stdlib.h>
#include <string.h>

enum { WRITE_BYTES = 1 << 16 };

int bf_trace_intern(bf_sites *sites, const char *file, const char *bytes, size_t length,
                    const char **site, bf_diagnostic *diagnostic) {
  uint32_t number;
  int error = bf_sites_intern(sites, bytes, length, &number);
  if (error == BF_UNSUPPORTED)
    return bf_fail_file(diagnostic, BF_UNSUPPORTED, file,
                        "more than %d distinct sites, or %d bytes of them", BF_SITES_MAX,
                        BF_SITES_MAX_BYTES);
  if (error)
    return bf_no_memory(diagnostic);
  *site = bf_sites_text(sites, number);
  return BF_OK;
}

bool bf_trace_tally(bf_trace *trace, const bf_access *access) {
  trace->accesses++;
  if (access->count > BF_EXECUTIONS_MAX - trace->executions)
    return false;
  trace->executions += access->count;
  return true;
}

void *bf_trace_memory(size_t bytes) {
  size_t whole = (bytes + 63) / 64 * 64;
  void *memory = aligned_alloc(64, whole);
  return memory ? memset(memory, 0, whole) : NULL;
}

/* ---- Reading ---- */

int bf_window_fill(bf_window *window, size_t wanted, bf_diagnostic *diagnostic) {
  if (window->end - window->begin >= wanted || window->at_end)
    return BF_OK;
  memmove(window->data, window->data + window->begin, window->end - window->begin);
  window->passed_bytes += window->begin;
  window->end -= window->begin;
  window->begin = 0;
  while (window->end < wanted && !window->at_end) {
    size_t got;
    BF_TRY(bf_reader_read(window->reader, window->data + window->end, BF_WINDOW_BYTES - window->end,
                          &got, diagnostic));
    if (window->copy)
      BF_TRY(bf_writer_write(window->copy, window->data + window->end, got, diagnostic));
    window->end += got;
    window->at_end = got == 0;
  }
  return BF_OK;
}

/* Looks at the first bytes. */
static int begin(bf_trace *trace, bf_diagnostic *diagnostic) {
  trace->window.data = malloc(BF_WINDOW_BYTES + 1); /* one more for the NUL behind a last line */
  if (!trace->window.data)
    return bf_no_memory(diagnostic);
  BF_TRY(bf_window_fill(&trace->window, 16, diagnostic));
  trace->packed = trace->foreign.form == BF_TRACE_OWN && bf_packed_recognise(&trace->window);
  return trace->packed ? bf_packed_begin(trace, diagnostic) : BF_OK;
}

/* A trace that reads from reader, which it owns from now on. */
static int open_reader(const char *name, bf_reader *reader, bf_trace_form form,
                       const bf_trace_limits *limits, bf_trace **out, bf_diagnostic *diagnostic) {
  bf_trace *trace = bf_trace_memory(sizeof *trace);
  if (!trace) {
    bf_reader_close(reader);
    return bf_no_memory(diagnostic);
  }
  snprintf(trace->file, sizeof trace->file, "%s", name);
  trace->limits = *limits;
  trace->foreign.form = form;
  trace->kernel = bf_lanes_best();
  trace->window.reader = reader;
  int error = begin(trace, diagnostic);
  if (error)
    bf_trace_close(trace);
  else
    *out = trace;
  return error;
}

int bf_trace_open(const char *path, const bf_trace_limits *limits, bf_trace **out,
                  bf_diagnostic *diagnostic) {
  return bf_trace_open_form(path, BF_TRACE_OWN, limits, out, diagnostic);
}

int bf_trace_open_form(const char *path, bf_trace_form form, const bf_trace_limits *limits,
                       bf_trace **out, bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_reader *reader;
  BF_TRY(bf_reader_open(path, &reader, diagnostic));
  return open_reader(bf_input_name(path), reader, form, limits, out, diagnostic);
}

int bf_trace_open_memory(const char *name, const void *bytes, size_t size, bf_trace_form form,
                         const bf_trace_limits *limits, bf_trace **out, bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_reader *reader;
  BF_TRY(bf_reader_open_memory(name, bytes, size, &reader, diagnostic));
  return open_reader(name, reader, form, limits, out, diagnostic);
}

void bf_trace_place(const bf_trace *trace, uint64_t *bytes, uint64_t *size) {
  bf_reader_place(trace->window.reader, bytes, size);
}

uint64_t bf_trace_passed_over(const bf_trace *trace) { return trace->passed; }

void bf_trace_close(bf_trace *trace) {
  if (!trace)
    return;
  bf_reader_close(trace->window.reader);
  bf_sites_free(&trace->sites);
  free(trace->window.data);
  free(trace);
}

static int line_too_long(bf_trace *trace, bf_diagnostic *diagnostic) {
  char *text = (char *)trace->window.data + trace->window.begin;
  text[BF_LINE_MAX_BYTES] = 0;
  return bf_fail_at(diagnostic, trace->file, trace->lines, text, text + BF_LINE_MAX_BYTES,
                    "a line is longer than %d bytes", BF_LINE_MAX_BYTES);
}

/* Takes the next line out of the window. */
static int next_line(bf_trace *trace, char **text, bf_diagnostic *diagnostic) {
  bf_window *window = &trace->window;
  char *start = (char *)window->data + window->begin;
  char *newline = memchr(start, '\n', window->end - window->begin);
  if (!newline) {
    BF_TRY(bf_window_fill(window, BF_LINE_MAX_BYTES + 2, diagnostic));
    start = (char *)window->data + window->begin;
    newline = memchr(start, '\n', window->end - window->begin);
  }
  size_t length = newline ? (size_t)(newline - start) : window->end - window->begin;
  if (length == 0 && !newline)
    return 0;
  trace->lines++;
  if (length > BF_LINE_MAX_BYTES)
    return line_too_long(trace, diagnostic);
  start[length] = 0;
  window->begin += length + (newline != NULL);
  if (memchr(start, 0, length)) {
    char *fault = start + strlen(start);
    return bf_fail_at(diagnostic, trace->file, trace->lines, start, fault,
                      "a NUL byte: this is not a text trace");
  }
  *text = start;
  return 1;
}

int bf_trace_line(bf_trace *trace, char **text, uint64_t *number, bf_diagnostic *diagnostic) {
  int result = next_line(trace, text, diagnostic);
  *number = trace->lines;
  return result;
}

int bf_text_next(bf_trace *trace, bf_diagnostic *diagnostic) {
  bf_access *access = &trace->current;
  char *text = NULL;
  int result;
  while ((result = next_line(trace, &text, diagnostic)) > 0) {
    const char *site;
    size_t site_length;
    bf_line line = {trace->file, trace->lines, text};
    result = trace->foreign.form == BF_TRACE_OWN
                 ? bf_line_parse(&line, &trace->limits, access, &site, &site_length, diagnostic)
                 : bf_foreign_parse(&line, &trace->foreign, &trace->limits, access, &site,
                                    &site_length, diagnostic);
    if (result == 0) {
      trace->passed++;
      continue;
    }
    if (result < 0)
      return result;
    if (!bf_trace_tally(trace, access))
      return bf_fail_at(diagnostic, trace->file, trace->lines, text, text,
                        "the counts up to here add up to more than %llu",
                        (unsigned long long)BF_EXECUTIONS_MAX);
    int error = site ? bf_trace_intern(&trace->sites, trace->file, site, site_length, &access->site,
                                       diagnostic)
                     : BF_OK;
    return !error ? 1 : error;
  }
  return result;
}

int bf_trace_step(bf_trace *trace, const bf_access **access, bf_diagnostic *diagnostic) {
  int result = trace->packed ? bf_packed_next(trace, diagnostic) : bf_text_next(trace, diagnostic);
  if (result == 0 && trace->accesses == 0)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, trace->file, "the trace holds no access");
  *access = &trace->current;
  return result;
}

bool bf_trace_can_copy(const bf_trace *trace, bool as_stored) {
  return trace->packed && bf_packed_is_current(trace) && trace->window.passed_bytes == 0 &&
         (!as_stored || bf_reader_can_copy(trace->window.reader));
}

int bf_trace_copy_to(bf_trace *trace, bf_writer *writer, bool as_stored,
                     bf_diagnostic *diagnostic) {
  bf_window *window = &trace->window;
  if (as_stored)
    return bf_reader_copy_to(window->reader, writer, diagnostic);
  window->copy = writer;
  return bf_writer_write(writer, window->data, window->end, diagnostic);
}

int bf_trace_pass(bf_trace *trace, uint64_t *accesses, bf_diagnostic *diagnostic) {
  const bf_access *access;
  *accesses = trace->packed ? bf_packed_skip(trace) : 0;
  if (*accesses)
    return 1;
  int result = bf_trace_step(trace, &access, diagnostic);
  *accesses = result == 1;
  return result;
}

int bf_trace_next(bf_trace *trace, bf_access *access, bf_diagnostic *diagnostic) {
  const bf_access *read = NULL;
  int result = bf_trace_step(trace, &read, diagnostic);
  if (result == 1)
    *access = *read;
  return result;
}

int bf_trace_parse_line(const char *file, uint64_t line_number, const char *line,
                        const bf_trace_limits *limits, bf_arena *arena, bf_access *access,
                        bf_diagnostic *diagnostic) {
  const char *site;
  size_t site_length;
  bf_line place = {file, line_number, line};
  int result = bf_line_parse(&place, limits, access, &site, &site_length, diagnostic);
  if (result != 1 || !site)
    return result;
  char *copy = bf_arena_alloc(arena, site_length + 1);
  if (!copy)
    return bf_no_memory(diagnostic);
  access->site = memcpy(copy, site, site_length);
  return 1;
}

/* ---- Writing ---- */

int bf_trace_writer_open(const char *path, bool packed, bf_trace_writer **out,
                         bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_trace_writer *writer = bf_trace_memory(sizeof *writer);
  if (!writer)
    return bf_no_memory(diagnostic);
  writer->packed = packed;
  writer->kernel = bf_lanes_best();
  int error = bf_writer_open(path, packed, &writer->writer, diagnostic);
  if (error) {
    bf_trace_writer_close(writer);
    return error;
  }
  if (packed)
    bf_packed_put_header(&writer->buffer);
  *out = writer;
  return BF_OK;
}

int bf_trace_writer_set_level(bf_trace_writer *writer, int level, bf_diagnostic *diagnostic) {
  writer->is_begun = true;
  return bf_writer_set_level(writer->writer, level, diagnostic);
}

/* Hands the buffer on if it holds at least `least` bytes. */
static int flush(bf_trace_writer *writer, size_t least, bf_diagnostic *diagnostic) {
  bf_text *buffer = &writer->buffer;
  if (buffer->failed)
    return bf_no_memory(diagnostic);
  if (buffer->size < least)
    return BF_OK;
  if (!writer->is_begun && 2 * writer->random_bytes > buffer->size)
    BF_TRY(bf_writer_set_repeats_alone(writer->writer, diagnostic));
  writer->is_begun = true;
  int error = bf_writer_write(writer->writer, buffer->data, buffer->size, diagnostic);
  buffer->size = 0;
  return error;
}

int bf_access_check_writable(const bf_access *access, bf_diagnostic *diagnostic) {
  const bf_trace_limits any = {.lanes = BF_MAX_LANES, .allocation_bytes = (uint64_t)UINT32_MAX + 1};
  int fault;
  return bf_access_check(access, &any, &fault, diagnostic);
}

/* Appends the line of an access. */
static int put_line(bf_trace_writer *writer, const bf_access *access, bf_diagnostic *diagnostic) {
  BF_TRY(bf_access_check_writable(access, diagnostic));
  size_t offset;
  const char *fault =
      access->site ? bf_site_fault(access->site, strlen(access->site), &offset) : NULL;
  if (fault)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s", fault);
  bf_trace_print_line(access, &writer->buffer);
  return BF_OK;
}

int bf_trace_writer_add(bf_trace_writer *writer, const bf_access *access,
                        bf_diagnostic *diagnostic) {
  BF_TRY(writer->packed ? bf_packed_put_access(writer, access, diagnostic)
                        : put_line(writer, access, diagnostic));
  writer->accesses++;
  return flush(writer, WRITE_BYTES, diagnostic);
}

int bf_trace_writer_commit(bf_trace_writer *writer, bf_diagnostic *diagnostic) {
  if (writer->accesses == 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "a trace without any access cannot be written");
  if (writer->packed)
    bf_packed_put_end(writer);
  int error = flush(writer, 1, diagnostic);
  return !error ? bf_writer_commit(writer->writer, diagnostic) : error;
}

void bf_trace_writer_close(bf_trace_writer *writer) {
  if (!writer)
    return;
  bf_writer_close(writer->writer);
  bf_sites_free(&writer->sites);
  bf_text_free(&writer->buffer);
  free(writer);
}
