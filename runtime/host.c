/* What the host has room for. Device memory is memory of the process: a program that fills what it
 * is told to be free must not bring the machine to its end. */
#include "context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number behind a word at the beginning of a line of a file, in bytes of unit; a file that is
 * one number has no word (""). UINT64_MAX where there is none, as in "max". */
static uint64_t read_number(const char *path, const char *word, uint64_t unit) {
  FILE *file = fopen(path, "re");
  uint64_t value = UINT64_MAX;
  char line[256];
  while (file && value == UINT64_MAX && fgets(line, sizeof line, file)) {
    char *end;
    if (strncmp(line, word, strlen(word)) != 0)
      continue;
    unsigned long long number = strtoull(line + strlen(word), &end, 10);
    if (end != line + strlen(word) && number < UINT64_MAX / unit)
      value = number * unit;
  }
  if (file)
    fclose(file);
  return value;
}

/* What a group of processes may still take of its limit; UINT64_MAX: it has none. */
static uint64_t left_of(const char *limit, const char *used) {
  uint64_t most = read_number(limit, "", 1), taken = read_number(used, "", 1);
  if (most == UINT64_MAX || taken == UINT64_MAX)
    return UINT64_MAX;
  return most > taken ? most - taken : 0;
}

uint64_t rt_host_bytes(void) {
  const uint64_t rooms[] = {
      read_number("/proc/meminfo", "MemAvailable:", 1024),
      left_of("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
      left_of("/sys/fs/cgroup/memory/memory.limit_in_bytes",
              "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
  };
  uint64_t least = UINT64_MAX;
  for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
    least = rooms[i] < least ? rooms[i] : least;
  return least - least / 8;
}
