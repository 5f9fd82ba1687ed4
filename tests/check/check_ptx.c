/* parse -> print -> parse is the identity on every PTX file given, or on those of tests/data/ptx;
 * status 1 where it is not. With --write FOLDER what was printed is kept there. */
#include "ptx/ptx.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *data = NULL;
  if (file && fseek(file, 0, SEEK_END) == 0) {
    long length = ftell(file);
    rewind(file);
    data = malloc((size_t)length + 1);
    *size = data ? fread(data, 1, (size_t)length, file) : 0;
  }
  if (file)
    fclose(file);
  return data;
}

static bool complain(const bf_diagnostic *diagnostic) {
  printf("%s:%llu:%u: %s\n", diagnostic->file, (unsigned long long)diagnostic->line,
         diagnostic->column, diagnostic->message);
  return false;
}

/* Parses what was printed and compares; prints what is wrong. */
static bool same_again(const char *path, const bf_ptx_module *module, const bf_text *text) {
  bf_ptx_module *again;
  bf_diagnostic diagnostic;
  bool equal;
  if (bf_ptx_parse(path, text->data, text->size, &again, &diagnostic) != BF_OK) {
    puts("printed:");
    return complain(&diagnostic);
  }
  if (bf_ptx_equal(module, again, &equal) != BF_OK)
    equal = false;
  if (!equal)
    printf("%s: printing and parsing changes it\n", path);
  bf_ptx_free(again);
  return equal;
}

static bool write_text(const char *folder, const char *path, const bf_text *text) {
  char name[1024];
  const char *slash = strrchr(path, '/');
  bf_diagnostic diagnostic;
  snprintf(name, sizeof name, "%s/%s", folder, slash ? slash + 1 : path);
  return bf_write_file(name, text->data, text->size, &diagnostic) == BF_OK || complain(&diagnostic);
}

static bool check_file(const char *path, const char *folder) {
  size_t size = 0;
  char *data = read_all(path, &size);
  bf_ptx_module *module;
  bf_diagnostic diagnostic;
  bf_text text = {0};
  if (!data) {
    printf("%s: cannot be read\n", path);
    return false;
  }
  int error = bf_ptx_parse(path, data, size, &module, &diagnostic);
  free(data);
  if (error != BF_OK)
    return complain(&diagnostic);
  bf_ptx_print(module, &text);
  bool fine = !text.failed && same_again(path, module, &text) &&
              (!folder || write_text(folder, path, &text));
  bf_text_free(&text);
  bf_ptx_free(module);
  return fine;
}

int main(int count, char **argument) {
  const char *folder = NULL;
  bool fine = true;
  int first = 1;
  if (count > 2 && strcmp(argument[1], "--write") == 0) {
    folder = argument[2];
    first = 3;
  }
  for (int i = first; i < count; i++)
    fine &= check_file(argument[i], folder);
  if (first < count)
    return !fine;
  glob_t found;
  if (glob("tests/data/ptx/*.ptx", 0, NULL, &found) != 0)
    return 1;
  for (size_t i = 0; i < found.gl_pathc; i++)
    fine &= check_file(found.gl_pathv[i], folder);
  globfree(&found);
  return !fine;
}
