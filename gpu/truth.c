/* Runs the launches with which the simulator is compared on the GPU of this machine:
 *
 *   truth LAUNCHES.csv TRAIN TEST REPEATS
 *
 * TRAIN and TEST are what the kernels of the two sets (reproduce/h200) were compiled to. Each
 * launch runs REPEATS times, each time on fresh data. gpu/truth.py runs this under Nsight Compute.
 */
#include "kernels/devices.h"
#include "kernels/launches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct set {
  const char *name;
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

static int run_all(const char *list, const set *sets, unsigned repeats, bf_diagnostic *diagnostic) {
  for (bf_listed_launch launch; bf_launch_read(&list, &launch);)
    for (unsigned i = 0; i < repeats; i++) {
      const set *own = &sets[strcmp(launch.set, sets[0].name) != 0];
      BF_TRY(bf_launch_run(&own->device, &launch, own->out, own->in, diagnostic));
    }
  return *list ? bf_fail(diagnostic, BF_BAD_INPUT, "no launch: %.60s", list) : BF_OK;
}

int main(int count, char **argument) {
  if (count != 5) {
    fprintf(stderr, "usage: truth LAUNCHES.csv TRAIN TEST REPEATS\n");
    return 2;
  }
  bf_diagnostic diagnostic = {0};
  bf_text list = {0};
  set sets[2] = {{.name = "train"}, {.name = "test"}};
  int error = bf_read_file(argument[1], (size_t)1 << 30, &list, &diagnostic);
  const char *first = error ? NULL : strchr(list.data, '\n');
  uint64_t bytes = first ? (uint64_t)most_words(first + 1) * sizeof(uint32_t) : 0;
  for (unsigned i = 0; i < 2 && !error; i++)
    error = open_set(&sets[i], argument[2 + i], bytes, &diagnostic);
  if (!error)
    error = run_all(first ? first + 1 : "", sets, (unsigned)atoi(argument[4]), &diagnostic);
  for (unsigned i = 0; i < 2; i++) {
    bf_cuda_device_free(&sets[i].device);
    bf_text_free(&sets[i].image);
  }
  bf_text_free(&list);
  if (error)
    fprintf(stderr, "truth: %s\n", diagnostic.message);
  return error ? 1 : 0;
}
