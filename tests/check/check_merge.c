/* Counts shared loads and stores after merging. Without arguments, what ptxas made of the kernels
 * in tests/data/merge is compared with the model: status 1 where they differ. With files, the
 * counts of every kernel in them are printed, in the form of sass_shared.py. */
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

static bf_ptx_module *parse(const char *path) {
  bf_reader *reader;
  bf_ptx_module *module = NULL;
  bf_diagnostic diagnostic;
  bf_text text = {0};
  char buffer[4096];
  size_t got = 1;
  int error = bf_reader_open(path, &reader, &diagnostic);
  if (error == BF_OK) {
    while (error == BF_OK && got > 0) {
      error = bf_reader_read(reader, buffer, sizeof buffer, &got, &diagnostic);
      bf_text_add(&text, buffer, error == BF_OK ? got : 0);
    }
    bf_reader_close(reader);
  }
  if (error == BF_OK)
    error = bf_ptx_parse(path, text.data, text.size, &module, &diagnostic);
  if (error != BF_OK)
    printf("%s:%llu: %s\n", path, (unsigned long long)diagnostic.line, diagnostic.message);
  bf_text_free(&text);
  return error == BF_OK ? module : NULL;
}

enum { WIDEST = 16 };

/* " load4=2 store8=1": what a function does after merging. */
static bool describe(const bf_ptx_module *module, const bf_ptx_function *function, bf_text *text) {
  unsigned count[2][WIDEST + 1] = {{0}};
  bf_ptx_merges *merges;
  bf_diagnostic diagnostic;
  if (bf_ptx_merges_create(module, function, 90, &merges, &diagnostic) != BF_OK) {
    printf("%s: %s\n", function->name, diagnostic.message);
    return false;
  }
  for (uint32_t i = 0; i < merges->instructions; i++) {
    const bf_ptx_merged *merged = &merges->instruction[i];
    bool is_store = function->instruction[i]->opcode == BF_PTX_OP_ST;
    if (merged->leader == i && !merged->dropped && merged->width_bytes <= WIDEST)
      count[is_store][merged->width_bytes] += merged->times;
  }
  for (unsigned is_store = 0; is_store < 2; is_store++)
    for (unsigned width = 1; width <= WIDEST; width++)
      if (count[is_store][width])
        bf_text_addf(text, " %s%u=%u", is_store ? "store" : "load", width, count[is_store][width]);
  bf_ptx_merges_free(merges);
  return !text->failed;
}

static bool print_file(const char *path) {
  bf_ptx_module *module = parse(path);
  bool fine = module != NULL;
  for (const bf_ptx_item *item = fine ? module->first : NULL; item; item = item->next) {
    if (item->kind != BF_PTX_ITEM_FUNCTION || !item->function->has_body)
      continue;
    bf_text text = {0};
    bf_text_puts(&text, item->function->name);
    fine = describe(module, item->function, &text) && fine;
    puts(text.data);
    bf_text_free(&text);
  }
  bf_ptx_free(module);
  return fine;
}

/* Compares one line of expected.txt, "file kernel counts...". */
static bool check_line(char *line) {
  char path[512], *kernel = strchr(line, ' '), *counts = kernel ? strchr(kernel + 1, ' ') : NULL;
  bf_text text = {0};
  if (!kernel)
    return false;
  *kernel++ = 0;
  if (counts)
    *counts++ = 0;
  snprintf(path, sizeof path, "tests/data/merge/%s", line);
  bf_ptx_module *module = parse(path);
  const bf_ptx_function *function = module ? bf_ptx_find(module, kernel) : NULL;
  bool fine = function && describe(module, function, &text);
  const char *found = text.data && text.size ? text.data + 1 : "";
  if (fine && strcmp(found, counts ? counts : "") != 0) {
    printf("%s: %s: ptxas %s, model %s\n", path, kernel, counts ? counts : "", found);
    fine = false;
  }
  bf_text_free(&text);
  bf_ptx_free(module);
  return fine;
}

static bool check_all(void) {
  FILE *file = fopen("tests/data/merge/expected.txt", "r");
  char line[1024];
  bool fine = file != NULL;
  while (file && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    if (line[0] && line[0] != '#')
      fine = check_line(line) && fine;
  }
  if (file)
    fclose(file);
  return fine;
}

int main(int count, char **argument) {
  bool fine = true;
  for (int i = 1; i < count; i++)
    fine = print_file(argument[i]) && fine;
  if (count == 1)
    fine = check_all();
  return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
