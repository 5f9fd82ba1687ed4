/* Reading the records of a run. */
#include "cli/look/record.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Growing lists ---- */

/* Room for one more element of size bytes; the list is moved where it is full. */
static bool grow(void **list, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity)
    return true;
  size_t wanted = *capacity ? *capacity * 2 : 16;
  void *moved = realloc(*list, wanted * size);
  if (!moved)
    return false;
  *list = moved;
  *capacity = wanted;
  return true;
}

/* Whether two texts are equal; either may be NULL. */
static bool is_same(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

/* A copy of text in the arena, NULL for NULL; false where memory is exhausted. */
static bool copy_text(cli_record *record, const char *text, const char **copy) {
  *copy = text ? bf_arena_copy(&record->arena, text) : NULL;
  return *copy || !text;
}

/* The kernel of that name and hashes, made where there is none yet; NULL where memory is exhausted.
 */
static cli_record_kernel *find_kernel(cli_record *record, const char *name, const char *hash,
                                      const char *lock_hash) {
  for (size_t i = 0; i < record->kernels; i++) {
    const cli_record_kernel *kernel = &record->kernel[i];
    if (is_same(kernel->name, name) && is_same(kernel->hash, hash) &&
        is_same(kernel->lock_hash, lock_hash))
      return &record->kernel[i];
  }
  cli_record_kernel made = {0};
  if (!copy_text(record, name, &made.name) || !copy_text(record, hash, &made.hash) ||
      !copy_text(record, lock_hash, &made.lock_hash) ||
      !grow((void **)&record->kernel, record->kernels, &record->kernel_capacity,
            sizeof *record->kernel))
    return NULL;
  record->kernel[record->kernels] = made;
  return &record->kernel[record->kernels++];
}

/* The same for a line of a kernel. */
static cli_record_line *find_line(cli_record *record, cli_record_kernel *kernel, const char *file,
                                  uint64_t number) {
  for (size_t i = 0; i < kernel->lines; i++) {
    const cli_record_line *line = &kernel->line[i];
    if (line->line == number && (file ? line->file && strcmp(line->file, file) == 0 : !line->file))
      return &kernel->line[i];
  }
  char *copy = file ? bf_arena_copy(&record->arena, file) : NULL;
  if ((file && !copy) ||
      !grow((void **)&kernel->line, kernel->lines, &kernel->line_capacity, sizeof *kernel->line))
    return NULL;
  kernel->line[kernel->lines] = (cli_record_line){.file = copy, .line = number};
  return &kernel->line[kernel->lines++];
}

/* ---- Lines of a record ---- */

/* What is being read. */
typedef struct reading {
  cli_record *record;
  bf_trace_limits limits;
  cli_record_kernel *kernel; /* the last one named, or NULL */
  cli_record_line *line;     /* that a following access belongs to, or NULL */
} reading;

/* Splits text at tabs into at most most fields; returns their number. */
static unsigned split(char *text, char **field, unsigned most) {
  unsigned count = 0;
  while (text && count < most) {
    field[count++] = text;
    text = strchr(text, '\t');
    if (text)
      *text++ = 0;
  }
  return count;
}

/* Field as a number; what is no number counts as 0. */
static uint64_t number(const char *field) {
  uint64_t value = 0;
  return bf_parse_number(&field, &value) ? value : 0;
}

/* A line "kernel". */
static int read_kernel(reading *r, char **field, unsigned fields, bf_diagnostic *diagnostic) {
  if (fields != 11)
    return bf_fail(diagnostic, BF_BAD_INPUT, "a damaged record of the run");
  r->kernel = find_kernel(r->record, field[1], field[2], field[3]);
  r->line = NULL;
  if (!r->kernel)
    return bf_no_memory(diagnostic);
  r->kernel->launches += number(field[4]);
  r->kernel->warp_instructions += number(field[5]);
  r->kernel->thread_instructions += number(field[6]);
  r->kernel->seconds += strtod(field[7], NULL);
  r->kernel->cycles += number(field[8]);
  r->kernel->simulated_seconds += strtod(field[9], NULL);
  r->kernel->work_cycles += number(field[10]);
  return BF_OK;
}

/* A line "site". */
static int read_site(reading *r, char **field, unsigned fields, bf_diagnostic *diagnostic) {
  if (fields != 11 || !r->kernel)
    return bf_fail(diagnostic, BF_BAD_INPUT, "a damaged record of the run");
  const char *file = *field[10] ? field[10] : NULL;
  cli_record_line *line = find_line(r->record, r->kernel, file, number(file ? field[2] : field[1]));
  if (!line)
    return bf_no_memory(diagnostic);
  line->accesses += number(field[3]);
  line->wavefronts += number(field[4]);
  line->ideal += number(field[5]);
  line->conflicts += number(field[6]);
  line->waited_cycles += number(field[7]);
  line->estimated |= number(field[9]) != 0;
  r->kernel->accesses += number(field[3]);
  r->kernel->wavefronts += number(field[4]);
  r->kernel->ideal += number(field[5]);
  r->kernel->conflicts += number(field[6]);
  r->line = !line->has_access || number(field[8]) > line->worst ? line : NULL;
  if (r->line)
    line->worst = number(field[8]);
  return BF_OK;
}

/* Any line; an access belongs to the site before it. */
static int read_line(reading *r, const char *path, char *text, bf_diagnostic *diagnostic) {
  char *field[11];
  if (strncmp(text, "access\t", 7) == 0) {
    if (!r->line)
      return BF_OK;
    int got = bf_trace_parse_line(path, 0, text + 7, &r->limits, &r->record->arena,
                                  &r->line->access, diagnostic);
    r->line->has_access = got == 1; /* one that does not fit the machine explains nothing */
    return got == BF_NO_MEMORY ? got : BF_OK;
  }
  unsigned fields = split(text, field, 11);
  if (strcmp(field[0], "kernel") == 0)
    return read_kernel(r, field, fields, diagnostic);
  return read_site(r, field, fields, diagnostic);
}

/* Adds the record of one process. */
static int read_file(cli_record *record, const bf_machine *machine, const char *path,
                     bf_diagnostic *diagnostic) {
  reading r = {.record = record, .limits = bf_machine_limits(machine)};
  FILE *file = fopen(path, "r");
  if (!file)
    return bf_fail(diagnostic, BF_IO, "cannot read %s: %s", path, strerror(errno));
  char *text = NULL;
  size_t capacity = 0;
  ssize_t length;
  int error = BF_OK;
  while (!error && (length = getline(&text, &capacity, file)) > 0) {
    if (text[length - 1] == '\n')
      text[length - 1] = 0;
    error = read_line(&r, path, text, diagnostic);
  }
  free(text);
  fclose(file);
  return error;
}

int cli_record_read(const char *folder, const bf_machine *machine, cli_record *record,
                    bf_diagnostic *diagnostic) {
  DIR *directory = opendir(folder);
  if (!directory)
    return bf_fail(diagnostic, BF_IO, "cannot read %s: %s", folder, strerror(errno));
  int error = BF_OK;
  for (struct dirent *entry; !error && (entry = readdir(directory));) {
    char path[4096];
    if (entry->d_name[0] == '.')
      continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    error = read_file(record, machine, path, diagnostic);
  }
  closedir(directory);
  return error;
}

/* ---- Adding launches of this process ---- */

static int add_row(cli_record *record, cli_record_kernel *kernel, const bf_emu_site *site,
                   const bf_profile_row *row, bf_diagnostic *diagnostic) {
  cli_record_line *line = find_line(record, kernel, site->source_file,
                                    site->source_file ? site->source_line : site->line);
  if (!line)
    return bf_no_memory(diagnostic);
  line->accesses += row->executions;
  line->wavefronts += row->wavefronts;
  line->ideal += row->ideal;
  line->conflicts += row->conflicts;
  line->estimated |= row->estimated;
  kernel->accesses += row->executions;
  kernel->wavefronts += row->wavefronts;
  kernel->ideal += row->ideal;
  kernel->conflicts += row->conflicts;
  if (row->worst > line->worst || !line->has_access) {
    line->worst = row->worst;
    line->access = row->worst_access;
    line->has_access = true;
  }
  return BF_OK;
}

int cli_record_add(cli_record *record, const bf_emu_kernel *kernel, const bf_profile *profile,
                   const bf_emu_result *result, double seconds, bf_diagnostic *diagnostic) {
  cli_record_kernel *to = find_kernel(record, bf_emu_kernel_name(kernel), NULL, NULL);
  if (!to)
    return bf_no_memory(diagnostic);
  to->launches++;
  to->warp_instructions += result->warp_instructions;
  to->thread_instructions += result->thread_instructions;
  to->seconds += seconds;
  for (unsigned i = 0; i < bf_emu_kernel_sites(kernel); i++) {
    bf_profile_row row = bf_profile_get(profile, i);
    bf_emu_site site = bf_emu_kernel_site(kernel, i);
    if (row.executions)
      BF_TRY(add_row(record, to, &site, &row, diagnostic));
  }
  return BF_OK;
}

/* ---- Order ---- */

/* Most conflicts first, then by file and line. */
static int compare_lines(const void *a, const void *b) {
  const cli_record_line *x = a, *y = b;
  if (x->conflicts != y->conflicts)
    return x->conflicts < y->conflicts ? 1 : -1;
  int files = strcmp(x->file ? x->file : "", y->file ? y->file : "");
  return files ? files : (x->line > y->line) - (x->line < y->line);
}

/* Most conflicts first, then by name and hash. */
static int compare_kernels(const void *a, const void *b) {
  const cli_record_kernel *x = a, *y = b;
  if (x->conflicts != y->conflicts)
    return x->conflicts < y->conflicts ? 1 : -1;
  int order = strcmp(x->name, y->name);
  if (order == 0)
    order = strcmp(x->hash ? x->hash : "", y->hash ? y->hash : "");
  return order ? order : strcmp(x->lock_hash ? x->lock_hash : "", y->lock_hash ? y->lock_hash : "");
}

void cli_record_sort(cli_record *record) {
  for (size_t i = 0; i < record->kernels; i++)
    if (record->kernel[i].lines)
      qsort(record->kernel[i].line, record->kernel[i].lines, sizeof *record->kernel[i].line,
            compare_lines);
  if (record->kernels)
    qsort(record->kernel, record->kernels, sizeof *record->kernel, compare_kernels);
}

void cli_record_free(cli_record *record) {
  for (size_t i = 0; i < record->kernels; i++)
    free(record->kernel[i].line);
  free(record->kernel);
  bf_arena_free(&record->arena);
  *record = (cli_record){0};
}
