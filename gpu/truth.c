/* Runs the launches with which the simulator is compared on the GPU of this machine:
 *
 *   truth LAUNCHES.csv REPEATS SET=FILE...
 *
 * FILE is what the kernels of a set (reproduce/h200) were compiled to. Each launch of these sets
 * runs REPEATS times, each time on fresh data. gpu/truth.py runs this under Nsight Compute. */
#include "kernels/devices.h"
#include "kernels/launches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SETS = 8 };

typedef struct set {
  const char *name; /* and a '=' behind it */
  bf_text image;
  bf_device device;
  uint64_t in, out;
} set;

/* The most words that a launch of the list needs. */
static uint32_t most_words(const char *list) {
  uint32_t most = 0;
  for (bf_listed_launch launch; bf_launch_read(&list, &launch);) {
    most = launch.in_words > most ? launch.in_words : most;
    most = launch.out_words > most ? launch.out_words : most;
  }
  return most;
}

/* Loads the kernels of a set and makes room for its data. */
static int open_set(set *own, const char *path, uint64_t bytes, bf_diagnostic *diagnostic) {
  BF_TRY(bf_read_file(path, (size_t)1 << 30, &own->image, diagnostic));
  BF_TRY(bf_cuda_device_create(own->image.data, NULL, &own->device, diagnostic));
  BF_TRY(own->device.alloc(own->device.context, bytes, &own->in, diagnostic));
  return own->device.alloc(own->device.context, bytes, &own->out, diagnostic);
}

/* The set of a launch; NULL: none of those that are given. */
static const set *set_of(const set *sets, const bf_listed_launch *launch) {
  size_t length = strlen(launch->set);
  for (; sets->name; sets++)
    if (strncmp(sets->name, launch->set, length) == 0 && sets->name[length] == '=')
      return sets;
  return NULL;
}

static int run_all(const char *list, const set *sets, unsigned repeats, bf_diagnostic *diagnostic) {
  for (bf_listed_launch launch; bf_launch_read(&list, &launch);) {
    const set *own = set_of(sets, &launch);
    for (unsigned i = 0; i < repeats && own; i++)
      BF_TRY(bf_launch_run(&own->device, &launch, own->out, own->in, diagnostic));
  }
  return *list ? bf_fail(diagnostic, BF_BAD_INPUT, "no launch: %.60s", list) : BF_OK;
}

int main(int count, char **argument) {
  if (count < 4 || count > 3 + MOST_SETS) {
    fprintf(stderr, "usage: truth LAUNCHES.csv REPEATS SET=FILE...\n");
    return 2;
  }
  bf_diagnostic diagnostic = {0};
  bf_text list = {0};
  set sets[MOST_SETS + 1] = {{0}};
  int error = bf_read_file(argument[1], (size_t)1 << 30, &list, &diagnostic);
  const char *first = error ? NULL : strchr(list.data, '\n');
  uint64_t bytes = first ? (uint64_t)most_words(first + 1) * sizeof(uint32_t) : 0;
  int made = 0;
  for (; made < count - 3 && !error; made++) {
    const char *file = strchr(argument[3 + made], '=');
    sets[made].name = argument[3 + made];
    error = file ? open_set(&sets[made], file + 1, bytes, &diagnostic)
                 : bf_fail(&diagnostic, BF_BAD_INPUT, "no SET=FILE: %s", argument[3 + made]);
  }
  if (!error)
    error = run_all(first ? first + 1 : "", sets, (unsigned)atoi(argument[2]), &diagnostic);
  for (int i = 0; i < made; i++) {
    bf_cuda_device_free(&sets[i].device);
    bf_text_free(&sets[i].image);
  }
  bf_text_free(&list);
  if (error)
    fprintf(stderr, "truth: %s\n", diagnostic.message);
  return error ? 1 : 0;
}
