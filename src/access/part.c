/* Parts of traces, for threads that read beside each other. Lines of a text trace can be parsed
 * anywhere, so that a part is the lines of a window; a packed trace and the traces of other tools
 * must be read in order, so that a part is the accesses themselves. */
#include "access/trace.h"

#include <stdlib.h>
#include <string.h>

enum { PART_ACCESSES = 512 };

struct bf_trace_part {
  bf_trace lines; /* text: a trace of the part's lines alone */
  bf_access *access;
  size_t accesses, next;
  bool is_text;
};

bf_trace_part *bf_trace_part_create(void) { return bf_trace_memory(sizeof(bf_trace_part)); }

void bf_trace_part_free(bf_trace_part *part) {
  if (!part)
    return;
  bf_sites_free(&part->lines.sites);
  free(part->lines.window.data);
  free(part->access);
  free(part);
}

/* Lines that end in size bytes. */
static uint64_t count_lines(const unsigned char *bytes, size_t size) {
  uint64_t lines = 0;
  for (size_t i = 0; i < size; i++)
    lines += bytes[i] == '\n';
  return lines;
}

/* Bytes of the window up to the end of its last whole line; all of them where nothing can follow,
 * or where a line is too long anyway. */
static size_t whole_lines(const bf_window *window) {
  size_t size = window->end - window->begin;
  const unsigned char *start = window->data + window->begin;
  size_t end = window->at_end ? 0 : size;
  while (end && start[end - 1] != '\n')
    end--;
  return end ? end : size;
}

/* Moves the whole lines of the trace's window into the part. */
static int cut_lines(bf_trace *trace, bf_trace_part *part, bf_diagnostic *diagnostic) {
  bf_window *window = &trace->window;
  bf_trace *lines = &part->lines;
  BF_TRY(bf_window_fill(window, BF_WINDOW_BYTES, diagnostic));
  size_t size = whole_lines(window);
  if (size == 0)
    return 0;
  if (!lines->window.data && !(lines->window.data = malloc(BF_WINDOW_BYTES + 1)))
    return bf_no_memory(diagnostic);
  bf_sites_free(&lines->sites);
  memcpy(lines->file, trace->file, sizeof lines->file);
  memcpy(lines->window.data, window->data + window->begin, size);
  lines->limits = trace->limits;
  lines->window.begin = 0;
  lines->window.end = size;
  lines->window.at_end = true;
  lines->lines = trace->lines;
  lines->accesses = lines->executions = 0;
  trace->lines += count_lines(window->data + window->begin, size);
  window->begin += size;
  return 1;
}

/* Reads the next accesses of the trace into the part, but for those that the caller wants to know
 * itself. */
static int cut_accesses(bf_trace *trace, bf_trace_part *part, const bf_trace_known *known,
                        bf_diagnostic *diagnostic) {
  const size_t lanes = trace->limits.lanes;
  const size_t bytes = offsetof(bf_access, address) + lanes * sizeof(uint32_t);
  int result = 1;
  if (!part->access && !(part->access = calloc(PART_ACCESSES, sizeof *part->access)))
    return bf_no_memory(diagnostic);
  part->accesses = part->next = 0;
  while (part->accesses < PART_ACCESSES && result == 1) {
    const bf_access *access;
    uint32_t slot = BF_REPEATS_NONE;
    result = known ? bf_trace_step_past(trace, known->repeats, &access, &slot, diagnostic)
                   : bf_trace_step(trace, &access, diagnostic);
    if (result == 1 && slot != BF_REPEATS_NONE)
      BF_TRY(known->learn(known->context, slot, access, diagnostic));
    else if (result == 1)
      memcpy(&part->access[part->accesses++], access, bytes);
  }
  return result < 0 ? result : part->accesses > 0 || result == 2;
}

uint64_t bf_trace_part_executions(const bf_trace_part *part) {
  return part->is_text ? part->lines.executions : 0;
}

bool bf_trace_is_in_order(const bf_trace *trace) {
  return trace->packed || trace->foreign.form != BF_TRACE_OWN;
}

int bf_trace_cut(bf_trace *trace, bf_trace_part *part, const bf_trace_known *known,
                 bf_diagnostic *diagnostic) {
  part->is_text = !bf_trace_is_in_order(trace);
  return part->is_text ? cut_lines(trace, part, diagnostic)
                       : cut_accesses(trace, part, known, diagnostic);
}

int bf_trace_part_step(bf_trace_part *part, const bf_access **access, bf_diagnostic *diagnostic) {
  if (part->is_text) {
    *access = &part->lines.current;
    return bf_text_next(&part->lines, diagnostic);
  }
  if (part->next == part->accesses)
    return 0;
  *access = &part->access[part->next++];
  return 1;
}
