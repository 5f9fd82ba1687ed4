/* Reading the times of launches. */
#include "cli/use/times.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 8 };

const cli_times_row *cli_times_find(const cli_times *times, const char *kernel,
                                    const cli_times_row *like) {
  for (size_t i = 0; i < times->rows; i++)
    if (times->row[i].blocks == like->blocks && times->row[i].threads == like->threads &&
        strcmp(times->row[i].kernel, kernel) == 0)
      return &times->row[i];
  return NULL;
}

/* Adds launches to the row of the same kernel and size, whose median becomes the mean of both,
 * weighted by launches; where modules have kernels of the same name, a hash of one is the hash. */
static void join(cli_times_row *row, const cli_times_row *more) {
  uint64_t launches = row->launches + more->launches;
  row->median_ns =
      (row->median_ns * (double)row->launches + more->median_ns * (double)more->launches) /
      (double)launches;
  row->launches = launches;
  if (!row->hash)
    row->hash = more->hash;
}

/* Adds a row, whose texts are copied. */
static int add(cli_times *times, const cli_times_row *row, bf_diagnostic *diagnostic) {
  cli_times_row made = *row;
  made.kernel = bf_arena_copy(&times->arena, row->kernel);
  made.hash = row->hash ? bf_arena_copy(&times->arena, row->hash) : NULL;
  if (!made.kernel || (row->hash && !made.hash))
    return bf_no_memory(diagnostic);
  cli_times_row *known = (cli_times_row *)(uintptr_t)cli_times_find(times, row->kernel, row);
  if (known) {
    join(known, &made);
    return BF_OK;
  }
  if (times->rows == times->capacity) {
    size_t capacity = times->capacity ? 2 * times->capacity : 32;
    cli_times_row *grown = realloc(times->row, capacity * sizeof *grown);
    if (!grown)
      return bf_no_memory(diagnostic);
    times->row = grown;
    times->capacity = capacity;
  }
  times->row[times->rows++] = made;
  return BF_OK;
}

/* Takes a line apart; false where it is none. */
static bool split(char *line, char *field[FIELDS], uint64_t number[FIELDS]) {
  line[strcspn(line, "\n")] = 0;
  for (unsigned i = 0; i < FIELDS; i++) {
    char *tab = strchr(line, '\t');
    field[i] = line;
    if ((tab == NULL) != (i == FIELDS - 1))
      return false;
    if (tab)
      *tab = 0;
    const char *cursor = line;
    if (i >= 2 && (!bf_parse_number(&cursor, &number[i]) || *cursor))
      return false;
    line = tab ? tab + 1 : line;
  }
  return number[4] > 0;
}

static int read_line(cli_times *times, const char *path, char *line, bf_diagnostic *diagnostic) {
  char *field[FIELDS];
  uint64_t number[FIELDS];
  if (*line == '#')
    return BF_OK;
  if (!split(line, field, number))
    return bf_fail_file(diagnostic, BF_BAD_INPUT, path, "no times of launches");
  cli_times_row row = {.kernel = field[0],
                       .hash = strcmp(field[1], "none") == 0 ? NULL : field[1],
                       .blocks = number[2],
                       .threads = number[3],
                       .launches = number[4],
                       .median_ns = (double)number[6]};
  return add(times, &row, diagnostic);
}

static int read_file(cli_times *times, const char *path, bf_diagnostic *diagnostic) {
  FILE *file = fopen(path, "r");
  char *line = NULL;
  size_t capacity = 0;
  int error = BF_OK;
  if (!file)
    return bf_fail_file(diagnostic, BF_IO, path, "cannot open: %s", strerror(errno));
  while (!error && getline(&line, &capacity, file) > 0)
    error = read_line(times, path, line, diagnostic);
  free(line);
  fclose(file);
  return error;
}

int cli_times_read(const char *folder, cli_times *times, bf_diagnostic *diagnostic) {
  DIR *directory = opendir(folder);
  if (!directory)
    return bf_fail_file(diagnostic, BF_IO, folder, "cannot open: %s", strerror(errno));
  int error = BF_OK;
  for (struct dirent *entry; !error && (entry = readdir(directory));) {
    char path[4096];
    /* A process that was killed while it wrote left a name with a dot. */
    if (strchr(entry->d_name, '.'))
      continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    error = read_file(times, path, diagnostic);
  }
  closedir(directory);
  return error;
}

void cli_times_free(cli_times *times) {
  free(times->row);
  bf_arena_free(&times->arena);
  *times = (cli_times){0};
}
