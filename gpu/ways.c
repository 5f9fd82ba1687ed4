/* gpu/ways: reading hashes of ways, and rewriting benchmarks with them. */
#include "gpu/ways.h"

#include "rewrite/rewrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINE = 1024 };
static const bf_geometry geometry = {5, 16, 4};

/* ---- Entries ---- */

/* Reads one line into a new entry; NULL for comments. */
static int read_entry(const char *line, gpu_way_entry **made, bf_diagnostic *diagnostic) {
  char benchmark[MOST_LINE], way[MOST_LINE], kernel[MOST_LINE], hash[MOST_LINE], *array;
  *made = NULL;
  if (line[0] == '#' || line[0] == '\n')
    return BF_OK;
  if (sscanf(line, "%1023s %1023s %1023s %1023s", benchmark, way, kernel, hash) != 4)
    return bf_fail(diagnostic, BF_BAD_INPUT, "a line needs benchmark, way, kernel and hash");
  array = strchr(kernel, '[');
  if (array) {
    *array++ = 0;
    array[strcspn(array, "]")] = 0;
  }
  gpu_way_entry *own = calloc(1, sizeof *own);
  if (!own || !(own->benchmark = strdup(benchmark)) || !(own->way = strdup(way)) ||
      !(own->kernel = strdup(kernel)) || (array && !(own->array = strdup(array))))
    return bf_no_memory(diagnostic);
  *made = own;
  return array && strcmp(hash, "none") == 0
             ? BF_OK
             : bf_hash_parse(hash, &geometry, &own->hash, diagnostic);
}

int gpu_ways_read(const char *path, gpu_way_entry **first, bf_diagnostic *diagnostic) {
  char line[MOST_LINE];
  FILE *file = fopen(path, "r");
  if (!file)
    return bf_fail(diagnostic, BF_IO, "cannot open %s", path);
  int error = BF_OK;
  for (unsigned number = 1; !error && fgets(line, sizeof line, file); number++) {
    bf_diagnostic fault;
    gpu_way_entry *made;
    error = read_entry(line, &made, &fault);
    if (error)
      bf_fail(diagnostic, error, "%s:%u: %s", path, number, fault.message);
    if (made) {
      made->next = *first;
      *first = made;
    }
  }
  fclose(file);
  return error;
}

/* ---- Rewriting ---- */

bool gpu_way_has(const gpu_way_entry *at, const gpu_way *s, const char *kernel) {
  return strcmp(at->benchmark, s->benchmark->name) == 0 && strcmp(at->way, s->way) == 0 &&
         (!kernel || strcmp(at->kernel, kernel) == 0);
}

/* As rewrite.h asks for it. */
static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  const gpu_way *s = context;
  for (const gpu_way_entry *at = s->entries; at; at = at->next)
    if (gpu_way_has(at, s, kernel->name) &&
        (!at->array || (array && strcmp(at->array, array->name) == 0)))
      return at->hash;
  return NULL;
}

bool gpu_way_exists(const gpu_way *s) {
  if (strcmp(s->way, "plain") == 0)
    return true;
  for (const gpu_way_entry *at = s->entries; at; at = at->next)
    if (gpu_way_has(at, s, NULL))
      return true;
  return false;
}

int gpu_way_ptx(gpu_way *s, bf_text *text, bf_diagnostic *diagnostic) {
  const char *ptx = bf_corpus_ptx(s->benchmark->folder);
  bf_ptx_module *module;
  bf_rewrite_result result = {0};
  bf_rewrite_options options = {.context = s, .hash_of = hash_of, .padding_has_room = true};
  if (strcmp(s->way, "plain") == 0) {
    bf_text_puts(text, ptx);
    return BF_OK;
  }
  BF_TRY(bf_ptx_parse(s->benchmark->folder, ptx, strlen(ptx), &module, diagnostic));
  int error = bf_rewrite(module, &options, &result, diagnostic);
  *text = result.text;
  result.text = (bf_text){0};
  bf_rewrite_free(&result);
  bf_ptx_free(module);
  return error;
}
