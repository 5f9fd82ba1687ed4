#include "kernels/launches.h"

#include <stdlib.h>
#include <string.h>

/* The field at *at, of less than size bytes; *at moves behind its comma. */
static bool read_word(const char **at, char *to, size_t size) {
  size_t length = strcspn(*at, ",\n");
  if (length >= size || (*at)[length] != ',')
    return false;
  memcpy(to, *at, length);
  to[length] = 0;
  *at += length + 1;
  return true;
}

bool bf_launch_read(const char **text, bf_listed_launch *launch) {
  const char *at = *text;
  int used = 0;
  *launch = (bf_listed_launch){0};
  if (!read_word(&at, launch->set, sizeof launch->set) ||
      !read_word(&at, launch->kind, sizeof launch->kind) ||
      !read_word(&at, launch->pair, sizeof launch->pair) ||
      !read_word(&at, launch->kernel, sizeof launch->kernel) ||
      sscanf(at, "%u,%u,%u,%u,%u,%u,%u,%u%n", &launch->blocks, &launch->threads,
             &launch->shared_bytes, &launch->in_words, &launch->out_words, &launch->n, &launch->p,
             &launch->q, &used) != 8 ||
      at[used] != '\n')
    return false;
  *text = at + used + 1;
  return true;
}

uint32_t bf_launch_word(uint32_t index) {
  uint32_t word = (index + 1) * 0x9e3779b1u;
  word ^= word >> 16;
  word *= 0x21f0aaadu;
  word ^= word >> 15;
  word *= 0x735a2d97u;
  return word ^ word >> 15;
}

/* Writes what memory holds before the launch. */
static int fill(const bf_device *device, const bf_listed_launch *launch, uint64_t out, uint64_t in,
                uint32_t *word, bf_diagnostic *diagnostic) {
  BF_TRY(device->write(device->context, out, word, (uint64_t)launch->out_words * sizeof *word,
                       diagnostic));
  for (uint32_t i = 0; i < launch->in_words; i++)
    word[i] = bf_launch_word(i);
  return device->write(device->context, in, word, (uint64_t)launch->in_words * sizeof *word,
                       diagnostic);
}

int bf_launch_run(const bf_device *device, const bf_listed_launch *launch, uint64_t out,
                  uint64_t in, bf_diagnostic *diagnostic) {
  uint32_t most = launch->in_words > launch->out_words ? launch->in_words : launch->out_words;
  uint32_t *word = calloc(most, sizeof *word);
  int error = word ? fill(device, launch, out, in, word, diagnostic) : bf_no_memory(diagnostic);
  free(word);
  if (error)
    return error;
  const void *const parameter[] = {&out, &in, &launch->n, &launch->p, &launch->q};
  bf_device_launch described = {.kernel = launch->kernel,
                                .grid = {launch->blocks, 1, 1},
                                .block = {launch->threads, 1, 1},
                                .dynamic_shared_bytes = launch->shared_bytes,
                                .parameters = sizeof parameter / sizeof *parameter,
                                .parameter = parameter};
  return device->launch(device->context, &described, diagnostic);
}
