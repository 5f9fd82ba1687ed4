/* Shared loads and stores after merging, against what ptxas makes of the experiments in
 * tests/data/merge. A file of experiments holds declarations of shared variables, then blocks of
 * indented lines, each under "name: counts". The block "prologue" stands at the start of every
 * kernel; "keep" stores registers so that they are used.
 *
 *   check_merge                   status 1 where the counts in the files are not those of the model
 *   check_merge --ptx FILE        prints the experiments of FILE as PTX
 *   check_merge --expected FILE   prints names and counts
 *   check_merge PTX...            prints names and counts of the model, for any kernels */
#include "ptx/ptx.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

static bool complain(const bf_diagnostic *diagnostic) {
  printf("%s:%llu: %s\n", diagnostic->file, (unsigned long long)diagnostic->line,
         diagnostic->message);
  return false;
}

static bool read_text(const char *path, bf_text *text) {
  bf_reader *reader;
  bf_diagnostic diagnostic;
  char buffer[4096];
  size_t got = 1;
  int error = bf_reader_open(path, &reader, &diagnostic);
  if (error != BF_OK)
    return complain(&diagnostic);
  while (error == BF_OK && got > 0) {
    error = bf_reader_read(reader, buffer, sizeof buffer, &got, &diagnostic);
    bf_text_add(text, buffer, error == BF_OK ? got : 0);
  }
  bf_reader_close(reader);
  bf_text_add(text, "", 0);
  return error == BF_OK ? !text->failed : complain(&diagnostic);
}

/* ---- Counts ---- */

enum { WIDEST = 16 };

/* " load4=2 store8=1": what a function does after merging. */
static bool describe(const bf_ptx_module *module, const bf_ptx_function *function, bf_text *text) {
  unsigned count[2][WIDEST + 1] = {{0}};
  bf_ptx_merges *merges;
  bf_diagnostic diagnostic = {0};
  if (bf_ptx_merges_create(module, function, 90, &merges, &diagnostic) != BF_OK)
    return complain(&diagnostic);
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

/* Adds "name counts" for every function, one a line. */
static bool describe_all(const char *file, const bf_text *ptx, bf_text *text) {
  bf_ptx_module *module;
  bf_diagnostic diagnostic;
  bool fine = true;
  if (bf_ptx_parse(file, ptx->data, ptx->size, &module, &diagnostic) != BF_OK)
    return complain(&diagnostic);
  for (const bf_ptx_item *item = module->first; item; item = item->next) {
    if (item->kind != BF_PTX_ITEM_FUNCTION || !item->function->has_body)
      continue;
    bf_text_puts(text, item->function->name);
    fine = describe(module, item->function, text) && fine;
    bf_text_puts(text, "\n");
  }
  bf_ptx_free(module);
  return fine;
}

/* ---- Experiments ---- */

static void begin_kernel(const char *name, const bf_text *prologue, bf_text *ptx) {
  bf_text_addf(ptx,
               ".visible .entry %s(.param .u64 out, .param .u32 n, .param .u64 in) {\n"
               "  .reg .pred %%p<20>;\n  .reg .b16 %%h<100>;\n  .reg .b32 %%r<300>;\n"
               "  .reg .f32 %%f<300>;\n  .reg .b64 %%d<100>;\n  .reg .f64 %%e<50>;\n",
               name);
  if (prologue->data)
    bf_text_puts(ptx, prologue->data);
}

/* "keep %f10 %r11": each register goes to global memory, 16 bytes apart. */
static void keep(const char *registers, bf_text *ptx) {
  static const char letters[] = "hrfde";
  static const char *const types[] = {"b16", "b32", "f32", "b64", "f64"};
  unsigned offset = 0;
  for (const char *at = strchr(registers, '%'); at; at = strchr(at + 1, '%'), offset += 16) {
    const char *letter = strchr(letters, at[1]);
    if (letter)
      bf_text_addf(ptx, "  st.global.%s [%%d0+%u], %.*s;\n", types[letter - letters], offset,
                   (int)strcspn(at, " ,;\n"), at);
  }
}

/* Makes PTX, and lines "name counts", of a file of experiments. */
static void expand(char *text, bf_text *ptx, bf_text *expected) {
  bf_text prologue = {0};
  bool in_prologue = false, in_kernel = false;
  bf_text_puts(ptx, ".version 8.0\n.target sm_90\n.address_size 64\n");
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    size_t name = strcspn(line, ":");
    if (line[0] == '#')
      continue;
    if (strncmp(line, "  keep ", 7) == 0) {
      keep(line, ptx);
    } else if (line[0] == ' ') {
      bf_text_addf(in_prologue ? &prologue : ptx, "%s\n", line);
    } else if (line[0] == '.') {
      bf_text_addf(ptx, "%s\n", line);
    } else {
      bf_text_puts(ptx, in_kernel ? "  ret;\n}\n" : "");
      in_prologue = strcmp(line, "prologue:") == 0;
      in_kernel = !in_prologue && line[name];
      line[name] = 0;
      if (in_kernel) {
        begin_kernel(line, &prologue, ptx);
        bf_text_addf(expected, "%s%s\n", line, line + name + 1);
      }
    }
  }
  bf_text_puts(ptx, in_kernel ? "  ret;\n}\n" : "");
  bf_text_free(&prologue);
}

/* Prints the lines of a and b that differ; whether there are none. */
static bool compare(const char *path, const char *expected, const char *found) {
  bool fine = true;
  while (*expected || *found) {
    size_t a = strcspn(expected, "\n"), b = strcspn(found, "\n");
    if (a != b || memcmp(expected, found, a) != 0) {
      printf("%s: ptxas: %.*s; model: %.*s\n", path, (int)a, expected, (int)b, found);
      fine = false;
    }
    expected += a + (expected[a] != 0);
    found += b + (found[b] != 0);
  }
  return fine;
}

typedef enum task { COMPARE, PRINT_PTX, PRINT_EXPECTED } task;

static bool check_experiments(const char *path, task what) {
  bf_text text = {0}, ptx = {0}, expected = {0}, found = {0};
  bool fine = read_text(path, &text);
  if (fine) {
    expand(text.data, &ptx, &expected);
    if (what == PRINT_PTX)
      fputs(ptx.data, stdout);
    else if (what == PRINT_EXPECTED)
      fputs(expected.data, stdout);
    else
      fine = describe_all(path, &ptx, &found) && compare(path, expected.data, found.data);
  }
  bf_text_free(&text);
  bf_text_free(&ptx);
  bf_text_free(&expected);
  bf_text_free(&found);
  return fine;
}

/* apart.txt holds what the model leaves out. */
static bool check_all(void) {
  glob_t found;
  bool fine = glob("tests/data/merge/*.txt", 0, NULL, &found) == 0;
  for (size_t i = 0; fine && i < found.gl_pathc; i++)
    if (!strstr(found.gl_pathv[i], "apart"))
      fine = check_experiments(found.gl_pathv[i], COMPARE) && fine;
  globfree(&found);
  return fine;
}

static bool print_file(const char *path) {
  bf_text ptx = {0}, found = {0};
  bool fine = read_text(path, &ptx) && describe_all(path, &ptx, &found);
  if (found.data)
    fputs(found.data, stdout);
  bf_text_free(&ptx);
  bf_text_free(&found);
  return fine;
}

int main(int count, char **argument) {
  bool fine = true;
  if (count == 1)
    fine = check_all();
  else if (count == 3 && strcmp(argument[1], "--ptx") == 0)
    fine = check_experiments(argument[2], PRINT_PTX);
  else if (count == 3 && strcmp(argument[1], "--expected") == 0)
    fine = check_experiments(argument[2], PRINT_EXPECTED);
  else
    for (int i = 1; i < count; i++)
      fine = print_file(argument[i]) && fine;
  return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
