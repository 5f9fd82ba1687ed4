/* Scales, from their file. */
#include "gpu/scales.h"

#include <stdio.h>
#include <string.h>

enum { MOST_LINE = 256 };

/* Reads one line; comments and empty lines say nothing. */
static bool read_line(const char *line, gpu_scales *scales) {
  unsigned at = scales->count, scale;
  if (line[0] == '#' || line[0] == '\n')
    return true;
  if (at == GPU_MOST_SCALES || sscanf(line, "%63s %u", scales->name[at], &scale) != 2 ||
      scale == 0 || scale > GPU_MOST_SCALE)
    return false;
  scales->scale[scales->count++] = scale;
  return true;
}

int gpu_scales_read(const char *path, gpu_scales *scales, bf_diagnostic *diagnostic) {
  char line[MOST_LINE];
  FILE *file = fopen(path, "r");
  if (!file)
    return bf_fail(diagnostic, BF_IO, "cannot open %s", path);
  int error = BF_OK;
  scales->count = 0;
  for (unsigned number = 1; !error && fgets(line, sizeof line, file); number++)
    if (!read_line(line, scales))
      error = bf_fail(diagnostic, BF_BAD_INPUT, "%s:%u: a line needs benchmark and scale (1 to %d)",
                      path, number, GPU_MOST_SCALE);
  fclose(file);
  return error;
}

unsigned gpu_scale_of(const gpu_scales *scales, const char *benchmark) {
  for (unsigned i = 0; i < scales->count; i++)
    if (strcmp(scales->name[i], benchmark) == 0)
      return scales->scale[i];
  return 0;
}
