/* What programs of the project tell each other: files of every kind, each given to all readers, and
 * lists in variables. Whatever is refused is refused with file and line; times that are read are
 * written and read back as they were. */
#include "exchange/accesses.h"
#include "exchange/record.h"
#include "exchange/settings.h"
#include "exchange/times.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(int error, const char *path, const bf_diagnostic *diagnostic) {
  assert(error == BF_BAD_INPUT);
  assert(strcmp(diagnostic->file, path) == 0 && diagnostic->line >= 1 && diagnostic->message[0]);
}

static void read_record(const char *path, const bf_machine *machine) {
  const bf_trace_limits limits = bf_machine_limits(machine);
  bf_costs costs = {0};
  bf_diagnostic diagnostic = {0};
  int fault, error = bf_record_read_file(path, machine, &costs, &diagnostic);
  if (error)
    check_error(error, path, &diagnostic);
  bf_costs_sort(&costs);
  for (size_t i = 0; i < costs.kernels; i++)
    for (size_t j = 0; j < costs.kernel[i].lines; j++)
      if (costs.kernel[i].line[j].has_access)
        assert(bf_access_check(&costs.kernel[i].line[j].access, &limits, &fault, NULL) == BF_OK);
  bf_costs_free(&costs);
}

static void read_accesses(const char *path, const bf_machine *machine) {
  bf_accesses accesses = {0};
  bf_diagnostic diagnostic = {0};
  int error = bf_accesses_read_file(path, machine, &accesses, &diagnostic);
  if (error)
    check_error(error, path, &diagnostic);
  for (size_t i = 0; i < accesses.modules; i++)
    for (size_t j = 0; j < accesses.module[i].kernels; j++)
      assert(accesses.module[i].ptx && accesses.module[i].kernel[j].name &&
             accesses.module[i].kernel[j].written && accesses.module[i].kernel[j].merged);
  bf_accesses_free(&accesses);
}

/* A file in memory with that content, or -1. */
static int open_file(const void *bytes, size_t size, char path[64]) {
  int file = memfd_create("exchange", 0);
  snprintf(path, 64, "/proc/self/fd/%d", file);
  if (file >= 0 && write(file, bytes, size) != (ssize_t)size) {
    close(file);
    return -1;
  }
  return file;
}

/* Times that were read are written and read once more. */
static void write_again(const bf_times *times) {
  bf_times again = {0};
  bf_text text = {0};
  char path[64];
  bf_times_begin(&text);
  for (size_t i = 0; i < times->rows; i++)
    bf_times_write(&times->row[i], &text);
  bf_times_end(&text);
  int file = open_file(text.data, text.size, path);
  if (file >= 0) {
    bf_diagnostic diagnostic = {0};
    bool is_read = bf_times_read_file(path, &again, &diagnostic) == BF_OK;
    assert(is_read && again.rows == times->rows);
    for (size_t i = 0; i < times->rows; i++)
      assert(strcmp(times->row[i].kernel, again.row[i].kernel) == 0 &&
             times->row[i].median_ns == again.row[i].median_ns &&
             !times->row[i].reason == !again.row[i].reason);
    close(file);
  }
  bf_text_free(&text);
  bf_times_free(&again);
}

/* Sums of launches may wrap around to none in files that lie. */
static bool has_launches(const bf_times *times) {
  for (size_t i = 0; i < times->rows; i++)
    if (times->row[i].launches == 0)
      return false;
  return true;
}

static void read_times(const char *path) {
  bf_times times = {0};
  bf_diagnostic diagnostic = {0};
  int error = bf_times_read_file(path, &times, &diagnostic);
  if (error)
    check_error(error, path, &diagnostic);
  else if (has_launches(&times))
    write_again(&times);
  bf_times_free(&times);
}

/* The input as the value of variables that hold lists. */
static void get_settings(const uint8_t *data, size_t size) {
  static const bf_variable lists[] = {BF_VARIABLE_SET, BF_VARIABLE_CHECK, BF_VARIABLE_OVERRIDES};
  char *variable = malloc(size + 64);
  for (size_t i = 0; variable && i < sizeof lists / sizeof *lists; i++) {
    bf_run_settings settings;
    bf_diagnostic diagnostic = {0};
    int length = snprintf(variable, 64, "%s=", bf_variable_name(lists[i]));
    memcpy(variable + length, data, size);
    variable[(size_t)length + size] = 0;
    putenv(variable); /* which setenv would keep for ever */
    int error = bf_run_settings_get(&settings, &diagnostic);
    assert(!error || strstr(diagnostic.message, bf_variable_name(lists[i])));
    for (size_t k = 0; k < settings.set.count; k++)
      assert(settings.set.item[k][0]);
    bf_run_settings_free(&settings);
    bf_variable_put(lists[i], NULL);
  }
  free(variable);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bf_machine *machine;
  char path[64];
  if (!machine && bf_machine_load("hopper", NULL, &machine, NULL) != BF_OK)
    return 0;
  get_settings(data, size);
  int file = open_file(data, size, path);
  if (file < 0)
    return 0;
  read_record(path, machine);
  read_accesses(path, machine);
  read_times(path);
  close(file);
  return 0;
}
