/* embed WHAT OUTPUT INPUT...: writes C source that holds, sorted by name,
 *   machines       the machine files as bf_embedded_machines[],
 *   gpus           the GPU files as bf_embedded_gpus[],
 *   ncu            the rule of tools/ncu as bf_embedded_ncu[],
 *   kernels        the PTX of kernels with their benchmarks as bf_corpus_folders[],
 *   reproduce      the reproductions of reproduce/ as bf_reproduce_files[],
 *   reproduce-ptx  their PTX as bf_reproduce_kernels[],
 *   reproduce-data measurements that they compare with, as bf_reproduce_measured[],
 *   graphs         the graphs of examples/rgpu as bf_reproduce_graphs[].
 * An entry is named after its file: machines/hopper.machine is hopper. The text is written byte by
 * byte, because C promises string literals of only 4095 characters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What to write. In row, the name stands for every @ and the number of the text for every #. */
typedef struct embed_form {
  const char *word; /* as given on the command line */
  const char *head;
  const char *declaration; /* for each entry, like row */
  const char *table;
  const char *row; /* the text of the input is written where it has a # */
  const char *end;
} embed_form;

static const embed_form forms[] = {
    {"machines", "/* Written by tools/embed.c from machines/. */\n#include \"memory/memory.h\"\n\n",
     "", "const bf_embedded_machine bf_embedded_machines[] = {\n", "    {\"@\", text_#},\n",
     "    {NULL, NULL},\n};\n"},
    {"gpus", "/* Written by tools/embed.c from machines/. */\n#include \"sim/sim.h\"\n\n", "",
     "const bf_embedded_machine bf_embedded_gpus[] = {\n", "    {\"@\", text_#},\n",
     "    {NULL, NULL},\n};\n"},
    {"ncu", "/* Written by tools/embed.c from tools/ncu. */\n#include \"ncu/ncu.h\"\n\n", "",
     "const bf_embedded_machine bf_embedded_ncu[] = {\n", "    {\"@\", text_#},\n",
     "    {NULL, NULL},\n};\n"},
    {"kernels", "/* Written by tools/embed.c from kernels/. */\n#include \"kernels/corpus.h\"\n\n",
     "extern const bf_corpus_benchmark bf_corpus_@[];\n",
     "const bf_corpus_folder bf_corpus_folders[] = {\n", "    {\"@\", text_#, bf_corpus_@},\n",
     "    {NULL, NULL, NULL},\n};\n"},
    {"reproduce-ptx",
     "/* Written by tools/embed.c from reproduce/. */\n#include \"reproduce/frame/frame.h\"\n\n",
     "", "const bf_reproduce_kernel bf_reproduce_kernels[] = {\n", "    {\"@\", text_#},\n",
     "    {NULL, NULL},\n};\n"},
    {"reproduce-data",
     "/* Written by tools/embed.c from tests/data/. */\n#include \"reproduce/frame/frame.h\"\n\n",
     "", "const bf_reproduce_kernel bf_reproduce_measured[] = {\n", "    {\"@\", text_#},\n",
     "    {NULL, NULL},\n};\n"},
    {"graphs",
     "/* Written by tools/embed.c from examples/rgpu/. */\n"
     "#include \"reproduce/frame/frame.h\"\n\n",
     "", "const bf_reproduce_kernel bf_reproduce_graphs[] = {\n", "    {\"@\", text_#},\n",
     "    {NULL, NULL},\n};\n"},
    {"reproduce",
     "/* Written by tools/embed.c from reproduce/. */\n#include \"reproduce/frame/frame.h\"\n\n",
     "extern const bf_reproduction bf_reproduce_@[];\n",
     "const bf_reproduce_file bf_reproduce_files[] = {\n", "    {\"@\", bf_reproduce_@},\n",
     "    {NULL, NULL},\n};\n"},
};

/* The name of the entry in path; *length is its length. */
static const char *entry_name(const char *path, int *length) {
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  const char *dot = strrchr(name, '.');
  *length = (int)(dot ? (size_t)(dot - name) : strlen(name));
  return name;
}

static int compare_names(const void *left, const void *right) {
  int left_length, right_length;
  const char *left_name = entry_name(*(char *const *)left, &left_length);
  const char *right_name = entry_name(*(char *const *)right, &right_length);
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

/* Writes pattern with the name of path for @ and index for #. */
static void write_row(FILE *output, const char *pattern, const char *path, int index) {
  int length;
  const char *name = entry_name(path, &length);
  for (const char *at = pattern; *at; at++)
    if (*at == '@')
      fprintf(output, "%.*s", length, name);
    else if (*at == '#')
      fprintf(output, "%d", index);
    else
      putc(*at, output);
}

/* Writes everything; returns the path of an input that cannot be read, or NULL. */
static const char *write_all(FILE *output, const embed_form *form, char **paths, int count) {
  fputs(form->head, output);
  for (int i = 0; i < count; i++) {
    if (strchr(form->row, '#') && !write_text(output, paths[i], i))
      return paths[i];
    write_row(output, form->declaration, paths[i], i);
  }
  fputs(form->table, output);
  for (int i = 0; i < count; i++)
    write_row(output, form->row, paths[i], i);
  fputs(form->end, output);
  return NULL;
}

/* The form called word, or NULL. */
static const embed_form *find_form(const char *word) {
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    if (strcmp(forms[i].word, word) == 0)
      return &forms[i];
  return NULL;
}

int main(int argc, char **argv) {
  const embed_form *form = argc < 4 ? NULL : find_form(argv[1]);
  if (!form) {
    fputs("usage: embed machines|gpus|ncu|kernels|reproduce|reproduce-ptx|reproduce-data|graphs "
          "OUTPUT "
          "INPUT...\n",
          stderr);
    return 2;
  }
  char **paths = argv + 3;
  int count = argc - 3;
  qsort(paths, (size_t)count, sizeof *paths, compare_names);
  FILE *output = fopen(argv[2], "wb");
  if (!output) {
    perror(argv[2]);
    return 1;
  }
  const char *unreadable = write_all(output, form, paths, count);
  if (unreadable) {
    perror(unreadable);
    fclose(output);
    return 1;
  }
  if (fclose(output) != 0) {
    perror(argv[2]);
    return 1;
  }
  return 0;
}
