/* Sites: written, and told apart by the names that they start with. */
#include "ptx/site.h"

#include <stdlib.h>
#include <string.h>

/* ---- Writing ---- */

/* Sites hold no blanks and nothing beyond ASCII. */
static char clean(char byte) { return byte <= ' ' || byte > '~' ? '_' : byte; }

static void clean_text(bf_text *text, size_t begin) {
  for (size_t i = begin; i < text->size; i++)
    text->data[i] = clean(text->data[i]);
}

/* The name of a file without folders. */
static const char *file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* ---- Lines of the source ---- */

const char *bf_ptx_file_name(const bf_ptx_module *module, uint64_t number) {
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FILE && item->file->number == number)
      return item->file->name;
  return NULL;
}

void bf_ptx_source_line(const bf_ptx_module *module, const bf_ptx_instruction *instruction,
                        const char **file, uint64_t *line) {
  const bf_ptx_location *location = instruction->location;
  *file = location ? bf_ptx_file_name(module, location->file) : NULL;
  *line = location ? location->line : 0;
  bool is_library = *file && strstr(*file, "include/");
  if (is_library && location->function_name && location->inlined_line) {
    *file = bf_ptx_file_name(module, location->inlined_file);
    *line = location->inlined_line;
  }
}

void bf_ptx_user_line(const bf_ptx_module *module, const bf_ptx_instruction *instruction,
                      const char **file, uint64_t *line) {
  const bf_ptx_location *location = instruction->location;
  *file = location ? bf_ptx_file_name(module, location->file) : NULL;
  *line = location ? location->line : 0;
  for (; location && *file && strstr(*file, "include/") && location->function_name;
       location = location->inside) {
    *file = bf_ptx_file_name(module, location->inlined_file);
    *line = location->inlined_line;
  }
}

const bf_ptx_location *bf_ptx_call_of(const bf_ptx_module *module,
                                      const bf_ptx_instruction *instruction, const char *file,
                                      uint64_t line) {
  const bf_ptx_location *location = instruction->location;
  const char *at = location ? bf_ptx_file_name(module, location->file) : NULL;
  uint64_t at_line = location ? location->line : 0;
  for (; file && at && location && location->function_name && location->inlined_line;
       location = location->inside) {
    if (at_line == line && strcmp(at, file) == 0)
      return location;
    at = bf_ptx_file_name(module, location->inlined_file);
    at_line = location->inlined_line;
  }
  return NULL;
}

void bf_ptx_write_calls(const bf_ptx_module *module, const bf_ptx_location *call, bf_text *text) {
  enum { MOST_DEEP = 16 };
  for (unsigned i = 0; call && i < MOST_DEEP; i++, call = call->inside) {
    const char *file = bf_ptx_file_name(module, call->inlined_file);
    if (!file)
      return;
    bf_text_addf(text, "%s%s:%llu", i ? ", inlined at " : "", file,
                 (unsigned long long)call->inlined_line);
  }
}

/* ---- Names of sites ---- */

void bf_site_write(const char *kernel, const char *source_file, uint64_t source_line,
                   uint64_t ptx_line, bf_text *text) {
  size_t begin = text->size;
  bf_ptx_readable_name(kernel, text);
  bf_text_addf(text, ":%s:%llu", source_file ? file_name(source_file) : "ptx",
               (unsigned long long)(source_file ? source_line : ptx_line));
  clean_text(text, begin);
}

/* ---- The names of kernels ---- */

static bool is_kernel(const bf_ptx_item *item) {
  return item->kind == BF_PTX_ITEM_FUNCTION && item->function->is_entry && item->function->has_body;
}

/* Whether a name of that length is written differently from text, and before or behind it. */
static int compare_text(const bf_site_name *name, const char *text, size_t length) {
  size_t shorter = name->length < length ? name->length : length;
  int order = memcmp(name->text, text, shorter);
  return order ? order : (name->length > length) - (name->length < length);
}

static int compare_names(const void *a, const void *b) {
  const bf_site_name *first = a, *second = b;
  int order = compare_text(first, second->text, second->length);
  return order ? order : (first->kernel > second->kernel) - (first->kernel < second->kernel);
}

/* Fills both names of a kernel. */
static int add_names(bf_site_names *names, const bf_ptx_function *kernel,
                     bf_diagnostic *diagnostic) {
  bf_text readable = {0};
  bf_ptx_readable_name(kernel->name, &readable);
  clean_text(&readable, 0);
  bool is_made = !readable.failed && readable.data;
  const char *const texts[] = {kernel->name,
                               is_made ? bf_arena_copy(&names->arena, readable.data) : NULL};
  bf_text_free(&readable);
  if (!texts[1])
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < 2; i++)
    names->name[2 * names->kernels + i] =
        (bf_site_name){texts[i], strlen(texts[i]), names->kernels};
  names->kernel[names->kernels++] = kernel;
  return BF_OK;
}

int bf_site_names_make(const bf_ptx_module *module, bf_site_names *names,
                       bf_diagnostic *diagnostic) {
  size_t count = 0;
  *names = (bf_site_names){0};
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    count += is_kernel(item);
  names->name = bf_arena_alloc(&names->arena, (2 * count + 1) * sizeof *names->name);
  names->kernel = bf_arena_alloc(&names->arena, (count + 1) * sizeof *names->kernel);
  if (!names->name || !names->kernel)
    return bf_no_memory(diagnostic);
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    if (is_kernel(item))
      BF_TRY(add_names(names, item->function, diagnostic));
  qsort(names->name, 2 * names->kernels, sizeof *names->name, compare_names);
  return BF_OK;
}

void bf_site_names_free(bf_site_names *names) {
  bf_arena_free(&names->arena);
  *names = (bf_site_names){0};
}

/* ---- Telling sites apart ---- */

/* The first name with that text, or NULL. */
static const bf_site_name *find(const bf_site_names *names, const char *text, size_t length) {
  size_t first = 0, end = 2 * names->kernels;
  while (first < end) {
    size_t middle = first + (end - first) / 2;
    if (compare_text(&names->name[middle], text, length) < 0)
      first = middle + 1;
    else
      end = middle;
  }
  bool is_found =
      first < 2 * names->kernels && compare_text(&names->name[first], text, length) == 0;
  return is_found ? &names->name[first] : NULL;
}

/* The longest name that a site starts with, before a colon; NULL: none. */
static const bf_site_name *find_start(const bf_site_names *names, const char *site) {
  const bf_site_name *found = NULL;
  for (size_t length = site ? strlen(site) : 0; length > 0 && !found; length--)
    if (site[length] == ':')
      found = find(names, site, length);
  return found;
}

size_t bf_site_kernel(const bf_site_names *names, const char *site) {
  if (names->kernels == 1)
    return 0;
  const bf_site_name *start = find_start(names, site);
  return start ? start->kernel : names->kernels;
}

const char *bf_site_place(const bf_site_names *names, const char *site) {
  const bf_site_name *start = find_start(names, site);
  return start ? site + start->length + 1 : site;
}

uint64_t bf_site_line(const char *place, const char *path) {
  const char *file = file_name(path);
  while (*file && *place == clean(*file)) {
    place++;
    file++;
  }
  if (*file || *place != ':' || strchr(place + 1, ':'))
    return 0;
  return strtoull(place + 1, NULL, 10);
}
