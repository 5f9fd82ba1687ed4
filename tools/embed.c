/* embed OUTPUT INPUT...: writes C source that holds the machine files as bf_embedded_machines[],
 * sorted by name. A machine is named after its file: machines/hopper.machine is hopper. The text is
 * written byte by byte, because C promises string literals of only 4095 characters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The name of the machine in path; *length is its length. */
static const char *machine_name(const char *path, int *length) {
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  const char *dot = strrchr(name, '.');
  *length = (int)(dot ? (size_t)(dot - name) : strlen(name));
  return name;
}

static int compare_names(const void *left, const void *right) {
  int left_length, right_length;
  const char *left_name = machine_name(*(char *const *)left, &left_length);
  const char *right_name = machine_name(*(char *const *)right, &right_length);
  int shorter = left_length < right_length ? left_length : right_length;
  int order = memcmp(left_name, right_name, (size_t)shorter);
  return order ? order : left_length - right_length;
}

/* Writes the file at path as the array text_<index>; false if it cannot be read. */
static int write_text(FILE *output, const char *path, int index) {
  FILE *input = fopen(path, "rb");
  if (!input)
    return 0;
  fprintf(output, "static const char text_%d[] = {", index);
  int column = 0;
  for (int byte; (byte = getc(input)) != EOF; column++)
    fprintf(output, "%s%d,", column % 20 ? " " : "\n    ", byte > 127 ? byte - 256 : byte);
  fputs("\n    0};\n", output);
  int good = !ferror(input);
  fclose(input);
  return good;
}

static void write_table(FILE *output, char **paths, int count) {
  fputs("const bf_embedded_machine bf_embedded_machines[] = {\n", output);
  for (int i = 0; i < count; i++) {
    int length;
    const char *name = machine_name(paths[i], &length);
    fprintf(output, "    {\"%.*s\", text_%d},\n", length, name, i);
  }
  fputs("    {NULL, NULL},\n};\n", output);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fputs("usage: embed OUTPUT INPUT...\n", stderr);
    return 2;
  }
  char **paths = argv + 2;
  int count = argc - 2;
  qsort(paths, (size_t)count, sizeof *paths, compare_names);
  FILE *output = fopen(argv[1], "wb");
  if (!output) {
    perror(argv[1]);
    return 1;
  }
  fputs("/* Written by tools/embed.c from machines/. */\n#include \"memory/memory.h\"\n\n", output);
  for (int i = 0; i < count; i++)
    if (!write_text(output, paths[i], i)) {
      perror(paths[i]);
      return 1;
    }
  write_table(output, paths, count);
  if (fclose(output) != 0) {
    perror(argv[1]);
    return 1;
  }
  return 0;
}
