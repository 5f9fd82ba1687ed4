/* Hashes of kernels, read from a file. */
#include "hash/list.h"

#include "base/table.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20 };

typedef struct entry {
  char *kernel;
  char *array; /* NULL: the kernel as a whole */
  bf_hash *hash;
  struct entry *next; /* for another array of the kernel */
} entry;

struct bf_hash_list {
  bf_arena arena;
  entry **all;        /* in the order of lines */
  size_t count, room; /* of all */
  bf_table of_kernel; /* entries by kernel */
  bf_table of_arrays; /* the last entry for an array, by kernel */
};

static const char blanks[] = " \t\r";

/* The entry of a kernel, or with array not NULL of one of its arrays; NULL: none. */
static const entry *find(const bf_hash_list *list, const char *kernel, const char *array) {
  const bf_table *table = array ? &list->of_arrays : &list->of_kernel;
  const entry *found = bf_table_find(table, kernel, strlen(kernel));
  while (found && array && strcmp(found->array, array) != 0)
    found = found->next;
  return found;
}

/* Room for one more in the list of all. */
static bool grow(bf_hash_list *list) {
  if (list->count < list->room)
    return true;
  size_t room = list->room ? 2 * list->room : 16;
  entry **grown = bf_arena_alloc(&list->arena, room * sizeof *grown);
  if (!grown)
    return false;
  if (list->count)
    memcpy(grown, list->all, list->count * sizeof *grown);
  list->all = grown;
  list->room = room;
  return true;
}

/* Adds an entry, which no other is like, to the list; false when memory is exhausted. */
static bool keep(bf_hash_list *list, entry *made) {
  void **place = bf_table_at(made->array ? &list->of_arrays : &list->of_kernel, made->kernel,
                             strlen(made->kernel));
  if (!place || !grow(list))
    return false;
  made->next = made->array ? *place : NULL;
  *place = list->all[list->count++] = made;
  return true;
}

/* What is being read. */
typedef struct reading {
  bf_hash_list *list;
  bf_geometry geometry;
  const char *file, *line;
  uint64_t number; /* of the line */
  bf_diagnostic *diagnostic;
} reading;

#define FAIL(at, ...) bf_fail_at(r->diagnostic, r->file, r->number, r->line, at, __VA_ARGS__)

/* A copy of length characters at `at`. */
static char *copy_word(reading *r, const char *at, size_t length) {
  char *copy = bf_arena_alloc(&r->list->arena, length + 1);
  if (copy)
    memcpy(copy, at, length);
  return copy;
}

/* Adds the hash that stands at `at` in the line; form is a copy of it. */
static int add(reading *r, char *kernel, char *array, const char *form, const char *at) {
  bf_diagnostic fault;
  entry *made = bf_arena_alloc(&r->list->arena, sizeof *made);
  if (!made)
    return bf_no_memory(r->diagnostic);
  int error = bf_hash_parse(form, &r->geometry, &made->hash, &fault);
  if (error == BF_BAD_INPUT)
    return FAIL(at + (fault.column ? fault.column - 1 : 0), "%s", fault.message);
  if (error)
    return bf_fail(r->diagnostic, error, "%s", fault.message);
  made->kernel = kernel;
  made->array = array;
  if (keep(r->list, made))
    return BF_OK;
  bf_hash_free(made->hash);
  return bf_no_memory(r->diagnostic);
}

/* The first of the characters `which` outside of brackets, reduce<int, 64>; NULL: none. */
static char *find_outside(char *name, const char *which) {
  unsigned depth = 0;
  for (; *name; name++) {
    if (!depth && strchr(which, *name))
      return name;
    depth += strchr("<({", *name) != NULL;
    depth -= depth && strchr(">)}", *name);
  }
  return NULL;
}

/* Cuts "KERNEL[ARRAY]" in two; *array is NULL where there is none. */
static int cut_array(reading *r, const char *at, char *name, char **array) {
  char *open = find_outside(name, "[]");
  size_t length = strlen(name);
  *array = NULL;
  if (!open)
    return BF_OK;
  if (open == name || name[length - 1] != ']' || open + 2 == name + length ||
      strcspn(open + 1, "[]") != strlen(open) - 2)
    return FAIL(at, "a hash is for a KERNEL or for an array, KERNEL[ARRAY]");
  name[length - 1] = 0;
  *open = 0;
  *array = open + 1;
  return BF_OK;
}

/* Where the comment of a line begins, or its end. In braces '#' is part of a name:
 * {lambda(int)#1}. */
static const char *find_comment(const char *at) {
  unsigned depth = 0;
  for (; *at && (depth || *at != '#'); at++) {
    depth += *at == '{';
    depth -= depth && *at == '}';
  }
  return at;
}

/* The end of begin to end-1 without blanks at its end. */
static const char *trim(const char *begin, const char *end) {
  while (end > begin && strchr(blanks, end[-1]))
    end--;
  return end;
}

/* The hash is the last word; names may hold blanks inside brackets. */
static int read_line(reading *r) {
  const char *kernel = r->line + strspn(r->line, blanks);
  const char *end = trim(kernel, find_comment(kernel)), *hash = end;
  if (kernel == end)
    return BF_OK;
  while (hash > kernel && !strchr(blanks, hash[-1]))
    hash--;
  size_t kernel_length = (size_t)(trim(kernel, hash) - kernel);
  if (kernel_length == 0)
    return FAIL(end + strspn(end, blanks), "the hash of '%.*s' is missing", (int)(end - kernel),
                kernel);
  char *name = copy_word(r, kernel, kernel_length);
  char *form = copy_word(r, hash, (size_t)(end - hash)), *array;
  if (!name || !form)
    return bf_no_memory(r->diagnostic);
  if (find_outside(name, blanks))
    return FAIL(hash, "a line is a kernel and its hash, and nothing more");
  BF_TRY(cut_array(r, kernel, name, &array));
  if (find(r->list, name, array))
    return FAIL(kernel, "'%.*s' has a hash already", (int)kernel_length, kernel);
  return add(r, name, array, form, hash);
}

static int read_lines(reading *r, const char *text) {
  bf_text line = {0};
  int error = BF_OK;
  for (const char *at = text; !error && *at;) {
    size_t length = strcspn(at, "\n");
    line.size = 0;
    bf_text_add(&line, at, length);
    r->line = line.data;
    r->number++;
    error = line.failed ? bf_no_memory(r->diagnostic) : read_line(r);
    at += length + (at[length] == '\n');
  }
  bf_text_free(&line);
  return error;
}

int bf_hash_list_parse(const char *file, const char *text, bf_geometry geometry,
                       bf_hash_list **list, bf_diagnostic *diagnostic) {
  bf_hash_list *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  reading r = {.list = made, .geometry = geometry, .file = file, .diagnostic = diagnostic};
  made->of_kernel.arena = made->of_arrays.arena = &made->arena;
  int error = read_lines(&r, text);
  if (!error && !made->count)
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, file, "no kernel has a hash");
  if (error)
    bf_hash_list_free(made);
  else
    *list = made;
  return error;
}

int bf_hash_list_read_text(const char *path, bf_text *text, bf_diagnostic *diagnostic) {
  int error = bf_read_file(path, MOST_BYTES, text, diagnostic);
  if (!error && text->size > MOST_BYTES)
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, path, "too large for a file of hashes");
  if (!error && memchr(text->data, 0, text->size))
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, path, "a file of hashes is text");
  return error;
}

int bf_hash_list_read(const char *path, bf_geometry geometry, bf_hash_list **list,
                      bf_diagnostic *diagnostic) {
  bf_text text = {0};
  int error = bf_hash_list_read_text(path, &text, diagnostic);
  if (!error)
    error = bf_hash_list_parse(path, text.data, geometry, list, diagnostic);
  bf_text_free(&text);
  return error;
}

bool bf_hash_list_has(const bf_hash_list *list, const char *kernel) {
  return find(list, kernel, NULL);
}

const bf_hash *bf_hash_list_find(const bf_hash_list *list, const char *kernel) {
  const entry *found = find(list, kernel, NULL);
  if (!found)
    found = find(list, "*", NULL);
  return found ? found->hash : NULL;
}

const bf_hash *bf_hash_list_find_array(const bf_hash_list *list, const char *kernel,
                                       const char *array) {
  const entry *found = find(list, kernel, array);
  return found ? found->hash : NULL;
}

const bf_hash *bf_hash_list_get(const bf_hash_list *list, size_t index, const char **kernel) {
  if (index >= list->count)
    return NULL;
  *kernel = list->all[index]->kernel;
  return list->all[index]->hash;
}

void bf_hash_list_free(bf_hash_list *list) {
  if (!list)
    return;
  for (size_t i = 0; i < list->count; i++)
    bf_hash_free(list->all[i]->hash);
  bf_arena_free(&list->arena);
  free(list);
}
