/* Reading the accesses of kernels. */
#include "cli/use/advice.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int damaged(bf_diagnostic *diagnostic) {
  return bf_fail(diagnostic, BF_BAD_INPUT, "a damaged record of the run");
}

/* A file while it is read. */
typedef struct reading {
  bf_program *program;
  const char *path;
  bf_trace_limits limits;
  bf_program_module *module; /* of the lines that follow; NULL: none yet */
  size_t kernel;             /* of the module */
  bool has_kernel;
} reading;

/* A line "module". */
static int read_module(reading *r, const char *number, bf_diagnostic *diagnostic) {
  char path[4096];
  bf_text text = {0};
  snprintf(path, sizeof path, "%s-%s.ptx", r->path, number);
  int error = bf_read_file(path, SIZE_MAX, &text, diagnostic);
  if (!error)
    error = text.size
                ? bf_program_add_module(r->program, text.data, text.size, &r->module, diagnostic)
                : damaged(diagnostic);
  bf_text_free(&text);
  r->has_kernel = false;
  return error;
}

/* A line "kernel". */
static int read_kernel(reading *r, char *fields, bf_diagnostic *diagnostic) {
  char *launches = strchr(fields, '\t'), *left_out = launches ? strchr(launches + 1, '\t') : NULL;
  uint64_t count;
  if (!r->module || !left_out)
    return damaged(diagnostic);
  *launches++ = *left_out++ = 0;
  const char *cursor = launches;
  if (!bf_parse_number(&cursor, &count))
    return damaged(diagnostic);
  BF_TRY(bf_program_add_kernel(r->program, r->module, fields, count, NULL, diagnostic));
  for (r->kernel = 0; strcmp(r->module->kernel[r->kernel].name, fields) != 0;)
    r->kernel++;
  r->module->kernel[r->kernel].accesses.is_cut |= strcmp(left_out, "1") == 0;
  r->has_kernel = true;
  return BF_OK;
}

/* A line "written" or "merged". What does not fit the machine is left out. */
static int read_access(reading *r, bool is_written, const char *line, bf_diagnostic *diagnostic) {
  bf_access access;
  bf_observed *kept = &r->module->kernel[r->kernel].accesses;
  int got =
      bf_trace_parse_line(r->path, 0, line, &r->limits, &r->program->arena, &access, diagnostic);
  if (got == 1)
    got = bf_workload_add(is_written ? kept->written : kept->merged, &access);
  if (got == BF_NO_MEMORY)
    return bf_no_memory(diagnostic);
  kept->is_cut |= got != BF_OK;
  return BF_OK;
}

static int read_line(reading *r, char *line, bf_diagnostic *diagnostic) {
  line[strcspn(line, "\n")] = 0;
  char *rest = strchr(line, '\t');
  if (!rest)
    return damaged(diagnostic);
  *rest++ = 0;
  if (strcmp(line, "module") == 0)
    return read_module(r, rest, diagnostic);
  if (strcmp(line, "kernel") == 0)
    return read_kernel(r, rest, diagnostic);
  if (!r->has_kernel)
    return damaged(diagnostic);
  return read_access(r, strcmp(line, "written") == 0, rest, diagnostic);
}

/* Adds the file of one process. */
static int read_file(bf_program *program, const bf_machine *machine, const char *path,
                     bf_diagnostic *diagnostic) {
  reading r = {.program = program, .path = path, .limits = bf_machine_limits(machine)};
  FILE *file = fopen(path, "r");
  char *line = NULL;
  size_t capacity = 0;
  int error = BF_OK;
  if (!file)
    return bf_fail(diagnostic, BF_IO, "cannot read %s: %s", path, strerror(errno));
  while (!error && getline(&line, &capacity, file) > 0)
    error = read_line(&r, line, diagnostic);
  free(line);
  fclose(file);
  return error;
}

/* Files of processes; names with a dot are those of modules. */
static int is_process(const struct dirent *entry) { return !strchr(entry->d_name, '.'); }

int cli_advice_read(const char *folder, const bf_machine *machine, bf_program *program,
                    bf_diagnostic *diagnostic) {
  struct dirent **entry;
  int count = scandir(folder, &entry, is_process, versionsort), error = BF_OK;
  if (count < 0)
    return bf_fail(diagnostic, BF_IO, "cannot read %s: %s", folder, strerror(errno));
  for (int i = 0; i < count; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
    if (!error)
      error = read_file(program, machine, path, diagnostic);
    free(entry[i]);
  }
  free(entry);
  return error;
}
