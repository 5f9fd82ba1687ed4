/* Choosing the access of a trace that is worth a picture. */
#include "report/report.h"

typedef struct search_state {
  const bf_machine *machine;
  const bf_hash *hash;
  uint64_t line; /* 0: the most conflicts */
  bool found;
  uint32_t most;
  bf_access best;
} search_state;

static int locate(bf_diagnostic *diagnostic, const char *path, uint64_t line, int error) {
  snprintf(diagnostic->file, sizeof diagnostic->file, "%s", path);
  diagnostic->line = line;
  return error;
}

/* Looks at one access; keeps it if it is the one asked for or the worst so far. */
static int consider(search_state *s, const bf_access *access, const char *path,
                    bf_diagnostic *diagnostic) {
  bf_count count;
  if (s->line && access->line != s->line)
    return BF_OK;
  int error = bf_memory_count(s->machine, s->hash, access, &count, diagnostic);
  if (error)
    return locate(diagnostic, path, access->line, error);
  if (!s->found || count.conflicts > s->most) {
    s->found = true;
    s->most = count.conflicts;
    s->best = *access;
  }
  return BF_OK;
}

static int search_trace(bf_trace *trace, const char *path, search_state *s,
                        bf_diagnostic *diagnostic) {
  bf_access access;
  int status, error = BF_OK;
  while (!error && !(s->line && s->found) &&
         (status = bf_trace_next(trace, &access, diagnostic)) != 0)
    error = status < 0 ? status : consider(s, &access, path, diagnostic);
  if (!error && !s->found)
    error = locate(diagnostic, path, s->line,
                   bf_fail(diagnostic, BF_BAD_INPUT, "there is no access at this line"));
  return error;
}

int bf_report_pick(const char *path, uint64_t line, const bf_machine *machine, const bf_hash *hash,
                   bf_arena *arena, bf_access *access, bf_diagnostic *diagnostic) {
  search_state s = {.machine = machine, .hash = hash, .line = line};
  bf_trace_limits limits = bf_machine_limits(machine);
  bf_diagnostic unused;
  bf_trace *trace;
  if (!diagnostic)
    diagnostic = &unused;
  int error = bf_trace_open(path, &limits, &trace, diagnostic);
  if (error)
    return error;
  error = search_trace(trace, path, &s, diagnostic);
  if (!error) {
    *access = s.best;
    if (s.best.site && !(access->site = bf_arena_copy(arena, s.best.site)))
      error = bf_no_memory(diagnostic);
  }
  bf_trace_close(trace);
  return error;
}
